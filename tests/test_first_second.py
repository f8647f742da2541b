"""What a new process loads, and when it compiles."""

import numpy as np
import pytest
from asserts import python

# Everything that is neither of Python nor part of NumPy, of scipy.sparse, or ours.
LOADED = """
import sys, numpy, scipy.sparse
before = set(sys.modules)
{code}
loaded = {{".".join(name.split(".")[:2]) for name in sys.modules.keys() - before}}
print(*sorted(name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names))
"""
EXAMPLE = """
import sys
import numpy as np
from recmetrics import Metrics
for _ in range({n}):
    print(Metrics.compute(np.array([[0.9, 0.1, 0.8, 0.3], [0.2, 0.7, 0.1, 0.6]]),
                          np.array([[1, 0, 0, 1], [0, 1, 0, 0]]), ["ndcg@2", "recall@2"]))
print("numba" in sys.modules)
"""


def loaded_by(code, **environment):
    return python("-P", "-c", LOADED.format(code=code), **environment).stdout.split()


def test_the_import_loads_the_package_alone():
    """Without Numba, scipy.special and scipy.linalg, which take two thirds of the time."""
    packages = {name.split(".")[0] for name in loaded_by("import recmetrics")}
    assert packages == {"recmetrics"}


@pytest.mark.parametrize(
    "words", ["--help", "--version", "metrics", "metrics ndcg", "compare --help", "evaluate --help"]
)
def test_commands_that_compute_nothing_load_no_numba(words):
    code = f"from recmetrics.cli import main\nsys.stdout.flush()\nmain({words.split()!r})"
    assert "numba" not in loaded_by(code)


def test_comparing_and_explaining_load_no_numba():
    code = """
import recmetrics
recmetrics.explain("ndcg@10")
recmetrics.summary({"ndcg@10": [0.1, 0.4, 0.2]})
recmetrics.compare({"a": {"ndcg@10": [0.1, 0.4, 0.2]}, "b": {"ndcg@10": [0.3, 0.1, 0.2]}})
"""
    assert not [name for name in loaded_by(code) if name.startswith(("numba", "llvmlite"))]


def test_a_hundred_small_calls_do_not_even_import_numba():
    *values, has_numba = python("-P", "-c", EXAMPLE.format(n=100)).stdout.splitlines()
    assert has_numba == "False"
    # recall: one of two relevant items, then the only one; ndcg: rank 1 of two items, then rank 1.
    assert len(set(values)) == 1
    assert "'recall@2': array([0.5, 1. ])" in values[0]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"RECMETRICS_JIT": "always"}, "True"),
        ({"RECMETRICS_JIT": "never"}, "False"),
        ({"RECMETRICS_JIT": "auto"}, "False"),
        ({"RECMETRICS_JIT": "always", "NUMBA_DISABLE_JIT": "1"}, "False"),
    ],
)
def test_the_environment_says_when_to_compile(variables, expected):
    environment = {"NUMBA_DISABLE_JIT": "0", **variables}
    assert python("-P", "-c", EXAMPLE.format(n=1), **environment).stdout.split()[-1] == expected


def test_an_unknown_mode_is_an_error():
    code = """
import recmetrics
try:
    recmetrics.Metrics.compute([[1.0, 2.0]], [[1, 0]], "hit@1")
except recmetrics.ArgumentError as error:
    print(error)
"""
    printed = python("-P", "-c", code, RECMETRICS_JIT="yes").stdout
    assert printed == (
        "the environment variable RECMETRICS_JIT must be auto, always or never, got 'yes'; unset "
        "it for auto\n"
    )


GROWING = """
import sys
import numpy as np
import recmetrics
scores = np.random.default_rng(0).random((100, 500), dtype=np.float32)
truth = (scores > 0.98).astype(np.float32)
n_calls = 0
while "numba" not in sys.modules:
    recmetrics.Metrics.compute(scores, truth, "ndcg@10")
    n_calls += 1
print(n_calls)
"""


@pytest.mark.needs_jit
def test_work_adds_up_until_numba_is_imported():
    """About 10 of 500 items are relevant to each of 100 users, which each is compared with 500.

    A comparison takes 1.1 microseconds and a relevant item 20 more: 0.57 s, above 0.3.
    """
    assert python("-P", "-c", GROWING).stdout == "1\n"
    smaller = GROWING.replace("(100, 500)", "(10, 500)")
    assert 5 <= int(python("-P", "-c", smaller).stdout) <= 7


@pytest.mark.needs_jit
def test_the_command_says_once_that_it_compiles(tmp_path):
    np.save(tmp_path / "scores.npy", np.eye(3))
    code = """
from recmetrics.cli import _terminal, main
_terminal._LONG = 0.05
main(["evaluate", "scores.npy", "scores.npy", "-m", "ndcg@2", "recall@2", "--json"])
"""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path), "RECMETRICS_JIT": "always"}
    done = python("-P", "-c", code, cwd=tmp_path, **settings)
    assert done.stderr == "recmetrics: compiling for this machine, once\n"
    assert python("-P", "-c", code, cwd=tmp_path, **settings).stderr == ""
