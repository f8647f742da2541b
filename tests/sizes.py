"""Sizes of the package's blocks and tiles, made small for a while."""

import pkgutil
from contextlib import contextmanager

# Sizes that cut even a small problem into blocks and tiles, and send it into threads.
TIGHT = {
    "_core.selection.tied": {"_BLOCK_ENTRIES": 8},
    "_core.selection.device": {"_BLOCK_BYTES": 8, "_MANY_RELEVANT": 2},
    "_core.selection.factors": {
        "_TILE_USERS": 2, "_TILE_ITEMS": 5, "_BLAS_MULTIPLE": 1, "_SMALL_PRODUCTS": 0,
        "_MAX_CANDIDATES": 3, "_POOL_BYTES": 64, "_HOST_BYTES": 64,
    },
    "_core.inputs.scores": {
        "_BLOCK_BYTES": 16, "_COPY_BYTES": 16, "LEAST_SCORES": 0, "TILE_ROWS": 2,
    },
    "_core.inputs.row_order": {"_LEAST_TRANSPOSED": 0, "TILE_ROWS": 2},
    "_core.selection.factors:FactorScores": {"short_row_items": 3},
    "_core.inputs.sparse": {"_HEAD_ROWS": 2},
    "_core.inputs.sets": {"_DENSE_ENTRIES": 8, "_SORTED_ENTRIES": 4},
    "_core.results.measure": {"_MIN_THREADED_WORK": 0, "_MAX_BLOCK_USERS": 2},
    "_core.selection.matrix": {
        "MANY_RELEVANT": {4: 2, 8: 2}, "_MANY_HITS": 1, "MAX_PAIRS": 0, "MAX_PAIRS_WITH_LANES": 0,
    },
    "_core.selection.rankings": {"_SMALL_ITEMS": 0, "_BLOCK_ITEMS": 8},
    "_core.results.rows": {"_SUMMED_ITEMS": 4},
    "_core.results.store": {"MAX_WAITING": (3, 8, 1 << 22), "MAX_WAITING_BATCHES": 3},
}  # fmt: skip
# Blocks of a few users, also in one thread.
SMALL = {
    "_core.inputs.scores": {"LEAST_SCORES": 1 << 9, "_COPY_BYTES": 1 << 11},
    "_core.selection.factors": {"_SMALL_PRODUCTS": 0},
    "_core.selection.rankings": {"_BLOCK_ITEMS": 1 << 9, "_SMALL_ITEMS": 0},
}


@contextmanager
def patched(sizes):
    """Files of the package, or classes in them, whose constants have other values for a while."""
    changed = {pkgutil.resolve_name(f"recmetrics.{where}"): own for where, own in sizes.items()}
    before = {where: {name: getattr(where, name) for name in own} for where, own in changed.items()}
    try:
        _set(changed)
        yield
    finally:
        _set(before)


def _set(sizes):
    for where, own in sizes.items():
        for name, value in own.items():
            setattr(where, name, value)
