"""What CAPRI and a course notebook print beyond accuracy, in the terms of this library.

``goldens/other.json`` has their cases in their own terms; each is translated here, and the metric
string shown. Their percent and rounding are arithmetic on our value.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from recmetrics import Metrics

OTHER = json.loads((Path(__file__).parents[1] / "goldens" / "other.json").read_text())
CASES = {case["id"]: case for case in OTHER}


def of_family(family):
    found = [case["id"] for case in OTHER if case["family"] == family]
    assert found
    return pytest.mark.parametrize("name", found)


def ranked(lists, n_items, metric, **side):
    truth = np.zeros((len(lists), n_items))
    lists = [np.array(items, dtype=np.int64) for items in lists]
    return Metrics.compute_ranked(lists, truth, metric, **side)[metric]


def by_number(lists, catalogue):
    """Lists of names as lists of item indices; what is not in the catalogue cannot be named."""
    number = {item: i for i, item in enumerate(catalogue)}
    return [[number[item] for item in items if item in number] for items in lists]


NOVELTY = {
    "notebook-015": "novelty@5",
    "notebook-016": "novelty@5",
    "notebook-018": "novelty@10",
    "notebook-019": "novelty@2",
    "notebook-020": "novelty@5",
    "capri-026": "novelty(denom=k, unseen=zero)@10",
    "capri-027": "novelty(denom=k, unseen=zero)@3",
}


@of_family("novelty")
def test_novelty(name):
    case = CASES[name]
    inputs = case["inputs"]
    n_items = 20  # more than any k: k is cut to the size of the catalogue
    popularity = np.zeros(n_items)
    if "probabilities" in inputs:
        popularity[: len(inputs["probabilities"])] = inputs["probabilities"]
        lists = [range(len(inputs["probabilities"]))]
    else:
        for item, count in inputs["popularity"].items():
            popularity[int(item)] = count / inputs["n_users"]
        lists = inputs["ranked"]
    got = ranked(lists, n_items, NOVELTY[name], popularity=popularity)
    np.testing.assert_allclose(got, np.atleast_1d(case["expected"]), rtol=0, atol=case["tol"])


@of_family("diversity")
def test_diversity(name):
    case = CASES[name]
    lists, similarity = case["inputs"]["ranked"], case["inputs"]["similarity"]
    if name == "capri-032":
        # A list that names item 0 three times, of a matrix that is not square: here, three items
        # that are each as similar as that item is to itself.
        similarity = np.full((3, 3), similarity[0][0])
        lists = [[0, 1, 2]]
    got = ranked(lists, len(similarity), "diversity", similarity=similarity)
    expected = case["expected"]
    if isinstance(expected, dict):  # {"raises": "ZeroDivisionError"}: no pair, so undefined
        expected = [math.nan]
    np.testing.assert_allclose(got, expected, rtol=0, atol=case["tol"])


@of_family("coverage")
def test_coverage(name):
    case = CASES[name]
    catalogue = case["inputs"]["catalog"]
    lists = by_number(case["inputs"]["lists"], catalogue)
    got = round(100 * float(ranked(lists, len(catalogue), "coverage")), 2)
    assert got == case.get("expected_correct", case["expected"])


@of_family("personalization")
def test_personalization(name):
    case = CASES[name]
    lists = case["inputs"]["lists"]
    catalogue = sorted({item for items in lists for item in items})
    got = ranked(by_number(lists, catalogue), len(catalogue), "personalization")
    np.testing.assert_allclose(got, case["expected"], rtol=0, atol=case["tol"])


# --- Accuracy, in terms that are not those of seeds.json -----------------------------------------


@of_family("auc")
def test_auc(name):
    case = CASES[name]
    got = Metrics.auc(case["inputs"]["scores"], case["inputs"]["truth"])
    np.testing.assert_allclose(got, case["expected"], rtol=0, atol=case["tol"])


@of_family("compute")
def test_compute(name):
    case = CASES[name]
    scores, truth = case["inputs"]["scores"], case["inputs"]["truth"]
    if not case["expected"]:  # rectorch skips what it does not know; here it is known
        got = Metrics.compute(scores, truth, case["params"]["metrics"])
        assert list(got) == case["params"]["metrics"]
        return
    got = Metrics.compute(scores, truth, case["params"]["metrics"])
    assert list(got) == list(case["expected"])
    for metric, expected in case["expected"].items():
        np.testing.assert_allclose(got[metric], expected, rtol=0, atol=case["tol"])


@of_family("dcg_terms")
def test_the_terms_of_dcg(name):
    case = CASES[name]
    relevances = np.array(case["inputs"]["relevances"], float)
    scores = -np.arange(relevances.size, dtype=float)[None, :]
    metrics = [f"dcg(gain=exp2)@{k}" for k in range(1, relevances.size + 1)]
    got = Metrics.compute(scores, relevances, metrics)
    terms = np.diff([got[metric][0] for metric in metrics], prepend=0.0)
    np.testing.assert_allclose([terms], case["expected"], rtol=0, atol=case["tol"])


@of_family("idcg")
def test_idcg_is_the_dcg_of_the_ideal_order(name):
    case = CASES[name]
    relevances = np.array(case["inputs"]["relevances"], float)
    got = Metrics.compute(relevances, relevances, case["metric"][1:])[case["metric"][1:]]
    np.testing.assert_allclose(got, case["expected"], rtol=0, atol=case["tol"])


def test_every_case_is_translated_but_the_frames():
    translated = {"novelty", "diversity", "coverage", "personalization"}
    translated |= {"auc", "compute", "dcg_terms", "idcg"}
    assert {case["family"] for case in OTHER} - translated == {"reclist"}
