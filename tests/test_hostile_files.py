"""A catalogue of hostile files for the command: each with its exact line, beside a good twin.

What a shell user meets first (missing files, bad arguments, bad lines of text) is in
``test_cli_errors.py``; here is what is damaged, lies about itself or changes under the hand.
"""

import copy
import importlib.util
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

import recmetrics
from recmetrics.cli import _score_files, main
from recmetrics.cli._output import write_per_user

pytest.importorskip("rich", reason="rich is not installed")

SCORES = np.array([[3, 2, 1], [1, 2, 3]], np.float32)
TRUTH = np.array([[1, 0, 0], [0, 1, 0]], float)
PER_USER = {"hit@2": np.array([0.0, 1.0, 1.0]), "mrr@2": np.array([0.0, 1.0, 0.5])}
WANT_SCORES = "; expected a dense .npy (numpy.save) or a sparse .npz (scipy.sparse.save_npz)"
WANT_MATRIX = (
    "; expected a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]'"
)
WANT_LINE = (
    "; expected 'user item' or 'user item relevance' with 0-based indices; "
    "put # before a header or a comment"
)
WANT_PER_USER = "; expected the .npz or .csv that 'recmetrics evaluate --per-user' writes"
WANT_TABLE = "; expected a table .csv, .tsv or .parquet with a header and the columns user and item"
UNREAL = "not of real numbers (float16, float32, float64, int, bool)"
CUT = "it was cut, or is still being written"
NO_TEXT = "is not text; save the file as UTF-8"
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with good files, so that messages are the same everywhere."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    sparse.save_npz("truth.npz", sparse.csr_array(TRUTH))
    write_per_user(Path("old.npz"), PER_USER)
    Path("recs.csv").write_text("user,item,score\na,x,3\na,y,2\nb,x,1\n")
    Path("truth.csv").write_text("user,item\na,x\nb,y\n")
    return tmp_path


# --- Files that are made by hand -----------------------------------------------------------------


def npy(array, **options):
    file = BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def damaged(labels, point, byteorder="<"):
    """The labels with a number that is no character in the last of them."""
    text = np.array(labels).astype(f"{byteorder}U2")
    text.reshape(-1).view(f"{byteorder}u4")[-2] = point
    return npy(text)


def claim(shape, descr="<f4", data=b""):
    """An .npy whose header says more than follows."""
    file = BytesIO()
    head = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, head)
    return file.getvalue() + data


def archive(*, more=(), method=zipfile.ZIP_STORED, **members):
    """An .npz of any content; ``more`` are members whose names may repeat."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", method) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that repeat
        for name, content in (*members.items(), *more):
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


def of_format(indices):
    """What SciPy says of such indices; its words differ by version."""
    matrix = sparse.csr_array(TRUTH)
    matrix.indices = np.array(indices)
    with pytest.raises(ValueError, match="must be") as caught:
        matrix.check_format()
    return str(caught.value)


def without(*names):
    return archive(**{name: content for name, content in CSR.items() if name not in names})


def patched(content, signature, offset, value):
    """Another byte at ``offset`` of every record of a zip archive with this signature."""
    changed, at = bytearray(content), content.find(signature)
    while at >= 0:
        changed[at + offset] = value
        at = content.find(signature, at + 1)
    return bytes(changed)


def bomb(n_blocks, block=1 << 24):
    """A valid sparse matrix with ``n_blocks`` times 16 MiB of zeros, packed a thousand times."""
    n_bytes = n_blocks * block
    head = claim((n_bytes // 8,), "<f8")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush the same bytes mean the same again: as often as one likes.
    once = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed += once * n_blocks + packer.flush(zlib.Z_FINISH)
    names = {name: content for name, content in CSR.items() if name != "data"}
    good = archive(**names)
    directory = good.index(b"PK\x01\x02")
    sizes = struct.pack("<HHHIII", 8, 0, 0, 0, len(packed), n_bytes + len(head))
    name = b"data.npy"
    local = b"PK\x03\x04" + struct.pack("<HH", 20, 0) + sizes + struct.pack("<HH", len(name), 0)
    entry = b"PK\x01\x02" + struct.pack("<HHH", 20, 20, 0) + sizes
    entry += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, directory)
    front = good[:directory] + local + name + packed
    central = good[directory : good.index(b"PK\x05\x06")] + entry + name
    counts = struct.pack("<HHHHIIH", 0, 0, 5, 5, len(central), len(front), 0)
    return front + central + b"PK\x05\x06" + counts


class Trap:
    """What leaves a trace where anybody unpickles it."""

    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


TRAP = npy(np.array([Trap(), Trap()], object), allow_pickle=True)


# --- One line, exit code 2, and nothing else -----------------------------------------------------


class Hostile(NamedTuple):
    """What the file holds, the line that answers it, and what it should have held."""

    bad: bytes
    message: str
    good: bytes


def check_all(catalogue):
    return pytest.mark.parametrize("name", catalogue, ids=lambda name: name.replace("/", "-"))


def refused(capsys, *argv):
    """The one line of the error; nothing else may have happened."""
    before = {path: path.lstat().st_mtime_ns for path in Path().iterdir()}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert main(list(argv)) == 2
    assert seen == []
    assert {path: path.lstat().st_mtime_ns for path in Path().iterdir()} == before
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("recmetrics: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("recmetrics: error: ").removesuffix("\n")


def passes(capsys, *argv):
    assert main(list(argv)) == 0
    assert capsys.readouterr().err == ""


def check(capsys, case, file, *argv):
    Path(file).write_bytes(case.bad)
    assert refused(capsys, *argv) == case.message
    assert not Path("sprung").exists()
    Path(file).write_bytes(case.good)
    passes(capsys, *argv)


NPY = npy(SCORES)

BAD_SCORES = {
    "empty": Hostile(b"", f"SCORES 'bad.npy' is empty{WANT_SCORES}", NPY),
    "wrong magic": Hostile(
        b"\x92" + NPY[1:],
        f"SCORES 'bad.npy' is not in NumPy's .npy or .npz format{WANT_SCORES}",
        NPY,
    ),
    "a magic and no more": Hostile(
        NPY[:6], f"cannot read SCORES 'bad.npy': its header is damaged{WANT_SCORES}", NPY
    ),
    "a version that nobody wrote": Hostile(
        NPY[:6] + b"\x09\x00" + NPY[8:],
        f"cannot read SCORES 'bad.npy': its version is (9, 0){WANT_SCORES}",
        NPY,
    ),
    "shorter than its header says": Hostile(
        NPY[:-1],
        "cannot read SCORES 'bad.npy': its header says shape (2, 3) of float32, 24 bytes, but "
        f"only 23 bytes follow; {CUT}{WANT_SCORES}",
        NPY,
    ),
    "a shape beyond all disks": Hostile(
        claim((10**12, 10**6)),
        "cannot read SCORES 'bad.npy': its header says shape (1000000000000, 1000000) of "
        f"float32, 3.5 EiB, but only 0 bytes follow; {CUT}{WANT_SCORES}",
        claim((2, 3), data=SCORES.tobytes()),
    ),
    "a shape whose product overflows": Hostile(
        claim((2**40, 2**40)),
        "cannot read SCORES 'bad.npy': its header says shape (1099511627776, 1099511627776) of "
        f"float32, 4,194,304.0 EiB, but only 0 bytes follow; {CUT}{WANT_SCORES}",
        NPY,
    ),
    "a negative shape": Hostile(
        claim((-2, -3), data=bytes(24)),
        f"cannot read SCORES 'bad.npy': its header says shape (-2, -3){WANT_SCORES}",
        NPY,
    ),
    "a header of which Python or NumPy warns": Hostile(
        NPY.replace(b"'<f4'", rb"'<\d'"),
        "cannot read SCORES 'bad.npy': descr is not a valid dtype descriptor: '<\\\\d'"
        + WANT_SCORES,
        NPY.replace(b"(2, 3)", b"(2L,3)"),  # as Python 2 wrote it
    ),
    "objects, which would be unpickled": Hostile(
        TRAP,
        "cannot read SCORES 'bad.npy': it holds pickled Python objects, which are never loaded"
        + WANT_SCORES,
        NPY,
    ),
    "a pickle": Hostile(
        b"\x80\x04\x95",
        f"SCORES 'bad.npy' is a Python pickle, which is never loaded{WANT_SCORES}",
        NPY,
    ),
    "0-d": Hostile(
        npy(np.float32(1)),
        "SCORES 'bad.npy' has shape (); expected two dimensions, (n_users, n_items)",
        NPY,
    ),
    "3-d": Hostile(
        npy(SCORES[:, :, None]),
        "SCORES 'bad.npy' has shape (2, 3, 1); expected two dimensions, (n_users, n_items)",
        NPY,
    ),
    "complex": Hostile(
        npy(SCORES * 1j),
        f"cannot read SCORES 'bad.npy': its dtype is complex64, {UNREAL}{WANT_SCORES}",
        npy(SCORES.astype(">f4")),
    ),
    "text": Hostile(
        npy(SCORES.astype(str)),
        f"cannot read SCORES 'bad.npy': its dtype is <U32, {UNREAL}{WANT_SCORES}",
        npy(np.asfortranarray(SCORES)),
    ),
    "structured": Hostile(
        npy(np.zeros((2, 3), [("score", "<f4")])),
        f"cannot read SCORES 'bad.npy': its dtype is [('score', '<f4')], {UNREAL}{WANT_SCORES}",
        npy(SCORES.astype(np.float16)),
    ),
    "NaN": Hostile(
        npy(np.where(SCORES == 3, np.nan, SCORES)),
        "SCORES 'bad.npy' holds 2 NaN, the first at (user 0, item 0); expected numbers; "
        "give --nan exclude to treat NaN like a score of -inf",
        npy(np.where(SCORES == 3, -np.inf, SCORES)),
    ),
    "the truth, exchanged with the scores": Hostile(
        csr(),
        "all 2 stored scores are 1, so the items of a user tie; are scores and truth exchanged? "
        "expected scores first, then the truth",
        NPY,
    ),
    "half an archive": Hostile(
        csr()[:200],
        f"cannot read SCORES 'bad.npy': File is not a zip file{WANT_SCORES}",
        csr(data=npy(np.array([1.0, 2.0]))),
    ),
    "packed": Hostile(
        b"\x1f\x8b\x08\x00",
        f"SCORES 'bad.npy' is packed by gzip: unpack it first{WANT_SCORES}",
        NPY,
    ),
}


@check_all(BAD_SCORES)
def test_scores(name, capsys):
    argv = ["evaluate", "bad.npy", "truth.npz", "-m", "hit@2", "--json"]
    check(capsys, BAD_SCORES[name], "bad.npy", *argv)


NPZ = csr()
NOT_LOADED = "it holds pickled Python objects, which are never loaded"

BAD_SPARSE = {
    "cut": Hostile(NPZ[:-30], "File is not a zip file", NPZ),
    "two letters": Hostile(b"PK", "File is not a zip file", NPZ),
    "no member": Hostile(archive(), "it holds nothing and no sparse matrix", NPZ),
    "no data": Hostile(
        without("data", "indices"), "it holds 'format', 'shape', 'indptr' and no sparse matrix", NPZ
    ),
    "no indices": Hostile(without("indices"), "'indices is not a file in the archive'", NPZ),
    "a damaged member": Hostile(
        NPZ.replace(npy(np.ones(2)), npy(np.array([1.0, 2.0]))),
        "Bad CRC-32 for file 'data.npy'",
        NPZ,
    ),
    "a member that is none": Hostile(
        archive(**CSR).replace(b"data.npy", b"data.txt"),
        "its member 'data.txt' is not an .npy",
        NPZ,
    ),
    "a member twice": Hostile(
        archive(**CSR, more=[("data", npy(np.zeros(2)))]), "it has the member 'data.npy' twice", NPZ
    ),
    "a secret": Hostile(
        patched(NPZ, b"PK\x01\x02", 8, 1),
        "its member 'format.npy' is encrypted, or compressed in a way that NumPy does not use",
        NPZ,
    ),
    "packed in another way": Hostile(
        archive(**CSR, method=zipfile.ZIP_LZMA),
        "its member 'format.npy' is encrypted, or compressed in a way that NumPy does not use",
        archive(**CSR, method=zipfile.ZIP_DEFLATED),
    ),
    "a header that claims 1 TiB": Hostile(
        csr(data=claim((2**37,), "<f8")),
        "member 'data.npy': its header says shape (137438953472,) of float64, 1.0 TiB, but only "
        f"0 bytes follow; {CUT}",
        NPZ,
    ),
    "a directory that claims 3 GiB": Hostile(
        # The fourth byte of the unpacked size, of the first member alone.
        patched(NPZ[: NPZ.index(b"PK\x01\x02") + 4], b"PK\x01\x02", 0, 80)
        + patched(b"PK\x01\x02" + NPZ[NPZ.index(b"PK\x01\x02") + 4 :], b"PK\x01\x02", 27, 0xC0)[4:],
        "its member 'format.npy' claims to unpack to 3.0 GiB, which is impossible for 131 bytes",
        NPZ,
    ),
    "more than a matrix can hold": Hostile(
        csr(data=npy(np.ones(100)), indices=npy(np.zeros(100, int))),
        "its 'data' has 100 entries, too many for shape (2, 3)",
        NPZ,
    ),
    "objects, which would be unpickled": Hostile(
        csr(data=TRAP), f"member 'data.npy': {NOT_LOADED}", NPZ
    ),
    "a format of objects": Hostile(csr(format=TRAP), f"member 'format.npy': {NOT_LOADED}", NPZ),
    "a format that is damaged": Hostile(
        csr(format=damaged("csr", 0x7FFFFFFF)),
        "its 'format' is damaged: entry 0 (counted from 0) holds 0x7fffffff, which is not a "
        "character",
        csr(format=npy("csr")),
    ),
    "a format that is none": Hostile(csr(format=npy(b"zzz")), 'Unknown format "zzz_matrix"', NPZ),
    "complex": Hostile(csr(data=npy([1j, 2])), f"its dtype is complex128, {UNREAL}", NPZ),
    "text": Hostile(csr(data=npy(["a", "b"])), f"its dtype is <U1, {UNREAL}", NPZ),
    "indices that are floats": Hostile(
        csr(indices=npy([0.0, np.nan])), "its 'indices' is of float64; expected integers", NPZ
    ),
    "indices outside the matrix": Hostile(
        csr(indices=npy([0, 10**18])), of_format([0, 10**18]), csr(indices=npy([0, 2]))
    ),
    "negative indices": Hostile(
        csr(indices=npy([0, -1])), of_format([0, -1]), csr(indices=npy([0, 2]))
    ),
    "fewer values than indices": Hostile(
        csr(data=npy([1.0])), "indices and data should have the same size", NPZ
    ),
    "a shape of floats": Hostile(
        csr(shape=npy([2.0, 3.0])), "its 'shape' is of float64; expected integers", NPZ
    ),
    "a shape of many": Hostile(
        csr(shape=npy(np.arange(9))), "its 'shape' has 9 entries; expected two", NPZ
    ),
}


@check_all(BAD_SPARSE)
def test_sparse_truth(name, capsys):
    case = BAD_SPARSE[name]
    message = f"cannot read TRUTH 'bad.npz': {case.message}{WANT_MATRIX}"
    argv = ["evaluate", "scores.npy", "bad.npz", "-m", "hit@2", "--json"]
    check(capsys, case._replace(message=message), "bad.npz", *argv)


PAIRS = b"0 0\n1 1\n"

BAD_TEXT = {
    "no line": Hostile(b"", f"cannot read TRUTH 'bad.tsv': it holds no line{WANT_LINE}", b"0 0\n"),
    "a gap": Hostile(b"0 0\n1\n", f"TRUTH 'bad.tsv', line 2: 1 field{WANT_LINE}", PAIRS),
    "an index of 10**18": Hostile(
        b"0 0\n1 1000000000000000000\n",
        "TRUTH 'bad.tsv', line 2: item 1000000000000000000 is not in the scores; expected 0 to 2",
        b"0 0\n1 2\n",
    ),
    "an index of 10**30": Hostile(
        b"0 0\n%d 1\n" % 10**30,
        "TRUTH 'bad.tsv', line 2: user 1000000000000000000000000000000 is not in the scores; "
        "expected 0 to 1",
        PAIRS,
    ),
    "a negative index": Hostile(
        b"-1 0\n", "TRUTH 'bad.tsv', line 1: user -1 is not in the scores; expected 0 to 1", PAIRS
    ),
    "an index that is a float": Hostile(
        b"0 0\n1 1.0\n", f"TRUTH 'bad.tsv', line 2: cannot read '1.0' as item{WANT_LINE}", PAIRS
    ),
    "an index that is NaN": Hostile(
        b"0 0\nnan 1\n", f"TRUTH 'bad.tsv', line 2: cannot read 'nan' as user{WANT_LINE}", PAIRS
    ),
    "a relevance as Python writes it": Hostile(
        b"0 0 1_0\n",
        f"TRUTH 'bad.tsv', line 1: cannot read '1_0' as relevance{WANT_LINE}",
        b"0 0 10\n",
    ),
    "Latin-1": Hostile(
        "0 0\n1 \xe9\n".encode("latin-1"),
        f"TRUTH 'bad.tsv', line 2: byte 0xe9 {NO_TEXT}",
        "0 0 # \xe9\n".encode("latin-1"),
    ),
    "UTF-16": Hostile(
        "0 0\n".encode("utf-16"),
        f"TRUTH 'bad.tsv' is UTF-16 text: save it as UTF-8{WANT_MATRIX}",
        "\ufeff0 0\r\n1 1\r\n".encode(),
    ),
    "NUL": Hostile(
        b"0 0\n1 \x001\n", f"TRUTH 'bad.tsv', line 2: byte 0x00 {NO_TEXT}", b"0 0\r1 1\r"
    ),
    "a line without end": Hostile(
        b"0 0\n" + b"1" * (1 << 20),
        "TRUTH 'bad.tsv', line 2: it is longer than 1,048,576 characters",
        b"0 0 #" + b"1" * 1_000_000,
    ),
    "packed": Hostile(
        b"\x1f\x8b\x08\x00",
        f"TRUTH 'bad.tsv' is packed by gzip: unpack it first{WANT_MATRIX}",
        PAIRS,
    ),
    "Parquet": Hostile(b"PAR1", f"TRUTH 'bad.tsv' is a Parquet table{WANT_MATRIX}", PAIRS),
}


@check_all(BAD_TEXT)
def test_text_truth(name, capsys):
    argv = ["evaluate", "scores.npy", "bad.tsv", "-m", "hit@2", "--json"]
    check(capsys, BAD_TEXT[name], "bad.tsv", *argv)


RECS = b"user,item,score\na,x,3\na,y,2\nb,x,1\n"

BAD_TABLES = {
    "empty": Hostile(b"", f"RECS 'bad.csv' is empty{WANT_TABLE}", RECS),
    "no row": Hostile(b"user,item\n", f"RECS 'bad.csv' has no rows{WANT_TABLE}", RECS),
    "a missing cell": Hostile(
        b"user,item\na,\n", "RECS 'bad.csv', line 2: no item; expected an id in every row", RECS
    ),
    "a ragged row": Hostile(
        b"user,item\n\na,x\na\n",
        "RECS 'bad.csv', line 4: 1 fields; expected 2, as in the header",
        b"user,item\n\na,x\n",
    ),
    "a quote that stays open": Hostile(
        b'user,item\n"a,x\nb,x\n',
        "RECS 'bad.csv', line 2: unexpected end of data",
        b'user,item\n"a\n",x\nb,x\n',
    ),
    "Latin-1": Hostile(
        "user,item\na,\xe9\n".encode("latin-1"),
        f"RECS 'bad.csv', line 2: byte 0xe9 {NO_TEXT}",
        "\ufeffuser,item\r\na,\xe9\r\na,x\r\n".encode(),
    ),
    "NUL": Hostile(b"user,item\na,\0\n", f"RECS 'bad.csv', line 2: byte 0x00 {NO_TEXT}", RECS),
    "a number as Python writes it": Hostile(
        b"user,item,score\na,x,1_0\n",
        "RECS 'bad.csv', line 2: cannot read '1_0' as score; expected a number",
        b"user,item,score\na,x,1e1\n",
    ),
    "NaN as a score": Hostile(
        b"user,item,score\na,x,nan\na,y,1\n",
        "RECS 'bad.csv', column 'score': row 0 (counted from 0) is null or NaN, expected a number "
        "in every row",
        RECS,
    ),
    "a matrix": Hostile(NPZ, f"RECS 'bad.csv' is an .npz or another zip archive{WANT_TABLE}", RECS),
    "a line without end": Hostile(
        b"user,item\n" + bytes(1 << 20),
        "RECS 'bad.csv', line 2: it is longer than 1,048,576 characters",
        RECS,
    ),
}


@check_all(BAD_TABLES)
def test_tables_of_recommendations(name, capsys):
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    argv = ["evaluate", "bad.csv", "truth.csv", "-m", "hit@2", "--json"]
    check(capsys, BAD_TABLES[name], "bad.csv", *argv)


def frames():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pl.read_csv("recs.csv").write_parquet("recs.parquet")
    return pl


@pytest.mark.parametrize("n_bytes", [0, 4, 50, -20])
def test_parquet_that_is_cut(n_bytes, capsys):
    frames()
    good = Path("recs.parquet").read_bytes()
    Path("bad.parquet").write_bytes(good[:n_bytes])
    argv = ["evaluate", "bad.parquet", "truth.csv", "-m", "hit@2", "--json"]
    message = refused(capsys, *argv)
    assert message.startswith("cannot read RECS 'bad.parquet': ")
    assert message.endswith(WANT_TABLE)
    Path("bad.parquet").write_bytes(good)
    passes(capsys, *argv)


def test_parquet_with_bytes_exchanged_is_one_line_at_most(capfd):
    frames()
    good = Path("recs.parquet").read_bytes()
    rng = np.random.default_rng(1)
    ended = set()
    for _ in range(60):
        bad = bytearray(good)
        for at in rng.integers(4, len(good), 3):
            bad[at] = rng.integers(256)
        Path("bad.parquet").write_bytes(bad)
        ended.add(main(["evaluate", "bad.parquet", "truth.csv", "-m", "hit@2", "--json"]))
        assert capfd.readouterr().err.count("\n") <= 1  # a panic of the library would say more
    assert ended == {0, 2}


def test_columns_of_parquet_that_are_no_ids(capsys):
    pl = frames()
    for users, dtype in (
        ([1.0, None], "Float64"),  # what pandas makes of integers when one is missing
        ([b"a", b"b"], "Binary"),
        ([["a"], ["b"]], "List(String)"),
    ):
        pl.DataFrame({"user": users, "item": ["x", "y"]}).write_parquet("bad.parquet")
        argv = ["evaluate", "bad.parquet", "truth.csv", "-m", "hit@2", "--json"]
        assert refused(capsys, *argv) == (
            f"cannot read RECS 'bad.parquet': its column 'user' holds {dtype}; expected text or "
            f"integers{WANT_TABLE}"
        )
    passes(capsys, "evaluate", "recs.parquet", "truth.csv", "-m", "hit@2", "--json")


@pytest.mark.parametrize("hidden", [(), ("polars",), ("polars", "pyarrow")], ids=str)
def test_parquet_with_bytes_that_are_no_text(hidden, capsys, monkeypatch):
    frames()
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in hidden else find(name)
    )
    ids = pa.array([b"a", b"\xff"]).view(pa.string())
    for users, items in ((ids, ["x", "y"]), (["a", "b"], ids)):
        pq = importlib.import_module("pyarrow.parquet")
        pq.write_table(pa.table({"user": users, "item": items}), "bad.parquet")
        message = refused(capsys, "evaluate", "bad.parquet", "truth.csv", "-m", "hit@2", "--json")
        assert message.startswith("cannot read RECS 'bad.parquet': ")
        assert message.endswith(WANT_TABLE)
    passes(capsys, "evaluate", "recs.parquet", "truth.csv", "-m", "hit@2", "--json")


def test_parquet_of_more_rows_than_memory(capsys, monkeypatch):
    pl = frames()
    pl.DataFrame({"user": ["a"] * 100_000, "item": ["x"] * 100_000}).write_parquet("bad.parquet")
    assert Path("bad.parquet").stat().st_size < 10_000
    monkeypatch.setattr("recmetrics._io.memory._limit", lambda: 1 << 20)
    assert refused(capsys, "evaluate", "bad.parquet", "truth.csv", "-m", "hit@2", "--json") == (
        "cannot read RECS 'bad.parquet': it unpacks to 3.1 MiB, more than the 1.0 MiB of free "
        f"memory{WANT_TABLE}"
    )
    passes(capsys, "evaluate", "recs.parquet", "truth.csv", "-m", "hit@2", "--json")


# --- Per-user files ------------------------------------------------------------------------------

GOOD_VALUES = {name: npy(values) for name, values in PER_USER.items()}
GOOD_USERS = archive(**GOOD_VALUES)

BAD_PER_USER = {
    "no member": Hostile(archive(), "it holds no metric", GOOD_USERS),
    "cut": Hostile(GOOD_USERS[:-9], "File is not a zip file", GOOD_USERS),
    "a sparse matrix": Hostile(NPZ, f"metric 'format': its dtype is |S3, {UNREAL}", GOOD_USERS),
    "a column twice": Hostile(
        archive(**GOOD_VALUES, more=[("hit@2", npy(np.ones(3)))]),
        "it has the member 'hit@2.npy' twice",
        GOOD_USERS,
    ),
    "objects, which would be unpickled": Hostile(
        archive(**GOOD_VALUES | {"hit@2": TRAP}), f"member 'hit@2.npy': {NOT_LOADED}", GOOD_USERS
    ),
    "complex": Hostile(
        archive(**GOOD_VALUES | {"hit@2": npy([1j, 1, 1])}),
        f"metric 'hit@2': its dtype is complex128, {UNREAL}",
        GOOD_USERS,
    ),
    "a matrix": Hostile(
        archive(**GOOD_VALUES | {"hit@2": npy(np.ones((3, 2)))}),
        "metric 'hit@2' has shape (3, 2); expected (n_users,)",
        GOOD_USERS,
    ),
    "users of another number": Hostile(
        archive(user=npy(["a", "b"]), **GOOD_VALUES),
        "metric 'hit@2' has shape (3,); expected (2,), as for 'user'",
        archive(user=npy(["a", "b", "c"]), **GOOD_VALUES),
    ),
    "a user twice": Hostile(
        archive(user=npy(["a", "b", "a"]), **GOOD_VALUES),
        "its 'user' names a user twice; give every user once",
        archive(user=npy([7, 8, 9]), **GOOD_VALUES),
    ),
    "users that are damaged": Hostile(
        archive(user=damaged(["a", "b", "c"], 0x110000, ">"), **GOOD_VALUES),
        "its 'user' is damaged: entry 2 (counted from 0) holds 0x110000, which is not a character",
        archive(user=damaged(["a", "b", "c"], 0x10FFFF, ">"), **GOOD_VALUES),
    ),
    "users that are floats": Hostile(
        archive(user=npy([1.0, 2, 3]), **GOOD_VALUES),
        "its 'user' has dtype float64 and shape (3,); expected ids, (n_users,)",
        GOOD_USERS,
    ),
}


@check_all(BAD_PER_USER)
def test_per_user_npz(name, capsys):
    case = BAD_PER_USER[name]
    message = f"cannot read FILE 'bad.npz': {case.message}{WANT_PER_USER}"
    check(capsys, case._replace(message=message), "bad.npz", "compare", "old.npz", "bad.npz")


CSV = b"user,hit@2,mrr@2\n0,0,0\n1,1,1\n2,1,0.5\n"

BAD_PER_USER_CSV = {
    "other metrics": Hostile(
        CSV.replace(b"mrr@2", b"map@2"),
        "'bad' has no metric 'mrr@2', which 'old' has; compute the same metrics for every model",
        CSV,
    ),
    "other separators": Hostile(
        CSV.replace(b",", b";"),
        "FILE 'bad.csv', line 1: the header is 'user;hit@2;mrr@2'; expected 'user' or 'group', "
        "then metrics of different names",
        CSV + b"\n",
    ),
    "no metric": Hostile(
        b"user\n0\n1\n2\n",
        "FILE 'bad.csv', line 1: the header is 'user'; expected 'user' or 'group', then metrics "
        "of different names",
        CSV,
    ),
    "a user twice": Hostile(
        CSV.replace(b"2,1", b"0,1"),
        "FILE 'bad.csv', line 4: user '0' is already on line 2; give every user once",
        CSV,
    ),
    "a gap in the rows": Hostile(
        CSV.replace(b"1,1,1", b"1,1"),
        "FILE 'bad.csv', line 3: 2 fields; expected 3, as in the header",
        CSV.replace(b"1,1,1", b"1,1,"),
    ),
    "a number as Python writes it": Hostile(
        CSV.replace(b"0.5", b"0_5"),
        "FILE 'bad.csv', line 4: cannot read '0_5' as mrr@2; expected a number",
        CSV.replace(b"\n", b"\r\n"),
    ),
    "an infinite value": Hostile(
        CSV.replace(b"0.5", b"1e999"),
        "metric 'mrr@2' of 'bad' is infinite for 1 users, the first user 2; differences of "
        "infinite values are undefined",
        CSV,
    ),
    "Latin-1": Hostile(
        CSV.replace(b"2,1", b"\xe9,1"), f"FILE 'bad.csv', line 4: byte 0xe9 {NO_TEXT}", CSV
    ),
}


@check_all(BAD_PER_USER_CSV)
def test_per_user_csv(name, capsys):
    check(capsys, BAD_PER_USER_CSV[name], "bad.csv", "compare", "old.npz", "bad.csv")


def test_per_user_files_of_other_users(capsys):
    for name, ids in {"a": ["u", "v", "w"], "b": ["u", "w", "v"]}.items():
        write_per_user(Path(f"{name}.npz"), PER_USER, ids)
    assert refused(capsys, "compare", "a.npz", "b.npz") == (
        "FILE 'b.npz' has user 'w' in place 2, where FILE 'a.npz' has user 'v'; expected the "
        "same users in the same order"
    )
    passes(capsys, "compare", "a.npz", "old.npz")


# --- Groups of users -----------------------------------------------------------------------------

WANT_GROUPS = (
    "; expected a label per user: an .npy (numpy.save), a .csv of user and group, or text, a label "
    "a line"
)
GOOD_GROUPS = {
    "npy": npy(["x", "y", "x"]),
    "csv": b"user,group\n0,x\n1,y\n2,x\n",
    "txt": b"x\ny\nx\n",
}

BAD_GROUPS = {
    "npy of objects": ("npy", TRAP, f"cannot read --by 'bad.npy': {NOT_LOADED}{WANT_GROUPS}"),
    "npy of two columns": (
        "npy",
        npy(np.ones((3, 2), int)),
        "cannot read --by 'bad.npy': it has dtype int64 and shape (3, 2); expected a label per user"
        + WANT_GROUPS,
    ),
    "npy that is cut": (
        "npy",
        GOOD_GROUPS["npy"][:-1],
        "cannot read --by 'bad.npy': its header says shape (3,) of <U1, 12 bytes, but only 11 "
        f"bytes follow; {CUT}{WANT_GROUPS}",
    ),
    "npy of damaged text": (
        "npy",
        damaged(["x", "y", "x"], 0x7FFFFFFF),
        "cannot read --by 'bad.npy': its text is damaged: entry 2 (counted from 0) holds "
        f"0x7fffffff, which is not a character{WANT_GROUPS}",
    ),
    "npy with half a character": (
        "npy",
        damaged(["x", "y", "x"], 0xD800, ">"),
        "cannot read --by 'bad.npy': its text is damaged: entry 2 (counted from 0) holds 0xd800, "
        f"which is not a character{WANT_GROUPS}",
    ),
    "npy with NaN": (
        "npy",
        npy([1.0, np.nan, 2.0]),
        "--by 'bad.npy' must name the group of every user; that of user 1 is undefined; give such "
        "users a label of their own, such as 'unknown'",
    ),
    "a matrix": ("csv", NPZ, f"--by 'bad.csv' is an .npz or another zip archive{WANT_GROUPS}"),
    "empty": ("txt", b"", f"--by 'bad.txt' is empty{WANT_GROUPS}"),
    "text with a gap": (
        "txt",
        b"x\n\nx\n",
        "--by 'bad.txt', line 2: no group; expected a label for every user",
    ),
    "text for fewer users": (
        "txt",
        b"x\ny\n",
        "--by 'bad.txt' must hold one group per user, shape (3,), got shape (2,)",
    ),
    "text in Latin-1": ("txt", b"x\n\xe9\nx\n", f"--by 'bad.txt', line 2: byte 0xe9 {NO_TEXT}"),
    "csv without users": (
        "csv",
        b"group\nx\ny\nx\n",
        "--by 'bad.csv', line 1: the header is 'group'; expected 'user' and a name for the groups",
    ),
    "csv with a user twice": (
        "csv",
        b"user,group\n0,x\n1,y\n0,x\n",
        "--by 'bad.csv', line 4: user '0' is repeated; give every user once",
    ),
    "csv with a gap": (
        "csv",
        b"user,group\n0,x\n1,\n2,x\n",
        "--by 'bad.csv', line 3: no group; expected a label for every user",
    ),
    "csv of other users": (
        "csv",
        b"user,group\n0,x\n2,y\n1,x\n",
        "--by 'bad.csv' has user '2' in place 2, where FILE 'old.csv' has user '1'; expected the "
        "same users in the same order",
    ),
}


@check_all(BAD_GROUPS)
def test_groups(name, capsys):
    suffix, bad, message = BAD_GROUPS[name]
    write_per_user(Path("old.csv"), PER_USER)
    argv = ["compare", "old.csv", "old.npz", "--by", f"bad.{suffix}"]
    check(capsys, Hostile(bad, message, GOOD_GROUPS[suffix]), f"bad.{suffix}", *argv)


# --- Links, pipes and devices --------------------------------------------------------------------


@POSIX
def test_links_that_lead_nowhere(capsys):
    Path("loop.npy").symlink_to("loop.npy")
    Path("gone.npy").symlink_to("absent.npy")
    many = "Too many levels of symbolic links"
    for name, why in {"loop.npy": many, "gone.npy": "No such file or directory"}.items():
        argv = [name, "truth.npz", "-m", "hit@2", "--json"]
        assert (
            refused(capsys, "evaluate", *argv) == f"cannot open SCORES {name!r}: {why}{WANT_SCORES}"
        )
        message = refused(capsys, "compare", "old.npz", name)
        assert message == f"cannot open FILE {name!r}: {why}{WANT_PER_USER}"
    Path("gone.npy").unlink()
    Path("gone.npy").symlink_to("scores.npy")
    passes(capsys, "evaluate", "gone.npy", "truth.npz", "-m", "hit@2", "--json")


@POSIX
def test_a_pipe_without_a_writer_is_not_waited_for(capsys):
    os.mkfifo("pipe.npy")
    os.mkfifo("pipe.parquet")
    assert refused(capsys, "evaluate", "pipe.npy", "truth.npz", "-m", "hit@2") == (
        f"SCORES 'pipe.npy' is not a regular file and cannot be mapped{WANT_SCORES}"
    )
    pytest.importorskip("polars", reason="polars is not installed")
    assert refused(capsys, "evaluate", "pipe.parquet", "truth.csv", "-m", "hit@2") == (
        f"RECS 'pipe.parquet' is not a regular file and cannot be mapped{WANT_TABLE}"
    )


@POSIX
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(TRUTH), f"TRUTH '/dev/stdin' is not a regular file and cannot be mapped{WANT_MATRIX}"),
        (
            NPZ,
            "cannot read TRUTH '/dev/stdin': it is read from a pipe; write it to a file first"
            + WANT_MATRIX,
        ),
        (PAIRS, None),
    ],
    ids=["npy", "npz", "text"],
)
def test_a_truth_through_a_pipe(content, message):
    argv = ["evaluate", "scores.npy", "/dev/stdin", "-m", "hit@2", "--json"]
    done = command(*argv, stdin=content)
    assert ends(done) == (None if message is None else (2, message))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without end")
def test_a_file_without_end():
    endless = "line 1: it is longer than 1,048,576 characters"
    argv = ["-m", "hit@2", "--json"]
    assert ends(command("evaluate", "scores.npy", "/dev/zero", *argv)) == (
        2,
        f"TRUTH '/dev/zero', {endless}",
    )
    Path("zero.csv").symlink_to("/dev/zero")
    assert ends(command("compare", "old.npz", "zero.csv")) == (2, f"FILE 'zero.csv', {endless}")


# --- Bombs ---------------------------------------------------------------------------------------

LIMITED = """
import re, resource, sys
from pathlib import Path
from recmetrics.cli import main
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
code = main(sys.argv[1:])
peak = re.search("VmHWM: *([0-9]+) kB", Path("/proc/self/status").read_text().replace("\t", ""))
assert int(peak[1]) < 400_000, peak
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_an_npz_that_unpacks_beyond_memory_is_refused_before_it_does():
    Path("bomb.npz").write_bytes(bomb(255))
    assert Path("bomb.npz").stat().st_size < 1 << 23
    argv = ["evaluate", "scores.npy", "truth.npz", "-m", "diversity@2", "--json", "--features"]
    code, message = ends(command(*argv, "bomb.npz", code=LIMITED))
    assert code == 2
    assert message.startswith("cannot read --features 'bomb.npz': it unpacks to 4.0 GiB, more than")
    assert message.endswith(
        " GiB of free memory; expected a sparse .npz (scipy.sparse.save_npz) or a dense .npy "
        "(numpy.save)"
    )
    # The good twin is packed as well, and read as what it is.
    Path("small.npz").write_bytes(bomb(1))
    _, message = ends(command(*argv, "small.npz", code=LIMITED))
    assert message.startswith(
        "cannot read --features 'small.npz': its 'data' has 2,097,152 entries"
    )


# --- Files that change while they are read -------------------------------------------------------

CHANGED = """
import os, sys
from pathlib import Path
import numpy as np
from recmetrics.cli import _score_files, main

find_hits, how = _score_files.find_hits, sys.argv.pop(1)

def changing(*args):
    if how == "cut":
        os.truncate("scores.npy", 0)
    found = find_hits(*args)
    if how == "overwritten":
        with open("scores.npy", "r+b") as file:
            file.seek(-4, 2)
            file.write(np.float32(7).tobytes())
    if how == "replaced":
        np.save("new.npy", np.ones((2, 3)))
        os.replace("new.npy", "scores.npy")
    return found

_score_files.find_hits = changing
sys.exit(main())
"""


@POSIX
@pytest.mark.parametrize(
    ("how", "ended"),
    [
        (
            "cut",
            "SCORES 'scores.npy' was cut while it was read; wait until it is completely written, "
            "then try again",
        ),
        (
            "overwritten",
            "SCORES 'scores.npy' changed while it was read; wait until it is completely written, "
            "then try again",
        ),
        ("replaced", None),  # what is mapped is still the old file
        ("left alone", None),
    ],
)
def test_scores_that_change_while_they_are_read(how, ended):
    argv = ["evaluate", "scores.npy", "truth.npz", "-m", "hit@2", "--json", "--per-user", "u.csv"]
    assert ends(command(how, *argv, code=CHANGED)) == (None if ended is None else (2, ended))
    assert Path("u.csv").exists() == (ended is None)


def test_text_that_grows_while_it_is_read(capsys, monkeypatch):
    from recmetrics.cli import _files

    read = _files.read_pairs

    def growing(*args, **options):
        found = read(*args, **options)
        with Path("truth.tsv").open("ab") as file:
            file.write(b"1 2\n")
        return found

    Path("truth.tsv").write_bytes(PAIRS)
    argv = ["evaluate", "scores.npy", "truth.tsv", "-m", "hit@2", "--json"]
    with monkeypatch.context() as changing:
        changing.setattr(_files, "read_pairs", growing)
        assert main(argv) == 2
    assert capsys.readouterr().err == (
        "recmetrics: error: TRUTH 'truth.tsv' changed while it was read; wait until it is "
        "completely written, then try again\n"
    )
    passes(capsys, *argv)


# --- Outputs -------------------------------------------------------------------------------------

EVALUATE = ["evaluate", "scores.npy", "truth.npz", "-m", "hit@2", "--json", "--per-user"]


@POSIX
def test_outputs_that_are_no_files(capsys):
    Path("loop.csv").symlink_to("loop.csv")
    Path("far.csv").symlink_to("no/where.csv")
    os.mkfifo("pipe.csv")
    where = str(Path("no").resolve())
    long = "n" * 300 + ".csv"
    with pytest.raises(ValueError, match="null") as null:  # the words differ by version
        os.lstat("nul\0.csv")
    for name, why in {
        "loop.csv": " is a symbolic link to itself; remove it",
        "far.csv": f": the folder {where!r} does not exist; create it first",
        "pipe.csv": " is not a regular file, and would be replaced by one; choose another name",
        long: " cannot be written: File name too long; choose another name",
        "nul\0.csv": f" cannot be written: {null.value}; choose another name",
    }.items():
        assert refused(capsys, *EVALUATE, name) == f"--per-user {name!r}{why}"
    Path("no").mkdir()
    passes(capsys, *EVALUATE, "far.csv")
    assert Path("far.csv").is_symlink()
    assert Path("no/where.csv").read_text() == "user,hit@2\n0,1.0\n1,1.0\n"


@pytest.mark.parametrize("how", ["itself", "a hard link", "a symbolic link"])
def test_an_output_that_is_an_input_in_disguise(how, capsys):
    Path("folder").mkdir()
    content = Path("truth.npz").read_bytes()
    out = {
        "itself": Path("folder/../truth.npz"),
        "a hard link": Path("hard.npz"),
        "a symbolic link": Path("soft.npz"),
    }[how]
    if how == "a hard link":
        out.hardlink_to("truth.npz")
    if how == "a symbolic link":
        out.symlink_to("truth.npz")
    message = f"--per-user {str(out)!r} is also an input; choose another name"
    assert refused(capsys, *EVALUATE, str(out)) == message
    assert Path("truth.npz").read_bytes() == content
    passes(capsys, *EVALUATE, "folder/truth.npz")


@POSIX
def test_an_output_keeps_who_may_read_it(capsys):
    Path("users.csv").touch(mode=0o600)
    passes(capsys, *EVALUATE, "users.csv")
    assert stat.S_IMODE(Path("users.csv").stat().st_mode) == 0o600
    assert Path("users.csv").stat().st_size > 0


UNPRIVILEGED = """
import os, sys
from contextlib import redirect_stdout
from io import StringIO
from recmetrics.cli import main
if os.geteuid() == 0:
    with redirect_stdout(StringIO()):  # imports what another user may have no permission for
        assert main("evaluate scores.npy truth.npz -m hit@2 --json".split()) == 0
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main())
"""


@POSIX
def test_without_permission():
    # Not below the temporary folders of the tests, which another user may not even enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for file in ("scores.npy", "truth.npz"):
            (folder / file).write_bytes(Path(file).read_bytes())
        (folder / "out").mkdir()
        (folder / "out").chmod(0o777)
        (folder / "out" / "kept.csv").write_text("older")
        (folder / "out" / "kept.csv").chmod(0o444)

        def run(*more, code=UNPRIVILEGED):
            argv = ["evaluate", "scores.npy", "truth.npz", "-m", "hit@2", "--json", *more]
            return ends(command(*argv, code=code, cwd=folder))

        (folder / "scores.npy").chmod(0)
        assert run() == (2, f"cannot open SCORES 'scores.npy': Permission denied{WANT_SCORES}")
        (folder / "scores.npy").chmod(0o644)
        (folder / "truth.npz").chmod(0)
        assert run() == (2, f"cannot open TRUTH 'truth.npz': Permission denied{WANT_MATRIX}")
        (folder / "truth.npz").chmod(0o644)
        assert run("--per-user", "out/kept.csv") == (
            2,
            "--per-user 'out/kept.csv' exists and may not be written; choose another name",
        )
        assert (folder / "out" / "kept.csv").read_text() == "older"
        (folder / "out").chmod(0o555)
        assert run("--per-user", "out/new.csv") == (
            2,
            "--per-user 'out/new.csv': the folder 'out' cannot be written; choose another",
        )
        (folder / "out").chmod(0o777)
        assert run("--per-user", "out/new.csv") is None
        assert (folder / "out" / "new.csv").exists()


FULL = """
import resource, sys
from recmetrics.cli import main, _score_files

write = _score_files.write_per_user

def full(*args, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # Python ignores SIGXFSZ
    write(*args, **options)

_score_files.write_per_user = full
sys.exit(main())
"""


@POSIX
@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_a_full_disk_leaves_the_older_file(suffix):
    out = Path(f"users.{suffix}")
    out.write_text("older")
    before = set(Path().iterdir())
    assert ends(command(*EVALUATE, str(out), code=FULL)) == (
        2,
        f"cannot write '{out}': File too large; choose another file",
    )
    assert set(Path().iterdir()) == before
    assert out.read_text() == "older"
    assert ends(command(*EVALUATE, str(out))) is None
    assert out.read_bytes() != b"older"


# --- Signals and streams -------------------------------------------------------------------------

SIGNALLED = """
import os, signal, sys, time
from recmetrics.cli import _score_files, main

moment, number = sys.argv.pop(1), int(sys.argv.pop(1))
find_hits, sync = _score_files.find_hits, os.fsync

def computing(*args):
    os.kill(os.getpid(), number)
    return find_hits(*args)

def writing(file):
    os.kill(os.getpid(), number)
    sync(file)

if moment == "computing":
    _score_files.find_hits = computing
else:
    os.fsync = writing
sys.exit(main())
"""


@POSIX
@pytest.mark.parametrize("moment", ["computing", "writing"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_the_command_and_leave_the_older_file(name, moment):
    number = getattr(signal, name)
    Path("users.csv").write_text("older")
    before = set(Path().iterdir())
    done = command(moment, str(int(number)), *EVALUATE, "users.csv", code=SIGNALLED)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, b"", b"")
    assert set(Path().iterdir()) == before
    assert Path("users.csv").read_text() == "older"


@POSIX
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_signals_that_the_shell_has_ignored_stay_ignored(name):
    number = getattr(signal, name)
    code = f"import signal; signal.signal({int(number)}, signal.SIG_IGN){SIGNALLED}"
    done = command("computing", str(int(number)), *EVALUATE, "users.csv", code=code)
    assert ends(done) is None
    assert Path("users.csv").exists()


RESTORED = """
import ctypes, faulthandler, signal, sys, threading
from recmetrics.cli import _score_files, main

faulthandler.enable()  # which handles SIGBUS
set_handler = ctypes.CDLL(None).signal
set_handler.argtypes, set_handler.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p

def handlers():
    lost_page = set_handler(signal.SIGBUS, None)
    set_handler(signal.SIGBUS, lost_page)
    return [lost_page, *map(signal.getsignal, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))]

def failing(*args, **options):
    assert all(now != then for now, then in zip(handlers(), before, strict=True))
    raise ZeroDivisionError

find_hits, _score_files.find_hits = _score_files.find_hits, failing
before = handlers()
try:
    main()
except ZeroDivisionError:
    _score_files.find_hits = find_hits
assert handlers() == before
thread = threading.Thread(target=main)
thread.start()
thread.join()
assert handlers() == before
sys.exit(main())
"""


@POSIX
def test_signals_are_handled_as_before_once_the_command_is_done():
    """As where a notebook runs it: also after an error of its own, and in a thread."""
    done = command(*EVALUATE, "users.csv", code=RESTORED)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"hit@2") == 2


def shell(line):
    """Run ``line``, in which $CMD is the command, as a shell does."""
    environment = environ() | {"PYTHON": sys.executable}
    return subprocess.run(
        ["/bin/sh", "-c", line.replace("$CMD", '"$PYTHON" -m recmetrics')],
        capture_output=True,
        timeout=100,
        check=False,
        env=environment,
    )


@POSIX
def test_streams_that_a_shell_has_closed():
    done = shell("$CMD metrics | head -1")
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 1, b"")
    done = shell(f"$CMD {' '.join(EVALUATE)} users.csv >&-")
    assert done.stderr == (
        b"recmetrics: error: standard output is closed; redirect it to a file or to /dev/null\n"
    )
    assert done.returncode == 2
    assert not Path("users.csv").exists()  # it was told before the work
    done = shell("$CMD evaluate absent.npy truth.npz 2>&-")
    assert (done.returncode, done.stdout) == (2, b"")
    done = shell("$CMD evaluate scores.npy truth.npz -m hit@2 --json 2>&- <&-")
    assert (done.returncode, done.stdout[:1]) == (0, b"{")


# --- What else may be found ----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["coo", "csc", "bsr", "dia"])
def test_a_sparse_truth_in_every_form_that_scipy_stores(form, capsys):
    argv = ["evaluate", "scores.npy", "truth.npz", "-m", "hit@1", "-m", "mrr@3", "--json"]
    assert main(argv) == 0
    expected = capsys.readouterr()
    sparse.save_npz("truth.npz", sparse.csr_array(TRUTH).asformat(form))
    assert main(argv) == 0
    assert capsys.readouterr() == expected


def test_members_of_an_npz_that_share_their_bytes(capsys):
    with zipfile.ZipFile("bad.npz", "w") as archive:
        archive.writestr("a.npy", bytes(10_000))
        first = archive.filelist[0]
        for name in ("b.npy", "c.npy"):
            other = copy.copy(first)
            other.filename = name
            archive.filelist.append(other)
    n_bytes = Path("bad.npz").stat().st_size
    assert n_bytes < 20_000
    assert main(["evaluate", "scores.npy", "bad.npz", "-m", "hit@1"]) == 2
    assert capsys.readouterr().err == (
        "recmetrics: error: cannot read TRUTH 'bad.npz': its members take up more bytes than the "
        f"file has, {n_bytes / 1024:,.1f} KiB{WANT_MATRIX}\n"
    )


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (SystemExit, None)])
def test_parquet_that_is_interrupted_is_not_called_damaged(error, code, capsys, monkeypatch):
    narwhals = pytest.importorskip("narwhals.stable.v2", reason="narwhals is not installed")
    pytest.importorskip("polars", reason="polars is not installed")

    def ended(*_args, **_options):
        raise error

    monkeypatch.setattr(narwhals, "read_parquet", ended)
    write_parquet("recs.parquet")
    Path("truth.csv").write_bytes(b"user,item\na,x\n")
    argv = ["evaluate", "recs.parquet", "truth.csv", "-m", "hit@2"]
    if code is None:
        with pytest.raises(SystemExit):
            main(argv)
    else:
        assert main(argv) == code
    assert capsys.readouterr().err == ""


def test_parquet_by_every_library_that_reads_it(capsys, monkeypatch):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    write_parquet("recs.parquet")
    Path("truth.csv").write_bytes(b"user,item\na,x\nb,y\n")
    argv = ["evaluate", "recs.parquet", "truth.csv", "-m", "hit@1", "-m", "mrr@2", "--json"]
    assert main(argv) == 0
    expected = capsys.readouterr()
    monkeypatch.setitem(sys.modules, "polars", None)
    assert main(argv) == 0
    assert capsys.readouterr() == expected


def test_text_that_changes_while_it_is_found_wrong(capsys, monkeypatch):
    from recmetrics.cli import _files

    read = _files.read_pairs

    def growing(*args, **options):
        with Path("truth.tsv").open("ab") as file:
            file.write(b"1 2\n")
        return read(*args, **options)

    Path("truth.tsv").write_bytes(b"0 0\n1\n")
    monkeypatch.setattr(_files, "read_pairs", growing)
    assert main(["evaluate", "scores.npy", "truth.tsv", "-m", "hit@2", "--json"]) == 2
    assert capsys.readouterr().err == (
        "recmetrics: error: TRUTH 'truth.tsv' changed while it was read; wait until it is "
        "completely written, then try again\n"
    )


@pytest.mark.parametrize("how", ["overwritten with NaN", "removed"])
def test_scores_that_change_while_they_are_computed(how, capsys, monkeypatch):
    find_hits = _score_files.find_hits

    def changing(*args):
        if how == "removed":
            Path("scores.npy").unlink()
        else:
            with Path("scores.npy").open("r+b") as file:
                file.seek(-4, 2)
                file.write(np.float32(np.nan).tobytes())
        return find_hits(*args)

    monkeypatch.setattr(_score_files, "find_hits", changing)
    code = main(["evaluate", "scores.npy", "truth.npz", "-m", "hit@2", "--json"])
    out, err = capsys.readouterr()
    if how == "removed":  # what is mapped stays as it was
        assert (code, err) == (0, "")
        assert out.startswith("{")
    else:
        assert (code, out) == (2, "")
        assert err == (
            "recmetrics: error: SCORES 'scores.npy' changed while it was read; wait until it is "
            "completely written, then try again\n"
        )


@POSIX
def test_streams_that_cannot_be_written():
    if not Path("/dev/full").exists():
        pytest.skip("needs a device without room")
    done = shell("$CMD metrics --markdown >/dev/full")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (b"recmetrics: error: cannot write the output: No space left on device\n")


def test_a_disk_that_fails_while_scores_are_read(capsys, monkeypatch):
    def failing(*_args, **_options):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(_score_files, "find_hits", failing)
    assert main(["evaluate", "scores.npy", "truth.npz", "-m", "hit@2"]) == 2
    assert capsys.readouterr() == ("", "recmetrics: error: Input/output error\n")


@POSIX
def test_parquet_where_stderr_is_closed():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    write_parquet("recs.parquet")
    Path("truth.csv").write_bytes(b"user,item\na,x\n")
    done = shell("$CMD evaluate recs.parquet truth.csv -m hit@2 --json 2>&-")
    assert (done.returncode, done.stdout[:1]) == (0, b"{")


def write_parquet(name):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [3.0, 2.0, 1.0]}
    polars.DataFrame(table).write_parquet(name)


def environ():
    package = str(Path(recmetrics.__file__).parents[1])
    return os.environ | {"PYTHONPATH": package, "PYTHONUNBUFFERED": "", "OPENBLAS_NUM_THREADS": "1"}


def command(*argv, code=None, stdin=b"", cwd=None):
    """Run the command, or the program ``code``, as a process."""
    env = environ()
    if code in (FULL, UNPRIVILEGED):  # where what measures coverage could write nothing either
        env.pop("COVERAGE_PROCESS_CONFIG", None)
    return subprocess.run(
        [sys.executable, *(["-m", "recmetrics"] if code is None else ["-c", code]), *argv],
        input=stdin,
        capture_output=True,
        timeout=100,
        check=False,
        cwd=cwd,
        env=env,
    )


def ends(done):
    """The exit code and the one line of the error; None where there is none."""
    if done.returncode == 0:
        assert done.stderr == b""
        assert done.stdout
        return None
    assert done.stdout == b""
    error = done.stderr.decode()
    assert error.startswith("recmetrics: error: "), error
    assert error.count("\n") == 1, error
    return done.returncode, error.removeprefix("recmetrics: error: ").removesuffix("\n")
