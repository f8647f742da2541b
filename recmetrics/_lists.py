"""What reads the lists themselves: metrics beyond accuracy, block by block as selection goes.

A block's lists are dropped once they are read: user metrics have written their values, system
metrics have added them to their Exposure. So memory does not grow with the number of users, even
where lists are whole rankings.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._exposure import Exposures
from recmetrics._itemsets import UNBOUNDED, Rows
from recmetrics._plan import Plan, cutoff
from recmetrics._side import Side
from recmetrics._spec import MetricSpec
from recmetrics._topk import IntArray


class Lists(NamedTuple):
    """The lists of a block of users, and what these users find relevant."""

    rows: slice  # the users
    items: IntArray  # (rows, width) best first
    length: IntArray  # (rows,) how many of a row are items; what follows is not read
    relevant: Rows


class ListSink(Protocol):
    """Where the lists go that system metrics are computed from, row block by row block."""

    def offer(self, rows: slice, items: IntArray | slice) -> None:
        """Note which items may be in these lists."""

    def add(self, rows: slice, items: IntArray, length: IntArray) -> None:
        """Take in the lists of a block of rows."""


class ListReader:
    """Runs the metrics of one call that read the lists.

    ``depth`` is how much of a list they read, 0 where no metric reads lists; ``row_items`` how many
    entries of a dense matrix they read beside each.
    """

    def __init__(
        self,
        plan: Plan,
        side: Side,
        n_users: int,
        sink: ListSink,
    ) -> None:
        self._side = side
        self._sink = sink
        self.values = {spec: np.empty(n_users) for spec in plan.listed}
        self._n_items = plan.n_items
        self._sinks = plan.has_system
        self.depth = plan.depth
        self.row_items = int(side.profile.mean_items) if side.profile.is_dense else 0

    def offer(self, rows: slice, items: IntArray | slice) -> None:
        """Note which items may be in the lists of a block."""
        if self._sinks:
            self._sink.offer(rows, items)

    def read(self, lists: Lists) -> None:
        """Take in one block; called in several threads at once."""
        for spec, values in self.values.items():
            k = 0 if spec.k is None else cutoff(spec, self._n_items)  # 0: the whole list
            spec.metric.kernel(lists, self._side, k, values[lists.rows], *spec.kernel_arguments)
        if self._sinks:
            self._sink.add(lists.rows, lists.items, lists.length)


def system_specs(specs: Iterable[MetricSpec]) -> list[MetricSpec]:
    """Those that read all lists together."""
    return [spec for spec in specs if spec.metric.kind == "system"]


def system_depth(specs: Iterable[MetricSpec], n_items: int) -> int:
    """How much of each list the system metrics among ``specs`` read, 0 without any."""
    return max((cutoff(spec, n_items) for spec in system_specs(specs)), default=0)


def exposures(specs: Iterable[MetricSpec], n_items: int) -> Exposures:
    """An empty state for the system metrics among ``specs``."""
    sums: dict[int, frozenset[str]] = {}
    for spec in system_specs(specs):
        if n_items == UNBOUNDED:
            raise ArgumentError(_unknown_catalogue(spec))
        depth = cutoff(spec, n_items)
        sums[depth] = sums.get(depth, frozenset()) | spec.metric.sums
    return Exposures(n_items, sums)


def _unknown_catalogue(spec: MetricSpec) -> str:
    return (
        f"{spec} needs the size of the catalogue, which a truth of item indices does not tell; "
        "give truth as a matrix (n_users, n_items), dense or sparse"
    )
