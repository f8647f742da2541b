"""Time and memory of sparse scores, streams of events, strata, propensities and ranks.

python benchmarks/forms.py sparse      100,000 x 1,000,000 with 200 stored scores per row
python benchmarks/forms.py stream      updates of a stream, alternating with Evaluator.update
python benchmarks/forms.py relevant    strata, propensities and ranks, alternating with a plain call
python benchmarks/forms.py memory      100,000 updates of a stream that stores only sums
"""

import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from recmetrics import Evaluator, Metrics, StreamEvaluator

METRICS = ["ndcg@10", "recall@20", "mrr@10"]
os.environ["RECMETRICS_JIT"] = "always"  # so that the first call, on few rows, compiles


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


def relevant() -> None:
    """Time calls with strata, weights and ranks, each over the plain call."""
    rng = np.random.default_rng(0)
    for n_users, n_items in ((2_000, 50_000), (10_000, 3_700), (100_000, 1_000)):
        scores = rng.random((n_users, n_items), dtype=np.float32)
        items = np.argpartition(rng.random((n_users, n_items), dtype=np.float32), 10)[:, :10]
        rows = np.repeat(np.arange(n_users), 10)
        truth = sp.csr_array((np.ones(rows.size), (rows, items.ravel())), scores.shape)
        bought = sp.random_array(scores.shape, density=50 / n_items, rng=rng, format="csr")
        tail, train = rng.random(n_items) < 0.8, bought + truth * (rng.random(truth.shape[1]) < 0.5)
        propensity = rng.uniform(0.01, 1.0, n_items)
        plain = ["recall@20", "ndcg@20"]
        of_tail, of_both = ["recall(of=tail)@20"], ["recall(of=tail)@20", "recall(of=again)@20"]
        compute = partial(Metrics.compute, scores, truth)
        calls = {
            "plain": partial(compute, plain),
            "of=tail": partial(compute, [*plain, *of_tail], strata={"tail": tail}),
            "of=tail, of=again": partial(
                compute, [*plain, *of_both], strata={"tail": tail, "again": train}
            ),
            "weigh=snips": partial(
                compute, [*plain, "recall(weigh=snips)@20"], propensity=propensity
            ),
            "whole list": partial(compute, "mrr"),
            "ranks": partial(Metrics.ranks, scores, truth),
        }
        times: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(12):
            for name, call in calls.items():
                begin = time.perf_counter()
                call()
                if turn:  # the first compiles
                    times[name].append(time.perf_counter() - begin)
        median = {name: float(np.median(found)) for name, found in times.items()}
        beside = {"ranks": "whole list"}
        shown = ", ".join(
            f"{name} {median[name] / median[beside.get(name, 'plain')]:.2f}"
            for name in calls
            if name not in ("plain", "whole list")
        )
        print(
            f"{n_users:,} x {n_items:,}: plain {1e3 * median['plain']:.1f} ms, whole list "
            f"{1e3 * median['whole list']:.1f} ms; over these: {shown}"
        )


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
    {"sparse": sparse, "stream": stream, "relevant": relevant, "memory": memory}[sys.argv[1]]()
