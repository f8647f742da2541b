"""Train a next-item transformer with Hugging Face's Trainer, and evaluate it batch by batch.

    pip install torch transformers accelerate     # in addition to recmetrics
    python examples/next_item_trainer.py

The sequences come from walks.py. The predictions are not kept, because the stream stores only sums.
"""

import tempfile

import numpy as np
import torch
from torch import nn
from transformers import Trainer, TrainingArguments
from walks import LENGTH, METRICS, N_ITEMS, show, walks

from recmetrics import StreamEvaluator


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


def dataset(n: int, seed: int) -> list[dict[str, np.ndarray]]:
    """Make walks as the trainer takes them, one by one."""
    pairs = zip(*walks(n, seed), strict=True)
    return [{"sequence": sequence, "labels": target} for sequence, target in pairs]


def train(n: int = 4_000, epochs: int = 4) -> list[dict[str, float]]:
    """Train on ``n`` walks; gives the metrics of each epoch."""
    torch.manual_seed(0)
    stream = StreamEvaluator(METRICS, keep="means")
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
            train_dataset=dataset(n, seed=0),
            eval_dataset=dataset(1_000, seed=1),
            compute_metrics=stream.hook(),
        )
        trainer.train()
    return [log for log in trainer.state.log_history if "eval_mrr@10" in log]


def main() -> None:
    """Print the metrics of each epoch."""
    for log in train():
        show(round(log["epoch"]), log, "eval_")


if __name__ == "__main__":
    main()
