"""The command in this process, and as one of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recmetrics
from recmetrics.cli import _terminal, main

_terminal._LONG_COMPILATION = 3_600.0  # on a busy machine a compilation would be told on stderr


def require_tables():
    """Skip a test where the command can read no tables."""
    for package in ("narwhals", "polars"):
        pytest.importorskip(package, reason=f"{package} is not installed")


def printed(capsys, *argv):
    """Run the command; give what it printed. It may say nothing else."""
    assert main([*map(str, argv)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def evaluated(capsys, *argv):
    """Give the JSON of ``evaluate``, with its means by metric as "of"."""
    found = json.loads(printed(capsys, "evaluate", *argv, "--json"))
    return found | {"of": {each["metric"]: each for each in found["means"]}}


def refused(capsys, *argv):
    """Give the one line that the command ends in; it may write no file."""
    before = {path: path.is_file() and path.read_bytes() for path in Path().iterdir()}
    assert main([*map(str, argv)]) == 2
    out, err = capsys.readouterr()
    assert {path: path.is_file() and path.read_bytes() for path in Path().iterdir()} == before
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("recmetrics: error: ")
    return err.removeprefix("recmetrics: error: ").removesuffix("\n")


def rejected(capsys, *argv):
    """Give the one line that ``evaluate`` ends in."""
    return refused(capsys, "evaluate", *argv)


def process(*argv, code=None, **options):
    """Run the command, or the program ``code``, as a user's shell would."""
    package = str(Path(recmetrics.__file__).parents[1])
    env = os.environ | {"PYTHONPATH": package, "PYTHONUNBUFFERED": ""} | options.pop("env", {})
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    program = [sys.executable, *(["-m", "recmetrics"] if code is None else ["-c", code])]
    return subprocess.run([*program, *argv], timeout=100, check=False, env=env, **usual | options)
