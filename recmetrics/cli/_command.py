"""Arguments and exit codes of ``recmetrics``.

0 done, 1 a gate failed, 2 bad input, 3 the verdict of a gate is open, 130 Ctrl-C, 141 closed pipe.
"""

from __future__ import annotations

import argparse
import inspect
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


class _Command(NamedTuple):
    """A command: the function that runs it, whose docstring is its help; its options; its files."""

    run: Callable[[argparse.Namespace], int | None]
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


def _parser(name: str, description: str, **more: Any) -> _Parser:
    described, _, examples = inspect.cleandoc(description).partition("\nFor example:\n")
    return _Parser(
        prog=name,
        description=described,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )


def _refuse(name: str, argv: Sequence[str]) -> None:
    summaries = {each: (it.run.__doc__ or "").partition("\n")[0] for each, it in _COMMANDS.items()}
    commands = "\n".join(f"  {each:<13}{summary}" for each, summary in summaries.items())
    described = f"Ranking metrics for recommender systems, per user.\n\ncommands:\n{commands}\n\n"
    described += "for the options of a command, and examples: recmetrics COMMAND --help"
    parser = _parser("recmetrics", described, usage="recmetrics [options] COMMAND ...")
    parser.add_argument("--version", action="version", version=f"recmetrics {__version__}")
    if name.startswith("-"):
        parser.parse_args(argv)
    if not name or name.startswith("-"):
        parser.error(f"expected a command: {', '.join(_COMMANDS)}")
    hint = did_you_mean(name, _COMMANDS) or f"choose from {', '.join(_COMMANDS)}"
    parser.error(f"unknown command {name!r}; {hint}")


def _read(name: str, words: Sequence[str]) -> argparse.Namespace:
    command = _COMMANDS[name]
    names, meaning, most = command.files
    parser = _parser(f"recmetrics {name}", command.run.__doc__ or "")
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
