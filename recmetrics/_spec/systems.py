"""The definitions of other systems, from the table ``systems.txt``.

A line gives the options with which this library computes what a system computes under the plain
name of a metric. A ``gap`` is a difference that the table cannot express. No line copies what is
wrong in a system rather than different: ``docs/systems.py`` says it, from which and from this table
the page ``docs/conventions.md`` is written.
"""

import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from recmetrics._types import Convention, RankGaps, TiePolicy

NoTruth = Literal["nan", "zero", "one"]
"""The value of a user without relevant items; "nan" also where a system leaves the user out."""
TableTies = Literal["rows", "trec"]
"""The order of equal scores in a table: that of the rows, or that of trec_eval, which reads scores
as float32 and orders equal ones by item id, the last one first."""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one system."""

    written: str  # "ndcg(gain=binary)@k" with a cutoff, "ndcg(gain=binary)" for the whole list
    call: str  # in the words of the system, {k} for the cutoff
    undefined: NoTruth = "nan"
    gap: str = ""  # the remaining difference of the numbers
    ties: TiePolicy = "index"  # also where a system has another order, or none

    @property
    def metric(self) -> str:
        """The metric without its options: "ndcg@k"."""
        return re.sub(r"\(.*\)", "", self.written)

    @property
    def options(self) -> dict[str, str | float]:
        """The options of the metric."""
        pairs = re.findall(r"(\w+)=([^,)]+)", self.written)
        return {name: float(each) if each[0].isdecimal() else each for name, each in pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system and its metrics."""

    name: str
    lines: tuple[Line, ...]
    variants: tuple[Line, ...] = ()  # other calls, without a plain name
    rank_gaps: RankGaps = "close"  # "keep": it reads the numbers of a column of ranks
    table_ties: TableTies = "rows"


def _system(text: str) -> tuple[Any, System]:
    (key, name, *rules), *rows = (row.strip().split(" | ") for row in text.splitlines())
    plain, variants = list[Line](), list[Line]()
    for written, call, *given in rows:
        line = Line(written.removeprefix("+ "), call, **_named(given))
        (variants if written.startswith("+ ") else plain).append(line)
    return key, System(name=name, lines=tuple(plain), variants=tuple(variants), **_named(rules))


def _named(cells: list[str]) -> dict[str, Any]:
    return dict(cell.split("=", 1) for cell in cells)


_TABLE = resources.files(__name__.rpartition(".")[0]).joinpath("systems.txt").read_text("utf-8")
CONVENTIONS: dict[Convention, System] = dict(map(_system, _TABLE.split("\n\n")[1:]))
