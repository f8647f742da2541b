"""The numbers of the five systems that this library replaces."""

import json
from pathlib import Path

import numpy as np
import pytest

from recmetrics import Metrics

CASES = json.loads((Path(__file__).parents[1] / "goldens" / "seeds.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case):
    truth = np.array(case["truth"], dtype=float)
    metric = case["metric"]
    if "scores" in case:
        scores = np.array(case["scores"], dtype=float)
        got = Metrics.compute(scores, truth, [metric], undefined=case["undefined"])
    else:
        ranking = np.array(case["ranking"], dtype=np.int64).reshape(len(truth), -1)
        got = Metrics.compute_ranked(ranking, truth, [metric], undefined=case["undefined"])
    value = got[metric].mean() if case.get("aggregate") == "mean" else got[metric]
    np.testing.assert_allclose(value, np.array(case["expected"]), rtol=0, atol=case["tol"])


def test_the_printed_example_of_rectorch():
    got = Metrics.compute([[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]], ["recall@2", "recall@3", "ndcg@2"])
    assert list(got) == ["recall@2", "recall@3", "ndcg@2"]
    np.testing.assert_allclose(list(got.values()), [[1.0], [2 / 3], [1.0]], rtol=1e-15)
