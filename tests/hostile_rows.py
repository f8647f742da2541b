"""Rows of scores made to break the bounds of the selection, and their ranks by a full sort."""

import numpy as np
from inside import kernels
from problems import JIT

LANES = kernels.LANES
LENGTHS = [1, 2, 63, 64, 65, LANES, 3 * LANES - 1, 3 * LANES, 3 * LANES + 65, 5 * LANES - 1]
LENGTHS += [12_345 if JIT else 2_345]
CUTOFFS = [1, 2, 20, 100, LANES // 4, LANES // 4 + 1, LANES]


def _random(rng, n):
    return rng.standard_normal(n)


def _one_huge_value_per_block(rng, n):
    row = rng.standard_normal(n)
    row[:: kernels.BLOCK_SCORES] += 1e30
    return row


def _one_lane_holds_the_best(rng, n):
    row = rng.standard_normal(n)
    row[5 :: 2 * LANES] += 100
    return row


def _mostly_unlisted(rng, n):
    row = np.full(n, -np.inf)
    listed = rng.choice(n, size=min(n, 37), replace=False)
    row[listed] = rng.standard_normal(len(listed))
    return row


HOSTILE = {
    "random": _random,
    "ascending": lambda _, n: np.arange(n, dtype=float),
    "descending": lambda _, n: -np.arange(n, dtype=float),
    "constant": lambda _, n: np.full(n, 7.0),
    "two values": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "five values": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "rare best": lambda rng, n: (rng.random(n) < 0.003).astype(float),
    "all -inf": lambda _, n: np.full(n, -np.inf),
    "-inf but for 37": _mostly_unlisted,
    "both zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "denormals": lambda rng, n: rng.integers(-3, 4, n) * 5e-324,
    "one huge value per block": _one_huge_value_per_block,
    "one lane holds the best": _one_lane_holds_the_best,
    "+inf and -inf": lambda rng, n: rng.choice([-np.inf, 0.0, np.inf], n),
    "best at the end": lambda _, n: np.where(np.arange(n) > n - 30, 1.0, 0.0),
}


def ranks_by_sort(row, excluded):
    """The rank of every item that may be recommended, 0 for the others."""
    order = np.lexsort((np.arange(len(row)), -row))
    allowed = np.isfinite(row) | (row == np.inf)
    allowed[excluded] = False
    ranks = np.zeros(len(row), np.int64)
    order = order[allowed[order]]
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
