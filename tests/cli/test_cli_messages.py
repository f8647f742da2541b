"""What the command says of bad input: the message of the library, then the option and its file.

Each test types a command, and reads which message comes and what the command puts behind it. What
else the messages say is tested where they are made.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import message_of
from commands import evaluated, printed, refused, require_tables

from recmetrics import Metrics, NaNScoreError
from recmetrics.cli import main

SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
TRUTH = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
NAN = SCORES * [[1.0], [np.nan]]
ARRAYS = {
    "scores": SCORES,
    "nan": NAN,
    "truth": TRUTH,
    "negative": -TRUTH,
    "wide": np.ones((2, 4)),
    "high": np.ones((4, 4)),
    "genres": np.eye(3),
    "items": np.array([1, 9]),
    "empty": np.zeros((2, 3)),
}
TABLES = {
    "recs": "user,item,score\na,x,2\na,y,1\nb,x,1\n",
    "liked": "user,item\na,y\nb,x\n",
    "swapped": "user,item,rating\na,y,1\n",
    "twice": "user,item\na,y\na,y\n",
    "items": "item\ny\ny\n",
    "some": "item\ny\n",
    "numbers": "user,item,prediction\na,x,1\n",
    "again": "user,item,rank\na,x,1\na,x,2\n",
    "gaps": "user,item,rank\na,x,1\na,y,4\nb,x,1\n",
    "other": "user,item\na,p\nb,q\n",
    "queries": "group,score,relevance\nq,1,1\nq,nan,0\n",
    "groups": "group,score,relevance\nq,1,1\nq,0,0\n",
    "grades": "group,score,relevance\nq,1,-1\n",
    "long": "user,item,time\na,x,2020-01-01\n",
    "values": "algo,user,mrr,loss\na,u,0.5,0.5\nb,u,0.25,0.5\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, array in ARRAYS.items():
        np.save(f"{name}.npy", array)
    sp.save_npz("stored.npz", sp.csr_array(TRUTH > 0))
    for name, text in TABLES.items():
        Path(f"{name}.csv").write_text(text)
    for name in ("old", "new", "third"):
        np.savez(f"{name}.npz", mrr=np.array([0.5, 1.0, 0.25]))
    Path("two.txt").write_text("x\ny\n")


# By argument: what is typed, how the message begins, and what the command puts behind it.
OF_FILES = {
    "SCORES": ("nan.npy truth.npy -m mrr", "scores hold 3 NaN", "SCORES nan.npy"),
    "TRUTH": (
        "scores.npy negative.npy -m mrr",
        "truth must hold relevances from 0 to 1e+100",
        "TRUTH negative.npy; --candidates FILE; run it in Python, and save the array",
    ),
    "RECS": (
        "swapped.csv recs.csv -m mrr",
        "recs has the column 'rating' and truth the column 'score'",
        "RECS swapped.csv",
    ),
    "TRUTH of RECS": (
        "recs.csv twice.csv -m mrr",
        "truth, columns 'user', 'item'",
        "TRUTH twice.csv",
    ),
    "GROUPS": (
        "grades.csv -m mrr",
        "relevance must hold relevances from 0 to 1e+100",
        "GROUPS grades.csv, column 'relevance', rows counted from 0; run it in Python, and "
        "save the array",
    ),
    "--exclude": (
        "scores.npy truth.npy -m mrr --exclude wide.npy",
        "exclude must have the users and items of the truth",
        "--exclude wide.npy",
    ),
    "--candidates": (
        "scores.npy truth.npy -m mrr --candidates wide.npy",
        "candidates must have the users and items of the truth",
        "--candidates wide.npy",
    ),
    "--stratum": (
        "scores.npy truth.npy -m mrr(of=tail) --stratum tail=items.npy",
        "strata['tail'] names item 9",
        "--stratum tail=items.npy",
    ),
    "--popularity-from": (
        "scores.npy truth.npy -m novelty@2 --popularity-from wide.npy",
        "popularity must be of shape",
        "--popularity-from wide.npy",
    ),
    "--propensity-from": (
        "scores.npy truth.npy -m recall(weigh=ips)@2 --propensity-from empty.npy",
        "train holds no interactions",
        "--propensity-from empty.npy",
    ),
    "--features": (
        "scores.npy truth.npy -m diversity@2 --features scores.npy",
        "features must be of shape",
        "--features scores.npy; run it in Python, and save the array",
    ),
    "--similarity": (
        "scores.npy truth.npy -m diversity@2 --similarity wide.npy",
        "similarity must be square",
        "--similarity wide.npy",
    ),
    "--genres": (
        "scores.npy truth.npy -m calibration@2 --profile truth.npy --genres items.npy",
        "genres must be 2-d",
        "--genres items.npy",
    ),
    "--profile": (
        "scores.npy truth.npy -m calibration@2 --genres genres.npy --profile high.npy",
        "profile must hold the genres of each user",
        "--profile high.npy",
    ),
    "--catalogue": (
        "recs.csv liked.csv -m mrr --catalogue items.csv",
        "catalogue, columns 'item'",
        "--catalogue items.csv",
    ),
}


def test_a_message_is_that_of_the_library(capsys):
    library = message_of(NaNScoreError, Metrics.compute, NAN, TRUTH, "mrr")
    message = refused(capsys, "evaluate", "nan.npy", "truth.npy", "-m", "mrr")
    typed = library.replace("give nan='exclude'", "give --nan exclude")
    assert message == f"{typed} (SCORES nan.npy)"


@pytest.mark.parametrize("argument", OF_FILES)
def test_an_error_of_a_file_names_its_option_and_the_file(argument, capsys):
    line, start, options = OF_FILES[argument]
    if ".csv" in line:
        require_tables()
    message = refused(capsys, "evaluate", *line.split())
    assert message.startswith(start)
    assert message.endswith(f" ({options})")


def test_every_option_that_reads_a_file_is_among_them(capsys):
    text = printed(capsys, "evaluate", "--help")
    options = set(re.findall(r"^  (--[\w-]+) (?:FILE|TRAIN|NAME=FILE)\b", text, re.MULTILINE))
    assert options - {"--per-user"} == {name for name in OF_FILES if name.startswith("--")}


def test_a_file_whose_name_has_a_blank_is_quoted(capsys):
    Path("wide.npy").rename("a b.npy")
    message = refused(capsys, *["evaluate", "scores.npy", "truth.npy", "--exclude"], "a b.npy")
    assert message.endswith(" (--exclude 'a b.npy')")


WHAT_TO_TYPE = [
    ("evaluate scores.npy empty.npy -m mrr --undefined raise", "mrr is undefined", "--undefined"),
    (
        "evaluate scores.npy truth.npy -m coverage@2 --ties best",
        "coverage@2 reads the lists themselves and has no ties='best'",
        "--ties",
    ),
    (
        "evaluate scores.npy truth.npy -m diversity@2",
        "diversity@2 needs features=",
        "--features FILE; --similarity FILE",
    ),
    (
        "evaluate scores.npy truth.npy -m diversity@2 --features wide.npy --similarity wide.npy",
        "diversity@2 takes features= or similarity=",
        "--features wide.npy; --similarity wide.npy",
    ),
    (
        "evaluate scores.npy truth.npy -m recall(of=tail)@2",
        "recall(of=tail)@2 needs the items of 'tail' in strata=",
        "--stratum NAME=FILE",
    ),
    (
        "evaluate scores.npy truth.npy -m mrr --confidence 95",
        "confidence must be a number above 0 and below 1",
        "--confidence",
    ),
    (
        "evaluate numbers.csv liked.csv -m mrr",
        "recs has no column 'rank' or 'score' to order its lists",
        "RECS numbers.csv; --score; --rank; --in-order",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --score score --in-order",
        "lists have one order",
        "--score; --in-order",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --rank-gaps keep",
        "rank_gaps='keep' needs a column of ranks",
        "--rank-gaps",
    ),
    (
        "evaluate again.csv liked.csv -m mrr",
        "recs, columns 'user', 'item'",
        "RECS again.csv; --repeats; in Python, type evaluate_table('again.csv', 'liked.csv', ..., "
        "by='model') if the column is 'model'",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --unknown drop",
        "unknown='drop' needs catalogue=",
        "--catalogue FILE; --unknown",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --catalogue some.csv",
        "recs, column 'item'",
        "RECS recs.csv; --unknown",
    ),
    ("evaluate recs.csv liked.csv -m auc", "auc needs catalogue=", "--catalogue FILE"),
    (
        "evaluate queries.csv -m mrr",
        "scores hold 1 NaN",
        "GROUPS queries.csv, column 'score', rows counted from 0",
    ),
    (
        "evaluate scores.npy truth.npy -m ndgc@10",
        "in metric 'ndgc@10': unknown metric 'ndgc'",
        "-m",
    ),
    ("evaluate scores.npy truth.npy -m ndcg@5:1 --audit", "cannot read the range 'ndcg@5:1'", "-m"),
    ("evaluate recs.csv liked.csv -m ndgc@10", "in metric 'ndgc@10': unknown metric 'ndgc'", "-m"),
    ("evaluate groups.csv -m ndgc@10", "in metric 'ndgc@10': unknown metric 'ndgc'", "-m"),
    (
        "identify scores.npy truth.npy --value 0.5 -m ndgc@10",
        "in metric 'ndgc@10': unknown metric 'ndgc'",
        "-m",
    ),
    ("compare old.npz new.npz -m ndcg@5:1", "cannot read the range 'ndcg@5:1'", "-m"),
    ("compare old.npz new.npz -m ndcg", "'old' has no 'ndcg'", "-m"),
    ("compare values.csv --model algo -m mmr loss", "results has no 'mmr'", "-m"),
    ("compare values.csv --model algos", "results has no 'algos'", "--model"),
    ("compare values.csv --model algo -m mrr loss --by users", "results has no 'users'", "--by"),
    ("compare old.npz new.npz --by two.txt", "by must hold one group per user", "--by two.txt"),
    (
        "compare values.csv --model algo",
        "results has the column 'loss' of floats",
        "FILE values.csv; --model",
    ),
    (
        "compare old.npz new.npz third.npz --gate mrr>0",
        "a rule needs the baseline",
        "--gate; --baseline",
    ),
    (
        "identify scores.npy truth.npy --value much -m recall@2",
        "value must be text such as",
        "--value",
    ),
    (
        "identify scores.npy negative.npy --value 0.5 -m recall@2",
        "truth must hold relevances from 0 to 1e+100",
        "TRUTH negative.npy; --candidates FILE; run it in Python, and save the array",
    ),
]


@pytest.mark.parametrize(
    ("line", "start", "options"), WHAT_TO_TYPE, ids=[case[0] for case in WHAT_TO_TYPE]
)
def test_a_message_that_says_what_to_type_names_the_option(line, start, options, capsys):
    if ".csv" in line:
        require_tables()
    message = refused(capsys, *line.split())
    assert message.startswith(start)
    assert message.endswith(f" ({options})")


@pytest.mark.parametrize(
    ("line", "end"),
    [
        (
            "evaluate groups.csv -m recall(weigh=ips)@2",
            "; leave out weigh=, or type Metrics.compute(..., propensity=...) (recmetrics evaluate "
            "SCORES TRUTH)",
        ),
        ("evaluate recs.csv liked.csv -m diversity@2", ", got none"),
        (
            "evaluate again.csv liked.csv -m mrr",
            "; give a file of each model, or type repeats='waste' or repeats='drop' (RECS "
            "again.csv; --repeats; in Python, type evaluate_table('again.csv', 'liked.csv', ..., "
            "by='model') if the column is 'model')",
        ),
    ],
    ids=["groups", "recommendations", "models"],
)
def test_no_option_is_named_that_the_form_of_the_files_refuses(line, end, capsys):
    require_tables()
    assert refused(capsys, *line.split()).endswith(end)


# --- Notes ---------------------------------------------------------------------------------------


def test_a_note_names_the_option_and_the_file(capsys):
    require_tables()
    assert main(["evaluate", "gaps.csv", "liked.csv", "-m", "mrr"]) == 0
    [note] = capsys.readouterr().err.splitlines()
    assert note.startswith("recmetrics: note: recs, column 'rank': 1 of 2 lists have gaps")
    assert note.endswith(" (RECS gaps.csv; --rank-gaps)")


def test_the_notes_before_an_error_are_printed_first(capsys):
    assert main(["evaluate", "stored.npz", "negative.npy", "-m", "mrr"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    note, error = err.splitlines()
    assert note.startswith("recmetrics: note: all 3 stored scores are 1, ")
    assert error.startswith("recmetrics: error: truth must hold relevances from 0 to 1e+100, ")


@pytest.mark.parametrize("more", [[], ["--chunks", "4"]])
def test_the_reason_why_nobody_has_a_value_is_the_error(more, capsys):
    require_tables()
    Path("others.csv").write_text("user,item\nc,x\n")
    argv = ["evaluate", "recs.csv", "others.csv", "-m", "mrr", "--no-include-missing", *more]
    message = refused(capsys, *argv)
    assert message.startswith("nothing was measured: truth, column 'user': no id of recs occurs")
    assert message.endswith(" (TRUTH others.csv)")


def test_notes_below_the_table_name_the_option(capsys):
    argv = ["evaluate", "scores.npy", "truth.npy", "-m", "mrr"]
    lines = printed(capsys, *argv, "--exclude", "truth.npy")
    assert "\nexclude holds all relevant items of 2 of the 2 users " in lines
    assert " (--exclude truth.npy)\n" in lines
    np.save("truth.npy", TRUTH * [[1], [0]])
    lines = printed(capsys, *argv)
    assert lines.endswith("\nto count users without a value as 0, give --undefined zero\n")


# --- What a message says to type gives the right value -------------------------------------------


def test_recommendations_are_evaluated_before_they_are_compared(capsys):
    Path("twice.csv").write_text("user,item,score\na,x,2\na,y,1\n")
    Path("one.csv").write_text("user,item,score\na,2,3\n")  # no metrics, though both are numbers
    Path("ids.csv").write_text("user_id,item_id\na,x\n")
    for file, fault in {
        "twice.csv": "line 3: user 'a' is already on line 2; expected every user once",
        "one.csv": "line 1: the header has 'item'; expected 'user' or 'group', then metrics of "
        "different names",
        "ids.csv": "line 1: the header is 'user_id,item_id'; expected 'user' or 'group', then "
        "metrics of different names",
        "groups.csv": "line 3: group 'q' is already on line 2; expected every group once",
    }.items():
        assert refused(capsys, "compare", file, "old.npz") == (
            f"FILE {file!r}, {fault}; evaluate recommendations first: recmetrics evaluate {file} "
            "TRUTH --per-user VALUES.csv, and a table of groups the same way, without TRUTH"
        )
    require_tables()
    # User a has y second, user b x first; in the truth of b alone is one.
    for recs, values in {"recs.csv": "u.csv", "twice.csv": "v.csv"}.items():
        printed(capsys, *["evaluate", recs, "liked.csv", "--per-user", values, "-m", "mrr"])
    out = printed(capsys, *["compare", "u.csv", "v.csv", "--json"])
    assert '"mean": 0.75' in out  # (1 / 2 + 1) / 2
    assert '"mean": 0.25' in out  # (1 / 2 + 0) / 2
    argv = ["evaluate", "groups.csv", "--per-user", "w.csv", "-m", "mrr"]
    printed(capsys, *argv)
    assert Path("w.csv").read_text() == "group,mrr\nq,1.0\n"


def test_a_cutoff_stands_in_the_metric(capsys):
    for words in (["--k", "10"], ["-k", "10"], ["--top-k=10"], ["--cutoff", "10"]):
        argv = ["evaluate", "scores.npy", "truth.npy", "-m", "ndcg", *words]
        flag = words[0].partition("=")[0]
        end = f"unknown option {flag!r}; a metric has its cutoff: -m ndcg@10; see 'recmetrics "
        assert refused(capsys, *argv) == f"{end}evaluate --help'"
        argv[0] = "identify"
        assert refused(capsys, *argv, "--value", "1") == f"{end}identify --help'"
    means = evaluated(capsys, "scores.npy", "truth.npy", "-m", "cg@1", "cg@2")["of"]
    assert (means["cg@1"]["mean"], means["cg@2"]["mean"]) == ((1 + 2) / 2, (1 + 2 + 1) / 2)
    assert (
        refused(capsys, "demo", "--k", "10") == "unknown option '--k'; see 'recmetrics demo --help'"
    )


def test_an_array_that_is_changed_in_python_and_saved(capsys):
    features = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])  # of items 0 and 2 alike
    np.save("features.npy", features)
    argv = ["scores.npy", "truth.npy", "-m", "diversity@2", "--features", "features.npy"]
    assert refused(capsys, "evaluate", *argv).endswith(
        "; it looks transposed: type features.T (--features features.npy; run it in Python, and "
        "save the array)"
    )
    np.save("features.npy", features.T)
    assert evaluated(capsys, *argv)["of"]["diversity@2"]["mean"] == 1.0  # items 0, 1 and 2, 1


def test_a_sparse_array_that_is_changed_in_python_and_saved(capsys):
    scores = sp.csr_array((np.ones(3), np.array([0, 1, 1]), np.array([0, 1, 3])), shape=(2, 3))
    sp.save_npz("twice.npz", scores)
    argv = ["twice.npz", "truth.npy", "-m", "mrr"]
    assert refused(capsys, "evaluate", *argv).endswith(
        "; type scores.sum_duplicates() to add them (SCORES twice.npz; run it in Python, and "
        "save the array)"
    )
    scores.sum_duplicates()
    sp.save_npz("twice.npz", scores)
    assert evaluated(capsys, *argv)["of"]["mrr"]["mean"] == 1.0


def test_indices_in_an_array_become_lines_of_text(capsys):
    indices = np.array([[1, 2], [0, 1]])
    np.save("candidates.npy", indices)
    argv = ["scores.npy", "truth.npy", "-m", "mrr", "--candidates"]
    assert refused(capsys, "evaluate", *argv, "candidates.npy").endswith(
        "; for item indices of each user type list(candidates) (--candidates candidates.npy; as "
        "text: lines 'user item item ...', --lines lists)"
    )
    np.savetxt("candidates.txt", np.column_stack([[0, 1], indices]), fmt="%d")
    # The relevant item of user 0 is no candidate; item 1 is the best one of user 1.
    found = evaluated(capsys, *argv, "candidates.txt", "--lines", "lists")
    assert found["of"]["mrr"]["mean"] == (0 + 1) / 2


def test_a_metric_of_all_items_needs_scores(capsys):
    require_tables()
    Path("catalogue.csv").write_text("item\nx\ny\nz\n")
    line = ["recs.csv", "liked.csv", "-m", "auc", "--catalogue", "catalogue.csv"]
    message = refused(capsys, "evaluate", *line)
    assert "type Metrics.compute_groups(scores, labels, ['auc'], ids=users)" in message
    assert message.endswith(" (RECS recs.csv; recmetrics evaluate SCORES TRUTH)")
    np.save("s.npy", np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    Path("t.txt").write_text("0 1\n1 0\n")
    assert evaluated(capsys, "s.npy", "t.txt", "-m", "auc")["of"]["auc"]["mean"] == (1 / 2 + 1) / 2


def test_the_groups_of_a_rule(capsys):
    argv = ["compare", "old.npz", "new.npz", "--gate", "mrr >= -1% in every group"]
    assert refused(capsys, *argv).endswith(
        " needs groups; type by= in compare, the group of each user (--gate; --by GROUPS)"
    )
    Path("segments.txt").write_text("x\ny\ny\n")
    assert main([*argv, "--by", "segments.txt", "--min-users", "2", "--open", "pass"]) == 0


@pytest.mark.parametrize("renamed", ["RECS", "TRUTH"])
def test_two_tables_whose_columns_differ(renamed, capsys):
    require_tables()
    Path("named.csv").write_text(TABLES["recs"].replace("user,item", "uid,movie_id"))
    argv = ["named.csv", "liked.csv", "-m", "mrr"]
    assert refused(capsys, "evaluate", *argv).endswith(
        "; type --user uid --item movie_id if the other tables have the same, else rename 'uid' to "
        "'user' and 'movie_id' to 'item'"
    )
    if renamed == "RECS":
        Path("named.csv").write_text(TABLES["recs"])
    else:
        argv += ["--user", "uid", "--item", "movie_id"]
        assert refused(capsys, "evaluate", *argv).endswith(
            "; rename 'user' to 'uid' and 'item' to 'movie_id': the columns have the same names in "
            "every table"
        )
        Path("liked.csv").write_text(TABLES["liked"].replace("user,item", "uid,movie_id"))
    assert evaluated(capsys, *argv)["of"]["mrr"]["mean"] == (1 / 2 + 1) / 2


def test_two_tables_of_times_whose_columns_differ(capsys):
    require_tables()
    Path("test.csv").write_text("uid,item,time\na,y,2020-02-01\n")
    argv = ["audit-times", "long.csv", "test.csv"]
    assert refused(capsys, *argv).endswith(
        "; rename 'uid' to 'user': the columns have the same names in every table"
    )
    assert refused(capsys, "audit-times", "test.csv", "long.csv").endswith(
        "; type --user uid if the other tables have the same, else rename 'uid' to 'user'"
    )
    Path("test.csv").write_text("user,item,time\na,y,2020-02-01\n")
    printed(capsys, *argv)
