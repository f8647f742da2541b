"""Evaluate factor models without a score matrix: time and memory, after a check of the values.

    python benchmarks/factors.py                            all sections
    python benchmarks/factors.py short product              only these

short: 10,000 users x 3,706 items x 64 factors in float32, eight metrics, relative to NumPy's matrix
product. product: 20,000 users x 50,000 items x 64 factors in float32, relative to the matrix
product; also the dense way and implicit's own evaluation. million: 1,000,000 x 1,000,000 x 64 from
memory maps, for a slice of the users, in a separate process. gowalla: a truncated SVD of the real
split, read from the folder in RECMETRICS_DATA as in real.py. Run it on a machine without other
work.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from problems import SEED, eight_columns, item_sets
from real import data_folder, split_files
from scipy.sparse.linalg import svds
from timing import THREADS, environment, in_turn

from recmetrics import Metrics
from recmetrics._core.inputs import Rows
from recmetrics._core.selection.factors import FactorScores
from recmetrics._core.threads import map_blocks

SHORT = (10_000, 3_706, 64)
SHORT_TARGET = 1.3
PRODUCT = (20_000, 50_000, 64)
MILLION = (1_000_000, 1_000_000, 64)
SLICE = 1_920  # users of the million
GOWALLA_FACTORS = 64
BLOCKS = (250, 1_000, 4_000)  # users multiplied at a time by the product alone
METRICS = ["ndcg@20", "recall@20", "map@20", "hit@20"]
os.environ["RECMETRICS_JIT"] = "always"  # so that the first call, on few users, compiles


def run_short(repeats: int) -> None:
    """Time the evaluation of a short catalogue over NumPy's product with all cores."""
    n_users, n_items, d = SHORT
    rng = np.random.default_rng(SEED)
    users = rng.standard_normal((n_users, d), dtype=np.float32)
    items = rng.standard_normal((n_items, d), dtype=np.float32)
    truth = item_sets((n_users, n_items), 10, rng)

    def evaluate() -> Any:
        return Metrics.compute_factors(users, items, truth, eight_columns(20))

    evaluate()
    ratio = in_turn(evaluate, lambda: users @ items.T, repeats, pause=0.2)
    met = "" if ratio.value <= SHORT_TARGET else f"; target {SHORT_TARGET}"
    print(f"\n{n_users:,} users x {n_items:,} items x {d} factors, float32, {THREADS} cores")
    print(
        f"  eight columns over it {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f}), "
        f"{ratio.ms:.1f} / {ratio.other_ms:.1f} ms{met}"
    )


def run_product(repeats: int) -> None:
    """Time the evaluation over the matrix product alone."""
    n_users, n_items, d = PRODUCT
    rng = np.random.default_rng(SEED)
    users = rng.standard_normal((n_users, d), dtype=np.float32)
    items = rng.standard_normal((n_items, d), dtype=np.float32)
    truth = item_sets((n_users, n_items), 10, rng)
    seen = item_sets((n_users, n_items), 100, rng)
    print(f"\n{n_users:,} users x {n_items:,} items x {d} factors, float32, {THREADS} cores")

    def product(rows: int) -> Callable[[], None]:
        out = np.empty((rows, n_items), np.float32)

        def multiply() -> None:
            for first in range(0, n_users, rows):
                part = users[first : first + rows]
                np.matmul(part, items.T, out=out[: len(part)])

        return multiply

    def dense() -> dict[str, np.ndarray]:
        parts = []
        for first in range(0, n_users, 1_000):
            rows = slice(first, first + 1_000)
            parts.append(Metrics.compute(users[rows] @ items.T, truth[rows], METRICS))
        return {metric: np.concatenate([part[metric] for part in parts]) for metric in METRICS}

    def lists(k: int) -> Callable[[], list[Any]]:
        def select() -> list[Any]:
            scores = FactorScores(users, items)
            blocks, n_threads = scores.blocks(THREADS)

            def best(rows: slice) -> Any:
                return scores.best(rows, k, Rows.none(rows.stop - rows.start), None)

            return map_blocks(best, blocks, n_threads)

        return select

    times = {rows: _seconds(product(rows)) for rows in BLOCKS}
    fastest = min(times, key=times.__getitem__)
    shown = ", ".join(f"{rows:,}: {seconds:.2f} s" for rows, seconds in times.items())
    print(f"  the product alone, in blocks of users ({shown}); the unit is the fastest")
    at_100 = [metric.replace("@20", "@100") for metric in METRICS]
    runs: dict[str, Callable[[], Any]] = {
        "lists of 20": lists(20),
        "lists of 100": lists(100),
        "four metrics at 20": lambda: Metrics.compute_factors(users, items, truth, METRICS),
        "four metrics at 100": lambda: Metrics.compute_factors(users, items, truth, at_100),
        "the same at 20, 100 excluded": lambda: Metrics.compute_factors(
            users, items, truth, METRICS, exclude=seen
        ),
        "the dense way, at 20": dense,
    }
    _differences(Metrics.compute_factors(users, items, truth, METRICS), dense())
    implicit = _implicit(users, items, truth)
    if implicit is not None:
        runs["implicit.evaluation, precision map ndcg auc at 20"] = implicit
    for name, run in runs.items():
        run()
        ratio = in_turn(run, product(fastest), repeats)
        print(
            f"  {name:<52}{ratio.value:7.2f}  ({ratio.low:.2f} to {ratio.high:.2f}), "
            f"{ratio.ms / 1e3:.2f} s"
        )


def _implicit(users: np.ndarray, items: np.ndarray, truth: Any) -> Callable[[], Any] | None:
    try:
        from implicit.cpu.als import AlternatingLeastSquares
        from implicit.evaluation import ranking_metrics_at_k
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        print(f"  implicit: {error}")
        return None
    model = AlternatingLeastSquares(factors=users.shape[1])
    model.user_factors, model.item_factors = users, items
    wanted = sp.csr_matrix(truth, dtype=np.float32)
    wanted.indices, wanted.indptr = (a.astype(np.int32) for a in (wanted.indices, wanted.indptr))
    train = sp.csr_matrix(wanted.shape, dtype=np.float32)  # nothing is filtered

    def evaluate() -> Any:
        with threadpool_limits(1, user_api="blas"):  # as implicit asks for
            return ranking_metrics_at_k(
                model, train, wanted, K=20, show_progress=False, num_threads=THREADS
            )

    return evaluate


def run_million(repeats: int) -> None:  # noqa: ARG001
    """Time and memory of a slice of the users of a large problem, in a fresh process."""
    n_users, n_items, d = MILLION
    print(f"\n{n_users:,} users x {n_items:,} items x {d} factors, float32, memory maps")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        rng = np.random.default_rng(SEED)
        for name, rows in (("users", n_users), ("items", n_items)):
            paths.append(str(Path(folder) / f"{name}.npy"))
            factors = np.lib.format.open_memmap(paths[-1], "w+", np.float32, (rows, d))
            for first in range(0, rows, 100_000):
                part = factors[first : first + 100_000]
                part[:] = rng.standard_normal(part.shape, dtype=np.float32)
            del factors
        command = [sys.executable, __file__, "--slice", *paths]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    whole = answer["seconds"] * n_users / SLICE
    print(
        f"  {SLICE:,} users: {answer['seconds']:.2f} s, {answer['extra_mb']:.0f} MB beside the "
        f"inputs at most\n  all users at that rate: {whole / 3600:.1f} h on {THREADS} cores, the "
        f"same memory and 8 MB for each metric; {answer['seconds'] / answer['product']:.2f} of "
        "the product alone"
    )


def slice_of_million(paths: list[str]) -> None:
    """Evaluate ``SLICE`` users and print seconds and memory as JSON."""
    users, items = (np.load(path, mmap_mode="r") for path in paths)
    rng = np.random.default_rng(SEED)
    truth = [rng.choice(len(items), 10, replace=False) for _ in range(SLICE)]
    Metrics.compute_factors(users[:8], items[:9_000], [np.arange(3)] * 8, METRICS)  # compiled
    items[:].sum()  # read from disk once
    with _peak_memory() as extra:
        seconds = _seconds(lambda: Metrics.compute_factors(users[:SLICE], items, truth, METRICS))
    out = np.empty((250, len(items)), np.float32)

    def multiply() -> None:
        for first in range(0, SLICE, 250):
            part = users[first : min(first + 250, SLICE)]
            np.matmul(part, items.T, out=out[: len(part)])

    multiply()
    print(json.dumps({"seconds": seconds, "product": _seconds(multiply), "extra_mb": extra[0]}))


def run_gowalla(repeats: int) -> None:  # noqa: ARG001
    """Evaluate a truncated SVD of the real split, beside its dense blocks."""
    files = split_files(data_folder(), "gowalla")
    if not all(path.is_file() for path in files):
        print("\ngowalla: no data; set RECMETRICS_DATA to the folder of the splits")
        return
    train, truth = (sp.load_npz(path).tocsr().astype(np.float32) for path in files)
    left, values, right = svds(train, GOWALLA_FACTORS, random_state=SEED)
    users, items = np.ascontiguousarray(left * values), np.ascontiguousarray(right.T)
    metrics = [*METRICS, "recall(denom=relevant)@20"]
    print(f"\ngowalla {train.shape[0]:,} x {train.shape[1]:,}, SVD of {GOWALLA_FACTORS} factors")

    def whole() -> dict[str, np.ndarray]:
        return Metrics.compute_factors(users, items, truth, metrics, exclude=train)

    def dense() -> dict[str, np.ndarray]:
        parts = []
        for first in range(0, len(users), 1_024):
            rows = slice(first, first + 1_024)
            scores = users[rows] @ items.T
            parts.append(Metrics.compute(scores, truth[rows], metrics, exclude=train[rows]))
        return {metric: np.concatenate([part[metric] for part in parts]) for metric in metrics}

    for run in (whole, dense):
        run()
    with _peak_memory() as extra:
        seconds = _seconds(whole)
    print(f"  compute_factors   {seconds:6.2f} s, {extra[0]:.0f} MB beside the inputs at most")
    with _peak_memory() as extra:
        seconds = _seconds(dense)
    print(f"  dense blocks      {seconds:6.2f} s, {extra[0]:.0f} MB beside the inputs at most")
    got = whole()
    print("  " + ", ".join(f"{metric} {value.mean():.6f}" for metric, value in got.items()))
    _differences(got, dense())


def _differences(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Say how many users have another value than by the dense way, and by how much at most."""
    apart = [np.abs(got[metric] - expected[metric]) for metric in got]
    users = np.count_nonzero(np.any(np.array(apart) > 0, axis=0))
    print(f"  users with another value than by the dense way: {users}, by {np.max(apart):.1e}")


def _seconds(run: Callable[[], Any]) -> float:
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@contextmanager
def _peak_memory() -> Iterator[list[float]]:
    """MB of private memory beyond what was there, sampled: maps of files do not count."""
    extra, done = [0.0], threading.Event()
    before = _private()

    def watch() -> None:
        while not done.wait(0.002):
            extra[0] = max(extra[0], (_private() - before) / 1e6)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield extra
    finally:
        done.set()
        thread.join()


def _private() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    return 0


RUNS = {"short": run_short, "product": run_product, "million": run_million, "gowalla": run_gowalla}


def main() -> None:
    """Run what is named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(RUNS)}; default: all")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--slice", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.slice:
        slice_of_million(given.slice)
        return
    unknown = set(given.names) - set(RUNS)
    if unknown:
        parser.error(f"unknown {', '.join(sorted(unknown))}; choose from {', '.join(RUNS)}")
    about = environment()
    print(f"{about['processor']}, {about['cores']} cores, {about['date']}")
    for name in given.names or RUNS:
        RUNS[name](given.repeats)


if __name__ == "__main__":
    main()
