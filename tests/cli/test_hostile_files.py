"""Damaged and other files for the command: each with its line, beside a good twin.

Missing files and bad lines of text are in ``test_cli_errors.py``, bad words in ``test_cli.py``.
"""

import gzip
import warnings
import zipfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from commands import refused, require_tables
from inside import write_per_user
from scipy import sparse

from recmetrics.cli import main

SCORES = np.array([[3, 2, 1], [1, 2, 3]], np.float32)
TRUTH = np.array([[1, 0, 0], [0, 1, 0]], float)
PER_USER = {"hit@2": np.array([0.0, 1.0, 1.0]), "mrr@2": np.array([0.0, 1.0, 0.5])}
WANT_PER_USER = "; expected the .npz or .csv that 'recmetrics evaluate --per-user' writes"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with good files, so that messages are the same everywhere."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    sparse.save_npz("truth.npz", sparse.csr_array(TRUTH))
    write_per_user(Path("old.npz"), PER_USER)
    Path("truth.csv").write_text("user,item\na,x\nb,y\n")


def npy(array, **options):
    file = BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def archive(**members):
    """An .npz of any content."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return file.getvalue()


CSR = {
    "format": npy(b"csr"),
    "shape": npy([2, 3]),
    "data": npy(np.ones(2)),
    "indices": npy(np.array([0, 1], np.int32)),
    "indptr": npy(np.array([0, 1, 2], np.int32)),
}


def csr(**members):
    """A saved sparse matrix, with members exchanged."""
    return archive(**CSR | members)


class Trap:
    """An object that leaves a trace where anybody unpickles it."""

    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


TRAP = npy(np.array([Trap(), Trap()], object), allow_pickle=True)


class Hostile(NamedTuple):
    """What the file holds, how the line begins that answers it, and what it should have held."""

    bad: bytes
    message: str
    good: bytes


def check_all(catalogue):
    return pytest.mark.parametrize("name", catalogue, ids=lambda name: name.replace("/", "-"))


def check(capsys, case, file, *argv):
    Path(file).write_bytes(case.bad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert refused(capsys, *argv).startswith(case.message)
    assert not Path("sprung").exists()
    Path(file).write_bytes(case.good)
    assert main(list(argv)) == 0
    assert capsys.readouterr().err == ""


NPY, NPZ = npy(SCORES), csr()
CANNOT = "cannot read SCORES 'bad.npy': "
NO_NUMBERS = "scores must hold real numbers "

BAD_SCORES = {
    "empty": Hostile(b"", "SCORES 'bad.npy' is empty; ", NPY),
    "no .npy": Hostile(b"1 2\n", "SCORES 'bad.npy' is not in NumPy's .npy or .npz format; ", NPY),
    "shorter than its header says": Hostile(NPY[:-1], CANNOT + "mmap length is greater", NPY),
    "a damaged header": Hostile(NPY.replace(b"'<f4'", rb"'<\d'"), CANNOT, NPY),
    "objects, which would be unpickled": Hostile(TRAP, CANNOT, NPY),
    "a pickle": Hostile(
        b"\x80\x04\x95", "SCORES 'bad.npy' is a Python pickle, which is never loaded; ", NPY
    ),
    "3-d": Hostile(npy(SCORES[:, :, None]), "scores must be 2-d ", NPY),
    "complex": Hostile(npy(SCORES * 1j), NO_NUMBERS, npy(SCORES.astype(">f4"))),
    "text": Hostile(npy(SCORES.astype(str)), NO_NUMBERS, npy(np.asfortranarray(SCORES))),
    "NaN": Hostile(
        npy(np.where(SCORES == 3, np.nan, SCORES)),
        "scores hold 2 NaN, the first at (user 0, item 0); expected numbers; give --nan exclude "
        "to treat NaN like a score of -inf (SCORES bad.npy)",
        npy(np.where(SCORES == 3, -np.inf, SCORES)),
    ),
    "half an archive": Hostile(NPZ[:200], CANNOT + "File is not a zip file", NPY),
    "packed": Hostile(b"\x1f\x8b\x08\x00", "SCORES 'bad.npy' is packed by gzip: unpack it", NPY),
}


@check_all(BAD_SCORES)
def test_scores(name, capsys):
    argv = ["evaluate", "bad.npy", "truth.npz", "-m", "hit@2", "--json"]
    check(capsys, BAD_SCORES[name], "bad.npy", *argv)


def test_a_header_of_which_python_warns_is_told_in_one_line(capsys):
    """NumPy reads a header as Python, which warns of 3if before it refuses the rest."""
    Path("bad.npy").write_bytes(NPY.replace(b"'<f4'", b"3if 3"))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert refused(capsys, "evaluate", "bad.npy", "truth.npz").startswith(CANNOT)


BAD_SPARSE = {
    "cut": (NPZ[:-30], "File is not a zip file"),
    "no indices": (archive(**{n: c for n, c in CSR.items() if n != "indices"}), ""),
    "objects, which would be unpickled": (csr(data=TRAP), "Object arrays cannot be loaded"),
    "indices outside the matrix": (csr(indices=npy([0, 10**18])), ""),
    "indices that point beyond the data": (csr(indptr=npy(np.array([0, 1, 9], np.int32))), ""),
}


@check_all(BAD_SPARSE)
def test_sparse_truth(name, capsys):
    """A corrupt structure never ends the process: SciPy checks it whole."""
    bad, why = BAD_SPARSE[name]
    case = Hostile(bad, f"cannot read TRUTH 'bad.npz': {why}", NPZ)
    check(capsys, case, "bad.npz", "evaluate", "scores.npy", "bad.npz", "-m", "hit@2", "--json")


def test_values_of_a_sparse_truth_that_are_no_numbers(capsys):
    case = Hostile(csr(data=npy([1j, 2])), "truth must hold real numbers", NPZ)
    check(capsys, case, "bad.npz", "evaluate", "scores.npy", "bad.npz", "-m", "hit@2", "--json")


PAIRS = b"0 0\n1 1\n"

BAD_TEXT = {
    "Latin-1": Hostile("0 0\n1 \xe9\n".encode("latin-1"), "TRUTH 'bad.tsv', line 2: ", PAIRS),
    "NUL": Hostile(b"0 0\n1 \x001\n", "TRUTH 'bad.tsv', line 2: ", b"0 0\r1 1\r"),
    "UTF-16": Hostile("0 0\n".encode("utf-16"), "TRUTH 'bad.tsv' is UTF-16 text: save it", PAIRS),
    "Parquet": Hostile(b"PAR1", "TRUTH 'bad.tsv' is a Parquet table; ", PAIRS),
}


@check_all(BAD_TEXT)
def test_text_truth(name, capsys):
    argv = ["evaluate", "scores.npy", "bad.tsv", "-m", "hit@2", "--json"]
    check(capsys, BAD_TEXT[name], "bad.tsv", *argv)


RECS = b"user,item,score\na,x,3\na,y,2\nb,x,1\n"

BAD_TABLES = {
    "empty": Hostile(b"", "RECS 'bad.csv' is empty; ", RECS),
    "no row": Hostile(b"user,item\n", "RECS 'bad.csv' has no rows; ", b"user,item\n\na,x\n"),
    "a missing cell": Hostile(
        b"user,item\na,x\na,\n", "RECS 'bad.csv', line 3: has no item; ", RECS
    ),
    # csv counts no lines behind a cell of so many characters, which polars reads.
    "a row behind a long cell": Hostile(
        b"user,item,note\na,x," + b"y" * 140_000 + b"\na,,z\n",
        "RECS 'bad.csv', row 1 (counted from 0) has no item; ",
        RECS,
    ),
    "no header": Hostile(b"a,x\n", "RECS 'bad.csv' has no columns 'user' and 'item'; ", RECS),
    "a column twice": Hostile(
        b"user,item,user\n",
        "RECS 'bad.csv' has the column 'user' twice; expected every name ",
        RECS,
    ),
    "a quote that is not closed": Hostile(
        b'user,item\n"a,x\n',
        "RECS 'bad.csv', line 2: holds '\"a,x', with a quote that encloses no cell",
        RECS,
    ),
    "a long row": Hostile(
        b"user,item\n\na,x,1\n",
        "RECS 'bad.csv', line 3: 3 fields; expected 2, as in the header",
        RECS,
    ),
    "Latin-1": Hostile(
        "user,item\na,\xe9\n".encode("latin-1"),
        "RECS 'bad.csv': byte 0xe9 is not text; save it as UTF-8",
        "\ufeffuser,item\r\na,\xe9\r\na,x\r\n".encode(),
    ),
    "a number as Python writes it": Hostile(
        b"user,item,score\na,x,1_0\n",
        "RECS 'bad.csv', line 2: holds '1_0' as score; expected a number",
        b"user,item,score\na,x, 1e1\n",
    ),
    "NaN as a score": Hostile(
        b"user,item,score\na,x,nan\na,y,1\n",
        "recs, column 'score': row 0 (counted from 0) is null or NaN, ",
        RECS,
    ),
    "a matrix": Hostile(NPZ, "RECS 'bad.csv' is an .npz or another zip archive; ", RECS),
}


@check_all(BAD_TABLES)
def test_tables_of_recommendations(name, capsys):
    require_tables()
    argv = ["evaluate", "bad.csv", "truth.csv", "-m", "hit@2", "--json"]
    check(capsys, BAD_TABLES[name], "bad.csv", *argv)


BAD_PACKED = {
    "cut": Hostile(gzip.compress(RECS)[:-9], "cannot ", gzip.compress(RECS)),
    "no gzip": Hostile(b"\x1f\x8b\x08\x00", "cannot open RECS 'bad.csv.gz': ", RECS),
    "a matrix": Hostile(gzip.compress(NPY), "RECS 'bad.csv.gz' is an .npy array; ", RECS),
}


@check_all(BAD_PACKED)
def test_packed_tables(name, capsys):
    require_tables()
    argv = ["evaluate", "bad.csv.gz", "truth.csv", "-m", "hit@2", "--json"]
    check(capsys, BAD_PACKED[name], "bad.csv.gz", *argv)


RUN = b"a Q0 x 1 3 tag\na Q0 y 2 2 tag\n"

BAD_RUNS = {
    "a line that is cut": Hostile(
        RUN + b"b Q0 x 1 1\n",
        "RECS 'bad.run', line 3: 5 fields; expected the 6 of a TREC run: 'query Q0 item rank score "
        "tag'",
        RUN + b"b Q0 x 1 1 tag\n",
    ),
    "a score of text": Hostile(
        b"# by BM25\n" + RUN + b"\nb Q0 x 1 high tag\n",
        "RECS 'bad.run', line 5: holds 'high' as score; expected a number",
        b"# by BM25\n" + RUN + b"\nb\tQ0\tx 1  1e0 tag\r\n",
    ),
    "Latin-1": Hostile(
        RUN + "b Q0 \xe9 1 1 tag\n".encode("latin-1"),
        "RECS 'bad.run': byte 0xe9 is not text; save it as UTF-8",
        RUN,
    ),
}


@check_all(BAD_RUNS)
def test_runs(name, capsys):
    require_tables()
    argv = ["evaluate", "bad.run", "truth.csv", "-m", "hit@2", "--json"]
    check(capsys, BAD_RUNS[name], "bad.run", *argv)


def test_parquet_that_is_cut_and_columns_that_are_no_ids(capsys):
    require_tables()
    import polars as pl

    pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"]}).write_parquet("recs.parquet")
    good = Path("recs.parquet").read_bytes()
    argv = ["evaluate", "bad.parquet", "truth.csv", "-m", "hit@2", "--json"]
    for n_bytes in (0, 4, 50, -20):
        case = Hostile(good[:n_bytes], "cannot read RECS 'bad.parquet': ", good)
        check(capsys, case, "bad.parquet", *argv)
    for users, dtype in (
        ([1.0, None], "Float64"),  # what pandas makes of integers when one is missing
        ([b"a", b"b"], "Binary"),
        ([["a"], ["b"]], "List(String)"),
    ):
        pl.DataFrame({"user": users, "item": ["x", "y"]}).write_parquet("bad.parquet")
        assert refused(capsys, *argv).startswith(
            f"RECS 'bad.parquet', column 'user' holds {dtype}; expected text or integers as ids"
        )


# --- Values of each user, and segments -----------------------------------------------------------

VALUES = {name: npy(values) for name, values in PER_USER.items()}
GOOD_USERS = archive(**VALUES)
CSV = b"user,hit@2,mrr@2\n0,0,0\n1,1,1\n2,1,0.5\n"

BAD_PER_USER = {
    "no member": (archive(), "it holds no metric"),
    "cut": (GOOD_USERS[:-9], "File is not a zip file"),
    "a sparse matrix": (NPZ, "metric 'format' is of |S3; expected real numbers"),
    "objects, which would be unpickled": (archive(**VALUES | {"hit@2": TRAP}), "Object arrays"),
    "complex": (archive(**VALUES | {"hit@2": npy([1j, 1, 1])}), "metric 'hit@2' is of complex128"),
    "a matrix": (
        archive(**VALUES | {"hit@2": npy(np.ones((3, 2)))}),
        "metric 'hit@2' has shape (3, 2); expected (n_users,)",
    ),
    "users of another number": (
        archive(user=npy(["a", "b"]), **VALUES),
        "metric 'hit@2' has shape (3,); expected (2,), as for 'user'",
    ),
    "a user twice": (archive(user=npy(["a", "b", "a"]), **VALUES), "its 'user' names a user twice"),
    "users that are floats": (
        archive(user=npy([1.0, 2, 3]), **VALUES),
        "its 'user' has dtype float64 and shape (3,); expected ids",
    ),
}


@check_all(BAD_PER_USER)
def test_per_user_npz(name, capsys):
    bad, why = BAD_PER_USER[name]
    case = Hostile(bad, f"cannot read FILE 'bad.npz': {why}", GOOD_USERS)
    check(capsys, case, "bad.npz", "compare", "old.npz", "bad.npz")


BAD_PER_USER_CSV = {
    "empty": (b"", " is empty" + WANT_PER_USER),
    "no metric": (
        b"user\n0\n1\n2\n",
        ", line 1: the header is 'user'; expected 'user' or 'group', then metrics of different ",
    ),
    "a column twice": (b"user,m,m\n0,1,1\n", ", line 1: the header is 'user,m,m'; expected 'user'"),
    "other separators": (CSV.replace(b",", b"/"), ", line 1: the header is 'user/hit@2/mrr@2'; ex"),
    "a user twice": (
        CSV.replace(b"2,1", b"0,1"),
        ", line 4: user '0' is already on line 2; expected every user once",
    ),
    "a gap in the rows": (
        CSV.replace(b"1,1,1", b"1,1"),
        ", line 3: 2 fields; expected 3, as in the header",
    ),
    "a number as Python writes it": (
        CSV.replace(b"0.5", b"0_5"),
        ", line 4: cannot read '0_5' as mrr@2; expected a number",
    ),
    "Latin-1": (CSV.replace(b"2,1", b"\xe9,1"), ": byte 0xe9 is not text; save it as UTF-8"),
    "a quote without a second one": (
        CSV + b'"' + b"3,1,1\n" * 30_000,
        ": a cell has more than 131072 characters; a quote before it may have no second one; expe",
    ),
}


@check_all(BAD_PER_USER_CSV)
def test_per_user_csv(name, capsys):
    bad, why = BAD_PER_USER_CSV[name]
    verb = "cannot read " if "a cell has" in why else ""
    case = Hostile(bad, f"{verb}FILE 'bad.csv'{why}", CSV.replace(b"\n", b"\r\n"))
    check(capsys, case, "bad.csv", "compare", "old.npz", "bad.csv")


GOOD_GROUPS = {
    "npy": npy(["x", "y", "x"]),
    "csv": b"user,group\n0,x\n1,y\n2,x\n",
    "txt": b"x\ny\nx\n",
}

BAD_GROUPS = {
    "npy of objects": ("npy", TRAP, "cannot read --by 'bad.npy': "),
    "npy of two columns": (
        "npy",
        npy(np.ones((3, 2), int)),
        "--by 'bad.npy' has dtype int64 and shape (3, 2); expected a label per user",
    ),
    "npy that is cut": ("npy", GOOD_GROUPS["npy"][:-1], "cannot read --by 'bad.npy': "),
    "npy of no characters": ("npy", npy(["x"])[:-4] + b"\xff" * 4, "cannot read --by 'bad.npy': "),
    "npy with NaN": (
        "npy",
        npy([1.0, np.nan, 2.0]),
        "by must name the group of every user; that of user 1 is undefined; give such "
        "users a label of their own, such as 'unknown'",
    ),
    "a matrix": ("csv", NPZ, "--by 'bad.csv' is an .npz or another zip archive; "),
    "empty": ("txt", b"", "--by 'bad.txt' is empty; "),
    "text with a gap": (
        "txt",
        b"x\n\nx\n",
        "--by 'bad.txt', line 2: no group; expected a label for every user",
    ),
    "text for fewer users": (
        "txt",
        b"x\ny\n",
        "by must hold one group per user, shape (3,), got shape (2,) (--by bad.txt)",
    ),
    "text in Latin-1": ("txt", b"x\n\xe9\nx\n", "--by 'bad.txt': byte 0xe9 is not text; save it"),
    "csv without users": (
        "csv",
        b"group\nx\ny\nx\n",
        "--by 'bad.csv', line 1: the header is 'group'; expected 'user' and a name for the groups",
    ),
    "csv with a user twice": (
        "csv",
        b"user,group\n0,x\n1,y\n0,x\n",
        "--by 'bad.csv', line 4: user '0' is already on line 2; expected every user once",
    ),
    "csv with a gap": (
        "csv",
        b"user,group\n0,x\n1,\n2,x\n",
        "--by 'bad.csv', line 3: no group; expected a label for every user",
    ),
    "csv of other users": (
        "csv",
        b"user,group\n0,x\n2,y\n3,x\n",
        "--by 'bad.csv' has no row for 1 of the 3 users of FILE 'old.csv', the first '1'; expected "
        "a row for each",
    ),
}


@check_all(BAD_GROUPS)
def test_groups(name, capsys):
    suffix, bad, message = BAD_GROUPS[name]
    write_per_user(Path("old.csv"), PER_USER)
    argv = ["compare", "old.csv", "old.npz", "--by", f"bad.{suffix}"]
    check(capsys, Hostile(bad, message, GOOD_GROUPS[suffix]), f"bad.{suffix}", *argv)
