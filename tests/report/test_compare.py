"""Comparison: hand-worked numbers, scipy.stats called directly, groups, levels, chance."""

import itertools
import math
import threading
import tracemalloc
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from asserts import assert_equal_records
from compared import LEVELS, NAN, NEW, OLD, SMALL, TESTS, calls_of_warnings, models, only
from scipy import stats

import recmetrics
from recmetrics import Metrics, compare
from recmetrics._core.spec.registry import METRICS
from recmetrics._report import differences as _compare
from recmetrics._report import statistics

NAMES = ("old", "new")


def test_a_pair_by_hand():
    found = only(compare({"old": {"m": OLD}, "new": {"m": NEW}}, rng=0))
    # Differences 0.2, 0.1, 0, 0.3, 0.1, 0.2: their squared deviations from 0.15 add up to 0.055.
    std = math.sqrt(0.055 / 5)
    assert (found.model, found.against, found.metric) == ("new", "old", "m")
    assert found.difference == pytest.approx(0.9 / 6)
    assert found.effect_size == pytest.approx(0.15 / std)
    assert (found.wins, found.ties, found.losses) == (5, 1, 0)
    assert (found.n_users, found.n_undefined) == (6, 0)
    old, new = compare({"old": {"m": OLD}, "new": {"m": NEW}}, rng=0).means
    assert (old.mean, new.mean) == pytest.approx((1.5 / 6, 2.4 / 6))
    assert (old.best, new.best, old.n_users, old.n_undefined) == (False, True, 6, 0)


def test_undefined_users_are_left_out_pair_by_pair_and_counted():
    values = {
        "a": {"m": [1.0, NAN, 3.0, 4.0]},
        "b": {"m": [2.0, 5.0, NAN, 6.0]},
        "c": {"m": [0.0, 0.0, 0.0, 0.0]},
    }
    found = compare(values, rng=0)
    assert [(m.mean, m.n_users, m.n_undefined) for m in found.means] == [
        ((1 + 3 + 4) / 3, 3, 1),
        ((2 + 5 + 6) / 3, 3, 1),
        (0, 4, 0),
    ]
    assert [(d.model, d.against, d.difference, d.n_users) for d in found.differences] == [
        ("b", "a", (1 + 2) / 2, 2),
        ("c", "a", -(1 + 3 + 4) / 3, 3),
        ("c", "b", -(2 + 5 + 6) / 3, 3),
    ]
    assert [d.n_undefined for d in found.differences] == [2, 1, 1]


def test_holm_by_hand():
    # Sorted: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.04 x 1; none below the one before.
    assert statistics.correct([0.03, 0.01, 0.04, 0.02], "holm") == pytest.approx(
        [0.06, 0.04, 0.06, 0.06]
    )
    assert statistics.correct([0.9, NAN, 0.6], "holm") == pytest.approx(
        [1.0, NAN, 1.0], nan_ok=True
    )


def test_benjamini_hochberg_by_hand():
    # p x n / rank: 0.04, 0.04, 0.04, 0.04; then 0.9 x 5 / 5.
    assert statistics.correct([0.03, 0.01 * 4 / 5, 0.032, 0.9, 0.016], "bh") == pytest.approx(
        [0.04, 0.04, 0.04, 0.9, 0.04]
    )
    assert statistics.correct([0.01, 0.02], None) == [0.01, 0.02]


def test_each_test_is_corrected_for_all_pairs_and_metrics():
    found = compare(models(), tests=("wilcoxon", "t"), rng=0).differences
    assert len(found) == 3 * 2
    for test in ("t", "wilcoxon"):
        p = [each.p_uncorrected[test] for each in found]
        assert [each.p[test] for each in found] == statistics.correct(p, "holm")
    assert {each.significant for each in found} == {True, False}
    assert [d.significant for d in found] == [d.p["wilcoxon"] < 0.05 for d in found]


def test_lower_is_better_turns_best_wins_and_worst_around():
    values = {"a": {"gini@5": [1.0, 2.0, 3.0], "x": [1, 2, 3]}}
    values["b"] = {"gini@5": [2.0, 3.0, 3.0], "x": [1, 1, 1]}
    found = compare(values, rng=0, lower_is_better="x", by=["g", "h", "h"])
    assert [m.best for m in found.means if m.group is None] == [True, False, False, True]
    gini, x = (d for d in found.differences if d.group is None)
    assert (gini.difference, gini.wins, gini.ties, gini.losses) == (2 / 3, 0, 1, 2)
    assert (x.difference, x.wins, x.ties, x.losses) == (-1, 2, 1, 0)
    assert found.worst_group("x", "a").group == "h"
    assert found.worst_group("gini@5", "b", "a").group == "g"
    assert found.lower_is_better == {"gini@5", "x"}
    lower = {name for name, metric in METRICS.items() if not metric.higher_is_better}
    lists = {"fallout", "mean_rank", "percentile_rank", "popularity", "calibration"}
    assert lower == lists | {"gini", "exposure_gini"}
    assert "Lower is better." in Metrics.calibration_at_k.__doc__
    assert "Lower is better." not in Metrics.ndcg_at_k.__doc__


@pytest.mark.parametrize("n_users", [8, 60, 400])
def test_p_values_are_those_of_scipy(n_users):
    values = models(n_users, 2, ("m",), seed=5)
    a, b = values["model0"]["m"], values["model1"]["m"]
    a[:3] = b[:3]  # who does not differ has no sign and no rank
    found = only(compare(values, tests=TESTS, rng=3)).p_uncorrected
    assert found["wilcoxon"] == pytest.approx(stats.wilcoxon((b - a)[3:]).pvalue)
    flips = stats.permutation_test(
        (b - a,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=3000,
        random_state=np.random.default_rng(0),
    ).pvalue
    tolerance = 1e-12 if n_users == 8 else 4 * math.sqrt(flips * (1 - flips) / 3000)
    assert found["permutation"] == pytest.approx(flips, abs=tolerance)


def test_the_t_test_is_that_of_scipy():
    values = models(60, 2, ("m",), seed=5)
    a, b = values["model0"]["m"], values["model1"]["m"]
    comparison = only(compare(values))
    assert min(comparison.wins, comparison.losses) >= 10  # no side counts one more user
    assert comparison.p_uncorrected["t"] == pytest.approx(stats.ttest_rel(b, a).pvalue)


def test_the_permutation_test_of_few_users_tries_every_flip():
    d = np.array([0.3, 0.1, -0.2, 0.4, 0.5])
    sums = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in flips(5)]
    expected = np.mean([abs(each) >= abs(d.sum()) - 1e-12 for each in sums])
    assert p_value("permutation", d) == pytest.approx(expected)
    # Two equal users of two: four flips, two of them as far from zero.
    assert p_value("permutation", np.array([1.0, 1.0, 0.0])) == 2 / 4
    # One user who differs: both signs are equally far from zero.
    assert p_value("permutation", np.array([0.0, 0.7, 0.0])) == 1.0


@pytest.mark.parametrize("wins, losses", [(9, 2), (34, 16)])
def test_the_permutation_test_of_a_binary_metric_is_the_sign_test(wins, losses):
    d = np.repeat([1.0, -1.0, 0.0], [wins, losses, 30])
    n = wins + losses
    expected = 2 * sum(math.comb(n, k) for k in range(losses + 1)) / 2**n
    error = 4 * math.sqrt(expected * (1 - expected) / 9_999) if n > 13 else 1e-12
    assert p_value("permutation", d) == pytest.approx(expected, abs=error)


def p_value(test, differences):
    zeros = np.zeros(len(differences))
    found = compare(
        {"a": {"m": zeros}, "b": {"m": differences}}, tests=test, n_resamples=100, rng=0
    )
    return only(found).p_uncorrected[test]


def exact(ranks):
    """The share of all flips whose sum lies as far from zero, by a count of each sum."""
    counts = Counter([0])
    for rank in ranks:
        longer = Counter()
        for so_far, n in counts.items():
            longer[so_far + rank] += n
            longer[so_far - rank] += n
        counts = longer
    return sum(n for s, n in counts.items() if abs(s) >= abs(sum(ranks))) / 2 ** len(ranks)


def normal(ranks):
    """Both tails beyond the sum, whose variance is that of independent signs."""
    return math.erfc(abs(sum(ranks)) / math.sqrt(2 * sum(rank**2 for rank in ranks)))


def signed(values):
    """The last quarter, of the largest, is negative."""
    n_positive = len(values) - len(values) // 4
    return [*values[:n_positive], *(-value for value in values[n_positive:])]


@pytest.mark.parametrize(
    "sizes, ranks, distribution",
    [
        (range(1, 51), range(1, 51), exact),
        (range(1, 52), range(1, 52), normal),
        ([1] * 9 + [2] * 4, [5] * 9 + [11.5] * 4, exact),
        ([1] * 9 + [2] * 5, [5] * 9 + [12] * 5, normal),
        ([1] * 30, [15.5] * 30, normal),
    ],
)
def test_the_distribution_of_signed_ranks(sizes, ranks, distribution):
    d = np.array(signed(sizes) + [0] * 5, float)
    expected = distribution(signed(ranks))
    assert 0.001 < expected < 0.5
    assert p_value("wilcoxon", d) == pytest.approx(expected, rel=1e-9)


def test_differences_that_rounding_tells_apart_share_a_rank():
    assert 0.3 - 0.2 < 0.2 - 0.1
    # Ranks 1.5, -1.5 and 3: of eight flips 6, 3, 3, -3, -3 and -6 are as far from zero as 3.
    rounded = np.array([0.2 - 0.1, -(0.3 - 0.2), 0.4])
    assert p_value("wilcoxon", rounded) == 6 / 8
    # Ranks 2, -1 and 3: 6, 4, -4 and -6 are as far as 4.
    apart = np.array([0.1 + 1e-11, -0.1, 0.4])
    assert p_value("wilcoxon", apart) == 4 / 8


def flips(n):
    return itertools.product((1, -1), repeat=n)


@pytest.mark.parametrize("test", TESTS)
def test_batches_change_no_bit(test, monkeypatch):
    values = models(100, 2, ("m",))
    whole = only(compare(values, tests=test, rng=0))
    monkeypatch.setattr(statistics, "_DRAW_BYTES", 1)
    single = only(compare(values, tests=test, rng=0))
    assert single.p_uncorrected == whole.p_uncorrected
    assert (single.low, single.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_equal_models_do_not_differ():
    found = compare({"a": {"m": OLD}, "b": {"m": OLD}}, tests=TESTS)
    assert only(found).p_uncorrected == {"t": 1.0, "wilcoxon": 1.0, "permutation": 1.0}
    assert only(found).effect_size == 0
    assert math.isnan(only(found).low)  # the range of m is not known: nothing is
    assert (only(found).ties, only(found).significant) == (6, False)
    assert not any(mean.best for mean in found.means)


def test_means_that_differ_by_rounding_have_no_best():
    sevenths = [i / 7 for i in range(8)]
    orders = {"a": sevenths, "b": sevenths[::-1], "c": sevenths[1::2] + sevenths[::2]}
    found = compare({name: {"mrr": np.array(values) / 3} for name, values in orders.items()})
    assert len({mean.mean for mean in found.means}) > 1
    assert not any(mean.best for mean in found.means)


def perfect_users(n_users, seed):
    """Values of 1, of which each has an error of -4e-16 to 4e-16, as sums in another order have."""
    return 1 + np.random.default_rng(seed).integers(-2, 3, n_users) * 2.0**-52


def test_rounding_makes_no_difference():
    exact = {"ndcg@10": np.ones(3000)}
    expected = compare({"old": exact, "new": exact}, tests=TESTS)
    rounded = {name: {"ndcg@10": perfect_users(3000, seed)} for seed, name in enumerate(NAMES)}
    found = compare(rounded, tests=TESTS)
    difference = only(found)
    assert (difference.wins, difference.ties, difference.losses) == (0, 3000, 0)
    assert difference.p == {"t": 1.0, "wilcoxon": 1.0, "permutation": 1.0}
    assert not difference.significant
    assert difference.effect_size == 0
    assert found.means == expected.means
    assert_equal_records(found.differences, expected.differences)


# Some are a little more in float32, and some a little less.
VALUES = np.array([1 / 3, 0.1, 0.7, 1 / math.log2(3), 0.9, 0.6])


@pytest.mark.parametrize("metric", ["ndcg@10", "m"])
@pytest.mark.parametrize("form", ["array", "frame", "frame with null", "torch"])
def test_values_in_float32_and_in_float64_are_equal(metric, form):
    double = np.repeat(VALUES, 50)
    values = {"old": {metric: double}, "new": {metric: double.astype(np.float32)}}
    if form == "torch":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        values["new"] = {metric: torch.tensor(double, dtype=torch.float32)}
    elif form != "array":
        pytest.importorskip("narwhals", reason="narwhals is not installed")
        polars = pytest.importorskip("polars", reason="polars is not installed")
        if form == "frame with null":
            double[7] = np.nan
        for name, dtype in zip(NAMES, (polars.Float64, polars.Float32), strict=True):
            column = polars.Series(double).fill_nan(None).cast(dtype)
            values[name] = polars.DataFrame({"user": range(double.size), metric: column})
    found = compare(values, tests=TESTS, metrics=metric)
    n_users = np.count_nonzero(~np.isnan(double))
    difference = only(found)
    assert (difference.wins, difference.ties, difference.losses) == (0, n_users, 0)
    assert difference.p == {"t": 1.0, "wilcoxon": 1.0, "permutation": 1.0}
    assert not any(mean.best for mean in found.means)


def test_rounding_of_float32_decides_no_test():
    single = np.float32
    # Ranks 1.5, -1.5 and 3, as in float64: 6 of 8 flips are as far from zero.
    old = np.array([0.1, 0.3, 0.1], single)
    new = np.array([0.2, 0.2, 0.5], single)
    values = {"old": {"m": old}, "new": {"m": new}}
    assert only(compare(values, tests="wilcoxon")).p["wilcoxon"] == 6 / 8
    # Every user gains 0.1: p = 2^(1 - 8) if the signs are by chance.
    old = np.linspace(0.1, 0.8, 8).astype(single)
    values = {"old": {"m": old}, "new": {"m": old + single(0.1)}}
    assert len({*(old + single(0.1) - old)}) > 1
    difference = only(compare(values, tests=TESTS))
    assert difference.p == {"t": 2**-7, "wilcoxon": 2**-7, "permutation": 2**-7}


def test_rounding_hides_no_loss_and_makes_none():
    # 12 of 60 users gain 1, nobody loses: so the bound counts one more user.
    old = perfect_users(60, 0)
    old[:12] = 0
    difference = only(compare({"old": {"m": old}, "new": {"m": perfect_users(60, 1)}}))
    assert (difference.wins, difference.ties, difference.losses) == (12, 48, 0)
    assert difference.widened == ("low",)
    # The differences are 12 times 1 and 48 times 0: p = 2^(1 - 12) if the signs are by chance.
    difference = only(
        compare({"old": {"m": old}, "new": {"m": perfect_users(60, 1)}}, tests="wilcoxon")
    )
    assert difference.p["wilcoxon"] == 2**-11


def test_rounding_is_relative_to_the_values_of_an_unknown_metric():
    for unit in (1e6, 1e-30):
        values = np.array([1.0, 2.0, 3.0]) * unit
        rounded = compare({"a": {"m": values}, "b": {"m": values * (1 + 4e-16)}})
        assert only(rounded).ties == 3
        larger = compare({"a": {"m": values}, "b": {"m": values * (1 + 1e-11)}})
        assert only(larger).wins == 3


def test_rounding_near_0_is_relative_to_the_range():
    # 1 - the product of two unit vectors of one direction is 1e-16, or -1e-16.
    values = {"a": {"ndcg@10": [1e-16, -1e-16, 0.0]}, "b": {"ndcg@10": [-1e-16, 0.0, 1e-16]}}
    found = compare(values)
    assert only(found).ties == 3
    assert [mean.mean for mean in found.means] == [0, 0]
    assert not found.observed


@pytest.mark.parametrize("n_runs", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_rounding_of_runs_moves_no_interval(n_runs):
    runs = {
        name: [{"ndcg@10": perfect_users(50, [n, run])} for run in range(n)]
        for name, n in zip(NAMES, n_runs, strict=True)
    }
    difference = only(compare(runs, n_resamples=200))
    assert (difference.low, difference.high) == (0, 0)


def test_rounding_opens_no_gate():
    values = {name: {"ndcg@10": perfect_users(3000, seed)} for seed, name in enumerate(NAMES)}
    [verdict] = compare(values, baseline="old").gate("ndcg@10 >= 0").verdicts
    exact = {name: {"ndcg@10": np.ones(3000)} for name in NAMES}
    [expected] = compare(exact, baseline="old").gate("ndcg@10 >= 0").verdicts
    assert verdict == expected


def test_the_same_difference_for_everyone():
    ones = compare({"a": {"m": [0, 0, 0]}, "b": {"m": [1, 1, 1]}})
    weighted = compare({"a": {"m": [0, 0, 0]}, "b": {"m": [1, 1, 1]}}, weights=[1, 2, 3])
    for found in (ones, weighted):
        assert (only(found).effect_size, only(found).p_uncorrected["t"]) == (math.inf, 2 / 2**3)
    assert only(compare({"b": {"m": [1, 1, 1]}, "a": {"m": [0, 0, 0]}})).effect_size == -math.inf
    rounded = compare({"a": {"m": OLD}, "b": {"m": [x + 0.1 for x in OLD]}})
    assert (only(rounded).effect_size, only(rounded).p_uncorrected["t"]) == (math.inf, 2 / 2**6)
    assert only(rounded).significant
    many = compare({"a": {"m": np.zeros(5000)}, "b": {"m": np.ones(5000)}})
    assert (only(many).p_uncorrected["t"], only(many).significant) == (0, True)


@pytest.mark.parametrize("n_users", [0, 1])
def test_too_few_users_have_no_interval_and_no_test(n_users):
    values = {name: {"m": [0.5] * n_users + [NAN]} for name in "ab"}
    found = compare(values, tests=TESTS)
    assert all(math.isnan(p) for p in only(found).p_uncorrected.values())
    assert math.isnan(only(found).low)
    assert math.isnan(only(found).effect_size)
    assert not only(found).significant
    assert (only(found).n_users, only(found).n_undefined) == (n_users, 1)
    assert math.isnan(only(found).difference) == (n_users == 0)
    assert " - " in str(found)


AWKWARD = {
    "undefined": [NAN, 0.0, 0.0, 1.0],
    "no user": [NAN],
    "one user": [0.1],
    "two users": [0.1, 0.4],
    "two equal": [0.2 - 0.1, 0.3 - 0.2],
    "two opposite": [0.1, -0.1],
    "one who differs": [0.0, 0.0, 0.3],
    "zeros": [0.0] * 9,
    "few ties": [0.2 - 0.1, -(0.3 - 0.2), 0.1, 0.5, 0.0],
    "many ties": [1.0] * 20 + [-1.0] * 10 + [0.0] * 30,
    "all equal": [0.1] * 60,
    "almost equal": [0.1 + i * 1e-12 for i in range(60)],
    "untied": [i * (-1) ** i for i in range(40)],
    "many": [math.sin(i) for i in range(400)],
}


def awkward(name):
    zeros = np.where(np.isnan(AWKWARD[name]), NAN, 0.0)
    results = {"a": {"m": zeros}, "b": {"m": np.array(AWKWARD[name])}}
    return compare(results, tests=TESTS, by=["x"] * zeros.size, n_resamples=100, rng=0)


@pytest.mark.parametrize("name", AWKWARD)
def test_nothing_warns_and_nothing_is_modified(name):
    values = {"a": np.array(AWKWARD[name]), "b": np.array(AWKWARD[name])[::-1]}
    before = {name: array.copy() for name, array in values.items()}
    for array in values.values():
        array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        awkward(name)
        compare({name: {"m": array} for name, array in values.items()}, tests=TESTS)
    for name, array in values.items():
        np.testing.assert_array_equal(array, before[name])


def test_threads_leave_the_filters_of_warnings_alone():
    expected = [str(awkward(name)) for name in AWKWARD]
    filters, calls = list(warnings.filters), []
    threading.setprofile(calls_of_warnings(calls))
    try:
        with ThreadPoolExecutor(8) as pool:
            found = [str(each) for each in pool.map(awkward, [*AWKWARD] * 4)]
    finally:
        threading.setprofile(None)
    assert found == expected * 4
    assert calls == []  # even filters that are put back are wrong for the other threads meanwhile
    assert warnings.filters == filters


def test_groups_are_compared_as_if_alone():
    values = models(90)
    groups = np.array(["cold", "warm", "hot"])[np.arange(90) % 3]
    found = compare(values, by=groups, rng=4)
    assert found.groups == ("cold", "hot", "warm")
    alone = compare(
        {m: {k: v[groups == "hot"] for k, v in r.items()} for m, r in values.items()}, rng=4
    )
    for mine, other in (("means", alone.means), ("differences", alone.differences)):
        of_group = [each for each in getattr(found, mine) if each.group == "hot"]
        for one, same in zip(of_group, other, strict=True):
            assert (one.value, one.low, one.high) == (same.value, same.low, same.high)
    overall = compare(values, rng=4)
    assert [d for d in found.differences if d.group is None] == list(overall.differences)
    assert [m for m in found.means if m.group is None] == list(overall.means)
    # The p-values of all groups are corrected together.
    of_groups = [d for d in found.differences if d.group is not None]
    assert len(of_groups) == 3 * 3 * 2
    expected = statistics.correct([d.p_uncorrected["t"] for d in of_groups], "holm")
    assert [d.p["t"] for d in of_groups] == expected


def test_the_worst_group_is_named():
    by = ["x", "x", "y", "y"]
    found = compare({"a": {"m": [1, 2, 3, 4]}, "b": {"m": [9, 9, 3, 4]}}, by=by, rng=0)
    assert found.worst_group("m", "a").group == "x"
    assert found.worst_group("m", "a").mean == 1.5
    assert found.worst_group("m", "b", "a").group == "y"
    assert found.worst_group("m", "b", "a").difference == 0
    assert "x (1.5000)" in str(found)
    assert "y (+0.0000)" in str(found)
    assert compare({"a": {"m": [1, 2]}, "b": {"m": [2, 3]}}).worst_group("m", "a") is None


def test_a_group_without_a_defined_value_is_not_the_worst():
    values = {"a": {"m": [NAN, NAN, 1, 2]}, "b": {"m": [NAN, NAN, 2, 4]}}
    found = compare(values, by=[0, 0, 1, 1])
    assert found.worst_group("m", "a").group == 1
    nowhere = compare({m: {"m": [NAN, NAN]} for m in "ab"}, by=[0, 1])
    assert nowhere.worst_group("m", "a") is None


def test_deterministic_given_rng():
    values = models()
    tests = ("t", "permutation")
    first = compare(values, tests=tests, rng=5)
    assert compare(values, tests=tests, rng=5).differences == first.differences
    generator = np.random.default_rng(5)
    assert compare(values, tests=tests, rng=generator).differences == first.differences
    assert compare(values, tests=tests, rng=generator).differences != first.differences
    assert compare(values, tests=tests, rng=6).means == first.means  # t intervals draw nothing
    assert str(compare(values, tests=tests)) == str(compare(values, tests=tests, rng=0))
    draws = [compare(values, n_resamples=100, rng=rng).means for rng in (5, 5, 6, None, None)]
    assert draws[0] == draws[1] != draws[2]
    assert draws[3] != draws[4]


def test_a_number_depends_on_its_own_values_alone():
    values = models()
    all_of_them = compare(values, tests=("t", "permutation"), rng=0)
    some = {name: {"recall@10": values[name]["recall@10"]} for name in ("model2", "model0")}
    [alone] = compare(some, baseline="model0", tests=("t", "permutation"), rng=0).differences
    [same] = [
        each
        for each in all_of_them.differences
        if (each.metric, each.model, each.against) == ("recall@10", "model2", "model0")
    ]
    assert (alone.p_uncorrected, alone.low, alone.high) == (same.p_uncorrected, same.low, same.high)


def test_intervals_cover_and_tests_keep_their_level():
    """A small run of benchmarks/comparison.py: binomial, so the bounds are 4 standard errors."""
    n_experiments = 400
    rng = np.random.default_rng(11)
    covered, found = 0, dict.fromkeys(TESTS, 0)
    for _ in range(n_experiments):
        # Equal models: which of the two a user prefers is chance, as in a null hypothesis.
        a, b = rng.beta(0.5, 2.0, (2, 80)) * (rng.random((2, 80)) < 0.7)
        models = {"a": {"ndcg@10": a}, "b": {"ndcg@10": b}}  # a name that is known is read at once
        each = only(compare(models, tests=TESTS, n_resamples=400, rng=int(rng.integers(99))))
        covered += each.low <= 0 <= each.high
        for test, p in each.p_uncorrected.items():
            found[test] += p < 0.05
    error = 4 * math.sqrt(0.05 * 0.95 / n_experiments)
    assert covered / n_experiments == pytest.approx(0.95, abs=error)
    for test, count in found.items():
        assert count / n_experiments == pytest.approx(0.05, abs=error), test


def test_a_million_users_take_200_mb_beside_the_results(monkeypatch):
    monkeypatch.setattr(statistics, "SIGN_FLIPS", 20)
    monkeypatch.setattr(_compare, "check_count", lambda *_: 5)
    tests = ("t", "wilcoxon", "permutation")
    values = {name: {m: np.arange(1e6) % 7 + (name == "b") for m in "vwxyz"} for name in "ab"}
    compare(SMALL, tests=tests)  # what is imported on the way is not measured
    tracemalloc.start()
    compare(values, tests=tests, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 205e6


def test_markdown_reads_nothing_into_names():
    name = "![x](http://e.example/t.png) &amp; $1$ #2 ~~www.e.example~~"
    found = compare({name: {name: OLD}, "b": {name: NEW}}, by=[name, "x"] * 3, rng=0)
    for text in (found.to_markdown(), found.compact().to_markdown()):
        escaped = "".join(f"\\{each}" if each in "![]&$#~" else each for each in name)
        escaped = escaped.replace("://", "\\://").replace("www.", "www\\.")
        assert text.count(escaped) == text.count("e.example/t.png")
    assert name not in recmetrics.summary({name: OLD}, by=[name, "x"] * 3).to_markdown()


def test_levels_are_shown_and_not_compared():
    plain, found = compare(SMALL, rng=0), compare(SMALL, rng=0, levels=LEVELS)
    assert_equal_records(found.differences, plain.differences)
    assert (found.models, found.levels) == (("old", "new"), ("chance", "ceiling"))
    shown = [each for each in found.means if each.model in found.levels]
    own = tuple(each for each in found.means if each.model in found.models)
    assert repr(own) == repr(plain.means)  # NaN and all
    assert [(each.model, each.metric, each.best) for each in shown] == [
        ("chance", "m", False),
        ("ceiling", "m", False),
    ]
    assert [each.mean for each in shown] == [pytest.approx(1.2 / 6), 1.0]
    assert shown[0].low < shown[0].mean < shown[0].high
    assert found.to_records("means")[2]["model"] == "chance"
    grouped = compare(SMALL, rng=0, levels=LEVELS, by=["x", "y"] * 3)
    [chance] = [each for each in grouped.means if (each.model, each.group) == ("chance", "y")]
    assert chance.mean == pytest.approx((0.1 + 0.2 + 0.6) / 3)


def test_a_level_is_never_marked_best():
    levels = {"as good": {"m": NEW}, "better": {"m": [1.0] * 6}}
    found = compare(SMALL, levels=levels, by=["x", "y"] * 3)
    for group in (None, "x", "y"):
        best = {each.model: each.best for each in found.means if each.group == group}
        assert best == {"old": False, "new": True, "as good": False, "better": False}


def test_a_range_is_described_and_not_tested():
    results = models(metrics=("ndcg@1", "ndcg@2", "ndcg@3", "mrr"))
    metrics = ["ndcg@1:3", "ndcg@2", "mrr"]
    found = compare(results, metrics=metrics, rng=0)
    alone = compare(results, metrics=["ndcg@2", "mrr"], rng=0)
    assert found.metrics == ("ndcg@1", "ndcg@2", "ndcg@3", "mrr")
    tested = [each for each in found.differences if each.metric in alone.metrics]
    assert tested == list(alone.differences)  # the correction, too
    others = [each for each in found.differences if each not in tested]
    assert len(others) == 6
    assert not any(each.significant or each.p["t"] == each.p["t"] for each in others)
    assert all(each.low < each.difference < each.high for each in others)
    assert "not tested: 2 cutoffs of a range; name a cutoff alone, too, to test it" in str(found)
    assert "corrected by Holm over 2 metrics x 3 pairs" in str(found)
    for result in results.values():  # no metric of all lists is ever tested
        result |= {f"coverage@{k}": np.array(k / 8) for k in (1, 2, 3)}
    found = compare(results, metrics=["ndcg@2", "coverage@1:3"])
    assert "of a range" not in str(found)
    assert found.to_dict()["untested"] == []
    only_range = str(compare(results, metrics="ndcg@1:3", rng=0))
    assert "significant: none; a range of cutoffs is not tested" in only_range
    assert list(recmetrics.summary(results["model0"], metrics="ndcg@1:3").means) == [
        *("ndcg@1", "ndcg@2", "ndcg@3")
    ]


def test_p_never_says_that_models_differ_where_the_interval_contains_0():
    rng = np.random.default_rng(9)
    differences = 0.1 * (rng.gamma(1, size=100) - 1.2)  # many lose little, few gain much
    new = np.clip(differences, 0, 1)
    old = np.clip(-differences, 0, 1)
    models = {"old": {"ndcg@10": old}, "new": {"ndcg@10": new}}

    difference = only(compare(models))
    p = difference.p["t"]
    assert stats.ttest_rel(new, old).pvalue < 0.05 < p
    assert difference.low < 0 < difference.high
    assert difference.p_raised
    assert not difference.significant
    assert only(compare(models, confidence=1 - p)).high == pytest.approx(0, abs=1e-12)

    # With another confidence, interval and test agree.
    agreeing = only(compare(models, confidence=0.9))
    assert agreeing.high < 0
    assert agreeing.p["t"] == pytest.approx(stats.ttest_rel(new, old).pvalue, rel=1e-12)
    assert not agreeing.p_raised
