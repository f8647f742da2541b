"""Users and their items: matrices, or text: triples, lists of items, TREC's qrels and runs.

The form of a text is that of the file, not of the line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from recmetrics._core.errors import InputError
from recmetrics._core.types import IntArray
from recmetrics._files.source import (
    NPY,
    ZIP,
    Source,
    at_line,
    read_array,
    read_number,
    reading,
    refuse_other_formats,
    start,
)

Lines: TypeAlias = Literal["triples", "lists"]
"""The two forms that a file may leave open."""
Form: TypeAlias = Literal["triples", "lists", "qrels", "run"]

_MATRIX = (
    "a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]' or 'user item item ...'"
)
_LINE = "'user item', 'user item relevance' or 'user item item ...' with 0-based indices"
_COLUMNS = "for other columns, give tables with a header: recmetrics evaluate RECS TRUTH"
_QRELS = "'query 0 item relevance' in every line of TREC's qrels"


def read_user_items(
    source: Source, shape: tuple[int, int], lines: Lines | None = None, *, graded: bool = False
) -> Any:
    """Read relevances (``graded``) or a set of items per user (not), of the scores' shape.

    In text, ``lines`` is the form of a file that leaves it open. Relevance is 1 where a line gives
    none, and no pair may stand twice. Of a set, every pair belongs to it, whatever its relevance.
    """
    first_bytes = start(source, _MATRIX, of_text=True)
    if source.path.suffix.lower() in (".npy", ".npz") or first_bytes.startswith((NPY, ZIP)):
        return read_array(source, _MATRIX)
    if first_bytes:
        refuse_other_formats(source, first_bytes, _MATRIX)
    return _read_text(source, shape, lines, graded=graded)


def _read_text(
    source: Source, shape: tuple[int, int], lines: Lines | None, *, graded: bool
) -> sparse.csr_array:
    entries = _Entries(shape, graded)
    with reading(source, _LINE):
        _refuse_header(source)
        form = _form_of(source, lines)
        for number, fields in _rows(source):
            try:
                if form == "lists":
                    entries.add_list(number, fields)
                elif form == "triples":
                    entries.add_triple(number, fields)
                else:
                    entries.add_trec(number, fields, form)
            except ValueError as error:
                raise at_line(source, number, error) from None
        if graded and not entries.users:
            msg = "it holds no line"
            raise ValueError(msg)

    pairs = np.array(entries.users, dtype=np.int64), np.array(entries.items, dtype=np.int64)
    if graded:
        _refuse_repeats(source, pairs, np.array(entries.numbers))
    relevances = np.array(entries.relevances) if entries.relevances else np.ones(len(pairs[0]))
    return sparse.csr_array((relevances, pairs), shape=shape)


class _Entries:
    """Pairs of user and item, and the lines that they are on; relevances where there are any."""

    def __init__(self, shape: tuple[int, int], graded: bool) -> None:
        self.shape = shape
        self.graded = graded
        self.users = array("q")
        self.items = array("q")
        self.numbers = array("q")
        self.relevances = array("d")
        self.line_of: dict[int, int] = {}  # of each user in lists

    def add_list(self, number: int, fields: list[str]) -> None:
        user = _index("user", fields[0], self.shape[0])
        items = [_index("item", field, self.shape[1]) for field in fields[1:]]
        line = self.line_of.setdefault(user, number)
        if line != number and len(items) > 1:
            msg = (
                f"user {user} is already on line {line}; in lists every user has one line: join "
                "them, or type --lines triples for 'user item relevance'"
            )
            raise ValueError(msg)
        self.users.extend([user] * len(items))
        self.items.extend(items)
        self.numbers.extend([number] * len(items))

    def add_triple(self, number: int, fields: list[str]) -> None:
        if not 2 <= len(fields) <= 3:
            msg = (
                f"{_counted(fields)}; expected {_LINE}; in lists every user has one line; "
                f"{_COLUMNS}"
            )
            raise ValueError(msg)
        self._add(number, fields, least=0)

    def add_trec(self, number: int, fields: list[str], form: Form) -> None:
        if form == "run":
            if self.graded:
                msg = f"a TREC run, which has no relevances; expected {_QRELS}, or {_LINE}"
                raise ValueError(msg)
            if len(fields) != 6:
                msg = f"{_counted(fields)}; expected the 6 of a TREC run, as in the first line"
                raise ValueError(msg)
        elif len(fields) != 4 or fields[1] not in ("0", "Q0"):
            msg = f"got {' '.join(fields)[:60]!r}; expected {_QRELS}; {_COLUMNS}"
            raise ValueError(msg)
        # A negative label of TREC is for the convention to read.
        self._add(number, [fields[0], *fields[2:4]], least=-math.inf)

    def _add(self, number: int, fields: list[str], least: float) -> None:
        self.users.append(_index("user", fields[0], self.shape[0]))
        self.items.append(_index("item", fields[1], self.shape[1]))
        self.numbers.append(number)
        if self.graded:
            self.relevances.append(_relevance(fields[2], least) if len(fields) > 2 else 1.0)


def _refuse_repeats(source: Source, pairs: tuple[IntArray, IntArray], numbers: IntArray) -> None:
    """Refuse a pair that stands twice, at the second of its lines."""
    users, items = pairs
    order = np.lexsort((items, users))  # equal pairs stay in the order of the file
    is_repeat = (np.diff(users[order]) == 0) & (np.diff(items[order]) == 0)
    if is_repeat.any():
        repeats = order[1:][is_repeat]
        place = repeats.min()
        before = order[:-1][is_repeat][repeats.argmin()]
        text = f"user {users[place]}, item {items[place]} is already on line {numbers[before]}"
        raise at_line(source, numbers[place], f"{text}; give every pair once")


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Give the number and the fields of each line that is not empty."""
    # A comment may hold any byte.
    with source.open_text(errors="surrogateescape") as file:
        for number, line in enumerate(file, start=1):
            body = line.partition("#")[0]
            fields = body.split()
            if "," in body:
                fields = [field.strip() for field in body.split(",")]
            if any(fields):
                yield number, fields


def _refuse_header(source: Source) -> None:
    """Refuse a line of words above a line of indices."""
    rows = list(islice(_rows(source), 2))
    if len(rows) < 2:
        return
    (number, header), (_, fields) = rows
    if all(name[:1].isalpha() for name in header) and _are_integers(fields[:2]):
        msg = f"a header, {' '.join(header)[:60]!r}; put # before it"
        raise at_line(source, number, msg)


class _Survey(NamedTuple):
    """The lines of a file that may be one of lists, up to the first that is none of a list."""

    first: list[str]  # the fields of the first line
    widths: set[int]  # the numbers of fields
    second_fields: set[str]
    are_lists: bool  # every user has one line, of integers from the second field on


def _survey(source: Source) -> _Survey:
    first: list[str] = []
    widths: set[int] = set()
    second_fields: set[str] = set()
    users: set[str] = set()
    for _, fields in _rows(source):
        first = first or fields
        if fields[0] in users or not _are_integers(fields[1:]):
            return _Survey(first, widths, second_fields, are_lists=False)
        users.add(fields[0])
        widths.add(len(fields))
        second_fields.update(fields[1:2])
    return _Survey(first, widths, second_fields, are_lists=True)


def _form_of(source: Source, lines: Lines | None) -> Form:
    """Tell the form of a file by all of its lines, as far as it may be one of lists."""
    first, widths, second_fields, are_lists = _survey(source)
    if first[1:2] == ["Q0"] and len(first) in (4, 6):
        return "qrels" if len(first) == 4 else "run"
    is_qrels = len(first) == 4 and first[1] == "0"
    if are_lists and (len(widths) > 1 or len(second_fields) > 1):
        is_qrels = False
    if lines == "lists":
        return "lists"
    if is_qrels:
        return "qrels"
    if lines == "triples" or not are_lists or widths <= {1} or widths == {2}:
        return "triples"

    if widths <= {2, 3}:
        msg = (
            f"{source} has a line for each user, of 2 or 3 numbers: user item relevance, or user "
            "and items? type --lines triples or --lines lists"
        )
        raise InputError(msg)
    if len(widths) == 1:
        msg = (
            f"{source} has a line for each user, of {len(first)} numbers each; expected {_LINE}; "
            f"for a user and items type --lines lists; {_COLUMNS}"
        )
        raise InputError(msg)
    return "lists"


def _are_integers(fields: list[str]) -> bool:
    digits = "".join(fields).replace("-", "")
    return digits.isascii() and (digits.isdecimal() or not digits)


def _counted(fields: list[str]) -> str:
    return f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}"


def _relevance(field: str, least: float) -> float:
    try:
        value = read_number(field)
    except ValueError:
        msg = f"cannot read {field[:40]!r} as relevance; expected {_LINE}"
        raise ValueError(msg) from None
    if not (math.isfinite(value) and value >= least):
        msg = f"relevance {value:g}; expected a finite number >= 0"
        raise ValueError(msg)
    return value


def _index(name: str, field: str, size: int) -> int:
    if not (field.isascii() and field.removeprefix("-").isdecimal()):
        msg = f"cannot read {field[:40]!r} as {name}; expected {_LINE}"
        if field[:1].isalpha():
            msg += "; for ids of text, give tables with a header: recmetrics evaluate RECS TRUTH"
        raise ValueError(msg)
    index = int(field)
    if not 0 <= index < size:
        msg = f"{name} {field[:40]} is not in the scores; expected 0 to {size - 1}"
        raise ValueError(msg)
    return index
