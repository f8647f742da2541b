"""A comparison as text: its tables and its legend, written plain, in Markdown or in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from recmetrics.comparison._grids import (
    UNDEFINED,
    Column,
    Grid,
    as_latex,
    as_markdown,
    as_text,
    counted,
    decimals_of,
    ditto,
    escape_latex,
    in_latex,
    intervals_by,
    one_line,
    percent,
    shown,
    shown_count,
    shown_effective,
    shown_interval,
    weighted_by,
)
from recmetrics.comparison._statistics import fewest_users

if TYPE_CHECKING:
    from recmetrics.comparison._records import Compared, Difference, Mean

_TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "sign-flip permutation test",
}
_FEW_RUNS = 10  # below which the legend says that their part of the intervals is rough
_UNCOVERED = "p-values use the users' means over runs, and do not cover the variation over runs"
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


class Cell(NamedTuple):
    """A name or a mean in the table of models by metrics."""

    text: str
    marks: str = ""
    is_best: bool = False


def to_text(comparison: Compared) -> str:
    """Write aligned tables and the legend."""
    return as_text(grids(comparison), legend(comparison))


def to_markdown(comparison: Compared) -> str:
    """Write the same tables in Markdown."""
    return as_markdown(grids(comparison), legend(comparison))


def to_latex(comparison: Compared) -> str:
    """Write models by metrics, for all users and each group, then the differences."""
    parts = []
    for group in (None, *comparison.groups):
        if group is not None:
            parts.append(f"% group {one_line(group)}")
        headings, rows = models_by_metrics(comparison, comparison.metrics, group)
        parts.append(in_latex(latex_grid(headings, rows), str))
    parts += [in_latex(grid) for grid in _difference_grids(comparison)]
    notes = legend(comparison)
    if comparison.differences:
        names = [f"{_letter(i)} is {one_line(name)}" for i, name in enumerate(comparison.models)]
        notes.append(
            "superscripts: significantly better than the model with that letter, where "
            + ", ".join(names)
        )
    return as_latex(parts, notes)


def grids(comparison: Compared) -> list[Grid]:
    """The tables: means and differences of all users, then of each group."""
    means = [_means(comparison, [m for m in comparison.means if m.group is None])]
    differences = _difference_grids(comparison)
    if comparison.groups:
        means.append(_means(comparison, [m for m in comparison.means if m.group is not None]))
    # Both tables of all users first, then both of the groups.
    return [grid for grids in zip_longest(means, differences) for grid in grids if grid is not None]


def plot_legend(comparison: Compared) -> list[str]:
    """The notes below the plot, which has the means and differences of all users alone."""
    lines = [*_intervals(comparison), *_models(comparison, comparison.metrics)]
    if comparison.differences:
        lines += [f"* significant: {_significance(comparison)}", *_few_users(comparison)]
    if comparison.n_runs and comparison.differences:
        lines.append(_UNCOVERED)
    return lines


def legend(comparison: Compared) -> list[str]:
    """The notes below the tables."""
    lines = [*_intervals(comparison)]
    if comparison.n_runs:
        lines.append(f"run std: standard deviation of the means of runs; {_UNCOVERED}")
    lines += _models(comparison, comparison.metrics)
    if comparison.differences:
        lines += [
            f"* significant: {_significance(comparison, with_groups=True)}",
            "d_z: mean / standard deviation of the differences; "
            "w/t/l: number of users for whom the first model of the pair is better, equal, worse",
            *_few_users(comparison, with_groups=True),
        ]
    return [*lines, *_left_out(comparison)]


def compact_legend(
    comparison: Compared, metrics: Sequence[str], best: str, marks: str
) -> list[str]:
    """The notes below the table of models by metrics; ``best`` and ``marks`` are its signs."""
    lines = [f"{best}: the best mean of a metric", *_models(comparison, metrics)]
    if comparison.differences:
        baseline = comparison.baseline
        only = "" if baseline is None else f"; each is compared with {one_line(baseline)} alone"
        lines += [
            f"{marks}: significantly better than the model with that letter{only}",
            f"significant: {_significance(comparison)}",
            *_few_users(comparison),
        ]
    if comparison.n_runs:
        names = ", ".join(f"{one_line(name)} {runs}" for name, runs in comparison.n_runs.items())
        lines.append(f"means over runs: {names}; {_UNCOVERED}")
    return [*lines, *_left_out(comparison)]


def _intervals(comparison: Compared) -> Iterable[str]:
    """Say how the intervals are computed, and what they cover where there are runs."""
    counts = comparison.n_runs
    drawn = "users and runs" if counts else "users"
    how = intervals_by(comparison.confidence, comparison.n_resamples, drawn)
    if len(counts) > 1 and comparison.paired_runs:
        how += "; the same runs of all models are drawn"
    elif len(counts) > 1:
        how += "; the runs of each model are drawn independently"
    yield how
    if counts:
        has_single = len(counts) < len(comparison.models)
        single = "the variation over runs of models with a single run, or " if has_single else ""
        covered = f"intervals do not cover {single}what all runs share, such as the data"
        few = [count for count in counts.values() if count < _FEW_RUNS]
        if few:
            covered += (
                f"; with {_between(few, 'run')}, the estimate of the variation over runs is rough "
                "and too small"
            )
        yield covered


def _models(comparison: Compared, metrics: Sequence[str]) -> Iterable[str]:
    """Say how users count, which models are not compared, and where lower is better."""
    yield from weighted_by(comparison.n_weightless)
    if comparison.levels:
        names = ", ".join(map(one_line, comparison.levels))
        yield f"not compared: {names}"
    lower = [metric for metric in metrics if metric in comparison.lower_is_better]
    if lower:
        yield f"lower is better: {', '.join(one_line(each) for each in lower)}"


def _significance(comparison: Compared, *, with_groups: bool = False) -> str:
    """Say by which test and which correction differences are significant."""
    tested = [each for each in comparison.differences if each.group is None]
    n_metrics = len({each.metric for each in tested})
    n_pairs = len(tested) // n_metrics
    family = f"{counted(n_metrics, 'metric')} x {counted(n_pairs, 'pair')}"
    if with_groups and comparison.groups:
        family += f", and separately over the differences of all {len(comparison.groups)} groups"
    how = f"corrected by {_CORRECTIONS.get(comparison.correction or '')} over {family}"
    if comparison.correction is None:
        how = "not corrected for their number"
    first, *others = [_TESTS[test] for test in comparison.tests]
    also = f" (also {', '.join(others)})" if others else ""
    return f"p < {1 - comparison.confidence:.2g} by {first}{also}, {how}"


def _left_out(comparison: Compared) -> Iterable[str]:
    if _leaves_out(comparison.means) or _leaves_out(comparison.differences):
        yield "left out: users whose value is undefined; for a pair, undefined in either model"


def _few_users(comparison: Compared, *, with_groups: bool = False) -> Iterable[str]:
    """Say how many differences, and in how many groups, have too few users for a test of signs."""
    needed = fewest_users(comparison.confidence)
    why = f"too few for a test at {percent(comparison.confidence)}; at least {needed} are needed"
    few = [each for each in comparison.differences if each.n_users < needed]
    overall = [each.n_users for each in few if each.group is None]
    if overall:
        n_all = sum(each.group is None for each in comparison.differences)
        where = "" if len(overall) == n_all else f" in {len(overall)} of {n_all} differences"
        yield f"{_between(overall, 'user')}{where}: {why}"
    of_groups = [each for each in few if each.group is not None]
    if of_groups and with_groups:
        n_groups = len({each.group for each in of_groups})
        users = _between([each.n_users for each in of_groups], "user")
        yield f"{users} in {n_groups} of {counted(len(comparison.groups), 'group')}: {why}"


def decimals(comparison: Compared, metric: str) -> int:
    """The decimals of a metric: those of its largest mean."""
    own = [each for each in comparison.means if each.model in comparison.models]
    return decimals_of(each.mean for each in own if each.metric == metric)


def pair(difference: Difference) -> str:
    """Name a pair as a difference."""
    return f"{one_line(difference.model)} - {one_line(difference.against)}"


def _means(comparison: Compared, means: Sequence[Mean]) -> Grid:
    interval = f"{percent(comparison.confidence)} interval"
    by_group = bool(means) and means[0].group is not None
    worst_of = bool(comparison.groups) and not by_group
    left_out = _leaves_out(means)
    weighted = comparison.n_weightless is not None
    columns = [
        *([Column("group", is_number=False)] if by_group else []),
        Column("metric", is_number=False),
        Column("model", is_number=False),
        Column("mean"),
        Column(interval),
        Column("users"),
        *([Column("effective")] if weighted else []),
        *([Column("runs"), Column("run std")] if comparison.n_runs else []),
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
                *([one_line(each.group)] if by_group else []),
                one_line(each.metric),
                one_line(each.model),
                shown(each.mean, places),
                shown_interval(each.low, each.high, places),
                shown_count(each.n_users),
                *([shown_effective(each.n_effective)] if weighted else []),
                *(_runs(each, places) if comparison.n_runs else []),
                *([shown_count(each.n_undefined)] if left_out else []),
                "best" if each.best else "",
                *([_worst(worst, places)] if worst_of else []),
            ]
        )
    at = [column.heading for column in columns].index("mean")
    strong = frozenset((row, at) for row, each in enumerate(means) if each.best)
    return Grid(columns, ditto(rows, _labels(means)), strong)


def _difference_grids(comparison: Compared) -> list[Grid]:
    overall = [each for each in comparison.differences if each.group is None]
    of_groups = [each for each in comparison.differences if each.group is not None]
    return [_differences(comparison, each) for each in (overall, of_groups) if each]


def _differences(comparison: Compared, differences: Sequence[Difference]) -> Grid:
    interval = f"{percent(comparison.confidence)} interval"
    by_group = differences[0].group is not None
    worst_of = bool(comparison.groups) and not by_group
    left_out = _leaves_out(differences)
    pairs = {(each.model, each.against) for each in differences}
    # A single pair needs no column: it is the heading of the differences.
    heading = pair(differences[0]) if len(pairs) == 1 else None
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
                *([one_line(each.group)] if by_group else []),
                one_line(each.metric),
                *([pair(each)] if heading is None else []),
                shown(each.difference, places, sign="+"),
                shown_interval(each.low, each.high, places, sign="+"),
                *(_p(each.corrected[test]) for test in tests),
                "*" if each.significant else "",
                shown(each.effect_size, 2, sign="+"),
                f"{each.wins}/{each.ties}/{each.losses}",
                *([shown_count(each.n_undefined)] if left_out else []),
                *([_worst(worst, places, sign="+")] if worst_of else []),
            ]
        )
    return Grid(columns, ditto(rows, _labels(differences)))


def _labels(records: Sequence[Mean] | Sequence[Difference]) -> list[list[Any]]:
    """The labels of the rows: that of the group, if there is one, and the metric."""
    return [[*([] if each.group is None else [each.group]), each.metric] for each in records]


def models_by_metrics(
    comparison: Compared, metrics: Sequence[str], group: Any = None, digits: int | None = None
) -> tuple[list[str], list[list[Cell]]]:
    """The means of a group, with the headings of their columns; names are cells, too.

    A name is marked with its letter, a mean with the letters of the models that it is better than.
    """
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
    metrics = [metric for metric in metrics if (metric, comparison.models[0]) in means]
    rows = []
    for index, model in enumerate((*comparison.models, *comparison.levels)):
        is_tested = bool(comparison.differences) and model in comparison.models
        row = [Cell(one_line(model), _letter(index) if is_tested else "")]
        for metric in metrics:
            mean = means.get((metric, model))
            if mean is None:
                row.append(Cell(UNDEFINED))
                continue
            places = decimals(comparison, metric) if digits is None else digits
            marks = "".join(sorted(better.get((metric, model), [])))
            row.append(Cell(shown(mean.mean, places), marks, mean.best))
        rows.append(row)
    return [one_line(metric) for metric in metrics], rows


def latex_grid(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Grid:
    """Write models by metrics with cells in LaTeX."""
    columns = [Column("model", is_number=False), *(Column(escape_latex(each)) for each in headings)]
    return Grid(columns, [[_latex_cell(cell) for cell in row] for row in rows])


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.is_best else text
    return f"{text}$^{{{cell.marks}}}$" if cell.marks else text


def _runs(mean: Mean, places: int) -> list[str]:
    std = math.nan if mean.run_std is None else mean.run_std
    return [shown_count(mean.n_runs), shown(std, places)]


def _leaves_out(records: Sequence[Mean] | Sequence[Difference]) -> bool:
    return any(each.n_undefined for each in records)


def _worst(record: Any, places: int, sign: str = "") -> str:
    if record is None:
        return UNDEFINED
    return f"{one_line(record.group)} ({shown(record.value, places, sign)})"


def _p(value: float) -> str:
    if math.isnan(value):
        return UNDEFINED
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _between(numbers: Sequence[int], what: str) -> str:
    low, high = min(numbers), max(numbers)
    return counted(high, what) if low == high else f"{low} to {high} {what}s"


def _letter(index: int) -> str:
    """Name a model: a to z, then aa, ab, ..."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
