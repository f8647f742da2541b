"""Threads, processes and interruptions leave the numbers and the process alone."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from asserts import assert_identical, python
from problems import JIT

from recmetrics import InputError, Metrics
from recmetrics._core.inputs import scores as score_blocks
from recmetrics._core.options import thread_count
from recmetrics._core.threads import map_blocks, raise_if_stopped

METRICS_LIST = ["ndcg@10", "recall@10"]
N_ITEMS = 700 if JIT else 70

pytestmark = pytest.mark.usefixtures("threads_start_early")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2_000, N_ITEMS), dtype=np.float32)  # enough for threads to start
    return scores, (rng.random(scores.shape) < 0.02).astype(np.uint8)


def test_eight_callers_at_once(problem):
    expected = Metrics.compute(*problem, METRICS_LIST)
    with ThreadPoolExecutor(8) as pool:
        results = [pool.submit(Metrics.compute, *problem, METRICS_LIST) for _ in range(16)]
        for result in results:
            assert_identical(result.result(), expected)


def test_no_thread_outlives_the_call(problem):
    before = set(threading.enumerate())
    Metrics.compute(*problem, METRICS_LIST, n_threads=4)
    assert set(threading.enumerate()) == before


def test_work_runs_in_as_many_threads_as_asked():
    meeting = threading.Barrier(3, timeout=30)  # passes only if three threads wait at once
    blocks = [slice(i, i + 1) for i in range(3)]
    assert map_blocks(lambda block: (meeting.wait(), block.start)[1], blocks, 3) == [0, 1, 2]


def test_one_thread_is_the_calling_thread():
    here = threading.get_ident()
    blocks = [slice(0, 1), slice(1, 2)]
    assert map_blocks(lambda _: threading.get_ident(), blocks, 1) == [here, here]


def test_an_error_in_a_block_reaches_the_caller(problem):
    scores, truth = problem
    truth = truth.astype(float)
    truth[1_500, 3] = -1
    with pytest.raises(InputError, match=r"got -1 at \(user 1500, item 3\)"):
        Metrics.compute(scores, truth, METRICS_LIST, n_threads=4)


def test_of_two_errors_that_of_the_first_block_is_raised():
    """Though the second is met first: the first block fails when its thread is waited for."""
    threads, known = [], threading.Event()

    def work(block):
        if block.start == 0:
            known.wait()
            if threads[0] is not threading.main_thread():  # which waits for this block
                threads[0].join()
            raise ZeroDivisionError
        threads.append(threading.current_thread())
        known.set()
        raise KeyError

    with pytest.raises(ZeroDivisionError):
        map_blocks(work, [slice(0, 1), slice(1, 2)], 2)


def test_the_environment_sets_the_threads(monkeypatch):
    monkeypatch.setenv("RECMETRICS_NUM_THREADS", "3")
    assert thread_count(None) == 3
    assert thread_count(5) == 5
    monkeypatch.delenv("RECMETRICS_NUM_THREADS")
    assert thread_count(None) == len(os.sched_getaffinity(0))


def test_cores_are_counted_where_the_system_does_not_say_which_are_ours(monkeypatch):
    monkeypatch.delenv("RECMETRICS_NUM_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert thread_count(None) == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)  # unknown
    assert thread_count(None) == 1


def test_where_a_thread_cannot_start_the_others_do_its_work(monkeypatch):
    before = set(threading.enumerate())
    started = []

    class Scarce(threading.Thread):
        def start(self):
            if started:
                msg = "can't start new thread"
                raise RuntimeError(msg)
            started.append(self)
            super().start()

    monkeypatch.setattr(threading, "Thread", Scarce)
    blocks = [slice(i, i + 1) for i in range(9)]
    assert map_blocks(lambda block: block.start, blocks, 3) == list(range(9))
    assert len(started) == 1
    assert set(threading.enumerate()) == before


def test_ctrl_c_stops_the_long_blocks_of_other_threads():
    begun, waited = threading.Event(), []

    def work(_):
        if threading.current_thread() is threading.main_thread():
            begun.wait(30)
            raise KeyboardInterrupt
        begun.set()
        for _ in range(3_000):
            raise_if_stopped()
            time.sleep(0.01)
        waited.append("to the end")

    with pytest.raises(KeyboardInterrupt):
        map_blocks(work, [slice(0, 1), slice(1, 2)], 2)
    assert waited == []


def test_progress_is_told_in_the_calling_thread(problem):
    calls = []
    Metrics.compute(
        *problem,
        METRICS_LIST,
        n_threads=2,
        progress=lambda done, rows: calls.append((done, rows, threading.get_ident())),
    )
    done = [call[0] for call in calls]
    assert done == sorted(set(done))
    assert calls[-1] == (2_000, 2_000, threading.get_ident())


SMALL = """
import numpy as np
from recmetrics import Metrics
scores = np.arange(3_000.0).reshape(3, -1) % 777
truth = (np.arange(3_000).reshape(3, -1) % 10 == 0).astype(float)
def values():
    return [v.tolist() for v in Metrics.compute(scores, truth, ["ndcg@10", "auc"]).values()]
"""


def small_values():
    scope = {}
    exec(SMALL, scope)
    return scope["values"]()


def test_after_a_fork():
    code = (
        SMALL
        + f"""
import os
import recmetrics._core.inputs.scores
recmetrics._core.inputs.scores.LEAST_SCORES = {score_blocks.LEAST_SCORES}
scores, truth = (np.tile(each, ({600 if JIT else 60}, 1)) for each in (scores, truth))
Metrics.compute(scores, truth, "ndcg@10", n_threads=2)
read, write = os.pipe()
if os.fork() == 0:
    again = Metrics.compute(scores, truth, "auc", n_threads=2)
    scores, truth = scores[:3], truth[:3]
    os.write(write, repr(values()).encode())
    os._exit(0)
os.wait()
print(os.read(read, 10_000).decode())
"""
    )
    assert python("-P", "-W", "error", "-c", code).stdout.strip() == repr(small_values())


def test_in_spawned_processes(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(
        SMALL
        + """
if __name__ == "__main__":
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for result in [pool.submit(values) for _ in range(2)]:
            print(result.result())
"""
    )
    assert python(script).stdout.splitlines() == [repr(small_values())] * 2


def test_without_compilation():
    done = python("-P", "-W", "error", "-c", SMALL + "print(values())", NUMBA_DISABLE_JIT="1")
    assert done.stdout.strip() == repr(small_values())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_ends_a_long_call(n_threads):
    # Many users behind one row: a minute of work, were it not interrupted.
    code = f"""
import numpy as np
from recmetrics import Metrics
row = np.random.default_rng(0).random(50_000, dtype=np.float32)
scores = np.broadcast_to(row, (400_000, 50_000))
truth = [np.arange(3)] * len(scores)
def started(done, rows, told=[]):
    if not told:
        told.append(print("started", flush=True))
try:
    Metrics.compute(scores, truth, "ndcg@10", n_threads={n_threads}, progress=started)
except KeyboardInterrupt:
    print("interrupted", Metrics.compute([[2, 1]], [[0, 1]], "mrr")["mrr"].tolist())
"""
    child = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "started\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "interrupted [0.5]\n"
        assert child.returncode == 0
    finally:
        child.kill()
        child.wait()
