"""The tasks of a call and their inputs: one chain of tasks per block of users.

Nothing is computed here. A task reads another task's result, or a slice of the caller's data, which
is sent with the task. No data are only in the memory of one worker, so a lost worker costs only the
time to run its tasks again.
"""

from __future__ import annotations  # the types of Dask are not those of the stubs

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from recmetrics._core.errors import InputTypeError, ShapeError, install
from recmetrics._core.inputs import ItemSets, SharedSet, Users, check_matrix, check_shape, read_side
from recmetrics._core.results import warn_of_swallowed
from recmetrics._core.spec import Request
from recmetrics.dask._tasks import (
    Chunk,
    Job,
    add_up,
    best_of,
    best_of_chunk,
    measure_all,
    measure_best,
    measure_factors,
    measure_rows,
    read_block,
    read_chunks,
    read_classes,
    read_part,
)

try:
    import dask
    import dask.array as da
    from dask.delayed import delayed
except ImportError as error:
    _msg = f"recmetrics.dask needs Dask; type: {install('dask')}"
    raise ImportError(_msg) from error

Task = Any
"""The result of a task that has not run yet: a ``dask.delayed.Delayed``."""

# Results that one task merges: more would fill its memory, fewer would make more tasks.
_FAN_IN = 8


class TaskGraph:
    """The tasks of one call: the data and the results of each block of users."""

    def __init__(
        self,
        blocks: Sequence[slice],
        n_items: int,
        ground_truth: Any,
        given: Mapping[str, Any],
        request: Request,
    ) -> None:
        shape = blocks[-1].stop, n_items
        profile = given.get("profile")
        checked = given
        if isinstance(profile, da.Array):  # its shape is checked here, its entries by workers
            checked = {**given, "profile": sp.csr_array(profile.shape)}
        side = read_side([spec.of_all_strata() for spec in request.of_side], checked, *shape)
        has_profile = "profile" in side.values
        of_items = {n: one for n, one in side.values.items() if n not in side.of_users}
        self._job = Job(request, replace(side, values=of_items), request.cutoffs(n_items), n_items)
        self._blocks = blocks
        self._sent = _shared(self._job)
        sources = (
            _by_block(ground_truth, "truth", shape, blocks),
            _by_block(given.get("exclude"), "exclude", shape, blocks),
            _by_block(given.get("candidates"), "candidates", shape, blocks),
            _by_block(profile if has_profile else None, "profile", shape, blocks),
        )
        strata = {
            name: _by_block(given["strata"][name], f"strata[{name!r}]", shape, blocks)
            for name in request.strata
        }
        self._users = [
            _task(read_block)(
                index,
                *(source[i] for source in sources),
                {name: parts[i] for name, parts in strata.items()},
            )
            for i, index in enumerate(blocks)
        ]
        counted = self._users if given.get("exclude") is not None else []
        self._swallowed = [_task(Users.swallowed)(users) for users in counted]

    def of_scores(self, scores: Any) -> list[Task]:
        """Measure each block of users by its chunks of scores."""
        depth = self._job.depth
        measured = []
        for line, users in zip(_lines(scores), self._users, strict=True):
            if len(line) == 1 or self._job.request.whole_rows:
                measured.append(_task(measure_rows, nout=2)(line, users, self._sent))
            else:
                best = [_task(best_of_chunk)(chunk, users, self._sent) for chunk in line]
                best = _narrowed(best, lambda few: _task(best_of)(few, depth), _FAN_IN)
                measured.append(_task(measure_best, nout=2)(best, users, self._sent))
        return measured

    def of_factors(self, user_factors: Any, item_factors: Any, item_bias: Any) -> list[Task]:
        """Measure each block of users by its factors and those of all items."""
        items, bias = _whole(item_factors), _whole(item_bias)
        return [
            _task(measure_factors, nout=2)(line[0], items, bias, users, self._sent)
            for line, users in zip(_lines(user_factors), self._users, strict=True)
        ]

    def result(self, measured: Sequence[Task], *, lazy: bool) -> dict[str, Any]:
        """Give the result of ``Metrics.compute``, as arrays of NumPy or, ``lazy``, of Dask."""
        request = self._job.request
        per_user, of_all = request.per_user, list(request.of_exposure)
        values = da.concatenate(
            [
                da.from_delayed(block, (len(per_user), users.stop - users.start), np.float64)
                for (block, _), users in zip(measured, self._blocks, strict=True)
            ],
            axis=1,
        )
        # All metrics of a block are one chunk: a task per metric and block would be too many.
        parts = [values]
        if of_all:
            lists = [lists for _, lists in measured]
            few = _narrowed(lists, lambda few: _task(add_up)(few, self._sent), _FAN_IN)
            measured_all = _task(measure_all)(few, self._sent)
            parts.append(da.from_delayed(measured_all, (len(of_all),), np.float64))
        found: dict[str, Any] = {}
        computed: Sequence[Any] = parts
        if not lazy:
            *computed, counts = dask.compute(*parts, self._swallowed)
            warn_of_swallowed(*np.sum([(0, 0), *counts], axis=0).tolist())
        for texts, rows in zip((per_user, of_all), computed, strict=False):
            found |= zip(texts, rows, strict=True)
        return {
            text: found[text] if lazy else np.array(found[text]) for text in request.definitions
        }


def blocks_of(chunks: Sequence[int]) -> list[slice]:
    """List the ranges that chunks of these lengths cover."""
    edges = np.concatenate(([0], np.cumsum(chunks))).astype(int).tolist()
    return [slice(*edge) for edge in pairwise(edges)]


def check_array(array: Any, what: str, instead: str) -> None:
    """Refuse anything but a Dask array of real numbers, 2-d and of known shape."""
    if not isinstance(array, da.Array):
        msg = (
            f"{what} must be a dask.array, got {type(array).__name__}; "
            f"type dask.array.from_array({what}, chunks=(1000, -1)), or use {instead}"
        )
        raise InputTypeError(msg)
    check_matrix(array, what)
    _check_known(array, what)


def _check_known(array: Any, what: str) -> None:
    if np.isnan(array.shape).any():
        msg = (
            f"{what} has chunks of unknown length, expected a Dask array of known shape; "
            f"type {what}.compute_chunk_sizes()"
        )
        raise ShapeError(msg)


def _task(function: Callable[..., Any], nout: int | None = None) -> Callable[..., Task]:
    return delayed(function, pure=False, nout=nout)  # type: ignore[no-any-return]


def _shared(value: Any) -> Task:
    return delayed(value, traverse=False, pure=False)


def _narrowed(parts: list[Task], merge: Callable[[list[Task]], Task], at_most: int) -> list[Task]:
    """Merge ``parts`` a few at a time, until there are ``at_most``."""
    while len(parts) > at_most:
        parts = [merge(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return parts


def _lines(array: Any) -> list[list[Chunk]]:
    users, columns = (blocks_of(chunks) for chunks in array.chunks)
    kept = [i for i, own in enumerate(columns) if own.stop > own.start] or [0]
    return [
        [Chunk(line[i], own, columns[i]) for i in kept]
        for own, line in zip(users, array.to_delayed(), strict=True)
    ]


def _whole(array: Any) -> Task:
    if isinstance(array, da.Array):
        (task,) = array.rechunk(-1).to_delayed().ravel()
        return task
    return None if array is None else _shared(array)


def _by_block(
    value: Any, what: str, shape: tuple[int, int], blocks: Sequence[slice]
) -> list[Task | ItemSets | None]:
    """The part of ``value``, in any form, for each block of users."""
    if isinstance(value, da.Array):
        _check_known(value, what)
        if what == "truth" and value.shape == shape[:1]:  # one item index for each user
            return [_task(read_classes)(_whole(value[own]), own, shape[1]) for own in blocks]
        if what != "profile":
            check_shape(value, shape, what)
        lines, tasks = _lines(value), []
        for users in blocks:
            own = [
                line
                for line in lines
                if line[0].users.start < users.stop and line[0].users.stop > users.start
            ]
            tasks.append(_task(read_chunks)(what, own or lines[:1], users))
        return tasks
    if value is None:
        return [None] * len(blocks)
    sets = read_part(value, what, shape).in_memory()
    if isinstance(sets, SharedSet):
        return [_shared(sets)] * len(blocks)
    return [sets.take(users) for users in blocks]
