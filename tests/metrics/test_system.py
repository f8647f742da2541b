"""Metrics of all lists together, and the exact sums that they are made of."""

import math
import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_same, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import compiled
from problems import assert_every_metric, of_kind

from recmetrics import ArgumentError, Evaluator, Metrics, UndefinedMetricError
from recmetrics._core.selection import COSINE, Exposure

SYSTEM_METRICS = [metric.name for metric in of_kind("exposure")]
SUMS = frozenset({COSINE, "log2", 0.85, 0.5})

# --- Hand-worked values --------------------------------------------------------------------------
# The lists are 0 1 2, 0 3 and, for the third user, nothing; item 4 is in no list.

LISTS = np.array([[0, 1, 2], [0, 3, -1], [-1, -1, -1]])
TRUTH = np.zeros((3, 5))
SECOND, THIRD = 1 / math.log2(3), 1 / 2  # the discounts of these ranks
HAND = {
    "coverage@1": 1 / 5,
    "coverage@2": 3 / 5,
    "coverage": 4 / 5,
    "personalization@1": 1 - 1,
    "personalization@2": 1 - 1 / 2,
    "personalization": 1 - 1 / math.sqrt(3 * 2),
    # Counts 0 1 1 1 2; the pairs of different items differ by 1 in 3 + 3 of 10 and by 2 in one.
    "gini": (3 * 1 + 3 * 1 + 2) * 2 / (2 * 5 * 5),
    "gini@1": 4 * 2 * 2 / (2 * 5 * 2),
    "entropy": -(2 / 5 * math.log2(2 / 5) + 3 * 1 / 5 * math.log2(1 / 5)),
    "entropy@1": 0,
    # Exposures 0, 1/2, d, d, 2 with d the discount of rank 2: by rank, weights -4 -2 0 2 4.
    "exposure_gini": (-2 * THIRD + 0 * SECOND + 2 * SECOND + 4 * 2)
    / (5 * (THIRD + 2 * SECOND + 2)),
    "exposure_gini@1": 4 / 5,
    "gini(denom=n-1)": (3 * 1 + 3 * 1 + 2) * 2 / (2 * 4 * 5),
    "gini(denom=n-1)@1": 4 / 4,
    # Exposures 0, 1/4, 1/2, 1/2, 2 for p = 1/2; 0, .7225, .85, .85, 2 for p = 0.85.
    "exposure_gini(discount=geometric, p=0.5)": (-2 / 4 + 2 / 2 + 4 * 2) / (5 * 3.25),
    "exposure_gini(discount=geometric)": (-2 * 0.85**2 + 2 * 0.85 + 4 * 2)
    / (5 * (0.85**2 + 2 * 0.85 + 2)),
    "exposure_gini(denom=n-1)@1": 4 / 4,
    # Exposures 0, 1/log2(3), 1, 1, 2.
    "exposure_gini(discount=log2_clip)": (-2 / math.log2(3) + 2 * 1 + 4 * 2)
    / (5 * (1 / math.log2(3) + 1 + 1 + 2)),
}


@pytest.mark.parametrize(("text", "expected"), HAND.items())
def test_hand_worked_value(text, expected):
    got = Metrics.compute_ranked(LISTS, TRUTH, text)[text]
    assert got.shape == ()
    assert got.dtype == np.float64
    assert_same(got, expected)


def test_hand_worked_values_cover_every_metric():
    assert_every_metric(HAND, "exposure")


def test_the_catalogue_is_what_is_a_candidate_of_anybody():
    scores, truth = [[3, 2, 1, 0]] * 2, [[1, 0, 0, 0]] * 2
    got = Metrics.compute(scores, truth, "coverage@1", candidates=[[0, 1], [0, 3]])
    assert got["coverage@1"] == 1 / 3
    # An excluded item stays in the catalogue, as one that is scored -inf does.
    got = Metrics.compute(
        scores, truth, ["coverage@1", "gini@1"], candidates=[0, 1], exclude=[[0], []]
    )
    assert got == {"coverage@1": 2 / 2, "gini@1": 0}
    got = Metrics.compute(scores, truth, "coverage@1", exclude=[[3], [3]])
    assert got["coverage@1"] == 1 / 4


@pytest.mark.parametrize("k", [1, 3, 7])
def test_equal_lists_have_no_personalization_and_disjoint_ones_have_all(k):
    n_items = 21
    truth = np.zeros((3, n_items))
    same = np.tile(np.arange(k), (3, 1))
    disjoint = np.arange(3 * k).reshape(3, k)
    metric = f"personalization@{k}"
    assert Metrics.compute_ranked(same, truth, metric)[metric] == 0.0
    assert Metrics.compute_ranked(disjoint, truth, metric)[metric] == 1.0


# --- What is undefined ---------------------------------------------------------------------------


def test_what_is_undefined():
    nothing = Metrics.compute_ranked([[-1], [-1]], np.zeros((2, 3)), SYSTEM_METRICS)
    assert nothing.pop("coverage") == 0
    assert all(np.isnan(value) for value in nothing.values())
    one = Metrics.compute_ranked([[1], [-1]], np.zeros((2, 3)), SYSTEM_METRICS)
    assert {name for name, value in one.items() if np.isnan(value)} == {"personalization"}
    empty = Metrics.compute(np.zeros((2, 0)), np.zeros((2, 0)), SYSTEM_METRICS)
    assert all(np.isnan(value) for value in empty.values())
    nobody = Metrics.compute(np.zeros((0, 4)), np.zeros((0, 4)), SYSTEM_METRICS)
    assert all(np.isnan(value) for value in nobody.values())
    assert repr(Evaluator(np.zeros((0, 4)), SYSTEM_METRICS).compute()) == repr(nobody)


def test_the_gini_coefficient_of_one_item():
    asked = ["gini@1", "gini(denom=n-1)@1", "exposure_gini(denom=n-1)@1"]
    of_one, *of_less = Metrics.compute([[1], [2]], [[1], [0]], asked).values()
    assert of_one == 0
    assert np.isnan(of_less).all()


def test_lists_with_more_wasted_ranks_than_items_are_refused():
    """Cutoffs end at the catalogue, so the last item of such a list would not be read."""

    def compute(metrics, **policies):
        return Metrics.compute_ranked([[7, 0, 1, -1]], [[1]], metrics, n_items=2, **policies)

    assert compute(["coverage@2", "mrr@3"], unknown="waste") == {
        "coverage@2": 1 / 2,
        "mrr@3": [1 / 3],
    }
    for metric in ("coverage@3", "coverage"):
        assert message_of(ArgumentError, lambda m=metric: compute(m, unknown="waste")) == (
            f"{metric} cannot read lists of 3 ranks, more than the 2 items of the catalogue; give "
            "repeats='drop', unknown='drop' in place of 'waste'"
        )
        assert compute(metric, unknown="drop") == {metric: 1.0}


def test_of_nobody_nothing_is_undefined():
    nobody = np.zeros((0, 4))
    assert Metrics.compute(nobody, nobody, "mrr", undefined="raise")["mrr"].shape == (0,)
    assert Metrics.compute_ranked([], [], "mrr", undefined="raise")["mrr"].shape == (0,)
    assert Evaluator(nobody, "mrr", undefined="raise").compute()["mrr"].shape == (0,)


def test_undefined_applies():
    def compute(lists, undefined):
        truth = np.zeros((len(lists), 3))
        return Metrics.compute_ranked(lists, truth, ["personalization@2"], undefined=undefined)

    assert compute([[0], [1]], "zero") == {"personalization@2": 1.0}
    assert np.isnan(compute([[0]], "zero")["personalization@2"])
    assert compute([[0]], "zero")["personalization@2"].shape == ()
    assert message_of(UndefinedMetricError, lambda: compute([[0]], "raise")) == (
        "personalization@2 is undefined (fewer than two lists that are not empty); "
        "give undefined='nan'"
    )
    assert compute([[0], [1]], "raise") == {"personalization@2": 1.0}


def test_a_truth_of_indices_does_not_tell_the_catalogue():
    lists = [np.array([0]), np.array([1])]
    got = message_of(
        ArgumentError, lambda: Metrics.compute_ranked([[0], [2]], lists, ["hit@1", "coverage@1"])
    )
    assert got == (
        "coverage@1 needs the size of the catalogue, which a truth of item indices does not "
        "give; give n_items=, or truth as a matrix (n_users, n_items), dense or sparse"
    )
    got = Metrics.compute_ranked([[0], [2]], lists, ["hit@1", "coverage@1"], n_items=4)
    assert got["coverage@1"] == 2 / 4
    matrix = sp.csr_array(([1, 1], ([0, 1], [0, 1])), shape=(2, 4))
    got = Metrics.compute_ranked([[0], [2]], matrix, ["hit@1", "coverage@1"])
    assert got["coverage@1"] == 2 / 4


# --- The state -----------------------------------------------------------------------------------


def random_lists(rng, n_users, n_items, width):
    items = np.argsort(rng.random((n_users, n_items)), axis=1)[:, :width]
    return items, rng.integers(0, width + 1, n_users)


def state_of(items, length, n_items, depth=5, sums=SUMS):
    state = Exposure(n_items, depth, sums)
    state.add(items, length)
    return state


def assert_identical(one, other):
    assert one.n_lists == other.n_lists
    np.testing.assert_array_equal(one.count, other.count)
    for name in one.sums:
        np.testing.assert_array_equal(one.weighted(name), other.weighted(name))
    np.testing.assert_array_equal(one._cosine, other._cosine)
    np.testing.assert_array_equal(one._ranked, other._ranked)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 60), max_size=4))
def test_merged_parts_are_the_whole_bit_for_bit(seed, cuts):
    rng = np.random.default_rng(seed)
    items, length = random_lists(rng, 60, 9, 7)
    whole = state_of(items, length, 9)
    merged = Exposure(9, 5, SUMS)
    edges = [0, *sorted(cuts), 60]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    for number in rng.permutation(len(parts)):
        part = state_of(items[parts[number]], length[parts[number]], 9)
        merged.merge(pickle.loads(pickle.dumps(part)))  # as from another process
    assert_identical(merged, whole)


def test_the_sums_are_those_of_exact_arithmetic():
    rng = np.random.default_rng(0)
    items, length = random_lists(rng, 400, 9, 7)
    state = state_of(items, length, 9)
    cosine, discount, power = ([[] for _ in range(9)] for _ in range(3))
    for row, n in zip(items, length, strict=True):
        for i, item in enumerate(row[: min(n, 5)]):
            cosine[item].append(1 / math.sqrt(min(n, 5)))
            discount[item].append(1 / math.log2(i + 2))
            power[item].append(0.85**i)
    np.testing.assert_allclose(state.weighted(COSINE), [math.fsum(w) for w in cosine], rtol=1e-15)
    np.testing.assert_allclose(state.weighted("log2"), [math.fsum(w) for w in discount], rtol=1e-15)
    np.testing.assert_allclose(state.weighted(0.85), [math.fsum(w) for w in power], rtol=1e-15)


def test_billions_of_lists_do_not_overflow():
    state = state_of(np.zeros((1, 1), np.int64), np.array([1]), 1, depth=1)
    for _ in range(35):  # 2^35 lists
        state.merge(pickle.loads(pickle.dumps(state)))
    assert state.n_lists == 2**35
    assert state.weighted(COSINE).tolist() == [2.0**35]
    assert state.weighted("log2").tolist() == state.weighted(0.5).tolist() == [2.0**35]


# --- Memory --------------------------------------------------------------------------------------


@pytest.mark.needs_jit
def test_memory_does_not_grow_with_the_users():
    metrics = [f"{name}{k}" for name in SYSTEM_METRICS for k in ("@10", "")]

    def peak(n_users):
        scores = np.broadcast_to(np.random.default_rng(0).random(20_000), (n_users, 20_000))
        truth = sp.csr_array((n_users, 20_000))
        with compiled():
            Metrics.compute(scores[:1], truth[:1], metrics)
        tracemalloc.start()
        try:
            Metrics.compute(scores, truth, metrics, n_threads=1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(400) < 1.2 * peak(100)  # whole lists of 400 users alone are 64 MB
