"""Tables of text, written plain, in Markdown, in LaTeX or in HTML; numbers as text."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recmetrics._printable import printable

UNDEFINED = "-"
_NO_LABEL = object()  # above the first row
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # After a line break these would be read as its options.
    "[": "{[}",
    "*": "{*}",
} | {each: rf"\{each}" for each in "&%$#_{}"}


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column, and whether it holds numbers."""

    heading: str
    is_number: bool = True


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of text; ``strong`` holds the (row, column) of the highlighted cells."""

    columns: list[Column]
    rows: list[list[str]]
    strong: frozenset[tuple[int, int]] = frozenset()


def escape_latex(text: str) -> str:
    """Escape what LaTeX would read, and write minus signs as such."""
    escaped = "".join(_LATEX.get(each, each) for each in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped)


def as_text(grids: Sequence[Grid], notes: Iterable[str]) -> str:
    """Write aligned tables, and notes below them."""
    return "\n\n".join([*map(_aligned, grids), "\n".join(notes)])


def as_markdown(grids: Sequence[Grid], notes: Iterable[str]) -> str:
    """Write tables in Markdown, and the notes as a list."""
    lines = "\n".join(f"- {_escape_markdown(line)}" for line in notes)
    return "\n\n".join([*map(_in_markdown, grids), lines]) + "\n"


def as_latex_table(grid: Grid, notes: Iterable[str], caption: str, label: str) -> str:
    """Write a whole ``table`` of LaTeX with notes below it; its cells and caption are LaTeX."""
    lines = [
        "% \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        in_latex(grid, str),
        r"\par\smallskip",
        r"\footnotesize",
        " \\\\\n".join(escape_latex(line) for line in notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def as_latex(tables: Iterable[str], notes: Iterable[str]) -> str:
    """Write LaTeX tables that are written already, and notes below them."""
    # With LaTeX line breaks: these lines would be one paragraph otherwise.
    lines = " \\\\\n".join(escape_latex(line) for line in notes)
    return "\n\n".join(["% \\usepackage{booktabs}", *tables, lines]) + "\n"


def as_html(grids: Sequence[Grid], notes: Iterable[str]) -> str:
    """Write tables in HTML, and the notes below them."""
    lines = "<br>\n".join(html.escape(line) for line in notes)
    return "\n".join([*map(_in_html, grids), f"<p>{lines}</p>"]) + "\n"


def in_latex(grid: Grid, escape: Callable[[str], str] = escape_latex) -> str:
    """Write a LaTeX table; ``escape`` is applied to each cell."""
    lines = [
        rf"\begin{{tabular}}{{{''.join('r' if c.is_number else 'l' for c in grid.columns)}}}",
        r"\toprule",
        " & ".join(escape(column.heading) for column in grid.columns) + r" \\",
        r"\midrule",
        *(" & ".join(escape(cell) for cell in row) + r" \\" for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _aligned(grid: Grid) -> str:
    table = [[column.heading for column in grid.columns], *grid.rows]
    widths = [max(map(_width, cells)) for cells in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    lines = []
    for row in table:
        cells = []
        for cell, width, column in zip(row, widths, grid.columns, strict=True):
            space = " " * (width - _width(cell))
            cells.append(space + cell if column.is_number else cell + space)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _in_markdown(grid: Grid) -> str:
    lines = [
        _pipes(_escape_markdown(column.heading) for column in grid.columns),
        _pipes("---:" if column.is_number else "---" for column in grid.columns),
    ]
    for i, row in enumerate(grid.rows):
        cells = [
            cell if column.is_number else _escape_markdown(cell)
            for cell, column in zip(row, grid.columns, strict=True)
        ]
        lines.append(
            _pipes(f"**{cell}**" if (i, j) in grid.strong else cell for j, cell in enumerate(cells))
        )
    return "\n".join(lines)


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _in_html(grid: Grid) -> str:
    aligns = ["right" if column.is_number else "left" for column in grid.columns]

    def row(cells: Iterable[str], tag: str) -> str:
        written = (
            f'<{tag} style="text-align: {align}">{cell}</{tag}>'
            for cell, align in zip(cells, aligns, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    def cell(i: int, j: int) -> str:
        text = html.escape(grid.rows[i][j])
        return f"<b>{text}</b>" if (i, j) in grid.strong else text

    head = row((html.escape(column.heading) for column in grid.columns), "th")
    body = "\n".join(
        row((cell(i, j) for j in range(len(aligns))), "td") for i in range(len(grid.rows))
    )
    return f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def ditto(rows: list[list[str]], labels: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Leave the first columns empty where their labels are those of the row above."""
    found = []
    above: Sequence[Any] = ()
    for row, own in zip(rows, labels, strict=True):
        pairs = enumerate(zip(own, above or [_NO_LABEL] * len(own), strict=True))
        same = next((i for i, (label, other) in pairs if label != other), len(own))
        found.append([""] * same + row[same:])
        above = own
    return found


def decimals_of(means: Iterable[float]) -> int:
    """Four decimals, or as many as show three digits of the largest of the means."""
    sizes = (abs(mean) for mean in means)
    top = max((size for size in sizes if 0 < size < math.inf), default=1.0)
    return min(8, max(4, 2 - math.floor(math.log10(top))))


def shown(value: float, places: int, sign: str = "") -> str:
    """Write a number, - where it is undefined."""
    return UNDEFINED if math.isnan(value) else f"{value:{sign}.{places}f}"


def shown_interval(low: float, high: float, places: int, sign: str = "") -> str:
    """Write an interval, - where it is undefined."""
    if math.isnan(low):
        return UNDEFINED
    return f"[{shown(low, places, sign)}, {shown(high, places, sign)}]"


def shown_count(users: int | None) -> str:
    """Write a number of users, - for a metric of all lists."""
    return UNDEFINED if users is None else f"{users:,}"


def shown_effective(users: float | None) -> str:
    """Write an effective number of users, - for a metric of all lists."""
    return UNDEFINED if users is None or math.isnan(users) else f"{users:,.1f}"


def weighted_by(n_weightless: int | None) -> Iterable[str]:
    """Say that users are weighted, and how many have no weight; nothing where it is None."""
    if n_weightless is not None:
        yield "weighted; effective: (sum of the weights)^2 / sum of their squares"
    if n_weightless:
        yield f"left out: {counted(n_weightless, 'user')} of weight 0"


def intervals_by(level: float, n_resamples: int, drawn: str = "users") -> str:
    """Say how the intervals of means are computed; ``drawn`` is the word for what is drawn."""
    how = f"percentile bootstrap over {drawn}, {n_resamples:,} resamples"
    return f"{percent(level)} intervals by {how}"


def percent(share: float) -> str:
    """Write a share in percent."""
    return f"{100 * share:.4g} %"


def counted(number: int, what: str) -> str:
    """Write a number of things, one or several."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def one_line(name: object) -> str:
    """Write a name without line ends and without what does harm in a terminal."""
    return " ".join(printable(str(name)).split())


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide character, none for one that combines."""
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def _escape_markdown(text: str) -> str:
    """Escape what Markdown would read, such as links, math, entities and bare addresses."""
    return re.sub(r"([\\`*_|<>\[\]!&$#~]|:(?=//)|(?<=www)\.)", r"\\\1", text, flags=re.I)
