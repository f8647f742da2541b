"""The largest relevances of each user, in descending order: those of the ideal ranking."""

from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._core.jit import helper, kernel, numpy_form
from recmetrics._core.selection.counting import Array, count_reaching, reached_by, sort_best_first
from recmetrics._core.types import FloatArray, IntArray

# The relevances of a user are dealt to so many lanes, and a bound is searched for only among the
# largest of each lane.
_LANES = 64
_LEAST_PER_LANE = 3  # with fewer relevances for each lane, it is searched for among all


def write_largest(
    start: IntArray,
    values: npt.NDArray[Any],
    slot_start: IntArray,
    largest: FloatArray,
    depth: int | None,
) -> None:
    """Write the largest values of each user, descending, to the front of the user's slots.

    User u has the values ``start[u]:start[u + 1]``, which are relevances, and the slots
    ``slot_start[u]`` to ``slot_start[u + 1]`` of ``largest``. If ``depth`` is None, a user has at
    most as many slots as values, and all slots are filled. Otherwise a user has a slot for each
    value: behind the ``depth`` largest, the others come in any order.
    """
    most_values = int(np.diff(start).max(initial=0))
    above, spare = np.empty((2, most_values))
    _write_largest(start, values, slot_start, largest, depth, np.empty(_LANES), above, spare)


@kernel
def _write_largest(
    start: IntArray,
    values: npt.NDArray[Any],
    slot_start: IntArray,
    largest: FloatArray,
    depth: Any,
    lane_maxima: FloatArray,
    above: FloatArray,
    spare: FloatArray,
) -> None:
    """Write what ``write_largest`` does. The last three arguments are work memory.

    At least as many values as are wanted reach a bound. Those above it are sorted; where they are
    too few, the next are equal to it. With all values different, 10 of 1,000 take 0.8 us of a user,
    and took 1.4 by insertion; 50 of 300 take 0.9, and took 3.7.
    """
    for user in range(start.size - 1):
        row = values[start[user] : start[user + 1]]
        slots = largest[slot_start[user] : slot_start[user + 1]]
        n_wanted = slots.size
        if depth is not None:
            n_wanted = min(depth, slots.size)
        bound = _lower_bound(row, n_wanted, lane_maxima)
        n_above: Any = np.int64(0)
        if n_wanted > 1:  # else the bound is the largest of all
            n_above = _collect_above(row, bound, above)
            sort_best_first(above[:n_above], None, spare, None)
        for i in range(slots.size):
            slots[i] = above[i] if i < n_above else bound

        if depth is not None:  # the values below the bound follow those that reach it
            slot = count_reaching(row, bound)
            for i in range(row.size):
                if row[i] < bound:
                    slots[slot] = row[i]
                    slot += 1


@helper
def _lower_bound(row: Array, k: int, lane_maxima: FloatArray) -> Any:
    """A number that at least k of the relevances in ``row`` reach, and perhaps a few more.

    ``lane_maxima`` is work memory.
    """
    lowest = np.float64(-1.0)  # below all relevances
    if k == 1:
        return np.float64(_maximum(row))
    slack = np.int64(k // 2 + 4)  # to sort so many more takes less than to find the k-th largest
    if row.size >= _LEAST_PER_LANE * _LANES and 2 * k <= _LANES:
        # At least as many relevances as lane maxima reach a number.
        _fill_lanes(row, lane_maxima)
        return reached_by(lane_maxima, k, lowest, slack)
    return reached_by(row, k, lowest, slack)


@numpy_form(lambda row: row.max())
@helper
def _maximum(row: Array) -> Any:
    """The largest value of a row."""
    largest = row[0]
    for i in range(row.size):
        if row[i] > largest:
            largest = row[i]
    return largest


def _fill_lanes_in_numpy(row: Array, lane_maxima: FloatArray) -> None:
    """Fill ``lane_maxima`` as ``_fill_lanes`` does."""
    n_whole = row.size // (2 * _LANES) * (2 * _LANES)
    lane_maxima[:] = row[:n_whole].reshape(-1, _LANES).max(axis=0)


@numpy_form(_fill_lanes_in_numpy)
@helper
def _fill_lanes(row: Array, lane_maxima: FloatArray) -> None:
    """Fill ``lane_maxima`` with the largest value of each lane of a row.

    A step takes the next two values of each lane, see ``_lane_maxima`` of ``kernels``. The values
    behind the last whole step are in no lane.
    """
    for lane in range(_LANES):
        lane_maxima[lane] = -1.0
    for begin in range(0, row.size - 2 * _LANES + 1, 2 * _LANES):
        left = row[begin : begin + _LANES]
        right = row[begin + _LANES : begin + 2 * _LANES]
        for lane in range(_LANES):
            maximum = lane_maxima[lane]
            value = left[lane]
            other = right[lane]
            maximum = value if value > maximum else maximum
            lane_maxima[lane] = other if other > maximum else maximum


def _collect_above_in_numpy(row: Array, bound: Any, above: FloatArray) -> int:
    """Write to ``above`` what ``_collect_above`` does."""
    larger = row[row > bound]
    above[: len(larger)] = larger
    return len(larger)


@numpy_form(_collect_above_in_numpy)
@helper
def _collect_above(row: Array, bound: Any, above: FloatArray) -> int:
    """Write the values of a row that are above ``bound`` to ``above``; returns their number.

    Each value is written to the next place, which moves on only if it is above: no branch.
    """
    n_above = 0
    for i in range(row.size):
        above[n_above] = row[i]
        n_above += row[i] > bound
    return n_above


def memory_for(start: IntArray) -> FloatArray:
    """Work memory of ``write_largest``: rows for lane maxima, values above a bound, and a sort."""
    return np.empty((3, int(np.diff(start).max(initial=_LANES))))
