"""Results in any form -> one array per metric and model, or an exact error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputError, InputTypeError, ShapeError
from recmetrics._io import Source, read_per_user
from recmetrics.comparison._align import (
    Columns,
    Frame,
    Given,
    align,
    columns_of,
    models_of,
    read_frame,
    require,
    require_users_once,
    spec_if_known,
)
from recmetrics.comparison._statistics import Floats, mean_over_runs

_MANY_GROUPS = 50
_RESULT = (
    "what Metrics.compute returns, an object whose .compute() returns that, {}a data frame with a "
    "float column per metric"
)
_ONE_RESULT = _RESULT.format("") + (
    ", or the path of a file that 'recmetrics evaluate --per-user' wrote"
)
_OF_SEVERAL = _RESULT.format("or ")


@dataclass(frozen=True, slots=True)
class Results:
    """The values of each run of each model: (n_runs, n_users), NaN where they are undefined.

    A metric of all lists has one value for each run, (n_runs, 1). A user's value is the mean over
    the runs in which it is defined.
    """

    models: tuple[str, ...]
    levels: tuple[str, ...]  # shown beside the models; they may lack metrics
    metrics: tuple[str, ...]
    system: frozenset[str]  # metrics with one value for all users together
    runs: dict[str, dict[str, Floats]]
    values: dict[str, dict[str, Floats]]  # (n_users,), over the runs
    n_users: int
    labels: dict[str, list[Any]]  # of the columns for groups and weights

    def having(self, metric: str) -> list[str]:
        """List the models, and the levels that have a metric."""
        return [*self.models, *(each for each in self.levels if metric in self.values[each])]

    def n_runs(self) -> dict[str, int]:
        """The number of runs of each model with several."""
        counts = {name: len(next(iter(runs.values()), ())) for name, runs in self.runs.items()}
        return {name: count for name, count in counts.items() if count > 1}


class Result(NamedTuple):
    """The values per metric, (n_users,) or (); the users in groups, their weights, the models."""

    values: dict[str, Floats]
    groups: dict[Any, npt.NDArray[np.intp]]
    weights: Floats | None
    has_missing: bool  # an Evaluator, some of whose users were never updated
    models: dict[str | None, npt.NDArray[np.intp]]  # the rows of each; None names the only one


def read_results(results: Any, levels: Any, asked: Columns) -> Results:
    """Check that models, and levels, were measured by the same metrics on the same users."""
    if not isinstance(results, Mapping) and (frame := read_frame("results", results, asked)):
        if frame.model is None:
            msg = f"results has no column 'model'; type model= and the one of {frame.keys} that is"
            raise InputError(msg)
        rows = models_of("results", frame)
        results = {name: replace(frame, rows=frame.rows[each]) for name, each in rows.items()}
    for what, each in (("results", results), ("levels", levels)):
        if not isinstance(each, Mapping):
            msg = (
                f"{what} must be a dict of name and result, got {type(each).__name__}; "
                "type {'first': a, 'second': b}, with a name for each"
            )
            raise InputTypeError(msg)
    if len(results) < 2:
        msg = f"expected the results of at least two models to compare, got {len(results)}"
        raise InputError(msg)
    for name in (*results, *levels):
        if not isinstance(name, str) or not name.strip():
            msg = f"names of models must be strings that are not blank, got {name!r}"
            raise InputError(msg)
        if name in results and name in levels:
            msg = f"{name!r} is the name of a model and of a level; expected different names"
            raise InputError(msg)
    given = {name: run for model, each in results.items() for name, run in _runs(model, each)}
    given |= {Given(level): each for level, each in levels.items()}
    read, labels = align(
        {name: _read(_result_of(name), each, _OF_SEVERAL, asked) for name, each in given.items()},
        asked.others,
    )
    values = {}
    for name, columns in read.items():
        chosen = _chosen(repr(name), columns, asked, may_lack=name.model in levels)
        values[name] = {metric: _finite(name, metric, each) for metric, each in chosen.items()}
    first = next(iter(values))
    _require_same_metrics(values, levels)
    if not values[first]:
        msg = f"{_result_of(first)} holds no metric; expected {_OF_SEVERAL}"
        raise InputError(msg)
    n_users = _n_users({repr(name): each for name, each in values.items()})
    runs: dict[str, dict[str, Floats]] = {}
    for model in (*results, *levels):
        every = [columns for name, columns in values.items() if name.model == model]
        runs[model] = {
            # One run is not copied.
            metric: np.atleast_2d(column)
            if len(every) == 1
            else np.stack([np.atleast_1d(each[metric]) for each in every])
            for metric, column in every[0].items()
        }
    return Results(
        models=tuple(results),
        levels=tuple(levels),
        metrics=tuple(values[first]),
        system=frozenset(metric for metric, each in values[first].items() if not each.ndim),
        runs=runs,
        values={
            model: {
                metric: each[0] if len(each) == 1 else mean_over_runs(each)
                for metric, each in of_metrics.items()
            }
            for model, of_metrics in runs.items()
        },
        n_users=n_users,
        labels=labels,
    )


def _runs(model: str, given: Any) -> list[tuple[Given, Any]]:
    """Name the runs of a model; a result alone is one run."""
    if not isinstance(given, list | tuple):
        return [(Given(model), given)]
    if not given:
        msg = (
            f"the result of {model!r} is an empty {type(given).__name__}; expected one or more runs"
        )
        raise InputError(msg)
    several = len(given) > 1
    return [(Given(model, i if several else None), each) for i, each in enumerate(given, start=1)]


def _result_of(name: Given) -> str:
    return f"the result of {name!r}" if name.run is None else repr(name)


def read_columns(metrics: Any, model: Any, *others: Any) -> Columns:
    """Read the names of columns that a caller gave."""
    names = (metrics,) if isinstance(metrics, str) else metrics
    label = None if model is None else (model,)
    for name, told, given in (("metrics", metrics, names), ("model", model, label)):
        is_named = isinstance(given, Collection) and all(isinstance(each, str) for each in given)
        if given is not None and not (given and is_named):
            msg = f"{name} must be the name of a column, got {told!r}"
            raise ArgumentError(msg)
    names = None if names is None else tuple(names)
    return Columns(names, model, tuple(each for each in others if isinstance(each, str)))


def _chosen(what: str, columns: Any, asked: Columns, *, may_lack: bool = False) -> dict[str, Any]:
    """The columns of the metrics that the caller names, or of all."""
    found: dict[str, Any] = columns_of(columns) if isinstance(columns, Frame) else columns
    for metric in () if may_lack else asked.metrics or ():
        require(what, metric, found)
    chosen = found if asked.metrics is None else asked.metrics
    return {metric: found[metric] for metric in chosen if metric in found}


def read_result(values: Any, by: Any, weights: Any, asked: Columns) -> Result:
    """Read the result of one model, or of several, the group of each user, and their weights."""
    models: dict[str | None, npt.NDArray[np.intp]] = {}
    if isinstance(values, str | PathLike):
        columns: dict[Any, Any] = dict(read_per_user(Source("values", Path(values))).values)
    elif isinstance(values, list | tuple) and any(isinstance(each, Mapping) for each in values):
        msg = (
            f"values is a {type(values).__name__}; expected one result, {_ONE_RESULT}; "
            "recmetrics.compare takes several runs of a model, {'a': [run1, run2], 'b': other}"
        )
        raise InputTypeError(msg)
    else:
        columns = _read("values", values, _ONE_RESULT, asked)
        if isinstance(columns, Frame):
            if columns.model is not None:
                rows = models_of("values", columns)
                models = {name: np.array(each, np.intp) for name, each in rows.items()}
            require_users_once("values", columns)
            for column in asked.others:
                require("values", column, columns.rows.columns)
            by, weights = (
                columns.rows[each].to_list() if isinstance(each, str) else each
                for each in (by, weights)
            )
    columns = _chosen("values", columns, asked)
    unread = None if models else asked.model
    for name, given in (("by", by), ("weights", weights), ("model", unread)):
        if isinstance(given, str):
            msg = (
                f"{name} is the name of a column, {given!r}, but values is not a table; expected "
                "an array with one entry per user"
            )
            raise InputError(msg)
    if not columns:
        msg = f"values holds no metric; expected {_ONE_RESULT}"
        raise InputError(msg)
    arrays = {
        metric: _array(f"metric {metric!r}", metric, each, "quantiles")
        for metric, each in columns.items()
    }
    n_users = _n_users({"": arrays})
    empty = next((metric for metric, each in arrays.items() if each.shape == (0,)), None)
    if empty is not None:
        msg = f"values holds no user: metric {empty!r} has shape (0,)"
        raise InputError(msg)
    counts = values.counts() if callable(getattr(values, "counts", None)) else {}
    return Result(
        arrays,
        {} if by is None else read_groups(by, n_users),
        None if weights is None else read_weights(weights, n_users),
        any(getattr(each, "not_updated", 0) for each in counts.values()),
        models or {None: np.arange(n_users)},
    )


def read_levels(
    levels: Mapping[str, Any] | None, values: Mapping[str, Floats]
) -> dict[str, dict[str, Floats]]:
    """Read reference levels of one result: for its metrics, values of its users or one number."""
    read: dict[str, dict[str, Floats]] = {}
    for name, columns in ({} if levels is None else levels).items():
        read[name] = {}
        for metric in values.keys() & columns.keys():
            array = _array(f"metric {metric!r} of {name!r}", metric, columns[metric])
            if array.ndim and array.shape != values[metric].shape:
                msg = (
                    f"metric {metric!r} of {name!r} has shape {array.shape}; expected that of the "
                    f"values, {values[metric].shape}, or one number"
                )
                raise ShapeError(msg)
            read[name][metric] = array
    return read


def read_groups(by: Any, n_users: int) -> dict[Any, npt.NDArray[np.intp]]:
    """Read the indices of the users of each group, groups in order of appearance."""
    members: dict[Any, list[int]] = {}
    for user, label in enumerate(_labels(by, n_users)):
        try:
            members.setdefault(label, []).append(user)
        except TypeError:  # not hashable
            kind = type(label).__name__
            msg = f"by must hold labels such as strings or integers, got a {kind} for user {user}"
            raise InputTypeError(msg) from None
    undefined = min(
        (users[0] for label, users in members.items() if _is_missing(label)), default=-1
    )
    if undefined >= 0:
        msg = (
            f"by must name the group of every user; that of user {undefined} is undefined; give "
            "such users a label of their own, such as 'unknown'"
        )
        raise InputError(msg)
    if len(members) > _MANY_GROUPS:
        msg = (
            f"by names {len(members):,} different groups; expected at most {_MANY_GROUPS}: "
            "put users into bins first, such as quartiles of their activity"
        )
        raise InputError(msg)
    return {label: np.array(users, np.intp) for label, users in members.items()}


def _labels(by: Any, n_users: int) -> list[Any]:
    """The labels of any array, series or list, one for each user."""
    expected = f"by must hold one group per user, shape ({n_users},)"
    if isinstance(by, str | Mapping) or hasattr(by, "columns") or not hasattr(by, "__len__"):
        given = repr(by) if isinstance(by, str) else f"a {type(by).__name__}"
        msg = f"{expected}, got {given}; give an array or a list of labels"
        raise InputTypeError(msg)
    shape = tuple(getattr(by, "shape", (len(by),)))
    if shape != (n_users,):
        msg = f"{expected}, got shape {shape}"
        raise ShapeError(msg)
    if getattr(getattr(by, "dtype", None), "kind", "") == "M":  # tolist() would give integers
        by = np.asarray(by).astype("M8[us]")
    for name in ("to_list", "tolist", "to_pylist"):
        if hasattr(by, name):
            labels: list[Any] = getattr(by, name)()
            return labels
    return list(by)


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA
        return True


def read_weights(weights: Any, n_users: int) -> Floats:
    """Read the weights of users, divided by the largest."""
    if isinstance(weights, str):
        msg = f"weights must hold one number per user, shape ({n_users},), got {weights!r}"
        raise InputTypeError(msg)
    array = _real("weights", weights)
    if array.shape != (n_users,):
        msg = f"weights must hold one number per user, shape ({n_users},), got shape {array.shape}"
        raise ShapeError(msg)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        user = int(wrong.argmax())
        msg = (
            f"weights holds {array[user]} for user {user}; expected finite numbers >= 0; 0 leaves "
            "a user out"
        )
        raise InputError(msg)
    if not array.any():
        msg = "weights are all 0; expected a number above 0 for at least one user"
        raise InputError(msg)
    relative: Floats = array / array.max()
    if np.count_nonzero(relative) < np.count_nonzero(array):
        msg = (
            f"weights holds {array[array > 0].min():g} and {array.max():g}, too far apart to add; "
            "give such small weights as 0, which leaves the users out"
        )
        raise InputError(msg)
    return relative


def read_seed(rng: int | np.random.Generator | None) -> int:
    """Read the seed of all random draws."""
    try:
        return int(np.random.default_rng(rng).integers(2**63 - 1))
    except (TypeError, ValueError):
        msg = f"rng must be a seed (an integer >= 0), a numpy Generator or None, got {rng!r}"
        raise ArgumentError(msg) from None


def check_share(name: str, share: Any, least: float) -> float:
    """Refuse a confidence outside its range; it may equal ``least`` unless that is 0."""
    is_number = isinstance(share, float | np.floating)
    if not is_number or not least <= share < 1 or not share:
        bounds = f"from {least:g} to below 1" if least else "above 0 and below 1"
        msg = f"{name} must be a number {bounds}, such as 0.95, got {share!r}"
        raise ArgumentError(msg)
    return float(share)


def _read(what: str, result: Any, expected: str, asked: Columns) -> Any:
    """Read a mapping of metrics and values, or a frame that can be aligned with others."""
    if isinstance(result, Mapping):
        return dict(result)
    if callable(getattr(result, "compute", None)):
        return _read(what, result.compute(), expected, asked)
    frame = result if isinstance(result, Frame) else read_frame(what, result, asked)
    if frame is None:
        msg = f"{what} is a {type(result).__name__}; expected {expected}"
        raise InputTypeError(msg)
    return frame


def _array(what: str, metric: Any, column: Any, computed: str = "") -> Floats:
    """Read the values of a metric; for what is ``computed`` of them, no mean of users."""
    if not isinstance(metric, str):
        msg = f"{what}: names of metrics must be strings"
        raise InputError(msg)
    array = _real(what, column)
    if array.ndim > 1:
        msg = f"{what} has shape {array.shape}; expected one value per user, (n_users,), or ()"
        raise ShapeError(msg)
    if computed and not array.ndim:
        spec = spec_if_known(metric)
        if spec.metric.per_user if spec is not None else not isinstance(column, np.ndarray):
            msg = (
                f"{what} is one number, {column}; expected the value of every user, (n_users,), "
                f"from which intervals and {computed} are computed: give what Metrics.compute or "
                "the compute() of an Evaluator returns, not means"
            )
            raise InputTypeError(msg)
    return array


def _real(what: str, column: Any) -> Floats:
    """Read an array of real numbers."""
    if isinstance(column, np.ma.MaskedArray):
        msg = f"{what} is a masked array, whose mask would be lost; type .filled(np.nan)"
        raise InputTypeError(msg)
    try:
        array = np.asarray(column)
    except (TypeError, ValueError) as error:
        msg = f"{what} cannot be read as an array: {error}"
        raise InputTypeError(msg) from None
    if array.dtype.kind not in "fiub":
        msg = f"{what} has dtype {array.dtype}; expected real numbers"
        raise InputTypeError(msg)
    values: Floats = array.astype(np.float64, copy=False)
    return values


def _finite(name: Given, metric: Any, column: Any) -> Floats:
    what = f"metric {metric!r} of {name!r}"
    values = _array(what, metric, column, "tests")
    infinite = np.isinf(values)
    if infinite.any():
        msg = f"{what} is infinite; expected a finite value"
        if values.ndim:
            msg = (
                f"{what} is infinite for {np.count_nonzero(infinite):,} users, the first user "
                f"{infinite.argmax()}; differences of infinite values are undefined"
            )
        raise InputError(msg)
    return values


def _require_same_metrics(
    values: Mapping[Given, dict[str, Floats]], levels: Collection[str]
) -> None:
    """Refuse results that differ in their metrics; those of levels may lack some."""
    first, expected = next(iter(values.items()))
    for name, given in values.items():
        wanted = {} if name.model in levels else expected
        for lacking, own, having, other in (
            (name, given, first, wanted),
            (first, expected, name, given),
        ):
            missing = next((metric for metric in other if metric not in own), None)
            if missing is not None:
                msg = (
                    f"{lacking!r} has no metric {missing!r}, which {having!r} has; "
                    "compute the same metrics for every model"
                )
                raise InputError(msg)
        for metric, column in given.items():
            if column.ndim != expected[metric].ndim:
                msg = (
                    f"metric {metric!r} has shape {expected[metric].shape} for {first!r} "
                    f"and {column.shape} for {name!r}"
                )
                raise ShapeError(msg)


def _n_users(values: Mapping[str, Mapping[str, Floats]]) -> int:
    """The number of users, which is that of every metric of every result."""
    sizes = {
        f"metric {metric!r}" + (f" of {name}" if name else ""): column.size
        for name, columns in values.items()
        for metric, column in columns.items()
        if column.ndim
    }
    first, n_users = next(iter(sizes.items()), ("", 0))
    for other, size in sizes.items():
        if size != n_users:
            msg = (
                f"{first} has {n_users:,} users and {other} {size:,}; compare results on the same "
                "users"
            )
            raise ShapeError(msg)
    return n_users


def check_runs(results: Results, paired_runs: object) -> None:
    """Refuse runs that cannot be paired, and folds of users that have to be."""
    if not isinstance(paired_runs, bool):
        msg = f"paired_runs must be True or False, got {paired_runs!r}"
        raise ArgumentError(msg)
    counts = results.n_runs()
    if len(counts) < 2:
        return
    (first, expected), *others = counts.items()
    if paired_runs:
        for model, count in others:
            if count != expected:
                msg = (
                    f"paired_runs=True, but {first!r} has {expected} runs and {model!r} has "
                    f"{count}; give the same runs of every model, or one result"
                )
                raise ArgumentError(msg)
        return
    for model in counts:
        for metric, values in results.runs[model].items():
            is_of_users = metric not in results.system
            if is_of_users and (~np.isnan(values)).sum(axis=0).max(initial=0) == 1:
                msg = (
                    f"no user has a value of metric {metric!r} in two runs of {model!r}: the runs "
                    "are folds of users, the same for every model; type paired_runs=True"
                )
                raise InputError(msg)
