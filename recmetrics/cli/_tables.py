"""Tables: the forms RECS and GROUPS of ``evaluate``, RECS of ``identify``, and ``audit-times``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from itertools import compress
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from recmetrics import Evaluation, Identification, Metrics
from recmetrics._core.results import counted_as_a_number
from recmetrics._core.spec import Request, parse
from recmetrics._files import Columns, Source, read_table, refuse_same, require_polars
from recmetrics._printing import counted
from recmetrics.cli._arguments import Measured, rules_of, sources_of, strata_of
from recmetrics.cli._metric_pages import default_metrics
from recmetrics.cli._terminal import CommandError, fold, show, write_json

if TYPE_CHECKING:
    from recmetrics.tables import TableSummary

_GROUP_ARGUMENTS = {"group": "ids", "score": "scores", "relevance": "relevance"}
"""The argument of the library for each column of groups, which an option of its name may rename."""


def evaluate_recommendations(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    """Evaluate a table of recommendations by a table of the truth."""
    arguments = _read_recommendations(args, sources) | rules_of(args)
    from recmetrics.tables import evaluate_table  # which needs narwhals, as the extra has it

    metrics = args.metrics
    if not metrics:
        # A metric without a cutoff, such as auc, ranks all items, also those that no list has.
        metrics = [metric for metric in default_metrics(args.convention) if "@" in metric]
    frame, summary = evaluate_table(
        metrics_list=metrics, return_summary=True, chunks=args.chunks, **arguments
    )
    values = {}
    for metric in summary.means:
        values[metric] = frame[metric].to_numpy()
        # One value of all lists, which the table repeats for each.
        if not parse(metric, args.convention).metric.per_user:
            values[metric] = np.array(values[metric][0] if len(frame) else np.nan)
    evaluation = Evaluation(
        values,
        notes=_notes_of(summary),
        swallowed=summary.swallowed[0],
        invalid=summary.invalid,
        undefined=args.undefined,
        convention=args.convention,
        user_weights=summary.user_weights,
    )
    return Measured(evaluation, frame[arguments["user"]].to_list())


def _notes_of(summary: TableSummary) -> list[str]:
    """Write the counts of a table's lists, in the words of the command."""
    notes = [counted(summary.n_lists, "user"), f"lists {summary.order}"]
    if summary.n_short:
        notes.append(summary.short)
    if summary.n_contradicted:
        notes.append(f"{summary.contradicted}; --score score ranks them by score")
    notes += filter(None, (summary.grades, summary.unread_grades))
    if summary.n_missing:
        treatment = "counted as empty lists; --no-include-missing leaves them out"
        if summary.missing == "left out":
            treatment = "left out; --include-missing counts them"
        notes.append(
            f"users of TRUTH without recommendations: {summary.n_missing:,}, the first "
            f"{summary.first_missing}, {treatment}"
        )
    if any(summary.invalid):
        notes.append(f"wasted or dropped: {summary.invalid}")
    return notes + summary.tied + summary.excluded


def identify_recommendations(args: Namespace, sources: Mapping[str, Source]) -> Identification:
    """Find the definitions of a metric that give a number, of two tables."""
    tables = _read_recommendations(args, sources)
    from recmetrics.tables import identify_table  # which needs narwhals, as the extra has it

    return identify_table(value=args.value, metric=args.metric, n_threads=args.n_threads, **tables)


def _read_recommendations(args: Namespace, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Give the files, and the options that say how they are read, as the library names them."""
    require_polars()
    columns = {"user": args.user or "user", "item": args.item or "item"}
    order_columns = {name: getattr(args, name) for name in ("score", "rank") if getattr(args, name)}
    refuse_same(columns | order_columns)
    arguments: dict[str, Any] = {**columns, "include_missing": args.include_missing}
    for name in ("rank", "score", "relevance", "in_order", "rank_gaps", "repeats", "unknown"):
        arguments[name] = getattr(args, name)
    strata = strata_of(args, sources)
    if strata:
        arguments["strata"] = strata
    return arguments | {name: file for name, file in sources.items() if "strata" not in name}


def evaluate_groups(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    """Evaluate one table of groups, such as queries, with a score and a relevance in each row."""
    source = sources["groups"]
    column_names = {option: getattr(args, option) or option for option in _GROUP_ARGUMENTS}
    refuse_same(column_names)
    group, *numbers = column_names.values()
    advice = (
        f"for recommendations give a TRUTH: recmetrics evaluate {quote(str(source.path))} TRUTH"
    )
    columns = Columns(
        [group],
        numbers,
        column_names,
        required=True,
        bools=[column_names["relevance"]],
        # A null of Parquet is NaN, too. Without the option the error names the line.
        blanks=[column_names["score"]] if args.nan == "exclude" else [],
        if_blank=(column_names["score"], "; give --nan exclude to treat it like a score of -inf"),
        instead=(["item"], advice),
    )
    frame = read_table(source, columns)
    ids = frame[group].to_list()
    for name in numbers:
        dtype = frame.schema[name]
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            msg = f"{source}, column {name!r}, holds {dtype}; expected numbers"
            raise CommandError(msg)
        if not (dtype.is_integer() or dtype.is_float()):  # Boolean with null, Decimal
            frame = frame.with_columns(frame[name].cast(float))
    for option, argument in _GROUP_ARGUMENTS.items():
        column = f"column {column_names[option]!r}, rows counted from 0"
        args.spellings[argument] = f"{source.spelling}, {column}"
    metrics = args.metrics or default_metrics(args.convention)
    values = Metrics.compute_groups(
        frame[column_names["score"]].to_numpy(),
        frame[column_names["relevance"]].to_numpy(),
        metrics,
        ids=ids,
        nan=args.nan,
        ties=args.ties,
        **rules_of(args),
    )
    groups = list(dict.fromkeys(ids))  # the order of the values
    is_relevant = frame[column_names["relevance"]].to_numpy() > 0
    n_without_relevant = len(groups) - len(set(compress(ids, is_relevant)))
    request = Request(metrics, level="groups", **rules_of(args))
    evaluation = Evaluation(
        values,
        notes=[
            f"{counted(len(groups), 'group')}, {counted(len(ids), 'row')}",
            *counted_as_a_number(n_without_relevant, len(groups), request, "groups"),
        ],
        undefined=args.undefined,
        convention=args.convention,
        ties=args.ties,
        noun="group",
    )
    return Measured(evaluation, groups)


def audit_time_files(args: Namespace) -> None:
    """Look for rows of a split that were not known at the time of the test.

    TRAIN and TRUTH are tables (.csv, .tsv, .parquet or RecBole's .inter) with the
    columns user, item and time. Times are numbers, or dates such as 2020-01-31 or
    2020-01-31T12:00:00.

    For example:
      recmetrics audit-times train.csv test.csv --time timestamp
    """
    if len(args.files) < 2:
        msg = "give the files TRAIN TRUTH; see 'recmetrics audit-times --help'"
        raise CommandError(msg)
    column_names = {name: getattr(args, name) for name in ("user", "item", "time")}
    refuse_same(column_names)
    *ids, time = column_names.values()
    columns = Columns(
        ids, [time], column_names, required=True, times=[time], shared=[*column_names]
    )
    sources = sources_of(args, "train")
    frames = {
        source: read_table(source, columns._replace(is_first=name == "train"))
        for name, source in sources.items()
    }
    _refuse_one_zone(frames, time)
    from recmetrics.tables import audit_times  # which needs narwhals, as the extra has it

    train, truth = frames.values()
    audit = audit_times(train, truth, **column_names)
    if not args.json:
        show(fold(str(audit)))
        return
    document = asdict(audit)
    for name in ("findings", "information"):
        document[name] = {check: finding._asdict() for check, finding in document[name].items()}
    write_json(document)


def _refuse_one_zone(frames: Mapping[Source, Any], column: str) -> None:
    """Refuse dates with a time zone in one file alone; numbers are left to the library."""
    dtypes = {source: frame.schema[column] for source, frame in frames.items()}
    if not all(dtype.is_temporal() for dtype in dtypes.values()):
        return
    with_zone = [source for source, dtype in dtypes.items() if getattr(dtype, "time_zone", None)]
    without_zone = [source for source in dtypes if source not in with_zone]
    if with_zone and without_zone:
        msg = (
            f"{without_zone[0]}, column {column!r} has no time zone, and {with_zone[0]} "
            "has one; expected a zone in both files or in none: write it behind each time, such as "
            "2020-01-31T12:00:00Z"
        )
        raise CommandError(msg)
