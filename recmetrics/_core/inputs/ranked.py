"""``repeats=`` and ``unknown=``: rankings that the user gives, and the invalid items in them.

A *repeat* is an item that occurs earlier in its list; an *unknown* item is outside the catalogue.
An invalid item that is *wasted* leaves its rank without an item; one that is *dropped* does not.
"""

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError, InputTypeError, NaNScoreError, ShapeError, at_fault
from recmetrics._core.inputs.arrays import (
    as_array,
    as_kernel_array,
    check_indices,
    one_behind_another,
    per_user,
    places_of_entries,
    starts_of,
    users_of_entries,
)
from recmetrics._core.inputs.labels import UNLABELLED_SCORES
from recmetrics._core.inputs.sets import UserIndex, entries_of
from recmetrics._core.jit import add_work, kernel
from recmetrics._core.options import one_of
from recmetrics._core.types import BoolArray, IntArray, Invalid

_SHORT_LIST = 32  # up to so many items a search among all pairs takes less time than a sort
# A table with an entry for each number takes at most so many entries per item. Beyond this, items
# are numbered by a sort.
_MAX_ENTRIES_PER_ITEM = 4
_SEEN_ITEM_TIME = 0.3  # microseconds of Python to look up whether an item was seen, see ``jit``


class InvalidItems(NamedTuple):
    """The number of invalid items, and of lists with invalid items.

    A repeat is an item that occurs earlier in its list; an unknown item is outside the catalogue.
    """

    repeats: int = 0
    lists_with_repeats: int = 0
    unknown: int = 0
    lists_with_unknown: int = 0

    @classmethod
    def of(cls, counts: IntArray) -> "InvalidItems":
        """Add up the repeats and the unknown items of each list, (2, lists)."""
        n_items = counts.sum(axis=1).tolist()
        n_lists = np.count_nonzero(counts, axis=1).tolist()
        return cls(n_items[0], n_lists[0], n_items[1], n_lists[1])

    def __str__(self) -> str:
        return (
            f"{_some(self.repeats, 'repeat')} in {_some(self.lists_with_repeats, 'list')}, "
            f"{_some(self.unknown, 'unknown item')} in {_some(self.lists_with_unknown, 'list')}"
        )


def _some(count: int, noun: str) -> str:
    """Write a number with its noun, such as "2 lists"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


class FlatLists(NamedTuple):
    """Lists one behind another: list u has ``items[start[u]:start[u + 1]]``, best first.

    If some ranks have no item, ``ranks`` holds the rank of each item, ascending in a list, and
    ``last_ranks`` the last rank of each list. Both are None if the ranks are 1, 2, 3, ...
    """

    items: IntArray  # an item of -1 is behind the end of its list
    start: IntArray
    ranks: IntArray | None = None
    last_ranks: IntArray | None = None
    places: IntArray | None = None  # of each item in its list as given; None if none was taken out
    width: int | None = None  # the length of every list, if it is known to be the same; else None

    @classmethod
    def of(cls, rows: npt.NDArray[Any]) -> "FlatLists":
        """The rows of a matrix (n_users, width) of items as lists of one length."""
        n_users, width = rows.shape
        return cls(rows.ravel(), np.arange(n_users + 1) * width, width=width)

    def take(self, users: UserIndex) -> "FlatLists":
        """The lists of some users, in the order given."""
        start, entries = entries_of(self.start, users)
        lists = FlatLists(self.items[entries], start, width=self.width)
        if self.places is not None:
            lists = lists._replace(places=self.places[entries])
        if self.ranks is not None and self.last_ranks is not None:
            last_ranks = self.last_ranks[users]
            lists = lists._replace(ranks=self.ranks[entries], last_ranks=last_ranks)
        return lists

    def users(self) -> IntArray:
        """The user of each item."""
        return users_of_entries(self.start)

    def matrix(self, values: IntArray, width: int) -> IntArray:
        """Write ``values``, one for each item, as a row for each list, -1 after its last item.

        A row has at most ``width`` values, unless all lists have one length.
        """
        if self.width is not None:
            return values.reshape(len(self.start) - 1, self.width)
        lengths = np.diff(self.start)
        width = min(width, int(lengths.max(initial=0)))
        columns = np.arange(width)
        is_filled = columns < lengths[:, np.newaxis]
        places = self.start[:-1, np.newaxis] + columns

        rows = np.full((len(lengths), width), -1, np.int64)
        rows[is_filled] = values[places[is_filled]]
        return rows

    def rank_in(self, user: int, place: int) -> int:
        """The rank, in the ranking as given, of the item that is at ``place`` of a list now."""
        if self.places is None:
            return 1 + place
        return 1 + int(self.places[self.start[user] + place])

    def count_in(self, mask: BoolArray) -> IntArray:
        """Count the items of each list that are in ``mask``, which has an entry for each item."""
        return np.diff(starts_of(mask)[self.start])

    def may_repeat(self) -> BoolArray:
        """True for each list that may name an item twice; if all are short, for every list."""
        if np.diff(self.start).max(initial=0) <= _SHORT_LIST:
            return np.ones(len(self.start) - 1, np.bool_)
        if self.width is not None:
            ordered = np.sort(self.matrix(self.items, self.width), axis=1)
            repeats = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
            return np.asarray(repeats.any(axis=1))
        return self.count_in(self.named_before() & (self.items >= 0)) > 0

    def named_before(self) -> BoolArray:
        """True for each item that also occurs earlier in its list."""
        # ``numbers`` are the items as indices of a table, 0 .. n_numbers - 1.
        least = int(self.items.min(initial=0))
        n_numbers = int(self.items.max(initial=0)) - least + 1
        if n_numbers <= _MAX_ENTRIES_PER_ITEM * self.items.size:
            numbers = self.items - least
        else:
            distinct, numbers = np.unique(self.items, return_inverse=True)
            n_numbers = len(distinct)
        is_repeat = np.empty(self.items.size, np.bool_)
        add_work(_SEEN_ITEM_TIME * self.items.size)
        _mark_repeats(self.start, numbers, np.full(n_numbers, -1, np.int64), is_repeat)
        return is_repeat

    def without(
        self, is_repeat: BoolArray, is_unknown: BoolArray, repeats: Invalid, unknown: Invalid
    ) -> "FlatLists":
        """Take out the invalid items, by the policies ``repeats`` and ``unknown``.

        Items below a dropped item move up; a wasted item leaves a rank without an item. A list ends
        at its last item that is not dropped. The masks have an entry for each item.
        """
        invalid = is_repeat | is_unknown
        if not invalid.any():
            return self
        dropped = (is_repeat & (repeats == "drop")) | (is_unknown & (unknown == "drop"))
        places = places_of_entries(self.start)
        start = starts_of(~invalid)[self.start]
        lists = FlatLists(self.items[~invalid], start, places=places[~invalid])
        if self.ranks is None and np.array_equal(invalid, dropped):
            return lists  # without a gap, so the ranks are 1, 2, 3, ...

        users = self.users()
        ranks = places + 1 if self.ranks is None else self.ranks
        n_dropped = starts_of(dropped)
        # The dropped items of the same list up to each item.
        n_dropped_above = n_dropped[1:] - n_dropped[self.start[users]]
        ranks = ranks - n_dropped_above
        keeps_rank = (self.items != -1) & ~dropped
        last_ranks = np.zeros(len(self.start) - 1, np.int64)
        last_ranks[users[keeps_rank]] = ranks[keeps_rank]  # the last of a list is assigned last
        return lists._replace(ranks=ranks[~invalid], last_ranks=last_ranks)


@kernel
def _mark_repeats(
    start: IntArray, numbers: IntArray, latest: IntArray, is_repeat: BoolArray
) -> None:
    """Mark in ``is_repeat`` the ``numbers`` that occur earlier in their list.

    ``latest`` is memory for the last list with each number, -1 at the beginning.
    """
    for user in range(start.size - 1):
        for i in range(start[user], start[user + 1]):
            is_repeat[i] = latest[numbers[i]] == user
            latest[numbers[i]] = user


class Rankings:
    """The rankings of one call: checked to be item indices, and read block by block."""

    def __init__(
        self,
        ranking: Any,
        n_items: int | None = None,
        *,
        repeats: Invalid = "raise",
        unknown: Invalid = "raise",
    ) -> None:
        one_of("repeats", repeats, Invalid)
        one_of("unknown", unknown, Invalid)
        self.tables = UNLABELLED_SCORES
        if isinstance(ranking, FlatLists):
            self.lists = ranking
        else:
            with at_fault("ranking"):
                self.lists = _as_lists(ranking)
            self.tables = {"ranking": ranking}
        self.repeats = repeats
        self.unknown = unknown
        # Rankings do not give the catalogue: its size is that of the caller, or unknown.
        self.shape: tuple[int, int | None] = len(self.lists.start) - 1, n_items

    @property
    def lengths(self) -> IntArray:
        """The length of each list, with each -1 after its end."""
        return np.diff(self.lists.start)

    @property
    def largest_item(self) -> int:
        """The largest item of all rankings, -1 where there is none."""
        items = self.lists.items
        return int(items.max()) if items.size else -1

    @property
    def is_strict(self) -> bool:
        """True if each invalid item is an error."""
        return self.repeats == self.unknown == "raise"

    def take(self, users: UserIndex) -> "Rankings":
        """Take the rankings of some users, in the order given."""
        lists = self.lists.take(users)
        return Rankings(lists, self.shape[1], repeats=self.repeats, unknown=self.unknown)

    def flat(self, rows: slice) -> FlatLists:
        """The lists of a block of users with their invalid items, in arrays for kernels."""
        lists = self.lists.take(rows)
        return lists._replace(items=as_kernel_array(np.ascontiguousarray(lists.items, np.int64)))

    def block(self, rows: slice, n_items: int | None) -> tuple[FlatLists, IntArray]:
        """Read the lists of a block of users without the invalid items, and count these.

        Gives the lists, and the numbers of repeats and of unknown items of each list, (2, rows). If
        invalid items are errors, all items stay, and the kernels refuse them.
        """
        lists = self.flat(rows)
        if self.is_strict:
            return lists, np.zeros((2, len(lists.start) - 1), np.int64)
        is_repeat, is_unknown = self.invalid_in(lists, n_items)
        counts = np.stack([lists.count_in(is_repeat), lists.count_in(is_unknown)])
        return lists.without(is_repeat, is_unknown, self.repeats, self.unknown), counts

    def invalid_in(self, lists: FlatLists, n_items: int | None) -> tuple[BoolArray, BoolArray]:
        """Two masks of the items of ``lists``: the repeats, and the unknown items.

        They mark only items to waste or drop, none that is an error.
        """
        is_item = lists.items != -1
        is_unknown = np.zeros_like(is_item)
        is_repeat = is_unknown
        if self.unknown != "raise" and n_items is not None:
            is_unknown = is_item & ((lists.items < 0) | (lists.items >= n_items))
        if self.repeats != "raise":
            is_repeat = lists.named_before() & is_item & ~is_unknown
        return is_repeat, is_unknown


def _as_lists(ranking: Any) -> FlatLists:
    """Read rankings from a list with the items of each user, or from a matrix of items.

    The pair (items, scores) of matrices is read as its items.
    """
    is_pair = isinstance(ranking, tuple) and len(ranking) == 2
    if isinstance(ranking, list) and len(ranking) == 2:  # of JAX; else the lists of two users
        is_pair = all(getattr(part, "ndim", 0) == 2 for part in ranking)
    if is_pair:
        ranking = _without_scores(ranking)
    lists = per_user(ranking, "ranking")
    if lists is not None:
        if any(issubclass(collection, Set) for collection in set(map(type, ranking))):
            user = [isinstance(items, Set) for items in ranking].index(True)
            msg = f"ranking of user {user} is a set, which has no order; expected a list"
            raise InputTypeError(msg)
        start, items = one_behind_another(lists, "ranking of user {}".format)
        return FlatLists(items, start)
    array = as_array(ranking, "ranking")
    if array.ndim != 2:
        hint = ""
        if array.ndim == 1:
            hint = "; for one user type [ranking]"
        msg = (
            "ranking must be 2-d (n_users, k) or a list with one array of items per user, "
            f"got {array.ndim}-d of shape {array.shape}{hint}"
        )
        raise ShapeError(msg)
    check_indices(array, "ranking", is_of_pandas=hasattr(ranking, "isna"))
    if not array.size:
        array = np.empty(array.shape, np.int64)
    return FlatLists.of(array)


def _without_scores(pair: Sequence[Any]) -> Any:
    """Read the ids of the pair (ids, scores) of matrices; leave the lists of two users."""
    parts = [as_array(part, "ranking") for part in pair if hasattr(part, "dtype")]
    if sorted(part.dtype.kind for part in parts) in (["f", "i"], ["f", "u"]):
        return _ids_without_padding(*parts)
    if len(parts) == 2 and parts[0].ndim == parts[1].ndim == 2:
        msg = (
            f"ranking is a pair of matrices of dtypes {parts[0].dtype} and {parts[1].dtype}, "
            "expected item indices alone; if these come second, as behind whole distances, "
            "type ranking[1]"
        )
        raise InputTypeError(msg)
    return pair


def _ids_without_padding(ids: npt.NDArray[Any], scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Read the ids of the pair (ids, scores) that recommenders return, -1 behind the last item.

    Recommenders fill up short lists with arbitrary ids, whose score is the lowest of its dtype,
    mostly float32. These are no items. Scores may have been cast to float64 since; but the padding
    of float16, -65504, is known only while the scores are float16.
    """
    if scores.dtype.kind != "f":  # the two are exchanged
        msg = "ranking is a pair of scores and ids, expected (ids, scores); type ranking[1]"
        raise InputTypeError(msg)
    if ids.ndim != 2 or ids.shape != scores.shape:
        advice = ""
        if ids.ndim == 1:
            advice = "; for one user type [ranking[0]]"
        msg = (
            f"ranking is a pair of ids of shape {ids.shape} and scores of shape {scores.shape}, "
            f"expected (n_users, k) for both{advice}"
        )
        raise ShapeError(msg)
    is_nan = np.isnan(scores) & (ids != -1)
    if is_nan.any():
        user, column = np.argwhere(is_nan)[0]
        msg = (
            f"ranking is a pair of ids and scores, and user {user} has NaN at rank {column + 1}; "
            "expected numbers; type ranking[0] if the ids are in order"
        )
        raise NaNScoreError(msg)
    ascends = scores[:, 1:] > scores[:, :-1]
    if ascends.any():
        user, column = np.argwhere(ascends)[0]
        msg = (
            f"ranking is a pair of ids and scores, and user {user} has a higher score at rank "
            f"{column + 2} than before; expected the best item first; type ranking[0] if the ids "
            "are in order, as beside distances"
        )
        raise InputError(msg)
    lowest_score = max(np.finfo(scores.dtype).min, np.finfo(np.float32).min)
    return np.where(scores > lowest_score, ids, -1)
