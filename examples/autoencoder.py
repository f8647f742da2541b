"""The model of the examples: Mult-VAE, a variational autoencoder of each user's items.

Liang et al., Variational autoencoders for collaborative filtering, WWW 2018.
"""

import torch
from torch.nn.functional import dropout, log_softmax, normalize

HIDDEN, LATENT = 192, 64
DIVERGENCE = 0.2  # the weight of the Kullback-Leibler divergence, once it is reached
WARM_STEPS = 1_000  # until then


class Autoencoder(torch.nn.Module):
    """From the items of users, one row each, to scores of all items."""

    def __init__(self, n_items: int) -> None:
        super().__init__()
        self.encoder = torch.nn.Sequential(
            torch.nn.Linear(n_items, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 2 * LATENT)
        )
        self.decoder = torch.nn.Sequential(
            torch.nn.Linear(LATENT, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, n_items)
        )
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """The loss of a batch of rows: a multinomial likelihood, and the divergence."""
        self.steps += 1
        weight = DIVERGENCE * (self.steps / WARM_STEPS).clamp(max=1)
        mean, log_variance = self.encoder(dropout(normalize(rows), 0.5)).chunk(2, dim=1)
        sample = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        likelihood = (log_softmax(self.decoder(sample), dim=1) * rows).sum(1)
        divergence = (mean.square() + log_variance.exp() - log_variance - 1).sum(1) / 2
        return (weight * divergence - likelihood).mean()

    @torch.no_grad()
    def scores(self, rows: torch.Tensor) -> torch.Tensor:
        """The scores of all items for the users of some rows."""
        mean, _ = self.encoder(normalize(rows)).chunk(2, dim=1)
        return self.decoder(mean)


def optimizer_of(model: torch.nn.Module) -> torch.optim.Optimizer:
    """Adam, as the examples use it."""
    return torch.optim.Adam(model.parameters(), lr=3e-3)
