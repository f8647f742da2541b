"""The users of a call: their sets of items and side information, and which of them a batch has."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from recmetrics._core.errors import (
    InputError,
    InputTypeError,
    RecmetricsError,
    ShapeError,
    at_fault,
    blame,
    warn,
)
from recmetrics._core.inputs.arrays import as_array
from recmetrics._core.inputs.ranked import Rankings
from recmetrics._core.inputs.read_sets import read_item_sets, read_ranked_truth, read_whole_truth
from recmetrics._core.inputs.scores import MAY_BE_EXCHANGED, ScoreMatrix, SparseScores
from recmetrics._core.inputs.sets import (
    NO_SIDE,
    ItemSets,
    Rows,
    SharedSet,
    Side,
    UserIndex,
    Users,
    as_indices,
)
from recmetrics._core.inputs.side import check_strata, read_side
from recmetrics._core.spec import Request
from recmetrics._core.types import WhichUsers

_INSPECTED = 1 << 14  # scores, of the first rows
_GRADES = 5  # the largest grade of a common scale


def read_users(
    scores: Any,
    ground_truth: Any,
    given: Mapping[str, Any],
    request: Request,
    side: Side | None = None,
) -> Users:
    """Read the users of scores or rankings, of which only the shape and the items are read.

    ``given`` are the shared keywords of the call. ``side`` is side information that has been read;
    without it, what a metric of the request needs is read from ``given``.
    """
    if isinstance(scores, Rankings):
        with at_fault("truth"):
            truth = read_ranked_truth(
                ground_truth, scores.shape, scores.largest_item, request.n_threads
            )
    else:
        hint = getattr(scores, "if_transposed", None)
        shape, threads = scores.shape, request.n_threads
        try:
            truth = read_item_sets(ground_truth, "truth", shape, threads, if_transposed=hint)
        except RecmetricsError as error:
            blame(error, "truth")
            raise
        if isinstance(scores, ScoreMatrix):
            _warn_if_exchanged(scores, truth)
    return _users(truth, given, request, side)


def _warn_if_exchanged(scores: ScoreMatrix, truth: ItemSets) -> None:
    """Warn of a truth without a 0 beside sparse scores, or of fractions beside grades."""
    n_users, n_items = scores.shape
    if not truth.is_dense or n_items < 2 or not n_users:
        return
    first = slice(0, 1)
    if isinstance(scores, SparseScores):
        if len(truth.rows(first).items) == n_items:
            msg = f"all {n_items:,} items are relevant to the first user, and scores is sparse"
            warn(f"{msg}; {MAY_BE_EXCHANGED}")
        return
    for rows in (first, slice(0, min(n_users, 1 + _INSPECTED // n_items))):
        block = scores.array[rows]  # mostly, the first row decides
        is_graded = block.dtype.kind in "biuf" and block.min() == 0 and block.max() <= _GRADES
        if not (is_graded and np.all(block % 1 == 0)):
            return
        if np.count_nonzero(truth.rows(rows).values < 1.0) < 0.9 * block.size:
            return
    msg = "the truth holds fractions between 0 and 1, and the scores hold grades alone"
    warn(f"{msg}; {MAY_BE_EXCHANGED}")


def read_whole_users(
    ground_truth: Any, n_items: int | None, given: Mapping[str, Any], request: Request
) -> Users:
    """Read the users of a truth without scores; the size of the catalogue must be known."""
    with at_fault("truth"):
        truth = read_whole_truth(ground_truth, n_items, request.n_threads)
    return _users(truth, given, request)


def _users(
    truth: ItemSets, given: Mapping[str, Any], request: Request, side: Side | None = None
) -> Users:
    shape = truth.n_users, truth.n_items  # n_items is known wherever the other two are taken
    exclude, candidates = (
        read_set_if_given(given.get(name), name, shape, request.n_threads)
        for name in ("exclude", "candidates")
    )
    if side is None:
        side = NO_SIDE
        if request.of_side:
            side = read_side(request.of_side, given, truth.n_users, truth.n_items)
    elif truth.n_items is not None:
        check_strata(side, truth.n_items)
    return Users(truth, exclude, candidates, side, side.n_items or truth.n_items)


def read_set_if_given(
    value: Any, name: str, shape: tuple[int, int | None], n_threads: int | None = None
) -> ItemSets | None:
    """Read exclude or candidates, which a call may leave out."""
    if value is None:
        return None
    with at_fault(name):
        return read_item_sets(value, name, shape, n_threads)


def read_which_users(users: WhichUsers, *, n_users: int, n_rows: int, source: str) -> UserIndex:
    """Read ``users=``, which names the user of each row of the ``source``, scores or ranking."""
    with at_fault("users"):
        chosen = _sliced(users, n_users) if isinstance(users, slice) else _indices(users, n_users)
    n_chosen = len(as_indices(chosen))
    if n_chosen != n_rows:
        msg = (
            f"{source} has {n_rows} rows, but users= names {n_chosen} users; expected one user "
            "for each row"
        )
        raise ShapeError(msg, argument="users")
    return chosen


def _sliced(users: slice, n_users: int) -> UserIndex:
    try:
        rows = range(n_users)[users]
    except (TypeError, ValueError) as error:
        msg = f"users must be a slice of integer user indices, got {users!r} ({error})"
        raise InputTypeError(msg) from None
    if rows.step == 1 and rows:
        return slice(rows.start, rows.stop)
    return np.arange(rows.start, rows.stop, rows.step)


def _indices(users: Any, n_users: int) -> UserIndex:
    is_matrix = len(getattr(users, "shape", ())) > 1  # sparse or on a device, too
    indices = users if is_matrix else as_array(users, "users")
    if len(indices.shape) > 1:
        msg = (
            f"users is a {type(users).__name__} of shape {tuple(indices.shape)}, expected user "
            "indices; Evaluator.update takes (scores, users), since Evaluator has the truth; "
            "StreamEvaluator.update takes (scores, truth)"
        )
        raise InputTypeError(msg)
    if indices.size and indices.dtype.kind not in "iu":
        hint = "these are the row numbers of the truth, not ids"
        if indices.dtype == np.bool_:
            hint = "for a mask type np.flatnonzero(users)"
        elif indices.dtype.kind == "f":
            hint = "type np.asarray(users, np.int64) if these are indices"
        msg = (
            "users must be a slice or a 1-d array of integer user indices, got 1-d of dtype "
            f"{indices.dtype}; {hint}"
        )
        raise InputTypeError(msg)
    first = int(indices[0]) if indices.size else 0
    run = slice(first, first + indices.size)
    if first >= 0 and run.stop <= n_users and (indices == np.arange(run.start, run.stop)).all():
        return run
    chosen = indices.astype(np.int64)
    # Read as unsigned, negative numbers exceed every index: one pass finds both errors.
    if chosen.size and chosen.view(np.uint64).max() >= n_users:
        outside = indices[(indices < 0) | (indices >= n_users)]
        msg = f"users names user {outside[0]}; expected indices 0 .. {n_users - 1}"
        raise InputError(msg)
    return chosen


def digests_of(data: Users | Side) -> dict[str, str]:
    """Hash the sets and the side information by name, to compare them between processes."""
    side = data.side if isinstance(data, Users) else data
    given = {**side.values, **{f"strata[{name!r}]": sets for name, sets in side.strata.items()}}
    if isinstance(data, Users):
        given |= {"truth": data.truth, "exclude": data.exclude, "candidates": data.candidates}
    digests = {}
    for name, value in given.items():
        arrays = getattr(value, "entries", value)
        if isinstance(value, SharedSet):
            arrays = value.items
        elif isinstance(value, ItemSets):
            arrays = value.rows(slice(0, value.n_users))
            if name not in ("truth", "profile"):  # the others are sets, whose values do not count
                arrays = arrays._replace(values=np.empty(0))
        if arrays is None or (name == "exclude" and not len(arrays.items)):
            continue
        hashed = hashlib.blake2b(digest_size=8)
        for array in arrays if isinstance(arrays, Rows) else (arrays,):
            hashed.update(f"{array.dtype} {array.shape}".encode())
            hashed.update(np.ascontiguousarray(array).data)
        digests[name] = hashed.hexdigest()
    return digests
