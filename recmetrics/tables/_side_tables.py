"""Side information as tables: matched by item and user, brought into the form of the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

import numpy as np
import scipy.sparse as sp

from recmetrics._core.errors import InputError
from recmetrics._core.spec import SIDE, ItemNumber, Request, SideWords
from recmetrics._core.types import FloatArray, IntArray
from recmetrics.tables._frames import (
    Frame,
    numbers_of,
    read_frame,
    refuse_row,
    require_columns,
    require_same_kind,
    value_at,
)
from recmetrics.tables._ids import as_integers, refuse_repeats, warn_of_foreign_ids
from recmetrics.tables._numbering import number

_OTHERS = "other items of "
FORMS = {name: side.table for name, side in SIDE.items()}
FORMS["catalogue"] = "a table of 'item' with a row for each item of the catalogue"
TABLES = SideWords(
    named={name: f"{name}= ({form})" for name, form in FORMS.items()} | {"strata": "strata="},
    make={"strata": "strata={{{name!r}: table}}", "propensity": "propensity=train"},
    of_catalogue=(("catalogue",),),
)


def _read_tables(request: Request, options: Mapping[str, Any], recs: Frame) -> dict[str, Frame]:
    """Read the tables that a metric of the call needs, and the catalogue where there is one."""
    specs = [definition.spec for definition in request.definitions.values()]
    needed = {"catalogue", *(name for spec in specs for group in spec.needs for name in group)}
    given = (name for name in FORMS if name in needed and options.get(name) is not None)
    chosen = {name: options[name] for name in given}
    chosen |= {f"strata[{name!r}]": options["strata"][name] for name in request.strata}
    tables = {name: read_frame(each, name) for name, each in chosen.items()}
    for name, frame in tables.items():
        require_same_kind(recs, frame, name)
    return tables


class ItemTables:
    """The tables of side information of a call; the items of all tables are numbered together.

    Those of the catalogue come first. Without a catalogue, ``n_items`` counts all items. The
    ``options`` are those of ``evaluate_table``.
    """

    def __init__(
        self, request: Request, options: Mapping[str, Any], recs: Frame, truth: Frame
    ) -> None:
        self._strata = list(request.strata)
        self._tables = tables = _read_tables(request, options, recs)
        self._user, self._item = options["user"], options["item"]
        named = {"catalogue": tables["catalogue"]} if "catalogue" in tables else {}
        # Equally popular items are ordered as in their table, however the rows of recs are.
        self._frames = named | tables | {"recs": recs, "truth": truth}
        columns: dict[str, tuple[Frame, str, str]] = {}
        for what, frame in self._frames.items():
            form = SIDE[what].form if what in SIDE else None
            if form != "users":
                require_columns(frame, what, [self._item])
                columns[what] = frame, what, self._item
            if form == "pairs":
                others = self._columns(what)
                if len(others) != 2:
                    self._refuse_form(what)
                columns[_OTHERS + what] = frame, what, others[0]
        ends = np.cumsum([len(frame) for frame, _, _ in columns.values()])
        numbers, first = number(as_integers(list(columns.values())))
        self._items = dict(zip(columns, np.split(numbers, ends[:-1]), strict=True))
        self.of_both = np.concatenate([self._items["recs"], self._items["truth"]])
        self.n_items = len(first)
        if "catalogue" in tables:
            self._refuse_repeats("catalogue")
            self.n_items = len(tables["catalogue"])
            if options["unknown"] == "raise":
                advice = "; unknown='waste' or unknown='drop' accepts such items"
                self._refuse_outside("recs", advice)
            self._refuse_outside("truth")

    def arrays(self, keys: Frame) -> dict[str, Any]:
        """Give the side information as ``Metrics.compute_ranked`` takes it; ``keys`` of lists."""
        read: dict[str, Callable[[str], Any]] = {
            "shares": self._shares,
            "chances": self._chances,
            "matrix": self._matrix,
            "pairs": self._pairs_of_items,
            "users": lambda what: self._of_users(what, keys),
        }
        arrays = {name: read[SIDE[name].form](name) for name in SIDE if name in self._tables}
        arrays["strata"] = {name: self._stratum(f"strata[{name!r}]", keys) for name in self._strata}
        return arrays

    def _shares(self, what: str) -> FloatArray:
        items, table = self._items[what], self._tables[what]
        warn_of_foreign_ids(
            self._frames["recs"], table, what, self._item, self._items["recs"], items
        )
        if self._user in table.columns:
            return self._of_train(what)
        return _spread(self._numbers(what), items, self.n_items)

    def _of_train(self, what: str) -> FloatArray:
        """Compute a number for each item from the training interactions of a table."""
        users, first = number(as_integers([(self._tables[what], what, self._user)]))
        of_train = cast(Callable[..., FloatArray], SIDE[what].of_train)  # both forms have it
        return of_train(self._pairs(what, users, len(first)), self.n_items)

    def _chances(self, what: str) -> FloatArray:
        """Read or estimate the propensity of each item; every relevant one must have it."""
        if self._user in self._tables[what].columns:
            return self._of_train(what)
        self._refuse_absent(what, "truth")
        propensity = _spread(self._numbers(what), self._items[what], self.n_items)
        # An item without a row is relevant to nobody.
        return np.where(propensity > 0.0, propensity, 1.0)

    def _stratum(self, what: str, keys: Frame) -> Any:
        """Read the items of a stratum, of all users or, with a column of users, of each list."""
        if self._user not in self._tables[what].columns:
            return np.unique(self._items[what][self._items[what] < self.n_items])
        lists, users, n_users = self._users_of(what, keys)
        return self._pairs(what, users, n_users)[lists]

    def _matrix(self, what: str) -> FloatArray:
        self._refuse_repeats(what)
        self._refuse_absent(what, "recs")
        columns = self._columns(what)
        if not columns:
            self._refuse_form(what)
        values = [numbers_of(self._tables[what], what, name) for name in columns]
        return _spread(np.stack(values, axis=1), self._items[what], self.n_items)

    def _pairs_of_items(self, what: str) -> Any:
        """Read the similarity of every two items: 0 where no row names them, symmetric."""
        frame, n_items = self._tables[what], self.n_items
        items, others = self._items[what], self._items[_OTHERS + what]
        other, value = self._columns(what)
        refuse_repeats(frame, what, [self._item, other], [items, others])
        numbers = numbers_of(frame, what, value)
        inside = (items < n_items) & (others < n_items)
        rows, columns_of = items[inside], others[inside]
        matrix, is_given = (
            sp.csr_array((each, (rows, columns_of)), shape=(n_items, n_items))
            for each in (numbers[inside], np.ones(len(rows)))
        )
        # A pair given in only one direction holds for the other, too.
        return matrix + (matrix.T - matrix.T.multiply(is_given))

    def _of_users(self, what: str, keys: Frame) -> FloatArray:
        """Read the genres of the user of each list; 0 where the table has no row of the user."""
        frame, genres = self._tables[what], self._columns("genres")
        require_columns(frame, what, [self._user, *genres])
        lists, rows, n_users = self._users_of(what, keys)
        refuse_repeats(frame, what, [self._user], [rows])
        values = np.stack([numbers_of(frame, what, name) for name in genres], axis=1)
        return _spread(values, rows, n_users)[lists]

    def _users_of(self, what: str, keys: Frame) -> tuple[IntArray, IntArray, int]:
        both = [(keys, "recs", self._user), (self._tables[what], what, self._user)]
        numbers, first = number(as_integers(both))
        return numbers[: len(keys)], numbers[len(keys) :], len(first)

    def _pairs(self, what: str, users: IntArray, n_users: int) -> Any:
        inside = self._items[what] < self.n_items
        places = users[inside], self._items[what][inside]
        return sp.csr_array((np.ones(len(places[0])), places), shape=(n_users, self.n_items))

    def _columns(self, what: str) -> list[str]:
        return [name for name in self._tables[what].columns if name != self._item]

    def _numbers(self, what: str) -> FloatArray:
        """Read one number for each row."""
        columns, frame = self._columns(what), self._tables[what]
        if len(columns) != 1:
            self._refuse_form(what)
        self._refuse_repeats(what)
        numbers = numbers_of(frame, what, columns[0])
        item_number = cast(ItemNumber, SIDE[what].number)  # both forms have it
        expected = f"expected {item_number.meaning}, or the training interactions"
        is_wrong = item_number.is_wrong(numbers)
        refuse_row(is_wrong, what, columns[0], lambda row: f"holds {numbers[row]:g}; {expected}")
        return numbers

    def _refuse_form(self, what: str) -> NoReturn:
        has = ", ".join(map(repr, self._tables[what].columns))
        msg = f"{what} must be {FORMS[what]}; it has {has}"
        raise InputError(msg, argument=what)

    def _refuse_repeats(self, what: str) -> None:
        refuse_repeats(self._tables[what], what, [self._item], [self._items[what]])

    def _refuse_outside(self, what: str, advice: str = "") -> None:
        def told(row: int) -> str:
            outside = value_at(self._frames[what], self._item, row)
            return f"holds item {outside!r}, which is not in the catalogue{advice}"

        refuse_row(self._items[what] >= self.n_items, what, self._item, told)

    def _refuse_absent(self, what: str, of: str) -> None:
        listed = self._items[of]  # but no list keeps an item outside the catalogue
        absent = (listed < self.n_items) & ~np.isin(listed, self._items[what])
        if absent.any():
            row = int(absent.argmax())
            msg = (
                f"{what} has no row for item {value_at(self._frames[of], self._item, row)!r}, "
                f"which {of} lists in row {row} (counted from 0); expected a row for every item "
                "listed"
            )
            raise InputError(msg, argument=what)


def _spread(values: FloatArray, codes: IntArray, n: int) -> FloatArray:
    spread = np.zeros((n, *values.shape[1:]))
    inside = codes < n
    spread[codes[inside]] = values[inside]
    return spread
