"""The keys of results: the metric of each, and the form that loggers take."""

import re
from collections.abc import Mapping
from typing import TypeVar

from recmetrics._core.errors import ArgumentError
from recmetrics._core.spec import GREATEST, LEAST, MetricSpec, parse

Result = TypeVar("Result")


def spec_of(key: str) -> MetricSpec:
    """The metric of a key of results.

    >>> spec_of("ndcg@10[least]")
    MetricSpec(name='ndcg', k=10, options=())
    """
    return parse(key.removesuffix(LEAST).removesuffix(GREATEST))


def key_of(model: str, text: str) -> str:
    """The key of a metric of a model among those of several; "" is the model of one alone."""
    return f"{model}/{text}" if model else text


def for_logger(results: Mapping[str, Result], prefix: str, at: str) -> dict[str, Result]:
    """Give results the keys that a logger takes: with ``prefix``, and ``at`` in place of ``@``.

    Two results are refused that would have one key, so that none is lost.
    """
    for name, value in (("prefix", prefix), ("at", at)):
        if not isinstance(value, str):
            msg = f"{name} must be a string, got {value!r}"
            raise ArgumentError(msg, argument=name)
    text_of_key: dict[str, str] = {}
    named_results = {}
    for text, result in results.items():
        key = prefix + _logger_key(text, at)
        other = text_of_key.setdefault(key, text)
        if other != text:
            msg = (
                f"with at={at!r} both {other!r} and {text!r} become {key!r}; expected names of "
                "models, and metric strings, that differ in letters, digits, '.', '/' or '-'"
            )
            raise ArgumentError(msg, argument="at")
        named_results[key] = result
    return named_results


def _logger_key(text: str, at: str) -> str:
    """Write the key ``text`` of results for a logger.

    If ``at`` is not ``@``, spaces are removed, and characters that loggers refuse become one ``_``.
    """
    if at == "@":
        return text
    # The "@" stays until the end: it is the place of ``at``.
    safe = re.sub(r"[^\w./@-]+", "_", text.replace(" ", ""), flags=re.ASCII)
    return re.sub(r"_*@", "@", safe).rstrip("_").replace("@", at)
