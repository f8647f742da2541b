"""Batches of users: the log of those that were added, and the lists of one batch.

Python's overhead for a metric is the same for ten users as for ten thousand. So the hits of batches
wait in the log until the metrics of a few thousand users can be computed together.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._inputs import UserIndex
from recmetrics._selection import Found, Slots, join
from recmetrics._types import IntArray


class Added(NamedTuple):
    """A batch of users that was added."""

    users: UserIndex
    values: Any  # (metrics, users), or what was found: the metrics are still to be computed
    lists: IntArray  # (users, width)
    offered: npt.NDArray[np.bool_]  # (n_items,)
    invalid: IntArray | None  # (2, users) repeats and unknown items; None where they are errors
    next_user: int  # the first row of the next batch where it does not name its users
    waiting: tuple[int, ...]  # the size of this batch and of those before it


def joined(found: Sequence[Found]) -> Found:
    """Join the hits of batches, in order, into one batch."""
    if len(found) == 1:
        return found[0]
    of_lists = {
        text: np.concatenate([each.of_lists[text] for each in found]) for text in found[0].of_lists
    }
    blocks = [each.slots for each in found if each.slots is not None]
    slots = Slots.join(blocks) if blocks else None
    hits = join([each.hits for each in found])
    return found[0]._replace(hits=hits, of_lists=of_lists, slots=slots)


def item_dtype(n_items: int) -> type[np.signedinteger[Any]]:
    """Choose the smallest dtype for the items of kept lists."""
    return np.int32 if n_items < 1 << 31 else np.int64


class KeptLists:
    """The lists of one batch, kept instead of added up."""

    def __init__(self, n_users: int, n_items: int, depth: int) -> None:
        self._shape = n_users, depth
        self._blocks: list[tuple[slice, IntArray, IntArray]] = []
        self.offered = np.zeros(n_items if depth else 0, np.bool_)

    def offer(self, items: IntArray | slice) -> None:
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
