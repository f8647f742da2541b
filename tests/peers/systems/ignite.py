"""ignite: how its users call ignite.metrics.rec_sys, with one user in a batch.

It reads a matrix of scores and one of labels, so an item that must not be recommended is scored
-inf. A relevant item is never one of them here: it would be a hit in a list that is too short.
"""

import math

import numpy as np
import torch
from ignite.exceptions import NotComputableError
from ignite.metrics import rec_sys

PACKAGE = "pytorch-ignite"
REQUIREMENTS = ["torch==2.13.0", "pytorch-ignite==0.5.5"]
TIES = []
SWALLOWS = False
SINGLE = [""]
BEYOND = False
FULL = True


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN where it leaves the user out."""
    scores = np.where(given.exclude, -np.inf, given.scores)
    found = []
    for user, grades in enumerate(given.truth):
        metric = eval(call, vars(rec_sys))
        metric.update(
            (
                torch.tensor(scores[user : user + 1], dtype=torch.float32),
                torch.tensor(grades[np.newaxis], dtype=torch.float32),
            )
        )
        try:
            (value,) = metric.compute()
        except NotComputableError:
            value = math.nan
        found.append(value)
    return found
