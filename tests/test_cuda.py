"""Ranks counted by the kernels for a GPU, and what happens where these cannot run."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recmetrics import DeviceMemoryError, Evaluator, InputTypeError, Metrics
from recmetrics._selection import device, sources
from recmetrics._selection.device import way_on
from recmetrics._selection.device_factors import DeviceFactors

torch = pytest.importorskip("torch", reason="tensors need torch")

SIMULATED = Path(__file__).with_name("simulated.py")
SCORES, TRUTH = np.random.default_rng(0).random((6, 9)), np.eye(6, 9)


def test_the_kernels_give_the_hits_of_the_cpu():
    """In a process of its own: Numba decides for or against its simulator at its import.

    Problems are small, and compiling the kernels of the CPU would take ten times as long.
    """
    pytest.importorskip("numba.cuda", reason="numba.cuda is not installed")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, SIMULATED], env=environment, capture_output=True, text=True
    )
    results = dict(json.loads(line) for line in run.stdout.splitlines())
    assert run.returncode == 0, run.stderr
    assert len(results) > 30
    wrong = [f"{check}: {result}" for check, result in results.items() if result != "ok"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_counts_ranks():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    tensor = torch.as_tensor(SCORES, device="cuda")
    assert way_on(str(tensor.device)).words == f"ranks counted on {tensor.device} by numba.cuda"
    metrics = ["ndcg@3", "auc", "mrr"]
    expected = Metrics.compute(SCORES, TRUTH, metrics, ties="expected")
    for metric, values in Metrics.compute(tensor, TRUTH, metrics, ties="expected").items():
        np.testing.assert_array_equal(values, expected[metric])


@pytest.fixture
def on_device(monkeypatch):
    """Tensors of the CPU are taken for those of a GPU."""
    monkeypatch.setattr(sources, "on_device", lambda value: isinstance(value, torch.Tensor))


@pytest.fixture
def untried():
    """No device was tried by an earlier test, nor is one by a later test."""
    way_on.cache_clear()
    yield
    way_on.cache_clear()


@pytest.mark.usefixtures("untried")
def test_without_numba_cuda_torch_selects(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.cuda", None)  # an import of it fails
    monkeypatch.delitem(sys.modules, "recmetrics._selection.cuda", raising=False)
    counting, words = way_on("cuda:0")
    assert counting is None
    assert words.startswith("lists selected on cuda:0 by torch (numba.cuda: ModuleNotFoundError: ")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
@pytest.mark.usefixtures("untried")
def test_where_no_kernel_runs_torch_selects():
    """Here the kernels are there, and the driver is not."""
    counting, words = way_on("cuda:0")
    assert counting is None
    assert words.startswith("lists selected on cuda:0 by torch (numba.cuda: ")


@pytest.mark.usefixtures("on_device")
def test_a_log_and_a_bar_say_what_ran(caplog, capsys):
    pytest.importorskip("tqdm", reason="progress bars need tqdm")
    words = "lists selected on cpu by torch (no CUDA device)"
    with caplog.at_level(logging.DEBUG, "recmetrics"):
        Metrics.compute(torch.as_tensor(SCORES), TRUTH, "hit@1", progress=True)
        assert [record.message for record in caplog.records] == [words]
        assert words in capsys.readouterr().err
        Metrics.compute(SCORES, TRUTH, "hit@1", progress=True)
        assert len(caplog.records) == 1
        assert "torch" not in capsys.readouterr().err


class Full(torch.Tensor):
    """A tensor on a device that has no memory left for what is selected from it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.topk:
            msg = "CUDA out of memory. Tried to allocate 256.00 MiB"
            raise torch.OutOfMemoryError(msg)
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.mark.usefixtures("on_device")
def test_full_memory_is_one_error_and_adds_nothing():
    evaluator = Evaluator(TRUTH, ["ndcg@3", "coverage@2"])
    evaluator.update(torch.as_tensor(SCORES))
    before = evaluator.compute()
    full = torch.as_tensor(SCORES[::-1].copy()).as_subclass(Full)
    with pytest.raises(DeviceMemoryError) as raised:
        evaluator.update(full, slice(None))
    assert str(raised.value) == (
        "the device has no memory left to rank the scores, and nothing was added: CUDA out of "
        "memory. Tried to allocate 256.00 MiB; give fewer users at a time, or type "
        "torch.cuda.empty_cache() first"
    )
    for metric, values in evaluator.compute().items():
        np.testing.assert_array_equal(values, before[metric])
    assert isinstance(raised.value, RuntimeError)  # as that of torch


def test_other_errors_of_torch_stay_as_they_are():
    def fail():
        msg = "CUDA error: an illegal memory access was encountered"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match=r"^CUDA error"):
        device.refuse_full_memory()(fail)()


def test_factors_on_two_devices_are_refused():
    with pytest.raises(InputTypeError) as raised:
        DeviceFactors(torch.zeros(2, 3, device="meta"), torch.zeros(4, 3))
    assert str(raised.value) == (
        "user_factors is on the device meta and item_factors on cpu, expected one device; type "
        "item_factors.to('meta')"
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64"])
def test_factors_are_multiplied_as_on_the_cpu(dtype):
    """Half precision would round what float32 keeps; torch multiplies no integers on a GPU."""
    rng = np.random.default_rng(1)
    pair = [torch.from_numpy(rng.integers(-60, 60, (n, 40))) for n in (5, 70)]
    pair = [factors.to(getattr(torch, dtype)) for factors in pair]
    expected = (pair[0].double() @ pair[1].double().T).numpy()
    scores = DeviceFactors(*pair).host(slice(0, 5))
    np.testing.assert_array_equal(scores, expected)
    assert scores.dtype == (np.float64 if dtype == "int64" else np.float32)
