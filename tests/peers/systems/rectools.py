"""RecTools: metrics of a table of recommendations with ranks and a table of interactions."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from rectools import metrics

PACKAGE = "RecTools"
REQUIREMENTS = ["RecTools==0.19.0"]
GAPS = ["HitRate", "Precision", "Recall", "F1Beta", "MAP", "MRR", "NDCG"]


def values(call: str, given: Any) -> list[float]:
    """Compute ``calc_per_user(reco, interactions)``; one number for the coverage."""
    rows = [
        (user, item, rank)
        for user, (items, ranks) in enumerate(zip(given.lists(), given.ranks, strict=True))
        for item, rank in zip(items, ranks, strict=True)
    ]
    columns = ["user_id", "item_id", "rank"]
    reco = pd.DataFrame(np.array(rows, int).reshape(-1, 3), columns=columns)
    users, items = np.nonzero(given.truth)
    interactions = pd.DataFrame({"user_id": users, "item_id": items})
    metric = eval(call, vars(metrics))
    n_users, n_items = given.scores.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ranks that do not begin with 1
        if isinstance(metric, metrics.CatalogCoverage):
            return [float(metric.calc(reco, catalog=range(n_items)))]
        found = metric.calc_per_user(reco, interactions)
    return found.reindex(range(n_users)).tolist()
