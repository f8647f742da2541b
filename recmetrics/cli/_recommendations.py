"""``recmetrics evaluate RECS TRUTH``: metrics of tables of recommendations."""

from __future__ import annotations

import importlib.util
import warnings
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recmetrics import RecmetricsWarning
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
from recmetrics.cli._failures import CommandError, naming, with_files, with_options
from recmetrics.cli._output import check_output, write_per_user
from recmetrics.cli._score_files import SIDE, default_metrics, left_out, read_request, to_json
from recmetrics.cli._tables import evaluation_table
from recmetrics.cli._terminal import quiet, require_rich, show, tell, write
from recmetrics.comparison import intervals_by, summarise

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
    for text in (*request.of_exposure, *request.of_all_items):
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
    named = args.rank or args.score
    if named or args.in_order:
        recs = _read(sources["recs"], [named] if named else [], required=True)
    else:
        recs = _read(sources["recs"], ("rank", "score"), maybe=None)
    truth = _read(sources["truth"], ("rating",), maybe=("score", "rank"))
    train = None if args.popularity is None else _read(sources["popularity"], ())
    with naming(sources), _noting(sources):
        result, summary = tables.evaluate_table(
            recs,
            truth,
            metrics,
            rank=args.rank,
            score=args.score,
            in_order=args.in_order,
            rank_gaps=args.rank_gaps,
            include_missing=args.include_missing is not False,
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
    found = summarise(values)
    if args.per_user is not None:
        write_per_user(args.per_user, values, users)
    if args.json:
        about = {"n_users": summary.n_lists, "n_missing": summary.n_missing, "lists": summary.order}
        write(to_json(about, args, found, {}))
        return
    lines = [
        f"{summary.n_lists:,} users; {intervals_by(found.level, found.n_resamples)}",
        f"lists {summary.order}",
    ]
    if summary.n_missing:
        told = (
            "left out; --include-missing counts them"
            if summary.missing == "left out"
            else "counted as empty lists; --no-include-missing leaves them out"
        )
        lines.append(
            f"users of TRUTH without recommendations: {summary.n_missing:,}, the first "
            f"{summary.first_missing}, {told}"
        )
    show(evaluation_table(found, {}), "", *lines, *left_out(summary.n_lists, found, request))


@contextmanager
def _noting(sources: Mapping[str, Source]) -> Iterator[None]:
    """Print the warnings of the library as notes, with files and options in place of arguments."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecmetricsWarning)
        yield
    for one in caught:
        if issubclass(one.category, RecmetricsWarning):
            tell(f"note: {with_options(with_files(str(one.message), sources))}")


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
            msg = f"--{name} goes with SCORES, an .npy or .npz; RECS is a table of recommendations"
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


def _read(
    source: Source,
    numbers: Sequence[str],
    *,
    required: bool = False,
    maybe: Collection[str] | None = (),
) -> Any:
    """Read the users, items and ``numbers`` of a table.

    Where it has no column of ``numbers``, those of ``maybe`` (None: all others) are read that hold
    numbers alone. Ids are read as text, so that files of two formats have ids of one type.
    """
    chosen = _Chosen(numbers, required, maybe)
    import narwhals.stable.v2 as nw

    backend = _backend()
    if source.path.suffix.lower() == ".parquet":
        with opened(source, _EXPECTED, regular=True), reading(source, _EXPECTED):
            frame = _read_parquet(source, chosen, backend)
    else:
        with opened(source, _EXPECTED) as file, reading(source, _EXPECTED):
            refuse_other_formats(source, file, _EXPECTED)
            columns = _read_text(source, file, chosen)
        schema = {name: nw.String if name in _IDS else nw.Float64 for name in columns}
        frame = nw.from_dict(columns, schema, backend=backend)
    if not len(frame):
        msg = f"{source} has no row; expected {_EXPECTED}"
        raise CommandError(msg)
    return frame.to_native()


def _read_parquet(source: Source, chosen: _Chosen, backend: Backend) -> Any:
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
    columns, maybe = chosen.columns(source, frame.columns)
    for name in _IDS:
        dtype = frame.schema[name]
        if not (dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)):
            msg = f"its column {name!r} holds {dtype}; expected text or integers"
            raise ValueError(msg)
        if backend != "polars":  # the others read bytes that are no text, and fail later
            frame[name].to_arrow().validate(full=True)
    ids = [nw.col(name).cast(nw.String) for name in _IDS]
    more = [name for name in maybe if frame.schema[name].is_numeric()]
    return frame.select(*ids, *(name for name in columns if name not in _IDS), *more)


def _n_rows(path: Path, backend: Backend) -> int:
    """Read the number of rows that a file claims to have, without unpacking any."""
    if backend == "polars":
        import polars as pl

        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


class _Chosen(NamedTuple):
    """The columns to read beside the ids; see ``_read``."""

    numbers: Sequence[str]
    required: bool
    maybe: Collection[str] | None

    def columns(self, source: Source, has: Sequence[str]) -> tuple[list[str], list[str]]:
        """Give the columns to read, and those to read if they hold numbers."""
        for name in has:
            if has.count(name) > 1:
                msg = f"{source} has the column {name!r} twice; expected every name once"
                raise CommandError(msg)
        for name in (*_IDS, *(self.numbers if self.required else ())):
            if name not in has:
                named = ", ".join(map(repr, has)) or "no columns"
                expected = _EXPECTED if name in _IDS else "one of these"
                msg = f"{source} has no column {name!r} but {named}; expected {expected}"
                raise CommandError(msg)
        read = [name for name in has if name in (*_IDS, *self.numbers)]
        if any(name in self.numbers for name in read):
            return read, []
        others = (name for name in has if name not in read)
        return read, [name for name in others if self.maybe is None or name in self.maybe]


def _read_text(source: Source, file: BufferedReader, chosen: _Chosen) -> dict[str, list[Any]]:
    rows = read_rows(file, "\t" if source.path.suffix.lower() == ".tsv" else ",")
    _, header = next(rows, (1, []))
    names, maybe = chosen.columns(source, header)
    columns: dict[str, list[Any]] = {name: [] for name in (*names, *maybe)}
    places = [(header.index(name), columns[name], name) for name in names]
    maybe_places = {name: header.index(name) for name in maybe}
    for line, cells in rows:
        for place, column, name in places:
            column.append(_value(line, cells[place], name))
        for name, place in list(maybe_places.items()):
            try:
                columns[name].append(read_number(cells[place]))
            except ValueError:
                del columns[name], maybe_places[name]
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
