"""What more than one file of tests reads behind the public names: the doors of stages, once."""

import inspect
import math
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from recmetrics._core import jit
from recmetrics._core.errors import install
from recmetrics._core.inputs import ScoreMatrix
from recmetrics._core.inputs.scores import order_halves
from recmetrics._core.metrics.reference import AllLists, OneList, OneUser, cosine
from recmetrics._core.selection import counting, kernels, largest
from recmetrics._core.spec import CONVENTIONS, METRICS, MetricSpec, make_spec, own_name, parse
from recmetrics._core.spec.request import has_ceiling
from recmetrics.cli._output import write_per_user

__all__ = [
    "CONVENTIONS",
    "METRICS",
    "AllLists",
    "MetricSpec",
    "OneList",
    "OneUser",
    "ScoreMatrix",
    "as_a_new_process",
    "call_loops",
    "compiled",
    "cosine",
    "has_ceiling",
    "in_python",
    "install",
    "kernels",
    "make_spec",
    "own_name",
    "parse",
    "write_per_user",
]


def call_loops():
    """Let Python call the loops that kernels link, in place of their forms in NumPy."""
    for module in (counting, largest, kernels):
        for name, helper in vars(module).items():
            if getattr(helper, "is_helper", False):
                setattr(module, name, inspect.unwrap(helper))
    order_halves.python = inspect.unwrap(order_halves)


@contextmanager
def in_python():
    """Run kernels as Python, whatever this process has compiled."""
    with pytest.MonkeyPatch.context() as patch:
        call = lambda kernel, *values, **named: kernel.python(*values, **named)  # noqa: E731
        patch.setattr(jit.Kernel, "__call__", call)
        yield


@contextmanager
def as_a_new_process():
    """Choose how kernels run as a process does that has done no work, and record what it does."""
    process = SimpleNamespace(compilations=[], is_large=False)
    with pytest.MonkeyPatch.context() as patch, jit.while_compiling(process.compilations.append):
        patch.setattr(jit._Work, "total", 0.0)
        yield process
        process.is_large = not jit.counts_work()


@contextmanager
def compiled():
    """Compile every kernel that is called, however little this process has worked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit._Work, "total", math.inf)
        yield
