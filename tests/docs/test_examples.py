"""The examples run as printed, on a small simulated catalogue."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from asserts import python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MEAN = r"0\.\d{4}"
SMALL = ["--small", "--epochs", "2"]


def need(*packages):
    """Skip where one is not installed; the test does not import them, the example does."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def run(name, *options):
    # Threads of torch that wait for each other, on small arrays, took more than half of the time.
    environment = {"PYTHONWARNINGS": "default", "KERAS_BACKEND": "jax", "OMP_NUM_THREADS": "1"}
    return python(EXAMPLES / name, *options, **environment).stdout.splitlines()


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
    need("torch")
    lines = run("torch_loop.py", *SMALL)
    check(lines, KEYS)
    (times,) = (line for line in lines if line.startswith("training "))
    assert re.fullmatch(
        r"training [\d.]+ s; validation [\d.]+ s, [\d.]+% of it: scores [\d.]+ s, "
        r"metrics [\d.]+ s; best epoch 2",
        times,
    )


def test_the_loop_in_two_processes():
    need("torch")
    lines = run("torch_processes.py", *SMALL)
    check(lines, KEYS)
    assert "best epoch 2" in lines


def test_the_loop_in_lightning():
    need("torch", "torchmetrics", "lightning")
    check(run("lightning_loop.py", *SMALL), LOGGED)


NEXT_ITEM = {  # each with the packages that it needs
    "next_item_trainer.py": ["torch", "transformers", "accelerate"],
    "lightning_sequences.py": ["torch", "lightning"],
    "keras_loop.py": ["keras", "jax"],
    "jax_loop.py": ["jax"],
}


@pytest.mark.parametrize("name", NEXT_ITEM)
def test_the_next_item(name):
    need(*NEXT_ITEM[name])
    lines = [line for line in run(name) if line.startswith("epoch ")]
    found = [re.fullmatch(r"epoch (\d)  hit@1 (\d\.\d{3})  mrr@10 (\d\.\d{3})", x) for x in lines]
    epochs, hit, mrr = (
        list(map(float, values)) for values in zip(*(line.groups() for line in found), strict=True)
    )
    assert epochs == list(range(1, len(lines) + 1))
    assert mrr[0] < max(mrr)  # it learns
    # Seven of ten steps go to the next item; no model can foresee the others.
    assert 0.6 < hit[-1] < 0.8
    if name == "keras_loop.py":  # which stops by what the callback has put into the logs
        assert mrr[-1] <= mrr[-2] == max(mrr)
    else:
        assert len(lines) == 4


def test_absent_data_are_simulated(tmp_path):
    need("torch")
    code = "import interactions; print(interactions.load(small=False).train.shape)"
    done = python("-c", code, cwd=EXAMPLES, RECMETRICS_DATA=str(tmp_path))
    first, shape = done.stdout.splitlines()
    assert first.startswith("simulated: 3,000 users x 1,500 items; ")
    assert shape == "(3000, 1500)"
