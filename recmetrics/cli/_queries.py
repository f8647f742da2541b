"""``recmetrics evaluate GROUPS``: a table of groups, such as queries of learning to rank."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from shlex import quote

from recmetrics import Evaluation, Metrics, RecmetricsError
from recmetrics._io import Source
from recmetrics.cli._arguments import Measured, rules_of
from recmetrics.cli._metric_pages import default_metrics
from recmetrics.cli._table_files import Columns, read_frame, refuse_same
from recmetrics.cli._terminal import CommandError, with_files

_ARGUMENTS = {"group": "ids", "score": "scores", "relevance": "relevance"}
"""The argument of the library for each column, which an option of the same name may rename."""


def evaluate_groups(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    """Read the table, and compute."""
    source = sources["groups"]
    names = {each: getattr(args, each) or each for each in _ARGUMENTS}
    refuse_same(names)
    frame = read_frame(source, _columns(source, names))
    ids = frame[names["group"]].to_list()
    for name in (names["score"], names["relevance"]):
        dtype = frame.schema[name]
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            msg = f"{source}, column {name!r}, holds {dtype}; expected numbers"
            raise CommandError(msg)
        if not (dtype.is_integer() or dtype.is_float()):  # Boolean with null, Decimal
            frame = frame.with_columns(frame[name].cast(float))
    metrics = args.metrics or default_metrics(args.convention)
    try:
        values = Metrics.compute_groups(
            frame[names["score"]].to_numpy(),
            frame[names["relevance"]].to_numpy(),
            metrics,
            ids=ids,
            nan=args.nan,
            ties=args.ties,
            **rules_of(args),
        )
    except RecmetricsError as error:
        columns = {
            argument: f"{source}, column {names[each]!r}," for each, argument in _ARGUMENTS.items()
        }
        message = re.sub(r"\bin row \d+", r"\g<0> (counted from 0)", str(error))
        raise CommandError(with_files(message, columns)) from error
    groups = list(dict.fromkeys(ids))  # the order of the values
    evaluation = Evaluation(
        values,
        notes=[f"{len(groups):,} groups, {len(ids):,} rows"],
        undefined=args.undefined,
        convention=args.convention,
        ties=args.ties,
        noun="group",
    )
    return Measured(evaluation, groups)


def _columns(source: Source, names: Mapping[str, str]) -> Columns:
    group, score, relevance = names.values()

    def advice(missing: Sequence[str], has: Sequence[str]) -> str:
        if group in missing and {"user", "item"} <= set(has):
            path = quote(str(source.path))
            return f"; for recommendations give a TRUTH: recmetrics evaluate {path} TRUTH"
        options = " ".join(f"--{each} COLUMN" for each in names if names[each] in missing)
        return f"; type {options} if {'it has' if len(missing) == 1 else 'they have'} another name"

    expected = (
        "a table .csv, .tsv or .parquet with a header and the columns "
        f"{group}, {score} and {relevance}"
    )
    return Columns(expected, [group], [score, relevance], advice, required=True)
