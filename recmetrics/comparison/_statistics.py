"""Statistics of differences by scipy.stats: intervals, p-values, corrected p-values.

Nothing here holds more than a few copies of its input. scipy.stats is imported where it is called:
importing it takes longer than importing the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._threads import without_warnings

Test: TypeAlias = Literal["t", "wilcoxon", "permutation"]
Correction: TypeAlias = Literal["holm", "bh"]
Floats: TypeAlias = npt.NDArray[np.float64]

SIGN_FLIPS = 9_999  # the smallest p-value of the permutation test is 1 / (flips + 1)
_EXACT_RANKS = 50  # differing users up to which untied ranks have their exact distribution
_ROUNDING = 1e-12
_DRAW_BYTES = 1 << 21  # fits a core's cache, which is twenty times faster
_BYTES_PER_DRAW = 32  # indices, SciPy's copy of them, how often each was drawn, that as a float


def bootstrap_intervals(
    rows: Sequence[Floats], confidence: float, n_resamples: int, seed: int
) -> list[tuple[float, float]]:
    """Compute percentile bootstrap intervals of the means of ``rows``, which have one length.

    All rows are resampled at the same places, which depend only on their length and the seed. The
    interval of fewer than two values is NaN.

    The percentile method, because the mean needs no other: the jackknife of BCa takes time
    quadratic in the number of users.
    """
    from scipy.stats import bootstrap

    n = rows[0].size
    if n < 2:
        return [(math.nan, math.nan)] * len(rows)

    def means(drawn: npt.NDArray[np.int64], axis: int) -> Floats:  # noqa: ARG001  # SciPy's name
        # Sums weighted by how often a user was drawn: no row is gathered for each resample.
        times = np.empty(drawn.shape, np.float64)
        for row, indices in zip(times, drawn, strict=True):
            row[:] = np.bincount(indices, minlength=n)
        return np.stack([_dot(times, row) for row in rows]) / n

    found = bootstrap(
        (np.arange(n),),
        means,
        n_resamples=n_resamples,
        batch=max(1, _DRAW_BYTES // (_BYTES_PER_DRAW * n)),
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    low: Floats = np.asarray(found.low)
    high: Floats = np.asarray(found.high)
    return list(zip(low.tolist(), high.tolist(), strict=True))


@without_warnings  # of differences whose squares overflow
def p_value(test: Test, differences: Floats, seed: int) -> float:
    """Compute the two-sided p-value of a paired test that the differences are centred at zero.

    1 where no user differs, NaN where there are fewer than two users.

    SciPy is given only what it does not warn of: the filters that would silence it are those of the
    whole process, and no thread may change them for the others.
    """
    if differences.size < 2:
        return math.nan
    differing = differences[differences != 0]
    if differing.size == 0:
        return 1.0
    if test == "t":
        return _t(differences)
    if test == "wilcoxon":
        return _wilcoxon(differing)
    return _permutation(differing, seed)


def fewest_users(confidence: float) -> int:
    """Count the users whose signs, all equal, are significant: with fewer no signs are."""
    return next(n for n in count(2) if _all_signs_equal(n) < 1 - confidence)


@without_warnings
def effect_size(differences: Floats) -> float:
    """Compute Cohen's d_z: mean of the differences / their standard deviation (ddof = 1)."""
    if differences.size < 2:
        return math.nan
    mean, std = _mean_and_spread(differences)
    if not std:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / std


def correct(p_values: Sequence[float], correction: Correction | None) -> list[float]:
    """Correct p-values for their number; NaN stays and does not count."""
    p = np.array(p_values, dtype=np.float64)
    tested = ~np.isnan(p)
    if correction is not None and tested.any():
        p[tested] = _CORRECTIONS[correction](p[tested])
    return p.tolist()  # type: ignore[no-any-return]


def _mean_and_spread(differences: Floats) -> tuple[float, float]:
    """The mean and the standard deviation (ddof = 1), 0 where that is rounding."""
    mean, std = float(differences.mean()), float(differences.std(ddof=1))
    return mean, 0.0 if std <= _ROUNDING * abs(mean) else std


def _all_signs_equal(n: int) -> float:
    """The exact two-sided p-value of the sign-flip test where all ``n`` differences are equal."""
    return 2.0 ** (1 - n)


def _t(differences: Floats) -> float:
    """Student's test; it is not defined without spread, and the exact sign-flip test decides."""
    from scipy.stats import ttest_rel

    if not _mean_and_spread(differences)[1]:
        return _all_signs_equal(differences.size)
    return float(ttest_rel(differences, np.zeros_like(differences)).pvalue)


def _wilcoxon(differing: Floats) -> float:
    """The signed-rank test; users without a difference are left out, as Wilcoxon did.

    The distribution is chosen here: the versions of SciPy choose differently where ranks are tied.
    """
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
    """The sign-flip test of the mean by all flips."""
    from scipy.stats import permutation_test

    return float(
        permutation_test(
            (values,), np.mean, permutation_type="samples", n_resamples=SIGN_FLIPS
        ).pvalue
    )


def _permutation(differing: Floats, seed: int) -> float:
    """The sign-flip test of the mean; a user without a difference has no sign to flip.

    All flips where they are few, else random ones: by ``monte_carlo_test``, because
    ``permutation_test`` shuffles an array per user and takes a hundred times longer.
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

    return float(
        monte_carlo_test(
            np.ones(n),  # observed: every sign as it is
            keep,
            mean,
            vectorized=True,
            n_resamples=SIGN_FLIPS,
            batch=max(1, _DRAW_BYTES // (9 * n)),
        ).pvalue
    )


def _dot(weights: Floats, row: Floats) -> Floats:
    """Sum with weights in this thread: threads of BLAS wait for each other on a busy machine."""
    return np.einsum("...n,n->...", weights, row)  # type: ignore[no-any-return]


def _holm(p: Floats) -> Floats:
    """Holm (1979): step down; valid under any dependence of the tests."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _bh(p: Floats) -> Floats:
    """Benjamini and Hochberg (1995): the false discovery rate."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"), np.float64)


_CORRECTIONS = {"holm": _holm, "bh": _bh}
