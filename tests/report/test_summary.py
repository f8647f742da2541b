"""One model: hand-worked numbers, SciPy and statsmodels, groups, chance."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from compared import NAN, NUMBERS, USERS, WEIGHTS, drawn, numbers, same
from scipy import stats

from recmetrics import compare, explain, summary
from recmetrics._report import statistics


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
        ("auc@10", "no relevant item"),  # 1 with hits only
        ("diversity@10", "no value (a list of fewer than two items)"),
        ("clicks", "no value"),
    ],
)
def test_why_users_are_left_out(metric, why):
    found = summary({metric: [NAN, 1.0, NAN], "hit@1": [1.0, 0.0, 1.0]})
    assert next(iter(found)).why == why
    assert f"left out of {metric}: 2 of 3 users have {why}" in str(found).splitlines()


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


def test_a_user_of_weight_zero_does_not_widen_the_range_of_values():
    [mean] = summary({"m": [0.1, 0.2, 9.0]}, weights=[1, 1, 0])
    [of_two] = summary({"m": [0.1, 0.2]})
    assert (mean.low, mean.high) == pytest.approx((of_two.low, of_two.high))


def test_a_group_without_weight_stays_and_is_empty():
    found = summary({"m": [1.0, 2.0, 3.0]}, by=["a", "b", "a"], weights=[1, 0, 1])
    [b] = [each for each in found if each.group == "b"]
    assert (b.n_users, b.n_undefined, b.n_effective) == (0, 0, 0.0)
    assert math.isnan(b.mean)


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
    for given, relative in ((None, np.ones(300)), (weights, weights)):
        [found] = summary(
            {"m": values}, weights=given, confidence=confidence, n_resamples=2000, rng=3
        )
        expected = scipys(values, relative, confidence, seed=3)
        assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_users", [4_097, 20_000])
def test_intervals_of_many_users_are_from_blocks(n_users, weighted, monkeypatch):
    values, weights = drawn(n_users)
    options = {"n_resamples": 2000} | ({"weights": weights} if weighted else {})
    [blocks] = summary({"m": values}, **options)
    monkeypatch.setattr(statistics, "_MAX_DRAWN", n_users)
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
    [found] = summary({"m": values}, n_resamples=2000)
    half = 1.96 * values.std() / math.sqrt(values.size)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)


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


@pytest.mark.parametrize("weights", [None, [1, 2, 1]])
def test_infinite_values_have_no_interval_of_a_bootstrap(weights):
    values = {"m": [math.inf, 1.0, 2.0], "n": [0.0, 1.0, 2.0]}
    infinite, finite = summary(values, weights=weights, n_resamples=100)
    assert infinite.mean == math.inf
    assert math.isnan(infinite.low)
    assert math.isnan(infinite.high)
    assert finite.low < finite.mean == 1.0 < finite.high


@pytest.mark.parametrize("end", [0, 1])
def test_a_value_beyond_an_end_by_rounding_is_that_end(end):
    # A sum and a dot product of the same terms differ in their last bit: 1 + 2.2e-16 is 1.
    values = np.full(14, float(end))
    values[:3] = 0.2, 0.7, 0.9
    rounded = values.copy()
    rounded[5:7] += [2.3e-16, -2.3e-16]
    found = summary({"ndcg@10": rounded})
    [expected] = summary({"ndcg@10": values})
    assert [*found] == [expected]
    assert not found.observed
    [all_beyond] = summary({"ndcg@10": np.full(50, end + 2.3e-16 * (2 * end - 1))})
    assert all_beyond.mean == end
    assert end in (all_beyond.low, all_beyond.high)
    assert 0.9 < 1 - (all_beyond.high - all_beyond.low) < 0.95  # one of 51 may be at the other end


def test_a_value_in_float32_beyond_an_end_by_rounding_is_that_end():
    values = np.array([0.25, 0.5, 1, 1], np.float32)
    beyond = np.array([0.25, 0.5, 1 + 2**-23, 1 - 2**-24], np.float32)
    found = summary({"ndcg@10": beyond})
    assert [*found] == [*summary({"ndcg@10": values.astype(np.float64)})]
    assert not found.observed
    assert summary({"ndcg@10": beyond.astype(np.float64)}).observed == {"ndcg@10"}


def test_a_value_below_the_only_end_by_rounding_is_that_end():
    found = summary({"dcg@10": [0.0, 2.0, -2.0e-16]})
    assert [*found] == [*summary({"dcg@10": [0.0, 2.0, 0.0]})]
    # Above it, dcg has no size that says what is rounding.
    [mean] = summary({"dcg@10": [1e-16, 2e-16, 3e-16]})
    assert mean.median == 2e-16


def test_a_value_far_beyond_an_end_is_of_another_scale():
    found = summary({"ndcg@10": [0.2, 0.7, 1 + 1e-9]})
    assert found.observed == {"ndcg@10"}


def test_one_user_has_no_interval():
    [found] = summary({"m": [0.5, NAN]})
    assert (found.mean, found.median, found.n_users) == (0.5, 0.5, 1)
    assert math.isnan(found.low)
    assert math.isnan(found.std)


def test_groups_are_summarised_as_if_alone_in_order_of_appearance():
    values, weights = drawn(90)
    groups = np.array(["warm", "cold", "hot"])[np.arange(90) % 3]
    found = summary({"m": values, "coverage@5": np.array(0.5)}, by=groups, weights=weights, rng=2)
    assert found.groups == ("warm", "cold", "hot")
    assert [each.group for each in found] == [None, None, "warm", "cold", "hot"]
    for group in found.groups:
        alone = summary({"m": values[groups == group]}, weights=weights[groups == group], rng=2)
        same(numbers(found, group), numbers(alone), rel=1e-12)


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


def test_a_summary_imports_no_statistics():
    code = (
        "import sys, recmetrics; recmetrics.summary({'m': [1.0, 2.0]}, weights=[1, 2]); "
        "names = ('scipy.stats', 'narwhals', 'pandas', 'matplotlib'); recmetrics.compare; "
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_level_is_the_mean_of_the_users_with_a_value():
    """Others may have one of the level, as users without an update have a chance."""
    nan = math.nan
    values = {"hit@1": [1.0, 0.0, nan, nan], "mrr": [0.5, nan, nan, 1.0]}
    chance = {"hit@1": [0.5, 0.25, 1.0, nan], "mrr": [0.25, 1.0, 1.0, 0.75]}
    found = summary(values, levels={"chance": chance}, by=["a", "a", "b", "b"])
    levels = {(mean.group, mean.metric): mean.levels["chance"] for mean in found}
    assert math.isnan(levels.pop(("b", "hit@1")))  # nobody of the group has a value
    assert levels == {
        (None, "hit@1"): (0.5 + 0.25) / 2,
        (None, "mrr"): (0.25 + 0.75) / 2,
        ("a", "hit@1"): (0.5 + 0.25) / 2,
        ("a", "mrr"): 0.25,
        ("b", "mrr"): 0.75,
    }
    weighted = summary(values, levels={"chance": chance}, weights=[3.0, 1.0, 1.0, 1.0])
    assert weighted.records[0].levels == {"chance": pytest.approx((3 * 0.5 + 0.25) / 4)}


def test_a_cutoff_limits_mean_ranks_and_binary_gains():
    """``mean_rank@5`` is 1 + 5 times ``percentile_rank@5``, and so are the ends of its interval."""
    shares = np.array([0.0] * 18 + [0.2, 0.4])
    values = {"percentile_rank@5": shares, "mean_rank@5": 1 + 5 * shares}
    of_shares, of_ranks = summary(values).to_records()
    assert of_ranks["high"] == pytest.approx(1 + 5 * of_shares["high"], rel=1e-9)
    assert of_ranks["low"] == pytest.approx(1 + 5 * of_shares["low"], rel=1e-9)
    greatest = {
        "mean_rank@5": 6.0,
        "cg(gain=binary)@3": 3.0,
        "cg(gain=exp2_shifted, rel=2)@3": 9.0,
        "dcg(gain=binary)@2": 1 + 1 / np.log2(3),
        "dcg(discount=reciprocal, rel=2)@3": 11 / 6,
        "mean_rank": np.inf,
        "cg@3": np.inf,
        "dcg(gain=binary)": np.inf,
        "dcg(gain=binary, weigh=ips)@3": np.inf,
    }
    highs = {metric: explain(metric).bounds[1] for metric in greatest}
    assert highs == pytest.approx(greatest, rel=1e-12)
