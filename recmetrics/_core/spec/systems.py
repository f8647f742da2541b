"""The definitions of other systems, from the table ``systems.txt``.

A ``System`` is another library; a ``Line`` is one metric of it. The line gives the options with
which this library computes what the system computes under the plain name of the metric. A ``gap``
is a difference that the table cannot express. No line copies what is wrong in a system rather than
different. ``docs/systems.py`` says what is wrong; the page ``docs/conventions.md`` is written from
it and from this table.
"""

import difflib
import functools
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, cast

from recmetrics._core.errors import UnknownMetricError
from recmetrics._core.options import one_of
from recmetrics._core.spec.registry import METRICS
from recmetrics._core.spec.undefined import NoTruth
from recmetrics._core.types import Convention, RankGaps, TiePolicy

TableOrder = Literal["rank", "score"]
"""The column that orders the lists of a table which has both."""

TableTies = Literal["rows", "trec"]
"""The order of equal scores in a table: that of the rows, or that of trec_eval, which reads scores
as float32 and orders equal ones by item id, the last one first."""

UserWeight = Literal["1", "min(k, R)", "R"]
"""The weight of a user with R relevant items in the mean of a metric."""

TableUsers = Literal["all", "judged"]
"""Whom the means of a table count: "judged" are users with a list and a row of the truth."""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one system."""

    written: str  # "ndcg(gain=binary)@k" with a cutoff, "ndcg(gain=binary)" for the whole list
    call: str  # in the words of the system, {k} for the cutoff
    undefined: NoTruth = "nan"
    gap: str = ""  # the remaining difference of the numbers
    ties: TiePolicy = "index"  # also where a system has another order, or none
    weight: UserWeight = "1"  # of a user in the mean that the system gives

    @property
    def metric(self) -> str:
        """The metric without its options: "ndcg@k"."""
        return re.sub(r"\(.*\)", "", self.written)

    @property
    def options(self) -> dict[str, str | float]:
        """The options of the metric."""
        options: dict[str, str | float] = {}
        for name, text in re.findall(r"(\w+)=([^,)]+)", self.written):
            options[name] = float(text) if text[0].isdecimal() else text
        return options

    @property
    def difference(self) -> str:
        """The differences of its numbers in words, that of the mean first; "" without any."""
        differences = [self.gap] if self.gap else []
        if self.weight != "1":
            differences.insert(0, f"the mean weighs each user by {self.weight}")
        return "; ".join(differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system and its metrics."""

    name: str
    lines: tuple[Line, ...]
    variants: tuple[Line, ...] = ()  # other calls, without a plain name
    rank_gaps: RankGaps = "close"  # "keep": it reads the numbers of a column of ranks
    table_order: TableOrder = "rank"
    table_ties: TableTies = "rows"
    table_users: TableUsers = "all"
    # "rows": a relevant item that may not be recommended has no row, and is not relevant there.
    truth: Literal["all", "rows"] = "all"
    negative: Literal["error", "zero"] = "error"  # "zero": a negative relevance is not relevant
    also: str = ""  # other names of it, in lower case, with a space between them


def _read_system(paragraph: str) -> tuple[Any, System]:
    """Read a system from its paragraph of the table; gives the convention, its key, and the system.

    The first row has its rules. Each other row is a metric or, after "+", a variant.
    """
    rows = [row.strip().split(" | ") for row in paragraph.splitlines()]
    convention, name, *rules = rows[0]  # a rule is a text "field=value"
    lines = []
    variants = []
    for written, call, *rules_of_line in rows[1:]:
        line = Line(written.removeprefix("+ "), call, **_read_fields(rules_of_line))
        if written.startswith("+ "):
            variants.append(line)
        else:
            lines.append(line)
    fields = _read_fields(rules)
    return convention, System(name=name, lines=tuple(lines), variants=tuple(variants), **fields)


def _read_fields(cells: list[str]) -> dict[str, Any]:
    """Read cells of the form ``field=value``."""
    return dict(cell.split("=", 1) for cell in cells)


# How similar a misspelt name is to its own. That of another system is less: 0.8 of lightfm and
# lightgbm.
_NEAR = 0.85

_TABLE = resources.files(__name__.rpartition(".")[0]).joinpath("systems.txt").read_text("utf-8")
# The first paragraph explains the table.
CONVENTIONS: dict[Convention, System] = dict(map(_read_system, _TABLE.split("\n\n")[1:]))


def read_convention(convention: object) -> Convention:
    """Read the name of a system in any case; the error names the nearest."""
    name = convention.lower() if isinstance(convention, str) else ""
    if name not in CONVENTIONS:
        convention_of_name: dict[str, Convention] = {}
        for key, system in CONVENTIONS.items():
            convention_of_name |= dict.fromkeys([key, *system.also.split()], key)
        near = difflib.get_close_matches(name, convention_of_name, n=1, cutoff=_NEAR)
        hint = f"; did you mean {convention_of_name[near[0]]!r}?" if near else ""
        if name == "torcheval":  # see "Without a convention" in docs/conventions.md
            hint = "; torcheval has none: leave convention= out and type ties='best'"
        one_of("convention", convention, Convention, hint)
    return cast(Convention, name)


def meant_elsewhere(text: str) -> str:
    """Write the metric that ``text`` means in another system, as a hint; or "".

    >>> meant_elsewhere("ndcg_cut_10")
    "did you mean 'ndcg@10' with convention='trec', which is ndcg_cut_10 of trec_eval?"
    """
    for convention, system in CONVENTIONS.items():
        if metric := _translated(text, system):
            return (
                f"did you mean {metric!r} with convention={convention!r}, which is {text} of "
                f"{system.name}?"
            )
    return ""


def own_name(text: str, convention: Convention) -> str:
    """Translate the name that a system itself has for a metric, or return "".

    >>> own_name("rbp.95", "ranx"), own_name("hits@10", "ranx")
    ('rbp(p=0.95)', 'cg@10')
    """
    # Other text is a call, such as NDCG(10), or has options of this library.
    if re.fullmatch(r"[\w.-]+(@[0-9]+)?", text) is None:
        return ""
    return _translated(text, CONVENTIONS[convention])


def _translated(text: str, system: System) -> str:
    """Write a call of a system as the metric string that means it by its convention; or ""."""
    for line in (*system.lines, *system.variants):
        # pytrec_eval takes map_cut.10, and returns map_cut_10.
        call = re.escape(line.call).replace(r"_\{k\}", r"[_.]\{k\}").replace(r"\{k\}", "([0-9]+)")
        match = re.fullmatch(call, text.strip(), re.IGNORECASE)
        if match is not None:
            metric = _under_convention(line, system)
            return metric.replace("@k", f"@{''.join(match.groups())}")
    return ""


def meant_by(name: str, k: str | None, convention: Convention) -> str:
    """Write the metric that a name in the calls of a system means, as a hint; or "".

    ``k`` is the cutoff that was typed behind the name; None without one.

    >>> meant_by("HitK", "10", "recpack")
    "did you mean 'cg@10', which is HitK(K=10) of RecPack?"
    """
    system = CONVENTIONS[convention]
    lines = [
        line
        for line in (*system.lines, *system.variants)
        if re.search(rf"\b{name}\b", line.call, re.IGNORECASE)
    ]
    if not lines:
        return ""
    # The first with a cutoff if one was typed, else the first without.
    line = min(lines, key=lambda line: line.metric.endswith("@k") == (k is None))
    k = k or "k"
    written = repr(_under_convention(line, system).replace("@k", f"@{k}"))
    for plain in system.lines:
        if plain.metric == line.metric and plain.undefined != line.undefined:
            written += f" with undefined={line.undefined!r}"
    hint = f"did you mean {written}, which is {line.call.format(k=k)} of {system.name}?"
    if line.weight != "1":
        hint += (
            f" Its mean weighs each user by {line.weight}, where R is the number of relevant items "
            "of the user; for that mean type recmetrics.summary(values, weights=...)"
        )
    return hint


def _under_convention(line: Line, system: System) -> str:
    """Write the metric of a line as a metric string under the convention of its system.

    The convention changes options by its line for the plain metric: where a variant does not name
    such an option, its default is written out.
    """
    if line in system.lines:
        return line.metric
    name, at, k = line.metric.partition("@")
    pairs = re.findall(r"\w+=[^,)]+", line.written)
    for plain in system.lines:
        if plain.metric == line.metric:
            for option, value in plain.options.items():
                default = METRICS[name].options[option].default
                if option not in line.options and value != default:
                    pairs.append(f"{option}={default}")
    return f"{name}({', '.join(pairs)}){at}{k}" if pairs else line.metric


@functools.cache  # a training loop asks for the same lines every time
def line_for(convention: Convention, name: str, *, cutoff: bool) -> Line:
    """Find the line of a system for the plain name of a metric, with a ``cutoff`` or without.

    The error names the metrics of the system.
    """
    system = CONVENTIONS[convention]
    metric = f"{name}@k" if cutoff else name
    for line in system.lines:
        if line.metric == metric:
            return line
    metrics = ", ".join(line.metric for line in system.lines)
    reason = f"no call of {system.name} is known to compute it"
    for line in system.lines:
        # A system may call another metric by this name, as implicit does "precision_at_k".
        if re.match(rf"{name}[^a-z]", line.call):
            reason = f"what {system.name} calls {line.call.partition('(')[0]} is {line.metric}"
    msg = (
        f"convention {convention!r} has no {metric!r}: {reason}; expected one of {metrics}; "
        "compute it in a call without convention="
    )
    raise UnknownMetricError(msg)
