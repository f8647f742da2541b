"""Read text lines ``user item [relevance]``."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recmetrics._io import LineError, read_lines, read_number, refuse_bytes

if TYPE_CHECKING:
    from io import BufferedReader

EXPECTED = (
    "'user item' or 'user item relevance' with 0-based indices; put # before a header or a comment"
)


def read_pairs(
    file: BufferedReader, shape: tuple[int, int], *, graded: bool
) -> sparse.csr_array[Any]:
    """Read a matrix of ``shape`` from text.

    ``graded`` text is a truth: relevance 1 where a line gives none, and no pair twice. Other
    text is a set of items per user: every pair belongs to it, whatever its third number. A
    LineError says what is wrong.
    """
    users, items, values, numbers = array("q"), array("q"), array("d"), array("q")
    for number, line in read_lines(file):
        try:
            if fields := _fields(line):
                user, item, value = _parse(fields, shape, graded=graded)
                users.append(user)
                items.append(item)
                values.append(value)
                numbers.append(number)
        except ValueError as error:
            raise LineError(number, _byte(line) or error) from None
    if graded and not users:
        msg = "it holds no line"
        raise ValueError(msg)
    rows, columns = np.array(users, dtype=np.int64), np.array(items, dtype=np.int64)
    if graded:
        _refuse_repeats(rows, columns, np.array(numbers, dtype=np.int64))
    return sparse.csr_array((np.array(values, dtype=np.float64), (rows, columns)), shape=shape)


def _byte(line: str) -> ValueError | None:
    """The error of a byte in a line that cannot be read; a comment may hold any byte."""
    try:
        refuse_bytes(line.partition("#")[0])
    except ValueError as error:
        return error
    return None


def _fields(line: str) -> list[str]:
    body = line.partition("#")[0]
    return [field.strip() for field in body.split(",")] if "," in body else body.split()


def _parse(fields: list[str], shape: tuple[int, int], *, graded: bool) -> tuple[int, int, float]:
    """Read one line; a ValueError says what is wrong."""
    if not 2 <= len(fields) <= 3:
        msg = f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}; expected {EXPECTED}"
        raise ValueError(msg)
    user = _index("user", fields[0], shape[0])
    item = _index("item", fields[1], shape[1])
    value = _number(fields[2]) if len(fields) == 3 else 1.0
    if not graded:
        return user, item, 1.0
    if not 0 <= value < math.inf:
        msg = f"relevance {value:g}; expected a finite number >= 0"
        raise ValueError(msg)
    return user, item, value


def _index(name: str, field: str, size: int) -> int:
    if not (field.isascii() and field.removeprefix("-").isdecimal()):
        msg = f"cannot read {_shorten(field)!r} as {name}; expected {EXPECTED}"
        raise ValueError(msg)
    # Longer numbers are out of range in any case, and Python refuses to read the longest.
    index = int(field) if len(field) < 20 else size
    if not 0 <= index < size:
        msg = f"{name} {_shorten(field)} is not in the scores; expected 0 to {size - 1}"
        raise ValueError(msg)
    return index


def _number(field: str) -> float:
    try:
        return read_number(field)
    except ValueError:
        msg = f"cannot read {_shorten(field)!r} as relevance; expected {EXPECTED}"
        raise ValueError(msg) from None


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _refuse_repeats(
    users: npt.NDArray[np.int64], items: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]
) -> None:
    """Refuse a pair given twice: a sparse matrix would add the two relevances."""
    order = np.lexsort((items, users))
    users, items, numbers = users[order], items[order], numbers[order]
    again = np.flatnonzero((users[1:] == users[:-1]) & (items[1:] == items[:-1])) + 1
    if again.size:
        first = again[np.argmin(numbers[again])]
        msg = (
            f"user {users[first]}, item {items[first]} is already on line {numbers[first - 1]}; "
            "give every pair once"
        )
        raise LineError(int(numbers[first]), msg)
