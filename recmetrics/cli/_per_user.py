"""Read files of per-user values: a column per metric, and in text the users."""

from __future__ import annotations

import csv
from array import array
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from io import BufferedReader


class PerUser(NamedTuple):
    """The values of each metric, and the users that they belong to where the file names them."""

    values: dict[str, npt.NDArray[Any]]
    users: list[str] | None = None


def read_npz(file: BufferedReader) -> dict[str, npt.NDArray[Any]]:
    """Read an array per metric."""
    with np.load(file, allow_pickle=False) as arrays:
        return {metric: arrays[metric] for metric in arrays}


def read_csv(file: BufferedReader) -> PerUser:
    """Read a header ``user,METRIC,...`` and a line per user; an empty cell is undefined.

    A ValueError says what is wrong, and in which line.
    """
    users: list[str] = []
    with TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        lines = csv.reader(text, strict=True)
        header = next(lines, [])
        if header[:1] != ["user"] or len(set(header)) != len(header):
            msg = f"its first line is {','.join(header)[:60]!r}, not 'user' and different metrics"
            raise ValueError(msg)
        columns = [array("d") for _ in header[1:]]
        for cells in lines:
            if len(cells) != len(header):
                msg = f"line {lines.line_num} has {len(cells)} cells and the first {len(header)}"
                raise ValueError(msg)
            users.append(cells[0])
            for metric, column, cell in zip(header[1:], columns, cells[1:], strict=True):
                column.append(_number(cell, metric, lines.line_num))
    arrays = (np.frombuffer(column) if users else np.empty(0) for column in columns)
    return PerUser(dict(zip(header[1:], arrays, strict=True)), users)


def _number(cell: str, metric: str, line: int) -> float:
    try:
        return float(cell) if cell else float("nan")
    except ValueError:
        msg = f"line {line} has {cell[:40]!r} as {metric}"
        raise ValueError(msg) from None
