"""The users of a call: their sets of items and side information, and which of them a batch has."""

import hashlib
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

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
from recmetrics._core.inputs.labels import read_labels, refuse_labels_first
from recmetrics._core.inputs.ranked import Rankings
from recmetrics._core.inputs.read_sets import (
    CLIP,
    CLIP_OR_CHOOSE,
    CLIP_OR_SCORE,
    read_item_sets,
    read_ranked_truth,
    read_whole_truth,
)
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

INSPECTED_SCORES = 1 << 14  # so many scores of the first rows are read for a warning
# Of scores that stand as the truth, at least this share is above 0, and this share no whole number.
MOST_NUMBERS = 0.9
_LARGEST_GRADE = 5  # of a common scale of ratings
# Most calls hold no tables; these need no look at their labels.
_WITHOUT_LABELS = {np.ndarray, np.memmap, sp.csr_array, sp.csr_matrix, list, tuple, NoneType}


def read_users(
    scores: Any,
    ground_truth: Any,
    keywords: Mapping[str, Any],
    request: Request,
    side: Side | None = None,
) -> Users:
    """Read the users of scores or rankings, of which only the shape and the items are read.

    ``keywords`` are the shared ones of the call. ``side`` is side information that was read before;
    if it is None, what the metrics of the request need is read from ``keywords``.
    """
    if isinstance(scores, Rankings):
        with at_fault("truth"):
            truth = read_ranked_truth(
                ground_truth,
                scores.shape,
                scores.largest_item,
                request.n_threads,
                None if request.drops_negative else CLIP,
            )
    else:
        # Only factors have their own advice for a truth with users and items exchanged.
        if_transposed = getattr(scores, "if_transposed", None)
        try:
            truth = read_item_sets(
                ground_truth,
                "truth",
                scores.shape,
                request.n_threads,
                if_transposed=if_transposed,
                if_negative=None if request.drops_negative else CLIP_OR_SCORE,
            )
        except RecmetricsError as error:
            blame(error, "truth")
            if isinstance(error, ShapeError):
                # Advice on labels would leave out the items of a wider truth that have no score.
                is_wider = getattr(ground_truth, "shape", ())[1:] > scores.shape[1:]
                if not is_wider:
                    refuse_labels_first(error, {**scores.tables, "truth": ground_truth})
            raise
        if isinstance(scores, ScoreMatrix):
            warn_if_exchanged(scores, truth)
    tables = {**scores.tables, "truth": ground_truth}
    return _users(truth, tables, keywords, request, side)


def warn_if_exchanged(scores: ScoreMatrix, truth: ItemSets) -> None:
    """Warn if scores and truth may be exchanged.

    They may be if the truth has hardly a 0 and the scores are sparse, or if the truth holds
    fractions and the scores hold grades alone. A truth with a negative number is then an error.
    """
    n_users, n_items = scores.shape
    if truth.mean_items < MOST_NUMBERS * n_items or n_items < 2 or not n_users:
        return
    first_user = slice(0, 1)
    if isinstance(scores, SparseScores):
        if len(truth.rows(first_user).items) == n_items:
            msg = f"all {n_items:,} items are relevant to the first user, and scores is sparse"
            warn(f"{msg}; {MAY_BE_EXCHANGED}")
        return
    # The first user mostly decides, and a few are read only if it does not.
    few_users = slice(0, min(n_users, 1 + INSPECTED_SCORES // n_items))
    for rows in (first_user, few_users):
        block = scores.array[rows]
        if not look_like_grades(block):
            return
        try:
            relevances = truth.rows(rows).values
        except InputError as error:  # a negative one: the advice for a truth would be wrong
            cause = str(error).partition("; ")[0]
            msg = f"{cause}, and the scores look like grades; {MAY_BE_EXCHANGED}"
            raise InputError(msg, argument="truth") from None
        if np.count_nonzero(relevances < 1.0) < MOST_NUMBERS * block.size:
            return
    msg = "the truth holds fractions between 0 and 1, and the scores look like grades"
    warn(f"{msg}; {MAY_BE_EXCHANGED}")


def look_like_grades(numbers: npt.NDArray[Any]) -> bool:
    """Say whether numbers, one or more, are whole ones from 0 up to those of a scale of ratings."""
    is_in_range = (
        numbers.dtype.kind in "biuf" and numbers.min() == 0 and numbers.max() <= _LARGEST_GRADE
    )
    return bool(is_in_range and np.all(numbers % 1 == 0))


def read_whole_users(
    ground_truth: Any, n_items: int | None, keywords: Mapping[str, Any], request: Request
) -> Users:
    """Read the users of a truth without scores; the size of the catalogue must be known."""
    with at_fault("truth"):
        if_negative = None if request.drops_negative else CLIP_OR_CHOOSE
        truth = read_whole_truth(ground_truth, n_items, request.n_threads, if_negative)
    return _users(truth, {"truth": ground_truth}, keywords, request)


def _users(
    truth: ItemSets,
    tables: Mapping[str, Any],
    keywords: Mapping[str, Any],
    request: Request,
    side: Side | None = None,
) -> Users:
    """Read exclude, candidates and side information of the users of a truth.

    ``tables`` are the scores and the truth as given, whose labels those of the keywords must have.
    ``side`` is that of ``read_users``.
    """
    shape = truth.n_users, truth.n_items  # n_items is known where exclude or candidates are taken
    sets: dict[str, Any] = {}
    for name in ("exclude", "candidates"):
        if keywords.get(name) is not None:
            try:
                sets[name] = read_set(keywords[name], name, shape, request.n_threads)
            except ShapeError as error:
                refuse_labels_first(error, {**tables, name: keywords[name]})
                raise
    if side is None:
        side = NO_SIDE
        if request.of_side:
            side = read_side(request.of_side, keywords, truth.n_users, truth.n_items)
    elif truth.n_items is not None:
        check_strata(side, truth.n_items)
    given = {**tables, **arguments_read(keywords, side)}
    labels = side.labels
    if labels or not _WITHOUT_LABELS.issuperset(map(type, given.values())):
        labels = read_labels(given, labels)
    n_items = side.n_items or truth.n_items
    return Users(truth, **sets, side=side, n_items=n_items, labels=labels)


def arguments_read(keywords: Mapping[str, Any], side: Side) -> dict[str, Any]:
    """The sets and the side information of a call that are read, by argument, as given."""
    given = {"exclude": keywords.get("exclude"), "candidates": keywords.get("candidates")}
    for name in side.values:
        given[name] = keywords.get(name)
    for name in side.strata:
        given[f"strata[{name!r}]"] = (keywords.get("strata") or {}).get(name)
    return given


def read_set(
    value: Any, name: str, shape: tuple[int, int | None], n_threads: int | None = None
) -> ItemSets:
    """Read exclude or candidates; each error gets the argument's ``name``."""
    with at_fault(name):
        return read_item_sets(value, name, shape, n_threads)


def read_which_users(
    users: WhichUsers, *, n_users: int, n_rows: int, source: str, is_part: bool = False
) -> UserIndex:
    """Read ``users=``, which names the user of each row of the ``source``, scores or ranking.

    ``is_part`` says that the users are rows of the truth of a part of the users.
    """
    with at_fault("users"):
        if isinstance(users, slice):
            index = _sliced(users, n_users)
        else:
            # An update names rows of a truth, and a part's truth is one of some users.
            expected = "indices" if source == "truth" else "rows of the evaluator's truth,"
            index = _indices(users, n_users, expected)
    n_named = len(as_indices(index))
    if n_named != n_rows:
        hint = ""
        if is_part:
            hint = (
                f"; users count within the part, 0 .. {n_users - 1}; leave users= out for the rows "
                "after the last batch"
            )
        msg = (
            f"{source} has {n_rows} rows, but users= names {n_named} users; expected one user "
            f"for each row{hint}"
        )
        raise ShapeError(msg, argument="users")
    return index


def _sliced(users: slice, n_users: int) -> UserIndex:
    """The users of a slice: as a slice with known ends if they are consecutive, else indices."""
    try:
        rows = range(n_users)[users]
    except (TypeError, ValueError) as error:
        msg = f"users must be a slice of integer user indices, got {users!r} ({error})"
        raise InputTypeError(msg) from None
    if rows.step == 1 and rows:
        return slice(rows.start, rows.stop)
    return np.arange(rows.start, rows.stop, rows.step)


def _indices(users: Any, n_users: int, expected: str) -> UserIndex:
    """Read indices of users: as a slice if they are consecutive; those outside are refused.

    ``expected`` says in the error what they are.
    """
    is_matrix = len(getattr(users, "shape", ())) > 1  # sparse or on a device, too
    indices = users if is_matrix else as_array(users, "users")
    if len(indices.shape) != 1:
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
    if not indices.size:
        return slice(0, 0)

    begin = int(indices[0])
    end = begin + indices.size
    if begin >= 0 and end <= n_users and (indices == np.arange(begin, end)).all():
        return slice(begin, end)
    index = indices.astype(np.int64)
    # Read as unsigned, negative numbers exceed every index: one pass finds both errors.
    if index.view(np.uint64).max() >= n_users:
        outside = indices[(indices < 0) | (indices >= n_users)]
        msg = f"users names user {outside[0]}; expected {expected} 0 .. {n_users - 1}"
        raise InputError(msg)
    return index


def digests_of(data: Users | Side, *, is_part: bool) -> dict[str, str]:
    """Hash the sets and the side information by name, to compare them between processes.

    For a part of the users, sets and side information with rows of users are left out.
    """
    side = data.side if isinstance(data, Users) else data
    pieces: dict[str, Any] = dict(side.values)
    pieces |= {f"strata[{stratum!r}]": sets for stratum, sets in side.strata.items()}
    if isinstance(data, Users):
        pieces |= {"truth": data.truth, "exclude": data.exclude, "candidates": data.candidates}

    digests = {}
    for name, piece in pieces.items():
        is_of_users = isinstance(piece, ItemSets) and not isinstance(piece, SharedSet)
        if piece is None or (is_part and is_of_users):
            continue
        arrays = _arrays_of(piece, name)
        if name == "exclude" and not len(arrays[1]):  # of no items, as if it were not given
            continue
        digest = hashlib.blake2b(digest_size=8)
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        digests[name] = digest.hexdigest()
    return digests


def _arrays_of(piece: Any, name: str) -> tuple[npt.NDArray[Any], ...]:
    """The arrays that hold a piece of the users' data."""
    if isinstance(piece, SharedSet):
        return (piece.items,)
    if isinstance(piece, ItemSets):
        rows = piece.rows(slice(0, piece.n_users))
        if name in ("truth", "profile"):
            return rows
        return rows._replace(values=np.empty(0))  # the others are sets, whose values do not count
    entries = getattr(piece, "entries", piece)  # of an ``ItemMatrix``
    return entries if isinstance(entries, Rows) else (entries,)
