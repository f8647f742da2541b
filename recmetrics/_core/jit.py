"""The Numba decorators of the package, and the stamp of the cached machine code.

Where ``numba_internals`` can use the internals of Numba, functions compile faster, and their cache
also reads the stamp; otherwise they compile as with ``numba.njit(cache=True)``.
"""

import functools
import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import resources
from typing import Any, TypeVar, cast

import numba

_HAS_INTERNALS = True
try:
    from recmetrics._core import numba_internals
except ImportError:  # another version of Numba
    _HAS_INTERNALS = False

F = TypeVar("F", bound=Callable[..., Any])

# nogil: row blocks run in threads. error_model="numpy": 0/0 is NaN, as in NumPy, without a branch.
# No fastmath: NaN and -inf carry meaning here, and sums must not be reordered.
# No parallel=True: it costs a second of compilation, aborts when two Python threads enter under
# the workqueue layer, and hangs after fork with GNU OpenMP.
_jit = functools.partial(numba.njit, nogil=True, error_model="numpy")


def kernel(function: F) -> F:
    """Compile a function that Python calls, on first use; the machine code is cached on disk.

    The function must make no array, which Numba refuses, and return none, which Numba would
    miscount. So references are not counted: at every slice, that took a third of the time of short
    rows.

    Each process compiles once where no cache folder can be written.
    """
    return _compiled(function, makes_arrays=False)


def helper(function: F) -> F:
    """Compile a function that only kernels call; a call from Python would crash.

    It has no wrapper that converts Python objects to arrays, and no machine code of its own: either
    would take a sixth, or more, of the time of a first call.
    """
    return _compiled(function, is_helper=True, makes_arrays=False)


def allocating_kernel(function: F) -> F:
    """Compile a kernel that makes arrays."""
    return _compiled(function)


def allocating_helper(function: F) -> F:
    """Compile a helper that makes arrays, for kernels that do."""
    return _compiled(function, is_helper=True)


def while_compiling(report: Callable[[bool], object]) -> AbstractContextManager[object]:
    """Call ``report(True)`` where Numba begins to compile, in any thread, ``report(False)`` after.

    Without Numba's internals this does nothing.
    """
    if not _HAS_INTERNALS:
        return nullcontext()
    return numba_internals.while_compiling(report)


def _compiled(function: F, is_helper: bool = False, makes_arrays: bool = True) -> F:
    if not _HAS_INTERNALS:
        return _plainly_compiled(function)
    compiled = _jit(**numba_internals.options(is_helper, makes_arrays))(function)
    # Without compilation this is the function itself. A helper is not cached: Numba makes machine
    # code of what it finds there, and a kernel that links the rest of that can take twice as long.
    if hasattr(compiled, "enable_caching") and not is_helper:
        numba_internals.cache(compiled, function, _stamp)
    return cast(F, compiled)


def _plainly_compiled(function: F) -> F:
    # Numba looks for changes in the file of the function alone. Its name is in that of the cache.
    function.__qualname__ += f"-{_stamp()[:16]}"
    try:
        return cast(F, _jit(cache=True)(function))
    except RuntimeError:  # no folder can be written
        return cast(F, _jit()(function))


_WITHOUT_KERNELS = ("_files", "_inspection", "_printing", "_report", "cli", "dask")


@functools.cache
def _stamp() -> str:
    """Hash the text of every file whose functions or constants may be compiled into a kernel.

    Machine code in the cache is stale where one of them has changed, whatever the times of the
    files are: an image of a container rounds these to seconds.
    """
    digest = hashlib.sha256()
    folders = [resources.files(__name__.partition(".")[0])]
    for folder in folders:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                digest.update(entry.read_bytes())
            elif entry.is_dir() and entry.name not in _WITHOUT_KERNELS:
                folders.append(entry)
    return digest.hexdigest()


def prefetch(array: Any, index: int) -> None:
    """Ask for the cache line of ``array[index]``, which may lie behind the end of the array.

    Processors prefetch on their own within a page of 4 KB. To ask for what lies further ahead took
    a fifth off the pass over scores in memory. Without Numba's internals this does nothing.
    """


if not _HAS_INTERNALS:
    prefetch = helper(prefetch)
elif not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    prefetch = numba_internals.prefetch  # type: ignore[assignment]
