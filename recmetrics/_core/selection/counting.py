"""Counts of values, and what is found by counting: the k-th largest of them, and their order.

The values are scores, or relevances, of any dtype that can be compared. To count those above
another takes no branch, so that the processor compares many at once.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._core.jit import helper, numpy_form

Array = npt.NDArray[Any]  # of the dtype of the values

RUN_ITEMS = 64  # sorted by counting, before such runs are merged
_FEW_TRIES = 16  # to find a pivot, before a count says whether there is one


@numpy_form(lambda values, threshold: np.count_nonzero(values >= threshold))
@helper
def count_reaching(values: Array, threshold: Any) -> int:
    """Count the ``values`` >= ``threshold``.

    Sums in int32 run four times as fast as in int64. One loop: blocks of a constant size took a
    third more time, and compile twice as long.
    """
    count: Any = np.int32(0)
    for i in range(values.size):
        count = np.int32(count + np.int32(values[i] >= threshold))
    return count  # type: ignore[no-any-return]


@numpy_form(lambda values, threshold: np.count_nonzero(values > threshold))
@helper
def count_above(values: Array, threshold: Any) -> int:
    """Count the ``values`` > ``threshold``."""
    count: Any = np.int32(0)
    for i in range(values.size):
        count = np.int32(count + np.int32(values[i] > threshold))
    return count  # type: ignore[no-any-return]


@helper
def reached_by(values: Array, k: int, lowest: Any, slack: Any) -> Any:
    """The k-th largest of ``values``, or another value that k to k + slack of them reach.

    ``lowest``, which all values reach, if they are at most k + slack: no search is needed.

    Bisection by counting, with one of the values as the pivot each time: a dozen vectorised counts
    are fifteen times as fast as quickselect (1,024 values, k = 100).
    """
    reached = lowest  # n_reaching values, at least k, are >= this one
    n_reaching = values.size
    missed = lowest  # n_missing values, fewer than k, are >= this one
    n_missing = 0  # 0 as long as ``missed`` is not a value yet
    # Pivots in golden steps: in order they would not halve the values where these ascend.
    step = int(values.size * 0.618) | 1
    place = 0
    searching = n_reaching > k + slack
    while searching:
        # The next pivot: a value between ``reached`` and ``missed``.
        tries = 0
        between = False
        while not between and tries < 2 * values.size:
            # A count says in less time than all tries that no pivot is left: all values above
            # ``reached`` are known to be missing, as among many equal ones.
            if tries == _FEW_TRIES and count_above(values, reached) == n_missing:
                break
            # The second round takes steps of 1: a step may share a factor with the size.
            place += step if tries < values.size else 1
            if place >= values.size:
                place -= values.size
            value = values[place]
            between = value > reached and (n_missing == 0 or value < missed)
            tries += 1
        if between:
            count = count_reaching(values, values[place])
            if count >= k:
                reached = values[place]
                n_reaching = count
            else:
                missed = values[place]
                n_missing = count
        # One value in the gap is ``reached`` itself.
        searching = between and n_reaching > k + slack and n_reaching - n_missing > 1
    return reached


def _sort_best_first_in_numpy(values: Array, items: Any, *_: Any) -> None:
    """Sort ``values`` and ``items`` as ``sort_best_first`` does."""
    ascending = np.argsort(values[::-1], kind="stable")
    order = len(values) - 1 - ascending[::-1]
    values[:] = values[order]
    if items is not None:
        items[:] = items[order]


@numpy_form(_sort_best_first_in_numpy)
@helper
def sort_best_first(values: Array, items: Any, spare_values: Array, spare_items: Any) -> None:
    """Sort ``values``, and their ``items`` unless these are None, in place, largest value first.

    Equal values keep their order. The spare arrays are work memory of the same size, None as the
    items are.

    Runs of ``RUN_ITEMS`` are sorted, then merged, since NumPy's sort costs a second of compilation.
    Each merge copies its first half to the spare arrays and writes from the front.
    """
    size = values.size
    for begin in range(0, size, RUN_ITEMS):
        _sort_run(values[begin : begin + RUN_ITEMS], items, begin, spare_values, spare_items)

    width = RUN_ITEMS
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle = begin + width
            end = min(middle + width, size)
            if values[middle - 1] >= values[middle]:  # the halves are in order
                continue
            for i in range(width):
                spare_values[i] = values[begin + i]
                if items is not None:
                    spare_items[i] = items[begin + i]
            left = 0
            right = middle
            for place in range(begin, end):
                if left == width:
                    break
                if right < end and values[right] > spare_values[left]:
                    values[place] = values[right]
                    if items is not None:
                        items[place] = items[right]
                    right += 1
                else:
                    values[place] = spare_values[left]
                    if items is not None:
                        items[place] = spare_items[left]
                    left += 1
        width *= 2


@helper
def _sort_run(run: Array, items: Any, begin: int, spare_values: Array, spare_items: Any) -> None:
    """Sort a run of values as ``sort_best_first`` does, and their items from ``begin`` on.

    Each value goes to the place that is the number of values before it in the order: to count these
    takes no branches, and half the time of insertion.
    """
    for i in range(run.size):
        value = run[i]
        place = count_reaching(run[:i], value) + count_above(run[i + 1 :], value)
        spare_values[place] = value
        if items is not None:
            spare_items[place] = items[begin + i]
    for i in range(run.size):
        run[i] = spare_values[i]
        if items is not None:
            items[begin + i] = spare_items[i]
