"""compare: results -> samples of users -> means and differences -> corrected p-values."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputTypeError
from recmetrics.comparison._align import spec_if_known
from recmetrics.comparison._comparison import Comparison
from recmetrics.comparison._grids import split
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._samples import (
    Results,
    check_runs,
    check_share,
    read_columns,
    read_groups,
    read_results,
    read_seed,
    read_weights,
)
from recmetrics.comparison._statistics import (
    N_RESAMPLES,
    Correction,
    Floats,
    Sample,
    Test,
    bounded,
    correct,
    defined,
    effect_size,
    effective_users,
    mean_of,
    p_value,
    spread_of,
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
    by, weights = (
        read.labels.get(each, each) if isinstance(each, str) else each for each in (by, weights)
    )
    if baseline is not None and baseline not in read.models:
        known = ", ".join(map(repr, read.models))
        msg = f"baseline must be one of {known}, got {baseline!r}"
        raise ArgumentError(msg)
    check_runs(read, paired_runs)
    weighted = None if weights is None else read_weights(weights, read.n_users)
    groups = {} if by is None else _sorted(read_groups(by, read.n_users))
    found = Comparison(
        models=read.models,
        levels=read.levels,
        metrics=read.metrics,
        groups=tuple(groups),
        means=(),
        differences=(),
        baseline=baseline,
        confidence=check_share("confidence", confidence, 0.5),
        tests=_check_tests(tests),
        correction=correction,
        lower_is_better=_lower(read.metrics, lower_is_better),
        n_resamples=_check_resamples(n_resamples),
        n_weightless=None if weighted is None else int(np.count_nonzero(weighted == 0)),
        paired_runs=paired_runs,
    )
    if weights is not None and "wilcoxon" in found.tests:
        msg = (
            "tests has 'wilcoxon', which has no weighted form; with weights= give tests='t' or "
            "'permutation'"
        )
        raise ArgumentError(msg)
    if correction is not None and correction not in get_args(Correction):
        msg = f"correction must be 'holm', 'bh' or None, got {correction!r}"
        raise ArgumentError(msg)
    seed = read_seed(rng)
    records: list[Mean | Difference] = []
    for group, users in {None: np.arange(read.n_users), **groups}.items():
        counted = users if weighted is None else users[weighted[users] > 0]
        own = _Group(read, group, counted, weighted, seed, found).describe()
        records += bounded(own, found.confidence, found.n_resamples, seed)
    overall, of_groups = split(each for each in records if isinstance(each, Difference))
    return replace(
        found,
        means=tuple(each for each in records if isinstance(each, Mean)),
        differences=(*_corrected(overall, found), *_corrected(of_groups, found)),
    )


class _Values(NamedTuple):
    """The defined values of a model, or differences of two, of some users."""

    values: Floats
    weights: Floats | None
    sample: Sample


@dataclass(frozen=True, slots=True)
class _Group:
    """Some users, or all, without those of weight 0; the values and settings of the comparison."""

    results: Results
    label: Any  # None for all users
    users: npt.NDArray[np.intp]
    weights: Floats | None  # of all users
    seed: int
    settings: Comparison

    def describe(self) -> list[tuple[Mean | Difference, Sample]]:
        """Compute means and differences, in the order of metrics, and what to resample."""
        found: list[tuple[Mean | Difference, Sample]] = []
        for metric in self.results.metrics:
            is_system = metric in self.results.system
            if is_system and self.label is not None:
                continue  # one value for all users: none for a group
            own = replace(self, users=np.zeros(1, np.intp), weights=None) if is_system else self
            known: dict[str, _Values] = {}
            for model in self.results.having(metric):
                known[model] = own._values(metric, (model,), known)
            means = [own._mean(metric, model, each) for model, each in known.items()]
            if is_system:
                n_effective = None if self.weights is None else math.nan
                of_all: dict[str, Any] = {
                    "n_users": None,
                    "n_undefined": None,
                    "n_effective": n_effective,
                }
                means = [replace(each, **of_all) for each in means]
            means = _marked(means, self.results.models, self.settings.lower_is_better)
            found += zip(means, (each.sample for each in known.values()), strict=True)
            for pair in () if is_system else _pairs(self.settings):
                values = self._values(metric, pair, known)
                found.append((self._difference(metric, pair, values), values.sample))
        return found

    def _values(
        self, metric: str, models: tuple[str, ...], known: Mapping[str, _Values]
    ) -> _Values:
        """Take the values of one model, or subtract those of another; leave out the undefined."""
        values = self.results.values[models[0]][metric][self.users]
        for against in models[1:]:
            values = values - self.results.values[against][metric][self.users]
        users, undefined = self.users, np.isnan(values)
        if undefined.any():
            users, values = users[~undefined], values[~undefined]
        weights = None if self.weights is None else self.weights[users]
        runs = [self.results.runs[model][metric] for model in models]
        if len(runs) == 2 and min(map(len, runs)) == 1:
            # One has the same users as each run of the other.
            sums = [sums_of_runs(runs[0][:, users] - runs[1][:, users], weights, self.seed)]
        else:
            # Of as many users as the model alone has, a pair has the same: they are summed once.
            sums = [
                known[model].sample.model
                if model in known and known[model].values.size == users.size
                else sums_of_runs(each[:, users], weights, self.seed)
                for model, each in zip(models, runs, strict=True)
            ]
        against_sums = sums[1] if len(sums) > 1 else ()
        return _Values(values, weights, Sample(sums[0], against_sums, self.settings.paired_runs))

    def _mean(self, metric: str, model: str, found: _Values) -> Mean:
        of_runs: dict[str, Any] = {}
        if self.results.n_runs():
            weights = None if self.weights is None else self.weights[self.users]
            runs = self.results.runs[model][metric][:, self.users]
            means, _ = defined(np.array([mean_of(run, weights) for run in runs]))
            of_runs = {"n_runs": len(runs), "run_std": spread_of(means)}
        return Mean(
            metric=metric,
            group=self.label,
            model=model,
            mean=mean_of(found.values, found.weights),
            n_users=found.values.size,
            n_undefined=self.users.size - found.values.size,
            n_effective=None if found.weights is None else effective_users(found.weights),
            **of_runs,
        )

    def _difference(self, metric: str, pair: tuple[str, str], found: _Values) -> Difference:
        values, weights, _ = found
        above, below = int(np.count_nonzero(values > 0)), int(np.count_nonzero(values < 0))
        is_lower = metric in self.settings.lower_is_better
        p_values: dict[str, float] = {
            test: p_value(test, values, self.seed, weights) for test in self.settings.tests
        }
        return Difference(
            metric=metric,
            group=self.label,
            model=pair[0],
            against=pair[1],
            difference=mean_of(values, weights),
            n_users=values.size,
            n_undefined=self.users.size - values.size,
            effect_size=effect_size(values, weights),
            wins=below if is_lower else above,
            ties=values.size - above - below,
            losses=above if is_lower else below,
            p_values=p_values,
            corrected=p_values,
        )


def _marked(means: list[Mean], models: Collection[str], lower: Collection[str]) -> list[Mean]:
    """Mark the best of the models, or none where all are equal."""
    values = [each.mean for each in means if each.model in models and each.mean == each.mean]
    if len(set(values)) < 2:
        return means
    best = min(values) if means[0].metric in lower else max(values)
    return [replace(each, best=each.model in models and each.mean == best) for each in means]


def _corrected(differences: list[Difference], settings: Comparison) -> list[Difference]:
    """Correct each test for all of ``differences``; the first test decides on significance."""
    tests, alpha = settings.tests, 1 - settings.confidence
    by_test = [
        correct([each.p_values[test] for each in differences], settings.correction)
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


def _lower(metrics: Sequence[str], lower_is_better: Collection[str]) -> frozenset[str]:
    if isinstance(lower_is_better, str):
        lower_is_better = (lower_is_better,)
    asked: object = lower_is_better
    for metric in asked if isinstance(asked, Iterable) else (asked,):
        if metric not in metrics:
            known = ", ".join(repr(each) for each in metrics)
            msg = f"lower_is_better must name metrics of the results, {known}, got {metric!r}"
            raise ArgumentError(msg)
    specs = {metric: spec_if_known(metric) for metric in metrics}
    known_lower = {
        name for name, spec in specs.items() if spec and not spec.metric.higher_is_better
    }
    return frozenset(known_lower.union(lower_is_better))


def _sorted(groups: Mapping[Any, npt.NDArray[np.intp]]) -> dict[Any, npt.NDArray[np.intp]]:
    try:
        return {group: groups[group] for group in sorted(groups)}
    except TypeError:
        msg = "by must hold labels of one type, such as strings or integers"
        raise InputTypeError(msg) from None


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
