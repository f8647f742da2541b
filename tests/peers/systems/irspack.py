"""irspack: ``Evaluator`` over a matrix of scores, or lists in tables."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from irspack import Evaluator
from irspack.evaluation.evaluate_df_to_df import evaluate_recommendation_df

PACKAGE = "irspack"
REQUIREMENTS = ["irspack==0.5.2", "pandas==3.1.1"]
JUDGED = ["gini_index", "catalog_coverage"]


def values(call: str, given: Any) -> list[float]:
    """Compute the metric named after the colon, of one user at a time or of all lists together."""
    evaluation, _, name = call.rpartition(": ")
    n_users, n_items = given.scores.shape
    # A cutoff beyond the catalogue is an error.
    evaluation = evaluation.replace(f"cutoff={given.k}", f"cutoff={min(given.k, n_items)}")
    measure = _of_tables if evaluation.startswith("evaluate_") else _of_scores
    if name in ("gini_index", "entropy", "catalog_coverage", "appeared_item"):
        return [measure(evaluation, given, list(range(n_users))).get(name, np.nan)]
    each = [measure(evaluation, given, [user]) for user in range(n_users)]
    return [means[name] if means["valid_user"] else np.nan for means in each]


def _of_scores(evaluation: str, given: Any, users: list[int]) -> dict[str, float]:
    """Run an ``Evaluator``; what may not be recommended is scored -inf."""
    scores = np.where(given.exclude, -np.inf, given.scores)[users]
    truth = sp.csr_matrix((given.truth[users] > 0).astype(float))
    evaluator = eval(evaluation, {"Evaluator": Evaluator, "truth": truth})
    return evaluator.get_score_from_score_matrix(scores)


def _of_tables(_: str, given: Any, users: list[int]) -> dict[str, float]:
    """Run ``evaluate_recommendation_df`` over the whole lists."""
    lists = given.lists()
    recommended = [(user, item) for user in users for item in lists[user]]
    relevant = [(user, item) for user in users for item in np.flatnonzero(given.truth[user])]
    names = ["user", "item"]
    return evaluate_recommendation_df(
        pd.DataFrame(recommended, columns=names), pd.DataFrame(relevant, columns=names), *names
    )
