"""From lists and truth to values, through the kernels of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.inputs import ItemSets, Rankings, Rows, UserIndex, Users, read_side
from recmetrics._core.results import RowNames, measured, settled
from recmetrics._core.selection import find_hits
from recmetrics._core.spec import Definition, MetricSpec, Request, define
from recmetrics._core.types import IntArray, UserValues
from recmetrics.tables._frames import keyed, slicer, take
from recmetrics.tables._matching import ListsAndTruth


@dataclass(frozen=True)
class FunctionMetric:
    """A metric that is a function of the tables of one list."""

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class StringMetric:
    """A metric that the kernels compute."""

    name: str
    spec: MetricSpec
    of_presence: bool = False  # every item of the truth is relevant, whatever its rating
    at_ranks: bool = True  # it reads the ranks where they are kept, not the order alone
    without_truth: float | None = None  # the value of a list without truth; None: the kernel's
    without_items: float | None = None  # of a list without an item to rank k


TableMetric = FunctionMetric | StringMetric


class _TruthOfLists(ItemSets):
    """The truth of each list; lists of one user share it."""

    def __init__(self, rows: Rows, truth_of: IntArray, n_items: int | None) -> None:
        sizes = np.diff(rows.start)[truth_of]
        super().__init__(len(truth_of), n_items, float(sizes.mean()) if len(sizes) else 0.0)
        self._rows, self._truth_of = rows, truth_of

    def take(self, users: UserIndex) -> _TruthOfLists:
        return _TruthOfLists(self._rows, self._truth_of[users], self.n_items)

    def rows(self, block: slice) -> Rows:
        return self._rows.take(self._truth_of[block])


def measure_lists(
    both: ListsAndTruth,
    asked: Sequence[TableMetric],
    given: Mapping[str, Any] | None = None,
    rules: Request | None = None,
    n_items: int | None = None,
    systems: IntArray | None = None,
) -> dict[str, UserValues]:
    """Compute every metric for every list, in the order given.

    ``given`` is side information as ``Metrics.compute_ranked`` takes it, ``rules`` those of the
    call. ``n_items`` is the size of the catalogue, None where unknown. ``systems`` is the number
    of the system of each list, None where there is one: a metric of all lists has one value for
    each, repeated for its lists.
    """
    # Metrics that read the same lists and the same truth are computed together.
    of_kind: dict[tuple[bool, bool, bool], dict[str, Definition]] = {}
    has_zeros = not np.all(both.truth_rows.values)
    values: dict[str, UserValues] = {}
    for one in asked:
        if isinstance(one, FunctionMetric):
            values[one.name] = _of_function(both, one)
        else:
            at_ranks = one.at_ranks and both.lists.ranks is not None
            by_system = systems is not None and not one.spec.metric.per_user
            kind = one.of_presence and has_zeros, by_system, at_ranks
            definition = define(one.spec) if rules is None else rules.definitions[one.name]
            of_kind.setdefault(kind, {})[one.name] = definition
    names, n_lists = RowNames("list", both.key_of), len(both.truth_of)
    for (of_presence, by_system, at_ranks), definitions in of_kind.items():
        request = Request.of(definitions, rules)
        rows = both.truth_rows
        if of_presence:
            rows = rows._replace(values=np.ones(len(rows.values)))
        elif has_zeros:
            rows = rows.keep(rows.values != 0.0)
        truth = _TruthOfLists(rows, both.truth_of, n_items)
        lists = both.lists
        rankings = Rankings(lists if at_ranks else lists._replace(ranks=None, reach=None))
        side = read_side(request.of_side, given or {}, n_lists, n_items)
        users = Users(truth, side=side, n_items=n_items)
        found = {text: np.empty(n_lists) for text in definitions}
        parts: list[tuple[UserIndex, Rankings, Users]] = [(slice(0, n_lists), rankings, users)]
        if systems is not None and by_system:
            owns = [np.flatnonzero(systems == system) for system in np.unique(systems)]
            parts = [(own, rankings.take(own), users.take(own)) for own in owns]
        for own, its_rankings, its_users in parts:
            hits = find_hits(its_rankings, its_users, request)
            for text, value in measured(hits, request).items():
                found[text][own] = value  # a metric of all lists has one value for all of them
        for text, definition in definitions.items():
            settled(found[text], text, definition, rows=names)
        values |= found
    for one in asked:
        if isinstance(one, StringMetric):
            _settle_empty(values[one.name], one, both)
    return {one.name: values[one.name] for one in asked}


def _settle_empty(values: UserValues, asked: StringMetric, both: ListsAndTruth) -> None:
    if asked.without_truth is not None:
        values[both.truth_sizes == 0] = asked.without_truth
    if asked.without_items is not None:
        is_empty = both.lengths == 0
        if asked.spec.k is not None and both.lists.ranks is not None:
            first = np.append(both.lists.ranks, 0)[both.lists.start[:-1]]  # ranks ascend in a list
            is_empty |= first > asked.spec.k
        values[is_empty] = asked.without_items


def _of_function(both: ListsAndTruth, asked: FunctionMetric) -> UserValues:
    """Call a function of the tables of one list for each list; a loop in Python."""
    recs = slicer(take(both.recs, both.order).to_native())
    truth = slicer(keyed(take(both.truth, both.truth_order), [both.columns.item]))
    values = np.zeros(len(both.truth_of))
    starts, truth_starts = both.lists.start.tolist(), both.truth_rows.start.tolist()
    for one, key in enumerate(both.truth_of.tolist()):
        first, last = truth_starts[key], truth_starts[key + 1]
        if first == last:
            values[one] = nan
        elif starts[one] < starts[one + 1]:
            tables = recs(starts[one], starts[one + 1]), truth(first, last)
            answer = asked.function(*tables, **asked.options)
            try:
                values[one] = nan if answer is None else float(answer)
            except (TypeError, ValueError, OverflowError):
                msg = (
                    f"metric {asked.name!r} returned {answer!r:.80} for {both.key_of(one)}, "
                    "expected a number, or None if it is undefined"
                )
                raise ArgumentError(msg) from None
    return values
