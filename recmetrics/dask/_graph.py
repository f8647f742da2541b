"""The tasks of a call and their inputs: one chain of tasks per block of users.

Nothing is computed here. A task reads another task's result, or a slice of the caller's data, which
is sent with the task. No data are only in the memory of one worker, so a lost worker costs only the
time to run its tasks again.

A block is the range of users of one chunk of scores. A chunk row has the chunks of one block, in
the order of their items.
"""

from __future__ import annotations  # the types of Dask are not those of the stubs

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from recmetrics._core.errors import InputTypeError, ShapeError, install
from recmetrics._core.inputs import (
    CLIP_OR_SCORE,
    ItemSets,
    SharedSet,
    Users,
    check_matrix,
    check_shape,
    read_side,
)
from recmetrics._core.results import this_version, warn_of_swallowed
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
_MAX_MERGED = 8


class TaskGraph:
    """The tasks of one call: the data and the results of each block of users."""

    def __init__(
        self,
        blocks: Sequence[slice],
        n_items: int,
        ground_truth: Any,
        options: Mapping[str, Any],
        request: Request,
    ) -> None:
        """Read what is in memory, and make a task for each block that reads its users.

        ``options`` are the keyword arguments of the call by name.
        """
        shape = blocks[-1].stop, n_items
        profile = options.get("profile")
        inputs = dict(options)
        if isinstance(profile, da.Array):
            # Workers check the entries. An empty matrix stands for them, to check the shape here.
            inputs["profile"] = sp.csr_array(profile.shape)
        side_data = read_side([spec.of_all_strata() for spec in request.of_side], inputs, *shape)
        if "profile" not in side_data.values:
            profile = None  # no metric reads it
        of_items = {
            name: value
            for name, value in side_data.values.items()
            if name not in side_data.of_users
        }
        side_of_items = replace(side_data, values=of_items)
        cutoffs = request.cutoffs(n_items)
        self._job = Job(request, side_of_items, cutoffs, n_items, this_version())
        self._blocks = blocks
        self._shared_job = _shared(self._job)

        negative_hint = None if request.drops_negative else CLIP_OR_SCORE
        truths = _by_block(ground_truth, "truth", shape, blocks, negative_hint)
        excludes = _by_block(options.get("exclude"), "exclude", shape, blocks)
        candidates = _by_block(options.get("candidates"), "candidates", shape, blocks)
        profiles = _by_block(profile, "profile", shape, blocks)
        strata = {
            name: _by_block(options["strata"][name], f"strata[{name!r}]", shape, blocks)
            for name in request.strata
        }
        self._users = []
        for i, block in enumerate(blocks):
            strata_of_block = {name: sets[i] for name, sets in strata.items()}
            users = _task(read_block)(
                block, truths[i], excludes[i], candidates[i], profiles[i], strata_of_block
            )
            self._users.append(users)
        self._swallowed = []
        if options.get("exclude") is not None:
            self._swallowed = [_task(Users.swallowed)(users) for users in self._users]

    def of_scores(self, scores: Any) -> list[Task]:
        """Make a task for each block that measures its users by its chunks of scores."""
        depth = self._job.depth
        tasks = []
        for chunk_row, users in zip(_chunk_rows(scores), self._users, strict=True):
            if len(chunk_row) == 1 or self._job.request.whole_rows:
                tasks.append(_task(measure_rows, nout=2)(chunk_row, users, self._shared_job))
            else:
                best = [_task(best_of_chunk)(chunk, users, self._shared_job) for chunk in chunk_row]
                best = _merge(best, lambda some_best: _task(best_of)(some_best, depth))
                tasks.append(_task(measure_best, nout=2)(best, users, self._shared_job))
        return tasks

    def of_factors(self, user_factors: Any, item_factors: Any, item_bias: Any) -> list[Task]:
        """Make a task for each block that measures its users by factors of users and items.

        The factors of a user are in one chunk, so that each chunk row has one.
        """
        items = _whole(item_factors)
        bias = _whole(item_bias)
        return [
            _task(measure_factors, nout=2)(chunk_row[0], items, bias, users, self._shared_job)
            for chunk_row, users in zip(_chunk_rows(user_factors), self._users, strict=True)
        ]

    def values(self, tasks: Sequence[Task], *, lazy: bool) -> dict[str, Any]:
        """Give the values of ``Metrics.compute``, as arrays of NumPy or, ``lazy``, of Dask.

        ``tasks`` measure the blocks; each gives the values of its users and their lists.
        """
        request = self._job.request
        # All metrics of a block are one chunk: a task per metric and block would be too many.
        n_metrics = len(request.per_user)
        chunks = [
            da.from_delayed(values, (n_metrics, users.stop - users.start), np.float64)
            for (values, _), users in zip(tasks, self._blocks, strict=True)
        ]
        texts = list(request.per_user)
        arrays = [da.concatenate(chunks, axis=1)]
        if request.of_exposure:
            lists_of_blocks = [lists for _, lists in tasks]
            lists = _merge(
                lists_of_blocks, lambda some_lists: _task(add_up)(some_lists, self._shared_job)
            )
            system_values = _task(measure_all)(lists, self._shared_job)
            texts += request.of_exposure
            arrays.append(da.from_delayed(system_values, (len(request.of_exposure),), np.float64))

        if lazy:
            rows = list(chain(*arrays))
        else:
            *computed, swallowed_counts = dask.compute(*arrays, self._swallowed)
            # Each block has three counts; the sum begins with zeros, since there may be no counts.
            warn_of_swallowed(*np.sum([(0, 0, 0), *swallowed_counts], axis=0).tolist())
            rows = [np.array(row) for row in chain(*computed)]
        values = dict(zip(texts, rows, strict=True))
        return {text: values[text] for text in request.definitions}


def blocks_of(chunks: Sequence[int]) -> list[slice]:
    """List the ranges of users, or of items, that chunks of these lengths cover."""
    edges = np.concatenate(([0], np.cumsum(chunks))).astype(int).tolist()
    return [slice(*edge) for edge in pairwise(edges)]


def check_array(array: Any, name: str, instead: str) -> None:
    """Refuse anything but a Dask array of real numbers, 2-d and of known shape.

    ``instead`` is the function that takes other arrays.
    """
    if not isinstance(array, da.Array):
        msg = (
            f"{name} must be a dask.array, got {type(array).__name__}; "
            f"type dask.array.from_array({name}, chunks=(1000, -1)), or use {instead}"
        )
        raise InputTypeError(msg)
    check_matrix(array, name)
    _refuse_unknown_lengths(array, name)


def _refuse_unknown_lengths(array: Any, name: str) -> None:
    """Refuse a Dask array whose shape is not known before it is computed."""
    if np.isnan(array.shape).any():
        msg = (
            f"{name} has chunks of unknown length, expected a Dask array of known shape; "
            f"type {name}.compute_chunk_sizes()"
        )
        raise ShapeError(msg)


def _task(function: Callable[..., Any], nout: int | None = None) -> Callable[..., Task]:
    """Give a function that makes a task of each call; the task has ``nout`` results, None: one."""
    return delayed(function, pure=False, nout=nout)  # type: ignore[no-any-return]


def _shared(value: Any) -> Task:
    """Make a task of a value that many tasks read, so that it is sent to a worker once."""
    return delayed(value, traverse=False, pure=False)


def _merge(tasks: list[Task], merge: Callable[[list[Task]], Task]) -> list[Task]:
    """Merge the results of tasks a few at a time, by tasks that ``merge`` makes, to a few."""
    while len(tasks) > _MAX_MERGED:
        starts = range(0, len(tasks), _MAX_MERGED)
        tasks = [merge(tasks[start : start + _MAX_MERGED]) for start in starts]
    return tasks


def _chunk_rows(array: Any) -> list[list[Chunk]]:
    """The chunks of each block of users; a chunk of no item is left out, unless all are such."""
    blocks, item_ranges = (blocks_of(chunks) for chunks in array.chunks)
    columns = [i for i, items in enumerate(item_ranges) if items.stop > items.start] or [0]
    return [
        [Chunk(chunk_tasks[i], users, item_ranges[i]) for i in columns]
        for users, chunk_tasks in zip(blocks, array.to_delayed(), strict=True)
    ]


def _whole(array: Any) -> Task:
    """Make one task of an array of NumPy or Dask, so that it is sent to a worker once.

    None stays None.
    """
    if isinstance(array, da.Array):
        (task,) = array.rechunk(-1).to_delayed().ravel()
        return task
    return None if array is None else _shared(array)


def _by_block(
    value: Any,
    name: str,
    shape: tuple[int, int],
    blocks: Sequence[slice],
    negative_hint: str | None = "",
) -> list[Task | ItemSets | None]:
    """The part of ``value``, item sets or a profile in any form, for each block of users.

    The parts of a Dask array are tasks. ``name`` and ``negative_hint`` are those of ``read_part``.
    """
    if value is None:
        return [None] * len(blocks)
    if isinstance(value, da.Array):
        return _chunks_by_block(value, name, shape, blocks, negative_hint)
    sets = read_part(value, name, shape, negative_hint).in_memory()
    if isinstance(sets, SharedSet):  # one set for all users
        return [_shared(sets)] * len(blocks)
    return [sets.take(users) for users in blocks]


def _chunks_by_block(
    array: Any,
    name: str,
    shape: tuple[int, int],
    blocks: Sequence[slice],
    negative_hint: str | None,
) -> list[Task | ItemSets | None]:
    """Make a task for each block that reads its part of a Dask array, as ``_by_block``."""
    _refuse_unknown_lengths(array, name)
    if name == "truth" and array.shape == shape[:1]:  # one item index for each user
        return [_task(read_classes)(_whole(array[users]), users, shape[1]) for users in blocks]
    if name != "profile":
        check_shape(array, shape, name)
    chunk_rows = _chunk_rows(array)
    tasks = []
    for users in blocks:
        overlapping = []
        for chunk_row in chunk_rows:
            row_users = chunk_row[0].users
            if row_users.start < users.stop and row_users.stop > users.start:
                overlapping.append(chunk_row)
        # A block of no user overlaps nothing: the first chunk row gives it the number of items.
        overlapping = overlapping or chunk_rows[:1]
        tasks.append(_task(read_chunks)(name, overlapping, users, negative_hint))
    return tasks
