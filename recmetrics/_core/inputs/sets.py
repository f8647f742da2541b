"""Truth, exclude and candidates: sets of items per user, as sorted lists.

Internally there is one form, ``Rows``: for a block of users the items of each in ascending order,
and their values.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError
from recmetrics._core.inputs.arrays import (
    as_kernel_array,
    half_to_single,
    is_nonzero,
    users_of_entries,
)
from recmetrics._core.jit import helper, kernel
from recmetrics._core.options import thread_count
from recmetrics._core.threads import map_blocks, row_blocks
from recmetrics._core.types import BoolArray, FloatArray, IntArray

LARGEST_RELEVANCE = 1e100  # so that no sum of gains overflows
_FINITE = float(np.finfo(np.float64).max)
_DENSE_ENTRIES = 1 << 20  # entries of a dense matrix read at once
_SORTED = 1 << 16  # entries sorted in a block, in about half a millisecond
_COUNTED = 64  # items of a user; up to so many, counting their places beats sorting

# The least and largest allowed value, the words for them, and the names of rows and columns. A set
# of items takes any number: entries other than 0 are in it.
_SET = (-np.inf, np.inf, "numbers (0: not in the set)", ("user", "item"))
_UP_TO = f"from 0 to {LARGEST_RELEVANCE:g}"
VALUES = {
    "truth": (0.0, LARGEST_RELEVANCE, f"relevances {_UP_TO}", ("user", "item")),
    "genres": (0.0, LARGEST_RELEVANCE, f"numbers {_UP_TO}", ("item", "column")),
    "profile": (0.0, LARGEST_RELEVANCE, f"numbers {_UP_TO}", ("user", "column")),
    "features": (-_FINITE, _FINITE, "finite numbers", ("item", "column")),
    "similarity": (-_FINITE, _FINITE, "finite numbers", ("item", "column")),
}
UserIndex = slice | IntArray
"""Some users: their indices in any order, or a slice of consecutive users."""


def as_indices(users: UserIndex) -> IntArray:
    """Give the index of each user."""
    return np.arange(users.start, users.stop) if isinstance(users, slice) else users


def entries_of(start: IntArray, users: UserIndex) -> tuple[IntArray, UserIndex]:
    """Find the entries of some users, in the order given, where user u has those from start[u].

    Gives where those of each user start among them, and their places.
    """
    if isinstance(users, slice):
        own = start[users.start : users.stop + 1]
        return own - own[0], slice(own[0], own[-1])
    counts = start[users + 1] - start[users]
    among = np.concatenate(([0], np.cumsum(counts)))
    return among, np.arange(among[-1]) + np.repeat(start[users] - among[:-1], counts)


class Rows(NamedTuple):
    """The items of some users: user u has ``items[start[u]:start[u + 1]]``, ascending."""

    start: IntArray
    items: IntArray
    values: FloatArray

    @classmethod
    def none(cls, n_users: int) -> "Rows":
        """No item of any user."""
        return cls(np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0))

    def take(self, users: UserIndex) -> "Rows":
        """The rows of some of the users, in the order given."""
        if isinstance(users, slice) and users == slice(0, len(self.start) - 1):
            return self
        start, own = entries_of(self.start, users)
        return Rows(start, self.items[own], self.values[own])

    def users(self) -> IntArray:
        """The user of each item."""
        return users_of_entries(self.start)

    def among(self, others: "Rows") -> BoolArray:
        """True for the items, in any order, that ``others`` has for the same user."""
        found = np.empty(len(self.items), np.bool_)
        _mark_among(self.start, self.items, others.start, others.items, found)
        return found

    def n_within(self, others: "Rows") -> int:
        """Count the users who have items, all of which ``others`` has for the same user."""
        return int(_count_within(self.start, self.items, others.start, others.items))

    def ascending(self, n_threads: int | None = None) -> tuple["Rows", bool, bool]:
        """Sort the items of each user, of any dtype.

        Also say whether any item is repeated, and whether all values are equal.
        """
        start = self.start
        given = as_kernel_array(np.ascontiguousarray(self.values, np.float64))
        items = np.empty(len(self.items), np.int64)
        equal = bool((given == given[:1]).all())  # as in binary truth: they stay where they are
        values = given if equal else np.empty(len(items))

        def sort(rows: slice) -> bool:
            own = slice(start[rows.start], start[rows.stop])
            return _sort_items(
                start[rows.start : rows.stop + 1] - own.start,
                as_kernel_array(self.items[own].astype(np.int64, copy=False)),
                given[own],
                items[own],
                np.empty(own.stop - own.start) if equal else values[own],
            )

        n_users = len(start) - 1
        mean_items = max(1, len(items) // max(1, n_users))
        threads = thread_count(n_threads) if len(items) > 4 * _SORTED else 1
        blocks = row_blocks(n_users, _SORTED // mean_items, threads, _SORTED // mean_items)
        return Rows(start, items, values), any(map_blocks(sort, blocks, threads)), equal

    def keep(self, chosen: npt.NDArray[np.bool_]) -> "Rows":
        """The rows with only the chosen items."""
        kept = np.concatenate(([0], np.cumsum(chosen)))
        return Rows(kept[self.start], self.items[chosen], self.values[chosen])


# Kernels sort short rows themselves, as NumPy's sort takes seconds to compile. Other such sorts are
# no copies of these two, which would be wrong or slower in their place:
# - ``sort_groups`` of ``tables`` counts places as ``_sort_items`` does, but by two loops for each
#   row, which keep equal keys in order. Without equal keys, one loop takes 0.8 of their time.
# - ``_sort`` of ``selection/kernels`` keeps equal scores in order in rows of any length.
# - ``_keep_hits`` there inserts each hit while it leaves out the items that are none. Where a user
#   has many hits, their ranks all differ, and ``sort_many_hits`` has a place for each rank.


@kernel
def _sort_items(
    start: IntArray,
    given_items: IntArray,
    given_values: FloatArray,
    items: IntArray,
    values: FloatArray,
) -> bool:
    """Sort the items of each user, with their values; True where any item is repeated.

    A few items have their places counted, without a branch that is hard to guess: a third of the
    time of insertion.
    """
    repeats = False
    for user in range(start.size - 1):
        first, end = start[user], start[user + 1]
        if end - first <= _COUNTED:
            own = given_items[first:end]
            total = 0
            for i in range(own.size):
                place = first
                for j in range(own.size):
                    place += own[j] < own[i]
                items[place] = own[i]
                values[place] = given_values[first + i]
                total += place - first
            if 2 * total < own.size * (own.size - 1):  # equal items have the same place
                repeats = True
                for i in range(own.size):
                    place = first
                    for j in range(own.size):
                        place += (own[j] < own[i]) | ((own[j] == own[i]) & (j < i))
                    items[place] = own[i]
                    values[place] = given_values[first + i]
            continue
        for i in range(first, end):
            items[i] = given_items[i]
            values[i] = given_values[i]
        sort_ascending(items[first:end], values[first:end])
        for i in range(first + 1, end):
            repeats |= items[i] == items[i - 1]
    return repeats


@helper
def sort_ascending(keys: Any, values: Any) -> None:
    """Sort many keys in place, and their values unless these are None, by Shell's sort."""
    gap = 1
    while 3 * gap < keys.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, keys.size):
            key = keys[i]
            if values is not None:
                value = values[i]
            place = i
            while place >= gap and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                if values is not None:
                    values[place] = values[place - gap]
                place -= gap
            keys[place] = key
            if values is not None:
                values[place] = value
        gap //= 3


@helper
def place_of(item: int, items: IntArray, first: int, end: int) -> int:
    """The place of ``item`` in the ascending ``items[first:end]``, or -1.

    A search without a branch that is hard to guess.
    """
    size = end - first
    while size > 1:
        half = size // 2
        first = first + half if items[first + half - 1] < item else first
        size -= half
    return first if size == 1 and items[first] == item else -1


@kernel
def _mark_among(
    start: IntArray, items: IntArray, other_start: IntArray, other_items: IntArray, found: BoolArray
) -> None:
    for user in range(start.size - 1):
        first, end = other_start[user], other_start[user + 1]
        for i in range(start[user], start[user + 1]):
            found[i] = place_of(items[i], other_items, first, end) >= 0


@kernel
def _count_within(
    start: IntArray, items: IntArray, other_start: IntArray, other_items: IntArray
) -> int:
    """Count as ``Rows.n_within``; most users are done after one search, for their first item."""
    count = 0
    for user in range(start.size - 1):
        first, end = other_start[user], other_start[user + 1]
        within = start[user] < start[user + 1]
        for i in range(start[user], start[user + 1]):
            first = place_of(items[i], other_items, first, end)
            if first < 0:
                within = False
                break
        count += within
    return count


def one_below_another(parts: Sequence[Rows]) -> Rows:
    """Concatenate the users of all ``parts``, in order."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(part.start) for part in parts])
    return Rows(
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


class ItemSets(ABC):
    """Sets of items per user, read by row blocks."""

    is_dense = False

    def __init__(self, n_users: int, n_items: int | None, mean_items: float) -> None:
        self.n_users = n_users
        self.n_items = n_items
        self.mean_items = mean_items  # per user; an estimate that sizes the row blocks

    @abstractmethod
    def rows(self, block: slice) -> Rows:
        """The sets of a block of users."""

    @abstractmethod
    def take(self, users: UserIndex) -> "ItemSets":
        """The sets of some users, in the order given."""

    def crop(self, items: slice) -> "ItemSets":
        """The sets of all users within a range of items, renumbered from 0."""
        rows = self.rows(slice(0, self.n_users))
        rows = rows.keep((rows.items >= items.start) & (rows.items < items.stop))
        return SparseSets(rows._replace(items=rows.items - items.start), items.stop - items.start)

    def in_memory(self) -> "ItemSets":
        """Convert the sets to the internal form, to read them more than once."""
        rows = _DENSE_ENTRIES // max(1, self.n_items or 1)
        blocks = [self.rows(block) for block in row_blocks(self.n_users, rows)]
        return SparseSets(one_below_another(blocks), self.n_items)

    def own(self) -> "ItemSets":
        """Convert the sets to the internal form, in memory of their own."""
        return self.in_memory()


class SparseSets(ItemSets):
    """Sets in the internal form, read from sparse matrices or lists."""

    def __init__(self, rows: Rows, n_items: int | None) -> None:
        n_users = len(rows.start) - 1
        super().__init__(n_users, n_items, len(rows.items) / max(1, n_users))
        self._rows = rows

    def rows(self, block: slice) -> Rows:
        return self._rows.take(block)

    def in_memory(self) -> ItemSets:
        return self

    def own(self) -> ItemSets:
        start, items, values = self._rows
        return SparseSets(Rows(start.copy(), items.copy(), values.copy()), self.n_items)

    def take(self, users: UserIndex) -> ItemSets:
        return SparseSets(self._rows.take(users), self.n_items)


class DenseSets(ItemSets):
    """Sets in a dense matrix: entries other than 0 are in the set."""

    is_dense = True

    def __init__(self, matrix: npt.NDArray[Any], what: str) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], matrix.shape[1])
        self._matrix, self._what = matrix, what

    def rows(self, block: slice) -> Rows:
        part = self._matrix[block]
        n_users, n_items = part.shape
        entries = np.flatnonzero(is_nonzero(part))  # for bool, faster than a kernel
        start = np.searchsorted(entries, np.arange(n_users + 1) * n_items)
        users = users_of_entries(start)
        items = entries - users * n_items
        values = half_to_single(part[users, items])
        rows = Rows(start, items, values.astype(np.float64))
        return checked_values(rows, self._what, block.start)

    def take(self, users: UserIndex) -> ItemSets:
        return DenseSets(self._matrix[users], self._what)


class SharedSet(ItemSets):
    """One set for all users."""

    def __init__(self, items: IntArray, n_users: int, n_items: int | None) -> None:
        super().__init__(n_users, n_items, len(items))
        self.items = items

    def rows(self, block: slice) -> Rows:
        n_users = block.stop - block.start
        items = np.tile(self.items, n_users)
        return Rows(np.arange(n_users + 1) * len(self.items), items, np.ones(len(items)))

    def in_memory(self) -> ItemSets:
        return self

    def own(self) -> ItemSets:
        return SharedSet(self.items.copy(), self.n_users, self.n_items)

    def take(self, users: UserIndex) -> ItemSets:
        return SharedSet(self.items, len(as_indices(users)), self.n_items)

    def crop(self, items: slice) -> ItemSets:
        within = self.items[(self.items >= items.start) & (self.items < items.stop)]
        return SharedSet(within - items.start, self.n_users, items.stop - items.start)


class ItemMatrix(NamedTuple):
    entries: npt.NDArray[Any] | Rows
    shape: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Side:
    """Side information, checked; only what a metric of the call needs."""

    n_items: int | None = None  # according to the side information
    values: Mapping[str, Any] = field(default_factory=dict)  # by name, as ``SideInput.read`` gives
    strata: Mapping[str, ItemSets] = field(default_factory=dict)
    # The results of ``Metric.prepare`` by spec, computed once for all batches.
    prepared: dict[Any, Any] = field(default_factory=dict)

    @property
    def of_users(self) -> dict[str, ItemSets]:
        """What belongs to users, not to items."""
        return {name: one for name, one in self.values.items() if isinstance(one, ItemSets)}

    def own(self) -> "Side":
        """Convert the sets of each user to the internal form; arrays about items are not copied."""
        strata = {name: sets.own() for name, sets in self.strata.items()}
        of_users = {name: sets.in_memory() for name, sets in self.of_users.items()}
        return replace(self, values={**self.values, **of_users}, strata=strata)

    def take(self, users: UserIndex) -> "Side":
        """The side information of some users, in the order given."""
        if not (self.of_users or self.strata):
            return self
        strata = {name: sets.take(users) for name, sets in self.strata.items()}
        of_users = {name: sets.take(users) for name, sets in self.of_users.items()}
        return replace(self, values={**self.values, **of_users}, strata=strata)


NO_SIDE = Side()


class Users(NamedTuple):
    """The sets and the side information of the users of a call, or of a batch of them."""

    truth: ItemSets
    exclude: ItemSets | None = None
    candidates: ItemSets | None = None
    side: Side = NO_SIDE
    n_items: int | None = None  # the size of the catalogue; None where nothing gives it
    chosen: UserIndex = slice(0, None)  # the indices of these users in the call
    first_item: int = 0  # of the range of the catalogue that the sets are cropped to

    def user_at(self, row: int) -> int:
        """The index of the user in a row."""
        chosen = self.chosen
        return chosen.start + row if isinstance(chosen, slice) else int(chosen[row])

    def own(self) -> "Users":
        """Convert all sets to the internal form, to take batches of users from them.

        An evaluator reads its sets again in later calls, and the caller may change the truth in
        between. So the sets are copied. Side information is not copied: features may be larger than
        anything else.
        """
        return self._changed(lambda sets: sets.own())._replace(side=self.side.own())

    def take(self, users: UserIndex) -> "Users":
        """Take some of the users, in the order given."""
        taken = self._changed(lambda sets: sets.take(users))
        return taken._replace(side=self.side.take(users), chosen=users)

    def _changed(self, change: Callable[[ItemSets], ItemSets]) -> "Users":
        return self._replace(
            truth=change(self.truth),
            exclude=None if self.exclude is None else change(self.exclude),
            candidates=None if self.candidates is None else change(self.candidates),
        )

    def swallowed(self) -> tuple[int, int]:
        """Count the users whose relevant items are all excluded, and those who have any."""
        everyone = slice(0, self.truth.n_users)
        relevant = self.truth.rows(everyone)
        n_relevant = int(np.count_nonzero(np.diff(relevant.start)))
        if self.exclude is None:
            return 0, n_relevant
        return relevant.n_within(self.exclude.rows(everyone)), n_relevant

    @property
    def present(self) -> list[ItemSets]:
        """The truth, and the other sets that were given."""
        return [one for one in (self.truth, self.exclude, self.candidates) if one is not None]

    @property
    def is_dense(self) -> bool:
        """True where any set is read from a dense matrix, block by block."""
        return any(one.is_dense for one in self.present)


def checked_values(rows: Rows, what: str, first_user: int = 0, *, equal: bool = False) -> Rows:
    """Drop explicit zeros; refuse NaN and values outside their range, by one of ``equal`` ones."""
    values = rows.values
    least, largest, expected, axes = VALUES.get(what, _SET)
    read = values[:1] if equal else values
    smallest = read.min(initial=np.inf)
    if not (smallest >= least and read.max(initial=-np.inf) <= largest):  # NaN neither
        bad = ~((values >= least) & (values <= largest))
        entry = int(np.flatnonzero(bad)[0])
        user, item = first_user + int(rows.users()[entry]), int(rows.items[entry])
        place = f"({axes[0]} {user}, {axes[1]} {item})"
        msg = f"{what} must hold {expected}, got {values[entry]:g} at {place}"
        raise InputError(msg, argument=what)
    return rows if smallest > 0.0 or read.all() else rows.keep(values != 0.0)
