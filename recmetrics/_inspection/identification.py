"""``identify``: the definitions of a metric, and the systems that use them, that give a number."""

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

from recmetrics._core.errors import ArgumentError, InputError
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
"""Computes definitions without some of the sets of items; undefined values are NaN."""

_VALUE = re.compile(r"\s*(\d*\.?\d+)\s*(%?)\s*", re.ASCII)
_SAME = ".11g"  # to so many digits, two means are one: sums in another order differ in the last
_ROUNDING = 1e-12
_NEAREST = 10  # matches of a number without digits
_NAMED = 4  # systems named in a printed row
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
            Column("metric", lambda each: each.metric, is_number=False),
            Column("mean", lambda each: f"{each.mean:.6f}"),
            Column(
                "departs by", lambda each: "; ".join(each.departures) or "nothing", is_number=False
            ),
            Column("from", _named, is_number=False),
            Column("definitions", lambda each: f"{each.n_definitions:,}"),
        ]
        shown = f"means that round to {self.value}: {len(self.matches):,}"
        if self.by_chance is None:
            shown = "the nearest means; a value as text matches to the digits given"
        elif not self.matches:
            shown = f"no mean rounds to {self.value}; the nearest is shown"
        else:
            shown += f"; to a random number in this range with as many digits: {self.by_chance:.2g}"
            shown += " on average"
        notes = [
            f"{self.n_definitions:,} definitions of {self.metric} have {self.n_distinct:,} "
            f"distinct means, from {self.low:.6f} to {self.high:.6f}",
            shown,
            "this holds for these scores and this truth alone",
        ]
        return [table(columns, self.matches or [self.nearest])], notes


def _named(match: Match) -> str:
    names = list(dict.fromkeys(each.partition(":")[0] for each in match.systems))
    return ", ".join(names[:_NAMED] + [f"{len(names) - _NAMED} more"] * (len(names) > _NAMED))


class _Tried(NamedTuple):
    """A definition that was tried, or that of a system."""

    spec: MetricSpec
    ties: TiePolicy
    undefined: NoTruth
    without: tuple[str, ...] = ()


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
    given = {"exclude": exclude, "candidates": candidates}
    sets: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
    source = read_scores(scores)

    def measure(definitions: Definitions, without: tuple[str, ...]) -> Mapping[str, UserValues]:
        request = Request.of(definitions, rules)
        own = {name: each for name, each in sets.items() if name not in without}
        users = read_users(source, truth, own, request)
        return user_values(find_hits(source, users, request), request)

    return identify_by(measure, value, metric, list(sets))


def identify_by(
    measure: Measure,
    value: str | float,
    metric: str,
    sets: Sequence[str] = (),
    policies: Sequence[TiePolicy] = ("index", "expected"),
) -> Identification:
    """Find the definitions that give a number, of values that ``measure`` computes.

    ``sets`` are the sets of items that may be left out, ``policies`` the orders of equal scores.
    """
    asked = parse(metric)
    if asked.metric.reads != "hits" or asked.is_weighed or asked.stratum is not None:
        able = ", ".join(name for name, each in METRICS.items() if each.reads == "hits")
        msg = f"metric must be one of {able}, without of= and weigh=, got {metric!r}"
        raise ArgumentError(msg)
    value, number, decimals = _read(value, asked)
    own = list(_of_systems(asked))
    groups: dict[str, list[tuple[float, _Tried]]] = {}
    for mean, tried in _means(measure, _definitions(asked, own, policies), sets):
        groups.setdefault(f"{mean:{_SAME}}", []).append((mean, tried))
    if not groups:
        msg = f"no user has a value of {metric}; expected scores and truth of at least one user"
        raise InputError(msg)
    means = np.array([members[0][0] for members in groups.values()])
    low, high = float(means.min()), float(means.max())
    distance = np.abs(means - number)
    chosen, by_chance = np.argsort(distance, kind="stable")[:_NEAREST].tolist(), None
    nearest = chosen[0]
    if decimals is not None:
        half = 0.5 * 10.0**-decimals
        chosen = np.flatnonzero(distance <= half + _ROUNDING).tolist()
        # The share of the range that rounds to each mean.
        rounded = np.minimum(means + half, high) - np.maximum(means - half, low)
        by_chance = float(rounded.sum() / (high - low)) if high > low else 1.0
    members = list(groups.values())
    found = {i: _match(members[i], own, float(distance[i])) for i in {*chosen, nearest}}
    if decimals is not None:
        chosen.sort(key=lambda i: (found[i][0], distance[i]))
    return Identification(
        metric=metric,
        value=value,
        matches=tuple(found[i][1] for i in chosen),
        nearest=found[nearest][1],
        n_definitions=sum(map(len, members)),
        n_distinct=len(groups),
        low=low,
        high=high,
        by_chance=by_chance,
    )


def _read(value: object, asked: MetricSpec) -> tuple[str | float, float, int | None]:
    """The value as text or a plain number, its number, and the decimals of text."""
    decimals, number = None, math.nan
    shown = f"{value!r:.40}"
    if isinstance(value, str) and (text := _VALUE.fullmatch(value)):
        exact = Decimal(text[1]).scaleb(-2 if text[2] else 0)
        number, decimals = float(exact), -cast(int, exact.as_tuple().exponent)
    elif isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    if not math.isfinite(number):
        msg = f"value must be text such as '0.0932' or '9.32 %', or a finite number, got {shown}"
        raise ArgumentError(msg)
    low, high = asked.bounds
    if not low <= number <= high:
        hint = f"; for a percentage type '{value} %'" if high < number <= 100 * high else ""
        msg = f"value must be from {low:g} to {high:g}, as those of {asked}, got {shown}{hint}"
        raise ArgumentError(msg)
    return value if isinstance(value, str) else number, number, decimals


def lines_of(asked: MetricSpec) -> Iterator[tuple[System, Line, MetricSpec]]:
    """Give the lines that systems have for a metric, each with its metric at this cutoff."""
    form = asked.name if asked.k is None else f"{asked.name}@k"
    for system in CONVENTIONS.values():
        for line in (*system.lines, *system.variants):
            if line.metric == form:
                yield system, line, make_spec(asked.name, asked.k, line.options)


def _of_systems(asked: MetricSpec) -> Iterator[tuple[str, _Tried]]:
    """Give the call and the definition of each system with these options, and of this library."""
    for system, line, spec in lines_of(asked):
        if all(spec.values[name] == each for name, each in asked.options):
            tried = _Tried(spec, define(spec, None, line.ties).ties, line.undefined)
            yield f"{system.name}: {line.call.format(k=asked.k)}", tried
    _, ties, undefined = define(asked)
    yield f"recmetrics: {asked}", _Tried(asked, ties, cast(NoTruth, undefined))


def _definitions(
    asked: MetricSpec, own: Sequence[tuple[str, _Tried]], policies: Sequence[TiePolicy]
) -> Definitions:
    """Give the options of all systems at each cutoff, in each order of equal scores there is."""
    cutoffs = [None] if asked.k is None else [k for k in (asked.k - 1, asked.k, asked.k + 1) if k]
    specs = dict.fromkeys(replace(tried.spec, k=k) for _, tried in own for k in cutoffs)
    found: dict[str, Definition] = {}
    for spec in specs:
        for ties in policies:
            definition = define(spec, None, ties)
            with suppress(ArgumentError):
                Request({str(spec): spec}, ties=ties)
                if definition not in found.values():
                    found[str(spec) if ties == "index" else f"{spec}, ties={ties}"] = definition
    return found


def _means(
    measure: Measure, definitions: Definitions, sets: Sequence[str]
) -> Iterator[tuple[float, _Tried]]:
    """Compute the means of all definitions, without each of the sets, and with it."""
    for left_out in range(len(sets) + 1):
        for without in combinations(sets, left_out):
            for text, values in _measured(measure, definitions, without).items():
                spec, ties, _ = definitions[text]
                known = values[~np.isnan(values)]
                total, n_users = float(known.sum()), values.size
                if known.size:  # without a value, every treatment of users gives its own number
                    for undefined in get_args(NoTruth):
                        number = number_for(undefined)
                        mean = total / known.size
                        if number is not None:
                            mean = (total + number * n_users - number * known.size) / n_users
                        yield mean, _Tried(spec, ties, undefined, without)


def _measured(
    measure: Measure, definitions: Definitions, without: tuple[str, ...]
) -> Mapping[str, UserValues]:
    """Compute the definitions that can be computed: 2^relevance may be too large."""
    try:
        return measure(definitions, without)
    except InputError:
        gains = {text: str(each.spec.values.get("gain")) for text, each in definitions.items()}
        others = {text: definitions[text] for text in gains if "exp2" not in gains[text]}
        if len(others) in (0, len(definitions)):
            raise
        return measure(others, without)


def _match(
    members: Sequence[tuple[float, _Tried]], own: Sequence[tuple[str, _Tried]], distance: float
) -> tuple[tuple[int, int], Match]:
    """Find the definitions of a mean that depart least from those of systems, and by how much."""
    pairs = [
        (*_departures(tried, of_system), tried, system)
        for _, tried in members
        for system, of_system in own
        if tried.spec.options == of_system.spec.options
    ]
    # Of equally near definitions, the one with the fewest options.
    rules, measured, tried, _ = min(
        pairs, key=lambda pair: (len(pair[1]), len(pair[0]), len(pair[2].spec.options))
    )
    match = Match(
        metric=str(tried.spec),
        mean=members[0][0],
        distance=distance,
        systems=tuple(dict.fromkeys(p[3] for p in pairs if p[:2] == (rules, measured))),
        departures=(*rules, *measured),
        undefined=tried.undefined,
        ties=tried.ties,
        without=tried.without,
        n_definitions=len(members),
    )
    return (len(measured), len(rules)), match


def _departures(tried: _Tried, own: _Tried) -> tuple[list[str], list[str]]:
    """Say how a definition departs from that of a system: in rules, and in what is measured."""
    rules = []
    if tried.undefined != own.undefined:
        number = number_for(tried.undefined)
        treatment = "left out" if number is None else f"count {number:g}"
        rules.append(f"users without relevant items {treatment}")
    rules += [_TIES[tried.ties]] if tried.ties != own.ties else []
    measured = [f"without {name}" for name in tried.without]
    measured += [f"k = {tried.spec.k}"] if tried.spec.k != own.spec.k else []
    return rules, measured
