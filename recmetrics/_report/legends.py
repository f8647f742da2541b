"""Legends of means and differences: how intervals are computed, and who counts in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from recmetrics._printing import counted, grids, one_line, plural
from recmetrics._report.bounds import FEW_USERS
from recmetrics._report.result_tables import bounds_if_known

_ENDS = {"high": "the upper end", "low": "the lower end"}  # of an interval
_MANY_NAMES = 5  # a note that would name more of them says how many
_MANY_ROWS = 2  # as many lists of rows may be in a note


def intervals_by(confidence: float, n_resamples: int | None, units: str) -> str:
    """Say how the intervals of means are computed; ``units`` is the word for what varies."""
    if n_resamples is None:
        method = f"Student's t over {units}, corrected for skewness"
    else:
        method = f"percentile bootstrap over {units}, {n_resamples:,} resamples"
    return f"{grids.percent(confidence)} intervals by {method}"


def observed_ranges(metrics: Iterable[str], noun: str) -> Iterator[str]:
    """Say which limits of the ranges of metrics are taken from the values at hand, and why.

    ``noun`` is the word for a user.
    """
    metrics_by_reason: dict[str, list[str]] = {}
    for metric in sorted(metrics):
        low, high = bounds_if_known(metric)
        reason = (
            f"some values are not in the metric's range, {low:g} to {high:g}; beyond it, the "
            f"additional {noun} has the least or the greatest value measured"
        )
        if math.isinf(low) and math.isinf(high):
            reason = (
                f"no minimum or maximum is known; the additional {noun} has the least or the "
                "greatest value measured"
            )
        elif math.isinf(low):
            reason = f"no minimum is known; the additional {noun} has the least value measured"
        elif math.isinf(high):
            reason = f"no maximum is known; the additional {noun} has the greatest value measured"
        metrics_by_reason.setdefault(reason, []).append(metric)
    for reason, names in metrics_by_reason.items():
        yield f"{', '.join(map(one_line, names))}: {reason}"


def weighted_by(n_weightless: int | None, noun: str, *, has_counts: bool) -> Iterable[str]:
    """Say that users are weighted, and how many have weight 0; nothing if that number is None.

    ``has_counts`` is True for tables that show the effective numbers of users.
    """
    if n_weightless is not None:
        line = "weighted"
        if has_counts:
            line += (
                f"; effective: the effective number of {plural(noun)}, "
                "(sum of weights)^2 / sum of weights^2"
            )
        yield line
    if n_weightless:
        yield f"left out: {counted(n_weightless, noun)} of weight 0"


def too_few_users(means: Iterable[Any], nouns: str) -> str:
    """Write how few users on a side are too few: effective ones if a mean is weighted.

    ``nouns`` is the word for users.
    """
    effective = ""
    if not {mean.n_effective for mean in means} <= {None}:
        effective = "effective "
    return f"fewer than {FEW_USERS} {effective}{nouns}"


def ends_of_means(records: Sequence[Any], few_users: str, noun: str) -> Iterator[str]:
    """Say which intervals of means count one more user; ``noun`` is the word for a user.

    ``few_users`` is what ``too_few_users`` writes of these means.
    """
    for end, value, side, other_value in (
        ("low", "lowest", "below", "highest"),
        ("high", "highest", "above", "lowest"),
    ):
        names = _names_with(end, records)
        if names:
            yield (
                f"{names}: {few_users} are {side} the {other_value} possible value, "
                f"and the sample may lack others, so {_ENDS[end]} of the interval is computed with "
                f"an additional {noun} of the {value} possible value"
            )
    names = _names_with("equal", records)
    if names:
        yield (
            f"{names}: all values are equal, so both ends of the interval are computed with an "
            f"additional {noun}, of the lowest or the highest possible value"
        )
    names = _names_without_interval(records)
    if names:
        yield (
            f"{names}: no interval, since all values are equal, and the range of the metric is not "
            "known"
        )


def ends_of_differences(records: Sequence[Any], few_users: str, noun: str) -> Iterator[str]:
    """Say which intervals of differences count one more user, as ``ends_of_means``."""
    for end, extreme, side in (("low", "lowest", "below"), ("high", "highest", "above")):
        names = _names_with(end, records)
        if names:
            yield (
                f"difference of {names}: {few_users} have a difference {side} 0, and "
                f"the sample may lack others, so {_ENDS[end]} of the interval is computed with an "
                f"additional {noun} of the {extreme} possible difference"
            )
    names = _names_with("equal", records)
    if names:
        yield (
            f"difference of {names}: it is equal for all {plural(noun)}, so both ends of the "
            f"interval are computed with an additional {noun}, of the lowest or the highest "
            "possible difference"
        )
    names = _names_without_interval(records)
    if names:
        yield (
            f"difference of {names}: no interval, since it is equal for all {plural(noun)}, and "
            "the range of the metric is not known"
        )


def _names_with(end: str, records: Sequence[Any]) -> str:
    """Name the metrics whose intervals are widened at ``end``, as ``Mean`` says; "" if none."""
    widened = [record for record in records if end in record.widened]
    if not widened:
        return ""
    return names_of_rows(widened, [record for record in records if not math.isnan(record.low)])


def _names_without_interval(records: Sequence[Any]) -> str:
    """Name the metrics of two or more users whose mean nothing bounds; "" if none."""
    unbounded = [
        record
        for record in records
        if math.isnan(record.low) and (record.n_users or 0) > 1 and math.isfinite(record.value)
    ]
    return names_of_rows(unbounded, records) if unbounded else ""


def names_of_rows(named_records: Iterable[Any], records: Iterable[Any]) -> str:
    """Name the metrics of ``named_records``, and their rows where ``records`` has others, too."""
    n_rows = Counter(record.metric for record in records)
    rows_by_metric: dict[str, list[Any]] = {}
    for record in named_records:
        rows_by_metric.setdefault(record.metric, []).append(record)
    metrics_by_rows: dict[str, list[str]] = {}
    for metric, rows in rows_by_metric.items():
        row_names = ""
        if len(rows) < n_rows[metric]:
            row_names = f" (only {_listed(list(map(_row_name, rows)), 'row')})"
        metrics_by_rows.setdefault(row_names, []).append(one_line(metric))
    if len(metrics_by_rows) > _MANY_ROWS:
        n_named = sum(map(len, rows_by_metric.values()))
        return f"{counted(n_named, 'row')} of {counted(len(rows_by_metric), 'metric')}"
    return "; ".join(
        f"{_listed(metrics, 'metric')}{row_names}" for row_names, metrics in metrics_by_rows.items()
    )


def _row_name(record: Any) -> str:
    """The models and the group of the row of a mean or of a difference."""
    names = []
    if record.model is not None:
        names.append(one_line(record.model))
    if hasattr(record, "against"):
        names.append(f"- {one_line(record.against)}")
    if record.group is not None:
        names.append(f"in {one_line(record.group)}")
    return " ".join(names) or "all"


def _listed(names: Sequence[str], noun: str) -> str:
    """List names, or the number of them if they are many."""
    return ", ".join(names) if len(names) <= _MANY_NAMES else counted(len(names), noun)
