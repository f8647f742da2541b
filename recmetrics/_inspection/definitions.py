"""The definitions that ``identify`` tries, ring by ring, and how each departs from the systems.

A *variant* is a metric with its options and policies, tried here or used by a system, which is
another library. A variant *departs* from that of a system where a policy, the cutoff or what is
measured differs; with other options it is no departure of it. The rings, nearest first:

- "own": the definition of a system itself.
- "one departure": it differs from that of a system in one way.
- "unused options": options that no system uses, at the same cutoff.
- "another metric": the definition that a system has of another metric.
- "several departures": it differs from that of a system in more ways than one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, product
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError
from recmetrics._core.results import mean_of
from recmetrics._core.spec import (
    CONVENTIONS,
    METRICS,
    Definition,
    Line,
    MetricSpec,
    NoTruth,
    Request,
    System,
    UserWeight,
    define,
    make_spec,
    number_for,
)
from recmetrics._core.types import FloatArray, UserValues

Ring: TypeAlias = Literal[
    "own", "one departure", "unused options", "another metric", "several departures"
]
RINGS: tuple[Ring, ...] = get_args(Ring)
Definitions: TypeAlias = Mapping[str, Definition]
TieOrder: TypeAlias = Literal["index", "expected", "best", "worst", "reversed"]
"""The order of equal scores: those of ``ties=``, and by descending item index."""
TruthOf: TypeAlias = Literal["all items", "list items"]
"""The relevant items that count: all, or those that may be in the list of the user."""

_OWN, _ONE, _UNUSED, _ANOTHER, _SEVERAL = range(len(RINGS))
TIES_IN_WORDS = {
    "index": "equal scores by item index",
    "expected": "mean over the orders of equal scores",
    "best": "the relevant of equal scores first",
    "worst": "the relevant of equal scores last",
    "reversed": "equal scores by descending item index",
}
TRUTHS_IN_WORDS = {
    "all items": "relevant items outside the list count",
    "list items": "relevant items outside the list do not count",
}
# The numbers of options that are tried, besides those of systems; thresholds are the grades.
_NUMBERS = {"p": (0.5, 0.8, 0.85, 0.9, 0.95), "beta": (0.5, 1.0, 2.0)}
_MAX_GRADES = 5  # of a truth with more, no threshold is tried
_TOP_GRADES = (3.0, 4.0, 5.0)  # of usual scales
_BATCH_SIZES = (32, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096)


class Setting(NamedTuple):
    """The sets of items left out, the relevant items that count, and the order of equal scores."""

    without: tuple[str, ...] = ()
    truth: TruthOf = "all items"
    is_reversed: bool = False


class Measured(NamedTuple):
    """Values of metrics by their strings, NaN where undefined; and the weights of users."""

    values: Mapping[str, UserValues]
    weigh: Callable[[UserWeight, MetricSpec], FloatArray]


class Problem(NamedTuple):
    """Scores and a truth, whose definitions ``measure`` computes in a setting.

    Equal scores and relevant items outside the lists of users matter only where there are any.
    """

    measure: Callable[[Definitions, Setting], Measured]
    sets: Sequence[str] = ()  # of items, which may be left out
    has_ties: bool = False
    has_outside: bool = False
    grades: Sequence[float] = ()  # the different relevances, ascending
    has_all_items: bool = True  # whether each list holds every item that may be recommended


class Departures(NamedTuple):
    """How a variant departs from that of a system, in words."""

    rules: list[str]  # for users and equal scores
    scope: list[str]  # other sets of items, another cutoff

    @property
    def n(self) -> int:
        """The number of ways in which it departs."""
        return len(self.rules) + len(self.scope)


class Variant(NamedTuple):
    """A definition that was tried, or that of a system."""

    spec: MetricSpec
    ties: TieOrder
    undefined: NoTruth
    weight: UserWeight = "1"
    truth: TruthOf = "all items"
    without: tuple[str, ...] = ()  # the sets of items that are left out
    batch: int | None = None  # the mean is that of the means of batches of so many users

    def departures(self, of_system: Variant) -> Departures:
        """Say how it departs from a system's of the same options."""
        rules = []
        if self.undefined != of_system.undefined:
            number = number_for(self.undefined)
            treatment = "left out" if number is None else f"count {number:g}"
            rules.append(f"users without relevant items {treatment}")
        if self.ties != of_system.ties:
            rules.append(TIES_IN_WORDS[self.ties])
        if self.weight != of_system.weight:
            weight = "equal" if self.weight == "1" else self.weight
            rules.append(f"weight of a user in the mean: {weight}")
        if self.truth != of_system.truth:
            rules.append(TRUTHS_IN_WORDS[self.truth])
        if self.batch is not None:
            rules.append(f"mean of the means of batches of {self.batch}")
        scope = [f"without {name}" for name in self.without]
        if self.spec.k != of_system.spec.k:
            scope.append("the whole list" if self.spec.k is None else f"k = {self.spec.k}")
        return Departures(rules, scope)


class Trial(NamedTuple):
    """A variant with its mean, its ring, and how many ways it departs from the nearest system."""

    mean: float
    ring: int
    n_departures: int
    variant: Variant


class OfSystem(NamedTuple):
    """The call of a system, with the variant that it computes."""

    call: str
    variant: Variant


def lines_of(spec: MetricSpec) -> Iterator[tuple[System, Line, MetricSpec]]:
    """Give the lines that systems have for a metric, each with its system.

    Third is the metric with the options of the line, at the cutoff of ``spec``.
    """
    title = spec.name if spec.k is None else f"{spec.name}@k"
    for system, line in _lines_by_title().get(title, ()):
        yield system, line, make_spec(spec.name, spec.k, line.options)


@functools.cache
def _lines_by_title() -> dict[str, list[tuple[System, Line]]]:
    """The lines of all systems by the metric and its cutoff, such as "ndcg@k"."""
    lines: dict[str, list[tuple[System, Line]]] = {}
    for system in CONVENTIONS.values():
        for line in (*system.lines, *system.variants):
            lines.setdefault(line.metric, []).append((system, line))
    return lines


def variants_of_systems(spec: MetricSpec, problem: Problem) -> Iterator[OfSystem]:
    """Yield each call of a system with these options, and ours."""
    for system, line, spec_of_line in lines_of(spec):
        if all(spec_of_line.values[name] == value for name, value in spec.options):
            ties: TieOrder = "index"
            if problem.has_ties and line.ties == "expected":
                ties = "expected"
            elif problem.has_ties and system.table_ties == "trec":
                ties = "reversed"  # trec_eval puts the later of equal items first
            truth: TruthOf = "all items"
            if problem.has_outside and system.truth == "rows":
                # The system reads the rows of lists, and sees no relevant item outside them.
                truth = "list items"
            call = f"{system.name}: {line.call.format(k=spec.k)}"
            yield OfSystem(call, Variant(spec_of_line, ties, line.undefined, line.weight, truth))
    undefined = cast(NoTruth, define(spec).undefined)
    yield OfSystem(f"recmetrics: {spec}", Variant(spec, "index", undefined))


class _Plan(NamedTuple):
    """The definitions to compute in a setting: a spec and an order of equal scores by each key."""

    setting: Setting
    specs: dict[str, tuple[MetricSpec, TieOrder]]


def of_the_name(spec: MetricSpec, others: Sequence[OfSystem]) -> list[OfSystem]:
    """Find the definitions of other metrics that a system calls by the name of this metric."""
    name = re.compile(rf"[^:]+: {spec.name}(?![a-z])")
    return [other for other in others if other.variant.spec.k == spec.k and name.match(other.call)]


def trials_of(
    spec: MetricSpec, problem: Problem, systems: Sequence[OfSystem], others: Sequence[OfSystem]
) -> Iterator[Trial]:
    """Compute the means of all variants of a metric, and those that systems have of ``others``."""
    variants_by_options: dict[Any, list[Variant]] = {}
    named_variants = set()  # of another metric, which a system calls by the name of this one
    for _, variant in systems:
        if variant.spec.name != spec.name:
            named_variants.add(variant)
            continue
        variants_by_options.setdefault(variant.spec.options, []).append(variant)
    variants_of_others = _by_spec(others)

    for plan in _plans(spec, problem, variants_by_options, [other.variant for other in others]):
        measured = _measure_finite(problem, plan, spec.name)
        for key, values in measured.values.items():
            planned_spec, ties = plan.specs[key]
            is_asked = planned_spec.name == spec.name
            near_variants = variants_by_options.get(planned_spec.options, []) if is_asked else []
            foreign_variants = variants_of_others.get(planned_spec, set())
            variant = Variant(
                planned_spec,
                ties,
                undefined="nan",
                weight="1",
                truth=plan.setting.truth,
                without=plan.setting.without,
            )
            weights = {near.weight for near in (*near_variants, *foreign_variants)}
            for mean, tried in _means(variant, values, measured, weights):
                if tried in named_variants:
                    yield Trial(mean, _OWN, 0, tried)
                elif tried in foreign_variants:
                    yield Trial(mean, _ANOTHER, 0, tried)
                elif is_asked:
                    yield Trial(mean, *_ring_of(tried, near_variants), tried)
            if is_asked and plan.setting == Setting() and planned_spec.k == spec.k:
                for mean, tried in _means_of_batches(variant, values, near_variants):
                    yield Trial(mean, *_ring_of(tried, near_variants), tried)


def _by_spec(others: Sequence[OfSystem]) -> dict[MetricSpec, set[Variant]]:
    """The variants that systems have of each metric, options and cutoff."""
    variants: dict[MetricSpec, set[Variant]] = {}
    for _, variant in others:
        variants.setdefault(variant.spec, set()).add(variant)
    return variants


def _plans(
    spec: MetricSpec,
    problem: Problem,
    variants_by_options: Mapping[Any, Sequence[Variant]],
    foreign_variants: Sequence[Variant],
) -> Iterator[_Plan]:
    """Plan what is computed in which setting; other metrics in that of their systems alone."""
    cutoffs: list[int | None] = [None]
    if spec.k is not None:
        cutoffs = [k for k in (spec.k - 1, spec.k, spec.k + 1) if k >= 1] + [None]
    near_specs = [replace(spec, k=k, options=o) for o in variants_by_options for k in cutoffs]
    own_specs = [near_spec for near_spec in near_specs if near_spec.k == spec.k]
    unused_specs = [
        unused_spec
        for unused_spec in _grid(spec, problem, list(variants_by_options))
        if unused_spec.options not in variants_by_options
    ]
    orders: list[TieOrder] = ["index", "expected"] if problem.has_ties else ["index"]

    def keys_of_others(setting: Setting) -> dict[str, tuple[MetricSpec, TieOrder]]:
        keys = {}
        for variant in foreign_variants:
            is_reversed = variant.ties == "reversed"
            if (variant.truth, is_reversed) == (setting.truth, setting.is_reversed):
                keys[f"{variant.spec}, ties={variant.ties}"] = variant.spec, variant.ties
        return keys

    plain = Setting()
    keys = _keys(near_specs, orders) | _keys(unused_specs, ["index"])
    if problem.has_ties:
        keys |= _keys(own_specs, ["best", "worst"])
    yield _Plan(plain, keys | keys_of_others(plain))
    for n_left_out in range(1, len(problem.sets) + 1):
        for without in combinations(problem.sets, n_left_out):
            yield _Plan(Setting(without), _keys(near_specs, orders))
    if problem.has_outside:
        of_list_items = Setting(truth="list items")
        yield _Plan(of_list_items, _keys(own_specs, orders) | keys_of_others(of_list_items))
    if problem.has_ties:
        in_reverse = Setting(is_reversed=True)
        yield _Plan(in_reverse, _keys(own_specs, ["reversed"]) | keys_of_others(in_reverse))


def _keys(
    specs: Sequence[MetricSpec], orders: Sequence[TieOrder]
) -> dict[str, tuple[MetricSpec, TieOrder]]:
    """Give a key to each spec in each order of equal scores that the metric has."""
    keys: dict[str, tuple[MetricSpec, TieOrder]] = {}
    for spec, ties in product(dict.fromkeys(specs), orders):
        if ties in ("index", "reversed"):
            keys[str(spec)] = spec, ties
            continue
        with suppress(ArgumentError):  # where the metric has no expectation
            Request({str(spec): spec}, ties=ties)
            keys[f"{spec}, ties={ties}"] = spec, ties
    return keys


def _grid(spec: MetricSpec, problem: Problem, used_options: Sequence[Any]) -> Iterator[MetricSpec]:
    """Give the metric with every choice of its options, and with thresholds of relevance."""
    choices: dict[str, Sequence[Any]] = {}
    for name, option in spec.metric.options.items():
        if name in dict(spec.options):
            choices[name] = [spec.values[name]]
        elif name in _NUMBERS:
            choices[name] = _NUMBERS[name]
        elif option.choices and name != "weigh":
            choices[name] = option.choices
    grades = problem.grades if len(problem.grades) <= _MAX_GRADES else ()
    if "max_rel" in spec.metric.options and grades:
        scales = {grades[-1], *_TOP_GRADES}
        choices["max_rel"] = [None, *(top for top in scales if top >= grades[-1])]
    for values in product(*choices.values()):
        options = dict(zip(choices, values, strict=True))
        for name in spec.metric.unread(options):
            del options[name]
        yield make_spec(spec.name, spec.k, options)
    if "rel" in spec.metric.options and "rel" not in dict(spec.options):
        for options, grade in product(used_options, grades[1:]):
            yield make_spec(spec.name, spec.k, dict(options) | {"rel": grade})


def _means(
    variant: Variant, values: UserValues, measured: Measured, weights: set[UserWeight]
) -> Iterator[tuple[float, Variant]]:
    """Compute the means of a variant: users without a value left out, or counted as a number.

    With ``weights`` other than "1", also those in which users have weights.
    """
    defined = values[~np.isnan(values)]
    if not defined.size:  # the mean is the number that users count as, and says nothing
        return
    total = float(defined.sum())
    for undefined in get_args(NoTruth):
        number = number_for(undefined)
        mean = total / defined.size
        if number is not None:
            mean = (total + number * (values.size - defined.size)) / values.size
        yield mean, variant._replace(undefined=undefined)
    for weight in weights - {"1"}:
        mean = mean_of(values, measured.weigh(weight, variant.spec))
        yield mean, variant._replace(weight=weight)


def _means_of_batches(
    variant: Variant, values: UserValues, near_variants: Sequence[Variant]
) -> Iterator[tuple[float, Variant]]:
    """Compute the mean of the means of batches whose last one is shorter than the others.

    Of batches of equal size, it is the plain mean.
    """
    if np.isnan(values).all():  # as in ``_means``
        return
    for undefined in {near.undefined for near in near_variants if near.ties == variant.ties}:
        number = number_for(undefined)
        values_that_count = values[~np.isnan(values)]
        if number is not None:
            values_that_count = np.where(np.isnan(values), number, values)
        for size in _BATCH_SIZES:
            if size < values_that_count.size and values_that_count.size % size:
                begin = np.arange(0, values_that_count.size, size)
                sizes = np.diff(np.append(begin, values_that_count.size))
                mean = float((np.add.reduceat(values_that_count, begin) / sizes).mean())
                yield mean, variant._replace(undefined=undefined, batch=size)


def _ring_of(variant: Variant, near_variants: Sequence[Variant]) -> tuple[int, int]:
    """Give the ring of a variant, and how many ways it departs from the nearest of systems."""
    if not near_variants:
        return _UNUSED, int(variant.undefined != "nan")
    n_departures = min(variant.departures(near).n for near in near_variants)
    return (_OWN, _ONE, _SEVERAL)[min(n_departures, 2)], n_departures


def _measure_finite(problem: Problem, plan: _Plan, name: str) -> Measured:
    """Compute the definitions of a plan, without those of gain 2^relevance if that is too large.

    That is an error where none of the metric ``name`` remains.
    """
    definitions: dict[str, Definition] = {}
    for key, (spec, ties) in plan.specs.items():
        definitions[key] = define(spec, None, "index" if ties == "reversed" else ties)
    try:
        return problem.measure(definitions, plan.setting)
    except InputError:
        without_exp2 = {
            key: definition
            for key, definition in definitions.items()
            if "exp2" not in str(definition.spec.values.get("gain"))
        }
        remains = any(definition.spec.name == name for definition in without_exp2.values())
        if not remains or len(without_exp2) == len(definitions):
            raise
        return problem.measure(without_exp2, plan.setting)


def others_than(spec: MetricSpec, problem: Problem) -> list[OfSystem]:
    """Give the definitions that systems have of other metrics, at the cutoff and of whole lists.

    Metrics of the caller are none of them: no system has these, and their code may fail here.
    """
    others: list[OfSystem] = []
    for name, metric in METRICS.items():
        is_readable = problem.has_all_items or not metric.counts_all_items
        if metric.reads == "hits" and not metric.module and name != spec.name and is_readable:
            for k in dict.fromkeys([spec.k, None]):
                others += variants_of_systems(make_spec(name, k), problem)
    return others
