"""Results in any form -> one array per metric and model, or an exact error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    MetricSpecError,
    ShapeError,
)
from recmetrics._io import Source, read_per_user
from recmetrics._spec import metric_of
from recmetrics.comparison._align import Frame, align, columns_of, read_frame
from recmetrics.comparison._statistics import Floats

_MANY_GROUPS = 50
_ONE_RESULT = (
    "what Metrics.compute returns, an object whose .compute() returns that, "
    "a data frame with a float column per metric, or the path of a file that "
    "'recmetrics evaluate --per-user' wrote"
)
_RESULT = (
    "what Metrics.compute returns, an object whose .compute() returns that, "
    "or a data frame with a float column per metric"
)


@dataclass(frozen=True, slots=True)
class Results:
    """Values per model and metric: (n_users,), NaN where undefined; () for a system metric."""

    models: tuple[str, ...]
    levels: tuple[str, ...]  # shown beside the models; they may lack metrics
    metrics: tuple[str, ...]
    values: dict[str, dict[str, Floats]]
    n_users: int

    def having(self, metric: str) -> list[str]:
        """List the models, and the levels that have a metric."""
        return [*self.models, *(each for each in self.levels if metric in self.values[each])]

    def is_system(self, metric: str) -> bool:
        """Say whether a metric has one value for all users together."""
        return self.values[self.models[0]][metric].ndim == 0


class Result(NamedTuple):
    """The values of one model per metric, as in ``Results``; its users in groups, their weights."""

    values: dict[str, Floats]
    groups: dict[Any, npt.NDArray[np.intp]]
    weights: Floats | None
    has_missing: bool  # an Evaluator, some of whose users were never updated


def read_results(results: Mapping[str, Any], levels: Mapping[str, Any]) -> Results:
    """Check that models, and levels, were measured by the same metrics on the same users."""
    for what, given in (("results", results), ("levels", levels)):
        if not isinstance(given, Mapping):
            msg = f"{what} must be a dict of name and result, got {type(given).__name__}"
            if hasattr(given, "columns"):
                msg += (
                    "; for a frame with a column that names the model type {name: part.drop("
                    f"columns='model') for name, part in {what}.groupby('model')}}"
                )
            raise InputTypeError(msg)
    if len(results) < 2:
        msg = f"expected the results of at least two models to compare, got {len(results)}"
        raise InputError(msg)
    for name in (*results, *levels):
        model: object = name
        if not isinstance(model, str) or not model.strip():
            msg = f"names of models must be strings that are not blank, got {model!r}"
            raise InputError(msg)
    both = next((name for name in levels if name in results), None)
    if both is not None:
        msg = f"{both!r} names a model and a level; expected a name of its own for each"
        raise InputError(msg)
    given = {**results, **levels}
    read = align({n: _read(f"the result of {n!r}", each, _RESULT) for n, each in given.items()})
    values = {
        model: {
            metric: _finite(f"metric {metric!r} of {model!r}", metric, column)
            for metric, column in columns.items()
        }
        for model, columns in read.items()
    }
    first, *others = values
    for name in others:
        _require_same_metrics(first, values[first], name, values[name], may_lack=name in levels)
    if not values[first]:
        msg = f"the result of {first!r} holds no metric; expected {_RESULT}"
        raise InputError(msg)
    return Results(tuple(results), tuple(levels), tuple(values[first]), values, _n_users(values))


def read_result(values: Any, by: Any, weights: Any) -> Result:
    """Read the result of one model, the group of each user, and their weights."""
    if isinstance(values, str | PathLike):
        columns: dict[Any, Any] = dict(read_per_user(Source("values", Path(values))).values)
    else:
        read = _read("values", values, _ONE_RESULT)
        columns = read
        if isinstance(read, Frame):
            by, weights = _column(read, "by", by), _column(read, "weights", weights)
            columns = columns_of(read)
    for name, given in (("by", by), ("weights", weights)):
        if isinstance(given, str):
            msg = (
                f"{name} names a column, {given!r}, and values is no table; expected an array of "
                "one entry per user"
            )
            raise InputError(msg)
    if not columns:
        msg = f"values holds no metric; expected {_ONE_RESULT}"
        raise InputError(msg)
    arrays = {
        metric: _array(f"metric {metric!r}", metric, each) for metric, each in columns.items()
    }
    for metric, column in columns.items():
        if not arrays[metric].ndim:
            _refuse_mean(metric, column)
    sizes = {metric: array.size for metric, array in arrays.items() if array.ndim}
    n_users = next(iter(sizes.values()), 0)
    for metric, size in sizes.items():
        if size != n_users:
            msg = (
                f"metric {next(iter(sizes))!r} has {n_users:,} users and metric {metric!r} "
                f"{size:,}; expected the values of the same users"
            )
            raise ShapeError(msg)
    if sizes and not n_users:
        msg = f"values holds no user: metric {next(iter(sizes))!r} has shape (0,)"
        raise InputError(msg)
    return Result(
        arrays,
        {} if by is None else read_groups(by, n_users),
        None if weights is None else read_weights(weights, n_users),
        _has_missing(values),
    )


def _has_missing(values: Any) -> bool:
    counts = values.counts() if callable(getattr(values, "counts", None)) else {}
    return any(getattr(each, "not_updated", 0) for each in counts.values())


def _column(frame: Frame, name: str, given: Any) -> Any:
    """Take the column that ``by`` or ``weights`` names; what is no name is given back."""
    if not isinstance(given, str):
        return given
    if given not in frame.rows.columns:
        near = get_close_matches(given, frame.rows.columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {frame.rows.columns}"
        msg = f"{name} names the column {given!r}, which values does not have; {hint}"
        raise InputError(msg)
    if given in frame.metrics:
        frame.metrics.remove(given)
    return frame.rows[given].to_list()


def _refuse_mean(metric: Any, column: Any) -> None:
    """Refuse one number unless it is that of a system metric."""
    try:
        is_mean = metric_of(metric).per_user
    except MetricSpecError:
        is_mean = not isinstance(column, np.ndarray)
    if is_mean:
        msg = (
            f"metric {metric!r} is one number, {column}; expected the value of every user, "
            "(n_users,), from which intervals and quantiles are computed: give what "
            "Metrics.compute or the compute() of an Evaluator returns, not means"
        )
        raise InputTypeError(msg)


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
    return relative


def read_seed(rng: int | np.random.Generator | None) -> int:
    """Read the seed of all random draws."""
    try:
        return int(np.random.default_rng(rng).integers(2**63 - 1))
    except (TypeError, ValueError):
        msg = f"rng must be a seed (an integer >= 0), a numpy Generator or None, got {rng!r}"
        raise ArgumentError(msg) from None


def check_share(name: str, share: Any, least: float) -> float:
    """Refuse a confidence that is no share; it may be ``least`` unless that is 0."""
    is_number = isinstance(share, float | np.floating)
    if not is_number or not least <= share < 1 or not share:
        bounds = f"from {least:g} to below 1" if least else "above 0 and below 1"
        msg = f"{name} must be a number {bounds}, such as 0.95, got {share!r}"
        raise ArgumentError(msg)
    return float(share)


def _read(what: str, result: Any, expected: str) -> Any:
    """Read a mapping of metrics and values, or a frame that can be aligned with others."""
    if isinstance(result, Mapping):
        return dict(result)
    if callable(getattr(result, "compute", None)):
        return _read(what, result.compute(), expected)
    frame = read_frame(result)
    if frame is None:
        msg = f"{what} is a {type(result).__name__}; expected {expected}"
        raise InputTypeError(msg)
    return frame


def _array(what: str, metric: Any, column: Any) -> Floats:
    if not isinstance(metric, str):
        msg = f"{what}: names of metrics must be strings"
        raise InputError(msg)
    array = _real(what, column)
    if array.ndim > 1:
        msg = f"{what} has shape {array.shape}; expected one value per user, (n_users,), or ()"
        raise ShapeError(msg)
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


def _finite(what: str, metric: Any, column: Any) -> Floats:
    values = _array(what, metric, column)
    infinite = np.isinf(values)
    if infinite.any():
        if not values.ndim:
            msg = f"{what} is infinite; expected a finite value"
            raise InputError(msg)
        msg = (
            f"{what} is infinite for {np.count_nonzero(infinite):,} users, the first user "
            f"{infinite.argmax()}: there is no difference of infinite means"
        )
        raise InputError(msg)
    return values


def _require_same_metrics(
    first: str, expected: dict[str, Floats], model: str, given: dict[str, Floats], *, may_lack: bool
) -> None:
    for lacking, missing, having in (
        (model, [metric for metric in expected if metric not in given and not may_lack], first),
        (first, [metric for metric in given if metric not in expected], model),
    ):
        if missing:
            msg = (
                f"{lacking!r} has no metric {missing[0]!r}, which {having!r} has; "
                "compute the same metrics for every model"
            )
            raise InputError(msg)
    for metric, values in given.items():
        if values.ndim != expected[metric].ndim:
            msg = (
                f"metric {metric!r} has shape {expected[metric].shape} for {first!r} "
                f"and {values.shape} for {model!r}"
            )
            raise ShapeError(msg)


def _n_users(values: dict[str, dict[str, Floats]]) -> int:
    sizes = {
        (model, metric): column.size
        for model, columns in values.items()
        for metric, column in columns.items()
        if column.ndim
    }
    if not sizes:
        return 0
    (model, metric), n_users = next(iter(sizes.items()))
    for (other, name), size in sizes.items():
        if size != n_users:
            msg = (
                f"metric {metric!r} of {model!r} has {n_users:,} users and metric {name!r} of "
                f"{other!r} {size:,}; compare results on the same users"
            )
            raise ShapeError(msg)
    return n_users


def check_baseline(baseline: object, models: tuple[str, ...]) -> None:
    """Refuse a baseline that is not one of the models."""
    if baseline is not None and baseline not in models:
        known = ", ".join(repr(model) for model in models)
        msg = f"baseline must be one of {known}, got {baseline!r}"
        raise ArgumentError(msg)
