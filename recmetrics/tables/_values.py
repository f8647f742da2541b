"""From lists and truth to values, through the kernels of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._inputs import ItemSets, Rankings, Rows, UserIndex, Users, read_side
from recmetrics._results import measured
from recmetrics._selection import find_hits
from recmetrics._spec import Definition, MetricSpec, Request, define
from recmetrics._types import IntArray, UserValues
from recmetrics.tables._frames import slicer, take
from recmetrics.tables._numbering import fill_ranking
from recmetrics.tables._problem import Problem

_PADDED = 4  # entries of a matrix of rankings per item, beyond which lists are split by length
_ALWAYS = 1 << 22  # entries that such a matrix may have in any case


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
    without_truth: float = nan


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
    of the system of each list: a system metric has one value for each, repeated for its lists.
    """
    of_kind: dict[tuple[bool, bool], dict[str, Definition]] = {}
    has_zeros = not np.all(problem.truth_rows.values)
    values: dict[str, UserValues] = {}
    for one in asked:
        if isinstance(one, FunctionMetric):
            values[one.name] = _of_function(problem, one)
        else:
            kind = (one.of_presence and has_zeros, not one.spec.metric.per_user)
            of_kind.setdefault(kind, {})[one.name] = define(one.spec)
    for (of_presence, of_system), definitions in of_kind.items():
        request = Request.of(definitions, rules)
        truth = _TruthOfLists(_relevant(problem.truth_rows, of_presence), problem.truth_of, n_items)
        if of_system and systems is not None:
            groups = _systems(systems, given or {})
        else:
            groups = _lengths(problem, request, given or {})
        values |= _of_groups(problem, truth, request, groups, n_items)
    no_truth = problem.truth_sizes == 0
    for one in asked:
        if isinstance(one, StringMetric):
            found = values[one.name]
            found[no_truth & np.isnan(found)] = one.without_truth
    return {one.name: values[one.name] for one in asked}


def _relevant(rows: Rows, of_presence: bool) -> Rows:
    if of_presence:
        return rows._replace(values=np.ones(len(rows.values)))
    return rows if np.all(rows.values) else rows.keep(rows.values != 0.0)


def _of_groups(
    problem: Problem,
    truth: _TruthOfLists,
    request: Request,
    groups: Iterable[tuple[IntArray, Mapping[str, Any]]],
    n_items: int | None,
) -> dict[str, UserValues]:
    """Compute the values of all lists, group by group."""
    values = {text: np.empty(problem.n_lists) for text in request.definitions}
    for chosen, given in groups:
        ranking = _ranking(problem, chosen, request)
        found = _compute(ranking, truth.take(chosen), request, given, n_items)
        for text, value in found.items():
            values[text][chosen] = value
    return values


def _systems(
    systems: IntArray, given: Mapping[str, Any]
) -> Iterator[tuple[IntArray, Mapping[str, Any]]]:
    """The lists of each system, whose one value is repeated for all of them."""
    for system in np.unique(systems):
        yield np.flatnonzero(systems == system), given


def _lengths(
    problem: Problem, request: Request, given: Mapping[str, Any]
) -> Iterator[tuple[IntArray, Mapping[str, Any]]]:
    """The lists of similar length, and the profiles of their users."""
    profile: Any = given.get("profile")  # a dense matrix with one row per list
    for chosen in _of_similar_length(problem, request):
        yield chosen, {**given, "profile": None if profile is None else profile[chosen]}


def _of_similar_length(problem: Problem, request: Request) -> list[IntArray]:
    """Split the lists by length where one matrix of rankings would be mostly padding."""
    lengths = np.minimum(np.diff(problem.start), _depth(request))
    padded = len(lengths) * int(lengths.max(initial=0))
    if padded <= max(_ALWAYS, _PADDED * int(lengths.sum())):
        return [np.arange(len(lengths))]
    doubled = np.frexp(lengths)[1]
    return [np.flatnonzero(doubled == power) for power in np.unique(doubled)]


def _depth(request: Request) -> int:
    """The length read of a list; a metric without a cutoff reads all."""
    whole = np.iinfo(np.int64).max
    return max(whole if d.spec.k is None else d.spec.k for d in request.definitions.values())


def _ranking(problem: Problem, chosen: IntArray, request: Request) -> IntArray:
    lengths = np.diff(problem.start)[chosen]
    width = min(int(lengths.max(initial=0)), _depth(request))
    ranking = np.empty((len(chosen), width), np.int64)
    fill_ranking(problem.start, problem.items, chosen, ranking)
    return ranking


def _compute(
    ranking: IntArray,
    truth: _TruthOfLists,
    request: Request,
    given: Mapping[str, Any],
    n_items: int | None,
) -> dict[str, UserValues]:
    """Compute as ``Metrics.compute_ranked`` does, for a catalogue of any size."""
    specs = (definition.spec for definition in request.of_lists.values())
    side = read_side(specs, given, len(ranking), n_items)
    users = Users(truth, side=side, n_items=n_items)
    return measured(find_hits(Rankings(ranking), users, request), request)


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
            f"metric {name!r} gave {answer!r:.80} for {problem.key_of(one)}, expected a number, or "
            "None where it is undefined"
        )
        raise ArgumentError(msg) from None
