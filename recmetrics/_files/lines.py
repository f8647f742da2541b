"""Users and their items: matrices, or text: triples, lists of items, TREC's qrels and runs.

The form of a text is that of the file, not of the line: all its lines are triples 'user item
relevance', lists 'user item item ...', or lines of TREC's files: qrels (judgements) or a run.
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
    BOOLS,
    NPY,
    ZIP,
    Source,
    at_line,
    count_of_fields,
    read_array,
    read_number,
    reading,
    refuse_other_formats,
    start,
)

Lines: TypeAlias = Literal["triples", "lists"]
"""The two forms that a file may leave open."""
Form: TypeAlias = Literal["triples", "lists", "qrels", "run"]

_MATRIX_FORMATS = (
    "a sparse .npz (scipy.sparse.save_npz), a dense .npy (numpy.save) "
    "or text lines 'user item [relevance]' or 'user item item ...'"
)
_LINE_FORMS = "'user item', 'user item relevance' or 'user item item ...' with 0-based indices"
_TABLES_ADVICE = "for other columns, give tables with a header: recmetrics evaluate RECS TRUTH"
_QRELS_FORM = "'query 0 item relevance' in every line of TREC's qrels"


def read_user_items(
    source: Source, shape: tuple[int, int], lines: Lines | None, *, graded: bool = False
) -> Any:
    """Read relevances (``graded``) or a set of items per user (not), of the scores' shape.

    In text, ``lines`` is the form of a file that leaves it open. Relevance is 1 where a line gives
    none, and no pair may stand twice. Of a set, every pair belongs to it, whatever its relevance.
    """
    first_bytes = start(source, _MATRIX_FORMATS, of_text=True)
    if source.path.suffix.lower() in (".npy", ".npz") or first_bytes.startswith((NPY, ZIP)):
        return read_array(source, _MATRIX_FORMATS)
    if first_bytes:
        refuse_other_formats(source, first_bytes, _MATRIX_FORMATS)
    return _read_text(source, shape, lines, graded=graded)


def _read_text(
    source: Source, shape: tuple[int, int], lines: Lines | None, *, graded: bool
) -> sparse.csr_array:
    """Read the lines of a text as a sparse matrix of the scores' ``shape``.

    Without ``graded``, every pair has the value 1. Other arguments are as in ``read_user_items``.
    """
    pairs_on_lines = _PairsOnLines(shape, graded)
    with reading(source, _LINE_FORMS):
        _refuse_header(source)
        form = _form_of(source, lines)
        for line_number, fields in _numbered_fields(source):
            try:
                if form == "lists":
                    pairs_on_lines.add_list(line_number, fields)
                elif form == "triples":
                    pairs_on_lines.add_triple(line_number, fields)
                else:
                    pairs_on_lines.add_trec(line_number, fields, form)
            except ValueError as error:
                raise at_line(source, line_number, error) from None
        if graded and not pairs_on_lines.users:
            msg = "it holds no line"
            raise ValueError(msg)

    indices = (
        np.array(pairs_on_lines.users, dtype=np.int64),
        np.array(pairs_on_lines.items, dtype=np.int64),
    )
    if graded:
        _refuse_repeats(source, indices, np.array(pairs_on_lines.line_numbers))
    relevances = np.ones(len(indices[0]))
    if pairs_on_lines.relevances:
        relevances = np.array(pairs_on_lines.relevances)
    return sparse.csr_array((relevances, indices), shape=shape)


class _PairsOnLines:
    """Pairs of user and item, and the lines that they are on; relevances if ``graded``.

    ``shape`` is that of the scores, beyond which an index is an error. Each method adds the fields
    of one line, and raises a ``ValueError`` that says what is wrong with them.
    """

    def __init__(self, shape: tuple[int, int], graded: bool) -> None:
        self.shape = shape
        self.graded = graded
        self.users = array("q")
        self.items = array("q")
        self.line_numbers = array("q")
        self.relevances = array("d")
        self.first_line_of: dict[int, int] = {}  # of each user in lists

    def add_list(self, line_number: int, fields: list[str]) -> None:
        """Add the pairs of a line 'user item item ...'; a user of several items has one line."""
        user = _index("user", fields[0], self.shape[0])
        items = [_index("item", field, self.shape[1]) for field in fields[1:]]
        first_line = self.first_line_of.setdefault(user, line_number)
        if first_line != line_number and len(items) > 1:
            msg = (
                f"user {user} is already on line {first_line}; in lists every user has one line: "
                "join them, or type --lines triples for 'user item relevance'"
            )
            raise ValueError(msg)
        self.users.extend([user] * len(items))
        self.items.extend(items)
        self.line_numbers.extend([line_number] * len(items))

    def add_triple(self, line_number: int, fields: list[str]) -> None:
        """Add the pair of a line 'user item' or 'user item relevance'."""
        if not 2 <= len(fields) <= 3:
            msg = (
                f"{count_of_fields(fields)}; expected {_LINE_FORMS}; in lists every user has one "
                f"line; {_TABLES_ADVICE}"
            )
            raise ValueError(msg)
        self._add(line_number, fields, least=0)

    def add_trec(self, line_number: int, fields: list[str], form: Form) -> None:
        """Add the pair of a line of TREC's file of the form ``form``."""
        if form == "run":
            if self.graded:
                msg = (
                    f"a TREC run, which has no relevances; expected {_QRELS_FORM}, or {_LINE_FORMS}"
                )
                raise ValueError(msg)
            if len(fields) != 6:
                n_fields = count_of_fields(fields)
                msg = f"{n_fields}; expected the 6 of a TREC run, as in the first line"
                raise ValueError(msg)
        elif len(fields) != 4 or fields[1] not in ("0", "Q0"):
            msg = f"got {' '.join(fields)[:60]!r}; expected {_QRELS_FORM}; {_TABLES_ADVICE}"
            raise ValueError(msg)
        # A negative label of TREC is for the convention to read.
        self._add(line_number, [fields[0], *fields[2:4]], least=-math.inf)

    def _add(self, line_number: int, fields: list[str], least: float) -> None:
        """Add the pair of 'user item [relevance]': a relevance >= ``least``, 1 if absent."""
        self.users.append(_index("user", fields[0], self.shape[0]))
        self.items.append(_index("item", fields[1], self.shape[1]))
        self.line_numbers.append(line_number)
        if self.graded:
            self.relevances.append(_relevance(fields[2], least) if len(fields) > 2 else 1.0)


def _refuse_repeats(
    source: Source, pairs: tuple[IntArray, IntArray], line_numbers: IntArray
) -> None:
    """Refuse a pair that stands twice, at the second of its lines.

    ``pairs`` are the users and the items, ``line_numbers`` the line of each pair.
    """
    users, items = pairs
    order = np.lexsort((items, users))  # equal pairs stay in the order of the file
    is_repeat = (np.diff(users[order]) == 0) & (np.diff(items[order]) == 0)
    if is_repeat.any():
        repeated_entries = order[1:][is_repeat]
        first_repeat = repeated_entries.min()
        earlier = order[:-1][is_repeat][repeated_entries.argmin()]
        pair = f"user {users[first_repeat]}, item {items[first_repeat]}"
        fault = f"{pair} is already on line {line_numbers[earlier]}; give every pair once"
        raise at_line(source, line_numbers[first_repeat], fault)


def _numbered_fields(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Give the number and the fields of each line that is not empty.

    Commas separate the fields of a line that has any, else blanks or tabs; # begins a comment.
    """
    # A comment may hold any byte.
    with source.open_text(errors="surrogateescape") as file:
        for line_number, line in enumerate(file, start=1):
            line_without_comment = line.partition("#")[0]
            fields = line_without_comment.split()
            if "," in line_without_comment:
                fields = [field.strip() for field in line_without_comment.split(",")]
            if any(fields):
                yield line_number, fields


def _refuse_header(source: Source) -> None:
    """Refuse a line of words above a line of indices."""
    rows = list(islice(_numbered_fields(source), 2))
    if len(rows) < 2:
        return
    (line_number, header), (_, fields) = rows
    if all(name[:1].isalpha() for name in header) and _are_integers(fields[:2]):
        msg = (
            f"a header: {', '.join(header)[:60]}; expected indices alone: leave the line out, or "
            "put # before it"
        )
        raise at_line(source, line_number, msg)


class _Survey(NamedTuple):
    """The lines of a file that may be one of lists, up to the first that is none of a list."""

    first_fields: list[str]  # the fields of the first line
    widths: set[int]  # the numbers of fields that lines have
    second_fields: set[str]  # of all lines
    are_lists: bool  # every user has one line, of integers from the second field on


def _survey_lines(source: Source) -> _Survey:
    """Read a file up to the first line that cannot be one of lists."""
    first_fields: list[str] = []
    widths: set[int] = set()
    second_fields: set[str] = set()
    users: set[str] = set()
    for _, fields in _numbered_fields(source):
        first_fields = first_fields or fields
        if fields[0] in users or not _are_integers(fields[1:]):
            return _Survey(first_fields, widths, second_fields, are_lists=False)
        users.add(fields[0])
        widths.add(len(fields))
        second_fields.update(fields[1:2])
    return _Survey(first_fields, widths, second_fields, are_lists=True)


def _form_of(source: Source, lines: Lines | None) -> Form:
    """Tell the form of a file by all of its lines, as far as it may be one of lists."""
    first_fields, widths, second_fields, are_lists = _survey_lines(source)
    if first_fields[1:2] == ["Q0"] and len(first_fields) in (4, 6):
        return "qrels" if len(first_fields) == 4 else "run"
    # A list of a user and three items looks like qrels; in qrels every second field is 0.
    is_qrels = len(first_fields) == 4 and first_fields[1] == "0"
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
            f"{source} has a line for each user, of {len(first_fields)} numbers each; expected "
            f"{_LINE_FORMS}; for a user and items type --lines lists; {_TABLES_ADVICE}"
        )
        raise InputError(msg)
    return "lists"


def _are_integers(fields: list[str]) -> bool:
    """Say whether fields hold nothing but ASCII digits and minus signs; True without fields."""
    digits = "".join(fields).replace("-", "")
    return digits.isascii() and (digits.isdecimal() or not digits)


def _relevance(field: str, least: float) -> float:
    """Read a relevance, finite and at least ``least``."""
    try:
        value = read_number(BOOLS.get(field.lower(), field))
    except ValueError:
        msg = f"cannot read {field[:40]!r} as relevance; expected {_LINE_FORMS}"
        raise ValueError(msg) from None
    if not (math.isfinite(value) and value >= least):
        msg = f"relevance {value:g}; expected a finite number >= 0"
        raise ValueError(msg)
    return value


def _index(name: str, field: str, size: int) -> int:
    """Read the index of a ``name``, user or item, from 0 to ``size`` - 1."""
    if not (field.isascii() and field.removeprefix("-").isdecimal()):
        msg = f"cannot read {field[:40]!r} as {name} index; expected {_LINE_FORMS}"
        if field[:1].isalpha():
            msg += "; for ids of text, give tables with a header: recmetrics evaluate RECS TRUTH"
        raise ValueError(msg)
    index = int(field)
    if not 0 <= index < size:
        msg = f"{name} {field[:40]} is not in the scores; expected 0 to {size - 1}"
        raise ValueError(msg)
    return index
