"""Compilation ahead of the first call."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._compute import Metrics
from recmetrics._spec import METRICS, MetricsList


def warmup(metrics_list: MetricsList | None = None, dtype: npt.DTypeLike = np.float32) -> None:
    """Compile the kernels of ``Metrics.compute``, so that its first call does not wait for them.

    Machine code is kept on disk where that is possible; then a warm-up costs seconds once and a
    tenth of a second in every later process.

    >>> import recmetrics
    >>> recmetrics.warmup(["ndcg@10", "recall@20"], dtype="float32")

    Parameters
    ----------
    metrics_list
        The metrics that will be computed; None means all.
    dtype
        The dtype of the scores: each has machine code of its own.

    Raises
    ------
    MetricSpecError, InputTypeError
        An unknown metric, or a dtype that scores cannot have.
    """
    metrics: Any = list(METRICS) if metrics_list is None else metrics_list
    side: dict[str, Any] = {"popularity": np.ones(2), "genres": np.eye(2), "profile": np.eye(2)}
    scores = np.zeros((2, 2), dtype)
    truth = np.eye(2, dtype=np.float32)
    for form in (truth, sp.csr_array(truth)):
        Metrics.compute(scores, form, metrics, exclude=1 - truth, features=np.eye(2), **side)
    Metrics.compute(scores, truth, metrics, candidates=[0, 1], features=np.eye(2), **side)
