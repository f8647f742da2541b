"""Side information and training items as tables, brought into the form of the core.

They are matched by item and user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

import numpy as np
import scipy.sparse as sp

from recmetrics._core.errors import InputError
from recmetrics._core.inputs import ItemSets, read_set
from recmetrics._core.spec import SIDE, ItemNumber, Request, SideWords
from recmetrics._core.types import FloatArray, IntArray
from recmetrics.tables._frames import (
    Frame,
    numbers_of,
    read_frame,
    refuse_names,
    refuse_row,
    require_columns,
    require_same_kind,
    value_at,
)
from recmetrics.tables._ids import number_ids, refuse_repeats, warn_of_foreign_ids
from recmetrics.tables._numbering import combine, number

_OTHERS = "other items of "
# The tables in the order in which their items are numbered.
FORMS = {"catalogue": "a table of 'item' with a row for each item of the catalogue"}
FORMS |= {name: side.table for name, side in SIDE.items()}
TABLES = SideWords(
    named={name: f"{name}= ({form})" for name, form in FORMS.items()} | {"strata": "strata="},
    make={"strata": "strata={{{name!r}: table}}", "propensity": "propensity=train"},
    of_catalogue=(("catalogue",),),
)


def needed_tables(request: Request) -> set[str]:
    """Name the tables that a call looks at beside recs, truth and strata."""
    needs = {"catalogue", "exclude"}
    for definition in request.definitions.values():
        needs.update(*definition.spec.needs)
    return needs


def _read_tables(request: Request, options: Mapping[str, Any], recs: Frame) -> dict[str, Frame]:
    """Read the tables that a metric of the call needs, the catalogue and the training items."""
    needs = needed_tables(request)
    frames = {}
    for name in (*FORMS, "exclude"):
        if name in needs and options.get(name) is not None:
            frames[name] = read_frame(options[name], name)
    for stratum in request.strata:
        name = f"strata[{stratum!r}]"
        frames[name] = read_frame(options["strata"][stratum], name)
    for name, frame in frames.items():
        require_same_kind(recs, frame, name)
    return frames


class ItemTables:
    """The tables of a call beside recs and truth; the items of all tables are numbered together.

    Those of the catalogue come first. Without a catalogue, ``n_items`` counts all items. The
    ``options`` are those of ``evaluate_table``.
    """

    def __init__(
        self, request: Request, options: Mapping[str, Any], recs: Frame, truth: Frame
    ) -> None:
        self._strata = list(request.strata)
        self._user = options["user"]
        self._item = options["item"]
        # Equally popular items are ordered as in their table, however the rows of recs are.
        frames = _read_tables(request, options, recs)
        self._frames = frames | {"recs": recs, "truth": truth}
        columns = self._columns_of_items()
        ends = np.cumsum([len(frame) for frame, _, _ in columns.values()])
        numbers, first = number_ids(*columns.values())
        self._items = dict(zip(columns, np.split(numbers, ends[:-1]), strict=True))
        self.items = np.concatenate([self._items["recs"], self._items["truth"]])
        self.n_items = len(first)

        if "catalogue" in frames:
            self._refuse_repeats("catalogue")
            self.n_items = len(self._frames["catalogue"])
            if options["unknown"] == "raise":
                advice = "; type unknown='waste' or unknown='drop' to accept such items"
                self._refuse_outside("recs", advice)
            self._refuse_outside("truth")

    def _columns_of_items(self) -> dict[str, tuple[Frame, str, str]]:
        """The columns that hold items, each as (table, its label, name)."""
        columns = {}
        for name, frame in self._frames.items():
            form = SIDE[name].form if name in SIDE else None
            if form != "users":
                require_columns(frame, name, [self._item])
                columns[name] = frame, name, self._item
            if form == "pairs":
                other_columns = self._columns(name)
                if len(other_columns) != 2:
                    self._refuse_form(name)
                columns[_OTHERS + name] = frame, name, other_columns[0]
        return columns

    def arrays(self, keys: Frame) -> dict[str, Any]:
        """Give the side information as ``Metrics.compute_ranked`` takes it; ``keys`` of lists."""
        read: dict[str, Callable[[str], Any]] = {
            "shares": self._shares,
            "chances": self._chances,
            "matrix": self._matrix,
            "pairs": self._pairs_of_items,
            "users": lambda name: self._of_users(name, keys),
        }
        arrays = {name: read[SIDE[name].form](name) for name in SIDE if name in self._frames}
        arrays["strata"] = {name: self._stratum(f"strata[{name!r}]", keys) for name in self._strata}
        return arrays

    def excluded(self, keys: Frame) -> ItemSets | None:
        """Read the items that must not be recommended in each list.

        ``keys`` are those of the lists; of these columns, the table has that of users, maybe more.
        """
        name = "exclude"
        if name not in self._frames:
            return None
        table = self._frames[name]
        require_columns(table, name, [self._user])
        self._warn_of_foreign_items(name)
        n_lists = len(keys)
        codes_of_columns = []
        for column in keys.columns:
            if column in table.columns:
                codes, _ = number_ids((keys, "recs", column), (table, name, column))
                warn_of_foreign_ids(keys, table, name, column, codes[:n_lists], codes[n_lists:])
                codes_of_columns.append(codes)
        row_codes, first_rows = number(combine(codes_of_columns))
        sets = self._pairs(name, row_codes[n_lists:], len(first_rows))[row_codes[:n_lists]]
        return read_set(sets, name, (n_lists, self.n_items))

    def _warn_of_foreign_items(self, name: str, *, in_truth: bool = False) -> None:
        """Warn if the table and recs have no item in common; ``in_truth``: nor the table and truth.

        Of a stratum such as the tail, a model may recommend nothing.
        """
        items = self.items if in_truth else self._items["recs"]
        table = self._frames[name]
        others = self._items[name]
        warn_of_foreign_ids(self._frames["recs"], table, name, self._item, items, others)

    def _shares(self, name: str) -> FloatArray:
        """Read or compute the popularity of each item, 0 where the table has no row of it."""
        self._warn_of_foreign_items(name)
        if self._user in self._frames[name].columns:
            return self._of_train(name)
        return _spread(self._numbers(name), self._items[name], self.n_items)

    def _of_train(self, name: str) -> FloatArray:
        """Compute a number for each item from the training interactions of a table."""
        users, first = number_ids((self._frames[name], name, self._user))
        of_train = cast(Callable[..., FloatArray], SIDE[name].of_train)  # both forms have it
        return of_train(self._pairs(name, users, len(first)), self.n_items)

    def _chances(self, name: str) -> FloatArray:
        """Read or estimate the propensity of each item; every relevant one must have it."""
        if self._user in self._frames[name].columns:
            self._warn_of_foreign_items(name, in_truth=True)
            return self._of_train(name)
        self._refuse_absent(name, "truth")
        propensity = _spread(self._numbers(name), self._items[name], self.n_items)
        # An item without a row is relevant to nobody, so any valid propensity will do.
        return np.where(propensity > 0.0, propensity, 1.0)

    def _stratum(self, name: str, keys: Frame) -> Any:
        """Read the items of a stratum, of all users or, with a column of users, of each list."""
        self._warn_of_foreign_items(name, in_truth=True)
        if self._user not in self._frames[name].columns:
            return np.unique(self._items[name][self._items[name] < self.n_items])
        lists, users, n_users = self._users_of(name, keys)
        return self._pairs(name, users, n_users)[lists]

    def _matrix(self, name: str) -> FloatArray:
        """Read a row of numbers for each item, (n_items, columns), such as features."""
        columns = self._columns(name)
        if name == "genres":  # often a table of items and names, with several rows for an item
            for column in columns:
                if len(columns) == 1 or column.lower().startswith("genre"):
                    refuse_names(self._frames[name], name, column, self._item)
        self._refuse_repeats(name)
        self._refuse_absent(name, "recs")
        if not columns:
            self._refuse_form(name)
        values = [numbers_of(self._frames[name], name, column) for column in columns]
        return _spread(np.stack(values, axis=1), self._items[name], self.n_items)

    def _pairs_of_items(self, name: str) -> Any:
        """Read the similarity of every two items: 0 where no row names them, symmetric."""
        frame = self._frames[name]
        items = self._items[name]
        other_items = self._items[_OTHERS + name]
        other_column, value_column = self._columns(name)
        both = np.concatenate((items, other_items))
        recs = self._frames["recs"]
        warn_of_foreign_ids(recs, frame, name, self._item, self._items["recs"], both)
        refuse_repeats(frame, name, [self._item, other_column], [items, other_items])
        values = numbers_of(frame, name, value_column)

        is_inside = (items < self.n_items) & (other_items < self.n_items)
        pairs = items[is_inside], other_items[is_inside]
        shape = self.n_items, self.n_items
        matrix = sp.csr_array((values[is_inside], pairs), shape=shape)
        has_row = sp.csr_array((np.ones(len(pairs[0])), pairs), shape=shape)
        # A pair given in only one direction holds for the other, too.
        return matrix + (matrix.T - matrix.T.multiply(has_row))

    def _of_users(self, name: str, keys: Frame) -> FloatArray:
        """Read the genres of the user of each list; 0 where the table has no row of the user."""
        frame = self._frames[name]
        genres = self._columns("genres")
        require_columns(frame, name, [self._user, *genres])
        lists, rows, n_users = self._users_of(name, keys)
        refuse_repeats(frame, name, [self._user], [rows])
        values = np.stack([numbers_of(frame, name, genre) for genre in genres], axis=1)
        return _spread(values, rows, n_users)[lists]

    def _users_of(self, name: str, keys: Frame) -> tuple[IntArray, IntArray, int]:
        """Number the users of the lists and of a table together.

        Returns the number of each list's user, of each row's user, and how many users there are.
        """
        column = self._frames[name], name, self._user
        numbers, first = number_ids((keys, "recs", self._user), column)
        return numbers[: len(keys)], numbers[len(keys) :], len(first)

    def _pairs(self, name: str, users: IntArray, n_users: int) -> Any:
        """Make a table of pairs a sparse matrix (n_users, n_items) without foreign items.

        ``users`` has the number of the user of each row. Repeated pairs are added up.
        """
        is_inside = self._items[name] < self.n_items
        pairs = users[is_inside], self._items[name][is_inside]
        return sp.csr_array((np.ones(len(pairs[0])), pairs), shape=(n_users, self.n_items))

    def _columns(self, name: str) -> list[str]:
        """Name the columns of a table but that of items."""
        return [column for column in self._frames[name].columns if column != self._item]

    def _numbers(self, name: str) -> FloatArray:
        """Read one number for each row."""
        columns = self._columns(name)
        if len(columns) != 1:
            self._refuse_form(name)
        self._refuse_repeats(name)
        numbers = numbers_of(self._frames[name], name, columns[0])
        item_number = cast(ItemNumber, SIDE[name].number)  # both forms have it
        expected = f"expected {item_number.meaning}, or the training interactions"
        is_wrong = item_number.is_wrong(numbers)
        refuse_row(is_wrong, name, columns[0], lambda row: f"holds {numbers[row]:g}; {expected}")
        return numbers

    def _refuse_form(self, name: str) -> NoReturn:
        has = ", ".join(map(repr, self._frames[name].columns))
        msg = f"{name} must be {FORMS[name]}; it has {has}"
        raise InputError(msg, argument=name)

    def _refuse_repeats(self, name: str) -> None:
        refuse_repeats(self._frames[name], name, [self._item], [self._items[name]])

    def _refuse_outside(self, name: str, advice: str = "") -> None:
        """Refuse an item of recs or truth that is not in the catalogue."""

        def fault_of(row: int) -> str:
            item = value_at(self._frames[name], self._item, row)
            return f"holds item {item!r}, which is not in the catalogue{advice}"

        refuse_row(self._items[name] >= self.n_items, name, self._item, fault_of)

    def _refuse_absent(self, name: str, of: str) -> None:
        """Refuse a side table that lacks a row for an item of the catalogue in table ``of``."""
        items = self._items[of]
        is_absent = (items < self.n_items) & ~np.isin(items, self._items[name])
        if is_absent.any():
            row = int(is_absent.argmax())
            item = value_at(self._frames[of], self._item, row)
            msg = (
                f"{name} has no row for item {item!r}, which {of} lists in row {row} (counted from "
                "0); expected a row for every item listed"
            )
            raise InputError(msg, argument=name)


def _spread(values: FloatArray, codes: IntArray, n_codes: int) -> FloatArray:
    """Place the values of rows at their codes; 0 for codes without a row.

    Rows of a code of ``n_codes`` or more are left out.
    """
    values_of_codes = np.zeros((n_codes, *values.shape[1:]))
    is_inside = codes < n_codes
    values_of_codes[codes[is_inside]] = values[is_inside]
    return values_of_codes
