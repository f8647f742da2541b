"""What rankers share: from row blocks of scores to hits, and the items that may be recommended."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from recmetrics._core.inputs import NAN_ROW, Rows, Users, refuse_nan
from recmetrics._core.selection.hits import Hits, join
from recmetrics._core.selection.lists import Reader
from recmetrics._core.spec import Request
from recmetrics._core.threads import in_blocks
from recmetrics._core.types import BoolArray, IntArray


class Ranker(Protocol):
    """Users with scores, factors or given rankings."""

    def hits(self, k: int | None, rules: Request, reader: Reader | None) -> tuple[Hits, int]:
        """Rank the relevant items of every user to rank ``k``; the lists go to ``reader``.

        ``k`` is None where no metric reads ranks. The reader is offered the candidates of each
        block; without candidates, the caller has offered it the whole catalogue.

        The second result is the number of users who have relevant items, all of them excluded.
        """


class Block(NamedTuple):
    """The users of a row block, with their relevant and their excluded items."""

    rows: slice
    relevant: Rows
    excluded: Rows


class RankedBlock(NamedTuple):
    """The hits of a block, and what its call reports besides."""

    hits: Hits
    nan_report: IntArray  # (3,) the number of NaN, and the row in the block and item of the first
    n_swallowed: int = 0  # users whose relevant items are all excluded


def hits_of_blocks(
    rank: Callable[[Block], RankedBlock],
    blocks: Sequence[slice],
    n_threads: int,
    users: Users,
    k: int | None,
    rules: Request,
    all_hits: Hits | None = None,
) -> tuple[Hits, int]:
    """Rank users block by block in threads, and refuse NaN.

    Gives the hits of all users, and the number of users whose relevant items are all excluded. If
    ``all_hits`` is not None, ``rank`` writes the hits of a block into their part of it.
    """

    def rank_block(rows: slice) -> RankedBlock:
        relevant = users.truth.rows(rows)
        excluded = Rows.none(rows.stop - rows.start)
        if users.exclude is not None:
            excluded = users.exclude.rows(rows)
        ranked = rank(Block(rows, relevant, excluded))
        ranked.nan_report[NAN_ROW] += rows.start
        if k is None or not len(excluded.items):  # no metric reads hits, or nothing is excluded
            return ranked
        return ranked._replace(n_swallowed=relevant.n_within(excluded))

    if len(blocks) == 1 and not rules.progress:
        ranked_blocks = [rank_block(blocks[0])]
    else:
        ranked_blocks = in_blocks(rank_block, blocks, n_threads, rules.progress)
    hits, nan_reports, n_swallowed = zip(*ranked_blocks, strict=True)
    if rules.nan == "raise":
        refuse_nan(nan_reports, users)
    return join(hits) if all_hits is None else all_hits, sum(n_swallowed)


def recommendable(
    relevant: Rows, rows: slice, users: Users, n_items: int
) -> tuple[BoolArray, IntArray]:
    """Find the relevant items that may be recommended, and count all items of each user that may.

    ``relevant`` are those of the users in ``rows``. Returns a mask of the relevant items, and the
    numbers (rows,).
    """
    is_recommendable = np.ones(len(relevant.items), bool)
    n_recommendable = np.full(rows.stop - rows.start, n_items)
    excluded = None if users.exclude is None else users.exclude.rows(rows)
    if users.candidates is not None:
        candidates = users.candidates.rows(rows)
        if excluded is not None:
            candidates = candidates.keep(~candidates.among(excluded))
        is_recommendable = relevant.among(candidates)
        n_recommendable = np.diff(candidates.start)
    elif excluded is not None:
        is_recommendable = ~relevant.among(excluded)
        n_recommendable = n_items - np.diff(excluded.start)
    return is_recommendable, n_recommendable
