"""Commands, their help, the exit codes of errors; ``evaluate``, ``identify``: files -> report.

Exit codes: 0 done, 1 a gate failed, 2 bad input or a fault of the package, 3 the verdict of a gate
is open, 130 Ctrl-C, 141 closed pipe. The form SCORES, of matrices, is read here; the forms of
tables are in ``_tables``.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import product
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from recmetrics import (
    ArgumentError,
    Audit,
    Identification,
    InputError,
    Metrics,
    MetricSpecError,
    RecmetricsError,
    RecmetricsWarning,
    __version__,
    audit,
    identify,
)
from recmetrics._core.errors import at_fault, did_you_mean
from recmetrics._core.results import spec_of
from recmetrics._core.spec import SIDE, expand_cutoffs
from recmetrics._files import (
    SUFFIXES,
    TABLES,
    Lines,
    Source,
    as_dict,
    holds_lists,
    holds_table,
    read_array,
    read_user_items,
    reason,
    suffix_of,
    weight_name,
)
from recmetrics.cli._arguments import (
    AUDIT_TIMES,
    COMPARE,
    DEBUG,
    DEMO,
    EVALUATE,
    FORMS,
    IDENTIFY,
    METRICS_PAGES,
    Measured,
    Row,
    rules_of,
    sources_of,
    strata_of,
)
from recmetrics.cli._compare_files import compare_files
from recmetrics.cli._demo import demo
from recmetrics.cli._metric_pages import default_metrics, metric_pages
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._tables import (
    audit_time_files,
    evaluate_groups,
    evaluate_recommendations,
    identify_recommendations,
)
from recmetrics.cli._terminal import (
    CommandError,
    fold,
    progress,
    show,
    tell,
    tell_traceback,
    telling_of_compilation,
    width,
    with_options,
    write,
    write_json,
)

_SCORES_FORMAT = (
    f"a dense .npy (numpy.save) or a sparse .npz (scipy.sparse.save_npz), a table {TABLES}, "
    "or a TREC run of 6 words a line: 'query Q0 item rank score tag'"
)
_SIDE_FORMAT = "a sparse .npz (scipy.sparse.save_npz) or a dense .npy (numpy.save)"
# Warnings of the library after which the numbers say nothing about the model.
_MEANINGLESS = re.compile("^truth, .* no id of recs occurs here|are scores and truth exchanged")
# Flags by which other commands take a cutoff; here a metric has its own.
_CUTOFF_FLAGS = ("-k", "--k", "--at", "--at-k", "--cutoff", "--cutoffs", "--top-k", "--topk")
# A word with such an ending among the metrics of -m is a file.
_FILE_SUFFIXES = (".npy", ".npz", ".txt", *SUFFIXES)


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
            Lines of different length, one for each user, are 'user item item ...'.
            If each user has one line: lines that all have two numbers are 'user
            item'; a mix of two and three, or equally many above two, is an error
            that asks for --lines. TREC's qrels are read, too.
            TRUTH may also be an .npy of one item index per user, -1 for none.
    --exclude and --candidates take the same formats as TRUTH. In these text files,
    the relevance is ignored: every line counts as an item, also the lines of a TREC
    run.

    The second form takes tables (.csv, .tsv, .parquet or RecBole's .inter) of
    recommendations and of the truth, or a run of TREC and its qrels. Columns are
    found by name, separated by a comma, a semicolon or a tab:
    RECS    Columns user, item, and rank or score. Rank orders the rows of a list;
            without it, score does. With neither, the rows must be in order; if
            there are other columns of numbers, give --in-order, since one of them
            might be the score. Ids are text or numbers.
    TRUTH   Columns user, item and, optionally, relevance or rating, 0 = not
            relevant. Without it, every row is relevant.
    --exclude takes a table of the columns user and item: the items of a list below
    an excluded one move up.

    The third form takes one table, without TRUTH, with a row for each item of each
    group, such as the queries of a learning-to-rank model:
    GROUPS  Columns group, score (higher is better; -inf: not retrieved) and
            relevance (0 = not relevant). Ids are any text.

    If your columns have other names, give them with --user, --item and so on. Text
    may be packed by gzip (.csv.gz).

    Put the files first: -m takes all words after it, up to the next option.

    For example:
      recmetrics evaluate scores.npy test.npz -m ndcg@10 'recall(denom=relevant)@20'
      recmetrics evaluate scores.npy test.tsv --exclude train.tsv --per-user u.csv
      recmetrics evaluate scores.npy test.npz --json | python -m json.tool
      recmetrics evaluate scores.npy test.npz -m novelty@10 \
          --popularity-from train.npz
      recmetrics evaluate recs.csv test.csv -m ndcg@10 --per-user users.csv
      recmetrics evaluate recs.csv test.csv --user user_id --item item_id \
          --score prediction
      recmetrics evaluate results.run qrels.txt -m ndcg@10 map --convention trec
      recmetrics evaluate groups.csv -m ndcg@10 mrr --group qid --relevance label
    """
    form, sources = _form_and_sources(args)
    if args.per_user is not None:
        inputs = [source.path for source in sources.values()]
        check_output("--per-user", args.per_user, (".csv", ".npz"), inputs)
    with _telling_warnings(args) as notes:
        measure = {
            "SCORES": _evaluate_scores,
            "RECS": evaluate_recommendations,
            "GROUPS": evaluate_groups,
        }
        measured = measure[form](args, sources)
    try:
        _print_evaluation(args, measured, notes)
    except InputError:  # no user has a value, maybe for the reason in a note
        _refuse_meaningless(notes)
        raise
    _refuse_meaningless(notes)


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
    form, sources = _form_and_sources(args)
    with _telling_warnings(args) as notes:
        search = identify_recommendations if form == "RECS" else _identify_scores
        identification = search(args, sources)
    if args.json:
        write_json(identification.to_dict() | {"notes": notes})
    else:
        show(identification.to_text(width()))
    _refuse_meaningless(notes)


@contextmanager
def _telling_warnings(args: Namespace) -> Iterator[list[str]]:
    """Write the warnings of the library, also those before an error, and collect them."""
    notes: list[str] = []
    is_measured = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecmetricsWarning)
        try:
            yield notes
            is_measured = True
        finally:
            for warning in caught:
                argument = getattr(warning.message, "argument", None)
                note = with_options(str(warning.message), argument, args.spellings)
                notes.append(note)
                # The others are the error below the numbers.
                if not (is_measured and _MEANINGLESS.search(note)):
                    tell(f"note: {note}")


def _refuse_meaningless(notes: Sequence[str]) -> None:
    """Refuse numbers that say nothing about the model, by the note that says why."""
    for note in notes:
        if _MEANINGLESS.search(note):
            msg = f"nothing was measured: {note}"
            raise CommandError(msg)


def _form_and_sources(args: Namespace) -> tuple[str, dict[str, Source]]:
    """Give the form of the files, and the files by the argument that each becomes.

    Their number and the name of the first tell the form; options that it does not take are refused.
    """
    if not args.files:
        msg = "give the files: recmetrics evaluate SCORES TRUTH; see 'recmetrics evaluate --help'"
        raise CommandError(msg)
    path = Path(args.files[0])
    has_truth = len(args.files) > 1
    form = "SCORES"
    if has_truth and holds_table(path):
        form = "RECS"
    elif not has_truth and suffix_of(path) in SUFFIXES:
        form = "GROUPS"
    if form == "SCORES" and not has_truth:
        if args.group is not None:
            msg = f"--group goes with GROUPS, {FORMS['GROUPS']}; {str(path)!r} is no {TABLES}"
            raise CommandError(msg)
        msg = (
            f"{Source('SCORES', path)} needs a TRUTH; type: recmetrics evaluate "
            f"{quote(str(path))} TRUTH; only a table of groups ({TABLES}) needs none"
        )
        raise CommandError(msg)
    for row in EVALUATE:
        if form in row.forms.split():
            continue
        args.spellings.pop(row.name, None)  # no message says to type it
        if getattr(args, row.name) != row.default:
            _refuse_option(row, form, args)
    return form, sources_of(args, form.lower())


def _refuse_option(row: Row, form: str, args: Namespace) -> NoReturn:
    """Say which forms take an option, and why that of these files does not."""
    files = args.files
    path = Path(files[0])
    takers = row.forms.split()
    expected = ", or ".join(f"{taker}, {FORMS[taker]}" for taker in takers)
    explanation = f"{form} is {FORMS[form]}"
    if takers == ["GROUPS"]:  # no form that is given with a TRUTH
        explanation = f"got {Source('TRUTH', Path(files[1]))}"
    elif form == "GROUPS" and "RECS" in takers:
        explanation += f"; type recmetrics evaluate {quote(str(path))} TRUTH"
    elif form == "RECS" and row.name == "lines":
        explanation += "; leave it out"
        truth = Source("TRUTH", Path(files[1]))
        if truth.suffix not in SUFFIXES and holds_lists(truth):
            call = f"evaluate_table({str(path)!r}, {as_dict(files[1])}, ...)"
            explanation += f", and for lines of a user and items, in Python, type {call}"
    elif form == "RECS" and row.name in SIDE:
        table = f"{row.name}={str(getattr(args, row.name))!r}"
        call = f"evaluate_table({str(path)!r}, {str(files[1])!r}, ..., {table})"
        explanation += f"; for {SIDE[row.name].table}, in Python, type {call}"
    elif form == "SCORES" and path.suffix not in (".npy", ".npz"):
        explanation = f"{Source(form, path)} is no {TABLES}, nor a TREC run"
    msg = f"{row.flag} goes with {expected}; {explanation}"
    raise CommandError(msg)


def _print_evaluation(args: Namespace, measured: Measured, warning_notes: list[str]) -> None:
    """Print the evaluation, or write it as JSON; write the values of ``--per-user``.

    ``warning_notes`` are in the JSON; as text they were written to stderr already.
    """
    evaluation = measured.evaluation
    evaluation.notes = tuple(with_options(note, None, args.spellings) for note in evaluation.notes)
    of_lists = [metric for metric, column in evaluation.values.items() if not column.ndim]
    if of_lists and args.per_user is not None and args.per_user.suffix.lower() == ".csv":
        have = "has" if len(of_lists) == 1 else "have"
        metrics = ", ".join(of_lists)
        note = f"not in {args.per_user}: {metrics}, which {have} one value for all lists"
        evaluation.notes += (note,)
    keywords = {"levels": measured.levels, "confidence": args.confidence}
    if args.json:
        document = evaluation.to_dict(**keywords)
        document["notes"] += warning_notes
        if measured.audit is not None:
            report = measured.audit
            findings = {name: finding._asdict() for name, finding in report.findings.items()}
            document["audit"] = {"k": report.k, "dtype": report.dtype, "findings": findings}
        print_report = partial(write_json, document)
    else:
        print_report = partial(show, evaluation.summary(**keywords).to_text(width()))
    # If the numbers are refused, an older --per-user file stays.
    if args.per_user is not None and not any(map(_MEANINGLESS.search, warning_notes)):
        weights = {weight_name(text): array for text, array in evaluation.user_weights.items()}
        write_per_user(args.per_user, evaluation.values | weights, measured.ids, evaluation.noun)
    print_report()


# --- The form SCORES ------------------------------------------------------------------------------


def _evaluate_scores(args: Namespace, sources: Mapping[str, Source]) -> Measured:
    """Evaluate scores and a truth, both matrices; print the audit before, if it is asked for."""
    metrics = args.metrics or default_metrics(args.convention)
    scores, truth, item_sets, shape = _read_matrices(sources, args.lines)
    strata = strata_of(args, sources).items()
    side_data: dict[str, Any] = {
        "strata": {name: read_user_items(source, shape, args.lines) for name, source in strata}
    }
    for name, source in sources.items():
        if name in SIDE and (of_train := SIDE[name].of_train) is not None:
            args.spellings["train"] = source.spelling
            side_data[name] = of_train(read_user_items(source, shape, args.lines))
        elif name in SIDE:
            side_data[name] = read_array(source, _SIDE_FORMAT)

    audit_report = None
    if args.audit:
        audit_report = _audit_scores(args, scores, truth, metrics, item_sets)
        if not args.json:
            # Before the metrics are computed: the report says more than an error of theirs.
            show(fold(str(audit_report)))
            show("")
    rules = rules_of(args) | {"nan": args.nan, "ties": args.ties}
    with progress("evaluating users:") as on_progress:
        evaluation = Metrics.evaluate(
            scores, truth, metrics, progress=on_progress, **item_sets, **side_data, **rules
        )
    evaluation.notes = (f"{shape[0]:,} users x {shape[1]:,} items", *evaluation.notes)
    if not args.chance:
        return Measured(evaluation, audit=audit_report)

    options = {
        "undefined": args.undefined,
        "convention": args.convention,
        "strata": side_data["strata"],
        "propensity": side_data.get("propensity"),
        **item_sets,
    }
    if sparse.issparse(scores):
        options["candidates"] = _stored_candidates(scores, item_sets.get("candidates"))
    levels: dict[str, dict[str, Any]] = {"chance": {}, "ceiling": {}}
    for metric, level in product(metrics, levels):
        with suppress(ArgumentError):  # a metric that has no such level
            levels[level] |= getattr(Metrics, level)(truth, metric, n_items=shape[1], **options)
    return Measured(evaluation, levels=levels, audit=audit_report)


def _stored_candidates(scores: Any, candidates: Any) -> Any:
    """Give the items of sparse scores that may be recommended: those stored, of the candidates."""
    entries = sparse.csr_array(scores)
    is_score = entries.data > -np.inf  # not NaN, either
    stored = sparse.csr_array((is_score, entries.indices, entries.indptr), shape=entries.shape)
    if candidates is None:
        return stored
    if candidates.ndim == 2:
        return stored.multiply(sparse.csr_array(candidates).astype(np.bool_))
    is_candidate = np.zeros(stored.shape[1], np.bool_)
    is_candidate[candidates] = True  # indices, or a mask of all items
    return stored.multiply(is_candidate)


def _identify_scores(args: Namespace, sources: Mapping[str, Source]) -> Identification:
    """Find the definitions of a metric that give a number, of scores and a truth."""
    scores, truth, item_sets, _ = _read_matrices(sources, args.lines)
    rules = {"nan": args.nan, "n_threads": args.n_threads}
    return identify(scores, truth, args.value, args.metric, **item_sets, **rules)


def _read_matrices(
    sources: Mapping[str, Source], lines: Lines | None
) -> tuple[Any, Any, dict[str, Any], tuple[int, int]]:
    """Read the scores, the truth and the sets of items; also gives the shape of the scores."""
    scores = read_array(sources["scores"], _SCORES_FORMAT)
    if scores.ndim == 1:
        msg = (
            f"{sources['scores']} is 1-d of shape {scores.shape}, expected 2-d (n_users, n_items); "
            "for one user save np.atleast_2d of it in Python; of groups, such as queries, "
            "recmetrics evaluate reads one table with the columns group, score and relevance"
        )
        raise CommandError(msg)
    shape = (*scores.shape, 0, 0)[:2]  # the library refuses other dimensions
    truth = read_user_items(sources["truth"], shape, lines, graded=True)
    item_sets = {}
    for name in ("exclude", "candidates"):
        if name in sources:
            item_sets[name] = read_user_items(sources[name], shape, lines)
    return scores, truth, item_sets, shape


def _audit_scores(
    args: Namespace, scores: Any, truth: Any, metrics: list[str], item_sets: Mapping[str, Any]
) -> Audit:
    """Audit the scores at the largest cutoff of the metrics, of all items if none has one."""
    with at_fault("metrics_list"):
        cutoffs = [text.rpartition("@")[2] for metric in metrics for text in expand_cutoffs(metric)]
    cutoff_numbers = [int(cutoff) for cutoff in cutoffs if cutoff.strip().isdecimal()]
    k = max(cutoff_numbers, default=scores.shape[1])
    with progress("auditing users:") as on_progress:
        return audit(
            scores, truth, **item_sets, k=max(1, k), n_threads=args.n_threads, progress=on_progress
        )


# --- The commands ---------------------------------------------------------------------------------


class _Command(NamedTuple):
    """A command: the function that runs it, whose docstring is its help; its options; its files."""

    run: Callable[[Namespace], int | None]
    rows: Sequence[Row]
    files: tuple[str, str, int] = ("", "", 0)  # names, help, how many at most


_COMMANDS = {
    "demo": _Command(demo, DEMO),
    "evaluate": _Command(
        evaluate,
        EVALUATE,
        ("SCORES TRUTH", "predicted scores and truth, RECS and TRUTH, or GROUPS alone", 2),
    ),
    "compare": _Command(
        compare_files, COMPARE, ("[NAME=]FILE", "per-user values, .npz or .csv", 1_000)
    ),
    "identify": _Command(
        identify_files,
        IDENTIFY,
        ("SCORES TRUTH", "predicted scores and truth, or RECS and TRUTH", 2),
    ),
    "audit-times": _Command(
        audit_time_files,
        AUDIT_TIMES,
        ("TRAIN TRUTH", "tables of the training set and of the test set", 2),
    ),
    "metrics": _Command(
        metric_pages, METRICS_PAGES, ("NAME", "a metric, such as ndcg or 'map(denom=hits)@10'", 1)
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code; errors print one line, not a traceback."""
    argv = sys.argv[1:] if argv is None else list(argv)
    name, *words = argv or [""]
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # a shell closed it, for good, by >&-
            setattr(sys, stream, Path(os.devnull).open("w"))  # noqa: SIM115
    try:
        return _run(name, words, argv)
    except Exception as error:  # a traceback ends with 1, as a gate that fails
        if DEBUG.flags in words:
            tell_traceback(error)
        tell(
            f"error: unexpected {type(error).__name__}: {reason(error)}; this is a fault of "
            "recmetrics: please report it, with what the same command prints with --debug"
        )
        return 2


def _run(name: str, words: Sequence[str], argv: Sequence[str]) -> int:
    """Run the command ``name`` with its ``words``, and give its exit code; tell its errors.

    ``argv`` are the words of the command line, ``name`` among them.
    """
    spellings: Mapping[str, str] = {}
    try:
        if name not in _COMMANDS:
            _help_or_refuse(name, argv)
        args = _read_arguments(name, words)
        spellings = args.spellings
        with telling_of_compilation(), warnings.catch_warnings():
            # Of NumPy, which reads the damaged header of an .npy as Python, before it fails.
            warnings.simplefilter("ignore", SyntaxWarning)
            return _COMMANDS[name].run(args) or 0
    except SystemExit as leaving:  # --help and --version
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return 130  # the shell's code of a program that Ctrl-C ended
    except BrokenPipeError:
        return 141  # the shell's code of a program that a closed pipe ended
    except CommandError as error:
        tell(f"error: {error}")
    except RecmetricsError as error:
        tell(f"error: {with_options(str(error), error.argument, spellings)}")
    except ImportError as error:
        if "type: pip install" not in str(error):  # no package that an extra has
            raise
        tell(f"error: {reason(error)}")
    except MemoryError as error:
        tell(f"error: not enough memory: {reason(error)}")
    except OSError as error:  # not covered by the message of a file, such as a failing disk
        tell(f"error: {reason(error)}")
    return 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        msg = f"{message}; see '{self.prog} --help'"
        raise CommandError(msg)

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        """Write help and version, all that is printed here; argparse would hide a failure."""
        write(message)


def _parser(name: str, docstring: str, usage: str | None = None) -> _Parser:
    """Make a parser whose help is a docstring, with its examples at the end."""
    description, _, examples = inspect.cleandoc(docstring).partition("\nFor example:\n")
    return _Parser(
        prog=name,
        usage=usage,
        description=description,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


# Names of Python that are no commands -> the command that does the same.
_OF_PYTHON = {
    "audit": "an audit is an option: recmetrics evaluate SCORES TRUTH -m METRIC --audit",
    "explain": "a metric string is explained by: recmetrics metrics STRING",
    "gate": "a gate is an option: recmetrics compare OLD NEW --baseline OLD --gate RULE",
}


def _help_or_refuse(name: str, argv: Sequence[str]) -> None:
    """Print the help or the version that ``argv`` asks for, or refuse an unknown command."""
    description = (
        "example: recmetrics evaluate scores.npy test.npz -m ndcg@10 recall@20\n\n"
        "Ranking metrics for recommender systems, per user.\n\ncommands:\n"
    )
    for command_name, command in _COMMANDS.items():
        summary = (command.run.__doc__ or "").partition("\n")[0]
        description += f"  {command_name:<13}{summary}\n"
    description += "\nfor the options of a command, and examples: recmetrics COMMAND --help"
    # The example says how a command is typed; a line of usage would stand before it.
    parser = _parser("recmetrics", fold(description), argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"recmetrics {__version__}")
    if name.startswith("-"):
        parser.parse_args(argv)
    if not name or name.startswith("-"):
        parser.error(f"expected a command: {', '.join(_COMMANDS)}")
    hint = did_you_mean(name, _COMMANDS) or f"choose from {', '.join(_COMMANDS)}"
    parser.error(f"unknown command {name!r}; {_OF_PYTHON.get(name, hint)}")


def _read_arguments(name: str, words: Sequence[str]) -> Namespace:
    """Read the words of the command ``name``: its options, ``files`` and ``spellings``."""
    command = _COMMANDS[name]
    file_names, files_help, max_files = command.files
    parser = _parser(f"recmetrics {name}", command.run.__doc__ or "")
    if file_names:
        parser.add_argument("files", nargs="*", metavar=file_names, help=files_help)
    # The parser itself takes the options that exclude no others, by "".
    option_groups: dict[str, Any] = {"": parser}
    rows = (*command.rows, DEBUG)
    for row in rows:
        if row.instead_of not in option_groups:
            option_groups[row.instead_of] = parser.add_mutually_exclusive_group()
        settings = {"help": row.help, **row.settings}
        option_groups[row.instead_of].add_argument(*row.flags.split(), **settings)
    args, other_words = parser.parse_known_args(words)
    for word in other_words:
        if word.startswith("-"):
            _refuse_unknown_option(parser, word.partition("=")[0], rows)
    args.files = [*getattr(args, "files", []), *other_words]  # some stand behind an option
    args.spellings = dict(_spellings(name))
    _refuse_files_among_metrics(name, args)
    if name == "identify":
        args.metric = _only_metric(args)
    if len(args.files) > max_files:
        word = args.files[max_files]
        message = f"unexpected word {word!r} behind {file_names or name}"
        if "--json" in words:
            message += f"; to write JSON to a file type: --json > {word}"
        parser.error(message)
    return args


def _refuse_unknown_option(parser: _Parser, flag: str, rows: Sequence[Row]) -> None:
    """Refuse an option that is none of a command's ``rows``."""
    message = f"unknown option {flag!r}"
    if flag in _CUTOFF_FLAGS and any(row.flag == "-m" for row in rows):
        parser.error(f"{message}; a metric has its cutoff: -m ndcg@10")
    hint = did_you_mean(flag, " ".join(row.flags for row in rows).split())
    commands = [
        f"'recmetrics {name}'"
        for name, command in _COMMANDS.items()
        if any(flag in row.flags.split() for row in command.rows)
    ]
    if commands:
        hint = f"it belongs to {' and '.join(commands)}"
    parser.error(f"{message}; {hint}" if hint else message)


@cache
def _spellings(name: str) -> Mapping[str, str]:
    """The options of a command by argument, as messages name them where they are not given."""
    rows = _COMMANDS[name].rows
    # Without the columns of ids: messages write user='a' for a user.
    spellings = {row.name: row.spelling for row in rows if row.name not in ("user", "item")}
    if "metrics" in spellings:
        spellings["metrics_list"] = spellings["metrics"]  # the argument that evaluates them
    return spellings


def _only_metric(args: Namespace) -> str:
    """Give the metric of ``identify``; words behind it that are metrics were read as files."""
    metrics = [*args.metric, *filter(_is_metric, args.files)]
    if len(metrics) > 1:
        listing = " and ".join(map(repr, metrics))
        msg = f"-m takes one metric in identify, got {listing}; run the command once for each"
        raise CommandError(msg)
    return str(metrics[0])


def _is_metric(word: str) -> bool:
    """Say whether a word is a metric string and no file."""
    try:
        spec_of(word)
    except MetricSpecError:
        return False
    return not Path(word).exists()


def _refuse_files_among_metrics(name: str, args: Namespace) -> None:
    """Refuse files that -m has taken for metrics; else make one list of the metrics."""
    lists_of_words = getattr(args, "metrics", None) or []  # one for each word behind -m
    metrics = [metric for words in lists_of_words for metric in words]
    files = [word for word in metrics if suffix_of(Path(word)) in _FILE_SUFFIXES]
    if files:
        msg = (
            f"-m takes all words after it, and {files[0]!r} is no metric; give the files first "
            f"(recmetrics {name} {' '.join([*args.files, *files])} -m METRIC), or put -- before "
            "them"
        )
        raise CommandError(msg)
    if metrics:
        args.metrics = metrics
