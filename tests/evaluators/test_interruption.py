"""Ctrl-C, errors and threads: an evaluator has the whole of a batch, or nothing of it."""

import sys
import threading
from functools import partial

import numpy as np
import pytest
from asserts import assert_identical
from inside import MetricSpec, in_python
from interruption import in_threads, interrupt, values_in

from recmetrics import ArgumentError, Evaluator, Metrics, StreamEvaluator
from recmetrics._core import jit

METRICS = ["ndcg@2", "mrr", "diversity@2", "coverage@2"]
RNG = np.random.default_rng(0)
SCORES = RNG.integers(0, 9, (12, 5)).astype(np.float32)
TRUTH = RNG.integers(0, 2, (12, 5))
FEATURES = RNG.random((5, 2))
USERS, ITEMS = RNG.integers(0, 3, (12, 2)).astype(np.float64), RNG.integers(0, 3, (5, 2)) * 1.0

pytestmark = pytest.mark.filterwarnings("ignore::recmetrics.NotUpdatedWarning")


def evaluator(metrics=METRICS, **options):
    return Evaluator(TRUTH, metrics, features=FEATURES, n_threads=1, **options)


def begun():
    """An evaluator of four users: some measured, some waiting, one added twice."""
    one = evaluator()
    one.update(SCORES[:2])
    one.counts()
    one.update(SCORES[4:6], [0, 2])
    one.update(SCORES[2:3])
    return one


OTHERS = []  # to be merged; made before the call, whose lines theirs are not


def begun_beside_other():
    other = evaluator()
    other.update(SCORES[2:5], [8, 1, 9])
    OTHERS.append(other)
    return begun()


def stream(keep):
    """A stream of three events, in two batches that wait."""
    one = StreamEvaluator(["mrr", "coverage@1"], keep=keep)
    one.update(SCORES[:2], TRUTH[:2])
    one.update(SCORES[2:3], TRUTH[2:3])
    return one


def add_next(one):
    if isinstance(one, Evaluator):
        one.update(SCORES[3:4])
    else:
        one.update(SCORES[3:4], TRUTH[3:4])


CALLS = {
    "update": (begun, lambda one: one.update(SCORES[3:5])),
    "update users": (begun, lambda one: one.update(SCORES[:3], [5, 0, 0])),
    "update factors": (begun, lambda one: one.update_factors(USERS[:2], ITEMS, [1, 4])),
    "update ranked": (begun, lambda one: one.update_ranked([[4, 3, 2], [0]], slice(3, 5))),
    "merge": (begun_beside_other, lambda one: one.merge(OTHERS[-1])),
    "reset": (begun, lambda one: one.reset()),
    "compute": (begun, lambda one: one.compute()),
    "state": (begun, lambda one: Evaluator.from_state(one.state())),
    "update values": (partial(stream, "values"), add_next),
    "update means": (partial(stream, "means"), add_next),
    "mean of values": (partial(stream, "values"), lambda one: one.mean()),
    "mean of means": (partial(stream, "means"), lambda one: one.mean()),
}
# Of the others every third.
EVERY_LINE = ("update", "update factors", "update values", "update means")


@pytest.fixture
def kernels_end(monkeypatch):
    """Kernels run as Python, and to their end, as machine code does; no line of them is counted.

    To interrupt them would show no more than to interrupt the line after them: what they have
    written by then. The lines of their loops are three of four.
    """

    def call(kernel, *values, **named):
        trace = sys.gettrace()
        sys.settrace(None)
        try:
            return kernel.python(*values, **named)
        finally:
            sys.settrace(trace)

    monkeypatch.setattr(jit.Kernel, "__call__", call)
    monkeypatch.setattr(jit._Work, "total", 0.0)  # these many calls have none compiled after them


@pytest.mark.usefixtures("kernels_end")
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_at_any_line_leaves_a_call_done_or_undone(name, monkeypatch):
    begin, call = CALLS[name]
    if isinstance(begin, partial):  # of a stream
        monkeypatch.setattr(
            "recmetrics._core.results.store.MAX_WAITING_BATCHES", 2
        )  # a third batch adds up
    undone = begin()
    before = values_in(undone)
    call(undone)
    done = begin()
    call(done)
    after = values_in(done)
    for one in (undone, done):
        add_next(one)
    # It shows which rows came next. The state adds up what waits, so sums have bits of their own.
    last = {after: values_in(done), before: values_in(undone)}
    line, outcomes = 1, set()
    while True:
        one = begin()
        reached = interrupt(lambda one=one: call(one), line)
        found = values_in(one)
        assert found in (before, after), line
        outcomes.add(found)
        if found == before:
            call(one)
        add_next(one)
        assert values_in(one) == last[found], line
        if reached < line:
            break
        line += 1 if name in EVERY_LINE else 3
    assert line > 3
    assert outcomes == {before, after}


def of_discount(discount):
    return evaluator(MetricSpec("dcg", 2, (("discount", discount),)))


def test_a_batch_whose_metrics_fail_is_not_added():
    failing = []

    def discount(rank):
        if failing:
            raise MemoryError
        return 1 / rank

    one = of_discount(discount)
    one.update(SCORES[:2])
    failing.append(True)
    with pytest.raises(MemoryError):
        one.update(SCORES[2:5])
    failing.clear()
    assert [count.not_updated for count in one.counts().values()] == [10]
    one.update(SCORES[2:5])
    twin = of_discount(lambda rank: 1 / rank)
    twin.update(SCORES[:5])
    np.testing.assert_array_equal(*(list(each.compute().values()) for each in (one, twin)))


# --- Threads -------------------------------------------------------------------------------------


@pytest.fixture
def hasty():
    """Threads that take turns a thousand times as often, within kernels, too."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    with in_python():
        yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty")
def test_threads_that_share_an_evaluator_give_the_bits_of_one_call():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 9, (400, 30)).astype(np.float32)
    truth = rng.random((400, 30)) < 0.1
    metrics = ["ndcg@5", "coverage@3", "diversity@3"]
    features = rng.random((30, 3))
    expected = Metrics.compute(scores, truth, metrics, features=features)
    for _ in range(5):
        one = Evaluator(truth, metrics, features=features, n_threads=1)
        reading = threading.Event()

        def update(first, one=one):
            for begin in range(first * 8, 400, 32):
                one.update(scores[begin : begin + 8], slice(begin, begin + 8))

        def read(one=one, reading=reading):
            while not reading.is_set():
                assert min(count.undefined for count in one.counts().values()) >= 0
                one.state()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            in_threads(*(lambda first=first: update(first) for first in range(4)))
        finally:
            reading.set()
            reader.join()
        assert_identical(one.compute(), expected)


def test_an_update_waits_for_a_call_of_another_thread():
    one = begun()
    before = values_in(one)
    updating = threading.Thread(target=lambda: one.update(SCORES[:2], [8, 9]))
    with one._results._lock:
        updating.start()
        updating.join(0.3)
        assert updating.is_alive()
        assert values_in(one) == before  # of the thread that has the lock
    updating.join()
    assert values_in(one) != before


def test_a_pickle_is_written_from_what_does_not_change():
    one = begun()
    before = values_in(one)
    make, arguments, state = one._results.__reduce_ex__(4)[:3]
    one.update(SCORES[:3], [0, 8, 9])
    one.counts()
    again = make(*arguments)
    again.__setstate__(state)
    assert values_in(Evaluator._of(again)) == before


def test_of_two_threads_that_add_the_next_rows_one_is_refused():
    """Both choose their users before either adds its rows."""
    begin, refused = threading.Barrier(2, timeout=30), []

    def discount(rank):
        if rank == 1:
            begin.wait()
        return 1 / rank

    one = of_discount(discount)

    def update():
        try:
            one.update(SCORES[:2])
        except ArgumentError as error:
            refused.append(str(error))

    in_threads(update, update)
    assert refused == [
        "another thread updated this evaluator during this update, so the next users are not "
        "known; give users= if several threads update one evaluator"
    ]
    assert [count.not_updated for count in one.counts().values()] == [10]
