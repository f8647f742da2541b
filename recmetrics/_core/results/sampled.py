"""Metrics over the whole catalogue, estimated from ranks among sampled negatives."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError, ShapeError, at_fault
from recmetrics._core.inputs import as_array
from recmetrics._core.options import check_count, one_of
from recmetrics._core.results.measure import whole_values
from recmetrics._core.selection import Selection, empty_hits
from recmetrics._core.spec import MetricsList, Request
from recmetrics._core.types import FloatArray, IntArray, UserValues

Method = Literal["bv", "mle"]
"""An estimator for sampled ranks."""
STANDARD_ERROR = "[se]"  # ends the key of an error, which no metric string has
_STEPS = 200  # of EM; more steps fit the noise of the sampled ranks
_RESAMPLES = 100
_LEAST_GAMMA = 1e-6  # with less, rounding shows in the estimates
_MOST = (1 << 31) - 1  # items or negatives


def estimated(
    ranks: Any,
    metrics_list: MetricsList,
    n_sampled: Any,
    n_items: Any,
    method: Any,
    gamma: Any,
    replace: bool,
) -> dict[str, UserValues]:
    """Compute what ``Metrics.from_sampled`` returns."""
    request = Request(metrics_list, level="sampled")
    one_of("method", method, Method)
    n_negatives = check_count(
        "n_sampled", n_sampled, 1, "; give the number of negatives, such as 100"
    )
    if n_negatives > _MOST:
        msg = f"n_sampled must be at most {_MOST:,}, got {n_negatives:,}"
        raise ArgumentError(msg, argument="n_sampled")
    is_number = isinstance(gamma, Real) and not isinstance(gamma, bool)
    if not is_number or not _LEAST_GAMMA <= gamma <= 1:
        msg = f"gamma must be a number from {_LEAST_GAMMA:g} to 1, such as 0.01, got {gamma!r}"
        raise ArgumentError(msg, argument="gamma")

    with at_fault("ranks"):
        sampled_ranks = _read_ranks(ranks, n_negatives)
    with at_fault("n_items"):
        sizes = _read_sizes(n_items, len(sampled_ranks), n_negatives, replace)
    with at_fault("ranks"):
        _refuse_impossible(sampled_ranks, sizes, n_negatives)

    distinct_sizes = np.unique(sizes).tolist()
    if method == "mle":
        if len(distinct_sizes) != 1:
            msg = (
                "method='mle' estimates one distribution of ranks, but n_items has "
                f"{len(distinct_sizes)} different numbers; give one number for all, or method='bv'"
            )
            raise ArgumentError(msg)
        log = log_chances(distinct_sizes[0], n_negatives, replace)
        counts = np.bincount(sampled_ranks - 1, minlength=n_negatives + 1)
        return _most_likely(log, counts, _by_rank(request, distinct_sizes[0]))

    values = {text: np.empty(len(sampled_ranks)) for text in request.definitions}
    for size in distinct_sizes:
        rows = np.flatnonzero(sizes == size)
        log = log_chances(size, n_negatives, replace)
        by_rank = np.stack(list(_by_rank(request, size).values()), axis=1)
        estimates = _least_squares(log, by_rank, float(gamma))
        for column, text in enumerate(values):
            values[text][rows] = estimates[sampled_ranks[rows] - 1, column]
    return values


def _read_ranks(ranks: Any, n_sampled: int) -> IntArray:
    """Read the ranks among samples: integers from 1 to ``n_sampled + 1``."""
    array = as_array(ranks, "ranks")
    if array.ndim != 1:
        msg = f"ranks must be 1-d, one for each relevant item, got shape {array.shape}"
        raise ShapeError(msg)
    if array.dtype.kind not in "iuf":
        msg = f"ranks must be integers, got dtype {array.dtype}"
        raise InputTypeError(msg)
    is_wrong = ~((array >= 1) & (array <= n_sampled + 1) & (array == np.floor(array)))
    if is_wrong.any() or not array.size:
        content = "none"
        if array.size:
            row = is_wrong.argmax()
            content = f"{array[row]} in row {row}"
        msg = (
            f"ranks must be integers from 1 to n_sampled + 1 = {n_sampled + 1:,}, the rank of the "
            f"relevant item among itself and {n_sampled:,} negatives, got {content}"
        )
        raise InputError(msg)
    return array.astype(np.int64)


def _read_sizes(n_items: Any, n_ranks: int, n_sampled: int, replace: bool) -> IntArray:
    """Read the number of items of each rank; with replacement, two items are enough."""
    array = np.asarray(n_items)
    least = 2 if replace else n_sampled + 1
    has_form = array.dtype.kind in "iu" and array.shape in ((), (n_ranks,))
    if not has_form or array.min() < least or array.max() > _MOST:
        content = f"{n_items!r}"
        if array.size > 1:
            content = f"shape {array.shape}, from {array.min()} to {array.max()}"
        hint = ""
        if has_form and array.min() < least and not replace:
            hint = "; if one item may be drawn twice give replace=True"
        msg = (
            f"n_items must be an integer from {least:,} to {_MOST:,}, or one for each of the "
            f"{n_ranks:,} ranks: the relevant item and the items that may be drawn, got {content}"
            f"{hint}"
        )
        raise InputError(msg)
    return np.broadcast_to(array, n_ranks).astype(np.int64)


def _refuse_impossible(ranks: IntArray, sizes: IntArray, n_sampled: int) -> None:
    """Refuse ranks that no sample gives: with one other item, all draws are this item."""
    is_wrong = (sizes == 2) & (ranks > 1) & (ranks <= n_sampled)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        msg = (
            f"ranks must be 1 or n_sampled + 1 = {n_sampled + 1:,} where n_items is 2, since all "
            f"draws are the one other item, got {ranks[row]} in row {row}; n_items counts the "
            "relevant item and all items that may be drawn"
        )
        raise InputError(msg)


def _by_rank(request: Request, n_items: int) -> Mapping[str, FloatArray]:
    """The metrics of a user whose one relevant item has rank 1, 2, ..., n_items."""
    ranks = np.arange(1, n_items + 1)
    hits = empty_hits(np.arange(n_items + 1), np.ones(n_items), ties=True)
    hits.n_hits[:] = 1
    hits.gain[:] = 1
    hits.length[:] = n_items
    for array in (hits.rank, hits.first, hits.last):
        array[:] = ranks
    return whole_values(Selection(hits, {}, None, request.cutoffs(n_items), 0), request)


def log_chances(n_items: int, n_sampled: int, replace: bool) -> FloatArray:
    """The log-probability of each sampled rank (column) given the rank among all items (row).

    Of the ``n_items - 1`` other items, ``rank - 1`` are above the relevant item; the number of
    these in a sample is binomial with replacement, and hypergeometric without.
    """
    # Imported here, since few programs need it and it is a third of the time of all imports.
    from scipy.special import gammaln, xlog1py, xlogy

    # From a table of factorials: hypergeom.pmf of scipy.stats takes many times as long.
    n_above: Any = np.arange(n_items)[:, None]
    n_sampled_above: Any = np.arange(n_sampled + 1)
    factorial = gammaln(np.arange(max(n_items, n_sampled + 1)) + 1.0)  # its logarithm
    factorial = np.append(factorial, np.inf)  # that of -1: nobody can choose more than all

    def log_choose(n: Any, k: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(factorial[n] - factorial[k] - factorial[np.maximum(n - k, -1)])

    if replace:
        share = n_above / (n_items - 1)
        log = log_choose(n_sampled, n_sampled_above)
        log = log + xlogy(n_sampled_above, share)
        log += xlog1py(n_sampled - n_sampled_above, -share)
    else:
        log = log_choose(n_above, n_sampled_above)
        log += log_choose(n_items - 1 - n_above, n_sampled - n_sampled_above)
        log -= log_choose(n_items - 1, np.array(n_sampled))
    return np.asarray(log)


def _shares_of_ranks(log: FloatArray) -> FloatArray:
    """The probability of each rank (row) given the sampled rank, if all ranks are equally likely.

    That of a sampled rank may be too small for float64. One that is impossible has a column of 0.
    """
    largest = log.max(axis=0)
    chances = np.exp(log - np.where(np.isfinite(largest), largest, 0.0))
    shares: FloatArray = chances / np.maximum(chances.sum(axis=0), 1.0)
    return shares


def _least_squares(log: FloatArray, exact: FloatArray, gamma: float) -> FloatArray:
    """The estimates for each sampled rank: Krichene and Rendle's, all ranks equally likely.

    Each of their equations is divided by the probability of its sampled rank, so that those of
    unlikely ones do not vanish. The eigenvalues of the matrix are then from gamma to 1.
    """
    from scipy.linalg import solve  # here, see ``log_chances``

    shares = _shares_of_ranks(log)
    squares = (1 - gamma) * shares.T @ np.exp(log)
    squares[np.diag_indices_from(squares)] += gamma
    estimates: FloatArray = solve(squares, shares.T @ exact)
    return estimates


def _most_likely(
    log: FloatArray, counts: IntArray, exact: Mapping[str, FloatArray]
) -> dict[str, UserValues]:
    """The metrics under the most likely distribution of ranks, and their bootstrap errors."""
    n_ranks = int(counts.sum())
    resampled = np.random.default_rng(0).multinomial(n_ranks, counts / n_ranks, _RESAMPLES)
    seen = counts > 0
    weights = np.vstack([counts, resampled])[:, seen] / n_ranks
    # A step of EM is the same for any multiple of the probabilities of a sampled rank.
    likelihood = _shares_of_ranks(log[:, seen])
    shares = np.full((len(weights), len(likelihood)), 1 / len(likelihood))
    for _ in range(_STEPS):  # EM: the first row is of the ranks, the others of the resamples
        expected = shares @ likelihood
        ratios = np.zeros_like(weights)
        # A rank that a resample lacks has weight 0; what is expected of it may have become 0, too.
        shares *= np.divide(weights, expected, out=ratios, where=weights > 0) @ likelihood.T
    values: dict[str, UserValues] = {}
    for text, by_rank in exact.items():
        estimates = shares @ by_rank
        values[text] = np.array(estimates[0])
        values[text + STANDARD_ERROR] = np.array(np.std(estimates[1:], ddof=1))
    return values
