"""Arguments and exit codes of ``recmetrics``.

0 done, 1 a gate failed, 2 bad input, 3 the verdict of a gate is open, 130 Ctrl-C, 141 closed pipe.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from recmetrics import RecmetricsError, __version__
from recmetrics._errors import did_you_mean
from recmetrics._io import reason
from recmetrics.cli._arguments import (
    AUDIT_TIMES,
    COMPARE,
    DEMO,
    EVALUATE,
    IDENTIFY,
    METRICS_PAGES,
    Row,
)
from recmetrics.cli._compare_files import compare_files
from recmetrics.cli._demo import demo
from recmetrics.cli._metric_pages import metric_pages
from recmetrics.cli._pipeline import evaluate, identify_files
from recmetrics.cli._tables import audit_time_files
from recmetrics.cli._terminal import CommandError, tell, with_options, write

_SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet")
_EVALUATE = """\
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
TRUTH   Columns user, item and, optionally, relevance or rating, 0 = not
        relevant. Without it, every row is relevant.
If your columns have other names, give them with --user, --item, --rank, --score
and --relevance.

The third form takes one table, without TRUTH, with a row for each item of each
group, such as the queries of a learning-to-rank model:
GROUPS  Columns group, score (higher is better) and relevance (0 = not
        relevant). Ids are any text. If your columns have other names, give
        them with --group, --score and --relevance.

-m takes every word up to the next option, so the files come first, or after --.
"""
_COMPARE = """\
Compare models: means, paired differences with intervals, and tests.

Give one file for each model, written by 'recmetrics evaluate --per-user'. The
name of a model is that of its file, or NAME in NAME=FILE. Files with the same
NAME are runs of one model, such as seeds. Or give one table of all models, with
--model. -m takes every word up to the next option, so the files come first, or
after --.

--gate gives a verdict by the exit status: 0 passed, 1 failed, 3 open; an error
is 2. With several candidates, one that passes is enough.
"""
_IDENTIFY = """\
Find the definitions of a metric, and the systems that use them, that give a
number. SCORES and TRUTH, or RECS and TRUTH, are those of 'recmetrics evaluate'.
"""
_AUDIT_TIMES = """\
Look for rows of a split that were not known at the time of the test. TRAIN and
TRUTH are tables (.csv, .tsv or .parquet) with the columns user, item and time.
Times are numbers, or dates such as 2020-01-31 or 2020-01-31T12:00:00.
"""
_DEMO = """\
Simulate implicit feedback, train a matrix factorisation with a validation step
after each epoch, and compare it with popularity on held-out interactions. The
learning curve is drawn to a picture in the current folder.
"""
_METRICS = """\
List all metrics, or explain one: its formula, options, bounds and source. For a
metric string such as 'map(denom=hits)@10', the options are filled in, and the
systems with the same definition are listed.
"""
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
  recmetrics compare old.npz new.npz --baseline old --gate 'ndcg@10 >= -1%'
  recmetrics compare values.csv --model model --movers 5
"""


class _Command(NamedTuple):
    """A command: the function that runs it, its words, its options, its files as (names, help)."""

    run: Callable[[argparse.Namespace], int | None]
    summary: str
    description: str
    rows: Sequence[Row]
    files: tuple[str, str, int] = ("", "", 0)  # names, help, how many at most
    examples: str = ""


_COMMANDS = {
    "demo": _Command(
        demo,
        "simulate data, train a model with a validation step per epoch, and compare it with "
        "popularity",
        _DEMO,
        DEMO,
    ),
    "evaluate": _Command(
        evaluate,
        "compute metrics of a file of scores, recommendations or groups",
        _EVALUATE,
        EVALUATE,
        ("SCORES TRUTH", "predicted scores and truth, RECS and TRUTH, or GROUPS alone", 2),
        _EVALUATE_EXAMPLES,
    ),
    "compare": _Command(
        compare_files,
        "compare models by their per-user files: is one better?",
        _COMPARE,
        COMPARE,
        ("[NAME=]FILE", "per-user values, .npz or .csv", 1_000),
        _COMPARE_EXAMPLES,
    ),
    "identify": _Command(
        identify_files,
        "find the definition of a metric that gave a number",
        _IDENTIFY,
        IDENTIFY,
        ("SCORES TRUTH", "predicted scores and truth, or RECS and TRUTH", 2),
        "  recmetrics identify scores.npy test.npz --value 0.0932 -m ndcg@10 \\\n"
        "      --exclude train.npz\n",
    ),
    "audit-times": _Command(
        audit_time_files,
        "look for rows of a split that were not known at the time of the test",
        _AUDIT_TIMES,
        AUDIT_TIMES,
        ("TRAIN TRUTH", "tables of the training set and of the test set", 2),
        "  recmetrics audit-times train.csv test.csv --time timestamp\n",
    ),
    "metrics": _Command(
        metric_pages,
        "list the metrics, or explain one",
        _METRICS,
        METRICS_PAGES,
        ("NAME", "a metric, such as ndcg or 'map(denom=hits)@10'", 1),
        "  recmetrics metrics\n  recmetrics metrics ndcg\n",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code; errors print one line, not a traceback."""
    argv = sys.argv[1:] if argv is None else list(argv)
    name, *words = argv or [""]
    try:
        if name not in _COMMANDS:
            _refuse(name, argv)
        return _COMMANDS[name].run(_read(name, words)) or 0
    except SystemExit as leaving:  # --help and --version
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return 130  # the shell's code of a program that Ctrl-C ended
    except BrokenPipeError:
        return 141  # the shell's code of a program that a closed pipe ended
    except RecmetricsError as error:
        tell(f"error: {with_options(str(error))}")
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


def _parser(name: str, description: str, examples: str, **more: Any) -> _Parser:
    return _Parser(
        prog=name,
        description=description,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )


def _refuse(name: str, argv: Sequence[str]) -> None:
    """Show the help or the version, or refuse a word that is no command."""
    commands = "\n".join(f"  {each:<13}{it.summary}" for each, it in _COMMANDS.items())
    described = f"Ranking metrics for recommender systems, per user.\n\ncommands:\n{commands}"
    examples = f"  recmetrics demo\n{_EVALUATE_EXAMPLES}{_COMPARE_EXAMPLES}"
    examples += _COMMANDS["metrics"].examples
    parser = _parser("recmetrics", described, examples, usage="recmetrics [options] COMMAND ...")
    parser.add_argument("--version", action="version", version=f"recmetrics {__version__}")
    if name.startswith("-"):
        parser.parse_args(argv)
    if not name or name.startswith("-"):
        parser.error(f"expected a command: {', '.join(_COMMANDS)}")
    hint = did_you_mean(name, _COMMANDS) or f"choose from {', '.join(_COMMANDS)}"
    parser.error(f"unknown command {name!r}; {hint}")


def _read(name: str, words: Sequence[str]) -> argparse.Namespace:
    """Read the words behind a command."""
    command = _COMMANDS[name]
    names, meaning, most = command.files
    parser = _parser(f"recmetrics {name}", command.description, command.examples)
    if names:
        parser.add_argument("files", nargs="*", metavar=names, help=meaning)
    groups: dict[str, Any] = {"": parser}
    for row in command.rows:
        if row.instead_of not in groups:
            groups[row.instead_of] = parser.add_mutually_exclusive_group()
        settings = {"help": row.help, **row.settings}
        groups[row.instead_of].add_argument(*row.flags.split(), **settings)
    args, others = parser.parse_known_args(words)
    if unknown := [word for word in others if word.startswith("-")]:
        flag, options = unknown[0].partition("=")[0], " ".join(row.flags for row in command.rows)
        hint = did_you_mean(flag, options.split())
        parser.error(f"unknown option {flag!r}{hint and f'; {hint}'}")
    args.files = [*getattr(args, "files", []), *others]  # some stand behind an option
    _refuse_files_among_metrics(name, args)
    if len(args.files) > most:
        more = args.files[most]
        hint = f"; to write JSON to a file type: --json > {more}" if "--json" in words else ""
        parser.error(f"unexpected word {more!r} behind {names or name}{hint}")
    return args


def _refuse_files_among_metrics(name: str, args: argparse.Namespace) -> None:
    """Refuse the files of ``-m ndcg@10 scores.npy truth.npz``."""
    metrics = [metric for several in getattr(args, "metrics", None) or [] for metric in several]
    files = [word for word in metrics if Path(word).suffix.lower() in _SUFFIXES]
    if files:
        msg = (
            f"-m takes every word up to the next option, and {files[0]!r} is no metric; give the "
            f"files first: recmetrics {name} {' '.join([*args.files, *files])} -m METRIC, or after "
            "--"
        )
        raise CommandError(msg)
    if metrics:
        args.metrics = metrics
