"""A comparison as a picture: means and differences with their intervals."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._extras import install
from recmetrics._printable import printable
from recmetrics.comparison._grids import split
from recmetrics.comparison._records import Difference
from recmetrics.comparison._render import pair, plot_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from recmetrics.comparison._records import Compared, Mean

_NAME_WIDTH = 30  # letters of a name on one line
_TITLE_WIDTH = 60
_NOTE_WIDTH = 92  # letters of a note below one column of axes
_LINE = 0.19  # inches
_WIDTH = 5.6
_PAD = 0.08
_DPI = 150
_MOST_PIXELS = 60_000  # of a side; PNG writers refuse more


def draw(comparison: Compared, target: Any, table: str) -> Figure:
    """Draw on ``target``, or on a figure that is written to it."""
    try:
        import matplotlib.figure  # noqa: F401
        from matplotlib.axes import Axes
    except ImportError as error:
        msg = f"plots need the package matplotlib; type: {install('cli', 'matplotlib')}"
        raise ArgumentError(msg) from error
    means, _ = split(comparison.means)
    differences, _ = split(comparison.differences)
    if isinstance(target, Axes):
        _draw(target, means if table == "means" else differences, comparison, with_metric=True)
        return target.figure  # type: ignore[return-value]
    figure = _figure(comparison, means, differences)
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


def _figure(
    comparison: Compared, means: Sequence[Mean], differences: Sequence[Difference]
) -> Figure:
    """Draw a row for each metric, as high as its names need; the legend below."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    left = [[each for each in means if each.metric == m] for m in comparison.metrics]
    right = [[each for each in differences if each.metric == m] for m in comparison.metrics]
    rows = [
        max(len(side) * (max((len(_lines(e)) for e in side), default=0) + 0.5) for side in sides)
        for sides in zip(left, right, strict=True)
    ]
    n_columns = 2 if differences else 1
    width = _NOTE_WIDTH * n_columns
    told = [*plot_legend(comparison), "filled: the best mean, a significant difference"]
    notes = [line for text in told for line in textwrap.wrap(text, width)]
    heights = [lines * _LINE + 0.65 for lines in rows]
    bottom = len(notes) * _LINE
    size = (_WIDTH * n_columns, sum(heights) + bottom + 0.4)
    layout = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    figure = Figure(size, dpi=min(_DPI, _MOST_PIXELS / max(size)), layout=layout)
    parts: Any = figure.subfigures(2, 1, height_ratios=[sum(heights) + 0.4, bottom])
    above, below = parts
    axes = above.subplots(
        len(rows), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for index, metric in enumerate(comparison.metrics):
        _draw(axes[index, 0], left[index], comparison)
        title = textwrap.fill(_plain(metric), _TITLE_WIDTH)
        axes[index, 0].set_title(title, fontsize="medium", loc="left", fontweight="bold")
        if n_columns == 2 and right[index]:
            _draw(axes[index, 1], right[index], comparison)
            axes[index, 1].set_title("differences", fontsize="medium", loc="left")
        elif n_columns == 2:
            axes[index, 1].set_axis_off()
    below.text(0.01, 0.98, _plain("\n".join(notes)), va="top", fontsize="small", color="0.3")
    return figure


def _draw(
    axes: Axes,
    records: Sequence[Mean | Difference],
    comparison: Compared,
    *,
    with_metric: bool = False,
) -> None:
    """Draw a line for each record, the first on top; filled where best or significant."""
    from matplotlib.ticker import FixedFormatter

    if records and isinstance(records[0], Difference):
        axes.axvline(0, color="0.6", linewidth=1)
    colours = {model: f"C{i % 10}" for i, model in enumerate(comparison.models)}
    colours |= dict.fromkeys(comparison.levels, "0.5")
    ticks = []
    for place, each in enumerate(records):
        marked = each.significant if isinstance(each, Difference) else each.best
        colour = colours[each.model]
        if not math.isnan(each.value):
            if not math.isnan(each.low):
                axes.plot([each.low, each.high], [place, place], color=colour, linewidth=2)
            face = colour if marked else "white"
            axes.plot(each.value, place, "o", color=colour, markerfacecolor=face)
        lines = _lines(each)
        ticks.append("\n".join([_wrapped(each.metric), *lines] if with_metric else lines))
    axes.set_yticks(np.arange(len(records)))
    # Labels given to set_yticks would change the process's warning filters for a moment.
    axes.yaxis.set_major_formatter(FixedFormatter(ticks))
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(labelsize="small")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _lines(record: Mean | Difference) -> list[str]:
    """The name of a record, with the mark of the best or significant, on lines that fit."""
    if isinstance(record, Difference):
        name = pair(record) + (" *" if record.significant else "")
    else:
        name = record.model + (" (best)" if record.best else "")
    return _wrapped(name).split("\n")


def _wrapped(text: str) -> str:
    return textwrap.fill(_plain(text), _NAME_WIDTH)


def _plain(text: str) -> str:
    return printable(text).replace("$", r"\$")  # a $ would begin a formula
