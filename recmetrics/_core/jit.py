"""The decorators of kernels, and the choice between Python and machine code.

A kernel is a function over arrays that Python calls; a helper is a function that kernels call. Both
are written so that they give the same bits as Python and as machine code. Small work runs as
Python, since to import Numba and to load machine code takes 0.35 s, and to compile it 3 s. There,
the helpers that pass over many scores have a form in NumPy.

This file does not import Numba; ``machine_code`` does.
"""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np

from recmetrics._core.errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])

# Microseconds of work in Python after which kernels run as machine code. To import Numba and to
# load the kernels of a call from the disk takes 0.35 s; to compile them takes 3 s, but once on a
# machine: later processes load what this one compiled.
#
# Processor seconds that a new process took for some calls of ndcg@10 with 3,700 items, where it
# loaded / compiled kernels after 0.1e6, 0.2e6 and 0.3e6:
#    2 calls,  1,000 users  0.44 / 3.0  0.14 / 0.14  0.14 / 0.15
#    5 calls,  1,000 users  0.44 / 3.0  0.58 / 3.1   0.67 / 3.3
#    1 call,   2,000 users  0.50 / 0.7  0.14 / 0.16  0.14 / 0.14
#    1 call,   6,040 users  0.40 / 2.6  0.37 / 2.6   0.45 / 0.45
#    1 call,  10,000 users  0.36 / 2.9  0.36 / 3.1   0.36 / 3.0
#
# Work is estimated and no clock is read, so that the same program always runs the same code.
_WORK_TO_COMPILE = 0.3e6


class _Work:
    """The work that this process has asked for, in microseconds of Python."""

    total = 0.0


def counts_work() -> bool:
    """Say whether more work can still change how kernels run."""
    return _Work.total < _WORK_TO_COMPILE


def add_work(microseconds: float) -> None:
    """Count work before its kernels are called; it decides whether they are compiled."""
    _Work.total += microseconds


def compiles() -> bool:
    """Say whether a kernel that is called now runs as machine code."""
    mode = _mode()
    return mode == "always" or (mode == "auto" and not counts_work())


def compile_all() -> None:
    """Compile every kernel that is called from now on."""
    _Work.total = float("inf")


class Kernel:
    """A function over arrays that Python calls, as Python or as machine code."""

    is_helper = False

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        # NumPy warns of what machine code does in silence, such as 0.0 / 0.0.
        self.python = np.errstate(all="ignore")(function)

    @functools.cached_property
    def compiled(self) -> Any:
        """The dispatcher of Numba, which this imports; compilation is reported from then on."""
        from recmetrics._core import machine_code

        machine_code.on_compilation(_report_compilation)
        return machine_code.dispatcher_of(self)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        run = self.compiled if compiles() else self.python
        return run(*arguments, **keywords)

    def __reduce__(self) -> str:
        """Pickle by name: another process has the kernel, too."""
        return self.__qualname__  # type: ignore[attr-defined, no-any-return]  # update_wrapper sets it


def kernel(function: F) -> F:
    """Mark a function that Python calls.

    The function must make no array, which Numba refuses, and return none, which Numba would
    miscount. So references are not counted: at every slice, that took a third of the time of short
    rows.

    Machine code is cached on disk. Each process compiles once where no cache folder can be written.
    """
    return cast(F, Kernel(function))


def helper(function: F) -> F:
    """Mark a function that only kernels call; like a kernel, it makes no array and returns none.

    It stays a function for Python.
    """
    function.is_helper = True  # type: ignore[attr-defined]  # which ``machine_code`` reads
    return function


def numpy_form(form: Callable[..., Any]) -> Callable[[F], F]:
    """Give a helper the form that Python calls, in NumPy; kernels link the loop that it decorates.

    In Python, a loop over 3,700 scores takes a hundred times as long as NumPy.
    """

    def decorate(loop: F) -> F:
        return cast(F, functools.update_wrapper(form, loop))

    return decorate


def prefetch(array: Any, index: int) -> None:
    """Ask for the cache line of ``array[index]``, which may lie behind the end of the array.

    Processors prefetch on their own within a page of 4 KB. To ask for what lies further ahead took
    a fifth off the pass over scores in memory. Python and kernels that are compiled without Numba's
    internals do nothing here.
    """


helper(prefetch)
prefetch.intrinsic = "prefetch"  # type: ignore[attr-defined]  # what it is for Numba

_reports: list[Callable[[bool], object]] = []  # called when compilation begins and ends


@contextmanager
def while_compiling(report: Callable[[bool], object]) -> Iterator[None]:
    """Call ``report(True)`` where Numba begins to compile, in any thread, ``report(False)`` after.

    Without Numba's internals this does nothing.
    """
    _reports.append(report)
    try:
        yield
    finally:
        _reports.remove(report)


def _report_compilation(begins: bool) -> None:
    """Tell all who asked that compilation begins, or that it has ended."""
    for report in _reports:
        report(begins)


@functools.cache
def _mode() -> str:
    """When kernels are compiled: 'auto', 'always' or 'never'."""
    mode = os.environ.get("RECMETRICS_JIT", "").strip() or "auto"
    if mode not in ("auto", "always", "never"):
        msg = (
            "the environment variable RECMETRICS_JIT must be auto, always or never, got "
            f"{mode!r}; unset it for auto"
        )
        raise ArgumentError(msg)
    return "never" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else mode
