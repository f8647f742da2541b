"""The best items of every user in each chunk of the catalogue, merged across chunks.

An item among the k best of all is among the k best of its chunk. So only those leave the worker of
a chunk. ``kernels`` orders items within chunks and across them, as in a whole row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._inputs import Rows, ScoreMatrix, SparseSets, Users
from recmetrics._results import KeptLists
from recmetrics._selection import MatrixRanker, kernels
from recmetrics._spec import Request

Best = Rows
"""Items of each user, those of equal scores in ascending order; their values are the scores."""


def best_of_chunk(
    chunk: npt.NDArray[Any], first_item: int, users: Users, depth: int, rules: Request
) -> Best:
    """Select the ``depth`` best items of each user in a chunk that begins at ``first_item``."""
    scores = ScoreMatrix(chunk)
    n_users, n_items = scores.shape
    items = slice(first_item, first_item + n_items)
    own = Users(
        truth=SparseSets(Rows.none(n_users), None),
        exclude=None if users.exclude is None else users.exclude.crop(items),
        candidates=None if users.candidates is None else users.candidates.crop(items),
        n_items=n_items,
        chosen=users.chosen,
        first_item=first_item,
    )
    best = KeptLists(n_users, n_items, depth)
    MatrixRanker(scores, own).hits(None, rules, best)
    lists = best.joined()
    is_item = lists >= 0
    start = np.concatenate(([0], np.cumsum(np.count_nonzero(is_item, axis=1))))
    chosen = lists[is_item]
    return Best(start, chosen + first_item, scores.array[np.nonzero(is_item)[0], chosen])


def best_of(parts: Sequence[Best], depth: int) -> Best:
    """Rank the ``depth`` best items of each user from ``parts``, ranges of items in order."""
    found = side_by_side(parts)
    counts = np.diff(found.start)
    longest = int(counts.max(initial=0))
    places = np.empty((len(counts), min(depth, longest)), np.int64)
    length = np.zeros(len(counts), np.int64)
    block = ScoreMatrix(found.values[np.newaxis]).block(slice(0, 1))
    kernels.list_candidates(
        block.values[0],
        found.start,
        np.arange(len(found.items)),
        depth,
        block.least,
        places,
        length,
        kernels.pool_for(depth, longest, block.values.dtype),
    )
    kept = places[np.arange(places.shape[1]) < length[:, np.newaxis]]
    start = np.concatenate(([0], np.cumsum(length)))
    return Best(start, found.items[kept], found.values[kept])


def side_by_side(parts: Sequence[Rows]) -> Rows:
    """Join parts with the same users, in the order of their items, into one row per user."""
    if len(parts) == 1:
        return parts[0]
    # A stable sort by user leaves the parts of each in order.
    order = np.argsort(np.concatenate([part.users() for part in parts]), kind="stable")
    return Rows(
        np.sum([part.start for part in parts], axis=0),
        np.concatenate([part.items for part in parts])[order],
        np.concatenate([part.values for part in parts])[order],
    )
