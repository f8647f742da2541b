"""One result in any form -> a table of its values; what tables of several results must share."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    MetricSpecError,
    ShapeError,
    at_fault,
    did_you_mean,
    install,
)
from recmetrics._core.inputs import are_permuted, is_missing, refuse_other_indexes
from recmetrics._core.results import (
    ROUNDING,
    SINGLE_ROUNDING,
    Accumulator,
    Ids,
    read_floats,
    read_reals,
    spec_of,
    user_at,
    with_exact_ends,
)
from recmetrics._core.spec import COUNT_COLUMNS, Definition, MetricSpec, expand_cutoffs
from recmetrics._core.stream import StreamEvaluator
from recmetrics._files import suffix_of, weight_names
from recmetrics._printing import counted
from recmetrics._report.bounds import Floats
from recmetrics._report.groups import Rows, plain
from recmetrics._report.origins import UNKNOWN, Origin, are_one, spelled_out
from recmetrics._report.settings import several

_TO_MATCH = (
    "to match users by the index, give each result as pandas.DataFrame(values).rename_axis('user')"
)


class Columns(NamedTuple):
    """The columns of results that a caller names."""

    metrics: tuple[str, ...] | None  # None: columns of numbers named as metric strings
    model: tuple[str, ...]  # empty: "model", if there is such a column
    labels: Mapping[str, str]  # columns of groups and weights -> the argument that names each
    untested: frozenset[str]  # metrics that only a range of cutoffs names, such as ndcg@1:20


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The values of a result; of a data frame also its columns of keys and of models."""

    name: str  # in messages
    values: dict[str, Any]  # float64, (n_rows,), or () for a metric of all lists
    frame: Any = None  # a narwhals.DataFrame of these rows; None: arrays, in an order of their own
    keys: tuple[str, ...] = ()  # the columns of the frame that identify the user
    model: tuple[str, ...] = ()  # those that name the model
    # The weights of users in the mean of each metric whose system weighs them, (n_rows,).
    user_weights: dict[str, Floats] = field(default_factory=dict)
    series: Mapping[str, Any] = field(default_factory=dict)  # of pandas, in place of arrays
    # The least and the greatest value of each metric, infinite where they are not known.
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    # The share of a value that is rounding, of each metric.
    rounding: dict[str, float] = field(default_factory=dict)
    origin: Origin = UNKNOWN

    def users(self, *columns: str) -> list[tuple[Any, ...]]:
        """A tuple for each row, of its keys and its cells in ``columns``.

        Without such columns, the tuple has the number of the row. Arrays have no rows: no tuple.
        """
        if self.frame is None:
            return []
        cells_of_columns = [self.frame[name].to_list() for name in (*self.keys, *columns)]
        return list(zip(*(cells_of_columns or [range(len(self.frame))]), strict=True))

    def at(self, rows: Rows) -> Table:
        """The table of some rows of a data frame."""
        return replace(
            self,
            values={metric: column[rows] for metric, column in self.values.items()},
            user_weights={metric: column[rows] for metric, column in self.user_weights.items()},
            frame=self.frame[rows.tolist()],
        )

    def require_model(self) -> None:
        """Refuse a table without a column that names models."""
        if not self.model:
            keys = list(self.keys)
            msg = (
                f"{self.name} has no column 'model'; type model='NAME', the name of the column of "
                f"models, which is one of {keys}"
            )
            raise InputError(msg)

    def rows_by_model(self) -> dict[Any, Rows]:
        """The rows of each model, in order of appearance; empty if no column names models.

        A model that several columns name is called by their labels, joined by " / ".
        """
        rows: dict[str, list[int]] = {}
        labels_of: dict[str, tuple[Any, ...]] = {}
        columns = [self.frame[column].to_list() for column in self.model]
        for row, labels in enumerate(zip(*columns, strict=True)):
            model = " / ".join(map(str, labels))
            if model not in rows:  # a new model
                for column, label in zip(self.model, labels, strict=True):
                    if is_missing(label):
                        msg = f"{self.name} has no name of a model in row {row}, column {column!r}"
                        raise InputError(msg)
                labels_of[model] = labels
            elif labels != labels_of[model]:
                first_row = rows[model][0]
                msg = (
                    f"{self.name} has two models of one name, {model!r}, rows {first_row} and "
                    f"{row}: {labels_of[model]!r} and {labels!r}; expected names that differ as "
                    "text; rename one"
                )
                raise InputError(msg)
            rows.setdefault(model, []).append(row)
        return {model: np.array(rows_of_model, np.intp) for model, rows_of_model in rows.items()}


def read_columns(metrics: Any, model: Any, by: Any, weights: Any) -> Columns:
    """Read the arguments of ``compare`` that name columns; ``by`` and ``weights`` may be arrays."""
    texts = _read_names("metrics", metrics)  # a range of cutoffs spells several metrics
    model_columns = _read_names("model", model)
    with at_fault("metrics"):
        spelled = tuple(dict.fromkeys(metric for text in texts for metric in expand_cutoffs(text)))
    label_arguments = {"by": by, "weights": weights}
    labels = {name: argument for argument, name in label_arguments.items() if isinstance(name, str)}
    for name in model_columns:
        if name in labels:
            argument = labels[name]
            msg = f"model= and {argument}= name the same column, {name!r}; leave out {argument}="
            raise ArgumentError(msg, argument=argument)
    return Columns(spelled or None, model_columns, labels, frozenset(spelled) - frozenset(texts))


def _read_names(argument: str, value: Any) -> tuple[str, ...]:
    """Read an argument of one or several names; empty for None."""
    if value is None:
        return ()
    names = several(value)
    if not names or not all(isinstance(name, str) for name in names):
        msg = f"{argument} must be one or several names of columns, got {value!r}"
        raise ArgumentError(msg, argument=argument)
    return tuple(map(str.__str__, names))  # a member of an enum of strings is printed as its name


def read_table(
    label: str,
    source: Any,
    columns: Columns,
    forms: str,
    *,
    is_level: bool = False,
    takes_means: bool = False,
) -> Table:
    """Read the values of a result; a level may lack columns that are asked for.

    In errors, ``label`` names the result, and ``forms`` are the forms that it may have.
    ``takes_means`` allows one number in the place of the values of all users.
    """
    if isinstance(source, Table):  # read already
        return source
    # Shorter, for errors that name a metric, too.
    name = label.removeprefix("the result of ").removeprefix("the level ")
    source, user_weights, origin = _parts_of(source)

    table: Table | None
    if isinstance(source, Mapping):
        table = _read_mapping(name, source, user_weights, columns, is_level=is_level)
    else:
        table = _read_frame(name, source, columns, is_level=is_level)
    if table is None:
        msg = f"{label} is a {type(source).__name__}; expected {forms}"
        are_values = isinstance(source, Number) or getattr(source, "ndim", None) == 1
        if are_values and not is_level:
            msg += "; for the value of each user of one metric, such as mrr, give {'mrr': values}"
        raise InputTypeError(msg)
    if not table.values and not is_level:
        msg = f"{label} holds no metric; expected {forms}"
        if table.frame is not None:
            msg = (
                f"{label} has the columns {list(table.frame.columns)}, of which none is named like "
                "a metric or holds decimal numbers; type metrics='NAME' for a column of integers"
            )
        raise InputError(msg)

    values = {}
    series = {}
    weights = {}
    bounds = {}
    rounding = {}
    for metric, column in table.values.items():
        label = f"metric {metric!r} of {name}"
        array = read_values(label, metric, column, takes_means=takes_means)
        bounds[metric] = bounds_if_known(metric)
        is_single = array.dtype.kind == "f" and array.dtype.itemsize < 8  # or half precision
        rounding[metric] = SINGLE_ROUNDING if is_single else ROUNDING
        array = array.astype(np.float64, copy=False)
        values[metric] = with_exact_ends(array, bounds[metric], rounding[metric])

        if metric in table.user_weights:
            weights[metric] = _read_weights(label, table.user_weights[metric], values[metric])
        if table.frame is None and hasattr(getattr(column, "index", None), "is_unique"):
            series[label] = column
    return replace(
        table,
        values=values,
        user_weights=weights,
        series=series,
        bounds=bounds,
        rounding=rounding,
        origin=origin,
    )


def _read_mapping(
    name: str,
    values: Mapping[str, Any],
    user_weights: Mapping[str, Any],
    columns: Columns,
    *,
    is_level: bool,
) -> Table:
    """Read the values and weights of each metric; a level may lack metrics that are asked for."""
    metrics = values.keys() if columns.metrics is None else columns.metrics
    if not is_level:
        for metric in metrics:
            require(name, metric, values, "metrics")
    values = {metric: values[metric] for metric in metrics if metric in values}
    return Table(name, values, user_weights=dict(user_weights))


def _parts_of(source: Any) -> tuple[Any, Mapping[str, Any], Origin]:
    """Give the values of a result, the weights of users in the means of some, and their origin.

    A data frame has values and weights, and is given as it is, without weights.
    """
    if isinstance(source, Mapping):
        names = weight_names(source)
        weights = {metric: source[key] for metric, key in names.items()}
        # Names of NumPy are printed as np.str_('ndcg').
        values = {plain(key): source[key] for key in source if key not in names.values()}
        return values, weights, UNKNOWN
    if callable(getattr(source, "compute", None)):
        origin = UNKNOWN
        if isinstance(source, Accumulator):
            origin = origin_of(source)
        return source.compute(), getattr(source, "user_weights", {}), origin
    if is_evaluation(source):
        return source.values, source.user_weights, source.origin
    return source, {}, UNKNOWN


def origin_of(results: Accumulator) -> Origin:
    """Give the origin of the values of an evaluator or a stream."""
    request = results._results.request
    return Origin(request.convention, request.definitions.get)


def is_evaluation(source: Any) -> bool:
    """Say whether a result is an ``Evaluation``, whose class this file cannot import."""
    return isinstance(getattr(source, "values", None), Mapping) and hasattr(source, "notes")


def noun_of(results: Any, noun: Any) -> str:
    """Give the word for what has a value: the caller's, that of the results, event or user."""
    if noun is None and is_evaluation(results):
        noun = results.noun
    if noun is not None:
        if not isinstance(noun, str) or not noun.strip():
            msg = f"noun must be a word for a user, such as 'session', got {noun!r}"
            raise ArgumentError(msg, argument="noun")
        return noun
    is_stream = isinstance(results, StreamEvaluator)
    # Of several models, each row is most often a user: ``compare`` says so, too.
    return "event" if is_stream and not results._results.has_models else "user"


def keeps_sums(results: Any) -> bool:
    """Say whether results are sums of values: a stream that keeps no values, or ``ValueSums``."""
    if isinstance(results, StreamEvaluator):
        return results._results.keep == "means"
    return hasattr(results, "joint")  # ``ValueSums``, whose class this file cannot import


def require_named(argument: str, results: Any) -> None:
    """Refuse anything but a dict of results by name."""
    if not isinstance(results, Mapping):
        msg = (
            f"{argument} must be a dict of name and result, got {type(results).__name__}; "
            "type {'first': a, 'second': b}, with a name for each"
        )
        raise InputTypeError(msg, argument=argument)


def code_of_frame(path: str | PathLike[str]) -> str:
    """Write the code that reads a table of values into a frame of polars."""
    kind = "csv" if suffix_of(Path(path)) == ".csv" else "parquet"
    return f"polars.read_{kind}({str(path)!r})"


def _read_frame(name: str, native: Any, columns: Columns, *, is_level: bool) -> Table | None:
    """Read a data frame; None for any other object. ``name`` is that of the result, in errors.

    A level may lack columns that are asked for.
    """
    if not hasattr(type(native), "columns"):
        return None
    frame, index_columns = _read_rows(native)
    if frame is None:
        return None
    model = columns.model
    metrics = columns.metrics or ()
    if not model and "model" in {*frame.columns} - {*metrics, *columns.labels}:
        model = ("model",)
    arguments = dict.fromkeys(metrics, "metrics") | dict.fromkeys(model, "model")
    for column, argument in (*arguments.items(), *columns.labels.items()):
        if not is_level:
            require(name, column, frame.columns, argument)
    has_column = {*frame.columns}.__contains__
    model = tuple(filter(has_column, model))

    # Of the other columns, numbers with the names of metrics are values, the rest identifies users.
    names_of_weights = weight_names(frame.columns)
    assigned = {*metrics, *model, *columns.labels, *COUNT_COLUMNS, *names_of_weights.values()}
    measured, remaining = _measured_columns(frame, assigned | index_columns)
    if columns.metrics is None:
        _require_clear_columns(name, frame, remaining, measured)
    metrics_read = filter(has_column, measured if columns.metrics is None else columns.metrics)
    values = {metric: _without_nulls(frame[metric]) for metric in metrics_read}
    weights = {metric: _without_nulls(frame[key]) for metric, key in names_of_weights.items()}
    keys = tuple(column for column in frame.columns if column not in {*measured, *assigned})
    table = Table(name, values, frame, keys, model, weights)
    _require_labels(table, filter(has_column, (*keys, *model, *columns.labels)))
    _require_different_rows(table)
    return table


def _measured_columns(frame: Any, assigned: Collection[str]) -> tuple[list[str], dict[str, Any]]:
    """The columns of numbers or bools named as metrics, and the dtypes of all others.

    Those that are ``assigned`` are in neither.
    """
    import narwhals as nw

    measured = []
    remaining = {}
    for column, dtype in frame.schema.items():
        if column in assigned:
            continue
        is_number = dtype == nw.Boolean or (dtype.is_numeric() and dtype != nw.Decimal)
        if is_number and spec_if_known(column):
            measured.append(column)
        else:
            remaining[column] = dtype
    return measured, remaining


def _require_clear_columns(
    name: str, frame: Any, remaining: Mapping[str, Any], measured: Sequence[str]
) -> None:
    """Refuse columns that may be metrics, and hardly ids: floats, and those named as metrics.

    ``measured`` are the columns of numbers named as metrics, ``remaining`` the dtypes of others.
    """
    floats = [column for column, dtype in remaining.items() if dtype.is_float()]
    for column, dtype in remaining.items():
        is_named = spec_if_known(column) is not None
        if not is_named and column not in floats:
            continue
        fault = "of floats, whose name is no metric string"
        as_metric = f"metrics={[*measured, *floats]}"
        if is_named:
            fault = f"of dtype {dtype}, whose name is a metric string; expected numbers"
            cast = "astype"
            if frame.implementation.is_polars():
                cast = "cast"
            elif frame.implementation.is_pyarrow():
                cast = "to_pandas().astype"
            as_metric = f"frame.{cast}({{{column!r}: float}})"
        as_id = f"metrics={measured} if it identifies the user, " if measured else ""
        msg = (
            f"{name} has the column {column!r} {fault}; type {as_metric} if it is a metric, "
            f"{as_id}or model={column!r} if it names the model"
        )
        if len(floats) == len(frame.columns) > 1 and not frame.implementation.is_pyarrow():
            msg += (
                "; if each column holds the values of a model, such as those of mrr, type "
                f"{{model: {{'mrr': {name}[model]}} for model in {name}.columns}}"
            )
        raise InputError(msg)


def _read_rows(native: Any) -> tuple[Any, set[Any]]:
    """Give a data frame of narwhals, or None for other objects, and the columns of its index.

    The index is that of pandas: its levels become columns if they identify users.
    """
    try:
        import narwhals as nw
    except ImportError as error:
        msg = f"results in data frames need the package narwhals; type: {install('tables')}"
        raise ArgumentError(msg) from error
    index_columns: set[Any] = set()
    if hasattr(native, "reset_index") and _names_users(native):
        columns = set(native.columns)
        # The new index has a name, to tell it from that of a Series without an index.
        native = native.reset_index().rename_axis("row of the results")
        index_columns = set(native.columns) - columns
    if hasattr(native, "collect"):  # a lazy frame
        call = ".toPandas()" if hasattr(native, "toPandas") else ".collect()"
        msg = f"a {type(native).__name__} holds no values yet; type {call}"
        raise InputTypeError(msg)
    names = list(native.column_names if hasattr(native, "column_names") else native.columns)
    for column in names:
        if not isinstance(column, str) or names.count(column) > 1:
            fault = "twice"
            if not isinstance(column, str):
                fault = f"of type {type(column).__name__}"
            msg = f"a data frame has the column {column!r} {fault}; expected different strings"
            raise InputError(msg)
    frame = nw.from_native(native, eager_only=True, pass_through=True)
    return (frame if isinstance(frame, nw.DataFrame) else None), index_columns


def _require_labels(table: Table, columns: Iterable[str]) -> None:
    """Refuse cells that cannot name a user, model or group, or that Python does not tell apart.

    Two hours of a change to winter time are equal in Python, and so are times that differ by less
    than a microsecond.
    """
    native = table.frame.to_native()
    for column in columns:
        cells = table.frame[column]
        is_time = cells.dtype.is_temporal()
        if not (is_time or cells.dtype.is_nested()) and str(cells.dtype) != "Object":
            continue
        labels = cells.to_list()
        try:
            n_labels = len({*labels})
        except TypeError:
            dropped = f"columns=[{column!r}]" if hasattr(native, "reset_index") else f"[{column!r}]"
            msg = (
                f"{table.name}: the column {column!r} holds collections, which name no user or "
                f"group; with its frame type frame.drop({dropped})"
            )
            raise InputTypeError(msg) from None
        if is_time and n_labels < cells.n_unique():
            dtype = "String" if str(cells.dtype).startswith("Datetime") else "Int64"
            code = f"frame.with_columns(polars.col({column!r}).cast(polars.{dtype}))"
            if hasattr(native, "column_names"):  # of pyarrow
                cast = f"frame[{column!r}].cast({dtype.lower()!r})"
                code = f"frame.set_column({native.column_names.index(column)}, {column!r}, {cast})"
            msg = (
                f"{table.name}: the column {column!r} holds different times that are equal in "
                f"Python; with its frame type {code}"
            )
            raise InputError(msg)


def _require_different_rows(table: Table) -> None:
    """Refuse two rows of one user and model."""
    if not table.keys:  # each row is another user
        return
    columns = (*table.keys, *table.model)
    repeated_rows = np.flatnonzero(table.frame.select(*columns).is_duplicated().to_numpy())
    if not repeated_rows.size:
        return
    table.rows_by_model()  # raises the error of a missing name of a model, which comes first
    users = table.users(*table.model)
    first_row, *later_rows = repeated_rows.tolist()
    # Users are compared as text, since a NaN is not equal to itself.
    text = str(users[first_row])
    second_row = next((row for row in later_rows if str(users[row]) == text), later_rows[0])
    msg = (
        f"{table.name} has two lists of {named_user(columns, users[first_row])}, rows {first_row} "
        f"and {second_row}; expected one: type model='COLUMN' if a column names the model (by= is "
        "for groups of users), else give each model or run a data frame of its own; if "
        "evaluate_table added empty lists of the user, type include_missing=False there"
    )
    raise InputError(msg)


def _names_users(native: Any) -> bool:
    """Say whether the index of a pandas frame identifies users.

    It does if it has a name, or if no column does and it is not 0, 1, 2, ...
    """
    if any(name is not None for name in native.index.names):
        return True
    names = (str(name) for name, dtype in native.dtypes.items() if dtype.kind != "f")
    ids = {name for name in names if spec_if_known(name) is None}
    labels = list(native.index)
    rows = list(range(len(native)))
    is_counted = {*labels} == {*rows} and labels == rows  # NA cannot be compared in a list
    return ids <= set(COUNT_COLUMNS) and not is_counted


def _without_nulls(column: Any) -> Any:
    """Make an array of a column of narwhals, with NaN for null."""
    import narwhals as nw

    if column.null_count():
        if not column.dtype.is_float():
            column = column.cast(nw.Float64)
        column = column.fill_null(np.nan)
    return column.to_numpy()


def named_user(keys: Iterable[str], user: Iterable[Any]) -> str:
    """Write the cells that identify a user, each after the name of its column."""
    return ", ".join(f"{key} {value!r}" for key, value in zip(keys, user, strict=True))


def require(label: str, name: str, names: Collection[str], argument: str) -> None:
    """Refuse a name, given in ``argument``, that is not among those of what ``label`` names."""
    if name not in names:
        hint = did_you_mean(name, list(names)) or f"expected one of {list(names)}"
        msg = f"{label} has no {name!r}; {hint}"
        raise InputError(msg, argument=argument)


def spec_if_known(name: str) -> MetricSpec | None:
    """The metric of a key of results; None for one of another package."""
    try:
        return spec_of(name)
    except MetricSpecError:
        return None


def bounds_if_known(name: str) -> tuple[float, float]:
    """The least and the greatest value of a metric; infinite for one of another package."""
    spec = spec_if_known(name)
    return (-math.inf, math.inf) if spec is None else spec.bounds


def read_values(
    label: str, metric: Any, column: Any, *, takes_means: bool = False
) -> npt.NDArray[Any]:
    """Read the values of a metric in their own precision, (n_users,), or () for all lists.

    One number of a metric of users is a mean, refused without ``takes_means``.
    """
    if not isinstance(metric, str):
        msg = f"{label}: names of metrics must be strings"
        raise InputError(msg)
    if isinstance(column, Mapping):
        msg = (
            f"{label} is a dict, expected the values of all users; if it has means of a model, "
            "give what compute() returns, not mean(); for {user: {metric: value}} type "
            "pandas.DataFrame(values).T.rename_axis('user'), for {metric: {user: value}} type "
            "pandas.DataFrame(values).rename_axis('user')"
        )
        raise InputTypeError(msg)
    array = read_reals(label, column)
    if array.ndim > 1:
        msg = f"{label} has shape {array.shape}; expected one value per user, (n_users,), or ()"
        raise ShapeError(msg)
    if array.ndim == 0 and array.dtype.kind == "b":  # an answer, such as of a comparison of values
        msg = f"{label} is {column}, of dtype bool; expected real numbers"
        raise InputTypeError(msg)
    if array.ndim == 1 or takes_means:
        return array
    # One value for all lists is an array of shape (), also where the metric is not known.
    is_mean = not isinstance(column, np.ndarray)
    spec = spec_if_known(metric)
    if spec is not None:
        is_mean = spec.metric.per_user
    if is_mean:
        msg = (
            f"{label} is one number, {column}; expected the value of every user, (n_users,), from "
            "which intervals are computed: give what Metrics.compute or the compute() of an "
            "Evaluator returns, not means"
        )
        raise InputTypeError(msg)
    return array


def _read_weights(label: str, column: Any, values: Floats) -> Floats:
    """Read the weights of users in the mean of a metric, whose ``values`` have the same shape."""
    label = f"the weights of {label}"
    weights = read_floats(label, column)
    if weights.shape != values.shape:
        msg = f"{label} have shape {weights.shape}; expected {values.shape}, as its values"
        raise ShapeError(msg)
    is_wrong = ~(np.isfinite(weights) & (weights >= 0)) & ~np.isnan(values)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        msg = f"{label} hold {weights[row]} in row {row}; expected finite numbers >= 0"
        raise InputError(msg)
    return weights


def values_of_all_lists(table: Table, rows: Rows | slice = slice(None)) -> dict[str, Floats]:
    """Read the one value, (), of each metric of all lists in the rows of a model.

    Data frames repeat it in each row, or have NaN; rows with several values are refused. Arrays
    have it already, so that nothing is read of them.
    """
    values: dict[str, Floats] = {}
    if table.frame is None:
        return values
    for metric, column in table.values.items():
        spec = spec_if_known(metric)
        if spec is None or spec.metric.per_user:
            continue
        of_rows = column[rows]
        numbers = np.unique(of_rows[~np.isnan(of_rows)])
        if numbers.size > 1:
            others = [name for name in table.values if name != metric]
            msg = (
                f"{metric} of {table.name} has {numbers.size} different values, and is one value "
                f"for all lists of a model; leave it out: type metrics={others}"
            )
            raise InputError(msg)
        values[metric] = np.append(numbers, np.nan)[0].reshape(())
    return values


def require_alike(
    models: Sequence[Table], levels: Sequence[Table] = (), ids: Ids = lambda: None
) -> int:
    """Refuse results of other metrics or users than the first, and count the users.

    Levels may lack metrics. ``ids`` gives the ids of the users, for errors.
    """
    require_one_index((*models, *levels))
    first_table = models[0]
    user_metrics = [metric for metric, column in first_table.values.items() if column.ndim]
    n_users = 0
    if user_metrics:
        n_users = first_table.values[user_metrics[0]].size
    for table in (*models, *levels):
        if table not in levels:
            _require_metrics(table, first_table)
        _require_metrics(first_table, table)
        for metric, column in table.values.items():
            label = f"metric {metric!r} of {table.name}"
            # All metrics of users have the shape of the first one; others have that of themselves.
            expected_metric = user_metrics[0] if metric in user_metrics else metric
            shape = first_table.values[expected_metric].shape
            if column.shape != shape:
                msg = (
                    f"{label} has shape {column.shape}; expected {shape}, as metric "
                    f"{expected_metric!r} of {first_table.name}: compare results on the same users"
                )
                raise ShapeError(msg)
    if len(models) > 1:  # a result alone has no differences
        _require_finite((*models, *levels), ids)
    return n_users


def _require_finite(tables: Iterable[Table], ids: Ids) -> None:
    """Refuse infinite values, whose differences are undefined."""
    for table in tables:
        for metric, column in table.values.items():
            is_infinite = np.isinf(column)
            if is_infinite.any():
                msg = f"metric {metric!r} of {table.name} is infinite"
                if column.ndim:
                    user = user_at(int(is_infinite.argmax()), ids)
                    msg += f" for {counted(is_infinite.sum(), 'user')}, the first user {user!r}"
                msg += "; differences of infinite values are undefined"
                raise InputError(msg)


def shared_origin(tables: Sequence[Table]) -> Origin:
    """Find the origin that results have in common; refuse two definitions of one metric.

    A definition that is not known for all results is none of these, and not compared.
    """
    definitions: dict[str, Definition] = {}
    for metric in tables[0].values:
        definition_of_result = {}
        for table in tables:
            if (definition := table.origin.definition(metric)) is not None:
                definition_of_result[table.name] = definition
        _require_one_definition(metric, definition_of_result)
        if len(definition_of_result) == len(tables):
            definitions[metric] = definition_of_result[tables[0].name]
    convention, *others = {table.origin.convention for table in tables}
    return Origin(None if others else convention, definitions.get)


def _require_one_definition(metric: str, definitions: Mapping[str, Definition]) -> None:
    """Refuse definitions of a metric that differ, by the names of the results."""
    texts = {name: spelled_out(metric, definitions[name]) for name in definitions}
    if len({*texts.values()}) == 1:
        texts = {name: f"{texts[name]} with ties={definitions[name].ties!r}" for name in texts}
    first_name = next(iter(texts), "")
    first_text = texts.get(first_name)
    for name, text in texts.items():
        if text != first_text:
            msg = (
                f"metric {metric!r} is {first_text} in {first_name} and {text} in {name}; expected "
                "one definition: evaluate both with the same convention= and ties="
            )
            raise InputError(msg)
        if not are_one(definitions[name].spec.metric, definitions[first_name].spec.metric):
            msg = (
                f"metric {metric!r} of {first_name} and that of {name} are of two functions, since "
                "its name was declared anew; expected one definition: evaluate both again"
            )
            raise InputError(msg)


def require_one_index(tables: Iterable[Table], **entries: Any) -> None:
    """Refuse Series of pandas whose indexes differ, as values in arrays or entries beside them.

    One of row numbers in another order is refused beside an array, too.
    """
    series: dict[str, Any] = {}
    arrays = []
    for table in tables:
        series |= table.series
        for metric, column in table.values.items():
            label = f"metric {metric!r} of {table.name}"
            if table.frame is None and column.ndim and label not in table.series:
                arrays.append(label)
    if series:
        refuse_other_indexes(series | entries, _TO_MATCH)
    for label, values in series.items():
        if arrays and are_permuted(values.index.tolist()):
            msg = (
                f"{label} is a Series whose index has the row numbers from 0 in another order, and "
                f"{arrays[0]} has no index; type values.sort_index() if these are the numbers of "
                "the users, or values.to_numpy() if the users are in one order"
            )
            raise InputError(msg)


def _require_metrics(table: Table, other: Table) -> None:
    """Refuse a table that lacks a metric of another one."""
    for metric in other.values:
        if metric not in table.values:
            msg = (
                f"{table.name} has no metric {metric!r}, which {other.name} has; "
                "compute the same metrics for every model"
            )
            shared = [metric for metric in other.values if metric in table.values]
            if shared:
                msg += f", or, to compare those of both, type metrics={shared}"
            raise InputError(msg)
