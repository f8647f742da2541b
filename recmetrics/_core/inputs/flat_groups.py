"""Groups in flat arrays, as learning-to-rank tools hold them -> scores and users.

A group is a user whose items are its rows, numbered from 0. Only these may be recommended.
"""

from collections.abc import Collection, Mapping, Sequence, Set
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
from recmetrics._core.inputs.arrays import (
    as_array,
    check_real,
    half_to_single,
    is_missing,
    places_of_entries,
    refuse_other_indexes,
    starts_of,
    without_grad,
)
from recmetrics._core.inputs.scores import ScoreMatrix, SparseScores
from recmetrics._core.inputs.sets import VALUES, DenseSets, Rows, SparseSets, Users
from recmetrics._core.inputs.users import INSPECTED_SCORES, warn_if_exchanged
from recmetrics._core.types import IntArray, NaNPolicy

# Fewer groups may well have their relevant rows first by chance.
_FEW_GROUPS = 10
TIED_SHARE = 0.01  # a few scores are equal by rounding


def read_groups(
    scores: Any, relevance: Any, sizes: Any, ids: Any, nan: NaNPolicy, *, drops_negative: bool
) -> tuple[SparseScores, Users, Sequence[Any]]:
    """Read flat arrays, cut into groups by ``sizes`` or by ``ids``.

    Gives the scores and the truth, with a group as a user, and the id of each group. Without
    ``ids``, a group's id is its number. ``drops_negative``: a negative relevance is not relevant.
    """
    rows = {"scores": scores, "relevance": relevance, "ids": ids}
    refuse_other_indexes(rows, "expected one row for each, in one order: columns of one table")
    with at_fault("scores"):
        values = _flat(scores, "scores")
    with at_fault("relevance"):
        gains = half_to_single(_flat(relevance, "relevance")).astype(np.float64)
    if len(gains) != len(values):
        msg = f"relevance has {len(gains)} rows, expected {len(values)}, as in scores"
        raise ShapeError(msg, argument="relevance")
    if (sizes is None) == (ids is None):
        number = "neither" if sizes is None else "both"
        msg = (
            "groups need sizes= (the number of rows of each group, in order) or ids= (the group of "
            f"each row), got {number}; give one of them"
        )
        raise ArgumentError(msg)
    if nan == "raise":
        _refuse_nan(values)
    if drops_negative:  # but -inf stays an error
        gains = np.where(np.isneginf(gains), gains, np.maximum(gains, 0.0))
    _check_relevance(gains, relevance, scores)
    # As the row of one user.
    first_rows = np.s_[np.newaxis, :INSPECTED_SCORES]
    warn_if_exchanged(ScoreMatrix(values[first_rows]), DenseSets(gains[first_rows], "truth"))

    if ids is None:
        with at_fault("sizes"):
            counts = _read_sizes(sizes, len(values))
        group_ids: Sequence[Any] = range(len(counts))
    else:
        with at_fault("ids"):
            group_of_row, group_ids = _read_ids(ids, len(values))
        counts = np.bincount(group_of_row, minlength=len(group_ids))
        order = np.argsort(group_of_row, kind="stable")
        values = values[order]
        gains = gains[order]

    start = starts_of(counts)
    items = places_of_entries(start)
    truth = SparseSets(Rows(start, items, gains).keep(gains > 0), None)
    shape = len(counts), int(counts.max(initial=0))
    return SparseScores(start, items, values, shape), Users(truth), group_ids


def note_on_leading_ties(scores: SparseScores, users: Users) -> str:
    """Tell where the relevant rows of all groups stand first, and other rows have their scores.

    Sampled negatives are often written behind the relevant row, which then wins each tie.
    """
    everyone = slice(0, users.truth.n_users)
    relevant = users.truth.rows(everyone)
    has_relevant = np.diff(relevant.start) > 0
    n_groups = np.count_nonzero(has_relevant)
    are_first = np.array_equal(relevant.items, places_of_entries(relevant.start))
    if not are_first or n_groups < _FEW_GROUPS:
        return ""

    rows, _ = scores.stored(everyone)
    first_scores = np.full(len(has_relevant), np.nan)
    first_scores[has_relevant] = rows.values[rows.start[:-1][has_relevant]]
    first_scores[np.isneginf(first_scores)] = np.nan  # of rows that are in no list
    is_tied = rows.values == np.repeat(first_scores, np.diff(rows.start))
    is_tied[rows.start[relevant.users()] + relevant.items] = False
    tied_groups = np.searchsorted(rows.start, np.flatnonzero(is_tied), side="right")
    n_tied = len(np.unique(tied_groups))
    if n_tied < TIED_SHARE * n_groups:
        return ""
    return (
        f"in {n_tied:,} of {n_groups:,} groups, other rows have the score of the relevant row, "
        "which stands first and so ranks above them; for the mean over all orders of equal "
        "scores, type ties='expected'"
    )


def _flat(value: Any, name: str) -> npt.NDArray[Any]:
    """Read an array of one dimension that holds real numbers."""
    array = as_array(value, name, "row")
    if array.ndim != 1:
        hint = "for a matrix users x items use Metrics.compute"
        if array.ndim == 2 and 1 in array.shape:
            hint = f"type np.ravel({without_grad(value, name)})"
        msg = f"{name} must be 1-d, one number for each row, got shape {array.shape}; {hint}"
        raise ShapeError(msg)
    check_real(array, name)
    return array


def _refuse_nan(scores: npt.NDArray[Any]) -> None:
    """Refuse flat scores with NaN; the error names the first row."""
    is_nan = np.isnan(half_to_single(scores))
    if is_nan.any():
        msg = (
            f"scores hold {np.count_nonzero(is_nan)} NaN, the first in row {int(is_nan.argmax())}; "
            "expected numbers, -inf for a row that was not retrieved; give nan='exclude' to treat "
            "NaN like a score of -inf"
        )
        raise NaNScoreError(msg, argument="scores")


def _check_relevance(gains: npt.NDArray[Any], relevance: Any, scores: Any) -> None:
    """Refuse NaN, negative and too large relevances.

    ``relevance`` and ``scores`` are as given, for advice.
    """
    least, largest, valid_values, _ = VALUES["truth"]
    is_wrong = ~((gains >= least) & (gains <= largest))  # so NaN is wrong, too
    if is_wrong.any():
        row = int(is_wrong.argmax())
        msg = f"relevance must hold {valid_values}, got {gains[row]:g} in row {row}"
        if gains[row] < 0:
            array = "relevance"
            if not isinstance(relevance, np.ndarray):  # NumPy's functions warn of a tensor
                array = f"np.asarray({without_grad(relevance, array)})"
            msg += (
                f"; type np.maximum({array}, 0) if it is not relevant; if it is padding, also "
                f"give it the score -inf: type np.where({array} < 0, -np.inf, "
                f"{without_grad(scores, 'scores')})"
            )
        raise InputError(msg, argument="relevance")


def _read_sizes(sizes: Any, n_rows: int) -> IntArray:
    """Read the number of rows of each group; together they must be ``n_rows``."""
    if isinstance(sizes, Mapping):
        msg = (
            f"sizes is a {type(sizes).__name__}, expected an array with one number per group, in "
            "the order of the rows; if it is in that order, type sizes=list(sizes.values())"
        )
        raise InputTypeError(msg)
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
    total = sum(array.tolist())  # Python's integers do not overflow
    if total != n_rows:
        hint = ""
        if array[:1] == 0 and array[-1] == n_rows and (np.diff(array) >= 0).all():
            hint = "; if these are the rows where the groups begin, type np.diff(sizes)"
        elif len(array) == n_rows:
            hint = "; for the group of each row give ids="
        msg = f"sizes add up to {total} rows, expected {n_rows}, as in scores{hint}"
        raise ShapeError(msg)
    return array.astype(np.int64)


def _read_ids(ids: Any, n_rows: int) -> tuple[IntArray, list[Any]]:
    """Number the groups in the order of first appearance.

    Gives the number of each row's group, (n_rows,), and the ids of the groups in this order.
    """
    if hasattr(ids, "__array__") and not isinstance(ids, Collection):  # of pyarrow or Dask
        ids = np.asarray(ids)
    elif hasattr(ids, "detach"):  # a tensor, which NumPy may refuse: of a GPU, or in bfloat16
        ids = half_to_single(as_array(ids, "ids", "row"))
    if isinstance(ids, Set | Mapping) or not isinstance(ids, Collection):
        msg = f"ids must be an array or a list, the group of each row, got {type(ids).__name__}"
        raise InputTypeError(msg)
    shape = tuple(ids.shape) if hasattr(ids, "shape") else (len(ids),)
    if len(shape) != 1:
        msg = f"ids must be 1-d, the group of each row, got shape {shape}"
        raise ShapeError(msg)
    if len(ids) != n_rows:
        msg = f"ids has {len(ids)} rows, expected {n_rows}, as in scores"
        raise ShapeError(msg)
    # Python objects may have no order, so that NumPy could not sort them.
    if not hasattr(ids, "shape"):
        return _number_objects(list(ids))
    array = np.asarray(ids)
    if array.dtype == np.object_ or array.ndim > 1:  # a column of arrays of polars is 1-d
        return _number_objects(list(array))

    missing_rows = array != array  # only NaN and NaT differ from themselves
    if isinstance(ids, np.ma.MaskedArray):
        missing_rows = np.ma.getmaskarray(ids)
    _refuse_missing(missing_rows)
    # NumPy orders the distinct ids by value: their places are renumbered by first appearance.
    distinct, first_rows, places = np.unique(array, return_index=True, return_inverse=True)
    appearance = np.argsort(first_rows)
    numbers = np.empty(len(distinct), np.int64)
    numbers[appearance] = np.arange(len(distinct))
    names = distinct[appearance]
    if names.dtype.kind in "mM":  # a list of these may have integers of nanoseconds
        names = names.astype(str)
    return numbers[places.reshape(-1)], names.tolist()


def _number_objects(ids: list[Any]) -> tuple[IntArray, list[Any]]:
    """Do what ``_read_ids`` does for ids of any type, which are compared as dict keys."""
    # Tensors of equal numbers are different dict keys.
    ids = [
        group_id.squeeze().tolist() if hasattr(group_id, "detach") else group_id for group_id in ids
    ]
    _refuse_missing(np.array([is_missing(group_id) for group_id in ids]))
    # Text of NumPy is text.
    types = {str if isinstance(group_id, str) else type(group_id) for group_id in ids}
    if len(types) > 1 and not all(issubclass(id_type, Number) for id_type in types):
        msg = (
            f"ids has {' and '.join(sorted(id_type.__name__ for id_type in types))}, which cannot "
            "be compared; expected ids of one type; type [str(each) for each in ids]"
        )
        raise InputTypeError(msg)
    numbers: dict[Any, int] = {}
    try:
        groups = [numbers.setdefault(group_id, len(numbers)) for group_id in ids]
    except TypeError:
        msg = f"ids must be 1-d, the group of each row, got {ids[0]!r} in the first row"
        raise ShapeError(msg) from None
    return np.array(groups, np.int64), list(numbers)


def _refuse_missing(missing_rows: npt.NDArray[Any]) -> None:
    """Refuse ids with a missing one, from the mask of the rows without an id."""
    if missing_rows.any():
        msg = f"ids has no group in row {int(missing_rows.argmax())}; expected an id for each row"
        raise InputError(msg)
