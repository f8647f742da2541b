"""Results that summary reads: arrays, evaluators, data frames and files; what it refuses."""

import decimal
import importlib
import math

import numpy as np
import pytest
from compared import (
    ASKED,
    BACKENDS,
    NAN,
    SCORES,
    TRUTH,
    USERS,
    WEIGHTS,
    evaluated,
    maker,
    numbers,
    same,
)

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluation,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    compare,
    summary,
)
from recmetrics.cli._output import write_per_user


def test_evaluators_and_streams():
    expected = numbers(summary(Metrics.compute(SCORES, TRUTH, ASKED)))
    assert expected["hit@1"]["mean"] == pytest.approx(2 / 3)
    same(numbers(summary(evaluated())), expected)
    stream = StreamEvaluator(ASKED)
    stream.update(SCORES, TRUTH)
    same(numbers(summary(stream)), expected)
    assert " over events, " in str(summary(stream))
    assert " over users, " in str(summary(stream, noun="user"))
    sums = StreamEvaluator(ASKED, keep="means")
    sums.update(SCORES, TRUTH)
    for metric, record in numbers(summary(sums)).items():
        kept = {name: number for name, number in record.items() if number is not None}
        assert {*record} - {*kept} >= {"q10", "median", "q90"}
        same({metric: kept}, {metric: {name: expected[metric][name] for name in kept}})


def test_a_stream_of_models_has_users_as_their_comparison():
    stream = StreamEvaluator("hit@1", keep="means")
    stream.update({"old": [[2, 1]] * 9, "new": [[1, 2]] * 9}, [0, 1, 1] * 3)
    assert " over users, " in str(summary(stream))
    assert " over users, " in str(recmetrics.compare(stream))
    assert " over rows, " in str(recmetrics.compare(stream, noun="row"))
    assert " over rows, " in str(summary(stream, noun="row"))


def test_an_evaluation_is_summarised_as_by_its_method():
    values = {"hit@1": np.array([1.0, NAN, 0.0]), "coverage@1": np.array(0.25)}
    evaluation = Evaluation(values, notes=["the queries of May"], noun="query")
    page = str(summary(evaluation))
    assert page == str(evaluation.summary())
    assert "left out: 1 of 3 queries has no relevant item" in page
    assert "\nthe queries of May\n" in page
    assert list(summary(evaluation, metrics="hit@1").means.items()) == [("hit@1", 0.5)]
    page = str(summary(evaluation, noun="session", notes=["of June"]))
    assert "1 of 3 sessions has no relevant item" in page
    assert page.splitlines()[-1] == "of June"


def test_levels_may_be_evaluations():
    level = Evaluation({"m": np.array([0.25, 0.75])})
    [mean] = summary({"m": [0.5, 1.0]}, levels={"chance": level})
    assert mean.levels == {"chance": 0.5}


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([{"m": 0.5}], "levels must be a dict of name and result, got list; type {'first': a, "
         "'second': b}, with a name for each"),
        ({"chance": 0.5}, "the level 'chance' is a float; expected a dict of metric and values, as "
         "Metrics.chance returns it"),
    ],
)  # fmt: skip
def test_levels_without_names_or_metrics_are_refused(levels, message):
    with pytest.raises(InputTypeError) as caught:
        summary({"m": [0.5, 1.0]}, levels=levels)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["mean", "low", "median", "n_users"])
def test_levels_named_like_a_column_of_the_records_are_refused(name):
    with pytest.raises(InputError) as caught:
        summary({"m": [0.5, 1.0]}, levels={"chance": {"m": 0.5}, name: {"m": 0.125}})
    assert str(caught.value) == (
        f"the name of the level {name!r} is that of a column of to_records and to_frame; expected "
        f"another one: type levels={{'{name} level': ...}}"
    )
    [record] = summary({"m": [0.5, 1.0]}, levels={f"{name} level": {"m": 0.125}}).to_records()
    assert record["mean"] == 0.75
    assert record[f"{name} level"] == 0.125


@pytest.mark.parametrize(
    ("updated", "why"),
    [
        (slice(0, 2), "left out: 2 of 4 users have no update"),
        (slice(2, 4), "left out: 3 of 4 users have no relevant item, or no update"),
    ],
)
def test_users_without_an_update(updated, why):
    evaluator = Evaluator(TRUTH, "hit@1")
    evaluator.update(SCORES[updated], users=updated)
    with pytest.warns(recmetrics.NotUpdatedWarning, match=r"^2 of 4 users were never updated"):
        found = summary(evaluator)
    assert str(found).splitlines()[-1] == why
    evaluator.update(SCORES, users=slice(None))
    last = str(summary(evaluator)).splitlines()[-1]
    assert last == "left out: 1 of 4 users has no relevant item"


def table(backend, **more):
    columns = {"user": list("uvwxy"), "nrecs": [10] * 5}
    columns |= {"recall@10": [0.2, 0.6, None, 0.4, 1.0], "mrr@10": USERS["mrr@10"], **more}
    return maker(backend)(columns)


@BACKENDS
def test_tables(backend):
    users = {metric: values for metric, values in USERS.items() if metric != "coverage@10"}
    found = summary(table(backend))
    same(numbers(found), numbers(summary(users)))
    if backend == "pandas":
        same(numbers(summary(table(backend).set_index("user"))), numbers(found))


@BACKENDS
@pytest.mark.parametrize("unknown", [False, None])
def test_columns_of_bools_are_values(backend, unknown):
    """As numbers 0 and 1; a missing one leaves its user out."""
    hits = [True, False, unknown, True, True]
    if backend == "pandas":
        hits = pytest.importorskip("pandas", reason="pandas is not installed").array(
            hits, dtype="boolean" if unknown is None else bool
        )
    given = table(backend, **{"hit@1": hits})
    means = {"recall@10": 2.2 / 4, "mrr@10": 2 / 5}
    assert summary(given).means == pytest.approx(
        means | {"hit@1": 3 / 5 if unknown is False else 3 / 4}
    )
    means |= {"hit@1": summary(given).means["hit@1"]}
    found = compare({"a": given, "b": given})
    assert {mean.metric: mean.mean for mean in found.means} == pytest.approx(means)


@BACKENDS
def test_columns_named_as_metrics_hold_numbers(backend):
    """They were taken for ids of users."""
    entries = {
        "String": ["0", "1", "1", "1", "0"],
        "Decimal|Object": [decimal.Decimal(number) for number in (0, 1, 1, 1, 0)],
    }
    if backend == "pandas":
        entries["Object"] = [True, None, True, True, False]
    cast = {"pandas": "astype", "polars": "cast", "pyarrow": r"to_pandas\(\)\.astype"}[backend]
    for dtype, column in entries.items():
        given = table(backend, **{"hit@1": column})
        advice = (
            rf"^values has the column 'hit@1' of dtype ({dtype})\b.*, whose name is a metric "
            rf"string; expected numbers; type frame\.{cast}\({{'hit@1': float}}\) if it is a "
            r"metric, metrics=\['recall@10', 'mrr@10'\] if it identifies the user, or "
            r"model='hit@1' if it names the model$"
        )
        with pytest.raises(InputError, match=advice):
            summary(given)
        assert list(summary(given, metrics="mrr@10").means) == ["mrr@10"]


@BACKENDS
def test_columns_of_a_table_are_groups_and_weights(backend):
    given = table(backend, segment=["new", "old", "new", "old", "old"], visits=[1.0, 2, 0, 4, 1])
    found = summary(given, by="segment", weights="visits")
    expected = summary(
        {"recall@10": USERS["recall@10"], "mrr@10": USERS["mrr@10"]},
        by=["new", "old", "new", "old", "old"],
        weights=WEIGHTS,
    )
    assert found.groups == ("new", "old")
    assert list(found.means) == ["recall@10", "mrr@10"]
    assert str(found) == str(expected)


@BACKENDS
def test_a_column_of_floats_may_be_the_groups(backend):
    found = summary(table(backend, age=[20.0, 30.0, 20.0, 30.0, 20.0]), by="age")
    assert found.groups == (20.0, 30.0)
    assert "age" not in found.means


@BACKENDS
def test_the_result_of_tables_by_model(backend):
    make = maker(backend)
    evaluate_table = importlib.import_module("recmetrics.tables").evaluate_table
    recs = {"model": ["b", "b", "a", "a"], "user": [1, 2, 1, 2], "item": [7, 8, 7, 7]}
    truth = make({"user": [1, 2], "item": [7, 8]})
    values = evaluate_table(make(recs), truth, ["hit@1"], by="model", in_order=True)
    found = summary(values)
    assert [(r.model, r.group, r.mean, r.n_users) for r in found] == [
        ("b", None, 1.0, 2),
        ("a", None, 0.5, 2),
    ]
    difference = compare(values, baseline="b").differences[0]
    assert (difference.model, difference.losses, difference.n_users) == ("a", 1, 2)
    with pytest.raises(InputError, match=r"^values has two lists of user 1, rows 0 and 2; "):
        summary(values, by="model")  # would count each user twice


@BACKENDS
@pytest.mark.parametrize("of_rows", [False, True])
def test_entries_of_the_users_of_several_models(backend, of_rows):
    """As of each row; the values of user 7 weigh three times those of user 8."""
    columns = {"model": ["a", "a", "b", "b"], "user": [7, 8] * 2, "mrr": [1.0, 0.0, 0.0, 1.0]}
    frame = maker(backend)(columns)
    keywords = {"by": ["x", "y"], "weights": [3.0, 1.0]}
    if of_rows:
        keywords = {name: entries * 2 for name, entries in keywords.items()}
    found = summary(frame, **keywords)
    means = {(each.model, each.group): each.mean for each in found}
    assert [means["a", None], means["b", None]] == [3 / 4, 1 / 4]
    assert [means["a", "x"], means["a", "y"], means["b", "x"], means["b", "y"]] == [1, 0, 0, 1]
    with pytest.raises(ShapeError, match=r"by must hold one group per user, shape \(4,\), got"):
        summary(frame, by=["x"])
    with pytest.raises(InputTypeError, match=r"^by must hold one group per user, .* a DataFrame; "):
        summary(frame, by=maker("pandas")({"user": [7, 8]}))


@pytest.mark.parametrize("as_path", [str, lambda path: path])
@pytest.mark.parametrize("name", ["users.csv", "users.npz"])
def test_files_per_user(name, as_path, tmp_path):
    arrays = {metric: np.array(values) for metric, values in USERS.items()}
    write_per_user(tmp_path / name, arrays, ["u", "v", "w", "x", "y"])
    found = summary(as_path(tmp_path / name), by=[0, 1, 0, 1, 1])
    if name.endswith("csv"):  # which has no place for a metric of all lists
        del arrays["coverage@10"]
    assert str(found) == str(summary(arrays, by=[0, 1, 0, 1, 1]))


def test_counts_of_a_table_in_a_file_are_no_metrics(tmp_path):
    """As ``evaluate_table`` gives them, and a frame writes them."""
    path = tmp_path / "values.csv"
    path.write_text("user,nrecs,mrr,ntruth\nu,10,0.5,3\nv,8,1.0,1\n")
    assert [(each.metric, each.mean) for each in summary(path)] == [("mrr", (0.5 + 1.0) / 2)]
    path.write_text("user,nrecs,ntruth\nu,10,3\n")
    with pytest.raises(InputError, match="line 1: the header has no metric; expected 'user' or "):
        summary(path)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "users.csv"
    path.write_text("user,ndcg@10\na,0.5\nb,high\n")
    with pytest.raises(InputError) as caught:
        summary(path)
    assert str(caught.value) == (
        f"values {str(path)!r}, line 3: cannot read 'high' as ndcg@10; expected a number"
    )
    path.write_text("user,ndcg@10\na,0.5\nb,1.0\n")
    assert summary(path).means == {"ndcg@10": 0.75}


@pytest.mark.parametrize("name", ["no.csv", "no.parquet"])
def test_a_file_that_is_missing_cannot_be_opened(name):
    with pytest.raises(InputError) as caught:
        summary(name)
    assert str(caught.value) == (
        f"cannot open values {name!r}: No such file or directory; expected the .npz or .csv that "
        "'recmetrics evaluate --per-user' writes"
    )


LABELS = {
    "tuples": [("a", 1), ("b", 2), ("a", 1)],
    "mixed": ["a", 1, "a"],
    "a tuple": ("a", 2, "a"),
    "bool": np.array([True, False, True]),
    "2-byte": np.array([7, 3, 7], np.int16),
}


@pytest.mark.parametrize("by", LABELS.values(), ids=LABELS)
def test_labels_may_be_any_hashable(by):
    found = summary({"m": [1.0, 2.0, 3.0]}, by=by)
    assert found.groups == tuple(dict.fromkeys(by))
    assert [each.mean for each in found] == [2.0, 2.0, 2.0]
    assert [each.n_users for each in found] == [3, 2, 1]


@BACKENDS
def test_labels_in_a_series(backend):
    package = pytest.importorskip(backend, reason=f"{backend} is not installed")
    make = package.array if backend == "pyarrow" else package.Series
    by = make(["x", "y", "x"])
    assert [each.mean for each in summary({"m": [1.0, 2.0, 3.0]}, by=by)] == [2.0, 2.0, 2.0]
    if backend == "pandas":
        assert summary({"m": [1.0, 2.0, 3.0]}, by=by.astype("category")).groups == ("x", "y")
        with pytest.raises(InputError, match=r"that of user 2 is undefined"):
            summary({"m": [1.0, 2.0, 3.0]}, by=package.array(["x", "y", None], dtype="string"))


MISSING = [None, NAN, np.datetime64("NaT", "s")]


@pytest.mark.parametrize("missing", MISSING, ids=str)
def test_a_missing_label_is_refused(missing):
    with pytest.raises(InputError) as caught:
        summary({"m": [1.0, 2.0, 3.0]}, by=["x", missing, missing])
    assert str(caught.value) == (
        "by must name the group of every user; that of user 1 is undefined; give such users a "
        "label of their own, such as 'unknown'"
    )


RESULT = (
    "what Metrics.compute or Metrics.evaluate returns, an object whose .compute() returns that, a "
    "data frame with a float column per metric, or the path of a file that 'recmetrics evaluate "
    "--per-user' wrote"
)
MEAN = (
    "; expected the value of every user, (n_users,), from which intervals are "
    "computed: give what Metrics.compute or the compute() of an Evaluator returns, not means"
)
WANTED = "; expected finite numbers >= 0; 0 leaves a user out"
GOOD = {"m": [0.5, 1.0, 0.0]}
NO_LABELS = "by must hold one group per user, shape (3,), got "
IN_ORDER = (
    "give an array or a list in the order of the users, or, if the results are data frames, a "
    "pandas Series whose index has the user ids"
)
NO_TABLE = "but values is not a table; expected an array with one entry per user"
NO_MODELS = "but values is not a table; leave model= out"
NO_WEIGHTS = "weights must hold one number per user, shape (3,), got "
BAD = [
    ([1.0, 2.0], {}, InputTypeError, f"values is a list; expected {RESULT}"),
    (np.ones(3), {}, InputTypeError, f"values is a ndarray; expected {RESULT}; for the "
     "value of each user of one metric, such as mrr, give {'mrr': values}"),
    ({}, {}, InputError, f"values holds no metric; expected {RESULT}"),
    ({"m": []}, {}, InputError, "values holds no user: metric 'm' has shape (0,)"),
    *(({metric: mean}, {}, InputTypeError, f"metric {metric!r} of values is one number, 0.5{MEAN}")
      for metric, mean in (("ndcg@10", 0.5), ("ndcg@10", np.array(0.5)), ("val/x", 0.5))),
    ({3: [1.0]}, {}, InputError, "metric 3 of values: names of metrics must be strings"),
    ({"m": ["a"]}, {}, InputTypeError, "metric 'm' of values has dtype <U1; expected "
     "real numbers"),
    ({"m": [[1.0], [2.0]]}, {}, ShapeError, "metric 'm' of values has shape (2, 1); expected "
     "one value per user, (n_users,), or ()"),
    ({"m": [1.0, 2.0], "n": [1.0]}, {}, ShapeError, "metric 'n' of values has shape (1,); "
     "expected (2,), as metric 'm' of values: compare results on the same users"),
    ({"ndcg@10": [NAN]}, {"noun": "query"}, InputError, "no query has a value of any metric; for "
     "'ndcg@10' 1 of 1 queries has no relevant item; expected a value of at least one query: check "
     "that the truth belongs to these queries"),
    ({"ndcg@10": [NAN, NAN], "hit@1": [NAN, NAN]}, {}, InputError, "no user has a value of any "
     "metric; for 'ndcg@10' 2 of 2 users have no relevant item; expected a value of at least one "
     "user: check that the truth belongs to these users"),
    (GOOD, {"by": ["x", "y"]}, ShapeError, f"{NO_LABELS}shape (2,)"),
    (GOOD, {"by": np.ones((3, 1))}, ShapeError, f"{NO_LABELS}shape (3, 1)"),
    (GOOD, {"by": {0: "x"}}, InputTypeError, f"{NO_LABELS}a dict; {IN_ORDER}"),
    (GOOD, {"by": 3}, InputTypeError, f"{NO_LABELS}a int; {IN_ORDER}"),
    (GOOD, {"by": [["x"], ["y"], ["z"]]}, InputTypeError, "by must hold labels such as strings or "
     "integers, got a list for user 0"),
    ({"m": np.arange(51.0)}, {"by": np.arange(51)}, InputError, "by names 51 different groups; "
     "expected at most 50: put users into bins first, such as quartiles of their activity"),
    (GOOD, {"by": "age"}, InputError, f"by is the name of a column, 'age', {NO_TABLE}"),
    (GOOD, {"model": "lr"}, InputError, f"model is the name of a column, 'lr', {NO_MODELS}"),
    (GOOD, {"weights": "w"}, InputError, f"weights is the name of a column, 'w', {NO_TABLE}"),
    (GOOD, {"weights": [1, 2]}, ShapeError, f"{NO_WEIGHTS}shape (2,)"),
    (GOOD, {"weights": [[1], [2], [3]]}, ShapeError, f"{NO_WEIGHTS}shape (3, 1)"),
    (GOOD, {"weights": 2.0}, InputTypeError, f"{NO_WEIGHTS}a float; {IN_ORDER}"),
    (GOOD, {"weights": {0: 1, 1: 2, 2: 3}}, InputTypeError, f"{NO_WEIGHTS}a dict; {IN_ORDER}"),
    (GOOD, {"by": {1, 2, 3}}, InputTypeError, f"{NO_LABELS}a set; {IN_ORDER}"),
    (GOOD, {"weights": [1, -2, 3]}, InputError, f"weights holds -2.0 for user 1{WANTED}"),
    (GOOD, {"weights": [1, 2, NAN]}, InputError, f"weights holds nan for user 2{WANTED}"),
    (GOOD, {"weights": [math.inf, 2, 3]}, InputError, f"weights holds inf for user 0{WANTED}"),
    (GOOD, {"weights": [0, 0, 0]}, InputError, "weights are all 0; expected a number above 0 for "
     "at least one user"),
    (GOOD, {"weights": ["a", "b", "c"]}, InputTypeError, "weights has dtype <U1; expected real "
     "numbers"),
    *((GOOD, {"confidence": confidence}, ArgumentError, "confidence must be a number above 0 and "
       f"below 1, such as 0.95, got {confidence!r}")
      for confidence in (0.0, 1.0, 95, -0.5, NAN, "0.95", True)),
    (GOOD, {"rng": -1}, ArgumentError, "rng must be a seed (an integer >= 0), a numpy Generator or "
     "None, got -1"),
]  # fmt: skip


def test_labels_and_weights_in_arrays_of_dask():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-01"], "M8[ns]")
    for labels in (np.array([0, 1, 0]), days):
        found, expected = (
            summary({"m": [1.0, 2.0, 6.0]}, by=array(labels), weights=array(np.array([1, 1, 3])))
            for array in (da.from_array, np.array)
        )
        assert found.to_records() == expected.to_records()
    labels = da.from_array(np.array([*"xxyz"]))
    of_unknown_length = labels[labels != "z"]
    assert summary({"m": [1.0, 2.0, 6.0]}, by=of_unknown_length).groups == ("x", "y")


def test_a_series_of_dask_is_refused_since_it_is_not_aligned():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="dask[dataframe] is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"user": list("uvwx"), "mrr": [0.0, 0.0, 1.0, 1.0]})
    groups = pd.Series(["high", "high", "low", "low"], index=list("wxuv"))
    means = {mean.group: mean.mean for mean in summary(frame, by=groups)}
    assert means == {None: 0.5, "high": 1.0, "low": 0.0}
    with pytest.raises(InputTypeError, match=r"^by must hold one group per user, .+ got a Series;"):
        summary(frame, by=dd.from_pandas(groups, sort=False))


def test_labels_that_are_tensors_of_one_number():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pairs = [torch.tensor([0, 1])] * 3
    with pytest.raises(InputTypeError, match=r"^by must hold labels .*, got a list for user 0"):
        summary({"m": [1.0, 2.0, 3.0]}, by=pairs)
    found = summary({"m": [1.0, 2.0, 3.0]}, by=list(torch.tensor([0, 1, 0])))
    assert found.groups == (0, 1)
    with pytest.raises(InputTypeError, match=r"^by is on the device meta, "):
        summary({"m": [1.0, 2.0, 3.0]}, by=torch.zeros(3, device="meta"))


@pytest.mark.parametrize(
    ("values", "options", "error", "message"), BAD, ids=lambda x: str(x)[:40] or "none"
)
def test_bad_input(values, options, error, message):
    summary(GOOD, by=["x", "y", "z"], weights=[1, 2, 3], confidence=np.float32(0.5))
    with pytest.raises(error) as caught:
        summary(values, **options)
    assert str(caught.value) == message


def test_the_means_of_an_evaluator_are_refused():
    with pytest.raises(
        InputTypeError, match=r"^metric 'hit@1' of values is one number, 0\.6.* not means$"
    ):
        summary(evaluated().mean())
    assert summary({"coverage@1": 0.5, "hit@1": [1.0, 0.0]}).means["coverage@1"] == 0.5


@pytest.mark.parametrize("ask", [summary, compare])
@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (
            {"a": ["x / y", "x", "w"], "b": ["z", "y / z", "w"]},
            "'x / y / z', rows 0 and 1: ('x / y', 'z') and ('x', 'y / z')",
        ),
        ({"a": [1, "1", 2]}, "'1', rows 0 and 1: (1,) and ('1',)"),
        ({"a": [1, 1, "1"]}, "'1', rows 0 and 2: (1,) and ('1',)"),
        ({"a": ["None", None, "w"]}, "'None', rows 0 and 1: ('None',) and (None,)"),
    ],
    ids=["two columns", "number and text", "two rows and one", "none"],
)
def test_models_of_one_name_are_refused(columns, named, ask):
    make = maker("pandas")
    scores = {"user": [1, 1, 1], "mrr": [0.1, 0.9, 0.5]}
    with pytest.raises(InputError) as caught:
        ask(make(columns | scores, dtype=object).astype({"mrr": float}), model=[*columns])
    name = "values" if ask is summary else "results"
    assert str(caught.value) == (
        f"{name} has two models of one name, {named}; expected names that differ as text; rename "
        "one"
    )


def test_columns_that_are_not_there():
    given = table("pandas", segment=list("xyxyx"))
    with pytest.raises(InputError) as caught:
        summary(given, by="segmnt")
    assert str(caught.value) == ("values has no 'segmnt'; did you mean 'segment'?")
    with pytest.raises(InputError) as caught:
        summary(given, weights="w")
    assert str(caught.value) == (
        "values has no 'w'; expected one of ['user', 'nrecs', 'recall@10', 'mrr@10', 'segment']"
    )
    with pytest.raises(InputTypeError, match=r"^by must hold one group per user, .* a DataFrame; "):
        summary(given, by=given[["segment"]])


def test_columns_have_different_strings_as_names():
    make = maker("pandas")
    for columns, fault in (([0, "a"], "0 of type int"), (["a", "a"], "'a' twice")):
        with pytest.raises(InputError) as caught:
            summary(make([[0.1, 0.2]], columns=columns))
        message = f"a data frame has the column {fault}; expected different strings"
        assert str(caught.value) == message


def test_a_lazy_frame_is_collected_first():
    lazy = maker("polars")({"hit@1": [1.0]}).lazy()
    with pytest.raises(InputTypeError, match=r"^a LazyFrame holds no .*; type \.collect\(\)$"):
        summary(lazy)


def test_row_numbers_of_a_series_in_another_order_are_refused():
    """Arrays have no ids; the index may say which row it is of, or come from another table."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    by = pd.Series(["x", "y", "y"], index=[2, 1, 0])
    weights = pd.Series([1.0, 1.0, 3.0], index=[2, 1, 0])
    values = {"m": [0.0, 0.5, 1.0]}
    for argument, series in {"by": by, "weights": weights}.items():
        with pytest.raises(InputError) as caught:
            summary(values, **{argument: series})
        assert str(caught.value) == (
            f"{argument} is a Series whose index has the row numbers 0 to 2 in another order, and "
            f"the results have no ids; if it is in the order of the users, type {argument}="
            f"{argument}.to_numpy(), and if its index has their row numbers, {argument}={argument}"
            ".sort_index()"
        )
    found = summary(values, by=by.to_numpy(), weights=weights.to_numpy())
    assert [each.mean for each in found] == pytest.approx([3.5 / 5, 0.0, 3.5 / 4])
    found = summary(values, by=by.sort_index(), weights=weights.sort_index())
    assert [each.mean for each in found] == pytest.approx([1.5 / 5, 0.5 / 4, 1.0])
    other = summary(values, by=by.rename({2: 7}), weights=weights.rename({0: "z"}))
    assert [each.mean for each in other] == pytest.approx([3.5 / 5, 0.0, 3.5 / 4])


def test_times_with_a_zone_are_groups():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    days = pd.Series(pd.to_datetime(["2024-01-01", "2024-01-01", "2024-01-02"], utc=True))
    found = summary({"m": [0.5, 1.0, 0.25]}, by=days)  # pytest makes errors of warnings
    names = ["2024-01-01 00:00:00+00:00", "2024-01-02 00:00:00+00:00"]
    assert [str(day) for day in found.groups] == names
    assert [each.mean for each in found][1:] == [0.75, 0.25]


def test_times_that_differ_in_nanoseconds_are_different_groups():
    found = summary({"m": [0.5, 1.0, 0.25]}, by=np.array([1, 2, 2], "M8[ns]"))
    assert [each.mean for each in found][1:] == [0.5, 0.625]


def test_values_and_weights_may_be_any_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    values = torch.tensor([0.5, 0.25], requires_grad=True)
    found = summary({"m": values.bfloat16()}, weights=torch.tensor([1.0, 3.0]).bfloat16())
    assert [each.mean for each in found] == [(0.5 + 3 * 0.25) / 4]
    assert [each.mean for each in summary({"m": values})] == [(0.5 + 0.25) / 2]


def test_dates_and_labels_of_several_types_are_groups():
    days = np.array(["2026-01-01", "2026-01-02"], "M8[ns]")
    found = summary({"m": [0.5, 0.1]}, by=days)
    expected = ["2026-01-01 00:00:00", "2026-01-02 00:00:00"]
    assert [str(day) for day in found.groups] == found.to_dict()["groups"] == expected
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = summary({"m": [0.5, 0.1]}, by=[1, "x"]).to_frame(backend="pyarrow")
    assert frame["group"].to_pylist() == [None, "1", "x"]


def test_a_string_is_one_note():
    values = {"m": [0.5, 1.0]}
    assert Evaluation(values, notes="seed 1").notes == ("seed 1",)
    assert summary(values, notes="seed 1").notes == ("seed 1",)


@pytest.mark.parametrize("noun", [5, "", " "])
def test_a_noun_is_a_word(noun):
    with pytest.raises(ArgumentError, match=r"^noun must be a word for a user, .*, got"):
        summary({"m": [0.5, 1.0]}, noun=noun)
    with pytest.raises(ArgumentError, match=r"^noun must be a word for a user, .*, got"):
        Evaluation({"m": [0.5, 1.0]}, noun=noun)


def test_arrays_have_no_column_of_models():
    for call in (summary, lambda values, model: compare({"a": values, "b": values}, model=model)):
        with pytest.raises(InputError, match=r"^model is the name of a column, 'zzz', but "):
            call({"m": [0.5, 1.0]}, model="zzz")
