"""Machine code of kernels, by Numba, and the stamp by which cached code is known to be stale.

``jit`` imports this file when the first kernel is compiled or loaded, and Numba with it. Where
``numba_internals`` can use the internals of Numba, functions compile faster, and their cache also
reads the stamp; otherwise they compile as with ``numba.njit(cache=True)``.
"""

import functools
import hashlib
import inspect
import threading
import types
from collections.abc import Callable
from importlib import resources
from typing import Any

import numba

_HAS_INTERNALS = True
try:
    from recmetrics._core import numba_internals
except ImportError:  # another version of Numba
    _HAS_INTERNALS = False

# nogil: row blocks run in threads. error_model="numpy": 0/0 is NaN, as in NumPy, without a branch.
# No fastmath: NaN and -inf carry meaning here, and sums must not be reordered.
# No parallel=True: it costs a second of compilation, aborts when two Python threads enter under
# the workqueue layer, and hangs after fork with GNU OpenMP.
_jit = functools.partial(numba.njit, nogil=True, error_model="numpy")

_lock = threading.RLock()  # two threads may need the same helper at once
_dispatchers: dict[Callable[..., Any], Any] = {}


def dispatcher_of(function: Any) -> Any:
    """Numba's dispatcher of a kernel or a helper of ``jit``, which compiles at its first call."""
    if _HAS_INTERNALS and hasattr(function, "intrinsic"):
        return getattr(numba_internals, function.intrinsic)
    with _lock:
        if function not in _dispatchers:
            _dispatchers[function] = _compiled(function)
        return _dispatchers[function]


def _compiled(function: Any) -> Any:
    """Make a new dispatcher of a kernel or a helper."""
    is_helper = function.is_helper
    # A kernel wraps a function, and so does the form of a helper that Python calls.
    code = _linked(inspect.unwrap(function))
    if not _HAS_INTERNALS:
        return _plainly_compiled(code)
    compiled = _jit(**numba_internals.options(is_helper))(code)
    # A helper is not cached: Numba makes machine code of what it finds there, and a kernel that
    # links the rest of that can take twice as long.
    if not is_helper:
        numba_internals.cache(compiled, code, _stamp)
    return compiled


def _linked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy a function; kernels and helpers that it names are dispatchers in the copy's globals.

    In the function's own globals they stay functions, which Python calls.
    """
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if hasattr(names.get(name), "is_helper"):  # which kernels and helpers have
            names[name] = dispatcher_of(names[name])
    code = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    return functools.update_wrapper(code, function)


def _plainly_compiled(function: Callable[..., Any]) -> Any:
    """Make a dispatcher without the internals of Numba."""
    # Numba looks for changes in the file of the function alone, so the stamp of all files goes into
    # the function's name, which is part of the name of the cached file.
    function.__qualname__ += f"-{_stamp()[:16]}"
    try:
        return _jit(cache=True)(function)
    except RuntimeError:  # no cache folder can be written
        return _jit()(function)


_FOLDERS_WITHOUT_KERNELS = ("_files", "_inspection", "_printing", "_report", "cli", "dask", "spark")


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
            elif entry.is_dir() and entry.name not in _FOLDERS_WITHOUT_KERNELS:
                folders.append(entry)
    return digest.hexdigest()


def on_compilation(report: Callable[[bool], object]) -> None:
    """Call ``report(True)`` where Numba begins to compile, and ``report(False)`` after it.

    Without Numba's internals this does nothing.
    """
    if _HAS_INTERNALS:
        numba_internals.on_compilation(report)
