"""Numbers 0, 1, 2, ... for ids, in the order in which they first appear, without a sort.

A code is such a number. Rows with the same code are a group.
"""

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import users_of_entries
from recmetrics._core.jit import add_work, helper, kernel
from recmetrics._core.selection import sort_best_first
from recmetrics._core.types import BoolArray, IntArray

_SMALL_TABLE_ENTRIES = 1 << 20  # values; a table of so many entries is always cheap
_FIRST_SLOT_BITS = 10  # a hash table begins with 2^10 slots and doubles: few ids stay in the cache
_MAX_ENTRIES_PER_VALUE = 4  # entries of a table per value, beyond which hashing takes less memory
# A group of up to so many rows is sorted faster by comparing all pairs than by merging.
_SHORT_GROUP_ROWS = 32
_LARGEST_INT64 = int(np.iinfo(np.int64).max)
# Microseconds of Python for a value, see ``jit``, measured with 100,000 rows in groups of ten. A
# row has two ids, and is grouped (1.0) and sorted (2.6) once they are numbered. That work counts
# with the numbering: counted after it, it came too late to compile the numbering, which took 2 s of
# 5 for 2,000,000 rows in every process.
_MICROSECONDS_NUMBERED = 0.3 + 1.8
_MICROSECONDS_HASHED = 6.0 + 1.8


def number(values: IntArray) -> tuple[IntArray, IntArray]:
    """Number the values; gives the code of each value, and the first row of each code."""
    if not values.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    least = int(values.min())
    n_possible = int(values.max()) - least + 1
    codes = np.empty(values.size, np.int64)
    if n_possible <= max(_SMALL_TABLE_ENTRIES, _MAX_ENTRIES_PER_VALUE * values.size):
        add_work(_MICROSECONDS_NUMBERED * values.size)
        first_rows = np.empty(min(n_possible, values.size), np.int64)
        n_codes = _number_by_table(
            values, least, np.full(n_possible, -1, np.int32), codes, first_rows
        )
    else:
        add_work(_MICROSECONDS_HASHED * values.size)
        first_rows = np.empty(values.size, np.int64)
        n_codes = _number_by_hash(values, codes, first_rows)
    return codes, first_rows[:n_codes].copy()


def _number_by_hash(values: IntArray, codes: IntArray, first_rows: IntArray) -> int:
    """Write the codes and first rows of values of any size by hashing; returns how many differ."""
    row = 0
    n_codes = 0
    bits = _FIRST_SLOT_BITS
    while row < values.size:
        slots = np.full(1 << bits, -1, np.int32)
        row, n_codes = _fill_slots(
            values, row, n_codes, slots, np.uint64(64 - bits), codes, first_rows
        )
        bits += 1
    return n_codes


def combine(columns: list[IntArray]) -> IntArray:
    """Combine columns of numbers into one integer for each row, equal where all columns are."""
    codes = columns[0]
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 1
        if int(codes.max(initial=0)) + 1 > _LARGEST_INT64 // size:
            codes, _ = number(codes)
        codes = codes * size + column
    return codes


@kernel
def _number_by_table(
    values: IntArray,
    least: int,
    code_of_value: npt.NDArray[np.int32],
    codes: IntArray,
    first_rows: IntArray,
) -> int:
    """Write the number of each value, and the first row of each number; returns how many differ.

    ``code_of_value`` has a place for each possible value from ``least`` on, -1 at first.
    """
    n_codes = 0
    for row in range(values.size):
        place = values[row] - least
        if code_of_value[place] < 0:
            code_of_value[place] = n_codes
            first_rows[n_codes] = row
            n_codes += 1
        codes[row] = code_of_value[place]
    return n_codes


@kernel
def _fill_slots(
    values: IntArray,
    row: int,
    n_codes: int,
    slots: npt.NDArray[np.int32],
    shift: np.uint64,
    codes: IntArray,
    first_rows: IntArray,
) -> tuple[int, int]:
    """Number the values from ``row`` on, until half of the slots are taken.

    ``slots`` are those of a hash table with open addressing, all free (-1): 2^b slots; ``shift``
    is 64 - b. The ``n_codes`` values that have codes are put in first. ``codes`` and
    ``first_rows`` are written. Returns the next row and the number of values that have codes.
    """
    for code in range(n_codes):
        slots[_slot(slots, shift, values, first_rows, values[first_rows[code]])] = code
    while row < values.size and 2 * n_codes <= slots.size:
        slot = _slot(slots, shift, values, first_rows, values[row])
        if slots[slot] < 0:
            slots[slot] = n_codes
            first_rows[n_codes] = row
            n_codes += 1
        codes[row] = slots[slot]
        row += 1
    return row, n_codes


@helper
def _slot(
    slots: npt.NDArray[np.int32],
    shift: np.uint64,
    values: IntArray,
    first_rows: IntArray,
    value: int,
) -> int:
    """The slot of ``value`` in the hash table, or the free slot where it belongs."""
    # Fibonacci hashing: the upper bits of a product with 2^64 / golden ratio.
    slot = np.int64((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> shift)
    while slots[slot] >= 0 and values[first_rows[slots[slot]]] != value:
        slot = (slot + 1) & (slots.size - 1)
    return slot  # type: ignore[return-value]


def group(codes: IntArray, n_codes: int) -> tuple[IntArray, IntArray]:
    """Group the rows by code: code c has the rows ``order[start[c]:start[c + 1]]``, ascending.

    ``n_codes`` counts the codes, also those without a row. Gives ``start`` and ``order``.
    """
    start = np.zeros(n_codes + 1, np.int64)
    order = np.empty(codes.size, np.int64)
    _group(codes, start, order, np.empty(n_codes, np.int64))
    return start, order


def sort_groups(start: IntArray, order: IntArray, key: npt.NDArray[np.float64]) -> None:
    """Sort each group by ascending ``key``; equal keys keep their order.

    ``key`` has the order of ``order``, and both are sorted in place.
    """
    longest = int(np.diff(start).max(initial=0))
    _sort_groups(start, order, key, np.empty(longest, np.int64), np.empty(longest))


@kernel
def _group(codes: IntArray, start: IntArray, order: IntArray, next_place: IntArray) -> None:
    """Write ``start`` and ``order`` as ``group`` describes them; ``start`` holds zeros.

    ``next_place`` has a place for each code.
    """
    for row in range(codes.size):
        start[codes[row] + 1] += 1
    for code in range(start.size - 1):
        start[code + 1] += start[code]
        next_place[code] = start[code]
    for row in range(codes.size):
        code = codes[row]
        order[next_place[code]] = row
        next_place[code] += 1


@kernel
def _sort_groups(
    start: IntArray,
    order: IntArray,
    key: npt.NDArray[np.float64],
    spare_order: IntArray,
    spare_key: npt.NDArray[np.float64],
) -> None:
    """Sort ``order`` and ``key`` within each group, by ascending key.

    The spare arrays have as many places as the largest group has rows.
    """
    for code in range(start.size - 1):
        first = start[code]
        last = start[code + 1]
        ascends = True
        for i in range(first + 1, last):
            ascends = ascends and key[i - 1] <= key[i]
        if ascends:
            continue

        n_rows = last - first
        if n_rows > _SHORT_GROUP_ROWS:
            # The sort is descending: the signs are turned for it, and back.
            for i in range(first, last):
                key[i] = -key[i]
            sort_best_first(key[first:last], order[first:last], spare_key, spare_order)
            for i in range(first, last):
                key[i] = -key[i]
            continue

        for i in range(n_rows):
            spare_order[i] = order[first + i]
            spare_key[i] = key[first + i]
        for i in range(n_rows):
            # Counting the keys before takes no branch: faster than moving them.
            new_place = first
            for j in range(i):
                new_place += spare_key[j] <= spare_key[i]
            for j in range(i + 1, n_rows):
                new_place += spare_key[j] < spare_key[i]
            order[new_place] = spare_order[i]
            key[new_place] = spare_key[i]


def equals_previous(start: IntArray, values: npt.NDArray[np.float64]) -> BoolArray:
    """Say of each row but the first whether the row before has its value and is of its group."""
    groups = users_of_entries(start)
    is_equal: BoolArray = (values[1:] == values[:-1]) & (groups[1:] == groups[:-1])
    return is_equal
