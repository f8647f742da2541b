"""CompactTable: models by metrics, with marks of significance."""

from __future__ import annotations

from dataclasses import dataclass

from recmetrics.comparison._grids import Grid, Printed, in_latex, latex_lines
from recmetrics.comparison._records import Compared
from recmetrics.comparison._render import compact_legend, latex_grid, models_by_metrics, text_grid


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
        cells = models_by_metrics(self.comparison, self.metrics, digits=self.digits)
        lines = [
            "% \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            in_latex(latex_grid(*cells), str),
            r"\par\smallskip",
            r"\footnotesize",
            latex_lines(compact_legend(self.comparison, self.metrics, "bold", "superscripts")),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:
        cells = models_by_metrics(self.comparison, self.metrics, digits=self.digits)
        notes = compact_legend(self.comparison, self.metrics, best, "letters")
        return [text_grid(*cells, plain=best == "[ ]")], notes
