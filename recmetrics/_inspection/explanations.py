"""``explain``: the formula of a metric string with its options, and the systems that share it.

Everything is read from the metric's declaration, its reference and the table of conventions. A
system is another library; a line of it says how it calls one metric, and with which options.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from dataclasses import dataclass

from recmetrics._core.spec import (
    CONVENTIONS,
    Definition,
    Line,
    MetricSpec,
    System,
    define,
    line_for,
    number_for,
    own_name,
    parse,
    policy_of,
    read_convention,
)
from recmetrics._core.types import Convention
from recmetrics._inspection.definitions import lines_of
from recmetrics._printing import fact_lines, facts_in_html

_OWN = "its function decides"  # of a metric that is none of the package


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class Explanation:
    """The meaning of a metric string; it prints as facts, in notebooks as a table."""

    metric: str
    """The metric string, with the options that differ from their defaults."""
    summary: str
    """The metric in one line; empty where options are given, since they change the definition."""
    formula: str
    """The formula with options and cutoff filled in; R is the user's number of relevant items."""
    systems: tuple[str, ...]
    """The systems that compute exactly this, with the call and other differences."""
    no_relevant_item: str
    """The value of a user without relevant items."""
    nan_if: str
    """The causes of NaN beside the lack of relevant items; "" if there is none."""
    graded: str
    """The treatment of graded truth."""
    ties: str
    bounds: tuple[float, float]
    citation: str
    convention: str = ""
    """What the convention changes, where one is given."""

    @property
    def title(self) -> str:
        """The metric string and its summary."""
        return f"{self.metric}: {self.summary}" if self.summary else self.metric

    @property
    def facts(self) -> dict[str, str]:
        """The facts under their labels, in the order in which they are printed."""
        changes = {"convention": self.convention} if self.convention else {}
        return changes | {
            "formula": self.formula,
            "same in": "\n".join(self.systems)
            or "no listed call of the systems that convention= knows",
            "empty truth": self.no_relevant_item,
            "NaN if": self.nan_if,
            "graded": self.graded,
            "ties": self.ties,
            "bounds": interval(self.bounds),
            "citation": self.citation,
        }

    def __str__(self) -> str:
        facts = self.facts
        width = 2 + max(map(len, facts))
        lines = (f"{label:<{width}}{line}" for label, line in fact_lines(facts))
        return "\n".join([self.title, "", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_in_html(self.title, fact_lines(self.facts))


def interval(bounds: tuple[float, float]) -> str:
    """Write the interval of a metric's values."""
    low, high = bounds
    end = "inf)" if math.isinf(high) else f"{high:g}]"
    return f"[{low:g}, {end}"


def explain(metric: str, *, convention: Convention | None = None) -> Explanation:
    r"""Explain a metric string.

    >>> import recmetrics
    >>> print(recmetrics.explain("map(denom=hits)@10").formula)
    sum of the precision at each hit in the top 10 / hits found
    >>> print(*recmetrics.explain("ndcg(gain=exp2)@10").systems, sep="\n")
    ranx: ndcg_burges@10
    LightGBM: metric="ndcg", eval_at=[10] (a user without relevant items has 1)
    XGBoost: eval_metric="ndcg@10" (a user without relevant items has 1)
    XGBoost: eval_metric="ndcg@10-" (a user without relevant items has 0)
    Elliot: simple_metrics: [nDCG], cutoffs: 10, relevance_threshold: 1
    Recommenders: ndcg_at_k(rating_true, rating_pred, k=10, score_type="exp")
    rax, KerasRS: ndcg_metric(scores, labels, topn=10) (a user without relevant items has 0)
    ignite: NDCG(top_k=[10])
    ignite: NDCG(top_k=[10], ignore_zero_hits=False) (a user without relevant items has 0)
    >>> print(recmetrics.explain("ndcg@10", convention="rectools").metric)
    ndcg(gain=binary, ideal_depth=full)@10

    Parameters
    ----------
    metric
        A metric string, as ``Metrics.compute`` takes it.
    convention
        Another system whose definition to use, as in ``Metrics.compute``.

    Returns
    -------
    Explanation
        The facts as strings, which print as text: the formula with the options and the cutoff
        filled in, the systems with the same definition, the value of a user without relevant items,
        the treatment of graded truth and of ties, the bounds and the source.

    Raises
    ------
    MetricSpecError
        If the string cannot be read, or the convention has no such metric.
    ArgumentError
        If there is no such convention.
    """
    if convention is not None:
        convention = read_convention(convention)
    spec = parse(metric, convention)
    definition = define(spec, convention)
    nan_if = spec.metric.undefined.removeprefix("no relevant item").removeprefix(", or ")
    if number_for(definition.undefined) is not None:
        nan_if = ""
    systems = []
    for system, line, spec_of_line in lines_of(spec):
        if spec_of_line == spec:
            systems.append(_call_in(system, line, spec))
    formula = formula_of(spec)
    summary = "" if spec.options else spec.metric.summary
    if summary == spec.metric.written.template:  # a metric of the caller without another formula
        summary = formula
    return Explanation(
        metric=str(spec),
        summary=summary,
        formula=formula,
        systems=tuple(systems),
        no_relevant_item=_without_truth(definition),
        nan_if=nan_if,
        graded=_graded(spec),
        ties=_ties(definition, convention),
        bounds=spec.bounds,
        citation=spec.citation,
        convention="" if convention is None else _changes(metric, convention, definition),
    )


def _changes(metric: str, convention: Convention, definition: Definition) -> str:
    """Say what a convention changes in the definition of a metric without it."""
    plain = define(parse(own_name(metric, convention) or metric))
    changes = []
    if definition.spec != plain.spec:
        changes.append(f"{metric} means {definition.spec}")
    if definition.undefined != plain.undefined:
        number = number_for(definition.undefined)
        value = "NaN" if number is None else f"{number:g}"
        changes.append(f"{_who_has_no_value(definition.spec)} has {value}")
    if definition.ties != plain.ties:
        changes.append("values are means over all orders of equal scores")
    weight = line_for(convention, definition.spec.name, cutoff=definition.spec.k is not None).weight
    if weight != "1":
        changes.append(f"its mean weighs each user by {weight}")
    return f"{CONVENTIONS[convention].name}: {'; '.join(changes) or 'changes nothing'}"


def formula_of(spec: MetricSpec) -> str:
    """Write the formula with the options and the cutoff filled in."""
    text = spec.metric.written.filled(spec.values, spec.k)
    if spec.stratum is not None and spec.metric.reads == "hits":
        text += f"; relevant: only items in the stratum {spec.stratum!r}"
    rel = spec.values.get("rel")
    if rel is None:
        return text
    if "gain" in spec.values:
        return f"{text}; relevance >= {rel:g} counts as 1, less as 0"
    return f"{text}; relevant: relevance >= {rel:g}"


def _call_in(system: System, line: Line, spec: MetricSpec) -> str:
    """Write the call of a metric in a system, and the other differences in parentheses."""
    notes = []
    if line.difference:
        notes.append(line.difference)
    if line.undefined != policy_of(spec.metric):
        number = number_for(line.undefined)
        rule = "is left out" if number is None else f"has {number:g}"
        notes.append(f"{_who_has_no_value(spec)} {rule}")
    if line.ties == "expected":
        notes.append("equal scores: the mean over all their orders")
    call = f"{system.name}: {line.call.format(k=spec.k)}"
    if notes:
        call += f" ({'; '.join(notes)})"
    return call


def _who_has_no_value(spec: MetricSpec) -> str:
    """Name the users whose value is undefined."""
    if spec.metric.needs_relevant:
        return "a user without relevant items"
    return f"a user where {spec.metric.undefined}"


def _without_truth(definition: Definition) -> str:
    """Say which value a user without relevant items has."""
    metric = definition.spec.metric
    if metric.module:
        return _OWN
    if metric.reads != "hits" and "rel" not in metric.options:
        return "as other users, since the truth is not read"
    if not metric.needs_relevant:
        return "has a value"
    number = number_for(definition.undefined)
    if number is None and metric.is_sum:
        return "NaN, as in the convention; 0, the sum of no gains, if undefined= is given"
    if number is None:
        return "NaN, unless undefined= is given"
    if definition.undefined == policy_of(metric):
        return f"{number:g}, the sum of no gains; an error with undefined='raise'"
    return f"{number:g}, as in the convention, unless undefined= is given"


def _graded(spec: MetricSpec) -> str:
    """Say how graded truth is read."""
    if spec.metric.module:
        return _OWN
    if spec.reads_grades:
        return "the grades count as in the formula"
    rel = spec.values.get("rel")
    if spec.metric.reads == "hits" or "rel" in spec.metric.options:
        threshold = "> 0" if rel is None else f">= {rel:g}"
        return f"read as binary: an item is relevant if its relevance is {threshold}"
    return "the truth is not read"


def _ties(definition: Definition, convention: Convention | None) -> str:
    """Say how equal scores rank."""
    metric = definition.spec.metric
    if metric.averages_ties:
        return "a pair of equal scores counts 1/2"
    if definition.spec.values.get("tied") == "block":
        return "items of equal score are at the last of their ranks"
    if definition.ties == "expected":
        return (
            "the mean over all orders of equal scores, as in the convention, unless ties= is given"
        )
    ranking = "equal scores rank by the lower item index"
    if convention is not None and CONVENTIONS[convention].table_ties == "trec":
        ranking += ", in tables by the item id, the last first"
    has_other_orders = not metric.no_expectation and not definition.spec.without_orders
    if metric.reads == "hits" and has_other_orders:
        return f"{ranking}, unless ties= is given"
    return ranking
