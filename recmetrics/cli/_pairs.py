"""Read text lines ``user item [relevance]``."""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np
from scipy import sparse

from recmetrics._io import Source, at_line, read_number, reading, refuse_other_formats, start

_LINE = (
    "'user item' or 'user item relevance' with 0-based indices; put # before a header or a comment"
)


def read_pairs(
    source: Source, shape: tuple[int, int], *, graded: bool, expected: str
) -> sparse.csr_array[Any]:
    """Read a matrix of ``shape`` from text.

    ``graded`` text is a truth: relevance 1 where a line gives none, and no pair twice. Other
    text is a set of items per user: every pair belongs to it, whatever its third number.
    """
    first = start(source, expected)
    if first:
        refuse_other_formats(source, first, expected)
    users, items, values = array("q"), array("q"), array("d")
    line_of: dict[tuple[int, int], int] = {}
    # A comment may hold any byte.
    text = source.path.open(encoding="utf-8-sig", errors="surrogateescape")
    with reading(source, _LINE), text as file:
        for number, line in enumerate(file, start=1):
            body = line.partition("#")[0]
            fields = [*map(str.strip, body.split(","))] if "," in body else body.split()
            if not any(fields):
                continue
            try:
                user, item, value = _parse(fields, shape, graded=graded)
                before = line_of.setdefault((user, item), number) if graded else number
                if before != number:
                    msg = f"user {user}, item {item} is already on line {before}; give every pair "
                    raise ValueError(msg + "once")
            except ValueError as error:
                raise at_line(source, number, error) from None
            users.append(user)
            items.append(item)
            values.append(value)
        if graded and not users:
            msg = "it holds no line"
            raise ValueError(msg)
    pairs = np.array(users, dtype=np.int64), np.array(items, dtype=np.int64)
    return sparse.csr_array((np.array(values), pairs), shape=shape)


def _parse(fields: list[str], shape: tuple[int, int], *, graded: bool) -> tuple[int, int, float]:
    """Read one line; a ValueError says what is wrong."""
    if not 2 <= len(fields) <= 3:
        msg = f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}; expected {_LINE}"
        raise ValueError(msg)
    user = _index("user", fields[0], shape[0])
    item = _index("item", fields[1], shape[1])
    if not graded or len(fields) == 2:
        return user, item, 1.0
    try:
        value = read_number(fields[2])
    except ValueError:
        msg = f"cannot read {fields[2][:40]!r} as relevance; expected {_LINE}"
        raise ValueError(msg) from None
    if not 0 <= value < math.inf:
        msg = f"relevance {value:g}; expected a finite number >= 0"
        raise ValueError(msg)
    return user, item, value


def _index(name: str, field: str, size: int) -> int:
    if not (field.isascii() and field.removeprefix("-").isdecimal()):
        msg = f"cannot read {field[:40]!r} as {name}; expected {_LINE}"
        raise ValueError(msg)
    # Longer numbers are out of range in any case, and Python refuses to read the longest.
    index = int(field) if len(field) < 20 else size
    if not 0 <= index < size:
        msg = f"{name} {field[:40]} is not in the scores; expected 0 to {size - 1}"
        raise ValueError(msg)
    return index
