"""The one Numba decorator of the package."""

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, event, types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

# The option that turns off reference counting. Numba documents it only for its own functions. A
# version without the option counts references again and otherwise works as before.
_UNCOUNTED: dict[str, bool] = {}
with contextlib.suppress(ImportError):
    from numba.core.options import DefaultOptions

    if hasattr(DefaultOptions, "_nrt"):
        _UNCOUNTED["_nrt"] = False

# nogil: row blocks run in threads. error_model="numpy": 0/0 is NaN, as in NumPy, without a branch.
# No fastmath: NaN and -inf carry meaning here, and sums must not be reordered.
# No wrapper for C, which is never called: it would take a sixth of the compilation time.
# No parallel=True: it costs a second of compilation, aborts when two Python threads enter under
# the workqueue layer, and hangs after fork with GNU OpenMP.
_jit = functools.partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


class _NoEnvironment:
    """Stand for what keeps the globals of a function for Python code, which helpers do not run."""

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: a helper has no machine code to look for them."""


class _LinkedCode(JITCodeLibrary):
    """The code of a helper, which kernels link to theirs; LLVM optimises and compiles it there.

    Numba would also optimise and compile each helper on its own, and in each helper that calls it:
    a quarter of the time of a first call. The kernels are as fast either way. These are internals
    of Numba, tried with 0.60, 0.62, 0.65 and 0.68.
    """

    codegen = _NoEnvironment()

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        module: Any = self._get_module_for_linking()  # type: ignore[no-untyped-call]
        return self.name, "bitcode", module.as_bitcode()


class _HelperCompiler(Compiler):
    def __init__(self, typing_context: Any, target_context: Any, _: None, *others: Any) -> None:
        library: Any = _LinkedCode(target_context.codegen(), "helper")  # type: ignore[no-untyped-call]
        super().__init__(typing_context, target_context, library, *others)  # type: ignore[no-untyped-call]


_HELPER = {"no_cpython_wrapper": True, "pipeline_class": _HelperCompiler}


def kernel(function: F) -> F:
    """Compile a function that Python calls, on first use; the machine code is cached on disk.

    The function must make no array, which Numba refuses, and return none, which Numba would
    miscount. So references are not counted: at every slice, that took a third of the time of short
    rows.

    Each process compiles once where no cache folder can be written.
    """
    return _compiled(function, **_UNCOUNTED)


def helper(function: F) -> F:
    """Compile a function that only kernels call; a call from Python would crash.

    It has no wrapper that converts Python objects to arrays: for the functions that need none, the
    wrappers took a sixth of the time of a first call. It has no machine code either, see
    ``_LinkedCode``.
    """
    return _compiled(function, **_HELPER, **_UNCOUNTED)


def allocating_kernel(function: F) -> F:
    """Compile a kernel that makes arrays."""
    return _compiled(function)


def allocating_helper(function: F) -> F:
    """Compile a helper that makes arrays, for kernels that do."""
    return _compiled(function, **_HELPER)


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, values[0])
        place = builder.bitcast(builder.gep(struct.data, [values[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(ask, [place, number(0), number(3), number(1)])  # to read; soon; data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _ask_nothing(array: Any, index: int) -> None:
    """Stand for ``prefetch`` where nothing is compiled."""


prefetch: Callable[[Any, int], None] = _ask_nothing
"""Ask for the cache line of ``array[index]``, which may lie behind the end of the array.

Processors prefetch on their own within a page of 4 KB. To ask for what lies further ahead took a
fifth off the pass over scores in memory.
"""
if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    prefetch = intrinsic(_prefetch)  # type: ignore[assignment]


@contextlib.contextmanager
def while_compiling(tell: Callable[[bool], object]) -> Iterator[None]:
    """Call ``tell(True)`` where Numba begins to compile, in any thread, ``tell(False)`` after."""
    with event.install_listener("numba:compile", _Listener(tell)):
        yield


class _Listener(event.Listener):
    def __init__(self, tell: Callable[[bool], object]) -> None:
        self._tell = tell
        self._depth = 0  # a function is compiled while its caller is

    def on_start(self, event: object) -> None:  # noqa: ARG002
        self._depth += 1
        if self._depth == 1:
            self._tell(True)

    def on_end(self, event: object) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0:
            self._tell(False)


def _compiled(function: F, **options: Any) -> F:
    compiled: Any = _jit(**options)(function)
    if hasattr(compiled, "enable_caching"):  # without compilation this is the function itself
        compiled._cache = _LateCache(function)
    return compiled  # type: ignore[no-any-return]


@functools.cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class _LateCache:
    """The cache of one function, opened when it is first read.

    To look for a folder for each of a hundred functions took a tenth of the import.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._opened: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._opened is None:
            try:
                self._opened = _Cache(self._function)
            except RuntimeError:  # no folder can be written
                self._opened = NullCache()
        return getattr(self._opened, name)


class _Cache(FunctionCache):
    """Numba's cache on disk; where it fails, the function is compiled without it.

    Numba raises what it meets on a full disk, or in a damaged file, on every call. It also takes
    machine code for stale where the time of the source file is another, as in an image of a
    container, which rounds times to seconds. Here the text of the file decides.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        with contextlib.suppress(OSError):  # no file, as in a zip: then its time
            self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
                cache_path=self._cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=_digest(function.__code__.co_filename),
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # any: damaged files are pickles
            with contextlib.suppress(Exception):
                self.flush()  # type: ignore[no-untyped-call]  # the next process finds nothing
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
