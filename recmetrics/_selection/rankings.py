"""Rankings that exist already -> hits, or an exact error."""

import numpy as np

from recmetrics._errors import ArgumentError, InputError
from recmetrics._inputs import Cleaned, Rankings, Rows, Users
from recmetrics._selection import kernels
from recmetrics._selection.hits import Hits, empty_hits, hits_of_slots, join
from recmetrics._selection.lists import Lists, Reader
from recmetrics._selection.tied import recommendable
from recmetrics._spec import Request
from recmetrics._threads import in_blocks, row_blocks
from recmetrics._types import IntArray

_SMALL = 1 << 19  # items of rankings; fewer take less time than starting threads for them
_RANKED_ITEMS = 1 << 20  # in one block of rankings


class GivenRanker:
    """Rankings and truth of the same users, checked against each other.

    ``n_items`` is the size of the catalogue, None where nothing gives it.
    """

    def __init__(self, rankings: Rankings, users: Users) -> None:
        self._rankings = rankings
        self.n_users, self.n_items = len(rankings.lists), users.n_items
        self.users = users
        # Repeats and unknown items of each list, (2, n_users); None where they are errors.
        self.invalid = None if rankings.is_strict else np.zeros((2, self.n_users), np.int64)

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        """Find the relevant items, as ``Ranker.hits`` says."""
        rankings, users = self._rankings, self.users
        n_users, length = rankings.lists.shape
        of_all_items = rules.of_all_items
        if rankings.unknown != "raise" and self.n_items is None:
            msg = (
                f"unknown={rankings.unknown!r} needs the size of the catalogue, which a truth of "
                "item indices does not give; type n_items="
            )
            raise ArgumentError(msg)
        if of_all_items and self.n_items is None:
            msg = (
                f"{of_all_items[0]} needs whole rankings and the size of the catalogue, which a "
                "truth of item indices does not give; type n_items= (for tables catalogue=), or "
                f"with scores Metrics.compute(scores, truth, ['{of_all_items[0]}'])"
            )
            raise ArgumentError(msg)
        if of_all_items and "waste" in (rankings.repeats, rankings.unknown):
            msg = (
                f"{of_all_items[0]} counts all items, but a wasted rank has no item; type 'drop' "
                "instead of 'waste'"
            )
            raise ArgumentError(msg)
        depth = max(k or 0, 0 if reader is None else reader.depth)

        def find_in_block(rows: slice) -> Hits:
            relevant = users.truth.rows(rows)
            block = rankings.block(rows, self.n_items)
            lists = block.lists
            if self.invalid is not None:
                self.invalid[:, rows] = block.counts
            hits, fault = hits_of_lists(lists, relevant, self.n_items, depth, ties=rules.ties)
            problem, row, place = fault.tolist()
            if problem:
                self._refuse_ranking(problem, rows.start, row, place, block)
            self._check_recommendable(rows, block)
            if of_all_items:
                self._check_whole(of_all_items[0], rows, relevant, hits.length)
            if reader is not None:
                if users.candidates is not None:
                    reader.offer(users.candidates.rows(rows).items)
                reader.read(Lists(rows, lists, hits.length, relevant, block.ranks))
            return hits if block.ranks is None else _at_ranks(hits, block.ranks, block.reach)

        n_threads = rules.threads if n_users * length >= _SMALL else 1
        # Entries of a dense truth, and of a dense profile, are read beside each list.
        dense = (self.n_items or 0) if users.truth.is_dense else 0
        row_items = max(1, length, dense, 0 if reader is None else reader.row_items)
        blocks = row_blocks(n_users, _RANKED_ITEMS // row_items, n_threads)
        # An excluded item is refused here, and only an Evaluator, which counts, has any.
        return join(in_blocks(find_in_block, blocks, n_threads, rules.progress)), 0

    def _check_recommendable(self, rows: slice, block: Cleaned) -> None:
        """Refuse a list with an excluded item, or with one that is not a candidate."""
        lists = block.lists
        exclude, candidates = self.users.exclude, self.users.candidates
        if exclude is None and candidates is None:
            return
        users, places = np.nonzero(lists >= 0)
        start = np.searchsorted(users, np.arange(len(lists) + 1))
        named = Rows(start, lists[users, places], np.empty(0))
        for sets, belongs, problem in (
            (exclude, False, "which is excluded for this user"),
            (candidates, True, "which is not a candidate of this user"),
        ):
            if sets is None:
                continue
            wrong = np.flatnonzero(named.among(sets.rows(rows)) != belongs)
            if wrong.size:
                row, place = int(users[wrong[0]]), int(places[wrong[0]])
                user = self.users.user_at(rows.start + row)
                msg = (
                    f"ranking of user {user} names at rank {block.rank_in(row, place)} "
                    f"item {lists[row, place]}, {problem}; expected items that may be recommended"
                )
                raise InputError(msg)

    def _check_whole(self, text: str, rows: slice, relevant: Rows, length: IntArray) -> None:
        """Refuse a list that lacks recommendable items, of a user whose value is defined."""
        _, n_recommendable = recommendable(relevant, rows, self.users, self.n_items or 0)
        short = np.flatnonzero((length < n_recommendable) & (np.diff(relevant.start) > 0))
        if short.size:
            row = int(short[0])
            msg = (
                f"ranking of user {self.users.user_at(rows.start + row)} names {length[row]:,} of "
                f"the {n_recommendable[row]:,} items that may be recommended, but {text} counts "
                "all of them; expected whole rankings; with scores type Metrics.compute(scores, "
                f"truth, ['{text}'])"
            )
            raise InputError(msg)

    def _refuse_ranking(self, fault: int, first: int, row: int, place: int, block: Cleaned) -> None:
        """Refuse the item at a place of a block that begins with user ``first``."""
        item, rank, advice = int(block.lists[row, place]), block.rank_in(row, place), ""
        if fault == kernels.OUTSIDE:
            known = "an index >= 0" if self.n_items is None else f"0 .. {self.n_items - 1}"
            problem = f"item {item}, which is outside the catalogue; expected {known}, or -1"
            advice = "unknown" if self.n_items is not None else ""
        elif fault == kernels.AFTER_END:
            problem = f"item {item} after the end of the list; expected -1 only after the last item"
        else:
            problem, advice = f"item {item} twice; expected each item once", "repeats"
        msg = f"ranking of user {self.users.user_at(first + row)} names at rank {rank} {problem}"
        if advice:
            msg += f"; {advice}='waste' or {advice}='drop' accepts such items"
        raise InputError(msg)


def _at_ranks(hits: Hits, ranks: IntArray, reach: IntArray | None) -> Hits:
    """Give each hit the rank of its place in the list, and each list its last rank as length."""
    user_of, is_hit = hits_of_slots(hits)
    rank = hits.rank.copy()
    rank[is_hit] = ranks[user_of[is_hit], rank[is_hit] - 1]
    length = hits.length if reach is None else reach
    return hits._replace(rank=rank, first=rank, last=rank, length=length)  # a list has no ties


def hits_of_lists(
    lists: IntArray, relevant: Rows, n_items: int | None, k: int, *, ties: bool
) -> tuple[Hits, IntArray]:
    """Find the hits among the first ``k`` of each list, and the fault that ``rank_lists`` found."""
    hits = empty_hits(relevant.start, relevant.values, ties=False)
    fault = np.zeros(3, np.int64)
    catalogue = kernels.ANY_ITEM if n_items is None else n_items
    tables = kernels.tables_for(lists, relevant.items)
    kernels.rank_lists(lists, relevant.items, relevant.values, catalogue, k, hits, fault, tables)
    if ties:  # a list has no ties
        hits = hits._replace(first=hits.rank, last=hits.rank)
    return hits, fault
