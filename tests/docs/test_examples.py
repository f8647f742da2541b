"""The examples run as printed, on a small simulated catalogue."""

import json
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


# Threads of torch that wait for each other, on small arrays, took more than half of the time.
ENVIRONMENT = {"PYTHONWARNINGS": "default", "KERAS_BACKEND": "jax", "OMP_NUM_THREADS": "1"}


def run(name, *options):
    return python(EXAMPLES / name, *options, **ENVIRONMENT).stdout.splitlines()


IN_TURN = """
import io, json, runpy, sys
from contextlib import redirect_stdout

printed = []
for name, *options in json.loads(sys.argv[1]):
    sys.argv = [name, *options]
    with redirect_stdout(io.StringIO()) as lines:
        runpy.run_path(name, run_name="__main__")
    printed.append(lines.getvalue().splitlines())
import interactions
with redirect_stdout(io.StringIO()) as lines:
    print(interactions.load(small=False).train.shape)
printed.append(lines.getvalue().splitlines())
print(json.dumps(printed))
"""


def run_in_turn(folder, *commands):
    """The lines of examples, and those of data that a folder lacks.

    One process runs them, since to import torch and Lightning takes most of the time of each.
    """
    data = {"RECMETRICS_DATA": str(folder)}
    done = python("-c", IN_TURN, json.dumps(commands), cwd=EXAMPLES, **data, **ENVIRONMENT)
    return json.loads(done.stdout)


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


def test_the_loops_in_one_process(tmp_path):
    """Without Lightning, those that need it are left out, and the rest is checked."""
    need("torch")
    commands = [["torch_loop.py", *SMALL]]
    if all(map(find_spec, ["torchmetrics", "lightning"])):
        commands += [["lightning_loop.py", *SMALL], ["lightning_sequences.py"]]
    plain, *with_lightning, absent = run_in_turn(tmp_path, *commands)

    check(plain, KEYS)
    (times,) = (line for line in plain if line.startswith("training "))
    assert re.fullmatch(
        r"training [\d.]+ s; validation [\d.]+ s, [\d.]+% of it: scores [\d.]+ s, "
        r"metrics [\d.]+ s; best epoch 2",
        times,
    )
    first, shape = absent
    assert first.startswith("simulated: 3,000 users x 1,500 items; ")
    assert shape == "(3000, 1500)"

    if with_lightning:
        loop, sequences = with_lightning
        check(loop, LOGGED)
        assert len(check_next_item(sequences)) == 4


def test_the_loop_in_two_processes():
    need("torch")
    lines = run("torch_processes.py", *SMALL)
    check(lines, KEYS)
    assert "best epoch 2" in lines


NEXT_ITEM = {  # each with the packages that it needs
    "next_item_trainer.py": ["torch", "transformers", "accelerate"],
    "keras_loop.py": ["keras", "jax"],
    "jax_loop.py": ["jax"],
}


def check_next_item(lines):
    """An epoch after the other, of which one is better than the first; the values of mrr@10."""
    lines = [line for line in lines if line.startswith("epoch ")]
    found = [re.fullmatch(r"epoch (\d)  hit@1 (\d\.\d{3})  mrr@10 (\d\.\d{3})", x) for x in lines]
    epochs, hit, mrr = (
        list(map(float, values)) for values in zip(*(line.groups() for line in found), strict=True)
    )
    assert epochs == list(range(1, len(lines) + 1))
    assert mrr[0] < max(mrr)  # it learns
    # Seven of ten steps go to the next item; no model can foresee the others.
    assert 0.6 < hit[-1] < 0.8
    return mrr


@pytest.mark.parametrize("name", NEXT_ITEM)
def test_the_next_item(name):
    need(*NEXT_ITEM[name])
    mrr = check_next_item(run(name))
    if name == "keras_loop.py":  # which stops by what the callback has put into the logs
        assert mrr[-1] <= mrr[-2] == max(mrr)
    else:
        assert len(mrr) == 4
