"""The way of a call through the package: print the files it enters, its moves and its calls.

    python tests/campaigns/way.py            # one line for each job
    python tests/campaigns/way.py --verbose  # and every Python function, in the order of the calls

A move is a call of a function in another file than the function called before. The problem has 200
users, 500 items, two metrics and dense truth; one thread, everything compiled.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

import recmetrics
from recmetrics import Evaluator, Metrics
from recmetrics.cli import main as main_of_command

PACKAGE = Path(recmetrics.__file__).parent
METRICS = ["ndcg@10", "recall@20"]


class Way(NamedTuple):
    """The functions of the package that a job calls, each as (file, name)."""

    steps: list[tuple[str, str]]

    @property
    def files(self) -> int:
        """Files entered."""
        return len({file for file, _ in self.steps})

    @property
    def moves(self) -> int:
        """Moves from file to file."""
        files = [file for file, _ in self.steps]
        return sum(a != b for a, b in pairwise(files))


def way_of(job: Callable[[], object]) -> Way:
    """Follow a job that has run before."""
    steps: list[tuple[str, str]] = []

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        # A kernel is called through ``jit``, as it would be through Numba's dispatcher.
        if event == "call" and path.is_relative_to(PACKAGE) and path.name != "jit.py":
            steps.append((str(path.relative_to(PACKAGE)), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return Way(steps)


def of_tables(scores: np.ndarray, truth: np.ndarray) -> Callable[[], object]:
    """The job of tables."""
    import pandas as pd

    from recmetrics.tables import evaluate_table

    chosen = np.argwhere(scores > 1.5)
    recs = pd.DataFrame(chosen, columns=["user", "item"]).assign(score=scores[tuple(chosen.T)])
    relevant = pd.DataFrame(np.argwhere(truth), columns=["user", "item"])
    return lambda: evaluate_table(recs, relevant, METRICS, n_threads=1)


def ways() -> dict[str, Way]:
    """The ways of four jobs."""
    recmetrics.warmup(METRICS)
    with tempfile.TemporaryDirectory() as folder:
        return _ways(Path(folder))


def _ways(folder: Path) -> dict[str, Way]:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((200, 500)).astype(np.float32)
    users, items = (rng.standard_normal((n, 16)).astype(np.float32) for n in (200, 500))
    truth = (rng.random((200, 500)) < 0.02).astype(np.float32)
    evaluator = Evaluator(truth, METRICS, n_threads=1)
    files = [str(folder / f"{name}.npy") for name in ("scores", "truth")]
    for file, array in zip(files, (scores, truth), strict=True):
        np.save(file, array)

    def command() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            main_of_command(["evaluate", *files, "-m", *METRICS, "--threads", "1"])

    jobs = {
        "Metrics.compute": lambda: Metrics.compute(scores, truth, METRICS, n_threads=1),
        "Metrics.compute_factors": lambda: Metrics.compute_factors(
            users, items, truth, METRICS, n_threads=1
        ),
        "Evaluator.update": lambda: evaluator.update(scores),
        "recmetrics evaluate": command,
    }
    if find_spec("pandas") and find_spec("narwhals"):
        jobs["evaluate_table"] = of_tables(scores, truth)
    found = {}
    for name, job in jobs.items():
        for _ in range(2):
            evaluator.reset()
            job()
        evaluator.reset()
        found[name] = way_of(job)
    return found


def main() -> None:
    """Print the ways."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--verbose", action="store_true", help="print every function, too")
    verbose = parser.parse_args().verbose
    for name, way in ways().items():
        print(f"{name:24} {way.files:3} files {way.moves:4} moves {len(way.steps):4} calls")
        for file, function in way.steps if verbose else ():
            print(f"    {file:28} {function}")


if __name__ == "__main__":
    main()
