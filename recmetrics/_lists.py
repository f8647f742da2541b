"""What reads the lists themselves: metrics beyond accuracy, block by block as selection goes.

A block's lists are dropped once they are read: user metrics have written their values, system
metrics have added them to their Exposure. So memory does not grow with the number of users, even
where lists are whole rankings.
"""

import threading
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._exposure import Exposure
from recmetrics._itemsets import Rows
from recmetrics._options import UserValues
from recmetrics._side import Side
from recmetrics._spec import MetricSpec
from recmetrics._topk import IntArray


class Lists(NamedTuple):
    """The lists of a block of users, and what these users find relevant."""

    rows: slice  # the users
    items: IntArray  # (rows, width) best first
    length: IntArray  # (rows,) how many of a row are items; what follows is not read
    relevant: Rows


class ListReader:
    """Runs the metrics of one call that read the lists.

    ``depth`` is how much of a list they read, 0 where no metric reads lists; ``row_items`` how many
    entries of a dense matrix they read beside each.
    """

    def __init__(
        self, specs: Iterable[MetricSpec], side: Side, n_users: int, n_items: int | None
    ) -> None:
        # Lists are no longer than the catalogue; where that is unknown, as long as they are.
        limit = np.iinfo(np.int64).max if n_items is None else n_items
        self._side = side
        self._cutoffs: dict[MetricSpec, int] = {}
        self._values: dict[MetricSpec, UserValues] = {}
        self._exposures: dict[int, Exposure] = {}
        self._lock = threading.Lock()
        sums: dict[int, frozenset[str]] = {}
        for spec in specs:
            cutoff = limit if spec.k is None else max(1, min(spec.k, limit))
            if spec.metric.kind == "list":
                self._cutoffs[spec] = cutoff
                self._values[spec] = np.empty(n_users)
            elif spec.metric.kind == "system":
                if n_items is None:
                    raise ArgumentError(_unknown_catalogue(spec))
                self._cutoffs[spec] = cutoff
                sums[cutoff] = sums.get(cutoff, frozenset()) | spec.metric.sums
        for cutoff, names in sums.items():
            self._exposures[cutoff] = Exposure(limit, cutoff, names)
        self.depth = max(self._cutoffs.values(), default=0)
        self.row_items = int(side.profile.mean_items) if side.profile.is_dense else 0

    def offer(self, items: IntArray | slice) -> None:
        """Note which items may be in the lists of a block."""
        with self._lock:
            for exposure in self._exposures.values():
                exposure.offer(items)

    def read(self, lists: Lists) -> None:
        """Take in one block; called in several threads at once."""
        for spec, values in self._values.items():
            whole = spec.k is None
            cutoff = 0 if whole else self._cutoffs[spec]  # kernels read 0 as the whole list
            spec.metric.kernel(lists, self._side, cutoff, values[lists.rows], *_codes(spec))
        with self._lock:
            for exposure in self._exposures.values():
                exposure.add(lists.items, lists.length)

    def value(self, spec: MetricSpec) -> UserValues:
        """The values of a metric, once all blocks are read."""
        if spec.metric.kind == "list":
            return self._values[spec].copy()
        exposure = self._exposures[self._cutoffs[spec]]
        return np.array(spec.metric.kernel(exposure, *_codes(spec)))


def _codes(spec: MetricSpec) -> list[float | int]:
    """The options as kernels read them, in the order of the method."""
    return [option.code(spec.values[name]) for name, option in spec.metric.options.items()]


def _unknown_catalogue(spec: MetricSpec) -> str:
    return (
        f"{spec} needs the size of the catalogue, which a truth of item indices does not tell; "
        "give truth as a matrix (n_users, n_items), dense or sparse"
    )
