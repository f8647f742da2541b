"""Metrics beyond accuracy with one value per user.

The file is structured like ``accuracy.py``, but these kernels read the lists themselves: a kernel
is called with the lists of a block of users, the side information of the call, the cutoff, the
array ``out`` to fill, and then the options that it names. It passes the arrays that it needs to a
jitted loop, which writes the value of every user of the block. If a metric has a ``prepare``
function, its kernel gets the result of that function in place of the side information; it is
computed once for all blocks and batches. A mean over an empty list is 0.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import warn
from recmetrics._core.inputs import (
    HEAD_SLACK,
    ItemSets,
    Rows,
    SharedSet,
    Side,
    is_in_tail,
    place_of,
)
from recmetrics._core.jit import add_work, helper, kernel
from recmetrics._core.metrics.accuracy import Rel
from recmetrics._core.metrics.reference import OneList, is_hit, ratio, weight_of
from recmetrics._core.options import Shared
from recmetrics._core.selection import WHOLE_LIST, Lists
from recmetrics._core.spec import Number, choice, metric
from recmetrics._core.types import FloatArray, IntArray, Scores, Truth, UserValues

Array = npt.NDArray[Any]

SMOOTHING = 0.01  # alpha of calibration


@helper
def _cutoff_of(k: int, length: int) -> int:
    """The number of items of a list that count: all for ``WHOLE_LIST``, else at most k."""
    return length if k == WHOLE_LIST else min(k, length)


@kernel
def _mean_over_list(
    items: IntArray,
    length: IntArray,
    worth: FloatArray,
    k: int,
    out: FloatArray,
    by_k: bool,
    skip_nan: bool,
) -> None:
    """Write the mean of the items' ``worth`` over each list, or their sum divided by k if ``by_k``.

    ``worth`` (n_items,) is the value of each item. With ``skip_nan``, items of value NaN are left
    out.
    """
    for user in range(out.size):
        cut = _cutoff_of(k, length[user])
        total = 0.0
        count = 0
        for i in range(cut):
            value = worth[items[user, i]]
            if not (skip_nan and np.isnan(value)):
                total += value
                count += 1
        if by_k:
            count = cut if k == WHOLE_LIST else k
        out[user] = total / count if count > 0 else 0.0


# --- diversity -----------------------------------------------------------------------------------


def diversity_reference(user: OneList, k: int) -> float:
    """1 - the mean similarity of two items of the top k; NaN for fewer than two items."""
    similarities = [user.similarity[a][b] for a, b in itertools.combinations(user.items[:k], 2)]
    if not similarities:
        return math.nan
    return 1 - sum(similarities) / len(similarities)


class _Comparison(NamedTuple):
    """The features of items, or their similarities, by which they are compared."""

    matrix: Array | Rows  # (n_items, n_columns), dense or sparse
    n_columns: int  # features, or items
    # (n_items,) 1 / the norm of each item's features, 0 for zeros; None if the matrix is of
    # similarities.
    inverse_norms: FloatArray | None


# Microseconds of Python, see ``jit``.
_NORM_TIME = 0.7  # for one number of the features
_FEATURE_TIME = 0.17  # for one number of an item of a list
_ENTRY_TIME = 0.9  # for one stored entry of an item of a list: of its features, or of its genres
_PAIR_TIME = 0.22  # for two items of a list whose similarity is read
_SEARCH_TIME = 1.4  # for two whose similarity is searched for


def _comparison_by(side: Side, _: Mapping[str, Any]) -> _Comparison:
    """Prepare the features of the side information, or the similarities without features."""
    if "features" not in side.values:
        similarity, (_, n_items) = side.values["similarity"]
        return _Comparison(similarity, n_items, None)
    features, (n_items, n_features) = side.values["features"]
    if isinstance(features, Rows):
        start = features.start
        values = features.values
    else:
        start = np.arange(n_items + 1) * n_features
        values = features.reshape(-1)
    add_work(_NORM_TIME * values.size)
    inverse_norms = np.empty(n_items)
    _fill_inverse_norms(start, values, inverse_norms)
    return _Comparison(features, n_features, inverse_norms)


def _diversity(lists: Lists, comparison: _Comparison, k: int, out: FloatArray) -> None:
    """Write 1 - the mean similarity of all pairs of items of each list, NaN without a pair.

    Similarities are read from a matrix, pair by pair. The cosines of features are summed in time
    linear in the length of the list: for the unit vectors e of m items, |sum e|^2 = m + 2 (sum of
    the cosines of all pairs). An item whose features are all 0 has cosine 0 with every item; its e
    is a vector of zeros, and m does not count it.
    """
    items = lists.items
    length = lists.length
    matrix, n_columns, inverse_norms = comparison
    n_read = lists.n_read(k).astype(np.float64)
    n_pairs = float((n_read * (n_read - 1.0)).sum()) / 2
    if isinstance(matrix, Rows):
        if inverse_norms is None:
            add_work(_SEARCH_TIME * n_pairs)
            _diversity_by_sparse_similarity(items, length, matrix, k, out)
        else:
            add_work(_ENTRY_TIME * float(n_read.sum()) * matrix.mean_items)
            total = np.zeros(n_columns)
            _diversity_of_sparse_features(items, length, matrix, inverse_norms, k, out, total)
    elif inverse_norms is None:
        add_work(_PAIR_TIME * n_pairs)
        _diversity_by_similarity(items, length, matrix, k, out)
    else:
        add_work(_FEATURE_TIME * float(n_read.sum()) * n_columns)
        _diversity_of_features(items, length, matrix, inverse_norms, k, out, np.empty(n_columns))


@helper
def _inverse_norm(values: Array) -> float:
    """1 / the Euclidean norm of the values, 0 if all are 0.

    They are divided by the largest first, so that no square overflows or becomes 0.
    """
    # np.float64: in Python, the sum would stay in the float32 of the values.
    largest_size = 0.0
    for i in range(values.size):
        largest_size = max(largest_size, abs(np.float64(values[i])))
    if largest_size == 0.0:
        return 0.0
    total = 0.0
    for i in range(values.size):
        ratio = np.float64(values[i]) / largest_size
        total += ratio * ratio
    return 1.0 / np.sqrt(total) / largest_size  # type: ignore[no-any-return]


@kernel
def _fill_inverse_norms(start: IntArray, values: Array, inverse_norms: FloatArray) -> None:
    """Write 1 / the norm of each item's features, ``values[start[i]:start[i + 1]]``."""
    for item in range(inverse_norms.size):
        inverse_norms[item] = _inverse_norm(values[start[item] : start[item + 1]])


@kernel
def _diversity_of_features(
    items: IntArray,
    length: IntArray,
    features: Array,
    inverse_norms: FloatArray,
    k: int,
    out: FloatArray,
    total: FloatArray,
) -> None:
    """Write the diversity of each list by dense features, NaN for fewer than two items.

    ``total`` (features,) is work memory, for the sum of the unit vectors of a list.
    """
    for user in range(out.size):
        cut = _cutoff_of(k, length[user])
        if cut < 2:
            out[user] = np.nan
            continue
        total[:] = 0.0
        n_units = 0  # unit vectors in the sum, those of items with a feature other than 0
        for i in range(cut):
            row = features[items[user, i]]
            inverse_norm = inverse_norms[items[user, i]]
            n_units += inverse_norm > 0.0
            for c in range(total.size):
                total[c] += inverse_norm * row[c]
        square = 0.0  # of the norm of the sum
        for c in range(total.size):
            square += total[c] * total[c]
        out[user] = max(0.0, 1.0 - (square - n_units) / (cut * (cut - 1.0)))


@kernel
def _diversity_of_sparse_features(
    items: IntArray,
    length: IntArray,
    features: Rows,
    inverse_norms: FloatArray,
    k: int,
    out: FloatArray,
    total: FloatArray,
) -> None:
    """Write the diversity of each list by sparse features, NaN for fewer than two items.

    ``total`` (features,) is work memory for the sum of the unit vectors of a list; it holds 0 for
    each feature before and after each user.
    """
    for user in range(out.size):
        cut = _cutoff_of(k, length[user])
        if cut < 2:
            out[user] = np.nan
            continue
        n_units = 0  # unit vectors in the sum, those of items with a feature other than 0
        for i in range(cut):
            item = items[user, i]
            n_units += inverse_norms[item] > 0.0
            for entry in range(features.start[item], features.start[item + 1]):
                total[features.items[entry]] += inverse_norms[item] * features.values[entry]
        square = 0.0  # of the norm of the sum
        for i in range(cut):
            item = items[user, i]
            for entry in range(features.start[item], features.start[item + 1]):
                feature = features.items[entry]
                square += total[feature] * total[feature]
                total[feature] = 0.0  # so a feature that several items have is counted once
        out[user] = max(0.0, 1.0 - (square - n_units) / (cut * (cut - 1.0)))


@kernel
def _diversity_by_similarity(
    items: IntArray, length: IntArray, similarity: Array, k: int, out: FloatArray
) -> None:
    """Write the diversity of each list by a dense matrix, NaN for fewer than two items."""
    for user in range(out.size):
        cut = _cutoff_of(k, length[user])
        total = 0.0
        for i in range(cut):
            row = similarity[items[user, i]]
            for j in range(i + 1, cut):
                total += np.float64(row[items[user, j]])
        out[user] = np.nan
        if cut > 1:
            out[user] = 1.0 - total / (0.5 * cut * (cut - 1.0))


@kernel
def _diversity_by_sparse_similarity(
    items: IntArray, length: IntArray, similarity: Rows, k: int, out: FloatArray
) -> None:
    """Write the diversity of each list by a sparse matrix, NaN for fewer than two items."""
    for user in range(out.size):
        cut = _cutoff_of(k, length[user])
        total = 0.0
        for i in range(cut):
            begin = similarity.start[items[user, i]]
            end = similarity.start[items[user, i] + 1]
            for j in range(i + 1, cut):
                entry = place_of(items[user, j], similarity.items, begin, end)
                if entry >= 0:
                    total += similarity.values[entry]
        out[user] = np.nan
        if cut > 1:
            out[user] = 1.0 - total / (0.5 * cut * (cut - 1.0))


@metric(
    reads="lists",
    kernel=_diversity,
    prepare=_comparison_by,
    reference=diversity_reference,
    needs=(("features", "similarity"),),
    formula="1 - mean similarity of all pairs in {top} (cosine of the features)",
    latex=r"1 - \frac{2}{m (m - 1)} \sum_{r < s \le m} \mathrm{sim}(i_r, i_s)",
    citation="Ziegler et al.: Improving recommendation lists through topic diversification, "
    "WWW 2005",
    aliases=("ild",),
    bounds=(0.0, 2.0),
    undefined="a list of fewer than two items",
)
def diversity_at_k(
    pred_scores: Scores, ground_truth: Truth, k: int = 100, **shared: Unpack[Shared]
) -> UserValues:
    """Mean dissimilarity of the items of the list to each other.

    Items are compared by the cosine of their ``features=``, in time linear in k; an item whose
    features are all 0 has cosine 0 with every item. With ``similarity=``, the entry (i, j) is read
    for each pair in which item i ranks above item j. Similarities outside [-1, 1] give values
    outside the bounds.

    >>> from recmetrics import Metrics
    >>> features = [[1, 0], [0, 1], [1, 0]]  # items 0 and 2 are alike
    >>> Metrics.diversity_at_k([[3, 2, 1]], [[0, 0, 1]], k=3, features=features)
    array([0.66666667])
    """


# --- novelty -------------------------------------------------------------------------------------


NoveltyDenom = Literal["list", "k"]
Unseen = Literal["rarest", "zero", "inf", "nan", "skip"]
_NOVELTY_BY_K = choice(NoveltyDenom, "k")
_UNSEEN_SKIP = choice(Unseen, "skip")


def novelty_reference(user: OneList, k: int, *, denom: str, unseen: str) -> float:
    """The mean of -log2(popularity) of the items of the top k, 0 for an empty list."""
    least = min((share for share in user.popularity if share > 0), default=math.nan)
    of_unseen = {"rarest": -math.log2(least), "zero": 0.0, "inf": math.inf, "nan": math.nan}
    information = []
    for item in user.items[:k]:
        share = user.popularity[item]
        if share > 0:
            information.append(-math.log2(share))
        elif unseen != "skip":
            information.append(of_unseen[unseen])
    return ratio(sum(information), k if denom == "k" else len(information))


def _self_information(side: Side, options: Mapping[str, Any]) -> FloatArray:
    """-log2(popularity) of each item, (n_items,); of popularity 0 as the option ``unseen`` says.

    Items to leave out have NaN.
    """
    popularity: FloatArray = side.values["popularity"]
    of_unseen = {"zero": 0.0, "inf": np.inf}.get(options["unseen"], np.nan)
    information = np.full(popularity.size, of_unseen)
    seen = popularity > 0.0
    information[seen] = 0.0 - np.log2(popularity[seen])  # a minus sign would give -0.0 for 1
    if options["unseen"] == "rarest" and not seen.all():
        if seen.any():
            information[~seen] = information[seen].max()
            msg = (
                f"{np.count_nonzero(~seen):,} of {seen.size:,} items have popularity 0; novelty "
                "counts them as the rarest of the others; type unseen=skip in the metric string to "
                "leave these items out, or unseen=zero, inf or nan to give them that novelty"
            )
        else:
            msg = (
                f"all {seen.size:,} items have popularity 0; novelty is NaN; expected the share of "
                "the users who have each item"
            )
        warn(msg)
    return information


def _novelty(
    lists: Lists, information: FloatArray, k: int, out: FloatArray, denom: int, unseen: int
) -> None:
    """Write the novelty of each list from the self-information of the items."""
    by_k = denom == _NOVELTY_BY_K
    skip_nan = unseen == _UNSEEN_SKIP
    _mean_over_list(lists.items, lists.length, information, k, out, by_k, skip_nan)


@metric(
    reads="lists",
    kernel=_novelty,
    prepare=_self_information,
    reference=novelty_reference,
    needs=(("popularity",),),
    formula="{denom} of -log2(popularity) over {top}, {unseen}",
    words={
        "denom": {"list": "mean", "k": "1 / {k} times the sum"},
        "unseen": {
            "rarest": "where popularity 0 counts as the lowest popularity above 0",
            "zero": "0 for an item of popularity 0",
            "inf": "infinite for an item of popularity 0",
            "nan": "NaN for an item of popularity 0",
            "skip": "items of popularity 0 left out",
        },
    },
    varies=("denom",),
    latex=r"- \frac{1}{m} \sum_{r=1}^{m} \log_2 \pi(i_r)",
    citation="Zhou et al.: Solving the apparent diversity-accuracy dilemma of recommender "
    "systems, PNAS 2010",
    bounds=(0.0, math.inf),
    undefined="an item of popularity 0 with unseen=nan, or if all popularities are 0",
)
def novelty_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    denom: Annotated[
        NoveltyDenom, "divide by the length of the list, or by k even if the list is shorter"
    ] = "list",
    unseen: Annotated[
        Unseen,
        "value of an item of popularity 0; rarest: that of the least popular item with a "
        "popularity above 0; skip: the item is left out, also from the length",
    ] = "rarest",
    **shared: Unpack[Shared],
) -> UserValues:
    """Mean self-information of the items of the list, in bits; it is high for unpopular items.

    An empty list has 0. The self-information of an item of popularity 0 is infinite. By default,
    such an item counts like the least popular item with a popularity above 0, as in Elliot, and a
    ``RecmetricsWarning`` gives the number of such items. RecTools and RePlay count it as an item
    with one user, which is the same if the least popular item has one user. The option ``unseen``
    selects other rules.

    >>> from recmetrics import Metrics
    >>> Metrics.novelty_at_k([[3, 2, 1]], [[0, 0, 1]], k=2, popularity=[0.5, 0.125, 1])
    array([2.])
    """


# --- popularity ----------------------------------------------------------------------------------


def popularity_reference(user: OneList, k: int) -> float:
    """The mean popularity of the items of the top k, 0 for an empty list."""
    shares = [user.popularity[item] for item in user.items[:k]]
    return ratio(sum(shares), len(shares))


def _mean_worth(lists: Lists, worth: FloatArray, k: int, out: FloatArray) -> None:
    """Write the mean of the items' ``worth`` (n_items,) over each list, 0 for an empty list."""
    _mean_over_list(lists.items, lists.length, worth, k, out, by_k=False, skip_nan=False)


@metric(
    reads="lists",
    higher_is_better=False,
    kernel=_mean_worth,
    prepare=lambda side, _: side.values["popularity"],
    reference=popularity_reference,
    needs=(("popularity",),),
    formula="mean popularity of {top}",
    latex=r"\frac{1}{m} \sum_{r=1}^{m} \pi(i_r)",
    citation="Yin et al.: Challenging the long tail recommendation, VLDB 2012",
    undefined="",
)
def popularity_at_k(
    pred_scores: Scores, ground_truth: Truth, k: int = 100, **shared: Unpack[Shared]
) -> UserValues:
    """Mean share of users who have the items of the list; 0 for an empty list.

    >>> from recmetrics import Metrics
    >>> Metrics.popularity_at_k([[3, 2, 1]], [[0, 0, 1]], k=2, popularity=[0.5, 0.25, 1])
    array([0.375])
    """


# --- long_tail -----------------------------------------------------------------------------------


def long_tail_reference(user: OneList, k: int, *, tail: float) -> float:
    """The share of the items of the top k that are no head items, 0 for an empty list."""
    by_popularity = sorted(enumerate(user.popularity), key=lambda pair: (-pair[1], pair[0]))
    target = (1 - tail) * sum(user.popularity) * (1 - HEAD_SLACK)
    head = set()
    of_head = 0.0
    for item, share in by_popularity:
        if of_head >= target:
            break
        head.add(item)
        of_head += share
    items = user.items[:k]
    return ratio(sum(item not in head for item in items), len(items))


def _in_tail(side: Side, options: Mapping[str, Any]) -> FloatArray:
    """1 for each item outside the head, 0 for one in it, (n_items,)."""
    return is_in_tail(side.values["popularity"], options["tail"]).astype(np.float64)


@metric(
    reads="lists",
    kernel=_mean_worth,
    prepare=_in_tail,
    reference=long_tail_reference,
    needs=(("popularity",),),
    formula=(
        "share of {top} outside the head; the head: the smallest set of the most popular items "
        "that has at least 1 - {tail} of the interactions"
    ),
    latex=r"\frac{1}{m} \sum_{r=1}^{m} [i_r \notin H]",
    citation="Abdollahpouri et al.: Managing popularity bias in recommender systems with "
    "personalized re-ranking, FLAIRS 2019",
    undefined="",
)
def long_tail_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    tail: Annotated[
        float, Number("largest share of all interactions that the tail may have", below=1.0)
    ] = 0.8,
    **shared: Unpack[Shared],
) -> UserValues:
    """Share of the list that is in the long tail; 0 for an empty list.

    Items are ordered by falling popularity, equal ones by index. Tables have no index: equal ones
    are in the order of the catalogue or, without one, of the table of popularity. The head is the
    shortest prefix of this order whose popularities add up to at least 1 - ``tail`` of the sum of
    all (within a relative 1e-6, so that the rounding of float32 does not decide; that of half
    precision may). The tail is the rest.

    >>> from recmetrics import Metrics
    >>> popularity = [0.5, 0.4, 0.1]  # the head is item 0: half of the interactions
    >>> Metrics.long_tail_at_k([[3, 2, 1]], [[0, 0, 1]], k=2, tail=0.5, popularity=popularity)
    array([0.5])
    """


# --- share ---------------------------------------------------------------------------------------


ShareDenom = Literal["list", "k"]
_SHARE_BY_K = choice(ShareDenom, "k")


def share_reference(user: OneList, k: int, *, discount: str, denom: str, of: str | None) -> float:
    """The share of the weights of the top k ranks that have an item of the stratum ``of``."""
    items = user.items[:k]
    if not items:
        return math.nan
    weights = [1.0] * k
    if discount != "no":
        weights = [weight_of(rank, discount) for rank in range(1, k + 1)]
    total = 0.0
    for item, weight in zip(items, weights, strict=False):
        if of is None or item in user.strata[of]:
            total += weight
    return total / sum(weights if denom == "k" else weights[: len(items)])


def _share(
    lists: Lists,
    stratum: ItemSets | Side,
    k: int,
    out: FloatArray,
    discount: int | None,
    denom: int,
) -> None:
    """Write the share of the places of each list that go to the stratum, NaN for an empty list.

    ``stratum`` is the ``Side`` of the call where the metric names none, so that all items count.
    """
    # The stratum as rows of items: one row for all users, or one for each.
    start = np.zeros(2, np.int64)
    members = np.empty(0, np.int64)
    if isinstance(stratum, SharedSet):
        members = stratum.items
        start[1] = len(members)
    elif isinstance(stratum, ItemSets):
        start, members, _ = stratum.rows(lists.rows)
    lists_and_stratum = lists.items, lists.length, lists.ranks, start, members

    of_all = isinstance(stratum, Side)
    by_k = denom == _SHARE_BY_K
    if lists.any_order and not of_all:
        # Each place has the same chance to go to the stratum: the stratum's share of all items.
        _share_of_places(
            *lists_and_stratum, WHOLE_LIST, out, of_all=False, by_k=False, discount=None
        )
        exposure = np.empty_like(out)
        _share_of_places(*lists_and_stratum, k, exposure, of_all=True, by_k=by_k, discount=discount)
        out *= exposure
    else:
        _share_of_places(*lists_and_stratum, k, out, of_all=of_all, by_k=by_k, discount=discount)


@kernel
def _share_of_places(
    items: IntArray,
    length: IntArray,
    ranks: Any,
    start: IntArray,
    members: IntArray,
    k: int,
    out: FloatArray,
    of_all: bool,
    by_k: bool,
    discount: Any,
) -> None:
    """Write the share of the exposure of each list that goes to a stratum, NaN for an empty list.

    ``ranks`` are those of the items, or None where they are 1, 2, 3, ... Row u of the stratum is
    ``members[start[u]:start[u + 1]]``; with ``of_all`` every item counts. ``by_k`` divides by the
    exposure of k places, also for a shorter list. ``discount`` is None where each place counts 1.
    """
    for user in range(out.size):
        row = min(user, start.size - 2)  # a stratum of all users is one row
        cut = _cutoff_of(k, length[user])
        total = 0.0
        whole = 0.0  # exposure of all places
        for i in range(cut):
            rank = i + 1
            if ranks is not None:
                rank = ranks[user, i]
            exposure = _exposure(rank, discount)
            whole += exposure
            if of_all or place_of(items[user, i], members, start[row], start[row + 1]) >= 0:
                total += exposure
        if by_k and k != WHOLE_LIST:
            whole = 0.0
            for rank in range(1, k + 1):
                whole += _exposure(rank, discount)
        out[user] = total / whole if cut > 0 else np.nan


@helper
def _exposure(rank: int, discount: Any) -> float:
    """The exposure of a place: 1 without a discount, else 1 / log2(rank + 1)."""
    return 1.0 if discount is None else 1.0 / math.log2(rank + 1.0)


@metric(
    reads="lists",
    any_order=True,
    kernel=_share,
    reference=share_reference,
    formula="number of items of {top} in {of} / number of {denom}; each counts {discount}",
    words={
        "of": {None: "the stratum", "of": "the stratum", float: "the stratum {number}"},
        "discount": {"no": "1", "log2": "1 / log2(rank + 1)"},
        "denom": {"list": "items of {top}", "k": "ranks from 1 to {k}"},
    },
    varies=("discount", "denom"),
    latex=r"\frac{\sum_{r=1}^{m} [i_r \in S]}{m}",
    citation="Singh, Joachims: Fairness of exposure in rankings, KDD 2018",
    undefined="an empty list",
)
def share_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    discount: Annotated[
        Literal["no", "log2"], "exposure of a place: 1, or 1 / log2(rank + 1)"
    ] = "no",
    denom: Annotated[
        ShareDenom, "divide by the places of the list, or by k places even if the list is shorter"
    ] = "list",
    of: Annotated[str | None, "the stratum whose items are counted; not set: all items"] = None,
    **shared: Unpack[Shared],
) -> UserValues:
    """Share of a list's places or exposure taken by a set of items.

    The set is one of ``strata=``, such as the items of a provider or of a genre. With
    ``strata=popularity_strata(train)``, ``share(of=tail)@k`` is ``long_tail@k``, but NaN for an
    empty list. Without ``of``, all items count: the share is 1, or less for a list shorter than k
    with ``denom=k``. It counts items whether they are relevant or not.

    >>> from recmetrics import Metrics
    >>> strata = {"tail": [0, 3]}
    >>> Metrics.share_at_k([[4, 3, 2, 1]], [[0, 0, 0, 1]], k=3, of="tail", strata=strata)
    array([0.33333333])
    """


# --- serendipity ---------------------------------------------------------------------------------


def serendipity_reference(user: OneList, k: int, *, rel: float | None) -> float:
    """The sum of 1 - popularity of the hits in the top k, over the length of the list."""
    relevant = {
        item
        for item, relevance in enumerate(user.relevance)
        if relevance > 0 and is_hit(relevance, rel)
    }
    if not relevant:
        return math.nan
    items = user.items[:k]
    return ratio(sum(1 - user.popularity[item] for item in items if item in relevant), len(items))


def _serendipity(lists: Lists, side: Side, k: int, out: FloatArray, rel: float) -> None:
    """Write the serendipity of each list, NaN for users without relevant items."""
    popularity = side.values["popularity"]
    _mean_over_relevant(lists.items, lists.length, lists.relevant, popularity, k, rel, out)


@kernel
def _mean_over_relevant(
    items: IntArray,
    length: IntArray,
    relevant: Rows,
    popularity: FloatArray,
    k: int,
    rel: float,
    out: FloatArray,
) -> None:
    """Write the mean over each list of 1 - popularity if the item is relevant, else 0.

    NaN for users without an item of at least ``rel``, 0 for an empty list.
    """
    for user in range(out.size):
        begin = relevant.start[user]
        end = relevant.start[user + 1]
        n_relevant = 0
        for slot in range(begin, end):
            n_relevant += relevant.values[slot] >= rel
        cut = _cutoff_of(k, length[user])
        total = 0.0
        for i in range(cut):
            slot = place_of(items[user, i], relevant.items, begin, end)
            if slot >= 0 and relevant.values[slot] >= rel:
                total += 1.0 - popularity[items[user, i]]
        if n_relevant == 0:
            out[user] = np.nan
        elif cut == 0:
            out[user] = 0.0
        else:
            out[user] = total / cut


@metric(
    reads="lists",
    kernel=_serendipity,
    reference=serendipity_reference,
    needs=(("popularity",),),
    formula="mean over {top} of 1 - popularity if the item is relevant, else 0",
    latex=r"\frac{1}{m} \sum_{r=1}^{m} h_r \, (1 - \pi(i_r))",
    citation="Murakami et al.: Metrics for evaluating the serendipity of recommendation lists, "
    "JSAI 2007, with popularity as the primitive prediction and 1 as that of the list",
    undefined="no relevant item",
)
def serendipity_at_k(
    pred_scores: Scores,
    ground_truth: Truth,
    k: int = 100,
    *,
    rel: Rel = None,
    **shared: Unpack[Shared],
) -> UserValues:
    """Share of the list that is relevant and unexpected.

    A relevant item counts 1 - its popularity, whatever its grade; any other item counts 0. The
    value is undefined for a user without relevant items, and 0 for an empty list.

    >>> from recmetrics import Metrics
    >>> Metrics.serendipity_at_k([[3, 2, 1]], [[1, 0, 1]], k=2, popularity=[0.5, 0.25, 1])
    array([0.25])
    """


# --- calibration ---------------------------------------------------------------------------------


def calibration_reference(user: OneList, k: int) -> float:
    """The divergence of the genres of the top k from the user's profile; NaN without either."""
    of_items = [shares(user.genres[item]) for item in user.items[:k]]
    p = shares(user.profile)
    q = shares([sum(column) for column in zip(*of_items, strict=True)])
    if not any(p) or not any(q):
        return math.nan
    smoothed = [(1 - SMOOTHING) * b + SMOOTHING * a for a, b in zip(p, q, strict=True)]
    return sum(a * math.log(a / b) for a, b in zip(p, smoothed, strict=True) if a > 0)


def shares(weights: list[float]) -> list[float]:
    """The weights divided by their sum, 0 where that is 0."""
    return [ratio(weight, sum(weights)) for weight in weights]


def _calibration(lists: Lists, side: Side, k: int, out: FloatArray) -> None:
    """Write the divergence of the genres of each list from the user's profile."""
    genres = side.values["genres"]
    n_genres = genres.shape[1]
    profile = side.values["profile"]
    of_items = profile.n_items != n_genres  # a profile has a column for each item or genre
    profiles = profile.rows(lists.rows)
    n_read = float(lists.n_read(k).sum())
    if of_items:
        n_read += len(profiles.items)
    add_work(_ENTRY_TIME * n_read * genres.entries.mean_items)
    _divergence(
        lists.items, lists.length, genres.entries, profiles, k, out, of_items,
        np.empty(n_genres), np.empty(n_genres),
    )  # fmt: skip


@helper
def _add_genres(genres: Rows, item: int, weight: float, amounts: FloatArray) -> None:
    """Add ``weight`` to ``amounts`` (genres,), divided among the genres of an item."""
    begin = genres.start[item]
    end = genres.start[item + 1]
    total = 0.0
    for entry in range(begin, end):
        total += genres.values[entry]
    for entry in range(begin, end):
        genre = genres.items[entry]
        amounts[genre] += weight * (genres.values[entry] / total)


@kernel
def _divergence(
    items: IntArray,
    length: IntArray,
    genres: Rows,
    profiles: Rows,
    k: int,
    out: FloatArray,
    of_items: bool,
    p: FloatArray,
    q: FloatArray,
) -> None:
    """Write the divergence of each list, NaN where the list or the profile has no genre.

    Profiles hold the weights of items if ``of_items``, else of genres. ``p`` and ``q`` (genres,)
    are work memory for the amount of each genre in the profile and in the list.
    """
    n_genres = p.size
    for user in range(out.size):
        p[:] = 0.0
        q[:] = 0.0
        for slot in range(profiles.start[user], profiles.start[user + 1]):
            if of_items:
                _add_genres(genres, profiles.items[slot], profiles.values[slot], p)
            else:
                p[profiles.items[slot]] += profiles.values[slot]
        for i in range(_cutoff_of(k, length[user])):
            _add_genres(genres, items[user, i], np.float64(1.0), q)

        p_total = 0.0
        q_total = 0.0
        for genre in range(n_genres):
            p_total += p[genre]
            q_total += q[genre]
        if p_total == 0.0 or q_total == 0.0:
            out[user] = np.nan
            continue

        divergence = 0.0
        for genre in range(n_genres):
            share = p[genre] / p_total
            if share > 0.0:
                smoothed = (1.0 - SMOOTHING) * (q[genre] / q_total) + SMOOTHING * share
                divergence += share * math.log(share / smoothed)
        out[user] = max(0.0, divergence)


@metric(
    reads="lists",
    higher_is_better=False,
    kernel=_calibration,
    reference=calibration_reference,
    needs=(("genres",), ("profile",)),
    formula=(
        "sum over the genres of p ln(p / (0.99 q + 0.01 p)), where p is the share of a genre in "
        "the profile and q in {top}"
    ),
    latex=r"\sum_{c} p_c \ln \frac{p_c}{0.99 \, q_c + 0.01 \, p_c}",
    citation="Steck: Calibrated recommendations, RecSys 2018",
    bounds=(0.0, -math.log(SMOOTHING)),
    undefined="no item with a genre in the list or the profile",
)
def calibration_at_k(
    pred_scores: Scores, ground_truth: Truth, k: int = 100, **shared: Unpack[Shared]
) -> UserValues:
    """Divergence of the list's genres from the profile's, in nats.

    This is the Kullback-Leibler divergence of q, the genre distribution of the list, from p, that
    of the user's profile; 0 is best. Each item is divided among its genres, equally if ``genres=``
    holds only 0 and 1; items without a genre do not count. If ``profile=`` is a training matrix,
    its values weight the items.

    >>> from recmetrics import Metrics
    >>> genres, train = [[1, 0], [0, 1], [1, 1]], [[0, 0, 1]]
    >>> Metrics.calibration_at_k([[3, 2, 1]], [[0, 1, 0]], k=2, genres=genres, profile=train)
    array([0.])
    """
