"""The mean of one metric over users, who may have weights; both may come from outside."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError, InputTypeError, ShapeError, at_fault
from recmetrics._core.inputs import Users, as_array, half_to_single
from recmetrics._core.spec import MetricSpec, Request, UserWeight
from recmetrics._core.types import FloatArray

_MAX_GROUPS = 50  # more are numbers that a person has not put into bins
Ids: TypeAlias = Callable[[], Sequence[Any] | None]  # gives the ids of users, None without any
_LARGEST_WEIGHT = 1e90  # so that no sum of third powers overflows, or is 0


def mean_of(values: FloatArray, weights: FloatArray | None = None) -> float:
    """Compute the mean of the values that are not NaN, or with ``weights`` sum w x / sum w.

    Both arrays are (n_users,). The mean is NaN if no value is defined.
    """
    is_defined = ~np.isnan(values)
    if not is_defined.all():
        values = values[is_defined]
        if weights is not None:
            weights = weights[is_defined]
    if not values.size:
        return math.nan
    if weights is None:
        return float(values.mean())
    return float(dot(weights, values) / weights.sum())


def system_weights(users: Users, request: Request) -> dict[str, FloatArray]:
    """The weights of users in the mean of each metric whose system weighs them, (n_users,) each."""
    weights = {}
    for text, weight in request.weights.items():
        spec = request.definitions[text].spec
        weights[text] = weights_by(weight, _n_relevant(users, spec), spec.k)
    return weights


def weights_by(weight: UserWeight, n_relevant: FloatArray, k: int | None) -> FloatArray:
    """The weight of users with R = ``n_relevant`` relevant items, by the rule of a system."""
    if weight == "min(k, R)" and k is not None:
        return np.minimum(n_relevant, k)
    return n_relevant


def _n_relevant(users: Users, spec: MetricSpec) -> FloatArray:
    """Count the relevant items of each user, by the threshold and the stratum of a metric."""
    n_users = users.truth.n_users
    everyone = slice(0, n_users)
    relevant = users.truth.in_memory().rows(everyone)
    is_relevant = np.ones(len(relevant.items), np.bool_)
    if spec.threshold is not None:
        is_relevant &= relevant.values >= spec.threshold
    if spec.stratum is not None:
        strata = users.side.strata[spec.stratum]
        is_relevant &= relevant.among(strata.in_memory().rows(everyone))
    return np.bincount(relevant.users()[is_relevant], minlength=n_users).astype(np.float64)


def weighed_together(
    weights: FloatArray | None, metric_weights: FloatArray | None
) -> FloatArray | None:
    """Multiply the weights of users and those of the mean of a metric, where there are any."""
    if weights is None:
        return metric_weights
    if metric_weights is None:
        return weights
    return weights * metric_weights


def dot(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Sum ``values`` (n,) with ``weights`` (..., n), which gives an array of shape (...).

    This thread alone does it: the threads of BLAS wait for each other on a busy machine.
    """
    return np.einsum("...n,n->...", weights, values)  # type: ignore[no-any-return]


def read_floats(name: str, column: Any) -> FloatArray:
    """Read an array of real numbers as float64; errors call it ``name``."""
    values: FloatArray = read_reals(name, column).astype(np.float64, copy=False)
    return values


def read_reals(name: str, column: Any) -> npt.NDArray[Any]:
    """Read an array of real numbers in their own precision; errors call it ``name``."""
    if isinstance(column, np.ma.MaskedArray):
        msg = f"{name} is a masked array, whose mask would be lost; type .filled(np.nan)"
        raise InputTypeError(msg)
    if hasattr(column, "detach"):  # a tensor, perhaps in bfloat16 or with a gradient
        column = half_to_single(as_array(column, name))
    try:
        array = np.asarray(column)
    except (TypeError, ValueError, RuntimeError) as error:  # torch raises the last
        msg = f"{name} cannot be read as an array: {error}"
        raise InputTypeError(msg) from None
    if array.dtype.kind not in "fiub":
        msg = f"{name} has dtype {array.dtype}; expected real numbers"
        raise InputTypeError(msg)
    return array


def require_per_user(name: str, noun: str, entries: Any, n_users: int) -> None:
    """Refuse an argument without one entry per user, in the order of the users.

    ``noun`` says in errors what an entry is, such as "number".
    """
    requirement = f"{name} must hold one {noun} per user, shape ({n_users},)"
    has_no_order = isinstance(entries, Mapping | set | frozenset | str | bytes)
    is_table = hasattr(type(entries), "columns")
    if has_no_order or is_table or not hasattr(entries, "__len__"):
        type_name = type(entries).__name__
        msg = (
            f"{requirement}, got a {type_name}; give an array or a list in the order of the users, "
            "or, if the results are data frames, a pandas Series whose index has the user ids"
        )
        raise InputTypeError(msg, argument=name)
    if getattr(entries, "is_meta", False):
        as_array(entries, name)  # refused: such a tensor has no values
    shape = tuple(entries.shape) if hasattr(entries, "shape") else (len(entries),)
    if shape != (n_users,):
        msg = f"{requirement}, got shape {shape}"
        raise ShapeError(msg, argument=name)


def user_at(row: int, ids: Ids) -> Any:
    """The id of the user in a row, by which errors name the user; without ids, the row."""
    users = ids()
    return row if users is None else users[row]


def read_raw_weights(weights: Any, n_users: int, ids: Ids = lambda: None) -> FloatArray:
    """Read the weights of some of the users, (n_users,), whose sums are added to those of others.

    They stay as they are, since the largest weight of all is not known. Sums take third powers.
    """
    array = _finite_weights(weights, n_users, ids)
    is_wrong = (array > _LARGEST_WEIGHT) | ((array > 0) & (array < 1 / _LARGEST_WEIGHT))
    if is_wrong.any():
        row = int(is_wrong.argmax())
        msg = (
            f"weights holds {array[row]:g} for user {user_at(row, ids)!r}; expected 0, or a number "
            f"from {1 / _LARGEST_WEIGHT:g} to {_LARGEST_WEIGHT:g}, since sums of powers are kept; "
            "multiply all weights by one number, also those of other updates"
        )
        raise InputError(msg, argument="weights")
    return array


def _finite_weights(weights: Any, n_users: int, ids: Ids) -> FloatArray:
    """Read the weights of users, (n_users,), finite and >= 0."""
    require_per_user("weights", "number", weights, n_users)
    with at_fault("weights"):
        array = read_floats("weights", weights)
    # Only the array shows the shape of a list of lists.
    require_per_user("weights", "number", array, n_users)
    is_wrong = ~(np.isfinite(array) & (array >= 0))
    if is_wrong.any():
        row = int(is_wrong.argmax())
        msg = (
            f"weights holds {array[row]} for user {user_at(row, ids)!r}; expected finite numbers "
            ">= 0; 0 leaves a user out"
        )
        raise InputError(msg, argument="weights")
    return array


def read_weights(weights: Any, n_users: int, ids: Ids = lambda: None) -> FloatArray:
    """Read the weights of users, (n_users,), and divide them by the largest weight."""
    array = _finite_weights(weights, n_users, ids)
    if not array.any():
        msg = "weights are all 0; expected a number above 0 for at least one user"
        raise InputError(msg, argument="weights")
    return array / array.max()  # type: ignore[no-any-return]


def read_group_labels(labels: Any, n_users: int) -> npt.NDArray[Any]:
    """Read the labels of groups, (n_users,), as an array of integers or text."""
    require_per_user("by", "label", labels, n_users)
    array = np.asarray(labels)
    if array.dtype.kind == "U" and not all(isinstance(label, str) for label in labels):
        array = np.asarray(labels, object)  # of numbers, or NaN, NumPy has made text
    if array.dtype.kind == "O" and all(isinstance(label, str) for label in array):
        array = array.astype(np.str_)
    if array.dtype.kind not in "biuU" or array.ndim != 1:
        msg = (
            f"by has labels of dtype {array.dtype}; expected one integer or string for each row, "
            "with a label such as 'unknown' for those without a group"
        )
        raise InputTypeError(msg, argument="by")
    return array


def check_groups(groups: Sized) -> None:
    """Refuse more different groups than a person reads, or sums stay small for."""
    if len(groups) > _MAX_GROUPS:
        msg = (
            f"by names {len(groups):,} different groups; expected at most {_MAX_GROUPS}: "
            "put users into bins first, such as quartiles of their activity"
        )
        raise InputError(msg, argument="by")
