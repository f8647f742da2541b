"""Exposure: how often each item is in a list, the state behind every metric of all lists.

The state is sums of integers, so the order in which lists are added does not matter: the merged
states of threads, batches, processes and machines have the bits of one call over all lists.
A weight w in (0, 1] is added as the integer round(w 2^52), in two halves of 26 bits, each summed
in an int64 of its own: exact for 2^36 lists, with each weight within 2^-53.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.jit import add_work, kernel
from recmetrics._core.selection.hits import discounts
from recmetrics._core.spec import Cutoffs, Request
from recmetrics._core.types import BoolArray, FloatArray, IntArray

# The name of a weighted sum says its weights. "cosine": 1 / sqrt(items in the list). Others are
# discounts of the ranks by their name; the discount p^(rank - 1) has the number p for a name.
COSINE = "cosine"
Weights = str | float
_SUM_TIME = 0.5  # microseconds of Python for each sum that an item of a list adds to, see ``jit``
_HALF_BITS = 26  # of each half of the integer of a weight
_LOWER_HALF = (1 << _HALF_BITS) - 1  # the mask of the lower half
_WEIGHT_ONE = float(1 << (2 * _HALF_BITS))  # the integer of the weight 1


def _fixed(weights: FloatArray) -> IntArray:
    """The integers round(w 2^52) of the weights."""
    return np.rint(weights * _WEIGHT_ONE).astype(np.int64)


@kernel
def _add_lists(
    items: IntArray,
    length: IntArray,
    depth: int,
    count: IntArray,
    cosine: IntArray,
    cosine_weights: IntArray,
    ranked: IntArray,
    rank_weights: IntArray,
) -> int:
    """Add the items of the first ``depth`` ranks of each list; returns how many lists have any.

    An item of -1 is a rank without an item. ``count`` (items,) gets the lists with each item. A
    weighted sum has the upper and the lower halves of weights in two rows: ``cosine`` (2, items)
    gets the weight of the list, which ``cosine_weights`` holds by its number of items - 1, and is
    left out where that is empty; ``ranked`` (sums, 2, items) gets the weights of the ranks, which
    ``rank_weights`` (sums, depth) holds.
    """
    n_lists = 0
    for user in range(length.size):
        cut = min(depth, length[user])
        n_listed = 0
        for i in range(cut):
            n_listed += items[user, i] >= 0
        n_lists += n_listed > 0
        for i in range(cut):
            item = items[user, i]
            if item < 0:
                continue
            count[item] += 1
            if cosine_weights.size > 0:
                cosine[0, item] += cosine_weights[n_listed - 1] >> _HALF_BITS
                cosine[1, item] += cosine_weights[n_listed - 1] & _LOWER_HALF
            for j in range(rank_weights.shape[0]):
                ranked[j, 0, item] += rank_weights[j, i] >> _HALF_BITS
                ranked[j, 1, item] += rank_weights[j, i] & _LOWER_HALF
    return n_lists


@dataclass
class Exposure:
    """The number of lists with each item among the first ``depth``, and weighted sums of them.

    The sums are exact: of integers.
    """

    n_items: int
    depth: int
    sums: frozenset[Weights] = frozenset()  # the names of the weighted sums beside the counts
    n_lists: int = 0  # without empty lists
    count: IntArray = field(init=False)  # (n_items,)
    offered: BoolArray = field(init=False)  # (n_items,) items that may be in a list

    def __post_init__(self) -> None:
        self.count = np.zeros(self.n_items, np.int64)
        self.offered = np.zeros(self.n_items, np.bool_)
        has_cosine = COSINE in self.sums
        ranks = np.arange(1.0, self.depth + 1.0 if has_cosine else 1.0)
        self._cosine = np.zeros((2, self.n_items if has_cosine else 0), np.int64)
        self._cosine_weights = _fixed(1.0 / np.sqrt(ranks))
        self._rank_sums: list[Any] = sorted(self.sums - {COSINE}, key=str)
        self._ranked = np.zeros((len(self._rank_sums), 2, self.n_items), np.int64)
        weights = np.zeros((len(self._rank_sums), self.depth))
        for row, name in zip(weights, self._rank_sums, strict=True):
            if isinstance(name, str):
                row[:] = discounts(name, self.depth)
            else:
                row[:] = name ** np.arange(0.0, self.depth)
        self._rank_weights = _fixed(weights)

    def add(self, items: IntArray, length: IntArray) -> None:
        """Add lists: row u is ``items[u, :length[u]]``, best first, -1 at ranks without an item."""
        n_read = float(np.minimum(length, self.depth).sum())
        add_work(_SUM_TIME * n_read * (1 + len(self.sums)))
        sums = self._cosine, self._cosine_weights, self._ranked, self._rank_weights
        n_lists = _add_lists(items, length, self.depth, self.count, *sums)
        self.n_lists += int(n_lists)  # a NumPy number where kernels are not compiled

    def offer(self, items: IntArray | slice) -> None:
        """Note the items that may be in a list: the catalogue."""
        self.offered[items] = True

    def merge(self, other: "Exposure") -> None:
        """Add the lists of another state, with the bits of adding all lists to one state."""
        self.n_lists += other.n_lists
        self.count += other.count
        self.offered |= other.offered
        self._cosine += other._cosine
        self._ranked += other._ranked

    def arrays(self) -> dict[str, IntArray | BoolArray]:
        """The state as arrays to save, by names that tell the cutoff."""
        arrays = {
            "n_lists": np.array(self.n_lists),
            "count": self.count,
            "offered": self.offered,
            "cosine": self._cosine,
            "ranked": self._ranked,
        }
        return {f"exposure_{self.depth}_{name}": array for name, array in arrays.items()}

    def read(self, arrays: Mapping[str, Any]) -> None:
        """Read the arrays of a saved state; a ValueError or KeyError where one does not fit."""
        for name, array in self.arrays().items():
            saved = np.asarray(arrays[name])
            if not saved.size and not array.size:
                continue  # a list of JSON does not keep its shape
            if saved.shape != array.shape or saved.dtype != array.dtype:
                msg = f"{name} does not fit"
                raise ValueError(msg)
            array[...] = saved
        self.n_lists = int(arrays[f"exposure_{self.depth}_n_lists"])

    def weighted(self, name: Weights) -> FloatArray:
        """The weighted sum of that name for each item, (n_items,)."""
        halves = self._cosine if name == COSINE else self._ranked[self._rank_sums.index(name)]
        high, low = halves.astype(np.float64)
        return np.ldexp(high, -_HALF_BITS) + np.ldexp(low, -2 * _HALF_BITS)


class Exposures:
    """The exposure at each cutoff that the metrics of all lists of a call ask for."""

    def __init__(self, n_items: int, sums: Mapping[int, frozenset[Weights]]) -> None:
        self._at = {cutoff: Exposure(n_items, cutoff, names) for cutoff, names in sums.items()}
        self._lock = threading.Lock()

    def at(self, cutoff: int) -> Exposure:
        """The exposure of the items of lists cut at ``cutoff``."""
        return self._at[cutoff]

    def offer(self, items: IntArray | slice) -> None:
        """Note the items that may be in lists; several threads call it at once."""
        with self._lock:
            for exposure in self._at.values():
                exposure.offer(items)

    def add(self, rows: slice, items: IntArray, length: IntArray) -> None:  # noqa: ARG002
        """Add the lists of these rows; several threads call it at once."""
        with self._lock:
            for exposure in self._at.values():
                exposure.add(items, length)

    def merge(self, other: "Exposures") -> None:
        """Add the lists of another state, with the bits of adding all lists to one state."""
        for cutoff, exposure in self._at.items():
            exposure.merge(other.at(cutoff))

    def arrays(self) -> dict[str, IntArray | BoolArray]:
        """The states of all cutoffs as arrays to save."""
        arrays: dict[str, IntArray | BoolArray] = {}
        for exposure in self._at.values():
            arrays |= exposure.arrays()
        return arrays

    def read(self, arrays: Mapping[str, Any]) -> None:
        """Read the arrays of saved states; a ValueError or KeyError where one does not fit."""
        for exposure in self._at.values():
            exposure.read(arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {"_at": self._at}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())


def exposures(request: Request, cutoffs: Cutoffs) -> Exposures:
    """Make an empty state for the metrics of all lists that a call asks for."""
    n_items = cutoffs.n_items
    sums: dict[int, frozenset[Any]] = {}  # the names of the weighted sums at each cutoff
    for text, (spec, _, _) in request.of_exposure.items():
        if n_items is None:
            msg = (
                f"{spec} needs the size of the catalogue, which a truth of item indices does not "
                "give; give n_items=, or truth as a matrix (n_users, n_items), dense or sparse"
            )
            raise ArgumentError(msg)
        depth = cutoffs.of[text]
        if depth is None:
            depth = n_items
        sums[depth] = sums.get(depth, frozenset()) | {*spec.metric.exposure_sums(spec.values)}
    return Exposures(n_items or 0, sums)
