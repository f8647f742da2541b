"""What the user has: any array, list or sparse matrix becomes a form that kernels read.

    arrays      any array without a copy; dtypes and indices
    scores      ``ScoreMatrix``, read in row blocks; the order of half precision; ``Rankings``
    sets        ``ItemSets``: truth, exclude and candidates as sorted items per user; ``Users``
    read_sets   any form of these sets -> ``ItemSets``, or an exact error
    side        side information about items and users
    users       all that is known of the users of a call

Scores are never copied, cast or changed as a whole. Truth and the other sets have one internal
form, ``Rows``. Sparse matrices and lists are brought into it once per call; a dense matrix is read
block by block, beside the scores. Every check of the user's data is made here, and its error names
what was given, what was expected and what to type.
"""

from recmetrics._inputs.arrays import (
    as_array,
    as_kernel_array,
    check_matrix,
    half_to_single,
    is_half,
    is_real,
)
from recmetrics._inputs.read_sets import (
    check_shape,
    read_candidates,
    read_exclude,
    read_numbers,
    read_truth,
)
from recmetrics._inputs.scores import LEAST_SCORES, Rankings, ScoreBlock, ScoreMatrix, native
from recmetrics._inputs.sets import (
    LARGEST_RELEVANCE,
    NO_ROWS,
    ItemSets,
    Rows,
    SharedSet,
    Side,
    SparseSets,
    UserIndex,
    Users,
    as_indices,
    n_chosen,
    one_below_another,
)
from recmetrics._inputs.side import popularity_from, read_side
from recmetrics._inputs.users import read_users, read_whole_users
