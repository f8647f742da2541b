"""KerasRS: how its users call keras_rs.metrics.

A metric reads one label and one prediction of each item in lists of the same length, and a mask of
the items that count. Items that must not be recommended are left out; R counts the others.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")  # JAX warns of every fork after its first array

import keras_rs
import numpy as np

PACKAGE = "keras-rs"
REQUIREMENTS = ["torch==2.13.0", "keras==3.15.1", "keras-rs==0.4.0"]
ROWS = True
SINGLE = [""]
TIES = []


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN of a user without a row, who has no weight."""
    return given.of_rows(
        lambda grades, scores: mean(call, grades[np.newaxis], scores[np.newaxis], True)
    )


def groups(call: str, groups) -> list[float]:
    """Compute the mean over the groups, filled up to the length of the longest."""
    mask = np.arange(groups.sizes.max()) < groups.sizes[:, np.newaxis]
    grades, scores = np.zeros(mask.shape), np.zeros(mask.shape)
    grades[mask], scores[mask] = groups.grades, groups.scores
    return [mean(call, grades, scores, mask)]


def mean(call: str, grades, scores, mask) -> float:
    """Compute the mean over the lists."""
    metric = eval(call, vars(keras_rs.metrics))
    labels = {"labels": grades.astype(np.float32), "mask": np.broadcast_to(mask, grades.shape)}
    metric.update_state(labels, scores.astype(np.float32))
    return float(metric.result())
