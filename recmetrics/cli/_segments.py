"""Read the segment of each user: as an array, a label a line, or a CSV of users and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._io import Source, at_line, read_array, read_by_id, reading, start
from recmetrics._io import refuse_other_formats as refuse
from recmetrics.cli._terminal import CommandError

_EXPECTED = (
    "a label per user: an .npy (numpy.save), a .csv of user and group, or text, a label a line"
)


def read_segments(source: Source) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Read the label of each user, and the ids of the users where the file has them."""
    first = start(source, _EXPECTED)
    if first.startswith(b"\x93NUMPY"):
        labels = np.array(read_array(source, _EXPECTED))
        if labels.ndim != 1 or labels.dtype.kind not in "Uiubf":
            msg = (
                f"{source} has dtype {labels.dtype} and shape {labels.shape}; expected {_EXPECTED}"
            )
            raise CommandError(msg)
        with reading(source, _EXPECTED):
            labels.tolist()  # text that is no Unicode is read here
        return labels, None
    refuse(source, first, _EXPECTED)
    if source.path.suffix.lower() == ".csv":
        _, rows = read_by_id(source, _EXPECTED, "'user' and a name for the groups", most=2)
        texts = [_label(source, line, cells[0]) for line, cells in rows.values()]
        return np.array(texts, np.str_), list(rows)
    with reading(source, _EXPECTED), source.path.open(encoding="utf-8-sig") as file:
        texts = [_label(source, number, line) for number, line in enumerate(file, start=1)]
    return np.array(texts, np.str_), None


def _label(source: Source, line: int, text: str) -> str:
    label = text.strip()
    if not label:
        raise at_line(source, line, "no group; expected a label for every user")
    return label
