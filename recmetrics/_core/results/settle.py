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
    name: Callable[[int], str] = "user {}".format


ROWS_ARE_USERS = RowNames()
EVENTS = RowNames("event", "event {}".format)


def settled(
    values: UserValues,
    text: str,
    definition: Definition,
    updated: npt.NDArray[np.bool_] | None = None,
    rows: RowNames = ROWS_ARE_USERS,
) -> UserValues:
    """Apply ``undefined=`` to the values that a kernel left NaN.

    It applies to the rows that were ``updated``, by default all.
    """
    if definition.undefined == "nan":
        return values
    missing = np.isnan(values)
    if missing.ndim and updated is not None:
        missing &= updated
    number = number_for(definition.undefined)
    if number is not None:
        values[missing] = number
    elif missing.ndim:
        n_missing = int(missing.sum())
        row = int(missing.argmax())
        refuse_missing(text, definition, n_missing, missing.size, rows, row)
    elif missing:
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
    """Refuse rows without a value under ``undefined="raise"``; ``row`` is the first of them."""
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
