"""scikit-learn: how its users call it.

Its functions read one value of truth and one score of each item, so an item that must not be
recommended is in neither array, and R counts only the items that are.
"""

import warnings
from importlib import metadata

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

    def value(grades, scores):
        if "dcg" in call and len(grades) == 1:
            return float("nan")
        truth = grades if "dcg" in call else grades > 0  # the others refuse grades
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a user without relevant items
            return float(eval(call, vars(metrics), {"truth": truth, "scores": scores}))

    return given.of_rows(value)
