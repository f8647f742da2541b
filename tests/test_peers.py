"""The same numbers as scikit-learn, where both define the same thing."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from recmetrics import Metrics


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    scores = rng.permuted(np.tile(np.arange(60.0), (30, 1)), axis=1)  # no two scores equal
    truth = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0, 5.0], scores.shape)
    truth[:, 0] = 1.0  # nobody is undefined
    return scores, truth


def per_user(function, truth, scores, **options):
    return [function(t, s, **options) for t, s in zip(truth, scores, strict=True)]


@pytest.mark.parametrize("k", [1, 5, 60])
def test_ndcg(problem, k):
    scores, truth = problem
    expected = per_user(ndcg_score, truth[:, None], scores[:, None], k=k)
    np.testing.assert_allclose(Metrics.ndcg_at_k(scores, truth, k), expected, rtol=1e-12)


def test_average_precision(problem):
    scores, truth = problem
    expected = per_user(average_precision_score, truth > 0, scores)
    got = Metrics.compute(scores, truth, "map(denom=relevant)")["map(denom=relevant)"]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_auc_with_ties(problem):
    scores, truth = problem
    tied = scores // 7
    expected = per_user(roc_auc_score, truth > 0, tied)
    np.testing.assert_allclose(Metrics.auc(tied, truth), expected, rtol=1e-12)
