"""What more than one file of tests reads behind the public names: the doors of stages, once."""

from recmetrics._errors import install
from recmetrics._inputs import ScoreMatrix
from recmetrics._selection import kernels
from recmetrics._spec import CONVENTIONS, METRICS, MetricSpec, make_spec, parse
from recmetrics._spec.request import has_ceiling
from recmetrics.cli._output import write_per_user
from recmetrics.metrics._reference import AllLists, OneList, OneUser, cosine

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
