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
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from recmetrics._errors import ArgumentError, InputError
from recmetrics._inputs import read_users
from recmetrics._results import user_values
from recmetrics._selection import find_hits, read_scores
from recmetrics._spec import (
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
    parse,
)
from recmetrics._types import Candidates, NaNPolicy, Scores, TiePolicy, Truth, UserValues
from recmetrics.comparison import Grid, Printed, _grids

Measure: TypeAlias = Callable[[Mapping[str, Definition], tuple[str, ...]], Mapping[str, UserValues]]
"""Computes definitions without some of the sets of items; undefined values are NaN."""

_VALUE = re.compile(r"\s*(\d*\.?\d+)\s*(%?)\s*", re.ASCII)
_SAME = ".11g"  # to so many digits, two means are one: sums in another order differ in the last
_ROUNDING = 1e-12
_NEAREST = 10  # matches of a number without digits
_NAMED = 4  # systems named in a printed row
_USERS = {
    "nan": "users without relevant items left out",
    "zero": "users without relevant items count 0",
    "one": "users without relevant items count 1",
}
_TIES = {"index": "equal scores by item index", "expected": "mean over the orders of equal scores"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A number, and the definitions nearest to those of systems that give it.

    ``systems`` name themselves and their call, such as ``"trec_eval: ndcg_cut_10"``. The number is
    the mean of ``metric`` with ``undefined`` and ``ties``, and without the sets of items in
    ``without``. ``departures`` say in words where this differs from the definition of the systems.
    ``distance`` is that of ``mean`` from the value asked for; ``n_definitions`` is the number of
    definitions that give this mean.
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
        As given.
    matches
        A tuple of ``Match``, the fewest departures first; for a number, the nearest first.
    nearest
        The match with the least distance, also where no definition matches.
    n_definitions, n_distinct
        The number of definitions tried, and of their distinct means.
    low, high
        The least and the greatest of these means.
    by_chance
        The expected number of distinct means that match a random number between these two, written
        with as many digits; None for a value that is a number.
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

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each match."""
        return [asdict(each) for each in self.matches]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict for ``json.dumps``."""
        return asdict(self)

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:  # noqa: ARG002  # it has no best
        columns = [
            _words("metric", lambda each: each.metric),
            _grids.Column("mean", lambda each: f"{each.mean:.6f}"),
            _words("departs by", lambda each: "; ".join(each.departures) or "nothing"),
            _words("from", _named),
            _grids.Column("definitions", lambda each: f"{each.n_definitions:,}"),
        ]
        notes = [
            f"{self.n_definitions:,} definitions of {self.metric} have {self.n_distinct:,} "
            f"distinct means, from {self.low:.6f} to {self.high:.6f}"
        ]
        if self.by_chance is None:
            notes.append("the nearest means; a value as text matches to the digits given")
        else:
            notes.append(
                f"means that round to {self.value}: {len(self.matches):,}; to a random number in "
                f"this range with as many digits: {self.by_chance:.2g} on average"
            )
        if not self.matches:
            near = self.nearest
            told = "; ".join([near.metric, *near.departures])
            notes.append(f"the nearest mean is {near.mean:.6f}: {told}, from {_named(near)}")
        notes.append("this holds for these scores and this truth alone")
        return [_grids.table(columns, self.matches)] if self.matches else [], notes


def _words(heading: str, text: Callable[[Match], str]) -> _grids.Column:
    return _grids.Column(heading, text, is_number=False)


def _named(match: Match) -> str:
    """Name some of the systems of a match."""
    names = list(dict.fromkeys(each.partition(":")[0] for each in match.systems))
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])


class _Tried(NamedTuple):
    """A definition with a mean: that of a system, or one that was tried."""

    spec: MetricSpec
    ties: TiePolicy
    undefined: NoTruth
    without: tuple[str, ...] = ()


class _Own(NamedTuple):
    """The definition of a system."""

    system: str
    tried: _Tried


class _Departing(NamedTuple):
    """How a definition departs from that of a system: in its rules, and in what is measured."""

    rules: list[str]
    measured: list[str]

    @property
    def number(self) -> tuple[int, int]:
        """The number of departures; those in what is measured are the last."""
        return len(self.measured), len(self.rules)


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

    It computes the mean of every definition in the table of conventions: with the options of each
    system; with users without relevant items left out, or counted as 0 or 1; with equal scores by
    item index, or the mean over their orders; with and without ``exclude`` and ``candidates``; and
    for the cutoffs k - 1, k and k + 1. A definition that departs least from that of one system is
    the first match; another cutoff, or a set of items left out, is the last explanation.

    Many definitions have different means, so some match by accident. ``by_chance`` says how many of
    them a random number would match.

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
        The matches; it prints as a table.

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

    def measure(
        definitions: Mapping[str, Definition], without: tuple[str, ...]
    ) -> Mapping[str, UserValues]:
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
    number, decimals = _read(value, asked)
    own = list(_definitions_of_systems(asked))
    cutoffs = [None] if asked.k is None else [k for k in (asked.k - 1, asked.k, asked.k + 1) if k]
    specs = dict.fromkeys(replace(each.tried.spec, k=k) for each in own for k in cutoffs)
    definitions = _defined(specs, policies)
    groups: dict[str, tuple[float, list[_Tried]]] = {}
    for left_out in range(len(sets) + 1):
        for without in combinations(sets, left_out):
            for text, values in _measured(measure, definitions, without).items():
                for undefined, mean in _means(values):
                    tried = _Tried(*definitions[text][:2], undefined, without)
                    groups.setdefault(f"{mean:{_SAME}}", (mean, []))[1].append(tried)
    if not groups:
        msg = f"no user has a value of {metric}; expected scores and truth of at least one user"
        raise InputError(msg)
    means = np.array([mean for mean, _ in groups.values()])
    distance = np.abs(means - number)
    half = math.inf if decimals is None else 0.5 * 10.0**-decimals
    order = np.argsort(distance, kind="stable")
    chosen = order[:_NEAREST] if decimals is None else order[distance[order] <= half + _ROUNDING]
    members = [tried for _, tried in groups.values()]
    found = {
        place: _match(members[place], own, means[place], distance[place])
        for place in {*chosen.tolist(), int(order[0])}
    }
    matches = [found[place] for place in chosen.tolist()]
    if decimals is not None:
        matches.sort(key=lambda pair: pair[0])  # stable: then by distance
    low, high = float(means.min()), float(means.max())
    by_chance = None
    if decimals is not None:
        # The share of the range that rounds to each mean.
        covered = np.minimum(means + half, high) - np.maximum(means - half, low)
        by_chance = float(covered.sum() / (high - low)) if high > low else 1.0
    return Identification(
        metric=metric,
        value=value,
        matches=tuple(match for _, match in matches),
        nearest=found[int(order[0])][1],
        n_definitions=sum(map(len, members)),
        n_distinct=len(groups),
        low=low,
        high=high,
        by_chance=by_chance,
    )


def _read(value: object, asked: MetricSpec) -> tuple[float, int | None]:
    """Read the number, and how many decimals it is given with; None for a number."""
    decimals, number = None, math.nan
    if isinstance(value, str) and (text := _VALUE.fullmatch(value)):
        exact = Decimal(text[1]).scaleb(-2 if text[2] else 0)
        number, decimals = float(exact), -cast(int, exact.as_tuple().exponent)
    elif isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
    if math.isnan(number):
        msg = f"value must be text such as '0.0932' or '9.32 %', or a number, got {value!r}"
        raise ArgumentError(msg)
    low, high = asked.bounds
    if not low <= number <= high:
        hint = f"; for a percentage type '{value} %'" if high < number <= 100 * high else ""
        msg = f"value must be from {low:g} to {high:g}, as those of {asked}, got {value!r}{hint}"
        raise ArgumentError(msg)
    return number, decimals


def _definitions_of_systems(asked: MetricSpec) -> Iterator[_Own]:
    """Give the definition of each system that has the options of ``asked``, and its own."""
    form = asked.name if asked.k is None else f"{asked.name}@k"
    undefined = cast(NoTruth, define(asked).undefined)
    options: dict[str, Any] = dict(asked.options)
    plain = Line(form, str(asked), undefined, options)
    for system in (*CONVENTIONS.values(), System(name="recmetrics", lines=(plain,))):
        for line in (*system.lines, *system.variants):
            if line.metric != form:
                continue
            spec = make_spec(asked.name, asked.k, line.options)
            if all(spec.values[name] == chosen for name, chosen in asked.options):
                ties = define(spec, None, line.ties).ties
                call = f"{system.name}: {line.call.format(k=asked.k)}"
                yield _Own(call, _Tried(spec, ties, line.undefined))


def _defined(
    specs: Mapping[MetricSpec, None], policies: Sequence[TiePolicy]
) -> dict[str, Definition]:
    """Give the specs under each order of equal scores that they have a value for."""
    found: dict[str, Definition] = {}
    for spec in specs:
        for ties in policies:
            with suppress(ArgumentError):
                Request({str(spec): spec}, ties=ties)
                definition = define(spec, None, ties)
                text = str(spec) if ties == "index" else f"{spec}, ties={ties}"
                if definition not in found.values():
                    found[text] = definition
    return found


def _measured(
    measure: Measure, definitions: Mapping[str, Definition], without: tuple[str, ...]
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


def _means(values: UserValues) -> Iterator[tuple[NoTruth, float]]:
    """Give the mean for each treatment of users without a value."""
    known = values[~np.isnan(values)]
    total, n_missing = float(known.sum()), values.size - known.size
    if known.size:
        yield "nan", total / known.size
    if values.size:
        yield "zero", total / values.size
        yield "one", (total + n_missing) / values.size


def _match(
    group: Sequence[_Tried], own: Sequence[_Own], mean: float, distance: float
) -> tuple[tuple[int, int], Match]:
    """Find the definitions of a mean that depart least from those of systems."""
    pairs = [
        (_departing(tried, each.tried), tried, each.system)
        for tried in group
        for each in own
        if tried.spec.options == each.tried.spec.options
    ]
    # Of equally near definitions, the one with the fewest options.
    departing, tried, _ = min(pairs, key=lambda p: (p[0].number, len(p[1].spec.options)))
    systems = dict.fromkeys(system for other, _, system in pairs if other == departing)
    match = Match(
        metric=str(tried.spec),
        mean=float(mean),
        distance=float(distance),
        systems=tuple(systems),
        departures=(*departing.rules, *departing.measured),
        undefined=tried.undefined,
        ties=tried.ties,
        without=tried.without,
        n_definitions=len(group),
    )
    return departing.number, match


def _departing(tried: _Tried, own: _Tried) -> _Departing:
    rules = [_USERS[tried.undefined]] if tried.undefined != own.undefined else []
    rules += [_TIES[tried.ties]] if tried.ties != own.ties else []
    measured = [f"without {name}" for name in tried.without]
    measured += [f"k = {tried.spec.k}"] if tried.spec.k != own.spec.k else []
    return _Departing(rules, measured)
