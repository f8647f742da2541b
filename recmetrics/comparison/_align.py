"""Data frames of per-list metrics: pandas, polars, pyarrow and others that narwhals reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recmetrics._errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    MetricSpecError,
    did_you_mean,
)
from recmetrics._extras import install
from recmetrics._spec import spec_of

INSTALL = install("tables")
_COUNTS = ("nrecs", "ntruth")  # of a list, in the output of recmetrics.tables


class Columns(NamedTuple):
    """The columns of results that a caller names."""

    metrics: tuple[str, ...] | None = None  # None: those whose names are metric strings
    model: str | None = None  # None: "model", if there is such a column
    others: tuple[str, ...] = ()  # of groups and weights


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of one row per list: some columns are metrics, others name the list."""

    rows: Any  # a narwhals.DataFrame
    metrics: list[str]
    keys: list[str]
    others: list[str]  # the groups and weights of the lists
    model: str | None  # the column that names the models


@dataclass(frozen=True, slots=True)
class Given:
    """The name of a result in messages: its model and, if there are several, its run."""

    model: str
    run: int | None = None  # from 1; None where there is one result

    def __repr__(self) -> str:
        return repr(self.model) if self.run is None else f"run {self.run} of {self.model!r}"


def read_frame(what: str, native: Any, asked: Columns) -> Frame | None:
    """Read a data frame; None for any other object.

    The index of a pandas frame also names the lists, unless it is 0, 1, 2, ...
    """
    if not hasattr(type(native), "columns"):
        return None
    try:
        import narwhals as nw
    except ImportError as error:
        msg = f"results in data frames need the package narwhals; type: {INSTALL}"
        raise ArgumentError(msg) from error
    levels: set[Any] = set()
    if hasattr(native, "reset_index") and _names_lists(native):
        columns, native = set(native.columns), native.reset_index()
        levels = set(native.columns) - columns
    if hasattr(native, "collect"):
        msg = f"a {type(native).__name__} holds no values yet; type .collect()"
        raise InputTypeError(msg)
    names = list(native.column_names if hasattr(native, "column_names") else native.columns)
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1:
            fault = "twice" if isinstance(name, str) else f"of type {type(name).__name__}"
            msg = f"a data frame has the column {name!r} {fault}; expected different strings"
            raise InputError(msg)
    rows = nw.from_native(native, eager_only=True, pass_through=True)
    if not isinstance(rows, nw.DataFrame):
        return None
    others = [name for name in asked.others if name in names]
    free = {*names}.difference(others, asked.metrics or ())
    model = asked.model or ("model" if "model" in free else None)
    for name in (*(asked.metrics or ()), *([model] if model else [])):
        require(what, name, names)
    metrics = list(asked.metrics or ())
    if asked.metrics is None:
        known = {*levels, *others, *_COUNTS, model}
        left = {name: dtype for name, dtype in rows.schema.items() if name not in known}
        metrics = [name for name, each in left.items() if each.is_numeric() and _is_metric(name)]
        odd = [name for name, each in left.items() if each.is_float() and name not in metrics]
        if odd:
            msg = (
                f"{what} has the column {odd[0]!r} of floats, whose name is no metric string; type "
                f"metrics={metrics or ['a column']} to name all metrics, since other columns "
                f"identify the user, or model={odd[0]!r} if it names the model"
            )
            raise InputError(msg)
    keys = [name for name in names if name not in {*metrics, *others, *_COUNTS, model}]
    return Frame(rows, metrics, keys, others, model)


def require(what: str, name: str, known: Collection[str]) -> None:
    """Refuse a name of a metric or column that ``what`` does not have."""
    if name not in known:
        hint = did_you_mean(name, list(known)) or f"expected one of {list(known)}"
        msg = f"{what} has no {name!r}; {hint}"
        raise InputError(msg)


def _is_metric(name: str) -> bool:
    try:
        return bool(spec_of(name))
    except MetricSpecError:
        return False


def models_of(what: str, frame: Frame) -> dict[str, list[int]]:
    """The rows of each model that a column of the frame names, in order of appearance."""
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(frame.rows[frame.model].to_list()):
        if label is None or label != label:
            msg = f"{what} has no name of a model in row {row}, column {frame.model!r}"
            raise InputError(msg)
        rows.setdefault(str(label), []).append(row)
    return rows


def _names_lists(native: Any) -> bool:
    """Say whether a pandas index names the lists: by a name, or where no column does."""
    if any(name is not None for name in native.index.names):
        return True
    floats = [name for name, dtype in native.dtypes.items() if dtype.kind == "f"]
    others = {name for name in native.columns if name not in floats and not _is_metric(str(name))}
    return others <= set(_COUNTS) and list(native.index) != list(range(len(native)))


def align(results: dict[Given, Any]) -> dict[Given, Any]:
    """Put the rows of all frames into the order of the first frame; leave other results."""
    frames = {name: each for name, each in results.items() if isinstance(each, Frame)}
    if not frames:
        return results
    frames |= _completed_folds(frames)
    first, reference = next(iter(frames.items()))
    aligned = {}
    for name, frame in frames.items():
        if frame.model is not None and frame.rows[frame.model].n_unique() > 1:
            msg = (
                f"{name!r} has rows of several models, column {frame.model!r}; give compare one "
                "frame of all models, or the rows of one model each"
            )
            raise InputError(msg)
        rows = _in_order_of(first, reference, name, frame)
        for column in {*frame.others} & {*reference.others}:
            if rows[column].to_list() != reference.rows[column].to_list():
                msg = (
                    f"{name!r} has other values in the column {column!r} than {first!r}; expected "
                    "one value for each user"
                )
                raise InputError(msg)
        aligned[name] = replace(frame, rows=rows)
    return results | aligned


def _completed_folds(frames: dict[Given, Frame]) -> dict[Given, Frame]:
    """If the runs of a model share no user, add the users of the other runs, undefined."""
    import narwhals as nw

    completed = {}
    for model in {name.model for name in frames}:
        folds = {name: each for name, each in frames.items() if name.model == model}
        keys = next(iter(folds.values())).keys
        if len(folds) < 2 or not keys or any(each.keys != keys for each in folds.values()):
            continue
        users = [rows_by_key(repr(name), each) for name, each in folds.items()]
        if sum(map(len, users)) > len(set().union(*users)):
            continue
        for name, fold in folds.items():
            told = [*keys, *fold.others]
            others = [each.rows.select(told) for each in folds.values() if each is not fold]
            own = fold.rows.select([*told, *fold.metrics])
            completed[name] = replace(fold, rows=nw.concat([own, *others], how="diagonal"))
    return completed


def columns_of(frame: Frame) -> dict[str, Any]:
    """Give the values of each metric of a frame."""
    return {metric: values_of(frame.rows[metric]) for metric in frame.metrics}


def _in_order_of(first: Given, reference: Frame, model: Given, frame: Frame) -> Any:
    if frame.keys != reference.keys:
        msg = (
            f"the lists of {first!r} are identified by the columns {reference.keys} and those of "
            f"{model!r} by {frame.keys}; expected the same, and metrics in float columns"
        )
        raise InputError(msg)
    if not frame.keys:
        return frame.rows
    wanted, given = rows_by_key(repr(first), reference), rows_by_key(repr(model), frame)
    if list(wanted) == list(given):
        return frame.rows
    for having, lacking, names, others in (
        (first, model, wanted, given),
        (model, first, given, wanted),
    ):
        missing = next((name for name in names if name not in others), None)
        if missing is not None:
            what = ", ".join(f"{k} {v!r}" for k, v in zip(frame.keys, missing, strict=True))
            msg = (
                f"{having!r} has a list of {what} and {lacking!r} has none; compare the same "
                "lists; evaluate_table gives every user of the truth a row, unless "
                "include_missing=False leaves some out; if a column names the model, type "
                "model='its name'"
            )
            raise InputError(msg)
    return frame.rows[[given[name] for name in wanted]]


def rows_by_key(what: str, frame: Frame) -> dict[tuple[Any, ...], int]:
    """The row of each list by its keys, none of which may occur twice."""
    keys = [frame.rows[key].to_list() for key in frame.keys]
    places: dict[tuple[Any, ...], int] = {}
    for row, name in enumerate(zip(*keys, strict=True)):
        if places.setdefault(name, row) != row:
            keys_of = ", ".join(f"{k} {v!r}" for k, v in zip(frame.keys, name, strict=True))
            msg = (
                f"{what} has two lists of {keys_of}, rows {places[name]} and {row}; expected one: "
                "type model='its name' if a column names the model, drop columns that are no ids"
            )
            raise InputError(msg)
    return places


def values_of(column: Any) -> Any:
    """The values of a column, NaN where it holds a null."""
    import narwhals as nw

    if not column.null_count():
        return column.to_numpy()
    return column.cast(nw.Float64).fill_null(np.nan).to_numpy()
