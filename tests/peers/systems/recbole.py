"""RecBole: how its users call it, in a configuration; here through its collector and evaluator.

The first item of its catalogue is padding. A relevant item that must not be recommended is in its
truth: RecBole's own loader of full rankings would not exclude it.
"""

import warnings

import numpy as np
import torch
from recbole.evaluator import Collector, Evaluator

PACKAGE = "recbole"
# It reads np.float, which NumPy has no longer since 1.24.
REQUIREMENTS = [
    "numpy==1.23.5 scipy==1.10.1 pandas==2.0.3 scikit-learn==1.3.2 torch==2.13.0 recbole==1.2.1"
]
TIES = ["GAUC"]
BEYOND = False
SWALLOWS = False
SINGLE = [""]


def values(call: str, given) -> list[float]:
    """Compute the value of each user, or the one value of all lists.

    NaN of a user without relevant items, who is not in its test set, and of everybody where k is
    beyond the catalogue, which torch.topk refuses.
    """
    settings = dict(part.split(": ") for part in call.split(", "))
    config = {
        "metrics": [settings["metrics"]],
        "topk": [int(settings.get("topk", 10))],
        "metric_decimal_place": 15,
        "eval_args": {"mode": "full"},
        "device": "cpu",
    }
    hidden = np.insert(given.exclude, 0, True, axis=1)
    truth = np.insert(given.truth, 0, 0, axis=1)
    scores = np.where(hidden, -np.inf, np.insert(given.scores, 0, 0, axis=1))

    def mean(users) -> float:
        collector = Collector(config)
        positive_u, positive_i = map(torch.tensor, np.nonzero(truth[users]))
        rows = torch.tensor(scores[users], dtype=torch.float32)
        collector.eval_batch_collect(rows, None, positive_u, positive_i)
        collected = collector.get_data_struct()
        collected.set("data.num_items", scores.shape[1])  # set before, the collector fails on it
        (value,) = Evaluator(config).evaluate(collected).values()
        return float(value)

    asked = np.flatnonzero(truth.any(axis=1))
    together = settings["metrics"] in ("ItemCoverage", "GiniIndex")
    found = np.full(1 if together else len(truth), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # np.float
        if "topk" in settings and given.k > scores.shape[1]:
            return found.tolist()
        if together and asked.size:
            found[0] = mean(asked)
        elif not together:
            found[asked] = [mean([user]) for user in asked]
    return found.tolist()
