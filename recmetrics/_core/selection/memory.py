"""Arrays for the kernels of ``kernels`` to work in: how large, and when none."""

from typing import Any

import numpy as np

from recmetrics._core.inputs import FlatLists
from recmetrics._core.selection.hits import Hits
from recmetrics._core.selection.kernels import (
    BLOCK,
    LANES,
    Array,
    Collected,
    ListTables,
    Pool,
    Tied,
    TileMemory,
)
from recmetrics._core.types import IntArray


def tied_of(hits: Hits, *, ties: bool) -> Tied | None:
    """The ranks of tie groups of ``hits``, None where ranks go by item index."""
    return Tied(hits.first, hits.last) if ties else None


def places_for(start: IntArray) -> IntArray:
    """Work memory for the places of a user's relevant items, which begin at ``start``."""
    return np.empty(int((start[1:] - start[:-1]).max(initial=0)), np.int64)


def pool_for(k: int, longest: int, dtype: np.dtype[Any]) -> Pool:
    """Memory for the ``k`` best of rows of ``longest`` items."""
    room = min(4 * k + LANES, longest + BLOCK)  # the first is cut when full, the second holds all
    return Pool(
        values=np.empty(room, dtype),
        items=np.empty(room, np.int64),
        spare_values=np.empty(room, dtype),
        spare_items=np.empty(room, np.int64),
    )


def tables_for(lists: FlatLists, relevant_items: IntArray) -> ListTables:
    """Tables of -1 for each item, unless they would exceed the input.

    A lookup takes a tenth of the time of a search among a user's items.
    """
    items = lists.items
    largest = int(max(items.max(initial=-1), relevant_items.max(initial=-1)))
    size = largest + 1 if largest < items.size + relevant_items.size else 0
    may_repeat = np.empty(0, np.bool_) if size else lists.may_repeat()
    return ListTables(np.full(size, -1, np.int64), np.full(size, -1, np.int64), may_repeat)


def lanes_for(k: int, n_items: int, dtype: np.dtype[Any]) -> Array:
    """Memory for the lane maxima of rows of ``n_items``; empty where the rows are too short."""
    return np.empty(n_lanes_for(k, n_items), dtype)


def n_lanes_for(k: int, n_items: int) -> int:
    """The number of lanes of a row of ``n_items``; 0 where it is too short."""
    n_lanes = (2 * k + LANES - 1) // LANES * LANES  # so that few more than k items reach the bound
    return n_lanes if 3 * n_lanes <= n_items else 0


def room_for(k: int, n_items: int) -> int:
    """The number of items ``select_tile`` collects of a user before it cuts them to the k best."""
    # The first is cut when full, the second holds all; both in whole blocks.
    return min(3 * k // BLOCK + 4, n_items // BLOCK + 2) * BLOCK


def collected_for(n_users: int, room: int, dtype: np.dtype[Any]) -> Collected:
    """Memory for ``room`` items of each of the users, none of which is collected yet."""
    return Collected(
        bounds=np.full(n_users, -np.inf, dtype),
        counts=np.zeros(n_users, np.int64),
        values=np.empty((n_users, room), dtype),
        items=np.empty((n_users, room), np.int64),
    )


def tile_memory(k: int, width: int, dtype: np.dtype[Any]) -> TileMemory:
    """Memory for ``select_tile`` with tiles of ``width`` columns."""
    return TileMemory(
        lanes=lanes_for(k, width, dtype),
        blocks=np.empty((width + BLOCK - 1) // BLOCK, np.int32),
        excluded=np.empty(width, np.int64),
    )
