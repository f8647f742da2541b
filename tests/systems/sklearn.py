"""scikit-learn: how its users call it.

Its functions read one value of truth and one score of each item, so an item that must not be
recommended is in neither array, and R counts only the items that are.
"""

import warnings
from importlib import metadata

import numpy as np
from sklearn import metrics

REQUIREMENTS = ["scikit-learn==1.9.1"]
ROWS = True
ALONE = ["dcg"]
TIES = ["dcg_score([truth], [scores], k={k})", "dcg_score([truth], [scores])", "auc"]


def version() -> str:
    """Read the installed version."""
    return metadata.version("scikit-learn")


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN where the function refuses the user's items.

    It refuses no items, and ndcg_score and dcg_score refuse one item alone.
    """
    found = []
    for user, items in enumerate(given.lists()):
        listed = np.sort(items).astype(int)
        truth = given.truth[user, listed]
        names = {
            "truth": truth if "dcg" in call else truth > 0,  # the others refuse grades
            "scores": given.scores[user, listed],
        }
        if len(items) < (2 if "dcg" in call else 1):
            found.append(float("nan"))
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a user without relevant items
            found.append(float(eval(call, vars(metrics), names)))
    return found
