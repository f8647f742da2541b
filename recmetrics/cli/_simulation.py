"""A simulated implicit-feedback catalogue: skewed popularity and latent taste."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

Interactions: TypeAlias = "sparse.csr_array[Any]"  # a string: old SciPy takes no [Any]

_TASTES = 8  # latent dimensions of taste
_TASTE_WEIGHT = 2.5  # of taste against chance
_POPULARITY_SKEW = 1.2  # sigma of the log-normal popularity
_TYPICAL_LENGTH = 30  # median interactions of a user


class Split(NamedTuple):
    """Interactions of every user in three parts, each (n_users, n_items) of zeros and ones."""

    train: Interactions
    validation: Interactions
    test: Interactions


def simulate(n_users: int, n_items: int, rng: np.random.Generator) -> Interactions:
    """Let every user choose items, by popularity, own taste and chance.

    Adding Gumbel noise to log-weights and keeping the largest draws without replacement, in
    proportion to the weights (Plackett-Luce).
    """
    popularity = rng.normal(0.0, _POPULARITY_SKEW, n_items)
    users = rng.standard_normal((n_users, _TASTES))
    items = rng.standard_normal((n_items, _TASTES))
    utility = popularity + _TASTE_WEIGHT * (users @ items.T) / np.sqrt(_TASTES)
    utility += rng.gumbel(size=utility.shape)

    lengths = rng.lognormal(np.log(_TYPICAL_LENGTH), 0.5, n_users).astype(np.int64)
    lengths = np.clip(lengths, 5, max(5, n_items // 4))
    chosen = np.argsort(-utility, axis=1)[:, : lengths.max()]
    taken = np.arange(chosen.shape[1]) < lengths[:, None]
    return _matrix(np.repeat(np.arange(n_users), lengths), chosen[taken], (n_users, n_items))


def split(interactions: Interactions, rng: np.random.Generator) -> Split:
    """Split each user's interactions at random: 70 % train, 10 % validation, 20 % test."""
    users = np.repeat(np.arange(interactions.shape[0]), np.diff(interactions.indptr))
    lengths = np.bincount(users, minlength=interactions.shape[0])
    # Position of each interaction in its user's own shuffled order, from 0 to just below 1.
    order = np.lexsort((rng.random(users.size), users))
    users, items = users[order], interactions.indices[order]
    position = (np.arange(users.size) - interactions.indptr[users]) / lengths[users]
    parts = [position < 0.7, (position >= 0.7) & (position < 0.8), position >= 0.8]
    return Split(*(_matrix(users[part], items[part], interactions.shape) for part in parts))


def _matrix(users: Any, items: Any, shape: tuple[int, int]) -> Interactions:
    return sparse.csr_array((np.ones(len(users)), (users, items)), shape=shape)
