"""Scores in memory -> hits and lists, in row blocks and threads."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import (
    NAN_ROW,
    ItemSets,
    Rows,
    ScoreBlock,
    ScoreMatrix,
    SparseScores,
    SparseSets,
    Users,
    refuse_nan,
)
from recmetrics._core.selection import kernels
from recmetrics._core.selection.hits import Hits, cleared, empty_hits, join, part_of
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.spec import Request
from recmetrics._core.threads import in_blocks
from recmetrics._core.types import BoolArray, IntArray, NaNPolicy

# From so many relevant items per user on, sorting a row and searching ranks beats counting them.
_MANY = 64
# Lanes leave out most of the relevant items before they are counted. But where a random order would
# have so many of them among the k best, to sort takes less: 20 against 27 us of a user with 500
# relevant of 3,700 items, k = 370.
_MANY_HITS = 32
# Kernels compare each relevant item with each excluded one. From so many pairs per score on, the
# excluded ones are hidden in a copy instead. With lanes most relevant items are left out before.
_PAIRS = 4
_PAIRS_WITH_LANES = 64
_NO_ITEMS = np.empty(0, np.int64)

Array = npt.NDArray[Any]


class MatrixRanker:
    """Scores, and the truth, exclude and candidates of the same users."""

    def __init__(self, scores: ScoreMatrix, users: Users) -> None:
        self.scores = scores
        self.n_users, self.n_items = scores.shape
        self.users = users
        self.truth, self.exclude, self.candidates = users.truth, users.exclude, users.candidates
        # The items of each user that are read, where these are not all items.
        self._own_items: SparseScores | ItemSets | None = users.candidates
        if isinstance(scores, SparseScores):
            self._own_items = scores

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        ties = rules.ties and k is not None
        # Blocks write into the hits of all users where their size is known: joining the hits of
        # blocks took a tenth of a call, in one thread, and clearing them all two hundredths.
        blocks, n_threads = self._blocks(rules, listing=reader is not None)
        everyone = None
        if len(blocks) > 1 and isinstance(self.truth, SparseSets):
            known = self.truth.rows(slice(0, self.n_users))
            everyone = empty_hits(known.start, known.values, ties=ties, make=np.empty)

        def rank_block(rows: slice) -> tuple[Hits, IntArray, int]:
            relevant = self.truth.rows(rows)
            excluded, n_swallowed = Rows.none(rows.stop - rows.start), 0
            if self.exclude is not None:
                excluded = self.exclude.rows(rows)
                n_swallowed = 0 if k is None else relevant.n_within(excluded)
            if everyone is None:
                hits = empty_hits(relevant.start, relevant.values, ties=ties)
            else:
                hits = cleared(part_of(everyone, rows))
            if self._own_items is None:
                # Lists read all rows a second time; to convert them twice takes longer.
                block = self.scores.block(rows, packed=reader is None)
                has_nan = np.zeros(1, np.bool_)
                if k is not None:
                    self._rank_rows(block, relevant, excluded, k, rules, hits, has_nan)
                if reader is not None:
                    reader.read(self._list_rows(rows, block, relevant, excluded, reader, has_nan))
                nan_found = np.zeros(3, np.int64)
                if has_nan[0] and rules.nan == "raise":
                    nan_found = kernels.find_nan(block.whole().values, block.lowest)
            else:
                own = self._recommendable(self._own_items, rows, excluded)
                if k is not None:
                    self._rank_candidates(own, relevant, k, ties, hits)
                if reader is not None:
                    reader.read(self._list_candidates(rows, own, relevant, reader))
                nan_found = own.nan_found
            nan_found[NAN_ROW] += rows.start
            return hits, nan_found, n_swallowed

        if len(blocks) == 1 and not rules.progress:
            results = [rank_block(blocks[0])]
        else:
            results = in_blocks(rank_block, blocks, n_threads, rules.progress)
        hits, nan_found, n_swallowed = zip(*results, strict=True)
        if rules.nan == "raise":
            refuse_nan(nan_found, self.users)
        return join(hits) if everyone is None else everyone, sum(n_swallowed)

    def _blocks(self, rules: Request, *, listing: bool) -> tuple[list[slice], int]:
        """The row blocks, and the number of threads that pays off."""
        # Reading candidates takes a copy of their scores and indices: about four float32 each.
        read = self.n_items if self._own_items is None else 4 * self._own_items.mean_items
        if self.scores.is_small(read):
            return [slice(0, self.n_users)], 1
        # Many relevant items make sorted copies of rows; lists read a block a second time.
        many = self.truth.mean_items >= _MANY
        copied = self.users.is_dense or self._own_items is not None or many or listing
        return self.scores.blocks(rules.threads, read, copied=copied)

    def _rank_rows(
        self,
        block: ScoreBlock,
        relevant: Rows,
        excluded: Rows,
        k: int,
        rules: Request,
        hits: Hits,
        has_nan: BoolArray,
    ) -> None:
        """Fill the hits of a block; ``has_nan`` (1,) becomes True with any NaN."""
        ties = rules.ties
        dtype = block.values.dtype
        excluded_start, excluded_items, _ = excluded
        n_users = len(relevant.start) - 1
        many = len(relevant.items) >= _MANY * n_users
        lanes = kernels.lanes_for(k, self.n_items, dtype)
        pairs = 0
        if self.exclude is not None:
            pairs = int((np.diff(relevant.start) * np.diff(excluded_start)).sum())
        if pairs > n_users * self.n_items * (_PAIRS_WITH_LANES if lanes.size else _PAIRS):
            block = block.whole()
            hidden = _hidden(block, excluded, rules.nan)
            if hidden is not None:
                block = hidden
                excluded_start, excluded_items = np.zeros_like(excluded_start), _NO_ITEMS
        tied = kernels.tied_of(hits, ties=ties)
        common = (
            relevant.items, relevant.values, excluded_start, excluded_items, k, block.lowest,
            block.least, hits, tied, has_nan,
        )  # fmt: skip
        places = kernels.places_for(relevant.start)
        if many and not (
            lanes.size and len(relevant.items) * k <= _MANY_HITS * n_users * self.n_items
        ):
            block = block.whole()
            ordered = np.sort(block.values, axis=1)
            kernels.rank_sorted_rows(block.values, ordered, *common, places)
        else:
            pool = kernels.pool_for(k, self.n_items, dtype)
            kernels.rank_rows(block.values, *common, lanes, pool, places, block.bits)
        kernels.sort_hits(hits, tied, len(places), self.n_items if ties else k)

    def _rank_candidates(
        self, own: "_Candidates", relevant: Rows, k: int, ties: bool, hits: Hits
    ) -> None:
        (start, items, _), block = own.rows, own.block
        tied, places = kernels.tied_of(hits, ties=ties), kernels.places_for(relevant.start)
        kernels.rank_candidates(
            block.values, start, items, relevant.items, relevant.values, k,
            block.least, hits, tied, places,
        )  # fmt: skip
        longest = int(np.diff(start).max(initial=0))
        depth = longest if ties else min(k, longest)
        kernels.sort_hits(hits, tied, len(places), depth)

    def _list_rows(
        self,
        rows: slice,
        block: ScoreBlock,
        relevant: Rows,
        excluded: Rows,
        reader: Reader,
        has_nan: BoolArray,
    ) -> Lists:
        lists = _no_lists(rows, min(reader.depth, self.n_items), relevant)
        dtype = block.values.dtype
        kernels.list_rows(
            block.values, excluded.start, excluded.items, reader.depth, block.lowest, block.least,
            lists.items, lists.length, has_nan,
            kernels.lanes_for(reader.depth, self.n_items, dtype),
            kernels.pool_for(reader.depth, self.n_items, dtype),
        )  # fmt: skip
        return lists

    def _list_candidates(
        self, rows: slice, own: "_Candidates", relevant: Rows, reader: Reader
    ) -> Lists:
        if self.candidates is not None:
            reader.offer(self.candidates.rows(rows).items)
        (start, items, _), block = own.rows, own.block
        longest = int(np.diff(start).max(initial=0))
        lists = _no_lists(rows, min(reader.depth, longest), relevant)
        kernels.list_candidates(
            block.values, start, items, reader.depth, block.least, lists.items, lists.length,
            kernels.pool_for(reader.depth, longest, block.values.dtype),
        )  # fmt: skip
        return lists

    def _recommendable(
        self, own_items: ItemSets | SparseScores, rows: slice, excluded: Rows
    ) -> "_Candidates":
        """The candidates of each user that are not excluded, and their scores."""
        if isinstance(own_items, SparseScores):
            own, block = own_items.stored(rows)
            if self.candidates is not None:
                chosen = own.among(self.candidates.rows(rows))
                own, block = own.keep(chosen), block._replace(values=block.values[chosen])
        else:
            own = own_items.rows(rows)
            block = self.scores.candidates(rows, own)
        nan_found = kernels.find_candidate_nan(block.values, own.start, own.items, block.lowest)
        if self.exclude is not None:
            rest = ~own.among(excluded)
            own, block = own.keep(rest), block._replace(values=block.values[rest])
        return _Candidates(own, block, nan_found)


class _Candidates(NamedTuple):
    """The items of each user that may be recommended, and their scores."""

    rows: Rows
    block: ScoreBlock  # values of shape (items,)
    nan_found: IntArray  # as ``find_nan`` has it, of excluded candidates as well


def _hidden(block: ScoreBlock, excluded: Rows, nan: NaNPolicy) -> ScoreBlock | None:
    """Give excluded items the lowest score, which is never recommended, in a copy of a block.

    None where that would change the result: where an excluded score is a NaN to be reported, or
    where an item with the lowest score may be recommended and has it.
    """
    values, lowest, least, _ = block
    entries = excluded.users(), excluded.items
    if nan == "raise" and not (values[entries] >= lowest).all():
        return None
    if least == lowest:
        if values.min() == lowest:
            return None
        least = values.dtype.type(int(lowest) + 1)
    values = values.copy()
    values[entries] = lowest
    return ScoreBlock(values, lowest, least)


def _no_lists(rows: slice, width: int, relevant: Rows) -> Lists:
    n_users = rows.stop - rows.start
    return Lists(rows, np.empty((n_users, width), np.int64), np.zeros(n_users, np.int64), relevant)
