"""Open the files of the command line, and notice those that change while they are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recmetrics.cli._failures import CommandError, reason

if TYPE_CHECKING:
    from io import BufferedReader


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the command line and what it was given as; its text names both."""

    label: str
    path: Path

    def __str__(self) -> str:
        return f"{self.label} {str(self.path)!r}"


class _State(NamedTuple):
    """What is no longer the same once somebody wrote to a file."""

    device: int
    number: int
    n_bytes: int
    written: int


mapped: dict[Source, _State | None] = {}
"""The files that are read while the metrics are computed, each as it was when it was mapped."""


@contextmanager
def opened(source: Source, expected: str, *, regular: bool = False) -> Iterator[BufferedReader]:
    """Open a file that nobody may write to meanwhile; ``regular`` refuses pipes and devices."""
    try:
        # Before it is opened: a pipe to which nobody writes would wait for ever.
        if regular:
            refuse_devices(source, source.path.stat().st_mode, expected)
        file = source.path.open("rb")
    except (OSError, ValueError) as error:
        msg = f"cannot open {source}: {reason(error)}; expected {expected}"
        raise CommandError(msg) from error
    with file:
        before = state(file)
        try:
            yield file
        except CommandError as error:
            # What was found wrong may come from two versions of the file.
            if state(file) != before:
                raise _changed(source) from error
            raise
        if state(file) != before:
            raise _changed(source)


def refuse_devices(source: Source, mode: int, expected: str) -> None:
    """Refuse what has no end, or cannot be read twice."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a folder has an error of its own
        msg = f"{source} is not a regular file and cannot be mapped; expected {expected}"
        raise CommandError(msg)


def state(file: BufferedReader) -> _State | None:
    """What tells whether somebody writes to a file; None of pipes and devices."""
    return _state(os.fstat(file.fileno()))


@contextmanager
def unchanged() -> Iterator[None]:
    """Refuse what is computed, or found wrong, of a mapped file that is written to meanwhile."""
    try:
        yield
    except Exception as error:
        source = first_changed()
        if source is not None:
            raise _changed(source) from error
        raise
    source = first_changed()
    if source is not None:
        raise _changed(source)


def first_changed() -> Source | None:
    """The first file that is not as it was when it was mapped."""
    for source, before in mapped.items():
        try:
            now = _state(source.path.stat())
        except OSError:
            continue  # no longer there: what is mapped stays as it was
        # Another file in its place leaves the mapped one alone, too.
        if now and before and now[:2] == before[:2] and now != before:
            return source
    return None


def _state(found: os.stat_result) -> _State | None:
    if not stat.S_ISREG(found.st_mode):
        return None
    return _State(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _changed(source: Source) -> CommandError:
    return CommandError(f"{source} changed while it was read; wait until it is written, try again")
