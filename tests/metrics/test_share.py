"""The share of places of a stratum: by hand, by its reference, by all orders, at every door."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import by_reference, index_sets, problems, side_information

from recmetrics import Evaluator, Metrics, StreamEvaluator, popularity_strata
from recmetrics._core.spec.grammar import parse

OPTIONS = [f"discount={d}, denom={n}" for d in ("no", "log2") for n in ("list", "k")]


def test_by_hand():
    scores, strata = [[5, 4, 3, 2, 1], [1, 2, 3, 4, 5]], {"tail": [2, 4], "own": [[0, 1], [4]]}
    exclude = [[], [0, 1, 2]]  # the second list is 4, 3
    expected = {
        "share(of=tail)@3": [1 / 3, 1 / 2],
        "share(of=own)@3": [2 / 3, 1 / 2],
        "share(of=own, denom=k)@3": [2 / 3, 1 / 3],
        "share(of=tail, discount=log2)@3": [
            (1 / np.log2(4)) / (1 + 1 / np.log2(3) + 1 / np.log2(4)),
            1 / (1 + 1 / np.log2(3)),
        ],
        "share(of=tail, discount=log2, denom=k)@3": [
            (1 / np.log2(4)) / (1 + 1 / np.log2(3) + 1 / np.log2(4)),
            1 / (1 + 1 / np.log2(3) + 1 / np.log2(4)),
        ],
        "share(of=tail)": [2 / 5, 1 / 2],
        "share@3": [1, 1],
    }
    truth = np.zeros((2, 5))
    got = Metrics.compute(scores, truth, [*expected], strata=strata, exclude=exclude)
    for text, values in expected.items():
        np.testing.assert_allclose(got[text], values, rtol=1e-15, err_msg=text)


@settings(deadline=None, max_examples=40)
@given(problem=problems(), options=st.sampled_from(OPTIONS), k=st.none() | st.integers(1, 8))
def test_the_kernel_is_the_reference(problem, options, k):
    scores, truth, exclude, candidates = problem
    n_users, n_items = scores.shape
    of_all = [item for item in range(n_items) if item % 3 == 0]
    of_users = [[item for item in range(n_items) if (item + u) % 2] for u in range(n_users)]
    asked = [f"share({options}, of={name})" + ("" if k is None else f"@{k}") for name in "ab"]
    given = {"strata": {"a": of_all, "b": of_users}, **index_sets(exclude, candidates)}
    got = Metrics.compute(scores, truth, asked, **given)
    side = side_information(n_users, n_items)
    for u in range(n_users):
        own = side | {"strata": {"a": of_all, "b": of_users[u]}}
        for text in asked:
            expected = by_reference(parse(text), scores, truth, exclude, candidates, own)[u]
            np.testing.assert_allclose(got[text][u], expected, rtol=1e-14)


def test_the_share_of_the_tail_is_long_tail():
    rng = np.random.default_rng(0)
    train, scores = rng.random((40, 30)) < rng.random(30), rng.random((40, 30))
    given = {"strata": popularity_strata(train, tail=0.5), "popularity": train.mean(axis=0)}
    asked = ["share(of=tail)@10", "long_tail(tail=0.5)@10"]
    got = Metrics.compute(scores, train, asked, **given)
    assert 0.1 < got[asked[0]].mean() < 0.9
    np.testing.assert_array_equal(*got.values())


# --- The chance level ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS)
def test_chance_is_the_mean_over_all_orders(options):
    n_items, strata = 5, {"a": [0, 3], "b": [[1], [], [0, 1, 2]]}
    exclude, candidates = [[0], [], [0, 1, 2, 3, 4]], [[0, 1, 2], [0, 1, 2, 3, 4], [1]]
    asked = [f"share({options}, of={name})@{k}" for name in "ab" for k in (1, 2, 4)] + ["share@2"]
    truth = np.zeros((3, n_items))
    sets = {"exclude": exclude, "candidates": candidates, "strata": strata}
    got = Metrics.chance(truth, asked, **sets)
    orders = [
        Metrics.compute(np.array([order] * 3), truth, asked, **sets)
        for order in itertools.permutations(range(n_items))
    ]
    for text in asked:
        expected = np.mean([each[text] for each in orders], axis=0)
        np.testing.assert_allclose(got[text], expected, rtol=1e-12, err_msg=text)
    assert np.isnan(got["share@2"]).tolist() == [False, False, True]
    without_sets = Metrics.chance(truth, "share(of=a)@2", strata=strata)["share(of=a)@2"]
    np.testing.assert_allclose(without_sets, 2 / 5)


# --- Every entry point ---------------------------------------------------------------------------

RNG = np.random.default_rng(1)
SCORES = RNG.random((30, 20))
TRUTH = RNG.random((30, 20)) < 0.2
STRATA = {"tail": np.arange(0, 20, 3), "own": RNG.random((30, 20)) < 0.4}
ASKED = ["share(of=tail)@5", "share(of=own, discount=log2)@7", "recall(of=tail)@5"]


def test_evaluators_in_batches():
    whole = Metrics.compute(SCORES, TRUTH, ASKED, strata=STRATA)
    evaluator = Evaluator(TRUTH, ASKED, strata=STRATA)
    for users in (slice(20, 30), slice(0, 7), slice(7, 20)):
        evaluator.update(SCORES[users], users)
    stream = StreamEvaluator(ASKED[:1], strata={"tail": STRATA["tail"]})
    stream.update(SCORES, TRUTH)
    ranking = np.argsort(-SCORES, axis=1)
    of_lists = Metrics.compute_ranked(ranking, sp.csr_array(TRUTH), ASKED, strata=STRATA)
    for text in ASKED:
        np.testing.assert_array_equal(evaluator.compute()[text], whole[text])
        np.testing.assert_array_equal(of_lists[text], whole[text])
    np.testing.assert_array_equal(stream.compute()[ASKED[0]], whole[ASKED[0]])


def test_tables_with_gaps_in_their_ranks():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    tables = pytest.importorskip("recmetrics.tables", reason="narwhals is not installed")
    recs = pl.DataFrame({"user": ["a"] * 3, "item": [7, 8, 9], "rank": [1, 3, 4]})
    given = {"strata": {"new": pl.DataFrame({"item": [8, 9]})}, "rank_gaps": "keep"}
    asked = ["share(of=new)@3", "share(of=new, discount=log2)@3", "share(of=new, denom=k)@3"]
    got = tables.evaluate_table(recs, recs.select("user", "item"), asked, **given)
    weights = 1 / np.log2(np.array([2, 4]))  # of the items 7 and 8; 9 is below the cutoff
    expected = [1 / 2, weights[1] / weights.sum(), 1 / 3]
    np.testing.assert_allclose(got.select(asked).row(0), expected, rtol=1e-15)
