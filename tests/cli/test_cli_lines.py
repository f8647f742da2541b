"""Text files of users and items: the form is that of the file, and each message is followed."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from commands import evaluated, printed, rejected, require_tables
from scipy import sparse

# Every user has items 0 and 1 on the first two ranks.
SCORES = np.tile([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], (3, 1))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)


def mean_of(capsys, *argv, metric="cg@2"):
    return evaluated(capsys, *argv, "-m", metric)["of"][metric]["mean"]


# By form: the text, and the relevances of items 0 and 1, summed over the three users.
FORMS = {
    "lists": ("0 1\n1 0 3 1\n2\n", 1 + 2),
    "lists with commas": ("0,1\n1, 0, 3, 1\n2\n", 1 + 2),
    "lists of one item or none": ("0 1\n1\n2 5\n", 1),
    "lists of three or four": ("# test\n0 1 3 5\n\n1 0 2 \n", 1 + 1),
    "lists that begin with 0": ("0 0 1 3\n1 0\n2 0 1 5\n", 2 + 1 + 2),
    "pairs": ("0 1\n1 0\n1 1\n2 5\n", 1 + 2),
    "pairs, every user once": ("0 1\n1 0\n2 5\n", 1 + 1),
    "triples": ("0 1 3\n0 5 1\n1 0 2\n", 3 + 2),
    "triples and pairs": ("0 1 3\n1 0\n1 1\n", 3 + 2),
    "decimals, every user once": ("0 1 3.0\n1 0 2.5\n2 5 1\n", 3 + 2.5),
    "decimals and pairs": ("0 1\n1 0 2.5\n2 5\n", 1 + 2.5),
    "bools": ("0 1 True\n0 0 False\n1 0 true\n2 5 FALSE\n", 1 + 1),
    "qrels": ("0 0 1 3\n0 0 5 1\n1 0 0 2\n", 3 + 2),
    "qrels, every query once": ("0 0 1 3\n1 0 0 2\n", 3 + 2),
    "qrels with Q0": ("0 Q0 1 3\n1 Q0 0 2\n", 3 + 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_is_that_of_the_file(form, capsys):
    text, total = FORMS[form]
    Path("test.txt").write_text(text)
    assert mean_of(capsys, "scores.npy", "test.txt") == total / 3


def test_a_packed_text_is_read(capsys):
    text, total = FORMS["lists of three or four"]
    Path("test.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert mean_of(capsys, "scores.npy", "test.txt.gz") == total / 3
    Path("scores.npy.gz").write_bytes(gzip.compress(Path("scores.npy").read_bytes()))
    message = rejected(capsys, "scores.npy.gz", "test.txt.gz", "-m", "mrr")
    assert message.startswith("SCORES 'scores.npy.gz' is packed by gzip: unpack it first; ")
    Path("cut.gz").write_bytes(Path("test.txt.gz").read_bytes()[:12])
    message = rejected(capsys, "cut.gz", "test.txt.gz", "-m", "mrr")
    assert message.startswith("SCORES 'cut.gz' is packed by gzip: unpack it first; ")


# Item 2 is relevant to all. User 0 has had items 0, 1 and 3, user 1 item 0: its ranks are 1, 2, 3.
TRAINING = {
    "lists": "0 0 1 3\n1 0\n2\n",
    "pairs": "0 0\n0 1\n0 3\n1 0\n",
    "triples": "0 0 5\n0 1 0\n0 3 4\n1 0 3\n",
    "qrels": "0 0 0 1\n0 0 1 0\n0 0 3 1\n1 0 0 1\n",
    "run": "0 Q0 0 1 9.5 a\n0 Q0 1 2 9 a\n0 Q0 3 3 8 a\n1 Q0 0 1 7 a\n",
}


@pytest.mark.parametrize("form", TRAINING)
def test_training_items_in_every_form(form, capsys):
    Path("test.txt").write_text("0 2\n1 2\n2 2\n")
    Path("train.txt").write_text(TRAINING[form])
    argv = ["scores.npy", "test.txt", "--exclude", "train.txt"]
    assert mean_of(capsys, *argv, metric="mrr") == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("option", "metric"),
    [
        ("--exclude {}", "mrr"),
        ("--candidates {}", "mrr"),
        ("--stratum had={}", "recall(of=had)@3"),
        ("--popularity-from {}", "popularity@1"),
        ("--propensity-from {}", "recall(weigh=ips)@3"),
    ],
)
def test_every_option_reads_lists(option, metric, capsys):
    users, items = [0, 0, 0, 1, 2, 2, 2, 2], [2, 1, 3, 2, 1, 2, 3, 5]
    sparse.save_npz("train.npz", sparse.csr_array((np.ones(8), (users, items)), shape=(3, 6)))
    Path("train.txt").write_text("0 2 1 3\n1 2\n2 1 2 3 5\n")
    Path("test.txt").write_text("0 2\n1 2\n2 2 4 1\n")
    base = ["scores.npy", "test.txt", "-m", metric, "--json"]
    texts = [
        printed(capsys, "evaluate", *base, *option.format(file).split())
        for file in ("train.txt", "train.npz")
    ]
    assert texts[0] == texts[1].replace("train.npz", "train.txt")
    if metric == "mrr":  # without the file, the others are errors
        assert texts[0] != printed(capsys, "evaluate", *base)


def test_identify_reads_them(capsys):
    Path("test.txt").write_text("0 1 3\n1 0 3\n")  # one relevant item of two in each list
    argv = ["identify", "scores.npy", "test.txt", "--value", "0.5", "-m", "recall@2", "--json"]
    assert '"mean": 0.5' in printed(capsys, *argv, "--lines", "lists")


# --- Files that leave the form open --------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines", "total"),
    [
        ("0 1 3\n1 0 2\n2 5 1\n", "triples", 3 + 2),
        ("0 1 3\n1 0 2\n2 5 1\n", "lists", 1 + 1 + 1),
        ("0 1 3\n1 0\n2 5 1\n", "triples", 3 + 1),
        ("0 1 3\n1 0\n2 5 1\n", "lists", 1 + 1 + 1),
    ],
)
def test_two_or_three_numbers_and_every_user_once(text, lines, total, capsys):
    Path("test.txt").write_text(text)
    message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
    assert message == (
        "TRUTH 'test.txt' has a line for each user, of 2 or 3 numbers: user item relevance, or "
        "user and items? type --lines triples or --lines lists"
    )
    assert mean_of(capsys, "scores.npy", "test.txt", "--lines", lines) == total / 3


def test_as_many_numbers_in_every_line(capsys):
    Path("test.txt").write_text("0 1 3 0\n1 0 2 4\n2 3 4 5\n")
    message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
    assert message == (
        "TRUTH 'test.txt' has a line for each user, of 4 numbers each; expected 'user item', "
        "'user item relevance' or 'user item item ...' with 0-based indices; for a user and items "
        "type --lines lists; for other columns, give tables with a header: recmetrics evaluate "
        "RECS TRUTH"
    )
    assert mean_of(capsys, "scores.npy", "test.txt", "--lines", "lists") == (2 + 1) / 3


def test_lists_that_look_like_qrels(capsys):
    Path("test.txt").write_text("0 0 1 3\n1 0 2 4\n")  # relevances 3 of item 1, 4 of item 2
    assert mean_of(capsys, "scores.npy", "test.txt") == 3 / 3
    assert mean_of(capsys, "scores.npy", "test.txt", "--lines", "triples") == 3 / 3
    assert mean_of(capsys, "scores.npy", "test.txt", "--lines", "lists") == (2 + 1) / 3


def test_lines_holds_for_every_file_and_a_wrong_one_is_no_number(capsys):
    Path("test.txt").write_text("0 1 3\n1 0 2\n")
    Path("train.txt").write_text("0 4 5\n0 5 1\n")
    argv = ["scores.npy", "test.txt", "--exclude", "train.txt", "-m", "cg@2", "--lines"]
    assert rejected(capsys, *argv, "lists") == (
        "--exclude 'train.txt', line 2: user 0 is already on line 1; in lists every user has one "
        "line: join them, or type --lines triples for 'user item relevance'"
    )
    assert mean_of(capsys, *argv, "triples") == (3 + 2) / 3
    Path("train.txt").write_text("0 4 5 1\n")
    assert mean_of(capsys, *argv, "lists") == 1 / 3  # user 0 has items 1 and 3, and had item 1
    Path("train.txt").write_text("0 4\n0 1\n")  # a pair is one item in both forms
    assert mean_of(capsys, *argv, "lists") == 1 / 3


def test_tables_have_no_lines(capsys):
    Path("recs.csv").write_text("user,item\n0,1\n")
    Path("truth.tsv").write_text("user\titem\n0\t1\n")
    Path("pairs.txt").write_text("0 1\n0 2\n")
    for truth in ("truth.tsv", "pairs.txt"):
        assert rejected(capsys, "recs.csv", truth, "--lines", "lists") == (
            "--lines goes with SCORES, an .npy or .npz; RECS is a table of recommendations; leave "
            "it out"
        )
    Path("lists.txt").write_text("0 1 2\n1 2\n")
    assert rejected(capsys, "recs.csv", "lists.txt", "--lines", "lists").endswith(
        "; leave it out, and for lines of a user and items, in Python, type "
        "evaluate_table('recs.csv', {user: items for user, *items in map(str.split, "
        "Path('lists.txt').read_text().splitlines())}, ...)"
    )


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_pairs_without_a_header_beside_a_table(separator, capsys):
    """The mean is that of both items of user 0: of the last one alone, it is another."""
    require_tables()
    Path("recs.csv").write_text("user,item,score\n0,1,2\n0,2,1\n1,2,3\n")
    lines = "0 1 3\n0 2 1\n1 3 1\n".replace(" ", separator)
    Path("pairs.txt").write_text(lines)
    message = rejected(capsys, "recs.csv", "pairs.txt", "-m", "cg@2")
    text = re.search(r"write a header above the lines, such as '(.+)'$", message)[1]
    header = text.encode().decode("unicode_escape")
    assert header == f"user{separator}item{separator}relevance"
    Path("pairs.txt").write_text(f"{header}\n{lines}")
    assert mean_of(capsys, "recs.csv", "pairs.txt") == (3 + 1 + 0) / 2


def test_items_without_a_header_beside_a_table(capsys):
    require_tables()
    for name in ("recs.csv", "truth.csv"):
        Path(name).write_text("user,item\n0,1\n")
    Path("all.txt").write_text("0\n1\n")
    argv = ["recs.csv", "truth.csv", "-m", "coverage@1"]
    message = rejected(capsys, *argv, "--catalogue", "all.txt")
    assert message.endswith("no names: write a header above the lines, such as 'item'")
    Path("all.txt").write_text("item\n0\n1\n")
    assert evaluated(capsys, *argv, "--catalogue", "all.txt")["of"]["coverage@1"]["mean"] == 1 / 2


# --- What a message says to do gives the right value ---------------------------------------------

TRIPLES = "0 1 3\n0 5 1\n1 0 2\n"


def test_a_header(capsys):
    Path("test.txt").write_text(f"user item rating\n{TRIPLES}")
    message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
    assert message == (
        "TRUTH 'test.txt', line 1: a header: user, item, rating; expected indices alone: leave the "
        "line out, or put # before it"
    )
    Path("test.txt").write_text(f"# user item rating\n{TRIPLES}")
    assert mean_of(capsys, "scores.npy", "test.txt") == (3 + 2) / 3


def test_ids_of_text_are_no_header(capsys):
    for text in ("user item\nann x\nann z\n", "# user item\nann x\nann z\n"):
        Path("test.txt").write_text(text)
        message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
        assert "#" not in message
        assert message.endswith(
            "; for ids of text, give tables with a header: recmetrics evaluate RECS TRUTH"
        )
    require_tables()
    Path("recs.csv").write_text("user,item,score\nann,x,3\nann,y,2\nann,z,1\n")
    Path("test.csv").write_text("user,item\nann,x\nann,z\n")
    assert mean_of(capsys, "recs.csv", "test.csv") == 1


def test_other_columns(capsys):
    rows = ["0 1 3 881250949", "0 5 1 881250950", "1 0 2 881250951"]
    Path("test.txt").write_text("\n".join(rows))
    message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
    assert message == (
        "TRUTH 'test.txt', line 1: 4 fields; expected 'user item', 'user item relevance' or 'user "
        "item item ...' with 0-based indices; in lists every user has one line; for other columns, "
        "give tables with a header: recmetrics evaluate RECS TRUTH"
    )
    require_tables()
    scores = [f"{user},{item},{SCORES[user, item]}" for user in range(3) for item in range(6)]
    Path("recs.csv").write_text("\n".join(["user,item,score", *scores]))
    lines = [row.replace(" ", ",") for row in rows]
    Path("truth.csv").write_text("\n".join(["user,item,relevance,time", *lines]))
    assert mean_of(capsys, "recs.csv", "truth.csv") == (3 + 2) / 3


def test_a_user_on_two_lines_of_lists(capsys):
    Path("test.txt").write_text("0 3 5 1\n1 0 3 1 2\n0 0\n")
    message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
    assert "; in lists every user has one line; " in message
    Path("test.txt").write_text("0 3 5 1 0\n1 0 3 1\n")
    assert mean_of(capsys, "scores.npy", "test.txt") == (2 + 2) / 3


def test_an_item_twice_in_a_list(capsys):
    Path("test.txt").write_text("0 3 1 3\n1 0 1\n")
    Path("train.txt").write_text("0 4 4 5\n1 5\n")
    argv = ["scores.npy", "test.txt", "-m", "cg@2", "--lines", "lists"]
    assert rejected(capsys, *argv) == (
        "TRUTH 'test.txt', line 1: user 0, item 3 is already on line 1; give every pair once"
    )
    Path("test.txt").write_text("0 3 1\n1 0 1\n")
    assert mean_of(capsys, *argv, "--exclude", "train.txt") == (1 + 2) / 3


def test_a_run_is_no_truth(capsys):
    Path("run.txt").write_text(TRAINING["run"])
    message = rejected(capsys, "scores.npy", "run.txt", "-m", "cg@2")
    assert message == (
        "TRUTH 'run.txt', line 1: a TREC run, which has no relevances; expected 'query 0 item "
        "relevance' in every line of TREC's qrels, or 'user item', 'user item relevance' or 'user "
        "item item ...' with 0-based indices"
    )
    Path("run.txt").write_text(f"{TRAINING['run']}1 Q0 0\n")
    Path("test.txt").write_text(TRIPLES)
    argv = ["scores.npy", "test.txt", "--exclude", "run.txt", "-m", "cg@2"]
    assert rejected(capsys, *argv) == (
        "--exclude 'run.txt', line 5: 3 fields; expected the 6 of a TREC run, as in the first line"
    )


@pytest.mark.parametrize("line", ["0 0 5", "0 1 3 881250949"])
def test_a_line_of_another_form_in_qrels(line, capsys):
    Path("test.txt").write_text(f"0 0 1 3\n{line}\n")
    assert rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2") == (
        f"TRUTH 'test.txt', line 2: got {line!r}; expected 'query 0 item relevance' in every line "
        "of TREC's qrels; for other columns, give tables with a header: recmetrics evaluate RECS "
        "TRUTH"
    )


def test_negative_labels_of_qrels_are_for_the_library_to_read(capsys):
    Path("test.txt").write_text("0 0 1 -2\n0 0 0 1\n")
    message = rejected(capsys, "scores.npy", "test.txt", "-m", "cg@2")
    assert message.startswith("truth must hold relevances from 0 to 1e+100, ")
