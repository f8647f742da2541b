"""Tensors of a device give the values of the CPU, bit by bit.

Where torch finds no GPU, its CPU does the work of one: ``elsewhere`` says so in the name of a
tensor. Tensors of the CPU that do not say so are read by the kernels, and never by torch.
"""

import math
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of, python

from recmetrics import (
    DeviceMemoryError,
    Evaluator,
    InputTypeError,
    Metrics,
    NaNScoreError,
    ShapeError,
    StreamEvaluator,
    overlap,
)
from recmetrics._core.selection import device as devices

torch = pytest.importorskip("torch", reason="tensors need torch")
dispatch = pytest.importorskip("torch.utils._python_dispatch", reason="tensors need torch")

from elsewhere import Elsewhere, elsewhere  # noqa: E402 - it imports torch

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
POLICIES = ["index", "expected", "worst", "best"]
SHAPE = N_USERS, N_ITEMS = 7, 150
RNG = np.random.default_rng(0)


DEVICES = [elsewhere, *([torch.Tensor.cuda] if torch.cuda.is_available() else [])]
on_every_device = pytest.mark.parametrize("sent", DEVICES, ids=lambda sent: sent.__name__)


def item_sets(longest, shape=SHAPE):
    """A set for each user; the first has the most, the last has none."""
    n_users, n_items = shape
    sizes = [longest, *RNG.integers(0, longest + 1, n_users - 2), 0]
    return [RNG.choice(n_items, size, replace=False) for size in sizes]


def graded(sets, shape=SHAPE):
    truth = np.zeros(shape)
    for user, items in enumerate(sets):
        truth[user, items] = RNG.integers(1, 4, len(items))
    return truth


TRUTH = graded(item_sets(20))
SEEN, POOL = item_sets(90), item_sets(120)
SETS = {
    "all items": {},
    "exclude": {"exclude": SEEN},
    "own candidates": {"candidates": POOL},
    "own candidates less exclude": {"candidates": POOL, "exclude": SEEN},
    "shared candidates": {"candidates": np.arange(0, N_ITEMS, 3)},
    "shared candidates less exclude": {"candidates": np.arange(2, N_ITEMS, 2), "exclude": SEEN},
    "no candidate": {"candidates": np.empty(0, np.int64)},
}
RANKED = ["ndcg@5", "auc", "mrr", "hit@1", "recall@40", "precision(denom=list)@100"]
LISTED = ["coverage@4", "novelty@7", "diversity@3", "personalization", "novelty"]
SIDE = {"popularity": RNG.random(N_ITEMS), "features": RNG.standard_normal((N_ITEMS, 3))}


def scores_of(dtype, shape=SHAPE):
    """Scores with many ties, and with what is hard in that dtype; the first row has few ties."""
    few = RNG.integers(0, 6, shape)
    if dtype == "bool":
        return torch.from_numpy(few == 0)
    if dtype not in FLOATS:
        info = np.iinfo(dtype)
        values = [info.min, info.min + 1, 0, 1, info.max - 1, info.max]
        scores = np.array(values, dtype)[few]
        scores[0] = RNG.integers(info.min, info.max, shape[1], dtype=dtype, endpoint=True)
        return torch.from_numpy(scores)
    values = torch.tensor([-math.inf, -1.5, -0.0, 0.0, 1.001, math.inf])[torch.from_numpy(few)]
    values[0] = torch.from_numpy(RNG.standard_normal(shape[1]))
    values[1] = -math.inf
    return values.to(getattr(torch, dtype))


def assert_like_the_cpu(sent, tensor, truth=TRUTH, metrics=RANKED, **shared):
    """Give the values of a tensor of the CPU; a list is that of the CPU, rank by rank."""
    there, untouched = sent(tensor), tensor.clone().detach()
    expected = Metrics.compute(tensor, truth, metrics, **shared)
    assert_identical(Metrics.compute(there, truth, metrics, **shared), expected)
    torch.testing.assert_close(there.cpu(), untouched, rtol=0, atol=0, equal_nan=True)


def assert_same_lists(sent, tensor, k, **shared):
    both = overlap(tensor, sent(tensor), [f"rbo@{k}"], **shared)[f"rbo@{k}"]
    twice = overlap(tensor, tensor, [f"rbo@{k}"], **shared)[f"rbo@{k}"]
    np.testing.assert_array_equal(both, twice)


@on_every_device
@pytest.mark.parametrize("case", SETS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_every_dtype(dtype, case, sent):
    tensor = scores_of(dtype)
    assert_like_the_cpu(sent, tensor, metrics=[*RANKED, *LISTED], **SIDE, **SETS[case])
    for ties in POLICIES[1:]:
        assert_like_the_cpu(sent, tensor, ties=ties, **SETS[case])
    for k in (7, N_ITEMS):
        assert_same_lists(sent, tensor, k, **SETS[case])


@on_every_device
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint64"])
@pytest.mark.parametrize("most", [6, 7, 300])
def test_users_with_many_relevant_items_have_their_rows_sorted(dtype, most, sent):
    shape = 6, 400
    truth = graded([*item_sets(most, (5, 400)), np.arange(400)], shape)
    exclude = item_sets(200, shape)
    for some in ({}, {"exclude": exclude}, {"exclude": exclude, "candidates": exclude[::-1]}):
        for ties in ("index", "expected"):
            assert_like_the_cpu(sent, scores_of(dtype, shape), truth, ties=ties, **some)


@on_every_device
@pytest.mark.parametrize("k", [1, 3, 60])
def test_equal_scores_of_wide_rows(k, sent):
    """Groups of 256, 128 and 4 items, of which many reach the bound."""
    n_items = 2_051
    tensor = torch.full((5, n_items), -1.0)
    tensor[1, -2:] = 0.0  # behind the last whole group
    tensor[2] = torch.from_numpy(RNG.integers(0, 3, n_items))
    tensor[3, ::2] = -math.inf
    tensor[4, 1:] = -math.inf  # one item may be recommended
    assert_same_lists(sent, tensor, k)
    truth = sp.random(*tensor.shape, 0.3, "csr", random_state=0)
    assert_like_the_cpu(sent, tensor, truth, [f"ndcg@{k}", f"recall@{k}", f"coverage@{k}"])


@on_every_device
def test_ranks_worked_by_hand(sent):
    scores = sent(torch.tensor([[1.0, 3.0, 3.0, -math.inf, 3.0, 0.0], [-0.0, 0.0, -1.0, 0, 2, 2]]))
    truth = [[0, 1, 1, 1, 0, 1], [1, 1, 1, 0, 1, 1]]
    inf = math.inf
    ranks = Metrics.ranks(scores, truth).toarray()
    assert ranks.tolist() == [[0, 1, 2, inf, 0, 5], [3, 4, 6, 0, 1, 2]]
    last = Metrics.ranks(scores, truth, ties="worst", exclude=[[4], [0, 5]]).toarray()
    assert last.tolist() == [[0, 2, 2, inf, 0, 4], [inf, 3, 4, 0, 1, inf]]
    first = Metrics.ranks(scores, truth, ties="best", candidates=[1, 3, 4]).toarray()
    assert first.tolist() == [[0, 1, inf, inf, 0, inf], [inf, 2, inf, 0, 1, inf]]


@on_every_device
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", ["all items", "exclude", "own candidates", "shared candidates"])
def test_nan_are_counted_and_not_listed(dtype, case, sent):
    tensor = scores_of(dtype)
    tensor[2, 1:16:4] = math.nan
    tensor[3, 20] = -torch.tensor(math.nan)
    tensor[4] = math.nan
    assert_like_the_cpu(sent, tensor, nan="exclude", **SETS[case])
    messages = []
    for scores in (tensor, sent(tensor)):
        with pytest.raises(NaNScoreError) as raised:
            Metrics.compute(scores, TRUTH, "ndcg@9", **SETS[case])
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@on_every_device
def test_any_memory_layout(sent):
    for dtype in ("float32", "bfloat16", "bool"):
        tensor = scores_of(dtype)
        wide = torch.cat([tensor, tensor.flip(1)], 1)
        for view in (
            tensor[:, ::2],
            tensor[1:5],
            tensor.T.contiguous().T,
            wide[::2, 3:90],
            tensor[:1].expand(N_USERS, N_ITEMS),
            tensor.requires_grad_(dtype in FLOATS),
        ):
            n_users, n_items = view.shape
            assert_like_the_cpu(sent, view, TRUTH[:n_users, :n_items], ["ndcg@5", "coverage@5"])


@on_every_device
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_items_are_hidden_in_a_copy_of_the_scores(dtype, sent):
    """Scores that need no conversion are read where they lie, and must not change there."""
    scores = sent(torch.arange(1, 7).reshape(2, 3).to(getattr(torch, dtype)))
    hits = Metrics.compute(scores, [[1], [1]], "hit@1", exclude=[[2], []])["hit@1"]
    assert hits.tolist() == [1.0, 0.0]
    assert scores.cpu().tolist() == [[1, 2, 3], [4, 5, 6]]


@on_every_device
def test_nothing_is_kept_for_a_gradient(sent):
    tensor = sent(torch.rand(SHAPE)).requires_grad_() * 1.0
    saved = []  # what autograd keeps for a backward pass
    with torch.autograd.graph.saved_tensors_hooks(saved.append, lambda kept: kept):
        Metrics.compute(tensor, TRUTH, ["ndcg@5", "coverage@5"], exclude=SEEN)
    assert saved == []


@on_every_device
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (1, 1)])
def test_nobody_and_nothing(shape, sent):
    nobody = [np.empty(0, np.int64)] * shape[0]
    shared = np.arange(min(2, shape[1]))
    for some in ({}, {"exclude": nobody}, {"candidates": nobody}, {"candidates": shared}):
        assert_like_the_cpu(
            sent, torch.zeros(shape), np.zeros(shape), ["ndcg@3", "coverage@3"], **some
        )


@on_every_device
def test_the_coverage_of_nobody_is_undefined(sent):
    factors = sent(torch.zeros(0, 2)), sent(torch.zeros(4, 2))
    for shared in ({}, {"candidates": np.array([0, 1])}):
        got = [
            Metrics.compute(sent(torch.zeros(0, 4)), np.zeros((0, 4)), "coverage@2", **shared),
            Metrics.compute_factors(*factors, np.zeros((0, 4)), "coverage@2", **shared),
        ]
        assert np.isnan([values["coverage@2"] for values in got]).all()


@on_every_device
@pytest.mark.parametrize("rows", [1, 3])
def test_values_do_not_depend_on_the_blocks(rows, sent, monkeypatch):
    monkeypatch.setattr(devices, "_BLOCK_BYTES", rows)
    monkeypatch.setattr(devices.DeviceRanker, "_bytes_per_user", lambda *_, **__: 1)
    tensor = scores_of("float32")
    for case in SETS.values():
        assert_like_the_cpu(sent, tensor, metrics=[*RANKED, *LISTED], **SIDE, **case)
    done = []
    Metrics.compute(sent(tensor), TRUTH, "hit@1", progress=lambda *at: done.append(at))
    assert done == [(min(first + rows, N_USERS), N_USERS) for first in range(0, N_USERS, rows)]
    tensor[[4, 6], 9] = math.nan
    with pytest.raises(NaNScoreError, match=r"scores hold 2 NaN, the first at \(user 4, item 9\)"):
        Metrics.compute(sent(tensor), TRUTH, "hit@1")


class Watch(dispatch.TorchDispatchMode):
    """The operations of torch, the dtypes they make, and the bytes of their tensors at the peak.

    What torch allocates within an operation is not seen.
    """

    def __init__(self, scores):
        super().__init__()
        self.operations, self.dtypes = [], set()
        self.peak = self._now = 0
        self._known = weakref.WeakSet([scores.untyped_storage()])

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        self.operations.append(function)
        for result in results if isinstance(results, list | tuple) else [results]:
            if isinstance(result, torch.Tensor):
                self.dtypes.add(result.dtype)
                self._note(result.untyped_storage())
        return results

    def _note(self, storage):
        if storage not in self._known:
            self._known.add(storage)
            self._now += storage.nbytes()
            weakref.finalize(storage, self._free, storage.nbytes())
            self.peak = max(self.peak, self._now)

    def _free(self, n_bytes):
        self._now -= n_bytes


def test_a_tensor_of_the_cpu_is_read_by_the_kernels_alone():
    tensor = scores_of("float32")
    with Watch(tensor) as here:
        Metrics.compute(tensor, TRUTH, [*RANKED, *LISTED], **SIDE)
    assert set(map(str, here.operations)) <= {"aten.is_pinned.default", "aten.detach.default"}
    with Watch(tensor) as there:
        Metrics.compute(elsewhere(tensor), TRUTH, "ndcg@5")
    assert "aten.gt.Tensor" in map(str, there.operations)


@on_every_device
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_a_device_needs_no_float64(dtype, sent):
    """MPS has none."""
    tensor = sent(scores_of(dtype))
    truth = graded(item_sets(100))
    with Watch(tensor) as made:
        for case in SETS.values():
            Metrics.compute(tensor, truth, [*RANKED, *LISTED], **SIDE, **case)
        users, items = sent(torch.rand(N_USERS, 4)), sent(torch.rand(9, 4))
        Metrics.compute_factors(users, items, TRUTH[:, :9], "ndcg@3", item_bias=torch.rand(9))
    assert made.dtypes
    assert torch.float64 not in made.dtypes


@on_every_device
@pytest.mark.parametrize("kind", ["random", "nan", "uint64"])
def test_memory_is_bounded_by_the_block(kind, sent, monkeypatch):
    monkeypatch.setattr(devices, "_BLOCK_BYTES", 1 << 21)
    shape = n_users, n_items = 40, 4_000
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    if kind == "nan":
        scores[::2, n_items - 1] = math.nan
    elif kind == "uint64":
        scores = scores.to(torch.int64).view(torch.uint64)
    scores = sent(scores)
    truth = sp.random(*shape, 0.01, "lil", random_state=0)
    truth[:4, ::10] = 1.0  # these have many
    for some in (
        {},
        {"exclude": [np.arange(0, n_items, 2)] * n_users},
        {"candidates": [np.arange(0, n_items, 3)] * n_users},
        {"candidates": np.arange(0, n_items, 3)},
    ):
        for metrics in (["ndcg@10"], ["ndcg@10", "coverage"], "auc"):
            with Watch(scores) as made:
                Metrics.compute(scores, truth, metrics, nan="exclude", **some)
            assert made.peak < 1.3 * devices._BLOCK_BYTES, (list(some), metrics)


@on_every_device
def test_an_evaluator_and_a_stream_take_batches(sent):
    tensor, metrics = scores_of("bfloat16"), [*RANKED, "coverage@5"]
    evaluator, stream = Evaluator(TRUTH, metrics, exclude=SEEN), StreamEvaluator(metrics)
    for rows in (slice(0, 3), slice(3, N_USERS)):
        evaluator.update(sent(tensor)[rows], rows)
        stream.update(sent(tensor)[rows], TRUTH[rows], exclude=SEEN[rows])
    expected = Metrics.compute(tensor, TRUTH, metrics, exclude=SEEN)
    assert_identical(evaluator.compute(), expected)
    assert_identical(stream.compute(), expected)


@on_every_device
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64"])
def test_factors_are_multiplied_as_on_the_cpu(dtype, sent):
    """Half precision would round what float32 keeps; torch multiplies no integers on a GPU."""
    pair = [torch.from_numpy(RNG.integers(-60, 60, (n, 40))) for n in SHAPE]
    pair = [factors.to(getattr(torch, dtype)) for factors in pair]
    bias = RNG.integers(-9, 9, N_ITEMS)
    there = [sent(factors) for factors in pair]
    metrics = [*RANKED, *LISTED]
    for some in ({}, {"exclude": SEEN, "item_bias": bias}, {"candidates": POOL}):
        expected = Metrics.compute_factors(*pair, TRUTH, metrics, **SIDE, **some)
        assert_identical(Metrics.compute_factors(*there, TRUTH, metrics, **SIDE, **some), expected)
    assert overlap((*there, bias), (*pair, bias), "rbo@9")["rbo@9"].tolist() == [1.0] * N_USERS
    evaluator = Evaluator(TRUTH, RANKED)
    bias_there = sent(torch.from_numpy(bias))
    for rows in (slice(0, 3), slice(3, N_USERS)):
        evaluator.update_factors(there[0][rows], there[1], rows, item_bias=bias_there)
    assert_identical(
        evaluator.compute(), Metrics.compute_factors(*pair, TRUTH, RANKED, item_bias=bias)
    )


@on_every_device
@pytest.mark.parametrize("half", ["float16", "bfloat16", "float32"])
def test_factors_of_which_one_is_float64_are_multiplied_as_float64(half, sent):
    one, little = [1.0, 0.0], 2.0**-30  # float32 has no 1 + 2^-30
    half, double = getattr(torch, half), torch.float64
    # The item 0 has the score 1, the item 1 the score 1 + 2^-30.
    of_double_users = torch.tensor([[1.0, little]], dtype=double), torch.tensor([one, [1.0, 1.0]])
    of_double_items = torch.ones(1, 2), torch.tensor([one, [1.0, little]], dtype=double)
    for users, items in (of_double_users, of_double_items):
        pair = [each if each.dtype == double else each.to(half) for each in (users, items)]
        for some in (pair, list(map(sent, pair))):
            assert Metrics.compute_factors(*some, [[0, 1]], "mrr")["mrr"] == [1.0]
            assert Metrics.compute_factors(*some, [[0, 1]], "hit@1")["hit@1"] == [1.0]


def test_factors_on_two_devices_are_refused():
    assert message_of(
        InputTypeError, devices.DeviceFactors, torch.zeros(2, 3, device="meta"), torch.zeros(4, 3)
    ) == (
        "user_factors is on the device meta and item_factors on cpu, expected one device; type "
        "item_factors.to('meta')"
    )


@on_every_device
def test_factors_of_a_device_must_fit(sent):
    users, truth = sent(torch.zeros(3, 2)), np.zeros((3, 5))
    with pytest.raises(ShapeError, match=r"must have the same d, got \(3, 2\) and \(5, 4\)"):
        Metrics.compute_factors(users, sent(torch.zeros(5, 4)), truth, "hit@1")
    with pytest.raises(ShapeError, match="item_bias must hold one number for each of the 5 items"):
        Metrics.compute_factors(users, sent(torch.zeros(5, 2)), truth, "hit@1", item_bias=[0.0])


@pytest.mark.parametrize(
    "tensor, error, end",
    [
        (
            torch.zeros(4),
            ShapeError,
            "got 1-d of shape (4,); for one user type scores[None]; "
            "Metrics.compute_groups(..., ids=ids) reads rows of groups, such as queries",
        ),
        (torch.zeros(2, 3).cfloat(), InputTypeError, "got dtype complex64; type scores.real"),
        (
            torch.zeros(2, 3).to(torch.float8_e5m2),
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
def test_errors(tensor, error, end):
    assert message_of(error, devices.DeviceScores, tensor).endswith(end)


class Full(Elsewhere):
    """A tensor on a device that has no memory left for what is selected from it."""

    message = "CUDA out of memory. Tried to allocate 256.00 MiB"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.topk:
            raise RuntimeError(cls.message)
        return super().__torch_function__(function, types, args, kwargs or {})


def test_full_memory_is_one_error_and_adds_nothing(monkeypatch):
    scores, truth = torch.rand(6, 9), np.eye(6, 9)
    evaluator = Evaluator(truth, ["ndcg@3", "coverage@2"])
    evaluator.update(elsewhere(scores))
    before = evaluator.compute()
    full = scores.flip(0).as_subclass(Full)
    with pytest.raises(DeviceMemoryError) as raised:
        evaluator.update(full, slice(None))
    assert str(raised.value) == (
        "the device has no memory left to rank the scores, and nothing was added: CUDA out of "
        "memory. Tried to allocate 256.00 MiB; give fewer users at a time"
    )
    assert_identical(evaluator.compute(), before)
    assert isinstance(raised.value, RuntimeError)  # as that of torch
    # Other errors of torch stay as they are.
    monkeypatch.setattr(Full, "message", "CUDA error: an illegal memory access was encountered")
    with pytest.raises(RuntimeError, match=r"^CUDA error") as raised:
        evaluator.update(full, slice(None))
    assert not isinstance(raised.value, DeviceMemoryError)


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


def test_what_lies_on_a_device():
    tensor = torch.zeros(1, 2)
    for device in ((2, 0), (10, 3)):  # CUDA and ROCm
        assert devices.on_device(Exported(np.zeros((1, 2)), device))
    for device in ((1, 0), (3, 0), None):  # (3, 0) is pinned, on the host
        assert not devices.on_device(Exported(np.zeros((1, 2)), device))
    for name in ("cuda", "mps", "xpu"):
        assert devices.on_device(SimpleNamespace(device=torch.device(name)))
    assert devices.on_device(elsewhere(tensor))
    for value in (tensor, tensor.to("meta"), np.zeros((1, 2)), [[1.0]], None):
        assert not devices.on_device(value)


def test_other_arrays_become_tensors_that_share_their_memory():
    tensor = torch.zeros(1, 2)
    assert devices.as_tensor(tensor) is tensor
    array = np.array([[1.0, 3.0, 2.0]])
    assert devices.as_tensor(Exported(array, (1, 0))).data_ptr() == array.ctypes.data


@pytest.mark.skipif(torch.cuda.is_available(), reason="this torch reads arrays of a GPU")
def test_factors_of_a_device_that_torch_cannot_read_are_refused():
    users, items = np.ones((2, 3)), np.ones((4, 3))
    assert devices.as_tensor(Exported(users, (2, 0))) is None
    on_gpu = Exported(users, (2, 0)), Exported(items, (2, 0))
    with pytest.raises(
        InputTypeError, match=r"^user_factors is on the device .*, expected an array on"
    ):
        Metrics.compute_factors(*on_gpu, [[0], [1]], "hit@1")


def test_torch_is_imported_with_the_first_tensor_alone():
    script = (
        "import sys, recmetrics._core.selection.device as device\n"
        "assert not device.on_device([[1.0]])\n"
        "assert 'torch' not in sys.modules\n"
        "sys.modules['torch'] = None\n"  # an import of it fails
        "assert device.as_tensor(object()) is None\n"
    )
    python("-c", script)
