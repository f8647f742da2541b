"""Numbers 0, 1, 2, ... for ids, in the order in which they first appear, without a sort."""

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import users_of_entries
from recmetrics._core.jit import add_work, allocating_helper, allocating_kernel, helper
from recmetrics._core.threads import without_warnings
from recmetrics._core.types import IntArray

_SMALL_RANGE = 1 << 20  # values; a table of so many entries is always cheap
_ROOM = 4  # entries of a table per value, beyond which hashing takes less memory
_SHORT = 32  # up to so many rows are sorted faster by comparing all pairs than by a sort
_LARGEST = int(np.iinfo(np.int64).max)
# Microseconds of Python for a row, see ``jit``, measured with 100,000 rows.
_NUMBERED = 0.3
_HASHED = 6.0
_GROUPED = 1.0
_SORTED = 2.6  # of groups of ten rows


def number(values: IntArray) -> tuple[IntArray, IntArray]:
    """Number the values; gives the number of each, and for each number its first place."""
    if not values.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    least = int(values.min())
    largest = int(values.max())
    if largest - least < max(_SMALL_RANGE, _ROOM * values.size):
        add_work(_NUMBERED * values.size)
        return _by_table(values, least, largest - least + 1)
    add_work(_HASHED * values.size)
    return without_warnings(_by_hash)(values)  # the product of the hash overflows


def combine(columns: list[IntArray]) -> IntArray:
    """Combine columns of numbers into one integer for each row, equal where all columns are."""
    codes = columns[0]
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 1
        if int(codes.max(initial=0)) + 1 > _LARGEST // size:
            codes, _ = number(codes)
        codes = codes * size + column
    return codes


@allocating_kernel
def _by_table(values: IntArray, least: int, size: int) -> tuple[IntArray, IntArray]:
    numbers = np.full(size, -1, np.int32)
    codes = np.empty(values.size, np.int64)
    first = np.empty(min(size, values.size), np.int64)
    n = 0
    for row in range(values.size):
        place = values[row] - least
        if numbers[place] < 0:
            numbers[place] = n
            first[n] = row
            n += 1
        codes[row] = numbers[place]
    return codes, first[:n].copy()


@allocating_kernel
def _by_hash(values: IntArray) -> tuple[IntArray, IntArray]:
    """Open addressing over a table that doubles, so that few ids stay in the cache."""
    bits = np.uint64(10)
    slots = np.full(1 << 10, -1, np.int32)
    codes = np.empty(values.size, np.int64)
    first = np.empty(values.size, np.int64)
    n = 0
    for row in range(values.size):
        slot = _slot(slots, bits, values, first, values[row])
        if slots[slot] < 0:
            slots[slot] = n
            first[n] = row
            n += 1
            if 2 * n > slots.size:
                bits += np.uint64(1)
                slots = np.full(2 * slots.size, -1, np.int32)
                for code in range(n):
                    slots[_slot(slots, bits, values, first, values[first[code]])] = code
                slot = _slot(slots, bits, values, first, values[row])
        codes[row] = slots[slot]
    return codes, first[:n].copy()


@helper
def _slot(
    slots: npt.NDArray[np.int32], bits: np.uint64, values: IntArray, first: IntArray, value: int
) -> int:
    """The place of ``value`` in the table, or the free place where it belongs."""
    # Fibonacci hashing: the upper bits of a product with 2^64 / golden ratio.
    slot = np.int64((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> (np.uint64(64) - bits))
    while slots[slot] >= 0 and values[first[slots[slot]]] != value:
        slot = (slot + 1) & (slots.size - 1)
    return slot  # type: ignore[return-value]


def group(codes: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Group the rows by code, in their order: code c has ``order[start[c]:start[c + 1]]``."""
    add_work(_GROUPED * codes.size)
    return _group(codes, n)


def sort_groups(start: IntArray, order: IntArray, key: npt.NDArray[np.float64]) -> None:
    """Sort each group by ascending ``key``; equal keys keep their order.

    ``key`` has the order of ``order``, and both are sorted in place.
    """
    add_work(_SORTED * order.size)
    _sort_groups(start, order, key)


@allocating_kernel
def _group(codes: IntArray, n: int) -> tuple[IntArray, IntArray]:
    start = np.zeros(n + 1, np.int64)
    together = 0  # the rows up to which codes ascend
    while together < codes.size and (together == 0 or codes[together - 1] <= codes[together]):
        start[codes[together] + 1] = together + 1
        together += 1
    if together == codes.size:
        for code in range(n):
            start[code + 1] = max(start[code], start[code + 1])
        return start, np.arange(codes.size)
    start[:] = 0
    for row in range(codes.size):
        start[codes[row] + 1] += 1
    for code in range(n):
        start[code + 1] += start[code]
    order = np.empty(codes.size, np.int64)
    filled = start[:-1].copy()
    for row in range(codes.size):
        code = codes[row]
        order[filled[code]] = row
        filled[code] += 1
    return start, order


@allocating_kernel
def _sort_groups(start: IntArray, order: IntArray, key: npt.NDArray[np.float64]) -> None:
    short_order = np.empty(_SHORT, np.int64)
    short_key = np.empty(_SHORT)
    for code in range(start.size - 1):
        first = start[code]
        last = start[code + 1]
        ascends = True
        for i in range(first + 1, last):
            ascends = ascends and key[i - 1] <= key[i]
        if ascends:
            continue
        if last - first > _SHORT:
            _sort_long(order[first:last], key[first:last])
            continue
        n = last - first
        for i in range(n):
            short_order[i] = order[first + i]
            short_key[i] = key[first + i]
        for i in range(n):
            # Counting the keys before takes no branch: faster than moving them.
            place = first
            for j in range(i):
                place += short_key[j] <= short_key[i]
            for j in range(i + 1, n):
                place += short_key[j] < short_key[i]
            order[place] = short_order[i]
            key[place] = short_key[i]


@allocating_helper
def _sort_long(rows: IntArray, keys: npt.NDArray[np.float64]) -> None:
    places = np.argsort(keys, kind="mergesort")
    rows[:] = rows[places]
    keys[:] = keys[places]


def has_equals(start: IntArray, values: npt.NDArray[np.float64]) -> bool:
    """Say whether a group has two equal values; those of each group are sorted."""
    groups = users_of_entries(start)
    return bool(((values[1:] == values[:-1]) & (groups[1:] == groups[:-1])).any())
