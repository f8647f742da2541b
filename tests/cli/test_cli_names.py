"""Names from files in what people read: escaped, while machines get them as they are."""

import json
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import commands
import numpy as np
import pytest
from commands import process, require_tables

from recmetrics.cli import main

# Characters that command a terminal, or disarrange its lines, and how they are shown.
HARMFUL = {
    "\x07": r"\x07",
    "\x0b": r"\x0b",
    "\x0c": r"\x0c",
    "\x1b": r"\x1b",
    "\x7f": r"\x7f",
    "\x85": r"\x85",
    "\x9b": r"\x9b",
    "\u2028": r"\u2028",
    "\u202e": r"\u202e",
    "\u2066": r"\u2066",
    "\u2069": r"\u2069",
}
MODEL, METRIC, GROUP = "new\x1b[31m", "".join(["hit", *HARMFUL, "@2"]), "x\x9b31m"
LOWER = "gini@10\x0c"  # read as gini@10, for which lower is better
SHOWN = "".join(["hit", *HARMFUL.values(), "@2"])
FILES = ["old.npz", f"{MODEL}.npz"]
GROUPS = ["--by", "groups.npy"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with two models, whose names and groups do harm."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in FILES:
        np.savez(name, **{METRIC: rng.random(20), LOWER: rng.random(20)})
    np.save("groups.npy", np.array([GROUP, "calm"] * 10))
    return tmp_path


def printed(capsys, *argv):
    return commands.printed(capsys, "compare", *FILES, *GROUPS, *argv)


def is_harmless(text):
    return not any(each in text for each in (*HARMFUL, *"\0\x08\r\ud800\udfff\u2029\u2069"))


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_people_see_them_escaped(form, capsys):
    out = printed(capsys, *([] if form == "table" else [f"--{form}"]))
    assert is_harmless(out)
    backslash = {"table": "\\", "markdown": r"\\", "latex": r"\textbackslash{}"}[form]
    assert SHOWN.replace("\\", backslash) in out
    for name in (r"new\x1b", r"x\x9b31m", r"lower is better: gini@10\x0c"):
        assert name.replace("\\", backslash) in out


def test_columns_line_up(capsys):
    first = printed(capsys).partition("\n\n")[0].splitlines()
    mean = first[0].index("mean") + len("mean")
    assert len(first) == 6
    assert all(re.fullmatch(r".*\d\.\d{4}", row[:mean]) for row in first[2:])


def test_json_has_the_names_as_they_are(capsys):
    found = json.loads(printed(capsys, "--json"))
    assert found["models"] == ["old", MODEL]
    assert found["groups"] == ["calm", GROUP]
    assert found["means"][0]["metric"] == METRIC


def test_a_picture_has_them_escaped(capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    printed(capsys, "--json", "--plot", "out.svg")  # a glyph that no font has would be a warning
    ET.parse("out.svg")
    assert r"new\x1b" in Path("out.svg").read_text()


def test_files_of_values_have_the_ids_as_they_are(capsys):
    require_tables()
    ids = "".join(HARMFUL)
    for name in ("recs.csv", "truth.csv"):
        Path(name).write_text(f"user,item\n{ids},7\n", encoding="utf-8")
    argv = ["recs.csv", "truth.csv", "-m", "hit@2", "--per-user", "users.csv"]
    assert main(["evaluate", *argv]) == 0
    assert capsys.readouterr().err == ""
    assert Path("users.csv").read_text(encoding="utf-8") == f"user,hit@2\n{ids},1.0\n"


def test_errors_have_them_escaped(capsys):
    Path("bad.csv").write_text(f"user,{METRIC}\n1,x\n", encoding="utf-8")
    for argv in (["old.npz", "bad.csv"], [*FILES, "--baseline", "none"], [*FILES, METRIC]):
        assert main(["compare", *argv]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert is_harmless(err)
        assert err.count("\n") == 1
        assert r"\x1b" in err


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names of any bytes")
@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict"])
def test_names_that_the_encoding_of_stdout_lacks(encoding):
    other = b"caf\xc3\xa9\xff.npz"
    Path(os.fsdecode(other)).write_bytes(Path("old.npz").read_bytes())
    code = """
import sys
from recmetrics.cli import main
for form in ([], ["--markdown"], ["--latex"]):
    assert main(["compare", *sys.argv[1:], *form]) == 0
    print("\\0", end="", flush=True)
"""
    env = {"PYTHONIOENCODING": encoding}
    done = process("old.npz", other, code=code, env=env, text=False)
    assert (done.returncode, done.stderr) == (0, b"")
    *forms, rest = done.stdout.split(b"\0")
    assert (len(forms), rest) == (3, b"")
    for shown in forms:
        assert b"udcff" in shown
        assert ("caf\u00e9".encode() in shown) == (encoding != "ascii")
