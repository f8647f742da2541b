"""Compilation ahead of the first call."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.compute import Metrics
from recmetrics._core.errors import InputTypeError
from recmetrics._core.jit import compile_all
from recmetrics._core.spec import METRICS, SIDE, MetricsList, MetricSpec, expand_cutoffs, parse


def warmup(metrics_list: MetricsList | None = None, dtype: npt.DTypeLike = np.float32) -> None:
    """Compile the kernels of ``Metrics.compute`` before its first call.

    The machine code is cached on disk if possible. A warm-up then takes seconds once, and a tenth
    of a second in every later process. The kernels for ``ties=``, for factor models, and for
    hundreds of relevant candidates of a user are compiled at their first use, not here. So are
    those for strata and propensities, unless a metric of ``metrics_list`` reads them.

    >>> import recmetrics
    >>> recmetrics.warmup(["ndcg@10", "recall@20", "recall(of=tail)@20"], dtype="float32")

    Parameters
    ----------
    metrics_list
        The metrics that will be computed; None means all.
    dtype
        The dtype of the scores. float32, float64 and half precision have machine code of their own.
        Integers of up to 16 bits are read as float32, and others as float64, except for large
        blocks of 64-bit integers, which are read as integers.

    Raises
    ------
    MetricSpecError, InputTypeError
        An unknown metric, or a dtype that scores cannot have.
    """
    compile_all()
    if metrics_list is None:
        # Metrics that average over ties have kernels of selection of their own.
        warmup([name for name, metric in METRICS.items() if not metric.averages_ties], dtype)
        warmup([name for name, metric in METRICS.items() if metric.averages_ties], dtype)
        return

    try:
        np.dtype(dtype)
    except TypeError as error:
        msg = f"dtype must be that of scores, such as 'float32', got {dtype!r}"
        raise InputTypeError(msg) from error
    if isinstance(metrics_list, str | MetricSpec):
        metrics_list = [metrics_list]
    specs = []
    for metric in metrics_list:
        if isinstance(metric, MetricSpec):
            specs.append(metric)
        else:
            specs += map(parse, expand_cutoffs(metric))
    strata = {spec.stratum: [0] for spec in specs if spec.stratum is not None}

    def compute(n_items: int, form: Callable[[Any], Any], **item_sets: Any) -> None:
        """Compute the metrics of ``n_items`` users and items, with the truth in a ``form``."""
        side: dict[str, Any] = {name: s.warm(n_items) for name, s in SIDE.items() if s.warm}
        if strata:
            side["strata"] = strata
        scores = np.zeros((n_items, n_items), dtype)
        truth = np.eye(n_items, dtype=np.float32)
        if n_items > 2:
            truth[:] = 1  # ranks of many relevant items are searched, not counted
        Metrics.compute(scores, form(truth), specs, **side, **item_sets)

    # Each of these calls compiles kernels that the others do not use.
    compute(2, np.asarray, exclude=1 - np.eye(2))
    compute(2, sp.csr_array, exclude=1 - np.eye(2))
    compute(2, np.asarray, candidates=[0, 1])
    compute(64, np.asarray)
