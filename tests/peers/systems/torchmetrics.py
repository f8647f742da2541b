"""torchmetrics: how its users call torchmetrics.retrieval.

A metric reads one prediction, one target and one query number of each item, so an item that must
not be recommended has no row, and R counts only the items that have one.
"""

import numpy as np
import torch
from torchmetrics import retrieval

PACKAGE = "torchmetrics"
REQUIREMENTS = ["torch==2.13.0", "torchmetrics==1.9.0"]
ROWS = True
SINGLE = [""]
TIES = ["NormalizedDCG", "AUROC("]


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row, who is no query at all.

    One query is the mean.
    """
    return given.of_rows(
        lambda grades, scores: mean(call, scores, grades, np.zeros(len(grades), np.int64))
    )


def groups(call: str, groups) -> list[float]:
    """Compute the mean over the queries, whose rows are mixed."""
    return [mean(call, *groups.mixed())]


def mean(call: str, scores, grades, indexes) -> float:
    """Compute the mean over the queries."""
    metric = eval(call, vars(retrieval))  # each call is one metric
    metric.update(
        torch.tensor(scores, dtype=torch.float32),
        torch.tensor(grades if "DCG" in call else grades > 0),  # the others refuse grades
        indexes=torch.tensor(indexes),
    )
    return metric.compute().item()
