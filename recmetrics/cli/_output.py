"""Write result files completely or not at all."""

from __future__ import annotations

import csv
import math
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib.format import write_array

from recmetrics.cli._failures import CommandError, reason
from recmetrics.cli._signals import unfinished

_ROWS_AT_A_TIME = 10_000


def check_output(
    option: str, path: Path, suffixes: Sequence[str], inputs: Sequence[Path] = ()
) -> None:
    """Refuse an output that cannot be written, before the work is done."""
    given = f"{option} {str(path)!r}"
    if path.suffix.lower() not in suffixes:
        msg = f"{given}: expected a file name that ends in {' or '.join(suffixes)}"
        raise CommandError(msg)
    try:
        _check_target(given, path, inputs)
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL
        msg = f"{given} cannot be written: {reason(error)}; choose another name"
        raise CommandError(msg) from error


def _check_target(given: str, path: Path, inputs: Sequence[Path]) -> None:
    target = _target(path)
    folder = target.parent if path.is_symlink() else path.parent
    if target.is_dir():
        msg = f"{given} is a folder; expected the name of a file"
    elif target.is_symlink():  # followed as far as it goes
        msg = f"{given} is a symbolic link to itself; remove it"
    elif not folder.is_dir():
        msg = f"{given}: the folder {str(folder)!r} does not exist; create it first"
    elif not os.access(folder, os.W_OK):  # pragma: no cover - not for root; another user tests it
        msg = f"{given}: the folder {str(folder)!r} cannot be written; choose another"
    elif not _is_there(target):
        return
    elif any(_is_same(target, other) for other in inputs):
        msg = f"{given} is also an input; choose another name"
    elif not target.is_file():
        msg = f"{given} is not a regular file, and would be replaced by one; choose another name"
    elif not os.access(target, os.W_OK):  # pragma: no cover - as above
        msg = f"{given} exists and may not be written; choose another name"
    else:
        return
    raise CommandError(msg)


def _is_there(path: Path) -> bool:
    with suppress(FileNotFoundError):
        path.lstat()
        return True
    return False


def _is_same(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):  # an input that cannot be opened has its own error
        return path.samefile(other)
    return False


def _target(path: Path) -> Path:
    """The target of a link, which is replaced while the link stays."""
    return Path(os.path.realpath(path))


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once it is complete and on the disk.

    It is written in the same folder under another name, and removed after a failure.
    """
    target = _target(path)
    temporary = target.with_name(f".recmetrics-{secrets.token_hex(8)}.tmp")
    unfinished.add(temporary)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # keeps the permissions of the older file
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            msg = f"cannot write {str(path)!r}: {reason(error)}; choose another file"
            raise CommandError(msg) from error
        raise
    finally:
        unfinished.discard(temporary)


def write_per_user(
    path: Path,
    values: Mapping[str, npt.NDArray[np.float64]],
    users: Sequence[str] | None = None,
    noun: str = "user",
) -> None:
    """Write one column per user metric, as ``.csv`` or ``.npz`` by the name of the file.

    The rows are users 0, 1, ..., or have the ids ``users``; an ``.npz`` then holds these as "user",
    or under another ``noun``. Metrics of all lists are left out.
    """
    columns = {metric: value for metric, value in values.items() if value.ndim == 1}
    with atomic(path) as file:
        if path.suffix.lower() == ".npz":
            ids = {} if users is None else {noun: np.array(users, np.str_)}
            _write_npz(file, ids | columns)
        else:
            _write_csv(file, columns, users, noun)


def _write_npz(file: BinaryIO, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write as ``numpy.savez`` does, which in NumPy 1 leaves an archive open on a full disk."""
    with ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array(member, array, allow_pickle=False)


def _write_csv(
    file: BinaryIO,
    columns: Mapping[str, npt.NDArray[np.float64]],
    users: Sequence[str] | None,
    noun: str,
) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([noun, *columns])
        n_users = max((column.size for column in columns.values()), default=0)
        for start in range(0, n_users, _ROWS_AT_A_TIME):
            stop = min(start + _ROWS_AT_A_TIME, n_users)
            block = [_cells(column[start:stop]) for column in columns.values()]
            ids = range(start, stop) if users is None else users[start:stop]
            writer.writerows(zip(ids, *block, strict=True))
    finally:
        text.detach()  # flushes; the caller closes the file


def _cells(values: npt.NDArray[np.float64]) -> list[float | str]:
    """Write every digit; an undefined value is an empty cell."""
    return ["" if math.isnan(value) else value for value in values.tolist()]
