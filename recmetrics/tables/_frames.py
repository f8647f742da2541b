"""Tables in and out through narwhals: pandas, polars and pyarrow alike."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from numbers import Number
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    did_you_mean,
    install,
    looks_like,
)
from recmetrics._core.types import BoolArray, FloatArray, IntArray
from recmetrics._files import columns_of_places
from recmetrics.tables._conversions import NUMBERS, conversion_of, conversion_of_wide

try:
    import narwhals.stable.v2 as nw
    from narwhals.stable.v2.typing import IntoDataFrame
except ImportError as error:
    _msg = f"recmetrics.tables needs narwhals; type: {install('tables')}"
    raise ImportError(_msg) from error

Frame = nw.DataFrame[Any]
Series = nw.Series[Any]
AnyTable: TypeAlias = IntoDataFrame
"""A table of the caller's: a pandas or polars DataFrame or a pyarrow Table."""
Table = TypeVar("Table", bound=IntoDataFrame)
"""The same of one library, which is also that of the result."""

PANDAS = nw.Implementation.PANDAS
POLARS = nw.Implementation.POLARS
PYARROW = nw.Implementation.PYARROW
_EXPECTED_TABLE = "a pandas or polars DataFrame or a pyarrow Table"
_READY = {  # the method that makes a lazy table of each library an expected one
    nw.Implementation.POLARS: "collect()",
    nw.Implementation.DUCKDB: "pl()",
    nw.Implementation.DASK: "compute()",
    nw.Implementation.IBIS: "to_pandas()",
    nw.Implementation.PYSPARK: "toPandas()",
    nw.Implementation.PYSPARK_CONNECT: "toPandas()",
    nw.Implementation.SQLFRAME: "toPandas()",
}
_STRINGS_CODE = {  # code that makes strings of a column {1} of the table {0}
    PANDAS: "{0}[{1!r}] = {0}[{1!r}].map(str)",
    POLARS: "{0} = {0}.with_columns(polars.Series({1!r}, list(map(str, {0}[{1!r}]))))",
    PYARROW: "{0} = {0}.drop_columns([{1!r}]).append_column({1!r}, "
    "[list(map(str, {0}[{1!r}].to_pylist()))])",
}
_FLOATS_CODE = {  # code that makes floats of a column {1} of text or objects of the table {0}
    PANDAS: "{0} = {0}.assign(**{{{1!r}: {0}[{1!r}].astype(float)}})",
    POLARS: "{0} = {0}.with_columns(polars.Series({1!r}, [*map(float, {0}[{1!r}])]))",
    PYARROW: "{0} = {0}.drop_columns([{1!r}]).append_column({1!r}, "
    "[[*map(float, {0}[{1!r}].to_pylist())]])",
}
_ITEMS_CODE = {  # code that makes numbers of a column {1} of tensors of the table {0}
    PANDAS: "{0}.assign(**{{{1!r}: [torch.as_tensor(id).item() for id in {0}[{1!r}]]}})",
    POLARS: "{0}.with_columns(polars.Series({1!r}, "
    "[torch.as_tensor(id).item() for id in {0}[{1!r}]]))",
}
_COLUMNS_CODE = {  # code that makes a column for each name in the column {1} of {0}, by item {2}
    PANDAS: "{0} = {0}.explode({1!r}).set_index({2!r})[{1!r}].str.get_dummies('|').groupby({2!r})"
    ".max().reset_index()",
    POLARS: "{0} = {0}.select({2!r}, polars.col({1!r}).cast(str).fill_null('').str.split('|'))"
    ".explode({1!r}).with_columns(has=1).pivot({1!r}, index={2!r}, values='has', "
    "aggregate_function='max').fill_null(0).drop('', strict=False)",
}
_DATES_CODE = {  # code that makes dates of a column {1} of text of the table {0}
    PANDAS: "{0} = {0}.assign(**{{{1!r}: pandas.to_datetime({0}[{1!r}])}})",
    POLARS: "{0} = {0}.with_columns(polars.col({1!r}).str.to_datetime())",
    PYARROW: "{0} = {0}.drop_columns([{1!r}]).append_column({1!r}, "
    "{0}[{1!r}].cast(pyarrow.timestamp('us')))",
}
# Code that makes a row of each id of the lists in column {1} of the table {0}; columns {2} go with
# it, an empty list has no row.
_EXPLODE_CODE = {
    PANDAS: "{0}.explode({2!r}).dropna(subset=[{1!r}]).infer_objects()",
    POLARS: "{0}.explode({2!r}).drop_nulls({1!r})",
}
# Code that makes ids of the pairs in column {1} of the table {0}, and a column {2} of the numbers;
# {3} is the place or the name of the id in a pair, and {4} that of the number.
_PAIRS_CODE = {
    PANDAS: "{0}.assign(**{{{2!r}: lambda rows: rows[{1!r}].astype(object).str[{4!r}], "
    "{1!r}: lambda rows: rows[{1!r}].astype(object).str[{3!r}]}})",
    POLARS: "{0}.with_columns(polars.col({1!r}).{5}({3!r}).alias({1!r}), "
    "polars.col({1!r}).{5}({4!r}).alias({2!r}))",
}
# By the library that is wanted and the one that is given: code that converts the table {0}.
_LIBRARY_CODE = {
    (PANDAS, POLARS): "{0}.to_pandas()",
    (PANDAS, PYARROW): "{0}.to_pandas()",
    (POLARS, PANDAS): "polars.from_pandas({0})",
    (POLARS, PYARROW): "polars.from_arrow({0})",
    (PYARROW, PANDAS): "pyarrow.Table.from_pandas({0})",
    (PYARROW, POLARS): "{0}.to_arrow()",
}
# Code that makes a row for each item of the table {0}, which has a row for each list, with the user
# in column {1} and the items in columns {3}. {2} is what the one column of items is called then.
_PLACES_CODE = {
    PANDAS: "{0}.melt([{1!r}], {3}, value_name={2!r})[[{1!r}, {2!r}]].dropna()",
    POLARS: "{0}.unpivot({3}, index={1!r}, value_name={2!r}).select({1!r}, {2!r}).drop_nulls()",
}
_DROP_CODE = {PANDAS: ".drop(columns={0!r})", POLARS: ".drop({0!r})"}
# Code that gives a column {1} of dates of the table {0} the time zone {2}; {3} is a unit of time.
_ZONE_CODE = {
    PANDAS: "{0}[{1!r}] = pandas.to_datetime({0}[{1!r}]).dt.tz_localize({2!r})",
    POLARS: "{0} = {0}.with_columns(polars.col({1!r}).cast(polars.Datetime({3!r}))"
    ".dt.replace_time_zone({2!r}))",
    PYARROW: "{0} = {0}.drop_columns([{1!r}]).append_column({1!r}, "
    "pyarrow.compute.assume_timezone({0}[{1!r}].cast(pyarrow.timestamp({3!r})), {2!r}))",
}
_EPOCH_CODE = {  # code that makes dates of a column {1} of numbers since 1970 of the table {0}
    PANDAS: "{0}[{1!r}] = pandas.to_datetime({0}[{1!r}], unit={2!r}).dt.tz_localize({3!r})",
    POLARS: "{0} = {0}.with_columns(polars.from_epoch(polars.col({1!r}).cast({4}), "
    "time_unit={2!r}).dt.replace_time_zone({3!r}))",
    PYARROW: "{0} = {0}.drop_columns([{1!r}]).append_column({1!r}, "
    "{0}[{1!r}].cast('int64').cast(pyarrow.timestamp({2!r}, {3!r})))",
}
_DURATIONS_CODE = {  # code that makes numbers of a column {1} of durations of the table {0}
    PANDAS: "{0} = {0}.assign(**{{{1!r}: {0}[{1!r}].dt.total_seconds()}})",
    POLARS: "{0} = {0}.with_columns(polars.col({1!r}).dt.total_nanoseconds())",
    PYARROW: "{0} = {0}.drop_columns([{1!r}]).append_column({1!r}, "
    "{0}[{1!r}].cast(pyarrow.duration('ns')).cast('int64'))",
}
_PERIODS_CODE = "{0} = {0}.assign(**{{{1!r}: {0}[{1!r}].dt.to_timestamp()}})"  # of pandas
_WIDE_DTYPES = (nw.Decimal, nw.Int128, nw.UInt128)  # NumPy has no type for these
TEXT = (nw.String, nw.Categorical, nw.Enum)
MAY_BE_TEXT = (*TEXT, nw.Object)
# By type: that of the same values of which pyarrow can take rows.
_OF_VIEWS: dict[str, Any] = {"string_view": nw.String, "binary_view": nw.Binary}
EXACT = 2.0**53  # below it float64 holds every integer


def read_frame(value: Any, label: str) -> Frame:
    """Read a table of pandas, polars or pyarrow through narwhals; ``label`` is its argument."""
    try:
        frame: Any = nw.from_native(value)
    except TypeError:
        frame = None
    except Exception as error:
        msg = f"{label} cannot be read as a table: {' '.join(str(error).split())}"
        raise InputError(msg, argument=label) from None
    if isinstance(frame, nw.LazyFrame):
        method = _READY.get(frame.implementation)
        advice = f"type {label}.{method}" if method else f"convert it to {_EXPECTED_TABLE}"
        msg = f"{label} is lazy, expected {_EXPECTED_TABLE}; {advice}"
        raise InputTypeError(msg, argument=label)
    if frame is None or frame.implementation not in (PANDAS, POLARS, PYARROW):
        msg = (
            f"{label} is of type {type(value).__name__}, expected {_EXPECTED_TABLE}"
            f"{conversion_of(value, label)}"
        )
        raise InputTypeError(msg, argument=label)
    if frame.implementation is PYARROW:
        for field in value.schema:
            if str(field.type) in _OF_VIEWS:
                dtype = _OF_VIEWS[str(field.type)]
                frame = frame.with_columns(nw.col(field.name).cast(dtype))
    if frame.implementation is PANDAS:
        native = frame.to_native()
        # Columns that are sparse, and so have a fill value, are read as dense ones.
        dense_types = {
            name: dtype.subtype
            for name, dtype in native.dtypes.items()
            if hasattr(dtype, "fill_value")
        }
        if dense_types:
            frame = nw.from_native(native.astype(dense_types))
    return frame  # type: ignore[no-any-return]


def type_of(series: Series) -> Any:
    """Give the type of a column as its own library has it."""
    native: Any = series.to_native()
    return native.type if series.implementation is PYARROW else native.dtype


def plain(series: Series) -> Series:
    """Convert a dictionary of Arrow, in pandas too, to the values that it stands for."""
    # A dictionary of Arrow has an index type; pandas wraps the type of Arrow in its own.
    arrow_type: Any = type_of(series)
    arrow_type = getattr(arrow_type, "pyarrow_dtype", arrow_type)
    if not hasattr(arrow_type, "index_type"):
        return series
    native: Any = series.to_native()
    if series.implementation is PYARROW:
        native = native.cast(arrow_type.value_type)
    else:
        native = native.astype(type(native.dtype)(arrow_type.value_type))
    converted: Series = nw.from_native(native, series_only=True)
    return converted.alias(series.name)


def as_strings(label: str, ids: Series) -> str:
    """Write what makes strings of a column of ids, for a message."""
    return _STRINGS_CODE[ids.implementation].format(label, ids.name)


def require_same_kind(recs: Frame, frame: Frame, label: str, first: str = "recs") -> None:
    """Refuse a table of another library than that of recs: its ids would have to be converted."""
    if frame.implementation is not recs.implementation:
        libraries = recs.implementation, frame.implementation  # wanted and given
        msg = (
            f"{first} is a {libraries[0].value} table and {label} a {libraries[1].value} one, "
            f"expected both of one library; type {_LIBRARY_CODE[libraries].format(label)}"
        )
        raise InputTypeError(msg, argument=label)


def require_columns(frame: Frame, label: str, names: Iterable[str]) -> None:
    """Refuse a table that lacks one of the columns."""
    columns: list[Any] = frame.columns  # of any type in pandas
    names = list(names)
    for name in names:
        if not isinstance(name, str):
            advice = ""
            if isinstance(name, int) and name in columns:
                advice = f"; type {label}.rename(columns=str), and name it {str(name)!r}"
            msg = f"a column of {label} must be named by a string, got {name!r}{advice}"
            raise ArgumentError(msg)
        if name not in columns:
            column_list = ", ".join(map(repr, columns)) or "none"
            advice = _advice_on_column(frame, label, name, names)
            msg = f"{label} has no column {name!r}; it has {column_list}{advice}"
            raise InputError(msg, argument=label)


def _advice_on_column(frame: Frame, label: str, name: str, names: Sequence[str]) -> str:
    """Say how to give a table the column ``name``, of those in ``names``; "" if unknown."""
    columns: list[Any] = frame.columns
    if frame.implementation is PANDAS:
        native = frame.to_native()
        rows_code = conversion_of_wide(native, label, names)
        if rows_code:
            return rows_code
        if name in native.index.names:
            return f"; {name!r} is in its index: type {label}.reset_index()"
    texts = [text for text in columns if isinstance(text, str)]
    item_columns = columns_of_places(texts)
    if (
        item_columns
        and len(names) == 2
        and name == names[1]
        and frame.implementation in _PLACES_CODE
    ):
        code = _PLACES_CODE[frame.implementation].format(label, *names, item_columns)
        return (
            "; it has a column for each place of a list: for a row for each item, best first, type "
            f"{code}"
        )
    similar_names = [text for text in texts if looks_like(text, name)]
    if similar_names and name in ("user", "item"):
        return (
            f"; type {name}={similar_names[0]!r} if all tables have it, else rename it to {name!r}"
        )
    if hint := did_you_mean(name, map(str, columns)):
        return f"; {hint}"
    if not {"user", "item"} <= {*names} - {*columns} or len(columns) < 2:
        return ""
    user, item, *_ = columns  # the first two most often are users and items
    if isinstance(user, str) and isinstance(item, str):
        return (
            f"; type user={user!r}, item={item!r} if these are the users and items of all tables, "
            "else rename their columns to 'user' and 'item'"
        )
    return (  # the numbers that pandas gives to columns without names
        f"; type {label}.rename(columns={{{user!r}: 'user', {item!r}: 'item'}}) if these are the "
        "users and items"
    )


def as_names(value: Any) -> list[Any]:
    """One name of a column, several or None, as a list; each is checked where it is looked up."""
    if value is None:
        return []
    names = [value]
    if isinstance(value, Collection) and not isinstance(value, str):
        names = list(value)
    # An array has strings of NumPy, which messages would show as np.str_('model').
    return [str.__str__(name) if isinstance(name, str) else name for name in names]


def value_at(frame: Frame, column: str, row: int) -> Any:
    """Give one value as a Python object, for a message."""
    cell = frame.get_column(column)[row : row + 1]
    try:
        return cell.to_list()[0]
    except (OverflowError, ValueError):  # nanoseconds, or a year that Python does not have
        return cell.cast(nw.String).to_list()[0]


def described(frame: Frame, columns: Sequence[str], row: int) -> str:
    """Write the values of a row in some columns, for a message."""
    return ", ".join(f"{name}={value_at(frame, name, row)!r}" for name in columns)


def holds_numbers(series: Series) -> bool:
    """Say whether a column holds numbers, one of objects by its first value."""
    if series.dtype != nw.Object:
        return bool(series.dtype.is_numeric())
    values = series.drop_nulls()[0:1].to_list()
    return any(isinstance(value, Number) and not isinstance(value, bool) for value in values)


def numbers_of(frame: Frame, label: str, column: str) -> FloatArray:
    """Read a column of numbers as float64; refuse null and NaN."""
    series = frame.get_column(column)
    dtype = series.dtype
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        type_name = type_of(series) if dtype == nw.Unknown else dtype
        msg = f"{label}, column {column!r} holds {type_name}, expected numbers"
        if dtype in MAY_BE_TEXT:
            code = _FLOATS_CODE[series.implementation].format(label, column)
            msg += f"; if each is one, type {code}"
        raise InputTypeError(msg, argument=label)
    _refuse_null(series, label, "a number")
    if isinstance(dtype, _WIDE_DTYPES):
        series = series.cast(nw.Float64)
    return np.asarray(series.to_numpy(), np.float64)


def refuse_names(frame: Frame, label: str, column: str, item: str) -> None:
    """Refuse names in a column of a table that should have a column for each name."""
    series = frame.get_column(column)
    if series.dtype not in MAY_BE_TEXT or holds_numbers(series):
        return
    msg = f"{label}, column {column!r} holds names; expected a column for each of them, of 0 and 1"
    if series.implementation in _COLUMNS_CODE:
        code = _COLUMNS_CODE[series.implementation].format(label, column, item)
        msg += f"; for these columns, type {code}"
    raise InputTypeError(msg, argument=label)


def times_of(frame: Frame, label: str, column: str) -> npt.NDArray[Any]:
    """Read a column of dates as datetime64, or one of exact numbers; refuse null and NaN."""
    series = frame.get_column(column)
    # pandas has no type for dates without a time.
    are_dates = series.dtype == nw.Object and all(
        type(value) is datetime.date for value in series.drop_nulls().to_list()
    )
    if are_dates or series.dtype in (nw.Datetime, nw.Date):
        _refuse_null(series, label, "a time")
        if getattr(series.dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        times = series.to_numpy()
        return times.astype("datetime64[D]") if times.dtype.kind == "O" else times
    noun = _kind_of_times(series)
    if noun:
        code = _code_of_times(series, noun).format(label, column)
        msg = (
            f"{label}, column {column!r} holds {noun}, expected numbers or dates; convert it, such "
            f"as by {code}"
        )
        raise InputTypeError(msg, argument=label)
    return exact_numbers_of(frame, label, column)


def _kind_of_times(series: Series) -> str:
    """Name what a column holds that is converted to numbers or dates; "" for any other."""
    if str(type_of(series)).startswith("period"):  # of pandas
        return "periods"
    nouns: dict[Any, str] = {nw.String: "text", nw.Object: "objects", nw.Duration: "durations"}
    return next((noun for dtype, noun in nouns.items() if series.dtype == dtype), "")


def _code_of_times(series: Series, noun: str) -> str:
    """Give the code that makes numbers of a column where each cell is one, and else dates."""
    if noun == "periods":
        return _PERIODS_CODE
    if noun == "durations":
        return _DURATIONS_CODE[series.implementation]
    texts = list(map(str, series.drop_nulls().to_list()))  # objects may be numbers, as Decimal is
    for number_type in (int, float):
        with suppress(ValueError):
            for text in texts:
                number_type(text)
            return _FLOATS_CODE[series.implementation].replace("float", number_type.__name__)
    return _DATES_CODE[series.implementation]


def from_epoch(label: str, series: Series, unit: str, zone: str | None) -> str:
    """Write what makes dates of a column of numbers since 1970, for a message."""
    number_type = "int" if series.dtype.is_integer() else "float"  # the command reads text
    code = _EPOCH_CODE[series.implementation]
    return code.format(label, series.name, unit, zone, number_type)


def with_zone(label: str, series: Series, zone: str) -> str:
    """Write what gives a column of dates a time zone, for a message."""
    unit = "us"  # nanoseconds hold no dates after 2262
    if getattr(series.dtype, "time_unit", None) == "ns":
        unit = "ns"
    return _ZONE_CODE[series.implementation].format(label, series.name, zone, unit)


def exact_numbers_of(frame: Frame, label: str, column: str) -> npt.NDArray[Any]:
    """Read a column of numbers as float64, or unchanged where this would make two of them one."""
    numbers = numbers_of(frame, label, column)
    series = frame.get_column(column)
    if isinstance(series.dtype, _WIDE_DTYPES):
        return np.array(series.to_list(), object)
    if series.dtype.is_integer() and np.abs(numbers).max(initial=0.0) >= EXACT:
        return np.asarray(series.to_numpy())
    return numbers


def sort_keys_of(frame: Frame, label: str, column: str) -> FloatArray:
    """Read a column of numbers; where float64 would make two of them one, as their ranks."""
    series = frame.get_column(column)
    if isinstance(series.dtype, _WIDE_DTYPES):
        _refuse_null(series, label, "a number")
        # Decimals of Python took twenty times as long.
        return np.asarray(series.rank("dense").to_numpy(), np.float64)
    numbers = exact_numbers_of(frame, label, column)
    if numbers.dtype == np.float64:
        return numbers
    return np.unique(numbers, return_inverse=True)[1].astype(np.float64)


def holds_lists(series: Series) -> bool:
    """Say whether a column holds lists: one of objects in any row, or tuples in the first."""
    if series.dtype == nw.Object:
        values = series.to_list()
        has_tuple = isinstance(next(iter(values), None), tuple)
        types = set(map(type, values))  # a check of each value took most of the time of a call
        return has_tuple or any(issubclass(kind, list | set | np.ndarray) for kind in types)
    return isinstance(series.dtype, nw.List | nw.Array)


class Pairs(NamedTuple):
    """The places, or the names, of the id and the number in the pairs that a column holds."""

    id: Any
    number: Any
    in_lists: bool  # a cell is a list of pairs
    are_records: bool


def pairs_in(series: Series) -> Pairs | None:
    """Find the pairs that a column holds; None if the first list or record has none."""
    inner: Any = getattr(series.dtype, "inner", series.dtype)
    if isinstance(inner, nw.Struct):  # it may have no rows
        record = {field.name: 0.0 if field.dtype.is_float() else 0 for field in inner.fields}
        return _pairs_of_records(record, in_lists=inner is not series.dtype)
    lists = (list, tuple, np.ndarray)
    for cell in series.drop_nulls().to_list():
        if isinstance(cell, dict):
            return _pairs_of_records(cell, in_lists=False)
        if not isinstance(cell, lists) or not len(cell):
            continue
        first = cell[0]
        if isinstance(first, dict):
            return _pairs_of_records(first, in_lists=True)
        in_lists = isinstance(first, lists)
        pair = first if in_lists else cell
        are_floats = [isinstance(value, float | np.floating) for value in pair]
        if len(pair) != 2 or (not in_lists and are_floats[0] == are_floats[1]):
            return None
        if are_floats == [True, False]:  # the number is first
            return Pairs(1, 0, in_lists, are_records=False)
        return Pairs(0, 1, in_lists, are_records=False)
    return None


def _pairs_of_records(record: dict[Any, Any], *, in_lists: bool) -> Pairs | None:
    """Name the id and the number of a record, which is the one float or has a name of scores."""
    floats = [name for name, value in record.items() if isinstance(value, float | np.floating)]
    scores = [name for name in record if looks_like(str(name), "score")]
    numbers = floats if len(floats) == 1 else scores
    names = [name for name in record if name not in numbers]
    names.sort(key=lambda name: not looks_like(str(name), "item"))
    if len(numbers) != 1 or not names:
        return None
    return Pairs(names[0], numbers[0], in_lists, are_records=True)


def code_of(
    table: Frame | Series, label: str, dropped: Sequence[str]
) -> tuple[nw.Implementation, str, str]:
    """Give the library in which advice changes a table or its column, and code for it.

    This is the code of the table there, and of the call that drops columns, "" for none.
    """
    library: nw.Implementation = table.implementation
    code = label
    if library is PYARROW:
        library = PANDAS
        code = f"{label}.to_pandas()"
    drop = ""
    if dropped:
        drop = _DROP_CODE[library].format([*dropped])
    return library, code, drop


def refuse_lists(
    label: str, series: Series, others: Sequence[str] = (), dropped: Sequence[str] = ()
) -> NoReturn:
    """Refuse a column of ids that holds lists or pairs.

    Columns ``others`` of the table hold lists of the same lengths; ``dropped`` ordered the lists.
    """
    name = series.name
    pairs = pairs_in(series)
    noun = "lists"
    library, code, drop = code_of(series, label, dropped)
    if pairs is None or pairs.in_lists:
        code = _EXPLODE_CODE[library].format(code + drop, name, [name, *others])
    if pairs is not None:
        number = NUMBERS.get(label, "number")
        noun = f"pairs of an id and a {number}"
        method = "struct.field" if pairs.are_records else "list.get"
        code = _PAIRS_CODE[library].format(code, name, number, pairs.id, pairs.number, method)
    if series.implementation is PYARROW:
        code = f"pyarrow.table({code})"
    msg = (
        f"{label}, column {name!r} holds {noun}, expected one id in each row; type {label} = {code}"
    )
    raise InputTypeError(msg, argument=label)


def ids_of(frame: Frame, label: str, column: str) -> Series:
    """Read a column of ids; refuse lists, tensors and null."""
    series = plain(frame.get_column(column))
    if holds_lists(series):
        refuse_lists(label, series)
    types = set(map(type, series.to_list())) if series.dtype == nw.Object else ()
    if any(hasattr(kind, "detach") for kind in types):
        msg = (
            f"{label}, column {column!r} holds tensors, of which no two are the same id, expected "
            f"numbers; type {label} = {_ITEMS_CODE[series.implementation].format(label, column)}"
        )
        raise InputTypeError(msg, argument=label)
    _refuse_null(series, label, "an id")
    return series


def _refuse_null(series: Series, label: str, expected: str) -> None:
    """Refuse null in a column, or NaN in one of floats; ``expected`` says what a row holds."""
    is_null = series.is_null().to_numpy()
    if series.dtype.is_float() and not is_null.any():
        is_null = np.isnan(series.to_numpy())
    fault = f"is null or NaN, expected {expected} in every row"
    refuse_row(is_null, label, series.name, lambda _: fault)


def refuse_row(
    is_wrong: BoolArray, label: str, column: str, fault_of: Callable[[int], str]
) -> None:
    """Refuse a column with wrong values; ``fault_of`` says what is wrong in the first such row."""
    if is_wrong.any():
        row = int(is_wrong.argmax())
        msg = f"{label}, column {column!r}: row {row} (counted from 0) {fault_of(row)}"
        raise InputError(msg, argument=label)


def take(frame: Frame, rows: IntArray) -> Frame:
    """Take some rows of a table, in the order given."""
    if frame.implementation is PYARROW:  # narwhals would go through a list of Python integers
        return nw.from_native(frame.to_native().take(rows), eager_only=True)
    return frame[rows]


def with_columns(frame: Frame, columns: dict[str, npt.NDArray[Any]]) -> Frame:
    """Add columns behind those of a table; NaN stays NaN in pandas and is null elsewhere."""
    backend = frame.implementation
    frame = frame.with_columns(
        *(nw.Series.from_numpy(name, values, backend=backend) for name, values in columns.items())
    )
    if backend is PANDAS:
        return frame
    # Means leave a null out, and one NaN would make them NaN.
    floats = [nw.col(name) for name, values in columns.items() if values.dtype.kind == "f"]
    return frame.with_columns(nw.when(~column.is_nan()).then(column) for column in floats)


def slicer(native: Any) -> Callable[[int, int], Any]:
    """Make a function that cuts rows first .. last - 1 out of the caller's own kind of table."""
    if hasattr(native, "iloc"):
        return lambda first, last: native.iloc[first:last]
    return lambda first, last: native.slice(first, last - first)


def keyed(frame: Frame, keys: Sequence[str]) -> Any:
    """Give the caller's own kind of table: of pandas indexed by ``keys``, else with all columns."""
    native = frame.to_native()
    if frame.implementation is PANDAS:
        return native.set_index(list(keys))
    return native
