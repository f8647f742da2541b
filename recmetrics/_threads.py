"""Row blocks in threads, and objects that several threads use.

Threads are started for a call and joined before it returns. So there is no thread for a ``fork`` to
copy half-way, simultaneous callers share no pool, and no setting of the process changes.
"""

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

import numpy as np

from recmetrics._jit import while_compiling
from recmetrics._types import Progress

P = ParamSpec("P")
Result = TypeVar("Result")
Own = TypeVar("Own", bound="Exclusive")


class _Stopped(BaseException):
    """Ends work whose result is no longer needed."""


class _Here(threading.local):
    """The state of a thread of ``map_blocks``."""

    interrupted: threading.Event | None = None


_here = _Here()


def raise_if_stopped() -> None:
    """Leave a long block early if its call was interrupted."""
    if _here.interrupted is not None and _here.interrupted.is_set():
        raise _Stopped


def map_blocks(
    work: Callable[[slice], Result],
    blocks: Sequence[slice],
    n_threads: int,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """Compute ``[work(block) for block in blocks]`` on ``n_threads`` threads.

    The calling thread is one of these threads: putting it to sleep and waking it took an eighth of
    a call of 12 ms. Between its blocks it calls ``done`` with the number of rows of each finished
    block. After an error or Ctrl-C each thread stops after its current block; after Ctrl-C it may
    stop within the block, see ``raise_if_stopped``. If several blocks fail, the error of the first
    block is raised, so that the message does not depend on the threads.
    """
    if n_threads == 1 or len(blocks) == 1:
        return [_call(work, block, done) for block in blocks]
    waiting = iter(range(len(blocks)))  # next() on it is atomic under the GIL
    finished: SimpleQueue[tuple[int, Result | None, BaseException | None]] = SimpleQueue()
    stop = threading.Event()
    interrupted = threading.Event()

    def run() -> None:
        _here.interrupted = interrupted
        for number in waiting:
            if stop.is_set():
                return
            try:
                finished.put((number, work(blocks[number]), None))
            except _Stopped:
                return
            except BaseException as error:  # raised again in the calling thread
                finished.put((number, None, error))

    threads = [
        threading.Thread(target=run, name=f"recmetrics-{number}", daemon=True)
        for number in range(1, min(n_threads, len(blocks)))
    ]
    results: list[Result | None] = [None] * len(blocks)
    errors: dict[int, BaseException] = {}
    n_left = len(blocks)
    try:
        for thread in threads:
            thread.start()
        while n_left and not errors:
            own = next(waiting, None)
            if own is not None:
                try:
                    finished.put((own, work(blocks[own]), None))
                except Exception as failed:
                    finished.put((own, None, failed))
            while n_left and not errors and (own is None or not finished.empty()):
                number, result, error = finished.get()
                if error is not None:
                    errors[number] = error
                    break
                results[number] = result
                n_left -= 1
                if done is not None:
                    done(blocks[number].stop - blocks[number].start)
    except BaseException:
        interrupted.set()
        raise
    finally:
        stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if errors:
        # Blocks start in order: those before the failed one are finished by now.
        while not finished.empty():
            number, _, error = finished.get()
            if error is not None:
                errors[number] = error
        try:
            raise errors[min(errors)]
        finally:
            # Otherwise error and frame keep each other and the threads alive until garbage is
            # collected, and a Ctrl-C during that collection would be lost.
            del errors, error
    return cast(list[Result], results)


def _call(
    work: Callable[[slice], Result], block: slice, done: Callable[[int], None] | None
) -> Result:
    result = work(block)
    if done is not None:
        done(block.stop - block.start)
    return result


@contextmanager
def reporting(
    progress: Literal[True] | Callable[[int, int], object], rows: int
) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that takes the number of rows just done, or None without tqdm."""
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:  # the bar is optional
            yield None
            return

        def tell(compiling: bool) -> None:
            bar.set_description("compiling" if compiling else None)

        with tqdm(total=rows, unit=" users") as bar, while_compiling(tell):

            def advance(done: int) -> None:
                bar.update(done)

            yield advance
    else:
        total = 0

        def report(done: int) -> None:
            nonlocal total
            total += done
            progress(total, rows)

        yield report


def in_blocks(
    work: Callable[[slice], Any], blocks: Sequence[slice], n_threads: int, progress: Progress
) -> list[Any]:
    """Run ``work`` for each block in threads and report the progress of the call."""
    if not progress:
        return map_blocks(work, blocks, n_threads)
    with reporting(progress, blocks[-1].stop) as done:
        return map_blocks(work, blocks, n_threads, done)


_BLOCKS_PER_THREAD = 8  # so that a thread that falls behind does not hold up the others


def row_blocks(n_rows: int, rows: int, n_threads: int = 1, least: int = 1) -> list[slice]:
    """Cut ``n_rows`` into blocks of about ``rows``, or fewer where that keeps threads busy.

    Blocks have at least ``least`` rows: with fewer, Python's overhead exceeds the work on a block.
    """
    rows = max(1, rows)
    if n_threads > 1:
        rows = min(rows, max(1, least, -(-n_rows // (_BLOCKS_PER_THREAD * n_threads))))
    starts = range(0, max(1, n_rows), rows)  # zero rows are one empty block
    return [slice(first, min(first + rows, n_rows)) for first in starts]


def surely(work: Callable[[], Result], undo: Callable[[], object]) -> Result:
    """Do some work, then call ``undo``, twice since Ctrl-C may interrupt any line of it."""
    try:
        try:
            return work()
        finally:
            undo()
    finally:
        undo()


def without_warnings(work: Callable[P, Result]) -> Callable[P, Result]:
    """Let NumPy not warn of NaN, infinity and overflow in this thread while ``work`` runs.

    Unlike ``np.errstate``, which leaves the thread without warnings if Ctrl-C interrupts its exit.
    """

    @functools.wraps(work)
    def silent(*args: P.args, **kwargs: P.kwargs) -> Result:
        before = np.geterr()

        def silently() -> Result:
            np.seterr(all="ignore")
            return work(*args, **kwargs)

        return surely(silently, lambda: np.seterr(**before))

    return silent


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801
        """``functools.cached_property`` without the lock of Python 3.11, which all objects share.

        A process that is forked meanwhile would wait for it forever.
        """

        def __init__(self, compute):
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, one, owner=None):
            if one is None:
                return self
            value = vars(one)[self._name] = self._compute(one)
            return value


class Exclusive:
    """An object whose ``exclusive`` methods run in one thread at a time.

    Such a method changes the object by one statement, after all that may fail, or in a way that can
    be repeated. So a fork may leave another thread's change half done: the child has a new lock.
    """

    def __init__(self) -> None:
        self._lock, self._process = threading.RLock(), _process

    def __getstate__(self) -> dict[str, Any]:
        unshared = ("_lock", "_process")
        return {name: value for name, value in vars(self).items() if name not in unshared}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Exclusive.__init__(self)
        vars(self).update(state)

    def lock(self) -> threading.RLock:
        """The lock, a new one in a new process."""
        if self._process is not _process:
            with _new_process: self._renew()  # fmt: skip  # noqa: E701
        return self._lock

    def _renew(self) -> None:
        if self._process is not _process:  # no other thread has done it
            self._lock = threading.RLock()
            self._process = _process


_process = object()  # of which each process has its own
_new_process = threading.Lock()


def _begin_process() -> None:
    global _process, _new_process
    _process, _new_process = object(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_process)


def exclusive(
    method: Callable[Concatenate[Own, P], Result],
) -> Callable[Concatenate[Own, P], Result]:
    """Make a method of an ``Exclusive`` that runs in one thread at a time."""

    @functools.wraps(method)
    def alone(self: Own, *args: P.args, **kwargs: P.kwargs) -> Result:
        # In one line: an interruption on the way to a next line would leave the lock locked.
        with self.lock(): return method(self, *args, **kwargs)  # fmt: skip  # noqa: E701

    return alone  # type: ignore[return-value]  # a method again
