"""Row blocks in threads.

Threads are made for the call and joined before it returns: nothing survives that a ``fork`` could
copy half-way, eight callers at once do not share a pool, and no setting of the process is touched.
"""

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar, cast

from recmetrics._errors import ArgumentError
from recmetrics._numbers import whole_number

Result = TypeVar("Result")


class _Stopped(BaseException):
    """Ends work that nobody waits for any more."""


class _Here(threading.local):
    """What a thread of ``map_blocks`` knows."""

    interrupted: threading.Event | None = None


_here = _Here()


def raise_if_stopped() -> None:
    """Leave a long block early where the call it belongs to was interrupted."""
    if _here.interrupted is not None and _here.interrupted.is_set():
        raise _Stopped


def thread_count(n_threads: int | None) -> int:
    """How many threads a call may use: the argument, else the environment, else the cores."""
    if n_threads is not None:
        return _at_least_one("n_threads", n_threads)
    from_environment = os.environ.get("RECMETRICS_NUM_THREADS", "").strip()
    if from_environment:
        is_count = from_environment.isdecimal() and len(from_environment) <= 18
        count: object = int(from_environment) if is_count else from_environment
        return _at_least_one("the environment variable RECMETRICS_NUM_THREADS", count)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _at_least_one(what: str, value: object) -> int:
    count = whole_number(value)
    if count is None or count < 1:
        msg = f"{what} must be an integer >= 1, got {value!r}"
        raise ArgumentError(msg)
    return count


def map_blocks(
    work: Callable[[slice], Result],
    blocks: Sequence[slice],
    n_threads: int,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """``[work(block) for block in blocks]`` on ``n_threads`` threads.

    ``done`` is called in the calling thread with the number of rows of each finished block. An
    error, Ctrl-C included, ends the threads with the block that they are at; after Ctrl-C work may
    end within a block, see ``raise_if_stopped``. Of several errors that of the first block is
    raised, so that the message does not depend on the threads.
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
        for number in range(min(n_threads, len(blocks)))
    ]
    results: list[Result | None] = [None] * len(blocks)
    errors: dict[int, BaseException] = {}
    try:
        for thread in threads:
            thread.start()
        for _ in blocks:
            number, result, error = finished.get()
            if error is not None:
                errors[number] = error
                break
            results[number] = result
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
        # Blocks are begun in order: those before the one that failed are finished by now.
        while not finished.empty():
            number, _, error = finished.get()
            if error is not None:
                errors[number] = error
        try:
            raise errors[min(errors)]
        finally:
            # Else error and frame keep each other, and the threads, until garbage is collected; a
            # Ctrl-C in that moment, which frees them, would be lost.
            del errors, error
    return cast(list[Result], results)


def _call(
    work: Callable[[slice], Result], block: slice, done: Callable[[int], None] | None
) -> Result:
    result = work(block)
    if done is not None:
        done(block.stop - block.start)
    return result
