"""Printed tables, and words made safe to print.

    grids   columns of records -> text for any width, Markdown, LaTeX and HTML
    words   numbers with their nouns; names without what does harm in a terminal

What a table holds is decided by the room that prints it.
"""

from recmetrics._printing import grids
from recmetrics._printing.grids import (
    UNDEFINED,
    Column,
    Grid,
    Printed,
    count,
    fact_lines,
    facts_in_html,
    fitted,
    named,
    number,
    split,
    table,
    weighted_as_system,
)
from recmetrics._printing.words import counted, one_line, per_cent, plural, printable
