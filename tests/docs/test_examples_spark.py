"""The example of Spark, on a real one with two workers: the means of one process."""

import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from recmetrics import Metrics, StreamEvaluator

pytest.importorskip("pyspark", reason="pyspark is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:unclosed <socket:ResourceWarning",  # pyspark leaves those of results open
)
def test_spark_merges_the_states_of_its_workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    # Not as a module of that name, which the workers could not import.
    example = runpy.run_path(str(ROOT / "examples" / "spark.py"), run_name="example")
    rng = np.random.default_rng(0)
    n_users, n_items, d = 60, 40, 5
    user_factors = rng.integers(-3, 4, (n_users, d)).astype(float)  # whose products are exact
    item_factors = rng.integers(-3, 4, (n_items, d)).astype(float)
    relevant = [rng.choice(n_items, n, replace=False) for n in rng.integers(0, 6, n_users)]
    seen = [rng.choice(n_items, n, replace=False) for n in rng.integers(0, 9, n_users)]
    columns = {"factors": [*user_factors], "relevant": relevant, "seen": seen}
    table = pd.DataFrame(columns)
    metrics = [*example["METRICS"], "ndcg", "auc", "personalization@5"]
    spark = example["session"]()
    try:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 7)
        frame = spark.createDataFrame(table).repartition(5)
        merged = example["evaluate"](frame, item_factors, metrics)
    finally:
        spark.stop()
    scores = user_factors @ item_factors.T
    expected = Metrics.compute(scores, relevant, metrics, exclude=seen)
    means = merged.mean()
    assert list(means) == list(expected)
    for text, values in expected.items():
        assert means[text] == pytest.approx(np.nanmean(values), rel=1e-12), text
    defined = np.count_nonzero(~np.isnan(expected["ndcg"]))
    assert merged.counts()["ndcg"] == (defined, n_users - defined)
    of_one = StreamEvaluator(metrics, n_items=n_items, keep="means")
    of_one.update(scores[:1], relevant[:1])
    sizes = [{name: array.shape for name, array in e.state().items()} for e in (merged, of_one)]
    assert sizes[0] == sizes[1]  # it does not grow with the users
