"""LensKit 2025: metrics over an ItemListCollection, by RunAnalysis."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import ranking
from lenskit.metrics.bulk import RunAnalysis

PACKAGE = "lenskit"
REQUIREMENTS = ["torch==2.13.0", "lenskit==2025.8.1", "pandas==2.3.3"]
SINGLE = ["ExposureGini"]


def values(call: str, given: Any) -> list[float]:
    """Compute the value of each user as ``list_metrics()`` gives it; one number for a gini."""
    n_users, n_items = given.scores.shape
    metric = eval(call, {**vars(ranking), "items": n_items})
    relevant = given.truth > 0
    lists = {}
    for user, (items, ranks) in enumerate(zip(given.lists(), given.ranks, strict=True)):
        # Where LensKit raises, its users leave the list out.
        graded_dcg = call.startswith("DCG") and "gain=" in call
        if (graded_dcg or "AveragePrecision" in call) and not relevant[user].any():
            continue
        if ("normalize=True" in call or "Gini" in call) and not items:
            continue
        lists[user] = ItemList(
            np.array(items, np.int64),
            rank=np.array(ranks, np.int32),
            score=given.scores[user, items],
        )
    users, judged = np.nonzero(relevant)
    ratings = given.truth[users, judged].astype(float)
    test = pd.DataFrame({"user_id": users, "item_id": judged, "rating": ratings})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ranks that do not begin with 1, 0 / 0
        found = RunAnalysis(metric).measure(
            ItemListCollection.from_dict(lists, key="user_id"),
            ItemListCollection.from_df(test, key="user_id"),
        )
    if "Gini" in call:
        return [float(found.global_metrics().get(metric.label, np.nan))]
    table = found.list_metrics()
    if table.empty:
        return [np.nan] * n_users
    return table[metric.label].reindex(range(n_users)).tolist()
