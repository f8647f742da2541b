"""Comparison.gate, users_needed, detectable and movers: bounds worked by hand, and SciPy's."""

import math
import re

import numpy as np
import pytest
from scipy import stats

import recmetrics
from recmetrics import ArgumentError, ShapeError

OLD = [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]
NEW = [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]
# Differences 0.2, 0.1, 0, 0.3, 0.1, 0.2: their mean is 0.15 and their squared deviations are
# 0.0025, 0.0025, 0.0225, 0.0225, 0.0025, 0.0025.
MEAN = 0.9 / 6
ERROR = math.sqrt(0.055 / 5 / 6)
T_95 = 2.015048373333024  # of 5 degrees of freedom


def compared(old=OLD, new=NEW, metric="ndcg@10", **keywords):
    models = {"old": {metric: np.array(old)}, "new": {metric: np.array(new)}}
    return recmetrics.compare(models, baseline="old", **keywords)


def only(gate):
    (verdict,) = gate.verdicts
    return verdict


# --- Bounds by hand ------------------------------------------------------------------------------


def test_the_bounds_of_a_margin_in_the_unit_of_the_metric():
    verdict = only(compared().gate("ndcg@10 >= +0.05"))
    assert verdict.difference == pytest.approx(MEAN, rel=1e-12)
    assert verdict.margin == 0.05
    assert verdict.at_least == pytest.approx(MEAN - T_95 * ERROR, rel=1e-12)  # 0.0637
    assert verdict.at_most == pytest.approx(MEAN + T_95 * ERROR, rel=1e-12)
    assert (verdict.verdict, verdict.n_users, verdict.n_undefined) == ("holds", 6, 0)


def test_a_margin_in_per_cent_tests_new_less_that_share_of_old():
    # new - 1.2 old: 0.18, 0.02, -0.04, 0.24, 0.1, 0.1; their mean is 0.6 / 6.
    contrast = np.array(NEW) - 1.2 * np.array(OLD)
    error = math.sqrt(sum((each - 0.1) ** 2 for each in contrast) / 5 / 6)
    verdict = only(compared().gate("ndcg@10 >= +20%"))
    assert verdict.margin == pytest.approx(0.2 * 0.25, rel=1e-12)  # the mean of old is 1.5 / 6
    # The bound of the contrast is moved by the margin, so that it reads as a difference.
    assert verdict.at_least == pytest.approx(0.05 + 0.1 - T_95 * error, rel=1e-12)
    assert verdict.verdict == "holds"


def test_where_lower_is_better_the_upper_bound_decides():
    gate = compared(NEW, OLD, "mean_rank").gate("mean_rank <= +0.0")
    verdict = only(gate)
    assert verdict.at_most == pytest.approx(-MEAN + T_95 * ERROR, rel=1e-12)
    assert verdict.at_least == pytest.approx(-MEAN - T_95 * ERROR, rel=1e-12)
    assert verdict.verdict == "holds"
    assert only(compared(OLD, NEW, "mean_rank").gate("mean_rank <= +0.05")).verdict == "fails"


def test_weights_take_the_linearised_variance():
    weights = np.array([2.0, 1, 1, 1, 1, 4])
    d = np.array(NEW) - np.array(OLD)
    mean = (2 * 0.2 + 0.1 + 0 + 0.3 + 0.1 + 4 * 0.2) / 10
    error = math.sqrt(6 / 5 * sum((weights * (d - mean)) ** 2)) / 10
    gate = compared(weights=weights).gate("ndcg@10 > 0")
    assert only(gate).at_least == pytest.approx(mean - T_95 * error, rel=1e-12)
    assert "linearised variance" in str(gate)


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


def test_failing_is_corrected_by_holm_over_rules_and_groups():
    noise = np.tile([-0.1, 0.1], 20)
    error = noise.std(ddof=1) / math.sqrt(40)
    groups = np.repeat(["a", "b", "c", "d"], 40)
    # t statistics of the groups: -1.9 is significant alone (p = 0.032), not among four.
    new = np.concatenate([0.5 + noise + t * error for t in (-4, -1.9, 0, 1)])
    old = np.full(160, 0.5)
    gate = compared(old, new, by=groups).gate("ndcg@10 >= 0 in every group")
    p = []
    for group in "abcd":
        d = (new - old)[groups == group]
        p.append(stats.ttest_1samp(d, 0, alternative="less").pvalue)
    fails, still = set(), True
    for rank, place in enumerate(np.argsort(p)):
        still = still and p[place] <= 0.05 / (4 - rank)
        if still:
            fails.add("abcd"[place])
    assert sum(each <= 0.05 for each in p) > len(fails) > 0  # the correction matters here
    assert {each.group for each in gate.verdicts if each.verdict == "fails"} == fails
    for each in gate.verdicts:  # the bounds agree with the words
        assert (each.at_most < each.margin) == (each.verdict == "fails")
        assert (each.at_least >= each.margin) == (each.verdict == "holds")


def test_small_groups_are_listed_not_judged():
    groups = ["a", "a", "b", "a", "b", "a"]
    gate = compared(by=groups).gate("ndcg@10 >= 0 in every group", min_users=3)
    assert [each.verdict for each in gate.verdicts] == ["holds", "not judged"]
    assert gate.passed is True
    assert "not judged: fewer than 3 users" in str(gate)


def test_a_metric_of_all_lists_is_compared_as_it_is():
    models = {"old": {"coverage": np.array(0.5)}, "new": {"coverage": np.array(0.49)}}
    found = recmetrics.compare(models, baseline="old")
    assert found.gate("coverage >= -2%").passed is True
    assert found.gate("coverage >= -1%").passed is False
    assert math.isnan(only(found.gate("coverage >= -1%")).at_least)


def test_undefined_users_are_left_out_and_counted():
    new = [math.nan, *NEW[1:]]
    verdict = only(compared(new=new).gate("ndcg@10 >= 0"))
    assert (verdict.n_users, verdict.n_undefined) == (5, 1)


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


def test_three_models_need_a_baseline():
    models = {name: {"mrr": OLD} for name in ("a", "b", "c")}
    with pytest.raises(ArgumentError, match="type baseline='a', or another model"):
        recmetrics.compare(models).gate("mrr >= 0")


@pytest.mark.parametrize("keywords", [{"min_users": 1}, {"looks": 0}, {"looks": 1.5}])
def test_settings_that_are_no_counts(keywords):
    with pytest.raises(ArgumentError, match=f"{next(iter(keywords))} must be an integer"):
        compared().gate("ndcg@10 >= 0", **keywords)


# --- How many users ------------------------------------------------------------------------------


def power_of(difference, error, n, alpha):
    """The power of the one-sided t test, by the distribution of its statistic."""
    return stats.nct.sf(stats.t.ppf(1 - alpha, n - 1), n - 1, difference / error)


def test_a_detectable_difference_has_power_0_8():
    [difference] = compared().differences
    assert power_of(difference.detectable, ERROR, 6, 0.025) == pytest.approx(0.8, abs=1e-7)


def test_users_needed_are_the_fewest_with_the_power():
    found = compared()
    needed = found.users_needed("ndcg@10", 0.05, power=0.9)
    spread = ERROR * math.sqrt(6)
    n = needed.with_value
    assert power_of(0.05, spread / math.sqrt(n), n, 0.025) >= 0.9
    assert power_of(0.05, spread / math.sqrt(n - 1), n - 1, 0.025) < 0.9
    assert needed.all_users == n
    assert found.users_needed("ndcg@10", -0.05, power=0.9) == needed


def test_all_users_needed_include_those_without_a_value():
    found = compared([*OLD, math.nan, math.nan, math.nan], [*NEW, 1.0, 1.0, 1.0])
    needed = found.users_needed("ndcg@10", 0.05)
    assert needed.all_users == math.ceil(needed.with_value * 9 / 6)


def test_an_open_rule_says_how_many_users_its_margin_needs():
    rng = np.random.default_rng(2)
    old = rng.random(50)
    found = compared(old, old + rng.normal(0, 0.2, 50))
    verdict = only(found.gate("ndcg@10 >= -0.02"))
    assert verdict.verdict == "open"
    d = found.samples.of(None, "ndcg@10", "new", "old").values
    n = verdict.n_needed
    spread = d.std(ddof=1)
    assert power_of(0.02, spread / math.sqrt(n), n, 0.05) >= 0.8
    assert power_of(0.02, spread / math.sqrt(n - 1), n - 1, 0.05) < 0.8
    gain = found.gate("ndcg@10 >= +0.02")
    assert only(gain).n_needed is None
    assert "see users_needed" in str(gain)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ndgc@10", 0.1), "metric must be one of 'ndcg@10', got 'ndgc@10'"),
        (("ndcg@10", 0), "difference must be a finite number other than 0"),
        (("ndcg@10", "1"), "difference must be a finite number other than 0"),
    ],
)
def test_what_users_needed_refuses(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        compared().users_needed(*arguments)


def test_no_spread_gives_no_number_of_users():
    with pytest.raises(ArgumentError, match="have no spread"):
        compared(new=OLD).users_needed("ndcg@10", 0.1)


def test_of_several_pairs_one_is_named():
    models = {name: {"mrr": each} for name, each in (("a", OLD), ("b", NEW), ("c", OLD[::-1]))}
    found = recmetrics.compare(models)
    alone = compared(metric="mrr").users_needed("mrr", 0.1)
    assert found.users_needed("mrr", 0.1, model="b") == alone
    with pytest.raises(ArgumentError, match="type one of: model='b', against='a'"):
        found.movers("mrr")


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
    solve, spread = power.TTestPower().solve_power, ERROR * math.sqrt(6)
    found = compared()
    [difference] = found.differences
    # It counts what is significant in the wrong direction, too.
    size = solve(nobs=6, alpha=0.05, power=0.8) * spread
    assert difference.detectable == pytest.approx(size, rel=1e-4)
    for true, wanted in ((0.05, 0.8), (-0.02, 0.9), (0.001, 0.8)):
        n = solve(effect_size=abs(true) / spread, alpha=0.05, power=wanted)
        assert found.users_needed("ndcg@10", true, power=wanted).with_value == math.ceil(n)
    verdict = only(compared(OLD, OLD[::-1]).gate("ndcg@10 >= -0.03"))
    spread = np.std(np.subtract(OLD[::-1], OLD), ddof=1)
    n = solve(effect_size=0.03 / spread, alpha=0.05, power=0.8, alternative="larger")
    assert verdict.n_needed == math.ceil(n)


# --- Movers --------------------------------------------------------------------------------------


def test_movers_are_the_largest_gains_and_losses():
    found = compared([0.5, 1.0, 0.2, 0.0], [1.0, 0.5, 0.3, 0.0]).movers("ndcg@10", n=1)
    assert [(each.user, each.value, each.against) for each in found.gains] == [(0, 1.0, 0.5)]
    assert [(each.user, each.difference) for each in found.losses] == [(1, -0.5)]
    assert str(found).splitlines()[2].split() == [
        "ndcg@10",
        "gain",
        "0",
        "1.0000",
        "0.5000",
        "+0.5000",
    ]


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


@pytest.mark.parametrize("n", [0, 1.5, True])
def test_movers_count_users(n):
    with pytest.raises(ArgumentError, match="n must be an integer >= 1"):
        compared().movers("ndcg@10", n=n)


def test_no_user_moves_a_metric_of_all_lists():
    models = {
        "old": {"coverage": np.array(0.5), "mrr": OLD},
        "new": {"coverage": np.array(0.4), "mrr": NEW},
    }
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
