"""What a number can be compared with: the chance level, and the best that is possible.

Both are tie policies. A scorer that knows nothing gives one score to all items: its expectation
over the orders of ties is the expectation of a random ranking, its best order the best ranking. So
the record of such a scorer is made, from counts alone, and measured as any other.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from recmetrics._inputs import row_blocks
from recmetrics._itemsets import UserSets, read_whole_sets
from recmetrics._lists import ListReader
from recmetrics._measure import measure
from recmetrics._options import CallOptions, UserValues
from recmetrics._plan import Plan
from recmetrics._side import Side
from recmetrics._spec import MetricSpec
from recmetrics._topk import IntArray, TopK, empty_topk, join

_ENTRIES = 1 << 22  # of dense matrices, read at once


class TiedInputs:
    """Users to whom a scorer gives one score for all items; what lists hold is not known."""

    def __init__(self, sets: UserSets, n_items: int) -> None:
        self.n_users, self.n_items = sets.truth.n_users, n_items
        self._sets = sets

    def top_k(self, plan: Plan, reader: ListReader) -> TopK:  # noqa: ARG002
        """The relevant items of all users, each at any rank of the whole list."""
        entries = sum(int(one.mean_items) for one in self._sets.given)
        blocks = row_blocks(self.n_users, _ENTRIES // max(1, entries), 1)
        return join([_tied(rows, self._sets, self.n_items) for rows in blocks])


def measure_tied(
    ground_truth: Any, specs: Mapping[str, MetricSpec], options: CallOptions, n_items: int | None
) -> dict[str, UserValues]:
    """Measure a scorer that gives all items one score, under ``options.ties``."""
    sets, n_items = read_whole_sets(ground_truth, options.exclude, options.candidates, n_items)
    return measure(TiedInputs(sets, n_items), specs, Side(), options)


def _tied(rows: slice, sets: UserSets, n_items: int) -> TopK:
    """The record of some users in which all that may be recommended is one tie group."""
    relevant = sets.truth.rows(rows)
    chosen = np.ones(len(relevant.items), bool)
    pool = np.full(rows.stop - rows.start, n_items)
    excluded = None if sets.exclude is None else sets.exclude.rows(rows)
    if sets.candidates is not None:
        listed = sets.candidates.rows(rows)
        if excluded is not None:
            listed = listed.keep(~listed.among(excluded, n_items))
        chosen = relevant.among(listed, n_items)
        pool = np.diff(listed.start)
    elif excluded is not None:
        chosen = ~relevant.among(excluded, n_items)
        pool = n_items - np.diff(excluded.start)
    hits = relevant.keep(chosen)
    n_hits, users = np.diff(hits.start), hits.users()
    of_user: IntArray = np.arange(len(users)) - hits.start[users]
    slots = relevant.start[users] + of_user
    top = empty_topk(relevant.start, relevant.values, ties=True)
    top.rank[slots] = of_user + 1
    top.first[slots] = 1
    top.last[slots] = pool[users]
    top.gain[slots] = hits.values
    return top._replace(n_hits=n_hits, n_listed=pool)
