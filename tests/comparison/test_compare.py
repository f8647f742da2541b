"""Comparison: hand-worked numbers, scipy.stats called directly, what is printed, bad input."""

import importlib
import itertools
import json
import math
import re
import sys
import threading
import tracemalloc
import types
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import recmetrics
from recmetrics import ArgumentError, InputError, InputTypeError, Metrics, ShapeError, compare
from recmetrics._spec.registry import METRICS
from recmetrics.comparison import _compare, _statistics

NAN = math.nan
OLD = [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]
NEW = [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]
TESTS = ("t", "wilcoxon", "permutation")
SMALL = {
    "old": {"m": OLD, "coverage@5": np.array(0.25)},
    "new": {"m": NEW, "coverage@5": np.array(0.5)},
}


def models(n_users=200, n_models=3, metrics=("ndcg@10", "recall@10"), seed=0):
    """Models that share most of what their users get, each a little better than the one before."""
    rng = np.random.default_rng(seed)
    shared = {metric: rng.random(n_users) for metric in metrics}
    return {
        f"model{i}": {m: v + rng.normal(0.02 * i, 0.1, n_users) for m, v in shared.items()}
        for i in range(n_models)
    }


def only(comparison):
    [difference] = comparison.differences
    return difference


# --- Hand-worked numbers -------------------------------------------------------------------------


def test_a_pair_by_hand():
    found = only(compare({"old": {"m": OLD}, "new": {"m": NEW}}, rng=0))
    # Differences 0.2, 0.1, 0, 0.3, 0.1, 0.2: their squared deviations from 0.15 add up to 0.055.
    std = math.sqrt(0.055 / 5)
    assert (found.model, found.against, found.metric) == ("new", "old", "m")
    assert found.difference == pytest.approx(0.9 / 6)
    assert found.effect_size == pytest.approx(0.15 / std)
    assert (found.wins, found.ties, found.losses) == (5, 1, 0)
    assert (found.n_users, found.n_undefined) == (6, 0)
    t = 0.15 / (std / math.sqrt(6))
    assert found.p_values["t"] == pytest.approx(2 * stats.t.sf(t, df=5))
    assert found.significant
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
    assert _statistics.correct([0.03, 0.01, 0.04, 0.02], "holm") == pytest.approx(
        [0.06, 0.04, 0.06, 0.06]
    )
    assert _statistics.correct([0.9, NAN, 0.6], "holm") == pytest.approx(
        [1.0, NAN, 1.0], nan_ok=True
    )


def test_benjamini_hochberg_by_hand():
    # p x n / rank: 0.04, 0.04, 0.04, 0.04; then 0.9 x 5 / 5.
    assert _statistics.correct([0.03, 0.01 * 4 / 5, 0.032, 0.9, 0.016], "bh") == pytest.approx(
        [0.04, 0.04, 0.04, 0.9, 0.04]
    )
    assert _statistics.correct([0.01, 0.02], None) == [0.01, 0.02]


def test_each_test_is_corrected_for_all_pairs_and_metrics():
    found = compare(models(), tests=("wilcoxon", "t"), rng=0).differences
    assert len(found) == 3 * 2
    for test in ("t", "wilcoxon"):
        p = [each.p_values[test] for each in found]
        assert [each.corrected[test] for each in found] == _statistics.correct(p, "holm")
    assert {each.significant for each in found} == {True, False}
    assert [d.significant for d in found] == [d.corrected["wilcoxon"] < 0.05 for d in found]


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


# --- scipy.stats, called in another way ----------------------------------------------------------


def test_a_difference_is_resampled_over_its_pairs():
    rng = np.random.default_rng(2)
    a = rng.random(400)
    b = a + rng.normal(0.05, 0.02, 400)
    found = compare({"a": {"m": a}, "b": {"m": b}}, rng=0)
    width = only(found).high - only(found).low
    assert width == pytest.approx(2 * 1.96 * 0.02 / 20, rel=0.15)
    assert found.means[0].high - found.means[0].low > 10 * width


@pytest.mark.parametrize("n_users", [8, 60, 400])
def test_p_values_are_those_of_scipy(n_users):
    values = models(n_users, 2, ("m",), seed=5)
    a, b = values["model0"]["m"], values["model1"]["m"]
    a[:3] = b[:3]  # who does not differ has no sign and no rank
    found = only(compare(values, tests=("t", "wilcoxon", "permutation"), rng=3)).p_values
    assert found["t"] == pytest.approx(stats.ttest_rel(b, a).pvalue)
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


def test_the_permutation_test_of_few_users_tries_every_flip():
    d = np.array([0.3, 0.1, -0.2, 0.4, 0.5])
    sums = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in flips(5)]
    expected = np.mean([abs(each) >= abs(d.sum()) - 1e-12 for each in sums])
    assert _statistics.p_value("permutation", d, 0) == pytest.approx(expected)
    # Two equal users of two: four flips, two of them as far from zero.
    assert _statistics.p_value("permutation", np.array([1.0, 1.0, 0.0]), 0) == 2 / 4
    # One user who differs: both signs are equally far from zero.
    assert _statistics.p_value("permutation", np.array([0.0, 0.7, 0.0]), 0) == 1.0


@pytest.mark.parametrize("wins, losses", [(9, 2), (34, 16)])
def test_the_permutation_test_of_a_binary_metric_is_the_sign_test(wins, losses):
    d = np.repeat([1.0, -1.0, 0.0], [wins, losses, 30])
    n = wins + losses
    expected = 2 * sum(math.comb(n, k) for k in range(losses + 1)) / 2**n
    error = 4 * math.sqrt(expected * (1 - expected) / 9_999) if n > 13 else 1e-12
    assert _statistics.p_value("permutation", d, 0) == pytest.approx(expected, abs=error)


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
    assert _statistics.p_value("wilcoxon", d, 0) == pytest.approx(expected, rel=1e-9)


def test_differences_that_rounding_tells_apart_share_a_rank():
    assert 0.3 - 0.2 < 0.2 - 0.1
    # Ranks 1.5, -1.5 and 3: of eight flips 6, 3, 3, -3, -3 and -6 are as far from zero as 3.
    rounded = np.array([0.2 - 0.1, -(0.3 - 0.2), 0.4])
    assert _statistics.p_value("wilcoxon", rounded, 0) == 6 / 8
    # Ranks 2, -1 and 3: 6, 4, -4 and -6 are as far as 4.
    apart = np.array([0.1 + 1e-11, -0.1, 0.4])
    assert _statistics.p_value("wilcoxon", apart, 0) == 4 / 8


def flips(n):
    return itertools.product((1, -1), repeat=n)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
def test_batches_change_no_bit(test, monkeypatch):
    values = models(100, 2, ("m",))
    whole = only(compare(values, tests=test, rng=0))
    monkeypatch.setattr(_statistics, "_DRAW_BYTES", 1)
    single = only(compare(values, tests=test, rng=0))
    assert single.p_values == whole.p_values
    assert (single.low, single.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


# --- Equal models, few users ---------------------------------------------------------------------


def test_equal_models_do_not_differ():
    found = compare({"a": {"m": OLD}, "b": {"m": OLD}}, tests=("t", "wilcoxon", "permutation"))
    assert only(found).p_values == {"t": 1.0, "wilcoxon": 1.0, "permutation": 1.0}
    assert (only(found).effect_size, only(found).low, only(found).high) == (0, 0, 0)
    assert (only(found).ties, only(found).significant) == (6, False)
    assert not any(mean.best for mean in found.means)


def test_the_same_difference_for_everyone():
    ones = compare({"a": {"m": [0, 0, 0]}, "b": {"m": [1, 1, 1]}})
    assert (only(ones).effect_size, only(ones).p_values["t"]) == (math.inf, 2 / 2**3)
    assert only(compare({"b": {"m": [1, 1, 1]}, "a": {"m": [0, 0, 0]}})).effect_size == -math.inf
    rounded = compare({"a": {"m": OLD}, "b": {"m": [x + 0.1 for x in OLD]}})
    assert (only(rounded).effect_size, only(rounded).p_values["t"]) == (math.inf, 2 / 2**6)
    assert only(rounded).significant
    many = compare({"a": {"m": np.zeros(5000)}, "b": {"m": np.ones(5000)}})
    assert (only(many).p_values["t"], only(many).significant) == (0, True)


def test_two_users_who_differ_by_the_same_show_nothing():
    found = only(compare({"a": {"m": [0.1, 0.2]}, "b": {"m": [0.2, 0.3]}}, tests=TESTS, rng=0))
    assert found.p_values == dict.fromkeys(TESTS, 2 / 2**2)
    assert not found.significant


@pytest.mark.parametrize("n_users", [0, 1])
def test_too_few_users_have_no_interval_and_no_test(n_users):
    values = {name: {"m": [0.5] * n_users + [NAN]} for name in "ab"}
    found = compare(values, tests=("t", "wilcoxon", "permutation"))
    assert all(math.isnan(p) for p in only(found).p_values.values())
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


def calls_of_warnings(calls):
    """A profiler that collects the functions of the module warnings that are called."""

    def watch(frame, event, _):
        if event == "call" and frame.f_globals.get("__name__") in ("warnings", "_py_warnings"):
            calls.append(frame.f_code.co_name)

    return watch


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


# --- What goes in --------------------------------------------------------------------------------


def test_results_of_compute_with_a_system_metric():
    scores = np.random.default_rng(0).random((2, 30, 20))
    truth = (np.random.default_rng(1).random((30, 20)) < 0.2).astype(float)
    truth[4] = 0
    asked = ["ndcg@5", "coverage@5"]
    results = {name: Metrics.compute(s, truth, asked) for name, s in zip("ab", scores, strict=True)}
    found = compare(results, rng=0)
    assert [each.metric for each in found.differences] == ["ndcg@5"]
    coverage = [each for each in found.means if each.metric == "coverage@5"]
    assert [each.mean for each in coverage] == [float(r["coverage@5"]) for r in results.values()]
    assert {(each.n_users, each.n_undefined) for each in coverage} == {(None, None)}
    assert all(math.isnan(each.low) for each in coverage)
    assert found.means[0].mean == np.nanmean(results["a"]["ndcg@5"])
    assert found.means[0].n_undefined >= 1


def test_objects_that_compute():
    def evaluator(values):
        return types.SimpleNamespace(compute=lambda: {"m": values})

    found = compare({"old": evaluator(OLD), "new": evaluator(NEW)}, rng=0)
    assert only(found) == only(compare({"old": {"m": OLD}, "new": {"m": NEW}}, rng=0))


def frame(backend, users, values):
    return maker(backend)({"user": users, "nrecs": [10] * len(users), "hit@1": values})


def maker(backend):
    """The function of a package that makes a table of columns."""
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    return package.table if backend == "pyarrow" else package.DataFrame


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_rows_of_frames_are_matched_by_user(backend):
    users = ["u", "v", "w", "x", "y", "z"]
    old = frame(backend, users, OLD)
    new = frame(backend, users[::-1], NEW[::-1])
    expected = compare({"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}, rng=0)
    assert only(compare({"old": old, "new": new}, rng=0)) == only(expected)
    frames = {
        "a": frame(backend, users[:3], [1, None, 2]),
        "b": frame(backend, users[:3], [1, 2, 3]),
    }
    found = only(compare(frames))  # integers, one of which is missing
    assert (found.difference, found.n_users, found.wins) == (0.5, 2, 1)


@pytest.mark.parametrize("name", ["user", None])
def test_an_index_names_the_users_whatever_its_type(name):
    users = np.array([1.0, 2.5, 3.0, 4.0, 5.0, 6.0])
    old, new = (
        frame("pandas", users[::step], values[::step]).set_index("user").rename_axis(name)
        for step, values in ((1, np.round(OLD)), (-1, np.round(NEW).astype(int)))
    )
    expected = compare({"old": {"hit@1": np.round(OLD)}, "new": {"hit@1": np.round(NEW)}}, rng=0)
    assert only(compare({"old": old, "new": new}, rng=0)) == only(expected)
    assert list(recmetrics.summary(new).means) == ["hit@1"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_one_frame_has_the_rows_of_all_models(backend):
    columns = {
        "lr": [0.1] * 6 + [0.2] * 6,
        "user": [1, 1, 2, 2, 3, 3] * 2,
        "day": [0.5, 1.5] * 6,
        "segment": ["x", "y", "x", "y", "y", "y"] * 2,
        "visits": [1.0, 2.0, 1.0, 3.0, 1.0, 1.0] * 2,
        "mine": [*OLD, *NEW],
    }
    order = np.random.default_rng(0).permutation(12)
    given = maker(backend)({name: [each[i] for i in order] for name, each in columns.items()})
    named = {"metrics": "mine", "by": "segment", "weights": "visits"}
    arrays = {"by": columns["segment"][:6], "weights": columns["visits"][:6]}
    models = {"0.1": {"mine": OLD}, "0.2": {"mine": NEW}}

    def differences(*results, **options):
        found = compare(*results, **options, baseline="0.1", rng=0).differences
        return [(d.group, d.wins, d.ties, d.losses, pytest.approx(d.difference)) for d in found]

    assert differences(given, model="lr", **named) == differences(models, **arrays)
    found = recmetrics.summary(given, model="lr", **named)
    assert found.models in (("0.1", "0.2"), ("0.2", "0.1"))
    for name, values in models.items():
        own = [(r.group, r.n_users, pytest.approx(r.mean)) for r in found if r.model == name]
        alone = recmetrics.summary(values, **arrays)
        assert sorted(own, key=str) == sorted(
            ((r.group, r.n_users, r.mean) for r in alone), key=str
        )


def test_frames_that_are_refused():
    """Each call that is refused says what to type, and that works."""
    parts = [frame("polars", [1.0, 2.0], values) for values in ([0.0, 1.0], [1.0, 1.0])]
    make = importlib.import_module("polars")
    algo = {n: p.with_columns(algo=make.lit(n)) for n, p in zip("ab", parts, strict=True)}
    long = make.concat(algo.values())
    weighted = {n: p.with_columns(w=make.lit(i)) for i, (n, p) in enumerate(algo.items())}
    chosen = {"metrics": ["hit@1"]}
    by_algo = chosen | {"model": "algo"}
    summary = recmetrics.summary
    for ask, given, options, message in (
        (compare, long, {}, "results has the column 'user' of floats, whose name is no metric "
         "string; type metrics=['hit@1'] to name all metrics, since other columns identify the "
         "user, or model='user' if it names the model"),
        (compare, long, chosen, "results has no column 'model'; type model= and the one of "
         "['user', 'algo'] that is"),
        (compare, algo, chosen, "'a' has a list of user 1.0, algo 'a' and 'b' has none; compare "
         "the same lists; evaluate_table gives every user of the truth a row, unless "
         "include_missing=False leaves some out; if a column names the model, type "
         "model='its name'"),
        (summary, make.concat(parts), chosen, "values has two lists of user 1.0, rows 0 and 2; "
         "expected one: type model='its name' if a column names the model, drop columns that are "
         "no ids"),
        (compare, {"a": long, "b": long}, by_algo, "'a' has rows of several models, column 'algo'; "
         "give compare one frame of all models, or the rows of one model each"),
        (summary, long.with_columns(algo=make.lit(None)), by_algo, "values has no name of a model "
         "in row 0, column 'algo'"),
        (compare, long, {"metrics": "hit"}, "results has no 'hit'; did you mean 'hit@1'?"),
        (compare, SMALL, {"metrics": "n"}, "'old' has no 'n'; expected one of ['m', 'coverage@5']"),
        (compare, long, {"model": 3}, "model must be the name of a column, got 3"),
        (compare, long, {"metrics": []}, "metrics must be the name of a column, got []"),
        (compare, weighted, by_algo | {"weights": "w"}, "'b' has other values in the column 'w' "
         "than 'a'; expected one value for each user"),
    ):  # fmt: skip
        with pytest.raises(recmetrics.RecmetricsError) as caught:
            ask(given, **options)
        assert str(caught.value) == message
    for given in (long, algo):
        assert only(compare(given, **by_algo)).wins == 1
    assert summary(long, **by_algo).means == {"a/hit@1": 0.5, "b/hit@1": 1.0}
    assert compare(SMALL, metrics="coverage@5").metrics == ("coverage@5",)


def test_frames_of_other_users_are_refused():
    a, b = frame("polars", [1, 2], [0.1, 0.2]), frame("polars", [1, 3], [0.1, 0.2])
    with pytest.raises(InputError, match=r"^'a' has a list of user 2 and 'b' has none; compare "):
        compare({"a": a, "b": b})
    with pytest.raises(InputError, match=r"^'b' has two lists of user 1, rows 0 and 1; expected "):
        compare({"a": a, "b": frame("polars", [1, 1], [0.1, 0.2])})
    with pytest.raises(
        InputError, match=r"identified by the columns \['user'\] and those of 'b' by"
    ):
        compare({"a": a, "b": b.rename({"user": "member"})})


def test_frames_without_narwhals(monkeypatch):
    old = frame("pandas", [1, 2], [0.1, 0.2])
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(
        ArgumentError,
        match=r"^results in data frames need the package narwhals; "
        r'type: pip install "narwhals>=2.9"$',
    ):
        compare({"a": old, "b": old})


# --- Groups --------------------------------------------------------------------------------------


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
    expected = _statistics.correct([d.p_values["t"] for d in of_groups], "holm")
    assert [d.corrected["t"] for d in of_groups] == expected


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


# --- Chance --------------------------------------------------------------------------------------


def test_deterministic_given_rng():
    values = models()
    tests = ("t", "permutation")
    first = compare(values, tests=tests, rng=5)
    assert compare(values, tests=tests, rng=5).differences == first.differences
    generator = np.random.default_rng(5)
    assert compare(values, tests=tests, rng=generator).differences == first.differences
    assert compare(values, tests=tests, rng=generator).differences != first.differences
    assert compare(values, tests=tests, rng=6).means != first.means
    assert str(compare(values, tests=tests)) == str(compare(values, tests=tests, rng=0))
    assert compare(values, rng=None).means != compare(values, rng=None).means


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
    assert (alone.p_values, alone.low, alone.high) == (same.p_values, same.low, same.high)


def test_intervals_cover_and_tests_keep_their_level():
    """A small run of benchmarks/comparison.py: binomial, so the bounds are 4 standard errors."""
    n_experiments = 400
    rng = np.random.default_rng(11)
    covered, found = 0, dict.fromkeys(("t", "wilcoxon", "permutation"), 0)
    for _ in range(n_experiments):
        # Equal models: which of the two a user prefers is chance, as in a null hypothesis.
        a, b = rng.beta(0.5, 2.0, (2, 80)) * (rng.random((2, 80)) < 0.7)
        sums = _statistics.sums_of(b - a, None, 0)
        [(low, high)] = _statistics.bootstrap_intervals(
            [_statistics.Sample((sums,))], 0.95, 400, int(rng.integers(99))
        )
        covered += low <= 0 <= high
        for test in found:
            found[test] += _statistics.p_value(test, b - a, int(rng.integers(99))) < 0.05
    error = 4 * math.sqrt(0.05 * 0.95 / n_experiments)
    assert covered / n_experiments == pytest.approx(0.95, abs=error)
    for test, count in found.items():
        assert count / n_experiments == pytest.approx(0.05, abs=error), test


def test_a_million_users_take_200_mb_beside_the_results(monkeypatch):
    monkeypatch.setattr(_statistics, "SIGN_FLIPS", 20)
    monkeypatch.setattr(_compare, "_check_resamples", lambda _: 5)
    tests = ("t", "wilcoxon", "permutation")
    values = {name: {m: np.arange(1e6) % 7 + (name == "b") for m in "vwxyz"} for name in "ab"}
    compare(SMALL, tests=tests)  # what is imported on the way is not measured
    tracemalloc.start()
    compare(values, tests=tests, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


# --- What comes out ------------------------------------------------------------------------------


def test_the_printed_table():
    found = compare(SMALL, rng=0)
    assert str(found).splitlines() == [
        "metric      model    mean     95 % interval  users",
        "----------  -----  ------  ----------------  -----  ----",
        "m           old    0.2500  [0.1167, 0.3833]      6",
        "            new    0.4000  [0.2333, 0.5667]      6  best",
        "coverage@5  old    0.2500                 -      -",
        "            new    0.5000                 -      -  best",
        "",
        "metric  new - old       95 % interval       p       d_z  w/t/l",
        "------  ---------  ------------------  ------  -  -----  -----",
        "m         +0.1500  [+0.0667, +0.2167]  0.0172  *  +1.43  5/1/0",
        "",
        "95 % intervals by percentile bootstrap over users, 2,000 resamples",
        "* significant: p < 0.05 by paired t test, corrected by Holm over 1 metric x 1 pair",
        "d_z: mean / standard deviation of the differences; "
        "w/t/l: number of users for whom the first model of the pair is better, equal, worse",
    ]
    assert repr(found) == str(found)


def test_the_legend_says_what_was_done():
    values = {"a": {"gini@5": [1.0, NAN, 3.0]}, "b": {"gini@5": [2.0, 3.0, 3.5]}}
    options = {"confidence": 0.9, "tests": ("permutation", "t"), "correction": None}
    lines = str(compare(values, n_resamples=500, **options)).splitlines()
    assert lines[-6:-3] == [
        "90 % intervals by percentile bootstrap over users, 500 resamples",
        "lower is better: gini@5",
        "* significant: p < 0.1 by sign-flip permutation test (also paired t test), "
        "not corrected for their number",
    ]
    assert lines[-1] == (
        "left out: users whose value is undefined; for a pair, undefined in either model"
    )
    header = next(line for line in lines if "d_z  w/t/l" in line).split("  ")
    assert [cell.strip() for cell in header if cell.strip().startswith("p")] == [
        *("p (permutation)", "p (t)")
    ]
    grouped = str(compare(SMALL, by=["x", "y"] * 3, correction="bh"))
    assert (
        "corrected by Benjamini-Hochberg over 1 metric x 1 pair, and separately over the "
        "differences of all 2 groups"
    ) in grouped
    alone = "corrected by Benjamini-Hochberg over 1 metric x 1 pair"
    compact = str(compare(SMALL, by=["x", "y"] * 3, correction="bh").compact())
    assert alone in compact
    assert "groups" not in compact  # which it does not show


@pytest.mark.parametrize("confidence, needed", [(0.95, 6), (0.9, 5), (0.75, 4), (0.99, 8)])
def test_too_few_users_are_noted(confidence, needed):
    assert 2 / 2**needed < 1 - confidence <= 2 / 2 ** (needed - 1)
    for n_users in (2, needed - 1, needed):
        values = {"a": {"m": np.zeros(n_users)}, "b": {"m": np.arange(n_users) + 10.0}}
        found = compare(values, confidence=confidence, n_resamples=100, rng=0)
        note = (
            f"{n_users} users: too few for a test at {100 * confidence:.0f} %; "
            f"at least {needed} are needed"
        )
        is_noted = n_users < needed
        assert (note in str(found).splitlines()) == is_noted
        assert (f"- {note}" in found.to_markdown().splitlines()) == is_noted
        latex = note.replace("%", r"\%") + r" \\"
        assert (latex in found.to_latex().splitlines()) == is_noted


def test_a_noted_difference_is_what_its_test_says():
    values = {"a": {"m": [0.0] * 3}, "b": {"m": [0.10, 0.11, 0.12]}}
    t_test, signs = (compare(values, tests=test, rng=0) for test in ("t", "permutation"))
    assert "3 users: too few for a test at 95 %" in str(t_test)
    assert only(t_test).p_values["t"] == pytest.approx(
        2 * stats.t.sf(0.11 / (0.01 / math.sqrt(3)), df=2)
    )
    assert only(t_test).significant
    assert (only(signs).p_values["permutation"], only(signs).significant) == (2 / 2**3, False)


def test_too_few_users_of_some_differences_and_groups_are_noted():
    sparse = [NAN] * 9 + [1.0, 2.0]
    values = {
        "a": {"m": np.arange(11.0), "n": np.arange(11.0), "o": sparse},
        "b": {"m": np.zeros(11), "n": sparse, "o": [*sparse[:-1], NAN]},
    }
    why = "too few for a test at 95 %; at least 6 are needed"
    lines = str(compare(values, rng=0, by=["x"] * 6 + ["y"] * 5)).splitlines()
    assert f"1 to 2 users in 2 of 3 differences: {why}" in lines
    assert f"0 to 5 users in 2 of 2 groups: {why}" in lines
    dense = {model: {"m": columns["m"]} for model, columns in values.items()}
    lines = str(compare(dense, rng=0, by=["x"] * 6 + ["y"] * 4 + ["z"])).splitlines()
    assert [line for line in lines if why in line] == [f"1 to 4 users in 2 of 3 groups: {why}"]
    alone = {model: {"o": columns["o"]} for model, columns in values.items()}
    assert f"1 user: {why}" in str(compare(alone, rng=0)).splitlines()


def test_a_table_is_aligned_whatever_the_names():
    values = {"\u7b2c\u4e09": {"m": OLD}, "two\nlines": {"m": NEW}}
    lines = str(compare(values, rng=0)).splitlines()
    assert lines[2].startswith("m       \u7b2c\u4e09       0.2500")
    assert lines[3].startswith("        two lines  0.4000")


def test_markdown():
    lines = compare({"a_b|c": {"m": OLD}, "new": {"m": NEW}}, rng=0).to_markdown().splitlines()
    assert lines[:5] == [
        "| metric | model | mean | 95 % interval | users |  |",
        "| --- | --- | ---: | ---: | ---: | --- |",
        r"| m | a\_b\|c | 0.2500 | [0.1167, 0.3833] | 6 |  |",
        "|  | new | **0.4000** | [0.2333, 0.5667] | 6 | best |",
        "",
    ]
    assert lines[-3].startswith("- 95 % intervals by percentile bootstrap")


def test_markdown_reads_nothing_into_names():
    name = "![x](http://e.example/t.png) &amp; $1$ #2 ~~www.e.example~~"
    found = compare({name: {name: OLD}, "b": {name: NEW}}, by=[name, "x"] * 3, rng=0)
    for text in (found.to_markdown(), found.compact().to_markdown()):
        escaped = "".join(f"\\{each}" if each in "![]&$#~" else each for each in name)
        escaped = escaped.replace("://", "\\://").replace("www.", "www\\.")
        assert text.count(escaped) == text.count("e.example/t.png")
    assert name not in recmetrics.summary({name: OLD}, by=[name, "x"] * 3).to_markdown()


def test_rows_whose_labels_look_alike_keep_their_names():
    alike = ["n", "n "]
    values = dict.fromkeys(alike, OLD)
    lines = str(compare({"a": values, "b": values}, rng=0)).splitlines()
    assert [line[0] for line in lines[2:6]] == ["n", " ", "n", " "]
    lines = str(compare({"a": values, "a ": values, "b": values}, baseline="b", rng=0)).splitlines()
    assert lines[9].split()[:2] == ["metric", "pair"]
    summed = str(recmetrics.summary({"m": OLD}, by=[1, "1"] * 3)).split("\n\n")[1].splitlines()
    assert [line[0] for line in summed[2:]] == ["1", "1"]


def test_latex():
    text = compare({"a_b": {"m%": OLD}, "new": {"m%": NEW}}, rng=0).to_latex()
    assert text.startswith("% \\usepackage{booktabs}\n\n\\begin{tabular}{lr}\n\\toprule\n")
    assert "model & m\\% \\\\\n" in text
    assert "a\\_b$^{a}$ & 0.2500 \\\\\n" in text
    assert "new$^{b}$ & \\textbf{0.4000}$^{a}$ \\\\\n" in text
    assert "m\\% & +0.1500 & {[}+0.0667, +0.2167] & 0.0172 & {*} & +1.43 & 5/1/0" in text
    assert (
        "superscripts: significantly better than the model with that letter, where a is a\\_b, "
        "b is new"
    ) in text
    turned = compare({"new": {"m%": NEW}, "a_b": {"m%": OLD}}, rng=0).to_latex()
    assert "new$^{a}$ & \\textbf{0.4000}$^{b}$" in turned
    assert "& $-$0.1500 & {[}$-$0.2" in turned
    values = {name: {"gini@5": value} for name, value in (("old", NEW), ("new", OLD))}
    found = compare(values, by=["x"] * 6, levels={"chance": {"gini@5": [0.5] * 6}}, rng=0)
    text = found.to_latex()
    assert text.count("new$^{b}$ & \\textbf{0.2500}$^{a}$") == 2  # of all users, and of the group
    assert "% group x\n" in text
    assert "\nchance & 0.5000 \\\\\n\\bottomrule" in text
    many = compare({f"m{i}": {"m%": [0.1 * i, 0.2]} for i in range(28)}, n_resamples=100).to_latex()
    assert re.findall(r"\^\{(z|aa|ab)\}", many)[:3] == ["z", "aa", "ab"]


def test_tables_fit_the_width_of_a_terminal():
    """Cells fold at blanks; where even that is too wide, each row is a block."""
    found = compare({"old": {"m": OLD}, "new": {"m": NEW}}, by=["x y"] * 6, rng=0)
    whole = str(found)
    assert found.to_text(max(map(len, whole.splitlines()))) == whole
    for width in range(28, 120, 7):
        text = found.to_text(width)
        assert max(map(len, text.splitlines())) <= width
        for word in {*whole.split()} - {"-" * n for n in range(30)}:
            assert word in text.split(), (word, width)
    assert found.to_text(60).splitlines()[:3] == [
        "metric  model    mean         95 %  users        worst group",
        "                          interval",
        "------  -----  ------  -----------  -----  ----  -----------",
    ]
    assert found.to_text(28).splitlines()[:7] == [
        "m",
        "  model          old",
        "  mean           0.2500",
        "  95 % interval  [0.1167,",
        "                 0.3833]",
        "  users          6",
        "  worst group    x y",
    ]


def test_a_comparison_is_a_dict_for_json():
    values = {"a": {"gini@5": OLD, "mine": [NAN] * 6}, "b": {"gini@5": NEW, "mine": [NAN] * 6}}
    groups = np.array([1, 2] * 3)
    found = compare(values, by=groups, levels={"c": {"gini@5": OLD}}, tests=("t", "permutation"))
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {name: document[name] for name in ("format", "version", "models", "groups")} == {
        "format": "recmetrics-1",
        "version": recmetrics.__version__,
        "models": ["a", "b"],
        "groups": [1, 2],
    }
    assert document["definitions"] == {"gini@5": "gini(denom=n)@5", "mine": None}
    assert document["lower_is_better"] == ["gini@5"]
    assert document["means"][0] == found.to_records("means")[0]
    [first, undefined, *_] = document["differences"]
    assert first == found.to_records()[0]
    assert (undefined["difference"], undefined["n_users"]) == (None, 0)
    assert document["notes"] == str(found).split("\n\n")[-1].splitlines()
    summed = recmetrics.summary({"NDCG@10": OLD}, notes=["by hand"]).to_dict()
    assert {*summed} - {"noun"} < {*document}
    assert summed["definitions"]["NDCG@10"].startswith("ndcg(gain=linear, discount=log2, ideal=")
    assert summed["notes"] == ["by hand"]
    under = recmetrics.summary({"ndcg@10": OLD}).to_dict(convention="lenskit")
    assert under["convention"] == "lenskit"
    assert "discount=log2_clip" in under["definitions"]["ndcg@10"]
    assert (
        "ndcg("
        in recmetrics.summary({"ndcg@10[least]": OLD}).to_dict()["definitions"]["ndcg@10[least]"]
    )


def test_records():
    found = compare(SMALL, tests=("t", "wilcoxon"), by=["x", "y"] * 3, rng=0)
    first, *others = found.to_records()
    assert list(first) == [
        *("metric", "group", "model", "against", "difference", "low", "high", "n_users"),
        *("n_undefined", "effect_size", "wins", "ties", "losses", "p_t", "p_t_corrected"),
        *("p_wilcoxon", "p_wilcoxon_corrected", "significant"),
    ]
    assert first["p_t"] == found.differences[0].p_values["t"]
    assert [each["group"] for each in (first, *others)] == [None, "x", "y"]
    assert found.to_records("means")[0] == {
        "metric": "m",
        "group": None,
        "model": "old",
        "mean": 0.25,
        "low": found.means[0].low,
        "high": found.means[0].high,
        "n_users": 6,
        "n_undefined": 0,
        "best": False,
    }
    assert len(found.to_records("means")) == 4 + 4
    message = r"^table must be 'differences' or 'means', got 'mean'$"
    for method in (found.to_records, found.to_frame, lambda t: found.plot(table=t)):
        with pytest.raises(ArgumentError, match=message):
            method("mean")


def test_to_frame_without_a_backend(monkeypatch):
    module = importlib.import_module("recmetrics.comparison._records")
    found = compare(SMALL, rng=0)
    pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.setattr(module, "find_spec", lambda name: name if name == "polars" else None)
    assert type(found.to_frame()).__module__.startswith("polars")
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(
        ArgumentError,
        match=r"^to_frame needs the package pandas or polars or pyarrow; type: pip install pandas$",
    ):
        found.to_frame()


# --- Plots ---------------------------------------------------------------------------------------


@pytest.fixture
def matplotlib():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")


NEEDS_MATPLOTLIB = pytest.mark.usefixtures("matplotlib")


def inside(figure):
    """Whether everything that is drawn lies on the figure."""
    backend = importlib.import_module("matplotlib.backends.backend_agg")
    backend.FigureCanvasAgg(figure).draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= width and drawn.y1 <= height


NAMES = {
    "short": ("a", "b"),
    "long": ("a very long name of a model that a sweep wrote_lr=0.001_dim=128_seed=42", "b$_1"),
}


@NEEDS_MATPLOTLIB
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_a_plot_is_written_and_nothing_is_cut(names, suffix, tmp_path):
    metrics = ["ndcg(gain=exp2, discount=log2_clip, ideal=retrieved)@100", "m", "n"]
    values = {
        name: {m: np.array(OLD) + 0.1 * i for m in metrics} | {"coverage@5": np.array(0.5)}
        for i, name in enumerate(NAMES[names])
    }
    path = tmp_path / f"plot.{suffix}"
    figure = compare(values, rng=0).plot(path)
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix]
    assert path.read_bytes().startswith(start)
    assert inside(figure)
    shown = " ".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "coverage@5" in shown
    assert "95 % intervals" in shown


@NEEDS_MATPLOTLIB
def test_a_plot_on_axes():
    figure = importlib.import_module("matplotlib.figure").Figure()
    left, right = figure.subplots(1, 2)
    found = compare(SMALL, rng=0)
    assert found.plot(left) is figure
    found.plot(right, table="means")
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["m\nnew - old *"]
    assert [tick.get_text() for tick in right.get_yticklabels()] == [
        *("m\nold", "m\nnew (best)", "coverage@5\nold", "coverage@5\nnew (best)")
    ]
    low, high = found.differences[0].low, found.differences[0].high
    assert any(list(line.get_xdata()) == [low, high] for line in left.get_lines())


@NEEDS_MATPLOTLIB
def test_a_plot_without_intervals_and_differences():
    figure = compare({"a": {"c": np.array(NAN)}, "b": {"c": np.array(0.5)}}).plot()
    assert len(figure.findobj(importlib.import_module("matplotlib.axes").Axes)) == 1


@NEEDS_MATPLOTLIB
def test_a_plot_leaves_the_filters_of_warnings_alone(tmp_path):
    found, calls = compare(SMALL, rng=0), []
    found.plot(tmp_path / "warm.png")  # what is imported on the way is not watched
    sys.setprofile(calls_of_warnings(calls))
    try:
        found.plot(tmp_path / "plot.png")
    finally:
        sys.setprofile(None)
    assert calls == []


def test_plots_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        ArgumentError,
        match=r'^plots need the package matplotlib; type: pip install "matplotlib>=3.8"$',
    ):
        compare(SMALL).plot()


@NEEDS_MATPLOTLIB
def test_targets_that_are_none(tmp_path):
    found = compare(SMALL, rng=0)
    with pytest.raises(ArgumentError, match=r"^target must be a file name or matplotlib axes, got"):
        found.plot(3)
    with pytest.raises(
        ArgumentError, match=r"^target must end in .png, .pdf or .svg, got '.*txt'$"
    ):
        found.plot(tmp_path / "plot.txt")
    assert list(tmp_path.iterdir()) == []


# --- Levels --------------------------------------------------------------------------------------

LEVELS = {"chance": {"m": [0.1, 0.1, 0.2, 0.2, 0.0, 0.6]}, "ceiling": {"m": [1.0] * 6}}


def test_levels_are_shown_and_not_compared():
    plain, found = compare(SMALL, rng=0), compare(SMALL, rng=0, levels=LEVELS)
    assert found.differences == plain.differences
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


def test_levels_in_text():
    lines = str(compare(SMALL, rng=0, levels=LEVELS)).splitlines()
    rows = [line.split() for line in lines[2:8]]
    # A metric that the levels lack has the rows of the models alone.
    names = [["m", "old"], ["new"], ["chance"], ["ceiling"], ["coverage@5", "old"], ["new"]]
    assert [row[: len(name)] for row, name in zip(rows, names, strict=True)] == names
    assert ["best" in row for row in rows] == [False, True, False, False, False, True]
    assert "not compared: chance, ceiling" in lines
    assert "not compared" not in str(compare(SMALL, rng=0))


def test_levels_do_not_change_how_many_digits_are_shown():
    small = {name: {"m": np.array(values) / 1e4} for name, values in (("a", OLD), ("b", NEW))}
    for levels in (None, LEVELS):
        first = str(compare(small, rng=0, levels=levels)).splitlines()[2]
        assert first.split()[:3] == ["m", "a", "0.0000250"]


@NEEDS_MATPLOTLIB
def test_levels_in_a_plot():
    figure = compare({**SMALL, "new": [SMALL["new"]] * 2}, rng=0, levels=LEVELS).plot()
    texts = " ".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "do not cover the variation over runs" in " ".join(texts.split())
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["old", "new (best)", "chance", "ceiling"]


@pytest.mark.parametrize(
    "levels, error, message",
    [
        ([GOOD_LEVEL := {"m": OLD}], InputTypeError, "levels must be a dict of name and result, "
         "got list; type {'first': a, 'second': b}, with a name for each"),
        ({"old": GOOD_LEVEL}, InputError, (
            "'old' is the name of a model and of a level; expected different names"
        )),
        ({"chance": {"n": OLD}}, InputError, "'old' has no metric 'n', which 'chance' has; compute "
         "the same metrics for every model"),
        ({"chance": {"m": OLD[:5]}}, ShapeError, "metric 'm' of 'old' has 6 users and metric 'm' "
         "of 'chance' 5; compare results on the same users"),
        ({"": GOOD_LEVEL}, InputError, "names of models must be strings that are not blank, "
         "got ''"),
    ],
)  # fmt: skip
def test_bad_levels(levels, error, message):
    compare(SMALL, levels={"chance": GOOD_LEVEL}, rng=0)
    with pytest.raises(error) as caught:
        compare(SMALL, levels=levels)
    assert str(caught.value) == message


# --- Bad input -----------------------------------------------------------------------------------

RESULT = (
    "what Metrics.compute returns, an object whose .compute() returns that, "
    "or a data frame with a float column per metric"
)
GOOD = {"m": [1.0, 2.0]}
BAD_RESULTS = [
    ([GOOD, GOOD], InputTypeError, "results must be a dict of name and result, got list; type "),
    ({"a": GOOD}, InputError, "expected the results of at least two models to compare, got 1"),
    ({1: GOOD, "b": GOOD}, InputError, "names of models must be strings that are not blank, got 1"),
    ({" ": GOOD, "b": GOOD}, InputError, "names of models must be strings that are not blank, got"),
    ({"a": 3, "b": GOOD}, InputTypeError, f"the result of 'a' is a int; expected {RESULT}"),
    ({"a": {}, "b": {}}, InputError, f"the result of 'a' holds no metric; expected {RESULT}"),
    ({"a": {3: [1.0]}, "b": GOOD}, InputError, "metric 3 of 'a': names of metrics must be"),
    ({"a": GOOD, "b": GOOD | {"n": [1.0, 2.0]}}, InputError, "'a' has no metric 'n', which 'b' "
     "has; compute the same metrics for every model"),
    ({"a": GOOD, "b": {"n": [1.0, 2.0]}}, InputError, "'b' has no metric 'm', which 'a' has; "
     "compute the same metrics for every model"),
    ({"a": GOOD, "b": {"m": [1.0, 2.0, 3.0]}}, ShapeError, "metric 'm' of 'a' has 2 users and "
     "metric 'm' of 'b' 3; compare results on the same users"),
    ({"a": GOOD, "b": {"m": np.array(1.0)}}, ShapeError, "metric 'm' has shape (2,) for 'a' and () "
     "for 'b'"),
    ({"a": GOOD, "b": {"m": [[1.0, 2.0]]}}, ShapeError, "metric 'm' of 'b' has shape (1, 2); "
     "expected one value per user, (n_users,), or ()"),
    ({"a": GOOD, "b": {"m": [1j, 2j]}}, InputTypeError, "metric 'm' of 'b' has dtype complex128; "
     "expected real numbers"),
    ({"a": GOOD, "b": {"m": np.ma.masked_equal([1.0, 2.0], 1)}}, InputTypeError, "metric 'm' of "
     "'b' is a masked array, whose mask would be lost; type .filled(np.nan)"),
    ({"a": GOOD, "b": {"m": [[1.0], [1.0, 2.0]]}}, InputTypeError, "metric 'm' of 'b' cannot be "
     "read as an array: "),
    ({"a": GOOD, "b": {"m": [1.0, math.inf]}}, InputError, "metric 'm' of 'b' is infinite for 1 "
     "users, the first user 1; differences of infinite values are undefined"),
    ({"a": {"m": np.array(1.0)}, "b": {"m": np.array(math.inf)}}, InputError, "metric 'm' of 'b' "
     "is infinite; expected a finite value"),
]  # fmt: skip


@pytest.mark.parametrize(("results", "error", "message"), BAD_RESULTS, ids=lambda x: str(x)[:40])
def test_bad_results(results, error, message):
    with pytest.raises(error) as caught:
        compare(results)
    assert str(caught.value).startswith(message)
    assert compare({"a": GOOD, "b": GOOD}).n_resamples == 2000


BAD_ARGUMENTS = [
    ({"baseline": "c"}, "baseline must be one of 'a', 'b', got 'c'"),
    ({"confidence": 1}, "confidence must be a number from 0.5 to below 1, such as 0.95, got 1"),
    ({"confidence": 95.0}, "confidence must be a number from 0.5 to below 1, such as 0.95, got 95"),
    ({"tests": "z"}, "tests must be one or several of 't', 'wilcoxon' and 'permutation', got 'z'"),
    ({"tests": ()}, "tests must be one or several of 't', 'wilcoxon' and 'permutation', got ()"),
    ({"tests": ("t", "t")}, "tests must be one or several of 't', 'wilcoxon' and 'permutation', "),
    ({"correction": "bonferroni"}, "correction must be 'holm', 'bh' or None, got 'bonferroni'"),
    ({"n_resamples": 99}, "n_resamples must be an integer >= 100, got 99"),
    ({"n_resamples": 1e3}, "n_resamples must be an integer >= 100, got 1000.0"),
    ({"n_resamples": True}, "n_resamples must be an integer >= 100, got True"),
    ({"rng": -1}, "rng must be a seed (an integer >= 0), a numpy Generator or None, got -1"),
    ({"rng": "x"}, "rng must be a seed (an integer >= 0), a numpy Generator or None, got 'x'"),
    ({"lower_is_better": ["n"]}, "lower_is_better must name metrics of the results, 'm', got 'n'"),
    ({"weights": "w"}, "weights must hold one number per user, shape (2,), got 'w'"),
    ({"by": [1]}, "by must hold one group per user, shape (2,), got shape (1,)"),
    ({"by": ["x", None]}, "by must name the group of every user; that of user 1 is undefined"),
    ({"by": [NAN, 1.0]}, "by must name the group of every user; that of user 0 is undefined"),
    (
        {"by": np.array([1, "x"], dtype=object)},
        "by must hold labels of one type, such as strings or integers",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD_ARGUMENTS, ids=lambda x: str(x)[:40])
def test_bad_arguments(options, message):
    with pytest.raises(recmetrics.RecmetricsError) as caught:
        compare({"a": GOOD, "b": GOOD}, **options)
    assert str(caught.value).startswith(message)


def test_frames_and_other_results_mix():
    expected = only(compare({"old": {"hit@1": OLD}, "new": {"hit@1": NEW}}, rng=0))
    nameless = frame("polars", list(range(len(OLD))), OLD).select("hit@1")  # rows as they come
    for old in (frame("polars", list(range(len(OLD))), OLD), nameless):
        assert only(compare({"old": old, "new": {"hit@1": NEW}}, rng=0)) == expected
    other = frame("polars", list(range(len(NEW))), NEW).select("hit@1")
    assert only(compare({"old": nameless, "new": other}, rng=0)) == expected


def test_columns_alone_make_no_frame():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    for strange in (
        types.SimpleNamespace(columns=["m"]),
        type("Strange", (), {"columns": ["m"]})(),
    ):
        with pytest.raises(InputTypeError, match=r"^the result of 'b' is a S\w+; expected what "):
            compare({"a": {"m": OLD}, "b": strange})
