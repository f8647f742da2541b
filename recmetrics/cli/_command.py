"""Arguments and exit codes of ``recmetrics``: 0 done, 2 bad input, 130 Ctrl-C, 141 closed pipe.

Other signals that end the command also give 128 + their number: 143 is SIGTERM.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NoReturn, TypeAlias, get_args

from recmetrics import RecmetricsError, __version__
from recmetrics._errors import did_you_mean
from recmetrics._spec import METRICS, SIDE, split_metrics
from recmetrics._types import Convention, Invalid, RankGaps, Ties, Undefined
from recmetrics.cli._catalogue import catalogue
from recmetrics.cli._demo import DEFAULT_PLOT, demo
from recmetrics.cli._failures import CommandError, reason, with_options
from recmetrics.cli._group_files import evaluate_groups
from recmetrics.cli._models import compare_files
from recmetrics.cli._named import mapped
from recmetrics.cli._recommendations import evaluate_recommendations
from recmetrics.cli._score_files import DEFAULT_K, evaluate
from recmetrics.cli._signals import EXIT_CODE, signals_handled
from recmetrics.cli._table_files import is_table
from recmetrics.cli._terminal import discard_stdout, require_stdout, tell, write
from recmetrics.comparison import Correction, Test

_METRIC_FLAGS = ("-m", "--metric")
_DESCRIPTION = "Ranking metrics for recommender systems, per user."
_EVALUATE_EXAMPLES = """\
  recmetrics evaluate scores.npy test.npz -m ndcg@10 'recall(denom=relevant)@20'
  recmetrics evaluate scores.npy test.tsv --exclude train.tsv --per-user u.csv
  recmetrics evaluate scores.npy test.npz --json | python -m json.tool
  recmetrics evaluate scores.npy test.npz -m novelty@10 \\
      --popularity-from train.npz
  recmetrics evaluate recs.csv test.csv -m ndcg@10 --per-user users.csv
  recmetrics evaluate recs.csv test.csv --user user_id --item item_id \\
      --score prediction
  recmetrics evaluate groups.csv -m ndcg@10 mrr --group qid --relevance label
"""
_COMPARE_EXAMPLES = """\
  recmetrics compare old.npz new.npz --plot new.png
  recmetrics compare old.csv new.csv --by segments.csv
  recmetrics compare pop.npz als=seed1.npz als=seed2.npz als=seed3.npz --compact
"""
_EXAMPLES = f"""\
examples:
  recmetrics demo
{_EVALUATE_EXAMPLES}{_COMPARE_EXAMPLES}  recmetrics metrics
  recmetrics metrics ndcg
"""
_FILES = """\
Compute metrics of scores, of recommendations or of groups.

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
the truth. --popularity-from is then a table as well. Columns are found by name:
RECS    Columns user, item, and rank or score. Rank orders the rows of a list;
        without it, score does. With neither, the rows must be in order; if
        there are other columns of numbers, give --in-order. Ids are text or
        numbers. Repeated items and items outside the --catalogue are errors,
        see --repeats and --unknown.
TRUTH   Columns user, item and, optionally, rating, 0 = not relevant. Without
        rating, every row is relevant.
If your columns have other names, give them with --user, --item, --rank, --score
and --relevance.

The third form takes one table, without TRUTH, with a row for each item of each
group, such as the queries of a learning-to-rank model:
GROUPS  Columns group, score (higher is better) and relevance (0 = not
        relevant). Ids are any text. If your columns have other names, give
        them with --group, --score and --relevance.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code; errors print one line, not a traceback.

    Without ``argv``, the process is the command, and signals end it at once.
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
        is_file = ("--json", unknown[0]) in pairwise(argv) and not unknown[0].startswith("-")
        hint = f"; to write JSON to a file type: --json > {unknown[0]}" if is_file else ""
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
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
            hint = did_you_mean(typed, re.findall(r"\w+", choices))
            if option == "COMMAND":
                message = f"unknown command {typed!r}; {hint or f'choose from {choices}'}"
            elif hint:
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
        help=(
            "simulate data, train a model with a validation step per epoch, and compare it with "
            "popularity"
        ),
        description=(
            "Simulate implicit feedback, train a matrix factorisation with a validation step after "
            "each epoch, and compare it with popularity on held-out interactions. The learning "
            f"curve is drawn to {DEFAULT_PLOT} in the current folder."
        ),
        allow_abbrev=False,
    )
    parser.set_defaults(run=demo, parser=parser)
    sizes: list[tuple[str, int, int, str]] = [
        ("--users", 3000, 10, "users to simulate"),
        ("--items", 2000, 100, "items in the catalogue"),
        ("--epochs", 10, 1, "epochs of training"),
        ("--factors", 16, 1, "latent factors of the model"),
        ("--seed", 0, 0, "seed of all random draws"),
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
        epilog=f"examples:\n{_EVALUATE_EXAMPLES}",
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
        "truth", type=Path, nargs="?", metavar="TRUTH", help="relevant items; not with GROUPS"
    )
    parser.add_argument(
        *_METRIC_FLAGS,
        dest="metrics",
        type=split_metrics,
        action="extend",
        metavar="METRIC",
        help=(
            "one or more metrics: name, name@k or 'name(option=value)@k'; 'recmetrics metrics' "
            "lists them (default: all accuracy metrics with values in [0, 1] for which higher is "
            f"better, at cutoff {DEFAULT_K})"
        ),
    )
    parser.add_argument(
        "--exclude", type=Path, metavar="TRAIN", help="items that must not be recommended, per user"
    )
    parser.add_argument(
        "--candidates",
        type=Path,
        metavar="FILE",
        help=("the only items that may be recommended, per user"),
    )
    parser.add_argument(
        "--stratum",
        type=_stratum,
        action="append",
        metavar="NAME=FILE",
        help=(
            "a set of items for metrics such as 'recall(of=NAME)@20': in a format of TRUTH, or an "
            ".npy of items for all users; with RECS a table of items; may be repeated"
        ),
    )
    for name, side in SIDE.items():
        flag, metavar = side.option.split()
        parser.add_argument(flag, dest=name, type=Path, metavar=metavar, help=side.help)
    for name, what in (
        ("user", "with RECS: name of the column of users in all tables (default user)"),
        ("item", "with RECS: name of the column of items in all tables (default item)"),
        ("group", "with GROUPS: name of the column of group ids (default group)"),
        (
            "relevance",
            "name of the column of relevances: in GROUPS (default relevance), or, with RECS, in "
            "TRUTH (default rating)",
        ),
    ):
        parser.add_argument(*_flags(name), metavar="COLUMN", help=what)
    parser.add_argument(
        "--include-missing",
        action=argparse.BooleanOptionalAction,
        help=(
            "with RECS: count users of TRUTH without recommendations as empty lists (default), or "
            "leave them out"
        ),
    )
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        *_flags("rank"),
        metavar="COLUMN",
        help="with RECS: name of the column of ranks, 1 is best (default rank)",
    )
    order.add_argument(
        *_flags("score"),
        metavar="COLUMN",
        help="with RECS or GROUPS: name of the column of scores (default score)",
    )
    order.add_argument(
        "--in-order",
        action="store_true",
        help=("with RECS: take the rows of each list in order, best first"),
    )
    parser.add_argument(
        "--rank-gaps",
        choices=get_args(RankGaps),
        help=(
            "with RECS: how to read ranks with gaps: close them to 1, 2, 3, ..., or keep the ranks "
            "as they are (default: as in --convention, else close)"
        ),
    )
    parser.add_argument(
        "--catalogue",
        type=Path,
        metavar="FILE",
        help=(
            "with RECS: a table of all items that may be recommended; auc and metrics of all "
            "lists, such as coverage, need it"
        ),
    )
    for name, items in (
        ("repeats", "repeated items of a list"),
        ("unknown", "items outside the --catalogue"),
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
        help=(
            "value for users or groups without relevant items: nan (left out of the mean), 0, 1, "
            "or an error (default: as in --convention, else nan)"
        ),
    )
    parser.add_argument(
        "--convention",
        type=str.lower,
        choices=get_args(Convention),
        metavar="NAME",
        help="use the metric definitions of another system: %(choices)s",
    )
    parser.add_argument(
        "--nan",
        choices=("raise", "exclude"),
        default="raise",
        help="NaN scores: raise an error, or never recommend the item (default raise)",
    )
    parser.add_argument(
        "--ties",
        choices=get_args(Ties),
        help=(
            "how equal scores rank: by item index; or the mean, worst or best value over all "
            "orders; range: rows for the mean, the least and the greatest value (default: as in "
            "--convention, else index)"
        ),
    )
    parser.add_argument(
        "--chance",
        action="store_true",
        help="also show the means of a random ranking and of the best possible ranking",
    )
    parser.add_argument(
        "--audit",
        action="store_true",
        help=(
            "first report problems of the data, at the largest cutoff of the metrics: NaN, ties at "
            "the cutoff, excluded relevant items, users without truth, ..."
        ),
    )
    parser.add_argument(
        "--threads",
        type=_integer_from(1),
        metavar="N",
        help="number of threads (default: RECMETRICS_NUM_THREADS, or else all cores)",
    )
    parser.add_argument(
        "--per-user",
        type=Path,
        metavar="FILE",
        help="write the values of each user or group to FILE, a .csv or .npz",
    )
    parser.add_argument("--json", action="store_true", help="print JSON in full precision")


def _flags(column: str) -> tuple[str, str]:
    """Give the two spellings of the option that names a column."""
    return f"--{column}", f"--{column}-col"


def _add_compare(commands: _Commands) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare models by their per-user files: is one better?",
        description="Compare models: means, paired differences with intervals, and tests.\n\n"
        "Give one file for each model, written by 'recmetrics evaluate --per-user'. The\n"
        "name of a model is that of its file, or NAME in NAME=FILE. Files with the same\n"
        "NAME are runs of one model, such as seeds.",
        epilog=f"examples:\n{_COMPARE_EXAMPLES}",
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
        help=(
            "run i of each model is on the same data, such as fold i; without it, the runs of each "
            "model are drawn independently"
        ),
    )
    parser.add_argument(
        "--baseline",
        metavar="MODEL",
        help="the model to compare all others with, by name or file (default: all pairs)",
    )
    parser.add_argument(
        "--by",
        type=Path,
        metavar="GROUPS",
        help=(
            "the group of each user, such as a segment; adds the statistics of each group and the "
            "worst group. An .npy, a .csv of user and group, or text with one label per line"
        ),
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="confidence of the intervals; p < 1 - P is significant (default 0.95)",
    )
    parser.add_argument(
        "--test",
        dest="tests",
        action="append",
        choices=get_args(Test),
        help="paired test; may be repeated, the first test decides on significance (default t)",
    )
    parser.add_argument(
        "--correction",
        choices=(*get_args(Correction), "none"),
        default="holm",
        help="correction of the p-values for multiple tests (default holm)",
    )
    parser.add_argument(
        "--seed",
        type=_integer_from(0),
        default=0,
        metavar="N",
        help="seed of the bootstrap (default 0)",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help=("draw the comparison to FILE, a .png, .pdf or .svg"),
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help=(
            "print one table, models by metrics, with letters that mark significance; with "
            "--latex, a table with caption and label"
        ),
    )
    parser.add_argument(
        *_METRIC_FLAGS,
        dest="metrics",
        type=split_metrics,
        action="extend",
        metavar="METRIC",
        help="one or more metrics to show in the compact table (default: all)",
    )
    parser.add_argument(
        "--digits",
        type=_integer_from(0),
        metavar="N",
        help=("number of decimals in the compact table"),
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
        description=(
            "List all metrics, or explain one: its formula, options, bounds and source. For a "
            "metric string such as 'map(denom=hits)@10', the options are filled in, and the "
            "systems with the same definition are listed."
        ),
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
