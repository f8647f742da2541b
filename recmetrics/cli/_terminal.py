"""Text on stdout; errors, notes and progress on stderr: the output that people read."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from recmetrics import RecmetricsError
from recmetrics._core.errors import install
from recmetrics._files import reason
from recmetrics._printing import printable
from recmetrics.cli._arguments import FLAGS, WITH_FILE

_CLEAN = "\r\x1b[K"  # to the start of the line, which is erased
INSTALL = install("cli")
_NAMES = "|".join(FLAGS)
_VALUES = "undefined|nan|ties|rank_gaps|repeats|unknown|score|rank|baseline|model"
_OF_FILES = "|".join(WITH_FILE)


class CommandError(RecmetricsError):
    """A command that cannot be run; the message is the line that the user sees."""


@contextmanager
def naming(sources: Mapping[str, object]) -> Iterator[None]:
    """Replace the argument's name, with which errors of the library begin, by its file."""
    try:
        yield
    except RecmetricsError as error:
        raise CommandError(with_files(str(error), sources)) from error


def with_files(message: str, sources: Mapping[str, object]) -> str:
    """Turn the argument's name, with which a message begins, into its file."""
    found = re.match(r"\w+(\['[\w.-]+'\])?", message)
    if found is None or found[0] not in sources:
        return message
    return f"{sources[found[0]]}{re.sub('^ hold ', ' holds ', message[found.end() :])}"


def with_options(message: str) -> str:
    """Turn keyword arguments in a message into options of the command."""
    message = re.sub(rf"^({_NAMES})(?= must )", lambda found: FLAGS[found[1]], message)
    # strata={'tail': items}, popularity=recmetrics.popularity_from(train)
    message = re.sub(r"strata=\{'([\w.-]+)': \w+\}", r"--stratum \1=FILE", message)
    message = re.sub(rf"; type ({_OF_FILES})=.*$", "; see 'recmetrics evaluate --help'", message)
    # genres= (1 if the item has the genre, (n_items, g))
    form = r" \([^()]*(\([^()]*\)[^()]*)*\)"
    message = re.sub(rf"\b({_NAMES})={form}", lambda found: WITH_FILE[found[1]], message)
    message = re.sub(rf"\b({_NAMES})=((?=[ ,;:]|$)|True\b)", lambda found: FLAGS[found[1]], message)
    message = re.sub(  # metrics=['ndcg@10', 'mrr']
        r"\bmetrics=\[(.*?)\]", lambda found: "-m " + found[1].replace("', '", "' '"), message
    )
    return re.sub(
        rf"""\b({_VALUES})=(["'])(.*?)\2""",
        lambda found: f"{FLAGS[found[1]]} {shlex.quote(found[3])}",
        message,
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
    with suppress(OSError):  # stderr may be closed
        sys.stderr.write(printable("".join(traceback.format_exception(error))))


def width() -> int | None:
    """The width of the terminal that shows stdout; None where it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fold(text: str) -> str:
    """Fold lines of words to the width of the terminal, below their last column or first word."""
    columns = width()
    if columns is None:
        return text
    lines: list[str] = []
    for line in text.splitlines():
        # Two blanks stand between columns, and before an item.
        columns_before, gap, _ = line.rpartition("  ")
        n_before = len(columns_before + gap)
        margin = ""
        if gap and not columns_before.strip():
            margin = " " * (n_before + 2)
        elif n_before <= columns // 2:
            margin = " " * n_before
        parts = textwrap.wrap(
            line, columns, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
        )
        lines += parts or [""]
    return "\n".join(lines)


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a line of progress on stderr if it is a terminal; yield the callback that moves it."""
    if not sys.stderr.isatty():
        yield None
        return

    def draw(line: str) -> None:
        sys.stderr.write(_CLEAN + line)
        sys.stderr.flush()

    draw(f"{title} ...")
    try:
        yield lambda done, total: draw(f"{title} {done:,} of {total:,}")
    finally:
        draw("")
