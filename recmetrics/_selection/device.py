"""Scores in the memory of a device: ranks are counted there, lists are selected there.

Ranks are counted by the kernels of ``cuda``, where Numba can run them; then only the ranks are
copied back. Lists are selected by torch, and so are ranks without these kernels.

``torch.topk`` reads a row several times. So the best score of each chunk of a row is found first,
in one read. The k best items lie in the k best chunks, and are selected from the items of these.

The scores are read in place. Excluded items are hidden in copies of their chunks. Candidates, NaN,
and excluded items of rows that are not cut into chunks, are handled in a copy of some rows at a
time, so that the device never holds a second matrix.
"""

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from recmetrics._errors import DeviceMemoryError, InputTypeError
from recmetrics._inputs import (
    N_NAN,
    NAN_ITEM,
    NAN_ROW,
    ItemSets,
    Rows,
    SharedSet,
    as_array,
    check_2d,
)
from recmetrics._selection import kernels
from recmetrics._selection.hits import Hits, empty_hits
from recmetrics._threads import row_blocks
from recmetrics._types import IntArray

_DLPACK_DEVICE = {2, 10}  # CUDA and ROCm
_SCRATCH_BYTES = 256 << 20  # on the device beside the scores, for each of a few copies of rows
_READ_SCORES = 1 << 30  # in one block: some milliseconds, so that Ctrl-C is handled soon
_LEAST_CHUNK = 16  # items: where chunks would be smaller, whole rows are selected from
_LIST_BYTES = 64  # of scratch for an item of a list: its score and index, both sorted twice
_ENTRY_BYTES = 80  # for an item of a set: its row, its column, and its chunk, which is sorted
_CHUNK_BYTES = 32  # for a chunk, and an item of a chosen one: its place, score and tie key
_REAL = {"bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"} | {
    "float16", "bfloat16", "float32", "float64",
}  # fmt: skip

# torch cannot select from these dtypes; it selects from a view of the same bytes.
_VIEWED_AS = {"bool": "uint8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}


class BestItems(NamedTuple):
    """The lists of a block of users, and the NaN found."""

    items: IntArray  # (rows, k) best first, -1 after the end of a shorter list
    length: IntArray  # (rows,) the number of items of each row
    nan_found: IntArray  # (3,) the number of NaN, and the row and item of the first


class _Choice(NamedTuple):
    """The scores to select from, all tensors."""

    scores: Any  # (rows, width)
    items: Any  # (rows, width) the item of each column, ascending; None: the column is the item
    hidden: Any  # the rows and the columns of entries that may not be selected, or None


def on_device(value: Any) -> bool:
    """Say whether ``value`` is in the memory of a GPU."""
    try:
        return value.__dlpack_device__()[0] in _DLPACK_DEVICE
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
    return importlib.import_module("torch")


class Way(NamedTuple):
    """How the relevant items are ranked on a device."""

    counting: Any  # the module ``cuda``, or None: lists are selected
    words: str  # for a log and a progress bar


@functools.cache
def way_on(device: str) -> Way:
    """Try the kernels on a device, once in a process."""
    problem = "no CUDA device"
    config: Any = numba.config
    if device.startswith("cuda") or config.ENABLE_CUDASIM:
        try:
            counting = importlib.import_module("recmetrics._selection.cuda")
            counting.check_kernels(device)
            return Way(counting, f"ranks counted on {device} by numba.cuda")
        except Exception as error:  # any: of the import, the driver, the compiler
            reason = str(error).strip() or "no reason given"
            problem = f"numba.cuda: {type(error).__name__}: {' '.join(reason.split())}"
    return Way(None, f"lists selected on {device} by torch ({problem})")


@contextlib.contextmanager
def refuse_full_memory() -> Iterator[None]:
    """Raise one error wherever the memory of a device is full, as a decorator."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # a class whose place in torch has changed
            raise
        msg = (
            f"the device has no memory left to rank the scores, and nothing was added: {error}; "
            "give fewer users at a time, or type torch.cuda.empty_cache() first"
        )
        raise DeviceMemoryError(msg) from error


class DeviceScores:
    """The scores of one call as a tensor; lists are selected on its device."""

    short_rows = 0

    def __init__(self, tensor: Any, *, what: str = "scores") -> None:
        _check(tensor, what)
        torch = _torch()
        self._what = what
        self._tensor = tensor.detach()
        name = _name(tensor.dtype)
        self._viewed = self._tensor.view(getattr(torch, _VIEWED_AS.get(name, name)))
        self._is_float = tensor.is_floating_point()
        info = None if self._is_float else torch.iinfo(self._viewed.dtype)
        self._lowest = float("-inf") if info is None else info.min
        self._is_unsigned_view = name.startswith("uint") and name in _VIEWED_AS
        self.shape: tuple[int, int] = tuple(tensor.shape)
        self.way = way_on(str(tensor.device))

    def blocks(self, k: int, row_items: float, n_threads: int) -> tuple[list[slice], int]:  # noqa: ARG002
        """Row blocks for lists of ``k``, with ``row_items`` entries of a row read on the host.

        One thread, since the device works in parallel.
        """
        n_users, n_items = self.shape
        host_bytes = int(8 * k + 32 * row_items)
        rows = min(_READ_SCORES // max(1, n_items), _SCRATCH_BYTES // max(1, host_bytes))
        return row_blocks(n_users, rows, 1), 1

    @refuse_full_memory()
    def host(self, rows: slice) -> npt.NDArray[Any]:
        """Copy a block of whole rows to the CPU."""
        return as_array(self._tensor[rows].cpu(), self._what)

    def take(self, rows: slice) -> "DeviceScores":
        """Take the scores of some consecutive users."""
        return DeviceScores(self._tensor[rows], what=self._what)

    @refuse_full_memory()
    def rank(
        self,
        rows: slice,
        k: int,
        relevant: Rows,
        excluded: Rows | None = None,
        candidates: ItemSets | Rows | None = None,
        *,
        ties: bool = False,
    ) -> tuple[Hits, IntArray]:
        """Count the ranks of the relevant items of a block, up to ``k``.

        The sets are those of the block. Also gives the NaN, as ``best`` does.
        """
        if isinstance(candidates, ItemSets) and not isinstance(candidates, SharedSet):
            candidates = candidates.rows(slice(0, rows.stop - rows.start))
        counts = self.way.counting.count_ranks(
            self._tensor[rows], relevant, excluded, candidates, ties=ties
        )
        hits = empty_hits(relevant.start, relevant.values, ties=ties)
        tied = kernels.tied_of(hits, ties=ties)
        kernels.keep_counted(counts.ranks, relevant.values, k, hits, tied)
        longest = int(np.diff(relevant.start).max(initial=0))
        kernels.sort_hits(hits, tied, longest, self.shape[1] if ties else k)
        n_listed, n_nan, first_nan = counts.tally.T
        hits.length[:] = np.minimum(k, n_listed)
        nan_found = np.zeros(3, np.int64)
        if n_nan.any():
            row = int(np.flatnonzero(n_nan)[0])
            nan_found[:] = n_nan.sum(dtype=np.int64), row, first_nan[row]
        return hits, nan_found

    @refuse_full_memory()
    def best(
        self,
        rows: slice,
        k: int,
        excluded: Rows | None = None,
        candidates: ItemSets | Rows | None = None,
    ) -> BestItems:
        """Select the ``k`` best items of each row of a block.

        ``excluded`` and ``candidates`` are those of the block. NaN are counted over whole rows, or
        the candidates, and not selected; the row of the first is counted within the block.
        """
        n_rows = rows.stop - rows.start
        if isinstance(candidates, ItemSets) and not isinstance(candidates, SharedSet):
            candidates = candidates.rows(slice(0, n_rows))
        best = BestItems(
            np.full((n_rows, k), -1, np.int64), np.zeros(n_rows, np.int64), np.zeros(3, np.int64)
        )
        for part in self._parts(n_rows, k, excluded, candidates):
            own = slice(rows.start + part.start, rows.start + part.stop)
            choice = self._choice(
                own,
                None if excluded is None else excluded.cut(part),
                candidates.cut(part) if isinstance(candidates, Rows) else candidates,
            )
            depth = min(k, choice.scores.shape[1])
            if not depth or not len(choice.scores):
                continue
            nan_found, columns = self._select(choice, depth)
            if choice.items is not None:
                items = choice.items.gather(1, columns.clamp(min=0))
                columns = items.masked_fill(columns < 0, -1)
            # int32 halves the bytes copied back; no catalogue has 2^31 items.
            best.items[part, :depth] = columns.to(_torch().int32).cpu().numpy()
            best.length[part] = (columns >= 0).sum(1).cpu().numpy()
            if nan_found[N_NAN] and not best.nan_found[N_NAN]:
                best.nan_found[NAN_ROW:] = nan_found[NAN_ROW] + part.start, nan_found[NAN_ITEM]
            best.nan_found[N_NAN] += nan_found[N_NAN]
        return best

    def _parts(
        self, n_rows: int, k: int, excluded: Rows | None, candidates: Rows | SharedSet | None
    ) -> list[slice]:
        """Cut the rows into parts whose copies fit into the scratch memory."""
        itemsize, width = self._viewed.element_size(), self.shape[1]
        n_hidden = most_hidden = 0
        if excluded is not None:
            n_hidden = -(-len(excluded.items) // max(1, n_rows))
            most_hidden = int(np.diff(excluded.start).max(initial=0))
        if isinstance(candidates, SharedSet):
            width = len(candidates.items)
        elif candidates is not None:
            width = int(np.diff(candidates.start).max(initial=0))
            n_hidden, most_hidden = n_hidden + width, width  # the padding
        row_bytes = _LIST_BYTES * k + _ENTRY_BYTES * n_hidden
        is_copied = candidates is not None or self._is_unsigned_view
        if is_copied:
            row_bytes += itemsize * width
        size = _chunk_size(width, k)
        if size:
            row_bytes += _CHUNK_BYTES * (width // size + k * size)
            row_bytes += (itemsize + 1) * min(width, most_hidden * size)
        elif n_hidden or not (is_copied or self._viewed.is_contiguous()):
            row_bytes += (itemsize + 1) * width
        return row_blocks(n_rows, _SCRATCH_BYTES // max(1, row_bytes), 1)

    def _choice(
        self, rows: slice, excluded: Rows | None, candidates: Rows | SharedSet | None
    ) -> _Choice:
        block = self._viewed[rows]
        if candidates is None:
            hidden = None if excluded is None else self._entries(excluded)
            return _Choice(self._ordered(block), None, hidden)
        if isinstance(candidates, SharedSet):
            items = self._send(candidates.items).expand(len(block), -1)
            hidden = None if excluded is None else self._entries(excluded, candidates.items)
            return _Choice(self._ordered(block.gather(1, items)), items, hidden)
        length = np.diff(candidates.start)[:, None]
        is_item = np.arange(length.max(initial=0)) < length
        padded = np.zeros(is_item.shape, np.int64)
        padded[is_item] = candidates.items
        items, padding = self._send(padded), self._send(~is_item)
        scores = self._ordered(block.gather(1, items)).masked_fill_(padding, self._lowest)
        is_hidden = ~is_item
        if excluded is not None:
            keys = excluded.users() * self.shape[1] + excluded.items
            is_hidden[is_item] = np.isin(
                candidates.users() * self.shape[1] + candidates.items, keys, kind="sort"
            )
        return _Choice(scores, items, self._send(is_hidden).nonzero(as_tuple=True))

    def _ordered(self, block: Any) -> Any:
        """Convert viewed unsigned integers to signed ones in the same order; keep all others."""
        return block ^ self._lowest if self._is_unsigned_view else block

    def _entries(self, excluded: Rows, shared: IntArray | None = None) -> Any:
        """The row and the column of each excluded item, among ``shared`` items where given."""
        torch = _torch()
        columns = self._send(excluded.items)
        counts = self._send(np.diff(excluded.start))
        rows = torch.repeat_interleave(counts, output_size=len(columns))
        if shared is None:
            return rows, columns
        column_of = np.full(self.shape[1], -1)
        column_of[shared] = np.arange(len(shared))
        columns = self._send(column_of)[columns]
        return rows[columns >= 0], columns[columns >= 0]

    def _send(self, array: npt.NDArray[Any]) -> Any:
        return _torch().as_tensor(array, device=self._viewed.device)

    def _select(self, choice: _Choice, k: int) -> tuple[tuple[int, int, int], Any]:
        """The NaN found, and the columns (rows, k) of the best, -1 after the end of a list."""
        columns, has_nan = self._columns(choice, k)
        nan_found = (0, 0, 0) if has_nan is None else self._drop_nan(choice, has_nan, columns)
        return nan_found, columns

    def _columns(self, choice: _Choice, k: int) -> tuple[Any, Any]:
        """The columns (rows, k) of the best, wrong in rows with a NaN; and which rows have one.

        A hidden NaN is one, too. Integers have None in place of the rows.
        """
        scores = choice.scores
        size = _chunk_size(scores.shape[1], k)
        if not size:
            return self._from_rows(choice, k), scores.amax(1).isnan() if self._is_float else None
        best = _best_of_chunks(scores, size)
        has_nan = None
        if self._is_float:
            has_nan = best.isnan().any(1) | scores[:, best.shape[1] * size :].isnan().any(1)
        return self._from_chunks(choice, k, size, best), has_nan

    def _from_rows(self, choice: _Choice, k: int) -> Any:
        """The columns (rows, k) of the best, selected from whole rows."""
        torch = _torch()
        scores, is_hidden = choice.scores, None
        if choice.hidden is not None:
            scores = scores.index_put(choice.hidden, scores.new_tensor(self._lowest))
            is_hidden = torch.zeros_like(scores, dtype=torch.bool)
            is_hidden[choice.hidden] = True
        return self._k_best(scores, k, is_hidden)

    def _from_chunks(self, choice: _Choice, k: int, size: int, best: Any) -> Any:
        """The columns (rows, k) of the best, selected from the k best chunks of each row.

        Chunks are ordered by their ``best`` score, equal ones from left to right. So each of the
        first k chunks has an item before every item of the other chunks. The end of a row, which
        fills no chunk, is always selected from, too.
        """
        torch = _torch()
        scores, hidden = choice.scores, choice.hidden
        (n_rows, width), n_chunks, device = scores.shape, best.shape[1], scores.device
        is_whole = None if hidden is None else self._hide(scores, hidden, size, best)
        # From left to right, as the items are ordered; -1 where a row has fewer.
        chunks = self._k_best(best, k, is_whole).sort(1).values
        chunks = torch.nn.functional.pad(chunks, (0, 1), value=n_chunks)  # the end of the row
        items = (chunks[:, :, None] * size + torch.arange(size, device=device)).flatten(1)
        items = items[:, : k * size + width - n_chunks * size]
        is_hidden = items < 0
        if hidden is not None:
            rows, columns = hidden
            # Each chunk gets its place among the chosen ones; -1 writes into the last column.
            place = torch.full((n_rows, n_chunks + 2), -1, device=device)
            every_row = torch.arange(n_rows, device=device)[:, None]
            place[every_row, chunks] = torch.arange(k + 1, device=device)
            place = place[rows, columns // size]
            is_among = place >= 0
            place = place * size + columns % size
            is_hidden[rows[is_among], place[is_among]] = True
        items = items.clamp_(min=0)
        found = scores.gather(1, items).masked_fill_(is_hidden, self._lowest)
        columns = self._k_best(found, k, None if hidden is None else is_hidden)
        return items.gather(1, columns.clamp(min=0)).masked_fill(columns < 0, -1)

    def _hide(self, scores: Any, hidden: Any, size: int, best: Any) -> Any:
        """Change the ``best`` score of each chunk to that of its items that are not hidden.

        Gives the chunks (rows, chunks) whose items are all hidden.
        """
        torch = _torch()
        rows, columns = hidden
        n_chunks = best.shape[1]
        is_in_chunk = columns < n_chunks * size
        keys = (rows * n_chunks + columns // size)[is_in_chunk]
        keys, place = torch.unique(keys, return_inverse=True)
        chunks = keys // n_chunks, keys % n_chunks
        copies = scores.unfold(1, size, size)[chunks]
        is_hidden = torch.zeros_like(copies, dtype=torch.bool)
        is_hidden[place, columns[is_in_chunk] % size] = True
        best[chunks] = copies.masked_fill_(is_hidden, self._lowest).amax(1)
        is_whole = torch.zeros_like(best, dtype=torch.bool)
        is_whole[chunks] = is_hidden.all(1)
        return is_whole

    def _k_best(self, scores: Any, k: int, is_hidden: Any) -> Any:
        """The columns (rows, k) of the best scores, -1 after the end of a list.

        Hidden scores are the lowest. ``is_hidden`` marks them, since an integer may be as low.
        """
        width = scores.shape[1]
        # A few more than k, so that the scores equal to the k-th best, unless there are many, are
        # all found and can be ordered.
        n_found = min(width, k + max(6, k // 4))
        found, columns = _sort(*scores.topk(n_found, sorted=False))
        cutoff = found[:, k - 1]
        is_open = (found[:, -1] == cutoff) & (n_found < width)
        if self._is_float:
            is_open &= cutoff > self._lowest
        elif is_hidden is not None:
            is_open |= cutoff == self._lowest
        found, columns = found[:, :k], columns[:, :k]
        if self._is_float:
            columns = columns.masked_fill(found == self._lowest, -1)
        for rows in self._few(is_open, width):
            hidden = None if is_hidden is None else is_hidden[rows]
            columns[rows] = _lowest_of_equals(scores[rows], hidden, found[rows], columns[rows])
        return columns

    def _drop_nan(self, choice: _Choice, has_nan: Any, columns: Any) -> tuple[int, int, int]:
        """Count the NaN, hidden ones too, and select again in the rows that have some."""
        torch = _torch()
        count, user, item = 0, 0, 0
        for rows in self._few(has_nan, choice.scores.shape[1]):
            scores = choice.scores[rows]
            is_nan = scores.isnan()
            if not count:
                user, column = int(rows[0]), int(is_nan[0].nonzero()[0])
                item = column if choice.items is None else int(choice.items[user, column])
            count += int(is_nan.sum())
            scores = scores.masked_fill_(is_nan, self._lowest)
            if choice.hidden is not None:
                place = torch.full((len(choice.scores),), -1, device=scores.device)
                place[rows] = torch.arange(len(rows), device=scores.device)
                among = place[choice.hidden[0]]
                scores[among[among >= 0], choice.hidden[1][among >= 0]] = self._lowest
            columns[rows] = self._columns(_Choice(scores, None, None), columns.shape[1])[0]
        return count, user, item

    def _few(self, chosen: Any, width: int) -> Iterator[Any]:
        """Yield the indices of the chosen rows, as many at a time as copies of them fit."""
        rows = chosen.nonzero().squeeze(1)
        if len(rows):
            row_bytes = (self._viewed.element_size() + 6) * width  # a copy, masks, int32 keys
            yield from rows.split(max(1, _SCRATCH_BYTES // row_bytes))


def _chunk_size(width: int, k: int) -> int:
    """The number of items of a chunk, or 0 where whole rows are selected from.

    It is about the square root of width / k, so that there are about as many chunks as items in k
    of them. It is a power of two, as memory is read.
    """
    size = 1 << (width // max(1, k)).bit_length() // 2
    return size if size >= _LEAST_CHUNK else 0


def _best_of_chunks(scores: Any, size: int) -> Any:
    """The best score of each whole chunk (rows, chunks); NaN where a chunk has one."""
    if scores.stride(0) < scores.stride(1):  # a transposed matrix, which is read as it lies
        return scores.T.unfold(0, size, size).amax(2).T
    return scores.unfold(1, size, size).amax(2)


def _sort(found: Any, columns: Any) -> tuple[Any, Any]:
    """Sort each row by score, best first, equal scores by column."""
    columns, order = columns.sort(dim=1)
    found = found.gather(1, order)
    # On some devices -0.0 sorts below the 0.0 that it equals.
    found, order = found.masked_fill(found == 0, 0).sort(dim=1, descending=True, stable=True)
    return found, columns.gather(1, order)


def _lowest_of_equals(scores: Any, is_hidden: Any, found: Any, columns: Any) -> Any:
    """The columns (rows, k) of rows where more scores equal the k-th best than were found.

    All better scores were found. Of the equal scores, the first columns are selected by a key that
    falls from column to column.
    """
    torch = _torch()
    k, width, device = columns.shape[1], scores.shape[1], scores.device
    cutoff = found[:, -1:]
    falling = torch.arange(width, 0, -1, dtype=torch.int32, device=device)
    keys = torch.where(scores == cutoff, falling, 0)
    if is_hidden is not None:
        keys.masked_fill_(is_hidden, 0)
    equal = width - keys.topk(k).values.long()
    equal = equal.masked_fill(equal == width, -1)
    n_better = (found > cutoff).sum(1, keepdim=True)
    rank = torch.arange(k, device=device) - n_better
    return torch.where(rank < 0, columns, equal.gather(1, rank.clamp(min=0)))


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _check(tensor: Any, what: str) -> None:
    """Refuse a tensor that is not dense, 2-d and of real numbers."""
    name, layout = _name(tensor.dtype), _name(tensor.layout)
    if layout != "strided":
        msg = f"{what} is sparse ({layout}), expected a dense tensor; type {what}.to_dense()"
        raise InputTypeError(msg)
    check_2d(tuple(tensor.shape), what, f"{what}[None]")
    if name not in _REAL:
        cast = f"{what}.real" if tensor.is_complex() else f"{what}.float()"
        msg = (
            f"{what} must hold real numbers (float16, bfloat16, float32, float64, integers or "
            f"bool), got dtype {name}; type {cast}"
        )
        raise InputTypeError(msg)
