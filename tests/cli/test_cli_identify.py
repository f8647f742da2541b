"""``recmetrics identify``: the same as ``identify``, of files of scores and of tables."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from commands import printed, refused, require_tables

from recmetrics import identify

SCORES = np.array([[5.0, 4, 3, 2], [1, 2, 3, 4], [2, 3, 4, 1]])
TRUTH = np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]])
TRAIN = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    for name, matrix in {"test": TRUTH, "train": TRAIN}.items():
        sp.save_npz(f"{name}.npz", sp.csr_array(matrix))


ASKED = ("--value", "0.50", "-m", "recall@2")


def test_scores(capsys):
    expected = identify(SCORES, TRUTH, "0.50", "recall@2", exclude=TRAIN)
    both = ("identify", "scores.npy", "test.npz", "--exclude", "train.npz", *ASKED)
    assert printed(capsys, *both) == f"{expected}\n"
    document = json.loads(printed(capsys, *both, "--json"))
    assert document == json.loads(json.dumps(expected.to_dict())) | {"notes": []}


def test_tables(capsys):
    require_tables()
    import polars as pl

    users, items = np.nonzero(np.ones(SCORES.shape))
    pl.DataFrame({"u": users, "i": items, "score": SCORES.ravel()}).write_csv("recs.csv")
    users, items = np.nonzero(TRUTH)
    pl.DataFrame({"u": users, "i": items}).write_csv("truth.csv")
    columns = ("--user", "u", "--item", "i")
    expected = identify(SCORES, TRUTH, "0.50", "dcg@2").to_dict()
    found = json.loads(
        printed(
            capsys, "identify", "recs.csv", "truth.csv", *columns, *ASKED[:-1], "dcg@2", "--json"
        )
    )
    for name in ("own", "unused options"):
        assert found["n_means"][name] == expected["n_means"][name]
        assert found["by_chance"][name] == pytest.approx(expected["by_chance"][name])
    users, items = np.nonzero(TRAIN)
    pl.DataFrame({"u": users, "i": items}).write_csv("train.csv")
    files = ("recs.csv", "truth.csv", "--exclude", "train.csv")
    found = json.loads(printed(capsys, "identify", *files, *columns, *ASKED, "--json"))
    expected = identify(SCORES, TRUTH, "0.50", "recall@2", exclude=TRAIN).to_dict()
    assert found["matches"][0]["mean"] == expected["matches"][0]["mean"]


def test_a_run_and_qrels(capsys):
    """The relevant document is second."""
    require_tables()
    Path("a.run").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    Path("qrels.txt").write_text("q 0 b 1\nq 0 a 0\n")
    files = ("identify", "a.run", "qrels.txt", "--value", "0.5", "-m", "mrr", "--json")
    assert json.loads(printed(capsys, *files))["matches"][0]["mean"] == 1 / 2


@pytest.mark.parametrize("more", [["mrr"], ["-m", "mrr"]], ids=["a word", "an option"])
def test_a_second_metric_is_refused(more, capsys):
    files = ("identify", "scores.npy", "test.npz")
    assert refused(capsys, *files, *ASKED, *more) == (
        "-m takes one metric in identify, got 'recall@2' and 'mrr'; run the command once for each"
    )
    with_file = refused(capsys, *files, *ASKED, "third.npz")
    assert (
        with_file
        == "unexpected word 'third.npz' behind SCORES TRUTH; see 'recmetrics identify --help'"
    )


def test_files_may_stand_behind_the_metric(capsys):
    behind = printed(capsys, "identify", *ASKED, "scores.npy", "test.npz")
    assert behind == printed(capsys, "identify", "scores.npy", "test.npz", *ASKED)


def test_errors_say_what_to_type(capsys):
    files = ("identify", "scores.npy", "test.npz")
    assert "give the files: recmetrics identify SCORES TRUTH" in refused(capsys, *files[:2], *ASKED)
    assert refused(capsys, *files).startswith("the following arguments are required: --value, -m")
    wrong = refused(capsys, *files, "--value", "1", "-m", "coverage@2")
    assert wrong.startswith("metric must be one of hit, ")
    assert wrong.endswith(", got 'coverage@2' (-m)")
