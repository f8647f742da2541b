"""From lists and truth to values, through the kernels of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import nan
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.inputs import ItemSets, Rankings, Rows, UserIndex, Users, read_side
from recmetrics._core.results import RowNames, measured, settled, system_values, system_weights
from recmetrics._core.selection import Exposures, find_hits
from recmetrics._core.spec import Cutoffs, Definition, MetricSpec, Request, define
from recmetrics._core.types import FloatArray, IntArray, UserValues
from recmetrics.tables._frames import Frame, keyed, slicer, take
from recmetrics.tables._ids import distinct_rows, stack
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
    without_relevant: float | None = None  # of a list whose truth has no relevant item


@dataclass
class Exposed:
    """How often each item is in the lists of each combination of ``by``, of some users.

    ``keys`` has the columns of ``by``, a row for each combination: Python holds some of their
    values for equal that are not. It is None without ``by``.
    """

    keys: Frame | None = None
    counts: list[tuple[Exposures, Cutoffs]] = field(default_factory=list)


TableMetric = FunctionMetric | StringMetric


class _TruthOfLists(ItemSets):
    """The truth of each list; lists of one user share it."""

    def __init__(self, rows: Rows, truth_of: IntArray, n_items: int | None) -> None:
        sizes = np.diff(rows.start)[truth_of]
        super().__init__(len(truth_of), n_items, float(sizes.mean()) if len(sizes) else 0.0)
        self._rows = rows
        self._truth_of = truth_of

    def take(self, users: UserIndex) -> _TruthOfLists:
        return _TruthOfLists(self._rows, self._truth_of[users], self.n_items)

    def rows(self, block: slice) -> Rows:
        return self._rows.take(self._truth_of[block])


class _Reading(NamedTuple):
    """How metrics read the lists and the truth: those of one reading are computed together."""

    of_presence: bool  # every item of the truth is relevant, also one of relevance 0
    is_divided: bool  # it takes the lists of each combination of ``by`` alone
    at_ranks: bool


def measure_lists(
    lists: ListsAndTruth,
    metrics: Sequence[TableMetric],
    side: Mapping[str, Any] | None = None,
    rules: Request | None = None,
    n_items: int | None = None,
    exposed: Exposed | None = None,
) -> dict[str, UserValues]:
    """Compute every metric for every list, in the order given.

    ``side`` is side information as ``Metrics.compute_ranked`` takes it, ``rules`` those of the
    call. ``n_items`` is the size of the catalogue, None where unknown. A metric of all lists has
    one value for each combination of ``by``, repeated for its lists. If the lists are those of some
    users, ``exposed`` takes what metrics of all lists are computed from.
    """
    has_zeros = not np.all(lists.truth_rows.values)
    by = lists.columns.keys[:-1]
    values: dict[str, UserValues] = {}
    definitions_of: dict[_Reading, dict[str, Definition]] = {}
    for metric in metrics:
        if isinstance(metric, FunctionMetric):
            values[metric.name] = _of_function(lists, metric)
            continue
        reading = _Reading(
            of_presence=metric.of_presence and has_zeros,
            is_divided=bool(by) and not metric.spec.metric.per_user,
            at_ranks=metric.at_ranks and lists.lists.ranks is not None,
        )
        definition = define(metric.spec) if rules is None else rules.definitions[metric.name]
        definitions_of.setdefault(reading, {})[metric.name] = definition

    for reading, definitions in definitions_of.items():
        request = Request.of(definitions, rules)
        users = Users(
            _truth(lists, n_items, of_presence=reading.of_presence),
            lists.excluded,
            side=read_side(request.of_side, side or {}, len(lists.truth_of), n_items),
            n_items=n_items,
        )
        rankings = Rankings(lists.lists)
        if not reading.at_ranks:
            rankings = Rankings(lists.lists._replace(ranks=None, last_ranks=None))
        keys = lists.keys.select(by) if reading.is_divided else None
        values |= _measure(rankings, users, request, keys, exposed)
        whole = definitions if exposed is None else request.per_user
        for text in whole:
            settled(values[text], text, definitions[text], rows=RowNames("list", lists.key_of))
    for metric in metrics:
        if isinstance(metric, StringMetric):
            _settle_empty(values[metric.name], metric, lists)
    return {metric.name: values[metric.name] for metric in metrics}


def values_of_all_lists(
    exposed_of_buckets: Iterable[Exposed], request: Request
) -> tuple[Frame | None, dict[str, FloatArray]]:
    """Compute the metrics of all lists of each combination of ``by`` from what buckets exposed.

    Gives a row of ``by`` for each combination, None without ``by``, and the values of each metric.
    """
    counts: list[tuple[Exposures, Cutoffs]] = []
    keys_of_buckets: list[Frame] = []
    for exposed in exposed_of_buckets:
        counts += exposed.counts
        if exposed.keys is not None:
            keys_of_buckets.append(exposed.keys)
    keys = None
    by_codes = np.zeros(len(counts), np.int64)
    if keys_of_buckets:
        by_codes, keys = distinct_rows(reduce(stack, keys_of_buckets))

    # Codes count from 0 as they first appear.
    merged: list[tuple[Exposures, Cutoffs]] = []
    for code, (exposures, cutoffs) in zip(by_codes.tolist(), counts, strict=True):
        if code < len(merged):
            merged[code][0].merge(exposures)
        else:
            merged.append((exposures, cutoffs))
    values: dict[str, list[float]] = {}
    for exposures, cutoffs in merged:
        for text, value in system_values(exposures, request, cutoffs).items():
            settled_value = settled(value, text, request.definitions[text]).item()
            values.setdefault(text, []).append(settled_value)
    return keys, {text: np.asarray(values_of_metric) for text, values_of_metric in values.items()}


def weights_of_lists(
    lists: ListsAndTruth, side: Mapping[str, Any], request: Request, n_items: int | None
) -> dict[str, UserValues]:
    """The weight of each list in the mean of each metric whose system weighs users."""
    if not request.weights:
        return {}
    users = Users(
        _truth(lists, n_items, of_presence=False),
        side=read_side(request.of_side, side, len(lists.truth_of), n_items),
        n_items=n_items,
    )
    return system_weights(users, request)


def count_excluded(
    lists: ListsAndTruth, *, has_summary: bool
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Count what ``TableSummary`` documents as ``swallowed`` and as ``excluded_relevant``.

    The second is (0, 0) without a summary, which alone tells it.
    """
    if lists.excluded is None:
        return (0, 0), (0, 0)
    users = Users(_truth(lists, None, of_presence=False), lists.excluded)
    n_swallowed, n_with_relevant, n_relevant = users.swallowed()
    excluded_relevant = 0, 0
    if has_summary:
        excluded_relevant = users.n_excluded_relevant(), n_relevant
    return (n_swallowed, n_with_relevant), excluded_relevant


def _truth(lists: ListsAndTruth, n_items: int | None, *, of_presence: bool) -> _TruthOfLists:
    """Give the truth of each list, without items of relevance 0, or with them as relevant."""
    rows = lists.truth_rows
    if of_presence:
        rows = rows._replace(values=np.ones(len(rows.values)))
    elif not np.all(rows.values):
        rows = rows.keep(rows.values != 0.0)
    return _TruthOfLists(rows, lists.truth_of, n_items)


def _measure(
    rankings: Rankings, users: Users, request: Request, keys: Frame | None, exposed: Exposed | None
) -> dict[str, UserValues]:
    """Compute the metrics of a request for all lists, or for those of the same ``keys`` alone."""
    parts: list[tuple[UserIndex, Rankings, Users]] = [(slice(None), rankings, users)]
    if keys is not None:
        parts = []
        codes, distinct_keys = distinct_rows(keys)
        for code in range(len(distinct_keys)):
            rows = np.flatnonzero(codes == code)
            parts.append((rows, rankings.take(rows), users.take(rows)))
        if exposed is not None:
            exposed.keys = distinct_keys
    values = {text: np.empty(users.truth.n_users) for text in request.definitions}
    for rows_of_part, rankings_of_part, users_of_part in parts:
        selection = find_hits(rankings_of_part, users_of_part, request)
        for text, value in measured(selection, request).items():
            values[text][rows_of_part] = value  # one of all lists is that of each of them
        if exposed is not None and isinstance(selection.exposure, Exposures):
            exposed.counts.append((selection.exposure, selection.cutoffs))
    return values


def _settle_empty(values: UserValues, metric: StringMetric, lists: ListsAndTruth) -> None:
    """Write the values of lists without truth, items or relevant items, where they are set."""
    if metric.without_relevant is not None:
        values[np.isnan(values) & (lists.truth_sizes > 0)] = metric.without_relevant
    if metric.without_truth is not None:
        values[lists.truth_sizes == 0] = metric.without_truth
    if metric.without_items is not None:
        is_empty = lists.lengths == 0
        ranks = lists.lists.ranks
        if metric.spec.k is not None and ranks is not None:
            first = np.append(ranks, 0)[lists.lists.start[:-1]]  # ranks ascend in a list
            is_empty |= first > metric.spec.k
        values[is_empty] = metric.without_items


def _of_function(lists: ListsAndTruth, metric: FunctionMetric) -> UserValues:
    """Call a function of the tables of one list for each list; a loop in Python."""
    recs = slicer(take(lists.recs, lists.order).to_native())
    truth = slicer(keyed(take(lists.truth, lists.truth_order), [lists.columns.item]))
    values = np.zeros(len(lists.truth_of))
    starts = lists.lists.start.tolist()
    truth_starts = lists.truth_rows.start.tolist()
    for i, truth_index in enumerate(lists.truth_of.tolist()):
        first, last = truth_starts[truth_index : truth_index + 2]
        if first == last:
            values[i] = nan
        elif starts[i] < starts[i + 1]:
            tables = recs(starts[i], starts[i + 1]), truth(first, last)
            value = metric.function(*tables, **metric.options)
            try:
                values[i] = nan if value is None else float(value)
            except (TypeError, ValueError, OverflowError):
                msg = (
                    f"metric {metric.name!r} returned {value!r:.80} for {lists.key_of(i)}, "
                    "expected a number, or None if it is undefined"
                )
                raise ArgumentError(msg) from None
    return values
