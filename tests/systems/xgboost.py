"""XGBoost: how its users read its ranking metrics, as it prints them for a validation set.

A matrix has one row of each item of a query, so an item that must not be recommended has no row,
and R counts only the items that have one.
"""

from importlib import metadata

import numpy as np
import xgboost

REQUIREMENTS = ["xgboost-cpu==3.2.0"]
ROWS = True


def version() -> str:
    """Read the installed version."""
    return metadata.version("xgboost-cpu")


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row, who is no query at all.

    The scores are base margins of a model without a tree, so its predictions are the scores. A
    matrix of one query has that query's value as its mean.
    """
    parameters = eval(f"dict({call})") | {"objective": "rank:ndcg", "nthread": 1, "verbosity": 0}

    def value(grades, scores):
        rows = xgboost.DMatrix(
            np.zeros((len(grades), 1)),
            label=grades if "ndcg" in call else grades > 0,  # map and pre refuse grades
            base_margin=scores,
            nthread=1,
        )
        rows.set_group([len(grades)])
        printed = xgboost.Booster(parameters, [rows]).eval(rows)
        return float(printed.rpartition(":")[2])

    return given.of_rows(value)
