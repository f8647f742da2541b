"""Several runs of a model: means over runs, intervals of users and runs, what the page says."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from asserts import assert_equal_records
from compared import BACKENDS, NAN, NEW, maker, only
from compared import OLD as POP

import recmetrics
from recmetrics import ArgumentError, InputError, InputTypeError, ShapeError, compare
from recmetrics._report import statistics
from recmetrics._report.settings import read_seed

RUNS = [NEW, [0.1, 0.7, 0.4, 0.6, 0.1, 0.5], [0.2, 0.6, 0.3, 0.6, 0.1, 0.9]]
ALS = [{"m": run} for run in RUNS]


def many(n_runs, n_users, *, std=0.1, seed=0):
    """Runs that share what their users get; each run is better or worse for all of them."""
    rng = np.random.default_rng(seed)
    users, runs = rng.random(n_users), rng.normal(0, std, (n_runs, 1))
    return list(users + runs + rng.normal(0, 0.05, (n_runs, n_users)))


def times_drawn(n, seed, n_resamples=2000):
    """How often each user is drawn in each resample."""
    drawn = np.random.default_rng(read_seed(seed)).integers(n, size=(n_resamples, n))
    return [np.bincount(row, minlength=n) for row in drawn]


def runs_drawn(n, seed, side, n_resamples=2000):
    """The runs of each resample; the two models of a difference have a side each."""
    generator = np.random.default_rng([read_seed(seed), n, side])
    return generator.integers(n, size=(n_resamples, n)).tolist()


def test_a_pair_looks_at_its_own_runs():
    """A look at those of all models, for each pair of 60 of them, took 15 % of the time."""

    class Runs(dict):
        def __iter__(self):
            raise AssertionError

        items = keys = values = __iter__

    samples = compare({"a": ALS, "b": ALS[0], "c": ALS[1]}).samples
    samples = replace(samples, runs=Runs(samples.runs))
    assert samples.have_several_runs(("b", "a"))
    assert not samples.have_several_runs(("b", "c"))


def interval(means):
    return tuple(np.nanpercentile(means, [2.5, 97.5]))


def resampled(runs, users, drawn, weights=None):
    """The mean of drawn runs of the drawn users, in plain Python.

    A user has a share in each run that has a value of theirs.
    """
    total = over = 0.0
    for run in drawn:
        for user, times in enumerate(users):
            n_defined = sum(not math.isnan(each[user]) for each in runs)
            if times and not math.isnan(runs[run][user]):
                share = times / n_defined * (1 if weights is None else weights[user])
                total += share * runs[run][user]
                over += share
    return total / over if over else NAN


# --- Numbers -------------------------------------------------------------------------------------


def test_means_and_tests_are_of_means_over_runs_by_hand():
    found = compare({"als": ALS, "pop": {"m": POP}}, tests=("t", "wilcoxon"), rng=0)
    als, pop = found.means
    # The means of the runs are 0.4, 0.4 and 0.45.
    assert als.mean == pytest.approx(1.25 / 3)
    assert als.run_std == pytest.approx(0.05 / math.sqrt(3))
    assert (als.n_runs, als.n_users, als.best) == (3, 6, True)
    assert (pop.n_runs, pop.mean) == (1, 0.25)
    assert math.isnan(pop.run_std)
    averaged = np.mean(RUNS, axis=0)
    one = only(compare({"als": {"m": averaged}, "pop": {"m": POP}}, tests=("t", "wilcoxon")))
    several = only(found)
    assert several.p_uncorrected == pytest.approx(one.p_uncorrected)
    assert several.effect_size == pytest.approx(one.effect_size)
    assert (several.wins, several.ties, several.losses) == (one.wins, one.ties, one.losses)


@pytest.mark.parametrize("weights", [None, [1, 2, 0.5, 1, 3, 1]])
def test_a_resample_draws_users_and_runs(weights):
    pop = [{"m": POP}, {"m": POP[::-1]}]
    relative = None if weights is None else np.array(weights) / 3
    found = compare(
        {"als": ALS, "pop": pop}, baseline="pop", weights=weights, n_resamples=2000, rng=4
    )
    users = times_drawn(6, 4)
    models = [RUNS, [POP, POP[::-1]]]
    for mean, runs in zip(found.means, models, strict=True):
        drawn = runs_drawn(len(runs), 4, 0)
        expected = [resampled(runs, *each, relative) for each in zip(users, drawn, strict=True)]
        assert (mean.low, mean.high) == pytest.approx(interval(expected))
    drawn = runs_drawn(3, 4, 0), runs_drawn(2, 4, 1)
    differences = [
        resampled(models[0], u, a, relative) - resampled(models[1], u, b, relative)
        for u, a, b in zip(users, *drawn, strict=True)
    ]
    assert (only(found).low, only(found).high) == pytest.approx(interval(differences))


def test_the_runs_of_two_models_are_drawn_apart_or_together():
    runs = many(4, 30, std=1.0)
    shifted = [run + 0.1 for run in runs]  # each run is that of the other model, and better
    models = {"a": [{"m": run} for run in runs], "b": [{"m": run} for run in shifted]}
    apart, together = (
        only(compare(models, n_resamples=2000, rng=0, paired_runs=paired))
        for paired in (False, True)
    )
    assert apart.low < 0 < apart.high
    assert (together.low, together.high) == pytest.approx((0.1, 0.1))
    assert apart.p_uncorrected == together.p_uncorrected


def test_a_model_of_one_run_keeps_it_and_its_users():
    runs = many(3, 40)
    pop = runs[0] + np.linspace(-0.2, 0.1, 40)
    als = [{"m": run} for run in runs]
    found = only(compare({"pop": {"m": pop}, "als": als}, n_resamples=2000, rng=1))
    expected = [
        resampled(runs - pop, users, drawn)
        for users, drawn in zip(times_drawn(40, 1), runs_drawn(3, 1, 0), strict=True)
    ]
    assert (found.low, found.high) == pytest.approx(interval(expected))


def test_the_variance_is_that_of_users_and_that_of_runs():
    """Of crossed effects: a resample of n varies by (n - 1) / n of the sample's variance."""
    rng = np.random.default_rng(3)
    users, runs = rng.normal(0, 1.0, 400), rng.normal(0, 0.2, 8)
    values = users + runs[:, None]
    sample = statistics.Sample(statistics.sums_of_runs(values, None, 0))
    means = statistics.resampled([sample], 20_000, 0)
    expected = users.var() / 400 + runs.var() / 8
    assert means.var() == pytest.approx(expected, rel=0.05)
    # Either part alone is far from it.
    assert max(users.var() / 400, runs.var() / 8) < 0.8 * expected


@pytest.mark.parametrize("n_runs, covered", [(2, 0.52), (3, 0.74), (5, 0.84), (10, 0.90)])
def test_few_runs_cover_less_as_the_docstring_says(n_runs, covered):
    assert f"{100 * covered:.0f} %" in compare.__doc__
    rng = np.random.default_rng(n_runs)
    n_calls, n_metrics, n_covered = 4, 100, 0
    n_experiments = n_calls * n_metrics
    # Each is an experiment of its own. A name that is known is read sooner than one that is not.
    metrics = [f"ndcg@{k}" for k in range(1, n_metrics + 1)]
    for seed in range(n_calls):
        levels = rng.normal(0.5, 0.01, (n_runs, n_metrics, 1))
        runs = levels + rng.normal(0, 0.0001, (n_runs, n_metrics, 5))
        results = [dict(zip(metrics, run, strict=True)) for run in runs]
        models = {"a": results, "b": dict.fromkeys(metrics, np.zeros(5))}
        means = compare(models, n_resamples=400, rng=seed).means
        intervals = [(mean.low, mean.high) for mean in means if mean.model == "a"]
        assert len(intervals) == n_metrics
        n_covered += sum(low <= 0.5 <= high for low, high in intervals)
    error = 4 * math.sqrt(covered * (1 - covered) / n_experiments)
    assert n_covered / n_experiments == pytest.approx(covered, abs=error)


def test_many_users_are_resampled_in_the_same_blocks_for_every_run():
    runs = np.array(many(3, 20_000, std=0.001))
    models = {"a": [{"m": run} for run in runs], "b": {"m": runs[0]}}
    few = compare(models, n_resamples=2000, rng=0)
    mean = few.means[0]
    error = math.sqrt(runs.mean(axis=0).var() / 20_000 + runs.mean(axis=1).var() / 3)
    assert (mean.high - mean.low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.1)
    alike = [runs[0], runs[0] + 1e-6]  # without blocks in common these would differ by chance
    models = {name: [{"m": each}] * 2 for name, each in zip("ab", alike, strict=True)}
    found = only(compare(models, n_resamples=200, rng=5))
    assert (found.low, found.high) == pytest.approx((1e-6, 1e-6), rel=1e-6)


def test_one_run_is_that_result():
    results = {"als": {"m": RUNS[0]}, "pop": {"m": POP}}
    plain = compare(results, tests=("t", "permutation"), rng=2)
    for wrap in (list, tuple):
        listed = {name: wrap([each]) for name, each in results.items()}
        found = compare(listed, tests=("t", "permutation"), rng=2)
        assert_equal_records(found.means, plain.means)
        assert_equal_records(found.differences, plain.differences)
        assert str(found) == str(plain)
    assert (plain.n_runs, plain.means[0].n_runs, plain.means[0].run_std) == ({}, None, None)
    assert "n_runs" not in plain.to_records("means")[0]


def test_the_mean_of_one_run_is_no_part_of_it():
    runs = np.array([[-0.0, 0.5]])
    mean = statistics.mean_over_runs(runs)
    assert mean.tolist() == [0.0, 0.5]
    assert not np.signbit(mean).any()
    assert not np.shares_memory(mean, runs)


def test_equal_runs_are_one_run():
    runs = [{"m": RUNS[0]}] * 3
    found = compare({"a": runs, "b": {"m": RUNS[0]}}, n_resamples=100, rng=0)
    assert (only(found).ties, only(found).low, only(found).high) == (6, 0, 0)
    assert found.means[0].run_std == 0
    huge = [{"m": [1.7e308] * 3}] * 2  # whose sums overflow: no resample has a difference
    assert math.isnan(only(compare({"a": huge, "b": huge}, n_resamples=100)).low)
    away = compare({"a": huge, "b": [{"m": [-1.7e308] * 3}] * 2})  # whose differences overflow
    assert len(away.movers("m").losses) == 3
    assert away.gate("m >= -1").passed is None  # what has no bound is open
    turned = compare({"a": ALS, "b": ALS[::-1]}, rng=0)
    assert only(turned).ties == 6  # the order of runs changes no bit


def test_system_metrics_have_the_mean_of_the_runs():
    runs = [{"coverage@5": np.array(value), "m": POP} for value in (0.2, 0.3, 0.7)]
    found = compare({"als": runs, "pop": {"coverage@5": 0.5, "m": RUNS[0]}}, rng=0)
    als, pop = found.means[:2]
    assert (als.mean, als.n_users, als.n_runs) == (pytest.approx(0.4), None, 3)
    assert als.run_std == pytest.approx(math.sqrt(0.14 / 2))
    assert math.isnan(als.low)
    assert (pop.mean, pop.best, pop.n_runs) == (0.5, True, 1)


def test_groups_and_weights_have_the_runs_of_their_users():
    by = np.array(["x", "y"] * 3)
    weights = np.array([1, 2, 0, 1, 3, 1])
    found = compare({"als": ALS, "pop": {"m": POP}}, by=by, weights=weights, rng=0)
    [mean] = [each for each in found.means if (each.group, each.model) == ("y", "als")]
    own = [np.average(np.array(run)[by == "y"], weights=weights[by == "y"]) for run in RUNS]
    assert mean.mean == pytest.approx(np.mean(own))
    assert mean.run_std == pytest.approx(np.std(own, ddof=1))
    kept = weights > 0
    alone = compare(
        {"als": [{"m": np.array(run)[kept]} for run in RUNS], "pop": {"m": np.array(POP)[kept]}},
        weights=weights[kept],
        rng=0,
    )
    assert found.means[0] == alone.means[0]


# --- Users who are undefined in some runs --------------------------------------------------------


def test_a_user_has_the_mean_over_the_runs_that_define_it():
    runs = [[1.0, NAN, NAN, 4.0, 0.0], [3.0, 2.0, NAN, 6.0, 1.0]]
    models = {"a": [{"m": run} for run in runs], "b": {"m": [0.0] * 5}}
    found = compare(models, baseline="b", n_resamples=2000, rng=3)
    mean = found.means[0]
    assert mean.mean == pytest.approx((2 + 2 + 5 + 0.5) / 4)
    assert (mean.n_users, mean.n_undefined) == (4, 1)
    assert mean.run_std == pytest.approx(abs(5 / 3 - 12 / 4) / math.sqrt(2))
    assert (only(found).n_users, only(found).n_undefined) == (4, 1)
    kept = [[run[user] for user in (0, 1, 3, 4)] for run in runs]
    expected = [
        resampled(kept, users, drawn)
        for users, drawn in zip(times_drawn(4, 3), runs_drawn(2, 3, 0), strict=True)
    ]
    for each in (mean, only(found)):
        assert (each.low, each.high) == pytest.approx(interval(expected))


def folds(values, n_folds=5):
    """Arrays of all users, each defined in one of them."""
    fold = np.arange(len(values)) % n_folds
    return [{"m": np.where(fold == i, values, NAN)} for i in range(n_folds)]


def test_a_difference_is_resampled_over_the_users_of_its_pair():
    """Each model lacks another user: no mean is of the users whom the difference is of."""
    a, b = np.array(RUNS[:2]), np.array(RUNS[1:])
    a[:, 0], b[:, 1] = NAN, NAN
    models = {"a": [{"m": run} for run in a], "b": [{"m": run} for run in b]}
    found = only(compare(models, n_resamples=2000, rng=0))
    both = {name: [{"m": run[2:]} for run in runs] for name, runs in (("a", a), ("b", b))}
    expected = only(compare(both, n_resamples=2000, rng=0))
    assert (found.low, found.high) == (expected.low, expected.high)


def test_folds_of_users_are_paired():
    rng = np.random.default_rng(8)
    a = rng.random(200)
    b = a + rng.normal(0.05, 0.02, 200)
    models = {"a": folds(a), "b": folds(b)}
    found = only(compare(models, paired_runs=True, n_resamples=2000, rng=0))
    assert found.difference == pytest.approx((b - a).mean())
    assert found.p_uncorrected == pytest.approx(
        only(compare({"a": {"m": a}, "b": {"m": b}})).p_uncorrected
    )
    assert found.high - found.low < 0.02  # users would add 0.1
    with pytest.raises(InputError) as caught:
        compare(models, rng=0)
    assert str(caught.value) == (
        "no user has a value of metric 'm' in two runs of 'a': the runs are folds of users, the "
        "same for every model; type paired_runs=True"
    )
    runs = [{"m": run, "auc": [NAN] * 6} for run in RUNS[:2]]  # of auc no user has a value
    assert np.isnan(compare({"a": runs, "b": runs}).means[2].mean)
    models = {"a": {"m": a}, "b": folds(b)}  # each user has one partner
    one = only(compare(models, n_resamples=2000, rng=0))
    assert one.high - one.low < 0.02


@BACKENDS
def test_frames_of_folds_are_joined(backend):
    make = maker(backend)
    names = np.array([f"u{i}" for i in range(20)])
    values = {"a": np.linspace(0, 1, 20), "b": np.linspace(0.1, 0.8, 20) ** 2}

    def frames(model, order):
        users = [np.flatnonzero(np.arange(20) % 4 == fold)[::order] for fold in range(4)]
        return [make({"user": names[u].tolist(), "auc": values[model][u].tolist()}) for u in users]

    joined = compare({"a": frames("a", 1), "b": frames("b", -1)}, paired_runs=True, rng=0)
    arrays = {name: folds(each, 4) for name, each in values.items()}
    expected = compare(arrays, paired_runs=True, rng=0)
    assert only(joined).difference == pytest.approx(only(expected).difference)
    assert [each.mean for each in joined.means] == pytest.approx(
        [v.mean() for v in values.values()]
    )
    assert (only(joined).wins, only(joined).ties) == (only(expected).wins, only(expected).ties)
    assert joined.means[0].n_runs == 4
    some = [make({"user": ["u0", "u1"], "auc": [0.1, 0.2]}), make({"user": ["u1"], "auc": [0.1]})]
    with pytest.raises(InputError, match=r"^run 1 of 'a' has a list of user 'u0' and run 2 of 'a'"):
        compare({"a": some, "b": frames("b", 1)}, rng=0)


# --- What is refused -----------------------------------------------------------------------------

GOOD = {"m": POP}
MEANS = (
    "expected the value of every user, (n_users,), from which intervals are computed: "
    "give what Metrics.compute or the compute() of an Evaluator returns, not means"
)
BAD = [
    ([], InputError, "the result of 'a' is an empty list; expected one or more runs"),
    ([GOOD, 3], InputTypeError, "run 2 of 'a' is a int; expected what Metrics.compute or "),
    (POP, InputTypeError, "run 1 of 'a' is a float; expected what Metrics.compute or "),
    ([GOOD, {"n": POP}], InputError, "run 2 of 'a' has no metric 'm', which run 1 of 'a' has; "),
    ([GOOD, {"m": POP[:5]}], ShapeError, "metric 'm' of run 2 of 'a' has shape (5,); expected "
     "(6,), as metric 'm' of run 1 of 'a': compare results"),
    ([GOOD, {"m": [math.inf] * 6}], InputError, "metric 'm' of run 2 of 'a' is infinite for 6 "),
    ([{}, {}], InputError, "run 1 of 'a' holds no metric; expected what Metrics.compute or "),
    ([GOOD, {"m": 0.3}], InputTypeError, f"metric 'm' of run 2 of 'a' is one number, 0.3; {MEANS}"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_runs(given, error, message):
    with pytest.raises(error) as caught:
        compare({"a": given, "b": GOOD})
    assert str(caught.value).startswith(message)
    assert only(compare({"a": [GOOD, GOOD], "b": GOOD})).ties == 6


def test_runs_that_cannot_be_paired():
    models = {"a": ALS, "b": ALS[:2], "c": GOOD}
    with pytest.raises(ArgumentError) as caught:
        compare(models, paired_runs=True)
    assert str(caught.value) == (
        "paired_runs=True, but 'a' has 3 runs and 'b' has 2; give the same runs of every model, "
        "or one result"
    )
    with pytest.raises(ArgumentError, match=r"^paired_runs must be True or False, got 'yes'$"):
        compare(models, paired_runs="yes")
    assert compare(models).n_runs == {"a": 3, "b": 2}
    assert compare({"a": ALS, "c": GOOD}, paired_runs=True).n_runs == {"a": 3}


def test_levels_and_summaries_are_of_one_result():
    with pytest.raises(InputTypeError, match=r"^the level 'chance' is a list; expected a dict of "):
        compare({"a": GOOD, "b": GOOD}, levels={"chance": ALS})
    with pytest.raises(InputTypeError) as caught:
        recmetrics.summary(ALS)
    assert str(caught.value).startswith("values is a list; expected one result, what Metrics.")
    assert str(caught.value).endswith(
        "recmetrics.compare takes several runs of a model, {'a': [run1, run2], 'b': other}"
    )


# --- What is printed -----------------------------------------------------------------------------


def test_the_page_says_what_intervals_and_p_values_do_not_cover():
    lines = str(compare({"als": ALS, "pop": GOOD}, rng=0)).splitlines()
    assert [line.split() for line in lines[:4:2]] == [
        ["metric", "model", "mean", "95", "%", "interval", "users", "runs", "run", "std"],
        ["m", "als", "0.4167", *lines[2].split()[3:5], "6", "3", "0.0289", "best"],
    ]
    assert lines[3].split()[-3:] == ["6", "1", "-"]
    lines = lines[lines.index("", 5) + 1 :]
    assert lines[:8] == [
        "95 % intervals by Student's t over users, corrected for skewness; the variance over runs "
        "is added",
        "m: fewer than 10 users are below the highest possible value, and the sample may lack "
        "others, so the lower end of the interval is computed with an additional user of the "
        "lowest possible value",
        "m: fewer than 10 users are above the lowest possible value, and the sample may lack "
        "others, so the upper end of the interval is computed with an additional user of the "
        "highest possible value",
        "difference of m: fewer than 10 users have a difference below 0, and the sample may lack "
        "others, so the lower end of the interval is computed with an additional user of the "
        "lowest possible difference",
        "difference of m: fewer than 10 users have a difference above 0, and the sample may lack "
        "others, so the upper end of the interval is computed with an additional user of the "
        "highest possible difference",
        "m: no minimum or maximum is known; the additional user has the least or the greatest "
        "value measured",
        "intervals do not cover what all runs share, such as the split of the data; for a model "
        "with one run, nor the variation between runs",
        "run std: standard deviation of the means of runs; p-values use the users' means over "
        "runs, and do not cover the variation over runs",
    ]
    models = {"a": ALS, "b": ALS[:2]}
    lines = str(compare(models, n_resamples=2000, rng=0)).splitlines()
    assert (
        "95 % intervals by percentile bootstrap over users and runs, 2,000 resamples; the runs "
        "of each model are drawn independently"
    ) in lines
    assert (
        "intervals do not cover what all runs share, such as the split of the data; with 2 to 3 "
        "runs, the estimate of the variation over runs is rough and too small"
    ) in lines
    paired = compare({"a": ALS, "b": ALS}, paired_runs=True, n_resamples=2000, rng=0)
    assert "resamples; the same runs of all models are drawn" in str(paired)
    often = [{"m": run} for run, _ in itertools.product(RUNS, range(4))]
    assert "rough and too small" not in str(compare({"a": often, "b": GOOD}, rng=0))


def test_users_are_not_planned_where_runs_vary():
    """More users do not make runs agree, so no number of users shows a difference of models."""
    old, new = ({"m": run} for run in many(2, 200))
    found = compare({"old": old, "new": [new, old]}, baseline="old")
    assert math.isnan(only(found).detectable)
    with pytest.raises(ArgumentError, match="'new' has 2 runs, and more users do not reduce"):
        found.users_needed("m", 0.1)
    alone = compare({"old": old, "new": new})
    assert only(alone).detectable > 0
    assert alone.users_needed("m", 0.1).with_value > 1
    gate = found.gate("m > 0")
    assert gate.passed is None
    assert "open: too few users or runs to decide; measure a new sample" in str(gate)
    assert "depends on the true gain" not in str(gate)
    assert "needed is not computed: more users do not reduce the variation between runs" in str(
        gate
    )


@pytest.mark.parametrize("paired_runs", [False, True])
def test_a_run_without_any_value_is_refused(paired_runs):
    """Its model would count as one of two runs, and have the interval of a single one."""
    runs = [{"m": [0.1, 0.4, 0.2]}, {"m": [NAN] * 3}]
    message = r"^run 2 of 'als' has no value of metric 'm', so it says nothing about the variation"
    with pytest.raises(InputError, match=message):
        compare({"als": runs, "pop": {"m": [0.1, 0.2, 0.2]}}, paired_runs=paired_runs)
    with pytest.raises(InputError, match=message.replace("2", "1")):
        compare({"pop": runs[0], "als": runs[::-1]}, paired_runs=paired_runs)
    # Without a value in any run, there is no variation either, and no interval.
    none = compare({"als": [{"m": [NAN] * 3}] * 2, "pop": {"m": [NAN] * 3}})
    assert math.isnan(none.means[0].low)
