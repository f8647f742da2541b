"""The loop of torch_loop.py in Lightning, with RankingMetrics, log_dict and early stopping.

python examples/lightning_loop.py
python examples/lightning_loop.py --small --epochs 3 --devices 2
"""

import tempfile

import lightning
import torch
from autoencoder import Autoencoder, optimizer_of
from interactions import BATCH, PASSES, command_line, load, report, rows_of, show
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader

from recmetrics.cli._demo import Split
from recmetrics.torchmetrics import RankingMetrics

WATCHED = "val/ndcg_at_20"


class Recommender(lightning.LightningModule):
    """The autoencoder, and the metric that validates it."""

    def __init__(self, data: Split) -> None:
        super().__init__()
        self.rows = rows_of(data.train)
        self.model = Autoencoder(self.rows.shape[1])
        self.metric = RankingMetrics(
            data.validation,
            ["ndcg@20", "recall@20", "coverage@20"],
            exclude=data.train,
            prefix="val/",
            at="_at_",  # as loggers like it
        )

    def training_step(self, users: torch.Tensor) -> torch.Tensor:
        """The loss of a batch of users."""
        return self.model(self.rows[users.cpu()].to(self.device))

    def validation_step(self, users: torch.Tensor) -> None:
        """Take in the scores of a batch of users; a user who comes twice counts once."""
        self.metric.update(self.model.scores(self.rows[users.cpu()].to(self.device)), users)

    def on_validation_epoch_end(self) -> None:
        """Log the means over the users of all processes."""
        self.log_dict(self.metric.compute(), sync_dist=True)
        self.metric.reset()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return optimizer_of(self)


class Printer(lightning.Callback):
    """A line per validation."""

    def on_validation_end(self, trainer: lightning.Trainer, *_: object) -> None:
        """Print what was logged."""
        if trainer.is_global_zero and not trainer.sanity_checking:
            logged = trainer.callback_metrics
            epoch = (trainer.current_epoch + 1) // PASSES
            show(epoch, {key: logged[key].item() for key in logged if key.startswith("val/")})


def main() -> None:
    """Train until ndcg@20 has not risen for some epochs; report the best epoch."""
    parser = command_line(__doc__)
    parser.add_argument("--devices", type=int, default=1, help="processes on the CPU")
    args = parser.parse_args()
    lightning.seed_everything(0, verbose=False)
    data = load(small=args.small)
    module = Recommender(data)
    users = range(len(module.rows))
    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(folder, monitor=WATCHED, mode="max", save_weights_only=True)
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=args.devices,
            strategy="ddp_spawn" if args.devices > 1 else "auto",
            max_epochs=args.epochs * PASSES,
            check_val_every_n_epoch=PASSES,
            callbacks=[EarlyStopping(WATCHED, mode="max", patience=args.patience), best, Printer()],
            logger=False,  # any of them takes these keys
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        size = BATCH // args.devices
        trainer.fit(module, DataLoader(users, size, shuffle=True), DataLoader(users, size))
        module.load_state_dict(torch.load(best.best_model_path)["state_dict"])
    report(data, module.model.scores(module.rows))


if __name__ == "__main__":
    main()
