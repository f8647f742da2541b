"""recmetrics.spark on a real Spark: the values of one machine."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from advice import Case, advice_in, check, followed, told_by
from asserts import assert_same_means, message_of

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("narwhals", reason="narwhals is not installed")

if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Java is not installed", allow_module_level=True)

import pandas as pd
from pyspark.errors import PythonException

import recmetrics.spark
from recmetrics import ArgumentError, InputError, InputTypeError
from recmetrics.tables import evaluate_table

ROOT = Path(__file__).parents[2]
METRICS = ["ndcg@10", "rbp(p=0.8)@5", "mrr", "cg@3"]
pytestmark = pytest.mark.filterwarnings(
    "ignore:The copy keyword is deprecated",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    # pyspark leaves the sockets open by which results come.
    "ignore:unclosed <socket:ResourceWarning",
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), path])
    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("workers"))
    # Two executors, each in a process of its own with one core.
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    builder = builder.config("spark.ui.enabled", "false").config("spark.executor.memory", "512m")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
    yield session
    session.stop()


def problem():
    rng = np.random.default_rng(0)

    def pairs(n_rows):
        users = pd.Series(rng.integers(0, 60, n_rows)).map("u{}".format)
        return pd.DataFrame({"user": users, "item": rng.integers(0, 50, n_rows)})

    recs = pairs(900).assign(model=rng.choice(["a", "b"], 900), score=rng.random(900))
    recs = recs.drop_duplicates(["user", "item", "model"])
    recs = recs[(recs["model"] == "a") | (recs["user"] != "u7")].assign(**{"not.read": 1})
    truth = pairs(200).drop_duplicates().assign(rating=1.0)
    truth["rating"] = rng.integers(0, 4, len(truth))
    return recs.reset_index(drop=True), truth, pairs(300).drop_duplicates()


def assert_same_rows(values, expected):
    got, expected = (
        frame.sort_values(list(expected.index.names)).reset_index(drop=True)
        for frame in (values.toPandas(), expected.reset_index())
    )
    pd.testing.assert_frame_equal(got, expected, check_exact=True, check_dtype=False)


@pytest.mark.parametrize("n_partitions", [2, 16])
def test_the_values_are_those_of_one_machine(n_partitions, spark):
    recs, truth, train = problem()
    frames = [spark.createDataFrame(f).repartition(n_partitions) for f in (recs, truth, train)]
    got = recmetrics.spark.evaluate(
        *frames[:2], METRICS, by="model", exclude=frames[2], chunks=n_partitions
    )
    assert_same_rows(got, evaluate_table(recs, truth, METRICS, by="model", exclude=train))


@pytest.mark.parametrize("by", [None, "model"])
def test_metrics_of_all_lists_are_those_of_one_machine(by, spark):
    recs, truth, _ = problem()
    if by is None:
        recs = recs[recs["model"] == "a"]
    frames = map(spark.createDataFrame, (recs, truth))
    metrics = [
        "coverage@3",
        "mrr",
        "personalization@5",
        "exposure_gini(discount=geometric, p=0.8)@5",
    ]
    options = {"by": by, "catalogue": pd.DataFrame({"item": range(70)})}
    got = recmetrics.spark.evaluate(*frames, metrics, chunks=4, **options)
    expected = evaluate_table(recs, truth, metrics, **options)
    assert got.columns == list(expected.reset_index().columns)
    assert_same_rows(got, expected)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal of POSIX")
def test_spark_repeats_the_tasks_of_an_executor_that_is_killed(spark, tmp_path):
    recs, truth, _ = problem()
    frames = map(spark.createDataFrame, (recs, truth))
    metrics = ["ndcg@10", "mrr"]
    values = recmetrics.spark.evaluate(*frames, metrics, by="model", chunks=4)
    mark = tmp_path / "killed"

    def die_once(blocks):
        for block in blocks:
            if not mark.exists():
                mark.touch()
                parent = ["ps", "-o", "ppid=", "-p", str(os.getppid())]
                os.kill(int(subprocess.check_output(parent)), signal.SIGKILL)
            yield block

    got = values.mapInPandas(die_once, values.schema)
    assert_same_rows(got, evaluate_table(recs, truth, metrics, by="model"))
    assert mark.exists()


def test_ties_missing_users_and_values_without_relevant_items_are_those_of_trec(spark):
    recs = pd.DataFrame({"user": list("uuuvw"), "item": list("xzyyy"), "score": 1.0})
    truth = pd.DataFrame({"user": list("uvx"), "item": list("zyy"), "relevance": [1, 0, 1]})
    frames = map(spark.createDataFrame, (recs, truth))
    got = recmetrics.spark.evaluate(*frames, "mrr", convention="TREC", chunks=3).toPandas()
    expected = evaluate_table(recs, truth, "mrr", convention="trec").reset_index()
    got = got.sort_values("user").reset_index(drop=True)
    pd.testing.assert_frame_equal(got, expected, check_dtype=False)
    # Equal scores rank z, y, x; v has no relevant item, w is not judged, x has no list.
    assert got["mrr"].tolist()[:2] == [1 / 1, 0]


def test_equal_scores_rank_by_item_whatever_the_partitions(spark):
    recs, truth, _ = problem()
    recs = recs[recs["model"] == "a"].drop(columns="model").assign(score=1.0)
    expected = evaluate_table(recs.sort_values("item"), truth, METRICS).reset_index()
    frames = [spark.createDataFrame(table) for table in (recs, truth)]
    for n_partitions in (1, 5):
        values = recmetrics.spark.evaluate(frames[0].repartition(n_partitions), frames[1], METRICS)
        got = values.toPandas().sort_values("user").reset_index(drop=True)
        wanted = expected.sort_values("user").reset_index(drop=True)
        pd.testing.assert_frame_equal(got, wanted, check_exact=True, check_dtype=False)


def test_equal_users_of_two_types_are_one_user(spark):
    recs = pd.DataFrame({"user": range(20), "item": 1, "score": 1.0})
    frames = [spark.createDataFrame(recs.astype({"user": name})) for name in ("int64", "int32")]
    got = recmetrics.spark.evaluate(*frames, "hit", chunks=8).toPandas()
    assert got["hit"].tolist() == [1.0] * 20


@pytest.mark.parametrize("lacks", ["truth", "exclude"])
def test_numbers_that_one_table_lacks_stay_what_they_are(lacks, spark):
    recs = pd.DataFrame(
        {
            "user": [1, 1, 1, 1, 2, 2],
            "item": list("xyzxxy"),
            "model": "a",
            "fold": [2**60 + 1] * 3 + [2**60] * 3,  # two folds, which are one in float64
            "score": [6, 5, 4, 3, 2, 1],
        }
    )
    tables = {
        "truth": pd.DataFrame({"user": [1, 2], "item": list("zy"), "rating": [True, True]}),
        "exclude": pd.DataFrame({"user": [1], "item": ["y"]}),
    }
    for label, table in tables.items():
        if label != lacks:
            table["fold"] = 2**60 + 2 - table["user"]
    by = ["model", "fold"]
    expected = evaluate_table(recs, **tables, metrics_list="mrr", by=by)
    frames = {label: spark.createDataFrame(table) for label, table in tables.items()}
    for chunks in (1, 4):
        got = recmetrics.spark.evaluate(
            spark.createDataFrame(recs), **frames, metrics_list="mrr", by=by, chunks=chunks
        )
        assert_same_rows(got, expected)


def test_columns_that_are_not_read_are_ignored(spark):
    """10 is excluded, so 11 is the first."""
    recs = spark.sql(
        "SELECT *, timestamp'9999-12-31 00:00:00' AS until "  # which pandas may not hold
        "FROM VALUES (1L, 10L, 0.9D), (1L, 11L, 0.5D) AS t(user, item, score)"
    )
    truth = spark.sql("SELECT 1L AS user, 11L AS item, 20200102L AS day, 2L AS rating")
    of_text = spark.sql("SELECT 1L AS user, 10L AS item, '2020-01-01' AS day, 'good' AS rating")
    other_case = spark.sql("SELECT 1L AS user, 10L AS item, 20200101L AS Day")
    for train in (of_text, other_case):
        [row] = recmetrics.spark.evaluate(recs, truth, ["mrr", "cg@1"], exclude=train).collect()
        assert (row["mrr"], row["cg@1"]) == (1, 2)


def test_ids_of_two_types_are_refused(spark):
    recs = spark.sql("SELECT 1L AS user, 10L AS item, 0.9D AS score")
    truth = spark.sql("SELECT 1 AS user, 10BD AS item")  # equal integers
    train = spark.sql("SELECT 'u' AS user, 10L AS item")
    message = message_of(
        InputTypeError, recmetrics.spark.evaluate, recs, truth, "mrr", exclude=train
    )
    assert message == (
        "truth, column 'user' holds int, and exclude, column 'user' holds string; expected ids of "
        "one type; cast one of them"
    )
    [row] = recmetrics.spark.evaluate(recs, truth, "mrr").collect()
    assert row["mrr"] == 1


def test_dots_in_the_names_of_keys(spark):
    recs = pd.DataFrame({"user": [1, 2], "item": list("xy"), "fold.k": [0, 1], "score": 1.0})
    truth = pd.DataFrame({"user": [1, 2], "item": list("xx")})
    options = {"by": "fold.k", "catalogue": recs[["item"]], "include_missing": False}
    got = recmetrics.spark.evaluate(
        *map(spark.createDataFrame, (recs, truth)), ["mrr", "coverage@1"], chunks=2, **options
    )
    assert_same_rows(got, evaluate_table(recs, truth, ["mrr", "coverage@1"], **options))


def test_lists_of_times_that_the_truth_lacks(spark):
    times = pd.to_datetime(["2024-05-01 00:00:00"] * 2 + ["2024-05-02 01:02:03"])
    recs = pd.DataFrame({"user": [1, 2, 1], "item": list("xyy"), "time": times, "score": 1.0})
    truth = pd.DataFrame({"user": [1, 2, 3], "item": list("xyx")})  # no list of 3 has an item
    frames = [spark.createDataFrame(table) for table in (recs, truth)]
    options = {"by": "time", "catalogue": pd.DataFrame({"item": list("xyz")})}
    metrics = ["mrr", "coverage@1"]
    got = recmetrics.spark.evaluate(*frames, metrics, chunks=4, **options)
    assert_same_rows(got, evaluate_table(recs, truth, metrics, **options))


# At a change to winter time, two hours of Paris have the same local times.
SUMMER = "timestamp'2020-10-25 00:30:00Z'"
WINTER = "timestamp'2020-10-25 01:30:00Z'"


@pytest.fixture
def in_paris(spark):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    yield
    spark.conf.unset("spark.sql.session.timeZone")


@pytest.mark.usefixtures("in_paris")
def test_timestamps_come_back_as_they_were(spark):
    recs = spark.sql(
        f"SELECT * FROM VALUES ('a', 'x', 2D, {SUMMER}), ('a', 'y', 1D, {SUMMER}), "
        f"('b', 'x', 1D, {WINTER}) AS t(user, item, score, day)"
    )
    truth = spark.sql("SELECT * FROM VALUES ('a', 'x'), ('b', 'z') AS t(user, item)")
    catalogue = pd.DataFrame({"item": list("xyzwv")})
    values = recmetrics.spark.evaluate(
        recs, truth, ["mrr", "coverage@2"], by="day", catalogue=catalogue
    )
    assert values.schema["day"].dataType.simpleString() == "timestamp"
    for time, mrr, coverage in (
        (SUMMER, {"a": 1, "b": 0}, 2 / 5),
        (WINTER, {"a": 0, "b": 0}, 1 / 5),
    ):
        rows = values.where(f"day = {time}").collect()
        assert {row["user"]: row["mrr"] for row in rows} == mrr
        assert [row["coverage@2"] for row in rows] == [coverage] * 2


@pytest.mark.usefixtures("in_paris")
def test_timestamps_are_users_and_items(spark):
    """One user has both items, which differ by the hour alone; the truth has the second."""
    recs = spark.sql(
        f"SELECT * FROM VALUES ({SUMMER}, {SUMMER}, 2D), ({SUMMER}, {WINTER}, 1D), "
        f"({WINTER}, {SUMMER}, 1D) AS t(user, item, score)"
    )
    truth = spark.sql(f"SELECT {SUMMER} AS user, {WINTER} AS item")
    values = recmetrics.spark.evaluate(recs, truth, "mrr")
    assert [row["mrr"] for row in values.where(f"user = {SUMMER}").collect()] == [1 / 2]
    assert [row["mrr"] for row in values.where(f"user = {WINTER}").collect()] == [None]
    summary = recmetrics.spark.summary(values.fillna(1.0), metrics="mrr", chunks=1)
    assert summary.means["mrr"] == (1 / 2 + 1) / 2
    integers = truth.withColumn("user", truth["user"].cast("long"))
    message = message_of(InputTypeError, recmetrics.spark.evaluate, recs, integers, "mrr")
    assert message == (
        "recs, column 'user' holds timestamp, and truth, column 'user' holds bigint; expected ids "
        "of one type; cast one of them"
    )


def test_decimals_are_numbers(spark):
    """Literals of Spark such as 0.9 are decimals; ids that are stay what they are."""
    user = f"{2**60}BD"  # float64 does not tell it from the next one
    recs = spark.sql(
        f"SELECT * FROM VALUES ({user}, 'x', 0.9), ({user}, 'y', 0.85), ({user} + 1, 'x', 0.9) "
        "AS t(user, item, score)"
    )
    truth = spark.sql(f"SELECT * FROM VALUES ({user}, 'y', 1.5) AS t(user, item, rating)")
    values = recmetrics.spark.evaluate(recs, truth, ["cg@2", "mrr"]).toPandas()
    [of_user] = values[values["ntruth"] > 0].to_dict("records")
    assert of_user == {"user": 2**60, "nrecs": 2, "cg@2": 1.5, "mrr": 1 / 2, "ntruth": 1}
    values = spark.sql(
        "SELECT * FROM VALUES ('a', 'u', 0.5, 1.5), ('a', 'v', 0.25, 0.5), ('b', 'u', 1.0, 1.5), "
        "('b', 'v', 0.0, 0.5) AS t(model, user, `rbp(p=0.8)@10`, weight)"
    )
    columns = {"metrics": "rbp(p=0.8)@10", "weights": "weight"}
    comparison = recmetrics.spark.compare(values, **columns)
    of_values = values.toPandas().astype(dict.fromkeys(columns.values(), float))
    assert str(comparison) == str(recmetrics.compare(of_values, **columns))


@pytest.mark.usefixtures("spark")
def test_advice_on_numbers_as_strings_is_followed():
    """y is the second of two by its number, and the first by its text."""
    case = Case(
        says="; if each is one, type {}",
        given="from pyspark.sql import SparkSession\nspark = SparkSession.getActiveSession()\n"
        "recs = spark.sql(\"SELECT * FROM VALUES ('u', 'x', '10'), ('u', 'y', '9.5') "
        "AS t(user, item, score)\")\ntruth = spark.sql(\"SELECT 'u' AS user, 'y' AS item\")",
        call="recmetrics.spark.evaluate(recs, truth, 'mrr')",
        value={"mrr": [1 / 2]},
        then="answer.select('mrr').toPandas()",
    )
    told = told_by(case)
    assert told.startswith("recs, column 'score' holds String, expected numbers; ")
    check(followed(case, advice_in(case, told)), case.value)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("scores, reciprocal_rank", [("5 AS score", 1 / 3), ("s AS score", 1 / 2)])
def test_advice_on_lists_is_followed(scores, reciprocal_rank):
    """z is the third item of three, and the second by the scores of each item."""
    case = Case(
        says="holds lists, expected one id in each row; type",
        given="from pyspark.sql import SparkSession\nspark = SparkSession.getActiveSession()\n"
        f"recs = spark.sql(\"SELECT 'u' AS user, array('x', 'y', 'z') AS `item.id`, {scores} "
        'FROM (SELECT array(1D, 9D, 5D) AS s)")\n'
        "truth = spark.sql(\"SELECT 'u' AS user, 'z' AS `item.id`\")",
        call="recmetrics.spark.evaluate(recs, truth, 'mrr', item='item.id')",
        value={"mrr": [reciprocal_rank]},
        advice="; type (.+)$",
        then="answer.select('mrr').toPandas()",
    )
    check(followed(case, advice_in(case, told_by(case))), case.value)


def test_advice_on_lists_as_text_is_followed(spark):
    recs = spark.sql("""SELECT 'u' AS user, "['1 a', '2 b']" AS item, 5 AS score""")
    truth = spark.sql("SELECT 'u' AS user, '2 b' AS item")
    with pytest.raises(PythonException) as caught:
        recmetrics.spark.evaluate(recs, truth, "mrr").collect()
    [advice] = re.findall(r"; type (recs = .+) \(rows and users", str(caught.value))
    names = {"recs": recs}
    exec(advice, names)
    [row] = recmetrics.spark.evaluate(names["recs"], truth, "mrr").collect()
    assert row["mrr"] == 1 / 2


def test_summary_and_compare_are_those_of_the_values(spark):
    recs, truth, _ = problem()
    frames = map(spark.createDataFrame, (recs, truth))
    values = recmetrics.spark.evaluate(*frames, METRICS, by="model")
    with_groups = values.selectExpr("*", "ntruth % 3 AS segment", "pmod(hash(user), 4) AS weight")
    columns = {"by": "segment", "weights": "weight"}
    collected = with_groups.toPandas().sort_values(["model", "user"])

    for options in ({}, columns):
        comparison = recmetrics.spark.compare(with_groups, metrics=METRICS, **options)
        of_values = recmetrics.compare(collected, metrics=METRICS, **options)
        assert str(comparison) == str(of_values)
        rules = ["ndcg@10 >= -0.3", "mrr >= -30%"]
        assert str(comparison.gate(rules)) == str(of_values.gate(rules))
        summary = recmetrics.spark.summary(with_groups, metrics=METRICS, chunks=7, **options)
        of_values = recmetrics.summary(collected, metrics=METRICS, **options)
        assert_same_means(summary, of_values)


def test_a_user_who_lacks_a_model_alone_in_a_bucket(spark):
    values = spark.sql(
        "SELECT m AS `the.model`, id AS user, 0.5D AS mrr FROM range(9) "
        "CROSS JOIN VALUES ('a'), ('b') AS t(m) WHERE m = 'a' OR id != 7"
    )
    with pytest.raises(PythonException, match="'a' has a list of user 7 and 'b' has none; "):
        recmetrics.spark.compare(values, model="the.model", chunks=1000)


def test_what_needs_no_values_is_refused_before_spark_runs(spark):
    recs, truth, _ = (spark.createDataFrame(frame) for frame in problem())
    message = message_of(InputError, recmetrics.spark.evaluate, recs, truth, "hit", item="id")
    assert message.startswith("recs has no column 'id'; it has 'user', 'item'")
    message = message_of(ArgumentError, recmetrics.spark.evaluate, recs, truth, "coverage@3")
    assert message.startswith("coverage@3 needs catalogue= ")
    for name in ("return_summary", "per_user"):
        message = message_of(
            ArgumentError, recmetrics.spark.evaluate, recs, truth, "hit", **{name: "values.csv"}
        )
        assert message == (
            f"{name}= is an option of evaluate_table alone; the result is a table of Spark"
        )
    unordered = "the rows of Spark have no order; expected a column 'score' or 'rank' in recs, or "
    for table, options in ((recs.drop("score"), {}), (recs, {"in_order": True})):
        message = message_of(InputError, recmetrics.spark.evaluate, table, truth, "hit", **options)
        assert message == f"{unordered}score= or rank= with the name of one"


@pytest.mark.parametrize(
    ("columns", "options", "error", "expected"),
    [
        ("*", {"by": [1, 2]}, ArgumentError, "by must be the name of a column of values, got a li"),
        ("*", {"chunks": 0}, ArgumentError, "chunks must be an integer >= 1, got 0"),
        ("*", {"levels": {}}, ArgumentError, "the value of each user is needed for levels="),
        ("* EXCEPT (model)", {}, InputError, "values has no column 'model'; type model='NAME'"),
        ("model, mrr", {}, InputError, "values has no column that identifies the user"),
        (
            "*, 0.5D AS `gini@3`, 0.1D AS `coverage@3`",
            {},
            ArgumentError,
            "gini@3 has one value for all lists, not one per user; type metrics=['mrr']",
        ),
        ("*", {"tests": "wilcoxon"}, ArgumentError, "the value of each user is needed for the"),
    ],
)
def test_values_that_are_not_compared(columns, options, error, expected, spark):
    values = spark.sql("SELECT 'a' AS model, 'u' AS user, 0.5D AS mrr UNION SELECT 'b', 'u', 0.7D")
    values.createOrReplaceTempView("per_user")
    values = spark.sql(f"SELECT {columns} FROM per_user")
    message = message_of(error, recmetrics.spark.compare, values, **options)
    assert message.startswith(expected)
    if "type metrics=" in message:
        assert recmetrics.spark.compare(values, metrics=["mrr"]).metrics == ("mrr",)


def test_groups_of_all_buckets_are_counted(spark):
    values = spark.range(60).selectExpr("id AS user", "id AS segment", "0.5D AS mrr")
    message = message_of(InputError, recmetrics.spark.summary, values, by="segment", chunks=4)
    assert message.startswith("by names 60 different groups; expected at most 50")


def test_values_without_rows(spark):
    values = spark.sql("SELECT 'u' AS user, 0.5D AS mrr").limit(0)
    assert message_of(InputError, recmetrics.spark.summary, values) == "values has no row"
