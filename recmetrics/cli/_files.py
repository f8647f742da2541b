"""Read the files of the command line: by the format of the content, never unpickled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from recmetrics._io import (
    NPY_MAGIC,
    NPZ_MAGIC,
    Source,
    map_array,
    opened,
    read_sparse,
    reading,
    refuse_devices,
    refuse_other_formats,
    start,
    state,
)
from recmetrics.cli import _groups
from recmetrics.cli._failures import CommandError
from recmetrics.cli._groups import Groups
from recmetrics.cli._named import mapped
from recmetrics.cli._text import EXPECTED as EXPECTED_LINE
from recmetrics.cli._text import read_pairs

if TYPE_CHECKING:
    from io import BufferedReader

Array = npt.NDArray[Any]

_SCORES = "a dense .npy (numpy.save) or a sparse .npz (scipy.sparse.save_npz)"
_MATRIX = (
    "a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]'"
)
_GROUPS = (
    "a label per user: an .npy (numpy.save), a .csv of user and group, or text, a label a line"
)
_TABLE = "a sparse .npz (scipy.sparse.save_npz) or a dense .npy (numpy.save)"


def open_scores(source: Source) -> Any:
    """Map dense scores into memory, of which only the rows evaluated are read; read sparse ones."""
    with opened(source, _SCORES, regular=True) as file:
        first = start(file)
        if first.startswith(NPZ_MAGIC):
            with reading(source, _SCORES):
                return read_sparse(file, lambda _: None)
        if not first.startswith(NPY_MAGIC):
            refuse_other_formats(source, file, _SCORES)
            msg = f"{source} is not in NumPy's .npy or .npz format; expected {_SCORES}"
            raise CommandError(msg)
        scores = _map(source, file, _SCORES)
    if scores.ndim != 2:
        msg = f"{source} has shape {scores.shape}; expected two dimensions, (n_users, n_items)"
        raise CommandError(msg)
    return scores


def read_matrix(
    source: Source, shape: tuple[int, int], *, graded: bool, for_all: bool = False
) -> Any:
    """Read relevance (``graded``) or a set of items per user (not), of the scores' shape.

    ``for_all`` accepts an array of items for all users, too.
    """

    def check(found: tuple[int, ...]) -> None:
        # A truth may have one item index for each user.
        is_flat = (graded and found == shape[:1]) or (for_all and len(found) == 1)
        if found != shape and not is_flat:
            msg = f"{source} has shape {found}; expected that of the scores, {shape}"
            if found == shape[::-1]:
                msg += "; it looks transposed: its rows must be the users"
            raise CommandError(msg)

    with opened(source, _MATRIX) as file:
        first = start(file)
        if first.startswith(NPY_MAGIC):
            matrix = _map(source, file, _MATRIX)
            check(matrix.shape)
            return matrix
        if first.startswith(NPZ_MAGIC):
            with reading(source, _MATRIX):
                return read_sparse(file, check)
        is_text = source.path.suffix.lower() not in (".npy", ".npz")
        refuse_other_formats(source, file, _MATRIX, empty=not is_text)
        if not is_text:
            msg = f"{source} is not in NumPy's {source.path.suffix} format; expected {_MATRIX}"
            raise CommandError(msg)
        with reading(source, EXPECTED_LINE):
            return read_pairs(file, shape, graded=graded)


def read_table(source: Source) -> Any:
    """Read side information: a sparse ``.npz`` or a dense ``.npy`` of any shape."""
    with opened(source, _TABLE) as file:
        first = start(file)
        if first.startswith(NPY_MAGIC):
            return _map(source, file, _TABLE)
        if first.startswith(NPZ_MAGIC):
            with reading(source, _TABLE):
                return read_sparse(file, lambda _: None)
        refuse_other_formats(source, file, _TABLE)
        msg = f"{source} is not in NumPy's .npy or .npz format; expected {_TABLE}"
        raise CommandError(msg)


def read_groups(source: Source) -> Groups:
    """Read the group of each user."""
    with opened(source, _GROUPS) as file:
        if start(file).startswith(NPY_MAGIC):
            found = os.fstat(file.fileno())
            refuse_devices(source, found.st_mode, _GROUPS)
            with reading(source, _GROUPS):
                return _groups.read_npy(file, found.st_size)
        refuse_other_formats(source, file, _GROUPS)
        is_csv = source.path.suffix.lower() == ".csv"
        with reading(source, _GROUPS):
            return _groups.read_csv(file) if is_csv else _groups.read_text(file)


def _map(source: Source, file: BufferedReader, expected: str) -> Array:
    refuse_devices(source, os.fstat(file.fileno()).st_mode, expected)
    found = state(file)
    with reading(source, expected):
        array = map_array(file, os.fstat(file.fileno()).st_size)
    mapped[source] = found
    return array
