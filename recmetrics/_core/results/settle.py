"""``undefined=`` applied to values that kernels left NaN: a number in their place, or an error."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import UndefinedMetricError
from recmetrics._core.results.notes import who_lacks, why_undefined
from recmetrics._core.spec import Definition, number_for
from recmetrics._core.types import UserValues


class RowNames(NamedTuple):
    """The names of the rows of a result in errors."""

    noun: str = "user"
    name: Callable[[int], str] = "user {}".format  # of the row of this number


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
    limits this to the rows that it marks.
    """
    if definition.undefined == "nan":
        return values
    is_missing = np.isnan(values)  # of shape () for a metric of all lists
    if is_missing.ndim and updated is not None:
        is_missing &= updated
    number = number_for(definition.undefined)
    if number is not None:
        values[is_missing] = number
    elif is_missing.ndim:
        n_missing = int(is_missing.sum())
        row = int(is_missing.argmax())
        refuse_missing(text, definition, n_missing, is_missing.size, rows, row)
    elif is_missing:
        reason = definition.spec.metric.undefined
        msg = f"{text} is undefined ({reason}); give undefined='nan' or 'zero'"
        raise UndefinedMetricError(msg)
    return values


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
        f"{text} is undefined: {who}; expected a value for every {noun}; give undefined='nan' or "
        f"'zero', or leave these {noun}s out"
    )
    raise UndefinedMetricError(msg)
