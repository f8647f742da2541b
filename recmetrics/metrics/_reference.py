"""The inputs and the shared helpers of the plain-Python definitions of the metrics."""

import math
from typing import NamedTuple


class OneUser(NamedTuple):
    """One user's ranking in the form of a textbook."""

    gains: list[float]  # relevance of the item at each rank of the list, the whole list
    relevances: list[float]  # all relevances > 0 of the user, descending
    scores: list[float]  # score of the item at each rank


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
    return relevances if rel is None else [float(relevance >= rel) for relevance in relevances]


def weight_of(rank: int, discount: str) -> float:
    """The factor of a gain at that rank."""
    divisor = {
        "log2": math.log2(rank + 1),
        "log2_clip": max(math.log2(rank), 1.0),
        "ln": math.log(rank + 1),
        "reciprocal": rank,
    }
    return 1.0 / divisor[discount]


def dcg_of(relevances: list[float], gain: str, discount: str) -> float:
    """Discounted cumulative gain of relevances in ranking order."""
    return sum(
        gain_of(relevance, gain) * weight_of(rank, discount)
        for rank, relevance in enumerate(relevances, start=1)
    )


class OneList(NamedTuple):
    """One user's list and the side information, for the metrics that read the list itself."""

    items: list[int]  # best first, the whole list
    relevance: list[float]  # of each item of the catalogue
    popularity: list[float]  # of each item of the catalogue
    similarity: list[list[float]]  # of every two items
    genres: list[list[float]]  # of each item
    profile: list[float]  # the user's genres


class AllLists(NamedTuple):
    """All lists, cut at k, and the items that may be in one."""

    lists: list[list[int]]
    catalogue: list[int]


def cosine(a: list[float], b: list[float]) -> float:
    """Cosine of two vectors, 0 where one of them is 0."""
    norms = math.hypot(*a) * math.hypot(*b)
    return ratio(sum(x * y for x, y in zip(a, b, strict=True)), norms)
