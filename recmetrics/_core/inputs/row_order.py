"""Matrices in Fortran order -> the same in C order, as kernels and NumPy read them fast."""

from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs.arrays import as_kernel_array
from recmetrics._core.jit import add_work, kernel, prefetch

_LINE_BYTES = 64
# Entries of so many users and items are transposed together. NumPy goes row by row, and in Fortran
# order each entry of a row may be in another page: a call took four times as long.
TILE_ROWS = 64
_LEAST_TRANSPOSED = 1 << 18  # entries; NumPy transposes a smaller block within the cache
_MOVE_TIME = 0.2  # microseconds of Python to transpose an entry, see ``jit``


def has_columns(array: npt.NDArray[Any]) -> bool:
    """Say whether the entries of an item, not those of a user, are contiguous, as in Fortran order.

    They still are in a range of the rows of such a matrix.
    """
    itemsize = array.itemsize
    if array.ndim < 2 or array.strides[0] != itemsize or array.strides[1] % itemsize:
        return False
    return bool(array.strides[1] >= array.shape[0] * itemsize > itemsize)


def in_rows(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Transpose the memory of a large block in Fortran order; any other block stays as it is."""
    if block.size < _LEAST_TRANSPOSED or not has_columns(block):
        return block
    add_work(_MOVE_TIME * block.size)
    words = np.dtype(f"i{block.itemsize}")  # so that kernels are compiled for four dtypes at most
    stride = block.strides[1] // block.itemsize
    n_words = (block.shape[1] - 1) * stride + len(block)
    columns = np.lib.stride_tricks.as_strided(block.view(words), (n_words,), (block.itemsize,))
    rows = np.empty(block.shape, words)
    tile = np.empty((TILE_ROWS, TILE_ROWS), words)
    _transpose(as_kernel_array(columns), stride, rows, tile)
    return rows.view(block.dtype)


@kernel
def _transpose(
    columns: npt.NDArray[Any], stride: int, rows: npt.NDArray[Any], tile: npt.NDArray[Any]
) -> None:
    """Fill ``rows`` (users, items) from the 1-d ``columns``, where items are ``stride`` apart.

    ``tile`` (size, size) is work memory: the rows of the result are far apart, and would share few
    places of the nearest cache where their length is a power of 2. The prefetch halves the time.
    """
    size = tile.shape[0]
    line_words = _LINE_BYTES // columns.itemsize
    for left in range(0, rows.shape[1], size):
        width = min(size, rows.shape[1] - left)
        for top in range(0, rows.shape[0], size):
            height = min(size, rows.shape[0] - top)
            for i in range(width):
                begin = (left + i) * stride + top
                for word in range(0, size, line_words):
                    prefetch(columns, begin + size * stride + word)
                column = columns[begin : begin + height]
                for j in range(column.size):
                    tile[j, i] = column[j]
            for j in range(height):
                row = rows[top + j, left : left + width]
                for i in range(row.size):
                    row[i] = tile[j, i]
