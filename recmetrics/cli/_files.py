"""Read the files of the command line: by the format of the content, never unpickled."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from recmetrics.cli import _groups, _npy, _npz, _per_user
from recmetrics.cli._failures import CommandError, reason
from recmetrics.cli._groups import Groups
from recmetrics.cli._lines import LineError
from recmetrics.cli._named import Source, mapped, opened, refuse_devices, state
from recmetrics.cli._per_user import PerUser
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
_PER_USER = "the .npz or .csv that 'recmetrics evaluate --per-user' writes"
_GROUPS = (
    "a label per user: an .npy (numpy.save), a .csv of user and group, or text, a label a line"
)
_TABLE = "a sparse .npz (scipy.sparse.save_npz) or a dense .npy (numpy.save)"
_OTHER_FORMATS = {
    _npy.MAGIC: "an .npy array",
    b"PK\x03\x04": "an .npz or another zip archive",
    b"\x1f\x8b": "packed by gzip: unpack it first",
    b"BZh": "packed by bzip2: unpack it first",
    b"\xfd7zXZ": "packed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "packed by zstd: unpack it first",
    b"\x80": "a Python pickle, which is never loaded",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet table",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}


def open_scores(source: Source) -> Any:
    """Map dense scores into memory, of which only the rows evaluated are read; read sparse ones."""
    with opened(source, _SCORES, regular=True) as file:
        start = _start(file)
        if start.startswith(_npz.MAGIC):
            with reading(source, _SCORES):
                return _npz.read_sparse(file, lambda _: None)
        if not start.startswith(_npy.MAGIC):
            refuse_other_formats(source, file, _SCORES)
            msg = f"{source} is not in NumPy's .npy or .npz format; expected {_SCORES}"
            raise CommandError(msg)
        scores = _map(source, file, _SCORES)
    if scores.ndim != 2:
        msg = f"{source} has shape {scores.shape}; expected two dimensions, (n_users, n_items)"
        raise CommandError(msg)
    return scores


def read_matrix(source: Source, shape: tuple[int, int], *, graded: bool) -> Any:
    """Read relevance (``graded``) or a set of items per user (not), of the scores' shape."""

    def check(found: tuple[int, ...]) -> None:
        # A truth may have one item index for each user.
        if found != shape and not (graded and found == shape[:1]):
            msg = f"{source} has shape {found}; expected that of the scores, {shape}"
            if found == shape[::-1]:
                msg += "; it looks transposed: its rows must be the users"
            raise CommandError(msg)

    with opened(source, _MATRIX) as file:
        start = _start(file)
        if start.startswith(_npy.MAGIC):
            matrix = _map(source, file, _MATRIX)
            check(matrix.shape)
            return matrix
        if start.startswith(_npz.MAGIC):
            with reading(source, _MATRIX):
                return _npz.read_sparse(file, check)
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
        start = _start(file)
        if start.startswith(_npy.MAGIC):
            return _map(source, file, _TABLE)
        if start.startswith(_npz.MAGIC):
            with reading(source, _TABLE):
                return _npz.read_sparse(file, lambda _: None)
        refuse_other_formats(source, file, _TABLE)
        msg = f"{source} is not in NumPy's .npy or .npz format; expected {_TABLE}"
        raise CommandError(msg)


def read_per_user(source: Source) -> PerUser:
    """Read the values of every user, as ``evaluate --per-user`` writes them."""
    with opened(source, _PER_USER) as file:
        start = _start(file)
        if start.startswith(_npz.MAGIC):
            with reading(source, _PER_USER):
                return _per_user.read_npz(file)
        refuse_other_formats(source, file, _PER_USER)
        if source.path.suffix.lower() != ".csv":
            msg = f"{source} is not in NumPy's .npz format; expected {_PER_USER}"
            raise CommandError(msg)
        with reading(source, _PER_USER):
            return _per_user.read_csv(file)


def read_groups(source: Source) -> Groups:
    """Read the group of each user."""
    with opened(source, _GROUPS) as file:
        if _start(file).startswith(_npy.MAGIC):
            found = os.fstat(file.fileno())
            refuse_devices(source, found.st_mode, _GROUPS)
            with reading(source, _GROUPS):
                return _groups.read_npy(file, found.st_size)
        refuse_other_formats(source, file, _GROUPS)
        is_csv = source.path.suffix.lower() == ".csv"
        with reading(source, _GROUPS):
            return _groups.read_csv(file) if is_csv else _groups.read_text(file)


def refuse_other_formats(
    source: Source, file: BufferedReader, expected: str, *, empty: bool = True
) -> None:
    """Refuse a file whose first bytes show another format, and name that format."""
    start = _start(file)
    found = "empty" if empty and not start else None
    for magic, name in _OTHER_FORMATS.items():
        if start.startswith(magic):
            found = name
    if found is not None:
        msg = f"{source} is {found}; expected {expected}"
        raise CommandError(msg)


@contextmanager
def reading(source: Source, expected: str) -> Iterator[None]:
    """Turn any error of a parser of a damaged file into one line that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged header warns before it fails
            yield
    except CommandError:
        raise
    except LineError as error:
        msg = f"{source}, line {error.line}: {error}"
        raise CommandError(msg) from error
    except MemoryError as error:
        msg = f"cannot read {source}: not enough memory"
        raise CommandError(msg) from error
    except Exception as error:
        msg = f"cannot read {source}: {reason(error)}; expected {expected}"
        raise CommandError(msg) from error


def _map(source: Source, file: BufferedReader, expected: str) -> Array:
    refuse_devices(source, os.fstat(file.fileno()).st_mode, expected)
    found = state(file)
    with reading(source, expected):
        array = _npy.map_array(file, os.fstat(file.fileno()).st_size)
    mapped[source] = found
    return array


def _start(file: BufferedReader) -> bytes:
    return file.peek(8)[:8]
