"""Groups in flat arrays, as learning-to-rank tools hold them -> scores and users.

A group is a user whose items are its rows, numbered from 0. Only these may be recommended.
"""

from collections.abc import Collection, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    NaNScoreError,
    ShapeError,
    at_fault,
)
from recmetrics._core.inputs.arrays import as_array, check_real, half_to_single, places_of_entries
from recmetrics._core.inputs.scores import SparseScores
from recmetrics._core.inputs.sets import VALUES, Rows, SparseSets, Users
from recmetrics._core.types import IntArray, NaNPolicy


def read_groups(
    scores: Any, relevance: Any, sizes: Any, ids: Any, nan: NaNPolicy
) -> tuple[SparseScores, Users, Sequence[Any]]:
    """Read flat arrays, cut into groups by ``sizes`` or by ``ids``; also gives the groups' ids."""
    with at_fault("scores"):
        values = _flat(scores, "scores")
    with at_fault("relevance"):
        gains = _flat(relevance, "relevance").astype(np.float64)
    if len(gains) != len(values):
        msg = f"relevance has {len(gains)} rows, expected {len(values)}, as in scores"
        raise ShapeError(msg, argument="relevance")
    if (sizes is None) == (ids is None):
        got = "neither" if sizes is None else "both"
        msg = (
            "groups need sizes= (the number of rows of each group, in order) or ids= (the group of "
            f"each row), got {got}; give one of them"
        )
        raise ArgumentError(msg)
    _check_values(values, gains, nan)
    if ids is None:
        with at_fault("sizes"):
            counts, names = _read_sizes(sizes, len(values)), None
    else:
        with at_fault("ids"):
            order, counts, names = _read_ids(ids, len(values))
        values, gains = values[order], gains[order]
    start = np.concatenate(([0], np.cumsum(counts)))
    items = places_of_entries(start)
    rows = Rows(start, items, gains)
    truth = SparseSets(rows.keep(rows.values > 0), None)
    # The size of a catalogue is not known, so that no cutoff is cut to the largest group.
    shape = len(counts), int(counts.max(initial=0))
    found = SparseScores(start, items, values, shape)
    return found, Users(truth), range(len(counts)) if names is None else names


def _flat(value: Any, what: str) -> npt.NDArray[Any]:
    array = as_array(value, what)
    if array.ndim != 1:
        hint = f"; type np.ravel({what})" if array.ndim == 2 and 1 in array.shape else ""
        hint = hint or "; for a matrix users x items use Metrics.compute"
        msg = f"{what} must be 1-d, one number for each row, got shape {array.shape}{hint}"
        raise ShapeError(msg)
    check_real(array, what)
    return array if what == "scores" else half_to_single(array)


def _check_values(scores: npt.NDArray[Any], relevance: npt.NDArray[Any], nan: NaNPolicy) -> None:
    is_nan = np.zeros(1, np.bool_)
    if nan == "raise":
        is_nan = np.isnan(half_to_single(scores))
    if is_nan.any():
        msg = (
            f"scores hold {np.count_nonzero(is_nan)} NaN, the first in row {int(is_nan.argmax())}; "
            "expected numbers; give nan='exclude' to treat NaN like a score of -inf"
        )
        raise NaNScoreError(msg, argument="scores")
    least, largest, expected, _ = VALUES["truth"]
    bad = ~((relevance >= least) & (relevance <= largest))
    if bad.any():
        row = int(bad.argmax())
        msg = f"relevance must hold {expected}, got {relevance[row]:g} in row {row}"
        raise InputError(msg, argument="relevance")


def _read_sizes(sizes: Any, n_rows: int) -> IntArray:
    array = as_array(sizes, "sizes")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        msg = (
            f"sizes must be 1-d integers, the number of rows of each group, got {array.ndim}-d of "
            f"dtype {array.dtype}"
        )
        raise InputTypeError(msg)
    if array.size and array.min() < 0:
        msg = f"sizes must be >= 0, got {array.min()} for group {int(array.argmin())}"
        raise InputError(msg)
    total = sum(array.tolist())
    if total != n_rows:
        hint = "; for the group of each row give ids=" if len(array) == n_rows else ""
        msg = f"sizes add up to {total} rows, expected {n_rows}, as in scores{hint}"
        raise ShapeError(msg)
    return array.astype(np.int64)


def _read_ids(ids: Any, n_rows: int) -> tuple[IntArray, IntArray, list[Any]]:
    """The order of the rows by group, the rows of each group, and the id of each."""
    if isinstance(ids, Set) or not isinstance(ids, Collection):
        msg = f"ids must be an array or a list, the group of each row, got {type(ids).__name__}"
        raise InputTypeError(msg)
    shape = tuple(getattr(ids, "shape", (len(ids),)))
    if len(shape) != 1:
        msg = f"ids must be 1-d, the group of each row, got shape {shape}"
        raise ShapeError(msg)
    if len(ids) != n_rows:
        msg = f"ids has {len(ids)} rows, expected {n_rows}, as in scores"
        raise ShapeError(msg)
    array = np.asarray(ids) if hasattr(ids, "shape") else None
    if array is None or array.dtype == np.object_:
        group, names = _numbered(list(ids))
    else:
        missing = np.ma.getmaskarray(ids) if isinstance(ids, np.ma.MaskedArray) else array != array
        _refuse_missing(missing)
        values, first, place = np.unique(array, return_index=True, return_inverse=True)
        appearance = np.argsort(first)
        number = np.empty(len(values), np.int64)
        number[appearance] = np.arange(len(values))
        group, names = number[place.reshape(-1)], values[appearance].tolist()
    order = np.argsort(group, kind="stable")
    return order, np.bincount(group, minlength=len(names)), names


def _numbered(ids: list[Any]) -> tuple[IntArray, list[Any]]:
    """Number ids of any type in the order of first appearance; ids are compared as dict keys."""
    _refuse_missing(np.array([each is None or bool(each != each) for each in ids]))
    kinds = {"number" if isinstance(each, Number) else type(each).__name__ for each in ids}
    if len(kinds) > 1:
        msg = (
            f"ids has {' and '.join(sorted({type(each).__name__ for each in ids}))}, which cannot "
            "be compared; expected ids of one type; type [str(each) for each in ids]"
        )
        raise InputTypeError(msg)
    numbers: dict[Any, int] = {}
    try:
        group = [numbers.setdefault(each, len(numbers)) for each in ids]
    except TypeError:
        msg = f"ids must be 1-d, the group of each row, got {ids[0]!r} in the first row"
        raise ShapeError(msg) from None
    return np.array(group, np.int64), list(numbers)


def _refuse_missing(missing: npt.NDArray[Any]) -> None:
    if missing.any():
        msg = f"ids has no group in row {int(missing.argmax())}; expected an id for each row"
        raise InputError(msg)
