"""Ids of every type that a table can hold: matched exactly, or refused with what to type."""

import datetime
import decimal
import itertools
import math
import re
import uuid
import warnings

import numpy as np
import pytest
from asserts import message_of
from tables_problems import EVERY_KIND, KINDS, WHOLE_AND_IN_PARTS, make, read

pytest.importorskip("narwhals", reason="narwhals is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("polars", reason="polars is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa

from recmetrics import InputError, InputTypeError
from recmetrics.tables import RecListAnalysis, evaluate_table

# --- Columns of every type: functions of the numbers 0, 1, 2 of three ids ------------------------

INTEGERS, WORDS, FLOATS = [1, 2, 3], ["a", "b", "c"], [0.5, 1.0, 3.25]
BYTES = [b"a", b"b", b"\xff"]
DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
STAMPS = [datetime.datetime(2020, 1, day) for day in (1, 2, 3)]
TIMES = [datetime.time(hour) for hour in (1, 2, 3)]
SPANS = [datetime.timedelta(days) for days in (1, 2, 3)]
DECIMALS = [decimal.Decimal(text) for text in ("1.50", "2.50", "3.50")]
UUIDS = [uuid.UUID(int=number) for number in (1, 2, 3)]
LISTS, STRUCTS = [[1], [2], [3]], [{"a": 1}, {"a": 2}, {"a": 3}]
MIXED = [1, "1", ("a", "b")]


def of_pandas(values, dtype=None):
    return lambda rows: pd.Series([values[row] for row in rows], dtype=dtype)


def of_polars(values, dtype=None):
    return lambda rows: pl.Series([values[row] for row in rows], dtype=dtype)


def of_pyarrow(values, dtype=None):
    return lambda rows: pa.array([values[row] for row in rows], dtype)


def categories(values, order=(0, 1, 2), ordered=False):
    known = [values[place] for place in order]
    return lambda rows: pd.Series(pd.Categorical([values[r] for r in rows], known, ordered=ordered))


def dictionary(values, dtype=None):
    return lambda rows: pa.DictionaryArray.from_arrays(
        pa.array(rows), values if isinstance(values, pa.Array) else pa.array(values, dtype)
    )


def chunks_of_dictionaries(rows):
    """A dictionary of its own for each chunk."""
    return pa.chunked_array([pa.array([WORDS[row]]).dictionary_encode() for row in rows])


def in_pandas(column):
    """A column of Arrow in pandas."""
    return lambda rows: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array(_chunks(column(rows))))
    )


def _chunks(array):
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def existing(library, columns):
    """The columns whose type this release of a library has: by the name of the type."""
    return {name: make() for name, make in columns.items() if hasattr(library, name.split()[0])}


ARROW = {
    "int64": of_pyarrow(INTEGERS),
    **existing(
        nw, {"Float16": lambda: of_pyarrow([np.float16(value) for value in FLOATS], pa.float16())}
    ),
    "float32": of_pyarrow(FLOATS, pa.float32()),
    "string": of_pyarrow(WORDS),
    "large_string": of_pyarrow(WORDS, pa.large_string()),
    "binary": of_pyarrow(BYTES),
    "large_binary": of_pyarrow(BYTES, pa.large_binary()),
    "date32": of_pyarrow(DAYS),
    "time32": of_pyarrow(TIMES, pa.time32("s")),
    "time64": of_pyarrow(TIMES, pa.time64("ns")),
    "timestamp": of_pyarrow(STAMPS),
    "duration": of_pyarrow(SPANS),
    "decimal128": of_pyarrow(DECIMALS),
    "dictionary of integers": dictionary(INTEGERS),
    "dictionary of strings": dictionary(WORDS),
    "dictionary of floats": dictionary(FLOATS),
    "dictionary with a word twice": lambda rows: dictionary([*WORDS, "a"])(
        [3 if row == 0 and place else row for place, row in enumerate(rows)]
    ),
    "dictionary of a dictionary": dictionary(pa.array(WORDS).dictionary_encode()),
    "dictionaries in chunks": chunks_of_dictionaries,
    **existing(
        pa,
        {
            "string_view": lambda: of_pyarrow(WORDS, pa.string_view()),
            "binary_view": lambda: of_pyarrow(BYTES, pa.binary_view()),
        },
    ),
}
MATCHED = {
    "pandas": {
        "Int64": of_pandas(INTEGERS, "Int64"),
        "Float64": of_pandas(FLOATS, "Float64"),
        "string": of_pandas(WORDS, "string"),
        "objects: strings": of_pandas(WORDS, object),
        "objects: integers": of_pandas(INTEGERS, object),
        "objects: mixed": of_pandas(MIXED, object),
        "objects: decimals": of_pandas(DECIMALS, object),
        "datetime": of_pandas(STAMPS),
        "timedelta": of_pandas(SPANS),
        "period": lambda rows: pd.Series(pd.PeriodIndex([DAYS[row] for row in rows], freq="D")),
        "categories: integers": categories(INTEGERS),
        "categories: strings": categories(WORDS, (2, 0, 1)),
        "categories: in order": categories(INTEGERS, (2, 0, 1), ordered=True),
        "categories: mixed": categories(MIXED),
        **{
            f"Arrow's {name}": in_pandas(column)
            for name, column in ARROW.items()
            if name
            not in ("dictionary of a dictionary", "string_view", "binary_view")  # not for pandas
        },
    },
    "polars": {
        "UInt64": of_polars(INTEGERS, pl.UInt64),
        "Float32": of_polars(FLOATS, pl.Float32),
        "String": of_polars(WORDS),
        "Binary": of_polars(BYTES),
        "Categorical": of_polars(WORDS, pl.Categorical),
        "Enum": of_polars(WORDS, pl.Enum(["c", "a", "b"])),
        "Date": of_polars(DAYS),
        "Datetime": of_polars(STAMPS),
        "Decimal": of_polars(DECIMALS),
        "Struct": of_polars(STRUCTS),
        **existing(
            pl,
            {
                "Int128": lambda: of_polars(INTEGERS, pl.Int128),
                "UInt128": lambda: of_polars(INTEGERS, pl.UInt128),
                "Float16": lambda: of_polars(FLOATS, pl.Float16),
            },
        ),
    },
    "pyarrow": ARROW,
}
EVERY_MATCHED = pytest.mark.parametrize(
    "kind, name", [(kind, name) for kind in KINDS for name in MATCHED[kind]]
)


def mrr(recs, truth, **options):
    return np.asarray(evaluate_table(recs, truth, "mrr", **options)["mrr"]).tolist()


def tables_of(kind, where, recs, truth):
    """Two tables whose ids in one column are these; user 1 of the truth has no recommendations."""
    if where == "user":
        listed = {"user": recs([0, 0, 1]), "item": [7, 8, 7]}
        return make(kind, listed), make(kind, {"user": truth([1, 0, 2]), "item": [7, 8, 9]})
    listed = {"user": [0, 0, 1], "item": recs([0, 1, 0])}
    return make(kind, listed), make(kind, {"user": [1, 0, 2], "item": truth([0, 1, 2])})


@pytest.mark.filterwarnings("ignore:.* holds numbers and text")
@pytest.mark.parametrize("where", ["user", "item"])
@EVERY_MATCHED
def test_ids_are_matched(kind, name, where):
    column = MATCHED[kind][name]
    recs, truth = tables_of(kind, where, column, column)
    before = str(recs.dtypes) if kind == "pandas" else ""
    assert mrr(recs, truth, include_missing=False) == [1 / 2, 1.0]
    assert mrr(recs, truth) == [1 / 2, 1.0, 0.0]
    assert before == (str(recs.dtypes) if kind == "pandas" else "")


@EVERY_MATCHED
def test_columns_of_any_type_may_stand_beside(kind, name):
    def grade(recs, truth):
        return len(recs) + len(truth)

    analysis = RecListAnalysis("user")
    analysis.add_metric(grade)
    columns = {"user": [1, 2, 1], "item": [7, 8, 9], "other": MATCHED[kind][name]([0, 1, 2])}
    table = make(kind, columns)
    assert read(analysis.compute(table, table))["grade"] == [4.0, 2.0]


# --- Two types of one kind -----------------------------------------------------------------------

ALIKE = {
    "pandas": [
        {
            "int8": of_pandas(INTEGERS, "int8"),
            "uint64": of_pandas(INTEGERS, "uint64"),
            "Int64": of_pandas(INTEGERS, "Int64"),
            "objects": of_pandas(INTEGERS, object),
            "categories": categories(INTEGERS),
            "categories in order": categories(INTEGERS, (2, 0, 1), ordered=True),
            "Arrow's": in_pandas(of_pyarrow(INTEGERS)),
            "Arrow's dictionary": in_pandas(dictionary(INTEGERS)),
        },
        {
            "str": of_pandas(WORDS, "str"),
            "string": of_pandas(WORDS, "string"),
            "objects": of_pandas(WORDS, object),
            "categories": categories(WORDS),
            "other categories": lambda rows: categories([*WORDS, "d"], (3, 2, 1, 0))(rows),
            "Arrow's": in_pandas(of_pyarrow(WORDS)),
            "Arrow's dictionary": in_pandas(dictionary(WORDS)),
        },
        {"float32": of_pandas(FLOATS, "float32"), "Float64": of_pandas(FLOATS, "Float64")},
    ],
    "polars": [
        {
            "Int8": of_polars(INTEGERS, pl.Int8),
            "UInt64": of_polars(INTEGERS, pl.UInt64),
            **existing(pl, {"Int128": lambda: of_polars(INTEGERS, pl.Int128)}),
        },
        {
            "String": of_polars(WORDS),
            "Categorical": of_polars(WORDS, pl.Categorical),
            "Enum": of_polars(WORDS, pl.Enum(["c", "a", "b"])),
            "another Enum": of_polars(WORDS, pl.Enum(["a", "b", "c", "d"])),
        },
        {"Float32": of_polars(FLOATS, pl.Float32), "Float64": of_polars(FLOATS)},
    ],
    "pyarrow": [
        {
            "uint8": of_pyarrow(INTEGERS, pa.uint8()),
            **{name: ARROW[name] for name in ("int64", "dictionary of integers")},
        },
        {
            name: column
            for name, column in ARROW.items()
            if name in ("string", "large_string", "dictionaries in chunks")
            or name.startswith(("string_view", "dictionary of strings"))
        },
        {
            name: column
            for name, column in ARROW.items()
            if name in ("float32", "dictionary of floats")
            or (name == "Float16" and hasattr(pa, "string_view"))  # older pyarrow casts none
        },
    ],
}


@pytest.mark.parametrize("where", ["user", "item"])
@EVERY_KIND
def test_ids_of_two_types_of_one_kind_are_matched(kind, where):
    for columns in ALIKE[kind]:
        for one, other in itertools.permutations(columns, 2):
            recs, truth = tables_of(kind, where, columns[one], columns[other])
            got = read(evaluate_table(recs, truth, "mrr"))
            assert got["mrr"] == [1 / 2, 1.0, 0.0], (one, other)
            if where == "user":
                assert got["user"] in (INTEGERS, WORDS, FLOATS), (one, other)


def test_integers_of_any_size_are_added_exactly():
    large = 2**62 + 1
    unsigned = pd.DataFrame({"user": np.array([1, 2], np.uint64), "item": [7, 7]})
    signed = pd.DataFrame({"user": [2, large], "item": [7, 7]})
    got = read(evaluate_table(unsigned, signed, "hit"))
    assert got["user"] == [1, 2, large]
    objects = pd.DataFrame({"user": pd.Series([2**80, 2], dtype=object), "item": [7, 7]})
    got = read(evaluate_table(objects, signed, "hit"))
    assert got["user"] == [2**80, 2, large]


@EVERY_KIND
def test_added_ids_keep_their_type(kind):
    column = {
        "pandas": of_pandas(FLOATS, "float32"),
        "polars": of_polars(INTEGERS, pl.Int8),
        "pyarrow": dictionary(WORDS),
    }[kind]
    recs, truth = tables_of(kind, "user", column, column)
    got = evaluate_table(recs, truth, "hit")
    found = got.index if kind == "pandas" else got["user"]
    wanted = recs["user"]
    assert len(found) == 3
    if kind == "pyarrow":
        assert found.type == wanted.type
    else:
        assert found.dtype == wanted.dtype


@WHOLE_AND_IN_PARTS
def test_sparse_columns_of_pandas_are_read_as_dense_ones(chunks):
    """``get_dummies(sparse=True)`` makes such columns of genres."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    recs = pd.DataFrame({"user": [1, 1, 2], "item": [0, 5, 5], "score": [1.0, 0.0, 2.0]})
    sparse = recs.astype({"user": "Sparse[int]", "item": "Sparse[int]", "score": "Sparse[float]"})
    truth = pd.DataFrame({"user": [1, 2], "item": [5, 0]})
    profile = pd.DataFrame({"user": [1, 2], "old": [1, 1], "new": [0, 0]})
    genres = pd.DataFrame({"item": [0, 5], "old": [1, 0], "new": [0, 1]})
    sparse_genres = genres.astype({"old": "Sparse[int]", "new": "Sparse[int]"})
    for given in ((recs, genres), (recs, sparse_genres), (sparse, sparse_genres)):
        sides = {"genres": given[1], "profile": profile, "chunks": chunks}
        got = read(evaluate_table(given[0], truth, ["mrr", "calibration@1"], **sides))
        users = dict(zip(got["user"], got["mrr"], strict=True))
        assert users == {1: 1 / 2, 2: 0}
        assert sorted(got["calibration@1"]) == pytest.approx([0.0, math.log(100)])


def test_categories_of_two_tables_are_brought_together(capfd):
    first, second = (pl.Series(words, dtype=pl.Categorical) for words in (["x", "y"], ["y", "z"]))
    recs = pl.DataFrame({"user": first, "item": [1, 1]})
    truth = pl.DataFrame({"user": second, "item": [1, 2]})
    got = read(evaluate_table(recs, truth, "hit"))
    assert got["user"] == ["x", "y", "z"]
    np.testing.assert_array_equal(got["hit"], [math.nan, 1.0, 0.0])
    assert capfd.readouterr().err == ""  # where polars before 1.32 warns of different categories


def kinds_refused(recs, truth, kind):
    with pytest.raises(
        InputTypeError, match="expected ids of one type; cast one of them"
    ) as caught:
        evaluate_table(*tables_of(kind, "user", recs, truth), "mrr")
    return re.findall(r"column 'user' (?:holds )?(.*?),", str(caught.value))


def test_floats_that_are_several_integers_are_refused():
    """A column of integers in which pandas read a missing one, dropped since."""
    recs = pd.DataFrame({"user": [1, 1], "item": [2.0, 2.0**53 + 2], "score": [2.0, 1.0]})
    message = message_of(InputError, evaluate_table, recs, recs, "mrr")
    assert message == (
        "recs, column 'item': row 1 (counted from 0) holds 9007199254740994, a float, and from "
        "2^53 on several integers are one float; expected integers or text; read the ids as such, "
        "as pandas.read_csv(..., dtype={'item': 'Int64'}) does"
    )
    integers = recs.astype({"item": "Int64"})
    assert evaluate_table(integers, integers.tail(1), "mrr")["mrr"].tolist() == [1 / 2]


def test_ids_of_two_kinds_are_refused_by_their_values():
    words = of_pyarrow(WORDS)
    given = kinds_refused(dictionary(INTEGERS), words, "pyarrow")
    assert given == ["integers (Int64)", "strings (String)"]
    assert kinds_refused(ARROW["time32"], ARROW["time64"], "pyarrow")[0] == "time32[s] (Time)"
    assert kinds_refused(ARROW["binary"], ARROW["large_binary"], "pyarrow")[0] == "binary (Binary)"
    words = of_pandas(WORDS)
    assert kinds_refused(of_pandas(INTEGERS, object), words, "pandas")[0] == "integers (Object)"
    assert kinds_refused(of_pandas(FLOATS, object), words, "pandas")[0] == "floats (Object)"
    assert kinds_refused(categories(INTEGERS), words, "pandas")[0] == "integers (Categorical)"
    assert kinds_refused(in_pandas(dictionary(INTEGERS)), words, "pandas")[0] == "integers (Int64)"
    period = MATCHED["pandas"]["period"]
    assert kinds_refused(period, words, "pandas")[0] == "period[D] (Unknown)"
    decimals = of_polars(DECIMALS, pl.Decimal(10, 3))
    assert len(kinds_refused(MATCHED["polars"]["Decimal"], decimals, "polars")) == 2


@pytest.mark.parametrize("item", [["1"], [1]])
@pytest.mark.parametrize("objects", [[1, "1"], ["2", 1]])
def test_objects_1_and_the_string_1_are_two_ids(objects, item):
    """pandas leaves such columns where it reads a text in parts; that is seldom meant."""
    recs = pd.DataFrame({"user": [0, 0], "item": pd.Series(objects, dtype=object)})
    truth = pd.DataFrame({"user": [0], "item": item})
    rank = objects.index(item[0]) + 1 if item[0] in objects else np.inf
    has_both = "1" in [*objects, *item] and 1 in [*objects, *item]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read(evaluate_table(recs, truth, "mrr"))["mrr"] == [1 / rank]
    told = [str(warning.message) for warning in caught if "two ids" in str(warning.message)]
    assert len(told) == has_both
    message = "recs, column 'item' holds numbers and text: 1 and '1' are two ids; are the ids wri"
    assert all(text.startswith(message) for text in told)


@pytest.mark.parametrize("ids, count", [([1, "1", 2], 1), ([True, "True", 2], 0)])
def test_numbers_as_text_are_told_once(ids, count):
    recs = pd.DataFrame({"user": pd.Series(ids, dtype=object), "item": 7})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate_table(recs, recs, "mrr", exclude=recs.assign(item=8))
    assert sum("numbers and text" in str(warning.message) for warning in caught) == count


@pytest.mark.parametrize("mixed", ["recs", "truth"])
def test_numbers_as_text_are_told_of_the_table_that_has_both(mixed):
    frames = {}
    for label in ("recs", "truth"):
        ids = ["1", 1] if label == mixed else [1, 2]
        frames[label] = pd.DataFrame({"user": 0, "item": pd.Series(ids, dtype=object)})
    with pytest.warns(match=f"^{mixed}, column 'item' holds numbers and text: 1 and '1' are two"):
        evaluate_table(*frames.values(), "mrr")


@EVERY_KIND
def test_negative_zero_is_zero(kind):
    recs, truth = ({"user": [zero, 1.5], "item": [7, 7]} for zero in (-0.0, 0.0))
    got = evaluate_table(make(kind, recs), make(kind, truth), "hit")
    assert read(got)["hit"] == [1.0, 1.0]


# --- Refused -------------------------------------------------------------------------------------

NO_LISTS = {
    "pandas": {
        "lists": of_pandas(LISTS, object),
        "tuples": of_pandas([(1,), (2,), (3,)], object),
        "arrays": of_pandas([np.array([one]) for one in (1, 2, 3)], object),
        "Arrow's lists": in_pandas(of_pyarrow(LISTS)),
        "a list in row 1": lambda rows: pd.Series(
            [[WORDS[row]] if place == 1 else WORDS[row] for place, row in enumerate(rows)],
            dtype=object,
        ),
    },
    "polars": {"List": of_polars(LISTS), "Array": of_polars(LISTS, pl.Array(pl.Int64, 1))},
    "pyarrow": {
        "list": of_pyarrow(LISTS),
        "large_list": of_pyarrow(LISTS, pa.large_list(pa.int64())),
        "fixed_size_list": of_pyarrow(LISTS, pa.list_(pa.int64(), 1)),
    },
}
INCOMPARABLE = {
    "pandas": {
        "a dict in row 0 (counted from 0)": of_pandas(STRUCTS, object),
        "struct<a: int64>[pyarrow]": in_pandas(of_pyarrow(STRUCTS)),
    },
    "polars": {"Object": of_polars(UUIDS, pl.Object)},
    "pyarrow": {"struct<a: int64>": of_pyarrow(STRUCTS)},
}


def refused(recs, truth):
    with pytest.raises(InputTypeError) as caught:
        evaluate_table(recs, truth, "mrr")
    return str(caught.value)


@pytest.mark.parametrize("where", ["user", "item"])
@pytest.mark.parametrize("what", ["recs", "truth"])
@pytest.mark.parametrize("kind, name", [(kind, name) for kind in KINDS for name in NO_LISTS[kind]])
def test_lists_are_no_ids(kind, name, what, where):
    column = NO_LISTS[kind][name]
    recs, truth = tables_of(kind, where, column, column)
    advice = f"{what}.explode([{where!r}]).dropna(subset=[{where!r}]).infer_objects()"
    if kind == "polars":
        advice = f"{what}.explode([{where!r}]).drop_nulls({where!r})"
    if kind == "pyarrow":
        advice = f"pyarrow.table({advice.replace('.', '.to_pandas().', 1)})"
    message = (
        f"{what}, column {where!r} holds lists, expected one id in each row; type {what} = {advice}"
    )
    names = {"recs": recs, "truth": truth, "pyarrow": pa}
    flat = [eval(advice.replace(what, table), names) for table in ("recs", "truth")]
    assert refused(recs if what == "recs" else flat[0], truth) == message
    assert mrr(*flat)[1] == 1.0


@pytest.mark.parametrize("where", ["user", "item"])
@pytest.mark.parametrize("what", ["recs", "truth"])
@pytest.mark.parametrize(
    "kind, held", [(kind, held) for kind in KINDS for held in INCOMPARABLE[kind]]
)
def test_ids_that_cannot_be_compared_are_refused_with_what_to_type(kind, held, what, where):
    column = INCOMPARABLE[kind][held]
    recs, truth = tables_of(kind, where, column, column)
    given = (recs, truth) if what == "recs" else (recs[:0], truth)
    message, advice = refused(*given).split("; for strings type ")
    assert message == (
        f"{what}, column {where!r} holds {held}, expected ids that can be compared, such as "
        "integers or strings"
    )
    names = {"recs": recs, "truth": truth, "polars": pl}
    for table in ("recs", "truth"):
        typed = advice.replace(what, table)
        exec(typed if " = " in typed else f"{table} = {typed}", names)
    assert mrr(names["recs"], names["truth"])[1] == 1.0


@pytest.mark.parametrize("where", ["user", "item"])
@pytest.mark.parametrize(
    "ids, row", [(STRUCTS, 0), ([*STRUCTS[:2], 1], 0), ([1, 2, *STRUCTS[:1]], 2)]
)
def test_the_table_that_cannot_be_compared_is_named(ids, row, where):
    good, bad = of_pandas(INTEGERS, object), of_pandas(ids, object)
    assert refused(*tables_of("pandas", where, good, bad)).startswith(
        f"truth, column {where!r} holds a dict in row {row} (counted from 0), expected"
    )


class Vast:
    """An object too large for a hash."""

    def __hash__(self):
        raise MemoryError


def test_a_lack_of_memory_is_no_fault_of_the_ids():
    recs = pd.DataFrame({"user": [Vast()], "item": [7]})
    with pytest.raises(MemoryError):
        evaluate_table(recs, recs, "mrr")


@pytest.mark.parametrize("where", ["user", "item"])
@pytest.mark.parametrize("what", ["recs", "truth"])
@pytest.mark.parametrize("name", ["a value", "an index"])
@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_a_null_that_is_wrapped_is_refused(kind, name, what, where):
    null = {
        "a value": dictionary(["a", None, "c"]),
        "an index": lambda rows: dictionary(WORDS)([None if row == 1 else row for row in rows]),
    }[name]
    words = of_pyarrow(WORDS)
    columns = (null, words) if what == "recs" else (words, null)
    if kind == "pandas":
        columns = [in_pandas(column) for column in columns]
    row = {"recs": {"user": 2, "item": 1}, "truth": {"user": 0, "item": 1}}[what][where]
    assert message_of(InputError, evaluate_table, *tables_of(kind, where, *columns), "mrr") == (
        f"{what}, column {where!r}: row {row} (counted from 0) is null or NaN, expected an id "
        "in every row"
    )


BEYOND = {
    "pandas": [of_pandas([2**63, 1, 2], "uint64"), of_pandas([2**63, 1, 2], "UInt64")],
    "polars": [of_polars([2**63, 1, 2], pl.UInt64)],
    "pyarrow": [of_pyarrow([2**63, 1, 2], pa.uint64())],
}
if hasattr(pl, "Int128"):
    BEYOND["polars"] += [
        of_polars([2**100, 1, 2], pl.Int128),
        of_polars([-(2**64), 1, 2], pl.Int128),
    ]


@EVERY_KIND
def test_integers_beyond_64_bits_are_refused_with_what_to_type(kind):
    for column in BEYOND[kind]:
        recs, truth = tables_of(kind, "item", of_integers(kind), column)
        with pytest.raises(InputError) as caught:
            evaluate_table(recs, truth, "mrr")
        message, _ = str(caught.value).split("; for strings type truth")
        value = read(truth)["item"][0]
        assert message == (
            f"truth, column 'item' holds the id {value}, expected integers from -2^63 to 2^63 - 1, "
            "or strings"
        )


def of_integers(kind):
    return {"pandas": of_pandas, "polars": of_polars, "pyarrow": of_pyarrow}[kind](INTEGERS)


def test_a_year_that_python_does_not_have_is_told_of():
    years = pa.array([2**58, 2**58], pa.timestamp("us"))
    recs = pa.table({"user": [1, 1], "item": years})
    with pytest.raises(InputError, match=r"row 1 .* holds user=1, item='11103-08-29 .*' again"):
        evaluate_table(recs, recs, "hit")


def test_objects_do_not_hide_that_two_other_tables_have_ids_of_two_kinds():
    recs = pd.DataFrame({"user": [1], "item": ["a"]})
    truth = pd.DataFrame({"user": [1], "item": [1]})
    known = pd.DataFrame({"user": [1], "item": pd.Series([decimal.Decimal(1)], dtype=object)})
    with pytest.raises(InputTypeError, match=r"column 'item' holds strings .* integers"):
        evaluate_table(recs, truth, "mrr", exclude=known)
