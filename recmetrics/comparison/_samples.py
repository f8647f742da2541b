"""Results in any form -> one array per metric and model, or an exact error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputError, InputTypeError, ShapeError
from recmetrics.comparison._align import align, read_frame
from recmetrics.comparison._statistics import Floats

_MANY_GROUPS = 50
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
    read = align({name: _read(name, result) for name, result in given.items()})
    values = {
        model: {metric: _array(model, metric, column) for metric, column in columns.items()}
        for model, columns in read.items()
    }
    first, *others = values
    for name in others:
        _require_same_metrics(first, values[first], name, values[name], may_lack=name in levels)
    if not values[first]:
        msg = f"the result of {first!r} holds no metric; expected {_RESULT}"
        raise InputError(msg)
    return Results(tuple(results), tuple(levels), tuple(values[first]), values, _n_users(values))


def read_groups(by: Any, n_users: int) -> dict[Any, npt.NDArray[np.intp]]:
    """Read the indices of the users of each group, groups in sorted order."""
    labels = np.asarray(by)
    if labels.shape != (n_users,):
        msg = f"by must hold one group per user, shape ({n_users},), got shape {labels.shape}"
        raise ShapeError(msg)
    absent = np.array([each is None or each != each for each in labels.tolist()], dtype=bool)
    if absent.any():
        msg = f"by must name the group of every user; that of user {absent.argmax()} is undefined"
        raise InputError(msg)
    try:
        groups, members = np.unique(labels, return_inverse=True)
    except TypeError:
        msg = "by must hold labels of one type, such as strings or integers"
        raise InputTypeError(msg) from None
    if groups.size > _MANY_GROUPS:
        msg = (
            f"by names {groups.size:,} different groups; expected at most {_MANY_GROUPS}: "
            "put users into bins first, such as quartiles of their activity"
        )
        raise InputError(msg)
    return {group: np.flatnonzero(members == i) for i, group in enumerate(groups.tolist())}


def _read(model: str, result: Any) -> Any:
    """Read a mapping of metrics and values, or a frame that can be aligned with others."""
    if isinstance(result, Mapping):
        return dict(result)
    if callable(getattr(result, "compute", None)):
        return _read(model, result.compute())
    frame = read_frame(result)
    if frame is None:
        msg = f"the result of {model!r} is a {type(result).__name__}; expected {_RESULT}"
        raise InputTypeError(msg)
    return frame


def _array(model: str, metric: Any, column: Any) -> Floats:
    what = f"metric {metric!r} of {model!r}"
    if not isinstance(metric, str):
        msg = f"{what}: names of metrics must be strings"
        raise InputError(msg)
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
    if array.ndim > 1:
        msg = f"{what} has shape {array.shape}; expected one value per user, (n_users,), or ()"
        raise ShapeError(msg)
    values: Floats = array.astype(np.float64, copy=False)
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
