"""RecListAnalysis: metrics of tables, in the shape of LensKit's class of that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recmetrics._errors import ArgumentError, MetricSpecError
from recmetrics._spec import MetricSpec, make_spec, parse
from recmetrics.tables._frames import as_names, read_frame
from recmetrics.tables._lenskit import bind, definition, is_defined
from recmetrics.tables._problem import Columns, read_problem
from recmetrics.tables._summary import TableSummary, summarise
from recmetrics.tables._values import FunctionMetric, StringMetric, TableMetric, measure_problem

_NOT_KEYS = ("item", "rank", "score", "rating")


class RecListAnalysis:
    """Metrics of every list of a table of recommendations.

    LensKit's example runs with the import changed:

    >>> import pandas as pd
    >>> from recmetrics import tables as topn
    >>> recs = pd.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    >>> truth = pd.DataFrame({"user": [1, 2], "item": [8, 9]})
    >>> analysis = topn.RecListAnalysis()
    >>> analysis.add_metric(topn.recip_rank)
    >>> analysis.add_metric("hit@1")
    >>> analysis.compute(recs, truth).reset_index()
       user  nrecs  recip_rank  hit@1
    0     1      2         0.5    0.0
    1     2      1         0.0    0.0

    Parameters
    ----------
    group_cols
        The columns that identify a list; None for all columns of the recommendations except
        ``item``, ``rank``, ``score`` and ``rating``.
    """

    def __init__(self, group_cols: Sequence[str] | None = None) -> None:
        self.group_cols = None if group_cols is None else as_names(group_cols)
        if self.group_cols == []:
            msg = "group_cols is empty, expected the columns that tell the lists apart, or None"
            raise ArgumentError(msg)
        self._asked: dict[str, TableMetric] = {}
        self._summary: TableSummary | None = None

    @property
    def summary(self) -> TableSummary:
        """Counts and means of the last ``compute``: ``print(analysis.summary)``.

        Raises
        ------
        ArgumentError
            If nothing has been computed yet.
        """
        if self._summary is None:
            msg = "summary tells of the last compute(recs, truth); call that first"
            raise ArgumentError(msg)
        return self._summary

    def add_metric(
        self,
        metric: str | MetricSpec | Callable[..., Any],
        *,
        name: str | None = None,
        **options: Any,
    ) -> None:
        """Add a metric, as a column of the result.

        Parameters
        ----------
        metric
            A metric string of this library, such as "ndcg@10"; one of LensKit's functions
            ``precision, recall, hit, recip_rank, dcg, ndcg`` of ``recmetrics.tables``; or any
            callable of (recs, truth). Such a callable gets the rows of one list in list order, and
            the rows of its truth, as tables of the caller's own kind; a pandas truth is indexed
            by item. It gives a number, or None where it is undefined, and is called list by list
            in Python. It is not called for lists without truth, which are undefined, nor for
            missing lists, which are 0.
        name
            The name of the column: by default the string as it is typed, or the function's name.
        **options
            Options of the metric: ``k`` and those of the metric string, or what the function
            takes beside (recs, truth).

        Raises
        ------
        MetricSpecError
            A metric string that cannot be read, or an unknown metric or option.
        ArgumentError
            Another metric of that name, an option that the function does not take, or a metric
            that needs more than the two tables.
        """
        asked: TableMetric
        if isinstance(metric, str | MetricSpec):
            name = str(metric) if name is None else name
            asked = StringMetric(name, _spec(metric, options))
            _refuse_what_needs_more(asked.spec)
        elif callable(metric):
            name = getattr(metric, "__name__", type(metric).__name__) if name is None else name
            make = definition if is_defined(metric) else _function
            asked = make(metric, name, options)
        else:
            msg = f"a metric must be a string or a callable of (recs, truth), got {metric!r}"
            raise MetricSpecError(msg)
        if not isinstance(name, str):
            msg = f"name must be a string, the name of a column, got {name!r}"
            raise ArgumentError(msg)
        if name in self._asked or name in ("nrecs", "ntruth"):
            msg = f"there is a column {name!r} already; give another, such as name='{name}_2'"
            raise ArgumentError(msg)
        self._asked[name] = asked

    def compute(self, recs: Any, truth: Any, *, include_missing: bool = False) -> Any:
        """Compute the metrics of every list.

        Parameters
        ----------
        recs
            Recommendations: a pandas or polars DataFrame or a pyarrow Table with the column
            ``item`` and the columns that identify a list, such as ``user``. The rows of a
            list are in the order of ``rank`` where there is such a column, else of descending
            ``score`` where there is one, else as they come; equal scores keep the order of the
            rows. Only the order of ranks matters: gaps in them do not. Ids may be of any type whose
            values the library can compare: not lists, for example.
        truth
            The truth, of the same kind of table: ``item`` and those of the grouping columns that
            it has; it is matched on these. ``rating`` gives graded relevance; without it every
            item has 1. For metric strings an item rated 0 is not relevant; for LensKit's
            ``precision, recall, hit, recip_rank`` every item of the truth is relevant.
        include_missing
            Add rows for users in the truth without recommendations, as empty lists: 0 where a
            metric is defined for them; and a column ``ntruth``, the number of rows of the truth.
            Where the recommendations have grouping columns that the truth lacks, such as the
            algorithm, rows are added for each combination of these.

        Returns
        -------
        DataFrame or Table
            One row for each list, in the order in which the lists first appear; missing ones last:
            the grouping columns, ``nrecs`` (the length of the list), and one column for each
            metric. The same kind of table as ``recs``; pandas indexed by the grouping columns. A
            list whose user has no truth has undefined values: NaN, but 0 in LensKit's ``precision``
            and ``recip_rank``, and in ``dcg`` and ``cg``. ``summary`` counts the users of the truth
            without recommendations.

        Raises
        ------
        InputError, InputTypeError
            Arguments that are no tables, missing columns, null ids, ids of two types, an item twice
            in a list or in a truth, a rank twice in a list, invalid scores and ratings: the message
            names the columns and the first row.
        """
        frame, relevant = read_frame(recs, "recs"), read_frame(truth, "truth")
        has, rated = frame.columns, "rating" in relevant.columns
        keys = self.group_cols
        if keys is None:
            keys = [column for column in has if column not in _NOT_KEYS]
        if not keys:
            msg = "recs has no column to tell lists apart, expected one such as 'user'"
            raise ArgumentError(msg)
        columns = Columns(
            keys=tuple(keys),
            item="item",
            rank="rank" if "rank" in has else None,
            score="score" if "score" in has else None,
            rating="rating" if rated else None,
        )
        problem = read_problem(frame, relevant, columns)
        missing = problem.missing()
        if include_missing:
            problem = problem.with_missing()
        values = measure_problem(problem, list(self._asked.values()))
        result = problem.result(values, included=include_missing)
        self._summary = summarise(problem, values, missing, included=include_missing)
        return result


def _spec(metric: str | MetricSpec, options: dict[str, Any]) -> MetricSpec:
    """Make the spec of a metric string and of options that are given beside it."""
    spec = parse(str(metric)) if isinstance(metric, str) else metric
    own = dict(spec.options)
    k = options.pop("k", None)
    twice = [key for key in options if key in own] + (["k"] if k is not None and spec.k else [])
    if twice:
        msg = f"{metric!s} has {twice[0]} in the string already; give it once"
        raise ArgumentError(msg)
    return make_spec(spec.name, spec.k if k is None else k, own | options)


def _refuse_what_needs_more(spec: MetricSpec) -> None:
    needs = [" or ".join(f"{name}=" for name in group) for group in spec.metric.needs]
    if not spec.metric.per_user:
        needs.append("catalogue=")
    if needs:
        msg = f"{spec} needs {' and '.join(needs)}; type tables.evaluate_table(recs, truth, ...)"
        raise ArgumentError(msg)


def _function(metric: Callable[..., Any], name: str, options: dict[str, Any]) -> FunctionMetric:
    if options:
        bind(metric, name, options)
    return FunctionMetric(name, metric, options)
