"""A comparison as text: its tables, its legend and ``CompactTable``; plain, Markdown or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from recmetrics._printing import (
    UNDEFINED,
    Column,
    Grid,
    Printed,
    counted,
    grids,
    named,
    number,
    one_line,
    plural,
    split,
)
from recmetrics._report import legends, statistics

if TYPE_CHECKING:
    from recmetrics._report.records import Compared, Difference, Mean
    from recmetrics._report.statistics import PairedTest

_TESTS = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "sign-flip permutation test",
}
# With fewer runs, the legend says that a bootstrap estimates their variation roughly.
_ENOUGH_RUNS = 10
# From as many cutoffs of one metric on, the legend says that they make the correction stricter.
_MANY_CUTOFFS = 3
_UNCOVERED = "p-values use the {nouns}' means over runs, and do not cover the variation over runs"
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
_LETTERS = "letters a, b, ...: significantly better than model a, b, ..."
_SUPERSCRIPTS = (
    "superscript of a model: its letter; of a mean: the models that it is significantly better than"
)
Form: TypeAlias = Literal["text", "markdown", "latex"]


def to_latex(comparison: Compared) -> str:
    """Write models by metrics, for all users and each group, then the differences."""
    blocks = []
    for group in (None, *comparison.groups):
        grid = models_by_metrics(comparison, comparison.metrics, "latex", group)
        blocks.append(grids.in_latex(grid, str))  # str: its cells are LaTeX already
    blocks += [grids.in_latex(grid) for grid in _differences(comparison)]
    notes = legend(comparison)
    notes[:0] = _best("bold", comparison, comparison.metrics)
    if any(difference.significant for difference in comparison.differences):
        notes.append(_marks_in_words(_SUPERSCRIPTS, comparison))
    return grids.as_latex(blocks, notes)


def tables(comparison: Compared) -> list[Grid]:
    """The means and the differences of all users, then those of the groups."""
    # Metrics of all lists have means and no differences.
    pairs = zip_longest(_means(comparison), _differences(comparison))
    return [grid for pair in pairs for grid in pair if grid is not None]


def legend(comparison: Compared) -> list[str]:
    """The notes below the tables."""
    lines = [*_intervals(comparison, comparison.metrics)]
    if comparison.n_runs:
        uncovered = _UNCOVERED.format(nouns=comparison.nouns)
        lines.append(f"run std: standard deviation of the means of runs; {uncovered}")
    lines += _models(comparison, comparison.metrics, has_counts=True)
    if comparison.differences:
        metrics = comparison.metrics
        lines += [
            *_significance(
                comparison, "* significant", metrics, with_groups=True, has_more_tests=True
            ),
            *_corrected_beside_intervals(comparison),
            "d_z: mean / standard deviation of the differences",
            f"w/t/l: number of {comparison.nouns} where the model left of the minus is better, "
            "equal, worse (wins, ties, losses)",
            *_few_users(comparison, with_groups=True),
        ]
    lines += _left_out(comparison, f"left out: {comparison.nouns} without a value")
    return lines


def plot_legend(comparison: Compared) -> list[str]:
    """The notes below the plot of means and differences."""
    metrics = comparison.metrics
    lines = [*_intervals(comparison, metrics), *_models(comparison, metrics)]
    if comparison.differences:
        lines += _significance(comparison, "* significant", metrics, with_groups=True)
        lines += _corrected_beside_intervals(comparison)
        lines += _few_users(comparison, with_groups=True)
        if comparison.n_runs:
            lines.append(_UNCOVERED.format(nouns=comparison.nouns))
    return lines


def legend_of_means(comparison: Compared, metrics: Sequence[str]) -> list[str]:
    """The notes on the intervals of the means of these metrics, and on the models."""
    intervals = _intervals(comparison, metrics, with_differences=False)
    return [*intervals, *_models(comparison, metrics)]


def _best(sign: str, comparison: Compared, metrics: Collection[str]) -> Iterator[str]:
    """Say which ``sign`` the best means have; nothing if no mean is the best."""
    for mean in comparison.means:
        if mean.best and mean.metric in metrics:
            yield f"{sign}: the best mean of a metric"
            return


def compact_legend(table: CompactTable, best: str, marks: str) -> list[str]:
    """The notes below the tables of models by metrics.

    ``best`` is the sign of the best mean, and ``marks`` says what letters beside means are.
    """
    comparison = table.comparison
    metrics = table.metrics
    lines = [*_best(best, comparison, metrics), *_models(comparison, metrics)]
    if comparison.differences:
        if any(_losers(comparison, metrics, group) for group in table.groups):
            lines.append(_marks_in_words(marks, comparison))
        lines += _significance(comparison, "significant", metrics, with_groups=table.has_groups)
        lines += _few_users(comparison, with_groups=table.has_groups)
    if comparison.groups and not table.has_groups:
        lines.append("groups are not shown; compact(groups=True) shows them")
    if comparison.n_runs:
        names = ", ".join(
            f"{one_line(name)} ({counted(n, 'run')})" for name, n in comparison.n_runs.items()
        )
        lines.append(f"means over runs: {names}; {_UNCOVERED.format(nouns=comparison.nouns)}")
    lines += _left_out(comparison, f"{comparison.nouns} without a value are left out")
    return lines


def _marks_in_words(marks: str, comparison: Compared) -> str:
    """Say what letters are, ``marks``, and which models have none."""
    if comparison.baseline is None:
        return marks
    return f"{marks}; models are compared only with the baseline, {one_line(comparison.baseline)}"


def _intervals(
    comparison: Compared, metrics: Collection[str], *, with_differences: bool = True
) -> Iterator[str]:
    """Say how the intervals of ``metrics`` are computed, and what they do not cover."""
    lows = [mean.low for mean in comparison.means if mean.metric in metrics]
    has_intervals = not all(map(math.isnan, lows))
    if has_intervals:
        yield _method(comparison)
    yield from _ends(comparison, metrics, with_differences=with_differences)
    if has_intervals:
        yield from legends.observed_ranges(comparison.observed & set(metrics), comparison.noun)
        yield from _variation_not_covered(comparison)


def _method(comparison: Compared) -> str:
    """Say how the intervals are computed, also over runs."""
    counts = comparison.n_runs  # of the models with several runs
    n_resamples = comparison.n_resamples
    units = comparison.nouns
    if counts and n_resamples is not None:
        units += " and runs"
    line = legends.intervals_by(comparison.confidence, n_resamples, units)
    if counts and n_resamples is None:
        line += "; the variance over runs is added"
    elif len(counts) > 1 and comparison.paired_runs:
        line += "; the same runs of all models are drawn"
    elif len(counts) > 1:
        line += "; the runs of each model are drawn independently"
    return line


def _variation_not_covered(comparison: Compared) -> Iterator[str]:
    """Say which variation over runs the intervals leave out, or estimate roughly."""
    counts = comparison.n_runs
    if not counts:
        return
    line = "intervals do not cover what all runs share, such as the split of the data"
    if len(counts) < len(comparison.models):
        line += "; for a model with one run, nor the variation between runs"
    few_runs = [count for count in counts.values() if count < _ENOUGH_RUNS]
    if few_runs and comparison.n_resamples is not None:
        line += (
            f"; with {_between(few_runs, 'run')}, the estimate of the variation over runs is "
            "rough and too small"
        )
    yield line


def _ends(
    comparison: Compared, metrics: Collection[str], *, with_differences: bool
) -> Iterator[str]:
    """Say which ends of the intervals of these metrics count one more user, and why."""
    means = [mean for mean in comparison.means if mean.metric in metrics]
    few_users = legends.too_few_users(means, comparison.nouns)
    yield from legends.ends_of_means(means, few_users, comparison.noun)
    if with_differences:
        differences = [record for record in comparison.differences if record.metric in metrics]
        yield from legends.ends_of_differences(differences, few_users, comparison.noun)


def _models(
    comparison: Compared, metrics: Sequence[str], *, has_counts: bool = False
) -> Iterator[str]:
    """Say who is a user, how users are weighted, and what holds for some models and metrics.

    ``has_counts`` is True for tables that show the numbers of users.
    """
    keys = comparison.samples.keys
    if len(keys) > 1:
        columns = " and ".join(map(one_line, keys))
        yield (
            f"each combination of {columns} is a {comparison.noun}; give several runs of a model "
            "as a list"
        )
    if comparison.samples.are_rows:
        yield "users: the rows of all updates of the stream, taken to be independent"
    yield from legends.weighted_by(comparison.n_weightless, comparison.noun, has_counts=has_counts)
    yield from grids.weighted_as_system(comparison.weighed, comparison.nouns)
    if comparison.samples.unweighed:
        yield (
            f"means of {', '.join(comparison.samples.unweighed)} weigh all {comparison.nouns} "
            "equally: not all results have the weights of the system of a convention; to have "
            "them, give the Evaluator or the Evaluation of each model, or files of one convention, "
            "written by 'recmetrics evaluate --per-user'"
        )
    lower_metrics = [metric for metric in metrics if metric in comparison.lower_is_better]
    for label, names in (("not compared", comparison.levels), ("lower is better", lower_metrics)):
        if names:
            yield f"{label}: {', '.join(map(one_line, names))}"
    undirected = [metric for metric in metrics if metric in comparison.undirected]
    if undirected:
        yield (
            f"{', '.join(map(one_line, undirected))}: the direction is not known, and higher is "
            "taken as better; if lower is, type "
            f"lower_is_better={comparison.lower_with(undirected)} (in a shell, --lower-is-better)"
        )
    of_all_lists = [metric for metric in metrics if metric in comparison.samples.system]
    if of_all_lists:
        yield f"not tested, one value for all lists: {', '.join(map(one_line, of_all_lists))}"
    n_untested = sum(metric in comparison.untested for metric in metrics)
    if n_untested:
        cutoffs = counted(n_untested, "cutoff")
        yield f"not tested: {cutoffs} of a range; name a cutoff alone, too, to test it"


def _significance(
    comparison: Compared,
    mark: str,
    shown: Collection[str],
    *,
    with_groups: bool,
    has_more_tests: bool = False,
) -> Iterator[str]:
    """Say when a difference is significant, as ``mark`` shows, or that none is.

    ``shown`` are the metrics of the table; the p-values are corrected for all. ``has_more_tests``
    is True for a table with the p-values of all tests.
    """
    tested, tested_in_groups = split(_tested(comparison))
    if not tested:
        yield "significant: none; a range of cutoffs is not tested"
        return
    metrics = list(dict.fromkeys(difference.metric for difference in tested))
    n_in_groups = len(tested_in_groups) if with_groups else 0
    correction = _correction(comparison, len(metrics), len(tested) // len(metrics), n_in_groups)
    shown_tests = comparison.tests if has_more_tests else comparison.tests[:1]
    test, *more_tests = [_TESTS[test] for test in shown_tests]
    tests = test
    if more_tests:
        tests += f" (also shown: {', '.join(more_tests)})"
    differences = comparison.differences if with_groups else tested
    beginning = "no difference is significant, which needs"
    if any(difference.significant for difference in differences):
        beginning = f"{mark}:"
    yield f"{beginning} p < {1 - comparison.confidence:.2g} by {tests}, {correction}"

    if comparison.tests[0] != "t":
        yield f"the intervals are not those of the {test}, and may disagree with it"
        yield from _against_means(comparison, differences)
    if "t" in shown_tests:
        yield from _raised(comparison, differences, shown)
    if comparison.correction is not None:
        with_values = {
            difference.metric for difference in tested if not math.isnan(difference.difference)
        }
        yield from _many_cutoffs(comparison, with_values)


def _tested(comparison: Compared) -> list[Difference]:
    """The differences that are tested: not of metrics that a range of cutoffs alone names."""
    return [
        difference
        for difference in comparison.differences
        if difference.metric not in comparison.untested
    ]


def _against_means(comparison: Compared, differences: Iterable[Difference]) -> Iterator[str]:
    """Name the significant differences that the test does not find in the direction of the mean."""
    names = []
    for difference in differences:
        if difference.significant and _disagrees(comparison, difference):
            of_group = ""
            if difference.group is not None:
                of_group = f" in {one_line(difference.group)}"
            names.append(f"{one_line(difference.metric)} of {pair(difference)}{of_group}")
    if names:
        yield (
            f"{', '.join(names)}: significant, but not in the direction of the mean (the test "
            "ranks the differences, and a few large ones decide their mean)"
        )


def _raised(
    comparison: Compared, differences: Sequence[Difference], shown: Collection[str]
) -> Iterator[str]:
    """Say which p-values of the metrics shown are raised, and why; nothing if none is."""
    raised = [
        difference
        for metric in shown
        for difference in differences
        if difference.metric == metric and difference.p_raised
    ]
    if not raised:
        return
    names = legends.names_of_rows(raised, differences)
    interval = "interval"
    if comparison.n_runs:
        interval = f"interval over {comparison.nouns} alone (not shown)"
    elif comparison.n_resamples is not None:
        interval = "t interval (not shown)"
    # A test that does not decide names its column, which only a table of all tests has.
    p = "p" if comparison.tests[0] == "t" else "p (t)"
    line = (
        f"{names}: {p} is larger than that of the t test, as few {comparison.nouns} gain, or few "
        "lose, or differences are skewed; it is 1 - c, where c is the confidence at which the "
        f"{interval} just reaches 0"
    )
    if comparison.correction is not None:
        line += f"; {_CORRECTIONS[comparison.correction]} corrects all p after that"
    yield line


def _corrected_beside_intervals(comparison: Compared) -> Iterator[str]:
    """Say why a difference is not significant though its interval leaves out 0; if any is so."""
    if comparison.correction is None:
        return
    for difference in _tested(comparison):
        leaves_out_0 = difference.low > 0 or difference.high < 0
        if leaves_out_0 and not difference.significant:
            yield (
                "an interval can leave out 0 although the difference is not significant: p is "
                "corrected, intervals are not"
            )
            return


def _correction(comparison: Compared, n_metrics: int, n_pairs: int, n_in_groups: int) -> str:
    """Say how p-values are corrected; ``n_in_groups`` are the differences of groups, 0 for none."""
    if comparison.correction is None:
        return "not corrected for their number"
    family = f"{counted(n_metrics, 'metric')} x {counted(n_pairs, 'pair')}"
    if n_in_groups:
        differences = counted(n_in_groups, "difference")
        family += f"; p-values of groups are corrected separately, over {differences}"
    return f"corrected by {_CORRECTIONS[comparison.correction]} over {family}"


def _many_cutoffs(comparison: Compared, with_values: Collection[str]) -> Iterator[str]:
    """Say that three cutoffs or more of one metric make the correction strict.

    ``with_values`` are the metrics that are tested and have values.
    """
    shown_metrics = [metric for metric in comparison.metrics if metric not in comparison.untested]
    cutoffs_of: dict[str, list[str]] = {}
    for metric in shown_metrics:
        name, at_sign, _ = metric.rpartition("@")
        # ndcg@10[least] is no other cutoff, and a metric of all lists has no p-value.
        is_cutoff = at_sign and not metric.endswith("]")
        if is_cutoff and metric not in comparison.samples.system:
            cutoffs_of.setdefault(name, []).append(metric)
    counts = []
    fewer_metrics = shown_metrics  # with one cutoff, the last with values, of each such metric
    for name, cutoffs in cutoffs_of.items():
        corrected = [metric for metric in cutoffs if metric in with_values]
        if len(corrected) >= _MANY_CUTOFFS:
            counts.append(f"{len(corrected)} cutoffs of {one_line(name)}")
            left_out = {*cutoffs} - {corrected[-1]}
            fewer_metrics = [metric for metric in fewer_metrics if metric not in left_out]
    if counts:
        yield (
            f"{' and '.join(counts)} make the correction stricter; if one is enough, name the "
            f"metrics to compare: {', '.join(map(repr, fewer_metrics))}"
        )


def _left_out(comparison: Compared, sentence: str) -> Iterator[str]:
    """Say that users are left out, in this sentence, and that each model may lack other ones.

    A difference is then not that of the means.
    """
    yield from grids.users_left_out([*comparison.means, *comparison.differences], sentence)
    n_users = {(mean.group, mean.metric, mean.model): mean.n_users for mean in comparison.means}
    for difference in comparison.differences:
        for model in (difference.model, difference.against):
            # Two models may lack as many users, but others.
            if difference.n_users != n_users[difference.group, difference.metric, model]:
                yield (
                    f"models have values for different {comparison.nouns}: a difference is over "
                    f"the {comparison.nouns} that both have, so it is not the difference of the "
                    "means"
                )
                return


def _few_users(comparison: Compared, *, with_groups: bool) -> Iterator[str]:
    """Say how many differences, and in how many groups, have too few users for the test."""
    tested = _tested(comparison)
    n_tested = len(split(tested)[0])
    level = grids.percent(comparison.confidence)
    for needed, differences in sorted(_of_too_few_users(comparison, tested).items()):
        reason = f"too few {comparison.nouns} for a test at {level}, which needs {needed}"
        overall, of_groups = split(differences)
        if overall:
            place = f" in {len(overall)} of {n_tested} differences"
            if len(overall) == n_tested:
                place = ""
            counts = [difference.n_users for difference in overall]
            yield f"{reason}: {_between(counts, comparison.noun)}{place}"
        if of_groups and with_groups:
            n_groups = len({difference.group for difference in of_groups})
            place = f"{n_groups} of {counted(len(comparison.groups), 'group')}"
            counts = [difference.n_users for difference in of_groups]
            yield f"{reason}: {_between(counts, comparison.noun)} in {place}"


def _of_too_few_users(
    comparison: Compared, differences: Iterable[Difference]
) -> dict[int, list[Difference]]:
    """The differences of too few users to be significant, by the number of users that they need."""
    test = comparison.tests[0]
    needed_with_range = statistics.fewest_users(test, True, comparison.confidence)
    needed_without = statistics.fewest_users(test, False, comparison.confidence)
    most_needed = max(needed_with_range, needed_without)
    candidates = [difference for difference in differences if difference.n_users < most_needed]
    needed_of_metric = {}  # once for each metric, as its limits are read from all values
    for metric in {difference.metric for difference in candidates}:
        needed_of_metric[metric] = needed_without
        if math.isfinite(comparison.samples.limits(metric).of_difference().floor):
            needed_of_metric[metric] = needed_with_range

    too_few: dict[int, list[Difference]] = {}
    for difference in candidates:
        needed = needed_of_metric[difference.metric]
        if difference.n_users < needed:
            too_few.setdefault(needed, []).append(difference)
    return too_few


def _decimals(comparison: Compared) -> dict[str, int]:
    """The number of decimals of each metric, by the means of the models without levels."""
    means = [mean for mean in comparison.means if mean.model in comparison.models]
    return grids.decimals_of((mean.metric, mean.mean) for mean in means)


def pair(difference: Difference) -> str:
    """Write the pair of models of a difference."""
    return f"{one_line(difference.model)} - {one_line(difference.against)}"


def _means(comparison: Compared) -> Iterator[Grid]:
    """Make the table of means of all users, then that of all groups, if there are any."""
    places = _decimals(comparison)
    has_runs = bool(comparison.n_runs)
    for means in filter(None, split(comparison.means)):
        columns = [
            named("group", means[0].group is not None),
            named("metric"),
            named("model", is_repeated=True),
            number("mean", attrgetter("mean"), places, is_strong=attrgetter("best")),
            grids.interval(comparison.confidence, places),
            grids.count(comparison.nouns, "n_users"),
            grids.count("effective", "n_effective", comparison.n_weightless is not None, 1),
            grids.count("runs", "n_runs", has_runs),
            number("run std", attrgetter("run_std"), places, is_shown=has_runs),
            grids.left_out(means),
            Column("", lambda mean: "best" if mean.best else "", is_number=False),
            _worst(comparison, places, means[0].group),
        ]
        yield grids.table(columns, means)


def _worst(comparison: Compared, places: Mapping[str, int], group: Any, sign: str = "") -> Column:
    """Make the column of the worst group of each mean or difference, for the table of all users.

    ``group`` is None in that table; ``places`` are the decimals of each metric, and ``sign`` is "+"
    to write a sign always.
    """

    def text(record: Mean | Difference) -> str:
        against = getattr(record, "against", None)
        worst = comparison.worst_group(record.metric, record.model, against)
        if worst is None:
            return UNDEFINED
        return f"{one_line(worst.group)} ({worst.value:{sign}.{places[record.metric]}f})"

    is_shown = bool(comparison.groups) and group is None
    return Column("worst group", text, is_shown, is_number=False)


def _differences(comparison: Compared) -> Iterator[Grid]:
    """Make the table of differences of all users, then that of all groups, if there are any."""
    # Many users show differences that the decimals of a mean do not.
    places = grids.decimals_of_differences(comparison.differences, _decimals(comparison))
    for differences in filter(None, split(comparison.differences)):
        # A single pair needs no column: it is the heading of the differences.
        pairs = {(difference.model, difference.against) for difference in differences}
        is_one_pair = len(pairs) == 1
        heading = pair(differences[0]) if is_one_pair else "difference"
        p_heading = "p ({})" if len(comparison.tests) > 1 else "p"
        level = 1 - comparison.confidence
        p, *more_p = [
            Column(p_heading.format(test), partial(_p, test, level)) for test in comparison.tests
        ]
        columns = [
            named("group", differences[0].group is not None),
            named("metric"),
            Column("pair", pair, not is_one_pair, is_number=False),
            number(heading, attrgetter("difference"), places, "+"),
            grids.interval(comparison.confidence, places, "+"),
            p,
            # The star stands behind the p-value of the first test, which decides.
            Column("", lambda difference: "*" if difference.significant else "", is_number=False),
            *more_p,
            Column(
                "d_z",
                lambda difference: grids.shown(difference.effect_size, "+.2f"),
                is_optional=True,
            ),
            Column("w/t/l", "{0.wins}/{0.ties}/{0.losses}".format, is_optional=True),
            grids.left_out(differences),
            _worst(comparison, places, differences[0].group, "+"),
        ]
        yield grids.table(columns, differences)


def models_by_metrics(
    comparison: Compared, metrics: Sequence[str], form: Form, group: Any, digits: int | None = None
) -> Grid:
    """The means of a group, each with the letters of the models that it is better than.

    ``group`` is None for all users. ``digits`` are the decimals, None: as many as needed.
    """
    models = [*comparison.models, *comparison.levels]
    escape = grids.escape_latex if form == "latex" else str
    places = _decimals(comparison)
    losers = _losers(comparison, metrics, group)
    letters = {}
    if losers:
        letters = {model: _letter(i) for i, model in enumerate(comparison.models)}
    # With more models than letters, aab would be a and ab, or aa and b.
    separator = "," if len(letters) > len(ascii_lowercase) else ""
    means = {}
    best_means = set()
    for mean in comparison.means:
        if mean.group == group:
            means[mean.metric, mean.model] = mean.mean
            if mean.best:
                best_means.add((mean.metric, mean.model))

    def column(metric: str) -> Column:
        """Make the column of a metric, whose cells end with the letters of beaten models."""
        marks = {}
        for model in models:
            beaten_models = losers.get((metric, model), [])
            in_order = sorted(beaten_models, key=comparison.models.index)
            marks[model] = separator.join(letters[beaten_model] for beaten_model in in_order)
        width = max(map(len, marks.values()))
        decimals = f".{places[metric] if digits is None else digits}f"

        def text(model: str) -> str:
            value = grids.shown(means.get((metric, model)), decimals)  # a level may have none
            is_best = (metric, model) in best_means
            if form == "latex":
                return _in_latex(value, marks[model], is_best)
            if form == "markdown":
                return f"{value} {marks[model]}".rstrip()
            value = f"[{value}]" if is_best else f" {value} "
            return f"{value} {marks[model]:<{width}}" if width else value

        return Column(
            escape(one_line(metric)), text, is_strong=lambda model: (metric, model) in best_means
        )

    name_heading = "model"
    if group is not None:
        name_heading = f"model in {escape(one_line(group))}"

    def name(model: str) -> str:
        if form == "latex":
            return _in_latex(one_line(model), letters.get(model, ""))
        return one_line(model)

    columns = [
        Column(
            "",
            lambda model: letters.get(model, ""),
            bool(letters) and form != "latex",
            is_number=False,
        ),
        Column(name_heading, name, is_number=False),
        *(column(metric) for metric in metrics if (metric, models[0]) in means),
    ]
    return grids.table(columns, models)


def _losers(
    comparison: Compared, metrics: Sequence[str], group: Any
) -> dict[tuple[str, str], list[str]]:
    """The models that a model is significantly better than, by metric and model, in a group.

    A difference whose test and means disagree is left out.
    """
    losers: dict[tuple[str, str], list[str]] = {}
    for difference in comparison.differences:
        if difference.group != group or difference.metric not in metrics:
            continue
        if difference.significant and not _disagrees(comparison, difference):
            winner = difference.model
            loser = difference.against
            is_higher = difference.difference > 0
            if is_higher == (difference.metric in comparison.lower_is_better):
                winner, loser = loser, winner
            losers.setdefault((difference.metric, winner), []).append(loser)
    return losers


def _disagrees(comparison: Compared, difference: Difference) -> bool:
    """Say whether the test does not find the model better whose mean is better.

    The Wilcoxon test ranks the differences, and a few large ones may decide their mean.
    """
    if comparison.tests[0] != "wilcoxon":
        return False
    differences = comparison.samples.of(
        difference.group, difference.metric, difference.model, difference.against
    )
    values = differences.values
    ranks = statistics.signed_ranks(values[values != 0], differences.rounding)
    return bool(difference.difference * ranks.sum() <= 0)


def _in_latex(text: str, marks: str, is_best: bool = False) -> str:
    """Write a cell in LaTeX, with its marks as a superscript."""
    text = grids.escape_latex(text)
    if is_best:
        text = rf"\textbf{{{text}}}"
    if marks:
        text = f"{text}$^{{{marks}}}$"
    return text


def _p(test: PairedTest, level: float, difference: Difference) -> str:
    """Write the corrected p-value of a test, with the decimals that tell it from the level."""
    p = difference.p[test]
    if p < 0.0001:
        return "<0.0001"
    return grids.shown(p, f".{grids.decimals_to_tell(p, level)}f")


def _between(numbers: Sequence[int], noun: str) -> str:
    """Write the least and the largest of several numbers with a noun: "3 to 5 runs"."""
    least = min(numbers)
    largest = max(numbers)
    if least == largest:
        return counted(largest, noun)
    return f"{least} to {largest} {plural(noun)}"


def _letter(index: int) -> str:
    """The letter of a model, a to z, then aa, ab, as the columns of spreadsheets."""
    n_before, last = divmod(index, 26)
    return (_letter(n_before - 1) if n_before else "") + ascii_lowercase[last]


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class CompactTable(Printed):
    """The means of all users, or also of groups, models by metrics; made by ``Comparison.compact``.

    Each model has a letter. A mean is marked with the letters of the models that it is
    significantly better than. The table prints as text, and is displayed in notebooks.

    Attributes
    ----------
    comparison, metrics, digits
        The comparison, and the metrics and the number of decimals as in its ``compact``.
    has_groups
        True if groups have tables, too.
    """

    comparison: Compared
    metrics: tuple[str, ...]
    has_groups: bool
    digits: int | None

    @property
    def groups(self) -> tuple[Any, ...]:
        """The groups of the tables; None is that of all users.

        Metrics of all lists have no values of groups.
        """
        if self.has_groups and {*self.metrics} - {*self.comparison.samples.system}:
            return (None, *self.comparison.groups)
        return (None,)

    def to_latex(self, caption: str | None = None, label: str = "tab:comparison") -> str:
        r"""Write a LaTeX ``table``, with the best means in bold and the letters as superscripts.

        It needs the package booktabs, as ``Comparison.to_latex`` does.

        Parameters
        ----------
        caption, label
            Caption and label, in LaTeX, used as given. The default caption says that these are
            means.
        """
        if caption is None:
            caption = f"Means over {self.comparison.nouns}."
            if self.comparison.n_runs:
                caption = f"Means over {self.comparison.nouns} and runs."
        notes = compact_legend(self, "bold", _SUPERSCRIPTS)
        tables = [grids.in_latex(grid, str) for grid in self._grids("latex")]
        lines = [
            "% \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            "\n\\par\\medskip\n".join(tables),
            r"\par\smallskip",
            r"\footnotesize",
            grids.latex_lines(notes),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _grids(self, form: Form) -> list[Grid]:
        """Make the tables, with their cells written for text, Markdown or LaTeX."""
        return [
            models_by_metrics(self.comparison, self.metrics, form, group, self.digits)
            for group in self.groups
        ]

    def _page(self) -> tuple[list[Grid], list[str]]:
        return self._grids("markdown"), compact_legend(self, "bold", _LETTERS)

    def _plain_page(self) -> tuple[list[Grid], list[str]]:
        return self._grids("text"), compact_legend(self, "[ ]", _LETTERS)
