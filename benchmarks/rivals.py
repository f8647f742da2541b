"""The libraries that are compared, recmetrics among them: one ``Rival`` for each.

Each is called in its fastest way. It uses threads if it has them, and the truth is converted to its
own format before the clock starts. The time runs from the NumPy score matrix to the values.
"""

import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from problems import Problem
from timing import THREADS

from recmetrics import Metrics

Values = Mapping[str, Any]  # one number per user, or their mean where a rival gives no more


@dataclass(frozen=True)
class Rival:
    """How to call it, what it can do, and why not the rest."""

    name: str
    run: Callable[[np.ndarray, Any, list[str]], Values]
    prepare: Callable[[sp.csr_array], Any] = lambda truth: truth
    packages: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("ndcg", "recall", "map", "hit")
    cannot: str = ""  # why it lacks the other metrics
    gives: str = "per user"
    cores: str = "all"
    users: int | None = None  # timed on so many and scaled up: every one of these is linear in them
    target: float | None = None  # how many times slower than recmetrics it must be
    way: str = ""  # what is done, where the name does not say it

    @property
    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        return next(filter(None, map(_why_not, self.packages)), "")

    def columns(self, columns: Iterable[str]) -> list[str]:
        """Those of ``columns`` that it defines as recmetrics does."""
        return [column for column in columns if split(column)[0] in self.metrics]

    def ready(self, problem: Problem, columns: list[str]) -> Callable[[], Values]:
        """Bind a call, its truth prepared, to the users it can be timed on."""
        part = problem.first(self.users) if self.users else problem
        prepared = self.prepare(part.truth)
        return lambda: self.run(part.scores, prepared, columns)

    def scale(self, problem: Problem) -> float:
        """All users over those timed."""
        return len(problem.scores) / min(self.users or np.inf, len(problem.scores))


@cache
def _why_not(package: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(package)
    except Exception as error:  # a broken build fails in a way of its own
        return f"{package} cannot be imported: {type(error).__name__}: {error}"
    return ""


def assert_equal(rival: Rival, problem: Problem, columns: list[str]) -> None:
    """Compare every column with that of recmetrics; nothing that differs is timed."""
    part = problem.first(rival.users) if rival.users else problem
    theirs = rival.ready(part, columns)()
    for column, ours in Metrics.compute(*part, columns).items():
        expected = ours if np.ndim(theirs[column]) else ours.mean()
        # Some of them compute in float32.
        np.testing.assert_allclose(
            theirs[column], expected, rtol=1e-4, atol=1e-6, err_msg=f"{rival.name}: {column}"
        )


def split(column: str) -> tuple[str, int]:
    """Take ``"ndcg@10"`` apart."""
    name, _, k = column.partition("@")
    return name, int(k)


def deepest(columns: Iterable[str]) -> int:
    """Find the largest cutoff."""
    return max(split(column)[1] for column in columns)


# --- formulas for NumPy arrays and tensors alike -------------------------------------------------


def from_hits(hits: Any, n_relevant: Any, discount: Any, columns: Iterable[str]) -> Values:
    """Compute columns from hits, 0 or 1 in ranking order, of users who have relevant items."""
    values = {}
    for column in columns:
        name, k = split(column)
        found, capped = hits[:, :k], n_relevant.clip(max=k)
        if name == "ndcg":
            value = (found * discount[:k]).sum(1) / discount.cumsum(0)[capped - 1]
        elif name == "recall":
            value = found.sum(1) / capped
        elif name == "map":
            ranks = (discount[:k] * 0 + 1).cumsum(0)
            value = (found * found.cumsum(1) / ranks).sum(1) / capped
        else:
            value = found.sum(1) > 0
        values[column] = np.asarray(value, float)
    return values


def discounts(k: int) -> np.ndarray:
    """1 / log2(rank + 1) of the first k ranks."""
    return (1 / np.log2(np.arange(2, k + 2))).astype(np.float32)


def dense(truth: sp.csr_array) -> np.ndarray:
    """Spell the truth out, one byte per item."""
    return truth.astype(np.int8).toarray()


# --- the rivals ----------------------------------------------------------------------------------


def recmetrics(scores: np.ndarray, truth: sp.csr_array, columns: list[str]) -> Values:
    """Ours; it reads the CSR truth inside the clock."""
    return Metrics.compute(scores, truth, columns)


def irspack_evaluator(truth: sp.csr_array) -> Any:
    """Its evaluator, which keeps the truth as hash sets."""
    from irspack import Evaluator

    return Evaluator(sp.csr_matrix(truth))


def irspack(scores: np.ndarray, evaluator: Any, columns: list[str]) -> Values:
    """One C++ pass for each cutoff; its core, since the method above it copies the scores."""
    core = evaluator.core
    read = core.get_metrics_f32 if scores.dtype == np.float32 else core.get_metrics_f64
    means = {k: read(scores, k, 0, THREADS, True).as_dict() for k in {split(c)[1] for c in columns}}
    return {column: means[split(column)[1]][split(column)[0]] for column in columns}


def dense_tensors(truth: sp.csr_array) -> Any:
    """Truth as a dense tensor, and the number of relevant items."""
    import torch

    spelled = torch.from_numpy(dense(truth))
    return spelled, spelled.sum(1)


def torch_topk(scores: np.ndarray, prepared: Any, columns: list[str]) -> Values:
    """One top k, the truth gathered at it, every column from these hits."""
    import torch

    torch.set_num_threads(THREADS)
    truth, n_relevant = prepared
    best = torch.from_numpy(scores).topk(deepest(columns)).indices
    discount = torch.from_numpy(discounts(deepest(columns)))
    return from_hits(truth.gather(1, best), n_relevant, discount, columns)


def dense_arrays(truth: sp.csr_array) -> Any:
    """Truth as a dense array, and the number of relevant items."""
    spelled = dense(truth)
    return spelled, spelled.sum(1, dtype=np.int64)


def best_by(argpartition: Callable[..., Any], scores: np.ndarray, k: int) -> np.ndarray:
    """Rank the k best items of every row, by a partial selection and a sort of what it found."""
    negated = -scores
    found = argpartition(negated, k - 1, axis=1)[:, :k]
    order = np.argsort(np.take_along_axis(negated, found, 1), axis=1)
    return np.take_along_axis(found, order, 1)


def numpy_once(scores: np.ndarray, prepared: Any, columns: list[str]) -> Values:
    """One selection for all columns."""
    truth, n_relevant = prepared
    k = deepest(columns)
    hits = np.take_along_axis(truth, best_by(np.argpartition, scores, k), 1)
    return from_hits(hits, n_relevant, discounts(k), columns)


def rectorch_way(scores: np.ndarray, prepared: Any, columns: list[str]) -> Values:
    """Every column selects for itself, as rectorch's metrics do."""
    import bottleneck

    truth, n_relevant = prepared
    values: dict[str, Any] = {}
    for column in columns:
        k = split(column)[1]
        hits = np.take_along_axis(truth, best_by(bottleneck.argpartition, scores, k), 1)
        values.update(from_hits(hits, n_relevant, discounts(k), [column]))
    return values


def scikit_learn(scores: np.ndarray, truth: np.ndarray, columns: list[str]) -> Values:
    """Its mean over users; without averaging over ties, the quicker way."""
    from sklearn.metrics import ndcg_score

    return {c: ndcg_score(truth, scores, k=split(c)[1], ignore_ties=True) for c in columns}


def ranx_qrels(truth: sp.csr_array) -> Any:
    """Its form of the truth: dictionaries of strings, users in the order of their names."""
    from ranx import Qrels

    return Qrels({_user(u): dict.fromkeys(map(str, row), 1) for u, row in enumerate(_lists(truth))})


def ranx_of_best(scores: np.ndarray, qrels: Any, columns: list[str]) -> Values:
    """It has no selection; NumPy's finds the k best, which become its ``Run``."""
    items = best_by(np.argpartition, scores, deepest(columns))
    return _ranx(items, np.take_along_axis(scores, items, 1), qrels, columns)


def ranx_of_rows(scores: np.ndarray, qrels: Any, columns: list[str]) -> Values:
    """It gets every score, and sorts."""
    return _ranx(np.broadcast_to(np.arange(scores.shape[1]), scores.shape), scores, qrels, columns)


def _ranx(items: np.ndarray, scores: np.ndarray, qrels: Any, columns: list[str]) -> Values:
    from ranx import Run, evaluate

    pairs = enumerate(zip(items.tolist(), scores.tolist(), strict=True))
    run = Run({_user(u): dict(zip(map(str, i), s, strict=True)) for u, (i, s) in pairs})
    asked = [column.replace("hit@", "hit_rate@") for column in columns]
    found = evaluate(qrels, run, asked, return_mean=False)
    return dict(zip(columns, [found] if len(asked) == 1 else found.values(), strict=True))


def _user(number: int) -> str:
    return f"{number:09}"


def _lists(truth: sp.csr_array) -> list[list[int]]:
    return [row.tolist() for row in np.split(truth.indices, truth.indptr[1:-1])]


def integer_tensor(truth: sp.csr_array) -> Any:
    """Truth as a dense tensor of the dtype torchmetrics accepts."""
    import torch

    return torch.from_numpy(dense(truth).astype(np.int64))


def torchmetrics(scores: np.ndarray, truth: Any, columns: list[str]) -> Values:
    """Its functions, user by user: its classes sort all pairs by user first and take longer."""
    import torch
    from torchmetrics.functional import retrieval

    functions = {
        "ndcg": retrieval.retrieval_normalized_dcg,
        "recall": retrieval.retrieval_recall,
        "hit": retrieval.retrieval_hit_rate,
    }
    torch.set_num_threads(1)  # four times faster than two, on tensors as small as one user's
    values = {}
    rows = list(zip(torch.from_numpy(scores), truth, strict=True))
    for column in columns:
        name, k = split(column)
        values[column] = np.array([functions[name](*row, top_k=k) for row in rows])
    return values


OURS = Rival("recmetrics", recmetrics)

RIVALS = (
    Rival(
        "irspack", irspack, irspack_evaluator, ("irspack",),
        gives="mean", target=4, way="its C++ core, once per cutoff",
    ),
    Rival(
        "torch.topk", torch_topk, dense_tensors, ("torch",),
        target=4, way="one `topk`, then `gather` on the dense truth",
    ),
    Rival(
        "np.argpartition", numpy_once, dense_arrays,
        cores="one", users=1000, way="one selection for all metrics",
    ),
    Rival(
        "bottleneck", rectorch_way, dense_arrays, ("bottleneck",),
        cores="one", users=500, target=100, way="one selection for each metric, as in rectorch",
    ),
    Rival(
        "scikit-learn", scikit_learn, dense, ("sklearn.metrics",), ("ndcg",), "it has only ndcg",
        gives="mean", cores="one", users=500, target=100, way="`ndcg_score`, ties ignored",
    ),
    Rival(
        "ranx", ranx_of_best, ranx_qrels, ("ranx",),
        users=500, target=100, way="`np.argpartition` first, then a `Run` of k items",
    ),
    Rival(
        "ranx, whole rows", ranx_of_rows, ranx_qrels, ("ranx",),
        users=10, target=100, way="a `Run` of all items",
    ),
    Rival(
        "torchmetrics", torchmetrics, integer_tensor, ("torch", "torchmetrics"),
        ("ndcg", "recall", "hit"), "its average precision divides by the number of hits",
        cores="one", users=50, target=100, way="`functional.retrieval`, user by user",
    ),
)  # fmt: skip
