"""Lists selected on a device beside torch.topk alone, which orders equal scores as it likes.

python benchmarks/device.py [--users N] [--items N] [--k K]

Both run on the GPU where torch finds one, else on the CPU, on fewer users; the table names the
device. Ours is whole: from the scores on the device to NumPy arrays of items, NaN looked for, ties
in order, sets sent to the device. What ranks alike is compared before it is timed.
"""

import argparse

import numpy as np
import torch
from problems import item_sets, show_size
from timing import in_turn

from recmetrics._inputs.read_sets import read_candidates, read_exclude
from recmetrics._inputs.sets import SharedSet
from recmetrics._selection.device import DeviceScores

TARGET = 1.5  # times torch.topk, for random float32 scores
N_EXCLUDED = 100
GPU_USERS, CPU_USERS = 8_192, 256


def cases(size, k, device):
    """Name, scores, excluded items and candidates."""
    n_users, n_items = size
    generator = torch.Generator(device).manual_seed(0)
    random = torch.randn(size, generator=generator, device=device)
    rng = np.random.default_rng(0)
    excluded = read_exclude(item_sets(size, N_EXCLUDED, rng), size).rows(slice(0, n_users))
    per_user = read_candidates(item_sets(size, 10 * k, rng), size).rows(slice(0, n_users))
    half = np.sort(rng.choice(n_items, n_items // 2, replace=False))
    yield "float32", random, None, None
    yield f"float32, {N_EXCLUDED} excluded per user", random, excluded, None
    yield f"float32, {10 * k:,} candidates per user", random, None, per_user
    yield "float32, half of the items candidates", random, None, SharedSet(half, n_users, n_items)
    yield "bfloat16", random.to(torch.bfloat16), None, None
    yield "float64", random.to(torch.float64), None, None
    yield "int8, five values", random.round().clamp(-2, 2).to(torch.int8), None, None
    yield "float32, constant", torch.zeros_like(random), None, None


def select(scores, k, excluded, candidates):
    """Ours: the lists of all users, block by block."""
    row_items = 0 if excluded is None else N_EXCLUDED
    parts = []
    for rows in scores.blocks(k, row_items, 1)[0]:
        cut = None if excluded is None else excluded.cut(rows)
        among = candidates if isinstance(candidates, SharedSet | None) else candidates.cut(rows)
        parts.append(scores.best(rows, k, cut, among))
    return np.concatenate([part.items for part in parts])


def topk_alone(tensor, k):
    """Theirs: the selection, and no more."""
    best = tensor.topk(k)
    if tensor.is_cuda:
        torch.cuda.synchronize()
    return best.values


def peak_bytes(run):
    """Memory of the GPU that a call takes beside what is there."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return torch.cuda.max_memory_allocated() - before


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    on_gpu = torch.cuda.is_available()
    users = GPU_USERS if on_gpu else CPU_USERS
    parser.add_argument("--users", type=int, default=users, help=f"default {users:,} here")
    parser.add_argument("--items", type=int, default=100_000, help="default 100,000")
    parser.add_argument("--k", type=int, default=100, help="default 100")
    parser.add_argument("--repeats", type=int, default=20 if on_gpu else 5, help="pairs timed")
    arguments = parser.parse_args()
    size, k = (arguments.users, arguments.items), arguments.k
    device = "cuda" if on_gpu else "cpu"
    name = torch.cuda.get_device_name() if on_gpu else "the CPU, no GPU found"
    print(f"{show_size(size)}, k = {k}, on {name}, torch {torch.__version__}\n")
    print("| scores | torch.topk | recmetrics | ratio | scratch on the GPU |")
    print("| --- | ---: | ---: | ---: | ---: |")
    first = None
    for what, tensor, excluded, candidates in cases(size, k, device):
        scores = DeviceScores(tensor)
        items = select(scores, k, excluded, candidates)
        values = topk_alone(tensor, k)
        if excluded is None and candidates is None:
            listed = tensor.gather(1, torch.from_numpy(items).to(device))
            assert torch.equal(listed, values), what

        def ours(scores=scores, excluded=excluded, candidates=candidates):
            return select(scores, k, excluded, candidates)

        def theirs(tensor=tensor):
            return topk_alone(tensor, k)

        ratio = in_turn(ours, theirs, arguments.repeats)
        first = first or ratio
        scratch = f"{peak_bytes(ours) / 2**20:,.0f} MiB" if on_gpu else "-"
        print(
            f"| {what} | {ratio.other_ms:.2f} ms | {ratio.ms:.2f} ms | {ratio.value:.2f} "
            f"({ratio.low:.2f} .. {ratio.high:.2f}) | {scratch} |"
        )
    if on_gpu:
        verdict = "met" if first.value <= TARGET else "missed"
        print(f"\ntarget for float32: at most {TARGET} times torch.topk: {verdict}")


if __name__ == "__main__":
    main()
