"""Evaluate recommenders on real splits, and reproduce the numbers published for them.

    python benchmarks/real.py                       all of them
    python benchmarks/real.py popularity gfcf ease  only these
    python benchmarks/real.py identify              which definitions gave the published numbers

The splits are read from the folder in RECMETRICS_DATA. If this variable is not set, the folder is
../shared/data beside the repository. benchmarks/README.md says where they come from. Exit code 0:
all published numbers were reproduced; 1: one was not; 2: the data are missing. GF-CF's scores of
all users, for "identify", take 4.9 GB.
"""

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from models import GFCF, binary, ease, popularity, row_blocks

from recmetrics import Metrics, identify
from recmetrics._core.spec.registry import METRICS

BLOCK_ROWS = 1024  # users scored at a time: 168 MB of float32 on Gowalla
CUTOFFS = (5, 10, 20)


@dataclass(frozen=True)
class Published:
    """A number to reproduce: the mean of a metric over users, and how near is near enough."""

    metric: str
    value: float
    tolerance: float


# Open-CF-Benchmark, popularity on Gowalla: printed with 16 digits.
POPULARITY_ON_GOWALLA = (
    Published("hit@20", 0.2038314689530444, 1e-12),
    Published("recall(denom=relevant)@20", 0.04163097892995584, 1e-12),
    Published("ndcg@20", 0.03168992927421666, 1e-12),
)
# Shen et al., CIKM 2021: four decimals, so the mean has to round to them.
GFCF_ON_GOWALLA = (
    Published("recall(denom=relevant)@20", 0.1849, 5e-5),
    Published("ndcg@20", 0.1518, 5e-5),
)


class Stopwatch:
    """Seconds spent in named stages, summed over visits."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the seconds of the block towards ``name``."""
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start

    def show(self) -> None:
        """Print every stage and the sum."""
        print()
        for name, seconds in self.seconds.items():
            print(f"  {name:<36}{seconds:8.2f} s")
        print(f"  {'in all':<36}{sum(self.seconds.values()):8.2f} s")


def evaluate_blocks(
    score_block: Callable[[slice], np.ndarray],
    truth: sp.csr_matrix,
    train: sp.csr_matrix,
    metrics: list[str],
    watch: Stopwatch,
) -> dict[str, np.ndarray]:
    """Evaluate scores that exist for one block of users at a time; the values of all users."""
    parts = []
    for users in row_blocks(truth.shape[0], BLOCK_ROWS):
        with watch.stage("scores"):
            scores = score_block(users)
        with watch.stage("evaluation"):
            values = Metrics.compute(scores, truth[users], metrics, exclude=train[users])
        parts.append(values)
    return {metric: np.concatenate([part[metric] for part in parts]) for metric in metrics}


def compile_kernels(
    train: sp.csr_matrix, truth: sp.csr_matrix, metrics: list[str], watch: Stopwatch
) -> None:
    """Let Numba compile what the evaluation needs, on a few users, before it is timed."""
    few = slice(0, 64)
    scores = np.random.default_rng(0).random(truth[few].shape, dtype=np.float32)
    with watch.stage("compilation"):
        Metrics.compute(scores, truth[few], metrics, exclude=train[few])


def popularity_values(
    train: sp.csr_matrix, truth: sp.csr_matrix, metrics: list[str], watch: Stopwatch
) -> dict[str, np.ndarray]:
    """Metrics of the ranking by train count; one block of scores serves all users."""
    with watch.stage("model"):
        block = np.tile(popularity(train), (min(BLOCK_ROWS, train.shape[0]), 1))
    return evaluate_blocks(
        lambda users: block[: users.stop - users.start], truth, train, metrics, watch
    )


def gfcf_values(
    train: sp.csr_matrix, truth: sp.csr_matrix, metrics: list[str], watch: Stopwatch
) -> dict[str, np.ndarray]:
    """Metrics of GF-CF, whose score matrix exists one block at a time."""
    with watch.stage("model"):
        model = GFCF.fit(train)
    block = np.empty((min(BLOCK_ROWS, train.shape[0]), train.shape[1]), np.float32)
    return evaluate_blocks(lambda users: model.scores(users, block), truth, train, metrics, watch)


def run_popularity(folder: Path) -> bool:
    """Popularity on Gowalla."""
    return reproduce(popularity_values, POPULARITY_ON_GOWALLA, folder)


def run_gfcf(folder: Path) -> bool:
    """GF-CF on Gowalla."""
    return reproduce(gfcf_values, GFCF_ON_GOWALLA, folder)


def reproduce(
    evaluate: Callable[..., dict[str, np.ndarray]], published: tuple[Published, ...], folder: Path
) -> bool:
    """Compare the means on Gowalla with what was published; whether all are met."""
    watch = Stopwatch()
    train, truth = load_split(folder, "gowalla", watch)
    metrics = [number.metric for number in published]
    compile_kernels(train, truth, metrics, watch)
    values = evaluate(train, truth, metrics, watch)
    all_met = show_published({name: value.mean() for name, value in values.items()}, published)
    watch.show()
    return all_met


def run_identify(folder: Path) -> bool:
    """The definitions that gave the numbers of popularity and GF-CF on Gowalla."""
    watch = Stopwatch()
    train, truth = load_split(folder, "gowalla", watch)
    with watch.stage("model"):
        model = GFCF.fit(train)
    with watch.stage("scores"):
        scores = np.empty(train.shape, np.float32)
        for users in row_blocks(len(scores), BLOCK_ROWS):
            model.scores(users, scores[users])
    with watch.stage("identify"):
        of_popularity = np.broadcast_to(popularity(train), train.shape)
        found = [is_identified(of_popularity, truth, train, n) for n in POPULARITY_ON_GOWALLA]
        found += [is_identified(scores, truth, train, number) for number in GFCF_ON_GOWALLA]
    watch.show()
    return all(found)


def is_identified(
    scores: np.ndarray, truth: sp.csr_matrix, train: sp.csr_matrix, number: Published
) -> bool:
    """Say whether the definition of a published number is among the first three that give it."""
    metric, _, k = number.metric.partition("@")
    asked = f"{metric.partition('(')[0]}@{k}"
    found = identify(scores, truth, str(number.value), asked, exclude=train)
    print(found, end="\n\n")
    return number.metric in [match.metric for match in found.matches[:3]]


def run_ease(folder: Path) -> bool:
    """EASE on MovieLens 1M, as one dense matrix: every metric at every cutoff."""
    watch = Stopwatch()
    train, truth = load_split(folder, "ml-1m", watch)
    with watch.stage("model"):
        weights = ease(train).astype(np.float32)
    with watch.stage("scores"):
        scores = binary(train) @ weights
    accuracy = [metric.name for metric in METRICS.values() if metric.reads == "hits"]
    names = {name: spellings(name) for name in accuracy}
    every = [spelling for group in names.values() for spelling in group]
    compile_kernels(train, truth, every, watch)
    with watch.stage(f"evaluation, all {len(every)} together"):
        values = Metrics.compute(scores, truth, every, exclude=train)
    alone = Stopwatch()
    for name, group in names.items():
        with alone.stage(name):
            Metrics.compute(scores, truth, group, exclude=train)
    show_metrics(values, names, alone)
    watch.show()
    return True


def spellings(name: str) -> list[str]:
    """Spell the metric at each cutoff, or once if it takes none."""
    return [f"{name}@{k}" for k in CUTOFFS] if METRICS[name].default_k else [name]


def show_published(means: dict[str, float], published: tuple[Published, ...]) -> bool:
    """Print computed beside published means; say loudly where they differ."""
    print(f"  {'metric':<28}{'computed':<24}{'published':<24}")
    missed = []
    for number in published:
        mean = float(means[number.metric])
        met = abs(mean - number.value) <= number.tolerance
        print(f"  {number.metric:<28}{mean!r:<24}{number.value!r:<24}{'met' if met else 'NOT MET'}")
        if not met:
            missed.append(f"{number.metric} is {mean!r}, published is {number.value!r}")
    for line in missed:
        print(f"NOT MET: {line}", file=sys.stderr)
    return not missed


def show_metrics(
    values: dict[str, np.ndarray], names: dict[str, list[str]], alone: Stopwatch
) -> None:
    """Print the means of all metrics, a column per cutoff, and the time of each metric alone."""
    heads = "".join(f"{f'@{k}':>10}" for k in CUTOFFS)
    print(f"  {'metric':<16}{heads}{'no cutoff':>12}{'alone':>12}")
    for name, group in names.items():
        means = [f"{values[spelling].mean():.4f}" for spelling in group]
        with_k = METRICS[name].default_k
        cells = "".join(f"{mean:>10}" for mean in (means if with_k else [""] * len(CUTOFFS)))
        whole = "" if with_k else means[0]
        print(f"  {name:<16}{cells}{whole:>12}{1000 * alone.seconds[name]:>9.0f} ms")


def data_folder() -> Path:
    """Where the splits are."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("RECMETRICS_DATA") or beside)


def split_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Name the train and the test file of a split."""
    return folder / f"{name}_train.npz", folder / f"{name}_test.npz"


def load_split(folder: Path, name: str, watch: Stopwatch) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Train and truth of a split, and a line that says what they are."""
    with watch.stage("reading"):
        train, truth = (sp.load_npz(path).tocsr() for path in split_files(folder, name))
    print(
        f"  {name}: {train.shape[0]:,} users x {train.shape[1]:,} items, "
        f"{train.nnz:,} train, {truth.nnz:,} test\n"
    )
    return train, truth


RUNS: dict[str, tuple[Callable[[Path], bool], str]] = {
    "popularity": (run_popularity, "gowalla"),
    "gfcf": (run_gfcf, "gowalla"),
    "ease": (run_ease, "ml-1m"),
    "identify": (run_identify, "gowalla"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmarks named on the command line; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(RUNS)}; default: all")
    names = parser.parse_args(arguments).names or list(RUNS)
    for name in names:
        if name not in RUNS:
            parser.error(f"unknown benchmark {name!r}; choose from {', '.join(RUNS)}")
    folder = data_folder()
    needed = {path for name in names for path in split_files(folder, RUNS[name][1])}
    absent = sorted(path.name for path in needed if not path.is_file())
    if absent:
        print(
            f"no {', '.join(absent)} in {folder}; set RECMETRICS_DATA to the folder of the splits",
            file=sys.stderr,
        )
        return 2
    all_met = True
    for name in names:
        run, _ = RUNS[name]
        print(f"\n{run.__doc__}")
        all_met &= run(folder)
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
