"""Bad files and arguments: one line on stderr, exit code 2, nothing written or printed.

Every bad input stands beside a good twin that differs from it in the one thing that is wrong.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from commands import rejected
from scipy import sparse

from recmetrics import Metrics
from recmetrics.cli import main

SCORES = np.array([[3, 2, 1], [1, 2, 3]], np.float32)
TRUTH = np.array([[1, 0, 0], [0, 1, 0]], float)
WANT_SCORES = (
    "expected a dense .npy (numpy.save) or a sparse .npz (scipy.sparse.save_npz), a table .csv, "
    ".tsv, .inter or .parquet, or a TREC run of 6 words a line: 'query Q0 item rank score tag'"
)
WANT_MATRIX = (
    "expected a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]' or 'user item item ...'"
)
WANT_LINE = (
    "expected 'user item', 'user item relevance' or 'user item item ...' with 0-based indices"
)
WANT_FIELDS = (
    f"{WANT_LINE}; in lists every user has one line; for other columns, give tables with a "
    "header: recmetrics evaluate RECS TRUTH"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with good files, so that messages are the same everywhere."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    np.save("truth.npy", TRUTH)
    sparse.save_npz("truth.npz", sparse.csr_array(TRUTH))
    Path("truth.tsv").write_text("0 0\n1 1\n")
    return tmp_path


def evaluate(*argv):
    return main(["evaluate", *argv, "-m", "ndcg@2", "--json"])


def error(capsys, *argv):
    return rejected(capsys, *argv, "-m", "ndcg@2", "--json")


@pytest.mark.parametrize("truth", ["truth.npy", "truth.npz", "truth.tsv"])
def test_good_twins(truth, capsys):
    assert evaluate("scores.npy", truth, "--exclude", truth, "--candidates", truth) == 0
    assert capsys.readouterr().err == ""


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"), [("absent.npy", "No such file or directory"), ("folder", "Is a directory")]
)
def test_missing_files_and_folders(name, why, capsys):
    Path("folder").mkdir()
    assert error(capsys, name, "truth.npz") == f"cannot open SCORES {name!r}: {why}; {WANT_SCORES}"
    for label, argv in {
        "TRUTH": ["scores.npy", name],
        "--exclude": ["scores.npy", "truth.npz", "--exclude", name],
        "--candidates": ["scores.npy", "truth.npz", "--candidates", name],
    }.items():
        assert error(capsys, *argv) == f"cannot open {label} {name!r}: {why}; {WANT_MATRIX}"


def test_scores_from_a_device(capsys):
    np.savez("values.npz", mrr=[0.5])
    assert error(capsys, "values.npz", "truth.npz") == (
        "cannot read SCORES 'values.npz': it does not contain a sparse array or matrix; "
        f"{WANT_SCORES}"
    )
    assert error(capsys, os.devnull, "truth.npz") == (
        f"SCORES {os.devnull!r} is a pipe or a device; write it to a file first; {WANT_SCORES}"
    )


# --- truth, exclude, candidates ------------------------------------------------------------------


BAD_LINES = {
    "0": f"1 field; {WANT_FIELDS}",
    "0 0 1 978300760": f"4 fields; {WANT_FIELDS}",
    "user item": f"cannot read 'user' as user index; {WANT_LINE}; for ids of text, give tables "
    "with a header: recmetrics evaluate RECS TRUTH",
    "0 1.0": f"cannot read '1.0' as item index; {WANT_LINE}",
    "0,,1": f"cannot read '' as item index; {WANT_LINE}",
    "0 \u0661": f"cannot read '\u0661' as item index; {WANT_LINE}",
    "0 1 one": f"cannot read 'one' as relevance; {WANT_LINE}",
    "2 0": "user 2 is not in the scores; expected 0 to 1",
    "0 3": "item 3 is not in the scores; expected 0 to 2",
    "0 -1": "item -1 is not in the scores; expected 0 to 2",
    "0 1 -1": "relevance -1; expected a finite number >= 0",
    "0 1 nan": "relevance nan; expected a finite number >= 0",
    "0 0 1": "user 0, item 0 is already on line 2; give every pair once",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:20])
def test_bad_lines_of_text(line, capsys):
    Path("bad.tsv").write_text(f"# truth\n0 0\n{line}\n1 1\n", encoding="utf-8")
    assert error(capsys, "scores.npy", "bad.tsv") == f"TRUTH 'bad.tsv', line 3: {BAD_LINES[line]}"
    Path("bad.tsv").write_text("# truth\n0 0\n0 1 1\n1 1\n")
    assert evaluate("scores.npy", "bad.tsv") == 0


def test_text_that_is_not_utf8(capsys):
    Path("bad.tsv").write_bytes(b"0 0\n\xff\xfe 1\n")
    assert error(capsys, "scores.npy", "bad.tsv") == (
        rf"TRUTH 'bad.tsv', line 2: cannot read '\udcff\udcfe' as user index; {WANT_LINE}"
    )
    Path("bad.tsv").write_bytes(b"0 0 # \xff\xfe\n1 1\n")  # in a comment
    assert evaluate("scores.npy", "bad.tsv") == 0


def test_text_without_a_pair(capsys):
    Path("bad.tsv").write_text("# nothing\n")
    assert error(capsys, "scores.npy", "bad.tsv") == (
        f"cannot read TRUTH 'bad.tsv': it holds no line; {WANT_LINE}"
    )
    for text in ("# nothing\n", ""):
        Path("bad.tsv").write_text(text)
        assert evaluate("scores.npy", "truth.tsv", "--exclude", "bad.tsv") == 0


# --- output --------------------------------------------------------------------------------------


def test_a_folder_without_permission(capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert error(capsys, "scores.npy", "truth.npz", "--per-user", "users.csv") == (
        "--per-user 'users.csv': the folder '.' cannot be written; choose another"
    )


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_a_full_disk_leaves_the_older_file_and_no_other(suffix, capsys, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    out = Path(f"users.{suffix}")
    out.write_text("older")
    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", fail)
        message = error(capsys, "scores.npy", "truth.npz", "--per-user", str(out))
        assert message == f"cannot write '{out}': No space left on device; choose another file"
    assert out.read_text() == "older"
    out.chmod(0o600)
    assert evaluate("scores.npy", "truth.npz", "--per-user", str(out)) == 0
    assert out.read_bytes() != b"older"
    assert out.stat().st_mode & 0o777 == 0o600  # who may read it stays


def test_an_output_that_is_an_input_and_one_that_is_a_link(capsys):
    Path("hard.npz").hardlink_to("truth.npz")
    np.save("train.npy", TRUTH)
    Path("train.npy").rename("train.npz")
    for out in ("truth.npz", "hard.npz", "train.npz"):
        argv = ["scores.npy", "truth.npz", "--exclude", "train.npz", "--per-user", out]
        message = error(capsys, *argv)
        assert message == f"--per-user {out!r} is also an input; choose another name"
    Path("far").mkdir()
    Path("link.csv").symlink_to("far/there.csv")
    assert evaluate("scores.npy", "truth.npz", "--per-user", "link.csv") == 0
    assert Path("link.csv").is_symlink()
    assert Path("far/there.csv").read_text().startswith("user,ndcg@2\n")


def test_not_enough_memory_and_a_failing_disk(capsys, monkeypatch):
    def fail_with(error):
        def fail(*_args, **_options):
            raise error

        return fail

    for fault, told in (
        (MemoryError("Unable to allocate 9 TiB"), "not enough memory: Unable to allocate 9 TiB"),
        (OSError(5, "Input/output error"), "Input/output error"),
    ):
        monkeypatch.setattr(Metrics, "evaluate", fail_with(fault))
        assert error(capsys, "scores.npy", "truth.npz") == told
    monkeypatch.setattr(np, "load", fail_with(MemoryError("Unable to allocate 9 TiB")))
    message = error(capsys, "scores.npy", "truth.npz")
    assert message.startswith("cannot read SCORES 'scores.npy': Unable to allocate 9 TiB; ")
