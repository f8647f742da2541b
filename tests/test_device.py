"""Lists selected by torch where a tensor lies: those of a sort, and those of the CPU's kernels.

The same code runs on the CPU and on a GPU, so every test runs on both where there is one.
"""

import math
import subprocess
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import listed_items, problems

from recmetrics import InputTypeError, Metrics, ShapeError
from recmetrics._inputs.arrays import as_array
from recmetrics._inputs.read_sets import read_candidates, read_exclude
from recmetrics._inputs.scores import ScoreMatrix
from recmetrics._inputs.sets import SharedSet
from recmetrics._selection import device as devices
from recmetrics._selection import kernels
from recmetrics._selection.device import DeviceScores, as_tensor, on_device

torch = pytest.importorskip("torch", reason="tensors need torch")
dispatch = pytest.importorskip("torch.utils._python_dispatch", reason="tensors need torch")

FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *SIGNED, *UNSIGNED, "bool"]
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
ON_EVERY_DEVICE = pytest.mark.parametrize("device", ["cpu", GPU])


@pytest.fixture(params=[devices._LEAST_CHUNK, 1], ids=["", "small chunks"])
def least_chunk(request, monkeypatch):
    """Rows of few items are cut into chunks, too."""
    monkeypatch.setattr(devices, "_LEAST_CHUNK", request.param)


WITH_SMALL_CHUNKS = pytest.mark.usefixtures("least_chunk")


def best_of(tensor, k, exclude=None, candidates=None, rows=None):
    """What is selected from some rows; exclude and candidates in any form, of all users."""
    scores = DeviceScores(tensor)
    rows = slice(0, len(tensor)) if rows is None else rows
    excluded = None if exclude is None else read_exclude(exclude, scores.shape)
    allowed = None if candidates is None else read_candidates(candidates, scores.shape)
    return scores.best(
        rows,
        k,
        None if excluded is None else excluded.rows(rows),
        allowed if allowed is None or isinstance(allowed, SharedSet) else allowed.rows(rows),
    )


def by_kernels(scores, k, exclude=None, candidates=None):
    """The lists, their lengths and the NaN by the kernels, from an array of all users."""
    matrix = ScoreMatrix(scores)
    n_users, _ = matrix.shape
    everyone = slice(0, n_users)
    items, length = np.full((n_users, k), -1), np.zeros(n_users, np.int64)
    has_nan = np.zeros(1, np.bool_)
    excluded = None if exclude is None else read_exclude(exclude, matrix.shape).rows(everyone)
    if candidates is None:
        block = matrix.block(everyone)
        start = np.zeros(n_users + 1, np.int64) if excluded is None else excluded.start
        banned = np.empty(0, np.int64) if excluded is None else excluded.items
        kernels.list_rows(
            block.values, start, banned, k, block.lowest, block.least,
            items, length, has_nan, kernels.lanes_for(k, matrix.shape[1], block.values.dtype),
            kernels.pool_for(k, matrix.shape[1], block.values.dtype),
        )  # fmt: skip
        nan_found = np.zeros(3, np.int64)
        if has_nan[0]:
            nan_found = kernels.find_nan(block.values, block.lowest)
        return items, length, nan_found
    pool = read_candidates(candidates, matrix.shape).rows(everyone)
    block = matrix.candidates(everyone, np.diff(pool.start), pool.items)
    values = block.values
    nan_found = kernels.find_candidate_nan(values, pool.start, pool.items, block.lowest)
    if excluded is not None:
        banned = set(zip(excluded.users().tolist(), excluded.items.tolist(), strict=True))
        pairs = zip(pool.users().tolist(), pool.items.tolist(), strict=True)
        rest = np.array([pair not in banned for pair in pairs], bool)
        pool, values = pool.keep(rest), values[rest]
    memory = kernels.pool_for(k, matrix.shape[1], values.dtype)
    kernels.list_candidates(
        values, pool.start, pool.items, k, block.least,
        items, length, memory,
    )  # fmt: skip
    return items, length, nan_found


def assert_like_kernels(tensor, k, exclude=None, candidates=None):
    untouched = tensor.clone()
    got = best_of(tensor, k, exclude, candidates)
    items, length, nan_found = by_kernels(as_array(tensor.cpu(), "scores"), k, exclude, candidates)
    np.testing.assert_array_equal(got.items, items, strict=True)
    np.testing.assert_array_equal(got.length, length, strict=True)
    np.testing.assert_array_equal(got.nan_found, nan_found, strict=True)
    assert torch.equal(as_bytes(tensor), as_bytes(untouched))  # NaN equals itself there


def as_bytes(tensor):
    return tensor.contiguous().view(torch.uint8)


def assert_lists(best, lists):
    assert [row[:n].tolist() for row, n in zip(best.items, best.length, strict=True)] == lists
    places = np.arange(best.items.shape[1])
    assert np.all((best.items >= 0) == (places < best.length[:, None]))


def scores_of(dtype, shape, rng):
    """Scores of that dtype with what is hard in it: ties, the extremes, both zeros."""
    if dtype == "bool":
        return torch.from_numpy(rng.random(shape) < 0.01)
    if dtype in FLOATS:
        values = torch.from_numpy(rng.standard_normal(shape)).to(getattr(torch, dtype))
        values[torch.from_numpy(rng.random(shape) < 0.2)] = -math.inf
        values[torch.from_numpy(rng.random(shape) < 0.1)] = -0.0
        values[torch.from_numpy(rng.random(shape) < 0.1)] = 0.0
        values[torch.from_numpy(rng.random(shape) < 0.002)] = math.inf
        values[-1] = -math.inf
        return values
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values[0] = info.min  # a score like any other
    values[1] = info.min
    values[1, ::50] = info.max  # beyond what float64 tells apart
    values[1, ::70] -= 1
    return torch.from_numpy(values)


def item_sets(shape, longest, rng):
    """A random set of items per user; the last user has none."""
    n_users, n_items = shape
    sets = [
        rng.choice(n_items, rng.integers(0, longest + 1), replace=False) for _ in range(n_users)
    ]
    return [*sets[:-1], np.empty(0, np.int64)]


@ON_EVERY_DEVICE
@pytest.mark.parametrize("least", [devices._LEAST_CHUNK, 1])
@settings(deadline=None)
@given(problem=problems(), k=st.integers(1, 24), data=st.data())
def test_lists_are_those_of_a_sort(device, least, problem, k, data):
    scores, _, exclude, candidates = problem
    dtype = data.draw(st.sampled_from(FLOATS))
    tensor = torch.tensor(scores, dtype=getattr(torch, dtype), device=device)
    shared = candidates is not None and data.draw(st.booleans())
    if shared:
        candidates = [candidates[0]] * len(scores)
    expected = [
        listed_items(
            row,
            () if exclude is None else exclude[u],
            None if candidates is None else candidates[u],
        )[:k]
        for u, row in enumerate(scores)
    ]
    arrays = None if candidates is None else [np.array(c, np.int64) for c in candidates]
    banned = None if exclude is None else [np.array(e, np.int64) for e in exclude]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "_LEAST_CHUNK", least)
        got = best_of(tensor, k, banned, arrays[0] if shared else arrays)
    assert_lists(got, expected)
    assert got.items.shape == (len(scores), k)
    assert got.items.dtype == got.length.dtype == got.nan_found.dtype == np.int64
    assert got.nan_found.tolist() == [0, 0, 0]


@ON_EVERY_DEVICE
@pytest.mark.parametrize("k", [1, 10, 333, 3_000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lists_of_every_dtype_are_those_of_the_kernels(dtype, k, device):
    rng = np.random.default_rng(k)
    tensor = scores_of(dtype, (6, 3_000), rng).to(device)
    exclude = item_sets(tensor.shape, 400, rng)
    candidates = item_sets(tensor.shape, 700, rng)
    shared = np.sort(rng.choice(3_000, 500, replace=False))
    for some in (None, candidates, shared):
        assert_like_kernels(tensor, k, None, some)
        assert_like_kernels(tensor, k, exclude, some)


def few_scores(dtype, shape, rng):
    """Scores of few values, so that the best of chunks tie; some rows are whole, or nothing."""
    if dtype in FLOATS:
        values = torch.tensor([-math.inf, -2.0, -0.0, 0.0, 1.0, math.inf, math.nan])
        chances = rng.dirichlet([0.5] * 7) * [1, 1, 1, 1, 1, 1, rng.choice([0.0, 0.01, 0.5])]
    else:
        info = np.iinfo("uint8" if dtype == "bool" else dtype)
        few = [0, 1] if dtype == "bool" else [info.min, info.min + 1, 0, info.max - 1, info.max]
        values = torch.from_numpy(np.array(few, "bool" if dtype == "bool" else dtype))
        chances = rng.dirichlet([0.5] * len(few))
    drawn = rng.choice(len(values), shape, p=chances / chances.sum())
    return values[torch.from_numpy(drawn)].to(getattr(torch, dtype))


def sets_by_chunk(shape, size, rng):
    """Sets for some users that hold whole chunks, parts of chunks, the ends of rows, or nothing."""
    n_users, n_items = shape
    chunk = np.arange(n_items) // size
    sets = []
    for share in rng.choice([0.0, 0.3, 0.9, 1.0], n_users):
        is_in = rng.random(chunk.max() + 1)[chunk] < share
        is_in ^= rng.random(n_items) < rng.choice([0.0, 0.1])
        sets.append(np.flatnonzero(is_in))
    return sets


def as_laid_out(tensor, rng):
    """The same matrix in a random memory layout."""
    n_users, n_items = tensor.shape
    layout = rng.integers(5)
    if layout == 0:
        return tensor
    if layout == 1:
        return tensor.T.contiguous().T
    wide = torch.zeros(2 * n_users, 3 * n_items + 1, dtype=tensor.dtype, device=tensor.device)
    view = [wide[:n_users, 1 : n_items + 1], wide[1::2, 1::3], wide[::2, 1::3]][layout - 2]
    view.copy_(tensor)
    return view


@ON_EVERY_DEVICE
@pytest.mark.parametrize("dtype", DTYPES)
def test_lists_selected_from_chunks_are_those_of_the_kernels(dtype, device, monkeypatch):
    monkeypatch.setattr(devices, "_LEAST_CHUNK", 2)
    rng = np.random.default_rng(DTYPES.index(dtype))
    for _ in range(60):
        k = int(rng.integers(1, 7))
        n_items = int(rng.integers(4 * k, 25 * k))  # mostly no multiple of a chunk
        size = devices._chunk_size(n_items, k)
        assert size in (2, 4)
        shape = 4, n_items
        tensor = as_laid_out(few_scores(dtype, shape, rng).to(device), rng)
        exclude = sets_by_chunk(shape, size, rng)
        shared = np.flatnonzero(rng.random(n_items) < 0.8)
        candidates = item_sets(shape, n_items, rng) if rng.random() < 0.5 else shared
        for some in (None, candidates):
            assert_like_kernels(tensor, k, None, some)
            assert_like_kernels(tensor, k, exclude, some)


@pytest.mark.parametrize("width", [*range(1, 70), 999, 1_000, 1_024, 12_345])
def test_a_row_has_at_least_k_chunks(width, monkeypatch):
    monkeypatch.setattr(devices, "_LEAST_CHUNK", 1)
    for k in range(1, width + 1):
        size = devices._chunk_size(width, k)
        assert width // size >= k
        assert width // size <= 3 * k * size


ROW = [0.0] * 32  # k = 2: eight chunks of 4


def row_with(scores):
    row = ROW.copy()
    for item, score in scores.items():
        row[item] = score
    return row


@ON_EVERY_DEVICE
@pytest.mark.parametrize(
    "row, exclude, expected",
    [
        pytest.param(ROW, [], [0, 1], id="equal chunks"),
        pytest.param(row_with({6: 1.0, 9: 1.0, 30: 1.0}), [], [6, 9], id="equal best scores"),
        pytest.param(row_with({20: 1.0}), [], [20, 0], id="one better chunk"),
        pytest.param(row_with({6: 9.0, 14: 8.0, 31: 1.0}), [6, 14], [31, 0], id="hidden best"),
        pytest.param(ROW, range(30), [30, 31], id="whole chunks are hidden"),
        pytest.param(ROW, range(31), [31], id="all chunks but one are hidden"),
        pytest.param(ROW, range(32), [], id="all is hidden"),
        pytest.param([*ROW, 1.0, 2.0, 0.0], [], [33, 32], id="the end of the row"),
        pytest.param([*ROW, 1.0, 2.0, 3.0], [33], [34, 32], id="hidden at the end"),
        pytest.param([*ROW, 0.0, 0.0], range(33), [33], id="all but the end is hidden"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_the_chunks_of_a_row(dtype, row, exclude, expected, device, monkeypatch):
    monkeypatch.setattr(devices, "_LEAST_CHUNK", 4)
    assert devices._chunk_size(len(row), 2) == 4
    tensor = torch.tensor([row] * 3, dtype=getattr(torch, dtype), device=device)
    sets = [np.array(list(exclude), np.int64), np.empty(0, np.int64), np.arange(len(row))]
    got = best_of(tensor, 2, sets)
    untouched = best_of(tensor[:1], 2).items[0].tolist()
    assert_lists(got, [expected, untouched, []])


@ON_EVERY_DEVICE
@pytest.mark.parametrize("item", [0, 13, 31, 32, 34])
@pytest.mark.parametrize("excluded", [False, True])
def test_a_nan_in_a_chunk_or_at_the_end_of_a_row(item, excluded, device, monkeypatch):
    monkeypatch.setattr(devices, "_LEAST_CHUNK", 4)
    scores = np.array([[*row_with({20: 1.0}), 0.5, 2.0, 0.0]] * 3)
    scores[1, item] = math.nan
    exclude = [np.array([20]), np.array([33, item] if excluded else [33]), np.array([33])]
    got = best_of(torch.tensor(scores, device=device), 2, exclude)
    assert got.nan_found.tolist() == [1, 1, item]
    second = 32 if item != 32 else 0
    assert_lists(got, [[33, 32], [20, second], [20, 32]])


class Allocations(dispatch.TorchDispatchMode):
    """The bytes of the tensors that are made, views not counted: of the largest, and at the peak.

    What torch allocates within an operation is not seen.
    """

    def __init__(self, scores):
        super().__init__()
        self.largest = self.peak = self._now = 0
        self._known = weakref.WeakSet([scores.untyped_storage()])

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        for result in results if isinstance(results, list | tuple) else [results]:
            if isinstance(result, torch.Tensor):
                self._note(result.untyped_storage())
        return results

    def _note(self, storage):
        if storage not in self._known:
            self._known.add(storage)
            self._now += storage.nbytes()
            weakref.finalize(storage, self._free, storage.nbytes())
            self.largest = max(self.largest, storage.nbytes())
            self.peak = max(self.peak, self._now)

    def _free(self, n_bytes):
        self._now -= n_bytes


@ON_EVERY_DEVICE
@pytest.mark.parametrize("kind", ["random", "constant", "transposed", "int8"])
@pytest.mark.parametrize("excluding", [False, True])
def test_no_copy_of_the_scores_is_made(kind, excluding, device):
    generator = torch.Generator(device).manual_seed(0)
    scores = torch.randn((64, 20_000), generator=generator, device=device)
    if kind == "constant":
        scores.zero_()
    elif kind == "transposed":
        scores = scores.T.contiguous().T
    elif kind == "int8":
        scores = scores.to(torch.int8)
    exclude = [np.arange(0, 1_000, 100)] * len(scores) if excluding else None
    with Allocations(scores) as made:
        best_of(scores, 10, exclude)
    assert made.largest < scores.nbytes / (2 if kind == "int8" else 8)


@ON_EVERY_DEVICE
@pytest.mark.parametrize("k", [5, 100, 400])  # from chunks, then from whole rows
@pytest.mark.parametrize("kind", ["random", "constant", "nan", "transposed", "uint64", "int8"])
def test_copies_fit_into_the_scratch_memory(kind, k, device, monkeypatch):
    monkeypatch.setattr(devices, "_SCRATCH_BYTES", 1 << 18)
    shape = n_users, n_items = 500, 4_000
    generator = torch.Generator(device).manual_seed(0)
    scores = torch.randn(shape, generator=generator, device=device, dtype=torch.float64)
    if kind == "constant":
        scores = torch.zeros(shape, device=device)
    elif kind == "nan":
        scores[::2, n_items - 1] = math.nan
    elif kind == "transposed":
        scores = scores.T.contiguous().T
    elif kind == "uint64":
        scores = scores.to(torch.int64).view(torch.uint64)
    elif kind == "int8":
        scores = scores.to(torch.int8)
    in_every_chunk = [np.arange(0, n_items, 32)] * n_users
    many_of_one = [*in_every_chunk[1:], np.arange(n_items)]
    neighbours = [np.arange(2_000)] * n_users
    candidates = item_sets(shape, 1_000, np.random.default_rng(1))
    for exclude in (None, in_every_chunk, many_of_one, neighbours):
        with Allocations(scores) as made:
            best_of(scores, k, exclude)
        assert made.peak < 2 * devices._SCRATCH_BYTES
    with Allocations(scores) as made:
        best_of(scores, k, None, candidates)
    assert made.peak < 2 * devices._SCRATCH_BYTES


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, "bool"])
def test_the_smallest_integer_is_recommendable_unless_it_is_excluded(dtype, device):
    lowest = 0 if dtype == "bool" else np.iinfo(dtype).min
    scores = np.full((3, 40), lowest).astype(dtype)
    scores[:, 7] = 1
    tensor = torch.from_numpy(scores).to(device)
    exclude = [np.arange(10, 40), np.arange(7, 20), np.arange(40)]
    rest = [7, *range(7), 8, 9], [*range(7), *range(20, 40)], []
    for k in (1, 5, 10, 39, 40, 50):
        assert_lists(best_of(tensor, k, exclude), [items[:k] for items in rest])
    # Among candidates there is padding, too, which has that score as well.
    candidates = [np.array([7, 8]), np.array([1, 9, 30]), np.arange(40)]
    assert_lists(best_of(tensor, 6, exclude, candidates), [[7, 8], [1, 30], []])


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_items", [5, 2_000])
def test_nan_are_counted_and_not_listed(n_items, dtype, device):
    rng = np.random.default_rng(n_items)
    shape = (8, n_items)
    scores = scores_of(dtype, shape, rng)
    holes = rng.random(shape) < [[0.0], [0.0], [0.01], [0.0], [0.5], [0.9], [0.0], [1.0]]
    holes[2, n_items // 2] = True
    scores[torch.from_numpy(holes)] = math.nan
    tensor = scores.to(device)
    exclude = item_sets(shape, n_items // 3, rng)
    exclude[0] = np.arange(n_items)
    exclude[2] = np.flatnonzero(holes[2])  # an excluded NaN is one, too
    candidates = item_sets(shape, n_items, rng)
    candidates[2] = np.arange(n_items // 2, n_items)
    shared = np.arange(1, n_items, 2)
    for k in (1, 7, n_items):
        for some in (None, candidates, shared):
            assert_like_kernels(tensor, k, None, some)
            assert_like_kernels(tensor, k, exclude, some)
    got = best_of(tensor, 2)
    first = int(np.flatnonzero(holes[2])[0])
    assert got.nan_found.tolist() == [holes.sum(), 2, first]
    assert best_of(tensor, 2, rows=slice(2, 8)).nan_found.tolist() == [holes.sum(), 0, first]


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
def test_the_sign_of_zero_orders_nothing(device):
    row = [-0.0, 0.0, -1.0, -0.0, 0.0, 2.0, *[-0.0, 0.0] * 20]
    tensor = torch.tensor([row], device=device)
    assert_lists(best_of(tensor, 1), [[5]])
    assert_lists(best_of(tensor, 4), [[5, 0, 1, 3]])
    assert_lists(best_of(tensor, 46), [[5, 0, 1, 3, 4, *range(6, 46), 2]])


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
@pytest.mark.parametrize("k", [1, 6, 8, 28, 40, 199, 200])
@pytest.mark.parametrize("n_equal", [1, 2, 6, 7, 8, 11, 60])
def test_ties_at_the_cutoff_that_reach_beyond_what_is_found(n_equal, k, device):
    rng = np.random.default_rng(n_equal)
    scores = np.tile(np.arange(200.0), (3, 1))
    # The scores around the k-th best are one score, of n_equal items.
    first = max(0, 200 - k - n_equal // 2)
    scores[:, first : first + n_equal] = scores[0, first]
    scores = rng.permuted(scores, axis=1).astype(np.float32)
    expected = [listed_items(row.tolist())[:k] for row in scores]
    assert_lists(best_of(torch.from_numpy(scores).to(device), k), expected)


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint16"])
def test_lists_do_not_depend_on_the_scratch_memory(dtype, device, monkeypatch):
    rng = np.random.default_rng(5)
    shape = (37, 300)
    tensor = scores_of(dtype, shape, rng).to(device)
    if dtype == "float32":
        tensor[[2, 3, 20], 50] = math.nan
    exclude, candidates = item_sets(shape, 200, rng), item_sets(shape, 200, rng)
    shared = np.arange(100, 300)
    forms = [(e, c) for e in (None, exclude) for c in (None, candidates, shared)]
    whole = [best_of(tensor, 20, *form) for form in forms]
    for scratch in (1, 5_200, 12_000):  # a row, or some, at a time; repaired, fewer
        monkeypatch.setattr(devices, "_SCRATCH_BYTES", scratch)
        for form, expected in zip(forms, whole, strict=True):
            for got, want in zip(best_of(tensor, 20, *form), expected, strict=True):
                np.testing.assert_array_equal(got, want, strict=True)


@ON_EVERY_DEVICE
def test_blocks_of_rows_are_those_of_the_whole(device):
    rng = np.random.default_rng(6)
    tensor = scores_of("bfloat16", (9, 500), rng).to(device)
    exclude, candidates = item_sets((9, 500), 99, rng), item_sets((9, 500), 99, rng)
    whole = best_of(tensor, 12, exclude, candidates)
    for rows in (slice(0, 4), slice(4, 9), slice(3, 3)):
        part = best_of(tensor, 12, exclude, candidates, rows=rows)
        np.testing.assert_array_equal(part.items, whole.items[rows], strict=True)
        np.testing.assert_array_equal(part.length, whole.length[rows], strict=True)


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
@pytest.mark.parametrize("dtype", ["float32", "bool", "uint32"])
def test_any_memory_layout(dtype, device):
    rng = np.random.default_rng(7)
    tensor = scores_of(dtype, (12, 80), rng).to(device)
    for view in (
        tensor.T,
        tensor[::2, 3::3],
        tensor[2:9],
        tensor[:, 5:60],
        tensor[:1].expand(4, 80),
    ):
        n_items = view.shape[1]
        exclude = item_sets(view.shape, n_items, rng)
        assert_like_kernels(view, 9)
        assert_like_kernels(view, 9, exclude)
        assert_like_kernels(view, 9, exclude, [np.arange(0, n_items, 2)] * len(view))


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_no_users_or_no_items(shape, device):
    tensor = torch.zeros(shape, device=device)
    got = best_of(tensor, 4)
    assert got.items.tolist() == [[-1] * 4] * shape[0]
    assert got.length.tolist() == [0] * shape[0]
    nobody = [np.empty(0, np.int64)] * shape[0]
    assert best_of(tensor, 4, nobody, nobody).length.tolist() == [0] * shape[0]
    assert best_of(torch.zeros(2, 5, device=device), 4, None, []).length.tolist() == [0, 0]


@ON_EVERY_DEVICE
@WITH_SMALL_CHUNKS
def test_a_tensor_that_requires_a_gradient_is_detached(device):
    tensor = torch.tensor([[0.0, 2.0, 1.0]], device=device, requires_grad=True) * 1.0
    exclude = [np.array([2])]
    saved = []  # what autograd keeps for a backward pass
    with torch.autograd.graph.saved_tensors_hooks(saved.append, lambda kept: kept):
        assert_lists(best_of(tensor, 2, exclude), [[1, 0]])
    assert saved == []
    assert DeviceScores(tensor).host(slice(0, 1)).tolist() == [[0.0, 2.0, 1.0]]
    with torch.inference_mode():
        inside = torch.tensor([[0.0, 2.0, 1.0]], device=device)
    assert_lists(best_of(inside, 2, exclude), [[1, 0]])


@ON_EVERY_DEVICE
def test_read_only_sets_are_read_and_left_alone(device):
    exclude = sp.csr_array([[0.0, 1.0, 0.0, 0.0, 2.0]])
    candidates = np.array([0, 1, 3])
    for array in (exclude.indptr, exclude.indices, exclude.data, candidates):
        array.setflags(write=False)
    tensor = torch.arange(5.0, device=device)[None]
    assert_lists(best_of(tensor, 4, exclude), [[3, 2, 0]])
    assert_lists(best_of(tensor, 2, exclude, candidates), [[3, 0]])


@ON_EVERY_DEVICE
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_on_the_host_rank_as_they_do_on_the_device(dtype, device):
    tensor = scores_of(dtype, (6, 70), np.random.default_rng(8)).to(device)
    scores = DeviceScores(tensor)
    rows = scores.host(slice(2, 5))
    assert rows.shape == (3, 70)
    items, length, _ = by_kernels(rows, 70)
    got = scores.best(slice(2, 5), 70)
    np.testing.assert_array_equal(got.items, items)
    np.testing.assert_array_equal(got.length, length)


@pytest.mark.parametrize("shape, k, row_items", [((1_000, 3), 2, 0.0), ((0, 9), 9, 1.0)])
def test_a_small_matrix_is_one_block(shape, k, row_items):
    assert DeviceScores(torch.zeros(shape)).blocks(k, row_items, 1) == ([slice(0, shape[0])], 1)


def test_blocks_bound_what_the_host_reads_and_how_long_the_device_takes():
    n_users, n_items = 10_000, 1_000_000
    scores = DeviceScores(torch.zeros(1, 1, dtype=torch.int8).expand(n_users, n_items))
    for k, row_items in ((10, 0.0), (n_items, 0.0), (10, n_items)):
        blocks, _ = scores.blocks(k, row_items, 1)
        assert [b.start for b in blocks[1:]] == [b.stop for b in blocks[:-1]]
        assert (blocks[0].start, blocks[-1].stop) == (0, n_users)
        largest = max(b.stop - b.start for b in blocks)
        assert largest * n_items <= devices._READ_SCORES
        assert largest * (8 * k + 32 * row_items) <= max(devices._SCRATCH_BYTES, 8 * k)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", ["random", "constant", "nan"])
@pytest.mark.parametrize("excluding", [False, True])
def test_the_device_never_holds_a_second_matrix(kind, excluding):
    shape = (40_000, 20_000)  # 3.2 GB
    scores = torch.zeros(shape, device="cuda")
    if kind == "random":
        scores.normal_()
    elif kind == "nan":
        scores[:, 5] = math.nan
    exclude = [np.array([3, 4])] * shape[0] if excluding else None
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    best = best_of(scores, 100, exclude)
    assert best.length.tolist() == [100] * shape[0]
    assert torch.cuda.max_memory_allocated() - before < 5 * devices._SCRATCH_BYTES


@pytest.mark.parametrize(
    "tensor, error, message",
    [
        (
            torch.zeros(4),
            ShapeError,
            "scores must be 2-d (n_users, n_items), got 1-d of shape (4,); for one user type "
            "scores[None]",
        ),
        (
            torch.zeros(1, 2, 3),
            ShapeError,
            "scores must be 2-d (n_users, n_items), got 3-d of shape (1, 2, 3); for the "
            "last position of each sequence type scores[:, -1], for every one "
            "scores.reshape(-1, 3) with target.reshape(-1)",
        ),
        (
            torch.zeros(2, 3, dtype=torch.complex64),
            InputTypeError,
            "scores must hold real numbers (float16, bfloat16, float32, float64, integers or "
            "bool), got dtype complex64; type scores.real",
        ),
        (
            torch.zeros(2, 3, dtype=torch.float8_e5m2),
            InputTypeError,
            "scores must hold real numbers (float16, bfloat16, float32, float64, integers or "
            "bool), got dtype float8_e5m2; type scores.float()",
        ),
        (
            torch.zeros(2, 3).to_sparse(),
            InputTypeError,
            "scores is sparse (sparse_coo), expected a dense tensor; type scores.to_dense()",
        ),
    ],
)
def test_errors(tensor, error, message):
    with pytest.raises(error) as raised:
        DeviceScores(tensor)
    assert str(raised.value) == message


class Exported:
    """Speaks DLPack from a device of one's choice."""

    def __init__(self, array, device):
        self._array, self._device = array, device

    def __dlpack__(self, **_):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        if self._device is None:
            msg = "no device"
            raise BufferError(msg)
        return self._device


@pytest.mark.parametrize(
    "value, expected",
    [
        (Exported(np.zeros((1, 2)), (2, 0)), True),
        (Exported(np.zeros((1, 2)), (10, 3)), True),
        (Exported(np.zeros((1, 2)), (1, 0)), False),
        (Exported(np.zeros((1, 2)), (3, 0)), False),  # pinned, on the host
        (Exported(np.zeros((1, 2)), None), False),
        (np.zeros((1, 2)), False),
        (torch.zeros(1, 2), False),
        (torch.zeros(1, 2, device="meta"), False),
        ([[1.0]], False),
        (None, False),
    ],
)
def test_what_lies_on_a_device(value, expected):
    assert on_device(value) is expected


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_tensor_of_a_gpu_lies_on_a_device():
    assert on_device(torch.zeros(1, 2, device="cuda", requires_grad=True))


def test_other_arrays_become_tensors_that_share_their_memory():
    tensor = torch.zeros(1, 2)
    assert as_tensor(tensor) is tensor
    array = np.array([[1.0, 3.0, 2.0]])
    shared = as_tensor(Exported(array, (1, 0)))
    assert shared.data_ptr() == array.ctypes.data
    assert_lists(best_of(shared, 2), [[1, 2]])


@pytest.mark.skipif(torch.cuda.is_available(), reason="this torch reads arrays of a GPU")
def test_an_array_of_a_device_that_torch_cannot_read_becomes_none():
    assert as_tensor(Exported(np.zeros((1, 2)), (2, 0))) is None


def test_torch_is_imported_with_the_first_tensor_alone():
    script = (
        "import sys, recmetrics._selection.device as device\n"
        "assert not device.on_device([[1.0]])\n"
        "assert 'torch' not in sys.modules\n"
        "sys.modules['torch'] = None\n"  # an import of it fails
        "assert device.as_tensor(object()) is None\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this torch reads arrays of a GPU")
def test_factors_of_a_device_that_torch_cannot_read_are_refused():
    users, items = np.ones((2, 3)), np.ones((4, 3))
    on_gpu = Exported(users, (2, 0)), Exported(items, (2, 0))
    with pytest.raises(
        InputTypeError, match=r"^user_factors is on the device .*, expected an array on"
    ):
        Metrics.compute_factors(*on_gpu, [[0], [1]], "hit@1")
    assert Metrics.compute_factors(users, items, [[0], [1]], "hit@1")["hit@1"].tolist() == [1, 0]
