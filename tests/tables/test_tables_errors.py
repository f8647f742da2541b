"""What is wrong with a table is said exactly, with its columns and its first row."""

import re

import numpy as np
import pytest
from asserts import message_of
from tables_problems import EVERY_KIND, make, read

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import ArgumentError, InputError, InputTypeError, tables
from recmetrics.tables import RecListAnalysis, evaluate_table

RECS = {"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]}
TRUTH = {"user": [1, 2], "item": [8, 9], "rating": [1.0, 2.0]}


def run(recs, truth, kind="pandas"):
    analysis = RecListAnalysis()
    analysis.add_metric(tables.ndcg)
    return analysis.compute(make(kind, recs), make(kind, truth))


def refused(error, recs, truth, kind="pandas"):
    with pytest.raises(error) as caught:
        run(recs, truth, kind)
    message = str(caught.value)
    assert caught.value.argument == re.match(r"\w+", message)[0]
    return message


@EVERY_KIND
def test_the_good_twin_of_them_all(kind):
    assert read(run(RECS, TRUTH, kind))["ndcg"] == [1.0, 0.0]


CASES = {
    "no item": (
        InputError,
        {"user": [1], "thing": [7]},
        {},
        "recs has no column 'item'; it has 'user', 'thing'",
    ),
    "no item in the truth": (
        InputError,
        {},
        {"user": [1], "thing": [7]},
        "truth has no column 'item'; it has 'user', 'thing'",
    ),
    "no common key": (
        InputError,
        {},
        {"who": [1], "item": [7]},
        "truth has none of the columns that recs is grouped by ('user'), expected at least one; "
        "it has 'who', 'item'",
    ),
    "item twice in a list": (
        InputError,
        {"user": [2, 1, 1, 1, 2], "item": [7, 8, 9, 8, 7]},
        {},
        "recs, columns 'user', 'item': row 3 (counted from 0) holds user=1, item=8 again, "
        "first in row 1; expected an item once in each list; give group_cols= the column that "
        "distinguishes the lists, or type repeats='waste' or repeats='drop'",
    ),
    "item twice in a truth": (
        InputError,
        {},
        {"user": [1, 2, 1], "item": [8, 8, 8]},
        "truth, columns 'user', 'item': row 2 (counted from 0) holds user=1, item=8 again, "
        "first in row 0; expected an item once; drop the rows that repeat another",
    ),
    "rank twice": (
        InputError,
        {"user": [1, 1, 2, 1], "item": [7, 8, 7, 9], "rank": [2, 1, 1, 2]},
        {},
        "recs, columns 'user', 'rank': row 3 (counted from 0) holds user=1, rank=2 again, first in "
        "row 0; expected a rank once in each list; give group_cols= the column that "
        "distinguishes the lists",
    ),
    "rank twice, beyond float64": (
        InputError,
        {"user": [1, 1, 1], "item": [7, 8, 9], "rank": [2**60, 2**60 + 1, 2**60 + 1]},
        {},
        "recs, columns 'user', 'rank': row 2 (counted from 0) holds user=1, "
        "rank=1152921504606846977 again, first in row 1; expected a rank once in each list; give "
        "group_cols= the column that distinguishes the lists",
    ),
    "score of -inf": (
        InputError,
        {"user": [1, 1], "item": [7, 8], "score": [1.0, -np.inf]},
        {},
        "recs, column 'score': row 1 (counted from 0) is -inf, which means not recommended; "
        "leave such rows out",
    ),
    "score of NaN": (
        InputError,
        {"user": [1, 1], "item": [7, 8], "score": [1.0, np.nan]},
        {},
        "recs, column 'score': row 1 (counted from 0) is null or NaN, expected a number "
        "in every row",
    ),
    "negative rating": (
        InputError,
        {},
        {"user": [1, 2], "item": [8, 9], "rating": [1.0, -2.0]},
        "truth, column 'rating': row 1 (counted from 0) is -2, expected relevances from 0 to "
        "1e+100; clip the column to 0 if it is not relevant",
    ),
    "huge rating": (
        InputError,
        {},
        {"user": [1, 2], "item": [8, 9], "rating": [1.0, 1e101]},
        "truth, column 'rating': row 1 (counted from 0) is 1e+101, expected relevances from 0 to "
        "1e+100",
    ),
}


UNTIED = {  # code for ranks that tie, in the libraries that have it
    "pandas": "recs = recs.assign(**{'rank': recs.groupby(['user'])['rank'].rank(method='first')})",
    "polars": "recs = recs.with_columns(polars.col('rank').rank('ordinal').over(['user']))",
}


@EVERY_KIND
@pytest.mark.parametrize("case", CASES)
def test_a_bad_table_is_refused(case, kind):
    error, recs, truth, message = CASES[case]
    if case.startswith("rank twice") and kind in UNTIED:
        message += f"; if items of a list tie, type {UNTIED[kind]}"
    assert refused(error, recs or RECS, truth or TRUTH, kind) == message


@EVERY_KIND
@pytest.mark.parametrize("chunks", [None, 2])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"by": "item"}, "recs: the column 'item' identifies the lists and holds the items"),
        ({"user": "item"}, "recs: the column 'item' identifies the lists and holds the items"),
        ({"score": "item"}, "recs: the column 'item' holds the items and orders the lists"),
        ({"rank": "user"}, "recs: the column 'user' identifies the lists and orders the lists"),
        ({"relevance": "item"}, "truth: the column 'item' holds the items and holds the relev"),
    ],
)
def test_a_column_is_not_read_as_two_things(names, message, chunks, kind):
    """Ids of items that are numbers would be read as scores."""
    tables_of_call = make(kind, RECS), make(kind, TRUTH)
    told = message_of(ArgumentError, evaluate_table, *tables_of_call, "mrr", chunks=chunks, **names)
    assert told.startswith(message)
    assert told.endswith("; expected a column for each")
    # One name in both tables, such as that of BEIR, is two columns.
    truth = make(kind, TRUTH | {"rank": [1.0, 2.0]})
    got = read(evaluate_table(make(kind, RECS), truth, "cg", relevance="rank", rank="rank"))
    assert got["cg"] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("names", "arguments"),
    [
        ({"by": "item", "score": "item"}, ["by"]),  # the items come first, then the scores
        ({"user": "item", "rank": "item"}, []),
        ({"by": "rank", "rank": "rank"}, ["by"]),  # rank=None reads the same column
        ({"item": "rating", "relevance": "rating"}, []),
    ],
)
def test_only_arguments_that_help_are_to_be_left_out(names, arguments):
    recs = make("polars", RECS | {"rating": [1, 2, 3]})
    truth = make("polars", TRUTH | {"rank": [1, 2], "rating": [1, 2]})
    told = message_of(ArgumentError, evaluate_table, recs, truth, "mrr", **names)
    assert re.findall(r"type (\w+)=None", told) == arguments


@EVERY_KIND
@pytest.mark.parametrize("column", ["user", "item"])
@pytest.mark.parametrize("what", ["recs", "truth"])
@pytest.mark.parametrize("ids", [["a", None, "b"], [1.0, float("nan"), 2.0]], ids=str)
def test_a_null_id_is_refused(kind, column, what, ids):
    # In floats NaN is null; the other table holds ids of the same type.
    good = {"user": [ids[0], ids[0]], "item": [ids[0], ids[2]]}
    bad = {"user": [ids[0]] * 3, "item": [ids[0]] * 3, column: ids}
    recs, truth = (bad, good) if what == "recs" else (good, bad)
    assert refused(InputError, recs, truth, kind) == (
        f"{what}, column {column!r}: row 1 (counted from 0) is null or NaN, expected an id "
        "in every row"
    )


@EVERY_KIND
def test_ids_of_two_types_are_refused(kind):
    message = refused(InputTypeError, RECS, TRUTH | {"user": ["1", "2"]}, kind)
    assert message == (
        "recs, column 'user' holds integers (Int64), truth, column 'user' strings (String), "
        "expected ids of one type; cast one of them"
    )
    message = refused(InputTypeError, RECS, TRUTH | {"item": [8.0, 9.0]}, kind)
    assert "column 'item' holds integers (Int64), truth, column 'item' floats (Float64)" in message


@EVERY_KIND
def test_a_rank_or_a_rating_that_is_no_number_is_refused(kind):
    message = refused(InputTypeError, RECS | {"rank": ["1", "2", "3"]}, TRUTH, kind)
    assert message.startswith("recs, column 'rank' holds String, expected numbers; if each is one")
    message = refused(InputTypeError, RECS, TRUTH | {"rating": ["1", "2"]}, kind)
    assert message.startswith("truth, column 'rating' holds String, expected numbers; if")


def test_a_key_with_several_columns_is_named_whole():
    recs = {"model": ["A", "B", "A"], "user": [1, 1, 1], "item": [7, 7, 7]}
    message = refused(InputError, recs, TRUTH)
    assert "columns 'model', 'user', 'item': row 2" in message
    assert "holds model='A', user=1, item=7 again, first in row 0" in message


def test_what_is_no_table_is_refused():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    analysis = RecListAnalysis()
    analysis.add_metric("hit")
    recs, truth = pd.DataFrame(RECS), pd.DataFrame(TRUTH)
    expected = "expected a pandas or polars DataFrame or a pyarrow Table"
    for bad, given in ((RECS, "dict"), ([1, 2], "list"), (None, "NoneType")):
        assert (
            message_of(InputTypeError, analysis.compute, bad, truth)
            == f"recs is of type {given}, {expected}"
        )
    assert message_of(InputTypeError, analysis.compute, recs, pl.DataFrame(TRUTH)) == (
        "recs is a pandas table and truth a polars one, expected both of one library; type "
        "truth.to_pandas()"
    )
    with pytest.raises(InputError, match=r"'user' is in its index: type recs.reset_index\(\)"):
        RecListAnalysis(["user"]).compute(recs.set_index("user"), truth)
    wide = recs.rename_axis("item", axis="columns")  # without a column of users there are no keys
    with pytest.raises(InputError, match=r"no column 'user'; it has 'thing'$"):
        RecListAnalysis(["user"]).compute(wide[["item"]].rename(columns=lambda _: "thing"), truth)


def test_tables_of_few_columns_are_not_taken_for_a_column_of_each_item():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    analysis = RecListAnalysis(["user"])
    rows = pd.DataFrame({"user": [1, 1], "sku": [7, 8], "qty": [2, 3]})
    with pytest.raises(InputError, match=r"; 'user' is in its index: type recs.reset_index\(\)$"):
        analysis.compute(rows.set_index("user"), rows)
    for names in (["u", "i", "s"], ["u_id", "i_id", "rating"]):
        with pytest.raises(InputError) as raised:
            analysis.compute(rows.set_axis(names, axis="columns"), rows)
        assert "melt" not in str(raised.value)
    levels = pd.MultiIndex.from_arrays([["a", "b", "c", "d"]])
    with pytest.raises(InputError) as raised:
        analysis.compute(pd.DataFrame([[1, 2, 3, 4]], columns=levels), rows)
    assert "melt" not in str(raised.value)
    with pytest.raises(InputError, match="melt"):
        analysis.compute(pd.DataFrame([[1, 2, 3, 4]], columns=list("abcd")), rows)


def test_lists_must_be_told_apart():
    with pytest.raises(ArgumentError, match="group_cols is empty"):
        RecListAnalysis([])
    with pytest.raises(ArgumentError, match="recs has no column that identifies the lists"):
        run({"item": [1], "score": [0.5]}, TRUTH)
    analysis = RecListAnalysis(["session"])
    with pytest.raises(InputError, match="recs has no column 'session'"):
        analysis.compute(make("pandas", RECS), make("pandas", TRUTH))


def test_columns_of_one_name_are_refused():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    twice = pa.Table.from_arrays(
        [pa.array([1]), pa.array([7]), pa.array([8])], ["user", *["item"] * 2]
    )
    with pytest.raises(InputError, match="item"):
        tables.evaluate_table(twice, make("pyarrow", TRUTH), "hit")
    once = twice.select([0, 1])
    assert read(tables.evaluate_table(once, make("pyarrow", TRUTH), "hit"))["hit"] == [0.0, 0.0]


# --- Lazy tables ---------------------------------------------------------------------------------


def lazy_table(library):
    if library == "polars":
        return make("polars", RECS).lazy()
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return duckdb.connect().from_df(make("pandas", RECS))


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_a_lazy_table_is_refused_with_what_makes_it_one_that_is_not(library, monkeypatch):
    lazy = lazy_table(library)
    columns = {"item": "item", "time": "rank"}
    message, advice = message_of(InputTypeError, tables.audit_times, lazy, lazy, **columns).split(
        "; type "
    )
    assert message == "train is lazy, expected a pandas or polars DataFrame or a pyarrow Table"
    train = eval(advice, {"train": lazy})
    assert str(tables.audit_times(train, train, **columns))

    monkeypatch.setattr("recmetrics.tables._frames._READY", {})  # a library that it does not know
    got = message_of(InputTypeError, tables.audit_times, train, lazy, **columns)
    assert got.startswith("truth is lazy, ")
    assert got.endswith("; convert it to a pandas or polars DataFrame or a pyarrow Table")


# --- Names of columns ----------------------------------------------------------------------------


@EVERY_KIND
@pytest.mark.parametrize("name", [5, 0.5, None, ["user"], {"user": 1}, b"user"], ids=repr)
def test_a_column_is_named_by_a_string(kind, name):
    recs, truth = make(kind, RECS), make(kind, TRUTH)
    message = f"a column of recs must be named by a string, got {name!r}"
    for argument in ("user", "item", "rank", "score", "by"):
        if name is None and argument not in ("user", "item"):
            continue
        given = [name] if argument == "by" else name
        assert (
            message_of(
                ArgumentError, tables.evaluate_table, recs, truth, "hit", **{argument: given}
            )
            == message
        )
    assert message_of(ArgumentError, RecListAnalysis([name]).compute, recs, truth) == message


def test_numbers_that_name_columns_of_pandas_are_refused_with_what_to_type():
    recs, truth = (make("pandas", table).set_axis(range(3), axis=1) for table in (RECS, TRUTH))
    with pytest.raises(ArgumentError, match=r"type recs.rename\(columns=str\), and name it '0'$"):
        tables.evaluate_table(recs, truth, "hit", user=0, item=1)
    recs, truth = recs.rename(columns=str), truth.rename(columns=str)
    got = read(tables.evaluate_table(recs, truth, "hit", user="0", item="1", rank="2"))
    assert got["hit"] == [1.0, 0.0]
    recs.columns = [("user", "a"), ("user", "b"), "rank"]
    with pytest.raises(InputError, match=r"it has \('user', 'a'\), \('user', 'b'\), 'rank'$"):
        tables.evaluate_table(recs, truth, "hit", item="1")


def test_numbers_may_name_the_columns_of_a_vector():
    features = make("pandas", {0: [1.0, 0.0], 1: [0.0, 1.0], "item": [7, 8]})
    got = tables.evaluate_table(
        make("pandas", RECS), make("pandas", TRUTH), "diversity", features=features
    )
    assert read(got)["diversity"][0] == 1.0


@EVERY_KIND
def test_lists_are_grouped_by_a_column_once(kind):
    recs, truth = make(kind, RECS), make(kind, TRUTH)
    expected = "lists are grouped by 'user' twice, expected each column once"
    for call in (
        lambda: tables.evaluate_table(recs, truth, "hit", by="user"),
        lambda: RecListAnalysis(["user", "user"]).compute(recs, truth),
    ):
        assert message_of(ArgumentError, call) == expected


@EVERY_KIND
@pytest.mark.parametrize("name", ["hit", "nrecs", "ntruth"])
def test_no_column_of_the_result_takes_the_place_of_another(kind, name):
    recs, truth = (
        make(kind, {name: table["user"], "item": table["item"]}) for table in (RECS, TRUTH)
    )
    analysis = RecListAnalysis()
    analysis.add_metric("hit")
    for call in (
        lambda: tables.evaluate_table(recs, truth, "hit", user=name, include_missing=True),
        lambda: analysis.compute(recs, truth, include_missing=True),
    ):
        assert message_of(ArgumentError, call) == (
            f"recs is grouped by {name!r}, but the result has a column of that name for a count "
            "or a metric; rename the column in both tables"
        )
    with pytest.raises(ArgumentError, match="call that first"):
        analysis.summary  # noqa: B018
    if name == "ntruth":
        got = tables.evaluate_table(recs, truth, "hit", user=name, include_missing=False)
        assert read(got)["hit"] == [1.0, 0.0]


@pytest.mark.parametrize("name", [5, b"mine", ["mine"]], ids=repr)
def test_a_metric_is_named_by_a_string(name):
    for metric in ("hit", tables.hit, lambda *_: 1.0):
        assert (
            message_of(ArgumentError, RecListAnalysis().add_metric, metric, name=name)
            == f"name must be a string, the name of a column, got {name!r}"
        )


# --- Callables -----------------------------------------------------------------------------------


def test_an_option_that_a_callable_does_not_take_is_refused():
    analysis = RecListAnalysis()
    with pytest.raises(ArgumentError, match=r"argument 'depth'; grade takes k$"):
        analysis.add_metric(grade, depth=3)
    with pytest.raises(ArgumentError, match=r"argument 'k'; <lambda> takes no options$"):
        analysis.add_metric(lambda recs, truth: len(recs) + len(truth), k=3)
    analysis.add_metric(grade, k=3)
    assert read(analysis.compute(make("pandas", RECS), make("pandas", TRUTH)))["grade"] == [3, 3]


def grade(recs, truth, k=1):
    return k if len(recs) and len(truth) else None


@pytest.mark.parametrize("answer", [10**400, 1j, "much", [1.0]], ids=lambda answer: str(answer)[:9])
def test_an_answer_that_is_no_number_is_refused(answer):
    analysis = RecListAnalysis()
    analysis.add_metric(lambda *_: answer, name="mine")
    with pytest.raises(
        ArgumentError, match=r"metric 'mine' returned .* for user=1, expected a number"
    ):
        analysis.compute(make("pandas", RECS), make("pandas", TRUTH))


@pytest.mark.parametrize("divisor", [10**400, "much", None], ids=lambda divisor: str(divisor)[:9])
def test_a_discount_that_gives_no_number_is_refused(divisor):
    analysis = RecListAnalysis()
    analysis.add_metric(tables.dcg, discount=lambda _: divisor)
    with pytest.raises(ArgumentError, match="discount must give a number for each rank, got"):
        analysis.compute(make("pandas", RECS), make("pandas", TRUTH))


def test_a_truth_with_an_index_of_two_levels_has_no_items():
    truth = make("pandas", TRUTH).set_index(["user", "item"])
    with pytest.raises(InputError, match=r"truth has no column 'item'; it has 'rating'"):
        tables.hit(make("pandas", {"item": [7]}), truth)


@pytest.mark.parametrize("groups", [np.array(["a", "b"]), np.array("a"), np.eye(2)])
def test_groups_of_users_are_no_columns(groups):
    recs, truth = {"user": [1, 2], "item": [7, 8]}, {"user": [1, 2], "item": [7, 8]}
    with pytest.raises(ArgumentError, match=r"^by must name columns of recs .* got a ndarray; "):
        evaluate_table(make("pandas", recs), make("pandas", truth), "mrr", by=groups, in_order=True)


def test_the_column_that_divides_lists_is_named():
    """Neither numbers as text nor a column that leaves repeats may be the name of the model."""
    recs = {"user": [1, 1, 1, 1], "item": [7, 8, 7, 8], "rank": [1, 2, 1, 2], "fold": ["f"] * 4}
    recs |= {"time": ["9:01", "9:01", "9:02", "9:02"], "page": ["p", "p", "q", "p"]}
    truth = make("polars", {"user": [1], "item": [8]})
    with pytest.raises(InputError, match="give by= the column that distinguishes the lists"):
        evaluate_table(make("polars", recs), truth, "mrr", by="fold")
    recs["model"] = ["x", "x", "y", "y"]
    with pytest.raises(InputError) as caught:
        evaluate_table(make("polars", recs), truth, "mrr", by="fold")
    advice = "type by=['fold', 'model'] if column 'model' distinguishes the lists"
    assert advice in str(caught.value)
    values = evaluate_table(make("polars", recs), truth, "mrr", by=["fold", "model"])
    assert values["mrr"].to_list() == [1 / 2, 1 / 2]
