"""Evaluate a factor model on Spark: an Evaluator per batch of users, one merged state in the end.

    pip install recmetrics-numba pyspark pandas pyarrow
    python examples/spark.py

Every executor measures the users that it holds. What it sends to the driver is the state of its
Evaluator, plain arrays of a few numbers per user; neither scores nor factors leave it.
"""

import functools
import io
import os
import sys
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pyspark.sql import DataFrame, SparkSession

from recmetrics import Evaluator

METRICS = ["ndcg@10", "recall@20", "coverage@10"]


def evaluate(
    frame: DataFrame, item_factors: np.ndarray, metrics: list[str], n_users: int
) -> Evaluator:
    """Measure every user of ``frame``, one row each.

    Parameters
    ----------
    frame
        Columns ``user`` (0 .. n_users - 1), ``factors`` (d numbers), and ``relevant`` and ``seen``
        (item indices): what the user liked in the test set and what was in the training set.
    item_factors
        (n_items, d); Spark sends it to every executor once.
    """
    items = frame.sparkSession.sparkContext.broadcast(item_factors)
    shape = n_users, len(item_factors)

    def measure(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        whole = None
        for batch in batches:
            users = batch["user"].to_numpy()
            part = Evaluator(
                item_sets(users, batch["relevant"], shape),
                metrics,
                exclude=item_sets(users, batch["seen"], shape),
                n_threads=1,  # Spark runs a task on each core already
            )
            part.update(np.stack(batch["factors"]) @ items.value.T, users=users)
            whole = part if whole is None else whole.merge(part)
        if whole is not None:
            yield pd.DataFrame({"state": [to_bytes(whole.state())]})

    states = frame.mapInPandas(measure, "state binary").collect()
    parts = (Evaluator.from_state(from_bytes(row.state)) for row in states)
    return functools.reduce(Evaluator.merge, parts)


def item_sets(users: np.ndarray, items: pd.Series, shape: tuple[int, int]) -> sp.csr_array:
    """Put the items of some users in a matrix of all users, in which the others have none."""
    indices = np.concatenate([np.empty(0, np.int64), *items])
    rows = np.repeat(users, items.map(len))
    return sp.csr_array((np.ones(len(indices)), (rows, indices)), shape=shape)


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
    return builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()


def main() -> None:
    """Evaluate random factors of 1,000 users and 500 items."""
    rng = np.random.default_rng(0)
    n_users, n_items, d = 1_000, 500, 16
    users = pd.DataFrame(
        {
            "user": np.arange(n_users),
            "factors": list(rng.standard_normal((n_users, d))),
            "relevant": [rng.choice(n_items, 5, replace=False) for _ in range(n_users)],
            "seen": [rng.choice(n_items, 20, replace=False) for _ in range(n_users)],
        }
    )
    item_factors = rng.standard_normal((n_items, d))
    spark = session()
    try:
        frame = spark.createDataFrame(users).repartition(4)
        print(evaluate(frame, item_factors, METRICS, n_users).mean())
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
