"""What only a process of its own can tell: memory, and the cost of the first call.

Run by speed.py; each prints one JSON object.

    python fresh.py memory 2000 50000 float32
    python fresh.py first-call
"""

import contextlib
import json
import resource
import sys
import time
from pathlib import Path

import numba  # noqa: F401  (what is imported here is not counted as ours)
import numpy as np
import scipy.sparse as sp

_SELF = Path("/proc/self")


def main() -> None:
    """Dispatch on the first argument."""
    what, *arguments = sys.argv[1:]
    if what == "memory":
        users, items, dtype, *exclude = arguments
        answer = memory((int(users), int(items)), dtype, exclude=bool(exclude))
    else:
        answer = first_call()
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


if __name__ == "__main__":
    main()
