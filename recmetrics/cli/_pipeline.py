"""``evaluate`` and ``identify``: files -> an evaluation, or matches -> report.

The form SCORES, of matrices, is read here; the forms of tables are in ``_tables``.
"""

from __future__ import annotations

import math
import re
import warnings
from argparse import Namespace
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from scipy import sparse

from recmetrics import (
    ArgumentError,
    Audit,
    Identification,
    Metrics,
    RecmetricsWarning,
    audit,
    identify,
)
from recmetrics._io import (
    NPY,
    ZIP,
    Source,
    at_line,
    read_array,
    read_number,
    reading,
    refuse_other_formats,
    start,
)
from recmetrics._spec import SIDE, spell
from recmetrics.cli._arguments import (
    EVALUATE,
    FLAGS,
    FORMS,
    Measured,
    is_table,
    rules_of,
    sources_of,
    strata_of,
)
from recmetrics.cli._metric_pages import default_metrics
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._tables import (
    evaluate_groups,
    evaluate_recommendations,
    identify_recommendations,
)
from recmetrics.cli._terminal import (
    CommandError,
    naming,
    progress,
    show,
    tell,
    width,
    with_files,
    with_options,
    write_json,
)

_SCORES = "a dense .npy (numpy.save) or a sparse .npz (scipy.sparse.save_npz)"
_MATRIX = (
    "a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]'"
)
_LINE = (
    "'user item' or 'user item relevance' with 0-based indices; put # before a header or a comment"
)
_TABLE = "a sparse .npz (scipy.sparse.save_npz) or a dense .npy (numpy.save)"
# Warnings of the library after which the numbers say nothing about the model.
_NOTHING = re.compile("^TRUTH .* no id of recs occurs here|are scores and truth exchanged")


def evaluate(args: Namespace) -> None:
    r"""Compute metrics of scores, of recommendations or of groups.

    The first form takes a file of scores and a truth of the same shape:
    SCORES  Predicted scores (n_users, n_items), higher is better: a dense .npy,
            which is memory-mapped, never loaded as a whole; or a sparse .npz
            (scipy.sparse.save_npz), of which only the stored entries may be
            recommended.
    TRUTH   Relevances, 0 = not relevant: a sparse .npz, a dense .npy, or text. Text
            has lines 'user item [relevance]' with 0-based indices, separated by
            blanks, tabs or commas. The default relevance is 1; # begins a comment.
            TRUTH may also be an .npy of one item index per user, -1 for none.
    --exclude and --candidates take the same formats as TRUTH. In these text files,
    the third number is ignored: every line counts.

    The second form takes tables (.csv, .tsv or .parquet) of recommendations and of
    the truth. Columns are found by name:
    RECS    Columns user, item, and rank or score. Rank orders the rows of a list;
            without it, score does. With neither, the rows must be in order; if
            there are other columns of numbers, give --in-order. Ids are text or
            numbers.
    TRUTH   Columns user, item and, optionally, relevance or rating, 0 = not
            relevant. Without it, every row is relevant.

    The third form takes one table, without TRUTH, with a row for each item of each
    group, such as the queries of a learning-to-rank model:
    GROUPS  Columns group, score (higher is better) and relevance (0 = not
            relevant). Ids are any text.

    If your columns have other names, give them with --user, --item and so on.

    -m takes every word up to the next option, so the files come first, or after --.

    For example:
      recmetrics evaluate scores.npy test.npz -m ndcg@10 'recall(denom=relevant)@20'
      recmetrics evaluate scores.npy test.tsv --exclude train.tsv --per-user u.csv
      recmetrics evaluate scores.npy test.npz --json | python -m json.tool
      recmetrics evaluate scores.npy test.npz -m novelty@10 \
          --popularity-from train.npz
      recmetrics evaluate recs.csv test.csv -m ndcg@10 --per-user users.csv
      recmetrics evaluate recs.csv test.csv --user user_id --item item_id \
          --score prediction
      recmetrics evaluate groups.csv -m ndcg@10 mrr --group qid --relevance label
    """
    form, sources = _files(args)
    if args.per_user is not None:
        inputs = [source.path for source in sources.values()]
        check_output("--per-user", args.per_user, (".csv", ".npz"), inputs)
    with _told(sources) as notes:
        measure = {"SCORES": _scores, "RECS": evaluate_recommendations, "GROUPS": evaluate_groups}
        measured = measure[form](args, sources)
    _report(args, measured, notes)
    _refuse_nothing(notes)


def identify_files(args: Namespace) -> None:
    r"""Find the definitions of a metric that give a number.

    The systems that use them are named, too. SCORES and TRUTH, or RECS and TRUTH,
    are those of 'recmetrics evaluate'.

    For example:
      recmetrics identify scores.npy test.npz --value 0.0932 -m ndcg@10 \
          --exclude train.npz
    """
    if len(args.files) < 2:
        msg = "give the files: recmetrics identify SCORES TRUTH; see 'recmetrics identify --help'"
        raise CommandError(msg)
    args = Namespace(**{row.name: row.default for row in EVALUATE} | vars(args))
    form, sources = _files(args)
    with _told(sources) as notes:
        work = identify_recommendations if form == "RECS" else _identify_scores
        found = work(args, sources)
    if args.json:
        write_json(found.to_dict() | {"notes": notes})
    else:
        show(found.to_text(width()))
    _refuse_nothing(notes)


@contextmanager
def _told(sources: Mapping[str, Source]) -> Iterator[list[str]]:
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


def _refuse_nothing(notes: Sequence[str]) -> None:
    for note in notes:
        if _NOTHING.search(note):
            msg = f"nothing was measured: {note}"
            raise CommandError(msg)


def _files(args: Namespace) -> tuple[str, dict[str, Source]]:
    """Tell the form of the files by their number and the name of the first; refuse other options.

    Also gives the files by the argument that each becomes.
    """
    if not args.files:
        msg = "give the files: recmetrics evaluate SCORES TRUTH; see 'recmetrics evaluate --help'"
        raise CommandError(msg)
    path, *others = map(Path, args.files)
    form = ("RECS" if others else "GROUPS") if is_table(path) else "SCORES"
    if form == "SCORES" and not others:
        msg = (
            f"{Source('SCORES', path)} needs a TRUTH; type: recmetrics evaluate "
            f"{quote(str(path))} TRUTH; only a table of groups (.csv, .tsv or .parquet) needs none"
        )
        raise CommandError(msg)
    for row in EVALUATE:
        takers = row.forms.split()
        if getattr(args, row.name) == row.default or form in takers:
            continue
        option = FLAGS[row.name]
        wanted = ", or ".join(f"{each}, {FORMS[each]}" for each in takers)
        got = f"{form} is {FORMS[form]}"
        if takers == ["GROUPS"]:  # no form that is given with a TRUTH
            got = f"got {Source('TRUTH', others[0])}"
        elif form == "GROUPS" and "RECS" in takers:
            got += f"; type recmetrics evaluate {quote(str(path))} TRUTH"
        elif form == "SCORES" and path.suffix not in (".npy", ".npz"):
            got = f"{Source(form, path)} is neither .csv, .tsv nor .parquet"
        elif form == "RECS" and row.name == "exclude":
            got += "; leave the items of training out of RECS instead"
        msg = f"{option} goes with {wanted}; {got}"
        raise CommandError(msg)
    return form, sources_of(args, form.lower())


def _report(args: Namespace, measured: Measured, notes: list[str]) -> None:
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
    write_json(document)


# --- The form SCORES ------------------------------------------------------------------------------


def _scores(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    metrics = args.metrics or default_metrics(args.convention)
    scores, truth, sets, shape = _read_matrices(sources)
    given: dict[str, Any] = {}
    for name, source in sources.items():
        if name in SIDE and (of_train := SIDE[name].of_train) is not None:
            given[name] = of_train(_read_matrix(source, shape), shape[1])
        elif name in SIDE:
            given[name] = read_array(source, _TABLE)
    strata = strata_of(args, sources).items()
    given["strata"] = {name: _read_matrix(source, shape) for name, source in strata}
    report = _audit(args, scores, truth, metrics, sets) if args.audit else None
    if report is not None and not args.json:
        # Before the metrics are computed: the report says more than an error of theirs.
        show(with_options(f"{report}\n\n"))
    rules = rules_of(args) | {"nan": args.nan, "ties": args.ties}
    with progress("evaluating users:") as on_progress:
        evaluation = Metrics.evaluate(
            scores, truth, metrics, progress=on_progress, **sets, **given, **rules
        )
    evaluation.notes = (f"{shape[0]:,} users x {shape[1]:,} items", *evaluation.notes)
    levels: dict[str, dict[str, Any]] = {"chance": {}, "ceiling": {}} if args.chance else {}
    more: dict[str, Any] = {n: given[n] for n in ("strata", "propensity") if n in given}
    more |= {"undefined": args.undefined, "convention": args.convention, **sets}
    for text, level in product(metrics, levels):
        with suppress(ArgumentError):  # a metric that has no such level
            levels[level] |= getattr(Metrics, level)(truth, text, n_items=shape[1], **more)
    return Measured(evaluation, levels=levels, audit=report)


def _identify_scores(args: Namespace, sources: Mapping[str, Source]) -> Identification:
    scores, truth, sets, _ = _read_matrices(sources)
    rules = {"nan": args.nan, "n_threads": args.n_threads}
    return identify(scores, truth, args.value, args.metric, **sets, **rules)


def _read_matrices(
    sources: Mapping[str, Source],
) -> tuple[Any, Any, dict[str, Any], tuple[int, int]]:
    """Read the scores, the truth and the sets of items; also gives the shape of the scores."""
    scores = read_array(sources["scores"], _SCORES)
    shape = (*scores.shape, 0, 0)[:2]  # the library refuses other dimensions
    truth = _read_matrix(sources["truth"], shape, graded=True)
    given = (name for name in ("exclude", "candidates") if name in sources)
    sets = {name: _read_matrix(sources[name], shape) for name in given}
    return scores, truth, sets, shape


def _audit(
    args: Namespace, scores: Any, truth: Any, metrics: list[str], sets: Mapping[str, Any]
) -> Audit:
    cutoffs = [text.rpartition("@")[2] for metric in metrics for text in spell(metric)]
    k = max((int(each) for each in cutoffs if each.strip().isdecimal()), default=scores.shape[1])
    with progress("auditing users:") as on_progress:
        return audit(
            scores, truth, **sets, k=max(1, k), n_threads=args.n_threads, progress=on_progress
        )


def _read_matrix(source: Source, shape: tuple[int, int], *, graded: bool = False) -> Any:
    """Read relevances (``graded``) or a set of items per user (not), of the scores' shape.

    In text, relevance is 1 where a line gives none, and no pair may stand twice. Of a set, every
    pair belongs to it, whatever its third number.
    """
    first = start(source, _MATRIX)
    if source.path.suffix.lower() in (".npy", ".npz") or first.startswith((NPY, ZIP)):
        return read_array(source, _MATRIX)
    if first:
        refuse_other_formats(source, first, _MATRIX)
    users, items, values = array("q"), array("q"), array("d")
    line_of: dict[tuple[int, int], int] = {}
    # A comment may hold any byte.
    text = source.path.open(encoding="utf-8-sig", errors="surrogateescape")
    with reading(source, _LINE), text as file:
        for number, line in enumerate(file, start=1):
            body = line.partition("#")[0]
            fields = [*map(str.strip, body.split(","))] if "," in body else body.split()
            if not any(fields):
                continue
            try:
                user, item, value = _parse(fields, shape, graded=graded)
                before = line_of.setdefault((user, item), number) if graded else number
                if before != number:
                    msg = f"user {user}, item {item} is already on line {before}; give every pair "
                    raise ValueError(msg + "once")
            except ValueError as error:
                raise at_line(source, number, error) from None
            users.append(user)
            items.append(item)
            values.append(value)
        if graded and not users:
            msg = "it holds no line"
            raise ValueError(msg)
    pairs = np.array(users, dtype=np.int64), np.array(items, dtype=np.int64)
    return sparse.csr_array((np.array(values), pairs), shape=shape)


def _parse(fields: list[str], shape: tuple[int, int], *, graded: bool) -> tuple[int, int, float]:
    if not 2 <= len(fields) <= 3:
        msg = f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}; expected {_LINE}"
        raise ValueError(msg)
    user = _index("user", fields[0], shape[0])
    item = _index("item", fields[1], shape[1])
    if not graded or len(fields) == 2:
        return user, item, 1.0
    try:
        value = read_number(fields[2])
    except ValueError:
        msg = f"cannot read {fields[2][:40]!r} as relevance; expected {_LINE}"
        raise ValueError(msg) from None
    if not 0 <= value < math.inf:
        msg = f"relevance {value:g}; expected a finite number >= 0"
        raise ValueError(msg)
    return user, item, value


def _index(name: str, field: str, size: int) -> int:
    if not (field.isascii() and field.removeprefix("-").isdecimal()):
        msg = f"cannot read {field[:40]!r} as {name}; expected {_LINE}"
        raise ValueError(msg)
    index = int(field)
    if not 0 <= index < size:
        msg = f"{name} {field[:40]} is not in the scores; expected 0 to {size - 1}"
        raise ValueError(msg)
    return index
