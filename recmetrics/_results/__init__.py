"""Hits -> values: one array for each metric string, for one call or for many batches.

    measure   ``values_of``: calls the kernels that read hits or exposure; applies ``undefined=``
    batches   what an ``Evaluator`` keeps of a batch: its hits, and lists for metrics of all lists
              until they are measured
    events    ``EventResults``: the values or sums of events, which have no user
    state     ``UserResults``: one row per user; merging, saving, gathering from processes

An ``Evaluator`` keeps its values in ``UserResults``. A user has one row, so a user who is added
twice counts once, with the later values. The hits of small batches are kept, and their metrics are
computed together.
"""

from recmetrics._results.batches import KeptLists, item_dtype
from recmetrics._results.events import EventCounts, EventResults, Keep
from recmetrics._results.measure import (
    NORMAL_95,
    RowNames,
    check_truth,
    is_swallowed,
    logger_key,
    measured,
    ranks_of,
    settled,
    size_of_weights,
    system_values,
    user_values,
    users_of_means,
    values_of,
    warn_of_swallowed,
    whole_values,
)
from recmetrics._results.state import (
    NotUpdatedWarning,
    UserCounts,
    UserResults,
    UserRows,
    gather,
    merge,
)
