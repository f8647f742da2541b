"""Row blocks in threads, and their progress.

Threads are started for a call and joined before it returns. So there is no thread for a ``fork`` to
copy half-way, simultaneous callers share no pool, and no setting of the process changes.
"""

import functools
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np

from recmetrics._core.jit import while_compiling
from recmetrics._core.types import Progress

P = ParamSpec("P")
Result = TypeVar("Result")


class _Stopped(BaseException):
    """Ends work whose result is no longer needed."""


class _Here(threading.local):
    """The state of a thread of ``map_blocks``."""

    interrupted: Sequence[bool] = ()  # of its call: not empty once this was interrupted


_here = _Here()


def raise_if_stopped() -> None:
    """Leave a long block early if its call was interrupted."""
    if _here.interrupted:
        raise _Stopped


def map_blocks(
    work: Callable[[slice], Result],
    blocks: Sequence[slice],
    n_threads: int,
    done: Callable[[int], object] | None = None,
) -> list[Result]:
    """Compute ``[work(block) for block in blocks]`` on ``n_threads`` threads.

    The calling thread is one of these threads: putting it to sleep and waking it took an eighth of
    a call of 12 ms. Between its blocks it calls ``done`` with the number of rows of each finished
    block. After an error or Ctrl-C each thread stops after its current block; after Ctrl-C it may
    stop within the block, see ``raise_if_stopped``. If several blocks fail, the error of the first
    block is raised, so that the message does not depend on the threads.
    """
    # All threads take the number of their next block from one iterator: the GIL makes this atomic.
    waiting = iter(range(len(blocks)))
    values: dict[int, Result] = {}
    errors: dict[int, Exception] = {}
    interrupted: list[bool] = []
    finished: deque[slice] = deque()

    def run(reports: bool) -> None:
        """Work on blocks until none is left; the thread that ``reports`` calls ``done``."""
        while not (errors or interrupted):
            number = next(waiting, None)
            if number is None:
                return
            try:
                values[number] = work(blocks[number])
            except Exception as error:
                errors[number] = error
                return
            finished.append(blocks[number])
            if reports:
                report()

    def run_along() -> None:
        """Work on blocks in another thread than the calling one."""
        _here.interrupted = interrupted
        with suppress(_Stopped):
            run(reports=False)

    def report() -> None:
        """Call ``done`` for each finished block that was not reported yet."""
        while done is not None and finished:
            block = finished.popleft()
            done(block.stop - block.start)

    threads = [
        threading.Thread(target=run_along, name=f"recmetrics-{number}", daemon=True)
        for number in range(1, min(n_threads, len(blocks)))
    ]

    def join() -> None:
        """Wait for the threads that were started."""
        for thread in threads:
            if thread.ident is not None:
                thread.join()

    try:
        # The system may allow no more threads, and Python starts none while it exits: then those
        # that run, at least the calling one, do the work.
        with suppress(RuntimeError):
            for thread in threads:
                thread.start()
        run(reports=done is not None)
        join()
    except BaseException:
        interrupted.append(True)
        join()
        raise
    if errors:
        # Blocks start in order, and each that starts is finished: those before the failed one are.
        raise errors.pop(min(errors))
    report()
    return [values[number] for number in range(len(blocks))]


@contextmanager
def reporting(
    progress: Literal[True] | Callable[[int, int], object], rows: int, unit: str = " users"
) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes the number of rows just done.

    ``progress`` is True for a bar, which is not shown if tqdm is missing, or a callable of the rows
    done and all ``rows``.
    """
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:  # the bar is optional
            yield lambda _: None
            return

        def describe(is_compiling: bool) -> None:
            bar.set_description("compiling" if is_compiling else None)

        with tqdm(total=rows, unit=unit) as bar, while_compiling(describe):
            yield bar.update
    else:
        rows_done = 0

        def report(n_rows: int) -> None:
            nonlocal rows_done
            rows_done += n_rows
            progress(rows_done, rows)

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


def row_blocks(n_rows: int, block_rows: int, n_threads: int = 1, least: int = 1) -> list[slice]:
    """Cut ``n_rows`` into blocks of ``block_rows``, or fewer where that keeps threads busy.

    They are not cut below ``least`` rows for this: Python's overhead would exceed the work.
    """
    block_rows = max(1, block_rows)
    if n_threads > 1:
        share = math.ceil(n_rows / (_BLOCKS_PER_THREAD * n_threads))
        block_rows = min(block_rows, max(1, least, share))
    starts = range(0, max(1, n_rows), block_rows)  # zero rows are one empty block
    return [slice(start, min(start + block_rows, n_rows)) for start in starts]


def without_warnings(work: Callable[P, Result]) -> Callable[P, Result]:
    """Let NumPy not warn of NaN, infinity and overflow in this thread while ``work`` runs."""

    @functools.wraps(work)
    def silent(*args: P.args, **kwargs: P.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return work(*args, **kwargs)

    return silent
