"""One model: hand-worked numbers, SciPy and statsmodels, what is read, printed and refused."""

import html.parser
import importlib
import itertools
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import stats

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluation,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    compare,
    summary,
)
from recmetrics.cli._output import write_per_user
from recmetrics.comparison import _statistics

NAN = math.nan
USERS = {
    "recall@10": [0.2, 0.6, NAN, 0.4, 1.0],
    "mrr@10": [0.5, 1.0, 0.25, 0.0, 0.25],
    "coverage@10": np.array(0.3),
}
WEIGHTS = [1, 2, 0, 4, 1]
NUMBERS = ("mean", "low", "high", "std", "q10", "median", "q90")


def numbers(found, group=None):
    """The numbers of each metric of a group, to compare with ``==`` or ``approx``."""
    return {
        each.metric: {name: getattr(each, name) for name in (*NUMBERS, "n_users", "n_undefined")}
        for each in found
        if each.group == group
    }


def same(found, expected, **tolerance):
    assert list(found) == list(expected)
    for metric, record in expected.items():
        assert found[metric] == pytest.approx(record, nan_ok=True, **tolerance), metric


def drawn(n_users, seed=0):
    """Skewed values of users, and weights that go with them."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n_users) + 0.01
    return rng.beta(0.5, 2.0, n_users) * (rng.random(n_users) < 0.7) + 0.1 * weights, weights


# --- Hand-worked numbers -------------------------------------------------------------------------


def test_numbers_by_hand():
    recall, mrr, coverage = summary(USERS)
    assert (recall.metric, recall.group) == ("recall@10", None)
    # 0.2, 0.4, 0.6, 1.0: two users on either side of the median; 0.4 of a user is the first one.
    assert recall.mean == pytest.approx(0.55)
    assert (recall.q10, recall.median, recall.q90) == (0.2, pytest.approx(0.5), 1.0)
    squares = 0.35**2 + 0.05**2 + 0.15**2 + 0.45**2
    assert recall.std == pytest.approx(math.sqrt(squares / 3))
    assert (recall.n_users, recall.n_undefined, recall.why) == (4, 1, "no relevant item")
    assert recall.low < recall.mean < recall.high
    # 0, 0.25, 0.25, 0.5, 1
    assert (mrr.q10, mrr.median, mrr.q90) == (0.0, 0.25, 1.0)
    assert (mrr.n_users, mrr.n_undefined, mrr.why) == (5, 0, "")
    assert (coverage.mean, coverage.n_users, coverage.n_undefined) == (0.3, None, None)
    assert all(math.isnan(getattr(coverage, name)) for name in NUMBERS[1:])
    assert {each.n_effective for each in (recall, mrr, coverage)} == {None}


def test_weighted_numbers_by_hand():
    recall, mrr, coverage = summary(USERS, weights=WEIGHTS)
    # Weights 1, 2, 4, 1 of 0.2, 0.6, 0.4, 1.0; user 2 has no weight and is in no number.
    mean = (0.2 + 2 * 0.6 + 4 * 0.4 + 1.0) / 8
    assert recall.mean == pytest.approx(mean)
    squares = sum(w * (x - mean) ** 2 for w, x in ((1, 0.2), (2, 0.6), (4, 0.4), (1, 1.0)))
    assert recall.std == pytest.approx(math.sqrt(squares / (8 - 22 / 8)))
    # In order 0.2 (1), 0.4 (5), 0.6 (7), 1.0 (8), of which 10 % is 0.8, 50 % is 4, 90 % is 7.2.
    assert (recall.q10, recall.median, recall.q90) == (0.2, 0.4, 1.0)
    assert recall.n_effective == pytest.approx(8**2 / 22)
    assert (recall.n_users, recall.n_undefined) == (4, 0)
    # In order 0.0 (4), 0.25 (5), 0.5 (6), 1.0 (8): half of the weight ends exactly at 0.
    assert (mrr.n_users, mrr.median) == (4, 0.125)
    assert (coverage.mean, coverage.n_users) == (0.3, None)
    assert math.isnan(coverage.n_effective)


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ("ndcg@10", "no relevant item"),
        ("auc", "no relevant item, or only relevant ones"),
        ("diversity@10", "no value (a list of fewer than two items)"),
        ("clicks", "no value"),
    ],
)
def test_why_users_are_left_out(metric, why):
    found = summary({metric: [NAN, 1.0, NAN], "hit@1": [1.0, 0.0, 1.0]})
    assert next(iter(found)).why == why
    assert f"left out of {metric}: 2 of 3 users have {why}" in str(found).splitlines()


def test_means_for_a_logger():
    means = summary(USERS, by=[0, 0, 1, 1, 1]).means
    assert means == pytest.approx({"recall@10": 0.55, "mrr@10": 0.4, "coverage@10": 0.3})
    assert {type(mean) for mean in means.values()} == {float}


@pytest.mark.parametrize("n_users", [1, 2, 5, 10, 30, 101, 1000])
def test_quantiles_are_those_of_numpy(n_users):
    values, _ = drawn(n_users, seed=n_users)
    [found] = summary({"m": values})
    shares = (0.1, 0.5, 0.9)
    expected = np.quantile(values, shares, method="averaged_inverted_cdf")
    assert [found.q10, found.median, found.q90] == expected.tolist()
    assert found.median == np.median(values)


def test_a_user_of_weight_two_counts_as_two_in_quantiles():
    values, _ = drawn(60)
    times = np.random.default_rng(1).integers(1, 5, values.size)
    [weighted] = summary({"m": values}, weights=times / 7)
    [repeated] = summary({"m": np.repeat(values, times)})
    for name in ("q10", "median", "q90"):
        assert getattr(weighted, name) == getattr(repeated, name)
    assert weighted.mean == pytest.approx(repeated.mean, rel=1e-12)


def test_half_of_the_weight_is_found_whatever_its_rounding():
    # 1/4 + 3/4 is just below half of the sum of all three.
    [found] = summary({"m": [1.0, 2.0, 3.0]}, weights=[0.1, 0.3, 0.4])
    assert found.median == 2.5


@pytest.mark.parametrize("scale", [1e-320, 1e308])
def test_the_scale_of_weights_does_not_matter(scale):
    values = {"m": [1.0, 2.0, 3.0, 5.0]}
    plain, scaled = (summary(values, weights=np.array([1, 0, 1, 1]) * by) for by in (1.0, scale))
    assert scaled.to_records() == plain.to_records()


def test_equal_weights_are_none():
    values, _ = drawn(80)
    plain, weighted = (summary({"m": values}, weights=w) for w in (None, np.full(80, 0.3)))
    same(numbers(weighted), numbers(plain), rel=1e-12)
    [record] = weighted
    assert record.n_effective == pytest.approx(80)


def test_weights_of_zero_and_one_choose_users():
    values, weights = drawn(90)
    chosen = weights > np.median(weights)
    by = np.where(np.arange(90) % 3, "x", "y")
    some = summary({"m": values[chosen]}, by=by[chosen])
    weighted = summary({"m": values}, by=by, weights=chosen)
    assert weighted.n_weightless == 45
    for group in (None, "x", "y"):
        same(numbers(weighted, group), numbers(some, group), rel=1e-12)


def test_a_group_without_weight_stays_and_is_empty():
    found = summary({"m": [1.0, 2.0, 3.0]}, by=["a", "b", "a"], weights=[1, 0, 1])
    [b] = [each for each in found if each.group == "b"]
    assert (b.n_users, b.n_undefined, b.n_effective) == (0, 0, 0.0)
    assert math.isnan(b.mean)


# --- SciPy and statsmodels -----------------------------------------------------------------------


def scipys(values, weights, confidence=0.95, seed=0):
    """The percentile bootstrap of SciPy, with the draws of the library's seed."""

    def mean(x, w, axis):
        return (x * w).sum(axis=axis) / w.sum(axis=axis)

    own = int(np.random.default_rng(seed).integers(2**63 - 1))
    return stats.bootstrap(
        (values, weights),
        mean,
        paired=True,
        vectorized=True,
        n_resamples=2000,
        batch=100,
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(own),
    ).confidence_interval


@pytest.mark.parametrize("confidence", [0.95, 0.5, 0.1])
def test_intervals_are_those_of_scipy(confidence):
    values, weights = drawn(300)
    [plain] = summary({"m": values}, confidence=confidence, rng=3)
    expected = scipys(values, np.ones(300), confidence, seed=3)
    assert (plain.low, plain.high) == pytest.approx(tuple(expected), rel=1e-9)
    [weighted] = summary({"m": values}, weights=weights, confidence=confidence, rng=3)
    expected = scipys(values, weights, confidence, seed=3)
    assert (weighted.low, weighted.high) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_users", [4_097, 20_000])
def test_intervals_of_many_users_are_from_blocks(n_users, weighted, monkeypatch):
    values, weights = drawn(n_users)
    options = {"weights": weights} if weighted else {}
    [blocks] = summary({"m": values}, **options)
    monkeypatch.setattr(_statistics, "_MOST_DRAWN", n_users)
    [users] = summary({"m": values}, **options)
    assert (blocks.low, blocks.high) != (users.low, users.high)
    # Both are random: the bounds of each err by some 3 % of half their distance.
    half = (users.high - users.low) / 2
    assert blocks.low == pytest.approx(users.low, abs=0.2 * half)
    assert blocks.high == pytest.approx(users.high, abs=0.2 * half)
    assert blocks.mean == users.mean


def test_blocks_are_random_whatever_the_order_of_users():
    # In order of their values: blocks of neighbours, or of each 4,096th user, would be wrong.
    values = np.arange(20_000) % 4_096 / 4_096
    [found] = summary({"m": values})
    half = 1.96 * values.std() / math.sqrt(values.size)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)


def test_weighted_intervals_cover():
    """The ratio of sums is of the users' weights, too: 4 standard errors of a share."""
    n_experiments, rng = 300, np.random.default_rng(5)
    covered = 0
    for _ in range(n_experiments):
        weights = rng.exponential(size=150)
        values = weights / 10 + rng.normal(size=150)  # E w x / E w = 2 / 10
        [found] = summary({"m": values}, weights=weights, rng=rng)
        covered += found.low <= 0.2 <= found.high
    error = 4 * math.sqrt(0.05 * 0.95 / n_experiments)
    assert covered / n_experiments == pytest.approx(0.94, abs=error)


def test_weighted_numbers_are_those_of_statsmodels():
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    weighted = importlib.import_module("statsmodels.stats.weightstats").DescrStatsW
    values, weights = drawn(200)
    [found] = summary({"m": values}, weights=weights)
    lost = np.square(weights).sum() / weights.sum()
    expected = weighted(values, weights, ddof=lost)
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    assert found.std == pytest.approx(expected.std, rel=1e-12)
    quantiles = expected.quantile([0.1, 0.5, 0.9], return_pandas=False)
    assert [found.q10, found.median, found.q90] == pytest.approx(quantiles.tolist(), rel=1e-12)


# --- compare and Evaluator with weights ----------------------------------------------------------


def pair(n_users=120):
    values, weights = drawn(n_users)
    other = values + np.random.default_rng(9).normal(0.02, 0.1, n_users)
    return {"a": {"m": values}, "b": {"m": other}}, weights


def test_the_interval_of_a_mean_is_the_same_in_compare():
    models, weights = pair()
    for given in (None, weights):
        mean, _ = compare(models, weights=given, rng=4).means
        [found] = summary(models["a"], weights=given, rng=4)
        assert (mean.mean, mean.low, mean.high) == (found.mean, found.low, found.high)
        assert mean.n_effective == found.n_effective


def test_weighted_differences():
    models, weights = pair()
    [found] = compare(models, weights=weights, rng=4).differences
    differences = models["b"]["m"] - models["a"]["m"]
    [expected] = summary({"m": differences}, weights=weights, rng=4)
    assert found.difference == pytest.approx(expected.mean, rel=1e-12)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.effect_size == pytest.approx(expected.mean / expected.std, rel=1e-12)
    assert found.wins == np.count_nonzero(differences > 0)


def test_the_weighted_t_test_by_hand():
    models = {"a": {"m": [0.0, 0.0, 0.0]}, "b": {"m": [1.0, 2.0, 4.0]}}
    [found] = compare(models, weights=[1, 1, 2]).differences
    mean = (1 + 2 + 2 * 4) / 4
    error = math.sqrt(3 / 2 * ((1 - mean) ** 2 + (2 - mean) ** 2 + 4 * (4 - mean) ** 2)) / 4
    assert found.p_values["t"] == pytest.approx(2 * stats.t.sf(mean / error, df=2))


def test_the_weighted_t_test_is_that_of_a_robust_regression():
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    regression = importlib.import_module("statsmodels.api").WLS
    models, weights = pair()
    [found] = compare(models, weights=weights).differences
    differences = models["b"]["m"] - models["a"]["m"]
    fitted = regression(differences, np.ones(120), weights=weights)
    expected = fitted.fit(cov_type="HC1", use_t=True).pvalues[0]
    assert found.p_values["t"] == pytest.approx(expected, rel=1e-9)


def test_the_weighted_permutation_test_tries_every_flip():
    differences, weights = np.array([0.3, 0.1, -0.2, 0.4, 0.0]), np.array([1, 3, 2, 1, 5])
    models = {"a": {"m": np.zeros(5)}, "b": {"m": differences}}
    [found] = compare(models, weights=weights, tests="permutation").differences
    weighted = weights * differences
    flips = [abs(np.dot(signs, weighted)) for signs in itertools.product((1, -1), repeat=5)]
    expected = np.mean([each >= abs(weighted.sum()) - 1e-12 for each in flips])
    assert found.p_values["permutation"] == pytest.approx(expected)


def test_differences_that_are_all_equal_have_the_test_of_signs():
    models = {"a": {"m": [0.0] * 5}, "b": {"m": [1.0] * 5}}
    [found] = compare(models, weights=[1, 2, 3, 4, 5]).differences
    assert (found.p_values["t"], found.effect_size) == (2 / 2**5, math.inf)


def test_weights_of_zero_leave_users_out_of_a_comparison():
    models, weights = pair()
    chosen, by = weights > 1, np.where(np.arange(120) % 2, "odd", "even")
    some = {name: {"m": each["m"][chosen]} for name, each in models.items()}
    expected = compare(some, by=by[chosen], weights=weights[chosen], rng=0)
    found = compare(models, by=by, weights=np.where(chosen, weights, 0), rng=0)
    assert found.to_records() == expected.to_records()
    assert found.to_records("means") == expected.to_records("means")
    n_left_out = np.count_nonzero(~chosen)
    assert f"left out: {n_left_out} users of weight 0" in str(found).splitlines()
    assert "weight 0" not in str(expected)


def test_a_weighted_comparison_says_so():
    models, weights = pair()
    models["a"]["coverage@5"], models["b"]["coverage@5"] = np.array(0.1), np.array(0.2)
    found = compare(models, weights=weights, rng=0)
    lines = str(found).splitlines()
    assert "weighted; effective: (sum of the weights)^2 / sum of their squares" in lines
    assert lines[0].split()[-4:] == ["%", "interval", "users", "effective"]
    effective = weights.sum() ** 2 / np.square(weights).sum()
    assert f"120  {effective:9.1f}" in lines[2]
    assert [each["n_effective"] for each in found.to_records("means")] == pytest.approx(
        [effective, effective, NAN, NAN], nan_ok=True
    )
    assert "n_effective" not in compare(models).to_records("means")[0]


def test_signed_ranks_have_no_weights():
    models, weights = pair()
    assert compare(models, tests=("t", "wilcoxon")).tests == ("t", "wilcoxon")
    with pytest.raises(
        ArgumentError,
        match=(
            r"^tests has 'wilcoxon', which has no weighted form; with weights= give tests='t' or "
            r"'permutation'$"
        ),
    ):
        compare(models, tests=("t", "wilcoxon"), weights=weights)


SCORES = np.array([[4, 3, 2, 1], [1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4]], float)
TRUTH = np.array([[1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
METRICS = ["hit@1", "recall@2", "coverage@1"]


def evaluated():
    evaluator = Evaluator(TRUTH, METRICS)
    evaluator.update(SCORES)
    return evaluator


def test_a_weighted_mean_of_an_evaluator():
    evaluator = evaluated()
    found = evaluator.mean(weights=[1, 2, 3, 4], prefix="val/")
    # hit@1 is 1, 1, -, 0.
    assert found["val/hit@1"] == pytest.approx(3 / 7)
    assert found["val/coverage@1"] == evaluator.mean()["coverage@1"] == 0.5
    expected = summary(evaluator, weights=[1, 2, 3, 4]).means
    assert found == {f"val/{metric}": mean for metric, mean in expected.items()}
    with pytest.raises(ShapeError, match=r"^weights must hold one number per user, shape \(4,\), "):
        evaluator.mean(weights=[1, 2])
    assert math.isnan(evaluator.mean(weights=[0, 0, 1, 0])["hit@1"])  # no user of weight has one


# --- What goes in --------------------------------------------------------------------------------


def test_evaluators_and_streams():
    expected = numbers(summary(Metrics.compute(SCORES, TRUTH, METRICS)))
    assert expected["hit@1"]["mean"] == pytest.approx(2 / 3)
    same(numbers(summary(evaluated())), expected)
    stream = StreamEvaluator(METRICS)
    stream.update(SCORES, TRUTH)
    same(numbers(summary(stream)), expected)
    sums = StreamEvaluator(METRICS, keep="means")
    sums.update(SCORES, TRUTH)
    with pytest.raises(ArgumentError, match=r"keep"):
        summary(sums)


def test_users_without_an_update():
    evaluator = Evaluator(TRUTH, "hit@1")
    evaluator.update(SCORES[:2])
    with pytest.warns(recmetrics.NotUpdatedWarning, match=r"^2 of 4 users were never updated"):
        found = summary(evaluator)
    last = str(found).splitlines()[-1]
    assert last == "left out: 2 of 4 users have no relevant item, or no update"
    evaluator.update(SCORES[2:], users=[2, 3])
    last = str(summary(evaluator)).splitlines()[-1]
    assert last == "left out: 1 of 4 users has no relevant item"


def maker(backend):
    """The function of a package that makes a table of columns."""
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    return package.table if backend == "pyarrow" else package.DataFrame


def table(backend, **more):
    columns = {"user": list("uvwxy"), "nrecs": [10] * 5}
    columns |= {"recall@10": [0.2, 0.6, None, 0.4, 1.0], "mrr@10": USERS["mrr@10"], **more}
    return maker(backend)(columns)


BACKENDS = pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])


@BACKENDS
def test_tables(backend):
    users = {metric: values for metric, values in USERS.items() if metric != "coverage@10"}
    found = summary(table(backend))
    same(numbers(found), numbers(summary(users)))
    if backend == "pandas":
        same(numbers(summary(table(backend).set_index("user"))), numbers(found))


@BACKENDS
def test_columns_of_a_table_are_groups_and_weights(backend):
    given = table(backend, segment=["new", "old", "new", "old", "old"], visits=[1.0, 2, 0, 4, 1])
    found = summary(given, by="segment", weights="visits")
    expected = summary(
        {"recall@10": USERS["recall@10"], "mrr@10": USERS["mrr@10"]},
        by=["new", "old", "new", "old", "old"],
        weights=WEIGHTS,
    )
    assert found.groups == ("new", "old")
    assert list(found.means) == ["recall@10", "mrr@10"]
    assert str(found) == str(expected)


@BACKENDS
def test_a_column_of_floats_may_be_the_groups(backend):
    found = summary(table(backend, age=[20.0, 30.0, 20.0, 30.0, 20.0]), by="age")
    assert found.groups == (20.0, 30.0)
    assert "age" not in found.means


@BACKENDS
def test_the_result_of_tables_by_model(backend):
    make = maker(backend)
    evaluate_table = importlib.import_module("recmetrics.tables").evaluate_table
    recs = {"model": ["b", "b", "a", "a"], "user": [1, 2, 1, 2], "item": [7, 8, 7, 7]}
    truth = make({"user": [1, 2], "item": [7, 8]})
    values = evaluate_table(make(recs), truth, ["hit@1"], by="model", in_order=True)
    found = summary(values)
    assert [(r.model, r.group, r.mean, r.n_users) for r in found] == [
        ("b", None, 1.0, 2),
        ("a", None, 0.5, 2),
    ]
    difference = compare(values, baseline="b").differences[0]
    assert (difference.model, difference.losses, difference.n_users) == ("a", 1, 2)
    with pytest.raises(InputError, match=r"^values has two lists of user 1, rows 0 and 2; "):
        summary(values, by="model")  # would count each user twice


@pytest.mark.parametrize("as_path", [str, lambda path: path])
@pytest.mark.parametrize("name", ["users.csv", "users.npz"])
def test_files_per_user(name, as_path, tmp_path):
    arrays = {metric: np.array(values) for metric, values in USERS.items()}
    write_per_user(tmp_path / name, arrays, ["u", "v", "w", "x", "y"])
    found = summary(as_path(tmp_path / name), by=[0, 1, 0, 1, 1])
    del arrays["coverage@10"]
    assert str(found) == str(summary(arrays, by=[0, 1, 0, 1, 1]))


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "users.csv"
    path.write_text("user,ndcg@10\na,0.5\nb,high\n")
    with pytest.raises(InputError) as caught:
        summary(path)
    assert str(caught.value) == (
        f"values {str(path)!r}, line 3: cannot read 'high' as ndcg@10; expected a number"
    )
    path.write_text("user,ndcg@10\na,0.5\nb,1.0\n")
    assert summary(path).means == {"ndcg@10": 0.75}
    with pytest.raises(InputError) as caught:
        summary("no.csv")
    assert str(caught.value) == (
        "cannot open values 'no.csv': No such file or directory; expected the .npz or .csv that "
        "'recmetrics evaluate --per-user' writes"
    )


def test_what_goes_in_is_not_modified_and_nothing_warns():
    values, weights = drawn(50)
    values[3] = NAN
    kept = values.copy(), weights.copy()
    for array in (values, weights):
        array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summary({"m": values, "n": values[::-1], "c": np.array(NAN)}, weights=weights)
        summary({"m": [1.0, NAN], "n": [NAN, NAN]}, by=["a", "b"])
        summary({"m": [1e308, 1e308, -1e308]}, weights=[1, 1e-300, 0])
    np.testing.assert_array_equal(values, kept[0])
    np.testing.assert_array_equal(weights, kept[1])


def test_infinite_values_have_a_mean_and_no_interval():
    [found] = summary({"novelty(unseen=inf)@10": [1.0, math.inf, 2.0, 3.0]})
    assert found.mean == math.inf
    assert (found.q10, found.median, found.q90) == (1.0, 2.5, math.inf)
    assert math.isnan(found.low)
    assert math.isnan(found.std)
    row = str(summary({"m": [1.0, math.inf]})).splitlines()[2]
    assert row.split() == ["m", "inf", "-", "1.0000", "inf", "inf", "2"]


def test_one_user_has_no_interval():
    [found] = summary({"m": [0.5, NAN]})
    assert (found.mean, found.median, found.n_users) == (0.5, 0.5, 1)
    assert math.isnan(found.low)
    assert math.isnan(found.std)


# --- Groups --------------------------------------------------------------------------------------


def test_groups_are_summarised_as_if_alone_in_order_of_appearance():
    values, weights = drawn(90)
    groups = np.array(["warm", "cold", "hot"])[np.arange(90) % 3]
    found = summary({"m": values, "coverage@5": np.array(0.5)}, by=groups, weights=weights, rng=2)
    assert found.groups == ("warm", "cold", "hot")
    assert [each.group for each in found] == [None, None, "warm", "cold", "hot"]
    for group in found.groups:
        alone = summary({"m": values[groups == group]}, weights=weights[groups == group], rng=2)
        same(numbers(found, group), numbers(alone), rel=1e-12)


LABELS = {
    "tuples": [("a", 1), ("b", 2), ("a", 1)],
    "mixed": ["a", 1, "a"],
    "a tuple": ("a", 2, "a"),
    "bool": np.array([True, False, True]),
    "2-byte": np.array([7, 3, 7], np.int16),
}


@pytest.mark.parametrize("by", LABELS.values(), ids=LABELS)
def test_labels_may_be_any_hashable(by):
    found = summary({"m": [1.0, 2.0, 3.0]}, by=by)
    assert found.groups == tuple(dict.fromkeys(by))
    assert [each.mean for each in found] == [2.0, 2.0, 2.0]
    assert [each.n_users for each in found] == [3, 2, 1]


@BACKENDS
def test_labels_in_a_series(backend):
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    make = package.array if backend == "pyarrow" else package.Series
    by = make(["x", "y", "x"])
    assert [each.mean for each in summary({"m": [1.0, 2.0, 3.0]}, by=by)] == [2.0, 2.0, 2.0]
    if backend == "pandas":
        assert summary({"m": [1.0, 2.0, 3.0]}, by=by.astype("category")).groups == ("x", "y")
        with pytest.raises(InputError, match=r"that of user 2 is undefined"):
            summary({"m": [1.0, 2.0, 3.0]}, by=package.array(["x", "y", None], dtype="string"))


MISSING = [None, NAN, np.datetime64("NaT")]


@pytest.mark.parametrize("missing", MISSING, ids=str)
def test_a_missing_label_is_refused(missing):
    for ask in (
        lambda by: summary({"m": [1.0, 2.0, 3.0]}, by=by),
        lambda by: compare({name: {"m": [1.0, 2.0, 3.0]} for name in "ab"}, by=by),
    ):
        ask(["x", "x", "y"])
        with pytest.raises(InputError) as caught:
            ask(["x", missing, missing])
        assert str(caught.value) == (
            "by must name the group of every user; that of user 1 is undefined; give such users a "
            "label of their own, such as 'unknown'"
        )


# --- What comes out ------------------------------------------------------------------------------


def test_the_printed_table():
    found = summary(USERS, by=["new", "old", "new", "old", "old"])
    everyone, new, old = (
        {x.metric: f"[{x.low:.4f}, {x.high:.4f}]" for x in found if x.group == group}
        for group in (None, "new", "old")
    )
    assert str(found).splitlines() == [
        "metric         mean     95 % interval     q10  median     q90  users  left out",
        "-----------  ------  ----------------  ------  ------  ------  -----  --------",
        f"recall@10    0.5500  {everyone['recall@10']}  0.2000  0.5000  1.0000      4         1",
        f"mrr@10       0.4000  {everyone['mrr@10']}  0.0000  0.2500  1.0000      5         0",
        "coverage@10  0.3000                 -       -       -       -      -         -",
        "",
        "group  metric       mean     95 % interval     q10  median     q90  users  left out",
        "-----  ---------  ------  ----------------  ------  ------  ------  -----  --------",
        "new    recall@10  0.2000                 -  0.2000  0.2000  0.2000      1         1",
        f"       mrr@10     0.3750  {new['mrr@10']}  0.2500  0.3750  0.5000      2         0",
        f"old    recall@10  0.6667  {old['recall@10']}  0.4000  0.6000  1.0000      3         0",
        f"       mrr@10     0.4167  {old['mrr@10']}  0.0000  0.2500  1.0000      3         0",
        "",
        "95 % intervals by percentile bootstrap over users, 2,000 resamples",
        "q10, median, q90: quantiles of the users' values",
        "left out of recall@10: 1 of 5 users has no relevant item",
    ]
    assert repr(found) == str(found)


def test_the_legend():
    found = summary({"ndcg@5": [NAN, NAN, 1.0], "mrr@5": [NAN, NAN, 0.5]}, confidence=0.9)
    assert str(found).splitlines()[-3:] == [
        "90 % intervals by percentile bootstrap over users, 2,000 resamples",
        "q10, median, q90: quantiles of the users' values",
        "left out: 2 of 3 users have no relevant item",
    ]
    found = summary({"ndcg@5": [1.0, 0.5, 0.0, 1.0]}, weights=[0, 1, 0, 1])
    assert str(found).splitlines()[-2:] == [
        "weighted; effective: (sum of the weights)^2 / sum of their squares",
        "left out: 2 users of weight 0",
    ]
    found = summary({"hit@5": [1.0, 0.5], "coverage@5": np.array(NAN)})
    assert str(found).splitlines()[-1] == (
        "coverage@5 has no value (no user, or a catalogue without items)"
    )
    assert "left out" not in str(summary({"hit@5": [1.0, 0.5]}))


def test_levels_and_notes_beside_the_means():
    """A level has the users, weights and groups of the model, or is one number."""
    values = {"mrr@10": [1.0, 0.5, 0.0, NAN], "coverage@10": np.array(0.3)}
    levels = {
        "chance": {"mrr@10": [0.4, 0.2, 0.0, NAN], "coverage@10": np.array(0.9), "hit@1": [1.0]},
        "best": {"mrr@10": 1.0},
    }
    chosen = {"by": ["x", "x", "y", "y"], "weights": [3, 1, 1, 1]}
    found = summary(values, levels=levels, noun="session", notes=["two\nlines"], **chosen)
    assert [(r.metric, r.group, r.levels) for r in found] == [
        ("mrr@10", None, {"chance": pytest.approx((3 * 0.4 + 0.2) / 5), "best": 1.0}),
        ("coverage@10", None, {"chance": 0.9}),
        ("mrr@10", "x", {"chance": pytest.approx((3 * 0.4 + 0.2) / 4), "best": 1.0}),
        ("mrr@10", "y", {"chance": 0.0, "best": 1.0}),
    ]
    assert found.to_records()[0]["best"] == 1.0
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["metric", "mean", "chance", "best"]
    assert lines[0].split()[-4:] == ["sessions", "effective", "left", "out"]
    assert lines[3].split()[1:5] == ["0.3000", "0.9000", "-", "-"]
    assert lines[-1] == "two lines"
    assert lines[-2] == "left out: 1 of 4 sessions has no relevant item"
    with pytest.raises(ShapeError) as caught:
        summary(values, levels={"chance": {"mrr@10": [0.4, 0.2]}})
    assert str(caught.value) == (
        "metric 'mrr@10' of 'chance' has shape (2,); expected that of the values, (4,), or one "
        "number"
    )
    truth = [[1, 0, 0], [0, 1, 1]]
    metrics = ["hit@1", "recall@2"]
    scores = Metrics.compute([[3, 2, 1], [3, 2, 1]], truth, metrics)
    found = summary(scores, levels={"chance": Metrics.chance(truth, metrics)})
    assert [r.levels["chance"] for r in found] == pytest.approx([(1 / 3 + 2 / 3) / 2, 2 / 3])


@pytest.mark.parametrize(
    ("noun", "nouns"),
    [
        ("group", "groups"),
        ("query", "queries"),
        ("day", "days"),
        ("search", "searches"),
        ("class", "classes"),
    ],
)
def test_the_plural_of_a_noun(noun, nouns):
    text = str(summary({"mrr@10": [1.0, 0.5, NAN]}, noun=noun))
    assert text.split()[8] == nouns
    assert text.splitlines()[-3:] == [
        f"95 % intervals by percentile bootstrap over {nouns}, 2,000 resamples",
        f"q10, median, q90: quantiles of the {nouns}' values",
        f"left out: 1 of 3 {nouns} has no relevant item",
    ]
    values = {"mrr@10": np.array([1.0, 0.5, NAN])}
    told = f"undefined='zero' counts {nouns} without a value as 0"
    assert Evaluation(values, noun=noun).notes == (told,)


def test_small_numbers_keep_three_digits():
    found = summary({"m": [0.000121, 0.000123], "n": [0.5, 1.0]}, by=["x", "y"])
    assert "0.000122" in str(found)
    assert "0.7500" in str(found)
    assert "0.000121" in str(found)  # of a group, with the digits of the metric


def test_latex():
    text = summary({"a_b%": [0.5, 0.5]}, by=["x&y"] * 2).to_latex()
    assert text.startswith("% \\usepackage{booktabs}\n\n\\begin{tabular}{lrrrrrr}\n\\toprule\n")
    assert "a\\_b\\% & 0.5000 & {[}0.5000, 0.5000] & 0.5000 & 0.5000 & 0.5000 & 2 \\\\\n" in text
    assert "x\\&y & a\\_b\\% & 0.5000" in text
    assert text.count("\\end{tabular}") == 2
    assert "95 \\% intervals by percentile bootstrap over users, 2,000 resamples \\\\\n" in text


class Cells(html.parser.HTMLParser):
    """Collects the text of each row of all tables, and the tags that open."""

    def __init__(self):
        super().__init__()
        self.rows, self.tags, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):  # noqa: ARG002  # the parser's name
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.text += data
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def test_html_shows_the_table_and_escapes_names():
    name = "<b onclick=x>&amp;\x1b"
    found = summary({name: [0.25, 0.75, NAN], "hit@1": [1.0, 0.0, 1.0]}, by=["<i>", "y", "y"])
    page = Cells()
    page.feed(found._repr_html_())
    assert page.tags == {"table", "thead", "tbody", "tr", "th", "td", "p", "br"}
    interval = "[0.2500, 0.7500]"
    assert page.rows[:2] == [
        ["metric", "mean", "95 % interval", "q10", "median", "q90", "users", "left out"],
        ["<b onclick=x>&amp;\\x1b", "0.5000", interval, "0.2500", "0.5000", "0.7500", "2", "1"],
    ]
    assert page.rows[4][:2] == ["<i>", "<b onclick=x>&amp;\\x1b"]
    assert "by percentile bootstrap" in page.text
    assert "left out of <b onclick=x>&amp;\\x1b: 1 of 3 users has no value" in page.text


def test_names_do_no_harm_in_a_terminal():
    odd = "\x1b]0;t\x07\u202e"
    found = summary({f"{odd}m": [0.5, NAN]}, by=[f"{odd}x", "y"])
    names = {"by": [f"{odd}x", "y"], "levels": {f"{odd}c": {f"{odd}m": [0, 1]}}}
    compared = compare({f"{odd}{name}": {f"{odd}m": [0.5, 0.1]} for name in "ab"}, **names)
    for each in (found, compared, compared.compact()):
        for written in (str(each), each.to_markdown(), each.to_latex(), each._repr_html_()):
            assert not {"\x1b", "\x07", "\u202e"} & set(written)
            assert "x1b]0;t" in written.replace("{]}", "]").replace("\\]", "]")
    assert list(found.means) == [f"{odd}m"]  # the numbers keep the exact names
    assert compared.models == (f"{odd}a", f"{odd}b")


def test_records():
    found = summary(USERS, by=["x", "y"] * 2 + ["x"])
    first = found.to_records()[0]
    assert list(first) == ["metric", "group", *NUMBERS, "n_users", "n_undefined", "why"]
    assert first["median"] == pytest.approx(0.5)
    assert len(found) == len(found.to_records()) == 3 + 2 * 2
    assert recmetrics.Summary is type(found)
    for frozen, name in ((found, "confidence"), (found.records[0], "mean")):
        with pytest.raises(AttributeError):
            setattr(frozen, name, 0.5)
    weighted = summary(USERS, weights=WEIGHTS).to_records()
    assert all(list(record) == [*first, "n_effective"] for record in weighted)


@BACKENDS
def test_to_frame(backend):
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    found = summary({"coverage@10": np.array(0.3), **USERS}, by=list("ababa"), weights=WEIGHTS)
    compared = compare({"a": USERS, "b": USERS})
    for each, rows in (
        (found.to_records(), found.to_frame(backend=backend)),
        (compared.to_records("means"), compared.to_frame("means", backend=backend)),
    ):
        assert isinstance(rows, package.Table if backend == "pyarrow" else package.DataFrame)
        column = rows["mean"].to_pylist() if backend == "pyarrow" else rows["mean"].to_list()
        assert column == pytest.approx([record["mean"] for record in each], nan_ok=True)
    with pytest.raises(ArgumentError, match=r"^backend must be 'pandas', 'polars' or 'pyarrow'"):
        found.to_frame(backend="duckdb")


# --- Chance --------------------------------------------------------------------------------------


def test_the_same_numbers_at_each_call_unless_asked():
    values, _ = drawn(60)
    first = summary({"m": values}).to_records()
    generator = np.random.default_rng(0)
    for rng, is_same in (
        (0, True),
        (1, False),
        (generator, True),
        (generator, False),
        (None, False),
    ):
        assert (summary({"m": values}, rng=rng).to_records() == first) == is_same


def test_a_summary_imports_no_statistics():
    code = (
        "import sys, recmetrics; recmetrics.summary({'m': [1.0, 2.0]}, weights=[1, 2]); "
        "names = ('scipy.stats', 'narwhals', 'pandas', 'matplotlib'); recmetrics.compare; "
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- Bad input -----------------------------------------------------------------------------------

RESULT = (
    "what Metrics.compute returns, an object whose .compute() returns that, a data frame with a "
    "float column per metric, or the path of a file that 'recmetrics evaluate --per-user' wrote"
)
MEAN = (
    "; expected the value of every user, (n_users,), from which intervals and quantiles are "
    "computed: give what Metrics.compute or the compute() of an Evaluator returns, not means"
)
WANTED = "; expected finite numbers >= 0; 0 leaves a user out"
GOOD = {"m": [0.5, 1.0, 0.0]}
NO_LABELS = "by must hold one group per user, shape (3,), got "
LABELS_WANTED = "give an array or a list of labels"
NO_TABLE = "but values is not a table; expected an array with one entry per user"
NO_WEIGHTS = "weights must hold one number per user, shape (3,), got shape "
BAD = [
    ([1.0, 2.0], {}, InputTypeError, f"values is a list; expected {RESULT}"),
    (np.ones(3), {}, InputTypeError, f"values is a ndarray; expected {RESULT}"),
    ({}, {}, InputError, f"values holds no metric; expected {RESULT}"),
    ({"m": []}, {}, InputError, "values holds no user: metric 'm' has shape (0,)"),
    ({"ndcg@10": 0.5}, {}, InputTypeError, f"metric 'ndcg@10' is one number, 0.5{MEAN}"),
    ({"ndcg@10": np.array(0.5)}, {}, InputTypeError, f"metric 'ndcg@10' is one number, 0.5{MEAN}"),
    ({"val/x": 0.5}, {}, InputTypeError, f"metric 'val/x' is one number, 0.5{MEAN}"),
    ({3: [1.0]}, {}, InputError, "metric 3: names of metrics must be strings"),
    ({"m": ["a"]}, {}, InputTypeError, "metric 'm' has dtype <U1; expected real numbers"),
    ({"m": [[1.0], [2.0]]}, {}, ShapeError, "metric 'm' has shape (2, 1); expected one value per "
     "user, (n_users,), or ()"),
    ({"m": [1.0, 2.0], "n": [1.0]}, {}, ShapeError, "metric 'm' has 2 users and metric 'n' 1; "
     "compare results on the same users"),
    ({"ndcg@10": [NAN, NAN], "hit@1": [NAN, NAN]}, {}, InputError, "no user has a value of any "
     "metric; for 'ndcg@10' all 2 users have no relevant item; expected a value of at least one "
     "user: check that the truth belongs to these users"),
    (GOOD, {"by": ["x", "y"]}, ShapeError, f"{NO_LABELS}shape (2,)"),
    (GOOD, {"by": np.ones((3, 1))}, ShapeError, f"{NO_LABELS}shape (3, 1)"),
    (GOOD, {"by": {0: "x"}}, InputTypeError, f"{NO_LABELS}a dict; {LABELS_WANTED}"),
    (GOOD, {"by": 3}, InputTypeError, f"{NO_LABELS}a int; {LABELS_WANTED}"),
    (GOOD, {"by": [["x"], ["y"], ["z"]]}, InputTypeError, "by must hold labels such as strings or "
     "integers, got a list for user 0"),
    ({"m": np.arange(51.0)}, {"by": np.arange(51)}, InputError, "by names 51 different groups; "
     "expected at most 50: put users into bins first, such as quartiles of their activity"),
    (GOOD, {"by": "age"}, InputError, f"by is the name of a column, 'age', {NO_TABLE}"),
    (GOOD, {"model": "lr"}, InputError, f"model is the name of a column, 'lr', {NO_TABLE}"),
    (GOOD, {"weights": "w"}, InputError, f"weights is the name of a column, 'w', {NO_TABLE}"),
    (GOOD, {"weights": [1, 2]}, ShapeError, f"{NO_WEIGHTS}(2,)"),
    (GOOD, {"weights": 2.0}, ShapeError, f"{NO_WEIGHTS}()"),
    (GOOD, {"weights": [1, -2, 3]}, InputError, f"weights holds -2.0 for user 1{WANTED}"),
    (GOOD, {"weights": [1, 2, NAN]}, InputError, f"weights holds nan for user 2{WANTED}"),
    (GOOD, {"weights": [math.inf, 2, 3]}, InputError, f"weights holds inf for user 0{WANTED}"),
    (GOOD, {"weights": [0, 0, 0]}, InputError, "weights are all 0; expected a number above 0 for "
     "at least one user"),
    (GOOD, {"weights": [1e300, 1e-300, 1]}, InputError, "weights holds 1e-300 and 1e+300, too far "
     "apart to add; give such small weights as 0, which leaves the users out"),
    (GOOD, {"weights": ["a", "b", "c"]}, InputTypeError, "weights has dtype <U1; expected real "
     "numbers"),
    *((GOOD, {"confidence": confidence}, ArgumentError, "confidence must be a number above 0 and "
       f"below 1, such as 0.95, got {confidence!r}")
      for confidence in (0.0, 1.0, 95, -0.5, NAN, "0.95", True)),
    (GOOD, {"rng": -1}, ArgumentError, "rng must be a seed (an integer >= 0), a numpy Generator or "
     "None, got -1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "options", "error", "message"), BAD, ids=lambda x: str(x)[:40] or "none"
)
def test_bad_input(values, options, error, message):
    summary(GOOD, by=["x", "y", "z"], weights=[1, 2, 3], confidence=np.float32(0.5))
    with pytest.raises(error) as caught:
        summary(values, **options)
    assert str(caught.value) == message


def test_the_means_of_an_evaluator_are_refused():
    with pytest.raises(InputTypeError, match=r"^metric 'hit@1' is one number, 0\.6.* not means$"):
        summary(evaluated().mean())
    assert summary({"coverage@1": 0.5, "hit@1": [1.0, 0.0]}).means["coverage@1"] == 0.5


def test_columns_that_are_not_there():
    given = table("pandas", segment=list("xyxyx"))
    with pytest.raises(InputError) as caught:
        summary(given, by="segmnt")
    assert str(caught.value) == ("values has no 'segmnt'; did you mean 'segment'?")
    with pytest.raises(InputError) as caught:
        summary(given, weights="w")
    assert str(caught.value) == (
        "values has no 'w'; expected one of ['user', 'nrecs', 'recall@10', 'mrr@10', 'segment']"
    )
    with pytest.raises(InputTypeError, match=r"^by must hold one group per user, .* a DataFrame; "):
        summary(given, by=given[["segment"]])


def test_columns_have_different_strings_as_names():
    make = maker("pandas")
    for columns, fault in (([0, "a"], "0 of type int"), (["a", "a"], "'a' twice")):
        with pytest.raises(InputError) as caught:
            summary(make([[0.1, 0.2]], columns=columns))
        message = f"a data frame has the column {fault}; expected different strings"
        assert str(caught.value) == message


def test_a_lazy_frame_is_collected_first():
    lazy = maker("polars")({"hit@1": [1.0]}).lazy()
    with pytest.raises(InputTypeError, match=r"^a LazyFrame holds no .*; type \.collect\(\)$"):
        summary(lazy)


def test_dates_and_labels_of_several_types_are_groups():
    days = np.array(["2026-01-01", "2026-01-02"], "M8[ns]")
    assert [str(day) for day in summary({"m": [0.5, 0.1]}, by=days).groups] == [
        "2026-01-01 00:00:00",
        "2026-01-02 00:00:00",
    ]
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = summary({"m": [0.5, 0.1]}, by=[1, "x"]).to_frame(backend="pyarrow")
    assert frame["group"].to_pylist() == [None, "1", "x"]
