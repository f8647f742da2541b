"""Files that a user names: opened, told apart by their first bytes, and read or refused."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recmetrics._errors import InputError, RecmetricsError
from recmetrics._io.lines import LineError
from recmetrics._io.npy import NPY_MAGIC

if TYPE_CHECKING:
    from io import BufferedReader

_OTHER_FORMATS = {
    NPY_MAGIC: "an .npy array",
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


@dataclass(frozen=True, slots=True)
class Source:
    """A file and the argument that names it; ``str`` gives both."""

    label: str
    path: Path

    def __str__(self) -> str:
        return f"{self.label} {str(self.path)!r}"


class State(NamedTuple):
    """The properties of a file that show whether it was written."""

    device: int
    number: int
    n_bytes: int
    written: int


@contextmanager
def opened(source: Source, expected: str, *, regular: bool = False) -> Iterator[BufferedReader]:
    """Open a file that must not change meanwhile; ``regular`` refuses pipes and devices."""
    try:
        # Before opening, which would wait for ever on a pipe without a writer.
        if regular:
            refuse_devices(source, source.path.stat().st_mode, expected)
        file = source.path.open("rb")
    except RecmetricsError:
        raise
    except (OSError, ValueError) as error:
        msg = f"cannot open {source}: {reason(error)}; expected {expected}"
        raise InputError(msg) from error
    with file:
        before = state(file)
        try:
            yield file
        except RecmetricsError as error:
            # The error may come from a mix of two versions of the file.
            if state(file) != before:
                raise changed(source) from error
            raise
        if state(file) != before:
            raise changed(source)


def refuse_devices(source: Source, mode: int, expected: str) -> None:
    """Refuse files that have no end or cannot be read twice."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a folder has an error of its own
        msg = f"{source} is not a regular file and cannot be mapped; expected {expected}"
        raise InputError(msg)


def refuse_other_formats(
    source: Source, file: BufferedReader, expected: str, *, empty: bool = True
) -> None:
    """Refuse a file whose first bytes show another format, and name that format."""
    first = start(file)
    found = "empty" if empty and not first else None
    for magic, name in _OTHER_FORMATS.items():
        if first.startswith(magic):
            found = name
    if found is not None:
        msg = f"{source} is {found}; expected {expected}"
        raise InputError(msg)


@contextmanager
def reading(source: Source, expected: str) -> Iterator[None]:
    """Turn any error of a parser of a damaged file into one line that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged header warns before it fails
            yield
    except RecmetricsError:
        raise
    except LineError as error:
        msg = f"{source}, line {error.line}: {error}"
        raise InputError(msg) from error
    except MemoryError as error:
        msg = f"cannot read {source}: not enough memory"
        raise InputError(msg) from error
    except Exception as error:
        msg = f"cannot read {source}: {reason(error)}; expected {expected}"
        raise InputError(msg) from error


def start(file: BufferedReader) -> bytes:
    """The first bytes of a file, which stay unread."""
    return file.peek(8)[:8]


def state(file: BufferedReader) -> State | None:
    """The state of a file, which shows changes; None for pipes and devices."""
    return state_of(os.fstat(file.fileno()))


def state_of(found: os.stat_result) -> State | None:
    """The state of a file by its entry in the folder."""
    if not stat.S_ISREG(found.st_mode):
        return None
    return State(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def changed(source: Source) -> InputError:
    """The error of a file that was written while it was read."""
    return InputError(
        f"{source} changed while it was read; wait until it is completely written, then try again"
    )


def reason(error: BaseException) -> str:
    """Say in a few words why ``error`` was raised, without file names or a final dot."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__
