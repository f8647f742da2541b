"""The files that the command writes, completely or not at all: values, and pictures."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._files import atomic
from recmetrics.cli._terminal import INSTALL, CommandError


def check_output(
    option: str, path: Path, suffixes: Sequence[str], inputs: Sequence[Path] = ()
) -> None:
    """Refuse an output that a person has mistyped, before the work is done."""
    option_text = f"{option} {str(path)!r}"
    folder = str(path.parent)
    if path.suffix.lower() not in suffixes:
        msg = f"{option_text}: expected a file name that ends in {' or '.join(suffixes)}"
    elif path.is_dir():
        msg = f"{option_text} is a folder; expected the name of a file"
    elif not path.parent.is_dir():
        msg = f"{option_text}: the folder {folder!r} does not exist; create it first"
    elif not os.access(path.parent, os.W_OK):  # pragma: no cover - not for root
        msg = f"{option_text}: the folder {folder!r} cannot be written; choose another"
    elif path.exists() and any(file.exists() and path.samefile(file) for file in inputs):
        msg = f"{option_text} is also an input; choose another name"
    else:
        return
    raise CommandError(msg)


def write_per_user(
    path: Path,
    values: Mapping[str, npt.NDArray[np.float64]],
    users: Sequence[str] | None = None,
    noun: str = "user",
) -> None:
    """Write the values and weights of each metric, as ``.csv`` or ``.npz`` by the file's name.

    ``users`` are the ids of the rows, None: users 0, 1, ... An ``.npz`` holds the ids as ``noun``.
    Text has a column per user metric, and no place for metrics of all lists; every digit is
    written, and an undefined value is an empty cell.
    """
    with atomic(path) as file:
        if path.suffix.lower() == ".npz":
            ids: dict[str, Any] = {} if users is None else {noun: np.array(users, np.str_)}
            arrays: dict[str, Any] = {**ids, **values}
            np.savez(file, **arrays)
            return
        columns = {metric: column for metric, column in values.items() if column.ndim}
        if users is None:
            n_users = max(map(len, columns.values()), default=0)
            users = list(map(str, range(n_users)))
        # csv quotes an id for the characters of the file's own line ends, and reads both as ends.
        line_end = "\r\n" if any("\r" in user for user in users) else "\n"
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator=line_end)
        writer.writerow([noun, *columns])
        writer.writerows(zip(users, *map(_cells, columns.values()), strict=False))
        text.detach()  # flushes; the caller closes the file


def _cells(values: npt.NDArray[np.float64]) -> list[float | str]:
    """The cells of a column of text: an undefined value is empty."""
    return ["" if math.isnan(value) else value for value in values.tolist()]


def can_draw() -> bool:
    """Say whether matplotlib is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def check_plot(path: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse the name of a picture that cannot be written, and where matplotlib is missing."""
    check_output("--plot", path, suffixes)
    if not can_draw():
        msg = f"--plot needs the package matplotlib; type: {INSTALL}"
        raise CommandError(msg)
