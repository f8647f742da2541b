"""The best items of every user, chunk by chunk of the catalogue, and what is best of these.

An item that is among the k best of all is among the k best of its own chunk. So a chunk is read
where it lies, its k best items per user are all that leaves it, and the order of the package, which
``kernels`` decides for chunks and for what is best of them alike, makes the same list of them as of
the whole row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._inputs import NO_ROWS, Rows, ScoreMatrix, SparseSets, Users
from recmetrics._results import KeptLists
from recmetrics._selection import Lists, MatrixRanker, kernels
from recmetrics._spec import Request
from recmetrics._types import IntArray

Best = Rows
"""Items of each user, those of equal scores in ascending order; their values are the scores."""


class _Keep:
    """Keeps the ``depth`` best items of each user, for no metric."""

    row_items = 0

    def __init__(self, n_users: int, n_items: int, depth: int) -> None:
        self.depth = depth
        self.kept = KeptLists(n_users, n_items, depth)
        self.offer = self.kept.offer

    def read(self, lists: Lists) -> None:
        """Keep the lists of a block."""
        self.kept.add(lists.rows, lists.items, lists.length)


def best_of_chunk(
    chunk: npt.NDArray[Any], first_item: int, users: Users, depth: int, rules: Request
) -> Best:
    """The ``depth`` best items of each user among the items of a chunk that begins there."""
    scores = ScoreMatrix(chunk)
    n_users, n_items = scores.shape
    items = slice(first_item, first_item + n_items)
    own = Users(
        truth=SparseSets(NO_ROWS._replace(start=np.zeros(n_users + 1, np.int64)), None),
        exclude=None if users.exclude is None else users.exclude.crop(items),
        candidates=None if users.candidates is None else users.candidates.crop(items),
        n_items=n_items,
        chosen=users.chosen,
        first_item=first_item,
    )
    best = _Keep(n_users, n_items, depth)
    MatrixRanker(scores, own).hits(None, rules, best)
    lists = best.kept.joined()
    listed = lists >= 0
    start = np.concatenate(([0], np.cumsum(np.count_nonzero(listed, axis=1))))
    chosen = lists[listed]
    return Best(start, chosen + first_item, scores.array[np.nonzero(listed)[0], chosen])


def best_of(parts: Sequence[Best], depth: int) -> Best:
    """The ``depth`` best items of each user among those of ``parts``, ranges of items in order."""
    pool = side_by_side(parts)
    places, length = _best_places(pool, depth)
    kept = places[np.arange(places.shape[1]) < length[:, np.newaxis]]
    start = np.concatenate(([0], np.cumsum(length)))
    return Best(start, pool.items[kept], pool.values[kept])


def ranking_of(parts: Sequence[Best], depth: int) -> IntArray:
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


def _best_places(pool: Best, depth: int) -> tuple[IntArray, IntArray]:
    """Where in ``pool`` each user's best items are, best first, and how many."""
    counts = np.diff(pool.start)
    longest = int(counts.max(initial=0))
    places = np.empty((len(counts), min(depth, longest)), np.int64)
    length = np.zeros(len(counts), np.int64)
    block = ScoreMatrix(pool.values[np.newaxis]).block(slice(0, 1))
    kernels.list_candidates(
        block.values[0],
        pool.start,
        np.arange(len(pool.items)),
        depth,
        block.lowest,
        block.lowest_recommendable,
        places,
        length,
        kernels.pool_for(depth, longest, block.values.dtype),
    )
    return places, length
