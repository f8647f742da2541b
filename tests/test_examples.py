"""The examples run as printed, on a small simulated catalogue."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MEAN = r"0\.\d{4}"
SMALL = ["--small", "--epochs", "2"]


def run(name, *options):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check(lines, keys):
    """The data, a line for each epoch that rises, the end, and both models on the test items."""
    assert lines[0] == (
        "simulated: 300 users x 200 items; 6,685 train, 932 validation, 1,783 test interactions"
    )
    epochs = [line for line in lines if line.startswith("epoch ")]
    for number, line in enumerate(epochs, start=1):
        assert re.fullmatch(rf"epoch {number}: " + ", ".join(f"{k} {MEAN}" for k in keys), line)
    first, second = (float(re.search(rf"{keys[0]} ({MEAN})", line)[1]) for line in epochs)
    assert second > first  # it learns
    for name, line in zip(["   model", "    EASE"], lines[-2:], strict=True):
        assert re.fullmatch(rf"{name}: test recall@20 {MEAN}, ndcg@20 {MEAN}", line)


KEYS = ["ndcg@20", "recall@20", "coverage@20"]
LOGGED = [f"val/{key.replace('@', '_at_')}" for key in KEYS]


def test_the_torch_loop():
    lines = run("torch_loop.py", *SMALL)
    check(lines, KEYS)
    (times,) = (line for line in lines if line.startswith("training "))
    assert re.fullmatch(
        r"training [\d.]+ s; validation [\d.]+ s, [\d.]+% of it: scores [\d.]+ s, "
        r"metrics [\d.]+ s; best epoch 2",
        times,
    )


def test_the_trainer_of_hugging_face():
    for package in ("transformers", "accelerate"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    lines = [line for line in run("next_item_trainer.py") if line.startswith("epoch ")]
    found = [re.fullmatch(r"epoch (\d)  hit@1 (\d\.\d{3})  mrr@10 (\d\.\d{3})", x) for x in lines]
    assert [int(line[1]) for line in found] == [1, 2, 3, 4]
    assert float(found[0][2]) < float(found[-1][2])  # it learns
    # Seven of ten steps go to the next item; no model can foresee the others.
    assert 0.6 < float(found[-1][2]) < 0.8


def test_the_loop_in_two_processes():
    lines = run("torch_processes.py", *SMALL)
    check(lines, KEYS)
    assert "best epoch 2" in lines


def test_the_loop_in_lightning():
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    pytest.importorskip("lightning", reason="lightning is not installed")
    check(run("lightning_loop.py", *SMALL), LOGGED)


def test_absent_data_are_simulated(tmp_path):
    code = "import interactions; print(interactions.load(small=False).train.shape)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=EXAMPLES,
        env=os.environ | {"RECMETRICS_DATA": str(tmp_path)},
    )
    first, shape = done.stdout.splitlines()
    assert first.startswith("simulated: 3,000 users x 1,500 items; ")
    assert shape == "(3000, 1500)"
