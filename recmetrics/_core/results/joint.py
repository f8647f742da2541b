"""Sums over events of the values of each model, and of each pair of models together.

From them follow the bounds of a mean, and of the mean of new - share x old for any share. They hold
no value of an event, and those of parts of the events join to those of all.

A *sample* is a group of events with a model, and for a pair the model that comes before it by name.
It has two variables: the value of that earlier model, 0 without one, and the difference of the
model from it. Differences are kept since old and new are nearly equal: from sums of both, the
spread of new - old would have no digits left. Distances are those from the mean of a variable.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._core.results.rounding import ROUNDING, with_equal_values, with_exact_ends
from recmetrics._core.results.saved import Arrays, checked_array
from recmetrics._core.threads import without_warnings
from recmetrics._core.types import FloatArray, IntArray

Sample: TypeAlias = tuple[Any, str, str | None]  # group, None for all; model; the earlier model
_N_POWERS = 4  # from 0 to 3
# Row i has the terms of (d + s)^i, as a polynomial in d, without its last: 1, 2 s and so on.
_BINOMIALS = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 2, 0, 0], [1, 3, 3, 0]], np.float64)
_EXPONENTS = np.maximum(0, np.subtract.outer(np.arange(_N_POWERS), np.arange(_N_POWERS)))

# The dtype of each array of sums, and its axes after samples, metrics.
_ARRAYS: dict[str, tuple[type, tuple[int, ...]]] = {
    "counts": (np.int64, (4,)),
    "ends": (np.float64, (2,)),
    "at_ends": (np.int64, (2,)),
    "side_weights": (np.float64, (2,)),
    "end_weights": (np.float64, (2,)),
    "totals": (np.float64, (2, 2)),
    "tables": (np.float64, (3, _N_POWERS, _N_POWERS, 2)),
}


class JointSums(NamedTuple):
    """Counts and sums of samples; the axes of each array begin with samples, metrics."""

    samples: tuple[Sample, ...]
    # (..., 4) events in the group, with a value, and with a value of the model, or a difference,
    # above and below 0
    counts: IntArray
    ends: FloatArray  # (..., 2) the least difference, and the least negated one
    at_ends: IntArray  # (..., 2) the events that have it
    side_weights: FloatArray  # (..., 2) the weight of the events above 0, and of those below
    end_weights: FloatArray  # (..., 2) the weight of the events that have an end
    totals: FloatArray  # (..., 2, 2) of weight x variable, each a pair
    # (..., 3, 4, 4, 2) of weight^p x the distances of both variables to the powers 0 to 3, p from 1
    tables: FloatArray

    @classmethod
    def none(cls, samples: tuple[Sample, ...], n_metrics: int) -> Self:
        """Make the sums of no event."""
        arrays: dict[str, Any] = {
            name: np.zeros((len(samples), n_metrics, *shape), dtype)
            for name, (dtype, shape) in _ARRAYS.items()
        }
        arrays["ends"][...] = np.inf
        return cls(samples, **arrays)

    @classmethod
    @without_warnings
    def of(
        cls,
        values: Mapping[str, FloatArray],
        bounds: Sequence[tuple[float, float]],
        groups: Mapping[Any, Any],
        weights: FloatArray,
        rounding: Any = ROUNDING,
    ) -> Self:
        """Sum the values, (metrics, events), of each model by name.

        ``bounds`` are the least and the greatest value of each metric. ``groups`` index the events
        of each group; None is that of all events. ``weights`` are those of the events, (events,),
        above 0 in groups. Values are equal if they differ by at most ``rounding``, a share of their
        size: one number or that of each metric, (metrics, 1).
        """
        pairs: list[tuple[str, str | None]] = [(model, None) for model in values]
        pairs += [(model, earlier) for earlier, model in combinations(sorted(values), 2)]

        bound_arrays = np.reshape(bounds, (-1, 2)).T[..., np.newaxis]
        exact_values = {
            model: with_exact_ends(array, bound_arrays, rounding) for model, array in values.items()
        }

        sums = {}
        for group, events in groups.items():
            for model, earlier in pairs:
                of_earlier = np.zeros((1, 1))
                model_values = exact_values[model][:, events]
                difference = model_values
                if earlier is not None:
                    of_earlier = exact_values[earlier][:, events]
                    equalised = with_equal_values(model_values, of_earlier, bound_arrays, rounding)
                    difference = equalised - of_earlier
                sums[group, model, earlier] = _sums(of_earlier, difference, weights[events])
        arrays: list[Any] = [np.stack(column) for column in zip(*sums.values(), strict=True)]
        return cls(tuple(sums), *arrays)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order given; "" for the only one of a stream."""
        return tuple(dict.fromkeys(model for _, model, _ in self.samples))

    @property
    def groups(self) -> set[Any]:
        """The labels of the groups; empty without groups."""
        return {group for group, _, _ in self.samples} - {None}

    def in_order(self, places: list[int]) -> Self:
        """Put the metrics into another order, that of their ``places`` in these sums."""
        arrays: list[Any] = [array[:, places] for array in self[1:]]
        return type(self)(self.samples, *arrays)

    def with_samples(self, samples: tuple[Sample, ...]) -> Self:
        """These sums for ``samples``, which are 0 for those that this one has not."""
        if samples == self.samples:
            return self
        sums = self.none(samples, self.counts.shape[1])
        places = dict(zip(samples, range(len(samples)), strict=True))
        rows = [places[sample] for sample in self.samples]
        for array, own_array in zip(sums[1:], self[1:], strict=True):
            array[rows] = own_array
        return sums

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The sums of the events of all parts."""
        parts_by_samples: dict[tuple[Sample, ...], list[Self]] = {}
        for part in parts:
            parts_by_samples.setdefault(part.samples, []).append(part)
        sums, *other_sums = map(cls._joined_alike, parts_by_samples.values())
        for other in other_sums:
            samples = tuple(dict.fromkeys(sums.samples + other.samples))
            sums = cls._joined_alike([sums.with_samples(samples), other.with_samples(samples)])
        return sums

    @classmethod
    @without_warnings
    def _joined_alike(cls, parts: Sequence[Self]) -> Self:
        """Join parts with the same samples at once (Pebay 2008, of moments about the mean of all).

        For 250 parts of one metric, that takes a tenth of the time of 249 pairs.
        """
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(part[1:] for part in parts), strict=True)
        stacked_arrays: list[Any] = [np.stack(column) for column in columns]
        # As the class says, but each array has a first axis, over the parts.
        stacked = cls(parts[0].samples, *stacked_arrays)
        ends = stacked.ends.min(axis=0)
        has_end = stacked.ends == ends
        sums = cls(
            stacked.samples,
            counts=stacked.counts.sum(axis=0),
            ends=ends,
            at_ends=np.where(has_end, stacked.at_ends, 0).sum(axis=0),
            side_weights=stacked.side_weights.sum(axis=0),
            end_weights=np.where(has_end, stacked.end_weights, 0.0).sum(axis=0),
            totals=_summed_pairs(stacked.totals),
            tables=_summed_pairs(stacked.tables),  # each about the mean of its part so far
        )
        # These shifts, summed after the pairs are subtracted, put them about the mean of all.
        shifts = np.subtract(_means(stacked), _means(sums)).sum(axis=-1)
        gain = _gain(stacked.tables[..., 0], shifts).sum(axis=0)
        gain_as_pairs = np.stack([gain, np.zeros_like(gain)], axis=-1)
        tables = added(sums.tables, gain_as_pairs)
        return sums._replace(tables=_without_negative_squares(tables))

    def arrays(self) -> Arrays:
        """The sums as plain arrays, by name; the samples as text of JSON."""
        samples = np.array([json.dumps(sample) for sample in self.samples])
        return self._asdict() | {"samples": samples}

    @classmethod
    def read(cls, fields: Arrays, n_metrics: int, n_rows: int) -> Self:
        """Read the arrays that ``arrays`` gave; a ValueError names one that does not fit."""
        samples = tuple(map(_read_sample, fields["samples"].tolist()))
        arrays: dict[str, Any] = {}
        for name, (dtype, shape) in _ARRAYS.items():
            saved_shape = len(samples), n_metrics, *shape
            saved = checked_array(name, fields[name], np.dtype(dtype).kind, saved_shape, 0, n_rows)
            arrays[name] = saved.astype(dtype)
        sums = cls(samples, **arrays)
        squares = sums.tables[..., 0, (0, 2), (2, 0), 0]
        for name, is_wrong in (("totals", np.isnan(sums.totals)), ("tables", squares < 0)):
            if is_wrong.any():
                msg = f"{name} does not fit"
                raise ValueError(msg)
        return sums


@functools.lru_cache(maxsize=1024)  # a decision reads the states of thousands of parts
def _read_sample(text: str) -> Sample:
    """Read a sample from its text of JSON."""
    group, model, earlier = json.loads(text)
    return group, model, earlier


def _sums(
    earlier: FloatArray, difference: FloatArray, weights: FloatArray
) -> tuple[npt.NDArray[Any], ...]:
    """The counts and sums of one sample in the order of the fields, the first axis metrics.

    ``earlier`` and ``difference`` are the values of its variables, (metrics, events), or (1, 1) for
    an ``earlier`` that is 0.
    """
    is_defined = ~np.isnan(difference)
    n_metrics = len(difference)
    signed = np.where(is_defined, [difference, -difference], np.inf)
    ends = signed.min(axis=-1, initial=np.inf)
    has_end = is_defined & (signed == ends[..., np.newaxis])
    at_ends = np.count_nonzero(has_end, axis=-1)

    defined_weights = weights * is_defined
    total_weight = _or_one(defined_weights.sum(axis=-1))
    totals = np.zeros((n_metrics, 2, 2))
    powers_of_earlier = np.ones((n_metrics, 1, len(weights)))  # the powers of 0 that are not 0
    if earlier.shape == difference.shape:
        values = np.where(is_defined, earlier, 0.0)
        totals[:, 0] = _summed(defined_weights * values)
        powers_of_earlier = _powers(values, totals[:, 0, 0] / total_weight)
    values = np.where(is_defined, difference, 0.0)
    totals[:, 1] = _summed(defined_weights * values)
    powers = _powers(values, totals[:, 1, 0] / total_weight)

    tables = np.zeros((n_metrics, 3, _N_POWERS, _N_POWERS, 2))
    n_powers = powers_of_earlier.shape[1]
    is_weighted = bool(np.any(weights != 1))
    for power in range(3):
        if power and not is_weighted:
            tables[:, power] = tables[:, 0]
            continue
        weighted = powers * (defined_weights * weights**power)[:, np.newaxis]
        table = np.einsum("mie,mje->mij", powers_of_earlier, weighted)
        tables[:, power, :n_powers, :, 0] = table
    if is_weighted:
        tables[:, 0, 0, 0] = _summed(defined_weights)
    # The sums of distances would be 0 if the means were not rounded.
    rest = tables[:, 0, (1, 0), (0, 1), 0] / total_weight[:, np.newaxis]
    tables[..., 0] += _gain(tables[..., 0], -rest)
    tables = _without_negative_squares(tables)
    is_on_side = np.stack([difference > 0, difference < 0])
    masks = [np.ones_like(is_defined), is_defined, *is_on_side]
    counts = np.count_nonzero(np.stack(masks, axis=1), axis=-1)
    side_weights = is_on_side @ weights
    end_weights = has_end @ weights
    return counts, ends.T, at_ends.T, side_weights.T, end_weights.T, totals, tables


def _without_negative_squares(tables: FloatArray) -> FloatArray:
    """Put 0 for sums of squared distances (..., 3, 4, 4, 2) that rounding made negative."""
    squares = tables[..., (0, 2), (2, 0), :]
    tables[..., (0, 2), (2, 0), :] = np.where(squares[..., :1] < 0, 0.0, squares)
    return tables


def _powers(values: FloatArray, means: FloatArray) -> FloatArray:
    """The powers 0 to 3 of the distances of ``values`` (metrics, events) from the means."""
    distances = values - means[:, np.newaxis]
    squares = distances * distances
    return np.stack([np.ones_like(distances), distances, squares, squares * distances], axis=1)


def _summed(terms: FloatArray) -> FloatArray:
    """Sum the terms of each row, (rows, n), as a pair, (rows, 2): a float64 and its rounding error.

    Multiples of one power of two add up without rounding, and what they leave of the terms is less
    than the last digit of the sum (Rump, Ogita, Oishi 2008, ExtractVector). So the events may come
    in any batches.
    """
    largest = np.abs(terms).max(axis=-1, keepdims=True, initial=0.0)
    above_sum = np.ldexp(1.0, np.frexp(largest)[1] + terms.shape[-1].bit_length())
    multiples = (terms + above_sum) - above_sum
    rest = terms - multiples
    is_exact = np.isfinite(largest) & np.isfinite(above_sum)
    multiples = np.where(is_exact, multiples, terms)
    rest = np.where(is_exact, rest, 0.0)
    pairs = np.zeros((2, len(terms), 2))
    pairs[0, :, 0] = multiples.sum(axis=-1)
    pairs[1, :, 0] = rest.sum(axis=-1)
    return added(*pairs)


def _gain(tables: FloatArray, shift: FloatArray) -> FloatArray:
    """Compute the gain of tables (..., 3, 4, 4) where ``shift`` (..., 2) is added to distances.

    A sum of (d + s)^i grows by the terms of the binomial that have a power of s. Sums that are
    infinite gain nothing.
    """
    terms = _BINOMIALS * shift[..., np.newaxis, np.newaxis] ** _EXPONENTS
    of_earlier = terms[..., :1, :, :]
    of_difference = terms[..., 1:, :, :].swapaxes(-1, -2)
    gain_of_difference = tables @ of_difference
    gain = gain_of_difference + of_earlier @ (tables + gain_of_difference)
    return np.where(np.isnan(gain), 0.0, gain)


def _means(sums: JointSums) -> FloatArray:
    """The mean of each variable, as a pair."""
    return sums.totals / _or_one(sums.tables[..., 0, 0, 0, :1, np.newaxis])


def _or_one(weights: FloatArray) -> FloatArray:
    """The weights to divide by: 1 in the place of 0."""
    return np.where(weights > 0, weights, 1.0)


def _summed_pairs(pairs: FloatArray) -> FloatArray:
    """Sum pairs (n, ..., 2) over their first axis: half of them are added to the other half."""
    while len(pairs) > 1:
        half = len(pairs) // 2
        sums = added(pairs[:half], pairs[half : 2 * half])
        pairs = np.concatenate([sums, pairs[2 * half :]])
    total: FloatArray = pairs[0]
    return total


@without_warnings
def added(pairs: FloatArray, others: FloatArray) -> FloatArray:
    """Add two arrays (..., 2) of pairs: a float64 and its rounding error (Dekker 1971, add2).

    The rounding error of an infinite sum is 0.
    """
    high = pairs[..., 0] + others[..., 0]
    back = high - pairs[..., 0]  # the part of ``others`` that is in ``high``, the rest is lost
    lost = (pairs[..., 0] - (high - back)) + (others[..., 0] - back)
    low = np.where(np.isfinite(high), lost + pairs[..., 1] + others[..., 1], 0.0)
    total = high + low
    return np.stack([total, np.where(np.isfinite(high), low - (total - high), 0.0)], axis=-1)
