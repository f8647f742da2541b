"""The state of a stream of events: rows without a user, so that no row replaces another.

Memory grows with the events only where their values are kept. Sums are pairs of float64; the second
number is the rounding error of the first. So the order of a billion events changes a mean by less
than its last digits. Squares are those of distances from the mean, since a sum of squares of values
that vary little beside their mean has no digits left for the spread (Chan, Golub, LeVeque 1983).

A batch is added by one statement, which appends it to a log; one statement replaces the totals by
those with the log. So Ctrl-C leaves each batch added as a whole, or not at all.
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError, InputError, UndefinedMetricError
from recmetrics._inputs import InvalidItems, Side, digests_of_side
from recmetrics._options import one_of
from recmetrics._results.batches import KeptLists, joined
from recmetrics._results.measure import NORMAL_95, RowNames, settled, system_values, user_rows
from recmetrics._results.state import (
    Schema,
    fits,
    lists_of,
    named_arrays,
    places_of,
    reading_state,
    schema_of,
)
from recmetrics._selection import Exposures, Found, exposures
from recmetrics._spec import NUMBERS, Cutoffs, Request
from recmetrics._threads import Exclusive, exclusive, surely, without_warnings
from recmetrics._types import BoolArray, FloatArray, IntArray, UserValues

Keep = Literal["values", "means"]
"""A stream keeps the values of each event, or only the means of all events."""
EVENTS = RowNames("event", "event {}".format)


class EventCounts(NamedTuple):
    """The number of events for which a metric is defined and undefined."""

    defined: int
    undefined: int


class Batch(NamedTuple):
    """Events that were added and wait for their metrics."""

    values: Any  # (metrics, events), or what was found: the metrics are still to be computed
    cutoffs: Cutoffs
    n_events: int
    lists: IntArray  # (events, width) -1 after the end of a list
    offered: BoolArray  # (n_items,)
    size: tuple[int, ...]  # of this batch and of those that wait before it
    n_waiting: int  # the number of these batches
    swallowed: tuple[int, int]
    invalid: InvalidItems

    @property
    def n_items(self) -> int | None:
        """The size of the catalogue, None where nothing gives it."""
        return self.cutoffs.n_items

    def joins(self, other: "Batch") -> bool:
        """Say whether the metrics of both can be computed together."""
        both_wait = isinstance(self.values, Found) and isinstance(other.values, Found)
        return both_wait and self.cutoffs == other.cutoffs


class Totals(NamedTuple):
    """The totals of all events: counts, sums, and the values where these are kept."""

    n_events: int
    n_items: int | None
    swallowed: tuple[int, int]
    invalid: InvalidItems
    chunks: tuple[FloatArray, ...]  # (metrics, events) each, in order; empty with keep="means"
    n_defined: IntArray  # (metrics,)
    sums: FloatArray  # (metrics, 2, 2): of values, of squared distances from the mean, as pairs
    exposure: Exposures | None

    @property
    def values(self) -> FloatArray:
        """The values of all events, (metrics, events)."""
        return np.concatenate([np.empty((len(self.sums), 0)), *self.chunks], axis=1)


Entry = Batch | Totals  # of the log; the second of another stream


class _Kept:
    """All that changes."""

    def __init__(self, totals: Totals) -> None:
        self.state: tuple[Totals, list[Entry]] = (totals, [])  # and the entries last added to it
        self.log: list[Entry] = []
        self.busy = False  # only a signal handler can find it true

    def waiting(self) -> list[Entry]:
        """The batches that are not yet in the totals."""
        included = self.state[1]
        n_included = len(included) if self._is_first(included) else 0
        return self.log[n_included:]

    def trim(self) -> None:
        """Drop the batches that are in the totals; it may be interrupted anywhere."""
        totals, included = self.state
        if self._is_first(included):
            del self.log[: len(included)]
        self.state = (totals, [])

    def _is_first(self, included: list[Entry]) -> bool:
        return bool(included and self.log) and self.log[0] is included[0]


class EventResults(Exclusive):
    """The values, or the sums, of all events."""

    def __init__(
        self, request: Request, n_items: int | None, keep: Keep, side: Side | dict[str, str]
    ) -> None:
        super().__init__()
        one_of("keep", keep, Keep)
        self.request, self.keep = request, keep
        self._given_items, self._side = n_items, side
        self._texts = request.per_user
        self._has_callable = request.has_callable
        self._kept = _Kept(self._nothing())

    def _nothing(self) -> Totals:
        n_metrics = len(self._texts)
        return Totals(
            n_events=0,
            n_items=self._given_items,
            swallowed=(0, 0),
            invalid=InvalidItems(),
            chunks=(),
            n_defined=np.zeros(n_metrics, np.int64),
            sums=np.zeros((n_metrics, 2, 2)),
            exposure=None,
        )

    @property
    def n_items(self) -> int | None:
        """The size of the catalogue, None until something gives it."""
        kept = self._kept
        known: int | None = kept.state[0].n_items
        for entry in kept.log[-1:]:
            known = entry.n_items if known is None else known
        return known

    @property
    def n_events(self) -> int:
        """The number of events."""
        kept = self._kept
        return kept.state[0].n_events + sum(batch.n_events for batch in kept.waiting())

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        kept = _Kept(self._settled())
        return super().__getstate__() | {"_kept": kept}

    @exclusive
    def clear(self) -> None:
        """Remove all events."""
        self._kept = _Kept(self._nothing())

    def empty(self) -> "EventResults":
        """Make results of the same request without events."""
        return EventResults(self.request, self._given_items, self.keep, self.schema.data)

    @property
    def schema(self) -> Schema:
        """The schema that a stream must share for its events to be merged."""
        data = digests_of_side(self._side) if isinstance(self._side, Side) else self._side
        return schema_of(self.request, (self.keep, self.n_items), data)

    def cutoffs(self, n_items: int | None, longest: int) -> Cutoffs:
        """The cutoffs of a batch whose catalogue has ``n_items``; refuses another size."""
        known = self.n_items
        self._check_size(known, n_items, 0)
        return self.request.cutoffs(known if n_items is None else n_items, longest)

    def _check_size(self, known: int | None, n_items: int | None, n_events: int) -> None:
        """Refuse events whose catalogue has another size than that of earlier events."""
        if None not in (known, n_items):
            if n_items != known:
                msg = (
                    f"scores have {n_items} items, expected {known}, as in n_items= or an earlier "
                    "batch; call reset() before using another catalogue"
                )
                raise InputError(msg)
        elif (n_events if n_items is None else self.n_events) and n_items != known:
            msg = (
                "earlier rankings were added without the size of the catalogue, so k was not "
                "limited to it; give n_items= to StreamEvaluator"
            )
            raise ArgumentError(msg)

    def sink(self, n_events: int, cutoffs: Cutoffs) -> KeptLists | None:
        """Make a sink for the lists of a batch; None where no metric of all lists reads them."""
        if not self.request.of_exposure:
            return None
        exposures(self.request, cutoffs)  # refuses a catalogue of unknown size
        return KeptLists(n_events, cutoffs.n_items or 0, cutoffs.exposure)

    def add(self, found: Found) -> None:
        """Add a batch of events; the metrics of several batches are computed together."""
        lists, offered = lists_of(found)
        n_events = len(found.hits.n_hits)
        size = n_events, len(found.hits.rank), lists.nbytes + offered.nbytes
        values: Any = found._replace(exposure=None)
        if self._has_callable or not fits(size):
            values = user_rows(found, self.request)
        invalid = InvalidItems() if found.invalid is None else InvalidItems.of(found.invalid)
        swallowed = found.swallowed()
        self._append(
            Batch(values, found.cutoffs, n_events, lists, offered, size, 1, swallowed, invalid)
        )

    @exclusive
    def _append(self, entry: Entry) -> None:
        """Append an entry to the log, by the last line."""
        kept = self._kept
        self._check_size(self.n_items, entry.n_items, entry.n_events)
        for last in kept.log[-1:]:  # which a signal handler may empty meanwhile
            together = _together(last, entry)
            if together is not None:
                entry = together
            elif not kept.busy:
                self._settled()
        kept.log.append(entry)

    @exclusive
    def _settled(self) -> Totals:
        """The totals of all events."""
        kept = self._kept
        if kept.busy:  # a signal handler asks, while they are computed
            return self._plus(kept.state[0], kept.waiting())

        def end() -> None:
            kept.busy = False

        return surely(lambda: self._add_up(kept), end)

    def _add_up(self, kept: _Kept) -> Totals:
        kept.busy = True
        kept.trim()
        batches = kept.log.copy()
        if batches:
            kept.state = (self._plus(kept.state[0], batches), batches)
            kept.trim()
        return kept.state[0]

    def _plus(self, totals: Totals, entries: Sequence[Entry]) -> Totals:
        """The totals with the entries of a log."""
        for entry in _runs(entries):
            if isinstance(entry, Totals):
                totals = self._joined(totals, entry)
                continue
            values = entry[0].values
            if isinstance(values, Found):
                values = user_rows(joined([batch.values for batch in entry]), self.request)
            totals = self._joined(totals, self._of_batches(entry, values))
        return totals

    def _of_batches(self, batches: Sequence[Batch], values: FloatArray) -> Totals:
        cutoffs = batches[0].cutoffs
        exposure = None
        if self.request.of_exposure:
            exposure = exposures(self.request, cutoffs)
            for batch in batches:
                exposure.offer(np.flatnonzero(batch.offered))
                length = np.full(batch.n_events, batch.lists.shape[1])
                exposure.add(slice(0, batch.n_events), batch.lists, length)
        swallowed = np.sum([batch.swallowed for batch in batches], axis=0).tolist()
        invalid = np.sum([batch.invalid for batch in batches], axis=0).tolist()
        return Totals(
            n_events=values.shape[1],
            n_items=cutoffs.n_items,
            swallowed=(swallowed[0], swallowed[1]),
            invalid=InvalidItems(*invalid),
            chunks=(values,) if self.keep == "values" else (),
            n_defined=np.count_nonzero(~np.isnan(values), axis=1),
            sums=_sums(values),
            exposure=exposure,
        )

    def _joined(self, one: Totals, other: Totals) -> Totals:
        """The totals of two sets of events, those of ``other`` after the others."""
        exposure = one.exposure if other.exposure is None else copy.deepcopy(other.exposure)
        if exposure is not None and one.exposure is not None and other.exposure is not None:
            exposure.merge(one.exposure)
        return Totals(
            n_events=one.n_events + other.n_events,
            n_items=one.n_items if other.n_items is None else other.n_items,
            swallowed=(
                one.swallowed[0] + other.swallowed[0],
                one.swallowed[1] + other.swallowed[1],
            ),
            invalid=InvalidItems(*map(sum, zip(one.invalid, other.invalid, strict=True))),
            chunks=_in_few((*one.chunks, *other.chunks)),
            n_defined=one.n_defined + other.n_defined,
            sums=_joined_sums(one.sums, one.n_defined, other.sums, other.n_defined),
            exposure=exposure,
        )

    def part(self) -> Totals:
        """The totals, for another stream of the same metrics."""
        return self._settled()

    def take(self, part: Totals, metrics: Iterable[str]) -> None:
        """Add the totals of another stream, whose metrics may be in another order."""
        order = places_of(self._texts, metrics)
        part = part._replace(
            chunks=tuple(chunk[order] for chunk in part.chunks),
            n_defined=part.n_defined[order],
            sums=part.sums[order],
        )
        self._append(part)

    def check_same(self, other: Schema) -> None:
        """Refuse the schema of a stream whose events cannot be merged into these."""
        own = self.schema
        if None in (own.shape[1], other.shape[1]):  # not known to one of them
            own, other = (each._replace(shape=(each.shape[0], None)) for each in (own, other))
        own.check_same(other)

    def values(self) -> dict[str, UserValues]:
        """The value of every event, and the metrics of all lists."""
        if self.keep == "means":
            msg = (
                "the stream has keep='means' and keeps no values of events; type "
                "StreamEvaluator(..., keep='values'), or call mean()"
            )
            raise ArgumentError(msg)
        totals = self._settled()
        values = dict(zip(self._texts, totals.values, strict=True))
        values |= self._system(totals)
        definitions = self.request.definitions
        return {
            text: settled(values[text], text, definitions[text], rows=EVENTS)
            for text in definitions
        }

    def _system(self, totals: Totals) -> dict[str, UserValues]:
        if not self.request.of_exposure:
            return {}
        if totals.exposure is None:  # no event
            return {text: np.array(math.nan) for text in self.request.of_exposure}
        return system_values(totals.exposure, self.request, self.request.cutoffs(totals.n_items))

    def means(self) -> dict[str, tuple[float, float]]:
        """The mean of each metric, and half of its 95 % interval, NaN where there is none."""
        totals = self._settled()
        found: dict[str, tuple[float, float]] = {}
        for row, text in enumerate(self._texts):
            found[text] = self._mean(totals, row, text)
        for text, value in self._system(totals).items():
            value = settled(value, text, self.request.definitions[text], rows=EVENTS)
            found[text] = (float(value), math.nan)
        return {text: found[text] for text in self.request.definitions}

    def _mean(self, totals: Totals, row: int, text: str) -> tuple[float, float]:
        n, sums = int(totals.n_defined[row]), totals.sums[row]
        n_missing = totals.n_events - n
        undefined = self.request.definitions[text].undefined
        if undefined == "raise" and n_missing:
            reason = self.request.definitions[text].spec.metric.undefined
            msg = (
                f"{text} is undefined for {n_missing} of {totals.n_events} events ({reason}); "
                "give undefined='nan' or 'zero'"
            )
            raise UndefinedMetricError(msg)
        if undefined in NUMBERS:
            numbers = np.array([[NUMBERS[undefined] * n_missing, 0.0], [0.0, 0.0]])
            sums, n = _joined_sums(sums, n, numbers, n_missing), n + n_missing
        if not n:
            return math.nan, math.nan
        mean = float(sums[0, 0] / n + sums[0, 1] / n)
        if n == 1 or math.isinf(mean):
            return mean, math.nan
        return mean, NORMAL_95 * math.sqrt(float(sums[1].sum()) / (n - 1) / n)

    def counts(self) -> dict[str, EventCounts]:
        """Count the events for which each metric is defined and undefined."""
        totals = self._settled()
        counts = dict.fromkeys(self.request.definitions, EventCounts(totals.n_events, 0))
        for text, n in zip(self._texts, totals.n_defined.tolist(), strict=True):
            if self.request.definitions[text].undefined not in NUMBERS:
                counts[text] = EventCounts(n, totals.n_events - n)
        return counts

    def invalid_items(self) -> InvalidItems:
        """Count the invalid items in the rankings of all events."""
        return self._settled().invalid

    @property
    def swallowed(self) -> tuple[int, int]:
        """Events whose relevant items are all excluded, and those that have any."""
        return self._settled().swallowed

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Export the totals as plain arrays."""
        named = named_arrays(self.schema, self.request)
        totals = self._settled()
        arrays: dict[str, npt.NDArray[Any]] = {
            **named,
            "keep": np.array(self.keep, np.str_),
            "n_items": np.array(-1 if totals.n_items is None else totals.n_items),
            "n_events": np.array(totals.n_events),
            "swallowed": np.array(totals.swallowed),
            "invalid": np.array(totals.invalid),
            "values": totals.values,
            "n_defined": totals.n_defined,
            "sums": totals.sums,
        }
        return arrays if totals.exposure is None else arrays | totals.exposure.arrays()

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "EventResults":
        """Read the arrays of ``state``."""
        names = (
            *("keep", "n_items", "n_events", "swallowed"),
            *("invalid", "values", "n_defined", "sums"),
        )
        with reading_state(state, names, "StreamEvaluator") as (fields, (request, data)):
            n_items, n_events = int(fields["n_items"].item()), int(fields["n_events"].item())
            known = None if n_items == -1 else n_items
            if fields["n_defined"].dtype.kind not in "iu":
                msg = "n_defined does not fit"
                raise ValueError(msg)
            results = cls(request, known, fields["keep"].item(), data)
            swallowed, of = fields["swallowed"].tolist()
            is_kept = results.keep == "values"
            totals = Totals(
                n_events=n_events,
                n_items=known,
                swallowed=(int(swallowed), int(of)),
                invalid=InvalidItems(*map(int, fields["invalid"].tolist())),
                chunks=(fields["values"].astype(np.float64),) if is_kept else (),
                n_defined=fields["n_defined"].astype(np.int64),
                sums=fields["sums"].astype(np.float64),
                exposure=None,
            )
            results._check(totals, fields["values"].shape)
            if request.of_exposure and n_events:
                exposure = exposures(request, request.cutoffs(known))
                try:
                    exposure.read(state)
                except KeyError as error:
                    msg = f"it lacks {error}"
                    raise ValueError(msg) from None
                totals = totals._replace(exposure=exposure)
        results._kept = _Kept(totals)
        return results

    def _check(self, totals: Totals, shape: tuple[int, ...]) -> None:
        """Refuse arrays from outside that are not the totals of these metrics."""
        n_metrics, n_events = len(self._texts), totals.n_events
        n_defined = totals.n_defined
        is_right = {
            "n_items": totals.n_items is None or totals.n_items >= 0,
            "n_events": n_events >= 0,
            "values": shape == (n_metrics, n_events if self.keep == "values" else 0),
            "n_defined": n_defined.shape == (n_metrics,)
            and bool(np.all((n_defined >= 0) & (n_defined <= n_events))),
            "invalid": min(totals.invalid) >= 0,
            "sums": totals.sums.shape == (n_metrics, 2, 2)
            and not (np.isnan(totals.sums[:, 0]).any() or (totals.sums[:, 1, 0] < 0).any()),
        }
        for name, fitting in is_right.items():
            if not fitting:
                msg = f"{name} does not fit"
                raise ValueError(msg)


def _together(last: Entry, entry: Entry) -> Entry | None:
    """The entry as one that waits behind the last one, or None where it must not."""
    if isinstance(last, Totals) or isinstance(entry, Totals) or not last.joins(entry):
        return None
    size = tuple(own + others for own, others in zip(entry.size, last.size, strict=True))
    n_waiting = last.n_waiting + 1
    return entry._replace(size=size, n_waiting=n_waiting) if fits(size, n_waiting) else None


def _runs(entries: Sequence[Entry]) -> list[list[Batch] | Totals]:
    """Cut a log into batches whose metrics can be computed together, and totals."""
    runs: list[list[Batch] | Totals] = []
    for entry in entries:
        last = runs[-1] if runs else None
        if isinstance(entry, Totals):
            runs.append(entry)
        elif isinstance(last, list) and last[-1].joins(entry):
            last.append(entry)
        else:
            runs.append([entry])
    return runs


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
