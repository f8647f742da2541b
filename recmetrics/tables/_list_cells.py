"""Cells that hold lists of ids, most often as text such as "5 6", as files of competitions do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import narwhals.stable.v2 as nw

from recmetrics._core.errors import InputTypeError
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import (
    MAY_BE_TEXT,
    PANDAS,
    POLARS,
    PYARROW,
    Frame,
    code_of,
    holds_lists,
    pairs_in,
    refuse_lists,
)

# Cells of a column that are read, evenly spaced: to read all takes longer than the metrics.
_MAX_CELLS_READ = 1_000
_BRACKETS = re.compile(r"\s*([\[({][^:]*[\])}])?\s*")  # a colon stands in a dict
_INTEGER = re.compile(r"-?\d+")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_SIGNS_AROUND_IDS = re.compile(r"[,;|'\"()\[\]{}]")  # they stand around ids, as blanks do
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")  # a title may hold brackets
_NUMPY_INTEGER = re.compile(r"np\.u?int\d+\((-?\d+)\)")  # as NumPy 2 prints one in a list
_NESTED = re.compile(r"\s*[\[({].*[\[({]", re.DOTALL)  # "[(5, 0.2)]"
_EXPLODE_CODE = {  # code that makes rows of the ids that the pattern {2} finds in {0}[{1}]
    PANDAS: "{0}.assign(**{{{1!r}: {0}[{1!r}].str.findall({2})}}).explode({1!r})"
    ".dropna(subset=[{1!r}])",
    POLARS: "{0}.with_columns(polars.col({1!r}).str.extract_all({2})).explode({1!r})"
    ".drop_nulls({1!r})",
}
_INTEGERS_CODE = {PANDAS: ".astype({{{0!r}: 'int64'}})", POLARS: ".cast({{{0!r}: polars.Int64}})"}


class _Cells(NamedTuple):
    """Some cells of a column, and the ids that each holds if it is a list."""

    texts: list[str]
    ids: list[list[str]]
    pattern: str  # of an id

    @property
    def nested(self) -> str:
        """The first cell whose elements are pairs, records or calls, which no pattern reads."""
        for text in self.texts:
            if _NESTED.match(_QUOTED.sub("", _NUMPY_INTEGER.sub(r"\1", text))):
                return text
        return ""

    @property
    def longer(self) -> list[str]:
        """The cells with several ids."""
        return [text for text, ids in zip(self.texts, self.ids, strict=True) if len(ids) > 1]

    @property
    def lengths(self) -> set[int]:
        """How many ids the cells hold, without empty ones."""
        return {len(ids) for ids in self.ids if ids}


class _Table(NamedTuple):
    """A table with the columns that identify its lists, and cells of its column of items."""

    label: str
    frame: Frame
    keys: Sequence[str]
    cells: _Cells

    @property
    def repeats_users(self) -> bool:
        """True if a user has several rows."""
        return not self.keys or len(self.frame.unique(list(self.keys))) < len(self.frame)


def refuse_list_cells(recs: Frame, truth: Frame, columns: Columns) -> None:
    """Refuse a column of items whose cells are lists: each list would be read as one item."""
    item = columns.item
    order_names = dict.fromkeys(("rank", "score", columns.rank, columns.score))
    order_columns = [name for name in order_names if name is not None and name in recs.columns]
    # Records of the same fields in both tables are ids, whatever these are.
    dtype = recs.schema[item]
    are_records = isinstance(dtype, nw.Struct) and dtype == truth.schema[item]
    if not are_records:
        _refuse_lists("recs", recs, item, order_columns)
        _refuse_lists("truth", truth, item, ())
    tables = (
        _Table("recs", recs, columns.keys, _read_cells(recs, item)),
        _Table("truth", truth, columns.truth_keys, _read_cells(truth, item)),
    )
    for table, other_table in (tables, tables[::-1]):
        if not _may_be_lists(table.cells, other_table.cells) or _are_ids(table, other_table, item):
            continue
        label = table.label
        frame = table.frame
        if nested := table.cells.nested:
            msg = (
                f"{label}, column {item!r} holds lists as text, such as {nested[:40]!r}, whose "
                "elements are more than ids; expected one id in each row, and its score, if it has "
                "one, in a column 'score'"
            )
            raise InputTypeError(msg, argument=label)
        pattern = table.cells.pattern
        quotes = '"""' if "'" in pattern or '"' in pattern else '"'
        dropped_columns = order_columns if frame is recs else []
        library, table_code, drop = code_of(frame, label, dropped_columns)
        code = _EXPLODE_CODE[library].format(table_code, item, f"r{quotes}{pattern}{quotes}") + drop
        if other_table.frame.get_column(item).dtype.is_integer():
            code += _INTEGERS_CODE[library].format(item)
        if frame.implementation is PYARROW:
            code = f"pyarrow.table({code})"
        example = table.cells.longer[0][:40]
        msg = (
            f"{label}, column {item!r} holds lists as text, such as {example!r}, "
            f"expected one id in each row; type {label} = {code}"
        )
        raise InputTypeError(msg, argument=label)


def _refuse_lists(label: str, frame: Frame, item: str, order_columns: Sequence[str]) -> None:
    """Refuse lists that are no text, and pairs of an item and its number.

    Their items are in order: numbers of whole lists do not order them, other lists may.
    """
    types = (nw.List, nw.Array, nw.Object)
    series = frame.get_column(item)
    if not isinstance(series.dtype, (*types, nw.Struct)):
        return
    if holds_lists(series) or pairs_in(series.drop_nulls()[0:1]):
        lists = []
        for name in frame.columns:
            column = frame.get_column(name)
            if name != item and isinstance(column.dtype, types) and holds_lists(column):
                lists.append(name)
        dropped = [name for name in order_columns if name not in lists]
        refuse_lists(label, series, lists, dropped)


def _read_cells(frame: Frame, item: str) -> _Cells:
    """Read cells of text; a column of another type has none."""
    series = frame.get_column(item)
    if series.dtype not in MAY_BE_TEXT:
        return _Cells([], [], "")
    values = series.gather_every(max(1, len(series) // _MAX_CELLS_READ)).to_list()
    texts = [value for value in values if isinstance(value, str)]

    text = "".join(texts)
    signs = sorted({*_SIGNS_AROUND_IDS.findall(_QUOTED.sub("", text)), *re.findall("['\"]", text)})
    pattern = r"\S+"
    if any(map(_NUMPY_INTEGER.search, texts)):
        pattern = r"-?\b\d+\b"  # not the 64 of int64
    elif signs:
        escaped_signs = "".join(map(re.escape, signs))
        pattern = rf"[^\s{escaped_signs}]+"
        if not {"'", '"'}.isdisjoint(signs) and _are_in_brackets(texts):  # which may hold blanks
            pattern = rf"[^\s{escaped_signs}][^{escaped_signs}]*"
    return _Cells(texts, [re.findall(pattern, text) for text in texts], pattern)


def _are_in_brackets(texts: Sequence[str]) -> bool:
    """Say whether every cell is in brackets or empty, as "[5, 6]" is."""
    return all(map(_BRACKETS.fullmatch, texts))


def _may_be_lists(cells: _Cells, other_cells: _Cells) -> bool:
    """Say whether cells hold several ids, not the words of a name."""
    if not cells.longer:
        return False
    if _are_in_brackets(cells.texts):
        return True
    ids = set(chain.from_iterable(cells.ids))
    if all(map(_INTEGER.fullmatch, ids)):
        return True
    # The words of a title hold no digits; those of a code keep their places, as those of "E1 6AN".
    first_ids = {ids[0] for ids in cells.ids if ids}
    later_ids = set(chain.from_iterable(ids[1:] for ids in cells.ids))
    has_moved = not later_ids.isdisjoint(first_ids | set(other_cells.texts))
    return has_moved and all(re.search(r"[\d_]", word) for word in ids)


def _are_ids(table: _Table, other_table: _Table, item: str) -> bool:
    """Say whether cells such as "12 5" are the ids themselves: of two parts, or large numbers."""
    cells = table.cells
    if _are_in_brackets(cells.texts):
        return False
    are_alike = len(cells.lengths) == 1
    are_numbers = all(map(_INTEGER.fullmatch, chain.from_iterable(cells.ids)))
    are_thousands = all(map(_THOUSANDS.fullmatch, cells.longer))
    if are_numbers and not are_thousands and not are_alike:
        return False
    # A user has one list, and the lists of two tables are rarely the same.
    if are_alike and table.repeats_users:
        return True
    if are_alike and cells.lengths == other_table.cells.lengths and other_table.repeats_users:
        return True
    other_texts = set(other_table.frame.get_column(item).to_list())
    n_shared = sum(text in other_texts for text in cells.longer)
    return 2 * n_shared >= len(cells.longer)
