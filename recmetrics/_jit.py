"""The one Numba decorator of the package."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


# nogil: row blocks run in threads. error_model="numpy": 0/0 is NaN, as in NumPy, without a branch.
# No fastmath: NaN and -inf carry meaning here, and sums must not be reordered.
# No wrapper for C, which nobody calls: it is a sixth of the time of compilation.
# No parallel=True: it costs a second of compilation, aborts when two Python threads enter under
# the workqueue layer, and hangs after fork with GNU OpenMP.
_jit = functools.partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


def kernel(function: F) -> F:
    """Compile ``function`` on first use and keep the machine code on disk where that is possible.

    Numba refuses ``cache=True`` at import where no cache folder can be written; such a machine
    compiles once per process instead.
    """
    return _compiled(function)


def helper(function: F) -> F:
    """The same for what other kernels call and Python never does: such a call would be a crash.

    It has no wrapper that turns Python objects into arrays. Most functions behind a first call need
    none: a sixth of its time.
    """
    return _compiled(function, no_cpython_wrapper=True)


def _compiled(function: F, **options: bool) -> F:
    try:
        return _jit(cache=True, **options)(function)  # type: ignore[return-value]  # called like function
    except RuntimeError:
        return _jit(**options)(function)  # type: ignore[return-value]
