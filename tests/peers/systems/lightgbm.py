"""LightGBM: how its users read its ranking metrics, as it prints them for a validation set.

A data set has one row of each item of a query, so an item that must not be recommended has no row,
and R counts only the items that have one.
"""

import lightgbm
import numpy as np

PACKAGE = "lightgbm"
REQUIREMENTS = ["lightgbm==4.7.0"]
ROWS = True
SIZES = [""]


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row, who is no query at all.

    A data set of one query has that query's value as its mean.
    """
    return given.of_rows(lambda grades, scores: printed(call, scores, grades, [len(grades)]))


def groups(call: str, groups) -> list[float]:
    """Compute the mean over the groups of one data set."""
    return [printed(call, *groups)]


def printed(call: str, scores, grades, sizes) -> float:
    """Compute what it prints for a data set.

    The scores are initial scores of a model without a tree, so its predictions are the scores.
    """
    quiet = {"verbosity": -1, "num_threads": 1}
    parameters = eval(f"dict({call})") | {"objective": "lambdarank"} | quiet
    rows = lightgbm.Dataset(
        np.zeros((len(grades), 1)), label=grades, group=sizes, init_score=scores, params=quiet
    )
    ((_, _, value, _),) = lightgbm.Booster(parameters, rows).eval_train()
    return value
