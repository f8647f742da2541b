"""Cells of text that hold lists of items: refused by a message whose code gives the right value."""

import re
from pathlib import Path

import numpy as np
import pytest
from commands import evaluated
from tables_problems import EVERY_KIND, make, read

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import InputTypeError
from recmetrics.cli import main
from recmetrics.tables import RecListAnalysis, evaluate_table

USERS = [1, 2, 3]


def followed(kind, recs, truth, call):
    """Do what the messages say to type; gives the result and the messages."""
    names = {"recs": make(kind, recs), "truth": make(kind, truth)}
    names |= {
        library: pytest.importorskip(library, reason=f"{library} is not installed")
        for library in ("polars", "pyarrow")
    }
    if kind == "pyarrow":
        pytest.importorskip("pandas", reason="pandas is not installed")  # for to_pandas()
    messages = []
    while True:
        try:
            return call(names["recs"], names["truth"]), messages
        except InputTypeError as error:
            messages.append(str(error))
            assert len(messages) < 3
            exec(messages[-1].partition("; type ")[2], names)


# The relevant item of users 1, 2 and 3 is second, first and missing: mrr 1/2, 1, 0.
@EVERY_KIND
@pytest.mark.parametrize(
    "cells",
    [
        *(["5 6", "7", "8 4"], ["5,6", "7", "8,4"], ["[5, 6]", "[7]", "[]"], ["5|6", "7", "8"]),
        ["[np.int64(5), np.int64(6)]", "[np.int64(7)]", "[]"],
    ],
)
@pytest.mark.parametrize("truth", [["6", "7", "9"], [6, 7, 9], ["6", "7 2", "9"]])
@pytest.mark.parametrize("order", [{}, {"rank": [1, 1, 1], "score": [0.5, 0.5, 0.5]}])
def test_lists_are_refused_and_the_advice_is_right(cells, truth, order, kind):
    recs = {"user": USERS, "item": cells} | order
    result, messages = followed(
        kind, recs, {"user": USERS, "item": truth}, lambda *tables: evaluate_table(*tables, "mrr")
    )
    assert dict(zip(read(result)["user"], read(result)["mrr"], strict=True)) == {
        1: 1 / 2,
        2: 1.0,
        3: 0.0,
    }
    assert messages[0].startswith(
        f"recs, column 'item' holds lists as text, such as {cells[0]!r}, expected one id in each "
        "row; type recs = "
    )
    assert len(messages) == 1 + ("7 2" in truth)


@EVERY_KIND
def test_lists_of_text(kind):
    recs = {"user": [1, 1, 2, 2], "item": ["N5", "N6", "N7", "N8"], "rank": [1, 2, 1, 2]}
    truth = {"user": [1, 2], "item": ["N6 N5", "N8 N9"]}
    result, messages = followed(kind, recs, truth, lambda *tables: evaluate_table(*tables, "hit@1"))
    assert read(result)["hit@1"] == [1.0, 0.0]
    assert messages[0].startswith("truth, column 'item' holds lists as text, such as 'N6 N5'")
    titles = {"user": [1, 2], "item": ["['a', 'b c']", "['x']"]}
    truth = {"user": [1, 2], "item": ["b c", "x"]}
    result, _ = followed(kind, titles, truth, lambda *tables: evaluate_table(*tables, "mrr"))
    assert read(result)["mrr"] == [1 / 2, 1.0]


@EVERY_KIND
@pytest.mark.parametrize(
    "cell",
    [
        "[('5', 4.5), ('6', 4.2)]",  # get_top_n of Surprise
        "[[5, 4.5], [6, 4.2]]",
        "[Row(item=5, rating=4.5), Row(item=6, rating=4.25)]",
        "[{5, 4.5}, {6, 4.25}]",
        "[np.str_('5'), np.str_('6')]",
    ],
)
def test_lists_of_pairs_and_records_get_no_code(cell, kind):
    """Of the first, rows '5', '4.5', '6' and '4.2' would be four items."""
    recs = make(kind, {"user": [1, 2], "item": [cell, "[]"], "rank": [1, 1]})
    truth = make(kind, {"user": [1, 2], "item": ["6", "7"]})
    with pytest.raises(InputTypeError) as told:
        evaluate_table(recs, truth, "mrr")
    assert str(told.value) == (
        f"recs, column 'item' holds lists as text, such as {cell[:40]!r}, whose elements are more "
        "than ids; expected one id in each row, and its score, if it has one, in a column 'score'"
    )


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([[], [(7, 2), (8, 3)]], "holds pairs of an id and a score, expected one id in"),
        ([[[7, 0.2], [8, 0.3]], []], "holds pairs of an id and a score, expected one id in"),
        ([(7, 0.2), (8, 0.3)], "holds pairs of an id and a score, expected one id in"),
        ([[(0.2, 7)], [(0.3, 8)]], r"\.str\[0\], 'item': .+\.str\[1\]"),
        ([{"n": 1, "iid": 7, "est": 2}, None], r"\.str\['est'\], 'item': .+\.str\['iid'\]"),
        ([[{"n": 1, "iid": 7, "w": 0.5}], []], r"\.str\['w'\], 'item': .+\.str\['iid'\]"),
        ([(7, 8), (8, 7)], "holds lists, expected one id"),  # of ids
        ([[("u", 7, 0.2)], []], "holds lists, expected one id"),
        ([[{"low": 0.1, "high": 0.2}], []], "holds lists, expected one id"),
        ([[{"score": 0.1}], []], "holds lists, expected one id"),
        ([[], []], "holds lists, expected one id"),
        ([{"iid": 7}, {"iid": 8}], "holds a dict in row 0"),
    ],
)
def test_pairs_are_seen_by_their_numbers(cells, told):
    """Elements that are neither two, nor a record with one number, may be ids."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    recs = pandas.DataFrame({"user": [1, 2], "item": cells})
    with pytest.raises(InputTypeError, match=f"recs, column 'item' .*{told}"):
        evaluate_table(recs, pandas.DataFrame({"user": [1], "item": [7]}), "mrr")


@EVERY_KIND
@pytest.mark.parametrize(
    ("cells", "item", "expected"),
    [
        (
            [[{"item": 7, "score": 0.2}, {"item": 8, "score": 0.3}], [{"item": 7, "score": 0.1}]],
            7,
            {1: 1 / 2, 2: 1.0},
        ),
        ([[[7.0, 0.2], [8.0, 0.3]], [[7.0, 0.1]]], 7.0, {1: 1 / 2, 2: 1.0}),
        ([{"item": 9, "score": 0.2}, {"item": 7, "score": 0.1}], 7, {1: 0.0, 2: 1.0}),
    ],
)
def test_pairs_become_rows_by_the_code_of_the_message(cells, item, expected, kind):
    recs = {"user": [1, 2], "item": cells}
    truth = {"user": [1, 2], "item": [item, item]}
    result, messages = followed(kind, recs, truth, lambda *tables: evaluate_table(*tables, "mrr"))
    assert dict(zip(read(result)["user"], read(result)["mrr"], strict=True)) == expected
    assert len(messages) == 1


@pytest.mark.parametrize("fields", [("shop", "code"), ("code", "version"), ("item", "score")])
def test_records_in_both_tables_are_ids(fields):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    items = [dict(zip(fields, record, strict=True)) for record in ((1, 7.0), (2, 7.0))]
    recs = polars.DataFrame({"user": [1, 1], "item": items})
    assert evaluate_table(recs, recs[1:], "mrr")["mrr"].to_list() == [1 / 2]


@EVERY_KIND
def test_brackets_in_titles_are_none_of_lists(kind):
    recs = {"user": [1, 2], "item": ["['Heat (1995)', 'Up']", "['Up']"]}
    truth = {"user": [1, 2], "item": ["Up", "Up"]}
    result, _ = followed(kind, recs, truth, lambda *tables: evaluate_table(*tables, "mrr@2"))
    assert read(result)["mrr@2"] == [1 / 2, 1.0]


def test_rec_list_analysis_refuses_them_too():
    def compute(recs, truth):
        analysis = RecListAnalysis()
        analysis.add_metric("mrr")
        return analysis.compute(recs, truth)

    recs = {"user": USERS, "item": ["5 6", "7", "8 9"], "rank": [1, 1, 1]}
    result, messages = followed("pandas", recs, {"user": USERS, "item": [6, 7, 9]}, compute)
    assert read(result)["mrr"] == [1 / 2, 1.0, 1 / 2]
    assert len(messages) == 1


@EVERY_KIND
@pytest.mark.parametrize(
    "listed, relevant",
    [
        # Words of titles; ids of two parts; codes; numbers with signs between thousands.
        (["Area 51", "Apollo 13", "Up", "8 1/2", "Up"], ["Area 51", "8 1/2", "The 5th"]),
        (["12 5", "12 6", "12 7", "12 8", "12 9"], ["12 5", "12 8", "13 1"]),
        (["E1 6AN", "N7 9XQ", "E1 7AB", "W2", "E1 8"], ["E1 6AN", "W2", "N1 1AA"]),
        (["1,205", "12", "1,207", "14", "13"], ["1,205", "14", "12"]),
        (["a1, b", "b2", "[c3", "d4]", "e5"], ["a1, b", "d4]", "x"]),
    ],
)
def test_ids_of_several_words_are_none(listed, relevant, kind):
    recs = make(kind, {"user": [1, 1, 2, 2, 3], "item": listed, "rank": [1, 2, 1, 2, 1]})
    truth = make(kind, {"user": USERS, "item": relevant})
    assert read(evaluate_table(recs, truth, "mrr"))["mrr"] == [1.0, 1 / 2, 0.0]


@EVERY_KIND
def test_long_tables_are_read_in_places(kind):
    users = np.arange(5_000)
    truth = make(kind, {"user": users, "item": users.astype(str)})
    items = [f"{user} {user + 1}" if user % 2 else str(user) for user in users]
    with pytest.raises(InputTypeError, match="holds lists as text, such as '5 6'"):
        evaluate_table(make(kind, {"user": users, "item": items}), truth, "mrr")
    assert read(evaluate_table(truth, truth, "mrr"))["mrr"] == [1.0] * 5_000


@pytest.mark.parametrize("separator", [",", ";", "\t", None])  # None for a Parquet file
def test_what_the_command_says_to_do_works(separator, tmp_path, monkeypatch, capsys):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.chdir(tmp_path)
    recs = polars.DataFrame({"user": [1, 2, 3], "item": ["5 6", "7", "8 4"], "rank": [1, 1, 1]})
    path = "recs[1].csv" if separator else "recs[1].parquet"
    for table, file in ((recs, path), (recs[:1], path.replace("[1]", "1"))):
        if separator:
            table.write_csv(file, separator=separator)
        else:
            table.write_parquet(file)
    Path("truth.csv").write_text("user,item\n1,6\n2,7\n3,9\n")
    assert main(["evaluate", path, "truth.csv", "-m", "mrr"]) == 2
    error = capsys.readouterr().err
    steps = re.search(
        rf"; type (.+) \(RECS '{re.escape(path)}'; in Python, after (.+); then (.+), and give that "
        r"file\)",
        error,
    )
    change, read_file, write_file = steps.groups()
    names = {"polars": polars}
    for code in (read_file, change, write_file):
        exec(code, names)
    mrr = evaluated(capsys, "rows_of_recs[1].csv", "truth.csv", "-m", "mrr")["of"]["mrr"]
    assert mrr["mean"] == (1 / 2 + 1 / 1 + 0) / 3
