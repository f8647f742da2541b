"""Scores in the memory of a device: the ranks of relevant items, and lists, by torch alone.

The best items of a row are selected by a bound: the row is folded into the maxima of groups of
neighbouring items, and the k-th best maximum is the bound. Only groups that reach it are read
again.

Tie groups, and metrics without a cutoff, need the ranks of all relevant items. These are counted: a
block of rows is compared once with each of the relevant items of its users. The rows of users who
have many are sorted instead.

Only a block of bounded size is ever copied: with the lowest score where an item may not be
recommended. All results leave the device as integers, since some devices have no float64.

The tests run this code on CUDA where torch finds it, and otherwise on torch's CPU device. It has
not been run on a ROCm or MPS device.
"""

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import DeviceMemoryError, InputTypeError
from recmetrics._core.inputs import (
    N_NAN,
    NAN_ROW,
    UNLABELLED_SCORES,
    Rows,
    SharedSet,
    Users,
    check_2d,
)
from recmetrics._core.selection.factors import SWAPPED, check_bias, check_factors
from recmetrics._core.selection.hits import Hits, empty_hits
from recmetrics._core.selection.lists import Lists, Reader
from recmetrics._core.selection.rankers import Block, RankedBlock, hits_of_blocks
from recmetrics._core.spec import Request
from recmetrics._core.threads import row_blocks
from recmetrics._core.types import IntArray

_DLPACK_GPUS = {2, 10}  # the numbers of CUDA and ROCm in DLPack
_BLOCK_BYTES = 1 << 29  # at most about so much for copies, masks and indices; half is usual
_BYTES_PER_COUNTED_SCORE = 48  # most of them where rows are sorted
_BYTES_PER_READ_ITEM = 24  # of an item in a group that reaches the bound, with its indices
_BYTES_PER_ENTRY = 72  # of such an item that reaches the bound itself
_MANY_RELEVANT = 6  # items; a sort of the row of a user with more beats counting
# Neighbouring items. torch reduces groups of 32 in five times the time of groups of 256.
_LARGEST_GROUP = 256
_GROUPS_PER_BEST = 4  # groups for each of the k best; with fewer, more items reach the bound
_ITEMS_PER_BEST = 4  # ranks are selected down to a quarter of the items, and else counted
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

    tables = UNLABELLED_SCORES  # tensors have no labels
    if_transposed: str | None = None  # the hint where the truth has users and items exchanged

    def __init__(self, tensor: Any) -> None:
        _check(tensor, "scores")
        self._tensor = tensor.detach()
        self.shape: tuple[int, int] = tuple(tensor.shape)
        # Bytes of device memory that a block takes for each of its scores: ``made_bytes`` before it
        # is ranked, ``copied_bytes`` for a copy in which items are hidden; 0 for one that is made.
        is_float = tensor.is_floating_point()
        is_read_as_given = is_float or _name(tensor.dtype) == "int64"
        self.made_bytes = 0 if is_float else 16  # two arrays of int64
        self.copied_bytes = tensor.element_size() if is_read_as_given else 0

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
        torch = _torch()
        dtypes = {_name(user_factors.dtype), _name(item_factors.dtype)}
        # As ``FactorScores`` computes them. On a GPU torch multiplies no whole numbers.
        dtype = torch.float32 if dtypes <= _SINGLE_DTYPES else torch.float64
        self._user_factors = user_factors.detach()  # converted block by block
        self._item_factors = item_factors.detach().to(dtype)
        self.made_bytes = self._item_factors.element_size()
        self.copied_bytes = 0
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
        is_counted = k is not None and (rules.ties or k * _ITEMS_PER_BEST > self.n_items)
        n_listed = 0 if reader is None else min(reader.depth, self.n_items)
        n_best = n_listed
        if k is not None and not is_counted:
            n_best = max(n_best, k)
        # One thread suffices, since the device works in parallel.
        user_bytes = self._bytes_per_user(n_best, is_counted=is_counted)
        blocks = row_blocks(self.n_users, _BLOCK_BYTES // max(1, user_bytes))
        rank = functools.partial(
            self._rank_block,
            k=k,
            n_best=n_best,
            n_listed=n_listed,
            is_counted=is_counted,
            ties=rules.ties and k is not None,
            reader=reader,
        )
        return hits_of_blocks(rank, blocks, 1, self._users, k, rules)

    def _bytes_per_user(self, n_best: int, *, is_counted: bool) -> int:
        """About the device memory that a block takes for each of its users."""
        score_bytes = 1 + self._scores.made_bytes
        if self._users.candidates is not None:
            score_bytes += 8  # a copy, and the scores of the candidates
        elif self._users.exclude is not None:
            score_bytes += self._scores.copied_bytes
        if is_counted:
            score_bytes += _BYTES_PER_COUNTED_SCORE
        n_read = min(self.n_items, n_best * _group_size(self.n_items, n_best))
        best_bytes = n_read * _BYTES_PER_READ_ITEM + n_best * _BYTES_PER_ENTRY
        return self.n_items * score_bytes + best_bytes

    def _rank_block(
        self,
        block: Block,
        k: int | None,
        n_best: int,
        n_listed: int,
        is_counted: bool,
        ties: bool,
        reader: Reader | None,
    ) -> RankedBlock:
        """Find the hits of a block down to rank ``k``, None for none, and pass on its lists.

        The ``n_best`` best items of each user are selected, and hold the hits unless the ranks of
        all relevant items are counted. Lists have the first ``n_listed`` of them.
        """
        rows, relevant, excluded = block
        scores, lowest, nan_report = self._recommendable(rows, excluded, reader)
        best = _select(scores, n_best)
        hits = empty_hits(relevant.start, relevant.values, ties=ties)
        if k is not None:
            if is_counted:
                length = (scores > lowest).sum(1)
                ranks = _count_ranks(scores, lowest, relevant)
            else:
                length = best.length
                ranks = best.ranks_of(relevant)
            hits.length[:] = length.clamp(max=k).cpu().numpy()
            _keep_hits(ranks, relevant, k, hits, ties=ties)
        if reader is not None:
            items = best.lists(n_listed)
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
        is_given = self._scores.copied_bytes > 0  # by the caller, so that it must not change
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
            is_given = False

        nan_report = np.zeros(3, np.int64)
        # The maximum of a row with NaN is NaN: one read, where a mask of NaN takes two.
        if scores.is_floating_point() and scores.numel() and scores.amax(1).isnan().any():
            is_nan = scores.isnan()
            nan_report[N_NAN] = int(is_nan.sum())
            nan_report[NAN_ROW:] = is_nan.nonzero()[0].tolist()
            scores = scores.masked_fill(is_nan, lowest)
            is_given = False
        if len(excluded.items):
            hide = scores.index_put if is_given else scores.index_put_
            scores = hide(_entries(excluded, scores), scores.new_tensor(lowest))
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


class _Best(NamedTuple):
    """The best items of each row of a block, as tensors on its device.

    Entries are row by row, with ascending columns. Some have a rank behind the last one selected.
    """

    n_items: int
    length: Any  # (rows,) the number of entries of each row
    row: Any  # (entries,)
    column: Any  # (entries,) the item
    rank: Any  # (entries,) 1-based

    def ranks_of(self, relevant: Rows) -> IntArray:
        """The ranks of the relevant items, (1, slots); 0 where an item has no entry."""
        sought = _send(relevant.users() * self.n_items + relevant.items, self.row)
        if not len(self.row):
            return np.zeros((1, len(sought)), np.int64)
        entries = self.row * self.n_items + self.column
        place = _torch().searchsorted(entries, sought).clamp(max=len(entries) - 1)
        ranks = self.rank[place] * (entries[place] == sought)
        return np.asarray(ranks.cpu().numpy()[np.newaxis], np.int64)

    def lists(self, width: int) -> IntArray:
        """The items of each row, (rows, width), best first, -1 after the end of a shorter list."""
        items = self.column.new_full((len(self.length), width), -1)
        listed = (self.rank <= width).nonzero().squeeze(1)
        items[self.row[listed], self.rank[listed] - 1] = self.column[listed]
        return np.asarray(items.cpu().numpy(), np.int64)


def _group_size(n_items: int, k: int) -> int:
    """The number of neighbouring items whose maximum is taken, to select the ``k`` best."""
    size = 1
    while size < _LARGEST_GROUP and n_items >= 2 * size * _GROUPS_PER_BEST * k:
        size *= 2
    return size


def _select(scores: Any, k: int) -> _Best:
    """Select the ``k`` best items of each row; items with the lowest score of all are left out."""
    torch = _torch()
    n_rows, n_items = scores.shape
    if not n_rows or not k:
        none = torch.zeros(0, dtype=torch.int64, device=scores.device)
        return _Best(n_items, none.new_zeros(n_rows), none, none, none)

    size = _group_size(n_items, k)
    n_whole = n_items // size
    maxima = scores[:, : n_whole * size].unflatten(1, (n_whole, size)).amax(2)
    if n_whole * size < n_items:
        rest = scores[:, n_whole * size :].amax(1, keepdim=True)
        maxima = torch.cat((maxima, rest), 1)
    # Of floats -inf is the lowest score, and of whole numbers the least of int64.
    is_float = scores.is_floating_point()
    least = torch.finfo(scores.dtype).min if is_float else torch.iinfo(scores.dtype).min + 1
    # At least k groups reach the bound, and so do at least k items.
    bound = maxima.topk(k, sorted=False).values.amin(1, keepdim=True).clamp(min=least)

    # Of the groups whose maximum is the bound, the first k have the first k items that equal it.
    is_tied = maxima == bound
    is_read = (maxima > bound) | (is_tied & (is_tied.cumsum(1, dtype=torch.int32) <= k))
    row, group = is_read.nonzero(as_tuple=True)
    columns = group[:, None] * size + torch.arange(size, device=scores.device)
    group_scores = scores[row[:, None], columns.clamp(max=n_items - 1)]
    reaches = (group_scores >= bound[row]) & (columns < n_items)
    entries = reaches.nonzero(as_tuple=True)
    row = row[entries[0]]

    # The entries by row, best first, equal scores by column; row by row, each takes its rank.
    _, order = _sort(group_scores[entries])
    order = order[row[order].sort(stable=True).indices]
    length = torch.bincount(row, minlength=n_rows)
    first = length.cumsum(0) - length
    rank = torch.empty_like(order)
    rank[order] = torch.arange(1, len(order) + 1, device=scores.device) - first[row]
    return _Best(n_items, length, row, columns[entries], rank)


def _count_ranks(scores: Any, lowest: Any, relevant: Rows) -> IntArray:
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
    torch = _torch()
    counts = items.new_zeros((3, *items.shape))
    columns = torch.arange(scores.shape[1], device=scores.device)
    for slot, n_users in enumerate(n_users_of):
        rows = scores[:n_users]
        item = items[:n_users, slot, None]
        score = rows.gather(1, item)
        # A sum of int64, the default, converts the mask in twice the time.
        above = (rows > score).sum(1, dtype=torch.int32)
        reaching = (rows >= score).sum(1, dtype=torch.int32)
        counts[0, :n_users, slot] = 1 + above
        counts[1, :n_users, slot] = above
        counts[2, :n_users, slot] = reaching
        tied = (reaching > above + 1).nonzero().squeeze(1)
        if len(tied):
            is_before = (rows[tied] == score[tied]) & (columns < item[tied])
            counts[0, tied, slot] += is_before.sum(1)
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
    return (scores + 0).sort(dim=-1, descending=True, stable=True)


def _keep_hits(ranks: IntArray, relevant: Rows, k: int, hits: Hits, *, ties: bool) -> None:
    """Fill ``hits`` with the relevant items among the first ``k``, in rank order of each user.

    ``ranks`` are those of ``_count_ranks``, or their first row alone. With ``ties``, an item that
    is among the first ``k`` in any order of equal scores is a hit.
    """
    rank = ranks[0]
    best_rank = ranks[1] + 1 if ties else rank
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
        hits.last[slots] = ranks[2, entries]


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
