"""Sparse matrices of SciPy -> the items of each user, after a check of their structure.

SciPy and kernels follow the indices of a matrix without a check. So a corrupt one would give wrong
numbers, or end the process.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import InputError, InputTypeError
from recmetrics._core.inputs.arrays import (
    as_array,
    as_kernel_array,
    check_2d,
    half_to_single,
    is_real,
    is_sparse_tensor,
)
from recmetrics._core.inputs.sets import VALUES, Rows, SparseSets, checked_values

_HEAD_ROWS = 1 << 12  # so many first rows show of most matrices that their items do not ascend


class _Entries(NamedTuple):
    """The stored entries of a CSR matrix, whose arrays may be followed."""

    indptr: npt.NDArray[Any]
    items: npt.NDArray[Any]
    values: npt.NDArray[Any]
    is_canonical: bool  # the items of each row strictly ascend


def as_scipy(value: Any, name: str) -> Any:
    """Convert a sparse tensor of torch to SciPy's, entry by entry; anything else stays."""
    if not is_sparse_tensor(value) or value.device.type == "meta":
        return value
    check_2d(tuple(value.shape), name, f"{name}.unsqueeze(0)")
    entries = value.detach().to_sparse_coo()
    if entries.sparse_dim() != 2:  # a hybrid tensor, whose entries are rows
        return value
    # Repeated entries stay apart, as in SciPy; the public names would refuse or add them.
    indices = as_array(entries._indices().cpu(), name)
    values = half_to_single(as_array(entries._values().cpu(), name))
    return sp.coo_array((values, tuple(indices)), shape=tuple(value.shape))


def sets_of_sparse(
    matrix: Any, name: str, n_threads: int | None = None, if_negative: str | None = ""
) -> SparseSets:
    """Read a sparse matrix as sorted, unique, non-zero entries, without changing its arrays.

    Items and values keep their dtypes. Repeated entries are added. ``if_negative`` is that of
    ``checked_values``.
    """
    indptr, items, values, is_canonical = _checked_entries(
        matrix, name, lambda sound: _to_csr(sound, name)
    )
    rows = Rows(
        as_kernel_array(indptr.astype(np.int64, copy=False)),
        as_kernel_array(items),
        as_kernel_array(values),
    )
    if not is_canonical:
        rows, any_repeated = rows.ascending(n_threads)
        if any_repeated:
            summable = _summable(values, name)
            summed = sp.csr_array((summable, items, indptr), shape=matrix.shape, copy=True)
            summed.sum_duplicates()
            start, items, values, _ = _entries(summed)
            if matrix.dtype == np.bool_:
                values = np.minimum(values, 1.0)
            rows = Rows(start.astype(np.int64), items, values)
    rows, are_equal = checked_values(rows, name, if_negative)
    return SparseSets(rows, matrix.shape[1], are_equal=are_equal)


def stored_entries(
    matrix: Any, name: str, to_add: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Give the row pointers, items and values of all stored entries, zeros too; refuse repeats.

    The items of each row ascend. Arrays that already have this form are not copied.
    """
    to_csr = _dia_to_csr if matrix.format == "dia" else sp.csr_array
    indptr, items, values, is_canonical = _checked_entries(matrix, name, to_csr)
    # In these two formats SciPy has added repeated entries, so that there are fewer now.
    any_repeated = matrix.format in ("coo", "bsr") and len(items) < matrix.data.size
    if not is_canonical:
        ordered = sp.csr_array((values, items, indptr), shape=matrix.shape, copy=True)
        ordered.sort_indices()
        items = ordered.indices
        values = ordered.data
        any_repeated = any_repeated or not ascend_in_rows(indptr, items)
    if any_repeated:
        user, item = _first_repeated(matrix)
        msg = (
            f"{name} stores (user {user}, item {item}) twice; expected one entry for each item of "
            f"a user; type {name}.{to_add} to add them"
        )
        raise InputError(msg)
    return indptr, items, values


def _dia_to_csr(matrix: Any) -> Any:
    """Convert diagonals to CSR with the zeros that they store, which SciPy drops.

    SciPy converts a matrix with the numbers 1, 2, ... of the entries, none of which is 0. Then the
    values of the entries take the places of their numbers.
    """
    numbers = np.arange(1, matrix.data.size + 1).reshape(matrix.data.shape)
    csr = sp.csr_array(sp.dia_array((numbers, matrix.offsets), shape=matrix.shape))
    csr.data = matrix.data.reshape(-1)[csr.data - 1]
    return csr


def _first_repeated(matrix: Any) -> tuple[int, int]:
    """Find the row and column of the first entry, in their order, that is stored twice."""
    coo = matrix.tocoo()
    order = np.lexsort((coo.col, coo.row))
    rows = coo.row[order]
    columns = coo.col[order]
    is_repeated = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    entry = int(is_repeated.argmax())
    return int(rows[entry]), int(columns[entry])


def _checked_entries(matrix: Any, name: str, to_csr: Callable[[Any], Any]) -> _Entries:
    """Read the entries of a matrix, after a check that its arrays may be followed.

    ``to_csr`` converts a matrix of another format than CSR.
    """
    if not is_real(matrix.dtype):
        msg = f"{name} must hold real numbers, got a sparse matrix of dtype {matrix.dtype}"
        raise InputTypeError(msg)
    try:
        if matrix.format == "csr" and _has_sound_pointers(matrix):
            entries = _entries(matrix)
            if _are_in_range(entries, matrix.shape[1]):
                return entries
        checked = _rebuilt(matrix)
        csr: Any = checked if checked.format == "csr" else to_csr(checked)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        msg = f"{name} is a corrupt sparse matrix: {' '.join(str(error).split())}"
        raise InputError(msg) from None
    return _entries(csr)


def _has_sound_pointers(csr: Any) -> bool:
    """Say whether the row pointers of a CSR matrix may be followed.

    SciPy's own check takes long even if there are few entries.
    """
    indptr = csr.indptr
    indices = csr.indices
    n_rows = csr.shape[0]
    if not (indptr.dtype.kind == indices.dtype.kind == "i" and indptr.shape == (n_rows + 1,)):
        return False
    if not indices.ndim == csr.data.ndim == 1:
        return False
    n_entries = indptr[-1]
    if indptr[0] != 0 or n_entries > min(len(indices), len(csr.data)):
        return False
    return bool((indptr[1:] >= indptr[:-1]).all())


def _are_in_range(entries: _Entries, n_columns: int) -> bool:
    """Say whether all items are columns. Of a row whose items ascend, the first and last suffice.

    To read all of 4,000,000 items took as long as a tenth of a call.
    """
    indptr, items, _, is_canonical = entries
    if is_canonical:
        has_items = indptr[1:] > indptr[:-1]
        first = items[indptr[:-1][has_items]]
        last = items[indptr[1:][has_items] - 1]
        items = np.concatenate((first, last))
    # Read as unsigned, a negative index is a huge one, so one pass finds both errors.
    unsigned = items.view(items.dtype.str.replace("i", "u"))
    return bool(unsigned.max(initial=0) < max(1, n_columns))


def _rebuilt(matrix: Any) -> Any:
    """Make a new matrix from the arrays of another: SciPy checks arrays only when it makes one.

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
    rebuilt = make((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    rebuilt.check_format()
    return rebuilt


def _entries(csr: Any) -> _Entries:
    """The row pointers of a CSR matrix, and the items and values that they point to."""
    n_entries = csr.indptr[-1]  # the arrays of items and values may be longer
    items = csr.indices[:n_entries]
    return _Entries(csr.indptr, items, csr.data[:n_entries], ascend_in_rows(csr.indptr, items))


def _to_csr(matrix: Any, name: str) -> Any:
    """Convert a matrix to CSR, with the sum of repeated entries."""
    if matrix.dtype != np.bool_ and matrix.format in ("coo", "csc", "bsr", "dia"):
        matrix = matrix.copy()
        matrix.data = _summable(matrix.data, name)
    return sp.csr_array(matrix)


def _summable(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    """Values as float64 that may be added where an entry is repeated.

    In a set of items, every number other than 0 and NaN becomes 1, so that no sum is 0.
    """
    numbers = values.astype(np.float64)
    if name not in VALUES:
        numbers[(numbers != 0.0) & ~np.isnan(numbers)] = 1.0
    return numbers


def ascend_in_rows(indptr: npt.NDArray[Any], indices: npt.NDArray[Any]) -> bool:
    """Say whether the items of each row strictly ascend.

    SciPy's own check would keep its answer on the matrix of the user.
    """
    head = indptr[:_HEAD_ROWS]
    if len(head) < len(indptr) and not ascend_in_rows(head, indices[: head[-1]]):
        return False  # a matrix in no order nearly always ends here, before all of it is read
    # Each entry is compared with the one before, unless a row starts there. The last pointer, and
    # those of empty rows at the end, stand one behind the last entry.
    ascends = np.empty(len(indices) + 1, np.bool_)
    np.greater(indices[1:], indices[:-1], out=ascends[1:-1])
    ascends[indptr] = True
    return bool(ascends.all())
