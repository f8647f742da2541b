"""compare: results -> samples of users -> means and differences -> corrected p-values."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputTypeError, MetricSpecError
from recmetrics._spec import spec_of
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._samples import (
    Results,
    check_baseline,
    check_runs,
    check_share,
    column_of,
    read_columns,
    read_groups,
    read_results,
    read_seed,
    read_weights,
)
from recmetrics.comparison._statistics import (
    N_RESAMPLES,
    NOTHING,
    Correction,
    Floats,
    Runs,
    Sums,
    Test,
    bootstrap_intervals,
    correct,
    defined,
    effect_size,
    effective_users,
    mean_of,
    p_value,
    spread_of,
    sums_of,
    sums_of_runs,
)


def compare(
    results: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    tests: Test | Sequence[Test] = "t",
    correction: Correction | None = "holm",
    by: Any = None,
    weights: Any = None,
    lower_is_better: Collection[str] = (),
    levels: Mapping[str, Any] | None = None,
    paired_runs: bool = False,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Comparison:
    """Compare models by the metrics of each user: means, paired differences and tests.

    >>> import recmetrics
    >>> old = {"ndcg@10": [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]}
    >>> new = {"ndcg@10": [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]}
    >>> found = recmetrics.compare({"old": old, "new": new}, rng=0)
    >>> [difference] = found.differences
    >>> round(difference.difference, 3), difference.wins, difference.ties, difference.losses
    (0.15, 5, 1, 0)
    >>> round(difference.p_values["t"], 4), difference.significant
    (0.0172, True)

    Parameters
    ----------
    results
        A dict of two or more models by name. The result of a model is what ``Metrics.compute``
        returns, {metric: (n_users,) values}; an object whose ``.compute()`` returns that; or a data
        frame (pandas, polars, pyarrow) with one row per user. For a model with several runs, such
        as seeds or folds, pass a list of results. Or one data frame with the rows of all models,
        such as ``tables.evaluate_table`` returns with ``by="model"``. All results must contain the
        same metrics for the same users. Arrays must have the users in the same order. Rows of
        frames are matched by the columns that identify the user: all but those of metrics, counts,
        groups and weights, and every named level of a pandas index. Metrics of all lists, of shape
        (), are shown but not tested. Means alone are an error: intervals and tests need the value
        of every user.
    metrics
        The metrics to compare: names of columns, or keys of the results. None takes all, in a frame
        the columns of numbers whose names are metric strings.
    model
        The column or index level of a frame that names the model. None is "model", if there is one.
    baseline
        The model to compare all others with. None compares all pairs: each model with the models
        before it.
    confidence
        The confidence of the intervals. A difference is significant if p < 1 - confidence.
    tests
        One or several paired, two-sided tests of the differences: "t" (Student's), "wilcoxon"
        (signed ranks; users without a difference are left out) and "permutation" (9,999 random sign
        flips; all flips if at most 13 users differ). The first test decides on significance. The
        default "t" keeps its level on such data and has the highest power (Urbano et al., SIGIR
        2019). For a binary metric such as hit, "permutation" is the sign test. It has few possible
        p-values and is therefore conservative: if about 50 users differ, it rejects a true null
        hypothesis in 3.7 % of cases, not 5 %.
    correction
        The correction of the p-values of each test for multiple comparisons. "holm" bounds the
        probability of any false discovery, "bh" (Benjamini and Hochberg) the share of false
        discoveries; None corrects nothing. The p-values of all pairs and metrics are corrected
        together. Those of the groups are corrected together too, but separately from the first
        ones.
    by
        (n_users,) the group of each user, such as a segment or a quartile of activity, or the name
        of a column. Adds the means and differences of each group, and the worst group.
    weights
        (n_users,) the weight of each user, finite and >= 0, such as the number of visits, or the
        name of a column. Means, differences, intervals, effect sizes and tests are then weighted.
        The t test uses the linearised variance of the weighted mean. The permutation test flips
        weighted differences. "wilcoxon" has no weighted form and is an error. Wins, ties and losses
        still count users. A user of weight 0 is left out.
    lower_is_better
        Metrics for which lower is better, in addition to those that the library knows, such as
        gini.
    levels
        Reference levels by name, to show below the means of the models, such as ``{"chance":
        Metrics.chance(truth, metrics), "ceiling": Metrics.ceiling(truth, metrics)}``. Levels are
        not compared, not tested and never marked as best. They may lack some of the metrics.
    paired_runs
        True if run i of one model corresponds to run i of the others, as for folds or splits of the
        data. A resample then draws the same runs of all models with several runs. By default, the
        runs of each model are drawn independently, which is right for seeds.
    n_resamples
        The number of bootstrap resamples. With more than 4,096 users, random blocks of users are
        resampled.
    rng
        The seed or generator of all random draws. With a seed, the other metrics, models and groups
        do not change the interval or the uncorrected p-value of a metric.

    Returns
    -------
    Comparison
        The comparison prints as a table; ``means`` and ``differences`` contain the numbers.

    The intervals of means and of paired differences are percentile bootstrap intervals over users.
    A user whose value is undefined (NaN) in either model of a pair is left out of the pair, and
    counted. The effect size is Cohen's d_z: the mean of the differences divided by their standard
    deviation. The statistics are those of ``scipy.stats``.

    The t test is not defined if all n differences are equal, that is, if their standard deviation
    is at most 1e-12 of their mean. The p-value is then that of the exact sign-flip test, 2^(1-n),
    the smallest that a test of signs can have with n users. With too few users, such as fewer than
    6 at 95 %, this p-value cannot be significant; a note below the tables then says so. The t test
    can still be significant with so few users if their differences are unequal.

    "wilcoxon" uses the exact distribution for up to 50 users who differ, or up to 13 if ranks are
    tied, and the normal approximation otherwise. Sorted absolute differences are tied if neighbours
    differ by at most 1e-12 of the largest.

    If a model has several runs, the value of a user is the mean over the runs in which it is
    defined. The intervals then cover the variation over users and over runs: each resample draws
    users and, for each model with several runs, as many runs as it has, both with replacement (a
    nested bootstrap). The tests use the users' means over runs, so p-values cover the variation
    over users but not over runs. Neither intervals nor p-values cover what all runs share: the data
    and, if runs are seeds, the split.

    With few runs, the intervals are rough and too narrow. If runs differ much more than users do, a
    95 % interval covers the mean of a metric in 52 % of cases with 2 runs, 74 % with 3, 84 % with 5
    and 90 % with 10.

    Folds of users are runs in which different users have values: frames that share no user, or
    arrays with NaN for the users of other folds. They need ``paired_runs=True``.

    Raises
    ------
    InputError, InputTypeError, ShapeError
        Results with different metrics or users, a user twice, or infinite values; a column of
        floats that is neither a metric nor named.
    ArgumentError
        As in ``Metrics.compute``.
    """
    asked = read_columns(metrics, model, by, weights)
    read = read_results(results, {} if levels is None else levels, asked)
    by, weights = column_of(read.frame, "by", by), column_of(read.frame, "weights", weights)
    check_baseline(baseline, read.models)
    check_runs(read, paired_runs)
    options = _Options(
        pairs=_pairs(read.models, baseline),
        confidence=check_share("confidence", confidence, 0.5),
        tests=_check_tests(tests),
        lower=_lower(read.metrics, lower_is_better),
        n_resamples=_check_resamples(n_resamples),
        seed=read_seed(rng),
        weights=None if weights is None else read_weights(weights, read.n_users),
        paired_runs=paired_runs,
    )
    if options.weights is not None and "wilcoxon" in options.tests:
        msg = (
            "tests has 'wilcoxon', which has no weighted form; with weights= give tests='t' or "
            "'permutation'"
        )
        raise ArgumentError(msg)
    if correction is not None and correction not in get_args(Correction):
        msg = f"correction must be 'holm', 'bh' or None, got {correction!r}"
        raise ArgumentError(msg)
    groups = {} if by is None else _sorted(read_groups(by, read.n_users))
    everyone = np.arange(read.n_users)
    means, differences = _describe(read, None, everyone, options)
    differences = _corrected(differences, correction, confidence)
    group_means: list[Mean] = []
    group_differences: list[Difference] = []
    for group, users in groups.items():
        found = _describe(read, group, users, options)
        group_means += found[0]
        group_differences += found[1]
    group_differences = _corrected(group_differences, correction, confidence)
    return Comparison(
        models=read.models,
        levels=read.levels,
        metrics=read.metrics,
        groups=tuple(groups),
        means=(*means, *group_means),
        differences=(*differences, *group_differences),
        baseline=baseline,
        confidence=confidence,
        tests=options.tests,
        correction=correction,
        lower_is_better=options.lower,
        n_resamples=n_resamples,
        n_weightless=None if weights is None else int(np.count_nonzero(options.weights == 0)),
        paired_runs=paired_runs,
    )


@dataclass(frozen=True, slots=True)
class _Options:
    pairs: list[tuple[str, str]]
    confidence: float
    tests: tuple[Test, ...]
    lower: frozenset[str]
    n_resamples: int
    seed: int
    weights: Floats | None
    paired_runs: bool


_Record = TypeVar("_Record", Mean, Difference)


def _describe(
    results: Results, group: Any, users: npt.NDArray[np.intp], options: _Options
) -> tuple[list[Mean], list[Difference]]:
    """Compute the means and differences of ``users``, in the order of metrics."""
    if options.weights is not None:
        users = users[options.weights[users] > 0]
    means: list[Mean] = []
    differences: list[Difference] = []
    of_means: list[Sums | Runs] = []
    of_differences: list[Sums | Runs] = []
    for metric in results.metrics:
        if results.is_system(metric):
            if group is None:  # one value for all users: none for a group
                own = [_system(results, metric, name, options) for name in results.having(metric)]
                means += _marked(own, results.models, options)
                of_means += [NOTHING] * len(own)
            continue
        own = []
        of_models: dict[str, Sums | Runs] = {}
        for model in results.having(metric):
            sample = _sample(results, metric, (model,), users, options)
            own.append(_mean(results, metric, group, model, sample, users, options))
            of_models[model] = _to_resample(results, metric, (model,), sample, users, options)
        means += _marked(own, results.models, options)
        of_means += of_models.values()
        n_users = {each.model: each.n_users for each in own}
        for pair in options.pairs:
            sample = _sample(results, metric, pair, users, options)
            differences.append(_difference(metric, group, pair, sample, users.size, options))
            minuend, subtrahend = (of_models[each] for each in pair)
            same = {n_users[each] for each in pair} == {sample[0].size}  # users as of both means
            if same and isinstance(minuend, Runs) and isinstance(subtrahend, Runs):
                both = Runs(minuend.model, subtrahend.model, options.paired_runs)
                of_differences.append(both)
            else:
                of_differences.append(_to_resample(results, metric, pair, sample, users, options))
    intervals = bootstrap_intervals(
        [*of_means, *of_differences], options.confidence, options.n_resamples, options.seed
    )
    return (
        _bounded(means, intervals[: len(means)]),
        _bounded(differences, intervals[len(means) :]),
    )


def _bounded(records: Iterable[_Record], intervals: Iterable[tuple[float, float]]) -> list[_Record]:
    return [
        replace(record, low=low, high=high)
        for record, (low, high) in zip(records, intervals, strict=True)
    ]


def _sample(
    results: Results,
    metric: str,
    models: Sequence[str],
    users: npt.NDArray[np.intp],
    options: _Options,
) -> tuple[Floats, Floats | None]:
    """The defined values of one model, or the differences of two, with the weights of the users."""
    values = results.values[models[0]][metric][users]
    for against in models[1:]:
        values = values - results.values[against][metric][users]
    weights = None if options.weights is None else options.weights[users]
    return defined(values, weights)


def _to_resample(
    results: Results,
    metric: str,
    models: Sequence[str],
    sample: tuple[Floats, Floats | None],
    users: npt.NDArray[np.intp],
    options: _Options,
) -> Sums | Runs:
    """Make the units to resample: the users, and the runs of models that have several."""
    values, weights = sample
    if not any(model in results.runs for model in models):
        return sums_of(values, weights, options.seed)
    for model in models:
        users = users[~np.isnan(results.values[model][metric][users])]
    sides = [results.runs_of(model, metric)[:, users] for model in models]
    if min(map(len, sides)) == 1:  # it has the same users as each run of the other
        sides = [sides[0] - sides[1]]
    parts = [sums_of_runs(each, weights, options.seed) for each in sides]
    return Runs(parts[0], parts[1] if len(parts) > 1 else (), options.paired_runs)


def _mean(
    results: Results,
    metric: str,
    group: Any,
    model: str,
    sample: tuple[Floats, Floats | None],
    users: npt.NDArray[np.intp],
    options: _Options,
) -> Mean:
    values, weights = sample
    n_runs, run_std = None, None
    if results.runs:
        own = None if options.weights is None else options.weights[users]
        runs = results.runs_of(model, metric)[:, users]
        n_runs = len(runs)
        run_std = _spread_of_means([mean_of(run, own) for run in runs])
    return Mean(
        metric=metric,
        group=group,
        model=model,
        mean=mean_of(values, weights),
        low=math.nan,
        high=math.nan,
        n_users=values.size,
        n_undefined=users.size - values.size,
        n_effective=None if weights is None else effective_users(weights),
        n_runs=n_runs,
        run_std=run_std,
    )


def _difference(
    metric: str,
    group: Any,
    pair: tuple[str, str],
    sample: tuple[Floats, Floats | None],
    n_users: int,
    options: _Options,
) -> Difference:
    row, weights = sample
    above, below = int(np.count_nonzero(row > 0)), int(np.count_nonzero(row < 0))
    lower = metric in options.lower
    p_values: dict[str, float] = {
        test: p_value(test, row, options.seed, weights) for test in options.tests
    }
    return Difference(
        metric=metric,
        group=group,
        model=pair[0],
        against=pair[1],
        difference=mean_of(row, weights),
        low=math.nan,
        high=math.nan,
        n_users=row.size,
        n_undefined=n_users - row.size,
        effect_size=effect_size(row, weights),
        wins=below if lower else above,
        ties=row.size - above - below,
        losses=above if lower else below,
        p_values=p_values,
        corrected=p_values,
    )


def _system(results: Results, metric: str, model: str, options: _Options) -> Mean:
    runs = results.runs_of(model, metric)[:, 0]
    return Mean(
        metric=metric,
        group=None,
        model=model,
        mean=float(results.values[model][metric]),
        low=math.nan,
        high=math.nan,
        n_users=None,
        n_undefined=None,
        n_effective=None if options.weights is None else math.nan,
        n_runs=runs.size if results.runs else None,
        run_std=_spread_of_means(runs) if results.runs else None,
    )


def _spread_of_means(means: npt.ArrayLike) -> float:
    """Compute the standard deviation of the runs' means, where there are two or more."""
    return spread_of(defined(np.asarray(means, np.float64))[0])


def _marked(means: list[Mean], models: Collection[str], options: _Options) -> list[Mean]:
    """Mark the best of the models, or none where all are equal."""
    values = [each.mean for each in means if each.model in models and each.mean == each.mean]
    if len(set(values)) < 2:
        return means
    best = min(values) if means[0].metric in options.lower else max(values)
    return [replace(each, best=each.model in models and each.mean == best) for each in means]


def _corrected(
    differences: list[Difference], correction: Correction | None, confidence: float
) -> list[Difference]:
    """Correct each test for all of ``differences``; the first test decides on significance."""
    if not differences:
        return []
    tests = list(differences[0].p_values)
    corrected = {
        test: correct([each.p_values[test] for each in differences], correction) for test in tests
    }
    return [
        replace(
            each,
            corrected={test: corrected[test][i] for test in tests},
            significant=corrected[tests[0]][i] < 1 - confidence,
        )
        for i, each in enumerate(differences)
    ]


def _pairs(models: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is not None:
        return [(model, baseline) for model in models if model != baseline]
    return [(later, earlier) for earlier, later in combinations(models, 2)]


def _lower(metrics: Sequence[str], lower_is_better: Collection[str]) -> frozenset[str]:
    if isinstance(lower_is_better, str):
        lower_is_better = (lower_is_better,)
    asked: object = lower_is_better
    for metric in asked if isinstance(asked, Iterable) else (asked,):
        if metric not in metrics:
            known = ", ".join(repr(each) for each in metrics)
            msg = f"lower_is_better must name metrics of the results, {known}, got {metric!r}"
            raise ArgumentError(msg)
    return frozenset(
        metric for metric in metrics if metric in lower_is_better or not _higher_is_better(metric)
    )


def _sorted(groups: Mapping[Any, npt.NDArray[np.intp]]) -> dict[Any, npt.NDArray[np.intp]]:
    try:
        return {group: groups[group] for group in sorted(groups)}
    except TypeError:
        msg = "by must hold labels of one type, such as strings or integers"
        raise InputTypeError(msg) from None


def _higher_is_better(metric: str) -> bool:
    """Look a metric up in the registry; for an unknown one higher is better."""
    try:
        return spec_of(metric).metric.higher_is_better
    except MetricSpecError:
        return True


def _check_tests(tests: Test | Sequence[Test]) -> tuple[Test, ...]:
    asked: object = tests
    given = tuple(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else (asked,)
    known = get_args(Test)
    if not given or any(test not in known for test in given) or len(set(given)) != len(given):
        msg = f"tests must be one or several of 't', 'wilcoxon' and 'permutation', got {tests!r}"
        raise ArgumentError(msg)
    return given


def _check_resamples(n_resamples: Any) -> int:
    is_integer = isinstance(n_resamples, (int, np.integer)) and not isinstance(n_resamples, bool)
    if not is_integer or n_resamples < 100:
        msg = f"n_resamples must be an integer >= 100, got {n_resamples!r}"
        raise ArgumentError(msg)
    return int(n_resamples)
