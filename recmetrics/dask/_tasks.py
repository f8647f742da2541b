"""The work on a block of users: functions of arrays, without Dask.

A block is a range of users that one task measures, and a row of the grid of chunks of scores. A
ranker gives the list of each user to a reader: ``KeptLists`` keeps the lists, ``Exposures`` counts
how often each item is in them.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import (
    InputTypeError,
    RecmetricsError,
    RecmetricsWarning,
    ShapeError,
    at_fault,
    collecting_warnings,
)
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
    this_version,
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

Place = tuple[slice, slice]
"""The users and the items of a chunk."""

Sets = Mapping[str, ItemSets]
"""Sets of the users of a block, by argument."""

Best = Rows
"""Items of each user, those of equal scores in ascending order; their values are the scores."""


class Job(NamedTuple):
    """The work that is the same for every block of users."""

    request: Request  # the metrics, their cutoffs and options
    side: Side  # side information on items: no profile, which is on users, and no strata
    cutoffs: Cutoffs
    n_items: int
    sets: Sets  # those that are one set for all users, by argument
    version: str  # of the package in the process that made the tasks

    @property
    def depth(self) -> int:
        """The length to which a list is read, for any metric of the request."""
        return max(self.cutoffs.hits or 0, self.cutoffs.lists or 0)


class Chunk(NamedTuple):
    """A chunk of a Dask array, with its users and items."""

    array: Any
    users: slice
    items: slice

    def checked(self, name: str) -> Any:
        """Give the chunk, or refuse it for its form, or a shape that Dask does not declare."""
        check_form(self.array, name)
        expected = self.users.stop - self.users.start, self.items.stop - self.items.start
        if np.shape(self.array) != expected:
            msg = (
                f"the chunk of {name} with users {self.users.start} .. {self.users.stop - 1} and "
                f"items {self.items.start} .. {self.items.stop - 1} must be of shape {expected}, "
                f"as the Dask array declares, got {np.shape(self.array)}"
            )
            raise ShapeError(msg, argument=name)
        return self.array


def check_form(chunk: Any, name: str) -> None:
    """Refuse a masked chunk of the argument ``name``, and a sparse one of scores or factors."""
    advice = ""
    if isinstance(chunk, np.ma.MaskedArray):
        advice = f"type dask.array.ma.filled({name}, ...) with the value for masked entries"
    elif sp.issparse(chunk) and name.endswith(("scores", "factors")):
        advice = (
            f"type {name}.map_blocks(lambda block: block.toarray(), dtype={name}.dtype) (what is "
            "not stored becomes 0; of sparse scores, Metrics.compute ranks only what is stored)"
        )
    if advice:
        msg = f"{name} has chunks of {type(chunk).__name__}, expected dense arrays; {advice}"
        raise InputTypeError(msg, argument=name)


class BlockLists(NamedTuple):
    """The lists of a block of users, for metrics of all lists."""

    lists: IntArray  # (n_users, length) items, best first, -1 after the end of a list
    offered: IntArray | None  # the items that may be in a list; None: all

    @property
    def size(self) -> int:
        """How many numbers these are."""
        n_offered = 0 if self.offered is None else self.offered.size
        return self.lists.size + n_offered


ListParts = tuple[BlockLists | Exposures, ...]
"""The lists of each of several blocks, or the counts of their items."""


class Measured(NamedTuple):
    """The measures of some blocks of users."""

    values: FloatArray  # (n_users, n_metrics)
    lists: ListParts  # for metrics of all lists
    counts: IntArray  # (3,) as ``Users.swallowed``
    warnings: tuple[RecmetricsWarning, ...]  # of all blocks


def check_version(job: Job) -> None:
    """Warn where another version of the package computes the values than asked for them.

    The warning of a worker of Dask is heard by its client, too.
    """
    version = this_version()
    if version != job.version:
        msg = (
            f"a worker has recmetrics {version}, and the client has {job.version}, which may "
            "compute values differently; expected one version on all machines"
        )
        in_worker: Any = sys.modules.get("distributed.worker", warnings)
        in_worker.warn(msg, RecmetricsWarning, stacklevel=2)


def _users_of(place: Place, parts: Sequence[Sets], job: Job) -> Users:
    """Combine the sets of the users of a block, from several sources, with those of all users."""
    block, _ = place
    everyone = slice(0, block.stop - block.start)
    sets = {name: shared_set.take(everyone) for name, shared_set in job.sets.items()}
    for part in parts:
        sets |= part

    values = dict(job.side.values)
    if "profile" in sets:
        values["profile"] = sets["profile"]
    strata = {name: sets[f"strata[{name!r}]"] for name in job.request.strata}
    side = replace(job.side, values=values, strata=strata)
    exclude = sets.get("exclude")
    return Users(sets["truth"], exclude, sets.get("candidates"), side, job.n_items, block)


def read_part(
    value: Any, name: str, shape: tuple[int, int], negative_hint: str | None = ""
) -> ItemSets:
    """Read the item sets of some users, or their profile, whose shape has been checked.

    ``name`` is the argument that an error names. ``negative_hint`` says in an error what to type
    for a negative number; None: negative numbers are dropped, and no error.
    """
    with at_fault(name):
        if name == "profile":
            return read_numbers(value, name)
        return read_item_sets(value, name, shape, if_negative=negative_hint)


def read_chunks(
    name: str, negative_hint: str | None, users: slice, chunk_rows: Sequence[Sequence[Chunk]]
) -> Sets:
    """Read the item sets of ``users`` from the chunks of a Dask array that hold them.

    Each chunk row has the chunks of the same users, in the order of their items. Its first and last
    users may be outside ``users``. ``name`` and ``negative_hint`` are those of ``read_part``.
    """
    sets_of_chunk_rows = []
    for chunk_row in chunk_rows:
        first = chunk_row[0].users.start  # the user in the first row of these chunks
        stop = chunk_row[0].users.stop
        # A block of no user may be outside these chunks.
        edges = np.clip([users.start, users.stop], first, stop) - first
        rows = slice(*edges.tolist())
        sets = [_read_chunk(name, chunk, rows, negative_hint) for chunk in chunk_row]
        sets_of_chunk_rows.append(side_by_side(sets))
    n_items = chunk_rows[-1][-1].items.stop
    return {name: SparseSets(one_below_another(sets_of_chunk_rows), n_items)}


def read_classes(classes: Any, place: tuple[slice], n_items: int) -> Sets:
    """Read the index of the one relevant item of each user, (n_users,), -1 for none."""
    (users,) = place
    with _errors_at(f"in the truth from user {users.start} on"), at_fault("truth"):
        sets = read_item_sets(classes, "truth", (users.stop - users.start, n_items))
        return {"truth": sets}


@contextmanager
def _errors_at(place: str) -> Iterator[None]:
    """Put ``place`` before the message of an error that the ``with`` block raises."""
    try:
        yield
    except RecmetricsError as error:
        msg = f"{place}: {error}"
        raise type(error)(msg, argument=error.argument) from None


def _read_chunk(name: str, chunk: Chunk, rows: slice, negative_hint: str | None) -> Rows:
    """Read some rows of a chunk as sets of items, numbered as in the whole array."""
    array = chunk.checked(name)
    first_item = chunk.items.start
    if hasattr(array, "to_scipy_sparse"):  # a chunk of the library ``sparse``
        array = array.to_scipy_sparse()
    place = f"from user {chunk.users.start} and item {first_item} on, counted from there"
    with _errors_at(f"in the chunk of {name} {place}"):
        sets = read_part(array, name, array.shape, negative_hint).rows(rows)
    return sets._replace(items=sets.items + first_item)


def _users_in(block: slice) -> str:
    """The place of an error that counts and names only the users of a block."""
    return f"among users {block.start} .. {block.stop - 1}"


def best_of_chunk(array: Any, place: Place, *sets: Sets, job: Job) -> Best:
    """Select the best items of each user within a chunk of scores.

    An item among the k best of all chunks is among the k best of its own chunk. So only the k best
    of each chunk leave the worker.
    """
    scores = ScoreMatrix(Chunk(array, *place).checked("pred_scores"))
    users = _users_of(place, sets, job)
    block, items = place
    n_users, n_items = scores.shape
    users_of_chunk = Users(
        truth=SparseSets(Rows.none(n_users), None),  # lists do not depend on the truth
        exclude=None if users.exclude is None else users.exclude.crop(items),
        candidates=None if users.candidates is None else users.candidates.crop(items),
        n_items=n_items,
        chosen=users.chosen,
        first_item=items.start,
    )
    reader = KeptLists(n_users, n_items, job.depth)
    count_work(scores, users_of_chunk, None, job.depth)
    with _errors_at(f"{_users_in(block)} and items {items.start} .. {items.stop - 1}"):
        MatrixRanker(scores, users_of_chunk).hits(None, job.request, reader)
    lists = reader.joined()
    is_item = lists >= 0
    start = np.concatenate(([0], np.cumsum(np.count_nonzero(is_item, axis=1))))
    rows, _ = np.nonzero(is_item)
    best_items = lists[is_item]
    return Best(start, best_items + items.start, scores.array[rows, best_items])


def itself(value: Any) -> Any:
    """Give the result of another task."""
    return value


def best_of(best_of_ranges: Sequence[Best], depth: int) -> Best:
    """Rank the ``depth`` best items of each user, from the best of several ranges of items.

    The ranges are in the order of their items.
    """
    rows = side_by_side(best_of_ranges)
    counts = np.diff(rows.start)
    longest = int(counts.max(initial=0))
    # The kernel ranks the entries of all rows, so that it lists their places in ``rows``.
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
    is_listed = np.arange(places.shape[1]) < length[:, np.newaxis]
    best_places = places[is_listed]
    start = np.concatenate(([0], np.cumsum(length)))
    return Best(start, rows.items[best_places], rows.values[best_places])


def side_by_side(rows_of_ranges: Sequence[Rows]) -> Rows:
    """Join the rows of the same users from several ranges of items into one row for each user.

    The ranges are in the order of their items.
    """
    if len(rows_of_ranges) == 1:
        return rows_of_ranges[0]
    # A stable sort by user leaves the items of each user in the order of the ranges.
    order = np.argsort(np.concatenate([rows.users() for rows in rows_of_ranges]), kind="stable")
    return Rows(
        # A joined row begins after the entries of earlier users in all ranges.
        np.sum([rows.start for rows in rows_of_ranges], axis=0),
        np.concatenate([rows.items for rows in rows_of_ranges])[order],
        np.concatenate([rows.values for rows in rows_of_ranges])[order],
    )


def measure_rows(array: Any, place: Place, *sets: Sets, job: Job) -> Measured:
    """Measure users by their whole rows of scores."""
    scores = ScoreMatrix(Chunk(array, *place).checked("pred_scores"))
    return _measure(scores, place, sets, job)


def measure_best(best: Best, place: Place, *sets: Sets, job: Job) -> Measured:
    """Measure users by the lists made of their best items."""
    rankings = Rankings(FlatLists(best.items, best.start))
    return _measure(rankings, place, sets, job)


def measure_factors(
    array: Any, place: Place, *sets: Sets, job: Job, item_factors: npt.NDArray[Any], item_bias: Any
) -> Measured:
    """Measure users by their factors and those of all items."""
    user_factors = Chunk(array, *place).checked("user_factors")
    scores = read_factors(user_factors, item_factors, item_bias)
    return _measure(scores, place, sets, job)


def _measure(scores: Source, place: Place, sets: Sequence[Sets], job: Job) -> Measured:
    """Compute the values of a block, and what metrics of all lists read.

    The latter are the lists themselves, or how often each item is in them, whichever is smaller.
    """
    check_version(job)
    users = _users_of(place, sets, job)
    request = job.request
    cutoffs = job.cutoffs
    counts = np.array(users.swallowed())
    if isinstance(scores, Rankings):
        # Excluded items are left out already; candidates give the items that may be in a list.
        users = users._replace(exclude=None)

    n_users = users.truth.n_users
    reader: KeptLists | Exposures = exposures(request, cutoffs)
    if n_users * cutoffs.exposure <= job.n_items:
        reader = KeptLists(n_users, job.n_items, cutoffs.exposure)
    names = RowNames(name=lambda row: f"user {users.user_at(row)}")
    columns = np.empty((n_users, len(request.per_user)), order="F")
    block, _ = place
    # The client gives each warning of the blocks once; it gives none of a lazy result.
    with _errors_at(_users_in(block)), collecting_warnings() as warnings_of_block:
        selection = find_hits(scores, users, request, reader, cutoffs)
        values = user_values(selection, request)
        for column, text in zip(columns.T, request.per_user, strict=True):
            column[:] = settled(values[text], text, request.definitions[text], rows=names)

    if isinstance(reader, Exposures):
        return Measured(columns, (reader,), counts, tuple(warnings_of_block))
    offered = None if reader.offered.all() else np.flatnonzero(reader.offered)
    lists = BlockLists(reader.joined().astype(item_dtype(job.n_items)), offered)
    return Measured(columns, (lists,), counts, tuple(warnings_of_block))


def merge_blocks(blocks: Sequence[Measured], request: Request, cutoffs: Cutoffs) -> Measured:
    """Merge the measures of several blocks, which are in the order of their users."""
    values, lists, counts, warnings_of_blocks = zip(*blocks, strict=True)
    joined = join_lists(lists, request, cutoffs)
    caught = tuple(chain(*warnings_of_blocks))
    return Measured(np.concatenate(values), joined, np.sum(counts, axis=0), caught)


def join_lists(lists: Sequence[ListParts], request: Request, cutoffs: Cutoffs) -> ListParts:
    """Join the lists of several blocks; where they are more than the items, count these instead."""
    parts = tuple(chain(*lists))
    n_items = cutoffs.n_items or 0
    sizes = [n_items + 1 if isinstance(part, Exposures) else part.size for part in parts]
    if sum(sizes) <= n_items:
        return parts
    return (add_up(parts, request, cutoffs),)


def add_up(parts: ListParts, request: Request, cutoffs: Cutoffs) -> Exposures:
    """Count how often each item is in the lists of all blocks."""
    sums = exposures(request, cutoffs)
    for part in parts:
        if isinstance(part, Exposures):
            sums.merge(part)
        else:
            sums.offer(slice(None) if part.offered is None else part.offered)
            lists = part.lists.astype(np.int64)
            sums.add(slice(0, len(lists)), lists, np.count_nonzero(lists >= 0, axis=1))
    return sums


def values_of(measured: Measured) -> FloatArray:
    """The values of the users of some blocks, (n_users, n_metrics)."""
    return measured.values


def lists_of(measured: Measured) -> ListParts:
    """The lists of some blocks, for metrics of all lists."""
    return measured.lists


def without_lists(measured: Measured) -> npt.NDArray[np.object_]:
    """The measures of some blocks as their client needs them, as the one entry of an array.

    Metrics of all lists are computed by workers.
    """
    entry = np.empty((1, 1), object)
    entry[0, 0] = measured._replace(lists=())
    return entry


def measure_all(parts: ListParts, request: Request, cutoffs: Cutoffs) -> FloatArray:
    """Compute the metrics of all lists, (n_metrics, 1)."""
    values = system_values(add_up(parts, request, cutoffs), request, cutoffs)
    of_exposure = request.of_exposure.items()
    return np.array([[settled(values[text], text, metric)] for text, metric in of_exposure])
