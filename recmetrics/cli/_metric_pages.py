"""``recmetrics metrics``: all metrics, or one in full; and the metrics computed without ``-m``."""

from __future__ import annotations

import inspect
import math
import re
import sys
from argparse import Namespace
from operator import attrgetter
from typing import get_args

from recmetrics import explain
from recmetrics._core.results import spec_of
from recmetrics._core.spec import CONVENTIONS, METRICS, Metric, Option, Reads
from recmetrics._core.types import Convention
from recmetrics._printing import Column, fact_lines, fitted, table
from recmetrics.cli._arguments import DEFAULT_K
from recmetrics.cli._terminal import CommandError, fold, show, width, write


def default_metrics(convention: Convention | None) -> list[str]:
    """List the metrics of hits in [0, 1], higher is better, that the convention has, at 10."""
    metrics = [
        metric
        for metric in METRICS.values()
        if metric.reads == "hits" and metric.bounds == (0, 1) and metric.higher_is_better
    ]
    if convention is not None:
        titles = {line.metric for line in CONVENTIONS[convention].lines}
        metrics = [metric for metric in metrics if _title(metric) in titles]
    return [_title(metric, DEFAULT_K) for metric in metrics]


def metric_pages(args: Namespace) -> None:
    """List all metrics, or explain one: its formula, options, bounds and source.

    For a metric string such as 'map(denom=hits)@10', the options are filled in, and
    the systems with the same definition are listed. --convention explains what the
    string means in another system.

    For example:
      recmetrics metrics
      recmetrics metrics ndcg
      recmetrics metrics ndcg@10 --convention lenskit
    """
    # Accuracy first, metrics of all lists last.
    metrics = sorted(METRICS.values(), key=lambda metric: get_args(Reads).index(metric.reads))
    if args.markdown and args.files:
        msg = f"--markdown prints all metrics; leave it out, or {args.files[0]!r}"
        raise CommandError(msg)
    if args.convention is not None and not args.files:
        msg = (
            "--convention explains one metric; give its NAME, such as: recmetrics metrics ndcg@10 "
            f"--convention {args.convention}"
        )
        raise CommandError(msg)
    if args.markdown:
        write(_markdown(metrics))
    elif args.files:
        show(_page(args.files[0], args.convention))
    else:
        max_width = width() or 1_000
        title_width = max(len(_title(metric)) for metric in metrics)
        for metric in metrics:
            summary = re.sub(r"``|\*|\.$", "", metric.summary)
            meaning, *_ = re.split(r"[:;] ", summary)
            line = f"{_title(metric):<{title_width}}  {meaning}"
            if len(line) > max_width:
                line = f"{line[: max_width - 1]}\u2026"
            show(line)
        show("\nto see the formula, options and bounds of one metric: recmetrics metrics NAME")


def _page(metric_string: str, convention: Convention | None) -> str:
    """Write all about a metric: facts, a table of its options, and the end of its description.

    For a name alone, the formula keeps the names of the options; else, or with a convention, it has
    their values.
    """
    explanation = explain(metric_string, convention=convention)
    metric = spec_of(explanation.metric).metric
    summary, _, details = inspect.cleandoc(metric.description).partition("\n")
    heading = explanation.title
    facts = explanation.facts
    if convention is None and metric_string.strip().lower() == metric.name:
        heading = f"{_title(metric)}: {summary}"
        facts = {
            "formula": metric.formula,
            "bounds": facts["bounds"],
            "citation": facts["citation"],
            "NaN if": metric.undefined,
        }
    facts["needs"] = _needs(metric)
    facts["alias"] = ", ".join(metric.aliases)
    lines = [heading.replace("``", ""), ""]
    lines += [f"{label:<12}{line}" for label, line in fact_lines(facts)]
    blocks = [fold("\n".join(lines))]
    if metric.typed_options:
        option_columns = [
            Column("option", attrgetter("name"), is_number=False),
            Column("values", _values, is_number=False),
            Column("default", _default, is_number=False),
            Column("meaning", lambda option: option.meaning.replace("``", ""), is_number=False),
        ]
        option_table = table(option_columns, [*metric.typed_options.values()])
        blocks.append(fitted(option_table, width() or sys.maxsize))
    blocks.append(_fold_prose(details.replace("``", "").strip("\n")))
    return "\n\n".join(blocks)


def _fold_prose(text: str) -> str:
    """Fold the paragraphs of a docstring to the width of the terminal, but not its examples."""
    if width() is None:
        return text
    paragraphs = text.split("\n\n")
    for i, paragraph in enumerate(paragraphs):
        if not paragraph.startswith(">>>"):
            paragraphs[i] = fold(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)


def _title(metric: Metric, k: int | str = "k") -> str:
    """The name of a metric, with @k if it has a cutoff."""
    return metric.name if metric.default_k is None else f"{metric.name}@{k}"


def _needs(metric: Metric) -> str:
    """The side information that a metric needs; one of alternatives is enough."""
    return ", ".join(" or ".join(alternatives) for alternatives in metric.needs)


def _markdown(metrics: list[Metric]) -> str:
    """Write a Markdown table of the metrics: aliases, options, what they need, formula."""
    rows = [("metric", "options", "needs", "value"), ("---", "---", "---", "---")]
    for metric in metrics:
        names = ", ".join(f"`{name}`" for name in (_title(metric), *metric.aliases))
        options = " ".join(f"`{_option_text(option)}`" for option in metric.typed_options.values())
        formula = metric.formula
        if not metric.per_user:
            formula = f"of all lists: {formula}"
        rows.append((names, options, _needs(metric), formula))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _option_text(option: Option) -> str:
    """Write an option with its choices, the default first; else its default or a placeholder."""
    if option.choices:
        return f"{option.name}={','.join(option.choices)}"
    if option.default is not None:
        return f"{option.name}={option.default:g}"
    return f"{option.name}={'NAME' if option.is_name else 'NUMBER'}"


def _default(option: Option) -> str:
    """Write the default of an option."""
    return "not set" if option.default is None else str(option.default)


def _values(option: Option) -> str:
    """Write the values that an option may have."""
    if option.choices:
        return ", ".join(option.choices)
    if option.is_name:
        return "a name of letters, digits, _, - and ."
    limits = [f"above {option.above:g}"]
    if math.isfinite(option.below):
        limits.append(f"below {option.below:g}")
    return f"a number {' and '.join(limits)}"
