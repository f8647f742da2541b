"""Propensities: relevant items weigh 1 / the chance that they are observed."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    propensity_from,
)

RNG = np.random.default_rng(0)
N_USERS, N_ITEMS = 40, 30
SCORES = RNG.permuted(np.tile(np.arange(N_ITEMS, dtype=np.float32), (N_USERS, 1)), axis=1)
TRUTH = RNG.random((N_USERS, N_ITEMS)) < 0.2
TRUTH[:, 0] |= ~TRUTH.any(axis=1)
PROPENSITY = RNG.choice([0.05, 0.1, 0.5, 1.0], N_ITEMS)
METRICS = [
    "precision(weigh=ips)@5",
    "recall(denom=relevant, weigh=snips)@5",
    "recall(weigh=ps)@5",
    "ndcg(weigh=ps)@5",
    "dcg(weigh=snips)@5",
]


# --- The published definitions -------------------------------------------------------------------


def of_xclib(k, weight_of_rank, divisor):
    """The propensity-scored metrics of extreme classification, as the package pyxclib has them.

    The gains of the lists over those of the best lists, both summed over all users.
    """
    weighted = TRUTH / PROPENSITY
    listed = np.take_along_axis(weighted, np.argsort(-SCORES, axis=1)[:, :k], axis=1)
    best = -np.sort(-weighted, axis=1)[:, :k]
    return (listed * weight_of_rank / divisor).sum() / (best * weight_of_rank / divisor).sum()


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_figures_of_extreme_classification_are_a_ratio_of_means(k):
    discount = 1 / np.log2(np.arange(2, k + 2))
    relevant = TRUTH.sum(axis=1, keepdims=True)
    expected = {
        f"precision(weigh=ips)@{k}": of_xclib(k, 1.0, k),
        f"recall(denom=relevant, weigh=ips)@{k}": of_xclib(k, 1.0, relevant),
        f"dcg(weigh=ips)@{k}": of_xclib(k, discount, 1),
    }
    got = Metrics.compute(SCORES, TRUTH, list(expected), propensity=PROPENSITY)
    best = Metrics.ceiling(TRUTH, list(expected), propensity=PROPENSITY)
    for metric, value in expected.items():
        assert got[metric].mean() / best[metric].mean() == pytest.approx(value, rel=1e-12)


def test_recall_of_yang_is_self_normalised():
    """Yang et al. 2018, eq. 8: sum of the weights of the hits / sum of all weights of the user."""
    weights = TRUTH / PROPENSITY
    top = np.argsort(-SCORES, axis=1)[:, :5]
    expected = np.take_along_axis(weights, top, axis=1).sum(axis=1) / weights.sum(axis=1)
    got = Metrics.compute(SCORES, TRUTH, METRICS[1], propensity=PROPENSITY)[METRICS[1]]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("metric", ["dcg(weigh=ips)@3", "dcg(weigh=ips)", "precision(weigh=ips)@2"])
def test_the_expectation_over_what_is_observed_is_the_value_of_the_whole_truth(metric):
    """IPS is unbiased: every pattern of observed items, by its chance."""
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    whole, propensity = np.array([1, 1, 0, 1, 1]), np.array([0.5, 0.9, 0.3, 0.25, 0.1])
    relevant = np.flatnonzero(whole)
    patterns = np.array(list(product([0, 1], repeat=len(relevant))))
    chance = np.where(patterns, propensity[relevant], 1 - propensity[relevant]).prod(axis=1)
    observed = np.zeros((len(patterns), 5))
    observed[:, relevant] = patterns
    values = Metrics.compute(
        np.tile(scores, (len(patterns), 1)),
        observed,
        metric,
        propensity=propensity,
        undefined="zero",
    )[metric]
    plain = metric.replace("(weigh=ips)", "")
    (expected,) = Metrics.compute([scores], whole[None], plain)[plain]
    assert (values * chance).sum() == pytest.approx(expected, rel=1e-12)


# --- Any way in ----------------------------------------------------------------------------------


def test_any_entry_point_gives_the_bits_of_one_call():
    expected = Metrics.compute(SCORES, TRUTH, METRICS, propensity=PROPENSITY)
    mutable = PROPENSITY.copy()
    evaluator = Evaluator(TRUTH, METRICS, propensity=mutable)
    stream = StreamEvaluator(METRICS, propensity=mutable)
    mutable[:] = 1.0
    for begin in range(0, N_USERS, 7):
        rows = slice(begin, begin + 7)
        evaluator.update(SCORES[rows], rows)
        stream.update(SCORES[rows], sp.csr_array(TRUTH[rows]))
    assert_identical(evaluator.compute(), expected)
    assert_identical(stream.compute(), expected)
    ranking = np.argsort(-SCORES, axis=1)
    assert_identical(
        Metrics.compute_ranked(ranking, TRUTH, METRICS, propensity=PROPENSITY), expected
    )
    got = Metrics.recall_at_k(SCORES, TRUTH, 5, weigh="ps", propensity=PROPENSITY)
    np.testing.assert_array_equal(got, expected["recall(weigh=ps)@5"])


# --- propensity_from -----------------------------------------------------------------------------

TRAIN = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]])  # 4, 2, 1 and 0 users


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, (2 / 4) ** 1.5, (1 / 4) ** 1.5, (1 / 4) ** 1.5]),
        ({"gamma": 1}, [1, 2 / 4, 1 / 4, 1 / 4]),
        ({"gamma": 1, "least": 0.4}, [1, 2 / 4, 0.4, 0.4]),
        (
            {"model": "jain"},
            [
                1 / (1 + (math.log(4) - 1) * 2.5**0.55 * math.exp(-0.55 * math.log(n + 1.5)))
                for n in (4, 2, 1, 0)
            ],
        ),
        (
            {"model": "jain", "a": 0.6, "b": 2.6},
            [1 / (1 + (math.log(4) - 1) * 3.6**0.6 / (n + 2.6) ** 0.6) for n in (4, 2, 1, 0)],
        ),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_propensities_of_training_data(form, options, expected):
    np.testing.assert_allclose(propensity_from(form(TRAIN), **options), expected, rtol=1e-14)


def test_propensities_of_anything_are_taken():
    for train in (np.eye(4), np.ones((3, 4)), TRAIN):
        for options in ({"gamma": 1e6}, {"model": "jain", "a": 1e6}):
            propensity = propensity_from(train, **options)
            Metrics.compute([[4, 3, 2, 1]], [[0, 1, 1, 0]], METRICS, propensity=propensity)
    assert propensity_from(TRAIN, gamma=1e6).tolist() == [1.0, 1e-100, 1e-100, 1e-100]


@pytest.mark.parametrize(
    ("gain", "grade"), [("linear", 1e100), ("exp2", 300), ("exp2_shifted", 300)]
)
@pytest.mark.parametrize("method", [Metrics.ndcg_at_k, Metrics.dcg_at_k])
def test_the_largest_gains_weights_and_discounts_do_not_overflow(method, gain, grade):
    options = {"gain": gain, "weigh": "ips", "discount": lambda rank: 1e100 / rank}
    got = method([[3, 2, 1]], [[grade] * 3], 3, propensity=[1e-100] * 3, **options)
    assert np.isfinite(got).all()
    if gain != "linear":
        with pytest.raises(InputError, match="expected grades up to 300; use gain='linear'"):
            method([[3, 2, 1]], [[301, 1, 1]], 3, propensity=[1.0] * 3, **options)


# --- Errors --------------------------------------------------------------------------------------


def compute(metric="recall(weigh=ips)@5", **options):
    return Metrics.compute(SCORES, TRUTH, metric, **options)


ERRORS = {
    "none": (lambda: compute(), ArgumentError,
        "recall(weigh=ips)@5 needs propensity= (the probability that a relevant item is "
        "observed, (n_items,)), got none; type propensity=recmetrics.propensity_from(train)"),
    "short": (lambda: compute(propensity=PROPENSITY[:3]), ShapeError,
        "propensity must be of shape (n_items,) with n_items = 30, got (3,)"),
    "a training matrix": (lambda: compute(propensity=sp.csr_array(TRUTH)), ShapeError,
        "propensity must be 1-d (n_items,), got shape (40, 30); for a training matrix type "
        "propensity=recmetrics.propensity_from(train)"),
    "a sparse column": (lambda: compute(propensity=sp.csr_array(np.ones((30, 1)))), ShapeError,
        "propensity must be 1-d (n_items,), got shape (30, 1); for a training matrix type "
        "propensity=recmetrics.propensity_from(train)"),
    "zero": (lambda: compute(propensity=np.zeros(N_ITEMS)), InputError,
        "propensity must be a probability from 1e-100 to 1, got 0 for item 0; type "
        "propensity=recmetrics.propensity_from(train), or np.clip(propensity, 0.01, 1)"),
    "NaN": (lambda: compute(propensity=[1.0] * 29 + [math.nan]), InputError,
        "propensity must be a probability from 1e-100 to 1, got nan for item 29; type "
        "propensity=recmetrics.propensity_from(train)"),
    "text": (
        lambda: compute(propensity=["a"] * N_ITEMS),
        InputTypeError,
        "propensity must hold real numbers (float16, bfloat16, float32, float64, integers or "
        "bool), got "
        "dtype <U1",
    ),
    "groups": (lambda: Metrics.compute_groups([1.0, 2.0], [0, 1], "recall(weigh=ips)@5", sizes=[2]),
        ArgumentError,
        "recall(weigh=ips)@5 is weighted by propensities, but groups have none; leave out "
        "weigh=, or type Metrics.compute(..., propensity=...)"),
    "an item that no propensity is of": (
        lambda: Metrics.compute_ranked(
            [[0, 1]], [[5]], "recall(weigh=ips)@5", propensity=[1.0, 0.5]
        ),
        ShapeError,
        "propensity must hold a number for each item, got 2 numbers; truth names item 5",
    ),
    "of a list": (lambda: propensity_from([np.array([0, 2])]), ArgumentError,
        "propensity_from needs n_items= if train lists item indices, got none"),
    "a model": (lambda: propensity_from(TRAIN, model="jains"), ArgumentError,
        "model must be 'power' or 'jain', got 'jains'"),
    "gamma": (lambda: propensity_from(TRAIN, gamma=-1), ArgumentError,
        "gamma must be a finite number >= 0, got -1"),
    "b": (lambda: propensity_from(TRAIN, model="jain", b=0), ArgumentError,
        "b must be a finite number above 0, got 0"),
    "least": (lambda: propensity_from(TRAIN, least=1), ArgumentError,
        "least must be a number >= 0 and below 1, got 1"),
    "a of power": (lambda: propensity_from(TRAIN, a=0.5), ArgumentError,
        "a= is a parameter of model='jain', got model='power'; type model='jain', or leave out a="),
    "gamma of jain": (lambda: propensity_from(TRAIN, model="jain", gamma=1.5), ArgumentError,
        "gamma= is a parameter of model='power', got model='jain'; type model='power', or leave "
        "out gamma="),
    "no interaction": (lambda: propensity_from(TRAIN * 0), InputError,
        "train holds no interactions, so no propensity can be estimated"),
    "one number": (lambda: compute(propensity=0.5), InputTypeError,
        "propensity must be an array or a list with one entry per item, got 0.5 of type float"),
    "two users": (lambda: propensity_from(TRAIN[:2], model="jain"), InputError,
        "model='jain' needs at least 3 users in train, got 2; type model='power'"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, message = ERRORS[name]
    assert message_of(error, call) == message


def test_the_effective_number_of_items_is_said(capsys):
    """Weights 2 and 4: (2 + 4)^2 / (2^2 + 4^2) = 1.8; of those that a metric reads."""
    options = {"propensity": [0.5, 1.0, 0.25], "strata": {"a": [1], "b": [2]}, "progress": True}
    metrics = ["recall(weigh=ips)@2", "dcg(weigh=ips)", "mrr", "recall(weigh=ps, of=b)"]
    metrics += ["ndcg(weigh=ps, rel=2)", "recall(weigh=ps, of=a)"]
    Metrics.compute([[3, 2, 1]], [[1, 0, 2]], metrics, **options)
    said = [line for line in capsys.readouterr().err.split("\n") if "propensities" in line]
    assert said == [
        "weighed by propensities: 2 relevant items, with the information of 1.8 of equal weight "
        "(effective number)",
        "weighed by propensities: 1 relevant item in the stratum 'b', "
        "with the information of 1.0 of equal weight (effective number)",
        "weighed by propensities: 1 relevant item of relevance 2 or more, "
        "with the information of 1.0 of equal weight (effective number)",
        "weighed by propensities: 0 relevant items in the stratum 'a', "
        "with the information of 0.0 of equal weight (effective number)",
    ]
    Metrics.compute([[3, 2, 1]], [[1, 0, 1]], "recall@2", **options)
    assert "propensities" not in capsys.readouterr().err


def test_explain_has_the_bounds_of_weights():
    assert recmetrics.explain("recall(weigh=ips)@5").bounds == (0.0, math.inf)
    assert recmetrics.explain("recall(weigh=ps)@5").bounds == (0.0, 1.0)
    assert "/ propensity" in recmetrics.explain("ndcg(weigh=ps)@5").formula


def test_the_least_propensity_may_be_a_fraction():
    propensity = propensity_from(np.array([[1, 0], [1, 0]]), least=Fraction(1, 2))
    assert propensity.dtype == np.float64
    assert propensity.tolist() == [1.0, 0.5]  # of (1 / 2) ** 1.5, which is smaller
