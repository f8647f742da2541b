"""Files with a row for each user: values of metrics, or the segment of the user."""

from __future__ import annotations

import csv
import math
import shlex
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError
from recmetrics._files.source import (
    NPY,
    ZIP,
    Source,
    at_line,
    read_array,
    read_number,
    reading,
    refuse_other_formats,
    separator_of,
    start,
)

_EXPECTED = "the .npz or .csv that 'recmetrics evaluate --per-user' writes"
_SEGMENTS = (
    "a label per user: an .npy (numpy.save), a .csv of user and group, or text, a label a line"
)
PerUser: TypeAlias = tuple[dict[str, npt.NDArray[Any]], list[str] | None]


def read_per_user(source: Source) -> PerUser:
    """Read the values of each metric, and the ids of the users where the file has them."""
    if start(source, _EXPECTED).startswith(ZIP):
        return _read_npz(source)
    if source.suffix != ".csv":
        msg = f"{source} is neither an .npz nor a .csv; expected {_EXPECTED}"
        raise InputError(msg)
    return _read_csv(source)


def _read_npz(source: Source) -> PerUser:
    """Read an array per metric, and maybe the ids of the users as "user", or of "group"."""
    with (
        reading(source, _EXPECTED),
        source.path.open("rb") as file,  # which np.load would leave open after an error
        np.load(file, allow_pickle=False) as archive,
    ):
        arrays = dict(archive)
    noun = "group" if "group" in arrays else "user"
    ids = arrays.pop(noun, None)
    fault = _fault(arrays, ids, noun)
    if fault:
        msg = f"cannot read {source}: {fault}; expected {_EXPECTED}"
        raise InputError(msg)
    if ids is None:
        return arrays, None
    return arrays, [str(user) for user in ids.tolist()]


def _fault(arrays: dict[str, npt.NDArray[Any]], ids: npt.NDArray[Any] | None, noun: str) -> str:
    """Say what is wrong with the ids or the values; "" where nothing is."""
    expected = "(n_users,)"
    if ids is not None:
        if ids.ndim != 1 or ids.dtype.kind not in "Uiu":
            return f"its {noun!r} has dtype {ids.dtype} and shape {ids.shape}; expected ids"
        if len(np.unique(ids)) < len(ids):
            return f"its {noun!r} names a {noun} twice; give every {noun} once"
        expected = f"({len(ids)},), as for {noun!r}"
    if not arrays:
        return "it holds no metric"
    for metric, values in arrays.items():
        if values.dtype.kind not in "fiub":
            return f"metric {metric[:40]!r} is of {values.dtype}; expected real numbers"
        if values.ndim > 1 or (ids is not None and values.shape != ids.shape):
            return f"metric {metric[:40]!r} has shape {values.shape}; expected {expected}"
    return ""


def _read_by_id(
    source: Source, expected: str, header: str, advice: str = "", most: int | None = None
) -> tuple[list[str], dict[str, tuple[int, list[str]]]]:
    """Read a ``.csv`` of ids and other columns: its header, and the line and cells of each id.

    ``header`` says in an error what the first line should be; it has ``most`` names at most.
    ``advice`` says there, and where an id stands twice, what to do with a file of another kind.
    """
    refuse_other_formats(source, start(source, expected, of_text=True), expected)
    lines: dict[str, tuple[int, list[str]]] = {}
    with reading(source, expected), source.open_text() as file:
        separator = separator_of(source, file.readline())
        file.seek(0)
        rows = csv.reader(file, strict=True, delimiter=separator)
        filled = filter(None, rows)  # without empty lines
        names = next(filled, [])
        is_keyed = names[:1] in (["user"], ["group"]) and 1 < len(names) <= (most or len(names))
        if not is_keyed or len(set(names)) < len(names):
            text = f"the header is {','.join(names)[:60]!r}; expected {header}{advice}"
            raise at_line(source, max(1, rows.line_num), text)
        for key, *cells in filled:
            line = rows.line_num
            if len(cells) != len(names) - 1:
                text = f"{len(cells) + 1} fields; expected {len(names)}, as in the header"
                raise at_line(source, line, text)
            if key in lines:
                text = f"{names[0]} {key[:40]!r} is already on line {lines[key][0]}"
                raise at_line(source, line, f"{text}; expected every {names[0]} once{advice}")
            lines[key] = line, cells
    return names, lines


def _read_csv(source: Source) -> PerUser:
    """Read a header ``user,METRIC,...`` or ``group,METRIC,...`` and a line for each."""
    header = "'user' or 'group', then metrics of different names"
    advice = (
        "; recommendations and groups are evaluated first: recmetrics evaluate "
        f"{shlex.quote(str(source.path))} TRUTH --per-user VALUES.csv, for groups without TRUTH"
    )
    (_, *metrics), rows = _read_by_id(source, _EXPECTED, header, advice)
    if "item" in metrics:
        raise at_line(source, 1, f"the header has 'item'; expected {header}{advice}")
    values = np.empty((len(metrics), len(rows)))
    for user, (line, cells) in enumerate(rows.values()):
        for metric, cell in enumerate(cells):
            try:
                values[metric, user] = read_number(cell) if cell else math.nan  # undefined
            except ValueError:
                text = f"cannot read {cell[:40]!r} as {metrics[metric]}; expected a number"
                raise at_line(source, line, text) from None
    return dict(zip(metrics, values, strict=True)), list(rows)


def read_segments(source: Source) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Read the label of each user, and the ids of the users where the file has them."""
    first_bytes = start(source, _SEGMENTS, of_text=True)
    if first_bytes.startswith(NPY):
        labels = np.array(read_array(source, _SEGMENTS))
        if labels.ndim != 1 or labels.dtype.kind not in "Uiubf":
            msg = (
                f"{source} has dtype {labels.dtype} and shape {labels.shape}; expected {_SEGMENTS}"
            )
            raise InputError(msg)
        with reading(source, _SEGMENTS):
            labels.tolist()  # text that is no Unicode is read here
        return labels, None
    refuse_other_formats(source, first_bytes, _SEGMENTS)
    ids = None
    if source.suffix == ".csv":
        _, rows = _read_by_id(source, _SEGMENTS, "'user' and a name for the groups", most=2)
        ids = list(rows)
        lines = [(line, cells[0]) for line, cells in rows.values()]
    else:
        with reading(source, _SEGMENTS), source.open_text() as file:
            lines = list(enumerate(file, start=1))
    texts = [text.strip() for _, text in lines]
    if "" in texts:
        line, _ = lines[texts.index("")]
        raise at_line(source, line, "no group; expected a label for every user")
    return np.array(texts, np.str_), ids
