"""``Origin``: how the values of a result were computed, as far as it is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from recmetrics._core.errors import MetricSpecError
from recmetrics._core.spec import (
    GREATEST,
    LEAST,
    STRATUM,
    Definition,
    Metric,
    MetricSpec,
    definitions_of,
)
from recmetrics._core.types import Convention, Ties, Undefined


def _unknown(_: str) -> None:
    """Give no definition, as of values in arrays, data frames and files."""


class Origin(NamedTuple):
    """The convention of values, and the definition behind each of their keys."""

    convention: Convention | None = None  # None also where it is not known
    definition: Callable[[str], Definition | None] = _unknown  # None where it is not known


UNKNOWN = Origin()


def definition_of(
    key: str,
    convention: Convention | None = None,
    ties: Ties | None = None,
    undefined: Undefined | None = None,
) -> Definition | None:
    """Find the definition behind a key of results, such as ndcg@10[least], from the call's rules.

    It is None for a metric of another package.
    """
    text = key.removesuffix(LEAST).removesuffix(GREATEST)
    if text != key:
        ties = "range"  # the only one with such keys
    try:
        return definitions_of(text, convention, ties, undefined).get(key)
    except MetricSpecError:
        return None


def spelled_out(key: str, definition: Definition) -> str:
    """Write the metric behind a key with all its options."""
    spec = definition.spec
    options = [(name, value) for name, value in spec.values.items() if value is not None]
    if spec.stratum is not None and STRATUM.name not in spec.values:
        options.append((STRATUM.name, spec.stratum))
    _, bracket, bound = key.partition("[")  # ndcg@10[least] of ties="range"
    return str(MetricSpec(spec.name, spec.k, tuple(options))) + bracket + bound


def are_one(metric: Metric, namesake: Metric) -> bool:
    """Say whether two metrics of one name compute the same, as far as this can be told.

    The caller may have declared the name anew. The same code, as of a cell of a notebook that ran
    again, is the same metric, unless it reads variables of a function that it was made in, as a
    decorated one does, or is an object that can be called.
    """
    if metric is namesake:
        return True
    code = getattr(metric.plain_kernel, "__code__", None)
    other_code = getattr(namesake.plain_kernel, "__code__", None)
    has_closure = getattr(metric.plain_kernel, "__closure__", None) is not None
    return code is not None and code == other_code and not has_closure
