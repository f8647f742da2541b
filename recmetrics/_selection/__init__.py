"""Which relevant items are among the k best of each user, and at which rank.

    sources     where scores come from, and ``find_hits``, which picks the ranker for them
    matrix, factors, device, rankings, tied
                scores in memory, factor models, scores on a GPU, rankings that exist, and one
                score for all items. ``MatrixRanker``, ``SourceRanker`` (for factors and devices),
                ``GivenRanker`` and ``TiedRanker`` have the method ``hits``
    kernels     the one order, and the loops that compare scores
    hits        ``Hits``: what most metrics read; tie policies; gains and discounts
    lists       ``Lists``: what the other user metrics read, and who runs these metrics
    exposure    ``Exposure``: what system metrics read

A ranker reads its scores in row blocks, in threads, and gives the rank of every relevant item that
is among the k best. No list is made unless a metric reads lists; a list is dropped with its block.
All kernels that see scores share one file, since Numba's disk cache does not notice a change in
another one. The order is the same everywhere: higher score first, equal scores by lower item index.
"""

from recmetrics._selection import kernels
from recmetrics._selection.exposure import COSINE, DISCOUNT, Exposure, Exposures, exposures
from recmetrics._selection.hits import WHOLE_LIST, Hits, Views, empty_hits, part_of
from recmetrics._selection.lists import Lists
from recmetrics._selection.matrix import MatrixRanker
from recmetrics._selection.sources import Found, Source, find_hits, read_factors, read_scores
from recmetrics._selection.tied import EqualScores
