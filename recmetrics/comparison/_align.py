"""Data frames of per-list metrics: pandas, polars, pyarrow and others that narwhals reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recmetrics._errors import ArgumentError, InputError, InputTypeError
from recmetrics._extras import install

INSTALL = install("tables")
_COUNTS = ("nrecs", "ntruth")  # of a list, in the output of recmetrics.tables


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of one row per list: its float columns are metrics, the others name the list."""

    rows: Any  # a narwhals.DataFrame
    metrics: list[str]
    keys: list[str]


@dataclass(frozen=True, slots=True)
class Given:
    """The name of a result in messages: its model and, if there are several, its run."""

    model: str
    run: int | None = None  # from 1; None where there is one result

    def __repr__(self) -> str:
        return repr(self.model) if self.run is None else f"run {self.run} of {self.model!r}"


def read_frame(native: Any) -> Frame | None:
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
    if hasattr(native, "reset_index") and _names_lists(native):
        native = native.reset_index()
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
    metrics = [name for name, dtype in rows.schema.items() if dtype.is_float()]
    keys = [name for name in rows.columns if name not in (*metrics, *_COUNTS)]
    return Frame(rows, metrics, keys)


def _names_lists(native: Any) -> bool:
    """Say whether a pandas index names the lists: by a name, or where no column does."""
    if any(name is not None for name in native.index.names):
        return True
    others = [name for name, dtype in native.dtypes.items() if dtype.kind != "f"]
    return set(others) <= set(_COUNTS) and list(native.index) != list(range(len(native)))


def align(results: dict[Given, Any]) -> dict[Given, dict[str, Any]]:
    """Return the columns of every result; rows of frames follow the order of the first frame."""
    frames = {name: each for name, each in results.items() if isinstance(each, Frame)}
    if not frames:
        return results
    frames |= _completed_folds(frames)
    first, reference = next(iter(frames.items()))
    columns = {}
    for name, result in results.items():
        columns[name] = result
        if name in frames:
            rows = _in_order_of(first, reference, name, frames[name])
            columns[name] = columns_of(replace(frames[name], rows=rows))
    return columns


def _completed_folds(frames: dict[Given, Frame]) -> dict[Given, Frame]:
    """If the runs of a model share no user, add the users of the other runs, undefined."""
    import narwhals as nw

    completed = {}
    for model in {name.model for name in frames}:
        folds = {name: each for name, each in frames.items() if name.model == model}
        keys = next(iter(folds.values())).keys
        if len(folds) < 2 or not keys or any(each.keys != keys for each in folds.values()):
            continue
        users = [_names(name, each) for name, each in folds.items()]
        if sum(map(len, users)) > len(set().union(*users)):
            continue
        for name, fold in folds.items():
            others = [each.rows.select(keys) for each in folds.values() if each is not fold]
            own = fold.rows.select([*keys, *fold.metrics])
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
    wanted, given = _names(first, reference), _names(model, frame)
    if list(wanted) == list(given):
        return frame.rows
    for having, lacking, names, others in (
        (first, model, wanted, given),
        (model, first, given, wanted),
    ):
        missing = next((name for name in names if name not in others), None)
        if missing is not None:
            what = ", ".join(f"{k} {v!r}" for k, v in zip(frame.keys, missing, strict=True))
            constant = _constant_keys(frame.keys, wanted, given)
            if constant:
                column = ", ".join(map(repr, constant))
                advice = f"the column {column} names the model: drop it from both frames"
            else:
                advice = (
                    "compare the same lists; evaluate_table gives every user of the truth a row, "
                    "unless include_missing=False leaves some out"
                )
            msg = f"{having!r} has a list of {what} and {lacking!r} has none; {advice}"
            raise InputError(msg)
    return frame.rows[[given[name] for name in wanted]]


def _constant_keys(keys: list[str], *names: dict[tuple[Any, ...], int]) -> list[str]:
    """The keys that are constant in each frame, with a different value in each."""
    constant = []
    for place, key in enumerate(keys):
        values = [{name[place] for name in each} for each in names]
        if all(len(each) == 1 for each in values) and values[0] != values[1]:
            constant.append(key)
    return constant if len(constant) < len(keys) else []


def _names(model: Given, frame: Frame) -> dict[tuple[Any, ...], int]:
    """The row of each list by its keys."""
    keys = [frame.rows[key].to_list() for key in frame.keys]
    places: dict[tuple[Any, ...], int] = {}
    for row, name in enumerate(zip(*keys, strict=True)):
        if places.setdefault(name, row) != row:
            what = ", ".join(f"{k} {v!r}" for k, v in zip(frame.keys, name, strict=True))
            msg = f"{model!r} has two lists of {what}, rows {places[name]} and {row}"
            raise InputError(msg)
    return places


def values_of(column: Any) -> Any:
    """The values of a column, NaN where it holds a null."""
    if not column.null_count():
        return column.to_numpy()
    return column.fill_null(np.nan).to_numpy().astype(np.float64)
