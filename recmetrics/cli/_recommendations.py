"""``recmetrics evaluate RECS TRUTH``: metrics of tables of recommendations."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from recmetrics.cli._failures import CommandError, naming
from recmetrics.cli._files import reading, refuse_other_formats
from recmetrics.cli._lines import LineError, read_number, read_rows
from recmetrics.cli._means import summarise
from recmetrics.cli._memory import refuse_beyond_memory
from recmetrics.cli._named import Source, opened
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._score_files import SIDE, default_metrics, left_out, read_request, to_json
from recmetrics.cli._tables import evaluation_table
from recmetrics.cli._terminal import quiet, require_rich, show, tell, write

if TYPE_CHECKING:
    from io import BufferedReader

SUFFIXES = (".csv", ".tsv", ".parquet")
_EXPECTED = "a table .csv, .tsv or .parquet with a header and the columns user and item"
Backend = Literal["polars", "pyarrow", "pandas"]
_IDS = ("user", "item")
_LEAST_OF_A_ROW = 32  # bytes in memory: two ids as text
_INSTALL = "pip install 'recmetrics-numba[tables]'"
_SIDE = [name for name in SIDE if name != "popularity"]  # tables take popularity, too
_OF_SCORES = ("exclude", "candidates", *_SIDE, "ties", "chance", "audit")


def is_table(path: Path) -> bool:
    """Say whether the first file holds recommendations, by its name; scores are an .npy."""
    return path.suffix.lower() in SUFFIXES


def evaluate_recommendations(args: Namespace) -> None:
    """Read the tables, compute, write the per-user file, then print."""
    metrics: Sequence[str] = args.metrics or [
        text for text in default_metrics(args.convention) if "@" in text
    ]
    _refuse_what_goes_with_scores(args)
    request = read_request(metrics, args)  # a misspelt name should not cost reading the files
    for text in request.of_exposure:
        msg = (
            f"{text} needs the list of all items, which tables do not contain; in Python type "
            "recmetrics.tables.evaluate_table(..., catalogue=...)"
        )
        raise CommandError(msg)
    if not args.json:
        require_rich()
    inputs = [path for path in (args.scores, args.truth, args.popularity) if path is not None]
    if args.per_user is not None:
        check_output("--per-user", args.per_user, (".csv", ".npz"), inputs)
    tables = _tables()
    sources = {
        "recs": Source("RECS", args.scores),
        "truth": Source("TRUTH", args.truth),
        "popularity": Source("--popularity-from", args.popularity),
    }
    recs = _read(sources["recs"], ("rank", "score"))
    truth = _read(sources["truth"], ("rating",))
    train = None if args.popularity is None else _read(sources["popularity"], ())
    with naming(sources):
        result, summary = tables.evaluate_table(
            recs,
            truth,
            metrics,
            include_missing=args.include_missing,
            undefined=args.undefined,
            convention=args.convention,
            n_threads=args.threads,
            popularity=train,
            return_summary=True,
        )
    import narwhals.stable.v2 as nw  # installed, since the tables are

    frame = nw.from_native(result, eager_only=True)
    _note_foreign_ids(sources, {"recs": recs, "truth": truth, "popularity": train})
    users = frame["user"].to_list() if "user" in frame.columns else result.index.to_list()
    values = {metric: frame[metric].to_numpy() for metric in summary.means}
    summaries = {metric: summarise(value) for metric, value in values.items()}
    if args.per_user is not None:
        write_per_user(args.per_user, values, users)
    if args.json:
        counts = {"n_users": summary.n_lists, "n_missing": summary.n_missing}
        write(to_json(counts, args, summaries, {}))
        return
    lines = [f"{summary.n_lists:,} users; intervals by normal approximation"]
    if summary.n_missing and not args.include_missing:
        lines.append(
            f"left out: users of TRUTH without recommendations, {summary.n_missing:,}, the first "
            f"{summary.first_missing}; --include-missing counts them"
        )
    show(
        evaluation_table(summaries, {}), "", *lines, *left_out(summary.n_lists, summaries, request)
    )


def _note_foreign_ids(sources: Mapping[str, Source], tables: Mapping[str, Any]) -> None:
    """Say where a table has no id of RECS: ids that are written in two ways match nothing."""
    import narwhals.stable.v2 as nw

    recs = nw.from_native(tables["recs"], eager_only=True)
    for name, column in (("truth", "user"), ("truth", "item"), ("popularity", "item")):
        if tables[name] is None:
            continue
        here, there = recs[column], nw.from_native(tables[name], eager_only=True)[column]
        if set(there.unique().to_list()).isdisjoint(here):  # which ends at the first in common
            first = f"{str(here[0])[:40]!r} and {str(there[0])[:40]!r}"
            tell(
                f"note: no {column} of {sources['recs']} occurs in {sources[name]}; the first are "
                f"{first}: are the ids written in two ways?"
            )


def _refuse_what_goes_with_scores(args: Namespace) -> None:
    for name in _OF_SCORES:
        if getattr(args, name) not in (None, False):
            msg = f"--{name} goes with SCORES, an .npy file; RECS is a table of recommendations"
            raise CommandError(msg)


def _tables() -> ModuleType:
    try:
        from recmetrics import tables
    except ImportError as error:
        msg = f"tables of recommendations need the package narwhals; type: {_INSTALL}"
        raise CommandError(msg) from error
    return tables


def _backend() -> Backend:
    """The library that holds the tables: the first that is installed."""
    libraries: tuple[Backend, ...] = ("polars", "pyarrow", "pandas")
    for name in libraries:
        if importlib.util.find_spec(name) is not None:
            return name
    msg = f"tables need one of the packages {', '.join(libraries)}; type: pip install polars"
    raise CommandError(msg)


def _read(source: Source, numbers: Sequence[str]) -> Any:
    """Read the users, items and ``numbers`` of a table.

    Ids are read as text, so that files of two formats have ids of one type.
    """
    import narwhals.stable.v2 as nw

    backend = _backend()
    if source.path.suffix.lower() == ".parquet":
        with opened(source, _EXPECTED, regular=True), reading(source, _EXPECTED):
            frame = _read_parquet(source, numbers, backend)
    else:
        with opened(source, _EXPECTED) as file, reading(source, _EXPECTED):
            refuse_other_formats(source, file, _EXPECTED)
            columns = _read_text(source, file, numbers)
        schema = {name: nw.Float64 if name in numbers else nw.String for name in columns}
        frame = nw.from_dict(columns, schema, backend=backend)
    if not len(frame):
        msg = f"{source} has no row; expected {_EXPECTED}"
        raise CommandError(msg)
    return frame.to_native()


def _read_parquet(source: Source, numbers: Sequence[str], backend: Backend) -> Any:
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
    chosen = _chosen(source, frame.columns, numbers)
    for name in _IDS:
        dtype = frame.schema[name]
        if not (dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)):
            msg = f"its column {name!r} holds {dtype}; expected text or integers"
            raise ValueError(msg)
        if backend != "polars":  # the others read bytes that are no text, and fail later
            frame[name].to_arrow().validate(full=True)
    ids = [nw.col(name).cast(nw.String) for name in _IDS]
    return frame.select(*ids, *(name for name in chosen if name in numbers))


def _n_rows(path: Path, backend: Backend) -> int:
    """Read the number of rows that a file claims to have, without unpacking any."""
    if backend == "polars":
        import polars as pl

        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _chosen(source: Source, columns: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """Choose the columns to read; refuse a missing or repeated one."""
    for name in columns:
        if columns.count(name) > 1:
            msg = f"{source} has the column {name!r} twice; expected every name once"
            raise CommandError(msg)
    for name in _IDS:
        if name not in columns:
            has = ", ".join(map(repr, columns)) or "no columns"
            msg = f"{source} has no column {name!r} but {has}; expected {_EXPECTED}"
            raise CommandError(msg)
    return [name for name in columns if name in (*_IDS, *numbers)]


def _read_text(
    source: Source, file: BufferedReader, numbers: Sequence[str]
) -> dict[str, list[Any]]:
    rows = read_rows(file, "\t" if source.path.suffix.lower() == ".tsv" else ",")
    _, header = next(rows, (1, []))
    chosen = _chosen(source, header, numbers)
    columns: dict[str, list[Any]] = {name: [] for name in chosen}
    places = [(header.index(name), columns[name], name) for name in chosen]
    for line, cells in rows:
        for place, column, name in places:
            column.append(_value(line, cells[place], name))
    return columns


def _value(line: int, cell: str, name: str) -> str | float:
    if name not in _IDS:
        try:
            return read_number(cell)
        except ValueError:
            msg = f"cannot read {cell[:40]!r} as {name}; expected a number"
            raise LineError(line, msg) from None
    if not cell:
        msg = f"no {name}; expected an id in every row"
        raise LineError(line, msg)
    return cell
