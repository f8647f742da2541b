"""The one small problem that every page of the catalogue works through, and its arithmetic by hand.

One user's list is A, B, C, D; two more users only matter to the metrics of all lists. The
arithmetic is Python, and is compared with what the library computes.
"""

import math
from typing import Any

import numpy as np

from recmetrics import Evaluator, Metrics
from recmetrics._core.spec import parse
from recmetrics._core.spec.registry import Metric

K = 5
ITEMS = "ABCDEFGHIJ"
#          A  B  C  D  E  F  G  H  I  J
TRUTH = [[1, 0, 2, 1, 3, 1, 1, 0, 0, 0]] + [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]] * 2
RANKING = [[0, 1, 2, 3, -1], [0, 1, 4, -1, -1], [0, 2, -1, -1, -1]]
POPULARITY = [1 / 2, 1 / 4, 1 / 8, 0, 3 / 4, 1 / 4, 1 / 8, 0, 0, 0]
PROPENSITY = [1 / 2, 1, 1 / 4, 1, 1, 1 / 2, 1 / 4, 1, 1, 1]
FEATURES = [[1, 0], [0, 1], [1, 0], [1, 1]] + [[0, 1]] * 6
GENRES = FEATURES  # A and C are of one genre, B of the other, D of both
PROFILE = [[1, 1]] * 3

SIDE = {
    "propensity": PROPENSITY,
    "popularity": POPULARITY,
    "features": FEATURES,
    "genres": GENRES,
    "profile": PROFILE,
    "strata": {"tail": [1, 2, 7]},  # B, C and H
}
NUMBERS = {
    "rel": 2,
    "p": 0.5,
    "max_rel": 4,
    "tail": 0.5,
    "beta": 2,
    "of": "tail",
}  # what numeric options are tried with

_IDEAL = "3 + 2/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6)"
_DCG = "1 + 2/log2(4) + 1/log2(5)"
_WEIGHED = "2 + 8/log2(4) + 1/log2(5)"

BY_HAND = {
    "hit@5": "max(1, 0, 1, 1)",
    "hit(rel=2)@5": "max(0, 0, 1, 0)",
    "precision@5": "3 / 5",
    "precision(denom=list)@5": "3 / 4",
    "precision(rel=2)@5": "1 / 5",
    "precision(weigh=ips)@5": "(2 + 4 + 1) / 5",
    "precision(weigh=snips)@5": "(2 + 4 + 1) / ((2 + 4 + 1 + 1 + 2 + 4) / 6) / 5",
    "precision(weigh=ps)@5": "(2 + 4 + 1) / (4 + 4 + 2 + 2 + 1)",
    "recall@5": "3 / min(6, 5)",
    "recall(denom=relevant)@5": "3 / 6",
    "recall(denom=list)@5": "3 / min(6, 5, 4)",
    "recall(rel=2)@5": "1 / min(2, 5)",
    "recall(weigh=ips)@5": "(2 + 4 + 1) / min(6, 5)",
    "recall(weigh=snips)@5": "(2 + 4 + 1) / ((2 + 4 + 1 + 1 + 2 + 4) / 6) / min(6, 5)",
    "recall(weigh=ps)@5": "(2 + 4 + 1) / (4 + 4 + 2 + 2 + 1)",
    "f1@5": "2 * 3/5 * 3/5 / (3/5 + 3/5)",
    "f1(denom=list)@5": "2 * 3/4 * 3/5 / (3/4 + 3/5)",
    "f1(denom=capped)@5": "2 * 3/5 * 3/5 / (3/5 + 3/5)",
    "f1(denom=relevant)@5": "2 * 3/5 * 3/6 / (3/5 + 3/6)",
    "f1(denom=list+relevant)@5": "2 * 3/4 * 3/6 / (3/4 + 3/6)",
    "f1(beta=2)@5": "(1 + 2**2) * 3/5 * 3/5 / (2**2 * 3/5 + 3/5)",
    "f1(rel=2)@5": "2 * 1/5 * 1/2 / (1/5 + 1/2)",
    "map@5": "(1/1 + 2/3 + 3/4) / min(6, 5)",
    "map(denom=relevant)@5": "(1/1 + 2/3 + 3/4) / 6",
    "map(denom=hits)@5": "(1/1 + 2/3 + 3/4) / 3",
    "map(denom=list)@5": "(1/1 + 2/3 + 3/4) / min(6, 5, 4)",
    "map(denom=k)@5": "(1/1 + 2/3 + 3/4) / 5",
    "map(over=ranks)@5": "(1/1 + 1/2 + 2/3 + 3/4 + 3/5) / 5",
    "map(tied=block)@5": "(1/1 + 2/3 + 3/4) / min(6, 5)",
    "map(rel=2)@5": "(1/3) / min(2, 5)",
    "mrr@5": "1 / 1",
    "mrr(over=relevant)@5": "(1/1 + 1/3 + 1/4) / 6",
    "mrr(rel=2)@5": "1 / 3",
    "ndcg@5": f"({_DCG}) / ({_IDEAL})",
    "ndcg(gain=exp2)@5": "(1 + 3/log2(4) + 1/log2(5)) / "
    "(7 + 3/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6))",
    "ndcg(gain=exp2_shifted)@5": "(3 + 7/log2(4) + 3/log2(5)) / "
    "(15 + 7/log2(3) + 3/log2(4) + 3/log2(5) + 3/log2(6))",
    "ndcg(gain=binary)@5": "(1 + 1/log2(4) + 1/log2(5)) / "
    "(1 + 1/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6))",
    "ndcg(discount=log2_clip)@5": "(1 + 2/log2(3) + 1/log2(4)) / "
    "(3 + 2 + 1/log2(3) + 1/log2(4) + 1/log2(5))",
    "ndcg(discount=ln)@5": "(1/ln(2) + 2/ln(4) + 1/ln(5)) / "
    "(3/ln(2) + 2/ln(3) + 1/ln(4) + 1/ln(5) + 1/ln(6))",
    "ndcg(discount=reciprocal)@5": "(1 + 2/3 + 1/4) / (3 + 2/2 + 1/3 + 1/4 + 1/5)",
    "ndcg(rel=2)@5": "(1/log2(4)) / (1 + 1/log2(3))",
    "ndcg(weigh=ips)@5": f"({_WEIGHED}) / ({_IDEAL})",
    "ndcg(weigh=snips)@5": f"({_WEIGHED}) / ((2 + 4 + 1 + 1 + 2 + 4) / 6) / ({_IDEAL})",
    "ndcg(weigh=ps)@5": f"({_WEIGHED}) / (8 + 4/log2(3) + 3/log2(4) + 2/log2(5) + 2/log2(6))",
    "ndcg(ideal=retrieved)@5": f"({_DCG}) / (2 + 1/log2(3) + 1/log2(4))",
    "ndcg(ideal_depth=all)@5": f"({_DCG}) / ({_IDEAL} + 1/log2(7))",
    "ndcg(ideal_depth=list)@5": f"({_DCG}) / (3 + 2/log2(3) + 1/log2(4) + 1/log2(5))",
    "ndcg(ideal_depth=full)@5": f"({_DCG}) / (3 + 3/log2(3) + 3/log2(4) + 3/log2(5) + 3/log2(6))",
    "dcg@5": _DCG,
    "dcg(gain=exp2)@5": "1 + 3/log2(4) + 1/log2(5)",
    "dcg(discount=log2_clip)@5": "1 + 2/log2(3) + 1/log2(4)",
    "dcg(discount=ln)@5": "1/ln(2) + 2/ln(4) + 1/ln(5)",
    "dcg(gain=exp2_shifted)@5": "3 + 7/log2(4) + 3/log2(5)",
    "dcg(gain=binary)@5": "1 + 1/log2(4) + 1/log2(5)",
    "dcg(discount=reciprocal)@5": "1 + 2/3 + 1/4",
    "dcg(rel=2)@5": "1/log2(4)",
    "dcg(weigh=ips)@5": _WEIGHED,
    "dcg(weigh=snips)@5": f"({_WEIGHED}) / ((2 + 4 + 1 + 1 + 2 + 4) / 6)",
    "cg@5": "1 + 0 + 2 + 1",
    "cg(gain=exp2)@5": "1 + 0 + 3 + 1",
    "cg(gain=exp2_shifted)@5": "3 + 0 + 7 + 3",
    "cg(gain=binary)@5": "1 + 0 + 1 + 1",
    "cg(rel=2)@5": "0 + 0 + 1 + 0",
    "r_precision@5": "3 / 6",
    "r_precision(rel=2)@5": "0 / 2",
    "rbp@5": "(1 - 0.8) * (0.8**0 + 0.8**2 + 0.8**3)",
    "rbp(p=0.5)@5": "(1 - 0.5) * (0.5**0 + 0.5**2 + 0.5**3)",
    "rbp(normalize=yes)@5": "(0.8**0 + 0.8**2 + 0.8**3) / (0.8**0 + 0.8 + 0.8**2 + 0.8**3)",
    "rbp(rel=2)@5": "(1 - 0.8) * 0.8**2",
    "err@5": "1/8 + 7/8 * 3/8 / 3 + 7/8 * 5/8 * 1/8 / 4",
    "err(max_rel=4)@5": "1/16 + 15/16 * 3/16 / 3 + 15/16 * 13/16 * 1/16 / 4",
    "fallout@5": "1 / 1",
    "fallout(rel=2)@5": "3 / 3",
    "auc": "(1 + 0 + 0) / (3 * 1)",
    "auc(rel=2)": "(0 + 0 + 1) / (1 * 3)",
    "mean_rank": "(1 + 3 + 4 + 5 + 5 + 5) / 6",
    "mean_rank(rel=2)": "(3 + 5) / 2",
    "percentile_rank": "(0/3 + 2/3 + 3/3 + 1 + 1 + 1) / 6",
    "percentile_rank(rel=2)": "(2/3 + 1) / 2",
    "diversity@5": "1 - (0 + 1 + 1/sqrt(2) + 0 + 1/sqrt(2) + 1/sqrt(2)) / 6",
    "novelty@5": "(1 + 2 + 3 + 3) / 4",
    "novelty(denom=k)@5": "(1 + 2 + 3 + 3) / 5",
    "novelty(unseen=zero)@5": "(1 + 2 + 3 + 0) / 4",
    "novelty(unseen=inf)@5": "(1 + 2 + 3 + inf) / 4",
    "novelty(unseen=nan)@5": "(1 + 2 + 3 + nan) / 4",
    "novelty(unseen=skip)@5": "(1 + 2 + 3) / 3",
    "popularity@5": "(1/2 + 1/4 + 1/8 + 0) / 4",
    "long_tail@5": "(1 + 1 + 1 + 1) / 4",
    "long_tail(tail=0.5)@5": "(0 + 1 + 1 + 1) / 4",
    "share@5": "4 / 4",
    "share(discount=log2)@5": "1 / 1",
    "share(denom=k)@5": "4 / 5",
    "share(of=tail)@5": "(0 + 1 + 1 + 0) / 4",
    "serendipity@5": "((1 - 1/2) + 0 + (1 - 1/8) + (1 - 0)) / 4",
    "serendipity(rel=2)@5": "(1 - 1/8) / 4",
    "calibration@5": "1/2 * ln((1/2) / (0.99 * 5/8 + 0.01 * 1/2)) + "
    "1/2 * ln((1/2) / (0.99 * 3/8 + 0.01 * 1/2))",
    "coverage@5": "5 / 10",
    "personalization@5": "1 - (2/sqrt(4 * 3) + 2/sqrt(4 * 2) + 1/sqrt(3 * 2)) / 3",
    "gini@5": "(1*1 + 3*1 + 5*2 + 7*2 + 9*3) / (10 * 9)",
    "gini(denom=n-1)@5": "(1*1 + 3*1 + 5*2 + 7*2 + 9*3) / (9 * 9)",
    "entropy@5": "-(3/9 * log2(3/9) + 2 * 2/9 * log2(2/9) + 2 * 1/9 * log2(1/9))",
    "exposure_gini@5": "(1 * 1/log2(5) + 3 * 1/2 + 5 * (1/2 + 1/log2(3)) + 7 * 2/log2(3) + 9 * 3)"
    " / (10 * (1/log2(5) + 1/2 + 1/2 + 1/log2(3) + 2/log2(3) + 3))",
    "exposure_gini(discount=log2_clip)@5": "(1 * 1/2 + 3 * 1/log2(3) + 5 * (1 + 1/log2(3)) + 7 * 2"
    " + 9 * 3) / (10 * (1/2 + 1/log2(3) + 1 + 1/log2(3) + 2 + 3))",
    "exposure_gini(discount=geometric)@5": "(1 * 0.85**3 + 3 * 0.85**2 + 5 * (0.85**2 + 0.85) + "
    "7 * 2*0.85 + 9 * 3) / (10 * (0.85**3 + 0.85**2 + 0.85**2 + 0.85 + 2*0.85 + 3))",
    "exposure_gini(discount=geometric, p=0.5)@5": "(1 * 0.5**3 + 3 * 0.5**2 + 5 * (0.5**2 + 0.5) + "
    "7 * 2*0.5 + 9 * 3) / (10 * (0.5**3 + 0.5**2 + 0.5**2 + 0.5 + 2*0.5 + 3))",
    "exposure_gini(denom=n-1)@5": "(1 * 1/log2(5) + 3 * 1/2 + 5 * (1/2 + 1/log2(3)) + "
    "7 * 2/log2(3) + 9 * 3) / (9 * (1/log2(5) + 1/2 + 1/2 + 1/log2(3) + 2/log2(3) + 3))",
}

REMARKS = {
    "hit": "A hit among the first five: at rank 1.",
    "precision": "Three hits; the list ends after four items. With `weigh`, A, C and D weigh 2, 4 "
    "and 1, and E, F and G weigh 1, 2 and 4.",
    "recall": "Three hits of six relevant items. With `weigh`, A, C and D weigh 2, 4 and 1, and E, "
    "F and G weigh 1, 2 and 4.",
    "map": "The hits are at ranks 1, 3 and 4; up to there the list is 1/1, 2/3 and 3/4 relevant.",
    "ndcg": "The ideal list has E, C and then three of A, D, F, G. The base of the logarithm "
    "cancels out, so `ln` changes nothing here; in `dcg` it does. With `weigh`, A, C and D weigh "
    "2, 4 and 1, and E, F and G weigh 1, 2 and 4.",
    "err": "P is 1/8 for a relevance of 1, and 3/8 for 2, where 3 is the top of the scale.",
    "fallout": "B is not relevant, and no other item is: the four listed items are all that may be "
    "recommended.",
    "auc": "Here only the four items that are listed may be recommended: `auc` compares each "
    "relevant item with all others, and is refused for a ranking of only some of them.",
    "mean_rank": "A, C and D are at ranks 1, 3 and 4. Here only the four items that are listed may "
    "be recommended: E, F and G count as just below them, at rank 5.",
    "percentile_rank": "A, C and D are at ranks 1, 3 and 4 of four, which are 0/3, 2/3 and 3/3 of "
    "the way down. E, F and G may not be recommended here, so each is at 1.",
    "diversity": "The cosines of AB, AC, AD, BC, BD and CD.",
    "novelty": "-log2 of 1/2, 1/4 and 1/8 is 1, 2 and 3. Nobody has D; the rarest items that "
    "somebody has are C and G, with 1/8.",
    "long_tail": "The popularities sum up to 2. With `tail=0.8` the head must have 0.4 of it: E, "
    "with 3/4. With `tail=0.5` it must have 1: E and A.",
    "share": "The stratum `tail` has B, C and H. Without `of`, all four items count.",
    "calibration": "The profile is half one genre, half the other. A, B, C and D are 5/8 the one "
    "(1, 0, 1, 1/2) and 3/8 the other.",
    "coverage": "A, B, C, D and E are in a list.",
    "personalization": "The lists have 4, 3 and 2 items; the pairs share 2, 2 and 1.",
    "gini": "In ascending order the items are listed 0, 0, 0, 0, 0, 1, 1, 2, 2 and 3 times; the "
    "j-th of ten is weighted by 2j - 11, which gives the same sum as all pairs.",
    "entropy": "A is listed 3 times, B and C 2 times, D and E once: 9 listings.",
    "exposure_gini": "As `gini`: D has 1/log2(5), E 1/2, C 1/2 + 1/log2(3), B 2/log2(3), A 3.",
}


def strings(metric: Metric) -> list[str]:
    """The metric string without options, and one for each other choice of each option."""
    at = f"@{K}" if metric.default_k else ""
    options = [
        f"({needed(metric, option.name)}{option.name}={value})"
        for option in metric.options.values()
        for value in option.choices or (NUMBERS[option.name],)
        if value != option.default
    ]
    return [f"{metric.name}{typed}{at}" for typed in ("", *options)]


def needed(metric: Metric, option: str) -> str:
    """The choice of another option without which this one is not read, unless it is the default."""
    other, choice = metric.read_with.get(option, ("", ""))
    if not other or metric.options[other].default == choice:
        return ""
    return f"{other}={choice}, "


def value(text: str) -> float:
    """What the library computes for the first user, or for all lists."""
    if parse(text).metric.counts_all_items:  # it needs rankings of all that may be recommended
        listed = [[item for item in items if item >= 0] for items in RANKING]
        evaluator = Evaluator(np.array(TRUTH), [text], candidates=listed)
        evaluator.update_ranked(np.array(RANKING))
        result = evaluator.compute()[text]
    else:
        result = Metrics.compute_ranked(np.array(RANKING), np.array(TRUTH), [text], **SIDE)[text]
    return float(result if result.ndim == 0 else result[0])


def by_hand(text: str) -> float:
    """What the arithmetic gives."""
    names: dict[str, Any] = {
        "log2": math.log2,
        "ln": math.log,
        "sqrt": math.sqrt,
        "inf": math.inf,
        "nan": math.nan,
        "max": max,
        "min": min,
        "__builtins__": {},
    }
    return float(eval(BY_HAND[text], names))
