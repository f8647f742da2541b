"""The data of the user: any array, list or sparse matrix becomes a form that kernels read.

    arrays      any array, without a copy; dtypes and indices
    row_order   blocks of matrices in Fortran order become rows, in tiles
    scores      ``ScoreMatrix`` in row blocks; read as float32 or float64, exactly; sparse ones too;
                NaN is refused here
    ranked      ``Rankings`` in row blocks; ``repeats=`` and ``unknown=``: items that a ranking
                names twice, or that are outside the catalogue, are found and taken out here
    labels      the labels of tables, which must stand in one order
    sets        the internal forms: ``ItemSets`` (truth, exclude, candidates), ``Side``, ``Users``
    sparse      sparse matrices of SciPy, whose structure is checked before it is followed
    read_sets   truth, exclude and candidates in any form -> ``ItemSets``; errors about their
                shapes, items and values
    side        side information: one record for each piece of it, with its reader and the words of
                its errors
    flat_groups flat arrays cut into groups -> sparse scores and ``Users``
    users       all of this for the users of one call -> ``Users``; ``users=`` of a batch

A *set* is the items of a user with their values, such as the truth of a user. *Half precision* is
float16 or bfloat16, which NumPy lacks. The reader of an argument gets its name, such as "truth" or
"exclude", for errors; ``if_...`` parameters are advice for an error.

Scores are never copied, cast or changed as a whole. Sparse sets and lists are brought into the
internal form once per call. A dense truth is read block by block, beside the scores. Every error
names what was given, what was expected and what to type.
"""

from recmetrics._core.inputs.arrays import (
    INDEX_NAMES,
    are_permuted,
    as_array,
    call_on,
    check_2d,
    check_matrix,
    check_real,
    dtype_name,
    half_to_single,
    hint_of_index,
    is_half,
    is_missing,
    is_sparse_tensor,
    may_be_indices,
    places_of_entries,
    refuse_other_indexes,
    starts_of,
    users_of_entries,
    valid_indices,
)
from recmetrics._core.inputs.flat_groups import TIED_SHARE, note_on_leading_ties, read_groups
from recmetrics._core.inputs.labels import (
    UNLABELLED_SCORES,
    labels_of_users,
    read_labels,
    refuse_labels_first,
)
from recmetrics._core.inputs.ranked import FlatLists, InvalidItems, Rankings
from recmetrics._core.inputs.read_sets import (
    CLIP_OR_SCORE,
    advice_on_indices,
    check_shape,
    read_count,
    read_item_sets,
    read_numbers,
    refuse_indices,
)
from recmetrics._core.inputs.scores import (
    N_NAN,
    NAN_ITEM,
    NAN_ROW,
    ScoreBlock,
    ScoreMatrix,
    SparseScores,
    find_candidate_nan,
    find_nan,
    native,
    order_halves,
    read_matrix,
    refuse_nan,
)
from recmetrics._core.inputs.sets import (
    LARGEST_RELEVANCE,
    NO_SIDE,
    DenseSets,
    ItemSets,
    Rows,
    SharedSet,
    Side,
    SparseSets,
    UserIndex,
    Users,
    as_indices,
    one_below_another,
    place_of,
)
from recmetrics._core.inputs.side import (
    HEAD_SLACK,
    is_in_tail,
    popularity_from,
    popularity_strata,
    propensity_from,
    read_side,
    with_profile,
)
from recmetrics._core.inputs.sparse import as_scipy
from recmetrics._core.inputs.users import (
    MOST_NUMBERS,
    arguments_read,
    digests_of,
    look_like_grades,
    read_set,
    read_users,
    read_which_users,
    read_whole_users,
    warn_if_exchanged,
)
