"""A worker of Spark evaluates the rows of a bucket of users; here it does so without Spark."""

import pytest

pytest.importorskip("narwhals", reason="narwhals is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")

import pandas as pd

from recmetrics.spark import evaluate_on_worker


def test_rows_of_a_bucket_without_the_lists_of_a_model():
    """Here nobody has a list of model b, which other buckets have; x is excluded for u."""
    recs = pd.DataFrame(
        [("u", "x", "a", 9), ("u", "y", "a", 8), ("v", "x", "a", 9)],
        columns=["user", "item", "model", "score"],
    )
    right = pd.DataFrame(
        [("u", "y", "truth"), ("v", "y", "truth"), ("u", "x", "exclude")],
        columns=["user", "item", "recmetrics table"],
    )
    pairs = right.iloc[:0][["user", "item"]]
    values = evaluate_on_worker(
        recs,
        right,
        heads={"recs": recs.iloc[:0], "truth": pairs, "exclude": pairs},
        metrics_list="mrr",
        options={"user": "user", "item": "item", "by": ["model"], "n_threads": 1},
        models=pd.DataFrame({"model": ["a", "b"]}),
    )
    rows = values[["model", "user", "nrecs", "mrr"]].itertuples(index=False, name=None)
    of_a = [("a", "u", 1, 1 / 1), ("a", "v", 1, 0)]
    assert sorted(rows) == [*of_a, ("b", "u", 0, 0), ("b", "v", 0, 0)]
    assert values.dtypes[["model", "user"]].tolist() == [object, object]
