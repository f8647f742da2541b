"""evaluate_table of tables larger than memory, by buckets of users: the rows of one call."""

import errno
import gzip
import os
import re
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from asserts import message_of
from commands import evaluated
from tables_problems import make

pytest.importorskip("narwhals", reason="narwhals is not installed")
pytest.importorskip("polars", reason="polars is not installed")

import polars as pl

import recmetrics
from recmetrics import (
    ArgumentError,
    InputError,
    InputTypeError,
    RecmetricsWarning,
    UndefinedMetricError,
)
from recmetrics._files import Columns, Source, scan_table
from recmetrics.tables import evaluate_table

ROOT = Path(__file__).parents[2]
METRICS = ["ndcg@10", "recall@5", "coverage@3", "personalization@5", "novelty@5", "cg@3"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Some rows stay in memory, the others are written."""
    monkeypatch.setattr("recmetrics.tables._buckets._BLOCK_ROWS", 5000)
    monkeypatch.setattr("recmetrics.tables._buckets._HELD_BYTES", 200_000)


def problem(n_users):
    """Recommendations of two models, of which one lacks users; grades; items of training."""
    rng = np.random.default_rng(0)

    def pairs(n_rows):
        users = pl.Series("user", rng.integers(0, n_users, n_rows)).cast(str) + "ü"
        items = pl.Series("item", rng.integers(0, 900, n_rows)).cast(str)
        return pl.DataFrame([users, items])

    recs = pairs(20 * n_users).with_columns(
        model=pl.Series(rng.choice(["a", "b"], 20 * n_users)),
        score=pl.Series(rng.integers(0, 99, 20 * n_users)),
    )
    recs = recs.unique(["user", "item", "model"], keep="first", maintain_order=True)
    recs = recs.filter((pl.col("model") == "a") | ~pl.col("user").str.ends_with("7ü"))
    truth = pairs(5 * n_users).unique(maintain_order=True)
    truth = truth.with_columns(rating=pl.Series(rng.integers(0, 6, len(truth))))
    train = pairs(5 * n_users).unique(maintain_order=True)
    catalogue = pl.DataFrame({"item": [str(item) for item in range(900)]})
    side = {"by": "model", "exclude": train, "catalogue": catalogue, "popularity": train}
    return recs, truth, side


def assert_same_rows(got, expected):
    keys = expected.columns[:2]
    assert got.columns == expected.columns
    assert got.sort(keys).equals(expected.sort(keys))  # every bit


def in_form(form, table, folder, name):
    if form == "polars":
        return table.lazy()
    if form == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        return duckdb.from_arrow(table.to_arrow())
    if form in ("parquet", "csv"):
        path = folder / f"{name}.{form}"
        getattr(table, f"write_{form}")(path)
        return path
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    arrow = table.to_arrow()
    if form == "dataset":
        dataset = pytest.importorskip("pyarrow.dataset", reason="pyarrow is not installed")
        return dataset.dataset(arrow)
    return pyarrow.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(777))


FORMS = ["polars", "duckdb", "dataset", "reader", "parquet", "csv"]


@pytest.mark.parametrize("form", FORMS)
def test_the_rows_are_those_of_one_call(form, tmp_path):
    recs, truth, side = problem(700)
    expected, summary = evaluate_table(recs, truth, METRICS, return_summary=True, **side)
    exclude = in_form(form, side["exclude"], tmp_path, "exclude")
    tables = [in_form(form, table, tmp_path, str(n)) for n, table in enumerate((recs, truth))]
    side = side | {"exclude": exclude}
    got, got_summary = evaluate_table(*tables, METRICS, chunks=7, return_summary=True, **side)
    assert_same_rows(got, expected)
    lines, expected_lines = str(got_summary).split("\n"), str(summary).split("\n")
    assert [re.split(r"[(,] ?the first", line)[0] for line in lines] == [
        re.split(r"[(,] ?the first", line)[0] for line in expected_lines
    ]


def test_rows_are_written_also_where_no_thread_can_start(monkeypatch):
    recs, truth, side = problem(700)
    expected = evaluate_table(recs, truth, METRICS, **side)

    def start(_):
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr("threading.Thread.start", start)
    assert_same_rows(evaluate_table(recs, truth, METRICS, chunks=7, **side), expected)


def test_a_full_disk_is_an_error_also_where_later_blocks_could_be_written(monkeypatch):
    recs, truth, side = problem(700)
    write_ipc = pl.DataFrame.write_ipc

    def write(rows, path):
        if str(path).endswith("-5"):  # of recs, blocks 4 to 6 are written
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_ipc(rows, path)

    monkeypatch.setattr("recmetrics.tables._buckets._BLOCK_ROWS", 2_000)
    monkeypatch.setattr(pl.DataFrame, "write_ipc", write)
    with pytest.raises(OSError, match="No space left"):
        evaluate_table(recs, truth, METRICS, chunks=7, **side)


@pytest.fixture(scope="module")
def million_rows():
    """Tables, and what one call gives for them."""
    recs, truth, side = problem(51_000)
    assert len(recs) > 900_000
    return recs, truth, side, evaluate_table(recs, truth, METRICS, **side)


@pytest.mark.thorough
@pytest.mark.needs_jit
@pytest.mark.parametrize("form", ["polars", "duckdb", "dataset"])
def test_a_million_rows(form, million_rows, tmp_path):
    recs, truth, side, expected = million_rows
    tables = [in_form(form, table, tmp_path, str(n)) for n, table in enumerate((recs, truth))]
    assert_same_rows(evaluate_table(*tables, METRICS, chunks=4, **side), expected)


def test_lists_of_all_buckets_make_the_coverage():
    # Every user has another of 16 items: 1 of all lists, 1 / n of those of 1 / n of the users.
    recs = pl.DataFrame({"user": range(16), "item": range(16), "score": 1.0})
    tables = recs.lazy(), recs.lazy()
    got = evaluate_table(*tables, "coverage@1", catalogue=recs.select("item"), chunks=4)
    assert got["coverage@1"].to_list() == [1.0] * 16


def test_users_of_a_bucket_miss_the_models_of_other_buckets():
    recs = pl.DataFrame({"model": ["a"] * 8 + ["b"], "user": [*range(8), 0], "item": 1, "score": 1})
    truth = pl.DataFrame({"user": range(8), "item": 1})
    got = evaluate_table(recs.lazy(), truth, "hit", by="model", chunks=8)
    assert_same_rows(got, evaluate_table(recs, truth, "hit", by="model"))
    assert len(got) == 2 * 8


# Python holds the two values of the first three for equal.
CLOSE_KEYS = {
    "two hours of a change to winter time": (
        pl.Series([datetime(2020, 10, 25, 0, 30), datetime(2020, 10, 25, 1, 30)])
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone("Europe/Paris")
    ),
    "times": pl.Series([10**18, 10**18 + 1]).cast(pl.Datetime("ns")),
    "durations": pl.Series([10**18, 10**18 + 1]).cast(pl.Duration("ns")),
    "structs": pl.Series([{"a": 1}, {"a": 2}]),
}


@pytest.mark.parametrize("name", CLOSE_KEYS)
@pytest.mark.parametrize("to_file", [False, True])
def test_metrics_of_all_lists_are_those_of_each_key(name, to_file, tmp_path):
    """Of four items, the lists of the first key show two, and those of the second one."""
    keys = CLOSE_KEYS[name].gather([0, 0, 1])
    recs = pl.DataFrame({"user": list("aba"), "item": list("xyz"), "rank": 1, "key": keys})
    truth = pl.DataFrame({"user": list("ab"), "item": list("xy")})
    options = {"by": "key", "catalogue": pl.DataFrame({"item": list("xyzv")})}
    options["include_missing"] = False
    path = tmp_path / "values.parquet" if to_file else None
    for chunks in (1, 2):
        got = evaluate_table(
            recs, truth, ["coverage@1", "mrr"], chunks=chunks, per_user=path, **options
        )
        got = got.lazy().collect().sort("key", "user")
        assert got["coverage@1"].to_list() == [2 / 4, 2 / 4, 1 / 4]
        assert got["key"].equals(keys)


@pytest.mark.parametrize("name", ["recs", "truth", "exclude", "catalogue", "popularity", "strata"])
def test_an_input_is_not_replaced_by_the_result(name, tmp_path):
    pairs = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"]})
    labels = ("recs", "truth", "exclude", "catalogue", "popularity", "strata")
    paths = {label: tmp_path / f"{label}.parquet" for label in labels}
    for path in paths.values():
        pairs.write_parquet(path)
    before = paths[name].read_bytes()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.parquet").hardlink_to(paths[name])
    options = paths | {"strata": {"tail": str(paths["strata"])}, "in_order": True}
    for other in (paths[name].name, f"folder/../{name}.parquet", "link.parquet"):
        path = str(tmp_path / other)
        message = message_of(
            ArgumentError, evaluate_table, metrics_list="mrr", per_user=path, **options
        )
        assert message == f"per_user={path!r} is also an input; choose another name"
        assert paths[name].read_bytes() == before


@pytest.mark.parametrize("kind", ["times", "months", "intervals"])
def test_metrics_of_all_lists_of_keys_of_pandas(kind):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    keys = {
        "times": pd.to_timedelta([0, 1], unit="ns"),
        "months": pd.period_range("2020-01", "2020-02", freq="M"),
        "intervals": pd.interval_range(0, 2),
    }[kind]
    recs = pd.DataFrame({"user": list("aba"), "item": list("xyz"), "key": keys.take([0, 0, 1])})
    truth = pd.DataFrame({"user": list("ab"), "item": list("xy")})
    got = evaluate_table(
        recs,
        truth,
        "coverage@1",
        by="key",
        in_order=True,
        catalogue=pd.DataFrame({"item": list("xyzv")}),
        chunks=2,
        include_missing=False,
    )
    assert sorted(got["coverage@1"]) == [1 / 4, 2 / 4, 2 / 4]


@pytest.mark.parametrize("chunks", [None, 3])
def test_ids_of_another_width_are_in_the_same_bucket(chunks):
    recs = pl.DataFrame({"user": range(50), "item": 1, "score": 1.0})
    truth = recs.select(pl.col("user").cast(pl.Int16), "item")
    got = evaluate_table(recs.lazy(), truth.lazy(), "hit", chunks=chunks)
    assert got["hit"].to_list() == [1.0] * 50


LETTERS = pl.Enum(["a", "b", "c", "d", "e"])


@pytest.mark.parametrize(
    "of_recs, of_truth, types",
    [
        ([1, 2, 3], [1, 2, 4, 5], (pl.Int32, pl.Int64)),
        ([1, 2, 3], [1, 2, 4, 5], (pl.Int64, pl.Int32)),
        ([1, 2, 3], [1, 2, 4, 5], (pl.UInt64, pl.Int64)),
        ([1, 2, 3], [1, 2], (pl.Int32, pl.Int64)),  # no list is added
        ([0, 1], [0, 1, 2], (pl.Boolean, pl.Int64)),
        ([0, 1], [0, 1], (pl.Int8, pl.Boolean)),
        (["a", "b", "c"], ["a", "b", "d", "e"], (pl.Categorical, pl.String)),
        (["a", "b", "c"], ["a", "b", "d", "e"], (pl.String, LETTERS)),
    ],
)
@pytest.mark.parametrize("name, other", [("user", "by"), ("by", "user")])
def test_keys_have_the_types_of_one_call(of_recs, of_truth, types, name, other):
    """Some buckets have rows of one table alone, some of none."""
    recs = pl.DataFrame({name: of_recs, other: 1, "item": range(len(of_recs)), "score": 1.0})
    truth = pl.DataFrame({name: of_truth, other: 1, "item": range(len(of_truth))})
    recs = recs.with_columns(pl.col(name).cast(types[0]))
    truth = truth.with_columns(pl.col(name).cast(types[1]))
    expected = evaluate_table(recs, truth, "mrr", by="by")
    got = evaluate_table(recs.lazy(), truth.lazy(), "mrr", by="by", chunks=9)
    assert got.schema == expected.schema
    assert_same_rows(got, expected)


def test_cells_of_lists_are_refused_without_a_warning():
    recs = pl.DataFrame({"user": ["a", "b"], "item": ["i1 i2", "i2"]})
    truth = pl.DataFrame({"user": ["a"], "item": ["i1"]})
    message = message_of(InputTypeError, evaluate_table, recs, truth, "mrr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert message_of(InputTypeError, evaluate_table, recs, truth, "mrr", chunks=2) == message


def test_ids_of_two_kinds_are_refused_where_no_bucket_has_both():
    recs = pl.DataFrame({"user": [datetime(2020, 1, 1)], "item": 1, "score": 1.0})
    truth = recs.select(pl.col("user").dt.cast_time_unit("ms"), "item")
    message = message_of(InputTypeError, evaluate_table, recs, truth, "mrr")
    assert message_of(InputTypeError, evaluate_table, recs, truth, "mrr", chunks=9) == message


@pytest.mark.parametrize("chunks", [0, -1, 1.5, "4", True])
def test_what_is_no_number_of_buckets_is_refused(chunks):
    recs = pl.DataFrame({"user": [1], "item": [1], "score": [1.0]})
    message = message_of(ArgumentError, evaluate_table, recs, recs, "hit", chunks=chunks)
    assert message == f"chunks must be an integer >= 1, got {chunks!r}"


RECS = {"user": ["a", "a", "b"], "item": [7, 8, 7], "score": [0.9, 0.4, 0.5]}
TRUTH = {"user": ["a", "b"], "item": [8, 7]}


@pytest.mark.parametrize("column", [{"note": ["a", 1, {}]}, {0: [1, 2, 3]}, {0: ["a", 1, {}]}])
def test_a_column_that_is_not_read_may_hold_anything(column):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    recs = make("pandas", RECS | column)
    got = evaluate_table(recs, make("pandas", TRUTH), "mrr", chunks=2)
    assert dict(got.select("user", "mrr").iter_rows()) == {"a": 1 / 2, "b": 1 / 1}


@pytest.mark.parametrize("dtype", ["complex128", "longdouble"])
def test_scores_of_pandas_are_refused_as_in_one_call(dtype):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    recs = make("pandas", RECS).astype({"score": dtype})
    truth = make("pandas", TRUTH)
    message = message_of(InputTypeError, evaluate_table, recs, truth, "mrr")
    assert message_of(InputTypeError, evaluate_table, recs, truth, "mrr", chunks=2) == message


def test_runs_and_packed_files_are_read_in_parts(tmp_path):
    run = tmp_path / "run.txt"
    run.write_text("u Q0 x 1 0.9 tag\nu Q0 y 2 0.8 tag\nv Q0 y 1 0.7 tag\n")
    truth = tmp_path / "truth.csv.gz"
    truth.write_bytes(gzip.compress(b"user,item\nu,y\nv,y\n"))
    got = evaluate_table(run, truth, "mrr", chunks=2)
    assert dict(got.select("user", "mrr").iter_rows()) == {"u": 1 / 2, "v": 1 / 1}


def test_dicts_are_read_in_parts():
    got = evaluate_table({"u": ["x", "y"], "v": ["y"]}, {"u": ["y"], "v": ["y"]}, "mrr", chunks=2)
    assert dict(got.select("user", "mrr").iter_rows()) == {"u": 1 / 2, "v": 1 / 1}


def test_every_bucket_has_the_items_of_a_stratum():
    recs = pl.DataFrame({"user": ["u", "u", "v"], "item": ["x", "y", "y"], "score": [2, 1, 1]})
    strata = {"tail": pl.DataFrame({"item": ["y"]})}
    got = evaluate_table(recs, recs, "recall(of=tail)@1", strata=strata, chunks=8)
    assert dict(got.select("user", "recall(of=tail)@1").iter_rows()) == {"u": 0 / 1, "v": 1 / 1}


def test_the_mean_weighs_the_lists_of_all_buckets_as_the_system():
    # implicit weighs by min(k, R): v has a hit at 1 of min(3, 1) places, w at 1 of min(3, 3).
    recs = pl.DataFrame({"user": ["v", "w"], "item": 1, "score": 1.0})
    truth = pl.DataFrame({"user": ["v", "w", "w", "w"], "item": [1, 1, 2, 3]})
    options = {"convention": "implicit", "chunks": 8, "return_summary": True}
    _, summary = evaluate_table(recs, truth, "recall@3", **options)
    assert summary.means == {"recall@3": pytest.approx((1 + 1) / (1 + 3))}


@pytest.mark.parametrize("user", [0, 1, 2])
def test_the_first_list_of_a_note_is_that_of_any_bucket(user):
    """One user has no list, and the next one has ranks that contradict the scores."""
    rows = {"user": [0, 1, 2] * 2, "item": [1] * 3 + [2] * 3, "rank": [1] * 3 + [2] * 3}
    is_next = pl.col("user") == (user + 1) % 3
    recs = pl.DataFrame(rows).with_columns(
        score=pl.when(is_next).then(pl.col("rank")).otherwise(-pl.col("rank"))
    )
    listed = recs.filter(pl.col("user") != user)
    _, summary = evaluate_table(listed, recs, "hit", chunks=8, return_summary=True)
    assert (summary.n_missing, summary.first_missing) == (1, f"user={user}")
    assert (summary.n_contradicted, summary.first_contradicted) == (1, f"user={(user + 1) % 3}")


def test_excluded_truth_of_all_buckets_is_told_once():
    recs = pl.DataFrame({"user": range(3), "item": 1, "score": 1.0})
    exclude = recs.filter(pl.col("user") > 0)
    with pytest.warns(RecmetricsWarning, match="2 of the 3 users") as caught:
        evaluate_table(recs, recs, "hit", exclude=exclude, chunks=3)
    assert len(caught) == 1


def test_the_bar_of_buckets_needs_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # importing it fails
    recs = pl.DataFrame({"user": range(3), "item": 1, "score": 1.0})
    assert evaluate_table(recs, recs, "hit", chunks=2, progress=True)["hit"].to_list() == [1.0] * 3


def test_only_buckets_report_progress():
    recs = pl.DataFrame({"user": range(3), "item": 1, "score": 1.0})
    reports = []

    def report(n_done, n_buckets):
        reports.append((n_done, n_buckets))

    evaluate_table(recs, recs, "hit", progress=report)
    assert reports == []
    evaluate_table(recs, recs, "hit", chunks=2, progress=report)
    assert reports == [(1, 2), (2, 2)]


@pytest.mark.parametrize("options", [{}, {"chunks": 2}], ids=["files", "buckets"])
def test_threads_leave_the_filters_of_warnings_alone(options, tmp_path):
    """Each would restore those of another, so that warnings were lost for good."""
    pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "rank": [1, 1]}).write_parquet(
        tmp_path / "recs.parquet"
    )
    pl.DataFrame({"user": ["a", "b"], "item": ["x", "x"]}).write_parquet(tmp_path / "truth.parquet")
    files = tmp_path / "recs.parquet", tmp_path / "truth.parquet"
    filters = list(warnings.filters)
    show = warnings.showwarning
    seen = []

    def work(_):
        evaluate_table(*files, ["hit@1"], **options)
        seen.append((list(warnings.filters), warnings.showwarning))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert seen == [(filters, show)] * 40


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_tables_of_pandas_in_parts_need_polars_and_for_strings_pyarrow(package, monkeypatch):
    """Without pyarrow, no string of pandas 3 is read: as those of several types, which are here."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    recs = pd.DataFrame({"user": [1, "a"], "item": [1, 1], "score": [1.0, 1.0]})
    monkeypatch.setitem(sys.modules, package, None)
    message = message_of(InputTypeError, evaluate_table, recs, recs, "hit", chunks=2)
    assert message == (
        "tables are read in parts by polars; type: pip install -U 'polars>=1.34' pyarrow"
    )


def test_an_error_of_another_table_names_no_user():
    recs = pl.DataFrame({"user": [1, 2], "item": [1, 2], "score": 1.0})
    strata = {"tail": pl.DataFrame({"item": ["y"]})}
    options = {"strata": strata, "chunks": 2}
    message = message_of(InputTypeError, evaluate_table, recs, recs, "recall(of=tail)@1", **options)
    assert message.startswith("strata['tail'], column 'item' holds strings")


def test_an_error_of_types_names_no_user():
    recs = pl.DataFrame({"user": range(40), "item": range(40), "score": 1.0})
    truth = recs.select("user", pl.col("item").cast(str))
    message = message_of(InputTypeError, evaluate_table, recs, truth, "hit", chunks=2)
    assert message.startswith("recs, column 'item' holds integers (Int64), truth, column 'item'")


def test_an_error_names_the_user():
    recs = pl.DataFrame({"user": [f"u{n}" for n in range(40)], "item": 1, "score": 1.0})
    wrong = recs.with_columns(pl.when(pl.col("user") != "u23").then("item"))
    message = message_of(InputError, evaluate_table, wrong.lazy(), recs, "hit", chunks=2)
    assert message == (
        "user 'u23', whose rows are counted by themselves: recs, column 'item': row 0 (counted "
        "from 0) is null or NaN, expected an id in every row"
    )


@pytest.mark.parametrize("chunks", [1, 4])
def test_an_error_of_all_users_says_that_a_bucket_counts(chunks):
    recs = pl.DataFrame({"user": range(16), "item": range(16), "score": 1.0})
    features = pl.DataFrame({"item": [99], "x": [1.0]})
    calls = [
        (UndefinedMetricError, recs[:1], "hit", {"undefined": "raise"}),
        (InputError, recs, "ild@1", {"features": features}),
    ]
    for error, truth, metric, options in calls:
        expected = message_of(error, evaluate_table, recs, truth, metric, **options)
        message = message_of(error, evaluate_table, recs, truth, metric, chunks=chunks, **options)
        if chunks == 1:
            assert message == expected
        else:
            assert message.endswith(" (rows and users are counted within a bucket of users)")


@pytest.mark.parametrize("popular, n_buckets", [([99, 0], 4), ([*range(15)], 1)])
def test_a_warning_with_another_number_in_each_bucket_is_one(popular, n_buckets):
    """Each of 16 users has an item of their own; no user had one that is not popular before."""
    recs = pl.DataFrame({"user": range(16), "item": range(16), "score": 1.0})
    popularity = pl.DataFrame({"item": popular, "share": 0.25})
    with pytest.warns(RecmetricsWarning) as caught:
        evaluate_table(recs, recs, "novelty@1", popularity=popularity, chunks=4)
    [warning] = caught
    assert re.search(
        r"^\d of \d+ items have popularity 0; .+ \(of one bucket; "
        rf"in {n_buckets} of 4 buckets of users\)$",
        str(warning.message),
    )


@pytest.mark.usefixtures("registry_stays")
def test_a_warning_of_a_metric_counts_buckets_for_each_of_its_cutoffs():
    """Each of four users has one item; their ids differ in more than digits."""

    @recmetrics.metric(formula="{k} and {more}")
    def over(user, k, *, more: float = 1.0):
        return k + more * len(user.relevances)

    recs = pl.DataFrame({"user": ["ann", "bob", "cyd", "dan"], "item": "x", "score": 1.0})
    metrics = ["over@1", "over@2", "over@12", "over(more=2)@1", "over(more=2.5)@1"]
    with pytest.warns(RecmetricsWarning) as caught:
        evaluate_table(recs, recs, metrics, chunks=2)
    messages = [str(warning.message) for warning in caught]
    assert sorted(message.partition(" leaves its bounds 0 and 1, ")[0] for message in messages) == (
        sorted(metrics)
    )
    for message in messages:
        assert message.endswith(" (of one bucket; in 2 of 2 buckets of users)")


def test_an_error_of_the_library_names_the_table():
    lazy = pl.LazyFrame({"user": ["u"], "item": ["x"]}).with_columns(score=pl.col("item").cast(int))
    message = message_of(InputError, evaluate_table, lazy, lazy, "hit")
    assert message.startswith("recs cannot be read as a table: conversion from `str` to `i64` ")
    assert "\n" not in message
    assert "This error occurred" not in message


HERE = pl.DataFrame({"user": ["u1", "u2", "u3"], "item": ["x", "y", "z"], "model": ["A", "A", "B"]})


METRICS_OF = {
    "popularity": ["novelty(unseen=zero)@2"],
    "propensity": ["recall(weigh=snips)@2"],
    "strata": ["recall(of=s)@2"],
}


@pytest.mark.parametrize(
    "truth, side, told",
    [
        ({"user": ["U1", "U2", "U3"]}, {}, "truth, column 'user': no id of recs occurs here"),
        ({"item": ["X", "Y", "Z"]}, {}, "truth, column 'item': no id of recs occurs here"),
        ({}, {"exclude": HERE.with_columns(user=pl.lit("U"))}, "exclude, column 'user': no id"),
        ({}, {"exclude": HERE.with_columns(item=pl.lit("X"))}, "exclude, column 'item': no id"),
        ({}, {"popularity": HERE.select(item=pl.lit("X"), share=0.5)[:1]}, "popularity, column"),
        ({}, {"propensity": HERE.with_columns(item=pl.lit("X"))}, "propensity, column 'item': no"),
        ({}, {"strata": {"s": HERE.select(item=pl.lit("X"))}}, "strata['s'], column 'item': no id"),
        # Of the tail, a model may recommend nothing.
        ({"item": ["x", "y", "t"]}, {"strata": {"s": HERE.select(item=pl.lit("t"))}}, None),
        ({}, {"by": "model"}, "the means are too low if 'model' is a group of users"),
        ({"item": ["y", "z", "x"]}, {}, None),  # no user has an item of the truth
    ],
)
def test_warnings_are_those_of_one_call(truth, side, told):
    """A bucket has rows of few users, or of one table alone."""
    truth = HERE.select("user", "item").with_columns(
        **{name: pl.Series(truth[name]) for name in truth}
    )
    warned = []
    for chunks in (None, 4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            metrics = ["mrr", *METRICS_OF.get("".join(side), [])]
            evaluate_table(HERE, truth, metrics, in_order=True, chunks=chunks, **side)
        warned.append([str(warning.message) for warning in caught])
    assert warned[0] == warned[1]
    assert len(warned[0]) == (told is not None)
    assert "".join(warned[0]).startswith(told or "")


CHILD = """
import sys, time
from recmetrics.tables import evaluate_table

def report(n_done, n_buckets):
    print(n_done, "of", n_buckets, flush=True)
    if n_done == 3:
        time.sleep(600)

evaluate_table("recs.parquet", "truth.parquet", "hit", by="model", chunks=5,
               per_user="values.parquet", progress=report)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal of POSIX")
@pytest.mark.parametrize("older", [None, b"older"])
def test_ctrl_c_leaves_the_file_as_it_was(older, tmp_path):
    recs, truth, _ = problem(50)
    recs.write_parquet(tmp_path / "recs.parquet")
    truth.write_parquet(tmp_path / "truth.parquet")
    path = tmp_path / "values.parquet"
    if older is not None:
        path.write_bytes(older)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    temporary = tmp_path.parent / f"{tmp_path.name}-temporary"
    temporary.mkdir()
    command = [sys.executable, "-c", CHILD]
    paths = {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | paths, **pipes) as child:
        lines = [child.stdout.readline() for _ in range(3)]
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
    assert lines == ["1 of 5\n", "2 of 5\n", "3 of 5\n"], err
    assert err.endswith("KeyboardInterrupt\n")
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert list(temporary.iterdir()) == []


def test_a_result_is_written_as_a_parquet_file(tmp_path):
    recs, truth, side = problem(50)
    path = tmp_path / "values.parquet"
    got = evaluate_table(recs, truth, METRICS, chunks=5, per_user=path, **side)
    assert list(tmp_path.iterdir()) == [path]
    assert_same_rows(got.collect(), evaluate_table(recs, truth, METRICS, **side))


@pytest.mark.parametrize("form", ["frame", "csv"])
def test_rows_written_to_a_file_have_the_order_of_one_call(form, tmp_path):
    recs = pl.DataFrame({"user": list("qzaymb"), "item": [7, 8, 7, 8, 7, 8], "score": [1.0] * 6})
    truth = pl.DataFrame({"user": list("azq"), "item": [7, 7, 7]})
    if form == "csv":
        recs, truth = (
            in_form("csv", table, tmp_path, str(n)) for n, table in enumerate((recs, truth))
        )
    rows = evaluate_table(recs, truth, "mrr", per_user=tmp_path / "values.parquet").collect()
    assert rows["user"].to_list() == list("qzaymb")
    assert rows["mrr"].to_list() == [1.0, 0.0, 1.0, None, None, None]


def test_the_command_reads_files_in_parts(tmp_path, capsys):
    recs, truth, _ = problem(50)
    recs = recs.filter(pl.col("model") == "a").drop("model")
    files = [in_form("parquet", table, tmp_path, str(n)) for n, table in enumerate((recs, truth))]
    whole = evaluated(capsys, *files, "-m", "ndcg@10")
    parts = evaluated(capsys, *files, "-m", "ndcg@10", "--chunks", "4")
    for name in ("mean", "low", "high"):
        assert parts["of"]["ndcg@10"][name] == pytest.approx(whole["of"]["ndcg@10"][name], 1e-14)


def test_a_scan_of_text_gives_the_rows_that_polars_asks_for(tmp_path):
    path = tmp_path / "recs.csv"
    path.write_text("user,item,score\nu,a, .5 \nv,b,.75\nw,c,1\n")
    columns = Columns(["user", "item"], ("score",), {"user": "user", "item": "item"})
    rows = scan_table(Source("recs", path, in_shell=False), columns)
    assert rows.head(2).collect()["score"].to_list() == [0.5, 0.75]
    best = rows.filter(pl.col("score") > 0.5)
    assert best.select("user").collect()["user"].to_list() == ["v", "w"]
    assert best.head(1).collect()["user"].to_list() == ["v"]
    assert rows.collect().height == 3
