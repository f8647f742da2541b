"""Comparison: the numbers, and their output as text, tables and pictures; its compact table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._spec import spell
from recmetrics._types import Convention
from recmetrics.comparison import _render
from recmetrics.comparison._grids import Grid, Printed, in_latex, latex_lines
from recmetrics.comparison._records import Compared, document, frame_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table: TypeAlias = Literal["means", "differences"]
"""One of the tables of a comparison."""
_MOST_DIGITS = 15  # of a double


class Comparison(Compared, Printed):
    """The result of ``recmetrics.compare``; it prints as a table.

    >>> import recmetrics
    >>> old = {"ndcg@10": [0.1, 0.4, 0.2, 0.3, 0.0, 0.5]}
    >>> new = {"ndcg@10": [0.3, 0.5, 0.2, 0.6, 0.1, 0.7]}
    >>> found = recmetrics.compare({"old": old, "new": new}, rng=0)
    >>> [(each["model"], each["best"]) for each in found.to_records("means")]
    [('old', False), ('new', True)]

    Attributes
    ----------
    models, levels, metrics, groups
        The names, in the order given. ``groups`` is empty without ``by=``.
    means, differences
        ``Mean`` and ``Difference`` records: first those of all users, whose ``group`` is None, then
        those of each group. Levels, such as chance, are only in ``means``.
    baseline, confidence, tests, correction, lower_is_better, n_resamples, paired_runs
        The settings of the comparison.
    """

    __slots__ = ()

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:  # noqa: ARG002  # one mark for all
        return _render.tables(self), _render.legend(self)

    def compact(
        self, metrics: str | Sequence[str] | None = None, *, digits: int | None = None
    ) -> CompactTable:
        """Return the means of all users as a table, models by metrics, with marks of significance.

        The table prints as text, and can write Markdown or a LaTeX ``table``. The p-values are
        corrected for all metrics of the comparison, even if only some are shown.

        Parameters
        ----------
        metrics
            The metrics to show, in this order; None shows all.
        digits
            The number of decimals of the means. None shows four, or more if the means are small.

        Raises
        ------
        ArgumentError
            If the comparison does not have one of the metrics, or ``digits`` is not in 0 to 15.
        """
        asked = self.metrics if metrics is None else metrics
        several: Any = (asked,) if isinstance(asked, str) else asked
        shown = tuple(e for m in several for e in (spell(m) if isinstance(m, str) else [m]))
        for metric in shown:
            if metric not in self.metrics:
                known = ", ".join(map(repr, self.metrics))
                msg = f"metrics must name metrics of the comparison, {known}, got {metric!r}"
                raise ArgumentError(msg)
        if not shown:
            msg = "metrics is empty; expected metrics of the comparison, or None for all"
            raise ArgumentError(msg)
        given: object = digits
        is_integer = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
        if digits is not None and not (is_integer and 0 <= digits <= _MOST_DIGITS):
            msg = f"digits must be an integer from 0 to {_MOST_DIGITS}, got {digits!r}"
            raise ArgumentError(msg)
        return CompactTable(comparison=self, metrics=shown, digits=digits)

    def to_records(self, table: Table = "differences") -> list[dict[str, Any]]:
        """Return a dict of plain values for each row of ``table``, "differences" or "means"."""
        if table not in get_args(Table):
            msg = f"table must be 'differences' or 'means', got {table!r}"
            raise ArgumentError(msg)
        return [each.as_dict() for each in getattr(self, table)]

    def to_frame(self, table: Table = "differences", *, backend: str | None = None) -> Any:
        """Return a table as a data frame.

        Parameters
        ----------
        table
            "differences" or "means".
        backend
            "pandas", "polars" or "pyarrow". None uses the first of these that is installed.

        Raises
        ------
        ArgumentError
            If the package is not installed.
        """
        return frame_of(self.to_records(table), backend)

    def to_dict(self, convention: Convention | None = None) -> dict[str, Any]:
        """As ``Summary.to_dict``, with the differences of the models.

        Parameters
        ----------
        convention
            The one under which the values were computed.
        """
        records = {"means": self.to_records("means"), "differences": self.to_records()}
        return document(self, self.metrics, convention, **records, notes=_render.legend(self))

    def to_latex(self) -> str:
        r"""Write two LaTeX tables and their legend: models by metrics, and the differences.

        The best means are bold. Superscripts name the models that a model is significantly better
        than. Needs ``\usepackage{booktabs}``.
        """
        return _render.to_latex(self)

    def plot(
        self, target: str | PathLike[str] | Axes | None = None, *, table: Table = "differences"
    ) -> Figure:
        """Draw means and differences of all users with their intervals.

        A metric with three cutoffs or more is drawn as a curve over k, with bands for the
        intervals and dots at significant differences. On axes, only if it is the only metric.

        Parameters
        ----------
        target
            A file name (.png, .pdf, .svg): the figure is written to this file. It has a row for
            each metric, with means on the left and differences on the right. Matplotlib axes: one
            table of all metrics is drawn on them. None: the figure is only returned.
        table
            The table to draw if ``target`` is matplotlib axes.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or ``target`` is of another kind.
        """
        from recmetrics.comparison._plot import draw

        self.to_records(table)  # refuses an unknown table
        return draw(self, target, table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CompactTable(Printed):
    """The means of all users, models by metrics; ``Comparison.compact`` makes it.

    Each model has a letter. A mean is marked with the letters of the models that it is
    significantly better than. The table prints as text, and is displayed in notebooks.

    Attributes
    ----------
    comparison, metrics, digits
        The comparison, the metrics to show, in this order, and the number of decimals. If
        ``digits`` is None, there are four decimals, or more for small means.
    """

    comparison: Compared
    metrics: tuple[str, ...]
    digits: int | None

    def to_latex(self, caption: str | None = None, label: str = "tab:comparison") -> str:
        r"""Write a LaTeX ``table``, with the best means in bold and the letters as superscripts.

        It needs the package booktabs, as ``Comparison.to_latex`` does.

        Parameters
        ----------
        caption, label
            Caption and label, in LaTeX, used as given. The default caption says that these are
            means.
        """
        if caption is None:
            caption = f"Means over users{' and runs' if self.comparison.n_runs else ''}."
        notes = _render.compact_legend(self.comparison, self.metrics, "bold", "superscripts")
        lines = [
            "% \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            in_latex(self._grid("latex"), str),
            r"\par\smallskip",
            r"\footnotesize",
            latex_lines(notes),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _grid(self, form: _render.Form) -> Grid:
        return _render.models_by_metrics(self.comparison, self.metrics, form, digits=self.digits)

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:
        notes = _render.compact_legend(self.comparison, self.metrics, best, "letters")
        return [self._grid("text" if best == "[ ]" else "markdown")], notes
