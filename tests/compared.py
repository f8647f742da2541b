"""Results of users to compare and to summarise, and what tests read of them."""

import math

import numpy as np
import pytest
from scipy import stats

from recmetrics import Evaluator

NAN = math.nan
OLD = [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]
NEW = [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]
TESTS = ("t", "wilcoxon", "permutation")
SMALL = {
    "old": {"m": OLD, "coverage@5": np.array(0.25)},
    "new": {"m": NEW, "coverage@5": np.array(0.5)},
}
LEVELS = {"chance": {"m": [0.1, 0.1, 0.2, 0.2, 0.0, 0.6]}, "ceiling": {"m": [1.0] * 6}}
NUMBERS = ("mean", "low", "high", "std", "q10", "median", "q90")
USERS = {
    "recall@10": [0.2, 0.6, NAN, 0.4, 1.0],
    "mrr@10": [0.5, 1.0, 0.25, 0.0, 0.25],
    "coverage@10": np.array(0.3),
}
WEIGHTS = [1, 2, 0, 4, 1]
BACKENDS = pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
SCORES = np.array([[4, 3, 2, 1], [1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4]], float)
TRUTH = np.array([[1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
ASKED = ["hit@1", "recall@2", "coverage@1"]


def models(n_users=200, n_models=3, metrics=("ndcg@10", "recall@10"), seed=0):
    """Models that share most of what their users get, each a little better than the one before."""
    rng = np.random.default_rng(seed)
    shared = {metric: rng.random(n_users) for metric in metrics}
    return {
        f"model{i}": {
            m: np.clip(v + rng.normal(0.02 * i, 0.1, n_users), 0, 1) for m, v in shared.items()
        }
        for i in range(n_models)
    }


def bound(values, worst, level, weights=None, runs=()):
    """A lower bound of the mean of values and of one more user at the worst, in plain Python.

    ``runs`` are the means of each run of a model, for each model with several.
    """
    n = len(values)
    weights = [1.0] * n if weights is None else list(weights)
    extra = sum(w**2 for w in weights) / sum(weights)
    pairs = list(zip(weights, values, strict=True))
    centre = (sum(w * x for w, x in pairs) + extra * worst / 2) / (sum(weights) + extra / 2)
    pairs.append((extra, worst))
    total = sum(w for w, _ in pairs)
    mean = sum(w * x for w, x in pairs) / total
    error = math.sqrt((n + 1) / n * sum((w * (x - mean)) ** 2 for w, x in pairs)) / total
    second = sum(w * (x - mean) ** 2 for w, x in pairs) / total
    third = sum(w * (x - mean) ** 3 for w, x in pairs) / total
    skewness = third / second**1.5
    squares_of_weights = sum(w**2 for w, _ in pairs) / (n + 1)
    skewness *= sum(w**3 for w, _ in pairs) / (n + 1) / squares_of_weights**1.5
    shift = max(0, -skewness) / (6 * math.sqrt(n + 1))
    t = stats.t.ppf(level, n - 1)
    distance = error * (t + shift * (1 + 2 * t**2))
    if not runs:
        return centre - distance
    parts = [(np.var(means, ddof=1) / len(means), len(means) - 1) for means in runs]
    of_runs = sum(part for part, _ in parts)
    freedom = of_runs**2 / sum(part**2 / of_part for part, of_part in parts)
    # The quantiles of both, each weighted by its variance.
    weighted = error**2 * distance / error + of_runs * stats.t.ppf(level, freedom)
    return centre - weighted / math.sqrt(error**2 + of_runs)


def only(comparison):
    [difference] = comparison.differences
    return difference


def frame(backend, users, values):
    return maker(backend)({"user": users, "nrecs": [10] * len(users), "hit@1": values})


def maker(backend):
    """The function of a package that makes a table of columns."""
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    return package.table if backend == "pyarrow" else package.DataFrame


def calls_of_warnings(calls):
    """A profiler that collects the functions of the module warnings that are called."""

    def watch(frame, event, _):
        if event == "call" and frame.f_globals.get("__name__") in ("warnings", "_py_warnings"):
            calls.append(frame.f_code.co_name)

    return watch


def numbers(found, group=None):
    """The numbers of each metric of a group, to compare with ``==`` or ``approx``."""
    return {
        each.metric: {name: getattr(each, name) for name in (*NUMBERS, "n_users", "n_undefined")}
        for each in found
        if each.group == group
    }


def same(found, expected, **tolerance):
    assert list(found) == list(expected)
    for metric, record in expected.items():
        assert found[metric] == pytest.approx(record, nan_ok=True, **tolerance), metric


def drawn(n_users, seed=0):
    """Skewed values of users, and weights that go with them."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n_users) + 0.01
    return rng.beta(0.5, 2.0, n_users) * (rng.random(n_users) < 0.7) + 0.1 * weights, weights


def evaluated():
    evaluator = Evaluator(TRUTH, ASKED)
    evaluator.update(SCORES)
    return evaluator
