"""LensKit 0.14: RecListAnalysis, list by list or, for tables with ranks, in bulk."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from lenskit import topn

PACKAGE = "lenskit"
# The csr of LensKit 0.14 pins numba 0.58. pandas 3 breaks its bulk recall.
REQUIREMENTS = ["numpy<2", "pandas==2.1.4", "lenskit==0.14.4"]
GAPS = ["bulk"]
LISTED = [""]


def values(call: str, given: Any) -> list[float]:
    """Compute a column of ``RecListAnalysis().compute(recs, test)``; "bulk: " gives it ranks.

    A call is written as for one list, ``ndcg(recs, truth, k=10)``.
    """
    bulk = call.startswith("bulk: ")
    name, _, arguments = call.removeprefix("bulk: ").partition("(recs, truth")
    k = {"k": int(arguments.strip(", k=)"))} if "k=" in arguments else {}
    rows = [
        (user, item, given.scores[user, item], rank)
        for user, (items, ranks) in enumerate(zip(given.lists(), given.ranks, strict=True))
        for item, rank in zip(items, ranks, strict=True)
    ]
    recs = pd.DataFrame(rows, columns=["user", "item", "score", "rank"])
    if not bulk:
        recs = recs.drop(columns="rank")
    users, items = np.nonzero(given.truth)
    ratings = given.truth[users, items].astype(float)
    test = pd.DataFrame({"user": users, "item": items, "rating": ratings})
    n_users = len(given.scores)
    if not recs["user"].isin(users).any() and not bulk:
        return [np.nan] * n_users  # here it raises
    analysis = topn.RecListAnalysis()
    analysis.add_metric(getattr(topn, name), **k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = analysis.compute(recs, test)
    return found[name].reindex(range(n_users)).astype(float).tolist()
