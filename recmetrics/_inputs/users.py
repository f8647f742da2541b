"""The users of a call: their sets of items and side information."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from recmetrics._errors import warn
from recmetrics._inputs.ranked import Rankings
from recmetrics._inputs.read_sets import (
    read_candidates,
    read_exclude,
    read_ranked_truth,
    read_truth,
    read_whole_truth,
)
from recmetrics._inputs.scores import MAY_BE_EXCHANGED, ScoreMatrix, SparseScores
from recmetrics._inputs.sets import NO_SIDE, ItemMatrix, ItemSets, Rows, SharedSet, Side, Users
from recmetrics._inputs.side import read_side
from recmetrics._spec import Request

_INSPECTED = 1 << 14  # scores, of the first rows
_GRADES = 5  # the largest grade of a common scale


class _Shaped(Protocol):
    @property
    def shape(self) -> tuple[int, int | None]: ...


def read_users(
    scores: _Shaped,
    ground_truth: Any,
    given: Mapping[str, Any],
    request: Request,
    side: Side | None = None,
) -> Users:
    """Read the users of scores or rankings.

    Parameters
    ----------
    scores
        The scores or rankings of the users; only the shape and the largest item are read.
    ground_truth
        The truth, in any form.
    given
        The shared keywords of the call.
    request
        The request; only side information that one of its metrics needs is read.
    side
        Side information that has been read; None to read it from ``given``.
    """
    if isinstance(scores, Rankings):
        truth = read_ranked_truth(
            ground_truth, scores.shape, scores.largest_item, request.n_threads
        )
    else:
        hint = getattr(scores, "if_transposed", None)
        truth = read_truth(
            ground_truth, scores.shape, if_transposed=hint, n_threads=request.n_threads
        )
        if isinstance(scores, ScoreMatrix):
            _warn_if_exchanged(scores, truth)
    return _users(truth, truth.n_items, given, request, side)


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
    truth, size = read_whole_truth(ground_truth, n_items, request.n_threads)
    return _users(truth, size, given, request)


def _users(
    truth: ItemSets,
    n_items: int | None,
    given: Mapping[str, Any],
    request: Request,
    side: Side | None = None,
) -> Users:
    exclude, candidates = given.get("exclude"), given.get("candidates")
    shape: Any = truth.n_users, n_items  # n_items is known wherever these two are taken
    threads = request.n_threads
    exclude = None if exclude is None else read_exclude(exclude, shape, threads)
    candidates = None if candidates is None else read_candidates(candidates, shape, threads)
    if side is None:
        side = NO_SIDE
        if request.of_side:
            side = read_side(request.of_side, given, truth.n_users, n_items)
    return Users(truth, exclude, candidates, side, side.n_items or n_items)


def digests_of_side(side: Side) -> dict[str, str]:
    """Hash the side information by name."""
    return _digests({**side.values, **_strata_of(side)}, _strata_of(side))


def digests_of(users: Users) -> dict[str, str]:
    """Hash the sets and the side information by name, to compare them between processes."""
    given = users._asdict() | {**users.side.values, **_strata_of(users.side)}
    return _digests(given, ("exclude", "candidates", *_strata_of(users.side)))


def _strata_of(side: Side) -> dict[str, ItemSets]:
    return {f"strata[{name!r}]": sets for name, sets in side.strata.items()}


def _digests(given: dict[str, Any], of_sets: Iterable[str]) -> dict[str, str]:
    for name in of_sets:  # their values do not count, nor do empty ones
        sets = given[name]
        if isinstance(sets, ItemSets) and not isinstance(sets, SharedSet):
            rows = sets.rows(slice(0, sets.n_users))
            empty = name == "exclude" and not len(rows.items)
            given[name] = None if empty else rows._replace(values=np.empty(0))
    kinds = (ItemSets, ItemMatrix, Rows, np.ndarray)
    return {name: _digest(value) for name, value in given.items() if isinstance(value, kinds)}


def _digest(value: Any) -> str:
    if isinstance(value, SharedSet):
        value = value.items
    elif isinstance(value, ItemSets):
        value = value.rows(slice(0, value.n_users))
    elif isinstance(value, ItemMatrix):
        value = value.entries
    hashed = hashlib.blake2b(digest_size=8)
    for array in value if isinstance(value, Rows) else (value,):
        hashed.update(f"{array.dtype} {array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()
