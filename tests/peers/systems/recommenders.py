"""Recommenders: recommenders.evaluation.python_evaluation, on tables of one user at a time."""

import math
import warnings

import pandas as pd
import recommenders.evaluation.python_evaluation as evaluation

PACKAGE = "recommenders"
# The whole package takes 1.5 GB; its metrics need these.
REQUIREMENTS = [
    "numpy==2.4.6 pandas==2.3.3 scikit-learn==1.9.1 scipy==1.17.1",
    "--no-deps recommenders==1.2.1",
]
LISTED = ["precision_at_k", "recall_at_k", "map"]

_TABLES = "(rating_true, rating_pred, "
_LISTS = "(train_df, reco_df)@"
_LEAVE_OUT = ("precision_at_k", "recall_at_k", "map", "map_at_k", "r_precision_at_k")


def values(call: str, given) -> list[float]:
    """Compute "ndcg_at_k(rating_true, rating_pred, k=10)" of each user.

    "catalog_coverage(train_df, reco_df)@10" reads all lists, cut at 10 before the call.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, in the package
        if _LISTS in call:
            return [_of_all_lists(*call.split(_LISTS), given)]
        name, _, text = call.rstrip(")").partition(_TABLES)
        options: dict = dict(part.split("=") for part in text.replace('"', "").split(", "))
        options["k"] = int(options["k"])
        lists = given.lists()
        return [_of_user(name, options, given, user, lists[user]) for user in range(len(lists))]


def _of_user(name: str, options: dict, given, user: int, items: list[int]) -> float:
    truth = [(user, item, grade) for item, grade in enumerate(given.truth[user]) if grade > 0]
    # Only the users in both tables count; ndcg_at_k counts those without recommendations, too.
    if not truth or (not items and name in _LEAVE_OUT):
        return math.nan
    rating_true = pd.DataFrame(truth, columns=["userID", "itemID", "rating"]).astype(
        {"userID": "int64", "itemID": "int64"}
    )
    rating_pred = pd.DataFrame(
        [(user, item, given.scores[user, item]) for item in items],
        columns=["userID", "itemID", "prediction"],
    ).astype({"userID": "int64", "itemID": "int64"})
    value = float(getattr(evaluation, name)(rating_true, rating_pred, **options))
    # Among other users, r_precision_at_k leaves out a user without a hit in the top min(R, k).
    return math.nan if name == "r_precision_at_k" and value == 0 else value


def _of_all_lists(name: str, k: str, given) -> float:
    recommended = [
        (user, item) for user, items in enumerate(given.lists()) for item in items[: int(k)]
    ]
    if not recommended:
        return math.nan
    n_users, n_items = given.truth.shape
    train_df = pd.DataFrame({"userID": n_users, "itemID": range(n_items)})  # all of the catalogue
    reco_df = pd.DataFrame(recommended, columns=["userID", "itemID"])
    return float(getattr(evaluation, name)(train_df, reco_df))
