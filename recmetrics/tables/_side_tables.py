"""Side information as tables: matched by item and user, brought into the form of the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from recmetrics._errors import InputError
from recmetrics._inputs import LEAST_PROPENSITY, propensity_from
from recmetrics._spec import SIDE, SideWords
from recmetrics._types import FloatArray, IntArray
from recmetrics.tables._frames import Frame, numbers_of, require_columns, value_at
from recmetrics.tables._ids import as_integers
from recmetrics.tables._numbering import combine, first_repeat, number

FORMS = {name: side.table for name, side in SIDE.items()}
FORMS["catalogue"] = "a table of 'item' with a row for each item of the catalogue"


TABLES = SideWords(
    named={name: f"{name}= ({form})" for name, form in FORMS.items()} | {"strata": "strata="},
    make={"strata": "strata={{{name!r}: table}}", "propensity": "propensity=train"},
    of_catalogue=(("catalogue",),),
)


@dataclass(frozen=True)
class ItemTable:
    """A table about items, and the number of the item of each row."""

    frame: Frame
    what: str
    item: str
    codes: IntArray

    def __post_init__(self) -> None:
        # The others are unique by a pair of columns, or sets.
        if self.what in SIDE and SIDE[self.what].form == "matrix":
            refuse_repeats(self.frame, self.what, [self.item], self.codes)

    def columns(self, *but: str) -> list[str]:
        """List all columns but these and the item's."""
        return [name for name in self.frame.columns if name not in (self.item, *but)]


def refuse_repeats(frame: Frame, what: str, columns: Sequence[str], codes: IntArray) -> None:
    """Refuse a table that holds an id, or a pair of ids, in two rows."""
    row, earlier = first_repeat(codes)
    if row >= 0:
        ids = ", ".join(repr(value_at(frame, name, row)) for name in columns)
        msg = (
            f"{what}, columns {', '.join(map(repr, columns))}: row {row} (counted from 0) holds "
            f"{ids} again, first in row {earlier}; expected one row for each"
        )
        raise InputError(msg)


def popularity_of(table: ItemTable, user: str, n_items: int) -> FloatArray:
    """Compute the share of users who have each item; 0 where the table has no row of it."""
    if user not in table.frame.columns:
        return _spread(_numbers(table), table.codes, n_items)
    users, first_of_user = number(as_integers([(table.frame, table.what, user)]))
    _, first = number(combine([table.codes, users]))  # a pair counts once
    items = table.codes[first]
    counts = np.bincount(items[items < n_items], minlength=n_items)
    return counts / max(1, len(first_of_user))


def propensity_of(
    table: ItemTable, user: str, n_items: int, truth: tuple[Frame, str, IntArray]
) -> FloatArray:
    """Read or estimate the propensity of each item; every relevant one must have it."""
    if user in table.frame.columns:
        users, first = number(as_integers([(table.frame, table.what, user)]))
        return propensity_from(_pairs(users, table, (len(first), n_items)))
    _refuse_absent(table, n_items, truth, "truth")
    propensity = _numbers(table)
    wrong = ~((propensity >= LEAST_PROPENSITY) & (propensity <= 1.0))
    if wrong.any():
        row = int(wrong.argmax())
        msg = (
            f"propensity, column {table.columns()[0]!r}: row {row} (counted from 0) holds "
            f"{propensity[row]:g}; expected a probability from {LEAST_PROPENSITY:g} to 1"
        )
        raise InputError(msg)
    found = _spread(propensity, table.codes, n_items)
    return np.where(found > 0.0, found, 1.0)  # an item without a row is relevant to nobody


def stratum_of(table: ItemTable, user: str, keys: Frame, n_items: int) -> Any:
    """Read the items of a stratum: for all users, or with a column of users those of each list."""
    if user not in table.frame.columns:
        return np.unique(table.codes[table.codes < n_items])
    codes, first = number(as_integers([(keys, "recs", user), (table.frame, table.what, user)]))
    lists, users = codes[: len(keys)], codes[len(keys) :]
    return _pairs(users, table, (len(first), n_items))[lists]


def _pairs(users: IntArray, table: ItemTable, shape: tuple[int, int]) -> Any:
    """The users and items of the rows of a table as a matrix."""
    inside = table.codes < shape[1]
    places = users[inside], table.codes[inside]
    return sp.csr_array((np.ones(len(places[0])), places), shape=shape)


def _numbers(table: ItemTable) -> FloatArray:
    """The one column of numbers of a table, whose items are unique."""
    columns = table.columns()
    if len(columns) != 1:
        has = ", ".join(map(repr, table.frame.columns))
        msg = f"{table.what} must be {FORMS[table.what]}; it has {has}"
        raise InputError(msg)
    refuse_repeats(table.frame, table.what, [table.item], table.codes)
    return numbers_of(table.frame, table.what, columns[0])


def _refuse_absent(
    table: ItemTable, n_items: int, listed: tuple[Frame, str, IntArray], what: str
) -> None:
    """Refuse items of ``recs`` or ``truth`` for which a table has no row."""
    frame, item, codes = listed
    known = np.zeros(n_items + 1, bool)
    known[n_items] = True  # all items outside the catalogue, which no list keeps
    known[table.codes[table.codes < n_items]] = True
    absent = ~known[np.minimum(codes, n_items)]
    if absent.any():
        row = int(absent.argmax())
        msg = (
            f"{table.what} has no row for item {value_at(frame, item, row)!r}, which {what} lists "
            f"in row {row} (counted from 0); expected a row for every item listed"
        )
        raise InputError(msg)


def matrix_of(table: ItemTable, n_items: int, recs: tuple[Frame, str, IntArray]) -> FloatArray:
    """Read the numbers of each item, one row per item; every item of recs must have them."""
    _refuse_absent(table, n_items, recs, "recs")
    columns = table.columns()
    if not columns:
        msg = f"{table.what} must be {FORMS[table.what]}; it has {table.item!r} alone"
        raise InputError(msg)
    values = [numbers_of(table.frame, table.what, name) for name in columns]
    return _spread(np.stack(values, axis=1), table.codes, n_items)


def similarity_of(table: ItemTable, others: IntArray, value: str, n_items: int) -> Any:
    """Read the similarity of every two items: 0 where no row names them, symmetric."""
    refuse_repeats(
        table.frame,
        table.what,
        [table.item, similarity_columns(table.frame, table.item)[0]],
        combine([table.codes, others]),
    )
    numbers = numbers_of(table.frame, table.what, value)
    inside = (table.codes < n_items) & (others < n_items)
    rows, columns, numbers = table.codes[inside], others[inside], numbers[inside]
    # A pair given in only one direction holds for the other, too.
    mirrored = ~np.isin(columns * n_items + rows, rows * n_items + columns)
    places = (np.concatenate([rows, columns[mirrored]]), np.concatenate([columns, rows[mirrored]]))
    values = np.concatenate([numbers, numbers[mirrored]])
    return sp.csr_array((values, places), shape=(n_items, n_items))


def similarity_columns(frame: Frame, item: str) -> tuple[str, str]:
    """Find the columns of the other item and of the similarity."""
    require_columns(frame, "similarity", [item])
    columns = [name for name in frame.columns if name != item]
    if len(columns) != 2:
        has = ", ".join(map(repr, frame.columns))
        msg = f"similarity must be {FORMS['similarity']}; it has {has}"
        raise InputError(msg)
    return columns[0], columns[1]


def profile_of(frame: Frame, user: str, keys: Frame, genres: Sequence[str]) -> FloatArray:
    """Read the genres of the user of each list; zeros where the table has no row of the user."""
    require_columns(frame, "profile", [user, *genres])
    codes, first = number(as_integers([(keys, "recs", user), (frame, "profile", user)]))
    lists, rows = codes[: len(keys)], codes[len(keys) :]
    refuse_repeats(frame, "profile", [user], rows)
    values = np.stack([numbers_of(frame, "profile", name) for name in genres], axis=1)
    return _spread(values, rows, len(first))[lists]


def _spread(values: FloatArray, codes: IntArray, n: int) -> FloatArray:
    """The values of each number below n, 0 where it has none."""
    spread = np.zeros((n, *values.shape[1:]))
    inside = codes < n
    spread[codes[inside]] = values[inside]
    return spread
