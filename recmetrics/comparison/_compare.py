"""compare: results -> samples of users -> means and differences -> corrected p-values."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._grids import split
from recmetrics._options import check_count, check_share, one_of
from recmetrics.comparison import _statistics as statistics
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._reading import (
    Values,
    check_known,
    read_columns,
    read_seed,
    several,
    spec_if_known,
)
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._samples import check_runs, read_samples
from recmetrics.comparison._statistics import N_RESAMPLES, Correction, Sample, Test


def compare(
    results: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
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
    rng: int | np.random.Generator | None = 0,
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
        the columns of numbers whose names are metric strings. The metrics of a range of cutoffs,
        such as "ndcg@1:20", are described and drawn but not tested, unless they are also named
        alone, as in ["ndcg@1:20", "ndcg@10"]: many dependent tests would make the correction too
        strict.
    model
        The column or index level of a frame that names the model, or several, whose names are
        joined by " / ". None is "model", if there is one.
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
        2019). For a binary metric such as hit, "permutation" is the sign test, which is
        conservative: if about 50 users differ, it rejects a true null hypothesis in 3.7 % of cases.
    correction
        The correction of the p-values of each test for multiple comparisons. "holm" bounds the
        probability of any false discovery, "bh" (Benjamini and Hochberg) the share of false
        discoveries; None corrects nothing. The p-values of all pairs and metrics are corrected
        together, and separately those of the groups.
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
        The number of bootstrap resamples of users, or of random blocks of more than 4,096 users.
    rng
        The seed or generator of all random draws. None draws a new seed for each call. With a seed,
        the other metrics, models and groups do not change the interval or the uncorrected p-value
        of a metric.

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
    which cannot be significant with too few users, such as fewer than 6 at 95 %; a note below the
    tables then says so. The t test still can if the differences are unequal.

    "wilcoxon" uses the exact distribution for up to 50 users who differ, or up to 13 if ranks are
    tied, and the normal approximation otherwise. Sorted absolute differences are tied if neighbours
    differ by at most 1e-12 of the largest.

    If a model has several runs, the value of a user is the mean over the runs in which it is
    defined. The intervals then cover the variation over users and over runs: each resample draws
    users and, for each model with several runs, as many runs as it has, both with replacement (a
    nested bootstrap). The tests use the users' means over runs, so p-values cover the variation
    over users but not over runs. Neither covers what all runs share: the data and, if runs are
    seeds, the split. With few runs, the intervals are rough and too narrow: if runs differ much
    more than users do, a 95 % interval covers the mean of a metric in 52 % of cases with 2 runs,
    74 % with 3, 84 % with 5 and 90 % with 10.

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
    samples = read_samples(results, {} if levels is None else levels, by, weights, asked)
    if baseline is not None:
        check_known("baseline", baseline, samples.models)
    check_runs(samples, paired_runs)
    found = Comparison(
        models=samples.models,
        levels=samples.levels,
        metrics=samples.metrics,
        groups=tuple(samples.groups)[1:],
        means=(),
        differences=(),
        baseline=baseline,
        confidence=check_share("confidence", confidence, 0.5),
        tests=tuple(dict.fromkeys(several(tests))),
        correction=correction,
        lower_is_better=_lower(samples.metrics, lower_is_better),
        n_resamples=check_count("n_resamples", n_resamples, 100),
        n_weightless=samples.n_weightless,
        paired_runs=paired_runs,
        untested=asked.untested,
        samples=samples,
    )
    for test in found.tests or [tests]:
        one_of("tests", test, Test, "; give one or several")
    if weights is not None and "wilcoxon" in found.tests:
        msg = (
            "tests has 'wilcoxon', which has no weighted form; with weights= give tests='t' or "
            "'permutation'"
        )
        raise ArgumentError(msg)
    if correction is not None:
        one_of("correction", correction, Correction, "; None corrects nothing")
    seed = read_seed(rng)
    records: list[Mean | Difference] = []
    with np.errstate(all="ignore"):  # of differences, sums and squares that overflow
        for group in samples.groups:
            own = _described(found, group, seed)
            records += statistics.bounded(own, found.confidence, found.n_resamples, seed)
    overall, of_groups = split(each for each in records if isinstance(each, Difference))
    return replace(
        found,
        means=tuple(each for each in records if isinstance(each, Mean)),
        differences=(*_corrected(overall, found), *_corrected(of_groups, found)),
    )


def _described(
    found: Comparison, group: Any, seed: int
) -> Iterator[tuple[Mean | Difference, Sample]]:
    """Compute means and differences of a group, None: of all users, and what to resample."""
    samples = found.samples
    for metric in samples.metrics:
        is_system, is_lower = metric in samples.system, metric in found.lower_is_better
        if is_system and group is not None:
            continue  # one value for all users: none for a group
        having = [m for m in (*found.models, *found.levels) if metric in samples.values[m]]
        alone = {model: samples.of(group, metric, model) for model in having}
        sums = {
            model: statistics.sums_of_runs(
                samples.runs[model][metric][:, each.users], each.weights, seed
            )
            for model, each in alone.items()
        }
        means = [
            Mean(**samples.describe(group, metric, model, each)) for model, each in alone.items()
        ]
        compared = {
            each.mean for each in means if each.model in found.models and each.mean == each.mean
        }
        best = (min if is_lower else max)(compared) if len(compared) > 1 else None
        for mean in means:
            is_best = mean.model in found.models and mean.mean == best
            yield replace(mean, best=is_best), Sample(sums[mean.model])
        for pair in () if is_system else _pairs(found):
            own = samples.of(group, metric, *pair)
            # A pair of as many users as the model alone has the same: they are summed once.
            known = [sums[m] if alone[m].users.size == own.users.size else None for m in pair]
            runs = (samples.runs[model][metric][:, own.users] for model in pair)
            sample = statistics.sample_of_pair(runs, own.weights, seed, found.paired_runs, known)
            yield _difference(found, metric, group, pair, own, seed), sample


def _difference(
    found: Comparison, metric: str, group: Any, pair: tuple[str, str], own: Values, seed: int
) -> Difference:
    values, weights = own.values, own.weights
    above, below = (int(np.count_nonzero(values * sign > 0)) for sign in (1, -1))
    wins, losses = (below, above) if metric in found.lower_is_better else (above, below)
    is_tested = metric not in found.untested
    p_values: dict[str, float] = {
        test: statistics.p_value(test, values, seed, weights) if is_tested else math.nan
        for test in found.tests
    }
    mean, std, error = statistics.moments_of(values, weights)
    alpha, detectable = (1 - found.confidence) / 2, math.nan
    if error >= 0:
        detectable = error * statistics.standard_errors(values.size, alpha, statistics.POWER)
    return Difference(
        metric=metric,
        group=group,
        model=pair[0],
        against=pair[1],
        difference=mean,
        n_users=values.size,
        n_undefined=own.n_undefined,
        effect_size=statistics.effect_size(mean, std),
        detectable=detectable,
        wins=wins,
        ties=values.size - wins - losses,
        losses=losses,
        p_values=p_values,
        corrected=p_values,
    )


def _corrected(differences: list[Difference], settings: Comparison) -> list[Difference]:
    tests, alpha = settings.tests, 1 - settings.confidence
    by_test = [
        statistics.correct([each.p_values[test] for each in differences], settings.correction)
        for test in tests
    ]
    return [
        replace(each, corrected=dict(zip(tests, p, strict=True)), significant=p[0] < alpha)
        for each, p in zip(differences, zip(*by_test, strict=True), strict=True)
    ]


def _pairs(settings: Comparison) -> list[tuple[str, str]]:
    if settings.baseline is not None:
        models = [model for model in settings.models if model != settings.baseline]
        return [(model, settings.baseline) for model in models]
    return [(later, earlier) for earlier, later in combinations(settings.models, 2)]


def _lower(metrics: Sequence[str], lower_is_better: Any) -> frozenset[str]:
    asked = several(lower_is_better)
    for metric in asked:
        check_known("lower_is_better", metric, metrics)
    specs = {metric: spec_if_known(metric) for metric in metrics}
    lower = (name for name, spec in specs.items() if spec and not spec.metric.higher_is_better)
    return frozenset((*lower, *asked))
