"""Scores, read as row blocks in a form for the kernels.

The kernels compare float32 and float64, since each dtype costs seconds of compilation. Other
dtypes, byte orders and layouts are converted one row block at a time, exactly: up to 16 bits to
float32, integers to float64, but large blocks of 64-bit integers, and those beyond 2^53, to int64.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import (
    InputError,
    InputTypeError,
    NaNScoreError,
    RecmetricsError,
    blame,
    warn,
)
from recmetrics._core.inputs.arrays import (
    HALF_INFINITY,
    as_array,
    as_kernel_array,
    check_2d,
    check_matrix,
    half_bits,
    is_half,
)
from recmetrics._core.inputs.labels import UNLABELLED_SCORES
from recmetrics._core.inputs.row_order import TILE_ROWS, has_columns, in_rows
from recmetrics._core.inputs.sets import ItemSets, Rows, SharedSet, Users, entries_of
from recmetrics._core.inputs.sparse import as_scipy, stored_entries
from recmetrics._core.jit import kernel, numpy_form, prefetch
from recmetrics._core.threads import row_blocks
from recmetrics._core.types import IntArray

# A block takes much longer than a Python call (some 50 us) and much less than half a second, within
# which Ctrl-C must stop it. A copied block is smaller, since the copies of all threads add up.
_BLOCK_BYTES = 16 << 20
_COPY_BYTES = 8 << 20
LEAST_SCORES = 1 << 20  # a block of fewer scores is not worth a thread, or Python's overhead
_FEW_SCORES = 1 << 16  # the smallest and the largest of so few are quick to find
_LARGEST_EXACT = 1 << 53  # float64 has every integer up to here
_MOST_ITEMS = (1 << 31) - 1  # kernels count in int32
_TILE_HALVES = 256  # half-precision floats that are converted together
_LINE_HALVES = 32  # half-precision floats in a cache line
_PREFETCH_HALVES = 64 * _LINE_HALVES  # so far before their conversion, they are fetched from memory
# The indices of an array of ``find_nan``: the number of NaN, and the row and item of the first.
N_NAN = 0
NAN_ROW = 1
NAN_ITEM = 2


class ScoreBlock(NamedTuple):
    """Rows of scores in a dtype that the kernels compare natively."""

    values: npt.NDArray[Any]  # C-contiguous; where there are bits, memory for one row
    lowest: Any  # the lowest value of that dtype, such as -inf; only NaN is not >= it
    least: Any  # the lowest score of an item that may be recommended, greater than -inf
    bits: npt.NDArray[np.int16] | None = None  # of half precision, see ``order_halves``

    def whole(self) -> "ScoreBlock":
        """Convert all rows of bits at once; without bits, the block itself."""
        if self.bits is None:
            return self
        keys = np.empty(self.bits.shape, np.float32)
        order_halves(self.bits.reshape(-1), -int(self.lowest), keys.reshape(-1))
        return ScoreBlock(keys, self.lowest, self.least)

    @property
    def has_infinity(self) -> bool:
        """True if ``lowest`` is the score -inf, which integers do not have."""
        return bool(self.least > self.lowest)


# ``lowest`` and ``least`` of a ScoreBlock, for each dtype that the kernels are compiled for.
_NATIVE: dict[np.dtype[Any], tuple[Any, Any]] = {
    np.dtype(np.float32): (np.float32(-np.inf), np.finfo(np.float32).min),
    np.dtype(np.float64): (np.float64(-np.inf), np.finfo(np.float64).min),
    np.dtype(np.int64): (np.int64(np.iinfo(np.int64).min),) * 2,
}


class ScoreMatrix:
    """The score matrix of one call: checked, and read block by block."""

    tables = UNLABELLED_SCORES  # the scores as given, where their users or items have labels

    def __init__(self, scores: Any) -> None:
        self.array = as_array(scores, "scores")
        if self.array.ndim == 1 and self.array.size and isinstance(self.array[0], Mapping):
            msg = (
                "scores is a list of dicts, expected an array (n_users, n_items); where truth has "
                "a collection or a dict of items for each user, too, type recmetrics.tables."
                "evaluate_table(dict(enumerate(scores)), dict(enumerate(truth)), metrics_list)"
            )
            raise InputTypeError(msg)
        check_matrix(self.array, "scores", scores)
        self.shape: tuple[int, int] = self.array.shape
        if hasattr(scores, "columns") or hasattr(scores, "get_index"):  # a frame, or of xarray
            self.tables = {"scores": scores}

    def block(self, rows: slice, *, packed: bool = False) -> ScoreBlock:
        """Read a block of whole rows, as ``native`` does."""
        if self.shape[1] > _MOST_ITEMS:
            msg = (
                f"scores has {self.shape[1]:,} items, but at most {_MOST_ITEMS:,} can be ranked "
                "for a user; give fewer items, or candidates="
            )
            raise InputError(msg, argument="scores")
        return native(self.array[rows], packed=packed)

    def candidates(self, rows: slice, candidates: ItemSets, items: Rows) -> ScoreBlock:
        """Read the scores of the candidates of each row, ``items``, in one dimension."""
        block = self.as_given(rows)
        if not isinstance(candidates, SharedSet):
            return native(block[items.users(), items.items])
        # As columns, a call is five times faster; ``take`` would copy a block of another order.
        if block.flags.c_contiguous:
            return native(block.take(candidates.items, axis=1).reshape(-1))
        return native(block[:, candidates.items].reshape(-1))

    def as_given(self, rows: slice) -> npt.NDArray[Any]:
        """The scores of whole rows in their own dtype."""
        return self.array[rows]

    def take(self, rows: slice) -> "ScoreMatrix":
        return ScoreMatrix(self.array[rows])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which large blocks of the scores are compared."""
        return np.dtype(_compared_as(self.array[:0]))

    def is_small(self, row_items: float) -> bool:
        """Say whether a call that reads ``row_items`` scores of each row is work for one thread."""
        return self.shape[0] * row_items <= LEAST_SCORES

    def blocks(self, n_threads: int, row_items: float, *, copied: bool) -> tuple[list[slice], int]:
        """Cut the rows into blocks; also gives the number of threads that pays off.

        The call reads ``row_items`` scores of each row; ``copied`` says that it copies them.
        """
        block_bytes = _BLOCK_BYTES
        if copied or not (_is_native(self.array) or is_half(self.array.dtype)):
            block_bytes = _COPY_BYTES
        n_rows = int(block_bytes / max(1.0, row_items * self.dtype.itemsize))
        if has_columns(self.array):
            n_rows = max(1, n_rows // TILE_ROWS) * TILE_ROWS
        least_rows = int(LEAST_SCORES / max(1.0, row_items))
        return row_blocks(self.shape[0], n_rows, n_threads, least_rows), n_threads


MAY_BE_EXCHANGED = "are scores and truth exchanged? expected scores first, then the truth"


class SparseScores(ScoreMatrix):
    """The score matrix of one call, sparse: only its stored entries may be recommended."""

    def __init__(
        self,
        start: npt.NDArray[Any],
        items: npt.NDArray[Any],
        values: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> None:
        """Take checked entries: row u has ``items[start[u]:start[u + 1]]``, ascending."""
        self._start = start
        self._items = items
        self.array = values
        self.shape = shape
        self.mean_items = len(items) / max(1, shape[0])

    def stored(self, rows: slice) -> tuple[Rows, ScoreBlock]:
        """Read the items that each row of a block stores, and their scores."""
        start, entries = entries_of(self._start, rows)
        values = self.array[entries]
        items = self._items[entries].astype(np.int64)
        return Rows(start.astype(np.int64), items, values), native(values)

    def take(self, rows: slice) -> "SparseScores":
        start, entries = entries_of(self._start, rows)
        shape = (len(start) - 1, self.shape[1])
        return SparseScores(start, self._items[entries], self.array[entries], shape)

    def block(self, rows: slice, *, packed: bool = False) -> ScoreBlock:  # noqa: ARG002
        """Read a block of whole rows, in which items without an entry have -inf."""
        stored, _ = self.stored(rows)
        dense = np.full((rows.stop - rows.start, self.shape[1]), -np.inf)
        dense[stored.users(), stored.items] = stored.values
        return native(dense)


def read_matrix(scores: Any) -> ScoreMatrix:
    """Read scores in memory, dense or sparse; each error gets ``argument="scores"``."""
    to_add = "sum_duplicates()"  # entries that are stored twice
    try:
        if hasattr(scores, "layout"):  # a tensor of torch, which may be sparse
            to_add = "coalesce()"
            scores = as_scipy(scores, "scores")
        if not sp.issparse(scores):
            return ScoreMatrix(scores)
        matrix: Any = scores
        check_2d(matrix.shape, "scores", "scores.reshape(1, -1)")
        start, items, values = stored_entries(matrix, "scores", to_add)
    except RecmetricsError as error:
        blame(error, "scores")  # sets ``error.argument``
        raise
    if len(values) > 1 and (values == 1).all():
        msg = f"all {len(values):,} stored scores are 1, so the items of a user tie"
        warn(f"{msg}; {MAY_BE_EXCHANGED}")
    return SparseScores(start, items, values, matrix.shape)


def _is_native(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and array.dtype in _NATIVE and array.flags.c_contiguous


def _compared_as(block: npt.NDArray[Any]) -> npt.DTypeLike:
    """Choose the dtype in which a block is compared; it holds every score exactly."""
    dtype = block.dtype
    if dtype.kind == "f" and dtype.itemsize > 2:
        return dtype.newbyteorder("=")
    if dtype.itemsize <= 2:
        return np.float32
    if dtype.itemsize <= 4:
        return np.float64
    # 64-bit integers. To check and convert a large block takes longer than to compare it as it is.
    if not 0 < block.size <= _FEW_SCORES:
        return np.int64
    is_exact = int(block.min()) >= -_LARGEST_EXACT and int(block.max()) <= _LARGEST_EXACT
    return np.float64 if is_exact else np.int64


def native(block: npt.NDArray[Any], *, packed: bool = False) -> ScoreBlock:
    """Convert a block of scores to a dtype that the kernels compare; the order does not change.

    With ``packed`` half precision stays bits, which ``rank_rows`` converts.
    """
    if _is_native(block):
        return ScoreBlock(as_kernel_array(block), *_NATIVE[block.dtype])
    block = in_rows(block)
    if is_half(block.dtype):
        kind = "float16" if block.dtype.name == "float16" else "bfloat16"
        infinity = int(HALF_INFINITY[kind])
        # Bits before ascontiguousarray: NumPy copies integers faster than halves of any kind, and
        # it converts float16 itself in eight times the time.
        bits = as_kernel_array(np.ascontiguousarray(half_bits(block), np.int16))
        row_keys = np.empty((1, bits.shape[-1]), np.float32)  # for the keys of one row at a time
        # ``order_halves`` makes keys that are whole numbers: that of the lowest finite score is 1
        # above that of -inf.
        scores = ScoreBlock(
            row_keys, lowest=np.float32(-infinity), least=np.float32(1 - infinity), bits=bits
        )
        return scores if packed else scores.whole()
    dtype = _compared_as(block)
    if dtype is np.int64 and block.dtype.kind == "u":
        # The other highest bit moves 0 .. 2^64 - 1 to -2^63 .. 2^63 - 1, which keeps the order.
        block = (block ^ np.uint64(1 << 63)).view(np.int64)
    # Copies only this block, where dtype, layout or byte order require it.
    values = np.ascontiguousarray(block, dtype)
    return ScoreBlock(as_kernel_array(values), *_NATIVE[values.dtype])


def _order_halves_in_numpy(
    bits: npt.NDArray[np.int16], infinity: int, keys: npt.NDArray[np.float32]
) -> None:
    """Turn bits into numbers as ``order_halves`` does."""
    signed = bits.astype(np.int32)
    magnitude = signed & 0x7FFF
    keys[:] = np.where(signed < 0, -magnitude, magnitude)
    keys[magnitude > infinity] = np.nan


@kernel
@numpy_form(_order_halves_in_numpy)
def order_halves(bits: npt.NDArray[np.int16], infinity: int, keys: npt.NDArray[np.float32]) -> None:
    """Turn the bits of half-precision floats into whole numbers in the same order, as float32.

    ``infinity`` is the magnitude of infinity, ``keys`` takes the numbers. A float is sign and
    magnitude: the magnitude, negated where the sign is set, orders as the float does, with both
    zeros equal. NaN has the largest magnitudes, above ``infinity``, and stays NaN.
    Both arrays are 1-d. Six times as fast as NumPy's operators. The prefetch takes off a quarter.
    """
    for begin in range(0, bits.size, _TILE_HALVES):
        tile = bits[begin : begin + _TILE_HALVES]
        tile_keys = keys[begin : begin + _TILE_HALVES]
        for line in range(0, _TILE_HALVES, _LINE_HALVES):
            prefetch(bits, begin + _PREFETCH_HALVES + line)
        for i in range(tile.size):
            signed = np.int32(tile[i])
            magnitude = signed & 0x7FFF  # all bits but the sign
            key = -magnitude if signed < 0 else magnitude
            tile_keys[i] = np.float32(np.nan) if magnitude > infinity else np.float32(key)


def find_nan(values: npt.NDArray[Any], lowest: Any) -> IntArray:
    """Count the NaN in a block, and find the first: the array (count, row, item), 0 without any.

    ``lowest`` is the lowest value of the dtype: only NaN is not >= it.
    """
    is_nan = ~(values >= lowest)
    row, item = divmod(int(is_nan.argmax()), values.shape[1])
    return np.array([np.count_nonzero(is_nan), row, item])


def find_candidate_nan(
    values: npt.NDArray[Any], start: IntArray, items: IntArray, lowest: Any
) -> IntArray:
    """Count the NaN among the scores of candidates, and find the first.

    Gives the array (count, row, item), 0 without any. Row u has the candidates
    ``items[start[u]:start[u + 1]]``, with their scores in ``values``. ``lowest`` is the lowest
    value of the dtype: only NaN is not >= it.
    """
    is_nan = ~(values >= lowest)
    if not is_nan.any():
        return np.zeros(3, np.int64)
    entry = int(is_nan.argmax())
    row = int(np.searchsorted(start, entry, side="right")) - 1
    return np.array([np.count_nonzero(is_nan), row, items[entry]])


def refuse_nan(nan_of_blocks: Sequence[IntArray], users: Users) -> None:
    """Refuse NaN scores; ``nan_of_blocks`` has the array of ``find_nan`` for each row block.

    Its rows count from the first row of the call.
    """
    n_nan, rows, items = np.transpose(nan_of_blocks)
    if not n_nan.any():
        return
    block = int(np.flatnonzero(n_nan)[0])
    msg = (
        f"scores hold {n_nan.sum()} NaN, the first at (user {users.user_at(int(rows[block]))}, "
        f"item {items[block] + users.first_item}); expected numbers; give nan='exclude' to treat "
        "NaN like a score of -inf"
    )
    raise NaNScoreError(msg, argument="scores")
