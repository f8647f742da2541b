"""``recmetrics metrics``: the catalogue, or one metric in full."""

from __future__ import annotations

import inspect
from argparse import Namespace
from typing import TYPE_CHECKING

from recmetrics._registry import METRICS, lookup
from recmetrics._spec import parse
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
    """Print what the registry says of all metrics, or of the one that was named."""
    if args.markdown:
        write(catalogue_markdown(METRICS))
        return
    require_rich()
    if args.name is None:
        show(catalogue_table(METRICS), "", "more on one of them: recmetrics metrics NAME")
        return
    # A whole metric string is welcome too: who has one at hand wants to know what it means.
    metric = lookup(parse(args.name).name)
    summary, _, details = inspect.cleandoc(metric.description).partition("\n")
    facts = {
        "formula": metric.formula,
        "bounds": bounds(metric),
        "needs": ", ".join(needs(metric)),
        "undefined": metric.undefined,
        "also": ", ".join(metric.aliases),
        "citation": metric.citation,
    }
    parts: list[RenderableType] = [f"{title(metric)}: {summary}", ""]
    parts += [f"{name:<10}{fact}" for name, fact in facts.items() if fact]
    if metric.options:
        parts += ["", options_table(metric)]
    if details.strip():
        parts += ["", details.strip("\n")]
    show(*parts)
