"""One result in any form -> a table of its values; what tables of several results must share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    MetricSpecError,
    ShapeError,
    did_you_mean,
    install,
)
from recmetrics._core.results import read_floats, spec_of
from recmetrics._core.spec import MetricSpec, spell
from recmetrics._report.bounds import Floats
from recmetrics._report.groups import Rows, is_missing
from recmetrics._report.settings import several

_COUNTS = ("nrecs", "ntruth")  # of a list, in the output of recmetrics.tables


class Columns(NamedTuple):
    """The columns of results that a caller names."""

    metrics: tuple[str, ...] | None  # None: those whose names are metric strings
    model: tuple[str, ...]  # empty: "model", if there is such a column
    others: tuple[str, ...]  # of groups and weights
    untested: frozenset[str]  # the metrics that a range of cutoffs alone names


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The values of a result and, of a data frame, what its other columns say of the rows."""

    name: str  # in messages
    values: dict[str, Any]  # float64, (n_rows,), or () for a metric of all lists
    frame: Any = None  # a narwhals.DataFrame of these rows; None: arrays, in an order of their own
    keys: tuple[str, ...] = ()  # the columns of the frame that identify the user
    model: tuple[str, ...] = ()  # those that name the model

    def users(self, *more: str) -> list[tuple[Any, ...]]:
        """The keys of each row and its cells in ``more``; its number where there are none."""
        if self.frame is None:
            return []
        columns = [self.frame[name].to_list() for name in (*self.keys, *more)]
        return list(zip(*(columns or [range(len(self.frame))]), strict=True))

    def rows_by_model(self) -> dict[Any, Rows]:
        """The rows of each model that columns name, in order of appearance."""
        rows: dict[str, list[int]] = {}
        labels_of: dict[str, tuple[Any, ...]] = {}
        columns = [self.frame[column].to_list() for column in self.model]
        for row, labels in enumerate(zip(*columns, strict=True)):
            model = " / ".join(map(str, labels))
            if model not in rows:
                self._require_labels(row, labels)
                labels_of[model] = labels
            elif labels != labels_of[model]:
                first = rows[model][0]
                msg = (
                    f"{self.name} has two models of one name, {model!r}, rows {first} and {row}: "
                    f"{labels_of[model]!r} and {labels!r}; expected names that differ as text; "
                    "rename one"
                )
                raise InputError(msg)
            rows.setdefault(model, []).append(row)
        return {model: np.array(rows_of_model, np.intp) for model, rows_of_model in rows.items()}

    def _require_labels(self, row: int, labels: Iterable[Any]) -> None:
        for column, label in zip(self.model, labels, strict=True):
            if is_missing(label):
                msg = f"{self.name} has no name of a model in row {row}, column {column!r}"
                raise InputError(msg)


def read_columns(metrics: Any, model: Any, *others: Any) -> Columns:
    named = []
    for name, given in (("metrics", metrics), ("model", model)):
        names = () if given is None else several(given)
        if given is not None and not (names and all(isinstance(each, str) for each in names)):
            msg = f"{name} must be one or several names of columns, got {given!r}"
            raise ArgumentError(msg, argument=name)
        named.append(names)
    alone, labels = named
    spelled = tuple(dict.fromkeys(each for name in alone for each in spell(name)))
    columns = tuple(each for each in others if isinstance(each, str))
    return Columns(spelled or None, labels, columns, frozenset(spelled) - frozenset(alone))


def read_table(
    what: str, result: Any, asked: Columns, forms: str, *, is_level: bool = False
) -> Table:
    """Read a result, given in one of the ``forms``; a level may lack metrics that are asked for."""
    if isinstance(result, Table):
        return result
    name = what.removeprefix("the result of ")  # shorter where a metric is told, too
    result = values_of(result)
    if isinstance(result, Mapping):
        for metric in () if is_level else asked.metrics or ():
            require(name, metric, result)
        chosen = result if asked.metrics is None else asked.metrics
        table = Table(name, {metric: result[metric] for metric in chosen if metric in result})
    elif (frame := _read_frame(name, result, asked)) is not None:
        table = frame
    else:
        msg = f"{what} is a {type(result).__name__}; expected {forms}"
        raise InputTypeError(msg)
    if not table.values and not is_level:
        msg = f"{what} holds no metric; expected {forms}"
        raise InputError(msg)
    values = {
        metric: _read_values(f"metric {metric!r} of {name}", metric, each)
        for metric, each in table.values.items()
    }
    return replace(table, values=values)


def values_of(result: Any) -> Any:
    """Give the values of an evaluator or of an ``Evaluation``; other results as they are."""
    if isinstance(result, Mapping):
        return result
    if callable(getattr(result, "compute", None)):
        return result.compute()
    return result.values if is_evaluation(result) else result


def is_evaluation(result: Any) -> bool:
    """Say whether a result is what ``Metrics.evaluate`` returns, whose class is of a higher row."""
    return isinstance(getattr(result, "values", None), Mapping) and hasattr(result, "notes")


def require_named(argument: str, results: Any) -> None:
    if not isinstance(results, Mapping):
        msg = (
            f"{argument} must be a dict of name and result, got {type(results).__name__}; "
            "type {'first': a, 'second': b}, with a name for each"
        )
        raise InputTypeError(msg, argument=argument)


def values_of_levels(levels: Any) -> dict[str, Mapping[str, Any]]:
    """Read the values of levels that are shown beside one result."""
    require_named("levels", levels)
    values_by_level = {name: values_of(level) for name, level in levels.items()}
    for name, values in values_by_level.items():
        if not hasattr(values, "keys"):
            msg = (
                f"the level {name!r} is a {type(values).__name__}; expected a dict of metric and "
                "values, as Metrics.chance returns it"
            )
            raise InputTypeError(msg)
    return values_by_level


def _read_frame(name: str, native: Any, asked: Columns) -> Table | None:
    """Read a data frame; None for any other object."""
    if not hasattr(type(native), "columns"):
        return None
    try:
        import narwhals as nw
    except ImportError as error:
        msg = f"results in data frames need the package narwhals; type: {install('tables')}"
        raise ArgumentError(msg) from error
    levels: set[Any] = set()
    if hasattr(native, "reset_index") and _names_users(native):
        columns, native = set(native.columns), native.reset_index()
        levels = set(native.columns) - columns
    if hasattr(native, "collect"):
        msg = f"a {type(native).__name__} holds no values yet; type .collect()"
        raise InputTypeError(msg)
    names = list(native.column_names if hasattr(native, "column_names") else native.columns)
    for column in names:
        if not isinstance(column, str) or names.count(column) > 1:
            fault = "twice" if isinstance(column, str) else f"of type {type(column).__name__}"
            msg = f"a data frame has the column {column!r} {fault}; expected different strings"
            raise InputError(msg)
    rows = nw.from_native(native, eager_only=True, pass_through=True)
    if not isinstance(rows, nw.DataFrame):
        return None
    metrics, model = asked.metrics or (), asked.model
    if not model and "model" in {*names} - {*metrics, *asked.others}:
        model = ("model",)
    told = {*metrics, *model, *asked.others, *_COUNTS}
    for column in (*metrics, *model, *asked.others):
        require(name, column, names)
    numbers = [n for n in names if n not in told | levels and rows.schema[n].is_numeric()]
    measured = tuple(column for column in numbers if spec_if_known(column))
    odd = next((n for n in numbers if n not in measured and rows.schema[n].is_float()), None)
    if asked.metrics is None and odd is not None:
        msg = (
            f"{name} has the column {odd!r} of floats, whose name is no metric string; type "
            f"metrics={[*measured] or ['a column']} to name all metrics, since other columns "
            f"identify the user, or model={odd!r} if it names the model"
        )
        raise InputError(msg)
    metrics = asked.metrics or measured
    values = {metric: _without_nulls(rows[metric]) for metric in metrics}
    keys = tuple(column for column in names if column not in {*metrics, *measured, *told})
    table = Table(name, values, rows, keys, model)
    if keys and (repeated := rows.select(*keys, *model).is_duplicated().to_numpy()).any():
        table.rows_by_model()  # a missing name is told first
        users = table.users(*model)
        first, *others = np.flatnonzero(repeated).tolist()
        # By text, since a NaN is not equal to itself.
        again = next((row for row in others if str(users[row]) == str(users[first])), others[0])
        msg = (
            f"{name} has two lists of {named_user((*keys, *model), users[first])}, rows {first} "
            f"and {again}; expected one: type model='its name' if a column names the model, drop "
            "columns that are no ids"
        )
        raise InputError(msg)
    return table


def _names_users(native: Any) -> bool:
    """Say whether a pandas index identifies users: by a name, or where no column does."""
    if any(name is not None for name in native.index.names):
        return True
    others = (str(name) for name, dtype in native.dtypes.items() if dtype.kind != "f")
    ids = {name for name in others if spec_if_known(name) is None}
    return ids <= set(_COUNTS) and list(native.index) != list(range(len(native)))


def _without_nulls(column: Any) -> Any:
    import narwhals as nw

    column = column.cast(nw.Float64).fill_null(np.nan) if column.null_count() else column
    return column.to_numpy()


def named_user(keys: Iterable[str], user: Iterable[Any]) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in zip(keys, user, strict=True))


def require(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, list(known)) or f"expected one of {list(known)}"
        msg = f"{what} has no {name!r}; {hint}"
        raise InputError(msg)


def spec_if_known(name: str) -> MetricSpec | None:
    """The metric of a key of results; None for one of another package."""
    try:
        return spec_of(name)
    except MetricSpecError:
        return None


def _read_values(what: str, metric: Any, column: Any) -> Floats:
    if not isinstance(metric, str):
        msg = f"{what}: names of metrics must be strings"
        raise InputError(msg)
    array = read_floats(what, column)
    if array.ndim > 1:
        msg = f"{what} has shape {array.shape}; expected one value per user, (n_users,), or ()"
        raise ShapeError(msg)
    spec = None if array.ndim else spec_if_known(metric)
    is_mean = spec.metric.per_user if spec is not None else not isinstance(column, np.ndarray)
    if not array.ndim and is_mean:
        msg = (
            f"{what} is one number, {column}; expected the value of every user, (n_users,), from "
            "which intervals are computed: give what Metrics.compute or the compute() of an "
            "Evaluator returns, not means"
        )
        raise InputTypeError(msg)
    return array


def require_alike(models: Sequence[Table], levels: Sequence[Table] = ()) -> int:
    """Refuse results of other metrics or users than the first, and count the users.

    Levels may lack metrics. Of one result no difference is taken: it may have infinite values.
    """
    first = models[0]
    counted, n_users = next(
        ((metric, each.size) for metric, each in first.values.items() if each.ndim), ("", 0)
    )
    for table in (*models, *levels):
        for lacking, having in ((table, first), (first, table))[table in levels :]:
            missing = next((each for each in having.values if each not in lacking.values), None)
            if missing is not None:
                msg = (
                    f"{lacking.name} has no metric {missing!r}, which {having.name} has; "
                    "compute the same metrics for every model"
                )
                raise InputError(msg)
        for metric, column in table.values.items():
            what = f"metric {metric!r} of {table.name}"
            is_of_users = first.values[metric].ndim
            other, expected = (counted, (n_users,)) if is_of_users else (metric, ())
            if column.shape != expected:
                msg = (
                    f"{what} has shape {column.shape}; expected {expected}, as metric {other!r} of "
                    f"{first.name}: compare results on the same users"
                )
                raise ShapeError(msg)
            infinite = np.isinf(column)
            if infinite.any() and len(models) > 1:
                first_user = f" for {infinite.sum():,} users, the first user {infinite.argmax()}"
                msg = (
                    f"{what} is infinite{first_user if column.ndim else ''}; differences of "
                    "infinite values are undefined"
                )
                raise InputError(msg)
    return n_users
