"""From lists and truth to values, through the kernels of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._itemsets import Chosen, ItemSets, Rows, UserSets
from recmetrics._measure import measure
from recmetrics._options import CallOptions, UserValues
from recmetrics._ranking import RankedInputs
from recmetrics._side import read_side, require_side
from recmetrics._spec import MetricSpec
from recmetrics._topk import IntArray
from recmetrics.tables._frames import slicer, take
from recmetrics.tables._numbering import fill_ranking
from recmetrics.tables._problem import Problem

_PADDED = 4  # entries of a matrix of rankings per item listed, beyond which lists go by length
_ALWAYS = 1 << 22  # entries that such a matrix may have in any case


@dataclass(frozen=True)
class ByFunction:
    """A metric that is a function of the tables of one list."""

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class BySpec:
    """A metric that the kernels compute."""

    name: str
    spec: MetricSpec
    of_presence: bool = False  # every item of the truth is relevant, whatever its rating
    without_truth: float = nan


Asked = ByFunction | BySpec


class _TruthOfLists(ItemSets):
    """The truth of each list; lists of one user share it."""

    def __init__(self, rows: Rows, truth_of: IntArray, n_items: int | None) -> None:
        sizes = np.diff(rows.start)[truth_of]
        super().__init__(len(truth_of), n_items, float(sizes.mean()) if len(sizes) else 0.0)
        self._rows, self._truth_of = rows, truth_of

    def take(self, users: Chosen) -> _TruthOfLists:
        return _TruthOfLists(self._rows, self._truth_of[users], self.n_items)

    def rows(self, block: slice) -> Rows:
        return self._rows.take(self._truth_of[block])


def measure_problem(
    problem: Problem,
    asked: Sequence[Asked],
    options: CallOptions | None = None,
    n_items: int | None = None,
    systems: IntArray | None = None,
) -> dict[str, UserValues]:
    """Every metric for every list of ``problem``, in the order asked.

    ``n_items`` is the size of the catalogue, or None where nothing tells it. ``systems`` says which
    lists belong together: a system metric has one value for all of them, repeated.
    """
    options = CallOptions() if options is None else options
    of_kind: dict[tuple[bool, bool], dict[str, MetricSpec]] = {}
    has_zeros = not np.all(problem.truth_rows.values)
    values: dict[str, UserValues] = {}
    for one in asked:
        if isinstance(one, ByFunction):
            values[one.name] = _of_function(problem, one)
        else:
            kind = (one.of_presence and has_zeros, one.spec.metric.kind == "system")
            of_kind.setdefault(kind, {})[one.name] = one.spec
    for (of_presence, of_system), specs in of_kind.items():
        require_side(specs, options)
        truth = _TruthOfLists(_relevant(problem.truth_rows, of_presence), problem.truth_of, n_items)
        if of_system and systems is not None:
            groups = _systems(systems, options)
        else:
            groups = _lengths(problem, specs, options)
        values |= _of_groups(problem, truth, specs, groups, n_items)
    no_truth = problem.truth_sizes == 0
    for one in asked:
        if isinstance(one, BySpec):
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
    specs: Mapping[str, MetricSpec],
    groups: Iterable[tuple[IntArray, CallOptions]],
    n_items: int | None,
) -> dict[str, UserValues]:
    """The values of all lists, computed for the lists of each group together."""
    values = {name: np.empty(problem.n_lists) for name in specs}
    for chosen, options in groups:
        ranking = _ranking(problem, chosen, specs.values())
        found = _compute(ranking, truth.take(chosen), specs, options, n_items)
        for name, value in found.items():
            values[name][chosen] = value
    return values


def _systems(systems: IntArray, options: CallOptions) -> Iterator[tuple[IntArray, CallOptions]]:
    """The lists of each system, whose one value is repeated for all of them."""
    for system in np.unique(systems):
        yield np.flatnonzero(systems == system), options


def _lengths(
    problem: Problem, specs: Mapping[str, MetricSpec], options: CallOptions
) -> Iterator[tuple[IntArray, CallOptions]]:
    """The lists of similar length, and the profiles of their users."""
    profile: Any = options.profile  # a dense matrix with one row per list
    for chosen in _of_similar_length(problem, specs.values()):
        yield chosen, replace(options, profile=None if profile is None else profile[chosen])


def _of_similar_length(problem: Problem, specs: Iterable[MetricSpec]) -> list[IntArray]:
    """The lists, apart by length where one matrix of rankings would be mostly padding."""
    lengths = np.minimum(np.diff(problem.start), _depth(specs))
    padded = len(lengths) * int(lengths.max(initial=0))
    if padded <= max(_ALWAYS, _PADDED * int(lengths.sum())):
        return [np.arange(len(lengths))]
    doubled = np.frexp(lengths)[1]
    return [np.flatnonzero(doubled == power) for power in np.unique(doubled)]


def _depth(specs: Iterable[MetricSpec]) -> int:
    """How much of a list is read; a metric without a cutoff reads all."""
    whole = np.iinfo(np.int64).max
    return max(whole if spec.k is None else spec.k for spec in specs)


def _ranking(problem: Problem, chosen: IntArray, specs: Iterable[MetricSpec]) -> IntArray:
    lengths = np.diff(problem.start)[chosen]
    width = min(int(lengths.max(initial=0)), _depth(specs))
    ranking = np.empty((len(chosen), width), np.int64)
    fill_ranking(problem.start, problem.items, chosen, ranking)
    return ranking


def _compute(
    ranking: IntArray,
    truth: _TruthOfLists,
    specs: Mapping[str, MetricSpec],
    options: CallOptions,
    n_items: int | None,
) -> dict[str, UserValues]:
    """``Metrics.compute_ranked``, for a catalogue that may be larger than all that is named."""
    inputs = RankedInputs(ranking, UserSets(truth))
    side = read_side(specs.values(), options, inputs.n_users, n_items)
    return measure(inputs, specs, side, options)


def _of_function(problem: Problem, asked: ByFunction) -> UserValues:
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
    except (TypeError, ValueError):
        msg = (
            f"metric {name!r} gave {answer!r:.80} for {problem.key_of(one)}, expected a number, or "
            "None where it is undefined"
        )
        raise ArgumentError(msg) from None
