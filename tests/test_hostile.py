"""A catalogue of hostile inputs: each with its exact message, beside a good twin.

Scores, truth, sets and rankings of ``Metrics.compute`` and ``compute_ranked`` are in
``test_errors.py``; here is the rest of the surface, and what is odd but right.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from problems import EVERY_CONVENTION

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    MetricSpecError,
    NaNScoreError,
    ShapeError,
    UndefinedMetricError,
    UnknownMetricError,
    audit,
    compare,
    explain,
    popularity_from,
    warmup,
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


def updated_ranked(ranking=((0, 1), (2, 1)), users=None, **options):
    made = evaluator(**options)
    made.update_ranked(ranking, users)
    return made.mean()


def updated_factors(users=USERS, items=ITEMS, **options):
    made = evaluator()
    made.update_factors(users, items, **options)
    return made.mean()


def from_state(**changed):
    made = evaluator(metrics=["ndcg@2", "coverage@2"])
    made.update(SCORES)
    return Evaluator.from_state({**made.state(), **changed}).mean()


class Hostile(NamedTuple):
    """What is called, the error that answers it, and the call that was meant."""

    wrong: Callable[[], Any]
    error: type[Exception]
    message: str
    right: Callable[[], Any]


def check_all(catalogue):
    return pytest.mark.parametrize("case", catalogue.values(), ids=catalogue)


def check(case):
    with pytest.raises(case.error) as caught:
        case.wrong()
    assert type(caught.value) is case.error
    assert str(caught.value) == case.message
    assert case.right()  # gives values, and raises nothing


# --- Users of a batch ----------------------------------------------------------------------------

INDICES = "users must be a slice or a 1-d array of integer user indices, got"
ONE_PER_USER = "must be an array or a list with one entry per user, got"

USERS_OF_A_BATCH = {
    "floats": Hostile(
        lambda: updated(users=[0.0, 1.0]),
        InputTypeError,
        f"{INDICES} 1-d of dtype float64; type np.asarray(users, np.int64) if these are indices",
        lambda: updated(users=[0, 1]),
    ),
    "a mask": Hostile(
        lambda: updated(users=np.array([True, True])),
        InputTypeError,
        f"{INDICES} 1-d of dtype bool; for a mask type np.flatnonzero(users)",
        lambda: updated(users=np.flatnonzero([True, True])),
    ),
    "text": Hostile(
        lambda: updated(users=["u0", "u1"]),
        InputTypeError,
        f"{INDICES} 1-d of dtype <U2; these are the row numbers of the truth, not ids",
        lambda: updated(users=range(2)),
    ),
    "objects": Hostile(
        lambda: updated(users=np.array([0, 1], object)),
        InputTypeError,
        f"{INDICES} 1-d of dtype object; these are the row numbers of the truth, not ids",
        lambda: updated(users=np.array([0, 1], np.uint8)),
    ),
    "2-d": Hostile(
        lambda: updated(users=[[0, 1]]),
        InputTypeError,
        f"{INDICES} 2-d of dtype int64; Evaluator has the truth already; StreamEvaluator.update "
        "takes (scores, truth)",
        lambda: updated(users=(0, 1)),
    ),
    "one number": Hostile(
        lambda: updated(SCORES[:1], users=1),
        InputTypeError,
        f"users {ONE_PER_USER} 1 of type int",
        lambda: updated(users=[1, 0]),
    ),
    "a set": Hostile(
        lambda: updated(users={0, 1}),
        InputTypeError,
        f"users {ONE_PER_USER} {{0, 1}} of type set",
        lambda: updated(users=sorted({0, 1})),
    ),
    "masked": Hostile(
        lambda: updated(users=np.ma.array([0, 1])),
        InputTypeError,
        "users is a masked array, whose mask would be lost; expected a plain array; type "
        "users.filled(...) with the value for masked entries",
        lambda: updated(users=np.ma.array([0, 1]).filled(0)),
    ),
    "outside the truth": Hostile(
        lambda: updated(users=[0, 2]),
        InputError,
        "users names user 2; expected indices 0 .. 1",
        lambda: updated(users=[0, 1]),
    ),
    "negative": Hostile(
        lambda: updated(users=[0, -1]),
        InputError,
        "users names user -1; expected indices 0 .. 1",
        lambda: updated(users=[1, 0]),
    ),
    "beyond 63 bits": Hostile(
        lambda: updated(users=np.array([0, 2**64 - 1], np.uint64)),
        InputError,
        "users names user 18446744073709551615; expected indices 0 .. 1",
        lambda: updated(users=np.array([0, 1], np.uint64)),
    ),
    "fewer than rows": Hostile(
        lambda: updated(users=[0]),
        ShapeError,
        "scores has 2 rows, but users= names 1 users; expected one user for each row",
        lambda: updated(users=[1, 0]),
    ),
    "a slice of fewer": Hostile(
        lambda: updated_ranked(users=slice(0, 1)),
        ShapeError,
        "ranking has 2 rows, but users= names 1 users; expected one user for each row",
        lambda: updated_ranked(users=slice(None, None, -1)),
    ),
    "a slice without steps": Hostile(
        lambda: updated(users=slice(0, 2, 0)),
        InputTypeError,
        "users must be a slice of integer user indices, got slice(0, 2, 0) "
        "(slice step cannot be zero)",
        lambda: updated(users=slice(0, 2, 1)),
    ),
    "a slice of floats": Hostile(
        lambda: updated(users=slice(0.0, 2.0)),
        InputTypeError,
        "users must be a slice of integer user indices, got slice(0.0, 2.0, None) "
        "(slice indices must be integers or None or have an __index__ method)",
        lambda: updated(users=slice(0, 2)),
    ),
    "more than there are": Hostile(
        lambda: updated(np.vstack([SCORES, SCORES])),
        InputError,
        "scores has 4 rows after the first 0 users, but truth has 2 users; expected each user "
        "once; call reset() before the next pass, or give users=",
        lambda: updated(np.vstack([SCORES, SCORES]), users=[0, 1, 0, 1]),
    ),
}


@check_all(USERS_OF_A_BATCH)
def test_users_of_a_batch(case):
    check(case)


# --- Evaluator -----------------------------------------------------------------------------------

COUNT = "n_items must be a number of items, such as 3700, got"
STATE = "expected what Evaluator.state() gave"


def corrupt(matrix):
    matrix.indices[-1] = 9
    return matrix


EVALUATOR = {
    "a batch transposed": Hostile(
        lambda: updated(SCORES.T),
        ShapeError,
        "scores must have the 3 items of the truth, got a batch of shape (3, 2)",
        updated,
    ),
    "a sparse batch of other items": Hostile(
        lambda: updated(sp.csr_array(SCORES.T)),
        ShapeError,
        "scores must have the 3 items of the truth, got a batch of shape (3, 2)",
        lambda: updated(sp.csr_array(SCORES)),
    ),
    "a corrupt sparse batch": Hostile(
        lambda: updated(corrupt(sp.csr_array(SCORES))),
        InputError,
        "scores is a corrupt sparse matrix: expected indices 0 .. 2, got 0 .. 9",
        lambda: updated(sp.csr_array(SCORES)),
    ),
    "NaN, by the number of the user": Hostile(
        lambda: updated(np.array([[1, NAN, 2]]), users=[1]),
        NaNScoreError,
        "scores hold 1 NaN, the first at (user 1, item 1); expected numbers; give nan='exclude' to "
        "treat NaN like a score of -inf",
        lambda: updated(np.array([[1, NAN, 2], [1, 2, 3]]), nan="exclude"),
    ),
    "a scalar as truth": Hostile(
        lambda: evaluator(np.array(3.0)),
        ShapeError,
        "truth must be 2-d (n_users, n_items), got 0-d of shape (); "
        "for one user type np.atleast_2d(truth)",
        lambda: [evaluator(np.array([[3.0]]))],
    ),
    "a generator as truth": Hostile(
        lambda: evaluator(map(list, LISTS), n_items=3),
        InputTypeError,
        # The object prints its address; forty characters of it are shown.
        f"truth {ONE_PER_USER} {'<map object at 0x':.17}",
        lambda: [evaluator(LISTS, n_items=3)],
    ),
    "lists without a catalogue": Hostile(
        lambda: evaluator(LISTS),
        ArgumentError,
        "n_items= is needed if truth lists item indices, which do not give the size of the "
        "catalogue; give n_items=, or truth as a matrix (n_users, n_items)",
        lambda: [evaluator(LISTS, n_items=3)],
    ),
    "a catalogue as float": Hostile(
        lambda: evaluator(LISTS, n_items=3.0),
        ArgumentError,
        f"{COUNT} 3.0",
        lambda: [evaluator(LISTS, n_items=np.int64(3))],
    ),
    "a catalogue that no machine numbers": Hostile(
        lambda: evaluator(LISTS, n_items=2**62),
        ArgumentError,
        f"{COUNT} 4611686018427387904",
        lambda: [evaluator(LISTS, n_items=2**61)],
    ),
    "candidates of several kinds": Hostile(
        lambda: evaluator(candidates={0, "a"}),
        InputTypeError,
        "candidates must hold integer item indices, got ",  # a set has no order to print
        lambda: updated(candidates=frozenset({0, 2})),
    ),
    "no metric": Hostile(
        lambda: evaluator(metrics=[]),
        MetricSpecError,
        "metrics_list is empty; expected metric strings such as ['ndcg@10', 'recall@20']",
        lambda: updated(metrics=["ndcg@2"]),
    ),
    "a metric as bytes": Hostile(
        lambda: evaluator(metrics=b"ndcg@2"),
        MetricSpecError,
        "metrics_list must be a list of metric strings such as ['ndcg@10', 'recall@20'], "
        "got b'ndcg@2'",
        lambda: updated(metrics="ndcg@2"),
    ),
    "a ranking with what is excluded": Hostile(
        lambda: updated_ranked(exclude=[[0], []]),
        InputError,
        "ranking of user 0 names at rank 1 item 0, which is excluded for this user; expected items "
        "that may be recommended",
        lambda: updated_ranked(exclude=[[2], []]),
    ),
    "merged with nothing": Hostile(
        lambda: evaluator().merge(None),
        InputTypeError,
        "merge takes an Evaluator, got NoneType",
        lambda: [evaluator().merge(evaluator())],
    ),
    "merged with other ties": Hostile(
        lambda: evaluator().merge(evaluator(ties="best")),
        ArgumentError,
        "evaluators of different ties cannot be merged: index and best; expected the same in both",
        lambda: [evaluator().merge(evaluator(ties="index"))],
    ),
    "no state": Hostile(
        lambda: Evaluator.from_state(None),
        InputTypeError,
        f"state is a NoneType; {STATE}",
        from_state,
    ),
    "a state of negative users": Hostile(
        lambda: from_state(users=np.array([0, -1])),
        InputError,
        f"state is damaged (users does not fit); {STATE}",
        lambda: from_state(users=np.array([1, 0])),
    ),
    "a state with items outside": Hostile(
        lambda: from_state(lists=np.array([[0, 3], [0, 1]])),
        InputError,
        f"state is damaged (lists does not fit); {STATE}",
        lambda: from_state(lists=np.array([[0, 2], [0, 1]])),
    ),
    "a state with an unknown tie policy": Hostile(
        lambda: from_state(ties=np.array(["random"] * 2)),
        InputError,
        "state is damaged (ties must be 'index', 'expected', 'worst' or 'best', got 'random'); "
        f"{STATE}",
        lambda: from_state(ties=np.array(["index"] * 2)),
    ),
}
PREFIXES = {"a generator as truth", "candidates of several kinds"}


@check_all(EVALUATOR)
def test_evaluator(case):
    known = next(name for name, each in EVALUATOR.items() if each is case)
    if known not in PREFIXES:
        check(case)
        return
    with pytest.raises(case.error) as caught:
        case.wrong()
    assert str(caught.value).startswith(case.message)
    assert case.right()


# --- Factors -------------------------------------------------------------------------------------

REAL = "must hold real numbers (float16, float32, float64, integers or bool), got dtype"
SAME_D = "user_factors (n_users, d) and item_factors (n_items, d) must have the same d, got"

FACTORS = {
    "items transposed": Hostile(
        lambda: factors(items=ITEMS.T),
        ShapeError,
        f"{SAME_D} (2, 2) and (2, 3); type item_factors.T",
        lambda: factors(items=ITEMS.T.T),
    ),
    "of other factors": Hostile(
        lambda: factors(users=np.ones((2, 5))),
        ShapeError,
        f"{SAME_D} (2, 5) and (3, 2)",
        lambda: factors(users=np.ones((2, 2))),
    ),
    "users and items exchanged": Hostile(
        lambda: factors(ITEMS, USERS),
        ShapeError,
        "truth must have the users and items of the scores, (3, 2), got (2, 3); "
        "user_factors and item_factors look swapped: give those of the users first",
        lambda: factors(USERS, ITEMS),
    ),
    "1-d": Hostile(
        lambda: factors(users=USERS[0]),
        ShapeError,
        "user_factors must be 2-d (n_users, d), got 1-d of shape (2,); "
        "type user_factors.reshape(-1, 1) for one factor",
        lambda: factors(USERS[0].reshape(-1, 1), ITEMS[:, :1]),
    ),
    "0-d": Hostile(
        lambda: factors(items=np.array(1.0)),
        ShapeError,
        "item_factors must be 2-d (n_items, d), got 0-d of shape ()",
        factors,
    ),
    "none": Hostile(
        lambda: factors(items=None),
        InputTypeError,
        "item_factors must be an array or a list with one entry per item, got None of type "
        "NoneType",
        lambda: factors(items=ITEMS.tolist()),
    ),
    "objects": Hostile(
        lambda: factors(USERS.astype(object)),
        InputTypeError,
        f"user_factors {REAL} object; type np.asarray(user_factors, np.float64)",
        lambda: factors(USERS.astype(bool)),
    ),
    "complex": Hostile(
        lambda: factors(items=ITEMS + 0j),
        InputTypeError,
        f"item_factors {REAL} complex128; type np.real(item_factors) or np.abs(item_factors), "
        "whichever orders the items",
        lambda: factors(items=ITEMS.astype(">f4")),
    ),
    "structured": Hostile(
        lambda: updated_factors(np.zeros((2, 2), [("a", "f8")])),
        InputTypeError,
        f"user_factors {REAL} [('a', '<f8')]",
        lambda: updated_factors(USERS.astype(np.float16)),
    ),
    "sparse": Hostile(
        lambda: factors(sp.csr_array(USERS)),
        InputTypeError,
        "user_factors is sparse (csr_array), expected a dense array; type .toarray()",
        lambda: factors(sp.csr_array(USERS).toarray()),
    ),
    "NaN": Hostile(
        lambda: factors(np.array([[NAN, 1.0], [1.0, 1.0]])),
        NaNScoreError,
        "scores hold 3 NaN, the first at (user 0, item 0); expected numbers; give nan='exclude' to "
        "treat NaN like a score of -inf",
        lambda: factors(np.array([[NAN, 1.0], [1.0, 1.0]]), nan="exclude"),
    ),
    "infinities that cancel": Hostile(
        lambda: updated_factors(np.array([[INF, -INF], [1.0, 1.0]])),
        NaNScoreError,
        "scores hold 3 NaN, the first at (user 0, item 0); expected numbers; give nan='exclude' to "
        "treat NaN like a score of -inf",
        lambda: updated_factors(np.array([[INF, 0.0], [1.0, 1.0]])),
    ),
    "a bias for each user": Hostile(
        lambda: factors(item_bias=np.zeros(2)),
        ShapeError,
        "item_bias must hold one number for each of the 3 items, got 1-d of shape (2,)",
        lambda: factors(item_bias=np.zeros(3)),
    ),
    "a bias as a column": Hostile(
        lambda: updated_factors(item_bias=np.zeros((3, 1))),
        ShapeError,
        "item_bias must hold one number for each of the 3 items, got 2-d of shape (3, 1); "
        "type np.ravel(item_bias)",
        lambda: updated_factors(item_bias=np.zeros((3, 1)).ravel()),
    ),
    "one bias": Hostile(
        lambda: factors(item_bias=1.0),
        InputTypeError,
        "item_bias must be an array or a list with one entry per item, got 1.0 of type float",
        lambda: factors(item_bias=[1.0, 1.0, 1.0]),
    ),
}


@check_all(FACTORS)
def test_factors(case):
    check(case)


# --- Cutoffs, ties, conventions ------------------------------------------------------------------

CUTOFF = "k must be an integer >= 1, such as 10, got"
POLICIES = "ties must be 'index', 'expected', 'worst', 'best' or 'range', got"


def at(k):
    return Metrics.ndcg_at_k(SCORES, TRUTH, k).tolist()


def ranked(metrics, truth=LISTS, **options):
    return Metrics.compute_ranked([[0, 1], [2, 1]], truth, metrics, **options)


OPTIONS = {
    "k as a float": Hostile(lambda: at(2.0), ArgumentError, f"{CUTOFF} 2.0", lambda: at(2)),
    "k as a bool": Hostile(lambda: at(True), ArgumentError, f"{CUTOFF} True", lambda: at(1)),
    "k as a NumPy bool": Hostile(
        lambda: at(np.True_), ArgumentError, f"{CUTOFF} {np.True_!r}", lambda: at(np.uint8(1))
    ),
    "k as NaN": Hostile(lambda: at(NAN), ArgumentError, f"{CUTOFF} nan", lambda: at(3)),
    "k as text": Hostile(
        lambda: at("2"),
        ArgumentError,
        f"{CUTOFF} '2'; for the whole list call Metrics.compute",
        lambda: compute(metrics="ndcg@2"),
    ),
    "k as a list": Hostile(
        lambda: at([1, 2]),
        ArgumentError,
        f"{CUTOFF} [1, 2]; for several cutoffs type Metrics.compute(..., ['ndcg@5', 'ndcg@10'])",
        lambda: compute(metrics=["ndcg@1", "ndcg@2"]),
    ),
    "k as a float in a string": Hostile(
        lambda: compute(metrics="ndcg@2.0"),
        MetricSpecError,
        f"in metric 'ndcg@2.0': {CUTOFF} '2.0'",
        lambda: compute(metrics="ndcg@2"),
    ),
    "an ideal longer than memory": Hostile(
        lambda: ranked("ndcg(ideal_depth=full)@999999999999999999"),
        ArgumentError,
        "ideal_depth='full' adds up the discounts of all k ranks, got k = 999999999999999999; "
        "expected at most 16777216; leave out @k for the whole list",
        lambda: ranked(["ndcg(ideal_depth=full)", "ndcg(ideal_depth=full)@100000", "ndcg@9999999"]),
    ),
    "the same where only an index is large": Hostile(
        lambda: ranked("ndcg(ideal_depth=full)@99999999", truth=[[0], [2**40]]),
        ArgumentError,
        "ideal_depth='full' adds up the discounts of all k ranks, got k = 99999999; "
        "expected at most 16777216; leave out @k for the whole list",
        # A catalogue that is known cuts k.
        lambda: ranked("ndcg(ideal_depth=full)@99999999", truth=TRUTH),
    ),
    "an unknown tie policy": Hostile(
        lambda: compute(ties="random"),
        ArgumentError,
        f"{POLICIES} 'random'",
        lambda: compute(ties="expected"),
    ),
    "ties as a bool": Hostile(
        lambda: evaluator(ties=False), ArgumentError, f"{POLICIES} False", lambda: updated()
    ),
    "ties of factors as a list": Hostile(
        lambda: factors(ties=["index"]),
        ArgumentError,
        f"{POLICIES} ['index']",
        lambda: factors(ties=None),
    ),
    "a quotient without an expectation": Hostile(
        lambda: factors(metrics="map(denom=hits)@2", ties="expected"),
        ArgumentError,
        "map(denom=hits)@2 has no ties='expected': with denom=hits, its divisor depends on the "
        "items in the list; type denom=capped, or give ties='index'",
        lambda: factors(metrics="map(denom=hits)@2", ties="index"),
    ),
    "an unknown convention": Hostile(
        lambda: explain("ndcg@2", convention="lens"),
        ArgumentError,
        f"convention must be {EVERY_CONVENTION}, got 'lens'; did you mean 'lenskit'?",
        lambda: explain("ndcg@2", convention="lenskit").systems,
    ),
    "a metric that the system lacks": Hostile(
        lambda: evaluator(metrics="err@2", convention="recbole"),
        UnknownMetricError,
        "in metric 'err@2': convention 'recbole' has no 'err@k': RecBole does not compute it; "
        "expected one of hit@k, precision@k, recall@k, map@k, mrr@k, ndcg@k, auc; compute it in "
        "a call without convention=",
        lambda: updated(metrics="mrr@2", convention="recbole"),
    ),
    "an undefined user under raise": Hostile(
        lambda: updated(truth=np.array([[1.0, 0, 0], [0, 0, 0]]), undefined="raise"),
        UndefinedMetricError,
        "ndcg@2 is undefined for 1 of 2 users (no relevant item), the first is user 1; expected "
        "a value for every user; give undefined='nan' or 'zero', or leave these users out",
        lambda: updated(truth=np.array([[1.0, 0, 0], [0, 0, 0]]), undefined="zero"),
    ),
    "explain of a list": Hostile(
        lambda: explain(["ndcg@2"]),
        MetricSpecError,
        "a metric must be a string, got ['ndcg@2'] of type list; expected 'name', 'name@k' or "
        "'name(option=value, ...)@k', such as 'ndcg(gain=exp2)@10'",
        lambda: explain("ndcg@2").formula,
    ),
    "warmup for complex scores": Hostile(
        lambda: warmup("hit@2", dtype="complex128"),
        InputTypeError,
        f"scores {REAL} complex128; type np.real(scores) or np.abs(scores), whichever orders the "
        "items",
        lambda: [warmup("hit@2", dtype="float64")],
    ),
}


@check_all(OPTIONS)
def test_cutoffs_ties_and_conventions(case):
    check(case)


# --- Chance, ceiling, audit, popularity ----------------------------------------------------------

REFERENCES = {
    "chance of no truth": Hostile(
        lambda: Metrics.chance(None, "ndcg@1"),
        InputTypeError,
        f"truth {ONE_PER_USER} None of type NoneType",
        lambda: Metrics.chance(TRUTH, "ndcg@1"),
    ),
    "chance of negative relevance": Hostile(
        lambda: Metrics.chance(-TRUTH, "ndcg@1"),
        InputError,
        "truth must hold relevances from 0 to 1e+100, got -1 at (user 0, item 0)",
        lambda: Metrics.chance(sp.csr_array(TRUTH), "ndcg@1"),
    ),
    "chance with exclude transposed": Hostile(
        lambda: Metrics.chance(TRUTH, "ndcg@1", exclude=TRUTH.T),
        ShapeError,
        "exclude must have the users and items of the truth, (2, 3), got (3, 2); it looks "
        "transposed: type exclude.T",
        lambda: Metrics.chance(TRUTH, "ndcg@1", exclude=TRUTH),
    ),
    "chance of no cutoff": Hostile(
        lambda: Metrics.chance(TRUTH, "ndcg@0"),
        MetricSpecError,
        f"in metric 'ndcg@0': {CUTOFF} '0'",
        lambda: Metrics.chance(TRUTH, "ndcg"),
    ),
    "a ceiling of candidates outside": Hostile(
        lambda: Metrics.ceiling(TRUTH, "ndcg@1", candidates=[5]),
        InputError,
        "candidates names item 5, which is outside the catalogue; expected 0 .. 2",
        lambda: Metrics.ceiling(TRUTH, "ndcg@1", candidates=[2]),
    ),
    "a ceiling of coverage": Hostile(
        lambda: Metrics.ceiling(TRUTH, "coverage@1"),
        ArgumentError,
        "coverage@1 reads the lists themselves and has no ceiling; hit, precision, recall, f1, "
        "map, mrr, ndcg, dcg, cg, r_precision, rbp, err, fallout, auc, mean_rank, percentile_rank "
        "have one; leave it out",
        lambda: Metrics.ceiling(TRUTH, "err@1"),
    ),
    "audit of one user": Hostile(
        lambda: audit(SCORES[0], TRUTH),
        ShapeError,
        "scores must be 2-d (n_users, n_items), got 1-d of shape (3,); "
        "for one user type np.atleast_2d(scores)",
        lambda: audit(SCORES[:1], TRUTH[:1]),
    ),
    "audit of sparse scores that store an item twice": Hostile(
        lambda: audit(sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 3)), TRUTH),
        InputError,
        "scores stores (user 0, item 1) twice; expected one entry for each item of a user; type "
        "scores.sum_duplicates() to add them",
        lambda: audit(sp.csr_array(SCORES), sp.csr_array(TRUTH)),
    ),
    "audit at a float": Hostile(
        lambda: audit(SCORES, TRUTH, k=2.0),
        ArgumentError,
        f"{CUTOFF} 2.0",
        lambda: audit(SCORES, TRUTH, k=2),
    ),
    "audit at text": Hostile(
        lambda: audit(SCORES, TRUTH, k="2"),
        ArgumentError,
        f"{CUTOFF} '2'",
        lambda: audit(SCORES, TRUTH, k=2**70),
    ),
    "audit of the whole list": Hostile(
        lambda: audit(SCORES, TRUTH, k=None),
        ArgumentError,
        f"{CUTOFF} None",
        lambda: audit(SCORES, TRUTH, k=np.uint64(2**64 - 1)),
    ),
    "audit of a relevance that is NaN": Hostile(
        lambda: audit(SCORES, TRUTH * NAN),
        InputError,
        "truth must hold relevances from 0 to 1e+100, got nan at (user 0, item 0)",
        lambda: audit(SCORES * NAN, TRUTH),
    ),
    "popularity of nothing": Hostile(
        lambda: popularity_from(None),
        InputTypeError,
        f"train {ONE_PER_USER} None of type NoneType",
        lambda: popularity_from(TRUTH).tolist(),
    ),
    "popularity of a scalar": Hostile(
        lambda: popularity_from(np.array(1.0)),
        ShapeError,
        "train must be 2-d (n_users, n_items), got 0-d of shape (); "
        "for one user type np.atleast_2d(train)",
        lambda: popularity_from([[1.0]]).tolist(),
    ),
    "popularity of half an item": Hostile(
        lambda: popularity_from(LISTS, n_items=2.5),
        ArgumentError,
        f"{COUNT} 2.5",
        lambda: popularity_from(LISTS, n_items=3).tolist(),
    ),
    "popularity of another catalogue": Hostile(
        lambda: popularity_from(TRUTH, n_items=5),
        ShapeError,
        "train has 3 items, got n_items=5; leave n_items out",
        lambda: popularity_from(TRUTH, n_items=3).tolist(),
    ),
}


@check_all(REFERENCES)
def test_references_audit_and_popularity(case):
    check(case)


# --- Comparison ----------------------------------------------------------------------------------

ONE_OR_SEVERAL = "tests must be one or several of 't', 'wilcoxon' and 'permutation', got"


def compared(runs=RUNS, **options):
    return compare(runs, rng=0, n_resamples=100, **options).means


COMPARISON = {
    "a masked array": Hostile(
        lambda: compared(RUNS | {"a": {"m": np.ma.masked_equal([1.0, 2.0, 4.0], 2)}}),
        InputTypeError,
        "metric 'm' of 'a' is a masked array, whose mask would be lost; type .filled(np.nan)",
        lambda: compared(RUNS | {"a": {"m": np.ma.masked_equal([1.0, 2.0, 4.0], 2).filled(NAN)}}),
    ),
    "None for a user": Hostile(
        lambda: compared(RUNS | {"a": {"m": [1.0, None, 4.0]}}),
        InputTypeError,
        "metric 'm' of 'a' has dtype object; expected real numbers",
        lambda: compared(RUNS | {"a": {"m": [1.0, NAN, 4.0]}}),
    ),
    "no test": Hostile(
        lambda: compared(tests=None),
        ArgumentError,
        f"{ONE_OR_SEVERAL} None",
        lambda: compared(tests="wilcoxon"),
    ),
    "tests in a list too many": Hostile(
        lambda: compared(tests=[["t"]]),
        ArgumentError,
        f"{ONE_OR_SEVERAL} [['t']]",
        lambda: compared(tests=["t"]),
    ),
    "lower is better, as a bool": Hostile(
        lambda: compared(lower_is_better=True),
        ArgumentError,
        "lower_is_better must name metrics of the results, 'm', got True",
        lambda: compared(lower_is_better="m"),
    ),
    "a correction in a list": Hostile(
        lambda: compared(correction=["holm"]),
        ArgumentError,
        "correction must be 'holm', 'bh' or None, got ['holm']",
        lambda: compared(correction=None),
    ),
    "a confidence that is none": Hostile(
        lambda: compared(confidence=NAN),
        ArgumentError,
        "confidence must be a number from 0.5 to below 1, such as 0.95, got nan",
        lambda: compared(confidence=0.9),
    ),
    "a seed as text": Hostile(
        lambda: compare(RUNS, rng="seed"),
        ArgumentError,
        "rng must be a seed (an integer >= 0), a numpy Generator or None, got 'seed'",
        lambda: compare(RUNS, rng=np.random.default_rng(0)).means,
    ),
    "groups of other users": Hostile(
        lambda: compared(by=["x", "y"]),
        ShapeError,
        "by must hold one group per user, shape (3,), got shape (2,)",
        lambda: compared(by=["x", "y", "x"]),
    ),
    "levels in a list": Hostile(
        lambda: compared(levels=[RUNS["a"]]),
        InputTypeError,
        "levels must be a dict of name and result, got list; type {'first': a, 'second': b}, with "
        "a name for each",
        lambda: compared(levels={"chance": RUNS["a"]}),
    ),
}


@check_all(COMPARISON)
def test_comparison(case):
    check(case)


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


def test_the_catalogue_is_large():
    tables = (USERS_OF_A_BATCH, EVALUATOR, FACTORS, OPTIONS, REFERENCES, COMPARISON)
    cases = [case for table in tables for case in table.values()]
    assert len(cases) >= 60
    assert {case.error.__name__ for case in cases} <= set(recmetrics.__all__)
