"""Scores in memory -> hits and lists, in row blocks and threads."""

import functools
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import (
    DenseSets,
    ItemSets,
    Rows,
    ScoreBlock,
    ScoreMatrix,
    SparseScores,
    SparseSets,
    Users,
    find_candidate_nan,
    find_nan,
    starts_of,
)
from recmetrics._core.jit import compiles
from recmetrics._core.selection import kernels, memory
from recmetrics._core.selection.hits import (
    Hits,
    cleared,
    compact_hits,
    empty_hits,
    fill_ideal,
    part_of,
)
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.rankers import Block, RankedBlock, hits_of_blocks
from recmetrics._core.spec import Request
from recmetrics._core.types import BoolArray, IntArray, NaNPolicy

# From so many relevant items a user on, by the bytes of a score, a search for each score among
# theirs takes less than to compare it with all of them. So it does for candidates, and for the rows
# of a group. Both take as long at 27 to 60 items in float32, and at 18 to 35 in float64, of which a
# processor compares half as many at once; the more scores a user has, the more items it takes.
MANY_RELEVANT = {4: 45, 8: 25}
# The lane maxima of ``kernels`` leave out the relevant items that are no hits before ranks are
# counted, so that many relevant items take less time than a search. But from so many hits of a user
# on, a search takes less. Microseconds with lanes and with a search, of a user with 200 relevant of
# 3,700 items:
#     k = 100: random scores 3 and 8, a good model's (100 hits) 10 and 10
#     k = 370: random scores 6 and 9, a good model's (200 hits) 24 and 10
_MANY_HITS = 60
_SAMPLED_USERS = 4  # of a block, whose hits are counted first
# Kernels compare each relevant item with each excluded one. With more pairs of these per score, the
# excluded ones are hidden in a copy of the scores instead. With lanes most relevant items are left
# out before, so more pairs are allowed.
MAX_PAIRS = 4
MAX_PAIRS_WITH_LANES = 64
# With so many relevant items of a user for each one that metrics read, only slots for these are
# kept, and the best items are looked up in a dense truth: 4,000 x 3,700 and k = 10 take 12 ms then,
# instead of 14 (80 relevant items) or 50 (300).
_LEAST_PER_SLOT = 6
# The ways to find hits are compared in the time that a visit to a relevant item takes.
_VISITS_PER_LISTED = 27  # to list one of the k best items
_LEAST_LIST_VISITS = 250  # for any list
_SCORES_PER_VISIT = 64  # scores of the row, which is read once more for a list
_VISITS_PER_HIT = 100  # to rank a relevant item that is a hit

Array = npt.NDArray[Any]


class MatrixRanker:
    """Scores in memory, and the truth, exclude and candidates of the same users.

    Its hits have a slot for each relevant item, or, where these are many more, ``most_slots`` for a
    user.
    """

    def __init__(self, scores: ScoreMatrix, users: Users, most_slots: int | None = None) -> None:
        self.scores = scores
        self._most_slots = most_slots
        if most_slots is not None and users.truth.estimated_items < _LEAST_PER_SLOT * most_slots:
            self._most_slots = None
        self.n_users, self.n_items = scores.shape
        self.users = users
        # The items of each user whose scores are read; None where they are all items.
        self._items_read: SparseScores | ItemSets | None = users.candidates
        if isinstance(scores, SparseScores):
            self._items_read = scores

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        blocks, n_threads = self._blocks(rules, listing=reader is not None)
        # Where the number of relevant items is known, blocks write into the hits of all users: to
        # join the hits of blocks took a tenth of a call, in one thread, to clear all hits first two
        # hundredths.
        all_hits = None
        if len(blocks) > 1 and isinstance(self.users.truth, SparseSets):
            truth = self.users.truth
            if self._most_slots is not None:
                all_hits = compact_hits(truth.start, self._most_slots, np.empty)
            else:
                relevant = truth.rows(slice(0, self.n_users))
                ties = rules.ties and k is not None
                all_hits = empty_hits(relevant.start, relevant.values, ties=ties, allocate=np.empty)
        rank = self._rank_rows if self._items_read is None else self._rank_candidates
        rank_block = functools.partial(rank, k=k, rules=rules, reader=reader, all_hits=all_hits)
        users = self.users
        keeps_few = self._most_slots is not None and reader is None
        if keeps_few and k is not None and self._looks_up_dense(k):
            rank_block = functools.partial(self._rank_by_lookup, k=k, rules=rules)
            # The relevant items of blocks are not listed, unless ``_rank_by_lookup`` has to.
            users = users._replace(truth=SparseSets(Rows.none(self.n_users), None))
        return hits_of_blocks(rank_block, blocks, n_threads, users, k, rules, all_hits)

    def _rank_rows(
        self,
        block: Block,
        k: int | None,
        rules: Request,
        reader: Reader | None,
        all_hits: Hits | None,
    ) -> RankedBlock:
        """Rank a block by whole rows of scores, and pass on its lists.

        ``k`` is None where no metric reads hits. The hits are written into their part of
        ``all_hits``, where it is not None.
        """
        has_nan = np.zeros(1, np.bool_)
        looks_up = k is not None and self._looks_up_items(block.relevant, k, rules, reader)
        hits = self._no_hits(block, all_hits, ties=rules.ties and k is not None)

        if k is not None and looks_up:
            scores = self.scores.block(block.rows)
            depth = k if reader is None else reader.depth
            lists = self._list_rows(scores, block, depth, has_nan)
            are_equal = self.users.truth.are_equal
            places = np.empty(k, np.int64)
            kernels.look_up_items(
                lists.items, lists.length, k, block.relevant, are_equal, hits, places
            )
        else:
            # Lists read all rows a second time; to convert them twice takes longer.
            scores = self.scores.block(block.rows, packed=reader is None)
            if k is not None:
                self._fill_from_rows(hits, scores, block, k, rules, has_nan)
            if reader is not None:
                lists = self._list_rows(scores, block, reader.depth, has_nan)
        if reader is not None:
            reader.read(lists)

        nan_report = np.zeros(3, np.int64)
        if has_nan[0] and rules.nan == "raise":
            nan_report = find_nan(scores.whole().values, scores.lowest)
        return RankedBlock(hits, nan_report)

    def _rank_by_lookup(self, block: Block, k: int, rules: Request) -> RankedBlock:
        """Rank a block by looking up its k best items in the dense truth.

        The relevant items of ``block`` are not listed.
        """
        scores = self.scores.block(block.rows, packed=False)
        has_nan = np.zeros(1, np.bool_)
        hits = self._hits_by_lookup(scores, block, k, has_nan)
        is_refused = has_nan[0] and rules.nan == "raise"
        if hits is None or is_refused:  # the relevant items are listed, and NaN reported, after all
            block = block._replace(relevant=self.users.truth.rows(block.rows))
            return self._rank_rows(block, k, rules, reader=None, all_hits=None)
        return RankedBlock(hits, np.zeros(3, np.int64))

    def _looks_up_items(
        self, relevant: Rows, k: int, rules: Request, reader: Reader | None
    ) -> bool:
        """Say whether the k best items of each user are listed and looked up in the relevant ones.

        The other way is to visit all relevant items, and to rank those that may be hits. Ranks of
        tie groups need it, and in Python it takes less time. In all other cases items are looked up
        where they are listed anyway, or where to list them takes less time than the visits.
        """
        if rules.ties or not compiles():
            return False
        if reader is not None:
            return reader.depth >= k
        n_users = len(relevant.start) - 1
        n_relevant = len(relevant.items)
        n_hits = n_relevant * k / max(1, self.n_items)  # of random scores
        visits_per_list = max(_LEAST_LIST_VISITS, _VISITS_PER_LISTED * k)
        visits_per_list += self.n_items // _SCORES_PER_VISIT
        is_faster = n_users * visits_per_list <= n_relevant + _VISITS_PER_HIT * n_hits
        # Rows without lanes are too short: there, to list takes longer.
        return is_faster and memory.n_lanes_for(k, self.n_items) > 0

    def _looks_up_dense(self, k: int) -> bool:
        """Say whether the k best items of each user are looked up in a dense truth.

        That takes less than to list and to rank many relevant items; but not in short rows, which
        have no lanes, nor in Python, where it takes eight times as long or more. Beside excluded
        items, the relevant ones are listed in any case.
        """
        users = self.users
        if self._items_read is not None or users.exclude is not None or not compiles():
            return False
        return isinstance(users.truth, DenseSets) and memory.n_lanes_for(k, self.n_items) > 0

    def _hits_by_lookup(
        self, scores: ScoreBlock, block: Block, k: int, has_nan: BoolArray
    ) -> Hits | None:
        """The hits of a block, whose k best items are looked up in the dense truth.

        None for a truth that kernels do not read, or that is refused. ``has_nan`` (1,) becomes True
        with any NaN.
        """
        truth_of_block = cast(DenseSets, self.users.truth).relevances_for_kernels(block.rows)
        if truth_of_block is None:
            return None
        relevances, n_relevant, are_ones = truth_of_block
        hits = compact_hits(starts_of(n_relevant), cast(int, self._most_slots))
        if not are_ones:
            start = np.arange(len(n_relevant) + 1) * self.n_items
            fill_ideal(hits, start, relevances.reshape(-1))

        ranking, length = self._best_items(scores, block, k, has_nan)
        kernels.look_up_dense(ranking, length, relevances, hits)
        if are_ones:
            hits.ideal.fill(1.0)
            hits.gain.fill(1.0)
        return hits

    def _rank_candidates(
        self,
        block: Block,
        k: int | None,
        rules: Request,
        reader: Reader | None,
        all_hits: Hits | None,
    ) -> RankedBlock:
        """Rank a block by the scores of each user's candidates, or stored items, alone.

        The arguments are those of ``_rank_rows``.
        """
        hits = self._no_hits(block, all_hits, ties=rules.ties and k is not None)
        candidates = self._candidates(block)
        if k is not None:
            self._fill_from_candidates(hits, candidates, block.relevant, k, rules.ties)
        if reader is not None:
            if self.users.candidates is not None:
                reader.offer(self.users.candidates.rows(block.rows).items)
            reader.read(self._list_candidates(candidates, block, reader.depth))
        return RankedBlock(hits, candidates.nan_report)

    def _blocks(self, rules: Request, *, listing: bool) -> tuple[list[slice], int]:
        """The row blocks, and the number of threads that pays off."""
        # Reading candidates takes a copy of their scores and indices: about four float32 each.
        row_items = self.n_items if self._items_read is None else 4 * self._items_read.mean_items
        if self.scores.is_small(row_items):
            return [slice(0, self.n_users)], 1
        # Many relevant items make a table of their scores; lists read a block a second time.
        has_many = self.users.truth.mean_items >= MANY_RELEVANT[self.scores.dtype.itemsize]
        copied = self.users.is_dense or self._items_read is not None or has_many or listing
        return self.scores.blocks(rules.threads, row_items, copied=copied)

    def _no_hits(self, block: Block, all_hits: Hits | None, *, ties: bool) -> Hits:
        """Hits for a block to fill: its part of ``all_hits``, or its own where that is None."""
        relevant = block.relevant
        if all_hits is not None:
            hits = cleared(part_of(all_hits, block.rows))
        elif self._most_slots is not None:
            hits = compact_hits(relevant.start, self._most_slots)
        else:
            hits = empty_hits(relevant.start, relevant.values, ties=ties)
        if self._most_slots is None:
            return hits
        if self.users.truth.are_equal:
            # To read 1,000 relevances a user once more took a tenth of a call.
            hits.ideal[:] = relevant.values[:1]
        else:
            fill_ideal(hits, relevant.start, relevant.values)
        return hits

    def _fill_from_rows(
        self,
        hits: Hits,
        scores: ScoreBlock,
        block: Block,
        k: int,
        rules: Request,
        has_nan: BoolArray,
    ) -> None:
        """Fill the hits of a block; ``has_nan`` (1,) becomes True with any NaN."""
        _, relevant, excluded = block
        ties = rules.ties
        dtype = scores.values.dtype
        n_users = len(relevant.start) - 1
        n_scores = n_users * self.n_items
        lanes = memory.lanes_for(k, self.n_items, dtype)
        n_relevant = len(relevant.items)
        has_many = n_relevant >= MANY_RELEVANT[dtype.itemsize] * n_users
        if has_many and lanes.size:
            has_many = _have_many_hits(scores, relevant, k)
        allowed = lanes[:0]
        if len(excluded.items):
            allowed = memory.row_for(scores, self.n_items)
        if len(excluded.items) and (has_many or not allowed.size):
            n_pairs = int((np.diff(relevant.start) * np.diff(excluded.start)).sum())
            if n_pairs > n_scores * (MAX_PAIRS_WITH_LANES if lanes.size else MAX_PAIRS):
                scores = scores.whole()
                hidden = _hidden(scores, excluded, rules.nan)
                if hidden is not None:
                    scores = hidden
                    excluded = Rows.none(n_users)

        tied = kernels.Tied(hits.first, hits.last) if ties else None
        possible_hits = memory.possible_hits_for(relevant.start, ties=ties)
        for_both = relevant, excluded, k, hits, tied, has_nan  # the arguments of both kernels
        if has_many:
            scores = scores.whole()
            bins = memory.bins_for(self.n_items, len(possible_hits.gain), dtype)
            kernels.rank_many_relevant(scores, *for_both, possible_hits, bins)
            return  # its hits are sorted
        pool = memory.pool_for(k, self.n_items, dtype)
        work = kernels.RankMemory(lanes, pool, possible_hits, allowed)
        expects_hits = True if lanes.size and n_relevant * k >= n_scores else None
        kernels.rank_rows(scores, scores.bits, *for_both, work, expects_hits)
        kernels.sort_hits(hits, tied, len(possible_hits.gain), self.n_items if ties else k)

    def _fill_from_candidates(
        self, hits: Hits, candidates: "_Candidates", relevant: Rows, k: int, ties: bool
    ) -> None:
        """Fill the hits of a block from the scores of candidates."""
        start = candidates.rows.start
        items = candidates.rows.items
        scores = candidates.scores
        tied = kernels.Tied(hits.first, hits.last) if ties else None
        possible_hits = memory.possible_hits_for(relevant.start, ties=ties)
        longest = int(np.diff(start).max(initial=0))
        most_relevant = len(possible_hits.gain)
        bin_memory = None
        dtype = scores.values.dtype
        least_relevant = MANY_RELEVANT[dtype.itemsize]
        if most_relevant >= least_relevant:
            bins = memory.bins_for(longest, most_relevant, dtype)
            bin_memory = kernels.BinMemory(least_relevant, bins)
        kernels.rank_candidates(
            scores.values, start, items, relevant, k, scores.least, hits, tied, possible_hits,
            bin_memory,
        )  # fmt: skip
        depth = min(k, longest)
        if ties:  # a group of ties may reach beyond k, so all are sorted
            depth = longest
        kernels.sort_hits(hits, tied, most_relevant, depth)

    def _list_rows(self, scores: ScoreBlock, block: Block, depth: int, has_nan: BoolArray) -> Lists:
        """The lists of a block from whole rows; ``has_nan`` (1,) becomes True with any NaN."""
        items, length = self._best_items(scores, block, depth, has_nan)
        return Lists(block.rows, items, length, block.relevant)

    def _best_items(
        self, scores: ScoreBlock, block: Block, depth: int, has_nan: BoolArray
    ) -> tuple[IntArray, IntArray]:
        """The best items of each user of a block, down to rank ``depth``, and their number.

        ``has_nan`` (1,) becomes True with any NaN.
        """
        n_users = len(scores.values)
        dtype = scores.values.dtype
        items = np.empty((n_users, min(depth, self.n_items)), np.int64)
        length = np.zeros(n_users, np.int64)
        allowed = np.empty(0, dtype)
        if len(block.excluded.items):
            allowed = memory.row_for(scores, self.n_items)
        kernels.list_rows(
            scores, block.excluded, depth, items, length, has_nan,
            memory.lanes_for(depth, self.n_items, dtype),
            memory.pool_for(depth, self.n_items, dtype),
            allowed,
        )  # fmt: skip
        return items, length

    def _list_candidates(self, candidates: "_Candidates", block: Block, depth: int) -> Lists:
        """The lists of a block from the scores of candidates."""
        start = candidates.rows.start
        scores = candidates.scores
        longest = int(np.diff(start).max(initial=0))
        n_users = len(start) - 1
        best_items = np.empty((n_users, min(depth, longest)), np.int64)
        length = np.zeros(n_users, np.int64)
        kernels.list_candidates(
            scores.values, start, candidates.rows.items, depth, scores.least, best_items, length,
            memory.pool_for(depth, longest, scores.values.dtype),
        )  # fmt: skip
        return Lists(block.rows, best_items, length, block.relevant)

    def _candidates(self, block: Block) -> "_Candidates":
        """The items of each user of a block that may be recommended, and their scores."""
        if isinstance(self.scores, SparseScores):
            rows, scores = self.scores.stored(block.rows)
            if self.users.candidates is not None:
                is_candidate = rows.among(self.users.candidates.rows(block.rows))
                rows = rows.keep(is_candidate)
                scores = scores._replace(values=scores.values[is_candidate])
        else:
            candidates = cast(ItemSets, self.users.candidates)
            rows = candidates.rows(block.rows)
            scores = self.scores.candidates(block.rows, candidates, rows)
        nan_report = find_candidate_nan(scores.values, rows.start, rows.items, scores.lowest)
        if len(block.excluded.items):
            is_allowed = ~rows.among(block.excluded)
            rows = rows.keep(is_allowed)
            scores = scores._replace(values=scores.values[is_allowed])
        return _Candidates(rows, scores, nan_report)


class _Candidates(NamedTuple):
    """The items of each user that may be recommended, and their scores."""

    rows: Rows
    scores: ScoreBlock  # values of shape (items,)
    nan_report: IntArray  # as ``find_nan`` has it, of excluded candidates as well


def _have_many_hits(scores: ScoreBlock, relevant: Rows, k: int) -> bool:
    """Say whether the users of a block have many hits, by those of a few of them.

    The best scores of these are found as if no item were excluded.
    """
    if k <= _MANY_HITS:
        return False
    n_users = len(relevant.start) - 1
    n_items: int = scores.values.shape[1]
    if scores.bits is not None:  # half precision is converted row by row: a random order's hits
        return len(relevant.items) * k > _MANY_HITS * n_users * n_items
    users = np.arange(0, n_users, max(1, n_users // _SAMPLED_USERS))
    rows = scores.values[users]
    kth_best = np.partition(rows, n_items - k, axis=1)[:, n_items - k]
    of_users = relevant.take(users)
    relevant_scores = rows[of_users.users(), of_users.items]
    n_hits = np.count_nonzero(relevant_scores >= kth_best[of_users.users()])
    return bool(n_hits > _MANY_HITS * len(users))


def _hidden(scores: ScoreBlock, excluded: Rows, nan: NaNPolicy) -> ScoreBlock | None:
    """Give excluded items the lowest score, which is never recommended, in a copy of a block.

    None where that would change the result: an excluded score is a NaN to be reported, or an item
    with the lowest score may be recommended, as among whole numbers, and some item has that score.
    """
    values, lowest, least, _ = scores
    entries = excluded.users(), excluded.items
    if nan == "raise" and not (values[entries] >= lowest).all():  # only NaN is not >= it
        return None
    if least == lowest:  # from now on only greater scores may be recommended
        if values.min() == lowest:
            return None
        least = values.dtype.type(int(lowest) + 1)
    values = values.copy()
    values[entries] = lowest
    return ScoreBlock(values, lowest, least)
