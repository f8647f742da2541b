"""Selection: the relevant items among the k best of each user, and their ranks.

    find       ``find_hits``, the one door from scores to hits: picks the ranker of the scores
    rankers    what rankers share: row blocks of scores in threads, and the joining of their hits
    matrix     ``MatrixRanker``: scores in memory
    factors    ``FactorRanker``: scores of a factor model, which BLAS multiplies in tiles
    device     ``DeviceRanker``: scores or factors on a GPU, ranked there by torch
    rankings   ``ListRanker``: the hits of rankings that the user gives; the error where a
               ranking is faulty
    tied       ``TiedRanker``: the hits where all items have the same score; the mean over the
               orders of these ties is the chance level, their best order the ceiling
    kernels    the loops that compare scores; equal scores rank by the lower item index
    counting   the k-th largest of values, and their order, found by counting
    memory     the arrays in which these loops work
    hits       ``Hits``, which most metrics read; tie policies; gains and discounts
    largest    the largest relevances of each user, which the ideal ranking has first
    lists      ``Lists``: each user's k best items, for the metrics of ``metrics/beyond``;
               ``ListReader`` calls their kernels
    work       how long the selection takes in Python
    exposure   ``Exposure``, which metrics of all lists read: how often each item is listed

Every ranker has the method ``hits``. It reads its scores in row blocks, in threads, and gives the
rank of each relevant item that is among the k best. Lists are made only where a metric reads them,
block by block; only an ``Evaluator`` with metrics of all lists keeps them, in ``results/store``.
"""

from recmetrics._core.selection import kernels, memory
from recmetrics._core.selection.counting import sort_best_first
from recmetrics._core.selection.exposure import COSINE, Exposure, Exposures, exposures
from recmetrics._core.selection.factors import check_bias, check_factors
from recmetrics._core.selection.find import (
    AnyScores,
    Selection,
    Source,
    count_work,
    find_hits,
    longest_list,
    ranker_of,
    read_factors,
    read_model,
    read_scores,
)
from recmetrics._core.selection.hits import (
    WHOLE_LIST,
    Hits,
    Slots,
    Views,
    discounts,
    empty_hits,
    hits_of_slots,
    join,
)
from recmetrics._core.selection.lists import Lists
from recmetrics._core.selection.matrix import MatrixRanker
from recmetrics._core.selection.rankers import Ranker
from recmetrics._core.selection.tied import EqualScores
