"""Metrics of the whole ranking: every item that may be recommended counts.

The file is built as ``accuracy.py`` is.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from typing import Unpack

import numpy as np

from recmetrics._jit import kernel
from recmetrics._options import Shared
from recmetrics._selection import Hits
from recmetrics._spec import metric
from recmetrics._types import FloatArray, Scores, Truth, UserValues
from recmetrics.metrics._reference import OneUser, is_hit, n_relevant
from recmetrics.metrics.accuracy import Rel

# --- auc -----------------------------------------------------------------------------------------


def auc_reference(user: OneUser, k: int, *, rel: float | None) -> float:
    if n_relevant(user, rel) == 0:
        return math.nan
    listed = list(zip(user.scores, user.gains, strict=True))[:k]
    relevant = [score for score, gain in listed if is_hit(gain, rel)]
    others = [score for score, gain in listed if not is_hit(gain, rel)]
    if not listed:
        return 0.0
    if not others:
        return math.nan
    if not relevant:
        return 0.0
    in_order = sum((a > b) + 0.5 * (a == b) for a in relevant for b in others)
    return in_order / (len(relevant) * len(others))


@kernel
def _auc(hits: Hits, k: int, out: FloatArray, rel: float) -> None:  # noqa: ARG001 (every kernel takes k)
    """Use mean ranks: the pairs in the wrong order are their sum - P (P + 1) / 2 (Mann-Whitney)."""
    for user in range(out.size):
        first = hits.start[user]
        relevant = 0
        for slot in range(first, hits.start[user + 1]):
            relevant += hits.ideal[slot] >= rel
        found = 0
        ranks = 0.0
        for slot in range(first, first + hits.n_hits[user]):
            if hits.gain[slot] >= rel:
                found += 1
                ranks += 0.5 * (hits.first[slot] + hits.last[slot])
        others = hits.length[user] - found
        if relevant == 0 or (others == 0 and hits.length[user] > 0):
            out[user] = np.nan
        elif found == 0 or others == 0:
            out[user] = 0.0
        else:
            inverted = ranks - 0.5 * found * (found + 1)
            out[user] = 1.0 - inverted / (found * others)


@metric(
    kernel=_auc,
    reference=auc_reference,
    formula="share of the pairs (relevant item, other item), both recommendable, in which the "
    "relevant item has the higher score; equal scores count 1/2",
    latex=r"\frac{1}{|R_+| \, |R_-|} \sum_{i \in R_+} \sum_{j \in R_-} "
    r"\left( [s_i > s_j] + \frac{1}{2} [s_i = s_j] \right)",
    citation="Rendle et al.: BPR: Bayesian personalized ranking from implicit feedback, UAI 2009",
    averages_ties=True,
)
def auc(
    pred_scores: Scores, ground_truth: Truth, *, rel: Rel = None, **shared: Unpack[Shared]
) -> UserValues:
    """Area under the ROC curve of each user, over the items that may be recommended.

    Also undefined where all of these items are relevant. Only the items of a given ranking
    count: give scores, or the whole ranking, for the AUC of the literature.

    >>> from recmetrics import Metrics
    >>> Metrics.auc([[3, 2, 1]], [[0, 1, 0]])
    array([0.5])
    """
