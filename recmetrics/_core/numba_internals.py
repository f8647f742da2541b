"""What lies beneath Numba's documented interface: faster compilation, and the cache.

This file alone reads Numba's internals. With a version of Numba that it was not tried with, or that
lacks a name, it cannot be imported, and ``machine_code`` does without. A name that stays and
changes its meaning would do more harm than one that goes.
"""

import functools
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.caching import FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.event import Listener, register
from numba.core.options import DefaultOptions
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from numba.extending import intrinsic

TRIED = ("0.60", "0.62", "0.65", "0.68")  # minor versions with which the tests passed
if not numba.__version__.startswith(tuple(f"{version}." for version in TRIED)):
    raise ImportError(numba.__version__)


class _Flags(Flags):
    """The options of a compilation, which are compared as dicts.

    Numba compares them wherever a function is called, by a property for each of all options: a
    tenth of the time of a first call.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and bool(self._values == other._values)

    def __hash__(self) -> int:
        return 0  # they change after they are made, and a process has few


class _KernelCode(JITCodeLibrary):
    """The code of a kernel, which LLVM optimises once, with the helpers that are linked to it.

    Numba would optimise it twice, to count fewer references; no kernel counts any.
    """

    def _optimize_final_module(self) -> None:
        passes = self._codegen._module_pass_manager()  # type: ignore[no-untyped-call]
        # LLVM's older passes, which Numba 0.60 uses, have no builder.
        manager, *builder = passes if isinstance(passes, tuple) else (passes,)
        manager.run(self._final_module, *builder)


class _HelperCode(_KernelCode):
    """The code of a helper, which kernels link to theirs; LLVM optimises and compiles it there.

    Numba would also optimise and compile each helper on its own, and in each helper that calls it:
    a quarter of the time of a first call. The kernels are as fast either way.
    """

    # Nothing keeps globals for Python code, which helpers do not run.
    codegen = SimpleNamespace(set_env=lambda *_: None)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        return 0


class _KernelCompiler(Compiler):
    """A compiler without the passes for what no kernel has; they took a tenth of a first call.

    These are closures and comprehensions, and expressions of whole arrays.
    """

    code = _KernelCode

    def __init__(
        self,
        typing_context: Any,
        target_context: Any,
        _: None,
        arguments: Any,
        return_type: Any,
        flags: Flags,
        types_of_names: Any,
    ) -> None:
        library: Any = self.code(target_context.codegen(), self.code.__name__)  # type: ignore[no-untyped-call]
        library.enable_object_caching()
        super().__init__(  # type: ignore[no-untyped-call]
            typing_context,
            target_context,
            library,
            arguments,
            return_type,
            _Flags(flags),  # type: ignore[no-untyped-call]
            types_of_names,
        )

    def define_pipelines(self) -> Any:
        [pipeline] = super().define_pipelines()  # type: ignore[no-untyped-call]
        needless = (InlineClosureLikes, NopythonRewrites)
        pipeline.passes = [
            compiler_pass for compiler_pass in pipeline.passes if compiler_pass[0] not in needless
        ]
        pipeline.finalize()
        return [pipeline]


class _HelperCompiler(_KernelCompiler):
    code = _HelperCode


# Numba documents this for its own functions.
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def options(is_helper: bool) -> dict[str, Any]:
    """Options of the decorator that save time of the compilation, or of each call."""
    # No wrapper for C, which is never called: it would take a sixth of the compilation time.
    flags: dict[str, Any] = {
        "no_cfunc_wrapper": True,
        "pipeline_class": _KernelCompiler,
        **_UNCOUNTED,
    }
    if is_helper:  # no wrapper that converts Python objects to arrays, either: another sixth
        flags |= {"no_cpython_wrapper": True, "pipeline_class": _HelperCompiler}
    return flags


class _Cache(NullCache):
    """Numba's cache on disk, opened at the first call; where it fails, the function is compiled.

    To look for a folder for each of a hundred functions took a tenth of the import. Numba raises
    what it meets on a full disk, or in a damaged file, on every call. It also asks the kernel's
    file alone, by its time or its text, whether machine code is stale; here ``stamp`` decides. Two
    processes that save at once may exchange the code of two signatures, which is seen here.
    """

    def __init__(self, function: Callable[..., Any], stamp: Callable[[], str]) -> None:
        self._function = function
        self._stamp = stamp

    @functools.cached_property
    def _opened(self) -> Any:
        cache: Any = FunctionCache(self._function)  # type: ignore[no-untyped-call]
        cache._cache_file._source_stamp = self._stamp()
        return cache

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            code = self._opened.load_overload(sig, target_context)
            if code is None or code.signature.args == tuple(sig):
                return code
        except Exception:  # any: no folder can be written, and damaged files are pickles
            with suppress(Exception):
                self._opened.flush()  # the next process finds nothing
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            self._opened.save_overload(sig, data)


def cache(compiled: Any, function: Callable[..., Any], stamp: Callable[[], str]) -> None:
    """Let a compiled function keep its machine code on disk, for as long as ``stamp()`` is this."""
    compiled._cache = _Cache(function, stamp)


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
    """See ``jit.prefetch``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, values[0])
        byte_pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(struct.data, [values[1]]), byte_pointer)
        int32 = ir.IntType(32)
        signature_of_llvm = ir.FunctionType(ir.VoidType(), [byte_pointer, int32, int32, int32])
        llvm_prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte_pointer], signature_of_llvm
        )
        builder.call(llvm_prefetch, [address, int32(0), int32(3), int32(1)])  # to read; soon; data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


class _Listener(Listener):
    def __init__(self) -> None:
        self.report: Callable[[bool], object] = bool  # does nothing
        self._depth = 0  # a function is compiled while its caller is

    def on_start(self, event: object) -> None:  # noqa: ARG002
        if self._depth == 0:
            self.report(True)
        self._depth += 1

    def on_end(self, event: object) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0:
            self.report(False)


# Registered once, with this file, since two threads may ask for reports at once.
_listener = _Listener()
register("numba:compile", _listener)  # type: ignore[no-untyped-call]


def on_compilation(report: Callable[[bool], object]) -> None:
    """See ``machine_code.on_compilation``."""
    _listener.report = report
