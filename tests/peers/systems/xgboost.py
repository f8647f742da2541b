"""XGBoost: how its users read its ranking metrics, as it prints them for a validation set.

A matrix has one row of each item of a query, so an item that must not be recommended has no row,
and R counts only the items that have one.
"""

import numpy as np
import xgboost

PACKAGE = "xgboost-cpu"
# It asks for Python 3.12, and runs on 3.11, too.
REQUIREMENTS = [
    "numpy==2.4.6 scipy==1.17.1",
    "--no-deps --ignore-requires-python xgboost-cpu==3.4.1",
]
ROWS = True
SIZES = ["ndcg", "map"]


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row, who is no query at all.

    A matrix of one query has that query's value as its mean.
    """
    return given.of_rows(lambda grades, scores: printed(call, scores, grades, [len(grades)]))


def groups(call: str, groups) -> list[float]:
    """Compute the mean over the groups of one matrix; pre refuses one without a row."""
    scores, grades, sizes = groups
    return [printed(call, scores, grades, sizes[sizes > 0] if "pre" in call else sizes)]


def printed(call: str, scores, grades, sizes) -> float:
    """Compute what it prints for a matrix.

    The scores are base margins of a model without a tree, so its predictions are the scores.
    """
    parameters = eval(f"dict({call})") | {"objective": "rank:ndcg", "nthread": 1, "verbosity": 0}
    rows = xgboost.DMatrix(
        np.zeros((len(grades), 1)),
        label=grades if "ndcg" in call else grades > 0,  # map and pre refuse grades
        base_margin=scores,
        nthread=1,
    )
    rows.set_group(sizes)
    text = xgboost.Booster(parameters, [rows]).eval(rows)
    return float(text.rpartition(":")[2])
