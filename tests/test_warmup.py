"""After a warm-up the first call compiles nothing."""

import os
import shutil
from pathlib import Path

import pytest
from asserts import python
from inside import in_python, parse

import recmetrics
from recmetrics import InputTypeError, UnknownMetricError, warmup
from recmetrics._core import jit

PACKAGE = Path(recmetrics.__file__).parent

CODE = """
import sys
import numpy as np, scipy.sparse as sp
from numba.core import event
import recmetrics
from recmetrics._core import machine_code

compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"])
    def on_end(self, event): pass

metrics = ["hit@10", "auc", "recall(of=tail)@10", "recall(of=tail, weigh=snips)@10"]
if "warm" in sys.argv:  # which calls itself, for metrics with and without ties: one each, for time
    every = recmetrics._core.warmup.METRICS
    recmetrics._core.warmup.METRICS = {name: every[name] for name in ("hit", "auc")}
    recmetrics.warmup()
    recmetrics._core.warmup.METRICS = every
    recmetrics.warmup(metrics[2:])  # strata and weights are asked for
event.register("numba:compile", Listener())
scores = np.random.default_rng(0).random((3, 3_000), dtype=np.float32)
truth = np.zeros((3, 3_000), np.float32)
truth[:, 5] = 1
if "one" in sys.argv:
    recmetrics.Metrics.compute(scores, truth, metrics[:1], candidates=[3, 5])
else:
    options = {"strata": {"tail": [5, 6]}, "propensity": np.ones(3_000)}
    for form in (truth, sp.csr_array(truth)):
        recmetrics.Metrics.compute(scores, form, metrics, exclude=[np.array([7])] * 3, **options)
    recmetrics.Metrics.compute(scores, truth, metrics, candidates=[3, 5], **options)
of_kernels = machine_code._dispatchers.values()
n_loaded = sum(sum(kernel.stats.cache_hits.values()) for kernel in of_kernels)
print(len(compiled), n_loaded)
"""


@pytest.mark.thorough
@pytest.mark.needs_jit
def test_after_a_warm_up_no_process_compiles_until_a_file_is_edited(tmp_path):
    """Also from a copied cache, as in an image of a container, which rounds the times of files."""
    package, there, image = tmp_path / "recmetrics", tmp_path / "there", tmp_path / "image"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))

    def run(cache, *words):
        """How many kernels a process compiled after its warm-up, and how many it loaded."""
        environment = {"PYTHONPATH": str(tmp_path), "RECMETRICS_JIT": "always"}
        environment["NUMBA_CACHE_DIR"] = str(cache)
        return tuple(map(int, python("-P", "-c", CODE, *words, **environment).stdout.split()))

    assert run(there, "warm") == (0, 0)
    shutil.copytree(there, image)
    for file in package.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    command = package / "cli" / "_command.py"
    command.write_text(command.read_text() + "# edited\n")
    compiled, loaded = run(image)
    assert compiled == 0
    assert loaded > 0
    scores = package / "_core" / "inputs" / "scores.py"
    scores.write_text(scores.read_text() + "# edited\n")
    compiled, loaded = run(image, "one")
    assert compiled > 0
    assert loaded == 0


def test_every_metric_can_be_warmed_up():
    python("-P", "-W", "error", "-c", "import recmetrics as r; r.warmup()", NUMBA_DISABLE_JIT="1")


@pytest.fixture
def in_a_moment(monkeypatch):
    """Kernels run as Python in a warm-up, and those after it are compiled no sooner."""
    monkeypatch.setattr(jit._Work, "total", 0.0)
    with in_python():
        yield


@pytest.mark.usefixtures("in_a_moment")
def test_it_refuses_an_unknown_metric():
    warmup("hit@1")
    warmup([parse("hit@1")])
    with pytest.raises(UnknownMetricError, match="did you mean 'hit@1'"):
        warmup("hitt@1")


@pytest.mark.usefixtures("in_a_moment")
def test_it_refuses_a_dtype_that_is_none():
    with pytest.raises(InputTypeError, match=r"^dtype must be that of scores, .* got 'foo'$"):
        warmup("hit@1", dtype="foo")
