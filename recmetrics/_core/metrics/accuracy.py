"""Metrics of the first k ranks: whether the relevant items are near the top.

Each metric is one block: the choices of its options, its reference (the definition in plain Python,
for one user), its kernel (the same over the hits of all users), and its declaration. To add a
metric, add a block and its name to ``Metrics``; the command, the README, the tests and the
benchmarks find it.

A kernel is called with the ``Hits``, the cutoff (``WHOLE_LIST`` without one), the array ``out`` to
fill, and then the options that it names: a choice by its number in the ``Literal``, a number that
is not set as 0 (so ``gain >= rel`` holds for every relevant item if ``rel`` is not set). Each user
has a slot in the hits for each relevant item, and an entry in ``out``. This comes filled with 0,
NaN for users without relevant items, so the kernels below visit only users with hits, and only
relevant items of these count. The options
``gain``, ``discount``, ``ideal``, and ``rel`` of a metric with ``gain``, change the ``Hits``
instead, so no kernel names them.

A kernel computes the expectation over the orders of equal scores: hits that share their ranks
``first`` .. ``last`` are a tie group, in any order. A metric that is linear in the gains needs the
mean weight of these ranks; ``hit``, ``map``, ``mrr`` and ``err`` look at a group as a whole. Once
the order of ties is decided, every hit is a group of one rank, and the same loops compute the plain
metric.

In a formula ``{top}``, ``{k}``, ``{cut}`` and the like stand for the cutoff (``Formula``).
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Unpack

import numpy as np

from recmetrics._core.errors import InputError
from recmetrics._core.jit import add_work, counts_work, helper, kernel
from recmetrics._core.metrics.reference import (
    OneUser,
    dcg_of,
    gain_of,
    graded,
    hit_list,
    n_relevant,
    ratio,
    weighed_gains,
    weighed_hits,
)
from recmetrics._core.options import ForHits
from recmetrics._core.selection import WHOLE_LIST, Hits, discounts, hits_of_slots
from recmetrics._core.spec import Number, choice, metric
from recmetrics._core.types import FloatArray, Scores, Truth, UserValues

_MANNING = "Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 2008, ch. 8"
_YANG = (
    "Yang et al.: Unbiased offline recommender evaluation for missing-not-at-random implicit "
    "feedback, RecSys 2018"
)
_JAIN = "Jain, Prabhu, Varma: Extreme multi-label loss functions, KDD 2016"
_EXP2_SOURCES = {"exp2": "Burges et al.: Learning to rank using gradient descent, ICML 2005"}
_WEIGH_SOURCES = {"ips": f"{_YANG}; {_JAIN}", "snips": _YANG, "ps": _JAIN}
_JARVELIN = "Jarvelin, Kekalainen: Cumulated gain-based evaluation of IR techniques, TOIS 2002"

_MAX_SUMMED_RANKS = 1 << 16  # whose discounts are added up for the greatest value of dcg

# --- Options that several metrics have -----------------------------------------------------------

Rel = Annotated[
    float | None,
    Number(
        "smallest relevance that counts as relevant, rounded to float32 if that is less; not set: "
        "any above 0"
    ),
]
Gain = Annotated[
    Literal["linear", "exp2", "exp2_shifted", "binary"],
    "gain of a relevant item: its relevance, 2^relevance - 1, 2^(relevance + 1) - 1, or 1",
]
GradedRel = Annotated[
    float | None,
    Number(
        "binary threshold: an item of relevance >= rel (rounded to float32 if that is less) counts "
        "as relevance 1, another as 0; gains are computed from these; not set: relevances as they "
        "are"
    ),
]
Discount = Annotated[
    Literal["log2", "log2_clip", "ln", "reciprocal"] | Callable[[int], float],
    "divisor of the gain at rank r: log2(r + 1), max(log2(r), 1), ln(r + 1) or r",
]
# The text of the choices in a formula.
_GAINS = {
    "linear": "relevance",
    "exp2": "(2^relevance - 1)",
    "exp2_shifted": "(2^(relevance + 1) - 1, 0 where not relevant)",
    "binary": "(1 where relevant)",
}
_DISCOUNTS = {
    "log2": "log2(rank + 1)",
    "log2_clip": "max(log2(rank), 1)",
    "ln": "ln(rank + 1)",
    "reciprocal": "rank",
}

# The weights of relevant items; the catalogue of the metrics below says which sources have them.
Weigh = Literal["no", "ips", "snips", "ps"]
_WEIGH_PS = choice(Weigh, "ps")
_WEIGH_WORDS = {
    "no": "hits in {top}",
    "ips": "sum of 1 / propensity over the hits in {top}",
    "snips": "sum over the hits in {top} of 1 / propensity, over its mean for the user's relevant "
    "items,",
    "ps": "sum of 1 / propensity over the hits in {top}, divided by that of the best order, both",
}
_WEIGHED = {
    "no": "",
    "ips": " / propensity",
    "snips": " / propensity / (mean of 1 / propensity over the user's relevant items)",
    "ps": " / propensity, in the ideal as well,",
}
Weighed = Annotated[
    Weigh,
    "weight of a relevant item: 1 (no); 1 / propensity (ips); that divided by its mean over the "
    "user's relevant items (snips); or 1 / propensity, and the result divided by that of the best "
    "order (ps)",
]

# --- Helpers of the kernels ----------------------------------------------------------------------
# Helpers that take the Hits have one return and no break: with more exits Numba counts references
# to each of its arrays, 0.15 us a call, where a whole metric takes 0.01 us for a user.


@helper
def _cutoff_of(hits: Hits, k: int, user: int) -> int:
    """The number of ranks of a user that count: k, or for ``WHOLE_LIST`` the length of the list."""
    length = hits.length[user]
    return length if k == WHOLE_LIST else k


@helper
def _n_relevant(hits: Hits, user: int, rel: float) -> int:
    """R: the number of a user's relevant items, those of at least ``rel`` if that is not 0."""
    n_relevant = hits.n_relevant[user]
    if rel > 0.0:
        n_relevant = 0
        for slot in range(hits.start[user], hits.start[user + 1]):
            n_relevant += hits.ideal[slot] >= rel
    return n_relevant  # type: ignore[no-any-return]


@helper
def _end_of_hits(hits: Hits, user: int, depth: int) -> int:
    """The slot behind a user's hits that may be within rank ``depth``; they begin at ``start``."""
    slot = hits.start[user]
    end = slot + hits.n_hits[user]
    while slot < end and hits.first[slot] <= depth:
        slot += 1
    return slot  # type: ignore[no-any-return]


@helper
def _hit_sum(hits: Hits, user: int, depth: int, rel: Any) -> float:
    """The number of a user's hits of at least ``rel`` within rank ``depth``.

    With None for ``rel`` it is the sum of the gains of all hits instead. The number, or the sum, is
    the expected one where a tie group reaches beyond the depth.
    """
    total = 0.0
    slot = hits.start[user]
    end = slot + hits.n_hits[user]
    while slot < end and hits.first[slot] <= depth:  # not by _end_of_hits: half of the time
        worth = hits.gain[slot]  # what the hit adds to the sum
        if rel is not None:
            worth = 1.0 if worth >= rel else 0.0
        first = hits.first[slot]
        last = hits.last[slot]
        if last > depth:  # the chance that a hit of a tie group is within the cutoff
            worth *= (depth - first + 1) / (last - first + 1)
        total += worth
        slot += 1
    return total


@helper
def _group_end(hits: Hits, slot: int, end: int) -> int:
    """The slot behind the tie group that begins at ``slot``; ``end`` is that behind all hits."""
    after = slot + 1
    while after < end and hits.first[after] == hits.first[slot]:
        after += 1
    return after


@helper
def _n_in_group(hits: Hits, slot: int, after: int, rel: float) -> int:
    """The number of hits of at least ``rel`` in the slots from ``slot`` to before ``after``."""
    count = 0
    for member in range(slot, after):
        count += hits.gain[member] >= rel
    return count


@helper
def _ratio(numerator: float, denominator: float) -> float:
    """The quotient, with 0/0 = 0: a user with relevant items and nothing found scores 0."""
    return numerator / denominator if denominator > 0.0 else 0.0


@helper
def _hits_over(divisor: float, hits: Hits, user: int, cut: int, rel: float, weigh: Any) -> float:
    """The hits of a user within rank ``cut``, divided by ``divisor``; 0/0 is 0.

    ``weigh`` is None without weights. With them, each hit counts its weight, which is its gain, and
    with "ps" the divisor is the sum of the weights of the best order instead.
    """
    if weigh is None:
        total = _hit_sum(hits, user, cut, rel)
    else:
        total = _hit_sum(hits, user, cut, None)
        if weigh == _WEIGH_PS:
            begin = hits.start[user]
            divisor = 0.0
            for slot in range(begin, min(begin + cut, hits.start[user + 1])):
                divisor += hits.ideal[slot]
    return _ratio(total, divisor)


# --- hit -----------------------------------------------------------------------------------------


def hit_reference(user: OneUser, k: int, *, rel: float | None) -> float:
    """1 if one of the top k items is relevant, else 0; NaN for a user without relevant items."""
    if n_relevant(user, rel) == 0:
        return math.nan
    return float(any(hit_list(user, k, rel)))


@kernel
def _hit(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write whether a user has a hit; with ties, the chance of one."""
    for user in hits.users:
        depth = _cutoff_of(hits, k, user)
        missed = 1.0  # the chance that every hit of the groups so far is below the cutoff
        n_before = 0  # earlier hits of the tie group
        for slot in range(hits.start[user], _end_of_hits(hits, user, depth)):
            first = hits.first[slot]
            last = hits.last[slot]
            if slot == hits.start[user] or first != hits.first[slot - 1]:
                n_before = 0
            if hits.gain[slot] >= rel:
                # The ranks below the cutoff among those that earlier hits of the group left.
                below = max(0, last - depth - n_before)
                missed *= below / (last - first + 1 - n_before)
                n_before += 1
                if missed == 0.0:
                    break
        out[user] = 1.0 - missed


@metric(
    kernel=_hit,
    reference=hit_reference,
    formula="1 if any of {top} is relevant, else 0",
    latex=r"\max_{r \le k} h_r",
    citation="Deshpande, Karypis: Item-based top-N recommendation algorithms, TOIS 2004",
    aliases=("hit_rate", "hit_ratio", "hitrate", "hr", "success"),
)
def hit_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """1 if any of the top k items is relevant, else 0 (hit rate).

    >>> from recmetrics import Metrics
    >>> Metrics.hit_at_k([[4, 3, 2, 1]], [[0, 0, 1, 1]], k=3)
    array([1.])
    >>> Metrics.hit_at_k([[4, 3, 2, 1]], [[0, 0, 1, 1]], k=2)
    array([0.])
    """


# --- precision -----------------------------------------------------------------------------------


PrecisionDenom = Literal["k", "list"]
_PRECISION_LIST = choice(PrecisionDenom, "list")
_PRECISION_WORDS = {"k": "/ {k}", "list": "/ {cut}"}


def precision_reference(
    user: OneUser, k: int, *, denom: str, rel: float | None, weigh: str
) -> float:
    """The (weighed) hits in the top k, over k or the list length; NaN if none is relevant."""
    if n_relevant(user, rel) == 0:
        return math.nan
    hits = weighed_hits(user, k, rel, weigh)
    if weigh == "ps":
        return hits
    return ratio(hits, min(k, len(user.gains)) if denom == "list" else k)


@kernel
def _precision(hits: Hits, k: int, out: FloatArray, denom: int, rel: float, weigh: Any) -> None:
    """Write the precision of each user with hits."""
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        divisor = cut
        if denom == _PRECISION_LIST:
            divisor = min(cut, hits.length[user])
        out[user] = _hits_over(divisor, hits, user, cut, rel, weigh)


@metric(
    kernel=_precision,
    reference=precision_reference,
    formula="{weigh} {denom}",
    words={"denom": _PRECISION_WORDS, "weigh": _WEIGH_WORDS},
    varies=("denom",),
    latex=r"\frac{1}{k} \sum_{r=1}^{k} h_r",
    citation=_MANNING,
    sources={"weigh": _WEIGH_SOURCES},
    aliases=("p",),
)
def precision_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    denom: Annotated[PrecisionDenom, "divide by k, or by min(k, length of the list)"] = "k",
    rel: Rel = None,
    weigh: Weighed = "no",
    **shared: Unpack[ForHits],
) -> UserValues:
    """Share of the top k that is relevant.

    Hits of a list shorter than k are still divided by k, unless ``denom="list"``.

    ``weigh`` corrects for items that are observed more often than others; it needs ``propensity=``.
    With ``weigh="ps"`` the value is divided by that of the best order, and ``denom`` is ignored.
    ``precision(weigh=ips)@k`` is the PSP@k of Jain, Prabhu and Varma (KDD 2016). Papers divide its
    mean over all users by the mean of the best possible values, which ``Metrics.ceiling`` computes.

    >>> from recmetrics import Metrics
    >>> Metrics.precision_at_k([[0.9, 0.1, 0.5]], [[0, 1, 1]], k=2)
    array([0.5])
    """


# --- recall --------------------------------------------------------------------------------------


RecallDenom = Literal["capped", "relevant", "list"]
_RECALL_CAPPED = choice(RecallDenom, "capped")
_RECALL_RELEVANT = choice(RecallDenom, "relevant")
_RECALL_LIST = choice(RecallDenom, "list")
_RECALL_WORDS = {"capped": "/ min(R, {k})", "relevant": "/ R", "list": "/ min(R, {limits})"}


def recall_reference(user: OneUser, k: int, *, denom: str, rel: float | None, weigh: str) -> float:
    """The (weighed) hits in the top k, over R, min(R, k) or the like; NaN if none is relevant."""
    relevant = n_relevant(user, rel)
    if relevant == 0:
        return math.nan
    hits = weighed_hits(user, k, rel, weigh)
    if weigh == "ps":
        return hits
    divisor = {
        "capped": min(relevant, k),
        "relevant": relevant,
        "list": min(relevant, k, len(user.gains)),
    }
    return ratio(hits, divisor[denom])


@helper
def _recall_divisor(relevant: int, cut: int, length: int, denom: int) -> int:
    """The divisor of recall for R ``relevant`` items: R, min(R, cut), or min(R, cut, length)."""
    divisor = relevant
    if denom != _RECALL_RELEVANT:
        divisor = min(divisor, cut)
    if denom == _RECALL_LIST:
        divisor = min(divisor, length)
    return divisor


@kernel
def _recall(hits: Hits, k: int, out: FloatArray, denom: int, rel: float, weigh: Any) -> None:
    """Write the recall of each user with hits."""
    min_rel = rel
    if weigh is not None:
        min_rel = 0.0  # gains are weights then, and only items of at least rel have any
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        relevant = _n_relevant(hits, user, min_rel)
        divisor = _recall_divisor(relevant, cut, hits.length[user], denom)
        out[user] = _hits_over(divisor, hits, user, cut, rel, weigh)


@metric(
    kernel=_recall,
    reference=recall_reference,
    formula="{weigh} {denom}",
    words={"denom": _RECALL_WORDS, "weigh": _WEIGH_WORDS},
    varies=("denom",),
    latex=r"\frac{1}{\min(R, k)} \sum_{r=1}^{k} h_r",
    citation="Liang et al.: Variational autoencoders for collaborative filtering, WWW 2018",
    sources={"denom": {"relevant": _MANNING}, "weigh": _WEIGH_SOURCES},
    aliases=("r",),
)
def recall_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    denom: Annotated[
        RecallDenom,
        "divide by min(R, k), by all R relevant items, or by min(R, k, length of the list)",
    ] = "capped",
    rel: Rel = None,
    weigh: Weighed = "no",
    **shared: Unpack[ForHits],
) -> UserValues:
    """Hits in the top k / min(R, k) for users with R relevant items: capped recall.

    ``denom=capped`` is the definition of rectorch, LensKit and the VAE literature. For that of
    textbooks, hits / R, type ``recall(denom=relevant)@k``:

    >>> from recmetrics import Metrics
    >>> scores, truth = [[4, 3, 2, 1, 0]], [[1, 1, 0, 0, 1]]
    >>> Metrics.compute(scores, truth, ["recall@2", "recall(denom=relevant)@2"])
    {'recall@2': array([1.]), 'recall(denom=relevant)@2': array([0.66666667])}

    ``weigh`` corrects for items that are observed more often than others; it needs ``propensity=``.
    With ``weigh="ps"`` the value is divided by that of the best order, and ``denom`` is ignored.
    ``recall(denom=relevant, weigh=snips)@k`` is the self-normalised estimator of Yang et al.
    (RecSys 2018): the sum of 1 / propensity over the hits, divided by the sum over all relevant
    items.
    """


# --- f1 ------------------------------------------------------------------------------------------


_LARGEST_BETA = 1e100  # its square is finite
F1Denom = Literal["k", "list", "capped", "relevant", "list+relevant"]
_F1_LIST = choice(F1Denom, "list")
_F1_RELEVANT = choice(F1Denom, "relevant")
_F1_BOTH = choice(F1Denom, "list+relevant")


def _f1_words(precision: str, recall: str) -> str:
    """The words of a formula that define precision and recall by their denominators."""
    return (
        f"precision = hits in {{top}} {_PRECISION_WORDS[precision]}, "
        f"recall = hits in {{top}} {_RECALL_WORDS[recall]}"
    )


def f1_reference(user: OneUser, k: int, *, denom: str, beta: float, rel: float | None) -> float:
    """The weighted harmonic mean of precision and recall in the top k, 0 where both are 0."""
    precision_denom = "list" if "list" in denom else "k"
    precision = precision_reference(user, k, denom=precision_denom, rel=rel, weigh="no")
    recall_denom = "relevant" if "relevant" in denom else "capped"
    recall = recall_reference(user, k, denom=recall_denom, rel=rel, weigh="no")
    return ratio((1 + beta**2) * precision * recall, beta**2 * precision + recall)


@kernel
def _f1(hits: Hits, k: int, out: FloatArray, denom: int, beta: float, rel: float) -> None:
    """Write the F-measure of each user with hits."""
    of_list = denom in (_F1_LIST, _F1_BOTH)
    recall_denom = _RECALL_CAPPED
    if denom in (_F1_RELEVANT, _F1_BOTH):
        recall_denom = _RECALL_RELEVANT
    beta_square = beta * beta

    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        length = hits.length[user]
        n_hits = _hit_sum(hits, user, cut, rel)
        precision = _ratio(n_hits, min(cut, length) if of_list else cut)
        relevant = _n_relevant(hits, user, rel)
        recall = _ratio(n_hits, _recall_divisor(relevant, cut, length, recall_denom))
        out[user] = _ratio(
            (1.0 + beta_square) * precision * recall, beta_square * precision + recall
        )


@metric(
    kernel=_f1,
    reference=f1_reference,
    formula="{beta}, 0 without hits; {denom}",
    words={
        "beta": {
            1.0: "2 precision recall / (precision + recall)",
            float: "(1 + {number}^2) precision recall / ({number}^2 precision + recall)",
        },
        "denom": {
            "k": _f1_words("k", "capped"),
            "list": _f1_words("list", "capped"),
            "capped": _f1_words("k", "capped"),
            "relevant": _f1_words("k", "relevant"),
            "list+relevant": _f1_words("list", "relevant"),
        },
    },
    latex=r"\frac{(1 + \beta^2) \cdot \mathrm{precision} \cdot \mathrm{recall}}{\beta^2 \cdot "
    r"\mathrm{precision} + \mathrm{recall}}",
    citation="van Rijsbergen: Information Retrieval, 2nd edition, 1979, ch. 7",
    aliases=("f", "f_beta"),
)
def f1_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    denom: Annotated[
        F1Denom,
        "divisor of precision (k or list) or of recall (capped or relevant); k and capped unless "
        "named",
    ] = "k",
    beta: Annotated[
        float, Number("recall counts beta times as much as precision", below=_LARGEST_BETA)
    ] = 1.0,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Harmonic mean of precision and recall at k, weighted by ``beta``.

    ``denom`` is the divisor of precision or of recall, as in these two metrics; ``"list+relevant"``
    sets both.

    >>> from recmetrics import Metrics
    >>> scores, truth = [[4, 3, 2, 1]], [[1, 0, 0, 1]]  # precision 1/3, recall 1/2
    >>> Metrics.f1_at_k(scores, truth, k=3)
    array([0.4])
    """


# --- map -----------------------------------------------------------------------------------------


MapDenom = Literal["capped", "relevant", "hits", "list", "k"]
_MAP_RELEVANT = choice(MapDenom, "relevant")
_MAP_HITS = choice(MapDenom, "hits")
_MAP_LIST = choice(MapDenom, "list")
_MAP_K = choice(MapDenom, "k")
MapOver = Literal["hits", "ranks"]
_MAP_OVER_RANKS = choice(MapOver, "ranks")
Tied = Literal["order", "block"]
_TIED_BLOCK = choice(Tied, "block")


def map_reference(
    user: OneUser, k: int, *, denom: str, over: str, tied: str, rel: float | None
) -> float:
    """The mean of the precisions at the ranks of the hits in the top k, or at all k ranks."""
    relevant = n_relevant(user, rel)
    if relevant == 0:
        return math.nan
    hits = hit_list(user, k, rel)
    if over == "ranks":
        return ratio(sum(sum(hits[:rank]) / rank for rank in range(1, k + 1)), k)
    last_ranks = list(range(1, len(hits) + 1))
    if tied == "block":
        # Every item of a block of equal scores is at its last rank; one that ends below k is out.
        last_ranks = [
            len(user.scores) - user.scores[::-1].index(score) for score in user.scores[: len(hits)]
        ]
        hits = [hit and last <= k for hit, last in zip(hits, last_ranks, strict=True)]
    precisions = [
        sum(hits[:last]) / last for hit, last in zip(hits, last_ranks, strict=True) if hit
    ]
    divisor = {
        "capped": min(relevant, k),
        "relevant": relevant,
        "hits": len(precisions),
        "list": min(relevant, k, len(user.gains)),
        "k": k,
    }
    return ratio(sum(precisions), divisor[denom])


def _map(hits: Hits, k: int, out: FloatArray, denom: int, over: int, tied: int, rel: float) -> None:
    """Write the average precision of each user with hits."""
    # There are two kernels, since with one each call would wait until both loops are compiled.
    if over == _MAP_OVER_RANKS:
        _mean_precision(hits, k, out, rel)
    else:
        _average_precision(hits, k, out, denom, tied, rel)


@kernel
def _mean_precision(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the mean of the precision at all ranks of each user with hits."""
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        slot = hits.start[user]
        end = _end_of_hits(hits, user, cut)
        total = 0.0
        n_hits = 0.0  # the expected number of hits so far
        # The tie group that was reached last: its ranks, and the chance of a hit at each of them.
        first = 0
        last = 0
        chance = 0.0
        for rank in range(1, cut + 1):
            if rank > last and slot < end:
                after = _group_end(hits, slot, end)
                first = hits.first[slot]
                last = hits.last[slot]
                chance = _n_in_group(hits, slot, after, rel) / (last - first + 1)
                slot = after
            if first <= rank <= last:
                n_hits += chance
            total += n_hits / rank
        out[user] = _ratio(total, cut)


@kernel
def _average_precision(
    hits: Hits, k: int, out: FloatArray, denom: int, tied: int, rel: float
) -> None:
    """Write the sum of the precision at the hits of each user with hits, divided by ``denom``.

    With ``_TIED_BLOCK`` all hits of a tie group are at its last rank.
    """
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        relevant = _n_relevant(hits, user, rel)
        end = _end_of_hits(hits, user, cut)
        n_hits = 0
        precisions = 0.0  # their sum over the hits
        slot = hits.start[user]
        while slot < end:
            after = _group_end(hits, slot, end)
            n_tied = _n_in_group(hits, slot, after, rel)
            if n_tied > 0 and tied == _TIED_BLOCK:
                last = hits.last[slot]
                if last <= cut:
                    n_hits += n_tied
                    precisions += n_tied * n_hits / last
            elif n_tied > 0:
                first = hits.first[slot]
                last = hits.last[slot]
                n_ranks = last - first + 1
                # The chance of a hit at a rank of the group, and that of another hit at each rank
                # of the group before it.
                chance = n_tied / n_ranks
                chance_before = 0.0
                if n_tied > 1:
                    chance_before = (n_tied - 1) / (n_ranks - 1)
                for rank in range(first, min(last, cut) + 1):
                    precisions += chance * (n_hits + 1 + (rank - first) * chance_before) / rank
                n_hits += n_tied
            slot = after

        if denom == _MAP_HITS:
            divisor = n_hits
        elif denom == _MAP_RELEVANT:
            divisor = relevant
        elif denom == _MAP_K:
            divisor = cut
        else:
            divisor = min(relevant, cut)
            if denom == _MAP_LIST:
                divisor = min(divisor, hits.length[user])
        out[user] = _ratio(precisions, divisor)


@metric(
    kernel=_map,
    reference=map_reference,
    formula="{over}",
    words={
        "over": {
            "hits": "sum of the precision at each hit in {top} {denom}{tied}",
            "ranks": "mean of the precision at every {down}",
        },
        "denom": {**_RECALL_WORDS, "hits": "/ hits found", "k": "/ {k}"},
        "tied": {
            "order": "",
            "block": ", where items of equal score are at the last of their ranks",
        },
    },
    varies=("denom", "over"),
    latex=r"\frac{1}{\min(R, k)} \sum_{r=1}^{k} h_r \, \frac{1}{r} \sum_{s=1}^{r} h_s",
    citation=f"{_MANNING}; of a top k: average_precision_at_k of Kaggle's ml_metrics",
    aliases=("average_precision", "ap"),
    without_orders={"denom": "hits", "tied": "block"},
    read_with={"denom": ("over", "hits"), "tied": ("over", "hits")},
)
def map_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    denom: Annotated[
        MapDenom,
        "divide by min(R, k), by all R relevant items, by the hits found, by min(R, k, length of "
        "the list), or by k",
    ] = "capped",
    over: Annotated[
        MapOver,
        "average the precision at each hit, with denom; or average the precision at all ranks 1, "
        "2, ..., k, without denom",
    ] = "hits",
    tied: Annotated[
        Tied,
        "order: items of equal score have different ranks, in the order of ties=; block: all have "
        "the last of these ranks",
    ] = "order",
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Average precision at k; its mean over users is MAP.

    ``map(denom=relevant, tied=block)`` is scikit-learn's average precision. Equal scores are one
    threshold there: each hit counts the precision at the last of their ranks.

    >>> from recmetrics import Metrics
    >>> Metrics.map_at_k([[4, 3, 2, 1]], [[1, 0, 1, 0]], k=3)  # (1/1 + 2/3) / 2
    array([0.83333333])
    """


# --- mrr -----------------------------------------------------------------------------------------


MrrOver = Literal["first", "relevant"]
_MRR_OVER_RELEVANT = choice(MrrOver, "relevant")


def mrr_reference(user: OneUser, k: int, *, over: str, rel: float | None) -> float:
    """1 / rank of the first hit in the top k, 0 without a hit, or the mean over all relevant items.

    NaN without relevant items.
    """
    relevant = n_relevant(user, rel)
    if relevant == 0:
        return math.nan
    reciprocals = [1 / rank for rank, hit in enumerate(hit_list(user, k, rel), start=1) if hit]
    if over == "relevant":
        return sum(reciprocals) / relevant
    return reciprocals[0] if reciprocals else 0.0


def _mrr(hits: Hits, k: int, out: FloatArray, over: int, rel: float) -> None:
    """Write the reciprocal rank of each user with hits."""
    # There are two kernels, as there are of map.
    if over == _MRR_OVER_RELEVANT:
        _mean_reciprocal(hits, k, out, rel)
    else:
        _first_reciprocal(hits, k, out, rel)


@kernel
def _mean_reciprocal(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the mean of 1 / rank over the relevant items of each user, 0 for those not found."""
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        total = 0.0
        for slot in range(hits.start[user], _end_of_hits(hits, user, cut)):
            if hits.gain[slot] >= rel:
                first = hits.first[slot]
                last = hits.last[slot]
                reciprocals = 0.0  # their sum over the ranks of the tie group
                for rank in range(first, min(last, cut) + 1):
                    reciprocals += 1.0 / rank
                total += reciprocals / (last - first + 1)
        out[user] = total / _n_relevant(hits, user, rel)


@kernel
def _first_reciprocal(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Add 1 / rank of the first hit to the 0 that ``out`` holds; with ties, its expectation."""
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        end = _end_of_hits(hits, user, cut)
        slot = hits.start[user]
        while slot < end:
            after = _group_end(hits, slot, end)
            n_tied = _n_in_group(hits, slot, after, rel)
            if n_tied > 0:
                first = hits.first[slot]
                last = hits.last[slot]
                # P(first hit at rank r) = C(last - r, n - 1) / C(N, n), n = n_tied and
                # N = last - first + 1. At r = first it is n / N. From r to r + 1 it is multiplied
                # by (later - n + 1) / later, with later = last - r.
                chance = n_tied / (last - first + 1)
                for rank in range(first, min(last - n_tied + 1, cut) + 1):
                    out[user] += chance / rank
                    later = last - rank  # ranks of the group behind this one
                    # ``later`` is 0 only after the last step, hence max.
                    chance *= (later - n_tied + 1) / max(1, later)
                break
            slot = after


@metric(
    kernel=_mrr,
    reference=mrr_reference,
    formula="{over}",
    words={
        "over": {
            "first": "1 / rank of the first hit, 0 if there is none in {top}",
            "relevant": "sum of 1 / rank over the hits in {top} / R",
        }
    },
    varies=("over",),
    latex=r"\max_{r \le k} \frac{h_r}{r}",
    citation="Voorhees: The TREC-8 question answering track report, 1999",
    aliases=("reciprocal_rank", "rr"),
)
def mrr_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    over: Annotated[
        MrrOver,
        "1 / rank of the first hit; or the mean of 1 / rank over all relevant items, 0 for those "
        "that are not in the top k",
    ] = "first",
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Reciprocal rank of the first hit; its mean over users is MRR.

    ``mrr(over=relevant)`` is the MRR of MIND's leaderboard and of news recommenders. Link
    prediction divides 1 by the mean rank of equal scores, see ``Metrics.ranks``;
    ``ties="expected"`` is the mean of 1 / rank instead.

    >>> from recmetrics import Metrics
    >>> Metrics.mrr_at_k([[4, 2, 3, 1], [1, 2, 3, 4]], [[0, 0, 1, 1], [0, 0, 1, 1]], k=3)
    array([0.5, 1. ])
    """


# --- ndcg ----------------------------------------------------------------------------------------


IdealDepth = Literal["k", "all", "list", "full"]
_DEPTH_ALL = choice(IdealDepth, "all")
_DEPTH_LIST = choice(IdealDepth, "list")
_DEPTH_FULL = choice(IdealDepth, "full")


def ndcg_reference(
    user: OneUser,
    k: int,
    *,
    gain: str,
    discount: str,
    ideal: str,
    ideal_depth: str,
    rel: float | None,
    weigh: str,
) -> float:
    """The DCG of the top k over that of the ideal list; NaN for a user without relevant items."""
    if n_relevant(user, rel) == 0:
        return math.nan
    gains, ideal_gains = weighed_gains(user, k, gain, rel, weigh)
    if ideal == "retrieved":
        ideal_gains = gains
    elif weigh in ("ips", "snips"):
        _, ideal_gains = weighed_gains(user, k, gain, rel, "no")
    ideal_gains = sorted(ideal_gains, reverse=True)
    if ideal_depth == "full":
        ideal_gains = ideal_gains[:1] * k
    depth = {"k": k, "full": k, "all": len(ideal_gains), "list": min(k, len(user.gains))}
    return ratio(dcg_of(gains, discount), dcg_of(ideal_gains[: depth[ideal_depth]], discount))


@helper
def _dcg_of(hits: Hits, user: int, cut: int) -> float:
    """The sum of a user's gains within rank ``cut``, each times the mean discount of its ranks."""
    total = 0.0
    weight = 0.0  # mean discount of the ranks of the tie group
    last_first = 0  # the first rank of the tie group before
    begin = hits.start[user]
    for slot in range(begin, begin + hits.n_hits[user]):
        first = hits.first[slot]
        if first > cut:
            break
        last = hits.last[slot]
        if first != last_first:
            last_first = first
            weight = 0.0
            end_rank = last if last < cut else cut
            for rank in range(first, end_rank + 1):
                weight += hits.discount[rank - 1]
            if last > first:
                weight /= last - first + 1
        total += hits.gain[slot] * weight
    return total


@kernel
def _ndcg(hits: Hits, k: int, out: FloatArray, ideal_depth: int) -> None:
    """Write the NDCG of each user with hits; ``ideal_depth`` is the option of that name."""
    # The DCG of one user's ideal is used again for the next one if all gains of both ideals equal
    # ``cached_gain``, as in binary truth, and both have ``cached_ranks``. That is 0 if the gains of
    # the last ideal were not equal, so that the next one needs a sum of its own.
    ideal_dcg = 0.0
    cached_gain = 0.0
    cached_ranks = 0
    for user in hits.users:
        cut = _cutoff_of(hits, k, user)
        dcg = _dcg_of(hits, user, cut)
        if dcg == 0.0:  # no hit within the cutoff; ``out`` holds 0 already
            continue

        ideal_ranks = cut
        begin = hits.start[user]
        relevant = hits.n_relevant[user]
        step = 1  # from the gain of a rank of the ideal to that of the next
        if ideal_depth == _DEPTH_FULL:
            step = 0  # the largest gain at every rank
        else:
            if ideal_depth == _DEPTH_LIST and hits.length[user] < ideal_ranks:
                ideal_ranks = hits.length[user]
            if ideal_depth == _DEPTH_ALL or relevant < ideal_ranks:
                ideal_ranks = relevant

        largest_gain = hits.ideal[begin]
        least_gain = hits.ideal[begin + step * (ideal_ranks - 1)]
        if ideal_ranks != cached_ranks or largest_gain != cached_gain or least_gain != cached_gain:
            ideal_dcg = 0.0
            for i in range(ideal_ranks):
                ideal_dcg += hits.ideal[begin + step * i] * hits.discount[i]
            cached_gain = largest_gain
            cached_ranks = 0
            if least_gain == largest_gain:
                cached_ranks = ideal_ranks
        out[user] = _ratio(dcg, ideal_dcg)


@metric(
    kernel=_ndcg,
    reference=ndcg_reference,
    formula="sum over {top} of {gain}{weigh} / {discount}, divided by the same sum of the "
    "ideal: {ideal}, {ideal_depth}",
    words={
        "gain": _GAINS,
        "discount": _DISCOUNTS,
        "weigh": _WEIGHED,
        "ideal": {
            "truth": "the user's relevances in descending order",
            "retrieved": "the relevances in {top} in descending order",
        },
        "ideal_depth": {
            "k": "{first}",
            "all": "all of them",
            "list": "{first_cut}",
            "full": "the largest at every {down}",
        },
    },
    latex=r"\frac{\sum_{r=1}^{k} g_r / \log_2(r + 1)}{\sum_{r=1}^{k} g^*_r / \log_2(r + 1)}",
    citation=_JARVELIN,
    sources={"gain": _EXP2_SOURCES, "weigh": _WEIGH_SOURCES},
    without_orders={"ideal": "retrieved"},
    # A list of equal relevances, however small, reaches 1; descending ones do not.
    ceiling_unless={"ideal": "retrieved", "ideal_depth": "full"},
)
def ndcg_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Annotated[
        Literal["truth", "retrieved"],
        "the ideal is the best order of all relevances, or of those in the user's own top k",
    ] = "truth",
    ideal_depth: Annotated[
        IdealDepth,
        "last rank of the ideal. k: k; all: that of the last relevant item; list: min(k, length of "
        "the list); full: k, with the best item at every rank, even if the user has fewer relevant "
        "items",
    ] = "k",
    rel: GradedRel = None,
    weigh: Weighed = "no",
    **shared: Unpack[ForHits],
) -> UserValues:
    """Normalised discounted cumulative gain at k.

    ``discount`` may also be a callable of the rank. If its values fall with the rank, they are
    weights; if they grow, they are divisors. A constant is a weight. ``rel`` makes graded truth
    binary: a relevance of at least ``rel`` counts as 1, any other as 0. A user without such a
    relevance has no relevant items. To keep the grades above a threshold, as ignite does, pass
    ``np.where(truth >= rel, truth, 0)`` as the truth.

    ``weigh`` multiplies gains by 1 / propensity; it needs ``propensity=``. The ideal has these
    weights as well with ``weigh="ps"`` and with ``ideal="retrieved"``.

    >>> from recmetrics import Metrics
    >>> Metrics.ndcg_at_k([[4, 3, 2, 1]], [[0, 0, 1, 1]], k=3)  # 1/log2(4) / (1 + 1/log2(3))
    array([0.3065736])
    """


# --- dcg -----------------------------------------------------------------------------------------


def _most_gains(k: int | None, options: Mapping[str, Any]) -> float:
    """The greatest value of ``dcg`` and ``cg``, that of k hits; infinite for unknown gains.

    That is also where a callable gives the discounts, which may fail at ranks that no list has.
    """
    discount = options.get("discount")
    has_one_gain = options["gain"] == "binary" or options["rel"] is not None
    if k is None or k > _MAX_SUMMED_RANKS or not has_one_gain or callable(discount):
        return math.inf
    sum_of_weights = float(k)
    if discount is not None:
        sum_of_weights = float(discounts(discount, k).sum())
    return gain_of(1.0, options["gain"]) * sum_of_weights


def dcg_reference(
    user: OneUser, k: int, *, gain: str, discount: str, rel: float | None, weigh: str
) -> float:
    """The gains of the top k, each times the discount of its rank.

    NaN without relevant items, for which the library then puts 0.
    """
    if n_relevant(user, rel) == 0:
        return math.nan
    return dcg_of(weighed_gains(user, k, gain, rel, weigh)[0], discount)


@kernel
def _dcg(hits: Hits, k: int, out: FloatArray) -> None:
    """Write the DCG of each user with hits."""
    for user in hits.users:
        out[user] = _dcg_of(hits, user, _cutoff_of(hits, k, user))


@metric(
    kernel=_dcg,
    reference=dcg_reference,
    formula="sum over {top} of {gain}{weigh} / {discount}",
    words={"gain": _GAINS, "discount": _DISCOUNTS, "weigh": _WEIGHED},
    latex=r"\sum_{r=1}^{k} \frac{g_r}{\log_2(r + 1)}",
    citation=_JARVELIN,
    sources={"gain": _EXP2_SOURCES, "weigh": _WEIGH_SOURCES},
    bounds=(0.0, math.inf),
    greatest=_most_gains,
    is_sum=True,
)
def dcg_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    rel: GradedRel = None,
    weigh: Annotated[
        Literal["no", "ips", "snips"],
        "weight of a gain: 1 (no); 1 / propensity (ips); or that divided by its mean over the "
        "user's relevant items (snips)",
    ] = "no",
    **shared: Unpack[ForHits],
) -> UserValues:
    """Discounted cumulative gain at k.

    The value is 0 for a user without relevant items, unless ``undefined="raise"`` or the convention
    has NaN. With ``gain="binary"`` or ``rel``, it is at most that of k hits. ``weigh`` multiplies
    gains by 1 / propensity; it needs ``propensity=``.

    >>> from recmetrics import Metrics
    >>> Metrics.dcg_at_k([[3, 2, 1]], [[3, 2, 0]], k=3)  # 3 + 2 / log2(3)
    array([4.26185951])
    """


# --- cg ------------------------------------------------------------------------------------------


def cg_reference(user: OneUser, k: int, *, gain: str, rel: float | None) -> float:
    """The sum of the gains of the top k; NaN without relevant items, for which 0 is then put."""
    if n_relevant(user, rel) == 0:
        return math.nan
    return sum(gain_of(relevance, gain) for relevance in graded(user.gains[:k], rel))


@kernel
def _cg(hits: Hits, k: int, out: FloatArray) -> None:
    """Write the sum of the gains of each user with hits."""
    for user in hits.users:
        out[user] = _hit_sum(hits, user, _cutoff_of(hits, k, user), None)


@metric(
    kernel=_cg,
    reference=cg_reference,
    formula="sum over {top} of {gain}",
    words={"gain": _GAINS},
    latex=r"\sum_{r=1}^{k} g_r",
    citation=_JARVELIN,
    bounds=(0.0, math.inf),
    greatest=_most_gains,
    is_sum=True,
)
def cg_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    gain: Gain = "linear",
    rel: GradedRel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Cumulative gain at k.

    The value is 0 for a user without relevant items, unless ``undefined="raise"`` or the convention
    has NaN. With ``gain="binary"``, it is at most k.

    >>> from recmetrics import Metrics
    >>> Metrics.cg_at_k([[5, 4, 3, 2, 1]], [[5, 3, 2, 1, 2]], k=5)
    array([13.])
    """


# --- r_precision ---------------------------------------------------------------------------------


def r_precision_reference(user: OneUser, k: int, *, rel: float | None) -> float:
    """The hits in the top min(R, k) over R, the number of relevant items; NaN where R is 0."""
    relevant = n_relevant(user, rel)
    if relevant == 0:
        return math.nan
    return sum(hit_list(user, min(relevant, k), rel)) / relevant


@kernel
def _r_precision(hits: Hits, k: int, out: FloatArray, rel: float) -> None:
    """Write the precision at R of each user with hits."""
    for user in hits.users:
        relevant = _n_relevant(hits, user, rel)
        depth = min(relevant, _cutoff_of(hits, k, user))
        out[user] = _hit_sum(hits, user, depth, rel) / relevant


@metric(
    kernel=_r_precision,
    reference=r_precision_reference,
    formula="hits in the top min(R, {k}) / R",
    latex=r"\frac{1}{R} \sum_{r=1}^{\min(R, k)} h_r",
    citation=_MANNING,
)
def r_precision_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Precision at R, the number of the user's relevant items.

    Only the top k is read, so at most k of the R items can be hits. The usual definition is
    ``"r_precision"`` without a cutoff.

    >>> from recmetrics import Metrics
    >>> Metrics.r_precision_at_k([[4, 3, 2, 1]], [[1, 0, 1, 0]])  # 1 of the top 2
    array([0.5])
    """


# --- rbp -----------------------------------------------------------------------------------------


def rbp_reference(user: OneUser, k: int, *, p: float, normalize: str, rel: float | None) -> float:
    """The sum of p^(rank - 1) of the hits in the top k, times 1 - p or over its maximum."""
    relevant = n_relevant(user, rel)
    if relevant == 0:
        return math.nan
    hits = hit_list(user, k, rel)
    total = sum(p**i for i, hit in enumerate(hits) if hit)
    if normalize == "yes":
        return ratio(total, sum(p**i for i in range(min(relevant, len(hits)))))
    return (1 - p) * total


@helper
def _power(base: float, exponent: int) -> float:
    """``base`` to a whole power >= 0, by squaring: ``**`` has other last bits when compiled."""
    power = 1.0
    while exponent > 0:
        if exponent & 1:
            power *= base
        base *= base
        exponent >>= 1
    return power


@kernel
def _rbp(hits: Hits, k: int, out: FloatArray, p: float, normalize: Any, rel: float) -> None:
    """Write the rank-biased precision of each user with hits; ``normalize`` is None for "no"."""
    for user in hits.users:
        n_relevant = _n_relevant(hits, user, rel)
        cut = _cutoff_of(hits, k, user)
        total = 0.0
        weight = 0.0  # the mean of p^(rank - 1) over the ranks of the tie group
        begin = hits.start[user]
        for slot in range(begin, _end_of_hits(hits, user, cut)):
            first = hits.first[slot]
            last = hits.last[slot]
            if slot == begin or first != hits.first[slot - 1]:
                weight = 0.0
                for rank in range(first, min(last, cut) + 1):
                    weight += _power(p, rank - 1)
                if last > first:
                    weight /= last - first + 1
            if hits.gain[slot] >= rel:
                total += weight
        out[user] = (1.0 - p) * total
        if normalize is not None:
            largest_total = 0.0  # that of a list with hits at all its first ranks
            for rank in range(1, min(n_relevant, cut, hits.length[user]) + 1):
                largest_total += _power(p, rank - 1)
            out[user] = _ratio(total, largest_total)


@metric(
    kernel=_rbp,
    reference=rbp_reference,
    formula="{normalize}",
    words={
        "normalize": {
            "no": "(1 - {p}) times the sum of {p}^(rank - 1) over the hits in {top}",
            "yes": "sum of {p}^(rank - 1) over the hits in {top}, divided by the same sum over "
            "the ranks 1 .. min(R, {limits})",
        }
    },
    varies=("normalize",),
    latex=r"(1 - p) \sum_{r=1}^{k} h_r \, p^{r-1}",
    citation="Moffat, Zobel: Rank-biased precision for measurement of retrieval "
    "effectiveness, TOIS 2008",
)
def rbp_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    p: Annotated[
        float, Number("probability that a user continues to the next item", below=1.0)
    ] = 0.8,
    normalize: Annotated[
        Literal["no", "yes"], "whether to divide by the value of the best list of the same length"
    ] = "no",
    rel: Rel = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Rank-biased precision at k: a user continues to the next item with probability p.

    >>> from recmetrics import Metrics
    >>> Metrics.rbp_at_k([[4, 3, 2, 1]], [[1, 0, 1, 0]], p=0.5)  # 0.5 (1 + 0.25)
    array([0.625])
    """


# --- err -----------------------------------------------------------------------------------------


def err_reference(user: OneUser, k: int, *, max_rel: float | None) -> float:
    """The sum of 1 / rank times the chance that a user stops at that rank, in the top k."""
    if not user.relevances:
        return math.nan
    top_grade = user.relevances[0] if max_rel is None else max_rel
    total = 0.0
    still_looking = 1.0
    for rank, relevance in enumerate(user.gains[:k], start=1):
        satisfied = (2**relevance - 1) / 2**top_grade
        total += still_looking * satisfied / rank
        still_looking *= 1 - satisfied
    return total


@helper
def _satisfied(grade: float, top_grade: float) -> float:
    """The chance that an item of grade g satisfies, (2^g - 1) / 2^G, without the overflow of 2^G.

    G is the top grade.
    """
    # The share is 1 - 2^-g, by expm1 where the difference would lose digits.
    share = -math.expm1(-grade * math.log(2.0)) if grade < 0.5 else 1.0 - 2.0**-grade
    return share * 2.0 ** (grade - top_grade)  # type: ignore[no-any-return]


@helper
def _err_of_group(
    hits: Hits,
    slot: int,
    after: int,
    top_grade: float,
    cut: int,
    going_on: FloatArray,
    stopping: FloatArray,
    above: FloatArray,
) -> tuple[float, float]:
    """The sum of P(rank) / rank over a tie group, times the product of 1 - P before, as expected.

    Gives that sum, and the chance to go on after the group. The n hits of the group are those in
    the slots ``slot`` to before ``after``. P is the chance to be satisfied by an item. The last
    three arrays are work memory.

    Over all orders of the group: ``going_on[j]`` is the mean product of 1 - P over j of the
    relevant items, ``stopping[j]`` that mean product times the P of one more item. At each rank,
    ``above[j]`` is the chance that j relevant items came before it. All are means, so nothing
    overflows or cancels.
    """
    n = after - slot
    first = hits.first[slot]
    last = hits.last[slot]
    going_on[: n + 1] = 0.0
    stopping[: n + 1] = 0.0
    above[: n + 1] = 0.0

    going_on[0] = 1.0
    for t in range(n):  # the means over the first t items become those over t + 1
        satisfied = _satisfied(hits.gain[slot + t], top_grade)
        for j in range(t + 1, 0, -1):
            unsatisfied = j * (1.0 - satisfied)
            stopping[j] = (
                satisfied * going_on[j] + unsatisfied * stopping[j - 1] + (t - j) * stopping[j]
            ) / (t + 1)
            going_on[j] = ((t + 1 - j) * going_on[j] + unsatisfied * going_on[j - 1]) / (t + 1)
        stopping[0] = (satisfied + t * stopping[0]) / (t + 1)

    above[0] = 1.0
    total = 0.0
    for rank in range(first, min(last, cut) + 1):
        n_ranks_left = last - rank + 1  # of the group, this rank included
        for j in range(min(rank - first, n), -1, -1):
            chance = (n - j) / n_ranks_left  # that this rank holds a relevant item
            total += above[j] * chance * stopping[j] / rank
            if j < n:
                above[j + 1] += above[j] * chance
            above[j] *= 1.0 - chance
    return total, going_on[n]


# Microseconds of Python for a step of ``_err_of_group``, see ``jit``: every two hits of a tie group
# are a step, and each hit and rank of it are one.
_STEP_TIME = 0.35


def _work_of_err(hits: Hits, k: int) -> float:
    """Estimate the work of tie groups; a group has no more hits than its user."""
    user_of_slot, is_hit = hits_of_slots(hits)
    n_ranks = np.where(is_hit, hits.last - hits.first, 0)  # of its tie group, beside the first
    n_ranks_read = n_ranks if k == WHOLE_LIST else np.minimum(n_ranks, k)
    n_hits_at_most = np.minimum(n_ranks, hits.n_hits[user_of_slot])
    return _STEP_TIME * float((n_hits_at_most + n_ranks_read).sum())


def _err(hits: Hits, k: int, out: FloatArray, max_rel: float) -> None:
    """Write the expected reciprocal rank of each user with hits."""
    if counts_work():
        add_work(_work_of_err(hits, k))
    size = int(np.diff(hits.start).max(initial=1)) + 1  # the most relevant items of a user, and 0
    _fill_err(hits, k, out, max_rel, np.empty(size), np.empty(size), np.empty(size))


@kernel
def _fill_err(
    hits: Hits,
    k: int,
    out: FloatArray,
    max_rel: float,
    going_on: FloatArray,
    stopping: FloatArray,
    above: FloatArray,
) -> None:
    """Write the expected reciprocal rank of each user with hits.

    ``max_rel`` is 0 where it is not set. The last three arrays are work memory for the largest tie
    group, see ``_err_of_group``.
    """
    for user in hits.users:
        top_grade = max_rel
        if max_rel == 0.0:
            top_grade = hits.ideal[hits.start[user]]
        cut = _cutoff_of(hits, k, user)
        total = 0.0
        still_looking = 1.0
        slot = hits.start[user]
        end = _end_of_hits(hits, user, cut)
        while slot < end:
            after = _group_end(hits, slot, end)
            if hits.first[slot] == hits.last[slot]:  # a group of one rank takes less work
                satisfied = _satisfied(hits.gain[slot], top_grade)
                total += still_looking * satisfied / hits.first[slot]
                still_looking *= 1.0 - satisfied
            else:
                err_of_group, going_on_after = _err_of_group(
                    hits, slot, after, top_grade, cut, going_on, stopping, above
                )
                total += still_looking * err_of_group
                still_looking *= going_on_after
            slot = after
        out[user] = total


def _check_max_rel(hits: Hits, options: dict[str, Any]) -> None:
    """Refuse relevances above the option ``max_rel``."""
    max_rel = options["max_rel"]
    top_grade = hits.ideal.max(initial=0.0)
    # A grade of float32 may be a little above the same number in float64.
    if max_rel is not None and top_grade > max_rel * (1.0 + 2.0**-23):
        msg = (
            f"err(max_rel={max_rel:g}) needs relevances of at most {max_rel:g}, got {top_grade:g}; "
            f"give the largest grade of the scale: max_rel={top_grade:g} or more"
        )
        raise InputError(msg)


@metric(
    kernel=_err,
    reference=err_reference,
    formula="sum over {top} of P(rank) / rank times the product of 1 - P over the ranks "
    "before, P = (2^relevance - 1) / 2^{max_rel}",
    words={"max_rel": {None: "(largest relevance of the user)"}},
    latex=r"\sum_{r=1}^{k} \frac{P_r}{r} \prod_{s=1}^{r-1} (1 - P_s), \quad P_r = "
    r"\frac{2^{y_r} - 1}{2^{y_{\max}}}",
    citation="Chapelle et al.: Expected reciprocal rank for graded relevance, CIKM 2009",
    check_truth=_check_max_rel,
)
def err_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    max_rel: Annotated[
        float | None,
        Number("largest grade of the scale; not set: the largest relevance of the user"),
    ] = None,
    **shared: Unpack[ForHits],
) -> UserValues:
    """Expected reciprocal rank at k, for graded truth.

    To compare users whose best grades differ, set ``max_rel`` to the largest grade of the scale.

    >>> from recmetrics import Metrics
    >>> Metrics.err_at_k([[3, 2, 1]], [[1, 0, 1]], k=3)  # 1/2 + 1/2 * 1/2 * 1/3
    array([0.58333333])
    """
