"""Statistics of values and differences: means, quantiles, the bootstrap, p-values.

Nothing here holds more than a few copies of its input. scipy.stats is imported where it is called:
importing it takes longer than importing the package.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from recmetrics._core.results import dot, mean_of
from recmetrics._report.bounds import (
    ROUNDING,
    Bounds,
    Floats,
    Moments,
    Spread,
    can_bound,
    interval_of,
    moments_of,
)

Test: TypeAlias = Literal["t", "wilcoxon", "permutation"]
Correction: TypeAlias = Literal["holm", "bh"]

_Record = TypeVar("_Record")
SIGN_FLIPS = 9_999  # the smallest p-value of the permutation test is 1 / (flips + 1)
_EXACT_RANKS = 50  # differing users up to which untied ranks have their exact distribution
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


class Basis(NamedTuple):
    """The basis of an interval: the bounds of a mean, and how runs vary; or what to resample."""

    bounds: Bounds | None = None
    spreads: Sequence[Spread] = ()
    sample: Sample | None = None


def sums_of(values: Floats, weights: Floats | None, seed: int) -> Sums:
    """Make the sums to resample: one for each user, or for each random block of many users.

    A sum over random blocks varies as that over users. The width of the interval then errs by 1.1 %
    (its standard error, 1 / sqrt(2 x 4,096)); 2,000 resamples let each bound err by 3 % of it.
    """
    totals = values if weights is None else values * weights
    n = values.size
    if n <= _MOST_DRAWN:
        return Sums(totals, weights)
    block_of_user = np.random.default_rng([seed, n]).permutation(n) % _MOST_DRAWN
    sums = (np.bincount(block_of_user, terms, _MOST_DRAWN) for terms in (totals, weights))
    return Sums(*(block_sums.astype(np.float64, copy=False) for block_sums in sums))


def sums_of_runs(runs: Floats, weights: Floats | None, seed: int) -> tuple[Sums, ...]:
    """Make the sums to resample of several runs, (n_runs, n_users), of users with a value in any.

    If a user is undefined in some runs, the weights of this user in the other runs add up to 1. So
    the mean over all runs is the mean of the users' means over runs.
    """
    is_defined = ~np.isnan(runs)
    counts = is_defined.sum(axis=0)
    if (counts == len(runs)).all():
        return tuple(sums_of(run, weights, seed) for run in runs)
    shares = is_defined / counts if weights is None else weights * is_defined / counts
    runs = np.where(is_defined, runs, 0.0)
    return tuple(sums_of(run, share, seed) for run, share in zip(runs, shares, strict=True))


def sample_of_pair(
    runs: Iterable[Floats],
    weights: Floats | None,
    seed: int,
    paired: bool,
    sums: Sequence[tuple[Sums, ...] | None] = (None, None),
) -> Sample:
    """Make the sample of a difference from the runs of both models, whose sums may be known."""
    new, old = runs
    if 1 in (len(new), len(old)):  # it has the same users as each run of the other
        return Sample(sums_of_runs(new - old, weights, seed))
    new_sums, old_sums = sums
    new_sums = new_sums or sums_of_runs(new, weights, seed)
    old_sums = old_sums or sums_of_runs(old, weights, seed)
    return Sample(new_sums, old_sums, paired)


def with_intervals(
    pairs: Iterable[tuple[_Record, Basis]],
    confidence: float,
    n_resamples: int | None,
    seed: int,
    levels: Collection[str] = (),
) -> tuple[list[_Record], set[str]]:
    """Give records their intervals: those of the bootstrap or, without resamples, of their bounds.

    Also gives the metrics whose bounds rest on the least or largest value of all models; bounds of
    ``levels`` do not count.
    """
    if n_resamples is not None:
        return _with_bootstrap_intervals(pairs, confidence, n_resamples, seed), set()
    records: list[Any] = []
    observed = set()
    record: Any
    for record, (bounds, spreads, _) in pairs:
        low, high = interval_of(bounds, confidence, spreads)
        records.append(replace(record, low=low, high=high))
        if bounds is not None and bounds.is_observed and record.model not in levels:
            observed.add(record.metric)
    return records, observed


def _with_bootstrap_intervals(
    pairs: Iterable[tuple[_Record, Basis]], confidence: float, n_resamples: int, seed: int
) -> list[_Record]:
    """Give records the percentile bootstrap intervals of their samples.

    Samples of one size use the same draws, which depend only on the size and the seed.

    The percentile method suffices for a mean; the jackknife of BCa takes time quadratic in the
    number of users. Importing scipy.stats takes longer than all resamples; for up to 4,096 users,
    the numbers are those of ``scipy.stats.bootstrap``.
    """
    records: list[Any] = []
    samples_by_size: dict[int, dict[int, Sample]] = {}  # each by the place of its record
    for place, (record, basis) in enumerate(pairs):
        records.append(record)
        if basis.sample is not None:
            size = basis.sample.model[0].totals.size
            samples_by_size.setdefault(size, {})[place] = basis.sample
    for size, samples in samples_by_size.items():
        if size >= 2:
            means = resampled([*samples.values()], n_resamples, seed)
            for place, low, high in zip(samples, *_middle(means, confidence), strict=True):
                records[place] = replace(records[place], low=low, high=high)
    return records


def _middle(means: Floats, share: float) -> list[list[float]]:
    """The bounds of the middle share of each row: all lower ones, then all upper ones."""
    tail = (1 - share) / 2
    percents = [100 * tail, 100 * (1 - tail)]
    bounds = np.percentile(means, percents, axis=1)
    for row in np.flatnonzero(np.isnan(bounds[0])):
        # In the drawn runs none of the drawn users has a value: such resamples are left out.
        defined = means[row][~np.isnan(means[row])]
        if defined.size:
            bounds[:, row] = np.percentile(defined, percents)
    return bounds.tolist()  # type: ignore[no-any-return]


def resampled(samples: Sequence[Sample], n_resamples: int, seed: int) -> Floats:
    """The means of each resample, (samples, resamples); all samples are of one size."""
    # The runs of a model stand in its mean and in its differences: they are summed once.
    run_sums = {id(run): run for sample in samples for run in (*sample.model, *sample.against)}
    n = next(iter(run_sums.values())).totals.size
    generator = np.random.default_rng(seed)
    resamples = {key: (np.empty(n_resamples), np.full(n_resamples, float(n))) for key in run_sums}
    at_once = max(1, _DRAW_BYTES // (_BYTES_PER_DRAW * n))
    for start in range(0, n_resamples, at_once):
        stop = min(start + at_once, n_resamples)
        # Sums weighted by how often a user was drawn: no row is gathered for each resample.
        times = np.empty((stop - start, n))
        for row, users in zip(times, generator.integers(n, size=times.shape), strict=True):
            row[:] = np.bincount(users, minlength=n)
        for key, sums in run_sums.items():
            totals, divisors = resamples[key]
            totals[start:stop] = dot(times, sums.totals)
            if sums.weights is not None:
                divisors[start:stop] = dot(times, sums.weights)

    means = np.empty((len(samples), n_resamples))
    for row, sample in zip(means, samples, strict=True):
        row[:] = _mean_of_runs([resamples[id(run)] for run in sample.model], seed, 0)
        if sample.against:
            side = 0 if sample.paired else 1
            row -= _mean_of_runs([resamples[id(run)] for run in sample.against], seed, side)
    return means


def _mean_of_runs(runs: Sequence[tuple[Floats, Floats]], seed: int, side: int) -> Floats:
    """The mean of drawn runs, from their totals and divisors in each resample of users."""
    n = len(runs)
    draws = np.random.default_rng([seed, n, side]).integers(n, size=(runs[0][0].size, n))
    total, divisor = np.zeros((2, draws.shape[0]))
    for run, (run_total, run_divisor) in enumerate(runs):
        times = np.count_nonzero(draws == run, axis=1)
        total += times * run_total
        divisor += times * run_divisor
    return total / divisor


def spreads_of_runs(
    new: Floats, old: Floats | None, weights: Floats | None, paired: bool = False
) -> list[Spread]:
    """Compute the variances over runs of the mean of a model, or of new - old.

    The runs, (n_runs, n_users), of two models vary independently or, if ``paired``, together.
    """
    if old is None:
        sides = [new]
    elif paired or 1 in (len(new), len(old)):
        sides = [new - old]
    else:
        sides = [new, old]
    spreads = []
    for runs in sides:
        means = means_of_runs(runs, weights)
        if means.size > 1:
            spreads.append(Spread.of(means))
    return spreads


def means_of_runs(runs: Floats, weights: Floats | None) -> Floats:
    """Compute the mean of each run, (n_runs, n_users), but of folds without any of the users."""
    means: Floats = np.array([mean_of(run, weights) for run in runs])
    return means[~np.isnan(means)]


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
    """Compute the standard deviation; NaN for fewer than two values, and for infinite ones."""
    if not can_bound(values):
        return math.nan
    return float(moments_of(values, weights).std)


def quantiles_of(values: Floats, weights: Floats | None, shares: Sequence[float]) -> list[float]:
    """Compute quantiles as ``summary`` documents them; without values, they are NaN."""
    n = values.size
    if not n:
        return [math.nan] * len(shares)
    if weights is None:
        sums = np.arange(1.0, n + 1)  # of the weights up to a place
    else:
        order = np.argsort(values)
        sums = np.cumsum(weights[order])
    targets = np.array(shares) * sums[-1]
    rounding = ROUNDING * sums[-1]
    lower_places = np.minimum(np.searchsorted(sums, targets - rounding), n - 1)
    is_exact = np.abs(sums[lower_places] - targets) <= rounding
    upper_places = np.minimum(lower_places + is_exact, n - 1)

    places = np.stack([lower_places, upper_places])
    # Without weights, only these places have to be in order.
    ordered = np.partition(values, np.unique(places)) if weights is None else values[order]
    low, high = ordered[places]
    return np.where(low == high, low, low / 2 + high / 2).tolist()  # type: ignore[no-any-return]


def effective_users(weights: Floats) -> float:
    """The number of users of equal weight whose mean varies as much: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / dot(weights, weights)) if weights.size else 0.0


def p_value(test: Test, differences: Floats, seed: int, weights: Floats | None = None) -> float:
    """Compute the p-value of a test: 1 if no user differs, NaN for fewer than two users.

    SciPy is only called with values of which it does not warn: its warnings could be silenced only
    for the whole process, and a thread must not change that for others.
    """
    if differences.size < 2:
        return math.nan
    terms = differences if weights is None else weights * differences
    terms = terms[differences != 0]
    if terms.size == 0:
        return 1.0
    if test == "t":
        return _t_test(moments_of(differences, weights))
    if test == "wilcoxon":
        return _wilcoxon(terms)
    return _permutation(terms, seed)


def fewest_users(confidence: float) -> int:
    """The fewest users for whom equal signs of all differences are significant."""
    return next(n for n in count(2) if _all_signs_equal(n) < 1 - confidence)


def effect_size(moments: Moments) -> float:
    """Compute Cohen's d_z: mean of the differences / their standard deviation (ddof = 1)."""
    mean = float(moments.mean)
    if not moments.squares:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / float(moments.std)


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


def _t_test(moments: Moments) -> float:
    """Student's test; without spread, the exact sign-flip test."""
    from scipy.special import stdtr

    if not moments.squares > 0:
        return _all_signs_equal(moments.n)
    return 2 * float(stdtr(moments.n - 1, -abs(moments.mean) / moments.error))


def _wilcoxon(differences: Floats) -> float:
    """The signed-rank test; versions of SciPy choose other distributions where ranks are tied."""
    from scipy.special import ndtr
    from scipy.stats import rankdata, wilcoxon

    n = differences.size
    sizes = np.abs(differences)
    order = np.argsort(sizes)
    is_larger = np.diff(sizes[order]) > ROUNDING * sizes.max()  # than the one before
    levels = np.empty(n, np.intp)
    levels[order] = np.append(0, np.cumsum(is_larger))
    ranks: Floats = np.copysign(rankdata(levels), differences)
    if n <= _EXACT_RANKS and is_larger.all():
        return float(wilcoxon(ranks, method="exact").pvalue)
    if 2**n <= SIGN_FLIPS:
        return _every_flip(ranks)
    # Each sign is + or - by chance: the sum has the variance of the squares, tied or not.
    return float(2 * ndtr(-abs(ranks.sum()) / math.sqrt(dot(ranks, ranks))))


def _every_flip(values: Floats) -> float:
    from scipy.stats import permutation_test

    unit = _rounding_unit(values)

    def mean(flipped: Floats, axis: int) -> Any:
        return np.round(flipped.mean(axis=axis) / unit)

    all_flips: Any = {"permutation_type": "samples", "n_resamples": SIGN_FLIPS}
    return float(permutation_test((values,), mean, vectorized=True, **all_flips).pvalue)


def _rounding_unit(values: Floats) -> float:
    """The distance up to which means of flipped values count as equal, in every SciPy version."""
    return float(ROUNDING * np.abs(values).mean())


def _permutation(differences: Floats, seed: int) -> float:
    """The sign-flip test of the mean by all flips if there are few, else by random ones.

    ``permutation_test`` shuffles an array per user and takes a hundred times longer for these.
    """
    from scipy.stats import monte_carlo_test

    n = differences.size
    if n == 1:
        return 1.0  # both signs are equally far from zero
    if 2**n <= SIGN_FLIPS:
        return _every_flip(differences)
    generator = np.random.default_rng(seed)
    n_bytes = -(-n // 64) * 8  # full words of the generator, so that batches change no bit
    total = differences.sum()
    unit = _rounding_unit(differences)

    def draw_signs(*, size: tuple[int, ...]) -> Floats:
        """1 where a difference keeps its sign, 0 where it is flipped."""
        bits = np.frombuffer(generator.bytes(size[0] * n_bytes), np.uint8).reshape(-1, n_bytes)
        return np.unpackbits(bits, axis=1, count=n).astype(np.float64)

    def mean(signs: Floats, axis: int) -> Any:  # noqa: ARG001  # SciPy's name
        return np.round((2 * dot(signs, differences) - total) / n / unit)

    random_flips: Any = {"n_resamples": SIGN_FLIPS, "batch": max(1, _DRAW_BYTES // (9 * n))}
    observed = np.ones(n)  # every sign as it is
    test = monte_carlo_test(observed, draw_signs, mean, vectorized=True, **random_flips)
    return float(test.pvalue)
