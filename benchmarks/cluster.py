"""Estimate the time on a cluster: constants of one core, and one worker process against two.

    python benchmarks/cluster.py                # some minutes, on a machine without other work
    python benchmarks/cluster.py --write        # also writes the figures to cluster.md
    python benchmarks/cluster.py --constants    # without the two workers

The constants are measured with one thread in a warm process. The estimate is computed only from
these constants and the assumptions in ``PAPER``.
"""

import argparse
import os
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy: every figure is that of one core

import dask.array as da  # noqa: E402
import distributed  # noqa: E402
import numpy as np  # noqa: E402
import psutil  # noqa: E402
from problems import eight_columns, item_sets, show_size  # noqa: E402
from timing import environment  # noqa: E402

import recmetrics.dask  # noqa: E402
from recmetrics import Evaluator, Metrics  # noqa: E402
from recmetrics._core.inputs.read_sets import read_item_sets  # noqa: E402
from recmetrics._core.inputs.sets import NO_SIDE  # noqa: E402
from recmetrics._core.results import this_version  # noqa: E402
from recmetrics._core.spec.request import Request  # noqa: E402
from recmetrics.dask._tasks import Job, best_of_chunk  # noqa: E402

PAGE = Path(__file__).with_suffix(".md")
BEGIN, END = "<!-- figures: benchmarks/cluster.py --write -->", "<!-- end of figures -->"
K = 100
D = 128
TILE = (256, 8_192)  # scores of one tile of factors: 8 MB
REPEATS = 5


@dataclass(frozen=True)
class Paper:
    """The case on paper: its size and what is assumed of it."""

    users: int = 100_000_000
    items: int = 10_000_000
    d: int = D
    metrics: int = 8
    relevant: int = 20  # items of a user in the truth
    excluded: int = 100  # items of a user seen in training
    block: int = 4_096  # users of a task
    cores: int = 16  # of a worker
    network: float = 1.25e9  # bytes per second into and out of a worker: 10 Gbit/s


PAPER = Paper()


@dataclass(frozen=True)
class Constants:
    """What is measured on one core."""

    product: float  # FLOP/s of user_factors @ item_factors.T in float32
    selection: float  # bytes per second of a float32 score matrix, whole to eight columns
    state: float  # bytes per user of the state of an Evaluator, eight columns
    state_listing: float  # the same with coverage at K
    survivors: float  # bytes per user that leave a chunk of a score matrix


def seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """The least time of ``run``, which is called once before: what else runs only adds to it."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_constants() -> Constants:
    """Measure on one thread."""
    rng = np.random.default_rng(0)
    users = rng.standard_normal((TILE[0], D), np.float32)
    items = rng.standard_normal((TILE[1], D), np.float32)
    out = np.empty(TILE, np.float32)
    flops = 2 * TILE[0] * TILE[1] * D
    product = flops / seconds(lambda: np.matmul(users, items.T, out=out), 50)

    shape = 1_000, 200_000
    scores = rng.standard_normal(shape, np.float32)
    truth = item_sets(shape, PAPER.relevant, rng)
    metrics = eight_columns(K)
    selection = scores.nbytes / seconds(
        lambda: Metrics.compute(scores, truth, metrics, n_threads=1)
    )

    sizes = []
    for asked in (metrics, [*metrics, f"coverage@{K}"]):
        evaluator = Evaluator(truth, asked)
        evaluator.update(scores)
        state = evaluator.state()
        sizes.append(sum(state[name].nbytes for name in ("users", "values", "lists")) / shape[0])
    sets = {"truth": read_item_sets(truth, "truth", shape)}
    request = Request(metrics)
    job = Job(request, NO_SIDE, request.cutoffs(shape[1]), shape[1], {}, this_version())
    place = slice(0, shape[0]), slice(0, shape[1])
    leaving = best_of_chunk(scores, place, sets, job=job)
    return Constants(
        product, selection, sizes[0], sizes[1], sum(part.nbytes for part in leaving) / shape[0]
    )


def on_paper(constants: Constants) -> dict[str, float]:
    """Sizes in bytes, work in FLOP and seconds of one core."""
    p = PAPER
    pairs = p.users * p.items
    entry, number = 4, 8  # bytes of an item index, of a value
    return {
        "flops": 2.0 * pairs * p.d,
        "score bytes": 4.0 * pairs,
        "user factor bytes": 4.0 * p.users * p.d,
        "item factor bytes": 4.0 * p.items * p.d,
        "truth bytes": p.users * (p.relevant * (entry + 4) + number),
        "exclude bytes": p.users * (p.excluded * (entry + 4) + number),
        "state bytes": constants.state * p.users,
        "state bytes with lists": constants.state_listing * p.users,
        "product core seconds": 2.0 * pairs * p.d / constants.product,
        "selection core seconds": 4.0 * pairs / constants.selection,
    }


def time_on(workers: int, paper: dict[str, float]) -> dict[str, float]:
    """Seconds of each part on that many workers, done one after the other."""
    work = paper["product core seconds"] + paper["selection core seconds"]
    moved = paper["user factor bytes"] + paper["truth bytes"] + paper["exclude bytes"]
    return {
        "work": work / (workers * PAPER.cores),
        "item factors": paper["item factor bytes"] / PAPER.network,
        "user data": moved / (workers * PAPER.network),
        "results": paper["state bytes"] / PAPER.network,
    }


def memory_of_worker(paper: dict[str, float]) -> float:
    """Bytes: the item factors once, and for each core a block of users, their data and a tile."""
    p = PAPER
    of_user = paper["user factor bytes"] + paper["truth bytes"] + paper["exclude bytes"]
    block = p.block * (of_user / p.users + K * 12 + p.metrics * 8)
    return paper["item factor bytes"] + p.cores * (block + 4 * TILE[0] * TILE[1])


def scaling() -> dict[str, dict[int, float]]:
    """Seconds of each case on one and on two worker processes of one thread."""
    rng = np.random.default_rng(0)
    shape = 8_000, 50_000
    truth = item_sets(shape, PAPER.relevant, rng)
    factors = (20_000, 64), (50_000, 64)
    users = rng.standard_normal(factors[0], np.float32)
    items = rng.standard_normal(factors[1], np.float32)
    users_truth = item_sets((factors[0][0], factors[1][0]), PAPER.relevant, rng)
    metrics = eight_columns(20)
    found: dict[str, dict[int, float]] = {}
    for workers in (1, 2):
        with cluster(workers):
            for chunks in ((500, 50_000), (2_000, 12_500)):
                made = da.random.default_rng(0).random(shape, dtype=np.float32, chunks=chunks)
                scores = made.persist()
                distributed.wait(scores)
                case = f"scores {show_size(shape)} in chunks of {show_size(chunks)}"
                found.setdefault(case, {})[workers] = seconds(
                    lambda s=scores: recmetrics.dask.compute(s, truth, metrics), 3
                )
                del scores
            case = f"factors {show_size((factors[0][0], factors[1][0]))} x {factors[0][1]}"
            blocks = da.from_array(users, chunks=(1_000, -1))
            found.setdefault(case, {})[workers] = seconds(
                lambda b=blocks: recmetrics.dask.compute_factors(b, items, users_truth, metrics), 3
            )
    return found


def watch_memory(dask_worker: Any) -> None:
    """Note the largest memory of this process, a worker, until ``peak_memory``."""
    process = psutil.Process()
    dask_worker.peaks = []

    def watch() -> None:
        peaks = dask_worker.peaks
        while peaks is dask_worker.peaks:
            peaks.append(process.memory_info().rss)
            time.sleep(0.005)

    threading.Thread(target=watch, daemon=True).start()


def travels() -> list[dict[str, Any]]:
    """The cost of blocks on two workers: seconds, bytes that travel, peak memory of a worker."""
    rng = np.random.default_rng(0)
    costs = []
    for n_users, n_items, block, is_made in (
        (24_000, 50_000, 400, True),
        (20_000, 5_000, 100, True),
        (20_000, 5_000, 100, False),
    ):
        truth = item_sets((n_users, n_items), PAPER.relevant, rng)
        chunks = f"{n_users // block} blocks of {show_size((block, n_items))}"
        if not is_made:
            chunks += ", in the memory of workers"
        with cluster(2) as client:
            client.run(lambda: Metrics.compute([[1.0, 0.0]], [[1, 0]], "ndcg@1"))
            scores = da.random.default_rng(0).random(
                (n_users, n_items), dtype=np.float32, chunks=(block, n_items)
            )
            if not is_made:
                scores = scores.persist()
                distributed.wait(scores)
            ways = {
                "max of each row": lambda s=scores: s.max(axis=1).compute(),
                "metrics": lambda s=scores, t=truth: recmetrics.dask.compute(
                    s, t, [*eight_columns(20), "coverage@20"]
                ),
            }
            for way, run in ways.items():
                client.run(watch_memory)
                before = sum(client.run(moved_bytes).values())
                run()  # a worker loads machine code in it
                costs.append(
                    {
                        "case": f"{way}, {chunks}",
                        "moved": (sum(client.run(moved_bytes).values()) - before) / scores.nbytes,
                        "peak": max(client.run(peak_memory).values()),
                        "seconds": seconds(run, 3),
                    }
                )
    return costs


def moved_bytes(dask_worker: Any) -> int:
    """The bytes that this process, a worker, has had from others."""
    return sum(transfer["total"] for transfer in dask_worker.transfer_incoming_log)


def peak_memory(dask_worker: Any) -> int:
    """The largest memory of this process since ``watch_memory``."""
    peaks = dask_worker.peaks
    dask_worker.peaks = None
    return max(peaks)


@contextmanager
def cluster(workers: int):
    """Worker processes of one thread each, and the scheduler of the calls inside."""
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


def report(
    constants: Constants,
    scaled: dict[str, dict[int, float]],
    costs: list[dict[str, Any]],
    machine: dict[str, Any],
) -> str:
    """Write the figures of the page as Markdown."""
    p, paper = PAPER, on_paper(constants)
    lines = [
        f"Measured on one core ({machine['processor']}, {machine['date']}):",
        "",
        "| constant | value |",
        "| --- | ---: |",
        f"| product, float32, d = {D} | {constants.product / 1e9:,.0f} GFLOP/s |",
        f"| `Metrics.compute`, float32 scores, eight metrics, k = {K} "
        f"| {constants.selection / 1e9:.2g} GB/s |",
        f"| state of an `Evaluator`, eight metrics | {constants.state:,.0f} bytes per user |",
        f"| the same, also with `coverage@{K}` | {constants.state_listing:,.0f} bytes per user |",
        f"| best items that a chunk of scores sends, k = {K} "
        f"| {constants.survivors:,.0f} bytes per user |",
        "",
        f"The estimate for {p.users:,} users, {p.items:,} items, d = {p.d}:",
        "",
        "| quantity | value |",
        "| --- | ---: |",
        f"| multiplications and additions | {paper['flops']:.3g} FLOP |",
        f"| scores, which are never stored as a whole | {paper['score bytes'] / 1e15:,.1f} PB |",
        *(
            f"| {name} | {paper[key] / 1e9:,.1f} GB |"
            for name, key in (
                ("user factors, each read by one worker", "user factor bytes"),
                ("item factors, read by every worker", "item factor bytes"),
                ("truth", "truth bytes"),
                ("excluded items", "exclude bytes"),
                (f"results of {p.metrics} metrics", "state bytes"),
                (f"the same with lists of {K} items", "state bytes with lists"),
            )
        ),
        f"| memory of a worker of {p.cores} cores | {memory_of_worker(paper) / 1e9:,.1f} GB |",
        f"| time of the product | {paper['product core seconds'] / 3600:,.0f} core hours |",
        f"| time of selection and metrics "
        f"| {paper['selection core seconds'] / 3600:,.0f} core hours |",
        "",
        f"| workers of {p.cores} cores | computation | item factors | user data | results "
        "| total |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for workers in (1, 10, 100, 1_000):
        parts = time_on(workers, paper)
        shown = " | ".join(duration(value) for value in (*parts.values(), sum(parts.values())))
        lines.append(f"| {workers:,} | {shown} |")
    if scaled:
        lines += [
            "",
            "One and two worker processes of one thread each, on one machine:",
            "",
            "| case | one | two | speedup |",
            "| --- | ---: | ---: | ---: |",
        ]
        lines += [
            f"| {case} | {times[1]:.2f} s | {times[2]:.2f} s | {times[1] / times[2]:.2f} |"
            for case, times in scaled.items()
        ]
    if costs:
        lines += [
            "",
            "Scores on two workers of one thread, float32, made by each call unless noted:",
            "",
            "| case | time | scores that travel | peak of a worker |",
            "| --- | ---: | ---: | ---: |",
        ]
        lines += [
            f"| {cost['case']} | {cost['seconds']:.2f} s | {cost['moved']:.1%} "
            f"| {cost['peak'] / 1e6:.0f} MB |"
            for cost in costs
        ]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """``90 s``, ``25 min`` or ``4.7 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--constants", action="store_true", help="leave the scaling out")
    parser.add_argument("--write", action="store_true", help="write the figures into the page")
    arguments = parser.parse_args()
    constants = measure_constants()
    scaled, costs = ({}, []) if arguments.constants else (scaling(), travels())
    text = report(constants, scaled, costs, environment())
    print(text)
    if arguments.write:
        before, begin, rest = PAGE.read_text().partition(BEGIN)
        _, end, after = rest.partition(END)
        PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    main()
