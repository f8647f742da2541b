"""Implicit-feedback matrix factorisation by alternating least squares, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics.cli._simulation import Interactions

Factors = npt.NDArray[np.floating[Any]]


def train(
    interactions: Interactions,
    *,
    n_factors: int,
    n_epochs: int,
    rng: np.random.Generator,
    confidence: float = 10.0,
    regularisation: float = 20.0,
) -> Iterator[tuple[Factors, Factors]]:
    """Yield (user factors, item factors) after each epoch.

    Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008.
    """
    by_item = interactions.T.tocsr()
    items: Factors = rng.normal(0.0, 0.01, (interactions.shape[1], n_factors))
    for _ in range(n_epochs):
        users = _solve(interactions, items, confidence, regularisation)
        items = _solve(by_item, users, confidence, regularisation)
        yield users, items


def _solve(
    interactions: Interactions, fixed: Factors, confidence: float, regularisation: float
) -> Factors:
    """Solve the ridge regression of every row at once, with the other side fixed."""
    n_fixed, n_factors = fixed.shape
    # (Y'Y + a Y'RY + l I) x = (1 + a) Y'r per row: one sparse product sums all outer products.
    outer = (fixed[:, :, None] * fixed[:, None, :]).reshape(n_fixed, -1)
    everywhere = fixed.T @ fixed + regularisation * np.eye(n_factors)
    left = (interactions @ outer).reshape(-1, n_factors, n_factors)
    right = (1 + confidence) * (interactions @ fixed)
    solved: Factors = np.linalg.solve(everywhere + confidence * left, right[:, :, None])
    return solved[:, :, 0]
