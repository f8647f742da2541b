"""Cornac: the metrics of cornac.metrics, one user at a time, as ranking_eval calls them."""

import math
import warnings

import numpy as np

with warnings.catch_warnings():  # importing the package names models whose extras are missing
    warnings.simplefilter("ignore")
    import cornac.metrics

PACKAGE = "cornac"
REQUIREMENTS = ["torch==2.13.0", "numpy==2.4.6", "scipy==1.17.1", "cornac==3.0.1"]
TIES = ["HitRatio", "Precision", "Recall", "FMeasure", "NDCG", "NCRR", "MRR"]


def values(call: str, given) -> list[float]:
    """Compute a metric such as "NDCG(k=10)" or "MAP()"; it skips users without relevant items."""
    name, _, argument = call.rstrip(")").partition("(")
    options = {"k": int(argument.removeprefix("k="))} if argument else {}
    metric = getattr(cornac.metrics, name)(**options)
    lists = given.lists()
    return [_value(metric, given, user, lists[user]) for user in range(len(given.truth))]


def _value(metric, given, user: int, ranking: list[int]) -> float:
    relevant = np.flatnonzero(given.truth[user] > 0)
    if relevant.size == 0:
        return math.nan
    recommendable = np.flatnonzero(~given.exclude[user])
    try:
        with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # 0/0 and the mean of nothing
            value = metric.compute(
                gt_pos=relevant,
                pd_rank=np.array(ranking, dtype=int),
                item_indices=recommendable,
                pd_scores=given.scores[user, recommendable],
            )
    except ValueError:  # MRR of a list without a relevant item
        return math.nan
    return float(value)
