"""Time an Evaluator with scores on a GPU, relative to one read of them and to torch.topk.

python benchmarks/device.py [--users N --items N] [--k K] [--lists]

The time of an update covers everything from the scores on the device to the values on the host,
with the check for NaN and the order of ties. The truth is a CSR matrix on the host. Calls that rank
in the same way must give the same values before they are timed. With ``--lists``, only the lists
that metrics such as coverage read are timed, relative to one read and to torch.topk.

Everything runs on a GPU if torch finds one, and otherwise on the CPU with fewer scores. The first
line of the output says which.
"""

import argparse
import importlib.util
import time

import numpy as np
import torch
from problems import item_sets, show_size
from timing import in_turn, time_alone

from recmetrics import Evaluator
from recmetrics._inputs.read_sets import read_candidates, read_exclude
from recmetrics._inputs.sets import SharedSet
from recmetrics._selection.device import DeviceScores, way_on

READ_TARGET = 1.5  # times one read of the scores
TOPK_TARGET = 4  # times faster than torch.topk and a gather
FIRST_TARGET = 5.0  # seconds of the first call
LISTS_TARGET = 1.5  # times torch.topk, for random float32 scores
N_RELEVANT, N_EXCLUDED = 10, 100
GPU_SIZES, CPU_SIZES = [(8_192, 100_000), (1_024, 1_000_000)], [(256, 20_000)]
SAMPLE = 50  # users that torchmetrics measures, one by one


def wait():
    """Wait for the GPU."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def read_once(scores):
    """A reduction, which the memory limits."""
    largest = scores.amax(1)
    wait()
    return largest


def topk_and_gather(scores, truth, k):
    """The recall of each user as a training loop computes it, with a dense truth on the device."""
    found = truth.gather(1, scores.topk(k).indices).sum(1)
    return (found / truth.sum(1).clamp(max=k)).cpu()


def by_torchmetrics(scores, truth, k):
    """The same for some users, by its function for one."""
    from torchmetrics.functional.retrieval import retrieval_recall

    return torch.stack([retrieval_recall(*row, top_k=k) for row in zip(scores, truth, strict=True)])


def ranks(size, k, dtype, device, repeats):
    """Print a row of the table; gives both ratios and the seconds of the first call."""
    generator = torch.Generator(device).manual_seed(0)
    scores = torch.randn(size, generator=generator, device=device).to(dtype)
    sets = item_sets(size, N_RELEVANT, np.random.default_rng(0))
    dense = torch.zeros(size, dtype=torch.bool, device=device)
    users = np.repeat(np.arange(size[0]), np.diff(sets.indptr))
    dense[torch.from_numpy(users), torch.from_numpy(sets.indices.astype(np.int64))] = True
    evaluator = Evaluator(sets, f"recall@{k}")

    def ours():
        evaluator.update(scores, slice(None))

    def theirs():
        return topk_and_gather(scores, dense, k)

    start = time.perf_counter()
    ours()
    first = time.perf_counter() - start
    if dtype == torch.float32:  # in bfloat16 scores tie, and torch.topk orders them as it likes
        found = evaluator.compute()[f"recall@{k}"]
        np.testing.assert_allclose(found, theirs().numpy(), rtol=1e-6)
    read_once(scores)
    read = in_turn(ours, lambda: read_once(scores), repeats)
    topk = in_turn(theirs, ours, repeats)
    shown = "not installed"
    if importlib.util.find_spec("torchmetrics") is not None:
        sample = scores[:SAMPLE], dense[:SAMPLE]
        share = len(sample[0]) / size[0]
        shown = f"{time_alone(lambda: by_torchmetrics(*sample, k), 3) / share:,.0f} ms"
    name = str(dtype).removeprefix("torch.")
    print(
        f"| {show_size(size)} | {name} | {k} | {read.other_ms:.2f} ms | {read.ms:.2f} ms | "
        f"{read.value:.2f} ({read.low:.2f} .. {read.high:.2f}) | {topk.ms:.2f} ms | "
        f"{topk.value:.2f} ({topk.low:.2f} .. {topk.high:.2f}) | {shown} |"
    )
    return read.value, topk.value, first


def print_ranks(sizes, cutoffs, device, repeats, tried):
    """Print the table of updates; kernels were tried for so many seconds."""
    print(
        "| scores | dtype | k | one read | recmetrics | over the read | topk, gather | over "
        f"recmetrics | torchmetrics, from {SAMPLE} users |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    results = [
        ranks(size, k, dtype, device, repeats)
        for size in sizes
        for dtype in (torch.float32, torch.bfloat16)
        for k in cutoffs
    ]
    reads, topks, firsts = zip(*results, strict=True)
    first = tried + firsts[0]
    print(f"\nfirst call: {first:.1f} s")
    if device == "cuda":
        for what, met in (
            (f"at most {READ_TARGET} times the read", max(reads) <= READ_TARGET),
            (f"at least {TOPK_TARGET} times as fast as topk", min(topks) >= TOPK_TARGET),
            (f"a first call of at most {FIRST_TARGET} s", first <= FIRST_TARGET),
        ):
            print(f"target, {what}: {'met' if met else 'missed'}")


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


def print_lists(size, k, device, repeats):
    """Print the table of lists."""
    print(
        "| scores | one read | recmetrics | over the read | torch.topk | recmetrics over it | "
        "scratch on the GPU |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
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

        read = in_turn(ours, lambda tensor=tensor: read_once(tensor), repeats)
        ratio = in_turn(ours, theirs, repeats)
        first = first or ratio
        scratch = f"{peak_bytes(ours) / 2**20:,.0f} MiB" if device == "cuda" else "-"
        print(
            f"| {what} | {read.other_ms:.2f} ms | {read.ms:.2f} ms | {read.value:.2f} "
            f"({read.low:.2f} .. {read.high:.2f}) | {ratio.other_ms:.2f} ms | {ratio.value:.2f} "
            f"({ratio.low:.2f} .. {ratio.high:.2f}) | {scratch} |"
        )
    if device == "cuda":
        verdict = "met" if first.value <= LISTS_TARGET else "missed"
        print(f"\ntarget for float32: at most {LISTS_TARGET} times torch.topk: {verdict}")


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    on_gpu = torch.cuda.is_available()
    sizes = GPU_SIZES if on_gpu else CPU_SIZES
    shown = " and ".join(map(show_size, sizes))
    parser.add_argument("--users", type=int, help=f"with --items; default {shown} here")
    parser.add_argument("--items", type=int)
    parser.add_argument("--k", type=int, nargs="*", default=[20, 100], help="default 20 and 100")
    parser.add_argument("--repeats", type=int, default=20 if on_gpu else 5, help="pairs timed")
    parser.add_argument("--lists", action="store_true", help="lists beside torch.topk alone")
    arguments = parser.parse_args()
    if arguments.users and arguments.items:
        sizes = [(arguments.users, arguments.items)]
    device = "cuda" if on_gpu else "cpu"
    name = torch.cuda.get_device_name() if on_gpu else "the CPU, since torch finds no GPU"
    print(f"run on {name}, torch {torch.__version__}")
    start = time.perf_counter()
    if on_gpu:
        print(way_on(f"cuda:{torch.cuda.current_device()}").words)
    else:
        print("an update reads the tensor by the kernels of the CPU; no figure is one of a GPU")
    tried = time.perf_counter() - start
    print()
    if arguments.lists:
        print_lists(sizes[0], arguments.k[-1], device, arguments.repeats)
    else:
        print_ranks(sizes, arguments.k, device, arguments.repeats, tried)


if __name__ == "__main__":
    main()
