"""torcheval: how its users call torcheval.metrics.functional.

It reads scores of all classes and the index of one of them for each row, so each user has one
relevant item. An item that must not be recommended is scored -inf.
"""

import numpy as np
import torch
from torcheval.metrics import functional

PACKAGE = "torcheval"
REQUIREMENTS = ["torch==2.13.0", "numpy", "torcheval==0.0.7"]
CLASSES = True
SWALLOWS = False
SINGLE = ["reciprocal_rank"]


def values(call: str, given) -> list[float]:
    """Compute the value of each user."""
    scores = torch.tensor(np.where(given.exclude, -np.inf, given.scores))
    names = {"scores": scores, "target": torch.tensor(given.truth.argmax(axis=1))}
    return eval(call, vars(functional) | names).tolist()
