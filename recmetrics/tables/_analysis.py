"""RecListAnalysis: metrics of tables, in the shape of LensKit's class of that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError, MetricSpecError, warn
from recmetrics._core.inputs import InvalidItems
from recmetrics._core.options import check_flag, one_of
from recmetrics._core.spec import COUNT_COLUMNS, MetricSpec, make_spec, parse
from recmetrics._core.types import RankGaps
from recmetrics.tables._columns import Columns, choose_columns, is_like_an_order, unread_orders
from recmetrics.tables._counts import Missing, TableSummary, summarise
from recmetrics.tables._frames import Frame, Table, as_names, read_frame
from recmetrics.tables._lenskit import of_function
from recmetrics.tables._list_cells import refuse_list_cells
from recmetrics.tables._matching import read_lists
from recmetrics.tables._values import StringMetric, TableMetric, measure_lists

_NOT_KEYS = ("item", "rank", "score", "rating")


class RecListAnalysis:
    """Metrics of every list of a table of recommendations.

    LensKit's example runs with only the import changed:

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
            msg = "group_cols is empty, expected the columns that identify a list, or None"
            raise ArgumentError(msg)
        # Each metric by its column: as it is for tables without ranks, and for tables with ranks.
        self._metrics: dict[str, tuple[TableMetric, TableMetric]] = {}
        self._summary: TableSummary | None = None

    @property
    def summary(self) -> TableSummary:
        """Counts and means of the last ``compute``: ``print(analysis.summary)``.

        Raises
        ------
        ArgumentError
            If ``compute`` has not been called yet.
        """
        if self._summary is None:
            msg = "there is no summary before compute(recs, truth); call that first"
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
            ``precision``, ``recall``, ``hit``, ``recip_rank``, ``dcg`` or ``ndcg`` of
            ``recmetrics.tables``; or any callable of (recs, truth). A callable is called once for
            each list, in Python. It gets the rows of the list, in list order, and the rows of its
            truth, as tables of the same library as the input; a pandas truth is indexed by item. It
            returns a number, or None if the value is undefined. It is not called for lists without
            truth or for missing lists: their values are undefined.
        name
            The name of the column. By default, it is the string as typed, or the name of the
            function.
        **options
            Options of the metric: ``k`` and the options of the metric string, or the arguments of
            the function besides (recs, truth).

        Raises
        ------
        MetricSpecError
            As in ``Metrics.compute``.
        ArgumentError
            If the name is already taken, if the function does not take an option, or if the metric
            needs more than the two tables.
        """
        metrics: tuple[TableMetric, TableMetric]
        if isinstance(metric, str | MetricSpec):
            name = str(metric) if name is None else name
            spec = _spec(metric, options)
            _refuse_what_needs_more(spec)
            metrics = (StringMetric(name, spec),) * 2
        elif callable(metric):
            if name is None:
                name = getattr(metric, "__name__", type(metric).__name__)
            metrics = of_function(metric, name, options)
        else:
            msg = f"a metric must be a string or a callable of (recs, truth), got {metric!r}"
            raise MetricSpecError(msg)
        if not isinstance(name, str):
            msg = f"name must be a string, the name of a column, got {name!r}"
            raise ArgumentError(msg)
        if name in self._metrics or name in COUNT_COLUMNS:
            msg = f"there is a column {name!r} already; give another name, such as name='{name}_2'"
            raise ArgumentError(msg)
        self._metrics[name] = metrics

    def compute(
        self,
        recs: Table,
        truth: Table,
        *,
        include_missing: bool = False,
        rank_gaps: RankGaps = "keep",
    ) -> Table:
        """Compute the metrics of every list.

        Parameters
        ----------
        recs
            Recommendations, as ``evaluate_table`` takes them: the column ``item``, those that
            identify a list, such as ``user``, and ``rank``, which orders the rows of a list, or
            else ``score``. If there is neither, the rows are taken in order.
        truth
            The truth, a table of the same library: the column ``item`` and some of the grouping
            columns, on which lists and truth are matched. The column ``relevance``, or else
            ``rating``, gives graded relevance; without it, every item has relevance 1. For metric
            strings, an item rated 0 is not relevant. For LensKit's ``precision``, ``recall``,
            ``hit`` and ``recip_rank``, every item of the truth is relevant.
        include_missing
            Add rows and a column as in ``evaluate_table``, but with values that are undefined, as
            in LensKit.
        rank_gaps
            As in ``evaluate_table``. By default, ranks are the numbers in the column, as in
            LensKit; only LensKit's ``dcg`` uses the order of the rows.

        Returns
        -------
        DataFrame or Table
            One row for each list, as of ``evaluate_table``, missing lists last. The grouping
            columns (first those that the truth does not have) are the index in pandas; ``nrecs``
            and one column for each metric follow.

            The values of a list without truth are undefined. There are two exceptions: the metric
            strings ``dcg`` and ``cg`` are 0, and LensKit's ``precision``, ``hit`` and
            ``recip_rank`` are 0 if ``recs`` has a column ``rank``, as in LensKit's own code.
            ``summary`` counts the users of the truth without recommendations.

        Raises
        ------
        InputError, InputTypeError
            Arguments that are not tables, missing columns, null ids, ids of two types, an item
            twice in a list or in a truth, a rank twice in a list, or invalid ranks, scores or
            ratings. The message names the columns and the first row.

        Warns
        -----
        RecmetricsWarning
            If users of the truth are left out, or if a column that is not named ``rank`` or
            ``score`` may be meant to order the lists.
        """
        one_of("rank_gaps", rank_gaps, RankGaps)
        check_flag("include_missing", include_missing)
        recs_frame = read_frame(recs, "recs")
        truth_frame = read_frame(truth, "truth")
        keys = self._keys(recs_frame, truth_frame)
        columns = choose_columns(recs_frame, truth_frame, keys, "item")
        columns = replace(columns, keys_argument="group_cols")
        refuse_list_cells(recs_frame, truth_frame, columns)
        lists = read_lists(recs_frame, truth_frame, columns, rank_gaps=rank_gaps)
        missing = lists.missing()
        n_present = len(lists.truth_of)
        treatment: Missing = "left out"
        if include_missing:
            lists = lists.with_missing()
            treatment = "undefined"

        has_ranks = columns.rank is not None
        metrics = []
        for metric_without_ranks, metric_with_ranks in self._metrics.values():
            metrics.append(metric_with_ranks if has_ranks else metric_without_ranks)
        values = measure_lists(lists, metrics)
        for values_of_lists in values.values():
            values_of_lists[n_present:] = np.nan
        table: Table = lists.result(values, {}, included=include_missing)
        summary = summarise(lists, values, missing, treatment, metrics, InvalidItems(), {})
        self._summary = summary

        if columns.rank is None and columns.score is None:
            _warn_of_unread(recs_frame, columns)
        if summary.n_missing and not include_missing:
            msg = (
                f"{summary.without_recommendations}; they are left out, as in LensKit; "
                "include_missing=True gives each a row, without values, and tables.evaluate_table "
                "counts them as empty lists"
            )
            warn(msg)
        return table

    def _keys(self, recs: Frame, truth: Frame) -> list[str]:
        """Name the grouping columns, first those that the truth lacks, as LensKit does."""
        keys = self.group_cols
        if keys is None:
            keys = [column for column in recs.columns if column not in _NOT_KEYS]
        if not keys:
            msg = "recs has no column that identifies the lists, expected one such as 'user'"
            raise ArgumentError(msg)
        return sorted(keys, key=lambda name: name in truth.columns)


def _warn_of_unread(recs: Frame, columns: Columns) -> None:
    """Warn of the first column that may be meant to order the lists."""
    names = [name for name in unread_orders(recs, columns) if is_like_an_order(name)]
    if names:
        use = "is not read, and the rows are taken in order"
        if names[0] in columns.keys:
            use = "identifies lists, as every column does except item, rank, score and rating"
        msg = (
            f"recs, column {names[0]!r} {use}; rename it to 'score' if higher is better, to "
            "'rank' if 1 is best, or leave it out"
        )
        warn(msg)


def _spec(metric: str | MetricSpec, options: dict[str, Any]) -> MetricSpec:
    """Make the spec of a metric and its ``options``; refuse an option that is given twice."""
    spec = parse(str(metric)) if isinstance(metric, str) else metric
    options_of_spec = dict(spec.options)
    k = options.pop("k", None)
    repeated = [name for name in options if name in options_of_spec]
    if k is not None and spec.k:
        repeated.append("k")
    if repeated:
        msg = f"{metric!s} has {repeated[0]} in the string already; give it once"
        raise ArgumentError(msg)
    return make_spec(spec.name, spec.k if k is None else k, options_of_spec | options)


def _refuse_what_needs_more(spec: MetricSpec) -> None:
    """Refuse a metric that needs more than the two tables, and name what it needs."""
    needs = [" or ".join(f"{name}=" for name in group) for group in spec.needs]
    if spec.stratum is not None:
        needs.append("strata=")
    if not spec.metric.per_user or spec.metric.counts_all_items:
        needs.append("catalogue=")
    if needs:
        msg = f"{spec} needs {' and '.join(needs)}; type tables.evaluate_table(recs, truth, ...)"
        raise ArgumentError(msg)
