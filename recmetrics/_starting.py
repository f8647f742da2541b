"""Ctrl-C while the command is imported, before it can handle signals itself.

Importing NumPy and Numba takes the first second of the command. The handler is set only if the
process is the command: a program that imports the library gets its KeyboardInterrupt.
"""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

_NAMES = ("recmetrics", "recmetrics.exe", "recmetrics-script.py")


def is_command(argv: Sequence[str], orig_argv: Sequence[str], executable: str) -> bool:
    """Say whether a process runs ``python -m recmetrics`` or the script ``recmetrics``."""
    if argv[:1] == ["-m"]:  # while the package is imported; later it is the path of a file
        return ("-m", "recmetrics") in pairwise(orig_argv)
    script = Path(argv[0] if argv else "").resolve()
    return script.name in _NAMES and script.parent == Path(executable).parent.resolve()


def end(_number: int, _frame: object) -> None:
    """End the process without a message, with the exit code that shells use for Ctrl-C."""
    os._exit(128 + signal.SIGINT)


# A command that a shell has set to ignore Ctrl-C goes on ignoring it.
_catches = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _catches and is_command(sys.argv, sys.orig_argv, sys.executable):
    with suppress(ValueError):  # only the main thread may set it
        signal.signal(signal.SIGINT, end)
