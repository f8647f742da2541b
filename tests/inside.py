"""What more than one file of tests reads behind the public names: the doors of stages, once."""

from recmetrics._core.errors import install
from recmetrics._core.inputs import ScoreMatrix
from recmetrics._core.metrics.reference import AllLists, OneList, OneUser, cosine
from recmetrics._core.selection import kernels
from recmetrics._core.spec import CONVENTIONS, METRICS, MetricSpec, make_spec, parse
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
    "cosine",
    "has_ceiling",
    "install",
    "kernels",
    "make_spec",
    "parse",
    "write_per_user",
]
