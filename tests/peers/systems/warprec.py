"""WarpRec: how its users call its metrics.

The package needs Python 3.12, Ray and Lightning, and imports all of it at once. The metrics need
torch and torchmetrics alone, so they are imported without the rest. Each is a torchmetrics metric
that reads the scores, -inf for an item that must not be recommended, and the truth of all users.
"""

import importlib.util
import sys
import types
from typing import Any

import numpy as np
import torch

PACKAGE = "warprec"
REQUIREMENTS = [
    "torch==2.13.0",
    "torchmetrics==1.9.0",
    "scipy==1.17.1",
    "pydantic==2.14.3",
    "--no-deps --ignore-requires-python warprec==2.2.8",
]
TIES = []
BEYOND = False
FULL = True
JUDGED = ["Gini"]
SINGLE = [""]

_found = importlib.util.find_spec("warprec")
if _found is None:
    msg = "No module named 'warprec'"
    raise ImportError(msg)
FOLDER = _found.submodule_search_locations[0]
for _name in ("", ".utils", ".evaluation"):
    _package = sys.modules[f"warprec{_name}"] = types.ModuleType(f"warprec{_name}")
    _package.__path__ = [FOLDER + _name.replace(".", "/")]

from warprec.evaluation.metrics import accuracy, coverage, diversity  # noqa: E402

NAMES = {**vars(accuracy), **vars(coverage), **vars(diversity)}


def values(call: str, given: Any) -> list[float]:
    """Compute the value of each user, or that of all lists; an error if k exceeds the catalogue.

    Its loader reads only users with test data, and its Evaluator hands the top k to all metrics.
    """
    n_users, n_items = given.truth.shape
    users = np.flatnonzero(given.truth.any(axis=1))
    masked = np.where(given.exclude, -np.inf, given.scores)
    scores, truth = torch.tensor(masked[users]), torch.tensor(given.truth[users]).float()
    metric = eval(call, NAMES, {"sizes": {"num_users": n_users, "num_items": n_items}})
    top = {f"top_{metric.k}_indices": torch.topk(scores, metric.k, dim=1).indices}
    metric.update(scores, user_indices=torch.tensor(users), ground=truth, **top)
    (found,) = metric.compute().values()
    return found.reshape(-1).tolist() if isinstance(found, torch.Tensor) else [float(found)]
