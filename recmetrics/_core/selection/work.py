"""How much work it is to select in Python, by which ``jit`` decides when to compile.

All constants are microseconds of CPU of one core, measured with ndcg@10, ndcg@100, ndcg@500, auc
and coverage@10 on float32 scores of 100 x 500 to 256 x 3,700 and 1 to 74 relevant items a user.
Once hits are known, the sums are within a factor of 1.7 of what was measured, for random scores and
for those of good models, but up to 3.5 times too much for 74 relevant items. ``ties="expected"``
takes up to 2.5 times as long. What another machine takes longer, it takes longer to compile, too.
"""

from typing import Any

import numpy as np

from recmetrics._core.inputs import Rankings, ScoreMatrix, SparseScores, Users, is_half
from recmetrics._core.selection.device import DeviceFactors, DeviceScores
from recmetrics._core.selection.hits import Hits
from recmetrics._core.selection.kernels import COMPARED_PER_COLLECTED, LEAST_PER_HIDDEN
from recmetrics._core.selection.matrix import MANY_CANDIDATES, MANY_RELEVANT
from recmetrics._core.selection.memory import n_lanes_for
from recmetrics._core.selection.tied import EqualScores
from recmetrics._core.types import IntArray

_LANE_SCORE = 0.16  # a score in the vectorised pass over lanes of ``kernels``
_HIDING_SCORE = 1.0  # more for a score of a row that is copied, to hide its excluded items
_HALF_SCORE = 1.2  # more for a score of half precision, which is converted
_SELECTED_ITEM = 9.0  # one of the k best
_RELEVANT_ITEM = 20.0
# A relevant item and a score: of a hit, of a candidate, or of a row that is too short for lanes.
_COMPARED_PAIR = 1.1
_SHORT_SCORE = 2.0  # a score of a row that is too short for lanes
_COMPARED_PAIR_TO_THE_END = 1.7  # such a pair without a cutoff
_BINNED_SCORE = 15.0  # a score whose bin is searched for, measured with 110 relevant items
_LISTED_SCORE = 1.6  # a score of a row from which a list is made
_LISTED_SHORT_SCORE = 8.0  # one of a row that is too short for lanes
_LISTED_ITEM = 30.0  # an item of a list
_CANDIDATE = 4.5  # among which ranks are counted
_LISTED_CANDIDATE = 10.0  # from which a list is made
_STORED_SCORE = 2.0  # of sparse scores
_RANKED_ITEM = 0.8  # of a ranking that exists

# Hits take most of the work of a good model. Before they are known, so many of the relevant items
# of a user, up to the cutoff, are taken for hits; ``work_beyond`` corrects that afterwards.
_EXPECTED_HITS = 1 / 3


def work_of(scores: Any, users: Users, k: int | None, depth: int | None) -> float:
    """Estimate the work in Python of hits to rank ``k`` and of lists of ``depth``, in microseconds.

    ``k`` is None where no hits are read, ``depth`` where no lists are.
    """
    n_users = users.truth.n_users
    n_relevant = users.truth.count()
    if isinstance(scores, Rankings):
        return _RANKED_ITEM * (scores.lists.items.size + n_relevant)
    work = _RELEVANT_ITEM * n_relevant
    if isinstance(scores, EqualScores | DeviceScores | DeviceFactors):  # ranked without kernels
        return work
    if isinstance(scores, SparseScores):
        n_stored = scores.mean_items * n_users
        if k is not None:
            work += _work_of_ranks_among(n_users, n_relevant, n_stored)
        return work + _STORED_SCORE * n_stored
    if users.candidates is not None:
        n_candidates = users.candidates.count()
        if k is not None:
            work += _CANDIDATE * n_candidates + _work_of_ranks_among(
                n_users, n_relevant, n_candidates
            )
        if depth is not None:
            work += _LISTED_CANDIDATE * n_candidates
        return work

    n_items = scores.shape[1]
    if isinstance(scores, ScoreMatrix) and is_half(scores.array.dtype):
        work += _HALF_SCORE * n_users * n_items
    if users.exclude is not None and n_users * n_items:
        work += _work_of_hiding(n_users, n_items, users.exclude.count())
    if k is not None:
        least_binned = MANY_RELEVANT[scores.dtype.itemsize] * n_users
        work += _work_of_ranks(n_users, n_items, n_relevant, k, least_binned)
        work += _work_of_hits(scores, users, k, _expected_hits(users, k))
    if depth is not None:
        score_work = _LISTED_SCORE if n_lanes_for(depth, n_items) else _LISTED_SHORT_SCORE
        work += score_work * n_users * n_items + _LISTED_ITEM * n_users * min(depth, n_items)
    return work


def _work_of_ranks_among(n_users: int, n_relevant: int, n_read: float) -> float:
    """Estimate the work of ranking the relevant items of each user among the scores that are read.

    Of all users together, ``n_relevant`` items are relevant and ``n_read`` scores are read. Their
    means stand for each user.
    """
    if n_relevant >= MANY_CANDIDATES * n_users:
        return _BINNED_SCORE * n_read
    mean_read = n_read / max(1, n_users)
    return _COMPARED_PAIR * min(n_relevant, n_read) * mean_read


def _work_of_hiding(n_users: int, n_items: int, n_excluded: int) -> float:
    """Estimate the work of copying the rows of users who exclude enough of the items.

    Users exclude more or fewer than the mean, so some rows are copied also where the mean is not
    enough: the share of the rows is taken to be the square of the share of the mean.
    """
    share_of_enough = LEAST_PER_HIDDEN * n_excluded / (n_users * n_items)
    return _HIDING_SCORE * n_users * n_items * min(1.0, share_of_enough) ** 2


def work_beyond(scores: Any, users: Users, k: int | None, hits: Hits) -> float:
    """The work of the hits to rank ``k`` beyond what ``work_of`` expected; below 0 for few hits."""
    if k is None:
        return 0.0
    expected_work = _work_of_hits(scores, users, k, _expected_hits(users, k))
    return _work_of_hits(scores, users, k, hits.n_hits) - expected_work


def _expected_hits(users: Users, k: int) -> float:
    """The hits to rank ``k`` of each user that are expected before they are known."""
    return _EXPECTED_HITS * min(k, users.truth.count() / max(1, users.truth.n_users))


def _work_of_hits(scores: Any, users: Users, k: int, n_hits: IntArray | float) -> float:
    """Estimate the work of ``n_hits`` hits of each user, or as many of every user, to rank ``k``.

    They are ranked in long rows of scores; 0 where the rows are short, or are not read whole.
    """
    is_whole = isinstance(scores, ScoreMatrix) and not isinstance(scores, SparseScores)
    if not is_whole or users.candidates is not None or not n_lanes_for(k, scores.shape[1]):
        return 0.0
    n_items = scores.shape[1]
    most_pairs = n_items + COMPARED_PER_COLLECTED * k  # from more on, the pool is compared
    work_of_user = _COMPARED_PAIR * np.minimum(most_pairs, n_hits * n_items)
    return float(np.broadcast_to(work_of_user, users.truth.n_users).sum())


def _work_of_ranks(n_users: int, n_items: int, n_relevant: int, k: int, least_binned: int) -> float:
    """Estimate the work of ranks to ``k`` from whole rows, without that of hits in long rows.

    From ``least_binned`` relevant items of all users on, the bins of scores are searched for.
    """
    if n_lanes_for(k, n_items):
        return _LANE_SCORE * n_users * n_items + _SELECTED_ITEM * n_users * k
    if n_relevant >= least_binned:
        return _BINNED_SCORE * n_users * n_items
    pair_work = _COMPARED_PAIR if k < n_items else _COMPARED_PAIR_TO_THE_END
    return pair_work * n_relevant * n_items + _SHORT_SCORE * n_users * n_items
