"""The command as a process, its pages of help and metrics, and the words behind it."""

import ast
import json
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import printed, process, refused
from inside import METRICS

import recmetrics
from recmetrics import cli
from recmetrics.cli import main
from recmetrics.cli._terminal import fold, write

CLI = Path(cli.__file__).parent


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", np.array([[3, 2, 1], [1, 2, 3]], np.float32))
    Path("truth.tsv").write_text("0 0\n1 1\n")


EVALUATE = ["evaluate", "scores.npy", "truth.tsv", "-m", "hit@2"]


def test_the_command_computes_with_public_names():
    """Of the private files: compilation, registry, keys, choices, files, words, reports."""
    private = set()
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("recmetrics._"):
                private.add(node.module.removeprefix("recmetrics."))
    assert private == {
        "_core.errors",
        "_core.jit",
        "_core.results",
        "_core.spec",
        "_core.types",
        "_files",
        "_printing",
        "_report",
    }


# --- As a process --------------------------------------------------------------------------------


def test_a_process_prints_json_or_one_line_of_error():
    done = process(*EVALUATE, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["means"][0]["mean"] == 1.0
    done = process("evaluate", "absent.npy", "truth.tsv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("recmetrics: error: cannot open SCORES 'absent.npy': ")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def a_fault(monkeypatch):
    def evaluate(*_, **__):
        msg = "the \x1b[2J of a file"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr(recmetrics.Metrics, "evaluate", evaluate)


FAULT = (
    "unexpected ZeroDivisionError: the \\x1b[2J of a file; this is a fault of recmetrics: please "
    "report it, with what the same command prints with --debug"
)


@pytest.mark.usefixtures("a_fault")
def test_a_fault_of_the_package_is_one_line_and_never_the_code_of_a_failed_gate(capsys):
    assert refused(capsys, *EVALUATE) == FAULT


@pytest.mark.usefixtures("a_fault")
def test_debug_prints_the_traceback_of_a_fault(capsys):
    assert main([*EVALUATE, "--debug"]) == 2
    out, err = capsys.readouterr()
    first, *_, last = err.splitlines()
    assert (out, first) == ("", "Traceback (most recent call last):")
    assert last == f"recmetrics: error: {FAULT}"
    assert "in evaluate\n" in err
    assert "\nZeroDivisionError: the \\x1b[2J of a file\n" in err


@pytest.mark.parametrize(
    "command", ["demo", "evaluate", "compare", "identify", "audit-times", "metrics"]
)
def test_every_command_has_debug(command, capsys):
    assert "--debug" in printed(capsys, command, "--help")


INTERRUPTED = """
import os, signal, sys
from recmetrics import cli, Metrics
Metrics.evaluate = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)
sys.exit(cli.main())
"""


def test_ctrl_c_ends_with_130_and_without_a_word():
    done = process(*EVALUATE, code=INTERRUPTED)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_while_writing_leaves_the_older_file(capsys, monkeypatch):
    Path("users.csv").write_text("older")
    before = set(Path().iterdir())
    with monkeypatch.context() as interrupting:
        interrupting.setattr(Path, "replace", lambda *_: signal.raise_signal(signal.SIGINT))
        assert main([*EVALUATE, "--per-user", "users.csv"]) == 130
    assert capsys.readouterr() == ("", "")
    assert set(Path().iterdir()) == before
    assert Path("users.csv").read_text() == "older"


def test_a_closed_pipe_ends_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        done = process("metrics", stdout=pipe)
    assert (done.returncode, done.stderr) == (141, "")


def test_closed_streams_show_nothing():
    code = "import sys, recmetrics.cli as c; sys.stdout = sys.stderr = None; sys.exit(c.main())"
    assert [process("metrics", name, code=code).returncode for name in ("mrr", "mr")] == [0, 2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_stdout_is_an_error():
    with Path("/dev/full").open("w") as full:
        done = process("metrics", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "recmetrics: error: cannot write the output: No space left on device\n"


def test_the_command_needs_no_plots_before_they_are_drawn():
    late = {"matplotlib", "scipy.stats", "polars"}
    code = f"import sys, recmetrics.cli; print({late} & {{*sys.modules}})"
    assert process(code=code).stdout == "set()\n"


# --- Help, version, metrics ----------------------------------------------------------------------


def test_version_and_help(capsys):
    assert printed(capsys, "--version") == f"recmetrics {recmetrics.__version__}\n"
    for name in ("demo", "evaluate", "compare", "metrics"):
        assert printed(capsys, name, "--help").startswith(f"usage: recmetrics {name} ")
        assert re.search(rf"^  {name} ", printed(capsys, "--help"), re.MULTILINE)


def test_the_help_begins_with_an_example_and_folds(capsys, monkeypatch):
    first = printed(capsys, "--help").splitlines()[0]
    assert first == "example: recmetrics evaluate scores.npy test.npz -m ndcg@10 recall@20"
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = printed(capsys, "--help").splitlines()
    assert max(map(len, lines)) <= 50
    assert "  metrics      List all metrics, or explain one:" in lines


def test_one_metric_is_not_printed_as_markdown(capsys):
    assert main(["metrics", "ndcg", "--markdown"]) == 2
    expected = "recmetrics: error: --markdown prints all metrics; leave it out, or 'ndcg'\n"
    assert capsys.readouterr().err == expected


def test_the_catalogue_lists_the_registry(capsys):
    rows = printed(capsys, "metrics").splitlines()
    for metric in METRICS.values():
        name = f"{metric.name}@k" if metric.default_k else metric.name
        row = next(row for row in rows if row.split()[:1] == [name])
        assert re.split("[:;.`*]", metric.summary)[0].strip() in row


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_one_metric_in_full(metric, capsys):
    out = printed(capsys, "metrics", metric.name)
    for text in (metric.summary, metric.formula, metric.citation):
        assert text.replace("``", "") in out
    assert "``" not in out  # for people, not for Sphinx
    lines = out.splitlines()
    for option in metric.options.values():
        row = next(row for row in lines if row.split()[:1] == [option.name])
        assert option.meaning in row
        assert all(choice in row for choice in option.choices)
        assert ("not set" if option.default is None else str(option.default)) in row
    needed = [" or ".join(group) for group in metric.needs]
    shown = [line.removeprefix("needs").strip() for line in lines if line.startswith("needs ")]
    assert shown == ([", ".join(needed)] if needed else [])
    undefined = [line.removeprefix("NaN if      ") for line in lines if line.startswith("NaN if")]
    assert undefined == (
        [metric.undefined] if metric.name not in ("popularity", "long_tail") else []
    )


def test_a_whole_metric_string_is_explained_above_the_rest(capsys):
    by_name = printed(capsys, "metrics", "ndcg").splitlines()
    explained = printed(capsys, "metrics", "NDCG(gain=exp2)@10").splitlines()
    assert explained[0] == "ndcg(gain=exp2)@10"
    assert not any(line.startswith("NaN if") for line in explained)  # told as the empty truth
    for fact in recmetrics.explain("ndcg(gain=exp2)@10").facts.values():
        assert all(any(line.endswith(part) for line in explained) for part in fact.splitlines())
    options = by_name.index(next(line for line in by_name if line.startswith("option ")))
    assert explained[-len(by_name[options:]) :] == by_name[options:]
    assert refused(capsys, "metrics", "ndgc").endswith("'ndgc'; did you mean 'ndcg'?")


@pytest.mark.parametrize("metric", ["ndcg@10", "NDCG", "hr@5"])
def test_a_metric_string_of_another_system_is_explained(metric, capsys):
    explanation = recmetrics.explain(metric, convention="lenskit")
    lines = printed(capsys, "metrics", metric, "--convention", "LensKit").splitlines()
    assert lines[0] == explanation.title
    for label, fact in explanation.facts.items():
        found = [line.removeprefix(label).strip() for line in lines if line.startswith(f"{label} ")]
        assert found == fact.splitlines()[:1]


@pytest.mark.parametrize("more", [[], ["--markdown"]])
def test_all_metrics_have_no_convention(more, capsys):
    message = refused(capsys, "metrics", "--convention", "lenskit", *more)
    call = message.partition("--convention explains one metric; give its NAME, such as: ")[2]
    assert call == "recmetrics metrics ndcg@10 --convention lenskit"
    assert printed(capsys, *call.split()[1:]).startswith("ndcg(gain=binary")


@pytest.mark.parametrize("columns, is_cut", [(20, True), (80, False)])
def test_the_catalogue_is_a_line_for_each_metric_of_a_terminal(
    columns, is_cut, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = printed(capsys, "metrics").splitlines()[: len(METRICS)]
    assert any(line.endswith("\u2026") for line in lines) == is_cut
    assert {line.split()[0].removesuffix("@k") for line in lines} == set(METRICS)
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [40, 80])
def test_one_metric_folds_at_the_width_of_a_terminal(columns, capsys, monkeypatch):
    wide = printed(capsys, "metrics", "ndcg")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    narrow = printed(capsys, "metrics", "ndcg")
    page, examples = narrow.split("\n>>> ", 1)
    assert max(map(len, page.splitlines())) <= columns < max(map(len, wide.splitlines()))
    assert examples == wide.split("\n>>> ", 1)[1]  # code stays as it is
    if columns == 80:
        assert "\n            same sum of the ideal: the user's relevances" in page
        assert (
            "\ndiscount     log2, log2_clip, ln,          log2     divisor of the gain at" in page
        )
        assert (
            "\nthey are weights; if they grow, they are divisors. A constant is a weight. rel"
            in page
        )


def test_an_audit_folds_at_the_width_of_a_terminal(capsys, monkeypatch):
    argv = [*EVALUATE, "--exclude", "truth.tsv", "--audit"]
    wide = printed(capsys, *argv)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    narrow = printed(capsys, *argv)
    audit = narrow.partition("\n\n")[0]
    assert audit.split() == wide.partition("\n\n")[0].split()
    assert max(map(len, audit.splitlines())) <= 40 < max(map(len, wide.splitlines()))


def test_a_line_whose_last_column_begins_in_the_second_half_folds_to_the_margin(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert fold("a  b of several words") == "a  b of several\n   words"
    assert fold("a first column  b of words") == "a first column  b of\nwords"
    assert fold("  - an item of several words") == "  - an item of\n    several words"


def test_stdout_that_lacks_a_character(monkeypatch):
    with Path("out.txt").open("w", encoding="ascii") as ascii_only:
        monkeypatch.setattr(sys, "stdout", ascii_only)
        write("caf\u00e9")
    assert Path("out.txt").read_text(encoding="ascii") == "caf?"


def test_progress_is_shown_on_a_terminal_alone(capsys, monkeypatch):
    piped = printed(capsys, *EVALUATE)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")  # it cannot erase a line
    assert main(EVALUATE) == 0
    assert capsys.readouterr() == (piped, "")
    monkeypatch.setenv("TERM", "xterm")
    assert main(EVALUATE) == 0
    shown = capsys.readouterr()
    assert "evaluating users: 2 of 2" in shown.err
    assert shown.err.endswith("\r\x1b[K")  # the line is clean again
    assert shown.out == piped


# --- Words ---------------------------------------------------------------------------------------

SEE = "; see 'recmetrics evaluate --help'"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            [],
            "expected a command: demo, evaluate, compare, identify, audit-times, metrics; see "
            "'recmetrics --help'",
        ),
        (
            ["evalute"],
            "unknown command 'evalute'; did you mean 'evaluate'?; see 'recmetrics --help'",
        ),
        (
            ["gate"],
            "unknown command 'gate'; a gate is an option: recmetrics compare OLD NEW --baseline "
            "OLD --gate RULE; see 'recmetrics --help'",
        ),
        (
            ["explain", "recall"],
            "unknown command 'explain'; a metric string is explained by: recmetrics metrics "
            "STRING; see 'recmetrics --help'",
        ),
        (["evaluate"], "give the files: recmetrics evaluate SCORES TRUTH" + SEE),
        (
            ["evaluate", "scores.npy"],
            "SCORES 'scores.npy' needs a TRUTH; type: recmetrics evaluate scores.npy TRUTH; only "
            "a table of groups (.csv, .tsv, .inter or .parquet) needs none",
        ),
        (
            [*EVALUATE, "--threads", "0"],
            "argument --threads: expected an integer >= 1, got '0'" + SEE,
        ),
        ([*EVALUATE, "--by=x"], "unknown option '--by'; it belongs to 'recmetrics compare'" + SEE),
        ([*EVALUATE, "--thread=1"], "unknown option '--thread'; did you mean '--threads'?" + SEE),
        (
            [*EVALUATE[:3], "--metrics", "hit@2", "mrr"],
            "unknown option '--metrics'; did you mean '--metric'?" + SEE,
        ),
        ([*EVALUATE[:3], "two\nlines"], r"unexpected word 'two\nlines' behind SCORES TRUTH" + SEE),
        (
            [*EVALUATE, "--json", "out.json"],
            "unexpected word 'out.json' behind SCORES TRUTH; to write JSON to a file type: --json "
            "> out.json" + SEE,
        ),
        (
            ["evaluate", "-m", "ndcg@10", "scores.npy", "truth.tsv"],
            "-m takes all words after it, and 'scores.npy' is no metric; give the files first "
            "(recmetrics evaluate scores.npy truth.tsv -m METRIC), or put -- before them",
        ),
        (
            ["compare", "a.npz", "--compact", "-m", "ndcg@10", "b.npz"],
            "-m takes all words after it, and 'b.npz' is no metric; give the files first "
            "(recmetrics compare a.npz b.npz -m METRIC), or put -- before them",
        ),
        ([*EVALUATE, "recal@20"], "in metric 'recal@20': unknown metric 'recal'; did you mean "),
        ([*EVALUATE[:3], "-m", "ndcg(gian=exp2)@10"], "in metric 'ndcg(gian=exp2)@10': "),
        ([*EVALUATE[:3], "-m", "ndcg@0"], "in metric 'ndcg@0': "),
        ([*EVALUATE[:3], "-m", "@"], "cannot read metric '@'"),
        ([*EVALUATE, "--nan", "empty"], "argument --nan: invalid choice: 'empty'"),
        (["demo", "--items", "99"], "argument --items: expected an integer >= 100, got '99'; see "),
        (["demo", "--plot", "x.jpg"], "--plot 'x.jpg': expected a file name that ends in .png"),
        ([*EVALUATE, "--per-user", "u.txt"], "--per-user 'u.txt': expected a file name that ends "),
        ([*EVALUATE, "--per-user", "no/u.csv"], "--per-user 'no/u.csv': the folder 'no' does not "),
        ([*EVALUATE, "--per-user", "d.csv"], "--per-user 'd.csv' is a folder; expected the name "),
    ],
)
def test_bad_words(argv, message, capsys):
    Path("d.csv").mkdir()
    got = refused(capsys, *argv)
    assert got.startswith(message)
    assert got == message or not message.endswith((SEE, "--help'", "--", "none"))


SCORES, RECS = "SCORES, an .npy or .npz", "RECS, a table of recommendations"
GROUPS = "GROUPS, a table without TRUTH"


@pytest.mark.parametrize(
    ("files", "option", "forms", "got"),
    [
        ("r.csv t.csv", "--candidates t", SCORES, "RECS is a table of recommendations"),
        (
            "r.csv t.csv",
            "--genres g.csv",
            SCORES,
            "RECS is a table of recommendations; for a table of 'item' and a column for each "
            "genre, 1 if the item has it, in Python, type evaluate_table('r.csv', 't.csv', ..., "
            "genres='g.csv')",
        ),
        ("r.csv t", "--ties best", f"{SCORES}, or {GROUPS}", "RECS is a table of recommendations"),
        ("s.npy t.npy", "--include-missing", RECS, "SCORES is an .npy or .npz"),
        ("s.npz t.npy", "--score s", f"{RECS}, or {GROUPS}", "SCORES is an .npy or .npz"),
        (
            "r.txt t",
            "--in-order",
            RECS,
            "SCORES 'r.txt' is no .csv, .tsv, .inter or .parquet, nor a TREC run",
        ),
        ("g.csv", "--chance", SCORES, "GROUPS is a table without TRUTH"),
        (
            "g.csv",
            "--rank r",
            RECS,
            "GROUPS is a table without TRUTH; type recmetrics evaluate g.csv TRUTH",
        ),
        (
            "g.csv",
            "--popularity-from t",
            f"{SCORES}, or {RECS}",
            "GROUPS is a table without TRUTH; type recmetrics evaluate g.csv TRUTH",
        ),
        ("s.npy t.csv", "--group qid", GROUPS, "got TRUTH 't.csv'"),
        ("r.csv t.csv", "--group qid", GROUPS, "got TRUTH 't.csv'"),
    ],
)
def test_options_go_with_the_form_of_the_files(files, option, forms, got, capsys):
    message = f"{option.split()[0]} goes with {forms}; {got}"
    assert refused(capsys, "evaluate", *files.split(), *option.split()) == message


THREE = ["hit@1", "recall(rel=1,denom=relevant)@2", "auc"]
FILES = ["scores.npy", "truth.tsv"]


@pytest.mark.parametrize(
    "argv",
    [
        [*FILES, "-m", *THREE],
        ["-m", ",".join(THREE[:2]), THREE[2], "--", *FILES],
        ["-m", THREE[0], "-m", THREE[1], "--metric", THREE[2], "--", *FILES],
        ["-m", ", ".join(THREE[:2]), THREE[2], "--threads", "1", *FILES],
        [FILES[0], "--threads", "1", FILES[1], "--metric", *THREE],
    ],
)
def test_metrics_end_where_the_next_option_begins(argv, capsys):
    found = json.loads(printed(capsys, "evaluate", "--json", *argv))
    assert [each["metric"].strip() for each in found["means"]] == THREE
