"""A comparison as a picture: means and differences with their intervals."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._extras import install
from recmetrics._io import printable
from recmetrics.comparison._grids import split
from recmetrics.comparison._reading import spec_if_known
from recmetrics.comparison._records import Difference, Mean
from recmetrics.comparison._render import pair, plot_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from recmetrics.comparison._records import Compared, MetricSummary

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


@dataclass(frozen=True, slots=True)
class _Page:
    """The records of all users to draw, the colour of each model, and the notes below."""

    means: Sequence[Mean]
    differences: Sequence[Difference]
    colours: dict[str, str]
    notes: Sequence[str]


def draw(comparison: Compared, target: Any, table: str) -> Figure:
    """Draw a comparison on ``target``, or on a figure that is written to it."""
    means, _ = split(comparison.means)
    differences, _ = split(comparison.differences)
    notes = [*plot_legend(comparison), "filled: the best mean, a significant difference"]
    colours = _colours(comparison.models, comparison.levels)
    page = _Page(means, differences, colours, notes)
    return _put(page, target, means if table == "means" else differences)


def draw_summary(
    records: Sequence[MetricSummary],
    models: Sequence[str],
    levels: Sequence[str],
    notes: Sequence[str],
    target: Any,
) -> Figure:
    """Draw the means of a summary as those of a comparison."""
    means = []
    for each in split(records)[0]:
        of = partial(Mean, metric=each.metric, group=None)
        model = each.model or models[0]
        means.append(of(model=model, mean=each.mean, low=each.low, high=each.high))
        if model == models[0]:
            means += [of(model=level, mean=mean) for level, mean in each.levels.items()]
    page = _Page(means, (), _colours(models, levels), notes)
    return _put(page, target, means)


def _colours(models: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    return {model: f"C{i % 10}" for i, model in enumerate(models)} | dict.fromkeys(levels, "0.5")


def _put(page: _Page, target: Any, records: Sequence[Mean | Difference]) -> Figure:
    try:
        import matplotlib.figure  # noqa: F401
        from matplotlib.axes import Axes
    except ImportError as error:
        msg = f"plots need the package matplotlib; type: {install('cli', 'matplotlib')}"
        raise ArgumentError(msg) from error
    if isinstance(target, Axes):
        curves = _curves(records)
        if len(curves) == 1 and _is_curve(records):
            _draw_curve(target, records, page.colours)
            target.set_ylabel(_wrapped(next(iter(curves))))
        else:
            _draw(target, records, page.colours, with_metric=True)
        return target.figure  # type: ignore[return-value]
    figure = _figure(page)
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
    """The metric without its cutoff, and the cutoff; None for a metric that has none."""
    spec = spec_if_known(metric)
    if spec is None or spec.k is None or metric.endswith("]"):
        return metric, None
    return str(replace(spec, k=None)), spec.k


def _is_curve(records: Sequence[Mean | Difference]) -> bool:
    """Say whether the records of one metric have so many cutoffs that they are a curve."""
    return len({_curve_of(each.metric)[1] for each in records} - {None}) >= _CURVE


def _curves(records: Sequence[Mean | Difference]) -> dict[str, list[Any]]:
    """The records of each row: those of the cutoffs of a curve together, others by metric."""
    together: dict[str, list[Any]] = {}
    for each in records:
        together.setdefault(_curve_of(each.metric)[0], []).append(each)
    rows: dict[str, list[Any]] = {}
    for each in records:
        name, k = _curve_of(each.metric)
        is_curve = k is not None and _is_curve(together[name])
        rows.setdefault(f"{name}@k" if is_curve else each.metric, []).append(each)
    return rows


def _figure(page: _Page) -> Figure:
    """Draw a row for each metric, as high as its names need; the legend below."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    left, right = _curves(page.means), _curves(page.differences)
    heights = []
    for metric, means in left.items():
        sides: list[list[Any]] = [means, right.get(metric, [])]
        n_lines = [len(s) * (max((len(_lines(e)) for e in s), default=0) + 0.5) for s in sides]
        heights.append(_CURVE_HEIGHT if _is_curve(means) else max(n_lines) * _LINE + 0.65)
    n_columns = 2 if page.differences else 1
    width = _NOTE_WIDTH * n_columns
    notes = [line for text in page.notes for line in textwrap.wrap(text, width)]
    bottom = len(notes) * _LINE
    size = (_WIDTH * n_columns, sum(heights) + bottom + 0.4)
    layout = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    figure = Figure(size, dpi=min(_DPI, _MOST_PIXELS / max(size)), layout=layout)
    parts: Any = figure.subfigures(2, 1, height_ratios=[sum(heights) + 0.4, bottom])
    above, below = parts
    axes = above.subplots(
        len(left), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for index, (metric, means) in enumerate(left.items()):
        draw_one = _draw_curve if _is_curve(means) else _draw
        draw_one(axes[index, 0], means, page.colours)
        title = textwrap.fill(_plain(metric), _TITLE_WIDTH)
        axes[index, 0].set_title(title, fontsize="medium", loc="left", fontweight="bold")
        if n_columns == 2 and metric in right:
            draw_one(axes[index, 1], right[metric], page.colours)
            axes[index, 1].set_title("differences", fontsize="medium", loc="left")
        elif n_columns == 2:
            axes[index, 1].set_axis_off()
    below.text(0.01, 0.98, _plain("\n".join(notes)), va="top", fontsize="small", color="0.3")
    return figure


def _draw_curve(
    axes: Axes, records: Sequence[Mean | Difference], colours: Mapping[str, str]
) -> None:
    """Draw a line over the cutoffs for each model or pair, and a band for its intervals."""
    from matplotlib.ticker import MaxNLocator

    lines: dict[str, list[Any]] = {}
    for each in sorted(records, key=lambda each: _curve_of(each.metric)[1] or 0):
        name = pair(each) if isinstance(each, Difference) else each.model
        lines.setdefault(name, []).append(each)
    if isinstance(records[0], Difference):
        axes.axhline(0, color="0.6", linewidth=1)
    for i, (name, own) in enumerate(lines.items()):
        # Pairs may share a model: each has a colour of its own, unless all have one baseline.
        is_shared = len({each.model for each, *_ in lines.values()}) < len(lines)
        colour = f"C{i % 10}" if is_shared else colours[own[0].model]
        k: Any = [_curve_of(each.metric)[1] for each in own]
        marked = [getattr(each, "significant", False) for each in own]
        axes.plot(k, [each.value for each in own], color=colour, label=_wrapped(name))
        axes.plot(
            k,
            [each.value if m else math.nan for each, m in zip(own, marked, strict=True)],
            "o",
            color=colour,
        )
        low, high = [each.low for each in own], [each.high for each in own]
        axes.fill_between(k, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("k", fontsize="small")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(labelsize="small")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")


def _draw(
    axes: Axes,
    records: Sequence[Mean | Difference],
    colours: Mapping[str, str],
    *,
    with_metric: bool = False,
) -> None:
    """Draw a line for each record, the first on top; filled where best or significant."""
    from matplotlib.ticker import FixedFormatter

    if records and isinstance(records[0], Difference):
        axes.axvline(0, color="0.6", linewidth=1)
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
