"""Read tables of ids and numbers: ``.csv``, ``.tsv`` and ``.parquet`` alike."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from recmetrics._errors import did_you_mean
from recmetrics._io import (
    LineError,
    Source,
    opened,
    read_number,
    read_rows,
    reading,
    refuse_beyond_memory,
    refuse_other_formats,
)
from recmetrics.cli._failures import CommandError
from recmetrics.cli._terminal import INSTALL, quiet

if TYPE_CHECKING:
    from io import BufferedReader

    from narwhals.stable.v2 import DataFrame

Backend = Literal["polars", "pyarrow", "pandas"]
_LEAST_OF_A_ROW = 32  # bytes in memory: two ids as text, or one and two numbers
_SUFFIXES = (".csv", ".tsv", ".parquet")


Advice: TypeAlias = Callable[[Sequence[str], Sequence[str]], str]
"""Ends the error of missing columns, from their names and the columns that are there."""


class Columns(NamedTuple):
    """The columns to read of a table.

    If the table has no column of ``numbers``, those columns of ``maybe`` (None: all others) are
    read that hold only numbers.
    """

    expected: str  # the kind of table, in errors
    ids: Sequence[str]  # read as text, so that files of two formats have ids of one type
    numbers: Sequence[str]
    required: bool = False  # whether each of the numbers must be there
    maybe: Collection[str] | None = ()
    advice: Advice | None = None
    maybe_ids: Collection[str] = ()  # read as text where they are there

    def found(self, source: Source, has: Sequence[str]) -> tuple[list[str], list[str]]:
        """Give the columns to read, and those to read if they hold numbers."""
        for name in has:
            if has.count(name) > 1:
                msg = f"{source} has the column {name!r} twice; expected every name once"
                raise CommandError(msg)
        separator = next((each for each in ";\t|" if len(has) == 1 and each in has[0]), None)
        if separator is not None:
            msg = f"{source} separates its columns by {separator!r}; expected ',' in a .csv"
            raise CommandError(msg)
        required = (*self.ids, *(self.numbers if self.required else ()))
        if missing := [name for name in required if name not in has]:
            raise CommandError(self._without(source, missing, has))
        read = [name for name in has if name in (*self.ids, *self.maybe_ids, *self.numbers)]
        if any(name in self.numbers for name in read):
            return read, []
        others = (name for name in has if name not in read)
        return read, [name for name in others if self.maybe is None or name in self.maybe]

    def _without(self, source: Source, missing: Sequence[str], has: Sequence[str]) -> str:
        """Write the error of missing columns."""
        noun = "column" if len(missing) == 1 else "columns"
        named = ", ".join(map(repr, has)) or "no columns"
        advice = "" if self.advice is None else self.advice(missing, has)
        expected = self.expected
        if set(missing).isdisjoint(self.ids):
            expected = "one of these"
            if not advice and (hint := did_you_mean(missing[0], has)):
                advice = f"; {hint}"
        return (
            f"{source} has no {noun} {' and '.join(map(repr, missing))}; it has {named}; expected "
            f"{expected}{advice}"
        )


def is_table(path: Path) -> bool:
    """Say whether a file is a table, by its name; scores are an .npy or .npz."""
    return path.suffix.lower() in _SUFFIXES


def column_names(args: Namespace, defaults: Mapping[str, str | None]) -> dict[str, str]:
    """Give the name of each column: its option, or the default; a column without both has none."""
    given = {each: getattr(args, each) or default for each, default in defaults.items()}
    names = {each: name for each, name in given.items() if name is not None}
    for one, other in combinations(names, 2):
        if names[one] == names[other]:
            msg = (
                f"--{one} and --{other} have the same column {names[one]!r}; expected a column for "
                "each"
            )
            raise CommandError(msg)
    return names


def read_frame(source: Source, columns: Columns) -> DataFrame[Any]:
    """Read the columns of a table; numbers of text are float64, of Parquet what they are."""
    try:
        import narwhals.stable.v2 as nw
    except ImportError as error:
        msg = f"tables need the package narwhals; type: {INSTALL}"
        raise CommandError(msg) from error
    backend, expected = _backend(), columns.expected
    if source.path.suffix.lower() == ".parquet":
        with opened(source, expected, regular=True), reading(source, expected):
            frame = _read_parquet(source, columns, backend)
    else:
        with opened(source, expected) as file, reading(source, expected):
            refuse_other_formats(source, file, expected)
            cells = _read_text(source, file, columns)
        ids = {*columns.ids, *columns.maybe_ids}
        schema = {name: nw.String if name in ids else nw.Float64 for name in cells}
        frame = nw.from_dict(cells, schema, backend=backend)
    if not len(frame):
        msg = f"{source} has no rows; expected {expected}"
        raise CommandError(msg)
    return frame


def _backend() -> Backend:
    """The library that holds the tables: the first that is installed."""
    libraries: tuple[Backend, ...] = ("polars", "pyarrow", "pandas")
    for name in libraries:
        if importlib.util.find_spec(name) is not None:
            return name
    msg = f"tables need one of the packages {', '.join(libraries)}; type: {INSTALL}"
    raise CommandError(msg)


def _read_parquet(source: Source, columns: Columns, backend: Backend) -> DataFrame[Any]:
    import narwhals.stable.v2 as nw

    with quiet():
        try:
            refuse_beyond_memory(_LEAST_OF_A_ROW * _n_rows(source.path, backend))
            frame = nw.read_parquet(str(source.path), backend=backend)
        except Exception:
            raise
        except BaseException as error:  # polars panics with a BaseException
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            msg = "it is damaged"
            raise ValueError(msg) from error
    names, maybe = columns.found(source, frame.columns)
    id_names = [name for name in names if name in (*columns.ids, *columns.maybe_ids)]
    for name in id_names:
        dtype = frame.schema[name]
        if not (dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)):
            msg = f"its column {name!r} holds {dtype}; expected text or integers"
            raise ValueError(msg)
        if backend != "polars":  # the others read bytes that are no text, and fail later
            frame[name].to_arrow().validate(full=True)
    ids = [nw.col(name).cast(nw.String) for name in id_names]
    more = [name for name in maybe if frame.schema[name].is_numeric()]
    return frame.select(*ids, *(name for name in names if name not in id_names), *more)


def _n_rows(path: Path, backend: Backend) -> int:
    """Read the number of rows that a file claims to have, without unpacking any."""
    if backend == "polars":
        import polars as pl

        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _read_text(source: Source, file: BufferedReader, columns: Columns) -> dict[str, list[Any]]:
    rows = read_rows(file, "\t" if source.path.suffix.lower() == ".tsv" else ",")
    _, header = next(rows, (1, []))
    names, maybe = columns.found(source, header)
    read: dict[str, list[Any]] = {name: [] for name in (*names, *maybe)}
    ids = {*columns.ids, *columns.maybe_ids}
    places = [(header.index(name), read[name], name, name in ids) for name in names]
    maybe_places = {name: header.index(name) for name in maybe}
    for line, cells in rows:
        for place, column, name, is_id in places:
            column.append(_value(line, cells[place], name, is_id=is_id))
        for name, place in list(maybe_places.items()):
            try:
                read[name].append(read_number(cells[place]))
            except ValueError:
                del read[name], maybe_places[name]
    return read


def _value(line: int, cell: str, name: str, *, is_id: bool) -> str | float:
    if not is_id:
        try:
            return read_number(cell)
        except ValueError:
            msg = f"cannot read {cell[:40]!r} as {name}; expected a number"
            raise LineError(line, msg) from None
    if not cell:
        msg = f"no {name}; expected an id in every row"
        raise LineError(line, msg)
    return cell
