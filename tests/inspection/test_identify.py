"""The definitions that give a number: every mean again by ``Metrics.compute``, and by hand."""

import json
import math

import numpy as np
import pytest
from asserts import message_of

import recmetrics
from recmetrics import ArgumentError, InputError, Metrics, UnknownMetricError, identify
from recmetrics._inspection.definitions import RINGS

# Hits at rank 1; at rank 2; nothing relevant.
HIT_SCORES, HIT_TRUTH = [[3, 2, 1], [3, 2, 1], [3, 2, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def problem(n_users=30, n_items=20, seed=0):
    """Scores with ties, grades, users without truth, and sets of items."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 12, (n_users, n_items)) / 4
    truth = rng.integers(1, 4, scores.shape) * (rng.random(scores.shape) < 0.2)
    truth[::7] = 0
    exclude = (rng.random(scores.shape) < 0.2) & (truth == 0)
    candidates = (rng.random(scores.shape) < 0.7) | (truth > 0)
    return scores, truth, {"exclude": exclude, "candidates": candidates}


def mean_of(match, scores, truth, sets):
    """The mean of a match, as its fields say."""
    given = {name: each for name, each in sets.items() if name not in match.without}
    if match.truth == "list items":
        truth = truth * ~given.get("exclude", np.zeros(truth.shape, bool))
        truth = truth * given.get("candidates", np.ones(truth.shape, bool))
    ties = match.ties
    if ties == "reversed":
        scores, truth = scores[:, ::-1], truth[:, ::-1]
        given = {name: each[:, ::-1] for name, each in given.items()}
        ties = "index"
    values = Metrics.compute(scores, truth, match.metric, ties=ties, **given)[match.metric]
    rel = float(match.metric.partition("rel=")[2].partition(")")[0] or 0.5)
    undefined = np.isnan(values) | (truth < rel).all(axis=1)  # sums are 0 there
    values[undefined] = {"nan": np.nan, "zero": 0, "one": 1}[match.undefined]
    n_relevant = (truth >= rel).sum(axis=1)
    k = int(match.metric.partition("@")[2] or truth.shape[1])
    weights = {"1": n_relevant * 0 + 1, "R": n_relevant, "min(k, R)": np.minimum(n_relevant, k)}
    if match.weight != "1":
        return np.average(values[~undefined], weights=weights[match.weight][~undefined])
    values = values[~np.isnan(values)]
    if match.batch is not None:
        starts = range(0, len(values), match.batch)
        values = np.array([values[start : start + match.batch].mean() for start in starts])
    return values.mean()


@pytest.mark.parametrize("metric", ["ndcg@5", "recall@5", "map@5", "dcg", "auc", "f1@1"])
def test_every_match_is_the_mean_that_its_fields_name(metric):
    """Also over batches, and without the relevant items that the sets leave out."""
    scores, truth, _ = problem(40)
    rng = np.random.default_rng(0)
    shares = {"exclude": 0.2, "candidates": 0.7}
    sets = {name: rng.random(truth.shape) < share for name, share in shares.items()}
    for value in (0.1, 0.2, 0.4):
        found = identify(scores, truth, value, metric, **sets)
        assert len(found.matches) == 10
        for match in found.matches:
            assert match.mean == pytest.approx(mean_of(match, scores, truth, sets), rel=1e-9)
            assert match.distance == pytest.approx(abs(match.mean - value), abs=1e-9)
        assert [each.distance for each in found.matches] == sorted(
            each.distance for each in found.matches
        )
        assert found.nearest == found.matches[0]


def test_by_hand():
    # hit@1: 1, 0, -; hit@2 and hit of the whole list: 1, 1, -
    found = identify(HIT_SCORES, HIT_TRUTH, "0.5", "hit@1")
    # With the third user left out or as 0, as systems have it; as 1, and with other cutoffs.
    own, one_departure = {1 / 2, 1 / 3}, {(1 + 0 + 1) / 3, (1 + 1) / 2}
    assert (found.n_means["own"], found.n_means["one departure"]) == (2, 2)
    assert found.n_means["unused options"] == found.n_means["several departures"] == 0
    # A number from 0.25 to 1, to one digit: each mean matches 0.1 of 0.2 to 1.05.
    assert found.by_chance["own"] == pytest.approx(0.1 * len(own) / 0.85)
    assert found.by_chance["one departure"] == pytest.approx(0.1 * len(one_departure) / 0.85)
    match = found.matches[0]
    assert (match.metric, match.mean, match.departures) == ("hit@1", 0.5, ())
    assert match.ring == "own"
    assert "trec_eval: success_1" in match.systems
    assert "LensKit: Hit(1)" not in match.systems  # it counts the third user as 0


@pytest.mark.parametrize(
    "value, undefined, cutoff, system, departures",
    [
        ("0.33", "zero", 1, "LensKit: Hit(1)", ()),
        ("0.67", "one", 1, "rectorch", ("users without relevant items count 1",)),
        ("1.0", "nan", 2, "trec_eval: success_1", ("k = 2",)),
    ],
)
def test_departures_are_from_the_nearest_system(value, undefined, cutoff, system, departures):
    found = identify(HIT_SCORES, HIT_TRUTH, value, "hit@1")
    assert ("to compute a row 'as in a system'" in str(found)) == (value == "0.33")
    first = found.matches[0]
    assert (first.undefined, first.metric) == (undefined, f"hit@{cutoff}")
    assert first.departures == departures
    assert any(each.startswith(system) for each in first.systems)


def test_matches_come_ring_by_ring():
    scores, truth, sets = problem()
    matches = identify(scores, truth, "0.3", "ndcg@5", **sets).matches
    rings = [match.ring for match in matches]
    assert sorted(rings, key=RINGS.index) == rings
    assert set(rings) == set(RINGS)
    n_departures = {
        ring: {len(match.departures) for match in matches if match.ring == ring} for ring in RINGS
    }
    assert n_departures["own"] == {0}
    assert n_departures["one departure"] == {1}
    assert min(n_departures["several departures"]) == 2
    without = {each for match in matches for each in match.departures if "without e" in each}
    assert without == {"without exclude"}


@pytest.mark.parametrize(
    ("metric", "asked"),
    [
        ("ndcg(ideal=retrieved)@5", "ndcg@5"),
        ("ndcg(gain=exp2, ideal=retrieved)@5", "ndcg@5"),
        ("ndcg(discount=reciprocal)@5", "ndcg@5"),
        ("dcg(discount=ln)@5", "dcg@5"),
        ("dcg(gain=exp2, discount=reciprocal)@5", "dcg@5"),
        ("rbp(p=0.5)@5", "rbp@5"),
        ("mrr(over=relevant)@5", "mrr@5"),
        ("map", "mrr@5"),
        ("recall(denom=relevant)@5", "precision@5"),
        ("hit(rel=3)@5", "hit@5"),
        ("f1(beta=0.5)@5", "f1@5"),
        ("err(max_rel=3)@5", "err@5"),
    ],
)
def test_options_and_other_metrics_are_found(metric, asked):
    scores, truth, _ = problem(200)
    printed = f"{np.nanmean(Metrics.compute(scores, truth, metric)[metric]):.6f}"
    assert metric in {match.metric for match in identify(scores, truth, printed, asked).matches}


def test_equal_scores_may_rank_by_descending_item():
    # trec_eval ranks the second item first.
    (match,) = [m for m in identify([[1, 1]], [[0, 1]], "1.0", "hit@1").matches if m.ring == "own"]
    assert (match.ties, match.systems) == ("reversed", ("trec_eval: success_1",))
    words = "equal scores by descending item index"
    printed = str(identify([[1, 1]], [[0, 1]], "1.0", "hit@1"))
    assert f"\nhit@1, {words} " in printed
    no_argument = "\nwhat follows in words, such as {!r}, is no argument of Metrics.compute\n"
    assert no_argument.format(words) in printed


def test_relevant_items_without_a_row_do_not_count_where_rows_are_read():
    scores, truth, exclude = [[3, 2, 1]], [[1, 1, 0]], [[0]]
    rows = identify(scores, truth, "1.0", "recall@1", exclude=exclude).matches[0]
    assert (rows.metric, rows.truth) == ("recall@1", "all items")  # 1 / min(2, 1)
    rows = identify(scores, truth, "1.0", "recall(denom=relevant)@1", exclude=exclude).matches[0]
    assert (rows.truth, rows.departures) == ("list items", ())  # 1 / 1, not 1 / 2
    assert "torchmetrics: RetrievalRecall(top_k=1)" in rows.systems
    printed = str(identify(scores, truth, "1.0", "recall(denom=relevant)@1", exclude=exclude))
    settings = "undefined='zero', relevant items outside the list do not count"
    assert f"\nrecall(denom=relevant)@1, {settings} " in printed


def test_the_mean_may_be_that_of_batches_with_a_short_last_one():
    # 32 users with a hit and one without: (1 + 0) / 2, not 32 / 33.
    scores, truth = [[2, 1]] * 33, [[1, 0]] * 32 + [[0, 1]]
    match = identify(scores, truth, "0.5000", "hit@1").matches[0]
    assert (match.batch, match.ring) == (32, "one departure")
    assert match.departures == ("mean of the means of batches of 32",)


def test_the_weight_of_a_user_is_part_of_a_definition():
    # implicit 0.7.3 prints 0.5: hits at 1 of min(3, 1) and at 1 of min(3, 3), pooled.
    scores = [[9, 8, 7, 1, 0.5], [1, 9, 8, 7, 6]]
    truth = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 1]]
    for metric in ("recall@3", "precision@3"):  # which is its name for it
        found = identify(scores, truth, "0.5", metric)
        assert "\nrecall@3, mean weighted by min(k, R) " in str(found)
        match = found.matches[0]
        assert match.systems == ("implicit: precision_at_k(model, train, test, K=3)",)
        assert (match.metric, match.weight, match.departures) == ("recall@3", "min(k, R)", ())
    plain = identify(scores, truth, "0.6667", "recall@3").matches[0]
    assert not any(call.startswith("implicit") for call in plain.systems)
    area = identify([[9, 8, 7, 1]] * 2, [[1, 0, 0, 0], [0, 1, 0, 1]], "0.5", "auc").matches[0]
    assert area.systems == ("RecBole: metrics: GAUC",)


def test_a_sum_is_found_under_the_name_of_a_share():
    scores, truth = [[3, 2, 1], [3, 2, 1]], [[1, 1, 1], [1, 0, 1]]
    found = identify(scores, truth, "2.50", "hit@3")  # (3 + 2) / 2 hits
    assert found.matches[0].metric == "cg@3"
    assert found.hint == "values of hit@3 are at most 1; if this is a percentage, give '2.50 %'"
    assert found.hint in str(found)


def test_orders_of_equal_scores_are_those_of_systems():
    averaged, by_index = (
        identify([[1, 1]], [[1, 0]], value, "ndcg@1").matches[0] for value in ("0.50", "1.00")
    )
    own = "scikit-learn: ndcg_score([truth], [scores], k=1)"
    assert (own in averaged.systems, own in by_index.systems) == (True, False)
    assert (averaged.departures, by_index.departures) == ((), ())
    recall = identify([[1, 1]], [[1, 0]], "0.50", "recall@1").matches[0]  # no system averages it
    assert recall.departures == ("mean over the orders of equal scores",)


@pytest.mark.parametrize(
    "value, ties, words", [("1.00", "best", "first"), ("0.33", "worst", "last")]
)
def test_relevant_items_may_be_the_first_or_the_last_of_equal_scores(value, ties, words):
    """The second of three equal scores is relevant: by index its rank is 2, on average 11/18."""
    first = identify([[1, 1, 1]], [[0, 1, 0]], value, "mrr").matches[0]
    assert (first.metric, first.ties, first.ring) == ("mrr", ties, "one departure")
    assert first.departures == (f"the relevant of equal scores {words}",)


def test_systems_are_those_with_the_options():
    first = identify([[2, 1]], [[1, 3]], "0.143", "ndcg@1").matches[0]
    assert (first.metric, first.mean) == ("ndcg(gain=exp2)@1", pytest.approx(1 / 7))
    assert "ranx: ndcg_burges@1" in first.systems
    assert "ranx: ndcg@1" not in first.systems
    binary = identify([[2, 1]], [[1, 0]], "1.0", "ndcg@1").matches[0]
    assert binary.metric == "ndcg@1"  # of equal means, the one with the fewest options


@pytest.mark.parametrize(
    "value, matches",
    [
        *(("0.5", 1), ("0.50", 1), (".5", 1), ("50 %", 1), ("50.0%", 1), (" 0.5000 ", 1)),
        *(("0.51", 0), ("0.6667", 1), ("66.67 %", 1), ("0.6666", 0), ("67 %", 1), ("66 %", 0)),
    ],
)
def test_text_matches_to_its_digits_of_which_the_last_is_rounded(value, matches):
    found = identify(HIT_SCORES, HIT_TRUTH, value, "hit@1").matches
    assert len([match for match in found if match.ring != "another metric"]) == matches


def test_typed_options_are_kept():
    scores, truth, _ = problem()
    found = identify(scores, truth, 0.3, "ndcg(gain=exp2, rel=2)@5")
    assert all("gain=exp2" in m.metric and "rel=2" in m.metric for m in found.matches)
    assert {each.partition(":")[0] for match in found.matches for each in match.systems} == {
        "recmetrics"
    }
    plain = identify(scores, truth, 0.3, "ndcg(gain=exp2)@5")
    assert {"gain=exp2" in match.metric for match in plain.matches} == {True}
    assert plain.n_definitions > found.n_definitions


def test_metrics_of_the_same_mean_have_it_with_the_same_settings():
    """With binary truth all gains are the same; here one user has no relevant item."""
    scores, truth = np.random.default_rng(0).random((9, 12)), np.zeros((9, 12))
    truth[np.arange(8), np.arange(8)] = truth[:8, 9] = 1
    mean = Metrics.compute(scores, truth, "ndcg@5", undefined="zero")["ndcg@5"].mean()
    found = identify(scores, truth, f"{mean:.4f}", "ndcg@5")
    first = found.matches[0]
    assert (first.metric, first.undefined) == ("ndcg@5", "zero")
    for text in first.same_mean:
        values = Metrics.compute(scores, truth, text, undefined="zero")[text]
        assert values.mean() == pytest.approx(first.mean, rel=1e-12)
    [line] = [line for line in str(found).splitlines() if "is also that of" in line]
    assert line.startswith("the mean of the first row is also that of ndcg(gain=binary)@5, ")
    assert line.endswith(", each with undefined='zero'")


def test_a_sum_says_where_users_without_relevant_items_are_left_out():
    """dcg is 0 of such a user, here the last of three, whatever ``undefined`` is."""
    left_out = identify(HIT_SCORES, HIT_TRUTH, "0.8155", "dcg@2")  # (1 + 1 / log2(3)) / 2
    row = next(line for line in str(left_out).splitlines() if line.startswith("dcg@2"))
    assert row.startswith("dcg@2, users without relevant items left out  0.815465")
    usual = identify(HIT_SCORES, HIT_TRUTH, "0.5436", "dcg@2")  # (1 + 1 / log2(3)) / 3
    row = next(line for line in str(usual).splitlines() if line.startswith("dcg@2"))
    assert row.split()[:2] == ["dcg@2", "0.543643"]


def test_it_prints_and_is_plain():
    found = identify(HIT_SCORES, HIT_TRUTH, "0.5", "hit@1")
    lines = str(found).splitlines()
    assert lines[0].split() == ["metric", "mean", "departure", "based", "on", "definitions"]
    assert lines[2].split()[:6] == ["hit@1", "0.500000", "as", "in", "a", "system"]
    distinct = f"{found.n_distinct} distinct means, from {found.low:.6f} to {found.high:.6f}"
    definitions = f"{found.n_definitions} definitions, also of other metrics, have {distinct}"
    assert definitions in lines
    assert any(
        line.startswith("definitions: how many definitions (metric string, order of ties")
        for line in lines
    )
    assert "as in a system: 1 of 2 distinct means rounds to 0.5 (by chance: 0.24)" in lines
    assert (
        "by chance: how many of these means a number drawn between half of 0.5 and twice 0.5 would "
        "match on average; near 1 or above, a match proves little" in lines
    )
    [without] = [line for line in lines if line.startswith("no match among the distinct means")]
    assert without.endswith(f"means of: one departure ({found.n_means['one departure']})")
    assert lines[-1] == "definitions that agree here may differ for other scores or another truth"
    assert "<td" in found._repr_html_()
    document = json.loads(json.dumps(found.to_dict()))
    assert document["matches"][0]["metric"] == "hit@1"
    assert document["by_chance"] == found.by_chance
    assert (
        "nearest means of this metric, which need not match; to match by digits, give the value as "
        "text" in str(identify(HIT_SCORES, HIT_TRUTH, 0.5, "hit@1"))
    )


def test_of_many_matches_the_first_are_printed():
    scores, truth, _ = problem()
    found = identify(scores, truth, "0.2", "ndcg@5")
    assert len(found.matches) > 20
    lines = str(found).splitlines()
    assert lines[22] == ""  # behind the head, a rule and 20 rows
    assert f"the first 20 of {len(found.matches)} matches" in lines
    assert (
        f"0.2 does not tell which of these {len(found.matches)} rows was computed: give more "
        "digits, or identify a second metric as well"
    ) in lines
    calls = [f"row {n} is based on {'; '.join(found.matches[n - 1].systems)}" for n in (1, 2, 3)]
    assert [line for line in lines if line.startswith("row ")] == calls


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("50", "values of hit@1 are at most 1; if this is a percentage, give '50 %'"),
        ("101", "values of hit@1 are at most 1"),
    ],
)
def test_a_value_that_the_metric_cannot_have_is_hinted_at(value, hint):
    assert identify(HIT_SCORES, HIT_TRUTH, value, "hit@1").hint == hint


def test_without_a_match_the_nearest_of_the_metric_is_told():
    found = identify(HIT_SCORES, HIT_TRUTH, "0.40", "hit@1")
    assert (found.matches, found.nearest.mean) == ((), pytest.approx(1 / 3))
    lines = str(found).splitlines()
    assert lines[2].split()[:3] == ["hit@1,", "undefined='zero'", "0.333333"]
    assert "no mean rounds to 0.40; the nearest of this metric is shown" in lines


def test_relevances_too_large_for_some_gains_are_no_error():
    counts = np.array([[1000, 0, 0], [0, 1, 2000], [0, 0, 0]])
    found = identify(HIT_SCORES, counts, 0.5, "ndcg@2")
    assert {match.metric.partition("@")[0] for match in found.matches} >= {
        "ndcg",
        "ndcg(gain=binary)",
    }
    assert not any("exp2" in match.metric for match in found.matches)
    with pytest.raises(InputError, match="gain='exp2' cannot hold"):
        identify(HIT_SCORES, counts, 0.5, "ndcg(gain=exp2)@2")


@pytest.mark.parametrize(
    "value, metric, error, message",
    [
        ("much", "ndcg@5", ArgumentError, "value must be text such as '0.0932' or '9.32 %'"),
        (math.nan, "ndcg@5", ArgumentError, "or a finite number, got nan"),
        (math.inf, "dcg@5", ArgumentError, "or a finite number, got inf"),
        (10**400, "dcg@5", ArgumentError, "or a finite number, got 10{39}$"),
        ("1" + "0" * 400, "dcg@5", ArgumentError, "or a finite number, got '10{38}$"),
        (True, "ndcg@5", ArgumentError, "or a finite number, got True"),
        (-1, "dcg@5", ArgumentError, "value must be >= 0, as those of dcg@5, got -1$"),
        ("0.1", "coverage@5", ArgumentError, "metric must be one of hit, precision, .* got 'cov"),
        ("0.1", "ndcg(of=tail)@5", ArgumentError, "without of= and weigh="),
        ("0.1", "ndgc@5", UnknownMetricError, "did you mean 'ndcg@5'"),
    ],
)
def test_errors_say_what_to_type(value, metric, error, message):
    with pytest.raises(error, match=message):
        identify(HIT_SCORES, HIT_TRUTH, value, metric)


def test_the_dict_of_a_number_of_numpy_is_plain():
    found = identify(HIT_SCORES, HIT_TRUTH, np.float32(0.5), "hit@1")
    assert (found.value, type(found.value)) == (0.5, float)
    assert json.loads(json.dumps(found.to_dict()))["value"] == 0.5


@pytest.mark.parametrize("width", [math.nan, 60.0, 0, "60", True])
def test_a_width_that_is_no_count_is_refused(width):
    found = identify(HIT_SCORES, HIT_TRUTH, "0.5", "hit@1")
    told = message_of(ArgumentError, found.to_text, width)
    assert told == (
        f"width must be an integer >= 1, got {width!r}; leave it out for lines of any length"
    )
    assert max(map(len, found.to_text(60).splitlines())) <= 60


@pytest.mark.parametrize("n_users", [1, 300])  # 300 are more than a batch
@pytest.mark.parametrize(("truth", "metric"), [([0, 0, 0], "ndcg@2"), ([1, 1, 1], "auc")])
def test_a_metric_without_a_value_of_any_user_has_no_mean(n_users, truth, metric):
    """Other metrics have values: dcg is 0 without relevant items, mrr is 1 where all are."""
    with pytest.raises(InputError, match=f"^no user has a value of {metric}; expected scores"):
        identify([[3, 2, 1]] * n_users, [truth] * n_users, "0.2", metric)


def test_nobody_has_no_mean():
    told = message_of(
        InputError, lambda: identify(np.empty((0, 3)), np.empty((0, 3)), 0.5, "hit@1")
    )
    assert told.startswith("no user has a value of hit@1")


@pytest.mark.usefixtures("registry_stays")
def test_a_metric_of_ones_own_is_tried_only_where_it_is_asked_for():
    @recmetrics.metric
    def inverse(user, k):
        """Cutoff / number of relevant items."""
        return k / len(user.relevances)  # fails for the last user

    found = identify(HIT_SCORES, HIT_TRUTH, 1 / 2, "hit@1")
    assert found.matches[0].metric == "hit@1"
    found = identify(HIT_SCORES[:2], HIT_TRUTH[:2], 2.0, "inverse@2")
    assert found.matches[0].metric == "inverse@2"
