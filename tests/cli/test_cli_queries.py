"""``recmetrics evaluate GROUPS`` with tables of groups."""

import csv
import json
import math
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from commands import evaluated, printed, rejected
from tables_problems import make

from recmetrics import Metrics
from recmetrics.cli import main

pytest.importorskip("narwhals", reason="narwhals is not installed")

pl = pytest.importorskip("polars", reason="polars is not installed")

# Group "7" is ranked 0, 3, 1 and group "007", by the order of its rows, 0, 1; "x" has no relevance.
GROUPS = {
    "group": ["7", "007", "7", "007", "7", "x"],
    "doc": ["a", "b", "c", "d", "e", "f"],
    "score": [3.0, 5.0, 1.0, 5.0, 2.0, -1.0],
    "relevance": [0.0, 0.0, 1.0, 1.0, 3.0, 0.0],
}
METRIC = ["-m", "mrr", "ndcg@2"]
EXPECTED = (
    "a table .csv, .tsv, .inter or .parquet with a header and the columns group, score and "
    "relevance"
)


def write(columns, stem="groups"):
    """The same table in every form."""
    for suffix, separator in ((".csv", ","), (".tsv", "\t")):
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        text = "".join(separator.join(map(str, row)) + "\n" for row in rows)
        Path(stem + suffix).write_text(text)
    make("polars", columns).write_parquet(f"{stem}.parquet")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(GROUPS)


def per_group(path):
    """The values of each metric, by the id of the group."""
    header, *rows = csv.reader(Path(path).read_text().splitlines())
    assert header[0] == "group"
    return {
        metric: {row[0]: float(row[column] or "nan") for row in rows}
        for column, metric in enumerate(header[1:], start=1)
    }


def same(found, expected):
    """Compare values by group, of which some are NaN."""
    assert list(found) == list(expected)
    np.testing.assert_array_equal(list(found.values()), list(expected.values()))


def test_one_group_of_one_row_is_counted_in_the_singular(capsys):
    Path("one.csv").write_text("group,score,relevance\na,1,1\n")
    assert "1 group, 1 row" in evaluated(capsys, "one.csv", "-m", "mrr")["notes"]


# --- Values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_hand_worked_values(capsys, suffix):
    found = evaluated(capsys, f"groups.{suffix}", *METRIC, "--per-user", "out.csv")
    assert "3 groups, 6 rows" in found["notes"]
    mrr = found["of"]["mrr"]
    # Two groups do not limit the mean of others.
    assert [mrr[name] for name in ("mean", "std", "low", "high")] == [1 / 2, 0.0, 0.0, 1.0]
    assert (mrr["n_users"], mrr["n_undefined"]) == (2, 1)
    values = per_group("out.csv")
    same(values["mrr"], {"7": 1 / 2, "007": 1 / 2, "x": math.nan})
    ideal = 3 + 1 / math.log2(3)
    assert values["ndcg@2"]["7"] == pytest.approx(3 / math.log2(3) / ideal, rel=1e-15)
    assert values["ndcg@2"]["007"] == pytest.approx(1 / math.log2(3), rel=1e-15)


def test_columns_of_other_names(capsys):
    names = {"group": "qid", "score": "score 2", "relevance": "label"}
    # Columns of the usual names that must not be read.
    write({names.get(name, name): column for name, column in GROUPS.items()} | {"group": "u" * 6})
    argv = ["groups.csv", *METRIC, "--group", "qid", "--score", "score 2", "--relevance", "label"]
    write({names.get(name, name): column for name, column in GROUPS.items()}, "bare")
    expected = evaluated(capsys, "bare.parquet", *argv[1:])
    assert expected["of"]["mrr"]["mean"] == 1 / 2
    assert evaluated(capsys, *argv) == expected
    assert evaluated(capsys, "groups.parquet", *argv[1:]) == expected


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("group", [7, 8, 7, 8, 7, 9]),
        ("score", [3, 5, 1, 5, 2, -1]),
        ("score", np.array(GROUPS["score"], np.float32)),
        ("relevance", [False, False, True, True, True, False]),
    ],
)
def test_types_of_parquet(capsys, column, values):
    make("polars", GROUPS | {column: values}).write_parquet("other.parquet")
    found = evaluated(capsys, "other.parquet", "-m", "mrr@3", "hit@2")["of"]
    assert (found["mrr@3"]["mean"], found["hit@2"]["mean"], found["hit@2"]["n_users"]) == (
        0.5,
        1,
        2,
    )


@pytest.mark.parametrize(
    ("option", "keyword"),
    [
        (["--ties", "expected"], {"ties": "expected"}),
        (["--undefined", "one"], {"undefined": "one"}),
        (["--convention", "lightgbm"], {"convention": "lightgbm"}),
    ],
    ids=lambda each: " ".join(each),
)
def test_options_are_those_of_the_library(capsys, option, keyword):
    found = evaluated(capsys, "groups.csv", "-m", "ndcg@2", *option)["of"]["ndcg@2"]
    groups, _, *numbers = GROUPS.values()
    expected = Metrics.compute_groups(*numbers, "ndcg@2", ids=groups, **keyword)["ndcg@2"]
    assert found["mean"] == np.nanmean(expected)
    plain = Metrics.compute_groups(*numbers, "ndcg@2", ids=groups)["ndcg@2"]
    assert found["mean"] != np.nanmean(plain)


def test_without_metrics_those_of_accuracy_are_computed(capsys):
    assert {"ndcg@10", "auc"} <= set(evaluated(capsys, "groups.csv")["of"])
    found = evaluated(capsys, "groups.csv", "--convention", "lightgbm")["of"]
    assert list(found) == ["map@10", "ndcg@10"]


@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("true", "false")])
def test_bools_of_text_are_relevances(capsys, yes, no):
    text = f"qid,score,click\n1,3,{no}\n1,2,{yes}\n2,1,{yes}\n"
    Path("clicks.csv").write_text(text)
    options = ["--group", "qid", "--relevance", "click"]
    assert evaluated(capsys, "clicks.csv", "-m", "mrr", *options)["of"]["mrr"]["mean"] == 3 / 4


# --- Output --------------------------------------------------------------------------------------


def test_the_table_counts_groups(capsys):
    assert printed(capsys, "evaluate", "groups.csv", "-m", "hit@1", "auc").splitlines() == [
        "metric    mean     95 % interval     q10  median     q90  groups  left out",
        "------  ------  ----------------  ------  ------  ------  ------  --------",
        "hit@1   0.0000  [0.0000, 1.0000]  0.0000  0.0000  0.0000       2         1",
        "auc     0.2500  [0.0000, 1.0000]  0.0000  0.2500  0.5000       2         1",
        "",
        "95 % intervals by Student's t over groups, corrected for skewness",
        "auc: fewer than 10 groups are below the highest possible value, and the sample may lack "
        "others, so the lower end of the interval is computed with an additional group of the "
        "lowest possible value",
        "hit@1, auc: fewer than 10 groups are above the lowest possible value, and the sample may "
        "lack others, so the upper end of the interval is computed with an additional group of "
        "the highest possible value",
        "q10, median, q90: quantiles of the groups' values",
        "left out of hit@1: 1 of 3 groups has no relevant item",
        "left out of auc: 1 of 3 groups has no relevant item, or only relevant ones",
        "3 groups, 6 rows",
        "to count groups without a value as 0, give --undefined zero",
    ]


def test_a_range_of_ties_has_three_rows_for_a_metric(capsys):
    """The relevant item of q1 is first or second, that of q2 second; q3 has none."""
    Path("tied.csv").write_text("group,score,relevance\nq1,3,0\nq1,3,1\nq2,5,1\nq2,6,0\nq3,1,0\n")
    options = ("-m", "ndcg@3", "--ties", "range", "--undefined", "zero")
    found = evaluated(capsys, "tied.csv", *options)
    second = 1 / math.log2(3)
    means = {metric: mean["mean"] for metric, mean in found["of"].items()}
    assert means == pytest.approx(
        {
            "ndcg@3": ((1 + second) / 2 + second + 0) / 3,
            "ndcg@3[least]": (second + second + 0) / 3,
            "ndcg@3[greatest]": (1 + second + 0) / 3,
        }
    )
    assert "1 of 3 groups has no relevant item and counts as 0" in found["notes"]


def test_values_per_group_go_through_compare(capsys):
    write(GROUPS | {"score": [1.0, 5.0, 2.0, 6.0, 3.0, -1.0]}, "better")
    for suffix in ("csv", "npz"):
        for name in ("groups", "better"):
            evaluated(capsys, f"{name}.csv", "-m", "mrr", "--per-user", f"{name}-out.{suffix}")
        argv = [f"groups-out.{suffix}", f"better-out.{suffix}", "--json"]
        assert main(["compare", *argv]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["noun"] == "group"
        means = {each["model"]: (each["mean"], each["n_users"]) for each in document["means"]}
        assert means == {"groups-out": (1 / 2, 2), "better-out": (1.0, 2)}
    with np.load("groups-out.npz") as found:
        assert list(found) == ["group", "mrr"]
        assert found["group"].tolist() == ["7", "007", "x"]
    Path("kinds.csv").write_text("group,kind\n7,head\n007,tail\nx,tail\n")
    assert main(["compare", *argv, "--by", "kinds.csv"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"] == ["head", "tail"]


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group,score,relevance\n", " has no rows; expected at least one"),
        (
            "qid,score,label\nq,1,1\n",
            f" has no columns 'group' and 'relevance'; it has 'qid', 'score', 'label'; expected "
            f"{EXPECTED}; type --group COLUMN --relevance COLUMN if they have another name",
        ),
        (
            "group,score,label\nq,1,1\n",
            " has no column 'relevance'; it has 'group', 'score', 'label'; expected one of "
            "these; type --relevance COLUMN if it has another name",
        ),
        (
            "Group,score,graded relevance\nq,1,1\n",
            " has no columns 'group' and 'relevance'; it has 'Group', 'score', 'graded relevance'; "
            f"expected {EXPECTED}; type --group Group --relevance 'graded relevance'",
        ),
        (
            "user,item,score\nu,a,1\n",
            " has no columns 'group' and 'relevance'; it has 'user', 'item', 'score'; expected "
            f"{EXPECTED}; for recommendations give a TRUTH: recmetrics evaluate bad.csv TRUTH",
        ),
        (
            "group,score,relevance\nq,1,1\nq,high,0\n",
            ", line 3: holds 'high' as score; expected a number",
        ),
        ("group,score,relevance\nq,1\n", ", line 2: 2 fields; expected 3, as in the header"),
        (
            "group,score,relevance\nq,1,\n",
            ", line 2: holds '' as relevance; expected a number; write 0 where an item is not "
            "relevant",
        ),
        ("group,score,relevance\n,1,1\n", ", line 2: has no group; expected an id in every row"),
    ],
)
def test_a_bad_table_is_one_line(capsys, text, message):
    Path("bad.csv").write_text(text)
    assert rejected(capsys, "bad.csv", "-m", "mrr") == f"GROUPS 'bad.csv'{message}"


def test_flat_arrays_are_answered_with_a_table(capsys):
    np.save("scores.npy", np.array(GROUPS["score"]))
    np.save("labels.npy", np.array(GROUPS["relevance"]))
    assert rejected(capsys, "scores.npy", "labels.npy") == (
        "SCORES 'scores.npy' is 1-d of shape (6,), expected 2-d (n_users, n_items); for one user "
        "save np.atleast_2d of it in Python; of groups, such as queries, recmetrics evaluate reads "
        "one table with the columns group, score and relevance"
    )


def test_nan_scores_may_be_excluded(capsys):
    write(GROUPS | {"score": [math.nan, 5.0, 1.0, 5.0, 2.0, -1.0]}, "nan")
    for suffix in ("csv", "parquet"):
        found = evaluated(capsys, f"nan.{suffix}", "-m", "mrr", "--nan", "exclude")
        assert found["of"]["mrr"]["mean"] == (1 + 1 / 2) / 2


@pytest.mark.parametrize("cell", ["", '""', " "])
def test_an_empty_score_is_nan(capsys, cell):
    """As pandas writes NaN, also with quotes."""
    Path("blank.csv").write_text(f"group,score,relevance\nq,{cell},0\nq,2,1\nq,3,0\n")
    assert rejected(capsys, "blank.csv", "-m", "mrr").startswith(
        "GROUPS 'blank.csv', line 2: holds '"
    )
    found = evaluated(capsys, "blank.csv", "-m", "precision(denom=list)@3", "--nan", "exclude")
    assert found["of"]["precision(denom=list)@3"]["mean"] == 1 / 2


@pytest.mark.parametrize(("row", "n_fields"), [("q,1", "2 fields"), ("q", "1 field")])
def test_a_row_that_ends_early_has_no_empty_score(capsys, row, n_fields):
    """Neither an empty line nor an empty field is such a row."""
    whole = 'group,relevance,score\nq,1,2\n\nq,0,\n"q\nr",1,1\n'
    argv = ("bad.csv", "-m", "mrr", "--nan", "exclude")
    Path("bad.csv").write_text(whole)
    assert evaluated(capsys, *argv)["of"]["mrr"]["mean"] == 1
    Path("bad.csv").write_text(whole + row)
    assert rejected(capsys, *argv) == (
        f"GROUPS 'bad.csv', line 7: {n_fields}; expected 3, as in the header"
    )


def test_a_row_may_end_before_a_column_that_is_not_read(capsys):
    rows = ("group,score,relevance,note\nq,2,1\nq,,0,late\n", f"r,1,1,{'x' * 140_000}\n")
    Path("notes.csv").write_text("".join(rows))
    argv = ("notes.csv", "-m", "mrr")
    assert evaluated(capsys, *argv, "--nan", "exclude")["of"]["mrr"]["mean"] == 1
    assert rejected(capsys, *argv) == (
        "GROUPS 'notes.csv', line 3: holds '' as score; expected a number; give --nan exclude to "
        "treat it like a score of -inf"
    )


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("relevance", list("abcdef"), ", column 'relevance', holds String; expected numbers"),
        (
            "group",
            [1, 1, None, 2, 2, 2],
            ", row 2 (counted from 0) has no group; expected an id in every row",
        ),
    ],
)
def test_a_bad_column_of_parquet_is_one_line(capsys, column, values, message):
    make("polars", GROUPS | {column: values}).write_parquet("bad.parquet")
    assert rejected(capsys, "bad.parquet", "-m", "mrr") == f"GROUPS 'bad.parquet'{message}"


@pytest.mark.parametrize(
    ("ids", "dtype", "texts"),
    [
        ([7.0, 8.5, 9.0], "Float64", ["7", "8.5", "9"]),
        ([date(2026, 5, day) for day in (1, 2, 3)], "Date", [f"2026-05-0{n}" for n in (1, 2, 3)]),
        ([True, False, True], "Boolean", ["true", "false", "true"]),
    ],
)
def test_other_ids_of_parquet_become_text(capsys, ids, dtype, texts):
    argv = ("-m", "mrr", "--group", "qid", "--per-user", "values.csv")
    columns = {"qid": ids, "score": [1, 2, 3], "relevance": [1, 0, 1]}
    polars = pytest.importorskip("polars", reason="polars is not installed")
    polars.DataFrame(columns).write_parquet("other.parquet")
    message = rejected(capsys, "other.parquet", *argv)
    head, _, code = message.partition("; for text, in Python, type ")
    assert head == (
        f"GROUPS 'other.parquet', column 'qid' holds {dtype}; expected text or integers as ids"
    )
    exec(code.removesuffix(" and give ids.parquet"), {"polars": polars})
    evaluated(capsys, "ids.parquet", *argv)
    groups = [line.split(",")[0] for line in Path("values.csv").read_text().splitlines()[1:]]
    assert groups == list(dict.fromkeys(texts))


def test_the_columns_are_three(capsys):
    message = rejected(capsys, "groups.csv", "--group", "relevance")
    assert message.startswith("--group and --relevance have the same column ")


def test_undefined_raise_names_the_group(capsys):
    message = rejected(capsys, "groups.csv", "-m", "mrr", "--undefined", "raise")
    assert "the first is group 'x'; " in message


def test_a_table_that_is_not_there(capsys):
    assert rejected(capsys, "absent.csv", "-m", "mrr") == (
        f"cannot open GROUPS 'absent.csv': No such file or directory; expected {EXPECTED}"
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_groups_with_a_truth(capsys, suffix):
    columns = "', '".join(GROUPS)
    assert rejected(capsys, f"groups.{suffix}", "mrrr") == (
        f"RECS 'groups.{suffix}' has no columns 'user' and 'item'; it has '{columns}'; "
        "expected a table .csv, .tsv, .inter or .parquet with a header and the columns user and "
        "item; a table of groups needs no TRUTH"
    )


@pytest.mark.parametrize("name", ["scores.npy", "scores.npz", "groups.txt", "a file"])
def test_what_is_no_table_needs_a_truth(capsys, name):
    quoted = f"'{name}'" if " " in name else name
    assert rejected(capsys, name, "-m", "mrr") == (
        f"SCORES '{name}' needs a TRUTH; type: recmetrics evaluate {quoted} TRUTH; only a table "
        "of groups (.csv, .tsv, .inter or .parquet) needs none"
    )


@pytest.mark.parametrize("name", ["groups.feather", "groups.jsonl", "-"])
def test_a_group_is_of_a_table(capsys, name):
    assert rejected(capsys, name, "-m", "mrr", "--group", "qid") == (
        f"--group goes with GROUPS, a table without TRUTH; '{name}' is no .csv, .tsv, .inter or "
        ".parquet"
    )


@pytest.mark.parametrize(
    ("options", "mean", "note"),
    [
        (["--convention", "lightgbm"], 1.0, "counts as 1"),
        (["--undefined", "zero"], 0.5, "counts as 0"),
        ([], 1.0, ""),
    ],
)
def test_groups_without_a_relevant_row_are_told_where_they_count(capsys, options, mean, note):
    Path("gr.csv").write_text("group,score,relevance\n1,3,1\n1,2,1\n2,1,0\n2,1,0\n")
    found = evaluated(capsys, "gr.csv", "-m", "ndcg@2", *options)
    assert found["of"]["ndcg@2"]["mean"] == mean
    sentence = f"1 of 2 groups has no relevant item and {note}"
    assert (sentence in found["notes"]) == bool(note)
