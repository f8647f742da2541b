"""Tables larger than memory: evaluated by buckets of users, each with the memory of one bucket.

The rows are read once, and written to a temporary folder, divided by a hash of the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from math import ceil, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from recmetrics._core.errors import InputError, InputTypeError, RecmetricsError, warn
from recmetrics._core.results import how_graded, mean_of, settled, system_values
from recmetrics._core.spec import Request
from recmetrics._core.threads import reporting
from recmetrics._files import Source, atomic, scan_table
from recmetrics.tables._columns import Columns
from recmetrics.tables._counts import TableSummary, merged
from recmetrics.tables._forms import columns_in_file, from_dict, in_frames, source_of
from recmetrics.tables._frames import POLARS, Frame, ids_of, read_frame, require_columns
from recmetrics.tables._side_tables import needed_tables
from recmetrics.tables._values import Exposed

if TYPE_CHECKING:
    import polars as pl

_DIVIDED = ("recs", "truth", "exclude")
_PARTS = 64  # of which a bucket has one or several
_BUCKET_ROWS = 1 << 22  # a call takes about a hundred bytes for each
_BLOCK_ROWS = 1 << 20  # rows that are read and divided at a time
_LARGE_FILES = 1 << 28  # bytes of files from which they are read in parts
_PART = "recmetrics part"  # a column that no table has

Measure = Callable[..., tuple[Any, TableSummary]]


def is_large(tables: Mapping[str, Any]) -> bool:
    """Say whether one of the tables is not in memory, and can be read in parts."""
    files = [table for table in tables.values() if isinstance(table, str | Path | Source)]
    paths = [source_of(file, "").path for file in files]
    n_bytes = sum(path.stat().st_size for path in paths if path.is_file())
    return n_bytes > _LARGE_FILES or any(map(_is_stream, tables.values()))


def _is_stream(table: Any) -> bool:
    """Say whether a table is a lazy frame of polars, or a relation, dataset or reader of Arrow."""
    streams = ("LazyFrame", "DuckDBPyRelation", "RecordBatchReader")
    return type(table).__name__ in streams or hasattr(table, "get_fragments")


def _scan(table: Any, label: str, options: Mapping[str, Any]) -> pl.LazyFrame:
    """Make a lazy frame of polars of a table of any form."""
    if find_spec("polars") is None:
        msg = f"{label} is read in parts, which needs polars; type: pip install polars pyarrow"
        raise InputTypeError(msg, argument=label)
    import polars as pl

    if isinstance(table, Mapping):
        table = from_dict(table, label, options, POLARS)
    elif isinstance(table, str | Path | Source):
        source = source_of(table, label)
        return scan_table(source, columns_in_file(source, label, options))
    elif hasattr(table, "get_fragments"):
        return pl.scan_pyarrow_dataset(table)
    elif hasattr(table, "read_next_batch"):
        return _scan_reader(table)
    elif _is_stream(table):
        return table if isinstance(table, pl.LazyFrame) else table.pl(lazy=True)
    return read_frame(table, label).to_polars().lazy()


def _scan_reader(reader: Any) -> pl.LazyFrame:
    import polars as pl
    from polars.io.plugins import register_io_source

    def read(names: list[str] | None, *_: object) -> Iterator[Any]:
        for batch in reader:
            yield pl.DataFrame(batch).select(names or pl.all())

    return register_io_source(read, schema=pl.DataFrame(reader.schema.empty_table()).schema)


class Buckets(NamedTuple):
    """The tables of a call in a folder, the rows of each divided by users."""

    folder: Path
    columns: Columns
    empty: dict[str, pl.DataFrame]  # the tables without rows
    n_parts: int
    n_rows: int
    models: Frame | None  # the keys of lists beside those of the truth, each once

    def read(self, label: str, parts: range) -> pl.DataFrame:
        """Read the rows of some parts of a table, in their order."""
        import polars as pl

        paths = [path for part in parts for path in sorted(self.folder.glob(f"{label}-{part}-*"))]
        return pl.concat([self.empty[label], *map(pl.read_ipc, paths)])

    def tables(self, n_buckets: int) -> Iterator[dict[str, Any]]:
        """Give the tables of each bucket."""
        for bucket in range(n_buckets):
            ends = [edge * self.n_parts // n_buckets for edge in (bucket, bucket + 1)]
            yield {label: self.read(label, range(*ends)) for label in self.empty}


def _divide(
    folder: Path,
    tables: Mapping[str, Any],
    options: Mapping[str, Any],
    choose: Callable[[Frame, Frame], Columns],
) -> Buckets:
    """Write the rows of the tables into a file for each part and each block that is read."""
    import polars as pl

    frames = {name: _scan(tables[name], name, options) for name in _DIVIDED if name in tables}
    heads: dict[str, Any] = {}
    for label, frame in frames.items():
        heads[label] = nw.from_native(frame.collect_schema().to_frame(), eager_only=True)
    columns = choose(heads["recs"], heads["truth"])
    names: dict[str, list[Any]] = {
        "recs": [*columns.keys, columns.item, columns.rank, columns.score, "score"],
        "truth": [*columns.truth_keys, columns.item, columns.relevance],
        "exclude": [*columns.keys, columns.item],
    }
    user = options["user"]
    n_parts = options.get("chunks") or _PARTS
    n_rows = 0
    models = []
    model_keys = [name for name in columns.keys if name not in columns.truth_keys]
    empty = {}
    for label, head in heads.items():
        require_columns(head, label, [user, columns.item])
        ids_of(head, label, user)
        empty[label] = head.select([n for n in head.columns if n in names[label]]).to_native()
        part = (_hash(head, user) % n_parts).alias(_PART)
        rows = frames[label].select(empty[label].columns).with_columns(part)
        try:
            for number, block in enumerate(rows.collect_batches(chunk_size=_BLOCK_ROWS)):
                for (code,), rows_of_part in block.partition_by(_PART, as_dict=True).items():
                    rows_of_part.drop(_PART).write_ipc(folder / f"{label}-{code}-{number:06}")
                n_rows += len(block)
                if label == "recs" and model_keys:
                    models.append(block.select(model_keys).unique(maintain_order=True))
        except pl.exceptions.PolarsError as error:
            msg = f"{label} cannot be read as a table: {' '.join(str(error).split())}"
            raise InputError(msg, argument=label) from error
    known_models: Any = None
    if models:
        unique_models: Any = pl.concat(models).unique(maintain_order=True)
        known_models = nw.from_native(unique_models, eager_only=True)
    return Buckets(folder, columns, empty, n_parts, n_rows, known_models)


def _hash(frame: Any, user: str) -> Any:
    """Hash a column of users: equal for equal ids, whatever their type."""
    import polars as pl

    dtype = frame.schema[user]
    column = pl.col(user)
    if dtype.is_numeric() or dtype == nw.Boolean:
        column = column.cast(pl.Float64) + 0.0  # -0.0 becomes 0.0
    elif dtype != nw.Binary:
        column = column.cast(pl.String)
    return column.hash()


def evaluate_in_buckets(
    tables: Mapping[str, Any],
    options: Mapping[str, Any],
    request: Request,
    choose: Callable[[Frame, Frame], Columns],
    measure: Measure,
) -> tuple[Any, TableSummary]:
    """Evaluate tables bucket by bucket; ``measure`` evaluates one, and ``choose`` the columns.

    The rows are a frame of polars, or lazily those of the Parquet file ``per_user``.
    """
    import polars as pl

    strata = options.get("strata") or {}
    side: dict[str, Any] = {name: _in_memory(table, name) for name, table in tables.items()}
    side["strata"] = {name: _in_memory(strata[name], name) for name in request.strata}
    path = options.get("per_user")
    with TemporaryDirectory(prefix="recmetrics-", ignore_cleanup_errors=True) as folder:
        buckets = _divide(Path(folder), tables, options, choose)
        columns = buckets.columns
        heads = buckets.empty["recs"], buckets.empty["truth"]
        _, _, side = in_frames(*heads, {**options, **side}, needed_tables(request))
        exposed: list[Exposed] = []

        def measure_rows(bucket: Mapping[str, Any]) -> tuple[Any, TableSummary]:
            rows = {**bucket, "exclude": bucket.get("exclude")}
            recs = read_frame(rows.pop("recs"), "recs")
            truth = read_frame(rows.pop("truth"), "truth")
            return measure(recs, truth, {**side, **rows}, True, buckets.models, exposed)

        lists: list[pl.LazyFrame] = []
        summaries = []
        exposures: dict[tuple[Any, ...], Exposed] = {}
        n_buckets = options.get("chunks") or min(_PARTS, ceil(buckets.n_rows / _BUCKET_ROWS)) or 1
        progress = options.get("progress") or (lambda *_: None)
        with (
            reporting(progress, n_buckets, " buckets") as done,
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            for bucket in buckets.tables(n_buckets):
                table, summary = _measure_bucket(bucket, options["user"], measure_rows)
                lists.append(table.lazy())
                if path is not None:
                    file = Path(folder) / f"values-{len(lists)}"
                    table.write_ipc(file)
                    lists[-1] = pl.scan_ipc(file)
                summaries.append(summary)
                for part in exposed:
                    whole = exposures.setdefault(part.key, part)
                    if whole is not part:
                        whole.exposures.merge(part.exposures)
                exposed.clear()
                if done is not None:
                    done(1)

        _warn(caught, n_buckets)
        by = [name for name in columns.keys if name != options["user"]]
        rows = _with_all_lists(pl.concat(lists), by, exposures.values(), request)
        numbers = pl.col([*request.definitions])
        counts = rows.select(numbers.count()).collect().row(0, named=True)
        means = rows.select(numbers.mean().fill_null(nan)).collect().row(0, named=True)
        notes = []
        if columns.relevance is not None:
            grades = buckets.read("truth", range(buckets.n_parts))[columns.relevance]
            specs = [definition.spec for definition in request.definitions.values()]
            notes = how_graded(grades.cast(float).to_numpy(), specs, column=columns.relevance)
        user_weights = {}
        for text in summaries[0].user_weights:
            user_weights[text] = np.concatenate([part.user_weights[text] for part in summaries])
            values = rows.select(text).collect().to_series().to_numpy()
            means[text] = mean_of(values, user_weights[text])
        summary = merged(
            summaries,
            n_defined=counts,
            means=means,
            grades="".join(notes),
            user_weights=user_weights,
        )
        if path is None:
            return rows.collect(), summary
        with atomic(Path(path)) as output:
            rows.sink_parquet(output)
        return pl.scan_parquet(path, glob=False), summary


def _in_memory(table: Any, label: str) -> Any:
    """Make a frame of polars of a table; files and dicts become one later."""
    if isinstance(table, Mapping | str | Path | Source) or label in _DIVIDED:
        return None if label in _DIVIDED else table
    return _scan(table, label, {}).collect()


def _measure_bucket(
    bucket: Mapping[str, Any], user: str, measure: Callable[[Mapping[str, Any]], Any]
) -> Any:
    """Evaluate a bucket; an error names the user whose rows are at fault, where it is one."""
    try:
        return measure(bucket)
    except RecmetricsError as error:
        import polars as pl

        users = pl.concat([rows.select(_hash(rows, user)) for rows in bucket.values()])
        hashes = users.to_series().unique().sort()
        if error.argument not in bucket or not len(hashes):
            raise
        if len(hashes) == 1:
            first = next(rows[user][0] for rows in bucket.values() if len(rows))
            msg = f"user {first!r}, whose rows are counted by themselves: {error}"
            raise type(error)(msg, argument=error.argument) from None
        middle = hashes[len(hashes) // 2]
        for is_upper in (False, True):
            half = {
                label: rows.filter((_hash(rows, user) >= middle) == is_upper)
                for label, rows in bucket.items()
            }
            _measure_bucket(half, user, measure)
        raise


def _warn(caught: Sequence[warnings.WarningMessage], n_buckets: int) -> None:
    """Repeat the warnings of the buckets, each once."""
    same: dict[str, list[Any]] = {}
    for record in caught:
        same.setdefault(str(record.message).partition(":")[0], []).append(record.message)
    for messages in same.values():
        # Users are known to share no id only if those of every bucket share none.
        if "no id of recs" in str(messages[0]) and len(messages) < n_buckets:
            continue
        where = f" (in {len(messages):,} of {n_buckets:,} buckets of users, the first of these)"
        warn(str(messages[0]) + where, argument=getattr(messages[0], "argument", None))


def _with_all_lists(
    rows: pl.LazyFrame, by: Sequence[str], exposures: Iterable[Exposed], request: Request
) -> pl.LazyFrame:
    """Write the values of the metrics of all lists, those of each system into its rows."""
    import polars as pl

    for _, counts, cutoffs, key in exposures:
        is_own = [pl.col(name) == value for name, value in zip(by, key, strict=True)]
        for text, value in system_values(counts, request, cutoffs).items():
            number = settled(value, text, request.definitions[text]).item()
            other = pl.col(text)
            rows = rows.with_columns(
                pl.when(pl.lit(value=True), *is_own)
                .then(number)
                .otherwise(other)
                .fill_nan(None)
                .alias(text)
            )
    return rows
