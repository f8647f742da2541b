"""Sparse scores, and streams of events: time and memory.

python benchmarks/forms.py sparse      100,000 x 1,000,000 with 200 stored per row
python benchmarks/forms.py stream      an update beside Evaluator.update, in turn
python benchmarks/forms.py memory      100,000 updates of a stream that keeps sums
"""

import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from recmetrics import Evaluator, Metrics, StreamEvaluator

METRICS = ["ndcg@10", "recall@20", "mrr@10"]


def resident() -> float:
    """The memory of this process, in MB."""
    line = next(s for s in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in s)
    return int(line.split()[1]) / 1024


def sparse(n_users: int = 100_000, n_items: int = 1_000_000, n_stored: int = 200) -> None:
    """Compute metrics of sparse scores; the dense matrix would have 400 GB."""
    rng = np.random.default_rng(0)
    width = n_items // n_stored
    items = rng.integers(0, width, (n_users, n_stored)) + np.arange(n_stored) * width
    truth = items[np.arange(n_users), rng.integers(0, n_stored, n_users)]
    values = rng.standard_normal(items.size, dtype=np.float32)
    start = np.arange(n_users + 1) * n_stored
    scores = sp.csr_array((values, items.astype(np.int32).ravel(), start), shape=(n_users, n_items))
    Metrics.compute(scores[:10], truth[:10], METRICS)  # compiles
    before, times = resident(), []
    for _ in range(7):
        begin = time.perf_counter()
        Metrics.compute(scores, truth, METRICS)
        times.append(time.perf_counter() - begin)
    stored = (scores.data.nbytes + scores.indices.nbytes + scores.indptr.nbytes) / 2**20
    print(
        f"{n_users:,} x {n_items:,}, {n_stored} stored per row ({stored:.0f} MB): "
        f"{1e3 * np.median(times):.0f} ms, {resident() - before:.0f} MB more"
    )


def stream() -> None:
    """Time updates of a stream beside those of an evaluator that knows the truth."""
    rng = np.random.default_rng(0)
    for n_rows, n_items, repeats in ((64, 1_000, 60), (256, 3_700, 60), (1_024, 50_000, 3)):
        scores = rng.standard_normal((n_rows, n_items), dtype=np.float32)
        truth, rows = rng.integers(0, n_items, n_rows), slice(0, n_rows)
        evaluator = Evaluator(truth, METRICS, n_items=n_items)
        streams = {keep: StreamEvaluator(METRICS, keep=keep) for keep in ("values", "means")}
        times: dict[str, list[float]] = {"evaluator": [], "values": [], "means": []}
        for _ in range(30):
            for name, found in times.items():
                begin = time.perf_counter()
                for _ in range(repeats):
                    if name == "evaluator":
                        evaluator.update(scores, rows)
                    else:
                        streams[name].update(scores, truth)
                found.append((time.perf_counter() - begin) / repeats)
        shown = ", ".join(
            f"{name} {1e6 * np.median(found):.0f} us" for name, found in times.items()
        )
        print(f"{n_rows} x {n_items:,}: {shown}")


def memory(n_updates: int = 100_000) -> None:
    """Print the memory while a stream takes many updates."""
    rng = np.random.default_rng(0)
    scores, truth = rng.random((8, 50), dtype=np.float32), rng.integers(0, 50, 8)
    one = StreamEvaluator([*METRICS, "coverage@10"], keep="means")
    for number in range(1, n_updates + 1):
        one.update(scores, truth)
        if number in (1_000, n_updates // 10, n_updates // 2, n_updates):
            one.mean()
            print(f"{number:,} updates: {resident():.1f} MB")


if __name__ == "__main__":
    {"sparse": sparse, "stream": stream, "memory": memory}[sys.argv[1]]()
