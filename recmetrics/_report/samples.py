"""``Samples``: one array per model and metric, users in one order; read from tables of models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError
from recmetrics._core.results import mean_of
from recmetrics._report import result_tables as reading
from recmetrics._report import statistics
from recmetrics._report.bounds import Floats, Range
from recmetrics._report.groups import Rows, plain, read_users
from recmetrics._report.result_tables import Columns, Table, read_table, spec_if_known
from recmetrics._report.statistics import mean_over_runs

_FORMS = (
    "what Metrics.compute or Metrics.evaluate returns, an object whose .compute() returns that, or "
    "a data frame with a float column per metric"
)


class Values(NamedTuple):
    """The defined values of a model, or differences of two, of some users."""

    values: Floats
    users: Rows
    weights: Floats | None
    n_undefined: int


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
    groups: dict[Any, Rows]  # the users of each, and of None: all; none of weight 0
    weights: Floats | None  # of all users
    n_weightless: int | None  # users of weight 0; None without weights
    runs: dict[Any, dict[str, Floats]] = field(default_factory=dict)  # none in a summary
    levels: tuple[str, ...] = ()  # shown beside the models; they may lack metrics
    users: list[Any] | None = None  # their ids, where data frames name them

    def n_runs(self) -> dict[str, int]:
        """The number of runs of each model with several."""
        counts = {name: len(next(iter(runs.values()), ())) for name, runs in self.runs.items()}
        return {name: count for name, count in counts.items() if count > 1}

    def limits(self, metric: str) -> Range:
        """The range of a metric: that of its definition or, without one, of all models' values."""
        spec = spec_if_known(metric)
        floor, ceiling = (-math.inf, math.inf) if spec is None else spec.bounds
        values = [self.values[model][metric] for model in self.models]
        return Range.of(values, floor, ceiling)

    def of(self, group: Any, metric: str, model: str, against: str | None = None) -> Values:
        """Take the values of a model, or subtract those of another; leave out the undefined."""
        is_system = metric in self.system
        users = np.zeros(1, np.intp) if is_system else self.groups[group]
        values = self.values[model][metric][users]
        if against is not None:
            with np.errstate(over="ignore"):
                values = values - self.values[against][metric][users]
        undefined, n_users = np.isnan(values), users.size
        if undefined.any():
            users, values = users[~undefined], values[~undefined]
        weights = None if self.weights is None or is_system else self.weights[users]
        return Values(values, users, weights, n_users - users.size)

    def describe(self, group: Any, metric: str, model: Any, own: Values) -> dict[str, Any]:
        """Compute the fields of a ``Mean``, with those of runs if any model has several."""
        is_system = metric in self.system
        named: dict[str, Any] = {
            "metric": metric,
            "group": group,
            "model": model,
            "mean": mean_of(own.values, own.weights),
            "n_users": None if is_system else own.users.size,
            "n_undefined": None if is_system else own.n_undefined,
            "n_effective": None if self.weights is None else math.nan,
        }
        if own.weights is not None:
            named["n_effective"] = statistics.effective_users(own.weights)
        if self.n_runs():
            runs = self.runs[model][metric][:, own.users]
            means = np.array([mean_of(run, own.weights) for run in runs])
            run_std = statistics.spread_of(means[~np.isnan(means)])
            named |= {"n_runs": len(runs), "run_std": run_std}
        return named


def read_samples(results: Any, levels: Any, by: Any, weights: Any, asked: Columns) -> Samples:
    """Check that models, and levels, were measured by the same metrics on the same users."""
    if hasattr(type(results), "columns") and not isinstance(results, Mapping):
        results = _split(read_table("results", results, asked, "a dict of name and result"))
    reading.require_named("results", results)
    reading.require_named("levels", levels)
    if len(results) < 2:
        msg = f"expected the results of at least two models to compare, got {len(results)}"
        raise InputError(msg)
    for name in (*results, *levels):
        if not isinstance(name, str) or not name.strip():
            msg = f"names of models must be strings that are not blank, got {name!r}"
            raise InputError(msg)
        if name in results and name in levels:
            msg = f"{name!r} is the name of a model and of a level; expected different names"
            raise InputError(msg)
    given = {model: _read_runs(model, each, asked) for model, each in results.items()}
    for level, each in levels.items():
        given[level] = _read_runs(level, each, asked, is_level=True)
    tables, labels, users = _in_one_order(given, asked.others)
    of_models = [table for model in results for table in tables[model]]
    of_levels = [table for level in levels for table in tables[level]]
    n_users = reading.require_alike(of_models, of_levels)
    groups, relative = read_users("no result is", labels, n_users, by, weights)
    everyone = groups.pop(None)
    try:
        groups = {None: everyone} | {group: groups[group] for group in sorted(groups)}
    except TypeError:
        msg = "by must hold labels of one type, such as strings or integers"
        raise InputTypeError(msg, argument="by") from None
    first = of_models[0].values
    runs = {model: _stacked(own) for model, own in tables.items()}
    return Samples(
        models=tuple(results),
        levels=tuple(levels),
        metrics=tuple(first),
        system=frozenset(metric for metric, each in first.items() if not each.ndim),
        runs=runs,
        values={
            model: {metric: mean_over_runs(each) for metric, each in of_metrics.items()}
            for model, of_metrics in runs.items()
        },
        groups=groups,
        weights=relative,
        n_weightless=None if relative is None else n_users - groups[None].size,
        users=users,
    )


def _stacked(runs: Sequence[Table]) -> dict[str, Floats]:
    if len(runs) == 1:
        return {metric: np.atleast_2d(each) for metric, each in runs[0].values.items()}
    return {m: np.stack([np.atleast_1d(each.values[m]) for each in runs]) for m in runs[0].values}


def _split(table: Table) -> dict[str, Table]:
    if not table.model:
        keys = list(table.keys)
        msg = f"results has no column 'model'; type model= and the one of {keys} that is"
        raise InputError(msg)
    tables = {}
    for name, rows in table.rows_by_model().items():
        values = {metric: each[rows] for metric, each in table.values.items()}
        tables[name] = Table(repr(name), values, table.frame[rows.tolist()], table.keys)
    return tables


def _read_runs(model: str, given: Any, asked: Columns, *, is_level: bool = False) -> list[Table]:
    runs = [given] if is_level or not isinstance(given, list | tuple) else given
    if not runs:
        kind = type(given).__name__
        msg = f"the result of {model!r} is an empty {kind}; expected one or more runs"
        raise InputError(msg)
    name = "run {} of {!r}" if len(runs) > 1 else "the result of {1!r}"
    return [
        read_table(name.format(number, model), each, asked, _FORMS, is_level=is_level)
        for number, each in enumerate(runs, start=1)
    ]


def _in_one_order(
    models: Mapping[str, Sequence[Table]], columns: Iterable[str]
) -> tuple[dict[str, list[Table]], dict[str, list[Any]], list[Any] | None]:
    """Put the users of all data frames into one order, and the labels in ``columns``; their ids."""
    tables = {model: [*each] for model, each in models.items()}
    labels: dict[str, dict[Any, Any]] = {column: {} for column in columns}
    first: Table | None = None
    expected: dict[Any, Any] = {}
    for own in tables.values():
        rows = [{user: row for row, user in enumerate(each.users())} for each in own]
        union = dict.fromkeys(chain(*rows))
        is_folds = sum(map(len, rows)) == len(union)  # undefined for the users of other runs
        for run, (table, places) in enumerate(zip(own, rows, strict=True)):
            if table.frame is None:
                continue
            users = union if is_folds else places
            if first is None:
                first, expected = table, users
            _require_same_users(first, expected, table, users)
            for column, known in labels.items():
                for user, label in zip(places, table.frame[column].to_list(), strict=True):
                    other = known.setdefault(user, label)
                    if other is not label and other != label:
                        msg = (
                            f"{table.name} has other values in the column {column!r} than "
                            f"{first.name}; expected one value for each user"
                        )
                        raise InputError(msg)
            if table.keys:
                order = [places.get(user, -1) for user in expected]  # -1: of another fold
                values = {m: np.append(each, np.nan)[order] for m, each in table.values.items()}
                own[run] = replace(table, values=values)
    named = labels.items() if first else ()
    ids: list[Any] | None = None
    if first and first.keys:
        keys = (tuple(map(plain, user)) for user in expected)
        ids = [user[0] if len(user) == 1 else user for user in keys]
    return tables, {column: [known[user] for user in expected] for column, known in named}, ids


def _require_same_users(first: Table, expected: Any, table: Table, users: Any) -> None:
    if table.model and len(table.rows_by_model()) > 1:
        named = ", ".join(map(repr, table.model))
        msg = (
            f"{table.name} has rows of several models, column {named}; give compare one "
            "frame of all models, or the rows of one model each"
        )
        raise InputError(msg)
    if table.keys != first.keys:
        msg = (
            f"the lists of {first.name} are identified by the columns {[*first.keys]} and those of "
            f"{table.name} by {[*table.keys]}; expected the same, and metrics in float columns"
        )
        raise InputError(msg)
    odd = next(
        (user for user in chain(expected, users) if (user in expected) != (user in users)), None
    )
    if table.keys and odd is not None:
        having, lacking = (first, table) if odd in expected else (table, first)
        msg = (
            f"{having.name} has a list of {reading.named_user(table.keys, odd)} and {lacking.name} "
            "has none; compare the same lists; evaluate_table gives every user of the truth a row, "
            "unless include_missing=False leaves some out; if a column names the model, type "
            "model='its name'"
        )
        raise InputError(msg)


def check_runs(samples: Samples, paired_runs: object) -> None:
    if not isinstance(paired_runs, bool):
        msg = f"paired_runs must be True or False, got {paired_runs!r}"
        raise ArgumentError(msg, argument="paired_runs")
    counts = samples.n_runs()
    if len(counts) < 2:
        return
    first, expected = next(iter(counts.items()))
    for model, count in counts.items():
        if paired_runs and count != expected:
            msg = (
                f"paired_runs=True, but {first!r} has {expected} runs and {model!r} has {count}; "
                "give the same runs of every model, or one result"
            )
            raise ArgumentError(msg)
        tested = [each for each in samples.metrics if each not in samples.system]
        for metric in () if paired_runs else tested:
            if (~np.isnan(samples.runs[model][metric])).sum(axis=0).max(initial=0) == 1:
                msg = (
                    f"no user has a value of metric {metric!r} in two runs of {model!r}: the runs "
                    "are folds of users, the same for every model; type paired_runs=True"
                )
                raise InputError(msg)
