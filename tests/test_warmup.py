"""After a warm-up the first call compiles nothing."""

import os
import shutil
from pathlib import Path

import pytest
from asserts import python
from inside import parse

import recmetrics
from recmetrics import InputTypeError, UnknownMetricError, warmup

PACKAGE = Path(recmetrics.__file__).parent

CODE = """
import numpy as np, scipy.sparse as sp
from numba.core import event
import recmetrics

compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"])
    def on_end(self, event): pass

metrics, options = ["hit@10"], {{}}
{before}
event.register("numba:compile", Listener())
scores = np.random.default_rng(0).random((3, 3_000), dtype=np.float32)
truth = np.zeros((3, 3_000), np.float32)
truth[:, 5] = 1
for form in (truth, sp.csr_array(truth)):
    recmetrics.Metrics.compute(scores, form, metrics, exclude=[np.array([7])] * 3, **options)
recmetrics.Metrics.compute(scores, truth, metrics, candidates=[3, 5], **options)
print(len(compiled))
"""


def compilations(before, cache, **environment):
    environment |= {"NUMBA_CACHE_DIR": str(cache), "RECMETRICS_JIT": "always"}
    return int(python("-P", "-c", CODE.format(before=before), **environment).stdout)


@pytest.mark.thorough
def test_the_first_call_after_a_warm_up_compiles_nothing(tmp_path):
    """The warm-up calls itself, for metrics with and without ties; strata and weights are asked."""
    everything = (
        "{name: recmetrics._core.warmup.METRICS[name] for name in ('hit', 'auc')}"  # for time
    )
    code = f"""
recmetrics._core.warmup.METRICS = {everything}
recmetrics.warmup()
of_some = ["recall(of=tail)@10", "recall(of=tail, weigh=snips)@10"]
recmetrics.warmup(of_some)
metrics += of_some
options = {{"strata": {{"tail": [5, 6]}}, "propensity": np.ones(3_000)}}
"""
    assert compilations(code, tmp_path) == 0


@pytest.mark.thorough
@pytest.mark.needs_jit
def test_a_later_process_compiles_nothing_either_and_an_edited_file_again(tmp_path):
    """Also from a copied cache, as in an image of a container, which rounds the times of files."""
    package, there, image = tmp_path / "recmetrics", tmp_path / "there", tmp_path / "image"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))

    def run(cache):
        return compilations("", cache, PYTHONPATH=str(tmp_path))

    all_of_them = run(there)
    assert all_of_them > 0
    assert run(there) == 0
    shutil.copytree(there, image)
    for file in package.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    assert run(image) == 0
    command = package / "cli" / "_command.py"
    command.write_text(command.read_text() + "# edited\n")
    assert run(image) == 0
    scores = package / "_core" / "inputs" / "scores.py"
    scores.write_text(scores.read_text() + "# edited\n")
    assert run(image) == all_of_them


def test_every_metric_can_be_warmed_up():
    python("-P", "-W", "error", "-c", "import recmetrics as r; r.warmup()", NUMBA_DISABLE_JIT="1")


def test_it_refuses_an_unknown_metric():
    warmup("hit@1")
    warmup([parse("hit@1")])
    with pytest.raises(UnknownMetricError, match="did you mean 'hit@1'"):
        warmup("hitt@1")


def test_it_refuses_a_dtype_that_is_none():
    with pytest.raises(InputTypeError, match=r"^dtype must be that of scores, .* got 'foo'$"):
        warmup("hit@1", dtype="foo")
