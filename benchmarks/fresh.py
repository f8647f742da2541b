"""Measurements that need a new process: memory, and the time of the first call.

speed.py runs these. Each prints one JSON object.

    python fresh.py memory 2000 50000 float32
    python fresh.py first-call
    python fresh.py targets 1.0
    python fresh.py steps

This one prints a table: medians over processes with an empty cache folder, alternating with
processes of another checkout.

    python fresh.py cold --beside ../../older --rounds 5

So does this one, of CPU time: of a first call that compiles, as a multiple of the time that Numba
takes to compile a fixed function, so that figures of different days compare.

    python fresh.py compilation --beside ../../older --rounds 5
"""

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba  # what is imported here is not counted as ours
import numpy as np
import scipy.sparse as sp

_SELF = Path("/proc/self")


def main() -> None:
    """Dispatch on the first argument."""
    what, *arguments = sys.argv[1:]
    if what in ("memory", "targets"):
        os.environ["RECMETRICS_JIT"] = "always"  # so that a call on few rows compiles
    if what == "memory":
        users, items, dtype, *exclude = arguments
        answer = memory((int(users), int(items)), dtype, exclude=bool(exclude))
    elif what == "cold":
        cold(arguments)
        return
    elif what == "compilation":
        compilation(arguments)
        return
    elif what == "targets":
        answer = targets(float(arguments[0]))
    else:
        measurements = {
            "first-call": first_call,
            "steps": steps,
            "everything": everything,
            "compiled-call": compiled_call,
            "fixed-function": fixed_function,
        }
        answer = measurements[what]()
    print(json.dumps(answer))


def memory(size: tuple[int, int], dtype: str, *, exclude: bool) -> dict[str, float]:
    """Measure how far a call lifts the high-water mark of resident memory, in MB.

    The mark sees everything: NumPy's arrays, Numba's and the stacks of threads. A call on few rows
    goes before, so that compilation is not counted.
    """
    import problems

    from recmetrics import Metrics

    rng = np.random.default_rng(0)
    scores = np.empty(size, dtype)
    for row in scores:  # row by row: making the matrix must not lift the mark beyond it
        row[:] = rng.standard_normal(row.size, dtype=np.float32)
    truth = problems.item_sets(size, 10, rng)
    seen = problems.item_sets(size, 100, rng) if exclude else None
    columns = problems.eight_columns(20)
    few = slice(0, 64)
    Metrics.compute(scores[few], truth[few], columns, exclude=seen[few] if exclude else None)
    can_reset = _reset_mark()
    before = _resident()
    Metrics.compute(scores, truth, columns, exclude=seen)
    return {"extra_mb": (_mark() - before) / 1e6, "mark_was_reset": can_reset}


def _reset_mark() -> bool:
    """Set the mark back to what is resident; not every kernel allows it."""
    with contextlib.suppress(OSError):
        (_SELF / "clear_refs").write_text("5")
        return True
    return False


def _mark() -> int:
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident() -> int:
    return _status("VmRSS")


def _status(field: str) -> int:
    for line in (_SELF / "status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    return 0


def first_call() -> dict[str, float]:
    """Time the import and the first call, and the second call, in seconds."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((64, 50_000), dtype=np.float32)
    indices = np.arange(640) * 78  # ten different items for each user
    truth = sp.csr_array((np.ones(640), indices, np.arange(0, 641, 10)), shape=scores.shape)
    columns = [f"{name}@{k}" for name in ("ndcg", "recall", "map", "hit") for k in (10, 20)]
    start = time.perf_counter()
    from recmetrics import Metrics

    imported = time.perf_counter()
    Metrics.compute(scores, truth, columns)
    called = time.perf_counter()
    Metrics.compute(scores, truth, columns)
    return {
        "import": imported - start,
        "first": called - start,
        "second": time.perf_counter() - called,
    }


def targets(share: float) -> dict[str, float]:
    """Time calls in one thread, with a share of the users: CPU time in milliseconds, best of 15."""
    import problems

    from recmetrics import Metrics

    times = {}
    for users, items in ((5_000, 3_700), (1_000, 50_000)):
        for dtype in ("float32", "float64", "float16"):
            problem = problems.make((int(users * share), items), dtype=dtype)
            for k in (10, 100):
                seconds = []
                for _ in range(16):  # the first one compiles
                    start = time.thread_time()
                    Metrics.compute(*problem, [f"ndcg@{k}"], n_threads=1)
                    seconds.append(time.thread_time() - start)
                name = f"{problems.show_size((users, items))}, {dtype}, k = {k}"
                times[name] = 1e3 * min(seconds)
    return times


def steps() -> dict[str, float]:
    """Time the import, the first call, and what is new in later ones, in seconds."""
    times = {}
    last = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal last
        now = time.perf_counter()
        times[name] = now - last
        last = now

    from recmetrics import Metrics

    lap("import")
    rng = np.random.default_rng(0)
    scores = 100 * rng.standard_normal((64, 5_000), dtype=np.float32)
    truth = sp.random(64, 5_000, 0.002, "csr", random_state=0)
    truth.data[:] = 1
    users, items = rng.standard_normal((64, 8)), rng.standard_normal((5_000, 8))
    lap("")
    Metrics.compute(scores, truth, "ndcg@10")
    lap("first call, float32, ndcg@10")
    Metrics.compute(scores, truth, "recall@20")
    lap("a second metric, recall@20")
    Metrics.compute_factors(users.astype("f4"), items.astype("f4"), truth, "ndcg@10")
    lap("then the first compute_factors")
    for dtype in ("float64", "float16", "int32"):
        Metrics.compute(scores.astype(dtype), truth, "ndcg@10")
        lap(f"then {dtype}")
    del times[""]
    return times


def everything() -> dict[str, float]:
    """Time a warm-up of everything."""
    import recmetrics

    start = time.perf_counter()
    recmetrics.warmup()
    return {"warmup() of everything": time.perf_counter() - start}


def compiled_call() -> dict[str, float]:
    """Time the first ndcg@10 of 2,000 x 3,700 float32 scores, compiled: CPU seconds."""
    from recmetrics import Metrics

    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2_000, 3_700), dtype=np.float32)
    truth = sp.random(2_000, 3_700, 10 / 3_700, "csr", random_state=0)
    truth.data[:] = 1
    start = time.process_time()
    Metrics.compute(scores, truth, ["ndcg@10"], n_threads=1)
    return {"compiled call": time.process_time() - start}


def fixed_function() -> dict[str, float]:
    """Time the compilation of a function that never changes: CPU seconds."""
    numba.njit(lambda number: number + 1)(1)  # what Numba loads once
    values = np.arange(100.0)
    start = time.process_time()
    numba.njit(_sorted_by_insertion)(values, np.arange(100), 3)
    return {"fixed function": time.process_time() - start}


def _sorted_by_insertion(values: np.ndarray, items: np.ndarray, k: int) -> float:
    """Sort the first k values, add up what is above their mean, and count what lies between."""
    for i in range(1, k):
        value = values[i]
        item = items[i]
        j = i
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            items[j] = items[j - 1]
            j -= 1
        values[j] = value
        items[j] = item
    mean = 0.0
    for i in range(k):
        mean += values[i] / k
    total = 0.0
    count = 0
    for i in range(values.size):
        if values[i] > mean:
            total += values[i] * items[i]
        elif values[i] > 0.5 * mean:
            count += 1
    return total + count


def compilation(arguments: list[str]) -> None:
    """Print the first call as a multiple of a fixed compilation, here and in another checkout."""
    rounds, roots = _rounds_and_roots(arguments)
    times: list[list[float]] = [[] for _ in roots]
    for _ in range(rounds):
        for root, multiples in zip(roots, times, strict=True):
            with tempfile.TemporaryDirectory() as cache:
                fixed = _in(root, "fixed-function", cache)["fixed function"]
                call = _in(root, "compiled-call", cache)["compiled call"]
            multiples.append(call / fixed)
    medians = [statistics.median(multiples) for multiples in times]
    for root, median in zip(roots, medians, strict=True):
        print(f"{median:6.2f} {median / medians[-1]:6.3f}   {root}")


def _rounds_and_roots(arguments: list[str]) -> tuple[int, list[Path]]:
    """Read how many rounds to run, and in which checkouts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    return given.rounds, [
        Path(__file__).parents[1],
        *([given.beside.resolve()] if given.beside else []),
    ]


def cold(arguments: list[str]) -> None:
    """Print medians of processes that begin with an empty cache, of this and another checkout."""
    rounds, roots = _rounds_and_roots(arguments)
    found: list[dict[str, list[float]]] = [{} for _ in roots]
    for _ in range(rounds):
        for root, times in zip(roots, found, strict=True):
            with tempfile.TemporaryDirectory() as cache:
                answers = _in(root, "steps", cache)
                answers["first call, cache filled"] = _in(root, "steps", cache)[
                    "first call, float32, ndcg@10"
                ]
            with tempfile.TemporaryDirectory() as cache:
                answers |= _in(root, "everything", cache)
            for name, seconds in answers.items():
                times.setdefault(name, []).append(seconds)
    for name in found[0]:
        here, *there = [statistics.median(times[name]) for times in found]
        beside = f"   {there[0]:6.2f} s   {here / there[0]:5.2f}" if there else ""
        print(f"{name:32} {here:6.2f} s{beside}")


def _in(root: Path, what: str, cache: str) -> dict[str, float]:
    environ = os.environ | {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": cache}
    environ["RECMETRICS_JIT"] = "always"
    command = [sys.executable, __file__, what]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
