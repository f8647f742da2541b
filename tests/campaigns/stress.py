"""Stress: thousands of calls, Ctrl-C at random moments, many processes on one cold cache.

    python tests/campaigns/stress.py                          all three, some minutes
    python tests/campaigns/stress.py interruptions --times 1000 --seed 3

Each runs in processes of its own and prints a closing line; a fault is printed before it, and the
exit status is 1. The suite runs the same, shorter (test_stress.py).
"""

import argparse
import json
import os
import random
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from runs import record

from recmetrics import Evaluator, Metrics, RecmetricsError, audit

METRICS = ["ndcg@10", "recall@10", "map", "auc", "coverage@5", "personalization@5"]
_PATIENCE = 120  # seconds after which a process hangs
_PROMPT = 0.5  # seconds in which Ctrl-C is to be answered


class Child:
    """A process that runs a function of this file, and answers line by line."""

    def __init__(self, function, *arguments, **environment):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "child", function, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"RECMETRICS_JIT": "always"} | environment,
            # Where the caller ignores Ctrl-C, as a shell makes what runs in the background do.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.heard = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def tell(self, line=""):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def hear(self):
        """Its next line; an AssertionError where it hangs or has ended."""
        while b"\n" not in self.heard:
            ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
            assert ready, f"no answer in {_PATIENCE} s"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, f"ended with status {self.process.wait()}"
            self.heard += more
        line, _, self.heard = self.heard.partition(b"\n")
        return line.decode()


def answer(line):
    print(line, flush=True)


def problem(n_users=3, n_items=40):
    """Scores with ties, truth, and what else calls take."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 30, (n_users, n_items)).astype(np.float32)
    truth = rng.integers(0, 8, scores.shape) // 6
    return scores, truth


def shown(values):
    """Results as text in which every bit shows."""
    return json.dumps({text: np.asarray(value).tobytes().hex() for text, value in values.items()})


# --- Memory --------------------------------------------------------------------------------------


def calls():
    """Every kind of call and of input, small: by name, functions without arguments."""
    scores, truth = problem()
    sparse, lists = sp.csr_array(truth), [np.flatnonzero(row) for row in truth]
    exclude, seen = [np.array([0, 7])] * len(scores), scores[:, ::-1] > 25
    ranking = np.argsort(-scores, axis=1, kind="stable")[:, :20]
    factors = np.linspace(0, 1, 3 * 4).reshape(3, 4), np.linspace(1, -1, 40 * 4).reshape(40, 4)
    side = {"popularity": np.linspace(0, 1, 40), "features": np.eye(40), "genres": np.eye(40)}
    evaluator, other = (Evaluator(sparse, METRICS, exclude=exclude) for _ in range(2))
    texts = iter(range(1, 1 << 40))
    wide = np.tile(scores, (200, 25)), np.tile(truth, (200, 25))

    def epoch():
        for user in range(len(scores)):
            evaluator.update(scores[user : user + 1], [user])
        evaluator.compute(), evaluator.mean(prefix="val/")
        other.update(scores)
        other.merge(evaluator), Evaluator.from_state(other.state()).counts()
        evaluator.reset(), other.reset()

    of_rankings = [text for text in METRICS if text != "auc"]  # which needs whole rankings
    of_lists = Evaluator(sparse, of_rankings, exclude=exclude)

    def ranked_epoch():
        of_lists.update_ranked(np.where(np.isin(ranking, [0, 7]), -1, ranking)[:, :0])
        of_lists.compute(), of_lists.reset()

    def refused():
        try:
            Metrics.compute(np.where(scores == scores[0, 0], np.nan, scores), truth, METRICS)
        except RecmetricsError:
            return
        raise AssertionError

    def compute(*inputs, metrics=METRICS, **options):
        return lambda: Metrics.compute(*inputs, metrics, **options)

    return {
        "float32": compute(scores, truth),
        "float64, strided": compute(scores.astype(float)[:, ::-1], truth),
        "float16": compute(scores.astype(np.float16), truth),
        "integers": compute(scores.astype(np.int32), truth),
        "nested lists": compute(scores.tolist(), truth.tolist()),
        "sparse truth": compute(scores, sparse, exclude=sparse.T.tocsr().T),
        "lists of truth": compute(scores, lists, exclude=exclude),
        "dense exclude": compute(scores, truth, exclude=seen),
        "candidates": compute(scores, sparse, candidates=[1, 2, 3, 5, 8, 13]),
        "candidates of each": compute(scores, truth, candidates=lists),
        "expected ties": compute(scores, truth, metrics=METRICS[:4], ties="expected"),
        "side information": compute(scores, truth, metrics=["novelty@5", "diversity@5"], **side),
        "new strings": lambda: Metrics.compute(scores, truth, f"ndcg@{next(texts)}"),
        "threads": compute(*wide, metrics=METRICS[:2], n_threads=2),
        "an error": refused,
        "rankings": lambda: Metrics.compute_ranked(ranking, sparse, of_rankings),
        "factors": lambda: Metrics.compute_factors(*factors, sparse, METRICS, exclude=exclude),
        "Evaluator": epoch,
        "Evaluator, rankings": ranked_epoch,
        "audit": lambda: audit(scores, sparse, exclude=exclude),
        "chance": lambda: Metrics.chance(sparse, METRICS[:4]),
    }


def resident():
    """Bytes of memory that this process holds, without pages of files.

    The system takes those of libraries back and reads them again as it likes, a megabyte at a time.
    """
    _, n_resident, n_of_files, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (n_resident - n_of_files) * os.sysconf("SC_PAGE_SIZE")


def child_memory(times):
    """Answer, for each kind of call, what memory grew by between half of the calls and all.

    In the first half Python fills its lists of free tuples, some 400 KiB, and new strings the cache
    of 1,024 of them.
    """
    times = int(times)
    counts = {"threads": max(10, times // 10), "new strings": max(4_096, times)}
    for name, call in calls().items():
        count = counts.get(name, times)
        for number in range(count):
            if number == count // 2:
                before = resident()
            call()
        answer(json.dumps([name, count, resident() - before]))
    answer("null")


def memory(times=10_000, allowed=1 << 18):
    """Faults, and a closing line: no kind of call may grow by more bytes than allowed."""
    faults, grown = [], {}
    # One arena: what threads free comes back to where the next call looks.
    with Child("memory", times, MALLOC_ARENA_MAX="1") as child:
        while (found := json.loads(child.hear())) is not None:
            name, count, growth = found
            grown[name] = growth
            if growth > allowed:
                faults.append(f"{name}: {growth:,} bytes more after {count:,} calls")
    worst = max(grown, key=grown.get)
    line = f"memory: {len(grown)} kinds of calls, {times:,} of each, {len(faults)} grew; "
    return faults, f"{line}at most {grown[worst] >> 10:,} KiB ({worst})"


# --- Ctrl-C --------------------------------------------------------------------------------------


def long_calls(n_users=1_000_000):
    """Calls that take hours, by name."""
    scores, _ = problem(1, 50_000)
    rows = np.broadcast_to(scores[0], (n_users, 50_000))
    halves = np.broadcast_to(scores[0].astype(np.float16), rows.shape)
    start = np.arange(n_users + 1)
    truth = sp.csr_array((np.ones(n_users, np.float32), start[:-1] % 50_000, start), rows.shape)
    users, items = np.ones((n_users, 32), np.float32), np.ones((50_000, 32), np.float32)
    evaluator = Evaluator(truth, ["ndcg@10", "coverage@10"])
    return {
        "one thread": lambda: Metrics.compute(rows, truth, "ndcg@10", n_threads=1),
        "two threads": lambda: Metrics.compute(rows, truth, ["ndcg@10", "auc"], n_threads=2),
        "float16": lambda: Metrics.compute(halves, truth, "ndcg@10", n_threads=2),
        "lists": lambda: Metrics.compute(rows, truth, "coverage@10", exclude=truth, n_threads=2),
        "ties": lambda: Metrics.compute(rows, truth, "map", ties="expected", n_threads=2),
        "factors": lambda: Metrics.compute_factors(users, items, truth, "ndcg@10", n_threads=2),
        "Evaluator": lambda: evaluator.update(rows),
        "audit": lambda: audit(rows, truth),
    }


def after_interruption():
    """What the next calls give: threads, an Evaluator, factors."""
    scores, truth = problem(1_000, 700)
    values = Metrics.compute(scores, truth, METRICS, n_threads=2)
    evaluator = Evaluator(truth, METRICS)
    evaluator.update(scores[:500]), evaluator.update(scores[500:])
    values |= {f"batches {text}": value for text, value in evaluator.compute().items()}
    factors = np.float32(scores[:, :8]), np.float32(scores.T[:, :8])
    again = Metrics.compute_factors(*factors, truth, METRICS[:3], n_threads=2)
    return shown(values | {f"factors {text}": value for text, value in again.items()})


def child_interruptions():
    """Run the long call that is named on each line until Ctrl-C ends it; then say how all is."""
    for call in long_calls(4).values():  # compiled: llvmlite may lose a Ctrl-C meanwhile
        call()
    every = long_calls()
    answer(after_interruption())
    for line in sys.stdin:
        try:
            answer("started")
            every[line.strip()]()
        except KeyboardInterrupt:
            answer("interrupted")
        answer(after_interruption())
        answer(threading.active_count())


def interruptions(times=200, seed=None, longest=1.0):
    """Faults, and a closing line: interrupt long calls at random moments in their first seconds."""
    draw = random.Random(seed)
    faults, waited = [], []
    names = list(long_calls())
    done = 0
    while done < times and len(faults) < 5:
        with Child("interruptions") as child:
            expected = child.hear()
            while done < times:
                name, moment = names[done % len(names)], draw.uniform(0, longest)
                done += 1
                try:
                    child.tell(name)
                    assert child.hear() == "started"
                    time.sleep(moment)
                    sent = time.perf_counter()
                    child.process.send_signal(signal.SIGINT)
                    assert child.hear() == "interrupted", "not interrupted"
                    waited.append(time.perf_counter() - sent)
                    assert child.hear() == expected, "the next call gave other bits"
                    assert child.hear() == "1", "threads were left"
                except AssertionError as error:
                    faults.append(f"{name}, after {moment:.3f} s: {error}")
                    break  # go on with a new process
    late = sum(seconds > _PROMPT for seconds in waited)
    line = f"interruptions: seed {seed}, {done} Ctrl-C, {len(faults)} faults; "
    line += f"the slowest answer in {max(waited, default=0):.2f} s, {late} over {_PROMPT} s"
    return faults, line


# --- A cold cache --------------------------------------------------------------------------------


def child_cold():
    """Wait for a word, then compute in eight threads and in a fork; what is compiled goes to all.

    The answer of each thread and of the fork must be the same.
    """
    answer("ready")
    sys.stdin.readline()
    with ThreadPoolExecutor(8) as pool:
        answers = [shown(values) for values in pool.map(lambda _: of_rankings(), range(8))]
    answers += in_a_fork(lambda: shown(of_rankings()))
    same = all(other == answers[0] for other in answers)
    answer(answers[0] if same else "threads or the fork differ")


def in_a_fork(work):
    """What ``work`` returns in a fork of this process, as JSON has it; nothing without forks."""
    if not hasattr(os, "fork"):
        return []
    read, write = os.pipe()
    if os.fork() == 0:
        with os.fdopen(write, "w") as pipe:
            json.dump(work(), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.wait()
    return [json.loads(text)]


def of_rankings():
    """Metrics of rankings, whose many small kernels are compiled in seconds."""
    scores, truth = problem()
    ranking = np.argsort(-scores, axis=1, kind="stable")
    return Metrics.compute_ranked(ranking, truth, METRICS)


def cold(rounds=5, processes=4):
    """Faults, and a closing line: processes that fill one empty cache at once, and one after."""
    expected = shown(of_rankings())
    faults = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            children = [Child("cold", NUMBA_CACHE_DIR=cache) for _ in range(processes + 1)]
            try:
                for child in children:
                    child.hear()
                for child in children[:-1]:
                    child.tell()
                found = [child.hear() for child in children[:-1]]
                children[-1].tell()
                found.append(children[-1].hear())
                if found != [expected] * len(children):
                    faults.append(f"round {number}: not the same bits")
            except AssertionError as error:
                faults.append(f"round {number}: {error}")
            finally:
                for child in children:
                    child.__exit__()
            if not list(Path(cache).rglob("*.nbi")):
                faults.append(f"round {number}: nothing was cached")
    return faults, f"cold: {rounds} rounds of {processes} processes at once, {len(faults)} faults"


def main():
    if sys.argv[1:2] == ["child"]:
        warnings.simplefilter("error")
        misleading = "exclude holds all|candidates have no|.* have popularity 0; novelty"
        warnings.filterwarnings("ignore", misleading)
        globals()[f"child_{sys.argv[2]}"](*sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="all without a name")
    parser.add_argument("--calls", type=int, default=10_000, help="of each kind, for memory")
    parser.add_argument("--times", type=int, default=200, help="of Ctrl-C, in long calls")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31), help="of Ctrl-C")
    asked = parser.parse_args()
    runs = {
        "memory": lambda: memory(asked.calls),
        "interruptions": lambda: interruptions(asked.times, asked.seed),
        "cold": cold,
    }
    failed, told = 0, []
    for name in asked.names or runs:
        faults, line = runs[name]()
        failed += bool(faults)
        told += [*faults, line]
        print(*faults, line, sep="\n", flush=True)
    if not asked.names:
        record("Stress", *told)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
