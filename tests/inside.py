"""What more than one file of tests reads behind the public names: the doors of stages, once."""

import math
from contextlib import contextmanager

import pytest

from recmetrics._core import jit
from recmetrics._core.errors import install
from recmetrics._core.inputs import ScoreMatrix
from recmetrics._core.metrics.reference import AllLists, OneList, OneUser, cosine
from recmetrics._core.selection import kernels
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


@contextmanager
def in_python():
    """Run kernels as Python, whatever this process has compiled."""
    with pytest.MonkeyPatch.context() as patch:
        call = lambda kernel, *values, **named: kernel.python(*values, **named)  # noqa: E731
        patch.setattr(jit.Kernel, "__call__", call)
        yield


@contextmanager
def compiled():
    """Compile every kernel that is called, however little this process has worked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit._Work, "total", math.inf)
        yield
