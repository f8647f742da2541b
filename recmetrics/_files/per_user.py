"""Files with a row for each user: values of metrics, or the segment of the user."""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError
from recmetrics._core.spec import COUNT_COLUMNS
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

_PER_USER_FORMATS = "the .npz or .csv that 'recmetrics evaluate --per-user' writes"
_SEGMENT_FORMATS = (
    "a label per user: an .npy (numpy.save), a .csv or .tsv of user and group, or text, a "
    "label a line"
)
_WEIGHT = "[weight]"  # no metric string has a bracket


class PerUser(NamedTuple):
    """The values of each user, in a file."""

    values: dict[str, npt.NDArray[Any]]  # of each metric, and the weights of some
    ids: list[str] | None  # of the users
    noun: str  # "user", or "group" of those of a table of groups


def weight_name(metric: str) -> str:
    """Name the weights of users in the mean of a metric, in a file or table of its values."""
    return metric + _WEIGHT


def weight_names(names: Iterable[Any]) -> dict[str, str]:
    """Find the names of weights among those of values, by the metric that each belongs to."""
    return {
        name.removesuffix(_WEIGHT): name
        for name in names
        if isinstance(name, str) and name.endswith(_WEIGHT)
    }


def read_per_user(source: Source) -> PerUser:
    """Read the values and weights of each metric, and the ids of the users."""
    if start(source, _PER_USER_FORMATS).startswith(ZIP):
        return _read_npz(source)
    if source.suffix != ".csv":
        msg = f"{source} is neither an .npz nor a .csv; expected {_PER_USER_FORMATS}"
        if source.suffix == ".parquet":  # as evaluate_table writes
            new_path = str(source.path.with_suffix(".csv"))
            msg += (
                "; for values of one model, in Python, type "
                f"polars.read_parquet({str(source.path)!r}).write_csv({new_path!r}) and give "
                "that file"
            )
        raise InputError(msg)
    return _read_csv(source)


def _read_npz(source: Source) -> PerUser:
    """Read an array per metric, and maybe the ids of the users as "user", or of "group"."""
    with (
        reading(source, _PER_USER_FORMATS),
        source.path.open("rb") as file,  # which np.load would leave open after an error
        np.load(file, allow_pickle=False) as archive,
    ):
        arrays = dict(archive)
    noun = "group" if "group" in arrays else "user"
    ids = arrays.pop(noun, None)
    fault = _fault_of(arrays, ids, noun)
    if fault:
        msg = f"cannot read {source}: {fault}; expected {_PER_USER_FORMATS}"
        raise InputError(msg)
    if ids is not None:
        ids = [str(user) for user in ids.tolist()]
    return PerUser(arrays, ids, noun)


def _fault_of(arrays: dict[str, npt.NDArray[Any]], ids: npt.NDArray[Any] | None, noun: str) -> str:
    """Say what is wrong with the ids or the values; "" where nothing is."""
    expected_shape = "(n_users,)"
    if ids is not None:
        if ids.ndim != 1 or ids.dtype.kind not in "Uiu":
            return f"its {noun!r} has dtype {ids.dtype} and shape {ids.shape}; expected ids"
        if len(np.unique(ids)) < len(ids):
            return f"its {noun!r} names a {noun} twice; give every {noun} once"
        expected_shape = f"({len(ids)},), as for {noun!r}"
    if not arrays:
        return "it holds no metric"
    for metric, values in arrays.items():
        if values.dtype.kind not in "fiub":
            return f"metric {metric[:40]!r} is of {values.dtype}; expected real numbers"
        # A metric of all lists has one value, of the shape ().
        if values.ndim > 1 or (ids is not None and values.ndim and len(values) != len(ids)):
            return f"metric {metric[:40]!r} has shape {values.shape}; expected {expected_shape}"
    return ""


def _read_by_id(
    source: Source, expected: str, header: str, advice: str = "", max_names: int | None = None
) -> tuple[list[str], dict[str, tuple[int, tuple[str, ...]]]]:
    """Read a ``.csv`` of ids and other columns: its header, and the line and cells of each id.

    ``header`` says in an error what the first line should be; it has ``max_names`` names at most.
    ``advice`` says there, and where an id stands twice, what to do with a file of another kind.
    """
    refuse_other_formats(source, start(source, expected, of_text=True), expected)
    rows_by_id: dict[str, tuple[int, tuple[str, ...]]] = {}
    with reading(source, expected), source.open_text() as file:
        separator = separator_of(source, file.readline())
        file.seek(0)
        rows = csv.reader(file, strict=True, delimiter=separator)
        filled_rows = filter(None, rows)  # without empty lines
        names = next(filled_rows, [])
        has_ids = names[:1] in (["user"], ["group"]) and 1 < len(names) <= (max_names or len(names))
        if not has_ids or len(set(names)) < len(names):
            fault = f"the header is {','.join(names)[:60]!r}; expected {header}{advice}"
            raise at_line(source, max(1, rows.line_num), fault)
        for row_id, *cells in filled_rows:
            line_number = rows.line_num
            if len(cells) != len(names) - 1:
                fault = f"{len(cells) + 1} fields; expected {len(names)}, as in the header"
                raise at_line(source, line_number, fault)
            if row_id in rows_by_id:
                fault = f"{names[0]} {row_id[:40]!r} is already on line {rows_by_id[row_id][0]}"
                raise at_line(
                    source, line_number, f"{fault}; expected every {names[0]} once{advice}"
                )
            # Python's search for garbage leaves tuples out; with lists it took a third of the time.
            rows_by_id[row_id] = line_number, tuple(cells)
    return names, rows_by_id


def _read_csv(source: Source) -> PerUser:
    """Read a header ``user,METRIC,...`` or ``group,METRIC,...`` and a line for each."""
    header = "'user' or 'group', then metrics of different names"
    advice = (
        "; evaluate recommendations first: recmetrics evaluate "
        f"{shlex.quote(str(source.path))} TRUTH --per-user VALUES.csv, and a table of groups the "
        "same way, without TRUTH"
    )
    (noun, *metrics), rows = _read_by_id(source, _PER_USER_FORMATS, header, advice)
    if "item" in metrics:
        raise at_line(source, 1, f"the header has 'item'; expected {header}{advice}")
    if set(metrics) <= set(COUNT_COLUMNS):
        raise at_line(source, 1, f"the header has no metric; expected {header}{advice}")

    values = np.empty((len(metrics), len(rows)))
    for user, (line_number, cells) in enumerate(rows.values()):
        for metric, cell in enumerate(cells):
            try:
                values[metric, user] = read_number(cell) if cell else math.nan  # undefined
            except ValueError:
                fault = f"cannot read {cell[:40]!r} as {metrics[metric]}; expected a number"
                raise at_line(source, line_number, fault) from None
    values_by_metric = dict(zip(metrics, values, strict=True))
    for name in COUNT_COLUMNS:
        values_by_metric.pop(name, None)
    return PerUser(values_by_metric, list(rows), noun)


def read_segments(source: Source) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Read the label of each user, such as a segment, and the ids of the users.

    The ids are None where the file has none: labels are then in the order of the users.
    """
    first_bytes = start(source, _SEGMENT_FORMATS, of_text=True)
    if first_bytes.startswith(NPY):
        labels = np.array(read_array(source, _SEGMENT_FORMATS))
        if labels.ndim != 1 or labels.dtype.kind not in "Uiubf":
            msg = (
                f"{source} has dtype {labels.dtype} and shape {labels.shape}; expected "
                f"{_SEGMENT_FORMATS}"
            )
            raise InputError(msg)
        with reading(source, _SEGMENT_FORMATS):
            labels.tolist()  # text that is no Unicode is read here
        return labels, None

    refuse_other_formats(source, first_bytes, _SEGMENT_FORMATS)
    ids = None
    if source.suffix in (".csv", ".tsv"):
        _, rows = _read_by_id(
            source, _SEGMENT_FORMATS, "'user' and a name for the groups", max_names=2
        )
        ids = list(rows)
        numbered_labels = [(line_number, cells[0]) for line_number, cells in rows.values()]
    else:
        with reading(source, _SEGMENT_FORMATS), source.open_text() as file:
            numbered_labels = list(enumerate(file, start=1))
        words_of_lines = [text.replace(",", " ").split() for _, text in numbered_labels]
        first_words = {words[0] for words in words_of_lines if len(words) == 2}
        if len(first_words) == len(words_of_lines) > 1:  # no label would have two users
            user, label = words_of_lines[1]  # a header may be before it
            fault = (
                f"user {user[:40]!r} and label {label[:40]!r}; expected labels alone, one a line, "
                "in the order of the users; write users and labels into a .csv whose header is "
                f"user,group and whose lines are such as {user[:40]},{label[:40]}"
            )
            raise at_line(source, 2, fault)

    label_texts = [text.strip() for _, text in numbered_labels]
    if "" in label_texts:
        line_number, _ = numbered_labels[label_texts.index("")]
        raise at_line(source, line_number, "no group; expected a label for every user")
    return np.array(label_texts, np.str_), ids
