"""Train a next-item transformer with Hugging Face's Trainer, and evaluate it batch by batch.

    pip install torch transformers accelerate     # beside recmetrics
    python examples/next_item_trainer.py

Each sequence is a walk over 50 items, in which an item is often followed by the one after it. The
model reads seven items and predicts the eighth. No prediction is kept: the stream has only sums.
"""

import tempfile

import numpy as np
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from recmetrics import StreamEvaluator

N_ITEMS, LENGTH = 50, 8


class NextItem(nn.Module):
    """A transformer with one layer, which scores every item as the next one."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.items = nn.Embedding(N_ITEMS, width)
        self.places = nn.Parameter(torch.zeros(LENGTH - 1, width))
        self.layer = nn.TransformerEncoderLayer(width, 2, 2 * width, batch_first=True)

    def forward(self, sequence: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Give the logits of the next item, and the loss."""
        hidden = self.layer(self.items(sequence) + self.places)[:, -1]
        logits = hidden @ self.items.weight.T
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def sequences(n: int, seed: int) -> list[dict[str, np.ndarray]]:
    """Make walks; the label of each is its last item."""
    rng = np.random.default_rng(seed)
    walks = np.empty((n, LENGTH), np.int64)
    walks[:, 0] = rng.integers(0, N_ITEMS, n)
    for place in range(1, LENGTH):
        jumps = rng.random(n) < 0.3
        after = (walks[:, place - 1] + 1) % N_ITEMS
        walks[:, place] = np.where(jumps, rng.integers(0, N_ITEMS, n), after)
    return [{"sequence": walk[:-1], "labels": walk[-1]} for walk in walks]


def train(n: int = 4_000, epochs: int = 4) -> list[dict[str, float]]:
    """Train on ``n`` walks; gives the metrics of each epoch."""
    torch.manual_seed(0)
    stream = StreamEvaluator(["hit@1", "mrr@10"], keep="means")
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=epochs,
            learning_rate=3e-3,
            per_device_train_batch_size=64,
            per_device_eval_batch_size=64,
            eval_strategy="epoch",
            batch_eval_metrics=True,  # the hook is called with each batch
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Trainer(
            NextItem(),
            arguments,
            train_dataset=sequences(n, seed=0),
            eval_dataset=sequences(1_000, seed=1),
            compute_metrics=stream.hook(),
        )
        trainer.train()
    return [log for log in trainer.state.log_history if "eval_mrr@10" in log]


def main() -> None:
    """Print the metrics of each epoch."""
    for log in train():
        found = "  ".join(f"{name} {log[f'eval_{name}']:.3f}" for name in ("hit@1", "mrr@10"))
        print(f"epoch {log['epoch']:.0f}  {found}")


if __name__ == "__main__":
    main()
