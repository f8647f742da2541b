"""Ctrl-C at a chosen line of the package, threads, and what can be read from an evaluator."""

import linecache
import sys
import threading
from pathlib import Path

import recmetrics

_PACKAGE = str(Path(recmetrics.__file__).parent)


def interrupt(call, line):
    """Make a call that Ctrl-C interrupts at its ``line``-th line of the package, counted from 1.

    Gives the number of lines that were reached. Lines count in the calling thread, as Ctrl-C does.
    Python comes back to the line of a ``with`` before it ends it; no signal is handled there, so
    the line after it is interrupted. So it is where a comprehension comes back to its line: from
    Python 3.12 on, what a trace function raises there leaves no ``with`` or ``try`` around it,
    while a signal does.
    """
    reached, stopped = 0, False
    last_lines = {}  # of the frames

    def trace(frame, event, _):
        nonlocal reached, stopped
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if event == "line":
            reached += 1
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
            comes_back = text.startswith("with ") or last_lines.get(frame) == frame.f_lineno
            last_lines[frame] = frame.f_lineno
            if reached >= line and not stopped and not comes_back:
                stopped = True
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        if not stopped:
            raise
    finally:
        sys.settrace(before)
    return reached


def values_in(evaluator):
    """All that can be read from an evaluator."""
    return repr({name: array.tolist() for name, array in evaluator.state().items()})


def threads_in_blas():
    """The numbers of threads of the BLAS libraries of this process."""
    import threadpoolctl

    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


def in_threads(*works):
    """Run functions at once; raise what one raises."""
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
