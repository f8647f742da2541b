"""Tie policies: expectation and bounds over all orders of equal scores, by enumerating them."""

import math

import numpy as np
import pytest
from asserts import assert_identical, message_of
from hostile_rows import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import (
    JIT,
    assert_every_metric,
    every_accuracy,
    index_sets,
    is_refused,
    of_kind,
    problems,
    side_information,
    specs,
)
from tie_orders import OVER_ORDERS, values_over_orders

import recmetrics
from recmetrics import ArgumentError, Evaluator, Metrics, StreamEvaluator

POLICIES = ["index", "expected", "worst", "best"]
EVERY_CHOICE = pytest.mark.parametrize("ties", [*OVER_ORDERS, "range"])
EVERY_ACCURACY = pytest.mark.parametrize("metric", of_kind("hits"), ids=lambda m: m.name)


@st.composite
def calls(draw, metric):
    """The arguments of ``compute`` for one metric, and each user's values over all orders."""
    scores, truth, exclude, candidates = draw(problems(max_users=3, max_items=7))
    if draw(st.booleans()):
        scores = np.sign(scores)  # larger groups
    spec = draw(specs(metric, max_k=9).filter(lambda spec: not is_refused(spec)))
    sets = index_sets(exclude, candidates)
    sets["propensity"] = side_information(1, truth.shape[1])["propensity"]
    values = [
        values_over_orders(
            spec,
            row,
            truth[u],
            () if exclude is None else exclude[u],
            None if candidates is None else candidates[u],
        )
        for u, row in enumerate(scores)
    ]
    return (scores, truth, spec), sets, values


@EVERY_ACCURACY
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_range_is_the_mean_the_least_and_the_greatest_value_over_all_orders(metric, data):
    arguments, sets, values = data.draw(calls(metric))
    text = str(arguments[-1])
    got = Metrics.compute(*arguments, **sets, ties="range")
    assert list(got) == [text, f"{text}[least]", f"{text}[greatest]"]
    for value, take in zip(got.values(), (np.mean, np.min, np.max), strict=True):
        expected = [take(each) for each in values]
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
    ends = ("worst", "best") if metric.higher_is_better else ("best", "worst")
    for value, ties in zip(got.values(), ("expected", *ends), strict=True):
        alone = Metrics.compute(*arguments, **sets, ties=ties)[text]
        np.testing.assert_array_equal(value, alone)


# --- Hand-worked values --------------------------------------------------------------------------
# Item 0 leads; items 1, 2 and 3 are tied at the ranks 2 to 4; item 4 is last. Items 1 and 3 are
# relevant, with relevances 1 and 3: in one third of the orders each, rank 2, 3 or 4 is not.

HAND = {
    "hit@2": 2 / 3,
    "hit(rel=2)@3": 2 / 3,
    "precision@3": (4 / 3) / 3,
    "recall(denom=relevant)@2": (2 / 3) / 2,
    "f1@3": 2 * (4 / 3) / (3 + 2),
    "mrr@4": (2 / 3) / 2 + (1 / 3) / 3,
    # hits at 2, 3: 1/2 + 2/3; at 2, 4: 1/2 + 2/4; at 3, 4: 1/3 + 2/4
    "map@4": ((1 / 2 + 2 / 3) + (1 / 2 + 2 / 4) + (1 / 3 + 2 / 4)) / 3 / 2,
    "map@3": ((1 / 2 + 2 / 3) + 1 / 2 + 1 / 3) / 3 / 2,
    "cg@2": 4 / 3,
    "dcg@4": 4 / 3 * (1 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)),
    "ndcg@2": (4 / 3 / math.log2(3)) / (3 + 1 / math.log2(3)),
    "r_precision": (2 / 3) / 2,
    "rbp@3": 0.2 * (2 / 3) * (0.8 + 0.8**2),
    # satisfied by 1/16 and 7/16; either, none or both of them before each other
    "err(max_rel=4)@2": (1 / 16 + 7 / 16) / 3 / 2,
    "auc": (1 - 4 / 6),
    "fallout@3": (1 + 2 * 1 / 3) / 3,
    "mean_rank@2": (2 + 3 + 3) / 3,
    "mean_rank(rel=3)": (2 + 3 + 4) / 3,
    "percentile_rank": (1 / 4 + 2 / 4 + 3 / 4) / 3,
    "percentile_rank@2": (1 / 2 + 1 + 1) / 3,
    "map(over=ranks)@3": (0 + (2 / 3) / 2 + (4 / 3) / 3) / 3,
    "map(denom=k)@3": ((1 / 2 + 2 / 3) + 1 / 2 + 1 / 3) / 3 / 3,
    "recall(denom=list)@9": 2 / 2,
    "rbp(normalize=yes)@3": (2 / 3) * (0.8 + 0.8**2) / (1 + 0.8),
    "f1(beta=2)@3": 5 * (4 / 3) / (4 * 2 + 3),
    "ndcg(rel=2)@2": (1 / 3) / math.log2(3),
    "dcg(gain=binary, discount=reciprocal)@4": 2 / 3 * (1 / 2 + 1 / 3 + 1 / 4),
    "cg(gain=exp2_shifted)@2": (3 + 15) / 3,
}


@pytest.mark.parametrize(("text", "expected"), HAND.items())
def test_hand_worked_expectation(text, expected):
    scores, truth = [[5, 2, 2, 2, 1]], [[0, 1, 0, 3, 0]]
    if text == "auc":  # pairs in order: both above item 4; items 0 and 2 are above or tied
        expected = (2 + 2 * 0.5) / 6
    got = Metrics.compute(scores, truth, text, ties="expected")[text]
    np.testing.assert_allclose(got, [expected], rtol=1e-14)


def test_hand_worked_expectations_cover_every_metric():
    assert_every_metric(HAND, "hits")


# --- Rows that break the bounds of selection -----------------------------------------------------


def expected_dcg(row, truth, excluded, k):
    """The mean gain of each group of equal scores at each of its ranks (McSherry, Najork)."""
    items = np.flatnonzero((row > -np.inf) & ~excluded)
    total, rank = 0.0, 0
    for score in np.unique(row[items])[::-1]:
        group = items[row[items] == score]
        ranks = np.arange(rank + 1, rank + 1 + len(group))
        total += truth[group].mean() * (1 / np.log2(ranks[ranks <= k] + 1)).sum()
        rank += len(group)
        if rank >= k:
            break
    return total


@pytest.mark.parametrize("n_items", [50, 700, 5_000 if JIT else 1_500])
@pytest.mark.parametrize("kind", HOSTILE)
def test_expected_gain_on_hostile_rows(kind, n_items):
    rng = np.random.default_rng(n_items)
    scores = np.stack([HOSTILE[kind](rng, n_items) for _ in range(4)])
    truth = rng.integers(1, 5, scores.shape) * (rng.random(scores.shape) < 0.02)
    truth[:2] += rng.random((2, n_items)) < 0.5  # and many relevant items
    exclude = rng.random(scores.shape) < 0.05
    everything = np.arange(n_items)
    for k in (1, 20, 100):
        got = Metrics.compute(scores, truth, f"dcg@{k}", exclude=exclude, ties="expected")
        of_candidates = Metrics.compute(
            scores, truth, f"dcg@{k}", exclude=exclude, candidates=everything, ties="expected"
        )
        expected = [expected_dcg(*user, k) for user in zip(scores, truth, exclude, strict=True)]
        np.testing.assert_allclose(got[f"dcg@{k}"], expected, rtol=1e-12)
        np.testing.assert_array_equal(got[f"dcg@{k}"], of_candidates[f"dcg@{k}"])


# --- How the policies stand to each other --------------------------------------------------------


def test_without_ties_every_policy_is_the_same_to_the_bit():
    rng = np.random.default_rng(3)
    scores = rng.permuted(np.tile(np.arange(2_000.0 if JIT else 900.0), (30, 1)), axis=1)
    truth = rng.integers(1, 5, scores.shape) * (rng.random(scores.shape) < 0.03)
    exclude = rng.random(scores.shape) < 0.02
    plain = Metrics.compute(scores, truth, every_accuracy(), exclude=exclude)
    for ties in OVER_ORDERS:
        values = Metrics.compute(scores, truth, every_accuracy(), exclude=exclude, ties=ties)
        assert_identical(values, plain)


def test_large_groups_neither_overflow_nor_lose_digits():
    scores, truth = np.zeros((1, 60_000), np.float32), np.zeros((1, 60_000))
    truth[0, :20_000] = 1
    got = Metrics.compute(scores, truth, ["hit@2", "mrr@2", "precision", "auc"], ties="expected")
    share = 1 / 3
    miss = (40_000 / 60_000) * (39_999 / 59_999)
    first_at_2 = (40_000 / 60_000) * (20_000 / 59_999)
    np.testing.assert_allclose(got["hit@2"], 1 - miss, rtol=1e-13)
    np.testing.assert_allclose(got["mrr@2"], share + first_at_2 / 2, rtol=1e-13)
    np.testing.assert_allclose(got["precision"], share, rtol=1e-13)
    np.testing.assert_allclose(got["auc"], 0.5, rtol=1e-13)


# --- A range -------------------------------------------------------------------------------------

TIED = np.array([[5, 2, 2, 2, 1], [1, 1, 1, 1, 1], [1, 2, 3, 4, 5]])
RELEVANT = np.array([[0, 1, 0, 3, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
ASKED = ["mrr", "NDCG @ 2", "fallout@3"]
KEYS = [asked + ending for asked in ASKED for ending in ("", "[least]", "[greatest]")]


def test_a_range_has_three_keys_for_each_metric_in_the_order_asked():
    got = Metrics.compute(TIED, RELEVANT, ASKED, ties="range")
    assert list(got) == KEYS
    np.testing.assert_allclose(got["mrr[least]"], [1 / 3, 1 / 5, np.nan])
    np.testing.assert_allclose(got["mrr[greatest]"], [1 / 2, 1, np.nan])
    # Of the ranks 1 to 3 one or two have a relevant item, of three others.
    np.testing.assert_allclose(got["fallout@3[least]"][0], 1 / 3)
    np.testing.assert_allclose(got["fallout@3[greatest]"][0], 2 / 3)


def test_a_range_selects_once():
    rng = np.random.default_rng(8)
    scores, truth = rng.integers(0, 9, (50, 200)), rng.random((50, 200)) < 0.1
    calls = {}
    for ties in ("expected", "range"):
        told = calls[ties] = []

        def progress(done, total, told=told):
            told.append((done, total))

        Metrics.compute(scores, truth, ["ndcg@5", "auc"], ties=ties, n_threads=1, progress=progress)
    assert calls["range"] == calls["expected"]
    assert calls["range"][-1] == (50, 50)


def test_a_range_overrides_the_ties_of_a_convention_alone():
    got = Metrics.compute(TIED, RELEVANT, "recall@2", convention="ranx", ties="range")
    best = Metrics.compute(TIED, RELEVANT, "recall(denom=relevant)@2", ties="best")
    np.testing.assert_array_equal(got["recall@2[greatest]"], best["recall(denom=relevant)@2"])
    got = Metrics.compute(TIED, RELEVANT, "ndcg@2", convention="sklearn", ties="range")
    assert list(got) == ["ndcg@2", "ndcg@2[least]", "ndcg@2[greatest]"]
    assert [values[2] for values in got.values()] == [0, 0, 0]  # without a relevant item


def test_a_range_of_evaluators_and_streams():
    whole = Metrics.compute(TIED, RELEVANT, ASKED, ties="range")
    means = {key: np.nanmean(values) for key, values in whole.items()}
    one, other = (Evaluator(RELEVANT, ASKED, ties="range") for _ in range(2))
    one.update(TIED[:1], [0])
    other.update(TIED[1:], [1, 2])
    one.merge(Evaluator.from_state(other.state()))
    stream, sums = (StreamEvaluator(ASKED, ties="range", keep=keep) for keep in ("values", "means"))
    for each in (stream, sums):
        each.update(TIED, RELEVANT)
    for each in (one, stream):
        assert list(each.compute()) == KEYS
        assert_identical(each.compute(), whole)
    for each in (one, stream, sums):
        assert list(each.counts()) == KEYS
        assert each.counts()["mrr[least]"].defined == 2
        assert each.mean() == pytest.approx(means)
    assert list(one.mean(at="_at_"))[3:6] == ["NDCG_at_2", "NDCG_at_2_least", "NDCG_at_2_greatest"]


def test_what_knows_a_metric_knows_the_ends_of_its_range():
    values = Metrics.compute(TIED, RELEVANT, ["fallout@3", "mrr"], ties="range")
    compared = recmetrics.compare({"one": values, "other": values})
    assert compared.lower_is_better == {"fallout@3", "fallout@3[least]", "fallout@3[greatest]"}
    reasons = {each.metric: each.why for each in recmetrics.summary(values)}
    assert reasons["mrr[least]"] == reasons["mrr[greatest]"] == reasons["mrr"] != ""


def test_a_range_has_no_one_array():
    assert message_of(
        ArgumentError, Metrics.ndcg_at_k, TIED, RELEVANT, 2, gain="exp2", ties="range"
    ) == (
        "ndcg_at_k returns one array, but ties='range' gives three; type Metrics.compute(..., "
        "['ndcg(gain=exp2)@2'], ties='range')"
    )
    for ranks, scores in ((Metrics.ranks, [TIED]), (Metrics.ranks_factors, [np.eye(3), TIED.T])):
        assert message_of(ArgumentError, ranks, *scores, RELEVANT, ties="range") == (
            "ties must be 'index', 'expected', 'worst' or 'best', got 'range'; type ties='best' "
            "for the first rank of each item, ties='worst' for the last one"
        )
    with pytest.raises(TypeError, match="unexpected keyword argument 'ties'"):
        Metrics.compute_ranked([[0]], [[1]], "mrr", ties="range")


# --- What has no policy --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ties", "expected"), [("worst", 0), ("best", 1 / 2), ("expected", 1 / 4), ("range", 1 / 4)]
)
def test_the_pairs_of_the_whole_list_have_every_policy(ties, expected):
    got = Metrics.compute([[1, 1, 0]], [[1, 0, 1]], "auc(rel=1)", ties=ties)["auc(rel=1)"]
    assert got[0] == expected


def test_an_unknown_policy_is_an_error():
    assert message_of(ArgumentError, Metrics.ndcg_at_k, [[1, 1]], [[1, 0]], ties="random") == (
        "ties must be 'index', 'expected', 'worst', 'best' or 'range', got 'random'"
    )
