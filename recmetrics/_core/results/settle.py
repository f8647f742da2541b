"""The values of kernels as results: ``undefined=`` applied to NaN, and own metrics checked."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import UndefinedMetricError, warn
from recmetrics._core.results.notes import who_lacks, why_undefined
from recmetrics._core.spec import Definition, Metric, number_for, takes_number
from recmetrics._core.types import UserValues


class RowNames(NamedTuple):
    """The names of the rows of a result in errors."""

    noun: str = "user"
    name: Callable[[int], str] = "user {}".format  # of the row of this number
    n: int | None = None  # of all rows, where the values are of a part of them


_ROUNDING = 1e-9  # by which a value may be outside its bounds

ROWS_ARE_USERS = RowNames()
EVENTS = RowNames("event", "event {}".format)


def settled(
    values: UserValues,
    text: str,
    definition: Definition,
    updated: npt.NDArray[np.bool_] | None = None,
    rows: RowNames = ROWS_ARE_USERS,
) -> UserValues:
    """Put a number in the place of NaN in ``values``, as ``undefined=`` says, and return them.

    ``text`` is the metric's key of results. Under "raise", NaN is an error. A mask ``updated``
    limits this to the rows that it marks. Values of a metric of the caller that are outside its
    bounds are warned of.
    """
    metric = definition.spec.metric
    if metric.module:  # none of the package
        _warn_of_outside(values, text, metric, rows)
    if definition.undefined == "nan":
        return values
    is_missing = np.isnan(values)  # of shape () for a metric of all lists
    if is_missing.ndim and updated is not None:
        is_missing &= updated
    number = number_for(definition.undefined)
    if number is not None:
        values[is_missing] = number
    elif is_missing.ndim and is_missing.any():
        n_missing = int(is_missing.sum())
        row = int(is_missing.argmax())
        refuse_missing(text, definition, n_missing, rows.n or is_missing.size, rows, row)
    elif is_missing.any():
        msg = f"{text} is undefined ({metric.undefined}); give {_accepting(metric)}"
        raise UndefinedMetricError(msg)
    return values


def _accepting(metric: Metric) -> str:
    """Write what accepts that a metric has no value."""
    return "undefined='nan' or 'zero'" if takes_number(metric) else "undefined='nan'"


def _warn_of_outside(values: UserValues, text: str, metric: Metric, rows: RowNames) -> None:
    """Warn of the first row whose value is outside the bounds that the metric declares.

    The text before the colon is the same for all rows: buckets with the same text are counted.
    """
    least, greatest = metric.bounds
    outside = np.flatnonzero((values < least - _ROUNDING) | (values > greatest + _ROUNDING))
    if outside.size:
        row = int(outside[0])
        warn(
            f"{text} leaves its bounds {least:g} and {greatest:g}, which intervals and gates use: "
            f"it is {values[row]:.9g} for {rows.name(row)}; declare them with "
            "@recmetrics.metric(bounds=(least, greatest))"
        )


def refuse_missing(
    text: str,
    definition: Definition,
    n_missing: int,
    n_rows: int,
    rows: RowNames,
    row: int | None = None,
) -> None:
    """Refuse rows without a value if ``undefined="raise"``; other policies accept them.

    ``row`` is the first of these rows, or None if it is not known.
    """
    if definition.undefined != "raise" or not n_missing:
        return
    noun = rows.noun
    who = who_lacks(n_missing, n_rows, why_undefined(definition.spec), f"{noun}s")
    if row is not None:
        who += f", the first is {rows.name(row)}"
    msg = (
        f"{text} is undefined: {who}; expected a value for every {noun}; give "
        f"{_accepting(definition.spec.metric)}, or leave these {noun}s out"
    )
    raise UndefinedMetricError(msg)
