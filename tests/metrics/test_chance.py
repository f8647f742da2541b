"""The chance level and the ceiling: by enumeration, by simulation, and by hand."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import has_ceiling
from problems import (
    every_accuracy,
    index_sets,
    is_refused,
    of_kind,
    problems,
    side_information,
    specs,
)
from sizes import TIGHT, patched
from tie_orders import REFUSED, over_orders, values_over_orders

from recmetrics import Metrics, UndefinedMetricError

EVERY_ACCURACY = pytest.mark.parametrize("metric", of_kind("hits"), ids=lambda m: m.name)
BOTH = pytest.mark.parametrize(
    "level, policy", [(Metrics.chance, "expected"), (Metrics.ceiling, "best")]
)


@BOTH
@EVERY_ACCURACY
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_level_is_the_mean_or_the_best_over_all_rankings(metric, level, policy, data):
    _, truth, exclude, candidates = data.draw(problems(max_users=3, max_items=6))
    asked = specs(metric, max_k=8)
    if level is Metrics.chance:
        asked = asked.filter(lambda spec: not is_refused(spec))
    else:
        asked = asked.filter(has_ceiling)
    spec = data.draw(asked)
    sets = index_sets(exclude, candidates)
    expected = []
    for u, row in enumerate(truth):
        excluded = () if exclude is None else exclude[u]
        pool = None if candidates is None else candidates[u]
        expected.append(
            over_orders(metric, policy)(
                values_over_orders(spec, np.zeros(len(row)), row, excluded, pool)
            )
        )
    for form in (truth, sp.csr_array(truth)):
        propensity = side_information(1, truth.shape[1])["propensity"]
        got = level(form, spec, propensity=propensity, **sets)[str(spec)]
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


@BOTH
@pytest.mark.parametrize("given", ["exclude", "candidates", "both", "neither"])
def test_a_constant_scorer_reaches_the_level_to_the_bit(level, policy, given):
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, (60, 700)) * (rng.random((60, 700)) < 0.03)
    sets = {"exclude": rng.random(truth.shape) < 0.3, "candidates": rng.random(truth.shape) < 0.4}
    sets = {name: value for name, value in sets.items() if given in (name, "both")}
    got = level(truth, every_accuracy(), **sets)
    expected = Metrics.compute(np.zeros(truth.shape), truth, every_accuracy(), ties=policy, **sets)
    assert list(got) == every_accuracy()
    assert_identical(got, expected)


def test_the_truth_itself_as_scores_reaches_the_ceiling():
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 5, (50, 400)) * (rng.random((50, 400)) < 0.05)
    sets = {"exclude": rng.random(truth.shape) < 0.3, "candidates": rng.random(truth.shape) < 0.4}
    # Of equal grades, tied=block makes blocks, and a ceiling has no equal scores.
    metrics = [*every_accuracy(), *(text for text, option, _ in REFUSED if option != "tied")]
    got = Metrics.ceiling(truth, metrics, **sets)
    expected = Metrics.compute(truth, truth, metrics, **sets)
    for metric in metrics:
        np.testing.assert_allclose(got[metric], expected[metric], rtol=1e-15)
    assert got["recall@60"].min() < 1


# Ten items, R = 3, one of them excluded: nine may be recommended, two of them relevant.
BY_HAND = {
    "hit@2": (1 - (7 / 9) * (6 / 8), 1),
    "precision@4": (2 / 9, 2 / 4),
    "recall@4": (4 * (2 / 9) / 3, 2 / 3),
    "mrr@2": (2 / 9 + (7 / 9) * (2 / 8) / 2, 1),
    "map@2": ((2 / 9 + (2 / 9) * (1 + 1 / 8) / 2) / 2, 1),
    "dcg@1": (2 / 9, 1),
    "auc": (1 / 2, 1),
}


@pytest.mark.parametrize("text", BY_HAND)
def test_levels_by_hand(text):
    truth, exclude = [np.array([0, 4, 7])], [np.array([4])]
    chance = Metrics.chance(truth, text, exclude=exclude, n_items=10)[text]
    ceiling = Metrics.ceiling(truth, text, exclude=exclude, n_items=10)[text]
    np.testing.assert_allclose([chance[0], ceiling[0]], BY_HAND[text], rtol=1e-14)


@BOTH
def test_users_without_relevant_items_and_without_items(level, policy):
    truth, exclude = [[0.0, 0.0], [1.0, 0.0]], [[], [0, 1]]
    got = level(truth, ["ndcg@1", "dcg@1"], exclude=exclude)
    np.testing.assert_array_equal(got["ndcg@1"], [np.nan, 0.0])
    np.testing.assert_array_equal(got["dcg@1"], [0.0, 0.0])
    zero = level(truth, "ndcg@1", undefined="zero")["ndcg@1"]
    np.testing.assert_array_equal(zero, [0.0, 0.5 if policy == "expected" else 1.0])
    with pytest.raises(UndefinedMetricError):
        level(truth, "ndcg@1", undefined="raise")


@BOTH
def test_a_convention_is_that_of_compute(level, policy):
    truth = [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    metrics = ["recall@1", "ndcg@2"]
    got = level(truth, metrics, convention="irspack")
    expected = Metrics.compute(np.zeros((2, 3)), truth, metrics, convention="irspack", ties=policy)
    assert list(got) == metrics
    assert_identical(got, expected)
    assert got["recall@1"][1] == (1 / 3 if policy == "expected" else 1 / 2)  # hits / R


@BOTH
@pytest.mark.parametrize("truth", [np.zeros((0, 3)), sp.csr_array((0, 3)), []], ids=type)
def test_no_users(level, policy, truth):  # noqa: ARG001 (both parameters come in pairs)
    assert level(truth, "ndcg@2", n_items=3)["ndcg@2"].shape == (0,)


@BOTH
def test_blocks_of_users_change_nothing(level, policy):  # noqa: ARG001
    rng = np.random.default_rng(3)
    truth, exclude = rng.random((30, 50)) < 0.1, rng.random((30, 50)) < 0.2
    whole = level(truth, every_accuracy(), exclude=exclude)
    with patched(TIGHT):
        blocks = level(truth, every_accuracy(), exclude=exclude)
    assert_identical(blocks, whole)


@pytest.mark.parametrize("text", [text for text, _, _ in REFUSED])
def test_a_quotient_of_the_list_by_itself_has_a_ceiling(text):
    assert Metrics.ceiling([[1.0, 0.0]], text)[text] == 1


def test_the_pairs_of_the_top_k_have_a_ceiling():
    assert Metrics.ceiling([[1.0, 0.0, 0.0], [1, 1, 0]], "auc@2")["auc@2"].tolist() == [1, 1]


def test_less_relevant_items_may_raise_a_metric_that_has_no_ceiling():
    text, truth = "ndcg(ideal=retrieved,ideal_depth=full)@2", [[0.5, 0.5, 1.0]]
    descending = Metrics.compute_ranked([[2, 0]], truth, text)[text]
    assert descending == pytest.approx((1 + 0.5 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert Metrics.compute_ranked([[0, 1]], truth, text)[text] == 1
