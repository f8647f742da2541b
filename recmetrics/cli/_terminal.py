"""The output of the command: text and tables on stdout, errors, notes and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, Protocol, TextIO

from recmetrics._extras import install
from recmetrics._jit import while_compiling
from recmetrics._printable import printable
from recmetrics.cli._failures import CommandError, reason

if TYPE_CHECKING:
    from rich.console import RenderableType

INSTALL = install("cli")
# Without the width of a terminal, no line is cut or wrapped.
_UNBOUNDED = 100_000


class OnProgress(Protocol):
    """A callback for the amount of work done, and maybe a note on the work."""

    def __call__(self, done: int, total: int, note: str = ...) -> None: ...


def require_rich() -> None:
    """Refuse to start work whose table cannot be drawn."""
    try:
        import rich  # noqa: F401
    except ImportError as error:
        msg = f"the command needs the package rich, as in the extra cli; type: {INSTALL}"
        raise CommandError(msg) from error


def show(*renderables: RenderableType) -> None:
    """Write text and tables to stdout: for the terminal's width, or plain and whole in a pipe."""
    from rich.console import Console

    stdout = require_stdout()
    terminal = stdout.isatty()
    # Drawn into memory first: where stdout fails, rich would end the program in its own way.
    drawn = BytesIO()
    encoding = stdout.encoding or "utf-8"  # text kept in memory has none
    console = Console(
        file=TextIOWrapper(drawn, encoding=encoding, errors="replace", newline="\n"),
        force_terminal=terminal,
        width=None if terminal else _UNBOUNDED,
        no_color=None if terminal else True,
        # Names and citations hold brackets and colons: nothing in them is markup.
        markup=False,
        emoji=False,
        highlight=False,
    )
    for renderable in renderables:
        console.print(printable(renderable) if isinstance(renderable, str) else renderable)
    console.file.flush()
    text = drawn.getvalue().decode(encoding)
    if not terminal:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    write(text)


def write(text: str) -> None:
    """Write ``text`` to stdout, with ? for characters that its encoding lacks."""
    stdout = require_stdout()
    encoding = stdout.encoding or "utf-8"
    try:
        stdout.write(text.encode(encoding, "replace").decode(encoding))
        stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        msg = f"cannot write the output: {reason(error)}"
        raise CommandError(msg) from error


def tell(message: str) -> None:
    """Write an error or a note as one line to stderr."""
    with suppress(OSError, AttributeError):  # stderr may be closed or gone
        sys.stderr.write(f"recmetrics: {printable(' '.join(message.split()))}\n")
        sys.stderr.flush()


def discard_stdout() -> None:
    """Discard the buffer of stdout: the interpreter would fail on it when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def require_stdout() -> TextIO:
    """Give stdout, or refuse to run where a shell has closed it."""
    if sys.stdout is None:
        msg = "standard output is closed; redirect it to a file or to /dev/null"
        raise CommandError(msg)
    return sys.stdout


@contextmanager
def quiet() -> Iterator[None]:
    """Keep libraries in other languages from writing to stderr beside the one line of the error."""
    try:
        kept = os.dup(2)
    except OSError:  # pragma: no cover - closed; coverage opens its file in that place
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def progress(title: str) -> Iterator[OnProgress | None]:
    """Show a bar on stderr if it is a terminal; yield the callback for ``Metrics.compute``."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def on_progress(done: int, total: int, note: str = title) -> None:
            bar.update(task, completed=done, total=total, description=note)

        def tell(compiling: bool) -> None:
            bar.update(task, description="compiling" if compiling else title)

        with while_compiling(tell):
            yield on_progress
