"""The README says what the code does."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from commands import printed

import recmetrics
from recmetrics._spec.registry import METRICS

README = (Path(__file__).parents[2] / "README.md").read_text()
TABLE = re.compile(r"(<!-- metrics:.*?-->\n\n)(.*?)(\n<!-- end of metrics -->)", re.DOTALL)


def test_the_metric_table_is_the_registry(capsys):
    assert TABLE.search(README)[2] == printed(capsys, "metrics", "--markdown")


MODULES = [
    module.name
    for module in pkgutil.walk_packages(recmetrics.__path__, "recmetrics.")
    if not module.name.endswith("__main__")
]


# What a module needs that the library does not.
NEEDS = {
    "recmetrics.dask": "dask",
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
