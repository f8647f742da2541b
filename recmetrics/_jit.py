"""The one Numba decorator of the package."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# What leaves out the counting of references. Numba documents it for its own functions alone: one
# that no longer knows it counts them again, and else works as before.
_UNCOUNTED: dict[str, bool] = {}
with contextlib.suppress(ImportError):
    from numba.core.options import DefaultOptions

    if hasattr(DefaultOptions, "_nrt"):
        _UNCOUNTED["_nrt"] = False

# nogil: row blocks run in threads. error_model="numpy": 0/0 is NaN, as in NumPy, without a branch.
# No fastmath: NaN and -inf carry meaning here, and sums must not be reordered.
# No wrapper for C, which nobody calls: it is a sixth of the time of compilation.
# No parallel=True: it costs a second of compilation, aborts when two Python threads enter under
# the workqueue layer, and hangs after fork with GNU OpenMP.
_jit = functools.partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


def kernel(function: F) -> F:
    """Compile what Python calls, on first use; the machine code stays on disk where it can.

    It makes no array and returns none: Numba refuses the one and would miscount the other. So no
    references are counted, which else happens at every slice: a third of the time of short rows.

    Numba refuses ``cache=True`` at import where no cache folder can be written; such a machine
    compiles once per process instead.
    """
    return _compiled(function, **_UNCOUNTED)


def helper(function: F) -> F:
    """The same for what other kernels call and Python never does: such a call would be a crash.

    It has no wrapper that turns Python objects into arrays. Most functions behind a first call need
    none: a sixth of its time.
    """
    return _compiled(function, no_cpython_wrapper=True, **_UNCOUNTED)


def allocating_kernel(function: F) -> F:
    """A kernel that makes arrays."""
    return _compiled(function)


def allocating_helper(function: F) -> F:
    """A helper that makes arrays, for kernels that do."""
    return _compiled(function, no_cpython_wrapper=True)


def _compiled(function: F, **options: bool) -> F:
    try:
        return _jit(cache=True, **options)(function)  # type: ignore[return-value]  # called like function
    except RuntimeError:
        return _jit(**options)(function)  # type: ignore[return-value]
