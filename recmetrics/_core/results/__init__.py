"""Hits -> values: one array for each metric string, for one call or for many batches.

    measure   ``values_of``: calls the kernels that read hits or exposure
    settle    ``undefined=`` applied: a number in place of NaN, or an error
    notes     sentences about values that may mislead: who has none and why, an excluded truth
    signs     what tells that a call evaluates nothing: relevant items alone, samples, lists that
              end with the relevant items
    keys      the keys of results: the metric of each, and the form that loggers take
    store     what an evaluator keeps: a log of batches, each added whole or not at all, and the
              rows or totals of earlier ones; merging, gathering from processes
    rows      one row for each user; values of a later batch replace it
    joint     sums over events of each model, and of each pair, by group
    totals    counts and sums of events, which have no user
    rounding  which values are equal, up to rounding
    means     the mean over users, and their weights as they come from outside
    sampled   metrics over the whole catalogue, estimated from ranks among sampled negatives
    saved     the schema of a store: which stores may be merged; state as plain arrays, and back

The hits of small batches are kept, and their metrics are computed together. Here the
truth of a user is *swallowed* if ``exclude`` holds all of the user's relevant items.
"""

from recmetrics._core.results.joint import JointSums
from recmetrics._core.results.keys import for_logger, key_of, spec_of
from recmetrics._core.results.means import (
    Ids,
    check_groups,
    dot,
    mean_of,
    read_floats,
    read_group_labels,
    read_raw_weights,
    read_reals,
    read_weights,
    require_per_user,
    system_weights,
    user_at,
    weighed_together,
    weights_by,
)
from recmetrics._core.results.measure import (
    check_truth,
    measured,
    ranks_of,
    system_values,
    user_values,
    values_of,
    whole_values,
)
from recmetrics._core.results.notes import (
    Grades,
    Missing,
    advice_for,
    counted_as_a_number,
    excluded_relevant,
    how_graded,
    left_out,
    notes_on_users,
    warn_of_swallowed,
    who_is_swallowed,
    who_lacks,
    why_undefined,
)
from recmetrics._core.results.rounding import (
    ROUNDING,
    SINGLE_ROUNDING,
    with_equal_values,
    with_exact_ends,
)
from recmetrics._core.results.rows import KeptLists, UserRows, item_dtype
from recmetrics._core.results.sampled import Method, estimated
from recmetrics._core.results.saved import this_version
from recmetrics._core.results.settle import RowNames, settled
from recmetrics._core.results.signs import (
    NEGATE,
    advice_on_samples,
    note_on_one_column,
    notes_of_signs,
    places_of,
    size_of_samples,
    users_of_relevant_alone,
    users_of_relevant_last,
)
from recmetrics._core.results.store import Accumulator, Store
from recmetrics._core.results.totals import Keep, Totals
