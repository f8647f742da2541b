"""``identify``: the definitions of a metric, and the systems that use them, that give a number.

Definitions with the same mean are one match, described by the variant and the system that are
nearest to each other. ``definitions`` says which are tried, and in which rings.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import functools
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError, at_fault
from recmetrics._core.inputs import read_users
from recmetrics._core.results import user_values, weights_by
from recmetrics._core.selection import Hits, Selection, find_hits, hits_of_slots, read_scores
from recmetrics._core.spec import (
    METRICS,
    MetricSpec,
    NoTruth,
    Request,
    UserWeight,
    parse,
    policy_of,
)
from recmetrics._core.types import Candidates, FloatArray, NaNPolicy, Scores, Truth
from recmetrics._inspection.definitions import (
    RINGS,
    TIES_IN_WORDS,
    TRUTHS_IN_WORDS,
    Definitions,
    Departures,
    Measured,
    OfSystem,
    Problem,
    Ring,
    Setting,
    TieOrder,
    Trial,
    TruthOf,
    Variant,
    of_the_name,
    others_than,
    trials_of,
    variants_of_systems,
)
from recmetrics._printing import Column, Grid, Printed, counted, table

_VALUE = re.compile(r"\s*(\d*\.?\d+)\s*(%?)\s*", re.ASCII)
# Means that agree in these digits are one: sums in another order differ in the last digits.
_SAME_MEAN_FORM = ".11g"
_ROUNDING = 1e-12  # of a mean half-way between two roundings
_N_NEAREST = 10  # the nearest means are matches of a number, which is not text with its digits
_MAX_NAMES = 4  # of systems, in a printed row
_MAX_ROWS_WITH_CALLS = 3  # whose calls of systems are printed below the table
_MAX_SPELLINGS = 3  # metric strings in the note on the first row
_MAX_ROWS = 20  # of the printed table
_WINDOW = 2.0  # a random number is between the value divided by this, and times it
_NO_DEPARTURE = "as in a system"
# Words for a match of a ring whose definitions depart from no system's.
_UNNAMED = {"unused options": "options of no known call", "another metric": "another metric"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A number, and the definitions nearest to those of systems that give it.

    ``systems`` have the name and the call of each, such as ``"trec_eval: ndcg_cut_10"``. The number
    is the ``mean`` of ``metric`` with ``undefined`` ("nan": without users who have no relevant
    item, also of a sum such as dcg); with ``ties``, which may also be "reversed",
    equal scores by descending item index; with users of equal ``weight``, "1", or of min(k, R) or
    R; of all relevant items, or of those that may be in the list, ``truth``; without the sets of
    items in ``without``; over the users, or over the means of batches of ``batch`` users.
    ``departures`` say in words how this differs from the definition of the systems, and ``ring``
    how far. ``distance`` is that from the value asked for. ``n_definitions`` have this mean, those
    of the metric strings ``same_mean``, which differ in nothing else, among them.
    """

    metric: str
    mean: float
    distance: float
    ring: Ring
    systems: tuple[str, ...]
    departures: tuple[str, ...]
    undefined: NoTruth
    ties: TieOrder
    weight: UserWeight
    truth: TruthOf
    without: tuple[str, ...]
    batch: int | None
    n_definitions: int
    same_mean: tuple[str, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, repr=False)
class Identification(Printed):
    """The result of ``identify``; it prints, also in notebooks, as a table.

    Parameters
    ----------
    metric, value
        As given; a number as a float.
    matches
        A tuple of ``Match``, the nearest ring first; for a number, the nearest mean first.
    nearest
        The match with the least distance, also where no definition matches.
    n_definitions, n_distinct, low, high
        The number of definitions tried, and of their distinct means; the least and the greatest.
    n_means
        The number of distinct means in each ring; a mean counts in the nearest ring that has it.
    by_chance
        For each ring, the expected number of its distinct means that match a random number from
        half to twice the value, and within the range of the metric, written with as many digits;
        None for a value that is a number.
    hint
        Advice on a value that the metric cannot have, else "".
    """

    metric: str
    value: str | float
    matches: tuple[Match, ...]
    nearest: Match
    n_definitions: int
    n_distinct: int
    low: float
    high: float
    n_means: dict[Ring, int] = field(hash=False)
    by_chance: dict[Ring, float] | None = field(hash=False)
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict for ``json.dumps``."""
        return asdict(self)

    def _page(self) -> tuple[list[Grid], list[str]]:
        columns = [
            Column(
                "metric",
                lambda match: ", ".join([match.metric, *_settings(match)]),
                is_number=False,
            ),
            Column("mean", lambda match: f"{match.mean:.6f}"),
            Column(
                "departure",
                lambda match: "; ".join(match.departures) or _NO_DEPARTURE,
                is_number=False,
            ),
            Column("based on", _names_of_systems, is_number=False),
            Column("definitions", lambda match: f"{match.n_definitions:,}"),
        ]
        of_others = ", also of other metrics," if self.n_means["another metric"] else ""
        notes = [
            f"{self.n_definitions:,} definitions{of_others} have {self.n_distinct:,} distinct "
            f"means, from {self.low:.6f} to {self.high:.6f}",
            "definitions: how many definitions (metric string, order of ties, value of users "
            "without relevant items) have this mean; they often differ only in what does not "
            "matter for these data",
        ]
        rows = self.matches[:_MAX_ROWS] or (self.nearest,)
        # Another metric is shown only where the number is none of this one.
        has_other = any(row.ring == "another metric" for row in rows)
        of_metric = "" if has_other else " of this metric"
        if any(match.systems for match in rows):
            notes.append(
                "departure: how a row differs from the systems in 'based on'; "
                f"{_NO_DEPARTURE!r}: no difference"
            )
            notes += _notes_on_calls(rows)
        if rows[0].same_mean:
            spellings = ", ".join(_first_of(rows[0].same_mean, _MAX_SPELLINGS))
            also = f"the mean of the first row is also that of {spellings}"
            if settings := _settings(rows[0]):
                if len(rows[0].same_mean) > 1:
                    also += ", each"
                also += f" with {', '.join(settings)}"
            notes.append(also)
        if len(self.matches) > _MAX_ROWS:
            notes.insert(0, f"the first {_MAX_ROWS} of {len(self.matches):,} matches")
        if self.by_chance is None:
            notes.append(
                f"these are the nearest means{of_metric}, which need not match; to match by "
                "digits, give the value as text"
            )
        elif not self.matches:
            notes.append(f"no mean rounds to {self.value}; the nearest{of_metric} is shown")
        notes += self._notes_by_chance()
        if self.hint:
            notes.append(self.hint)
        notes.append("definitions that agree here may differ for other scores or another truth")
        return [table(columns, rows)], notes

    def _notes_by_chance(self) -> Iterator[str]:
        """Say how many means of each ring match, and how many would by chance."""
        if self.by_chance is None:
            return
        without_match = []
        for ring, expected in self.by_chance.items():
            if not self.n_means[ring]:
                continue
            name = _NO_DEPARTURE if ring == "own" else _UNNAMED.get(ring, ring)
            n_matches = sum(match.ring == ring for match in self.matches)
            if not n_matches:
                without_match.append(f"{name} ({self.n_means[ring]:,})")
                continue
            means = counted(self.n_means[ring], "distinct mean")
            verb = "rounds" if 1 in (n_matches, self.n_means[ring]) else "round"
            yield (
                f"{name}: {n_matches:,} of {means} {verb} to {self.value} "
                f"(by chance: {expected:.2g})"
            )
        if without_match:
            yield f"no match among the distinct means of: {', '.join(without_match)}"
        if self.matches:
            yield (
                "by chance: how many of these means a number drawn between half of "
                f"{self.value} and twice {self.value} would match on average; near 1 or above, a "
                "match proves little"
            )
        if len(self.matches) > 1:
            yield (
                f"{self.value} does not tell which of these {len(self.matches):,} rows was "
                "computed: give more digits, or identify a second metric as well"
            )


def _settings(match: Match) -> list[str]:
    """Write what the mean needs besides the metric, such as users counted as 0."""
    settings = []
    if match.undefined != policy_of(parse(match.metric).metric):
        # ``undefined="nan"`` does not reach a sum, which is 0 without gains.
        setting = f"undefined={match.undefined!r}"
        if match.undefined == "nan":
            setting = "users without relevant items left out"
        settings.append(setting)
    if match.ties not in ("index", "reversed"):
        settings.append(f"ties={match.ties!r}")
    if match.weight != "1":
        settings.append(f"mean weighted by {match.weight}")
    words = []
    if match.ties == "reversed":
        words.append(TIES_IN_WORDS["reversed"])
    if match.truth == "list items":
        words.append(TRUTHS_IN_WORDS["list items"])
    return settings + [setting for setting in words if setting not in match.departures]


def _notes_on_calls(rows: Sequence[Match]) -> Iterator[str]:
    """Say by which calls the systems of the first rows compute the definition."""
    for number, row in enumerate(rows[:_MAX_ROWS_WITH_CALLS], start=1):
        if row.systems:
            calls = _first_of(row.systems, _MAX_NAMES)
            yield f"row {number} is based on {'; '.join(calls)}"
    if not all(row.departures for row in rows):
        yield (
            f"to compute a row {_NO_DEPARTURE!r}, pass Metrics.compute the metric string, and as "
            "another argument what follows it, such as undefined='zero'; convention= follows the "
            "defaults of a system, and these calls may have other options"
        )
    in_words = [setting for row in rows for setting in _settings(row) if "=" not in setting]
    if in_words:
        yield f"what follows in words, such as {in_words[0]!r}, is no argument of Metrics.compute"


def _names_of_systems(match: Match) -> str:
    """Write the names of the systems of a match without their calls, the first four of many."""
    names = list(dict.fromkeys(system.partition(":")[0] for system in match.systems))
    return ", ".join(_first_of(names, _MAX_NAMES))


def _first_of(texts: Sequence[str], n: int) -> list[str]:
    """Take the first texts, and say how many more there are."""
    n_more = len(texts) - n
    return [*texts[:n], *([f"{n_more} more"] if n_more > 0 else [])]


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

    It computes the mean of many definitions, in five rings: (1) those of the systems that
    ``convention=`` knows; (2) those that depart from a system in one thing: users without relevant
    items left out or counted as 0 or 1, equal scores in another order, a cutoff of k - 1 or k + 1,
    no cutoff, no ``exclude``, or a mean over batches; (3) options that no system uses; (4) other
    metrics; (5) those that depart in several things. With so many definitions, some match by
    accident: ``by_chance`` says how many of a ring would match a random number.

    >>> import recmetrics
    >>> scores, truth = [[4, 3, 2, 1], [1, 2, 3, 4]], [[1, 0, 1, 1], [1, 0, 0, 1]]
    >>> found = recmetrics.identify(scores, truth, "0.417", "recall@2")  # (1/3 + 1/2) / 2
    >>> found.matches[0].metric, found.matches[0].departures
    ('recall(denom=relevant)@2', ())
    >>> found.matches[0].systems[0]
    'CAPRI: recallk(actual, predicted[:2])'

    Parameters
    ----------
    scores, truth
        As in ``Metrics.compute``.
    value
        The number. Text such as ``"0.0932"``, ``"0.0930"`` or ``"9.32 %"`` matches the means that
        round to it. A float gives the ten nearest means, the nearest first.
    metric
        A metric string of a metric that reads ranks, such as "ndcg@10". Its options are kept;
        without options, those of all systems are tried, and then all others.
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
        As in ``Metrics.compute``. Also raised for a value that is neither a number >= 0 nor the
        text of one, and for a metric that does not read ranks alone.
    """
    spec = read_metric(metric)
    rules = Request("mrr", ties="expected", nan=nan, n_threads=n_threads)
    sets: dict[str, Any] = {}
    if exclude is not None:
        sets["exclude"] = exclude
    if candidates is not None:
        sets["candidates"] = candidates
    source = read_scores(scores)

    @functools.cache  # the hits of whole lists with their tie groups serve all definitions
    def select(without: tuple[str, ...]) -> Selection:
        remaining = {name: items for name, items in sets.items() if name not in without}
        users = read_users(source, truth, remaining, rules)
        return find_hits(source, users, rules)

    def measure(definitions: Definitions, setting: Setting) -> Measured:
        request = Request.of(definitions, rules)
        selection = select(setting.without)
        selection = selection._replace(cutoffs=request.cutoffs(selection.cutoffs.n_items))
        if setting.truth == "list items":
            selection = selection._replace(hits=_of_list_items(selection.hits))
        if setting.is_reversed:
            selection = selection._replace(hits=_reversed(selection.hits))
        values = user_values(selection, request)

        def weigh(weight: UserWeight, spec: MetricSpec) -> FloatArray:
            return weights_by(weight, n_relevant(selection.hits, spec), spec.k)

        return Measured(values, weigh)

    hits = select(()).hits
    _, is_hit = hits_of_slots(hits)
    grades = np.unique(hits.ideal)
    problem = Problem(
        measure,
        sets=list(sets),
        has_ties=bool(np.any(hits.last[is_hit] > hits.first[is_hit])),
        has_outside=not is_hit.all(),
        grades=grades.tolist(),
    )
    return identify_by(problem, value, spec)


def n_relevant(hits: Hits, spec: MetricSpec) -> FloatArray:
    """Count the relevant items of each user, by the threshold of a metric, (n_users,)."""
    user_of_slot, _ = hits_of_slots(hits)
    is_relevant = hits.ideal >= (spec.threshold or 0.0)
    counts = np.bincount(user_of_slot[is_relevant], minlength=len(hits.n_hits))
    return counts.astype(np.float64)


def _of_list_items(hits: Hits) -> Hits:
    """Drop the relevant items that are in no list: those of whole lists may not be recommended."""
    _, is_hit = hits_of_slots(hits)
    fields: dict[str, Any] = {
        name: getattr(hits, name)[is_hit] for name in ("rank", "first", "last", "gain")
    }
    start = np.append(0, np.cumsum(hits.n_hits))
    ideal = fields["gain"].copy()
    return hits._replace(start=start, n_relevant=hits.n_hits, ideal=ideal, **fields)


def _reversed(hits: Hits) -> Hits:
    """Rank equal scores by descending item index: the n-th of a tie group is the n-th from its end.

    Hits stay in the order of their ranks.
    """
    user_of_slot, is_hit = hits_of_slots(hits)
    slots = np.flatnonzero(is_hit)
    ranks = hits.first[slots] + hits.last[slots] - hits.rank[slots]
    order = np.lexsort((ranks, user_of_slot[slots]))
    rank = hits.rank.copy()
    gain = hits.gain.copy()
    rank[slots] = ranks[order]
    gain[slots] = hits.gain[slots][order]
    return hits._replace(rank=rank, gain=gain)


def read_metric(metric: str) -> MetricSpec:
    """Read a metric that ``identify`` can try: one that reads the ranks of relevant items alone."""
    with at_fault("metric"):
        spec = parse(metric)
    if spec.metric.reads != "hits" or spec.is_weighed or spec.stratum is not None:
        names = ", ".join(name for name in METRICS if METRICS[name].reads == "hits")
        msg = f"metric must be one of {names}, without of= and weigh=, got {metric!r}"
        raise ArgumentError(msg, argument="metric")
    return spec


def identify_by(problem: Problem, value: str | float, spec: MetricSpec) -> Identification:
    """Find the definitions of a metric whose mean is a number."""
    value, number, decimals = _read_value(value, spec)
    others: list[OfSystem] = []
    if not spec.options:  # those of another metric would not have them
        others = others_than(spec, problem)
    systems = [*variants_of_systems(spec, problem), *of_the_name(spec, others)]
    trials_of_mean: dict[str, list[Trial]] = {}
    has_value = False  # of this metric
    for trial in trials_of(spec, problem, systems, others):
        trials_of_mean.setdefault(f"{trial.mean:{_SAME_MEAN_FORM}}", []).append(trial)
        has_value |= RINGS[trial.ring] != "another metric"
    if not has_value:
        msg = f"no user has a value of {spec}; expected scores and truth of at least one user"
        raise InputError(msg)

    # Index i of these arrays is the i-th distinct mean, with its trials.
    groups = list(trials_of_mean.values())
    means = np.array([trials[0].mean for trials in groups])
    rings = np.array([min(trial.ring for trial in trials) for trials in groups])
    distances = np.abs(means - number)
    by_distance = np.argsort(distances, kind="stable")
    _, upper_bound = spec.bounds
    if number <= upper_bound:  # the nearest is one of this metric, unless that cannot be
        by_distance = by_distance[rings[by_distance] != RINGS.index("another metric")]
    indices = by_distance[:_N_NEAREST].tolist()
    nearest_index = indices[0]
    by_chance = None
    if decimals is not None:
        half_unit = 0.5 * 10.0**-decimals  # of the last digit
        indices = np.flatnonzero(distances <= half_unit + _ROUNDING).tolist()
        by_chance = {
            ring: _expected_matches(means[rings == i], number, half_unit, spec)
            for i, ring in enumerate(RINGS)
        }

    matches = {}
    departures = {}  # by which matches of text are sorted
    for i in {*indices, nearest_index}:
        departures[i], matches[i] = _match(groups[i], systems, others, float(distances[i]))
    if decimals is not None:
        indices.sort(key=lambda i: (departures[i], distances[i]))
    hint = ""
    if upper_bound < number:
        hint = f"values of {spec} are at most {upper_bound:g}"
        if number <= 100 * upper_bound:
            hint += f"; if this is a percentage, give '{value} %'"
    return Identification(
        metric=str(spec),
        value=value,
        matches=tuple(matches[i] for i in indices),
        nearest=matches[nearest_index],
        n_definitions=sum(map(len, groups)),
        n_distinct=len(groups),
        low=float(means.min()),
        high=float(means.max()),
        n_means={ring: int(np.count_nonzero(rings == i)) for i, ring in enumerate(RINGS)},
        by_chance=by_chance,
        hint=hint,
    )


def _expected_matches(
    means: FloatArray, number: float, half_unit: float, spec: MetricSpec
) -> float:
    """How many of the means match a random number near this one, as expected.

    Such a number matches a mean with the share of its range that is near the mean.
    """
    low = number / _WINDOW - half_unit
    high = number * _WINDOW + half_unit
    if number <= spec.bounds[1]:
        high = min(high, spec.bounds[1] + half_unit)
    widths = np.minimum(means + half_unit, high) - np.maximum(means - half_unit, low)
    return float(np.maximum(widths, 0.0).sum() / (high - low))


def _read_value(value: object, spec: MetricSpec) -> tuple[str | float, float, int | None]:
    """Read (value, number, decimals), and refuse a value that no metric can have.

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
    if number < 0:
        msg = f"value must be >= 0, as those of {spec}, got {literal}"
        raise ArgumentError(msg, argument="value")
    return value if isinstance(value, str) else number, number, decimals


def _has_options_of(variant: Variant, other: Variant) -> bool:
    """Say whether two variants are of the same metric and options, whatever their cutoffs."""
    return (variant.spec.name, variant.spec.options) == (other.spec.name, other.spec.options)


def _n_settings(variant: Variant) -> tuple[int, int]:
    """The number of options of a variant, and of settings that are written behind them."""
    is_set = variant.undefined != policy_of(variant.spec.metric)
    return len(variant.spec.options), is_set + (variant.weight != "1")


class _Pair(NamedTuple):
    """A variant that was tried, beside that of a system with the same options."""

    departures: Departures
    variant: Variant
    call: str  # of the system


def _match(
    trials: Sequence[Trial],
    systems: Sequence[OfSystem],
    others: Sequence[OfSystem],
    distance: float,
) -> tuple[tuple[int, int, int], Match]:
    """Describe a mean by the variant and the systems that are nearest to each other.

    ``trials`` have this mean. Gives also its ring, and how many departures in scope and in rules
    there are, by which matches are sorted.
    """
    ring_index = min(trial.ring for trial in trials)
    ring = RINGS[ring_index]
    trials_of_ring = [trial for trial in trials if trial.ring == ring_index]
    variants = [trial.variant for trial in trials_of_ring]
    if ring in _UNNAMED:
        # Of equally near variants, the one with the fewest options and settings.
        nearest = min(trials_of_ring, key=lambda t: (t.n_departures, _n_settings(t.variant)))
        variant = nearest.variant
        departures = Departures([], [])
        departures_in_words: tuple[str, ...] = (_UNNAMED[ring],)
        # Unused options are in no call.
        calls = [call for call, of_system in others if of_system in variants]
    else:
        pairs = [
            _Pair(tried.departures(of_system), tried, call)
            for tried in variants
            for call, of_system in systems
            if _has_options_of(tried, of_system)
        ]
        departures, variant, _ = min(
            pairs,
            key=lambda pair: (
                pair.departures.n,
                len(pair.departures.scope),
                _n_settings(pair.variant),
            ),
        )
        departures_in_words = (*departures.rules, *departures.scope)
        calls = [pair.call for pair in pairs if pair.departures == departures]
    spellings = [
        str(tried.spec) for tried in variants if tried._replace(spec=variant.spec) == variant
    ]
    match = Match(
        metric=str(variant.spec),
        mean=trials[0].mean,
        distance=distance,
        ring=ring,
        systems=tuple(dict.fromkeys(calls)),
        departures=departures_in_words,
        n_definitions=len(trials),
        same_mean=tuple(dict.fromkeys(spec for spec in spellings if spec != str(variant.spec))),
        **{name: field for name, field in variant._asdict().items() if name != "spec"},
    )
    return (ring_index, len(departures.scope), len(departures.rules)), match
