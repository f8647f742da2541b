"""Read the group of each user: as an array, a label a line, or a CSV of users and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._io import (
    NOUNS,
    LineError,
    map_data,
    read_header,
    read_lines,
    read_rows,
    refuse_bytes,
    refuse_damaged_text,
)

if TYPE_CHECKING:
    from io import BufferedReader


class Groups(NamedTuple):
    """A label per user, and the ids of the users where the file has them."""

    labels: npt.NDArray[Any]
    users: list[str] | None = None


def read_npy(file: BufferedReader, n_bytes: int) -> Groups:
    """Read a 1-d array of text or numbers; raise a ValueError for any other."""
    header = read_header(file, n_bytes)
    if len(header.shape) != 1 or header.dtype.kind not in "Uiubf":
        msg = f"it has dtype {header.dtype} and shape {header.shape}; expected a label per user"
        raise ValueError(msg)
    labels = np.array(map_data(file, header))
    refuse_damaged_text(labels, "its text")
    return Groups(labels)


def read_text(file: BufferedReader) -> Groups:
    """Read a label per line; raise a LineError for any other line."""
    labels = []
    for number, line in read_lines(file):
        try:
            refuse_bytes(line)
        except ValueError as error:
            raise LineError(number, error) from None
        labels.append(_label(number, line))
    return Groups(np.array(labels, np.str_))


def read_csv(file: BufferedReader) -> Groups:
    """Read a header of ``user`` and another name, then the id and the label of each user.

    Of a file of values per group the first name is ``group``.
    """
    rows = read_rows(file)
    _, header = next(rows, (1, []))
    if len(header) != 2 or header[0] not in NOUNS:
        msg = f"the header is {','.join(header)[:60]!r}; expected 'user' and a name for the groups"
        raise LineError(1, msg)
    labels: dict[str, str] = {}
    for number, (user, label) in rows:
        if user in labels:
            noun = header[0]
            raise LineError(number, f"{noun} {user[:40]!r} is repeated; give every {noun} once")
        labels[user] = _label(number, label)
    return Groups(np.array(list(labels.values()), np.str_), list(labels))


def _label(number: int, text: str) -> str:
    label = text.strip()
    if not label:
        raise LineError(number, "no group; expected a label for every user")
    return label
