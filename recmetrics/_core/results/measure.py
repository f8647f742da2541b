"""Hits -> one array of values per metric string.

A ``Selection`` holds the hits of a call or of a batch: the rank and the gain of each relevant item
in its user's list. A ``Request`` holds the metrics, each with its definition. An ``Exposures``
counts how often each item is in a list.
"""

import functools
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from recmetrics._core.inputs import InvalidItems
from recmetrics._core.jit import add_work, while_compiling
from recmetrics._core.results.notes import (
    Missing,
    advice_for,
    left_out,
    notes_on_users,
    warn_of_swallowed,
    why_undefined,
)
from recmetrics._core.results.settle import ROWS_ARE_USERS, RowNames, settled
from recmetrics._core.selection import (
    WHOLE_LIST,
    Exposures,
    Selection,
    Slots,
    Views,
    empty_hits,
    hits_of_slots,
)
from recmetrics._core.spec import Cutoffs, Request
from recmetrics._core.threads import map_blocks, row_blocks
from recmetrics._core.types import FloatArray, UserValues

_METRIC_TIME = 1.0  # microseconds of Python for a metric of a user, and for each hit, see ``jit``

# The work, (users / 8 + hits) x metrics, from which threads pay off. Less work is done before two
# threads share the GIL.
_MIN_THREADED_WORK = 1 << 17
# At most so many users are in a block, whose hits all metrics read in turn. Each thread has as many
# blocks as another: small ones, taken as threads become free, spend more time waiting for the GIL
# than on metrics.
_MAX_BLOCK_USERS = 1 << 16


def values_of(
    selection: Selection, request: Request, rows: RowNames = ROWS_ARE_USERS
) -> dict[str, UserValues]:
    """Compute the values of a whole call by metric string.

    Warns if ``exclude`` holds all relevant items of too many users, who are called swallowed.
    Under ``progress=True``, notes on the values go to standard error. ``rows`` are the names of the
    rows in errors.
    """
    if selection.n_swallowed_users:
        warn_of_swallowed(*selection.swallowed())
    if request.progress is not True:
        return whole_values(selection, request, rows)

    @functools.cache  # printed once, however often Numba compiles
    def announce(is_beginning: bool) -> None:
        if is_beginning:
            print("compiling the metrics", file=sys.stderr)  # noqa: T201  # below the progress bar

    with while_compiling(announce):
        values = whole_values(selection, request, rows)
    if selection.n_invalid is not None:
        print(InvalidItems.of(selection.n_invalid), file=sys.stderr)  # noqa: T201
    for note in (*_notes_on_means(values, request), *notes_on_users(selection, request)):
        print(note, file=sys.stderr)  # noqa: T201
    return values


def whole_values(
    selection: Selection, request: Request, rows: RowNames = ROWS_ARE_USERS
) -> dict[str, UserValues]:
    """Compute the values of all users of a call at once, with ``undefined=`` applied."""
    values = measured(selection, request)
    definitions = request.definitions
    return {text: settled(values[text], text, definitions[text], rows=rows) for text in values}


def _notes_on_means(values: Mapping[str, UserValues], request: Request) -> Iterator[str]:
    """Say which users the means leave out, and advise how to count them."""
    missing = []
    specs_with_missing = []
    for text in request.per_user:
        spec = request.definitions[text].spec
        n_missing = int(np.isnan(values[text]).sum())
        missing.append(Missing(text, n_missing, values[text].size, why_undefined(spec)))
        if n_missing:
            specs_with_missing.append(spec)
    yield from left_out(missing)
    yield from advice_for(specs_with_missing)


def measured(selection: Selection, request: Request) -> dict[str, UserValues]:
    """Compute all metrics of a request, NaN where they are undefined.

    Metrics of all lists are among them where ``selection`` has the counts of all lists.
    """
    values = user_values(selection, request)
    if isinstance(selection.exposure, Exposures):
        values |= system_values(selection.exposure, request, selection.cutoffs)
    return {text: values[text] for text in request.definitions}


def ranks_of(
    selection: Selection, request: Request
) -> "sp.csr_array[np.float64]":  # old SciPy takes no []
    """Give the rank of each relevant item as a matrix (n_users, n_items), inf if it is in no list.

    ``selection`` was found ``with_slots``, which say which relevant item each hit is. ``request``
    has one metric, whose tie policy decides the rank of tied items.
    """
    if selection.n_swallowed_users:
        warn_of_swallowed(*selection.swallowed())
    hits = selection.hits
    slots = cast(Slots, selection.slots)
    (definition,) = request.definitions.values()
    ranks: Any = hits.rank
    if definition.ties == "expected":
        ranks = 0.5 * (hits.first + hits.last)
    elif definition.ties == "best":
        ranks = hits.first
    elif definition.ties == "worst":
        ranks = hits.last

    # Hits are in the order of their ranks: ``place`` is that of a hit in the truth of its user.
    user_of_slot, is_hit = hits_of_slots(hits)
    truth_places = hits.start[user_of_slot[is_hit]] + slots.place[is_hit]
    rank_of_item = np.full(len(slots.items), np.inf)
    rank_of_item[truth_places] = ranks[is_hit]
    shape = len(hits.n_hits), selection.cutoffs.n_items or 0
    return sp.csr_array((rank_of_item, slots.items.copy(), hits.start.copy()), shape=shape)


def user_values(selection: Selection, request: Request) -> dict[str, UserValues]:
    """Compute the user metrics of a request, (n_users,) each, NaN where they are undefined."""
    n_users = len(selection.hits.n_hits)
    n_hits = int(selection.hits.n_hits.sum())
    add_work(_METRIC_TIME * (n_users + n_hits) * len(request.of_hits))
    everyone = Views(selection.hits, selection.slots, selection.cutoffs.ideal)
    values = dict(selection.list_values)
    # One array: the pages of many take longer to come by than the metrics of users without hits.
    values.update(zip(request.of_hits, np.empty((len(request.of_hits), n_users)), strict=True))

    def measure(views: Views, rows: slice) -> None:
        """Compute the metrics of the users in ``rows``, whose hits are ``views``."""
        kernel_calls = []
        for text, (spec, ties, _) in request.of_hits.items():
            k = selection.cutoffs.of[text]
            view = views.view(ties, k, spec.measured_values, spec.stratum)
            if spec.metric.check_truth is not None:
                spec.metric.check_truth(view, spec.values)
            cutoff = WHOLE_LIST if k is None else k
            kernel_calls.append((spec, view, cutoff, values[text][rows]))
        for spec, view, cutoff, out in kernel_calls:
            out[:] = view.blank  # kernels may pass over users without hits
            spec.metric.kernel(view, cutoff, out, *spec.kernel_arguments)

    work = (n_users // 8 + n_hits) * len(request.of_hits)
    if work < _MIN_THREADED_WORK:
        measure(everyone, slice(n_users))
    else:
        # In one thread, metrics took a third of a call with 30 of them and 10,000 users. Blocks of
        # users, rather than metrics, keep all threads busy, and hits in cache for the next metric.
        for text, (spec, _, _) in request.of_hits.items():
            # A discount may be a function of the caller. This thread calls it, and keeps its
            # weights.
            if "discount" in spec.values:
                everyone.discount(selection.cutoffs.of[text], spec.values)
        n_threads = request.threads
        n_blocks = n_threads * max(1, math.ceil(n_users / (n_threads * _MAX_BLOCK_USERS)))
        blocks = row_blocks(n_users, math.ceil(n_users / n_blocks))
        map_blocks(lambda rows: measure(everyone.part(rows), rows), blocks, n_threads)
    add_work(selection.unexpected_work)
    return values


def user_rows(selection: Selection, request: Request) -> FloatArray:
    """The values of the user metrics as one array, (metrics, users)."""
    values = user_values(selection, request)
    rows = [values[text] for text in request.per_user]
    if not rows:
        return np.empty((0, len(selection.hits.n_hits)))
    return np.stack(rows)


def system_values(exposure: Exposures, request: Request, cutoffs: Cutoffs) -> dict[str, UserValues]:
    """Compute the system metrics of a request from all lists added to ``exposure``.

    Each has one value for all users, an array of shape ().
    """
    values = {}
    for text, (spec, _, _) in request.of_exposure.items():
        k = cutoffs.of[text]
        if k is None:  # the whole list
            k = cutoffs.n_items or 0
        values[text] = np.array(spec.metric.kernel(exposure.at(k), *spec.kernel_arguments))
    return values


def check_truth(relevance: FloatArray, request: Request, cutoffs: Cutoffs) -> None:
    """Refuse relevances that a metric of the request cannot be computed with.

    ``relevance`` are those of the relevant items of all users. No user need be ranked.
    """
    # The checks read only the largest relevance. Without users, no discount is asked for.
    largest = relevance.max(initial=0.0, keepdims=True)
    no_hits = empty_hits(np.zeros(1, np.int64), np.empty(0), ties=False)
    views = Views(no_hits._replace(ideal=largest))
    for text, (spec, _, _) in request.of_hits.items():
        view = views.view("index", cutoffs.of[text], spec.measured_values)
        if spec.metric.check_truth is not None:
            spec.metric.check_truth(view, spec.values)
