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
_CURVE_CUTOFFS = 3  # as many cutoffs of a metric, or more, are drawn as a curve
# Letters of a line of a name, of a title, and of a note below one column of axes.
_NAME_LETTERS = 30
_TITLE_LETTERS = 60
_NOTE_LETTERS = 92
# Inches: of axes with a curve, of a line of text, of a column of axes, between axes, and of what
# axes with points, and the figure, need beside their lines.
_CURVE_HEIGHT = 3.2
_LINE_HEIGHT = 0.19
_COLUMN_WIDTH = 5.6
_AXES_DISTANCE = 0.08
_FRAME_HEIGHT = 0.65
_FIGURE_MARGIN = 0.4
_DPI = 150  # dots per inch of a picture
_MOST_PIXELS = 60_000  # of a picture's width or height; PNG writers refuse more


def draw(
    means: Sequence[Mean],
    differences: Sequence[Difference],
    models: Sequence[str],
    levels: Sequence[str],
    notes: Sequence[str],
    target: Any,
    table: str = "means",
) -> Figure:
    """Draw the records of all users, and leave out those of groups.

    On axes as ``target``, one table is drawn; else means and differences on a new figure, which is
    written to the file ``target``, if it is not None. ``notes`` are sentences below the axes.
    """
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
        _draw_axes(target, records, colours, with_metric=True)
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
    """The name of the curve of a metric, such as ndcg@k, and its cutoff.

    A metric that is on no curve has its own name and None.
    """
    spec = spec_if_known(metric)
    if spec is None or spec.k is None or metric.endswith("]"):  # ndcg@10[least] of ties="range"
        return metric, None
    return f"{replace(spec, k=None)}@k", spec.k


def _records_by_row(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The records of each row of axes, by the name of a curve or, of few cutoffs, a metric."""
    # A set, since several models have records of one metric.
    n_cutoffs = Counter(curve for curve, _ in {_curve_of(record.metric) for record in records})
    records_by_row: dict[str, list[Any]] = {}
    for record in records:
        name, _ = _curve_of(record.metric)
        if n_cutoffs[name] < _CURVE_CUTOFFS:
            name = record.metric
        records_by_row.setdefault(name, []).append(record)
    return records_by_row


def _figure(
    means: Sequence[Mean],
    differences: Sequence[Difference],
    colours: Mapping[str, str],
    notes: Sequence[str],
) -> Figure:
    """Draw a row of axes for each curve or metric: means, beside them differences; notes below.

    ``colours`` are those of models and levels.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    means_by_row = _records_by_row(means)
    differences_by_row = _records_by_row(differences)
    heights = []
    for name, records in means_by_row.items():
        height = _CURVE_HEIGHT
        if name == records[0].metric:  # no curve
            n_lines = max(_n_lines(records), _n_lines(differences_by_row.get(name, [])))
            height = n_lines * _LINE_HEIGHT + _FRAME_HEIGHT
        heights.append(height)

    n_columns = 2 if differences else 1
    lines = [line for note in notes for line in textwrap.wrap(note, _NOTE_LETTERS * n_columns)]
    notes_height = len(lines) * _LINE_HEIGHT
    size = (_COLUMN_WIDTH * n_columns, sum(heights) + notes_height + _FIGURE_MARGIN)
    layout = ConstrainedLayoutEngine(w_pad=_AXES_DISTANCE, h_pad=_AXES_DISTANCE)
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    figure = Figure(size, dpi=min(_DPI, _MOST_PIXELS / max(size)), layout=layout)
    height_ratios = [sum(heights) + _FIGURE_MARGIN, notes_height]
    subfigures: Any = figure.subfigures(2, 1, height_ratios=height_ratios)
    upper_figure, notes_figure = subfigures

    axes_grid = upper_figure.subplots(
        len(means_by_row), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes_row, name in zip(axes_grid, means_by_row, strict=True):
        title = textwrap.fill(_plain(name), _TITLE_LETTERS)
        axes_row[0].set_title(title, fontsize="medium", loc="left", fontweight="bold")
        # Without differences there is one column of axes.
        for axes, by_row in zip(axes_row, (means_by_row, differences_by_row), strict=False):
            _draw_axes(axes, by_row.get(name, []), colours)
        if name in differences_by_row:
            axes_row[1].set_title("differences", fontsize="medium", loc="left")
    text = _plain("\n".join(lines))
    notes_figure.text(0.01, 0.98, text, va="top", fontsize="small", color="0.3")
    return figure


def _n_lines(records: Sequence[Record]) -> float:
    """The height of the records' names in lines of text, with half a line between two.

    Each takes as many lines as the longest.
    """
    longest = max((len(_lines(record)) for record in records), default=0)
    return len(records) * (longest + 0.5)


def _draw_axes(
    axes: Axes, records: Sequence[Record], colours: Mapping[str, str], *, with_metric: bool = False
) -> None:
    """Draw records as curves if they are of one curve, else as points; none leave axes blank.

    ``with_metric`` writes the names of the metrics, which a title gives otherwise.
    """
    if not records:
        axes.set_axis_off()
        return
    axes.tick_params(labelsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    names = list(_records_by_row(records))
    if len(names) == 1 and names[0] != records[0].metric:  # the one name is that of a curve
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
    # Several pairs of one model would have one colour: then each curve has a colour of its own.
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
    """The name of the model, or of the pair of a difference."""
    return pair(record) if isinstance(record, Difference) else str(record.model)


def _mark(record: Record) -> str:
    """The mark of a significant difference or of the best mean, "" for others."""
    if isinstance(record, Difference):
        return " *" if record.significant else ""
    return " (best)" if record.best else ""


def _lines(record: Record) -> list[str]:
    """The lines of the name of a record with its mark."""
    return _wrapped(_name(record) + _mark(record)).split("\n")


def _wrapped(text: str) -> str:
    return textwrap.fill(_plain(text), _NAME_LETTERS)


def _plain(text: str) -> str:
    return printable(text).replace("$", r"\$")  # a $ would begin a formula
