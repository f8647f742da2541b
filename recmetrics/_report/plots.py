"""A comparison as a picture: means and differences with their intervals."""

from __future__ import annotations

import math
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from recmetrics._core.errors import ArgumentError, install
from recmetrics._printing import printable, split
from recmetrics._report.comparison_pages import pair
from recmetrics._report.records import Difference, Mean
from recmetrics._report.result_tables import spec_if_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record: TypeAlias = Mean | Difference
_CURVE = 3  # cutoffs of a metric that are drawn as a curve
_CURVE_HEIGHT = 3.2  # inches
_NAME_WIDTH = 30  # letters of a name on one line
_TITLE_WIDTH = 60
_NOTE_WIDTH = 92  # letters of a note below one column of axes
_LINE = 0.19  # inches
_WIDTH = 5.6
_PAD = 0.08
_DPI = 150
_MOST_PIXELS = 60_000  # of a side; PNG writers refuse more


def draw(
    means: Sequence[Mean],
    differences: Sequence[Difference],
    models: Sequence[str],
    levels: Sequence[str],
    notes: Sequence[str],
    target: Any,
    table: str = "means",
) -> Figure:
    """Draw all users' records on ``target``, a table on axes, or on a figure written to it."""
    try:
        import matplotlib.figure  # noqa: F401
        from matplotlib.axes import Axes
    except ImportError as error:
        msg = f"plots need the package matplotlib; type: {install('cli', 'matplotlib')}"
        raise ArgumentError(msg) from error
    means, _ = split(means)
    differences, _ = split(differences)
    colours = {model: f"C{i % 10}" for i, model in enumerate(models)}
    colours |= dict.fromkeys(levels, "0.5")
    if isinstance(target, Axes):
        records: Sequence[Any] = means if table == "means" else differences
        _draw(target, records, colours, with_metric=True)
        return target.figure  # type: ignore[return-value]
    figure = _figure(means, differences, colours, notes)
    if target is None:
        return figure
    if not isinstance(target, (str, os.PathLike)):
        msg = f"target must be a file name or matplotlib axes, got {type(target).__name__}"
        raise ArgumentError(msg)
    if Path(target).suffix[1:].lower() not in figure.canvas.get_supported_filetypes():
        msg = f"target must end in .png, .pdf or .svg, got {os.fspath(target)!r}"
        raise ArgumentError(msg)
    figure.savefig(target, dpi="figure")
    return figure


def _curve_of(metric: str) -> tuple[str, int | None]:
    """The name of the metric's curve, and its cutoff; None for a metric that has none."""
    spec = spec_if_known(metric)
    if spec is None or spec.k is None or metric.endswith("]"):
        return metric, None
    return f"{replace(spec, k=None)}@k", spec.k


def _rows(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The records of each row: those of the cutoffs of a curve together, others by metric."""
    n_cutoffs = Counter(curve for curve, _ in {_curve_of(record.metric) for record in records})
    rows: dict[str, list[Any]] = {}
    for record in records:
        name, _ = _curve_of(record.metric)
        if n_cutoffs[name] < _CURVE:
            name = record.metric
        rows.setdefault(name, []).append(record)
    return rows


def _figure(
    means: Sequence[Mean],
    differences: Sequence[Difference],
    colours: Mapping[str, str],
    notes: Sequence[str],
) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    left = _rows(means)
    right = _rows(differences)
    heights = []
    for metric, records in left.items():
        height = _CURVE_HEIGHT
        if metric == records[0].metric:
            n_lines = max(_n_lines(records), _n_lines(right.get(metric, [])))
            height = n_lines * _LINE + 0.65
        heights.append(height)

    n_columns = 2 if differences else 1
    lines = [line for text in notes for line in textwrap.wrap(text, _NOTE_WIDTH * n_columns)]
    bottom = len(lines) * _LINE
    size = (_WIDTH * n_columns, sum(heights) + bottom + 0.4)
    layout = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    figure = Figure(size, dpi=min(_DPI, _MOST_PIXELS / max(size)), layout=layout)
    subfigures: Any = figure.subfigures(2, 1, height_ratios=[sum(heights) + 0.4, bottom])
    above, below = subfigures

    grid = above.subplots(
        len(left), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for row, metric in zip(grid, left, strict=True):
        title = textwrap.fill(_plain(metric), _TITLE_WIDTH)
        row[0].set_title(title, fontsize="medium", loc="left", fontweight="bold")
        for axes, rows in zip(row, (left, right), strict=False):
            _draw(axes, rows.get(metric, []), colours)
        if metric in right:
            row[1].set_title("differences", fontsize="medium", loc="left")
    below.text(0.01, 0.98, _plain("\n".join(lines)), va="top", fontsize="small", color="0.3")
    return figure


def _n_lines(records: Sequence[Record]) -> float:
    """The lines of text that records take: those of the longest name, and half a line between."""
    longest = max((len(_lines(record)) for record in records), default=0)
    return len(records) * (longest + 0.5)


def _draw(
    axes: Axes, records: Sequence[Record], colours: Mapping[str, str], *, with_metric: bool = False
) -> None:
    if not records:
        axes.set_axis_off()
        return
    axes.tick_params(labelsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    names = list(_rows(records))
    if len(names) == 1 and names[0] != records[0].metric:
        _draw_curves(axes, records, colours)
        if with_metric:
            axes.set_ylabel(_wrapped(names[0]))
    else:
        _draw_points(axes, records, colours, with_metric)


def _draw_curves(axes: Axes, records: Sequence[Record], colours: Mapping[str, str]) -> None:
    """Draw a curve over k for each model or pair."""
    from matplotlib.ticker import MaxNLocator

    if isinstance(records[0], Difference):
        axes.axhline(0, color="0.6", linewidth=1)
    curves: dict[str, list[Any]] = {}
    for record in sorted(records, key=lambda record: _curve_of(record.metric)[1] or 0):
        curves.setdefault(_name(record), []).append(record)
    # Pairs may share a model: each has a colour of its own, unless all have one baseline.
    is_shared = len({points[0].model for points in curves.values()}) < len(curves)
    for i, (name, points) in enumerate(curves.items()):
        colour = f"C{i % 10}" if is_shared else colours[points[0].model]
        k: Any = [_curve_of(point.metric)[1] for point in points]
        values = np.array([point.value for point in points])
        is_significant = [getattr(point, "significant", False) for point in points]
        axes.plot(k, values, color=colour, label=_wrapped(name))
        axes.plot(k, np.where(is_significant, values, math.nan), "o", color=colour)
        low = [point.low for point in points]
        high = [point.high for point in points]
        axes.fill_between(k, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("k", fontsize="small")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small")


def _draw_points(
    axes: Axes, records: Sequence[Record], colours: Mapping[str, str], with_metric: bool
) -> None:
    """Draw a point with its interval for each record, one below the other."""
    from matplotlib.ticker import FixedFormatter

    if isinstance(records[0], Difference):
        axes.axvline(0, color="0.6", linewidth=1)
    ticks = []
    for place, record in enumerate(records):
        colour = colours[record.model]
        if not math.isnan(record.value):
            if not math.isnan(record.low):
                axes.plot([record.low, record.high], [place, place], color=colour, linewidth=2)
            face = colour if _mark(record) else "white"
            axes.plot(record.value, place, "o", color=colour, markerfacecolor=face)
        lines = _lines(record)
        if with_metric:
            lines = [_wrapped(record.metric), *lines]
        ticks.append("\n".join(lines))
    axes.set_yticks(np.arange(len(records)))
    # Labels given to set_yticks would change the process's warning filters for a moment.
    axes.yaxis.set_major_formatter(FixedFormatter(ticks))
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    axes.spines["left"].set_visible(False)


def _name(record: Record) -> str:
    return pair(record) if isinstance(record, Difference) else str(record.model)


def _mark(record: Record) -> str:
    if isinstance(record, Difference):
        return " *" if record.significant else ""
    return " (best)" if record.best else ""


def _lines(record: Record) -> list[str]:
    return _wrapped(_name(record) + _mark(record)).split("\n")


def _wrapped(text: str) -> str:
    return textwrap.fill(_plain(text), _NAME_WIDTH)


def _plain(text: str) -> str:
    return printable(text).replace("$", r"\$")  # a $ would begin a formula
