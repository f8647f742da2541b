"""``Metrics.evaluate`` and ``Evaluation``, and the JSON form of the command with its schema."""

import inspect
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical
from commands import printed, require_tables

import recmetrics
from recmetrics import Evaluation, Evaluator, InputError, InputTypeError, Metrics, StreamEvaluator
from recmetrics._report.summaries import SummaryKeywords
from recmetrics.cli import main

# The first of user 0 is relevant; of user 1 the second; user 2 has none.
SCORES = np.array([[4.0, 3, 2, 1], [1, 2, 4, 3], [1, 2, 3, 4]])
TRUTH = np.array([[1.0, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]])
NEVER = ", and excluded items are never hits"
TARGET = (
    "; if a target may be recommended, as a known link or an item of the session again, do not "
    "exclude it: of a dense or SciPy matrix, and targets in NumPy, type "
    "exclude[numpy.arange(len(targets)), targets] = 0; of lists, type exclude=[[item for item in "
    "items if item != target] for items, target in zip(exclude, targets)]"
)
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "json.md"


def test_values_are_those_of_compute():
    metrics = ["mrr", "coverage@1"]
    found = Metrics.evaluate(SCORES, TRUTH, metrics, n_threads=1)
    np.testing.assert_array_equal(found.values["mrr"], [1, 1 / 2, math.nan])
    assert found.values["coverage@1"] == 3 / 4
    assert_identical(found.values, Metrics.compute(SCORES, TRUTH, metrics))


def test_it_takes_the_keywords_of_compute():
    own, compute = (
        inspect.signature(each).parameters for each in (Metrics.evaluate, Metrics.compute)
    )
    assert [(p.name, p.default) for p in own.values()] == [
        (p.name, p.default) for p in compute.values()
    ]


def test_its_summary_takes_the_keywords_of_summary():
    _, *keywords = inspect.signature(recmetrics.summary).parameters.values()
    types = {name: ref.__forward_arg__ for name, ref in SummaryKeywords.__annotations__.items()}
    assert types == {p.name: p.annotation for p in keywords}


def test_counts_and_notes():
    found = Metrics.evaluate(SCORES, TRUTH, ["mrr", "coverage@1"], exclude=[[], [3], []])
    assert found.counts == (3, {"mrr": 1}, 1, (0, 0, 0, 0))
    assert found.notes == (
        "exclude holds the one relevant item of 1 of the 2 users with relevant items"
        f"{NEVER}{TARGET}",
        "to count users without a value as 0, give undefined='zero'",
    )
    most = Metrics.evaluate(SCORES, TRUTH, "mrr", exclude=TRUTH, undefined="zero")  # no warning
    assert most.notes == (
        f"exclude holds the one relevant item of 2 of the 2 users with relevant items{NEVER}; "
        "are exclude= and the truth the same data? exclude= must be the items seen in training, "
        "and the truth those of the test"
        f"{TARGET}",
        "1 of 3 users has no relevant item and counts as 0",
    )
    # 0 would be the best mean rank.
    assert Metrics.evaluate(SCORES, TRUTH, "mean_rank").notes == ()
    weighed = Metrics.evaluate(
        SCORES, TRUTH, "recall(weigh=snips)@1", propensity=[0.5, 1, 1, 1], undefined="one"
    )
    # (2 + 1)^2 / (2^2 + 1^2)
    assert weighed.notes == (
        "1 of 3 users has no relevant item and counts as 1",
        "weighed by propensities: 2 relevant items, with the information of 1.8 of equal weight "
        "(effective number)",
    )


@pytest.mark.parametrize(
    ("metrics", "options", "notes"),
    [
        (["ndcg@1", "recall@2"], {"convention": "rectorch"}, ()),  # which leaves the users out
        (["mrr", "novelty@1"], {}, ("2 of 4 users have no relevant item and count as 0 in mrr",)),
        # User 1 has no relevance of 3 either, and user 0 has no relevant item in the stratum.
        (["recall(rel=3)@1", "recall(of=b)@1"], {}, ()),
        # A sum over no item is 0, whatever a mean counts as.
        (
            ["dcg@1", "mrr"],
            {"undefined": "one"},
            (
                "2 of 4 users have no relevant item and count as 0 in dcg@1",
                "2 of 4 users have no relevant item and count as 1 in mrr",
            ),
        ),
    ],
)
def test_users_who_count_as_a_number(metrics, options, notes):
    keywords = {
        "undefined": "zero",
        "popularity": [1, 0.5, 0.5, 0.5],
        "strata": {"b": [3]},
    } | options
    if "convention" in options:
        keywords = options
    scores = np.vstack([SCORES, SCORES[:1]])
    truth = np.vstack([TRUTH, TRUTH[2:]])
    got = Metrics.evaluate(scores, truth, metrics, **keywords).notes
    assert tuple(note for note in got if "users have" in note) == notes


def test_relevant_items_that_cannot_be_hits_are_counted():
    scores = SCORES.copy()
    scores[0] = np.nan
    found = Metrics.evaluate(
        scores, np.ones((3, 4)), "mrr", nan="exclude", exclude=[[], [0, 2], []]
    )
    np.testing.assert_array_equal(found.values["mrr"], [0, 1, 1])
    assert found.notes[:2] == (
        "1 of 3 users has no item that may be recommended, so no hit",
        "exclude holds 2 of 12 relevant items: they are never hits, but count as relevant",
    )
    one_target = Metrics.evaluate(SCORES, [0, 1, 2], "mrr", exclude=[[3], [], []])
    assert one_target.notes == ()


def test_relevant_items_that_auc_cannot_compare_are_counted():
    """Item 3 of user 1 is relevant, and has no stored score, or is no candidate."""
    stored = sp.csr_array(np.where(np.arange(4) < 3, SCORES, 0.0))
    note = (
        "auc compares only items that may be recommended, and leaves out 1 of 2 relevant items "
        "(excluded, no candidate, or without a stored score)"
    )
    truth = TRUTH > 0
    for found in (
        Metrics.evaluate(stored, truth, "auc"),
        Metrics.evaluate(SCORES, truth, "auc", candidates=[0, 1, 2]),
    ):
        assert note in found.notes
    for scores, metric in ((SCORES, "auc"), (stored, "auc@2"), (stored, "mrr")):
        assert not any("auc" in note for note in Metrics.evaluate(scores, truth, metric).notes)


def test_it_prints_as_its_summary_and_notes():
    found = Metrics.evaluate(SCORES, TRUTH, "mrr")
    expected = str(recmetrics.summary(found.values))
    assert (
        str(found)
        == repr(found)
        == f"{expected}\nto count users without a value as 0, give undefined='zero'"
    )
    html = recmetrics.summary(found.values, notes=found.notes)._repr_html_()
    assert found._repr_html_() == html
    chance = Metrics.chance(TRUTH, "mrr")
    text = found.summary(levels={"chance": chance}, weights=[3, 1, 1]).to_text()
    # 1, 1/2, 1/3 and 1/4 are the reciprocal ranks by chance.
    level = (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    assert text.splitlines()[2].split()[1:3] == [f"{(3 * 1 + 1 / 2) / 4:.4f}", f"{level:.4f}"]


def test_an_evaluation_without_any_value_prints():
    found = Metrics.evaluate(SCORES, np.zeros((3, 4)), "mrr")
    assert "no user has a value" in str(found)
    assert "no user has a value" in found._repr_html_()


def test_definitions_in_full():
    found = Metrics.evaluate(SCORES, TRUTH, ["recall@2", "mrr"], ties="range").to_dict()
    assert found["definitions"]["recall@2"] == "recall(denom=capped, weigh=no)@2"
    values = {metric: [0.5, 1.0] for metric in ("recall(of=some)@2", "share(of=some)@2")}
    definitions = Evaluation(values).to_dict()["definitions"]
    assert definitions["recall(of=some)@2"] == "recall(denom=capped, weigh=no, of=some)@2"
    assert definitions["share(of=some)@2"].count("of=some") == 1
    assert found["ties"]["recall@2"] == "expected"
    assert found["ties"]["mrr[least]"] == "least"
    assert found["undefined"]["mrr"] == "nan"


def test_reports_know_the_convention_of_their_values():
    ranx = Metrics.evaluate(SCORES, TRUTH, "recall@2", convention="ranx")
    evaluator = Evaluator(TRUTH, "recall@2", convention="ranx")
    evaluator.update(SCORES)
    stream = StreamEvaluator("recall@2", convention="ranx", keep="means")
    stream.update({"a": SCORES, "b": SCORES}, TRUTH)
    known = "ranx", {"recall@2": "recall(denom=relevant, weigh=no)@2"}
    comparison = recmetrics.compare({"a": ranx, "b": evaluator})
    for report in (
        ranx,
        ranx.summary(),
        recmetrics.summary(evaluator),
        comparison,
        comparison.gate("recall@2 >= -0.1"),
        recmetrics.compare(stream),
    ):
        document = report.to_dict()
        assert (document["convention"], document["definitions"]) == known
    restored = recmetrics.summary(Evaluator.from_state(evaluator.state())).to_dict()
    assert (restored["convention"], restored["definitions"]) == (None, known[1])
    for results in ({"a": ranx, "b": ranx.values}, {"a": ranx.values, "b": ranx.values}):
        document = recmetrics.compare(results).to_dict()
        assert (document["convention"], document["definitions"]) == (None, {"recall@2": None})


def test_values_of_other_methods():
    scores, truth = [3, 2, 1, 2, 1], [0, 1, 0, 1, 0]  # the second group has no value
    values = Metrics.compute_groups(scores, truth, "mrr", sizes=[2, 1, 2])
    found = Evaluation(values, notes=["May"], noun="group", undefined="nan")
    assert found.notes == ("May", "to count groups without a value as 0, give undefined='zero'")
    assert "over groups" in str(found)
    other = Evaluation({"of another package": np.array([1.0, math.nan])})
    document = other.to_dict()
    assert (document["undefined"], document["ties"]) == ({}, {})
    assert (document["means"][0]["mean"], other.notes) == (1.0, ())


def test_one_number_is_a_value_of_all_lists_or_a_mean():
    half = np.array(0.3) + np.array(0.2)  # a number, not an array
    assert Evaluation({"coverage@1": half}).to_dict()["means"][0]["mean"] == 0.5
    with pytest.raises(InputTypeError, match=r"^metric 'hit@1' of values is one number, 0.5; exp"):
        Evaluation({"hit@1": half})
    # Of a comparison of two values, such as coverage > 0.5.
    for answer in (True, np.array(0.5) > 0.4):
        message = r"^metric 'coverage@1' of values is True, of dtype bool; expected real numbers$"
        for call in (Evaluation, recmetrics.summary):
            with pytest.raises(InputTypeError, match=message):
                call({"coverage@1": answer})


# --- The form ------------------------------------------------------------------------------------


def valid(document):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = json.loads(PAGE.with_name("schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(document)


@pytest.fixture
def documents(tmp_path, monkeypatch, capsys):
    """Real output of the command."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    np.save("truth.npy", TRUTH)
    Path("by.txt").write_text("x\ny\nx\n")
    evaluate = ["evaluate", "scores.npy", "truth.npy", "-m", "mrr", "coverage@1", "--json"]
    compare = ["compare", "a.npz", "b.npz", "--json"]
    documents = [
        printed(capsys, *evaluate, "--per-user", "a.npz", "--audit"),
        printed(capsys, *evaluate, "--per-user", "b.npz", "--chance"),
        printed(capsys, *evaluate[:5], "--ties", "range", "--convention", "ranx", "--json"),
        printed(capsys, *compare, "--test", "wilcoxon", "--correction", "none"),
        printed(capsys, *compare, "--by", "by.txt", "--baseline", "a"),
    ]
    assert main([*compare, "--gate", "mrr >= 0", "--movers", "1"]) == 3  # open
    document, err = capsys.readouterr()
    assert err == ""
    documents.append(document)
    return [json.loads(each) for each in documents]


def test_the_schema_holds_of_real_output(documents):
    assert all(map(valid, documents))
    assert valid(recmetrics.summary({"mrr": [0.5, 1.0]}, weights=[1, 2]).to_dict())
    assert valid(recmetrics.summary({"m": [0.5, 1.0]}, n_resamples=100).to_dict())
    [wilcoxon] = [each for each in documents[3]["differences"] if each["metric"] == "mrr"]
    assert {"p_wilcoxon", "p_wilcoxon_uncorrected"} < {*wilcoxon}
    for changed in (
        {key: each for key, each in wilcoxon.items() if key != "p_wilcoxon_uncorrected"},
        wilcoxon | {"p_wilcoxon": 2.0},
    ):
        assert not valid(documents[3] | {"differences": [changed]})
    for key in ("format", "definitions", "means", "notes", "confidence", "observed"):
        assert not valid({name: each for name, each in documents[0].items() if name != key})
    assert not valid(documents[0] | {"mean": 0.5})
    for key in ("gate", "movers"):
        assert not valid(documents[-1] | {key: [{"passed": 1}]})


DESCRIBED = set(re.findall(r"`(\w+)`", PAGE.read_text()))


def test_the_page_describes_each_key_of_real_output(documents):
    assert {key for document in documents for key in document} <= DESCRIBED


def test_the_page_and_the_schema_hold_of_groups(tmp_path, monkeypatch, capsys):
    require_tables()
    monkeypatch.chdir(tmp_path)
    Path("g.csv").write_text("group,score,relevance\nq,1,0\nq,2,1\nr,1,1\n")
    document = json.loads(printed(capsys, "evaluate", "g.csv", "-m", "mrr", "--json"))
    assert {*document} <= DESCRIBED
    assert valid(document)


def test_the_name_of_a_metric_is_a_string():
    message = r"^metric 1 of values: names of metrics must be strings$"
    with pytest.raises(InputError, match=message):
        Evaluation({1: [1.0, 0.5]})
