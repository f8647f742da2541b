"""Scores are read where they lie."""

import os
import subprocess
import sys

import numpy as np
import pytest

resource = pytest.importorskip("resource", reason="limits on memory need a Unix system")

LIMIT = 500 << 20  # bytes of private memory, of which importing and compiling take some 200 MB
MATRIX = """
import sys
import numpy as np
from recmetrics import Metrics
scores = np.load(sys.argv[1], mmap_mode="r")
truth = [np.array([8])] * len(scores)
got = Metrics.compute(scores, truth, ["mrr@10", "ndcg@20"], exclude=[np.array([0])] * len(scores))
print(scores.nbytes >> 20, got["mrr@10"].mean())
"""
FACTORS = """
import sys
import numpy as np
from recmetrics import Metrics
users, items = (np.load(path, mmap_mode="r") for path in sys.argv[1:])
truth = [[700_000]] * 200
values = Metrics.compute_factors(users[5:205], items, truth, "mrr@100")["mrr@100"]
print(set(values.tolist()) == {1 / 3})
"""


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *map(str, arguments)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # its buffers are no matter of ours
    )


pytestmark = [
    pytest.mark.thorough,
    pytest.mark.needs_jit,
    pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's"),
]


def test_a_map_of_2_gb_is_evaluated_in_500_mb(tmp_path):
    path = tmp_path / "scores.npy"
    shape = (20_000, 25_000)
    scores = np.lib.format.open_memmap(path, "w+", np.float32, shape)  # a file of holes: all 0
    # The best item of every hundredth user, since the system makes a page for each; else the eighth
    # of all that tie.
    scores[::100, 8] = 1.0
    del scores
    result = run(MATRIX, path)
    assert result.stdout.split() == ["1907", str((1 + 99 / 8) / 100)], result.stderr
    refused = run(MATRIX.replace('mmap_mode="r"', "mmap_mode=None"), path)
    assert "MemoryError" in refused.stderr  # the limit is one


def test_a_million_users_and_items_are_evaluated_in_500_mb(tmp_path):
    """The product of a block of users alone has 800 MB."""
    paths = [tmp_path / "users.npy", tmp_path / "items.npy"]
    for path in paths:
        factors = np.lib.format.open_memmap(path, "w+", np.float32, (1_000_000, 64))  # holes: all 0
        factors[:, 3] = 1 if path == paths[0] else 0
        factors[[999_999, 500_000, 700_000], 3] += [3, 2, 1]
        del factors
    result = run(FACTORS, *paths)
    assert result.stdout == "True\n", result.stderr
    refused = run(FACTORS.replace('mmap_mode="r"', "mmap_mode=None"), *paths)
    assert "MemoryError" in refused.stderr
