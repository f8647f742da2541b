"""Tables larger than memory: evaluated by buckets of users, a few million rows at a time.

The rows are read once, and divided by a hash of the user. The first of them stay in memory, and the
others are written to a temporary folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from math import ceil, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    RecmetricsError,
    RecmetricsWarning,
    collecting_warnings,
    warn,
    warn_once_of_each,
)
from recmetrics._core.options import thread_count
from recmetrics._core.spec import MetricSpec, Request
from recmetrics._core.threads import map_blocks, reporting
from recmetrics._core.types import FloatArray
from recmetrics._files import atomic, read_table, scan_table
from recmetrics.tables._columns import GRADES, Columns, note_on_unread_grades
from recmetrics.tables._counts import TableSummary, merged
from recmetrics.tables._forms import (
    FILES,
    WITHOUT_ITEMS,
    from_dict,
    from_file,
    source_of,
    users_without_items,
    with_integer_ids,
)
from recmetrics.tables._frames import (
    POLARS,
    Frame,
    as_names,
    as_strings,
    ids_of,
    numbers_of,
    read_frame,
    require_columns,
    type_of,
    with_columns,
)
from recmetrics.tables._ids import alike, foreign_ids, require_one_kind
from recmetrics.tables._side_tables import FORMS
from recmetrics.tables._values import Exposed, values_of_all_lists

if TYPE_CHECKING:
    import polars as pl

_DIVIDED = ("recs", "truth", "exclude", WITHOUT_ITEMS)
_PARTS = 64  # of which a bucket has one or several
_BUCKET_ROWS = 1 << 21  # a call takes about a hundred bytes for each
_ROWS_AT_ONCE = 1 << 22  # of the buckets that are evaluated at the same time
_BLOCK_ROWS = 1 << 22  # rows that are read and divided at a time
# Bytes of the rows of a table that stay in memory: won a fifth of the time of 5,000,000 rows, and a
# tenth of 30,000,000.
_HELD_BYTES = 1 << 28
_LARGE_FILES = 1 << 28  # bytes of files from which they are read in parts
_NEEDS = "tables are read in parts by polars; type: pip install -U 'polars>=1.34' pyarrow"
_PART = "recmetrics part"  # a column that no table has

Tables = Mapping[str, Any]
Measure = Callable[..., tuple[Any, TableSummary]]
# The rows of a part of a table, by the label of the table and the part: a frame, or the path of a
# file, for each block that was read.
Pieces = dict[tuple[str, int], "list[pl.DataFrame | Path]"]


def is_large(tables: Tables) -> bool:
    """Say whether one of the tables is not in memory, and can be read in parts."""
    files = [table for table in tables.values() if isinstance(table, FILES)]
    paths = [source_of(file, "").path for file in files]
    n_bytes = sum(path.stat().st_size for path in paths if path.is_file())
    return n_bytes > _LARGE_FILES or any(map(_is_stream, tables.values()))


def _is_stream(table: Any) -> bool:
    """Say whether a table is a lazy frame of polars, or a relation, dataset or reader of Arrow."""
    streams = ("LazyFrame", "DuckDBPyRelation", "RecordBatchReader")
    return type(table).__name__ in streams or hasattr(table, "get_fragments")


def _scan(table: Any, label: str, options: Tables) -> pl.LazyFrame:
    """Make a lazy frame of polars of a table of any form."""
    import polars as pl

    if isinstance(table, Mapping):
        table = from_dict(table, label, options, POLARS)
    elif isinstance(table, FILES):
        read = scan_table if label in _DIVIDED else read_table
        return from_file(table, label, options, read).lazy()  # type: ignore[no-any-return]
    elif isinstance(table, pl.LazyFrame):
        return table
    elif hasattr(table, "get_fragments"):
        return pl.scan_pyarrow_dataset(table)
    elif hasattr(table, "read_next_batch"):
        return _scan_reader(table)
    elif _is_stream(table):
        return table.pl(lazy=True)  # type: ignore[no-any-return]
    return _as_polars(read_frame(table, label), label, options).lazy()


def _as_polars(frame: Frame, label: str, options: Tables) -> pl.DataFrame:
    """Convert a table to polars; refuse a column that is read and has no type there.

    Other such columns have a type that stands for any objects.
    """
    import polars as pl

    numbers = {options.get(name) for name in ("score", "rank", "relevance")}
    ids = {options["user"], options["item"], *as_names(options.get("by"))}
    columns = {}
    for name in frame.columns:
        series = frame.get_column(name)
        column = None
        if not str(type_of(series)).startswith("decimal256"):  # polars would panic
            with suppress(Exception):  # of any type, by pyarrow and polars
                column = series.to_polars()
        if column is None:
            column = pl.Series([None] * len(frame), dtype=pl.Object)
        if column.dtype == pl.Object and name in numbers | {"score", "rank", *GRADES}:
            column = pl.Series(numbers_of(frame, label, name))
        elif column.dtype == pl.Object and name in ids and find_spec("pyarrow") is None:
            raise InputTypeError(_NEEDS)  # strings of pandas become those of polars by pyarrow
        elif column.dtype == pl.Object and name in ids:
            msg = (
                f"{label}, column {name!r} holds objects that polars does not have, or of several "
                "types, and tables are read in parts by polars; for strings type "
                f"{as_strings(label, series)}"
            )
            raise InputTypeError(msg, argument=label)
        columns[str(name)] = column  # pandas has names of any type
    return pl.DataFrame(columns)


def _scan_reader(reader: Any) -> pl.LazyFrame:
    import polars as pl
    from polars.io.plugins import register_io_source

    def read(names: list[str] | None, *_: object) -> Iterator[Any]:
        for batch in reader:  # pragma: no cover  # in threads of polars
            yield pl.DataFrame(batch).select(names or pl.all())

    return register_io_source(read, schema=pl.DataFrame(reader.schema.empty_table()).schema)


class _Divided(NamedTuple):
    """The tables of a call in a folder, the rows of each divided by users."""

    folder: Path
    columns: Columns
    empty: dict[str, pl.DataFrame]  # the tables without rows
    first_rows: dict[str, pl.DataFrame]
    pieces: Pieces
    n_parts: int
    n_rows: int

    def rows(self, label: str, parts: range) -> pl.LazyFrame:
        """Read the rows of some parts of a table, in their order."""
        import polars as pl

        pieces = [
            pl.scan_ipc(piece) if isinstance(piece, Path) else piece.lazy()
            for part in parts
            for piece in self.pieces[label, part]
        ]
        return pl.concat([self.empty[label].lazy(), *pieces])

    def pop(self, parts: range) -> dict[str, pl.DataFrame]:
        """Read the rows of some parts of all tables, and drop them here."""
        bucket = {}
        for label in self.empty:
            bucket[label] = self.rows(label, parts).collect()
            for part in parts:
                for piece in self.pieces.pop((label, part)):
                    if isinstance(piece, Path):
                        with suppress(PermissionError):  # Windows keeps files that are in use
                            piece.unlink()
        return bucket


def _divide(
    folder: Path,
    frames: Mapping[str, pl.LazyFrame],
    options: Tables,
    choose: Callable[[Frame, Frame], Columns],
) -> _Divided:
    """Divide the rows of the tables: into a piece for each part and each block that is read."""
    import polars as pl

    heads: dict[str, Any] = {}
    for label, frame in frames.items():
        heads[label] = nw.from_native(frame.collect_schema().to_frame(), eager_only=True)
    columns = choose(heads["recs"], heads["truth"])
    names = {*columns.keys, columns.item, columns.rank, columns.score, columns.relevance, "score"}
    names.add(columns.unread_grades)
    n_parts = options.get("chunks") or _PARTS
    n_rows = 0
    empty = {}
    first_rows = {}
    pieces: Pieces = {(label, part): [] for label in heads for part in range(n_parts)}
    for label, head in heads.items():
        if label != WITHOUT_ITEMS:
            require_columns(head, label, [options["user"], columns.item])
            # A bucket may have rows of one table alone, whose ids are then compared with no other.
            for name in (columns.item, *columns.truth_keys):
                if name in head.columns:
                    ids_of_recs = heads["recs"].get_column(name)
                    require_one_kind([("recs", ids_of_recs), (label, ids_of(head, label, name))])
        empty[label] = head.select([name for name in head.columns if name in names]).to_native()
        part = (_hash(empty[label], options["user"]) % n_parts).cast(pl.UInt32).alias(_PART)
        rows = frames[label].select(empty[label].columns).with_columns(part)
        try:
            blocks = rows.collect_batches(chunk_size=_BLOCK_ROWS)
            n_rows_of_table, first_rows[label] = _keep_parts(folder, label, blocks, pieces)
            n_rows += n_rows_of_table
        except pl.exceptions.PolarsError as error:
            cause, _, _ = str(error).partition("This error occurred in the following expression")
            msg = f"{label} cannot be read as a table: {' '.join(cause.split())}"
            raise InputError(msg, argument=label) from error
    return _Divided(folder, columns, empty, first_rows, pieces, n_parts, n_rows)


def _keep_parts(
    folder: Path, label: str, blocks: Iterable[pl.DataFrame], pieces: Pieces
) -> tuple[int, pl.DataFrame]:
    """Hold or write the parts of each block, while the next is read and divided.

    Gives the number of rows, and the first row.
    """
    import polars as pl

    def write(number: int, parts: Mapping[Any, pl.DataFrame]) -> None:
        for (code,), rows in parts.items():
            path = folder / f"{label}-{code}-{number}"
            rows.drop(_PART).write_ipc(path)
            pieces[label, code].append(path)

    n_rows = 0
    first_row = pl.DataFrame()
    n_held = 0.0
    written: Future[None] | None = None
    with ThreadPoolExecutor(1) as writer:
        with suppress(RuntimeError):  # where the system starts no more threads, this one writes
            written = writer.submit(write, 0, {})
        for number, block in enumerate(blocks):
            parts = block.partition_by(_PART, as_dict=True)
            if not n_rows:
                first_row = block[:1]
            n_rows += len(block)
            n_held += block.estimated_size()
            if n_held <= _HELD_BYTES:
                for (code,), rows in parts.items():
                    pieces[label, code].append(rows.drop(_PART))
            elif written is None:
                write(number, parts)
            else:
                written.result()
                written = writer.submit(write, number, parts)
        if written is not None:
            written.result()
    return n_rows, first_row


def _hash(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Hash a column of ids: equal for equal ids, whatever their type."""
    import polars as pl

    dtype = frame.schema[name]
    ids = pl.col(name)
    if dtype.is_numeric() or dtype == pl.Boolean:
        ids = ids.cast(pl.Float64)
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        ids = ids.cast(pl.String)
    return ids.hash()


def evaluate_in_buckets(
    tables: Tables,
    options: Tables,
    request: Request,
    choose: Callable[[Frame, Frame], Columns],
    measure: Measure,
) -> tuple[Any, TableSummary]:
    """Evaluate tables bucket by bucket; ``measure`` evaluates one, and ``choose`` the columns.

    The rows are a frame of polars, or lazily those of the Parquet file ``per_user``.
    """
    try:
        import polars as pl

        pl.LazyFrame.collect_batches  # noqa: B018
    except (ImportError, AttributeError):
        raise InputTypeError(_NEEDS) from None

    path = options.get("per_user")
    _refuse_input(path, tables, options)
    without_items = users_without_items(tables["recs"], tables["truth"], options, POLARS)
    labelled = {**tables, **without_items}
    scanned = {label: _scan(table, label, options) for label, table in labelled.items()}
    files = [label for label, table in labelled.items() if isinstance(table, FILES)]
    scanned = with_integer_ids(scanned, files, options)
    side: dict[str, Any] = {}
    for label in labelled.keys() - _DIVIDED:
        side[label] = scanned.pop(label).collect()
    side["strata"] = {name: side.pop(f"strata[{name!r}]") for name in request.strata}
    with TemporaryDirectory(prefix="recmetrics-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        divided = _divide(folder, scanned, options, choose)
        everyone = range(divided.n_parts)
        model_keys = divided.columns.model_keys
        models = None
        if model_keys:
            unique = divided.rows("recs", everyone).select(model_keys).unique(maintain_order=True)
            models = read_frame(unique.collect(), "recs")
        specs = [definition.spec for definition in request.definitions.values()]
        unread_grades = _note_on_grades(divided, specs)
        foreign = _tables_of_foreign_ids(divided, side)
        measure = partial(measure, has_summary=True, models=models)
        lists, summaries, exposed = _measure_buckets(divided, {**options, **side}, measure)
        for label, message in foreign:
            warn(message, argument=label)

        are_added = any(
            summary.n_missing and summary.missing == "empty lists" for summary in summaries
        )
        types = _types_of_keys(divided, are_added=are_added)
        rows = pl.concat([rows_of_bucket.cast(types) for rows_of_bucket in lists])
        rows = _with_all_lists(rows, *values_of_all_lists(exposed, request))
        values = (
            (text, rows.select(text).collect()[text].fill_null(nan).to_numpy())
            for text in request.definitions
        )
        summary = merged(summaries, values, specs, divided.columns.relevance, unread_grades)
        if path is None:
            return rows.collect(), summary
        with atomic(Path(path)) as output:
            rows.sink_parquet(output)
        return pl.scan_parquet(path, glob=False), summary


def _refuse_input(path: str | Path | None, tables: Tables, options: Tables) -> None:
    """Refuse a file for the result that is one of the tables, under whatever name."""
    if path is None:
        return
    output = Path(path)
    side_tables = map(options.get, FORMS)  # also those that no metric reads
    inputs = [*tables.values(), *side_tables, *(options.get("strata") or {}).values()]
    files = [source_of(table, "").path for table in inputs if isinstance(table, FILES)]
    if output.exists() and any(file.exists() and output.samefile(file) for file in files):
        msg = f"per_user={str(output)!r} is also an input; choose another name"
        raise ArgumentError(msg, argument="per_user")


def _measure_buckets(
    divided: _Divided, options: Tables, measure: Measure
) -> tuple[list[pl.LazyFrame], list[TableSummary], list[Exposed]]:
    """Evaluate the buckets in threads, report how many are done, and repeat their warnings.

    The values of a result that goes to a file wait in the temporary folder.
    """
    import polars as pl

    n_buckets = options.get("chunks") or min(_PARTS, ceil(divided.n_rows / _BUCKET_ROWS)) or 1

    caught: list[RecmetricsWarning] = []

    def measure_one(bucket: slice) -> tuple[pl.LazyFrame, TableSummary, Exposed]:
        """Evaluate the only bucket of a slice."""
        edges = bucket.start, bucket.stop
        parts = range(*(edge * divided.n_parts // n_buckets for edge in edges))
        exposed = Exposed()
        tables = divided.pop(parts)
        with collecting_warnings() as warnings_of_bucket:
            values, summary = _measure_bucket(tables, options, partial(measure, exposed=exposed))
        caught.extend(warnings_of_bucket)
        if options.get("per_user") is None:
            return values.lazy(), summary, exposed
        file = divided.folder / f"values-{bucket.start}"
        values.write_ipc(file)
        return pl.scan_ipc(file), summary, exposed

    buckets = [slice(number, number + 1) for number in range(n_buckets)]
    n_at_once = max(1, _ROWS_AT_ONCE * n_buckets // max(1, divided.n_rows))
    n_threads = min(n_at_once, thread_count(options.get("n_threads")))
    progress = options.get("progress") or (lambda *_: None)
    with reporting(progress, n_buckets, " buckets") as done:
        results = map_blocks(measure_one, buckets, n_threads, done)
    lists, summaries, exposed = map(list, zip(*results, strict=True))
    # A bucket knows the ids of its users alone.
    of_all = [warning for warning in caught if "no id of recs" not in str(warning)]
    warn_once_of_each(of_all, n_buckets, "bucket")
    return lists, summaries, exposed


def say_counted_in_bucket(error: RecmetricsError) -> None:
    """Say in an error that its numbers of rows and users are those within a bucket."""
    error.args = (f"{error} (rows and users are counted within a bucket of users)",)


def _measure_bucket(bucket: Mapping[str, pl.DataFrame], options: Tables, measure: Measure) -> Any:
    """Evaluate a bucket; an error names the user whose rows are at fault, where it is one."""
    try:
        return measure(bucket["recs"], bucket["truth"], {**options, **bucket})
    except RecmetricsError as error:
        # Types are those of whole columns.
        if isinstance(error, InputTypeError):
            raise
        if error.argument not in bucket:
            if options.get("chunks") != 1:  # the only bucket has the rows of one call
                say_counted_in_bucket(error)
            raise
        fault = error
    import polars as pl

    user = options["user"]
    hashes = {label: rows.select(_hash(rows, user))[user] for label, rows in bucket.items()}
    codes = pl.concat(hashes.values()).unique().sort()
    if len(codes) == 1:
        first = next(rows[user][0] for rows in bucket.values() if len(rows))
        msg = f"user {first!r}, whose rows are counted by themselves: {fault}"
        raise type(fault)(msg, argument=fault.argument)
    if len(codes) > 1:
        is_upper = {label: column >= codes[len(codes) // 2] for label, column in hashes.items()}
        lower_half = {label: rows.filter(~is_upper[label]) for label, rows in bucket.items()}
        upper_half = {label: rows.filter(is_upper[label]) for label, rows in bucket.items()}
        _measure_bucket(lower_half, options, measure)
        _measure_bucket(upper_half, options, measure)
    raise fault


def _note_on_grades(divided: _Divided, specs: Iterable[MetricSpec]) -> str:
    """Write the note on unread grades of all users; those of a bucket may be equal."""
    name = divided.columns.unread_grades
    if name is None:
        return ""
    grades = divided.rows("truth", range(divided.n_parts)).select(name).collect()
    return note_on_unread_grades(read_frame(grades, "truth"), name, specs)


def _tables_of_foreign_ids(divided: _Divided, side: Tables) -> list[tuple[str, str]]:
    """Find the tables that share no id with recs; give the label and the warning of one call."""
    warnings_of_tables = []
    others = {label: divided.rows(label, range(divided.n_parts)) for label in divided.empty}
    firsts = dict(divided.first_rows)
    of_truth = {f"strata[{name!r}]": table for name, table in side["strata"].items()}
    of_truth["propensity"] = side.get("propensity")  # both may have items of the truth alone
    tables_of_items = of_truth | {"popularity": side.get("popularity")}
    for label, table in tables_of_items.items():
        if table is not None:
            others[label] = table.lazy()
            firsts[label] = table
    del others["recs"]
    others.pop(WITHOUT_ITEMS, None)
    columns = divided.columns
    for label, rows in others.items():
        names = {columns.item}
        if label not in tables_of_items:
            names.update(columns.keys)
        for name in sorted(names & {*firsts[label].columns}):
            labels = ("recs", "truth") if label in of_truth else ("recs",)
            if not any(_shares_ids(divided, of, rows, name) for of in labels):
                recs, frame = (read_frame(firsts[of], of) for of in ("recs", label))
                warnings_of_tables.append((label, foreign_ids(recs, frame, label, name)))
    return warnings_of_tables


def _shares_ids(divided: _Divided, label: str, rows: pl.LazyFrame, name: str) -> bool:
    """Say whether an id of a column of recs, or truth, is in ``rows``; True if one has no row."""
    head = rows.head(0).collect()
    ids = rows.select(_hash(head, name)).unique().collect()[name]
    if not len(ids):
        return True
    is_empty = True
    for part in range(divided.n_parts):  # most often, the first one has such an id
        rows_of_part = divided.rows(label, range(part, part + 1))
        ids_of_part = rows_of_part.select(_hash(divided.empty[label], name)).collect()[name]
        if ids_of_part.is_in(ids.implode()).any():
            return True
        is_empty = is_empty and not len(ids_of_part)
    return is_empty


def _types_of_keys(divided: _Divided, *, are_added: bool) -> dict[Any, Any]:
    """Give the types that the keys which the truth has have in one call.

    ``are_added`` says that lists of users of the truth alone were added: their keys and those of
    recs are converted to one type.
    """
    recs, truth = (read_frame(divided.empty[label], label) for label in ("recs", "truth"))
    types = {}
    for name in divided.columns.truth_keys:
        column = recs.get_column(name)
        if are_added:
            column, _ = alike(column, truth.get_column(name))
        if column.dtype != nw.Unknown:  # of no rows
            types[name] = type_of(column)
    return types


def _with_all_lists(
    rows: pl.LazyFrame, keys: Frame | None, of_all_lists: Mapping[str, FloatArray]
) -> pl.LazyFrame:
    """Write the values of the metrics of all lists, into the rows of each combination of ``by``."""
    import polars as pl

    if keys is None:
        for text, values in of_all_lists.items():
            rows = rows.with_columns(pl.lit(values[0]).fill_nan(None).alias(text))
        return rows
    schema = rows.collect_schema()
    values_by_keys = with_columns(keys, dict(of_all_lists)).to_native().lazy()
    values_by_keys = values_by_keys.cast({name: schema[name] for name in keys.columns})
    rows = rows.drop(of_all_lists.keys())
    rows = rows.join(values_by_keys, on=keys.columns, how="left", maintain_order="left")
    return rows.select(schema.names())
