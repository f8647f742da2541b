"""``recmetrics demo``: simulate, train with a validation step in every epoch, compare."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics import Comparison, Metrics, compare, popularity_from
from recmetrics.cli import _als, _picture
from recmetrics.cli._arguments import DEFAULT_K, DEFAULT_PLOT
from recmetrics.cli._metric_pages import default_metrics
from recmetrics.cli._output import check_output
from recmetrics.cli._simulation import Split, simulate, split
from recmetrics.cli._terminal import INSTALL, progress, show, write

MODEL = "model"
BASELINE = "popularity"
_VALIDATED = f"ndcg@{DEFAULT_K}"
_BEYOND = f"long_tail@{DEFAULT_K}"

Scores = npt.NDArray[Any]


def demo(args: Namespace) -> None:
    """Run the library's main job, from data to table; every line is printed once it is known."""
    plot = _plot_path(args)
    rng = np.random.default_rng(args.seed)
    write(f"simulated {args.users:,} users x {args.items:,} items, seed {args.seed}: ")
    data = split(simulate(args.users, args.items, rng), rng)
    show(
        f"{data.train.nnz:,} train, {data.validation.nnz:,} validation and {data.test.nnz:,} test "
        "interactions"
    )
    write(
        f"model: matrix factorisation with {args.factors} factors; "
        f"validation {_VALIDATED} over {args.epochs} epochs:"
    )
    scores, curve, seconds = _train(data, args.epochs, args.factors, rng)
    show(
        f"\ntime of an epoch: {_median(seconds[::2])} of training, then "
        f"{_median(seconds[1::2])} of evaluation\n"
    )
    popularity = np.broadcast_to(data.train.sum(axis=0), scores.shape)
    if plot is not None:
        level = _validate(popularity, data)
        _picture.plot_curve(plot, _VALIDATED, {MODEL: curve}, {BASELINE: level})
    show(str(_compared(data, {BASELINE: popularity, MODEL: scores}, args.seed)))
    show(_where(plot, args))
    show(f"the code of this demonstration: {Path(__file__).resolve()}")


def _compared(data: Split, scores: Mapping[str, Scores], seed: int) -> Comparison:
    """Compute all metrics of both models, one after the other, so that the bar moves."""
    metrics, seen = [*default_metrics(), _BEYOND], data.train + data.validation
    shares = popularity_from(data.train)
    models: dict[str, dict[str, Scores]] = {name: {} for name in scores}
    steps = [(name, metric) for metric in metrics for name in scores]
    with progress("comparing models, metrics:") as on_progress:
        for done, (name, metric) in enumerate(steps, start=1):
            models[name] |= Metrics.compute(
                scores[name], data.test, metric, exclude=seen, popularity=shares
            )
            if on_progress is not None:
                on_progress(done, len(steps) + 1)
        return compare(models, baseline=BASELINE, rng=seed)


def _median(seconds: Sequence[float]) -> str:
    """Write the median without the first value, which includes compilation, if there are more."""
    return f"{1e3 * median(seconds[1:] or seconds):,.0f} ms"


def _train(
    data: Split, n_epochs: int, n_factors: int, rng: np.random.Generator
) -> tuple[Scores, list[float], list[float]]:
    """Train, validate after each epoch, and print the value.

    Gives the last scores, the values, and the seconds of training and of validation in turn.
    """
    curve: list[float] = []
    seconds: list[float] = []
    began = perf_counter()
    epochs = _als.train(data.train, n_factors=n_factors, n_epochs=n_epochs, rng=rng)
    for users, items in epochs:
        scores = users @ items.T
        trained = perf_counter()
        curve.append(_validate(scores, data))
        seconds += trained - began, perf_counter() - trained
        write(f" {curve[-1]:.3f}")
        began = perf_counter()
    return scores, curve, seconds


def _validate(scores: Scores, data: Split) -> float:
    values = Metrics.compute(scores, data.validation, [_VALIDATED], exclude=data.train)
    defined = values[_VALIDATED][~np.isnan(values[_VALIDATED])]
    return float(defined.mean()) if defined.size else 0.0


def _plot_path(args: Namespace) -> Path | None:
    """Choose the file of the picture; without matplotlib, refuse ``--plot``."""
    if args.no_plot:
        return None
    if args.plot is None and not _picture.is_available():
        return None
    _picture.require()
    path: Path = args.plot or DEFAULT_PLOT
    check_output("--plot", path, (".png",))
    return path


def _where(plot: Path | None, args: Namespace) -> str:
    if plot is not None:
        return f"learning curve: {plot.resolve()}"
    return "no learning curve: --no-plot" if args.no_plot else f"no learning curve: {INSTALL}"
