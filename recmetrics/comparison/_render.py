"""A comparison as text: grids of cells, written plain, in Markdown or in LaTeX."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from recmetrics._printable import printable
from recmetrics.comparison._statistics import fewest_users

if TYPE_CHECKING:
    from recmetrics.comparison._records import Compared, Difference, Mean

_UNDEFINED = "-"
COLUMNS = "d_z"  # begins the line of the legend that explains columns
_TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "sign-flip permutation test",
}
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
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


def to_text(comparison: Compared) -> str:
    """Write aligned tables and the legend."""
    parts = [_aligned(grid) for grid in grids(comparison)]
    return "\n\n".join([*parts, "\n".join(legend(comparison))])


def to_markdown(comparison: Compared) -> str:
    """Write the same tables in Markdown."""
    parts = ["\n".join(_markdown(grid)) for grid in grids(comparison)]
    notes = "\n".join(f"- {_escape_markdown(line)}" for line in legend(comparison))
    return "\n\n".join([*parts, notes]) + "\n"


def to_latex(comparison: Compared) -> str:
    """Write models by metrics, for all users and each group, then the differences."""
    parts = ["% \\usepackage{booktabs}"]
    for group in (None, *comparison.groups):
        if group is not None:
            parts.append(f"% group {_one_line(group)}")
        parts.append("\n".join(_latex(*_models_by_metrics(comparison, group))))
    parts += ["\n".join(_latex(grid, _escape_latex)) for grid in _difference_grids(comparison)]
    superior = [f"{_letter(i)} {_one_line(name)}" for i, name in enumerate(comparison.models)]
    notes = [*legend(comparison), f"superscripts: significantly better than {', '.join(superior)}"]
    # With LaTeX line breaks: these lines would be one paragraph otherwise.
    parts.append(" \\\\\n".join(_escape_latex(line) for line in notes))
    return "\n\n".join(parts) + "\n"


def grids(comparison: Compared) -> list[Grid]:
    """The tables: means and differences of all users, then of each group."""
    means = [_means(comparison, [m for m in comparison.means if m.group is None])]
    differences = _difference_grids(comparison)
    if comparison.groups:
        means.append(_means(comparison, [m for m in comparison.means if m.group is not None]))
    # Both tables of all users first, then both of the groups.
    return [grid for grids in zip_longest(means, differences) for grid in grids if grid is not None]


def legend(comparison: Compared) -> list[str]:
    """The notes below the tables."""
    tested = [each for each in comparison.differences if each.group is None]
    lines = [
        f"{_percent(comparison.confidence)} intervals by percentile bootstrap over users, "
        f"{comparison.n_resamples:,} resamples"
    ]
    if comparison.levels:
        names = ", ".join(map(_one_line, comparison.levels))
        lines.append(f"not compared: {names}")
    lower = [metric for metric in comparison.metrics if metric in comparison.lower_is_better]
    if lower:
        lines.append(f"lower is better: {', '.join(_one_line(each) for each in lower)}")
    if tested:
        n_metrics = len({each.metric for each in tested})
        n_pairs = len(tested) // n_metrics
        family = f"{_count(n_metrics, 'metric')} x {_count(n_pairs, 'pair')}"
        if comparison.groups:
            family += f"; apart from these, for the {len(comparison.groups)} groups together"
        how = f"corrected by {_CORRECTIONS.get(comparison.correction or '')} over {family}"
        if comparison.correction is None:
            how = "not corrected for their number"
        first, *others = [_TESTS[test] for test in comparison.tests]
        also = f" (also {', '.join(others)})" if others else ""
        lines += [
            f"* significant: p < {1 - comparison.confidence:.2g} by {first}{also}, {how}",
            f"{COLUMNS}: mean / standard deviation of the differences; "
            "w/t/l: users for whom the first model is better, equal, worse",
            *_few_users(comparison),
        ]
    if _leaves_out(comparison.means) or _leaves_out(comparison.differences):
        lines.append("left out: users whose value is undefined, in a pair in either model")
    return lines


def _few_users(comparison: Compared) -> Iterable[str]:
    """Say where no signs can be significant: in how many differences, in how many groups."""
    needed = fewest_users(comparison.confidence)
    why = f"too few for a test at {_percent(comparison.confidence)}; at least {needed} are needed"
    few = [each for each in comparison.differences if each.n_users < needed]
    overall = [each.n_users for each in few if each.group is None]
    if overall:
        n_all = sum(each.group is None for each in comparison.differences)
        where = "" if len(overall) == n_all else f" in {len(overall)} of {n_all} differences"
        yield f"{_between(overall)}{where}: {why}"
    of_groups = [each for each in few if each.group is not None]
    if of_groups:
        n_groups = len({each.group for each in of_groups})
        users = _between([each.n_users for each in of_groups])
        yield f"{users} in {n_groups} of {_count(len(comparison.groups), 'group')}: {why}"


def decimals(comparison: Compared, metric: str) -> int:
    """Four decimals, or as many as show three digits of the largest mean of a metric."""
    own = [each for each in comparison.means if each.model in comparison.models]
    means = [abs(each.mean) for each in own if each.metric == metric]
    top = max((mean for mean in means if mean > 0), default=1.0)
    return min(8, max(4, 2 - math.floor(math.log10(top))))


def pair(difference: Difference) -> str:
    """Name a pair as a difference."""
    return f"{_one_line(difference.model)} - {_one_line(difference.against)}"


def _means(comparison: Compared, means: Sequence[Mean]) -> Grid:
    interval = f"{_percent(comparison.confidence)} interval"
    by_group = bool(means) and means[0].group is not None
    worst_of = bool(comparison.groups) and not by_group
    left_out = _leaves_out(means)
    columns = [
        *([Column("group", is_number=False)] if by_group else []),
        Column("metric", is_number=False),
        Column("model", is_number=False),
        Column("mean"),
        Column(interval),
        Column("users"),
        *([Column("left out")] if left_out else []),
        Column("", is_number=False),
        *([Column("worst group", is_number=False)] if worst_of else []),
    ]
    rows = []
    for each in means:
        places = decimals(comparison, each.metric)
        worst = comparison.worst_group(each.metric, each.model)
        rows.append(
            [
                *([_one_line(each.group)] if by_group else []),
                _one_line(each.metric),
                _one_line(each.model),
                _number(each.mean, places),
                _interval(each.low, each.high, places),
                _users(each.n_users),
                *([_users(each.n_undefined)] if left_out else []),
                "best" if each.best else "",
                *([_worst(worst, places)] if worst_of else []),
            ]
        )
    at = [column.heading for column in columns].index("mean")
    strong = frozenset((row, at) for row, each in enumerate(means) if each.best)
    return Grid(columns, _ditto(rows, 2 if by_group else 1), strong)


def _difference_grids(comparison: Compared) -> list[Grid]:
    overall = [each for each in comparison.differences if each.group is None]
    of_groups = [each for each in comparison.differences if each.group is not None]
    return [_differences(comparison, each) for each in (overall, of_groups) if each]


def _differences(comparison: Compared, differences: Sequence[Difference]) -> Grid:
    interval = f"{_percent(comparison.confidence)} interval"
    by_group = differences[0].group is not None
    worst_of = bool(comparison.groups) and not by_group
    left_out = _leaves_out(differences)
    names = {pair(each) for each in differences}
    # A single pair needs no column: it is the heading of the differences.
    heading = names.pop() if len(names) == 1 else None
    tests = comparison.tests
    columns = [
        *([Column("group", is_number=False)] if by_group else []),
        Column("metric", is_number=False),
        *([Column("pair", is_number=False)] if heading is None else []),
        Column(heading or "difference"),
        Column(interval),
        *(Column(f"p ({test})" if len(tests) > 1 else "p") for test in tests),
        Column("", is_number=False),
        Column("d_z"),
        Column("w/t/l"),
        *([Column("left out")] if left_out else []),
        *([Column("worst group", is_number=False)] if worst_of else []),
    ]
    rows = []
    for each in differences:
        places = decimals(comparison, each.metric)
        worst = comparison.worst_group(each.metric, each.model, each.against)
        rows.append(
            [
                *([_one_line(each.group)] if by_group else []),
                _one_line(each.metric),
                *([pair(each)] if heading is None else []),
                _number(each.difference, places, sign="+"),
                _interval(each.low, each.high, places, sign="+"),
                *(_p(each.corrected[test]) for test in tests),
                "*" if each.significant else "",
                _number(each.effect_size, 2, sign="+"),
                f"{each.wins}/{each.ties}/{each.losses}",
                *([_users(each.n_undefined)] if left_out else []),
                *([_worst(worst, places, sign="+")] if worst_of else []),
            ]
        )
    return Grid(columns, _ditto(rows, 2 if by_group else 1))


def _models_by_metrics(comparison: Compared, group: Any) -> tuple[Grid, Callable[[str], str]]:
    """The table for a paper, with cells in LaTeX already."""
    better: dict[tuple[str, str], list[str]] = {}
    for each in comparison.differences:
        if each.group == group and each.significant:
            lower = each.metric in comparison.lower_is_better
            winner, loser = each.model, each.against
            if (each.difference < 0) != lower:
                winner, loser = loser, winner
            letter = _letter(comparison.models.index(loser))
            better.setdefault((each.metric, winner), []).append(letter)
    means = {(each.metric, each.model): each for each in comparison.means if each.group == group}
    metrics = [metric for metric in comparison.metrics if (metric, comparison.models[0]) in means]
    rows = []
    for index, model in enumerate(comparison.models):
        row = [f"{_escape_latex(_one_line(model))}$^{{{_letter(index)}}}$"]
        for metric in metrics:
            mean = means[metric, model]
            text = _number(mean.mean, decimals(comparison, metric))
            text = rf"\textbf{{{text}}}" if mean.best else text
            marks = "".join(sorted(better.get((metric, model), [])))
            row.append(f"{text}$^{{{marks}}}$" if marks else text)
        rows.append(row)
    for level in comparison.levels:
        of_level = [means.get((metric, level)) for metric in metrics]
        rows.append(
            [
                _escape_latex(_one_line(level)),
                *(
                    _UNDEFINED if each is None else _number(each.mean, decimals(comparison, metric))
                    for metric, each in zip(metrics, of_level, strict=True)
                ),
            ]
        )
    headings = [Column(_escape_latex(_one_line(metric))) for metric in metrics]
    return Grid([Column("model", is_number=False), *headings], rows), str


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


def _markdown(grid: Grid) -> Iterable[str]:
    yield _pipes(_escape_markdown(column.heading) for column in grid.columns)
    yield _pipes("---:" if column.is_number else "---" for column in grid.columns)
    for i, row in enumerate(grid.rows):
        cells = [_escape_markdown(cell) for cell in row]
        yield _pipes(
            f"**{cell}**" if (i, j) in grid.strong else cell for j, cell in enumerate(cells)
        )


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex(grid: Grid, escape: Callable[[str], str]) -> Iterable[str]:
    yield rf"\begin{{tabular}}{{{''.join('r' if c.is_number else 'l' for c in grid.columns)}}}"
    yield r"\toprule"
    yield " & ".join(escape(column.heading) for column in grid.columns) + r" \\"
    yield r"\midrule"
    for row in grid.rows:
        yield " & ".join(escape(cell) for cell in row) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _ditto(rows: list[list[str]], n_columns: int) -> list[list[str]]:
    """Leave the first columns empty where they repeat the row above."""
    found, above = [], [""] * n_columns
    for row in rows:
        same = 0
        while same < n_columns and row[same] == above[same]:
            same += 1
        found.append([""] * same + row[same:])
        above = row[:n_columns]
    return found


def _leaves_out(records: Sequence[Mean] | Sequence[Difference]) -> bool:
    return any(each.n_undefined for each in records)


def _worst(record: Any, places: int, sign: str = "") -> str:
    if record is None:
        return _UNDEFINED
    return f"{_one_line(record.group)} ({_number(record.value, places, sign)})"


def _number(value: float, places: int, sign: str = "") -> str:
    return _UNDEFINED if math.isnan(value) else f"{value:{sign}.{places}f}"


def _interval(low: float, high: float, places: int, sign: str = "") -> str:
    if math.isnan(low):
        return _UNDEFINED
    return f"[{_number(low, places, sign)}, {_number(high, places, sign)}]"


def _users(users: int | None) -> str:
    return _UNDEFINED if users is None else f"{users:,}"


def _p(value: float) -> str:
    if math.isnan(value):
        return _UNDEFINED
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _between(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return _count(high, "user") if low == high else f"{low} to {high} users"


def _letter(index: int) -> str:
    """Name a model: a to z, then aa, ab, ..."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def _one_line(name: object) -> str:
    return " ".join(printable(str(name)).split())


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide character, none for one that combines."""
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_|<>])", r"\\\1", text)


def _escape_latex(text: str) -> str:
    escaped = "".join(_LATEX.get(each, each) for each in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped)
