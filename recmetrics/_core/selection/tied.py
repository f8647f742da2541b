"""The chance level and the ceiling: the hits of a scorer that gives all items the same score.

The expectation over the orders of its ties is that of a random ranking, and the best order is the
best possible ranking. The hits follow from counts alone.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.inputs import Users, places_of_entries
from recmetrics._core.selection.hits import Hits, empty_hits, join
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.rankers import recommendable
from recmetrics._core.spec import Request
from recmetrics._core.threads import row_blocks

_BLOCK_ENTRIES = 1 << 22  # of the dense matrices of one block of users


class EqualScores(NamedTuple):
    """Scores that are equal for all items."""

    shape: tuple[int, int]

    @property
    def tables(self) -> Mapping[str, Any]:
        """The scores as given: none were."""
        return {}


class TiedRanker:
    """Users with one score for all items; their lists have all of these in any order."""

    def __init__(self, scores: EqualScores, users: Users) -> None:
        self.n_users, self.n_items = scores.shape
        self._users = users

    def hits(
        self,
        k: int | None,  # noqa: ARG002
        rules: Request,  # noqa: ARG002
        reader: Reader | None,
    ) -> tuple[Hits, int]:
        """Give the relevant items of each user all ranks of the whole list.

        Users whose relevant items are all excluded are not counted: their ceiling is 0.
        """
        if reader is not None:
            for rows in row_blocks(self.n_users, _BLOCK_ENTRIES // max(1, self.n_items)):
                reader.read(_all_items(rows, self._users, self.n_items))
        row_entries = sum(int(sets.mean_items) for sets in self._users.present)
        blocks = row_blocks(self.n_users, _BLOCK_ENTRIES // max(1, row_entries))
        return join([_tied(rows, self._users, self.n_items) for rows in blocks]), 0


def _tied(rows: slice, users: Users, n_items: int) -> Hits:
    """The hits of some users where all recommendable items are one tie group."""
    relevant = users.truth.rows(rows)
    is_recommendable, n_recommendable = recommendable(relevant, rows, users, n_items)
    hit_items = relevant.keep(is_recommendable)
    user_of = hit_items.users()
    places = places_of_entries(hit_items.start)
    slots = relevant.start[user_of] + places
    hits = empty_hits(relevant.start, relevant.values, ties=True)
    hits.rank[slots] = places + 1
    hits.first[slots] = 1
    hits.last[slots] = n_recommendable[user_of]
    hits.gain[slots] = hit_items.values
    return hits._replace(n_hits=np.diff(hit_items.start), length=n_recommendable)


def _all_items(rows: slice, users: Users, n_items: int) -> Lists:
    """The lists of some users, with all recommendable items, which are in any order."""
    is_listed = np.full((rows.stop - rows.start, n_items), users.candidates is None)
    if users.candidates is not None:
        candidates = users.candidates.rows(rows)
        is_listed[candidates.users(), candidates.items] = True
    if users.exclude is not None:
        excluded = users.exclude.rows(rows)
        is_listed[excluded.users(), excluded.items] = False
    items = np.argsort(~is_listed, axis=1, kind="stable")  # False first: the listed ones
    relevant = users.truth.rows(rows)
    return Lists(rows, items, np.count_nonzero(is_listed, axis=1), relevant, any_order=True)
