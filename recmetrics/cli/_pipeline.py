"""``recmetrics evaluate``: files -> an evaluation and the ids of its rows -> report."""

from __future__ import annotations

import json
import re
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from recmetrics import RecmetricsWarning
from recmetrics._io import Source
from recmetrics.cli._arguments import EVALUATE, FLAGS, FORMS, Measured, is_table, sources_of
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._queries import evaluate_groups
from recmetrics.cli._recommendations import evaluate_recommendations
from recmetrics.cli._score_files import evaluate_scores
from recmetrics.cli._terminal import (
    CommandError,
    naming,
    show,
    tell,
    width,
    with_files,
    with_options,
    write,
)

_MEASURE = {"SCORES": evaluate_scores, "RECS": evaluate_recommendations, "GROUPS": evaluate_groups}
# Warnings of the library after which the numbers say nothing about the model.
_NOTHING = re.compile("^TRUTH .* no id of recs occurs here|are scores and truth exchanged")


def evaluate(args: Namespace) -> None:
    """Read the files, compute, write the per-user file, then print."""
    form = _form(args)
    refuse_options(args, form)
    sources = sources_of(args, form.lower())
    if args.per_user is not None:
        inputs = [source.path for source in sources.values()]
        check_output("--per-user", args.per_user, (".csv", ".npz"), inputs)
    with told(sources) as notes:
        measured = _MEASURE[form](args, sources)
    _report(args, measured, notes)
    refuse_nothing(notes)


@contextmanager
def told(sources: Mapping[str, Source]) -> Iterator[list[str]]:
    """Write the warnings of the library in the words of the command, and collect them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught, naming(sources):
        warnings.simplefilter("always", RecmetricsWarning)
        yield notes
    for each in caught:
        if issubclass(each.category, RecmetricsWarning):
            notes.append(with_options(with_files(str(each.message), sources)))
            if not _NOTHING.search(notes[-1]):
                tell(f"note: {notes[-1]}")


def refuse_nothing(notes: Sequence[str]) -> None:
    """End in an error where the numbers say nothing about the model."""
    for note in notes:
        if _NOTHING.search(note):
            msg = f"nothing was measured: {note}"
            raise CommandError(msg)


def _form(args: Namespace) -> str:
    """Tell what the files hold by their number and the name of the first."""
    if not args.files:
        msg = "give the files: recmetrics evaluate SCORES TRUTH; see 'recmetrics evaluate --help'"
        raise CommandError(msg)
    first, *others = map(Path, args.files)
    if others:
        return "RECS" if is_table(first) else "SCORES"
    if is_table(first):
        return "GROUPS"
    msg = (
        f"{Source('SCORES', first)} needs a TRUTH; type: recmetrics evaluate {quote(str(first))} "
        "TRUTH; only a table of groups (.csv, .tsv or .parquet) needs none"
    )
    raise CommandError(msg)


def refuse_options(args: Namespace, form: str) -> None:
    """Refuse options that do not go with the form of the first file."""
    path = Path(args.files[0])
    for row in EVALUATE:
        takers = row.forms.split()
        if getattr(args, row.name) == row.default or form in takers:
            continue
        option = FLAGS[row.name]
        wanted = ", or ".join(f"{each}, {FORMS[each]}" for each in takers)
        got = f"{form} is {FORMS[form]}"
        if takers == ["GROUPS"]:  # no form that is given with a TRUTH
            got = f"got {Source('TRUTH', Path(args.files[1]))}"
        elif form == "GROUPS" and "RECS" in takers:
            got += f"; type recmetrics evaluate {quote(str(path))} TRUTH"
        elif form == "SCORES" and path.suffix not in (".npy", ".npz"):
            got = f"{Source(form, path)} is neither .csv, .tsv nor .parquet"
        elif form == "RECS" and row.name == "exclude":
            got += "; leave the items of training out of RECS instead"
        msg = f"{option} goes with {wanted}; {got}"
        raise CommandError(msg)


def _report(args: Namespace, measured: Measured, notes: list[str]) -> None:
    """Write the values of each user, and print the rest."""
    evaluation = measured.evaluation
    evaluation.notes = tuple(with_options(note) for note in evaluation.notes)
    if args.per_user is not None:
        write_per_user(args.per_user, evaluation.values, measured.ids, evaluation.noun)
    keywords = {"levels": measured.levels, "confidence": args.confidence, "rng": args.seed}
    if not args.json:
        show(evaluation.summary(**keywords).to_text(width()))
        return
    document = evaluation.to_dict(**keywords)
    document["notes"] += notes
    if measured.audit is not None:
        report = measured.audit
        findings = {name: finding._asdict() for name, finding in report.findings.items()}
        document["audit"] = {"k": report.k, "dtype": report.dtype, "findings": findings}
    write(json.dumps(document, indent=2, allow_nan=False) + "\n")
