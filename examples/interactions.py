"""The data of the examples: MovieLens 1M if it is available, or a simulated catalogue.

The split is read from the folder in RECMETRICS_DATA (`ml-1m_train.npz` and `ml-1m_test.npz`, SciPy
sparse matrices of users x items). If this variable is not set, the folder is ../shared/data beside
the repository.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

# EASE and the place of the data are shared with the benchmarks.
sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
import real
from models import binary, ease

from recmetrics import Metrics
from recmetrics.cli._demo import Split, simulate, split

BATCH = 256  # users
PASSES = 10  # over the users, before they are validated: one of them is 24 steps
REPORTED = ["recall@20", "ndcg@20"]


def command_line(about: str) -> argparse.ArgumentParser:
    """The options that the examples share."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=30, help=f"at most so many {PASSES} passes")
    parser.add_argument("--patience", type=int, default=4, help="epochs without a better ndcg@20")
    parser.add_argument("--small", action="store_true", help="a few hundred simulated users")
    return parser


def load(*, small: bool, quiet: bool = False) -> Split:
    """Train, validation and test interactions, each (n_users, n_items)."""
    rng = np.random.default_rng(0)
    files = real.split_files(real.data_folder(), "ml-1m")
    if small or not all(path.is_file() for path in files):
        shape = (300, 200) if small else (3_000, 1_500)
        name, data = "simulated", split(simulate(*shape, rng), rng)
    else:
        train, test = (binary(sp.load_npz(path)) for path in files)
        name, data = "MovieLens 1M", Split(*hold_out(train, 0.1, rng), test)
    n_users, n_items = data.train.shape
    if not quiet:
        print(
            f"{name}: {n_users:,} users x {n_items:,} items; {data.train.nnz:,} train, "
            f"{data.validation.nnz:,} validation, {data.test.nnz:,} test interactions"
        )
    return data


def rows_of(train: sp.csr_array) -> torch.Tensor:
    """The training interactions as the autoencoder reads them."""
    return torch.from_numpy(train.toarray()).float()


def hold_out(
    train: sp.csr_matrix, share: float, rng: np.random.Generator
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Set a share of the interactions aside for validation."""
    aside = rng.random(train.nnz) < share
    users, items = train.nonzero()

    def part(chosen: np.ndarray) -> sp.csr_matrix:
        ones = np.ones(np.count_nonzero(chosen), np.float32)
        return sp.csr_matrix((ones, (users[chosen], items[chosen])), shape=train.shape)

    return part(~aside), part(aside)


def show(epoch: int, means: Mapping[str, float]) -> None:
    """Print what an epoch reached."""
    values = ", ".join(f"{key} {mean:.4f}" for key, mean in means.items())
    print(f"epoch {epoch}: {values}", flush=True)


def report(data: Split, scores: torch.Tensor) -> None:
    """Print the test metrics of a model beside those of EASE, fitted to the same interactions."""
    seen = data.train + data.validation
    baseline = binary(data.train) @ ease(data.train)
    for name, of_model in (("model", scores), ("EASE", baseline)):
        values = Metrics.compute(of_model, data.test, REPORTED, exclude=seen)
        means = (f"{metric} {np.nanmean(value):.4f}" for metric, value in values.items())
        print(f"{name:>8}: test {', '.join(means)}")
