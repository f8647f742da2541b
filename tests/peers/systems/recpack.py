"""RecPack: its metrics on sparse matrices of binary truth and of scores, as its pipeline does."""

import math

import numpy as np
import recpack.metrics
from scipy.sparse import csr_matrix

PACKAGE = "recpack"
REQUIREMENTS = ["torch==2.13.0", "numpy==1.26.4", "recpack==0.3.6"]
TIES = []
JUDGED = ["CoverageK"]


def values(call: str, given) -> list[float]:
    """Compute "NDCGK(K=10)" of each user, "CoverageK(K=10)" of all lists together.

    The metrics of single items, such as HitK, are summed for each user, as their mean is made.
    Users without relevant items are left out.
    """
    name, _, cutoff = call.rstrip(")").partition("(K=")
    metric = getattr(recpack.metrics, name)(K=int(cutoff))
    is_global = isinstance(metric, recpack.metrics.CoverageK)
    truth = csr_matrix((given.truth > 0).astype(float))
    if truth.nnz == 0:  # no user is left: an IndexError there
        return [math.nan] * (1 if is_global else len(given.truth))
    metric.calculate(truth, csr_matrix(np.where(given.exclude, 0.0, given.scores)))
    if is_global:
        return [float(metric.value)]
    of_user = metric.results.groupby("user_id")["score"].sum()
    return [float(of_user.get(user, math.nan)) for user in range(len(given.truth))]
