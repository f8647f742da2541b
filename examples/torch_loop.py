"""A plain torch loop with one Evaluator for all epochs, and early stopping on ndcg@20.

python examples/torch_loop.py
python examples/torch_loop.py --small --epochs 3
"""

import copy
import time

import torch
from autoencoder import Autoencoder, optimizer_of
from interactions import BATCH, PASSES, command_line, load, report, rows_of, show

from recmetrics import Evaluator


def main() -> None:
    """Train until ndcg@20 has not risen for some epochs; report the best epoch."""
    args = command_line(__doc__).parse_args()
    torch.manual_seed(0)
    data = load(small=args.small)
    rows = rows_of(data.train)
    users = torch.arange(len(rows))
    model = Autoencoder(rows.shape[1])
    optimizer = optimizer_of(model)

    # Truth is checked and prepared once, here; what is known from training is not recommended.
    evaluator = Evaluator(
        data.validation, ["ndcg@20", "recall@20", "coverage@20"], exclude=data.train
    )
    # A first batch, so that the times below hold no compilation.
    evaluator.update(model.scores(rows[:BATCH]), users[:BATCH])

    training = scoring = measuring = 0.0
    best, best_epoch = -1.0, 0
    for epoch in range(1, args.epochs + 1):
        start = time.perf_counter()
        for _ in range(PASSES):
            for batch in torch.randperm(len(rows)).split(BATCH):
                optimizer.zero_grad()
                model(rows[batch]).backward()
                optimizer.step()
        training += time.perf_counter() - start

        evaluator.reset()
        for batch in users.split(BATCH):
            start = time.perf_counter()
            scores = model.scores(rows[batch])
            scored = time.perf_counter()
            evaluator.update(scores, batch)
            scoring += scored - start
            measuring += time.perf_counter() - scored
        means = evaluator.mean()
        show(epoch, means)

        if means["ndcg@20"] > best:
            best, best_epoch = means["ndcg@20"], epoch
            best_state = copy.deepcopy(model.state_dict())
        elif epoch - best_epoch >= args.patience:
            break

    validation = scoring + measuring
    print(
        f"training {training:.2f} s; validation {validation:.2f} s, {validation / training:.1%} "
        f"of it: scores {scoring:.2f} s, metrics {measuring:.2f} s; best epoch {best_epoch}"
    )
    model.load_state_dict(best_state)
    report(data, model.scores(rows))


if __name__ == "__main__":
    main()
