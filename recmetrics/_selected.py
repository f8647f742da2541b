"""Scores that select their own lists: those on a device, and those that exist only as factors.

What comes back are the items of the lists, which are read as rankings are. Where a metric has to
see whole rows, because it has no cutoff, the scores of a block of rows come instead.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from recmetrics._device import DeviceFactors, DeviceScores, as_tensor, on_device
from recmetrics._factors import FactorScores
from recmetrics._inputs import ScoreBlock, ScoreMatrix, native, row_blocks
from recmetrics._itemsets import ItemSets, Rows, UserSets
from recmetrics._lists import ListReader, Lists
from recmetrics._plan import Plan
from recmetrics._ranking import ScoredInputs, in_blocks, refuse_nan, topk_of_lists
from recmetrics._topk import IntArray, TopK, join

_HOST_BYTES = 64 << 20  # of scores that come for a block of whole rows


class Selector(Protocol):
    """Scores that are not an array on the CPU."""

    shape: tuple[int, int]

    def blocks(self, k: int, row_items: float, n_threads: int) -> tuple[list[slice], int]:
        """Row blocks for lists of ``k``, and in how many threads they are worth selecting.

        ``row_items`` dense entries of truth and other sets are read for each row.
        """

    def best(
        self, rows: slice, k: int, excluded: Rows | None, candidates: ItemSets | None
    ) -> tuple[IntArray, IntArray, IntArray]:
        """The ``k`` best items of each row, -1 behind them; their number; the NaN that were met."""

    def host(self, rows: slice) -> npt.NDArray[Any]:
        """The scores of a block of rows."""


def read_scores(scores: Any) -> ScoreMatrix | Selector:
    """Scores wherever they lie."""
    tensor = as_tensor(scores) if on_device(scores) else None
    return ScoreMatrix(scores) if tensor is None else DeviceScores(tensor)


def read_factors(user_factors: Any, item_factors: Any, item_bias: Any) -> Selector:
    """The scores of a factor model, on the device where its factors are."""
    if on_device(user_factors) and on_device(item_factors):
        users, items = as_tensor(user_factors), as_tensor(item_factors)
        if users is not None and items is not None:
            return DeviceFactors(users, items, item_bias)
    return FactorScores(user_factors, item_factors, item_bias)


def with_sets(scores: ScoreMatrix | Selector, sets: UserSets) -> ScoredInputs:
    """Scores and what is known of their users, as metrics read them."""
    if isinstance(scores, ScoreMatrix):
        return ScoredInputs(scores, sets)
    return SelectedInputs(scores, sets)


class HostedScores(ScoreMatrix):
    """The scores of a selector, brought block by block."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.shape = selector.shape

    def block(self, rows: slice) -> ScoreBlock:
        return native(self._selector.host(rows))

    def candidates(self, rows: slice, counts: Any, items: Any) -> ScoreBlock:
        users = np.repeat(np.arange(rows.stop - rows.start), counts)
        return native(self._selector.host(rows)[users, items])

    def blocks(self, n_threads: int, row_items: float, *, copied: bool) -> list[slice]:  # noqa: ARG002
        n_users, n_items = self.shape
        return row_blocks(n_users, _HOST_BYTES // max(1, 8 * n_items * n_threads), n_threads)


class SelectedInputs(ScoredInputs):
    """Scores that select their own lists, and the truth, exclude and candidates of their users."""

    def __init__(self, selector: Selector, sets: UserSets) -> None:
        super().__init__(HostedScores(selector), sets)
        self._selector = selector

    def top_k(self, plan: Plan, reader: ListReader) -> TopK:
        """Rank every user's relevant items as deep as the plan asks, and have the lists read."""
        if plan.whole_rows:
            return super().top_k(plan, reader)
        k, options = plan.k, plan.options
        depth = max(k, reader.depth)
        if self.candidates is None:
            reader.offer(slice(0, self.n_users), slice(None))

        def rank_block(rows: slice) -> tuple[TopK, IntArray]:
            relevant = self.truth.rows(rows)
            excluded = None if self.exclude is None else self.exclude.rows(rows)
            candidates = self.candidates
            if candidates is not None:
                reader.offer(rows, candidates.rows(rows).items)
                candidates = candidates.take(rows)
            items, length, nan_found = self._selector.best(rows, depth, excluded, candidates)
            top, _ = topk_of_lists(items, relevant, self.n_items, k, ties=plan.ties)
            if reader.depth:
                reader.read(Lists(rows, items, length, relevant))
            nan_found[1] += rows.start
            return top, nan_found

        row_items = sum(one.mean_items for one in self.sets.given if one.is_dense)
        blocks, n_threads = self._selector.blocks(depth, row_items, options.threads)
        results = in_blocks(rank_block, blocks, n_threads, options)
        if options.nan == "raise":
            refuse_nan([nan_found for _, nan_found in results], self.sets)
        return join([top for top, _ in results])
