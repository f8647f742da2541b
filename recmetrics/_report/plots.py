"""A comparison as a picture: means and differences with intervals; one metric against another."""

from __future__ import annotations

import itertools
import math
import os
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from recmetrics._core.errors import ArgumentError, install, warn
from recmetrics._printing import one_line, printable, split
from recmetrics._report.comparison_pages import pair
from recmetrics._report.records import Difference, Mean
from recmetrics._report.result_tables import spec_if_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record: TypeAlias = Mean | Difference
# The records of each row of axes, by the name of a curve or a metric, and the group of a curve.
Rows: TypeAlias = dict[tuple[str, Any], list[Any]]
_CURVE_CUTOFFS = 3  # as many cutoffs of a metric, or more, are drawn as a curve
_NO_GLYPH = "\N{WHITE SQUARE}"  # stands for a character that the font lacks
# Inches: of axes with a curve, of a line of text, of a column of axes, between axes, and of what
# axes with points, and the figure, need beside their lines.
_CURVE_HEIGHT = 3.2
_LINE_HEIGHT = 0.19
_COLUMN_WIDTH = 5.6
_AXES_DISTANCE = 0.08
_TICK_ROOM = 0.08  # share of the axis between the ticks at its ends and the others
_POINTS_HEIGHT = 4.0  # of axes with one metric against another
# Lines of text have at most so many letters, and fewer if these are wider than so many inches.
_NAME_LETTERS, _NAME_WIDTH = 30, 2.1
_TITLE_LETTERS = 60  # the width is what names leave of a column, and the margins of a title
_TITLE_MARGINS = 0.4
_LABEL_LETTERS, _LABEL_WIDTH = 40, 3.4  # of an axis
_NOTE_LETTERS, _NOTE_WIDTH = 92, 5.5  # below one column of axes
_FRAME_HEIGHT = 0.65
_FIGURE_MARGIN = 0.4
_LEVEL_COLOUR = "0.5"
_LEVEL_STYLES = ("--", ":", "-.")  # of the curves of levels, which have one colour
_LEVEL_MARKERS = "sD^v"  # of the points of levels in one metric against another
# The curves and the points of each ten models, which have the ten colours again.
_MODEL_STYLES = ("-", "--", "-.", ":")
_MODEL_MARKERS = "oXP*"
# The legend below axes: its columns, inches of a line, and what separates it from the axes, in
# letters' heights: the ticks, and each line of the label of the axis.
_LEGEND_COLUMNS = 2
_LEGEND_LINE_HEIGHT = 0.14
_TICKS_DISTANCE = 2.6
_LABEL_DISTANCE = 1.5
_MOST_WITHIN = 6  # lines of a legend that finds room on the axes of a user
_NO_BREAK = "\N{NO-BREAK SPACE}"
_MOST_NAMED = 20  # characters that a warning names
# Settings of every text: to TeX and in formulas, the $, % and _ of names and notes are commands.
_AS_TYPED: dict[str, Any] = {"usetex": False, "parse_math": False}
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
    """Draw the records of all users and, on a figure, those of groups.

    On axes as ``target``, one table is drawn; else means and differences on a new figure, which is
    written to the file ``target``, if it is not None. ``notes`` are sentences below the axes.
    """
    axes = _axes_of(target)
    _warn_of_missing(means)
    colours = _colours(models, levels)
    if axes is not None:
        records: Sequence[Any] = means if table == "means" else differences
        overall, _ = split(records)
        _draw_axes(axes, overall, colours, on_target=True)
        return axes.figure  # type: ignore[return-value]
    return _written(_figure(means, differences, colours, notes), target)


def draw_against(
    means: Sequence[Mean],
    metrics: tuple[str, str],
    lower_is_better: Collection[str],
    models: Sequence[str],
    levels: Sequence[str],
    notes: Sequence[str],
    target: Any,
) -> Figure:
    """Draw one metric against another: a point for each model, its intervals as a cross.

    ``metrics`` are those of the x and the y axis; ``target`` and ``notes`` are those of ``draw``.
    """
    axes = _axes_of(target)
    _warn_of_missing(means)
    figure: Any = None
    on_target = axes is not None
    if axes is None:
        height = _POINTS_HEIGHT + _legend_height([*models, *levels])
        figure, upper_figure = _figure_with_notes(height, 1, notes)
        axes = upper_figure.subplots()
    overall, _ = split(means)
    mean_of = {(mean.model, mean.metric): mean for mean in overall}
    markers = itertools.cycle(_LEVEL_MARKERS)
    for i, (name, colour) in enumerate(_colours(models, levels).items()):
        marker = _MODEL_MARKERS[i // 10 % len(_MODEL_MARKERS)]
        if name in levels:
            marker = next(markers)
        x, y = (mean_of.get((name, metric)) for metric in metrics)
        if x is not None and y is not None:  # a level may lack a metric
            axes.plot([x.low, x.high], [y.mean, y.mean], color=colour, linewidth=2)
            axes.plot([x.mean, x.mean], [y.low, y.high], color=colour, linewidth=2)
            # Above all crosses, with an edge that shows its shape on a cross of its own colour.
            style: dict[str, Any] = {"markeredgecolor": "white", "markersize": 8, "zorder": 3}
            axes.plot(x.mean, y.mean, marker, color=colour, label=_legend_name(name), **style)
    for metric, set_label in zip(metrics, (axes.set_xlabel, axes.set_ylabel), strict=True):
        direction = " (lower is better)" if metric in lower_is_better else ""
        lines = _folded(f"{metric}{direction}", _LABEL_LETTERS, _LABEL_WIDTH, size="medium")
        set_label("\n".join(lines), **_AS_TYPED)
    axes.tick_params(labelsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    _add_legend(axes, on_target)
    if figure is None:
        return axes.figure  # type: ignore[return-value]
    return _written(figure, target)


def _axes_of(target: Any) -> Axes | None:
    """Give the target if it is matplotlib axes, else None; refuse to draw without matplotlib."""
    try:
        import matplotlib.figure  # noqa: F401
        from matplotlib.axes import Axes
    except ImportError as error:
        msg = f"plots need the package matplotlib; type: {install('cli', 'matplotlib')}"
        raise ArgumentError(msg) from error
    return target if isinstance(target, Axes) else None


def _add_legend(axes: Axes, on_target: bool) -> None:
    """Name what is drawn, below the axes, where it covers nothing.

    The axes of a user may have no room there: a short legend is on them, a long one beside them.
    """
    _, names = axes.get_legend_handles_labels()
    place: dict[str, Any] = {}
    if not on_target:
        n_label_lines = axes.get_xlabel().count("\n") + 1
        distance = _TICKS_DISTANCE + _LABEL_DISTANCE * n_label_lines
        place = {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, 0),
            "borderaxespad": distance,
            "ncols": _LEGEND_COLUMNS,
        }
    elif len("\n".join(names).split("\n")) > _MOST_WITHIN:
        place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    legend = axes.legend(frameon=False, fontsize="small", **place)
    for text in legend.get_texts():
        text.set(**_AS_TYPED)


def _legend_height(names: Iterable[str]) -> float:
    """The height in inches of a legend below axes, with half a line between two names.

    ``names`` are those of its curves or points, of each once or several times.
    """
    n_lines = [len(_wrapped(name).split("\n")) + 0.5 for name in dict.fromkeys(names)]
    columns = np.array_split(n_lines, _LEGEND_COLUMNS)  # as matplotlib divides them
    return max(map(sum, columns)) * _LEGEND_LINE_HEIGHT


def _colours(models: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    """Give each model a colour, every tenth the same, and all levels grey."""
    colours = {model: f"C{i % 10}" for i, model in enumerate(models)}
    return colours | dict.fromkeys(levels, _LEVEL_COLOUR)


def _written(figure: Figure, target: Any) -> Figure:
    """Write a figure to the file ``target``, if it is not None."""
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


def _records_by_row(records: Sequence[Record]) -> Rows:
    """The records of each row of axes: a curve of one group, or a metric of all groups."""
    # A set, since several models have records of one metric.
    n_cutoffs = Counter(curve for curve, _ in {_curve_of(record.metric) for record in records})
    records_by_row: Rows = {}
    for record in records:
        name, _ = _curve_of(record.metric)
        row = (name, record.group)
        if n_cutoffs[name] < _CURVE_CUTOFFS:
            row = (record.metric, None)
        records_by_row.setdefault(row, []).append(record)
    # The curves of all groups of a metric stand together.
    names = list(dict.fromkeys(name for name, _ in records_by_row))
    rows = sorted(records_by_row, key=lambda row: names.index(row[0]))
    return {row: records_by_row[row] for row in rows}


def _figure(
    means: Sequence[Mean],
    differences: Sequence[Difference],
    colours: Mapping[str, str],
    notes: Sequence[str],
) -> Figure:
    """Draw a row of axes for each curve or metric: means, beside them differences; notes below.

    ``colours`` are those of models and levels. A metric of all lists has no differences: its means
    take the whole row.
    """
    means_by_row = _records_by_row(means)
    differences_by_row = _records_by_row(differences)
    heights = []
    legends_height = 0.0
    for row, records in means_by_row.items():
        differences_of_row = differences_by_row.get(row, [])
        if row[0] == records[0].metric:  # no curve
            n_lines = max(_n_lines(records), _n_lines(differences_of_row))
            heights.append(n_lines * _LINE_HEIGHT + _FRAME_HEIGHT)
        else:
            heights.append(_CURVE_HEIGHT)
            legends_height += max(
                _legend_height(map(_name, records)), _legend_height(map(_name, differences_of_row))
            )
    n_columns = 2 if differences else 1
    figure, upper_figure = _figure_with_notes(sum(heights) + legends_height, n_columns, notes)

    # The axes of a column begin where the longest name ends.
    widest_name = max(_widest(_lines(mean)) for mean in means)
    title_width = (_COLUMN_WIDTH - _TITLE_MARGINS) * _enlargement() - widest_name
    places = upper_figure.add_gridspec(len(means_by_row), n_columns, height_ratios=heights)
    for i, row in enumerate(means_by_row):
        name, group = row
        title = name
        if group is not None:
            title += f", {one_line(group)}"
        title_font: Any = {"size": "medium", "weight": "bold"}
        title_lines = _folded(title, _TITLE_LETTERS, title_width, **title_font)
        differences_of_row = differences_by_row.get(row, [])
        place = places[i, 0] if differences_of_row else places[i, :]
        axes = upper_figure.add_subplot(place)
        axes.set_title("\n".join(title_lines), loc="left", **title_font, **_AS_TYPED)
        _draw_axes(axes, means_by_row[row], colours)
        if differences_of_row:
            axes = upper_figure.add_subplot(places[i, 1])
            axes.set_title("differences", fontsize="medium", loc="left", **_AS_TYPED)
            _draw_axes(axes, differences_of_row, colours)
    return figure


def _figure_with_notes(height: float, n_columns: int, notes: Sequence[str]) -> tuple[Figure, Any]:
    """Make a figure with notes at its end; give it, and its part of ``height`` inches for axes."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    enlargement = _enlargement()
    note_width = _NOTE_WIDTH * n_columns * enlargement
    lines = []
    for note in notes:
        lines += _folded(note, _NOTE_LETTERS * n_columns, note_width)
    notes_height = len(lines) * _LINE_HEIGHT
    width = _COLUMN_WIDTH * n_columns * enlargement
    size = (width, (height + notes_height + _FIGURE_MARGIN) * enlargement)
    layout = ConstrainedLayoutEngine(w_pad=_AXES_DISTANCE, h_pad=_AXES_DISTANCE)
    # A Figure made without pyplot needs no display and leaves pyplot's state alone.
    figure = Figure(size, dpi=min(_DPI, _MOST_PIXELS / max(size)), layout=layout)
    if not lines:  # the layout fails with a part that has no height
        return figure, figure
    subfigures: Any = figure.subfigures(2, 1, height_ratios=[height + _FIGURE_MARGIN, notes_height])
    upper_figure, notes_figure = subfigures
    notes_figure.text(0.01, 0.98, "\n".join(lines), va="top", fontsize="small", **_AS_TYPED)
    return figure, upper_figure


def _enlargement() -> float:
    """How many times larger a figure is where matplotlib's settings have a larger font.

    It grows as the font does, so that its text has room.
    """
    from matplotlib import rcParams, rcParamsDefault

    growth: float = rcParams["font.size"] / rcParamsDefault["font.size"]
    return max(1.0, growth)


def _n_lines(records: Sequence[Record]) -> float:
    """The height of the records' names in lines of text, with half a line between two.

    Each takes as many lines as the longest.
    """
    longest = max((len(_lines(record)) for record in records), default=0)
    return len(records) * (longest + 0.5)


def _draw_axes(
    axes: Axes, records: Sequence[Record], colours: Mapping[str, str], *, on_target: bool = False
) -> None:
    """Draw records as curves if they are of one curve, else as points; none leave axes blank.

    ``on_target`` is True for the axes of a user: they have no title with the name of a metric, and
    no room for a legend below.
    """
    if not records:
        axes.set_axis_off()
        return
    axes.tick_params(labelsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    rows = list(_records_by_row(records))
    name, _ = rows[0]
    if len(rows) == 1 and name != records[0].metric:  # the one name is that of a curve
        _draw_curves(axes, records, colours, on_target)
        if on_target:
            axes.set_ylabel(_wrapped(name), **_AS_TYPED)
    else:
        _draw_points(axes, records, colours, with_metric=on_target)


def _draw_curves(
    axes: Axes, records: Sequence[Record], colours: Mapping[str, str], on_target: bool
) -> None:
    """Draw a curve over k for each model or pair."""
    if isinstance(records[0], Difference):
        axes.axhline(0, color="0.6", linewidth=1)
    curves: dict[str, list[Any]] = {}
    for record in sorted(records, key=lambda record: _curve_of(record.metric)[1] or 0):
        curves.setdefault(_name(record), []).append(record)
    # Several pairs of one model would have one colour: then each curve has a colour of its own.
    is_shared = len({points[0].model for points in curves.values()}) < len(curves)
    places = [*colours]
    styles = itertools.cycle(_LEVEL_STYLES)
    for i, (name, points) in enumerate(curves.items()):
        place = places.index(points[0].model)
        colour = colours[points[0].model]
        if is_shared:
            place = i
            colour = f"C{i % 10}"
        style = _MODEL_STYLES[place // 10 % len(_MODEL_STYLES)]
        if colour == _LEVEL_COLOUR:
            style = next(styles)
        k: Any = [_curve_of(point.metric)[1] for point in points]
        values = np.array([point.value for point in points])
        is_significant = [getattr(point, "significant", False) for point in points]
        axes.plot(k, values, style, color=colour, label=_legend_name(name))
        axes.plot(k, np.where(is_significant, values, math.nan), "o", color=colour)
        low = [point.low for point in points]
        high = [point.high for point in points]
        axes.fill_between(k, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("k", fontsize="small", **_AS_TYPED)
    cutoffs = [_curve_of(record.metric)[1] or 0 for record in records]
    axes.set_xticks(_ticks(min(cutoffs), max(cutoffs)))
    axes.grid(alpha=0.3)
    _add_legend(axes, on_target)


def _ticks(first: int, last: int) -> list[int]:
    """The ticks of cutoffs: the first and the last, and round ones that leave these room."""
    from matplotlib.ticker import MaxNLocator

    room = _TICK_ROOM * (last - first)
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True).tick_values(first, last)
    between = [round(tick) for tick in ticks if first + room < tick < last - room]
    return [first, *between, last]


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
            face = colour if _mark(record) else axes.get_facecolor()
            # The styles of seaborn give markers no edge, which is all that shows of a hollow dot.
            style: Any = {"color": colour, "markerfacecolor": face, "markeredgewidth": 1}
            axes.plot(record.value, place, "o", **style)
        lines = _lines(record)
        if with_metric:
            lines = [_wrapped(record.metric), *lines]
        ticks.append("\n".join(lines))
    axes.set_yticks(np.arange(len(records)))
    # Labels given to set_yticks would change the process's warning filters for a moment.
    axes.yaxis.set_major_formatter(FixedFormatter(ticks))
    for label in axes.get_yticklabels():
        label.set(**_AS_TYPED)
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    axes.spines["left"].set_visible(False)


def _name(record: Record) -> str:
    """The name of the model, or of the pair of a difference."""
    return pair(record) if isinstance(record, Difference) else one_line(record.model)


def _mark(record: Record) -> str:
    """The mark of a significant difference or of the best mean, "" for others."""
    if isinstance(record, Difference):
        return " *" if record.significant else ""
    return " (best)" if record.best else ""


def _lines(record: Record) -> list[str]:
    """The lines of the name of a record with its group and its mark."""
    of_group = ""
    if record.group is not None:
        of_group = f"{one_line(record.group)}: "
    mark = _mark(record).replace(" ", _NO_BREAK)  # a mark stays with the word before it
    return _wrapped(of_group + _name(record) + mark).replace(_NO_BREAK, " ").split("\n")


def _legend_name(name: str) -> str:
    """The name of a model or a pair for a legend, which leaves out what begins with ``_``."""
    text = _wrapped(name)
    return f" {text}" if text.startswith("_") else text


def _wrapped(text: str) -> str:
    return "\n".join(_folded(text, _NAME_LETTERS, _NAME_WIDTH))


def _folded(text: str, n_letters: int, max_width: float, **font: str) -> list[str]:
    """Fold a text into lines of at most ``n_letters``, and of at most ``max_width`` inches.

    A character that no font has becomes ``_NO_GLYPH``. ``font`` are settings of the text.
    """
    text = _drawable(text)
    lines = textwrap.wrap(text, n_letters)
    while _widest(lines, **font) > max_width and n_letters > 1:
        n_letters -= 1
        lines = textwrap.wrap(text, n_letters)
    return lines


def _widest(lines: Iterable[str], **font: str) -> float:
    """The width in inches of the widest line."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    properties: Any = FontProperties(**{"size": "small", **font})  # type: ignore[arg-type]
    points = [
        text_to_path.get_text_width_height_descent(line, properties, False)[0] for line in lines
    ]
    return max(points, default=0.0) / 72


def _drawable(text: str) -> str:
    """Escape what does harm, and write ``_NO_GLYPH`` for what matplotlib cannot draw.

    It would warn of each such character, and of each again for every text.
    """
    text = printable(text)
    for character in _missing(text):
        text = text.replace(character, _NO_GLYPH)
    return text


def _missing(text: str) -> list[str]:
    """The characters of a text, in order, that are in no font of matplotlib's settings."""
    if text.isascii():
        return []
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = [get_font(findfont(FontProperties(family=[name]))) for name in _families()]
    return [
        character
        for character in dict.fromkeys(text)
        if not character.isascii()
        and not any(font.get_char_index(ord(character)) for font in fonts)
    ]


def _families() -> list[str]:
    """The families of fonts in matplotlib's settings: later ones have what the first ones lack."""
    from matplotlib import rcParams

    return list(rcParams["font.family"])


def _warn_of_missing(records: Iterable[Record]) -> None:
    """Warn once of the characters in names of these records that matplotlib cannot draw."""
    names = [
        str(name) for record in records for name in (record.metric, record.model, record.group)
    ]
    characters = "".join(_missing(printable("".join(dict.fromkeys(names)))))
    if characters:
        families = "".join(f"{name!r}, " for name in _families())
        warn(
            f"the picture has {_NO_GLYPH} in place of {characters[:_MOST_NAMED]!r}, as no font of "
            f"matplotlib's settings has these characters; before it is drawn, type "
            f"matplotlib.rcParams['font.family'] = ({families}...) with the name of a font that "
            "has them; for the command, write 'font.family: ' and these names into a file "
            "'matplotlibrc'"
        )
