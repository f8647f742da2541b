"""Records -> a data frame of an installed library."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from recmetrics._errors import ArgumentError

_FRAMES = ("pandas", "polars", "pyarrow")


def frame_of(records: Sequence[dict[str, Any]], backend: str | None) -> Any:
    """Make a data frame of records, by default with the first package that is installed."""
    if backend is not None and backend not in _FRAMES:
        msg = f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}"
        raise ArgumentError(msg)
    wanted = _FRAMES if backend is None else (backend,)
    name = next((each for each in wanted if find_spec(each) is not None), None)
    if name is None:
        msg = f"to_frame needs the package {' or '.join(wanted)}; type: pip install {wanted[0]}"
        raise ArgumentError(msg)
    package = importlib.import_module(name)
    if len({type(each.get("group")) for each in records} - {type(None)}) > 1:
        # No column holds labels of several types.
        records = [{**each, "group": _as_text(each["group"])} for each in records]
    if name == "pyarrow":
        return package.Table.from_pylist(records)
    return package.DataFrame(records)


def _as_text(group: Any) -> str | None:
    return None if group is None else str(group)
