"""Open score, truth and item-set files: the format is told by the content, never unpickled."""

from __future__ import annotations

import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import fstat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recmetrics.cli._errors import CommandError, reason
from recmetrics.cli._per_user import PerUser, read_csv, read_npz
from recmetrics.cli._text import read_pairs

if TYPE_CHECKING:
    from io import BufferedReader

Array = npt.NDArray[Any]

_NPY = b"\x93NUMPY"
_ZIP = b"PK"
_SCORES = "an .npy file (numpy.save) of shape (n_users, n_items)"
_MATRIX = (
    "a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]'"
)

_PER_USER = "the .npz or .csv that 'recmetrics evaluate --per-user' writes"
_TABLE = "a sparse .npz (scipy.sparse.save_npz) or a dense .npy (numpy.save)"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the command line and what it was given as; its text names both."""

    label: str
    path: Path

    def __str__(self) -> str:
        return f"{self.label} {str(self.path)!r}"


def open_scores(source: Source) -> Array:
    """Map the scores into memory; only what is evaluated is ever read."""
    with open_file(source, _SCORES) as file:
        if not stat.S_ISREG(fstat(file.fileno()).st_mode):
            msg = f"{source} is not a regular file and cannot be mapped; expected {_SCORES}"
            raise CommandError(msg)
        if not file.peek(len(_NPY)).startswith(_NPY):
            msg = f"{source} is not in NumPy's .npy format; expected {_SCORES}"
            raise CommandError(msg)
    scores: Array = _read(source, _SCORES, lambda: _map(source.path))
    if scores.ndim != 2:
        msg = f"{source} has shape {scores.shape}; expected two dimensions, (n_users, n_items)"
        raise CommandError(msg)
    return scores


def read_matrix(source: Source, shape: tuple[int, int], *, graded: bool) -> Any:
    """Read relevance (``graded``) or a set of items per user (not), of the scores' shape."""
    with open_file(source, _MATRIX) as file:
        start = file.peek(len(_NPY))
        if start.startswith(_NPY):
            matrix = _read(source, _MATRIX, lambda: _map(source.path))
        elif start.startswith(_ZIP):
            matrix = _read(source, _MATRIX, lambda: _load_sparse(file))
        elif source.path.suffix.lower() in (".npy", ".npz"):
            msg = f"{source} is not in NumPy's {source.path.suffix} format; expected {_MATRIX}"
            raise CommandError(msg)
        else:
            return read_pairs(file, str(source), shape, graded=graded)
    if matrix.shape != shape:
        msg = f"{source} has shape {matrix.shape}; expected that of the scores, {shape}"
        raise CommandError(msg)
    return matrix


def read_table(source: Source) -> Any:
    """Read side information: a sparse ``.npz`` or a dense ``.npy`` of any shape."""
    with open_file(source, _TABLE) as file:
        start = file.peek(len(_NPY))
        if start.startswith(_NPY):
            return _read(source, _TABLE, lambda: _map(source.path))
        if start.startswith(_ZIP):
            return _read(source, _TABLE, lambda: _load_sparse(file))
    msg = f"{source} is not in NumPy's .npy or .npz format; expected {_TABLE}"
    raise CommandError(msg)


def read_per_user(source: Source) -> PerUser:
    """Read the values of every user, as ``evaluate --per-user`` writes them."""
    with open_file(source, _PER_USER) as file:
        if file.peek(len(_ZIP)).startswith(_ZIP):
            return PerUser(_read(source, _PER_USER, lambda: read_npz(file)))
        if source.path.suffix.lower() != ".csv":
            msg = f"{source} is not in NumPy's .npz format; expected {_PER_USER}"
            raise CommandError(msg)
        found: PerUser = _read(source, _PER_USER, lambda: read_csv(file))
        return found


def open_file(source: Source, expected: str) -> BufferedReader:
    """Open a file to read it."""
    try:
        return source.path.open("rb")
    except (OSError, ValueError) as error:
        msg = f"cannot open {source}: {reason(error)}; expected {expected}"
        raise CommandError(msg) from error


def _read(source: Source, expected: str, load: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged header warns before it fails
            return load()
    except MemoryError:
        raise
    except Exception as error:  # a damaged file makes the parsers raise nearly anything
        msg = f"cannot read {source}: {reason(error)}; expected {expected}"
        raise CommandError(msg) from error


def _map(path: Path) -> Array:
    array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _load_sparse(file: BufferedReader) -> Any:
    matrix = sparse.load_npz(file)
    if hasattr(matrix, "check_format"):
        # Loading trusts the indices; one outside the matrix would read foreign memory later.
        matrix.check_format(full_check=True)
    return matrix
