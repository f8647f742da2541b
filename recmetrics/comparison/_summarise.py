"""summary: one result -> samples of users -> means, intervals, quantiles."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._errors import InputError, MetricSpecError
from recmetrics._spec import lacking, spec_of
from recmetrics.comparison._samples import check_share, read_columns, read_result, read_seed
from recmetrics.comparison._statistics import (
    N_RESAMPLES,
    NOTHING,
    Floats,
    Sums,
    bootstrap_intervals,
    defined,
    effective_users,
    mean_of,
    quantiles_of,
    spread_of,
    sums_of,
)
from recmetrics.comparison._summaries import MetricSummary, Summary

_QUANTILES = (0.1, 0.5, 0.9)


def summary(
    values: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | None = None,
    by: Any = None,
    weights: Any = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> Summary:
    r"""Summarise the result of one model: means with intervals, quantiles and counts of users.

    >>> import recmetrics
    >>> values = {"recall@10": [0.2, 0.6, 0.4, float("nan")], "mrr@10": [0.5, 1.0, 0.0, 0.25]}
    >>> found = recmetrics.summary(values)
    >>> print(str(found).partition("\n\n")[0])  # print(found) also shows a legend
    metric       mean     95 % interval     q10  median     q90  users  left out
    ---------  ------  ----------------  ------  ------  ------  -----  --------
    recall@10  0.4000  [0.2000, 0.6000]  0.2000  0.4000  0.6000      3         1
    mrr@10     0.4375  [0.1250, 0.8125]  0.0000  0.3750  1.0000      4         0
    >>> [(each.metric, each.n_undefined, each.why) for each in found]
    [('recall@10', 1, 'no relevant item'), ('mrr@10', 0, '')]

    Parameters
    ----------
    values
        What ``Metrics.compute`` returns, {metric: (n_users,) values}; an evaluator, or any object
        whose ``.compute()`` returns that; a data frame (pandas, polars, pyarrow) with one row per
        user, or per user and model, such as ``tables.evaluate_table`` returns; or the path of a
        file that ``recmetrics evaluate --per-user`` wrote. Means alone are an error.
    metrics, model
        As in ``compare``. Each model has a block of its own, and no two of its rows may have equal
        ids.
    by
        The group of each user: (n_users,) labels in the order of the users, or the name of a column
        of the data frame. Adds the same statistics for each group, in order of first appearance.
        Labels may be any hashable objects except None and NaN.
    weights
        The weight of each user, (n_users,) finite numbers >= 0, or the name of a column of the data
        frame: means, intervals, quantiles and standard deviations are then weighted. Weight 0
        leaves a user out.
    level
        The confidence of the intervals, above 0 and below 1.
    rng
        The seed or generator of the bootstrap. None draws a new seed for each call. Other metrics
        do not change the interval of a metric. ``compare`` gives the same intervals for the same
        seed, confidence and weights; ``recmetrics evaluate`` gives those of seed 0.

    Returns
    -------
    Summary
        The summary prints as a table; ``means`` is a dict for a logger; iterating yields one
        record for each metric.

    Raises
    ------
    InputError, InputTypeError, ShapeError
        If values, groups or weights cannot be read, or if no metric has a value.
    ArgumentError
        If ``level`` or ``rng`` is invalid.

    Notes
    -----
    Users whose value is undefined (NaN) are left out of that metric, and counted. A metric of all
    lists, of shape (), has a value, but neither interval nor quantiles.

    Intervals are percentile bootstrap intervals: users are drawn with replacement, 2,000 times, and
    the mean of each resample is computed, with weights as a weighted mean. With more than 4,096
    users, random blocks of users are drawn. The intervals cover the variation of the mean over
    samples of users, not over training runs of the model.

    The q quantile is the smallest value such that the users with values up to it have at least the
    share q of the total weight. If they have exactly q, it is the mean of that value and the next
    one ("averaged_inverted_cdf" in NumPy). So the median is the usual one, and a user of weight 2
    counts as two users of weight 1.
    """
    read = read_result(values, by, weights, read_columns(metrics, model, by, weights))
    found = summarise(
        read.values,
        groups=read.groups,
        weights=read.weights,
        models=read.models,
        level=check_share("level", level, 0.0),
        seed=read_seed(rng),
        otherwise=", or no update" if read.has_missing else "",
    )
    overall = [each for each in found if each.group is None]
    if all(math.isnan(each.mean) and each.n_undefined for each in overall):
        first = overall[0]
        msg = (
            f"no user has a value of any metric; for {first.metric!r} all {first.n_undefined:,} "
            f"users have {first.why}; expected a value of at least one user: check that the truth "
            "belongs to these users"
        )
        raise InputError(msg)
    return found


def summarise(
    values: Mapping[str, Floats],
    *,
    groups: Mapping[Any, npt.NDArray[np.intp]] | None = None,
    weights: Floats | None = None,
    models: Mapping[str | None, npt.NDArray[np.intp]] | None = None,
    level: float = 0.95,
    seed: int | None = None,
    otherwise: str = "",
) -> Summary:
    """Summarise values that were read; the default seed is that of ``summary`` with ``rng=0``.

    ``otherwise`` adds another reason for values that are undefined.
    """
    seed = read_seed(0) if seed is None else seed
    n_users = next((column.size for column in values.values() if column.ndim), 0)
    records: list[MetricSummary] = []
    samples: list[Sums] = []
    rows = models or {None: np.arange(n_users)}
    parts = [(model, None, users) for model, users in rows.items()]
    for model, users in rows.items():
        parts += [(model, g, users[np.isin(users, each)]) for g, each in (groups or {}).items()]
    for model, group, members in parts:
        users = members if weights is None else members[weights[members] > 0]
        for metric, column in values.items():
            if column.ndim:
                own = None if weights is None else weights[users]
                row, own = defined(column[users], own)
                why = _why(metric) + otherwise if row.size < users.size else ""
                of_users = _of_users(metric, group, row, own, users.size, why)
                records.append(replace(of_users, model=model))
                samples.append(sums_of(row, own, seed) if np.isfinite(row).all() else NOTHING)
            elif group is None:  # one value for all users: none for a group
                records.append(_of_all_lists(metric, float(column), weighted=weights is not None))
                samples.append(NOTHING)
    intervals = bootstrap_intervals(samples, level, N_RESAMPLES, seed)
    return Summary(
        records=tuple(
            replace(record, low=low, high=high)
            for record, (low, high) in zip(records, intervals, strict=True)
        ),
        groups=tuple(groups or ()),
        models=tuple(model for model in rows if model is not None),
        level=level,
        n_resamples=N_RESAMPLES,
        n_weightless=None
        if weights is None
        else max(int(np.count_nonzero(weights[users] == 0)) for users in rows.values()),
    )


def _of_users(
    metric: str, group: Any, row: Floats, weights: Floats | None, n_users: int, why: str
) -> MetricSummary:
    q10, median, q90 = quantiles_of(row, weights, _QUANTILES)
    return MetricSummary(
        metric=metric,
        group=group,
        mean=mean_of(row, weights),
        low=math.nan,
        high=math.nan,
        std=spread_of(row, weights),
        q10=q10,
        median=median,
        q90=q90,
        n_users=row.size,
        n_undefined=n_users - row.size,
        why=why,
        n_effective=None if weights is None else effective_users(weights),
    )


def _of_all_lists(metric: str, value: float, *, weighted: bool) -> MetricSummary:
    return MetricSummary(
        metric=metric,
        group=None,
        mean=value,
        low=math.nan,
        high=math.nan,
        std=math.nan,
        q10=math.nan,
        median=math.nan,
        q90=math.nan,
        n_users=None,
        n_undefined=None,
        why=_why(metric) if math.isnan(value) else "",
        n_effective=math.nan if weighted else None,
    )


def _why(metric: str) -> str:
    """Say why users have no value of a metric."""
    try:
        return lacking([spec_of(metric)])
    except MetricSpecError:
        return "no value"
