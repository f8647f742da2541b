"""Sparse matrices of SciPy -> the items of each user, after a check of their structure.

SciPy and kernels follow the indices of a matrix without a check. So a corrupt one would give wrong
numbers, or end the process.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import InputError, InputTypeError
from recmetrics._core.inputs.arrays import as_kernel_array, is_real
from recmetrics._core.inputs.sets import VALUES, Rows, checked_values

_FEW = 1 << 12  # rows that tell at once of most matrices whether their items ascend


def rows_of_sparse(matrix: Any, what: str, n_threads: int | None = None) -> Rows:
    """Bring a sparse matrix into sorted, unique, non-zero entries, without changing its arrays."""
    csr = _checked_csr(matrix, what, lambda given: _to_csr(given, what))
    indptr, indices, values = _entries(csr)
    start = as_kernel_array(indptr.astype(np.int64, copy=False))
    if not is_canonical(indptr, indices):
        ordered, repeats, equal = Rows(start, indices, values).ascending(n_threads)
        if not repeats:
            return checked_values(ordered, what, equal=equal)
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
    places = np.arange(1, matrix.data.size + 1).reshape(matrix.data.shape)
    csr = sp.csr_array(sp.dia_array((places, matrix.offsets), shape=matrix.shape))
    csr.data = matrix.data.reshape(-1)[csr.data - 1]
    return csr


def _first_repeated(matrix: Any) -> tuple[int, int]:
    coo = matrix.tocoo()
    order = np.lexsort((coo.col, coo.row))
    rows, columns = coo.row[order], coo.col[order]
    repeated = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    first = int(np.flatnonzero(repeated)[0])
    return int(rows[first]), int(columns[first])


def _checked_csr(matrix: Any, what: str, to_csr: Callable[[Any], Any]) -> Any:
    if not is_real(matrix.dtype):
        msg = f"{what} must hold real numbers, got a sparse matrix of dtype {matrix.dtype}"
        raise InputTypeError(msg)
    try:
        if matrix.format == "csr" and _is_sound(matrix):
            return matrix
        whole = _made_anew(matrix)
        csr: Any = whole if whole.format == "csr" else to_csr(whole)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        msg = f"{what} is a corrupt sparse matrix: {' '.join(str(error).split())}"
        raise InputError(msg) from None
    return csr


def _is_sound(csr: Any) -> bool:
    """Say whether the arrays of a CSR matrix may be followed; SciPy takes long to say it of few."""
    indptr, indices, (n_rows, n_columns) = csr.indptr, csr.indices, csr.shape
    if not (indptr.dtype.kind == indices.dtype.kind == "i" and indptr.shape == (n_rows + 1,)):
        return False
    n = indptr[-1]
    return bool(
        indptr[0] == 0
        and indices.ndim == csr.data.ndim == 1
        and n <= min(len(indices), len(csr.data))
        and (indptr[1:] >= indptr[:-1]).all()
        # A negative index is a huge one here, so one pass finds both.
        and indices[:n].view(indices.dtype.str.replace("i", "u")).max(initial=0) < max(1, n_columns)
    )


def _made_anew(matrix: Any) -> Any:
    """Make a matrix of the arrays of another: SciPy checks them then, and not where it reads them.

    Lists and dicts are converted to CSR first.
    """
    if matrix.format == "lil" and [*map(len, matrix.rows)] != [*map(len, matrix.data)]:
        msg = "expected as many items as values in each row"
        raise ValueError(msg)
    if matrix.format in ("lil", "dok"):
        matrix = sp.csr_array(matrix)
    make: Any = getattr(sp, f"{matrix.format}_array")
    if matrix.format == "coo":
        return make((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
    if matrix.format == "dia":
        return make((matrix.data, matrix.offsets), shape=matrix.shape)
    made = make((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    made.check_format()
    return made


def _entries(csr: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    entries = slice(0, csr.indptr[-1])  # the arrays may be longer
    return csr.indptr, csr.indices[entries], csr.data[entries]


def _to_csr(matrix: Any, what: str) -> Any:
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
    few = indptr[:_FEW]
    if len(few) < len(indptr) and not is_canonical(few, indices[: few[-1]]):
        return False  # as matrices in no order nearly always are; it saves reading them all
    ascends = np.ones(len(indices) + 1, np.bool_)  # each entry against the previous; one more
    np.greater(indices[1:], indices[:-1], out=ascends[1:-1])
    ascends[indptr] = True  # the first entry of a row
    return bool(ascends.all())
