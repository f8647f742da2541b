"""Scores of a factor model on a device: the product of a block of users at a time.

The products are rounded as the device rounds them. So items whose scores differ by a rounding may
change places against ``FactorScores``; ``factors`` states the bound.
"""

import copy
from typing import Any

import numpy.typing as npt

from recmetrics._errors import InputTypeError
from recmetrics._inputs import ItemSets, Rows
from recmetrics._selection.device import (
    _SCRATCH_BYTES,
    BestItems,
    DeviceScores,
    _check,
    _name,
    _torch,
    refuse_full_memory,
    way_on,
)
from recmetrics._selection.factors import SWAPPED, check_bias, check_factors
from recmetrics._selection.hits import Hits
from recmetrics._threads import row_blocks
from recmetrics._types import IntArray

_SINGLE = {"float16", "bfloat16", "float32"}  # factors that are multiplied as float32


class DeviceFactors:
    """The scores of a factor model on a device: the product of a block of users at a time."""

    if_transposed = SWAPPED
    short_rows = 0

    @refuse_full_memory()
    def __init__(self, user_factors: Any, item_factors: Any, item_bias: Any = None) -> None:
        for factors, what in ((user_factors, "user_factors"), (item_factors, "item_factors")):
            _check(factors, what)
        if user_factors.device != item_factors.device:
            msg = (
                f"user_factors is on the device {user_factors.device} and item_factors on "
                f"{item_factors.device}, expected one device; type "
                f"item_factors.to({str(user_factors.device)!r})"
            )
            raise InputTypeError(msg)
        check_factors(tuple(user_factors.shape), tuple(item_factors.shape))
        self.shape = (len(user_factors), len(item_factors))
        self.way = way_on(str(user_factors.device))
        # As ``FactorScores`` computes them. On a GPU torch multiplies no whole numbers.
        torch = _torch()
        both = {_name(factors.dtype) for factors in (user_factors, item_factors)}
        self._dtype = torch.float32 if both <= _SINGLE else torch.float64
        self._users, self._items = user_factors.detach(), item_factors.detach().to(self._dtype)
        self._bias = None
        if item_bias is not None:
            self._bias = torch.as_tensor(item_bias).detach().to(self._items)
            check_bias(tuple(self._bias.shape), self.shape[1])

    def blocks(self, k: int, row_items: float, n_threads: int) -> tuple[list[slice], int]:  # noqa: ARG002
        """Row blocks whose scores fit into the scratch memory, and one thread."""
        n_users, n_items = self.shape
        return row_blocks(n_users, _SCRATCH_BYTES // max(1, 8 * n_items), 1), 1

    def host(self, rows: slice) -> npt.NDArray[Any]:
        """Compute the scores of a block of users and copy them to the CPU."""
        return DeviceScores(self._product(rows)).host(slice(0, rows.stop - rows.start))

    def rank(
        self,
        rows: slice,
        k: int,
        relevant: Rows,
        excluded: Rows | None,
        candidates: ItemSets | None,
        *,
        ties: bool,
    ) -> tuple[Hits, IntArray]:
        """Count the ranks of the relevant items of a block, as ``DeviceScores.rank`` does."""
        block = slice(0, rows.stop - rows.start)
        scores = DeviceScores(self._product(rows))
        return scores.rank(block, k, relevant, excluded, candidates, ties=ties)

    def best(
        self, rows: slice, k: int, excluded: Rows | None, candidates: ItemSets | None
    ) -> BestItems:
        """Select the ``k`` best items of each user of a block, as ``DeviceScores.best`` does."""
        scores = DeviceScores(self._product(rows))
        return scores.best(slice(0, rows.stop - rows.start), k, excluded, candidates)

    def take(self, rows: slice) -> "DeviceFactors":
        """Take the factors of some consecutive users."""
        part = copy.copy(self)
        part._users = self._users[rows]
        part.shape = (len(part._users), self.shape[1])
        return part

    @refuse_full_memory()
    def _product(self, rows: slice) -> Any:
        scores = self._users[rows].to(self._dtype) @ self._items.T
        return scores if self._bias is None else scores.add_(self._bias)
