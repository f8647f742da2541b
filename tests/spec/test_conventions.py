"""convention=: the numbers of other systems under the plain names, and the page that says so."""

import importlib
import json
import math
import re
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from asserts import message_of
from inside import CONVENTIONS, METRICS, make_spec, parse
from problems import EVERY_CONVENTION, side_information

from recmetrics import (
    ArgumentError,
    Evaluation,
    Evaluator,
    Metrics,
    UndefinedMetricError,
    UnknownMetricError,
    explain,
    summary,
)
from recmetrics._core.spec import NoTruth
from recmetrics._core.types import Convention, TiePolicy

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
page = importlib.import_module("conventions")  # the script that writes the page
OTHERS, PROSE = page.OTHERS, page.PROSE
GOLDENS = json.loads((ROOT / "tests" / "goldens" / "seeds.json").read_text())
LINES = [
    pytest.param(convention, line, id=f"{convention}-{line.metric}")
    for convention, system in CONVENTIONS.items()
    for line in system.lines
]
SCORES = np.array([[4, 3, 2, 1, 0], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
TRUTH = np.array([[1, 0, 3, 0, 1], [0, 0, 0, 0, 0], [0, 0, 0, 2, 0]])  # user 1 has none


# --- The table -----------------------------------------------------------------------------------


def test_the_table_has_every_convention():
    assert list(CONVENTIONS) == list(get_args(Convention))
    assert not any(system.lines for system in OTHERS.values())  # no plain name means these
    assert list(PROSE) == [*CONVENTIONS, *OTHERS]


@pytest.mark.parametrize("name", [*CONVENTIONS, *OTHERS])
def test_no_line_stands_twice(name):
    system = (CONVENTIONS | OTHERS)[name]
    metrics = [line.metric for line in system.lines]
    assert len(set(metrics)) == len(metrics)
    calls = [(line.metric, line.call) for line in (*system.lines, *system.variants)]
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("convention, line", LINES)
def test_a_plain_name_means_the_line(convention, line):
    name, _, cutoff = line.metric.partition("@")
    k = 3 if cutoff else None
    side = side_information(*TRUTH.shape)
    del side["genres"], side["profile"]
    plain, spelled = str(make_spec(name, k)), str(make_spec(name, k, line.options))
    got = Metrics.compute(SCORES, TRUTH, plain, convention=convention, **side)
    expected = Metrics.compute(
        SCORES, TRUTH, spelled, undefined=line.undefined, ties=line.ties, **side
    )
    if METRICS[name].is_sum and line.undefined == "nan":
        expected[spelled][~TRUTH.any(axis=1)] = math.nan  # undefined="nan" is 0 for sums of gains
    np.testing.assert_array_equal(got[plain], expected[spelled])


@pytest.mark.parametrize("name", [*CONVENTIONS, *OTHERS])
def test_every_string_of_the_page_is_taken_under_its_own_convention(name):
    system, side = (CONVENTIONS | OTHERS)[name], side_information(*TRUTH.shape)
    side = {name: value for name, value in side.items() if name not in ("genres", "profile")}
    convention = name if name in CONVENTIONS else None
    for line in (*system.lines, *system.variants):
        assert line.undefined in get_args(NoTruth)
        assert line.ties in get_args(TiePolicy)
        name, _, cutoff = line.metric.partition("@")
        text = str(make_spec(name, 3 if cutoff else None, line.options))
        Metrics.compute(SCORES, TRUTH, text, convention=convention, **side)


# --- What was recorded of the systems that are not installed --------------------------------------

RECORDED_OF = {"rectorch": "rectorch", "lenskit-0.14": "lenskit", "capri": "capri"}
RECORDED = [
    pytest.param(convention, case, id=case["id"])
    for convention, seed in RECORDED_OF.items()
    for case in GOLDENS
    if case["seed"] == seed
]


@pytest.mark.parametrize("convention, case", RECORDED)
def test_the_recorded_numbers_come_out_under_the_plain_name(convention, case):
    plain = re.sub(r"\(.*\)", "", case["metric"])
    if case["metric"] == "dcg" and convention == "lenskit-0.14":
        plain = "dcg(discount=log2)"  # the case asks LensKit for another discount than its own
    truth = np.array(case["truth"], dtype=float)
    if "scores" in case:
        call, lists = Metrics.compute, np.array(case["scores"], dtype=float)
    else:
        call, lists = Metrics.compute_ranked, np.array(case["ranking"], np.int64)
        lists = lists.reshape(len(truth), -1)
    # LensKit's functions were recorded, which give some users without truth 0; its frames do not.
    undefined = case["undefined"] if convention == "lenskit-0.14" else None
    got = call(lists, truth, plain, convention=convention, undefined=undefined)[plain]
    np.testing.assert_allclose(got, case["expected"], rtol=0, atol=case["tol"])


def test_every_system_that_cannot_be_run_has_recorded_numbers():
    measured = json.loads((ROOT / "docs" / "agreement.json").read_text())
    assert set(CONVENTIONS) - set(measured) <= {*RECORDED_OF, "elasticsearch"}


def test_recbole_by_hand():
    # User 0: hits at ranks 1 and 3 of 4, R = 3. User 1: six relevant items, hits at ranks 1 and 2.
    scores = [[8, 7, 6, 5, 4, 3, 2, 1]] * 2
    truth = [[1, 0, 1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 1, 1, 1, 1]]
    second, third, fourth = (1 / math.log2(rank + 1) for rank in (2, 3, 4))
    by_hand = {
        "hit@4": [1, 1],
        "precision@4": [2 / 4, 2 / 4],
        "recall@4": [2 / 3, 2 / 6],
        "map@4": [(1 / 1 + 2 / 3) / 3, (1 / 1 + 2 / 2) / 4],  # by min(R, k)
        "mrr@4": [1, 1],
        "ndcg@4": [
            (1 + third) / (1 + second + third),
            (1 + second) / (1 + second + third + fourth),
        ],
        "auc": [(5 + 4 + 0) / (3 * 5), (2 + 2 + 0) / (6 * 2)],
    }
    assert list(by_hand) == [line.metric.replace("@k", "@4") for line in system("recbole").lines]
    got = Metrics.compute(scores, truth, by_hand, convention="recbole")
    for metric, expected in by_hand.items():
        np.testing.assert_allclose(got[metric], expected, rtol=1e-12, err_msg=metric)


def test_rectools_as_its_documentation_prints():
    ranking = [[7, 8, -1, -1], [1, 2, -1, -1], [1, 2, 3, 4], [1, 2, 3, -1]]
    truth = np.zeros((4, 9))
    for user, items in enumerate([[1, 2], [1], [1, 3, 4], [1, 2, 3]]):
        truth[user, items] = 1
    printed = {
        "ndcg@1": [0, 1, 1, 1],
        "ndcg@3": [0, 0.46927873, 0.70391809, 1],
        "map@1": [0, 1, 0.33333333, 0.33333333],
        "map@3": [0, 1, 0.55555556, 1],
    }
    got = Metrics.compute_ranked(ranking, truth, printed, convention="rectools")
    for metric, expected in printed.items():
        np.testing.assert_allclose(got[metric], expected, rtol=0, atol=5e-9)


def system(convention):
    return CONVENTIONS[convention]


# --- What wins -----------------------------------------------------------------------------------


def both(plain, **options):
    """The same metric by compute and by its method."""
    spec = parse(plain)
    by_string = Metrics.compute(SCORES, TRUTH, plain, **options)[plain]
    method = getattr(Metrics, spec.metric.method)
    np.testing.assert_array_equal(method(SCORES, TRUTH, spec.k, **options), by_string)
    return by_string


def test_the_convention_gives_options_and_undefined():
    np.testing.assert_array_equal(both("recall@2"), [1 / 2, math.nan, 0])
    np.testing.assert_array_equal(both("recall@2", convention="torchmetrics"), [1 / 3, 0, 0])
    np.testing.assert_array_equal(both("recall@2", convention="ranx"), [1 / 3, math.nan, 0])
    np.testing.assert_array_equal(both("map@2", convention="lightgbm"), [1 / 2, 1, 0])


def test_a_typed_option_wins_even_where_it_is_the_default():
    got = Metrics.compute(SCORES, TRUTH, "recall(denom=capped)@2", convention="torchmetrics")
    assert got["recall(denom=capped)@2"].tolist() == [1 / 2, 0, 0]
    got = Metrics.recall_at_k(SCORES, TRUTH, 2, denom="capped", convention="torchmetrics")
    assert got.tolist() == [1 / 2, 0, 0]


def test_the_other_options_still_follow_the_convention():
    typed = "recall(rel=2)@2"
    got = Metrics.compute(SCORES, TRUTH, [typed], convention="torchmetrics")[typed]
    assert got.tolist() == [0, 0, 0]
    typed = "ndcg(gain=exp2)@2"
    got = Metrics.compute(SCORES, TRUTH, [typed], convention="rectools")[typed]
    spelled = Metrics.ndcg_at_k(SCORES, TRUTH, 2, gain="exp2", ideal_depth="full")
    np.testing.assert_array_equal(got, spelled)


def test_an_undefined_sum_is_0_whatever_undefined_says():
    for undefined in (None, "nan", "zero", "one"):
        for options in (
            {"undefined": undefined},
            {"undefined": undefined, "convention": "sklearn"},
        ):
            assert both("dcg@2", **options)[1] == 0
        got = Metrics.compute(SCORES, TRUTH, ["cg@2", "ndcg@2"], undefined=undefined)
        assert got["cg@2"][1] == 0
    assert got["ndcg@2"][1] == 1
    with pytest.raises(UndefinedMetricError, match="dcg@2 is undefined: 1 of 3 users has"):
        both("dcg@2", undefined="raise")


def test_undefined_wins():
    def of(**options):
        return Metrics.recall_at_k(SCORES, TRUTH, 2, convention="torchmetrics", **options)[1]

    assert of() == of(undefined=None) == of(undefined="zero") == 0
    assert math.isnan(of(undefined="nan"))
    with pytest.raises(UndefinedMetricError):
        of(undefined="raise")
    rectorch = Metrics.compute(SCORES, TRUTH, ["mrr@2", "recall@2"], convention="rectorch")
    assert rectorch["mrr@2"][1] == 0
    assert math.isnan(rectorch["recall@2"][1])


def entry_points(metric, scores, truth, k, **options):
    """The values of one metric by every entry point that reads scores."""
    evaluator = Evaluator(truth, metric, **options)
    evaluator.update(scores[:1])
    evaluator.update(scores[1:])
    by_factors = Evaluator(truth, metric, **options)
    by_factors.update_factors(scores, np.eye(scores.shape[1]))
    return [
        Metrics.compute(scores, truth, metric, **options)[metric],
        Metrics.compute_factors(scores, np.eye(scores.shape[1]), truth, metric, **options)[metric],
        getattr(Metrics, parse(metric).metric.method)(scores, truth, k, **options),
        evaluator.compute()[metric],
        Evaluator.from_state(evaluator.state()).compute()[metric],
        by_factors.compute()[metric],
    ]


TIED = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
TIED_TRUTH = np.array([[0, 1, 0], [0, 0, 1]])


def test_the_convention_says_how_ties_count():
    # User 0: ranks 1 and 2 alike. User 1: ranks 1, 2 and 3 alike, of which two are read.
    second = 1 / math.log2(3)
    averaged = [(1 + second) / 2, (1 + second) / 3]
    for values in entry_points("ndcg@2", TIED, TIED_TRUTH, 2, convention="sklearn"):
        np.testing.assert_allclose(values, averaged, rtol=1e-14)
    for convention in (None, "ranx", "irspack"):
        for values in entry_points("ndcg@2", TIED, TIED_TRUTH, 2, convention=convention):
            np.testing.assert_allclose(values, [second, 0], rtol=1e-14)


@pytest.mark.parametrize("ties", ["index", "worst", "best", "expected"])
def test_ties_win(ties):
    expected = Metrics.compute(TIED, TIED_TRUTH, "ndcg@2", ties=ties)["ndcg@2"]
    options = {"convention": "sklearn", "ties": ties}
    for values in entry_points("ndcg@2", TIED, TIED_TRUTH, 2, **options):
        np.testing.assert_array_equal(values, expected)


def test_each_metric_of_a_call_has_the_ties_of_its_line():
    got = Metrics.compute(TIED, TIED_TRUTH, ["ndcg@2", "mrr@2", "auc"], convention="torchmetrics")
    second = 1 / math.log2(3)
    np.testing.assert_allclose(got["ndcg@2"], [(1 + second) / 2, (1 + second) / 3], rtol=1e-14)
    assert got["mrr@2"].tolist() == [1 / 2, 0]
    assert got["auc"].tolist() == [3 / 4, 1 / 2]


def test_rankings_have_no_ties_under_any_convention():
    got = Metrics.compute_ranked([[0, 1, 2], [2, 1, 0]], TIED_TRUTH, "ndcg@2", convention="sklearn")
    assert got["ndcg@2"].tolist() == [1 / math.log2(3), 1]
    evaluator = Evaluator(TIED_TRUTH, "ndcg@2", convention="sklearn")
    evaluator.update_ranked([[0, 1, 2], [2, 1, 0]])
    np.testing.assert_array_equal(evaluator.compute()["ndcg@2"], got["ndcg@2"])


def test_a_typed_option_without_an_expectation_says_what_to_give():
    text = "ndcg(ideal=retrieved)@2"
    message = message_of(
        ArgumentError, Metrics.compute, TIED, TIED_TRUTH, text, convention="sklearn"
    )
    assert message.startswith(f"{text} has no ties='expected': ")
    assert message.endswith(" or compute it in a separate call with ties='index'")
    got = Metrics.compute(TIED, TIED_TRUTH, text, convention="sklearn", ties="index")[text]
    assert got.tolist() == [1 / math.log2(3), 0]


def test_the_cutoff_decides_where_a_system_has_two_definitions():
    relevant = [[1, 0, 1, 1, 0]]
    ranking = [[0, 1]]
    got = Metrics.compute_ranked(ranking, relevant, ["recall", "recall@2"], convention="lenskit")
    assert {metric: value.tolist() for metric, value in got.items()} == {
        "recall": [1 / 3],
        "recall@2": [1 / 2],
    }


@pytest.mark.parametrize(
    "metric, asked",
    [("err@10", "err@k"), ("mrr@10", "mrr@k"), ("hit", "hit"), ("gini@5", "gini@k")],
)
def test_a_metric_that_the_system_lacks_names_those_that_it_has(metric, asked):
    assert message_of(
        UnknownMetricError, Metrics.compute, SCORES, TRUTH, metric, convention="trec"
    ) == (
        f"in metric {metric!r}: convention 'trec' has no {asked!r}: no call of trec_eval is known "
        "to compute it; expected one of hit@k, precision@k, precision, recall@k, recall, f1, "
        "map@k, map, mrr, ndcg@k, ndcg, r_precision; compute it in a call without convention="
    )


# --- The page ------------------------------------------------------------------------------------


def test_the_page_is_written_from_the_table():
    assert page.PAGE.read_text() == page.page(json.loads(page.AGREEMENT.read_text()))


def test_the_documents_are_the_recorded_ones():
    notebook, article, _ = page.DOCUMENTS.values()
    for seed, calls in {"notebook": notebook, "article": article}.items():
        recorded = {re.sub(r"@\d+", "@k", c["metric"]) for c in GOLDENS if c["seed"] == seed}
        assert recorded <= set(calls.values())
        for string in calls.values():
            parse(string.replace("@k", "@5"))


ENTRY_POINTS = {
    "compute": lambda *args, **given: Metrics.compute(SCORES, TRUTH, *args, **given),
    "factors": lambda *a, **given: Metrics.compute_factors(SCORES, np.eye(5), TRUTH, *a, **given),
    "ranked": lambda *a, **given: Metrics.compute_ranked([[1], [2], [0]], TRUTH, *a, **given),
    "method": lambda _, **given: Metrics.ndcg_at_k(SCORES, TRUTH, 2, **given),
    "chance": lambda *args, **given: Metrics.chance(TRUTH, *args, **given),
    "ceiling": lambda *args, **given: Metrics.ceiling(TRUTH, *args, **given),
    "Evaluator": lambda *args, **given: Evaluator(TRUTH, *args, **given),
    "explain": explain,
    "evaluate": lambda *a, **given: Metrics.evaluate(SCORES, TRUTH, *a, **given).to_dict(),
    "Evaluation": lambda metric, **given: Evaluation({metric: np.ones(2)}, **given),
    "to_dict": lambda metric, convention: summary({metric: [0.5, 1.0]}).to_dict(convention),
}


UNKNOWN = {  # and what is meant
    "recboel": "recbole",
    "lkpy": "lenskit",
    "trec_eval": "trec",
    "lenskit-2025": "lenskit",
    "mteb": "trec",
    "pytorch_geometric": "torch_geometric",
    # Other systems, however like a convention their names are.
    "lightfm": "",
    "catboost": "",
    "tensorrec": "",
    "torchrec": "",
    "transformers4rec": "",
    "Surprise": "",
    ("lenskit",): "",
    1: "",
}


@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("call", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
def test_every_entry_point_refuses_an_unknown_convention(call, unknown):
    with pytest.raises(ArgumentError) as raised:
        call("ndcg@2", convention=unknown)
    hint = f"; did you mean {UNKNOWN[unknown]!r}?" if UNKNOWN[unknown] else ""
    assert str(raised.value) == f"convention must be {EVERY_CONVENTION}, got {unknown!r}{hint}"
    call("ndcg@2", convention=(UNKNOWN[unknown] or "lenskit").upper())  # in any case
