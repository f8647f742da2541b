"""Ids of any type in columns of any library -> integers, equal where the ids are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputError, InputTypeError, warn
from recmetrics._core.types import IntArray
from recmetrics.tables._frames import (
    PANDAS,
    POLARS,
    PYARROW,
    Frame,
    Series,
    as_strings,
    described,
    ids_of,
    plain,
    type_of,
    value_at,
)
from recmetrics.tables._numbering import combine, number

# The kinds of objects, by the names that pandas has for them.
_INFERRED = {"integer": "integers", "boolean": "integers", "floating": "floats"}
_COMMON: dict[str, Any] = {"integers": nw.Int64, "floats": nw.Float64, "strings": nw.String}


def number_ids(*columns: tuple[Frame, str, str]) -> tuple[IntArray, IntArray]:
    """Number the ids of columns, each given as (table, its label, name), together.

    Gives the number of each row, equal where the ids are, and for each number its first row.
    """
    return number(_as_integers(columns))


def _as_integers(columns: Sequence[tuple[Frame, str, str]]) -> IntArray:
    """Convert columns of ids to one array of integers, equal where the ids are."""
    parts = [(label, ids_of(frame, label, name)) for frame, label, name in columns if len(frame)]
    _require_one_kind(parts)
    series = [part for _, part in parts]
    if all(part.dtype.is_integer() or part.dtype == nw.Boolean for part in series):
        arrays = [_whole_numbers(part, label) for label, part in parts]
        return np.concatenate([np.empty(0, np.int64), *arrays])
    if all(part.dtype.is_float() for part in series):
        # The bits of equal numbers are equal once 0 is added: -0.0 becomes 0.0.
        floats = [np.asarray(part.to_numpy(), np.float64) for part in series]
        return (np.concatenate(floats) + 0.0).view(np.int64)
    encode = {PANDAS: _of_pandas, POLARS: _of_polars, PYARROW: _of_pyarrow}
    of_library = encode[series[0].implementation]
    try:
        return np.asarray(of_library([part.to_native() for part in series]), np.int64)
    except MemoryError:
        raise
    except Exception:  # of any type, by the library and by the ids
        _refuse_ids(parts, of_library)


def refuse_repeats(
    frame: Frame,
    label: str,
    columns: Sequence[str],
    ids: list[IntArray],
    advice: str = "expected one row for each",
) -> None:
    """Refuse a table with two rows of the same ids, which are numbered in ``ids``."""
    numbers, first = number(combine(ids))
    is_again = first[numbers] != np.arange(len(frame))
    if is_again.any():
        row = int(is_again.argmax())
        msg = (
            f"{label}, columns {', '.join(map(repr, columns))}: row {row} (counted from 0) holds "
            f"{described(frame, columns, row)} again, first in row {first[numbers[row]]}; {advice}"
        )
        raise InputError(msg, argument=label)


def warn_of_foreign_ids(
    recs: Frame, frame: Frame, label: str, name: str, ids: IntArray, other_ids: IntArray
) -> None:
    """Warn where a column of recs and of another table, numbered in both, share no id."""
    if len(ids) and len(other_ids) and not np.isin(other_ids, ids).any():
        first = str(value_at(recs, name, 0))[:40]
        first_other = str(value_at(frame, name, 0))[:40]
        msg = (
            f"{label}, column {name!r}: no id of recs occurs here; the first of both are "
            f"{first!r} and {first_other!r}; are the ids written in two ways?"
        )
        warn(msg, argument=label)


def _require_one_kind(parts: Sequence[tuple[str, Series]]) -> None:
    kinds = [_kind(part) for _, part in parts]
    for kind, (label, part) in zip(kinds, parts, strict=True):
        if kind != kinds[0] and "objects" not in (kind, kinds[0]):
            first_label, first = parts[0]
            msg = (
                f"{first_label}, column {first.name!r} holds {kinds[0]} ({first.dtype}), {label}, "
                f"column {part.name!r} {kind} ({part.dtype}), expected ids of one type; cast one "
                "of them"
            )
            raise InputTypeError(msg, argument=first_label)


def _kind(series: Series) -> str:
    """Name the kind of ids: those of two kinds are never equal, but objects may be of any."""
    dtype = series.dtype
    if series.implementation is PANDAS:
        categories = getattr(series.to_native().dtype, "categories", None)
        if categories is not None:
            return _kind(nw.from_native(categories.to_series(), series_only=True))
        if dtype == nw.Object:
            from pandas.api.types import infer_dtype

            return _INFERRED.get(infer_dtype(series.to_native()), "objects")
    if dtype.is_integer() or dtype == nw.Boolean:
        return "integers"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "strings"
    if dtype.is_float():
        return "floats"
    # narwhals has one name for several types, such as the times and the bytes of Arrow; pandas
    # brings times of NumPy and of Arrow together.
    if dtype == nw.Unknown or series.implementation is not PANDAS:
        return str(type_of(series))
    return str(dtype)


def _refuse_ids(
    parts: Sequence[tuple[str, Series]], encode: Callable[[Sequence[Any]], npt.NDArray[Any]]
) -> NoReturn:
    label, part = next((pair for pair in parts if _fails(encode, [pair[1].to_native()])), parts[0])
    kind = str(type_of(part))
    if kind == "object":
        values = part.to_list()
        row = next((row for row, value in enumerate(values) if _fails(hash, value)), 0)
        kind = f"a {type(values[row]).__name__} in row {row} (counted from 0)"
    msg = (
        f"{label}, column {part.name!r} holds {kind}, expected ids that can be compared, such as "
        f"integers or strings; for strings type {as_strings(label, part)}"
    )
    raise InputTypeError(msg, argument=label) from None


def _fails(function: Callable[[Any], object], value: Any) -> bool:
    try:
        function(value)
    except Exception:
        return True
    return False


def _whole_numbers(part: Series, label: str) -> IntArray:
    if part.dtype in (nw.UInt64, nw.Int128, nw.UInt128):
        for extreme in (part.max(), part.min()):
            if not -(2**63) <= extreme < 2**63:
                msg = (
                    f"{label}, column {part.name!r} holds the id {extreme}, expected integers from "
                    f"-2^63 to 2^63 - 1, or strings; for strings type {as_strings(label, part)}"
                )
                raise InputError(msg, argument=label)
        part = part.cast(nw.Int64)
    return np.asarray(part.to_numpy(), np.int64)


def _of_pandas(parts: Sequence[Any]) -> npt.NDArray[Any]:
    import pandas as pd

    column = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes)
    return np.asarray(pd.factorize(column)[0])


def _of_polars(parts: Sequence[Any]) -> npt.NDArray[Any]:
    import polars as pl

    if any(part.dtype == pl.Object for part in parts):
        raise TypeError  # polars would panic
    if len(parts) > 1 and not _go_together([part.dtype for part in parts]):
        parts = [part.cast(pl.String) for part in parts]
    column = pl.concat([part.alias("") for part in parts])
    if column.dtype == pl.String:
        column = column.cast(pl.Categorical)
    if column.dtype in (pl.Categorical, pl.Enum):
        return np.asarray(column.to_physical().to_numpy())
    return np.asarray(column.rank("dense").to_numpy())


def _of_pyarrow(parts: Sequence[Any]) -> npt.NDArray[Any]:
    import pyarrow as pa

    if not _go_together([part.type for part in parts]):  # strings of two widths
        parts = [part.cast(pa.large_string()) for part in parts]
    column = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
    return np.asarray(column.combine_chunks().dictionary_encode().indices)


def stack(upper: Frame, lower: Frame) -> Frame:
    """Concatenate the rows of two tables of ids with the same columns, of the same kinds."""
    if not len(upper) or not len(lower):
        return upper if len(upper) else lower
    pairs = [_alike(upper.get_column(name), lower.get_column(name)) for name in upper.columns]
    above, below = zip(*pairs, strict=True)
    return nw.concat([upper.with_columns(*above), lower.select(*below)], how="vertical")


def _alike(upper: Series, lower: Series) -> tuple[Series, Series]:
    """Convert two columns of ids of one kind to one type, where ``nw.concat`` would not."""
    if _go_together([type_of(upper), type_of(lower)]):
        return upper, lower
    upper = plain(upper)
    lower = plain(lower)
    common = _COMMON.get(_kind(upper))
    are_numbers = all(
        part.dtype.is_numeric() or part.dtype == nw.Boolean for part in (upper, lower)
    )
    if common is None or (upper.implementation is PANDAS and not are_numbers):
        return upper, lower
    return upper.cast(common), lower.cast(common)


def _go_together(types: Sequence[Any]) -> bool:
    equal = all(kind == types[0] for kind in types)
    if str(types[0]).startswith("Categorical"):
        import polars as pl

        equal = equal and hasattr(pl, "Categories")  # before 1.32 it warns where they differ
    return equal
