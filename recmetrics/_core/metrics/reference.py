"""The inputs and the shared helpers of the plain-Python definitions of the metrics."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class OneUser(NamedTuple):
    """One user's ranking in the form of a textbook.

    ``gains`` has the relevance of the item at each rank of the list, 0 if it is not relevant, and
    ``scores`` its score. ``relevances`` has all relevances above 0 of the user, descending, also of
    items that are not in the list. The propensities are those of these items, empty without
    ``propensity=``. The function of a ``metric`` of your own gets gains and relevances alone; if it
    reads scores or propensities, that is an error.
    """

    gains: list[float]  # relevance of the item at each rank of the list, the whole list
    relevances: list[float]  # all relevances > 0 of the user, descending
    scores: list[float]  # score of the item at each rank
    propensities: Sequence[float] = ()  # of the item at each rank
    relevant_propensities: Sequence[float] = ()  # of the items of ``relevances``


def is_hit(gain: float, rel: float | None) -> bool:
    """Say whether an item of that relevance is relevant."""
    return gain > 0 if rel is None else gain >= rel


def hit_list(user: OneUser, depth: int, rel: float | None) -> list[bool]:
    """Relevance as yes or no, read in ranking order down to ``depth``."""
    return [is_hit(gain, rel) for gain in user.gains[:depth]]


def n_relevant(user: OneUser, rel: float | None) -> int:
    """R, the number of relevant items, counted over all items."""
    return sum(is_hit(relevance, rel) for relevance in user.relevances)


def ratio(numerator: float, denominator: float) -> float:
    """The quotient, with 0/0 = 0."""
    return numerator / denominator if denominator else 0.0


def weights_of(user: OneUser, rel: float | None, weigh: str) -> tuple[list[float], list[float]]:
    """The weight of the item at each rank, and that of each relevant item; all 1 for "no".

    ``user.gains`` and ``user.propensities`` go by rank, ``user.relevances`` and
    ``user.relevant_propensities`` by item of the truth. The user has a relevant item.
    """
    if weigh == "no":
        return [1.0] * len(user.gains), [1.0] * n_relevant(user, rel)
    pairs = zip(user.relevances, user.relevant_propensities, strict=True)
    inverses = [1.0 / p for relevance, p in pairs if is_hit(relevance, rel)]
    divisor = sum(inverses) / len(inverses) if weigh == "snips" else 1.0
    of_ranks = [1.0 / p / divisor for p in user.propensities]
    return of_ranks, [inverse / divisor for inverse in inverses]


def weighed_hits(user: OneUser, k: int, rel: float | None, weigh: str) -> float:
    """The sum of the weights of the hits in the top k; for "ps" over that of the best order."""
    weights, relevant_weights = weights_of(user, rel, weigh)
    total = sum(w for w, hit in zip(weights, hit_list(user, k, rel), strict=False) if hit)
    if weigh == "ps":
        return ratio(total, sum(sorted(relevant_weights, reverse=True)[:k]))
    return total


def gain_of(relevance: float, gain: str) -> float:
    """The gain of an item of that relevance, 0 for one that is not relevant."""
    gains = {
        "linear": relevance,
        "exp2": 2.0**relevance - 1.0,
        "exp2_shifted": 2.0 ** (relevance + 1.0) - 1.0,
        "binary": 1.0,
    }
    return gains[gain] if relevance else 0.0


def graded(relevances: list[float], rel: float | None) -> list[float]:
    """The relevances, or with ``rel`` 1 where they reach it and 0 where not."""
    if rel is None:
        return relevances
    return [float(relevance >= rel) for relevance in relevances]


def weight_of(rank: int, discount: str) -> float:
    """The factor of a gain at that rank."""
    divisor = {
        "log2": math.log2(rank + 1),
        "log2_clip": max(math.log2(rank), 1.0),
        "ln": math.log(rank + 1),
        "reciprocal": rank,
    }
    return 1.0 / divisor[discount]


def weighed_gains(
    user: OneUser, k: int, gain: str, rel: float | None, weigh: str
) -> tuple[list[float], list[float]]:
    """The gains in the top k, and those of all relevant items, each times its weight."""
    weights, relevant_weights = weights_of(user, rel, weigh)
    in_list = zip(weights, graded(user.gains[:k], rel), strict=False)
    of_user = zip(relevant_weights, filter(None, graded(user.relevances, rel)), strict=True)
    return [w * gain_of(g, gain) for w, g in in_list], [w * gain_of(g, gain) for w, g in of_user]


def dcg_of(gains: list[float], discount: str) -> float:
    """The sum of the gains, each times the factor of its rank."""
    return sum(gain * weight_of(rank, discount) for rank, gain in enumerate(gains, start=1))


class OneList(NamedTuple):
    """One user's list and the side information, for the metrics that read the list itself."""

    items: list[int]  # best first, the whole list
    relevance: list[float]  # of each item of the catalogue
    popularity: list[float]  # of each item of the catalogue
    similarity: list[list[float]]  # of every two items
    genres: list[list[float]]  # of each item
    profile: list[float]  # the user's genres
    strata: Mapping[str, Collection[int]] = {}  # the items of each


class AllLists(NamedTuple):
    """All lists, cut at k, and the items that may be in one."""

    lists: list[list[int]]
    catalogue: list[int]


def cosine(a: list[float], b: list[float]) -> float:
    """Cosine of two vectors, 0 where one of them is 0."""
    norms = math.hypot(*a) * math.hypot(*b)
    return ratio(sum(x * y for x, y in zip(a, b, strict=True)), norms)
