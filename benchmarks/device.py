"""Time an Evaluator with scores on a GPU, relative to one read of them and to torch.topk.

python benchmarks/device.py [--users N --items N] [--k K]

The time of an update covers everything from the scores on the device to the values on the host,
with the check for NaN and the order of ties. Truth and excluded items are CSR matrices on the host.
Before float32 scores are timed, the values must be those of torch.topk and a gather.

Everything runs on a GPU if torch finds one, and otherwise on the CPU with fewer scores. The first
line of the output says which.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from problems import item_sets, show_size
from timing import in_turn

from recmetrics import Evaluator

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from elsewhere import elsewhere

N_RELEVANT, N_EXCLUDED = 10, 100
GPU_SIZE, CPU_SIZE = (8_192, 100_000), (256, 20_000)


def read_once(scores):
    """A reduction, which the memory limits."""
    largest = scores.amax(1)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return largest


def topk_and_gather(scores, truth, k):
    """The recall of each user as a training loop computes it, with a dense truth on the device."""
    found = truth.gather(1, scores.topk(k).indices).sum(1)
    return (found / truth.sum(1).clamp(max=k)).cpu()


def cases(size, k, device):
    """Name, scores, metric and sets of items."""
    generator = torch.Generator(device).manual_seed(0)
    random = torch.randn(size, generator=generator, device=device)
    rng = np.random.default_rng(0)
    excluded, own = item_sets(size, N_EXCLUDED, rng), item_sets(size, 10 * k, rng)
    half = np.sort(rng.choice(size[1], size[1] // 2, replace=False))
    recall, coverage = f"recall@{k}", f"coverage@{k}"
    yield "float32", random, recall, {}
    yield "float32, lists", random, coverage, {}
    yield f"float32, {N_EXCLUDED} excluded", random, recall, {"exclude": excluded}
    yield f"float32, {10 * k:,} candidates per user", random, recall, {"candidates": own}
    yield "float32, half of the items candidates", random, recall, {"candidates": half}
    yield "bfloat16", random.to(torch.bfloat16), recall, {}
    yield "int8, five values", random.round().clamp(-2, 2).to(torch.int8), recall, {}
    yield "float32, constant", torch.zeros_like(random), coverage, {}
    yield "float32, no cutoff", random, "auc", {}


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    on_gpu = torch.cuda.is_available()
    size = GPU_SIZE if on_gpu else CPU_SIZE
    parser.add_argument("--users", type=int, default=size[0], help=f"default {size[0]:,} here")
    parser.add_argument("--items", type=int, default=size[1], help=f"default {size[1]:,} here")
    parser.add_argument("--k", type=int, default=20, help="default 20")
    parser.add_argument("--repeats", type=int, default=20 if on_gpu else 5, help="pairs timed")
    arguments = parser.parse_args()
    size, k = (arguments.users, arguments.items), arguments.k
    device = "cuda" if on_gpu else "cpu"
    name = torch.cuda.get_device_name() if on_gpu else "the CPU; no figure is one of a GPU"
    print(f"{show_size(size)}, k = {k}, run on {name}, torch {torch.__version__}\n")
    truth = item_sets(size, N_RELEVANT, np.random.default_rng(0))
    dense = torch.zeros(size, dtype=torch.bool, device=device)
    users = np.repeat(np.arange(size[0]), np.diff(truth.indptr))
    dense[torch.from_numpy(users), torch.from_numpy(truth.indices.astype(np.int64))] = True
    print("| scores | one read | recmetrics | over the read | topk, gather | over recmetrics |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for what, scores, metric, sets in cases(size, k, device):
        evaluator = Evaluator(truth, metric, **sets)
        given = scores if on_gpu else elsewhere(scores)

        def ours(evaluator=evaluator, given=given):
            evaluator.update(given, slice(None))

        def theirs(scores=scores):
            return topk_and_gather(scores, dense, k)

        ours()
        if what == "float32":
            np.testing.assert_allclose(evaluator.compute()[metric], theirs().numpy(), rtol=1e-6)
        read = in_turn(ours, lambda scores=scores: read_once(scores), arguments.repeats)
        topk = in_turn(theirs, ours, arguments.repeats)
        print(
            f"| {what} | {read.other_ms:.2f} ms | {read.ms:.2f} ms | {read.value:.2f} "
            f"({read.low:.2f} .. {read.high:.2f}) | {topk.ms:.2f} ms | {topk.value:.2f} "
            f"({topk.low:.2f} .. {topk.high:.2f}) |"
        )


if __name__ == "__main__":
    main()
