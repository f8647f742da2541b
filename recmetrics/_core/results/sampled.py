"""Metrics over the whole catalogue, estimated from ranks among sampled negatives.

A *sampled rank* is the rank of a relevant item among itself and ``n_sampled`` drawn items. The
catalogue has ``n_items`` items, in which the same item has an unknown rank.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError, ShapeError, at_fault
from recmetrics._core.inputs import as_array
from recmetrics._core.options import check_count, check_flag, one_of
from recmetrics._core.results.measure import whole_values
from recmetrics._core.selection import Selection, empty_hits
from recmetrics._core.spec import MetricsList, Request
from recmetrics._core.types import FloatArray, IntArray, UserValues

Method = Literal["bv", "mle"]
"""An estimator for sampled ranks."""
STANDARD_ERROR = "[se]"  # ends the key of an error, which no metric string has
_EM_STEPS = 200  # more steps fit the noise of the sampled ranks
_N_RESAMPLES = 100  # of the bootstrap
_MIN_GAMMA = 1e-6  # with less, rounding shows in the estimates
_MAX_COUNT = (1 << 31) - 1  # items or negatives


def estimated(
    ranks: Any,
    metrics_list: MetricsList,
    n_sampled: Any,
    n_items: Any,
    method: Any,
    gamma: Any,
    replace: bool,
) -> dict[str, UserValues]:
    """Check the arguments of ``Metrics.from_sampled`` and compute the dict that it returns."""
    request = Request(metrics_list, level="sampled")
    one_of("method", method, Method)
    check_flag("replace", replace)
    n_negatives = check_count(
        "n_sampled", n_sampled, 1, "; give the number of negatives, such as 100"
    )
    if n_negatives > _MAX_COUNT:
        msg = f"n_sampled must be at most {_MAX_COUNT:,}, got {n_negatives:,}"
        raise ArgumentError(msg, argument="n_sampled")
    is_number = isinstance(gamma, Real) and not isinstance(gamma, bool)
    if not is_number or not _MIN_GAMMA <= gamma <= 1:
        msg = f"gamma must be a number from {_MIN_GAMMA:g} to 1, such as 0.01, got {gamma!r}"
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
        log_likelihood = log_chances(distinct_sizes[0], n_negatives, replace)
        rank_counts = np.bincount(sampled_ranks - 1, minlength=n_negatives + 1)
        return _most_likely(log_likelihood, rank_counts, _by_rank(request, distinct_sizes[0]))

    values = {text: np.empty(len(sampled_ranks)) for text in request.definitions}
    for size in distinct_sizes:
        rows = np.flatnonzero(sizes == size)
        log_likelihood = log_chances(size, n_negatives, replace)
        exact_values = np.stack(list(_by_rank(request, size).values()), axis=1)  # (ranks, metrics)
        estimates = _least_squares(log_likelihood, exact_values, float(gamma))
        for column, text in enumerate(values):
            values[text][rows] = estimates[sampled_ranks[rows] - 1, column]
    return values


def _read_ranks(ranks: Any, n_sampled: int) -> IntArray:
    """Read the ranks among samples: integers from 1 to ``n_sampled + 1``."""
    if sp.issparse(ranks):  # a result of ``Metrics.ranks``
        msg = "ranks must be 1-d, one for each relevant item, got a matrix; type ranks.data"
        raise ShapeError(msg)
    array = as_array(ranks, "ranks")
    if array.ndim != 1:
        msg = f"ranks must be 1-d, one for each relevant item, got shape {array.shape}"
        raise ShapeError(msg)
    if array.dtype.kind not in "iuf":
        msg = f"ranks must be integers, got dtype {array.dtype}"
        raise InputTypeError(msg)
    is_wrong = ~((array >= 1) & (array <= n_sampled + 1) & (array == np.floor(array)))
    if is_wrong.any() or not array.size:
        wrong_rank = "none"
        if array.size:
            row = is_wrong.argmax()
            wrong_rank = f"{array[row]} in row {row}"
        msg = (
            f"ranks must be integers from 1 to n_sampled + 1 = {n_sampled + 1:,}, the rank of the "
            f"relevant item among itself and {n_sampled:,} negatives, got {wrong_rank}"
        )
        raise InputError(msg)
    return array.astype(np.int64)


def _read_sizes(n_items: Any, n_ranks: int, n_sampled: int, replace: bool) -> IntArray:
    """Read the number of items behind each rank, (n_ranks,), from one number or one for each.

    With replacement, two items are enough; else the sample must fit into the catalogue.
    """
    array = np.asarray(n_items)
    least = 2 if replace else n_sampled + 1
    has_form = array.dtype.kind in "iu" and array.shape in ((), (n_ranks,))
    if not has_form or array.min() < least or array.max() > _MAX_COUNT:
        wrong_sizes = f"{n_items!r}"
        if array.dtype.kind not in "iuf":
            wrong_sizes = f"{n_items!r} of dtype {array.dtype}"
        elif array.size > 1:
            wrong_sizes = f"shape {array.shape}, from {array.min()} to {array.max()}"
        hint = ""
        if has_form and 2 <= array.min() < least:  # 2 are the least with replacement
            hint = "; if one item may be drawn twice give replace=True"
        msg = (
            "n_items counts the relevant item and the items that may be drawn; expected an integer "
            f"from {least:,} to {_MAX_COUNT:,}, or one for each of the {n_ranks:,} ranks, got "
            f"{wrong_sizes}{hint}"
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
    """The exact value of each metric for a user whose one relevant item has rank 1, ..., n_items.

    There is an array (n_items,) for each metric string.
    """
    # There is a user with one hit for each rank.
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

    The array is (n_items, n_sampled + 1); -inf where a sampled rank is impossible.

    Of the ``n_items - 1`` other items, ``rank - 1`` are above the relevant item; the number of
    these in a sample is binomial with replacement, and hypergeometric without.
    """
    # Imported here, since few programs need it and it is a third of the time of all imports.
    from scipy.special import gammaln, xlog1py, xlogy

    # From a table of factorials: hypergeom.pmf of scipy.stats takes many times as long.
    n_above: Any = np.arange(n_items)[:, None]
    n_sampled_above: Any = np.arange(n_sampled + 1)
    log_factorial = gammaln(np.arange(max(n_items, n_sampled + 1)) + 1.0)
    # Index -1 reads infinity, so that the chance to choose more items than there are is 0.
    log_factorial = np.append(log_factorial, np.inf)

    def log_choose(n: Any, k: npt.NDArray[Any]) -> npt.NDArray[Any]:
        n_left = np.maximum(n - k, -1)
        return np.asarray(log_factorial[n] - log_factorial[k] - log_factorial[n_left])

    if replace:
        share_above = n_above / (n_items - 1)
        log_chance = log_choose(n_sampled, n_sampled_above)
        log_chance = log_chance + xlogy(n_sampled_above, share_above)
        log_chance += xlog1py(n_sampled - n_sampled_above, -share_above)
    else:
        log_chance = log_choose(n_above, n_sampled_above)
        log_chance += log_choose(n_items - 1 - n_above, n_sampled - n_sampled_above)
        log_chance -= log_choose(n_items - 1, np.array(n_sampled))
    return np.asarray(log_chance)


def _shares_of_ranks(log_likelihood: FloatArray) -> FloatArray:
    """The probability of each rank (row) given the sampled rank (column), all ranks equally likely.

    ``log_likelihood`` comes from ``log_chances``. An impossible sampled rank has a column of 0.
    """
    # The largest chance of each column becomes 1, since all of them may be too small for float64.
    column_maxima = log_likelihood.max(axis=0)
    shifts = np.where(np.isfinite(column_maxima), column_maxima, 0.0)
    chances = np.exp(log_likelihood - shifts)
    shares: FloatArray = chances / np.maximum(chances.sum(axis=0), 1.0)
    return shares


def _least_squares(
    log_likelihood: FloatArray, exact_values: FloatArray, gamma: float
) -> FloatArray:
    """Estimate the metrics at each sampled rank (Krichene and Rendle), (n_sampled + 1, metrics).

    ``log_likelihood`` (n_items, n_sampled + 1) has the logarithm of the probability of each sampled
    rank, given the rank among all items. ``exact_values`` (n_items, metrics) are the metrics at
    each rank among all items, which are taken as equally likely. A larger ``gamma`` gives less
    variance and more bias.

    Each equation is divided by the probability of its sampled rank, so that the equations of
    unlikely ones do not vanish. The eigenvalues of the matrix are then from gamma to 1, so it can
    be solved.
    """
    from scipy.linalg import solve  # imported here for the reason that ``log_chances`` gives

    # The probability of each rank among all items, given the sampled rank.
    rank_chances = _shares_of_ranks(log_likelihood)
    matrix = (1 - gamma) * rank_chances.T @ np.exp(log_likelihood)
    matrix[np.diag_indices_from(matrix)] += gamma
    estimates: FloatArray = solve(matrix, rank_chances.T @ exact_values)
    return estimates


def _most_likely(
    log_likelihood: FloatArray, rank_counts: IntArray, exact_values: Mapping[str, FloatArray]
) -> dict[str, UserValues]:
    """The metrics under the most likely distribution of ranks, and their bootstrap errors.

    ``rank_counts`` says how often each sampled rank was given, ``exact_values`` the metrics at each
    rank among all items. EM finds the distribution for the given ranks, and for resamples of them.
    """
    n_ranks = int(rank_counts.sum())
    rng = np.random.default_rng(0)
    resampled_counts = rng.multinomial(n_ranks, rank_counts / n_ranks, _N_RESAMPLES)
    is_given = rank_counts > 0
    # The first row is that of the given ranks, the others are those of the resamples.
    weights = np.vstack([rank_counts, resampled_counts])[:, is_given] / n_ranks
    # A step of EM is the same for any multiple of the probabilities of a sampled rank.
    likelihood = _shares_of_ranks(log_likelihood[:, is_given])
    shares = np.full((len(weights), len(likelihood)), 1 / len(likelihood))
    for _ in range(_EM_STEPS):
        chances = shares @ likelihood  # of each sampled rank under the distribution so far
        ratios = np.zeros_like(weights)
        # A rank that a resample lacks has weight 0, and its chance may have become 0, too.
        shares *= np.divide(weights, chances, out=ratios, where=weights > 0) @ likelihood.T
    values: dict[str, UserValues] = {}
    for text, values_by_rank in exact_values.items():
        estimates = shares @ values_by_rank
        values[text] = np.array(estimates[0])
        values[text + STANDARD_ERROR] = np.array(np.std(estimates[1:], ddof=1))
    return values
