"""Evaluate a factor model on Spark: one stream per task, merged into one state at the end.

    pip install . pyspark pandas pyarrow     # in a clone of the repository
    python examples/spark.py

Each task evaluates its own users, and sends only the state of its stream to the driver. The state
has sums for each metric and, for metrics of all lists together, one number per item. Its size does
not depend on the number of users. Scores and factors never leave the executors.
"""

import functools
import io
import os
import sys
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession

from recmetrics import StreamEvaluator

METRICS = ["ndcg@10", "recall@20", "coverage@10"]


def evaluate(frame: DataFrame, item_factors: np.ndarray, metrics: list[str]) -> StreamEvaluator:
    """Measure every row of ``frame``; a user who has two rows counts twice.

    Parameters
    ----------
    frame
        Columns ``factors`` (d numbers), and ``relevant`` and ``seen`` (item indices): what a user
        liked in the test set and what was in the training set.
    item_factors
        (n_items, d); Spark sends it to every executor once.
    """
    items = frame.sparkSession.sparkContext.broadcast(item_factors)

    def measure(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        stream = StreamEvaluator(
            metrics,
            n_items=len(items.value),
            keep="means",
            n_threads=1,  # Spark runs a task on each core already
        )
        for batch in batches:
            stream.update_factors(
                np.stack(batch["factors"]), items.value, batch["relevant"], exclude=batch["seen"]
            )
        yield pd.DataFrame({"state": [to_bytes(stream.state())]})

    states = frame.mapInPandas(measure, "state binary").collect()
    parts = (StreamEvaluator.from_state(from_bytes(row.state)) for row in states)
    return functools.reduce(StreamEvaluator.merge, parts)


def to_bytes(state: dict[str, np.ndarray]) -> bytes:
    """Write arrays as one value of a binary column."""
    file = io.BytesIO()
    np.savez(file, **state)
    return file.getvalue()


def from_bytes(value: bytes) -> dict[str, np.ndarray]:
    """Read what ``to_bytes`` wrote."""
    with np.load(io.BytesIO(value)) as state:
        return dict(state)


def session() -> SparkSession:
    """Start Spark on two cores of this machine, with this Python in its workers."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    # Workers fetch large results from the host: it must be the address that the driver is bound to.
    builder = builder.config("spark.driver.host", "127.0.0.1")
    # Arrow takes frames of pandas whose cells are arrays.
    builder = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true")
    return builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()


def main() -> None:
    """Evaluate random factors of 1,000 users and 500 items."""
    rng = np.random.default_rng(0)
    n_users, n_items, d = 1_000, 500, 16
    users = pd.DataFrame(
        {
            "factors": list(rng.standard_normal((n_users, d))),
            "relevant": [rng.choice(n_items, 5, replace=False) for _ in range(n_users)],
            "seen": [rng.choice(n_items, 20, replace=False) for _ in range(n_users)],
        }
    )
    item_factors = rng.standard_normal((n_items, d))
    spark = session()
    try:
        frame = spark.createDataFrame(users).repartition(4)
        print(evaluate(frame, item_factors, METRICS).mean())
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
