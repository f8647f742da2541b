"""``recmetrics evaluate RECS TRUTH``: metrics of tables of recommendations."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import Any

import numpy as np

from recmetrics import RecmetricsWarning
from recmetrics._io import Source
from recmetrics.cli._failures import CommandError, naming, with_files, with_options
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._score_files import (
    default_metrics,
    left_out,
    read_request,
    refuse_options,
    strata_of,
    to_json,
)
from recmetrics.cli._table_files import Columns, column_names, read_frame
from recmetrics.cli._tables import evaluation_table
from recmetrics.cli._terminal import require_rich, show, tell, write
from recmetrics.comparison import intervals_by, summarise

_IDS = ("user", "item")
_TABLE = "a table .csv, .tsv or .parquet with a header and the column"


def evaluate_recommendations(args: Namespace) -> None:
    """Read the tables, compute, write the per-user file, then print."""
    metrics: Sequence[str] = args.metrics or [
        text for text in default_metrics(args.convention) if "@" in text
    ]
    refuse_options(args, "RECS")
    request = read_request(metrics, args)  # a misspelt name should not cost reading the files
    for text in (*request.of_exposure, *request.of_all_items):
        if args.catalogue is None:
            msg = f"{text} needs all items that may be recommended; give a table: --catalogue FILE"
            raise CommandError(msg)
    if args.unknown != "raise" and args.catalogue is None:
        msg = f"--unknown {args.unknown} needs all items that exist; give a table: --catalogue FILE"
        raise CommandError(msg)
    if not args.json:
        require_rich()
    sources = {
        "recs": Source("RECS", args.scores),
        "truth": Source("TRUTH", args.truth),
        "popularity": Source("--popularity-from", args.popularity),
        "propensity": Source("--propensity-from", args.propensity),
        "catalogue": Source("--catalogue", args.catalogue),
    }
    strata = strata_of(args)
    sources |= {f"strata[{name!r}]": source for name, source in strata.items()}
    if args.per_user is not None:
        given = (args.scores, args.truth, args.popularity, args.propensity, args.catalogue)
        inputs = [path for path in given if path is not None]
        inputs += [source.path for source in strata.values()]
        check_output("--per-user", args.per_user, (".csv", ".npz"), inputs)

    names = column_names(args, {"user": "user", "item": "item", "score": None, "rank": None})
    user, item = names["user"], names["item"]

    def near(missing: Sequence[str], has: Sequence[str]) -> list[tuple[str, str]]:
        """Give the options of missing columns, and the columns that they may be."""
        from recmetrics.tables import looks_like

        options = [each for each in _IDS if names[each] in missing]
        found = [(each, next((c for c in has if looks_like(c, each)), None)) for each in options]
        return [(option, column) for option, column in found if column is not None]

    def advice(missing: Sequence[str], has: Sequence[str]) -> str:
        columns = [repr(column) for _, column in near(missing, has)]
        if not columns:
            return ""
        return f"; rename {' and '.join(columns)}: the columns have the same names in every table"

    def advice_of_recs(missing: Sequence[str], has: Sequence[str]) -> str:
        if not {"group", "qid"}.isdisjoint(has):
            return f"; a table of groups needs no {sources['truth']}"
        options = [f"--{option} {quote(column)}" for option, column in near(missing, has)]
        return f"; type {' '.join(options)}" if options else ""

    def read(source: Source, numbers: Sequence[str], **more: Any) -> Any:
        """Read the users, items and ``numbers`` of a table; see ``Columns``."""
        more = {"advice": advice, **more}
        columns = Columns(f"{_TABLE}s {user} and {item}", [user, item], numbers, **more)
        return read_frame(source, columns).to_native()

    named = args.rank or args.score
    if named or args.in_order:
        numbers = [named] if named else []
        recs = read(sources["recs"], numbers, required=True, advice=advice_of_recs)
    else:
        recs = read(sources["recs"], ("rank", "score"), maybe=None, advice=advice_of_recs)
    rated = {"required": True} if args.relevance else {"maybe": ("score", "rank")}
    grades = [args.relevance] if args.relevance else ["relevance", "rating"]
    truth = read(sources["truth"], grades, **rated)
    train = None if args.popularity is None else read(sources["popularity"], ())
    stratum = Columns(
        f"{_TABLE} {item}, or {user} and {item}", [item], (), advice=advice, maybe_ids=[user]
    )
    of_relevant: dict[str, Any] = {
        "strata": {name: read_frame(each, stratum).to_native() for name, each in strata.items()}
    }
    if args.propensity is not None:
        of_relevant["propensity"] = read(sources["propensity"], ())
    items = None
    if args.catalogue is not None:
        of_items = Columns(f"{_TABLE} {item}", [item], (), advice=advice)
        items = read_frame(sources["catalogue"], of_items).to_native()
    import narwhals.stable.v2 as nw  # installed, since the tables are read

    from recmetrics import tables

    with naming(sources), _noting(sources):
        result, summary = tables.evaluate_table(
            recs,
            truth,
            metrics,
            user=user,
            item=item,
            rank=args.rank,
            score=args.score,
            relevance=args.relevance,
            in_order=args.in_order,
            rank_gaps=args.rank_gaps,
            include_missing=args.include_missing is not False,
            undefined=args.undefined,
            convention=args.convention,
            n_threads=args.threads,
            catalogue=items,
            repeats=args.repeats,
            unknown=args.unknown,
            popularity=train,
            return_summary=True,
            **of_relevant,
        )
    frame = nw.from_native(result, eager_only=True)
    if train is not None:
        _note_foreign_items(sources, recs, train, names["item"])
    users = frame[user].to_list() if user in frame.columns else result.index.to_list()
    values = {metric: frame[metric].to_numpy() for metric in summary.means}
    for text in request.of_exposure:  # one value, which the table repeats for each list
        values[text] = np.array(values[text][0] if len(values[text]) else np.nan)
    found = summarise(values)
    if args.per_user is not None:
        write_per_user(args.per_user, values, users)
    if args.json:
        about = {"n_users": summary.n_lists, "n_missing": summary.n_missing, "lists": summary.order}
        about |= {"n_short": summary.n_short, "largest_cutoff": summary.largest_cutoff}
        about |= {"invalid": summary.invalid._asdict()} if any(summary.invalid) else {}
        write(to_json(about, args, found, {}))
        return
    lines = [
        f"{summary.n_lists:,} users; {intervals_by(found.confidence, found.n_resamples)}",
        f"lists {summary.order}",
        *([summary.short] if summary.n_short else []),
    ]
    if summary.n_missing:
        told = (
            "left out; --include-missing counts them"
            if summary.missing == "left out"
            else "counted as empty lists; --no-include-missing leaves them out"
        )
        lines.append(
            f"users of TRUTH without recommendations: {summary.n_missing:,}, the first "
            f"{summary.first_missing}, {told}"
        )
    if any(summary.invalid):
        lines.append(f"wasted or dropped: {summary.invalid}")
    show(evaluation_table(found, {}), "", *lines, *left_out(summary.n_lists, found, request))


@contextmanager
def _noting(sources: Mapping[str, Source]) -> Iterator[None]:
    """Print the warnings of the library as notes, with files and options in place of arguments."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecmetricsWarning)
        yield
    for one in caught:
        if issubclass(one.category, RecmetricsWarning):
            tell(f"note: {with_options(with_files(str(one.message), sources))}")


def _note_foreign_items(sources: Mapping[str, Source], recs: Any, train: Any, name: str) -> None:
    """Say where the training data has no item of RECS, as the library does of the truth."""
    import narwhals.stable.v2 as nw

    from recmetrics.tables import no_id_in_common

    here, there = (nw.from_native(table, eager_only=True)[name] for table in (recs, train))
    if set(there.unique().to_list()).isdisjoint(here):  # which ends at the first in common
        tell(f"note: {no_id_in_common(sources['popularity'], name, here[0], there[0])}")
