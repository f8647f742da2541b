"""Read files of per-user values: a column per metric, and the ids of users where given."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import InputError
from recmetrics._io.lines import LineError, read_number, read_rows
from recmetrics._io.npy import refuse_unreal
from recmetrics._io.npz import NPZ_MAGIC, read_arrays
from recmetrics._io.source import Source, opened, reading, refuse_other_formats, start

if TYPE_CHECKING:
    from io import BufferedReader

_EXPECTED = "the .npz or .csv that 'recmetrics evaluate --per-user' writes"


NOUNS = ("user", "group")
"""The words for what has a value, one of which names the column of ids."""


class PerUser(NamedTuple):
    """The values of each metric, and the ids of the users where the file has them."""

    values: dict[str, npt.NDArray[Any]]
    users: list[str] | None = None


def read_per_user(source: Source) -> PerUser:
    """Read the values of every user, as ``evaluate --per-user`` writes them."""
    with opened(source, _EXPECTED) as file:
        if start(file).startswith(NPZ_MAGIC):
            with reading(source, _EXPECTED):
                return _read_npz(file)
        refuse_other_formats(source, file, _EXPECTED)
        if source.path.suffix.lower() != ".csv":
            msg = f"{source} is not in NumPy's .npz format; expected {_EXPECTED}"
            raise InputError(msg)
        with reading(source, _EXPECTED):
            return _read_csv(file)


def _read_npz(file: BufferedReader) -> PerUser:
    """Read an array per metric, and maybe the ids of the users as "user", or of "group"."""
    arrays = read_arrays(file)
    noun = "group" if "group" in arrays else "user"
    ids = arrays.pop(noun, None)
    users = None
    if ids is not None:
        if ids.dtype.kind not in "Uiu" or ids.ndim != 1:
            msg = (
                f"its {noun!r} has dtype {ids.dtype} and shape {ids.shape}; expected ids, "
                "(n_users,)"
            )
            raise ValueError(msg)
        users = [str(user) for user in ids.tolist()]
        if len(set(users)) < len(users):
            msg = f"its {noun!r} names a {noun} twice; give every {noun} once"
            raise ValueError(msg)
    if not arrays:
        msg = "it holds no metric"
        raise ValueError(msg)
    for metric, values in arrays.items():
        try:
            refuse_unreal(values.dtype)
        except ValueError as error:
            msg = f"metric {metric[:40]!r}: {error}"
            raise ValueError(msg) from error
        if values.ndim > 1 or (users is not None and values.shape != (len(users),)):
            wanted = "(n_users,)" if users is None else f"({len(users)},), as for {noun!r}"
            msg = f"metric {metric[:40]!r} has shape {values.shape}; expected {wanted}"
            raise ValueError(msg)
    return PerUser(arrays, users)


def _read_csv(file: BufferedReader) -> PerUser:
    """Read a header ``user,METRIC,...`` or ``group,METRIC,...`` and a line for each.

    An empty cell is undefined. A LineError says what is wrong.
    """
    rows = read_rows(file)
    _, header = next(rows, (1, []))
    noun = header[0] if header else ""
    if noun not in NOUNS or len(set(header)) != len(header) or len(header) < 2:
        msg = (
            f"the header is {','.join(header)[:60]!r}; expected 'user' or 'group', then metrics of "
            "different names"
        )
        raise LineError(1, msg)
    users: dict[str, int] = {}
    columns = [array("d") for _ in header[1:]]
    for line, (user, *cells) in rows:
        if user in users:
            msg = f"{noun} {user[:40]!r} is already on line {users[user]}; give every {noun} once"
            raise LineError(line, msg)
        users[user] = line
        for metric, column, cell in zip(header[1:], columns, cells, strict=True):
            try:
                column.append(read_number(cell) if cell else math.nan)
            except ValueError:
                msg = f"cannot read {cell[:40]!r} as {metric}; expected a number"
                raise LineError(line, msg) from None
    arrays = (np.frombuffer(column) if users else np.empty(0) for column in columns)
    return PerUser(dict(zip(header[1:], arrays, strict=True)), list(users))
