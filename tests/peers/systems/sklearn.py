"""scikit-learn: how its users call it.

Its functions read one value of truth and one score of each item, so an item that must not be
recommended is in neither array, and R counts only the items that are.
"""

import math
import warnings

from sklearn import metrics

PACKAGE = "scikit-learn"
REQUIREMENTS = ["scikit-learn==1.9.1"]
ROWS = True
ALONE = ["dcg"]
TIES = [
    "dcg_score([truth], [scores], k={k})",
    "dcg_score([truth], [scores])",
    "average_precision_score",
    "auc",
]


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN where the function refuses the user's items."""
    return groups(call, given.groups())


def groups(call: str, groups) -> list[float]:
    """Compute the value of each group; NaN where the function refuses its rows.

    It refuses no rows, and ndcg_score and dcg_score refuse one row alone.
    """
    least = 2 if "dcg" in call else 1
    found = []
    for grades, scores in groups.each():
        truth = grades if "dcg" in call else grades > 0  # the others refuse grades
        value = math.nan
        if len(grades) >= least:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a group without relevant rows
                value = eval(call, vars(metrics), {"truth": truth, "scores": scores})
        found.append(float(value))
    return found
