"""The definitions that give a number: every mean again by ``Metrics.compute``, and by hand."""

import json
import math

import numpy as np
import pytest
from asserts import message_of

from recmetrics import ArgumentError, InputError, Metrics, UnknownMetricError, identify

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
    values = Metrics.compute(scores, truth, match.metric, ties=match.ties, **given)[match.metric]
    undefined = np.isnan(values) | (truth == 0).all(axis=1)  # sums are 0 there
    values[undefined] = {"nan": np.nan, "zero": 0, "one": 1}[match.undefined]
    return np.nanmean(values)


@pytest.mark.parametrize("metric", ["ndcg@5", "recall@5", "map@5", "dcg", "auc", "f1@1"])
def test_every_match_is_the_mean_that_its_fields_name(metric):
    scores, truth, sets = problem()
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
    # hit@1: 1, 0, -; hit@2: 1, 1, -
    found = identify(HIT_SCORES, HIT_TRUTH, "0.5", "hit@1")
    assert found.n_definitions == 2 * 3 * 2  # cutoffs, treatments of users, orders of ties
    assert found.n_distinct == len({1 / 2, 1 / 3, 2 / 3, (1 + 1) / 2, (1 + 1 + 1) / 3})
    assert (found.low, found.high) == (pytest.approx(1 / 3), 1)
    # [1/3, 0.383], [0.45, 0.55], [0.617, 0.717] and [0.95, 1] of [1/3, 1]
    assert found.by_chance == pytest.approx((0.05 + 0.1 + 0.1 + 0.05) / (2 / 3))
    (match,) = found.matches
    assert (match.metric, match.mean, match.departures) == ("hit@1", 0.5, ())
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
    first = identify(HIT_SCORES, HIT_TRUTH, value, "hit@1").matches[0]
    assert (first.undefined, first.metric) == (undefined, f"hit@{cutoff}")
    assert first.departures == departures
    assert any(each.startswith(system) for each in first.systems)


def test_departures_in_what_is_measured_come_last():
    scores, truth, sets = problem()
    matches = identify(scores, truth, "0.3", "ndcg@5", **sets).matches
    measured = [
        sum(each.startswith(("without ", "k = ")) for each in m.departures) for m in matches
    ]
    rules = [len(m.departures) - n for m, n in zip(matches, measured, strict=True)]
    assert [*zip(measured, rules, strict=True)] == sorted(zip(measured, rules, strict=True))
    assert (min(measured), max(measured)) == (0, 3)
    without = {each for match in matches for each in match.departures if "without e" in each}
    assert without == {"without exclude"}


def test_orders_of_equal_scores_are_those_of_systems():
    averaged, by_index = (
        identify([[1, 1]], [[1, 0]], value, "ndcg@1").matches[0] for value in ("0.50", "1.00")
    )
    own = "scikit-learn: ndcg_score([truth], [scores], k=1)"
    assert (own in averaged.systems, own in by_index.systems) == (True, False)
    assert (averaged.departures, by_index.departures) == ((), ())
    recall = identify([[1, 1]], [[1, 0]], "0.50", "recall@1").matches[0]  # no system averages it
    assert recall.departures == ("mean over the orders of equal scores",)


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
    assert len(identify(HIT_SCORES, HIT_TRUTH, value, "hit@1").matches) == matches


def test_typed_options_are_kept():
    scores, truth, _ = problem()
    found = identify(scores, truth, 0.3, "ndcg(gain=exp2, rel=2)@5")
    assert {match.metric.partition("@")[0] for match in found.matches} == {"ndcg(gain=exp2, rel=2)"}
    assert {each.partition(":")[0] for match in found.matches for each in match.systems} == {
        "recmetrics"
    }
    plain = identify(scores, truth, 0.3, "ndcg(gain=exp2)@5")
    assert {"gain=exp2" in match.metric for match in plain.matches} == {True}
    assert plain.n_definitions > found.n_definitions


def test_it_prints_and_is_plain():
    found = identify(HIT_SCORES, HIT_TRUTH, "0.5", "hit@1")
    lines = str(found).splitlines()
    assert lines[0].split() == ["metric", "mean", "departs", "by", "from", "definitions"]
    assert lines[2].split()[:3] == ["hit@1", "0.500000", "nothing"]
    assert lines[4:] == [
        "12 definitions of hit@1 have 4 distinct means, from 0.333333 to 1.000000",
        "means that round to 0.5: 1; to a random number in this range with as many digits: 0.45 "
        "on average",
        "this holds for these scores and this truth alone",
    ]
    assert "<td" in found._repr_html_()
    document = json.loads(json.dumps(found.to_dict()))
    assert [each["metric"] for each in document["matches"]] == ["hit@1"]
    assert document["by_chance"] == found.by_chance
    assert "the nearest means; a value as text matches" in str(
        identify(HIT_SCORES, HIT_TRUTH, 0.5, "hit@1")
    )


def test_without_a_match_the_nearest_is_told():
    found = identify(HIT_SCORES, HIT_TRUTH, "0.40", "hit@1")
    assert (found.matches, found.nearest.mean) == ((), pytest.approx(1 / 3))
    lines = str(found).splitlines()
    assert lines[2].split()[:2] == ["hit@1", "0.333333"]
    assert lines[5] == "no mean rounds to 0.40; the nearest is shown"


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


def test_one_mean_alone_is_no_accident():
    found = identify([[2, 1]], [[1, 0]], "1.0", "hit@1")
    assert (found.n_distinct, found.by_chance) == (1, 1)


@pytest.mark.parametrize(
    "value, metric, error, message",
    [
        ("much", "ndcg@5", ArgumentError, "value must be text such as '0.0932' or '9.32 %'"),
        (math.nan, "ndcg@5", ArgumentError, "or a finite number, got nan"),
        (math.inf, "dcg@5", ArgumentError, "or a finite number, got inf"),
        (10**400, "dcg@5", ArgumentError, "or a finite number, got 10{39}$"),
        ("1" + "0" * 400, "dcg@5", ArgumentError, "or a finite number, got '10{38}$"),
        (True, "ndcg@5", ArgumentError, "or a finite number, got True"),
        (
            "9.32",
            "ndcg@5",
            ArgumentError,
            "from 0 to 1, .* got '9.32'; for a percentage type '9.32 %'",
        ),
        (-1, "dcg@5", ArgumentError, "value must be from 0 to inf, as those of dcg@5, got -1$"),
        ("0.1", "coverage@5", ArgumentError, "metric must be one of hit, precision, .* got 'cov"),
        ("0.1", "ndcg(of=tail)@5", ArgumentError, "without of= and weigh="),
        ("0.1", "ndgc@5", UnknownMetricError, "did you mean 'ndcg'"),
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


def test_nobody_has_no_mean():
    told = message_of(
        InputError, lambda: identify(np.empty((0, 3)), np.empty((0, 3)), 0.5, "hit@1")
    )
    assert told.startswith("no user has a value of hit@1")
