"""How often the bounds of ``compare``, ``summary`` and ``Comparison.gate`` err, by simulation.

    python tests/campaigns/decisions.py                      # some minutes; prints Markdown tables
    python tests/campaigns/decisions.py --only "few runs"    # figures whose name contains this
    python tests/campaigns/decisions.py --times 2000         # rough figures

A row of a table is a kind of data; a cell has 20,000 samples of n users, 5,000 of n = 5,000. The
samples of a cell are bounded at once, by the functions that the library uses. Some samples of each
cell are also given to ``compare``, ``summary`` and ``gate`` themselves, which must print the same
bounds. A cell is missed, and printed in bold, if it is beyond its limit by more than two standard
errors. A whole run writes a section of RUNS.md.
"""

import argparse
import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from runs import record
from scipy.special import stdtr, stdtrit

import recmetrics
from recmetrics import Comparison, Metrics
from recmetrics._report.bounds import FEW_USERS, Floats, Moments, Range, Tail, moments_of, tail_of

TIMES = 20_000
SIZES = (30, 100, 300, 1_000, 5_000)
MOST_USERS_OF_ALL_TIMES = 1_000  # of more users, a cell has a quarter of the samples
AT_ONCE = 4_000_000  # values of one model in a block
N_CHECKED = 3  # samples of a cell that the library itself judges
ALPHA = 0.05
N_GROUPS = 20
OF_METRIC = Range(0.0, 1.0, 0.0, 1.0)
SHORT, LONG = 0.1, 0.2  # standard deviations of differences
MEAN_OF_VALUES = 1.2 / 3.2  # of beta(1.2, 2)
N_OF_RUNS = 300  # users of models with several runs

Pair = tuple[Floats, Floats]  # values of new and of old, (samples, users)
Draw = Callable[[np.random.Generator, tuple[int, int]], Pair]


# --- Rows: kinds of data --------------------------------------------------------------------------


class Row(NamedTuple):
    """A kind of data, with its true mean difference, at which the margin of its rule lies."""

    name: str
    draw: Draw
    difference: float = 0.0
    share: float | None = None  # the same as a share of old, if the rule is in per cent
    metric: str = "ndcg@10"

    @property
    def rule(self) -> str:
        """The rule whose margin is the true difference."""
        if self.share is None:
            return f"{self.metric} >= {self.difference:+.17g}"
        return f"{self.metric} >= {100 * self.share:+g}%"

    @property
    def is_known(self) -> bool:
        """True if the library knows the range of the metric; it is from 0 to 1 then."""
        return self.metric in {"ndcg@10", "hit@10"}

    def contrast(self, new: Floats, old: Floats) -> tuple[Floats, Floats, Floats]:
        """The difference beyond the margin; the least and the largest that a user can have."""
        factor = 1.0 if self.share is None else 1 + self.share
        margin = self.difference if self.share is None else 0.0
        least, largest = self.ends(new, old)
        values = new - factor * old - margin
        return values, least - factor * largest - margin, largest - factor * least - margin

    def ends(self, new: Floats, old: Floats) -> Pair:
        """The range of the metric or, where it is not known, of the values of both models."""
        if self.is_known:
            n_samples = len(new)
            return np.zeros(n_samples), np.ones(n_samples)
        least = np.minimum(new.min(axis=-1), old.min(axis=-1))
        largest = np.maximum(new.max(axis=-1), old.max(axis=-1))
        return least, largest


def as_pair(difference: Floats) -> Pair:
    """Values from 0 to 1 that have this difference, which is cut to -1 and 1."""
    difference = np.clip(difference, -1.0, 1.0)
    return np.maximum(difference, 0.0), np.maximum(-difference, 0.0)


def of_hits(gain: float, lose: float) -> Draw:
    """Hits of new and old, where these shares of users gain and lose theirs."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
        u = rng.random(shape)
        return (u < gain).astype(float), (u > 1 - lose).astype(float)

    return draw


def zero_inflated(rng: np.random.Generator, shape: tuple[int, int], zeros: float) -> Floats:
    """Values of which this share is 0; the rest are from beta(1.2, 2)."""
    return rng.beta(1.2, 2, shape) * (rng.random(shape) >= zeros)


def of_zeros(zeros: float, equal: float = 0.0) -> Draw:
    """Models of equal quality, with a share of zeros and a share of users equal in both."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
        old = zero_inflated(rng, shape, zeros)
        new = zero_inflated(rng, shape, zeros)
        return np.where(rng.random(shape) < equal, old, new), old

    return draw


def set_to_zero(values: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Draw:
    """Models that are equal, but for 5 % of the values of new, which are 0."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
        old = values(rng, shape)
        return old * (rng.random(shape) >= 0.05), old

    return draw


def few_lose_all(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
    """1 % of users lose 1; the others gain as much, each 0.01, with a standard deviation 0.05."""
    gains = rng.normal(0.01 / 0.99, 0.05, shape)
    return as_pair(np.where(rng.random(shape) < 0.01, -1.0, gains))


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
    """Normal differences."""
    return as_pair(rng.normal(0.0, LONG, shape))


def gamma(scale: float, sign: int) -> Draw:
    """Differences with the skewness sign * 2 / sqrt(scale)."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
        return as_pair(sign * SHORT * (rng.gamma(scale, size=shape) - scale) / math.sqrt(scale))

    return draw


def as_column(draw: Draw) -> Draw:
    """The same differences, of values whose range nobody knows."""

    def drawn(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
        new, old = draw(rng, shape)
        level = rng.random(shape)
        return level + new - old, level

    return drawn


def few_drop_out(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
    """30 % of users have 1, the others 0; 1 % of all users lose it, none gains."""
    u = rng.random(shape)
    return ((u > 0.01) & (u < 0.3)).astype(float), (u < 0.3).astype(float)


def lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Revenues: 60 % of users have none."""
    return rng.lognormal(0.0, 1.0, shape) * (rng.random(shape) >= 0.6)


def cumulated(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Values like those of DCG: 60 % are 0, the others have no upper limit."""
    return rng.gamma(2.0, 1.5, shape) * (rng.random(shape) >= 0.6)


def unlimited(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
    """Values like ranks: skewed, without an upper limit."""
    values = rng.lognormal(0.0, 1.0, shape)
    return values, values


def less_by_5_percent(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
    """Values like those of DCG, drawn independently; those of new are 5 % smaller."""
    return 0.95 * cumulated(rng, shape), cumulated(rng, shape)


def clicks(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Counts of clicks of users who differ in activity."""
    return rng.poisson(rng.gamma(0.5, 4.0, shape)).astype(float)


@cache
def simulated_users(metric: str) -> Pair:
    """The values of 20,000 users, by two models of which new has less noise."""
    rng = np.random.default_rng(1)
    taste = rng.standard_normal((20_000, 100)).astype(np.float32)
    truth = rng.random(taste.shape) < 0.1 / (1 + np.exp(-3 * taste))
    old, new = (
        Metrics.compute(
            taste + noise * rng.standard_normal(taste.shape).astype(np.float32), truth, metric
        )[metric]
        for noise in (1.0, 0.9)
    )
    is_known = ~np.isnan(new - old)
    return new[is_known], old[is_known]


def of_models(metric: str, *, swapped: bool = False) -> Row:
    """Users of two simulated models; ``swapped`` exchanges the models of half of them."""
    new, old = simulated_users(metric)

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Pair:
        users = rng.integers(new.size, size=shape)
        if not swapped:
            return new[users], old[users]
        is_swapped = rng.random(shape) < 0.5
        return (
            np.where(is_swapped, old[users], new[users]),
            np.where(is_swapped, new[users], old[users]),
        )

    difference = 0.0 if swapped else float(np.mean(new - old))
    name = f"{metric} of two models" + ", exchanged at random" * swapped
    return Row(name, draw, difference, metric=metric)


RARE = (
    Row("hit@10, 0.5 % of users gain, 1.5 % lose", of_hits(0.005, 0.015), -0.01, metric="hit@10"),
    Row("hit@10, 1 % lose, none gains", of_hits(0.0, 0.01), -0.01, metric="hit@10"),
    Row("hit@10, 2 % gain, 3 % lose", of_hits(0.02, 0.03), -0.01, metric="hit@10"),
    Row(
        "ndcg@10, 5 % of the new values set to 0, most of which were 0",
        set_to_zero(lambda rng, shape: zero_inflated(rng, shape, 0.6)),
        -0.05 * 0.4 * MEAN_OF_VALUES,
        -0.05,
    ),
    Row("1 % of users lose 1, the rest gain 0.01 (sd 0.05)", few_lose_all),
)
SPREAD_OUT = (
    Row("normal", normal),
    Row("few large gains, skewness 1", gamma(4.0, 1)),
    Row("few large losses, skewness -1", gamma(4.0, -1)),
    Row("few large gains, skewness 2", gamma(1.0, 1)),
    Row("few large losses, skewness -2", gamma(1.0, -1)),
)
HALF_EQUAL = Row("70 % zeros, half of the users equal in both", of_zeros(0.7, equal=0.5))
INDEPENDENT = Row("70 % zeros, drawn independently", of_zeros(0.7))
NO_ZEROS = Row("no zeros, drawn independently", of_zeros(0.0))
OF_UNKNOWN_RANGE = (
    Row("dcg@10, 5 % of the new values set to 0", set_to_zero(cumulated), -0.06, -0.05, "dcg@10"),
    Row("dcg@10, 5 % less, drawn independently", less_by_5_percent, -0.06, -0.05, "dcg@10"),
    Row("clicks, 5 % of the new values set to 0", set_to_zero(clicks), -0.1, -0.05, "clicks"),
    Row("revenue, 5 % of the new values set to 0", set_to_zero(lognormal), -0.033, -0.05, "sales"),
    Row("orders, 1 % lose theirs, none gains", few_drop_out, -0.01, metric="orders"),
    *(
        row._replace(draw=as_column(row.draw), metric="column", name=f"column, {row.name}")
        for row in (RARE[4], SPREAD_OUT[0], SPREAD_OUT[2], SPREAD_OUT[4])
    ),
)


def of_gate() -> tuple[Row, ...]:
    """The rows of false passes and false fails."""
    return (*RARE, *SPREAD_OUT, of_models("ndcg@10"), of_models("hit@10"))


def of_difference() -> tuple[Row, ...]:
    """The rows of the coverage of differences."""
    return (*RARE, HALF_EQUAL, INDEPENDENT, NO_ZEROS, *of_gate()[len(RARE) :])


def of_null() -> tuple[Row, ...]:
    """The rows whose true difference is 0."""
    return (
        Row("hit@10, 1 % gain, 1 % lose", of_hits(0.01, 0.01), metric="hit@10"),
        Row("hit@10, 3 % gain, 3 % lose", of_hits(0.03, 0.03), metric="hit@10"),
        Row("hit@10, 15 % gain, 15 % lose", of_hits(0.15, 0.15), metric="hit@10"),
        RARE[4],
        HALF_EQUAL,
        INDEPENDENT,
        NO_ZEROS,
        *SPREAD_OUT,
        of_models("ndcg@10", swapped=True),
        of_models("hit@10", swapped=True),
    )


def of_mean() -> tuple[Row, ...]:
    """The rows of the coverage of means: those of new are read."""
    zeros = (0.0, 0.7, 0.9, 0.97)
    hits = (0.01, 0.05, 0.1, 0.3, 0.5, 0.9)
    return (
        *(
            Row(f"{share:.0%} zeros", of_zeros(share), (1 - share) * MEAN_OF_VALUES)
            for share in zeros
        ),
        *(Row(f"hit rate of {p:.0%}", of_hits(p, 0.0), p, metric="hit@10") for p in hits),
        Row("lognormal, no limit", unlimited, math.exp(0.5), metric="column"),
    )


# --- Bounds of many samples -----------------------------------------------------------------------


def samples_of(n: int, times: int) -> int:
    """The samples of a cell of n users."""
    return times if n <= MOST_USERS_OF_ALL_TIMES else times // 4


def drawn(draw: Draw, n: int, samples: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Draw the samples of a cell in blocks of whole sets of groups."""
    at_once = max(1, AT_ONCE // (n * N_GROUPS)) * N_GROUPS
    for start in range(0, samples, at_once):
        yield draw(rng, (min(at_once, samples - start), n))


def tails_of_gate(
    row: Row, new: Floats, old: Floats, weights: Floats | None = None
) -> tuple[Tail, Tail]:
    """The lower tail of the difference beyond the margin, and the upper one, of each sample."""
    values, least, largest = row.contrast(new, old)
    moments = moments_of(values, weights)
    tails = tail_of(moments, least), tail_of(moments.negated(), -largest)
    if row.is_known:
        return tails
    has_spread = moments.squares > 0
    lower, upper = (
        tail._replace(error=np.where(has_spread, tail.error, math.inf)) for tail in tails
    )
    return lower, upper


class Intervals(NamedTuple):
    """The interval of each sample, and its p-value, as ``compare`` shows them."""

    low: Floats
    high: Floats
    p: Floats


def intervals_of(
    values: Floats, limits: Range, n_below: Floats, n_above: Floats, alpha: float = ALPHA
) -> Intervals:
    """Bound means; a side of few users, or of values without spread, has one more user."""
    moments = moments_of(values)
    is_fixed = moments.squares == 0
    bounds, levels = [], []
    is_added = np.zeros(len(values), bool)
    for side, ends, n_users in (
        (moments, limits, n_below),
        (moments.negated(), limits.negated(), n_above),
    ):
        is_few = is_fixed | (n_users < FEW_USERS)
        plain = tail_of(side)._replace(least=ends.floor)
        extended = tail_of(side, ends.least)._replace(least=ends.floor)
        bounds.append(np.where(is_few, extended.bound(alpha / 2), plain.bound(alpha / 2)))
        levels.append(np.where(is_few, extended.level(), plain.level()))
        is_added |= is_few
    p = p_of_t(moments, np.any(values != 0, axis=-1))
    dual = np.minimum(1.0, 2 * np.minimum(*levels))
    is_raised = (p < dual) & (is_added | ((p < alpha) & (dual >= alpha)))
    return Intervals(bounds[0], -bounds[1], np.where(is_raised, dual, p))


def p_of_t(moments: Moments, differs: Floats) -> Floats:
    """Student's paired test; without spread, the exact sign-flip test."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(moments.n - 1, -np.abs(moments.mean) / moments.error)
    p = np.where(moments.squares > 0, p, 2.0 ** (1 - moments.n))
    return np.where(differs, p, 1.0)


def intervals_of_difference(new: Floats, old: Floats) -> Intervals:
    """The intervals of differences of metrics between 0 and 1."""
    values = new - old
    n_below = np.count_nonzero(values < 0, axis=-1)
    n_above = np.count_nonzero(values > 0, axis=-1)
    return intervals_of(values, OF_METRIC.of_difference(), n_below, n_above)


def intervals_of_mean(row: Row, values: Floats) -> Intervals:
    """The intervals of means, within the range that ``Row.ends`` gives."""
    least, largest = row.ends(values, values)
    n_below = np.count_nonzero(values < largest[:, None], axis=-1)
    n_above = np.count_nonzero(values > least[:, None], axis=-1)
    limits = OF_METRIC if row.is_known else Range(least, largest)
    return intervals_of(values, limits, n_below, n_above)


def former_bound(values: Floats) -> Floats:
    """The lower bound of the gate before it counted one more user, to compare the power with."""
    n = values.shape[-1]
    moments = moments_of(values)
    q = stdtrit(n - 1, 1 - ALPHA)
    shift = np.maximum(0.0, -moments.skewness) / (6 * math.sqrt(n)) * (1 + 8 / math.sqrt(n))
    return moments.mean - moments.error * (q + shift * (1 + 2 * q**2))


# --- The library itself ---------------------------------------------------------------------------


def require_equal(printed: Sequence[float], expected: Sequence[float], row: Row, n: int) -> None:
    """Raise if the library does not print the bounds that were counted."""
    wanted = [value if math.isfinite(value) else math.nan for value in expected]
    if not np.allclose(printed, wanted, rtol=1e-9, atol=1e-12, equal_nan=True):
        msg = f"{row.name}, n = {n:,}: the library prints {printed}, this campaign {wanted}"
        raise AssertionError(msg)


def require_gate(
    row: Row, new: Floats, old: Floats, weights: Floats | None, tails: tuple[Tail, Tail]
) -> None:
    """Compare the bounds of the first samples with those of ``Comparison.gate``."""
    lower = tails[0].bound(ALPHA)
    upper = -tails[1].bound(ALPHA)
    for i in range(min(N_CHECKED, len(new))):
        w = None if weights is None else weights[i]
        models = {"old": {row.metric: old[i]}, "new": {row.metric: new[i]}}
        comparison = recmetrics.compare(models, baseline="old", weights=w)
        if row.share is not None and not old[i].any():
            continue  # no share of a mean of 0
        [verdict] = comparison.gate(row.rule).verdicts
        bounds = verdict.margin + np.array([lower[i], upper[i]])
        require_equal([verdict.at_least, verdict.at_most], bounds.tolist(), row, new.shape[-1])
        word = "holds" if lower[i] >= 0 else "fails" if upper[i] < 0 else "open"
        if verdict.verdict != word:
            msg = f"{row.name}: the library says {verdict.verdict}, this campaign {word}"
            raise AssertionError(msg)


def require_compare(row: Row, new: Floats, old: Floats, intervals: Intervals) -> None:
    """Compare intervals and p-values of the first samples with those of ``compare``."""
    for i in range(min(N_CHECKED, len(new))):
        models = {"old": {row.metric: old[i]}, "new": {row.metric: new[i]}}
        [printed] = recmetrics.compare(models, baseline="old").differences
        require_equal(
            [printed.low, printed.high, printed.p_uncorrected["t"]],
            [float(each[i]) for each in intervals],
            row,
            new.shape[-1],
        )


def require_summary(row: Row, values: Floats, intervals: Intervals) -> None:
    """Compare intervals of the first samples with those of ``summary``."""
    for i in range(min(N_CHECKED, len(values))):
        [printed] = recmetrics.summary({row.metric: values[i]}).records
        bounds = [float(intervals.low[i]), float(intervals.high[i])]
        require_equal([printed.low, printed.high], bounds, row, values.shape[-1])


# --- Figures --------------------------------------------------------------------------------------


@cache
def errors_of_gate(row: Row, n: int, times: int, is_weighted: bool = False) -> tuple[float, float]:
    """The shares of samples that pass, and that fail, where the true difference is the margin."""
    rng = np.random.default_rng([n, 0])
    samples = samples_of(n, times)
    n_passed = n_failed = 0
    for block, (new, old) in enumerate(drawn(row.draw, n, samples, rng)):
        weights = rng.exponential(size=new.shape) if is_weighted else None
        tails = tails_of_gate(row, new, old, weights)
        if not block:
            require_gate(row, new, old, weights, tails)
        n_passed += np.count_nonzero(tails[0].bound(ALPHA) >= 0)
        n_failed += np.count_nonzero(-tails[1].bound(ALPHA) < 0)
    return n_passed / samples, n_failed / samples


def false_passes(row: Row, n: int, times: int) -> float:
    return errors_of_gate(row, n, times)[0]


def false_fails(row: Row, n: int, times: int) -> float:
    return errors_of_gate(row, n, times)[1]


def weighted_passes(row: Row, n: int, times: int) -> float:
    return errors_of_gate(row, n, times, is_weighted=True)[0]


def weighted_fails(row: Row, n: int, times: int) -> float:
    return errors_of_gate(row, n, times, is_weighted=True)[1]


def heavy_users_lose(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Pair]:
    """Weights of which few are large, and values of new that are lower, the larger the weight."""
    weights = rng.lognormal(0.0, 1.0, shape)
    return weights, as_pair(rng.normal(0.05 - 0.05 * weights, SHORT))


def passes_where_heavy_users_lose(n: int, times: int) -> float:
    """The share of weighted samples that pass at the margin if weights and values depend."""
    weights, (new, old) = heavy_users_lose(np.random.default_rng(13), (1, AT_ONCE))
    difference = float(np.average(new - old, weights=weights))
    row = Row("heavy users lose", normal, difference)
    rng = np.random.default_rng([n, 13])
    n_blocks = 20
    n_passed = 0
    for block in range(n_blocks):
        weights, (new, old) = heavy_users_lose(rng, (times // n_blocks, n))
        tails = tails_of_gate(row, new, old, weights)
        if not block:
            require_gate(row, new, old, weights, tails)
        n_passed += np.count_nonzero(tails[0].bound(ALPHA) >= 0)
    return n_passed / (times // n_blocks * n_blocks)


def fails_of_groups(row: Row, n: int, times: int) -> float:
    """The share of samples of which a group fails where all groups are at the margin."""
    rng = np.random.default_rng([n, 1])
    n_failed = 0
    for new, old in drawn(row.draw, n, times * N_GROUPS, rng):
        _, upper = tails_of_gate(row, new, old)
        # Holm: the first group to fail has the whole correction.
        is_failed = -upper.bound(ALPHA / N_GROUPS) < 0
        n_failed += np.count_nonzero(is_failed.reshape(-1, N_GROUPS).any(axis=1))
    return n_failed / times


def coverage_of_difference(row: Row, n: int, times: int) -> float:
    """The share of intervals of ``compare`` that contain the true difference."""
    rng = np.random.default_rng([n, 2])
    samples = samples_of(n, times)
    n_covered = 0
    for block, (new, old) in enumerate(drawn(row.draw, n, samples, rng)):
        intervals = intervals_of_difference(new, old)
        if not block:
            require_compare(row, new, old, intervals)
        is_covered = (intervals.low <= row.difference) & (row.difference <= intervals.high)
        n_covered += np.count_nonzero(is_covered)
    return n_covered / samples


def coverage_of_mean(row: Row, n: int, times: int) -> float:
    """The share of intervals of ``summary`` that contain the true mean."""
    rng = np.random.default_rng([n, 3])
    samples = samples_of(n, times)
    n_covered = 0
    for block, (values, _) in enumerate(drawn(row.draw, n, samples, rng)):
        intervals = intervals_of_mean(row, values)
        if not block:
            require_summary(row, values, intervals)
        is_covered = (intervals.low <= row.difference) & (row.difference <= intervals.high)
        n_covered += np.count_nonzero(is_covered)
    return n_covered / samples


def contradictions(row: Row, n: int, times: int) -> float:
    """The share of samples in which the interval and the star say different things."""
    rng = np.random.default_rng([n, 4])
    samples = samples_of(n, times)
    n_contradicting = 0
    for block, (new, old) in enumerate(drawn(row.draw, n, samples, rng)):
        intervals = intervals_of_difference(new, old)
        if not block:
            require_compare(row, new, old, intervals)
        is_beyond = (intervals.low > 0) | (intervals.high < 0)
        n_contradicting += np.count_nonzero(is_beyond != (intervals.p < ALPHA))
    return n_contradicting / samples


@cache
def powers_of_gate(row: Row, n: int, times: int) -> tuple[float, float]:
    """How often equal models pass a margin of -0.03, now and with the former bound."""
    margin = -0.03
    row = row._replace(difference=margin)
    rng = np.random.default_rng([n, 5])
    samples = samples_of(n, times)
    n_passed = n_formerly = 0
    for new, old in drawn(row.draw, n, samples, rng):
        lower, _ = tails_of_gate(row, new, old)
        n_passed += np.count_nonzero(lower.bound(ALPHA) >= 0)
        n_formerly += np.count_nonzero(former_bound(new - old) >= margin)
    return n_passed / samples, n_formerly / samples


def passes_at_a_look(times: int, looks: int) -> float:
    """The share of normal samples that pass at one of ten looks, of 100, 200, ..., 1,000 users."""
    row = SPREAD_OUT[0]
    rng = np.random.default_rng(6)
    n_passed = 0
    for new, old in drawn(row.draw, 1_000, times, rng):
        is_passed = np.zeros(len(new), bool)
        for n in range(100, 1_001, 100):
            lower, _ = tails_of_gate(row, new[:, :n], old[:, :n])
            is_passed |= lower.bound(ALPHA / looks) >= 0
        n_passed += np.count_nonzero(is_passed)
    return n_passed / times


def users_of_equal_models(margin: float) -> int:
    """The fewest users with whom equal models pass this margin."""

    def is_passed(n: int) -> bool:
        values = {"hit@10": np.zeros(n)}
        comparison = recmetrics.compare({"old": values, "new": values})
        return comparison.gate(f"hit@10 >= {margin}").passed is True

    return bisect_left(range(10_000), True, lo=2, key=is_passed)


# --- Several runs ---------------------------------------------------------------------------------


def values_in_runs(
    rng: np.random.Generator, n_runs: int, spread: float, *, is_paired: bool
) -> Pair:
    """The values of users, (n_runs, n_users), by two models that are equal but for their runs."""
    shape = (n_runs, N_OF_RUNS)
    difference = rng.uniform(-0.4, 0.4, N_OF_RUNS)
    shared = rng.normal(0.0, 0.03, (n_runs, 1)) if is_paired else 0.0
    models = [
        0.5
        + sign * difference / 2
        + shared
        + rng.normal(0.0, spread, (n_runs, 1))
        + rng.normal(0.0, 0.05, shape)
        for sign in (1, -1)
    ]
    new, old = (np.clip(values, 0.0, 1.0) for values in models)
    return new, old


def compared_runs(new: Floats, old: Floats, metric: str, *, is_paired: bool = False) -> Comparison:
    """Compare models with several runs."""
    models = {name: [{metric: run} for run in runs] for name, runs in (("old", old), ("new", new))}
    return recmetrics.compare(models, baseline="old", paired_runs=is_paired)


def with_runs(comparison: Comparison, new: Floats, old: Floats, metric: str) -> Comparison:
    """The comparison with other values, which is faster than another call of ``compare``."""
    runs = {"old": {metric: old}, "new": {metric: new}}
    values = {name: {metric: of_name[metric].mean(axis=0)} for name, of_name in runs.items()}
    return replace(comparison, samples=replace(comparison.samples, runs=runs, values=values))


def passes_of_runs(times: int, n_runs: int, spread: float, *, is_paired: bool) -> float:
    """The share of samples of models with several runs that pass at the margin."""
    rng = np.random.default_rng([n_runs, 7])
    draw = partial(values_in_runs, rng, n_runs, spread, is_paired=is_paired)
    first = compared_runs(*draw(), "ndcg@10", is_paired=is_paired)
    n_passed = 0
    for _ in range(times):
        comparison = with_runs(first, *draw(), "ndcg@10")
        n_passed += comparison.gate("ndcg@10 >= 0").passed is True
    return n_passed / times


def passes_of_saved_model(row: Row, n: int, times: int) -> float:
    """The share that passes if each model is deterministic, and was saved three times."""
    rng = np.random.default_rng([n, 8])
    first = None
    n_passed = 0
    for news, olds in drawn(row.draw, n, times, rng):
        for values in zip(news, olds, strict=True):
            new, old = (np.stack([of_model] * 3) for of_model in values)
            first = first or compared_runs(new, old, row.metric)
            n_passed += with_runs(first, new, old, row.metric).gate(row.rule).passed is True
    return n_passed / times


# --- What is said to have power 0.8 ---------------------------------------------------------------


def typical_sample(row: Row, n: int) -> Floats:
    """Differences that are quantiles of those of a row, with the same standard deviation."""
    new, old = row.draw(np.random.default_rng(9), (n, 1_000))
    differences = np.sort(new - old, axis=None)
    quantiles = differences.reshape(n, 1_000)[:, 500]
    quantiles = quantiles - quantiles.mean()
    scaled = quantiles * differences.std() / quantiles.std(ddof=1)
    # Equal users stay equal; a difference of 1 stays one of 1.
    return np.where(np.abs(scaled) < 1e-3, 0.0, np.clip(scaled, -1.0, 1.0))


def compared(difference: Floats) -> Comparison:
    """Compare models with these differences."""
    new, old = as_pair(difference)
    models = {"old": {"ndcg@10": old}, "new": {"ndcg@10": new}}
    return recmetrics.compare(models, baseline="old")


def shown(row: Row, size: float, n: int, times: int, rng: np.random.Generator) -> float:
    """The share of samples that show a true difference of this size."""
    n_shown = 0
    for new, old in drawn(row.draw, n, times, rng):
        values = new - old + size
        intervals = intervals_of_difference(values, np.zeros_like(values))
        n_shown += np.count_nonzero((intervals.p < ALPHA) & (values.mean(axis=-1) > 0))
    return n_shown / times


def power_of_detectable(row: Row, n: int, times: int) -> float:
    """The power for the difference that n users are said to show, which varies by sample."""
    rng = np.random.default_rng([n, 10])
    n_sizes = 500
    new, old = row.draw(rng, (n_sizes, n))
    sizes = [compared(difference).differences[0].detectable for difference in new - old]
    return float(np.mean([shown(row, size, n, max(1, times // n_sizes), rng) for size in sizes]))


def power_of_users_needed(row: Row, n: int, times: int) -> tuple[int, float]:
    """The users said to show a difference of a standard error of n users, and their power."""
    rng = np.random.default_rng([n, 11])
    sample = typical_sample(row, n)
    size = float(sample.std(ddof=1)) / math.sqrt(n)
    n_users = compared(sample).users_needed("ndcg@10", size).with_value
    return n_users, shown(row, size, n_users, times, rng)


def power_of_open_rule(row: Row, n: int, times: int) -> tuple[int, float]:
    """The users whom an open rule needs, with a margin of a standard error, and their power."""
    rng = np.random.default_rng([n, 12])
    sample = typical_sample(row, n)
    margin = -float(sample.std(ddof=1)) / math.sqrt(n)
    row = row._replace(difference=margin, metric="ndcg@10")
    [verdict] = compared(sample).gate(row.rule).verdicts
    n_users = verdict.n_needed
    n_passed = 0
    for new, old in drawn(row.draw, n_users, times, rng):
        lower, _ = tails_of_gate(row, new, old)
        n_passed += np.count_nonzero(lower.bound(ALPHA) >= 0)
    return n_users, n_passed / times


# --- Tables ---------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A figure in a table."""

    text: str
    is_missed: bool = False  # it is beyond its limit


class Limit(NamedTuple):
    """What a share may be at most, and at least."""

    most: float = 1.0
    least: float = 0.0

    def cell(self, share: float, samples: int) -> Cell:
        """A share of so many samples; two standard errors beyond a limit are chance."""
        is_missed = any(
            beyond > 2 * math.sqrt(limit * (1 - limit) / samples)
            for beyond, limit in ((share - self.most, self.most), (self.least - share, self.least))
        )
        return Cell(f"{share:.1%}", is_missed)


class Figure(NamedTuple):
    """A table: its rows are computed one by one from the number of samples."""

    name: str
    columns: Sequence[str]
    rows: Callable[[int], Iterable[tuple[str, Sequence[Cell]]]]


ERRORS = Limit(most=0.055)
SAID = Limit(least=0.78, most=0.82)  # where power 0.8 is said


def of_sizes(
    name: str,
    share: Callable[[Row, int, int], float],
    rows: Callable[[], Sequence[Row]],
    limit: Limit,
    sizes: Sequence[int] = SIZES,
) -> Figure:
    """A table with a row for each kind of data, and a column for each number of users."""

    def cells(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:
        for row in rows():
            yield (
                row.name,
                [limit.cell(share(row, n, times), samples_of(n, times)) for n in sizes],
            )

    return Figure(name, [f"n = {n:,}" for n in sizes], cells)


def power_rows(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:
    for row in (HALF_EQUAL, INDEPENDENT):
        for n, least in ((100, 0.0), (300, 0.8), (1_000, 0.97)):
            now, before = powers_of_gate(row, n, times)
            ratio = now / before
            error = math.sqrt(before * (1 - before) / times) / before
            cells = [
                Cell(f"{now:.1%}"),
                Cell(f"{before:.1%}"),
                Cell(f"{ratio:.2f}", least - ratio > 2 * error),
            ]
            yield f"{row.name}, n = {n:,}", cells


def run_rows(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:
    for n_runs in (2, 3, 5):
        cells = []
        for spread in (0.004, 0.04):
            for is_paired in (False, True):
                share = passes_of_runs(times, n_runs, spread, is_paired=is_paired)
                cells.append(ERRORS.cell(share, times))
        yield f"{n_runs} runs", cells


def heavy_rows(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:
    for n in SIZES[:4]:
        yield f"n = {n:,}", [Limit().cell(passes_where_heavy_users_lose(n, times), times)]


def look_rows(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:
    yield "`looks=1`", [Limit().cell(passes_at_a_look(times, 1), times)]
    yield "`looks=10`", [ERRORS.cell(passes_at_a_look(times, 10), times)]


def said_rows(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:
    is_normal = SPREAD_OUT[0]
    for n in (50, 200):
        share = power_of_detectable(is_normal, n, times)
        yield f"`detectable` of {n:,} users, normal", [SAID.cell(share, times)]
        n_users, share = power_of_users_needed(is_normal, n, times)
        yield f"`users_needed`, {n_users:,} users, normal", [SAID.cell(share, times)]
        for row in (*SPREAD_OUT[:3], HALF_EQUAL, of_null()[1]):
            n_users, share = power_of_open_rule(row, n, times)
            title = f"an open rule that needs {n_users:,} users, {row.name}"
            yield title, [SAID.cell(share, times)]


def price_rows(times: int) -> Iterator[tuple[str, Sequence[Cell]]]:  # noqa: ARG001  # none drawn
    for margin in (-0.05, -0.03, -0.02, -0.01):
        yield f"`>= {margin}`", [Cell(f"{users_of_equal_models(margin):,}")]


def saved_rows() -> Sequence[Row]:
    return RARE[1], RARE[2], SPREAD_OUT[0]


FIGURES = (
    of_sizes("false passes", false_passes, of_gate, ERRORS),
    of_sizes("false fails", false_fails, of_gate, ERRORS),
    of_sizes(
        f"false fails, {N_GROUPS} groups of n users", fails_of_groups, of_gate, ERRORS, SIZES[:3]
    ),
    of_sizes("false passes, exponential weights", weighted_passes, of_gate, ERRORS),
    of_sizes("false fails, exponential weights", weighted_fails, of_gate, ERRORS),
    Figure("false passes, lognormal weights, heavy users lose more", ["share"], heavy_rows),
    of_sizes("false passes, range not known", false_passes, lambda: OF_UNKNOWN_RANGE, ERRORS),
    of_sizes("false fails, range not known", false_fails, lambda: OF_UNKNOWN_RANGE, ERRORS),
    of_sizes("intervals of means", coverage_of_mean, of_mean, Limit(least=0.945)),
    of_sizes("intervals of differences", coverage_of_difference, of_difference, Limit(least=0.945)),
    of_sizes("interval and star contradict", contradictions, of_null, Limit(most=0.01)),
    Figure("power of `>= -0.03`, equal models", ["now", "before", "ratio"], power_rows),
    Figure(
        f"false passes, few runs of {N_OF_RUNS} users",
        ["run means vary less than users", "less, paired", "more", "more, paired"],
        run_rows,
    ),
    of_sizes(
        "false passes, deterministic models saved in three runs",
        passes_of_saved_model,
        saved_rows,
        ERRORS,
        (30, 300, 1_000),
    ),
    Figure("passes at one of ten looks", ["share"], look_rows),
    Figure("power where 0.8 is said", ["share"], said_rows),
    Figure("equal models pass", ["from so many users on"], price_rows),
)


def printed(figure: Figure, times: int) -> list[str]:
    """Print a table; return its missed cells."""
    missed = []
    print(f"| {figure.name} | {' | '.join(figure.columns)} |")
    print("| --- |" + " ---: |" * len(figure.columns))
    for name, cells in figure.rows(times):
        texts = [f"**{cell.text}**" if cell.is_missed else cell.text for cell in cells]
        print(f"| {name} | {' | '.join(texts)} |", flush=True)
        missed += [
            f"{figure.name}, {name}, {column}: {cell.text}"
            for column, cell in zip(figure.columns, cells, strict=True)
            if cell.is_missed
        ]
    print()
    return missed


def main() -> None:
    """Print the tables and the missed cells."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=TIMES, help="samples of a cell")
    parser.add_argument("--only", default="", metavar="NAME", help="figures with this in the name")
    options = parser.parse_args()
    figures = [figure for figure in FIGURES if options.only in figure.name]
    if not figures:
        parser.error(f"no figure has {options.only!r} in its name")
    start = time.monotonic()
    missed = []
    for figure in figures:
        missed += printed(figure, options.times)
    minutes = (time.monotonic() - start) / 60
    summary = [
        f"{minutes:.0f} minutes on a machine with other work; the tables are in "
        "`docs/guides/decision.md`",
        *(f"missed: {cell}" for cell in missed),
    ]
    print("\n".join(summary))
    if len(figures) == len(FIGURES) and options.times == TIMES:
        record("Decisions", *summary)


if __name__ == "__main__":
    main()
