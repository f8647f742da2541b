"""evaluate_table of dicts and of files, as other systems hold runs and judgements."""

import gzip
import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from asserts import message_of
from tables_problems import EVERY_KIND, KINDS, WHOLE_AND_IN_PARTS, make, read

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import InputError, InputTypeError, Metrics, RecmetricsWarning
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


def test_arrays_of_one_id_are_the_id():
    assert values({1: [np.array(3), np.array(5)]}, {1: [5]}) == {1: 1 / 2}
    assert values({"u": ["y", "x"]}, {"u": (np.array("x"),)}) == {"u": 1 / 2}


def test_what_is_read_once_is_no_item():
    message = message_of(InputTypeError, values, {"u": iter(["x"])}, {"u": ["x"]})
    assert message.endswith("or a dict from items to numbers")


def test_tensors_in_dicts_are_lists_and_ids():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    one, two, three, five = map(torch.tensor, (1, 2, 3, 5))
    of_lists = {1: torch.tensor([3, 5]), 2: torch.tensor([5])}
    of_items = {1: [three, five], 2: [five]}
    of_scores = {one: {three: 0.5, five: 0.25}, two: {5: 0.5}}
    truth = {1: [5], 2: {5}}
    for recs in (of_lists, of_items, of_scores):
        assert values(recs, truth) == {1: 1 / 2, 2: 1}
    for tensors in ({1: torch.tensor([5]), 2: [five]}, {one: [five], two: {five}}):
        assert values({1: [3, 5], 2: [5]}, tensors) == {1: 1 / 2, 2: 1}
    assert values({one: [5], two: []}, truth) == {1: 1, 2: 0}
    top = {user: torch.topk(torch.tensor([0.25, 0.0, 1.0, 0.5]), 2) for user in (1, 2)}
    told = message_of(InputTypeError, lambda: values(top, {1: [3], 2: [2]}))
    scored = "{user: dict(zip(*pairs[::-1])) for user, pairs in recs.items()}"
    assert f"; for ids and scores type {scored}; for ids and distances" in told
    assert values(eval(scored, {"recs": top}), {1: [3], 2: [2]}) == {1: 1 / 2, 2: 1}
    for tensor in (three, torch.tensor([[3, 5]])):
        told = message_of(InputTypeError, lambda recs=tensor: values({1: recs}, truth))
        assert "expected a list or a set of items" in told


def test_arrays_of_other_libraries_in_dicts_are_lists():
    """Arrays of JAX, for one, come as the values of a dict."""

    class Array:
        ndim = 1

        def __init__(self, items):
            self.tolist = lambda: items

        def __array__(self, dtype=None, copy=None):
            return np.array(self.tolist(), dtype)

        def __len__(self):
            return len(self.tolist())

        def __iter__(self):
            return iter(self.tolist())

    recs = {1: Array([3, 5]), 2: Array([5])}
    assert values(recs, {1: Array([5]), 2: [5]}) == {1: 1 / 2, 2: 1}


@WHOLE_AND_IN_PARTS
def test_columns_in_dicts_are_lists(chunks):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    chunked = pyarrow.chunked_array([[3], [5]])
    for column in (polars.Series([3, 5]), pyarrow.array([3, 5]), chunked, pandas.Index([3, 5])):
        assert values({1: column, 2: []}, {1: [5], 2: [5]}, chunks=chunks) == {1: 1 / 2, 2: 0}
        assert values({1: [5]}, {1: column}, chunks=chunks) == {1: 1}
    with pytest.raises(InputError, match=r"row 1 .* is null or NaN, expected an id"):
        values({1: pyarrow.array([3, None])}, {1: [5]}, chunks=chunks)
    lazy = polars.LazyFrame({"item": [3]})
    for table in (pyarrow.table({"item": [3]}), lazy, pandas.DataFrame({"item": [3]})):
        told = message_of(InputTypeError, lambda recs=table: values({1: recs}, {1: [3]}))
        assert told.startswith(f"recs of user 1 is a {type(table).__name__}; expected a list")
        assert ("; " in told.partition("; ")[2]) == (type(table) is pandas.DataFrame)


@EVERY_KIND
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@WHOLE_AND_IN_PARTS
def test_ids_of_a_file_are_integers_beside_integers(kind, suffix, chunks, tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    a, b, c = (2**53 + number for number in range(3))  # a and b are the same float
    table = polars.DataFrame({"user": [1, 2], "item": [b, c]})
    path = tmp_path / f"truth{suffix}"
    table.write_csv(path) if suffix == ".csv" else table.write_parquet(path)
    recs = make(kind, {"user": [1, 1, 2], "item": [a, b, c], "score": [2.0, 1.0, 3.0]})
    assert values(recs, path, chunks=chunks) == {1: 1 / 2, 2: 1 / 1}
    of_dict = {1: [c, b], 2: [c]}
    assert values(of_dict, path, chunks=chunks, catalogue=path) == {1: 1 / 2, 2: 1 / 1}
    table.with_columns(polars.format("x{}", "item")).write_csv(tmp_path / "text.csv")
    message = message_of(InputTypeError, values, recs, tmp_path / "text.csv", chunks=chunks)
    assert message.startswith("recs, column 'item' holds integers")


@WHOLE_AND_IN_PARTS
@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("true", "false")])
def test_bools_of_a_file_are_relevances_as_those_of_a_frame(yes, no, chunks, tmp_path):
    """pandas writes True, polars true; in other columns they are no numbers."""
    recs = {1: [5, 6, 7], 2: [7, 5]}
    path = tmp_path / "clicks.csv"
    path.write_text(f"user,item,click\n1,5,{no}\n1,7,{yes}\n2,7,{yes}\n")
    truth = make("polars", {"user": [1, 1, 2], "item": [5, 7, 7], "click": [False, True, True]})
    for table in (path, truth):
        assert values(recs, table, relevance="click", chunks=chunks) == {1: 1 / 3, 2: 1}
        with pytest.warns(RecmetricsWarning, match="to read it as grades type relevance='click'"):
            assert values(recs, table, chunks=chunks) == {1: 1, 2: 1}
    (tmp_path / "recs.csv").write_text(f"user,item,score\n1,5,{yes}\n")
    with pytest.raises(InputError, match=f"holds '{yes}' as score; expected a number"):
        evaluate_table(tmp_path / "recs.csv", path, "mrr", chunks=chunks)


def test_arrays_beside_files_are_refused_as_beside_frames(tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    recs = polars.DataFrame({"user": [1], "item": [5], "score": [2.0]})
    recs.write_parquet(tmp_path / "truth.parquet")
    for truth in (recs, tmp_path / "truth.parquet"):
        options = {"popularity": np.ones(3)}
        message = message_of(InputTypeError, evaluate_table, recs, truth, "novelty@2", **options)
        assert message.startswith("popularity is of type ndarray, expected a pandas or polars ")


def test_arrays_in_a_dict_are_as_the_lists_of_their_values():
    days = [datetime(2026, 1, day) for day in (1, 2, 3)]
    for items in ([1, 2, 3], ["x", "y", "z"], days):
        recs = {"u": np.array(items, "M8[s]" if items is days else None)}
        values = evaluate_table(recs, {"u": items[1:2]}, "mrr")
        assert values["mrr"].to_list() == [1 / 2]


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


def test_numbers_of_any_size():
    assert values({"u": {"x": 2**70, "y": 1.5, "z": 2**71}}, {"u": ["x"]}) == {"u": 1 / 2}


def test_no_item_and_no_user():
    assert values({"u": [], "v": ["x"]}, {"u": ["x"], "v": ["x"]}) == {"v": 1, "u": 0}
    assert values({}, {"u": {"x": 1}}) == {"u": 0}


@WHOLE_AND_IN_PARTS
@pytest.mark.parametrize(
    ("recs", "truth"),
    [
        ({0: [1, 2], 1: [], 2: [3]}, {0: [1], 1: [], 2: [4]}),
        ({0: [1, 2], 1: np.array([]), 2: [3]}, {0: {1}, 2: {4}}),
        ({0: [1, 2], 2: [3]}, {0: {1: 1}, 1: {}, 2: {4: 1}}),
        ({0: {1: 2, 2: 1}, 1: {}, 2: {3: 1}}, {0: {1: 1}, 1: {}, 2: {4: 1}}),
    ],
)
def test_users_without_items_have_a_row(recs, truth, chunks):
    """Of ranked lists, too: a hit of 3 users, of whom one has neither items nor truth."""
    got = read(evaluate_table(recs, truth, ["hit@2", "cg@2"], undefined="zero", chunks=chunks))
    rows = zip(*(got[name] for name in ("user", "nrecs", "ntruth", "hit@2")), strict=True)
    assert sorted(rows) == [(0, 2, 1, 1), (1, 0, 0, 0), (2, 1, 1, 0)]
    ranked = Metrics.compute_ranked([[1, 2], [], [3]], [[1], [], [4]], "hit@2", undefined="zero")
    assert ranked["hit@2"].tolist() == [1, 0, 0]
    assert values(recs, truth, include_missing=False, chunks=chunks) == {0: 1, 2: 0}


@WHOLE_AND_IN_PARTS
def test_users_without_items_beside_frames(chunks):
    recs = make("pandas", {"user": [0, 0], "item": [1, 1], "model": ["m", "n"]})
    options = {"in_order": True, "by": "model", "chunks": chunks}
    got = read(evaluate_table(recs, {0: [1], 4: []}, "cg@1", **options))
    assert sorted(zip(got["model"], got["user"], got["cg@1"], strict=True)) == [
        ("m", 0, 1),
        ("m", 4, 0),
        ("n", 0, 1),
        ("n", 4, 0),
    ]
    truth = make("pandas", {"user": [0, 5], "item": [1, 2]})
    assert values({0: [2, 1], 5: [], 6: []}, truth, undefined="zero", chunks=chunks) == {
        0: 1 / 2,
        5: 0,
        6: 0,
    }
    got = read(evaluate_table({0: [], 1: []}, {1: [], 0: []}, "cg@1", chunks=chunks))
    assert sorted(got["user"]) == [0, 1]


def test_users_without_items_are_in_a_mean_that_is_identified():
    recs = {0: [1, 2], 1: [], 2: [3]}
    match = identify_table(recs, {0: [1], 1: [], 2: [4]}, "33.3 %", "hit@2").matches[0]
    assert "zero" in str(match)


def test_dicts_without_pandas_are_tables_of_polars(monkeypatch):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.setattr("recmetrics.tables._forms.find_spec", lambda name: name == "polars" or None)
    assert type(evaluate_table(RUN, QRELS, "mrr")) is polars.DataFrame
    monkeypatch.setattr("recmetrics.tables._forms.find_spec", lambda _: None)
    message = message_of(InputTypeError, evaluate_table, RUN, QRELS, "mrr")
    assert message.startswith("a dict becomes a table of polars, which is not installed; type: ")


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
            "numbers; for one item of each user type {user: [item] for user, item in "
            "truth.items()}",
        ),
        (
            {"u": ["x"]},
            {"u": ["x"], "v": "x"},
            "truth of user 'v' is 'x'; expected a list or a set of items, or a dict from items to "
            "numbers",
        ),
        (
            {"u": ["x"]},
            {"u": None},
            "truth of user 'u' is None; expected a list or a set of items, or a dict from items to "
            "numbers",
        ),
        (
            {"u": [["x", "y", "z"], "a"]},
            {},
            "recs of user 'u' holds ['x', 'y', 'z'], expected the id of an item",
        ),
        (
            {"u": [(1, 2), (3, 0.5)]},
            {},
            "recs of user 'u' holds (1, 2), expected the id of an item; for pairs of an item and "
            "its number type {user: dict(pairs) for user, pairs in recs.items()}",
        ),
        (
            {"u": ["x"]},
            {"u": ([], [])},
            "truth of user 'u' holds [], expected the id of an item; for ids and relevances type "
            "{user: dict(zip(*pairs)) for user, pairs in truth.items()}",
        ),
        (
            {1: np.array([1, 2]), 2: np.array([[1, 2]])},
            {},
            "recs of user 2 is array([[1, 2]]); expected a list or a set of items, or a dict from "
            "items to numbers",
        ),
        (
            {"u": ["x"], "v": {"x": 1.0}},
            {},
            "recs of user 'v' is a dict, and that of user 'u' a list; expected the same for "
            "every user",
        ),
        (
            {"u": {"x": 1, "y": "high"}},
            {},
            "recs of user 'u' holds 'high' for item 'y', expected a number",
        ),
        (
            {"u": ["x"]},
            {"u": {"x": (5, 1700)}},
            "truth of user 'u' holds (5, 1700) for item 'x', expected a number",
        ),
        (
            {"u": {"x": 1, "y": 10**400}},
            {},
            f"recs of user 'u' holds {'1' + 39 * '0'} for item 'y', expected a number",
        ),
        (
            {"m": {"u": ["x"], "v": ["y", "z"]}},
            {},
            "recs of user 'm' holds ['x'] for item 'u', expected a number; if recs has a dict for "
            "each model, type {model: evaluate_table(lists, truth, ...) for model, lists in "
            "recs.items()}",
        ),
        (
            {"u": [("x", 1.5), ("y", 1)]},
            {},
            "recs of user 'u' holds ('x', 1.5), expected the id of an item; for pairs of an item "
            "and its number type {user: dict(pairs) for user, pairs in recs.items()}",
        ),
        (
            {("u", 1): ["x"]},
            {("u", 1): ["x"]},
            "recs has the key ('u', 1), expected the id of a user; type {'/'.join(map(str, key)): "
            "items for key, items in recs.items()}",
        ),
        (
            {"u": ["x"]},
            {"u": {("x", 1): 1.0}},
            "truth of user 'u' has the key ('x', 1), expected the id of an item; type {user: "
            "{'/'.join(map(str, key)): number for key, number in items.items()} for user, items in "
            "truth.items()}",
        ),
    ],
)
def test_other_dicts_are_refused(recs, truth, message):
    if "type pandas." in message:
        pytest.importorskip("pandas", reason="pandas is not installed")
    error = InputError if "expected a number" in message else InputTypeError
    assert message_of(error, evaluate_table, recs, truth, "mrr") == message


@WHOLE_AND_IN_PARTS
@pytest.mark.parametrize("argument", ["recs", "truth", "exclude"])
@pytest.mark.parametrize("padded", [np.array([5, 7, -1]), [5, 7, -1, -1]])
def test_lists_that_are_padded_are_refused(padded, argument, chunks):
    lists = {"recs": {"u": [5, 7]}, "truth": {"u": [7]}, argument: {"t": [4], "u": padded}}
    message = message_of(InputError, values, **lists, chunks=chunks)
    assert message.startswith(f"{argument} of user 'u' holds the item -1, which pads lists; type ")


def test_an_item_minus_one_is_an_id_in_a_table_and_beside_scores():
    recs = make("pandas", {"user": [1, 1], "item": [5, -1], "rank": [1, 2]})
    assert values(recs, make("pandas", {"user": [1], "item": [-1]})) == {1: 1 / 2}
    assert values({1: {5: 0.5, -1: 0.25}}, {1: {-1: 1}}) == {1: 1 / 2}
    assert values({1: [5, "-1"]}, {1: ["-1"]}) == {1: 1 / 2}


@pytest.mark.parametrize(
    ("hit", "advice"),
    [
        (
            {"score": np.float32(0.5), "id": "x"},
            "; for the id 'id' and the number 'score' type {user: {hit['id']: hit['score'] for hit "
            "in hits} for user, hits in recs.items()}",
        ),
        ({"id": "x"}, ""),
        ({"score": 0.5}, ""),
    ],
)
def test_dicts_in_the_place_of_items_are_refused(hit, advice):
    message = message_of(InputTypeError, values, {"u": [hit]}, {"u": ["x"]})
    assert message.startswith("recs of user 'u' holds {'")
    assert message.endswith(f"}}, expected the id of an item{advice}")


def test_dicts_that_may_be_exchanged_are_told():
    qrels = {user: {"a": 1, "b": 0, "c": 2} for user in ("q1", "q2")}
    run = {user: {"a": 0.1, "b": 0.9, "c": 0.3} for user in qrels}
    with pytest.warns(RecmetricsWarning, match="are recs and truth exchanged"):
        values(qrels, run)
    assert values(run, qrels) == {"q1": 1 / 2, "q2": 1 / 2}
    fractions = {user: {"a": 0.5, "b": 0.25} for user in qrels}  # grades between 0 and 1
    assert values(run, fractions) == {"q1": 1, "q2": 1}
    whole = {user: {"a": 0, "b": 1, "c": 2} for user in qrels}  # scores of votes
    assert values(whole, qrels) == {"q1": 1, "q2": 1}
    assert values(whole, {user: ["a"] for user in qrels}) == {"q1": 1 / 3, "q2": 1 / 3}


@WHOLE_AND_IN_PARTS
@pytest.mark.parametrize("argument", ["recs", "truth"])
def test_a_list_for_each_user_is_told_of_dicts(argument, chunks):
    lists = {"recs": {0: ["x"]}, "truth": {0: ["x"]}, argument: [["x"], ["y"]]}
    assert message_of(InputTypeError, values, **lists, chunks=chunks) == (
        f"{argument} is of type list, expected a pandas or polars DataFrame or a pyarrow Table; "
        "evaluate_table takes a dict of the items of each user, too: for a list of users 0, 1, 2, "
        f"... type dict(enumerate({argument}))"
    )
    lists[argument] = [{"user": 0, "item": "x"}]  # rows of a table
    message = message_of(InputTypeError, values, **lists, chunks=chunks)
    assert message.endswith(f"a pyarrow Table; type pandas.DataFrame({argument})")


def test_rows_of_two_or_three_are_told_of_a_table():
    """Tuples are read as pairs; lists may be those of users, too, and of several lengths are."""
    both = "for rows of user, item type .+; .+ for a list of users 0, 1, 2, ... type"
    refused = (
        ([("u", "x"), ("v", "x")], r"for rows of user, item type [^;]+$"),
        ([["u", "x"], ["v", "x"]], both),
        ([("u", "x"), ("v", "x", "y")], "Table; evaluate_table takes a dict"),
        ([(["x"], [2.0]), (["y"], [1.0])], "Table; evaluate_table takes a dict"),
        ([{"x", "y"}, {"x", "z"}], "Table; evaluate_table takes a dict"),
        ([{"x": 1, "y": 2}, {"z": 1}], "Table; evaluate_table takes a dict"),
        ([{5: 1.0}], "Table; evaluate_table takes a dict"),
        ([{"user": 1, "item": 5}, {"user": 2}], r"type pandas.DataFrame\(truth\)$"),
        ([np.array(5)], "a pyarrow Table$"),
        (np.ones((4, 2)), r"for rows of user, item type [^;]+$"),
        (np.ones((4, 5)), "a pyarrow Table$"),
        (np.array(0.0), "a pyarrow Table$"),
        (np.empty((0, 2)), "a pyarrow Table$"),
        (np.array([("u", 1)], [("user", "U1"), ("item", int)]), r"type pandas.DataFrame\(truth\)$"),
    )
    for truth, told in refused:
        assert re.search(told, message_of(InputTypeError, values, {"u": ["x"]}, truth)), truth


def test_columns_without_names_get_no_code():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    truth = pandas.DataFrame({"user": ["u"], "item": ["x"]})
    for column in (truth["item"], pandas.Series(["x"], ["u"]).rename_axis("user")):
        message = message_of(InputTypeError, values, {"u": ["x"]}, column)
        assert message.endswith(
            "is of type Series, expected a pandas or polars DataFrame or a pyarrow Table"
        )
    shares = truth["item"].value_counts(normalize=True)
    options = {"popularity": shares}
    message = message_of(InputTypeError, evaluate_table, truth, truth, "novelty@2", **options)
    assert message.endswith("a pyarrow Table; type popularity.reset_index()")


@pytest.mark.parametrize("argument", ["pred_scores", "ground_truth", "exclude"])
def test_arrays_name_the_door_of_dicts(argument):
    inputs = {"pred_scores": [[1.0, 2.0]], "ground_truth": [[0, 1]], argument: QRELS}
    name = {"pred_scores": "scores", "ground_truth": "truth"}.get(argument, argument)
    assert message_of(InputTypeError, Metrics.compute, metrics_list="mrr", **inputs) == (
        f"{name} is a dict, expected an array with one entry per user; for a dict of ids type "
        "recmetrics.tables.evaluate_table(recs, truth, metrics_list)"
    )


@pytest.mark.parametrize("argument", ["ground_truth", "exclude", "candidates"])
def test_a_dict_of_row_numbers_beside_arrays(argument):
    inputs = {"pred_scores": [[1.0, 2.0]], "ground_truth": [[0, 1]], argument: {0: [1]}}
    name = {"ground_truth": "truth"}.get(argument, argument)
    assert message_of(InputTypeError, Metrics.compute, metrics_list="mrr", **inputs).endswith(
        "; beside an array with a row for each user 0, 1, 2, ... type "
        f"[{name}.get(user, []) for user in range(n_users)]"
    )


def test_what_the_message_says_to_type_is_right():
    pd = pytest.importorskip(KINDS[0], reason="pandas is not installed")
    columns = {"user": ["u", "u"], "item": ["x", "y"], "score": [1, 2]}
    assert values(pd.DataFrame(columns), {"u": ["x"]}) == {"u": 1 / 2}


def test_ids_of_two_types_are_refused_where_the_library_has_one():
    pytest.importorskip("polars", reason="polars is not installed")
    recs = {"u": [1, "x"], 2: [1]}
    assert message_of(InputTypeError, values, recs, {"u": ["x"]}, chunks=2).startswith(
        "recs cannot be a table of polars, expected ids of one type, such as strings, "
    )


# --- Files ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The run of two users, its truth, and what user 1 had in training."""
    pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.chdir(tmp_path)
    Path("recs.csv").write_text("model,user,item,score\nA,1,7,3\nA,1,8,2\nA,2,7,1\n")
    Path("truth.csv").write_text("user,item\n1,8\n2,7\n")
    Path("train.csv.gz").write_bytes(gzip.compress(b"item;user\n7;1\n"))
    return tmp_path


def test_paths_of_files(folder):
    assert values("recs.csv", Path("truth.csv")) == {"1": 1 / 2, "2": 1}
    assert values(folder / "recs.csv", "truth.csv", exclude="train.csv.gz") == {"1": 1, "2": 1}
    got = read(evaluate_table("recs.csv", "truth.csv", "mrr", by="model"))
    assert got["model"] == ["A", "A"]
    found = identify_table("recs.csv", "truth.csv", 0.75, "mrr")
    assert found.matches[0].metric == "mrr"


@EVERY_KIND
@pytest.mark.usefixtures("folder")
def test_a_file_beside_a_frame_is_of_its_library(kind):
    """Ids of files are text."""
    truth = make(kind, {"user": ["1", "2"], "item": ["8", "8"]})
    got = evaluate_table("recs.csv", truth, "mrr")
    assert type(got) is type(truth)
    assert read(got)["mrr"] == [1 / 2, 0]
    assert read(evaluate_table("recs.csv", {"1": {"8"}}, "mrr"))["mrr"][0] == 1 / 2


@EVERY_KIND
@pytest.mark.parametrize("text", ["1_000", " 1000", "\u0661\u0660\u0660\u0660", "1000.0", "1e3"])
def test_what_is_an_integer_in_a_file_is_the_same_beside_frames_of_every_library(
    kind, text, tmp_path
):
    """Python reads more texts as integers than polars, which reads files."""
    pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "truth.csv"
    path.write_text(f"user,item\n{text},7\n", encoding="utf-8")
    recs = make(kind, {"user": [1000], "item": [7]})
    assert "expected ids of one type" in message_of(InputTypeError, values, recs, path)
    path.write_text("user,item\n+1000,7\n01001,8\n")
    assert values(recs, path) == {1000: 1, 1001: 0}


@pytest.mark.usefixtures("folder")
def test_tables_of_items_in_files():
    Path("features.csv").write_text("item,x,y,title\n7,1,0,a\n8,0,2,b\n")
    Path("similarity.csv").write_text("item,other,value\n7,8,0.25\n")
    Path("shares.csv").write_text("item,share\n7,0.5\n8,0.25\n")
    Path("items.csv").write_text("item\n8\n9\n10\n7\n")
    Path("genres.csv").write_text("item,drama,comedy\n7,1,0\n8,1,0\n")
    Path("profile.csv").write_text("user,drama,comedy\n1,1,0\n2,1,0\n")

    def value(metric, **files):
        return read(evaluate_table("recs.csv", "truth.csv", metric, **files))[metric][0]

    assert value("diversity", features="features.csv") == 1  # of orthogonal vectors
    assert value("diversity", similarity="similarity.csv") == 1 - 0.25
    assert value("popularity", popularity="shares.csv") == (0.5 + 0.25) / 2
    assert value("popularity", popularity="truth.csv") == (1 / 2 + 1 / 2) / 2
    assert value("coverage@2", catalogue="items.csv") == 2 / 4
    assert value("calibration@2", genres="genres.csv", profile="profile.csv") == 0  # all drama
    assert value("recall(of=rest)@1", strata={"rest": Path("shares.csv")}) == 0


@pytest.mark.parametrize("cell", ["", "x", "0,5"])
@pytest.mark.usefixtures("folder")
def test_a_cell_without_a_number_does_not_drop_a_column_of_a_file_of_items(cell):
    """Vectors of the other columns alone would have another diversity."""
    Path("features.csv").write_text(f"item;x;y\n7;1;0\n8;1;{cell}\n")
    message = message_of(
        InputError, evaluate_table, "recs.csv", "truth.csv", "diversity", features="features.csv"
    )
    assert message == f"features 'features.csv', line 3: holds {cell!r} as y; expected a number"
    Path("profile.csv").write_text("user,note,comedy\n1,a,1\n2,b,\n")
    message = message_of(
        InputError,
        evaluate_table,
        "recs.csv",
        "truth.csv",
        "calibration",
        genres=make("polars", {"item": ["7", "8"], "comedy": [1, 0]}),
        profile="profile.csv",
    )
    assert message == "profile 'profile.csv', line 3: holds '' as comedy; expected a number"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "s3://bucket/recs.parquet",
            "type polars.scan_parquet('s3://bucket/recs.parquet') for the",
        ),
        ("folder", ""),  # which holds none
        ("recs.parquet", ""),
        ("days-*.csv", ""),
    ],
)
def test_what_is_no_file_is_told_to_be_read_by_polars_only_if_it_is_parquet(name, advice, tmp_path):
    pytest.importorskip("polars", reason="polars is not installed")
    (tmp_path / "folder").mkdir()
    path = name if "://" in name else tmp_path / name
    message = message_of(InputError, values, path, {"1": ["8"]})
    assert message.startswith("cannot open recs ")
    assert ("polars" in message) == bool(advice)
    assert advice in message


@pytest.mark.parametrize("chunks", [None, 2])
@pytest.mark.parametrize("label", ["recs", "truth", "exclude"])
def test_lists_in_a_file_are_refused_as_those_in_a_frame(label, chunks, tmp_path):
    """The message has the code that makes a row of each item."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    lists = polars.DataFrame({"user": ["1", "2"], "item": [["7", "8"], ["8"]]})
    rows = lists.explode("item")
    tables = {"recs": rows, "truth": rows, "exclude": rows}
    told = message_of(InputTypeError, evaluate_table, metrics_list="mrr", **tables | {label: lists})
    path = tmp_path / "lists.parquet"
    lists.write_parquet(path)
    message = message_of(
        InputTypeError, evaluate_table, metrics_list="mrr", chunks=chunks, **tables | {label: path}
    )
    assert message == f"{told} (before this, type {label} = polars.read_parquet({str(path)!r}))"
    assert f"; type {label} = {label}.explode(['item']).drop_nulls('item')" in message


@pytest.mark.parametrize("chunks", [None, 2])
@pytest.mark.parametrize("cell", ["", "n/a"])
def test_a_cell_without_a_number_does_not_hide_the_column_that_orders_a_file(
    cell, chunks, tmp_path
):
    pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "recs.csv"
    path.write_text(f"user,item,estimate,note\n1,7,0.25,a\n1,8,0.5,2\n1,9,{cell},b\n")
    message = message_of(InputError, values, path, {"1": ["8"]}, chunks=chunks)
    assert "it has the column 'estimate', which may be their order; type score=" in message
    message = message_of(InputError, values, path, {"1": ["8"]}, score="estimate", chunks=chunks)
    assert message.endswith(f", line 4: holds {cell!r} as estimate; expected a number")
    got = evaluate_table(path, {"1": ["8"]}, "mrr", in_order=True, chunks=chunks)
    assert read(got)["mrr"] == [1 / 2]


@EVERY_KIND
@WHOLE_AND_IN_PARTS
@pytest.mark.parametrize("text", ["item\n", "item\tuser\n", "parquet"])
@pytest.mark.usefixtures("folder")
def test_a_file_of_a_stratum_may_have_no_rows(text, chunks, kind):
    """As ``strata={"none": []}`` of arrays."""
    file = "none.parquet" if text == "parquet" else "none.tsv"
    Path(file).write_text(text)
    if text == "parquet":
        make("polars", {"item": ["7"]}).clear().write_parquet(file)
    recs = make(kind, {"user": ["1", "1"], "item": ["7", "8"], "rank": [1, 2]})
    asked = ["share(of=none)@2", "recall(of=none)@2", "recall@1"]
    for table in (recs, "recs.csv"):
        got = read(evaluate_table(table, "truth.csv", asked, strata={"none": file}, chunks=chunks))
        recall = got["recall(of=none)@2"][0]
        assert recall is None or np.isnan(recall)
        assert [got[metric][0] for metric in (asked[0], asked[2])] == [0, 0]


@pytest.mark.parametrize(
    "ids",
    [("01", "02", "3"), ("1.10", "1.20", "1.3"), ('"1,5"', '"2,5"', '"3,5"'), ("1", "2", "3")],
)
@pytest.mark.usefixtures("folder")
def test_ids_of_a_file_of_similarities_stay_as_they_are(ids):
    first, second, third = ids
    Path("a.csv").write_text(f"user,item,rank\n1,{first},1\n1,{second},2\n1,{third},3\n")
    pairs = f"{first},{second},0.5\n{third},{first}, 0.25\n\n{second},{third},0.0\n\n"
    Path("similarity.csv").write_text(f"item,other,value\n{pairs}")
    expected = 1 - (0.5 + 0.25 + 0.0) / 3
    got = evaluate_table("a.csv", "a.csv", "diversity", similarity="similarity.csv", rank="rank")
    assert read(got)["diversity"] == [pytest.approx(expected)]
    if ids[0] == "1":  # beside integers they are integers
        recs = make("pandas", {"user": [1, 1, 1], "item": [1, 2, 3], "rank": [1, 2, 3]})
        got = evaluate_table(recs, recs, "diversity", similarity="similarity.csv")
        assert read(got)["diversity"] == [pytest.approx(expected)]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("1,7,0.25\n1,8,0.5\n", "user,item,score"),
        ("u1;i7;2\nu1;i8;5e-1\n", "user;item;score"),
        ("1,7,3,881250949\n1,8,4,881250950\n", "user,item,score,column4"),
    ],
)
def test_a_file_without_a_header_says_which_to_write(lines, names, tmp_path):
    pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "recs.csv"
    path.write_text(lines)
    user = lines[: lines.index(names[4])]
    truth = {user: [lines.split(names[4])[1]]}
    message = message_of(InputError, values, path, truth)
    assert message.endswith(
        "; its first line holds numbers, no names: write a header above the lines, such as "
        f"{names!r}"
    )
    path.write_text(f"{names}\n{lines}")
    rank = 1 if user == "u1" else 2  # of the first line, by score
    assert values(path, truth) == {user: 1 / rank}


@pytest.mark.usefixtures("folder")
def test_a_row_for_each_user_may_be_a_list_or_an_item(tmp_path):
    """Read as lists, the rating 4 and the time would be relevant items."""
    lines = "1\t20\t4\t881250949\n2\t40\t5\t881250950\n"
    path = tmp_path / "last.tsv"
    path.write_text(lines)
    recs = {"1": ["7", "20"], "2": ["40", "9"]}
    message = message_of(InputError, values, recs, path)
    header = "user\titem\trelevance\tcolumn4"
    assert message.endswith(
        ".read_text().splitlines())} for the file; if they are none write a header "
        f"above the lines, such as {header!r}"
    )
    path.write_text(f"{header}\n{lines}")
    assert values(recs, path) == {"1": 1 / 2, "2": 1 / 1}


@pytest.mark.parametrize("title", ["# made by x\n", "Lists of May\n\n", "a,b,c,d\n"])
def test_a_line_above_the_names_is_to_be_removed(title, tmp_path):
    pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "recs.csv"
    path.write_text(f"{title}user,item,score\n1,7,0.25\n1,8,0.5\n")
    message = message_of(InputError, values, path, {"1": ["7"]})
    line = 1 + title.count("\n")
    assert message.endswith(f"; line {line} has these names: remove the lines above it")


@pytest.mark.usefixtures("folder")
def test_lines_of_trec_are_no_catalogue():
    Path("q.txt").write_text("1 0 20 1\n")
    call = {"metrics_list": "coverage@2", "catalogue": "q.txt"}
    assert message_of(InputError, evaluate_table, {"1": ["20"]}, {"1": ["20"]}, **call) == (
        "catalogue 'q.txt' has the 4 of TREC's qrels: 'query 0 item relevance'; expected a table "
        ".csv, .tsv, .inter or .parquet with a header and the column item"
    )


def test_a_table_with_a_column_for_each_number_has_a_header(tmp_path):
    pytest.importorskip("polars", reason="polars is not installed")
    (tmp_path / "recs.csv").write_text("user,1,2\n7,0.5,0.25\n")
    message = message_of(InputError, values, tmp_path / "recs.csv", {"7": ["1"]})
    assert message.endswith("; type item='COLUMN' if it has another name")


@pytest.mark.parametrize(
    ("recs", "message"),
    [
        (
            "uid,item,score\n1,7,3\n",
            "recs 'bad.csv' has no column 'user'; it has 'uid', 'item', 'score'; expected a table "
            ".csv, .tsv, .inter or .parquet with a header and the columns user and item; type "
            "user='uid' if the other tables have the same, else rename 'uid' to 'user'",
        ),
        (
            "user,item,score\n1,7,3\n1,8,x\n",
            "recs 'bad.csv', line 3: holds 'x' as score; expected a number",
        ),
        (
            "user  item score\n1  7 3\n",
            "recs 'bad.csv' has no columns 'user' and 'item'; it has 'user  item score'; expected "
            "a table .csv, .tsv, .inter or .parquet with a header and the columns user and item; "
            "blanks seem to separate its columns, where a comma, a tab, ; or | should stand: write "
            "'user,item,score' and so on",
        ),
        (
            "user,item,points\n1,7,3\n",
            "recs has no column 'rank' or 'score' to order its lists, but it has the column "
            "'points', which may be their order; type score='points' if higher is better, "
            "rank='points' if 1 is best, or in_order=True if the rows are in order",
        ),
        ("user,item,score\n1,7,3\n\n1,8,1_0\n", "recs 'bad.csv', line 4: holds '1_0' as score; "
         "expected a number"),
        ("user,item,score\n1,7,3\n1,8,2,5\n", "recs 'bad.csv', line 3: 4 fields; expected 3, as in "
         "the header"),
        *(
            (
                f"user,item,score\n\n{rows}",
                f"recs 'bad.csv', line {line}: holds {row!r}, with a quote that encloses no "
                'cell; expected quotes around a cell that has one, and two for it: '
                '"6"" pipe"',
            )
            for rows, line, row in (
                ('1,6" pipe,3\n1,7,2\n', 3, '1,6" pipe,3'),
                ('1,6" pipe,3\n' + "1,7,2\n" * 15, 3, '1,6" pipe,3'),
                ('1,"7\n""8",3\n1,pipe 6",2\n', 5, '1,pipe 6",2'),
                ('1,7,3\n1,"6" pipe,2\n', 4, '1,"6" pipe,2'),
                ('1,7,3\n1,"6 pipe,2\n1,8,1\n', 4, '1,"6 pipe,2\n1,8,1'),
            )
        ),
        pytest.param(
            "user,item,score\n1,7,3\n1,\"6 pipe,2\n" + "1,8,1\n" * 30_000,
            "recs 'bad.csv', line 3: has a quote whose cell does not end; expected quotes around a "
            'cell that has one, and two for it: "6"" pipe"',
            id="a long cell",
        ),
        ("user,item,score\n1,7,3\n1,,2\n", "recs 'bad.csv', line 3: has no item; expected an id in "
         "every row"),
        ("user,item,score,score\n1,7,3,4\n", "recs 'bad.csv' has the column 'score' twice; "
         "expected every name once"),
        ("user,item,score\n", "recs 'bad.csv' has no rows; expected at least one"),
        ("user,item,score\r\n", "recs 'bad.csv' has no rows; expected at least one"),
        ("user,item,score\r1,7,3\r", "recs 'bad.csv' has no rows; expected at least one; its lines "
         "end with '\\r' alone, expected '\\n'"),
        ("user,item,score\n1,7,3\n\xff,8,4\n", "recs 'bad.csv': byte 0xff is not text; save it as "
         "UTF-8"),
        ("", "recs 'bad.csv' is empty; expected a table .csv, .tsv, .inter or .parquet with a "
         "header and the columns user and item"),
    ],
)  # fmt: skip
@WHOLE_AND_IN_PARTS
@pytest.mark.usefixtures("folder", "small_blocks")
def test_a_bad_file_is_named(recs, message, chunks):
    Path("bad.csv").write_text(recs, "latin-1", newline="")
    with pytest.raises(InputError) as caught:
        evaluate_table("bad.csv", "truth.csv", "mrr", chunks=chunks)
    assert str(caught.value) == message
    assert caught.value.argument == "recs"


@pytest.fixture
def small_blocks(monkeypatch):
    """The second row is of another block."""
    monkeypatch.setattr("recmetrics._files.table_files._BLOCK_ROWS", 1)
    monkeypatch.setattr("recmetrics._files.table_files._SAMPLE_ROWS", 1)


@pytest.mark.usefixtures("folder", "small_blocks")
@pytest.mark.parametrize(
    "text",
    [
        "user,item,score\na,x,.5\na,y,.9 \nb,y, 1\n",
        '\ufeff"user";item;score\n\na;x;5e-1\n\na;"y";.9\nb;y;1\n\n',
        "user_id:token\titem_id:token\tscore:float\na\tx\t.5\na\ty\t.9\nb\ty\t1\n",
    ],
)
@WHOLE_AND_IN_PARTS
def test_a_text_is_read_by_the_same_rules_in_parts(text, chunks):
    path = Path("recs.inter" if "token" in text else "recs.csv")
    path.write_text(text, "utf-8")
    assert values(path, {"a": ["y"], "b": ["y"]}, chunks=chunks) == {"a": 1, "b": 1}


@pytest.mark.parametrize("first", ["x", " 7"])
@WHOLE_AND_IN_PARTS
def test_ids_that_are_no_integers_stay_text(first, chunks, tmp_path):
    recs = tmp_path / "recs.csv"
    recs.write_text(f"user,item,score\n1,{first},2\n2,8,1\n")
    truth = make("polars", {"user": [1, 2], "item": [7, 8]})
    with pytest.raises(
        InputTypeError, match=r"^recs, column 'item' holds strings .*, truth, column"
    ):
        evaluate_table(recs, truth, "mrr", chunks=chunks)


@WHOLE_AND_IN_PARTS
def test_the_column_without_integers_is_named(chunks, tmp_path):
    recs = tmp_path / "recs.csv"
    recs.write_text("user,item,score\n1.0,10,0.5\n2.0,11,0.5\n")
    truth = make("polars", {"user": [1, 2], "item": [10, 11]})
    message = message_of(InputTypeError, evaluate_table, recs, truth, "mrr", chunks=chunks)
    assert message.startswith("recs, column 'user' holds strings (String), truth, column 'user' ")


@EVERY_KIND
@WHOLE_AND_IN_PARTS
def test_columns_of_by_in_a_file_are_integers_beside_integers(kind, chunks, tmp_path):
    """The item of fold 1 is in its truth, that of fold 2 in the truth of fold 1 alone."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "recs.parquet"
    recs = {"user": [1, 1], "item": [5, 5], "fold": [1, 2], "score": [2.0, 1.0]}
    polars.DataFrame(recs).write_parquet(path)
    truth = make(kind, {"user": [1, 1], "item": [5, 6], "fold": [1, 2]})
    got = read(evaluate_table(path, truth, "mrr", by="fold", chunks=chunks))
    assert dict(zip(got["fold"], got["mrr"], strict=True)) == {1: 1, 2: 0}


@pytest.mark.parametrize("bad", ["", "NA", "10%", '"1,000"'])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_bad_cell_hides_no_scores(form, bad, tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    recs = tmp_path / "recs.csv"
    recs.write_text(f"user,item,prediction,town\na,x,1,Rome\na,y,{bad},Oslo\n")
    if form == "parquet":
        pl.read_csv(recs, infer_schema=False).write_parquet(recs.with_suffix(".parquet"))
        recs = recs.with_suffix(".parquet")
    with pytest.raises(InputError, match="the column 'prediction', which may be their order"):
        evaluate_table(recs, {"a": ["y"]}, "mrr")
    expected = f"line 3: holds '{bad.strip(chr(34))}' as prediction; expected a number"
    if form == "parquet":
        expected = "column 'prediction' holds String, expected numbers"
    with pytest.raises((InputError, InputTypeError), match=expected):
        evaluate_table(recs, {"a": ["y"]}, "mrr", score="prediction")
    assert values(recs, {"a": ["y"]}, in_order=True) == {"a": 1 / 2}


@pytest.mark.usefixtures("folder")
def test_a_run_and_qrels():
    """By score b is first for q1; -2 is not relevant."""
    Path("a.run").write_text("q1 Q0 a 1 1 x\nq1 Q0 b 2 2 x\nq2 Q0 a 1 3 x\n")
    Path("a.qrels").write_text("q1 0 a 2\nq1 0 b -2\nq2 0 a 1\n")
    assert values("a.run", "a.qrels", convention="trec") == {"q1": 1 / 2, "q2": 1}
    got = evaluate_table("a.run", "a.qrels", "hit@1", user="q", item="d", convention="trec")
    assert read(got) == {"q": ["q1", "q2"], "nrecs": [2, 1], "hit@1": [0, 1]}


@pytest.mark.usefixtures("folder")
def test_the_id_of_a_query_may_begin_with_the_sign_of_a_comment():
    """A comment has not the fields of a line."""
    Path("a.run").write_text("# made by hand, in one go\nq1 Q0 a 1 1 x\n#tag Q0 a 1 3 x\n#\n")
    Path("a.qrels").write_text("# judged\nq1 0 a 1\n#tag 0 b 1\n")
    assert values("a.run", "a.qrels") == {"q1": 1, "#tag": 0}
    Path("bad.run").write_text("#tag Q0 a 1 3 x\n# a comment\nq1 Q0 a 1 one x\n")
    with pytest.raises(InputError, match=r"bad\.run', line 3: holds 'one' as score"):
        values("bad.run", "a.qrels")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "lines",
    [
        "1\t20\t5\t881250949\n1\t3\t4\t881250949\n2\t7\t4\t881250950\n",  # MovieLens
        "1 1 5 881250949\n1 3 4 881250949\n2 7 4 881250950\n",  # the user's number is an item
        "1 0 5 881250949\n1 3 4 881250949\n2 7 4 881250950\n",  # items from 0
        "1 0 5 3 2 4\n2 7 0 3 1 5\n",  # lists of five items
        "1 3 5 0 2 4\n2 7 0 3 1 5\n",
        "1 3 5 0\n2 7 0 3\n",
        "a i3 5.0 881250949\na i1 4.0 881250949\n",
        "a i3 books 4\na i1 toys 5\n",
    ],
)
@pytest.mark.parametrize("name", ["u1.test", "u1.tsv"])
def test_lines_of_other_numbers_are_none_of_trec(lines, name):
    """Item 5 would have the relevance 881250949, and lists would be judged item by item."""
    Path(name).write_text(lines)
    message = message_of(InputError, values, {"1": ["3"], "2": ["7"]}, name)
    if lines[2] == "0":
        line = lines.splitlines()[1]
        assert f"{name}', line 2: holds {line!r}; expected 0 or Q0 as the second of" in message
    else:
        assert f"{name}' has no columns 'user' and 'item'; it has " in message


@pytest.mark.usefixtures("folder")
def test_the_second_field_of_trec_is_not_always_0():
    """TREC-COVID's qrels have the round there; trec_eval reads any word."""
    Path("rounds.txt").write_text("q1 0.5 a 0\nq1 4.5 b 2\nq2 0 7 1\n")
    for second in ("q0", "ITER", "1"):
        Path("a.txt").write_text(f"q1 {second} a 1 2 x\nq1 {second} b 2 1 x\nq2 q0 7 1 1 x\n")
        assert values("a.txt", "rounds.txt") == {"q1": 1 / 2, "q2": 1 / 1}
    # The name of the file tells it where items are numbers.
    Path("a.run").write_text("q1 STANDARD 7 1 2 x\nq1 1 8 2 1 x\nq2 Q0 7 1 1 x\n")
    Path("b.qrels").write_text("q1 1 8 1\nq2 ITER 7 1\n")
    assert values("a.run", "b.qrels") == {"q1": 1 / 2, "q2": 1 / 1}


@EVERY_KIND
def test_trec_counts_users_with_a_list_and_a_judgement(kind):
    """q1 has no relevant document, q2 no judgement, q3 no list: trec_eval prints q1 alone."""
    recs = make(kind, {"user": ["q1", "q2"], "item": ["a", "a"], "score": [1, 1]})
    truth = make(kind, {"user": ["q1", "q3"], "item": ["a", "a"], "relevance": [0, 1]})
    got, summary = evaluate_table(recs, truth, "map", convention="trec", return_summary=True)
    assert read(got)["user"] == ["q1", "q2"]
    np.testing.assert_array_equal(read(got)["map"], [0, np.nan])
    assert (summary.means["map"], summary.missing) == (0, "left out")
    rules = {"convention": "trec", "include_missing": True, "undefined": "nan"}
    got = read(evaluate_table(recs, truth, "map", **rules))
    np.testing.assert_array_equal(got["map"], [np.nan, np.nan, 0])
