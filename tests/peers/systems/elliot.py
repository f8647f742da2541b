"""Elliot: how its users call it.

A call is two or three lines of the evaluation section of its configuration. As its Evaluator does,
a user without a row in the test data is left out, and a metric reads the others' lists of items and
scores, the test data, and the training data, which holds the items that must not be recommended.
"""

from types import SimpleNamespace
from typing import Any

import yaml
from elliot.evaluation import metrics
from elliot.evaluation.relevance import Relevance

# Elliot is on no package index, and its setup.py leaves its subpackages out and pins NumPy 1.18 and
# TensorFlow 2.3: the folder elliot/ of its repository at this commit, copied to where packages are.
REQUIREMENTS = ["numpy==2.4.6", "PyYAML==6.0.3"]
SOURCE = "https://github.com/sisinflab/elliot", "fc27efedaddf4a57294db14b4bcaa5553a0015d2", "elliot"
VERSION = f"{metrics.__version__}, {SOURCE[1][:7]}"


def values(call: str, given: Any) -> list[float]:
    """Compute the value of each user, or that of all lists."""
    n_users, n_items = given.truth.shape
    lines = yaml.safe_load(f"{{{call}}}")
    test, train, lists = {}, {}, {}
    for user, items in enumerate(given.lists()):
        grades = {item: float(grade) for item, grade in enumerate(given.truth[user]) if grade > 0}
        if grades:
            test[user] = grades
            train[user] = {item: 1.0 for item in range(n_items) if given.exclude[user, item]}
            lists[user] = [(item, float(given.scores[user, item])) for item in items]
    data = SimpleNamespace(
        relevance=Relevance(test, lines.get("relevance_threshold", 0)),
        cutoff=lines.get("cutoffs"),
        num_items=n_items,
        data=SimpleNamespace(train_dict=train),
    )
    (chosen,) = metrics.parse_metrics(lines["simple_metrics"])
    config = SimpleNamespace(config_test=True)
    metric = chosen(lists, config, None, data)
    if not hasattr(metric, "eval_user_metric"):
        return [float(metric.eval())] if lists else [float("nan")]
    of_user = metric.eval_user_metric()
    return [float(of_user.get(user, float("nan"))) for user in range(n_users)]
