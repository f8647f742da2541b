"""``Samples``: one array per model and metric, users in one order; read from tables of models.

A table holds one result. Where it comes from a data frame, its keys, such as the user id, identify
the list of each row, and lists of several tables are matched by them. Results in arrays have no
keys: their lists are matched by place.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError
from recmetrics._core.inputs import is_missing
from recmetrics._core.options import check_flag
from recmetrics._core.results import mean_of, weighed_together, with_equal_values
from recmetrics._files import suffix_of
from recmetrics._report import statistics
from recmetrics._report.bounds import Floats, Moments, Range, moments_of
from recmetrics._report.groups import Rows, in_order_of, plain, plain_values, read_users
from recmetrics._report.origins import UNKNOWN, Origin
from recmetrics._report.result_tables import (
    Columns,
    Table,
    code_of_frame,
    named_user,
    read_table,
    require_alike,
    require_named,
    require_one_index,
    shared_origin,
    values_of_all_lists,
)
from recmetrics._report.statistics import mean_over_runs

_NAME = "the result of {!r}"  # of a model, in errors
_FORMS = (  # that a result may have, in errors
    "what Metrics.compute or Metrics.evaluate returns, an object whose .compute() returns that, or "
    "a data frame with a float column per metric"
)
_LEVEL_FORMS = "a dict of metric and values, as Metrics.chance returns it"


class Values(NamedTuple):
    """The defined values of a model, or differences of two, of some users."""

    values: Floats  # (n_users,)
    users: Rows  # the indices of these users
    weights: Floats | None  # of these users; None without weights
    n_undefined: int  # users who are left out
    rounding: float  # the share of a value that is rounding

    @property
    def n_users(self) -> int:
        """The number of users with a value."""
        return self.values.size

    @property
    def mean(self) -> float:
        """The mean of the values, NaN without any."""
        return mean_of(self.values, self.weights)

    @property
    def n_effective(self) -> float | None:
        """The number of users of equal weight whose mean varies as much; None without weights."""
        return None if self.weights is None else statistics.effective_users(self.weights)

    @property
    def can_bound(self) -> bool:
        """Whether the mean has bounds: there are two or more values, and none is infinite."""
        return self.n_users >= 2 and bool(np.isfinite(self.values).all())

    @property
    def moments(self) -> Moments:
        """The moments of the values."""
        return moments_of(self.values, self.weights, self.rounding)

    @property
    def std(self) -> float:
        """The standard deviation; NaN for fewer than two values, and for infinite ones."""
        return float(self.moments.std) if self.can_bound else math.nan

    def sides(self, below: float, above: float) -> tuple[Moments, float, float] | None:
        """What ``bounds.Sample`` documents."""
        if not self.can_bound:
            return None
        n_below = self.n_below(below)
        n_above = self.n_above(above)
        moments = self.moments
        if self.weights is None:
            return moments, n_below, n_above
        weight_below = self.weights[self.values < below].sum()
        weight_above = self.weights[self.values > above].sum()
        return (
            moments,
            moments.n_effective_of(n_below, weight_below),
            moments.n_effective_of(n_above, weight_above),
        )

    def n_below(self, limit: float) -> int:
        """Count the values below a limit."""
        return int(np.count_nonzero(self.values < limit))

    def n_above(self, limit: float) -> int:
        """Count the values above a limit."""
        return int(np.count_nonzero(self.values > limit))

    def quantiles(self, *shares: float) -> list[float]:
        """The quantiles of the values, as ``summary`` documents them."""
        return statistics.quantiles_of(self.values, self.weights, shares)


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The values of each run of each model: (n_runs, n_users), NaN where they are undefined.

    A metric of all lists has one value for each run, (n_runs, 1). A user's value is the mean over
    the runs in which it is defined.
    """

    models: tuple[Any, ...]
    metrics: tuple[str, ...]
    system: frozenset[str]  # metrics with one value for all users together
    values: dict[Any, dict[str, Floats]]  # (n_users,), over the runs
    groups: dict[Any, Rows]  # the users of each group, without those of weight 0; None: all users
    bounds: Mapping[str, tuple[float, float]]  # of each metric, infinite where they are not known
    rounding: Mapping[str, float]  # of each metric, the share of a value that is rounding
    weights: Floats | None  # of all users
    n_weightless: int | None  # users of weight 0; None without weights
    runs: dict[Any, dict[str, Floats]] = field(default_factory=dict)  # none in a summary
    levels: tuple[str, ...] = ()  # shown beside the models; they may lack metrics
    users: list[Any] | None = None  # their ids, where data frames name them
    keys: tuple[str, ...] = ()  # the columns that identify a user only together
    are_rows: bool = False  # users are the rows of the updates of a stream
    # The weights of all users in the mean of each metric whose system weighs them.
    metric_weights: Mapping[str, Floats] = field(default_factory=dict)
    unweighed: tuple[str, ...] = ()  # the metrics for which only some results have such weights
    origin: Origin = UNKNOWN

    def n_runs(self) -> dict[str, int]:
        """The number of runs of each model with several."""
        counts = {model: self._count_runs(model) for model in self.runs}
        return {model: count for model, count in counts.items() if count > 1}

    def have_several_runs(self, models: Iterable[str]) -> bool:
        """Say whether any of these models has several runs, over which its mean varies."""
        return any(self._count_runs(model) > 1 for model in models)

    def _count_runs(self, model: str) -> int:
        """Count the runs of a model, which are as many for every metric; 0 in a summary."""
        return len(next(iter(self.runs.get(model, {}).values()), ()))

    def limits(self, metric: str) -> Range:
        """The range of a metric: that of its definition, else that of the values of all models."""
        values = [self.values[model][metric] for model in self.models]
        if self.weights is not None and metric not in self.system:
            values = [column[self.weights > 0] for column in values]
        return Range.of(values, *self.bounds[metric])

    def weights_of(self, metric: str) -> Floats | None:
        """The weights of all users in the mean of a metric; None without any."""
        weights = self.weights
        if metric in self.metric_weights:
            weights = weighed_together(weights, self.metric_weights[metric])
        return weights

    def metrics_in(self, group: Any) -> list[str]:
        """The metrics with values in a group; those of all lists have one of all users, None."""
        return [metric for metric in self.metrics if group is None or metric not in self.system]

    @property
    def keeps_values(self) -> bool:
        """True if the value of each user is at hand, not only sums."""
        return True

    def require_values(self, purpose: str) -> None:
        """Refuse a purpose that needs the value of each user, where these are not kept."""

    def of(
        self,
        group: Any,
        metric: str,
        model: str,
        against: str | None = None,
        share: float = 1.0,
        offset: float = 0.0,
    ) -> Any:
        """Take the values of a model in a group, or new - share x old - offset of a pair.

        The old values are those of ``against``; new ones that differ from them by rounding are
        taken to be equal. Undefined values are left out, and counted. The result is ``Values`` or,
        where these are not kept, sums of them.
        """
        users = self.groups[group]
        weights = self.weights_of(metric)
        if metric in self.system:
            users = np.zeros(1, np.intp)
            weights = None
        values = self.values[model][metric][users]
        if against is not None:
            old_values = self.values[against][metric][users]
            values = self._with_equal_values(metric, values, old_values)
            with np.errstate(over="ignore"):
                values = values - share * old_values - offset
        is_undefined = np.isnan(values)
        n_undefined = int(np.count_nonzero(is_undefined))
        if n_undefined:
            users = users[~is_undefined]
            values = values[~is_undefined]
        if weights is not None:
            weights = weights[users]
        return Values(values, users, weights, n_undefined, self.rounding[metric])

    def runs_of_pair(
        self, metric: str, model: str, against: str, users: Rows
    ) -> tuple[Floats, Floats]:
        """The runs of two models, (n_runs, n_users) each; values that differ by rounding are equal.

        Runs are compared one by one, or each with the single run of the other model.
        """
        new_runs, old_runs = (self.runs[name][metric][:, users] for name in (model, against))
        if len(new_runs) == len(old_runs) or len(old_runs) == 1:
            new_runs = self._with_equal_values(metric, new_runs, old_runs)
        elif len(new_runs) == 1:
            old_runs = self._with_equal_values(metric, old_runs, new_runs)
        return new_runs, old_runs

    def _with_equal_values(self, metric: str, values: Floats, others: Floats) -> Floats:
        """Replace values of a metric that differ from ``others`` by rounding by these."""
        return with_equal_values(values, others, self.bounds[metric], self.rounding[metric])

    def describe(self, group: Any, metric: str, model: Any, values: Any) -> dict[str, Any]:
        """Compute fields of a ``Mean`` from ``values``, which ``of`` gives for the same arguments.

        The fields of runs are among these if any model has several runs.
        """
        fields: dict[str, Any] = {
            "metric": metric,
            "group": group,
            "model": model,
            "mean": values.mean,
        }
        if metric not in self.system:
            fields |= {"n_users": values.n_users, "n_undefined": values.n_undefined}
        if values.n_effective is not None:
            fields["n_effective"] = values.n_effective
        elif self.weights is not None:  # a metric of all lists, beside those of users that weigh
            fields["n_effective"] = math.nan
        if self.n_runs():
            runs = self.runs[model][metric][:, values.users]
            means = statistics.means_of_runs(runs, values.weights)
            fields |= {"n_runs": len(runs), "run_std": statistics.spread_of(means)}
        return fields


def read_samples(
    results: Any, levels: Any, by: Any, weights: Any, columns: Columns, *, is_part: bool = False
) -> Samples:
    """Read the results of models and levels, by the same metrics and of the same users.

    ``results`` and ``levels`` are dicts of results by name, ``results`` also one data frame of all
    models; ``by`` and ``weights`` arrays or names of columns, as ``compare`` documents them.
    ``is_part`` is that of ``read_users``.
    """
    if hasattr(type(results), "columns") and not isinstance(results, Mapping):
        results = tables_of_models(
            read_table("results", results, columns, "a dict of name and result")
        )
    results, levels = _by_plain_names(results, levels)
    runs = {model: _read_runs(model, result, columns) for model, result in results.items()}
    tables, labels, users = _in_one_order(runs, columns.labels)
    model_tables = list(chain.from_iterable(tables.values()))
    level_tables = {}
    for name, level in levels.items():
        level_tables[name] = [read_level(name, level, columns, model_tables, users)]

    def ids() -> list[Any] | None:
        return users

    n_users = require_alike(model_tables, list(chain.from_iterable(level_tables.values())), ids)
    require_one_index(model_tables, by=by, weights=weights)
    by = _in_order_of(users, model_tables, "by", by)
    weights = _in_order_of(users, model_tables, "weights", weights)
    unread_columns = columns.model * (model_tables[0].frame is None)  # arrays have no columns
    groups, user_weights = read_users(
        "no result is", labels, n_users, by, weights, unread_columns, ids, is_part=is_part
    )
    all_users = groups.pop(None)
    groups = {None: all_users} | {group: groups[group] for group in _in_order(groups)}

    arrays = {}
    values = {}
    for model, model_runs in chain(tables.items(), level_tables.items()):
        arrays[model] = _stacked(model_runs)
        values[model] = {m: mean_over_runs(array) for m, array in arrays[model].items()}
    columns_of_metric = model_tables[0].values
    n_weightless = None
    if user_weights is not None:
        n_weightless = n_users - all_users.size
    metric_weights = _common_weights(model_tables)
    of_some = dict.fromkeys(chain.from_iterable(table.user_weights for table in model_tables))
    return Samples(
        models=tuple(results),
        levels=tuple(levels),
        metrics=tuple(columns_of_metric),
        system=frozenset(name for name, column in columns_of_metric.items() if not column.ndim),
        runs=arrays,
        values=values,
        groups=groups,
        bounds=model_tables[0].bounds,
        rounding={
            metric: max(table.rounding[metric] for table in model_tables)
            for metric in columns_of_metric
        },
        weights=user_weights,
        n_weightless=n_weightless,
        users=users,
        keys=_identifying(model_tables, users),
        metric_weights=metric_weights,
        unweighed=tuple(metric for metric in of_some if metric not in metric_weights),
        origin=shared_origin(model_tables),
    )


def _in_order(groups: Iterable[Any]) -> list[Any]:
    """Sort the labels of groups.

    Labels of one type without an order, such as an Enum, stay in the order of their users.
    """
    labels = list(groups)
    try:
        return sorted(labels)
    except TypeError:
        if len(set(map(type, labels))) == 1:
            return labels
        msg = "by must hold labels of one type, such as strings or integers"
        raise InputTypeError(msg, argument="by") from None


def _in_order_of(
    users: Sequence[Any] | None, tables: Sequence[Table], argument: str, entries: Any
) -> Any:
    """Put entries, one for each user, into the order of ``users``, that of the first table.

    Entries without ids are refused where data frames have their users in different orders.
    """
    ordered = in_order_of(lambda: users, tables[0].frame, argument, entries)
    if ordered is not entries or isinstance(entries, str | None):
        return ordered
    rows: dict[Any, int] = {}  # of each user in the first data frame
    for table in filter(attrgetter("keys"), tables):
        if not rows:
            first_table = table
            rows = dict(zip(table.users(), count()))
        in_order = list(filter(rows.__contains__, table.users()))
        if in_order != sorted(in_order, key=rows.__getitem__):
            msg = (
                f"{argument} has no ids, and the users of {table.name} are in another order than "
                f"those of {first_table.name}; expected the name of a column, or a pandas Series "
                f"with the ids as its index: if {argument} is in the order of {first_table.name}, "
                f"type {argument}=pandas.Series({argument}, index=ids) with the ids of its users"
            )
            raise InputError(msg, argument=argument)
    return entries


def _identifying(tables: Sequence[Table], users: Sequence[Any] | None) -> tuple[str, ...]:
    """The columns of ids, if none of them identifies a user alone."""
    keys = next((table.keys for table in tables if table.keys), ())
    if len(keys) < 2 or users is None:
        return ()
    for column in zip(*users, strict=True):
        if len(set(column)) == len(users):
            return ()
    return keys


def _common_weights(tables: Sequence[Table]) -> dict[str, Floats]:
    """The weights of users in the mean of each metric, where all results have the same ones."""
    common_weights = {}
    for metric in tables[0].user_weights:
        weights = [table.user_weights[metric] for table in tables if metric in table.user_weights]
        largest = np.fmax.reduce(weights)
        # A user of another fold has no value, and the weight NaN.
        is_equal = [((column == largest) | np.isnan(column)).all() for column in weights]
        if len(weights) == len(tables) and all(is_equal):
            common_weights[metric] = largest
    return common_weights


def _by_plain_names(results: Any, levels: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give results and levels by names of Python's; those of NumPy print as ``np.str_('a')``.

    Fewer than two models, and names that are blank or not unique, are refused.
    """
    if isinstance(results, str | PathLike):
        msg = (
            "results is the name of a file; to read its table first, type "
            f"recmetrics.compare({code_of_frame(results)})"
        )
        raise InputTypeError(msg, argument="results")
    require_named("results", results)
    require_named("levels", levels)
    if len(results) < 2:
        msg = f"expected the results of at least two models to compare, got {len(results)}"
        raise InputError(msg)
    files = {name: result for name, result in results.items() if isinstance(result, str | PathLike)}
    for name, path in files.items():
        advice = f"to read its table first, type {code_of_frame(path)}"
        if suffix_of(Path(path)) == ".npz":
            words = [shlex.quote(f"{model}={file}") for model, file in files.items()]
            advice = f"in a shell, type recmetrics compare {' '.join(words)}"
        msg = f"{_NAME.format(name)} is the name of a file; {advice}"
        raise InputTypeError(msg)
    for name in (*results, *levels):
        if not isinstance(name, str) or not name.strip():
            msg = f"names of models must be strings that are not blank, got {name!r}"
            raise InputError(msg)
        if name in results and name in levels:
            msg = f"{name!r} is the name of a model and of a level; expected different names"
            raise InputError(msg)
    plain_results = {str(name): result for name, result in results.items()}
    plain_levels = {str(name): level for name, level in levels.items()}
    return plain_results, plain_levels


def _stacked(tables: Sequence[Table]) -> dict[str, Floats]:
    """The values of each metric, (n_runs, n_users); those of a single run are not copied."""
    if len(tables) == 1:
        return {metric: np.atleast_2d(column) for metric, column in tables[0].values.items()}
    arrays = {}
    for metric in tables[0].values:
        arrays[metric] = np.stack([np.atleast_1d(table.values[metric]) for table in tables])
    return arrays


def tables_of_models(table: Table, models: Iterable[str] = ()) -> dict[str, Table]:
    """Make a table for each model that a column of ``table`` names, and without rows for others.

    These are those of ``models`` that ``table``, which may have some users alone, does not have.
    """
    table.require_model()
    rows_by_model = dict.fromkeys(models, np.empty(0, np.intp)) | table.rows_by_model()
    tables = {}
    for name, rows in rows_by_model.items():
        tables[name] = replace(table.at(rows), name=repr(name), model=())
    return tables


def _at_rows_or_nan(columns: Mapping[str, Floats], rows: list[int]) -> dict[str, Floats]:
    """Take some rows of values or weights by metric; the row -1, of another fold, is NaN."""
    return {metric: np.append(column, np.nan)[rows] for metric, column in columns.items()}


def _read_runs(model: str, result: Any, columns: Columns) -> list[Table]:
    """Read the result of a model: one run, or a list of them."""
    runs = result if isinstance(result, list | tuple) else [result]
    if not runs:
        kind = type(result).__name__
        msg = f"the result of {model!r} is an empty {kind}; expected one or more runs"
        raise InputError(msg)
    if len(runs) == 1:
        return [read_table(_NAME.format(model), runs[0], columns, _FORMS)]
    return [
        read_table(f"run {number} of {model!r}", run, columns, _FORMS)
        for number, run in enumerate(runs, start=1)
    ]


def _without_absent_users(
    runs_of_model: Mapping[str, Sequence[Table]],
) -> tuple[Mapping[str, Sequence[Table]], Mapping[str, list[dict[Any, int]]]]:
    """Leave out users without a value whom another model lacks, such as those not in the truth.

    Gives the runs of each model, and the row of each user in each run; arrays have no users.
    """
    rows_of_runs = _rows_of_runs(runs_of_model)
    users_of_models = []
    for model, runs in runs_of_model.items():
        if runs[0].keys:
            users_of_models.append(_users_of_all(rows_of_runs[model]).keys())
    if all(users == users_of_models[0] for users in users_of_models[1:]):
        return runs_of_model, rows_of_runs
    users_of_all = set.intersection(*map(set, users_of_models))
    kept_runs = dict(runs_of_model)
    for model, runs in runs_of_model.items():
        if len(runs) == 1 and runs[0].keys:
            kept_runs[model] = [_of_users(runs[0], users_of_all)]
    return kept_runs, _rows_of_runs(kept_runs)


def _of_users(table: Table, users: Collection[Any]) -> Table:
    """Leave out the rows without a value that are not of ``users``."""
    is_kept = np.fromiter(map(users.__contains__, table.users()), np.bool_)
    for metric in table.values.keys() - values_of_all_lists(table).keys():
        is_kept |= ~np.isnan(table.values[metric])
    return table.at(np.flatnonzero(is_kept))


def _in_one_order(
    runs_of_model: Mapping[str, Sequence[Table]], columns: Iterable[str]
) -> tuple[Mapping[str, Sequence[Table]], dict[str, list[Any]], list[Any] | None]:
    """Put the users of all results into the order of the first one.

    Gives the tables of each model in that order; the labels of the users in each of ``columns``;
    and the ids of the users, None without data frames or without keys.
    """
    kept_runs, rows_of_runs = _without_absent_users(runs_of_model)
    frames = (table for table in chain(*kept_runs.values()) if table.frame is not None)
    first_table = next(frames, None)
    if first_table is None:
        return kept_runs, {}, None

    first_users: Mapping[Any, Any] = {}
    tables: Mapping[str, list[Table]] = {model: [] for model in kept_runs}
    labels: dict[str, dict[Any, Any]] = {column: {} for column in columns}  # of each user
    for model, runs in kept_runs.items():
        users_of_runs = _users_of_runs(rows_of_runs[model])
        for table, users, row_of_user in zip(runs, users_of_runs, rows_of_runs[model], strict=True):
            if table.frame is None:
                tables[model].append(table)
                continue
            if table is first_table:
                first_users = users
            _require_same_users(first_table, first_users, table, users)
            _add_labels(labels, table, row_of_user, first_table)
            values = table.values
            weights = table.user_weights
            if table.keys and row_of_user is not first_users:
                rows = [row_of_user.get(user, -1) for user in first_users]
                values = _at_rows_or_nan(values, rows)
                weights = _at_rows_or_nan(weights, rows)
            values = values | values_of_all_lists(table)
            tables[model].append(replace(table, values=values, user_weights=weights))
    ordered_users = list(first_users)
    if first_table.keys:
        tables, ordered_users = _with_arrays(tables, first_table, ordered_users)
    labels_in_order = {
        column: [label_of_user[user] for user in ordered_users]
        for column, label_of_user in labels.items()
    }
    return tables, labels_in_order, ids_of(first_table, ordered_users)


def _with_arrays(
    tables: Mapping[str, list[Table]], first_table: Table, users: list[Any]
) -> tuple[Mapping[str, list[Table]], list[Any]]:
    """Put data frames, whose ids are the numbers of rows, and arrays into the order of the first.

    ``users`` are those of the data frames, in order; the result has the new order. With other ids,
    arrays cannot be compared with data frames.
    """
    all_tables = list(chain.from_iterable(tables.values()))
    arrays = [table for table in all_tables if table.frame is None]
    columns = chain.from_iterable(table.values.values() for table in all_tables)
    has_other_shapes = {column.shape for column in columns} - {(len(users),), ()}  # refused later
    if has_other_shapes or not arrays:
        return tables, users
    rows = _rows_of_ids(ids_of(first_table, users) or ())
    if rows is None:
        _refuse_arrays(arrays[0], first_table, len(users), "values")
    first_is_frame = next(iter(tables.values()))[0].frame is not None
    if not first_is_frame:  # the data frames follow the arrays
        rows = np.argsort(rows).tolist()
        users = [users[row] for row in rows]
    ordered_tables: dict[str, list[Table]] = {}
    for model, tables_of_model in tables.items():
        ordered_tables[model] = []
        for table in tables_of_model:
            ordered = table
            if (table.frame is None) == first_is_frame:  # of the other kind than the first
                columns_of_users = {m: c[rows] for m, c in table.values.items() if c.ndim}
                weights = {m: c[rows] for m, c in table.user_weights.items()}
                values = table.values | columns_of_users
                ordered = replace(table, values=values, user_weights=weights)
            ordered_tables[model].append(ordered)
    return ordered_tables, users


def _rows_of_runs(runs_of_model: Mapping[str, Sequence[Table]]) -> dict[str, list[dict[Any, int]]]:
    """The row of each user in each run of each model; arrays have no users."""
    return {
        model: [dict(zip(run.users(), count(), strict=False)) for run in runs]
        for model, runs in runs_of_model.items()
    }


def _users_of_runs(rows_of_runs: Sequence[dict[Any, Any]]) -> Sequence[dict[Any, Any]]:
    """The users of each run of a model.

    Runs that share no user are folds: each is undefined for the users of the others, and has the
    users of all.
    """
    users_of_all_runs = _users_of_all(rows_of_runs)
    if sum(map(len, rows_of_runs)) == len(users_of_all_runs):
        return [users_of_all_runs] * len(rows_of_runs)
    return rows_of_runs


def _users_of_all(rows_of_runs: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
    """The users of all runs of a model, as keys, in order of appearance."""
    return rows_of_runs[0] if len(rows_of_runs) == 1 else dict.fromkeys(chain(*rows_of_runs))


def read_level(
    name: str,
    source: Any,
    columns: Columns,
    tables: Sequence[Table],
    ids: Sequence[Any] | None,
    *,
    takes_means: bool = False,
) -> Table:
    """Read the values of a level, and put them into the order of the users of a result.

    ``tables`` are those of the result, in one order; ``ids`` are the ids of its users, None if they
    have none. ``takes_means`` allows one number in the place of the values of all users.
    """
    label = f"the level {name!r}"
    level = read_table(label, source, columns, _LEVEL_FORMS, is_level=True, takes_means=takes_means)
    values = level.values | values_of_all_lists(level)
    metrics_of_users = [metric for metric, column in values.items() if column.ndim]
    level_ids = None
    if metrics_of_users:  # else the level has no need of users
        level_ids, ids = _matched_ids(level, tables, ids)
    if level_ids is None or ids is None:  # users are matched by place
        return replace(level, values=values)

    row_of_id = dict(zip(level_ids, count()))
    rows = np.array([row_of_id.get(user_id, -1) for user_id in ids], np.intp)
    for metric in metrics_of_users:
        _require_values_of_users(level, metric, tables, ids, rows == -1)
        if len(values[metric]) == len(level_ids):  # others are refused later, by their shape
            # The appended NaN is at place -1, which users who are absent read.
            values[metric] = np.append(values[metric], np.nan)[rows]
    return replace(level, values=values)


def _matched_ids(
    level: Table, tables: Sequence[Table], ids: Sequence[Any] | None
) -> tuple[Sequence[Any] | None, Sequence[Any] | None]:
    """The ids of the users of a level, and of those of a result, by which they are matched.

    If only one of both has ids, these must be the numbers of the rows of the other one.
    """
    first_table = next((table for table in tables if table.keys), tables[0])
    level_ids: Sequence[Any] | None = ids_of(level, level.users())
    if ids is not None and level_ids is not None:
        _require_same_columns(first_table, level)
    elif ids is not None:
        n_users = len({*ids})
        ids = _rows_of_ids(ids)
        if ids is None:
            _refuse_arrays(level, first_table, n_users, "level")
        level_ids = range(n_users)
    elif level_ids is not None:
        n_users = len(level_ids)
        level_ids = _rows_of_ids(level_ids)
        if level_ids is None:
            _refuse_arrays(first_table, level, n_users, "values")
        ids = range(n_users)
    return level_ids, ids


def _require_values_of_users(
    level: Table, metric: str, tables: Sequence[Table], ids: Sequence[Any], is_absent: Any
) -> None:
    """Refuse a level that lacks users who have a value of a metric.

    ``is_absent`` is True for the users, of those with ``ids``, whom it lacks.
    """
    for table in tables:
        if not table.keys or metric not in table.values or not is_absent.any():
            continue
        lacking = np.flatnonzero(is_absent & ~np.isnan(table.values[metric]))
        if lacking.size:
            _refuse_ids_of_two_types({table.name: table.users(), level.name: level.users()})
            user = ids[lacking[0]]
            if len(table.keys) == 1:
                user = (user,)
            msg = (
                f"{table.name} has a value of {metric!r} of {named_user(table.keys, user)} and "
                f"{level.name} has no such user; expected all users with a value in the results"
            )
            raise InputError(msg)


def _rows_of_ids(ids: Sequence[Any]) -> list[int] | None:
    """The rows of arrays whose numbers are the ids of users; None if the ids are other ones.

    A user of several rows is one row of the arrays.
    """
    row_of_id = {str(row): row for row in range(len({*ids}))}
    rows = []
    for user_id in ids:
        row = row_of_id.get(str(user_id))
        if row is None:
            return None
        rows.append(row)
    return rows


def _refuse_arrays(arrays: Table, frame: Table, n_users: int, variable: str) -> NoReturn:
    """Refuse a result in arrays beside one in a data frame whose ids are no numbers of rows.

    ``variable`` is what the advice calls the arrays.
    """
    columns = ", ".join(map(repr, frame.keys))
    advice = f"give {arrays.name} as a data frame with the columns {columns}, too"
    if len(frame.keys) == 1:
        advice = (
            f"for arrays, type pandas.DataFrame({{{columns}: users, **{variable}}}), with the ids "
            "of their rows"
        )
    msg = (
        f"{arrays.name} has no ids of users and {frame.name} has; expected ids in both, or the row "
        f"numbers 0 to {n_users - 1} as ids: {advice}"
    )
    raise InputError(msg)


def _add_labels(
    labels: Mapping[str, dict[Any, Any]], table: Table, users: Iterable[Any], first_table: Table
) -> None:
    """Add the labels of a table's users to ``labels``, {column: {user: label}}.

    A user who has a label already must have the same one.
    """
    for column, label_of_user in labels.items():
        for user, label in zip(users, table.frame[column].to_list(), strict=True):
            first_label = label_of_user.setdefault(user, label)
            is_undefined = is_missing(label)
            differs = is_undefined != is_missing(first_label)
            if differs or (not is_undefined and first_label != label):
                msg = (
                    f"{table.name} has other values in the column {column!r} than "
                    f"{first_table.name}; expected one value for each user"
                )
                raise InputError(msg)


def ids_of(table: Table, users: Iterable[Any]) -> list[Any] | None:
    """The ids of users: tuples if several columns identify a user, None if no column does."""
    if not table.keys:
        return None
    if len(table.keys) == 1:
        return plain_values(key for (key,) in users)
    return [tuple(map(plain, user)) for user in users]


def _require_same_columns(first_table: Table, table: Table) -> None:
    """Refuse a data frame of several models, or with other columns of ids than the first one."""
    if table.model and len(table.rows_by_model()) > 1:
        columns = ", ".join(map(repr, table.model))
        msg = (
            f"{table.name} has rows of several models, column {columns}; give compare one "
            "frame of all models, or the rows of one model each"
        )
        raise InputError(msg)
    if not (table.keys and first_table.keys) and table.keys != first_table.keys:
        identified = table if table.keys else first_table
        placed = first_table if table.keys else table
        msg = (
            f"the lists of {identified.name} are identified by the columns {[*identified.keys]}, "
            f"and those of {placed.name} by their place alone; expected ids in both"
        )
        if identified.keys == ("index",):  # of pandas, without a name
            msg += (
                "; for ids in the index type "
                "{name: frame.rename_axis('user') for name, frame in results.items()}"
            )
        raise InputError(msg)
    if table.keys != first_table.keys:
        msg = (
            f"the lists of {first_table.name} are identified by the columns "
            f"{[*first_table.keys]} and those of {table.name} by {[*table.keys]}; expected the "
            "same; a metric column must hold numbers, or it is read as one of these"
        )
        raise InputError(msg)


def _require_same_users(
    first_table: Table, first_users: Mapping[Any, Any], table: Table, users: Mapping[Any, Any]
) -> None:
    """Refuse a data frame of several models, or with lists of other users than the first one.

    ``users`` are the keys of the table, or of all folds of its model; ``first_users`` those of
    ``first_table``.
    """
    _require_same_columns(first_table, table)
    if not table.keys:  # lists are matched by place, and their number is compared later
        return
    if first_users is users or first_users.keys() == users.keys():
        return
    for user in chain(first_users, users):
        if user not in first_users or user not in users:
            _refuse_ids_of_two_types({first_table.name: first_users, table.name: users})
            table_with = first_table
            table_without = table
            if user not in first_users:
                table_with, table_without = table_without, table_with
            msg = (
                f"{table_with.name} has a list of {named_user(table.keys, user)} and "
                f"{table_without.name} has none; expected the same users for all models: drop "
                "users who are not in the truth (their ntruth is 0), and evaluate without "
                "include_missing=False; if a column names the model, type model='COLUMN'"
            )
            if len(table.keys) > 1:
                columns = ", ".join(map(repr, table.keys))
                msg += f"; drop a column that does not identify a user: {columns} do here"
            raise InputError(msg)


def _refuse_ids_of_two_types(users_of_tables: Mapping[str, Collection[Any]]) -> None:
    """Refuse ids that are text in one table and integers in another, as a file and a frame have."""
    ids: dict[type, str] = {}
    for name, users in users_of_tables.items():
        first_id = plain(next(iter(next(iter(users), ())), None))
        ids[type(first_id)] = f"the users of {name} are of type {type(first_id).__name__}"
        ids[type(first_id)] += f" ({first_id!r})"
    if {*ids} == {str, int}:
        msg = f"{ids[str]}, and {ids[int]}; expected ids of one type; convert those of one of them"
        raise InputError(msg)


def _refuse_runs_without_values(samples: Samples) -> None:
    """Refuse a run without any value of a metric that other runs of the model have."""
    for model in samples.n_runs():
        for metric, runs in samples.runs[model].items():
            has_values = ~np.isnan(runs).all(axis=1)
            if has_values.any() and not has_values.all():
                number = has_values.argmin() + 1
                msg = (
                    f"run {number} of {model!r} has no value of metric {metric!r}, "
                    "so it says nothing about the variation between runs; leave out this run, or "
                    "compare metrics that all runs have"
                )
                raise InputError(msg)


def check_runs(samples: Samples, paired_runs: object) -> None:
    """Refuse runs without values, runs to be paired that cannot be, and folds not to be paired."""
    check_flag("paired_runs", paired_runs)
    counts = samples.n_runs()
    _refuse_runs_without_values(samples)
    if len(counts) < 2:
        return
    first_model, n_runs = next(iter(counts.items()))
    for model, n_of_model in counts.items():
        if paired_runs and n_of_model != n_runs:
            msg = (
                f"paired_runs=True, but {first_model!r} has {n_runs} runs and {model!r} has "
                f"{n_of_model}; give the same runs of every model, or one result"
            )
            raise ArgumentError(msg)
        if paired_runs:
            continue
        for metric in samples.metrics:
            n_values = np.count_nonzero(~np.isnan(samples.runs[model][metric]), axis=0)
            if metric not in samples.system and n_values.max(initial=0) == 1:
                msg = (
                    f"no user has a value of metric {metric!r} in two runs of {model!r}: the runs "
                    "are folds of users, the same for every model; type paired_runs=True"
                )
                raise InputError(msg)
