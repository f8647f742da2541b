"""Weights of users in a comparison and in the mean of an Evaluator."""

import itertools
import math

import numpy as np
import pytest
from compared import NAN, drawn, evaluated
from scipy import stats

from recmetrics import ArgumentError, ShapeError, StreamEvaluator, compare, summary


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


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_difference_has_the_numbers_of_its_values(is_weighted):
    models, weights = pair()
    options = {"weights": weights, "rng": 4} if is_weighted else {"rng": 4}
    [found] = compare(models, **options).differences
    differences = models["b"]["m"] - models["a"]["m"]
    [expected] = summary({"m": differences}, **options)
    assert found.difference == pytest.approx(expected.mean, rel=1e-12)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.effect_size == pytest.approx(expected.mean / expected.std, rel=1e-12)
    assert found.wins == np.count_nonzero(differences > 0)


def test_the_weighted_t_test_by_hand():
    # Ten users each, so that no side has too few.
    differences = np.repeat([1.0, 2.0, -4.0], 10)
    weights = np.repeat([1, 1, 2], 10)
    models = {"a": {"m": np.zeros(30)}, "b": {"m": differences}}
    [found] = compare(models, weights=weights).differences
    mean = (1 + 2 + 2 * -4) / 4
    squares = 10 * ((1 - mean) ** 2 + (2 - mean) ** 2 + 4 * (-4 - mean) ** 2)
    error = math.sqrt(30 / 29 * squares) / 40
    assert found.p_uncorrected["t"] == pytest.approx(2 * stats.t.sf(-mean / error, df=29))


@pytest.mark.parametrize("source", ["values", "sums"])
def test_users_of_little_weight_do_not_stand_for_a_side(source):
    """12 of 100 miss: 12 users, but of the weight of 1.2 of the 10 who decide the mean."""
    hits = np.ones(100)
    hits[:12] = 0.0
    weights = np.full(100, 0.1)
    weights[90:] = 100.0
    values = {"hit@1": hits}
    if source == "sums":
        values = StreamEvaluator(["hit@1"], keep="means")
        # Of two items, the first is first.
        truth = np.stack([hits, 1 - hits], axis=1)
        values.update(np.tile([1.0, 0.0], (100, 1)), truth, weights=weights)
    given = {} if source == "sums" else {"weights": weights}
    found = summary(values, **given)
    total, squares = 10 * 100 + 90 * 0.1, 10 * 100**2 + 90 * 0.1**2
    assert 12 * 0.1 * total / squares < 10  # the effective users below 1
    [mean] = found
    assert mean.widened == ("low",)
    noun = "events" if source == "sums" else "users"
    assert f"fewer than 10 effective {noun} are below the highest possible value" in str(found)

    # With an added user of the weight sum w^2 / sum w, and the value 0.
    weight = squares / total
    with_user, all_weights = np.append(hits, 0.0), np.append(weights, weight)
    centre = (total - 12 * 0.1) / (total + weight / 2)
    distances = with_user - np.average(with_user, weights=all_weights)
    spread = np.sum((all_weights * distances) ** 2)
    error = math.sqrt(101 / 100 * spread) / all_weights.sum()
    variance = np.average(distances**2, weights=all_weights)
    skewness = np.average(distances**3, weights=all_weights) / variance**1.5
    skewness *= np.mean(all_weights**3) / np.mean(all_weights**2) ** 1.5
    q = stats.t.ppf(0.975, 99)
    shift = -skewness / (6 * math.sqrt(101))
    assert mean.low == pytest.approx(max(0.0, centre - error * (q + shift * (1 + 2 * q**2))))


def test_users_of_much_weight_are_no_more_users_than_they_are():
    """5 users lose who weigh as much as 12 of those who decide the mean."""
    differences = np.repeat([-0.1, 0.02], [5, 95])
    weights = np.repeat([10.0, 1.0], [5, 95])
    assert weights[:5].sum() * weights.sum() / np.sum(weights**2) > 12
    values = {"old": {"ndcg@10": np.full(100, 0.5)}, "new": {"ndcg@10": 0.5 + differences}}
    [found] = compare(values, weights=weights).differences
    assert found.widened == ("low",)
    assert found.low == pytest.approx(-0.158, abs=0.001)  # -0.050 without an additional user


def test_users_of_equal_weight_count_as_without_weights():
    hits = np.repeat([0.0, 1.0], [10, 30])
    weights = np.full(40, 0.1)  # by their rounded sums, 10 users are 9.999999999999998
    [plain] = summary({"hit@1": hits})
    [weighed] = summary({"hit@1": hits}, weights=weights)
    assert weighed.widened == plain.widened == ()


def test_the_weighted_permutation_test_tries_every_flip():
    differences, weights = np.array([0.3, 0.1, -0.2, 0.4, 0.0]), np.array([1, 3, 2, 1, 5])
    models = {"a": {"m": np.zeros(5)}, "b": {"m": differences}}
    [found] = compare(models, weights=weights, tests="permutation").differences
    weighted = weights * differences
    flips = [abs(np.dot(signs, weighted)) for signs in itertools.product((1, -1), repeat=5)]
    expected = np.mean([each >= abs(weighted.sum()) - 1e-12 for each in flips])
    assert found.p_uncorrected["permutation"] == pytest.approx(expected)


def test_records_of_weighted_groups_hold_plain_numbers():
    models, weights = pair()
    by = np.arange(len(weights)) % 4  # groups of so few users that bounds count one more
    found = compare(models, weights=weights, by=by)
    values = [value for record in found.to_records() for value in record.values()]
    assert {type(value) for value in values} <= {str, int, float, bool, type(None)}


def test_a_weighted_comparison_says_so():
    models, weights = pair()
    models["a"]["coverage@5"], models["b"]["coverage@5"] = np.array(0.1), np.array(0.2)
    found = compare(models, weights=weights, rng=0)
    lines = str(found).splitlines()
    effective_note = (
        "weighted; effective: the effective number of users, (sum of weights)^2 / sum of weights^2"
    )
    assert effective_note in lines
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
