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

_NORMAL_95 = 1.959963984540054  # 95 % of a standard normal is within plus and minus this
Keep = Literal["values", "means"]
"""A stream keeps the values of each event, or only the means of all events."""


class Totals(NamedTuple):
    """Counts and sums of events, and their values where these are kept."""

    n_rows: int
    swallowed: IntArray  # (2,) events whose relevant items are all excluded, and those with any
    invalid: IntArray  # (4,) the counts of ``InvalidItems``
    chunks: tuple[FloatArray, ...] | None  # (metrics, events) each, in order; None: means alone
    n_defined: IntArray  # (metrics,)
    sums: FloatArray  # (metrics, 2, 2): of values, of squared distances from the mean, as pairs
    exposure: Exposures | None = None  # None without events

    @classmethod
    def none(cls, request: Request, keep: str) -> Self:
        """Make the totals of no event."""
        chunks, n = (() if keep == "values" else None), len(request.per_user)
        zeros: Any = functools.partial(np.zeros, dtype=np.int64)
        invalid = zeros(len(InvalidItems._fields))
        return cls(0, zeros(2), invalid, chunks, zeros(n), np.zeros((n, 2, 2)))

    @property
    def values(self) -> FloatArray:
        """The values of all events, (metrics, events)."""
        return np.concatenate([np.empty((len(self.sums), 0)), *(self.chunks or ())], axis=1)

    @property
    def invalid_items(self) -> InvalidItems:
        """The invalid items in the rankings of all events."""
        return InvalidItems(*self.invalid.tolist())

    @property
    def updated(self) -> None:
        """No mask: all events count."""

    def exposure_of(self, request: Request) -> Exposures | None:  # noqa: ARG002
        """The sums of all lists."""
        return self.exposure

    def part(self) -> Self:
        """The totals, which do not change."""
        return self

    def in_order(self, places: list[int]) -> Self:
        """The same totals, their metrics in another order."""
        chunks = None if self.chunks is None else tuple(chunk[places] for chunk in self.chunks)
        n_defined, sums = self.n_defined[places], self.sums[places]
        return self._replace(chunks=chunks, n_defined=n_defined, sums=sums)

    def plus(self, batches: Sequence[Batch], values: FloatArray, request: Request) -> Self:
        """The totals with batches, after the other events."""
        exposure, invalid = None, np.zeros_like(self.invalid)
        if request.of_exposure:
            exposure = exposures(request, request.cutoffs(batches[0].n_items))
        for batch in batches:
            if exposure is not None:
                exposure.offer(np.flatnonzero(batch.offered))
                length = np.full(batch.size[0], batch.lists.shape[1])
                exposure.add(slice(0, batch.size[0]), batch.lists, length)
            if batch.invalid is not None:
                invalid += InvalidItems.of(batch.invalid)
        return self.joined(
            self._replace(
                n_rows=values.shape[1],
                swallowed=np.sum([batch.swallowed for batch in batches], axis=0),
                invalid=invalid,
                chunks=None if self.chunks is None else (values,),
                n_defined=np.count_nonzero(~np.isnan(values), axis=1),
                sums=_sums(values),
                exposure=exposure,
            )
        )

    def joined(self, other: Self) -> Self:
        """The totals of both, the events of ``other`` after the others."""
        exposure: Any = self.exposure if other.exposure is None else copy.deepcopy(other.exposure)
        if self.exposure is not None and other.exposure is not None:
            exposure.merge(self.exposure)
        return self._replace(
            n_rows=self.n_rows + other.n_rows,
            swallowed=self.swallowed + other.swallowed,
            invalid=self.invalid + other.invalid,
            chunks=None if self.chunks is None else _in_few(self.chunks + (other.chunks or ())),
            n_defined=self.n_defined + other.n_defined,
            sums=_joined_sums(self.sums, self.n_defined, other.sums, other.n_defined),
            exposure=exposure,
        )

    def mean(self, row: int, number: float | None) -> tuple[float, float]:
        """The mean of a metric, and half of its 95 % interval, NaN where there is none.

        ``number`` takes the place of undefined values, unless it is None.
        """
        n, sums = int(self.n_defined[row]), self.sums[row]
        if number is not None:
            n_missing = self.n_rows - n
            numbers = np.array([[number * n_missing, 0.0], [0.0, 0.0]])
            sums, n = _joined_sums(sums, n, numbers, n_missing), n + n_missing
        if not n:
            return math.nan, math.nan
        mean = float(sums[0, 0] / n + sums[0, 1] / n)
        if n == 1 or math.isinf(mean):
            return mean, math.nan
        return mean, _NORMAL_95 * math.sqrt(float(sums[1].sum()) / (n - 1) / n)

    def arrays(self) -> Arrays:
        """The totals as plain arrays."""
        names = ("n_rows", "swallowed", "invalid", "values", "n_defined", "sums")
        arrays = {name: np.asarray(getattr(self, name)) for name in names}
        return arrays if self.exposure is None else arrays | self.exposure.arrays()

    @classmethod
    def read(cls, fields: Arrays, request: Request, schema: Schema) -> Self:
        """Read plain arrays; a ValueError names one that does not fit."""
        n, n_metrics = int(fields["n_rows"].item()), len(request.per_user)
        has_values = schema.keep == "values"
        check("n_rows", fields["n_rows"], "iu", (), 0)
        swallowed = check("swallowed", fields["swallowed"], "iu", (2,), 0, n)
        invalid = check("invalid", fields["invalid"], "iu", (len(InvalidItems._fields),), 0)
        values = check("values", fields["values"], "f", (n_metrics, n * has_values))
        n_defined = check("n_defined", fields["n_defined"], "iu", (n_metrics,), 0, n)
        sums = check("sums", fields["sums"], "f", (n_metrics, 2, 2))
        if np.isnan(sums[:, 0]).any() or (sums[:, 1, 0] < 0).any():
            msg = "sums does not fit"
            raise ValueError(msg)
        exposure = None
        if request.of_exposure and n:
            exposure = exposures(request, request.cutoffs(schema.shape[1]))
            exposure.read(fields)
        chunks = (values,) if has_values else None
        return cls(n, swallowed, invalid, chunks, n_defined, sums, exposure)


@without_warnings
def _sums(values: FloatArray) -> FloatArray:
    """The sums of the values, and of the squares of their distances from the mean, NaN left out."""
    n = np.maximum(1, np.count_nonzero(~np.isnan(values), axis=1))
    sums = np.zeros((len(values), 2, 2))
    sums[:, 0, 0] = np.nansum(values, axis=1)
    away = values - (sums[:, 0, 0] / n)[:, np.newaxis]
    # The sum of the distances would be 0 if the mean were not rounded.
    squares = np.nansum(np.square(away), axis=1) - np.nansum(away, axis=1) ** 2 / n
    sums[:, 1, 0] = np.maximum(0.0, squares)
    return sums


@without_warnings
def _joined_sums(one: FloatArray, n_one: Any, other: FloatArray, n_other: Any) -> FloatArray:
    """The sums of two sets of values; the squares gain by the distance of the two means."""
    means = (sums[..., 0, :].T / np.maximum(1, n) for sums, n in ((one, n_one), (other, n_other)))
    away = np.subtract(*means).sum(axis=0)
    between = np.zeros_like(one)
    between[..., 1, 0] = away * (n_one / np.maximum(1, n_one + n_other) * n_other) * away
    return _added(_added(one, other), between)


@without_warnings
def _added(one: FloatArray, other: FloatArray) -> FloatArray:
    """Add pairs of float64 (Dekker); infinite sums have no rounding error."""
    high = one[..., 0] + other[..., 0]
    back = high - one[..., 0]
    lost = (one[..., 0] - (high - back)) + (other[..., 0] - back)
    low = np.where(np.isfinite(high), lost + one[..., 1] + other[..., 1], 0.0)
    total = high + low
    return np.stack([total, np.where(np.isfinite(high), low - (total - high), 0.0)], axis=-1)


def _in_few(chunks: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Join chunks so that each is more than twice as long as the next: few, and rarely copied."""
    kept: list[FloatArray] = []
    for chunk in chunks:
        kept.append(chunk)
        while len(kept) > 1 and kept[-2].shape[1] <= 2 * kept[-1].shape[1]:
            last = kept.pop()
            kept[-1] = np.concatenate([kept[-1], last], axis=1)
    return tuple(kept)
