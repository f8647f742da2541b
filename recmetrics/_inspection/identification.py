"""``identify``: the definitions of a metric, and the systems that use them, that give a number.

A variant is a metric with its options and policies, tried here or used by a system, which is
another library. Variants with the same mean are one match, described by the variant and the system
that are nearest to each other.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError, at_fault
from recmetrics._core.inputs import read_users
from recmetrics._core.results import user_values
from recmetrics._core.selection import find_hits, read_scores
from recmetrics._core.spec import (
    CONVENTIONS,
    METRICS,
    Definition,
    Line,
    MetricSpec,
    NoTruth,
    Request,
    System,
    define,
    make_spec,
    number_for,
    parse,
)
from recmetrics._core.types import Candidates, NaNPolicy, Scores, TiePolicy, Truth, UserValues
from recmetrics._printing import Column, Grid, Printed, table

Definitions: TypeAlias = Mapping[str, Definition]
Measure: TypeAlias = Callable[[Definitions, tuple[str, ...]], Mapping[str, UserValues]]
"""Computes definitions, and leaves out the named sets of items; undefined values are NaN."""

_VALUE = re.compile(r"\s*(\d*\.?\d+)\s*(%?)\s*", re.ASCII)
# Means that agree in these digits are one: sums in another order differ in the last digits.
_SAME_MEAN_FORM = ".11g"
_ROUNDING = 1e-12  # of a mean half-way between two roundings
_N_NEAREST = 10  # the nearest means are matches of a number, which is not text with its digits
_MAX_NAMES = 4  # of systems, in a printed row
_TIES = {"index": "equal scores by item index", "expected": "mean over the orders of equal scores"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A number, and the definitions nearest to those of systems that give it.

    ``systems`` have the name and the call of each, such as ``"trec_eval: ndcg_cut_10"``. The number
    is the ``mean`` of ``metric`` with ``undefined`` and ``ties``, and without the sets of items in
    ``without``; ``departures`` say in words how this differs from the definition of the systems.
    ``distance`` is that from the value asked for. ``n_definitions`` have this mean.
    """

    metric: str
    mean: float
    distance: float
    systems: tuple[str, ...]
    departures: tuple[str, ...]
    undefined: NoTruth
    ties: TiePolicy
    without: tuple[str, ...]
    n_definitions: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Identification(Printed):
    """The result of ``identify``; it prints, also in notebooks, as a table.

    Parameters
    ----------
    metric, value
        As given; a number as a float.
    matches
        A tuple of ``Match``, the fewest departures first; for a number, the nearest first.
    nearest
        The match with the least distance, also where no definition matches.
    n_definitions, n_distinct, low, high
        The number of definitions tried, and of their distinct means; the least and the greatest.
    by_chance
        The expected number of distinct means that match a random number in this range, written with
        as many digits; None for a value that is a number.
    """

    metric: str
    value: str | float
    matches: tuple[Match, ...]
    nearest: Match
    n_definitions: int
    n_distinct: int
    low: float
    high: float
    by_chance: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict for ``json.dumps``."""
        return asdict(self)

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:  # noqa: ARG002  # it has no best
        columns = [
            Column("metric", lambda match: match.metric, is_number=False),
            Column("mean", lambda match: f"{match.mean:.6f}"),
            Column(
                "departs by",
                lambda match: "; ".join(match.departures) or "nothing",
                is_number=False,
            ),
            Column("from", _names_of_systems, is_number=False),
            Column("definitions", lambda match: f"{match.n_definitions:,}"),
        ]
        if self.by_chance is None:
            matching = "the nearest means; a value as text matches to the digits given"
        elif not self.matches:
            matching = f"no mean rounds to {self.value}; the nearest is shown"
        else:
            matching = (
                f"means that round to {self.value}: {len(self.matches):,}; to a random number in "
                f"this range with as many digits: {self.by_chance:.2g} on average"
            )
        notes = [
            f"{self.n_definitions:,} definitions of {self.metric} have {self.n_distinct:,} "
            f"distinct means, from {self.low:.6f} to {self.high:.6f}",
            matching,
            "this holds for these scores and this truth alone",
        ]
        return [table(columns, self.matches or [self.nearest])], notes


def _names_of_systems(match: Match) -> str:
    """Write the names of the systems of a match without their calls, the first four of many."""
    names = list(dict.fromkeys(system.partition(":")[0] for system in match.systems))
    if len(names) > _MAX_NAMES:
        names[_MAX_NAMES:] = [f"{len(names) - _MAX_NAMES} more"]
    return ", ".join(names)


class _Variant(NamedTuple):
    """A definition that was tried, or that of a system."""

    spec: MetricSpec
    ties: TiePolicy
    undefined: NoTruth
    without: tuple[str, ...] = ()  # the sets of items that are left out


def identify(
    scores: Scores,
    truth: Truth,
    value: str | float,
    metric: str,
    *,
    exclude: Truth | None = None,
    candidates: Candidates | None = None,
    nan: NaNPolicy = "raise",
    n_threads: int | None = None,
) -> Identification:
    """Find the definitions of a metric that give a number, such as one of a paper.

    It computes the mean of every definition: with the options of each system that ``convention=``
    knows; with users without relevant items left out, or counted as 0 or 1; with equal scores by
    item index, or the mean over their orders; with and without ``exclude`` and ``candidates``; and
    for the cutoffs k - 1, k and k + 1. Matches that depart least from the definition of one system
    come first; other cutoffs and sets of items come last. With so many definitions, some match by
    accident: ``by_chance`` says how many would match a random number.

    >>> import recmetrics
    >>> scores, truth = [[4, 3, 2, 1], [1, 2, 3, 4]], [[1, 0, 1, 1], [0, 0, 0, 1]]
    >>> found = recmetrics.identify(scores, truth, "0.667", "recall@2")
    >>> found.matches[0].metric, found.matches[0].departures
    ('recall(denom=relevant)@2', ())
    >>> found.matches[0].systems[0]
    'CAPRI: recallk(actual, predicted[:2])'

    Parameters
    ----------
    scores, truth
        As in ``Metrics.compute``.
    value
        The number: text such as ``"0.0932"``, ``"0.0930"`` or ``"9.32 %"`` matches the means that
        round to it; of a number, the ten nearest means are given, by their distance.
    metric
        A metric string of a metric that reads ranks, such as "ndcg@10". Its options are kept;
        without options, those of all systems are tried.
    exclude, candidates, nan, n_threads
        As in ``Metrics.compute``.

    Returns
    -------
    Identification
        It holds the matches, and prints as their table.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError
        As in ``Metrics.compute``. Also an InputError if there is no user.
    ArgumentError
        As in ``Metrics.compute``. Also raised for a value that is neither a number nor the text of
        one, or that the metric cannot have, and for a metric that does not read ranks alone.
    """
    rules = Request("mrr", nan=nan, n_threads=n_threads)
    sets: dict[str, Any] = {}
    if exclude is not None:
        sets["exclude"] = exclude
    if candidates is not None:
        sets["candidates"] = candidates
    source = read_scores(scores)

    def measure(definitions: Definitions, without: tuple[str, ...]) -> Mapping[str, UserValues]:
        request = Request.of(definitions, rules)
        remaining = {name: items for name, items in sets.items() if name not in without}
        users = read_users(source, truth, remaining, request)
        return user_values(find_hits(source, users, request), request)

    return identify_by(measure, value, metric, list(sets))


def identify_by(
    measure: Measure,
    value: str | float,
    metric: str,
    sets: Sequence[str] = (),
    policies: Sequence[TiePolicy] = ("index", "expected"),
) -> Identification:
    """Find the definitions of which ``measure`` computes values whose mean is a number.

    ``sets`` are names of the sets of items that may be left out, ``policies`` the orders of equal
    scores to try.
    """
    with at_fault("metric"):
        spec = parse(metric)
    if spec.metric.reads != "hits" or spec.is_weighed or spec.stratum is not None:
        names = ", ".join(name for name in METRICS if METRICS[name].reads == "hits")
        msg = f"metric must be one of {names}, without of= and weigh=, got {metric!r}"
        raise ArgumentError(msg, argument="metric")
    value, number, decimals = _read_value(value, spec)

    systems = list(_variants_of_systems(spec))
    variants_of_mean: dict[str, list[tuple[float, _Variant]]] = {}
    for mean, variant in _means(measure, _definitions(spec, systems, policies), sets):
        variants_of_mean.setdefault(f"{mean:{_SAME_MEAN_FORM}}", []).append((mean, variant))
    if not variants_of_mean:
        msg = f"no user has a value of {metric}; expected scores and truth of at least one user"
        raise InputError(msg)

    # Place i of these arrays is the i-th distinct mean, with its variants.
    groups = list(variants_of_mean.values())
    means = np.array([variants[0][0] for variants in groups])
    low = float(means.min())
    high = float(means.max())
    distances = np.abs(means - number)
    indices = np.argsort(distances, kind="stable")[:_N_NEAREST].tolist()
    nearest = indices[0]
    by_chance = None
    if decimals is not None:
        half_unit = 0.5 * 10.0**-decimals  # of the last digit
        indices = np.flatnonzero(distances <= half_unit + _ROUNDING).tolist()
        # A random number in the range matches each mean with the share of the range near that mean.
        widths = np.minimum(means + half_unit, high) - np.maximum(means - half_unit, low)
        by_chance = 1.0
        if high > low:
            by_chance = float(widths.sum() / (high - low))

    matches = {i: _match(groups[i], systems, float(distances[i])) for i in {*indices, nearest}}
    if decimals is not None:
        indices.sort(key=lambda i: (matches[i][0], distances[i]))
    return Identification(
        metric=metric,
        value=value,
        matches=tuple(matches[i][1] for i in indices),
        nearest=matches[nearest][1],
        n_definitions=sum(map(len, groups)),
        n_distinct=len(groups),
        low=low,
        high=high,
        by_chance=by_chance,
    )


def _read_value(value: object, spec: MetricSpec) -> tuple[str | float, float, int | None]:
    """Read (value, number, decimals), and refuse a value that the metric cannot have.

    The value is text as given, with its number and the decimals of that: "9.32 %" has 0.0932 and 4;
    or it is a number itself, as a float, without decimals, None.
    """
    number = math.nan  # for what cannot be read
    decimals = None
    if isinstance(value, str) and (match := _VALUE.fullmatch(value)):
        exact = Decimal(match[1])
        if match[2]:  # per cent
            exact = exact.scaleb(-2)
        number = float(exact)
        decimals = -cast(int, exact.as_tuple().exponent)
    elif isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    literal = f"{value!r:.40}"  # at most 40 letters
    if not math.isfinite(number):
        msg = f"value must be text such as '0.0932' or '9.32 %', or a finite number, got {literal}"
        raise ArgumentError(msg, argument="value")
    low, high = spec.bounds
    if not low <= number <= high:
        msg = f"value must be from {low:g} to {high:g}, as those of {spec}, got {literal}"
        if high < number <= 100 * high:
            msg += f"; for a percentage type '{value} %'"
        raise ArgumentError(msg, argument="value")
    return value if isinstance(value, str) else number, number, decimals


def lines_of(spec: MetricSpec) -> Iterator[tuple[System, Line, MetricSpec]]:
    """Give the lines that systems have for a metric, each with its system.

    Third is the metric with the options of the line, at the cutoff of ``spec``.
    """
    title = spec.name if spec.k is None else f"{spec.name}@k"
    for system in CONVENTIONS.values():
        for line in (*system.lines, *system.variants):
            if line.metric == title:
                yield system, line, make_spec(spec.name, spec.k, line.options)


def _variants_of_systems(spec: MetricSpec) -> Iterator[tuple[str, _Variant]]:
    """Give the call and the variant of each system, and of this library, that has these options."""
    for system, line, variant in lines_of(spec):
        if all(variant.values[name] == value for name, value in spec.options):
            call = f"{system.name}: {line.call.format(k=spec.k)}"
            yield call, _Variant(variant, define(variant, None, line.ties).ties, line.undefined)
    _, ties, undefined = define(spec)
    yield f"recmetrics: {spec}", _Variant(spec, ties, cast(NoTruth, undefined))


def _definitions(
    metric: MetricSpec, systems: Sequence[tuple[str, _Variant]], policies: Sequence[TiePolicy]
) -> Definitions:
    """Make the definitions to try: options of all systems, three cutoffs, orders of equal scores.

    ``metric`` is the one asked for, whose cutoff k stands between k - 1 and k + 1.
    """
    cutoffs: list[int | None] = [None]
    if metric.k is not None:
        cutoffs = [k for k in (metric.k - 1, metric.k, metric.k + 1) if k >= 1]
    specs = dict.fromkeys(replace(variant.spec, k=k) for _, variant in systems for k in cutoffs)
    definitions: dict[str, Definition] = {}
    for spec in specs:
        for ties in policies:
            definition = define(spec, None, ties)
            text = str(spec) if ties == "index" else f"{spec}, ties={ties}"
            with suppress(ArgumentError):
                Request({str(spec): spec}, ties=ties)  # fails where the metric has no such ties
                if definition not in definitions.values():
                    definitions[text] = definition
    return definitions


def _means(
    measure: Measure, definitions: Definitions, sets: Sequence[str]
) -> Iterator[tuple[float, _Variant]]:
    """Compute the means of all variants: of each definition, with and without each of the sets.

    Users without a value are left out of the mean, or count as each number that is usual.
    """
    for n_left_out in range(len(sets) + 1):
        for without in combinations(sets, n_left_out):
            for text, values in _measure_finite(measure, definitions, without).items():
                spec, ties, _ = definitions[text]
                defined = values[~np.isnan(values)]
                total = float(defined.sum())
                n_users = values.size
                # Without a value, the mean is the number that users count as, and says nothing.
                if defined.size:
                    for undefined in get_args(NoTruth):
                        number = number_for(undefined)
                        mean = total / defined.size
                        if number is not None:
                            mean = (total + number * n_users - number * defined.size) / n_users
                        yield mean, _Variant(spec, ties, undefined, without)


def _measure_finite(
    measure: Measure, definitions: Definitions, without: tuple[str, ...]
) -> Mapping[str, UserValues]:
    """Compute definitions, without those of gain 2^relevance if that is too large."""
    try:
        return measure(definitions, without)
    except InputError:
        without_exp2 = {
            text: definition
            for text, definition in definitions.items()
            if "exp2" not in str(definition.spec.values.get("gain"))
        }
        if len(without_exp2) in (0, len(definitions)):
            raise
        return measure(without_exp2, without)


def _match(
    variants: Sequence[tuple[float, _Variant]],
    systems: Sequence[tuple[str, _Variant]],
    distance: float,
) -> tuple[tuple[int, int], Match]:
    """Describe a mean by the variant and the systems that are nearest to each other.

    ``variants`` have this mean; ``systems`` are calls with their variants. Gives also how many
    departures in scope and in rules there are, by which matches are sorted.
    """
    pairs = [
        (*_departures(variant, of_system), variant, call)
        for _, variant in variants
        for call, of_system in systems
        if variant.spec.options == of_system.spec.options
    ]
    # Of equally near pairs, the variant with the fewest options.
    rules, scope, variant, _ = min(
        pairs, key=lambda pair: (len(pair[1]), len(pair[0]), len(pair[2].spec.options))
    )
    match = Match(
        metric=str(variant.spec),
        mean=variants[0][0],
        distance=distance,
        systems=tuple(dict.fromkeys(pair[3] for pair in pairs if pair[:2] == (rules, scope))),
        departures=(*rules, *scope),
        undefined=variant.undefined,
        ties=variant.ties,
        without=variant.without,
        n_definitions=len(variants),
    )
    return (len(scope), len(rules)), match


def _departures(variant: _Variant, of_system: _Variant) -> tuple[list[str], list[str]]:
    """Say how a variant departs from that of a system of the same options.

    First in rules, for users and equal scores, then in scope: other sets of items, another cutoff.
    """
    rules = []
    if variant.undefined != of_system.undefined:
        number = number_for(variant.undefined)
        treatment = "left out" if number is None else f"count {number:g}"
        rules.append(f"users without relevant items {treatment}")
    if variant.ties != of_system.ties:
        rules.append(_TIES[variant.ties])
    scope = [f"without {name}" for name in variant.without]
    if variant.spec.k != of_system.spec.k:
        scope.append(f"k = {variant.spec.k}")
    return rules, scope
