"""Batches of users whose metrics are computed together, as if they had come as one.

A metric costs as much Python for ten users as for ten thousand. The batches that wait for it lie
one behind another in memory that stays, and selection writes them there: fresh memory for each
costs a page fault for every 4 KB of it, and joining them a copy; together that was a fifth of an
update of 256 x 3,700.
"""

from collections.abc import Mapping

import numpy as np

from recmetrics._itemsets import Chosen, as_indices
from recmetrics._measure import Ranked
from recmetrics._options import UserValues
from recmetrics._spec import MetricSpec
from recmetrics._topk import FloatArray, IntArray, TopK, empty_topk, part_of, section


class Waiting:
    """Room for ``n_users`` users with ``n_slots`` relevant items."""

    def __init__(self, n_users: int, n_slots: int, *, ties: bool) -> None:
        self._users = np.zeros(n_users, np.int64)
        self._top = empty_topk(np.zeros(n_users + 1, np.int64), np.zeros(n_slots), ties=ties)
        self._record: TopK | None = None  # of a batch that is being ranked
        self._listed: list[Mapping[MetricSpec, UserValues]] = []
        self._n_users = 0
        self._n_slots = 0

    def clear(self) -> None:
        """Forget the batches."""
        self._give_up_record()
        self._erase(slice(0, self._n_users), slice(0, self._n_slots))
        self._listed = []
        self._n_users = 0
        self._n_slots = 0

    def fits(self, n_users: int, n_slots: int) -> bool:
        """Whether there is room for a batch of so many users and relevant items."""
        return self._n_users + n_users <= len(self._users) and self._n_slots + n_slots <= len(
            self._top.rank
        )

    def record(self, start: IntArray, relevance: FloatArray) -> TopK:
        """The empty record of a batch that fits, in the memory behind the others."""
        self._give_up_record()
        rows, slots = self._behind(len(start) - 1, len(relevance))
        self._top.ideal[slots] = relevance
        self._record = section(self._top, start, rows, slots)
        return self._record

    def append(self, users: Chosen, ranked: Ranked) -> None:
        """Take in a batch that fits; its record is copied where it lies elsewhere."""
        everyone, top = self._top, ranked.top
        rows, slots = self._behind(len(top.n_hits), len(top.rank))
        if top is not self._record:
            self._give_up_record()
            for name in ("ideal", "rank", "first", "last", "gain"):
                getattr(everyone, name)[slots] = getattr(top, name)
            everyone.n_hits[rows], everyone.n_listed[rows] = top.n_hits, top.n_listed
        np.add(top.start[1:], slots.start, out=everyone.start[rows.start + 1 : rows.stop + 1])
        self._users[rows] = as_indices(users)
        self._record = None
        self._listed.append(ranked.listed)
        self._n_users, self._n_slots = rows.stop, slots.stop

    def joined(self) -> tuple[IntArray, Ranked]:
        """The users of all batches, in order, and their lists, as one batch.

        It lies in the same memory: read it before the next ``append``.
        """
        listed = {
            spec: np.concatenate([values[spec] for values in self._listed])
            for spec in (self._listed[0] if self._listed else ())
        }
        top = part_of(self._top, slice(0, self._n_users))
        return self._users[: self._n_users], Ranked(top, listed)

    def _give_up_record(self) -> None:
        """Erase what was written for a batch that was refused, or measured at once."""
        if self._record is not None:
            self._erase(*self._behind(len(self._record.n_hits), len(self._record.rank)))
            self._record = None

    def _behind(self, n_users: int, n_slots: int) -> tuple[slice, slice]:
        """The place of a batch behind the others."""
        return (
            slice(self._n_users, self._n_users + n_users),
            slice(self._n_slots, self._n_slots + n_slots),
        )

    def _erase(self, rows: slice, slots: slice) -> None:
        """No hits: what selection writes into is empty."""
        top = self._top
        top.n_hits[rows] = top.n_listed[rows] = 0
        for values in (top.rank, top.first, top.last, top.gain):
            values[slots] = 0
