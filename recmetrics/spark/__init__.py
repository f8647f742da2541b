"""Metrics of tables of recommendations in Spark: the rows of some users at a time on each worker.

This module needs the extra ``spark``.

    evaluate   tables -> the values of each list, by buckets of users; and those of all lists
    summary    values -> sums of each bucket -> the sums of all -> ``recmetrics.summary``
    compare    the same, for ``recmetrics.compare``
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import ast
import pickle
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError, RecmetricsError
from recmetrics._core.options import check_count
from recmetrics._core.results import check_groups
from recmetrics._core.spec import MetricsList, parse, read_convention
from recmetrics._report import Comparison, Summary, ValueReader, ValueSums
from recmetrics._report import compare as compare_values
from recmetrics._report import summary as summarise_values
from recmetrics.tables import (
    columns_read,
    evaluate_all_lists,
    evaluate_bucket,
    evaluate_table,
    say_counted_in_bucket,
    weight_names,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["compare", "evaluate", "summary"]

_TABLE = "recmetrics table"  # a column that no table has: the name of a row's table
_BUCKET = "recmetrics bucket"
_EXPOSED = "recmetrics exposed"  # in the first row of a bucket: how often its lists have each item

# How a message makes numbers of strings in pandas, and how Spark does; and rows of lists in pandas.
_PANDAS_CAST = r"(\w+)\.assign\(\*\*\{('.+'): (.+)\.astype\(float\)\}\)"
_SPARK_CAST = r"\1.withColumn(\2, \3.cast('double'))"
_PANDAS_EXPLODE = re.compile(r"(?<=; type\s)(\w+) = (.+\.explode\((.+?)\)\..+)$")
_PATTERN = re.compile(r"\.str\.findall\(r(\"+)(.+?)\1\)")
_DROPPED = re.compile(r"\.drop\(columns=(.+?)\)")


def evaluate(
    recs: Any,
    truth: Any,
    metrics_list: MetricsList,
    *,
    user: str = "user",
    item: str = "item",
    by: str | Sequence[str] | None = None,
    exclude: Any = None,
    chunks: int | None = None,
    **options: Any,
) -> DataFrame:
    """Compute metrics for every list in a DataFrame of Spark, with the values of one machine.

    Nothing is computed before Spark needs the result. A worker holds the rows of a bucket of users
    at a time, as tables of pandas. If an executor is lost, Spark repeats its tasks.

    The rows of Spark have no order: ``recs`` needs a column of scores or ranks, and equal scores
    rank by item id, ascending. A worker knows some users alone, so the warnings of
    ``evaluate_table`` are not given, such as that of ids that are written in two ways.

    Parameters
    ----------
    recs, truth, exclude
        DataFrames of Spark with the columns that ``recmetrics.tables.evaluate_table`` takes.
        Decimals become doubles, except ids.
    metrics_list
        As in ``Metrics.compute``. For metrics of all lists, such as coverage, Spark may compute the
        lists twice.
    user, item, by
        As in ``evaluate_table``.
    chunks
        How many buckets. Default: as many as a shuffle in Spark has partitions.
    **options
        Other keywords of ``evaluate_table``, such as ``score``, ``rank`` and ``convention``, but
        not ``in_order``, ``return_summary`` and ``per_user``. The tables among them are of pandas,
        and go to every worker; if ids are timestamps, they hold whole microseconds since 1970.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of ``evaluate_table``, with a row for each list. An undefined value is null.

    Raises
    ------
    RecmetricsError
        As in ``evaluate_table``, if metrics or columns cannot be read; if a table is not of Spark;
        or if no column orders the lists. Errors of values are raised by Spark, once it computes the
        result.
    """
    keys = [by] if isinstance(by, str) else list(by or ())
    options |= {"user": user, "item": item, "by": keys, "n_threads": 1}
    tables = {"recs": recs, "truth": truth}
    if exclude is not None:
        tables["exclude"] = exclude
    tables = _checked(tables, options)

    from pyspark.sql import functions
    from pyspark.sql.types import NumericType

    # Faults that need no values are found here; the empty result has the columns of all results.
    heads = {label: table.limit(0).toPandas() for label, table in tables.items()}
    with _advising_in_spark(heads):
        examples = _with_lists(heads, tables, item)
        empty = evaluate_table(metrics_list=metrics_list, **examples, **options).reset_index()
    columns = columns_read(heads["recs"], heads["truth"], metrics_list, options)
    tables, heads = _with_columns_that_are_read(tables, heads, columns)
    checked_recs = tables["recs"]
    types = {name: checked_recs.schema[name].dataType.simpleString() for name in (*keys, user)}
    types |= {"nrecs": "bigint", "ntruth": "bigint"}
    convention = options.get("convention")
    if convention is not None:
        convention = read_convention(convention)
    weights = weight_names(empty.columns).values()
    metrics = empty.columns.difference([*types, *weights], sort=False)
    of_all_lists = [name for name in metrics if not parse(name, convention).metric.per_user]
    of_lists = [*empty.columns.difference(of_all_lists, sort=False), _EXPOSED]
    types[_EXPOSED] = "binary"

    def schema_of(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}` {types.get(name, 'double')}" for name in names)

    models = None
    if columns.model_keys:  # a null is refused by the worker that gets its bucket
        quoted = [f"`{name}`" for name in columns.model_keys]
        models = checked_recs.select(quoted).distinct().dropna(subset=quoted).toPandas()

    right = tables["truth"].withColumn(_TABLE, functions.lit("truth"))
    if exclude is not None:
        excluded = tables["exclude"].withColumn(_TABLE, functions.lit("exclude"))
        excluded = _with_zeros_for(excluded, right)
        right = _with_zeros_for(right, excluded).unionByName(excluded, allowMissingColumns=True)
    # Equal ids have one hash only if they are of one type.
    is_number = isinstance(checked_recs.schema[user].dataType, NumericType)
    id_type = "double" if is_number else "string"
    buckets = [_by_bucket(table, [user], chunks, id_type) for table in (checked_recs, right)]
    by_bucket = buckets[0].cogroup(buckets[1])
    measure = partial(
        evaluate_on_worker,
        heads=heads,
        metrics_list=metrics_list,
        options=options,
        models=models,
        names=(checked_recs.columns, right.columns, of_lists),
    )
    values = by_bucket.applyInPandas(measure, schema_of(of_lists))
    if of_all_lists:
        measure_all = partial(measure_all_on_worker, metrics_list=metrics_list, options=options)
        values = _with_all_lists(values, measure_all, keys, schema_of([*keys, *of_all_lists]))
    values = values.select([f"`{name}`" for name in empty.columns])
    result: DataFrame = _with_timestamps(values, recs, [*keys, user])
    return result


def _require_spark(table: Any, label: str, instead: str) -> None:
    """Refuse a table of another library; ``instead`` is the function that takes it."""
    if not hasattr(table, "toPandas"):
        msg = (
            f"{label} is a {type(table).__name__}, expected a DataFrame of Spark, as of "
            f"spark.createDataFrame({label}); tables in memory are for {instead}"
        )
        raise InputTypeError(msg, argument=label)


def _checked(tables: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse tables and options of a call in memory, and lists that nothing orders.

    The result is the tables with doubles in place of decimals, but microseconds in place of ids
    that are timestamps.
    """
    for label, table in tables.items():
        _require_spark(table, label, "recmetrics.tables.evaluate_table")
    for name in ("return_summary", "per_user"):
        if options.get(name):
            msg = f"{name}= is an option of evaluate_table alone; the result is a table of Spark"
            raise ArgumentError(msg, argument=name)
    orders = [
        options.get("score"),
        options.get("rank"),
        *({"score", "rank"} & {*tables["recs"].columns}),
    ]
    if options.get("in_order") or not any(orders):
        msg = (
            "the rows of Spark have no order; expected a column 'score' or 'rank' in recs, or "
            "score= or rank= with the name of one"
        )
        raise InputError(msg, argument="recs")
    ids = [*options["by"], options["user"], options["item"]]
    timestamps = _timestamps_among(ids, tables)
    return {
        label: _with_microseconds(_with_doubles(table, ids), timestamps)
        for label, table in tables.items()
    }


def _with_columns_that_are_read(
    tables: Mapping[str, Any], heads: Mapping[str, Any], columns: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Drop all other columns: pandas may not hold their values, and a union casts those of a name.

    ``heads`` are the tables without rows, in pandas; ``columns`` are those that
    ``recmetrics.tables.columns_read`` gives.
    """
    numbers = {"recs": {columns.rank, columns.score}, "truth": {columns.relevance}}
    narrow_tables = {}
    narrow_heads = {}
    for label, table in tables.items():
        names = {*columns.keys, columns.item, *numbers.get(label, ())}
        columns_of_table = [name for name in table.columns if name in names]
        narrow_tables[label] = table.select([f"`{name}`" for name in columns_of_table])
        narrow_heads[label] = heads[label][columns_of_table]
    return narrow_tables, narrow_heads


def _with_doubles(table: Any, ids: Collection[str]) -> Any:
    """Cast decimals, which are objects in pandas, to doubles, but for the columns ``ids``."""
    doubles = {
        name: table[f"`{name}`"].cast("double")
        for name, kind in table.dtypes
        if kind.startswith("decimal") and name not in ids
    }
    return table.withColumns(doubles)


def _timestamps_among(ids: Iterable[str], tables: Mapping[str, Any]) -> list[str]:
    """Name the columns of ids that hold timestamps; refuse ids of two kinds.

    Spark gives pandas the local times of the session: two hours of a change to winter time would be
    one. They are evaluated as whole numbers, which would be equal to other whole numbers. Of other
    ids of two kinds, a union would cast one.
    """
    timestamps = []
    for name in dict.fromkeys(ids):
        columns = {}
        for label, table in tables.items():
            if name in table.columns:
                data_type = table.schema[name].dataType
                text = f"{label}, column {name!r} holds {data_type.simpleString()}"
                columns[_kind(data_type)] = text
        if "timestamp" in columns:
            timestamps.append(name)
        columns.pop("array", None)  # lists are refused elsewhere
        if columns.keys() & {"integer", "float"}:
            columns.pop("decimal", None)  # which may equal both
        if len(columns) > 1:
            text = ", and ".join(columns.values())
            msg = f"{text}; expected ids of one type; cast one of them"
            raise InputTypeError(msg, argument="recs")
    return timestamps


def _kind(data_type: Any) -> str:
    """Name the kind of ids of a type of Spark: those of two kinds are never equal."""
    from pyspark.sql.types import BooleanType, IntegralType

    if isinstance(data_type, IntegralType | BooleanType):
        return "integer"
    if data_type.typeName() in ("float", "double"):
        return "float"
    return str(data_type.typeName())  # of decimals and lists without what they hold


def _with_microseconds(table: Any, timestamps: Iterable[str]) -> Any:
    """Make columns of timestamps, where the table has them, microseconds since 1970."""
    from pyspark.sql import functions

    for name in timestamps:
        if name in table.columns:
            table = table.withColumn(name, functions.unix_micros(f"`{name}`"))
    return table


def _with_timestamps(values: Any, recs: Any, ids: Iterable[str]) -> Any:
    """Make timestamps of microseconds again, in columns of ``values`` that ``recs`` has as such."""
    from pyspark.sql import functions

    for name in _timestamps_among(ids, {"recs": recs}):
        values = values.withColumn(name, functions.timestamp_micros(f"`{name}`"))
    return values


def _with_lists(heads: Mapping[str, Any], tables: Mapping[str, Any], item: str) -> dict[str, Any]:
    """Give a table without rows a row with lists if its items are: pandas has no type for them."""
    examples = dict(heads)
    for label, table in tables.items():
        types = dict(table.dtypes)
        if types.get(item, "").startswith("array"):
            row: dict[str, Any] = dict.fromkeys(types)
            row |= {name: [] for name in types if types[name].startswith("array")}
            examples[label] = type(heads[label])([row])
    return examples


@contextmanager
def _advising_in_spark(heads: Mapping[str, Any]) -> Iterator[None]:
    """Say in an error how Spark changes a table, where it says how pandas does.

    ``heads`` have the columns of the tables.
    """
    try:
        yield
    except InputTypeError as error:
        message = re.sub(_PANDAS_CAST, _SPARK_CAST, str(error))
        message = _PANDAS_EXPLODE.sub(lambda match: _explode_in_spark(match, heads), message)
        error.args = (message,)
        raise


def _explode_in_spark(match: re.Match[str], heads: Mapping[str, Any]) -> str:
    """Write in Spark what makes a row of each id of lists, which ``match`` does in pandas."""
    label, code, exploded = match.groups()
    lists: Any = ast.literal_eval(exploded)
    dropped: list[str] = []
    if drop := _DROPPED.search(code):
        dropped = ast.literal_eval(drop[1])

    cells = f"`{lists[0]}`"
    if pattern := _PATTERN.search(code):  # of text, in one column
        literal = pattern[2].replace("\\", r"\\").replace("'", r"\'")
        cells = f"regexp_extract_all(`{lists}`, '{literal}', 0)"
        if ".astype(" in code:
            cells = f"cast({cells} AS array<bigint>)"
        lists = [lists]

    names = ", ".join(f"`{name}`" for name in lists)
    if len(lists) > 1:
        rows = f"inline(arrays_zip({names})) AS ({names})"
    elif label == "recs":  # rows of Spark have no order
        rows = f"posexplode({cells}) AS (rank, {names})"
    else:
        rows = f"explode({cells}) AS {names}"
    kept = [f"`{name}`" for name in heads[label].columns if name not in {*dropped, *lists}]
    return f"{label} = {label}.selectExpr({', '.join(map(repr, [*kept, rows]))})"


def _with_zeros_for(table: Any, other: Any) -> Any:
    """Add the columns of numbers that another table has alone, 0 in all rows.

    A union would put null into them, which makes floats of integers in pandas.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import BooleanType, NumericType

    numbers = {
        field.name: functions.lit(0).cast(field.dataType)
        for field in other.schema
        if isinstance(field.dataType, NumericType | BooleanType) and field.name not in table.columns
    }
    return table.withColumns(numbers)


def _with_all_lists(
    values: Any, measure_all: Callable[..., Any], keys: Sequence[str], schema: str
) -> Any:
    """Give every list the metrics of all lists with the same ``keys``.

    ``measure_all`` computes them, with the columns of ``schema``, from what the buckets exposed.
    """
    from pyspark.sql import functions

    exposed = values.select(_EXPOSED).where(functions.col(_EXPOSED).isNotNull())
    of_all = exposed.repartition(1).mapInPandas(measure_all, schema)
    of_all = functions.broadcast(of_all)
    if not keys:
        return values.crossJoin(of_all)
    return values.join(of_all, list(keys), "left")


def evaluate_on_worker(
    left: Any,
    right: Any,
    *,
    heads: Mapping[str, Any],
    metrics_list: MetricsList,
    options: Mapping[str, Any],
    models: Any,
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
) -> Any:
    """Compute the rows of a bucket of users, all of whose tables are of pandas.

    ``left`` are the rows of ``recs``; ``right`` those of the other tables, with a column that names
    their table. ``heads`` are the tables without rows. ``names`` are those of the columns of
    ``left``, of ``right`` and of the result.
    """
    left_names, right_names, result_names = names
    left = left.set_axis(left_names, axis=1)
    left = left.sort_values(options["item"])  # Spark gives them in any order
    right = right.set_axis(right_names, axis=1)
    bucket_options = dict(options)
    for label, head in heads.items():
        rows = left if label == "recs" else right[right[_TABLE] == label]
        bucket_options[label] = rows[head.columns].reset_index(drop=True)
    if models is not None:
        # Of the columns of ``by``, times alone have another unit in a bucket than in ``models``.
        models = models.astype(left.dtypes[models.columns])
    with warnings.catch_warnings(), _counting_in_buckets(), _advising_in_spark(heads):
        warnings.simplefilter("ignore")  # what holds for a bucket's users may not hold for all
        recs = bucket_options["recs"]
        truth = bucket_options["truth"]
        values, exposed = evaluate_bucket(recs, truth, metrics_list, bucket_options, models)
    values = values.reset_index()
    values[_EXPOSED] = None
    if exposed.counts:  # compressed, since most counts are small
        values.loc[:0, _EXPOSED] = zlib.compress(pickle.dumps(exposed), level=1)
    # Spark takes no strings of pandas in several chunks of Arrow.
    keys = [*options["by"], options["user"]]
    return values[list(result_names)].astype(dict.fromkeys(keys, object))


@contextmanager
def _counting_in_buckets() -> Iterator[None]:
    """Say in an error that its numbers of rows and users are those within a bucket."""
    try:
        yield
    except RecmetricsError as error:
        say_counted_in_bucket(error)
        raise


def measure_all_on_worker(
    frames: Iterable[Any], *, metrics_list: MetricsList, options: Mapping[str, Any]
) -> Iterator[Any]:
    """Compute the metrics of all lists, as a frame with a row for each combination of ``by``.

    ``frames`` have the counts of all buckets.
    """
    import pandas as pd

    exposed = (pickle.loads(zlib.decompress(cell)) for frame in frames for cell in frame[_EXPOSED])
    of_all = pd.DataFrame(evaluate_all_lists(exposed, metrics_list, options))
    yield of_all.astype(dict.fromkeys(options["by"], object))


def summary(
    values: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    by: str | None = None,
    weights: str | None = None,
    chunks: int | None = None,
    **options: Any,
) -> Summary:
    """Summarise values in a DataFrame of Spark, which stay on the workers: as recmetrics.summary.

    Each worker sends sums of the values of its users. They give the means, intervals and counts of
    the values, but no quantiles.

    Parameters
    ----------
    values
        A DataFrame of Spark with a row for each user and model, as ``evaluate`` gives.
    metrics, model, by, weights
        As in ``recmetrics.compare`` for data frames: names of metrics, and of the columns of
        models, groups and weights. Models and groups come in the order of their names. Decimals in
        columns of ``metrics`` and ``weights`` become doubles.
    chunks
        As in ``evaluate``.
    **options
        Other keywords of ``recmetrics.summary``, such as ``confidence``. ``levels`` and
        ``n_resamples`` need the value of each user.

    Raises
    ------
    ArgumentError
        If a metric has one value for all lists, or an option needs the value of each user.
    RecmetricsError
        As in ``recmetrics.summary``. Errors of values are raised by Spark.
    """
    reader = ValueReader.of(metrics, model, by, weights, is_paired=False)
    return summarise_values(_sum_on_workers(values, reader, chunks), metrics=metrics, **options)


def compare(
    values: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    by: str | None = None,
    weights: str | None = None,
    chunks: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare models by values in a DataFrame of Spark, which stay on the workers.

    Each worker sends sums of the values of its users and of their differences. They give the
    numbers of ``recmetrics.compare``, also of its gate.

    Parameters
    ----------
    values, metrics, model, by, weights, chunks
        As in ``summary``. Each user has a row for every model.
    **options
        Other keywords of ``recmetrics.compare``, such as ``baseline``. ``levels``, ``n_resamples``
        and tests other than "t" need the value of each user.

    Raises
    ------
    ArgumentError, RecmetricsError
        As in ``summary`` and ``recmetrics.compare``.
    """
    reader = ValueReader.of(metrics, model, by, weights, is_paired=True)
    return compare_values(_sum_on_workers(values, reader, chunks), metrics=metrics, **options)


def _sum_on_workers(values: Any, reader: ValueReader, chunks: int | None) -> ValueSums:
    """Sum the values of each bucket of users on a worker, and join these sums."""
    _require_spark(values, "values", "recmetrics.summary and recmetrics.compare")
    numbers = [reader.weights, *(reader.columns.metrics or ())]
    values = _with_doubles(values, {*values.columns}.difference(numbers))
    head = values.limit(0).toPandas()
    user = reader.user_columns(head)
    if reader.is_paired:  # a bucket may lack a model; a model without a name is refused in its own
        names_of_models = [*reader.model_columns(head)]
        rows = values.dropna(subset=[f"`{name}`" for name in names_of_models])
        reader = reader.with_models(rows.dropDuplicates(names_of_models).toPandas())
    values = _with_microseconds(values, _timestamps_among(user, {"values": values}))
    names = values.columns
    # Spark 4.3 warns of a partial function, since it looks for type hints.
    sums = _by_bucket(values, user, chunks).applyInPandas(
        lambda bucket: sum_on_worker(bucket, reader=reader, names=names), "sums binary"
    )
    rows = sums.collect()
    if not rows:
        msg = "values has no row"
        raise InputError(msg, argument="values")
    sums_of_buckets: list[ValueSums] = [pickle.loads(row.sums) for row in rows]
    check_groups(set().union(*(sums.joint.groups for sums in sums_of_buckets)))
    return reduce(ValueSums.joined, sums_of_buckets)


def sum_on_worker(frame: Any, *, reader: ValueReader, names: Sequence[str]) -> Any:
    """Sum the values of a bucket of users, whose columns have ``names``, as a frame of one cell."""
    import pandas as pd

    with _counting_in_buckets():
        sums = reader.sums(frame.set_axis(names, axis=1))
    return pd.DataFrame({"sums": [pickle.dumps(sums)]})


def _by_bucket(
    frame: Any, user: Sequence[str], chunks: int | None, id_type: str | None = None
) -> Any:
    """Group a frame by buckets of users, whom the columns ``user`` identify, as ``id_type``.

    The columns of the groups are named 0, 1 and so on: Spark looks for a field behind the dot of a
    name such as rbp(p=0.8)@10.
    """
    from pyspark.sql import functions

    ids = [functions.col(str(frame.columns.index(name))) for name in user]
    if id_type is not None:
        ids = [column.cast(id_type) for column in ids]
    n_buckets = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    if chunks is not None:
        n_buckets = check_count("chunks", chunks, 1)
    bucket = functions.pmod(functions.hash(*ids), functions.lit(n_buckets))
    return frame.toDF(*map(str, range(len(frame.columns)))).groupBy(bucket.alias(_BUCKET))
