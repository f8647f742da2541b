"""Batches of users: the lists of one batch, and batches whose metrics are computed together.

A metric costs as much Python for ten users as for ten thousand. So the hits of batches wait in one
reused buffer until the metrics of a few thousand users can be computed as one batch.
"""

from collections.abc import Mapping

import numpy as np

from recmetrics._inputs import UserIndex, as_indices
from recmetrics._selection import Found, empty_hits, part_of
from recmetrics._spec import Cutoffs
from recmetrics._types import IntArray, UserValues


class Waiting:
    """A buffer for the hits of ``n_users`` users with ``n_slots`` relevant items."""

    def __init__(self, n_users: int, n_slots: int, *, ties: bool) -> None:
        self._users = np.zeros(n_users, np.int64)
        self._hits = empty_hits(np.zeros(n_users + 1, np.int64), np.zeros(n_slots), ties=ties)
        self._of_lists: list[Mapping[str, UserValues]] = []
        self._n_users = 0
        self._n_slots = 0

    def clear(self) -> None:
        """Remove all batches."""
        self._of_lists = []
        self._n_users = self._n_slots = 0

    def fits(self, n_users: int, n_slots: int) -> bool:
        """Say whether there is room for a batch of so many users and relevant items."""
        return self._n_users + n_users <= len(self._users) and self._n_slots + n_slots <= len(
            self._hits.rank
        )

    def append(self, users: UserIndex, found: Found) -> None:
        """Copy the hits of a batch that fits into the buffer, behind the others."""
        everyone, hits = self._hits, found.hits
        rows = slice(self._n_users, self._n_users + len(hits.n_hits))
        slots = slice(self._n_slots, self._n_slots + len(hits.rank))
        everyone.n_hits[rows], everyone.length[rows] = hits.n_hits, hits.length
        everyone.ideal[slots], everyone.gain[slots] = hits.ideal, hits.gain
        everyone.rank[slots] = hits.rank
        if len(everyone.first):
            everyone.first[slots], everyone.last[slots] = hits.first, hits.last
        np.add(hits.start[1:], slots.start, out=everyone.start[rows.start + 1 : rows.stop + 1])
        self._users[rows] = as_indices(users)
        self._of_lists.append(found.of_lists)
        self._n_users, self._n_slots = rows.stop, slots.stop

    def joined(self, cutoffs: Cutoffs) -> tuple[IntArray, Found]:
        """Join the users and hits of all batches, in order, into one batch.

        It is a view of the buffer: read it before the next ``append``.
        """
        of_lists = {
            text: np.concatenate([values[text] for values in self._of_lists])
            for text in (self._of_lists[0] if self._of_lists else ())
        }
        hits = part_of(self._hits, slice(0, self._n_users))
        return self._users[: self._n_users], Found(hits, of_lists, None, cutoffs)


class KeptLists:
    """The lists of one batch, kept instead of added up."""

    def __init__(self, n_users: int, n_items: int, depth: int) -> None:
        self._shape = n_users, depth
        self._blocks: list[tuple[slice, IntArray, IntArray]] = []
        self.offered = np.zeros(n_items if depth else 0, np.bool_)

    def offer(self, rows: slice, items: IntArray | slice) -> None:  # noqa: ARG002
        """Note which items may be in a list; every thread writes the same value."""
        self.offered[items] = True

    def add(self, rows: slice, items: IntArray, length: IntArray) -> None:
        """Keep the lists of a block of rows."""
        self._blocks.append((rows, items, length))

    def joined(self) -> IntArray:
        """Join the lists of all blocks: (n_users, longest) items, -1 after the end of a list."""
        n_users, depth = self._shape
        width = max((int(length.max(initial=0)) for _, _, length in self._blocks), default=0)
        lists = np.full((n_users, min(depth, width)), -1, np.int64)
        for rows, items, length in self._blocks:
            width = min(lists.shape[1], items.shape[1])
            is_item = np.arange(width) < length[:, np.newaxis]
            lists[rows, :width] = np.where(is_item, items[:, :width], -1)
        return lists
