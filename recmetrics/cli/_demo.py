"""``recmetrics demo``: simulate, train with a validation step in every epoch, compare.

The data have skewed popularity and latent taste; the model is a matrix factorisation of implicit
feedback by alternating least squares, in NumPy.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recmetrics import Comparison, Metrics, compare, popularity_from
from recmetrics._files import atomic
from recmetrics.cli._arguments import DEFAULT_K, DEFAULT_PLOT
from recmetrics.cli._output import can_draw, check_plot
from recmetrics.cli._terminal import INSTALL, progress, show, width, write

MODEL = "model"
BASELINE = "popularity"
_VALIDATION_METRIC = f"ndcg@{DEFAULT_K}"
_METRICS = [f"{name}@{DEFAULT_K}" for name in ("ndcg", "recall", "mrr", "long_tail")]
_VALUE_WIDTH = 6  # letters of a value of validation, with the blank before it
_TASTES = 8  # latent dimensions of taste
_TASTE_WEIGHT = 2.5  # factor of taste in a utility, whose chance has the factor 1
_POPULARITY_SKEW = 1.2  # sigma of the log-normal popularity
_TYPICAL_LENGTH = 30  # median interactions of a user

Scores = npt.NDArray[Any]
Factors = npt.NDArray[np.floating[Any]]
Interactions: TypeAlias = "sparse.csr_array[Any]"  # a string: old SciPy takes no [Any]


def demo(args: Namespace) -> None:
    """Simulate data, train a model with a validation step per epoch, and compare it.

    The data are implicit feedback, the model is a matrix factorisation, which is
    compared with popularity on held-out interactions. The learning curve is drawn
    to a picture in the current folder.
    """
    plot = _plot_path(args)
    rng = np.random.default_rng(args.seed)
    write(f"simulated {args.users:,} users x {args.items:,} items, seed {args.seed}:\n")
    data = split(simulate(args.users, args.items, rng), rng)
    show(
        f"{data.train.nnz:,} train, {data.validation.nnz:,} validation and {data.test.nnz:,} test "
        "interactions"
    )
    write(
        f"model: matrix factorisation with {args.factors} factors\n"
        f"validation {_VALIDATION_METRIC} over {args.epochs} epochs:"
    )
    scores, curve, seconds = _train(data, args.epochs, args.factors, rng)
    show(
        f"\ntime of an epoch: {_median(seconds[::2])} of training, then "
        f"{_median(seconds[1::2])} of evaluation"
    )
    popularity = np.broadcast_to(data.train.sum(axis=0), scores.shape)
    if plot is not None:
        _draw(plot, curve, baseline_value=_validate(popularity, data))
    comparison = _compared(data, {BASELINE: popularity, MODEL: scores}, args.seed)
    show(f"\n{comparison.to_text(width())}\n")
    # Paths have lines of their own, so that no terminal breaks them.
    if plot is not None:
        show(f"learning curve:\n  {plot}")
    else:
        show(f"no learning curve: {'--no-plot' if args.no_plot else INSTALL}")
    show(f"the code of this demonstration:\n  {Path(__file__).resolve()}")
    show("next, for your own files:\n  recmetrics evaluate --help")


def _compared(data: Split, scores: Mapping[str, Scores], seed: int) -> Comparison:
    """Compute all metrics of both models, one by one, so that the line of progress moves."""
    seen = data.train + data.validation
    shares = popularity_from(data.train)
    values: dict[str, dict[str, Scores]] = {name: {} for name in scores}  # of models, by metric
    with progress("comparing models, metric") as on_progress:
        for number, metric in enumerate(_METRICS, start=1):
            if on_progress is not None:
                on_progress(number, len(_METRICS))
            for name in scores:
                values[name] |= Metrics.compute(
                    scores[name], data.test, metric, exclude=seen, popularity=shares
                )
        return compare(values, baseline=BASELINE, rng=seed)


def _median(seconds: Sequence[float]) -> str:
    """Write the median; of several values without the first, which includes compilation."""
    return f"{1e3 * median(seconds[1:] or seconds):,.0f} ms"


def _train(
    data: Split, n_epochs: int, n_factors: int, rng: np.random.Generator
) -> tuple[Scores, list[float], list[float]]:
    """Train, validate after each epoch, and print the value, in lines that fit the terminal.

    Gives the last scores, the values, and the seconds of training and of validation in turn.
    """
    curve: list[float] = []
    values_in_line = max(1, (width() or sys.maxsize) // _VALUE_WIDTH)
    seconds: list[float] = []
    began = perf_counter()
    for users, items in train(data.train, n_factors=n_factors, n_epochs=n_epochs, rng=rng):
        scores = users @ items.T
        trained = perf_counter()
        curve.append(_validate(scores, data))
        seconds += trained - began, perf_counter() - trained
        text = f"{curve[-1]:{_VALUE_WIDTH}.3f}"
        if (len(curve) - 1) % values_in_line == 0 and width() is not None:
            text = f"\n{text}"
        write(text)
        began = perf_counter()
    return scores, curve, seconds


def _validate(scores: Scores, data: Split) -> float:
    """Compute the mean of the validation metric over users who have a value; 0 without any."""
    values = Metrics.compute(scores, data.validation, [_VALIDATION_METRIC], exclude=data.train)
    defined = values[_VALIDATION_METRIC][~np.isnan(values[_VALIDATION_METRIC])]
    return float(defined.mean()) if defined.size else 0.0


def _plot_path(args: Namespace) -> Path | None:
    """The file of the picture; None without one, where matplotlib is missing or none is wanted."""
    if args.no_plot or (args.plot is None and not can_draw()):
        return None
    path: Path = args.plot or DEFAULT_PLOT
    check_plot(path, (".png",))
    return path


def _draw(path: Path, curve: Sequence[float], baseline_value: float) -> None:
    """Draw the values of the model after each epoch, and that of the baseline as a line."""
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(range(1, len(curve) + 1), curve, marker="o", color="tab:blue", label=MODEL)
    axes.axhline(baseline_value, linestyle="--", color="tab:gray", label=BASELINE)
    axes.set_xlabel("epoch")
    axes.set_ylabel(f"{_VALIDATION_METRIC}, mean over users")
    axes.set_title("Validation after every epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    with atomic(path) as file:
        figure.savefig(file, format="png", dpi=150)


class Split(NamedTuple):
    """Interactions of every user in three parts, each (n_users, n_items) of zeros and ones."""

    train: Interactions
    validation: Interactions
    test: Interactions


def simulate(n_users: int, n_items: int, rng: np.random.Generator) -> Interactions:
    """Let every user choose items, by popularity, own taste and chance.

    To add Gumbel noise to log-weights and to keep the largest sums is to draw without replacement,
    in proportion to the weights (Plackett-Luce).
    """
    popularity = rng.normal(0.0, _POPULARITY_SKEW, n_items)
    users = rng.standard_normal((n_users, _TASTES))
    items = rng.standard_normal((n_items, _TASTES))
    utility = popularity + _TASTE_WEIGHT * (users @ items.T) / np.sqrt(_TASTES)
    utility += rng.gumbel(size=utility.shape)

    lengths = rng.lognormal(np.log(_TYPICAL_LENGTH), 0.5, n_users).astype(np.int64)
    lengths = np.clip(lengths, 5, max(5, n_items // 4))
    best_items = np.argsort(-utility, axis=1)[:, : lengths.max()]
    is_within = np.arange(best_items.shape[1]) < lengths[:, None]
    chosen_by = np.repeat(np.arange(n_users), lengths)  # the user of each choice
    return _matrix(chosen_by, best_items[is_within], (n_users, n_items))


def split(interactions: Interactions, rng: np.random.Generator) -> Split:
    """Split each user's interactions at random: 70 % train, 10 % validation, 20 % test."""
    users = interactions.tocoo().row  # in ascending order, also after the shuffle
    lengths = np.bincount(users, minlength=interactions.shape[0])
    items = interactions.indices[np.lexsort((rng.random(users.size), users))]
    # The place of each interaction among those of its user, from 0 to just below 1.
    position = (np.arange(users.size) - interactions.indptr[users]) / lengths[users]
    masks = [position < 0.7, (position >= 0.7) & (position < 0.8), position >= 0.8]
    return Split(*(_matrix(users[mask], items[mask], interactions.shape) for mask in masks))


def _matrix(users: Any, items: Any, shape: tuple[int, int]) -> Interactions:
    """Make a sparse matrix with a one for each pair of user and item."""
    return sparse.csr_array((np.ones(len(users)), (users, items)), shape=shape)


def train(
    interactions: Interactions,
    *,
    n_factors: int,
    n_epochs: int,
    rng: np.random.Generator,
    confidence: float = 10.0,
    regularisation: float = 20.0,
) -> Iterator[tuple[Factors, Factors]]:
    """Yield (user factors, item factors) after each epoch.

    Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008.
    """
    by_item = interactions.T.tocsr()
    items: Factors = rng.normal(0.0, 0.01, (interactions.shape[1], n_factors))
    for _ in range(n_epochs):
        users = _solve(interactions, items, confidence, regularisation)
        items = _solve(by_item, users, confidence, regularisation)
        yield users, items


def _solve(
    interactions: Interactions, fixed: Factors, confidence: float, regularisation: float
) -> Factors:
    """Compute the factors of all rows of the interactions, given those of the columns, ``fixed``.

    Each row is a ridge regression; all are solved at once.
    """
    n_fixed, n_factors = fixed.shape
    # (Y'Y + a Y'RY + l I) x = (1 + a) Y'r for each row r of zeros and ones, with Y the fixed
    # factors, R the diagonal matrix of r, a the confidence and l the regularisation: one sparse
    # product makes all Y'RY.
    outer_products = (fixed[:, :, None] * fixed[:, None, :]).reshape(n_fixed, -1)
    shared_part = fixed.T @ fixed + regularisation * np.eye(n_factors)
    row_parts = (interactions @ outer_products).reshape(-1, n_factors, n_factors)
    right_sides = (1 + confidence) * (interactions @ fixed)
    solved: Factors = np.linalg.solve(shared_part + confidence * row_parts, right_sides[:, :, None])
    return solved[:, :, 0]
