"""``SummedSamples``: samples of which sums of the values of each model and pair are known.

The sums are those of a stream, or ``ValueSums``, which workers make of the values of their users.

They give the moments that ``Samples`` compute from values. A pair has the sums of x, the value of
the model that is earlier by name, and of d, the difference of the later one from it. Any new -
share x old is p x + q d, and its powers are sums of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from recmetrics._core.errors import ArgumentError, InputError
from recmetrics._core.results import ROUNDING, JointSums, Totals, key_of
from recmetrics._core.stream import StreamEvaluator
from recmetrics._report.bounds import Floats, Moments, Range, WeightSums
from recmetrics._report.result_tables import Columns, bounds_if_known, origin_of, require
from recmetrics._report.samples import Samples

_NO_USERS = np.empty(0, np.intp)  # where values would have the indices of users


class ValueSums(NamedTuple):
    """Sums of the values of some users, which join with those of others."""

    joint: JointSums
    per_user: tuple[str, ...]  # the metrics of ``joint``, in order
    n_weightless: dict[str, int]  # users of weight 0, by model; empty without weights

    @classmethod
    def of(cls, samples: Samples) -> Self:
        """Sum the values of samples, without metrics of all lists; models by their names."""
        values = {
            name: np.stack([samples.values[model][metric] for metric in samples.metrics])
            for name, model in sorted((model or "", model) for model in samples.models)
        }
        weights = samples.weights
        n_weightless = {}
        if weights is None:
            weights = np.ones(next(iter(values.values())).shape[1])
        else:
            n_weightless = dict.fromkeys(values, samples.n_weightless or 0)
        bounds = [*map(samples.bounds.__getitem__, samples.metrics)]
        rounding = np.reshape([*map(samples.rounding.__getitem__, samples.metrics)], (-1, 1))
        joint = JointSums.of(values, bounds, samples.groups, weights, rounding)
        return cls(joint, samples.metrics, n_weightless)

    def joined(self, other: Self) -> Self:
        """The sums of the users of both."""
        n_weightless = {
            model: self.n_weightless.get(model, 0) + other.n_weightless.get(model, 0)
            for model in {**self.n_weightless, **other.n_weightless}
        }
        joint = JointSums.joined([self.joint, other.joint])
        return self._replace(joint=joint, n_weightless=n_weightless)

    def completed(self) -> Self:
        """These sums, with those of no user for each model in a group where it has none."""
        samples = self.joint.samples
        groups = dict.fromkeys(group for group, _, _ in samples)
        pairs = sorted({(model, earlier or "") for _, model, earlier in samples})
        all_samples = tuple(
            (group, model, earlier or None) for group in groups for model, earlier in pairs
        )
        return self._replace(joint=self.joint.with_samples(all_samples))


class Users(NamedTuple):
    """Some of the users."""

    n: int
    weight: float  # the sum of their weights


class SummedValues(NamedTuple):
    """The counts and moments that ``Values`` have, from sums of the values."""

    moments: Moments
    below: Users  # whose value is below 0
    above: Users
    ends: tuple[float, float]  # the least and the largest value
    at_least: Users  # who have the least value
    at_largest: Users
    n_undefined: int
    users: Any = _NO_USERS
    weights: None = None

    @property
    def n_users(self) -> int:
        """The number of users with a value."""
        return int(self.moments.n)

    @property
    def mean(self) -> float:
        """The mean of the values, NaN without any."""
        return float(self.moments.mean)

    @property
    def n_effective(self) -> float | None:
        """The number of users of equal weight whose mean varies as much; None without weights."""
        if self.moments.weights is None:
            return None
        return float(self.moments.n_effective) if self.n_users else 0.0

    @property
    def can_bound(self) -> bool:
        """Whether the mean has bounds: there are two or more values, and none is infinite."""
        sums = (self.moments.mean, self.moments.squares, self.moments.cubes)
        return self.n_users >= 2 and all(map(math.isfinite, sums))

    @property
    def std(self) -> float:
        """The standard deviation; NaN for fewer than two values, and for infinite ones."""
        return float(self.moments.std) if self.can_bound else math.nan

    def sides(self, below: float, above: float) -> tuple[Moments, float, float] | None:
        """What ``bounds.Sample`` documents."""
        if not self.can_bound:
            return None
        n_below = self.moments.n_effective_of(*self._users_below(below))
        n_above = self.moments.n_effective_of(*self._users_above(above))
        return self.moments, n_below, n_above

    def n_below(self, limit: float) -> int:
        """Count the values below 0, or below a limit of all values."""
        return self._users_below(limit).n

    def n_above(self, limit: float) -> int:
        """Count the values above 0, or above a limit of all values."""
        return self._users_above(limit).n

    def _users_below(self, limit: float) -> Users:
        """The users whose value is below 0, or below a limit of all values."""
        if limit == 0:
            return self.below
        return self._all_but(self.at_largest, self.ends[1] == limit)

    def _users_above(self, limit: float) -> Users:
        """The users whose value is above 0, or above a limit of all values."""
        if limit == 0:
            return self.above
        return self._all_but(self.at_least, self.ends[0] == limit)

    def _all_but(self, users: Users, is_limit: bool) -> Users:
        """The users with a value, without ``users`` if their value is the limit."""
        weight = float(self.moments.total)
        if not is_limit:
            return Users(self.n_users, weight)
        return Users(self.n_users - users.n, weight - users.weight)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SummedSamples(Samples):
    """The sums of a stream or of workers as samples; only metrics of all lists have values."""

    joint: JointSums
    per_user: tuple[str, ...]  # the metrics of ``joint``, in order

    @property
    def keeps_values(self) -> bool:
        """False: these are sums."""
        return False

    def require_values(self, purpose: str) -> None:
        """Refuse a purpose that needs the value of each user."""
        raise ArgumentError(needs_values(purpose))

    def limits(self, metric: str) -> Range:
        """The range of a metric: that of its definition, else that of the values of all models."""
        if metric in self.system:
            values = [self.values[model][metric] for model in self.models]
        else:
            values = [np.array(self.of(None, metric, model).ends) for model in self.joint.models]
        return Range.of(values, *self.bounds[metric])

    def of(
        self,
        group: Any,
        metric: str,
        model: str,
        against: str | None = None,
        share: float = 1.0,
        offset: float = 0.0,
    ) -> Any:
        """Take the sums of a model in a group, or those of new - share x old - offset of a pair."""
        if metric in self.system:
            return Samples.of(self, group, metric, model, against, share, offset)
        earlier = None
        of_earlier = 0.0  # the factor of x, and of the difference d
        of_difference = 1.0
        later = model or ""
        if against is not None:
            earlier, later = sorted([model, against])
            of_earlier = 1.0 - share
            if model == earlier:
                of_difference = -share
        place = self.joint.samples.index((group, later, earlier))
        sums = [array[place, self.per_user.index(metric)] for array in self.joint[1:]]
        counts, ends, at_ends, side_weights, end_weights, totals, tables = sums
        n_events, n_users, *n_on_sides = counts.tolist()
        above, below = map(Users, n_on_sides, side_weights.tolist())
        at_least, at_largest = map(Users, at_ends.tolist(), end_weights.tolist())
        least, largest_negated = ends.tolist()
        moments = _moments(n_users, totals, tables[..., 0], of_earlier, of_difference, offset)
        values = SummedValues(
            moments if self.weights is not None else moments._replace(weights=None),
            below=below,
            above=above,
            ends=(least, -largest_negated),
            at_least=at_least,
            at_largest=at_largest,
            n_undefined=n_events - n_users,
        )
        if of_difference < 0:  # those below and above are of d
            values = values._replace(below=above, above=below)
        return values


def _moments(
    n: int, totals: Floats, tables: Floats, of_earlier: float, of_difference: float, offset: float
) -> Moments:
    """The moments of p x + q d - offset, with p ``of_earlier`` and q ``of_difference``.

    ``totals`` are (2, 2), and ``tables`` (3, 4, 4), as those of ``JointSums``.
    """
    total_weight = float(tables[0, 0, 0])
    if not n:
        return Moments(0, math.nan, 0.0, 0.0, WeightSums(0.0, 0.0, 0.0, 0.0, 0.0))
    factors = np.array([of_earlier, of_difference])
    mean = float(factors @ totals.sum(axis=-1)) / total_weight - offset

    def sum_of_power(power: int, weights: int) -> float:
        """The sum of weight^weights times a power of the distance."""
        table = tables[weights - 1]
        terms = [
            math.comb(power, i) * of_earlier**i * of_difference ** (power - i) * table[i, power - i]
            for i in range(power + 1)
        ]
        return float(sum(terms))

    squares = max(0.0, sum_of_power(2, 1))
    cubes = sum_of_power(3, 1)
    sums = WeightSums(
        first=total_weight,
        second=float(tables[1, 0, 0]),
        third=float(tables[2, 0, 0]),
        second_distances=sum_of_power(1, 2),
        second_squares=max(0.0, sum_of_power(2, 2)),
    )
    if squares <= total_weight * (ROUNDING * mean) ** 2:  # distances that are rounding of the mean
        squares = 0.0
        cubes = 0.0
        sums = sums._replace(second_distances=0.0, second_squares=0.0)
    return Moments(n, mean, squares, cubes, sums)


def needs_values(purpose: str) -> str:
    """Say that sums do not suffice for a purpose, and what keeps values."""
    return (
        f"the value of each user is needed for {purpose}, and these are sums: type "
        "StreamEvaluator(..., keep='values') for each model, and give compare a dict of these, "
        "or values.toPandas() of Spark"
    )


def read_sums(
    results: StreamEvaluator | ValueSums, columns: Columns, only_of_values: Mapping[str, Any]
) -> SummedSamples:
    """Read sums; ``only_of_values`` are arguments that only values can have."""
    _refuse_only_of_values(only_of_values)
    if isinstance(results, ValueSums):
        sums = results.completed()
        return _samples_of(sums, sums.per_user, {})  # all that were asked for

    results.mean()  # refuses events without a value as ``undefined=`` says, and warns
    store = results._results
    totals = cast(Totals, store.content())
    metric_strings = tuple(store.request.definitions)
    for metric in columns.metrics or ():
        require("the stream", metric, metric_strings, "metrics")
    n_weightless = {}
    # The sum of the weights may be the number of events where their mean is 1. If the sum of their
    # squares is that number too, all are 1.
    n_with_value = totals.joint.counts[..., 1]
    weights = totals.joint.tables[..., 0, 0, 0, 0]
    squared_weights = totals.joint.tables[..., 1, 0, 0, 0]
    has_weights = np.any(weights != n_with_value) or np.any(squared_weights != n_with_value)
    if totals.n_weightless or has_weights:
        n_weightless = dict.fromkeys(totals.joint.models, totals.n_weightless)
    sums = ValueSums(totals.joint, tuple(store.request.per_user), n_weightless)
    samples = _samples_of(sums, columns.metrics or metric_strings, store.list_values())
    return replace(samples, are_rows=True, origin=origin_of(results))


def _refuse_only_of_values(arguments: Mapping[str, Any]) -> None:
    """Refuse the first of the arguments that is given, as only values can have it."""
    names = [name for name, value in arguments.items() if value is not None]
    if not names:
        return
    argument = names[0]
    if argument == "model":
        msg = (
            "model= names the column of a table that holds the models, and a stream has the names "
            "of its updates; leave model= out: the report has each model of the stream"
        )
        raise ArgumentError(msg, argument=argument)
    if argument not in ("by", "weights"):
        raise ArgumentError(needs_values(f"{argument}="), argument=argument)
    keywords = ", ".join(f"{name}={name}" for name in ("by", "weights") if name in names)
    msg = (
        f"{argument}= is too late for a stream, which keeps sums; expected it in each update: type "
        f"stream.update(scores, truth, {keywords})"
    )
    raise ArgumentError(msg, argument=argument)


def _samples_of(
    sums: ValueSums, metrics: tuple[str, ...], list_values: Mapping[str, Floats]
) -> SummedSamples:
    """Make samples of sums and of the values of metrics of all lists, by key."""
    joint = sums.joint
    values: dict[Any, dict[str, Floats]] = {}
    for model in joint.models:
        values[model or None] = dict.fromkeys(metrics, np.empty(0))
        for metric in metrics:
            if metric not in sums.per_user:
                values[model or None][metric] = np.atleast_1d(list_values[key_of(model, metric)])
    # One run, without users: runs do not vary.
    runs = {
        model: {metric: column[np.newaxis] for metric, column in columns_of_model.items()}
        for model, columns_of_model in values.items()
    }
    return SummedSamples(
        models=tuple(values),
        metrics=metrics,
        system=frozenset(metrics) - frozenset(sums.per_user),
        values=values,
        runs=runs,
        groups=dict.fromkeys((None, *sorted(joint.groups)), _NO_USERS),
        bounds={metric: bounds_if_known(metric) for metric in metrics},
        rounding=dict.fromkeys(metrics, ROUNDING),
        weights=np.empty(0) if sums.n_weightless else None,
        n_weightless=max(sums.n_weightless.values(), default=None),
        joint=joint,
        per_user=sums.per_user,
    )


def each_model(samples: SummedSamples) -> list[SummedSamples]:
    """The samples of each model alone, as ``summary`` reads them."""
    return [replace(samples, models=(model,)) for model in samples.models]


def require_pair(samples: Samples) -> None:
    """Refuse the sums of a single model."""
    if len(samples.models) < 2:
        msg = (
            "the stream has sums of a single model; expected those of two or more, which are "
            "compared event by event: type stream.update({'old': old, 'new': new}, truth)"
        )
        raise InputError(msg)
