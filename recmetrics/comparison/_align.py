"""Data frames of one row per list: which columns are metrics, and the order of their users."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain
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
from recmetrics._spec import MetricSpec, spec_of

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
    model: str | None  # the column that names the models


class Given(NamedTuple):
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
        msg = f"results in data frames need the package narwhals; type: {install('tables')}"
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
    metrics = list(asked.metrics or ())
    named = {*metrics, *asked.others}
    model = asked.model or ("model" if "model" in {*names} - named else None)
    of_model = () if model is None else (model,)
    for name in (*metrics, *of_model):
        require(what, name, names)
    named |= {*_COUNTS, *of_model}
    if asked.metrics is None:
        free = {name: dtype for name, dtype in rows.schema.items() if name not in {*levels, *named}}
        metrics = [
            name for name, dtype in free.items() if dtype.is_numeric() and spec_if_known(name)
        ]
        odd = next((n for n, dtype in free.items() if dtype.is_float() and n not in metrics), None)
        if odd is not None:
            msg = (
                f"{what} has the column {odd!r} of floats, whose name is no metric string; type "
                f"metrics={metrics or ['a column']} to name all metrics, since other columns "
                f"identify the user, or model={odd!r} if it names the model"
            )
            raise InputError(msg)
    return Frame(rows, metrics, [n for n in names if n not in {*metrics, *named}], model)


def require(what: str, name: str, known: Collection[str]) -> None:
    """Refuse a name of a metric or column that ``what`` does not have."""
    if name not in known:
        hint = did_you_mean(name, list(known)) or f"expected one of {list(known)}"
        msg = f"{what} has no {name!r}; {hint}"
        raise InputError(msg)


def spec_if_known(name: str) -> MetricSpec | None:
    """The metric of a key of results; None for one of another package."""
    try:
        return spec_of(name)
    except MetricSpecError:
        return None


def _names_lists(native: Any) -> bool:
    """Say whether a pandas index names the lists: by a name, or where no column does."""
    if any(name is not None for name in native.index.names):
        return True
    floats = [name for name, dtype in native.dtypes.items() if dtype.kind == "f"]
    others = {name for name in native.columns if name not in floats}
    others = {name for name in others if spec_if_known(str(name)) is None}
    return others <= set(_COUNTS) and list(native.index) != list(range(len(native)))


def models_of(what: str, frame: Frame) -> dict[str, list[int]]:
    """The rows of each model that a column of the frame names, in order of appearance."""
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(frame.rows[frame.model].to_list()):
        if label is None or label != label:
            msg = f"{what} has no name of a model in row {row}, column {frame.model!r}"
            raise InputError(msg)
        rows.setdefault(str(label), []).append(row)
    return rows


def require_users_once(what: str, frame: Frame) -> None:
    """Refuse rows of one model, or of none, that name the same user."""
    keys = [*frame.keys, *([] if frame.model is None else [frame.model])]
    if frame.keys and frame.rows.select(keys).is_duplicated().any():
        _rows_by_key(what, replace(frame, keys=keys))


def align(
    results: dict[Given, Any], others: Collection[str]
) -> tuple[dict[Given, Any], dict[str, list[Any]]]:
    """Put the users of all frames into one order; the values of ``others`` are in that order, too.

    Results in frames become dicts; other results stay. Runs of a model that share no user are
    folds: their values are undefined for the users of the other runs.
    """
    frames = {name: each for name, each in results.items() if isinstance(each, Frame)}
    rows: dict[Given, dict[Any, int]] = {}
    for name, frame in frames.items():
        if frame.model is not None and frame.rows[frame.model].n_unique() > 1:
            msg = (
                f"{name!r} has rows of several models, column {frame.model!r}; give compare one "
                "frame of all models, or the rows of one model each"
            )
            raise InputError(msg)
        rows[name] = _rows_by_key(repr(name), frame)
    aligned, labels = dict(results), {name: dict[Any, Any]() for name in others}
    users: Collection[Any] = ()
    for name, frame in frames.items():
        first, reference = next(iter(frames.items()))
        if frame.keys != reference.keys:
            msg = (
                f"the lists of {first!r} are identified by the columns {reference.keys} and those "
                f"of {name!r} by {frame.keys}; expected the same, and metrics in float columns"
            )
            raise InputError(msg)
        runs = [each for other, each in rows.items() if other.model == name.model]
        own: Collection[Any] = dict.fromkeys(chain(*runs))
        if sum(map(len, runs)) > len(own):  # no folds
            own = rows[name]
        users = users or own
        if frame.keys and name != first:
            _require_same_users(frame.keys, {first: users, name: own})
        places = np.array([rows[name].get(user, -1) for user in users], np.intp)
        aligned[name] = {}
        for metric, values in columns_of(frame).items():
            ordered = values[places] if frame.keys else values
            is_fold = frame.keys and (places < 0).any()
            aligned[name][metric] = np.where(places < 0, np.nan, ordered) if is_fold else ordered
        for column in others:
            require(repr(name), column, frame.rows.columns)
            for user, label in zip(rows[name], frame.rows[column].to_list(), strict=True):
                known = labels[column].setdefault(user, label)
                if known is not label and known != label:
                    msg = (
                        f"{name!r} has other values in the column {column!r} than {first!r}; "
                        "expected one value for each user"
                    )
                    raise InputError(msg)
    return aligned, {name: [each[user] for user in users] for name, each in labels.items() if each}


def _require_same_users(keys: list[str], users: dict[Given, Collection[Any]]) -> None:
    for having, lacking in (tuple(users), tuple(users)[::-1]):
        missing = next((user for user in users[having] if user not in users[lacking]), None)
        if missing is not None:
            msg = (
                f"{having!r} has a list of {_named(keys, missing)} and {lacking!r} has none; "
                "compare the same lists; evaluate_table gives every user of the truth a row, "
                "unless include_missing=False leaves some out; if a column names the model, type "
                "model='its name'"
            )
            raise InputError(msg)


def _rows_by_key(what: str, frame: Frame) -> dict[Any, int]:
    """The row of each list by its keys, none of which may occur twice; without keys by its row."""
    if not frame.keys:
        return {row: row for row in range(len(frame.rows))}
    places: dict[Any, int] = {}
    for row, user in enumerate(
        zip(*(frame.rows[key].to_list() for key in frame.keys), strict=True)
    ):
        if places.setdefault(user, row) != row:
            msg = (
                f"{what} has two lists of {_named(frame.keys, user)}, rows {places[user]} and "
                f"{row}; expected one: type model='its name' if a column names the model, drop "
                "columns that are no ids"
            )
            raise InputError(msg)
    return places


def _named(keys: list[str], user: tuple[Any, ...]) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in zip(keys, user, strict=True))


def columns_of(frame: Frame) -> dict[str, Any]:
    """Give the values of each metric of a frame, NaN where it holds a null."""
    import narwhals as nw

    columns = {metric: frame.rows[metric] for metric in frame.metrics}
    return {
        metric: column.cast(nw.Float64).fill_null(np.nan).to_numpy()
        if column.null_count()
        else column.to_numpy()
        for metric, column in columns.items()
    }
