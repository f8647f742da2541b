"""Ctrl-C and other signals end the command at once, during any work."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from recmetrics.cli._named import first_changed

EXIT_CODE = 128 + signal.SIGINT  # the shell's code of a program that a signal ended
_CLEAN_LINE = b"\r\x1b[K\x1b[?25h"  # go to its start, erase it, show the cursor
_FROM_C = ctypes.CFUNCTYPE(None, ctypes.c_int)

unfinished: set[Path] = set()
"""Files to remove when the command ends early."""


@contextmanager
def signals_handled() -> Iterator[None]:
    """Let signals end the process at once, without unfinished files; restore the handlers after.

    Ctrl-C, SIGTERM and a closing terminal give 128 + the signal, without a message. A
    KeyboardInterrupt would first wait for threads that compile a kernel, seconds each, and would be
    lost in the callbacks of the compiler.
    """
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A signal that is ignored stays so: a shell lets commands in the background ignore
        # Ctrl-C, nohup the end of the terminal.
        if number is not None and signal.getsignal(number) in (
            signal.default_int_handler,
            signal.SIG_DFL,
        ):
            with suppress(ValueError):  # only the main thread may set them
                before[number] = signal.signal(number, _end)
    lost_page = _handle_lost_page(_ON_LOST_PAGE)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _handle_lost_page(lost_page)


def _handle_lost_page(handler: Any) -> Any:
    """Set the handler of SIGBUS, and give the one before.

    Not by signal.signal: Python's handlers run after the instruction that failed, which fails
    again. This one is called at once, in the thread that reads.
    """
    if not hasattr(signal, "SIGBUS"):  # pragma: no cover - Windows has none
        return None
    set_handler = ctypes.CDLL(None).signal
    set_handler.argtypes, set_handler.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    return set_handler(signal.SIGBUS, handler)


def _end(number: int, _frame: object) -> NoReturn:
    _remove_unfinished()
    with suppress(OSError, ValueError, AttributeError):  # stderr may be closed or gone
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _CLEAN_LINE)
    os._exit(128 + number)


def _lost_page(_number: int) -> NoReturn:
    """End the process: a page of a mapped file is gone. The file was cut, or its disk fails."""
    _remove_unfinished()
    source = first_changed()
    found = "a file could not be read: its disk fails, or it is gone"
    if source is not None:  # pragma: no branch - no test has a failing disk
        found = (
            f"{source} was cut while it was read; wait until it is completely written, then try "
            "again"
        )
    with suppress(OSError, ValueError, AttributeError):
        clean = _CLEAN_LINE if sys.stderr.isatty() else b""
        os.write(sys.stderr.fileno(), clean + f"recmetrics: error: {found}\n".encode())
    os._exit(2)


_ON_LOST_PAGE = _FROM_C(_lost_page)  # kept here: C holds no Python reference to it


def _remove_unfinished() -> None:
    for path in unfinished:
        with suppress(OSError):
            path.unlink()
