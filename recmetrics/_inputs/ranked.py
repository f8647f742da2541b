"""Rankings that exist already, and the invalid items in them."""

from collections.abc import Set
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import InputTypeError, ShapeError
from recmetrics._inputs.arrays import as_array, as_kernel_array, check_indices, per_user
from recmetrics._options import one_of
from recmetrics._types import BoolArray, IntArray, Invalid


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
        numbers, lists = counts.sum(axis=1), np.count_nonzero(counts, axis=1)
        return cls(int(numbers[0]), int(lists[0]), int(numbers[1]), int(lists[1]))

    def __str__(self) -> str:
        return (
            f"{_some(self.repeats, 'repeat')} in {_some(self.lists_with_repeats, 'list')}, "
            f"{_some(self.unknown, 'unknown item')} in {_some(self.lists_with_unknown, 'list')}"
        )


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


class Cleaned(NamedTuple):
    """A block of rankings without their invalid items."""

    lists: IntArray  # (rows, width) -1 after the end
    ranks: IntArray | None  # (rows, width) None where they are 1, 2, 3, ...
    reach: IntArray | None  # (rows,) the last rank, of an item or wasted; None with ``ranks``
    places: IntArray | None  # (rows, width) where each item was; None where it still is there
    counts: IntArray  # (2, rows) repeats and unknown items

    def rank_in(self, row: int, place: int) -> int:
        """The rank, in the ranking as it was given, of an item that is at ``place`` now."""
        return 1 + (place if self.places is None else int(self.places[row, place]))


class Rankings:
    """The rankings of one call: checked to be item indices, and read block by block.

    If some ranks have no item, ``ranks`` holds the rank of each item, ascending in a row, and
    ``reach`` the last rank of each list. Both are None if the ranks are 1, 2, 3, ...
    """

    def __init__(
        self,
        ranking: Any,
        n_items: int | None = None,
        *,
        repeats: Invalid = "raise",
        unknown: Invalid = "raise",
        ranks: IntArray | None = None,
        reach: IntArray | None = None,
    ) -> None:
        one_of("repeats", repeats, Invalid)
        one_of("unknown", unknown, Invalid)
        self.lists = _as_ranking(ranking)
        self.repeats, self.unknown = repeats, unknown
        self.ranks, self.reach = ranks, reach
        # Rankings do not give the catalogue: its size is that of the caller, or unknown.
        self.shape: tuple[int, int | None] = len(self.lists), n_items

    @property
    def largest_item(self) -> int:
        """The largest item of all rankings, -1 where there is none."""
        return int(self.lists.max(initial=-1))

    @property
    def is_strict(self) -> bool:
        """Whether each invalid item is an error."""
        return self.repeats == self.unknown == "raise"

    def take(self, rows: slice) -> "Rankings":
        """Take the rankings of some consecutive users."""
        return Rankings(
            self.lists[rows],
            self.shape[1],
            repeats=self.repeats,
            unknown=self.unknown,
            ranks=None if self.ranks is None else self.ranks[rows],
            reach=None if self.reach is None else self.reach[rows],
        )

    def block(self, rows: slice, n_items: int | None) -> Cleaned:
        """Read a block of rows, without the invalid items to waste or drop."""
        lists = as_kernel_array(np.ascontiguousarray(self.lists[rows], np.int64))
        ranks = None if self.ranks is None else self.ranks[rows]
        reach = None if self.reach is None else self.reach[rows]
        if ranks is not None and reach is None:
            reach = ranks.max(axis=1, initial=0)
        if self.is_strict:
            return Cleaned(lists, ranks, reach, None, np.zeros((2, len(lists)), np.int64))
        is_item = lists != -1
        unknown = repeats = nothing = np.zeros_like(is_item)
        if self.unknown != "raise" and n_items is not None:
            unknown = is_item & ((lists < 0) | (lists >= n_items))
        if self.repeats != "raise":
            repeats = _named_before(lists) & is_item & ~unknown
        counts = np.stack([np.count_nonzero(repeats, axis=1), np.count_nonzero(unknown, axis=1)])
        invalid = repeats | unknown
        if not invalid.any():
            return Cleaned(lists, ranks, reach, None, counts)
        dropped = (repeats if self.repeats == "drop" else nothing) | (
            unknown if self.unknown == "drop" else nothing
        )
        order = np.argsort(invalid, axis=1, kind="stable")
        behind = np.take_along_axis(invalid, order, axis=1)
        kept = np.where(behind, -1, np.take_along_axis(lists, order, axis=1))
        if ranks is None and np.array_equal(invalid, dropped):
            return Cleaned(kept, None, None, order, counts)
        # A dropped item takes its rank with it, a wasted one leaves it.
        at = np.arange(1, lists.shape[1] + 1) if ranks is None else ranks
        at = at - np.cumsum(dropped, axis=1)
        if reach is None:
            reach = np.where(is_item, at, 0).max(axis=1)
        else:
            reach = reach - np.count_nonzero(dropped, axis=1)
        at = np.where(behind, -1, np.take_along_axis(at, order, axis=1))
        return Cleaned(kept, at, reach, order, counts)


def _named_before(lists: IntArray) -> BoolArray:
    """True for each item that also occurs earlier in its row."""
    order = np.argsort(lists, axis=1, kind="stable")  # equal items keep their order
    ordered = np.take_along_axis(lists, order, axis=1)
    again = np.zeros(lists.shape, np.bool_)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return again


def _as_ranking(ranking: Any) -> npt.NDArray[Any]:
    """Rankings as one integer matrix, -1 after the end of a shorter list."""
    lists = per_user(ranking, "ranking")
    if lists is not None:
        for user, items in enumerate(ranking):
            if isinstance(items, Set):
                msg = f"ranking of user {user} is a set, which has no order; expected a list"
                raise InputTypeError(msg)
        return _padded(lists)
    array = as_array(ranking, "ranking")
    if array.ndim != 2:
        hint = "; for one user type [ranking]" if array.ndim == 1 else ""
        msg = (
            "ranking must be 2-d (n_users, k) or a list with one array of items per user, "
            f"got {array.ndim}-d of shape {array.shape}{hint}"
        )
        raise ShapeError(msg)
    check_indices(array, "ranking")
    return array if array.size else np.empty(array.shape, np.int64)


def _padded(lists: list[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    for user, items in enumerate(lists):
        check_indices(items, f"ranking of user {user}", ndim=1)
    ranking = np.full((len(lists), max((len(items) for items in lists), default=0)), -1, np.int64)
    for user, items in enumerate(lists):
        ranking[user, : items.size] = items
    return ranking
