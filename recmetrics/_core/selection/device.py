"""Scores in the memory of a device: the ranks of relevant items, and lists, by torch alone.

The rank of a relevant item is counted, as ``kernels`` says. So a block of rows is compared once
with each of the relevant items of its users. The rows of users who have many are sorted instead. A
list is selected by ``topk``, which may take any of the items that are equal to the last one of a
list; the first of them are taken.

Only a block of bounded size is ever copied: with the lowest score where an item may not be
recommended. All results leave the device as integers, since some devices have no float64.

The tests run this code on torch's CPU device. It has not been run on a CUDA, ROCm or MPS device.
"""

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from recmetrics._core.errors import DeviceMemoryError, InputTypeError
from recmetrics._core.inputs import N_NAN, NAN_ROW, Rows, SharedSet, Users, check_2d
from recmetrics._core.selection.factors import SWAPPED, check_bias, check_factors
from recmetrics._core.selection.hits import Hits, empty_hits
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.rankers import Block, RankedBlock, hits_of_blocks
from recmetrics._core.spec import Request
from recmetrics._core.threads import row_blocks
from recmetrics._core.types import IntArray

_DLPACK_GPUS = {2, 10}  # the numbers of CUDA and ROCm in DLPack
_BLOCK_SCORES = 1 << 23  # ranked together; with copies, masks and indices they take about 256 MB
_MANY_RELEVANT = 64  # items; a sort of the row of a user with more beats counting
_SINGLE_DTYPES = {"float16", "bfloat16", "float32"}  # factors that are multiplied as float32
_REAL_DTYPES = {
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64",
}  # fmt: skip


def on_device(value: Any) -> bool:
    """Say whether ``value`` is in the memory of a device, such as a GPU."""
    device_type = getattr(getattr(value, "device", None), "type", "cpu")  # of a torch tensor
    if device_type not in {"cpu", "meta"}:
        return True
    try:
        return value.__dlpack_device__()[0] in _DLPACK_GPUS
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return False  # reading it raises the exact error


def as_tensor(value: Any) -> Any:
    """Convert ``value`` to a torch tensor that shares its memory; None where torch cannot.

    A tensor is returned unchanged; arrays of JAX, CuPy and others are read by DLPack.
    """
    try:
        torch = _torch()
        return value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)
    except (ImportError, AssertionError, BufferError, RuntimeError, TypeError, ValueError):
        return None  # no torch, or a torch built without that device


def _torch() -> Any:
    """Import torch when it is needed, since it is optional."""
    return importlib.import_module("torch")


@contextlib.contextmanager
def refuse_full_memory() -> Iterator[None]:
    """Raise one error wherever the memory of a device is full, as a decorator."""
    try:
        yield
    except RuntimeError as error:
        if "out of memory" not in str(error):  # no class of error is common to all devices
            raise
        msg = (
            f"the device has no memory left to rank the scores, and nothing was added: {error}; "
            "give fewer users at a time"
        )
        raise DeviceMemoryError(msg) from error


class DeviceScores:
    """The scores of one call as a tensor."""

    if_transposed: str | None = None  # the hint where the truth has users and items exchanged

    def __init__(self, tensor: Any) -> None:
        _check(tensor, "scores")
        self._tensor = tensor.detach()
        self.shape: tuple[int, int] = tuple(tensor.shape)

    def take(self, rows: slice) -> "DeviceScores":
        return DeviceScores(self._tensor[rows])

    def block(self, rows: slice) -> Any:
        """The scores of some consecutive users, (rows, n_items), as a tensor."""
        return self._tensor[rows]


class DeviceFactors(DeviceScores):
    """The scores of a factor model whose factors are on a device: the products of a block of users.

    They are rounded as the device rounds them. So items whose scores differ by a rounding may
    change places against ``FactorScores``; ``factors`` states the bound. Factors that are neither
    float32 nor half precision are multiplied as float64, which MPS does not have.
    """

    if_transposed = SWAPPED

    @refuse_full_memory()
    def __init__(self, user_factors: Any, item_factors: Any, item_bias: Any = None) -> None:
        _check(user_factors, "user_factors")
        _check(item_factors, "item_factors")
        if user_factors.device != item_factors.device:
            msg = (
                f"user_factors is on the device {user_factors.device} and item_factors on "
                f"{item_factors.device}, expected one device; type "
                f"item_factors.to({str(user_factors.device)!r})"
            )
            raise InputTypeError(msg)
        check_factors(tuple(user_factors.shape), tuple(item_factors.shape))
        self.shape = (len(user_factors), len(item_factors))
        # As ``FactorScores`` computes them. On a GPU torch multiplies no whole numbers.
        torch = _torch()
        dtypes = {_name(user_factors.dtype), _name(item_factors.dtype)}
        dtype = torch.float32 if dtypes <= _SINGLE_DTYPES else torch.float64
        self._user_factors = user_factors.detach()
        self._item_factors = item_factors.detach().to(dtype)
        self._bias = None
        if item_bias is not None:
            self._bias = torch.as_tensor(item_bias).detach().to(self._item_factors)
            check_bias(tuple(self._bias.shape), self.shape[1])

    def take(self, rows: slice) -> "DeviceFactors":
        return DeviceFactors(self._user_factors[rows], self._item_factors, self._bias)

    def block(self, rows: slice) -> Any:
        scores = self._user_factors[rows].to(self._item_factors.dtype) @ self._item_factors.T
        return scores if self._bias is None else scores.add_(self._bias)


class DeviceRanker:
    """Scores on a device, and the truth, exclude and candidates of the same users."""

    def __init__(self, scores: DeviceScores, users: Users) -> None:
        self._scores = scores
        self._users = users
        self.n_users, self.n_items = scores.shape

    @refuse_full_memory()
    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        # One thread suffices, since the device works in parallel.
        blocks = row_blocks(self.n_users, _BLOCK_SCORES // max(1, self.n_items))
        rank = functools.partial(self._rank_block, k=k, ties=rules.ties, reader=reader)
        return hits_of_blocks(rank, blocks, 1, self._users, k, rules)

    def _rank_block(
        self, block: Block, k: int | None, ties: bool, reader: Reader | None
    ) -> RankedBlock:
        """Find the hits of a block down to rank ``k``, None for none, and pass on its lists."""
        rows, relevant, excluded = block
        ties = ties and k is not None
        scores, lowest, nan_report = self._recommendable(rows, excluded, reader)
        hits = empty_hits(relevant.start, relevant.values, ties=ties)
        if k is not None:
            n_listed = (scores > lowest).sum(1).cpu().numpy()
            hits.length[:] = np.minimum(k, n_listed)
            _keep_hits(_rank(scores, lowest, relevant), relevant, k, hits, ties=ties)
        if reader is not None:
            items = _select(scores, lowest, min(reader.depth, self.n_items))
            reader.read(Lists(rows, items, np.count_nonzero(items >= 0, axis=1), relevant))
        return RankedBlock(hits, nan_report)

    def _recommendable(
        self, rows: slice, excluded: Rows, reader: Reader | None
    ) -> tuple[Any, Any, IntArray]:
        """The scores of a block, in which items that may not be recommended have the lowest score.

        Also gives this lowest score, and the NaN report (count, row in the block, item of the
        first), of the candidates or, without candidates, of all items; excluded ones are included.
        """
        scores, lowest = _comparable(self._scores.block(rows))
        candidates = self._users.candidates
        if candidates is not None:
            # The rows and columns of the candidates.
            entries: tuple[Any, Any]
            if isinstance(candidates, SharedSet):
                items = candidates.items
                entries = slice(None), _send(items, scores)
            else:
                block_candidates = candidates.rows(rows)
                items = block_candidates.items
                entries = _entries(block_candidates, scores)
            # Without users, the one empty block offers nothing.
            if reader is not None and len(scores):
                reader.offer(items)
            all_scores = scores
            scores = all_scores.new_full(all_scores.shape, lowest)
            scores[entries] = all_scores[entries]

        nan_report = np.zeros(3, np.int64)
        if scores.is_floating_point():
            is_nan = scores.isnan()
            nan_report[N_NAN] = int(is_nan.sum())
            if nan_report[N_NAN]:
                nan_report[NAN_ROW:] = is_nan.nonzero()[0].tolist()
                scores = scores.masked_fill(is_nan, lowest)
        if len(excluded.items):
            scores = scores.index_put(_entries(excluded, scores), scores.new_tensor(lowest))
        return scores, lowest, nan_report


def _comparable(scores: Any) -> tuple[Any, Any]:
    """Convert scores to a dtype in which torch compares them; also give a lower score than any.

    Of floats this is -inf, which may be among the scores. Whole numbers become int64.
    """
    if scores.is_floating_point():
        return scores, float("-inf")
    torch = _torch()
    whole = scores.to(torch.int64)
    lowest = torch.iinfo(torch.int64).min
    if scores.dtype == torch.uint64:
        # Numbers from 2^63 on are negative here; the other sign bit gives the right order.
        whole = whole ^ lowest
    if (whole == lowest).any():
        # The lowest number is taken: numbers from 0 on in the same order take the place of scores.
        _, whole = whole.unique(return_inverse=True)
    return whole, lowest


def _send(array: IntArray, scores: Any) -> Any:
    """Copy an array to the device of the scores."""
    return _torch().as_tensor(array, device=scores.device)


def _entries(sets: Rows, scores: Any) -> tuple[Any, Any]:
    """The rows and the columns of the items of ``sets`` in the scores, on the device of these."""
    return _send(sets.users(), scores), _send(sets.items, scores)


def _rank(scores: Any, lowest: Any, relevant: Rows) -> IntArray:
    """Rank the relevant items: (3, slots) rank, number of greater scores, and of those as great.

    The last counts the scores >= that of the item. The rank of an item that may not be recommended,
    which has the lowest score, is 0.
    """
    n_relevant = np.diff(relevant.start)
    ranks = np.zeros((3, len(relevant.items)), np.int64)
    # Users with more relevant items come first, so that the users with an n-th one are a slice.
    by_number = np.argsort(-n_relevant, kind="stable")
    n_many = int(np.count_nonzero(n_relevant > _MANY_RELEVANT))
    n_any = int(np.count_nonzero(n_relevant))
    for rank_items, users in ((_search, by_number[:n_many]), (_count, by_number[n_many:n_any])):
        if not len(users):
            continue
        # The relevant items as a matrix (users, slots), filled up where a user has fewer.
        slots = np.arange(n_relevant[users[0]])
        is_slot = slots < n_relevant[users, np.newaxis]
        places = np.where(is_slot, relevant.start[users, np.newaxis] + slots, 0)
        items = _send(relevant.items[places], scores)
        user_scores = scores[_send(users, scores)]
        user_ranks = rank_items(user_scores, items, is_slot.sum(0).tolist())
        user_ranks[0] *= user_scores.gather(1, items) > lowest
        ranks[:, places[is_slot]] = user_ranks.cpu().numpy()[:, is_slot]
    return ranks


def _count(scores: Any, items: Any, n_users_of: list[int]) -> Any:
    """Rank ``items`` (rows, slots) by counts: (3, rows, slots) rank, scores > and >= the item's.

    Slot i has an item in the first ``n_users_of[i]`` rows, and 0 behind them.
    """
    counts = items.new_zeros((3, *items.shape))
    columns = _torch().arange(scores.shape[1], device=scores.device)
    for slot, n_users in enumerate(n_users_of):
        rows = scores[:n_users]
        item = items[:n_users, slot, None]
        score = rows.gather(1, item)
        above = (rows > score).sum(1)
        is_equal = rows == score
        counts[0, :n_users, slot] = 1 + above + (is_equal & (columns < item)).sum(1)
        counts[1, :n_users, slot] = above
        counts[2, :n_users, slot] = above + is_equal.sum(1)
    return counts


def _search(scores: Any, items: Any, n_users_of: list[int]) -> Any:  # noqa: ARG001
    """Find the numbers that ``_count`` counts by a sort of each row.

    Slots that a user lacks are searched as well.
    """
    torch = _torch()
    n_items = scores.shape[1]
    ordered, columns = _sort(scores)
    ranks = torch.arange(1, n_items + 1, device=scores.device).expand_as(columns)
    rank = torch.empty_like(columns).scatter_(1, columns, ranks).gather(1, items)
    ascending = ordered.flip(1)
    item_scores = scores.gather(1, items)
    above = n_items - torch.searchsorted(ascending, item_scores, right=True)
    reaching = n_items - torch.searchsorted(ascending, item_scores)
    return torch.stack((rank, above, reaching))


def _sort(scores: Any) -> Any:
    """Sort each row, best first, equal scores by column; also give the column of each score."""
    # On some devices -0.0 sorts below the 0.0 that it equals; the sum of -0.0 and 0 is 0.0.
    return (scores + 0).sort(dim=1, descending=True, stable=True)


def _select(scores: Any, lowest: Any, k: int) -> IntArray:
    """The ``k`` best items of each row, (rows, k), best first, -1 after the end of a shorter list.

    ``lowest`` is the score of items that are not to be listed, such as excluded ones.
    """
    if not k:
        return np.empty((len(scores), 0), np.int64)
    worst_score = scores.topk(k, sorted=False).values.amin(1, keepdim=True)  # of the k best
    is_above = scores > worst_score
    is_equal = scores == worst_score
    room = k - is_above.sum(1, keepdim=True)  # for items with the worst score, the first ones
    is_best = is_above | (is_equal & (is_equal.cumsum(1) <= room))
    columns = is_best.nonzero()[:, 1].view(-1, k)  # row by row, ascending
    best_scores, order = _sort(scores.gather(1, columns))
    items = columns.gather(1, order).masked_fill(best_scores == lowest, -1)
    return np.asarray(items.cpu().numpy(), np.int64)


def _keep_hits(ranks: IntArray, relevant: Rows, k: int, hits: Hits, *, ties: bool) -> None:
    """Fill ``hits`` with the relevant items among the first ``k``, in rank order of each user.

    ``ranks`` are those of ``_rank``. With ``ties``, an item that is among the first ``k`` in any
    order of equal scores is a hit.
    """
    rank, above, reaching = ranks
    best_rank = above + 1 if ties else rank
    entries = np.flatnonzero((rank > 0) & (best_rank <= k))
    users = relevant.users()[entries]
    entries = entries[np.lexsort((rank[entries], users))]
    hits.n_hits[:] = np.bincount(users, minlength=len(hits.n_hits))

    n_before = np.cumsum(hits.n_hits) - hits.n_hits
    slots = np.arange(len(entries)) + (relevant.start[:-1] - n_before)[users]
    hits.rank[slots] = rank[entries]
    hits.gain[slots] = relevant.values[entries]
    if ties:
        hits.first[slots] = best_rank[entries]
        hits.last[slots] = reaching[entries]


def _name(dtype: Any) -> str:
    """The name of a dtype or a layout of torch, such as float32."""
    return str(dtype).removeprefix("torch.")


def _check(tensor: Any, name: str) -> None:
    """Refuse a tensor, given as argument ``name``, that is not dense, 2-d and of real numbers."""
    dtype = _name(tensor.dtype)
    layout = _name(tensor.layout)
    if layout != "strided":
        msg = f"{name} is sparse ({layout}), expected a dense tensor; type {name}.to_dense()"
        raise InputTypeError(msg)
    check_2d(tuple(tensor.shape), name, f"{name}[None]")
    if dtype not in _REAL_DTYPES:
        cast = f"{name}.real" if tensor.is_complex() else f"{name}.float()"
        msg = (
            f"{name} must hold real numbers (float16, bfloat16, float32, float64, integers or "
            f"bool), got dtype {dtype}; type {cast}"
        )
        raise InputTypeError(msg)
