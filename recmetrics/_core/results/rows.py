"""The row of each user: values, and lists; a later batch replaces those of the same user.

So a user who is added twice, as by distributed samplers that pad, counts once. For this, metrics of
all lists need the lists of each user: sums per item could not remove the first list again.

An item is *offered* if it may be in a list of at least one user. *Invalid* items are the repeats
and the unknown items of rankings, see ``InvalidItems``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import InvalidItems, as_indices
from recmetrics._core.results.saved import Arrays, Schema, checked_array
from recmetrics._core.selection import Exposures, Lists, exposures
from recmetrics._core.spec import Request
from recmetrics._core.threads import row_blocks
from recmetrics._core.types import BoolArray, FloatArray, IntArray

_SUMMED_ITEMS = 1 << 20  # items of lists whose sums are computed at once: 8 MB


def item_dtype(n_items: int) -> type[np.signedinteger[Any]]:
    """Choose the smallest dtype that holds every item index of a catalogue, and -1."""
    return np.int32 if n_items < 1 << 31 else np.int64


class KeptLists:
    """The lists of one batch, kept as they are; an ``Exposures`` adds lists up instead.

    Selection gives it the first ``depth`` items of each list, in blocks of rows: by ``add`` as a
    sink beside the metrics of lists, by ``read`` as a reader of its own.
    """

    row_items = 0  # as a reader of lists, it reads no entries of a dense matrix for a list

    def __init__(self, n_users: int, n_items: int, depth: int) -> None:
        self._n_users = n_users
        self.depth = depth
        self._blocks: list[tuple[slice, IntArray, IntArray]] = []  # rows, items, list lengths
        self.offered = np.zeros(n_items if depth else 0, np.bool_)

    def offer(self, items: IntArray | slice) -> None:
        """Note items that may be in a list. Threads may do so at once: all of them write True."""
        self.offered[items] = True

    def add(self, rows: slice, items: IntArray, length: IntArray) -> None:
        """Keep the lists of a block: (rows, width) items, and the ``length`` of each list."""
        self._blocks.append((rows, items, length))

    def read(self, lists: Lists) -> None:
        """Keep the first ``depth`` items of the lists of a block."""
        self.add(lists.rows, *lists.by_rank(self.depth))

    def joined(self) -> IntArray:
        """Join the lists of all blocks: (n_users, longest) items, -1 after the end of a list."""
        longest = max((int(length.max(initial=0)) for _, _, length in self._blocks), default=0)
        lists = np.full((self._n_users, min(self.depth, longest)), -1, np.int64)
        for rows, items, length in self._blocks:
            width = min(lists.shape[1], items.shape[1])
            is_item = np.arange(width) < length[:, np.newaxis]
            lists[rows, :width] = np.where(is_item, items[:, :width], -1)
        return lists


class Events(NamedTuple):
    """The groups and weights of the events of a batch, and the batches of its other models."""

    models: tuple[str, ...]  # their names; "" for the only one of a stream
    labels: npt.NDArray[Any]  # (events,) their groups; (0,) if they have none
    weights: FloatArray  # (events,)
    others: tuple["Batch", ...] = ()  # of the same events, for all models but the first


class Batch(NamedTuple):
    """A batch of users or events; each of them is a row."""

    values: Any  # (metrics, rows); or a ``Selection``, whose metrics are still to be computed
    lists: IntArray  # (rows, width) -1 after the end of a list
    offered: BoolArray  # (n_items,)
    invalid: IntArray | None  # (2, rows) repeats and unknown items; None where they are errors
    size: tuple[int, int, int]  # rows, relevant items, bytes of lists and values
    n_items: int | None
    # events whose relevant items are all excluded, those with any, and all relevant items
    swallowed: tuple[int, int, int]
    users: Any = None  # a ``UserIndex``; None for events
    events: Any = None  # ``Events``; None for users


class UserRows(NamedTuple):
    """The rows of some users; its field names are those of the saved arrays."""

    users: IntArray
    values: FloatArray  # (metrics, users)
    lists: IntArray  # (users, width) -1 after the end of a list
    offered: BoolArray  # (n_items,)
    invalid: IntArray | None = None  # (2, users) repeats and unknown items, where there were any

    def in_order(self, places: list[int]) -> Self:
        """The same rows, with the metrics in the order of their ``places`` in this one."""
        return self._replace(values=self.values[places])

    def batch(self) -> Batch:
        """The rows as a batch, which has no relevant items to wait for."""
        size = len(self.users), 0, self.lists.nbytes + self.offered.nbytes
        return Batch(*self[1:], size, None, (0, 0, 0), self.users)

    def arrays(self) -> Arrays:
        """The rows as plain arrays, by name; ``invalid`` is (2, 0) where it is None."""
        arrays = self._asdict()
        if self.invalid is None:
            arrays["invalid"] = np.zeros((2, 0), np.int64)
        return arrays

    @classmethod
    def read(cls, fields: Arrays, request: Request, schema: Schema) -> Self:
        """Read the arrays that ``arrays`` gave; a ValueError names one that does not fit."""
        users, values, lists, offered, invalid = (fields[name].copy() for name in cls._fields)
        n_users = schema.shape[0] or 0
        n_items = schema.shape[1] or 0
        depth = request.cutoffs(n_items).exposure
        n_rows = users.size
        users = checked_array("users", users, "iu", (n_rows,), 0, n_users - 1)
        values = checked_array("values", values, "f", (len(request.per_user), n_rows))
        # Items are checked here, since kernels do not check them. A rank with -1 has no item.
        lists = checked_array(
            "lists", lists, "iu", (n_rows, min(lists.shape[-1], depth)), -1, n_items - 1
        )
        offered = checked_array("offered", offered, "b", (n_items if depth else 0,))
        if not invalid.size:
            return cls(users, values, lists, offered)
        checked_array("invalid", invalid, "iu", (2, n_rows), 0)
        return cls(users, values, lists, offered, invalid)


class UserTable:
    """The rows of all users, in arrays. Writing the same batches again changes nothing.

    A table of a part has rows of the users in ``of_part`` alone, in ascending order. It becomes one
    of all users where others come.
    """

    def __init__(
        self, request: Request, n_users: int, n_items: int, of_part: IntArray | None = None
    ) -> None:
        self._of_all = request, n_users, n_items
        self.of_part = of_part
        if of_part is not None:
            n_users = len(of_part)
        self._cutoffs = request.cutoffs(n_items)
        depth = self._cutoffs.exposure
        # (metrics, users) NaN where undefined or never updated
        self.values: FloatArray = np.full((len(request.per_user), n_users), np.nan)
        self.updated: BoolArray = np.zeros(n_users, np.bool_)
        self.lists: IntArray = np.empty((n_users, 0), item_dtype(n_items))
        self.offered: BoolArray = np.zeros(n_items if depth else 0, np.bool_)
        self.invalid: IntArray | None = None  # (2, users), where there were any

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy arrays that cannot be written, such as those of a file that joblib maps."""
        for name, array in state.items():
            if isinstance(array, np.ndarray):
                state[name] = np.require(array, requirements="W")
        vars(self).update(state)

    def plus(self, batches: Sequence[Batch], values: FloatArray, request: Request) -> Self:
        """Write batches into this table, and return it; of a user the last row counts.

        ``values`` are those of all batches, (metrics, rows). Users outside a part are written into
        a table of all users, which is returned.
        """
        if self.of_part is not None:
            users_of_batches = [as_indices(batch.users) for batch in batches]
            if not np.isin(np.concatenate(users_of_batches), self.of_part).all():
                return self.whole().plus(batches, values, request)
            batches = [
                batch._replace(users=np.searchsorted(self.of_part, users_of_batch))
                for batch, users_of_batch in zip(batches, users_of_batches, strict=True)
            ]
        for batch in batches:
            if self.offered.size:
                self._write_lists(batch)
            if batch.invalid is not None and self.invalid is None:
                self.invalid = np.zeros((2, len(self.updated)), np.int64)
            if self.invalid is not None:
                self.invalid[:, batch.users] = 0 if batch.invalid is None else batch.invalid
        users = batches[0].users
        if len(batches) > 1:
            users = np.concatenate([as_indices(batch.users) for batch in batches])
        self.values[:, users] = values
        self.updated[users] = True
        return self

    def _write_lists(self, batch: Batch) -> None:
        """Write the lists of a batch, with more columns if they are longer than all before."""
        width = batch.lists.shape[1]
        n_columns = self.lists.shape[1]
        if width > n_columns:
            columns = np.full((len(self.lists), width - n_columns), -1, self.lists.dtype)
            self.lists = np.concatenate([self.lists, columns], axis=1)
        self.lists[batch.users, :width] = batch.lists
        self.lists[batch.users, width:] = -1
        self.offered |= batch.offered

    def whole(self) -> Self:
        """Give this table, or for a part one of all users."""
        if self.of_part is None:
            return self
        table = type(self)(*self._of_all)
        batch = self.part().batch()
        return table.plus([batch], batch.values, self._of_all[0])

    def part(self) -> UserRows:
        """The rows of all updated users."""
        rows = np.flatnonzero(self.updated)
        users = rows if self.of_part is None else self.of_part[rows]
        invalid = self.invalid
        if invalid is not None:
            invalid = invalid[:, rows]
        return UserRows(users, self.values[:, rows], self.lists[rows], self.offered.copy(), invalid)

    @property
    def n_rows(self) -> int:
        """The number of updated users."""
        return int(np.count_nonzero(self.updated))

    @property
    def n_defined(self) -> dict[str, IntArray]:
        """The number of users for whom each metric is defined, (metrics,), of the only model."""
        return {"": np.asarray(np.count_nonzero(~np.isnan(self.values), axis=1))}

    @property
    def invalid_items(self) -> InvalidItems:
        """The invalid items in the rankings of all users."""
        if self.invalid is None:
            return InvalidItems()
        return InvalidItems.of(self.invalid)

    def exposures_of(self, request: Request) -> dict[str, Exposures]:
        """Add up the lists of all users, which metrics of all lists read, of the only model."""
        exposure = exposures(request, self._cutoffs)
        exposure.offer(np.flatnonzero(self.offered))
        for block in row_blocks(len(self.lists), _SUMMED_ITEMS // max(1, self.lists.shape[1])):
            lists = self.lists[block].astype(np.int64)
            exposure.add(block, lists, np.full(len(lists), lists.shape[1]))
        return {"": exposure}
