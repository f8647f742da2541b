"""Lists, read block by block during selection, so that memory does not grow with the users."""

from typing import NamedTuple, Protocol

import numpy as np

from recmetrics._core.inputs import Rows, Side
from recmetrics._core.jit import add_work
from recmetrics._core.selection.hits import WHOLE_LIST
from recmetrics._core.spec import Cutoffs, Request
from recmetrics._core.types import IntArray, UserValues

_ITEM_TIME = 0.3  # microseconds of Python for an item that a metric reads, at least, see ``jit``


class Lists(NamedTuple):
    """The lists of a block of users, and the relevant items of these users."""

    rows: slice  # the users
    items: IntArray  # (rows, width) best first
    length: IntArray  # (rows,) the number of items of each row; later entries are not read
    relevant: Rows
    ranks: IntArray | None = None  # (rows, width) of the items; None where they are 1, 2, 3, ...
    any_order: bool = False  # every order of the items has the same chance

    def to_rank(self, k: int) -> "Lists":
        """The lists cut behind rank ``k``; the kernel cuts them where ranks are 1, 2, 3, ..."""
        if self.ranks is None or k == WHOLE_LIST:
            return self
        is_among = (self.ranks <= k) & (np.arange(self.ranks.shape[1]) < self.length[:, np.newaxis])
        return self._replace(length=np.count_nonzero(is_among, axis=1))

    def n_read(self, k: int) -> IntArray:
        """The number of items of each list that a kernel reads with the cutoff ``k``, (rows,)."""
        return self.length if k == WHOLE_LIST else np.minimum(self.length, k)

    def by_rank(self, depth: int) -> tuple[IntArray, IntArray]:
        """The items (rows, width) with each at the place of its rank, and the lengths (rows,).

        Ranks go up to ``depth``; a rank without an item holds -1. Where ranks are 1, 2, 3, ..., the
        lists are returned as they are.
        """
        if self.ranks is None:
            return self.items, self.length
        lists = self.to_rank(depth)
        rows, places = np.nonzero(np.arange(self.ranks.shape[1]) < lists.length[:, np.newaxis])
        ranks = self.ranks[rows, places]
        width = int(ranks.max(initial=0))
        items = np.full((len(lists.length), width), -1, np.int64)
        items[rows, ranks - 1] = lists.items[rows, places]
        return items, np.full(len(items), width)


class Reader(Protocol):
    """A reader of the lists of a call, block by block; several threads call it at once."""

    depth: int  # the number of items of a list that it reads
    row_items: int  # the number of entries of a dense matrix that it reads for each list

    def offer(self, items: IntArray | slice) -> None:
        """Note the items that may be in the lists of a block."""

    def read(self, lists: Lists) -> None:
        """Read the lists of a block."""


class ListSink(Protocol):
    """A sink for the lists that system metrics are computed from, row block by row block."""

    def offer(self, items: IntArray | slice) -> None:
        """Note the items that may be in these lists."""

    def add(self, rows: slice, items: IntArray, length: IntArray) -> None:
        """Add the lists of a block of rows; an item of -1 is a rank without an item."""


class ListReader:
    """The metrics of one call that read lists; it passes the lists on to ``sink``."""

    def __init__(
        self,
        request: Request,
        side: Side,
        n_users: int,
        cutoffs: Cutoffs,
        sink: ListSink | None,
        relevant: Rows | None,
    ) -> None:
        # The relevant items of all users; None where the lists of a block have their relevances.
        self._relevant = relevant
        self.depth = cutoffs.lists or 0
        dense_sets = (sets for sets in side.of_users.values() if sets.is_dense)
        self.row_items = sum(int(sets.mean_items) for sets in dense_sets)
        self.values: dict[str, UserValues] = {}
        # Of each metric: its spec, what its kernel reads beside lists, the cutoff, and its values.
        self._metrics = []
        for text, (spec, _, _) in request.of_lists.items():
            k = cutoffs.of[text]
            out = self.values[text] = np.empty(n_users)
            # A kernel reads what its metric prepared, else its stratum, else the side information.
            side_data = side.prepared.get(spec, side.strata.get(spec.stratum or "", side))
            self._metrics.append((spec, side_data, k or WHOLE_LIST, out))
        self._sink = sink

    def offer(self, items: IntArray | slice) -> None:
        """Note the items that may be in the lists of a block."""
        if self._sink is not None:
            self._sink.offer(items)

    def read(self, lists: Lists) -> None:
        """Compute the metrics of the users of a block from their lists, and pass the lists on."""
        if self._relevant is not None:
            lists = lists._replace(relevant=self._relevant.take(lists.rows))
        for spec, side_data, k, out in self._metrics:
            add_work(_ITEM_TIME * float(lists.n_read(k).sum()))
            spec.metric.kernel(
                lists.to_rank(k), side_data, k, out[lists.rows], *spec.kernel_arguments
            )
        if self._sink is not None:
            self._sink.add(lists.rows, *lists.by_rank(self.depth))
