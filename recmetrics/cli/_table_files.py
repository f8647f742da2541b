"""Read tables of ids and numbers by polars: ``.csv``, ``.tsv`` and ``.parquet`` alike."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from recmetrics._core.errors import did_you_mean
from recmetrics._files import Source, reading, refuse_other_formats, start
from recmetrics.cli._terminal import INSTALL, CommandError

if TYPE_CHECKING:
    import polars as pl


_ZONE = r"(?i)(z|:\d\d(\.\d+)?\s*[+-]\d\d(:?\d\d)?)\s*$"  # the end of a time with a zone


class Columns(NamedTuple):
    """The columns to read of a table.

    If the table has no column of ``numbers``, those columns of ``maybe`` (None: all others) are
    read that hold only numbers.
    """

    ids: Sequence[str]  # read as text, so that files of two formats have ids of one type
    numbers: Sequence[str]
    options: Mapping[str, str]  # the options that name columns; of RECS where it is not the first
    required: bool = False  # whether each of the numbers must be there
    maybe: Collection[str] | None = ()
    maybe_ids: Collection[str] = ()  # read as text where they are there
    times: Collection[str] = ()  # of the numbers, those that may be dates
    is_first: bool = True
    instead: tuple[Collection[str], str] = ((), "")  # columns of another kind of table, and advice

    @property
    def named(self) -> list[str]:
        """The columns that must be there."""
        return [*self.ids, *(self.numbers if self.required else ())]

    @property
    def expected(self) -> str:
        """The kind of table, in errors."""
        *names, last = self.named
        columns = f"columns {', '.join(names)} and {last}" if names else f"column {last}"
        return f"a table .csv, .tsv or .parquet with a header and the {columns}"

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
        if missing := [name for name in self.named if name not in has]:
            noun = "column" if len(missing) == 1 else "columns"
            msg = (
                f"{source} has no {noun} {' and '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, has)) or 'no columns'}; expected "
                f"{self._advice(missing, has)}"
            )
            raise CommandError(msg)
        read = [name for name in has if name in (*self.ids, *self.maybe_ids, *self.numbers)]
        if any(name in self.numbers for name in read):
            return read, []
        others = (name for name in has if name not in read)
        return read, [name for name in others if self.maybe is None or name in self.maybe]

    def _advice(self, missing: Sequence[str], has: Sequence[str]) -> str:
        from recmetrics.tables import looks_like

        lacks_id = not set(missing).isdisjoint(self.ids)
        expected = self.expected if lacks_id else "one of these"
        if lacks_id and not set(self.instead[0]).isdisjoint(has):
            return f"{expected}; {self.instead[1]}"
        near = {
            option: next((column for column in has if looks_like(column, option)), "")
            for option, name in self.options.items()
            if name in missing
        }
        alike = [column for column in near.values() if column]
        if self.is_first and near:
            typed = " ".join(f"--{option} {quote(near[option] or 'COLUMN')}" for option in near)
            it_has = "it has" if len(near) == 1 else "they have"
            others = "" if len(alike) == len(near) else f" if {it_has} another name"
            return f"{expected}; type {typed}{others}"
        if alike:
            renamed = " and ".join(map(repr, alike))
            return f"{expected}; rename {renamed}: the columns have the same names in every table"
        hint = did_you_mean(missing[0], has)
        return f"{expected}; {hint}" if hint and not lacks_id else expected


def refuse_same(names: Mapping[str, str]) -> None:
    """Refuse two options that name one column."""
    for one, other in combinations(names, 2):
        if names[one] == names[other]:
            msg = (
                f"--{one} and --{other} have the same column {names[one]!r}; expected a column for "
                "each"
            )
            raise CommandError(msg)


def read_frame(source: Source, columns: Columns) -> pl.DataFrame:
    """Read the columns of a table; numbers of text are float64, of Parquet what they are."""
    expected = columns.expected
    separator = _start(source, expected)
    import polars

    with reading(source, expected):
        if separator is not None:
            frame = _read_text(source, columns, separator)
        else:
            schema = polars.read_parquet_schema(source.path)
            names, maybe = columns.found(source, list(schema))
            names += [name for name in maybe if schema[name].is_numeric()]
            frame = polars.read_parquet(source.path, columns=names)
    if frame.is_empty():
        msg = f"{source} has no rows; expected {expected}"
        raise CommandError(msg)
    ids = [name for name in frame.columns if name in (*columns.ids, *columns.maybe_ids)]
    for name in ids:
        dtype = frame.schema[name]
        if not (dtype.is_integer() or dtype in (polars.String, polars.Categorical, polars.Enum)):
            msg = f"{source}, column {name!r} holds {dtype}; expected text or integers as ids"
            raise CommandError(msg)
        if frame[name].null_count():
            row = frame[name].is_null().arg_true()[0]
            raise _in_row(source, row, f"has no {name}; expected an id in every row")
    return frame.with_columns(polars.col(ids).cast(polars.String))


def read_any(source: Source) -> pl.DataFrame:
    """Read all columns of a table, each of the type that its cells have."""
    expected = "a .csv, .tsv or .parquet with a row for each model and user"
    separator = _start(source, expected)
    import polars

    with reading(source, expected):
        if separator is None:
            return polars.read_parquet(source.path)
        return polars.read_csv(source.path, separator=separator, infer_schema_length=None)


def _start(source: Source, expected: str) -> str | None:
    """Refuse what polars cannot read; give the separator of text, None for Parquet."""
    try:
        import polars  # noqa: F401
    except ImportError as error:
        msg = f"tables need the package polars; type: {INSTALL}"
        raise CommandError(msg) from error
    first, suffix = start(source, expected), source.path.suffix.lower()
    if suffix == ".parquet":
        return None
    refuse_other_formats(source, first, expected)
    return "\t" if suffix == ".tsv" else ","


def _read_text(source: Source, columns: Columns, separator: str) -> pl.DataFrame:
    """Read the text of each cell, so that ids stay as they are, then the numbers."""
    import polars

    with source.path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file, delimiter=separator), [])
    names, maybe = columns.found(source, header)
    frame = polars.read_csv(
        source.path, columns=[*names, *maybe], separator=separator, infer_schema_length=0
    )
    ids = {*columns.ids, *columns.maybe_ids}
    if any(frame[name].null_count() for name in frame.columns if name in ids):
        rows = polars.any_horizontal(polars.all().is_not_null())
        frame = frame.filter(rows)  # without empty lines
    for name in set(frame.columns) - ids:
        text = frame[name]
        numbers = text.cast(polars.Float64, strict=False)
        if numbers.null_count():  # blanks around a number are rare: a second reading
            numbers = text.str.strip_chars().cast(polars.Float64, strict=False)
        if numbers.null_count() and name in columns.times:
            numbers = _dates(source, text)
        if name in columns.times and numbers.dtype == polars.Float64:
            whole = text.str.strip_chars().cast(polars.Int64, strict=False)
            if not whole.null_count():  # float64 would make two times of nanoseconds one
                numbers = whole
        if not numbers.null_count():
            frame = frame.with_columns(numbers)
        elif name in maybe:
            frame = frame.drop(name)
        else:
            row = numbers.is_null().arg_true()[0]
            cell = (text[row] or "")[:40]
            wrong = f"holds {cell!r} as {name}; expected a number"
            raise _in_row(source, row, wrong)
    return frame


def _dates(source: Source, text: pl.Series) -> pl.Series:
    """Read dates as ISO 8601 writes them, in UTC if they have a zone; null where none is read."""
    import polars

    is_date = text.str.contains(r"^\s*\d{4}-")
    has_zone = text.str.contains(_ZONE)
    if is_date.all() and has_zone.any() and not has_zone.all():
        row = has_zone.ne(has_zone[0]).arg_max() or 0
        has, first = ("a", "none") if has_zone[row] else ("no", "one")
        wrong = (
            f"has {has} time zone in {text[row]!r}, where row 0 has {first}; expected a zone such "
            "as Z or +01:00 behind each time, or behind none"
        )
        raise _in_row(source, row, wrong)
    try:
        dates = text.str.to_datetime(strict=False, time_zone="UTC")
    except polars.exceptions.ComputeError:  # pragma: no cover  # no date; newer ones give null
        return polars.repeat(None, len(text), eager=True)
    return dates if has_zone.all() else dates.dt.replace_time_zone(None)


def _in_row(source: Source, row: int, wrong: str) -> CommandError:
    return CommandError(f"{source}, row {row} (counted from 0) {wrong}")
