"""The tasks of a call and their inputs: one chain of tasks per block of users.

Nothing is computed here. A task reads another task's result, or a slice of the caller's data, which
is sent with the task. No data are only in the memory of one worker, so a lost worker costs only the
time to run its tasks again.

A block is the range of users of one chunk of scores. A chunk row has the chunks of one block, in
the order of their items.
"""

from __future__ import annotations  # the types of Dask are not those of the stubs

import pickle
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from recmetrics._core.errors import InputTypeError, ShapeError, install, warn, warn_once_of_each
from recmetrics._core.inputs import (
    CLIP_OR_SCORE,
    ItemSets,
    SharedSet,
    arguments_read,
    as_array,
    check_matrix,
    check_real,
    check_shape,
    read_labels,
    read_side,
)
from recmetrics._core.results import this_version, warn_of_swallowed
from recmetrics._core.spec import Request
from recmetrics.dask._tasks import (
    Chunk,
    Job,
    best_of,
    best_of_chunk,
    check_form,
    itself,
    join_lists,
    lists_of,
    measure_all,
    measure_best,
    measure_factors,
    measure_rows,
    merge_blocks,
    read_chunks,
    read_classes,
    read_part,
    values_of,
    without_lists,
)

try:
    import dask
    import dask.array as da
    from dask.delayed import delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.layers import ArrayBlockwiseDep, ArraySliceDep
except ImportError as error:
    _msg = f"recmetrics.dask needs Dask; type: {install('dask')}"
    raise ImportError(_msg) from error

Task = Any
"""The result of a task that has not run yet: a ``dask.delayed.Delayed``."""

# Results that one task merges: more would fill its memory, fewer would make more tasks.
_MAX_MERGED = 8

# Bytes of scores of a block: below the first, a cluster warns, and the second is the advice.
_FEWEST_BYTES = 5_000_000
_GOOD_BYTES = 100_000_000

# Bytes of what is the same for all blocks: above this, no task carries a copy.
_LARGE_BYTES = 100_000

_NO_OBJECT = np.empty((0, 0), object)
_NO_NUMBER = np.empty((0, 0))


class TaskGraph:
    """The tasks of one call: the sets of each block of users, and the work on its scores.

    Where a task makes a chunk of scores, Dask fuses it with the task that ranks the chunk.
    """

    def __init__(
        self,
        chunks: Sequence[int],
        row_bytes: int,
        n_items: int,
        tables: Mapping[str, Any],
        options: Mapping[str, Any],
        request: Request,
    ) -> None:
        """Read what is in memory, and make a task for each block that reads the rest.

        ``chunks`` are the numbers of users of the blocks, ``row_bytes`` the bytes of the scores of
        a user, ``tables`` the scores, or the factors, and the truth as given, and ``options`` the
        keyword arguments of the call, all by name.
        """
        _warn_of_small_blocks(chunks, row_bytes)
        self._chunks = chunks
        shape = sum(chunks), n_items
        profile = options.get("profile")
        inputs = dict(options)
        if isinstance(profile, da.Array):
            _check_chunks(profile, "profile")
            # Workers check the entries. An empty matrix stands for them, to check the shape here.
            inputs["profile"] = sp.csr_array(profile.shape)
        side_data = read_side([spec.of_all_strata() for spec in request.of_side], inputs, *shape)
        read_labels({**tables, **arguments_read(options, side_data)})
        of_items = {
            name: value
            for name, value in side_data.values.items()
            if name not in side_data.of_users
        }
        side_of_items = replace(side_data, values=of_items)

        arguments = {"truth": tables["truth"]}
        for name in ("exclude", "candidates"):
            if options.get(name) is not None:
                arguments[name] = options[name]
        if "profile" in side_data.values:  # else no metric reads it
            arguments["profile"] = profile
        for name in request.strata:
            arguments[f"strata[{name!r}]"] = options["strata"][name]

        sets_of_all = {}
        sets_in_memory = {}
        self._sets: list[Any] = []
        for name, value in arguments.items():
            negative_hint: str | None = ""
            if name == "truth":
                negative_hint = None if request.drops_negative else CLIP_OR_SCORE
            if isinstance(value, da.Array):
                self._sets += _sets_in_chunks(value, name, shape, chunks, negative_hint), "i"
                continue
            sets = read_part(value, name, shape, negative_hint).in_memory()
            if isinstance(sets, SharedSet):  # one set for all users
                sets_of_all[name] = sets
            else:
                sets_in_memory[name] = sets
        sets_of_blocks = [
            {name: sets.take(users) for name, sets in sets_in_memory.items()}
            for users in blocks_of(chunks)
        ]
        self._sets += SetsInMemory(sets_of_blocks), "i"
        cutoffs = request.cutoffs(n_items)
        job = Job(request, side_of_items, cutoffs, n_items, sets_of_all, this_version())
        self._job = job
        self._job_of_tasks: Any = job
        # Dask does not fuse tasks that read another, but a large job must be sent only once.
        if _bytes_of(job) > _LARGE_BYTES:
            self._job_of_tasks = _shared(job)

    def of_scores(self, scores: Any) -> Any:
        """Measure the users of each block by its chunks of scores."""
        if self._job.request.whole_rows:
            scores = scores.rechunk({1: -1})
        if scores.numblocks[1] == 1:
            return self._tasks(measure_rows, scores, scores.chunks)
        best = self._tasks(best_of_chunk, scores, scores.chunks)
        while best.numblocks[1] > 1:
            best = _merge_neighbours(best, 1, partial(best_of, depth=self._job.depth))
        return self._tasks(measure_best, best, (self._chunks, (self._job.n_items,)))

    def of_factors(self, user_factors: Any, item_factors: Any, item_bias: Any) -> Any:
        """Measure the users of each block by the factors of users and items.

        The factors of a user are in one chunk.
        """
        items = _shared(item_factors)
        bias = None if item_bias is None else _shared(item_bias)
        chunks = user_factors.chunks
        return self._tasks(
            measure_factors, user_factors, chunks, item_factors=items, item_bias=bias
        )

    def _tasks(
        self, function: Callable[..., Any], array: Any, chunks: tuple[Any, Any], **shared: Any
    ) -> Any:
        """Make a task of each chunk, ``function(chunk, place, *sets, job, **shared)``.

        ``chunks`` are the numbers of users and of items from which the places are made.
        The results are an array of objects, which has one for each chunk.
        """
        results = da.blockwise(
            function,
            "ij",
            array,
            "ij",
            ArraySliceDep(chunks),
            "ij",
            *self._sets,
            job=self._job_of_tasks,
            **shared,
            adjust_chunks={"i": 1, "j": 1},
            align_arrays=False,
            dtype=object,
            meta=_NO_OBJECT,
        )
        # Dask fuses the task that makes a chunk with its only reader.
        (fused,) = dask.optimize(results)
        # The inputs that are persisted live as long as a graph that is not optimised has them.
        fused.dask = HighLevelGraph.merge(results.dask, fused.dask)
        return fused

    def values(self, measured: Any, *, lazy: bool) -> dict[str, Any]:
        """Give the values of ``Metrics.compute``, as arrays of NumPy or, ``lazy``, of Dask.

        ``measured`` is an array of Dask with the ``Measured`` of each block.
        """
        request = self._job.request
        cutoffs = self._job.cutoffs
        merge = partial(merge_blocks, request=request, cutoffs=cutoffs)
        measured = _merge_neighbours(measured, 0, merge)
        of_lists = []  # the metrics of all lists, if any
        if request.of_exposure:
            lists = measured.map_blocks(lists_of, dtype=object, meta=_NO_OBJECT)
            join = partial(join_lists, request=request, cutoffs=cutoffs)
            while lists.numblocks[0] > 1:
                lists = _merge_neighbours(lists, 0, join)
            values_of_lists = lists.map_blocks(
                measure_all,
                request,
                cutoffs,
                dtype=np.float64,
                chunks=(len(request.of_exposure), 1),
                meta=_NO_NUMBER,
            )
            of_lists.append(values_of_lists[:, 0])

        if lazy:
            n_users = np.add.reduceat(self._chunks, range(0, len(self._chunks), _MAX_MERGED))
            # All metrics are in one chunk: a task for each of them would be too many.
            chunks = n_users.tolist(), len(request.per_user)
            of_users = measured.map_blocks(
                values_of, dtype=np.float64, chunks=chunks, meta=_NO_NUMBER
            )
            rows = list(chain(of_users.T, *of_lists))
        else:
            to_send = measured.map_blocks(without_lists, dtype=object, meta=_NO_OBJECT)
            blocks, of_lists = dask.compute(to_send, of_lists)
            values, _, counts, warnings = zip(*blocks.flat, strict=True)
            warn_of_swallowed(*np.sum(counts, axis=0).tolist())
            warn_once_of_each(chain(*warnings), len(self._chunks), "block")
            rows = [np.array(row) for row in chain(np.concatenate(values).T, *of_lists)]
        texts = [*request.per_user, *request.of_exposure]
        row_of = dict(zip(texts, rows, strict=True))
        return {text: row_of[text] for text in request.definitions}


class SetsInMemory(ArrayBlockwiseDep):  # type: ignore[misc]  # has no types
    """The sets of each block, which are sent in the task of the block."""

    def __init__(self, sets_of_blocks: Sequence[Mapping[str, ItemSets]]) -> None:
        super().__init__(((1,) * len(sets_of_blocks),))
        self._sets_of_blocks = sets_of_blocks
        self._token: str = dask.base.tokenize(sets_of_blocks)  # once: it reads all sets

    def __getitem__(self, block: tuple[int]) -> Mapping[str, ItemSets]:
        return self._sets_of_blocks[block[0]]

    def __dask_tokenize__(self) -> str:
        return self._token


def blocks_of(chunks: Sequence[int]) -> list[slice]:
    """List the ranges of users, or of items, that chunks of these lengths cover."""
    edges = np.concatenate(([0], np.cumsum(chunks))).astype(int).tolist()
    return [slice(*edge) for edge in pairwise(edges)]


def check_array(array: Any, name: str, instead: str) -> None:
    """Refuse anything but a Dask array that is 2-d, with chunks that can be read.

    ``instead`` is the function that takes other arrays.
    """
    if not isinstance(array, da.Array):
        advice = ""
        if hasattr(array, "to_dask_array"):  # a table of Dask
            advice = f"type {name}.to_dask_array(lengths=True), or "
        elif isinstance(array, np.ndarray | list | tuple):
            advice = f"type dask.array.from_array({name}, chunks=(1000, -1)), or "
        msg = f"{name} must be a dask.array, got {type(array).__name__}; {advice}use {instead}"
        raise InputTypeError(msg)
    check_matrix(array, name)
    _check_chunks(array, name)


def read_items(value: Any, name: str) -> Any:
    """Read what each item has, in memory or, unchanged, in a Dask array."""
    if isinstance(value, da.Array):
        _check_chunks(value, name)
        return value
    return as_array(value, name, "item")


def _check_chunks(array: Any, name: str) -> None:
    """Refuse a Dask array of unknown shape, of no real numbers, or with chunks of another form."""
    if np.isnan(array.shape).any():
        msg = (
            f"{name} has chunks of unknown length, expected a Dask array of known shape; "
            f"type {name}.compute_chunk_sizes()"
        )
        raise ShapeError(msg)
    check_real(array, name)
    check_form(array._meta, name)  # a worker checks it, too: Dask may not know the form


def _shared(value: Any) -> Task:
    """Make a task of a value that many tasks read, so that it is sent to a worker once.

    A Dask array is concatenated.
    """
    if isinstance(value, da.Array):
        (chunk,) = value.rechunk(-1).to_delayed(optimize_graph=False).ravel()
        return delayed(itself)(chunk)
    return delayed(value, traverse=False, pure=False)


def _bytes_of(value: Any) -> int:
    """Count the bytes that a value takes in a message, without a copy of its arrays."""
    buffers: list[pickle.PickleBuffer] = []
    message = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(message) + sum(buffer.raw().nbytes for buffer in buffers)


def _merge_neighbours(parts: Any, axis: int, merge: Callable[..., Any]) -> Any:
    """Merge a few neighbours along an axis in a task, so that few tasks read their results."""
    name = f"merge-{dask.base.tokenize(parts.name)}"
    numblocks = [*parts.numblocks]
    numblocks[axis] = -(-numblocks[axis] // _MAX_MERGED)
    keys_of_groups: dict[Any, list[Any]] = defaultdict(list)
    for place in np.ndindex(parts.numblocks):
        key = parts.name, *place
        # Fused tasks have other keys, of which this one is an alias. An alias that is read is a
        # task of its own: 200 blocks took 1.6 s with their aliases, and take 1.1 s.
        task = parts.dask[key]
        if type(task).__name__ == "Alias":
            (key,) = task.dependencies
        group = [*place]
        group[axis] //= _MAX_MERGED
        keys_of_groups[name, *group].append(key)
    tasks = {group: (merge, keys) for group, keys in keys_of_groups.items()}
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[parts])
    chunks = tuple((1,) * number for number in numblocks)
    return da.Array(graph, name, chunks, dtype=object, meta=_NO_OBJECT)


def _warn_of_small_blocks(chunks: Sequence[int], row_bytes: int) -> None:
    """Warn where a cluster takes longer to send the tasks of blocks than to do them."""
    mean_bytes = sum(chunks) * row_bytes / len(chunks)
    scheduler = getattr(dask.base.get_scheduler(), "__module__", "")
    is_good = len(chunks) == 1 or mean_bytes >= _FEWEST_BYTES or not row_bytes
    if is_good or not scheduler.startswith("distributed"):
        return
    n_users = -(-_GOOD_BYTES // row_bytes)
    msg = (
        f"{len(chunks)} blocks of users hold {mean_bytes / 1e6:.2g} MB of scores on average, and a "
        "task of Dask takes longer than such a block; expected 50 MB or more; make the array with "
        f"chunks of {n_users} users"
    )
    warn(msg)


def _sets_in_chunks(
    array: Any, name: str, shape: tuple[int, int], chunks: Sequence[int], negative_hint: str | None
) -> Any:
    """Make a task for each block that reads its part of a Dask array, item sets or a profile.

    ``name`` and ``negative_hint`` are those of ``read_part``.
    """
    _check_chunks(array, name)
    if name == "truth" and array.shape == shape[:1]:  # one item index for each user
        return da.blockwise(
            read_classes,
            "i",
            array.rechunk((chunks,)),
            "i",
            ArraySliceDep((chunks,)),
            "i",
            n_items=shape[1],
            adjust_chunks={"i": 1},
            align_arrays=False,
            dtype=object,
            meta=_NO_OBJECT,
        )
    if name != "profile":
        check_shape(array, shape, name)
    row_ranges, item_ranges = (blocks_of(lengths) for lengths in array.chunks)
    # A chunk of no item is left out, unless all are such.
    columns = [j for j, items in enumerate(item_ranges) if items.stop > items.start] or [0]
    chunk_rows = [
        [(Chunk, (array.name, i, j), users, item_ranges[j]) for j in columns]
        for i, users in enumerate(row_ranges)
    ]
    starts = [users.start for users in row_ranges]
    stops = [users.stop for users in row_ranges]
    read = partial(read_chunks, name, negative_hint)
    # A cluster warns of a task that another call had fused differently under the same name.
    graph_name = f"read_chunks-{uuid4()}"
    tasks = {}
    for block, users in enumerate(blocks_of(chunks)):
        first = np.searchsorted(stops, users.start, side="right")
        last = np.searchsorted(starts, users.stop, side="left")
        # A block of no user overlaps nothing: the first chunk row gives it the number of items.
        overlapping = chunk_rows[first:last] or chunk_rows[:1]
        tasks[graph_name, block] = (read, users, overlapping)
    graph = HighLevelGraph.from_collections(graph_name, tasks, dependencies=[array])
    return da.Array(graph, graph_name, ((1,) * len(chunks),), dtype=object)
