"""What a worker does with a block of users: functions of arrays, which know nothing of Dask."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import RecmetricsError, ShapeError
from recmetrics._exposure import Exposures
from recmetrics._inputs import ScoreMatrix
from recmetrics._itemsets import ItemSets, Rows, SparseSets, UserSets
from recmetrics._lists import exposures, system_depth
from recmetrics._measure import Inputs, defined, measure_system, measure_users
from recmetrics._plan import Plan
from recmetrics._ranking import RankedInputs, ScoredInputs
from recmetrics._results import KeptLists
from recmetrics._selected import read_factors, with_sets
from recmetrics._side import Side
from recmetrics._topk import FloatArray, IntArray
from recmetrics.dask._survivors import (
    Survivors,
    best_of_chunk,
    one_below_another,
    ranking_of,
    side_by_side,
)


class Question(NamedTuple):
    """What is asked of every block of users."""

    plan: Plan
    side: Side  # without what is known of users

    @property
    def user_metrics(self) -> list[str]:
        """The metrics that have one value per user."""
        specs = self.plan.specs
        return [text for text, spec in specs.items() if spec.metric.kind != "system"]

    @property
    def system_metrics(self) -> list[str]:
        """The metrics that have one value for all lists."""
        specs = self.plan.specs
        return [text for text, spec in specs.items() if spec.metric.kind == "system"]

    @property
    def depth(self) -> int:
        """How much of a list is read."""
        return max(self.plan.k, self.plan.depth)


class Known(NamedTuple):
    """What is known of the users of a block."""

    users: slice
    sets: UserSets
    profile: ItemSets | None


class Chunk(NamedTuple):
    """A chunk of a Dask array, and which users and items of it."""

    array: Any
    users: slice
    items: slice

    def checked(self, what: str) -> Any:
        """The chunk, if it has the shape that Dask believes it has."""
        expected = self.users.stop - self.users.start, self.items.stop - self.items.start
        if np.shape(self.array) != expected:
            msg = (
                f"the chunk of {what} with users {self.users.start} .. {self.users.stop - 1} and "
                f"items {self.items.start} .. {self.items.stop - 1} must be of shape {expected}, "
                f"as the Dask array declares it, got {np.shape(self.array)}"
            )
            raise ShapeError(msg)
        return self.array


class Listed(NamedTuple):
    """The lists of a block of users, for system metrics."""

    lists: IntArray  # (n_users, depth) -1 after the end of a list
    offered: IntArray | None  # which items may be in a list; None: all


def know(
    users: slice,
    truth: ItemSets,
    exclude: ItemSets | None,
    candidates: ItemSets | None,
    profile: ItemSets | None,
) -> Known:
    """Put together what is known of the users of a block."""
    rows = slice(0, users.stop - users.start)
    sets = UserSets(
        truth,
        exclude,
        None if candidates is None else candidates.take(rows),  # one set for all, perhaps
        users,
    )
    return Known(users, sets, profile)


def read_chunks(read: Any, what: str, lines: Sequence[Sequence[Chunk]], users: slice) -> ItemSets:
    """The sets of ``users`` from the chunks of a Dask array that hold them, line by line."""
    blocks, n_items = [], 0
    for line in lines:
        own = line[0].users
        rows = slice(max(users.start, own.start) - own.start, min(users.stop, own.stop) - own.start)
        parts = [_read_chunk(read, what, chunk, rows) for chunk in line]
        blocks.append(side_by_side(parts))
        n_items = line[-1].items.stop
    return SparseSets(one_below_another(blocks), n_items)


def _read_chunk(read: Any, what: str, chunk: Chunk, rows: slice) -> Rows:
    array, first_item = chunk.checked(what), chunk.items.start
    if hasattr(array, "to_scipy_sparse"):  # a chunk of the library ``sparse``
        array = array.to_scipy_sparse()
    try:
        found: Rows = read(array, array.shape).rows(rows)
    except RecmetricsError as error:
        msg = (
            f"in the chunk of {what} that begins with user {chunk.users.start} and item "
            f"{first_item}: {error}"
        )
        raise type(error)(msg) from None
    return found._replace(items=found.items + first_item)


def select(chunk: Chunk, known: Known, question: Question) -> Survivors:
    """The best items of each user within a chunk of scores."""
    scores = chunk.checked("scores")
    options = question.plan.options
    return best_of_chunk(scores, chunk.items.start, known.sets, question.depth, options)


def measure_rows(
    line: Sequence[Chunk], known: Known, question: Question
) -> tuple[FloatArray, Listed | Exposures]:
    """Measure whole rows of scores, whose chunks lie side by side."""
    chunks = [chunk.checked("scores") for chunk in line]
    scores = chunks[0] if len(chunks) == 1 else np.concatenate(chunks, axis=1)
    return _measure(ScoredInputs(ScoreMatrix(scores), known.sets), known, question)


def measure_survivors(
    parts: Sequence[Survivors], known: Known, question: Question
) -> tuple[FloatArray, Listed | Exposures]:
    """Measure the lists that come of the best items of all chunks."""
    # Excluded items are left out already; candidates tell what might have been listed.
    sets = known.sets._replace(exclude=None)
    return _measure(RankedInputs(ranking_of(parts, question.depth), sets), known, question)


def measure_factors(
    user_factors: Chunk, item_factors: npt.NDArray[Any], item_bias: Any, known: Known, question: Any
) -> tuple[FloatArray, Listed | Exposures]:
    """Measure users by their factors."""
    own = user_factors.checked("user_factors")
    factors = read_factors(own, item_factors, item_bias)
    return _measure(with_sets(factors, known.sets), known, question)


def _measure(
    inputs: Inputs, known: Known, question: Question
) -> tuple[FloatArray, Listed | Exposures]:
    """One row per user metric, and the lists for the system metrics."""
    plan, side = question
    specs, n_items, n_users = plan.specs, plan.n_items, inputs.n_users
    if known.profile is not None:
        side = replace(side, profile=known.profile)
    depth = system_depth(specs.values(), n_items)
    # Whichever is smaller leaves the worker: the lists, or how often they list each item.
    kept = KeptLists(n_users, n_items, depth) if n_users * depth <= n_items else None
    sums = exposures(specs.values(), n_items)
    found = measure_users(inputs, plan, side, sums if kept is None else kept)
    values = np.empty((len(question.user_metrics), n_users))
    everyone = np.ones(n_users, np.bool_)
    for row, text in zip(values, question.user_metrics, strict=True):
        row[:] = defined(found[text], text, specs[text], plan.options, everyone, known.users.start)
    return values, sums if kept is None else _listed(kept, n_items)


def _listed(kept: KeptLists, n_items: int) -> Listed:
    item = np.int32 if n_items < 1 << 31 else np.int64
    offered = None if kept.offered.all() else np.flatnonzero(kept.offered)
    return Listed(kept.joined().astype(item), offered)


def add_up(parts: Sequence[Listed | Exposures], question: Question) -> Exposures:
    """How often each item is listed in all of ``parts``."""
    whole = exposures(question.plan.specs.values(), question.plan.n_items)
    for part in parts:
        if isinstance(part, Exposures):
            whole.merge(part)
        else:
            rows = slice(0, len(part.lists))
            whole.offer(rows, slice(None) if part.offered is None else part.offered)
            lists = part.lists.astype(np.int64)
            whole.add(rows, lists, np.count_nonzero(lists >= 0, axis=1))
    return whole


def measure_all(parts: Sequence[Listed | Exposures], question: Question) -> FloatArray:
    """The values of the system metrics, of the lists of all users."""
    plan = question.plan
    found = measure_system(add_up(parts, question), plan.specs, plan.n_items)
    everyone = np.ones(0, np.bool_)
    return np.array(
        [
            defined(found[text], text, plan.specs[text], plan.options, everyone)
            for text in question.system_metrics
        ]
    )
