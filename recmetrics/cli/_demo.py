"""``recmetrics demo``: simulate, train with a validation step in every epoch, compare."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics import Metrics, compare, popularity_from
from recmetrics.cli import _als, _picture
from recmetrics.cli._failures import CommandError
from recmetrics.cli._output import check_output
from recmetrics.cli._score_files import DEFAULT_K, default_metrics
from recmetrics.cli._simulation import Split, simulate, split
from recmetrics.cli._tables import comparison_tables
from recmetrics.cli._terminal import INSTALL, progress, require_rich, show
from recmetrics.comparison import mean_of

DEFAULT_PLOT = Path("recmetrics-demo.png")
MODEL = "model"
BASELINE = "popularity"
_VALIDATED = f"ndcg@{DEFAULT_K}"
_BEYOND = f"long_tail@{DEFAULT_K}"

Scores = npt.NDArray[Any]


class Trained(NamedTuple):
    """The scores after the last epoch, the validation after each, and the times of the parts."""

    scores: Scores
    curve: list[float]
    of_training: list[float]  # seconds of each epoch
    of_validation: list[float]


def demo(args: Namespace) -> None:
    """Run the library's main job, from data to table."""
    require_rich()
    plot = _plot_path(args)
    rng = np.random.default_rng(args.seed)

    interactions = simulate(args.users, args.items, rng)
    data = split(interactions, rng)
    trained = _train(data, args.epochs, args.factors, rng)
    popularity = np.broadcast_to(data.train.sum(axis=0), interactions.shape)

    seen = data.train + data.validation
    metrics = [*default_metrics(), _BEYOND]
    shares = popularity_from(data.train)
    models = {
        name: Metrics.compute(scores, data.test, metrics, exclude=seen, popularity=shares)
        for name, scores in {BASELINE: popularity, MODEL: trained.scores}.items()
    }
    comparison = compare(models, baseline=BASELINE, rng=args.seed)
    if plot is not None:
        level = _validate(popularity, data)
        _picture.plot_curve(plot, _VALIDATED, {MODEL: trained.curve}, {BASELINE: level})
    show(
        f"simulated {args.users:,} users x {args.items:,} items, seed {args.seed}: "
        f"{data.train.nnz:,} train, {data.validation.nnz:,} validation and {data.test.nnz:,} test "
        "interactions",
        f"model: matrix factorisation with {args.factors} factors; "
        f"validation {_VALIDATED} over {args.epochs} epochs: "
        + " ".join(f"{value:.3f}" for value in trained.curve),
        f"time of an epoch: {_median(trained.of_training)} of training, then "
        f"{_median(trained.of_validation)} of evaluation",
        "",
        *comparison_tables(comparison),
        _where(plot, args),
        f"the code of this demonstration: {Path(__file__).resolve()}",
    )


def _median(seconds: Sequence[float]) -> str:
    """Write the median without the first value, which includes compilation, if there are more."""
    return f"{1e3 * median(seconds[1:] or seconds):,.0f} ms"


def _train(data: Split, n_epochs: int, n_factors: int, rng: np.random.Generator) -> Trained:
    """Train, and validate after each epoch."""
    curve: list[float] = []
    of_training, of_validation = [], []
    with progress("training") as on_progress:
        began = perf_counter()
        epochs = _als.train(data.train, n_factors=n_factors, n_epochs=n_epochs, rng=rng)
        for epoch, (users, items) in enumerate(epochs, start=1):
            scores = users @ items.T
            trained = perf_counter()
            curve.append(_validate(scores, data))
            of_training.append(trained - began)
            of_validation.append(perf_counter() - trained)
            if on_progress is not None:
                on_progress(epoch, n_epochs, f"{_VALIDATED} {curve[-1]:.3f}")
            began = perf_counter()
    return Trained(scores, curve, of_training, of_validation)


def _validate(scores: Scores, data: Split) -> float:
    values = Metrics.compute(scores, data.validation, [_VALIDATED], exclude=data.train)
    mean = mean_of(values[_VALIDATED])
    return 0.0 if math.isnan(mean) else mean


def _plot_path(args: Namespace) -> Path | None:
    """Choose the file of the picture; without matplotlib, refuse ``--plot``."""
    if args.no_plot:
        return None
    if not _picture.is_available():
        if args.plot is None:
            return None
        msg = f"--plot needs the package matplotlib; type: {INSTALL}"
        raise CommandError(msg)
    path: Path = args.plot or DEFAULT_PLOT
    check_output("--plot", path, (".png",))
    return path


def _where(plot: Path | None, args: Namespace) -> str:
    if plot is not None:
        return f"learning curve: {plot.resolve()}"
    return "no learning curve: --no-plot" if args.no_plot else f"no learning curve: {INSTALL}"
