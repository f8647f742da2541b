"""Arguments and exit codes of ``recmetrics``: 0 done, 2 bad input, 130 Ctrl-C, 141 closed pipe.

Other signals that end the command also give 128 + their number: 143 is SIGTERM.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias, get_args

from recmetrics import RecmetricsError, __version__
from recmetrics._spec import METRICS, split_metrics
from recmetrics._types import Convention, Invalid, RankGaps, Ties, Undefined
from recmetrics.cli._catalogue import catalogue
from recmetrics.cli._demo import DEFAULT_PLOT, demo
from recmetrics.cli._failures import CommandError, reason, with_options
from recmetrics.cli._group_files import evaluate_groups
from recmetrics.cli._models import compare_files
from recmetrics.cli._named import mapped
from recmetrics.cli._recommendations import evaluate_recommendations
from recmetrics.cli._score_files import DEFAULT_K, SIDE, evaluate
from recmetrics.cli._signals import EXIT_CODE, signals_handled
from recmetrics.cli._table_files import is_table
from recmetrics.cli._terminal import discard_stdout, require_stdout, tell, write
from recmetrics.comparison import Correction, Test

_METRIC_FLAGS = ("-m", "--metric")
_DESCRIPTION = "Ranking metrics for recommender systems, per user."
_EXAMPLES = """\
examples:
  recmetrics demo
  recmetrics evaluate scores.npy test.npz -m ndcg@10 'recall(denom=relevant)@20'
  recmetrics evaluate scores.npy test.tsv --exclude train.tsv --per-user users.csv
  recmetrics evaluate scores.npy test.npz --json | python -m json.tool
  recmetrics evaluate scores.npy test.npz -m novelty@10 --popularity-from train.npz
  recmetrics compare old.npz new.npz --plot new.png
  recmetrics compare old.csv new.csv --by segments.csv
  recmetrics compare pop.npz als=seed1.npz als=seed2.npz als=seed3.npz --compact
  recmetrics evaluate recs.csv test.csv -m ndcg@10 --per-user users.csv
  recmetrics evaluate recs.csv test.csv --user user_id --item item_id --score prediction
  recmetrics evaluate groups.csv -m ndcg@10 mrr --group qid --relevance label
  recmetrics metrics
  recmetrics metrics ndcg
"""
_FILES = """\
SCORES  (n_users, n_items), higher is better: dense .npy, mapped, never loaded whole; or sparse .npz
        (scipy.sparse.save_npz), whose stored entries alone may be recommended
TRUTH   of the same shape, 0 = not relevant; also the form of --exclude and --candidates:
        sparse .npz (scipy.sparse.save_npz), dense .npy, or text lines
        'user item [relevance]' with 0-based indices, separated by blanks, tabs or commas;
        # begins a comment; without a relevance it is 1. In --exclude and --candidates
        every line counts, whatever its third number. TRUTH may also be an .npy of one item index
        for each user, -1 for none.

Or, instead of SCORES, a table of recommendations by its name, .csv, .tsv or .parquet; then TRUTH
(and --popularity-from) is such a table, too. The first line names the columns:
RECS    user, item, and rank or score, which order the rows of a user's list (rank first). Columns
        of other names by --user, --item, --rank and --score (or --user-col, --item-col, ...);
        further columns are not read. Without rank and score the rows are in order, and where there
        is a column of numbers --in-order must say so. Ids are any text or numbers. Items that a
        list names again, or that do not exist, are errors; see --repeats, --unknown and
        --catalogue.
TRUTH   user, item, and maybe rating, 0 = not relevant; without it every row is relevant. A column
        of another name than rating by --relevance.

Or, without TRUTH, a table of groups, such as the queries of a learning-to-rank model. It has a row
for each item of a group:
GROUPS  group, score (higher is better) and relevance (0 = not relevant); columns of other names by
        --group, --score and --relevance. Ids are any text.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code; errors print one line, not a traceback.

    Without ``argv`` the process is the command, and until it is done signals end it at once.
    """
    if argv is None:
        with signals_handled():
            return main(sys.argv[1:])
    mapped.clear()
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return EXIT_CODE
    except BrokenPipeError:
        discard_stdout()
        return 141  # the shell's code of a program that a closed pipe ended
    except (CommandError, RecmetricsError) as error:
        return _fail(with_options(str(error)))
    except MemoryError as error:
        return _fail(f"not enough memory: {reason(error)}")
    except OSError as error:  # not covered by the message of a file, such as a failing disk
        return _fail(reason(error))


def _run(argv: Sequence[str]) -> int:
    try:
        args, unknown = _parser().parse_known_args(_with_flags(argv))
    except SystemExit as leaving:  # --help and --version
        return int(leaving.code or 0)
    if unknown and "truth" in args and args.truth is None and not unknown[0].startswith("-"):
        args.truth = Path(unknown.pop(0))  # older versions of argparse leave it behind options
    if unknown:
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    require_stdout()  # before the work whose result could not be shown
    args.run(args)
    return 0


def _with_flags(argv: Sequence[str]) -> list[str]:
    """Put ``-m`` before each metric of ``-m ndcg@10 recall@20``, unless a file has its name."""
    words: list[str] = []
    listing = False  # whether the word before is -m or one of its metrics
    for word in argv:
        if listing and words[-1] not in _METRIC_FLAGS:
            named = "@" in word or word in METRICS
            listing = named and not word.startswith("-") and not Path(word).exists()
            if listing:
                words.append(_METRIC_FLAGS[0])
        listing = listing or word in _METRIC_FLAGS
        words.append(word)
    return words


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        found = re.match(r"argument (.*): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if found:
            option, typed, choices = found.groups()
            near = difflib.get_close_matches(typed, re.findall(r"\w+", choices), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {choices}"
            if option == "COMMAND":
                message = f"unknown command {typed!r}; {hint}"
            elif near:
                message = f"argument {option}: invalid choice: {typed!r}; {hint}"
        msg = f"{message}; see '{self.prog} --help'"
        raise CommandError(msg)

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        """Write help and version, all that is printed here; argparse would hide a failure."""
        write(message)


_Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


def _parser() -> _Parser:
    parser = _Parser(
        prog="recmetrics",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"recmetrics {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_evaluate(commands)
    _add_compare(commands)
    _add_metrics(commands)
    return parser


def _add_demo(commands: _Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="simulate users, train a model with a validation step per epoch, compare",
        description="Simulate an implicit-feedback catalogue, train a matrix factorisation on it "
        "with a validation step after every epoch, and compare it with popularity on held-out "
        f"interactions. Writes a picture of the learning curve, {DEFAULT_PLOT}, into this folder.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=demo, parser=parser)
    sizes: list[tuple[str, int, int, str]] = [
        ("--users", 3000, 10, "users to simulate"),
        ("--items", 2000, 100, "items in the catalogue"),
        ("--epochs", 10, 1, "epochs of training"),
        ("--factors", 16, 1, "latent factors of the model"),
        ("--seed", 0, 0, "seed of all that is random"),
    ]
    for option, default, least, meaning in sizes:
        parser.add_argument(
            option,
            type=_integer_from(least),
            default=default,
            metavar="N",
            help=f"{meaning} (default {default}, at least {least})",
        )
    picture = parser.add_mutually_exclusive_group()
    picture.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help=f"write the learning curve to FILE, a .png (default {DEFAULT_PLOT})",
    )
    picture.add_argument("--no-plot", action="store_true", help="write no picture")


def _add_evaluate(commands: _Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="compute metrics of a file of scores, recommendations or groups",
        description=_FILES,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=_evaluate, parser=parser)
    parser.add_argument(
        "scores",
        type=Path,
        metavar="SCORES",
        help="predicted scores, recommendations (RECS), or groups (GROUPS)",
    )
    parser.add_argument(
        "truth", type=Path, nargs="?", metavar="TRUTH", help="what was relevant; not with GROUPS"
    )
    parser.add_argument(
        *_METRIC_FLAGS,
        dest="metrics",
        type=split_metrics,
        action="extend",
        metavar="METRIC",
        help="name, name@k or 'name(option=value)@k', or several; see 'recmetrics metrics' "
        f"(default: every accuracy metric with values in [0, 1], at cutoff {DEFAULT_K})",
    )
    parser.add_argument(
        "--exclude", type=Path, metavar="TRAIN", help="items not to be recommended, per user"
    )
    parser.add_argument(
        "--candidates", type=Path, metavar="FILE", help="the only items to recommend, per user"
    )
    parser.add_argument(
        "--stratum",
        type=_stratum,
        action="append",
        metavar="NAME=FILE",
        help="some of the items, for metrics such as 'recall(of=NAME)@20': per user, or for all an "
        ".npy of items, or with RECS a table of items; once for each stratum",
    )
    parser.add_argument(
        "--propensity-from",
        dest="propensity",
        type=Path,
        metavar="TRAIN",
        help="training interactions, in a form of TRUTH: for metrics such as "
        "'recall(weigh=snips)@20'",
    )
    for name, (option, meaning) in SIDE.items():
        flag, metavar = option.split()
        parser.add_argument(flag, dest=name, type=Path, metavar=metavar, help=meaning)
    for name, what in (
        ("user", "with RECS: the column of users, in every table (default user)"),
        ("item", "with RECS: the column of items, in every table (default item)"),
        ("group", "with GROUPS: the column of ids of groups (default group)"),
        (
            "relevance",
            "the column of relevances: with GROUPS (default relevance), or with RECS that of TRUTH "
            "(default rating)",
        ),
    ):
        parser.add_argument(*_flags(name), metavar="COLUMN", help=what)
    parser.add_argument(
        "--include-missing",
        action=argparse.BooleanOptionalAction,
        help="with RECS: count users of TRUTH without recommendations, as empty lists (default), "
        "or leave them out",
    )
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        *_flags("rank"),
        metavar="COLUMN",
        help="with RECS: the column of ranks, 1 is best (default rank)",
    )
    order.add_argument(
        *_flags("score"),
        metavar="COLUMN",
        help="with RECS or GROUPS: the column of scores (default score)",
    )
    order.add_argument(
        "--in-order", action="store_true", help="with RECS: the rows of each list are best first"
    )
    parser.add_argument(
        "--rank-gaps",
        choices=get_args(RankGaps),
        help="with RECS: ranks of which some have no item are read in order, as 1, 2, 3, ..., or "
        "as the numbers they are (default: as --convention has it, else close)",
    )
    parser.add_argument(
        "--catalogue",
        type=Path,
        metavar="FILE",
        help="with RECS: a table with the item of each row, all that may be recommended; coverage "
        "and the like need it, and auc",
    )
    for name, items in (
        ("repeats", "items that a list names again"),
        ("unknown", "items that are not in the --catalogue"),
    ):
        parser.add_argument(
            f"--{name}",
            choices=get_args(Invalid),
            default="raise",
            help=f"with RECS: {items} are an error, waste their rank, or are dropped (default "
            "raise)",
        )
    parser.add_argument(
        "--undefined",
        choices=get_args(Undefined),
        help="users or groups with no relevant item: left out of the mean, 0, 1, or an error "
        "(default: as --convention has it, else nan)",
    )
    parser.add_argument(
        "--convention",
        type=str.lower,
        choices=get_args(Convention),
        metavar="NAME",
        help="the system whose definitions the plain names mean: %(choices)s",
    )
    parser.add_argument(
        "--nan",
        choices=("raise", "exclude"),
        default="raise",
        help="NaN among the scores: an error, or not recommended (default raise)",
    )
    parser.add_argument(
        "--ties",
        choices=get_args(Ties),
        help="equal scores: by item index, or the mean, the worst or the best value over all of "
        "their orders, or a range: the mean, the least and the greatest value, a row for each "
        "(default: as --convention has it, else index)",
    )
    parser.add_argument(
        "--chance",
        action="store_true",
        help="show beside each mean that of a random ranking and that of the best ranking possible",
    )
    parser.add_argument(
        "--audit",
        action="store_true",
        help="first report what is odd about the files, for the largest cutoff asked for: NaN, "
        "ties across the cutoff, relevant items that are excluded, users without truth, ...",
    )
    parser.add_argument(
        "--threads", type=_integer_from(1), metavar="N", help="threads (default: all cores)"
    )
    parser.add_argument(
        "--per-user",
        type=Path,
        metavar="FILE",
        help="write the values of every user or group, .csv or .npz",
    )
    parser.add_argument("--json", action="store_true", help="print JSON in full precision")


def _flags(column: str) -> tuple[str, str]:
    """Give the two spellings of the option that names a column."""
    return f"--{column}", f"--{column}-col"


def _add_compare(commands: _Commands) -> None:
    parser = commands.add_parser(
        "compare",
        help="tell whether one model is better than another, by per-user files",
        description="Compare models by the files that 'recmetrics evaluate --per-user' writes, one "
        "for each: means and paired differences with their intervals, and tests. A model is called "
        "by the name of its file, or by NAME in NAME=FILE; files of the same NAME are runs of one "
        "model, such as seeds.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=compare_files, parser=parser)
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="per-user values, .npz or .csv"
    )
    parser.add_argument(
        "--paired-runs",
        action="store_true",
        help="run i of each model belongs together, such as folds of the data; else runs are drawn "
        "for each model apart",
    )
    parser.add_argument(
        "--baseline",
        metavar="MODEL",
        help="the one to compare the others with, by name or file (default: all pairs)",
    )
    parser.add_argument(
        "--by",
        type=Path,
        metavar="GROUPS",
        help="the group of each user, such as a segment: the same for each group, and the worst "
        "one; .npy, .csv of user and group, or text with a label a line",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="of the intervals; significant is p < 1 - P (default 0.95)",
    )
    parser.add_argument(
        "--test",
        dest="tests",
        action="append",
        choices=get_args(Test),
        help="paired test; may be repeated, the first decides what is significant (default t)",
    )
    parser.add_argument(
        "--correction",
        choices=(*get_args(Correction), "none"),
        default="holm",
        help="of the p-values for their number (default holm)",
    )
    parser.add_argument(
        "--seed", type=_integer_from(0), default=0, metavar="N", help="of the bootstrap (default 0)"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw it, as .png, .pdf or .svg by the name"
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="print one table, models by metrics, with letters of significance; with --latex a "
        "whole table with caption and label",
    )
    parser.add_argument(
        *_METRIC_FLAGS,
        dest="metrics",
        type=split_metrics,
        action="extend",
        metavar="METRIC",
        help="to show in the compact table, or several (default: all)",
    )
    parser.add_argument(
        "--digits", type=_integer_from(0), metavar="N", help="decimals of the compact table"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--markdown", action="store_true", help="print Markdown tables")
    output.add_argument("--latex", action="store_true", help="print LaTeX tables")
    output.add_argument("--json", action="store_true", help="print JSON in full precision")


def _evaluate(args: argparse.Namespace) -> None:
    """Evaluate what the first file holds: scores, recommendations, or groups."""
    if args.truth is None:
        evaluate_groups(args)
    else:
        (evaluate_recommendations if is_table(args.scores) else evaluate)(args)


def _add_metrics(commands: _Commands) -> None:
    parser = commands.add_parser(
        "metrics",
        help="list the metrics, or explain one",
        description="List all metrics with their options, or explain one: its formula, options, "
        "bounds and source; of a whole metric string with its options filled in, and which systems "
        "compute exactly this.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=catalogue, parser=parser)
    parser.add_argument(
        "--markdown", action="store_true", help="print the catalogue as a Markdown table"
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a metric, such as ndcg or 'map(denom=hits)@10'"
    )


def _integer_from(least: int) -> Callable[[str], int]:
    """Read an integer that is at least ``least``."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) >= least):
            msg = f"expected an integer >= {least}, got {text!r}"
            raise argparse.ArgumentTypeError(msg)
        return int(text)

    return read


def _stratum(text: str) -> tuple[str, Path]:
    """Read the name and the file of a stratum."""
    name, _, file = text.partition("=")
    if not re.fullmatch(r"[\w.-]+", name) or not file:
        msg = f"expected NAME=FILE, such as tail=items.npy, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return name, Path(file)


def _fail(message: str) -> int:
    tell(f"error: {message}")
    return 2
