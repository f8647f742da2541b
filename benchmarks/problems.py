"""The problems that are timed: seeded score matrices, and the relevant items of users."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from recmetrics._core.spec.registry import METRICS

SEED = 20
# Users x items: a short catalogue, that of MovieLens 1M, and two larger ones.
SHORT = (100_000, 1_000)
SMALL = (10_000, 3_700)
MIDDLE = (2_000, 50_000)
LARGE = (1_000, 200_000)
SIZES = (SHORT, SMALL, MIDDLE, LARGE)

KINDS = {
    "random": "standard normal scores, which know nothing of the relevant items",
    "unsorted": "the same, with the relevant items of each user in no order",
    "informed": "the same, with the scores of the relevant items raised by two standard deviations",
    "ascending": "random rows sorted, the best items last",
    "ties": "whole numbers from 1 to 5",
    "constant": "zeros",
}
_RAISE = 2.0


class Problem(NamedTuple):
    """Scores and truth of one call."""

    scores: np.ndarray
    truth: sp.csr_array

    def first(self, users: int) -> "Problem":
        """Those users alone; the scores are a view."""
        return Problem(self.scores[:users], self.truth[:users])


def make(
    size: tuple[int, int], kind: str = "random", dtype: str = "float32", relevant: int = 10
) -> Problem:
    """Scores of one of ``KINDS``, and ``relevant`` random items of every user in a CSR matrix."""
    rng = np.random.default_rng(SEED)
    truth = item_sets(size, relevant, rng)
    if kind == "unsorted":
        places = rng.random((size[0], relevant)).argsort(axis=1)
        truth.indices = np.take_along_axis(truth.indices.reshape(places.shape), places, 1).ravel()
    if kind == "ties":
        return Problem(rng.integers(1, 6, size, dtype=np.int8).astype(dtype), truth)
    if kind == "constant":
        # Written, unlike np.zeros: pages never written are one page, which stays in cache.
        return Problem(np.full(size, 0, dtype), truth)
    scores = rng.standard_normal(size, dtype=np.float32)
    if kind == "ascending":
        scores.sort(axis=1)
    if kind == "informed":
        raise_scores(scores, truth, _RAISE)
    return Problem(scores.astype(dtype, copy=False), truth)


def item_sets(size: tuple[int, int], length: int, rng: np.random.Generator) -> sp.csr_array:
    """Draw ``length`` different items for every user; ones in a CSR matrix, items ascending."""
    users, items = size
    drawn = [np.sort(rng.choice(items, length, replace=False)) for _ in range(users)]
    indices = np.concatenate(drawn)
    bounds = np.arange(0, indices.size + 1, length)
    return sp.csr_array((np.ones(indices.size), indices, bounds), shape=size)


def raise_scores(scores: np.ndarray, sets: sp.csr_array, by: float) -> None:
    """Add ``by`` to the scores of the items of every user."""
    users = np.repeat(np.arange(len(scores)), np.diff(sets.indptr))
    scores[users, sets.indices] += by


def eight_columns(k: int) -> list[str]:
    """Spell four metrics at k / 2 and at k."""
    cutoffs = (max(1, k // 2), k)
    return [f"{name}@{cut}" for name in ("ndcg", "recall", "map", "hit") for cut in cutoffs]


def registered_columns(n_metrics: int, cutoffs: tuple[int, ...]) -> list[str]:
    """Spell the first metrics of the registry that take a cutoff, at each of ``cutoffs``."""
    names = [metric.name for metric in METRICS.values() if metric.default_k][:n_metrics]
    return [f"{name}@{k}" for name in names for k in cutoffs]


def show_size(size: tuple[int, int]) -> str:
    """``10,000 x 3,700``."""
    return f"{size[0]:,} x {size[1]:,}"
