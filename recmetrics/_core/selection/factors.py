"""Scores that exist only as factors, multiplied in tiles of which the best items are kept.

The scores are ``user_factors @ item_factors.T``, plus a bias per item.

The score matrix of a million items does not fit into memory, and is not needed. BLAS computes tiles
of the product into one buffer that stays in cache, and items are selected from this buffer. Each
user keeps the few items that may be among the best and a bound that grows from tile to tile, so
that one vectorised comparison skips most of a tile. Memory grows with the users in work times k.

The order is that of the package, applied to the products as computed. Two ways of computing the
same product in floating point may differ in the last digits: with the rounding unit u of the dtype
(6e-8 in float32, 1e-16 in float64) each is within ``d u / (1 - d u) * sum_j |p_j q_j|`` of the
exact product of two vectors p and q of d numbers, whatever the order of the additions (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). So two ways differ by at most
twice that; the bias adds one rounding of the sum to each. Only items whose scores differ by less
may change places against the dense path. Where products and sums are exact, as with small whole
numbers, nothing differs.

The rounding of BLAS may depend on the shapes of its operands. So tiles begin at fixed items,
whatever the threads and k, and their users and items are padded to a multiple of
``_BLAS_MULTIPLE``. With this, OpenBLAS gives an item and a user the same score in every call and
batch on all of its x86 kernels that were tried, except float32 on Haswell and Zen. Where each user
has own candidates, the scores are matrix-vector products, with the rounding of these.
"""

import copy
import functools
import itertools
import math
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ShapeError, at_fault
from recmetrics._core.inputs import (
    N_NAN,
    NAN_ITEM,
    NAN_ROW,
    FlatLists,
    ItemSets,
    Rows,
    ScoreBlock,
    ScoreMatrix,
    SharedSet,
    Users,
    as_array,
    check_real,
    find_candidate_nan,
    half_to_single,
    is_half,
    native,
)
from recmetrics._core.selection import kernels, memory
from recmetrics._core.selection.hits import Hits
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.matrix import MatrixRanker
from recmetrics._core.selection.rankers import Block, RankedBlock, hits_of_blocks
from recmetrics._core.selection.rankings import hits_of_lists
from recmetrics._core.spec import Request
from recmetrics._core.threads import raise_if_stopped, row_blocks, without_warnings
from recmetrics._core.types import IntArray

# A tile of float32 and its factors fit the second-level cache of a core, 2 MB, and are large enough
# for the full speed of BLAS. 192 x 2,304 do not fit, and took a sixth longer.
_TILE_USERS = 336
_TILE_ITEMS = 1152
# Users and items of a tile are padded to a multiple of this number, so that the same loop of BLAS
# computes all of them, with the same rounding. It is a multiple of the rows and columns that these
# loops compute together.
_BLAS_MULTIPLE = 48
_POOL_BYTES = 32 << 20  # for the items collected for the users of a tile
# Up to so many items, to count ranks in whole rows takes less time than to make lists from tiles:
# 0.6 of it for 10,000 users x 3,706 items, 0.8 for x 8,000, 1.0 for x 16,000.
_SHORT_ROW_ITEMS = 12_288
_SMALL_PRODUCTS = 1 << 22  # of two numbers; fewer take less time than to start threads for them
_BLOCKS_PER_THREAD = 4
_HOST_BYTES = 64 << 20  # of scores for a block of whole rows
_MAX_CANDIDATES = 1 << 18  # of all users selected together, if each user has own candidates
# The hint where the truth has the users and items of the scores exchanged.
SWAPPED = "user_factors and item_factors look swapped: give those of the users first"

Array = npt.NDArray[Any]
_BlockLists = tuple[IntArray, IntArray, IntArray]  # items, lengths and NaN report, as in ``best``
P = ParamSpec("P")
R = TypeVar("R")


class _BlasLimit:
    """One thread for BLAS in the process, from the first caller to the last one that leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_callers = 0
        # Each library, and its number of threads before the first caller came.
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_callers:
                self._before = [(library, library.num_threads) for library in _blas_libraries()]
                for library, _ in self._before:
                    _set_threads(library, 1)
            self._n_callers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_callers -= 1
            if not self._n_callers:
                for library, n_threads in self._before:
                    _set_threads(library, n_threads)


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the number of threads of a BLAS library, from whatever thread."""
    # For OpenBLAS, threadpoolctl accepts limits only from the first thread that set one. Here the
    # last caller has to restore them, in whatever thread.
    release = getattr(library, "clear_controlling_thread", lambda **_: None)
    release(force=True)
    library.set_num_threads(n_threads)
    release(force=True)


@cache
def _blas_libraries() -> list[Any]:
    """The BLAS libraries of the process, none without threadpoolctl.

    They are looked up once, since that takes milliseconds.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return []
    return [
        library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"
    ]


_blas = _BlasLimit()


def one_thread_in_blas(work: Callable[P, R]) -> Callable[P, R]:
    """Let BLAS use one thread while ``work`` runs, if threadpoolctl is installed."""

    @without_warnings  # kernels report NaN and infinity
    @functools.wraps(work)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _blas:
            return work(*args, **kwargs)

    return limited


class FactorScores:
    """The scores of a factor model: user_factors @ item_factors.T, plus a bias of each item.

    The score matrix is never made as a whole.

    Factors are read in place, the users and items of one tile at a time. Scores are float32 where
    both factors are float32, float16 or bfloat16, else float64: whole numbers are multiplied as
    float64, in which their products are exact. The bias is rounded to the dtype of the scores.
    """

    if_transposed = SWAPPED
    short_row_items = _SHORT_ROW_ITEMS

    def __init__(self, user_factors: Any, item_factors: Any, item_bias: Any = None) -> None:
        with at_fault("user_factors"):
            self._user_factors = _read(user_factors, "user_factors", "user")
        with at_fault("item_factors"):
            self._item_factors = _read(item_factors, "item_factors", "item")
        self.tables = {
            "user_factors": user_factors,
            "item_factors": item_factors,
            "item_bias": item_bias,
        }
        check_factors(self._user_factors.shape, self._item_factors.shape)
        self.shape: tuple[int, int] = (len(self._user_factors), len(self._item_factors))
        self.dtype = np.result_type(
            _multiplied_as(self._user_factors), _multiplied_as(self._item_factors)
        )
        self._bias = None
        if item_bias is not None:
            bias = as_array(item_bias, "item_bias", "item")
            check_bias(bias.shape, self.shape[1])
            check_real(bias, "item_bias")
            self._bias = _numbers(bias, self.dtype)

    @property
    def has_short_rows(self) -> bool:
        """True where rows are so short that to count ranks in whole ones takes less than tiles."""
        return self.shape[1] <= self.short_row_items

    def blocks(self, n_threads: int) -> tuple[list[slice], int]:
        """Row blocks, and the number of threads that pays off.

        Blocks end at multiples of ``_BLAS_MULTIPLE`` users, so that the number of threads does not
        change a bit of the scores.
        """
        n_users, n_items = self.shape
        if (
            n_threads == 1
            or n_users * n_items * max(1, self._user_factors.shape[1]) < _SMALL_PRODUCTS
        ):
            return row_blocks(n_users, _TILE_USERS), 1
        block_users = math.ceil(n_users / (_BLOCKS_PER_THREAD * n_threads))
        return row_blocks(n_users, min(_TILE_USERS, _padded(block_users))), n_threads

    @one_thread_in_blas
    def best(self, rows: slice, k: int, excluded: Rows, candidates: ItemSets | None) -> _BlockLists:
        """Select the lists of a block of users, at most ``k`` items each.

        ``excluded`` and ``candidates`` are those of the block. Gives the items (rows, k), best
        first, -1 after the end of a shorter list; the length of each list; and the number of NaN
        scores, with the row within the block and the item of the first.
        """
        n_users = rows.stop - rows.start
        ranking = np.full((n_users, min(k, self.shape[1])), -1, np.int64)
        length = np.zeros(n_users, np.int64)
        nan_report = np.zeros(3, np.int64)
        users_at_once = self._users_at_once(k, candidates)
        for first in range(0, n_users if ranking.size else 0, users_at_once):
            part = slice(first, min(first + users_at_once, n_users))  # of the block
            user_factors = self._factors_of(slice(rows.start + part.start, rows.start + part.stop))
            part_excluded = excluded.take(part)
            part_nan_report = np.zeros(3, np.int64)
            lists = ranking[part], length[part], part_nan_report
            if candidates is None:
                self._list_tiles(user_factors, part_excluded, None, lists)
            elif isinstance(candidates, SharedSet):
                self._list_tiles(user_factors, part_excluded, candidates.items, lists)
            else:
                self._list_candidates(user_factors, part_excluded, candidates.rows(part), lists)

            if part_nan_report[N_NAN] and not nan_report[N_NAN]:
                nan_report[NAN_ROW] = part.start + part_nan_report[NAN_ROW]
                nan_report[NAN_ITEM] = part_nan_report[NAN_ITEM]
            nan_report[N_NAN] += part_nan_report[N_NAN]
        return ranking, length, nan_report

    @one_thread_in_blas
    def host(self, rows: slice) -> Array:
        """Compute all scores of a few users, (rows, n_items), for metrics that need whole rows."""
        scores = np.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
        buffer = self._buffer(_padded(min(_TILE_USERS, len(scores))))
        for part in row_blocks(len(scores), _TILE_USERS):
            user_factors = self._factors_of(slice(rows.start + part.start, rows.start + part.stop))
            for items in row_blocks(self.shape[1], _TILE_ITEMS):
                raise_if_stopped()
                tile = self._tile(user_factors, items, None, buffer)
                scores[part, items] = tile[: part.stop - part.start, : items.stop - items.start]
        return scores

    def take(self, rows: slice) -> "FactorScores":
        part = copy.copy(self)
        part._user_factors = self._user_factors[rows]
        part.shape = (len(part._user_factors), self.shape[1])
        return part

    def _users_at_once(self, k: int, candidates: ItemSets | None) -> int:
        """The number of users whose lists of ``k`` are selected together.

        The more users, the more memory for the items that may be in their lists, or for the scores
        of their candidates if each user has own ones.
        """
        if candidates is not None and not isinstance(candidates, SharedSet):
            # Their scores are not computed in tiles, which bound the number below.
            return max(1, int(_MAX_CANDIDATES / max(1.0, candidates.mean_items)))
        pool_entry_bytes = self.dtype.itemsize + 8  # a score and an item
        n_users = _POOL_BYTES // (pool_entry_bytes * int(memory.room_for(k, self.shape[1])))
        # A multiple of ``_BLAS_MULTIPLE`` users needs no padding.
        if n_users >= _BLAS_MULTIPLE:
            n_users -= n_users % _BLAS_MULTIPLE
        return max(1, min(_TILE_USERS, n_users))

    def _factors_of(self, rows: slice) -> Array:
        """The factors of some users as BLAS gets them, padded with rows of zeros."""
        n_users = rows.stop - rows.start
        factors = np.zeros((_padded(n_users), self._user_factors.shape[1]), self.dtype)
        factors[:n_users] = _numbers(self._user_factors[rows], self.dtype)
        return factors

    def _buffer(self, n_users: int) -> Array:
        """Memory for the scores of a tile of ``n_users``, padding included."""
        return np.empty(n_users * min(_TILE_ITEMS, _padded(self.shape[1])), self.dtype)

    def _tile(
        self, user_factors: Array, items: slice, shared: IntArray | None, buffer: Array
    ) -> Array:
        """Compute the scores of some users for a range of items, (users, items), in ``buffer``.

        With ``shared`` candidates the range is of places among these. The columns after those of
        the items, and the rows after those of the users, are padding.
        """
        columns: Any = items if shared is None else shared[items]
        factors = _numbers(self._item_factors[columns], self.dtype)
        width = len(factors)
        if width % _BLAS_MULTIPLE:
            padding = np.zeros((_padded(width) - width, factors.shape[1]), self.dtype)
            factors = np.concatenate([factors, padding])
        tile = buffer[: len(user_factors) * len(factors)].reshape(len(user_factors), len(factors))
        np.matmul(user_factors, factors.T, out=tile)
        if self._bias is not None:
            tile[:, :width] += self._bias[columns]
        return tile

    def _list_tiles(
        self, user_factors: Array, excluded: Rows, shared: IntArray | None, lists: _BlockLists
    ) -> None:
        """Fill the lists of some users from all items, or from the candidates that they share.

        ``lists`` are the arrays to fill: items, lengths and NaN report, as ``best`` gives them.
        """
        ranking, length, nan_report = lists
        if shared is not None:  # items are places among the candidates, until the end
            excluded = _as_places(shared, excluded)
        n_items = self.shape[1] if shared is None else len(shared)
        n_users, k = ranking.shape
        lowest = self.dtype.type(-np.inf)
        room = int(memory.room_for(k, n_items))
        collected = memory.collected_for(n_users, room, self.dtype)
        buffer = self._buffer(len(user_factors))
        for part in row_blocks(n_items, _TILE_ITEMS):
            raise_if_stopped()
            tile = self._tile(user_factors, part, shared, buffer)
            width = part.stop - part.start
            work = memory.tile_memory(k, width, self.dtype)
            kernels.select_tile(
                tile, width, part.start, excluded, k, lowest, collected, nan_report, work
            )
        spare_values = np.empty(room, self.dtype)
        spare_items = np.empty(room, np.int64)
        kernels.list_selected(k, lowest, collected, ranking, length, spare_values, spare_items)
        if shared is not None and len(shared):
            ranking[:] = np.where(ranking >= 0, shared[ranking], -1)
            nan_report[NAN_ITEM] = shared[nan_report[NAN_ITEM]]

    def _list_candidates(
        self, user_factors: Array, excluded: Rows, candidates: Rows, lists: _BlockLists
    ) -> None:
        """Fill the lists of some users from the candidates of each, computing only their scores.

        ``lists`` are the arrays to fill: items, lengths and NaN report, as ``best`` gives them.
        """
        ranking, length, nan_report = lists
        start, items, _ = candidates
        scores = np.empty(len(items), self.dtype)
        for user, (begin, end) in enumerate(itertools.pairwise(start)):
            for first in range(begin, end, _TILE_ITEMS):
                part = slice(first, min(first + _TILE_ITEMS, end))
                factors = _numbers(self._item_factors[items[part]], self.dtype)
                np.dot(factors, user_factors[user], out=scores[part])
            raise_if_stopped()
        if self._bias is not None:
            scores += self._bias[items]

        lowest = self.dtype.type(-np.inf)
        nan_report[:] = find_candidate_nan(scores, start, items, lowest)
        scores[candidates.among(excluded)] = lowest  # -inf is never recommended
        k = ranking.shape[1]
        longest = int(np.diff(start).max(initial=0))
        pool = memory.pool_for(k, longest, self.dtype)
        least = np.finfo(self.dtype).min
        kernels.list_candidates(scores, start, items, k, least, ranking, length, pool)


class FactorRows(ScoreMatrix):
    """The scores of a factor model, computed for whole rows, block by block."""

    def __init__(self, factors: FactorScores) -> None:
        self._factors = factors
        self.shape = factors.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._factors.dtype

    def block(self, rows: slice, *, packed: bool = False) -> ScoreBlock:  # noqa: ARG002
        return native(self._factors.host(rows))

    def as_given(self, rows: slice) -> Array:
        return self._factors.host(rows)

    def is_small(self, row_items: float) -> bool:
        return not self._factors.has_short_rows and super().is_small(row_items)

    def blocks(
        self,
        n_threads: int,
        row_items: float,  # noqa: ARG002
        *,
        copied: bool,  # noqa: ARG002
    ) -> tuple[list[slice], int]:
        n_users, n_items = self.shape
        if self._factors.has_short_rows:
            return self._factors.blocks(n_threads)
        block_users = _HOST_BYTES // max(1, 8 * n_items * n_threads)
        return row_blocks(n_users, block_users, n_threads), n_threads


class FactorRanker:
    """Factors, whose lists are read like rankings; without a cutoff, whole rows are computed."""

    def __init__(self, factors: FactorScores, users: Users) -> None:
        self._factors = factors
        self.n_users, self.n_items = factors.shape
        self.users = users

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        users = self.users
        has_short_rows = self._factors.has_short_rows and users.candidates is None
        if has_short_rows or rules.whole_rows:
            return MatrixRanker(FactorRows(self._factors), users).hits(k, rules, reader)
        depth = max(k or 0, 0 if reader is None else reader.depth)
        blocks, n_threads = self._factors.blocks(rules.threads)
        rank = functools.partial(
            self._rank_block, depth=depth, k=k or 0, ties=rules.ties, reader=reader
        )
        return hits_of_blocks(rank, blocks, n_threads, users, k, rules)

    def _rank_block(
        self, block: Block, depth: int, k: int, ties: bool, reader: Reader | None
    ) -> RankedBlock:
        """Select the lists of a block down to rank ``depth``, and find their hits to rank ``k``."""
        rows, relevant, excluded = block
        candidates = self.users.candidates
        if candidates is not None:
            if reader is not None:
                reader.offer(candidates.rows(rows).items)
            candidates = candidates.take(rows)
        items, length, nan_report = self._factors.best(rows, depth, excluded, candidates)
        if reader is not None:
            reader.read(Lists(rows, items, length, relevant))
        hits, _ = hits_of_lists(FlatLists.of(items), relevant, self.n_items, k, ties=ties)
        return RankedBlock(hits, nan_report)


def check_factors(users: tuple[int, ...], items: tuple[int, ...]) -> None:
    """Refuse factors of users and items whose shapes do not fit together."""
    if users[1] != items[1]:
        hint = "; type item_factors.T" if items[0] == users[1] else ""
        msg = (
            "user_factors (n_users, d) and item_factors (n_items, d) must have the same d, "
            f"got {users} and {items}{hint}"
        )
        raise ShapeError(msg)


def check_bias(shape: tuple[int, ...], n_items: int) -> None:
    """Refuse a bias that is not one number for each item."""
    if shape != (n_items,):
        hint = "; type item_bias.reshape(-1)" if math.prod(shape) == n_items else ""
        msg = (
            f"item_bias must hold one number for each of the {n_items} items, "
            f"got {len(shape)}-d of shape {shape}{hint}"
        )
        raise ShapeError(msg, argument="item_bias")


def _read(factors: Any, name: str, row: str) -> Array:
    """Check the factors given as argument ``name``; ``row`` is what a row is of: user or item."""
    array = as_array(factors, name, row)
    if array.ndim != 2:
        hint = f"; type {name}.reshape(-1, 1) for one factor" if array.ndim == 1 else ""
        msg = f"{name} must be 2-d (n_{row}s, d), got {array.ndim}-d of shape {array.shape}{hint}"
        raise ShapeError(msg)
    check_real(array, name)
    return array


def _multiplied_as(factors: Array) -> np.dtype[Any]:
    """The dtype in which factors of any byte order are multiplied."""
    is_single = is_half(factors.dtype) or (
        factors.dtype.kind == "f" and factors.dtype.itemsize == 4
    )
    return np.dtype(np.float32 if is_single else np.float64)


def _numbers(factors: Array, dtype: np.dtype[Any]) -> Array:
    """Convert factors, or a bias, to a contiguous array of the dtype in which BLAS computes."""
    return np.ascontiguousarray(half_to_single(factors), dtype)


def _padded(count: int) -> int:
    """The next multiple of ``_BLAS_MULTIPLE``, at least one."""
    return max(1, math.ceil(count / _BLAS_MULTIPLE)) * _BLAS_MULTIPLE


def _as_places(shared: IntArray, sets: Rows) -> Rows:
    """The items of ``sets`` that are among the ascending ``shared``, as places among these."""
    places = np.searchsorted(shared, sets.items)
    is_shared = np.zeros(len(places), bool)
    inside = places < len(shared)
    is_shared[inside] = shared[places[inside]] == sets.items[inside]
    sets = sets._replace(items=places)
    return sets.keep(is_shared)
