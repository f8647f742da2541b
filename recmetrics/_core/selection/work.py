"""How much work it is to select in Python, by which ``jit`` decides when to compile.

All constants are microseconds of CPU of one core, measured with ndcg@10, ndcg@100, auc, ndcg and
coverage@10 and @100 on float32 scores of 200 x 100 to 256 x 3,700 and 30 x 20,000, and 1 to 74
relevant items a user; for factors, with k from 1 to 2,000 of 13,000 to 100,000 items. Once hits are
known, the sums are within a factor of 3 of what was measured, but six times as much where
candidates hold few of the relevant items. What another machine takes longer, it takes longer to
compile, too.
"""

import math
from typing import Any

from recmetrics._core.inputs import Rankings, ScoreMatrix, SparseScores, Users, is_half
from recmetrics._core.selection.device import DeviceFactors, DeviceScores
from recmetrics._core.selection.factors import FactorScores
from recmetrics._core.selection.hits import Hits
from recmetrics._core.selection.kernels import LEAST_PER_HIDDEN
from recmetrics._core.selection.matrix import MANY_RELEVANT, MAX_PAIRS, MAX_PAIRS_WITH_LANES
from recmetrics._core.selection.memory import fits_cache, n_lanes_for
from recmetrics._core.selection.tied import EqualScores

_ROW = 10.0  # a user
_SCORE = 0.0006  # a score of a row that is read whole
_HALF_SCORE = 0.007  # more for a score of half precision, which is converted
_EXCLUDED_ITEM = 0.1
_EXCLUDED_PAIR = 0.3  # an excluded and a relevant item that are compared
_RELEVANT_ITEM = 0.25  # a relevant item that is looked up in a row with lanes
_HIT = 9.0  # and _SCORE for each score of the row
# A relevant item whose rank is counted in a row without lanes, or without a cutoff, and more for
# each score of the row, or of the candidates of the user.
_RANKED_ITEM = 6.0
_COMPARED_SCORE = 0.0014
_BINNED_SCORE = 0.07  # a score whose bin is searched for, instead
_LISTED_ITEM = 5.0  # an item of a list
_LISTED_SHORT_SCORE = 0.5  # a score of a row without lanes from which a list is made
_CANDIDATE = 0.02  # a candidate, or a stored score
_LISTED_CANDIDATE = 0.6  # one from which a list is made
_RANKING_ITEM = 0.35  # an item of a ranking that exists
_TILED_SCORE = 0.011  # a score of factors in tiles
_COLLECTED_ITEM = 2.5  # an item collected from tiles

# Hits take most of the work of a good model. Before they are known, so many of the relevant items
# of a user, up to the cutoff, are taken for hits; ``work_beyond`` corrects that afterwards.
_EXPECTED_HITS = 1 / 5


def work_of(scores: Any, users: Users, k: int | None, depth: int | None) -> float:
    """Estimate the work in Python of hits to rank ``k`` and of lists of ``depth``, in microseconds.

    ``k`` is None where no hits are read, ``depth`` where no lists are.
    """
    n_users = users.truth.n_users
    n_relevant = users.truth.count()
    if isinstance(scores, Rankings):
        return _RANKING_ITEM * (scores.lists.items.size + n_relevant)
    if isinstance(scores, EqualScores | DeviceScores | DeviceFactors):  # ranked without kernels
        return _RANKED_ITEM * n_relevant
    work: float = _ROW * n_users
    list_depth = max(k or 0, depth or 0)
    if isinstance(scores, FactorScores) and _has_tiles(scores, users, list_depth):
        return work + _work_of_tiles(scores, users, list_depth)
    items_read = scores if isinstance(scores, SparseScores) else users.candidates
    if items_read is not None:
        n_read = items_read.mean_items * n_users
        work += _CANDIDATE * n_read
        if k is not None:
            n_ranked = min(float(n_relevant), n_read)
            least_binned = MANY_RELEVANT[scores.dtype.itemsize] * n_users
            work += _work_of_ranks(n_ranked, n_users, n_read / max(1, n_users), least_binned)
        if depth is not None:
            work += _LISTED_CANDIDATE * n_read
        return work
    return work + _work_of_rows(scores, users, k, depth)


def _work_of_rows(scores: Any, users: Users, k: int | None, depth: int | None) -> float:
    """Estimate the work in rows of scores that are read whole."""
    n_users = users.truth.n_users
    n_relevant = users.truth.count()
    n_items = scores.shape[1]
    work: float = _SCORE * n_users * n_items
    if isinstance(scores, ScoreMatrix) and is_half(scores.array.dtype):
        work += _HALF_SCORE * n_users * n_items
    if users.exclude is not None:
        work += _EXCLUDED_ITEM * users.exclude.count()
    if k is not None and n_lanes_for(k, n_items):
        work += _RELEVANT_ITEM * n_relevant
        work += n_users * _expected_hits(users, k) * _work_of_hit(scores, users)
    elif k is not None:
        least_binned = MANY_RELEVANT[scores.dtype.itemsize] * n_users
        work += _work_of_ranks(n_relevant, n_users, n_items, least_binned)
        work += _EXCLUDED_PAIR * n_relevant * _n_compared(scores, users, MAX_PAIRS)
    if depth is not None and n_lanes_for(depth, n_items):
        work += _LISTED_ITEM * n_users * depth
    elif depth is not None:
        work += _LISTED_SHORT_SCORE * n_users * n_items
    return work


def _has_tiles(scores: FactorScores, users: Users, depth: int) -> bool:
    """Say whether lists of ``depth`` are selected from tiles.

    Lists of all items, and those of short rows without candidates, are made from whole rows.
    """
    has_short_rows = scores.has_short_rows and users.candidates is None
    return not has_short_rows and depth < scores.shape[1]


def _work_of_tiles(scores: FactorScores, users: Users, depth: int) -> float:
    """Estimate the work of lists of ``depth`` from tiles of the scores of factors.

    In a random order, the n-th score is one of the best so far with probability depth / n.
    """
    n_users = users.truth.n_users
    n_read: float = scores.shape[1]
    if users.candidates is not None:
        n_read = users.candidates.mean_items
    n_listed = min(depth, n_read)
    n_collected = n_listed * (1 + math.log(max(1.0, n_read / max(1.0, n_listed))))
    work = n_users * (_TILED_SCORE * n_read + _COLLECTED_ITEM * n_collected)
    if users.exclude is not None:
        work += _EXCLUDED_ITEM * users.exclude.count()
    return work


def _work_of_ranks(n_ranked: float, n_users: int, n_read: float, least_binned: int) -> float:
    """Estimate the work of the ranks of ``n_ranked`` items of all users.

    They are counted among ``n_read`` scores of each user. From ``least_binned`` items on, the bins
    of scores are searched for.
    """
    work = _RANKED_ITEM * n_ranked
    if n_ranked >= least_binned:
        return work + _BINNED_SCORE * n_users * n_read
    return work + _COMPARED_SCORE * n_ranked * n_read


def _work_of_hit(scores: Any, users: Users) -> float:
    """Estimate the work of a hit in a row that has lanes."""
    n_compared = _n_compared(scores, users, MAX_PAIRS_WITH_LANES)
    work: float = _HIT + _SCORE * scores.shape[1] + _EXCLUDED_PAIR * n_compared
    return work


def _n_compared(scores: Any, users: Users, max_pairs: int) -> float:
    """The excluded items of a user that a ranked item is compared with; 0 where they are hidden.

    They are hidden in a row, or, with more than ``max_pairs`` pairs for each score, in a block.
    """
    if users.exclude is None:
        return 0.0
    n_items = scores.shape[1]
    n_users = max(1, users.truth.n_users)
    n_excluded = users.exclude.count() / n_users
    n_pairs = n_excluded * users.truth.count() / n_users
    in_row = LEAST_PER_HIDDEN * n_excluded >= n_items and fits_cache(n_items, scores.dtype)
    if in_row or n_pairs > max_pairs * n_items:
        return 0.0
    return n_excluded


def work_beyond(scores: Any, users: Users, k: int | None, hits: Hits) -> float:
    """The work of the hits to rank ``k`` beyond what ``work_of`` expected; below 0 for few hits."""
    is_whole = isinstance(scores, ScoreMatrix) and not isinstance(scores, SparseScores)
    if k is None or not is_whole or users.candidates is not None:
        return 0.0
    if not n_lanes_for(k, scores.shape[1]):
        return 0.0
    expected_hits = users.truth.n_users * _expected_hits(users, k)
    return (float(hits.n_hits.sum()) - expected_hits) * _work_of_hit(scores, users)


def _expected_hits(users: Users, k: int) -> float:
    """The hits to rank ``k`` of each user that are expected before they are known."""
    return _EXPECTED_HITS * min(k, users.truth.count() / max(1, users.truth.n_users))
