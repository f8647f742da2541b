"""evaluate_table: the metrics of a table of recommendations in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Unpack, overload

import numpy as np

from recmetrics._errors import ArgumentError, InputError, warn
from recmetrics._options import SideTables, one_of, takes
from recmetrics._results import RowNames, settled
from recmetrics._spec import CONVENTIONS, SIDE, MetricsList, Request, read_convention
from recmetrics._types import Convention, FloatArray, IntArray, Invalid, RankGaps, Undefined
from recmetrics.tables._columns import choose_columns, refuse_ordered_truth, refuse_unread_numbers
from recmetrics.tables._frames import (
    AnyTable,
    Frame,
    Table,
    as_names,
    read_frame,
    require_columns,
    require_same_kind,
    value_at,
)
from recmetrics.tables._ids import as_integers
from recmetrics.tables._numbering import combine, number
from recmetrics.tables._problem import Problem, read_problem
from recmetrics.tables._side_tables import (
    TABLES,
    ItemTable,
    matrix_of,
    popularity_of,
    profile_of,
    propensity_of,
    refuse_repeats,
    similarity_columns,
    similarity_of,
    stratum_of,
)
from recmetrics.tables._summary import Missing, TableSummary, summarise
from recmetrics.tables._values import StringMetric, measure_problem

_OTHERS = "similar items"


class _Options(SideTables, total=False):
    """The keywords of ``evaluate_table`` that do not change the type of its result."""

    user: str
    item: str
    score: str | None
    rank: str | None
    in_order: bool
    rank_gaps: RankGaps | None
    rating: str | None
    by: str | Sequence[str] | None
    include_missing: bool
    undefined: Undefined | None
    convention: Convention | None
    n_threads: int | None
    catalogue: AnyTable | None
    repeats: Invalid
    unknown: Invalid
    strata: Mapping[str, AnyTable] | None


@overload
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    return_summary: Literal[False] = False,
    **options: Unpack[_Options],
) -> Table: ...


@overload
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    return_summary: Literal[True],
    **options: Unpack[_Options],
) -> tuple[Table, TableSummary]: ...


@overload
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    return_summary: bool,
    **options: Unpack[_Options],
) -> Table | tuple[Table, TableSummary]: ...


@takes(SideTables)
def evaluate_table(
    recs: Table,
    truth: Table,
    metrics_list: MetricsList,
    *,
    user: str = "user",
    item: str = "item",
    score: str | None = None,
    rank: str | None = None,
    in_order: bool = False,
    rank_gaps: RankGaps | None = None,
    rating: str | None = None,
    by: str | Sequence[str] | None = None,
    include_missing: bool = True,
    undefined: Undefined | None = None,
    convention: Convention | None = None,
    n_threads: int | None = None,
    catalogue: AnyTable | None = None,
    repeats: Invalid = "raise",
    unknown: Invalid = "raise",
    strata: Mapping[str, AnyTable] | None = None,
    return_summary: bool = False,
    **side: Unpack[SideTables],
) -> Table | tuple[Table, TableSummary]:
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
        one of items. Ids may have any type whose values can be compared. A Python list, for
        example, cannot be an id. All other tables must be of the same library.
    truth
        The relevant items: a column of users, one of items and, optionally, one of ratings. Lists
        and truth are matched by ``user``, and by those columns of ``by`` that the truth has.
    metrics_list
        The metrics, as in ``Metrics.compute``. A cutoff is limited to the size of the catalogue
        only if ``catalogue`` is given.
    user, item
        The names of these columns, in all tables.
    score, rank
        The column of ``recs`` that orders the rows of a list: ``rank`` ascending, or ``score``
        descending. By default, this is the column "rank" if there is one, else the column "score".
        If there is neither, the rows are taken in order, and it is an error if another column
        contains numbers. Equal scores keep the order of the rows. With ``convention="trec"``, equal
        scores rank by the bytes of the item id, in descending order.
    in_order
        If True, the rows of each list are in order, best first, and the columns are not used for
        this.
    rank_gaps
        How to read ranks with gaps. "close" numbers the rows of each list 1, 2, 3, ... in the order
        of the ranks. "keep" reads the ranks as they are, integers from 1: the top k contains the
        items with ranks up to k, a missing rank counts as not relevant, and the length of a list is
        its last rank. Default: the rule of the convention ("keep" for RecTools and LensKit 0.14),
        else "close" with a warning. Under "close", the ranks 0, 1, 2, ... have no gap.
    rating
        The column of ``truth`` with graded relevance, 0 = not relevant. By default, this is the
        column "rating" if there is one; without it, every item of the truth has relevance 1.
    by
        Columns of ``recs`` that, together with the user, identify a list, such as the model. All
        other columns are ignored.
    include_missing
        Add rows for users of the truth without recommendations, as empty lists, for each
        combination of the ``by`` columns that the truth does not have; and, after the metrics, a
        column ``ntruth``, the number of rows of the truth. The summary always counts these users.
    undefined, convention, n_threads
        As in ``Metrics.compute``.
    catalogue
        A table with a row for each item that may be recommended. Metrics of all lists need it, and
        so does ``auc``, for which each list must contain all of these items. Items outside the
        catalogue are an error.
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
        A table with three columns, in this order: an item, another item and their similarity. A
        pair that is given in one direction counts in both; a missing pair has similarity 0.
    genres
        A table of items and a column for each genre, 1 if the item has the genre.
    profile
        A table of users and the columns of ``genres``. A user without a row has no profile.
    return_summary
        Whether to return the ``TableSummary`` as well.

    Returns
    -------
    DataFrame or Table
        One row for each list, in the order in which the lists first appear. The columns are those
        of ``by`` and ``user`` (the index in pandas), ``nrecs``, the number of items of the list,
        and one column for each metric string as typed. An undefined value is NaN in pandas and null
        in polars and pyarrow. A metric of all lists, such as coverage, has one value for all
        lists with the same values of ``by``; it is repeated in their rows.
    TableSummary
        Counts and means, only with ``return_summary=True``; it prints as text.

    Raises
    ------
    MetricSpecError, ArgumentError, UndefinedMetricError
        As in ``Metrics.compute``.
    InputError, InputTypeError
        As in ``RecListAnalysis.compute``. Also raised if an id occurs twice in one of the other
        tables, or if an item of ``recs`` has no row in ``features`` or ``genres``.

    Warns
    -----
    RecmetricsWarning
        If ``recs`` and ``truth`` have no user or no item in common, or if gaps in ranks are closed
        although neither ``rank_gaps`` nor the convention asks for it.
    """
    given: dict[str, Any] = {"catalogue": catalogue, **side}
    rules: dict[str, Any] = {
        "undefined": undefined,
        "convention": convention,
        "n_threads": n_threads,
        "strata": strata,
    }
    request = Request(metrics_list, ties="index", side_words=TABLES, **rules, **given)
    system = None if convention is None else CONVENTIONS[read_convention(convention)]
    if rank_gaps is not None:
        one_of("rank_gaps", rank_gaps, RankGaps)
    one_of("repeats", repeats, Invalid)
    one_of("unknown", unknown, Invalid)
    if unknown != "raise" and catalogue is None:
        msg = f"unknown={unknown!r} needs catalogue=, the table of all items"
        raise ArgumentError(msg)
    gaps = rank_gaps or ("close" if system is None else system.rank_gaps)
    frame, relevant = read_frame(recs, "recs"), read_frame(truth, "truth")
    by = [] if by is None else as_names(by)
    keys = [*by, user]
    columns = choose_columns(
        frame, relevant, keys, item, score=score, rank=rank, rating=rating, in_order=in_order
    )
    if rank_gaps == "keep" and columns.rank is None:
        msg = f"rank_gaps='keep' needs a column of ranks, but the lists are {columns.order}"
        raise ArgumentError(msg)
    require_columns(frame, "recs", [*keys, item])
    require_columns(relevant, "truth", [user, item])
    require_same_kind(frame, "recs", relevant, "truth")
    if not in_order:
        refuse_unread_numbers(frame, columns)
        refuse_ordered_truth(relevant, columns)
    tables = _side_tables(request, given, strata or {}, frame)
    items = _ItemNumbers(frame, relevant, tables, item, unknown)
    problem = read_problem(
        frame,
        relevant,
        columns,
        items.of_both,
        rank_gaps=gaps,
        ties="rows" if system is None else system.table_ties,
        repeats=repeats,
    )
    if "catalogue" in tables:
        _refuse_ranks_beyond(problem, items.n_items)
    if problem.gaps.n_lists and gaps == "close" and rank_gaps is None:
        _warn_of_gaps(problem)
    problem, invalid = problem.without_invalid(repeats, unknown, items.n_items)
    missing = problem.missing()
    if include_missing:
        problem = problem.with_missing()
    for text in request.of_all_items:
        _refuse_short_lists(problem, text, items.n_items)
    values = measure_problem(
        problem,
        [StringMetric(text, spec) for text, (spec, _, _) in request.definitions.items()],
        _side_arrays(items, problem, user, request),
        request,
        items.n_items if "catalogue" in tables else None,
        _systems(problem, by),
    )
    names = RowNames("list", problem.key_of)
    for text, definition in request.definitions.items():
        settled(values[text], text, definition, rows=names)
    result: Table = problem.result(values, included=include_missing)
    if return_summary:
        told: Missing = "empty lists" if include_missing else "left out"
        cutoffs = [definition.spec.k for definition in request.definitions.values()]
        return result, summarise(problem, values, missing, told, invalid, cutoffs)
    return result


def _warn_of_gaps(problem: Problem) -> None:
    """Warn of lists whose ranks were numbered anew."""
    n_lists, first = problem.gaps.n_lists, problem.gaps.first
    msg = (
        f"recs, column {problem.columns.rank!r}: {n_lists:,} of {problem.n_lists:,} lists have "
        f"gaps in their ranks, the first is {problem.key_of(first)}; their items were ranked 1, 2, "
        "3, ... in this order; rank_gaps='keep' keeps the ranks as they are, rank_gaps='close' "
        "closes the gaps without this warning"
    )
    warn(msg)


def _refuse_ranks_beyond(problem: Problem, n_items: int) -> None:
    """Refuse a rank that no list of the catalogue has."""
    ranks = problem.gaps.ranks
    if ranks is not None and ranks.max(initial=0) > n_items:
        row = int(problem.order[ranks > n_items].min())
        name = str(problem.columns.rank)
        msg = (
            f"recs, column {name!r}: row {row} (counted from 0) holds rank "
            f"{value_at(problem.recs, name, row)!r}, but the catalogue has {n_items:,} items; "
            f"expected ranks from 1 to {n_items:,}; rank_gaps='close' uses only the order of the "
            "ranks"
        )
        raise InputError(msg)


def _refuse_short_lists(problem: Problem, text: str, n_items: int) -> None:
    """Refuse a list that lacks items of the catalogue, where the user has truth."""
    lengths = np.diff(problem.start)
    short = np.flatnonzero((lengths < n_items) & (problem.truth_sizes > 0))
    if short.size:
        has = lengths[short[0]]
        advice = "" if has else "; include_missing=False leaves out users without recommendations"
        msg = (
            f"recs lists {has:,} of the {n_items:,} items of the catalogue for "
            f"{problem.key_of(int(short[0]))}, but {text} counts all of them; "
            f"expected lists of all items; with scores type Metrics.compute(scores, truth, "
            f"[{text!r}]){advice}"
        )
        raise InputError(msg)


def _side_tables(
    request: Request, side: Mapping[str, Any], strata: Mapping[str, Any], recs: Frame
) -> dict[str, Frame]:
    """The tables that a metric of the call needs, and the catalogue where there is one."""
    specs = [definition.spec for definition in request.definitions.values()]
    needed = {name for spec in specs for group in spec.needs for name in group}
    tables = {
        name: read_frame(value, name)
        for name, value in side.items()
        if value is not None and (name in needed or name == "catalogue")
    }
    for name in request.strata:
        what = f"strata[{name!r}]"
        tables[what] = read_frame(strata[name], what)
    for name, frame in tables.items():
        require_same_kind(recs, "recs", frame, name)
    return tables


def _form(what: str) -> str:
    """The form of a table; "" for one that is no side information."""
    return SIDE[what].form if what in SIDE else ""


class _ItemNumbers:
    """The items of all tables, numbered together, the catalogue first."""

    def __init__(
        self, recs: Frame, truth: Frame, tables: Mapping[str, Frame], item: str, unknown: Invalid
    ) -> None:
        self.tables, self.item, self.recs = tables, item, recs
        named = {"catalogue": tables["catalogue"]} if "catalogue" in tables else {}
        named |= {"recs": recs, "truth": truth, **tables}
        columns = [(frame, what, item) for what, frame in named.items() if _form(what) != "users"]
        codes_of = [what for _, what, _ in columns]
        for what in (what for what in tables if _form(what) == "pairs"):
            other, self._similarity = similarity_columns(tables[what], item)
            columns.append((tables[what], what, other))
            codes_of.append(_OTHERS)
        for frame, what, name in columns:
            require_columns(frame, what, [name])
        numbers, first = number(as_integers(columns))
        ends = np.cumsum([len(frame) for frame, _, _ in columns])
        self._codes = dict(zip(codes_of, np.split(numbers, ends[:-1]), strict=True))
        self.of_both = np.concatenate([self._codes["recs"], self._codes["truth"]])
        self.n_items = len(first)
        if "catalogue" in tables:
            refuse_repeats(tables["catalogue"], "catalogue", [item], self._codes["catalogue"])
            self.n_items = len(tables["catalogue"])
            if unknown == "raise":
                self._refuse_outside(
                    recs, "recs", "; unknown='waste' or unknown='drop' accepts such items"
                )
            self._refuse_outside(truth, "truth")

    def _refuse_outside(self, frame: Frame, what: str, advice: str = "") -> None:
        outside = self._codes[what] >= self.n_items
        if outside.any():
            row = int(outside.argmax())
            msg = (
                f"{what}, column {self.item!r}: row {row} (counted from 0) holds item "
                f"{value_at(frame, self.item, row)!r}, which is not in the catalogue{advice}"
            )
            raise InputError(msg)

    def table(self, name: str) -> ItemTable:
        """A table about items, with their numbers."""
        return ItemTable(self.tables[name], name, self.item, self._codes[name])

    def matrix(self, name: str) -> Any:
        """The numbers of each item."""
        return matrix_of(
            self.table(name), self.n_items, (self.recs, self.item, self._codes["recs"])
        )

    def chances(self, name: str, user: str, truth: Frame) -> FloatArray:
        """The propensity of each item."""
        codes = self._codes["truth"]
        return propensity_of(self.table(name), user, self.n_items, (truth, self.item, codes))

    def pairs(self, name: str) -> Any:
        """The similarity of every two items."""
        return similarity_of(self.table(name), self._codes[_OTHERS], self._similarity, self.n_items)


def _side_arrays(
    items: _ItemNumbers, problem: Problem, user: str, request: Request
) -> dict[str, Any]:
    """The side information as ``Metrics.compute_ranked`` takes it."""
    arrays: dict[str, Any] = {}
    read: dict[str, Callable[[str], Any]] = {
        "shares": lambda name: popularity_of(items.table(name), user, items.n_items),
        "chances": lambda name: items.chances(name, user, problem.truth),
        "matrix": items.matrix,
        "pairs": items.pairs,
        "users": lambda name: profile_of(
            items.tables[name], user, problem.keys, items.table("genres").columns()
        ),
    }
    arrays["strata"] = {
        name: stratum_of(items.table(f"strata[{name!r}]"), user, problem.keys, items.n_items)
        for name in request.strata
    }
    arrays |= {name: read[side.form](name) for name, side in SIDE.items() if name in items.tables}
    return arrays


def _systems(problem: Problem, by: Sequence[str]) -> IntArray:
    """The number of the system of each list; lists with equal ``by`` columns are one system."""
    if not by:
        return np.zeros(problem.n_lists, np.int64)
    columns = [number(as_integers([(problem.keys, "recs", name)]))[0] for name in by]
    return number(combine(columns))[0]
