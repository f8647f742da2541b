"""Metrics of scores that no machine holds: Dask arrays of any chunks, on any number of workers.

    _graph   the tasks of a call, one chain for each block of users
    _tasks   what a worker does with a block: functions of arrays, without Dask
    _best    the best items of each user, chunk by chunk

Each chunk sends on only a few items per user; each block of users sends on one number per user and
metric. No chunk is ever gathered in one place. Needs the extra ``dask``.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from typing import Any, Unpack

import numpy as np

from recmetrics._errors import ShapeError
from recmetrics._inputs import check_matrix
from recmetrics._options import ForBatches, takes
from recmetrics._spec import MetricsList, Request
from recmetrics._types import Truth
from recmetrics.dask._graph import TaskGraph, blocks_of, check_array

__all__ = ["compute", "compute_factors"]


@takes(ForBatches, n_threads=1)
def compute(
    pred_scores: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    lazy: bool = False,
    **shared: Unpack[ForBatches],
) -> dict[str, Any]:
    """Compute metrics of a Dask array: the bits of ``Metrics.compute``, on any workers.

    >>> import dask.array as da
    >>> import recmetrics.dask
    >>> scores = da.from_array([[4, 3, 2, 1, 0], [0, 1, 2, 3, 4]], chunks=(1, 2))
    >>> truth = [[1, 1, 0, 0, 1], [1, 0, 0, 0, 0]]
    >>> recmetrics.dask.compute(scores, truth, ["recall@3", "coverage@2"])
    {'recall@3': array([0.66666667, 0.        ]), 'coverage@2': array(0.8)}

    It runs where ``dask.compute`` runs: on the cluster of the current ``distributed.Client``, else
    in threads. ``dask.diagnostics.ProgressBar`` shows the progress of threads;
    ``distributed.progress`` that of a cluster, of ``lazy`` arrays that were persisted.

    Parameters
    ----------
    pred_scores
        (n_users, n_items) dask.array of real numbers, with any chunks of known length. The best
        items of the users of a chunk, as many as the largest cutoff needs, are selected on its
        worker and merged across the chunks of a row. A metric without a cutoff, and any tie
        policy other than "index", need whole rows: then the chunks of a row are concatenated, one
        block of users at a time, and a worker must hold its blocks of whole rows twice.
    ground_truth, exclude, candidates
        As in ``Metrics.compute``: each task gets the part of its users. Or Dask arrays of shape
        (n_users, n_items) with any chunks, each dense or sparse (of SciPy or of the library
        ``sparse``), which only the workers read.
    metrics_list, undefined, convention, nan, ties
        As in ``Metrics.compute``. The first block with NaN, or with an undefined value under
        ``undefined="raise"``, ends the computation: the error counts those of that block.
    n_threads
        Threads of each task. Dask runs a task on each of its own threads already.
    popularity, features, similarity, genres, profile
        As in ``Metrics.compute``; ``profile`` may be a Dask array, too. The first four are sent to
        every worker whole.
    lazy
        Return Dask arrays, nothing computed. Arrays that are computed together, as by
        ``dask.compute(result)``, share their work.

    Returns
    -------
    dict
        As ``Metrics.compute``: a float64 array of shape (n_users,) for each metric string, of shape
        () for a system metric; with ``lazy`` Dask arrays of these.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
        As ``Metrics.compute``; faults of entries that only workers read, when they read them.

    Warns
    -----
    RecmetricsWarning
        As ``Metrics.compute``, once for all blocks; with ``lazy`` not at all.
    """
    check_array(pred_scores, "pred_scores", "recmetrics.Metrics.compute")
    request = Request(metrics_list, **shared)
    blocks, items = (blocks_of(chunks) for chunks in pred_scores.chunks)
    graph = TaskGraph(blocks, items[-1].stop, ground_truth, shared, request)
    return graph.result(graph.of_scores(pred_scores), lazy=lazy)


@takes(ForBatches, n_threads=1)
def compute_factors(
    user_factors: Any,
    item_factors: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    item_bias: Any = None,
    lazy: bool = False,
    **shared: Unpack[ForBatches],
) -> dict[str, Any]:
    """Compute metrics of user_factors @ item_factors.T + item_bias, a block of users per task.

    BLAS may round the last bit of a score differently in blocks of another number of users, and so
    exchange two items whose scores differ by that little.

    >>> import dask.array as da
    >>> import recmetrics.dask
    >>> users = da.from_array([[1.0, 0.0], [0.0, 1.0]], chunks=(1, 2))
    >>> items = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> recmetrics.dask.compute_factors(users, items, [[1, 0, 0], [1, 0, 0]], "mrr@3")
    {'mrr@3': array([1.        , 0.33333333])}

    Parameters
    ----------
    user_factors
        (n_users, d) dask.array, its chunks over the users; the factors of a user are put together
        where they are in more than one.
    item_factors
        (n_items, d) array, of NumPy or of Dask, which every worker holds whole.
    item_bias
        As in ``Metrics.compute_factors``.
    ground_truth, metrics_list, exclude, candidates
        As in ``compute``.
    undefined, convention, nan, ties, n_threads
        As in ``compute``.
    popularity, features, similarity, genres, profile, lazy
        As in ``compute``.

    Returns
    -------
    dict
        As ``compute``.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
        As ``compute`` and ``Metrics.compute_factors``.

    Warns
    -----
    RecmetricsWarning
        As ``compute``.
    """
    check_array(user_factors, "user_factors", "recmetrics.Metrics.compute_factors")
    request = Request(metrics_list, **shared)
    item_factors = _factors(item_factors, user_factors.shape[1])
    n_items = item_factors.shape[0]
    blocks = blocks_of(user_factors.chunks[0])
    graph = TaskGraph(blocks, n_items, ground_truth, shared, request)
    whole = user_factors.rechunk({1: -1})
    return graph.result(graph.of_factors(whole, item_factors, _bias(item_bias, n_items)), lazy=lazy)


def _factors(item_factors: Any, d: int) -> Any:
    factors = item_factors if hasattr(item_factors, "dtype") else np.asarray(item_factors)
    check_matrix(factors, "item_factors")
    if factors.shape[1] != d:
        msg = (
            f"item_factors must be of shape (n_items, d) with d = {d}, as user_factors have, "
            f"got {factors.shape}"
        )
        raise ShapeError(msg)
    return factors


def _bias(item_bias: Any, n_items: int) -> Any:
    if item_bias is None:
        return None
    bias = item_bias if hasattr(item_bias, "dtype") else np.asarray(item_bias)
    if bias.shape != (n_items,):
        msg = f"item_bias must be of shape (n_items,) = ({n_items},), got {bias.shape}"
        raise ShapeError(msg)
    return bias
