"""A truth of one item index for each row: the values of a list with one item, or none, per row."""

import re

import numpy as np
import pytest
from asserts import assert_identical

from recmetrics import Evaluator, InputTypeError, Metrics, audit

NEXT = [2, -1, 0, 4, 2]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", ">i4", "list", "tensor"])
def test_one_item_for_each_row(dtype):
    scores = np.random.default_rng(0).random((5, 6))
    lists = [[] if item < 0 else [item] for item in NEXT]
    given = np.array(NEXT)
    if dtype == "uint16":  # without -1
        given = np.maximum(given, 0)
        lists[1] = [0]
    given = given.astype(dtype) if dtype not in ("list", "tensor") else NEXT
    if dtype == "tensor":
        given = pytest.importorskip("torch", reason="tensors need torch").tensor(NEXT)
    metrics = ["mrr", "ndcg@2", "auc", "recall(denom=relevant)@3", "coverage@2"]
    assert_identical(
        Metrics.compute(scores, given, metrics), Metrics.compute(scores, lists, metrics)
    )


def test_one_item_wherever_a_truth_is_taken():
    rng = np.random.default_rng(0)
    users, items = rng.random((5, 3)), rng.random((6, 3))
    lists = [[] if item < 0 else [item] for item in NEXT]
    metrics = ["mrr@4", "hit@2"]
    expected = Metrics.compute_factors(users, items, lists, metrics)
    assert_identical(Metrics.compute_factors(users, items, NEXT, metrics), expected)
    scores = users @ items.T
    one = Evaluator(NEXT, metrics, n_items=6)
    one.update(scores[:2])
    one.update(scores[2:])
    assert_identical(one.compute(), expected)
    ranking = np.argsort(-scores, axis=1)
    assert_identical(Metrics.compute_ranked(ranking, NEXT, metrics), expected)
    for level in (Metrics.chance, Metrics.ceiling):
        assert_identical(level(NEXT, metrics, n_items=6), level(lists, metrics, n_items=6))
    assert audit(scores, NEXT, k=2).without_truth.user == 1


@pytest.mark.parametrize("form", ["array", "float64", "Int64", "int64[pyarrow]", "polars"])
def test_a_missing_target_becomes_minus_1(form):
    numbers = [2, None, 0]
    if form == "array":
        truth = np.array(numbers, float)
    elif form == "polars":
        truth = pytest.importorskip("polars", reason="polars is not installed").Series(numbers)
    else:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        truth = pytest.importorskip("pandas", reason="pandas is not installed").Series(
            numbers, dtype=form
        )
    scores = [[3, 2, 1], [3, 2, 1], [3, 2, 1]]
    with pytest.raises(InputTypeError, match=r"expected integers: .*, -1 for none; ") as caught:
        Metrics.compute(scores, truth, "mrr")
    typed = re.search(r"; type (.+) if NaN is no item$", str(caught.value))[1]
    right = eval(typed, {"np": np, "truth": truth})
    np.testing.assert_array_equal(Metrics.compute(scores, right, "mrr")["mrr"], [1 / 3, np.nan, 1])
