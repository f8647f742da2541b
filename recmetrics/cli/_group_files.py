"""``recmetrics evaluate GROUPS``: metrics of a table of groups, as learning-to-rank tools have."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from recmetrics import Metrics, RecmetricsError
from recmetrics._io import Source
from recmetrics.cli._failures import CommandError, with_files
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._score_files import (
    default_metrics,
    left_out,
    read_request,
    refuse_options,
    rules_of,
    to_json,
)
from recmetrics.cli._table_files import Columns, column_names, is_table, read_frame
from recmetrics.cli._tables import evaluation_table
from recmetrics.cli._terminal import require_rich, show, write
from recmetrics.comparison import intervals_by, summarise

if TYPE_CHECKING:
    from narwhals.stable.v2 import DataFrame

_ARGUMENTS = {"group": "ids", "score": "scores", "relevance": "relevance"}
"""The argument of the library for each column, which an option of the same name may rename."""


def evaluate_groups(args: Namespace) -> None:
    """Read the table, compute, write the file of values per group, then print."""
    if not is_table(args.scores):
        msg = (
            f"{Source('SCORES', args.scores)} needs a TRUTH; type: recmetrics evaluate "
            f"{quote(str(args.scores))} TRUTH; only a table of groups (.csv, .tsv or .parquet) "
            "needs none"
        )
        raise CommandError(msg)
    refuse_options(args, "GROUPS")
    metrics: Sequence[str] = args.metrics or default_metrics(args.convention)
    # A misspelt name should not cost reading the file.
    request = read_request(metrics, args, level="groups")
    names = column_names(args, {each: each for each in _ARGUMENTS})
    if not args.json:
        require_rich()
    if args.per_user is not None:
        check_output("--per-user", args.per_user, (".csv", ".npz"), [args.scores])
    source = Source("GROUPS", args.scores)
    frame = read_frame(source, _columns(source, names))
    ids = frame[names["group"]].to_list()
    scores, relevance = (_numbers(source, frame, names[each]) for each in ("score", "relevance"))
    with _naming(source, names):
        values = Metrics.compute_groups(scores, relevance, metrics, ids=ids, **rules_of(args))
    groups = list(dict.fromkeys(ids))  # the order of the values
    found = summarise(values)
    if args.per_user is not None:
        write_per_user(args.per_user, values, groups, "group")
    if args.json:
        about = {"n_groups": len(groups), "n_rows": len(ids)}
        write(to_json(about, args, found, {}, "group"))
        return
    show(
        evaluation_table(found, {}, "group"),
        "",
        f"{len(groups):,} groups, {len(ids):,} rows; "
        + intervals_by(found.confidence, found.n_resamples, "groups"),
        *left_out(len(groups), found, request, "group"),
    )


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
    return Columns(expected, [group], [score, relevance], required=True, advice=advice)


def _numbers(source: Source, frame: DataFrame[Any], name: str) -> npt.NDArray[Any]:
    import narwhals.stable.v2 as nw

    column = frame[name]
    dtype = column.dtype
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        msg = f"{source}, column {name!r}, holds {dtype}; expected numbers"
        raise CommandError(msg)
    if not (dtype.is_integer() or dtype.is_float()):  # Boolean with null, Decimal
        column = column.cast(nw.Float64)
    return column.to_numpy()


@contextmanager
def _naming(source: Source, names: Mapping[str, str]) -> Iterator[None]:
    """Replace the argument's name, with which errors of the library begin, by its column."""
    columns = {
        argument: f"{source}, column {names[each]!r}," for each, argument in _ARGUMENTS.items()
    }
    try:
        yield
    except RecmetricsError as error:
        message = re.sub(r"\bin row \d+", r"\g<0> (counted from 0)", str(error))
        raise CommandError(with_files(message, columns)) from error
