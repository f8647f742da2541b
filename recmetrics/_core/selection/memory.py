"""Arrays for the kernels of ``kernels`` to work in: how large, and when none."""

from typing import Any

import numpy as np

from recmetrics._core.inputs import FlatLists, ScoreBlock
from recmetrics._core.selection.kernels import (
    BLOCK_SCORES,
    LANES,
    TILE_SCORES,
    Array,
    Bins,
    Collected,
    ListTables,
    Pool,
    PossibleHits,
    TileMemory,
)
from recmetrics._core.types import IntArray

_BUCKETS_PER_BIN = 4  # with 8, 1,000 relevant items of a user take longer, and 100 as long
_MOST_BUCKETS = 1 << 15  # 128 KiB
_CACHED_ROW_BYTES = 1 << 16  # twice the nearest cache of most processors


def possible_hits_for(start: IntArray, *, ties: bool) -> PossibleHits:
    """Work memory for the possible hits of one user; ``start`` is that of the truth."""
    n_relevant = int((start[1:] - start[:-1]).max(initial=0))
    places, rank = np.empty((2, n_relevant), np.int64)
    n_above, n_reaching = np.empty((2, n_relevant if ties else 0), np.int64)
    return PossibleHits(places, np.empty(n_relevant), rank, n_above, n_reaching)


def bins_for(n_items: int, most_relevant: int, dtype: np.dtype[Any]) -> Bins:
    """Work memory for the bins of ``n_items`` scores of one user."""
    n_bins = 1 << most_relevant.bit_length()
    greatest = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    return Bins(
        scores=np.empty(n_bins, dtype),
        greatest=dtype.type(greatest),
        unsorted=np.empty(most_relevant, dtype),
        first_of=np.empty(min(_BUCKETS_PER_BIN * n_bins, _MOST_BUCKETS) + 1, np.uint32),
        crowded=np.empty(TILE_SCORES, np.int64),
        bin_of=np.empty(n_items, np.uint32),
        n_above=np.empty(n_bins, np.int32),
        has_ties=np.empty(1, np.bool_),
        n_equal=np.empty(n_bins, np.int32),
        n_better=np.empty(n_bins, np.int32),
        order=np.empty(most_relevant, np.int32),
    )


def pool_for(k: int, longest: int, dtype: np.dtype[Any]) -> Pool:
    """Memory to select the ``k`` best of rows of at most ``longest`` items."""
    # A pool of the first size is cut to the k best when it is full; the second holds all items.
    room = min(4 * k + LANES, longest + BLOCK_SCORES)
    return Pool(
        values=np.empty(room, dtype),
        items=np.empty(room, np.int64),
        spare_values=np.empty(room, dtype),
        spare_items=np.empty(room, np.int64),
    )


def row_for(scores: ScoreBlock, n_items: int) -> Array:
    """Memory for a copy of a row without excluded items; empty where it is not copied.

    It does not pay off where the copy leaves the nearest cache, and whole numbers have no score
    that is never recommended. Half precision is copied anyway, when it is converted.
    """
    is_cached = fits_cache(n_items, scores.values.dtype)
    may_copy = scores.bits is None and scores.has_infinity and is_cached
    return np.empty(n_items if may_copy else 0, scores.values.dtype)


def fits_cache(n_items: int, dtype: np.dtype[Any]) -> bool:
    """Say whether a row of scores stays in the nearest cache while it is copied."""
    return n_items * dtype.itemsize <= _CACHED_ROW_BYTES


def tables_for(lists: FlatLists, relevant_items: IntArray) -> ListTables:
    """Tables with -1 for each item, empty where they would be larger than the input.

    A lookup takes a tenth of the time of a search among a user's items.
    """
    items = lists.items
    last_item = int(max(items.max(initial=-1), relevant_items.max(initial=-1)))
    size = last_item + 1 if last_item < items.size + relevant_items.size else 0
    may_repeat = np.empty(0, np.bool_) if size else lists.may_repeat()
    return ListTables(np.full(size, -1, np.int64), np.full(size, -1, np.int64), may_repeat)


def lanes_for(k: int, n_items: int, dtype: np.dtype[Any]) -> Array:
    """Memory for the lane maxima of rows of ``n_items``; empty where the rows are too short."""
    return np.empty(n_lanes_for(k, n_items), dtype)


def n_lanes_for(k: int, n_items: int) -> int:
    """The number of lanes of a row of ``n_items``; 0 where it is too short."""
    # At least 2 k, so that few more than k items reach the bound.
    n_lanes = (2 * k + LANES - 1) // LANES * LANES
    return n_lanes if 3 * n_lanes <= n_items else 0


def room_for(k: int, n_items: int) -> int:
    """The number of items ``select_tile`` collects of a user before it cuts them to the k best."""
    # Room of the first size is cut when it is full; the second holds all items; both are in blocks.
    return min(3 * k // BLOCK_SCORES + 4, n_items // BLOCK_SCORES + 2) * BLOCK_SCORES


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
        lane_maxima=lanes_for(k, width, dtype),
        block_counts=np.empty((width + BLOCK_SCORES - 1) // BLOCK_SCORES, np.int32),
        excluded_columns=np.empty(width, np.int64),
    )
