"""Spark: how its users call it.

The table has a row for each user with relevant items: the recommended items, and the relevant ones.
A call gives the mean of the rows, so that is what is returned: a Spark job for each user would take
minutes. RankingEvaluator calls RankingMetrics of the older package, without a Python process.
"""

import functools
from typing import Any

import numpy as np
from pyspark.ml.evaluation import RankingEvaluator
from pyspark.sql import SparkSession

PACKAGE = "pyspark"
REQUIREMENTS = ["pyspark==4.3.0", "numpy==2.4.6"]  # and Java 17

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.default.parallelism": "1",
    "spark.driver.memory": "512m",
}


@functools.cache
def session() -> SparkSession:
    """Start Spark once."""
    return SparkSession.builder.master("local[1]").config(map=SETTINGS).getOrCreate()


def values(call: str, given: Any) -> list[float]:
    """Compute the mean over the users with relevant items; NaN where there is none."""
    rows = [
        ([float(item) for item in listed], [float(item) for item in np.flatnonzero(truth)])
        for listed, truth in zip(given.lists(), given.truth, strict=True)
        if truth.any()
    ]
    if not rows:
        return [float("nan")]
    schema = "prediction array<double>, label array<double>"
    table = session().createDataFrame(rows, schema)
    return [float(eval(call, {"RankingEvaluator": RankingEvaluator, "table": table}))]
