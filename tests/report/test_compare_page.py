"""A comparison as text, Markdown, LaTeX, JSON and records: what is shown, and what is noted."""

import ast
import importlib
import json
import re
import unicodedata

import numpy as np
import pytest
from compared import LEVELS, NAN, NEW, OLD, SMALL
from scipy import stats

import recmetrics
from recmetrics import ArgumentError, Evaluation, compare, summary

MANY_OLD = np.tile(OLD, 20)
MANY_NEW = np.tile(NEW, 20)
INTERVALS = "95 % intervals by Student's t over users, corrected for skewness"
WIDER = (
    "difference of ndcg@10: fewer than 10 users have a difference below 0, and the sample may "
    "lack others, so the lower end of the interval is computed with an additional user of the "
    "lowest possible difference"
)
FEW = (
    "ndcg@10: p is larger than that of the t test, as few users gain, or few lose, or differences "
    "are skewed; it is 1 - c, where c is the confidence at which the interval just reaches 0; Holm "
    "corrects all p after that"
)


def test_the_printed_table():
    values = {
        "old": {"ndcg@10": MANY_OLD, "coverage@5": np.array(0.25)},
        "new": {"ndcg@10": MANY_NEW, "coverage@5": np.array(0.5)},
    }
    found = compare(values)
    assert str(found).splitlines() == [
        "metric      model    mean     95 % interval  users",
        "----------  -----  ------  ----------------  -----  ----",
        "ndcg@10     old    0.2500  [0.2190, 0.2810]    120",
        "            new    0.4000  [0.3608, 0.4392]    120  best",
        "coverage@5  old    0.2500                 -      -",
        "            new    0.5000                 -      -  best",
        "",
        "metric   new - old       95 % interval        p       d_z     w/t/l",
        "-------  ---------  ------------------  -------  -  -----  --------",
        "ndcg@10    +0.1500  [+0.1123, +0.1674]  <0.0001  *  +1.56  100/20/0",
        "",
        INTERVALS,
        WIDER,
        "not tested, one value for all lists: coverage@5",
        "* significant: p < 0.05 by paired t test, corrected by Holm over 1 metric x 1 pair",
        FEW,
        "d_z: mean / standard deviation of the differences",
        "w/t/l: number of users where the model left of the minus is better, equal, worse "
        "(wins, ties, losses)",
    ]
    assert repr(found) == str(found)


def test_the_legend_says_what_was_done():
    values = {"a": {"gini@5": [1.0, NAN, 3.0]}, "b": {"gini@5": [2.0, 3.0, 3.5]}}
    options = {"confidence": 0.9, "tests": ("permutation", "t"), "correction": None}
    lines = str(compare(values, n_resamples=500, **options)).splitlines()
    assert lines[-10:-5] == [
        "90 % intervals by percentile bootstrap over users, 500 resamples",
        "lower is better: gini@5",
        "no difference is significant, which needs p < 0.1 by sign-flip permutation test "
        "(also shown: paired t test), not corrected for their number",
        "the intervals are not those of the sign-flip permutation test, and may disagree with it",
        "gini@5: p (t) is larger than that of the t test, as few users gain, or few lose, or "
        "differences are skewed; it is 1 - c, where c is the confidence at which the t interval "
        "(not shown) just reaches 0",
    ]
    assert lines[-2:] == [
        "left out: users without a value (most often: no relevant items)",
        "models have values for different users: a difference is over the users that both have, so "
        "it is not the difference of the means",
    ]
    same_users = {"a": values["a"], "b": {"gini@5": [2.0, NAN, 3.5]}}
    assert "different users" not in str(compare(same_users))
    as_many_others = {"a": values["a"], "b": {"gini@5": [NAN, 3.0, 3.5]}}
    for page in (compare(as_many_others), compare(as_many_others).compact()):
        assert "\nmodels have values for different users: a difference" in str(page)
    header = next(line for line in lines if "d_z  w/t/l" in line).split("  ")
    assert [cell.strip() for cell in header if cell.strip().startswith("p")] == [
        *("p (permutation)", "p (t)")
    ]
    grouped = str(compare(SMALL, by=["x", "y"] * 3, correction="bh"))
    assert (
        "corrected by Benjamini-Hochberg over 1 metric x 1 pair; p-values of groups are "
        "corrected separately, over 2 differences\n"
    ) in grouped
    assert "groups are corrected separately, over 1 difference\n" in str(
        compare(SMALL, by=["x"] * 6)
    )
    alone = "corrected by Benjamini-Hochberg over 1 metric x 1 pair"
    compact = str(compare(SMALL, by=["x", "y"] * 3, correction="bh").compact())
    assert alone in compact
    assert "of groups" not in compact  # which it does not show
    assert "groups are not shown; compact(groups=True) shows them" in compact.splitlines()


def test_one_note_names_the_metrics_of_unknown_direction():
    metrics = ["ndcg@10", "rmse", "gini@5", "mae", "loss"]
    values = {
        "old": {metric: [0.2, 0.3, 0.4] for metric in metrics},
        "new": {metric: [0.1, 0.2, 0.1] for metric in metrics},
    }
    note = (
        "rmse, mae: the direction is not known, and higher is taken as better; if lower is, type "
        "lower_is_better=['loss', 'rmse', 'mae'] (in a shell, --lower-is-better)"
    )
    found = compare(values, lower_is_better=["loss"])
    for page in (found, found.compact()):
        lines = str(page).splitlines()
        assert [line for line in lines if "direction" in line] == [note]
        assert "lower is better: gini@5, loss" in lines
    assert "rmse" not in str(found.compact("ndcg@10"))
    given = compare(values, lower_is_better=["loss", "rmse", "mae"])
    assert "direction" not in str(given)


def test_the_star_of_significance_stands_behind_the_p_of_the_first_test():
    values = {"old": {"m": MANY_OLD}, "new": {"m": MANY_NEW}}
    found = compare(values, tests=("t", "wilcoxon"))
    assert found.differences[0].significant
    wide = str(found).splitlines()
    row = next(line for line in wide if "+0.1500" in line)
    assert row.split()[4:7] == ["<0.0001", "*", "<0.0001"]
    assert row.index("*") == next(line for line in wide if "p (t)" in line).index("p (t)") + 7
    blocks = [line.split() for line in found.to_text(28).splitlines()]
    assert [words for words in blocks if words[:1] == ["p"]] == [
        ["p", "(t)", "<0.0001", "*"],
        ["p", "(wilcoxon)", "<0.0001"],
    ]
    assert "| <0.0001 | * | <0.0001 |" in found.to_markdown().replace("\\", "")


@pytest.mark.parametrize(("n_losers", "is_noted"), [(9, True), (10, False)])
def test_few_users_on_a_side_are_noted(n_losers, is_noted):
    old = np.full(60, 0.5)
    new = np.r_[np.full(n_losers, 0.4), np.full(60 - n_losers, 0.6)]
    values = {"old": {"ndcg@10": old}, "new": {"ndcg@10": new}}
    found = compare(values)
    assert found.differences[0].losses == n_losers
    for text in (str(found), str(found.compact())):
        assert (FEW in text.splitlines()) == is_noted
    turned = compare({"new": values["new"], "old": values["old"]})
    assert (FEW in str(turned).splitlines()) == is_noted
    low, high = found.differences[0].low, found.differences[0].high
    bootstrap = compare(values, n_resamples=500)
    assert bootstrap.differences[0].p == found.differences[0].p
    of_bootstrap = FEW.replace("the interval", "the t interval (not shown)")
    assert (of_bootstrap in str(bootstrap).splitlines()) == is_noted
    permuted = compare(values, tests="permutation")
    assert (permuted.differences[0].low, permuted.differences[0].high) == (low, high)
    assert FEW not in str(permuted).splitlines()


def test_a_range_that_is_not_known_is_noted():
    """The least and largest value of all models stand for it where few users are on a side."""
    metrics = ("ndcg@10", "dcg@10", "m")
    values = {"old": dict.fromkeys(metrics, MANY_OLD), "new": dict.fromkeys(metrics, MANY_NEW)}
    unknown = [
        "dcg@10: no maximum is known; the additional user has the greatest value measured",
        "m: no minimum or maximum is known; the additional user has the least or the greatest "
        "value measured",
    ]
    found = compare(values, baseline="old")
    assert found.observed == {"dcg@10", "m"}
    assert [line for line in str(found).splitlines() if "is known" in line] == unknown
    assert found.to_dict()["observed"] == ["dcg@10", "m"]
    gate = found.gate([f"{metric} >= -0.01" for metric in metrics])
    assert gate.observed == {"dcg@10", "m"}
    assert [line for line in str(gate).splitlines() if "is known" in line] == unknown
    assert gate.to_dict()["observed"] == ["dcg@10", "m"]

    # Ten users or more gain and lose, and are above the least and below the largest value.
    turned = {"old": values["old"], "new": dict.fromkeys(metrics, MANY_OLD[::-1])}
    found = compare(turned, baseline="old")
    assert found.observed == frozenset()
    assert "is known" not in str(found)
    assert found.gate("m >= -0.01").observed == {"m"}  # a gate counts one more user always
    assert summary(values["new"]).observed == frozenset()

    few = summary(dict.fromkeys(metrics, MANY_NEW[:9]))
    assert few.observed == {"dcg@10", "m"}
    assert [line for line in str(few).splitlines() if "is known" in line] == unknown
    assert few.to_dict()["observed"] == ["dcg@10", "m"]
    assert summary({"m": MANY_NEW[:9]}, n_resamples=100).observed == frozenset()


def test_equal_values_of_an_unknown_range_have_no_interval():
    why = ["equal", "and the range of the metric is not known"]
    of_values = f"m: no interval, since all values are {', '.join(why)}"
    of_differences = "difference of m: no interval, since it is equal for all users, " + why[1]
    values = {"m": [0.25] * 8, "ndcg@10": [0.25] * 8}
    lines = str(summary(values)).splitlines()
    assert [line for line in lines if "no interval" in line] == [of_values]
    found = compare({"old": values, "new": {"m": [0.75] * 8, "ndcg@10": [0.75] * 8}})
    lines = str(found).splitlines()
    assert [line for line in lines if "no interval" in line] == [of_values, of_differences]
    # The test of signs, of which two of the 2^8 flips are as far from 0; or that of the interval.
    p_values = {pair.metric: pair.p_uncorrected["t"] for pair in found.differences}
    assert p_values["m"] == 2 / 2**8
    assert p_values["ndcg@10"] > 0.05 > p_values["m"]
    one_user = compare({"old": {"m": [0.25]}, "new": {"m": [0.75]}})
    assert "no interval" not in str(one_user)


def test_values_beyond_the_range_of_their_metric_are_noted():
    per_cent = [100 * value for value in MANY_NEW[:9]]
    note = (
        "ndcg@10: some values are not in the metric's range, 0 to 1; beyond it, the additional "
        "user has the least or the greatest value measured"
    )
    assert note in str(summary({"ndcg@10": per_cent})).splitlines()


@pytest.mark.parametrize(
    ("test", "name"),
    [("wilcoxon", "Wilcoxon signed-rank test"), ("permutation", "sign-flip permutation test")],
)
def test_an_interval_that_is_not_of_the_deciding_test_is_noted(test, name):
    values = {"old": {"ndcg@10": MANY_OLD}, "new": {"ndcg@10": MANY_NEW}}
    note = f"the intervals are not those of the {name}, and may disagree with it"
    for tests in (test, [test, "t"]):
        assert note in str(compare(values, tests=tests)).splitlines()
        assert FEW not in str(compare(values, tests=tests)).splitlines()
    assert note not in str(compare(values, tests=["t", test])).splitlines()
    assert FEW in str(compare(values, tests=["t", test])).splitlines()


# 30 users gain 1/32, one loses 1: by ranks, new is better, and by the mean it is worse.
ONE_LARGE_LOSS = {"old": {"ndcg@10": [0.0] * 30 + [1.0]}, "new": {"ndcg@10": [1 / 32] * 30 + [0.0]}}


@pytest.mark.parametrize(
    ("loss", "differs"),
    [(1.0, "-"), (30 / 32, "0"), (0.5, "")],  # the mean is below 0, 0, and above 0
)
def test_no_model_is_called_better_where_ranks_and_means_disagree(loss, differs):
    values = {"old": {"ndcg@10": [0.0] * 30 + [loss]}, "new": ONE_LARGE_LOSS["new"]}
    found = compare(values, tests="wilcoxon")
    assert found.differences[0].significant
    note = (
        "ndcg@10 of new - old: significant, but not in the direction of the mean (the test ranks "
        "the differences, and a few large ones decide their mean)"
    )
    for page in (str(found), str(found.compact())):
        assert (note in page.splitlines()) == bool(differs)
    letters = "letters a, b, ...: significantly better than model a, b, ..."
    assert (letters in str(found.compact()).splitlines()) == (not differs)


@pytest.mark.parametrize("test", ["t", "permutation"])
def test_a_test_of_the_mean_does_not_disagree_with_it(test):
    """60 users gain 0.01, and twelve lose 1: the ranks of the gains have the larger sum."""
    old = [0.0] * 60 + [1.0] * 12
    new = [0.01] * 60 + [0.0] * 12
    found = compare({"old": {"ndcg@10": old}, "new": {"ndcg@10": new}}, tests=test)
    assert found.differences[0].significant
    assert "not in the direction of the mean" not in str(found)
    assert str(found.compact()).splitlines()[2].split() == ["a", "old", "[0.1667]", "b"]


def test_groups_where_ranks_and_means_disagree_are_named():
    found = compare(ONE_LARGE_LOSS, tests="wilcoxon", by=["x"] * 31)
    assert "ndcg@10 of new - old, ndcg@10 of new - old in x: significant, but not" in str(found)
    assert "old in x" not in str(found.compact())


def test_many_cutoffs_of_a_metric_are_noted_with_what_to_type():
    metrics = ("ndcg@1", "ndcg@5", "ndcg@10", "recall@5")
    hits = ("hit@1", "hit@2", "hit@3")
    values = {
        "old": dict.fromkeys((*metrics, *hits), MANY_OLD),
        "new": dict.fromkeys((*metrics, *hits), MANY_NEW),
    }
    found = compare(values, metrics=metrics)
    assert "over 4 metrics x 1 pair" in str(found)
    [note] = [line for line in str(found).splitlines() if "stricter" in line]
    assert note == (
        "3 cutoffs of ndcg make the correction stricter; if one is enough, name the metrics to "
        "compare: 'ndcg@10', 'recall@5'"
    )
    both = str(compare(values, metrics=[*metrics, *hits]))
    assert "3 cutoffs of ndcg and 3 cutoffs of hit make the correction stricter" in both
    assert "to compare: 'ndcg@10', 'recall@5', 'hit@3'\n" in both
    typed = f"[{note.partition('compare: ')[2]}]"
    fewer = compare(values, metrics=ast.literal_eval(typed))
    assert fewer.metrics == ("ndcg@10", "recall@5")
    assert "over 2 metrics x 1 pair" in str(fewer)
    p = {each.metric: each.p["t"] for each in found.differences}
    assert [each.p["t"] for each in fewer.differences] == [
        pytest.approx(p[each] / 2, abs=0) for each in fewer.metrics
    ]
    # The typed metrics show those of all lists, and a cutoff that has values.
    for model in values.values():
        model |= {"coverage@10": np.array(0.5), "ndcg@50": [NAN] * len(MANY_OLD)}
    others = compare(values, metrics=["coverage@10", *metrics[:3], "ndcg@50"])
    assert "3 cutoffs of ndcg make" in str(others)
    assert "the metrics to compare: 'coverage@10', 'ndcg@10'\n" in str(others)
    for text in (
        str(fewer),
        str(compare(values, metrics=["ndcg@1", "ndcg@5"])),
        str(compare(values, metrics=["ndcg@1", "ndcg@5", "ndcg@50"])),  # two have p-values
        str(compare(values, metrics=["hit@1:3", "hit@2"])),  # a range is not tested
        str(compare(values, metrics=metrics, correction=None)),
    ):
        assert "stricter" not in text


@pytest.mark.parametrize(
    "confidence, text",
    [
        (0.95, "95"),
        (0.999, "99.9"),
        (1 - 0.05 / 3, "98.33"),
        (1 - 0.05 / 300, "99.983"),
        (1 - 0.05 / 2000, "99.9975"),
        (1 - 0.05 / 30_000_000, "99.99999983"),
    ],
)
def test_no_confidence_is_rounded_to_100_per_cent(confidence, text):
    page = str(compare(SMALL, confidence=confidence))
    assert f" {text} % interval " in page
    assert f"\n{text} % intervals by" in page


@pytest.mark.parametrize("confidence, needed", [(0.95, 6), (0.9, 5), (0.75, 4), (0.99, 8)])
def test_too_few_users_are_noted(confidence, needed):
    assert 2 / 2**needed < 1 - confidence <= 2 / 2 ** (needed - 1)
    for n_users in (2, needed - 1, needed):
        values = {"a": {"m": np.zeros(n_users)}, "b": {"m": np.arange(n_users) + 10.0}}
        found = compare(values, confidence=confidence, n_resamples=100, rng=0)
        note = (
            f"too few users for a test at {100 * confidence:.0f} %, which needs {needed}: "
            f"{n_users} users"
        )
        is_noted = n_users < needed
        assert (note in str(found).splitlines()) == is_noted
        assert (f"- {note}" in found.to_markdown().splitlines()) == is_noted
        latex = note.replace("%", r"\%")
        assert (latex in found.to_latex().replace(r" \\", "").splitlines()) == is_noted


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("test", ["t", "permutation"])
def test_too_few_users_are_as_many_as_no_difference_makes_significant(test, confidence):
    """All users have the greatest difference, of a metric of known range and of one without."""
    for metric in ("hit@1", "clicks"):
        needed = []
        for n_users in range(2, 25):
            values = {"a": {metric: np.zeros(n_users)}, "b": {metric: np.ones(n_users)}}
            found = compare(values, tests=test, confidence=confidence)
            noted = re.findall("too few users for a test at .* %, which needs ([0-9]+)", str(found))
            if found.differences[0].significant:
                break
            needed += noted
        assert needed == [str(n_users)] * (n_users - 2)


def test_metrics_of_known_and_of_unknown_range_need_different_numbers_of_users():
    old = {"hit@1": np.zeros(5), "clicks": np.zeros(5)}
    new = {"hit@1": np.ones(5), "clicks": np.ones(5)}
    lines = str(compare({"old": old, "new": new})).splitlines()
    why = "too few users for a test at 95 %, which needs"
    assert [line for line in lines if why in line] == [
        f"{why} 6: 5 users in 1 of 2 differences",
        f"{why} 9: 5 users in 1 of 2 differences",
    ]


def test_too_few_users_of_some_differences_and_groups_are_noted():
    sparse = [NAN] * 9 + [1.0, 2.0]
    values = {
        "a": {"m": np.arange(11.0), "n": np.arange(11.0), "o": sparse},
        "b": {"m": np.zeros(11), "n": sparse, "o": [*sparse[:-1], NAN]},
    }
    why = "too few users for a test at 95 %, which needs 6"
    lines = str(compare(values, rng=0, by=["x"] * 6 + ["y"] * 5)).splitlines()
    assert f"{why}: 1 to 2 users in 2 of 3 differences" in lines
    assert f"{why}: 0 to 5 users in 2 of 2 groups" in lines
    dense = {model: {"m": columns["m"]} for model, columns in values.items()}
    lines = str(compare(dense, rng=0, by=["x"] * 6 + ["y"] * 4 + ["z"])).splitlines()
    assert [line for line in lines if why in line] == [f"{why}: 1 to 4 users in 2 of 3 groups"]
    alone = {model: {"o": columns["o"]} for model, columns in values.items()}
    assert f"{why}: 1 user" in str(compare(alone, rng=0)).splitlines()


def test_a_table_is_aligned_whatever_the_names():
    values = {"\u7b2ce\u0301\u4e09": {"m": OLD}, "two\nlines": {"m": NEW}}
    lines = str(compare(values, rng=0)).splitlines()
    assert lines[2].startswith("m       \u7b2ce\u0301\u4e09      0.2500")  # 2 + 1 + 0 + 2 columns
    assert lines[3].startswith("        two lines  0.4000")


def test_markdown():
    values = {"a_b|c": {"ndcg@10": MANY_OLD}, "new": {"ndcg@10": MANY_NEW}}
    lines = compare(values).to_markdown().splitlines()
    assert lines[:5] == [
        "| metric | model | mean | 95 % interval | users |  |",
        "| --- | --- | ---: | ---: | ---: | --- |",
        r"| ndcg@10 | a\_b\|c | 0.2500 | [0.2190, 0.2810] | 120 |  |",
        "|  | new | **0.4000** | [0.3608, 0.4392] | 120 | best |",
        "",
    ]
    assert lines[-6:-3] == [
        f"- {INTERVALS}",
        f"- {WIDER}",
        r"- \* significant: p \< 0.05 by paired t test, corrected by Holm over 1 metric x 1 pair",
    ]


def test_rows_whose_labels_look_alike_keep_their_names():
    alike = ["n", "n "]
    values = dict.fromkeys(alike, OLD)
    lines = str(compare({"a": values, "b": values}, rng=0)).splitlines()
    assert [line[0] for line in lines[2:6]] == ["n", " ", "n", " "]
    lines = str(compare({"a": values, "a ": values, "b": values}, baseline="b", rng=0)).splitlines()
    assert lines[9].split()[:2] == ["metric", "pair"]
    summed = str(summary({"m": OLD}, by=[1, "1"] * 3)).split("\n\n")[1].splitlines()
    assert [line[0] for line in summed[2:]] == ["1", "1"]


def test_latex():
    values = {"a_b": {"m%": MANY_OLD}, "new": {"m%": MANY_NEW}}
    text = compare(values).to_latex()
    assert text.startswith("% \\usepackage{booktabs}\n\n\\begin{tabular}{lr}\n\\toprule\n")
    assert "model & m\\% \\\\\n" in text
    assert "a\\_b$^{a}$ & 0.2500 \\\\\n" in text
    assert "new$^{b}$ & \\textbf{0.4000}$^{a}$ \\\\\n" in text
    assert (
        "m\\% & +0.1500 & {[}+0.1204, +0.1674] & \\textless{}0.0001 & {*} & +1.56 & 100/20/0"
    ) in text
    assert (
        "superscript of a model: its letter; of a mean: the models that it is significantly better "
        "than"
    ) in text
    turned = compare(dict(reversed(values.items()))).to_latex()
    assert "new$^{a}$ & \\textbf{0.4000}$^{b}$" in turned
    assert "& $-$0.1500 & {[}$-$0.1674, $-$0.1204]" in turned
    values = {"old": {"gini@5": MANY_NEW}, "new": {"gini@5": MANY_OLD}}
    found = compare(values, by=["x"] * 120, levels={"chance": {"gini@5": [0.5] * 120}})
    text = found.to_latex()
    assert text.count("new$^{b}$ & \\textbf{0.2500}$^{a}$") == 2  # of all users, and of the group
    assert "\nmodel in x & gini@5 " in text
    assert "\nbold: the best mean of a metric \\\\\n" in text
    assert "\nchance & 0.5000 \\\\\n\\bottomrule" in text
    rng = np.random.default_rng(0)
    rising = {f"m{i}": {"m%": rng.normal(-i, 0.1, 30)} for i in range(28)}
    many = compare(rising, n_resamples=100).to_latex()
    assert re.findall(r"m2\d\$\^\{(z|aa|ab)\}", many)[:3] == ["z", "aa", "ab"]


def test_tables_fit_the_width_of_a_terminal():
    """Cells fold at blanks; where even that is too wide, each row is a block."""
    found = compare({"old": {"m": OLD}, "new": {"m": NEW}}, by=["x y"] * 6, rng=0)
    whole = str(found)
    assert found.to_text(max(map(len, whole.splitlines()))) == whole
    for width in range(28, 120, 7):
        text = found.to_text(width)
        assert max(map(len, text.splitlines())) <= width
        if "d_z, w/t/l: shown in a wider terminal" not in text.splitlines():
            for word in {*whole.split()} - {"-" * n for n in range(30)}:
                assert word in text.split(), (word, width)
    narrow = found.to_text(70).splitlines()
    assert narrow[:3] == [
        "metric  model    mean     95 % interval  users        worst group",
        "------  -----  ------  ----------------  -----  ----  ------------",
        "m       old    0.2500  [0.0411, 0.5419]      6        x y (0.2500)",
    ]
    assert narrow[5:9] == [
        "metric  new - old       95 % interval       p    worst group",
        "------  ---------  ------------------  ------    -------------",
        "m         +0.1500  [-0.4341, +0.5181]  0.6345    x y (+0.1500)",
        "",
    ]
    assert "d_z, w/t/l: shown in a wider terminal" in narrow
    assert not [note for note in narrow if note.startswith(("d_z:", "w/t/l:"))]
    assert found.to_text(28).splitlines()[:7] == [
        "m",
        "  model          old",
        "  mean           0.2500",
        "  95 % interval  [0.0411,",
        "                 0.5419]",
        "  users          6",
        "  worst group    x y",
    ]
    values = np.linspace(0, 0.5, 60)
    gained = values + np.resize([0.25, 0.26, 0.27], 60)
    blocks = compare({"old": {"m": values}, "new": {"m": gained}}).to_text(28).splitlines()
    assert [line.split() for line in blocks if line.split()[:1] in (["p"], ["mean"])][:3] == [
        ["mean", "0.2500"],
        ["mean", "0.5100", "best"],
        ["p", "<0.0001", "*"],
    ]


@pytest.mark.parametrize("n_letters", [8, 30, 45, 68, 79])
@pytest.mark.parametrize("n_models", [2, 3])
def test_no_line_is_wider_than_the_terminal_unless_a_name_is(n_letters, n_models):
    names = [f"model_{i}".ljust(n_letters, "x") for i in range(n_models)]
    values = [MANY_OLD, MANY_NEW, MANY_OLD]
    results = {name: {"m": each} for name, each in zip(names, values, strict=False)}
    found = compare(results, lower_is_better="m")  # the note to type this has long code
    n_of_names = n_letters + len("),")  # in a note on some models
    for width in (20, 28, 40, 60, 80, 100, 120, 160):
        text = found.to_text(width)
        assert max(map(len, text.splitlines())) <= max(width, n_of_names)
        assert set(names) <= set(text.split())
    for width in range(1, 9):  # the letters have no heading
        assert set(names) <= set(found.compact().to_text(width).split())


def test_blocks_of_lines_repeat_the_labels_of_their_rows():
    """A table leaves out a label that is that of the row above; a block says whose it is."""
    names = [f"the model with a long name that is number {i}" for i in range(3)]
    values = {name: {"m": np.roll(OLD, i), "n": np.roll(NEW, i)} for i, name in enumerate(names)}
    found = compare(values, by=["cold", "warm"] * 3)
    means_of_groups = found.to_text(48).split("\n\n")[2].splitlines()
    labels = [line for line in means_of_groups if line.startswith(("cold", "warm", "  metric"))]
    row_by_row = [(group, f"  metric         {m}") for group in ("cold", "warm") for m in "mn"]
    assert labels == [label for row in row_by_row for _ in names for label in row]

    movers = found.movers(
        "m",
        n=2,
        users=[f"user_{i}".ljust(70, "_") for i in range(6)],
        model=names[1],
        against=names[0],
    )
    kinds = [line.split()[1] for line in movers.to_text(60).splitlines() if "kind" in line]
    assert kinds == ["gain"] * len(movers.gains) + ["loss"] * len(movers.losses)
    assert len(kinds) == 4


def columns(line):
    """The columns of a terminal that a line takes, without characters that combine."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def test_notes_with_wide_letters_fit_the_terminal():
    names = ["基準となる推薦モデル", "新しい推薦モデル"]
    found = compare({names[0]: {"ndcg@10": OLD}, names[1]: {"ndcg@10": NEW}}, by=["新規"] * 6)
    for width in (60, 80):
        for page in (found, found.gate("ndcg@10 >= -1%"), found.compact()):
            text = page.to_text(width)
            assert max(map(columns, text.splitlines())) <= width
            notes = " ".join(text.split("\n\n")[-1].split())
            assert notes == " ".join(str(page).split("\n\n")[-1].split()) or "wider" in notes


def test_marks_and_joiners_take_no_column():
    columns_of = {"ก\u0e31\u0e49น": 2, "क\u0941": 1, "a\u0301\u200d": 1}
    rows = str(compare({name: {"m": OLD} for name in columns_of})).splitlines()[2:5]
    begins = [
        row.index("0.") - len(name) + n_columns
        for row, (name, n_columns) in zip(rows, columns_of.items(), strict=True)
    ]
    assert begins == [begins[0]] * 3


def test_a_heading_and_a_cell_that_are_too_long_have_lines_of_their_own():
    names = ["old".ljust(68, "_"), "new".ljust(67, "_")]
    found = compare({names[0]: {"m": MANY_OLD}, names[1]: {"m": MANY_NEW}})
    means, differences, _ = found.to_text(80).split("\n\n")
    assert means.splitlines()[:5] == [
        "m",
        "  model",
        f"    {names[0]}",
        "  mean           0.2500",
        "  95 % interval  [0.2190, 0.2810]",
    ]
    assert differences.splitlines()[:6] == [
        "m",
        f"  {names[1]} -",
        f"  {names[0]}",
        "    +0.1500",
        "  95 % interval  [+0.1204, +0.1674]",
        "  p              <0.0001 *",
    ]


def test_a_comparison_is_a_dict_for_json():
    undefined = [NAN] * 120
    values = {
        "a": {"gini@5": MANY_OLD, "mine": undefined},
        "b": {"gini@5": MANY_NEW, "mine": undefined},
    }
    groups = np.array([1, 2] * 60)
    levels = {"c": {"gini@5": MANY_OLD}}
    found = compare(values, by=groups, levels=levels, tests=("t", "permutation"))
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {name: document[name] for name in ("format", "version", "models", "groups")} == {
        "format": "recmetrics-1",
        "version": recmetrics.__version__,
        "models": ["a", "b"],
        "groups": [1, 2],
    }
    assert document["definitions"] == {"gini@5": None, "mine": None}  # arrays do not know theirs
    stated = found.to_dict("lenskit")["definitions"]
    assert stated == {"gini@5": "gini(denom=n)@5", "mine": None}
    assert document["lower_is_better"] == ["gini@5"]
    assert document["means"][0] == found.to_records("means")[0]
    [first, second, *_] = document["differences"]
    assert first == found.to_records()[0]
    assert {"p_t", "p_t_uncorrected", "p_permutation", "p_permutation_uncorrected"} < {*first}
    assert (second["difference"], second["n_users"]) == (None, 0)
    assert (document["n_resamples"], document["observed"]) == (None, [])
    assert document["notes"] == str(found).split("\n\n")[-1].splitlines()
    summed = summary(Evaluation({"NDCG@10": OLD}), notes=["by hand"]).to_dict()
    assert {*summed} < {*document}
    assert summed["definitions"]["NDCG@10"].startswith("ndcg(gain=linear, discount=log2, ideal=")
    assert summed["notes"] == ["by hand"]
    under = summary({"ndcg@10": OLD}).to_dict(convention="LensKit")
    assert under["convention"] == "lenskit"
    assert found.to_dict(convention="RANX")["convention"] == "ranx"
    assert "discount=log2_clip" in under["definitions"]["ndcg@10"]
    least = Evaluation({"ndcg@10[least]": OLD}).to_dict()["definitions"]["ndcg@10[least]"]
    assert (least[:5], least[-11:]) == ("ndcg(", ")@10[least]")


def test_records():
    found = compare(SMALL, tests=("t", "wilcoxon"), by=["x", "y"] * 3, rng=0)
    first, *others = found.to_records()
    names = "metric group model against difference low high n_users n_undefined effect_size "
    names += "detectable wins ties losses p_t p_t_uncorrected p_wilcoxon p_wilcoxon_uncorrected "
    assert list(first) == [*names.split(), "p_raised", "significant"]
    assert [first[name] for name in ("p_t", "p_t_uncorrected")] == [
        found.differences[0].p["t"],
        found.differences[0].p_uncorrected["t"],
    ]
    assert [each["p_wilcoxon_uncorrected"] for each in others] == [0.5, 0.25]
    assert [each["p_wilcoxon"] for each in others] == [0.5, 0.5]  # by Holm over both groups
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
    of_all_lists = found.to_records("means")[2]
    names = ("metric", "group", "n_users", "n_undefined")
    assert [of_all_lists[name] for name in names] == ["coverage@5", None, None, None]
    message = r"^table must be 'differences' or 'means', got 'mean'$"
    for method in (found.to_records, found.to_frame, lambda t: found.plot(table=t)):
        with pytest.raises(ArgumentError, match=message):
            method("mean")


@pytest.mark.parametrize("name", ["p_values", "corrected"])
def test_the_former_names_of_p_values_name_the_new_ones(name):
    [difference] = compare(SMALL).differences
    with pytest.raises(AttributeError) as caught:
        getattr(difference, name)
    assert str(caught.value) == (
        f"a Difference has no {name!r}; type .p for corrected p-values, .p_uncorrected for those "
        "that are not"
    )
    assert not hasattr(difference, name)
    assert list(difference.p) == list(difference.p_uncorrected) == ["t"]
    with pytest.raises(AttributeError, match=r"^'Difference' object has no attribute 'p_value'$"):
        difference.p_value  # noqa: B018  # read for its error


def test_to_frame_without_a_backend(monkeypatch):
    module = importlib.import_module("recmetrics._report.records")
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


def test_levels_in_text():
    lines = str(compare(SMALL, rng=0, levels=LEVELS)).splitlines()
    rows = [line.split() for line in lines[2:8]]
    # A metric that the levels lack has the rows of the models alone.
    names = [["m", "old"], ["new"], ["chance"], ["ceiling"], ["coverage@5", "old"], ["new"]]
    assert [row[: len(name)] for row, name in zip(rows, names, strict=True)] == names
    assert ["best" in row for row in rows] == [False, True, False, False, False, True]
    assert "not compared: chance, ceiling" in lines
    assert "not compared" not in str(compare(SMALL, rng=0))


def test_small_differences_of_many_users_are_not_zeros():
    """The differences are 1e-6 on average, 2e-6 from it: e = 2e-6 / sqrt(399), t e = 2.0e-7."""
    old = np.tile([0.25, 0.75], 200)
    new = old + np.tile([3e-6, 3e-6, -1e-6, -1e-6], 100)
    pair = compare({"old": {"ndcg@5": old}, "new": {"ndcg@5": new}})
    lines = str(pair).splitlines()
    [_, of_differences] = [line.split() for line in lines if line.startswith("ndcg@5")]
    assert of_differences[1:4] == ["+0.00000100", "[+0.00000080,", "+0.00000120]"]
    assert "+0.00000300" in str(pair.movers("ndcg@5", n=1))


def test_a_small_difference_with_a_wide_interval_is_not_a_zero():
    """The mean of 0 to 1 is 0.5, and 4e-5 of it 2e-5; one more user at +1 is the upper end."""
    old = np.linspace(0, 1, 200)
    pair = compare({"old": {"ndcg@10": old}, "new": {"ndcg@10": old * (1 - 4e-5)}})
    lines = str(pair).splitlines()
    [_, of_differences] = [line.split() for line in lines if line.startswith("ndcg@10 ")]
    assert of_differences[1:3] == ["-0.00002", "[-0.00002,"]
    # Eight decimals do not show 2e-9, so there are no more than four.
    tiny = compare({"old": {"ndcg@10": old}, "new": {"ndcg@10": old * (1 - 4e-9)}})
    assert re.search(r"^ndcg@10 +-0\.0000 ", str(tiny), re.M)


@pytest.mark.parametrize(
    ("p", "text"), [(0.04997, "0.04997  *"), (0.05003, "0.05003"), (0.0312, "0.0312  *")]
)
def test_a_p_that_is_significant_does_not_print_as_one_that_is_not(p, text):
    """Of 30 differences with deviation 0.01, a mean of t 0.01 / sqrt(30) has the p of t."""
    deviations = np.tile([-1.0, 1.0], 15) * 0.01 * np.sqrt(29 / 30)
    shift = stats.t.isf(p / 2, 29) * 0.01 / np.sqrt(30)
    old = np.linspace(0.3, 0.6, 30)
    pair = compare({"old": {"m": old}, "new": {"m": old + deviations + shift}})
    assert pair.differences[0].p["t"] == pytest.approx(p, rel=1e-9)
    [_, line] = [line for line in str(pair).splitlines() if line.startswith("m ")]
    assert re.search(rf"\] +{re.escape(text)} ", line)


def test_levels_do_not_change_how_many_digits_are_shown():
    small = {name: {"m": np.array(values) / 1e4} for name, values in (("a", OLD), ("b", NEW))}
    for levels in (None, LEVELS):
        first = str(compare(small, rng=0, levels=levels)).splitlines()[2]
        assert first.split()[:3] == ["m", "a", "0.0000250"]


def test_p_raised_in_a_group_alone_is_noted():
    rng = np.random.default_rng(0)
    old = rng.random(212)
    new = np.clip(old + rng.normal(0, 0.1, 212), 0, 1)
    new[200:] = np.clip(old[200:] + 0.05, 0, 1)  # of twelve users, none loses
    models = {"old": {"ndcg@10": old}, "new": {"ndcg@10": new}}
    by = ["many"] * 200 + ["few"] * 12
    note = (
        "ndcg@10 (only new - old in few): p is larger than that of the t test, as few users gain, "
        "or few lose, or differences are skewed; it is 1 - c, where c is the confidence at which "
        "the interval just reaches 0"
    )
    assert note in str(compare(models, by=by))
    assert "p is larger than" not in str(compare(models))
    more = str(compare(models, by=by, tests=["permutation", "t"]))  # its column is p (t)
    assert note.replace("few): p is", "few): p (t) is") in more
    drawn = str(compare(models, by=by, n_resamples=100))
    assert note.replace("the interval", "the t interval (not shown)") in drawn


def test_no_note_on_p_where_nothing_bounds_the_difference():
    models = {"a": {"clicks": np.zeros(20)}, "b": {"clicks": np.full(20, 0.25)}}
    comparison = compare(models)
    assert np.isnan(comparison.differences[0].low)
    assert "p is larger than" not in str(comparison)


@pytest.mark.parametrize("options", [{}, {"weights": [1.0, 2.0] * 3}, {"n_resamples": 100}])
@pytest.mark.parametrize("n_runs", [1, 2])
def test_the_noun_is_that_of_the_evaluations(n_runs, options):
    """In the words of every page alone; so "queries" stand where "users" stand otherwise."""
    new = [{"m": OLD, "x": [*NEW[:-1], NAN]}, {"m": NEW, "x": NEW}][:n_runs]

    def words(noun):
        old = Evaluation({"m": OLD, "x": OLD}, noun=noun)
        found = compare({"old": old, "new": [Evaluation(run, noun=noun) for run in new]}, **options)
        gate = found.gate(["m > 0", "x >= -0.1"])
        movers = [found.movers(metric) for metric in ("m", "x")]
        reports = [found, found.compact(), gate, *movers]
        pages = [*map(str, reports), found.compact().to_latex(), found.to_latex()]
        return re.sub("-{3,}", "", "\n".join(pages)).split()

    of_users = " ".join(words("user"))
    assert re.sub(r"\busers\b", "queries", re.sub(r"\buser\b", "query", of_users)) == " ".join(
        words("query")
    )
