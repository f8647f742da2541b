"""compare: results -> samples of users -> means and differences -> corrected p-values."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError, at_fault
from recmetrics._core.options import check_count, check_share, one_of
from recmetrics._printing import split
from recmetrics._report import statistics
from recmetrics._report.bounds import Bounds, Range, bounds_of_difference, bounds_of_mean
from recmetrics._report.comparison import Comparison
from recmetrics._report.merged import read_sums, require_pair
from recmetrics._report.records import Difference, Mean
from recmetrics._report.result_tables import keeps_sums, noun_of, read_columns, spec_if_known
from recmetrics._report.samples import Samples, check_runs, read_samples
from recmetrics._report.settings import check_known, read_seed, several
from recmetrics._report.statistics import Basis, Correction, PairedTest, Sample, Sums


def compare(
    results: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    tests: PairedTest | Sequence[PairedTest] = "t",
    correction: Correction | None = "holm",
    by: Any = None,
    weights: Any = None,
    lower_is_better: Collection[str] = (),
    levels: Mapping[str, Any] | None = None,
    paired_runs: bool = False,
    noun: str | None = None,
    n_resamples: int | None = None,
    rng: int | np.random.Generator | None = 0,
) -> Comparison:
    """Compare models by the metrics of each user: means, paired differences and tests.

    >>> import recmetrics
    >>> old = {"ndcg@10": [0.1, 0.4, 0.2, 0.3, 0.0, 0.5] * 20}
    >>> new = {"ndcg@10": [0.3, 0.5, 0.1, 0.6, 0.0, 0.7] * 20}
    >>> comparison = recmetrics.compare({"old": old, "new": new})
    >>> [difference] = comparison.differences
    >>> round(difference.difference, 3), difference.wins, difference.ties, difference.losses
    (0.117, 80, 20, 20)
    >>> round(difference.low, 3), round(difference.high, 3), difference.significant
    (0.092, 0.141, True)

    Parameters
    ----------
    results
        One of these:

        - a dict of two or more models by name. The result of a model is what ``Metrics.compute``
          returns, {metric: (n_users,) values}, or ``Metrics.evaluate``; an object whose
          ``.compute()`` returns such values; or a data frame (pandas, polars, pyarrow) with one row
          per user. A model with several runs, such as seeds or folds, has a list of results;
        - a data frame with the rows of all models, such as ``tables.evaluate_table`` returns with
          ``by="model"``;
        - a ``StreamEvaluator`` of several models with ``keep="means"``. Its sums give the same
          numbers as values would. The bootstrap, and tests other than "t", need values.

        All results must contain the same metrics for the same users. Arrays must have the users in
        the same order, and Series the same index. Rows of frames are matched by the columns that
        identify the user: all but those of metrics, counts, groups and weights, and every named
        level of a pandas index.
        Metrics of all lists, of shape (), are shown but not tested. Means alone are an error:
        intervals and tests need the value of every user.
    metrics
        The metrics to compare: names of columns, or keys of the results. None takes all, in a frame
        the columns of numbers or bools named as metric strings. If you name a range of cutoffs
        here, such as "ndcg@1:20", its metrics are shown and drawn, but not tested: many dependent
        tests would make the correction too strict. To test one of them, name it as well:
        ["ndcg@1:20", "ndcg@10"].
    model
        The column or index level of a frame that names the model, or several, whose names are
        joined by " / ". None is "model", if there is one.
    baseline
        The model to compare all others with. None compares all pairs: each model with the models
        before it.
    confidence
        The confidence of the intervals. A difference is significant if p < 1 - confidence, after
        the correction.
    tests
        One or several paired, two-sided tests of the differences: "t" (Student's), "wilcoxon"
        (signed ranks; users without a difference are left out) and "permutation" (9,999 random sign
        flips; all flips if at most 13 users differ). The first test decides on significance. The
        default "t" keeps its level on values of ranking metrics, and has the highest power (Urbano
        et al., SIGIR 2019). For a binary metric such as hit, "permutation" is the sign test, which
        is conservative: if about 50 users differ, it rejects a true null hypothesis in 3.7 % of
        cases.
    correction
        The correction of the p-values of each test for multiple comparisons. "holm" bounds the
        probability of any false discovery, "bh" (Benjamini and Hochberg) the share of false
        discoveries; None corrects nothing. The p-values of all pairs and metrics are corrected
        together, and separately those of the groups.
    by
        (n_users,) the group of each user, such as a segment or a quartile of activity, or the name
        of a column. Adds the means and differences of each group, and the worst group. A Series of
        pandas is matched by its index, if that has the ids of the users of data frames. Entries
        without ids are in the order of the rows, which must be the same in all data frames.
    weights
        (n_users,) the weight of each user, finite and >= 0, such as the number of visits, or the
        name of a column. Means, differences, intervals, effect sizes and tests are then weighted.
        The t test uses the linearised variance of the weighted mean. The permutation test flips
        weighted differences. "wilcoxon" has no weighted form and is an error. Wins, ties and losses
        still count users. Whether few users lose, or gain (below), is a matter of the effective
        number: their sum of weights x sum of all w / sum of all w^2, at most their number. A user
        of weight 0 is left out, and the weight of one without a value is in no sum.
    lower_is_better
        Metrics for which lower is better, in addition to those that the library knows, such as
        gini. Metrics that it does not know are else taken as higher is better, and a note below the
        tables names them.
    levels
        Reference levels by name, to show below the means of the models, such as ``{"chance":
        Metrics.chance(truth, ["ndcg@10"])}``, without metrics of all lists. Levels are only shown,
        and may have fewer metrics. Beside frames with the ids of users, values in arrays need them,
        too: ``{"chance": pandas.DataFrame({"user": users, **chance})}``.
    paired_runs
        True if run i of one model corresponds to run i of the others, as for folds or splits of the
        data. A resample then draws the same runs of all models with several runs. By default, the
        runs of each model are drawn independently, which is right for seeds.
    noun
        The word for a user in print, such as "query". None is that of ``summary`` for the first
        result.
    n_resamples
        The number of resamples of a bootstrap, from which the intervals are then computed. None,
        the default, computes them by Student's t, without any draw.
    rng
        The seed or generator of all random draws: those of the bootstrap and of "permutation". None
        draws a new seed for each call. With a seed, the draws for a metric do not depend on which
        other metrics, models and groups are in the call. Its intervals and uncorrected p-values
        depend on other models only if the library does not know its range, or if a model has its
        values in float32 or half precision (both below).

    Returns
    -------
    Comparison
        The comparison prints as a table; ``means`` and ``differences`` contain the numbers.

    An interval of a mean or of a paired difference is m +- e (q + s (1 + 2 q^2)), where q is the
    quantile of Student's t with n - 1 degrees of freedom, e the standard error, and s = g / (6
    sqrt(n)), with g the skewness of the values in the direction of the bound, at least 0 (Hall:
    Inverting an Edgeworth expansion, Annals of Statistics 1983).

    If fewer than 10 users lose, the bound of a difference on the side of a loss counts one more
    user, with the greatest possible loss. If fewer than 10 gain, the other bound counts one with
    the greatest possible gain. The same holds for the bounds of a mean, if fewer than 10 users are
    below the best value, or above the worst. This user counts in full in e and s, and in m with
    weight 1/2: m = (sum of the values + v / 2) / (n + 1/2), where v is the value of this user. So
    the interval does not exclude what few users cannot show: even if none of 30 users loses, 10 %
    of all users may. If the library does not know the range of a metric, the least and the greatest
    value of all models are taken for its ends, and a note below the tables says so; if all values,
    or all differences, are equal, there is then no interval.

    A user whose value is undefined (NaN) in either model of a pair is left out of the pair, and
    counted. Values that differ by at most 1e-12 of the value or of the metric's range, as sums in
    another order do, are equal: they are ties, and an end of the range if they are next to it.
    1e-6 takes the place of 1e-12, here and below, if a model has its values in float32 or half
    precision.

    The effect size is Cohen's d_z: the mean of the differences divided by their standard deviation.

    The statistics of the tests are those of ``scipy.stats``. If the interval counts one more user,
    or contains 0 although the t test alone is significant, the p-value of "t" is computed from the
    interval, as 1 - c, where c is the confidence at which the interval would just touch 0. So
    p-value and interval agree before the correction, except with several runs. The interval is not
    that of "wilcoxon" or "permutation". The t test is not defined if all n differences are equal,
    that is, if their standard deviation is at most 1e-12 of their mean. If the library does not
    know the range of the metric, the exact sign-flip test then takes its place, whose p-value is
    2^(1-n); if it does, the larger p-value of the interval counts, as above. Fewer than 6 users at
    95 %, or 9 if the range is known, cannot be significant, and a note below the tables says so.

    "wilcoxon" uses the exact distribution for up to 50 users who differ, or up to 13 if ranks are
    tied, and the normal approximation otherwise. Sorted absolute differences are tied if neighbours
    differ by at most 1e-12 of the largest.

    If a model has several runs, the value of a user is the mean over the runs in which it is
    defined. The intervals cover the variation over users and over runs: the variance of the mean
    over runs, with the degrees of freedom of Satterthwaite, is added to that over users, and the
    quantile is the mean of both, weighted by the variances (Cochran and Cox: Experimental Designs,
    1957). The tests use the users' means over runs, so p-values cover the variation over users but
    not over runs. Neither covers what all runs share: the data and, if runs are seeds, the split.

    With ``n_resamples``, intervals are those of the percentile bootstrap over users; more than
    4,096 users are first put into 4,096 random blocks, which are drawn. With several runs, each
    resample also draws as many runs as a model has. Such intervals are too narrow if few users
    differ, or if there are few runs: if runs differ much more than users do, a 95 % interval covers
    the mean of a metric in 52 % of cases with 2 runs, 74 % with 3, 84 % with 5 and 90 % with 10.

    Folds of users are runs in which different users have values: frames that share no user, or
    arrays with NaN for the users of other folds. They need ``paired_runs=True``.

    Raises
    ------
    InputError, InputTypeError, ShapeError
        Results with different metrics or users, or whose known definitions of a metric differ, as
        under two conventions or orders of ties; a user twice, or infinite values; a column of
        floats that is neither a metric nor named.
    ArgumentError
        As in ``Metrics.compute``.
    """
    columns = read_columns(metrics, model, by, weights)
    noun = noun_of(_first(results), noun)
    with at_fault("results"):
        if keeps_sums(results):
            only_of_values = {"model": model, "by": by, "weights": weights, "levels": levels}
            samples: Samples = read_sums(results, columns, only_of_values)
            require_pair(samples)
        else:
            samples = read_samples(results, {} if levels is None else levels, by, weights, columns)
    if baseline is not None:
        check_known("baseline", baseline, samples.models)
    check_runs(samples, paired_runs)
    confidence = check_share("confidence", confidence, 0.5)
    test_names = several(tests)
    for test in test_names or [tests]:  # an empty list is refused as an unknown test
        one_of("tests", test, PairedTest, "; give one or several")
        if test != "t":
            samples.require_values(f"the test {test!r}")
    different_tests = tuple(dict.fromkeys(test_names))
    lower_metrics = _lower_metrics(samples.metrics, several(lower_is_better))
    if n_resamples is not None:
        n_resamples = check_count("n_resamples", n_resamples, 100)
        samples.require_values("the bootstrap of n_resamples=")
    if weights is not None and "wilcoxon" in different_tests:
        msg = (
            "tests has 'wilcoxon', which has no weighted form; with weights= give tests='t' or "
            "'permutation'"
        )
        raise ArgumentError(msg)
    if correction is not None:
        one_of("correction", correction, Correction, "; None corrects nothing")
    options: dict[str, Any] = {
        "baseline": baseline,
        "confidence": confidence,
        "tests": different_tests,
        "correction": correction,
        "lower_is_better": lower_metrics,
        "n_resamples": n_resamples,
        "paired_runs": paired_runs,
        "untested": columns.untested - samples.system,
        "samples": samples,
    }
    limits = {metric: samples.limits(metric) for metric in samples.metrics}
    settings = Settings(limits=limits, seed=read_seed(rng), **options)

    observed: set[str] = set()
    records: list[Mean | Difference] = []
    with np.errstate(all="ignore"):  # of differences, sums and squares that overflow
        for group in samples.groups:
            group_records, observed_metrics = statistics.with_intervals(
                _records(settings, group), confidence, n_resamples, settings.seed, samples.levels
            )
            records += group_records
            observed |= observed_metrics
    overall, of_groups = split(record for record in records if isinstance(record, Difference))
    return Comparison(
        models=samples.models,
        levels=samples.levels,
        metrics=samples.metrics,
        groups=tuple(samples.groups)[1:],  # the first is None, all users
        means=tuple(record for record in records if isinstance(record, Mean)),
        differences=(*_corrected(overall, settings), *_corrected(of_groups, settings)),
        n_weightless=samples.n_weightless,
        weighed=tuple(samples.metric_weights),
        observed=frozenset(observed),
        noun=noun,
        **options,
    )


def _first(results: Any) -> Any:
    """The first run of the first model, of results by name; other results as they are."""
    if not isinstance(results, Mapping):
        return results
    first = next(iter(results.values()), None)
    return next(iter(first), None) if isinstance(first, list | tuple) else first


class Settings(NamedTuple):
    """The samples of a comparison, and how ``compare`` is to compare them."""

    limits: Mapping[str, Range]  # the range of each metric
    seed: int
    baseline: str | None
    confidence: float
    tests: tuple[PairedTest, ...]
    correction: Correction | None
    lower_is_better: frozenset[str]
    n_resamples: int | None
    paired_runs: bool
    untested: frozenset[str]
    samples: Samples


def _records(settings: Settings, group: Any) -> Iterator[tuple[Mean | Difference, Basis]]:
    """Compute the means and differences of a group, each with the basis of its interval.

    ``group`` is None for all users.
    """
    samples = settings.samples
    for metric in samples.metrics_in(group):
        values_of_model = {
            model: samples.of(group, metric, model)
            for model in (*samples.models, *samples.levels)
            if metric in samples.values[model]
        }
        sums: dict[str, tuple[Sums, ...]] = {}  # of each model, to resample
        for mean in _means(settings, group, metric, values_of_model):
            values = values_of_model[mean.model]
            runs = samples.runs[mean.model][metric]
            if settings.n_resamples is not None:
                runs = runs[:, values.users]
                sums[mean.model] = statistics.sums_of_runs(runs, values.weights, settings.seed)
                yield mean, Basis(sample=Sample(sums[mean.model]))
                continue
            basis = Basis(bounds_of_mean(values, settings.limits[metric]))
            if len(runs) > 1:
                runs = runs[:, values.users]
                spreads = statistics.spreads_of_runs(runs, None, values.weights)
                basis = basis._replace(spreads=spreads)
            yield mean, basis
        if metric not in samples.system:
            yield from _differences(settings, group, metric, values_of_model, sums)


def _means(
    settings: Settings, group: Any, metric: str, values_of_model: Mapping[str, Any]
) -> list[Mean]:
    """Describe the values of all models and levels, and mark the best mean of the models.

    Means that differ by rounding are equal, and none is the best where all are equal.
    """
    samples = settings.samples
    means = []
    for model, values in values_of_model.items():
        means.append(Mean(**samples.describe(group, metric, model, values)))

    rounding = samples.rounding[metric]
    numbers = [mean.mean for mean in means if mean.model in samples.models]
    numbers = [number for number in numbers if not math.isnan(number)]
    best = math.nan
    if numbers and not math.isclose(min(numbers), max(numbers), rel_tol=rounding):
        best = min(numbers) if metric in settings.lower_is_better else max(numbers)
    return [
        replace(
            mean,
            best=mean.model in samples.models and math.isclose(mean.mean, best, rel_tol=rounding),
        )
        for mean in means
    ]


def _differences(
    settings: Settings,
    group: Any,
    metric: str,
    values_of_model: Mapping[str, Any],
    sums: Mapping[str, tuple[Sums, ...]],
) -> Iterator[tuple[Difference, Basis]]:
    """Compare all pairs of models, and give each difference with the basis of its interval.

    ``sums`` are those of each model to resample; empty without resamples.
    """
    samples = settings.samples
    limits = settings.limits[metric].of_difference()
    for pair in _pairs(settings):
        differences = samples.of(group, metric, *pair)
        weights = differences.weights
        bounds = bounds_of_difference(differences, limits)
        difference = _difference(settings, group, metric, pair, differences, limits, bounds)
        if settings.n_resamples is None and not samples.have_several_runs(pair):
            yield difference, Basis(bounds)
            continue
        runs = samples.runs_of_pair(metric, *pair, differences.users)
        if settings.n_resamples is None:
            spreads = statistics.spreads_of_runs(*runs, weights, settings.paired_runs)
            yield difference, Basis(bounds, spreads)
            continue
        # A pair has the users of a model alone if it has as many: their sums are known.
        n_users = differences.users.size
        known_sums = [
            sums[model] if values_of_model[model].users.size == n_users else None for model in pair
        ]
        sample = statistics.sample_of_pair(
            *runs, weights, settings.seed, settings.paired_runs, known_sums
        )
        yield difference, Basis(sample=sample)


def _difference(
    settings: Settings,
    group: Any,
    metric: str,
    pair: tuple[str, str],
    differences: Any,
    limits: Range,
    bounds: Bounds | None,
) -> Difference:
    """Describe the differences of a pair; the interval and the corrected p-values come later.

    ``limits`` are the range of a difference. ``bounds`` is None if the mean difference has none.
    """
    wins = differences.n_above(0.0)
    losses = differences.n_below(0.0)
    if metric in settings.lower_is_better:
        wins, losses = losses, wins

    p_values: dict[str, float] = dict.fromkeys(settings.tests, math.nan)
    p_raised = False
    if metric not in settings.untested:
        for test in settings.tests:
            p_values[test] = statistics.p_value(test, differences, settings.seed)
        # The t test is not to say that models differ where the interval does not, nor to be surer
        # than an interval that counts one more user.
        if "t" in p_values and bounds is not None and bounds.is_finite:
            p_of_interval = bounds.p_value()
            contradicts_interval = p_values["t"] < 1 - settings.confidence <= p_of_interval
            p_raised = p_values["t"] < p_of_interval and (
                bool(bounds.ends_with_added) or contradicts_interval
            )
            if p_raised:
                p_values["t"] = p_of_interval

    effect_size = math.nan
    least_detectable = math.nan
    if bounds is not None:
        effect_size = statistics.effect_size(bounds.moments)
        if not settings.samples.have_several_runs(pair):  # more users do not make runs agree
            least_detectable = bounds.detectable(limits.largest, (1 - settings.confidence) / 2)
    return Difference(
        metric=metric,
        group=group,
        model=pair[0],
        against=pair[1],
        difference=differences.mean,
        n_users=differences.n_users,
        n_undefined=differences.n_undefined,
        effect_size=effect_size,
        detectable=least_detectable,
        wins=wins,
        ties=differences.n_users - wins - losses,
        losses=losses,
        p=p_values,
        p_uncorrected=p_values,
        p_raised=p_raised,
    )


def _corrected(differences: Sequence[Difference], settings: Settings) -> list[Difference]:
    """Correct the p-values of each test for their number, and mark significant differences."""
    corrected: list[dict[str, float]] = [{} for _ in differences]
    for test in settings.tests:
        uncorrected = [difference.p_uncorrected[test] for difference in differences]
        p_values = statistics.correct(uncorrected, settings.correction)
        for p, p_value in zip(corrected, p_values, strict=True):
            p[test] = p_value
    alpha = 1 - settings.confidence
    return [
        replace(difference, p=p, significant=p[settings.tests[0]] < alpha)
        for difference, p in zip(differences, corrected, strict=True)
    ]


def _pairs(settings: Settings) -> list[tuple[str, str]]:
    """List the pairs to compare: each model with the baseline or, without one, with all before."""
    models = settings.samples.models
    if settings.baseline is not None:
        return [(model, settings.baseline) for model in models if model != settings.baseline]
    return [(later, earlier) for earlier, later in combinations(models, 2)]


def _lower_metrics(metrics: Sequence[str], names: Sequence[str]) -> frozenset[str]:
    """The metrics for which lower is better: those that the caller names or the library knows."""
    for name in names:
        check_known("lower_is_better", name, metrics)
    lower_metrics = set(names)
    for metric in metrics:
        spec = spec_if_known(metric)
        if spec is not None and not spec.metric.higher_is_better:
            lower_metrics.add(metric)
    return frozenset(lower_metrics)
