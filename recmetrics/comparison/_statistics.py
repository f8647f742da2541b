"""Statistics of values and differences: means, quantiles, intervals, p-values, corrected p-values.

Nothing here holds more than a few copies of its input. scipy.stats is imported where it is called:
importing it takes longer than importing the package.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Test: TypeAlias = Literal["t", "wilcoxon", "permutation"]
Correction: TypeAlias = Literal["holm", "bh"]
Floats: TypeAlias = npt.NDArray[np.float64]

_Record = TypeVar("_Record")
SIGN_FLIPS = 9_999  # the smallest p-value of the permutation test is 1 / (flips + 1)
_EXACT_RANKS = 50  # differing users up to which untied ranks have their exact distribution
_ROUNDING = 1e-12
N_RESAMPLES = 2_000  # of the bootstrap
POWER = 0.8  # with which a difference is said to be detectable
_MOST_DRAWN = 1 << 12  # users in a resample; of more, random blocks are drawn
_DRAW_BYTES = 1 << 21  # fits a core's cache, which is twenty times faster
_BYTES_PER_DRAW = 24  # indices, how often each was drawn, that as a float


class Sums(NamedTuple):
    """Totals of values to resample, and the weights that divide them; None: 1 each."""

    totals: Floats
    weights: Floats | None


class Sample(NamedTuple):
    """The sums of each run of a model, to resample; all are of one size.

    For a difference, this includes the runs of the other model, unless they are subtracted already.
    The runs of the two models are drawn independently or, if ``paired``, together.
    """

    model: tuple[Sums, ...]
    against: tuple[Sums, ...] = ()
    paired: bool = False


def sums_of(values: Floats, weights: Floats | None, seed: int) -> Sums:
    """Make the sums to resample: one for each user, or for each random block of many users.

    A sum over random blocks varies as that over users. The width of the interval then errs by 1.1 %
    (its standard error, 1 / sqrt(2 x 4,096)); 2,000 resamples let each bound err by 3 % of it.
    """
    totals = values if weights is None else values * weights
    n = values.size
    if n <= _MOST_DRAWN:
        return Sums(totals, weights)
    block = np.random.default_rng([seed, n]).permutation(n) % _MOST_DRAWN
    sums = (np.bincount(block, each, _MOST_DRAWN) for each in (totals, weights))
    return Sums(*(each.astype(np.float64, copy=False) for each in sums))


def sums_of_runs(runs: Floats, weights: Floats | None, seed: int) -> tuple[Sums, ...]:
    """Make the sums to resample of several runs, (n_runs, n_users), of users with a value in any.

    If a user is undefined in some runs, the weights of this user in the other runs add up to 1. So
    the mean over all runs is the mean of the users' means over runs.
    """
    known = ~np.isnan(runs)
    counts = known.sum(axis=0)
    if (counts == len(runs)).all():
        return tuple(sums_of(run, weights, seed) for run in runs)
    shares = known / counts if weights is None else weights * known / counts
    return tuple(
        sums_of(run, share, seed)
        for run, share in zip(np.where(known, runs, 0.0), shares, strict=True)
    )


def sample_of_pair(
    runs: Iterable[Floats],
    weights: Floats | None,
    seed: int,
    paired: bool,
    known: Sequence[tuple[Sums, ...] | None] = (None, None),
) -> Sample:
    """Make the sample of a difference from the runs of both models, whose sums may be known."""
    new, old = runs
    if 1 in (len(new), len(old)):  # it has the same users as each run of the other
        return Sample(sums_of_runs(new - old, weights, seed))
    model, against = (
        sums or sums_of_runs(each, weights, seed)
        for sums, each in zip(known, (new, old), strict=True)
    )
    return Sample(model, against, paired)


def bounded(
    found: Iterable[tuple[_Record, Sample]], confidence: float, n_resamples: int, seed: int
) -> list[_Record]:
    """Give records the bounds of the percentile bootstrap intervals of their samples.

    Samples of one size use the same draws, which depend only on the size and the seed.

    The percentile method suffices for a mean; the jackknife of BCa takes time quadratic in the
    number of users. Importing scipy.stats takes longer than all resamples; for up to 4,096 users,
    the numbers are those of ``scipy.stats.bootstrap``.
    """
    records, samples = map(list, zip(*found, strict=True))
    of_size: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        of_size.setdefault(sample.model[0].totals.size, []).append(place)
    for size, places in of_size.items():
        if size >= 2:
            means = resampled([samples[place] for place in places], n_resamples, seed)
            for place, low, high in zip(places, *_middle(means, confidence), strict=True):
                records[place] = replace(records[place], low=low, high=high)
    return records


def _middle(means: Floats, share: float) -> list[list[float]]:
    """The bounds of the middle share of each row: all lower ones, then all upper ones."""
    tail = (1 - share) / 2
    bounds = [100 * tail, 100 * (1 - tail)]
    found = np.percentile(means, bounds, axis=1)
    for row in np.flatnonzero(np.isnan(found[0])):
        # In the drawn runs none of the drawn users has a value: such resamples are left out.
        known = means[row][~np.isnan(means[row])]
        if known.size:
            found[:, row] = np.percentile(known, bounds)
    return found.tolist()  # type: ignore[no-any-return]


def resampled(samples: Sequence[Sample], n_resamples: int, seed: int) -> Floats:
    """The means of each resample, (samples, resamples); all samples are of one size."""
    # The runs of a model stand in its mean and in its differences: they are summed once.
    sums = {id(each): each for one in samples for each in (*one.model, *one.against)}
    n = next(iter(sums.values())).totals.size
    generator = np.random.default_rng(seed)
    found = {place: (np.empty(n_resamples), np.full(n_resamples, float(n))) for place in sums}
    at_once = max(1, _DRAW_BYTES // (_BYTES_PER_DRAW * n))
    for start in range(0, n_resamples, at_once):
        stop = min(start + at_once, n_resamples)
        # Sums weighted by how often a user was drawn: no row is gathered for each resample.
        times = np.empty((stop - start, n))
        for row, drawn in zip(times, generator.integers(n, size=times.shape), strict=True):
            row[:] = np.bincount(drawn, minlength=n)
        for place, each in sums.items():
            totals, over = found[place]
            totals[start:stop] = _dot(times, each.totals)
            if each.weights is not None:
                over[start:stop] = _dot(times, each.weights)
    means = np.empty((len(samples), n_resamples))
    for row, sample in zip(means, samples, strict=True):
        row[:] = _mean_of_runs([found[id(each)] for each in sample.model], seed, 0)
        if sample.against:
            side = 0 if sample.paired else 1
            row -= _mean_of_runs([found[id(each)] for each in sample.against], seed, side)
    return means


def _mean_of_runs(runs: Sequence[tuple[Floats, Floats]], seed: int, side: int) -> Floats:
    """The mean of drawn runs, from their totals and divisors in each resample of users."""
    n = len(runs)
    drawn = np.random.default_rng([seed, n, side]).integers(n, size=(runs[0][0].size, n))
    total, over = np.zeros((2, drawn.shape[0]))
    for run, (own, divisor) in enumerate(runs):
        times = np.count_nonzero(drawn == run, axis=1)
        total += times * own
        over += times * divisor
    return total / over


def mean_of(values: Floats, weights: Floats | None = None) -> float:
    """Compute the mean of defined values, or with ``weights`` sum w x / sum w; NaN without any."""
    known = ~np.isnan(values)
    if not known.all():
        values, weights = values[known], None if weights is None else weights[known]
    if not values.size:
        return math.nan
    if weights is None:
        return float(values.mean())
    return float(_dot(weights, values) / weights.sum())


def mean_over_runs(runs: Floats) -> Floats:
    """Compute the mean of each user over the runs, (n_runs, n_users), in which it is defined.

    Equal runs have exactly their value, and the order of runs changes no bit: users who are equal
    in two models stay equal.
    """
    ordered = np.sort(runs, axis=0)
    counts = np.count_nonzero(~np.isnan(runs), axis=0)
    least = ordered[0]
    with np.errstate(all="ignore"):  # of differences that overflow
        return np.asarray(least + np.nansum(ordered - least, axis=0) / np.maximum(counts, 1))


def spread_of(values: Floats, weights: Floats | None = None) -> float:
    """Compute the standard deviation, with n - 1; NaN for fewer than two values.

    With ``weights`` the square root of sum w (x - mean)^2 / (sum w - sum w^2 / sum w).
    """
    if values.size < 2 or not np.isfinite(values).all():
        return math.nan
    if weights is None:
        return float(values.std(ddof=1))
    total = weights.sum()
    squares = _dot(weights, np.square(values - mean_of(values, weights)))
    return float(np.sqrt(squares / (total - _dot(weights, weights) / total)))


def quantiles_of(values: Floats, weights: Floats | None, shares: Sequence[float]) -> list[float]:
    """Compute quantiles as ``summary`` documents them; without values, they are NaN."""
    n = values.size
    if not n:
        return [math.nan] * len(shares)
    order = None if weights is None else np.argsort(values)
    below = np.arange(1.0, n + 1) if weights is None else np.cumsum(weights[order])
    wanted = np.array(shares) * below[-1]
    rounding = _ROUNDING * below[-1]
    first = np.minimum(np.searchsorted(below, wanted - rounding), n - 1)
    exact = np.abs(below[first] - wanted) <= rounding
    last = np.minimum(first + exact, n - 1)
    both = np.stack([first, last])
    ordered = np.partition(values, np.unique(both)) if order is None else values[order]
    low, high = ordered[both]
    return np.where(low == high, low, low / 2 + high / 2).tolist()  # type: ignore[no-any-return]


def effective_users(weights: Floats) -> float:
    """The number of users of equal weight whose mean varies as much: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / _dot(weights, weights)) if weights.size else 0.0


def p_value(test: Test, differences: Floats, seed: int, weights: Floats | None = None) -> float:
    """Compute the p-value of a test: 1 if no user differs, NaN for fewer than two users.

    SciPy is only called with values of which it does not warn: its warnings could be silenced only
    for the whole process, and a thread must not change that for others.
    """
    if differences.size < 2:
        return math.nan
    differing = (differences if weights is None else weights * differences)[differences != 0]
    if differing.size == 0:
        return 1.0
    if test == "t":
        mean, _, error = moments_of(differences, weights)
        return 2 * Estimate(-abs(mean), error, differences.size).p_below()
    return _wilcoxon(differing) if test == "wilcoxon" else _permutation(differing, seed)


def fewest_users(confidence: float) -> int:
    """The fewest users for whom equal signs of all differences are significant."""
    return next(n for n in count(2) if _all_signs_equal(n) < 1 - confidence)


def effect_size(mean: float, std: float) -> float:
    """Compute Cohen's d_z: mean of the differences / their standard deviation (ddof = 1)."""
    if not std:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / std


def correct(p_values: Sequence[float], correction: Correction | None) -> list[float]:
    """Correct p-values for their number; NaN stays and does not count."""
    p = np.array(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(p))
    if correction == "holm":
        tested = tested[np.argsort(p[tested])]
        stepped = np.maximum.accumulate(p[tested] * np.arange(tested.size, 0, -1))
        p[tested] = np.minimum(stepped, 1.0)
    elif correction == "bh" and tested.size:
        from scipy.stats import false_discovery_control

        p[tested] = false_discovery_control(p[tested], method="bh")
    return p.tolist()  # type: ignore[no-any-return]


def _all_signs_equal(n: int) -> float:
    """The exact two-sided p-value of the sign-flip test where all ``n`` differences are equal."""
    return 2.0 ** (1 - n)


def moments_of(values: Floats, weights: Floats | None = None) -> tuple[float, float, float]:
    """The mean, the standard deviation (ddof = 1), and the standard error of the mean.

    The last two are NaN for fewer than two values, and 0 where they are rounding.
    """
    mean, std = mean_of(values, weights), spread_of(values, weights)
    std = 0.0 if std <= _ROUNDING * abs(mean) else std
    n = values.size
    if weights is None or not std > 0:
        return mean, std, std / math.sqrt(n) if n else math.nan
    squares = np.square(weights * (values - mean)).sum()
    return mean, std, math.sqrt(n / (n - 1) * squares) / float(weights.sum())


class Estimate(NamedTuple):
    """A mean of n values, and what bounds it: its t statistic, or the resampled means of runs."""

    mean: float
    error: float
    n: int
    skewness: float = 0.0
    resampled: Floats | None = None

    def p_below(self) -> float:
        """The p-value of the test that the true mean is 0 or more, against less; at most 0.5."""
        from scipy.special import stdtr

        if self.resampled is not None:
            return (1 + np.count_nonzero(self.resampled >= 0)) / (1 + self.resampled.size)
        if not self.error:
            return _all_signs_equal(self.n) / 2 if self.mean < 0 else 0.5
        shift = _shift(self.skewness, self.n)
        t = min(self.mean / self.error + shift, 0.0)  # solves ``_quantile`` for the one of t
        return float(stdtr(self.n - 1, 2 * t / (1 + math.sqrt(1 - 8 * shift * t))))

    def bound(self, alpha: float, side: int) -> float:
        """The lower bound of the true mean, with side -1, or the upper one, with side 1."""
        if self.resampled is not None:
            return float(np.quantile(self.resampled, alpha if side < 0 else 1 - alpha))
        if self.error:
            return self.mean + side * self.error * _quantile(self.n, alpha, side * self.skewness)
        is_few = self.mean and _all_signs_equal(self.n) / 2 > alpha
        return side * math.inf if is_few else self.mean


def estimate_of(values: Floats, weights: Floats | None) -> Estimate:
    """Estimate a mean; its skewness takes weights and values as independent of each other.

    That of the terms of the linearised error would rest on the few users of large weight.
    """
    mean, _, error = moments_of(values, weights)
    away = values - mean
    skewness = mean_of(np.power(away / np.sqrt(mean_of(away**2, weights)), 3), weights)
    if weights is not None:
        skewness *= float(np.mean(weights**3) / np.mean(weights**2) ** 1.5)
    return Estimate(mean, error, values.size, skewness)


def _shift(skewness: float, n: int) -> float:
    """The part of skewness in a quantile of t; 0 where a bound would become less strict by it.

    The factor 1 + 8 / sqrt(n) is that of tests/campaigns/decisions.py.
    """
    return max(0.0, skewness) / (6 * math.sqrt(n)) * (1 + 8 / math.sqrt(n))


def _quantile(n: int, alpha: float, skewness: float) -> float:
    """The quantile 1 - alpha of t for skewed values, as ``Comparison.gate`` documents it."""
    from scipy.special import stdtrit

    q = float(stdtrit(n - 1, 1 - alpha))
    return q + _shift(skewness, n) * (1 + 2 * q**2)


def standard_errors(n: int, alpha: float, power: float, skewness: float = 0.0) -> float:
    """The true difference, in standard errors, that n users show with this power.

    It is the noncentrality of Student's t whose distribution has 1 - power below the quantile of
    the one-sided level alpha (Cohen: Statistical power analysis, 1988, ch. 2).
    """
    from scipy.special import nctdtrinc

    return float(nctdtrinc(n - 1, 1 - power, _quantile(n, alpha, skewness)))


def users_for(
    difference: float, error: float, n: int, alpha: float, power: float, skewness: float = 0.0
) -> int:
    """The users with whom a true difference is shown; ``error`` is that of the mean of n users."""
    size = abs(difference) / (error * math.sqrt(n))

    def suffice(users: int) -> bool:
        return standard_errors(users, alpha, power, skewness) <= size * math.sqrt(users)

    high = 2
    while not suffice(high):
        high *= 2
    return bisect_left(range(high), True, lo=max(high // 2, 2), key=suffice)


def _wilcoxon(differing: Floats) -> float:
    """The signed-rank test; versions of SciPy choose other distributions where ranks are tied."""
    from scipy.special import ndtr
    from scipy.stats import rankdata, wilcoxon

    n = differing.size
    sizes = np.abs(differing)
    order = np.argsort(sizes)
    larger = np.diff(sizes[order]) > _ROUNDING * sizes.max()  # than the one before
    levels = np.empty(n, np.intp)
    levels[order] = np.append(0, np.cumsum(larger))
    ranks: Floats = np.copysign(rankdata(levels), differing)
    if n <= _EXACT_RANKS and larger.all():
        return float(wilcoxon(ranks, method="exact").pvalue)
    if 2**n <= SIGN_FLIPS:
        return _every_flip(ranks)
    # Each sign is + or - by chance: the sum has the variance of the squares, tied or not.
    return float(2 * ndtr(-abs(ranks.sum()) / math.sqrt(_dot(ranks, ranks))))


def _every_flip(values: Floats) -> float:
    from scipy.stats import permutation_test

    every: Any = {"permutation_type": "samples", "n_resamples": SIGN_FLIPS}
    return float(permutation_test((values,), np.mean, **every).pvalue)


def _permutation(differing: Floats, seed: int) -> float:
    """The sign-flip test of the mean by all flips if there are few, else by random ones.

    ``permutation_test`` shuffles an array per user and takes a hundred times longer for these.
    """
    from scipy.stats import monte_carlo_test

    n = differing.size
    if n == 1:
        return 1.0  # both signs are equally far from zero
    if 2**n <= SIGN_FLIPS:
        return _every_flip(differing)
    generator = np.random.default_rng(seed)
    width = -(-n // 64) * 8  # full words of the generator, so that batches change no bit
    total = differing.sum()

    def keep(*, size: tuple[int, ...]) -> Floats:
        """1 where a difference keeps its sign, 0 where it is flipped."""
        drawn = np.frombuffer(generator.bytes(size[0] * width), np.uint8).reshape(-1, width)
        return np.unpackbits(drawn, axis=1, count=n).astype(np.float64)

    def mean(kept: Floats, axis: int) -> Any:  # noqa: ARG001  # SciPy's name
        return (2 * _dot(kept, differing) - total) / n

    drawn: Any = {"n_resamples": SIGN_FLIPS, "batch": max(1, _DRAW_BYTES // (9 * n))}
    observed = np.ones(n)  # every sign as it is
    return float(monte_carlo_test(observed, keep, mean, vectorized=True, **drawn).pvalue)


def _dot(weights: Floats, row: Floats) -> Floats:
    """Sum with weights in this thread: threads of BLAS wait for each other on a busy machine."""
    return np.einsum("...n,n->...", weights, row)  # type: ignore[no-any-return]
