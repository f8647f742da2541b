"""The work on a block of users: functions of arrays, without Dask."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import RecmetricsError, ShapeError, at_fault
from recmetrics._core.inputs import (
    FlatLists,
    ItemSets,
    Rankings,
    Rows,
    ScoreMatrix,
    Side,
    SparseSets,
    Users,
    one_below_another,
    read_item_sets,
    read_numbers,
)
from recmetrics._core.results import (
    KeptLists,
    RowNames,
    item_dtype,
    settled,
    system_values,
    user_values,
)
from recmetrics._core.selection import (
    Exposures,
    MatrixRanker,
    Source,
    count_work,
    exposures,
    find_hits,
    kernels,
    memory,
    read_factors,
)
from recmetrics._core.spec import Cutoffs, Request
from recmetrics._core.types import FloatArray, IntArray

Best = Rows
"""Items of each user, those of equal scores in ascending order; their values are the scores."""


class Job(NamedTuple):
    """The work that is the same for every block of users."""

    request: Request
    side: Side  # without the profile, which is of users
    cutoffs: Cutoffs
    n_items: int

    @property
    def depth(self) -> int:
        """The length read of a list."""
        return max(self.cutoffs.hits or 0, self.cutoffs.lists or 0)


class Chunk(NamedTuple):
    """A chunk of a Dask array, with its users and items."""

    array: Any
    users: slice
    items: slice

    def checked(self, name: str) -> Any:
        """Give the chunk, or refuse it if its shape is not the one that Dask declares."""
        expected = self.users.stop - self.users.start, self.items.stop - self.items.start
        if np.shape(self.array) != expected:
            msg = (
                f"the chunk of {name} with users {self.users.start} .. {self.users.stop - 1} and "
                f"items {self.items.start} .. {self.items.stop - 1} must be of shape {expected}, "
                f"as the Dask array declares, got {np.shape(self.array)}"
            )
            raise ShapeError(msg, argument=name)
        return self.array


class BlockLists(NamedTuple):
    """The lists of a block of users, for metrics of all lists."""

    lists: IntArray  # (n_users, depth) -1 after the end of a list
    offered: IntArray | None  # the items that may be in a list; None: all


def read_block(
    index: slice,
    truth: ItemSets,
    exclude: ItemSets | None,
    candidates: ItemSets | None,
    profile: ItemSets | None,
    strata: Mapping[str, ItemSets],
) -> Users:
    """Combine the sets and the profile of the users of a block."""
    if candidates is not None:  # may be one set for all
        candidates = candidates.take(slice(0, index.stop - index.start))
    values = {}
    if profile is not None:
        values["profile"] = profile
    side = Side(values=values, strata=strata)
    return Users(truth, exclude, candidates, side, truth.n_items, index)


def read_part(
    value: Any, name: str, shape: tuple[int, int], if_negative: str | None = ""
) -> ItemSets:
    """Read the sets of some users, or their profile, whose shape has been checked."""
    with at_fault(name):
        if name == "profile":
            return read_numbers(value, name)
        return read_item_sets(value, name, shape, if_negative=if_negative)


def read_chunks(
    name: str, lines: Sequence[Sequence[Chunk]], users: slice, if_negative: str | None
) -> ItemSets:
    """Read the sets of ``users`` from the chunks of a Dask array that hold them, line by line."""
    blocks = []
    for line in lines:
        first = line[0].users.start
        stop = min(users.stop, line[0].users.stop)
        rows = slice(max(users.start, first) - first, stop - first)
        parts = [_read_chunk(name, chunk, rows, if_negative) for chunk in line]
        blocks.append(side_by_side(parts))
    n_items = lines[-1][-1].items.stop
    return SparseSets(one_below_another(blocks), n_items)


def read_classes(classes: Any, users: slice, n_items: int) -> ItemSets:
    """Read the one relevant item of each of ``users``."""
    with _errors_at(f"in the truth from user {users.start} on"), at_fault("truth"):
        return read_item_sets(classes, "truth", (users.stop - users.start, n_items))


@contextmanager
def _errors_at(place: str) -> Iterator[None]:
    try:
        yield
    except RecmetricsError as error:
        msg = f"{place}: {error}"
        raise type(error)(msg, argument=error.argument) from None


def _read_chunk(name: str, chunk: Chunk, rows: slice, if_negative: str | None) -> Rows:
    array = chunk.checked(name)
    first_item = chunk.items.start
    if hasattr(array, "to_scipy_sparse"):  # a chunk of the library ``sparse``
        array = array.to_scipy_sparse()
    place = f"that begins with user {chunk.users.start} and item {first_item}"
    with _errors_at(f"in the chunk of {name} {place}"):
        entries = read_part(array, name, array.shape, if_negative).rows(rows)
    return entries._replace(items=entries.items + first_item)


def best_of_chunk(chunk: Chunk, users: Users, job: Job) -> Best:
    """Select the best items of each user within a chunk of scores.

    An item among the k best of all is among the k best of its chunk. So only those leave the
    worker.
    """
    scores = ScoreMatrix(chunk.checked("scores"))
    items = chunk.items
    n_users, n_items = scores.shape
    users_of_chunk = Users(
        truth=SparseSets(Rows.none(n_users), None),
        exclude=None if users.exclude is None else users.exclude.crop(items),
        candidates=None if users.candidates is None else users.candidates.crop(items),
        n_items=n_items,
        chosen=users.chosen,
        first_item=items.start,
    )
    reader = KeptLists(n_users, n_items, job.depth)
    count_work(scores, users_of_chunk, None, job.depth)
    MatrixRanker(scores, users_of_chunk).hits(None, job.request, reader)
    lists = reader.joined()
    is_item = lists >= 0
    start = np.concatenate(([0], np.cumsum(np.count_nonzero(is_item, axis=1))))
    best = lists[is_item]
    return Best(start, best + items.start, scores.array[np.nonzero(is_item)[0], best])


def best_of(parts: Sequence[Best], depth: int) -> Best:
    """Rank the ``depth`` best items of each user from ``parts``, ranges of items in order."""
    rows = side_by_side(parts)
    counts = np.diff(rows.start)
    longest = int(counts.max(initial=0))
    places = np.empty((len(counts), min(depth, longest)), np.int64)
    length = np.zeros(len(counts), np.int64)
    block = ScoreMatrix(rows.values[np.newaxis]).block(slice(0, 1))
    kernels.list_candidates(
        block.values[0],
        rows.start,
        np.arange(len(rows.items)),
        depth,
        block.least,
        places,
        length,
        memory.pool_for(depth, longest, block.values.dtype),
    )
    best = places[np.arange(places.shape[1]) < length[:, np.newaxis]]
    start = np.concatenate(([0], np.cumsum(length)))
    return Best(start, rows.items[best], rows.values[best])


def side_by_side(parts: Sequence[Rows]) -> Rows:
    """Join parts with the same users, in the order of their items, into one row per user."""
    if len(parts) == 1:
        return parts[0]
    # A stable sort by user leaves the parts of each in order.
    order = np.argsort(np.concatenate([part.users() for part in parts]), kind="stable")
    return Rows(
        # A joined row begins after the entries of earlier users in all parts.
        np.sum([part.start for part in parts], axis=0),
        np.concatenate([part.items for part in parts])[order],
        np.concatenate([part.values for part in parts])[order],
    )


def measure_rows(
    line: Sequence[Chunk], users: Users, job: Job
) -> tuple[FloatArray, BlockLists | Exposures]:
    """Measure whole rows of scores, whose chunks are side by side."""
    chunks = [chunk.checked("scores") for chunk in line]
    scores = chunks[0] if len(chunks) == 1 else np.concatenate(chunks, axis=1)
    return _measure(ScoreMatrix(scores), users, job)


def measure_best(
    parts: Sequence[Best], users: Users, job: Job
) -> tuple[FloatArray, BlockLists | Exposures]:
    """Measure the lists made of the best items of all chunks."""
    # Excluded items are left out already; candidates give the items that may be in a list.
    best = best_of(parts, job.depth)
    rankings = Rankings(FlatLists(best.items, best.start))
    return _measure(rankings, users._replace(exclude=None), job)


def measure_factors(
    user_factors: Chunk, item_factors: npt.NDArray[Any], item_bias: Any, users: Users, job: Job
) -> tuple[FloatArray, BlockLists | Exposures]:
    """Measure users by their factors."""
    scores = read_factors(user_factors.checked("user_factors"), item_factors, item_bias)
    return _measure(scores, users, job)


def _measure(scores: Source, users: Users, job: Job) -> tuple[FloatArray, BlockLists | Exposures]:
    """Compute one row per user metric, and the lists for the metrics of all lists."""
    request, side, cutoffs, n_items = job
    n_users = users.truth.n_users
    side_values = {**side.values, **users.side.values}
    side = replace(side, values=side_values, strata=users.side.strata)
    users = users._replace(side=side, n_items=n_items)

    # The smaller one leaves the worker: the lists, or how often each item is in them.
    reader: KeptLists | Exposures = exposures(request, cutoffs)
    if n_users * cutoffs.exposure <= n_items:
        reader = KeptLists(n_users, n_items, cutoffs.exposure)
    selection = find_hits(scores, users, request, reader, cutoffs)

    values = user_values(selection, request)
    names = RowNames(name=lambda row: f"user {users.user_at(row)}")
    rows = np.empty((len(request.per_user), n_users))
    for row, text in zip(rows, request.per_user, strict=True):
        row[:] = settled(values[text], text, request.definitions[text], rows=names)

    if isinstance(reader, Exposures):
        return rows, reader
    offered = None if reader.offered.all() else np.flatnonzero(reader.offered)
    return rows, BlockLists(reader.joined().astype(item_dtype(n_items)), offered)


def add_up(parts: Sequence[BlockLists | Exposures], job: Job) -> Exposures:
    """Add up how often each item is in the lists of all ``parts``."""
    sums = exposures(job.request, job.cutoffs)
    for part in parts:
        if isinstance(part, Exposures):
            sums.merge(part)
        else:
            sums.offer(slice(None) if part.offered is None else part.offered)
            lists = part.lists.astype(np.int64)
            sums.add(slice(0, len(lists)), lists, np.count_nonzero(lists >= 0, axis=1))
    return sums


def measure_all(parts: Sequence[BlockLists | Exposures], job: Job) -> FloatArray:
    """Compute the metrics of all lists from the lists of all users."""
    values = system_values(add_up(parts, job), job.request, job.cutoffs)
    of_exposure = job.request.of_exposure.items()
    return np.array([settled(values[text], text, definition) for text, definition in of_exposure])
