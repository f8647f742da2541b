"""The tables of the command."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Literal, get_args

from recmetrics import Comparison, Summary
from recmetrics._explain import interval
from recmetrics._spec import Reads
from recmetrics.comparison import (
    CompactTable,
    grids,
    legend,
    percent,
    shown,
    shown_count,
    shown_interval,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from recmetrics._spec import Metric, Option

_PLACES = 4  # decimals


def evaluation_table(
    summary: Summary, levels: Mapping[str, Mapping[str, float]], noun: str = "user"
) -> Table:
    """Lay out one metric per row, with the levels to compare its mean with."""
    interval = f"{percent(summary.level)} interval"
    table = _table("metric", numbers=["mean", *levels, interval, "std", f"{noun}s"])
    for each in summary:
        table.add_row(
            each.metric,
            shown(each.mean, _PLACES),
            *(shown(level.get(each.metric, math.nan), _PLACES) for level in levels.values()),
            shown_interval(each.low, each.high, _PLACES),
            shown(each.std, _PLACES),
            shown_count(each.n_users),
        )
    return table


def comparison_tables(comparison: Comparison | CompactTable) -> list[RenderableType]:
    """Lay out the tables of a comparison for the terminal's width, and its legend."""
    from rich.text import Text

    if isinstance(comparison, CompactTable):
        laid_out, notes = [comparison.grid()], comparison.legend()
    else:
        laid_out, notes = grids(comparison), legend(comparison)
    parts: list[RenderableType] = []
    for grid in laid_out:
        table = _table()
        table.padding = (0, 1, 0, 0)  # little, for the widest tables of the command
        for i, column in enumerate(grid.columns):
            justify: Literal["left", "right"] = "right" if column.is_number else "left"
            # A heading folds before the numbers below it have to.
            words = column.heading.split() or [""]
            width = max(map(len, (*words, *(row[i] for row in grid.rows))))
            heading = fill(column.heading, max(1, width))
            table.add_column(heading, overflow="fold", justify=justify)
        for i, row in enumerate(grid.rows):
            strong = ("bold" if (i, j) in grid.strong else "" for j in range(len(row)))
            table.add_row(*map(Text, row, strong))
        parts += [table, ""]
    return [*parts, *notes]


def catalogue_table(metrics: Mapping[str, Metric]) -> Table:
    """Lay out every metric with its options, meaning and bounds."""
    table = _table("metric", "options", "needs", "value", "bounds")
    for metric in _in_order(metrics):
        options = "\n".join(_choices(option) for option in metric.options.values())
        needed = "\n".join(needs(metric))
        table.add_row(title(metric), options, needed, metric.summary, bounds(metric))
    return table


def catalogue_markdown(metrics: Mapping[str, Metric]) -> str:
    """Write every metric with its aliases, options and formula, as the README shows them."""
    rows = [("metric", "options", "needs", "value"), ("---", "---", "---", "---")]
    for metric in _in_order(metrics):
        options = " ".join(f"`{_first_is_default(option)}`" for option in metric.options.values())
        formula = f"of all lists: {metric.formula}" if not metric.per_user else metric.formula
        names = ", ".join(f"`{name}`" for name in (title(metric), *metric.aliases))
        rows.append((names, options, ", ".join(needs(metric)), formula))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def options_table(metric: Metric) -> Table:
    """Lay out the options of one metric."""
    table = _table("option", "values", "default", "meaning")
    for option in metric.options.values():
        default = "not set" if option.default is None else str(option.default)
        table.add_row(option.name, _values(option), default, option.meaning)
    return table


def title(metric: Metric, k: int | str = "k") -> str:
    """Write a metric as users type it."""
    return metric.name if metric.default_k is None else f"{metric.name}@{k}"


def _in_order(metrics: Mapping[str, Metric]) -> list[Metric]:
    """Sort the metrics: accuracy first, system metrics last."""
    order = get_args(Reads)
    return sorted(metrics.values(), key=lambda metric: order.index(metric.reads))


def needs(metric: Metric) -> list[str]:
    """Name the side information of a metric, one entry for each that must be given."""
    return [" or ".join(group) for group in metric.needs]


def bounds(metric: Metric) -> str:
    """Write the interval of a metric's values."""
    return interval(metric.bounds)


def _table(*texts: str, numbers: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    # In a narrow terminal cells fold: nothing is cut off.
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
