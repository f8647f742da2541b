"""The best items of every user, chunk by chunk of the catalogue, and what is best of these.

An item that is among the k best of all is among the k best of its own chunk. So a chunk is read
where it lies, its k best items per user are all that leaves it, and the order of the package, which
``_selection`` decides for chunks and for their survivors alike, makes the same list of them as of
the whole row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics import _selection
from recmetrics._inputs import ScoreMatrix
from recmetrics._itemsets import Rows, SparseSets, UserSets
from recmetrics._lists import ListReader, Lists
from recmetrics._options import CallOptions
from recmetrics._plan import Plan
from recmetrics._ranking import ScoredInputs
from recmetrics._results import KeptLists
from recmetrics._side import Side
from recmetrics._topk import IntArray

Survivors = Rows
"""Items of each user, those of equal scores in ascending order; their values are the scores."""


class _Best(ListReader):
    """Keeps the ``depth`` best items of each user, for no metric."""

    def __init__(self, plan: Plan, n_users: int, depth: int) -> None:
        self.kept = KeptLists(n_users, plan.n_items, depth)
        super().__init__(plan, Side(), n_users, self.kept)
        self.depth = depth

    def read(self, lists: Lists) -> None:
        self.kept.add(lists.rows, lists.items, lists.length)


def best_of_chunk(
    chunk: npt.NDArray[Any], first_item: int, sets: UserSets, depth: int, options: CallOptions
) -> Survivors:
    """The ``depth`` best items of each user among the items of a chunk that begins there."""
    scores = ScoreMatrix(chunk)
    n_users, n_items = scores.shape
    items = slice(first_item, first_item + n_items)
    own = UserSets(
        SparseSets(Rows(np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0)), None),
        None if sets.exclude is None else sets.exclude.crop(items),
        None if sets.candidates is None else sets.candidates.crop(items),
        sets.users,
        first_item,
    )
    nothing = Plan({}, options, n_items)
    best = _Best(nothing, n_users, depth)
    ScoredInputs(scores, own).top_k(nothing, best)
    lists = best.kept.joined()
    listed = lists >= 0
    start = np.concatenate(([0], np.cumsum(np.count_nonzero(listed, axis=1))))
    chosen = lists[listed]
    return Survivors(start, chosen + first_item, scores.array[np.nonzero(listed)[0], chosen])


def best_of(parts: Sequence[Survivors], depth: int) -> Survivors:
    """The ``depth`` best items of each user among those of ``parts``, ranges of items in order."""
    pool = side_by_side(parts)
    places, length = _best_places(pool, depth)
    kept = places[np.arange(places.shape[1]) < length[:, np.newaxis]]
    start = np.concatenate(([0], np.cumsum(length)))
    return Survivors(start, pool.items[kept], pool.values[kept])


def ranking_of(parts: Sequence[Survivors], depth: int) -> IntArray:
    """(n_users, longest) the ``depth`` best items of each user, best first, -1 after the last."""
    pool = side_by_side(parts)
    places, length = _best_places(pool, depth)
    listed = np.arange(places.shape[1]) < length[:, np.newaxis]
    ranking = np.full(places.shape, -1, np.int64)
    ranking[listed] = pool.items[places[listed]]
    return ranking


def side_by_side(parts: Sequence[Rows]) -> Rows:
    """One row per user from parts with the same users, each of later items than the one before."""
    if len(parts) == 1:
        return parts[0]
    # A stable sort by user leaves the parts of each in order.
    order = np.argsort(np.concatenate([part.users() for part in parts]), kind="stable")
    return Rows(
        np.sum([part.start for part in parts], axis=0),
        np.concatenate([part.items for part in parts])[order],
        np.concatenate([part.values for part in parts])[order],
    )


def one_below_another(parts: Sequence[Rows]) -> Rows:
    """The users of all ``parts``, in order."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(part.start) for part in parts])
    return Rows(
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def _best_places(pool: Survivors, depth: int) -> tuple[IntArray, IntArray]:
    """Where in ``pool`` each user's best items are, best first, and how many."""
    counts = np.diff(pool.start)
    longest = int(counts.max(initial=0))
    places = np.empty((len(counts), min(depth, longest)), np.int64)
    length = np.zeros(len(counts), np.int64)
    block = ScoreMatrix(pool.values[np.newaxis]).block(slice(0, 1))
    _selection.list_candidates(
        block.values[0],
        pool.start,
        np.arange(len(pool.items)),
        depth,
        block.lowest,
        block.lowest_listed,
        places,
        length,
        _selection.pool_for(depth, longest, block.values.dtype),
    )
    return places, length
