"""What the command says of bad input: the message of the library, then the option and its file.

Each test types a command and reads the whole line.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from commands import printed, refused

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


OF_TRUTH = "must have the users and items of the truth, (2, 3), got (2, 4)"
OF_FILES = {
    "SCORES": (
        "nan.npy truth.npy -m mrr",
        "scores hold 3 NaN, the first at (user 1, item 0); expected numbers; give nan='exclude' to "
        "treat NaN like a score of -inf (SCORES nan.npy; --nan)",
    ),
    "TRUTH": (
        "scores.npy negative.npy -m mrr",
        "truth must hold relevances from 0 to 1e+100, got -1 at (user 0, item 0) "
        "(TRUTH negative.npy)",
    ),
    "RECS": (
        "swapped.csv recs.csv -m mrr",
        "recs has the column 'rating' and truth the column 'score': they look swapped; the "
        "recommendations come first, then the truth (RECS swapped.csv)",
    ),
    "TRUTH of RECS": (
        "recs.csv twice.csv -m mrr",
        "truth, columns 'user', 'item': row 1 (counted from 0) holds user='a', item='y' again, "
        "first in row 0; expected an item once; drop the rows that repeat another "
        "(TRUTH twice.csv)",
    ),
    "GROUPS": (
        "grades.csv -m mrr",
        "relevance must hold relevances from 0 to 1e+100, got -1 in row 0 (GROUPS grades.csv, "
        "column 'relevance', rows counted from 0)",
    ),
    "--exclude": (
        "scores.npy truth.npy -m mrr --exclude wide.npy",
        f"exclude {OF_TRUTH} (--exclude wide.npy)",
    ),
    "--candidates": (
        "scores.npy truth.npy -m mrr --candidates wide.npy",
        f"candidates {OF_TRUTH} (--candidates wide.npy)",
    ),
    "--stratum": (
        "scores.npy truth.npy -m mrr(of=tail) --stratum tail=items.npy",
        "strata['tail'] names item 9, which is outside the catalogue; expected 0 .. 2 "
        "(--stratum tail=items.npy)",
    ),
    "--popularity-from": (
        "scores.npy truth.npy -m novelty@2 --popularity-from wide.npy",
        "popularity must be of shape (n_items,) with n_items = 3, got (4,) "
        "(--popularity-from wide.npy)",
    ),
    "--propensity-from": (
        "scores.npy truth.npy -m recall(weigh=ips)@2 --propensity-from empty.npy",
        "train holds no interactions, so no propensity can be estimated "
        "(--propensity-from empty.npy)",
    ),
    "--features": (
        "scores.npy truth.npy -m diversity@2 --features scores.npy",
        "features must be of shape (n_items, d) with n_items = 3, got (2, 3); it looks "
        "transposed: type features.T (--features scores.npy)",
    ),
    "--similarity": (
        "scores.npy truth.npy -m diversity@2 --similarity wide.npy",
        "similarity must be square, (n_items, n_items), got (2, 4) (--similarity wide.npy)",
    ),
    "--genres": (
        "scores.npy truth.npy -m calibration@2 --profile truth.npy --genres items.npy",
        "genres must be 2-d, got 1-d of shape (2,) (--genres items.npy)",
    ),
    "--profile": (
        "scores.npy truth.npy -m calibration@2 --genres genres.npy --profile high.npy",
        "profile must hold the genres of each user, (n_users, g) = (2, 3), or be the training "
        "matrix, (n_users, n_items) = (2, 3), got (4, 4) (--profile high.npy)",
    ),
    "--catalogue": (
        "recs.csv liked.csv -m mrr --catalogue items.csv",
        "catalogue, columns 'item': row 1 (counted from 0) holds item='y' again, first in row 0; "
        "expected one row for each (--catalogue items.csv)",
    ),
}


@pytest.mark.parametrize("argument", OF_FILES)
def test_an_error_of_a_file_names_its_option_and_the_file(argument, capsys):
    line, message = OF_FILES[argument]
    assert refused(capsys, "evaluate", *line.split()) == message


def test_every_option_that_reads_a_file_is_among_them(capsys):
    text = printed(capsys, "evaluate", "--help")
    options = set(re.findall(r"^  (--[\w-]+) (?:FILE|TRAIN|NAME=FILE)\b", text, re.MULTILINE))
    assert options - {"--per-user"} == {name for name in OF_FILES if name.startswith("--")}


def test_a_file_whose_name_has_a_blank_is_quoted(capsys):
    Path("wide.npy").rename("a b.npy")
    message = refused(capsys, *["evaluate", "scores.npy", "truth.npy", "--exclude"], "a b.npy")
    assert message == f"exclude {OF_TRUTH} (--exclude 'a b.npy')"


MISSPELT = "in metric 'ndgc@10': unknown metric 'ndgc'; did you mean 'ndcg'?"
REVERSED = (
    "cannot read the range 'ndcg@5:1'; its first cutoff, 5, is above its last; type 'ndcg@1:5'"
)
WHAT_TO_TYPE = [
    (
        "evaluate scores.npy empty.npy -m mrr --undefined raise",
        "mrr is undefined: 2 of 2 users have no relevant item, the first is user 0; expected a "
        "value for every user; give undefined='nan' or 'zero', or leave these users out "
        "(--undefined)",
    ),
    (
        "evaluate scores.npy truth.npy -m coverage@2 --ties best",
        "coverage@2 reads the lists themselves and has no ties='best'; hit, precision, recall, "
        "f1, map, mrr, ndcg, dcg, cg, r_precision, rbp, err, fallout, auc, mean_rank, "
        "percentile_rank have one; give ties='index' (--ties)",
    ),
    (
        "evaluate scores.npy truth.npy -m diversity@2",
        "diversity@2 needs features= (a vector for each item, (n_items, d)) or similarity= (the "
        "similarity of each pair of items, (n_items, n_items)), got none; type features=train.T "
        "to compare items by the users who have them (--features FILE; --similarity FILE)",
    ),
    (
        "evaluate scores.npy truth.npy -m diversity@2 --features wide.npy --similarity wide.npy",
        "diversity@2 takes features= or similarity=, got both; give one of them "
        "(--features wide.npy; --similarity wide.npy)",
    ),
    (
        "evaluate scores.npy truth.npy -m recall(of=tail)@2",
        "recall(of=tail)@2 needs the items of 'tail' in strata=, got none; type strata={'tail': "
        "items} (--stratum NAME=FILE)",
    ),
    (
        "evaluate scores.npy truth.npy -m mrr --confidence 95",
        "confidence must be a number above 0 and below 1, such as 0.95, got 95.0 (--confidence)",
    ),
    (
        "evaluate numbers.csv liked.csv -m mrr",
        "recs has no column 'rank' or 'score' to order its lists, but it has the column of numbers "
        "'prediction'; type score='prediction' if higher is better, rank='prediction' if 1 is "
        "best, or in_order=True if the rows are in order (RECS numbers.csv; --score; --rank; "
        "--in-order)",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --score score --in-order",
        "lists have one order, got score='score' and in_order=True; give one of them "
        "(--score; --in-order)",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --rank-gaps keep",
        "rank_gaps='keep' needs a column of ranks, but the lists are ordered by score, descending "
        "(--rank-gaps)",
    ),
    (
        "evaluate again.csv liked.csv -m mrr",
        "recs, columns 'user', 'item': row 1 (counted from 0) holds user='a', item='x' again, "
        "first in row 0; expected an item once in each list; give the column that distinguishes "
        "the lists, or type repeats='waste' or repeats='drop' (RECS again.csv; --repeats)",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --unknown drop",
        "unknown='drop' needs catalogue=, the table of all items (--catalogue FILE; --unknown)",
    ),
    (
        "evaluate recs.csv liked.csv -m mrr --catalogue some.csv",
        "recs, column 'item': row 0 (counted from 0) holds item 'x', which is not in the "
        "catalogue; unknown='waste' or unknown='drop' accepts such items (RECS recs.csv; "
        "--unknown)",
    ),
    (
        "evaluate recs.csv liked.csv -m auc",
        "auc needs catalogue= (a table of 'item' with a row for each item of the catalogue), got "
        "none (--catalogue FILE)",
    ),
    (
        "evaluate queries.csv -m mrr",
        "scores hold 1 NaN, the first in row 1; expected numbers; give nan='exclude' to treat NaN "
        "like a score of -inf (GROUPS queries.csv, column 'score', rows counted from 0; --nan)",
    ),
    (
        "evaluate groups.csv -m recall(weigh=ips)@2",
        "recall(weigh=ips)@2 is weighted by propensities, but groups have none; leave out weigh=, "
        "or type Metrics.compute(..., propensity=...)",
    ),
    (
        "evaluate recs.csv liked.csv -m diversity@2",
        "diversity@2 needs features= (a table of 'item' and the numbers of its vector) or "
        "similarity= (a table of 'item', another item, and their similarity), got none",
    ),
    ("evaluate scores.npy truth.npy -m ndgc@10", f"{MISSPELT} (-m)"),
    ("evaluate scores.npy truth.npy -m ndcg@5:1 --audit", f"{REVERSED} (-m)"),
    ("evaluate recs.csv liked.csv -m ndgc@10", f"{MISSPELT} (-m)"),
    ("evaluate groups.csv -m ndgc@10", f"{MISSPELT} (-m)"),
    ("identify scores.npy truth.npy --value 0.5 -m ndgc@10", f"{MISSPELT} (-m)"),
    ("compare old.npz new.npz -m ndcg@5:1", f"{REVERSED} (-m)"),
    ("compare old.npz new.npz -m ndcg", "'old' has no 'ndcg'; expected one of ['mrr'] (-m)"),
    (
        "compare values.csv --model algo -m mmr loss",
        "results has no 'mmr'; did you mean 'mrr'? (-m)",
    ),
    ("compare values.csv --model algos", "results has no 'algos'; did you mean 'algo'? (--model)"),
    (
        "compare values.csv --model algo -m mrr loss --by users",
        "results has no 'users'; did you mean 'user'? (--by)",
    ),
    (
        "compare old.npz new.npz --by two.txt",
        "by must hold one group per user, shape (3,), got shape (2,) (--by two.txt)",
    ),
    (
        "compare values.csv --model algo",
        "results has the column 'loss' of floats, whose name is no metric string; type "
        "metrics=['mrr'] to name all metrics, since other columns identify the user, or "
        "model='loss' if it names the model (FILE values.csv; -m; --model)",
    ),
    (
        "compare old.npz new.npz third.npz --gate mrr>0",
        "a rule needs the baseline; type baseline='old', or another model, in compare "
        "(--gate; --baseline)",
    ),
    (
        "identify scores.npy truth.npy --value 50 -m recall@2",
        "value must be from 0 to 1, as those of recall@2, got '50'; for a percentage type '50 %' "
        "(--value)",
    ),
    (
        "identify scores.npy negative.npy --value 0.5 -m recall@2",
        "truth must hold relevances from 0 to 1e+100, got -1 at (user 0, item 0) "
        "(TRUTH negative.npy)",
    ),
]


@pytest.mark.parametrize(("line", "message"), WHAT_TO_TYPE, ids=[line for line, _ in WHAT_TO_TYPE])
def test_a_message_that_says_what_to_type_names_the_option(line, message, capsys):
    assert refused(capsys, *line.split()) == message


# --- Notes ---------------------------------------------------------------------------------------

EXCHANGED = "are scores and truth exchanged? expected scores first, then the truth"
GAPS = (
    "recmetrics: note: recs, column 'rank': 1 of 2 lists have gaps in their ranks, the first is "
    "user='a'; their items were ranked 1, 2, 3, ... in this order; rank_gaps='keep' keeps the "
    "ranks as they are, rank_gaps='close' closes the gaps without this warning (RECS gaps.csv; "
    "--rank-gaps)\n"
)


def test_a_note_names_the_option_and_the_file(capsys):
    assert main(["evaluate", "gaps.csv", "liked.csv", "-m", "mrr"]) == 0
    assert capsys.readouterr().err == GAPS


def test_the_notes_before_an_error_are_printed_first(capsys):
    assert main(["evaluate", "stored.npz", "negative.npy", "-m", "mrr"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.splitlines()) == (
        "",
        [
            f"recmetrics: note: all 3 stored scores are 1, so the items of a user tie; {EXCHANGED}",
            f"recmetrics: error: {OF_FILES['TRUTH'][1]}",
        ],
    )


def test_the_reason_why_nobody_has_a_value_is_the_error(capsys):
    Path("others.csv").write_text("user,item\nc,x\n")
    argv = ["evaluate", "recs.csv", "others.csv", "-m", "mrr", "--no-include-missing"]
    assert refused(capsys, *argv) == (
        "nothing was measured: truth, column 'user': no id of recs occurs here; the first of both "
        "are 'a' and 'c'; are the ids written in two ways? (TRUTH others.csv)"
    )


def test_notes_below_the_table_name_the_option(capsys):
    argv = ["evaluate", "scores.npy", "truth.npy", "-m", "mrr"]
    lines = printed(capsys, *argv, "--exclude", "truth.npy")
    assert lines.endswith(
        "\nexclude holds all relevant items of 2 of the 2 users with relevant items, and excluded "
        "items are never hits; is exclude= the test set instead of the training set? give the "
        "items seen in training (--exclude truth.npy)\n"
    )
    np.save("truth.npy", TRUTH * [[1], [0]])
    lines = printed(capsys, *argv)
    assert lines.endswith(
        "\nto count users without a value as 0, give undefined='zero' (--undefined)\n"
    )
