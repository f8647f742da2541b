"""Comparison.gate, users_needed, detectable and movers: bounds worked by hand, and SciPy's."""

import math
import re

import numpy as np
import pytest
from compared import NEW, OLD
from scipy import stats

import recmetrics
from recmetrics import ArgumentError, ShapeError

# Differences 0.2, 0.1, 0, 0.3, 0.1, 0.2: their mean is 0.15 and their squared deviations are
# 0.0025, 0.0025, 0.0225, 0.0225, 0.0025, 0.0025;
# they are not skewed.
MEAN = 0.9 / 6
SPREAD = math.sqrt(0.055 / 5)
ERROR = SPREAD / math.sqrt(6)
T_95 = 2.015048373333024  # of 5 degrees of freedom


def compared(old=OLD, new=NEW, metric="ndcg@10", **keywords):
    models = {"old": {metric: np.array(old)}, "new": {metric: np.array(new)}}
    return recmetrics.compare(models, baseline="old", **keywords)


def only(gate):
    (verdict,) = gate.verdicts
    return verdict


def quantile(level, skewness, n):
    """The quantile of t for skewed values: Hall (1983), for the skewness of a larger sample."""
    t = stats.t.ppf(level, n - 1)
    shift = max(0, skewness) * (1 + 8 / math.sqrt(n)) / (6 * math.sqrt(n))
    return t + shift * (1 + 2 * t**2)


# --- Bounds by hand ------------------------------------------------------------------------------


def test_the_bounds_of_a_margin_in_the_unit_of_the_metric():
    verdict = only(compared([*OLD, math.nan], [*NEW, 1.0]).gate("ndcg@10 >= +0.05"))
    assert verdict.difference == pytest.approx(MEAN, rel=1e-12)
    assert verdict.margin == 0.05
    assert verdict.at_least == pytest.approx(MEAN - T_95 * ERROR, rel=1e-9)  # 0.0637
    assert verdict.at_most == pytest.approx(MEAN + T_95 * ERROR, rel=1e-9)
    assert (verdict.verdict, verdict.n_users, verdict.n_undefined) == ("holds", 6, 1)


def test_a_margin_in_per_cent_tests_new_less_that_share_of_old():
    # new - 1.2 old: 0.18, 0.02, -0.04, 0.24, 0.1, 0.1; their mean is 0.6 / 6.
    contrast = np.array(NEW) - 1.2 * np.array(OLD)
    error = math.sqrt(sum((each - 0.1) ** 2 for each in contrast) / 5 / 6)
    verdict = only(compared().gate("ndcg@10 >= +20%"))
    assert verdict.margin == pytest.approx(0.2 * 0.25, rel=1e-12)  # the mean of old is 1.5 / 6
    # The bound of the contrast is moved by the margin, so that it reads as a difference.
    assert verdict.at_least == pytest.approx(0.05 + 0.1 - T_95 * error, rel=1e-9)
    assert verdict.verdict == "holds"


def test_where_lower_is_better_the_upper_bound_decides():
    gate = compared(NEW, OLD, "mean_rank").gate("mean_rank <= +0.0")
    verdict = only(gate)
    assert verdict.at_most == pytest.approx(-MEAN + T_95 * ERROR, rel=1e-9)
    assert verdict.at_least == pytest.approx(-MEAN - T_95 * ERROR, rel=1e-9)
    assert verdict.verdict == "holds"
    assert only(compared(OLD, NEW, "mean_rank").gate("mean_rank <= +0.05")).verdict == "fails"


def test_weights_take_the_linearised_variance():
    weights = np.array([2.0, 1, 1, 1, 1, 4])
    d = np.array(NEW) - np.array(OLD)
    mean = (2 * 0.2 + 0.1 + 0 + 0.3 + 0.1 + 4 * 0.2) / 10
    error = math.sqrt(6 / 5 * sum((weights * (d - mean)) ** 2)) / 10
    skewness = sum(weights * (d - mean) ** 3) / 10 / (sum(weights * (d - mean) ** 2) / 10) ** 1.5
    skewness *= (2**3 + 4 + 4**3) / 6 / ((2**2 + 4 + 4**2) / 6) ** 1.5
    assert skewness < 0
    verdict = only(gate := compared(weights=weights).gate("ndcg@10 > 0"))
    low = mean - quantile(0.95, -skewness, 6) * error
    assert (verdict.at_least, verdict.at_most) == pytest.approx((low, mean + T_95 * error))
    assert "linearised variance), corrected for skewness" in str(gate)


@pytest.mark.parametrize("sign", [1, -1])
def test_few_large_differences_move_the_bound_on_their_side(sign):
    # Their mean is 0 and their squares add up to 0.05 + 0.25.
    d = sign * np.array([0.1, 0.1, 0.1, 0.1, 0.1, -0.5])
    error, skewness = math.sqrt(0.3 / 5 / 6), (5 * 0.1**3 - 0.5**3) / 6 / (0.3 / 6) ** 1.5
    moved = T_95 - skewness * (1 + 8 / math.sqrt(6)) / (6 * math.sqrt(6)) * (1 + 2 * T_95**2)
    verdict = only(compared(np.zeros(6), d).gate("ndcg@10 >= 0"))
    bounds = sorted([-sign * moved * error, sign * T_95 * error])
    assert [verdict.at_least, verdict.at_most] == pytest.approx(bounds, rel=1e-9)


def test_several_candidates_and_looks_share_the_error():
    models = {"old": OLD, "new": NEW, "other": OLD[::-1]}
    found = recmetrics.compare(
        {name: {"mrr": each} for name, each in models.items()}, baseline="old"
    )
    gate = found.gate("mrr > 0", looks=5)
    level = 1 - 0.05 / 2 / 5
    assert gate.level == pytest.approx(level, rel=1e-15)
    bound = MEAN - stats.t.ppf(level, 5) * ERROR
    assert gate.verdicts[0].at_least == pytest.approx(bound, rel=1e-9)
    assert gate.of == {"new": bound > 0 or None, "other": None}
    assert "confidence 99.5 % (95 %, shared by 2 candidates and 5 looks)" in str(gate)


# --- Verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "passed"),
    [
        ("ndcg@10 >= -1%", True),
        (["ndcg@10 >= -1%", "ndcg@10 > 0"], True),
        (["ndcg@10 >= -1%", "ndcg@10 >= +0.1"], None),
        (["ndcg@10 >= +0.4", "ndcg@10 >= +0.1"], False),
    ],
)
def test_all_rules_must_hold_and_one_that_fails_suffices(rules, passed):
    assert compared().gate(rules).passed is passed


@pytest.mark.parametrize(
    ("noise", "means", "shares", "verdicts"),
    [
        # -1.9 standard errors are significant alone (p = 0.032), not among three.
        ([-0.1, 0.1] * 20, [-4, -1.9, 0, 1], [4, 3, 3, 3], ["fails", "open", "open", "open"]),
        # -3 ones would be among two, were it not for the few large gains.
        ([-0.1] * 36 + [0.9] * 4, [-3, 0], [2, 2], ["open", "open"]),
    ],
)
def test_failing_is_corrected_by_holm_over_rules_and_groups(noise, means, shares, verdicts):
    error = np.std(noise, ddof=1) / math.sqrt(40)
    new = np.concatenate([np.array(noise) + mean * error for mean in means])
    groups = np.repeat(range(len(means)), 40)
    gate = compared(np.zeros(groups.size), new, by=groups).gate("ndcg@10 >= 0 in every group")
    assert [each.verdict for each in gate.verdicts] == verdicts
    bounds = [
        (mean + quantile(1 - 0.05 / share, stats.skew(noise), 40)) * error
        for mean, share in zip(means, shares, strict=True)
    ]
    assert [each.at_most for each in gate.verdicts] == pytest.approx(bounds, rel=1e-9)


def test_small_groups_are_listed_not_judged():
    groups = ["a", "a", "b", "a", "b", "a"]
    gate = compared(by=groups).gate("ndcg@10 >= 0 in every group", min_users=3)
    assert [each.verdict for each in gate.verdicts] == ["holds", "not judged"]
    assert gate.passed is True
    assert "not judged: fewer than 3 users" in str(gate)


def test_a_metric_of_all_lists_is_compared_as_it_is():
    coverages = {"old": 0.5, "new": 0.49}
    models = {m: {"coverage": np.array(each), "mrr": [0.5]} for m, each in coverages.items()}
    found = recmetrics.compare(models, baseline="old", by=["one"])
    assert found.gate("coverage >= -2%").passed is True
    assert found.gate("coverage >= -1%").passed is False
    assert math.isnan(only(found.gate("coverage >= -1%")).at_least)
    with pytest.raises(ArgumentError, match="has no groups: coverage is one value of all lists"):
        found.gate("coverage >= -1% in every group")


@pytest.mark.parametrize(("n", "verdict"), [(4, "open"), (5, "holds")])
def test_without_spread_the_signs_decide(n, verdict):
    # 2^-n is at most 5 % from n = 5 on.
    assert only(compared([0.0] * n, [0.25] * n).gate("ndcg@10 > 0")).verdict == verdict


def test_equal_models_hold_a_rule_that_allows_no_loss_and_fail_one_that_asks_for_a_gain():
    assert compared(new=OLD).gate("ndcg@10 >= 0").passed is True
    assert compared(new=OLD).gate("ndcg@10 > 0").passed is False


def test_runs_take_the_nested_bootstrap():
    rng = np.random.default_rng(1)
    old = rng.random((3, 200))
    new = old + 0.05 + rng.normal(0, 0.05, (3, 1))  # runs differ more than users do
    runs = {name: [{"mrr": run} for run in each] for name, each in (("old", old), ("new", new))}
    gate = recmetrics.compare(runs, baseline="old", paired_runs=True).gate("mrr >= -0.01")
    assert "nested bootstrap" in str(gate)
    single = compared(old.mean(0), new.mean(0), "mrr").gate("mrr >= -0.01")
    assert only(gate).at_least < only(single).at_least  # it covers the runs as well


# --- Rules that cannot be read -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("ndcg@10 >= 0.35", "has no sign; .* type 'ndcg@10 >= +0.35' or 'ndcg@10 >= -0.35'"),
        ("ndcg@10 > 1%", "has no sign; .* type 'ndcg@10 > +1%' or 'ndcg@10 > -1%'"),
        ("ndcg@10 <= -1%", "on the wrong side: higher is better; type 'ndcg@10 >= -1%'"),
        ("gini@10 >= +1%", "on the wrong side: lower is better; type 'gini@10 <= +1%'"),
        ("ndgc@10 >= 0", "names no metric of the comparison; did you mean 'ndcg@10'?"),
        ("ndcg@10", "cannot read the rule 'ndcg@10'; .* type 'ndcg@10 >= -1%'"),
        (3, "cannot read the rule 3; .* type 'ndcg@10 >= -1%'"),
        ("ndcg@10 >= 0 in every group", "needs groups; type by= in compare"),
        ([], "rules is empty; expected one or more, such as 'ndcg@10 >= -1%'"),
        ("zero >= -1%", "the mean of 'old', which is 0; expected a mean above 0"),
    ],
)
def test_a_rule_that_cannot_be_judged(rule, message):
    both = {"gini@10": np.array(0.5), "zero": np.zeros(6)}
    models = {"old": {"ndcg@10": OLD, **both}, "new": {"ndcg@10": NEW, **both}}
    found = recmetrics.compare(models, baseline="old", lower_is_better=["gini@10"])
    pattern = ".*".join(map(re.escape, message.split(".*")))
    with pytest.raises(ArgumentError, match=pattern):
        found.gate([rule] if isinstance(rule, int) else rule)


def test_three_models_need_a_baseline_or_a_pair():
    models = {name: {"mrr": each} for name, each in (("a", OLD), ("b", NEW), ("c", OLD[::-1]))}
    found = recmetrics.compare(models)
    with pytest.raises(ArgumentError, match="type baseline='a', or another model"):
        found.gate("mrr >= 0")
    with pytest.raises(ArgumentError, match="type one of: model='b', against='a'"):
        found.movers("mrr")
    alone = compared(metric="mrr").users_needed("mrr", 0.1)
    assert found.users_needed("mrr", 0.1, model="b") == alone


def test_settings_that_are_no_counts():
    with pytest.raises(ArgumentError, match="min_users must be an integer >= 2"):
        compared().gate("ndcg@10 >= 0", min_users=1)
    with pytest.raises(ArgumentError, match="looks must be an integer >= 1"):
        compared().gate("ndcg@10 >= 0", looks=1.5)
    with pytest.raises(ArgumentError, match="n must be an integer >= 1"):
        compared().movers("ndcg@10", n=0)


# --- How many users ------------------------------------------------------------------------------


def power_of(difference, spread, n, level, skewness=0):
    """The power of the one-sided t test, by the distribution of its statistic."""
    return stats.nct.sf(quantile(level, skewness, n), n - 1, difference / spread * math.sqrt(n))


def test_a_detectable_difference_has_power_0_8():
    [difference] = compared().differences
    assert power_of(difference.detectable, SPREAD, 6, 0.975) == pytest.approx(0.8, abs=1e-7)


def test_users_needed_are_the_fewest_with_the_power():
    found = compared([*OLD, *[math.nan] * 3], [*NEW, *[1.0] * 3])
    needed = found.users_needed("ndcg@10", 0.05, power=0.9)
    n = needed.with_value
    assert power_of(0.05, SPREAD, n, 0.975) >= 0.9 > power_of(0.05, SPREAD, n - 1, 0.975)
    assert needed.all_users == math.ceil(n * 9 / 6)
    assert found.users_needed("ndcg@10", -0.05, power=0.9) == needed


def test_an_open_rule_says_how_many_users_its_margin_needs():
    rng = np.random.default_rng(2)
    d = rng.normal(0, 0.1, 50) - 0.1 * rng.exponential(size=50) + 0.1
    found, skewness = compared(np.zeros(50), d), -stats.skew(d)
    assert skewness > 0.5  # few large losses
    verdict = only(gate := found.gate("ndcg@10 >= -0.02"))
    assert "holds with power 0.8, if the true difference is 0" in str(gate)
    n, spread = verdict.n_needed, d.std(ddof=1)
    assert verdict.verdict == "open"
    powers = [power_of(0.02, spread, users, 0.95, skewness) for users in (n - 1, n)]
    assert powers[0] < 0.8 <= powers[1]
    gain = found.gate("ndcg@10 >= +0.02")
    assert only(gain).n_needed is None
    assert "see users_needed" in str(gain)


@pytest.mark.parametrize(
    ("metric", "difference", "new", "message"),
    [
        ("ndgc@10", 0.1, NEW, "metric must be one of .*'ndcg@10', got 'ndgc@10'"),
        ("ndcg@10", 0, NEW, "difference must be a finite number other than 0"),
        ("ndcg@10", "1", NEW, "difference must be a finite number other than 0"),
        ("ndcg@10", 0.1, OLD, "have no spread"),
    ],
)
def test_what_users_needed_refuses(metric, difference, new, message):
    with pytest.raises(ArgumentError, match=message):
        compared(new=new).users_needed(metric, difference)


# --- statsmodels ---------------------------------------------------------------------------------

NEEDS_STATSMODELS = "statsmodels is not installed"


def test_bounds_are_those_of_two_one_sided_tests():
    weights = pytest.importorskip("statsmodels.stats.weightstats", reason=NEEDS_STATSMODELS)
    _, (_, p_low, _), (_, p_high, _) = weights.ttost_paired(np.array(NEW), np.array(OLD), 0.1, 0.2)
    # A rule just holds at the confidence 1 - p.
    low = compared(confidence=1 - p_low).gate("ndcg@10 >= +0.1")
    assert only(low).at_least == pytest.approx(0.1, rel=1e-12)
    high = compared(metric="mean_rank", confidence=1 - p_high).gate("mean_rank <= +0.2")
    assert only(high).at_most == pytest.approx(0.2, rel=1e-12)


def test_numbers_of_users_are_those_of_the_power_of_t_tests():
    power = pytest.importorskip("statsmodels.stats.power", reason=NEEDS_STATSMODELS)
    solve = power.TTestPower().solve_power
    found = compared()
    [difference] = found.differences
    # It counts what is significant in the wrong direction, too.
    size = solve(nobs=6, alpha=0.05, power=0.8) * SPREAD
    assert difference.detectable == pytest.approx(size, rel=1e-4)
    for true, wanted in ((0.05, 0.8), (-0.02, 0.9), (0.001, 0.8)):
        n = solve(effect_size=abs(true) / SPREAD, alpha=0.05, power=wanted)
        assert found.users_needed("ndcg@10", true, power=wanted).with_value == math.ceil(n)


# --- Movers --------------------------------------------------------------------------------------


def test_movers_are_the_largest_gains_and_losses():
    found = compared([0.5, 1.0, 0.2, 0.0], [1.0, 0.5, 0.3, 0.0]).movers("ndcg@10", n=1)
    assert [(each.user, each.value, each.against) for each in found.gains] == [(0, 1.0, 0.5)]
    assert [(each.user, each.difference) for each in found.losses] == [(1, -0.5)]
    assert re.sub(" +", " ", str(found).splitlines()[2]) == "ndcg@10 gain 0 1.0000 0.5000 +0.5000"


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
    with pytest.raises(ShapeError, match="the id of each of 6 users, got 2"):
        compared().movers("ndcg@10", users=["a", "b"])


def test_no_user_moves_a_metric_of_all_lists():
    models = {name: {"coverage": np.array(0.5), "mrr": OLD} for name in ("old", "new")}
    with pytest.raises(ArgumentError, match="no user moves"):
        recmetrics.compare(models).movers("coverage")


# --- Output --------------------------------------------------------------------------------------


def test_a_gate_is_plain_values_and_a_page_of_a_notebook():
    gate = compared().gate("ndcg@10 >= -1%")
    document = gate.to_dict()
    assert document["format"] == "recmetrics-1"
    assert document["passed"] is True
    assert document["verdicts"][0]["verdict"] == "holds"
    assert "<table>" in gate._repr_html_()
    assert gate.to_frame().shape == (1, 12)
