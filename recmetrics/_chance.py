"""What a number can be compared with: the chance level, and the best that is possible.

Both are tie policies. A scorer that knows nothing gives one score to all items: its expectation
over the orders of ties is the expectation of a random ranking, its best order the best ranking. So
the record of such a scorer is made, from counts alone, and measured as any other.
"""

import operator
from collections.abc import Mapping, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, ShapeError
from recmetrics._inputs import as_array, row_blocks
from recmetrics._itemsets import ItemSets, Rows, read_candidates, read_exclude, read_truth
from recmetrics._lists import ListReader
from recmetrics._measure import measure
from recmetrics._options import CallOptions, UserValues
from recmetrics._side import Side
from recmetrics._spec import MetricSpec
from recmetrics._topk import IntArray, TopK, empty_topk, join

_ENTRIES = 1 << 22  # of dense matrices, read at once


def measure_tied(
    ground_truth: Any, specs: Mapping[str, MetricSpec], options: CallOptions, n_items: int | None
) -> dict[str, UserValues]:
    """Measure a scorer that gives all items one score, under ``options.ties``."""
    n_users = _count_users(ground_truth)
    told = getattr(ground_truth, "shape", ())[1:]
    if n_items is not None and told and told != (n_items,):
        msg = f"truth has {told[0]} items, got n_items={n_items!r}; leave n_items out"
        raise ShapeError(msg)
    truth = read_truth(ground_truth, (n_users, _checked(n_items)))
    if truth.n_items is None:
        msg = "n_items= is needed where truth lists item indices, got none; type n_items=len(items)"
        raise ArgumentError(msg)
    shape = (n_users, truth.n_items)
    exclude = read_exclude(options.exclude, shape)
    candidates = read_candidates(options.candidates, shape)
    sets = [one for one in (truth, exclude, candidates) if one is not None]
    entries = sum(int(one.mean_items) for one in sets)
    blocks = row_blocks(n_users, _ENTRIES // max(1, entries), 1)
    top = join([_tied(rows, truth, exclude, candidates, shape[1]) for rows in blocks])
    return measure(top, ListReader((), Side(), *shape), specs, shape[1], options)


def _count_users(truth: Any) -> int:
    shape = getattr(truth, "shape", ())
    if shape:
        return int(shape[0])
    return len(truth if isinstance(truth, Sized) else as_array(truth, "truth"))


def _checked(n_items: Any) -> int | None:
    try:
        count = None if n_items is None else operator.index(n_items)
    except TypeError:
        count = -1
    if isinstance(n_items, bool) or (count is not None and count < 0):
        msg = f"n_items must be a number of items, such as 3700, got {n_items!r}"
        raise ArgumentError(msg)
    return count


def _tied(
    rows: slice,
    truth: ItemSets,
    exclude: ItemSets | None,
    candidates: ItemSets | None,
    n_items: int,
) -> TopK:
    """The record of some users in which all that may be recommended is one tie group."""
    relevant = truth.rows(rows)
    chosen = np.ones(len(relevant.items), bool)
    pool = np.full(rows.stop - rows.start, n_items)
    excluded = None if exclude is None else exclude.rows(rows)
    if candidates is not None:
        listed = candidates.rows(rows)
        if excluded is not None:
            listed = listed.keep(~_among(listed, excluded, n_items))
        chosen = _among(relevant, listed, n_items)
        pool = np.diff(listed.start)
    elif excluded is not None:
        chosen = ~_among(relevant, excluded, n_items)
        pool = n_items - np.diff(excluded.start)
    hits = relevant.keep(chosen)
    n_hits, users = np.diff(hits.start), hits.users()
    of_user: IntArray = np.arange(len(users)) - hits.start[users]
    slots = relevant.start[users] + of_user
    top = empty_topk(relevant.start, relevant.values)
    top.rank[slots] = of_user + 1
    top.first[slots] = 1
    top.last[slots] = pool[users]
    top.gain[slots] = hits.values
    return top._replace(n_hits=n_hits, n_listed=pool)


def _among(rows: Rows, others: Rows, n_items: int) -> npt.NDArray[np.bool_]:
    """Which of the items of each user are among the others of the user."""
    keys = others.users() * n_items + others.items
    return np.isin(rows.users() * n_items + rows.items, keys, kind="sort")
