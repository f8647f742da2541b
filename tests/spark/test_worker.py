"""What a worker of Spark does with the rows of a bucket of users, here without Spark."""

import pickle
from functools import reduce

import numpy as np
import pytest

pytest.importorskip("narwhals", reason="narwhals is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")

import pandas as pd
from asserts import assert_same_means, message_of

import recmetrics
from recmetrics import InputError, InputTypeError
from recmetrics._report import ValueReader, ValueSums
from recmetrics.spark import evaluate_on_worker, measure_all_on_worker, sum_on_worker


def test_rows_of_a_bucket_without_the_lists_of_a_model():
    """Here nobody has a list of model b, which other buckets have; x is excluded for u."""
    recs = pd.DataFrame(
        [("u", "x", "a", 9), ("u", "y", "a", 8), ("v", "x", "a", 9)],
        columns=["user", "item", "model", "score"],
    )
    right = pd.DataFrame(
        [("u", "y", "truth"), ("v", "y", "truth"), ("u", "x", "exclude")],
        columns=["user", "item", "recmetrics table"],
    )
    pairs = right.iloc[:0][["user", "item"]]
    values = evaluate_on_worker(
        recs,
        right,
        heads={"recs": recs.iloc[:0], "truth": pairs, "exclude": pairs},
        metrics_list="mrr",
        options={"user": "user", "item": "item", "by": ["model"], "n_threads": 1},
        models=pd.DataFrame({"model": ["a", "b"]}),
        names=(recs.columns, right.columns, ["model", "user", "nrecs", "mrr"]),
    )
    rows = values.itertuples(index=False, name=None)
    of_a = [("a", "u", 1, 1 / 1), ("a", "v", 1, 0)]
    assert sorted(rows) == [*of_a, ("b", "u", 0, 0), ("b", "v", 0, 0)]
    assert values.dtypes[["model", "user"]].tolist() == [object, object]


def test_an_error_says_that_rows_are_counted_within_a_bucket():
    counted = " (rows and users are counted within a bucket of users)"
    recs = pd.DataFrame({"user": ["u", "u"], "item": ["x", "x"], "score": [2, 1]})
    right = pd.DataFrame({"user": ["u"], "item": ["x"], "recmetrics table": ["truth"]})
    pairs = right.iloc[:0][["user", "item"]]
    options = {"user": "user", "item": "item", "by": [], "n_threads": 1}
    message = message_of(
        InputError,
        lambda: evaluate_on_worker(
            recs,
            right,
            heads={"recs": recs.iloc[:0], "truth": pairs},
            metrics_list="mrr",
            options=options,
            models=None,
            names=(recs.columns, right.columns, ["user", "nrecs", "mrr"]),
        ),
    )
    assert "row 1 " in message
    assert message.endswith(counted)
    values = pd.DataFrame({"user": ["u"], "mrr": [0.5], "weight": [-1.0]})
    reader = ValueReader.of("mrr", None, None, "weight", is_paired=False)
    message = message_of(
        InputError, lambda: sum_on_worker(values, reader=reader, names=values.columns)
    )
    assert message.startswith("weights holds -1.0 for user 'u'; ")
    assert message.endswith(counted)


@pytest.mark.parametrize("label", ["recs", "truth"])
def test_advice_on_lists_as_text_is_code_of_spark(label):
    recs = pd.DataFrame({"user": ["u"], "item": ["1 2"], "m": ["a"], "score": [2]})
    right = pd.DataFrame({"user": ["u"], "item": [2], "recmetrics table": ["truth"]})
    ids = r"cast(regexp_extract_all(`item`, '\\S+', 0) AS array<bigint>)"
    rows = f"posexplode({ids}) AS (rank, `item`)"
    kept = ["`user`", "`m`"]
    if label == "truth":
        recs["item"] = "2"
        right["item"] = "1 2"
        rows = r"explode(regexp_extract_all(`item`, '\\S+', 0)) AS `item`"
        kept = ["`user`"]
    message = message_of(
        InputTypeError,
        lambda: evaluate_on_worker(
            recs,
            right,
            heads={"recs": recs.iloc[:0], "truth": right.iloc[:0][["user", "item"]]},
            metrics_list="mrr",
            options={"user": "user", "item": "item", "by": [], "n_threads": 1},
            models=None,
            names=(recs.columns, right.columns, ["user", "nrecs", "mrr"]),
        ),
    )
    typed = f"{label} = {label}.selectExpr({', '.join(map(repr, [*kept, rows]))})"
    assert f"; type {typed} (rows and users" in message


def test_tables_in_memory_are_for_other_functions():
    table = pd.DataFrame({"user": ["a"], "item": [1], "score": [1.0]})
    for call, label, instead in (
        (lambda: recmetrics.spark.evaluate(table, table, "mrr"), "recs", "tables.evaluate_table"),
        (lambda: recmetrics.spark.summary(table), "values", "summary and recmetrics.compare"),
        (lambda: recmetrics.spark.compare(table), "values", "summary and recmetrics.compare"),
    ):
        assert message_of(InputTypeError, call) == (
            f"{label} is a DataFrame, expected a DataFrame of Spark, as of "
            f"spark.createDataFrame({label}); tables in memory are for recmetrics.{instead}"
        )


def test_metrics_of_all_lists_count_the_lists_of_every_bucket():
    """Model b has a list in one bucket alone; nobody in the third bucket has any."""
    recs = pd.DataFrame(
        [("u", "x", "a", 9), ("v", "x", "a", 9), ("v", "y", "a", 8), ("v", "z", "b", 9)],
        columns=["user", "item", "model", "score"],
    )
    right = pd.DataFrame({"user": list("uvw"), "item": "x", "recmetrics table": "truth"})
    columns = ["model", "user", "recmetrics exposed"]
    options = {"user": "user", "item": "item", "by": ["model"], "n_threads": 1}
    options["catalogue"] = pd.DataFrame({"item": list("wxyz")})
    frames = [
        evaluate_on_worker(
            recs[recs["user"] == user],
            right[right["user"] == user],
            heads={"recs": recs.iloc[:0], "truth": right.iloc[:0][["user", "item"]]},
            metrics_list=["coverage@2"],
            options=options | {"include_missing": False},
            models=pd.DataFrame({"model": ["a", "b"]}),
            names=(recs.columns, right.columns, columns),
        )
        for user in "uvw"
    ]
    assert [len(frame) for frame in frames] == [1, 2, 0]
    counts = [frame.dropna() for frame in frames]
    assert [len(frame) for frame in counts] == [1, 1, 0]
    [of_all] = measure_all_on_worker(counts, metrics_list=["coverage@2"], options=options)
    # Of 4 items, a shows x and y, b shows z.
    assert of_all.to_dict("list") == {"model": ["a", "b"], "coverage@2": [2 / 4, 1 / 4]}


def values_of(models):
    """Values of 60 users for each model; some have none, and those of a whole bucket weight 0."""
    rng = np.random.default_rng(3)
    frames = []
    for model in models:
        ndcg = rng.random(60)
        ndcg[rng.random(60) < 0.1] = np.nan
        frame = pd.DataFrame({"user": range(60), "ndcg@10": ndcg, "mrr": rng.random(60)})
        frame["segment"] = list("abbc" * 15)
        frame["weight"] = [0 if user % 5 == 4 else 1 + user % 7 for user in range(60)]
        frames.append(frame.assign(model=model))
    return pd.concat(frames)


def sums_of_buckets(values, *, is_paired, by=None, weights=None):
    """The sums of five buckets of users, joined."""
    reader = ValueReader.of(["ndcg@10", "mrr"], None, by, weights, is_paired=is_paired)
    buckets = values.groupby(values["user"] % 5)
    names = values.columns
    cells = [sum_on_worker(rows, reader=reader, names=names)["sums"] for _, rows in buckets]
    return reduce(ValueSums.joined, (pickle.loads(cell) for (cell,) in cells))


@pytest.mark.parametrize("by", [None, "segment"])
@pytest.mark.parametrize("weights", [None, "weight"])
def test_sums_of_buckets_compare_as_the_values(by, weights):
    values = values_of(["a", "b", "c"])
    sums = sums_of_buckets(values, is_paired=True, by=by, weights=weights)
    expected = recmetrics.compare(values, metrics=["ndcg@10", "mrr"], by=by, weights=weights)
    assert str(recmetrics.compare(sums)) == str(expected)


@pytest.mark.parametrize("others", ["b", "bc"])
def test_a_user_who_lacks_a_model_that_is_not_in_the_bucket(others):
    values = pd.DataFrame({"user": 7, "model": [*"a", *others[1:]], "mrr": 0.5})
    reader = ValueReader.of("mrr", None, None, None, is_paired=True)
    of_all = pd.DataFrame({"user": 1, "model": ["a", *others], "mrr": 0.5})
    reader = reader.with_models(of_all)
    message = message_of(
        InputError, lambda: sum_on_worker(values, reader=reader, names=values.columns)
    )
    assert message.startswith("'a' has a list of user 7 and 'b' has none; expected the same users")

    # In the truth of nobody, user 7 is left out, as in one call.
    values = values.assign(mrr=np.nan)
    cells = [
        sum_on_worker(frame, reader=reader, names=values.columns)["sums"][0]
        for frame in (values, of_all)
    ]
    comparison = recmetrics.compare(reduce(ValueSums.joined, map(pickle.loads, cells)))
    assert {mean.n_users for mean in comparison.means} == {1}
    assert {mean.mean for mean in comparison.means} == {0.5}


def test_sums_of_models_that_lack_users_and_groups():
    """Model b has values of three users of segment b alone, which are not in all buckets."""
    values = values_of(["a", "b"])
    is_kept = (values["model"] == "a") | values["user"].isin([1, 5, 9])
    values = values[is_kept]
    sums = sums_of_buckets(values, is_paired=False, by="segment", weights="weight")
    got = recmetrics.summary(sums)
    expected = recmetrics.summary(
        values, metrics=["ndcg@10", "mrr"], by="segment", weights="weight"
    )
    assert got.n_weightless == expected.n_weightless == 12
    assert_same_means(got, expected)
