"""Ranks counted where the scores are, in the memory of a GPU, by Numba's CUDA target.

The rank of a relevant item is one plus the number of items before it in the one order, as
``kernels`` says. A GPU has no need of the bounds that keep the counting short there: it compares
every score with up to ``TOGETHER`` relevant items of the user while the row is read once. No list
is made, so a whole ranking costs what the 10 best cost.

A block of threads reads a row, or every n-th tile of it where there are few rows. Each thread keeps
``EACH`` scores in registers, compares them with one relevant item after the other, and adds what it
finds to its own column of ``counts``: no two threads write to one place until the row is read.
Users with more relevant items have their rows read once more for each ``TOGETHER`` of them.

``None`` in place of an argument leaves out the branches behind ``is None``, as in ``kernels``.
This file is imported only where scores are on a GPU. For the tests, Numba's simulator runs it on
the CPU.
"""

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import torch

from recmetrics._inputs import Rows, SharedSet
from recmetrics._types import IntArray

cuda: Any = importlib.import_module("numba.cuda")  # of numba-cuda where that is installed
config: Any = numba.config

F = TypeVar("F", bound=Callable[..., Any])
Array = npt.NDArray[Any]

THREADS = 128  # of a block
EACH = 8  # scores that a thread reads before it compares them: so many reads are under way
TOGETHER = 16  # relevant items counted in one read; more would leave room for fewer blocks
SUMMING = 8  # threads that add up the counts of one relevant item
ROWS = 3 * TOGETHER + 2  # of ``counts``
_BLOCKS = 1024  # in a launch, or more: a GPU works on some hundreds at a time

# The rows of ``counts``: for each relevant item the scores before it in the one order, the greater
# ones, and those at least as great; then what is counted of the whole row.
BEFORE, ABOVE, REACHING = 0, 1, 2
N_LISTED, N_NAN, FIRST_NAN = 0, 1, 2  # the columns of ``tally``
_NAN_KEY = -0x8000  # below the key of -inf of both kinds of halves

# The bits of infinity of the dtypes that are read as bits.
_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}


class Counts(NamedTuple):
    """The ranks of the relevant items of some users."""

    ranks: npt.NDArray[np.int32]  # (1 or 3, slots) BEFORE + 1, ABOVE, REACHING; 0: not listed
    tally: npt.NDArray[np.int32]  # (users, 3) items that may be recommended, NaN, the first NaN


def _kernel(function: F) -> F:
    return cuda.jit(function)  # type: ignore[no-any-return]


def _helper(function: F) -> F:
    return cuda.jit(function, device=True)  # type: ignore[no-any-return]


@_helper
def _score(scores: Array, row: int, item: int, infinity: Any) -> Any:
    """A score, or for the bits of halves a whole number in the same order.

    ``order_halves`` of ``_inputs/scores.py`` says why; NaN is below all others here.
    """
    if infinity is None:
        return scores[row, item]
    bits = np.int32(scores[row, item])
    magnitude = np.int32(bits & 0x7FFF)
    key = np.int32(-magnitude) if bits < 0 else magnitude
    return np.int32(_NAN_KEY) if magnitude > infinity else key


@_helper
def _position(items: IntArray, begin: int, end: int, item: int) -> int:
    """The place of ``item`` among the ascending ``items[begin:end]``, from 0 on, or -1."""
    low = begin
    high = end
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low - begin if low < end and items[low] == item else -1


@_helper
def _count_above(own: Array, bound: Any) -> Any:
    """Count a thread's scores > ``bound``."""
    count = np.int32(0)
    for j in range(EACH):
        count = np.int32(count + np.int32(own[j] > bound))
    return count


@_helper
def _count_reaching(own: Array, bound: Any) -> Any:
    """Count a thread's scores >= ``bound``."""
    count = np.int32(0)
    for j in range(EACH):
        count = np.int32(count + np.int32(own[j] >= bound))
    return count


@_helper
def _count_one(
    counts: Any, p: int, thread: int, score: Any, bound: Any, is_before: bool, ties: bool, one: int
) -> None:
    """Add a score ``one`` times, or take it away, at the relevant item ``p``."""
    more = np.int32(score > bound)
    least = np.int32(score >= bound)
    counts[p, thread] += one * (least if is_before else more)
    if ties:
        counts[ABOVE * TOGETHER + p, thread] += one * more
        counts[REACHING * TOGETHER + p, thread] += one * least


@_helper
def _rank(
    scores: Array,
    infinity: Any,
    lowest: Any,
    least: Any,
    own_start: IntArray,
    own_items: IntArray,
    excluded_start: IntArray,
    excluded_items: IntArray,
    start: IntArray,
    items: IntArray,
    ties: bool,
    ranks: Array,
    tally: Array,
    bounds: Array,
    own: Array,
) -> None:
    """Add what a block of threads counts in its part of a row to ``ranks`` and ``tally``.

    The places of a row are those of its items, or of its candidates; an item has a place only if it
    is one of these.
    """
    user, part, n_parts = cuda.blockIdx.x, cuda.blockIdx.y, cuda.gridDim.y
    thread = cuda.threadIdx.x
    counts = cuda.shared.array((ROWS, THREADS), np.int32)
    places = cuda.shared.array(TOGETHER, np.int32)
    slots = cuda.shared.array(TOGETHER, np.int64)
    n_found = cuda.shared.array(1, np.int32)
    tile_size = THREADS * EACH

    whole = own_start.size < 2  # every item is a candidate
    own_begin, own_end = 0, scores.shape[1]
    if not whole:
        mine = user if own_start.size > 2 else 0  # or all share one set
        own_begin, own_end = own_start[mine], own_start[mine + 1]
    n_places = own_end - own_begin
    excluded_begin, excluded_end = 0, 0
    if excluded_start.size > 1:
        excluded_begin, excluded_end = excluded_start[user], excluded_start[user + 1]

    first_slot, last_slot = start[user], start[user + 1]
    n_passes = max(1, (last_slot - first_slot + TOGETHER - 1) // TOGETHER)
    for turn in range(n_passes):
        # Which of the next relevant items may be recommended.
        if thread == 0:
            n_found[0] = 0
        cuda.syncthreads()
        slot = first_slot + turn * TOGETHER + thread
        if thread < TOGETHER and slot < last_slot:
            item = items[slot]
            place = item if whole else _position(own_items, own_begin, own_end, item)
            if place >= 0 and _position(excluded_items, excluded_begin, excluded_end, item) < 0:
                bound = _score(scores, user, item, infinity)
                if bound >= least:
                    p = cuda.atomic.add(n_found, 0, 1)
                    bounds[p] = bound
                    places[p] = place
                    slots[p] = slot
        cuda.syncthreads()
        n = n_found[0]
        if n == 0 and turn > 0:
            cuda.syncthreads()  # all have read n_found
            continue
        for row in range(ROWS):
            counts[row, thread] = 0
        n_listed = np.int32(0)
        n_nan = np.int32(0)
        first_nan = scores.shape[1]

        for tile in range(part * tile_size, n_places, n_parts * tile_size):
            for j in range(EACH):
                place = tile + j * THREADS + thread
                if place < n_places:
                    item = place if whole else own_items[own_begin + place]
                    own[j] = _score(scores, user, item, infinity)
                    if own[j] >= lowest:
                        n_listed += np.int32(own[j] >= least)
                    else:
                        n_nan += np.int32(1)
                        first_nan = min(first_nan, item)
            is_full = tile + tile_size <= n_places
            for p in range(n):
                bound = bounds[p]
                if is_full and not tile <= places[p] < tile + tile_size:
                    is_before = tile < places[p]  # all of the tile, or nothing of it
                    more = np.int32(0)
                    reaching = np.int32(0)
                    if ties or not is_before:
                        more = _count_above(own, bound)
                    if ties or is_before:
                        reaching = _count_reaching(own, bound)
                    counts[p, thread] += reaching if is_before else more
                    if ties:
                        counts[ABOVE * TOGETHER + p, thread] += more
                        counts[REACHING * TOGETHER + p, thread] += reaching
                    continue
                for j in range(EACH):
                    place = tile + j * THREADS + thread
                    if place < n_places:
                        is_before = place < places[p]
                        _count_one(counts, p, thread, own[j], bound, is_before, ties, 1)

        if part == 0:  # what was counted of the excluded items goes off again
            for e in range(excluded_begin + thread, excluded_end, THREADS):
                item = excluded_items[e]
                place = item if whole else _position(own_items, own_begin, own_end, item)
                if place >= 0:
                    score = _score(scores, user, item, infinity)
                    n_listed -= np.int32(score >= least)
                    for p in range(n):
                        is_before = place < places[p]
                        _count_one(counts, p, thread, score, bounds[p], is_before, ties, -1)
            if thread < n:
                counts[thread, thread] += 1  # ranks begin at 1

        counts[3 * TOGETHER + N_LISTED, thread] = n_listed
        counts[3 * TOGETHER + N_NAN, thread] = n_nan
        if turn == 0 and n_nan > 0:
            cuda.atomic.min(tally, (user, FIRST_NAN), first_nan)
        cuda.syncthreads()
        for row in range(thread // SUMMING, ROWS, THREADS // SUMMING):
            kind, p = row // TOGETHER, row % TOGETHER
            is_used = turn == 0 if kind == 3 else p < n and (ties or kind == BEFORE)
            if not is_used:
                continue
            total = np.int32(0)
            for column in range(thread % SUMMING, THREADS, SUMMING):
                total += counts[row, column]
            if kind < 3:
                cuda.atomic.add(ranks, (kind, slots[p]), total)
            else:
                cuda.atomic.add(tally, (user, p), total)
        cuda.syncthreads()


@_kernel
def rank_scores(
    scores: Array,
    lowest: Any,
    least: Any,
    own_start: IntArray,
    own_items: IntArray,
    excluded_start: IntArray,
    excluded_items: IntArray,
    start: IntArray,
    items: IntArray,
    ties: bool,
    ranks: Array,
    tally: Array,
) -> None:
    """Count the ranks of the relevant items ``items[start[u]:start[u + 1]]`` of each row.

    scores: (rows, n_items), any strides. ``own_start`` has a set of candidates for each row, or
    one for all rows, or fewer than 2 numbers where every item is one; ``excluded_start`` likewise.
    All sets ascend. ``ranks`` and ``tally`` begin with 0, the column ``FIRST_NAN`` with n_items.
    """
    bounds = cuda.shared.array(TOGETHER, scores.dtype)
    own = cuda.local.array(EACH, scores.dtype)
    _rank(
        scores, None, lowest, least, own_start, own_items, excluded_start, excluded_items, start,
        items, ties, ranks, tally, bounds, own,
    )  # fmt: skip


@_kernel
def rank_halves(
    bits: Array,
    infinity: int,
    lowest: Any,
    least: Any,
    own_start: IntArray,
    own_items: IntArray,
    excluded_start: IntArray,
    excluded_items: IntArray,
    start: IntArray,
    items: IntArray,
    ties: bool,
    ranks: Array,
    tally: Array,
) -> None:
    """As ``rank_scores``, of the ``bits`` of half precision, whose infinity has these bits."""
    bounds = cuda.shared.array(TOGETHER, np.int32)
    own = cuda.local.array(EACH, np.int32)
    _rank(
        bits, infinity, lowest, least, own_start, own_items, excluded_start, excluded_items, start,
        items, ties, ranks, tally, bounds, own,
    )  # fmt: skip


@_kernel
def _mark(out: Array) -> None:
    out[0] = 1


def check_kernels(device: Any) -> None:
    """Run a kernel on a device of torch; what it raises says why kernels cannot run there."""
    out = torch.zeros(1, dtype=torch.int32, device=device)
    _launch(_mark, (_BLOCKS,), out, _array(out, np.int32))
    if int(out[0]) != 1:  # pragma: no cover - seen on no device
        msg = "a kernel left no result"
        raise RuntimeError(msg)


def count_ranks(
    scores: Any,
    relevant: Rows,
    excluded: Rows | None,
    candidates: Rows | SharedSet | None = None,
    *,
    ties: bool,
) -> Counts:
    """Count the ranks of the relevant items of each row of a tensor, and with ``ties`` all three.

    Everything runs on the current stream of torch; the results come back when it is done.
    """
    n_users, n_items = scores.shape
    device, n_slots = scores.device, len(relevant.items)
    ranks = torch.zeros((3 if ties else 1, max(1, n_slots)), dtype=torch.int32, device=device)
    tally = torch.zeros((n_users, 3), dtype=torch.int32, device=device)
    tally[:, FIRST_NAN] = n_items
    if n_users and n_items:
        name = str(scores.dtype).removeprefix("torch.")
        arguments = (
            *_sets(candidates, device), *_sets(excluded, device), *_sets(relevant, device), ties,
            _array(ranks, np.int32), _array(tally, np.int32),
        )  # fmt: skip
        # A few rows are read in parts. Numba warns of launches with fewer than 128 blocks.
        grid = (n_users, -(-_BLOCKS // n_users))
        if name in _INFINITY:
            bits, infinity = _array(scores, np.int16), np.int32(_INFINITY[name])
            bounds = infinity, -infinity, np.int32(1 - infinity)
            _launch(rank_halves, grid, scores, bits, *bounds, *arguments)
        else:
            values = _array(scores, np.dtype("uint8" if name == "bool" else name))
            _launch(rank_scores, grid, scores, values, *_limits(values.dtype), *arguments)
    return Counts(ranks[:, :n_slots].cpu().numpy(), tally.cpu().numpy())


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest number of a dtype, and the smallest with which an item may be recommended."""
    if dtype.kind != "f":
        return (dtype.type(np.iinfo(dtype).min),) * 2
    return dtype.type(-np.inf), np.finfo(dtype).min


def _sets(sets: Rows | SharedSet | None, device: Any) -> tuple[Any, Any]:
    """Send sets to a device, as arrays of one number or more: of nothing there is no address."""
    nothing = np.zeros(1, np.int64)
    if sets is None:
        start, items = nothing, nothing
    elif isinstance(sets, SharedSet):
        start, items = np.array([0, len(sets.items)]), sets.items
    else:
        start, items = sets.start, sets.items
    items = items if len(items) else nothing
    return _sent(start, device), _sent(items, device)


def _sent(numbers: IntArray, device: Any) -> Any:
    # torch warns of an array that may not be written to.
    numbers = np.require(numbers, np.int64, ["C", "W"])
    return _array(torch.as_tensor(numbers, device=device), np.int64)


def _array(tensor: Any, dtype: npt.DTypeLike) -> Any:
    """The memory of a tensor as an array for kernels, its bytes read as ``dtype``."""
    dtype = np.dtype(dtype)
    if not config.ENABLE_CUDASIM:  # pragma: no cover - needs a GPU
        interface = {
            "version": 3,
            "shape": tuple(tensor.shape),
            "strides": tuple(step * dtype.itemsize for step in tensor.stride()),
            "typestr": dtype.str,
            "data": (tensor.data_ptr(), False),
        }
        # The tensor is kept with its memory.
        with cuda.gpus[tensor.device.index]:
            return cuda.as_cuda_array(
                SimpleNamespace(__cuda_array_interface__=interface, of=tensor)
            )
    bits = tensor.view(getattr(torch, f"int{8 * dtype.itemsize}"))
    return cuda.devicearray.FakeCUDAArray(bits.numpy().view(dtype))


def _launch(kernel: Any, grid: tuple[int, ...], tensor: Any, *arguments: Any) -> None:
    """Start a kernel where a tensor is, on the current stream of torch."""
    if not config.ENABLE_CUDASIM:  # pragma: no cover - needs a GPU
        with cuda.gpus[tensor.device.index]:
            stream = cuda.external_stream(torch.cuda.current_stream(tensor.device).cuda_stream)
            kernel[grid, THREADS, stream](*arguments)
        return
    kernel[grid, THREADS](*arguments)
