"""The totals of events: rows without a user, so that no row replaces another.

Memory grows with the events only where their values are kept. Sums are pairs of float64; the second
number is the rounding error of the first. So the order of a billion events changes a mean by less
than its last digits. Squares are those of distances from the mean, since a sum of squares of values
that vary little beside their mean has no digits left for the spread (Chan, Golub, LeVeque 1983).
"""

import copy
import functools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from recmetrics._core.inputs import InvalidItems
from recmetrics._core.results.rows import Batch
from recmetrics._core.results.saved import Arrays, Schema, check
from recmetrics._core.selection import Exposures, exposures
from recmetrics._core.spec import Request
from recmetrics._core.threads import without_warnings
from recmetrics._core.types import FloatArray, IntArray

# 95 % of a standard normal distribution are within plus and minus this number.
_NORMAL_QUANTILE_95 = 1.959963984540054
Keep = Literal["values", "means"]
"""A stream keeps the values of each event, or only the means of all events."""


class Totals(NamedTuple):
    """Counts and sums of events, and their values where these are kept."""

    n_rows: int  # the number of events
    # (3,) events whose relevant items are all excluded, those with any, and all relevant items
    swallowed: IntArray
    invalid: IntArray  # (4,) the counts of ``InvalidItems``
    chunks: tuple[FloatArray, ...] | None  # (metrics, events) each, in order; None: means alone
    n_defined: IntArray  # (metrics,) the events for which each metric is defined
    sums: FloatArray  # (metrics, 2, 2): of values, of squared distances from the mean, as pairs
    exposure: Exposures | None = None  # the sums of all lists; None without events

    @classmethod
    def none(cls, request: Request, keep: str) -> Self:
        """Make the totals of no event; ``keep`` is "values" or "means"."""
        chunks = () if keep == "values" else None
        n_metrics = len(request.per_user)
        zeros: Any = functools.partial(np.zeros, dtype=np.int64)
        invalid = zeros(len(InvalidItems._fields))
        return cls(0, zeros(3), invalid, chunks, zeros(n_metrics), np.zeros((n_metrics, 2, 2)))

    @property
    def values(self) -> FloatArray:
        """The values of all events, (metrics, events); no event where only means are kept."""
        return np.concatenate([np.empty((len(self.sums), 0)), *(self.chunks or ())], axis=1)

    @property
    def invalid_items(self) -> InvalidItems:
        """The invalid items in the rankings of all events."""
        return InvalidItems(*self.invalid.tolist())

    @property
    def updated(self) -> None:
        """None: no mask of updated rows, since all events count."""

    def exposure_of(self, request: Request) -> Exposures | None:  # noqa: ARG002
        """The sums of all lists; None without events."""
        return self.exposure

    def part(self) -> Self:
        """The totals themselves, since they do not change."""
        return self

    def in_order(self, places: list[int]) -> Self:
        """The same totals, with the metrics in the order of their ``places`` in this one."""
        chunks = self.chunks
        if chunks is not None:
            chunks = tuple(chunk[places] for chunk in chunks)
        return self._replace(
            chunks=chunks, n_defined=self.n_defined[places], sums=self.sums[places]
        )

    def plus(self, batches: Sequence[Batch], values: FloatArray, request: Request) -> Self:
        """The totals with the events of batches after the others.

        ``values`` are those of all batches, (metrics, events).
        """
        exposure = None
        if request.of_exposure:
            exposure = exposures(request, request.cutoffs(batches[0].n_items))
        invalid = np.zeros_like(self.invalid)
        for batch in batches:
            if exposure is not None:
                exposure.offer(np.flatnonzero(batch.offered))
                n_lists, width = batch.lists.shape
                exposure.add(slice(0, n_lists), batch.lists, np.full(n_lists, width))
            if batch.invalid is not None:
                invalid += InvalidItems.of(batch.invalid)
        new_totals = self._replace(
            n_rows=values.shape[1],
            swallowed=np.sum([batch.swallowed for batch in batches], axis=0),
            invalid=invalid,
            chunks=None if self.chunks is None else (values,),
            n_defined=np.count_nonzero(~np.isnan(values), axis=1),
            sums=_sums(values),
            exposure=exposure,
        )
        return self.joined(new_totals)

    def joined(self, other: Self) -> Self:
        """The totals of both, with the events of ``other`` after those of this one."""
        exposure = self.exposure
        if other.exposure is not None:
            exposure = copy.deepcopy(other.exposure)
            if self.exposure is not None:
                exposure.merge(self.exposure)
        chunks = self.chunks
        if chunks is not None:
            chunks = _in_few(chunks + (other.chunks or ()))
        return self._replace(
            n_rows=self.n_rows + other.n_rows,
            swallowed=self.swallowed + other.swallowed,
            invalid=self.invalid + other.invalid,
            chunks=chunks,
            n_defined=self.n_defined + other.n_defined,
            sums=_joined_sums(self.sums, self.n_defined, other.sums, other.n_defined),
            exposure=exposure,
        )

    def mean(self, row: int, number: float | None) -> tuple[float, float]:
        """The mean of the metric in a ``row``, and half of its 95 % interval.

        Each is NaN where there is none. ``number`` takes the place of undefined values, if it is
        given.
        """
        n_values = int(self.n_defined[row])
        sums = self.sums[row]
        if number is not None:
            n_missing = self.n_rows - n_values
            sums_of_numbers = np.array([[number * n_missing, 0.0], [0.0, 0.0]])
            sums = _joined_sums(sums, n_values, sums_of_numbers, n_missing)
            n_values = self.n_rows
        if not n_values:
            return math.nan, math.nan
        mean = float(sums[0, 0] / n_values + sums[0, 1] / n_values)
        if n_values == 1 or math.isinf(mean):
            return mean, math.nan
        variance = float(sums[1].sum()) / (n_values - 1)
        return mean, _NORMAL_QUANTILE_95 * math.sqrt(variance / n_values)

    def arrays(self) -> Arrays:
        """The totals as plain arrays, by name."""
        names = ("n_rows", "swallowed", "invalid", "values", "n_defined", "sums")
        arrays = {name: np.asarray(getattr(self, name)) for name in names}
        if self.exposure is not None:
            arrays |= self.exposure.arrays()
        return arrays

    @classmethod
    def read(cls, fields: Arrays, request: Request, schema: Schema) -> Self:
        """Read the arrays that ``arrays`` gave; a ValueError names one that does not fit."""
        check("n_rows", fields["n_rows"], "iu", (), 0)
        n_rows = int(fields["n_rows"])
        n_metrics = len(request.per_user)
        n_values = n_rows if schema.keep == "values" else 0
        swallowed = check("swallowed", fields["swallowed"], "iu", (3,), 0)
        check("swallowed", swallowed[:2], "iu", (2,), 0, n_rows)
        invalid = check("invalid", fields["invalid"], "iu", (len(InvalidItems._fields),), 0)
        values = check("values", fields["values"], "f", (n_metrics, n_values))
        n_defined = check("n_defined", fields["n_defined"], "iu", (n_metrics,), 0, n_rows)
        sums = check("sums", fields["sums"], "f", (n_metrics, 2, 2))
        if np.isnan(sums[:, 0]).any() or (sums[:, 1, 0] < 0).any():
            msg = "sums does not fit"
            raise ValueError(msg)
        exposure = None
        if request.of_exposure and n_rows:
            exposure = exposures(request, request.cutoffs(schema.shape[1]))
            exposure.read(fields)
        chunks = (values,) if schema.keep == "values" else None
        return cls(n_rows, swallowed, invalid, chunks, n_defined, sums, exposure)


@without_warnings
def _sums(values: FloatArray) -> FloatArray:
    """The sums of the values of each metric, and of the squares of their distances from the mean.

    NaN is left out. ``values`` are (metrics, events), the sums (metrics, 2, 2): pairs of float64.
    """
    n = np.maximum(1, np.count_nonzero(~np.isnan(values), axis=1))
    sums = np.zeros((len(values), 2, 2))
    sums[:, 0, 0] = np.nansum(values, axis=1)
    distances = values - (sums[:, 0, 0] / n)[:, np.newaxis]
    # The sum of the distances would be 0 if the mean were not rounded.
    squares = np.nansum(np.square(distances), axis=1) - np.nansum(distances, axis=1) ** 2 / n
    sums[:, 1, 0] = np.maximum(0.0, squares)
    return sums


@without_warnings
def _joined_sums(sums: FloatArray, n: Any, other: FloatArray, n_other: Any) -> FloatArray:
    """The sums of two sets of values together, as ``_sums`` gives them, of one metric or of all.

    ``n`` and ``n_other`` are the numbers of values in the sets. With the means a and b of n and
    m values, and c of all, the squares of distances from the mean grow by
    n (a - c)^2 + m (b - c)^2 = (a - b)^2 n m / (n + m).
    """
    means = sums[..., 0, :].T / np.maximum(1, n)
    other_means = other[..., 0, :].T / np.maximum(1, n_other)
    difference = np.subtract(means, other_means).sum(axis=0)
    gain = np.zeros_like(sums)
    gain[..., 1, 0] = difference * (n / np.maximum(1, n + n_other) * n_other) * difference
    return _added(_added(sums, other), gain)


@without_warnings
def _added(pairs: FloatArray, others: FloatArray) -> FloatArray:
    """Add two arrays (..., 2) of pairs: a float64 and its rounding error (Dekker 1971, add2).

    The rounding error of an infinite sum is 0.
    """
    high = pairs[..., 0] + others[..., 0]
    back = high - pairs[..., 0]  # the part of ``others`` that is in ``high``, the rest is lost
    lost = (pairs[..., 0] - (high - back)) + (others[..., 0] - back)
    low = np.where(np.isfinite(high), lost + pairs[..., 1] + others[..., 1], 0.0)
    total = high + low
    return np.stack([total, np.where(np.isfinite(high), low - (total - high), 0.0)], axis=-1)


def _in_few(chunks: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Join chunks (metrics, events) until each is more than twice as long as the next.

    So there are few chunks, and the values of an event are rarely copied.
    """
    joined: list[FloatArray] = []
    for chunk in chunks:
        joined.append(chunk)
        while len(joined) > 1 and joined[-2].shape[1] <= 2 * joined[-1].shape[1]:
            joined[-2:] = [np.concatenate(joined[-2:], axis=1)]
    return tuple(joined)
