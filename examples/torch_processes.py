"""The loop of torch_loop.py in two gloo processes, each with its share of the users.

python examples/torch_processes.py
torchrun --nproc-per-node 2 examples/torch_processes.py
"""

import argparse
import copy
import os
import tempfile

import torch
import torch.distributed as dist
from autoencoder import Autoencoder, optimizer_of
from interactions import BATCH, PASSES, command_line, load, report, rows_of, show
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from recmetrics import Evaluator

PROCESSES = 2


def work(args: argparse.Namespace) -> None:
    """One of the processes; all of them see the same means, and stop at the same epoch."""
    first = dist.get_rank() == 0
    torch.manual_seed(dist.get_rank())
    data = load(small=args.small, quiet=not first)
    rows = rows_of(data.train)
    model = Autoencoder(rows.shape[1])
    parallel = DistributedDataParallel(model)  # which begins with the weights of the first process
    optimizer = optimizer_of(model)
    users = range(len(rows))
    size = BATCH // dist.get_world_size()
    shuffled = DistributedSampler(users, shuffle=True)
    training = DataLoader(users, size, sampler=shuffled)
    # Where the users do not divide, the sampler hands some of them to two processes.
    validation = DataLoader(users, size, sampler=DistributedSampler(users, shuffle=False))

    evaluator = Evaluator(
        data.validation, ["ndcg@20", "recall@20", "coverage@20"], exclude=data.train
    )
    best, best_epoch = -1.0, 0
    for epoch in range(1, args.epochs + 1):
        for step in range(PASSES):
            shuffled.set_epoch(PASSES * epoch + step)
            for batch in training:
                optimizer.zero_grad()
                parallel(rows[batch]).backward()
                optimizer.step()

        evaluator.reset()
        for batch in validation:
            evaluator.update(model.scores(rows[batch]), batch)
        # The users of all processes, each once, whoever had them: the bits of one process.
        means = evaluator.all_gather().mean()
        if first:
            show(epoch, means)

        if means["ndcg@20"] > best:
            best, best_epoch = means["ndcg@20"], epoch
            best_state = copy.deepcopy(model.state_dict())
        elif epoch - best_epoch >= args.patience:
            break

    if first:
        print(f"best epoch {best_epoch}")
        model.load_state_dict(best_state)
        report(data, model.scores(rows))


def spawned(rank: int, meeting: str, args: argparse.Namespace) -> None:
    """Meet the other process, where torchrun did not start them."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // PROCESSES))
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=PROCESSES
    )
    work(args)
    leave()


def leave() -> None:
    """End together: one that ends just after a collective, whose tensors gloo holds, may abort."""
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Start the processes, or be one of those that torchrun started."""
    args = command_line(__doc__).parse_args()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
        work(args)
        leave()
        return
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(spawned, (f"{folder}/meeting", args), nprocs=PROCESSES)


if __name__ == "__main__":
    main()
