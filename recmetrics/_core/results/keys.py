"""The keys of results: the metric of each, and the form that loggers take."""

import re

from recmetrics._core.spec import GREATEST, LEAST, MetricSpec, parse


def spec_of(key: str) -> MetricSpec:
    """The metric of a key of results.

    >>> spec_of("ndcg@10[least]")
    MetricSpec(name='ndcg', k=10, options=())
    """
    return parse(key.removesuffix(LEAST).removesuffix(GREATEST))


def key_of(model: str, text: str) -> str:
    """The key of a metric of a model among those of several; "" is the model of one alone."""
    return f"{model}/{text}" if model else text


def logger_key(text: str, at: str) -> str:
    """Write the key ``text`` of results for a logger, with ``at`` in place of ``@``.

    If ``at`` is not ``@``, spaces are removed, and characters that loggers refuse become one ``_``.
    """
    if at == "@":
        return text
    # The "@" stays until the end: it is the place of ``at``.
    safe = re.sub(r"[^\w./@-]+", "_", text.replace(" ", ""), flags=re.ASCII)
    return re.sub(r"_*@", "@", safe).rstrip("_").replace("@", at)
