"""LightGBM: how its users read its ranking metrics, as it prints them for a validation set.

A data set has one row of each item of a query, so an item that must not be recommended has no row,
and R counts only the items that have one.
"""

from importlib import metadata

import lightgbm
import numpy as np

REQUIREMENTS = ["lightgbm==4.7.0"]
ROWS = True


def version() -> str:
    """Read the installed version."""
    return metadata.version("lightgbm")


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row, who is no query at all.

    The scores are initial scores of a model without a tree, so its predictions are the scores. A
    data set of one query has that query's value as its mean.
    """
    quiet = {"verbosity": -1, "num_threads": 1}
    parameters = eval(f"dict({call})") | {"objective": "lambdarank"} | quiet

    def value(grades, scores):
        rows = lightgbm.Dataset(
            np.zeros((len(grades), 1)),
            label=grades,
            group=[len(grades)],
            init_score=scores,
            params=quiet,
        )
        ((_, _, printed, _),) = lightgbm.Booster(parameters, rows).eval_train()
        return printed

    return given.of_rows(value)
