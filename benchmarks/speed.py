"""Measure how fast recmetrics is; every figure is a ratio of two times taken in turn.

    python benchmarks/speed.py                  all sections, about fifteen minutes
    python benchmarks/speed.py read rivals      only these; the others keep their results
    python benchmarks/speed.py --quick          a tenth of the users, to check that the scripts work

The results go to benchmarks/results.json. report.py makes tables of them, and plot.py a picture.
Run it on a machine without other work.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import problems
from problems import LARGE, MIDDLE, SHORT, SIZES, SMALL, Problem, eight_columns, show_size
from rivals import OURS, RIVALS, Rival, assert_equal, best_by, split
from timing import THREADS, Ratio, Reader, environment, in_cache, in_turn, time_alone

from recmetrics import Metrics
from recmetrics._core import threads as _threads
from recmetrics._core.spec.registry import METRICS

HERE = Path(__file__).resolve().parent
Size = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """One figure; ``what`` and ``column`` are its place in the table of the section."""

    what: str
    column: str
    value: float | None
    target: float | None = None
    goal: float | None = None  # beyond the target, as far as one can get
    low: float | None = None
    high: float | None = None
    ms: float | None = None
    other_ms: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A table: how to measure it and how to read it."""

    title: str
    about: str
    run: Callable[["Bench"], Iterator[Row]]
    unit: str = ""
    at_least: bool = False  # targets are lower bounds
    legend: Callable[[], list[list[str]]] | None = None  # a second table, its head first


SECTIONS: dict[str, Section] = {}


def section(title: str, **how: Any) -> Callable[[Callable[..., Iterator[Row]]], Callable[..., Any]]:
    """Register a function that yields rows; its docstring explains the table to readers."""

    def register(run: Callable[["Bench"], Iterator[Row]]) -> Callable[..., Any]:
        about = " ".join((run.__doc__ or "").split())
        SECTIONS[run.__name__] = Section(title, about, run, **how)
        return run

    return register


class Bench:
    """What the sections share: the reader, the number of repeats, the sizes of a quick run."""

    def __init__(self, repeats: int, *, quick: bool) -> None:
        self.repeats = repeats
        self.quick = quick
        self.read = Reader()
        self.below_limit = 0  # figures, which fail the run

    def make(self, size: Size, *args: Any, **keywords: Any) -> Problem:
        """Make a problem, of a tenth of the users in a quick run."""
        users, items = size
        return problems.make((users // 10 if self.quick else users, items), *args, **keywords)

    def ratio(self, run: Callable[[], Any], other: Callable[[], Any]) -> Ratio:
        """Call both once, to compile; then time them in turn."""
        run()
        other()
        return in_turn(run, other, self.repeats)

    def over_reading(
        self, run: Callable[[], Any], *matrices: np.ndarray, users: float = 1.0
    ) -> Ratio:
        """Time a call, ``scaled`` by ``users``, over reading once all that it reads."""
        ratio = scaled(self.ratio(run, lambda: [self.read(matrix) for matrix in matrices]), users)
        self.below_limit += ratio.value < 1
        return ratio


def row(what: str, column: str, ratio: Ratio, **more: Any) -> Row:
    """A row of a measured ratio."""
    times = {"low": ratio.low, "high": ratio.high, "ms": ratio.ms, "other_ms": ratio.other_ms}
    return Row(what, column, ratio.value, **(times | more))


# --- the limit, and how near -----------------------------------------------------------------


@section("The limit: reading the scores once", unit=" ms")
def limit(bench: Bench) -> Iterator[Row]:
    """Every core reads the bytes of its part of the matrix as 64-bit words, whatever the rows.

    No evaluation that looks at all scores can be faster, so other sections use this time as the
    unit, and a run fails if a figure is below 1.
    """
    for size in SIZES:
        for dtype in ("float16", "float32", "float64"):
            scores = bench.make(size, dtype=dtype).scores
            ms = time_alone(partial(bench.read, scores), bench.repeats)
            note = f"{scores.nbytes / ms / 1e6:.1f} GB/s"
            yield Row(show_size(size), dtype, ms, note=note)


@section("Eight metrics, relative to reading the scores once")
def read(bench: Bench) -> Iterator[Row]:
    """The metrics are ndcg, recall, map and hit at k / 2 and at k.

    The truth is a CSR matrix with 10 relevant items per user. Random: standard normal float32
    scores that do not depend on the truth. Informed: the same, with the scores of the relevant
    items raised by two standard deviations, as a model would do. Ascending: random scores, sorted
    in each row so that the best items come last. Ties: whole numbers from 1 to 5. Constant: zeros.
    Unsorted: random scores, with the relevant items of each user in random order.
    """
    for size in SIZES:
        for kind in problems.KINDS:
            problem = bench.make(size, kind)
            for k in (10, 20, 100):
                compute = partial(Metrics.compute, *problem, eight_columns(k))
                yield row(
                    f"{show_size(size)}, k = {k}",
                    kind,
                    bench.over_reading(compute, problem.scores),
                    **read_targets(size, kind, "float32", k),
                )


@section("Eight metrics, relative to reading the scores once, by dtype")
def dtypes(bench: Bench) -> Iterator[Row]:
    """2,000 x 50,000, k = 20; each dtype relative to reading a matrix of the same dtype.

    float16 has half the bytes of float32, so reading it takes about half the time.
    """
    for kind in problems.KINDS:
        for dtype in ("float16", "float32", "float64"):
            problem = bench.make(MIDDLE, kind, dtype)
            compute = partial(Metrics.compute, *problem, eight_columns(20))
            ratio = bench.over_reading(compute, problem.scores)
            yield row(kind, dtype, ratio, **read_targets(MIDDLE, kind, dtype, 20))


# What has to be reached, by size, kind, dtype and k; other cells have no target of their own.
_READ_TARGETS = {
    (SHORT, "unsorted", "float32", 20): 2.5,
    (SMALL, "unsorted", "float32", 20): 1.7,
    (SMALL, "unsorted", "float32", 100): 2.0,
    (MIDDLE, "random", "float32", 10): 1.5,
    (MIDDLE, "random", "float32", 100): 1.5,
    (LARGE, "random", "float32", 10): 1.3,
    (LARGE, "random", "float32", 100): 1.35,
    (MIDDLE, "ascending", "float32", 20): 1.4,
    (MIDDLE, "ties", "float32", 20): 1.7,
    (MIDDLE, "constant", "float32", 20): 1.6,
    (MIDDLE, "random", "float64", 20): 1.3,
    (MIDDLE, "random", "float16", 20): 2.6,
}


def read_targets(size: Size, kind: str, dtype: str, k: int) -> dict[str, float | None]:
    """Look up the target of a cell, and the goal beyond it."""
    large = size in (MIDDLE, LARGE) and kind == "random" and dtype == "float32" and k <= 20
    goal = 1.25 if large else None
    return {"target": _READ_TARGETS.get((size, kind, dtype, k)), "goal": goal}


@section("Two cores, relative to one", unit="x", at_least=True)
def threads(bench: Bench) -> Iterator[Row]:
    """How many times faster two threads are than one, for eight metrics at k = 20.

    For comparison, the table shows the same ratio for two simpler tasks: reading the scores, which
    is limited by the memory, and comparing numbers in cache, which is limited only by the cores.
    """
    if THREADS < 2:
        yield Row("any", "Metrics.compute", None, note="this process may use one core")
        return
    for size in SIZES:
        problem = bench.make(size)
        compute = partial(Metrics.compute, *problem, eight_columns(20))
        ratio = bench.ratio(partial(compute, n_threads=1), partial(compute, n_threads=2))
        yield row(show_size(size), "Metrics.compute", ratio, target=1.8)
        one, two = (partial(Reader(n), problem.scores) for n in (1, 2))
        yield row(show_size(size), "reading", bench.ratio(one, two))
    one, two = (partial(in_cache, n) for n in (1, 2))
    yield row("4,096 numbers", "in cache", bench.ratio(one, two))


@section("The share of a call that runs in one thread")
def serial(bench: Bench) -> Iterator[Row]:
    """The share of the time that is not spent in blocks for threads; eight metrics, k = 20.

    The other columns are computed from this share, not measured: how many times faster than one
    core 16 and 64 cores would be if nothing else limited them (Amdahl's law). In practice, the
    memory also limits them.
    """
    for size in (SHORT, SMALL, MIDDLE):
        for kind in ("random", "unsorted"):
            compute = partial(
                Metrics.compute, *bench.make(size, kind), eight_columns(20), n_threads=1
            )
            share = outside_blocks(compute, bench.repeats)
            what, target = f"{show_size(size)}, {kind}", 3.0 if size == MIDDLE else 5.0
            yield Row(what, "of the time", 100 * share, target, note="%")
            for cores in (16, 64):
                yield Row(what, f"{cores} cores, computed", 1 / (share + (1 - share) / cores))


def outside_blocks(run: Callable[[], Any], repeats: int) -> float:
    """The share of the time of a call outside the work that ``map_blocks`` is given; the median."""
    inside = 0.0

    def timed(work: Callable[[slice], Any], *rest: Any) -> list[Any]:
        def alone(rows: slice) -> Any:
            nonlocal inside
            start = time.perf_counter()
            try:
                return work(rows)
            finally:
                inside += time.perf_counter() - start

        return real(alone, *rest)

    real, shares = _threads.map_blocks, []
    users = [each for each in sys.modules.values() if getattr(each, "map_blocks", None) is real]
    for module in users:
        module.map_blocks = timed  # type: ignore[attr-defined]
    try:
        run()
        for _ in range(repeats):
            inside, start = 0.0, time.perf_counter()
            run()
            shares.append(1 - inside / (time.perf_counter() - start))
    finally:
        for module in users:
            module.map_blocks = real  # type: ignore[attr-defined]
    return float(np.median(shares))


# --- what else is asked of a call ----------------------------------------------------------------


@section("Eight and thirty metrics, relative to one")
def columns(bench: Bench) -> Iterator[Row]:
    """The time relative to ndcg@10 alone.

    Eight: ndcg, recall, map and hit at 10 and 20. Thirty: these, precision and mrr at 1, 5, 10, 15
    and 20.
    """
    names, cutoffs = ("ndcg", "recall", "map", "hit", "precision", "mrr"), (1, 5, 10, 15, 20)
    thirty = [f"{name}@{k}" for name in names for k in cutoffs]
    for size in (SHORT, SMALL, MIDDLE):
        for kind in ("random", "informed"):
            compute = partial(Metrics.compute, *bench.make(size, kind))
            for name, asked, target in (("8", eight_columns(20), 1.2), ("30", thirty, 1.45)):
                ratio = bench.ratio(partial(compute, asked), partial(compute, ["ndcg@10"]))
                what = f"{show_size(size)}, {kind}"
                of = target if kind == "random" else None
                yield row(what, f"{name} metrics", ratio, target=of)


@section("Dense truth, relative to reading scores and truth once")
def dense_truth(bench: Bench) -> Iterator[Row]:
    """Eight metrics, k = 20, float32 scores. The truth is a dense array of the given dtype."""
    for size in (SMALL, MIDDLE):
        problem = bench.make(size)
        for dtype in ("uint8", "float32", "float64"):
            truth = problem.truth.astype(dtype).toarray()
            compute = partial(Metrics.compute, problem.scores, truth, eight_columns(20))
            ratio = bench.over_reading(compute, problem.scores, truth)
            yield row(show_size(size), dtype, ratio, target=2.0)


@section("100 excluded items per user, relative to none")
def exclude(bench: Bench) -> Iterator[Row]:
    """Eight metrics, k = 20. The excluded items are given as a CSR matrix.

    They are drawn at random, or have the highest scores, since models give high scores to the items
    that they were trained on.
    """
    for size in (SMALL, MIDDLE):
        for kind in ("random", "highest"):
            scores, truth = bench.make(size)
            seen = problems.item_sets(scores.shape, 100, np.random.default_rng(1))
            if kind == "highest":
                problems.raise_scores(scores, seen, 10.0)
            compute = partial(Metrics.compute, scores, truth, eight_columns(20))
            ratio = bench.ratio(partial(compute, exclude=seen), compute)
            yield row(show_size(size), kind, ratio, target=1.5)


@section("100 candidates per user, with ten times the items")
def candidates(bench: Bench) -> Iterator[Row]:
    """2,000 users with 100 candidates each, 10 of them relevant; eight metrics, k = 20.

    The first row is the time with 100,000 items, relative to that with 10,000 items. It would be 10
    if all scores were read. In the larger matrix, the scores of the candidates are further apart
    and not in cache.
    """
    sizes = ((2_000, 100_000), (2_000, 10_000))
    calls: dict[str, list[Callable[[], Any]]] = {"CSR": [], "lists": []}
    readings = []
    for size in sizes:
        scores, truth = bench.make(size)
        others = problems.item_sets(scores.shape, 90, np.random.default_rng(1))
        pool = (truth + others).tocsr()
        lists = np.split(pool.indices, pool.indptr[1:-1])
        for form, given in (("CSR", pool), ("lists", lists)):
            calls[form].append(
                partial(Metrics.compute, scores, truth, eight_columns(20), candidates=given)
            )
        readings.append(partial(bench.read, scores))
    for form, (many, few) in calls.items():
        yield row(
            "100,000 items, relative to 10,000 items", form, bench.ratio(many, few), target=2.0
        )
    for form, pair in calls.items():
        for size, call, reading in zip(sizes, pair, readings, strict=True):
            what = f"{size[1]:,} items, relative to reading all scores once"
            yield row(what, form, bench.ratio(call, reading))


@section("The whole list, relative to reading the scores once")
def whole_list(bench: Bench) -> Iterator[Row]:
    """All accuracy metrics of the registry without a cutoff, in one call, and auc alone.

    Each user has 20 relevant items.
    """
    every = [metric.name for metric in METRICS.values() if metric.reads == "hits"]
    for size in SIZES:
        for kind in ("random", "informed"):
            problem = bench.make(size, kind, relevant=20)
            what = f"{show_size(size)}, {kind}"
            for name, asked in ((f"all {len(every)}", every), ("auc", ["auc"])):
                compute = partial(Metrics.compute, *problem, asked)
                ratio = bench.over_reading(compute, problem.scores)
                yield row(what, name, ratio, target=6.0)


@section("Ties in any order, relative to ties by item index")
def ties(bench: Bench) -> Iterator[Row]:
    """``ties="expected"``, relative to ``ties="index"``, for eight metrics at k = 20.

    Random and informed scores have hardly any ties. The scores of the last column are whole numbers
    from 1 to 5, so that every score is tied.
    """
    for size in (SMALL, MIDDLE):
        for kind in ("random", "informed", "ties"):
            compute = partial(Metrics.compute, *bench.make(size, kind), eight_columns(20))
            ratio = bench.ratio(partial(compute, ties="expected"), compute)
            yield row(show_size(size), kind, ratio, target=None if kind == "ties" else 1.2)


@section("A batch of 64 x 1,000, relative to np.argpartition(-scores, 10)")
def batch(bench: Bench) -> Iterator[Row]:
    """ndcg@10 of a small batch, as in a validation step, after the first call."""
    scores, truth = problems.make((64, 1_000))
    select = partial(argpartition, scores, 10)
    for form, given in (("CSR truth", truth), ("dense truth", truth.toarray())):
        ratio = bench.ratio(partial(Metrics.compute, scores, given, ["ndcg@10"]), select)
        note = f"{1e3 * ratio.ms:.0f} µs"
        yield row("64 x 1,000", form, ratio, target=0.7, note=note)


def argpartition(scores: np.ndarray, k: int) -> np.ndarray:
    """The selection that NumPy offers."""
    return np.argpartition(-scores, k)


# --- processes of their own ----------------------------------------------------------------------


@section("Extra peak memory", unit=" MB")
def memory(bench: Bench) -> Iterator[Row]:
    """How much a call raises the peak memory of a process with 2,000 x 50,000 scores in memory.

    Eight metrics, k = 20. A call with 64 users runs first, so that compilation does not count.
    """
    users = MIDDLE[0] // 10 if bench.quick else MIDDLE[0]
    for dtype, target in (("float32", 20.0), ("float16", None), ("float64", None)):
        for column, more in (("scores and truth", []), ("with 100 excluded per user", ["exclude"])):
            answer = in_fresh_process("memory", str(users), str(MIDDLE[1]), dtype, *more)
            yield Row(dtype, column, answer["extra_mb"], target=target)


@section("The first call", unit=" s")
def first_call(bench: Bench) -> Iterator[Row]:
    """Import and first call in a new process, without the import of NumPy, scipy.sparse and Numba.

    Medians for eight metrics on 64 x 50,000. With an empty compilation cache the first calls run as
    Python, or, with `RECMETRICS_JIT=always`, as machine code that is compiled and fills the cache.
    """
    answers: dict[str, list[dict[str, float]]] = {"empty": [], "empty, always": [], "filled": []}
    for _ in range(1 if bench.quick else 3):
        with tempfile.TemporaryDirectory() as folder:
            measure = partial(in_fresh_process, "first-call", NUMBA_CACHE_DIR=folder)
            answers["empty"].append(measure())  # compiles nothing
            answers["empty, always"].append(measure(RECMETRICS_JIT="always"))
            answers["filled"] += [measure() for _ in range(3)]
    for what, target in (("empty", None), ("empty, always", 8.0), ("filled", 0.6)):
        medians = {
            key: float(np.median([a[key] for a in answers[what]]))
            for key in ("import", "first", "second")
        }
        yield Row(what, "import", medians["import"])
        yield Row(what, "import and first call", medians["first"], target=target)
        yield Row(what, "second call", medians["second"])


_TARGETS = ("x86-64", "x86-64-v3", "haswell", "znver3")  # SSE2 alone; the others have AVX2


@section("Compiled for other processors, relative to SSE2")
def processors(bench: Bench) -> Iterator[Row]:
    """ndcg@k of random scores in one thread, with kernels that Numba compiles for other processors.

    This processor runs them all: they may use SSE2, AVX2 (the next three), or all that it has. The
    CPU time is the best of 45 calls, 15 in each of three processes. ARM was not at hand.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        yield Row("any", "x86-64", None, note="this processor runs no code for x86-64")
        return
    chosen = {name: {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""} for name in _TARGETS}
    chosen["this processor"] = {}
    best: dict[str, dict[str, float]] = {name: {} for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 if bench.quick else 3):
            for name, times in best.items():
                environ = chosen[name] | {"NUMBA_CACHE_DIR": folder}
                answer = in_fresh_process("targets", "0.1" if bench.quick else "1", **environ)
                times |= {what: min(ms, times.get(what, ms)) for what, ms in answer.items()}
    for name, times in best.items():
        for what, ms in times.items():
            value, note = ms / best[_TARGETS[0]][what], f"{ms:.1f} ms"
            yield Row(what, name, value, target=1.25 if name in _TARGETS[1:] else None, note=note)


def in_fresh_process(*arguments: str, **more: str) -> dict[str, float]:
    """Run fresh.py, with ``more`` in its environment, and read what it prints."""
    environ = os.environ | more
    command = [sys.executable, str(HERE / "fresh.py"), *arguments]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# --- rivals --------------------------------------------------------------------------------------


@section(
    "Other libraries, eight metrics",
    unit="x",
    at_least=True,
    legend=lambda: how_called(eight_columns(20)),
)
def rivals(bench: Bench) -> Iterator[Row]:
    """How many times longer each library takes than recmetrics, and its time.

    The scores are informed, in float32. The metrics are ndcg, recall, map and hit at 10 and 20. If
    a library defines only some of them in the same way as recmetrics, both compute only those.
    Every value of a library agreed with recmetrics before it was timed. If a library was timed on
    fewer users, its time is scaled up, because its cost is linear in the number of users.
    """
    yield from against_rivals(bench, eight_columns(20), targets=True)


@section("Other libraries, one metric", unit="x", at_least=True)
def one_column(bench: Bench) -> Iterator[Row]:
    """The table compares ndcg@20 alone, which all libraries define in the same way."""
    yield from against_rivals(bench, ["ndcg@20"], targets=False)


def against_rivals(bench: Bench, asked: list[str], *, targets: bool) -> Iterator[Row]:
    """Time every rival on two sizes."""
    for size in (SMALL, MIDDLE):
        problem = bench.make(size, "informed")
        ours = bench.ratio(OURS.ready(problem, asked), OURS.ready(problem, asked))
        yield Row("recmetrics", show_size(size), 1.0, note=f"{ours.ms:,.0f} ms")
        for rival in RIVALS:
            yield against(bench, rival, problem, show_size(size), asked, targets=targets)


def against(
    bench: Bench, rival: Rival, problem: Problem, size: str, asked: list[str], *, targets: bool
) -> Row:
    """Time one rival and recmetrics in turn, once they agree."""
    if rival.missing:
        return Row(rival.name, size, None, note=rival.missing)
    possible = rival.columns(asked)
    assert_equal(rival, problem, possible)
    run = rival.ready(problem, possible)
    ratio = bench.ratio(run, OURS.ready(problem, possible))
    ratio = scaled(ratio, rival.scale(problem))
    target = rival.target if targets else None
    return row(rival.name, size, ratio, target=target, note=f"{ratio.ms:,.0f} ms")


def scaled(ratio: Ratio, users: float) -> Ratio:
    """What was timed on a slice, for all users."""
    value, low, high, ms = (users * x for x in (ratio.value, ratio.low, ratio.high, ratio.ms))
    return Ratio(value, low, high, ms, ratio.other_ms)


def how_called(asked: list[str]) -> list[list[str]]:
    """Say for each rival what was called, with how many cores, for what; the head first."""
    lines = [["library", "what is called", "cores", "result", "users timed", "not computed"]]
    for rival in RIVALS:
        absent = sorted({split(c)[0] for c in asked} - set(rival.metrics))
        cannot = f"{', '.join(absent)}: {rival.cannot}" if absent else ""
        users = f"{rival.users:,}" if rival.users else "all"
        lines.append([rival.name, rival.way, rival.cores, rival.gives, users, cannot])
    return lines


# --- how it grows --------------------------------------------------------------------------------


@section("Growth with users x items", unit=" ns")
def linear(bench: Bench) -> Iterator[Row]:
    """Nanoseconds per score, for eight metrics at k = 20; constant if the cost is linear."""
    for size in ((1_000, 10_000), (2_000, 20_000), (4_000, 40_000)):
        problem = bench.make(size, "informed")
        compute = partial(Metrics.compute, *problem, eight_columns(20))
        ratio = bench.over_reading(compute, problem.scores)
        yield Row(show_size(size), "recmetrics", 1e6 * ratio.ms / problem.scores.size)
        yield Row(show_size(size), "reading once", 1e6 * ratio.other_ms / problem.scores.size)


@section("Growth with the number of metrics")
def more_columns(bench: Bench) -> Iterator[Row]:
    """Ten metrics of the registry at 20, at 10 and 20, and at 5, 10 and 20.

    The time is relative to ndcg@20 alone.
    """
    for size in (SMALL, MIDDLE):
        compute = partial(Metrics.compute, *bench.make(size, "informed"))
        for cutoffs in ((20,), (10, 20), (5, 10, 20)):
            asked = problems.registered_columns(10, cutoffs)
            ratio = bench.ratio(partial(compute, asked), partial(compute, ["ndcg@20"]))
            yield row(show_size(size), f"{len(asked)} metrics", ratio)


@section("Large k, relative to np.argpartition and a sort")
def large_k(bench: Bench) -> Iterator[Row]:
    """ndcg@k of informed scores, relative to selecting and sorting the k best items with NumPy.

    Both run on one core. The time of recmetrics includes the metric, that of NumPy does not. Users
    have 10 or 500 relevant items.
    """
    for size in ((1_000, 3_700), (200, 50_000)):
        for relevant in (10, 500):
            problem = bench.make(size, "informed", relevant=relevant)
            for what, k in (("a tenth", size[1] // 10), ("all", size[1])):
                compute = partial(Metrics.compute, *problem, [f"ndcg@{k}"], n_threads=1)
                other = partial(best_by, np.argpartition, problem.scores, k)
                name = f"{show_size(size)}, k = {k:,} ({what})"
                column = f"{relevant} relevant"
                yield row(name, column, bench.ratio(compute, other), target=1.0)


CURVE_ITEMS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
CURVE_K = (5, 10, 20, 50, 100, 200, 500, 1_000)
_CURVE_SCORES = 30_000_000
_CURVE_RIVALS = ("irspack", "torch.topk", "np.argpartition", "bottleneck")


@section("Curves")
def curves(bench: Bench) -> Iterator[Row]:
    """ndcg@k of 30 million informed float32 scores, relative to reading them once.

    One panel shows the time by the number of items, with k = 20, and the other by k, with 20,000
    items.
    """
    sizes = [(_CURVE_SCORES // items, items, 20) for items in CURVE_ITEMS]
    sizes += [(_CURVE_SCORES // 20_000, 20_000, k) for k in CURVE_K]
    shown = [OURS, *(r for r in RIVALS if r.name in _CURVE_RIVALS and not r.missing)]
    for number, (users, items, k) in enumerate(sizes):
        problem = bench.make((users, items), "informed")
        what = f"items = {items}" if number < len(CURVE_ITEMS) else f"k = {k}"
        asked = [f"ndcg@{k}"]
        for rival in shown:
            assert_equal(rival, problem, asked)
            run, users = rival.ready(problem, asked), rival.scale(problem)
            yield row(what, rival.name, bench.over_reading(run, problem.scores, users=users))


# --- the command ---------------------------------------------------------------------------------


def measure(name: str, bench: Bench) -> dict[str, Any]:
    """Run a section, printing rows as they come."""
    one = SECTIONS[name]
    print(f"\n{one.title} ({name})", flush=True)
    start, rows = time.perf_counter(), []
    for found in one.run(bench):
        print(f"  {found.what:<44}{found.column:<24}{shown(found, one)}", flush=True)
        rows.append(asdict(found))
    return {
        "unit": one.unit,
        "at_least": one.at_least,
        "quick": bench.quick,
        "seconds": round(time.perf_counter() - start, 1),
        "environment": environment(),
        "rows": rows,
    }


def shown(found: Row, one: Section) -> str:
    """Print the value, its quartiles, and how it stands to the target."""
    if found.value is None:
        return f"not available: {found.note}"
    text = f"{found.value:8.2f}{one.unit}"
    if found.low is not None:
        text += f"  [{found.low:.2f}, {found.high:.2f}]  {found.ms:.2f} / {found.other_ms:.2f} ms"
    if found.target is not None:
        short = found.value < found.target if one.at_least else found.value > found.target
        text += f"  target {found.target:g}{'  SHORT' if short else ''}"
    return f"{text}  {found.note}"


def main() -> None:
    """Measure the sections asked for and keep the results of the others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--repeats", type=int, default=9, help="pairs of times for each ratio")
    parser.add_argument("--quick", action="store_true", help="a tenth of the users, three repeats")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    args = parser.parse_args()
    unknown = sorted(set(args.sections) - set(SECTIONS))
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
    bench = Bench(3 if args.quick else args.repeats, quick=args.quick)
    results = json.loads(args.results.read_text()) if args.results.exists() else {}
    for name in args.sections or SECTIONS:
        results[name] = measure(name, bench)
        ordered = {key: results[key] for key in SECTIONS if key in results}
        args.results.write_text(json.dumps(ordered, indent=1) + "\n")
    if bench.below_limit:
        sys.exit(
            f"{bench.below_limit} figures are below 1, but no call takes less than reading its "
            "input once; repeat the run without other work, or mend timing.Reader"
        )


if __name__ == "__main__":
    main()
