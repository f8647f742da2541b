"""Scores and rankings: whatever the user has becomes row blocks that the kernels read.

The matrix itself is never copied, cast or written to; what has to change (half precision, byte
order, memory layout) changes one row block at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._errors import InputTypeError, ShapeError

_DLPACK_CPU = 1
_HALF_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}
# One block is long beside a Python call (some 50 us) and short beside half a second, after which
# Ctrl-C must have stopped it. Where a block is copied, the copy is to stay in cache.
_BLOCK_BYTES = 16 << 20
_COPY_BYTES = 2 << 20
_BLOCKS_PER_THREAD = 8  # so that a thread that falls behind does not hold up the others


def as_array(value: Any, what: str) -> npt.NDArray[Any]:
    """``value`` as a NumPy array, without a copy wherever it hands out its memory."""
    if isinstance(value, np.ma.MaskedArray):
        msg = (
            f"{what} is a masked array, whose mask would be lost; expected a plain array; "
            f"type {what}.filled(...) with the value that masked entries shall have"
        )
        raise InputTypeError(msg)
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if sp.issparse(value):
        msg = (
            f"{what} is sparse ({type(value).__name__}), expected a dense array; type "
            f"{what}.toarray(), or give the items in ranking order to Metrics.compute_ranked"
        )
        raise InputTypeError(msg)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(value, what)
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        msg = f"{what} is no matrix of numbers ({' '.join(str(error).split())})"
        raise InputTypeError(msg) from None


def _from_dlpack(value: Any, what: str) -> npt.NDArray[Any]:
    device = value.__dlpack_device__()
    if device[0] != _DLPACK_CPU:
        msg = (
            f"{what} is on the device {getattr(value, 'device', device)}, expected an array on the "
            f"CPU; type {what}.cpu()"
        )
        raise InputTypeError(msg)
    if hasattr(value, "detach"):  # a tensor that requires grad refuses to be exported
        value = value.detach()
    try:
        return np.from_dlpack(value)
    except (BufferError, TypeError, RuntimeError):
        pass  # a dtype NumPy has no name for, or an old exporter: ask for an array instead
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        msg = f"{what} cannot be read as an array ({' '.join(str(error).split())})"
        raise InputTypeError(msg) from None


def check_matrix(array: npt.NDArray[Any], what: str) -> None:
    """Two dimensions, real numbers."""
    if array.ndim != 2:
        hint = f"; for one user type {what}[None, :]" if array.ndim == 1 else ""
        msg = (
            f"{what} must be 2-d (n_users, n_items), "
            f"got {array.ndim}-d of shape {array.shape}{hint}"
        )
        raise ShapeError(msg)
    if not is_real(array.dtype):
        msg = (
            f"{what} must hold real numbers (float16, float32, float64, integers or bool), "
            f"got dtype {array.dtype}"
        )
        raise InputTypeError(msg)


def is_real(dtype: np.dtype[Any]) -> bool:
    """Whether the kernels can read it."""
    return dtype.name in _HALF_INFINITY or (dtype.kind in "biuf" and dtype.itemsize <= 8)


@dataclass(frozen=True)
class ScoreBlock:
    """Rows of scores in a dtype that the kernels compare natively."""

    values: npt.NDArray[Any]  # C-contiguous, read-only
    lowest: Any  # the smallest number of that dtype; NaN is what is not >= it
    lowest_listed: bool  # whether an item with that score may be recommended


class ScoreMatrix:
    """The score matrix of one call: checked, and read block by block."""

    def __init__(self, scores: Any) -> None:
        self.array = as_array(scores, "scores")
        check_matrix(self.array, "scores")
        self.shape: tuple[int, int] = self.array.shape

    def block(self, rows: slice) -> ScoreBlock:
        """A block of whole rows."""
        return _native(self.array[rows])

    def candidates(self, rows: slice, counts: Any, items: Any) -> ScoreBlock:
        """The scores of ``counts[u]`` ``items`` of each row, in one dimension."""
        users = np.repeat(np.arange(rows.start, rows.stop), counts)
        return _native(self.array[users, items])

    def blocks(self, n_threads: int, row_items: float, *, copied: bool) -> list[slice]:
        """Row blocks for a call that reads ``row_items`` scores of each row."""
        copied = copied or not _is_native(self.array)
        row_bytes = max(1.0, row_items * self.array.itemsize)
        return row_blocks(
            self.shape[0], int((_COPY_BYTES if copied else _BLOCK_BYTES) / row_bytes), n_threads
        )


def row_blocks(n_rows: int, rows: int, n_threads: int) -> list[slice]:
    """``n_rows`` cut into blocks of about ``rows``, or less where that keeps threads busy."""
    rows = max(1, rows)
    if n_threads > 1:
        rows = min(rows, max(1, -(-n_rows // (_BLOCKS_PER_THREAD * n_threads))))
    starts = range(0, max(1, n_rows), rows)  # no rows are one empty block
    return [slice(first, min(first + rows, n_rows)) for first in starts]


def _is_native(array: npt.NDArray[Any]) -> bool:
    """Whether the kernels read the array as it lies in memory."""
    return bool(
        array.dtype.isnative and array.dtype.name not in _HALF_INFINITY and array.flags.c_contiguous
    )


def _native(block: npt.NDArray[Any]) -> ScoreBlock:
    if block.dtype.name in _HALF_INFINITY:
        return _half_keys(block)
    if block.dtype == np.bool_:
        block = block.view(np.uint8)
    # Copies this block alone, and only where layout or byte order ask for it.
    values = np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("="))
    if values.dtype.kind == "f":
        return ScoreBlock(read_only(values), values.dtype.type(-np.inf), False)
    return ScoreBlock(read_only(values), values.dtype.type(np.iinfo(values.dtype).min), True)


def _half_keys(block: npt.NDArray[Any]) -> ScoreBlock:
    """Half precision as integers in the same order.

    The bits of a float are sign and magnitude; magnitude, negated where the sign is set, orders as
    the float does, with both zeros equal. NaN has the largest magnitudes and becomes the smallest
    integer, below the key of -inf.
    """
    infinity = np.int16(_HALF_INFINITY[block.dtype.name])
    # .view before ascontiguousarray: NumPy copies integers faster than halves of any kind.
    bits = np.ascontiguousarray(block.view(np.dtype(np.int16).newbyteorder(block.dtype.byteorder)))
    bits = bits.astype(np.int16, copy=False)
    sign = bits >> 15  # 0 or -1, so that (x ^ sign) - sign negates where the sign is set
    keys = ((bits & np.int16(0x7FFF)) ^ sign) - sign
    nan = (bits & np.int16(0x7FFF)) > infinity
    if nan.any():
        keys[nan] = np.iinfo(np.int16).min
    return ScoreBlock(read_only(keys), np.int16(-infinity), False)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that cannot be written to: one array type for the kernels, so one compilation."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_ranking(ranking: Any) -> npt.NDArray[Any]:
    """Rankings as one integer matrix, -1 after the end of a shorter list."""
    if isinstance(ranking, Sequence) and not isinstance(ranking, str | bytes):
        lists = [as_array(items, f"ranking of user {user}") for user, items in enumerate(ranking)]
        if all(items.ndim == 1 for items in lists) and len({items.size for items in lists}) != 1:
            return _padded(lists)
    array = as_array(ranking, "ranking")
    if array.ndim != 2:
        hint = "; for one user type [ranking]" if array.ndim == 1 else ""
        msg = (
            "ranking must be 2-d (n_users, k) or a list with one array of items per user, "
            f"got {array.ndim}-d of shape {array.shape}{hint}"
        )
        raise ShapeError(msg)
    if array.size == 0:
        return np.empty(array.shape, np.int64)
    _check_integers(array, "ranking")
    return array


def _padded(lists: list[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    ranking = np.full((len(lists), max((len(items) for items in lists), default=0)), -1, np.int64)
    for user, items in enumerate(lists):
        if items.size:
            _check_integers(items, f"ranking of user {user}")
            ranking[user, : items.size] = items
    return ranking


def _check_integers(array: npt.NDArray[Any], what: str) -> None:
    if array.dtype.kind not in "iu":
        msg = f"{what} must hold integer item indices, got dtype {array.dtype}"
        raise InputTypeError(msg)
