"""The pictures of the command: the learning curve, and a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recmetrics import Comparison
from recmetrics.cli._output import atomic
from recmetrics.cli._terminal import INSTALL, CommandError

SUFFIXES = (".png", ".pdf", ".svg")


def require() -> None:
    """Refuse ``--plot`` without matplotlib."""
    if not is_available():
        msg = f"--plot needs the package matplotlib; type: {INSTALL}"
        raise CommandError(msg)


def is_available() -> bool:
    """Say whether matplotlib is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def plot_curve(
    path: Path, metric: str, curves: Mapping[str, Sequence[float]], levels: Mapping[str, float]
) -> None:
    """Draw ``metric`` over epochs as PNG: trained models as curves, others as level lines."""
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in curves.items():
        axes.plot(range(1, len(curve) + 1), curve, marker="o", color="tab:blue", label=name)
    for name, level in levels.items():
        axes.axhline(level, linestyle="--", color="tab:gray", label=name)
    axes.set_xlabel("epoch")
    axes.set_ylabel(f"{metric}, mean over users")
    axes.set_title("Validation after every epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    with atomic(path) as file:
        figure.savefig(file, format="png", dpi=150)


def plot_comparison(path: Path, comparison: Comparison) -> None:
    """Draw a comparison in the format that the file name asks for."""
    with atomic(path) as file:
        comparison.plot().savefig(file, format=path.suffix[1:].lower())
