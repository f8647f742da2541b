"""The kernels that see scores: the ranks of relevant items, and the k best items of each user.

The one order of the package: higher score first, equal scores by lower item index. The ranks need
no sort. The rank of an item is one plus the number of items before it in that order, so it is
counted:

    rank(item) = 1 + #(scores of lower items >= its score) + #(scores of higher items > its score)

Two passes keep the counting short:

1. One vectorised pass keeps the maximum of each of ``LANES`` interleaved lanes: the scores of as
   many different items, whatever the order of the row. A relevant item below k of them is no hit,
   and neither is one with a lower score. Where none is left, the row is done after one pass: that
   is most users of most models.
2. Otherwise ranks are counted in the row, which is still in cache. Where they are several, they are
   counted over the *pool*: a second pass gathers the few items that reach the least of them, in
   item order.

Ranks are not counted one by one where a user has many relevant items, of which lanes would leave
out few. The scores of these items separate *bins*, and a second pass finds the bin of each score of
the row: ``rank_many_relevant``.

For lists, the k-th largest lane maximum is a lower bound of the k-th best score. The few items that
reach it are collected and sorted: from the lanes that reach it or, where these have too many items,
in a second pass. Where lists are made anyway, or take less time than to visit all relevant items,
hits are looked up in them: ``look_up_items``, ``look_up_dense``.

No other kernels see scores. These read rows of one native dtype; ``lowest`` is the smallest value
of that dtype, and ``least`` the smallest with which an item may be recommended: -inf is not. The
functions of ``memory`` make the arrays that they work in. Each relevant item of a user has a slot
in ``Hits``; its place is its index among the scores that are ranked, which for a whole row is the
item itself.

Arrays that belong together are one argument, a record such as ``Rows``, which costs nothing in
compiled code. A helper gets slices of arrays, but returns none: the references to arrays are not
counted, and Numba would drop one that it never took. Where a loop may read anywhere in an array,
its index is made unsigned, since Numba asks of a signed one whether it counts from the end.

The first call of a process without a cache waits for their compilation, which takes time for each
dtype and for each line. So what few calls need is an argument that may be None, such as ``tied``:
Numba leaves out the branches behind ``is None``, and compiles them when they are first needed. Many
relevant items, and many hits, have kernels of their own.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import N_NAN, NAN_ITEM, NAN_ROW, Rows, ScoreBlock, order_halves
from recmetrics._core.jit import helper, kernel, numpy_form, prefetch
from recmetrics._core.selection.counting import (
    RUN_ITEMS,
    count_above,
    count_reaching,
    reached_by,
    sort_best_first,
)
from recmetrics._core.selection.hits import Hits
from recmetrics._core.types import BoolArray, FloatArray, IntArray

Array = npt.NDArray[Any]  # of the dtype of the scores

# Scores in half a tile of a row. Since the loop over the half runs over this constant, LLVM can
# vectorise it; a trip count known only at run time costs a third more.
_HALF_TILE = 128
LANES = 2 * _HALF_TILE  # the number of lanes of a row is a multiple of this one
_CACHE_LINE_BYTES = 64
_PREFETCH_LINES = 128  # cache lines between the scores that are read and those that are asked for
BLOCK_SCORES = 64  # counted together
_LONGEST_LANE = 64  # the items of lanes with more than so many are not looked at one by one
_GATHERED_BLOCKS = 64  # of a row that are looked through before items of these are collected
# To collect one of the k best in a pool takes as long as so many comparisons of a count.
COMPARED_PER_COLLECTED = 768
TILE_SCORES = 4096  # stay in cache while they are compared with many relevant items
# In float32: a score in float32 times one stays in float32, a whole number becomes float64.
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)
_COMPARED_BITS = 3  # the highest bits of a bin; for more, too many scores would be compared
# The relevant items of the next user are asked for in so many steps of a search by halves.
_SEARCH_STEPS = 8

# Excluded items are hidden in a copy of a row with no more than so many items for each of them.
LEAST_PER_HIDDEN = 40
_FEW_HITS = 32  # up to so many hits of a user no sort is faster than insertion
_RANKS_PER_SORTED = 16  # a table with more ranks for each hit takes longer than to sort the hits

# Faults of a ranking that the caller gives: an item outside the catalogue, an item after the end of
# the list, and an item that the list names twice.
OUTSIDE, AFTER_END, TWICE = 1, 2, 3
ANY_ITEM = int(np.iinfo(np.int64).max)  # the items of a catalogue of unknown size


class Tied(NamedTuple):
    """The ranks of the tie group of each relevant item, where equal scores may have any order.

    The arrays are those of ``Hits``: (slots,), a slot for each relevant item.
    """

    first: IntArray
    last: IntArray


class Scratch(NamedTuple):
    """Work memory to sort many hits."""

    # (ranks + 1,) at each rank 1 + the hit that has it, or 0; then the hits in the order of their
    # ranks, from the front on. All 0 between users.
    table: npt.NDArray[np.int32]
    # (ranks / _RANKS_PER_SORTED + 1,) for a sort, where hits are fewer than that
    order: IntArray
    spare_ranks: IntArray
    spare_order: IntArray
    # Copies of a user's hits while these are reordered.
    gain: FloatArray  # (hits of a user,)
    first: IntArray  # of ``Tied``, or empty
    last: IntArray


class Pool(NamedTuple):
    """Memory for the items of a user that reach a bound: the pool, in item order."""

    values: Array  # (room,) scores
    items: IntArray  # (room,)
    # (room,) to sort with; the second also for the blocks that ``_gather`` finds.
    spare_values: Array
    spare_items: IntArray


class PossibleHits(NamedTuple):
    """Work memory for the relevant items of a user that may be hits, in item order."""

    # (relevant items,) each one's index among the scores that are ranked, its relevance and rank.
    places: IntArray
    gain: FloatArray
    rank: IntArray
    # (relevant items,) the scores above its own, and those that reach it; empty where the ranks of
    # tie groups are not asked for.
    n_above: IntArray
    n_reaching: IntArray


class Bins(NamedTuple):
    """The scores of a row, in bins that the scores of a user's many relevant items separate.

    A bin holds the scores above the next lower relevant score, up to its own and with it.
    """

    scores: Array  # (bins,) the relevant scores, ascending; behind them ``greatest``
    greatest: Any  # the greatest number of the dtype
    unsorted: Array  # (relevant items,) the relevant scores, in item order
    # (buckets + 1,) the place in ``scores`` of the first one of each bucket: as many relevant
    # scores are in lower buckets
    first_of: npt.NDArray[np.uint32]
    # (TILE_SCORES,) the places in a tile of the scores whose buckets hold several relevant ones
    crowded: IntArray
    bin_of: npt.NDArray[np.uint32]  # (n_items,) the bin of each item
    n_above: npt.NDArray[np.int32]  # (bins,) scores of the row above the relevant one of the bin
    has_ties: BoolArray  # (1,) whether any relevant score has an equal in the row
    # (bins,) scores equal to the relevant one of the bin, of the items that ``_read_ranks`` passed
    n_equal: npt.NDArray[np.int32]
    n_better: npt.NDArray[np.int32]  # (bins,) possible hits that rank before the next of the bin
    order: npt.NDArray[np.int32]  # (relevant items,) a user's possible hits, best rank first


class Buckets(NamedTuple):
    """Ranges of scores in ascending order, numbered from 0 to ``last``, see ``_bucket_of``.

    They are of equal width, or *bent*: the farther from ``begin``, the wider.
    """

    begin: Any  # the score with which bucket 0 begins
    scale: Any  # 1 / the width of a bucket; where bent, 1 / that of the lower half of them together
    last: Any  # a whole number in float32
    are_bent: Any


class BinMemory(NamedTuple):
    """Work memory to rank the candidates of users with many relevant ones among them."""

    least_relevant: int  # the relevant candidates from which on a user has bins
    bins: Bins


class RankMemory(NamedTuple):
    """Work memory to rank the relevant items of one user after another."""

    lane_maxima: Array
    pool: Pool
    possible: PossibleHits
    # (n_items,) for a copy of the row of a user with many excluded items, or empty.
    allowed: Array


class TileMemory(NamedTuple):
    """Work memory to select from a tile."""

    lane_maxima: Array
    block_counts: npt.NDArray[np.int32]  # scores of each block of a row that may be selected
    excluded_columns: IntArray  # of a user


class Collected(NamedTuple):
    """The items of a block of users that may be among their k best, collected from tiles.

    User u has ``counts[u]`` items in item order, ``items[u]`` with the scores ``values[u]``. Only
    scores above ``bounds[u]``, at first -inf, are added: at least k earlier items reach any other
    bound, and these win ties.
    """

    bounds: Array  # (users,)
    counts: IntArray  # (users,)
    values: Array  # (users, room)
    items: IntArray  # (users, room)


class ListTables(NamedTuple):
    """Tables of the items of rankings, which save searches among a user's items."""

    # Of each item up to the largest, or empty.
    slot_of: IntArray  # its slot, where it is relevant to the user
    user_of: IntArray  # the last user whose ranking has it
    may_repeat: BoolArray  # (rows,) whether an item may occur twice, where these are empty


def sort_hits(hits: Hits, tied: Tied | None, max_hits: int, depth: int) -> None:
    """Sort the hits of each user by rank, if a user may have more than the kernels sort.

    A user has at most ``max_hits``, at ranks up to ``depth``. ``tied`` is that of the kernel that
    ranked them.
    """
    if max_hits > _FEW_HITS:
        n_tied = 0 if tied is None else max_hits
        n_sorted = depth // _RANKS_PER_SORTED + 1
        order, spare_ranks, spare_order = np.empty((3, n_sorted), np.int64)
        scratch = Scratch(
            table=np.zeros(depth + 1, np.int32),
            order=order,
            spare_ranks=spare_ranks,
            spare_order=spare_order,
            gain=np.empty(max_hits),
            first=np.empty(n_tied, np.int64),
            last=np.empty(n_tied, np.int64),
        )
        sort_many_hits(hits, tied, scratch)


@numpy_form(lambda values, score: (count_above(values, score), count_reaching(values, score)))
@helper
def _count_above_and_reaching(values: Array, score: Any) -> tuple[int, int]:
    """Count the ``values`` > ``score``, and those >= ``score``.

    Two counts, one after the other, took a fifth more time. To count for two or four scores in one
    loop won a tenth at most.
    """
    n_above: Any = np.int32(0)
    n_reaching: Any = np.int32(0)
    for i in range(values.size):
        n_above = np.int32(n_above + np.int32(values[i] > score))
        n_reaching = np.int32(n_reaching + np.int32(values[i] >= score))
    return n_above, n_reaching


@numpy_form(lambda values, score: np.count_nonzero(values == score))
@helper
def _count_equal(values: Array, score: Any) -> int:
    """Count the ``values`` that equal ``score``."""
    count: Any = np.int32(0)
    for i in range(values.size):
        count = np.int32(count + np.int32(values[i] == score))
    return count  # type: ignore[no-any-return]


def _lane_maxima_in_numpy(
    row: Array, lane_maxima: Array, lowest: Any, bits: Any, user: int
) -> np.bool_:
    """Fill ``lane_maxima`` as ``_lane_maxima`` does."""
    if bits is not None:
        order_halves(bits[user], int(-lowest), row)
    n_lanes = lane_maxima.size
    n_whole = row.size // (2 * n_lanes) * (2 * n_lanes)
    # Of each tile, the two halves are in the same lanes; so many tiles fill all lanes.
    tiles = row[:n_whole].reshape(-1, n_lanes // _HALF_TILE, 2, _HALF_TILE)
    lane_maxima[:] = np.fmax.reduce(tiles, axis=(0, 2), initial=lowest).reshape(-1)
    for begin in range(n_whole, row.size, _HALF_TILE):
        half = row[begin : begin + _HALF_TILE]
        lane = _lane_of(begin // (2 * _HALF_TILE) * 2 * _HALF_TILE, n_lanes)
        maxima = lane_maxima[lane : lane + half.size]
        np.fmax(maxima, half, out=maxima)
    return np.isnan(row).any()


@numpy_form(_lane_maxima_in_numpy)
@helper
def _lane_maxima(row: Array, lane_maxima: Array, lowest: Any, bits: Any, user: int) -> bool:
    """Fill ``lane_maxima`` with the highest score of each lane of a row; True with any NaN.

    A lane is a group of items of the row, see ``_lane_of``; the row has at least three times as
    many items as lanes. ``bits`` are the scores of all rows in half precision, or None. With them,
    the row is memory, which is filled from ``bits[user]`` tile by tile, since a tile stays in the
    nearest cache. They are an argument of their own, not read from a record, since Numba leaves out
    the branches behind ``is None`` of arguments alone.

    Each step sets a lane to the largest of itself and two scores. With one score LLVM would make
    that a masked store, which takes four times as long on processors with AVX2 and without AVX-512.
    The two are in one tile, since processors read ahead what is read in order.
    """
    line_scores = _CACHE_LINE_BYTES // row.itemsize
    has_nan = False
    for j in range(lane_maxima.size):
        lane_maxima[j] = lowest

    begin = 0
    lane = 0
    while begin + 2 * _HALF_TILE <= row.size:
        left = row[begin : begin + _HALF_TILE]
        right = row[begin + _HALF_TILE : begin + 2 * _HALF_TILE]
        maxima = lane_maxima[lane : lane + _HALF_TILE]
        if bits is not None:
            tile = row[begin : begin + 2 * _HALF_TILE]
            order_halves(bits[user, begin : begin + 2 * _HALF_TILE], int(-lowest), tile)
        else:
            for j in range(0, 2 * _HALF_TILE, line_scores):
                prefetch(row, begin + _PREFETCH_LINES * line_scores + j)
        for j in range(_HALF_TILE):
            maximum = maxima[j]
            score = left[j]
            other = right[j]
            maximum = score if score > maximum else maximum  # NaN never gets in
            maxima[j] = other if other > maximum else maximum
            has_nan |= (score != score) | (other != other)  # only NaN differs from itself
        begin += 2 * _HALF_TILE
        # No ``if lane == lane_maxima.size``, for which LLVM kept ``lane`` in memory: a tenth of the
        # time.
        lane = lane + _HALF_TILE if lane + _HALF_TILE < lane_maxima.size else 0

    # Less than a tile is left. Its scores take the place of the second one of a step, and earlier
    # scores of the same lanes, whose maxima have them already, that of the first.
    if bits is not None:
        order_halves(bits[user, begin:], int(-lowest), row[begin:])
    maxima = lane_maxima[lane:]
    while begin < row.size:
        left = row[begin - 2 * lane_maxima.size :]
        right = row[begin : begin + _HALF_TILE]
        if bits is None:  # 1.8 ms of 35 for 100,000 users and 1,000 items, a quarter in this loop
            for j in range(0, _HALF_TILE, line_scores):
                prefetch(row, begin + _PREFETCH_LINES * line_scores + j)
        for j in range(right.size):
            maximum = maxima[j]
            score = left[j]
            other = right[j]
            maximum = score if score > maximum else maximum
            maxima[j] = other if other > maximum else maximum
            has_nan |= other != other
        begin += _HALF_TILE
    return has_nan


@helper
def _lane_of(item: int, n_lanes: int) -> int:
    """The number of an item's lane.

    Both halves of a tile have the same lanes, the next tile has others.
    """
    return item // (2 * _HALF_TILE) * _HALF_TILE % n_lanes + item % _HALF_TILE


@numpy_form(
    lambda maxima, quarter, folded: np.max(maxima.reshape(4, quarter), 0, out=folded[:quarter])
)
@helper
def _fold(maxima: Array, quarter: int, folded: Array) -> None:
    """Write the largest of each four ``maxima``, a quarter of them apart, to ``folded``.

    This may be the array of the maxima.
    """
    for j in range(quarter):
        maximum = maxima[j]
        other = maxima[j + quarter]
        maximum = other if other > maximum else maximum
        other = maxima[j + 2 * quarter]
        maximum = other if other > maximum else maximum
        other = maxima[j + 3 * quarter]
        folded[j] = other if other > maximum else maximum


@helper
def _usable_lanes(
    row: Array, lane_maxima: Array, excluded: IntArray, min_lanes: int, lowest: Any, folded: Array
) -> int:
    """Take excluded items out of the lane maxima, and fold four lanes into one if enough remain.

    ``lane_maxima`` has the highest score of each lane, a group of items of the row. They serve to
    bound the k-th best score of the row from below, so a maximum may become lower, but never higher
    than the best score of its lane that is not excluded. If at least ``min_lanes`` lanes remain,
    the largest of each four is written to ``folded``, which may be ``lane_maxima``, since fewer
    maxima are faster to count and to bisect. Returns the number of maxima in use.
    """
    for item in excluded:
        lane = _lane_of(item, lane_maxima.size)
        if row[item] >= lane_maxima[lane]:  # the maximum may be the score of this item
            lane_maxima[lane] = lowest
    quarter = lane_maxima.size // 4
    if quarter < min_lanes:
        return lane_maxima.size
    _fold(lane_maxima, quarter, folded)
    return quarter


@helper
def _bound_of_lanes(lane_maxima: Array, k: int, lowest: Any) -> Any:
    """A lower bound of the k-th best score of a row from its lane maxima, or ``lowest``."""
    return reached_by(lane_maxima, k, lowest, k // 8)


@helper
def _shrink(values: Array, items: IntArray, count: int, k: int, lowest: Any) -> Any:
    """Keep the k best of the ``count`` items of a pool in item order, which stay in that order.

    Returns the score of the worst of them. Of equal scores the first items are kept.
    """
    bound = reached_by(values[:count], k, lowest, np.int64(0))
    equal = k - count_above(values[:count], bound)  # the number of scores at the bound to keep
    end = 0
    for i in range(count):
        score = values[i]
        if score > bound or (score == bound and equal > 0):
            if score == bound:
                equal -= 1
            values[end] = score
            items[end] = items[i]
            end += 1
    return bound


def _find_blocks_in_numpy(values: Array, bound: Any, begins: IntArray) -> int:
    """Write to ``begins`` what ``_find_blocks`` does."""
    blocks = np.unique(np.flatnonzero(values >= bound) // BLOCK_SCORES)
    begins[: len(blocks)] = blocks * BLOCK_SCORES
    return len(blocks)


@numpy_form(_find_blocks_in_numpy)
@helper
def _find_blocks(values: Array, bound: Any, begins: IntArray) -> int:
    """Write to ``begins`` the first place of each block with a score >= ``bound``.

    Returns the number of these blocks. Blocks have ``BLOCK_SCORES`` values, the last one perhaps
    fewer.
    """
    n_found = 0
    n_whole = values.size // BLOCK_SCORES
    for b in range(n_whole):
        block = values[b * BLOCK_SCORES : (b + 1) * BLOCK_SCORES]
        any_reaching: Any = np.int32(0)
        for i in range(BLOCK_SCORES):
            any_reaching = np.int32(any_reaching | np.int32(block[i] >= bound))
        begins[n_found] = b * BLOCK_SCORES
        n_found += any_reaching > 0
    if count_reaching(values[n_whole * BLOCK_SCORES :], bound) > 0:
        begins[n_found] = n_whole * BLOCK_SCORES
        n_found += 1
    return n_found


def _count_and_place_in_numpy(values: Array, score: Any) -> tuple[int, int]:
    """Count the ``values`` >= ``score``; also gives the sum of their places."""
    places = np.flatnonzero(values >= score)
    return len(places), int(places.sum())


@numpy_form(_count_and_place_in_numpy)
@helper
def _count_and_place(values: Array, score: Any) -> tuple[int, int]:
    """Count the ``values`` >= ``score``; also gives the sum of their places.

    If there is one such value, the sum is its place, found without branches, of which the processor
    cannot foretell the one that is taken: to collect the 10 best of 3,700 items took 0.5 us of 1.2,
    and takes 0.25.
    """
    n_reaching: Any = np.int32(0)
    places: Any = np.int32(0)
    for i in range(values.size):
        reaches = np.int32(values[i] >= score)
        n_reaching = np.int32(n_reaching + reaches)
        places = np.int32(places + np.int32(i) * reaches)
    return n_reaching, places


@helper
def _gather(
    row: Array, begin: int, bound: Any, excluded: IntArray, count: int, room: int, pool: Pool
) -> tuple[int, int]:
    """Append the items of a row from ``begin`` on that reach ``bound`` to a pool.

    The first ``room`` places of the pool may be used, of which ``count`` hold items already;
    excluded items are left out. Returns the new count, and the item from which to go on: the end of
    the row, or an item before it where the room might not hold the next block.

    The blocks with such items are found first, without a branch for each: in one loop it took twice
    as long.
    """
    values = pool.values
    items = pool.items
    e = 0  # the place of the next excluded item
    is_full = False
    while begin < row.size and not is_full:
        end = min(begin + _GATHERED_BLOCKS * BLOCK_SCORES, row.size)
        n_blocks = _find_blocks(row[begin:end], bound, pool.spare_items)
        for b in range(n_blocks):
            first = begin + pool.spare_items[b]
            if count + BLOCK_SCORES > room:
                is_full = True
                end = first
                break
            block = row[first : min(first + BLOCK_SCORES, end)]
            n_reaching, place = _count_and_place(block, bound)
            i_first = 0
            i_end = block.size
            if n_reaching == 1:  # as in most blocks
                i_first = place
                i_end = place + 1
            for i in range(i_first, i_end):
                if block[i] >= bound:
                    item = first + i
                    while e < excluded.size and excluded[e] < item:
                        e += 1
                    if not (e < excluded.size and excluded[e] == item):
                        values[count] = block[i]
                        items[count] = item
                        count += 1
        begin = end
    return count, begin


def _next_above_in_numpy(values: Array, score: Any) -> Any:
    """The smallest of ``values`` that is greater than ``score``, or ``score`` if none is."""
    above = values[values > score]
    return above.min() if above.size else score


@numpy_form(_next_above_in_numpy)
@helper
def _next_above(values: Array, score: Any) -> Any:
    """The smallest of ``values`` that is greater than ``score``, or ``score`` if none is."""
    next_score = score
    # Few rows have a greater score where most scores are equal; a count takes a tenth of the time
    # of the loop below.
    if count_above(values, score) == 0:
        return next_score
    for i in range(values.size):
        if values[i] > score and (next_score == score or values[i] < next_score):
            next_score = values[i]
    return next_score


@helper
def _first_from(items: Array, item: Any) -> int:
    """The first place in the ascending ``items`` whose item is >= ``item``."""
    low = 0
    high = items.size
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _position(items: IntArray, item: int) -> int:
    """The place of ``item`` in the ascending ``items``, or -1."""
    place = _first_from(items, item)
    return place if place < items.size and items[place] == item else -1


@helper
def _count_ranks(
    values: Array, places: IntArray, rank: IntArray, above: Any, reaching: Any
) -> None:
    """Count the ranks of the scores at the ascending ``places`` among all ``values``.

    ``rank`` (places,) holds 1 for each place, to which the number of items before it in the order
    is added. ``above`` and ``reaching``, None or zeros for each place, get the number of scores >
    and >= that at the place.

    The values are read tile by tile, so that a long row is read from memory once, for any number of
    places. Of successive places with equal scores only the first is compared with all values.
    """
    for begin in range(0, values.size, TILE_SCORES):
        tile = values[begin : begin + TILE_SCORES]
        for p in range(places.size):
            score = values[places[p]]
            if p > 0 and score == values[places[p - 1]]:
                continue
            if above is not None:
                n_above, n_reaching = _count_above_and_reaching(tile, score)
                above[p] += n_above
                reaching[p] += n_reaching
            else:
                n_before = places[p] - begin
                if n_before < 0:
                    n_before = 0
                elif n_before > tile.size:
                    n_before = tile.size
                n_reaching_before = count_reaching(tile[:n_before], score)
                n_above_after = count_above(tile[n_before:], score)
                rank[p] += n_reaching_before + n_above_after

    if above is not None:
        for p in range(places.size):
            score = values[places[p]]
            if p == 0 or score != values[places[p - 1]]:
                rank[p] += above[p]
                if reaching[p] > above[p] + 1:
                    rank[p] += _count_equal(values[: places[p]], score)

    # The others have the numbers of the place before, and the equal scores between the two.
    for p in range(1, places.size):
        score = values[places[p]]
        if score == values[places[p - 1]]:
            rank[p] = rank[p - 1] + _count_equal(values[places[p - 1] : places[p]], score)
            if above is not None:
                above[p] = above[p - 1]
                reaching[p] = reaching[p - 1]


def _fill_bins_in_numpy(row: Array, places: IntArray, least: Any, bins: Bins) -> None:
    """Fill the bins as ``_fill_bins`` does."""
    relevant_scores = row[places]
    relevant_scores = np.sort(relevant_scores[relevant_scores >= least])
    n_relevant = relevant_scores.size
    n_bins = 1 << n_relevant.bit_length()
    bins.scores[:n_relevant] = relevant_scores
    bins.scores[n_relevant:n_bins] = bins.greatest
    bin_of = bins.bin_of[: row.size]
    bin_of[:] = np.searchsorted(relevant_scores, row)
    bin_of[np.isnan(row)] = 0
    counts = np.bincount(bin_of, minlength=n_bins)
    bins.n_above[:n_bins] = counts[::-1].cumsum()[::-1] - counts
    bins.has_ties[0] = np.count_nonzero(bins.scores[bin_of] == row) > len(
        np.unique(relevant_scores)
    )


@numpy_form(_fill_bins_in_numpy)
@helper
def _fill_bins(row: Array, places: IntArray, least: Any, bins: Bins) -> None:
    """Fill the bins of a row that the relevant scores, those at the ``places``, separate.

    There are as many bins as the least power of two above the number of relevant scores that are
    ``least`` or more. The bin of a score is the number of these below it. NaN is in bin 0, whose
    scores are above none.

    Relevant scores are sorted by buckets, and each score is searched for among those of its bucket.
    A search bit by bit among all takes as many comparisons as the number of a bin has bits. Where a
    bucket has more relevant scores than that, these are sorted without buckets, and equal ones
    become one. Then bent buckets are tried, which suit probabilities: most of them are small. If
    one of these has too many as well, each score is searched for bit by bit.
    """
    n_relevant = 0
    smallest = bins.greatest
    greatest = least
    for place in places:
        score = row[place]
        bins.unsorted[n_relevant] = score
        n_relevant += score >= least
        smallest = score if least <= score < smallest else smallest
        greatest = score if score > greatest else greatest
    relevant_scores = bins.unsorted[:n_relevant]
    n_bits = _bits_of(n_relevant)
    last = np.float32(bins.first_of.size - 2)

    # Buckets of equal width reach from the smallest relevant score to the greatest.
    begin = smallest * _ONE
    width = greatest * _ONE - begin
    # All scores are in one bucket where the relevant ones are equal, or infinitely far apart. Of
    # equal zeros the width may be -0, and to divide by that would turn the order around.
    scale = last / width if width > _ZERO else width
    buckets = Buckets(begin, scale, last, np.bool_(False))
    most_in_bucket = _fill_buckets(relevant_scores, buckets, bins.first_of)
    if most_in_bucket <= n_bits:
        _sort_by_buckets(relevant_scores, buckets, bins)
    else:
        n_relevant = _sort_distinct(relevant_scores, bins.scores)
        n_bits = _bits_of(n_relevant)
        width = bins.scores[n_relevant // 2] * _ONE - begin
        scale = _ONE / width if width > _ZERO else _ZERO
        buckets = Buckets(begin, scale, last, np.bool_(True))
        most_in_bucket = _fill_buckets(bins.scores[:n_relevant], buckets, bins.first_of)
    n_bins = 1 << n_bits
    bins.scores[n_relevant:n_bins] = bins.greatest

    if most_in_bucket <= n_bits:
        _search_in_buckets(row, most_in_bucket, buckets, bins)
    else:
        _search_by_bits(row, n_bits, bins)
    _count_in_bins(row, n_relevant, n_bins, bins)


@helper
def _bits_of(number: int) -> int:
    """The number of bits of a whole number."""
    n_bits = 0
    while 1 << n_bits <= number:
        n_bits += 1
    return n_bits


@helper
def _sort_distinct(values: Array, distinct: Array) -> int:
    """Sort ``values``, and write the distinct ones to ``distinct``, ascending.

    Returns their number.
    """
    sort_best_first(values, None, distinct, None)
    n_distinct = 0
    for i in range(values.size - 1, -1, -1):
        if n_distinct == 0 or values[i] != distinct[n_distinct - 1]:
            distinct[n_distinct] = values[i]
            n_distinct += 1
    return n_distinct


@helper
def _count_in_bins(row: Array, n_relevant: int, n_bins: int, bins: Bins) -> None:
    """Count the scores above the relevant one of each bin, and see whether any of these has ties.

    The ``n_relevant`` scores may be distinct ones alone: then more of the row match them. If not,
    equal ones stand next to each other.
    """
    relevant_scores = bins.scores
    bins.n_above[:n_bins] = 0
    n_matching = 0  # scores that equal a relevant one
    for item in range(row.size):
        b = bins.bin_of[item]
        bins.n_above[b] += 1
        n_matching += relevant_scores[b] == row[item]
    _sum_behind(bins.n_above[:n_bins])

    n_repeated: Any = np.int32(0)  # relevant scores that equal the next one
    for b in range(n_relevant - 1):
        is_repeated = relevant_scores[b] == relevant_scores[b + 1]
        n_repeated = np.int32(n_repeated + np.int32(is_repeated))
    bins.has_ties[0] = n_matching > n_relevant or n_repeated > 0


@helper
def _bucket_of(score: Any, buckets: Buckets) -> Any:
    """The bucket of a score, one of 0 to ``last``.

    A greater score is never in a lower bucket: each step rounds, but keeps the order. NaN is in
    bucket 0; so is every score where the scale is 0 or NaN.
    """
    bucket = (score * _ONE - buckets.begin) * buckets.scale
    bucket = bucket if bucket > _ZERO else _ZERO
    if buckets.are_bent:  # last x / (1 + x): half of the buckets are for x up to 1
        bucket = buckets.last - buckets.last / (_ONE + bucket)
    bucket = bucket if bucket < buckets.last else buckets.last
    return np.uint32(np.int32(bucket))


@helper
def _fill_buckets(
    relevant_scores: Array, buckets: Buckets, first_of: npt.NDArray[np.uint32]
) -> int:
    """Fill ``first_of``: count the relevant scores in the buckets before each.

    Returns the largest number of relevant scores in a bucket.
    """
    first_of[:] = 0
    for score in relevant_scores:
        first_of[_bucket_of(score, buckets) + 1] += 1

    # Each entry has the number of the bucket before it, and gets the sum up to there.
    most_in_bucket = 0
    n_before: Any = np.uint32(0)
    for bucket in range(first_of.size):
        n_in_bucket = first_of[bucket]
        most_in_bucket = max(most_in_bucket, n_in_bucket)
        n_before = np.uint32(n_before + n_in_bucket)
        first_of[bucket] = n_before
    return most_in_bucket


@helper
def _sort_by_buckets(relevant_scores: Array, buckets: Buckets, bins: Bins) -> None:
    """Sort the relevant scores, few in each bucket, to ``bins.scores``.

    Each is put among the earlier ones of its bucket, whose last places still hold the greatest
    number: at each place the smaller of two scores stays, and the greater one moves on.
    """
    scores = bins.scores
    scores[: relevant_scores.size] = bins.greatest
    for relevant_score in relevant_scores:
        score = relevant_score
        bucket = _bucket_of(score, buckets)
        for place in range(bins.first_of[bucket], bins.first_of[bucket + 1]):
            other = scores[place]
            scores[place] = score if score < other else other
            score = other if score < other else score


@helper
def _search_in_buckets(row: Array, most_in_bucket: int, buckets: Buckets, bins: Bins) -> None:
    """Write the bin of each score to ``bins.bin_of``, from its bucket.

    A score is above all relevant scores in lower buckets, and above none in higher ones. It is
    compared with the first of its own; where that is crowded, with up to ``most_in_bucket``. Few
    scores have crowded buckets, so these are collected, without a branch. To compare all scores
    ``most_in_bucket`` times took half as long again.
    """
    relevant_scores = bins.scores
    first_of = bins.first_of
    crowded = bins.crowded
    for begin in range(0, row.size, TILE_SCORES):
        tile = row[begin : begin + TILE_SCORES]
        bin_of = bins.bin_of[begin : begin + TILE_SCORES]
        for i in range(tile.size):
            bin_of[i] = _bucket_of(tile[i], buckets)
        n_crowded: Any = np.int64(0)
        for i in range(tile.size):
            bucket = bin_of[i]
            first = first_of[bucket]
            bin_of[i] = first + np.uint32(relevant_scores[first] < tile[i])
            crowded[np.uint64(n_crowded)] = i
            n_crowded += np.int64(first_of[bucket + np.uint32(1)] - first) > 1
        for _ in range(1, most_in_bucket):
            for c in range(n_crowded):
                place = np.uint64(crowded[c])
                bin_of[place] += np.uint32(relevant_scores[bin_of[place]] < tile[place])


@helper
def _search_by_bits(row: Array, n_bits: int, bins: Bins) -> None:
    """Write the bin of each score to ``bins.bin_of``, bit by bit.

    Its three highest bits come from comparisons of all scores with the same seven relevant scores.
    Each lower bit comes from one comparison with a relevant score that the bits so far choose: with
    100 relevant scores, four bits of seven. To find all seven like this took half as long again.

    A bit is shifted into place: written as a choice between two numbers, it compiles to a branch,
    which took five times as long for x86-64-v3.
    """
    n_low_bits = max(0, n_bits - _COMPARED_BITS)
    relevant_scores = bins.scores
    for begin in range(0, row.size, TILE_SCORES):
        tile = row[begin : begin + TILE_SCORES]
        bin_of = bins.bin_of[begin : begin + TILE_SCORES]
        bin_of[:] = 0
        for b in range(1 << n_low_bits, 1 << n_bits, 1 << n_low_bits):
            last_below = relevant_scores[b - 1]
            for i in range(tile.size):
                bin_of[i] += np.uint32(last_below < tile[i]) << np.uint32(n_low_bits)
        for bit in range(n_low_bits - 1, -1, -1):
            last = np.uint32((1 << bit) - 1)  # ``bin_of + last`` is the last bin without this bit
            for i in range(tile.size):
                is_above = relevant_scores[np.uint32(bin_of[i] + last)] < tile[i]
                bin_of[i] += np.uint32(is_above) << np.uint32(bit)


@helper
def _read_ranks(
    row: Array, bins: Bins, places: IntArray, rank: IntArray, above: Any, reaching: Any
) -> None:
    """Read from the bins of a row what ``_count_ranks`` counts.

    Only where a relevant score has an equal are equal scores counted: those before each place, in
    one pass over the row.
    """
    has_ties = bins.has_ties[0]
    bins.n_equal[:] = 0
    n_passed = 0  # the first items, which ``n_equal`` counts
    for p in range(places.size):
        b = bins.bin_of[places[p]]
        rank[p] += bins.n_above[b]
        if has_ties:
            _count_equal_in_bins(row, n_passed, places[p], bins)
            n_passed = places[p]
            rank[p] += bins.n_equal[b]
    if above is None:
        return

    if has_ties:
        _count_equal_in_bins(row, n_passed, row.size, bins)
    for p in range(places.size):
        b = bins.bin_of[places[p]]
        above[p] = bins.n_above[b]
        reaching[p] = bins.n_above[b] + (bins.n_equal[b] if has_ties else 1)


@helper
def _count_equal_in_bins(row: Array, begin: int, end: int, bins: Bins) -> None:
    """Count the scores from ``begin`` to ``end`` that equal the relevant one of their bin."""
    for item in range(begin, end):
        b = bins.bin_of[item]
        bins.n_equal[b] += bins.scores[b] == row[item]


@helper
def _sum_behind(counts: npt.NDArray[np.int32]) -> None:
    """Replace each of the counts by the sum of those behind it."""
    n_behind = 0
    for b in range(counts.size - 1, -1, -1):
        count = counts[b]
        counts[b] = n_behind
        n_behind += count


@helper
def _order_by_bins(places: IntArray, bins: Bins) -> None:
    """Write the indices of ``places``, best rank first, to ``bins.order``.

    Hits of higher bins come first. In a bin their scores are equal, so lower items come first.
    """
    n_better = bins.n_better
    n_better[:] = 0
    for place in places:
        n_better[bins.bin_of[place]] += 1
    _sum_behind(n_better)
    for p in range(places.size):
        b = bins.bin_of[places[p]]
        bins.order[n_better[b]] = p
        n_better[b] += 1


@numpy_form(lambda row, items, lowest: np.fmax.reduce(row[items], initial=lowest))
@helper
def _best_score(row: Array, items: IntArray, lowest: Any) -> Any:
    """The highest score of some items of a row; ``lowest`` if there are none.

    By it, one count of lane maxima settles a user whose relevant items are all below k of them, as
    most are: 1.5 ms of 35 for 100,000 users and 1,000 items.
    """
    best = lowest
    for item in items:
        score = row[item]
        best = score if score > best else best
    return best


@helper
def _find_possible(
    row: Array,
    lane_maxima: Array,
    excluded: IntArray,
    relevant_items: IntArray,
    relevances: FloatArray,
    k: int,
    least: Any,
    possible: PossibleHits,
) -> tuple[int, Any]:
    """Collect the relevant items of a user that may be hits.

    These are not excluded, score ``least`` or more, and have fewer than k of ``lane_maxima`` above
    their scores. ``relevances`` are those of the relevant items. Writes the items and their
    relevances to ``possible``. Returns their number, and a score that all of them reach. For most
    users the maxima are counted two or three times, for any number of relevant items, since a count
    settles all scores above or below the one it was made for.
    """
    n_possible = 0
    bound = least  # the smallest score that passed a count, if any did
    any_reached = False
    missed = least  # the largest score that failed a count, if any did
    any_missed = False
    for i in range(relevant_items.size):
        item = relevant_items[i]
        score = row[item]
        if not (score >= least) or (any_missed and score <= missed):
            continue
        if not any_reached or score < bound:
            if count_above(lane_maxima, score) >= k:
                missed = score
                any_missed = True
                continue
            bound = score
            any_reached = True
        if _position(excluded, item) < 0:
            possible.places[n_possible] = item
            possible.gain[n_possible] = relevances[i]
            n_possible += 1
    return n_possible, bound


@helper
def _find_reaching(
    row: Array,
    lane_maxima: Array,
    excluded: IntArray,
    relevant_items: IntArray,
    relevances: FloatArray,
    k: int,
    least: Any,
    possible: PossibleHits,
) -> tuple[int, Any]:
    """Collect many relevant items of a user that may be hits, as ``_find_possible`` does few.

    All of them are compared with one lower bound of the k-th best score. The index of each one is
    written to the next place, which moves on only if its score reaches the bound: a branch for each
    of 1,000 items took four times as long.
    """
    bound = _bound_of_lanes(lane_maxima, k, least)
    n_reaching = 0
    for i in range(relevant_items.size):
        possible.places[n_reaching] = i
        n_reaching += row[relevant_items[i]] >= bound

    n_possible = 0
    for p in range(n_reaching):
        i = possible.places[p]
        item = relevant_items[i]
        if _position(excluded, item) < 0:
            possible.places[n_possible] = item
            possible.gain[n_possible] = relevances[i]
            n_possible += 1
    return n_possible, bound


@helper
def _rank_possible(
    values: Array,
    bins: Any,
    possible: PossibleHits,
    n_possible: int,
    excluded: IntArray,
    user: int,
    k: int,
    hits: Hits,
    tied: Any,
) -> None:
    """Rank a user's possible hits, whose scores are ``values[places]``, and keep the hits.

    ``values`` are the scores of a row, or of a pool; ``excluded`` are the places in ``values`` of
    items that take no rank. Ranks are read from ``bins``, or counted where that is None.
    """
    places = possible.places[:n_possible]
    rank = possible.rank[:n_possible]
    rank[:] = 1
    above: Any = None
    reaching: Any = None
    if tied is not None:
        above = possible.n_above[:n_possible]
        above[:] = 0
        reaching = possible.n_reaching[:n_possible]
        reaching[:] = 0
    if bins is None:
        _count_ranks(values, places, rank, above, reaching)
    else:
        _read_ranks(values, bins, places, rank, above, reaching)
        _order_by_bins(places, bins)

    # Excluded items were counted like the others, so those before an item are subtracted.
    for p in range(n_possible):
        score = values[places[p]]
        for item in excluded:
            other = values[item]
            rank[p] -= other > score or (other == score and item < places[p])
            if tied is not None:
                above[p] -= other > score
                reaching[p] -= other >= score
    _keep_hits(possible, n_possible, bins, user, k, hits, tied)


@helper
def _keep_hits(
    possible: PossibleHits, n_possible: int, bins: Any, user: int, k: int, hits: Hits, tied: Any
) -> None:
    """Write the hits, those of a user's possible hits that are among the first ``k``, to ``hits``.

    They come in the order of ``bins``, where these are not None. Otherwise up to ``_FEW_HITS`` are
    sorted by rank here, and more by ``sort_many_hits``. ``tied`` gets the first and the last rank
    of each hit; an item is then a hit if any order of equal scores has it among the first ``k``.
    """
    ranks = hits.rank
    gains = hits.gain
    begin = hits.start[user]
    n_hits = 0
    for i in range(n_possible):
        p = i if bins is None else bins.order[i]
        rank = possible.rank[p]
        gain = possible.gain[p]
        best_rank = rank
        if tied is not None:
            best_rank = possible.n_above[p] + 1
            last_rank = possible.n_reaching[p]
        if best_rank > k:
            continue

        place = begin + n_hits
        while n_hits < _FEW_HITS and place > begin and ranks[place - 1] > rank:
            ranks[place] = ranks[place - 1]
            gains[place] = gains[place - 1]
            if tied is not None:
                tied.first[place] = tied.first[place - 1]
                tied.last[place] = tied.last[place - 1]
            place -= 1
        ranks[place] = rank
        gains[place] = gain
        if tied is not None:
            tied.first[place] = best_rank
            tied.last[place] = last_rank
        n_hits += 1
    hits.n_hits[user] = n_hits


@helper
def _length_of(row: Array, excluded: IntArray, k: int, least: Any) -> int:
    """The number of items that are not excluded and score ``least`` or more, at most k."""
    length = count_reaching(row, least)
    for item in excluded:
        length -= row[item] >= least
    return length if length < k else k


def _hide_in_numpy(row: Array, excluded: IntArray, lowest: Any, allowed: Array) -> np.bool_:
    """Copy a row as ``_hide`` does."""
    allowed[:] = row
    allowed[excluded] = lowest
    return np.isnan(row).any()


@numpy_form(_hide_in_numpy)
@helper
def _hide(row: Array, excluded: IntArray, lowest: Any, allowed: Array) -> bool:
    """Copy a row to ``allowed``, with the lowest score for excluded items; True with any NaN.

    Tile by tile with prefetch, as ``_lane_maxima`` reads: 1.4 ms for 60 MB. To count the NaN before
    the copy, without prefetch, took 3. Beside each tile, a part of the excluded items is asked for,
    which are read at the end.
    """
    line_scores = _CACHE_LINE_BYTES // row.itemsize
    line_items = _CACHE_LINE_BYTES // excluded.itemsize
    n_tiles = row.size // (2 * _HALF_TILE) + 1
    step_items = excluded.size // n_tiles + line_items  # asked for beside each tile
    asked_end = 0  # the excluded items before it are asked for
    n_numbers = 0  # the scores that are not NaN
    for begin in range(0, row.size, 2 * _HALF_TILE):
        tile = row[begin : begin + 2 * _HALF_TILE]
        copied = allowed[begin : begin + 2 * _HALF_TILE]
        for j in range(0, 2 * _HALF_TILE, line_scores):
            prefetch(row, begin + _PREFETCH_LINES * line_scores + j)
        for place in range(asked_end, min(asked_end + step_items, excluded.size), line_items):
            prefetch(excluded, place)
        asked_end += step_items
        n_in_tile: Any = np.int32(0)
        for j in range(tile.size):
            copied[j] = tile[j]
            n_in_tile = np.int32(n_in_tile + np.int32(tile[j] >= lowest))
        n_numbers += n_in_tile
    for item in excluded:
        allowed[np.uint64(item)] = lowest
    return n_numbers < row.size


@helper
def _fill_pool(row: Array, bound: Any, excluded: IntArray, tied: Any, pool: Pool) -> int:
    """Fill the pool with the items of a row that reach ``bound``, and are not excluded.

    Returns their number, -1 where the pool cannot hold them. Without ``tied``, more than k items
    suffice: later ones that only equal ``bound`` are left out.
    """
    begin: Any = np.int64(0)  # typed, as in ``_list_best``
    count: Any = np.int64(0)
    room = pool.values.size
    count, begin = _gather(row, begin, bound, excluded, count, room // 2, pool)
    # Half of the pool holds more than k items, so later ones must exceed the bound: they lose ties.
    # But to count a tie group takes all of its items.
    if begin < row.size and tied is None:
        above = _next_above(row[begin:], bound)
        if above == bound:
            return count  # type: ignore[no-any-return]
        bound = above
    count, begin = _gather(row, begin, bound, excluded, count, room, pool)
    if begin < row.size:
        count = np.int64(-1)
    return count  # type: ignore[no-any-return]


@helper
def _move_to_pool(items: IntArray, possible: PossibleHits, n_possible: int) -> int:
    """Turn the places of possible hits, which are items of a row, into places in a pool.

    ``items`` are those of the pool. Possible hits that are not among them are dropped. Returns the
    number of those that are left.
    """
    n_left = 0
    for p in range(n_possible):
        place = _position(items, possible.places[p])
        if place >= 0:
            possible.places[n_left] = place
            possible.gain[n_left] = possible.gain[p]
            n_left += 1
    return n_left


@kernel
def rank_rows(
    scores: ScoreBlock,
    bits: Any,
    relevant: Rows,
    excluded: Rows,
    k: int,
    hits: Hits,
    tied: Any,
    has_nan: BoolArray,
    memory: RankMemory,
    expects_hits: Any,
) -> None:
    """Rank the relevant items that may be hits, for a block of dense rows; then ``sort_hits``.

    Fills ``hits``, which holds no hits yet, and ``tied``, a ``Tied`` or None.
    ``has_nan`` (1,) becomes True with any NaN. ``expects_hits`` is None, or True where a random
    order would have a hit of most users: then there are lanes, and all relevant items are compared
    with a bound of the k-th best score.

    ``bits`` are those of ``scores``, scores in half precision, or None. They are an argument, since
    Numba leaves out the branches behind ``is None`` of arguments alone, which takes 0.3 s off the
    compilation. With bits, ``scores`` have memory for one row, which is still in cache when it has
    been converted: a quarter off a call.
    """
    lowest = scores.lowest
    n_items = scores.values.shape[1]
    lane_maxima = memory.lane_maxima
    possible = memory.possible
    for user in range(excluded.start.size - 1):
        row = scores.values[user if bits is None else 0]
        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        if LEAST_PER_HIDDEN * excluded_items.size >= n_items and memory.allowed.size > 0:
            has_nan[0] |= _hide(row, excluded_items, lowest, memory.allowed)
            row = memory.allowed
            excluded_items = excluded_items[:0]
        n_lanes = 0
        if lane_maxima.size > 0:  # as in ``list_rows``: a helper took 0.1 s of a first call
            has_nan[0] |= _lane_maxima(row, lane_maxima, lowest, bits, user)
            n_lanes = _usable_lanes(row, lane_maxima, excluded_items, 2 * k, lowest, lane_maxima)
        else:
            if bits is not None:
                order_halves(bits[user], int(-lowest), row)
            has_nan[0] |= count_reaching(row, lowest) < row.size
        maxima = lane_maxima[:n_lanes]

        # Where k maxima are above the best relevant item, none is a hit, as for most users.
        relevant_items = relevant.items[relevant.start[user] : relevant.start[user + 1]]
        if n_lanes > 0 and expects_hits is None:
            best = _best_score(row, relevant_items, lowest)
            if count_above(maxima, best) >= k:
                hits.length[user] = k
                continue

        # Unless k lanes have an item for the list, the list may be shorter than k.
        hits.length[user] = k
        if count_above(maxima, lowest) < k:
            hits.length[user] = _length_of(row, excluded_items, k, scores.least)
        relevances = relevant.values[relevant.start[user] : relevant.start[user + 1]]
        if expects_hits is not None:
            n_possible, bound = _find_reaching(
                row, maxima, excluded_items, relevant_items, relevances, k, scores.least, possible
            )
        else:
            n_possible, bound = _find_possible(
                row, maxima, excluded_items, relevant_items, relevances, k, scores.least, possible
            )
        if n_possible == 0:
            continue

        # Ranks are counted in the whole row, or, where that takes longer than to collect it, in a
        # pool of the few items that reach the bound.
        values = row
        n_counted = n_items + COMPARED_PER_COLLECTED * k
        if n_lanes > 0 and bound > scores.least and n_possible * n_items > n_counted:
            count = _fill_pool(row, bound, excluded_items, tied, memory.pool)
            if count >= 0:
                values = memory.pool.values[:count]
                excluded_items = excluded_items[:0]
                n_possible = _move_to_pool(memory.pool.items[:count], possible, n_possible)
        _rank_possible(values, None, possible, n_possible, excluded_items, user, k, hits, tied)


@kernel
def rank_many_relevant(
    scores: ScoreBlock,
    relevant: Rows,
    excluded: Rows,
    k: int,
    hits: Hits,
    tied: Any,
    has_nan: BoolArray,
    possible: PossibleHits,
    bins: Bins,
) -> None:
    """Fill ``hits`` as ``rank_rows`` does, for users with many relevant items on average.

    The hits come in the order of their ranks, so ``sort_hits`` has nothing to do. The scores have
    no bits.
    """
    n_items = scores.values.shape[1]
    for user in range(scores.values.shape[0]):
        row = scores.values[user]
        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        has_nan[0] |= count_reaching(row, scores.lowest) < n_items
        hits.length[user] = _length_of(row, excluded_items, k, scores.least)

        relevant_items = relevant.items[relevant.start[user] : relevant.start[user + 1]]
        _fill_bins(row, relevant_items, scores.least, bins)

        # This bound skips most relevant items that are no hits. Excluded items may be among the
        # best.
        b = 0
        while bins.n_above[b] >= k + excluded_items.size:
            b += 1
        bound = max(bins.scores[b], scores.least)
        relevances = relevant.values[relevant.start[user] : relevant.start[user + 1]]
        n_possible, _ = _find_possible(
            row, row[:0], excluded_items, relevant_items, relevances, k, bound, possible
        )
        _rank_possible(row, bins, possible, n_possible, excluded_items, user, k, hits, tied)


@kernel
def rank_candidates(
    candidate_scores: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    relevant: Rows,
    k: int,
    least: Any,
    hits: Hits,
    tied: Any,
    possible: PossibleHits,
    bin_memory: Any,
) -> None:
    """Fill ``hits`` and ``tied`` from the scores of the candidates alone; then ``sort_hits``.

    User u has the slice ``candidate_start[u]:candidate_start[u + 1]`` of ``candidate_items``,
    ascending and without excluded ones, and of ``candidate_scores``. The three are not united in
    ``Rows``, whose values have another dtype.

    ``bin_memory`` is None where no user has many relevant items. Numba leaves out the branch behind
    it, which takes longer to compile than all others.
    """
    for user in range(candidate_start.size - 1):
        begin = candidate_start[user]
        end = candidate_start[user + 1]
        scores = candidate_scores[begin:end]
        items = candidate_items[begin:end]
        hits.length[user] = min(k, count_reaching(scores, least))

        n_possible = 0
        for i in range(relevant.start[user], relevant.start[user + 1]):
            place = _position(items, relevant.items[i])
            if place >= 0 and scores[place] >= least:
                possible.places[n_possible] = place
                possible.gain[n_possible] = relevant.values[i]
                n_possible += 1
        if n_possible == 0:
            continue
        no_excluded = items[:0]
        if bin_memory is not None and n_possible >= bin_memory.least_relevant:
            bins = bin_memory.bins
            _fill_bins(scores, possible.places[:n_possible], least, bins)
            _rank_possible(scores, bins, possible, n_possible, no_excluded, user, k, hits, tied)
            continue
        _rank_possible(scores, None, possible, n_possible, no_excluded, user, k, hits, tied)


@kernel
def sort_many_hits(hits: Hits, tied: Any, scratch: Scratch) -> None:
    """Sort the hits of users with more than ``_FEW_HITS`` by rank."""
    for user in range(hits.n_hits.size):
        n_hits = hits.n_hits[user]
        if n_hits <= _FEW_HITS:
            continue

        first = hits.start[user]
        for hit in range(n_hits):
            slot = first + hit
            scratch.gain[hit] = hits.gain[slot]
            if tied is not None:
                scratch.first[hit] = tied.first[slot]
                scratch.last[hit] = tied.last[slot]
        _sort_ranks(hits.rank[first : first + n_hits], scratch)

        for place in range(n_hits):
            slot = first + place
            hit = scratch.table[place]
            scratch.table[place] = 0  # for the next user
            hits.gain[slot] = scratch.gain[hit]
            if tied is not None:
                tied.first[slot] = scratch.first[hit]
                tied.last[slot] = scratch.last[hit]


@helper
def _sort_ranks(ranks: IntArray, scratch: Scratch) -> None:
    """Sort the ranks of a user's hits, which all differ, and write the hits in that order.

    They are written to the front of ``scratch.table``, which otherwise holds zeros. Where there are
    many ranks for each hit, they are found by a sort, else by a table of all ranks: this took
    2.1 us of a user with 100 hits among 3,700 ranks, more than the sort.
    """
    table = scratch.table
    n_hits = ranks.size
    if n_hits * _RANKS_PER_SORTED < table.size:
        order = scratch.order[:n_hits]
        for hit in range(n_hits):
            ranks[hit] = -ranks[hit]  # the first rank is the largest then
            order[hit] = hit
        sort_best_first(ranks, order, scratch.spare_ranks, scratch.spare_order)
        for place in range(n_hits):
            ranks[place] = -ranks[place]
            table[place] = order[place]
        return

    for hit in range(n_hits):
        table[ranks[hit]] = hit + 1
    place = 0
    for rank in range(table.size):
        if place == n_hits:
            break
        if table[rank] > 0:
            hit = table[rank] - 1
            table[rank] = 0
            ranks[place] = rank
            table[place] = hit  # before this rank, so it is not read again as one
            place += 1


@helper
def _list_best(row: Array, bound: Any, excluded: IntArray, k: int, pool: Pool) -> int:
    """Write the k best of a row to the front of the pool, best first; returns their number.

    ``bound`` is a lower bound of the k-th best score, or of all scores that may be listed.
    """
    values = pool.values
    items = pool.items
    lowest = bound  # no score in the pool is lower
    # Typed, since a helper called with a literal is compiled once more for it.
    count: Any = np.int64(0)
    begin: Any = np.int64(0)
    while begin < row.size:
        count, begin = _gather(row, begin, bound, excluded, count, values.size, pool)
        n_sorted = k
        if begin == row.size:  # to sort a few items more takes less than to find the k best
            n_sorted = max(k, 2 * min(k, RUN_ITEMS))
        if count > n_sorted:
            worst = _shrink(values, items, count, k, lowest)
            count = np.int64(k)
            if begin < row.size:  # the pool was full: a later item must beat the worst of the best
                bound = _next_above(row[begin:], worst)
                if bound == worst:
                    break
    sort_best_first(values[:count], items[:count], pool.spare_values, pool.spare_items)
    return int(min(count, k))


@helper
def _find_lanes(lane_maxima: Array, folded: Array, bound: Any, lanes: IntArray) -> int:
    """Write the lanes whose maximum reaches ``bound`` to ``lanes``.

    Returns their number, or 0 where they may be more than half of all lanes.

    First the places in ``folded`` that reach it are found, then the lanes among the four that
    ``_fold`` put into each. Each is written to the next place of ``lanes``, which moves on only if
    it reaches the bound, without a branch that is hard to guess.
    """
    n_folded: Any = np.int64(0)  # that reach the bound
    for lane in range(folded.size):
        lanes[n_folded] = lane
        n_folded += folded[lane] >= bound
    if 4 * n_folded > lane_maxima.size // 2:  # as where scores are equal
        return 0

    end: Any = n_folded  # of what is written to ``lanes``
    for i in range(n_folded):
        first = lanes[i]
        for part in range(4):  # written as one range of lanes, it took longer than it saves
            lane = first + part * folded.size
            lanes[end] = lane
            end += lane_maxima[lane] >= bound
    for i in range(n_folded, end):
        lanes[i - n_folded] = lanes[i]
    return end - n_folded  # type: ignore[no-any-return]


@helper
def _add_reaching(row: Array, item: int, bound: Any, count: int, pool: Pool) -> int:
    """Write an item to the next place of a pool, which it keeps if it reaches ``bound``.

    ``count`` items have kept their places; returns the new count. There is no branch.
    """
    score = row[np.uint64(item)]
    pool.values[np.uint64(count)] = score
    pool.items[np.uint64(count)] = item
    return count + (score >= bound)  # type: ignore[no-any-return]


@numpy_form(lambda *_: 0)  # in Python, ``_list_best`` takes less
@helper
def _list_from_lanes(
    row: Array, bound: Any, lane_maxima: Array, folded: Array, k: int, pool: Pool
) -> int:
    """Write the k best items of a row to the front of the pool, as ``_list_best`` does.

    ``folded`` are the ``lane_maxima``, four in one, and no item is excluded. At least k of them
    reach ``bound``, so k items do. Only the items of the lanes that reach it are looked at: 15 in
    each of 11 lanes for k = 10 and 3,700 items, which takes 0.25 us of a user, where a second pass
    over the row takes 0.4.

    Returns k, or 0, and no list, where that does not pay off: in long rows, and where many scores
    are equal.
    """
    if row.size > _LONGEST_LANE * lane_maxima.size:
        return 0
    n_lanes = _find_lanes(lane_maxima, folded, bound, pool.spare_items)
    count: Any = np.int64(0)
    for i in range(n_lanes):
        lane = pool.spare_items[i]
        # Its first item; another follows half a tile later, and the next two in the next tile that
        # has the lane.
        item = lane // _HALF_TILE * 2 * _HALF_TILE + lane % _HALF_TILE
        while item + _HALF_TILE < row.size:
            count = _add_reaching(row, item, bound, count, pool)
            count = _add_reaching(row, item + _HALF_TILE, bound, count, pool)
            item += 2 * lane_maxima.size
        if item < row.size:
            count = _add_reaching(row, item, bound, count, pool)
        if count > RUN_ITEMS:
            return 0
    if count == 0:
        return 0

    # The items are in no order. Each goes to the place that is the number of items before it: those
    # with a greater score, and the lower ones with the same.
    values = pool.values[:count]
    items = pool.items[:count]
    for i in range(values.size):
        score = values[i]
        item = items[i]
        place: Any = np.int64(0)
        for j in range(values.size):
            place += (values[j] > score) | ((values[j] == score) & (items[j] < item))
        pool.spare_items[place] = item
    for i in range(k):
        items[i] = pool.spare_items[i]
    return k


@kernel
def list_rows(
    scores: ScoreBlock,
    excluded: Rows,
    k: int,
    ranking: IntArray,
    length: IntArray,
    has_nan: BoolArray,
    lane_maxima: Array,
    pool: Pool,
    allowed: Array,
) -> None:
    """Fill ``ranking`` (rows, k) with the k best items of each row, ``length`` with their number.

    A row of ``ranking`` is left as it is behind its length. ``scores`` have no bits. ``has_nan``
    (1,) becomes True with any NaN. ``lane_maxima`` and ``allowed`` are work memory as in
    ``RankMemory``; the first is empty where rows are too short.
    """
    lowest = scores.lowest
    n_items = scores.values.shape[1]
    for user in range(scores.values.shape[0]):
        row = scores.values[user]
        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        if LEAST_PER_HIDDEN * excluded_items.size >= n_items and allowed.size > 0:
            has_nan[0] |= _hide(row, excluded_items, lowest, allowed)
            row = allowed
            excluded_items = excluded_items[:0]
        bound = scores.least
        n_listed = 0
        if lane_maxima.size > 0:
            has_nan[0] |= _lane_maxima(row, lane_maxima, lowest, None, 0)
            folded = pool.spare_values
            n_lanes = _usable_lanes(row, lane_maxima, excluded_items, 4 * k, lowest, folded)
            is_folded = n_lanes < lane_maxima.size
            maxima = folded[:n_lanes] if is_folded else lane_maxima
            # Numba's ``max`` of two scores made this kernel a twentieth slower.
            reached = _bound_of_lanes(maxima, k, lowest)
            bound = reached if reached > scores.least else scores.least
            # A lane whose maximum is excluded may have other items that reach the bound.
            if is_folded and excluded_items.size == 0 and reached > scores.least:
                n_listed = _list_from_lanes(row, bound, lane_maxima, maxima, k, pool)
        else:
            has_nan[0] |= count_reaching(row, lowest) < row.size
        if n_listed == 0:
            n_listed = _list_best(row, bound, excluded_items, k, pool)
        length[user] = n_listed
        for i in range(n_listed):
            ranking[user, i] = pool.items[i]


@kernel
def list_candidates(
    candidate_scores: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    k: int,
    least: Any,
    ranking: IntArray,
    length: IntArray,
    pool: Pool,
) -> None:
    """Fill ``ranking`` and ``length`` as ``list_rows``, from the scores of the candidates alone.

    The first three arguments are those of ``rank_candidates``. Candidates whose score is below
    ``least`` are not listed.
    """
    no_excluded = candidate_items[:0]  # candidates are without excluded items
    for user in range(length.size):
        begin = candidate_start[user]
        scores = candidate_scores[begin : candidate_start[user + 1]]
        length[user] = _list_best(scores, least, no_excluded, k, pool)
        for i in range(length[user]):  # an item of the pool is a place in ``scores``
            ranking[user, i] = candidate_items[begin + pool.items[i]]


@kernel
def look_up_dense(ranking: IntArray, length: IntArray, relevances: Array, hits: Hits) -> None:
    """Fill ``hits`` with the relevant items among the first ``length`` of each ranking.

    ``ranking`` (rows, k) is that of ``list_rows``; ``relevances`` (rows, n_items) is a dense truth.
    In NumPy it took a twelfth of a call.
    """
    for user in range(length.size):
        first = hits.start[user]
        n_hits = 0
        for i in range(length[user]):
            relevance = relevances[user, ranking[user, i]]
            if relevance > 0:
                hits.rank[first + n_hits] = i + 1
                hits.gain[first + n_hits] = relevance
                n_hits += 1
        hits.n_hits[user] = n_hits
        hits.length[user] = length[user]


@kernel
def look_up_items(
    ranking: IntArray,
    length: IntArray,
    k: int,
    relevant: Rows,
    are_equal: bool,
    hits: Hits,
    places: IntArray,
) -> None:
    """Fill ``hits`` with the ``relevant`` items, ascending, among the first ``k`` of each ranking.

    ``ranking`` and ``length`` are those of ``list_rows``. With ``are_equal`` all relevances are the
    same, and the first is read for each. ``places`` (k,) is work memory.

    All items of a ranking are searched for together, by halves, so that the comparisons of one do
    not wait for those of another. Meanwhile the next user's items are brought to the cache, a few
    lines at each step: of 4,000 users with 1,000 relevant items in memory, 40,000 searches take
    0.7 ms. They took 4.8 without that, and 3 where all lines were asked for at once.
    """
    items = relevant.items
    n_users = length.size
    line_items = _CACHE_LINE_BYTES // items.itemsize
    for user in range(n_users):
        best_items = ranking[user, : min(k, length[user])]
        begin = relevant.start[user]
        end = relevant.start[user + 1]
        next_end = relevant.start[min(user + 2, n_users)]
        step_items = (next_end - end) // _SEARCH_STEPS + line_items  # of the next user
        asked_end = end  # the items before it are asked for

        # Each item is among the ``size`` relevant ones from its place on, if it is relevant.
        places[: best_items.size] = begin
        size = end - begin
        while size > 1:
            half = size // 2
            for i in range(best_items.size):
                place = places[i]
                last_of_half = items[np.uint64(place + half - 1)]
                places[i] = place + half * (last_of_half < best_items[i])  # no branch
            size -= half
            for line in range(asked_end, min(asked_end + step_items, next_end), line_items):
                prefetch(items, line)
            asked_end += step_items

        hits.length[user] = best_items.size
        if size == 0:  # no relevant items
            continue
        first = hits.start[user]
        n_hits = 0
        for i in range(best_items.size):
            if items[places[i]] == best_items[i]:
                hits.rank[first + n_hits] = i + 1
                hits.gain[first + n_hits] = relevant.values[0 if are_equal else places[i]]
                n_hits += 1
        hits.n_hits[user] = n_hits


@helper
def _first_repeat(items: IntArray) -> int:
    """The first place of a ranking whose item occurs before it, or -1."""
    for place in range(1, items.size):
        for before in range(place):
            if items[before] == items[place]:
                return place
    return -1


@helper
def _read_ranking(ranking: IntArray, n_items: int) -> tuple[int, int]:
    """Give the first fault of a ranking, OUTSIDE or AFTER_END, and its place in the ranking.

    Without a fault, 0 and the number of items. An entry of -1 is no item and ends the ranking.
    """
    n_ranked = 0
    for place in range(ranking.size):
        item = ranking[place]
        if item < -1 or item >= n_items:
            return OUTSIDE, place
        if item >= 0:
            if n_ranked < place:
                return AFTER_END, place
            n_ranked += 1
    return 0, n_ranked


@kernel
def rank_lists(
    items: IntArray,
    start: IntArray,
    relevant: Rows,
    n_items: int,
    k: int,
    hits: Hits,
    fault: IntArray,
    tables: ListTables,
) -> None:
    """Fill ``hits`` with those among the first ``k`` of each ranking; stop at the first bad one.

    The ranking of user u is ``items[start[u]:start[u + 1]]``, perhaps with -1 after its end.
    ``fault`` (3,) is left as it is, or receives the fault, OUTSIDE, AFTER_END or TWICE, the row,
    and the place in the ranking.
    """
    slot_of = tables.slot_of
    for user in range(start.size - 1):
        ranking = items[start[user] : start[user + 1]]
        problem, end = _read_ranking(ranking, n_items)
        if problem == 0:
            repeat = -1
            if slot_of.size:
                repeat = _first_repeat_by_table(ranking[:end], user, tables.user_of)
            elif tables.may_repeat[user]:
                repeat = _first_repeat(ranking[:end])
            if repeat >= 0:
                problem = TWICE
                end = repeat
        if problem != 0:
            # No tuple is assigned to a slice, which would take a second to compile.
            fault[0] = problem
            fault[1] = user
            fault[2] = end
            return

        n_ranked = min(k, end)
        hits.length[user] = n_ranked
        first = hits.start[user]
        relevant_items = relevant.items[first : hits.start[user + 1]]
        if slot_of.size:
            for place in range(relevant_items.size):
                slot_of[relevant_items[place]] = first + place

        n_hits = 0
        for i in range(n_ranked):
            item = ranking[i]
            # The table is not cleared between users: a slot before ``first`` is of an earlier one.
            place = slot_of[item] - first if slot_of.size else _position(relevant_items, item)
            if place >= 0:
                slot = first + n_hits
                hits.rank[slot] = i + 1
                hits.gain[slot] = relevant.values[first + place]
                n_hits += 1
        hits.n_hits[user] = n_hits


@helper
def _first_repeat_by_table(items: IntArray, user: int, user_of: IntArray) -> int:
    """The first place of a ranking whose item occurs before it, or -1.

    ``user_of`` has, for each item, the last user whose ranking has it, and is brought up to date.
    """
    repeat = -1
    for place in range(items.size):
        if repeat < 0 and user_of[items[place]] == user:
            repeat = place
        user_of[items[place]] = user
    return repeat


def _count_blocks_in_numpy(
    values: Array, bound: Any, ties_lose: Any, block_counts: npt.NDArray[np.int32]
) -> int:
    """Count in each block what ``_count_blocks`` does."""
    fails = values <= bound if ties_lose else values < bound
    begins = np.arange(0, values.size, BLOCK_SCORES)
    block_counts[:] = np.add.reduceat(~fails, begins, dtype=np.int32)
    return int(block_counts.sum())


@numpy_form(_count_blocks_in_numpy)
@helper
def _count_blocks(
    values: Array, bound: Any, ties_lose: Any, block_counts: npt.NDArray[np.int32]
) -> int:
    """Count in each block the NaN and the scores >= ``bound``, or > ``bound`` if ``ties_lose``.

    Fills ``block_counts``, and returns their sum. A comparison with NaN is False, so
    ``not (a < b)`` counts it. The tail behind the whole blocks is one more block.
    """
    total = 0
    n_whole = values.size // BLOCK_SCORES
    for b in range(n_whole):
        block = values[b * BLOCK_SCORES : (b + 1) * BLOCK_SCORES]
        count: Any = np.int32(0)
        if ties_lose:
            for i in range(BLOCK_SCORES):
                count = np.int32(count + np.int32(not (block[i] <= bound)))
        else:
            for i in range(BLOCK_SCORES):
                count = np.int32(count + np.int32(not (block[i] < bound)))
        block_counts[b] = count
        total += count

    if n_whole < block_counts.size:
        tail = 0
        for i in range(n_whole * BLOCK_SCORES, values.size):
            tail += not (values[i] <= bound if ties_lose else values[i] < bound)
        block_counts[n_whole] = tail
        total += tail
    return total


@helper
def _find_columns(items: IntArray, first_item: int, width: int, columns: IntArray) -> int:
    """Write the columns of a tile that hold some of the ascending ``items`` to ``columns``.

    The tile has ``width`` columns, for the items from ``first_item`` on. Returns the number of
    columns written.
    """
    first = _first_from(items, first_item)
    n_columns = 0
    while first + n_columns < items.size and items[first + n_columns] < first_item + width:
        columns[n_columns] = items[first + n_columns] - first_item
        n_columns += 1
    return n_columns


@helper
def _raise_bound(
    row: Array, excluded: IntArray, k: int, lowest: Any, bound: Any, memory: TileMemory
) -> Any:
    """Return the bound of a user, raised where the lanes of the user's row of a tile allow it.

    If it is raised, ``memory.block_counts`` get the scores >= the new bound.
    """
    _lane_maxima(row, memory.lane_maxima, lowest, None, 0)
    lane_maxima = memory.lane_maxima
    n_lanes = _usable_lanes(row, lane_maxima, excluded, 4 * k, lowest, lane_maxima)
    reached = _bound_of_lanes(lane_maxima[:n_lanes], k, lowest)
    if reached > bound:
        _count_blocks(row, reached, np.bool_(False), memory.block_counts)
        return reached
    return bound


@helper
def _note_nan(nan_report: IntArray, user: int, item: int) -> None:
    """Count a NaN in ``nan_report``: (count, user, item) of the first in the order of the matrix.

    Tiles come in the order of items, so an earlier NaN of the same user has a lower item.
    """
    if nan_report[N_NAN] == 0 or user < nan_report[NAN_ROW]:
        nan_report[NAN_ROW] = user
        nan_report[NAN_ITEM] = item
    nan_report[N_NAN] += 1


@kernel
def select_tile(
    tile: Array,
    width: int,
    first_item: int,
    excluded: Rows,
    k: int,
    lowest: Any,
    collected: Collected,
    nan_report: IntArray,
    memory: TileMemory,
) -> None:
    """Add the items of a tile that may be among the k best to those collected from earlier tiles.

    ``tile`` (rows, columns) of floats has in its first ``width`` columns the scores of the items
    from ``first_item`` on; columns beyond these, and rows beyond the users, are padding.
    ``collected`` is brought up to date. ``nan_report`` (3,) is updated by the number of NaN, and
    the row and item of the first in the order of the whole matrix.
    """
    most_kept = 2 * k + BLOCK_SCORES // 4  # a user who has so many is cut to the k best
    for user in range(collected.counts.size):
        row = tile[user, :width]
        bound = collected.bounds[user]
        # Items at the bound of earlier tiles lose ties; those at a bound of this tile do not.
        ties_lose: Any = np.bool_(True)
        # One vectorised pass: most tiles of most users end here. NaN is counted, too.
        n_candidates = _count_blocks(row, bound, ties_lose, memory.block_counts)
        if n_candidates == 0:
            continue

        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        n_columns = _find_columns(excluded_items, first_item, width, memory.excluded_columns)
        excluded_columns = memory.excluded_columns[:n_columns]
        # There may be too many to add one by one, as in the first tile, or in every tile where
        # scores ascend. The lanes of this tile alone then give a better bound.
        if memory.lane_maxima.size > 0 and n_candidates > most_kept:
            # It counts the blocks by the new bound, too.
            new_bound = _raise_bound(row, excluded_columns, k, lowest, bound, memory)
            # ``if new_bound > bound:`` made the kernel a twentieth slower.
            ties_lose = np.bool_(new_bound == bound)  # it was not raised
            bound = new_bound

        # This loop is no helper: LLVM did not inline it, and a call passes all parts of all arrays.
        values = collected.values[user]
        items = collected.items[user]
        count = collected.counts[user]
        for b in range(memory.block_counts.size):
            # Counted by a bound that may have risen since: the block is then read to its end.
            n_left = memory.block_counts[b]
            if n_left == 0:
                continue
            if count + BLOCK_SCORES > values.size:
                # A full pool has at least k items that reach the bound: k earlier ones or, for a
                # bound of this tile, more than k of this tile. So ``_shrink`` does not lower it.
                bound = _shrink(values, items, count, k, lowest)
                count = np.int64(k)
                # The k that are kept all come before the items still to read.
                ties_lose = np.bool_(True)
            for column in range(b * BLOCK_SCORES, min((b + 1) * BLOCK_SCORES, width)):
                score = row[column]
                if (score < bound) | (ties_lose & (score == bound)):  # False with NaN
                    continue
                n_left -= 1
                if not score >= lowest:  # NaN; by ``score != score`` up to a third slower
                    _note_nan(nan_report, user, first_item + column)
                elif _position(excluded_columns, column) < 0:
                    values[count] = score
                    items[count] = first_item + column
                    count += 1
                if n_left == 0:
                    break

        # The bound is raised once per k new items: as effective as after each item, and cheaper.
        if count >= most_kept:
            bound = _shrink(values, items, count, k, lowest)
            count = np.int64(k)
        collected.counts[user] = count
        collected.bounds[user] = bound


@kernel
def list_selected(
    k: int,
    lowest: Any,
    collected: Collected,
    ranking: IntArray,
    length: IntArray,
    spare_values: Array,
    spare_items: IntArray,
) -> None:
    """Fill ``ranking`` (rows, k) and ``length`` from the items that ``select_tile`` collected.

    A row of ``ranking`` is left as it is behind its length.
    """
    for user in range(collected.counts.size):
        values = collected.values[user]
        items = collected.items[user]
        count = collected.counts[user]
        if count > k:
            _shrink(values, items, count, k, lowest)
            count = np.int64(k)
        sort_best_first(values[:count], items[:count], spare_values, spare_items)
        length[user] = count
        for i in range(count):
            ranking[user, i] = items[i]
