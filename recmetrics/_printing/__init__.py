"""Printed tables, and words made safe to print.

    grids   columns of records -> text for any width, Markdown, LaTeX and HTML

What a table holds is decided by the room that prints it.
"""

from recmetrics._printing import grids
from recmetrics._printing.grids import (
    UNDEFINED,
    Column,
    Grid,
    Printed,
    count,
    counted,
    facts_in_html,
    fitted,
    named,
    number,
    one_line,
    plural,
    split,
    table,
)
