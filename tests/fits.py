"""A small model that Lightning trains, validated by RankingMetrics."""

import lightning
import torch
import torch.distributed as dist
from processes import N_ITEMS, N_USERS, problem
from torch.utils.data import DataLoader

from recmetrics.torchmetrics import RankingMetrics

METRICS = ["ndcg@5", "recall@3", "coverage@2"]


class Model(lightning.LightningModule):
    """Matrix factorisation towards a random matrix."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.user_factors = torch.nn.Embedding(N_USERS, 4)
        self.item_factors = torch.nn.Embedding(N_ITEMS, 4)
        scores, truth, options = problem()
        self.goal = torch.from_numpy(scores)
        self.metric = RankingMetrics(
            truth, METRICS, exclude=options["exclude"], prefix="val/", at="_at_"
        )
        self.not_updated = []

    def forward(self, users):
        return self.user_factors(users) @ self.item_factors.weight.T

    def training_step(self, users):
        return (self(users) - self.goal[users]).square().mean()

    def validation_step(self, users):
        self.metric.update(self(users), users)

    def on_validation_epoch_end(self):
        counts = self.metric.evaluator().counts()
        self.not_updated.append(counts["coverage@2"].not_updated)
        self.log_dict(self.metric.compute(), sync_dist=True)
        self.metric.reset()

    def teardown(self, stage):  # noqa: ARG002
        # Else processes of Lightning end just after a collective, and may abort, see ``processes``.
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5)

    def users(self, **how):
        return DataLoader(range(N_USERS), batch_size=5, **how)


def fit(folder, **how):
    """Train for two epochs; the model and what it logged last."""
    model = Model()
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **how,
    )
    trainer.fit(model, model.users(shuffle=True), model.users())
    return model, {name: value.item() for name, value in trainer.callback_metrics.items()}
