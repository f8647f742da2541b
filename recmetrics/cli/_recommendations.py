"""``recmetrics evaluate RECS TRUTH``: tables of recommendations and of the truth."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np

from recmetrics import Evaluation, RecmetricsWarning
from recmetrics._io import Source
from recmetrics._spec import SIDE, spec_of
from recmetrics.cli._arguments import Measured, rules_of, strata_of
from recmetrics.cli._metric_pages import default_metrics
from recmetrics.cli._table_files import Columns, read_frame, refuse_same

_TABLE = "a table .csv, .tsv or .parquet with a header and the column"
_GRADES = ("relevance", "rating")


def evaluate_recommendations(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    """Read the tables, and compute."""
    columns = _columns(args, sources["truth"])
    user, item = columns["recs"].ids
    tables = read_tables(args, sources)
    strata: dict[str, Any] = {
        name: read_frame(source, columns["strata"])
        for name, source in strata_of(args, sources).items()
    }
    from recmetrics import tables as library  # which needs narwhals, as the extra has it

    result, counts = library.evaluate_table(
        recs := tables.pop("recs"),
        tables.pop("truth"),
        args.metrics or [text for text in default_metrics(args.convention) if "@" in text],
        strata=strata,
        return_summary=True,
        **tables,
        **options_of(args),
        **rules_of(args),
    )
    train = tables.get("popularity")
    if train is not None and not train[item].is_in(recs[item].unique().implode()).any():
        source = sources["popularity"]
        told = library.no_id_in_common(source, item, recs[item][0], train[item][0])
        warnings.warn(told, RecmetricsWarning, stacklevel=1)  # with those of the library
    values = {text: result[text].to_numpy() for text in counts.means}
    for text, column in values.items():
        if not spec_of(text).metric.per_user:  # one value, which the table repeats for each list
            values[text] = np.array(column[0] if len(column) else np.nan)
    notes = [f"{counts.n_lists:,} users", f"lists {counts.order}"]
    notes += [counts.short] if counts.n_short else []
    if counts.n_missing:
        told = "counted as empty lists; --no-include-missing leaves them out"
        if counts.missing == "left out":
            told = "left out; --include-missing counts them"
        notes.append(
            f"users of TRUTH without recommendations: {counts.n_missing:,}, the first "
            f"{counts.first_missing}, {told}"
        )
    notes += [f"wasted or dropped: {counts.invalid}"] if any(counts.invalid) else []
    evaluation = Evaluation(
        values,
        notes=notes,
        invalid=counts.invalid,
        undefined=args.undefined,
        convention=args.convention,
    )
    return Measured(evaluation, result[user].to_list())


def read_tables(args: Namespace, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Read the tables but those of strata."""
    columns = _columns(args, sources["truth"])
    return {
        name: read_frame(source, columns[name])
        for name, source in sources.items()
        if name in columns
    }


def options_of(args: Namespace) -> dict[str, Any]:
    """Give the options that say how the lists are read, under the names of the library."""
    names = ("rank", "score", "relevance", "in_order", "rank_gaps", "repeats", "unknown")
    return {
        "user": args.user or "user",
        "item": args.item or "item",
        "include_missing": args.include_missing is not False,
        **{name: getattr(args, name) for name in names},
    }


def _columns(args: Namespace, truth: Source) -> dict[str, Columns]:
    """Give the columns to read of each table."""
    given = {"user": args.user or "user", "item": args.item or "item"}
    given |= {each: getattr(args, each) for each in ("score", "rank") if getattr(args, each)}
    refuse_same(given)
    user, item, *named = given.values()

    def near(missing: Sequence[str], has: Sequence[str]) -> list[tuple[str, str]]:
        """Give the options of missing columns, and the columns that they may be."""
        from recmetrics.tables import looks_like

        options = [each for each in ("user", "item") if given[each] in missing]
        found = [(each, next((c for c in has if looks_like(c, each)), None)) for each in options]
        return [(option, column) for option, column in found if column is not None]

    def advice(missing: Sequence[str], has: Sequence[str]) -> str:
        columns = [repr(column) for _, column in near(missing, has)]
        if not columns:
            return ""
        return f"; rename {' and '.join(columns)}: the columns have the same names in every table"

    def advice_of_recs(missing: Sequence[str], has: Sequence[str]) -> str:
        if not {"group", "qid"}.isdisjoint(has):
            return f"; a table of groups needs no {truth}"
        options = [f"--{option} {quote(column)}" for option, column in near(missing, has)]
        return f"; type {' '.join(options)}" if options else ""

    def pairs(*numbers: str, **more: Any) -> Columns:
        return Columns(f"{_TABLE}s {user} and {item}", [user, item], numbers, advice, **more)

    is_named = bool(named or args.in_order)
    recs = pairs(*named, required=True) if is_named else pairs("rank", "score", maybe=None)
    graded = pairs(*_GRADES, maybe=("score", "rank"))
    return {
        "recs": recs._replace(advice=advice_of_recs),
        "truth": pairs(args.relevance, required=True) if args.relevance else graded,
        **{name: pairs() for name, side in SIDE.items() if side.of_train is not None},
        "catalogue": Columns(f"{_TABLE} {item}", [item], (), advice),
        "strata": Columns(
            f"{_TABLE} {item}, or {user} and {item}", [item], (), advice, maybe_ids=[user]
        ),
    }
