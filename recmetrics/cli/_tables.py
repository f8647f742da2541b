"""The tables of the command."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from recmetrics._explain import interval
from recmetrics.cli._summary import Summary

if TYPE_CHECKING:
    from rich.table import Table

    from recmetrics._registry import Metric, Option

_UNDEFINED = "-"


def evaluation_table(
    summaries: Mapping[str, Summary], levels: Mapping[str, Mapping[str, float | None]]
) -> Table:
    """Lay out one metric a row, with the levels that its mean can be compared with."""
    table = _table("metric", numbers=["mean", *levels, "95 % interval", "std", "users"])
    for metric, summary in summaries.items():
        table.add_row(
            metric,
            _number(summary.mean),
            *(_number(level.get(metric)) for level in levels.values()),
            _interval(summary),
            _number(summary.std),
            _count(summary.users),
        )
    return table


def comparison_table(models: Mapping[str, Mapping[str, Summary]]) -> Table:
    """Lay out one metric a row and, for each model, its mean and interval; then the users."""
    columns = [column for model in models for column in (model, "95 % interval")]
    table = _table("metric", numbers=[*columns, "users"])
    first = next(iter(models.values()))
    for metric in first:
        cells = [
            cell
            for summaries in models.values()
            for cell in (_number(summaries[metric].mean), _interval(summaries[metric]))
        ]
        table.add_row(metric, *cells, _count(first[metric].users))
    return table


def catalogue_table(metrics: Mapping[str, Metric]) -> Table:
    """Lay out every metric with its options, meaning and bounds."""
    table = _table("metric", "options", "needs", "value", "bounds")
    for metric in _by_kind(metrics):
        options = "\n".join(_choices(option) for option in metric.options.values())
        needed = "\n".join(needs(metric))
        table.add_row(title(metric), options, needed, metric.summary, bounds(metric))
    return table


def catalogue_markdown(metrics: Mapping[str, Metric]) -> str:
    """Write every metric with its options and formula, as the README shows them."""
    rows = [("metric", "options", "needs", "value"), ("---", "---", "---", "---")]
    for metric in _by_kind(metrics):
        options = " ".join(f"`{_first_is_default(option)}`" for option in metric.options.values())
        formula = f"of all lists: {metric.formula}" if metric.kind == "system" else metric.formula
        rows.append((f"`{title(metric)}`", options, ", ".join(needs(metric)), formula))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def options_table(metric: Metric) -> Table:
    """Lay out the options of one metric."""
    table = _table("option", "values", "default", "meaning")
    for option in metric.options.values():
        default = "not set" if option.default is None else str(option.default)
        table.add_row(option.name, _values(option), default, option.meaning)
    return table


def title(metric: Metric) -> str:
    """Write a metric as it is asked for."""
    return f"{metric.name}@k" if metric.takes_k else metric.name


def _by_kind(metrics: Mapping[str, Metric]) -> list[Metric]:
    """Put accuracy first and what has one value for all lists last."""
    kinds = ("accuracy", "list", "system")
    return sorted(metrics.values(), key=lambda metric: kinds.index(metric.kind))


def needs(metric: Metric) -> list[str]:
    """Name the side information of a metric, one entry for each that must be given."""
    return [" or ".join(group) for group in metric.needs]


def bounds(metric: Metric) -> str:
    """Write the interval of a metric's values."""
    return interval(metric.bounds)


def _table(*texts: str, numbers: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    # In a narrow terminal cells fold: nothing is ever cut off.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in texts:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, overflow="fold", justify="right")
    return table


def _choices(option: Option) -> str:
    return f"{option.name}={', '.join(option.choices) or 'NUMBER'}"


def _first_is_default(option: Option) -> str:
    if option.choices or option.default is None:
        return f"{option.name}={','.join(option.choices) or 'NUMBER'}"
    return f"{option.name}={option.default:g}"


def _values(option: Option) -> str:
    if option.choices:
        return ", ".join(option.choices)
    limits = [f"above {option.above:g}"] if math.isfinite(option.above) else []
    limits += [f"below {option.below:g}"] if math.isfinite(option.below) else []
    return " ".join(["a number", " and ".join(limits)]).strip()


def _number(value: float | None) -> str:
    return _UNDEFINED if value is None else f"{value:.4f}"


def _interval(summary: Summary) -> str:
    if summary.interval is None:
        return _UNDEFINED
    low, high = summary.interval
    return f"{low:.4f}..{high:.4f}"


def _count(users: int | None) -> str:
    return _UNDEFINED if users is None else f"{users:,}"
