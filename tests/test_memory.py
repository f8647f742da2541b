"""Scores are read where they lie."""

import os
import subprocess
import sys

import numpy as np
import pytest

resource = pytest.importorskip("resource", reason="limits on memory need a Unix system")

LIMIT = 500 << 20  # bytes of private memory, of which importing and compiling take some 200 MB
CODE = """
import sys
import numpy as np
from recmetrics import Metrics
scores = np.load(sys.argv[1], mmap_mode="r")
truth = [np.array([7])] * len(scores)
got = Metrics.compute(scores, truth, ["mrr@10", "ndcg@20"], exclude=[np.array([0])] * len(scores))
print(scores.nbytes >> 20, got["mrr@10"].mean())
"""


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # its buffers are no matter of ours
    )


@pytest.mark.thorough
@pytest.mark.needs_jit
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_map_of_4_gb_is_evaluated_in_500_mb(tmp_path):
    path = tmp_path / "scores.npy"
    shape = (20_000, 50_000)
    scores = np.lib.format.open_memmap(path, "w+", np.float32, shape)  # a file of holes: all 0
    scores[::2, 7] = 1.0  # the best item of every other user; else the seventh of all that tie
    del scores
    result = run(CODE, str(path))
    assert result.stdout.split() == ["3814", str((1 + 1 / 7) / 2)], result.stderr
    refused = run(CODE.replace('mmap_mode="r"', "mmap_mode=None"), str(path))
    assert "MemoryError" in refused.stderr  # the limit is one
