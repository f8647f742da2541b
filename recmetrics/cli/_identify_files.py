"""``recmetrics identify``: the definitions of a metric that give a number, of files."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from recmetrics import Identification, identify
from recmetrics._io import Source
from recmetrics.cli._arguments import EVALUATE, is_table, sources_of
from recmetrics.cli._pipeline import refuse_nothing, refuse_options, told
from recmetrics.cli._recommendations import options_of, read_tables
from recmetrics.cli._score_files import read_matrices
from recmetrics.cli._terminal import CommandError, show, width, write


def identify_files(args: Namespace) -> None:
    """Read the files, compute, then print."""
    if len(args.files) < 2:
        msg = "give the files: recmetrics identify SCORES TRUTH; see 'recmetrics identify --help'"
        raise CommandError(msg)
    args = Namespace(**{row.name: row.default for row in EVALUATE} | vars(args))
    form = "RECS" if is_table(Path(args.files[0])) else "SCORES"
    refuse_options(args, form)
    sources = sources_of(args, form.lower())
    with told(sources) as notes:
        found = (_of_tables if form == "RECS" else _of_scores)(args, sources)
    if args.json:
        write(json.dumps(found.to_dict() | {"notes": notes}, indent=2, allow_nan=False) + "\n")
    else:
        show(found.to_text(width()))
    refuse_nothing(notes)


def _of_scores(args: Namespace, sources: Mapping[str, Source]) -> Identification:
    scores, truth, sets, _ = read_matrices(sources)
    rules = {"nan": args.nan, "n_threads": args.n_threads}
    return identify(scores, truth, args.value, args.metric, **sets, **rules)


def _of_tables(args: Namespace, sources: Mapping[str, Source]) -> Identification:
    tables = read_tables(args, sources)
    from recmetrics.tables import identify_table  # which needs narwhals, as the extra has it

    recs, truth = tables.pop("recs"), tables.pop("truth")
    options = options_of(args) | {"n_threads": args.n_threads} | tables
    return identify_table(recs, truth, args.value, args.metric, **options)
