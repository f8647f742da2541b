"""How much work it is to select in Python, by which ``jit`` decides when to compile.

All constants are microseconds of CPU of one core, measured with ndcg@10, ndcg@100, ndcg@500, auc
and coverage@10 on float32 scores of 100 x 500 to 256 x 3,700 and 1 to 74 relevant items a user.
The sums were within a factor of 1.6 of what was measured.
"""

from typing import Any

from recmetrics._core.inputs import Rankings, ScoreMatrix, SparseScores, Users, is_half
from recmetrics._core.selection.device import DeviceFactors, DeviceScores
from recmetrics._core.selection.matrix import MANY
from recmetrics._core.selection.memory import n_lanes_for
from recmetrics._core.selection.tied import EqualScores

_SCORE = 0.16  # in a vectorised pass over lanes
_HALF = 1.2  # more for a score of half precision, which is converted
_SELECTED = 9.0  # of the k best
_RELEVANT = 20.0
_COMPARED = 1.1  # a relevant item with a score, where rows are too short for lanes
_COMPARED_TO_THE_END = 1.7  # the same without a cutoff
_SORTED = 5.4  # a score of a sorted row, with many relevant items
_LISTED_SCORE = 1.6
_LISTED_SHORT = 8.0  # a score of a row that is too short for lanes
_LISTED = 30.0  # an item of a list
_CANDIDATE = 4.5
_LISTED_CANDIDATE = 10.0
_STORED_SCORE = 2.0  # of sparse scores
_RANKED_ITEM = 0.8  # of a ranking that exists


def work_of(scores: Any, users: Users, k: int | None, depth: int | None) -> float:
    """Estimate the work in Python of hits to rank ``k`` and of lists of ``depth``.

    Either is None where it is not read.
    """
    n_users = users.truth.n_users
    n_relevant = users.truth.count()
    if isinstance(scores, Rankings):
        return _RANKED_ITEM * (scores.lists.items.size + n_relevant)
    work = _RELEVANT * n_relevant
    if isinstance(scores, EqualScores | DeviceScores | DeviceFactors):  # ranked without kernels
        return work
    if isinstance(scores, SparseScores):
        return work + _STORED_SCORE * scores.mean_items * n_users
    if users.candidates is not None:
        candidate = 0.0
        if k is not None:
            candidate += _CANDIDATE
        if depth is not None:
            candidate += _LISTED_CANDIDATE
        return work + candidate * users.candidates.count()

    n_items = scores.shape[1]
    if isinstance(scores, ScoreMatrix) and is_half(scores.array.dtype):
        work += _HALF * n_users * n_items
    if k is not None:
        work += _work_of_hits(n_users, n_items, n_relevant, k)
    if depth is not None:
        listed_score = _LISTED_SCORE if n_lanes_for(depth, n_items) else _LISTED_SHORT
        work += listed_score * n_users * n_items + _LISTED * n_users * min(depth, n_items)
    return work


def _work_of_hits(n_users: int, n_items: int, n_relevant: int, k: int) -> float:
    if n_lanes_for(k, n_items):
        return _SCORE * n_users * n_items + _SELECTED * n_users * k
    if n_relevant >= MANY * n_users:
        return _SORTED * n_users * n_items
    compared = _COMPARED if k < n_items else _COMPARED_TO_THE_END
    return compared * n_relevant * n_items
