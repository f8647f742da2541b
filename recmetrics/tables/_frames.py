"""Tables in and out through narwhals: pandas, polars and pyarrow alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._errors import InputError, InputTypeError
from recmetrics._types import FloatArray, IntArray

try:
    import narwhals.stable.v2 as nw
except ImportError as error:
    _msg = "recmetrics.tables needs narwhals; type: pip install 'recmetrics-numba[tables]'"
    raise ImportError(_msg) from error

Frame = nw.DataFrame[Any]
Series = nw.Series[Any]

_PANDAS, _POLARS, _PYARROW = (
    nw.Implementation.PANDAS,
    nw.Implementation.POLARS,
    nw.Implementation.PYARROW,
)
_COMMON: dict[str, Any] = {"integers": nw.Int64, "floats": nw.Float64, "strings": nw.String}


def read_frame(value: Any, what: str) -> Frame:
    """Read a table of one of the three kinds through narwhals."""
    expected = "a pandas or polars DataFrame or a pyarrow Table"
    try:
        frame: Any = nw.from_native(value)
    except Exception as error:
        if isinstance(error, TypeError):
            msg = f"{what} is of type {type(value).__name__}, expected {expected}"
            raise InputTypeError(msg) from None
        msg = f"{what} cannot be read as a table: {' '.join(str(error).split())}"
        raise InputError(msg) from None
    if isinstance(frame, nw.LazyFrame):
        msg = f"{what} is lazy, expected {expected}; type {what}.collect()"
        raise InputTypeError(msg)
    if frame.implementation not in (_PANDAS, _POLARS, _PYARROW):
        msg = f"{what} is of type {type(value).__name__}, expected {expected}"
        raise InputTypeError(msg)
    return frame  # type: ignore[no-any-return]


def require_same_kind(frame: Frame, what: str, other: Frame, other_what: str) -> None:
    """Refuse tables of two libraries: the ids of one would have to be converted."""
    if frame.implementation is not other.implementation:
        kinds = [table.implementation.value for table in (frame, other)]
        msg = (
            f"{what} is a {kinds[0]} table and {other_what} a {kinds[1]} one, "
            f"expected both of one library; convert one of them"
        )
        raise InputTypeError(msg)


def require_columns(frame: Frame, what: str, names: Iterable[str]) -> None:
    """Refuse a table that lacks one of the columns."""
    for name in names:
        if name not in frame.columns:
            has = ", ".join(map(repr, frame.columns)) or "none"
            msg = f"{what} has no column {name!r}; it has {has}"
            near = [each for each in frame.columns if _looks_like(each, name)]
            if _index_names(frame) & {name}:
                msg += f"; {name!r} is in its index: type {what}.reset_index()"
            elif near and name in ("user", "item"):
                msg += f"; type {name}={near[0]!r}"
            raise InputError(msg)


def _looks_like(column: object, name: str) -> bool:
    """Say whether a column may be the one that goes by ``name`` here."""
    known = {"user": "user uid member customer", "item": "item iid movie product article track"}
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(column)).lower())
    return any(word in known.get(name, name).split() for word in words)


def _index_names(frame: Frame) -> set[Any]:
    native = frame.to_native()
    return set(native.index.names) if frame.implementation is _PANDAS else set()


def with_item_column(frame: Frame, item: str) -> Frame:
    """Make the pandas index the column ``item`` of a table without such a column."""
    if item in frame.columns or frame.implementation is not _PANDAS:
        return frame
    return nw.from_native(frame.to_native().rename_axis(item).reset_index(), eager_only=True)


def value_at(frame: Frame, column: str, row: int) -> Any:
    """Give one value as a Python object, for a message."""
    return frame[column][row : row + 1].to_list()[0]


def described(frame: Frame, columns: Sequence[str], row: int) -> str:
    """Write the values of a row in some columns, for a message."""
    return ", ".join(f"{name}={value_at(frame, name, row)!r}" for name in columns)


def numbers_of(frame: Frame, what: str, column: str) -> FloatArray:
    """Read a column of numbers as float64; refuse null and NaN."""
    series = frame[column]
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        msg = f"{what}, column {column!r} holds {series.dtype}, expected numbers"
        raise InputTypeError(msg)
    _refuse_null(series, what, "a number")
    return np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)


def _refuse_null(series: Series, what: str, expected: str) -> None:
    null = series.is_null()
    if series.dtype.is_float():
        null = null | series.is_nan()
    if len(series) and null.any():
        row = int(null.to_numpy().argmax())
        msg = (
            f"{what}, column {series.name!r}: row {row} (counted from 0) is null, "
            f"expected {expected} in every row"
        )
        raise InputError(msg)


def _refuse_lists(series: Series, what: str) -> None:
    """Refuse a column with a list in each row; of objects the first row stands for all."""
    holds = isinstance(series.dtype, nw.List | nw.Array)
    if series.dtype == nw.Object and len(series):
        holds = isinstance(series[0:1].to_list()[0], list | tuple | set | np.ndarray)
    if holds:
        explode = f"type {what}.explode({series.name!r})"
        msg = f"{what}, column {series.name!r} holds lists, expected one id in each row; {explode}"
        raise InputTypeError(msg)


def as_integers(columns: Sequence[tuple[Frame, str, str]]) -> IntArray:
    """Convert columns of ids, each as (table, what it is, name), to one array of integers.

    Integers are equal where the ids are.
    """
    for frame, what, name in columns:
        _refuse_lists(frame[name], what)
        _refuse_null(frame[name], what, "an id")
    filled = [(what, frame[name]) for frame, what, name in columns if len(frame)]
    _require_one_kind(filled)
    return _integers([part for _, part in filled])


def _require_one_kind(parts: Sequence[tuple[str, Series]]) -> None:
    """Refuse ids that could never be equal, such as 1 and "1"."""
    kinds = [_kind(part) for _, part in parts]
    for kind, (what, part) in zip(kinds, parts, strict=True):
        if kind != kinds[0] and "objects" not in (kind, kinds[0]):
            first_what, first = parts[0]
            msg = (
                f"{first_what}, column {first.name!r} holds {kinds[0]} ({first.dtype}), {what}, "
                f"column {part.name!r} {kind} ({part.dtype}), expected ids of one type; cast one "
                "of them"
            )
            raise InputTypeError(msg)


def _kind(series: Series) -> str:
    dtype = series.dtype
    if series.implementation is _PANDAS and dtype == nw.Categorical:
        return _kind(
            nw.from_native(series.to_native().cat.categories.to_series(), series_only=True)
        )
    if dtype.is_integer() or dtype == nw.Boolean:
        return "integers"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "strings"
    if dtype in (nw.Object, nw.Unknown):
        return "objects"
    return "floats" if dtype.is_float() else str(dtype)


def _integers(parts: Sequence[Series]) -> IntArray:
    if all(part.dtype.is_integer() or part.dtype == nw.Boolean for part in parts):
        arrays = [_whole_numbers(part) for part in parts]
        return np.concatenate(arrays) if arrays else np.empty(0, np.int64)
    encode = {_PANDAS: _of_pandas, _POLARS: _of_polars, _PYARROW: _of_pyarrow}
    codes = encode[parts[0].implementation]([part.to_native() for part in parts])
    return np.asarray(codes, np.int64)


def _whole_numbers(part: Series) -> IntArray:
    array = part.to_numpy()
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        msg = (
            f"column {part.name!r} holds the id {array.max()}; expected ids below 2^63, or strings"
        )
        raise InputError(msg)
    return np.asarray(array, np.int64)


def _of_pandas(parts: Sequence[Any]) -> npt.NDArray[Any]:
    import pandas as pd

    whole = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    if isinstance(whole.dtype, pd.CategoricalDtype):
        return np.asarray(whole.cat.codes)
    return np.asarray(pd.factorize(whole)[0])


def _of_polars(parts: Sequence[Any]) -> npt.NDArray[Any]:
    import polars as pl

    if len({part.dtype for part in parts}) > 1:
        common = pl.String if parts[0].dtype in (pl.String, pl.Categorical, pl.Enum) else pl.Float64
        parts = [part.cast(common) for part in parts]
    whole = pl.concat([part.alias("") for part in parts])
    if whole.dtype == pl.String:
        whole = whole.cast(pl.Categorical)
    if whole.dtype in (pl.Categorical, pl.Enum):
        return np.asarray(whole.to_physical().to_numpy())
    return np.asarray(whole.rank("dense").to_numpy())


def _of_pyarrow(parts: Sequence[Any]) -> npt.NDArray[Any]:
    import pyarrow as pa

    plain = [p.cast(p.type.value_type) if pa.types.is_dictionary(p.type) else p for p in parts]
    if len({part.type for part in plain}) > 1:
        common = pa.float64() if pa.types.is_floating(plain[0].type) else pa.large_string()
        plain = [part.cast(common) for part in plain]
    whole = pa.chunked_array([chunk for part in plain for chunk in part.chunks])
    return np.asarray(whole.combine_chunks().dictionary_encode().indices)


def stack(upper: Frame, lower: Frame) -> Frame:
    """Concatenate the rows of two tables with the same columns."""
    if not len(upper) or not len(lower):
        return upper if len(upper) else lower
    for name in upper.columns:
        if upper[name].dtype != lower[name].dtype:  # of one kind, but not of one width
            common: Any = _COMMON.get(_kind(upper[name]), upper[name].dtype)
            upper = upper.with_columns(upper[name].cast(common))
            lower = lower.with_columns(lower[name].cast(common))
    return nw.concat([upper, lower.select(upper.columns)], how="vertical")


def take(frame: Frame, rows: IntArray) -> Frame:
    """Take some rows of a table, in the order given."""
    if frame.implementation is _PYARROW:  # narwhals would go through a list of Python integers
        return nw.from_native(frame.to_native().take(rows), eager_only=True)
    return frame[rows]


def with_columns(frame: Frame, columns: dict[str, npt.NDArray[Any]]) -> Frame:
    """Add columns behind those of a table."""
    backend = frame.implementation
    return frame.with_columns(
        *(nw.Series.from_numpy(name, values, backend=backend) for name, values in columns.items())
    )


def slicer(frame: Frame, index: str | None = None) -> Callable[[int, int], Any]:
    """Make a function that cuts rows first .. last - 1 out of the caller's own kind of table.

    A pandas table is indexed by the column ``index`` first.
    """
    native = frame.to_native()
    if frame.implementation is not _PANDAS:
        return lambda first, last: native.slice(first, last - first)
    if index is not None:
        native = native.set_index(index)
    return lambda first, last: native.iloc[first:last]


def keyed(frame: Frame, keys: Sequence[str]) -> Any:
    """Convert to the caller's own kind of table: pandas indexed by ``keys``, others unchanged."""
    native = frame.to_native()
    if frame.implementation is _PANDAS:
        return native.set_index(list(keys))
    return native
