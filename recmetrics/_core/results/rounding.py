"""Which values are equal: those that differ by rounding alone, as sums in another order do.

The bounds of a metric are a pair, its least and its greatest value. Those of several metrics are
(2, metrics, 1), beside values (metrics, users). A ``rounding`` is ``ROUNDING`` or
``SINGLE_ROUNDING``, that of several metrics an array (metrics, 1).
"""

from typing import Any

import numpy as np

from recmetrics._core.types import FloatArray

# Numbers that differ by this share of their size count as equal. In float32, a number is off by up
# to 6e-8 of its size; values of one model may be in float32, and those of another in float64.
ROUNDING = 1e-12
SINGLE_ROUNDING = 1e-6


def _tolerance(bounds: Any, rounding: Any) -> FloatArray:
    """By how much values of metrics may differ by rounding, whatever their size.

    It is 0 if a bound is infinite: the size of the values alone then says what is rounding.
    """
    least, greatest = bounds
    width = np.subtract(greatest, least)
    return np.where(np.isfinite(width), rounding * width, 0.0)


def with_exact_ends(values: FloatArray, bounds: Any, rounding: Any) -> FloatArray:
    """Replace values that differ from a bound of their metric by rounding by that bound.

    If one bound is infinite, values beyond the other by at most ``rounding`` are replaced, too.
    """
    tolerance = _tolerance(bounds, rounding)
    tolerance_beyond = np.where(tolerance > 0, tolerance, rounding)
    for end, sign in zip(bounds, (-1, 1), strict=True):
        with np.errstate(invalid="ignore"):  # of infinite values beside an infinite bound
            distances = sign * (values - end)  # above 0 beyond the bound
        is_near = (distances >= -tolerance) & (distances <= tolerance_beyond) & (distances != 0)
        if is_near.any():
            values = np.where(is_near, end, values)
    return values


def with_equal_values(
    values: FloatArray, others: FloatArray, bounds: Any, rounding: Any
) -> FloatArray:
    """Replace values that differ from those of another model by rounding by these.

    That is a distance up to the share ``rounding`` of the range of the metric, or of the other
    value.
    """
    with np.errstate(over="ignore"):
        distances = values - others
    np.abs(distances, out=distances)  # in the same memory, as there may be millions of users
    limits = np.abs(others)
    limits *= rounding
    np.maximum(limits, _tolerance(bounds, rounding), out=limits)
    return np.where(distances <= limits, others, values)
