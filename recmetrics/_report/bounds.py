"""Bounds of means, from the moments of the users' values; one more user where few are on a side.

    Moments       sums of values and weights about the mean, up to the third power
    Range         the least and the largest value of a metric, and of differences of its values
    Tail          a lower bound before its level is chosen; ``tail_of`` makes it
    Bounds        the tails of a mean on both sides; ``bounds_of`` makes them
    Sample        values as far as bounds need them: each of them, or sums
    Plan          the true mean that n users show, and the users who show a true mean

A bound is that of Student's t, moved by the skewness of the values, which endangers it where few
users are far away on its side. Where users on that side may be too few to be seen at all, one more
user counts, at the worst value that a user can have. Nothing is drawn.

``Moments`` and ``Tail`` hold numbers, or arrays of them with one entry for each sample.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._core.results import ROUNDING

Floats: TypeAlias = npt.NDArray[np.float64]
FEW_USERS = 10  # summary and compare add a user on a side of a mean with fewer users than these
MOST_USERS = 10**15  # a plan names no larger number of users
POWER = 0.8  # with which a difference is said to be detectable
_MAX_NONCENTRAL_USERS = 10**6  # of more, a noncentral t is taken as normal: SciPy's is slow there
_LEAST_LEVEL, _MOST_LEVEL = 1e-12, 0.5  # the limits of the search for a level where runs vary


class WeightSums(NamedTuple):
    """Sums of the weights of users, w, and of w^2 times powers of the distance from the mean, d."""

    first: Any  # sum of w
    second: Any  # of w^2
    third: Any  # of w^3
    second_distances: Any  # of w^2 d
    second_squares: Any  # of w^2 d^2


class Moments(NamedTuple):
    """The moments of the values of n users, about their mean; with weights, each weighs w."""

    n: Any
    mean: Any  # sum of w x / sum of w
    squares: Any  # sum of w d^2, with d = x - mean
    cubes: Any  # sum of w d^3
    weights: WeightSums | None = None  # None: each user weighs 1

    @property
    def total(self) -> Any:
        """The sum of the weights."""
        return self.n if self.weights is None else self.weights.first

    @property
    def weight_of_one(self) -> Any:
        """The weight of one more user: sum w^2 / sum w."""
        return 1.0 if self.weights is None else self.weights.second / self.weights.first

    def negated(self) -> Moments:
        """The moments of the negated values."""
        weights = self.weights
        if weights is not None:
            weights = weights._replace(second_distances=-weights.second_distances)
        return Moments(self.n, -self.mean, self.squares, -self.cubes, weights)

    def with_user(self, value: Any) -> Moments:
        """The moments with one more user, who weighs ``weight_of_one``."""
        weights = self.weights
        total = self.total
        weight = self.weight_of_one
        distance = value - self.mean
        shift = distance * weight / (total + weight)  # how far the mean moves

        # Chan, Golub and LeVeque (1983), and for cubes Pebay (2008), of n users and one more.
        squares = self.squares + shift * distance * total
        cubes = self.cubes + shift * distance * total * (distance - 2 * shift)
        cubes -= 3 * shift * self.squares

        if weights is not None:
            second_squares = weights.second_squares - 2 * shift * weights.second_distances
            second_squares += shift**2 * weights.second + (weight * (distance - shift)) ** 2
            weights = WeightSums(
                first=weights.first + weight,
                second=weights.second + weight**2,
                third=weights.third + weight**3,
                second_distances=math.nan,  # only to add one more user, which nobody does
                second_squares=second_squares,
            )
        return Moments(self.n + 1, self.mean + shift, squares, cubes, weights)

    @property
    def std(self) -> Any:
        """The standard deviation, with n - 1; weighted, with sum w - sum w^2 / sum w."""
        if self.weights is None:
            return np.sqrt(self.squares / (self.n - 1))
        freedom = self.weights.first - self.weights.second / self.weights.first
        return np.sqrt(self.squares / freedom)

    @property
    def error(self) -> Any:
        """The standard error of the mean; of a weighted one by its linearised variance."""
        n = self.n
        if self.weights is None:
            return np.sqrt(self.squares / (n - 1) / n)
        return np.sqrt(self.weights.second_squares * n / (n - 1)) / self.weights.first

    @property
    def n_effective(self) -> Any:
        """The number of users of equal weight whose mean varies as much: (sum w)^2 / sum w^2."""
        return self.n if self.weights is None else self.weights.first**2 / self.weights.second

    def n_effective_of(self, n_users: int, weight: Any) -> float:
        """The number of users of ``weight_of_one`` who weigh as much as these ``n_users`` do.

        It is at most ``n_users``, since a user of large weight is still one user.
        """
        if self.weights is None:
            return n_users
        return min(n_users, float(weight / self.weight_of_one))

    @property
    def skewness_of_weights(self) -> Any:
        """The factor by which terms of the mean, weight times value, are more skewed than values.

        It is that of weights and values that are independent.
        """
        if self.weights is None:
            return 1.0
        return self.weights.third / self.n / (self.weights.second / self.n) ** 1.5

    @property
    def skewness(self) -> Any:
        """The skewness of the values; 0 without spread.

        With weights, that of the terms of the mean, if weights and values are independent: their
        own skewness would rest on the few users of large weight.
        """
        variance = self.squares / self.total
        has_spread = variance > 0
        skewness = self.cubes / self.total / np.where(has_spread, variance, 1.0) ** 1.5
        return np.where(has_spread, skewness, 0.0) * self.skewness_of_weights


def moments_of(
    values: Floats, weights: Floats | None = None, rounding: float = ROUNDING
) -> Moments:
    """Sum the powers of the distances of values, (..., n_users), from their mean.

    The weights have the same shape; None: each user weighs 1. Distances that are rounding of the
    mean, ``rounding`` times its size, count as 0.
    """
    n = values.shape[-1]
    if weights is None:
        mean = values.mean(axis=-1)
    else:
        total = weights.sum(axis=-1)
        mean = np.einsum("...n,...n->...", weights, values) / total
    distances = values - np.expand_dims(mean, -1)
    weighted_distances = distances if weights is None else weights * distances
    weighted_powers = weighted_distances * distances
    squares = weighted_powers.sum(axis=-1)
    weighted_powers *= distances  # now of the third power, in the same memory
    cubes = weighted_powers.sum(axis=-1)

    is_rounding = squares <= n * (rounding * mean) ** 2
    squares = np.where(is_rounding, 0.0, squares)
    cubes = np.where(is_rounding, 0.0, cubes)
    if weights is None:
        return Moments(n, mean, squares, cubes)

    weighted_distances = np.where(np.expand_dims(is_rounding, -1), 0.0, weighted_distances)
    sums = WeightSums(
        first=total,
        second=np.square(weights).sum(axis=-1),
        third=np.power(weights, 3).sum(axis=-1),
        second_distances=(weights * weighted_distances).sum(axis=-1),
        second_squares=np.square(weighted_distances).sum(axis=-1),
    )
    return Moments(n, mean, squares, cubes, sums)


class Range(NamedTuple):
    """The worst and the best value that a user can have; the lower and the upper limit of a mean.

    A limit that is not known is infinite; the worst and the best value are then those of the users
    at hand.
    """

    least: float  # of a user
    largest: float
    floor: float = -math.inf  # of a mean
    ceiling: float = math.inf

    @classmethod
    def of(cls, values: Sequence[Floats], floor: float, ceiling: float) -> Range:
        """The range of a metric with these limits; ``values`` are those of some users, or models.

        Values beyond a limit are of another scale, such as per cent: the limit is then taken as not
        known.
        """
        least = math.inf
        largest = -math.inf
        for array in values:
            is_finite = np.isfinite(array)
            least = min(least, float(np.min(array, where=is_finite, initial=math.inf)))
            largest = max(largest, float(np.max(array, where=is_finite, initial=-math.inf)))
        if floor <= least and math.isfinite(floor):
            least = floor
        else:
            floor = -math.inf
        if ceiling >= largest and math.isfinite(ceiling):
            largest = ceiling
        else:
            ceiling = math.inf
        return cls(least, largest, floor, ceiling)

    def of_difference(self, share: float = 1.0) -> Range:
        """The range of new - share x old, of two values in this range."""
        if not share:
            return self
        least, largest = sorted([share * self.least, share * self.largest])
        floor, ceiling = sorted([share * self.floor, share * self.ceiling])
        return Range(
            self.least - largest, self.largest - least, self.floor - ceiling, self.ceiling - floor
        )

    def moved(self, distance: float) -> Range:
        """The range of the values + distance."""
        return Range(*(limit + distance for limit in self))

    def negated(self) -> Range:
        """The range of the negated values."""
        return Range(-self.largest, -self.least, -self.ceiling, -self.floor)


class Spread(NamedTuple):
    """The variance of a mean over the runs of a model, and its degrees of freedom."""

    variance: float
    freedom: float

    @classmethod
    def of(cls, means: Floats) -> Spread:
        """The variance of the mean over several runs, from the mean of each run, (n_runs,)."""
        return cls(float(np.var(means, ddof=1)) / means.size, means.size - 1)

    @classmethod
    def of_sum(cls, spreads: Sequence[Spread]) -> Spread | None:
        """The variance of a sum of independent means; None if it is 0 or infinite.

        The degrees of freedom are those of Satterthwaite (An approximate distribution of estimates
        of variance components, 1946).
        """
        variance = sum(spread.variance for spread in spreads)
        if not 0 < variance < math.inf:
            return None
        squares_by_freedom = sum(spread.variance**2 / spread.freedom for spread in spreads)
        return cls(variance, variance**2 / squares_by_freedom)


class Tail(NamedTuple):
    """A lower bound of a mean, before its level is chosen.

    With q, the quantile of Student's t, it is centre - error (q + shift (1 + 2 q^2)): a quantile
    of skewed values by Hall (Inverting an Edgeworth expansion, Annals of Statistics 1983).
    """

    centre: Any
    error: Any  # the standard error
    shift: Any  # by which the skewness of the values moves the quantile
    freedom: Any  # degrees of freedom of Student's t
    worst: Any = None  # the value of the added user; None: no user is added
    least: Any = -math.inf  # the least value that the mean can have
    runs: Spread | None = None  # of the mean over runs; None: runs do not vary
    resampled: Floats | None = None  # means of a bootstrap, whose bound counts where it is wider

    @property
    def is_observed(self) -> bool:
        """True if the bound counts one more user, although the range of the metric is unknown."""
        return self.worst is not None and not math.isfinite(self.least)

    def bound(self, alpha: Any) -> Any:
        """The bound with the one-sided error alpha."""
        bound = self.centre - self.distance(alpha)
        if self.resampled is not None:
            bound = np.minimum(bound, np.quantile(self.resampled, alpha))
        return np.maximum(bound, self.least)

    def distance(self, alpha: Any) -> Any:
        """How far the bound is from the centre.

        Where runs vary, too, their variance is added. The quantile is then the mean of both, each
        weighted by its variance (Cochran and Cox: Experimental Designs, 1957, section 4.14): with
        few runs, whose variance may be small by chance, Satterthwaite's would be too small.
        """
        from scipy.special import stdtrit

        q = stdtrit(self.freedom, 1 - alpha)
        q = q + self.shift * (1 + 2 * q**2)
        if self.runs is None:
            return self.error * q
        of_users = self.error**2
        of_runs = self.runs.variance
        q_of_runs = stdtrit(self.runs.freedom, 1 - alpha)
        return (of_users * q + of_runs * q_of_runs) / np.sqrt(of_users + of_runs)

    def level(self) -> Any:
        """The alpha with which the bound is 0: the one-sided p-value of a mean of 0 or less."""
        level = self._level_of_users() if self.runs is None else self._level_with_runs()
        if self.resampled is not None:
            n_at_most_0 = np.count_nonzero(self.resampled <= 0)
            level = np.maximum(level, (1 + n_at_most_0) / (1 + self.resampled.size))
        return level

    def _level_of_users(self) -> Any:
        """The level where runs do not vary; 0 or 1 without a standard error."""
        from scipy.special import stdtr

        has_no_error = np.equal(self.error, 0.0)
        t = self.centre / np.where(has_no_error, 1.0, self.error) - self.shift
        # q solves t = q + 2 shift q^2, the equation of a bound of 0. The maximum stands where there
        # is no solution: the bound is below 0 with every alpha.
        q = 2 * t / (1 + np.sqrt(np.maximum(0.0, 1 + 8 * self.shift * t)))
        level_without_error = np.where(np.greater(self.centre, 0), 0.0, 1.0)
        return np.where(has_no_error, level_without_error, stdtr(self.freedom, -q))

    def _level_with_runs(self) -> Any:
        """The level where runs vary, limited to 1e-12 and 0.5; no formula gives it."""
        from scipy.optimize import brentq

        if self.centre <= self.distance(_MOST_LEVEL):
            return _MOST_LEVEL
        if self.centre >= self.distance(_LEAST_LEVEL):
            return _LEAST_LEVEL
        level = brentq(lambda alpha: self.centre - self.distance(alpha), _LEAST_LEVEL, _MOST_LEVEL)
        return float(level)


def tail_of(moments: Moments, worst: Any = None) -> Tail:
    """Make a lower bound of the mean; ``worst`` is the value of one more user, None for none.

    The added user counts whole in the spread and in the skewness, and half in the centre. The half
    is a continuity correction: for values that are 0 or the worst, the bound then is that of
    Clopper and Pearson to its first orders.
    """
    if worst is None:
        extended = moments
        centre = moments.mean
        # Values without spread bound nothing.
        error = np.where(np.equal(moments.error, 0.0), math.inf, moments.error)
    else:
        extended = moments.with_user(worst)
        half = moments.weight_of_one / 2
        centre = (moments.mean * moments.total + worst * half) / (moments.total + half)
        error = extended.error
    shift = np.maximum(0.0, -extended.skewness) / (6 * np.sqrt(extended.n))
    return Tail(centre, error, shift, moments.n - 1, worst)


class Bounds(NamedTuple):
    """Two lower bounds: of a mean, and of the negated mean.

    The second, negated, is the upper bound of the mean.
    """

    moments: Moments
    lower: Tail
    upper: Tail
    limits: Range  # of the values
    n_below: float  # the effective numbers of users on the lower and the upper side
    n_above: float

    @property
    def ends_with_added(self) -> list[str]:
        """The ends of an interval, "low" and "high", that count one more user of another value.

        It is "equal" in place of both, if that is because all values are equal.
        """
        worst_of_end = {"low": self.lower.worst, "high": self.upper.worst}
        ends = [end for end, worst in worst_of_end.items() if worst is not None]
        if self.moments.squares > 0:
            return ends
        # The value of all users, up to the rounding of its mean.
        value = {"low": self.moments.mean, "high": -self.moments.mean}
        ends = [
            end for end in ends if not math.isclose(worst_of_end[end], value[end], abs_tol=1e-12)
        ]
        return ["equal"] if len(ends) == 2 else ends

    @property
    def is_observed(self) -> bool:
        """True if a side counts a user whose value is only the worst of those at hand."""
        return self.lower.is_observed or self.upper.is_observed

    @property
    def has_runs(self) -> bool:
        """True if not only users but also runs vary."""
        return self.lower.runs is not None

    @property
    def is_finite(self) -> bool:
        """False if nothing bounds the mean: without spread, where the range is not known."""
        return math.isfinite(max(self.lower.error, self.upper.error))

    def p_value(self) -> float:
        """1 - the confidence with which the two-sided interval ends at 0."""
        return min(1.0, 2 * float(min(self.lower.level(), self.upper.level())))

    def with_runs(self, spreads: Sequence[Spread]) -> Bounds:
        """These bounds with the variation over runs added, which is taken not to be skewed."""
        if not self.is_finite:
            return self
        spread = Spread.of_sum(spreads)
        lower = self.lower._replace(runs=spread)
        upper = self.upper._replace(runs=spread)
        return self._replace(lower=lower, upper=upper)

    def widened(self, means: Floats) -> Bounds:
        """These bounds, or those of the resampled means where they are wider."""
        lower = self.lower._replace(resampled=means)
        upper = self.upper._replace(resampled=-means)
        return self._replace(lower=lower, upper=upper)

    def users_for(self, n_equal: int) -> int:
        """The number of users, with weights like these, worth ``n_equal`` of equal weight."""
        if self.moments.weights is None:
            return n_equal
        return math.ceil(float(n_equal * self.moments.n / self.moments.n_effective))

    def plans(self) -> tuple[Plan, Plan]:
        """The plans of the lower and of the upper tail, for new users who are like these.

        Each knows the added user, since new users may be fewer on a side than these are.
        """
        n_users = self.moments.n_effective
        with_added = bounds_of(self.moments, self.limits)
        return (
            Plan.of(self.moments, with_added.lower, self.n_below / n_users),
            Plan.of(self.moments.negated(), with_added.upper, self.n_above / n_users),
        )

    def detectable(self, largest: float, alpha: float) -> float:
        """The least true mean, up to ``largest``, that as many users show; NaN if there is none."""
        n = float(self.moments.n_effective)
        means = [plan.detectable(n, largest, alpha, POWER) for plan in self.plans()]
        # It is math.nan itself, since records that hold the same object compare as equal.
        return math.nan if any(map(math.isnan, means)) else max(means)


def bounds_of(moments: Moments, limits: Range, n_below: float = 0, n_above: float = 0) -> Bounds:
    """Make the bounds of the mean of values within ``limits``.

    ``n_below`` and ``n_above`` are the effective numbers of users on the lower and the upper side;
    a side of fewer than ``FEW_USERS`` counts one more user. So the default adds a user to both
    sides.
    """
    has_spread = bool(moments.squares > 0)
    tails = []
    # The upper side is the lower side of the negated values.
    sides = ((moments, limits, n_below), (moments.negated(), limits.negated(), n_above))
    for side_moments, side_limits, n_users in sides:
        # Values without spread bound nothing unless it is known how far away other users can be.
        has_added = math.isfinite(side_limits.floor)
        if has_spread:
            has_added = n_users < FEW_USERS * (1 - ROUNDING)
        tail = tail_of(side_moments, side_limits.least if has_added else None)
        tails.append(tail._replace(least=side_limits.floor))
    lower, upper = tails
    return Bounds(moments, lower, upper, limits, n_below, n_above)


class Sample(Protocol):
    """The values of users, or differences, as far as bounds need them: each value, or sums."""

    def sides(self, below: float, above: float) -> tuple[Moments, float, float] | None:
        """The moments, and the effective numbers of users below and above; None without bounds.

        Each of the two is 0, or an end of the range of all values. The mean has no bounds where
        there are fewer than two values, or an infinite one.
        """


def bounds_of_mean(sample: Sample, limits: Range) -> Bounds | None:
    """Make the bounds of the mean of a metric, as ``summary`` shows it; None if it has none.

    The lower side has the users below the best value, the upper side those above the worst value.
    """
    return _bounds_beside(sample, limits, limits.largest, limits.least)


def bounds_of_difference(sample: Sample, limits: Range) -> Bounds | None:
    """Make the bounds of a mean difference; None if it has none.

    The lower side has the users who lose, the upper side those who gain.
    """
    return _bounds_beside(sample, limits, 0.0, 0.0)


def _bounds_beside(sample: Sample, limits: Range, below: float, above: float) -> Bounds | None:
    """Make bounds whose lower side has the users below one value, the upper those above another.

    None without bounds.
    """
    sides = sample.sides(below, above)
    if sides is None:
        return None
    moments, n_below, n_above = sides
    return bounds_of(moments, limits, n_below, n_above)


def interval_of(
    bounds: Bounds | None, confidence: float, runs: Sequence[Spread]
) -> tuple[float, float]:
    """The two-sided interval of a mean; NaN where it has no bounds, or only one.

    ``runs`` are the variances of the mean over runs, if there are several runs.
    """
    if bounds is None:
        return math.nan, math.nan
    bounds = bounds.with_runs(runs)
    alpha = (1 - confidence) / 2
    low = float(bounds.lower.bound(alpha))
    high = -float(bounds.upper.bound(alpha))
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.nan, math.nan
    return low, high


class Plan(NamedTuple):
    """How far the values of users who are yet to be measured spread, for one tail of their mean."""

    std: float  # of users of equal weight; weighted ones count as ``Moments.n_effective`` of them
    skewness: float
    worst: float | None  # the value of one more user, None for none
    weighting: float  # by which unequal weights multiply the shift of the quantile
    share: float  # of users on the side of the tail; from ``FEW_USERS`` on, none is added

    @classmethod
    def of(cls, moments: Moments, tail: Tail, share: float) -> Plan:
        """Plan for new users who are like those of these moments."""
        std = float(moments.error * np.sqrt(moments.n_effective))
        of_weights = moments.skewness_of_weights
        skewness = float(moments.skewness / of_weights)
        # A tail divides the skewness by the root of n, which counts each user, not effective ones.
        weighting = float(of_weights * np.sqrt(moments.n_effective / moments.n))
        return cls(std, skewness, tail.worst, weighting, share)

    def true_mean(self, n: float, mean: float, alpha: float, power: float) -> float:
        """The true mean that a bound of n users shows to be above 0, with this power.

        ``mean`` is a first guess of it, from which the distance of an added user is taken.
        """
        from scipy.special import nctdtrinc, ndtri

        squares = self.std**2 * (n - 1)
        cubes = self.skewness * n * (squares / n) ** 1.5
        tail = tail_of(Moments(n, mean, squares, cubes), self.worst)
        tail = tail._replace(shift=tail.shift * self.weighting)
        threshold = float(tail.distance(alpha))
        error = self.std / math.sqrt(n)
        if self.worst is not None:
            # The centre has to reach the threshold: the mean without the half of the added user.
            threshold = (threshold * (n + 0.5) - self.worst / 2) / n
        if self.worst is not None or n > _MAX_NONCENTRAL_USERS:
            return threshold + error * float(ndtri(power))
        # The noncentrality of t (Cohen: Statistical power analysis, 1988, ch. 2).
        return error * float(nctdtrinc(n - 1, 1 - power, threshold / error))

    def _true_mean_without_added(self, n: float, alpha: float, power: float) -> float:
        """The true mean shown if ``FEW_USERS`` or more of n users are on the side of the tail.

        The power is that of both together; infinite where these users are too few too often.
        """
        from scipy.special import bdtrc

        if n < FEW_USERS:
            return math.inf  # SciPy has NaN for the chance
        share = min(self.share, 1.0)  # the rounding of weights may exceed 1
        chance = float(bdtrc(FEW_USERS - 1, int(n), share))
        if chance <= power:
            return math.inf
        return self._replace(worst=None).true_mean(n, 0.0, alpha, power / chance)

    def detectable(self, n: float, largest: float, alpha: float, power: float) -> float:
        """The least true mean that a bound of n users shows; NaN if none up to ``largest``."""
        if not self.std > 0:
            return math.nan
        mean_without_added = self._true_mean_without_added(n, alpha, power)
        mean = 0.0
        previous = math.nan
        # This takes 5 to 15 steps. Within the range each is about half of the one before, or less.
        while mean <= largest:
            if abs(mean - previous) <= ROUNDING * mean:
                return mean
            previous = mean
            mean = min(self.true_mean(n, previous, alpha, power), mean_without_added)
        return math.nan

    def users(self, mean: float, alpha: float, power: float) -> int | None:
        """The number of users of equal weight whose bound shows this true mean.

        None for more than ``MOST_USERS``, and where nothing bounds the mean: without spread and
        an added user.
        """
        if not self.std > 0 and self.worst is None:
            return None

        def suffice(n: int) -> bool:
            """Say whether n users show the mean: with one more user, or as too few are rare."""
            return (
                self.true_mean(n, mean, alpha, power) <= mean
                or self._true_mean_without_added(n, alpha, power) <= mean
            )

        n_enough = 2
        while not suffice(n_enough):
            n_enough *= 2
            if n_enough > 2 * MOST_USERS:
                return None
        # The least number for which ``suffice`` is True: more users suffice, too.
        n_users = bisect_left(range(n_enough), True, lo=max(n_enough // 2, 2), key=suffice)
        return n_users if n_users <= MOST_USERS else None
