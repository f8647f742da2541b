"""The mapped files of the command line, and errors for files that change while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recmetrics._io import Source, State, changed, state_of

mapped: dict[Source, State | None] = {}
"""The files that are read while the metrics are computed, with their state when mapped."""


@contextmanager
def unchanged() -> Iterator[None]:
    """Refuse results and errors of a mapped file that changed in the meantime."""
    try:
        yield
    except Exception as error:
        source = first_changed()
        if source is not None:
            raise changed(source) from error
        raise
    source = first_changed()
    if source is not None:
        raise changed(source)


def first_changed() -> Source | None:
    """Find the first file that changed after it was mapped."""
    for source, before in mapped.items():
        try:
            now = state_of(source.path.stat())
        except OSError:
            continue  # removed, which leaves the mapped data as they were
        # So does another file in its place.
        if now and before and now[:2] == before[:2] and now != before:
            return source
    return None
