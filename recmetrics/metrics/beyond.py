"""Metrics beyond accuracy with one value per user: what a list does to who reads it.

The file is built as ``accuracy.py`` is, but these kernels read the lists themselves: a kernel is
called with the lists of a block of users, the side information of the call, the cutoff (0: the
whole list), the array to fill, and then the options of its method. It hands the arrays that it
needs to a jitted loop. A mean over an empty list is 0.
"""

import math
from typing import Annotated, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from recmetrics._itemsets import Rows
from recmetrics._jit import allocating_kernel, helper, kernel
from recmetrics._lists import Lists
from recmetrics._options import Scores, Shared, Truth, UserValues
from recmetrics._registry import Filled, Number, metric
from recmetrics._side import Side
from recmetrics._topk import FloatArray, IntArray
from recmetrics.metrics._reference import OneList, is_hit, ratio

Array = npt.NDArray[Any]

DENOM_K = 1  # denom="k", the second choice of novelty
ZERO, INF, NAN, SKIP = range(4)  # the choices of unseen
# Rounding of the shares must not move the border between head and tail.
HEAD_SLACK = 1e-9
SMOOTHING = 0.01  # alpha of calibration


@helper
def _cut(k: int, length: int) -> int:
    """How many items of a list count."""
    return min(k, length) if k > 0 else length


@kernel
def _mean_over_list(
    items: IntArray,
    length: IntArray,
    worth: FloatArray,
    k: int,
    by_k: bool,
    skip_nan: bool,
    out: FloatArray,
) -> None:
    """Mean of what the items of each list are worth, or the sum divided by k."""
    for user in range(out.size):
        cut = _cut(k, length[user])
        total = 0.0
        count = 0
        for i in range(cut):
            value = worth[items[user, i]]
            if not (skip_nan and np.isnan(value)):
                total += value
                count += 1
        if by_k:
            count = k if k > 0 else cut
        out[user] = total / count if count > 0 else 0.0


@helper
def _position(items: IntArray, first: int, last: int, item: int) -> int:
    """Where ``item`` stands in the ascending ``items[first:last]``, or -1."""
    end = last
    while first < last:
        middle = (first + last) // 2
        if items[middle] < item:
            first = middle + 1
        else:
            last = middle
    return first if first < end and items[first] == item else -1


# --- diversity -----------------------------------------------------------------------------------


def diversity_reference(user: OneList, k: int) -> float:
    listed = user.items[:k]
    pairs = [(a, b) for rank, a in enumerate(listed) for b in listed[rank + 1 :]]
    return 1 - sum(user.similarity[a][b] for a, b in pairs) / len(pairs) if pairs else math.nan


def _diversity(lists: Lists, side: Side, k: int, out: FloatArray) -> None:
    """From features by the linear form, from a similarity matrix pair by pair.

    For the unit vectors e of m items, |sum e|^2 = m + 2 (sum of the cosines of all pairs). A vector
    of zeros is like nothing: its cosine with any other is 0, with itself too.
    """
    items, length = lists.items, lists.length
    features, similarity = side.features, side.similarity
    if isinstance(features, Rows):
        scale = side.once("scale", lambda: _scale_of_entries(features.start, features.values))
        _diversity_of_entries(items, length, *features, scale, side.n_features, k, out)
    elif features is not None:
        scale = side.once("scale", lambda: _scale_of_rows(features))
        _diversity_of_rows(items, length, features, scale, k, out)
    elif isinstance(similarity, Rows):
        _diversity_by_sparse_similarity(items, length, *similarity, k, out)
    elif similarity is not None:  # pragma: no branch - without either nothing is called
        _diversity_by_similarity(items, length, similarity, k, out)


@helper
def _inverse_norm(values: Array) -> float:
    """1 / the Euclidean norm, 0 for zeros; neither large nor small values overflow."""
    # np.float64: what is not compiled would go on in the float32 of the values.
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, abs(np.float64(values[i])))
    total = 0.0
    if largest > 0.0:
        for i in range(values.size):
            total += (np.float64(values[i]) / largest) ** 2
    return 1.0 / np.sqrt(total) / largest if largest > 0.0 else 0.0


@allocating_kernel
def _scale_of_rows(features: Array) -> FloatArray:
    scale = np.empty(features.shape[0])
    for item in range(scale.size):
        scale[item] = _inverse_norm(features[item])
    return scale


@allocating_kernel
def _scale_of_entries(start: IntArray, values: FloatArray) -> FloatArray:
    scale = np.empty(start.size - 1)
    for item in range(scale.size):
        scale[item] = _inverse_norm(values[start[item] : start[item + 1]])
    return scale


@allocating_kernel
def _diversity_of_rows(
    items: IntArray, length: IntArray, features: Array, scale: FloatArray, k: int, out: FloatArray
) -> None:
    total = np.empty(features.shape[1])
    for user in range(out.size):
        cut = _cut(k, length[user])
        if cut < 2:
            out[user] = np.nan
            continue
        total[:] = 0.0
        n_units = 0
        for i in range(cut):
            row = features[items[user, i]]
            weight = scale[items[user, i]]
            n_units += weight > 0.0
            for c in range(total.size):
                total[c] += weight * row[c]
        square = 0.0
        for c in range(total.size):
            square += total[c] * total[c]
        out[user] = max(0.0, 1.0 - (square - n_units) / (cut * (cut - 1.0)))


@allocating_kernel
def _diversity_of_entries(
    items: IntArray,
    length: IntArray,
    start: IntArray,
    columns: IntArray,
    values: FloatArray,
    scale: FloatArray,
    n_features: int,
    k: int,
    out: FloatArray,
) -> None:
    total = np.zeros(n_features)
    for user in range(out.size):
        cut = _cut(k, length[user])
        if cut < 2:
            out[user] = np.nan
            continue
        n_units = 0
        for i in range(cut):
            item = items[user, i]
            n_units += scale[item] > 0.0
            for entry in range(start[item], start[item + 1]):
                total[columns[entry]] += scale[item] * values[entry]
        square = 0.0
        for i in range(cut):
            item = items[user, i]
            for entry in range(start[item], start[item + 1]):
                square += total[columns[entry]] * total[columns[entry]]
                total[columns[entry]] = 0.0
        out[user] = max(0.0, 1.0 - (square - n_units) / (cut * (cut - 1.0)))


@kernel
def _diversity_by_similarity(
    items: IntArray, length: IntArray, similarity: Array, k: int, out: FloatArray
) -> None:
    for user in range(out.size):
        cut = _cut(k, length[user])
        total = 0.0
        for i in range(cut):
            row = similarity[items[user, i]]
            for j in range(i + 1, cut):
                total += np.float64(row[items[user, j]])
        out[user] = 1.0 - total / (0.5 * cut * (cut - 1.0)) if cut > 1 else np.nan


@kernel
def _diversity_by_sparse_similarity(
    items: IntArray,
    length: IntArray,
    start: IntArray,
    columns: IntArray,
    values: FloatArray,
    k: int,
    out: FloatArray,
) -> None:
    for user in range(out.size):
        cut = _cut(k, length[user])
        total = 0.0
        for i in range(cut):
            item = items[user, i]
            for j in range(i + 1, cut):
                entry = _position(columns, start[item], start[item + 1], items[user, j])
                if entry >= 0:
                    total += values[entry]
        out[user] = 1.0 - total / (0.5 * cut * (cut - 1.0)) if cut > 1 else np.nan


# --- novelty -------------------------------------------------------------------------------------


def novelty_reference(user: OneList, k: int, *, denom: str, unseen: str) -> float:
    of_unseen = {"zero": 0.0, "inf": math.inf, "nan": math.nan}
    shares = [user.popularity[item] for item in user.items[:k]]
    if unseen == "skip":
        shares = [share for share in shares if share > 0]
    information = [-math.log2(share) if share > 0 else of_unseen[unseen] for share in shares]
    return ratio(sum(information), k if denom == "k" else len(information))


def _novelty(lists: Lists, side: Side, k: int, out: FloatArray, denom: int, unseen: int) -> None:
    information = side.once(("novelty", unseen), lambda: _self_information(side.popularity, unseen))
    _mean_over_list(
        lists.items, lists.length, information, k, denom == DENOM_K, unseen == SKIP, out
    )


def _self_information(popularity: FloatArray, unseen: int) -> FloatArray:
    information = np.full(popularity.size, {ZERO: 0.0, INF: np.inf}.get(unseen, np.nan))
    seen = popularity > 0.0
    information[seen] = 0.0 - np.log2(popularity[seen])
    return information


# --- popularity ----------------------------------------------------------------------------------


def popularity_reference(user: OneList, k: int) -> float:
    shares = [user.popularity[item] for item in user.items[:k]]
    return ratio(sum(shares), len(shares))


def _mean_popularity(lists: Lists, side: Side, k: int, out: FloatArray) -> None:
    _mean_over_list(lists.items, lists.length, side.popularity, k, False, False, out)


# --- long_tail -----------------------------------------------------------------------------------


def long_tail_reference(user: OneList, k: int, *, tail: float) -> float:
    by_popularity = sorted(enumerate(user.popularity), key=lambda pair: (-pair[1], pair[0]))
    target = (1 - tail) * sum(user.popularity) * (1 - HEAD_SLACK)
    head, made = set(), 0.0
    for item, share in by_popularity:
        if made >= target:
            break
        head.add(item)
        made += share
    listed = user.items[:k]
    return ratio(sum(item not in head for item in listed), len(listed))


def _long_tail(lists: Lists, side: Side, k: int, out: FloatArray, tail: float) -> None:
    in_tail = side.once(("tail", tail), lambda: _in_tail(side.popularity, tail))
    _mean_over_list(lists.items, lists.length, in_tail, k, False, False, out)


def _in_tail(popularity: FloatArray, tail: float) -> FloatArray:
    """1 for the items outside the head, 0 for those in it."""
    order = np.argsort(-popularity, kind="stable")
    made = np.cumsum(popularity[order])
    before = np.concatenate((np.zeros(1), made))[: made.size]
    target = (1.0 - tail) * made[-1:].sum() * (1.0 - HEAD_SLACK)
    in_tail = np.ones(popularity.size)
    in_tail[order[before < target]] = 0.0
    return in_tail


# --- serendipity ---------------------------------------------------------------------------------


def serendipity_reference(user: OneList, k: int, *, rel: float | None) -> float:
    if not any(relevance > 0 and is_hit(relevance, rel) for relevance in user.relevance):
        return math.nan
    listed = user.items[:k]
    found = [i for i in listed if user.relevance[i] > 0 and is_hit(user.relevance[i], rel)]
    return ratio(sum(1 - user.popularity[item] for item in found), len(listed))


def _serendipity(lists: Lists, side: Side, k: int, out: FloatArray, rel: float) -> None:
    _mean_over_relevant(lists.items, lists.length, *lists.relevant, side.popularity, k, rel, out)


@kernel
def _mean_over_relevant(
    items: IntArray,
    length: IntArray,
    start: IntArray,
    relevant: IntArray,
    relevance: FloatArray,
    popularity: FloatArray,
    k: int,
    rel: float,
    out: FloatArray,
) -> None:
    for user in range(out.size):
        first, last = start[user], start[user + 1]
        n_relevant = 0
        for slot in range(first, last):
            n_relevant += relevance[slot] >= rel
        cut = _cut(k, length[user])
        total = 0.0
        for i in range(cut):
            slot = _position(relevant, first, last, items[user, i])
            if slot >= 0 and relevance[slot] >= rel:
                total += 1.0 - popularity[items[user, i]]
        if n_relevant == 0:
            out[user] = np.nan
        else:
            out[user] = total / cut if cut > 0 else 0.0


# --- calibration ---------------------------------------------------------------------------------


def calibration_reference(user: OneList, k: int) -> float:
    listed = [shares(user.genres[item]) for item in user.items[:k]]
    p = shares(user.profile)
    q = shares([sum(column) for column in zip(*listed, strict=True)])
    if not any(p) or not any(q):
        return math.nan
    smoothed = [(1 - SMOOTHING) * b + SMOOTHING * a for a, b in zip(p, q, strict=True)]
    return sum(a * math.log(a / b) for a, b in zip(p, smoothed, strict=True) if a > 0)


def shares(weights: list[float]) -> list[float]:
    return [ratio(weight, sum(weights)) for weight in weights]


def _calibration(lists: Lists, side: Side, k: int, out: FloatArray) -> None:
    _divergence(
        lists.items,
        lists.length,
        *side.genres,
        side.n_genres,
        *side.profile.rows(lists.rows),
        side.profile_of_items,
        k,
        out,
    )


@helper
def _add_genres(
    start: IntArray, genres: IntArray, values: FloatArray, item: int, weight: float, p: FloatArray
) -> None:
    """Add ``weight``, divided among the genres of the item."""
    total = 0.0
    for entry in range(start[item], start[item + 1]):
        total += values[entry]
    for entry in range(start[item], start[item + 1]):
        p[genres[entry]] += weight * (values[entry] / total)


@allocating_kernel
def _divergence(
    items: IntArray,
    length: IntArray,
    start: IntArray,
    genres: IntArray,
    values: FloatArray,
    n_genres: int,
    profile_start: IntArray,
    profile: IntArray,
    profile_values: FloatArray,
    of_items: bool,
    k: int,
    out: FloatArray,
) -> None:
    p = np.empty(n_genres)
    q = np.empty(n_genres)
    for user in range(out.size):
        p[:] = 0.0
        q[:] = 0.0
        for slot in range(profile_start[user], profile_start[user + 1]):
            if of_items:
                _add_genres(start, genres, values, profile[slot], profile_values[slot], p)
            else:
                p[profile[slot]] += profile_values[slot]
        for i in range(_cut(k, length[user])):
            _add_genres(start, genres, values, items[user, i], np.float64(1.0), q)
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
                divergence += share * np.log(share / smoothed)
        out[user] = max(0.0, divergence)


# --- The methods ---------------------------------------------------------------------------------


class BeyondMethods:
    """The methods of ``Metrics`` that compute one metric of the lists themselves.

    What ``AccuracyMethods`` says of keyword arguments, results and errors holds here too. But for
    ``serendipity`` they ask nothing of the truth: a user without relevant items has a value. The
    mean over an empty list is 0.
    """

    @staticmethod
    @metric(
        kind="list",
        kernel=_diversity,
        reference=diversity_reference,
        needs=(("features", "similarity"),),
        formula="1 - mean similarity of all pairs in the top k (cosine of the features)",
        latex=r"1 - \frac{2}{m (m - 1)} \sum_{r < s \le m} \mathrm{sim}(i_r, i_s)",
        citation="Ziegler et al.: Improving recommendation lists through topic diversification, "
        "WWW 2005",
        bounds=(0.0, 2.0),
        undefined="a list of fewer than two items",
    )
    def diversity_at_k(
        pred_scores: Scores,
        ground_truth: Truth,
        k: int = 100,
        **shared: Unpack[Shared],
    ) -> UserValues:
        """How different the items of the list are from each other.

        Of ``features=`` the cosine counts, in time linear in k; features that are all 0 are like
        nothing. From ``similarity=`` the entry (i, j) of each pair is read where i stands before j
        in the list. Similarities outside [-1, 1] lead outside the bounds.

        >>> from recmetrics import Metrics
        >>> features = [[1, 0], [0, 1], [1, 0]]  # items 0 and 2 are alike
        >>> Metrics.diversity_at_k([[3, 2, 1]], [[0, 0, 1]], k=3, features=features)
        array([0.66666667])
        """
        raise NotImplementedError

    @staticmethod
    @metric(
        kind="list",
        kernel=_novelty,
        reference=novelty_reference,
        needs=(("popularity",),),
        formula="mean of -log2(popularity) over the top k; denom=k: sum / k",
        filled=Filled(
            "{denom} of -log2(popularity) over the top k, {unseen}",
            {
                "denom": {"list": "mean", "k": "1 / k times the sum"},
                "unseen": {
                    "zero": "0 for an item of popularity 0",
                    "inf": "infinite for an item of popularity 0",
                    "nan": "NaN for an item of popularity 0",
                    "skip": "items of popularity 0 left out",
                },
            },
        ),
        latex=r"- \frac{1}{m} \sum_{r=1}^{m} \log_2 \pi(i_r)",
        citation="Zhou et al.: Solving the apparent diversity-accuracy dilemma of recommender "
        "systems, PNAS 2010",
        bounds=(0.0, math.inf),
        undefined="an item of popularity 0 under unseen=nan",
    )
    def novelty_at_k(
        pred_scores: Scores,
        ground_truth: Truth,
        k: int = 100,
        *,
        denom: Annotated[
            Literal["list", "k"], "divide by the length of the list, or by k where it is shorter"
        ] = "list",
        unseen: Annotated[
            Literal["zero", "inf", "nan", "skip"],
            "what an item of popularity 0 adds; skip: it does not count in the length either",
        ] = "zero",
        **shared: Unpack[Shared],
    ) -> UserValues:
        """Mean self-information of the list in bits: how surprising it is to have these items.

        0 for an empty list.

        >>> from recmetrics import Metrics
        >>> Metrics.novelty_at_k([[3, 2, 1]], [[0, 0, 1]], k=2, popularity=[0.5, 0.125, 1])
        array([2.])
        """
        raise NotImplementedError

    @staticmethod
    @metric(
        kind="list",
        higher_is_better=False,
        kernel=_mean_popularity,
        reference=popularity_reference,
        needs=(("popularity",),),
        formula="mean popularity of the top k",
        latex=r"\frac{1}{m} \sum_{r=1}^{m} \pi(i_r)",
        citation="Yin et al.: Challenging the long tail recommendation, VLDB 2012",
        undefined="nothing: 0 for an empty list",
    )
    def popularity_at_k(
        pred_scores: Scores,
        ground_truth: Truth,
        k: int = 100,
        **shared: Unpack[Shared],
    ) -> UserValues:
        """Mean share of users who have the items of the list; 0 for an empty list.

        >>> from recmetrics import Metrics
        >>> Metrics.popularity_at_k([[3, 2, 1]], [[0, 0, 1]], k=2, popularity=[0.5, 0.25, 1])
        array([0.375])
        """
        raise NotImplementedError

    @staticmethod
    @metric(
        kind="list",
        kernel=_long_tail,
        reference=long_tail_reference,
        needs=(("popularity",),),
        formula="share of the top k outside the head: the fewest most popular items that have "
        "1 - tail of the interactions",
        filled=Filled(
            "share of the top k outside the head: the fewest most popular items that have "
            "1 - {tail} of the interactions"
        ),
        latex=r"\frac{1}{m} \sum_{r=1}^{m} [i_r \notin H]",
        citation="Abdollahpouri et al.: Managing popularity bias in recommender systems with "
        "personalized re-ranking, FLAIRS 2019",
        undefined="nothing: 0 for an empty list",
    )
    def long_tail_at_k(
        pred_scores: Scores,
        ground_truth: Truth,
        k: int = 100,
        *,
        tail: Annotated[
            float, Number("share of all interactions that the tail has at most", below=1.0)
        ] = 0.8,
        **shared: Unpack[Shared],
    ) -> UserValues:
        """Share of the list that is in the long tail; 0 for an empty list.

        The items are ordered by popularity, equal ones by index. The head is the shortest beginning
        of that order whose popularities sum up to at least 1 - ``tail`` of the sum of all (to a
        relative 1e-9, so that rounding does not decide); the tail is the rest.

        >>> from recmetrics import Metrics
        >>> popularity = [0.5, 0.4, 0.1]  # the head is item 0: half of the interactions
        >>> Metrics.long_tail_at_k([[3, 2, 1]], [[0, 0, 1]], k=2, tail=0.5, popularity=popularity)
        array([0.5])
        """
        raise NotImplementedError

    @staticmethod
    @metric(
        kind="list",
        kernel=_serendipity,
        reference=serendipity_reference,
        needs=(("popularity",),),
        formula="mean over the top k of 1 - popularity where the item is relevant, 0 where not",
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
        rel: Annotated[
            float | None,
            Number("smallest relevance that counts as relevant; unset: any > 0"),
        ] = None,
        **shared: Unpack[Shared],
    ) -> UserValues:
        """How much of the list is relevant and unexpected.

        An item counts 1 - its popularity if it is relevant; grades do not weigh. Undefined for a
        user without relevant items; 0 for an empty list.

        >>> from recmetrics import Metrics
        >>> Metrics.serendipity_at_k([[3, 2, 1]], [[1, 0, 1]], k=2, popularity=[0.5, 0.25, 1])
        array([0.25])
        """
        raise NotImplementedError

    @staticmethod
    @metric(
        kind="list",
        higher_is_better=False,
        kernel=_calibration,
        reference=calibration_reference,
        needs=(("genres",), ("profile",)),
        formula="sum over the genres of p ln(p / (0.99 q + 0.01 p)), p their shares in the "
        "profile, q in the top k",
        latex=r"\sum_{c} p_c \ln \frac{p_c}{0.99 \, q_c + 0.01 \, p_c}",
        citation="Steck: Calibrated recommendations, RecSys 2018",
        bounds=(0.0, -math.log(SMOOTHING)),
        undefined="no item with a genre in the list or the profile",
    )
    def calibration_at_k(
        pred_scores: Scores,
        ground_truth: Truth,
        k: int = 100,
        **shared: Unpack[Shared],
    ) -> UserValues:
        """How far the genres of the list are from those that the user had before, in nats.

        Kullback-Leibler divergence of q, the genres of the list, from p, those of the profile; 0 is
        perfect. An item divides itself among its genres, equally where ``genres=`` holds 0 and 1;
        items without a genre do not count. A training matrix as ``profile=`` weighs the items by
        its values.

        >>> from recmetrics import Metrics
        >>> genres, train = [[1, 0], [0, 1], [1, 1]], [[0, 0, 1]]
        >>> Metrics.calibration_at_k([[3, 2, 1]], [[0, 1, 0]], k=2, genres=genres, profile=train)
        array([0.])
        """
        raise NotImplementedError
