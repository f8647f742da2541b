"""Metrics of scores that do not fit on one machine: Dask arrays, on any number of workers.

    _graph   the tasks of a call, one chain for each block of users
    _tasks   what a worker does with a block: functions of arrays, without Dask

Each chunk of scores is reduced on its worker to a few items per user, and each block of users to
one number per user and metric. The scores are never gathered in one place. This module needs the
extra ``dask``.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from typing import Any, Literal, Unpack, overload

from recmetrics._core.inputs import check_matrix
from recmetrics._core.options import ForBatches, check_flag, takes
from recmetrics._core.selection import check_bias, check_factors
from recmetrics._core.spec import MetricsList, Request
from recmetrics._core.types import Truth, UserValues
from recmetrics.dask._graph import TaskGraph, check_array, read_items

__all__ = ["compute", "compute_factors"]


@overload
def compute(
    pred_scores: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    lazy: Literal[False] = False,
    **shared: Unpack[ForBatches],
) -> dict[str, UserValues]: ...


@overload
def compute(
    pred_scores: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    lazy: bool,
    **shared: Unpack[ForBatches],
) -> dict[str, Any]: ...


@takes(ForBatches, n_threads=1)
def compute(
    pred_scores: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    lazy: bool = False,
    **shared: Unpack[ForBatches],
) -> dict[str, Any]:
    """Compute metrics of a Dask array, with the values of ``Metrics.compute``, bit for bit.

    >>> import dask.array as da
    >>> import recmetrics.dask
    >>> scores = da.from_array([[4, 3, 2, 1, 0], [0, 1, 2, 3, 4]], chunks=(1, 2))
    >>> truth = [[1, 1, 0, 0, 1], [1, 0, 0, 0, 0]]
    >>> recmetrics.dask.compute(scores, truth, ["recall@3", "coverage@2"])
    {'recall@3': array([0.66666667, 0.        ]), 'coverage@2': array(0.8)}

    It runs where ``dask.compute`` runs: on the cluster of the current ``distributed.Client``, else
    in threads. ``dask.diagnostics.ProgressBar`` shows the progress of threads. On a cluster,
    persist ``lazy`` arrays and pass them to ``distributed.progress``.

    Parameters
    ----------
    pred_scores
        (n_users, n_items) dask.array of real numbers, with chunks of any known length. The worker
        of a chunk selects the best items of each user, as many as the largest cutoff needs. These
        are then merged across the chunks of a row. Metrics without a cutoff, and all tie policies
        other than "index", need whole rows: the chunks of a row are then concatenated, one block of
        users at a time, and a worker needs twice the memory of its blocks of whole rows.
    ground_truth, exclude, candidates, strata
        As in ``Metrics.compute``; each task gets the part of its users. Or Dask arrays of shape
        (n_users, n_items) with any chunks, dense or sparse (of SciPy or of the library ``sparse``);
        only the workers read them. Each of the ``strata`` may be such an array.
    metrics_list, undefined, convention, nan, ties
        As in ``Metrics.compute``. A block with a NaN score, or with an undefined value under
        ``undefined="raise"``, ends the computation. The error gives the number of these in that
        block.
    n_threads
        The number of threads of each task. Dask already runs one task on each of its own threads.
    popularity, features, similarity, genres, propensity, profile
        As in ``Metrics.compute``; ``profile`` may also be a Dask array. All others are sent to
        every worker as a whole.
    lazy
        Return Dask arrays, without computing them. A chunk has the values of up to 8 blocks of
        users. Arrays that are computed together, as in ``dask.compute(result)``, share their work.

    Returns
    -------
    dict
        As in ``Metrics.compute``: a float64 array of shape (n_users,) for each metric string, or of
        shape () for a metric of all lists. With ``lazy``, these are Dask arrays.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
        As in ``Metrics.compute``. Invalid entries of Dask arrays raise an error when a worker reads
        them.

    Warns
    -----
    RecmetricsWarning
        As in ``Metrics.compute``, once for all blocks, but neither with ``lazy`` nor where scores
        and truth seem to be exchanged. On a cluster, with ``lazy`` too, if the blocks hold less
        than 5 MB of scores on average.
    """
    check_array(pred_scores, "pred_scores", "recmetrics.Metrics.compute")
    check_flag("lazy", lazy)
    request = Request(metrics_list, **shared)
    n_items = pred_scores.shape[1]
    row_bytes = n_items * pred_scores.dtype.itemsize
    tables = {"scores": pred_scores, "truth": ground_truth}
    graph = TaskGraph(pred_scores.chunks[0], row_bytes, n_items, tables, shared, request)
    return graph.values(graph.of_scores(pred_scores), lazy=lazy)


@overload
def compute_factors(
    user_factors: Any,
    item_factors: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    item_bias: Any = ...,
    lazy: Literal[False] = False,
    **shared: Unpack[ForBatches],
) -> dict[str, UserValues]: ...


@overload
def compute_factors(
    user_factors: Any,
    item_factors: Any,
    ground_truth: Truth,
    metrics_list: MetricsList,
    *,
    item_bias: Any = ...,
    lazy: bool,
    **shared: Unpack[ForBatches],
) -> dict[str, Any]: ...


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
    """Compute metrics of a factor model, ``user_factors @ item_factors.T + item_bias``.

    Each task computes the scores of a block of users. BLAS may round the last bit of a score
    differently in blocks of another size, so two items whose scores differ only by this rounding
    may swap places.

    >>> import dask.array as da
    >>> import recmetrics.dask
    >>> users = da.from_array([[1.0, 0.0], [0.0, 1.0]], chunks=(1, 2))
    >>> items = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> recmetrics.dask.compute_factors(users, items, [[1, 0, 0], [1, 0, 0]], "mrr@3")
    {'mrr@3': array([1.        , 0.33333333])}

    Parameters
    ----------
    user_factors
        (n_users, d) dask.array, with chunks over the users. If the factors of a user are in several
        chunks, they are concatenated.
    item_factors
        (n_items, d) Dask array, or as in ``Metrics.compute_factors``. Every worker keeps a full
        copy of it.
    item_bias
        As in ``Metrics.compute_factors``.
    ground_truth, metrics_list, lazy
        As in ``compute``, and so are all other keywords and the result.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError, UndefinedMetricError
        As in ``compute``, and so are the warnings, and as in ``Metrics.compute_factors``.
    """
    check_array(user_factors, "user_factors", "recmetrics.Metrics.compute_factors")
    check_flag("lazy", lazy)
    request = Request(metrics_list, **shared)
    tables = {
        "user_factors": user_factors,
        "item_factors": item_factors,
        "item_bias": item_bias,
        "truth": ground_truth,
    }
    item_factors = read_items(item_factors, "item_factors")
    check_matrix(item_factors, "item_factors")
    check_factors(user_factors.shape, item_factors.shape)
    n_items = item_factors.shape[0]
    if item_bias is not None:
        item_bias = read_items(item_bias, "item_bias")
        check_bias(item_bias.shape, n_items)
    row_bytes = n_items * user_factors.dtype.itemsize
    graph = TaskGraph(user_factors.chunks[0], row_bytes, n_items, tables, shared, request)
    whole_rows = user_factors.rechunk({1: -1})
    return graph.values(graph.of_factors(whole_rows, item_factors, item_bias), lazy=lazy)
