"""evaluate_table of dicts, as other systems hold runs and judgements."""

import numpy as np
import pytest
from asserts import message_of
from tables_problems import EVERY_KIND, KINDS, make, read

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import InputError, InputTypeError, Metrics
from recmetrics.tables import evaluate_table, identify_table

# By score b, c, a for q1 and a for q2, which has no judgement.
RUN = {"q1": {"a": 0.25, "b": 2, "c": 1.5}, "q2": {"a": 1}}
QRELS = {"q1": {"c": 2, "a": 0, "z": 1}, "q3": {"a": 1}}


def values(recs, truth, **options):
    got = read(evaluate_table(recs, truth, "mrr", **options))
    return dict(zip(got["user"], got["mrr"], strict=True))


# --- Dicts ---------------------------------------------------------------------------------------


def test_a_dict_of_scores_and_a_dict_of_relevances():
    got = read(evaluate_table(RUN, QRELS, ["mrr", "cg@3"]))
    assert got["user"] == ["q1", "q2", "q3"]
    assert got["nrecs"] == [3, 1, 0]
    np.testing.assert_array_equal(got["mrr"], [1 / 2, np.nan, 0])
    np.testing.assert_array_equal(got["cg@3"], [2, 0, 0])


@pytest.mark.parametrize("lists", [list, tuple, np.array])
def test_lists_are_in_order_and_sets_are_judgements(lists):
    run = {"u": lists(["x", "y", "z"]), "v": lists(["z"])}
    truth = {"u": {"y", "z"}, "v": {"x"}}
    assert values(run, truth) == {"u": 1 / 2, "v": 0}
    truth = {user: list(items) for user, items in truth.items()}
    assert values(run, truth) == {"u": 1 / 2, "v": 0}
    assert values(run, truth, exclude={"u": {"x"}, "v": set()}) == {"u": 1, "v": 0}


@EVERY_KIND
def test_a_dict_beside_a_frame_is_of_its_library(kind):
    truth = make(kind, {"who": [1, 2], "what": [7, 8], "stars": [1, 3]})
    names = {"user": "who", "item": "what"}
    got = evaluate_table({1: [8, 7], 2: [8]}, truth, "mrr", relevance="stars", **names)
    assert type(got) is type(truth)
    assert read(got)["mrr"] == [1 / 2, 1]
    recs = make(kind, {"who": [1, 1], "what": [7, 8], "points": [1, 2]})
    got = evaluate_table(recs, {1: {8: 5.0, 7: 1}}, "cg@1", score="points", **names)
    assert type(got) is type(truth)
    assert read(got)["cg@1"] == [5]
    train = {1: {8: 1}}
    assert read(evaluate_table(recs, truth, "mrr", score="points", exclude=train, **names))[
        "mrr"
    ] == [1, 0]


def test_a_dict_of_ranks():
    assert values({"u": {"x": 2, "y": 1}}, {"u": ["x"]}, rank="place") == {"u": 1 / 2}


def test_no_item_and_no_user():
    assert values({"u": [], "v": ["x"]}, {"u": ["x"], "v": ["x"]}) == {"v": 1, "u": 0}
    assert values({}, {"u": {"x": 1}}) == {"u": 0}


def test_dicts_are_identified():
    found = identify_table({"u": ["x", "y"]}, {"u": ["y", "z"]}, "50 %", "recall@2")
    assert found.matches[0].metric == "recall@2"


@pytest.mark.parametrize(
    ("recs", "truth", "message"),
    [
        (
            {"user": [1], "item": [2]},
            {},
            "recs is a dict of columns, expected a table or a dict with the items of each user; "
            "type pandas.DataFrame(recs)",
        ),
        ({"u": {"x"}}, {}, "recs of user 'u' is a set, which has no order; expected a list"),
        (
            {"u": ["x"]},
            {"u": "x"},
            "truth of user 'u' is 'x'; expected a list or a set of items, or a dict from items to "
            "numbers",
        ),
        (
            {"u": ["x"], "v": {"x": 1.0}},
            {},
            "recs of user 'v' is a dict, and that of another user a list; expected the same for "
            "every user",
        ),
        (
            {"u": {"x": 1, "y": "high"}},
            {},
            "recs of user 'u' holds 'high' for item 'y', expected a number",
        ),
    ],
)
def test_other_dicts_are_refused(recs, truth, message):
    error = InputError if "high" in message else InputTypeError
    assert message_of(error, evaluate_table, recs, truth, "mrr") == message


@pytest.mark.parametrize("argument", ["pred_scores", "ground_truth", "exclude"])
def test_arrays_name_the_door_of_dicts(argument):
    inputs = {"pred_scores": [[1.0, 2.0]], "ground_truth": [[0, 1]], argument: QRELS}
    name = {"pred_scores": "scores", "ground_truth": "truth"}.get(argument, argument)
    assert message_of(InputTypeError, Metrics.compute, metrics_list="mrr", **inputs) == (
        f"{name} is a dict, expected an array with one entry per user; for a dict of ids type "
        "recmetrics.tables.evaluate_table(recs, truth, metrics_list)"
    )


def test_what_the_message_says_to_type_is_right():
    pd = pytest.importorskip(KINDS[0], reason="pandas is not installed")
    columns = {"user": ["u", "u"], "item": ["x", "y"], "score": [1, 2]}
    assert values(pd.DataFrame(columns), {"u": ["x"]}) == {"u": 1 / 2}
