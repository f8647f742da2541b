"""The data of the next-item examples: random walks over 50 items.

A model reads seven items and predicts the eighth. Seven of ten steps go to the item with the next
number, and the others to a random item. So the hit@1 of a model cannot be much above 0.7.
"""

from collections.abc import Mapping

import numpy as np

N_ITEMS, LENGTH = 50, 8
METRICS = ["hit@1", "mrr@10"]


def walks(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Make ``n`` walks: their first seven items, (n, 7), and the last one, (n,)."""
    rng = np.random.default_rng(seed)
    items = np.empty((n, LENGTH), np.int64)
    items[:, 0] = rng.integers(0, N_ITEMS, n)
    for place in range(1, LENGTH):
        jumps = rng.random(n) < 0.3
        after = (items[:, place - 1] + 1) % N_ITEMS
        items[:, place] = np.where(jumps, rng.integers(0, N_ITEMS, n), after)
    return items[:, :-1], items[:, -1]


def show(epoch: int, logs: Mapping[str, float], prefix: str) -> None:
    """Print the metrics of an epoch."""
    found = "  ".join(f"{name} {logs[prefix + name]:.3f}" for name in METRICS)
    print(f"epoch {epoch}  {found}")
