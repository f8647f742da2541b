"""Ranks counted by the kernels for a GPU, in Numba's simulator, beside those of the CPU.

NUMBA_ENABLE_CUDASIM=1 python tests/simulated.py

The simulator runs each thread of a GPU as one of Python, so the problems are small, and so are the
blocks of threads. A process with the simulator has no other CUDA; ``test_cuda.py`` starts this one
and reads the lines that it prints: a check, and "ok" or what went wrong.
"""

import json
import logging
import math
import sys
import threading
import traceback

import numpy as np
import torch
from numba.cuda.simulator import kernelapi

from recmetrics import Evaluator, Metrics, NaNScoreError
from recmetrics._inputs import read_matrix, read_users
from recmetrics._selection import cuda, device, find_hits, sources
from recmetrics._selection.device import DeviceScores
from recmetrics._selection.device_factors import DeviceFactors
from recmetrics._spec import Request

FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *SIGNED, *UNSIGNED, "bool"]
POLICIES = ["index", "expected", "worst", "best"]
SHAPE = N_USERS, N_ITEMS = 5, 21  # two tiles of 8 items, and a part of one
RNG = np.random.default_rng(0)
FIELDS = ("start", "ideal", "n_hits", "rank", "first", "last", "gain", "length")


def scores_of(dtype):
    """Scores with many ties, and with what is hard in that dtype."""
    few = RNG.integers(0, 6, SHAPE)
    if dtype == "bool":
        return torch.from_numpy(few == 0)
    if dtype not in FLOATS:
        info = np.iinfo(dtype)
        values = [info.min, info.min + 1, 0, 1, info.max - 1, info.max]
        return torch.from_numpy(np.array(values, dtype)[few])
    values = torch.tensor([-math.inf, -1.5, -0.0, 0.0, 1.001, math.inf])[torch.from_numpy(few)]
    values[0] = torch.from_numpy(RNG.standard_normal(N_ITEMS))
    values[1] = -math.inf
    return values.to(getattr(torch, dtype))


def item_sets(longest):
    """A set for each user; the first has the most, the last has none."""
    sizes = [longest, *RNG.integers(0, longest + 1, N_USERS - 2), 0]
    return [RNG.choice(N_ITEMS, size, replace=False) for size in sizes]


TRUTH = np.zeros(SHAPE)
for _user, _items in enumerate(item_sets(9)):
    TRUTH[_user, _items] = RNG.integers(1, 4, len(_items))
SEEN, POOL = item_sets(12), item_sets(18)
SETS = {
    "all items": {},
    "exclude": {"exclude": SEEN},
    "own candidates": {"candidates": POOL},
    "own candidates less exclude": {"candidates": POOL, "exclude": SEEN},
    "shared candidates": {"candidates": np.arange(0, N_ITEMS, 3)},
    "shared candidates less exclude": {"candidates": np.arange(2, N_ITEMS, 2), "exclude": SEEN},
    "no candidate": {"candidates": np.empty(0, np.int64)},
}


def hits_of(scores, metrics, **shared):
    request = Request(metrics, **shared)
    users = read_users(scores, TRUTH_OF[0], shared, request)
    return find_hits(scores, users, request)


def assert_same_hits(tensor, metrics, **shared):
    """The record of hits is that of the CPU, bit by bit."""
    own = hits_of(DeviceScores(tensor), metrics, **shared)
    host = hits_of(read_matrix(tensor), metrics, **shared)
    for field in FIELDS:
        found, expected = getattr(own.hits, field), getattr(host.hits, field)
        np.testing.assert_array_equal(found, expected, err_msg=field, strict=True)
    assert own.n_swallowed == host.n_swallowed


def assert_same(found, expected):
    assert list(found) == list(expected)
    for metric, values in expected.items():
        np.testing.assert_array_equal(found[metric], values, err_msg=metric)


def ranks_of_a_dtype(dtype):
    tensor = scores_of(dtype)
    assert_same_hits(tensor, "mrr")
    assert_same_hits(tensor, "ndcg@7", exclude=SEEN)
    assert_same_hits(tensor, "hit@1", ties="expected", candidates=POOL, exclude=SEEN)


def sets(case):
    for tensor in (scores_of("float32"), scores_of("uint8")):
        assert_same_hits(tensor, "ndcg@3", **SETS[case])
        assert_same_hits(tensor, "ndcg@4", ties="expected", **SETS[case])
        assert_same_hits(tensor, "auc", ties="worst", **SETS[case])


def tie_policies(ties):
    tensor, metrics = scores_of("float16"), ["ndcg@5", "auc", "hit@2"]
    expected = Metrics.compute(tensor.float().numpy(), TRUTH, metrics, ties=ties, exclude=SEEN)
    assert_same(Metrics.compute(tensor, TRUTH, metrics, ties=ties, exclude=SEEN), expected)


def nan_is_counted_and_named(dtype):
    tensor = scores_of(dtype)
    tensor[2, 1:16:4] = math.nan
    tensor[3, 20] = -torch.tensor(math.nan)
    tensor[4] = math.nan
    # The sets have the NaN of some users, and some of them are excluded. One thread has several.
    for some in ({}, {"exclude": SEEN}, {"candidates": POOL, "exclude": SEEN}):
        assert_same_hits(tensor, "ndcg@9", nan="exclude", **some)
        messages = []
        for scores in (DeviceScores(tensor), read_matrix(tensor)):
            try:
                hits_of(scores, "ndcg@9", **some)
            except NaNScoreError as error:
                messages.append(str(error))
        assert len(messages) == 2
        assert messages[0] == messages[1]


def memory_layouts():
    for dtype in ("float32", "bfloat16", "bool"):
        tensor = scores_of(dtype)
        wide = torch.cat([tensor, tensor.flip(1)], 1)
        views = tensor[:, ::2], tensor[1:5], tensor.T.contiguous().T, wide[::2, 3:24]
        for view in (
            *views,
            tensor[:1].expand(N_USERS, N_ITEMS),
            tensor.requires_grad_(dtype[0] != "b"),
        ):
            TRUTH_OF[0] = TRUTH[: view.shape[0], : view.shape[1]]
            assert_same_hits(view, "ndcg@5")
    TRUTH_OF[0] = TRUTH


def blocks_of_the_real_size():
    for name, value in REAL.items():
        setattr(cuda, name, value)
    cuda._BLOCKS = 1
    try:
        tensor = torch.from_numpy(RNG.integers(0, 300, (1, 1_100)) / 7)
        TRUTH_OF[0] = np.zeros(tensor.shape)
        TRUTH_OF[0][0, ::150] = 1.0
        assert_same_hits(tensor, "ndcg@400")
    finally:
        TRUTH_OF[0] = TRUTH
        make_small()


def parts_of_a_row():
    tensor = scores_of("float32")
    for cuda._BLOCKS in (1, 5, 11):
        assert_same_hits(tensor, "ndcg@20", exclude=SEEN, ties="worst")
    make_small()


def nobody_and_nothing():
    for shape in ((0, 5), (3, 0), (1, 1)):
        TRUTH_OF[0] = np.zeros(shape)
        assert_same_hits(torch.zeros(shape), "ndcg@3")
    TRUTH_OF[0] = TRUTH


METRICS = ["ndcg@5", "recall@20", "auc", "mrr", "coverage@4", "diversity@3"]
SIDE = {"features": RNG.standard_normal((N_ITEMS, 3))}


def values_beside_lists():
    """Metrics of lists, of whole rows and of ranks in one call; the lists are selected by torch."""
    tensor = scores_of("float32")
    for some in ({}, {"candidates": POOL, "exclude": SEEN}):
        expected = Metrics.compute(tensor.numpy(), TRUTH, METRICS, **SIDE, **some)
        found = Metrics.compute(tensor, TRUTH, METRICS, **SIDE, **some)
        assert_same(found, expected)


def batches_of_an_evaluator():
    tensor = scores_of("bfloat16")
    expected = Metrics.compute(tensor.float().numpy(), TRUTH, METRICS[:4], exclude=SEEN)
    evaluator = Evaluator(TRUTH, METRICS[:4], exclude=SEEN)
    for rows in (slice(0, 2), slice(2, 5)):
        evaluator.update(tensor[rows], rows)
    assert_same(evaluator.compute(), expected)


def factors():
    users = torch.from_numpy(RNG.integers(-2, 3, (N_USERS, 4)))
    items = torch.from_numpy(RNG.integers(-2, 3, (N_ITEMS, 4)))
    bias = RNG.integers(0, 2, N_ITEMS)
    expected = Metrics.compute((users @ items.T).numpy() + bias, TRUTH, METRICS[:4], exclude=SEEN)
    for dtypes in (("float32", "float32"), ("float16", "bfloat16"), ("int64", "float32")):
        pair = [each.to(getattr(torch, d)) for each, d in zip((users, items), dtypes, strict=True)]
        assert isinstance(sources.read_factors(*pair, None), DeviceFactors)
        found = Metrics.compute_factors(*pair, TRUTH, METRICS[:4], item_bias=bias, exclude=SEEN)
        assert_same(found, expected)


def what_ran_is_logged():
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    log = logging.getLogger("recmetrics")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        Metrics.compute(torch.rand(SHAPE), TRUTH, "hit@1")
    finally:
        log.setLevel(logging.NOTSET)
        log.removeHandler(handler)
    assert lines == ["ranks counted on cpu by numba.cuda"], lines


SMALL = {"THREADS": 4, "EACH": 2, "TOGETHER": 3, "SUMMING": 2, "ROWS": 11, "_BLOCKS": 6}
REAL = {name: getattr(cuda, name) for name in SMALL}
TRUTH_OF = [TRUTH]


def make_small():
    for name, value in SMALL.items():
        setattr(cuda, name, value)
    device._LEAST_CHUNK = 1


CHECKS = [
    *((ranks_of_a_dtype, dtype) for dtype in DTYPES),
    *((sets, case) for case in SETS),
    *((tie_policies, ties) for ties in POLICIES),
    *((nan_is_counted_and_named, dtype) for dtype in FLOATS),
    (memory_layouts,),
    (blocks_of_the_real_size,),
    (parts_of_a_row,),
    (nobody_and_nothing,),
    (values_beside_lists,),
    (batches_of_an_evaluator,),
    (factors,),
    (what_ran_is_logged,),
]
NAMES = [" ".join([check.__name__.replace("_", " "), *which]) for check, *which in CHECKS]


class _Once(dict):
    """The shared arrays of a launch; from the look-up to the entry of a new one, others wait."""

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def get(self, place):
        self._lock.acquire()
        found = super().get(place)
        if found is not None:
            self._lock.release()
        return found

    def __setitem__(self, place, array):
        super().__setitem__(place, array)
        self._lock.release()


def _share_once(shared, _):
    shared._allocations = _Once()


def main():
    """Run every check, and print a line of JSON for each."""
    sys.setswitchinterval(1e-5)  # the simulator looks for waiting threads in a busy loop
    kernelapi.FakeCUDAShared.__init__ = _share_once
    sources.on_device = lambda value: isinstance(value, torch.Tensor)
    make_small()
    for name, (check, *which) in zip(NAMES, CHECKS, strict=True):
        try:
            check(*which)
            result = "ok"
        except Exception:
            result = traceback.format_exc()
        print(json.dumps([name, result]), flush=True)


if __name__ == "__main__":
    main()
