"""Text on stdout; errors, notes and progress on stderr: the output that people read."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from recmetrics import RecmetricsError
from recmetrics._core.errors import install
from recmetrics._core.jit import while_compiling
from recmetrics._files import as_frame, reason
from recmetrics._printing import printable

_ERASE_LINE = "\r\x1b[K"  # moves to the start of the line, and erases it
INSTALL = install("cli")
_LINE_IS_OPEN = threading.Event()  # set while a line of stdout has begun and not ended

# Patterns of Python code in a message of the library -> what does the same in the command.
_INSTEAD_OF_PYTHON = {
    r"\bMetrics\.compute\(": "recmetrics evaluate SCORES TRUTH",
    r"\bevaluate_table\(": "recmetrics evaluate RECS TRUTH",
    r"\blist\(": "as text: lines 'user item item ...', --lines lists",
    r"(?<!in Python, )\btype (?!Metrics|recmetrics)[^ ;=]*\.(T\b|\w+\()": (
        "run it in Python, and save the array"
    ),
}


# Advice on a table of several models, which the command does not read.
_SEVERAL_LISTS = "give by= the column that distinguishes the lists"


class CommandError(RecmetricsError):
    """A command that cannot be run; the message is the line that the user sees."""


def with_options(message: str, argument: str | None, spellings: Mapping[str, str]) -> str:
    """Write a message of the library for the command, with the options that it is about behind it.

    "give undefined='zero'" becomes "give --undefined zero", and "type metrics=['mrr']" "type -m
    mrr".

    These are the option of the argument at fault, None: unknown, and the options of all keyword
    arguments in the message. ``spellings`` are the options by argument, as a user types them with
    their files. For Python code that the message says to type, what does the same for files is
    added.
    """

    def typed(match: re.Match[str]) -> str:
        name, value = match.groups()
        return f"give {spellings[name]} {value}" if name in spellings else match[0]

    message = re.sub(r"\bgive (\w+)='(\w+)'(?! or )", typed, message)
    if "metrics" in spellings:
        message = re.sub(r"\btype metrics=(\[.*?\])", _typed_metrics, message)
        message = re.sub(r"(?<=, )metrics=(\[.*?\])", _option_of_metrics, message)
    arguments = [argument, *re.findall(r"\b(\w+)=", message)]
    # What is added, each text once, in this order.
    additions = dict.fromkeys(spellings[name] for name in arguments if name in spellings)
    for code, words in _INSTEAD_OF_PYTHON.items():
        if re.search(code, message):
            additions[words] = None
    changes_table = re.search(r"\.(explode|with_columns)\(", message)
    if argument in spellings and argument is not None and changes_table:
        additions[_around_table(argument, spellings[argument])] = None
    if _SEVERAL_LISTS in message and {"recs", "truth"} <= set(spellings):
        message = message.replace(_SEVERAL_LISTS, "give a file of each model")
        additions[_with_column_of_lists(spellings)] = None
    return f"{message} ({'; '.join(additions)})" if additions else message


def _typed_metrics(match: re.Match[str]) -> str:
    """Write what to type for a list of metrics as options."""
    return f"type -m {shlex.join(ast.literal_eval(match[1]))}"


def _option_of_metrics(match: re.Match[str]) -> str:
    """Write a list of metrics, the second of what to type, as options."""
    return f"-m {shlex.join(ast.literal_eval(match[1]))}"


def _with_column_of_lists(spellings: Mapping[str, str]) -> str:
    """Write the Python code that evaluates the files of several models, which the command cannot.

    The columns that are not read are not known here: "model" is the usual one.
    """
    recs, truth = (shlex.split(spellings[name])[-1] for name in ("recs", "truth"))
    return (
        f"in Python, type evaluate_table({recs!r}, {truth!r}, ..., by='model') if the column is "
        "'model'"
    )


def _around_table(argument: str, spelling: str) -> str:
    """Write the Python code that stands before and behind the code that changes a table."""
    path = Path(shlex.split(spelling)[-1])
    new_path = path.with_name(f"rows_of_{path.name.partition('.')[0]}.csv")
    return (
        f"in Python, after {argument} = {as_frame(path)}; then "
        f"{argument}.write_csv({str(new_path)!r}), and give that file"
    )


def show(text: str) -> None:
    """Write text for people to stdout: names from files cannot command a terminal."""
    write(printable(text).rstrip("\n") + "\n")


def write(text: str) -> None:
    """Write ``text`` to stdout, with ? for characters that its encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
        _LINE_IS_OPEN.clear()
        if not text.endswith("\n"):
            _LINE_IS_OPEN.set()
    except OSError as error:
        sys.stdout = None  # its buffer would fail again when Python ends
        if isinstance(error, BrokenPipeError):
            raise
        msg = f"cannot write the output: {reason(error)}"
        raise CommandError(msg) from error


def write_json(document: Mapping[str, Any]) -> None:
    """Write a document to stdout, its numbers in full precision."""
    write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def tell(message: str) -> None:
    """Write an error or a note as one line to stderr."""
    with suppress(OSError):  # stderr may be closed
        sys.stderr.write(f"recmetrics: {printable(' '.join(message.split()))}\n")
        sys.stderr.flush()


def tell_traceback(error: BaseException) -> None:
    """Write the traceback of an error to stderr."""
    with suppress(OSError):  # stderr may be closed
        sys.stderr.write(printable("".join(traceback.format_exception(error))))


def width() -> int | None:
    """The width of the terminal that shows stdout; None where it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fold(text: str) -> str:
    """Fold lines of words to the width of the terminal; text that goes elsewhere is not folded.

    A folded line goes on below its last column, or below the first word of an item.
    """
    columns = width()
    if columns is None:
        return text
    lines: list[str] = []
    for line in text.splitlines():
        # Two blanks stand between columns, and before an item.
        columns_before, gap, _ = line.rpartition("  ")
        n_before = len(columns_before + gap)
        margin = ""
        if gap and not columns_before.strip():  # an item, whose mark has a blank behind it
            margin = " " * (n_before + 2)
        elif n_before <= columns // 2:  # a last column that is not too narrow
            margin = " " * n_before
        folded_lines = textwrap.wrap(
            line, columns, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
        )
        lines += folded_lines or [""]
    return "\n".join(lines)


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a line of progress on stderr if it is a terminal; yield the callback that moves it."""
    if not _erases_lines():
        yield None
        return

    _draw_progress(f"{title} ...")
    try:
        yield lambda done, total: _draw_progress(f"{title} {done:,} of {total:,}")
    finally:
        _draw_progress("")


def _erases_lines() -> bool:
    """Say whether stderr is a terminal that can erase a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _draw_progress(line: str) -> None:
    """Replace the line of progress by ``line``; "" erases it."""
    sys.stderr.write(_ERASE_LINE + line)
    sys.stderr.flush()


_LONG_COMPILATION = 1.0  # seconds, after which a user is told
_COMPILES = "compiling metrics for this machine; later runs reuse them"


@contextmanager
def telling_of_compilation() -> Iterator[None]:
    """Say on stderr that a kernel is compiled where that takes long.

    A terminal shows for how long, in a line that is erased at the end. Elsewhere it is said once.
    """
    # The watch over the compilation that runs, and what ends it; Numba runs one at a time.
    watches: list[tuple[threading.Thread, threading.Event]] = []
    has_told = threading.Event()

    def watch(has_ended: threading.Event) -> None:
        """Tell of the compilation, each second anew, until it has ended."""
        n_seconds = 0
        while not has_ended.wait(_LONG_COMPILATION):
            n_seconds += 1
            if _erases_lines():
                _end_line()
                _draw_progress(f"{_COMPILES}: {n_seconds} s")
            elif not has_told.is_set():
                has_told.set()
                tell(_COMPILES)
        if n_seconds and _erases_lines():
            _draw_progress("")

    def report(begins: bool) -> None:
        """Start to watch where a compilation begins, and stop where one ends."""
        if begins:
            has_ended = threading.Event()
            thread = threading.Thread(target=watch, args=(has_ended,), daemon=True)
            watches.append((thread, has_ended))
            try:
                thread.start()
            except RuntimeError:  # the system starts no more threads: nothing is told
                watches.pop()
        elif watches:
            thread, has_ended = watches.pop()
            has_ended.set()
            thread.join()  # so that it erases nothing that is written next

    with while_compiling(report):
        yield


def _end_line() -> None:
    """End a line of stdout that has begun, so that what stands in it is not erased."""
    if _LINE_IS_OPEN.is_set():
        _LINE_IS_OPEN.clear()
        sys.stderr.write("\n")
