"""PyTorch Geometric: how its users call its link prediction metrics.

A metric reads the indices of each user's first k items, as the search for nearest neighbours with
links to exclude gives them: where fewer than k items are left, the rest is -1.
"""

import numpy as np
import torch
from torch_geometric import metrics

PACKAGE = "torch_geometric"
REQUIREMENTS = ["torch==2.13.0", "torch_geometric==2.8.1"]
SINGLE = [""]


def values(call: str, given) -> list[float]:
    """Compute the value of each user, or the one value of all lists.

    NaN of a user without relevant items, who is left out of the mean. One user at a time: in a
    batch a -1 may be taken for a relevant item of the user before.
    """
    n_users, n_items = given.truth.shape
    lists = [items[: given.k] for items in given.lists()]
    padded = [items + [-1] * (given.k - len(items)) for items in lists]

    def metric():
        return eval(call, vars(metrics) | {"n_items": n_items})

    def mean(found, users, rows) -> float:
        truth = given.truth[users]
        edges = np.nonzero(truth)
        found.update(
            torch.tensor(rows).reshape(len(rows), -1),
            torch.tensor(np.array(edges)),
            torch.tensor(truth[edges], dtype=torch.float32),
        )
        return found.compute().item()

    if "Personalization" in call:
        if not any(lists):
            return [float("nan")]  # an error there
        return [mean(metric(), range(n_users), padded)]
    if "Coverage" in call:
        found, value = metric(), 0.0  # without the -1, which counts as the last item of all
        for user, items in enumerate(lists):
            if items:
                value = mean(found, [user], [items])
        return [value]
    return [
        mean(metric(), [user], [row]) if given.truth[user].any() else float("nan")
        for user, row in enumerate(padded)
    ]
