"""From lists and truth to values, through the kernels of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._inputs import FlatLists, ItemSets, Rankings, Rows, UserIndex, Users, read_side
from recmetrics._results import measured, settled
from recmetrics._selection import find_hits
from recmetrics._spec import Definition, MetricSpec, Request, define
from recmetrics._types import IntArray, UserValues
from recmetrics.tables._frames import slicer, take
from recmetrics.tables._problem import Gaps, Problem


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


class _Kind(NamedTuple):
    """The metrics that are computed together, from the same lists and the same truth."""

    of_presence: bool
    of_system: bool
    at_ranks: bool


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


def measure_problem(
    problem: Problem,
    asked: Sequence[TableMetric],
    given: Mapping[str, Any] | None = None,
    rules: Request | None = None,
    n_items: int | None = None,
    systems: IntArray | None = None,
) -> dict[str, UserValues]:
    """Compute every metric for every list of ``problem``, in the order given.

    ``given`` is side information as ``Metrics.compute_ranked`` takes it, ``rules`` those of the
    call. ``n_items`` is the size of the catalogue, None where unknown. ``systems`` is the number
    of the system of each list: a metric of all lists has one value for each, repeated for its
    lists.
    """
    of_kind: dict[_Kind, dict[str, Definition]] = {}
    has_zeros = not np.all(problem.truth_rows.values)
    values: dict[str, UserValues] = {}
    for one in asked:
        if isinstance(one, FunctionMetric):
            values[one.name] = _of_function(problem, one)
        else:
            spec, at_ranks = one.spec, one.at_ranks and problem.gaps.ranks is not None
            kind = _Kind(one.of_presence and has_zeros, not spec.metric.per_user, at_ranks)
            of_kind.setdefault(kind, {})[one.name] = define(one.spec)
    for kind, definitions in of_kind.items():
        request = Request.of(definitions, rules)
        truth = _TruthOfLists(
            _relevant(problem.truth_rows, kind.of_presence), problem.truth_of, n_items
        )
        gaps = problem.gaps if kind.at_ranks else Gaps()
        rankings = Rankings(FlatLists(problem.items, problem.start, gaps.ranks, gaps.reach))
        side = read_side(request.of_side, given or {}, problem.n_lists, n_items)
        users = Users(truth, side=side, n_items=n_items)
        if kind.of_system and systems is not None:
            found = {text: np.empty(problem.n_lists) for text in definitions}
            for system in np.unique(systems):  # its one value is repeated for all its lists
                own = np.flatnonzero(systems == system)
                hits = find_hits(rankings.take(own), users.take(own), request)
                for text, value in measured(hits, request).items():
                    found[text][own] = value
        else:
            found = measured(find_hits(rankings, users, request), request)
        if rules is None:  # else the caller settles what is undefined, by the rules of its call
            for text, definition in definitions.items():
                settled(found[text], text, definition)
        values |= found
    for one in asked:
        if isinstance(one, StringMetric):
            _settle_empty(values[one.name], one, problem)
    return {one.name: values[one.name] for one in asked}


def _settle_empty(values: UserValues, asked: StringMetric, problem: Problem) -> None:
    """Set the values of lists without truth, and of lists without an item in the top k."""
    if asked.without_truth is not None:
        values[problem.truth_sizes == 0] = asked.without_truth
    if asked.without_items is not None:
        is_empty = np.diff(problem.start) == 0
        if asked.spec.k is not None and problem.gaps.ranks is not None:
            first = np.append(problem.gaps.ranks, 0)[problem.start[:-1]]  # ranks ascend in a list
            is_empty |= first > asked.spec.k
        values[is_empty] = asked.without_items


def _relevant(rows: Rows, of_presence: bool) -> Rows:
    if of_presence:
        return rows._replace(values=np.ones(len(rows.values)))
    return rows if np.all(rows.values) else rows.keep(rows.values != 0.0)


def _of_function(problem: Problem, asked: FunctionMetric) -> UserValues:
    """Call a function of the tables of one list for each list; a loop in Python."""
    recs = slicer(take(problem.recs, problem.order))
    truth = slicer(take(problem.truth, problem.truth_order), problem.columns.item)
    values = np.zeros(problem.n_lists)
    starts, truth_starts = problem.start.tolist(), problem.truth_rows.start.tolist()
    for one, key in enumerate(problem.truth_of.tolist()):
        first, last = truth_starts[key], truth_starts[key + 1]
        if first == last:
            values[one] = nan
        elif starts[one] < starts[one + 1]:
            answer = asked.function(
                recs(starts[one], starts[one + 1]), truth(first, last), **asked.options
            )
            values[one] = _number(answer, asked.name, problem, one)
    return values


def _number(answer: Any, name: str, problem: Problem, one: int) -> float:
    try:
        return nan if answer is None else float(answer)
    except (TypeError, ValueError, OverflowError):
        msg = (
            f"metric {name!r} returned {answer!r:.80} for {problem.key_of(one)}, expected a "
            "number, or None if it is undefined"
        )
        raise ArgumentError(msg) from None
