"""Comparison: the numbers, and their output as text, tables and pictures."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from recmetrics._errors import ArgumentError
from recmetrics.comparison import _render
from recmetrics.comparison._frame_of import frame_of
from recmetrics.comparison._records import Compared

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table: TypeAlias = Literal["means", "differences"]


class Comparison(Compared):
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
        The names, in the order given; ``groups`` is empty without ``by=``.
    means, differences
        ``Mean`` and ``Difference`` records: those of all users, whose ``group`` is None, then
        those of each group. Levels (e.g. chance) appear in ``means`` only.
    baseline, confidence, tests, correction, lower_is_better, n_resamples
        The settings of the comparison.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return _render.to_text(self)

    __repr__ = __str__

    def to_records(self, table: Table = "differences") -> list[dict[str, Any]]:
        """Give a dict of plain values for each row of ``table``, "differences" or "means"."""
        if table not in get_args(Table):
            msg = f"table must be 'differences' or 'means', got {table!r}"
            raise ArgumentError(msg)
        return [each.as_dict() for each in getattr(self, table)]

    def to_frame(self, table: Table = "differences", *, backend: str | None = None) -> Any:
        """Give a table as a data frame.

        Parameters
        ----------
        table
            "differences" or "means".
        backend
            "pandas", "polars" or "pyarrow"; None takes the first of them that is installed.

        Raises
        ------
        ArgumentError
            If the package is not installed.
        """
        return frame_of(self.to_records(table), backend)

    def to_markdown(self) -> str:
        """Write the printed tables and their legend in Markdown, the best means in bold."""
        return _render.to_markdown(self)

    def to_latex(self) -> str:
        r"""Write two LaTeX tables and their legend: models by metrics, and the differences.

        The best mean is bold; superscripts name the models that a model significantly beats.
        Needs ``\usepackage{booktabs}``.
        """
        return _render.to_latex(self)

    def plot(
        self, target: str | PathLike[str] | Axes | None = None, *, table: Table = "differences"
    ) -> Figure:
        """Draw means and differences of all users with their intervals.

        Parameters
        ----------
        target
            A file name (.png, .pdf, .svg) to write a figure to: a row for each metric, means left
            and differences right. Matplotlib axes to draw one table of all metrics on. None only
            makes the figure.
        table
            The table to draw on axes.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or ``target`` is none of these.
        """
        from recmetrics.comparison._plot import draw

        self.to_records(table)  # refuses an unknown table
        return draw(self, target, table)
