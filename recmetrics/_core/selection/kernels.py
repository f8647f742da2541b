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

The first call of a process without a cache waits for their compilation, which takes time for each
dtype and for each line. So what few calls need is an argument that may be None, such as ``tied``:
Numba leaves out the branches behind ``is None``, and compiles them when they are first needed. Many
relevant items, and many hits, have kernels of their own.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.inputs import N_NAN, NAN_ITEM, NAN_ROW, order_halves
from recmetrics._core.jit import helper, kernel, prefetch
from recmetrics._core.selection.hits import Hits
from recmetrics._core.types import BoolArray, FloatArray, IntArray

Array = npt.NDArray[Any]  # of the dtype of the scores

# Half a tile. Since the loop over it runs over this constant, LLVM can vectorise it; a trip count
# known only at run time costs a third more.
_HALF = 128
LANES = 2 * _HALF  # the number of lanes is a multiple of it
_AHEAD = 128  # cache lines
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
    """Memory for the items of a user that reach a bound, made by ``memory.pool_for``."""

    values: Array
    items: IntArray
    spare_values: Array  # as much again, to sort with
    spare_items: IntArray


class ListTables(NamedTuple):
    """What ``rank_lists`` looks up, made by ``memory.tables_for``."""

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
    ``bits[user]``, unless these are None, tile by tile, which stay in the nearest cache.
    """
    line = 64 // row.itemsize
    has_nan = False
    for j in range(lanes.size):
        lanes[j] = lowest
    begin = 0
    lane = 0
    while begin + 2 * _HALF <= row.size:
        one = row[begin : begin + _HALF]
        two = row[begin + _HALF : begin + 2 * _HALF]
        maxima = lanes[lane : lane + _HALF]
        if bits is not None:
            tile = row[begin : begin + 2 * _HALF]
            order_halves(bits[user, begin : begin + 2 * _HALF], int(-lowest), tile)
        else:
            for j in range(0, 2 * _HALF, line):
                prefetch(row, begin + _AHEAD * line + j)
        for j in range(_HALF):
            best, score, other = maxima[j], one[j], two[j]
            best = score if score > best else best  # NaN never gets in
            maxima[j] = other if other > best else best
            has_nan |= (score != score) | (other != other)  # only NaN is
        begin += 2 * _HALF
        lane = lane + _HALF if lane + _HALF < lanes.size else 0
    if bits is not None:
        order_halves(bits[user, begin:], int(-lowest), row[begin:])
    maxima = lanes[lane:]
    while begin < row.size:
        one = row[begin - 2 * lanes.size :]  # of the same lanes, and in them already
        two = row[begin : begin + _HALF]
        if bits is None:  # 1.8 ms of 35 for 100,000 users and 1,000 items, a quarter in this loop
            for j in range(0, _HALF, line):
                prefetch(row, begin + _AHEAD * line + j)
        for j in range(two.size):
            best, score, other = maxima[j], one[j], two[j]
            best = score if score > best else best
            maxima[j] = other if other > best else best
            has_nan |= other != other
        begin += _HALF
    return has_nan


@helper
def _lane_of(item: int, n_lanes: int) -> int:
    """The lane of an item: both halves of a tile have the same ones, the next tile has others."""
    return item // (2 * _HALF) * _HALF % n_lanes + item % _HALF


@helper
def _usable_lanes(row: Array, lanes: Array, excluded: IntArray, enough: int, lowest: Any) -> int:
    """Fold the lanes to a quarter, if that is ``enough``, without excluded items; their number.

    A lane whose maximum may be an excluded item is not used.
    """
    for item in excluded:
        lane = _lane_of(item, lanes.size)
        if row[item] >= lanes[lane]:
            lanes[lane] = lowest
    # Fewer lanes are faster to count and to select from.
    quarter = lanes.size // 4
    if quarter < enough:
        return lanes.size
    for j in range(quarter):
        one, two = lanes[j], lanes[j + quarter]
        three, four = lanes[j + 2 * quarter], lanes[j + 3 * quarter]
        best = two if two > one else one
        other = four if four > three else three
        lanes[j] = other if other > best else best
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
    kept = 0
    for i in range(count):
        score = values[i]
        if score > bound or (score == bound and equal > 0):
            if score == bound:
                equal -= 1
            values[kept] = score
            items[kept] = items[i]
            kept += 1
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
    e = 0
    width = _CHUNK
    while begin < row.size:
        block = row[begin : begin + width]
        if _count_reaching(block, bound) > 0:
            if width > BLOCK:
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
    return count, min(begin, row.size)


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
            n_before = min(max(places[p] - begin, 0), tile.size)
            least = _count_reaching(tile[:n_before], score)
            more = _count_above(tile[n_before:], score)
            rank[p] += least + more
            if above is not None:
                above[p] += more + _count_above(tile[:n_before], score)
                reaching[p] += least + _count_reaching(tile[n_before:], score)
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
    """As ``_count_ranks``, by search in ``ordered``: the same scores ascending."""
    for p in range(places.size):
        score = values[places[p]]
        more = _count_ordered_above(ordered, score)
        least = more + 1
        below = ordered.size - more  # below or equal
        if below > 1 and ordered[below - 2] == score:  # another item has this score
            least = ordered.size - _first_from(ordered[:below], score)
        if p > 0 and score == values[places[p - 1]]:
            begin = places[p - 1]
            rank[p] = rank[p - 1]
        else:
            begin = 0
            rank[p] += more
        if least > more + 1:
            rank[p] += _count_equal(values[begin : places[p]], score)
        if above is not None:
            above[p] = more
            reaching[p] = least


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
    relevant_items: IntArray,
    relevance: FloatArray,
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
    found = 0
    bound, missed = least, least
    any_missed, any_reached = False, False
    for slot in range(first, hits.start[user + 1]):
        item = relevant_items[slot]
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
            places[found] = item
            hits.gain[first + found] = relevance[slot]
            found += 1
    return found, bound


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
    last = first + places.size
    hits.n_hits[user] = places.size
    rank = hits.rank[first:last]
    rank[:] = 1
    above: Any = None
    reaching: Any = None
    if tied is not None:
        above, reaching = tied.first[first:last], tied.last[first:last]
    if ordered is None:
        _count_ranks(values, places, rank, above, reaching)
    else:
        _search_ranks(values, ordered, places, rank, above, reaching)
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
    """Keep those among the first ``k`` of a user's ranked items; sort them by rank if they are few.

    With ``tied`` an item among the first k in any order of equal scores is a hit.
    """
    first = hits.start[user]
    n_hits = 0
    for slot in range(first, first + hits.n_hits[user]):
        rank, gain = hits.rank[slot], hits.gain[slot]
        best = rank
        hits.rank[slot] = 0  # slots without a hit hold 0
        hits.gain[slot] = 0.0
        if tied is not None:
            best, last = tied.first[slot] + 1, tied.last[slot]
            tied.first[slot] = 0
            tied.last[slot] = 0
        if best > k:
            continue
        place = first + n_hits
        while n_hits < _FEW and place > first and hits.rank[place - 1] > rank:
            hits.rank[place] = hits.rank[place - 1]
            hits.gain[place] = hits.gain[place - 1]
            if tied is not None:
                tied.first[place] = tied.first[place - 1]
                tied.last[place] = tied.last[place - 1]
            place -= 1
        hits.rank[place] = rank
        hits.gain[place] = gain
        if tied is not None:
            tied.first[place] = best
            tied.last[place] = last
        n_hits += 1
    hits.n_hits[user] = n_hits


@helper
def _count_recommendable(row: Array, excluded: IntArray, least: Any) -> int:
    count = _count_reaching(row, least)
    for item in excluded:
        count -= row[item] >= least
    return count


@kernel
def rank_rows(
    scores: Array,
    relevant_items: IntArray,
    relevance: FloatArray,
    excluded_start: IntArray,
    excluded_items: IntArray,
    k: int,
    lowest: Any,
    least: Any,
    hits: Hits,
    tied: Any,
    has_nan: BoolArray,
    lanes: Array,
    pool: Pool,
    places: IntArray,
    bits: Any,
) -> None:
    """Rank the relevant items that may be hits, for a block of dense rows; then ``sort_hits``.

    scores: (rows, n_items), rows contiguous. Or ``bits`` has the rows in half precision, and
    ``scores`` has memory for one: a row is still in cache when it has been converted, which takes
    a quarter off a call. Otherwise ``bits`` is None, which takes 0.3 s off the compilation.
    Relevant items of row u: the slots of ``hits.start``; excluded ones:
    ``excluded_start[u]:excluded_start[u + 1]``; both ascending. ``tied_of`` makes ``tied``.
    ``has_nan`` (1,) becomes True with any NaN. ``lanes_for``, ``pool_for`` and ``places_for`` make
    the work memory.
    """
    n_items = scores.shape[1]
    for user in range(excluded_start.size - 1):
        row = scores[user if bits is None else 0]
        excluded = excluded_items[excluded_start[user] : excluded_start[user + 1]]
        n_lanes = 0
        if lanes.size > 0:  # as in ``list_rows``; a helper for both took 0.1 s of a first call
            has_nan[0] |= _lane_maxima(row, lanes, lowest, bits, user)
            n_lanes = _usable_lanes(row, lanes, excluded, 2 * k, lowest)
        else:
            if bits is not None:
                order_halves(bits[user], int(-lowest), row)
            has_nan[0] |= _count_reaching(row, lowest) < row.size
        best = lanes[:n_lanes]
        own = relevant_items[hits.start[user] : hits.start[user + 1]]
        if n_lanes > 0 and _count_above(best, _best_score(row, own, lowest)) >= k:
            hits.length[user] = k
            continue
        if _count_above(best, lowest) >= k:
            hits.length[user] = k
        else:
            hits.length[user] = min(k, _count_recommendable(row, excluded, least))
        found, bound = _find_places(
            row, best, excluded, relevant_items, relevance, user, k, least, hits, places
        )
        if found == 0:
            continue
        # Ranks are counted in the whole row, or among the few items that reach the bound.
        values = row
        n_counted = n_items + min(_COLLECT * n_items, _COLLECT * BLOCK * k)
        if n_lanes > 0 and bound > least and found * n_items > n_counted:
            begin: Any = np.int64(0)  # typed, as in ``_list_best``
            count: Any = np.int64(0)
            room = pool.values.size // 2
            for half in range(2):
                count, begin = _gather(
                    row, begin, bound, excluded, count, pool.values[:room], pool.items
                )
                room = pool.values.size
                # Half of the pool holds more than k items, so later ones must exceed the bound:
                # they lose ties. But to count a tie group takes all of its items.
                if half == 0 and begin < n_items and tied is None:
                    above = _next_above(row[begin:], bound)
                    begin = begin if above > bound else n_items
                    bound = above
            if begin == n_items:
                values, excluded = pool.values[:count], excluded[:0]
                first, n_found = hits.start[user], found
                found = 0
                for p in range(n_found):
                    place = _position(pool.items[:count], places[p])
                    gain = hits.gain[first + p]
                    hits.gain[first + p] = 0.0
                    if place >= 0:
                        places[found] = place
                        hits.gain[first + found] = gain
                        found += 1
        _rank_places(values, None, places[:found], excluded, user, k, hits, tied)


@kernel
def rank_sorted_rows(
    scores: Array,
    ordered_rows: Array,
    relevant_items: IntArray,
    relevance: FloatArray,
    excluded_start: IntArray,
    excluded_items: IntArray,
    k: int,
    lowest: Any,
    least: Any,
    hits: Hits,
    tied: Any,
    has_nan: BoolArray,
    places: IntArray,
) -> None:
    """As ``rank_rows``, where searching the ranks of many relevant items beats counting them.

    ``ordered_rows`` are the scores with each row ascending.
    """
    n_items = scores.shape[1]
    for user in range(scores.shape[0]):
        row, ordered = scores[user], ordered_rows[user]
        excluded = excluded_items[excluded_start[user] : excluded_start[user + 1]]
        end = _count_reaching(row, lowest)  # NaN sorts behind the numbers
        has_nan[0] |= end < n_items
        hits.length[user] = min(k, _count_recommendable(row, excluded, least))
        bound = least
        if end > k + excluded.size:
            # This bound skips most relevant items that are no hits: a third of the time with
            # k = 370 of 3,700 and 500 relevant. Excluded items may be among the best.
            reached = ordered[end - k - excluded.size]
            bound = reached if reached > least else least
        found, _ = _find_places(
            row, row[:0], excluded, relevant_items, relevance, user, k, bound, hits, places
        )
        if found > 0:
            _rank_places(row, ordered[:end], places[:found], excluded, user, k, hits, tied)


@kernel
def rank_candidates(
    values: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    relevant_items: IntArray,
    relevance: FloatArray,
    k: int,
    least: Any,
    hits: Hits,
    tied: Any,
    places: IntArray,
) -> None:
    """Rank the relevant items from the scores of the candidates alone; then ``sort_hits``.

    values: (candidates,), those of row u at ``candidate_start[u]:candidate_start[u + 1]``, in
    ascending item order and without excluded ones. The others are those of ``rank_rows``.
    """
    for user in range(candidate_start.size - 1):
        begin, end = candidate_start[user], candidate_start[user + 1]
        own, items = values[begin:end], candidate_items[begin:end]
        hits.length[user] = min(k, _count_reaching(own, least))
        first = hits.start[user]
        found = 0
        for slot in range(first, hits.start[user + 1]):
            place = _position(items, relevant_items[slot])
            if place >= 0 and own[place] >= least:
                places[found] = place
                hits.gain[first + found] = relevance[slot]
                found += 1
        if found > 0:
            _rank_places(own, None, places[:found], items[:0], user, k, hits, tied)


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
def _sort(values: Array, items: IntArray, spare_values: Array, spare_items: IntArray) -> None:
    """Sort a pool in item order by score, best first; equal scores keep their order.

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
    values, items, lowest = pool.values, pool.items, bound
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
    _sort(values[:count], items[:count], pool.spare_values, pool.spare_items)
    return int(count)


@kernel
def list_rows(
    scores: Array,
    excluded_start: IntArray,
    excluded_items: IntArray,
    k: int,
    lowest: Any,
    least: Any,
    ranking: IntArray,
    length: IntArray,
    has_nan: BoolArray,
    lanes: Array,
    pool: Pool,
) -> None:
    """Fill ``ranking`` (rows, k) with the k best items of each row, ``length`` with their number.

    ``pool_for`` makes the pool; the other arguments are those of ``rank_rows``.
    """
    for user in range(scores.shape[0]):
        row = scores[user]
        excluded = excluded_items[excluded_start[user] : excluded_start[user + 1]]
        bound = least
        if lanes.size > 0:
            has_nan[0] |= _lane_maxima(row, lanes, lowest, None, 0)
            n_lanes = _usable_lanes(row, lanes, excluded, 4 * k, lowest)
            reached = _bound(lanes[:n_lanes], k, lowest)
            bound = reached if reached > least else least
        else:
            has_nan[0] |= _count_reaching(row, lowest) < row.size
        length[user] = _list_best(row, bound, excluded, k, pool)
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
    """As ``list_rows``, from the scores of the candidates alone, as in ``rank_candidates``."""
    none = candidate_items[:0]
    for user in range(length.size):
        begin, end = candidate_start[user], candidate_start[user + 1]
        own = values[begin:end]
        length[user] = _list_best(own, least, none, k, pool)
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


@kernel
def rank_lists(
    items: IntArray,
    start: IntArray,
    relevant_items: IntArray,
    relevance: FloatArray,
    n_items: int,
    k: int,
    hits: Hits,
    fault: IntArray,
    tables: ListTables,
) -> None:
    """Fill ``hits`` from rankings that exist; stops at the first bad row.

    List u is ``items[start[u]:start[u + 1]]``, perhaps with -1 after its end. ``fault`` receives
    the fault, its row and its place: an item outside the catalogue, after the end, or twice.
    ``tables_for`` makes the tables.
    """
    # No tuple is assigned to a slice, which would take a second to compile.
    slot_of, user_of = tables.slot_of, tables.user_of
    for user in range(start.size - 1):
        ranking = items[start[user] : start[user + 1]]
        n_ranked = 0
        for i in range(ranking.size):
            item = ranking[i]
            if item < -1 or item >= n_items:
                fault[0], fault[1], fault[2] = OUTSIDE, user, i
                return
            if item >= 0 and n_ranked < i:
                fault[0], fault[1], fault[2] = AFTER_END, user, i
                return
            n_ranked += item >= 0
        if slot_of.size:
            place = _first_repeat_by_table(ranking[:n_ranked], user, user_of)
        else:
            place = _first_repeat(ranking[:n_ranked]) if tables.may_repeat[user] else -1
        if place >= 0:
            fault[0], fault[1], fault[2] = TWICE, user, place
            return
        hits.length[user] = min(k, n_ranked)
        first, last = hits.start[user], hits.start[user + 1]
        if slot_of.size:
            for slot in range(first, last):
                slot_of[relevant_items[slot]] = slot
        n_hits = 0
        for i in range(min(k, n_ranked)):
            item = ranking[i]
            if slot_of.size:
                found = slot_of[item]  # below ``first``: of an earlier user
            else:
                place = _position(relevant_items[first:last], item)
                found = first + place if place >= 0 else -1
            if found >= first:
                slot = first + n_hits
                hits.rank[slot] = i + 1
                hits.gain[slot] = relevance[found]
                n_hits += 1
        hits.n_hits[user] = n_hits


@helper
def _first_repeat_by_table(items: IntArray, user: int, user_of: IntArray) -> int:
    """Find the first repeat by a table of the last user whose ranking has each item."""
    again = -1
    for place in range(items.size):
        if again < 0 and user_of[items[place]] == user:
            again = place
        user_of[items[place]] = user
    return again


@helper
def _count_blocks(values: Array, bound: Any, strict: bool, blocks: npt.NDArray[np.int32]) -> int:
    """Count in each block the NaN and the scores >= ``bound``, > where ``strict``.

    Returns the sum of all counts. The tail behind the whole blocks is one more block.
    """
    total = 0
    whole = values.size // BLOCK
    for b in range(whole):
        block = values[b * BLOCK : (b + 1) * BLOCK]
        found: Any = np.int32(0)
        if strict:
            for i in range(BLOCK):
                found = np.int32(found + np.int32(not (block[i] <= bound)))
        else:
            for i in range(BLOCK):
                found = np.int32(found + np.int32(not (block[i] < bound)))
        blocks[b] = found
        total += found
    if whole < blocks.size:
        rest = 0
        for i in range(whole * BLOCK, values.size):
            rest += not (values[i] <= bound if strict else values[i] < bound)
        blocks[whole] = rest
        total += rest
    return total


@kernel
def select_tile(
    tile: Array,
    width: int,
    first_item: int,
    excluded_start: IntArray,
    excluded_items: IntArray,
    k: int,
    lowest: Any,
    bounds: Array,
    counts: IntArray,
    values: Array,
    items: IntArray,
    nan_found: IntArray,
    lanes: Array,
    blocks: npt.NDArray[np.int32],
    within: IntArray,
) -> None:
    """Add the items of a tile that may be among the k best to those collected from earlier tiles.

    tile: (rows, columns), in the first ``width`` columns the scores of the items from
    ``first_item`` on; columns beyond these, and rows beyond those of ``counts``, are padding. User
    u has collected ``counts[u]`` items in item order, ``items[u]`` with the scores ``values[u]``.
    Only scores above ``bounds[u]``, at first -inf, are added: at least k earlier items reach any
    other bound, and these win ties. Floats only. ``nan_found`` receives the number of NaN, and the
    row and item of the first in the order of the whole matrix. ``tile_memory`` makes the others.
    """
    room = values.shape[1]
    for user in range(counts.size):
        row = tile[user, :width]
        bound = bounds[user]
        strict: Any = np.bool_(True)
        # One vectorised pass: most tiles of most users end here.
        beyond = _count_blocks(row, bound, strict, blocks)
        if beyond == 0:
            continue
        excluded = excluded_items[excluded_start[user] : excluded_start[user + 1]]
        n_within = 0
        for e in range(_first_from(excluded, first_item), excluded.size):
            if excluded[e] >= first_item + width:
                break
            within[n_within] = excluded[e] - first_item
            n_within += 1
        if lanes.size > 0 and beyond > 2 * k + BLOCK // 4:
            # Too many to add one by one, as in the first tile, or in every tile where scores
            # ascend. The lanes of this tile alone give a better bound.
            _lane_maxima(row, lanes, lowest, None, 0)
            n_lanes = _usable_lanes(row, lanes, within[:n_within], 4 * k, lowest)
            reached = _bound(lanes[:n_lanes], k, lowest)
            if reached > bound:
                bound = reached
                strict = np.bool_(False)
                _count_blocks(row, bound, strict, blocks)
        count = counts[user]
        e = 0
        for b in range(blocks.size):
            left = blocks[b]
            if left == 0:
                continue
            if count + BLOCK > room:
                least = _shrink(values[user], items[user], count, k, lowest)
                count = np.int64(k)
                strict = np.bool_(strict or least >= bound)
                bound = least if least > bound else bound
            for place in range(b * BLOCK, min((b + 1) * BLOCK, width)):
                score = row[place]
                if score < bound or (strict and score == bound):
                    continue
                left -= 1
                if score >= lowest:
                    while e < n_within and within[e] < place:
                        e += 1
                    if not (e < n_within and within[e] == place):
                        values[user, count] = score
                        items[user, count] = first_item + place
                        count += 1
                else:
                    if nan_found[N_NAN] == 0 or user < nan_found[NAN_ROW]:
                        nan_found[NAN_ROW] = user
                        nan_found[NAN_ITEM] = first_item + place
                    nan_found[N_NAN] += 1
                if left == 0:
                    break
        # Once per k new items: as effective as always updating the bound, and cheaper.
        if count >= 2 * k + BLOCK // 4:
            least = _shrink(values[user], items[user], count, k, lowest)
            count = np.int64(k)
            bound = least if least > bound else bound
        counts[user] = count
        bounds[user] = bound


@kernel
def list_selected(
    k: int,
    lowest: Any,
    counts: IntArray,
    values: Array,
    items: IntArray,
    ranking: IntArray,
    length: IntArray,
    spare_values: Array,
    spare_items: IntArray,
) -> None:
    """Fill ``ranking`` (rows, k) and ``length`` from the items that ``select_tile`` collected."""
    for user in range(counts.size):
        count = counts[user]
        if count > k:
            _shrink(values[user], items[user], count, k, lowest)
            count = np.int64(k)
        _sort(values[user, :count], items[user, :count], spare_values, spare_items)
        length[user] = count
        for i in range(count):
            ranking[user, i] = items[user, i]
