"""Statistics of values and differences: means, quantiles, the bootstrap, p-values.

The bootstrap draws users with repeats and takes their mean: sums of values over sums of weights. A
resample of runs draws the runs of a model as well. What is drawn depends on the seed alone.

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
import numpy.typing as npt

from recmetrics._core.results import ROUNDING, dot, mean_of
from recmetrics._report.bounds import (
    Bounds,
    Floats,
    Moments,
    Range,
    Spread,
    bounds_of,
    interval_of,
    moments_of,
)

PairedTest: TypeAlias = Literal["t", "wilcoxon", "permutation"]
"""A test of the paired differences of two models."""
Correction: TypeAlias = Literal["holm", "bh"]
"""A correction of p-values for multiple tests."""

_Record = TypeVar("_Record")
SIGN_FLIPS = 9_999  # the smallest p-value of the permutation test is 1 / (flips + 1)
_MAX_EXACT_USERS = 50  # for as many who differ, untied ranks have their exact distribution
_MAX_DRAWN = 1 << 12  # users in a resample; more users are put into so many random blocks
_DRAW_BYTES = 1 << 21  # of draws at once: they fit a core's cache, which is twenty times faster
_BYTES_PER_DRAW = 24  # of a drawn index, how often it was drawn, and that as a float


class Sums(NamedTuple):
    """What is drawn in a resample: users, or blocks of users.

    The mean of a resample is the sum of the drawn ``totals`` / the sum of the drawn ``weights``.
    """

    totals: Floats  # value x weight, summed in a block
    weights: Floats | None  # None: 1 each


class Sample(NamedTuple):
    """The sums of each run of a model, to resample; the sums of all runs are of one size.

    For a difference, ``against`` holds those of the other model, or nothing if its values are
    subtracted already. The runs of the two are drawn independently or, if ``paired``, together.
    """

    model: tuple[Sums, ...]
    against: tuple[Sums, ...] = ()
    paired: bool = False


class Basis(NamedTuple):
    """The basis of an interval: bounds and the variances over runs, or a sample to resample.

    Without either, there is no interval.
    """

    bounds: Bounds | None = None
    spreads: Sequence[Spread] = ()
    sample: Sample | None = None


def sums_of(values: Floats, weights: Floats | None, seed: int) -> Sums:
    """Make the sums to resample: one for each user, or for each random block of many users.

    A sum over random blocks varies as that over users. The width of the interval then errs by 1.1 %
    (its standard error, 1 / sqrt(2 x 4,096)); 2,000 resamples let each bound err by 3 % of the
    width.
    """
    totals = values if weights is None else values * weights
    n = values.size
    if n <= _MAX_DRAWN:
        return Sums(totals, weights)
    block_of_user = np.random.default_rng([seed, n]).permutation(n) % _MAX_DRAWN
    # Without weights, ``bincount`` counts the users of each block: each weighs 1.
    sums = (np.bincount(block_of_user, array, _MAX_DRAWN) for array in (totals, weights))
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
    new: Floats,
    old: Floats,
    weights: Floats | None,
    seed: int,
    paired: bool,
    sums: Sequence[tuple[Sums, ...] | None] = (None, None),
) -> Sample:
    """Make the sample of new - old from the runs of both models, (n_runs, n_users) each.

    ``sums`` are those of each model, None where they are not known yet.
    """
    if 1 in (len(new), len(old)):  # a single run is subtracted from each run of the other model
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

    Also gives the metrics whose bounds rest on the least or largest value of all models, since
    their range is not known, where the bounds of ``levels`` do not count.
    """
    if n_resamples is not None:
        return _with_bootstrap_intervals(pairs, confidence, n_resamples, seed), set()
    records: list[Any] = []
    observed = set()
    record: Any
    for record, (bounds, spreads, _) in pairs:
        low, high = interval_of(bounds, confidence, spreads)
        widened: tuple[str, ...] = ()
        if bounds is not None and not math.isnan(low):
            widened = tuple(bounds.ends_with_added)
        records.append(replace(record, low=low, high=high, widened=widened))
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
    samples_by_size: dict[int, dict[int, Sample]] = {}  # size -> place of the record -> sample
    for place, (record, basis) in enumerate(pairs):
        records.append(record)
        if basis.sample is not None:
            size = basis.sample.model[0].totals.size
            samples_by_size.setdefault(size, {})[place] = basis.sample
    for size, samples in samples_by_size.items():
        if size >= 2:  # the mean of fewer users has no interval
            means = resampled([*samples.values()], n_resamples, seed)
            for place, low, high in zip(samples, *_middle(means, confidence), strict=True):
                records[place] = replace(records[place], low=low, high=high)
    return records


def _middle(means: Floats, share: float) -> list[list[float]]:
    """The bounds of the middle share of each row of ``means``: all lower bounds, all upper ones."""
    tail = (1 - share) / 2
    percents = [100 * tail, 100 * (1 - tail)]
    bounds = np.percentile(means, percents, axis=1)
    for row in np.flatnonzero(np.isnan(bounds[0])):
        # A mean is NaN if no drawn user has a value in a drawn run: such resamples are left out.
        defined = means[row][~np.isnan(means[row])]
        if defined.size:
            bounds[:, row] = np.percentile(defined, percents)
    return bounds.tolist()  # type: ignore[no-any-return]


def resampled(samples: Sequence[Sample], n_resamples: int, seed: int) -> Floats:
    """The means of each resample, (samples, resamples); all samples are of one size."""
    # The sums of a run, which are one object in its mean and in its differences, are drawn once.
    sums_of_run = {id(run): run for sample in samples for run in (*sample.model, *sample.against)}
    n = next(iter(sums_of_run.values())).totals.size
    generator = np.random.default_rng(seed)
    # The totals and the divisors of each resample, (n_resamples,), by the id of the run.
    resamples = {
        run: (np.empty(n_resamples), np.full(n_resamples, float(n))) for run in sums_of_run
    }
    n_at_once = max(1, _DRAW_BYTES // (_BYTES_PER_DRAW * n))
    for start in range(0, n_resamples, n_at_once):
        stop = min(start + n_at_once, n_resamples)
        # Sums weighted by how often a user was drawn: no row is gathered for each resample.
        times_drawn = np.empty((stop - start, n))
        shape = times_drawn.shape
        for times, users in zip(times_drawn, generator.integers(n, size=shape), strict=True):
            times[:] = np.bincount(users, minlength=n)
        for run, sums in sums_of_run.items():
            totals, divisors = resamples[run]
            totals[start:stop] = dot(times_drawn, sums.totals)
            if sums.weights is not None:
                divisors[start:stop] = dot(times_drawn, sums.weights)

    means = np.empty((len(samples), n_resamples))
    for means_of_sample, sample in zip(means, samples, strict=True):
        means_of_sample[:] = _mean_of_runs([resamples[id(run)] for run in sample.model], seed, 0)
        if sample.against:
            stream = 0 if sample.paired else 1  # 0 draws the same runs as of the model
            runs = [resamples[id(run)] for run in sample.against]
            means_of_sample -= _mean_of_runs(runs, seed, stream)
    return means


def _mean_of_runs(runs: Sequence[tuple[Floats, Floats]], seed: int, stream: int) -> Floats:
    """The mean of drawn runs in each resample of users, (n_resamples,).

    ``runs`` are the totals and the divisors of each run in each resample. As many runs are drawn as
    there are; the same ``stream`` of random numbers draws the same runs.
    """
    n_runs = len(runs)
    size = runs[0][0].size, n_runs
    draws = np.random.default_rng([seed, n_runs, stream]).integers(n_runs, size=size)
    total, divisor = np.zeros((2, draws.shape[0]))
    for run, (run_total, run_divisor) in enumerate(runs):
        times_drawn = np.count_nonzero(draws == run, axis=1)
        total += times_drawn * run_total
        divisor += times_drawn * run_divisor
    return total / divisor


def spreads_of_runs(
    new: Floats, old: Floats | None, weights: Floats | None, paired: bool = False
) -> list[Spread]:
    """Compute the variances over runs of the mean of a model, or of new - old.

    The runs, (n_runs, n_users), of two models vary independently, which gives two variances, or
    together, if ``paired``. A model with a single run does not vary: it has no variance.
    """
    if old is None:
        varying = [new]
    elif paired or 1 in (len(new), len(old)):
        varying = [new - old]
    else:
        varying = [new, old]
    spreads = []
    for runs in varying:
        means = means_of_runs(runs, weights)
        if means.size > 1:
            spreads.append(Spread.of(means))
    return spreads


def means_of_runs(runs: Floats, weights: Floats | None) -> Floats:
    """Compute the mean of each run, (n_runs, n_users), that has a value of any of the users."""
    means: Floats = np.array([mean_of(run, weights) for run in runs])
    return means[~np.isnan(means)]


def mean_over_runs(runs: Floats) -> Floats:
    """Compute the mean of each user over the runs, (n_runs, n_users), in which it is defined.

    The mean of equal values is exactly that value, and the order of runs changes no bit: users who
    are equal in two models stay equal. A user without a value in any run has NaN.
    """
    if len(runs) == 1:  # a twentieth of the time
        return np.asarray(runs[0] + 0.0)  # the 0 of -0.0, as below
    ordered = np.sort(runs, axis=0)
    counts = np.count_nonzero(~np.isnan(runs), axis=0)
    least = ordered[0]
    with np.errstate(all="ignore"):  # of differences that overflow
        return np.asarray(least + np.nansum(ordered - least, axis=0) / np.maximum(counts, 1))


def spread_of(values: Floats) -> float:
    """Compute the standard deviation; NaN for fewer than two values, and for infinite ones."""
    if values.size < 2 or not np.isfinite(values).all():
        return math.nan
    return float(moments_of(values).std)


def quantiles_of(values: Floats, weights: Floats | None, shares: Sequence[float]) -> list[float]:
    """Compute quantiles as ``summary`` documents them; without values, they are NaN."""
    n = values.size
    if not n:
        return [math.nan] * len(shares)
    if weights is None:
        weight_up_to = np.arange(1.0, n + 1)  # each place among the sorted values
    else:
        order = np.argsort(values)
        weight_up_to = np.cumsum(weights[order])
    targets = np.array(shares) * weight_up_to[-1]
    rounding = ROUNDING * weight_up_to[-1]
    lower_places = np.minimum(np.searchsorted(weight_up_to, targets - rounding), n - 1)
    # A quantile whose target is reached exactly is the mean of this value and the next one.
    is_exact = np.abs(weight_up_to[lower_places] - targets) <= rounding
    upper_places = np.minimum(lower_places + is_exact, n - 1)

    places = np.stack([lower_places, upper_places])
    # Without weights, only these places have to be in order.
    ordered = np.partition(values, np.unique(places)) if weights is None else values[order]
    low, high = ordered[places]
    # Halves are added, since a sum may overflow; equal values are taken as they are.
    return np.where(low == high, low, low / 2 + high / 2).tolist()  # type: ignore[no-any-return]


def effective_users(weights: Floats) -> float:
    """The number of users of equal weight whose mean varies as much: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / dot(weights, weights)) if weights.size else 0.0


def p_value(test: PairedTest, differences: Any, seed: int) -> float:
    """Compute the p-value of a test: 1 if no user differs, NaN for fewer than two users.

    ``differences`` are ``Values`` or, for the t test, sums of them. SciPy is only called with
    values of which it does not warn: its warnings could be silenced only for the whole process, and
    a thread must not change that for others.
    """
    if differences.n_users < 2:
        return math.nan
    if differences.n_below(0.0) == 0 and differences.n_above(0.0) == 0:
        return 1.0
    if test == "t":
        return _t_test(differences.moments)
    values = differences.values
    differs = values != 0
    if test == "wilcoxon":
        # Without weights, which change no rank.
        return _wilcoxon(values[differs], differences.rounding)
    weighted_values = values if differences.weights is None else differences.weights * values
    return _permutation(weighted_values[differs], seed, differences.rounding)


def fewest_users(test: PairedTest, has_range: bool, confidence: float) -> int:
    """The fewest users with whom a test can be significant: all have the greatest difference.

    ``has_range`` is True if the range of the metric is known: the p-value of "t" is then that of an
    interval that counts one more user.
    """

    def p_value_of_equal(n: int) -> float:
        if test == "t" and has_range:
            moments = Moments(n, mean=1.0, squares=0.0, cubes=0.0)
            return bounds_of(moments, Range(-1.0, 1.0, -1.0, 1.0)).p_value()
        return _all_signs_equal(n)

    return next(n for n in count(2) if p_value_of_equal(n) < 1 - confidence)


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
        # The smallest of n p-values is multiplied by n, the next by n - 1, and none may decrease.
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
    """The p-value of Student's test; without spread, of the exact sign-flip test."""
    from scipy.special import stdtr

    if not moments.squares > 0:
        return _all_signs_equal(moments.n)
    return 2 * float(stdtr(moments.n - 1, -abs(moments.mean) / moments.error))


def signed_ranks(differences: Floats, rounding: float) -> Floats:
    """The rank of the size of each difference, with its sign; no difference may be 0.

    Sizes that differ by rounding alone, a share of the largest, have one rank, the mean of theirs.
    """
    from scipy.stats import rankdata

    return np.copysign(rankdata(_numbers_of_sizes(differences, rounding)), differences)


def _numbers_of_sizes(differences: Floats, rounding: float) -> npt.NDArray[np.intp]:
    """Number the sizes of differences from the least on, those that differ by rounding alike.

    Its arrays are gone before SciPy ranks the numbers, which takes most memory of a comparison.
    """
    sizes = np.abs(differences)
    order = np.argsort(sizes)
    is_larger = np.diff(sizes[order]) > rounding * sizes.max()  # than the size before it
    numbers = np.empty(sizes.size, np.intp)
    numbers[order] = np.append(0, np.cumsum(is_larger))
    return numbers


def _wilcoxon(differences: Floats, rounding: float) -> float:
    """The p-value of the signed-rank test; no difference may be 0.

    The distribution is chosen here, since versions of SciPy differ in it where ranks are tied.
    """
    from scipy.special import ndtr
    from scipy.stats import wilcoxon

    n = differences.size
    ranks = signed_ranks(differences, rounding)
    if n <= _MAX_EXACT_USERS and np.unique(np.abs(ranks)).size == n:
        return float(wilcoxon(ranks, method="exact").pvalue)
    if 2**n <= SIGN_FLIPS:
        return _every_flip(ranks, ROUNDING)
    # Each sign is + or - by chance: the variance of the sum is the sum of the squared ranks.
    return float(2 * ndtr(-abs(ranks.sum()) / math.sqrt(dot(ranks, ranks))))


def _every_flip(values: Floats, rounding: float) -> float:
    """The p-value of the sign-flip test of the mean, by all 2^n flips of the signs of values."""
    from scipy.stats import permutation_test

    unit = _rounding_unit(values, rounding)

    def mean(flipped: Floats, axis: int) -> Any:
        return np.round(flipped.mean(axis=axis) / unit)

    all_flips: Any = {"permutation_type": "samples", "n_resamples": SIGN_FLIPS}
    return float(permutation_test((values,), mean, vectorized=True, **all_flips).pvalue)


def _rounding_unit(values: Floats, rounding: float) -> float:
    """The unit to which means of flipped values are rounded.

    Means that differ by rounding are then equal for every version of SciPy.
    """
    return float(rounding * np.abs(values).mean())


def _permutation(differences: Floats, seed: int, rounding: float) -> float:
    """The p-value of the sign-flip test of the mean, by all flips if few, else by random ones.

    ``permutation_test`` shuffles an array per user and takes a hundred times longer for these.
    """
    from scipy.stats import monte_carlo_test

    n = differences.size
    if n == 1:
        return 1.0  # both signs are equally far from zero
    if 2**n <= SIGN_FLIPS:
        return _every_flip(differences, rounding)
    generator = np.random.default_rng(seed)
    # Bytes of a flip: full words of the generator, rounded up, so that batches change no bit.
    n_bytes = -(-n // 64) * 8
    total = differences.sum()
    unit = _rounding_unit(differences, rounding)

    def draw_signs(*, size: tuple[int, ...]) -> Floats:
        """1 where a difference keeps its sign, 0 where it is flipped."""
        bits = np.frombuffer(generator.bytes(size[0] * n_bytes), np.uint8).reshape(-1, n_bytes)
        return np.unpackbits(bits, axis=1, count=n).astype(np.float64)

    def mean(signs: Floats, axis: int) -> Any:  # noqa: ARG001  # SciPy's name
        return np.round((2 * dot(signs, differences) - total) / n / unit)

    # A sign takes 9 bytes: one of ``unpackbits``, eight of a float.
    random_flips: Any = {"n_resamples": SIGN_FLIPS, "batch": max(1, _DRAW_BYTES // (9 * n))}
    observed = np.ones(n)  # every sign as it is
    test = monte_carlo_test(observed, draw_signs, mean, vectorized=True, **random_flips)
    return float(test.pvalue)
