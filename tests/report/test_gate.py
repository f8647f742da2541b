"""Comparison.gate, users_needed, detectable and movers: bounds worked by hand, and SciPy's."""

import bisect
import json
import math
import re

import numpy as np
import pytest
from compared import NEW, OLD, bound
from scipy import optimize, stats

import recmetrics
from recmetrics import ArgumentError, RecmetricsError, ShapeError

MEAN = 0.9 / 6  # of the differences 0.2, 0.1, 0, 0.3, 0.1, 0.2
DIFFERENCES = [new - old for new, old in zip(NEW, OLD, strict=True)]


def compared(old=OLD, new=NEW, metric="ndcg@10", **keywords):
    models = {"old": {metric: np.array(old)}, "new": {metric: np.array(new)}}
    return recmetrics.compare(models, baseline="old", **keywords)


def many(times=40, **keywords):
    """The six users, many times: enough of them for most rules."""
    return compared(OLD * times, NEW * times, **keywords)


def only(gate):
    (verdict,) = gate.verdicts
    return verdict


# --- Bounds by hand ------------------------------------------------------------------------------


def test_no_loss_among_30_users_says_little():
    # One more user at -1: the mean is -1 / 2 / 30.5, the squares (1 / 31)^2 x 30 + (30 / 31)^2 add
    # up to 30 / 31, and the skewness of 30 zeros and one -1 is -29 / sqrt(30).
    error = math.sqrt(30 / 31 / 30) / math.sqrt(31)
    shift = 29 / math.sqrt(30) / (6 * math.sqrt(31))
    t = stats.t.ppf(0.95, 29)
    low = -0.5 / 30.5 - error * (t + shift * (1 + 2 * t**2))
    hits = [1.0] * 10 + [0.0] * 20
    gate = compared(hits, hits, "hit@10").gate(["hit@10 >= -0.01", "hit@10 > 0"])
    for verdict in gate.verdicts:
        assert verdict.at_least == pytest.approx(low, rel=1e-12)  # -0.106: 3.2 / 30
        assert verdict.verdict == "open"
    assert gate.passed is None


def test_the_bounds_of_a_margin_in_the_unit_of_the_metric():
    verdict = only(compared([*OLD, math.nan], [*NEW, 1.0]).gate("ndcg@10 >= +0.05"))
    assert verdict.difference == pytest.approx(MEAN, rel=1e-12)
    assert verdict.margin == 0.05
    beyond = [difference - 0.05 for difference in DIFFERENCES]  # from -1.05 to 0.95
    assert verdict.at_least == pytest.approx(0.05 + bound(beyond, -1.05, 0.95), rel=1e-9)
    turned = [-difference for difference in beyond]
    assert verdict.at_most == pytest.approx(0.05 - bound(turned, -0.95, 0.95), rel=1e-9)
    assert (verdict.verdict, verdict.n_users, verdict.n_undefined) == ("open", 6, 1)


def test_a_margin_in_per_cent_tests_new_less_that_share_of_old():
    # new - 1.2 old lies between 0 - 1.2 and 1 - 0; its mean is 0.1, and that of old 1.5 / 6.
    contrast = [new - 1.2 * old for new, old in zip(NEW, OLD, strict=True)] * 40
    verdict = only(many().gate("ndcg@10 >= +20%"))
    assert verdict.margin == pytest.approx(0.2 * 0.25, rel=1e-12)
    # The bound of the contrast is moved by the margin, so that it reads as a difference.
    assert verdict.at_least == pytest.approx(0.05 + bound(contrast, -1.2, 0.95), rel=1e-9)
    assert verdict.verdict == "holds"


def test_a_loss_of_all_that_the_baseline_has_leaves_the_values_of_the_candidate():
    # new - 0 old: the range of clicks is not known, so a value may be below 0.
    verdict = only(many(metric="clicks").gate("clicks >= -100%"))
    assert verdict.margin == pytest.approx(-0.25, rel=1e-12)
    assert verdict.at_least == pytest.approx(-0.25 + bound(NEW * 40, 0, 0.95), rel=1e-9)
    # new + 0.5 old is at least 0, as both are.
    contrast = [new + 0.5 * old for new, old in zip(NEW, OLD, strict=True)] * 40
    verdict = only(many(metric="clicks").gate("clicks >= -150%"))
    assert verdict.margin == pytest.approx(-0.375, rel=1e-12)
    assert verdict.at_least == pytest.approx(-0.375 + bound(contrast, 0, 0.95), rel=1e-9)


def test_where_lower_is_better_the_upper_bound_decides():
    # The range of mean_rank is not known: its values here lie between 0 and 0.7.
    gate = many(metric="mean_rank").gate("mean_rank <= +0.05")
    verdict = only(gate)
    turned = [0.05 - difference for difference in DIFFERENCES] * 40
    assert verdict.at_most == pytest.approx(0.05 - bound(turned, 0.05 - 0.7, 0.95), rel=1e-9)
    other = [-difference for difference in turned]
    assert verdict.at_least == pytest.approx(0.05 + bound(other, -0.05 - 0.7, 0.95), rel=1e-9)
    assert verdict.verdict == "fails"
    note = "mean_rank: no maximum is known; the additional user has the greatest value measured"
    assert note in str(gate)
    better = compared(NEW * 40, OLD * 40, "mean_rank").gate("mean_rank <= 0")
    assert only(better).verdict == "holds"
    advice = "type 'mean_rank < +1%' to allow a loss of 1%, or 'mean_rank < -1%' to require a gain"
    with pytest.raises(ArgumentError, match=re.escape(advice)):
        many(metric="mean_rank").gate("mean_rank < 1%")


def test_weights_take_the_linearised_variance():
    weights = np.array([2.0, 1, 1, 1, 1, 4])
    verdict = only(gate := compared(weights=weights).gate("ndcg@10 > 0"))
    turned = [-difference for difference in DIFFERENCES]
    assert verdict.at_least == pytest.approx(bound(DIFFERENCES, -1, 0.95, weights), rel=1e-9)
    assert verdict.at_most == pytest.approx(-bound(turned, -1, 0.95, weights), rel=1e-9)
    assert "linearised variance), corrected for skewness" in str(gate)


def test_several_candidates_and_looks_share_the_error():
    models = {"old": OLD, "new": NEW, "other": OLD[::-1]}
    found = recmetrics.compare(
        {name: {"mrr": values * 40} for name, values in models.items()}, baseline="old"
    )
    gate = found.gate("mrr > 0", looks=5)
    level = 1 - 0.05 / 2 / 5
    assert gate.level == pytest.approx(level, rel=1e-15)
    expected = bound(DIFFERENCES * 40, -1, level)
    assert gate.verdicts[0].at_least == pytest.approx(expected, rel=1e-9)
    assert gate.of == {"new": True, "other": None}
    level_note = "99.5 % (a risk of 5 % in all, over 2 new models and 5 looks)"
    assert f"\neach bound has confidence {level_note}\n" in str(gate)
    of_many_looks = "99.9975 % (a risk of 5 % in all, over 2 new models and 1000 looks)"
    assert f"\neach bound has confidence {of_many_looks}\n" in str(
        found.gate("mrr > 0", looks=1000)
    )
    of_two_rules = str(found.gate(["mrr > 0", "mrr >= -0.5"], looks=5))
    note = (
        f"\n'at least' has confidence {level_note}; 'at most' has a higher confidence (corrected "
        "by Holm over all rules)\n"
    )
    assert note in of_two_rules


def test_the_legend_says_which_bound_decides():
    lower = "holds if 'at least' is above the margin, fails if 'at most' is below it"
    upper = "holds if 'at most' is below the margin, fails if 'at least' is above it"
    values = [{"mrr": each * 40, "mean_rank": each * 40} for each in (OLD, NEW)]
    found = recmetrics.compare({"old": values[0], "new": values[1]})
    assert f"\na rule {lower}, and else is open\n" in str(found.gate("mrr >= -1%"))
    assert f"\na rule {upper}, and else is open\n" in str(found.gate("mean_rank <= +1%"))
    both = str(found.gate(["mrr >= -1%", "mean_rank <= +1%"]))
    assert f"\na rule with > {lower}; one with < {upper}; else it is open\n" in both
    assert "\nthe bound by which a rule holds has confidence 95 %; the bound by which " in both
    upper_alone = str(found.gate(["mean_rank <= +1%", "mean_rank < 0"]))
    assert "\n'at most' has confidence 95 %; 'at least' has a higher confidence" in upper_alone


def test_an_open_rule_with_as_many_users_as_needed():
    """The needed users are those of equal models: a loss near the margin is open with more."""
    rng = np.random.default_rng(0)
    old = rng.uniform(0.4, 0.6, 4000)
    new = old - 0.0195 + rng.normal(0, 0.1, 4000)
    gate = compared(old, new).gate("ndcg@10 >= -0.02")
    assert only(gate).verdict == "open"
    assert only(gate).n_needed < only(gate).n_users
    text = str(gate)
    assert (
        "\nopen with as many users as needed or more (ndcg@10 >= -0.02): equal models "
        "hold the rules" in text
    )
    assert "too few users" not in text
    beyond = "the observed difference is beyond the margin ({}), so with more users the rule would"
    margin = float(np.mean(new - old)) + 1e-4
    assert beyond.partition("{}")[0] not in text
    rule = f"ndcg@10 >= {margin}"
    assert f"\n{beyond.format(rule)} rather fail" in str(compared(old, new).gate(rule))
    rule = f"mean_rank <= +{-margin}"
    assert beyond.format(rule) in str(compared(-old, -new, "mean_rank").gate(rule))
    both = recmetrics.compare(
        {"old": {"ndcg@10": old}, "new": {"ndcg@10": new}}, by=["few"] * 100 + ["many"] * 3900
    )
    text = str(both.gate(["ndcg@10 >= -0.02", "ndcg@10 >= -0.02 IN few"]))
    assert "\nopen with as many users as needed or more (ndcg@10 >= -0.02): equal models" in text
    assert "\nopen (ndcg@10 >= -0.02 in few): too few users to decide" in text
    values = {"old": old, "a": new, "b": old - 0.001}
    models = {name: {"ndcg@10": column} for name, column in values.items()}
    text = str(recmetrics.compare(models, baseline="old").gate(rule := f"ndcg@10 >= {margin}"))
    assert f"\n{beyond.format(f'a: {rule}')} rather fail" in text


def test_the_bounds_of_a_margin_in_per_cent_are_explained():
    note = "at least, at most: bounds of the difference to old"
    assert f"\n{note}\n" in str(many().gate("ndcg@10 >= -0.01"))
    more = f"{note}; with a margin of -1 %: margin + bounds of the difference to 99 % of old"
    assert f"\n{more}\n" in str(many().gate("ndcg@10 >= -1%"))


def test_one_user_leaves_a_rule_open():
    verdict = only(compared([0.25], [0.75]).gate("ndcg@10 >= -0.9"))
    assert (verdict.verdict, verdict.difference, verdict.n_users) == ("open", 0.5, 1)
    assert math.isnan(verdict.at_least)


def test_a_bound_is_cut_to_what_the_metric_can_be():
    verdict = only(compared([0.0] * 3, [1.0] * 3).gate("ndcg@10 >= -0.999"))
    assert (verdict.at_least, verdict.at_most) == (-1.0, 1.0)


def test_skewness_never_makes_a_bound_less_strict():
    gains = [-0.1] * 30 + [0.5] * 12  # few large gains do not endanger the lower bound
    [difference] = compared([0.4] * 42, [0.4 + gain for gain in gains]).differences
    error = np.std(gains, ddof=1) / math.sqrt(42)
    low = np.mean(gains) - stats.t.ppf(0.975, 41) * error
    assert difference.low == pytest.approx(low, rel=1e-9)
    assert difference.high > np.mean(gains) + stats.t.ppf(0.975, 41) * error


# --- Verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "passed"),
    [
        ("ndcg@10 >= -1%", True),
        (["ndcg@10 >= -1%", "ndcg@10 > 0"], True),
        (["ndcg@10 >= -1%", "ndcg@10 >= +0.15"], None),
        (["ndcg@10 >= +0.4", "ndcg@10 >= +0.1"], False),
    ],
)
def test_all_rules_must_hold_and_one_that_fails_suffices(rules, passed):
    gate = many().gate(rules)
    assert gate.passed is passed
    assert bool(gate) is (passed is True)  # as in: if comparison.gate(rules): deploy()


def test_failing_is_corrected_by_holm_over_rules_and_groups():
    noise = [-0.1, 0.1] * 2_000
    error = np.std(noise, ddof=1) / math.sqrt(4_000)
    # -2 standard errors fail alone, not among four; -4 fail among four.
    means = [-4, -2, 0, 1]
    new = np.concatenate([np.array(noise) + mean * error for mean in means])
    groups = np.repeat(range(4), 4_000)
    comparison = compared(np.zeros(groups.size), new, by=groups, metric="nearness")
    gate = comparison.gate("nearness >= 0 in every group")
    assert [verdict.verdict for verdict in gate.verdicts] == ["fails", "open", "open", "open"]
    alone = comparison.gate("nearness >= 0 in 1")
    assert only(alone).verdict == "fails"
    least, largest = new.min(), new.max()
    for verdict, mean, share in zip(gate.verdicts, means, [4, 3, 3, 3], strict=True):
        turned = [-(value + mean * error) for value in noise]
        high = -bound(turned, -max(largest, 0) + min(least, 0), 1 - 0.05 / share)
        assert verdict.at_most == pytest.approx(high, rel=1e-9)


def test_small_groups_are_listed_not_judged():
    groups = ["a", "a", "b", "a", "b", "a"] * 40
    gate = many(by=groups).gate("ndcg@10 >= 0 in every group", min_users=90)
    assert [verdict.verdict for verdict in gate.verdicts] == ["holds", "not judged"]
    assert gate.passed is True
    assert "not judged: fewer than 90 users" in str(gate)
    assert only(many(by=groups).gate("ndcg@10 >= 0 in b", min_users=90)).verdict == "holds"
    lost = compared([0.5] * 100, [0.6] * 95 + [0.0] * 5, by=["rest"] * 95 + ["tiny"] * 5)
    named = lost.gate(["ndcg@10 >= -1%", "ndcg@10 >= -5% in tiny"])
    assert ([each.verdict for each in named.verdicts], named.passed) == (["holds", "open"], None)


def test_one_named_group_is_judged():
    groups = ["vip", "vip", "new user", "vip", "new user", "vip"] * 40
    found = many(by=groups)
    rules = ["ndcg@10 >= -1% in vip", "ndcg@10 > 0 in 'new user'", 'ndcg@10 > 0 in "new user"']
    gate = found.gate(rules)
    every = found.gate("ndcg@10 >= -1% in every group").verdicts
    assert [verdict.group for verdict in gate.verdicts] == ["vip", "new user", "new user"]
    vip = next(verdict for verdict in every if verdict.group == "vip")
    assert gate.verdicts[0].at_least == vip.at_least
    numbered = many(by=[1, 2] * 120)
    assert only(numbered.gate("ndcg@10 > 0 in 2")).group == 2


def test_a_group_of_exactly_min_users_is_judged():
    groups = ["a", "a", "b", "a", "b", "b"]  # differences of b: 0, 0.1, 0.2
    found = compared(by=groups)
    judged = found.gate("ndcg@10 >= -0.999 in every group", min_users=3).verdicts
    assert [(each.n_users, each.verdict) for each in judged] == [(3, "open"), (3, "open")]
    listed = found.gate("ndcg@10 >= -0.999 in every group", min_users=4).verdicts
    assert [each.verdict for each in listed] == ["not judged", "not judged"]


def test_a_metric_of_all_lists_is_compared_as_it_is():
    coverages = {"old": 0.5, "new": 0.49}
    models = {m: {"coverage": np.array(each), "mrr": [0.5]} for m, each in coverages.items()}
    found = recmetrics.compare(models, baseline="old", by=["one"])
    assert found.gate("coverage >= -2%").passed is True
    gate = found.gate("coverage >= -1%")
    assert gate.passed is False
    assert "a metric of all lists has no bounds: its difference alone decides" in str(gate)
    assert math.isnan(only(gate).at_least)
    alone = only(found.gate("mrr >= -1%"))
    both = found.gate(["coverage >= -1%", "mrr >= -1%"])
    assert both.verdicts[1].at_most == pytest.approx(alone.at_most, nan_ok=True)
    assert "\neach bound has confidence 95 %\n" in str(both)
    with pytest.raises(
        ArgumentError, match="coverage is one value of all lists; expected a metric"
    ):
        found.users_needed("coverage", 0.1)
    with pytest.raises(ArgumentError, match="has no groups: coverage is one value of all lists"):
        found.gate("coverage >= -1% in every group")
    models["new"]["coverage"] = np.array(math.nan)  # no list
    assert recmetrics.compare(models).gate("coverage >= -0.1").passed is None


@pytest.mark.parametrize("hundredths", range(10, 100, 9))
def test_rounding_of_float32_does_not_judge_a_metric_of_all_lists(hundredths):
    values = {"old": hundredths / 100, "new": (hundredths - 1) / 100}
    models = {name: {"coverage@10": np.array(value, "f4")} for name, value in values.items()}
    rules = ["coverage@10 >= -0.01", "coverage@10 > -0.01"]
    verdicts = recmetrics.compare(models, baseline="old").gate(rules).verdicts
    assert [verdict.verdict for verdict in verdicts] == ["holds", "fails"]


@pytest.mark.parametrize("hundredths", range(10, 100, 9))
def test_a_metric_of_all_lists_at_the_margin_is_not_judged_by_rounding(hundredths):
    # 0.29 - 0.3 + 0.01 is below 0 in floating point.
    old = hundredths / 100
    values = {"old": (old, old), "new": ((hundredths - 1) / 100, hundredths * 9 / 1000)}
    models = {
        name: {
            "coverage@10": np.array(coverage),
            "gini@10": np.array(-coverage),
            "tenth": np.array(tenth),
        }
        for name, (coverage, tenth) in values.items()
    }
    found = recmetrics.compare(models, baseline="old", lower_is_better="gini@10")
    rules = {
        "coverage@10 >= -0.01": "holds",
        "coverage@10 > -0.01": "fails",
        "coverage@10 > -0.0100000001": "holds",
        "coverage@10 >= -0.0099999999": "fails",
        "gini@10 <= +0.01": "holds",
        "gini@10 < +0.01": "fails",
        "tenth >= -10%": "holds",
        "tenth > -10%": "fails",
    }
    verdicts = found.gate([*rules]).verdicts
    assert {verdict.rule: verdict.verdict for verdict in verdicts} == rules


def test_without_spread_a_known_range_decides_and_an_unknown_one_is_open():
    constant = [0.0] * 500, [0.25] * 500
    assert only(compared(*constant).gate("ndcg@10 > 0")).verdict == "holds"
    verdict = only(gate := compared(*constant, metric="clicks").gate("clicks > 0"))
    assert (verdict.verdict, verdict.n_needed) == ("open", None)
    assert math.isnan(verdict.at_least)
    assert "\nopen without bounds (clicks > 0): the difference is equal for all users, and" in str(
        gate
    )
    assert "too few users" not in str(gate)
    assert "too few users" in str(compared([0.25], [0.5], metric="clicks").gate("clicks > 0"))


@pytest.mark.parametrize("n_users", [60, 340])
def test_equal_models_need_107_users_for_a_margin_of_3_and_322_for_one_of_1_per_cent(n_users):
    hits = [1.0, 0.0] * (n_users // 2)
    found = compared(hits, hits, "hit@10")
    passed = found.gate("hit@10 >= -0.03").passed, found.gate("hit@10 >= -0.01").passed
    assert passed == ((None, None) if n_users == 60 else (True, True))
    assert found.gate("hit@10 > 0").passed is None


# --- Runs ----------------------------------------------------------------------------------------


def runs_of(values):
    return [{"mrr": run} for run in values]


def test_the_variance_over_runs_is_added():
    rng = np.random.default_rng(1)
    old = rng.random((3, 200))
    new = np.clip(old + 0.05 + rng.normal(0, 0.05, (3, 1)), 0, 1)
    runs = {"old": runs_of(old), "new": runs_of(new)}
    gate = recmetrics.compare(runs, baseline="old", paired_runs=True).gate("mrr >= -0.01")
    difference = new.mean(axis=0) - old.mean(axis=0)
    of_runs = (new - old).mean(axis=1)
    low = bound(difference + 0.01, -0.99, 0.95, runs=[of_runs]) - 0.01
    assert only(gate).at_least == pytest.approx(low, rel=1e-9)
    assert "runs: their variance added" in str(gate)
    apart = recmetrics.compare(runs, baseline="old").gate("mrr >= -0.01")
    both = [new.mean(axis=1), old.mean(axis=1)]
    low = bound(difference + 0.01, -0.99, 0.95, runs=both) - 0.01
    assert only(apart).at_least == pytest.approx(low, rel=1e-9)
    assert only(apart).n_needed is None  # more users do not make runs agree


@pytest.mark.parametrize("n_runs", [2, 5, 40])  # with many, some levels are too small to search
def test_a_rule_fails_where_its_bound_with_runs_ends(n_runs):
    rng = np.random.default_rng(4)
    old = rng.random((n_runs, 300))
    new = np.clip(old - 0.2 + rng.normal(0, 0.01, (n_runs, 1)), 0, 1)
    comparison = recmetrics.compare({"old": runs_of(old), "new": runs_of(new)})

    def verdict(margin):
        return only(comparison.gate(f"mrr >= {margin:+.12f}"))

    at_most = verdict(0.0).at_most
    assert at_most > -0.19
    assert verdict(at_most - 1e-9).verdict == "open"
    assert verdict(at_most + 1e-9).verdict == "fails"
    assert verdict(0.99).verdict == "fails"
    assert verdict(-0.99).verdict == "holds"


def test_a_model_saved_three_times_is_one_model():
    values = np.random.default_rng(2).random((2, 200))
    saved = {"old": {"mrr": values[0]}, "new": runs_of([values[1]] * 3)}
    rule = "mrr >= -0.05"
    assert only(recmetrics.compare(saved).gate(rule)).at_least == pytest.approx(
        only(compared(*values, metric="mrr").gate(rule)).at_least, rel=1e-12
    )


def test_with_resamples_the_wider_of_both_bounds_counts():
    rng = np.random.default_rng(3)
    old = rng.random((8, 200))
    new = np.clip(old + rng.normal(0, 0.3, (8, 1)), 0, 1)
    runs = {"old": runs_of(old), "new": runs_of(new)}
    drawn = recmetrics.compare(runs, n_resamples=100)
    plain = only(recmetrics.compare(runs).gate("mrr >= -0.01"))
    bounds = [only(drawn.gate("mrr >= -0.01", rng=seed)) for seed in range(8)]
    assert len({verdict.at_least for verdict in bounds}) > 1  # the seed reaches the draws
    assert all(verdict.at_least <= plain.at_least for verdict in bounds)
    assert all(verdict.at_most >= plain.at_most for verdict in bounds)
    many_draws = str(recmetrics.compare(runs, n_resamples=1_000).gate("mrr > 0"))
    assert "nested bootstrap of 1,000 resamples where it is wider" in many_draws
    equal = {"old": runs_of([old[0]] * 6), "new": runs_of([old[0]] * 6)}
    assert recmetrics.compare(equal, n_resamples=100).gate("mrr >= -0.01").passed is None


# --- Rules that cannot be read -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "ndcg@10 >= 0.35",
            "has no sign; .* none bounds ndcg@10 itself: type 'ndcg@10 >= -0.35' to allow a loss "
            "of 0.35, or 'ndcg@10 >= +0.35' to require a gain of 0.35",
        ),
        ("ndcg@10 > 1%", "'ndcg@10 > -1%' to allow a loss of 1%, or 'ndcg@10 > +1%' to require a"),
        (
            "ndcg@10 <= -1%",
            "on the wrong side: higher is better; type 'ndcg@10 >= -1%' to allow that loss, or "
            "'ndcg@10 >= +1%' to require that gain",
        ),
        (
            "gini@10 >= -1%",
            "on the wrong side: lower is better; type 'gini@10 <= +1%' to allow that loss, or "
            "'gini@10 <= -1%' to require that gain",
        ),
        ("ndcg@10 <= 1%", "on the wrong side: higher is better; type 'ndcg@10 >= -1%' to"),
        ("gini@10 > 0.01", "on the wrong side: lower is better; type 'gini@10 < +0.01' to"),
        ("ndcg@10 < 0", "on the wrong side: higher is better; type 'ndcg@10 > 0'"),
        ("ndgc@10 >= 0", "names no metric of the comparison; did you mean 'ndcg@10'?"),
        ("ndcg@10", "cannot read the rule 'ndcg@10'; .* type 'ndcg@10 >= -1%'"),
        ("ndcg@10 => 0", "cannot read the rule 'ndcg@10 => 0'; .* type 'ndcg@10 >= -1%'"),
        (3, "cannot read the rule 3; .* type 'ndcg@10 >= -1%'"),
        ([3], "cannot read the rule 3; .* type 'ndcg@10 >= -1%'"),
        (None, "cannot read the rule None; .* type 'ndcg@10 >= -1%'"),
        ({}, "cannot read the rule {}; .* type 'ndcg@10 >= -1%'"),
        ({"ndcg@10 > 0": 1}, "cannot read the rule {'ndcg@10 > 0': 1}; .* type 'ndcg@10 >= -1%'"),
        (b"ndcg@10 > 0", "cannot read the rule b'ndcg@10 > 0'; .* type 'ndcg@10 >= -1%'"),
        (np.array(3), "cannot read the rule array(3); .* type 'ndcg@10 >= -1%'"),
        ("ndcg@10 >= 0 in every group", "needs groups; type by= in compare"),
        ("ndcg@10 >= 0 in vip", "needs groups; type by= in compare"),
        ("ndcg@10 >= -1e400%", "is no finite number; expected one such as -1% or -0.01"),
        (
            "ndcg@10 >= -1",  # could not fail
            "not between the least and the greatest difference of ndcg@10, -1 and 1; type "
            "'ndcg@10 >= -1%' for",
        ),
        ("gini@10 <= +1", "difference of gini@10, -1 and 1; type 'gini@10 <= +1%' for"),
        # With a sign, or on the other side, these would be refused as well.
        ("ndcg@10 >= 1", "difference of ndcg@10, -1 and 1; type 'ndcg@10 >= -1%' for"),
        ("ndcg@10 <= -1", "difference of ndcg@10, -1 and 1; type 'ndcg@10 >= -1%' for"),
        ("ndcg@10 <= +1", "difference of ndcg@10, -1 and 1; type 'ndcg@10 >= -1%' for"),
        ("gini@10 > 2 in vip", "difference of gini@10, -1 and 1; type 'gini@10 < +2% in vip' for"),
        ("ndcg@10 > 0.1 in vip", "type 'ndcg@10 > -0.1 in vip' to allow a loss of 0.1, or"),
        (
            "ndcg@10 >= -100%",  # could not fail
            "the margin -100% of the rule 'ndcg@10 >= -100%' is all that the baseline has, or "
            "more, and no value of ndcg@10 is below 0; expected a share above -100%, such as -1%",
        ),
        ("ndcg@10 >= -150%", "and no value of ndcg@10 is below 0; expected a share above -100%"),
        ("gini@10 <= -100%", "and no value of gini@10 is below 0; expected a share above -100%"),
        (
            "ndcg@10 >= +600%",  # of 0.25: above any difference
            "the rule 'ndcg@10 >= +600%' is a difference of 1.5, which is not between the least "
            "and the greatest difference of ndcg@10, -1 and 1",
        ),
        ([], "rules is empty; expected one or more, such as 'ndcg@10 >= -1%'"),
        ("zero >= -1%", "the mean of 'old', which is 0; expected a mean above 0"),
    ],
)
def test_a_rule_that_cannot_be_judged(rule, message):
    both = {"gini@10": np.array(0.5), "zero": np.zeros(6)}
    models = {"old": {"ndcg@10": OLD, **both}, "new": {"ndcg@10": NEW, **both}}
    found = recmetrics.compare(models, baseline="old", lower_is_better=["gini@10"])
    pattern = ".*".join(map(re.escape, message.split(".*")))
    with pytest.raises(ArgumentError, match=pattern) as error:
        found.gate(rule)
    assert error.value.argument == "rules"


@pytest.mark.parametrize("sign", ["<=", "<"])
def test_a_rule_for_lower_is_better_of_a_metric_of_unknown_direction(sign):
    models = {"old": {"rmse": OLD}, "new": {"rmse": NEW}}
    found = recmetrics.compare(models, baseline="old")
    for margin in ("+1%", "0.1", "+9"):
        message = (
            f"the rule 'rmse {sign} {margin}' is for a metric of which lower is better, and the "
            "direction of rmse is not known, so that higher is taken as better: if lower is, type "
            "lower_is_better=['rmse'] in compare, and else a rule with >= or >"
        )
        with pytest.raises(ArgumentError, match=re.escape(message)):
            found.gate(f"rmse {sign} {margin}")
    found = recmetrics.compare(models, baseline="old", lower_is_better=["rmse"])
    assert only(found.gate(f"rmse {sign} +1%")).metric == "rmse"


def test_a_rule_that_cannot_be_read_says_how_to_name_a_group_with_blanks():
    found = many(by=["a b", "c"] * 120)
    with pytest.raises(ArgumentError, match="cannot read the rule") as error:
        found.gate("ndcg@10 >= -1% in a b")
    _, _, quoted = str(error.value).partition("is quoted: ")
    assert quoted == """'ndcg@10 >= -1% in "a b"'"""
    assert only(found.gate(quoted.strip("'"))).group == "a b"


@pytest.mark.parametrize("name", ["''", '""'])
def test_a_group_without_a_name_is_judged(name):
    found = many(by=["", "c"] * 120)
    assert only(found.gate(f"ndcg@10 >= -1% in {name}")).group == ""
    with pytest.raises(ArgumentError, match="needs groups"):
        many().gate(f"ndcg@10 >= -1% in {name}")


def test_a_share_of_a_group_whose_mean_is_0():
    found = compared([0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 0.5, 1.0], by=["new", "new", "vip", "vip"])
    for rule in ("ndcg@10 >= -1% in every group", "ndcg@10 >= -1% in new"):
        with pytest.raises(ArgumentError, match="which is 0 in the group 'new'; expected a mean"):
            found.gate(rule, min_users=2)


def test_a_small_group_whose_mean_is_0_is_not_judged():
    old = [*OLD * 40, 0.0, 0.0, 0.0]
    new = [*NEW * 40, 0.5, 0.0, 0.0]
    found = compared(old, new, by=["many"] * 240 + ["rare"] * 3)
    many, rare = found.gate("ndcg@10 >= -5% in every group").verdicts
    assert (many.verdict, many.margin) == ("holds", pytest.approx(-0.05 * 0.25, rel=1e-12))
    assert (rare.verdict, math.isnan(rare.margin), rare.n_users) == ("not judged", True, 3)


def test_a_small_group_is_not_judged_where_it_is_the_only_one():
    found = many(5, by=["all"] * 30)
    gate = found.gate("ndcg@10 >= -1% in every group", min_users=31)
    assert (only(gate).verdict, gate.passed) == ("not judged", None)
    assert "\nnot judged: fewer than 31 users (min_users)" in str(gate)
    assert only(found.gate("ndcg@10 >= -1% in every group")).verdict == "holds"
    assert only(found.gate("ndcg@10 >= -1% in all", min_users=31)).verdict == "holds"


def test_a_group_that_is_not_there():
    found = compared(by=["vip", "new"] * 3)
    with pytest.raises(ArgumentError, match=r"names no group of the comparison; did you mean 'vip"):
        found.gate("ndcg@10 > 0 in vp")
    with pytest.raises(ArgumentError, match=r"expected one of 'new', 'vip'"):
        found.gate("ndcg@10 > 0 in 7")


def test_three_models_need_a_baseline_or_a_pair():
    models = {name: {"mrr": each} for name, each in (("a", OLD), ("b", NEW), ("c", OLD[::-1]))}
    found = recmetrics.compare(models)
    baseline = "a rule needs the baseline; type baseline='a', or another model, in compare"
    with pytest.raises(ArgumentError, match=f"^{baseline}$"):
        found.gate("mrr >= 0")
    with pytest.raises(ArgumentError, match="type model='b', against='a' or model='"):
        found.movers("mrr")
    alone = compared(metric="mrr").users_needed("mrr", 0.1)
    assert found.users_needed("mrr", 0.1, model="b") == alone


def test_settings_that_are_no_counts():
    with pytest.raises(ArgumentError, match="min_users must be an integer >= 2"):
        compared().gate("ndcg@10 >= 0", min_users=1)
    with pytest.raises(ArgumentError, match="looks must be an integer >= 1"):
        compared().gate("ndcg@10 >= 0", looks=1.5)
    with pytest.raises(ArgumentError, match="looks must be at most 1,000"):
        compared().gate("ndcg@10 >= 0", looks=10**18)
    with pytest.raises(ArgumentError, match="n must be an integer >= 1"):
        compared().movers("ndcg@10", n=0)


# --- How many users ------------------------------------------------------------------------------

# Differences -0.2 and 0.2 of 60 users each: no skewness, and no side has too few.
EVEN = [0.2, -0.2] * 60
EVEN_SPREAD = math.sqrt(120 * 0.04 / 119)


EVEN_VALUES = [0.4 + difference for difference in EVEN]


def even(n=120, **keywords):
    return compared([0.4] * n, EVEN_VALUES[:n], **keywords)


def power_of(difference, n, level):
    """The power of the one-sided t test, by the distribution of its statistic."""
    noncentrality = difference / EVEN_SPREAD * math.sqrt(n)
    return stats.nct.sf(stats.t.ppf(level, n - 1), n - 1, noncentrality)


def test_a_detectable_difference_has_power_0_8():
    [difference] = even().differences
    assert power_of(difference.detectable, 120, 0.975) == pytest.approx(0.8, abs=1e-7)


def test_users_needed_are_the_fewest_with_the_power():
    undefined = [math.nan] * 60
    models = {
        "old": {"ndcg@10": [0.4] * 120 + undefined},
        "new": {"ndcg@10": [0.4 + difference for difference in EVEN] + [0.5] * 60},
    }
    found = recmetrics.compare(models)
    needed = found.users_needed("ndcg@10", 0.05, power=0.9)
    n = needed.with_value
    assert power_of(0.05, n, 0.975) >= 0.9 > power_of(0.05, n - 1, 0.975)
    assert needed.all_users == math.ceil(n * 180 / 120)
    assert found.users_needed("ndcg@10", -0.05, power=0.9) == needed


def test_users_needed_count_those_of_weight_0_among_all():
    """Half of the users have weight 0, and a third of the others no value."""
    models = {
        "old": {"m": [0.4] * 120 + [math.nan] * 60 + [0.4] * 180},
        "new": {"m": [0.4 + difference for difference in EVEN] + [0.5] * 240},
    }
    found = recmetrics.compare(models, weights=[1.0] * 180 + [0.0] * 180)
    needed = found.users_needed("m", 0.05)
    assert needed.all_users == 3 * needed.with_value
    text = str(found.gate("m >= -0.001"))
    assert "needed: size of a new sample, in users with a value and a weight above 0; all" in text


# Shares of users who lose and gain, and the standard deviation of their differences before the
# gains are moved to give the true mean.
FEW_DIFFER = [(0.05, 0.08, 0.1, 0.005), (0.4, 0.5, 0.05, 0.01), (0.001, 0.1, 0.2, 0.02)]


def drawn_differences(case, rng, shape):
    lose, gain, spread, mean = case
    chance = rng.random(shape)
    sizes = np.abs(rng.normal(0, spread, shape))
    moved = (mean - np.sqrt(2 / np.pi) * spread * (gain - lose)) / gain
    differences = np.where(chance < lose, -sizes, 0.0)
    return np.clip(np.where(chance > 1 - gain, sizes + moved, differences), -0.5, 0.5)


@pytest.mark.parametrize("margin", [None, 0.0])
@pytest.mark.parametrize("case", FEW_DIFFER)
def test_the_users_needed_show_the_difference(case, margin):
    """Simulated: where few users of a sample lose, its bounds count one more user."""
    rng = np.random.default_rng(0)
    mean = case[-1]
    first = drawn_differences(case, rng, 6_000)
    found = compared([0.5] * 6_000, 0.5 + first)
    n = found.users_needed("ndcg@10", mean, margin=margin).with_value
    n_shown = 0
    for _ in range(200):
        sample = compared([0.5] * n, 0.5 + drawn_differences(case, rng, n))
        if margin is None:
            n_shown += sample.differences[0].low > 0
        else:
            n_shown += sample.gate("ndcg@10 >= 0").passed is True
    assert n_shown / 200 >= 0.74  # 0.8, less twice the standard error of 200 samples


def test_the_rule_of_a_metric_whose_lower_values_are_better_has_its_users():
    values = {"old": {"mean_rank": [0.4] * 120}, "new": {"mean_rank": [0.4 - d for d in EVEN]}}
    lower = recmetrics.compare(values).users_needed("mean_rank", -0.05, margin=0.0)
    assert lower.with_value > EVEN_SPREAD**2 * (1.645 + 0.842) ** 2 / 0.05**2
    with pytest.raises(ArgumentError, match=r"breaks the rule 'mean_rank <= 0.0'; .* above 0.05$"):
        recmetrics.compare(values).users_needed("mean_rank", 0.05, margin=0.0)
    with pytest.raises(ArgumentError, match=r"breaks the rule 'ndcg@10 >= 0.1'; .* below 0.05$"):
        even().users_needed("ndcg@10", 0.05, margin=0.1)
    with pytest.raises(ArgumentError, match=r"^margin must be a number, .* as '-1%', got '-1'$"):
        even().users_needed("ndcg@10", 0.05, margin="-1")
    with pytest.raises(
        ArgumentError, match=r"^margin='-1%' is a share of the mean of 'old', .* 0;"
    ):
        compared([0.0] * 120, [0.5, 0.0] * 60).users_needed("ndcg@10", 0, margin="-1%")


def test_users_without_values_of_both_models_are_none_to_plan_with():
    values = {"old": {"mrr": [np.nan, 0.5, 0.5]}, "new": {"mrr": [0.5, np.nan, np.nan]}}
    comparison = recmetrics.compare(values)
    for difference, margin in (("1%", None), (0.01, None), (0, "-1%")):
        with pytest.raises(
            ArgumentError, match=r"^no user has a value of mrr for both 'new' and 'old'$"
        ):
            comparison.users_needed("mrr", difference, margin=margin)


def test_equal_models_need_the_users_that_the_gate_names():
    verdict = only(even().gate("ndcg@10 >= -0.03"))
    assert verdict.verdict == "open"
    assert even().users_needed("ndcg@10", 0, margin=-0.03).with_value == verdict.n_needed
    verdict = only(even().gate("ndcg@10 >= -6%"))
    assert verdict.verdict == "open"
    assert even().users_needed("ndcg@10", 0, margin="-6%").with_value == verdict.n_needed
    ranks = {"old": {"mean_rank": [0.4] * 120}, "new": {"mean_rank": [0.4 - d for d in EVEN]}}
    verdict = only(recmetrics.compare(ranks).gate("mean_rank <= +6%"))
    needed = recmetrics.compare(ranks).users_needed("mean_rank", 0, margin="+6%")
    assert needed.with_value == verdict.n_needed
    with pytest.raises(ArgumentError, match=r"other than 0, such as 0.01, .* such as '1%', got 0$"):
        even().users_needed("ndcg@10", 0)
    # The old values are 0.4, of which 12.5 % are 0.05.
    assert even().users_needed("ndcg@10", "12.5%") == even().users_needed("ndcg@10", 0.05)
    assert even().users_needed("ndcg@10", " -12.5 % ") == even().users_needed("ndcg@10", -0.05)


def test_the_advice_on_a_gain_is_what_users_needed_takes():
    note = "call compare(...).users_needed({!r}, {}, margin={}) in Python"
    gain = even().gate("ndcg@10 > +5%")
    assert note.format("ndcg@10", "G", "'+5%'") in str(gain)
    assert even().users_needed("ndcg@10", 0.03, margin="+5%").with_value > 0
    ranks = {"old": {"mean_rank": [0.4] * 120}, "new": {"mean_rank": [0.4 - d for d in EVEN]}}
    lower = recmetrics.compare(ranks)
    assert note.format("mean_rank", "-G", "0") in str(lower.gate("mean_rank < 0"))
    assert lower.users_needed("mean_rank", -0.01, margin=0).with_value > 0


def test_the_advice_on_a_gain_names_the_model_where_there_are_several():
    values = {name: {"mrr": EVEN_VALUES} for name in ("old", "mid")}
    values["new"] = {"mrr": [0.4] * 120}
    found = recmetrics.compare(values, baseline="old")
    note = "compare(..., confidence={}).users_needed('mrr', G, margin='0%', model='mid') in Python"
    assert note.format(1 - 0.05 / 2) in str(found.gate("mrr > 0%"))  # of two models
    assert note.format(round(1 - 0.05 / (2 * 3), 8)) in str(found.gate("mrr > 0%", looks=3))
    # mid equals old, and the values of mrr have a known range.
    equal = found.users_needed("mrr", 0.01, margin=0.0, model="mid").with_value
    assert equal == fewest_of_equal_differences(0.01, -1)
    needed = found.users_needed("mrr", 0.01, margin=0.0, model="new")
    for margin in ("0%", "0.00%"):
        assert found.users_needed("mrr", 0.01, margin=margin, model="new") == needed


@pytest.mark.parametrize("margin", ["-.5%", "-1.%", "-1e0%", " -1 % "])
def test_a_margin_is_read_as_in_a_rule(margin):
    assert even().users_needed("ndcg@10", 0, margin=margin).with_value > 0


@pytest.mark.parametrize("margin", [-1, "+600%"])
def test_a_margin_beyond_the_range_of_the_metric_is_refused(margin):
    with pytest.raises(ArgumentError, match="which is not between the least and the greatest"):
        compared().users_needed("ndcg@10", 0, margin=margin)


def test_a_margin_of_all_that_the_baseline_has_is_refused():
    message = r"^margin='-100%' is all that the baseline has, or more, and no value of ndcg@10 is"
    with pytest.raises(ArgumentError, match=message):
        compared().users_needed("ndcg@10", 0, margin="-100%")


@pytest.mark.parametrize("margin", ["1%", "%", True])
def test_a_margin_that_no_rule_has_is_refused(margin):
    with pytest.raises(ArgumentError, match=r"^margin must be a number, such as -0.01, or text"):
        even().users_needed("ndcg@10", 0.1, margin=margin)


def test_rules_are_counted_by_candidate_in_the_legend():
    """Of two candidates, one has two rules, and the other none that is judged."""
    few = [math.nan] * 35 + [0.4] * 5
    values = {
        "old": {"mrr": [0.4] * 80},
        "new": {"mrr": [0.5, 0.4] * 40},
        "rare": {"mrr": few + few},
    }
    found = recmetrics.compare(values, baseline="old", by=["x"] * 40 + ["y"] * 40)
    gate = found.gate("mrr >= -1% in every group")
    assert [each.verdict for each in gate.verdicts[2:]] == ["not judged"] * 2
    level = "'at least' has confidence 97.5 % (a risk of 5 % in all, over 2 new models); "
    assert level in str(gate)


def test_users_of_unequal_weight_are_needed_in_larger_numbers():
    weights = [1.0] * 60 + [3.0] * 60  # of gains as of losses, so that the spread stays
    n_equal = even().users_needed("ndcg@10", 0.05).with_value
    needed = even(weights=weights).users_needed("ndcg@10", 0.05)
    # 120 users have 60 + 180 = 240 of weight, and squares of 60 + 540: they count as 96.
    assert needed.with_value == math.ceil(n_equal * 120 / (240**2 / 600))


def power_with_one_more(spread, n, mean, worst, level):
    """The power of a bound that counts one more user, of n users half of whom lose and gain."""

    def bound_of(sample_mean):
        return bound([sample_mean - spread, sample_mean + spread] * (n // 2), worst, level)

    least = optimize.brentq(bound_of, 0, 1)  # the mean of a sample that just shows it
    return stats.norm.cdf((mean - least) / spread * math.sqrt(n))


def differing(n_differ, n=200):
    """Differences of 0.3 and of -0.3 of so many users each, and their comparison."""
    differences = [0.3] * n_differ + [-0.3] * n_differ + [0.0] * (n - 2 * n_differ)
    found = compared([0.4] * n, [0.4 + difference for difference in differences])
    return differences, found.differences[0]


@pytest.mark.parametrize("n_differ", [9, 10, 12])
def test_where_few_users_differ_the_detectable_difference_counts_one_more(n_differ):
    """If 12 of 200 users lose, fewer than 10 of the next 200 do in 24 % of samples."""
    assert stats.binom.sf(9, 200, n_differ / 200) < 0.8
    differences, difference = differing(n_differ)
    power = power_with_one_more(np.std(differences), 200, difference.detectable, -1, 0.975)
    assert power == pytest.approx(0.8, abs=0.02)


def test_a_detectable_difference_allows_for_samples_in_which_too_few_users_lose():
    """If 15 of 200 users lose, 10 or more of the next 200 do in 94 % of samples."""
    differences, difference = differing(15)
    chance = stats.binom.sf(9, 200, 15 / 200)
    assert 0.9 < chance < 0.95
    noncentrality = difference.detectable / np.std(differences, ddof=1) * math.sqrt(200)
    power = stats.nct.sf(stats.t.ppf(0.975, 199), 199, noncentrality)
    assert chance * power == pytest.approx(0.8, abs=1e-6)


def test_a_new_sample_is_planned_for_all_rules_that_equal_models_can_hold():
    """Two rules that allow a loss, each with power 0.9, hold together in 80 % of samples."""
    rules = ["ndcg@10 >= -0.1", "ndcg@10 >= -0.02", "ndcg@10 > +0.001"]
    verdicts = even().gate(rules).verdicts
    assert [each.verdict for each in verdicts] == ["holds", "open", "open"]
    planned = [even().users_needed("ndcg@10", 0, margin=m, power=0.9) for m in (-0.1, -0.02)]
    assert [each.n_needed for each in verdicts] == [*(n.with_value for n in planned), None]
    # Equal models do not hold a rule that allows no loss: it takes no part of the power.
    strict = even().gate(["ndcg@10 >= -0.02", "ndcg@10 >= 0"]).verdicts
    alone = only(even().gate("ndcg@10 >= -0.02")).n_needed
    assert [each.n_needed for each in strict] == [alone, None]
    held = even().gate("ndcg@10 >= -0.1")
    assert (held.passed, only(held).n_needed) == (True, None)
    lost = even().gate(["ndcg@10 >= -0.02", "ndcg@10 >= +0.5"])
    assert [each.verdict for each in lost.verdicts] == ["open", "fails"]
    assert [each.n_needed is None for each in lost.verdicts] == [False, True]


def fewest_of_equal_differences(beyond, worst, weights=(1.0,)):
    """The fewest users with these weights, in turn, whose equal differences a gate bounds above 0.

    All are ``beyond`` the margin; ``worst`` is the lowest possible difference beyond it.
    """

    def suffice(n):
        return bound([beyond] * n, worst, 0.95, np.resize(weights, n)) >= 0

    return bisect.bisect_left(range(2_000), True, lo=2, key=suffice)


@pytest.mark.parametrize(
    ("metric", "values", "rule", "margin"),
    [
        ("ndcg@10", np.linspace(0, 1, 50), "ndcg@10 >= -0.03", 0.03),
        ("hit@10", np.array([0.0, 1.0] * 25), "hit@10 > -0.01", 0.01),
        ("ndcg@10", np.full(50, 0.5), "ndcg@10 >= -6%", 0.03),
    ],
)
def test_equal_models_without_spread_need_the_users_of_the_added_one(metric, values, rule, margin):
    verdict = only(compared(values, values, metric).gate(rule))
    # Of 6 %, new - 0.94 old: 0.03 for all, and -0.94 at worst.
    worst = -0.94 if rule.endswith("%") else margin - 1
    n = fewest_of_equal_differences(margin, worst)
    assert (verdict.verdict, verdict.n_needed) == ("open", n)
    for n_users, word in ((n - 1, "open"), (n, "holds")):
        same = np.resize(values, n_users)
        if rule.endswith("%"):
            same = values[:1].repeat(n_users)
        assert only(compared(same, same, metric).gate(rule)).verdict == word


def test_a_group_in_which_no_user_changes_needs_users_too():
    """All rules hold together in samples of the sizes that are named: each needs its size."""
    rng = np.random.default_rng(0)
    old = np.linspace(0, 1, 60)
    new = np.where(np.arange(60) < 30, old, np.clip(old + rng.normal(0, 0.2, 60), 0, 1))
    gate = compared(old, new, by=["quiet"] * 30 + ["active"] * 30).gate(
        "ndcg@10 >= -0.03 in every group"
    )
    needed = {verdict.group: verdict.n_needed for verdict in gate.verdicts}
    assert needed["quiet"] == fewest_of_equal_differences(0.03, -0.97) == 107
    assert needed["active"] > 107


@pytest.mark.parametrize("weights", [(1.0, 2.0), (10.0, *[1.0] * 9)])
def test_users_of_unequal_weight_who_do_not_change_need_enough(weights):
    """Unequal weights skew the terms of the mean, and so those of the added user."""
    same = np.linspace(0, 1, 50)
    gate = compared(same, same, weights=np.resize(weights, 50)).gate("ndcg@10 >= -0.03")
    enough = fewest_of_equal_differences(0.03, -0.97, weights)
    assert enough <= only(gate).n_needed <= 1.03 * enough


@pytest.mark.parametrize(("gain", "margin"), [(0.01, 0.0), (0.0, -0.003), (0.02, 0.005)])
def test_users_needed_with_a_margin_are_those_of_equal_differences(gain, margin):
    same = np.linspace(0, 1, 400)
    needed = compared(same, same).users_needed("ndcg@10", gain, margin=margin)
    assert needed.with_value == fewest_of_equal_differences(gain - margin, -1 - margin)


def test_no_users_for_a_gain_are_advised_where_equal_differences_have_no_bounds():
    equal = compared(metric="clicks", new=OLD)
    assert "users_needed" not in str(equal.gate("clicks >= 0"))
    with pytest.raises(ArgumentError, match="have no spread"):
        equal.users_needed("clicks", 0.01, margin=0)


def test_an_open_rule_says_how_many_users_its_margin_needs():
    verdict = only(gate := even().gate("ndcg@10 >= -0.02"))
    needed = (
        "all rules that allow a loss hold together in 80 % of samples of these sizes if the models "
        "are equal"
    )
    assert needed in str(gate).splitlines()[-1]
    rough = f"{needed}; a rough estimate, made from only {{}} users"
    assert rough.format(98) in str(even(n=98).gate("ndcg@10 >= -0.02"))
    assert "a rough estimate" not in str(even(n=100).gate("ndcg@10 >= -0.02"))
    assert verdict.verdict == "open"
    power = power_with_one_more(0.2, verdict.n_needed // 2 * 2, 0.02, -0.98, 0.95)
    assert power == pytest.approx(0.8, abs=0.005)
    gain = even().gate("ndcg@10 >= +0.02")
    assert only(gain).n_needed is None
    assert "compare(...).users_needed('ndcg@10', G, margin=0.02) in Python" in str(gain)
    assert "(you may add users to this one only if the looks were planned before)" in str(gain)
    assert "add users for the next look" in str(even().gate("ndcg@10 >= +0.02", looks=3))


@pytest.mark.parametrize("margin", ["-1e-10", "-1e-12", "-1e-200"])
def test_a_margin_that_no_number_of_users_shows_is_open(margin):
    verdict = only(even().gate(f"ndcg@10 >= {margin}"))
    assert (verdict.verdict, verdict.n_needed) == ("open", None)


@pytest.mark.parametrize(
    ("metric", "difference", "new", "message"),
    [
        ("ndgc@10", 0.1, NEW, "metric must be one of .*'ndcg@10', got 'ndgc@10'"),
        ("ndcg@10", 0, NEW, "difference must be a finite number other than 0"),
        ("ndcg@10", "1", NEW, "difference must be a finite number other than 0"),
        ("ndcg@10", 1e-300, NEW, "needs more than 1e.15 users; give one that would matter"),
        ("ndcg@10", "0%", NEW, "difference must be a finite number other than 0"),
        ("ndcg@10", "900%", NEW, "difference='900%' is a difference of .*, which is not between"),
        ("ndcg@10", 0.1, OLD, "have no spread"),
        ("ndcg@10", 1, NEW, "difference=1 is a difference of 1, which is not between the least"),
    ],
)
def test_what_users_needed_refuses(metric, difference, new, message):
    with pytest.raises(ArgumentError, match=message):
        compared(new=new).users_needed(metric, difference)


def test_with_a_margin_a_difference_of_0_is_allowed_and_the_message_says_so():
    assert even().users_needed("ndcg@10", 0, margin=-0.01) is not None
    with pytest.raises(ArgumentError, match=r"must be a finite number, such as 0.01, .* got 'x'$"):
        even().users_needed("ndcg@10", "x", margin=-0.01)


def test_nothing_is_detectable_where_so_few_users_show_no_difference():
    two = compared([0.0, 0.5], [0.5, 0.75]).differences[0]
    assert two.n_users == 2
    assert two.effect_size > 0
    assert math.isnan(two.detectable)


def test_nothing_is_detectable_without_spread():
    [difference] = compared(new=OLD).differences
    assert math.isnan(difference.detectable)


# --- statsmodels ---------------------------------------------------------------------------------

NEEDS_STATSMODELS = "statsmodels is not installed"


def test_numbers_of_users_are_those_of_the_power_of_t_tests():
    power = pytest.importorskip("statsmodels.stats.power", reason=NEEDS_STATSMODELS)
    solve = power.TTestPower().solve_power
    found = even()
    [difference] = found.differences
    # It counts what is significant in the wrong direction, too.
    size = solve(nobs=120, alpha=0.05, power=0.8) * EVEN_SPREAD
    assert difference.detectable == pytest.approx(size, rel=1e-4)
    for true, wanted in ((0.05, 0.8), (-0.02, 0.9), (0.001, 0.8)):
        n = solve(effect_size=abs(true) / EVEN_SPREAD, alpha=0.05, power=wanted)
        needed = found.users_needed("ndcg@10", true, power=wanted).with_value
        assert needed == pytest.approx(math.ceil(n), rel=1e-5)


def test_intervals_are_those_of_students_t_without_skewness():
    weights = pytest.importorskip("statsmodels.stats.weightstats", reason=NEEDS_STATSMODELS)
    [difference] = even().differences
    expected = weights.DescrStatsW(EVEN).tconfint_mean()
    assert (difference.low, difference.high) == pytest.approx(expected, rel=1e-9)


# --- Movers --------------------------------------------------------------------------------------


def test_movers_are_the_largest_gains_and_losses():
    found = compared([0.5, 1.0, 0.2, 0.0], [1.0, 0.5, 0.3, 0.0]).movers("ndcg@10", n=1)
    assert [(each.user, each.value, each.against) for each in found.gains] == [(0, 1.0, 0.5)]
    assert [(each.user, each.difference) for each in found.losses] == [(1, -0.5)]
    assert re.sub(" +", " ", str(found).splitlines()[2]) == "ndcg@10 gain 0 1.0000 0.5000 +0.5000"
    all_movers = compared([0.5, 1.0, 0.2, 0.0], [1.0, 0.5, 0.3, 0.0]).movers("ndcg@10")
    assert [each.user for each in all_movers.gains] == [0, 2]  # user 3 does not move
    assert [each.user for each in all_movers.losses] == [1]


def test_where_lower_is_better_a_gain_is_a_lower_value():
    found = compared([5.0, 1.0], [1.0, 2.0], "mean_rank").movers("mean_rank")
    assert [each.user for each in found.gains] == [0]
    assert [each.user for each in found.losses] == [1]


def test_movers_have_the_ids_of_data_frames():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    frame = pd.DataFrame(
        {"model": ["a", "b"] * 2, "user": ["u", "u", "v", "v"], "mrr": [0.5, 1.0, 1.0, 0.25]}
    )
    found = recmetrics.compare(frame).movers("mrr")
    assert [each.user for each in (*found.gains, *found.losses)] == ["u", "v"]


def test_movers_take_ids():
    found = compared().movers("ndcg@10", users=list("abcdef"), n=2)
    assert [each.user for each in found.gains] == ["d", "a"]
    message = r"^users must hold one id per user, shape \(6,\), got shape \(2,\)$"
    with pytest.raises(ShapeError, match=message):
        compared().movers("ndcg@10", users=["a", "b"])


def test_movers_take_ids_by_their_place():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    found = compared([0.5, 1.0, 0.2], [1.0, 0.5, 0.3])
    reversed_index = pd.Series(["a", "b", "c"], index=[2, 1, 0])
    filtered = pd.Series(["a", "x", "b", "c"])[[0, 2, 3]]
    for users in (reversed_index, filtered):
        movers = found.movers("ndcg@10", users=users)
        assert [each.user for each in movers.gains] == ["a", "c"]
        assert [each.user for each in movers.losses] == ["b"]


@pytest.mark.parametrize("users", [np.arange(7, 10), list(np.arange(7, 10))], ids=["array", "list"])
def test_movers_are_plain_values(users):
    movers = compared([0.5, 1.0, 0.2], [1.0, 0.5, 0.3]).movers("ndcg@10", users=users)
    assert [each["user"] for each in json.loads(json.dumps(movers.to_records()))] == [7, 9, 8]


def test_ids_of_numpy_in_a_data_frame_are_plain_values():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    ids = pd.Series([np.int64(7), np.int64(8)], dtype=object)
    old = pd.DataFrame({"user": ids, "mrr": [0.5, 1.0]})
    new = pd.DataFrame({"user": ids, "mrr": [1.0, 0.5]})
    movers = recmetrics.compare({"old": old, "new": new}).movers("mrr")
    assert [each["user"] for each in json.loads(json.dumps(movers.to_records()))] == [7, 8]


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ({"a": 1, "b": 2, "c": 3}, "users must hold one id per user, shape (3,), got a dict; give"),
        ("abc", "users must hold one id per user, shape (3,), got a str; give an array or a list"),
        (np.ones((3, 1)), "users must hold one id per user, shape (3,), got shape (3, 1)"),
        (np.array(3), "users must hold one id per user, shape (3,), got shape ()"),
        ([["a"], ["b"], ["c"]], "users must hold labels such as strings or integers, got a list"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_ids_that_have_no_place(users, message):
    found = compared([0.5, 1.0, 0.2], [1.0, 0.5, 0.3])
    with pytest.raises(RecmetricsError) as caught:
        found.movers("ndcg@10", users=users)
    assert str(caught.value).startswith(message)


def test_equal_movers_stand_in_the_order_of_the_users():
    # Differences +0.5, -0.25, +0.5, +0.75, -0.25, +0.5 are exact in binary.
    found = compared([0.0, 0.5, 0.25, 0.0, 0.75, 0.5], [0.5, 0.25, 0.75, 0.75, 0.5, 1.0])
    movers = found.movers("ndcg@10", users=list("fedcba"))
    assert [each.user for each in movers.gains] == ["c", "f", "d", "a"]
    assert [each.user for each in movers.losses] == ["e", "b"]
    assert [each.user for each in found.movers("ndcg@10", n=2).gains] == [3, 0]
    found = compared([0.0] * 100, [0.5, 0.25] * 50)  # enough for a sort that is not stable
    gains = found.movers("ndcg@10", n=100).gains
    assert [each.user for each in gains] == [*range(0, 100, 2), *range(1, 100, 2)]


def test_movers_say_where_no_user_moves():
    found = compared([0.5, 1.0, np.nan, 0.0], [0.5, 1.0, 0.4, np.nan]).movers("ndcg@10")
    assert (found.gains, found.losses) == ((), ())
    assert str(found) == "difference: new - old; 0 for each user with a value of both"


def test_no_user_moves_a_metric_of_all_lists():
    models = {name: {"coverage": np.array(0.5), "mrr": OLD} for name in ("old", "new")}
    with pytest.raises(ArgumentError, match="no user moves"):
        recmetrics.compare(models).movers("coverage")


# --- Output --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shift", "verdict"), [(-0.00198, "holds"), (-0.00203, "open")])
def test_a_bound_beside_its_margin_does_not_print_as_the_margin(shift, verdict):
    rng = np.random.default_rng(0)
    old = rng.random(400) * 0.5 + 0.2
    noise = rng.standard_normal(400) * 0.01
    gate = compared(old, old + noise - noise.mean() + shift).gate("ndcg@10 >= -0.01")
    row = str(gate).splitlines()[2].split()  # a rule of three words, difference, margin, bounds
    margin, at_least = float(row[4]), float(row[5])
    assert (only(gate).verdict, at_least > margin) == (verdict, verdict == "holds")
    assert at_least != margin


def test_a_small_loss_beside_a_large_gain_does_not_print_as_0():
    found = compared([0.5, 0.5, 0.5], [0.8, 0.499999, 0.5]).movers("ndcg@10")
    assert [line.split()[-1] for line in str(found).splitlines()[2:4]] == ["+0.300000", "-0.000001"]


def test_a_gate_is_plain_values_and_a_page_of_a_notebook():
    gate = many().gate("ndcg@10 >= -1%")
    document = gate.to_dict()
    assert document["format"] == "recmetrics-1"
    assert document["passed"] is True
    assert document["verdicts"][0]["verdict"] == "holds"
    assert "<table>" in gate._repr_html_()


def test_a_gate_is_a_frame():
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert many().gate("ndcg@10 >= -1%").to_frame().shape == (1, 12)


def test_a_list_is_no_name_of_a_model():
    comparison = recmetrics.compare({"a": {"m": [0.0, 1.0, 0.5]}, "b": {"m": [0.5, 1.0, 0.0]}})
    for call in (
        comparison.movers,
        lambda metric, **pair: comparison.users_needed(metric, 1, **pair),
    ):
        with pytest.raises(ArgumentError, match=r"^model=\['b'\], against=None is not one pair; "):
            call("m", model=["b"])


def test_a_difference_of_any_size_is_beyond_the_range():
    values = {"ndcg@2": [0.0, 1.0, 0.5]}, {"ndcg@2": [0.5, 1.0, 0.0]}
    comparison = recmetrics.compare(dict(zip("ab", values, strict=True)))
    with pytest.raises(ArgumentError, match=r"^difference=100000000000000000000 is "):
        comparison.users_needed("ndcg@2", 10**20)
