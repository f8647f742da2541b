"""Ctrl-C ends the command at once, whatever it is doing."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

EXIT_CODE = 130
_CLEAN_LINE = b"\r\x1b[K\x1b[?25h"  # back to its start, erase it, show the cursor

unfinished: set[Path] = set()
"""Files to remove when the command ends before its time."""


def end_at_once_on_ctrl_c() -> None:
    """Let SIGINT end the process with exit code 130 and nothing said.

    A KeyboardInterrupt would first wait for threads that compile a kernel, seconds each, and is
    lost where it meets the compiler's callbacks.
    """
    # A shell has commands in the background ignore Ctrl-C: they go on doing so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> NoReturn:
    for path in unfinished:
        with suppress(OSError):
            path.unlink()
    with suppress(OSError, ValueError, AttributeError):  # stderr may be closed or gone
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _CLEAN_LINE)
    os._exit(EXIT_CODE)
