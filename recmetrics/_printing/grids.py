"""Printed tables: columns of records -> text for any width, Markdown, LaTeX and HTML.

A record, such as a mean, is a row of a table. A column says what it shows of a record. ``table``
makes a ``Grid`` of both, whose cells are text; the other functions write a grid in a format.
"""

from __future__ import annotations

import html
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias, TypeVar

from recmetrics._core.options import check_count
from recmetrics._printing.words import one_line

_Record = TypeVar("_Record")
_Escape: TypeAlias = Callable[[str], str]
UNDEFINED = "-"  # the text of an undefined number
_GAP = 2  # blanks between columns
_JOINERS = "\u200b\u200c\u200d\u2060"  # characters that no terminal shows
_MOST_DECIMALS = 8
_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",  # a dash in fonts of the encoding OT1
    '"': r"\symbol{34}",  # babel's shorthands begin with it
    # After a line break these would be read as its options.
    "[": "{[}",
    "*": "{*}",
} | {character: rf"\{character}" for character in "&%$#_{}"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, what it shows of a record, and if it is shown at all.

    A page that is too narrow for all columns goes without those that are optional.
    """

    heading: str
    text: Callable[[Any], str]
    is_shown: bool = True
    is_number: bool = True
    label: Callable[[Any], Any] | None = None  # a cell is empty below one of the same label
    is_strong: Callable[[Any], bool] = lambda _: False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of text; ``strong`` holds the (row, column) of the highlighted cells."""

    columns: list[Column]
    rows: list[list[str]]
    strong: frozenset[tuple[int, int]]


def named(field: str, is_shown: bool = True, *, is_repeated: bool = False) -> Column:
    """Make a column of names, the values of a field of each record.

    Unless ``is_repeated``, a cell is empty below one with the same name.
    """
    label = attrgetter(field)
    label_if_once = None if is_repeated else label
    return Column(field, lambda record: one_line(label(record)), is_shown, False, label_if_once)


def count(heading: str, field: str, is_shown: bool = True, places: int = 0) -> Column:
    """Make a column of a field that is a count, with this number of decimals."""
    form = f",.{places}f"
    return Column(heading, lambda record: shown(getattr(record, field), form), is_shown)


def number(
    heading: str,
    value: Callable[[Any], float | None],
    places: Mapping[str, int],
    sign: str = "",
    **settings: Any,
) -> Column:
    """Make a column of numbers, which ``value`` takes from a record.

    ``places`` are the decimals by metric; ``sign`` is "+" to write a sign always.
    """

    def text(record: Any) -> str:
        return shown(value(record), f"{sign}.{places[record.metric]}f")

    return Column(heading, text, **settings)


def interval(confidence: float, places: Mapping[str, int], sign: str = "") -> Column:
    """Make the column of intervals, with decimals and sign as in ``number``."""

    def text(record: Any) -> str:
        if math.isnan(record.low):
            return UNDEFINED
        form = f"{sign}.{places[record.metric]}f"
        return f"[{shown(record.low, form)}, {shown(record.high, form)}]"

    return Column(f"{percent(confidence)} interval", text)


def left_out(records: Sequence[Any]) -> Column:
    """Make the column of the number of users without a value, shown if there are any."""
    return count("left out", "n_undefined", any(record.n_undefined for record in records))


def users_left_out(records: Sequence[Any], sentence: str) -> Iterable[str]:
    """Say which users are left out, if some are; ``sentence`` is that of the table."""
    if any(record.n_undefined for record in records):
        yield f"{sentence} (most often: no relevant items)"


def table(columns: Iterable[Column], records: Sequence[Any]) -> Grid:
    """Make a grid of the columns that are shown, with a row for each record.

    The labels of a row are left out from the left as long as they equal those of the row above.
    """
    columns = [column for column in columns if column.is_shown]
    rows: list[list[str]] = []
    strong: set[tuple[int, int]] = set()
    labels_above: list[Any] = []  # of the row above; the first row has none
    for i, record in enumerate(records):
        row = [column.text(record) for column in columns]
        labels = [column.label(record) for column in columns if column.label is not None]
        n_same = 0
        for label, label_above in zip(labels, labels_above, strict=False):
            if label != label_above:
                break
            n_same += 1
        rows.append([""] * n_same + row[n_same:])  # columns with labels are the first ones
        labels_above = labels
        strong |= {(i, j) for j, column in enumerate(columns) if column.is_strong(record)}
    return Grid(columns, rows, frozenset(strong))


class Printed:
    """Tables with notes below them; they print as text, and are displayed in notebooks."""

    __slots__ = ()

    def _page(self) -> tuple[list[Grid], list[str]]:
        """The tables and the notes."""
        raise NotImplementedError

    def _plain_page(self) -> tuple[list[Grid], list[str]]:
        """The tables and the notes for plain text, which has no bold type."""
        return self._page()

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def to_text(self, width: int | None = None) -> str:
        """Write the tables and their notes as text, in lines of at most ``width`` columns.

        A table that is too wide goes without columns such as quantiles; then cells fold at blanks,
        or each row is a block of lines. No word, number or interval is split. None does not limit
        the width.
        """
        max_width = sys.maxsize
        if width is not None:
            max_width = check_count("width", width, 1, "; leave it out for lines of any length")
        grids, notes = self._plain_page()
        if width is not None:
            grids, notes = _narrowed(grids, notes, max_width)
            notes = ["\n".join(_folded(note, max_width)) for note in notes]
        return "\n\n".join([*(fitted(grid, max_width) for grid in grids), "\n".join(notes)])

    def to_markdown(self) -> str:
        """Write the tables in Markdown, the best means in bold, and the notes as a list."""
        grids, notes = self._page()
        lines = "\n".join(f"- {_escape_markdown(line)}" for line in notes)
        return "\n\n".join([*map(_in_markdown, grids), lines]) + "\n"

    def to_latex(self) -> str:
        r"""Write the tables and their notes in LaTeX; needs ``\usepackage{booktabs}``."""
        grids, notes = self._page()
        return as_latex([in_latex(grid) for grid in grids], notes)

    def _repr_html_(self) -> str:
        grids, notes = self._page()
        lines = "<br>\n".join(html.escape(line) for line in notes)
        return _without_formulas("\n".join([*map(_in_html, grids), f"<p>{lines}</p>"]))


def escape_latex(text: str) -> str:
    """Escape what LaTeX would read as commands, and set the signs of numbers as a minus.

    Several hyphens would be one dash.
    """
    escaped = "".join(_LATEX_ESCAPES.get(character, character) for character in text)
    escaped = re.sub("-(?=-)", "-{}", escaped)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped)


def latex_lines(notes: Iterable[str]) -> str:
    """Write notes in LaTeX, with its line breaks: they would be one paragraph otherwise."""
    return " \\\\\n".join(map(escape_latex, notes))


def as_latex(tables: Iterable[str], notes: Iterable[str]) -> str:
    """Join tables that are LaTeX already, and the notes below them."""
    return "\n\n".join(["% \\usepackage{booktabs}", *tables, latex_lines(notes)]) + "\n"


def in_latex(grid: Grid, escape: _Escape = escape_latex) -> str:
    """Write a LaTeX table; ``escape`` is applied to each cell."""
    alignment = "".join("r" if column.is_number else "l" for column in grid.columns)
    head, *rows = (" & ".join(cells) + r" \\" for cells in _cells(grid, escape))
    lines = r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"
    return "\n".join([rf"\begin{{tabular}}{{{alignment}}}", *lines])


def _widths_of_cells(grid: Grid) -> list[int]:
    """The widths of columns whose headings fold, but not their cells."""
    widths = []
    for j, column in enumerate(grid.columns):
        texts = [*column.heading.split(), *(row[j] for row in grid.rows)]
        widths.append(max(map(_width, texts), default=0))
    return widths


def _least_widths(grid: Grid) -> list[int]:
    """The widths of columns whose cells fold, too: no column is narrower than its longest word."""
    widths = []
    for j, column in enumerate(grid.columns):
        texts = [column.heading, *(row[j] for row in grid.rows)]
        widths.append(max(map(_width, chain(*map(_words, texts))), default=0))
    return widths


def _fits(widths: Sequence[int], max_width: int) -> bool:
    """Say whether columns of these widths fit in a line."""
    return sum(widths) + _GAP * (len(widths) - 1) <= max_width


def _narrowed(grids: list[Grid], notes: list[str], max_width: int) -> tuple[list[Grid], list[str]]:
    """Leave out the optional columns where cells would fold with them.

    Blocks of lines have room for all columns.
    """
    if all(_fits(_widths_of_cells(grid), max_width) for grid in grids):
        return grids, notes
    narrow_grids = [_without_optional(grid) for grid in grids]
    if not all(_fits(_least_widths(grid), max_width) for grid in narrow_grids):
        return grids, notes
    columns = [column for grid in grids for column in grid.columns if column.is_optional]
    names = list(dict.fromkeys(column.heading for column in columns))
    narrow_note = f"{', '.join(names)}: shown in a wider terminal"
    narrow_notes = []
    for note in notes:
        explained_names = note.partition(":")[0].split(", ")  # if it is a note on columns
        if not set(explained_names) <= set(names):
            narrow_notes.append(note)
        elif narrow_note not in narrow_notes:
            narrow_notes.append(narrow_note)
    return narrow_grids, narrow_notes


def _without_optional(grid: Grid) -> Grid:
    """Leave out the optional columns of a table."""
    places = [j for j, column in enumerate(grid.columns) if not column.is_optional]
    rows = [[row[j] for j in places] for row in grid.rows]
    strong = frozenset((i, places.index(j)) for i, j in grid.strong if j in places)
    return Grid([grid.columns[j] for j in places], rows, strong)


def fitted(grid: Grid, max_width: int) -> str:
    """Write a table in lines of at most ``max_width`` letters, as ``Printed.to_text`` says."""
    rows = [[column.heading for column in grid.columns], *grid.rows]
    columns = list(zip(*rows, strict=True))
    widths = [max(map(_width, texts)) for texts in columns]
    max_sum = max_width - _GAP * (len(widths) - 1)  # of the widths of all columns

    if sum(widths) > max_sum:
        least_widths = _least_widths(grid)
        if sum(least_widths) > max_sum:
            return _in_blocks(grid, max_width)
        # First only headings fold. Then the widest column that can fold more, the last of equal
        # ones, gets one letter narrower at a time.
        widths = _widths_of_cells(grid)
        while sum(widths) > max_sum:
            _, widest = max((width, j) for j, width in enumerate(widths) if width > least_widths[j])
            widths[widest] -= 1

    head_lines, *lines_of_rows = (_aligned(row, widths, grid.columns) for row in rows)
    dashes = ["-" * width for width in widths]
    rule = (" " * _GAP).join(dashes).rstrip()
    return "\n".join([*head_lines, rule, *chain(*lines_of_rows)])


def _aligned(row: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> list[str]:
    """Write a row as lines, its cells folded and padded to the widths of the columns."""
    lines = []
    for folded_cells in zip_longest(*map(_folded, row, widths), fillvalue=""):
        cells = []
        for cell, width, column in zip(folded_cells, widths, columns, strict=True):
            space = " " * (width - _width(cell))
            cells.append(space + cell if column.is_number else cell + space)
        lines.append((" " * _GAP).join(cells).rstrip())
    return lines


def _in_blocks(grid: Grid, max_width: int) -> str:
    """Write each row as a line of its first name, and lines for each other cell.

    The names are in the first column that has a heading. Empty cells have no line, but those of
    names and labels: they stand for the one above. A mark without a heading, such as *, stands
    behind the cell before, and a word, such as best, behind the highlighted one. A heading that
    takes more than half a line, such as the names of two models, and a cell with a word that is too
    long, have lines of their own.
    """
    headings = [column.heading for column in grid.columns]
    name_column = next(j for j, heading in enumerate(headings) if heading)
    lines = []
    label_columns = {j for j, column in enumerate(grid.columns) if column.label is not None}
    for i, row in enumerate(_with_labels(grid.rows, {name_column, *label_columns})):
        lines += _folded(row[name_column], max_width)
        cells: dict[int, str] = {}
        for j, cell in enumerate(map(str.strip, row)):
            if j == name_column or not cell:
                continue
            strong_cells = [k for k in cells if (i, k) in grid.strong]
            if not headings[j] and cell.isalpha() and strong_cells:
                cells[strong_cells[0]] += f" {cell}"
            elif not headings[j] and not cell.isalpha() and cells:
                cells[max(cells)] += f" {cell}"
            else:
                cells[j] = cell
        lines += _block([(headings[j], cell) for j, cell in cells.items()], max_width)
    return "\n".join(lines)


def _with_labels(rows: Iterable[list[str]], label_columns: Collection[int]) -> Iterator[list[str]]:
    """Give rows whose empty cells in these columns have the text of the cell above."""
    row_above: list[str] = []
    for row in rows:
        labelled_row = list(row)
        for j in label_columns:
            if row_above and not row[j]:
                labelled_row[j] = row_above[j]
        yield labelled_row
        row_above = labelled_row


def _block(cells: Sequence[tuple[str, str]], max_width: int) -> list[str]:
    """Write headings with a cell each, one below the other."""
    widths = [_width(heading) for heading, _ in cells]
    heading_width = max((width for width in widths if width <= max_width // 2), default=0)
    room = max_width - heading_width - 2 * _GAP
    lines = []
    for heading, cell in cells:
        cell_lines = _folded(cell, room)
        if _width(heading) > heading_width or max(map(_width, cell_lines)) > room:
            lines += _indented(heading, _GAP, max_width)
            lines += _indented(cell, 2 * _GAP, max_width)
            continue
        space = " " * (heading_width - _width(heading))
        lines.append(f"  {heading}{space}  {cell_lines[0]}")
        lines += [" " * (heading_width + 2 * _GAP) + line for line in cell_lines[1:]]
    return lines


def _indented(text: str, indent: int, max_width: int) -> list[str]:
    """Fold a text into indented lines, with less indent where a word would be too wide."""
    lines = _folded(text, max_width - indent)
    room = max_width - max(map(_width, lines), default=0)  # "" may have no line
    return [" " * min(indent, room) + line for line in lines]


def _words(cell: str) -> list[str]:
    """Split a text at the blanks where it may fold; no blank of an interval, such as [0, 1], is."""
    return re.findall(r"(?:\[[^][]*\]|\S)+", cell)


def _folded(cell: str, width: int) -> list[str]:
    """Fold a text at blanks into lines of this width; a longer word has a line of its own."""
    if _width(cell) <= width:
        return [cell]
    lines: list[str] = []
    words = []
    for word in _words(cell):
        words += [word] if _width(word) <= width else word.split()  # a wide interval folds, too
    for word in words:
        if lines and _width(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _in_markdown(grid: Grid) -> str:
    """Write a table in Markdown; the signs of numbers, such as - and [, are not escaped."""
    head, *rows = _cells(grid, _escape_markdown, "**{}**", in_numbers=str)
    rule = ["---:" if column.is_number else "---" for column in grid.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def fact_lines(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give each line of each fact with the fact's label, which is "" from the second line on.

    An empty fact has no line.
    """
    for label, fact in facts.items():
        for i, line in enumerate(fact.splitlines()):
            yield "" if i else label, line


def facts_in_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Write the lines of ``fact_lines`` as a table of HTML."""
    labels = Column("", itemgetter(0), is_number=False)
    lines = Column(title, itemgetter(1), is_number=False)
    return _without_formulas(_in_html(table([labels, lines], [*facts])))


def _without_formulas(elements: str) -> str:
    """Wrap HTML so that a notebook does not typeset "$0-$10" as a formula."""
    return f'<div class="tex2jax_ignore mathjax_ignore">\n{elements}\n</div>\n'


def _in_html(grid: Grid) -> str:
    """Write a table in HTML."""

    def row(cells: Iterable[str], tag: str) -> str:
        alignments = ("right" if column.is_number else "left" for column in grid.columns)
        elements = (
            f'<{tag} style="text-align: {alignment}">{cell}</{tag}>'
            for cell, alignment in zip(cells, alignments, strict=True)
        )
        return f"<tr>{''.join(elements)}</tr>"

    head, *rows = _cells(grid, html.escape, "<b>{}</b>")
    body = "\n".join(row(cells, "td") for cells in rows)
    return f"<table>\n<thead>{row(head, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _cells(
    grid: Grid, escape: _Escape, strong: str = "{}", in_numbers: _Escape | None = None
) -> Iterator[list[str]]:
    """Escape the headings, then the cells of each row.

    ``strong`` is the form of highlighted cells, ``{}`` for the cell; ``in_numbers`` escapes columns
    of numbers, None: as the others.
    """
    yield [escape(column.heading) for column in grid.columns]
    escapes = [in_numbers or escape if column.is_number else escape for column in grid.columns]
    for i, row in enumerate(grid.rows):
        cells = [escape_cell(cell) for escape_cell, cell in zip(escapes, row, strict=True)]
        for j, cell in enumerate(cells):
            if (i, j) in grid.strong:
                cells[j] = strong.format(cell)
        yield cells


def decimals_of(means: Iterable[tuple[str, float]]) -> dict[str, int]:
    """Four decimals for each metric, or up to eight to show three digits of its largest mean."""
    largest: dict[str, float] = {}
    for metric, mean in means:
        size = abs(mean) if math.isfinite(mean) else 0.0
        largest[metric] = max(largest.get(metric, 0.0), size)
    places = {}
    for metric, size in largest.items():  # the position of the first digit decides
        for_three_digits = 2 - math.floor(math.log10(size or 1.0))
        places[metric] = min(_MOST_DECIMALS, max(4, for_three_digits))
    return places


def decimals_of_differences(records: Iterable[Any], places: Mapping[str, int]) -> dict[str, int]:
    """These decimals, or up to eight to show two digits of the widths of a metric's intervals.

    A difference or an end of an interval that is not 0 does not print as 0, either.
    """
    places = dict(places)
    for record in records:
        decimals = places[record.metric]
        width = record.high - record.low
        if 0 < width < math.inf:
            for_two_digits = 1 - math.floor(math.log10(width))
            decimals = min(_MOST_DECIMALS, max(decimals, for_two_digits))
        for value in (record.difference, record.low, record.high):
            decimals = decimals_to_tell(value, 0.0, decimals)
        places[record.metric] = decimals
    return places


def decimals_apart(
    pairs: Iterable[tuple[str, float, float]], places: Mapping[str, int]
) -> dict[str, int]:
    """These decimals, or up to eight so that the two numbers of a metric's pair differ in print."""
    places = dict(places)
    for metric, value, other in pairs:
        places[metric] = decimals_to_tell(value, other, places[metric])
    return places


def decimals_to_tell(value: float, other: float, least: int = 4) -> int:
    """The decimals, from ``least`` to eight, with which two numbers differ in print.

    ``least`` if they are equal, or differ by less.
    """
    for decimals in range(least, _MOST_DECIMALS + 1):
        if round(value, decimals) != round(other, decimals):
            return decimals
    return least


def split(records: Iterable[_Record]) -> tuple[list[_Record], list[_Record]]:
    """Split records into those of all users and those of groups."""
    overall: list[Any] = []
    of_groups: list[Any] = []
    record: Any
    for record in records:
        if record.group is None:
            overall.append(record)
        else:
            of_groups.append(record)
    return overall, of_groups


def shown(value: float | None, form: str) -> str:
    """Write a number in a form of ``format``, - where it is undefined."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:{form}}"


def weighted_as_system(metrics: Collection[str], nouns: str = "users") -> Iterable[str]:
    """Say whose means weigh users as the system of a convention does; nothing of no metric."""
    if metrics:
        yield (
            f"means of {', '.join(metrics)} weigh {nouns} as the system of the convention does; "
            "recmetrics.explain shows the weight"
        )


def percent(share: float) -> str:
    """Write a share in four digits, or in as many as show two digits of what it lacks to 100 %."""
    n_digits = 4
    lacking = 100 * (1 - share)
    if 0 < lacking < 1:
        n_digits = max(n_digits, 3 - math.floor(math.log10(lacking)))
    return f"{100 * share:.{n_digits}g} %"


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide character, none for a mark or a joiner."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        is_mark = unicodedata.category(character) in ("Mn", "Me") or unicodedata.combining(
            character
        )
        if not is_mark and character not in _JOINERS:
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def _escape_markdown(text: str) -> str:
    """Escape what Markdown would read, such as links, math, entities and bare addresses."""
    return re.sub(r"([\\`*_|<>\[\]!&$#~]|:(?=//)|(?<=www)\.)", r"\\\1", text, flags=re.I)
