"""Ctrl-C at a chosen line of the package, threads, and what a call must leave as it was."""

import functools
import locale
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

import recmetrics

_PACKAGE = str(Path(recmetrics.__file__).parent)


def interrupt(call, line):
    """Make a call that Ctrl-C interrupts at its ``line``-th line of the package, counted from 1.

    Gives the number of lines that were reached. Lines count in the calling thread, as Ctrl-C does.
    """
    reached = 0

    def trace(frame, event, _):
        nonlocal reached
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if event == "line":
            reached += 1
            if reached == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        if reached != line:
            raise
    finally:
        sys.settrace(before)
    return reached


def settings():
    """The settings of the process that no call may change."""
    found = {
        "warnings": list(warnings.filters),
        "errors of NumPy": np.geterr(),
        "printing of NumPy": np.get_printoptions(),
        "random numbers of NumPy": repr(np.random.get_state()),  # noqa: NPY002
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "environment": dict(os.environ),
        "locale": locale.setlocale(locale.LC_ALL),
        "trace": sys.gettrace(),
    }
    if "threadpoolctl" in sys.modules:
        found["threads of BLAS"] = [each.num_threads for each in _libraries()]
    return found


@functools.cache
def _libraries():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().lib_controllers


def values_in(evaluator):
    """All that can be read from an evaluator."""
    return repr({name: array.tolist() for name, array in evaluator.state().items()})


def seen(evaluator):
    """All that can be read from an evaluator, and where its next batch begins."""
    return values_in(evaluator), evaluator._results.next_user


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


def in_child(work, seconds=30):
    """The exit status of a forked process that does some work, -9 where it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of every fork with threads
        pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -9
