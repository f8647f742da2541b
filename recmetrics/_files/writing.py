"""Files that are written completely or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from recmetrics._core.errors import InputError
from recmetrics._files.source import reason


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once it is complete.

    The file is written in the same folder under another name, and removed after a failure.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    temporary = target.with_name(f".recmetrics-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        with suppress(OSError):  # keeps the permissions of the older file
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        msg = f"cannot write {str(path)!r}: {reason(error)}; choose another file"
        raise InputError(msg) from error
    finally:
        temporary.unlink(missing_ok=True)
