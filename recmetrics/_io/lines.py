"""Lines and rows of text files: UTF-8, of bounded length, and every error with its line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import BufferedReader

_LONGEST = 1 << 20  # characters; a longer line is a file without line ends


class LineError(ValueError):
    """A fault of one line of a text file."""

    def __init__(self, line: int, message: object) -> None:
        """Store the line, counted from 1, and the message."""
        super().__init__(str(message))
        self.line = line


def read_lines(file: BufferedReader, *, newline: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; bytes that are not text are kept, for ``refuse_bytes``."""
    text = TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline=newline)
    number = 0
    try:
        while line := text.readline(_LONGEST):
            number += 1
            if len(line) == _LONGEST:
                raise LineError(number, f"it is longer than {_LONGEST:,} characters")
            yield number, line
    finally:
        with suppress(ValueError):  # the caller closes the file, maybe before this
            text.detach()


def read_rows(file: BufferedReader, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with the number of its first line.

    All rows must be as long as the first. Empty lines are left out.
    """
    lines = read_lines(file, newline="")
    first = last = 0

    def texts() -> Iterator[str]:
        nonlocal last
        for number, line in lines:
            last = number
            refuse_bytes(line)
            yield line

    rows = csv.reader(texts(), delimiter=separator, strict=True)
    length = 0
    while True:
        first = last + 1
        try:
            cells = next(rows, None)
        except LineError:
            raise
        except (ValueError, csv.Error) as error:
            raise LineError(first, error) from None
        if cells is None:
            return
        length = length or len(cells)
        if cells and len(cells) != length:
            raise LineError(first, f"{len(cells)} fields; expected {length}, as in the header")
        if cells:
            yield first, cells


def refuse_bytes(text: str) -> None:
    """Raise a ValueError where ``text`` holds a NUL or bytes other than UTF-8."""
    if text.isascii() and "\0" not in text:
        return
    found = re.search("[\0\udc80-\udcff]", text)
    if found is not None:
        msg = f"byte 0x{ord(found[0]) & 0xFF:02x} is not text; save the file as UTF-8"
        raise ValueError(msg)


def read_number(text: str) -> float:
    """Read a number; ``float`` alone would also read 1_0 and digits of other scripts."""
    if "_" in text or not text.isascii():
        msg = f"{text[:40]!r} is not a number"
        raise ValueError(msg)
    return float(text)
