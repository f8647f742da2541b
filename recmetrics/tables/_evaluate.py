"""``evaluate_table``: the metrics of a table of recommendations; ``identify_table``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, cast, overload

import narwhals.stable.v2 as nw
import numpy as np

from recmetrics._core.errors import ArgumentError, InputError, RecmetricsError, warn
from recmetrics._core.options import SideTables, check_count, check_flag, one_of, takes
from recmetrics._core.results import warn_of_swallowed
from recmetrics._core.spec import (
    CONVENTIONS,
    Definition,
    MetricsList,
    Request,
    System,
    TableOrder,
    make_spec,
    of_shown_items,
)
from recmetrics._core.types import Convention, Invalid, Progress, RankGaps, Undefined
from recmetrics._inspection import Identification, Measured, Problem, identify_by, read_metric
from recmetrics.tables._buckets import evaluate_in_buckets, is_large
from recmetrics.tables._columns import (
    Columns,
    choose_columns,
    note_on_unread_grades,
    refuse_unread_order,
)
from recmetrics.tables._counts import (
    Missing,
    TableSummary,
    averaged_by_system,
    notes_on_dividing_columns,
    summarise,
)
from recmetrics.tables._forms import WITHOUT_ITEMS, AnyForm, in_frames, say_how_to_read
from recmetrics.tables._frames import Frame, Table, as_names, read_frame, with_columns
from recmetrics.tables._list_cells import refuse_list_cells
from recmetrics.tables._list_order import count_tied_lists
from recmetrics.tables._matching import ListsAndTruth, read_lists
from recmetrics.tables._side_tables import FORMS, TABLES, ItemTables, needed_tables
from recmetrics.tables._values import (
    Exposed,
    StringMetric,
    count_excluded,
    measure_lists,
    values_of_all_lists,
    weights_of_lists,
)

_NO_SYSTEM = System(name="", lines=())
# The endings of files that are no Parquet; what follows the last dot of a name may be a date, too.
_OTHER_FORMATS = (
    *(".csv", ".tsv", ".inter", ".txt", ".json", ".jsonl", ".ndjson", ".xls", ".xlsx", ".gz"),
    *(".zip", ".npy", ".npz", ".arrow", ".feather", ".ipc", ".avro", ".orc", ".pkl", ".pickle"),
)


class ListOptions(TypedDict, total=False):
    """The keywords that say how the lists and the truth are read."""

    user: str
    item: str
    score: str | None
    rank: str | None
    in_order: bool
    rank_gaps: RankGaps | None
    relevance: str | None
    include_missing: bool | None
    n_threads: int | None
    exclude: AnyForm | None
    catalogue: AnyForm | None
    repeats: Invalid
    unknown: Invalid


DEFAULTS: dict[str, Any] = {
    "user": "user",
    "item": "item",
    "in_order": False,
    "repeats": "raise",
    "unknown": "raise",
}


class OneBucketOptions(ListOptions, SideTables, total=False):
    """The keywords of ``evaluate_table`` that do not change the type of its result."""

    by: str | Sequence[str] | None
    progress: Progress
    undefined: Undefined | None
    convention: Convention | None
    strata: Mapping[str, AnyForm] | None


class TableOptions(OneBucketOptions, total=False):
    """The keywords of ``evaluate_table``; the result of buckets is of polars."""

    chunks: int | None
    per_user: str | Path | None


@overload
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    return_summary: Literal[False] = False,
    **options: Unpack[OneBucketOptions],
) -> Table: ...


@overload
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    return_summary: Literal[True],
    **options: Unpack[OneBucketOptions],
) -> tuple[Table, TableSummary]: ...


@overload
def evaluate_table(
    recs: AnyForm,
    truth: AnyForm,
    metrics_list: MetricsList,
    *,
    return_summary: Literal[True],
    **options: Unpack[TableOptions],
) -> tuple[Any, TableSummary]: ...


@overload
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    return_summary: bool,
    **options: Unpack[OneBucketOptions],
) -> Table | tuple[Table, TableSummary]: ...


@overload
def evaluate_table(
    recs: AnyForm,
    truth: AnyForm,
    metrics_list: MetricsList,
    *,
    return_summary: bool = False,
    **options: Unpack[TableOptions],
) -> Any: ...


@takes(TableOptions, **DEFAULTS)
def evaluate_table(
    recs: AnyForm,
    truth: AnyForm,
    metrics_list: MetricsList,
    *,
    return_summary: bool = False,
    **options: Unpack[TableOptions],
) -> Any:
    """Compute metrics for every list in a table of recommendations.

    >>> import pandas as pd
    >>> from recmetrics.tables import evaluate_table
    >>> recs = pd.DataFrame({"user": ["a", "a", "b"], "item": [7, 8, 7], "score": [0.9, 0.4, 0.5]})
    >>> truth = pd.DataFrame({"user": ["a", "b"], "item": [8, 9]})
    >>> evaluate_table(recs, truth, ["mrr@10", "hit@1"]).reset_index()
      user  nrecs  mrr@10  hit@1  ntruth
    0    a      2     0.5    0.0       1
    1    b      1     0.0    0.0       1

    Parameters
    ----------
    recs
        Recommendations: a pandas or polars DataFrame or a pyarrow Table with a column of users and
        one of items. Ids may have any type whose values can be compared. A Python list or tuple,
        for example, cannot be an id. All other tables must be of the same library. ``recs``,
        ``truth`` and ``exclude`` may be dicts: of recommendations ``{user: {item: score}}``, or
        ``{user: [item, ...]}``, best first; of truth ``{user: {item: relevance}}``, or with lists
        or sets of items. A list may be an array, a tensor, or a column of polars or pyarrow. Each
        table may also be the path of a file that polars reads: ``.csv``,
        ``.tsv``, RecBole's ``.inter``, ``.parquet``, a run or qrels of TREC; text may be packed by
        gzip. Ids in files are read as text, or as integers if another table of the call has integer
        ids.
    truth
        The relevant items: a column of users, one of items and, optionally, one of relevances.
        Lists and truth are matched by ``user``, and by those columns of ``by`` that the truth has.
    metrics_list
        The metrics, as in ``Metrics.compute``.
    user, item
        The names of these columns, in all tables.
    score, rank
        The column of ``recs`` that orders the rows of a list: ``rank`` ascending, or ``score``
        descending. By default, this is the column "rank" if there is one, else the column "score".
        Under ``convention="trec"`` and ``"ranx"``, which ignore ranks, "score" comes first. If
        there is neither, the rows are taken in order, and it is an error if another column contains
        numbers, or has a name that is usual for scores or ranks. The summary tells if ranks
        contradict the column "score". The ranks of a run of TREC are not read: its scores order the
        lists, as in trec_eval. Equal scores keep the order of the rows. With
        ``convention="trec"``, equal scores rank by the bytes of the item id, in descending order.
    in_order
        If True, the rows of each list are in order, best first, and the columns are not used for
        this.
    rank_gaps
        How to read ranks with gaps. "close" numbers the rows of each list 1, 2, 3, ... in the order
        of the ranks. "keep" reads the ranks as they are, integers from 1: the top k contains the
        items with ranks up to k, a missing rank counts as not relevant, and the length of a list is
        its last rank. Default: the rule of the convention ("keep" for RecTools and LensKit 0.14),
        else "close" with a warning. Under "close", the ranks 0, 1, 2, ... have no gap.
    relevance
        The column of ``truth`` with graded relevance, 0 = not relevant. By default, "relevance" or
        "rating" if there is one; without it, every item of the truth has relevance 1.
    by
        Columns of ``recs`` that, together with the user, identify a list, such as the model. All
        other columns are ignored.
    include_missing
        Add rows for users of the truth without recommendations, as empty lists, and for users whose
        items in a dict are none, such as ``{user: []}``. With ``by``, such a
        user has a row for each model; with several columns, for each combination of their values
        that ``recs`` has. If the truth has such a column, too, the user has rows for its values in
        the truth alone. With True, the last column of the result is ``ntruth``, the number of rows
        of the user in the truth, those of relevance 0 too. With False, such users are in no mean;
        the summary says how many they are. Default: True; False under ``convention="trec"``, which
        leaves them out, and gives 0 to a list whose rows of the truth are all irrelevant.
    undefined, convention, n_threads
        As in ``Metrics.compute``.
    exclude
        A table with a column of users and one of items, such as the training interactions. Its
        pairs are taken out of the lists, and the items below them move up. Lists that were cut at k
        before are then shorter: the summary counts those. A relevant item that is excluded still
        counts. Pairs are matched by ``user``, and by those columns of ``by`` that the table has.
    catalogue
        A table with a row for each item that may be recommended. Items outside it are an error.
        Needed for metrics of all lists, such as coverage, for ``fallout``, and without a cutoff for
        ``auc``, ``mean_rank`` and ``percentile_rank``. For the last four, every list must hold the
        whole catalogue.
    repeats, unknown
        How to treat repeated items of a list, and items of ``recs`` outside the catalogue: "raise",
        "waste" or "drop", as in ``Metrics.compute_ranked``. The summary counts these items;
        ``nrecs`` counts all others. ``unknown`` needs ``catalogue``.
    strata
        Tables by name, for metrics such as ``recall(of=tail)@20``. Each table has a column of the
        items that count; if it also has a column of users, the items count for these users.
    propensity
        For metrics such as ``recall(weigh=snips)@20``: a table of items and their propensities, or
        the training interactions (users and items), from which ``propensity_from`` estimates them.
    popularity
        A table of items and the share of users who have each, 0 to 1; or the training interactions
        (users and items). An item without a row has 0.
    features
        A table of items and the numbers of their vectors, one column for each dimension.
    similarity
        A table of pairs of items, with the column that ``item`` names and two more in this order:
        another item, and the similarity of the two, which stands last in a file. A pair that is
        given in one direction counts in both; a missing pair has similarity 0.
    genres
        A table of items and a column for each genre, 1 if the item has the genre.
    profile
        A table of users and the columns of ``genres``. A user without a row has no profile.
    chunks
        The number of buckets of users. Several buckets are evaluated at the same time as long as
        they have at most four million rows in total. By default, tables in memory and small files
        are one bucket. Large files, lazy frames of polars, relations of DuckDB, and datasets and
        record batch readers of pyarrow have as many as their rows need, at most 64. Their rows are
        read once: the first 256 MB of a table stay in memory, and the others are written to the
        temporary folder. Other tables than ``recs``, ``truth`` and ``exclude`` are held in memory.
    per_user
        The path of a Parquet file for the result, written as a whole or not at all.
    progress
        True shows a progress bar of the buckets; a callable is called with the number done and the
        number of all. Tables in memory and small files report nothing without ``chunks``.
    return_summary
        Whether to return the ``TableSummary`` as well.

    Returns
    -------
    DataFrame or Table
        One row for each list, in the order in which the lists first appear. The library is that of
        the frames; without any, polars if there is a file, else the first of pandas, polars and
        pyarrow that is installed. The columns are those of ``by`` and ``user`` (the index in
        pandas), ``nrecs``, the number of items of the list, and one column for each metric string
        as typed. If the system of the convention weighs users
        in the mean of a metric, there is also a column of these weights, such as
        ``recall@10[weight]``, which ``compare`` and ``summary`` read. An undefined value is NaN in
        pandas and null in polars and pyarrow. A metric of all lists, such as coverage, has one
        value for all lists with the same values of ``by``; it is repeated in their rows. The result
        of several buckets is of polars, its rows bucket by bucket; with ``per_user``, it is a lazy
        frame of the file.
    TableSummary
        Counts and means, only with ``return_summary=True``; it prints as text.

    Raises
    ------
    MetricSpecError, ArgumentError, UndefinedMetricError
        As in ``Metrics.compute``.
    InputError, InputTypeError
        Arguments that are not tables, missing columns, null ids, ids of two types, an item twice in
        a list or in a truth, -1 among the items of a dict of lists, a rank twice in a list, invalid
        ranks, scores or relevances, an id
        twice in one of the other tables, or an item of ``recs`` without a row in ``features`` or
        ``genres``. The message names the table, its columns and the first row.

    Warns
    -----
    RecmetricsWarning
        If ``recs`` has no user or no item in common with ``truth`` or with ``exclude``, or no item
        in common with ``popularity``; if a column of pandas has a number and its text among the
        ids, such as 1 and "1", which are two; if two dicts look exchanged, since the scores are
        grades and the relevances fractions; if ``exclude`` contains all relevant items of more than
        half of the lists with relevant items (with ``return_summary``, the summary says so instead
        of a warning); or if gaps in ranks are closed although neither ``rank_gaps`` nor the
        convention asks for it.
    """
    check_flag("return_summary", return_summary)
    path: Any = options.get("per_user")
    if path is not None:
        _check_path(path)
    request, system = _read_request(metrics_list, options)
    needs = needed_tables(request)
    strata: Any = options.get("strata")
    tables: dict[str, Any] = {"recs": recs, "truth": truth}
    tables |= {
        name: table for name, table in options.items() if name in needs and table is not None
    }
    tables |= {f"strata[{name!r}]": strata[name] for name in request.strata}

    if options.get("chunks") is not None:
        check_count("chunks", options["chunks"], 1)
    measure = partial(_measure, request=request, system=system)
    in_buckets = options.get("chunks") is not None or is_large(tables)
    if path is not None and not in_buckets:
        # Only the code of buckets writes a file; one bucket keeps the order of one call.
        options["chunks"] = 1
        in_buckets = True
    try:
        if in_buckets:
            choose = partial(_choose_columns, options=options, first=system.table_order)
            table, summary = evaluate_in_buckets(tables, options, request, choose, measure)
        else:
            recs, truth, options = in_frames(tables, options)
            table, summary = measure(recs, truth, options, has_summary=return_summary)
    except RecmetricsError as error:
        say_how_to_read(error, tables)
        raise
    if return_summary:
        return table, summary
    if in_buckets:
        _warn_as_summary(summary, summary.dividing_notes)
    return table


def _check_path(path: Any) -> None:
    """Refuse a ``per_user`` that is no path, or the name of another file than Parquet."""
    if not isinstance(path, str | PathLike) or not str(path):
        msg = (
            "per_user must be the path of a file to write, such as 'per_user.parquet', got "
            f"{path!r}"
        )
        raise ArgumentError(msg, argument="per_user")
    if Path(path).suffix.lower() in _OTHER_FORMATS:
        parquet = str(Path(str(path).removesuffix(".gz")).with_suffix(".parquet"))
        msg = f"per_user={str(path)!r} must be a Parquet file; type per_user={parquet!r}"
        raise ArgumentError(msg, argument="per_user")


def columns_read(
    recs: Any, truth: Any, metrics_list: MetricsList, options: Mapping[str, Any]
) -> Columns:
    """Name the columns that are read, for ``recmetrics.spark``; the tables need no rows."""
    all_options: Any = {**DEFAULTS, **options}
    _, system = _read_request(metrics_list, all_options)
    frames = read_frame(recs, "recs"), read_frame(truth, "truth")
    return _choose_columns(*frames, all_options, system.table_order)


def evaluate_bucket(
    recs: Any, truth: Any, metrics_list: MetricsList, options: Mapping[str, Any], models: Any
) -> tuple[Any, Exposed]:
    """Evaluate the lists of some users, for ``recmetrics.spark``; all tables are of one library.

    ``models`` has the ``by`` columns of the lists of all users, without those of the truth, each
    row once; None: there are none. Metrics of all lists are computed from the second result of
    every bucket.
    """
    all_options: Any = {**DEFAULTS, **options}
    request, system = _read_request(metrics_list, all_options)
    models = None if models is None else read_frame(models, "recs")
    exposed = Exposed()
    values, _ = _measure(
        recs, truth, all_options, request, system, has_summary=False, models=models, exposed=exposed
    )
    return values, exposed


def evaluate_all_lists(
    exposed_of_buckets: Iterable[Exposed], metrics_list: MetricsList, options: Mapping[str, Any]
) -> Any:
    """Compute the metrics of all lists of all buckets: a row for each combination of ``by``.

    The result is a table of the library of the tables, and a dict of columns without ``by``.
    """
    all_options: Any = {**DEFAULTS, **options}
    request, _ = _read_request(metrics_list, all_options)
    keys, values = values_of_all_lists(exposed_of_buckets, request)
    return values if keys is None else with_columns(keys, values).to_native()


def _measure(
    recs: Any,
    truth: Any,
    options: TableOptions,
    request: Request,
    system: System,
    *,
    has_summary: bool,
    models: Frame | None = None,
    exposed: Exposed | None = None,
) -> tuple[Any, Any]:
    """Compute the metrics of frames of one library, of all users or of a bucket of users.

    The lists of all users are of ``models``. ``exposed`` is as in ``measure_lists``. The summary is
    None where nobody asks for it.
    """
    recs_frame = read_frame(recs, "recs")
    truth_frame = read_frame(truth, "truth")
    default_gaps = system.rank_gaps
    columns = _choose_columns(recs_frame, truth_frame, options, system.table_order)
    side = ItemTables(request, options, recs_frame, truth_frame)

    rank_gaps = options.get("rank_gaps")
    n_items = None if options.get("catalogue") is None else side.n_items
    lists = read_lists(
        recs_frame,
        truth_frame,
        columns,
        side.items,
        rank_gaps=rank_gaps or default_gaps,
        ties=system.table_ties,
        repeats=options["repeats"],
        n_items=n_items,
        request=request,
    )
    if lists.gapped.size and rank_gaps is None and default_gaps == "close":
        _warn_of_gaps(lists)
    lists = lists.with_models(models)
    missing = lists.missing()
    treatment: Missing = "left out"
    has_missing = options.get("include_missing")
    if has_missing is None:
        has_missing = system.table_users == "all"
    if has_missing:
        lists = lists.with_missing(options.get(WITHOUT_ITEMS))
        treatment = "empty lists"
    lists = lists.without_excluded(side.excluded(lists.keys))
    lists, invalid = lists.without_invalid(options["repeats"], options["unknown"], side.n_items)
    for text in request.of_all_items:
        _refuse_short_lists(lists, text, side.n_items)

    arrays = side.arrays(lists.keys)
    without_relevant = None
    if system.table_users == "judged" and options.get("undefined") is None:
        without_relevant = 0.0
    metrics = [
        StringMetric(text, spec, without_relevant=without_relevant)
        for text, (spec, _, _) in request.definitions.items()
    ]
    values = measure_lists(lists, metrics, arrays, request, n_items, exposed)
    weights = weights_of_lists(lists, arrays, request, n_items)
    excluded = count_excluded(lists, has_summary=has_summary)
    table = lists.result(values, weights, included=has_missing)
    misleading = _what_misleads(lists, truth_frame, request, excluded)
    if not has_summary:
        notes: Iterable[str] = ()
        if has_missing and missing.n and models is None:  # a bucket does not have all users
            notes = notes_on_dividing_columns(missing.n_users_across)
        _warn_as_summary(misleading, notes)
        return table, None
    summary = summarise(lists, values, missing, treatment, metrics, invalid, weights)
    return table, replace(summary, **misleading._asdict())


class _Misleading(NamedTuple):
    """Facts that may mislead: fields of a summary, and warnings of a call without one."""

    swallowed: tuple[int, int]
    excluded_relevant: tuple[int, int]
    n_tied: int
    unread_grades: str


def _what_misleads(
    lists: ListsAndTruth,
    truth: Frame,
    request: Request,
    excluded: tuple[tuple[int, int], tuple[int, int]],
) -> _Misleading:
    """Find what may mislead in the lists of a call, and in the columns of its ``truth``.

    ``excluded`` has the first two facts.
    """
    columns = lists.columns
    n_tied = 0
    if request.of_other_ties:
        cutoffs = [request.definitions[text].spec.k for text in request.of_other_ties]
        depth = max(len(lists.order) if k is None else k for k in cutoffs)
        n_tied = count_tied_lists(lists.recs, columns, lists.lists.start, lists.order, depth)
    unread_grades = ""
    if columns.unread_grades is not None:
        specs = [definition.spec for definition in request.definitions.values()]
        unread_grades = note_on_unread_grades(truth, columns.unread_grades, specs)
    return _Misleading(*excluded, n_tied, unread_grades)


def _warn_as_summary(misleading: _Misleading | TableSummary, dividing_notes: Iterable[str]) -> None:
    """Warn of what a summary says, where nobody asks for it."""
    if misleading.swallowed[0]:
        warn_of_swallowed(*misleading.swallowed)
    if misleading.n_tied:
        warn(averaged_by_system(misleading.n_tied), argument="convention")
    if misleading.unread_grades:
        warn(misleading.unread_grades, argument="relevance")
    for note in dividing_notes:
        warn(note, argument="by")


def _choose_columns(recs: Frame, truth: Frame, options: TableOptions, first: TableOrder) -> Columns:
    """Choose the columns; refuse gaps to keep without ranks, and an order that is not read."""
    user = options["user"]
    by: Any = options.get("by")
    is_array = hasattr(by, "dtype")
    if is_array and (getattr(by, "ndim", 1) != 1 or not set(by) <= set(recs.columns)):
        msg = (
            f"by must name columns of recs that divide its lists, such as by='model', got a "
            f"{type(by).__name__}; if it is the group of each user leave out by=, and "
            "with the result type recmetrics.summary(values, by=groups)"
        )
        raise ArgumentError(msg, argument="by")
    columns = choose_columns(
        recs,
        truth,
        [*as_names(by), user],
        options["item"],
        score=options.get("score"),
        rank=options.get("rank"),
        relevance=options.get("relevance"),
        in_order=options["in_order"],
        of_truth=[user],
        first=first,
    )
    if options.get("rank_gaps") == "keep" and columns.rank is None:
        msg = f"rank_gaps='keep' needs a column of ranks, but the lists are {columns.order}"
        raise ArgumentError(msg, argument="rank_gaps")
    if not options["in_order"]:
        refuse_unread_order(recs, truth, columns)
    refuse_list_cells(recs, truth, columns)
    return columns


def _read_request(metrics_list: MetricsList, options: TableOptions) -> tuple[Request, System]:
    """Check the options that need no table.

    Gives the request, and the system of the convention, ``_NO_SYSTEM`` without one.
    """
    of_request = ("undefined", "convention", "n_threads", "strata", *FORMS)
    request_options: dict[str, Any] = {
        name: value for name, value in options.items() if name in of_request
    }
    request = Request(metrics_list, ties="index", side_words=TABLES, **request_options)
    check_flag("in_order", options["in_order"])
    if options.get("include_missing") is not None:  # else the convention decides
        check_flag("include_missing", options["include_missing"])
    if options.get("rank_gaps") is not None:
        one_of("rank_gaps", options["rank_gaps"], RankGaps)
    one_of("repeats", options["repeats"], Invalid)
    one_of("unknown", options["unknown"], Invalid)
    if options["unknown"] != "raise" and options.get("catalogue") is None:
        msg = f"unknown={options['unknown']!r} needs catalogue=, the table of all items"
        raise ArgumentError(msg, argument="catalogue")
    if request.convention is None:
        return request, _NO_SYSTEM
    return request, CONVENTIONS[request.convention]


def _warn_of_gaps(lists: ListsAndTruth) -> None:
    """Warn that gaps in ranks were closed, and name the first list that has one."""
    n_gapped = f"{len(lists.gapped):,} of {len(lists.truth_of):,}"
    first = lists.key_of(int(lists.gapped[0]))
    msg = (
        f"recs, column {lists.columns.rank!r}: {n_gapped} lists "
        f"have gaps in their ranks, the first is {first}; their items were ranked 1, 2, 3, ... in "
        "this order; rank_gaps='keep' keeps the ranks as they are, rank_gaps='close' closes the "
        "gaps without this warning"
    )
    warn(msg, argument="recs")


def _refuse_short_lists(lists: ListsAndTruth, text: str, n_items: int) -> None:
    """Refuse a list with truth that lacks recommendable items, for the metric ``text``."""
    n_recommendable = n_items - lists.n_excluded
    short = np.flatnonzero((lists.lengths < n_recommendable) & (lists.truth_sizes > 0))
    if short.size:
        length = lists.lengths[short[0]]
        of_all = f"{n_recommendable[short[0]]:,} items of the catalogue"
        if lists.excluded is not None:
            of_all += " that are not excluded"
        advice = ""
        if not length:
            advice = "; include_missing=False leaves out users without recommendations"
        msg = (
            f"recs lists {length:,} of the {of_all} for "
            f"{lists.key_of(int(short[0]))}, but {text} counts all of them; "
            "expected lists of all items; with scores of all items, and the truth as a matrix, "
            f"type Metrics.compute(scores, truth, [{text!r}]); for {of_shown_items(text)}{advice}"
        )
        raise InputError(msg, argument="recs")


@takes(ListOptions, **DEFAULTS)
def identify_table(
    recs: AnyForm, truth: AnyForm, value: str | float, metric: str, **options: Unpack[ListOptions]
) -> Identification:
    """Find the definitions of a metric that give a number, of a table of recommendations.

    The lists have one order, and one set of items is excluded from them: the definitions differ in
    their options, in the treatment of users without relevant items, and in the cutoff.

    >>> import pandas as pd
    >>> from recmetrics.tables import identify_table
    >>> recs = pd.DataFrame({"user": ["a", "a", "b"], "item": [7, 8, 7], "score": [0.9, 0.4, 0.5]})
    >>> truth = pd.DataFrame({"user": ["a", "a", "b"], "item": [8, 9, 9]})
    >>> identify_table(recs, truth, "25 %", "recall@2").matches[0].metric
    'recall@2'

    Parameters
    ----------
    recs, truth
        As in ``evaluate_table``.
    value, metric
        As in ``recmetrics.identify``.
    **options
        As in ``evaluate_table``.

    Returns
    -------
    Identification
        As in ``recmetrics.identify``.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError
        As in ``recmetrics.identify`` and ``evaluate_table``.
    """
    spec = read_metric(metric)

    def measure(definitions: Mapping[str, Definition], _: object) -> Measured:
        """Compute the definitions for each list, NaN for lists without relevant items."""
        specs = {text: definition.spec for text, definition in definitions.items()}
        specs["hit"] = make_spec("hit")
        native: Any = evaluate_table(recs, truth, cast(MetricsList, specs), **options)
        frame: Any = nw.from_native(native, eager_only=True)
        values = {text: frame.get_column(text).to_numpy() for text in specs}
        without_truth = np.isnan(values["hit"])  # of these, sums are 0
        return Measured(
            {text: np.where(without_truth, np.nan, values[text]) for text in definitions},
            lambda _weight, _spec: np.ones(len(without_truth)),
        )

    has_all_items = spec.metric.counts_all_items
    return identify_by(Problem(measure, has_all_items=has_all_items), value, spec)
