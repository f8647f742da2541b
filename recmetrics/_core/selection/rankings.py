"""Rankings that exist already -> hits, or an exact error."""

from collections.abc import Sequence

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError
from recmetrics._core.inputs import FlatLists, Rankings, Rows, Users, call_on, hint_of_index
from recmetrics._core.selection import kernels, memory
from recmetrics._core.selection.hits import Hits, empty_hits, hits_of_slots, join
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.rankers import recommendable
from recmetrics._core.spec import Request
from recmetrics._core.threads import in_blocks, row_blocks
from recmetrics._core.types import IntArray

_SMALL = 1 << 19  # items of rankings; fewer take less time than starting threads for them
_RANKED_ITEMS = 1 << 20  # in one block of rankings
_ACCEPT = "; type {0}='waste' or {0}='drop' to accept such items"
_ANY_LIST = "ranking of user 0"  # for a call on the list of each user


class ListRanker:
    """Rankings and truth of the same users, checked against each other."""

    def __init__(self, rankings: Rankings, users: Users) -> None:
        self._rankings = rankings
        self.n_users = rankings.shape[0]
        self.n_items = users.n_items  # None where nothing gives it
        self.users = users
        # Repeats and unknown items of each list, (2, n_users); None where they are errors.
        self.invalid = None if rankings.is_strict else np.zeros((2, self.n_users), np.int64)

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        rankings = self._rankings
        users = self.users
        of_all_items = rules.of_all_items
        self._check_catalogue(of_all_items)
        depth = max(k or 0, 0 if reader is None else reader.depth)

        def find_in_block(rows: slice) -> Hits:
            relevant = users.truth.rows(rows)
            lists, counts = rankings.block(rows, self.n_items)
            if self.invalid is not None:
                self.invalid[:, rows] = counts
            hits, fault = hits_of_lists(lists, relevant, self.n_items, depth, ties=rules.ties)
            problem, row, place = fault.tolist()
            if problem:
                self._refuse_ranking(problem, rows.start, row, place, lists)
            self._check_recommendable(rows, lists)
            if of_all_items:
                self._check_whole(of_all_items[0], rows, relevant, hits.length)

            if reader is not None:
                if users.candidates is not None:
                    reader.offer(users.candidates.rows(rows).items)
                items = lists.matrix(lists.items, reader.depth)
                ranks = None if lists.ranks is None else lists.matrix(lists.ranks, reader.depth)
                length = np.minimum(hits.length, items.shape[1])
                reader.read(Lists(rows, items, length, relevant, ranks))
            return _at_ranks(hits, lists)

        n_users, n_entries = self.n_users, rankings.lists.items.size
        n_threads = rules.threads if n_entries >= _SMALL else 1
        # Entries of a dense truth, and of a dense profile, are read beside each list.
        row_items = max(1, n_entries // max(1, n_users))
        if users.truth.is_dense:
            row_items = max(row_items, self.n_items or 0)
        if reader is not None:
            row_items = max(row_items, reader.row_items)
        blocks = row_blocks(n_users, _RANKED_ITEMS // row_items, n_threads)
        if reader is not None:  # it reads the lists of a block as a matrix
            lengths = np.minimum(rankings.lengths, reader.depth)
            blocks = [part for rows in blocks for part in _narrow(rows, lengths)]
        # An excluded item is refused here, and only an Evaluator, which counts, has any.
        return join(in_blocks(find_in_block, blocks, n_threads, rules.progress)), 0

    def _check_catalogue(self, of_all_items: Sequence[str]) -> None:
        """Refuse what needs the size of the catalogue, or whole rankings, without these."""
        rankings = self._rankings
        if rankings.unknown != "raise" and self.n_items is None:
            msg = (
                f"unknown={rankings.unknown!r} needs the size of the catalogue, which a truth of "
                "item indices does not give; type n_items="
            )
            raise ArgumentError(msg, argument="n_items")
        if of_all_items and self.n_items is None:
            msg = (
                f"{of_all_items[0]} needs whole rankings and the size of the catalogue, which a "
                "truth of item indices does not give; type n_items= (for tables catalogue=), or "
                f"with scores Metrics.compute(scores, truth, ['{of_all_items[0]}'])"
            )
            raise ArgumentError(msg, argument="n_items")
        if of_all_items and "waste" in (rankings.repeats, rankings.unknown):
            msg = (
                f"{of_all_items[0]} counts all items, but a wasted rank has no item; type 'drop' "
                "instead of 'waste'"
            )
            raise ArgumentError(msg)

    def _check_recommendable(self, rows: slice, lists: FlatLists) -> None:
        """Refuse an item of a list that is excluded for the user, or no candidate."""
        exclude = self.users.exclude
        candidates = self.users.candidates
        if exclude is None and candidates is None:
            return
        items = Rows(lists.start, lists.items, np.empty(len(lists.items))).keep(lists.items >= 0)
        for sets, expected, problem in (
            (exclude, False, "which is excluded for this user"),
            (candidates, True, "which is not a candidate of this user"),
        ):
            if sets is None:
                continue
            faults = np.flatnonzero(items.among(sets.rows(rows)) != expected)
            if faults.size:
                fault = faults[0]
                row = int(items.users()[fault])
                place = int(fault - items.start[row])
                user = self.users.user_at(rows.start + row)
                msg = (
                    f"ranking of user {user} names at rank {lists.rank_in(row, place)} "
                    f"item {items.items[fault]}, {problem}; expected items that may be recommended"
                )
                raise InputError(msg, argument="ranking")

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
            raise InputError(msg, argument="ranking")

    def _refuse_ranking(
        self, fault: int, first: int, row: int, place: int, lists: FlatLists
    ) -> None:
        """Refuse the item at a place of a list; the first list is that of user ``first``."""
        item = int(lists.items[lists.start[row] + place])
        rank = lists.rank_in(row, place)
        advice = ""
        if fault == kernels.OUTSIDE:
            expected = "an index >= 0"
            if self.n_items is not None:
                expected = f"0 .. {self.n_items - 1}"
            problem = f"item {item}, which is outside the catalogue; expected {expected}, or -1"
            if self.n_items is not None and item >= 0:
                items = self._rankings.lists.items
                advice = hint_of_index(_ANY_LIST, item, items, self.n_items)
            if self.n_items is not None and not advice:
                advice = _ACCEPT.format("unknown")
        elif fault == kernels.AFTER_END:
            problem = f"item {item} after the end of the list; expected -1 only after the last item"
        else:
            problem = f"item {item} twice; expected each item once"
            advice = _ACCEPT.format("repeats")
            last_items = lists.items[lists.start[row] : lists.start[row + 1]][-2:]
            if item == 0 and not last_items.any():
                call = call_on(_ANY_LIST, "np.trim_zeros({}, 'b')")
                advice = f", and -1 after the last one; if 0 is no item type {call}"
        user = self.users.user_at(first + row)
        msg = f"ranking of user {user} names at rank {rank} {problem}{advice}"
        raise InputError(msg, argument="ranking")


def _narrow(rows: slice, lengths: IntArray) -> list[slice]:
    """Halve a block of users until the matrix of its lists, of some lengths, is not too large."""
    n_users = rows.stop - rows.start
    if n_users < 2 or n_users * int(lengths[rows].max()) <= _RANKED_ITEMS:
        return [rows]
    middle = rows.start + n_users // 2
    left = _narrow(slice(rows.start, middle), lengths)
    return left + _narrow(slice(middle, rows.stop), lengths)


def _at_ranks(hits: Hits, lists: FlatLists) -> Hits:
    """Give each hit the rank of its place in the list, and each list its last rank as length."""
    if lists.ranks is None or lists.last_ranks is None:
        return hits
    user_of, is_hit = hits_of_slots(hits)
    rank = hits.rank.copy()
    rank[is_hit] = lists.ranks[lists.start[user_of[is_hit]] + rank[is_hit] - 1]
    return hits._replace(rank=rank, first=rank, last=rank, length=lists.last_ranks)  # without ties


def hits_of_lists(
    lists: FlatLists, relevant: Rows, n_items: int | None, k: int, *, ties: bool
) -> tuple[Hits, IntArray]:
    """Find the hits among the first ``k`` of each list, and the fault that ``rank_lists`` found."""
    hits = empty_hits(relevant.start, relevant.values, ties=False)
    fault = np.zeros(3, np.int64)
    catalogue = kernels.ANY_ITEM if n_items is None else n_items
    tables = memory.tables_for(lists, relevant.items)
    kernels.rank_lists(lists.items, lists.start, relevant, catalogue, k, hits, fault, tables)
    if ties:  # a list has no ties
        hits = hits._replace(first=hits.rank, last=hits.rank)
    return hits, fault
