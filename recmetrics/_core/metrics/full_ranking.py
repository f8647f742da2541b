"""Metrics of the whole ranking: every item that may be recommended counts.

With a cutoff, all but ``fallout`` read the top k alone. The file is structured like
``accuracy.py``, but the kernels write the value of every user into ``out``.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from typing import Unpack

import numpy as np

from recmetrics._core.jit import helper, kernel
from recmetrics._core.metrics.accuracy import Rel, _cutoff_of, _hit_sum, _n_relevant
from recmetrics._core.metrics.reference import OneUser, hit_list, n_relevant
from recmetrics._core.options import ForHits
from recmetrics._core.selection import WHOLE_LIST, Hits
from recmetrics._core.spec import NO_RELEVANT_ITEM, metric
from recmetrics._core.types import FloatArray, Scores, Truth, UserValues

# --- fallout -------------------------------------------------------------------------------------


def fallout_reference(user: OneUser, k: int, *, rel: float | None) -> float:
    """The share of all irrelevant items that are in the top k; NaN if every item is relevant."""
    misses = [not hit for hit in hit_list(user, len(user.gains), rel)]
    if not any(misses):
        return math.nan
    return sum(misses[:k]) / sum(misses)


@kernel
def _fallout(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the fallout of each user, NaN where every recommendable item is relevant."""
    for user in range(out.size):
        begin = hits.start[user]
        length = hits.length[user]
        depth = min(_cutoff_of(hits, k, user), length)
        relevant = 0
        for slot in range(begin, begin + hits.n_hits[user]):
            relevant += hits.gain[slot] >= rel
        n_misses = length - relevant
        n_hits = _hit_sum(hits, user, depth, rel)
        out[user] = np.nan
        if n_misses > 0:
            out[user] = (depth - n_hits) / n_misses


@metric(
    kernel=_fallout,
    reference=fallout_reference,
    formula="items in {top} that are not relevant / all recommendable items that are not relevant",
    latex=r"\frac{\sum_{r=1}^{k} (1 - h_r)}{|R_-|}",
    citation="Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 2008, ch. 8",
    aliases=("fall_out",),
    counts_all_items=True,
    undefined="every item that may be recommended is relevant",
    higher_is_better=False,
)
def fallout_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Share of all non-relevant items that are in the top k.

    0 is best. Only items that may be recommended count. With n of these, a user without relevant
    items has the value min(k, n) / n. A given ranking must contain all recommendable items.

    >>> from recmetrics import Metrics
    >>> Metrics.fallout_at_k([[5, 4, 3, 2, 1]], [[1, 0, 1, 0, 0]], k=2)
    array([0.33333333])
    """


# --- auc -----------------------------------------------------------------------------------------


def auc_reference(user: OneUser, k: int | None, *, rel: float | None) -> float:
    """The share of pairs of a relevant and an irrelevant item that are in order; a tie is 1/2."""
    if n_relevant(user, rel) == 0:
        return math.nan
    scores = user.scores[:k]
    if k is not None:  # a list is in order, also where scores are equal
        scores = [-float(rank) for rank in range(len(scores))]
    hits = hit_list(user, len(scores), rel)
    relevant = [score for score, hit in zip(scores, hits, strict=True) if hit]
    irrelevant = [score for score, hit in zip(scores, hits, strict=True) if not hit]
    if hits and not irrelevant:
        return math.nan if k is None else 1.0
    if not relevant:
        return 0.0
    in_order = sum((a > b) + 0.5 * (a == b) for a in relevant for b in irrelevant)
    return in_order / (len(relevant) * len(irrelevant))


@kernel
def _auc(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the AUC of each user, NaN where it is undefined.

    By mean ranks (Mann-Whitney): for P hits, the number of pairs in the wrong order is the sum of
    the ranks of the hits - P (P + 1) / 2.
    """
    for user in range(out.size):
        begin = hits.start[user]
        relevant = _n_relevant(hits, user, rel)
        length = min(_cutoff_of(hits, k, user), hits.length[user])
        n_hits = 0
        rank_sum = 0.0  # of mean ranks
        for slot in range(begin, begin + hits.n_hits[user]):
            if hits.gain[slot] >= rel and hits.first[slot] <= length:
                n_hits += 1
                rank_sum += 0.5 * (hits.first[slot] + hits.last[slot])

        n_misses = length - n_hits
        if relevant == 0:
            out[user] = np.nan
        elif n_hits == 0:
            out[user] = 0.0
        elif n_misses == 0:
            out[user] = np.nan if k == WHOLE_LIST else 1.0
        else:
            n_inverted = rank_sum - 0.5 * n_hits * (n_hits + 1)
            out[user] = 1.0 - n_inverted / (n_hits * n_misses)


@metric(
    kernel=_auc,
    reference=auc_reference,
    formula="share of the pairs (relevant item, other item), both recommendable, in which the "
    "relevant item has the higher score; equal scores count 1/2",
    latex=r"\frac{1}{|R_+| \, |R_-|} \sum_{i \in R_+} \sum_{j \in R_-} "
    r"\left( [s_i > s_j] + \frac{1}{2} [s_i = s_j] \right)",
    citation="Rendle et al.: BPR: Bayesian personalized ranking from implicit feedback, UAI 2009",
    averages_ties=True,
    undefined="no relevant item, or only relevant ones",
    counts_all_items=True,
    formula_at_k="share of the pairs (relevant item, other item), both in the top {k}, in which "
    "the relevant item has the better rank; 0 without hits, 1 with hits only",
    facts_at_k={
        "averages_ties": False,
        "no_expectation": "with a cutoff, its divisor depends on the items in the list",
        "undefined": NO_RELEVANT_ITEM,
        "counts_all_items": False,
    },
)
def auc(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int | None = None,
    *,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Area under the ROC curve of each user.

    It compares all recommendable items, and is also undefined if all of them are relevant. In
    sparse scores these are the stored items: of a stored top k, it is not the usual AUC. A given
    ranking must contain all recommendable items.

    ``auc@k`` is another metric. It counts the pairs within the top k, in the order of the list, so
    equal scores rank by item index. It is 0 without hits and 1 with hits only. An additional hit at
    the end of the top k can lower it, and items below the top k do not change it.

    >>> from recmetrics import Metrics
    >>> Metrics.auc([[3, 2, 1]], [[0, 1, 0]])
    array([0.5])
    >>> Metrics.auc([[4, 3, 2, 1]], [[1, 0, 1, 1]], k=3)  # 1 of the pairs (0, 1), (2, 1)
    array([0.5])
    """


# --- mean_rank -----------------------------------------------------------------------------------


def mean_rank_reference(user: OneUser, k: int | None, *, rel: float | None) -> float:
    """The mean rank of the relevant items; one below the last place has the next rank."""
    places = len(user.gains) if k is None else k
    if n_relevant(user, rel) == 0 or (k is None and places == 0):
        return math.nan
    ranks = [rank for rank, hit in enumerate(hit_list(user, places, rel), 1) if hit]
    below = n_relevant(user, rel) - len(ranks)
    return (sum(ranks) + below * (places + 1)) / (len(ranks) + below)


@helper
def _ranks_above(hits: Hits, user: int, places: int, rel: float, relevant: int) -> float:
    """Sum the number of ranks above each of a user's ``relevant`` items, of the first ``places``.

    An item that is not at one of these ranks adds ``places``. The sum is the expected one where a
    tie group reaches beyond the last of these ranks.
    """
    total = 0.0
    n_hits = 0
    for slot in range(hits.start[user], hits.start[user] + hits.n_hits[user]):
        first = hits.first[slot]
        last = hits.last[slot]
        if hits.gain[slot] < rel or first > places:
            continue
        n_hits += 1
        if last <= places:
            total += 0.5 * (first + last) - 1.0
        else:  # of its tied ranks, some are beyond the last place
            n_within = places - first + 1
            above = n_within * 0.5 * (first + places - 2) + (last - places) * places
            total += above / (last - first + 1)
    return total + (relevant - n_hits) * places


@kernel
def _mean_rank(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the mean rank of each user's relevant items, NaN where it is undefined."""
    for user in range(out.size):
        places = _cutoff_of(hits, k, user)
        relevant = _n_relevant(hits, user, rel)
        if relevant and places:
            out[user] = 1.0 + _ranks_above(hits, user, places, rel, relevant) / relevant
        else:
            out[user] = np.nan


@metric(
    kernel=_mean_rank,
    reference=mean_rank_reference,
    formula="mean rank of the relevant items; an item that may not be recommended counts as "
    "length of the list + 1",
    latex=r"\frac{1}{R} \sum_{i \text{ relevant}} \min(r_i, b + 1), \quad "
    r"b = k \text{, or the length of the list without a cutoff}",
    citation="Bordes et al.: Translating embeddings for modeling multi-relational data, NIPS 2013",
    bounds=(1.0, math.inf),
    counts_all_items=True,
    formula_at_k="mean rank of the relevant items; an item that is not in the top {k} counts as "
    "{k} + 1",
    facts_at_k={
        "counts_all_items": False,
        "greatest": lambda k, _: k + 1.0,
        "undefined": NO_RELEVANT_ITEM,
    },
    undefined="no relevant item, or without a cutoff no item that may be recommended",
    higher_is_better=False,
)
def mean_rank(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int | None = None,
    *,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Mean rank of the relevant items.

    1 is the best rank. A relevant item that may not be recommended has the rank after the last one:
    the length of the list + 1. With a cutoff, every relevant item outside the top k has rank k + 1,
    the greatest value. Without a cutoff, a given ranking must contain all recommendable items.
    ``Metrics.ranks`` gives the rank of each item. ``ties="best"`` is the best order of the whole
    list, in which only one of several tied items is first; under ``Metrics.ranks(ties="best")``
    each of them is.

    >>> from recmetrics import Metrics
    >>> Metrics.mean_rank([[4, 3, 2, 1]], [[1, 0, 0, 1]])  # (1 + 4) / 2
    array([2.5])
    >>> Metrics.mean_rank([[4, 3, 2, 1]], [[1, 0, 0, 1]], k=2)  # (1 + 3) / 2
    array([2.])
    """


# --- percentile_rank -----------------------------------------------------------------------------


def percentile_rank_reference(user: OneUser, k: int | None, *, rel: float | None) -> float:
    """The mean over the relevant items of the share of the ranks above each; 1 below rank k."""
    if n_relevant(user, rel) == 0:
        return math.nan
    last_rank = len(user.gains) if k is None else k + 1  # the one with the share 1
    hits = hit_list(user, len(user.gains), rel)[:k]
    shares = [(rank - 1) / max(1, last_rank - 1) for rank, hit in enumerate(hits, 1) if hit]
    shares += [1.0] * (n_relevant(user, rel) - len(shares))
    return sum(shares) / len(shares)


@kernel
def _percentile_rank(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the mean percentile rank of each user's relevant items, NaN without any."""
    for user in range(out.size):
        places = k
        if k == WHOLE_LIST:
            # The last item counts as 1, and so does an item that may not be recommended.
            places = max(1, hits.length[user] - 1)
        relevant = _n_relevant(hits, user, rel)
        if relevant:
            above = _ranks_above(hits, user, places, rel, relevant)
            out[user] = above / (relevant * places)
        else:
            out[user] = np.nan


@metric(
    kernel=_percentile_rank,
    reference=percentile_rank_reference,
    formula="mean over the relevant items of (rank - 1) / (length of the list - 1); an item that "
    "may not be recommended counts as 1",
    latex=r"\frac{1}{R} \sum_{i \text{ relevant}} \frac{\min(r_i, b + 1) - 1}{b}, \quad "
    r"b = k \text{, or the length of the list} - 1 \text{ (at least 1) without a cutoff}",
    citation="Hu, Koren, Volinsky: Collaborative filtering for implicit feedback datasets, ICDM "
    "2008, eq. 8",
    aliases=("mpr",),
    counts_all_items=True,
    formula_at_k="mean over the relevant items of (rank - 1) / {k}; an item that is not in the "
    "top {k} counts as 1",
    facts_at_k={"counts_all_items": False},
    higher_is_better=False,
)
def percentile_rank(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int | None = None,
    *,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Mean percentile rank of the relevant items: 0 at the top of the list, 1 at its end.

    Without a cutoff, a random order has 0.5 on average. A relevant item that may not be recommended
    counts as 1; with a cutoff, so does an item below the top k. Without a cutoff, a given ranking
    must contain all recommendable items. As in ``mean_rank``, ``ties="best"`` is the best order of
    the whole list: of several tied items, only one is first.

    Hu, Koren and Volinsky compute one mean over all relevant items of all users. For binary truth,
    this is the mean that ``recmetrics.summary(values, weights=n)`` gives, where n is the number of
    relevant items of each user.

    >>> from recmetrics import Metrics
    >>> Metrics.percentile_rank([[4, 3, 2, 1]], [[0, 1, 0, 1]])  # (1/3 + 3/3) / 2
    array([0.66666667])
    >>> Metrics.percentile_rank([[4, 3, 2, 1]], [[0, 1, 0, 1]], k=2)  # (1/2 + 1) / 2
    array([0.75])
    """
