"""Open the files of the command line, and detect those that change while they are read."""

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
    """A file of the command line and its argument; ``str`` names both."""

    label: str
    path: Path

    def __str__(self) -> str:
        return f"{self.label} {str(self.path)!r}"


class _State(NamedTuple):
    """The properties of a file that change when it is written."""

    device: int
    number: int
    n_bytes: int
    written: int


mapped: dict[Source, _State | None] = {}
"""The files that are read while the metrics are computed, with their state when mapped."""


@contextmanager
def opened(source: Source, expected: str, *, regular: bool = False) -> Iterator[BufferedReader]:
    """Open a file that must not change meanwhile; ``regular`` refuses pipes and devices."""
    try:
        # Before opening, which would wait for ever on a pipe without a writer.
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
            # The error may come from a mix of two versions of the file.
            if state(file) != before:
                raise _changed(source) from error
            raise
        if state(file) != before:
            raise _changed(source)


def refuse_devices(source: Source, mode: int, expected: str) -> None:
    """Refuse files that have no end or cannot be read twice."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a folder has an error of its own
        msg = f"{source} is not a regular file and cannot be mapped; expected {expected}"
        raise CommandError(msg)


def state(file: BufferedReader) -> _State | None:
    """The state of a file, which shows changes; None for pipes and devices."""
    return _state(os.fstat(file.fileno()))


@contextmanager
def unchanged() -> Iterator[None]:
    """Refuse results and errors of a mapped file that changed meanwhile."""
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
    """Find the first file that changed after it was mapped."""
    for source, before in mapped.items():
        try:
            now = _state(source.path.stat())
        except OSError:
            continue  # removed, which leaves the mapped data as they were
        # So does another file in its place.
        if now and before and now[:2] == before[:2] and now != before:
            return source
    return None


def _state(found: os.stat_result) -> _State | None:
    if not stat.S_ISREG(found.st_mode):
        return None
    return _State(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _changed(source: Source) -> CommandError:
    return CommandError(f"{source} changed while it was read; wait until it is written, try again")
