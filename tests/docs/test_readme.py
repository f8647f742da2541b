"""Docstrings and the table of metrics say what the code does."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from commands import printed
from inside import METRICS

import recmetrics

METRICS_PAGE = Path(__file__).parents[2] / "docs" / "metrics" / "index.md"


def test_the_command_prints_the_table_of_the_metrics(capsys):
    page = re.sub(r"\[(`.*?`)\]\(\w+\.md\)", r"\1", METRICS_PAGE.read_text())
    rows = printed(capsys, "metrics", "--markdown").splitlines()
    assert len(rows) == 2 + len(METRICS)
    assert set(rows) <= set(page.splitlines())


MODULES = [
    module.name
    for module in pkgutil.walk_packages(recmetrics.__path__, "recmetrics.")
    if not module.name.endswith("__main__")
]


# What a module needs that the library does not.
NEEDS = {
    "recmetrics.dask": "dask",
    "recmetrics.spark": "narwhals",
    "recmetrics.tables": "narwhals",
    "recmetrics.torchmetrics": "torchmetrics",
}


@pytest.mark.usefixtures("registry_stays")
@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    needed = NEEDS.get(name) or NEEDS.get(".".join(name.split(".")[:2]), "numpy")
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_every_metric_shows_an_example(metric):
    method = getattr(recmetrics.Metrics, metric.method)
    runner = doctest.DocTestRunner()
    (test,) = doctest.DocTestFinder(recurse=False).find(method, method.__name__, globs={})
    assert test.examples
    assert runner.run(test).failed == 0
