"""Every kernel computes its definition, for every option, whatever the problem looks like."""

import ast
import gc
import math
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from asserts import assert_identical, assert_same, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import METRICS, in_python, parse
from problems import (
    assert_every_metric,
    by_reference,
    index_sets,
    of_kind,
    problems,
    side_information,
    specs,
)

import recmetrics
from recmetrics import ArgumentError, InputError, Metrics, UndefinedMetricError
from recmetrics._core.machine_code import dispatcher_of
from recmetrics._core.selection.hits import discounts

pytestmark = pytest.mark.usefixtures("both_ways")

EVERY_METRIC = pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
# To draw a problem takes longer than to compute it, so one test computes it in both ways.
WITHIN_ONE_TEST = pytest.mark.parametrize("both_ways", ["machine code"], indirect=True)


def computed_in_both_ways(*arguments, **options):
    got = Metrics.compute(*arguments, **options)
    with in_python():
        interpreted = Metrics.compute(*arguments, **options)
    assert_identical(interpreted, got)
    return got


@WITHIN_ONE_TEST
@EVERY_METRIC
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_kernel_computes_its_reference_within_the_bounds(metric, data):
    scores, truth, exclude, candidates = data.draw(problems())
    spec = data.draw(specs(metric))
    side = side_information(*scores.shape, seed=data.draw(st.integers(0, 9)))
    sets = index_sets(exclude, candidates)
    got = computed_in_both_ways(scores, truth, spec, **sets, **side)[str(spec)]
    assert_same(got, by_reference(spec, scores, truth, exclude, candidates, side))
    defined = got[~np.isnan(got)]
    low, high = spec.bounds
    assert np.all(defined >= low)
    assert np.all(defined <= high + 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_is_reached_by_the_same_number_in_single_precision(dtype):
    truth = np.array([[0.8, 0.9, 0.3]], dtype)  # in float32 0.89999998 and 0.30000001
    expected = {
        "hit(rel=0.9)": 1.0,
        "precision(rel=0.9)@3": 1 / 3,
        "ndcg(rel=0.9)": 1 / math.log2(3),
        "mrr(rel=0.9)": 1 / 2,
        "recall(rel=0.3, denom=relevant)@2": 2 / 3,
        "hit(rel=0.90001)": math.nan,
        "fallout(rel=0.9)@2": 1 / 2,
    }
    values = Metrics.compute([[3, 2, 1]], truth, list(expected))
    assert {text: value[0] for text, value in values.items()} == pytest.approx(
        expected, rel=1e-15, nan_ok=True
    )
    # No stop at the first rank, then one of 2^0.3 - 1 in 2^0.3.
    [err] = Metrics.compute([[1, 0]], np.array([[0, 0.3]], dtype), "err(max_rel=0.3)@2").values()
    assert err[0] == pytest.approx((2**0.3 - 1) / 2**0.3 / 2, rel=1e-6)


def test_a_largest_grade_that_float32_does_not_hold():
    [err] = Metrics.compute([[1, 0]], [[1.0, 0.0]], "err(max_rel=1e308)@2").values()
    assert err.tolist() == [0]  # 1 / 2^1e308
    told = message_of(
        InputError, lambda: Metrics.compute([[1, 0]], [[5e38, 0.0]], "err(max_rel=4e38)@2")
    )
    assert "err(max_rel=4e+38) needs relevances of at most 4e+38, got 5e+38" in told


def test_a_threshold_of_whole_numbers_is_exact():
    """2^24 + 1 is no number of float32."""
    values = Metrics.compute([[1, 0]], [[2.0**24, 2.0**24 + 1]], "mrr(rel=16777217)")
    assert values["mrr(rel=16777217)"][0] == 1 / 2


@pytest.mark.parametrize("order", ["ascending", "descending", "mixed"])
def test_the_largest_of_many_relevances_make_the_ideal(order):
    grades = np.arange(1.0, 401.0)  # 400 relevant items: more than are sorted for a few ranks
    if order == "descending":
        grades = grades[::-1]
    if order == "mixed":
        grades = np.random.default_rng(0).permutation(grades)
    scores = np.zeros(400)
    scores[grades == 7.0] = 1.0  # is first
    expected = {"ndcg@1": 7 / 400, "recall(rel=3, denom=relevant)@1": 1 / (400 - 2)}
    values = Metrics.compute([scores], [grades], list(expected))
    assert {text: value[0] for text, value in values.items()} == pytest.approx(expected)
    scores[grades == 8.0] = 0.5
    scores[grades == 9.0] = 0.25
    ideal = 400 + 399 / math.log2(3) + 398 / 2
    ndcg = Metrics.ndcg_at_k([scores], [grades], 3)[0]
    assert ndcg == pytest.approx((7 + 8 / math.log2(3) + 9 / 2) / ideal)


@WITHIN_ONE_TEST
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_many_specs_in_one_call_do_not_mix(data):
    scores, truth, exclude, candidates = data.draw(problems())
    metrics = st.sampled_from(list(METRICS.values()))
    asked = data.draw(st.lists(metrics.flatmap(specs), min_size=2, max_size=8))
    side = side_information(*scores.shape)
    got = computed_in_both_ways(scores, truth, asked, **index_sets(exclude, candidates), **side)
    for spec in asked:
        assert_same(got[str(spec)], by_reference(spec, scores, truth, exclude, candidates, side))


@WITHIN_ONE_TEST  # of no kernel
@pytest.mark.parametrize("discount", ["log2", "log2_clip", "ln", "reciprocal"])
def test_the_discounts_of_whole_lists_are_not_kept(discount):
    def weights(depth):
        return discounts(discount, depth)

    gc.collect()
    tracemalloc.start()
    for depth in range(10_000, 10_064):
        assert len(weights(depth)) == depth
        assert len(weights(depth - 6_000)) == depth - 6_000
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 64 * 32_768 + 100_000  # bytes: those of 4,000 to 4,063 ranks; else 7 MB
    np.testing.assert_array_equal(weights(10_000)[:4_000], weights(4_000))


def test_no_metric_passes_as_another():
    """Any two metrics differ for one of four users."""
    rng = np.random.default_rng(156)
    scores, truth = (
        rng.integers(0, 8, (4, 9)),
        rng.integers(0, 4, (4, 9)) * (rng.random((4, 9)) < 0.5),
    )
    side = {
        "popularity": rng.random(9),
        "features": rng.random((9, 3)),
        "genres": rng.integers(0, 2, (9, 3)) + np.eye(9, 3),
        "profile": rng.random((4, 3)),
    }
    side["strata"] = {"some": [0, 1, 4]}  # without it, every share is 1
    texts = [f"{each.name}@4" if each.default_k else each.name for each in METRICS.values()]
    texts = [text.replace("share", "share(of=some)") for text in texts]
    got = Metrics.compute(scores, truth, texts, **side)
    values = np.stack([np.broadcast_to(each, 4) for each in got.values()])
    apart = np.abs(values[:, np.newaxis] - values).max(axis=2)
    assert (apart + np.eye(len(values))).min() > 1e-2


# Hand-worked values, as arithmetic. The list is items 0 1 2 3 4; items 1, 3 and 5 are relevant,
# with relevances 2, 1 and 3; item 5 is excluded, so it is never listed but counts in R = 3.
HAND = {
    "hit@1": 0,
    "hit@2": 1,
    "hit(rel=3)@5": 0,
    "precision@2": 1 / 2,
    "precision@6": 2 / 6,
    "precision(denom=list)@6": 2 / 5,
    "precision": 2 / 5,
    "recall@2": 1 / 2,
    "recall@5": 2 / 3,
    "recall(denom=relevant)@2": 1 / 3,
    "recall(rel=2)@2": 1 / 2,
    "recall(denom=list)@2": 1 / 2,
    "recall(denom=list)@6": 2 / 3,
    "f1@2": 2 * (1 / 2) * (1 / 2) / (1 / 2 + 1 / 2),
    "f1(denom=relevant)@2": 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3),
    "f1(denom=list)@6": 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3),
    "f1(denom=list+relevant)@6": 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3),
    "f1(denom=capped)@2": 1 / 2,
    "f1(beta=2)@2": (1 + 4) * (1 / 2) * (1 / 2) / (4 * (1 / 2) + 1 / 2),
    "f_beta(beta=0.5, denom=relevant)@2": 1.25 * (1 / 2) * (1 / 3) / (0.25 * (1 / 2) + 1 / 3),
    "map@4": (1 / 2 + 2 / 4) / 3,
    "map@2": (1 / 2) / 2,
    "map(denom=relevant)@2": (1 / 2) / 3,
    "map(denom=hits)@4": (1 / 2 + 2 / 4) / 2,
    "map(denom=hits)@1": 0,
    "map(denom=list)@4": (1 / 2 + 2 / 4) / 3,
    "map(denom=k)@4": (1 / 2 + 2 / 4) / 4,
    "map(denom=k)": (1 / 2 + 2 / 4) / 5,
    "map(over=ranks)@4": (0 + 1 / 2 + 1 / 3 + 2 / 4) / 4,
    "map(over=ranks)@6": (0 + 1 / 2 + 1 / 3 + 2 / 4 + 2 / 5 + 2 / 6) / 6,
    "map(over=ranks)": (0 + 1 / 2 + 1 / 3 + 2 / 4 + 2 / 5) / 5,
    "map(over=ranks, rel=2)@3": (0 + 1 / 2 + 1 / 3) / 3,
    "map(tied=block)@4": (1 / 2 + 2 / 4) / 3,  # as without equal scores
    "mrr@1": 0,
    "mrr@5": 1 / 2,
    "mrr(over=relevant)@3": (1 / 2) / 3,
    "mrr(over=relevant)": (1 / 2 + 1 / 4) / 3,
    "mrr(over=relevant, rel=2)@4": (1 / 2) / 2,
    "mrr(rel=3)": 0,
    "dcg@4": 2 / math.log2(3) + 1 / math.log2(5),
    "dcg(gain=exp2)@4": 3 / math.log2(3) + 1 / math.log2(5),
    "dcg(discount=log2_clip)@4": 2 / 1 + 1 / 2,
    "dcg(discount=ln)@4": 2 / math.log(3) + 1 / math.log(5),
    "dcg(discount=reciprocal)@4": 2 / 2 + 1 / 4,
    "dcg(gain=exp2_shifted)@4": 7 / math.log2(3) + 3 / math.log2(5),
    "dcg(gain=binary)@4": 1 / math.log2(3) + 1 / math.log2(5),
    "dcg(rel=2)@4": 1 / math.log2(3),
    "dcg(rel=9)@4": 0,
    "cg@4": 2 + 1,
    "cg(gain=exp2)@4": 3 + 1,
    "cg(gain=exp2_shifted)@4": 7 + 3,
    "cg(gain=binary)@4": 1 + 1,
    "cg(rel=2, gain=exp2_shifted)@4": 3,
    "ndcg@2": (2 / math.log2(3)) / (3 + 2 / math.log2(3)),
    "ndcg@4": (2 / math.log2(3) + 1 / math.log2(5)) / (3 + 2 / math.log2(3) + 1 / 2),
    "ndcg(ideal_depth=all)@2": (2 / math.log2(3)) / (3 + 2 / math.log2(3) + 1 / 2),
    "ndcg(ideal=retrieved)@4": (2 / math.log2(3) + 1 / math.log2(5)) / (2 + 1 / math.log2(3)),
    "ndcg(ideal=retrieved)@1": 0,
    "ndcg(ideal_depth=list)@6": (2 / math.log2(3) + 1 / math.log2(5))
    / (3 + 2 / math.log2(3) + 1 / 2),
    "ndcg(ideal_depth=full)@2": (2 / math.log2(3)) / (3 + 3 / math.log2(3)),
    "ndcg(discount=log2_clip)@2": (2 / 1) / (3 / 1 + 2 / 1),
    "ndcg(discount=ln)@2": (2 / math.log(3)) / (3 / math.log(2) + 2 / math.log(3)),
    "ndcg(gain=exp2)@2": (3 / math.log2(3)) / (7 + 3 / math.log2(3)),
    "ndcg(gain=binary)@2": (1 / math.log2(3)) / (1 + 1 / math.log2(3)),
    "ndcg(gain=exp2_shifted)@2": (7 / math.log2(3)) / (15 + 7 / math.log2(3)),
    "ndcg(discount=reciprocal)@4": (2 / 2 + 1 / 4) / (3 + 2 / 2 + 1 / 3),
    # Items 1 and 5 are relevant, and only these are in the ideal.
    "ndcg(rel=2)@4": (1 / math.log2(3)) / (1 + 1 / math.log2(3)),
    "ndcg(rel=2, ideal_depth=all)@1": 0,
    "ndcg(rel=2, ideal=retrieved)@4": (1 / math.log2(3)) / 1,
    "ndcg(rel=3)@4": 0,
    "ndcg(rel=4)@4": math.nan,
    "r_precision": 1 / 3,
    "r_precision@1": 0,
    "rbp@4": 0.2 * (0.8 + 0.8**3),
    "rbp(p=0.5)@2": 0.5 * 0.5,
    "rbp(normalize=yes)@4": (0.8 + 0.8**3) / (1 + 0.8 + 0.8**2),
    "rbp(normalize=yes, p=0.5)@2": 0.5 / (1 + 0.5),
    "err(max_rel=4)@4": 3 / 16 / 2 + (1 - 3 / 16) * (1 / 16) / 4,
    "err@2": 3 / 8 / 2,
    # (item 1: beaten by 0, beats 2 and 4) and (item 3: beaten by 0 and 2, beats 4): 3 of 6 pairs
    "auc": 3 / 6,
    # In the top 4 both items are beaten by 0, item 3 by 2 also: 1 of 4 pairs.
    "auc@4": 1 / 4,
    "auc@1": 0,
    "auc(rel=2)@4": 2 / 3,
    "fallout@1": 1 / 3,
    "fallout@4": 2 / 3,
    "fallout": 3 / 3,
    "fallout(rel=2)@2": 1 / 4,
    # Their weights are 2 and 4, and that of item 5 is 8.
    "precision(weigh=ips)@2": 2 / 2,
    "precision(weigh=snips)@4": (2 + 4) / ((2 + 4 + 8) / 3) / 4,
    "precision(weigh=ps)@4": (2 + 4) / (8 + 4 + 2),
    "recall(weigh=ips)@2": 2 / 2,
    "recall(weigh=ips, denom=relevant)@2": 2 / 3,
    "recall(weigh=ips, rel=2)@4": 2 / 2,
    "recall(denom=relevant, weigh=snips)@4": (2 + 4) / (2 + 4 + 8),
    "recall(weigh=snips, rel=2)@4": 2 / ((2 + 8) / 2) / 2,
    "recall(weigh=ps)@2": 2 / (8 + 4),
    "dcg(weigh=ips)@4": 2 * 2 / math.log2(3) + 4 * 1 / math.log2(5),
    "dcg(weigh=snips, gain=exp2)@2": 2 * 3 / ((2 + 4 + 8) / 3) / math.log2(3),
    "ndcg(weigh=ips)@2": (2 * 2 / math.log2(3)) / (3 + 2 / math.log2(3)),
    "ndcg(weigh=snips, rel=2)@2": (2 / ((2 + 8) / 2) / math.log2(3)) / (1 + 1 / math.log2(3)),
    "ndcg(weigh=ps)@3": (2 * 2 / math.log2(3))
    / (8 * 3 + 2 * 2 / math.log2(3) + 4 * 1 / math.log2(4)),
    # Items 1 and 3 are at ranks 2 and 4 of five; item 5 is excluded.
    "mean_rank": (2 + 4 + 6) / 3,
    "mean_rank@3": (2 + 4 + 4) / 3,
    "mean_rank(rel=2)@1": (2 + 2) / 2,
    "percentile_rank": (1 / 4 + 3 / 4 + 1) / 3,
    "percentile_rank@3": (1 / 3 + 1 + 1) / 3,
    "percentile_rank(rel=2)@4": (1 / 4 + 1) / 2,
}


@pytest.mark.parametrize(("text", "expected"), HAND.items())
def test_hand_worked_value(text, expected):
    scores, truth = [[5, 4, 3, 2, 1, 6]], [[0, 2, 0, 1, 0, 3]]
    propensity = [1, 1 / 2, 1, 1 / 4, 1, 1 / 8]
    got = Metrics.compute(scores, truth, text, exclude=[[5]], propensity=propensity)[text]
    np.testing.assert_allclose(got, [expected], rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "scores", "truth", "expected"),
    [
        ("map(tied=block)", [5, 5, 1], [1, 0, 0], 1 / 2),
        ("map(tied=block)", [1, 1, 1], [1, 0, 1], (2 / 3 + 2 / 3) / 2),
        ("map(tied=block)@2", [1, 1, 1], [1, 0, 1], 0),  # its last rank is 3
        ("map(denom=relevant, tied=block)@4", [5, 4, 4, 2, 1], [1, 0, 1, 0, 1], (1 + 2 / 3) / 3),
        ("map(denom=hits, tied=block)", [3, 3, 2], [0, 1, 0], 1 / 2),
        ("mrr(over=relevant)", [3, 2, 1], [1, 1, 0], (1 + 1 / 2) / 2),
    ],
)
def test_hand_worked_value_of_equal_scores(text, scores, truth, expected):
    np.testing.assert_allclose(Metrics.compute([scores], [truth], text)[text], [expected])


def test_reciprocals_over_relevant_items_are_expected_over_the_orders_of_equal_scores():
    text = "mrr(over=relevant)@2"
    got = Metrics.compute([[2, 1, 1, 1]], [[1, 0, 1, 1]], text, ties="expected")[text]
    # Item 0 is at rank 1; each of the other two at rank 2 in one of three orders.
    np.testing.assert_allclose(got, [(1 + 2 * (1 / 3) * (1 / 2)) / 3])


def test_a_block_of_equal_scores_has_no_orders():
    message = message_of(
        ArgumentError, Metrics.compute, [[1, 1]], [[1, 0]], "map(tied=block)", ties="expected"
    )
    assert "with tied=block, equal scores have one rank and no orders" in message
    assert message.endswith(
        "type tied=order, or leave out ties=, or compute it in a separate call with ties='index'"
    )
    with pytest.raises(ArgumentError, match="no chance level"):
        Metrics.chance([[1, 0]], "map(tied=block)")


def test_hand_worked_values_cover_every_metric():
    assert_every_metric(HAND, "hits")


@pytest.mark.parametrize("metric", of_kind("hits"), ids=lambda metric: metric.name)
def test_hand_worked_values_cover_every_choice_of_an_option(metric):
    tried = [parse(text).values for text in HAND if parse(text).name == metric.name]
    for option in metric.options.values():
        assert set(option.choices) <= {values[option.name] for values in tried}


def test_a_list_shorter_than_k_and_than_the_relevant_items():
    asked = {
        "recall(denom=list)@5": 1 / 2,
        "recall@5": 1 / 3,
        "map(denom=list)@5": (1 / 2) / 2,
        "map(denom=k)@5": (1 / 2) / 5,
        "map(over=ranks)@5": (0 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5,
        "rbp(normalize=yes)@5": 0.8 / (1 + 0.8),
        "auc@5": 0,
    }
    got = Metrics.compute_ranked([[1, 0, -1, -1, -1]], [[1, 0, 1, 1, 0]], list(asked))
    for text, expected in asked.items():
        np.testing.assert_allclose(got[text], [expected], rtol=1e-15)
    empty = Metrics.compute_ranked([[-1]], [[1, 0, 1, 1, 0]], list(asked))
    assert {text: value.tolist() for text, value in empty.items()} == {
        text: [0.0] for text in asked
    }


def test_auc_at_k_reads_the_order_of_the_list_and_nothing_below():
    scores, truth = [[2, 2, 2, 1]], [[0, 1, 1, 0]]
    got = Metrics.compute(scores, truth, ["auc@2", "auc@3", "auc@4", "auc"])
    np.testing.assert_allclose(
        np.ravel(list(got.values())), [0, 0, 2 / 4, (1 + 2 * 0.5) / 2 / 2 + 1 / 4]
    )
    only_hits, none, nobody = Metrics.auc([[3, 2, 1]] * 3, [[1, 1, 0], [0, 0, 1], [0, 0, 0]], 2)
    assert (only_hits, none) == (1, 0)
    assert math.isnan(nobody)


def test_fallout_counts_the_items_that_may_be_recommended():
    scores, truth = [[5, 4, 3, 2, -math.inf], [1, 1, 1, 1, 1]], [[1, 0, 0, 1, 0], [0, 0, 0, 0, 0]]
    got = Metrics.compute(scores, truth, ["fallout@2", "hit@1"], exclude=[[2], []])
    assert got["fallout@2"].tolist() == [1 / 1, 2 / 5]
    assert np.isnan(Metrics.fallout_at_k([[2, 1]], [[1, 1]], 1))
    got = Metrics.compute(scores, truth, "fallout@2", candidates=[0, 1, 2, 3])
    assert got["fallout@2"].tolist() == [1 / 2, 2 / 4]
    message = r"fallout@1 is undefined: 1 of 1 users has no value \(every item that may be reco"
    with pytest.raises(UndefinedMetricError, match=message):
        Metrics.compute([[2, 1]], [[1, 1]], "fallout@1", undefined="raise")


def test_a_full_ideal_is_as_long_as_memory_holds():
    def compute(k, truth):
        text = f"ndcg(ideal_depth=full)@{k}"
        return Metrics.compute_ranked([[0, 1], [2, 1]], truth, text)[text]

    message = (
        "ideal_depth='full' adds up the discounts of all k ranks, got k = 99999999; expected at "
        "most 16777216; leave out @k for the whole list"
    )
    for truth in ([[0], [1, 2]], [[0], [2**40]], np.eye(2, 3)):
        compute(100_000, truth)
        assert message_of(ArgumentError, compute, 99_999_999, truth) == message


@pytest.mark.parametrize("as_divisor", [True, False])
def test_a_discount_may_be_a_callable(as_divisor):
    def divisor(rank):
        return math.sqrt(rank)

    def weight(rank):
        return 1 / math.sqrt(rank)

    scores, truth = [[4, 3, 2, 1]], [[0, 3, 0, 2]]
    discount = divisor if as_divisor else weight
    dcg = 3 / math.sqrt(2) + 2 / math.sqrt(4)
    assert_same(Metrics.dcg_at_k(scores, truth, discount=discount), [dcg])
    assert_same(Metrics.ndcg_at_k(scores, truth, discount=discount), [dcg / (3 + 2 / math.sqrt(2))])


@pytest.mark.parametrize(
    "discount, shown",
    {
        (lambda rank: (-1.0) ** rank): "-1, 1, -1",
        (lambda rank: abs(rank - 2.0)): "1, 0, 1",
        (lambda rank: rank * math.inf): "inf, inf, inf",
        (lambda rank: rank * math.nan): "nan, nan, nan",
        (lambda rank: [1, 3, 2][rank - 1]): "1, 3, 2",
    }.items(),
)
def test_a_discount_is_a_weight_or_a_divisor(discount, shown):
    with pytest.raises(ArgumentError, match="that never grows with the rank, or a div") as raised:
        Metrics.dcg_at_k([[3, 2, 1]], [[1, 1, 1]], 3, discount=discount)
    assert f", got {shown} for the ranks 1, 2, 3, ...; type discount=" in str(raised.value)


@pytest.mark.parametrize(
    "discount, weight_of_first",
    [
        (lambda rank: rank + 1, 1 / 2),  # a divisor, also where only rank 1 is read
        (lambda rank: 2 if rank < 3 else rank, 1 / 2),  # a divisor that grows behind the cutoff
        (lambda rank: max(8.0, rank), 1 / 8),
        (lambda rank: 2 if rank < 3 else 1, 2),  # a weight that falls behind it
        (lambda _: 3, 3),  # a constant weight
        (lambda rank: [4, 4][rank - 1], 4),  # a table without later ranks
    ],
)
@pytest.mark.parametrize("k", [1, 2])
def test_a_discount_has_the_same_direction_at_any_cutoff(discount, weight_of_first, k):
    assert_same(Metrics.dcg_at_k([[2, 1]], [[5, 0]], k, discount=discount), [5 * weight_of_first])


def test_a_divisor_that_is_0_at_rank_1_is_refused_at_any_cutoff():
    with pytest.raises(ArgumentError, match="a divisor > 0 that never falls, got 0 for"):
        Metrics.dcg_at_k([[2, 1]], [[1, 0]], 1, discount=math.log2)


def test_five_values_of_a_bad_discount_are_shown():
    with pytest.raises(ArgumentError, match=r", got 1, -2, 3, -4, 5, \.\.\. for the ranks"):
        Metrics.dcg_at_k([[0] * 6], [[1] * 6], discount=lambda rank: -rank * (-1) ** rank)


def test_binary_ndcg_of_a_perfect_list_is_exactly_one():
    rng = np.random.default_rng(0)
    scores = rng.random((50, 40))
    truth = (scores > np.sort(scores, axis=1)[:, [-8]]).astype(float)
    assert np.all(Metrics.compute(scores, truth, "ndcg@20")["ndcg@20"] == 1.0)


def test_the_smallest_grades_keep_their_digits():
    truth = [[1e-17, 2e-17, 0]]
    got = Metrics.compute([[3, 2, 1]], truth, ["ndcg(gain=exp2)@2", "cg(gain=exp2)@1"])
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert_same(got["ndcg(gain=exp2)@2"], [(1 / math.log2(2) + 2 / math.log2(3)) / ideal])
    np.testing.assert_allclose(got["cg(gain=exp2)@1"], [1e-17 * math.log(2)], rtol=1e-15)


def test_a_discount_is_asked_only_for_ranks_that_count():
    asked = []

    def discount(rank):
        asked.append(rank)
        return 1 / rank

    Metrics.dcg_at_k([[5, 4, 3, 2, 1]], [[1, 1, 1, 1, 1]], k=2, discount=discount)
    assert asked == [1, 2]


DECORATORS = {"kernel", "helper"}


@pytest.fixture(scope="module")
def jitted():
    """The decorator and the function of each kernel, and who names what: (where, name, caller)."""
    found, calls, sources = {}, set(), {}

    def visit(module, node, caller):
        if isinstance(node, ast.FunctionDef):
            marks = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
            kind = next(iter(marks & DECORATORS), None)
            if kind is not None:
                caller = kind
                found[module, node.name] = kind, node
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = node.id if isinstance(node, ast.Name) else node.attr
            where = f"{ast.unparse(node.value)}.py" if name != getattr(node, "id", "") else module
            calls.add((sources.get((module, name), where), name, caller))
        if isinstance(node, ast.ImportFrom):
            source = f"{node.module.rpartition('.')[2]}.py"
            sources.update({(module, one.name): source for one in node.names})
            calls.update((source, one.name, "import") for one in node.names)
        for child in ast.iter_child_nodes(node):
            visit(module, child, caller)

    for path in sorted(Path(recmetrics.__file__).parent.rglob("*.py")):
        visit(path.name, ast.parse(path.read_text()), "Python")
    return found, calls


def test_python_calls_every_kernel_and_kernels_every_helper(jitted):
    found, calls = jitted
    helpers = {place for place, (kind, _) in found.items() if kind == "helper"}
    assert len(helpers) > 40
    by_python = {(where, name) for where, name, caller in calls if caller in ("Python", "import")}
    by_kernels = {(where, name) for where, name, caller in calls if caller in DECORATORS}
    assert found.keys() - helpers <= by_python
    assert helpers <= by_kernels


@pytest.mark.needs_jit
def test_numba_takes_the_option_that_leaves_references_uncounted():
    assert not dispatcher_of(METRICS["ndcg"].kernel).targetoptions["_nrt"]


def test_a_kernel_is_pickled_by_name():
    ndcg = METRICS["ndcg"].kernel
    assert pickle.loads(pickle.dumps(ndcg)) is ndcg


def test_kernels_and_helpers_hand_out_no_array(jitted):
    """They count no references: a caller would free what it does not own."""
    found, _ = jitted
    assert len(found) > 60
    returned = {place: ast.unparse(node.returns) for place, (_, node) in found.items()}
    simple = {"None", "int", "float", "bool", "Any"}
    simple |= {"tuple[int, int]", "tuple[int, Any]", "tuple[float, float]"}
    assert {place: name for place, name in returned.items() if name not in simple} == {}
