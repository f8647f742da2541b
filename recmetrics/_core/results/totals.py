"""The totals of events: rows without a user, so that no row replaces another.

Memory grows with the events only where their values are kept. Sums are pairs of float64; the second
number is the rounding error of the first. So the order of a billion events changes a mean by less
than its last digits. Powers are those of distances from the mean, since a sum of squares of values
that vary little beside their mean has no digits left for the spread (Chan, Golub, LeVeque 1983).
"""

import copy
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import InvalidItems
from recmetrics._core.results.joint import JointSums
from recmetrics._core.results.rows import Batch
from recmetrics._core.results.saved import Arrays, Schema, checked_array
from recmetrics._core.selection import Exposures, exposures
from recmetrics._core.spec import Request, number_for
from recmetrics._core.types import BoolArray, FloatArray, IntArray

# 95 % of a standard normal distribution are within plus and minus this number.
_NORMAL_QUANTILE_95 = 1.959963984540054
Keep = Literal["values", "means"]
"""A stream keeps the values of each event, or only the means of all events."""


class Totals(NamedTuple):
    """Counts and sums of events, and their values where these are kept."""

    n_rows: int  # the number of events, without those of weight 0
    n_weightless: int  # of those of weight 0
    # (3,) events whose relevant items are all excluded, those with any, and all relevant items
    swallowed: IntArray
    invalid: IntArray  # (4,) the counts of ``InvalidItems``, of all models
    chunks: tuple[FloatArray, ...] | None  # (metrics, events) each, in order; None: means alone
    joint: JointSums
    # The sums of all lists of each model; empty without events, or without such metrics.
    exposures: dict[str, Exposures]

    @classmethod
    def none(cls, request: Request, keep: str) -> Self:
        """Make the totals of no event; ``keep`` is "values" or "means"."""
        chunks = () if keep == "values" else None
        joint = JointSums.none(((None, "", None),), len(request.per_user))
        invalid = np.zeros(len(InvalidItems._fields), np.int64)
        return cls(0, 0, np.zeros(3, np.int64), invalid, chunks, joint, {})

    @property
    def values(self) -> FloatArray:
        """The values of all events, (metrics, events); no event where only means are kept."""
        n_metrics = self.joint.counts.shape[1]
        return np.concatenate([np.empty((n_metrics, 0)), *(self.chunks or ())], axis=1)

    @property
    def invalid_items(self) -> InvalidItems:
        """The invalid items in the rankings of all events."""
        return InvalidItems(*self.invalid.tolist())

    @property
    def has_events(self) -> bool:
        """True if there is an event, also one of weight 0."""
        return self.n_rows + self.n_weightless > 0

    @property
    def size(self) -> tuple[int, int, int]:
        """The size as that of a batch, without rows and relevant items: the bytes of the sums."""
        arrays: list[Any] = list(self.joint[1:])
        for exposure in self.exposures.values():
            arrays += exposure.arrays().values()
        return 0, 0, sum(array.nbytes for array in arrays)

    @property
    def n_defined(self) -> dict[str, IntArray]:
        """The number of events for which each metric is defined, (metrics,), by model."""
        counts = zip(self.joint.models, self.joint.counts, strict=False)
        return {model: numbers[:, 1] for model, numbers in counts}

    def exposures_of(self, request: Request) -> dict[str, Exposures]:  # noqa: ARG002
        """The sums of all lists, by model; empty without events."""
        return self.exposures

    def part(self) -> Self:
        """The totals themselves, since they do not change."""
        return self

    def in_order(self, places: list[int]) -> Self:
        """The same totals, with the metrics in the order of their ``places`` in this one."""
        chunks = self.chunks
        if chunks is not None:
            chunks = tuple(chunk[places] for chunk in chunks)
        return self._replace(chunks=chunks, joint=self.joint.in_order(places))

    def plus(self, batches: Sequence[Batch], values: FloatArray, request: Request) -> Self:
        """The totals with the events of batches after the others.

        ``values`` are those of the first model in all batches, (metrics, events).
        """
        models = batches[0].events.models
        batches_by_model = zip(*((batch, *batch.events.others) for batch in batches), strict=True)
        numbers = [number_for(request.definitions[text].undefined) for text in request.per_user]
        fill = np.array([np.nan if number is None else number for number in numbers])
        weights = np.concatenate([batch.events.weights for batch in batches])
        is_weighted = weights > 0

        exposures_of_models = {}
        invalid = np.zeros_like(self.invalid)
        settled = {}
        for model, batches_of_model in zip(models, batches_by_model, strict=True):
            if request.of_exposure:
                exposure = exposures(request, request.cutoffs(batches_of_model[0].n_items))
                for batch in batches_of_model:
                    exposure.offer(np.flatnonzero(batch.offered))
                    n_lists, width = batch.lists.shape
                    exposure.add(slice(0, n_lists), batch.lists, np.full(n_lists, width))
                exposures_of_models[model] = exposure
            for batch in batches_of_model:
                if batch.invalid is not None:
                    invalid += InvalidItems.of(batch.invalid)
            of_model = values
            if model != models[0]:
                of_model = np.concatenate([batch.values for batch in batches_of_model], axis=1)
            settled_values = np.where(np.isnan(of_model), fill[:, np.newaxis], of_model)
            settled[model] = settled_values[:, is_weighted]
        labels = np.concatenate([batch.events.labels for batch in batches])
        events_of_groups = _events_of_groups(labels, is_weighted)
        new_totals = self._replace(
            n_rows=int(np.count_nonzero(is_weighted)),
            n_weightless=int(np.count_nonzero(~is_weighted)),
            swallowed=np.sum([batch.swallowed for batch in batches], axis=0),
            invalid=invalid,
            chunks=None if self.chunks is None else (values,),
            joint=JointSums.of(settled, request.bounds, events_of_groups, weights[is_weighted]),
            exposures=exposures_of_models,
        )
        return self.joined([new_totals])

    def joined(self, others: Sequence[Self]) -> Self:
        """The totals of all, with the events of ``others`` after those of this one, in order."""
        parts = [part for part in (self, *others) if part.has_events]
        if len(parts) < 2:
            return parts[0] if parts else self
        exposures = copy.deepcopy(parts[0].exposures)
        for part in parts[1:]:
            for model, exposure in part.exposures.items():
                exposures[model].merge(exposure)
        chunks = self.chunks
        if chunks is not None:
            chunks = _in_few([chunk for part in parts for chunk in part.chunks or ()])
        return self._replace(
            n_rows=sum(part.n_rows for part in parts),
            n_weightless=sum(part.n_weightless for part in parts),
            swallowed=np.sum([part.swallowed for part in parts], axis=0),
            invalid=np.sum([part.invalid for part in parts], axis=0),
            chunks=chunks,
            joint=JointSums.joined([part.joint for part in parts]),
            exposures=exposures,
        )

    def mean(self, model: int, metric: int) -> tuple[float, float]:
        """The mean of a metric of a model, and half of its 95 % interval; NaN where there is none.

        ``model`` and ``metric`` are indices of the first two axes of ``joint``.
        """
        n_values = int(self.joint.counts[model, metric, 1])  # events with a value
        if not n_values:
            return math.nan, math.nan
        total = self.joint.totals[model, metric, 1]  # of the difference, here the value itself
        tables = self.joint.tables[model, metric, ..., 0]
        weight = tables[0, 0, 0]  # the sum of the weights
        mean = float(total[0] / weight + total[1] / weight)
        if n_values == 1:
            return mean, math.nan
        squares = float(tables[1, 0, 2])  # the sum of weight^2 x squared distance from the mean
        # The linearised variance of a weighted mean.
        variance = squares * n_values / (n_values - 1)
        return mean, _NORMAL_QUANTILE_95 * math.sqrt(variance) / float(weight)

    def arrays(self) -> Arrays:
        """Copy the totals to plain arrays, by name."""
        names = ("n_rows", "n_weightless", "swallowed", "invalid", "values")
        arrays = {name: getattr(self, name) for name in names}
        for model, exposure in self.exposures.items():
            arrays |= {model + name: array for name, array in exposure.arrays().items()}
        arrays |= self.joint.arrays()
        return {name: np.array(array) for name, array in arrays.items()}

    @classmethod
    def read(cls, fields: Arrays, request: Request, schema: Schema) -> Self:
        """Read the arrays that ``arrays`` gave; a ValueError names one that does not fit."""
        n_metrics = len(request.per_user)
        n_weighted = int(checked_array("n_rows", fields["n_rows"], "iu", (), 0))
        n_weightless = int(checked_array("n_weightless", fields["n_weightless"], "iu", (), 0))
        n_rows = n_weighted + n_weightless
        n_values = n_rows if schema.keep == "values" else 0
        swallowed = checked_array("swallowed", fields["swallowed"], "iu", (3,), 0)
        checked_array("swallowed", swallowed[:2], "iu", (2,), 0, n_rows)
        invalid = checked_array("invalid", fields["invalid"], "iu", (len(InvalidItems._fields),), 0)
        values = checked_array("values", fields["values"], "f", (n_metrics, n_values))
        joint = JointSums.read(fields, n_metrics, n_rows)
        exposures_of_models = {}
        if request.of_exposure and n_rows:
            for model in joint.models:
                exposure = exposures(request, request.cutoffs(schema.shape[1]))
                arrays = {name: fields[model + name] for name in exposure.arrays()}
                exposure.read(arrays)
                exposures_of_models[model] = exposure
        chunks = (values,) if schema.keep == "values" else None
        return cls(n_weighted, n_weightless, swallowed, invalid, chunks, joint, exposures_of_models)


def _events_of_groups(labels: npt.NDArray[Any], is_weighted: BoolArray) -> dict[Any, Any]:
    """Index the weighted events of each label, and all of them by None.

    A group whose events all weigh 0 is one without events. Without groups, no event has a label.
    """
    groups: dict[Any, Any] = {None: slice(None)}
    weighted_labels = labels[is_weighted[: len(labels)]]
    for label in np.unique(labels):
        groups[label.item()] = np.flatnonzero(weighted_labels == label)
    return groups


def _in_few(chunks: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    """Join chunks (metrics, events) until each is more than twice as long as the next.

    So there are few chunks, and the values of an event are rarely copied.
    """
    joined: list[FloatArray] = []
    for chunk in chunks:
        joined.append(chunk)
        while len(joined) > 1 and joined[-2].shape[1] <= 2 * joined[-1].shape[1]:
            joined[-2:] = [np.concatenate(joined[-2:], axis=1)]
    return tuple(joined)
