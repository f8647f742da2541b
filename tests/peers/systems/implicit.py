"""implicit: a factor model and implicit.evaluation, on a test matrix of one user at a time."""

import math
import warnings

import implicit.evaluation
import numpy as np
from implicit.cpu.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix

PACKAGE = "implicit"
REQUIREMENTS = ["numpy==2.4.6", "scipy==1.17.1", "implicit==0.7.3"]
TIES = []
BEYOND = False
FULL = True


def values(call: str, given) -> list[float]:
    """Compute "ndcg_at_k(model, train, test, K=10)"; it skips users without relevant items."""
    name, _, cutoff = call.rstrip(")").partition("(model, train, test, K=")
    metric = getattr(implicit.evaluation, name)
    model = _model(given.scores)
    train = csr_matrix(given.exclude.astype(np.float64))
    result = []
    for user, relevances in enumerate(given.truth):
        if not relevances.any():
            result.append(math.nan)
            continue
        test = np.zeros(given.truth.shape)
        test[user] = relevances
        try:
            value = metric(model, train, csr_matrix(test), K=int(cutoff), show_progress=False)
        except ZeroDivisionError:  # every metric of a user to whom all items are relevant
            value = math.nan
        result.append(value)
    return result


def _model(scores: np.ndarray) -> AlternatingLeastSquares:
    """Make a model whose factors have the scores as their products."""
    n_items = scores.shape[1]
    with warnings.catch_warnings():  # that BLAS has threads of its own
        warnings.simplefilter("ignore", RuntimeWarning)
        model = AlternatingLeastSquares(factors=n_items, dtype=np.float64)
    model.user_factors, model.item_factors = scores, np.eye(n_items)
    return model
