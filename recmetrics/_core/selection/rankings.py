"""Rankings that exist already -> hits, or an exact error."""

from collections.abc import Sequence

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError
from recmetrics._core.inputs import (
    FlatLists,
    Rankings,
    Rows,
    Users,
    call_on,
    hint_of_index,
    valid_indices,
)
from recmetrics._core.selection import kernels, memory
from recmetrics._core.selection.hits import Hits, empty_hits, hits_of_slots, join
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.rankers import recommendable
from recmetrics._core.spec import Request
from recmetrics._core.threads import in_blocks, row_blocks
from recmetrics._core.types import IntArray

_SMALL_ITEMS = 1 << 19  # of all rankings; fewer take less time than to start threads for them
_BLOCK_ITEMS = 1 << 20  # the most of the rankings of one block of users
_ACCEPT_ADVICE = "; type {0}='waste' or {0}='drop' to accept such items"
_ANY_LIST = "ranking of user 0"  # for a call on the list of each user


class ListRanker:
    """Rankings and truth of the same users, checked against each other."""

    def __init__(self, rankings: Rankings, users: Users) -> None:
        self._rankings = rankings
        self.n_users = rankings.shape[0]
        self.n_items = users.n_items  # None where nothing gives it
        self.users = users
        # The repeats and the unknown items of each list, (2, n_users); None where they are errors.
        self.n_invalid = None if rankings.is_strict else np.zeros((2, self.n_users), np.int64)

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        rankings = self._rankings
        users = self.users
        whole_metrics = rules.of_all_items
        self._check_catalogue(whole_metrics)
        depth = max(k or 0, 0 if reader is None else reader.depth)

        def find_in_block(rows: slice) -> Hits:
            relevant = users.truth.rows(rows)
            lists, counts = rankings.block(rows, self.n_items)
            if self.n_invalid is not None:
                self.n_invalid[:, rows] = counts
            hits, fault = hits_of_lists(lists, relevant, self.n_items, depth, ties=rules.ties)
            fault_code, row, place = fault.tolist()
            if fault_code:
                self._refuse_ranking(fault_code, rows.start, row, place, lists)
            self._check_recommendable(rows, lists)
            if whole_metrics:
                self._check_whole(whole_metrics[0], rows, relevant, hits.length)

            if reader is not None:
                if users.candidates is not None:
                    reader.offer(users.candidates.rows(rows).items)
                items = lists.matrix(lists.items, reader.depth)
                ranks = None if lists.ranks is None else lists.matrix(lists.ranks, reader.depth)
                length = np.minimum(hits.length, items.shape[1])
                reader.read(Lists(rows, items, length, relevant, ranks))
            return _at_ranks(hits, lists)

        n_users, n_entries = self.n_users, rankings.lists.items.size
        n_threads = rules.threads if n_entries >= _SMALL_ITEMS else 1
        # Rows of a dense truth, and of a dense profile, are read beside each list.
        row_items = max(1, n_entries // max(1, n_users))
        if users.truth.is_dense:
            row_items = max(row_items, self.n_items or 0)
        if reader is not None:
            row_items = max(row_items, reader.row_items)
        blocks = row_blocks(n_users, _BLOCK_ITEMS // row_items, n_threads)
        if reader is not None:  # reads the lists of a block as a matrix, as wide as the longest
            lengths = np.minimum(rankings.lengths, reader.depth)
            blocks = [part for rows in blocks for part in _narrow_blocks(rows, lengths)]
        # An excluded item is refused here, and only an Evaluator, which counts, has any.
        return join(in_blocks(find_in_block, blocks, n_threads, rules.progress)), 0

    def _check_catalogue(self, whole_metrics: Sequence[str]) -> None:
        """Refuse metrics and options that need the size of the catalogue, or whole rankings.

        ``whole_metrics`` are the metric strings that count all items of the catalogue.
        """
        rankings = self._rankings
        if rankings.unknown != "raise" and self.n_items is None:
            msg = (
                f"unknown={rankings.unknown!r} needs the size of the catalogue, which a truth of "
                "item indices does not give; type n_items="
            )
            raise ArgumentError(msg, argument="n_items")
        if whole_metrics and self.n_items is None:
            msg = (
                f"{whole_metrics[0]} needs whole rankings and the size of the catalogue, which a "
                "truth of item indices does not give; type n_items= (for tables catalogue=), or "
                f"with scores Metrics.compute(scores, truth, ['{whole_metrics[0]}'])"
            )
            raise ArgumentError(msg, argument="n_items")
        if whole_metrics and "waste" in (rankings.repeats, rankings.unknown):
            msg = (
                f"{whole_metrics[0]} counts all items, but a wasted rank has no item; type 'drop' "
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
        for sets, must_be_among, problem in (
            (exclude, False, "which is excluded for this user"),
            (candidates, True, "which is not a candidate of this user"),
        ):
            if sets is None:
                continue
            faults = np.flatnonzero(items.among(sets.rows(rows)) != must_be_among)
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
        """Refuse a list that lacks recommendable items, of a user with relevant items.

        Other users have no value of the metric ``text``, which counts all items.
        """
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
        self, fault_code: int, first: int, row: int, place: int, lists: FlatLists
    ) -> None:
        """Refuse the item at a place of a list, which is that of user ``first + row``.

        ``fault_code`` is one of the faults of ``kernels``.
        """
        item = int(lists.items[lists.start[row] + place])
        rank = lists.rank_in(row, place)
        items = self._rankings.lists.items
        last_items = lists.items[lists.start[row] : lists.start[row + 1]][-2:]
        advice = ""
        if fault_code == kernels.OUTSIDE:
            expected = valid_indices(self.n_items)
            problem = f"item {item}, which is outside the catalogue; expected {expected}, or -1"
            if self.n_items is not None and item >= 0:
                advice = hint_of_index(_ANY_LIST, item, items, self.n_items)
            if self.n_items is not None and not advice:
                advice = _ACCEPT_ADVICE.format("unknown")
            if item == self.n_items and np.count_nonzero(items == item) > 1:
                advice += _hint_of_padding(item, last_items[-1:])
        elif fault_code == kernels.AFTER_END:
            problem = f"item {item} after the end of the list; expected -1 only after the last item"
        else:
            problem = f"item {item} twice; expected each item once"
            advice = _ACCEPT_ADVICE.format("repeats")
            if item == 0 and not last_items.any():
                call = call_on(_ANY_LIST, "np.trim_zeros({}, 'b')")
                advice = f", and -1 after the last one; if 0 is no item type {call}"
            else:
                advice += _hint_of_padding(item, last_items)
        user = self.users.user_at(first + row)
        msg = f"ranking of user {user} names at rank {rank} {problem}{advice}"
        raise InputError(msg, argument="ranking")


def _hint_of_padding(item: int, last_items: IntArray) -> str:
    """Say what to type if ``item`` fills up short lists; "" if it is not among the last ones."""
    if (last_items != item).any():
        return ""
    call = call_on(_ANY_LIST, f"np.where(np.equal({{0}}, {item}), -1, {{0}})")
    return f"; if {item} is no item but fills up short lists type {call}"


def _narrow_blocks(rows: slice, lengths: IntArray) -> list[slice]:
    """Halve a block of users until the matrix of its lists is not too large.

    ``lengths`` (n_users,) are those of the lists of all users; the matrix is as wide as the longest
    list of the block.
    """
    n_users = rows.stop - rows.start
    if n_users < 2 or n_users * int(lengths[rows].max()) <= _BLOCK_ITEMS:
        return [rows]
    middle = rows.start + n_users // 2
    left = _narrow_blocks(slice(rows.start, middle), lengths)
    return left + _narrow_blocks(slice(middle, rows.stop), lengths)


def _at_ranks(hits: Hits, lists: FlatLists) -> Hits:
    """Give each hit the rank of its place in the list, and each list its last rank as length.

    Ranks differ from places where invalid items were dropped from the lists, or wasted.
    """
    if lists.ranks is None or lists.last_ranks is None:
        return hits
    user_of, is_hit = hits_of_slots(hits)
    rank = hits.rank.copy()
    rank[is_hit] = lists.ranks[lists.start[user_of[is_hit]] + rank[is_hit] - 1]
    hits = hits._replace(rank=rank, length=lists.last_ranks)
    if len(hits.first):  # empty where no metric reads ties
        hits = hits._replace(first=rank, last=rank)
    return hits


def hits_of_lists(
    lists: FlatLists, relevant: Rows, n_items: int | None, k: int, *, ties: bool
) -> tuple[Hits, IntArray]:
    """Find the hits among the first ``k`` of each list.

    Also gives the fault of the first bad list, its row and its place, (3,), 0 without one.
    ``n_items`` is None in a catalogue of unknown size.
    """
    hits = empty_hits(relevant.start, relevant.values, ties=False)
    fault = np.zeros(3, np.int64)
    catalogue_size = kernels.ANY_ITEM if n_items is None else n_items
    tables = memory.tables_for(lists, relevant.items)
    kernels.rank_lists(lists.items, lists.start, relevant, catalogue_size, k, hits, fault, tables)
    if ties:  # a list has no ties
        hits = hits._replace(first=hits.rank, last=hits.rank)
    return hits, fault
