"""recometrics: calc_reco_metrics, with factors whose products are the scores."""

import math

import numpy as np
import recometrics
from scipy.sparse import csr_array

PACKAGE = "recometrics"
REQUIREMENTS = ["numpy==2.4.6", "scipy==1.17.1", "recometrics==0.1.6.post13"]
TIES = []
FULL = True
BEYOND = False
SWALLOWS = False


def values(call: str, given) -> list[float]:
    """Read the column "P@10" or "ROC_AUC" of the table that has a row for each user."""
    n_users, n_items = given.truth.shape
    k = int(call.partition("@")[2] or 1)
    if not given.truth.any() or k > n_items:  # a ValueError there
        return [math.nan] * n_users
    table = recometrics.calc_reco_metrics(
        csr_array(given.exclude.astype(float)),  # the training data: not to be recommended
        csr_array(given.truth.astype(float)),
        given.scores,
        np.eye(n_items),
        k=k,
        all_metrics=True,
        nthreads=1,
    )
    return [float(value) for value in table[call]]
