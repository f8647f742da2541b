"""Read tables of ids and numbers by polars: ``.csv``, ``.tsv`` and ``.parquet`` alike."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
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
    shared: Collection[str] = ()  # the options whose columns every table has
    instead: tuple[Collection[str], str] = ((), "")  # columns of another kind of table, and advice

    @property
    def required_names(self) -> list[str]:
        """The columns that must be there."""
        return [*self.ids, *self.numbers] if self.required else [*self.ids]

    @property
    def expected(self) -> str:
        """The kind of table, in errors."""
        *names, last_name = self.required_names
        columns = f"column {last_name}"
        if names:
            columns = f"columns {', '.join(names)} and {last_name}"
        return f"a table .csv, .tsv or .parquet with a header and the {columns}"

    def choose(self, source: Source, header: Sequence[str]) -> tuple[list[str], list[str]]:
        """Give the columns to read, and those to read if they hold numbers."""
        for name in header:
            if header.count(name) > 1:
                msg = f"{source} has the column {name!r} twice; expected every name once"
                raise CommandError(msg)
        for separator in ";\t|":
            if len(header) == 1 and separator in header[0]:
                msg = f"{source} separates its columns by {separator!r}; expected ',' in a .csv"
                raise CommandError(msg)
        if missing := [name for name in self.required_names if name not in header]:
            noun = "column" if len(missing) == 1 else "columns"
            msg = (
                f"{source} has no {noun} {' and '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, header)) or 'no columns'}; expected "
                f"{self._advice(missing, header)}"
            )
            raise CommandError(msg)

        names = [name for name in header if name in (*self.ids, *self.maybe_ids, *self.numbers)]
        if any(name in self.numbers for name in names):
            return names, []
        other_names = [name for name in header if name not in names]
        if self.maybe is not None:
            other_names = [name for name in other_names if name in self.maybe]
        return names, other_names

    def _advice(self, missing: Sequence[str], header: Sequence[str]) -> str:
        """Say what a table should have, and what to type where it lacks columns."""
        lacks_id = not set(missing).isdisjoint(self.ids)
        expected = self.expected if lacks_id else "one of these"
        if lacks_id and not set(self.instead[0]).isdisjoint(header):
            return f"{expected}; {self.instead[1]}"

        options = [option for option, name in self.options.items() if name in missing]
        likely = _likely(options, header)
        if self.is_first and options:
            words = [f"--{option} {quote(likely.get(option, 'COLUMN'))}" for option in options]
            advice = f"type {' '.join(words)}"
            if len(likely) < len(options):
                it_has = "it has" if len(options) == 1 else "they have"
                advice += f" if {it_has} another name"
            elif not likely.keys().isdisjoint(self.shared):
                advice += f" if the other tables have the same, else rename {self._renamed(likely)}"
            return f"{expected}; {advice}"
        if likely:
            renamed = self._renamed(likely)
            return f"{expected}; rename {renamed}: the columns have the same names in every table"
        hint = did_you_mean(missing[0], header)
        return f"{expected}; {hint}" if hint and not lacks_id else expected

    def _renamed(self, likely: Mapping[str, str]) -> str:
        """Write which column of a table should have which name."""
        pairs = [f"{column!r} to {self.options[option]!r}" for option, column in likely.items()]
        return " and ".join(pairs)


def _likely(options: Sequence[str], header: Sequence[str]) -> dict[str, str]:
    """Find the first column that each option may mean."""
    from recmetrics.tables import looks_like

    likely: dict[str, str] = {}
    for option in options:
        for column in header:
            if looks_like(column, option):
                likely.setdefault(option, column)
    return likely


def refuse_same(names: Mapping[str, str]) -> None:
    """Refuse two options that name one column."""
    option_of: dict[str, str] = {}
    for option, name in names.items():
        if name in option_of:
            msg = (
                f"--{option_of[name]} and --{option} have the same column {name!r}; expected a "
                "column for each"
            )
            raise CommandError(msg)
        option_of[name] = option


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
            names, maybe = columns.choose(source, list(schema))
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
    first_bytes = start(source, expected)
    suffix = source.path.suffix.lower()
    if suffix == ".parquet":
        return None
    refuse_other_formats(source, first_bytes, expected)
    return "\t" if suffix == ".tsv" else ","


def _read_text(source: Source, columns: Columns, separator: str) -> pl.DataFrame:
    """Read the text of each cell, so that ids stay as they are, then the numbers."""
    import polars

    with source.path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file, delimiter=separator), [])
    names, maybe = columns.choose(source, header)
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
            integers = text.str.strip_chars().cast(polars.Int64, strict=False)
            if not integers.null_count():  # float64 would make two times of nanoseconds one
                numbers = integers
        if not numbers.null_count():
            frame = frame.with_columns(numbers)
        elif name in maybe:
            frame = frame.drop(name)
        else:
            row = numbers.is_null().arg_true()[0]
            cell = (text[row] or "")[:40]
            raise _in_row(source, row, f"holds {cell!r} as {name}; expected a number")
    return frame


def _dates(source: Source, text: pl.Series) -> pl.Series:
    """Read dates as ISO 8601 writes them, in UTC if they have a zone; null where none is read."""
    import polars

    is_date = text.str.contains(r"^\s*\d{4}-")
    has_zone = text.str.contains(_ZONE)
    if is_date.all() and has_zone.any() and not has_zone.all():
        row = has_zone.ne(has_zone[0]).arg_max() or 0
        fault = f"has no time zone in {text[row]!r}, where row 0 has one"
        if has_zone[row]:
            fault = f"has a time zone in {text[row]!r}, where row 0 has none"
        expected = "expected a zone such as Z or +01:00 behind each time, or behind none"
        raise _in_row(source, row, f"{fault}; {expected}")
    try:
        dates = text.str.to_datetime(strict=False, time_zone="UTC")
    except polars.exceptions.ComputeError:  # pragma: no cover  # no date; newer ones give null
        return polars.repeat(None, len(text), eager=True)
    return dates if has_zone.all() else dates.dt.replace_time_zone(None)


def _in_row(source: Source, row: int, fault: str) -> CommandError:
    return CommandError(f"{source}, row {row} (counted from 0) {fault}")
