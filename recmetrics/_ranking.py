"""From scores or rankings, and the sets of their users, to the TopK that metrics read."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics import _selection
from recmetrics._errors import InputError, NaNScoreError
from recmetrics._inputs import (
    LEAST_SCORES,
    ScoreBlock,
    ScoreMatrix,
    as_kernel_array,
    row_blocks,
)
from recmetrics._itemsets import UNBOUNDED, ItemSets, Rows, UserSets, read_truth
from recmetrics._lists import ListReader, Lists
from recmetrics._options import CallOptions
from recmetrics._plan import Plan
from recmetrics._progress import reporting
from recmetrics._threads import map_blocks
from recmetrics._topk import IntArray, TopK, empty_topk, join, part_of

_SMALL = 1 << 19  # items of rankings; fewer take less time than starting threads for them
# Relevant items per user from which sorting a row and searching their ranks beats counting them.
_MANY = 64
_RANKED_ITEMS = 1 << 20  # in one block of rankings
_NO_ITEMS = np.empty(0, np.int64)


class ScoredInputs:
    """Scores, and the truth, exclude and candidates of the same users."""

    def __init__(self, scores: ScoreMatrix, sets: UserSets) -> None:
        self.scores = scores
        self.n_users, self.n_items = scores.shape
        self.sets = sets
        self.truth, self.exclude, self.candidates = sets.truth, sets.exclude, sets.candidates
        self.record = empty_topk  # what makes the record of all users, to write into

    def top_k(self, plan: Plan, reader: ListReader) -> TopK:
        """Rank every user's relevant items as deep as the plan asks, and have the lists read."""
        k, ties, options = plan.k, plan.ties, plan.options
        if self.candidates is None:
            reader.offer(slice(0, self.n_users), slice(None))
        # Blocks write into one record where its size is known: joining theirs took a tenth of a
        # call, in one thread.
        held = self.truth.held()
        everyone = None if held is None else self.record(held.start, held.values, ties=ties)
        blocks, n_threads = self._blocks(options, listing=reader.depth > 0)

        def rank_block(rows: slice) -> tuple[TopK, IntArray]:
            relevant = self.truth.rows(rows)
            if everyone is None:
                top = empty_topk(relevant.start, relevant.values, ties=ties)
            else:
                top = everyone if len(blocks) == 1 else part_of(everyone, rows)
            nan_found = np.zeros(3, np.int64)
            if k and self.candidates is None:
                self._rank_rows(rows, relevant, k, ties, top, nan_found)
            elif k and self.candidates is not None:
                self._rank_candidates(self.candidates, rows, relevant, k, ties, top, nan_found)
            if reader.depth:
                lists_nan = np.zeros(3, np.int64) if k else nan_found  # counted once
                reader.read(self._list(rows, relevant, reader, lists_nan))
            nan_found[1] += rows.start
            return top, nan_found

        results = in_blocks(rank_block, blocks, n_threads, options)
        if options.nan == "raise":
            refuse_nan([nan_found for _, nan_found in results], self.sets)
        return join([top for top, _ in results]) if everyone is None else everyone

    def _blocks(self, options: CallOptions, *, listing: bool) -> tuple[list[slice], int]:
        """The row blocks, and how many threads are worth starting for them."""
        # Reading candidates takes a copy of their scores and indices: about four float32 each.
        read = self.n_items if self.candidates is None else 4 * self.candidates.mean_items
        if self.n_users * read <= LEAST_SCORES:
            return [slice(0, self.n_users)], 1
        # Where relevant items are many, rows are sorted; lists are a second reading of the block.
        many = self.truth.mean_items >= _MANY
        copied = self.sets.is_dense or self.candidates is not None or many or listing
        n_threads = options.threads
        return self.scores.blocks(n_threads, read, copied=copied), n_threads

    def _rank_rows(
        self,
        rows: slice,
        relevant: Rows,
        k: int,
        ties: bool,
        top: TopK,
        nan_found: IntArray,
    ) -> None:
        block = self.scores.block(rows)
        excluded_start, excluded_items = self._excluded(rows)
        many = len(relevant.items) >= _MANY * len(block.values)
        dtype = block.values.dtype
        lanes = _selection.lanes_for(k, self.n_items, dtype)
        if many and not lanes.size:
            ordered = np.sort(block.values, axis=1)
        else:
            ordered = np.empty((len(block.values), 0), dtype)
        _selection.rank_rows(
            block.values,
            ordered,
            relevant.items,
            relevant.values,
            excluded_start,
            excluded_items,
            k,
            block.lowest,
            block.lowest_listed,
            ties,
            top,
            nan_found,
            lanes,
            _selection.pool_for(k, self.n_items, dtype),
            self._scratch(self.n_items if ties else k, ties=ties),
        )

    def _scratch(self, depth: int, *, ties: bool) -> _selection.Scratch:
        most = min(self.truth.most_items, self.n_items)
        return _selection.scratch_for(most, depth, ties=ties)

    def _rank_candidates(
        self,
        candidates: ItemSets,
        rows: slice,
        relevant: Rows,
        k: int,
        ties: bool,
        top: TopK,
        nan_found: IntArray,
    ) -> None:
        pool, values, block = self._pool(candidates, rows, nan_found)
        depth = int(np.diff(pool.start).max(initial=0)) if ties else k
        _selection.rank_candidates(
            values,
            pool.start,
            pool.items,
            relevant.items,
            relevant.values,
            k,
            block.lowest,
            block.lowest_listed,
            ties,
            top,
            self._scratch(depth, ties=ties),
        )

    def _list(self, rows: slice, relevant: Rows, reader: ListReader, nan_found: IntArray) -> Lists:
        """The lists of a block of users, as long as ``reader`` reads them."""
        if self.candidates is None:
            block = self.scores.block(rows)
            start, items = self._excluded(rows)
            lists = _no_lists(rows, min(reader.depth, self.n_items), relevant)
            dtype = block.values.dtype
            _selection.list_rows(
                block.values,
                start,
                items,
                reader.depth,
                block.lowest,
                block.lowest_listed,
                lists.items,
                lists.length,
                nan_found,
                _selection.lanes_for(reader.depth, self.n_items, dtype),
                _selection.pool_for(reader.depth, self.n_items, dtype),
            )
        else:
            reader.offer(rows, self.candidates.rows(rows).items)
            pool, values, block = self._pool(self.candidates, rows, nan_found)
            longest = int(np.diff(pool.start).max(initial=0))
            lists = _no_lists(rows, min(reader.depth, longest), relevant)
            _selection.list_candidates(
                values,
                pool.start,
                pool.items,
                reader.depth,
                block.lowest,
                block.lowest_listed,
                lists.items,
                lists.length,
                _selection.pool_for(reader.depth, longest, values.dtype),
            )
        return lists

    def _excluded(self, rows: slice) -> tuple[IntArray, npt.NDArray[np.int64]]:
        """Where each user's excluded items begin, and the items."""
        if self.exclude is None:
            return np.zeros(rows.stop - rows.start + 1, np.int64), _NO_ITEMS
        start, items, _ = self.exclude.rows(rows)
        return start, items

    def _pool(
        self, candidates: ItemSets, rows: slice, nan_found: IntArray
    ) -> tuple[Rows, npt.NDArray[Any], ScoreBlock]:
        """The candidates of each user that are not excluded, and their scores."""
        pool = candidates.rows(rows)
        block = self.scores.candidates(rows, np.diff(pool.start), pool.items)
        values = block.values
        _selection.find_candidate_nan(values, pool.start, pool.items, block.lowest, nan_found)
        if self.exclude is not None:
            rest = ~pool.among(self.exclude.rows(rows), self.n_items)
            pool, values = pool.keep(rest), values[rest]
        return pool, values, block


class RankedInputs:
    """Rankings and truth of one call, checked against each other.

    ``n_items`` is the size of the catalogue, or larger than any where nothing tells it.
    """

    def __init__(self, ranking: npt.NDArray[Any], sets: UserSets) -> None:
        self.ranking = ranking
        self.n_users = len(ranking)
        self.sets = sets
        self.truth = sets.truth
        self.n_items = UNBOUNDED if self.truth.n_items is None else self.truth.n_items

    def top_k(self, plan: Plan, reader: ListReader) -> TopK:
        """Find every user's relevant items as deep as the plan asks, and have the lists read."""
        k, options = max(plan.k, reader.depth), plan.options
        if self.sets.candidates is None:
            reader.offer(slice(0, self.n_users), slice(None))

        def rank_block(rows: slice) -> TopK:
            relevant = self.truth.rows(rows)
            lists = as_kernel_array(np.ascontiguousarray(self.ranking[rows], np.int64))
            top, fault = topk_of_lists(lists, relevant, self.n_items, k, ties=plan.ties)
            if fault[0]:
                self._refuse_ranking(int(fault[0]), rows.start + int(fault[1]), int(fault[2]))
            self._check_recommendable(rows, lists)
            if self.sets.candidates is not None:
                reader.offer(rows, self.sets.candidates.rows(rows).items)
            if reader.depth:
                reader.read(Lists(rows, lists, top.n_listed, relevant))
            return top

        n_users, length = self.ranking.shape
        n_threads = options.threads if n_users * length >= _SMALL else 1
        dense = self.n_items if self.truth.is_dense else 0  # entries of a user read beside the list
        row_items = max(1, length, dense, reader.row_items)
        blocks = row_blocks(n_users, _RANKED_ITEMS // row_items, n_threads)
        return join(in_blocks(rank_block, blocks, n_threads, options))

    def _check_recommendable(self, rows: slice, lists: IntArray) -> None:
        """Refuse a list with an excluded item, or with one that is no candidate."""
        if self.sets.exclude is None and self.sets.candidates is None:
            return
        users, places = np.nonzero(lists >= 0)
        start = np.searchsorted(users, np.arange(len(lists) + 1))
        listed = Rows(start, lists[users, places], np.empty(0))
        for sets, belongs, problem in (
            (self.sets.exclude, False, "which is excluded for this user"),
            (self.sets.candidates, True, "which is no candidate of this user"),
        ):
            if sets is None:
                continue
            known = listed.among(sets.rows(rows), self.n_items)
            wrong = np.flatnonzero(known != belongs)
            if wrong.size:
                row, place = int(users[wrong[0]]), int(places[wrong[0]])
                msg = (
                    f"ranking of user {self.sets.name(rows.start + row)} names at rank {place + 1} "
                    f"item {lists[row, place]}, {problem}; expected items that may be recommended"
                )
                raise InputError(msg)

    def _refuse_ranking(self, fault: int, user: int, place: int) -> None:
        item, rank = int(self.ranking[user, place]), place + 1
        if fault == _selection.OUTSIDE:
            known = "an index >= 0" if self.n_items == UNBOUNDED else f"0 .. {self.n_items - 1}"
            problem = f"item {item}, which is outside the catalogue; expected {known}, or -1"
        elif fault == _selection.AFTER_END:
            problem = f"item {item} after the end of the list; expected -1 only after the last item"
        else:
            problem = f"item {item} twice; expected each item once"
        msg = f"ranking of user {self.sets.name(user)} names at rank {rank} {problem}"
        raise InputError(msg)


def read_ranked_truth(ranking: npt.NDArray[Any], truth: Any) -> UserSets:
    """The truth of rankings, which may not tell the size of the catalogue."""
    return UserSets(read_truth(truth, (len(ranking), None), int(ranking.max(initial=-1))))


def topk_of_lists(
    lists: IntArray, relevant: Rows, n_items: int, k: int, *, ties: bool
) -> tuple[TopK, IntArray]:
    """The hits among the first ``k`` of each list, and what ``rank_lists`` found wrong."""
    top = empty_topk(relevant.start, relevant.values, ties=False)
    fault = np.zeros(3, np.int64)
    _selection.rank_lists(lists, relevant.items, relevant.values, n_items, k, top, fault)
    if ties:  # a list has none
        top = top._replace(first=top.rank, last=top.rank)
    return top, fault


def _no_lists(rows: slice, width: int, relevant: Rows) -> Lists:
    """Room for the lists of a block."""
    n_users = rows.stop - rows.start
    return Lists(rows, np.empty((n_users, width), np.int64), np.zeros(n_users, np.int64), relevant)


def in_blocks(
    work: Callable[[slice], Any], blocks: Sequence[slice], n_threads: int, options: CallOptions
) -> list[Any]:
    """What ``work`` gives for each block, in threads, with the progress of the call."""
    if not options.progress:
        return map_blocks(work, blocks, n_threads)
    with reporting(options.progress, blocks[-1].stop) as done:
        return map_blocks(work, blocks, n_threads, done)


def refuse_nan(found: Sequence[IntArray], sets: UserSets) -> None:
    """Raise the error of NaN among the scores, where any block found some."""
    count = sum(int(counted[0]) for counted in found)
    if count:
        _, row, item = next(counted for counted in found if counted[0])
        item += sets.first_item
        msg = (
            f"scores hold {count} NaN, the first at (user {sets.name(int(row))}, item {item}); "
            "expected numbers; give nan='exclude' to treat NaN like a score of -inf"
        )
        raise NaNScoreError(msg)
