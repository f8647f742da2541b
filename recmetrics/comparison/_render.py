"""A comparison as text: its tables and its legend, written plain, in Markdown or in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from recmetrics.comparison._grids import (
    UNDEFINED,
    Column,
    Grid,
    as_latex,
    count,
    counted,
    decimals_of,
    escape_latex,
    in_latex,
    interval,
    intervals_by,
    left_out,
    named,
    one_line,
    percent,
    plural,
    shown,
    split,
    table,
    weighted_by,
)
from recmetrics.comparison._statistics import fewest_users

if TYPE_CHECKING:
    from recmetrics.comparison._records import Compared, Difference, Mean
    from recmetrics.comparison._statistics import Test

_TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "sign-flip permutation test",
}
_FEW_RUNS = 10  # below which the legend says that their part of the intervals is rough
_UNCOVERED = "p-values use the users' means over runs, and do not cover the variation over runs"
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


Form: TypeAlias = Literal["text", "markdown", "latex"]


def to_latex(comparison: Compared) -> str:
    """Write models by metrics, for all users and each group, then the differences."""
    parts = []
    for group in (None, *comparison.groups):
        if group is not None:
            parts.append(f"% group {one_line(group)}")
        grid = models_by_metrics(comparison, comparison.metrics, "latex", group)
        parts.append(in_latex(grid, str))
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
    means = [_means(comparison, each) for each in split(comparison.means) if each]
    # Both tables of all users first, then both of the groups.
    pairs = zip_longest(means, _difference_grids(comparison))
    return [grid for pair in pairs for grid in pair if grid is not None]


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
    tested, _ = split(comparison.differences)
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
    records: list[Any] = [*comparison.means, *comparison.differences]
    if any(each.n_undefined for each in records):
        yield "left out: users whose value is undefined; for a pair, undefined in either model"


def _few_users(comparison: Compared, *, with_groups: bool = False) -> Iterable[str]:
    """Say how many differences, and in how many groups, have too few users for a test of signs."""
    needed = fewest_users(comparison.confidence)
    why = f"too few for a test at {percent(comparison.confidence)}; at least {needed} are needed"
    tested, _ = split(comparison.differences)
    few = (each for each in comparison.differences if each.n_users < needed)
    overall, of_groups = split(few)
    if overall:
        some = f" in {len(overall)} of {len(tested)} differences"
        yield f"{_users(overall)}{'' if len(overall) == len(tested) else some}: {why}"
    if of_groups and with_groups:
        n_groups = len({each.group for each in of_groups})
        some = f"{n_groups} of {counted(len(comparison.groups), 'group')}"
        yield f"{_users(of_groups)} in {some}: {why}"


def _users(differences: Sequence[Difference]) -> str:
    return _between([each.n_users for each in differences], "user")


def _decimals(comparison: Compared) -> dict[str, int]:
    return decimals_of(each for each in comparison.means if each.model in comparison.models)


def pair(difference: Difference) -> str:
    """Name a pair as a difference."""
    return f"{one_line(difference.model)} - {one_line(difference.against)}"


def _means(comparison: Compared, means: Sequence[Mean]) -> Grid:
    by_group = means[0].group is not None
    places = _decimals(comparison)

    return table(
        [
            named("group", by_group),
            named("metric"),
            Column("model", lambda each: one_line(each.model), is_number=False),
            Column(
                "mean",
                lambda each: shown(each.mean, f".{places[each.metric]}f"),
                is_strong=lambda each: each.best,
            ),
            interval(comparison.confidence, places),
            count("users", "n_users"),
            count("effective", "n_effective", comparison.n_weightless is not None, 1),
            count("runs", "n_runs", bool(comparison.n_runs)),
            Column(
                "run std",
                lambda each: shown(each.run_std, f".{places[each.metric]}f"),
                bool(comparison.n_runs),
            ),
            left_out(means),
            Column("", lambda each: "best" if each.best else "", is_number=False),
            _worst(comparison, places, by_group),
        ],
        means,
    )


def _worst(
    comparison: Compared, places: Mapping[str, int], by_group: bool, sign: str = ""
) -> Column:
    """Make the column of the worst group, beside the records of all users."""

    def text(each: Mean | Difference) -> str:
        against = getattr(each, "against", None)
        worst = comparison.worst_group(each.metric, each.model, against)
        if worst is None:
            return UNDEFINED
        return f"{one_line(worst.group)} ({shown(worst.value, f'{sign}.{places[each.metric]}f')})"

    is_shown = bool(comparison.groups) and not by_group
    return Column("worst group", text, is_shown, is_number=False)


def _difference_grids(comparison: Compared) -> list[Grid]:
    return [_differences(comparison, each) for each in split(comparison.differences) if each]


def _differences(comparison: Compared, differences: Sequence[Difference]) -> Grid:
    by_group = differences[0].group is not None
    places = _decimals(comparison)
    # A single pair needs no column: it is the heading of the differences.
    is_alone = len({(each.model, each.against) for each in differences}) == 1
    several = len(comparison.tests) > 1

    return table(
        [
            named("group", by_group),
            named("metric"),
            Column("pair", pair, not is_alone, is_number=False),
            Column(
                pair(differences[0]) if is_alone else "difference",
                lambda each: shown(each.difference, f"+.{places[each.metric]}f"),
            ),
            interval(comparison.confidence, places, "+"),
            *(
                Column(f"p ({test})" if several else "p", partial(_p, test))
                for test in comparison.tests
            ),
            Column("", lambda each: "*" if each.significant else "", is_number=False),
            Column("d_z", lambda each: shown(each.effect_size, "+.2f")),
            Column("w/t/l", lambda each: f"{each.wins}/{each.ties}/{each.losses}"),
            left_out(differences),
            _worst(comparison, places, by_group, "+"),
        ],
        differences,
    )


def models_by_metrics(
    comparison: Compared,
    metrics: Sequence[str],
    form: Form,
    group: Any = None,
    digits: int | None = None,
) -> Grid:
    """The means of a group, with the letters of the models that they are better than."""
    better: dict[tuple[str, str], list[str]] = {}
    letters: dict[str, str] = {}
    if comparison.differences:
        letters = {model: _letter(i) for i, model in enumerate(comparison.models)}
    for each in comparison.differences:
        if each.group == group and each.significant:
            is_lower = each.metric in comparison.lower_is_better
            pair = (each.model, each.against)
            winner, loser = pair if (each.difference > 0) != is_lower else pair[::-1]
            better.setdefault((each.metric, winner), []).append(letters[loser])
    means = {(each.metric, each.model): each for each in comparison.means if each.group == group}

    def column(metric: str) -> Column:
        places = default[metric] if digits is None else digits
        of_models = {model: "".join(sorted(better.get((metric, model), []))) for model in models}
        width = max(map(len, of_models.values()))

        def is_best(model: str) -> bool:
            return (metric, model) in means and means[metric, model].best

        def text(model: str) -> str:
            found = means.get((metric, model))
            mean = UNDEFINED if found is None else shown(found.mean, f".{places}f")
            marks = of_models[model]
            if form == "latex":
                return _in_latex(mean, marks, is_best(model))
            if form == "markdown":
                return f"{mean} {marks}".rstrip()
            mean = f"[{mean}]" if is_best(model) else f" {mean} "
            return f"{mean} {marks:<{width}}" if width else mean

        heading = one_line(metric)
        return Column(
            escape_latex(heading) if form == "latex" else heading, text, is_strong=is_best
        )

    models, default = [*comparison.models, *comparison.levels], _decimals(comparison)

    def name(model: str) -> str:
        text = one_line(model)
        return _in_latex(text, letters.get(model, "")) if form == "latex" else text

    shown_metrics = [metric for metric in metrics if (metric, models[0]) in means]
    return table(
        [
            Column("", lambda model: letters.get(model, ""), form != "latex", is_number=False),
            Column("model", name, is_number=False),
            *map(column, shown_metrics),
        ],
        models,
    )


def _in_latex(text: str, marks: str, is_best: bool = False) -> str:
    text = escape_latex(text)
    text = rf"\textbf{{{text}}}" if is_best else text
    return f"{text}$^{{{marks}}}$" if marks else text


def _p(test: Test, difference: Difference) -> str:
    value = difference.corrected[test]
    if math.isnan(value):
        return UNDEFINED
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _between(numbers: Sequence[int], what: str) -> str:
    low, high = min(numbers), max(numbers)
    return counted(high, what) if low == high else f"{low} to {high} {plural(what)}"


def _letter(index: int) -> str:
    """Name a model: a to z, then aa, ab, ..."""
    longer, last = divmod(index, 26)
    return (_letter(longer - 1) if longer else "") + ascii_lowercase[last]
