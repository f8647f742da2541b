"""Truth, exclude and candidates: sets of items per user, as sorted lists.

Internally there is one form, ``Rows``: for a block of users the items of each in ascending order,
and their values. An *entry* is a stored item with its value; user u has those from ``start[u]`` to
``start[u + 1]``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError, InputTypeError
from recmetrics._core.inputs.arrays import (
    as_kernel_array,
    half_to_single,
    is_half,
    is_nonzero,
    matrix_of,
    may_be_indices,
    starts_of,
    users_of_entries,
)
from recmetrics._core.inputs.labels import NO_LABELS, LabelsOfAxes
from recmetrics._core.inputs.row_order import in_rows
from recmetrics._core.jit import add_work, helper, kernel
from recmetrics._core.options import thread_count
from recmetrics._core.threads import map_blocks, row_blocks
from recmetrics._core.types import BoolArray, FloatArray, IntArray

LARGEST_RELEVANCE = 1e100  # so that no sum of gains overflows
_FINITE = float(np.finfo(np.float64).max)
_DENSE_ENTRIES = 1 << 20  # entries of a dense matrix that are read at once
_SORTED_ENTRIES = 1 << 16  # entries that are sorted in a block, in about half a millisecond
_HEAD_VALUES = 64  # looked at first, to see whether all values are equal
_SAMPLED_USERS = 4  # whose relevant items are counted to estimate the mean of a dense truth
_MAX_COUNTED_ITEMS = 64  # of so few items, counting their places beats sorting
# Microseconds of Python, see ``jit``: to sort an item, to compare it with another for its place,
# and to look it up among others. Measured with 2 to 1,000 items a user.
_SORT_TIME = 1.0
_COMPARISON_TIME = 0.14
_SEARCH_TIME = 2.0

# By argument: the least and largest allowed value, the words for them, and the names of rows and
# columns. Any other argument is a set of items, which takes any number: 0 is not in the set.
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
    """Find the entries of some users, in the order given.

    Gives the ``start`` of the chosen users among the chosen entries, (len(users) + 1,), and the
    places of these entries among all entries.
    """
    if isinstance(users, slice):
        block = start[users.start : users.stop + 1]
        return block - block[0], slice(block[0], block[-1])
    counts = start[users + 1] - start[users]
    new_start = starts_of(counts)
    # The entries of a user move by the same number of places.
    return new_start, np.arange(new_start[-1]) + np.repeat(start[users] - new_start[:-1], counts)


class Rows(NamedTuple):
    """The items of some users: user u has ``items[start[u]:start[u + 1]]``, ascending."""

    start: IntArray
    items: IntArray
    values: FloatArray

    @classmethod
    def none(cls, n_users: int) -> "Rows":
        """Rows of users without items."""
        return cls(np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0))

    def take(self, users: UserIndex) -> "Rows":
        """The rows of some of the users, in the order given."""
        if isinstance(users, slice) and users == slice(0, len(self.start) - 1):
            return self
        start, entries = entries_of(self.start, users)
        return Rows(start, self.items[entries], self.values[entries])

    @property
    def mean_items(self) -> float:
        """The mean number of items of a user."""
        return len(self.items) / max(1, len(self.start) - 1)

    def users(self) -> IntArray:
        """The user of each item."""
        return users_of_entries(self.start)

    def among(self, other: "Rows") -> BoolArray:
        """True for each item that ``other``, whose items ascend, has for the same user.

        The items of this one may be in any order.
        """
        is_among = np.empty(len(self.items), np.bool_)
        add_work(_SEARCH_TIME * len(self.items))
        _mark_among(self.start, self.items, other.start, other.items, is_among)
        return is_among

    def n_within(self, other: "Rows") -> int:
        """Count the users who have items, all of which ``other`` has for the same user."""
        add_work(_SEARCH_TIME * len(self.items))
        return int(_count_within(self.start, self.items, other.start, other.items))

    def ascending(self, n_threads: int | None = None) -> tuple["Rows", bool]:
        """Sort the items of each user; also say whether any user has an item twice.

        Items and values may have any dtype, and become int64 and float64.
        """
        start = self.start
        values = as_kernel_array(np.ascontiguousarray(self.values, np.float64))
        items = np.empty(len(self.items), np.int64)
        are_equal = bool((values == values[:1]).all())
        sorted_values = values  # equal values stay where they are
        if not are_equal:
            sorted_values = np.empty(len(items))

        def sort_block(rows: slice) -> bool:
            """Sort the items of a block of users; say whether a user has an item twice."""
            entries = slice(start[rows.start], start[rows.stop])
            block_values = sorted_values[entries]
            if are_equal:  # the kernel writes values in any case: here they are thrown away
                block_values = np.empty(len(block_values))
            return _sort_items(
                start[rows.start : rows.stop + 1] - entries.start,
                as_kernel_array(self.items[entries].astype(np.int64, copy=False)),
                values[entries],
                items[entries],
                block_values,
            )

        n_users = len(start) - 1
        n_compared = min(self.mean_items, _MAX_COUNTED_ITEMS)
        add_work(len(items) * (_SORT_TIME + _COMPARISON_TIME * n_compared))
        # Fewer than four blocks are not worth a thread.
        n_threads = thread_count(n_threads) if len(items) > 4 * _SORTED_ENTRIES else 1
        block_users = _SORTED_ENTRIES // max(1, len(items) // max(1, n_users))
        blocks = row_blocks(n_users, block_users, n_threads, least=block_users)
        any_repeated = any(map_blocks(sort_block, blocks, n_threads))
        return Rows(start, items, sorted_values), any_repeated

    def keep(self, mask: BoolArray) -> "Rows":
        """The rows with only the items in ``mask``, which has an entry for each item."""
        start = starts_of(mask)[self.start]
        return Rows(start, self.items[mask], self.values[mask])


# Kernels sort short rows themselves, as NumPy's sort takes seconds to compile. Other such sorts are
# no copies of these two, which would be wrong or slower in their place:
# - ``sort_groups`` of ``tables`` counts places as ``_sort_items`` does, but by two loops for each
#   row, which keep equal keys in order. Without equal keys, one loop takes 0.8 of their time.
# - ``sort_best_first`` of ``selection/counting`` keeps equal scores in order in rows of any length.
# - ``_keep_hits`` of ``selection/kernels`` inserts each hit while it leaves out the items that are
#   none. Where a user has many hits, their ranks all differ, and ``_sort_ranks`` has a place for
#   each rank, or sorts by ``sort_best_first``.


@kernel
def _sort_items(
    start: IntArray,
    items: IntArray,
    values: FloatArray,
    sorted_items: IntArray,
    sorted_values: FloatArray,
) -> bool:
    """Sort the items of each user, with their values; return True if a user has an item twice.

    The place of one of a few items is the number of smaller items: the comparisons are added as 0
    and 1, without a branch that is hard to guess, in a third of the time of insertion.
    """
    any_repeated = False
    for user in range(start.size - 1):
        begin, end = start[user], start[user + 1]
        if end - begin > _MAX_COUNTED_ITEMS:
            for i in range(begin, end):
                sorted_items[i] = items[i]
                sorted_values[i] = values[i]
            _sort_ascending(sorted_items[begin:end], sorted_values[begin:end])
            for i in range(begin + 1, end):
                any_repeated |= sorted_items[i] == sorted_items[i - 1]
            continue

        keys = items[begin:end]
        total = 0
        for i in range(keys.size):
            place = begin
            for j in range(keys.size):
                place += keys[j] < keys[i]
            sorted_items[place] = keys[i]
            sorted_values[place] = values[begin + i]
            total += place - begin
        # Places 0, 1, ..., n - 1 add up to n (n - 1) / 2; equal items have the same place.
        if 2 * total < keys.size * (keys.size - 1):
            any_repeated = True
            # Equal items take places in their order, so that every place is filled.
            for i in range(keys.size):
                place = begin
                for j in range(keys.size):
                    place += (keys[j] < keys[i]) | ((keys[j] == keys[i]) & (j < i))
                sorted_items[place] = keys[i]
                sorted_values[place] = values[begin + i]
    return any_repeated


@helper
def _sort_ascending(keys: IntArray, values: FloatArray) -> None:
    """Sort many keys, and their values, in place by Shell's sort."""
    gap = 1
    while 3 * gap < keys.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, keys.size):
            key = keys[i]
            value = values[i]
            place = i
            while place >= gap and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                values[place] = values[place - gap]
                place -= gap
            keys[place] = key
            values[place] = value
        gap //= 3


@helper
def place_of(item: int, items: IntArray, begin: int, end: int) -> int:
    """The index of ``item`` in ``items``, whose part from ``begin`` to ``end`` ascends; or -1.

    Only this part is searched, by halves, without a branch that is hard to guess.
    """
    size = end - begin
    while size > 1:
        half = size // 2
        begin = begin + half if items[begin + half - 1] < item else begin
        size -= half
    return begin if size == 1 and items[begin] == item else -1


@kernel
def _mark_among(
    start: IntArray,
    items: IntArray,
    other_start: IntArray,
    other_items: IntArray,
    is_among: BoolArray,
) -> None:
    """Mark in ``is_among`` the items that the other rows have for the same user."""
    for user in range(start.size - 1):
        begin = other_start[user]
        end = other_start[user + 1]
        for i in range(start[user], start[user + 1]):
            is_among[i] = place_of(items[i], other_items, begin, end) >= 0


@kernel
def _count_positive(relevances: npt.NDArray[Any], n_relevant: IntArray) -> None:
    """Count the relevances > 0 of each row."""
    for user in range(n_relevant.size):
        row = relevances[user]
        n_above: Any = np.int32(0)  # sums in int32 run four times as fast as in int64
        for i in range(row.size):
            n_above = np.int32(n_above + np.int32(row[i] > 0))
        n_relevant[user] = n_above


@kernel
def _count_relevant(
    relevances: npt.NDArray[Any], largest: Any, n_relevant: IntArray
) -> tuple[int, int]:
    """Count the relevances > 0 of each row, as ``_count_positive``.

    Returns two counts of all rows: the relevances outside 0 .. ``largest``, which are refused, and
    the relevances > 0 other than 1.
    """
    n_refused = 0
    n_others = 0
    for user in range(n_relevant.size):
        row = relevances[user]
        n_above: Any = np.int32(0)
        n_valid: Any = np.int32(0)
        n_ones: Any = np.int32(0)
        for i in range(row.size):
            n_above = np.int32(n_above + np.int32(row[i] > 0))
            n_ones = np.int32(n_ones + np.int32(row[i] == 1))
            n_valid = np.int32(n_valid + np.int32((row[i] >= 0) & (row[i] <= largest)))
        n_relevant[user] = n_above
        n_refused += row.size - n_valid
        n_others += n_above - n_ones
    return n_refused, n_others


@kernel
def _count_within(
    start: IntArray, items: IntArray, other_start: IntArray, other_items: IntArray
) -> int:
    """Count the users who have items, all of which the other rows have for the same user.

    Most users are done after a look at the ends of both rows, the others after one search, for
    their first item.
    """
    count = 0
    for user in range(start.size - 1):
        begin = start[user]
        end = start[user + 1]
        place = other_start[user]
        other_end = other_start[user + 1]
        is_within = 0 < end - begin <= other_end - place
        if is_within:
            is_within = other_items[place] <= items[begin]
        if is_within:
            is_within = items[end - 1] <= other_items[other_end - 1]
        while is_within and begin < end:
            # Both ascend, so the next item stands behind this one.
            place = place_of(items[begin], other_items, place, other_end)
            is_within = place >= 0
            begin += 1
        count += is_within
    return count


def one_below_another(blocks: Sequence[Rows]) -> Rows:
    """Concatenate blocks of users, in order, into the rows of all these users."""
    if len(blocks) == 1:
        return blocks[0]
    return Rows(
        starts_of(np.concatenate([np.diff(block.start) for block in blocks])),
        np.concatenate([block.items for block in blocks]),
        np.concatenate([block.values for block in blocks]),
    )


class ItemSets(ABC):
    """Sets of items per user, read by row blocks."""

    is_dense = False
    are_equal = False  # True where all values are known to be equal

    def __init__(self, n_users: int, n_items: int | None, mean_items: float) -> None:
        self.n_users = n_users
        self.n_items = n_items
        self.mean_items = mean_items  # per user; an estimate that sizes the row blocks
        self.estimated_items = mean_items  # of a dense truth, the mean of a few users

    @abstractmethod
    def rows(self, block: slice) -> Rows:
        """The sets of a block of users."""

    def count(self) -> int:
        """Count the items in the sets of all users."""
        return round(self.mean_items * self.n_users)

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
        block_users = _DENSE_ENTRIES // (self.n_items or 1)
        blocks = [self.rows(block) for block in row_blocks(self.n_users, block_users)]
        return SparseSets(one_below_another(blocks), self.n_items)

    def owning_copy(self) -> "ItemSets":
        """Convert the sets to the internal form, without an array of the caller, who may change it.

        By default, ``rows`` makes arrays of its own.
        """
        return self.in_memory()


class SparseSets(ItemSets):
    """Sets read from sparse matrices or lists; items and values may have any real dtype.

    They are converted block by block, in threads: to convert 1,000 items a user at once took as
    long as to rank them.
    """

    def __init__(self, rows: Rows, n_items: int | None, *, are_equal: bool = False) -> None:
        n_users = len(rows.start) - 1
        super().__init__(n_users, n_items, len(rows.items) / max(1, n_users))
        self._rows = rows
        self.start = rows.start
        self.are_equal = are_equal

    def rows(self, block: slice) -> Rows:
        start, items, values = self._rows.take(block)
        return Rows(
            start, items.astype(np.int64, copy=False), values.astype(np.float64, copy=False)
        )

    def in_memory(self) -> ItemSets:
        return self

    def owning_copy(self) -> ItemSets:
        start, items, values = self._rows
        rows = Rows(start.copy(), items.astype(np.int64), values.astype(np.float64))
        return SparseSets(rows, self.n_items, are_equal=self.are_equal)

    def take(self, users: UserIndex) -> ItemSets:
        return SparseSets(self._rows.take(users), self.n_items, are_equal=self.are_equal)


class DenseSets(ItemSets):
    """Sets in a dense matrix: entries other than 0 are in the set."""

    is_dense = True

    def __init__(
        self, matrix: npt.NDArray[Any], name: str, if_negative: str | None = "", array: str = ""
    ) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], matrix.shape[1])
        if name == "truth":
            sample = matrix[:: max(1, self.n_users // _SAMPLED_USERS)]
            self.estimated_items = float(np.count_nonzero(sample)) / max(1, len(sample))
        self._matrix = matrix
        self._name = name  # of the argument, in errors
        # The advice in the error for a negative number; None takes such numbers as 0.
        self._if_negative = if_negative
        self._array = array or name  # how to type the matrix, in advice

    def refuse_pairs(self, n_items: int | None = None) -> None:
        """Refuse a narrow matrix that may hold a user, an item and perhaps a number in each row.

        Such a row is of two or three integers, and no user has an item twice. ``n_items`` is the
        caller's size of the catalogue: it is no matrix of another width.
        """
        matrix = self._matrix
        n_rows, width = matrix.shape
        if width not in (2, 3) or n_rows <= width or matrix.dtype.kind not in "iu":
            return
        pairs = matrix[:, :2]
        if pairs.min() < 0 or pairs.max() <= 1 or len(np.unique(pairs, axis=0)) < n_rows:
            return
        array = self._array
        form = f"{width} items of each user"
        code = ""
        if n_items in (None, width):
            form = f"be a matrix of {width} items"
            code = f"{array} != 0 for a matrix, "
        msg = (
            f"{self._name} may hold pairs of a user and an item, or {form}: "
            f"integers of shape {matrix.shape}; type "
            f"{matrix_of(array, f'{array}[:, 0]', f'{array}[:, 1]')} for pairs, {code}"
            f"list({array}) for {width} items of each user"
        )
        raise InputTypeError(msg)

    def count(self) -> int:
        return int(np.count_nonzero(self._matrix))

    def rows(self, block: slice) -> Rows:
        matrix = in_rows(self._matrix[block])
        n_users, n_items = matrix.shape
        # Indices of the flat block: NumPy finds them in a bool array faster than a kernel.
        entries = np.flatnonzero(is_nonzero(matrix))
        start = np.searchsorted(entries, np.arange(n_users + 1) * n_items)
        items = entries - users_of_entries(start) * n_items
        if matrix.dtype == np.bool_:
            return Rows(start, items, np.ones(len(items)))
        values = half_to_single(matrix.reshape(-1)[entries])
        rows = Rows(start, items, values.astype(np.float64))
        if_negative = self._if_negative
        if if_negative and values.min(initial=0) < 0:
            if_negative = if_negative.format(self._array)
            if may_be_indices(self._matrix):
                indices = f"list({self._array})"
                if_negative = f"for item indices type {indices}; for relevances {if_negative}"
        if_nan = ""
        if self._name == "truth":
            if_nan = f"if NaN is not relevant type np.nan_to_num({self._array})"
        return checked_values(rows, self._name, if_negative, block.start, if_nan)[0]

    def relevances_for_kernels(
        self, block: slice
    ) -> tuple[npt.NDArray[Any], IntArray, bool] | None:
        """The matrix of a block of users in a form that kernels read, and its relevant items.

        Gives the matrix, the number of relevances > 0 of each row, and whether all of these count
        as 1. None for a dtype that kernels do not read, and where a relevance is refused.
        """
        matrix = in_rows(self._matrix[block])
        if matrix.dtype.kind not in "biuf" or is_half(matrix.dtype) or matrix.itemsize > 8:
            return None
        native = np.ascontiguousarray(matrix, matrix.dtype.newbyteorder("="))
        relevances = as_kernel_array(native)
        n_relevant = np.empty(len(relevances), np.int64)
        dtype = relevances.dtype
        if dtype == np.bool_:  # may view bytes other than 0 and 1, which are True
            relevances = relevances.view(np.uint8)
            _count_positive(relevances, n_relevant)
            return relevances, n_relevant, True

        # In the dtype of the relevances, since to convert them takes longer than to compare them.
        if dtype.kind == "f":
            largest = dtype.type(min(LARGEST_RELEVANCE, float(np.finfo(dtype).max)))
        else:
            largest = dtype.type(np.iinfo(dtype).max)
        n_refused, n_others = _count_relevant(relevances, largest, n_relevant)
        return None if n_refused else (relevances, n_relevant, n_others == 0)

    def take(self, users: UserIndex) -> ItemSets:
        return DenseSets(self._matrix[users], self._name, self._if_negative, self._array)


class SharedSet(ItemSets):
    """One set for all users."""

    def __init__(self, items: IntArray, n_users: int, n_items: int | None) -> None:
        super().__init__(n_users, n_items, len(items))
        self.items = items

    def rows(self, block: slice) -> Rows:
        n_users = block.stop - block.start
        items = np.tile(self.items, n_users)
        ones = np.broadcast_to(1.0, items.shape)  # no memory: to fill it took a fifth of a call
        return Rows(np.arange(n_users + 1) * len(self.items), items, ones)

    def in_memory(self) -> ItemSets:
        return self

    def owning_copy(self) -> ItemSets:
        return SharedSet(self.items.copy(), self.n_users, self.n_items)

    def take(self, users: UserIndex) -> ItemSets:
        return SharedSet(self.items, len(as_indices(users)), self.n_items)

    def crop(self, items: slice) -> ItemSets:
        is_within = (self.items >= items.start) & (self.items < items.stop)
        new_items = self.items[is_within] - items.start
        return SharedSet(new_items, self.n_users, items.stop - items.start)


class ItemMatrix(NamedTuple):
    """A matrix with a row for each item: an array (n_items, d), or the entries other than 0."""

    entries: npt.NDArray[Any] | Rows
    shape: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Side:
    """Side information, checked; only what a metric of the call needs."""

    n_items: int | None = None  # according to the side information; None where it does not say
    values: Mapping[str, Any] = field(default_factory=dict)  # by name, what ``SideInput.read`` gave
    strata: Mapping[str, ItemSets] = field(default_factory=dict)
    # The results of ``Metric.prepare`` by spec, computed once for all batches.
    prepared: dict[Any, Any] = field(default_factory=dict)
    labels: LabelsOfAxes = field(default_factory=dict)  # of its tables

    @property
    def of_users(self) -> dict[str, ItemSets]:
        """The pieces that belong to users, not to items."""
        return {name: sets for name, sets in self.values.items() if isinstance(sets, ItemSets)}

    def owning_copy(self) -> "Side":
        """Convert the sets of each user to the internal form, and copy the strata.

        Arrays about items are not copied, see ``Users.owning_copy``.
        """
        strata = {name: sets.owning_copy() for name, sets in self.strata.items()}
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
    labels: LabelsOfAxes = NO_LABELS  # of all arguments of the call, if one has any

    def user_at(self, row: int) -> int:
        """The index of the user in a row."""
        if isinstance(self.chosen, slice):
            return int(self.chosen.start + row)
        return int(self.chosen[row])

    def owning_copy(self) -> "Users":
        """Convert all sets to the internal form, to take batches of users from them.

        An evaluator reads its sets again in later calls, and the caller may change the truth in
        between. So the sets are copied. Side information is not copied: features may be larger than
        anything else.
        """
        users = self._changed(lambda sets: sets.owning_copy())
        return users._replace(side=self.side.owning_copy())

    def take(self, users: UserIndex) -> "Users":
        """Take some of the users, in the order given."""
        batch = self._changed(lambda sets: sets.take(users))
        return batch._replace(side=self.side.take(users), chosen=users)

    def _changed(self, change: Callable[[ItemSets], ItemSets]) -> "Users":
        """The users with ``change`` applied to the truth and to each of the other sets."""
        users = self._replace(truth=change(self.truth))
        if self.exclude is not None:
            users = users._replace(exclude=change(self.exclude))
        if self.candidates is not None:
            users = users._replace(candidates=change(self.candidates))
        return users

    def swallowed(self) -> tuple[int, int, int]:
        """Count users whose relevant items are all excluded, those who have any, and all items."""
        everyone = slice(0, self.truth.n_users)
        relevant = self.truth.rows(everyone)
        n_users = int(np.count_nonzero(np.diff(relevant.start)))
        n_swallowed = 0
        if self.exclude is not None:
            n_swallowed = relevant.n_within(self.exclude.rows(everyone))
        return n_swallowed, n_users, len(relevant.items)

    def n_excluded_relevant(self) -> int:
        """Count the relevant items of all users that are excluded."""
        if self.exclude is None:
            return 0
        everyone = slice(0, self.truth.n_users)
        is_excluded = self.truth.rows(everyone).among(self.exclude.rows(everyone))
        return int(np.count_nonzero(is_excluded))

    @property
    def present(self) -> list[ItemSets]:
        """The truth, and those of the other sets that were given."""
        all_sets = (self.truth, self.exclude, self.candidates)
        return [sets for sets in all_sets if sets is not None]

    @property
    def is_dense(self) -> bool:
        """True where any set is read from a dense matrix, block by block."""
        return any(sets.is_dense for sets in self.present)


def checked_values(
    rows: Rows, name: str, if_negative: str | None, first_user: int = 0, if_nan: str = ""
) -> tuple[Rows, bool]:
    """Drop explicit zeros; refuse NaN and values outside the range of the argument ``name``.

    Also says whether all values are known to be equal; those of a set are not compared.
    ``first_user`` is the index of the first row, for errors. ``if_negative`` is the advice in the
    error for a negative number; None drops such numbers. ``if_nan`` is the advice in that for NaN.
    """
    values = rows.values
    least, largest, valid_values, (row_axis, column_axis) = VALUES.get(name, _SET)
    if values.itemsize > 8 or if_negative is None:
        values = values.astype(np.float64)
        rows = rows._replace(values=values)
    if if_negative is None:  # -inf stays, and is refused
        rows = rows.keep(~((values < 0.0) & (values >= -_FINITE)))
        values = rows.values
    if not values.size:
        return rows, True
    if name not in VALUES:
        smallest = float(values.min())
        greatest = largest  # no number is too large for a set
    elif (values[:_HEAD_VALUES] == values[0]).all() and (values == values[0]).all():
        # Binary truth: one comparison replaces min and max. Grades mostly differ among the first
        # values, so that no others are compared.
        smallest = greatest = float(values[0])
    else:
        smallest = float(values.min())
        greatest = float(values.max())
    # NaN is never >= a number, so it fails the first comparison.
    if not (smallest >= least and greatest <= largest):
        values = values.astype(np.float64)
        is_wrong = ~((values >= least) & (values <= largest))
        entry = int(is_wrong.argmax())
        user = first_user + int(rows.users()[entry])
        msg = (
            f"{name} must hold {valid_values}, got {values[entry]:g} at "
            f"({row_axis} {user}, {column_axis} {rows.items[entry]})"
        )
        if values[entry] < 0.0 and if_negative:
            msg += f"; {if_negative}"
        elif np.isnan(values[entry]) and if_nan:
            msg += f"; {if_nan}"
        raise InputError(msg, argument=name)
    if smallest <= 0.0 and not values.all():
        rows = rows.keep(values != 0.0)
    return rows, smallest == greatest
