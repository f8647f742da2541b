"""CompactTable: models by metrics, with marks of significance."""

from __future__ import annotations

from dataclasses import dataclass

from recmetrics.comparison._grids import Column, Grid, as_html, as_latex_table, as_markdown, as_text
from recmetrics.comparison._records import Compared
from recmetrics.comparison._render import Cell, compact_legend, latex_grid, models_by_metrics


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CompactTable:
    """The means of all users, models by metrics; ``Comparison.compact`` makes it.

    Each model has a letter. A mean has the letters of the models that it is significantly better
    than. It prints, and shows itself in notebooks.

    Attributes
    ----------
    comparison, metrics, digits
        The comparison that is shown: its metrics in this order, with this number of decimals; with
        four or more where ``digits`` is None.
    """

    comparison: Compared
    metrics: tuple[str, ...]
    digits: int | None

    def __str__(self) -> str:
        return as_text([self.grid()], self.legend())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html([self.grid(plain=False)], self.legend("bold"))

    def to_markdown(self) -> str:
        """Write the table and its legend in Markdown, the best means in bold."""
        return as_markdown([self.grid(plain=False)], self.legend("bold"))

    def to_latex(self, caption: str | None = None, label: str = "tab:comparison") -> str:
        r"""Write a whole ``table`` of LaTeX, the best means in bold, the letters superscripts.

        It needs the package booktabs, as ``Comparison.to_latex`` does.

        Parameters
        ----------
        caption, label
            Written as they are, in LaTeX; without a caption it says that these are means.
        """
        if caption is None:
            caption = f"Means over users{' and runs' if self.comparison.n_runs else ''}."
        grid = latex_grid(*self._cells())
        notes = compact_legend(self.comparison, self.metrics, "bold", "superscripts")
        return as_latex_table(grid, notes, caption, label)

    def grid(self, *, plain: bool = True) -> Grid:
        """The table; where it is ``plain`` text, the best means stand in brackets."""
        headings, rows = self._cells()
        widths = [max(len(row[j].marks) for row in rows) for j in range(len(headings) + 1)]
        cells = [
            [
                row[0].marks,
                row[0].text,
                *(
                    _in_text(cell, width) if plain else f"{cell.text} {cell.marks}".rstrip()
                    for cell, width in zip(row[1:], widths[1:], strict=True)
                ),
            ]
            for row in rows
        ]
        names = [Column("", is_number=False), Column("model", is_number=False)]
        strong = frozenset(
            (i, j + 1) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell.is_best
        )
        return Grid([*names, *map(Column, headings)], cells, strong)

    def legend(self, best: str = "[ ]") -> list[str]:
        """The notes below the table; how ``best`` is written."""
        return compact_legend(self.comparison, self.metrics, best, "letters")

    def _cells(self) -> tuple[list[str], list[list[Cell]]]:
        return models_by_metrics(self.comparison, self.metrics, digits=self.digits)


def _in_text(cell: Cell, width: int) -> str:
    """Write a mean in brackets if it is the best, and its marks as wide as those of the column."""
    text = f"[{cell.text}]" if cell.is_best else f" {cell.text} "
    return f"{text} {cell.marks:<{width}}" if width else text
