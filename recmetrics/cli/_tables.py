"""The tables of the command."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, get_args

from recmetrics import Comparison, Summary
from recmetrics._explain import interval
from recmetrics._spec import Reads
from recmetrics.comparison import (
    Column,
    CompactTable,
    Grid,
    percent,
    shown,
    shown_count,
    shown_interval,
    table,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from recmetrics._spec import Metric, Option

_PLACES = 4  # decimals
_GAP = 2  # blanks between columns


def evaluation_table(
    summary: Summary, levels: Mapping[str, Mapping[str, float]], noun: str = "user"
) -> FittedTable:
    """Lay out one metric per row, with the levels to compare its mean with."""
    interval = f"{percent(summary.confidence)} interval"
    columns = [
        Column("metric", lambda each: each.metric, is_number=False),
        Column("mean", lambda each: shown(each.mean, _PLACES)),
        *(
            Column(name, partial(lambda level, each: shown(level.get(each.metric), _PLACES), level))
            for name, level in levels.items()
        ),
        Column(interval, lambda each: shown_interval(each.low, each.high, _PLACES)),
        Column("std", lambda each: shown(each.std, _PLACES)),
        Column(f"{noun}s", lambda each: shown_count(each.n_users)),
    ]
    return FittedTable(table(columns, summary.records))


def comparison_tables(comparison: Comparison | CompactTable) -> list[RenderableType]:
    """Lay out the tables of a comparison, and its legend."""
    laid_out, notes = comparison._page("[ ]")
    parts: list[RenderableType] = []
    for grid in laid_out:
        parts += [FittedTable(grid), ""]
    return [*parts, *notes]


def catalogue_table(metrics: Mapping[str, Metric]) -> Table:
    """Lay out every metric with its meaning in one line, which a narrow terminal cuts off."""
    from rich.table import Table
    from rich.text import Text

    lines = Table.grid()
    lines.add_column(no_wrap=True, overflow="ellipsis")
    width = max(len(title(metric)) for metric in metrics.values())
    for metric in _in_order(metrics):
        meaning, *_ = re.split(r"[:;] ", re.sub(r"``|\*|\.$", "", metric.summary))
        lines.add_row(Text(f"{title(metric):<{width}}  {meaning}"))
    return lines


def catalogue_markdown(metrics: Mapping[str, Metric]) -> str:
    """Write every metric with its aliases, options and formula, as the README shows them."""
    rows = [("metric", "options", "needs", "value"), ("---", "---", "---", "---")]
    for metric in _in_order(metrics):
        options = " ".join(f"`{_first_is_default(option)}`" for option in metric.options.values())
        formula = f"of all lists: {metric.formula}" if not metric.per_user else metric.formula
        names = ", ".join(f"`{name}`" for name in (title(metric), *metric.aliases))
        rows.append((names, options, ", ".join(needs(metric)), formula))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def options_table(metric: Metric) -> FittedTable:
    """Lay out the options of one metric."""
    columns: dict[str, Callable[[Option], str]] = {
        "option": lambda option: option.name,
        "values": _values,
        "default": lambda o: "not set" if o.default is None else str(o.default),
        "meaning": lambda option: option.meaning,
    }
    laid_out = [Column(heading, text, is_number=False) for heading, text in columns.items()]
    return FittedTable(table(laid_out, list(metric.options.values())))


def title(metric: Metric, k: int | str = "k") -> str:
    """Write a metric as users type it."""
    return metric.name if metric.default_k is None else f"{metric.name}@{k}"


def _in_order(metrics: Mapping[str, Metric]) -> list[Metric]:
    """Sort the metrics: accuracy first, metrics of all lists last."""
    order = get_args(Reads)
    return sorted(metrics.values(), key=lambda metric: order.index(metric.reads))


def needs(metric: Metric) -> list[str]:
    """Name the side information of a metric, one entry for each that must be given."""
    return [" or ".join(group) for group in metric.needs]


def bounds(metric: Metric) -> str:
    """Write the interval of a metric's values."""
    return interval(metric.bounds)


class FittedTable:
    """A table for the width of the terminal, in which no word or number is split.

    Cells fold at blanks. Where even that is too wide, each row is a block of lines.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        widths = self._widths(options.max_width)
        if widths is None:
            yield from self._blocks()
        else:
            yield self._table(widths)

    def _widths(self, most: int) -> list[int] | None:
        """The width of each column, in ``most`` in all; None where the words do not fit."""
        from rich.cells import cell_len

        def longest(texts: list[str]) -> int:
            return max(map(cell_len, texts), default=0)

        columns = enumerate(self._grid.columns)
        cells = [(column.heading, [row[i] for row in self._grid.rows]) for i, column in columns]
        most -= _GAP * (len(cells) - 1)
        whole = [longest([heading, *texts]) for heading, texts in cells]
        if sum(whole) <= most:
            return whole
        # A heading folds before the cells below it have to.
        widths = [longest([*heading.split(), *texts]) for heading, texts in cells]
        least = [longest(" ".join([heading, *texts]).split()) for heading, texts in cells]
        if sum(least) > most:
            return None
        while sum(widths) > most:
            _, widest = max((w, i) for i, w in enumerate(widths) if w > least[i])
            widths[widest] -= 1
        return widths

    def _table(self, widths: list[int]) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.padding = (0, _GAP - 1, 0, 0)  # the box has one blank
        for column, width in zip(self._grid.columns, widths, strict=True):
            heading = fill(column.heading, max(1, width))
            table.add_column(heading, width=width, justify="right" if column.is_number else "left")
        for i, row in enumerate(self._grid.rows):
            table.add_row(*(self._cell(i, j, text) for j, text in enumerate(row)))
        return table

    def _blocks(self) -> Iterator[RenderableType]:
        """Each row as the cell of the first column with a heading, and a line for each other."""
        from rich.table import Table

        columns = self._grid.columns
        name = next(j for j, column in enumerate(columns) if column.heading)
        named = 0  # the last row with a name, which is that of the rows below it, too
        for i, row in enumerate(self._grid.rows):
            named = i if row[name] else named
            yield self._cell(named, name, self._grid.rows[named][name])
            lines = Table.grid(padding=(0, _GAP, 0, 0))
            for _ in range(2):
                lines.add_column(overflow="fold")
            for j, column in enumerate(columns):
                if j != name and row[j].strip():
                    lines.add_row(f"  {column.heading}", self._cell(i, j, row[j]))
            yield lines

    def _cell(self, i: int, j: int, text: str) -> RenderableType:
        from rich.text import Text

        return Text(text, "bold" if (i, j) in self._grid.strong else "", overflow="fold")


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
