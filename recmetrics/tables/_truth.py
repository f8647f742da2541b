"""The truth of a table: the items of each user, ascending, with their relevances."""

from __future__ import annotations

import numpy as np

from recmetrics._core.errors import MetricSpecError
from recmetrics._core.inputs import LARGEST_RELEVANCE, Rows
from recmetrics._core.spec import Request, parse
from recmetrics._core.types import FloatArray, IntArray
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import Frame, numbers_of, refuse_row
from recmetrics.tables._ids import refuse_repeats
from recmetrics.tables._numbering import equals_previous, group, sort_groups


def read_truth(
    truth: Frame,
    columns: Columns,
    users: IntArray,
    items: IntArray,
    n_users: int,
    request: Request | None,
) -> tuple[Rows, IntArray]:
    """Read the items of each user, with their relevances, and the rows of the table in that order.

    ``users`` and ``items`` are the numbers of the ids of each row. ``request`` is that of a call
    that takes ``convention=``.
    """
    start, order = group(users, n_users)
    item_keys = items[order].astype(np.float64)
    sort_groups(start, order, item_keys)
    if equals_previous(start, item_keys).any():
        advice = "expected an item once; drop the rows that repeat another"
        refuse_repeats(truth, "truth", [*columns.truth_keys, columns.item], [users, items], advice)
    relevance = _relevance(truth, columns, request)
    return Rows(start, item_keys.astype(np.int64), relevance[order]), order


def _relevance(truth: Frame, columns: Columns, request: Request | None) -> FloatArray:
    """Read the relevance of each row, 1 without a column of them; refuse wrong numbers."""
    if columns.relevance is None:
        return np.ones(len(truth))
    relevance = numbers_of(truth, "truth", columns.relevance)
    if request is not None and request.drops_negative:
        # -inf stays, to be refused below.
        relevance = np.where(np.isneginf(relevance), relevance, np.maximum(relevance, 0.0))
    is_wrong = (relevance < 0.0) | (relevance > LARGEST_RELEVANCE)
    expected = f"expected relevances from 0 to {LARGEST_RELEVANCE:g}"

    def fault_of(row: int) -> str:
        """Say what is wrong with the relevance of a row."""
        hint = ""
        if relevance[row] < 0.0:
            hint = "; clip the column to 0 if it is not relevant"
            if request is not None and _is_of_trec(request):
                hint += "; for judgements of TREC type convention='trec'"
        return f"is {relevance[row]:g}, {expected}{hint}"

    refuse_row(is_wrong, "truth", columns.relevance, fault_of)
    return relevance


def _is_of_trec(request: Request) -> bool:
    """Say whether trec_eval has each metric of a call."""
    try:
        for definition in request.definitions.values():
            parse(str(definition.spec), "trec")
    except MetricSpecError:
        return False
    return True
