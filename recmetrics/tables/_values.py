"""From lists and truth to values, through the kernels of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._inputs import ItemSets, Rankings, Rows, UserIndex, Users, read_side
from recmetrics._results import measured, settled
from recmetrics._selection import find_hits
from recmetrics._spec import Definition, MetricSpec, Request, define
from recmetrics._types import IntArray, UserValues
from recmetrics.tables._frames import slicer, take
from recmetrics.tables._numbering import fill_ranking
from recmetrics.tables._problem import Gaps, Problem

_PADDED = 4  # entries of a matrix of rankings per item, beyond which lists are split by length
_ALWAYS = 1 << 22  # entries that such a matrix may have in any case
_WHOLE = int(np.iinfo(np.int64).max)  # the length read of a list by a metric without a cutoff


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
        lists = _Lists(problem, _depth(request), problem.gaps if kind.at_ranks else Gaps())
        if kind.of_system and systems is not None:
            groups = _systems(systems, given or {})
        else:
            groups = _lengths(lists, given or {})
        found = _of_groups(lists, truth, request, groups, n_items)
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
        depth = _WHOLE if asked.spec.k is None else asked.spec.k
        values[_Lists(problem, depth, problem.gaps).lengths == 0] = asked.without_items


def _relevant(rows: Rows, of_presence: bool) -> Rows:
    if of_presence:
        return rows._replace(values=np.ones(len(rows.values)))
    return rows if np.all(rows.values) else rows.keep(rows.values != 0.0)


class _Lists:
    """The lists of a problem to rank ``depth``; ``gaps`` has the ranks where they are kept."""

    def __init__(self, problem: Problem, depth: int, gaps: Gaps) -> None:
        self._start, self._items = problem.start, problem.items
        self._depth, self._ranks, self._reach = depth, gaps.ranks, gaps.reach
        ranks = gaps.ranks
        if ranks is None:
            self.lengths = np.minimum(np.diff(problem.start), depth)
        else:
            inside = np.append(0, np.cumsum(ranks <= depth))
            self.lengths = inside[problem.start[1:]] - inside[problem.start[:-1]]

    def rankings(self, chosen: IntArray) -> Rankings:
        """Give some of the lists as rankings."""
        lists = self._matrix(self._items, chosen)
        if self._ranks is None or self._reach is None:
            return Rankings(lists)
        ranks = self._matrix(self._ranks, chosen)
        beyond = ranks > self._depth
        lists[beyond] = ranks[beyond] = -1
        return Rankings(lists, ranks=ranks, reach=self._reach[chosen])

    def _matrix(self, values: IntArray, chosen: IntArray) -> IntArray:
        matrix = np.empty((len(chosen), int(self.lengths[chosen].max(initial=0))), np.int64)
        fill_ranking(self._start, values, chosen, matrix)
        return matrix


def _of_groups(
    lists: _Lists,
    truth: _TruthOfLists,
    request: Request,
    groups: Iterable[tuple[IntArray, Mapping[str, Any]]],
    n_items: int | None,
) -> dict[str, UserValues]:
    """Compute the values of all lists, group by group."""
    values = {text: np.empty(len(lists.lengths)) for text in request.definitions}
    for chosen, given in groups:
        found = _compute(lists.rankings(chosen), truth.take(chosen), request, given, n_items)
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
    lists: _Lists, given: Mapping[str, Any]
) -> Iterator[tuple[IntArray, Mapping[str, Any]]]:
    """The lists of similar length, and the profiles and strata of their users."""
    profile: Any = given.get("profile")  # a dense matrix with one row per list
    strata = given.get("strata", {})  # an array of items for all, or a sparse row per list
    for chosen in _of_similar_length(lists.lengths):
        own = {name: each[chosen] if each.ndim == 2 else each for name, each in strata.items()}
        rows = None if profile is None else profile[chosen]
        yield chosen, {**given, "profile": rows, "strata": own}


def _of_similar_length(lengths: IntArray) -> list[IntArray]:
    """Split the lists by length where one matrix of rankings would be mostly padding."""
    padded = len(lengths) * int(lengths.max(initial=0))
    if padded <= max(_ALWAYS, _PADDED * int(lengths.sum())):
        return [np.arange(len(lengths))]
    doubled = np.frexp(lengths)[1]
    return [np.flatnonzero(doubled == power) for power in np.unique(doubled)]


def _depth(request: Request) -> int:
    """The length read of a list; a metric without a cutoff reads all."""
    specs = [definition.spec for definition in request.definitions.values()]
    return max(_WHOLE if s.k is None or s.reads_whole_list else s.k for s in specs)


def _compute(
    rankings: Rankings,
    truth: _TruthOfLists,
    request: Request,
    given: Mapping[str, Any],
    n_items: int | None,
) -> dict[str, UserValues]:
    """Compute as ``Metrics.compute_ranked`` does, for a catalogue of any size."""
    side = read_side(request.of_side, given, len(rankings.lists), n_items)
    users = Users(truth, side=side, n_items=n_items)
    return measured(find_hits(rankings, users, request), request)


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
