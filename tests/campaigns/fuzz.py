"""Differential fuzzer: random calls against the definitions of the metrics.

    python tests/campaigns/fuzz.py --problems 100000 --processes 2

Problems vary score dtype, memory layout, form of truth and sets, metrics with their options,
conventions, tie policies and entry points. The seed is printed; with it the same problems come
again. A problem that fails is made as small as it still fails, and printed as code that runs.
"""

import argparse
import dataclasses
import multiprocessing
import os
import secrets
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # where the tests have their problems

import numpy as np
from fuzz_answers import Refused, answers
from fuzz_entries import ENTRIES, available
from fuzz_problems import draw
from inside import compiled, in_python
from runs import record
from sizes import TIGHT, patched

_CHUNK = 50  # problems that a process takes at once
_SHOWN = 5  # failures after which a run ends
# Seconds, at most, for a problem that fails.
_SHRINKING = float(os.environ.get("RECMETRICS_SHRINKING", "60"))


def check(problem):
    """Raise an AssertionError where an entry point and the definitions disagree.

    Kernels run as Python and compiled, and both must give the same bits.
    """
    expected = answers(problem)
    with warnings.catch_warnings(), patched(TIGHT if problem.tight else {}):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "exclude holds (all|the one) relevant item")
        warnings.filterwarnings("ignore", "candidates have no relevant item")
        warnings.filterwarnings("ignore", "item [0-9]+ is the target of several rows")
        warnings.filterwarnings("ignore", ".* have popularity 0; novelty")
        warnings.filterwarnings("ignore", "the mean of .* is plain, and the system")
        warnings.filterwarnings("ignore", ".* are scores and truth exchanged")
        warnings.filterwarnings("ignore", ".*, column .* no id of recs occurs here")
        if isinstance(expected, Refused):
            _check_refused(problem, expected)
            return
        with in_python():
            interpreted = ENTRIES[problem.entry](problem)
        with compiled():
            got = ENTRIES[problem.entry](problem)
    assert list(got) == list(problem.keys)
    for text, values in expected.items():
        assert got[text].tobytes() == interpreted[text].tobytes()
        assert got[text].dtype == np.float64
        np.testing.assert_allclose(got[text], values, rtol=1e-11, atol=1e-13, err_msg=text)


def _check_refused(problem, expected):
    message = "no error"
    try:
        ENTRIES[problem.entry](problem)
    except expected.error as error:
        message = str(error)
    assert message.startswith(expected.text), f"{message}\nexpected: {expected.text}"


def failure(problem):
    """The error that a problem ends in, or None."""
    try:
        check(problem)
    except Exception as error:
        return error
    return None


# --- Shrinking -----------------------------------------------------------------------------------


def shrunk(problem):
    """A problem with less in it that still ends in an error of the same type."""
    kind = type(failure(problem))
    end = time.monotonic() + _SHRINKING
    smaller = True
    while smaller:
        smaller = False
        for candidate in _simpler(problem):
            if time.monotonic() > end:
                break
            if type(failure(candidate)) is kind:
                problem, smaller = candidate, True
                break
    return problem


def _simpler(problem):
    """Problems that differ from this one by one thing less, what is slow to try last."""
    n_users, n_items = problem.shape
    for u in range(n_users if n_users > 1 else 0):
        yield _without_user(problem, u)
    for text in problem.metrics if len(problem.metrics) > 1 else ():
        kept = tuple(other for other in problem.metrics if other != text)
        yield dataclasses.replace(problem, metrics=kept)
    plain = {
        "exclude": None,
        "candidates": None,
        "convention": None,
        "undefined": None,
        "nan": "raise",
        "ties": "index",
        "tight": False,
        "n_threads": 1,
        "layout": "C",
        "truth_form": "dense",
        "exclude_form": "arrays",
        "candidates_form": "arrays",
        "entry": "compute",
        "seed": 0,
    }
    for name, value in plain.items():
        if getattr(problem, name) != value:
            yield dataclasses.replace(problem, **{name: value})
    sizes = [size for size in (n_items // 2, n_items // 8, 1) if 0 < size < n_items]
    for size in sizes:
        for first in range(0, n_items, size):
            yield _without_items(problem, range(first, min(first + size, n_items)))


def _without_user(problem, user):
    def rest(rows):
        return rows and (*rows[:user], *rows[user + 1 :])

    names = ("scores", "truth", "exclude", "candidates")
    return dataclasses.replace(problem, **{name: rest(getattr(problem, name)) for name in names})


def _without_items(problem, gone):
    n_items = problem.shape[1]
    kept = [item for item in range(n_items) if item not in gone]
    place = {item: i for i, item in enumerate(kept)}

    def columns(rows):
        return tuple(tuple(row[item] for item in kept) for row in rows)

    def items(sets):
        return sets and tuple(tuple(place[i] for i in own if i in place) for own in sets)

    return dataclasses.replace(
        problem,
        scores=columns(problem.scores),
        truth=columns(problem.truth),
        exclude=items(problem.exclude),
        candidates=items(problem.candidates),
    )


def as_code(problem, error):
    """A script that fails as the problem does."""
    last = traceback.format_exception_only(error)[-1].strip().splitlines()
    said = "\n".join(f"# {line}" for line in last[:12])
    return (
        "from math import inf, nan\n\n"
        "from fuzz import check\n"
        "from fuzz_problems import Problem\n\n"
        f"{said}\ncheck({problem!r})"
    )


# --- A run ---------------------------------------------------------------------------------------


def run(seed, numbers, entries=None):
    """Check the problems of these numbers; the entry points met, and the first failure."""
    entries = entries or available()
    met = Counter()
    for number in numbers:
        problem = draw([seed, number], entries)
        met[problem.entry] += 1
        if failure(problem) is not None:
            small = shrunk(problem)
            return met, number, as_code(small, failure(small))
    return met, None, ""


def _run(work):
    return run(*work)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="of an earlier run")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    asked = parser.parse_args()
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    print(f"seed {seed}, {asked.problems} problems for {', '.join(available())}", flush=True)
    began = time.monotonic()
    numbers = range(asked.first, asked.first + asked.problems)
    works = [(seed, numbers[i : i + _CHUNK]) for i in range(0, len(numbers), _CHUNK)]
    met, failed = Counter(), 0
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        for counts, number, code in pool.imap_unordered(_run, works):
            met += counts
            if code:
                failed += 1
                print(f"\n# problem {number} of seed {seed}\n{code}\n", flush=True)
            if failed == _SHOWN:
                break
    seconds = time.monotonic() - began
    print(", ".join(f"{name} {count}" for name, count in sorted(met.items())))
    line = f"{met.total():,} problems in {seconds:.0f} s, seed {seed}: {failed} failed"
    print(line)
    if asked.problems >= parser.get_default("problems"):
        record("Fuzzing", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
