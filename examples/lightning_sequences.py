"""Train a next-item GRU with Lightning; each validation batch contains its own truth.

    pip install torch lightning     # in addition to recmetrics
    python examples/lightning_sequences.py
    python examples/lightning_sequences.py --devices 2

The sequences come from walks.py. If the users are known before training, see lightning_loop.py.
"""

import argparse

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from walks import METRICS, N_ITEMS, show, walks

from recmetrics import StreamEvaluator

Batch = tuple[torch.Tensor, torch.Tensor]


class NextItem(lightning.LightningModule):
    """A GRU over the items of a sequence, and the stream that validates it."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.items = nn.Embedding(N_ITEMS, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.stream = StreamEvaluator(METRICS, keep="means")

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        """Score every item as the next one."""
        hidden, _ = self.gru(self.items(sequences))
        return hidden[:, -1] @ self.items.weight.T

    def training_step(self, batch: Batch) -> torch.Tensor:
        """Compute the loss of a batch."""
        sequences, targets = batch
        return nn.functional.cross_entropy(self(sequences), targets)

    def on_validation_epoch_start(self) -> None:
        """Drop the events of an evaluation that an error or Ctrl-C ended."""
        self.stream.reset()

    def validation_step(self, batch: Batch) -> None:
        """Add a batch to the stream; its logits may be on a GPU, its targets are not."""
        sequences, targets = batch
        self.stream.update(self(sequences), targets.cpu())

    def on_validation_epoch_end(self) -> None:
        """Log the means over the events of all processes."""
        stream = self.stream.all_gather() if self.trainer.world_size > 1 else self.stream
        means = stream.mean(prefix="val/", at="_at_")  # names that all loggers accept
        self.log_dict(means, sync_dist=True)
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:
            show(self.current_epoch + 1, stream.mean(), "")
        self.stream.reset()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=0.01)


def loader(n: int, seed: int, *, shuffle: bool = False) -> DataLoader[Batch]:
    """Make the batches of ``n`` walks."""
    data = TensorDataset(*map(torch.from_numpy, walks(n, seed)))
    return DataLoader(data, batch_size=64, shuffle=shuffle)


def main() -> None:
    """Train, and print the metrics of each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1, help="processes on the CPU")
    devices = parser.parse_args().devices
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=devices,
        strategy="ddp_spawn" if devices > 1 else "auto",
        max_epochs=4,
        logger=False,  # any of them takes these names
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(NextItem(), loader(1_000, seed=0, shuffle=True), loader(500, seed=1))


if __name__ == "__main__":
    main()
