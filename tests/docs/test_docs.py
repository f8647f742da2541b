"""The documentation runs: every block of Python in it, in order, with the results that it shows.

A block that is only shown, such as a call of another system, is marked ``py``.
"""

import ast
import importlib
import math
import re
import shlex
import shutil
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from asserts import python
from inside import METRICS, as_a_new_process
from packages import absent

from recmetrics.cli import main

ROOT = Path(__file__).parents[2]
ADD_A_METRIC = ROOT / "docs" / "add_a_metric.md"
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - {ADD_A_METRIC})
BLOCK = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```\n"
    r"(\n(?P=indent)```text\n(?P<printed>.*?)^(?P=indent)```\n)?",
    re.DOTALL | re.MULTILINE,
)
SHOWN = re.compile(r"^```py [^\n]*\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+\.\d+")

sys.path.insert(0, str(ROOT / "docs" / "site"))
example = importlib.import_module("example")


def blocks(page):
    """The code of each block, and what the page says that it prints."""
    return [
        (textwrap.dedent(block["code"]), textwrap.dedent(block["printed"] or ""))
        for block in BLOCK.finditer(page.read_text())
    ]


def last_value(code):
    """The statements, the expression at the end, and the comment lines after it, if any."""
    lines = code.rstrip("\n").split("\n")
    comment = []
    while lines[-1].startswith("# "):
        comment.insert(0, lines.pop()[2:])
    *statements, last = ast.parse(code).body
    if not comment or not isinstance(last, ast.Expr):
        return None
    return statements, last.value, "".join(comment)


def run(code, file, scope):
    asserted = last_value(code)
    if asserted is None:
        exec(compile(code, file, "exec"), scope)
        return
    statements, expression, result = asserted
    exec(compile(ast.Module(statements, []), file, "exec"), scope)
    value = eval(compile(ast.Expression(expression), file, "eval"), scope)
    assert "".join(repr(value).split()) == "".join(result.split())


def assert_same(printed, shown):
    """Words are equal; numbers may differ by one in the last digit, since libraries round."""
    assert NUMBER.sub("0", printed).split() == NUMBER.sub("0", shown).split(), printed
    for got, expected in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        digits = len(expected.partition(".")[2])
        assert math.isclose(float(got), float(expected), abs_tol=1.01 * 10**-digits), printed


def page_id(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=page_id)
def test_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "page"}
    for number, (code, shown) in enumerate(blocks(page)):
        if missing := absent(code):
            pytest.skip(f"{missing} is not installed")
        file = tmp_path / f"block_{number}.py"
        file.write_text(code)
        with as_a_new_process() as process:
            run(code, str(file), scope)
        assert_same(capsys.readouterr().out, shown)
        assert process.is_large or not process.compilations, "a small block waits for the compiler"


@pytest.mark.parametrize("name, least", [("command", 11), ("your_data", 3)])
def test_the_commands_of_a_guide_run(name, least, tmp_path, monkeypatch, capsys):
    if find_spec("polars") is None or find_spec("matplotlib") is None:
        pytest.skip("the extra cli is not installed")
    page = ROOT / "docs" / "guides" / f"{name}.md"
    monkeypatch.chdir(tmp_path)
    scope = {}
    for code, _ in blocks(page):
        exec(code, scope)
    capsys.readouterr()
    commands = re.findall(r"^recmetrics (.*)", page.read_text(), re.MULTILINE)
    assert len(commands) >= least
    for command in commands:
        assert main(shlex.split(command)) == 0, command
        printed = capsys.readouterr()
        assert printed.out
        told = ("recmetrics: note: ", "recmetrics: compiling ")  # the latter on a busy machine
        assert all(line.startswith(told) for line in printed.err.splitlines())


def test_the_workflow_of_the_guide_judges(tmp_path, monkeypatch, capsys):
    page = ROOT / "docs" / "guides" / "decision.md"
    monkeypatch.chdir(tmp_path)
    command = re.search(
        r"^ +recmetrics (compare .*?) >>", page.read_text(), re.MULTILINE | re.DOTALL
    )
    scope = {}
    exec(blocks(page)[0][0], scope)
    samples = scope["found"].samples
    for model, values in samples.values.items():
        np.savez(f"{model}.npz", **values)
    Path("segments.txt").write_text(
        "active\nquiet\n" * (samples.values["old"]["ndcg@10"].size // 2)
    )
    capsys.readouterr()
    assert main(shlex.split(command[1])) == 3
    assert "verdict of new: open" in capsys.readouterr().out


WORKED = [text for metric in METRICS.values() for text in example.strings(metric)]


@pytest.mark.parametrize("text", example.BY_HAND)
def test_the_catalogue_is_right_by_hand(text):
    by_hand, value = example.by_hand(text), example.value(text)
    assert text in WORKED
    assert value == pytest.approx(by_hand, rel=1e-12, nan_ok=True)


def test_the_catalogue_works_through_every_option():
    assert set(WORKED) == set(example.BY_HAND)


@pytest.mark.thorough
def test_the_metric_that_the_guide_adds_is_there(tmp_path):
    """The edit is made in a copy of the package, and the page run on that."""
    package = tmp_path / "recmetrics"
    shutil.copytree(ROOT / "recmetrics", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", tmp_path / "tests")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    block, name = SHOWN.findall(ADD_A_METRIC.read_text())
    metrics = package / "_core" / "metrics" / "accuracy.py"
    metrics.write_text(f"{metrics.read_text()}\n\n{block}")
    names = package / "_core" / "compute.py"
    names.write_text(names.read_text() + name)

    def there(*arguments, **more):
        more |= {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return python(*arguments, cwd=tmp_path, **more).stdout

    code, shown = ("".join(parts) for parts in zip(*blocks(ADD_A_METRIC), strict=True))
    assert_same(there("-c", code), shown)
    selected = "borda and not hand_worked"
    tested = ["metrics/test_kernels.py", "selection/test_ties.py", "docs/test_readme.py"]
    # The page has compiled it; compiling all that these tests select with would take a minute.
    given = {"NUMBA_DISABLE_JIT": "1"}
    assert " passed" in there(
        "-m", "pytest", "-q", "-k", selected, *(f"tests/{each}" for each in tested), **given
    )
