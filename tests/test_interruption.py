"""Ctrl-C, errors, threads and forks in the middle of a call: what was there stays whole."""

import copy
import os
import pickle
import sys
import threading

import numpy as np
import pytest
from interruption import in_child, in_threads, interrupt, seen, settings, threads_in_blas, values_in

from recmetrics import ArgumentError, Evaluator, Metrics
from recmetrics._selection import find_hits
from recmetrics._selection.factors import one_thread_in_blas

METRICS = ["ndcg@2", "mrr", "diversity@2", "coverage@2"]
RNG = np.random.default_rng(0)
SCORES = RNG.integers(0, 9, (12, 5)).astype(np.float32)
TRUTH = RNG.integers(0, 2, (12, 5))
FEATURES = RNG.random((5, 2))
USERS, ITEMS = RNG.integers(0, 3, (12, 2)).astype(np.float64), RNG.integers(0, 3, (5, 2)) * 1.0

pytestmark = pytest.mark.filterwarnings("ignore::recmetrics.NotUpdatedWarning")


def evaluator(**options):
    return Evaluator(TRUTH, METRICS, features=FEATURES, n_threads=1, **options)


def begun():
    """An evaluator of four users: some measured, some waiting, one added twice."""
    one = evaluator()
    one.update(SCORES[:2])
    one.counts()
    one.update(SCORES[4:6], [0, 2])
    one.update(SCORES[2:3])
    return one


def other():
    one = evaluator()
    one.update(SCORES[2:5], [3, 1, 4])
    return one


CALLS = {
    "update": lambda one: one.update(SCORES[3:5]),
    "update users": lambda one: one.update(SCORES[:3], [5, 0, 0]),
    "update factors": lambda one: one.update_factors(USERS[:2], ITEMS, [1, 4]),
    "update ranked": lambda one: one.update_ranked([[4, 3, 2], [0]], slice(3, 5)),
    "merge": lambda one: one.merge(other()),
    "reset": lambda one: one.reset(),
    "compute": lambda one: one.compute(),
    "mean": lambda one: one.mean(),
    "counts": lambda one: one.counts(),
    "state": lambda one: Evaluator.from_state(one.state()),
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "repr": repr,
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_at_any_line_leaves_a_call_done_or_undone(name):
    call = CALLS[name]
    call(begun())  # compiled
    one = begun()
    before = seen(begun())
    call(one)
    after = seen(one)
    unchanged = settings()
    line, outcomes = 1, set()
    while True:
        one = begun()
        reached = interrupt(lambda one=one: call(one), line)
        assert settings() == unchanged, line
        found = seen(one)
        assert found in (before, after), line
        outcomes.add(found)
        if found == before:
            call(one)
        assert seen(one) == after, line
        if reached < line:
            break
        line += 1
    assert line > 10 or name == "reset"
    assert outcomes == {before, after}


STATELESS = {
    "compute": lambda **rest: Metrics.compute(SCORES, TRUTH, METRICS, features=FEATURES, **rest),
    "compute_factors": lambda **rest: Metrics.compute_factors(
        USERS, ITEMS, TRUTH, METRICS[:2], **rest
    ),
    "compute_ranked": lambda **rest: Metrics.compute_ranked(
        [[1, 2]] * 12, TRUTH, METRICS[:1], **rest
    ),
}


@pytest.mark.parametrize("name", STATELESS)
def test_ctrl_c_at_any_line_of_a_call_changes_no_setting(name):
    call = STATELESS[name]
    expected = repr(call(n_threads=1))
    unchanged = settings()
    line = 1
    while interrupt(lambda: call(n_threads=1), line) == line:
        assert settings() == unchanged, line
        line += 1
    assert line > 100
    assert repr(call(n_threads=1)) == expected


@pytest.mark.parametrize("failing", ["joined", "user_rows"])
def test_a_batch_that_fails_late_is_not_added(monkeypatch, failing):
    """Memory may run out anywhere: here where the lists are joined, or the metrics computed."""

    def fail(*_):
        raise MemoryError

    one = begun()
    before = seen(begun())
    owner = "recmetrics._results.store.user_rows"
    if failing == "joined":
        owner = "recmetrics._results.rows.KeptLists.joined"
    with monkeypatch.context() as patch:
        patch.setattr(owner, fail)
        patch.setattr("recmetrics._results.store.WAITING", (1, 1, 1))  # nothing waits
        with pytest.raises(MemoryError):
            one.update(SCORES[3:5])
    assert seen(one) == before
    assert all(count.undefined >= 0 for count in one.counts().values())


# --- Threads -------------------------------------------------------------------------------------


@pytest.fixture
def hasty():
    """Threads that take turns a thousand times as often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(interval)


def test_an_update_waits_for_a_call_of_another_thread():
    one = begun()
    before = seen(one)
    updating = threading.Thread(target=lambda: one.update(SCORES[:2], [8, 9]))
    with one._results._lock:
        updating.start()
        updating.join(0.3)
        assert updating.is_alive()
        assert seen(one) == before  # of the thread that has the lock
    updating.join()
    assert seen(one) != before


@pytest.mark.usefixtures("hasty")
def test_threads_that_share_an_evaluator_give_the_bits_of_one_call():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 9, (1200, 30)).astype(np.float32)
    truth = rng.random((1200, 30)) < 0.1
    metrics = ["ndcg@5", "coverage@3", "diversity@3"]
    features = rng.random((30, 3))
    expected = Metrics.compute(scores, truth, metrics, features=features)
    for _ in range(5):
        one = Evaluator(truth, metrics, features=features, n_threads=1)
        reading = threading.Event()

        def update(first, one=one):
            for begin in range(first * 8, 1200, 32):
                one.update(scores[begin : begin + 8], slice(begin, begin + 8))

        def read(one=one, reading=reading):
            while not reading.is_set():
                assert min(count.undefined for count in one.counts().values()) >= 0
                one.state()
                pickle.dumps(one)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            in_threads(*(lambda first=first: update(first) for first in range(4)))
        finally:
            reading.set()
            reader.join()
        for text, values in one.compute().items():
            np.testing.assert_array_equal(values, expected[text])


def test_what_a_pickle_is_written_from_does_not_change():
    one = begun()
    before = values_in(one)
    make, arguments, state = one._results.__reduce_ex__(4)[:3]
    one.update(SCORES[:3], [0, 8, 9])
    one.counts()
    again = make(*arguments)
    again.__setstate__(state)
    assert repr({name: array.tolist() for name, array in again.state().items()}) == before


def test_copies_of_an_evaluator_that_a_thread_updates_are_whole(tmp_path):
    truth = np.eye(200)[np.arange(20_000) % 200]
    one = Evaluator(truth, ["mrr@5", "hit@5"], n_threads=1)
    rows, done = np.ones((2_000, 200), np.float32), threading.Event()

    def update():
        while not done.is_set():
            for begin in range(0, 20_000, 2_000):
                one.update(rows, slice(begin, begin + 2_000))
                one.counts()
            one.reset()

    worker = threading.Thread(target=update)
    worker.start()
    try:
        for number in range(60):
            if number % 2:
                with (tmp_path / "evaluator").open("wb") as file:
                    pickle.dump(one, file)
                again = pickle.loads((tmp_path / "evaluator").read_bytes())
            else:
                again = copy.deepcopy(one)
            assert {count.undefined for count in again.counts().values()} == {0}
    finally:
        done.set()
        worker.join()


def test_of_two_threads_that_add_the_next_rows_one_is_refused(monkeypatch):
    one, begin = evaluator(), threading.Barrier(2)
    refused = []

    def find_when_both_have_begun(*found):
        begin.wait(10)
        return find_hits(*found)

    def update():
        try:
            one.update(SCORES[:2])
        except ArgumentError as error:
            refused.append(str(error))

    monkeypatch.setattr("recmetrics._evaluator.find_hits", find_when_both_have_begun)
    in_threads(update, update)
    assert refused == [
        "another thread updated this evaluator during this update, so the next users are not "
        "known; give users= if several threads update one evaluator"
    ]
    assert one.counts()["coverage@2"].defined == 2


# --- Forks ---------------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@needs_fork
def test_the_blas_of_a_child_has_its_threads_again():
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="needs threadpoolctl")
    held, leave = threading.Event(), threading.Event()

    @one_thread_in_blas
    def hold():
        held.set()
        leave.wait(60)

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if threads_in_blas() != {2}:
            pytest.skip("a BLAS without threads")
        holder = threading.Thread(target=hold)
        holder.start()
        try:
            assert held.wait(10)
            assert threads_in_blas() == {1}
            assert in_child(lambda: threads_in_blas() == {2}) == 0
            assert threads_in_blas() == {1}
        finally:
            leave.set()
            holder.join()
        assert threads_in_blas() == {2}


@needs_fork
def test_a_fork_while_another_thread_works():
    pytest.importorskip("threadpoolctl")
    unchanged = settings()
    done = threading.Event()

    def factors():
        return Metrics.compute_factors(USERS, ITEMS, TRUTH, "ndcg@2")["ndcg@2"]

    expected = repr(factors())

    def work():
        while not done.is_set():
            factors()

    def check():
        blas = "threads of BLAS"
        return settings()[blas] == unchanged[blas] and repr(factors()) == expected

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert [in_child(check) for _ in range(40)] == [0] * 40
    finally:
        done.set()
        worker.join()
    assert settings() == unchanged
