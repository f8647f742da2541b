"""Hits -> values: one array for each metric string, for one call or for many batches.

    measure   ``values_of``: one kernel per metric over the hits, then ``undefined=``
    batches   the lists of a batch; hits of batches that wait to be measured together
    state     ``UserResults``: one row per user; merging, saving, gathering from processes

``measure`` is the only place that calls the kernels of metrics that read hits or exposure, and the
only place that applies ``undefined=``. An ``Evaluator`` keeps its values in ``UserResults``. A user
has one row there, so a user who comes twice counts once.
"""

from recmetrics._results.batches import KeptLists
from recmetrics._results.measure import (
    RowNames,
    check_truth,
    measured,
    settled,
    system_values,
    user_values,
    values_of,
)
from recmetrics._results.state import NotUpdatedWarning, UserCounts, UserResults, UserRows, gather
