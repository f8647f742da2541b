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

For lists, the k-th largest lane maximum is a lower bound of the k-th best score.

No other kernels see scores. These read rows of one native dtype; ``lowest`` is the smallest value
of that dtype, and ``least`` the smallest with which an item may be recommended: -inf is not. The
functions of ``memory`` make the arrays that they work in.

Arrays that belong together are one argument, a record such as ``Rows``, which costs nothing in
compiled code. A helper gets slices of arrays, but returns none: the references to arrays are not
counted, and Numba would drop one that it never took.

The first call of a process without a cache waits for their compilation, which takes time for each
dtype and for each line. So what few calls need is an argument that may be None, such as ``tied``:
Numba leaves out the branches behind ``is None``, and compiles them when they are first needed. Many
relevant items, and many hits, have kernels of their own.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import N_NAN, NAN_ITEM, NAN_ROW, Rows, ScoreBlock, order_halves
from recmetrics._core.jit import helper, kernel, prefetch
from recmetrics._core.selection.hits import Hits
from recmetrics._core.types import BoolArray, FloatArray, IntArray

Array = npt.NDArray[Any]  # of the dtype of the scores

# Half a tile. Since the loop over it runs over this constant, LLVM can vectorise it; a trip count
# known only at run time costs a third more.
_HALF = 128
LANES = 2 * _HALF  # the number of lanes is a multiple of it
_CACHE_LINE = 64  # bytes
_AHEAD = 128  # cache lines between the scores that are read and those that are asked for
BLOCK = 64  # scores counted together
_CHUNK = 512  # scores that the second pass skips together
_WIDE = 256  # sorted scores that are counted rather than searched

# Collecting the scores of a block one by one costs this many vectorised counts of that block.
_COLLECT = 26
_TILE = 4096  # scores that stay in cache while they are compared with all relevant items
_RUN = 24  # items sorted by insertion

_FEW = 32  # hits; up to so many no sort is faster than insertion

# Faults of a ranking that the caller made.
OUTSIDE, AFTER_END, TWICE = 1, 2, 3
ANY_ITEM = int(np.iinfo(np.int64).max)  # the items of a catalogue of unknown size


class Tied(NamedTuple):
    """The ranks of tie groups, where equal scores may come in any order: slots of ``Hits``."""

    first: IntArray  # until ``_keep_hits``, the number of greater scores
    last: IntArray  # the number of scores at least as great


class Scratch(NamedTuple):
    """Work memory to sort many hits."""

    at_rank: npt.NDArray[np.int32]  # (ranks + 1,) 0 between users
    gain: FloatArray  # (hits of a user,) copies while hits are reordered
    first: IntArray
    last: IntArray


class Pool(NamedTuple):
    """Memory for the items of a user that reach a bound."""

    values: Array
    items: IntArray
    spare_values: Array  # as much again, to sort with
    spare_items: IntArray


class RankMemory(NamedTuple):
    """Work memory to rank the relevant items of one user after another."""

    lanes: Array
    pool: Pool
    places: IntArray


class TileMemory(NamedTuple):
    """Work memory to select from a tile."""

    lanes: Array
    blocks: npt.NDArray[np.int32]  # the number of scores of each block that may be selected
    excluded: IntArray  # the columns of a user's excluded items


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


def sort_hits(hits: Hits, tied: Tied | None, most: int, depth: int) -> None:
    """Sort the hits that a kernel ranked, where a user may have ``most``, at ranks to ``depth``."""
    if most > _FEW:
        n_tied = 0 if tied is None else most
        scratch = Scratch(
            at_rank=np.zeros(depth + 1, np.int32),
            gain=np.empty(most),
            first=np.empty(n_tied, np.int64),
            last=np.empty(n_tied, np.int64),
        )
        sort_many_hits(hits, tied, scratch)


@helper
def _count_reaching(values: Array, score: Any) -> int:
    """Count the ``values`` >= score.

    Sums in int32 run four times as fast as in int64. One loop: blocks of a constant size took a
    third more time, and compile twice as long.
    """
    count: Any = np.int32(0)
    for i in range(values.size):
        count = np.int32(count + np.int32(values[i] >= score))
    return count  # type: ignore[no-any-return]


@helper
def _count_above(values: Array, score: Any) -> int:
    count: Any = np.int32(0)
    for i in range(values.size):
        count = np.int32(count + np.int32(values[i] > score))
    return count  # type: ignore[no-any-return]


@helper
def _count_equal(values: Array, score: Any) -> int:
    count: Any = np.int32(0)
    for i in range(values.size):
        count = np.int32(count + np.int32(values[i] == score))
    return count  # type: ignore[no-any-return]


@helper
def _lane_maxima(row: Array, lanes: Array, lowest: Any, bits: Any, user: int) -> bool:
    """Fill the lanes, which have the items of ``_lane_of``, with their maxima; True with any NaN.

    No lane is set to the larger of itself and one score: LLVM would make that a masked store, which
    takes four times as long on processors with AVX2 and without AVX-512. It does not with two
    scores. They are in one tile, since processors read ahead what is read in order.

    The row has at least three times as many items as there are lanes. It is filled from
    ``bits[user]``, unless these are None, tile by tile, which stay in the nearest cache. ``bits``
    are an argument of their own, not read from a record, since Numba leaves out the branches behind
    ``is None`` of arguments alone.
    """
    line = _CACHE_LINE // row.itemsize
    has_nan = False
    for j in range(lanes.size):
        lanes[j] = lowest

    begin = 0
    lane = 0
    while begin + 2 * _HALF <= row.size:
        left = row[begin : begin + _HALF]
        right = row[begin + _HALF : begin + 2 * _HALF]
        maxima = lanes[lane : lane + _HALF]
        if bits is not None:
            tile = row[begin : begin + 2 * _HALF]
            order_halves(bits[user, begin : begin + 2 * _HALF], int(-lowest), tile)
        else:
            for j in range(0, 2 * _HALF, line):
                prefetch(row, begin + _AHEAD * line + j)
        for j in range(_HALF):
            maximum = maxima[j]
            score = left[j]
            other = right[j]
            maximum = score if score > maximum else maximum  # NaN never gets in
            maxima[j] = other if other > maximum else maximum
            has_nan |= (score != score) | (other != other)  # only NaN is
        begin += 2 * _HALF
        # No ``if lane == lanes.size``: it made LLVM keep ``lane`` in memory, a tenth of the time.
        lane = lane + _HALF if lane + _HALF < lanes.size else 0

    # Less than a tile is left.
    if bits is not None:
        order_halves(bits[user, begin:], int(-lowest), row[begin:])
    maxima = lanes[lane:]
    while begin < row.size:
        left = row[begin - 2 * lanes.size :]  # of the same lanes, and in them already
        right = row[begin : begin + _HALF]
        if bits is None:  # 1.8 ms of 35 for 100,000 users and 1,000 items, a quarter in this loop
            for j in range(0, _HALF, line):
                prefetch(row, begin + _AHEAD * line + j)
        for j in range(right.size):
            maximum = maxima[j]
            score = left[j]
            other = right[j]
            maximum = score if score > maximum else maximum
            maxima[j] = other if other > maximum else maximum
            has_nan |= other != other
        begin += _HALF
    return has_nan


@helper
def _lane_of(item: int, n_lanes: int) -> int:
    """The lane of an item: both halves of a tile have the same ones, the next tile has others."""
    return item // (2 * _HALF) * _HALF % n_lanes + item % _HALF


@helper
def _usable_lanes(row: Array, lanes: Array, excluded: IntArray, min_lanes: int, lowest: Any) -> int:
    """Leave excluded items out of the lane maxima; fold four lanes into one if many are left.

    Many are ``min_lanes`` after the folding. Returns how many of ``lanes`` are in use, from the
    first on. A lane whose maximum may be an excluded item becomes ``lowest``.
    """
    for item in excluded:
        lane = _lane_of(item, lanes.size)
        if row[item] >= lanes[lane]:
            lanes[lane] = lowest
    # Fewer lanes are faster to count and to select from.
    quarter = lanes.size // 4
    if quarter < min_lanes:
        return lanes.size
    for j in range(quarter):
        maximum = lanes[j]
        score = lanes[j + quarter]
        maximum = score if score > maximum else maximum
        score = lanes[j + 2 * quarter]
        maximum = score if score > maximum else maximum
        score = lanes[j + 3 * quarter]
        lanes[j] = score if score > maximum else maximum
    return quarter


@helper
def _reached_by(values: Array, k: int, lowest: Any, slack: Any) -> Any:
    """The largest of ``values`` that at least k reach, or a smaller one that k to k + slack reach.

    Bisection by counting, with one of the values as the pivot each time: a dozen vectorised counts
    are fifteen times as fast as quickselect (1,024 values, k = 100), and the dtype only has to
    support comparison.
    """
    reached = lowest  # n_reaching values, at least k, are >= this one
    n_reaching = values.size
    missed = lowest  # n_missing values, fewer than k, are >= this one, once there is one
    n_missing = 0
    # Pivots in golden steps: in order they would not halve the values where these ascend.
    step = int(values.size * 0.618) | 1
    place = 0
    searching = n_reaching > k + slack
    while searching:
        tries = 0
        between = False
        while not between and tries < 2 * values.size:
            # The second round takes steps of 1: a step may share a factor with the size.
            place += step if tries < values.size else 1
            if place >= values.size:
                place -= values.size
            value = values[place]
            between = value > reached and (n_missing == 0 or value < missed)
            tries += 1
        if between:
            count = _count_reaching(values, values[place])
            if count >= k:
                reached = values[place]
                n_reaching = count
            else:
                missed = values[place]
                n_missing = count
        # One value in the gap is ``reached`` itself.
        searching = between and n_reaching > k + slack and n_reaching - n_missing > 1
    return reached


@helper
def _bound(lanes: Array, k: int, lowest: Any) -> Any:
    """A lower bound of the k-th best score of a row from its lane maxima, or ``lowest``."""
    return _reached_by(lanes, k, lowest, k // 8)


@helper
def _shrink(values: Array, items: IntArray, count: int, k: int, lowest: Any) -> Any:
    """Keep the k best of a pool in item order; returns the score of the worst."""
    bound = _reached_by(values[:count], k, lowest, np.int64(0))
    equal = k - _count_above(values[:count], bound)  # the number of scores at the bound to keep
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


@helper
def _gather(
    row: Array,
    begin: int,
    bound: Any,
    excluded: IntArray,
    count: int,
    values: Array,
    items: IntArray,
) -> tuple[int, int]:
    """Add the items of a row from ``begin`` on that reach ``bound`` to the ``count`` collected.

    Returns the new count, and the item before which it stopped, since the memory might not hold the
    next block, or the end of the row.
    """
    e = 0  # of the next excluded item
    width = _CHUNK
    while begin < row.size:
        block = row[begin : begin + width]
        if _count_reaching(block, bound) > 0:
            if width > BLOCK:  # look again, at a part of the chunk
                width = BLOCK
                continue
            if count + BLOCK > values.size:
                break
            for i in range(block.size):
                if block[i] >= bound:
                    item = begin + i
                    while e < excluded.size and excluded[e] < item:
                        e += 1
                    if not (e < excluded.size and excluded[e] == item):
                        values[count] = block[i]
                        items[count] = item
                        count += 1
        begin += width
        if begin % _CHUNK == 0:
            width = _CHUNK
    if begin > row.size:
        begin = row.size
    return count, begin


@helper
def _next_above(values: Array, score: Any) -> Any:
    """The smallest of ``values`` that is greater than ``score``, or ``score`` if none is."""
    least = score
    if _count_above(values, score) == 0:
        return least  # as where most scores are equal: a tenth of the time of the loop below
    for i in range(values.size):
        if values[i] > score and (least == score or values[i] < least):
            least = values[i]
    return least


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
    """Count the ranks of the ascending ``places`` among ``values``, from ranks of 1.

    It goes tile by tile, so that a long row is read from memory once, for any number of places. Of
    successive places that tie, only the first is counted. Where they are given, ``above``
    and ``reaching`` receive the number of scores > and >= theirs, added to 0.
    """
    for begin in range(0, values.size, _TILE):
        tile = values[begin : begin + _TILE]
        for p in range(places.size):
            score = values[places[p]]
            if p > 0 and score == values[places[p - 1]]:
                continue
            n_before = places[p] - begin
            if n_before < 0:
                n_before = 0
            elif n_before > tile.size:
                n_before = tile.size
            n_reaching_before = _count_reaching(tile[:n_before], score)
            n_above_after = _count_above(tile[n_before:], score)
            rank[p] += n_reaching_before + n_above_after
            if above is not None:
                above[p] += n_above_after + _count_above(tile[:n_before], score)
                reaching[p] += n_reaching_before + _count_reaching(tile[n_before:], score)

    for p in range(1, places.size):
        score = values[places[p]]
        if score == values[places[p - 1]]:
            rank[p] = rank[p - 1] + _count_equal(values[places[p - 1] : places[p]], score)
            if above is not None:
                above[p] = above[p - 1]
                reaching[p] = reaching[p - 1]


@helper
def _search_ranks(
    values: Array, ordered: Array, places: IntArray, rank: IntArray, above: Any, reaching: Any
) -> None:
    """Search the numbers of ``_count_ranks`` in ``ordered``, the same scores ascending."""
    for p in range(places.size):
        score = values[places[p]]
        n_above = _count_ordered_above(ordered, score)
        n_reaching = n_above + 1
        n_others = ordered.size - n_above  # below or equal
        if n_others > 1 and ordered[n_others - 2] == score:  # another item has this score
            n_reaching = ordered.size - _first_from(ordered[:n_others], score)

        if p > 0 and score == values[places[p - 1]]:
            begin = places[p - 1]
            rank[p] = rank[p - 1]
        else:
            begin = 0
            rank[p] += n_above
        if n_reaching > n_above + 1:
            rank[p] += _count_equal(values[begin : places[p]], score)
        if above is not None:
            above[p] = n_above
            reaching[p] = n_reaching


@helper
def _count_ordered_above(ordered: Array, score: Any) -> int:
    """Count the scores > ``score`` by bisection.

    Half of its branches are mispredicted; counting the last few hundred scores at once takes a
    third of the time.
    """
    low = 0
    high = ordered.size
    while high - low > _WIDE:
        middle = (low + high) // 2
        if ordered[middle] > score:
            high = middle
        else:
            low = middle
    return ordered.size - high + _count_above(ordered[low:high], score)


@helper
def _best_score(row: Array, items: IntArray, lowest: Any) -> Any:
    """The highest score of some items of a row, or ``lowest``.

    One comparison settles a user whose relevant items are all below k lanes, as most are: 1.5 ms of
    35 for 100,000 users and 1,000 items.
    """
    best = lowest
    for item in items:
        score = row[item]
        best = score if score > best else best
    return best


@helper
def _find_places(
    row: Array,
    lanes: Array,
    excluded: IntArray,
    relevant: Rows,
    user: int,
    k: int,
    least: Any,
    hits: Hits,
    places: IntArray,
) -> tuple[int, Any]:
    """Collect the relevant items of a user that may be hits: not excluded, and ``least`` or more.

    For most users the lanes are counted two or three times, for any number of relevant items. The
    gains go to the first of the user's slots. Returns the number of items, and a score that all of
    them reach.
    """
    first = hits.start[user]
    n_places = 0
    bound = least
    any_reached = False
    missed = least
    any_missed = False
    for slot in range(first, hits.start[user + 1]):
        item = relevant.items[slot]
        score = row[item]
        if not (score >= least) or (any_missed and score <= missed):
            continue
        if not any_reached or score < bound:
            if _count_above(lanes, score) >= k:
                missed = score
                any_missed = True
                continue
            bound = score
            any_reached = True
        if _position(excluded, item) < 0:
            places[n_places] = item
            hits.gain[first + n_places] = relevant.values[slot]
            n_places += 1
    return n_places, bound


@helper
def _rank_places(
    values: Array,
    ordered: Any,
    places: IntArray,
    excluded: IntArray,
    user: int,
    k: int,
    hits: Hits,
    tied: Any,
) -> None:
    """Rank a user's relevant items, which are at ``places`` of the ``values``, and keep the hits.

    ``values`` contain those of ``excluded``, at the places of these numbers. ``ordered`` are the
    same ascending, or None.
    """
    first = hits.start[user]
    end = first + places.size
    hits.n_hits[user] = places.size
    rank = hits.rank[first:end]
    rank[:] = 1
    above: Any = None
    reaching: Any = None
    if tied is not None:
        above = tied.first[first:end]
        reaching = tied.last[first:end]
    if ordered is None:
        _count_ranks(values, places, rank, above, reaching)
    else:
        _search_ranks(values, ordered, places, rank, above, reaching)

    # Excluded items were counted like the others.
    for p in range(places.size):
        score = values[places[p]]
        for item in excluded:
            other = values[item]
            rank[p] -= other > score or (other == score and item < places[p])
            if tied is not None:
                above[p] -= other > score
                reaching[p] -= other >= score
    _keep_hits(hits, user, k, tied)


@helper
def _keep_hits(hits: Hits, user: int, k: int, tied: Any) -> None:
    """Keep those among the first ``k`` of a user's ranked items.

    Up to ``_FEW`` are sorted by rank here, and more by ``sort_many_hits``. With ``tied`` an item
    among the first ``k`` in any order of equal scores is a hit.
    """
    begin = hits.start[user]
    n_hits = 0
    for slot in range(begin, begin + hits.n_hits[user]):
        rank = hits.rank[slot]
        gain = hits.gain[slot]
        best_rank = rank
        hits.rank[slot] = 0  # slots without a hit hold 0
        hits.gain[slot] = 0.0
        if tied is not None:
            best_rank = tied.first[slot] + 1  # until here the number of greater scores
            last_rank = tied.last[slot]
            tied.first[slot] = 0
            tied.last[slot] = 0
        if best_rank > k:
            continue

        place = begin + n_hits
        while n_hits < _FEW and place > begin and hits.rank[place - 1] > rank:
            hits.rank[place] = hits.rank[place - 1]
            hits.gain[place] = hits.gain[place - 1]
            if tied is not None:
                tied.first[place] = tied.first[place - 1]
                tied.last[place] = tied.last[place - 1]
            place -= 1
        hits.rank[place] = rank
        hits.gain[place] = gain
        if tied is not None:
            tied.first[place] = best_rank
            tied.last[place] = last_rank
        n_hits += 1
    hits.n_hits[user] = n_hits


@helper
def _count_recommendable(row: Array, excluded: IntArray, least: Any) -> int:
    count = _count_reaching(row, least)
    for item in excluded:
        count -= row[item] >= least
    return count


@helper
def _fill_pool(row: Array, bound: Any, excluded: IntArray, tied: Any, pool: Pool) -> int:
    """Fill the pool with the items of a row that reach ``bound``; -1 where it cannot hold them."""
    begin: Any = np.int64(0)  # typed, as in ``_list_best``
    count: Any = np.int64(0)
    half = pool.values[: pool.values.size // 2]
    count, begin = _gather(row, begin, bound, excluded, count, half, pool.items)
    # Half of the pool holds more than k items, so later ones must exceed the bound: they lose ties.
    # But to count a tie group takes all of its items.
    if begin < row.size and tied is None:
        above = _next_above(row[begin:], bound)
        if above == bound:
            return count  # type: ignore[no-any-return]
        bound = above
    count, begin = _gather(row, begin, bound, excluded, count, pool.values, pool.items)
    if begin < row.size:
        count = np.int64(-1)
    return count  # type: ignore[no-any-return]


@helper
def _move_to_pool(items: IntArray, places: IntArray, user: int, hits: Hits) -> int:
    """Turn ``places``, items of a row, into places among ``items``; drop those not among them.

    The gains move along in the slots of the user. Returns the number of places.
    """
    first = hits.start[user]
    n_places = 0
    for p in range(places.size):
        place = _position(items, places[p])
        gain = hits.gain[first + p]
        hits.gain[first + p] = 0.0
        if place >= 0:
            places[n_places] = place
            hits.gain[first + n_places] = gain
            n_places += 1
    return n_places


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
) -> None:
    """Rank the relevant items that may be hits, for a block of dense rows; then ``sort_hits``.

    ``bits`` are those of ``scores``, as an argument: Numba leaves out the branches behind ``is
    None`` of arguments alone, which takes 0.3 s off the compilation. With bits, ``scores`` have
    memory for one row, which is still in cache when it has been converted: a quarter off a call.
    ``tied_of`` makes ``tied``. ``has_nan`` (1,) becomes True with any NaN.
    """
    lowest = scores.lowest
    n_items = scores.values.shape[1]
    lanes = memory.lanes
    for user in range(excluded.start.size - 1):
        row = scores.values[user if bits is None else 0]
        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        n_lanes = 0
        if lanes.size > 0:  # as in ``list_rows``; a helper for both took 0.1 s of a first call
            has_nan[0] |= _lane_maxima(row, lanes, lowest, bits, user)
            n_lanes = _usable_lanes(row, lanes, excluded_items, 2 * k, lowest)
        else:
            if bits is not None:
                order_halves(bits[user], int(-lowest), row)
            has_nan[0] |= _count_reaching(row, lowest) < row.size
        maxima = lanes[:n_lanes]

        # No relevant item is a hit, as for most users.
        items = relevant.items[hits.start[user] : hits.start[user + 1]]
        if n_lanes > 0 and _count_above(maxima, _best_score(row, items, lowest)) >= k:
            hits.length[user] = k
            continue

        hits.length[user] = k
        if _count_above(maxima, lowest) < k:
            n_recommendable = _count_recommendable(row, excluded_items, scores.least)
            if n_recommendable < k:
                hits.length[user] = n_recommendable
        n_places, bound = _find_places(
            row, maxima, excluded_items, relevant, user, k, scores.least, hits, memory.places
        )
        if n_places == 0:
            continue

        # Ranks are counted in the whole row, or among the few items that reach the bound.
        values = row
        n_collected = BLOCK * k  # at most
        if n_items < n_collected:
            n_collected = n_items
        n_counted = n_items + _COLLECT * n_collected
        if n_lanes > 0 and bound > scores.least and n_places * n_items > n_counted:
            count = _fill_pool(row, bound, excluded_items, tied, memory.pool)
            if count >= 0:
                values = memory.pool.values[:count]
                excluded_items = excluded_items[:0]
                n_places = _move_to_pool(
                    memory.pool.items[:count], memory.places[:n_places], user, hits
                )
        _rank_places(values, None, memory.places[:n_places], excluded_items, user, k, hits, tied)


@kernel
def rank_sorted_rows(
    scores: ScoreBlock,
    ordered_rows: Array,
    relevant: Rows,
    excluded: Rows,
    k: int,
    hits: Hits,
    tied: Any,
    has_nan: BoolArray,
    places: IntArray,
) -> None:
    """Rank as ``rank_rows``, where searching the ranks of many relevant items beats counting.

    ``ordered_rows`` are the scores, which have no bits, with each row ascending.
    """
    n_items = scores.values.shape[1]
    for user in range(scores.values.shape[0]):
        row = scores.values[user]
        ordered = ordered_rows[user]
        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        end = _count_reaching(row, scores.lowest)  # NaN sorts behind the numbers
        has_nan[0] |= end < n_items
        hits.length[user] = min(k, _count_recommendable(row, excluded_items, scores.least))

        # This bound skips most relevant items that are no hits: a third of the time with k = 370 of
        # 3,700 and 500 relevant. Excluded items may be among the best.
        bound = scores.least
        n_before = k + excluded_items.size
        if end > n_before:
            reached = ordered[end - n_before]
            bound = reached if reached > bound else bound
        n_places, _ = _find_places(
            row, row[:0], excluded_items, relevant, user, k, bound, hits, places
        )
        if n_places > 0:
            _rank_places(row, ordered[:end], places[:n_places], excluded_items, user, k, hits, tied)


@kernel
def rank_candidates(
    values: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    relevant: Rows,
    k: int,
    least: Any,
    hits: Hits,
    tied: Any,
    places: IntArray,
) -> None:
    """Rank the relevant items from the scores of the candidates alone; then ``sort_hits``.

    ``values`` are those of user u at ``candidate_start[u]:candidate_start[u + 1]``, in ascending
    item order and without excluded ones. No ``Rows``, whose values have the dtype of sparse scores.
    """
    for user in range(candidate_start.size - 1):
        begin = candidate_start[user]
        end = candidate_start[user + 1]
        scores = values[begin:end]
        items = candidate_items[begin:end]
        hits.length[user] = min(k, _count_reaching(scores, least))

        first = hits.start[user]
        n_places = 0
        for slot in range(first, hits.start[user + 1]):
            place = _position(items, relevant.items[slot])
            if place >= 0 and scores[place] >= least:
                places[n_places] = place
                hits.gain[first + n_places] = relevant.values[slot]
                n_places += 1
        if n_places > 0:
            _rank_places(scores, None, places[:n_places], items[:0], user, k, hits, tied)


@kernel
def sort_many_hits(hits: Hits, tied: Any, scratch: Scratch) -> None:
    """Sort the hits of users with more than ``_FEW``, by a place for each rank."""
    at_rank = scratch.at_rank
    for user in range(hits.n_hits.size):
        n_hits = hits.n_hits[user]
        if n_hits <= _FEW:
            continue

        first = hits.start[user]
        for hit in range(n_hits):
            slot = first + hit
            at_rank[hits.rank[slot]] = hit + 1
            scratch.gain[hit] = hits.gain[slot]
            if tied is not None:
                scratch.first[hit] = tied.first[slot]
                scratch.last[hit] = tied.last[slot]

        slot = first
        for rank in range(at_rank.size):
            if at_rank[rank] > 0:
                hit = at_rank[rank] - 1
                hits.rank[slot] = rank
                hits.gain[slot] = scratch.gain[hit]
                if tied is not None:
                    tied.first[slot] = scratch.first[hit]
                    tied.last[slot] = scratch.last[hit]
                at_rank[rank] = 0
                slot += 1


@helper
def sort_best_first(
    values: Array, items: IntArray, spare_values: Array, spare_items: IntArray
) -> None:
    """Sort items by their scores, best first; equal scores keep their order.

    The spare arrays have as many places as the values.

    Short runs are sorted by insertion, then merged: NumPy's sort costs a second of compilation, and
    most lists are one run. Each merge copies its first half away and writes from the front.
    """
    size = values.size
    for begin in range(0, size, _RUN):
        for i in range(begin + 1, min(begin + _RUN, size)):
            score = values[i]
            item = items[i]
            j = i
            while j > begin and values[j - 1] < score:
                values[j] = values[j - 1]
                items[j] = items[j - 1]
                j -= 1
            values[j] = score
            items[j] = item

    width = _RUN
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle = begin + width
            end = min(middle + width, size)
            if values[middle - 1] >= values[middle]:
                continue
            for i in range(width):
                spare_values[i] = values[begin + i]
                spare_items[i] = items[begin + i]
            left = 0
            right = middle
            for place in range(begin, end):
                if left == width:
                    break
                if right < end and values[right] > spare_values[left]:
                    values[place] = values[right]
                    items[place] = items[right]
                    right += 1
                else:
                    values[place] = spare_values[left]
                    items[place] = spare_items[left]
                    left += 1
        width *= 2


@helper
def _list_best(row: Array, bound: Any, excluded: IntArray, k: int, pool: Pool) -> int:
    """Write the k best of a row to the front of the pool, best first; returns their number.

    ``bound`` is a lower bound of the k-th best score, or the least listed one.
    """
    values = pool.values
    items = pool.items
    lowest = bound  # of the pool
    # Typed, since a helper called with a literal is compiled once more for it.
    count: Any = np.int64(0)
    begin: Any = np.int64(0)
    while begin < row.size:
        count, begin = _gather(row, begin, bound, excluded, count, values, items)
        if count > k:
            worst = _shrink(values, items, count, k, lowest)
            count = np.int64(k)
            if begin < row.size:  # the pool was full: a later item must beat the worst of the best
                bound = _next_above(row[begin:], worst)
                if bound == worst:
                    break
    sort_best_first(values[:count], items[:count], pool.spare_values, pool.spare_items)
    return int(count)


@kernel
def list_rows(
    scores: ScoreBlock,
    excluded: Rows,
    k: int,
    ranking: IntArray,
    length: IntArray,
    has_nan: BoolArray,
    lanes: Array,
    pool: Pool,
) -> None:
    """Fill ``ranking`` (rows, k) with the k best items of each row, ``length`` with their number.

    ``scores`` have no bits. ``has_nan`` (1,) becomes True with any NaN.
    """
    lowest = scores.lowest
    for user in range(scores.values.shape[0]):
        row = scores.values[user]
        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        bound = scores.least
        if lanes.size > 0:
            has_nan[0] |= _lane_maxima(row, lanes, lowest, None, 0)
            n_lanes = _usable_lanes(row, lanes, excluded_items, 4 * k, lowest)
            # Numba's ``max`` of two scores made this kernel a twentieth slower.
            reached = _bound(lanes[:n_lanes], k, lowest)
            bound = reached if reached > scores.least else scores.least
        else:
            has_nan[0] |= _count_reaching(row, lowest) < row.size
        length[user] = _list_best(row, bound, excluded_items, k, pool)
        for i in range(length[user]):
            ranking[user, i] = pool.items[i]


@kernel
def list_candidates(
    values: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    k: int,
    least: Any,
    ranking: IntArray,
    length: IntArray,
    pool: Pool,
) -> None:
    """Fill ``ranking`` and ``length`` as ``list_rows``, from the scores of the candidates alone.

    The first three arguments are those of ``rank_candidates``.
    """
    no_items = candidate_items[:0]
    for user in range(length.size):
        begin = candidate_start[user]
        scores = values[begin : candidate_start[user + 1]]
        length[user] = _list_best(scores, least, no_items, k, pool)
        for i in range(length[user]):
            ranking[user, i] = candidate_items[begin + pool.items[i]]


@helper
def _first_repeat(items: IntArray) -> int:
    """The first place whose item occurs before it, or -1."""
    for place in range(1, items.size):
        for before in range(place):
            if items[before] == items[place]:
                return place
    return -1


@helper
def _read_ranking(ranking: IntArray, n_items: int) -> tuple[int, int]:
    """Give the fault of a ranking and its place; without a fault, 0 and the number of items."""
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
    """Fill ``hits`` from rankings that exist; stops at the first bad row.

    List u is ``items[start[u]:start[u + 1]]``, perhaps with -1 after its end. ``fault`` receives
    the fault, its row and its place: an item outside the catalogue, after the end, or twice.
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
            # A slot before ``first`` is of an earlier user.
            place = slot_of[item] - first if slot_of.size else _position(relevant_items, item)
            if place >= 0:
                slot = first + n_hits
                hits.rank[slot] = i + 1
                hits.gain[slot] = relevant.values[first + place]
                n_hits += 1
        hits.n_hits[user] = n_hits


@helper
def _first_repeat_by_table(items: IntArray, user: int, user_of: IntArray) -> int:
    """Find the first repeat by a table of the last user whose ranking has each item."""
    repeat = -1
    for place in range(items.size):
        if repeat < 0 and user_of[items[place]] == user:
            repeat = place
        user_of[items[place]] = user
    return repeat


@helper
def _count_blocks(values: Array, bound: Any, strict: Any, blocks: npt.NDArray[np.int32]) -> int:
    """Count in each block the NaN and the scores >= ``bound``, > where ``strict``.

    Returns the sum of all counts. The tail behind the whole blocks is one more block.
    """
    total = 0
    n_whole = values.size // BLOCK
    for b in range(n_whole):
        block = values[b * BLOCK : (b + 1) * BLOCK]
        count: Any = np.int32(0)
        if strict:
            for i in range(BLOCK):
                count = np.int32(count + np.int32(not (block[i] <= bound)))
        else:
            for i in range(BLOCK):
                count = np.int32(count + np.int32(not (block[i] < bound)))
        blocks[b] = count
        total += count

    if n_whole < blocks.size:
        tail = 0
        for i in range(n_whole * BLOCK, values.size):
            tail += not (values[i] <= bound if strict else values[i] < bound)
        blocks[n_whole] = tail
        total += tail
    return total


@helper
def _find_columns(items: IntArray, first_item: int, width: int, columns: IntArray) -> int:
    """Find the columns of those of the ascending ``items`` that a tile has; returns their number.

    The tile has ``width`` columns, from ``first_item`` on.
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
    """Raise the bound of a user by the lanes of a row of a tile; if raised, count its blocks."""
    _lane_maxima(row, memory.lanes, lowest, None, 0)
    n_lanes = _usable_lanes(row, memory.lanes, excluded, 4 * k, lowest)
    reached = _bound(memory.lanes[:n_lanes], k, lowest)
    if reached > bound:
        _count_blocks(row, reached, np.bool_(False), memory.blocks)
        return reached
    return bound


@helper
def _note_nan(nan_found: IntArray, user: int, item: int) -> None:
    """Count a NaN, and note it where it is the first in the order of the whole matrix."""
    if nan_found[N_NAN] == 0 or user < nan_found[NAN_ROW]:
        nan_found[NAN_ROW] = user
        nan_found[NAN_ITEM] = item
    nan_found[N_NAN] += 1


@kernel
def select_tile(
    tile: Array,
    width: int,
    first_item: int,
    excluded: Rows,
    k: int,
    lowest: Any,
    collected: Collected,
    nan_found: IntArray,
    memory: TileMemory,
) -> None:
    """Add the items of a tile that may be among the k best to those collected from earlier tiles.

    tile: (rows, columns), in the first ``width`` columns the scores of the items from
    ``first_item`` on; columns beyond these, and rows beyond the users, are padding. Floats only.
    ``nan_found`` receives the number of NaN, and the row and item of the first in the order of the
    whole matrix.
    """
    for user in range(collected.counts.size):
        row = tile[user, :width]
        bound = collected.bounds[user]
        # One vectorised pass: most tiles of most users end here.
        n_beyond = _count_blocks(row, bound, np.bool_(True), memory.blocks)
        if n_beyond == 0:
            continue

        excluded_items = excluded.items[excluded.start[user] : excluded.start[user + 1]]
        n_columns = _find_columns(excluded_items, first_item, width, memory.excluded)
        columns = memory.excluded[:n_columns]
        # Too many to add one by one, as in the first tile, or in every tile where scores ascend.
        # The lanes of this tile alone give a better bound.
        if memory.lanes.size > 0 and n_beyond > 2 * k + BLOCK // 4:
            bound = _raise_bound(row, columns, k, lowest, bound, memory)

        # This loop is no helper: LLVM did not inline it, and a call passes all parts of all arrays.
        values = collected.values[user]
        items = collected.items[user]
        count = collected.counts[user]
        strict: Any = np.bool_(bound == collected.bounds[user])
        for b in range(memory.blocks.size):
            n_left = memory.blocks[b]
            if n_left == 0:
                continue
            if count + BLOCK > values.size:
                # A full pool has more than k items of this tile, or k earlier ones, that reach the
                # bound: so does the worst of the best.
                bound = _shrink(values, items, count, k, lowest)
                count = np.int64(k)
                strict = np.bool_(True)
            for column in range(b * BLOCK, min((b + 1) * BLOCK, width)):
                score = row[column]
                if (score < bound) | (strict & (score == bound)):
                    continue
                n_left -= 1
                if not score >= lowest:
                    _note_nan(nan_found, user, first_item + column)
                elif _position(columns, column) < 0:
                    values[count] = score
                    items[count] = first_item + column
                    count += 1
                if n_left == 0:
                    break

        # Once per k new items: as effective as always updating the bound, and cheaper.
        if count >= 2 * k + BLOCK // 4:
            worst = _shrink(values, items, count, k, lowest)
            count = np.int64(k)
            bound = worst if worst > bound else bound
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
    """Fill ``ranking`` (rows, k) and ``length`` from the items that ``select_tile`` collected."""
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
