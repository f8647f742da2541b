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
    found = []
    for user, items in enumerate(given.lists()):
        if not items:
            found.append(float("nan"))
            continue
        listed = sorted(items)
        rows = lightgbm.Dataset(
            np.zeros((len(listed), 1)),
            label=given.truth[user, listed],
            group=[len(listed)],
            init_score=given.scores[user, listed],
            params=quiet,
        )
        ((_, _, value, _),) = lightgbm.Booster(parameters, rows).eval_train()
        found.append(value)
    return found
