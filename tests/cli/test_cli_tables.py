"""``recmetrics evaluate RECS TRUTH`` with tables of recommendations."""

import csv
import gzip
import json
import math
import sys

import numpy as np
import pytest
from commands import evaluated, printed, rejected
from inside import install
from tables_problems import make

from recmetrics._files import Source, read_per_user
from recmetrics.cli import main

pytest.importorskip("narwhals", reason="narwhals is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")

RECS = {
    "model": ["A"] * 5,
    "user": ["b", "b", "07", "07", "x"],
    "item": ["7", "8", "8", "9", "7"],
    "score": [1.0, 2.0, 0.5, 0.1, 3.0],
}
TRUTH = {"user": ["07", "b", "c"], "item": ["9", "7", "7"], "rating": [1.0, 3.0, 1.0]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder in which no other process writes: errors may write no file."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files(tmp_path):
    """The same tables in every form."""
    for name, columns in {"recs": RECS, "truth": TRUTH}.items():
        for suffix, separator in ((".csv", ","), (".tsv", "\t")):
            rows = [list(columns), *zip(*columns.values(), strict=True)]
            text = "".join(separator.join(map(str, row)) + "\n" for row in rows)
            (tmp_path / f"{name}{suffix}").write_text(text)
        make("polars", columns).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("truth", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("recs", ["csv", "tsv", "parquet"])
def test_every_form_gives_the_same(files, capsys, recs, truth):
    found = evaluated(capsys, files / f"recs.{recs}", files / f"truth.{truth}", "-m", "mrr@2")
    assert found["counts"]["users"] == 4
    assert found["notes"][1:3] == ["4 users", "lists ordered by score, descending"]
    # By score 8 is first of user b; user x has no truth; user c has no recommendations.
    summary = found["of"]["mrr@2"]
    assert (summary["mean"], summary["n_users"]) == ((1 / 2 + 1 / 2 + 0) / 3, 3)


def test_missing_and_undefined_users_count_where_asked(files, capsys):
    base = [files / "recs.csv", files / "truth.csv", "-m", "hit@2"]
    for option in ([], ["--include-missing"]):
        one = evaluated(capsys, *base, *option)["of"]["hit@2"]
        assert (one["mean"], one["n_users"]) == (2 / 3, 3)
    one = evaluated(capsys, *base, "--no-include-missing")["of"]["hit@2"]
    assert (one["mean"], one["n_users"]) == (2 / 2, 2)
    one = evaluated(capsys, *base, "--undefined", "zero")["of"]["hit@2"]
    assert (one["mean"], one["n_users"]) == (2 / 4, 4)
    assert "the first is user='x'" in rejected(capsys, *base, "--undefined", "raise")


def test_the_table_tells_who_is_left_out(files, capsys):
    argv = ["evaluate", str(files / "recs.csv"), str(files / "truth.csv"), "-m", "hit@2"]
    assert printed(capsys, *argv).splitlines()[-6:] == [
        "left out: 1 of 4 users has no relevant item",
        "4 users",
        "lists ordered by score, descending",
        "1 list has fewer than 2 items, the largest k: their values may be too low",
        "users of TRUTH without recommendations: 1, the first user='c', counted as empty lists; "
        "--no-include-missing leaves them out",
        "to count users without a value as 0, give --undefined zero",
    ]
    assert printed(capsys, *argv, "--no-include-missing").splitlines()[-5:-1] == [
        "3 users",
        "lists ordered by score, descending",
        "1 list has fewer than 2 items, the largest k: their values may be too low",
        "users of TRUTH without recommendations: 1, the first user='c', left out; "
        "--include-missing counts them",
    ]


def test_per_user_files_are_keyed_by_ids(files, capsys):
    base = [files / "recs.csv", files / "truth.parquet", "-m", "mrr@2", "-m", "hit@1"]
    evaluated(capsys, *base, "--per-user", files / "users.csv")
    with (files / "users.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["user", "mrr@2", "hit@1"],
            ["b", "0.5", "0.0"],
            ["07", "0.5", "0.0"],
            ["x", "", ""],
            ["c", "0.0", "0.0"],
        ]
    evaluated(capsys, *base, "--per-user", files / "users.npz")
    with np.load(files / "users.npz") as found:
        assert list(found) == ["user", "mrr@2", "hit@1"]
        assert found["user"].tolist() == ["b", "07", "x", "c"]
        np.testing.assert_array_equal(found["mrr@2"], [0.5, 0.5, math.nan, 0.0])


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_per_user_files_hold_ids_of_any_characters(files, capsys, suffix):
    ids = ["a\rb", "\r", "a\r\nb", "a\nb", 'a"b', '"', "a,b", "a;b\t|", " a ", "\x85", "\u2028b"]
    table = make("polars", {"user": ids, "item": ["7"] * len(ids), "rank": [1] * len(ids)})
    table.write_parquet(files / "odd.parquet")
    path = files / f"values.{suffix}"
    argv = [files / "odd.parquet", files / "odd.parquet", "-m", "mrr", "--per-user", path]
    evaluated(capsys, *argv)
    values, users, _ = read_per_user(Source("FILE", path))
    assert users == ids
    assert values["mrr"].tolist() == [1.0] * len(ids)


def test_popularity_from_a_table(files, capsys):
    base = [files / "recs.csv", files / "truth.csv", "-m", "popularity@1"]
    found = evaluated(
        capsys, *base, "--popularity-from", files / "recs.parquet", "--no-include-missing"
    )
    # First by score: 8, 8, 7; 8 and 7 have 2 of 3 users each.
    assert found["of"]["popularity@1"]["mean"] == pytest.approx(2 / 3, abs=1e-12)


def test_without_metrics_those_with_a_cutoff_are_computed(files, capsys):
    found = evaluated(capsys, files / "recs.csv", files / "truth.csv")
    assert "ndcg@10" in found["of"]
    assert "auc" not in found["of"]


def test_ids_and_a_rank_as_integers_in_parquet(files, capsys):
    columns = {"user": [1, 1], "item": [7, 8], "rank": [2, 1]}
    make("polars", columns).write_parquet(files / "whole.parquet")
    (files / "whole.csv").write_text("item,user\n7,1\n")
    found = evaluated(capsys, files / "whole.parquet", files / "whole.csv", "-m", "mrr@2")
    assert found["of"]["mrr@2"]["mean"] == 1 / 2


def test_text_may_hold_quotes_a_mark_other_line_ends_and_empty_lines(files, capsys):
    (files / "odd.csv").write_bytes('\ufeffuser,item\r\n"b",7\r\n\r\n"a,""b",8'.encode())
    (files / "recs2.csv").write_text('user,item\nb,7\n"a,""b",8\n')
    found = evaluated(capsys, files / "recs2.csv", files / "odd.csv", "-m", "hit@2")
    assert found["of"]["hit@2"]["mean"] == 1.0
    assert not any("without recommendations" in note for note in found["notes"])


@pytest.fixture
def unordered(tmp_path):
    """Recommendations ordered by a column of another name, and their truth."""
    recs = {"user": ["u", "u"], "item": ["7", "8"], "model": ["A", "B"], "prediction": [0.1, 0.9]}
    for name, columns in {"recs": recs, "truth": {"user": ["u"], "item": ["8"]}}.items():
        make("polars", columns).write_csv(tmp_path / f"{name}.csv")
        make("polars", columns).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("option", "mean", "order"),
    [
        (["--score", "prediction"], 1.0, "ordered by prediction, descending"),
        (["--rank", "prediction", "--rank-gaps", "close"], 1 / 2, "ordered by prediction, ascend"),
        (["--in-order"], 1 / 2, "in the order of the rows"),
    ],
    ids=["score", "rank", "in order"],
)
def test_an_option_says_what_orders_the_lists(unordered, capsys, suffix, option, mean, order):
    base = [unordered / f"recs.{suffix}", unordered / "truth.csv", "-m", "mrr"]
    found = evaluated(capsys, *base, *option)
    assert found["of"]["mrr"]["mean"] == mean
    assert any(note.startswith(f"lists {order}") for note in found["notes"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_text_is_none_of_numbers(unordered, capsys, suffix):
    message = rejected(capsys, unordered / f"recs.{suffix}", unordered / "truth.csv", "-m", "mrr")
    assert "; type score='prediction' if higher is better" in message
    assert "'model'" not in message


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_that_a_file_lacks_is_named_with_those_it_has(unordered, capsys, suffix):
    base = [unordered / f"recs.{suffix}", unordered / "truth.csv", "-m", "mrr"]
    assert rejected(capsys, *base, "--score", "Score") == (
        f"RECS {str(base[0])!r} has no column 'Score'; it has 'user', 'item', 'model', "
        "'prediction'; expected one of these"
    )
    misspelt = rejected(capsys, *base, "--score", "predicton")
    assert misspelt.endswith("; expected one of these; did you mean 'prediction'?")


@pytest.fixture
def named(tmp_path):
    """The same tables with ids from 1, under names of other systems, among other columns."""
    recs = {
        "note": ["x"] * 4,
        "user_id": [1, 1, 2, 2],
        "movieId": [1, 2, 2, 3],
        "prediction": [0.1, 0.9, 0.8, 0.2],
        "position": [2, 1, 1, 2],
        "year": [1999, 2000, 2001, 2002],
    }
    truth = {"user_id": [1, 2, 3], "movieId": [1, 2, 1], "stars": [4.0, 0.0, 2.0], "time": [5] * 3}
    for name, columns in {"recs": recs, "truth": truth}.items():
        make("polars", columns).write_csv(tmp_path / f"{name}.csv")
        make("polars", columns).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("end", ["", "-col"])
def test_columns_of_any_names(named, capsys, suffix, end):
    base = [named / f"recs.{suffix}", named / f"truth.{suffix}", "-m", "mrr", "hit@1"]
    ids = [f"--user{end}", "user_id", f"--item{end}", "movieId"]
    for option, column in (("score", "prediction"), ("rank", "position")):
        values = named / f"{option}.csv"
        argv = [*base, *ids, f"--{option}{end}", column, "--per-user", values]
        found = evaluated(capsys, *argv)
        assert any(note.startswith(f"lists ordered by {column}") for note in found["notes"])
        # User 1 has item 1 second, user 2 has item 2 first, user 3 has no recommendations.
        assert values.read_text() == "user,mrr,hit@1\n1,0.5,0.0\n2,1.0,1.0\n3,0.0,0.0\n"
    graded = [*base, *ids, f"--score{end}", "prediction", f"--relevance{end}", "stars"]
    found = evaluated(capsys, *graded)["of"]["mrr"]
    assert (found["mean"], found["n_users"]) == ((1 / 2 + 0) / 2, 2)  # user 2 rates item 2 with 0


def test_the_names_of_columns_are_hinted_at(named, capsys):
    base = [named / "recs.csv", named / "truth.csv", "-m", "mrr"]
    assert rejected(capsys, *base).endswith(
        "; type --user user_id --item movieId if the other tables have the same, else rename "
        "'user_id' to 'user' and 'movieId' to 'item'"
    )
    ids = ["--user", "user_id", "--item", "movieId"]
    assert rejected(capsys, *base, *ids[:2]).endswith(
        "the columns user_id and item; type --item movieId if the other tables have the same, else "
        "rename 'movieId' to 'item'"
    )
    (named / "other.csv").write_text("user_id,item_id\n1,1\n")
    other = [named / "recs.csv", named / "other.csv", "-m", "mrr", "--score", "prediction"]
    assert rejected(capsys, *other, *ids).endswith(
        "the columns user_id and movieId; rename 'item_id' to 'movieId': the columns have the same "
        "names in every table"
    )
    (named / "other.csv").write_text("user,item_id\n1,1\n")
    assert rejected(capsys, *other, *ids).endswith(
        "; rename 'user' to 'user_id' and 'item_id' to 'movieId': the columns have the same names "
        "in every table"
    )
    assert rejected(capsys, *base, *ids, "--score", "user_id") == (
        "--user and --score have the same column 'user_id'; expected a column for each"
    )
    ordered = [*base, *ids, "--rank", "position"]
    assert rejected(capsys, *ordered, "--relevance", "rating").startswith(
        f"TRUTH {str(named / 'truth.csv')!r} has no column 'rating'; "
    )


def test_gaps_in_ranks_are_noted(files, capsys):
    (files / "gaps.csv").write_text("user,item,rank\nb,7,4\nb,8,1\n07,9,1\n")
    base = ["evaluate", str(files / "gaps.csv"), str(files / "truth.csv"), "-m", "mrr@9", "--json"]
    base += ["--no-include-missing"]
    assert main(base) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["means"][0]["mean"] == (1 / 2 + 1) / 2
    note = json.loads(out)["notes"][-1]
    assert "1 of 2 lists have gaps in their ranks, the first is user='b'" in note
    assert err == f"recmetrics: note: {note}\n"
    for option in (["--rank-gaps", "keep"], ["--convention", "rectools"]):
        assert main([*base, *option]) == 0
        out, err = capsys.readouterr()
        assert (json.loads(out)["means"][0]["mean"], err) == ((1 / 4 + 1) / 2, "")


NOTE = (
    "recmetrics: note: {}, column {!r}: no id of recs occurs here; recs begins with {!r}, "
    "{} with {}; are the ids written in two ways? ({})\n"
)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ids_that_are_written_in_two_ways_are_told(capsys, suffix):
    tables = {
        "recs": {"user": ["1", "2"], "item": ["10.0", "12.0"]},
        "t": {"user": ["1", "2"], "item": ["10", "12"]},
        "other": {"user": ["1.0", "3"], "item": ["12.0", "10.0"]},
        "apart": {"user": ["1\x1b", "3"], "item": ["10.0", "7"]},
    }
    for name, columns in tables.items():
        make("polars", columns).write_parquet(f"{name}.parquet")
        make("polars", columns).write_csv(f"{name}.csv")

    def told(truth):
        """The notes; where the truth has no id in common, they are in JSON and an error, too."""
        argv = [f"recs.{suffix}", f"{truth}.{suffix}", "-m", "popularity@1", "hit@1"]
        argv += ["--no-include-missing"]
        code = main(["evaluate", *argv, "--popularity-from", f"t.{suffix}", "--json"])
        out, err = capsys.readouterr()
        assert json.loads(out)["counts"]["users"] == 2
        *notes, last = err.splitlines(keepends=True)
        if code == 0:
            return err
        note = last.replace("error: nothing was measured: ", "note: ")
        assert (code, note.count("TRUTH")) == (2, 1)
        # Escaped on a terminal, as it is in JSON.
        told = next(each for each in json.loads(out)["notes"] if each.startswith("truth"))
        assert note == f"recmetrics: note: {told}\n" or "\x1b" in told
        notes.append(note)
        return "".join(notes)

    def note(argument, column, first_ids, file):
        first, first_other = first_ids
        return NOTE.format(argument, column, first, argument, first_other, file)

    of_train = note("popularity", "item", ("10.0", "'10'"), f"--popularity-from t.{suffix}")
    of_items = note("truth", "item", ("10.0", "'10'"), f"TRUTH t.{suffix}")
    of_users = note("truth", "user", ("1", "'1.0'"), f"TRUTH other.{suffix}")
    escaped = note("truth", "user", ("1", r"'1\x1b'"), f"TRUTH apart.{suffix}")
    assert sorted(told("t").splitlines()) == sorted((of_items + of_train).splitlines())
    assert told("recs") == of_train
    assert told("other") == of_train + of_users
    assert told("apart") == of_train + escaped


def test_columns_with_another_separator(files, capsys):
    for mark in ",;\t|":
        (files / "s.csv").write_text("user;item;score\nb;8;2\nb;7;1\n".replace(";", mark))
        options = ["-m", "mrr", "--no-include-missing"]
        found = evaluated(capsys, files / "s.csv", files / "truth.csv", *options)
        assert found["of"]["mrr"]["mean"] == 1 / 2
    (files / "s.tsv").write_text("user\titem\tscore, or so\tscore\nb\t8\t9\t2\nb\t7\t9\t1\n")
    found = evaluated(capsys, files / "s.tsv", files / "truth.csv", *options)
    assert found["of"]["mrr"]["mean"] == 1 / 2


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "inter"])
def test_columns_with_blanks_between_are_told(files, capsys, suffix):
    (files / f"truth.{suffix}").write_text("user item relevance\nb 7 1\n")
    message = rejected(capsys, files / "recs.csv", files / f"truth.{suffix}")
    assert message.endswith(
        "and the columns user and item; blanks seem to separate its columns, where a comma, a tab, "
        "; or | should stand: write 'user,item,relevance' and so on"
    )
    for separator in ",\t;|":  # whatever the name of the file
        text = "user item relevance\nb 7 1\n".replace(" ", separator)
        (files / f"truth.{suffix}").write_text(text)
        found = evaluated(capsys, files / "recs.csv", files / f"truth.{suffix}", "-m", "mrr")
        assert found["of"]["mrr"]["mean"] == 1 / 2


def test_the_atomic_files_of_recbole(files, capsys):
    """Items 7 and 8 of user b by score; --item names a column with another name."""
    header = "user_id:token\titem_id:token\tscore:float\n"
    (files / "r.inter").write_text(header + "b\t8\t2\nb\t7\t1\n")
    truth = "user_id:token\titem_id:token\trating:float\tgenres:token_seq\nb\t7\t3\ta b\n"
    (files / "t.inter").write_text(truth)
    found = evaluated(capsys, files / "r.inter", files / "t.inter", "-m", "cg@2")
    assert found["of"]["cg@2"]["mean"] == 3
    for name in ("r.inter", "t.inter"):
        text = (files / name).read_text()
        (files / name).write_text(text.replace("item_id", "movie"))
    found = evaluated(capsys, files / "r.inter", files / "t.inter", "-m", "cg@2", "--item", "movie")
    assert found["of"]["cg@2"]["mean"] == 3


def test_training_items_and_packed_files(files, capsys):
    """Without item 8, user b has item 7 first; user x is in no truth."""
    (files / "train.csv").write_text("user,item\nb,8\nb,8\nx,9\n")
    argv = ["-m", "mrr@2", "--no-include-missing", "--exclude"]
    for suffix in ("", ".gz"):
        names = [files / f"{name}.csv{suffix}" for name in ("recs", "truth", "train")]
        if suffix:
            for name in names:
                name.write_bytes(gzip.compress(name.with_suffix("").read_bytes()))
        found = evaluated(capsys, *names[:2], *argv, names[2])
        assert found["of"]["mrr@2"]["mean"] == (1 + 1 / 2) / 2
        short = "2 lists have fewer than 2 items, the largest k; 1 of them because exclude took "
        assert f"{short}items out: their values may be too low" in found["notes"]


def test_training_items_that_are_all_of_the_truth_are_told(files, capsys):
    (files / "recs.csv").write_text("user,item,score\na,7,2\na,8,1\n")
    (files / "truth.csv").write_text("user,item\na,7\n")
    (files / "train.csv").write_text("user,item\na,7\n")
    names = [files / "recs.csv", files / "truth.csv", "--exclude", files / "train.csv"]
    found = evaluated(capsys, *names, "-m", "mrr")
    assert found["of"]["mrr"]["mean"] == 0
    assert any("exclude holds" in note for note in found["notes"]), found["notes"]


# By score q1 ranks b, a, c and q2 a, b; in trec_eval the last of equal scores by name is first.
RUN = "q1 Q0 a 1 1.0 x\nq1 Q0 b 2 2.0 x\nq1\tQ0\tc\t3\t1.0 x\nq2 Q0 a 1 3 x\n\nq2 Q0 b 1 2 x\n"
QRELS = "# judged\nq1 0 b -2\nq1 0 c 1\nq1 0 a 3\nq2 0 b 1\n"


def test_a_run_and_qrels_of_trec(files, capsys):
    (files / "a.run").write_text(RUN)
    for name in ("a.qrels", "qrels.txt", "qrels.tsv"):
        (files / name).write_text(QRELS)
        argv = [files / "a.run", files / name, "-m", "mrr", "ndcg@2"]
        found = evaluated(capsys, *argv, "--convention", "trec")
        assert found["of"]["mrr"]["mean"] == (1 / 2 + 1 / 2) / 2
        second = 1 / math.log2(3)
        expected = (second / (3 + second) + second / 1) / 2
        assert found["of"]["ndcg@2"]["mean"] == pytest.approx(expected, rel=1e-12)
    assert "truth, column 'relevance': row 0" in rejected(capsys, *argv)
    # Qrels are no run, and a run is no table of groups.
    assert rejected(capsys, files / "a.qrels", files / "a.run").startswith("SCORES ")
    assert " needs a TRUTH" in rejected(capsys, files / "a.run")


@pytest.fixture
def generated(tmp_path):
    """Lists with items 8 twice and 99, which is in no catalogue; and the catalogue."""
    (tmp_path / "r.csv").write_text(
        "user,item,rank\na,8,1\na,8,2\na,99,3\na,7,4\nb,9,1\n", encoding="utf-8"
    )
    (tmp_path / "t.csv").write_text("user,item\na,7\nb,9\n", encoding="utf-8")
    (tmp_path / "items.csv").write_text("item,title\n7,x\n8,y\n9,z\n10,w\n", encoding="utf-8")
    (tmp_path / "none.csv").write_text("title\nx\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "repeats, unknown, rank", [("waste", "waste", 4), ("waste", "drop", 3), ("drop", "drop", 2)]
)
def test_invalid_items_are_counted(generated, capsys, repeats, unknown, rank):
    options = ["--catalogue", generated / "items.csv", "--repeats", repeats, "--unknown", unknown]
    options += ["-m", "mrr@4", "coverage@4"]
    argv = [generated / "r.csv", generated / "t.csv", *options]
    found = evaluated(capsys, *argv)
    assert found["of"]["mrr@4"]["mean"] == (1 / rank + 1) / 2
    assert found["of"]["coverage@4"]["mean"] == 3 / 4
    assert found["of"]["coverage@4"]["n_users"] is None  # one value, not one for each user
    counts = {"repeats": 1, "lists_with_repeats": 1, "unknown": 1, "lists_with_unknown": 1}
    assert found["counts"]["invalid"] == counts
    out = printed(capsys, "evaluate", *argv)
    assert "wasted or dropped: 1 repeat in 1 list, 1 unknown item in 1 list\n" in out


def test_a_catalogue_without_items(generated, capsys):
    base = [generated / "r.csv", generated / "t.csv", "-m", "mrr"]
    assert rejected(capsys, *base, "--catalogue", generated / "none.csv") == (
        f"--catalogue {str(generated / 'none.csv')!r} has no column 'item'; it has 'title'; "
        "expected a table .csv, .tsv, .inter or .parquet with a header and the column item"
    )


def test_what_may_not_be_overwritten(files, capsys):
    base = [files / "recs.csv", files / "truth.csv"]
    assert "is also an input" in rejected(capsys, *base, "--per-user", files / "truth.csv")


def test_without_polars_it_says_what_to_type(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    message = rejected(capsys, files / "recs.csv", files / "truth.csv")
    assert message == f"tables need the package polars; type: {install('cli')}"


def test_a_package_that_is_missing_is_no_fault(files, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("recmetrics.tables")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    message = rejected(capsys, files / "recs.csv", files / "truth.csv")
    assert message == f"recmetrics.tables needs narwhals; type: {install('tables')}"
    monkeypatch.setitem(sys.modules, "polars", None)
    message = rejected(capsys, files / "recs.csv", files / "truth.csv")
    assert message == f"tables need the package polars; type: {install('cli')}"  # and narwhals
