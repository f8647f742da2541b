"""Mistakes, each beside the call that was meant, and what is odd but right."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from problems import EVERY_CONVENTION

from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    MetricSpecError,
    NaNScoreError,
    ShapeError,
    UnknownMetricError,
    audit,
    compare,
    explain,
)

SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
TRUTH = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
LISTS = [[0], [1, 2]]
USERS, ITEMS = np.eye(2), np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
RUNS = {"a": {"m": [1.0, 2.0, 4.0]}, "b": {"m": [2.0, 2.0, 3.0]}}
NAN, INF = math.nan, math.inf


def compute(scores=SCORES, truth=TRUTH, metrics="ndcg@2", **options):
    return Metrics.compute(scores, truth, metrics, **options)


def factors(users=USERS, items=ITEMS, truth=TRUTH, metrics="ndcg@2", **options):
    return Metrics.compute_factors(users, items, truth, metrics, **options)


def evaluator(truth=TRUTH, metrics="ndcg@2", **options):
    return Evaluator(truth, metrics, **options)


def updated(scores=SCORES, users=None, **options):
    made = evaluator(**options)
    made.update(scores, users)
    return made.mean()


def updated_factors(users=USERS, items=ITEMS, **options):
    made = evaluator()
    made.update_factors(users, items, **options)
    return made.mean()


def from_state(**changed):
    made = evaluator(metrics=["ndcg@2", "coverage@2"])
    made.update(SCORES)
    return Evaluator.from_state({**made.state(), **changed}).mean()


class Mistake(NamedTuple):
    """What is called, the error that answers it, and the call that was meant."""

    wrong: Callable[[], Any]
    error: type[Exception]
    message: str
    right: Callable[[], Any]


INDICES = "users must be a slice or a 1-d array of integer user indices, got"
STATE = "expected what Evaluator.state() gave"
REAL = "must hold real numbers (float16, float32, float64, integers or bool), got dtype"
SAME_D = "user_factors (n_users, d) and item_factors (n_items, d) must have the same d, got"


def at(k):
    return Metrics.ndcg_at_k(SCORES, TRUTH, k).tolist()


def ranked(metrics, truth=LISTS, **options):
    return Metrics.compute_ranked([[0, 1], [2, 1]], truth, metrics, **options)


def compared(runs=RUNS, **options):
    return compare(runs, rng=0, n_resamples=100, **options).means


MISTAKES = {
    "a mask": Mistake(
        lambda: updated(users=np.array([True, True])),
        InputTypeError,
        f"{INDICES} 1-d of dtype bool; for a mask type np.flatnonzero(users)",
        lambda: updated(users=np.flatnonzero([True, True])),
    ),
    "text": Mistake(
        lambda: updated(users=["u0", "u1"]),
        InputTypeError,
        f"{INDICES} 1-d of dtype <U2; these are the row numbers of the truth, not ids",
        lambda: updated(users=range(2)),
    ),
    "outside the truth": Mistake(
        lambda: updated(users=[0, 2]),
        InputError,
        "users names user 2; expected indices 0 .. 1",
        lambda: updated(users=[0, 1]),
    ),
    "beyond 63 bits": Mistake(
        lambda: updated(users=np.array([0, 2**64 - 1], np.uint64)),
        InputError,
        "users names user 18446744073709551615; expected indices 0 .. 1",
        lambda: updated(users=np.array([0, 1], np.uint64)),
    ),
    "a slice without steps": Mistake(
        lambda: updated(users=slice(0, 2, 0)),
        InputTypeError,
        "users must be a slice of integer user indices, got slice(0, 2, 0) "
        "(slice step cannot be zero)",
        lambda: updated(users=slice(0, 2, 1)),
    ),
    "a slice of floats": Mistake(
        lambda: updated(users=slice(0.0, 2.0)),
        InputTypeError,
        "users must be a slice of integer user indices, got slice(0.0, 2.0, None) "
        "(slice indices must be integers or None or have an __index__ method)",
        lambda: updated(users=slice(0, 2)),
    ),
    "more than there are": Mistake(
        lambda: updated(np.vstack([SCORES, SCORES])),
        InputError,
        "scores has 4 rows after the first 0 users, but truth has 2 users; expected each user "
        "once; call reset() before the next pass, or give users=",
        lambda: updated(np.vstack([SCORES, SCORES]), users=[0, 1, 0, 1]),
    ),
    "lists beyond the catalogue": Mistake(
        lambda: evaluator(LISTS, n_items=2),
        InputError,
        "truth of user 1 names item 2, which is outside the catalogue; expected 0 .. 1",
        lambda: [evaluator(LISTS, n_items=3)],
    ),
    "a catalogue that no machine numbers": Mistake(
        lambda: evaluator(LISTS, n_items=2**62),
        ArgumentError,
        "n_items must be a number of items, such as 3700, got 4611686018427387904",
        lambda: [evaluator(LISTS, n_items=2**61)],
    ),
    "a metric as bytes": Mistake(
        lambda: evaluator(metrics=b"ndcg@2"),
        MetricSpecError,
        "metrics_list must be a list of metric strings such as ['ndcg@10', 'recall@20'], "
        "got b'ndcg@2'",
        lambda: updated(metrics="ndcg@2"),
    ),
    "a state of negative users": Mistake(
        lambda: from_state(users=np.array([0, -1])),
        InputError,
        f"state is damaged (users does not fit); {STATE}",
        lambda: from_state(users=np.array([1, 0])),
    ),
    "a state with items outside": Mistake(
        lambda: from_state(lists=np.array([[0, 3], [0, 1]])),
        InputError,
        f"state is damaged (lists does not fit); {STATE}",
        lambda: from_state(lists=np.array([[0, 2], [0, 1]])),
    ),
    "of other factors": Mistake(
        lambda: factors(users=np.ones((2, 5))),
        ShapeError,
        f"{SAME_D} (2, 5) and (3, 2)",
        lambda: factors(users=np.ones((2, 2))),
    ),
    "0-d": Mistake(
        lambda: factors(items=np.array(1.0)),
        ShapeError,
        "item_factors must be 2-d (n_items, d), got 0-d of shape ()",
        factors,
    ),
    "objects": Mistake(
        lambda: factors(USERS.astype(object)),
        InputTypeError,
        f"user_factors {REAL} object; type np.asarray(user_factors, np.float64)",
        lambda: factors(USERS.astype(bool)),
    ),
    "structured": Mistake(
        lambda: updated_factors(np.zeros((2, 2), [("a", "f8")])),
        InputTypeError,
        f"user_factors {REAL} [('a', '<f8')]",
        lambda: updated_factors(USERS.astype(np.float16)),
    ),
    "one bias": Mistake(
        lambda: factors(item_bias=1.0),
        InputTypeError,
        "item_bias must be an array or a list with one entry per item, got 1.0 of type float",
        lambda: factors(item_bias=[1.0, 1.0, 1.0]),
    ),
    "k as text": Mistake(
        lambda: at("2"),
        ArgumentError,
        "k must be an integer >= 1, such as 10, got '2'; for the whole list call Metrics.compute",
        lambda: compute(metrics="ndcg@2"),
    ),
    "an ideal longer than memory": Mistake(
        lambda: ranked("ndcg(ideal_depth=full)@999999999999999999"),
        ArgumentError,
        "ideal_depth='full' adds up the discounts of all k ranks, got k = 999999999999999999; "
        "expected at most 16777216; leave out @k for the whole list",
        lambda: ranked(["ndcg(ideal_depth=full)", "ndcg(ideal_depth=full)@100000", "ndcg@9999999"]),
    ),
    "the same where only an index is large": Mistake(
        lambda: ranked("ndcg(ideal_depth=full)@99999999", truth=[[0], [2**40]]),
        ArgumentError,
        "ideal_depth='full' adds up the discounts of all k ranks, got k = 99999999; "
        "expected at most 16777216; leave out @k for the whole list",
        # A catalogue that is known cuts k.
        lambda: ranked("ndcg(ideal_depth=full)@99999999", truth=TRUTH),
    ),
    "a quotient without an expectation": Mistake(
        lambda: factors(metrics="map(denom=hits)@2", ties="expected"),
        ArgumentError,
        "map(denom=hits)@2 has no ties='expected': with denom=hits, its divisor depends on the "
        "items in the list; type denom=capped, or give ties='index'",
        lambda: factors(metrics="map(denom=hits)@2", ties="index"),
    ),
    "an unknown convention": Mistake(
        lambda: explain("ndcg@2", convention="lens"),
        ArgumentError,
        f"convention must be {EVERY_CONVENTION}, got 'lens'; did you mean 'lenskit'?",
        lambda: explain("ndcg@2", convention="lenskit").systems,
    ),
    "a metric that the system lacks": Mistake(
        lambda: evaluator(metrics="err@2", convention="recbole"),
        UnknownMetricError,
        "in metric 'err@2': convention 'recbole' has no 'err@k': RecBole does not compute it; "
        "expected one of hit@k, precision@k, recall@k, map@k, mrr@k, ndcg@k, auc; compute it in "
        "a call without convention=",
        lambda: updated(metrics="mrr@2", convention="recbole"),
    ),
    "audit of sparse scores that store an item twice": Mistake(
        lambda: audit(sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 3)), TRUTH),
        InputError,
        "scores stores (user 0, item 1) twice; expected one entry for each item of a user; type "
        "scores.sum_duplicates() to add them",
        lambda: audit(sp.csr_array(SCORES), sp.csr_array(TRUTH)),
    ),
    "a masked array": Mistake(
        lambda: compared(RUNS | {"a": {"m": np.ma.masked_equal([1.0, 2.0, 4.0], 2)}}),
        InputTypeError,
        "metric 'm' of 'a' is a masked array, whose mask would be lost; type .filled(np.nan)",
        lambda: compared(RUNS | {"a": {"m": np.ma.masked_equal([1.0, 2.0, 4.0], 2).filled(NAN)}}),
    ),
    "None for a user": Mistake(
        lambda: compared(RUNS | {"a": {"m": [1.0, None, 4.0]}}),
        InputTypeError,
        "metric 'm' of 'a' has dtype object; expected real numbers",
        lambda: compared(RUNS | {"a": {"m": [1.0, NAN, 4.0]}}),
    ),
}


@pytest.mark.parametrize("case", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_exactly(case):
    with pytest.raises(case.error) as caught:
        case.wrong()
    assert type(caught.value) is case.error
    assert str(caught.value) == case.message
    assert case.right()  # gives values, and raises nothing


# --- Odd, but right ------------------------------------------------------------------------------

PLAIN = {"ndcg@2": [1, (1 / math.log2(3) + 2) / (2 + 1 / math.log2(3))]}
MOST = 65504.0  # the largest number of half precision


def second_best(scores, **options):
    """Reciprocal rank of item 1 for a user, by every entry point that takes scores."""
    truth = np.zeros(np.shape(scores))
    truth[:, 1] = 1
    made = Evaluator(truth, "mrr", **options)
    made.update(scores)
    single = Metrics.compute(scores, truth, "mrr", **options)["mrr"]
    np.testing.assert_array_equal(made.compute()["mrr"], single)
    return single.tolist()


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i2", ">i8", ">u4", "?", "<f2", "i1"])
def test_any_byte_order(dtype):
    scores = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype)
    assert second_best(scores) == [1, 1 / 2]
    expected = [1 / 2, 1 / 2 if dtype == "?" else 2 / 2]  # the gain at rank 3, by its discount
    got = Metrics.compute([[1, 2, 3], [3, 2, 1]], (TRUTH * [1, 0, 1]).astype(dtype), "dcg@3")
    np.testing.assert_allclose(got["dcg@3"], expected, rtol=1e-15)


def test_half_precision_at_its_ends():
    scores = np.array([[MOST, INF, -MOST, -INF], [6e-8, 0.0, -0.0, -6e-8]]).astype(np.float16)
    assert second_best(scores) == [1, 1 / 2]
    truth = np.full((1, 3), MOST, np.float16)  # a sum in half precision would be infinite
    assert Metrics.compute([[3, 2, 1]], truth, "cg@3")["cg@3"].tolist() == [3 * MOST]
    large = np.full((1, 2), MOST, np.float16)  # so would their products
    got = Metrics.compute_factors(large, np.array([[1], [-1]]) * large, [[1, 0]], "mrr")
    assert got["mrr"].tolist() == [1]


@pytest.mark.parametrize("k", [10**40, 2**63, 2**64 - 1, np.uint64(2**64 - 1), np.array(3)])
def test_a_cutoff_beyond_the_catalogue_is_all_of_it(k):
    np.testing.assert_array_equal(at(k), at(3))
    text = f"ndcg@{int(k)}"
    assert compute(metrics=text)[text].tolist() == at(3)


@pytest.mark.parametrize("value", [-INF, NAN])
def test_nothing_to_recommend(value):
    scores = np.full((2, 3), value)
    for metric in ("ndcg@2", "mrr", "precision", "recall@1", "auc"):
        got = compute(scores, metrics=metric, nan="exclude")[metric]
        assert got.tolist() == [0, 0]
    assert compute(scores, metrics="coverage@2", nan="exclude")["coverage@2"] == 0


def test_nan_everywhere_is_counted():
    with pytest.raises(NaNScoreError, match=r"^scores hold 6 NaN, the first at \(user 0, item 0\)"):
        compute(np.full((2, 3), NAN))


def test_all_scores_infinite_are_one_tie():
    got = compute(np.full((2, 3), INF), metrics=["hit@1", "auc"], ties="expected")
    np.testing.assert_allclose(got["hit@1"], [1 / 3, 2 / 3], rtol=1e-15)
    assert got["auc"].tolist() == [1 / 2, 1 / 2]


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array])
def test_an_empty_sparse_truth_is_undefined(form):
    got = compute(truth=form((2, 3)), metrics=["ndcg@2", "dcg@2"])
    assert np.isnan(got["ndcg@2"]).all()
    assert got["dcg@2"].tolist() == [0, 0]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3)])
def test_no_users_at_all(shape):
    nobody = np.empty(shape)
    assert compute(nobody, nobody)["ndcg@2"].shape == (0,)
    assert Metrics.chance(nobody, "ndcg@2")["ndcg@2"].shape == (0,)
    assert Evaluator(nobody, "ndcg@2").compute()["ndcg@2"].shape == (0,)


def test_truth_as_a_data_frame():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    np.testing.assert_allclose(compute(truth=pd.DataFrame(TRUTH))["ndcg@2"], at(2))
    np.testing.assert_allclose(compute(truth=pd.Series(LISTS), metrics="hit@1")["hit@1"], [1, 1])
    pairs = pd.DataFrame({"user": [0, 1, 1], "item": [0, 1, 2]})
    with pytest.raises(ShapeError) as caught:
        compute(truth=pairs)
    assert str(caught.value) == (
        "truth must have the users and items of the scores, (2, 3), got (3, 2); one looks "
        "transposed: type scores.T or truth.T, so that rows are users"
    )
    with pytest.raises(InputTypeError) as caught:
        compute(truth=pairs.astype({"user": str}))
    assert str(caught.value).startswith("truth is a table with columns of text, expected an array")


def test_every_line_that_is_defended_names_its_tests():
    folder = Path(__file__).parents[2]
    text = (folder / "SECURITY.md").read_text()
    table = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(table) > 10
    for line in table:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", line)
        assert named, line
        for file, test in named:
            assert f"def {test or 'test_'}" in (folder / file).read_text(), (file, test)
