"""The command as a process: exit codes, pipes, Ctrl-C, and what it imports."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import recmetrics
from recmetrics._spec.registry import METRICS
from recmetrics.cli import main
from recmetrics.cli._terminal import show

pytest.importorskip("rich", reason="rich is not installed")

# Sends itself Ctrl-C in the middle of the work, while a thread is at something that never ends.
INTERRUPTED = """
import os, signal, sys, threading
from recmetrics.cli import _score_files, main
from recmetrics.cli._terminal import show

def interrupt(*args, **options):
    thread = threading.Thread(target=threading.Event().wait)
    thread.start()
    os.kill(os.getpid(), signal.SIGINT)
    thread.join()

if sys.argv.pop(1) == "computing":
    _score_files.find_hits = interrupt
else:
    os.fsync = interrupt
sys.exit(main())
"""


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "scores.npy", np.array([[3, 2, 1], [1, 2, 3]], np.float32))
    (tmp_path / "truth.tsv").write_text("0 0\n1 1\n")
    return tmp_path


def command(*argv, code=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=None):
    """Run the command, or the program ``code``, as a user's shell would."""
    program = ["-m", "recmetrics"] if code is None else ["-c", code]
    package = str(Path(recmetrics.__file__).parents[1])
    return subprocess.run(
        [sys.executable, *program, *argv],
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        text=True,
        timeout=100,
        check=False,
        env=os.environ | {"PYTHONPATH": package, "TERM": "xterm", "PYTHONUNBUFFERED": ""},
    )


def test_python_m_evaluates_in_a_pipe(files):
    done = command("evaluate", "scores.npy", "truth.tsv", "-m", "hit@2", "--json", cwd=files)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["metrics"]["hit@2"]["mean"] == 1.0


def test_an_error_is_one_line_and_exit_code_2(files):
    done = command("evaluate", "absent.npy", "truth.tsv", cwd=files)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("recmetrics: error: cannot open SCORES 'absent.npy': ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("moment", ["computing", "writing"])
def test_ctrl_c_ends_at_once_with_130_and_leaves_nothing(moment, files):
    before = set(files.iterdir())
    argv = ["evaluate", "scores.npy", "truth.tsv", "-m", "hit@2", "--per-user", "users.csv"]
    done = command(moment, *argv, code=INTERRUPTED, cwd=files)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert set(files.iterdir()) == before


def test_to_import_the_module_runs_nothing(capsys):
    """As processes do that are started by spawn."""
    importlib.import_module("recmetrics.__main__")
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
def test_ctrl_c_on_a_terminal_cleans_the_line_of_the_bar(files):
    terminal, stderr = os.openpty()
    try:
        argv = ["computing", "evaluate", "scores.npy", "truth.tsv", "-m", "hit@2"]
        done = command(*argv, code=INTERRUPTED, cwd=files, stderr=stderr)
        shown = os.read(terminal, 100_000)
    finally:
        os.close(stderr)
        os.close(terminal)
    assert done.returncode == 130
    assert b"evaluating" in shown
    assert shown.endswith(b"\r\x1b[K\x1b[?25h")


def test_ctrl_c_in_a_process_of_another_is_an_exit_code(files, capsys, monkeypatch):
    before = set(files.iterdir())
    monkeypatch.setattr(os, "fsync", lambda _: signal.raise_signal(signal.SIGINT))
    argv = [str(files / "scores.npy"), str(files / "truth.tsv"), "-m", "hit@2"]
    assert main(["evaluate", *argv, "--per-user", str(files / "users.csv")]) == 130
    assert capsys.readouterr() == ("", "")
    assert set(files.iterdir()) == before


@pytest.mark.parametrize("argv", [["metrics"], ["--help"]], ids=" ".join)
def test_a_closed_pipe_ends_quietly(argv):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = command(*argv, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_stdout_is_an_error():
    with Path("/dev/full").open("w") as full:
        done = command("metrics", stdout=full)
    assert done.returncode == 2
    assert done.stderr == ("recmetrics: error: cannot write the output: No space left on device\n")


def test_only_the_command_imports_rich_and_matplotlib():
    code = """
import sys
import recmetrics
from recmetrics.cli import main
print([name for name in ("rich", "matplotlib", "scipy.stats") if name in sys.modules])
"""
    done = command(code=code)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"recmetrics {recmetrics.__version__}\n"


@pytest.mark.parametrize("argv", [[], ["demo"], ["evaluate"], ["metrics"]], ids=" ".join)
def test_help(argv, capsys):
    assert main([*argv, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {' '.join(['recmetrics', *argv])}")


def test_the_catalogue_lists_the_registry(capsys):
    assert main(["metrics"]) == 0
    rows = capsys.readouterr().out.splitlines()
    for metric in METRICS.values():
        name = f"{metric.name}@k" if metric.default_k else metric.name
        row = next(row for row in rows if row.split()[:1] == [name])
        assert re.split("[:;.`*]", metric.summary)[0].strip() in row
    assert "\x1b" not in "".join(rows)


def test_the_catalogue_as_markdown_is_that_of_the_readme(capsys):
    assert main(["metrics", "--markdown"]) == 0
    assert capsys.readouterr().out in (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_one_metric_in_full(metric, capsys):
    assert main(["metrics", metric.name]) == 0
    out = capsys.readouterr().out
    for text in (metric.summary, metric.formula, metric.citation):
        assert text in out
    for option in metric.options.values():
        row = next(row for row in out.splitlines() if row.split()[:1] == [option.name])
        assert option.meaning in row
        assert all(choice in row for choice in option.choices)
        assert ("not set" if option.default is None else str(option.default)) in row


def test_a_whole_metric_string_is_explained_above_the_rest(capsys):
    assert main(["metrics", "ndcg"]) == 0
    by_name = capsys.readouterr().out.splitlines()
    assert main(["metrics", "NDCG(gain=exp2)@10"]) == 0
    explained = capsys.readouterr().out.splitlines()
    expected = str(recmetrics.explain("ndcg(gain=exp2)@10")).splitlines()
    assert [line.rstrip() for line in expected if line not in explained] == []
    assert explained[0] == "ndcg(gain=exp2)@10"
    options = by_name.index(next(line for line in by_name if line.startswith("option ")))
    assert explained[-len(by_name[options:]) :] == by_name[options:]


def test_an_unknown_metric_suggests_the_nearest(capsys):
    assert main(["metrics", "ndgc"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "unknown metric 'ndgc'; did you mean 'ndcg'?" in printed.err


def test_stdout_that_lacks_a_character(monkeypatch, tmp_path):
    path = tmp_path / "out.txt"
    with path.open("w", encoding="ascii") as ascii_only:
        monkeypatch.setattr(sys, "stdout", ascii_only)
        show("caf\u00e9")
        assert main(["metrics"]) == 0
    text = path.read_text(encoding="ascii")
    assert text.startswith("caf?\n")
    assert "ndcg@k" in text


def test_progress_is_shown_on_a_terminal_alone(files, capsys, monkeypatch):
    argv = [str(files / "scores.npy"), str(files / "truth.tsv"), "-m", "hit@2", "--json"]
    assert main(["evaluate", *argv]) == 0
    piped = capsys.readouterr()
    assert piped.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["evaluate", *argv]) == 0
    shown = capsys.readouterr()
    assert "evaluating" in shown.err
    assert shown.out == piped.out


def test_without_rich_a_terminal_has_no_bar(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    argv = [str(files / "scores.npy"), str(files / "truth.tsv"), "-m", "hit@2", "--json"]
    assert main(["evaluate", *argv]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_the_catalogue_is_a_line_for_each_metric(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()[: len(METRICS)]
    assert any(line.endswith("\u2026") for line in lines)
    assert {line.split()[0].removesuffix("@k") for line in lines} == set(METRICS)
    assert max(map(len, lines)) <= columns
    assert main(["metrics", "ndcg"]) == 0
    words = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).split()
    assert {"ideal_depth", "log2_clip,", "retrieved"} <= set(words)  # whole, at any width


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("options", [[], ["--chance"], ["-m", "ndcg@2"]], ids=" ".join)
def test_no_number_is_split(columns, options, files, capsys, monkeypatch):
    argv = ["evaluate", str(files / "scores.npy"), str(files / "truth.tsv"), *options]
    assert main(argv) == 0
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(argv) == 0
    narrow = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, narrow.splitlines())) <= columns
    numbers = re.compile(r"\d+\.\d+")
    assert sorted(numbers.findall(narrow)) == sorted(numbers.findall(wide))


def test_a_narrow_terminal_cuts_nothing_off(files, capsys, monkeypatch):
    argv = ["evaluate", str(files / "scores.npy"), str(files / "truth.tsv")]
    assert main(argv) == 0
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(argv) == 0
    narrow = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, narrow.splitlines())) <= 30 < max(map(len, wide.splitlines()))
    assert "\u2026" not in narrow
    numbers = re.compile(r"\d+\.\d+")
    assert sorted(numbers.findall(narrow)) == sorted(numbers.findall(wide))
