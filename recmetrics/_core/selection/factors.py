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
whatever the threads and k, and their users and items are padded to a multiple of ``_PAD``. With
this, OpenBLAS gives an item and a user the same score in every call and batch on all of its x86
kernels that were tried, except float32 on Haswell and Zen. Where each user has own candidates, the
scores are matrix-vector products, with the rounding of these.
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
_PAD = 48  # a multiple of the rows and columns that kernels of BLAS compute together
_POOL_BYTES = 32 << 20  # for the items collected for the users of a tile
# Items; up to so many, counting ranks in whole rows beats the lists of tiles: 10,000 x 3,706 in 0.6
# of the time, x 8,000 in 0.8, x 16,000 in 1.0 of it.
_SHORT_ROWS = 12_288
_SMALL = 1 << 22  # products of two numbers; fewer take less time than starting threads for them
_BLOCKS_PER_THREAD = 4
_HOST_BYTES = 64 << 20  # of scores for a block of whole rows
_CANDIDATES = 1 << 18  # in one block of users with candidates of their own
# The hint where the truth has the users and items of the scores exchanged.
SWAPPED = "user_factors and item_factors look swapped: give those of the users first"

Array = npt.NDArray[Any]
_Lists = tuple[IntArray, IntArray, IntArray]  # items, lengths and NaN, as ``best`` gives them
P = ParamSpec("P")
R = TypeVar("R")


class _BlasLimit:
    """One thread for BLAS in the process, from the first caller to the last one that leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_callers = 0
        self._before: list[tuple[Any, int]] = []  # each library, and its number of threads

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
    # For OpenBLAS, threadpoolctl accepts limits only from the first thread that set one. Here the
    # last caller has to restore them, in whatever thread.
    release = getattr(library, "clear_controlling_thread", lambda **_: None)
    release(force=True)
    library.set_num_threads(n_threads)
    release(force=True)


@cache
def _blas_libraries() -> list[Any]:
    """Find the BLAS libraries of the process, once, since it takes milliseconds."""
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
    """The scores of a factor model; the score matrix is never made as a whole.

    Factors are read in place, the users and items of one tile at a time. Scores are float32 where
    both factors are float32, float16 or bfloat16, else float64: whole numbers are multiplied as
    float64, in which their products are exact. The bias is rounded to the dtype of the scores.
    """

    if_transposed = SWAPPED
    short_rows = _SHORT_ROWS

    def __init__(self, user_factors: Any, item_factors: Any, item_bias: Any = None) -> None:
        with at_fault("user_factors"):
            self._users = _read(user_factors, "user_factors", "user")
        with at_fault("item_factors"):
            self._items = _read(item_factors, "item_factors", "item")
        check_factors(self._users.shape, self._items.shape)
        self.shape: tuple[int, int] = (len(self._users), len(self._items))
        self.dtype = np.result_type(_multiplied_as(self._users), _multiplied_as(self._items))
        self._bias = None
        if item_bias is not None:
            bias = as_array(item_bias, "item_bias", "item")
            check_bias(bias.shape, self.shape[1])
            check_real(bias, "item_bias")
            self._bias = _numbers(bias, self.dtype)

    def blocks(self, k: int, row_items: float, n_threads: int) -> tuple[list[slice], int]:  # noqa: ARG002
        """Row blocks for lists of ``k``, and the number of threads that pays off.

        Blocks end at multiples of ``_PAD`` users, so that the threads do not change a bit.
        """
        n_users, n_items = self.shape
        if n_threads == 1 or n_users * n_items * max(1, self._users.shape[1]) < _SMALL:
            return row_blocks(n_users, _TILE_USERS), 1
        share = math.ceil(n_users / (_BLOCKS_PER_THREAD * n_threads))
        return row_blocks(n_users, min(_TILE_USERS, _padded(share))), n_threads

    @one_thread_in_blas
    def best(self, rows: slice, k: int, excluded: Rows, candidates: ItemSets | None) -> _Lists:
        """Select the lists of a block of users, at most ``k`` items each.

        ``excluded`` and ``candidates`` are those of the block. Gives the items (rows, k), best
        first, -1 after the end of a shorter list; the length of each list; and the number of NaN
        scores, with the row within the block and the item of the first.
        """
        n_users = rows.stop - rows.start
        ranking = np.full((n_users, min(k, self.shape[1])), -1, np.int64)
        length = np.zeros(n_users, np.int64)
        nan_found = np.zeros(3, np.int64)
        step = self._users_at_once(k, candidates)
        for first in range(0, n_users if ranking.size else 0, step):
            part = slice(first, min(first + step, n_users))
            users = self._factors_of(slice(rows.start + part.start, rows.start + part.stop))
            part_excluded = excluded.take(part)
            part_nan = np.zeros(3, np.int64)
            lists = ranking[part], length[part], part_nan
            if candidates is None:
                self._list_tiles(users, part_excluded, None, lists)
            elif isinstance(candidates, SharedSet):
                self._list_tiles(users, part_excluded, candidates.items, lists)
            else:
                self._list_candidates(users, part_excluded, candidates.rows(part), lists)

            if part_nan[N_NAN] and not nan_found[N_NAN]:
                nan_found[NAN_ROW] = part.start + part_nan[NAN_ROW]
                nan_found[NAN_ITEM] = part_nan[NAN_ITEM]
            nan_found[N_NAN] += part_nan[N_NAN]
        return ranking, length, nan_found

    @one_thread_in_blas
    def host(self, rows: slice) -> Array:
        """Compute all scores of a few users, (rows, n_items), for metrics that need whole rows."""
        scores = np.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
        buffer = self._buffer(_padded(min(_TILE_USERS, len(scores))))
        for part in row_blocks(len(scores), _TILE_USERS):
            users = self._factors_of(slice(rows.start + part.start, rows.start + part.stop))
            for items in row_blocks(self.shape[1], _TILE_ITEMS):
                raise_if_stopped()
                tile = self._tile(users, items, None, buffer)
                scores[part, items] = tile[: part.stop - part.start, : items.stop - items.start]
        return scores

    def take(self, rows: slice) -> "FactorScores":
        part = copy.copy(self)
        part._users = self._users[rows]
        part.shape = (len(part._users), self.shape[1])
        return part

    def _users_at_once(self, k: int, candidates: ItemSets | None) -> int:
        """The number of users selected together; it bounds the memory for their items."""
        if candidates is not None and not isinstance(candidates, SharedSet):
            return max(1, int(_CANDIDATES / max(1.0, candidates.mean_items)))
        entry = self.dtype.itemsize + 8  # a score and an item
        n_users = _POOL_BYTES // (entry * int(memory.room_for(k, self.shape[1])))
        if n_users >= _PAD:
            n_users -= n_users % _PAD
        return max(1, min(_TILE_USERS, n_users))

    def _factors_of(self, rows: slice) -> Array:
        users = np.zeros((_padded(rows.stop - rows.start), self._users.shape[1]), self.dtype)
        users[: rows.stop - rows.start] = _numbers(self._users[rows], self.dtype)
        return users

    def _buffer(self, n_users: int) -> Array:
        return np.empty(n_users * min(_TILE_ITEMS, _padded(self.shape[1])), self.dtype)

    def _tile(self, users: Array, items: slice, shared: IntArray | None, buffer: Array) -> Array:
        """Compute the scores of some users for some items, or some of the shared candidates.

        (users, items), in ``buffer``; the columns after those of the items are padding.
        """
        columns: Any = items if shared is None else shared[items]
        factors = _numbers(self._items[columns], self.dtype)
        width = len(factors)
        if width % _PAD:
            padding = np.zeros((_padded(width) - width, factors.shape[1]), self.dtype)
            factors = np.concatenate([factors, padding])
        tile = buffer[: len(users) * len(factors)].reshape(len(users), len(factors))
        np.matmul(users, factors.T, out=tile)
        if self._bias is not None:
            tile[:, :width] += self._bias[columns]
        return tile

    def _list_tiles(
        self, users: Array, excluded: Rows, shared: IntArray | None, lists: _Lists
    ) -> None:
        """Fill the lists of some users from all items, or from candidates that they share."""
        ranking, length, nan_found = lists
        if shared is not None:
            excluded = _places_in(shared, excluded)
        n_items = self.shape[1] if shared is None else len(shared)
        n_users, k = ranking.shape
        lowest = self.dtype.type(-np.inf)
        room = int(memory.room_for(k, n_items))
        collected = memory.collected_for(n_users, room, self.dtype)
        buffer = self._buffer(len(users))
        for part in row_blocks(n_items, _TILE_ITEMS):
            raise_if_stopped()
            tile = self._tile(users, part, shared, buffer)
            width = part.stop - part.start
            work = memory.tile_memory(k, width, self.dtype)
            kernels.select_tile(
                tile, width, part.start, excluded, k, lowest, collected, nan_found, work
            )
        spare_values = np.empty(room, self.dtype)
        spare_items = np.empty(room, np.int64)
        kernels.list_selected(k, lowest, collected, ranking, length, spare_values, spare_items)
        if shared is not None and len(shared):
            ranking[:] = np.where(ranking >= 0, shared[ranking], -1)
            nan_found[NAN_ITEM] = shared[nan_found[NAN_ITEM]]

    def _list_candidates(
        self, users: Array, excluded: Rows, candidates: Rows, lists: _Lists
    ) -> None:
        """Fill the lists of some users from the candidates of each, computing only their scores."""
        ranking, length, nan_found = lists
        start, items, _ = candidates
        scores = np.empty(len(items), self.dtype)
        for user, (begin, end) in enumerate(itertools.pairwise(start)):
            for first in range(begin, end, _TILE_ITEMS):
                part = slice(first, min(first + _TILE_ITEMS, end))
                factors = _numbers(self._items[items[part]], self.dtype)
                np.dot(factors, users[user], out=scores[part])
            raise_if_stopped()
        if self._bias is not None:
            scores += self._bias[items]

        lowest = self.dtype.type(-np.inf)
        nan_found[:] = find_candidate_nan(scores, start, items, lowest)
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

    def block(self, rows: slice, *, packed: bool = False) -> ScoreBlock:  # noqa: ARG002
        return native(self._factors.host(rows))

    def candidates(self, rows: slice, candidates: Rows) -> ScoreBlock:
        return native(self._factors.host(rows)[candidates.users(), candidates.items])

    def is_small(self, row_items: float) -> bool:
        return self.shape[1] > self._factors.short_rows and super().is_small(row_items)

    def blocks(
        self,
        n_threads: int,
        row_items: float,
        *,
        copied: bool,  # noqa: ARG002
    ) -> tuple[list[slice], int]:
        n_users, n_items = self.shape
        if n_items <= self._factors.short_rows:
            return self._factors.blocks(n_items, row_items, n_threads)
        rows = _HOST_BYTES // max(1, 8 * n_items * n_threads)
        return row_blocks(n_users, rows, n_threads), n_threads


class FactorRanker:
    """Factors, whose lists are read like rankings; without a cutoff, whole rows are computed."""

    def __init__(self, factors: FactorScores, users: Users) -> None:
        self._factors = factors
        self.n_users, self.n_items = factors.shape
        self.users = users

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        users = self.users
        short = self.n_items <= self._factors.short_rows and users.candidates is None
        if short or rules.whole_rows:
            return MatrixRanker(FactorRows(self._factors), users).hits(k, rules, reader)
        depth = max(k or 0, 0 if reader is None else reader.depth)
        row_items = sum(sets.mean_items for sets in users.present if sets.is_dense)
        blocks, n_threads = self._factors.blocks(depth, row_items, rules.threads)
        rank = functools.partial(
            self._rank_block, depth=depth, k=k or 0, ties=rules.ties, reader=reader
        )
        return hits_of_blocks(rank, blocks, n_threads, users, k, rules)

    def _rank_block(
        self, block: Block, depth: int, k: int, ties: bool, reader: Reader | None
    ) -> RankedBlock:
        rows, relevant, excluded = block
        candidates = self.users.candidates
        if candidates is not None:
            if reader is not None:
                reader.offer(candidates.rows(rows).items)
            candidates = candidates.take(rows)
        items, length, nan_found = self._factors.best(rows, depth, excluded, candidates)
        if reader is not None:
            reader.read(Lists(rows, items, length, relevant))
        hits, _ = hits_of_lists(FlatLists.of(items), relevant, self.n_items, k, ties=ties)
        return RankedBlock(hits, nan_found)


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
        hint = "; type np.ravel(item_bias)" if math.prod(shape) == n_items else ""
        msg = (
            f"item_bias must hold one number for each of the {n_items} items, "
            f"got {len(shape)}-d of shape {shape}{hint}"
        )
        raise ShapeError(msg, argument="item_bias")


def _read(factors: Any, name: str, row: str) -> Array:
    """Check the factors of an argument, of which each row is of a user or of an item."""
    array = as_array(factors, name, row)
    if array.ndim != 2:
        hint = f"; type {name}.reshape(-1, 1) for one factor" if array.ndim == 1 else ""
        msg = f"{name} must be 2-d (n_{row}s, d), got {array.ndim}-d of shape {array.shape}{hint}"
        raise ShapeError(msg)
    check_real(array, name)
    return array


def _multiplied_as(factors: Array) -> np.dtype[Any]:
    """The dtype in which factors of any byte order are multiplied."""
    single = is_half(factors.dtype) or (factors.dtype.kind == "f" and factors.dtype.itemsize == 4)
    return np.dtype(np.float32 if single else np.float64)


def _numbers(part: Array, dtype: np.dtype[Any]) -> Array:
    return np.ascontiguousarray(half_to_single(part), dtype)


def _padded(count: int) -> int:
    """The next multiple of ``_PAD``, at least one."""
    return max(1, math.ceil(count / _PAD)) * _PAD


def _places_in(shared: IntArray, sets: Rows) -> Rows:
    """The items of ``sets`` that are shared candidates, as places among these."""
    places = np.searchsorted(shared, sets.items)
    is_shared = np.zeros(len(places), bool)
    inside = places < len(shared)
    is_shared[inside] = shared[places[inside]] == sets.items[inside]
    sets = sets._replace(items=places)
    return sets.keep(is_shared)
