"""Metrics of the whole ranking: every item that may be recommended counts.

With a cutoff, ``auc`` reads the top k alone.
The file is built as ``accuracy.py`` is.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from typing import Unpack

import numpy as np

from recmetrics._jit import helper, kernel
from recmetrics._options import ForHits
from recmetrics._selection import WHOLE_LIST, Hits
from recmetrics._spec import metric
from recmetrics._types import FloatArray, Scores, Truth, UserValues
from recmetrics.metrics._reference import OneUser, hit_list, is_hit, n_relevant
from recmetrics.metrics.accuracy import Rel

# --- fallout -------------------------------------------------------------------------------------


def fallout_reference(user: OneUser, k: int, *, rel: float | None) -> float:
    others = [not hit for hit in hit_list(user, len(user.gains), rel)]
    return sum(others[:k]) / sum(others) if any(others) else math.nan


@helper
def _share(hits: Hits, slot: int, depth: int) -> float:
    """The chance that a hit at any rank is within ``depth``."""
    # Not the one of accuracy.py, which reads no deeper hit: a helper stands in its kernel's file,
    # since the cache on disk notices changes of that file alone.
    first, last = hits.first[slot], hits.last[slot]
    if first > depth:
        return 0.0
    return 1.0 if last <= depth else (depth - first + 1) / (last - first + 1)


@kernel
def _fallout(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    for user in range(out.size):
        first = hits.start[user]
        length = hits.length[user]
        depth = length if k == WHOLE_LIST else min(k, length)
        relevant = 0
        listed = 0.0
        for slot in range(first, first + hits.n_hits[user]):
            if hits.gain[slot] >= rel:
                relevant += 1
                listed += _share(hits, slot, depth)
        others = length - relevant
        out[user] = (depth - listed) / others if others > 0 else np.nan


@metric(
    kernel=_fallout,
    reference=fallout_reference,
    formula="items in {top} that are not relevant / all recommendable items that are not relevant",
    latex=r"\frac{\sum_{r=1}^{k} (1 - h_r)}{|R_-|}",
    citation="Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 2008, ch. 8",
    aliases=("fall_out",),
    whole_list=True,
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
    """Share of the items that are not relevant, of all that may be recommended, in the top k.

    0 is best. A user without relevant items has a value: k / the number of recommendable items. A
    given ranking that lacks some of these is refused: give scores, or the whole ranking.

    >>> from recmetrics import Metrics
    >>> Metrics.fallout_at_k([[5, 4, 3, 2, 1]], [[1, 0, 1, 0, 0]], k=2)
    array([0.33333333])
    """


# --- auc -----------------------------------------------------------------------------------------


def auc_reference(user: OneUser, k: int | None, *, rel: float | None) -> float:
    if n_relevant(user, rel) == 0:
        return math.nan
    # With a cutoff, a list is in order, also where scores are equal.
    values = user.scores if k is None else [-float(rank) for rank in range(len(user.scores))]
    listed = list(zip(values, user.gains, strict=True))[:k]
    relevant = [value for value, gain in listed if is_hit(gain, rel)]
    others = [value for value, gain in listed if not is_hit(gain, rel)]
    if listed and not others:
        return math.nan if k is None else 1.0
    if not relevant:
        return 0.0
    in_order = sum((a > b) + 0.5 * (a == b) for a in relevant for b in others)
    return in_order / (len(relevant) * len(others))


@kernel
def _auc(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Use mean ranks: the pairs in the wrong order are their sum - P (P + 1) / 2 (Mann-Whitney)."""
    for user in range(out.size):
        first = hits.start[user]
        relevant = 0
        for slot in range(first, hits.start[user + 1]):
            relevant += hits.ideal[slot] >= rel
        length = hits.length[user] if k == WHOLE_LIST else min(k, hits.length[user])
        found = 0
        ranks = 0.0
        for slot in range(first, first + hits.n_hits[user]):
            if hits.gain[slot] >= rel and hits.first[slot] <= length:
                found += 1
                ranks += 0.5 * (hits.first[slot] + hits.last[slot])
        others = length - found
        if relevant == 0:
            out[user] = np.nan
        elif found == 0:
            out[user] = 0.0
        elif others == 0:
            out[user] = np.nan if k == WHOLE_LIST else 1.0
        else:
            inverted = ranks - 0.5 * found * (found + 1)
            out[user] = 1.0 - inverted / (found * others)


@metric(
    kernel=_auc,
    reference=auc_reference,
    formula="share of the pairs (relevant item, other item), both {among}, in which the relevant "
    "item {in_order}",
    latex=r"\frac{1}{|R_+| \, |R_-|} \sum_{i \in R_+} \sum_{j \in R_-} "
    r"\left( [s_i > s_j] + \frac{1}{2} [s_i = s_j] \right)",
    citation="Rendle et al.: BPR: Bayesian personalized ranking from implicit feedback, UAI 2009",
    averages_ties=True,
    divides_at_k=True,
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

    It reads all items that may be recommended, and is also undefined where all of these are
    relevant. A given ranking that lacks some of them is refused: give scores, or the whole ranking.

    ``auc@k`` is another metric: it counts the pairs within the top k, in the order of the list, so
    equal scores rank by the lower item index. It is 0 without hits and 1 with hits only. It falls
    where one more hit enters the end of the list, and says nothing about the items below.

    >>> from recmetrics import Metrics
    >>> Metrics.auc([[3, 2, 1]], [[0, 1, 0]])
    array([0.5])
    >>> Metrics.auc([[4, 3, 2, 1]], [[1, 0, 1, 1]], k=3)  # 1 of the pairs (0, 1), (2, 1)
    array([0.5])
    """
