"""Measure ratios of times and the time to read the scores once, and describe the machine."""

import functools
import gc
import operator
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numba
import numpy as np

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_SHORT = 0.02  # seconds; what takes less is called several times per measurement
_BLOCKS_PER_THREAD = 8
PACKAGES = (
    "numpy", "scipy", "numba", "llvmlite", "irspack", "torch", "torchmetrics", "ranx",
    "scikit-learn", "bottleneck",
)  # fmt: skip


@dataclass(frozen=True)
class Ratio:
    """The median of pairwise ratios with its quartiles, and the median times in milliseconds."""

    value: float
    low: float
    high: float
    ms: float
    other_ms: float


def in_turn(
    run: Callable[[], Any], other: Callable[[], Any], repeats: int, pause: float = 0.0
) -> Ratio:
    """Time ``run`` over ``other``: A B A B ..., each pair one ratio.

    What slows the machine down for a second slows both halves of a pair; the median then drops the
    pairs that were torn apart. Both must have run before: nothing is compiled here.

    ``pause`` is in seconds, before each ``run``. It needs one after a product by OpenBLAS, whose
    threads wait for the next in a loop, up to 0.1 s, on the cores that ``run`` needs.
    """
    number, other_number = _calls_for(run), _calls_for(other)
    times, other_times = [], []
    gc.collect()
    for _ in range(repeats):
        time.sleep(pause)
        times.append(_time(run, number))
        other_times.append(_time(other, other_number))
    ratios = np.divide(times, other_times)
    low, value, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return Ratio(
        float(value), float(low), float(high), _milliseconds(times), _milliseconds(other_times)
    )


def time_alone(run: Callable[[], Any], repeats: int) -> float:
    """Time ``run`` after one call of it; the median in milliseconds."""
    number = _calls_for(run)
    return _milliseconds([_time(run, number) for _ in range(repeats)])


def _calls_for(run: Callable[[], Any]) -> int:
    return max(1, round(_SHORT / _time(run, 1)))


def _time(run: Callable[[], Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        run()
    return (time.perf_counter() - start) / number


def _milliseconds(seconds: list[float]) -> float:
    return 1e3 * float(np.median(seconds))


@numba.njit(nogil=True)
def _or_words(words: np.ndarray) -> int:
    bits = np.uint64(0)
    for i in range(words.size):
        bits |= words[i]
    return bits


class Reader:
    """Reads the bytes of a matrix once, with every core: as 64-bit words, whatever its rows.

    No pass over the same bytes takes less, since this one does nothing else with them.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)

    def __call__(self, matrix: np.ndarray) -> int:
        """Combine all words but a rest of fewer than eight bytes."""
        data = matrix.reshape(-1).view(np.uint8)
        words = data[: len(data) // 8 * 8].view(np.uint64)
        edges = np.linspace(0, len(words), _BLOCKS_PER_THREAD * self.threads + 1).astype(int)
        parts = self.pool.map(
            lambda first, last: _or_words(words[first:last]), edges[:-1], edges[1:]
        )
        return functools.reduce(operator.or_, parts)


@numba.njit(nogil=True)
def _count_again(values: np.ndarray, limit: float, times: int) -> int:
    found = 0
    for again in range(times):
        step = np.float32(limit + again)  # a pass each: the compiler cannot tell what it counts
        for b in range(values.size // 1024):
            part = values[b * 1024 : (b + 1) * 1024]
            above = np.int32(0)
            for i in range(1024):
                above = np.int32(above + np.int32(part[i] > step))
            found += above
    return found


def in_cache(threads: int) -> None:
    """Count 4,096 numbers in cache 131,072 times: what cores gain where no memory limits them."""
    values = np.zeros(4096, np.float32)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: _count_again(values, 1.0, (1 << 17) // 16), range(16)))


def environment() -> dict[str, Any]:
    """Describe the machine and the versions."""
    return {
        "processor": _processor(),
        "cores": THREADS,
        "caches": _caches(),
        "memory": f"{_memory_bytes() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "date": datetime.now(UTC).date().isoformat(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Name the processor, with its vector instructions: a name alone says little in a VM."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    flags = fields.get("flags", "").split()
    vectors = next((name for name in ("avx512f", "avx2", "sse4_2") if name in flags), "")
    return f"{fields.get('model name', platform.processor())} {vectors}".strip()


def _caches() -> str:
    """Levels 1 to 3 of the first core, from sysfs; empty elsewhere."""
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (
            (folder / name).read_text().strip() for name in ("type", "level", "size")
        )
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
