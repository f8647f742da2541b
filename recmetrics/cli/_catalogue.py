"""``recmetrics metrics``: the catalogue, or one metric in full."""

from __future__ import annotations

import inspect
from argparse import Namespace
from typing import TYPE_CHECKING

from recmetrics._explain import explain, lines_of
from recmetrics._spec import METRICS, parse
from recmetrics.cli._tables import (
    bounds,
    catalogue_markdown,
    catalogue_table,
    needs,
    options_table,
    title,
)
from recmetrics.cli._terminal import require_rich, show, write

if TYPE_CHECKING:
    from rich.console import RenderableType


def catalogue(args: Namespace) -> None:
    """Print the registry's facts on all metrics, or on the one that was named."""
    if args.markdown:
        write(catalogue_markdown(METRICS))
        return
    require_rich()
    if args.name is None:
        show(
            catalogue_table(METRICS),
            "",
            "to see the formula, options and bounds of one metric, run: recmetrics metrics NAME",
        )
        return
    # A whole metric string is explained: the same page, with its options and cutoff filled in.
    spec = parse(args.name)
    metric = spec.metric
    summary, _, details = inspect.cleandoc(metric.description).partition("\n")
    facts = {
        "formula": metric.formula,
        "bounds": bounds(metric),
        "needs": ", ".join(needs(metric)),
        "undefined": metric.undefined,
        "also": ", ".join(metric.aliases),
        "citation": metric.citation,
    }
    heading = f"{title(metric)}: {summary}"
    if args.name.strip().lower() != metric.name:
        explained = explain(args.name)
        heading, facts = explained.title, facts | explained.facts
    parts: list[RenderableType] = [heading, ""]
    parts += lines_of({label: fact for label, fact in facts.items() if fact})
    if metric.options:
        parts += ["", options_table(metric)]
    if details.strip():  # pragma: no branch - so far every metric has some
        parts += ["", details.strip("\n")]
    show(*parts)
