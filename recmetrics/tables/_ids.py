"""Ids of any type in columns of any library -> integers, equal where the ids are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError, InputTypeError, warn
from recmetrics._core.types import FloatArray, IntArray
from recmetrics.tables._frames import (
    PANDAS,
    POLARS,
    PYARROW,
    TEXT,
    Frame,
    Series,
    as_strings,
    described,
    ids_of,
    plain,
    refuse_lists,
    refuse_row,
    take,
    type_of,
    value_at,
)
from recmetrics.tables._numbering import combine, number

# The kind of a column of objects, by the name that ``infer_dtype`` of pandas has for it.
_KIND_OF_OBJECTS = {"integer": "integers", "boolean": "integers", "floating": "floats"}
_MIXED = "mixed-integer"  # of integers and others
_FIRST_INEXACT = 1 << 53  # from here on several integers are one float64
# The dtype that holds all ids of a kind.
_COMMON_DTYPES: dict[str, Any] = {"integers": nw.Int64, "floats": nw.Float64, "strings": nw.String}


def number_ids(*columns: tuple[Frame, str, str]) -> tuple[IntArray, IntArray]:
    """Number the ids of columns, each given as (table, its label, name), together.

    Gives the number of each row, equal where the ids are, and for each number its first row.
    """
    return number(_as_integers(columns))


def _as_integers(columns: Sequence[tuple[Frame, str, str]]) -> IntArray:
    """Convert columns of ids to one array of integers, equal where the ids are."""
    labelled_columns = [
        (label, ids_of(frame, label, name)) for frame, label, name in columns if len(frame)
    ]
    require_one_kind(labelled_columns)
    id_columns = [column for _, column in labelled_columns]
    if all(column.dtype.is_integer() or column.dtype == nw.Boolean for column in id_columns):
        arrays = [_whole_numbers(column, label) for label, column in labelled_columns]
        return np.concatenate([np.empty(0, np.int64), *arrays])
    if all(column.dtype.is_float() for column in id_columns):
        floats = [_exact_floats(column, label) for label, column in labelled_columns]
        # The bits of equal numbers are equal once 0 is added: -0.0 becomes 0.0.
        return (np.concatenate(floats) + 0.0).view(np.int64)
    encode = {PANDAS: _of_pandas, POLARS: _of_polars, PYARROW: _of_pyarrow}
    encode_columns = encode[id_columns[0].implementation]
    try:
        ids = np.asarray(encode_columns([column.to_native() for column in id_columns]), np.int64)
    except MemoryError:
        raise
    except Exception:  # of any type, by the library and by the ids
        _refuse_ids(labelled_columns, encode_columns)
    _warn_of_numbers_as_text(labelled_columns)
    return ids


def _exact_floats(column: Series, label: str) -> FloatArray:
    """Read ids that are floats; refuse those so large that two integers are the same float."""
    floats = np.asarray(column.to_numpy(), np.float64)

    def fault_of(row: int) -> str:
        return (
            f"holds {floats[row]:.0f}, a float, and from 2^53 on several integers are one float; "
            "expected integers or text; read the ids as such, as pandas.read_csv(..., "
            f"dtype={{{column.name!r}: 'Int64'}}) does"
        )

    refuse_row(np.abs(floats) >= _FIRST_INEXACT, label, column.name, fault_of)
    return floats


def _warn_of_numbers_as_text(labelled_columns: Sequence[tuple[str, Series]]) -> None:
    """Warn where columns of pandas hold a number and its text, as files read in parts leave them.

    These are two ids, which is seldom meant.
    """
    if labelled_columns[0][1].implementation is not PANDAS:  # others have a type for each column
        return
    import pandas as pd

    *others, (last_label, _) = labelled_columns
    for label, column in labelled_columns:
        if column.dtype != nw.Object or pd.api.types.infer_dtype(column.to_native()) != _MIXED:
            continue
        if len(others) == 1 and last_label != "truth" and _numbers_as_text(others):
            return  # recs alone has both, which was told where its truth was beside it
        both = _numbers_as_text(labelled_columns)
        if both:
            msg = (
                f"{label}, column {column.name!r} holds numbers and text: {both[0]} and "
                f"{both[0]!r} are two ids; are the ids written in two ways?"
            )
            warn(msg, argument=label)
        return


def _numbers_as_text(labelled_columns: Sequence[tuple[str, Series]]) -> list[str]:
    """Find the integers that columns hold as text, too."""
    ids = {item_id for _, column in labelled_columns for item_id in set(column.to_list())}
    texts = {str(item_id) for item_id in ids if isinstance(item_id, int | np.integer)}
    texts -= {"False", "True"}  # integers to Python alone
    return sorted(texts & {item_id for item_id in ids if isinstance(item_id, str)})


def has_repeats(ids: list[IntArray]) -> bool:
    """Say whether two rows have the same ids, which are numbered in ``ids``."""
    numbers, first_rows = number(combine(ids))
    return len(first_rows) < len(numbers)


def refuse_repeats(
    frame: Frame,
    label: str,
    columns: Sequence[str],
    ids: list[IntArray],
    advice: str = "expected one row for each",
) -> None:
    """Refuse a table with two rows of the same ids, which are numbered in ``ids``."""
    numbers, first_rows = number(combine(ids))
    is_repeat = first_rows[numbers] != np.arange(len(frame))
    if is_repeat.any():
        row = int(is_repeat.argmax())
        msg = (
            f"{label}, columns {', '.join(map(repr, columns))}: row {row} (counted from 0) holds "
            f"{described(frame, columns, row)} again, first in row {first_rows[numbers[row]]}; "
            f"{advice}"
        )
        raise InputError(msg, argument=label)


def warn_of_foreign_ids(
    recs: Frame, frame: Frame, label: str, name: str, ids: IntArray, other_ids: IntArray
) -> None:
    """Warn where a column of recs and of another table, numbered in both, share no id."""
    if len(ids) and len(other_ids) and not np.isin(other_ids, ids).any():
        warn(foreign_ids(recs, frame, label, name), argument=label)


def foreign_ids(recs: Frame, frame: Frame, label: str, name: str) -> str:
    """Say that a column of recs and of another table share no id, with the first of each."""
    first = str(value_at(recs, name, 0))[:40]
    first_other = str(value_at(frame, name, 0))[:40]
    return (
        f"{label}, column {name!r}: no id of recs occurs here; recs begins with {first!r}, "
        f"{label} with {first_other!r}; are the ids written in two ways?"
    )


def require_one_kind(labelled_columns: Sequence[tuple[str, Series]]) -> None:
    """Refuse columns, each given with its label, whose ids are of two kinds.

    Objects go with every kind, since they may be ids of any.
    """
    columns_by_kind: dict[str, tuple[str, Series]] = {}
    for label, column in labelled_columns:
        columns_by_kind.setdefault(_kind(column), (label, column))
    columns_by_kind.pop("objects", None)
    if len(columns_by_kind) > 1:
        kind, other_kind, *_ = columns_by_kind
        label, column = columns_by_kind[kind]
        other_label, other_column = columns_by_kind[other_kind]
        msg = (
            f"{label}, column {column.name!r} holds {kind} ({column.dtype}), "
            f"{other_label}, column {other_column.name!r} {other_kind} ({other_column.dtype}), "
            "expected ids of one type; cast one of them"
        )
        raise InputTypeError(msg, argument=label)


def _kind(series: Series) -> str:
    """Name the kind of ids: those of two kinds are never equal, but objects may be of any."""
    dtype = series.dtype
    if series.implementation is PANDAS:
        categories = getattr(series.to_native().dtype, "categories", None)
        if categories is not None:
            return _kind(nw.from_native(categories.to_series(), series_only=True))
        if dtype == nw.Object:
            from pandas.api.types import infer_dtype

            return _KIND_OF_OBJECTS.get(infer_dtype(series.to_native()), "objects")
    if dtype.is_integer() or dtype == nw.Boolean:
        return "integers"
    if dtype in TEXT:
        return "strings"
    if dtype.is_float():
        return "floats"
    # narwhals has one name for several types, such as the times and the bytes of Arrow; pandas
    # brings times of NumPy and of Arrow together.
    if dtype == nw.Unknown or series.implementation is not PANDAS:
        return str(type_of(series))
    return str(dtype)


def _refuse_ids(
    labelled_columns: Sequence[tuple[str, Series]],
    encode: Callable[[Sequence[Any]], npt.NDArray[Any]],
) -> NoReturn:
    """Refuse the first column of ids that ``encode`` cannot number, and name its type."""
    label, column = next(
        (pair for pair in labelled_columns if _raises(encode, [pair[1].to_native()])),
        labelled_columns[0],
    )
    type_name = str(type_of(column))
    if type_name == "object":
        values = column.to_list()
        row = next((row for row, value in enumerate(values) if _raises(hash, value)), 0)
        if isinstance(values[row], list | set):  # below the rows by which the type was told
            refuse_lists(label, column)
        type_name = f"a {type(values[row]).__name__} in row {row} (counted from 0)"
    msg = (
        f"{label}, column {column.name!r} holds {type_name}, expected ids that can be compared, "
        f"such as integers or strings; for strings type {as_strings(label, column)}"
    )
    raise InputTypeError(msg, argument=label) from None


def _raises(convert: Callable[[Any], object], value: Any) -> bool:
    """Say whether a function of one argument raises an error for ``value``."""
    try:
        convert(value)
    except Exception:
        return True
    return False


def _whole_numbers(column: Series, label: str) -> IntArray:
    """Read a column of integers as int64; refuse one that int64 does not hold."""
    if column.dtype in (nw.UInt64, nw.Int128, nw.UInt128):
        for extreme in (column.max(), column.min()):
            if not -(2**63) <= extreme < 2**63:
                msg = (
                    f"{label}, column {column.name!r} holds the id {extreme}, expected integers "
                    "from -2^63 to 2^63 - 1, or strings; for strings type "
                    f"{as_strings(label, column)}"
                )
                raise InputError(msg, argument=label)
        column = column.cast(nw.Int64)
    return np.asarray(column.to_numpy(), np.int64)


def _of_pandas(columns: Sequence[Any]) -> npt.NDArray[Any]:
    """Number the ids of the columns of pandas, one below another, equal where the ids are."""
    import pandas as pd

    ids = columns[0] if len(columns) == 1 else pd.concat(columns, ignore_index=True)
    if isinstance(ids.dtype, pd.CategoricalDtype):
        return np.asarray(ids.cat.codes)
    return np.asarray(pd.factorize(ids)[0])


def _of_polars(columns: Sequence[Any]) -> npt.NDArray[Any]:
    """Number the ids of the columns of polars, one below another, equal where the ids are."""
    import polars as pl

    if any(column.dtype == pl.Object for column in columns):
        raise TypeError  # polars would panic; the caller says which column is wrong
    if len(columns) > 1 and not _can_be_concatenated([column.dtype for column in columns]):
        columns = [column.cast(pl.String) for column in columns]
    ids = pl.concat([column.alias("") for column in columns])
    if ids.dtype == pl.String:
        ids = ids.cast(pl.Categorical)
    if ids.dtype in (pl.Categorical, pl.Enum):
        return np.asarray(ids.to_physical().to_numpy())
    return np.asarray(ids.rank("dense").to_numpy())


def _of_pyarrow(columns: Sequence[Any]) -> npt.NDArray[Any]:
    """Number the ids of the columns of pyarrow, one below another, equal where the ids are."""
    import pyarrow as pa

    if not _can_be_concatenated([column.type for column in columns]):  # strings of two widths
        columns = [column.cast(pa.large_string()) for column in columns]
    ids = pa.chunked_array([chunk for column in columns for chunk in column.chunks])
    return np.asarray(ids.combine_chunks().dictionary_encode().indices)


def distinct_rows(keys: Frame) -> tuple[IntArray, Frame]:
    """Number the rows of a table of ids; gives the number of each row, and each different row."""
    columns = [number_ids((keys, "recs", name))[0] for name in keys.columns]
    numbers, first_rows = number(combine(columns))
    return numbers, take(keys, first_rows)


def stack(upper: Frame, lower: Frame) -> Frame:
    """Concatenate the rows of two tables of ids with the same columns, of the same kinds."""
    if not len(upper) or not len(lower):
        return upper if len(upper) else lower
    pairs = [alike(upper.get_column(name), lower.get_column(name)) for name in upper.columns]
    above, below = zip(*pairs, strict=True)
    return nw.concat([upper.with_columns(*above), lower.select(*below)], how="vertical")


def alike(upper: Series, lower: Series) -> tuple[Series, Series]:
    """Convert two columns of ids of one kind to one type, where ``nw.concat`` would not."""
    if _can_be_concatenated([type_of(upper), type_of(lower)]):
        return upper, lower
    upper = plain(upper)
    lower = plain(lower)
    common_dtype = _COMMON_DTYPES.get(_kind(upper))
    are_numbers = all(
        column.dtype.is_numeric() or column.dtype == nw.Boolean for column in (upper, lower)
    )
    # pandas itself concatenates strings of two types.
    if common_dtype is None or (upper.implementation is PANDAS and not are_numbers):
        return upper, lower
    return upper.cast(common_dtype), lower.cast(common_dtype)


def _can_be_concatenated(types: Sequence[Any]) -> bool:
    """Say whether columns of these types of one library can be concatenated as they are."""
    are_equal = all(dtype == types[0] for dtype in types)
    if str(types[0]).startswith("Categorical"):
        import polars as pl

        # Polars before 1.32 has no Categories, and warns where those of two columns differ.
        are_equal = are_equal and hasattr(pl, "Categories")
    return are_equal
