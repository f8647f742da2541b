"""Sparse matrices of SciPy -> the items of each user, after a check of their structure.

SciPy and kernels follow the indices of a matrix without a check. So a corrupt one would give wrong
numbers, or end the process.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._errors import InputError, InputTypeError
from recmetrics._inputs.arrays import as_kernel_array, is_real
from recmetrics._inputs.sets import VALUES, Rows, checked_values


def rows_of_sparse(matrix: Any, what: str, n_threads: int | None = None) -> Rows:
    """Bring a sparse matrix into sorted, unique, non-zero entries, without changing its arrays."""
    csr = _checked_csr(matrix, what, lambda given: _to_csr(given, what))
    indptr, indices, values = _entries(csr)
    start = as_kernel_array(indptr.astype(np.int64, copy=False))
    if not is_canonical(indptr, indices):
        ordered, repeats = Rows(start, indices, values).ascending(n_threads)
        if not repeats:
            return checked_values(ordered, what)
        values = _summable(values, what)
        own = sp.csr_array((values, indices, indptr), shape=csr.shape, copy=True)
        own.sum_duplicates()
        start, indices, values = own.indptr.astype(np.int64), own.indices, own.data
        if matrix.dtype == np.bool_:
            values = np.minimum(values, 1.0)
    rows = Rows(
        start,
        as_kernel_array(indices.astype(np.int64, copy=False)),
        as_kernel_array(values.astype(np.float64, copy=False)),
    )
    return checked_values(rows, what)


def stored_entries(
    matrix: Any, what: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """The pointers, items and values of all stored entries, even zeros; refuse repeated ones.

    The items of each row ascend. Arrays that already have this form are not copied.
    """
    csr = _checked_csr(matrix, what, _dia_to_csr if matrix.format == "dia" else sp.csr_array)
    indptr, indices, values = _entries(csr)
    # In these two formats SciPy adds repeated entries.
    repeats = matrix.format in ("coo", "bsr") and len(indices) < matrix.data.size
    if not is_canonical(indptr, indices):
        own = sp.csr_array((values, indices, indptr), shape=csr.shape, copy=True)
        own.sort_indices()
        indices, values = own.indices, own.data
        repeats = repeats or not is_canonical(indptr, indices)
    if repeats:
        user, item = _first_repeated(matrix)
        msg = (
            f"{what} stores (user {user}, item {item}) twice; expected one entry for each item of "
            f"a user; type {what}.sum_duplicates() to add them"
        )
        raise InputError(msg)
    return indptr, indices, values


def _dia_to_csr(matrix: Any) -> Any:
    """Convert diagonals with the zeros that they store, which SciPy drops."""
    n_rows, n_columns = matrix.shape
    columns = [
        np.arange(max(0, offset), min(n_columns, n_rows + offset, matrix.data.shape[1]))
        for offset in matrix.offsets.tolist()
    ]
    rows = [own - offset for own, offset in zip(columns, matrix.offsets.tolist(), strict=True)]
    values = [line[own] for line, own in zip(matrix.data, columns, strict=True)]
    if not values:
        return sp.csr_array(matrix)
    places = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array((np.concatenate(values), places), shape=matrix.shape)


def _first_repeated(matrix: Any) -> tuple[int, int]:
    coo = matrix.tocoo()
    order = np.lexsort((coo.col, coo.row))
    rows, columns = coo.row[order], coo.col[order]
    repeated = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    first = int(np.flatnonzero(repeated)[0])
    return int(rows[first]), int(columns[first])


def _checked_csr(matrix: Any, what: str, to_csr: Callable[[Any], Any]) -> Any:
    """Convert a sparse matrix to CSR after a check of its structure."""
    problem = _not_values(matrix)
    if not problem and not is_real(matrix.dtype):
        msg = f"{what} must hold real numbers, got a sparse matrix of dtype {matrix.dtype}"
        raise InputTypeError(msg)
    try:
        problem = problem or _PROBLEMS[matrix.format](matrix)
        csr: Any = matrix if problem or matrix.format == "csr" else to_csr(matrix)
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        problem = f"one that SciPy can convert, got {' '.join(str(error).split())!r}"
    if problem:
        msg = f"{what} is a corrupt sparse matrix: expected {problem}"
        raise InputError(msg)
    return csr


def _entries(csr: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    entries = slice(0, csr.indptr[-1])  # the arrays may be longer
    return csr.indptr, csr.indices[entries], csr.data[entries]


def _of_compressed(matrix: Any) -> str:
    """Say what is wrong with the structure of a CSR, CSC or BSR matrix."""
    height, width = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    n_rows, n_columns = matrix.shape
    if min(height, width) < 1 or n_rows % height or n_columns % width:
        return f"blocks that divide its shape {matrix.shape}, got {height} x {width}"
    lines, length = n_rows // height, n_columns // width
    if matrix.format == "csc":
        lines, length = length, lines
    if problem := _not_indices(matrix, "indptr", "indices"):
        return problem
    pointers, n_entries = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    if (
        len(pointers) != lines + 1
        or pointers[0] != 0
        or pointers[-1] > n_entries
        or (pointers[1:] < pointers[:-1]).any()
    ):
        return f"{lines + 1} pointers that rise from 0 to at most {n_entries}, got {pointers}"
    return _outside(matrix.indices[: pointers[-1]], length)


def _of_coo(matrix: Any) -> str:
    if problem := _not_indices(matrix, "row", "col"):
        return problem
    if not len(matrix.row) == len(matrix.col) == len(matrix.data):
        lengths = f"{len(matrix.row)}, {len(matrix.col)} and {len(matrix.data)}"
        return f"as many rows and columns as values, got {lengths}"
    return _outside(matrix.row, matrix.shape[0]) or _outside(matrix.col, matrix.shape[1])


def _of_dia(matrix: Any) -> str:
    if problem := _not_indices(matrix, "offsets"):
        return problem
    if len(matrix.data) != len(matrix.offsets):
        return (
            f"a row of values for each of {len(matrix.offsets)} diagonals, got {matrix.data.shape}"
        )
    return ""


def _of_lil(matrix: Any) -> str:
    lengths = [[len(each) for each in lists] for lists in (matrix.rows, matrix.data)]
    if lengths[0] != lengths[1] or len(lengths[0]) != matrix.shape[0]:
        return f"as many items as values in each of the {matrix.shape[0]} rows"
    return _none_outside(list(chain.from_iterable(matrix.rows)), matrix.shape[1])


def _of_dok(matrix: Any) -> str:
    keys = list(matrix.keys())
    rows, columns = [row for row, _ in keys], [column for _, column in keys]
    return _none_outside(rows, matrix.shape[0]) or _none_outside(columns, matrix.shape[1])


# The check of each format. It says what is expected instead of a wrong structure, or "".
_PROBLEMS: dict[str, Callable[[Any], str]] = {
    "csr": _of_compressed,
    "csc": _of_compressed,
    "bsr": _of_compressed,
    "coo": _of_coo,
    "dia": _of_dia,
    "lil": _of_lil,
    "dok": _of_dok,
}


def _not_values(matrix: Any) -> str:
    if not all(isinstance(size, int | np.integer) for size in matrix.shape):
        return f"a shape of two integers, got {matrix.shape}"
    if matrix.format == "dok":
        return ""
    data, ndim = matrix.data, {"dia": 2, "bsr": 3}.get(matrix.format, 1)
    if not isinstance(data, np.ndarray) or isinstance(data, np.ma.MaskedArray) or data.ndim != ndim:
        return f"its values as a {ndim}-d array, got {type(data).__name__} of {np.ndim(data)}-d"
    return ""


def _not_indices(matrix: Any, *names: str) -> str:
    for name in names:
        array = getattr(matrix, name)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            return f"integers in {name}, got {array.ndim}-d of dtype {array.dtype}"
    return ""


def _none_outside(indices: Sequence[Any], size: int) -> str:
    for index in indices:
        if not isinstance(index, int | np.integer):
            return f"integers as indices, got {index!r:.40}"
    return _outside(np.array(indices, np.int64), size)


def _outside(indices: npt.NDArray[Any], size: int) -> str:
    if indices.size == 0 or (indices.min() >= 0 and indices.max() < size):
        return ""
    return f"indices 0 .. {size - 1}, got {indices.min()} .. {indices.max()}"


def _to_csr(matrix: Any, what: str) -> Any:
    """Convert another format to CSR; repeated entries are added as float64."""
    if matrix.dtype != np.bool_ and matrix.format in ("coo", "csc", "bsr", "dia"):
        matrix = matrix.copy()
        matrix.data = _summable(matrix.data, what)
    return sp.csr_array(matrix)


def _summable(values: npt.NDArray[Any], what: str) -> npt.NDArray[np.float64]:
    """Values whose repeated entries may be added: numbers, or 1 for membership in a set."""
    single = values.astype(np.float64)
    if what not in VALUES:
        single[~np.isnan(single)] = single[~np.isnan(single)] != 0.0
    return single


def is_canonical(indptr: npt.NDArray[Any], indices: npt.NDArray[Any]) -> bool:
    """Say whether the items of each row strictly ascend (SciPy would cache it on the matrix)."""
    ascends = np.ones(len(indices) + 1, np.bool_)  # each entry against the previous; one more
    np.greater(indices[1:], indices[:-1], out=ascends[1:-1])
    ascends[indptr] = True  # the first entry of a row
    return bool(ascends.all())
