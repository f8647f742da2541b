"""Tables of ids and numbers, read by polars: with a header, Parquet, and TREC's runs and qrels.

Text with a header is ``.csv``, ``.tsv`` or RecBole's ``.inter``.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from recmetrics._core.errors import (
    InputError,
    MetricSpecError,
    at_fault,
    did_you_mean,
    install,
    looks_like,
)
from recmetrics._core.results import spec_of
from recmetrics._files.per_user import weight_names
from recmetrics._files.source import (
    BOOLS,
    Source,
    as_dict,
    at_line,
    count_of_fields,
    read_number,
    reading,
    refuse_other_formats,
    separator_of,
    start,
    suffix_of,
)

if TYPE_CHECKING:
    import polars as pl


TrecForm: TypeAlias = Literal["run", "qrels"]
SUFFIXES = (".csv", ".tsv", ".inter", ".parquet")
"""The endings of the names of tables, of text before that of gzip."""
TABLES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
"""These endings in messages."""

_TREC_LINES = {
    "run": "the 6 of a TREC run: 'query Q0 item rank score tag'",
    "qrels": "the 4 of TREC's qrels: 'query 0 item relevance'",
}
_TREC_FIELDS = {  # of these lines, the second, and those that are read
    "run": r"^\s*(\S+)\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s*$",
    "qrels": r"^\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$",
}
_TREC_SECOND = ("0", "Q0")
"""The second field of nearly all lines of TREC, in capitals; it is not read."""
_TREC_SUFFIXES = (".run", ".qrels", ".qrel", ".trec")
"""The endings of files whose lines may have any second field."""
_BLOCK_ROWS = 1 << 20  # of a text that is read in parts
_SAMPLE_ROWS = 1000  # the rows of such a text that say which columns hold numbers
_NUMBER = r"[-+]?\d*\.?\d+([eE][-+]?\d+)?|[\d\s]+"  # a name that is none: a number, or indices
_ZONE = r"(?i)(z|:\d\d(\.\d+)?\s*[+-]\d\d(:?\d\d)?)\s*$"  # the end of a time with a zone


class Columns(NamedTuple):
    """The columns to read of a table.

    If the table has no column of ``numbers``, those columns of ``maybe`` (None: all others) are
    read that hold numbers, or that go by another name of ``numbers``. Where there are no
    ``numbers`` to read, other cells in these columns are an error.
    """

    ids: Sequence[str]  # read as text, so that files of two formats have ids of one type
    numbers: Sequence[str]
    options: Mapping[str, str]  # the options that name columns; of RECS where it is not the first
    required: bool = False  # whether each of the numbers must be there
    maybe: Collection[str] | None = ()
    maybe_ids: Collection[str] = ()  # read as text where they are there
    times: Collection[str] = ()  # of the numbers, those that may be dates
    bools: Collection[str] = ()  # of the numbers, those that may be True and False
    blanks: Collection[str] = ()  # of the numbers, those whose empty cells are NaN
    if_blank: tuple[str, str] = ("", "")  # a column of numbers, and advice on its empty cells
    is_first: bool = True
    shared: Collection[str] = ()  # the options whose columns every table has
    score: str = "score"  # what the numbers in TREC's runs are
    relevance: str = "relevance"  # and those in its qrels
    instead: tuple[Collection[str], str] = ((), "")  # columns of another kind of table, and advice
    may_be_empty: bool = False  # whether the table may have no rows

    def has_name_of_numbers(self, column: str) -> bool:
        """Say whether a column goes by another name of ``numbers``."""
        return any(looks_like(column, name) for name in self.numbers)

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
        return f"a table {TABLES} with a header and the {columns}"

    def of_trec(self, form: TrecForm) -> list[str]:
        """Name the columns that the lines of TREC's files have."""
        return [*self.ids[:2], self.score if form == "run" else self.relevance]

    def of_recbole(self, header: Sequence[str]) -> list[str]:
        """Take the types off a header of RecBole, whose ids are user_id and item_id by default."""
        names = [name.partition(":")[0] for name in header]
        for column in self.ids:
            if column not in names and f"{column}_id" in names:
                names[names.index(f"{column}_id")] = column
        return names

    def choose(self, source: Source, header: Sequence[str]) -> tuple[list[str], list[str]]:
        """Give the columns to read, and those to read only if they hold numbers.

        ``header`` are the names of the columns of the file; a name that stands twice is refused.
        """
        if missing := [name for name in self.required_names if name not in header]:
            noun = "column" if len(missing) == 1 else "columns"
            msg = (
                f"{source} has no {noun} {' and '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, header)) or 'no columns'}; expected "
                f"{self._advice(source, missing, header)}"
            )
            raise InputError(msg)
        _refuse_repeated_names(source, header)

        names = [name for name in header if name in (*self.ids, *self.maybe_ids, *self.numbers)]
        if any(name in self.numbers for name in names):
            return names, []  # other columns stand in for missing ``numbers`` alone
        if_numeric = [name for name in header if name not in names]
        if self.maybe is not None:
            if_numeric = [name for name in if_numeric if name in self.maybe]
        return names, if_numeric

    def _advice(self, source: Source, missing: Sequence[str], header: Sequence[str]) -> str:
        """Say what a table should have, and what to type where it lacks columns."""
        lacks_id = not set(missing).isdisjoint(self.ids)
        expected = self.expected if lacks_id else "one of these"
        if advice := self.advice_on_text(source, missing, header):
            return f"{expected}; {advice}"
        if advice := self._advice_on_wide_lists(source, missing, header):
            return f"{expected}; {advice}"
        if lacks_id and not set(self.instead[0]).isdisjoint(header):
            return f"{expected}; {self.instead[1]}"

        options = [option for option, name in self.options.items() if name in missing]
        likely = _likely(options, header)
        if self.is_first and options:
            words = [source.typed(option, likely.get(option, "COLUMN")) for option in options]
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

    def advice_on_text(self, source: Source, missing: Sequence[str], header: Sequence[str]) -> str:
        """Say what to do with a text that has data for a header, or blanks between columns.

        Of other tables, nothing.
        """
        fields = " ".join(header).split()
        if source.suffix == ".parquet":
            return ""
        if number := self._line_of_names(source):
            return f"line {number} has these names: remove the lines above it"
        are_indices = "".join(fields).isdecimal()
        if not are_indices and len(header) == 1:
            if not 1 < len(missing) <= len(fields):
                return ""
            return (
                "blanks seem to separate its columns, where a comma, a tab, ; or | should stand: "
                f"write {','.join(fields)[:60]!r} and so on"
            )
        # A table with a column for each of some numbers has a header with an id beside them.
        has_number = any(re.fullmatch(_NUMBER, name) for name in header)
        if not has_number or not set(self.ids) <= set(missing):
            return ""
        return self._advice_on_numbers(source, header, fields)

    def _advice_on_numbers(
        self, source: Source, header: Sequence[str], fields: Sequence[str]
    ) -> str:
        """Say what to do with a text without a header; ``fields`` are those between blanks."""
        as_lists = ""
        are_indices = "".join(fields).isdecimal()
        if are_indices and len(self.ids) > 1 and holds_lists(source):
            code = as_dict(source.path)
            as_lists = f"for lines of a user and items, in Python, type {code} for the file"
            with source.open_text() as file:
                widths = {len(line.split()) for line in file if line.strip()}
            if len(fields) < 3 or len(widths) > 1:  # two are a user and an item
                return as_lists
            as_lists += "; "
        numbers = self.times or [self.score if self.is_first else self.relevance]
        names = [*self.ids, *numbers][: len(fields)]
        n_columns = len(header) if len(header) > 1 else len(fields)
        n_unread = n_columns - len(names)
        place = len(names) - len(self.times)  # times are last, as in MovieLens, behind ratings
        names[place:place] = [f"column{place + 1 + column}" for column in range(n_unread)]
        if len(header) > 1 or len(fields) == 1:
            separator = separator_of(source, _first_line(source))
            which = "if they are none" if as_lists else "its first line holds numbers, no names:"
            return (
                f"{as_lists}{which} write a header above the lines, such as "
                f"{separator.join(names)!r}"
            )
        code = as_frame(source.path, names)
        return f"{as_lists}for lines of a user and an item, in Python, type {code} for the file"

    def _line_of_names(self, source: Source) -> int | None:
        """Find the names below a title or a comment, among the first lines; give the line."""
        with source.open_text(errors="replace") as file:
            for number, line in enumerate(islice(file, 10), start=1):
                names = next(csv.reader([line], delimiter=separator_of(source, line)), [])
                if set(self.required_names) <= set(names):
                    return number
        return None

    def _advice_on_wide_lists(
        self, source: Source, missing: Sequence[str], header: Sequence[str]
    ) -> str:
        """Say how to read a table with a row for each list; "" for any other."""
        item_columns = columns_of_places(header)
        if not item_columns or len(self.ids) < 2 or list(missing) != [self.ids[1]]:
            return ""
        user, item = self.ids[:2]
        code = (
            f"{as_frame(source.path)}.unpivot({item_columns}, index={user!r}, value_name={item!r})"
        )
        code += f".select({user!r}, {item!r}).drop_nulls()"
        return (
            "it has a column for each place of a list; for a row for each item, best first, in "
            f"Python, type {code} for the file"
        )

    def _renamed(self, likely: Mapping[str, str]) -> str:
        """Write which column of a table should have which name."""
        pairs = [f"{column!r} to {self.options[option]!r}" for option, column in likely.items()]
        return " and ".join(pairs)


def columns_of_places(header: Sequence[str]) -> list[str]:
    """Name the columns for the places of a list, in a table with a row for each list.

    These have the names of items and numbers, in whose order they come.

    >>> columns_of_places(["user", "item_10", "item_2"])
    ['item_2', 'item_10']
    """
    of_items = [name for name in header if re.search(r"\D\d+$", name) and looks_like(name, "item")]
    columns = {int(re.findall(r"\d+$", name)[0]): name for name in of_items}
    if len(columns) < max(2, len(of_items)):  # one column, or two for one place
        return []
    return [columns[place] for place in sorted(columns)]


def _refuse_repeated_names(source: Source, header: Sequence[str]) -> None:
    """Refuse a header with two columns of one name, of which a caller could mean either."""
    for name in header:
        if header.count(name) > 1:
            msg = f"{source} has the column {name!r} twice; expected every name once"
            raise InputError(msg)


def _likely(options: Sequence[str], header: Sequence[str]) -> dict[str, str]:
    """Find the first column that each option may mean."""
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
            raise InputError(msg)
        option_of[name] = option


def read_table(source: Source, columns: Columns) -> pl.DataFrame:
    """Read the columns of a table; numbers of text are float64, of Parquet what they are."""
    expected = columns.expected
    layout = _layout(source, expected)
    import polars

    with reading(source, expected):
        if layout is not None:
            frame = _read_text(source, columns, layout)
        else:
            frame = _chosen(source, columns, polars.scan_parquet(source.path, glob=False)).collect()
    if frame.is_empty() and not columns.may_be_empty:
        raise _without_rows(source)
    _refuse_null_ids(source, columns, layout, frame)
    return frame


def _without_rows(source: Source) -> InputError:
    hint = ""
    if source.suffix != ".parquet":
        with source.open_text(errors="replace") as file:
            if file.readline().endswith("\r"):
                hint = "; its lines end with '\\r' alone, expected '\\n'"
    return InputError(f"{source} has no rows; expected at least one{hint}")


def _refuse_null_ids(
    source: Source, columns: Columns, layout: _Layout | None, frame: pl.DataFrame
) -> None:
    """Refuse a row without an id."""
    for name in frame.columns:
        if name in (*columns.ids, *columns.maybe_ids) and frame[name].null_count():
            row = frame[name].is_null().arg_true()[0]
            raise _in_row(source, layout, row, f"has no {name}; expected an id in every row")


def scan_table(source: Source, columns: Columns) -> pl.LazyFrame:
    """Read a table like ``read_table``, but lazily where it is Parquet or text with a header."""
    layout = _layout(source, columns.expected)
    import polars

    with reading(source, columns.expected):
        if layout is None:
            rows = _chosen(source, columns, polars.scan_parquet(source.path, glob=False))
            if not rows.select(polars.len()).collect().item():
                raise _without_rows(source)
            return rows
        if layout.form is not None or source.path.suffix == ".gz":
            return read_table(source, columns).lazy()
        return _scan_text(source, columns, layout)


def _scan_text(source: Source, columns: Columns, layout: _Layout) -> pl.LazyFrame:
    """Read text with a header by blocks of rows, each by the rules of ``_read_text``.

    The first rows say which of the columns to read only if numeric hold numbers.
    """
    import polars
    from polars.io.plugins import register_io_source

    header, new_names, if_numeric = _read_header(source, columns, layout)
    text = polars.scan_csv(source.path, separator=layout.separator, infer_schema=False, glob=False)
    names_of_polars = text.collect_schema().names()
    text = text.select(
        polars.col(names_of_polars[header.index(name)]).alias(new_name)
        for name, new_name in new_names.items()
    )

    def blocks(rows: pl.LazyFrame, *, drops_words: bool = False) -> Iterator[pl.DataFrame]:
        n_rows = 0
        # A command names the file, and its option with it.
        with nullcontext() if source.in_shell else at_fault(source.label):
            try:
                for cells in rows.collect_batches(chunk_size=_BLOCK_ROWS):
                    here = layout._replace(n_rows_before=n_rows)
                    if drops_words:
                        cells = _without_words(columns, cells, if_numeric)
                    block = _with_numbers(source, columns, here, cells, if_numeric)
                    _refuse_null_ids(source, columns, here, block)
                    n_rows += len(block)
                    yield block
            except polars.exceptions.ComputeError:
                with reading(source, columns.expected):
                    _refuse_malformed(source, layout.separator)
                raise
            if not n_rows:
                with reading(source, columns.expected):  # of a malformed file may be no rows either
                    _refuse_malformed(source, layout.separator)
                raise _without_rows(source)

    first_rows = next(blocks(text.head(_SAMPLE_ROWS), drops_words=True))
    text = text.select(first_rows.columns)

    def read(
        names: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: object
    ) -> Iterator[pl.DataFrame]:
        n_left = n_rows
        for block in blocks(text):  # pragma: no cover  # in threads of polars
            rows = block if predicate is None else block.filter(predicate)
            if n_left is not None:
                rows = rows.head(n_left)
                n_left -= len(rows)
            yield rows.select(names or polars.all())
            if n_left == 0:
                return

    return register_io_source(read, schema=first_rows.schema)


def _chosen(source: Source, columns: Columns, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Choose the columns of a table whose cells have types; the ids become text."""
    import polars

    schema = frame.collect_schema()
    names, if_numeric = columns.choose(source, list(schema))
    for name in if_numeric:
        if schema[name].is_numeric() or columns.has_name_of_numbers(name):
            names.append(name)
    ids = [name for name in names if name in (*columns.ids, *columns.maybe_ids)]
    for name in columns.ids[1:2]:
        # The error that says how to make a row of each item of a list comes later, with the table.
        if isinstance(schema[name], polars.List | polars.Array):
            ids.remove(name)
    for name in ids:
        dtype = schema[name]
        if not (dtype.is_integer() or dtype in (polars.String, polars.Categorical, polars.Enum)):
            msg = f"{source}, column {name!r} holds {dtype}; expected text or integers as ids"
            if dtype.is_float() or dtype.is_temporal() or dtype == polars.Boolean:
                msg += _advice_on_ids(source, name, is_float=dtype.is_float())
            raise InputError(msg)
    return frame.select(names).with_columns(polars.col(ids).cast(polars.String))


def _advice_on_ids(source: Source, column: str, *, is_float: bool) -> str:
    """Say how to make text of the ids of a Parquet file; 1.0 becomes 1, as other tables have it."""
    text = f"polars.col({column!r}).cast(str)"
    if is_float:
        text += ".str.strip_suffix('.0')"
    code = f"{as_frame(source.path)}.with_columns({text})"
    use = "for the file"
    if source.in_shell:
        code += ".write_parquet('ids.parquet')"
        use = "and give ids.parquet"
    return f"; for text, in Python, type {code} {use}"


def read_any(
    source: Source, labels: Collection[str] = (), n_labels: int = 0, metrics: Collection[str] = ()
) -> pl.DataFrame:
    """Read all columns of a table, each of the type that its cells have.

    Cells stay text where integers, or numbers of ``labels`` and of the first ``n_labels`` columns,
    would be written otherwise: 01 and 1 are two ids, 1.10 and 1.1 two labels. Beside ``metrics``,
    columns that are not named like a metric are labels, too. In other columns of decimals, and in
    metrics, NA is no value, and blanks may stand around a number; other text in a metric that is
    compared is an error. So is a row that ends before the last column, or a name that stands twice.
    """
    expected = "a .csv, .tsv or .parquet with a header"
    layout = _layout(source, expected)
    import polars

    with reading(source, expected):
        if layout is None:
            return polars.read_parquet(source.path, glob=False)

        with source.open_bytes() as file:
            data = file.read()
        # Spreadsheets end each row with cells of columns without a name.
        _refuse_repeated_names(source, [*filter(None, _read_names(source, layout))])
        cells = _read_csv(source, layout.separator, data)
        if cells.width and cells[:, -1].null_count():
            _refuse_short_rows(source, layout, cells.width - 1)
        frame = polars.read_csv(data, separator=layout.separator, infer_schema_length=None)
        # A blank line is a row without a cell.
        is_filled = cells.select(polars.any_horizontal(polars.all().is_not_null())).to_series()
        frame = frame.filter(is_filled)
        cells = cells.filter(is_filled)

        weights = weight_names(frame.columns).values()
        for name in frame.columns:
            is_metric = name in metrics or name in weights
            with suppress(MetricSpecError):
                is_metric = is_metric or spec_of(name) is not None
            is_label = name in (*labels, *frame.columns[:n_labels])
            is_label |= bool(metrics) and not is_metric  # a part of what identifies a user

            column = frame[name]
            if is_label or column.dtype.is_integer():
                is_other = column.cast(polars.String) != cells[name]
                if is_other.any() or column.dtype == polars.Boolean:  # Python writes True
                    frame = frame.with_columns(cells[name])
            elif column.dtype == polars.String:
                is_metric |= n_labels > 0  # beside the labels of pairs are numbers alone
                column = _numbers_or_text(source, layout, column, is_metric=is_metric)
                frame = frame.with_columns(column)
                if is_metric and column.dtype == polars.String and (name in metrics or not metrics):
                    raise _at_first_word(source, layout, cells[name])
        return frame


def _numbers_or_text(
    source: Source, layout: _Layout, text: pl.Series, *, is_metric: bool
) -> pl.Series:
    """Read a column of text as float64 if its cells are numbers, or missing.

    Numbers without a point may be ids, which stay as they are unless it ``is_metric``. Numbers with
    a decimal comma would be text: they are refused.
    """
    is_missing = text.fill_null("").str.strip_chars().is_in(["", "NA"])  # nan is a float
    numbers = _as_numbers(text)
    is_decimal = text.str.contains(".", literal=True).any()
    if (numbers.is_not_null() | is_missing).all() and (is_metric or is_decimal):
        return numbers
    has_comma = text.str.contains(",", literal=True)
    numbers = _as_numbers(text.str.replace(",", ".", literal=True))
    if has_comma.any() and (numbers.is_not_null() | is_missing).all():
        row = has_comma.arg_max() or 0
        fault = f"holds {text[row][:40]!r} as {text.name}; expected a number"
        raise _in_row(source, layout, row, fault)
    return text


def _at_first_word(source: Source, layout: _Layout, text: pl.Series) -> InputError:
    """Make the error on the first cell of a column that is neither a number nor missing."""
    is_missing = text.str.strip_chars().is_in(["", "NA"])
    is_word = _as_numbers(text).is_null() & ~is_missing.fill_null(True)
    row = is_word.arg_max() or 0
    fault = f"holds {text[row][:40]!r} as {text.name}; expected a number"
    return _in_row(source, layout, row, fault)


def _as_numbers(text: pl.Series) -> pl.Series:
    """Read text as float64, also with blanks around; null where there is no number."""
    import polars

    numbers = text.cast(polars.Float64, strict=False)
    if numbers.null_count():  # blanks around a number are rare: a second reading
        numbers = text.str.strip_chars().cast(polars.Float64, strict=False)
    return numbers


def holds_table(path: Path) -> bool:
    """Say whether a file is a table, by its name, or a run of TREC, by its first line."""
    suffix = suffix_of(path)
    if suffix in (*SUFFIXES, ".npy", ".npz"):
        return suffix in SUFFIXES
    source = Source("", path)
    try:
        return path.is_file() and _trec_form(_first_line(source), suffix) == "run"
    except (OSError, ValueError, EOFError, zlib.error):  # no text
        return False


def holds_lists(source: Source) -> bool:
    """Say whether each line of a text has a user of its own, and items, with blanks between."""
    with reading(source, "lines of text"), source.open_text() as file:
        text = file.read()
    users = [line.split()[0] for line in text.splitlines() if line.strip()]
    return not set(text) & set(",;|") and len(set(users)) == len(users)


def as_frame(path: Path, names: Sequence[str] = ()) -> str:
    """Write the code that reads a table into a frame of polars, its cells as text.

    ``names`` are those of the columns of a text without a header, with blanks between.
    """
    file = repr(str(path))
    if set(file) & set("*?["):  # signs of a pattern, which would name other files
        file += ", glob=False"
    if suffix_of(path) == ".parquet":
        return f"polars.read_parquet({file})"
    if names:
        return f"polars.read_csv({file}, separator=' ', has_header=False, new_columns={names})"
    source = Source("", path)
    separator = separator_of(source, _first_line(source))
    option = "" if separator == "," else f", separator={separator!r}"
    return f"polars.read_csv({file}, infer_schema=False{option})"


class _Layout(NamedTuple):
    """How a text holds a table: lines of TREC, or columns below a header."""

    form: TrecForm | None
    separator: str
    n_rows_before: int = 0  # in the file, before those that are read


def require_polars() -> None:
    """Refuse tables where polars is not installed; the extra that is named brings narwhals, too."""
    if find_spec("polars") is None:
        msg = f"tables need the package polars; type: {install('cli')}"
        raise InputError(msg)


def _layout(source: Source, expected: str) -> _Layout | None:
    """Refuse what polars cannot read; give the layout of text, None for Parquet."""
    require_polars()
    first_bytes = start(source, expected, of_text=True)
    if source.suffix == ".parquet":
        return None
    refuse_other_formats(source, first_bytes, expected)
    with reading(source, expected):
        line = _first_line(source)
        form = _trec_form(line, source.suffix)
        return _Layout(form, separator_of(source, line))


def _first_line(source: Source) -> str:
    """Give the first line that is neither empty nor a comment of TREC."""
    with source.open_text(errors="surrogateescape") as file:  # the rest may hold any byte
        return next(filter(_is_filled, file), "")


def _is_filled(line: str) -> bool:
    """Say whether a line holds fields: it is neither empty nor a comment of TREC.

    A comment begins with #, as some ids of queries do, and has not the fields of a line.
    """
    if line.startswith("#"):
        return _trec_form(line) is not None
    return bool(line.strip())


def _trec_form(line: str, suffix: str = "") -> TrecForm | None:
    """Tell TREC's files by the fields of a line, and by the ending of the file's name."""
    fields = line.split()
    form: TrecForm
    if len(fields) == 6 and _is_number(fields[3]) and _is_number(fields[4]):
        form = "run"
    elif len(fields) == 4 and _is_number(fields[3]):
        form = "qrels"
    else:
        return None

    # No header has such a second field.
    if fields[1].upper() in _TREC_SECOND or suffix in _TREC_SUFFIXES:
        return form
    # Some runs have a word there, and some qrels the number of a round or of a part of the topic.
    # A line of a user and items, or of user, item, rating and time, has a number as its third, too.
    if suffix in SUFFIXES or _is_number(fields[2]):
        return None
    return form if form == "run" or _is_number(fields[1]) else None


def _is_number(field: str) -> bool:
    """Say whether a field of text is a number."""
    try:
        read_number(field)
    except ValueError:
        return False
    return True


def _read_text(source: Source, columns: Columns, layout: _Layout) -> pl.DataFrame:
    """Read the text of each cell, so that ids stay as they are, then the numbers."""
    frame, if_numeric = _read_cells(source, columns, layout)
    frame = _without_words(columns, frame, if_numeric)
    return _with_numbers(source, columns, layout, frame, if_numeric)


def _without_words(
    columns: Columns, frame: pl.DataFrame, if_numeric: Sequence[str]
) -> pl.DataFrame:
    """Drop the columns of ``if_numeric`` that hold words, unless they have a name of numbers.

    Numbers in fewer than half of the filled cells are words, too, such as some titles of films.
    """
    for name in if_numeric:
        text = frame[name]
        n_numbers = _read_numbers(columns, text).count()
        n_filled = (text.str.strip_chars() != "").sum()
        holds_numbers = n_numbers > 0 and 2 * n_numbers >= n_filled
        if not (holds_numbers or columns.has_name_of_numbers(name)):
            frame = frame.drop(name)
    return frame


def _with_numbers(
    source: Source,
    columns: Columns,
    layout: _Layout,
    frame: pl.DataFrame,
    if_numeric: Sequence[str],
) -> pl.DataFrame:
    """Read the numbers in cells of text; drop empty lines.

    Columns of ``if_numeric`` stand in for missing ``numbers`` and have null in other cells, so that
    a caller can refuse them. In all other columns, also where there are no ``numbers``, such a cell
    is an error.
    """
    import polars

    ids = {*columns.ids, *columns.maybe_ids}
    if any(frame[name].null_count() for name in frame.columns if name in ids):
        rows = polars.any_horizontal(polars.all().is_not_null())
        frame = frame.filter(rows)  # without empty lines
    for name in columns.blanks:
        if frame[name].null_count():
            _refuse_short_rows(source, layout, _place(source, columns, layout, name))
    for name in sorted(set(frame.columns) - ids, key=frame.columns.index):
        text = frame[name]
        if name in columns.times:
            numbers = _times(source, layout, text)
        else:
            numbers = _read_numbers(columns, text)
        stands_in = name in if_numeric and columns.numbers
        if numbers.null_count() and not stands_in:
            raise _at_first_null(source, columns, layout, text, numbers)
        frame = frame.with_columns(numbers)
    return frame


def _at_first_null(
    source: Source, columns: Columns, layout: _Layout, text: pl.Series, numbers: pl.Series
) -> InputError:
    """Make the error on the first cell of a column of text that is none of its ``numbers``."""
    import polars

    row = numbers.is_null().arg_true()[0]
    cell = text[row]
    if cell is None:
        _refuse_short_rows(source, layout, _place(source, columns, layout, text.name))
        cell = ""
    expected = "a number"
    if text.name in columns.times and numbers.dtype != polars.Float64:
        are_dates = numbers.null_count() < len(numbers)
        expected = "a date" if are_dates else "a number or a date"
        expected += " such as 2020-01-31"
    elif text.name in columns.bools and not cell.strip():
        expected += "; write 0 where an item is not relevant"
    elif text.name == columns.if_blank[0] and not cell.strip():
        expected += columns.if_blank[1]
    return _in_row(source, layout, row, f"holds {cell[:40]!r} as {text.name}; expected {expected}")


def _read_numbers(columns: Columns, text: pl.Series) -> pl.Series:
    """Read a column of text as float64; null where there is no number."""
    if text.name in columns.blanks:
        text = text.fill_null("").str.strip_chars().replace({"": "nan"})
    numbers = _as_numbers(text)
    if numbers.null_count() and text.name in columns.bools:
        words = text.str.strip_chars().str.to_lowercase()
        numbers = _as_numbers(words.replace(BOOLS))
    return numbers


def _read_cells(
    source: Source, columns: Columns, layout: _Layout
) -> tuple[pl.DataFrame, list[str]]:
    """Read the columns as text; give them, and the names of those to keep only if numeric."""
    with source.open_bytes() as file:
        text = file.read().removeprefix(b"\xef\xbb\xbf")
    if layout.form is not None:
        if len(columns.ids) < 2:
            msg = f"{source} has {_TREC_LINES[layout.form]}; expected {columns.expected}"
            raise InputError(msg)
        names, if_numeric = columns.choose(source, columns.of_trec(layout.form))
        frame = _read_trec(source, text.decode(), columns, layout.form)
        return frame.select([*names, *if_numeric]), if_numeric

    header, new_names, if_numeric = _read_header(source, columns, layout)
    places = [header.index(name) for name in new_names]
    frame = _read_csv(source, layout.separator, text, places)
    return frame.rename(new_names), if_numeric


def _read_header(
    source: Source, columns: Columns, layout: _Layout
) -> tuple[list[str], dict[str, str], list[str]]:
    """Read the header, and choose the columns to read by it.

    Gives also the name here of each of these columns, by that in the header; and the names here of
    those to keep only if numeric.
    """
    header = _read_names(source, layout)
    typed_names = header
    if source.suffix == ".inter":
        typed_names = columns.of_recbole(header)
    names, if_numeric = columns.choose(source, typed_names)
    new_names = {header[typed_names.index(name)]: name for name in (*names, *if_numeric)}
    return header, new_names, if_numeric


def _place(source: Source, columns: Columns, layout: _Layout, name: str) -> int:
    """Find the place of a column, by its name here, in the header."""
    header, new_names, _ = _read_header(source, columns, layout)
    return [new_names.get(column) for column in header].index(name)


def _read_names(source: Source, layout: _Layout) -> list[str]:
    """Read the names of the columns in the first line."""
    with source.open_text() as file:
        return next(csv.reader(file, delimiter=layout.separator), [])


def _read_csv(
    source: Source, separator: str, text: bytes, columns: Sequence[int] | None = None
) -> pl.DataFrame:
    """Read the cells of a table as text, in all columns or in those at the places ``columns``."""
    import polars

    try:
        return polars.read_csv(text, columns=columns, separator=separator, infer_schema_length=0)
    except polars.exceptions.ComputeError:
        _refuse_malformed(source, separator)
        raise


def _refuse_malformed(source: Source, separator: str) -> None:
    """Refuse the first row with more fields than the header, or a quote that encloses no cell."""
    cell = rf'([^"{separator}\r\n]*|"([^"]|"")*")'
    row_of_cells = re.compile(f"{cell}({re.escape(separator)}{cell})*")
    expected = 'expected quotes around a cell that has one, and two for it: "6"" pipe"'
    with source.open_text() as file:
        lines, lines_of_rows = tee(file)
        rows = csv.reader(lines, delimiter=separator)
        n_columns = 0
        n_lines = 0
        try:
            for fields in rows:
                row = "".join(islice(lines_of_rows, rows.line_num - n_lines)).rstrip("\r\n")
                if not row_of_cells.fullmatch(row):
                    fault = f"holds {row[:60]!r}, with a quote that encloses no cell"
                    raise at_line(source, n_lines + 1, f"{fault}; {expected}")
                n_columns = n_columns or len(fields)  # the first row is the header
                if len(fields) > n_columns:
                    fault = f"{len(fields)} fields; expected {n_columns}, as in the header"
                    raise at_line(source, rows.line_num, fault)
                n_lines = rows.line_num
        except csv.Error:  # csv reads no cell of more than 131,072 characters
            fault = f"has a quote whose cell does not end; {expected}"
            raise at_line(source, n_lines + 1, fault) from None


def _refuse_short_rows(source: Source, layout: _Layout, place: int) -> None:
    """Refuse the first row that ends before the column at ``place``; polars reads it as empty."""
    with source.open_text() as file, suppress(csv.Error):  # of a long cell, which polars reads
        rows = csv.reader(file, delimiter=layout.separator)
        n_columns = len(next(rows, []))
        for fields in rows:
            if 0 < len(fields) <= place:
                fault = f"{count_of_fields(fields)}; expected {n_columns}, as in the header"
                raise at_line(source, rows.line_num, fault)


def _read_trec(source: Source, text: str, columns: Columns, form: TrecForm) -> pl.DataFrame:
    """Read the query, the document and the score or relevance of each line."""
    import polars

    lines = polars.Series("line", text.split("\n"))
    is_filled = ~lines.str.contains(r"^(#|\s*$)")
    for row in lines.str.starts_with("#").arg_true():
        is_filled[row] = _is_filled(lines[row])
    lines = lines.filter(is_filled)
    fields = lines.str.extract_groups(_TREC_FIELDS[form]).struct.unnest()
    _, second, *read_fields = fields.columns
    names = dict(zip([fields.columns[0], *read_fields], columns.of_trec(form), strict=True))
    frame = fields.rename(names)
    layout = _Layout(form, "")
    is_wrong = frame[columns.ids[0]].is_null()
    if is_wrong.any():
        row = is_wrong.arg_max() or 0
        n_fields = count_of_fields(lines[row].split())
        raise _in_row(source, layout, row, f"{n_fields}; expected {_TREC_LINES[form]}")

    if source.suffix in _TREC_SUFFIXES:
        return frame
    # Lists and ratings may have the item 0 in the first line, by which the form was told.
    other_rows = (~frame[second].str.to_uppercase().is_in(_TREC_SECOND)).arg_true()
    are_numbers = _as_numbers(frame[columns.ids[1]].gather(other_rows)).is_not_null()
    if are_numbers.any():
        row = other_rows[are_numbers.arg_max() or 0]
        line = lines[row].strip()
        fault = f"holds {line[:60]!r}; expected 0 or Q0 as the second of {_TREC_LINES[form]}"
        if all(map(_is_number, line.split())):
            header = line.split(separator_of(source, line))
            fault += f"; {columns.advice_on_text(source, columns.ids, header)}"
        raise _in_row(source, layout, row, fault)
    return frame


def _times(source: Source, layout: _Layout, text: pl.Series) -> pl.Series:
    """Read numbers, or dates if more cells are; null where a cell is neither, or is the other."""
    import polars

    numbers = _as_numbers(text)
    if numbers.null_count():
        dates = _dates(source, layout, text)
        has_bad_number = dates.null_count() > numbers.null_count()
        return numbers if has_bad_number else dates
    integers = text.str.strip_chars().cast(polars.Int64, strict=False)
    # float64 would make two times of nanoseconds one.
    return numbers if integers.null_count() else integers


def _dates(source: Source, layout: _Layout, text: pl.Series) -> pl.Series:
    """Read dates as ISO 8601 writes them, in UTC if they have a zone; null where none is read."""
    import polars

    # Of others, such as 01/02/2020, polars would read the day before the month.
    iso_dates = text.str.extract(r"^(\s*\d{4}[-/.].*)$")
    has_zone = text.str.contains(_ZONE)
    if not iso_dates.null_count() and has_zone.any() and not has_zone.all():
        row = has_zone.ne(has_zone[0]).arg_max() or 0
        fault = f"has no time zone in {text[row]!r}, where the first row has one"
        if has_zone[row]:
            fault = f"has a time zone in {text[row]!r}, where the first row has none"
        expected = "expected a zone such as Z or +01:00 behind each time, or behind none"
        raise _in_row(source, layout, row, f"{fault}; {expected}")
    try:
        dates = iso_dates.str.to_datetime(strict=False, time_unit="us", time_zone="UTC")
        if text.str.contains(r"\.\d{6}\d*[1-9]").any():
            microseconds = dates
            dates = iso_dates.str.to_datetime(strict=False, time_unit="ns", time_zone="UTC")
            # int64 has nanoseconds of the years 1677 to 2262; others come out as other dates.
            is_other = dates.dt.cast_time_unit("us") != microseconds
            if is_other.any():
                row = is_other.arg_max() or 0
                fault = f"holds {text[row][:40]!r} in a file of nanoseconds"
                expected = "expected years from 1678 to 2261, or 6 decimals of a second in all rows"
                raise _in_row(source, layout, row, f"{fault}; {expected}")
    except polars.exceptions.ComputeError:  # pragma: no cover  # no date; newer ones give null
        return polars.repeat(None, len(text), eager=True)
    return dates if has_zone.all() else dates.dt.replace_time_zone(None)


def _in_row(source: Source, layout: _Layout | None, row: int, fault: str) -> InputError:
    """Name a row in an error: by its line in a text."""
    by_row = InputError(f"{source}, row {row} (counted from 0) {fault}")
    if layout is None:
        return by_row
    # The csv module refuses a long cell, which polars reads. Then the line is not known.
    with source.open_text() as file, suppress(csv.Error):
        if layout.form is not None:
            numbers = (n for n, line in enumerate(file, start=1) if _is_filled(line))
            return at_line(source, next(islice(numbers, row, None)), fault)
        rows = csv.reader(file, delimiter=layout.separator)
        numbers = (rows.line_num for fields in rows if any(fields))
        row_below_header = layout.n_rows_before + row + 1
        return at_line(source, next(islice(numbers, row_below_header, None)), fault)
    return by_row
