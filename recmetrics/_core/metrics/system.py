"""Metrics of all lists together, such as coverage and the Gini index of items.

The file is structured like ``accuracy.py``. A reference reads all lists, cut at k. A kernel reads
the ``Exposure`` of the call, which holds the sums per item that all metrics of all lists at one
cutoff share, and returns one number.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Unpack, get_args

import numpy as np

from recmetrics._core.metrics.reference import AllLists, weight_of
from recmetrics._core.options import Shared
from recmetrics._core.selection import COSINE, Exposure
from recmetrics._core.spec import Number, choice, metric
from recmetrics._core.types import FloatArray, Scores, Truth, UserValues

# --- coverage ------------------------------------------------------------------------------------


def coverage_reference(system: AllLists) -> float:
    """The share of the catalogue that is in a list; NaN without lists or without items."""
    if not (system.lists and system.catalogue):
        return math.nan
    return len(set().union(*system.lists)) / len(system.catalogue)


def _coverage(exposure: Exposure) -> float:
    """The coverage of all lists, NaN for a catalogue without items."""
    n_items = np.count_nonzero(exposure.offered)
    if n_items == 0:
        return math.nan
    return float(np.count_nonzero(exposure.count) / n_items)


@metric(
    reads="exposure",
    kernel=_coverage,
    reference=coverage_reference,
    formula="items in {top} of at least one user / items of the catalogue",
    latex=r"\frac{|\bigcup_u L_u|}{|I|}",
    citation="Herlocker et al.: Evaluating collaborative filtering recommender systems, TOIS 2004",
    undefined="no user, or a catalogue without items",
)
def coverage_at_k(
    pred_scores: Scores, ground_truth: Truth, k: int = 100, **shared: Unpack[Shared]
) -> UserValues:
    """Share of the catalogue that is in at least one list: one value for all users.

    The catalogue is all items or, with ``candidates=``, all items that are a candidate of some
    user.

    >>> from recmetrics import Metrics
    >>> Metrics.coverage_at_k([[3, 2, 1, 0], [3, 1, 2, 0]], [[1, 0, 0, 0]] * 2, k=2)
    array(0.75)
    """


# --- personalization -----------------------------------------------------------------------------


def personalization_reference(system: AllLists) -> float:
    """1 - the mean cosine of the items of two lists; NaN for fewer than two lists."""
    sets = [set(items) for items in system.lists if items]
    if len(sets) < 2:
        return math.nan
    pairs = itertools.combinations(sets, 2)
    cosines = [len(a & b) / math.sqrt(len(a) * len(b)) for a, b in pairs]
    return 1 - sum(cosines) / len(cosines)


def _personalization(exposure: Exposure) -> float:
    """1 - the mean cosine of all pairs of lists, without forming a pair; NaN without one.

    With w = 1 / sqrt(length), the cosine of two lists is the sum of w w' over the items in both. So
    the cosines of all ordered pairs, each list with itself included, sum up to the squares of the
    sum of w for each item; each list with itself has 1.
    """
    n_lists = exposure.n_lists
    if n_lists < 2:
        return math.nan
    if exposure.count.sum() == n_lists * exposure.depth:  # all of one length, so w is not rounded
        squares = float(np.square(exposure.count.astype(np.float64)).sum() / exposure.depth)
    else:
        squares = float(np.square(exposure.weighted(COSINE)).sum())
    return min(1.0, max(0.0, 1.0 - (squares - n_lists) / (n_lists * (n_lists - 1.0))))


@metric(
    reads="exposure",
    kernel=_personalization,
    reference=personalization_reference,
    exposure_sums=lambda _: (COSINE,),
    formula="1 - mean cosine of all pairs of lists: items in both / sqrt(product of lengths)",
    latex=r"1 - \frac{2}{U (U - 1)} \sum_{u < v} \frac{|L_u \cap L_v|}{\sqrt{|L_u| \, |L_v|}}",
    citation="Zhou et al.: Solving the apparent diversity-accuracy dilemma of recommender "
    "systems, PNAS 2010 (inter-user diversity)",
    undefined="fewer than two lists that are not empty",
)
def personalization_at_k(
    pred_scores: Scores, ground_truth: Truth, k: int = 100, **shared: Unpack[Shared]
) -> UserValues:
    """Mean dissimilarity of the lists of different users: one value for all users.

    The value is exact. It is computed from how often each item is in a list, without comparing
    pairs of lists. Empty lists do not count.

    >>> from recmetrics import Metrics
    >>> Metrics.personalization_at_k([[3, 2, 1, 0], [3, 1, 2, 0]], [[1, 0, 0, 0]] * 2, k=2)
    array(0.5)
    """


# --- gini ----------------------------------------------------------------------------------------


GiniDenom = Annotated[
    Literal["n", "n-1"],
    "divide by the number of items n, or by n - 1, so that the largest possible value is 1, not 1 "
    "- 1 / n",
]
_GINI_LESS_ONE = choice(Literal["n", "n-1"], "n-1")
_GINI_WORDS = {"n": "", "n-1": "n / (n - 1) times the "}
_UNDEFINED_GINI = "no item is listed, or under denom=n-1 a catalogue of one item"


def counts_of(system: AllLists) -> list[int]:
    """In how many lists each item of the catalogue is."""
    return [sum(item in items for items in system.lists) for item in system.catalogue]


def gini_of(amounts: Sequence[float], denom: str) -> float:
    """Sum the differences of all pairs, and divide by twice the divisor times the total amount."""
    total = sum(amounts)
    divisor = len(amounts)
    if denom == "n-1":
        divisor -= 1
    if total == 0 or divisor == 0:
        return math.nan
    return sum(abs(a - b) for a in amounts for b in amounts) / (2 * divisor * total)


def gini_reference(system: AllLists, *, denom: str) -> float:
    """The Gini coefficient of how often each item of the catalogue is in a list."""
    return gini_of(counts_of(system), denom)


def _gini(exposure: Exposure, denom: int) -> float:
    """The Gini coefficient of how often each item of the catalogue is in a list."""
    return _gini_of(exposure.count[exposure.offered].astype(np.float64), denom)


def _gini_of(amounts: FloatArray, denom: int) -> float:
    """The Gini coefficient of amounts, NaN where it is undefined.

    By rank: the sum of (2 j - n - 1) times the j-th smallest of the n amounts, divided.
    """
    amounts = np.sort(amounts)
    total = amounts.sum()
    n = amounts.size
    divisor = n
    if denom == _GINI_LESS_ONE:
        divisor = n - 1
    if total == 0.0 or divisor == 0:
        return math.nan
    rank = np.arange(1.0, n + 1.0)
    value = float(((2.0 * rank - n - 1.0) * amounts).sum() / (divisor * total))
    return min(1.0, max(0.0, value))


@metric(
    reads="exposure",
    higher_is_better=False,
    kernel=_gini,
    reference=gini_reference,
    formula="{denom}Gini coefficient of how often each of the n items of the catalogue is in {top}",
    words={"denom": _GINI_WORDS},
    latex=r"\frac{\sum_{i} \sum_{j} |n_i - n_j|}{2 \, |I| \sum_{i} n_i}",
    citation="Fleder, Hosanagar: Blockbuster culture's next rise or fall, Management Science 2009",
    undefined=_UNDEFINED_GINI,
)
def gini_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    denom: GiniDenom = "n",
    **shared: Unpack[Shared],
) -> UserValues:
    """Gini coefficient of how often each item is in a list: one value for all users.

    0 means that all items are in equally many lists. Items in no list count as well; the catalogue
    is that of ``coverage``.

    >>> from recmetrics import Metrics
    >>> Metrics.gini_at_k([[3, 2, 1, 0], [3, 1, 2, 0]], [[1, 0, 0, 0]] * 2, k=2)
    array(0.375)
    """


# --- entropy --------------------------------------------------------------------------------------


def entropy_reference(system: AllLists) -> float:
    """The entropy, in bits, of the shares that items have in all lists; NaN for empty lists."""
    counts = counts_of(system)
    total = sum(counts)
    if total == 0:
        return math.nan
    return -sum(count / total * math.log2(count / total) for count in counts if count)


def _entropy(exposure: Exposure) -> float:
    """The entropy of the items of all lists in bits, NaN where no item is listed."""
    counts = exposure.count[exposure.count > 0].astype(np.float64)
    if counts.size == 0:
        return math.nan
    shares = counts / counts.sum()
    return max(0.0, float(-(shares * np.log2(shares)).sum()))


@metric(
    reads="exposure",
    kernel=_entropy,
    reference=entropy_reference,
    formula="- sum of s log2(s), where s is the share of an item in {top} of all users",
    latex=r"- \sum_{i} \frac{n_i}{n} \log_2 \frac{n_i}{n}, \quad n = \sum_{i} n_i",
    citation="Shannon: A mathematical theory of communication, 1948",
    bounds=(0.0, math.inf),
    undefined="no item is listed",
)
def entropy_at_k(
    pred_scores: Scores, ground_truth: Truth, k: int = 100, **shared: Unpack[Shared]
) -> UserValues:
    """Shannon entropy in bits of the items of all lists: one value for all users.

    The largest possible value is log2 of the number of items, if all are in equally many lists.

    >>> from recmetrics import Metrics
    >>> Metrics.entropy_at_k([[3, 2, 1, 0], [3, 1, 2, 0]], [[1, 0, 0, 0]] * 2, k=2)
    array(1.5)
    """


# --- exposure_gini -------------------------------------------------------------------------------


ExposureDiscount = Literal["log2", "log2_clip", "geometric"]
_GEOMETRIC = choice(ExposureDiscount, "geometric")
_DISCOUNTS = get_args(ExposureDiscount)


def exposure_gini_reference(system: AllLists, *, discount: str, p: float, denom: str) -> float:
    """The Gini coefficient of the exposure of items: the sum of the weights of their ranks."""
    exposure = dict.fromkeys(system.catalogue, 0.0)
    for items in system.lists:
        for rank, item in enumerate(items, start=1):
            if discount == "geometric":
                exposure[item] += p ** (rank - 1)
            else:
                exposure[item] += weight_of(rank, discount)
    return gini_of(list(exposure.values()), denom)


def _sum_names(options: Mapping[str, Any]) -> tuple[str | float]:
    """The name of the sum that ``Exposure`` keeps: the discount, or for the geometric one p."""
    if options["discount"] == "geometric":
        return (options["p"],)
    return (options["discount"],)


def _exposure_gini(exposure: Exposure, discount: int, p: float, denom: int) -> float:
    """The Gini coefficient of the exposure of the items of the catalogue."""
    sum_name = p if discount == _GEOMETRIC else _DISCOUNTS[discount]
    return _gini_of(exposure.weighted(sum_name)[exposure.offered], denom)


@metric(
    reads="exposure",
    higher_is_better=False,
    kernel=_exposure_gini,
    reference=exposure_gini_reference,
    exposure_sums=_sum_names,
    formula=(
        "{denom}Gini coefficient of the exposure of the n items of the catalogue, where a rank "
        "counts {discount}"
    ),
    words={
        "denom": _GINI_WORDS,
        "discount": {
            "log2": "1 / log2(rank + 1)",
            "log2_clip": "1 / max(log2(rank), 1)",
            "geometric": "{p}^(rank - 1)",
        },
    },
    varies=("discount",),
    latex=r"\frac{\sum_{i} \sum_{j} |e_i - e_j|}{2 \, |I| \sum_{i} e_i}, \quad e_i = "
    r"\sum_{u} \frac{1}{\log_2(r_u(i) + 1)}",
    citation="Singh, Joachims: Fairness of exposure in rankings, KDD 2018",
    read_with={"p": ("discount", "geometric")},
    undefined=_UNDEFINED_GINI,
)
def exposure_gini_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    discount: Annotated[
        ExposureDiscount, "weight of rank r: 1 / log2(r + 1), 1 / max(log2(r), 1), or p^(r - 1)"
    ] = "log2",
    p: Annotated[
        float,
        Number(
            ("probability that a user continues to the next item, for discount=geometric"),
            below=1.0,
        ),
    ] = 0.85,
    denom: GiniDenom = "n",
    **shared: Unpack[Shared],
) -> UserValues:
    """Gini coefficient of the exposure of items: one value for all users.

    It is computed like ``gini``, but each rank counts by its discount, so an item at the first rank
    counts more than one below.

    >>> from recmetrics import Metrics
    >>> Metrics.exposure_gini_at_k([[1, 0], [1, 0]], [[1, 0]] * 2, k=1)
    array(0.5)
    """
