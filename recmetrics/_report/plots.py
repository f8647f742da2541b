"""A comparison as a picture: means and differences with their intervals."""

from __future__ import annotations

import math
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recmetrics._core.errors import ArgumentError, install
from recmetrics._printing import printable, split
from recmetrics._report.comparison_pages import pair
from recmetrics._report.records import Difference, Mean
from recmetrics._report.result_tables import spec_if_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    (means, _), (differences, _) = split(means), split(differences)
    colours = {model: f"C{i % 10}" for i, model in enumerate(models)}
    colours |= dict.fromkeys(levels, "0.5")
    if isinstance(target, Axes):
        records: Sequence[Any] = means if table == "means" else differences
        names = [*_rows(records)]
        is_curve = len(names) == 1 and names[0] != records[0].metric
        _draw(target, records, colours, is_curve=is_curve, with_metric=True)
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


def _rows(records: Sequence[Mean | Difference]) -> dict[str, list[Any]]:
    """The records of each row: those of the cutoffs of a curve together, others by metric."""
    n_cutoffs = Counter(curve for curve, _ in {_curve_of(each.metric) for each in records})
    rows: dict[str, list[Any]] = {}
    for each in records:
        curve, _ = _curve_of(each.metric)
        name = curve if n_cutoffs[curve] >= _CURVE else each.metric
        rows.setdefault(name, []).append(each)
    return rows


def _figure(
    means: Sequence[Mean],
    differences: Sequence[Difference],
    colours: Mapping[str, str],
    notes: Sequence[str],
) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    left, right = _rows(means), _rows(differences)
    heights = []
    for metric, own in left.items():
        sides: list[list[Any]] = [own, right.get(metric, [])]
        n_lines = [len(s) * (max((len(_lines(e)) for e in s), default=0) + 0.5) for s in sides]
        is_curve = metric != own[0].metric
        heights.append(_CURVE_HEIGHT if is_curve else max(n_lines) * _LINE + 0.65)
    n_columns = 2 if differences else 1
    lines = [line for text in notes for line in textwrap.wrap(text, _NOTE_WIDTH * n_columns)]
    bottom = len(lines) * _LINE
    size = (_WIDTH * n_columns, sum(heights) + bottom + 0.4)
    layout = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    figure = Figure(size, dpi=min(_DPI, _MOST_PIXELS / max(size)), layout=layout)
    parts: Any = figure.subfigures(2, 1, height_ratios=[sum(heights) + 0.4, bottom])
    above, below = parts
    axes = above.subplots(
        len(left), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for row, (metric, own) in zip(axes, left.items(), strict=True):
        title = textwrap.fill(_plain(metric), _TITLE_WIDTH)
        row[0].set_title(title, fontsize="medium", loc="left", fontweight="bold")
        for one, records in zip(row, (own, right.get(metric)), strict=False):
            if records:
                _draw(one, records, colours, is_curve=metric != own[0].metric)
            else:
                one.set_axis_off()
        if metric in right:
            row[1].set_title("differences", fontsize="medium", loc="left")
    below.text(0.01, 0.98, _plain("\n".join(lines)), va="top", fontsize="small", color="0.3")
    return figure


def _draw(
    axes: Axes,
    records: Sequence[Mean | Difference],
    colours: Mapping[str, str],
    *,
    is_curve: bool,
    with_metric: bool = False,
) -> None:
    from matplotlib.ticker import FixedFormatter, MaxNLocator

    if records and isinstance(records[0], Difference):
        (axes.axhline if is_curve else axes.axvline)(0, color="0.6", linewidth=1)
    axes.tick_params(labelsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    if is_curve:
        curves: dict[str, list[Any]] = {}
        for each in sorted(records, key=lambda each: _curve_of(each.metric)[1] or 0):
            curves.setdefault(_name(each), []).append(each)
        # Pairs may share a model: each has a colour of its own, unless all have one baseline.
        is_shared = len({each.model for each, *_ in curves.values()}) < len(curves)
        for i, (name, own) in enumerate(curves.items()):
            colour = f"C{i % 10}" if is_shared else colours[own[0].model]
            k: Any = [_curve_of(each.metric)[1] for each in own]
            marked = [e.value if getattr(e, "significant", False) else math.nan for e in own]
            axes.plot(k, [each.value for each in own], color=colour, label=_wrapped(name))
            axes.plot(k, marked, "o", color=colour)
            low, high = [each.low for each in own], [each.high for each in own]
            axes.fill_between(k, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_xlabel("k", fontsize="small")
        if with_metric:
            axes.set_ylabel(_wrapped(_curve_of(records[0].metric)[0]))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
        return
    ticks = []
    for place, each in enumerate(records):
        colour = colours[each.model]
        if not math.isnan(each.value):
            if not math.isnan(each.low):
                axes.plot([each.low, each.high], [place, place], color=colour, linewidth=2)
            face = colour if _mark(each) else "white"
            axes.plot(each.value, place, "o", color=colour, markerfacecolor=face)
        ticks.append("\n".join([_wrapped(each.metric)] * with_metric + _lines(each)))
    axes.set_yticks(np.arange(len(records)))
    # Labels given to set_yticks would change the process's warning filters for a moment.
    axes.yaxis.set_major_formatter(FixedFormatter(ticks))
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    axes.spines["left"].set_visible(False)


def _name(record: Mean | Difference) -> str:
    return pair(record) if isinstance(record, Difference) else str(record.model)


def _mark(record: Mean | Difference) -> str:
    if isinstance(record, Difference):
        return " *" if record.significant else ""
    return " (best)" if record.best else ""


def _lines(record: Mean | Difference) -> list[str]:
    return _wrapped(_name(record) + _mark(record)).split("\n")


def _wrapped(text: str) -> str:
    return textwrap.fill(_plain(text), _NAME_WIDTH)


def _plain(text: str) -> str:
    return printable(text).replace("$", r"\$")  # a $ would begin a formula
