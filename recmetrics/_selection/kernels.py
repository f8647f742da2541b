"""The kernels that see scores: the ranks of relevant items, and the k best items of each user.

The one order of the package: higher score first, equal scores by lower item index. The ranks need
no sort. The rank of an item is one plus the number of items before it in that order, so it is
counted:

    rank(item) = 1 + #(scores of lower items >= its score) + #(scores of higher items > its score)

over the *pool*, the items that can be among the k best. Two bounds keep the counting short:

1. One vectorised pass keeps the maximum of each of ``LANES`` interleaved lanes. The k-th largest
   lane maximum is a lower bound of the k-th best score, whatever the order of the row, because k
   different items reach it.
2. A relevant item below that bound is no hit. Where none is left, the row is done after one pass:
   that is most users of most models. Otherwise a second pass, the row still in cache, gathers the
   few items that reach the bound, in item order; they are the pool.

No other kernels see scores. These read rows of one native dtype; ``lowest`` is the smallest value
of that dtype, and ``lowest_recommendable`` says whether an item with that score may be recommended
(an integer may, a score of -inf may not).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._inputs import N_NAN, NAN_ITEM, NAN_ROW
from recmetrics._jit import allocating_helper, allocating_kernel, helper, kernel
from recmetrics._selection.hits import Hits
from recmetrics._types import FloatArray, IntArray

Array = npt.NDArray[Any]  # of the dtype of the scores

# One tile of lanes. Since the loops over a tile run over this constant, LLVM can vectorise them; a
# trip count known only at run time costs a third more.
LANES = 256
_BLOCK = 64  # scores counted together
_CHUNK = 512  # scores that the second pass skips together
_WIDE = 256  # scores counted together where two counts share a pass

# Collecting the scores of a block one by one costs this many vectorised counts of that block.
_COLLECT = 26
_TILE = 4096  # scores that stay in cache while they are compared with all relevant items
_RUN = 24  # items sorted by insertion

_SHORT_LIST = 32  # items compared in pairs; a sort of more costs less
_FEW = 32  # hits; up to so many no sort is faster than insertion

# Faults of a ranking that the caller made.
OUTSIDE, AFTER_END, TWICE = 1, 2, 3
ANY_ITEM = int(np.iinfo(np.int64).max)  # the items of a catalogue of unknown size


class Scratch(NamedTuple):
    """Work memory that is reused for each user, made by ``scratch_for``."""

    places: IntArray  # (relevant items of a user at most,)
    # The others are empty where no user has more than ``_FEW`` relevant items.
    at_rank: npt.NDArray[np.int32]  # (ranks + 1,) 0 between users
    gain: FloatArray  # (relevant items,) copies while hits are reordered
    first: IntArray
    last: IntArray


def scratch_for(start: IntArray, depth: int, *, ties: bool) -> Scratch:
    """Work memory for users whose relevant items begin at ``start``, for ranks to ``depth``.

    NumPy makes it: kernels that make arrays count references at every slice.
    """
    most = int((start[1:] - start[:-1]).max(initial=0))
    copied = most if most > _FEW else 0
    tied = copied if ties else 0
    return Scratch(
        places=np.empty(most, np.int64),
        at_rank=np.zeros(depth + 1 if copied else 0, np.int32),
        gain=np.empty(copied),
        first=np.empty(tied, np.int64),
        last=np.empty(tied, np.int64),
    )


class Pool(NamedTuple):
    """Memory for the items of a user that reach a bound, made by ``pool_for``."""

    values: Array
    items: IntArray
    spare_values: Array  # as much again, to sort with
    spare_items: IntArray


def pool_for(k: int, longest: int, dtype: np.dtype[Any]) -> Pool:
    """Memory for the ``k`` best of rows of ``longest`` items."""
    room = min(4 * k + LANES, longest + _BLOCK)  # the first is cut when full, the second holds all
    return Pool(
        values=np.empty(room, dtype),
        items=np.empty(room, np.int64),
        spare_values=np.empty(room, dtype),
        spare_items=np.empty(room, np.int64),
    )


@helper
def _count_above(values: Array, score: Any) -> int:
    """Count the ``values`` > score. Sums of 64 in int32 run four times as fast as int64."""
    count = 0
    whole = values.size // _BLOCK
    for b in range(whole):
        block = values[b * _BLOCK : (b + 1) * _BLOCK]
        found: Any = np.int32(0)
        for i in range(_BLOCK):
            found = np.int32(found + np.int32(block[i] > score))
        count += found
    for i in range(whole * _BLOCK, values.size):
        count += values[i] > score
    return count


@helper
def _count_reaching(values: Array, score: Any) -> int:
    """Count the ``values`` >= score."""
    count = 0
    whole = values.size // _BLOCK
    for b in range(whole):
        block = values[b * _BLOCK : (b + 1) * _BLOCK]
        found: Any = np.int32(0)
        for i in range(_BLOCK):
            found = np.int32(found + np.int32(block[i] >= score))
        count += found
    for i in range(whole * _BLOCK, values.size):
        count += values[i] >= score
    return count


@helper
def _count_both(values: Array, score: Any) -> tuple[int, int]:
    """Count the ``values`` > score and those >= score in one pass: 1.5 times the time of one count.

    The counts of a block are the halves of one int32: one addition less saves a tenth of the time.
    """
    above = 0
    reaching = 0
    whole = values.size // _WIDE
    for b in range(whole):
        block = values[b * _WIDE : (b + 1) * _WIDE]
        found: Any = np.int32(0)
        for i in range(_WIDE):
            found = np.int32(
                found + np.int32(block[i] > score) + (np.int32(block[i] >= score) << 16)
            )
        above += found & 0xFFFF
        reaching += found >> 16
    for b in range(whole * (_WIDE // _BLOCK), values.size // _BLOCK):
        block = values[b * _BLOCK : (b + 1) * _BLOCK]
        found = np.int32(0)
        for i in range(_BLOCK):
            found = np.int32(
                found + np.int32(block[i] > score) + (np.int32(block[i] >= score) << 16)
            )
        above += found & 0xFFFF
        reaching += found >> 16
    for i in range(values.size // _BLOCK * _BLOCK, values.size):
        above += values[i] > score
        reaching += values[i] >= score
    return above, reaching


@helper
def _lane_maxima(row: Array, lanes: Array, lowest: Any) -> bool:
    """Fill ``lanes[j]`` with the maximum of row[j], row[j + lanes.size], ...; True with any NaN."""
    has_nan = False
    for j in range(lanes.size):
        lanes[j] = lowest
    groups = lanes.size // LANES
    tiles = row.size // LANES
    for t in range(tiles):
        tile = row[t * LANES : (t + 1) * LANES]
        group = t % groups
        maxima = lanes[group * LANES : (group + 1) * LANES]
        for j in range(LANES):
            score = tile[j]
            maxima[j] = score if score > maxima[j] else maxima[j]  # NaN never gets in
            has_nan |= not (score >= lowest)
    group = tiles % groups
    tail = row[tiles * LANES :]
    maxima = lanes[group * LANES : (group + 1) * LANES]
    for b in range(tail.size // _BLOCK):
        block = tail[b * _BLOCK : (b + 1) * _BLOCK]
        part = maxima[b * _BLOCK : (b + 1) * _BLOCK]
        for j in range(_BLOCK):
            score = block[j]
            part[j] = score if score > part[j] else part[j]
            has_nan |= not (score >= lowest)
    for j in range(tail.size // _BLOCK * _BLOCK, tail.size):
        score = tail[j]
        maxima[j] = score if score > maxima[j] else maxima[j]
        has_nan |= not (score >= lowest)
    return has_nan


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
def _bound(row: Array, lanes: Array, excluded: IntArray, k: int, lowest: Any) -> Any:
    """A lower bound of the k-th best score of a row from its lane maxima, or ``lowest``.

    A lane whose maximum may be an excluded item is not used.
    """
    for i in range(excluded.size):
        item = excluded[i]
        lane = item % lanes.size
        if row[item] >= lanes[lane]:
            lanes[lane] = lowest
    # For a small k fewer lanes are enough, and faster to select from: fold them in half.
    n_lanes = lanes.size
    while n_lanes % 2 == 0 and n_lanes >= 8 * k and n_lanes > _BLOCK:
        n_lanes //= 2
        for j in range(n_lanes):
            other = lanes[j + n_lanes]
            lanes[j] = other if other > lanes[j] else lanes[j]
    return _reached_by(lanes[:n_lanes], k, lowest, k // 8)


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
    row: Array, bound: Any, excluded: IntArray, k: int, lowest: Any, values: Array, items: IntArray
) -> int:
    """Collect the items of a row that reach ``bound``, in item order; returns their number.

    When the buffer is full it is cut to its k best; from then on an item must beat the worst of
    these, since later items lose ties. With k = 0 nothing may be cut: returns -1 instead.
    """
    # Typed, since a helper called with a literal is compiled once more for it.
    strict: Any = np.bool_(False)
    count: Any = np.int64(0)
    e = 0
    for begin in range(0, row.size, _CHUNK):
        end = min(begin + _CHUNK, row.size)
        if _count_entering(row[begin:end], bound, strict) == 0:
            continue
        for start in range(begin, end, _BLOCK):
            stop = min(start + _BLOCK, end)
            if _count_entering(row[start:stop], bound, strict) == 0:
                continue
            if count + _BLOCK > values.size:
                if k == 0:
                    return -1
                bound = _shrink(values, items, count, k, lowest)
                strict = np.bool_(True)
                count = k
            for item in range(start, stop):
                score = row[item]
                if score > bound or (score == bound and not strict):
                    while e < excluded.size and excluded[e] < item:
                        e += 1
                    if e < excluded.size and excluded[e] == item:
                        continue
                    values[count] = score
                    items[count] = item
                    count += 1
    return int(count)


@helper
def _count_entering(values: Array, bound: Any, strict: bool) -> int:
    return _count_above(values, bound) if strict else _count_reaching(values, bound)


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
def _is_recommendable(score: Any, lowest: Any, lowest_recommendable: bool) -> bool:
    """Say whether an item with that score may be recommended; NaN may not."""
    return score > lowest or (lowest_recommendable and score == lowest)


@helper
def _count_recommendable(
    values: Array, excluded: IntArray, lowest: Any, lowest_recommendable: bool
) -> tuple[int, int]:
    """Count the items that may be recommended, and all scores that are not NaN."""
    above, numbers = _count_both(values, lowest)
    count = numbers if lowest_recommendable else above
    for e in range(excluded.size):
        count -= _is_recommendable(values[excluded[e]], lowest, lowest_recommendable)
    return count, numbers


@helper
def _rank_hits(
    values: Array,
    ordered: Array,
    items: IntArray,
    excluded: IntArray,
    relevant: IntArray,
    relevance: FloatArray,
    bound: Any,
    k: int,
    lowest: Any,
    lowest_recommendable: bool,
    ties: bool,
    user: int,
    hits: Hits,
    scratch: Scratch,
) -> None:
    """Rank a user's relevant items within a pool and store those among the first k as hits.

    ``values`` are the scores of the pool in item order, ``items`` their items; without items the
    pool is the whole row, and contains ``excluded``. ``ordered`` are the same scores ascending; if
    empty, ranks are counted, not searched. Relevant items below ``bound`` are no hits. With
    ``ties`` an item among the first k in any order of equal scores is a hit.
    """
    places = scratch.places
    whole_row = items.size == 0
    first = hits.start[user]
    found = 0
    for r in range(relevant.size):
        place = relevant[r] if whole_row else _position(items, relevant[r])
        if place < 0:
            continue
        score = values[place]
        if not (score >= bound and _is_recommendable(score, lowest, lowest_recommendable)):
            continue
        if _position(excluded, relevant[r]) >= 0:
            continue
        places[found] = place
        hits.gain[first + found] = relevance[r]
        found += 1
    end = first + found
    rank, tied = hits.rank[first:end], end if ties else first
    above, reaching = hits.first[first:tied], hits.last[first:tied]
    _fill_ranks(values, ordered, places[:found], ties, rank, above, reaching)
    n_hits = 0
    for p in range(found):
        score = values[places[p]]
        for e in range(excluded.size):
            other = values[excluded[e]]
            rank[p] -= other > score or (other == score and excluded[e] < places[p])
            if ties:
                above[p] -= other > score
                reaching[p] -= other >= score
        if (above[p] + 1 if ties else rank[p]) <= k:
            rank[n_hits] = rank[p]
            if ties:
                above[n_hits] = above[p] + 1  # from here on the first and the last rank
                reaching[n_hits] = reaching[p]
            hits.gain[first + n_hits] = hits.gain[first + p]
            n_hits += 1
    rank[n_hits:] = 0  # slots without a hit are reset
    above[n_hits:] = 0
    reaching[n_hits:] = 0
    hits.gain[first + n_hits : end] = 0.0
    hits.n_hits[user] = n_hits
    # Not ``n_hits``, which Numba may type as a literal 0: half a second more of compilation.
    _sort_hits(hits, first, hits.n_hits[user], ties, scratch)


@helper
def _fill_ranks(
    values: Array,
    ordered: Array,
    places: IntArray,
    ties: bool,
    rank: IntArray,
    above: IntArray,
    reaching: IntArray,
) -> None:
    """Find the rank among ``values`` of each of the ascending ``places``.

    With ``ties`` also count the scores > and >= theirs. ``ordered`` as in ``_rank_hits``.
    """
    if ordered.size == 0:
        _count_ranks(values, places, ties, rank, above, reaching)
    for p in range(places.size):
        score = values[places[p]]
        begin = places[p]  # ties from here to the place are still to be counted
        if _ties_with_last(values, places, p):
            begin = places[p - 1] + 1
            rank[p] = rank[p - 1] + 1
            if ties:
                above[p] = above[p - 1]
                reaching[p] = reaching[p - 1]
        elif ordered.size > 0:
            more, least = _count_ordered(ordered, score)
            rank[p] = 1 + more
            if least > more + 1:
                begin = 0
            if ties:
                above[p] = more
                reaching[p] = least
        if begin < places[p]:
            more, least = _count_both(values[begin : places[p]], score)
            rank[p] += least - more


@helper
def _ties_with_last(values: Array, places: IntArray, p: int) -> bool:
    return p > 0 and values[places[p]] == values[places[p - 1]]


@helper
def _count_ranks(
    values: Array, places: IntArray, ties: bool, rank: IntArray, above: IntArray, reaching: IntArray
) -> None:
    """Count for ``_fill_ranks``; of successive places that tie, only for the first.

    It goes tile by tile, so that a long row is read from memory once, for any number of places.
    """
    rank[:] = 1
    above[:] = 0
    reaching[:] = 0
    for begin in range(0, values.size, _TILE):
        tile = values[begin : begin + _TILE]
        for p in range(places.size):
            if _ties_with_last(values, places, p):
                continue
            score = values[places[p]]
            n_before = min(max(places[p] - begin, 0), tile.size)
            if not ties:
                rank[p] += _count_reaching(tile[:n_before], score)
                rank[p] += _count_above(tile[n_before:], score)
                continue
            more, least = _count_both(tile, score)
            above[p] += more
            reaching[p] += least
            if n_before == tile.size:
                rank[p] += least
            else:
                rank[p] += more
                if n_before > 0 and least > more + 1:
                    more, least = _count_both(tile[:n_before], score)
                    rank[p] += least - more


@helper
def _count_ordered(ordered: Array, score: Any) -> tuple[int, int]:
    """Count the scores > and >= ``score`` among the ascending ``ordered``, which contain it."""
    above = _count_ordered_above(ordered, score)
    below = ordered.size - above  # below or equal
    if below < 2 or ordered[below - 2] < score:
        return above, above + 1  # no other item has this score
    return above, ordered.size - _first_from(ordered[:below], score)


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
    if ordered.size >= _WIDE:  # whole blocks are counted faster
        low = min(low, ordered.size - _WIDE)
        high = low + _WIDE
    return ordered.size - high + _count_above(ordered[low:high], score)


@helper
def _sort_hits(hits: Hits, first: int, n_hits: int, ties: bool, scratch: Scratch) -> None:
    """Sort a user's hits by rank: few by insertion, many by a place per rank."""
    if n_hits <= _FEW:
        for start in range(first + 1, first + n_hits):
            slot = start
            rank, gain = hits.rank[slot], hits.gain[slot]
            tied_first, tied_last = (hits.first[slot], hits.last[slot]) if ties else (rank, rank)
            while slot > first and hits.rank[slot - 1] > rank:
                hits.rank[slot] = hits.rank[slot - 1]
                hits.gain[slot] = hits.gain[slot - 1]
                if ties:
                    hits.first[slot] = hits.first[slot - 1]
                    hits.last[slot] = hits.last[slot - 1]
                slot -= 1
            hits.rank[slot] = rank
            hits.gain[slot] = gain
            if ties:
                hits.first[slot] = tied_first
                hits.last[slot] = tied_last
    else:
        at_rank = scratch.at_rank
        for hit in range(n_hits):
            slot = first + hit
            at_rank[hits.rank[slot]] = hit + 1
            scratch.gain[hit] = hits.gain[slot]
            if ties:
                scratch.first[hit] = hits.first[slot]
                scratch.last[hit] = hits.last[slot]
        slot = first
        for rank in range(at_rank.size):
            if at_rank[rank] > 0:
                hit = at_rank[rank] - 1
                hits.rank[slot] = rank
                hits.gain[slot] = scratch.gain[hit]
                if ties:
                    hits.first[slot] = scratch.first[hit]
                    hits.last[slot] = scratch.last[hit]
                at_rank[rank] = 0
                slot += 1


@helper
def _count_contenders(row: Array, bound: Any, relevant: IntArray, excluded: IntArray) -> int:
    """Count the relevant items that may be among the k best."""
    count = 0
    for r in range(relevant.size):
        if row[relevant[r]] >= bound:
            count += _position(excluded, relevant[r]) < 0
    return count


@helper
def _find_nan(row: Array, lowest: Any, user: int, nan_found: IntArray) -> None:
    """Count the NaN of a row, and note the place of the first of all."""
    for i in range(row.size):
        if not (row[i] >= lowest):
            if nan_found[N_NAN] == 0:
                nan_found[NAN_ROW] = user
                nan_found[NAN_ITEM] = i
            nan_found[N_NAN] += 1


@kernel
def count_lanes(k: int, n_items: int) -> int:
    """The number of lanes that bound the k-th best of a row; 0 where the row is too short."""
    n_lanes = (4 * k + LANES - 1) // LANES * LANES  # so that few more than k items reach the bound
    return n_lanes if 3 * n_lanes <= n_items else 0


def lanes_for(k: int, n_items: int, dtype: np.dtype[Any]) -> Array:
    """Memory for the lane maxima of rows of ``n_items``; empty where the rows are too short."""
    return np.empty(count_lanes(k, n_items), dtype)


@helper
def _scan(
    row: Array,
    lanes: Array,
    excluded: IntArray,
    k: int,
    lowest: Any,
    user: int,
    nan_found: IntArray,
) -> Any:
    """Read a row once: note its NaN, and bound its k-th best score where there are lanes."""
    bound = lowest
    if lanes.size > 0:
        has_nan = _lane_maxima(row, lanes, lowest)
        bound = _bound(row, lanes, excluded, k, lowest)
    else:
        has_nan = _count_reaching(row, lowest) < row.size
    if has_nan:
        _find_nan(row, lowest, user, nan_found)
    return bound


@kernel
def rank_rows(
    scores: Array,
    ordered_rows: Array,
    relevant_items: IntArray,
    relevance: FloatArray,
    excluded_start: IntArray,
    excluded_items: IntArray,
    k: int,
    lowest: Any,
    lowest_recommendable: bool,
    ties: bool,
    hits: Hits,
    nan_found: IntArray,
    lanes: Array,
    pool: Pool,
    scratch: Scratch,
) -> None:
    """Fill ``hits`` for a block of dense rows.

    scores: (rows, n_items), rows contiguous; ``ordered_rows`` the same with each row ascending, or
    without columns where ranks are to be counted. Relevant items of row u: the slots of
    ``hits.start``; excluded ones: ``excluded_start[u]:excluded_start[u + 1]``; both ascending.
    ``ties`` says whether equal scores may come in any order (``_rank_hits``). ``nan_found``
    receives the number of NaN and the row and item of the first. ``lanes_for``, ``pool_for`` and
    ``scratch_for`` make the work memory.
    """
    n_items = scores.shape[1]
    for user in range(scores.shape[0]):
        row = scores[user]
        relevant = relevant_items[hits.start[user] : hits.start[user + 1]]
        gains = relevance[hits.start[user] : hits.start[user + 1]]
        excluded = excluded_items[excluded_start[user] : excluded_start[user + 1]]
        bound = lowest
        if lanes.size > 0:
            bound = _scan(row, lanes, excluded, k, lowest, user, nan_found)
        # Ranks are counted in the whole row, or among the few items that reach the bound.
        values, items, among = row, pool.items[:0], excluded
        ordered = ordered_rows[user]
        while ordered.size > 0 and not (ordered[ordered.size - 1] >= lowest):
            ordered = ordered[: ordered.size - 1]  # NaN sorts behind the numbers
        if bound > lowest:
            hits.length[user] = k  # at least k items reach the bound
            contenders = _count_contenders(row, bound, relevant, excluded)
            if contenders == 0:
                continue
            if contenders * n_items > n_items + min(_COLLECT * n_items, _COLLECT * _BLOCK * k):
                kept = 0 if ties else k  # counting a tie group needs all of its items
                count = _gather(row, bound, excluded, kept, lowest, pool.values, pool.items)
                if count >= 0:
                    values, items, among = pool.values[:count], pool.items[:count], excluded[:0]
        else:
            n_own, numbers = _count_recommendable(row, excluded, lowest, lowest_recommendable)
            hits.length[user] = min(k, n_own)
            if lanes.size == 0 and numbers < n_items:
                _find_nan(row, lowest, user, nan_found)
            if ordered.size > k + excluded.size:
                # This bound skips most relevant items that are no hits: a third of the time with
                # k = 370 of 3,700 and 500 relevant. Excluded items may be among the best.
                bound = ordered[ordered.size - k - excluded.size]
        _rank_hits(
            values, ordered, items, among, relevant, gains, bound, k, lowest, lowest_recommendable,
            ties, user, hits, scratch,
        )  # fmt: skip


@kernel
def find_candidate_nan(
    values: Array, start: IntArray, items: IntArray, lowest: Any, nan_found: IntArray
) -> None:
    """Count the NaN among the scores of candidates; arguments as in ``rank_candidates``."""
    for user in range(start.size - 1):
        none_yet = nan_found[N_NAN] == 0
        _find_nan(values[start[user] : start[user + 1]], lowest, user, nan_found)
        if none_yet and nan_found[N_NAN] > 0:
            nan_found[NAN_ITEM] = items[start[user] + nan_found[NAN_ITEM]]


@kernel
def rank_candidates(
    values: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    relevant_items: IntArray,
    relevance: FloatArray,
    k: int,
    lowest: Any,
    lowest_recommendable: bool,
    ties: bool,
    hits: Hits,
    scratch: Scratch,
) -> None:
    """Fill ``hits`` from the scores of the candidates alone.

    values: (candidates,), those of row u at ``candidate_start[u]:candidate_start[u + 1]``, in
    ascending item order and without excluded ones.
    """
    for user in range(candidate_start.size - 1):
        begin, end = candidate_start[user], candidate_start[user + 1]
        own = values[begin:end]
        relevant = relevant_items[hits.start[user] : hits.start[user + 1]]
        gains = relevance[hits.start[user] : hits.start[user + 1]]
        none = candidate_items[:0]
        n_own, _ = _count_recommendable(own, none, lowest, lowest_recommendable)
        hits.length[user] = min(k, n_own)
        if own.size > 0:
            _rank_hits(
                own, own[:0], candidate_items[begin:end], none, relevant, gains,
                lowest, k, lowest, lowest_recommendable, ties, user, hits, scratch,
            )  # fmt: skip


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
def _list_best(
    row: Array,
    bound: Any,
    excluded: IntArray,
    k: int,
    lowest: Any,
    lowest_recommendable: bool,
    pool: Pool,
) -> int:
    """Write the k best of a row to the front of the pool, best first; returns their number."""
    values, items = pool.values, pool.items
    gathered = _gather(row, bound, excluded, k, lowest, values, items)
    count: Any = np.int64(0)
    for i in range(gathered):
        if _is_recommendable(values[i], lowest, lowest_recommendable):
            values[count] = values[i]
            items[count] = items[i]
            count += 1
    if count > k:
        _shrink(values, items, count, k, lowest)
        count = k
    _sort(values[:count], items[:count], pool.spare_values, pool.spare_items)
    return int(count)


@kernel
def list_rows(
    scores: Array,
    excluded_start: IntArray,
    excluded_items: IntArray,
    k: int,
    lowest: Any,
    lowest_recommendable: bool,
    ranking: IntArray,
    length: IntArray,
    nan_found: IntArray,
    lanes: Array,
    pool: Pool,
) -> None:
    """Fill ``ranking`` (rows, k) with the k best items of each row, ``length`` with their number.

    It serves list and system metrics. ``pool_for`` makes the pool; the other arguments are those of
    ``rank_rows``.
    """
    for user in range(scores.shape[0]):
        row = scores[user]
        excluded = excluded_items[excluded_start[user] : excluded_start[user + 1]]
        bound = _scan(row, lanes, excluded, k, lowest, user, nan_found)
        length[user] = _list_best(row, bound, excluded, k, lowest, lowest_recommendable, pool)
        for i in range(length[user]):
            ranking[user, i] = pool.items[i]


@kernel
def list_candidates(
    values: Array,
    candidate_start: IntArray,
    candidate_items: IntArray,
    k: int,
    lowest: Any,
    lowest_recommendable: bool,
    ranking: IntArray,
    length: IntArray,
    pool: Pool,
) -> None:
    """Fill ``ranking`` and ``length`` from the scores of the candidates alone.

    ``pool_for`` makes the pool; the other arguments are those of ``rank_candidates``.
    """
    none = candidate_items[:0]
    for user in range(length.size):
        begin, end = candidate_start[user], candidate_start[user + 1]
        own = values[begin:end]
        length[user] = _list_best(own, lowest, none, k, lowest, lowest_recommendable, pool)
        for i in range(length[user]):
            ranking[user, i] = candidate_items[begin + pool.items[i]]


@allocating_helper
def _first_repeat(items: IntArray) -> int:
    """The first place whose item occurs before it, or -1."""
    if items.size > _SHORT_LIST:
        sorted_items = np.sort(items)
        if np.all(sorted_items[1:] != sorted_items[:-1]):
            return -1
    for place in range(1, items.size):
        for before in range(place):
            if items[before] == items[place]:
                return place
    return -1


@allocating_kernel
def rank_lists(
    ranking: IntArray,
    relevant_items: IntArray,
    relevance: FloatArray,
    n_items: int,
    k: int,
    hits: Hits,
    fault: IntArray,
) -> None:
    """Fill ``hits`` from rankings that exist; stops at the first bad row.

    ranking: (rows, length) items, -1 after the end of a shorter list. ``fault`` receives the fault,
    its row and its place: an item outside the catalogue, after the end, or twice.
    """
    length = ranking.shape[1]
    slot_of = _item_table(ranking, relevant_items)
    user_of = slot_of.copy()  # the last user whose ranking has each item
    for user in range(ranking.shape[0]):
        n_ranked = 0
        for i in range(length):
            item = ranking[user, i]
            if item < -1 or item >= n_items:
                fault[:] = (OUTSIDE, user, i)
                return
            if item >= 0 and n_ranked < i:
                fault[:] = (AFTER_END, user, i)
                return
            n_ranked += item >= 0
        if slot_of.size:
            place = _first_repeat_by_table(ranking[user, :n_ranked], user, user_of)
        else:
            place = _first_repeat(ranking[user, :n_ranked])
        if place >= 0:
            fault[:] = (TWICE, user, place)
            return
        hits.length[user] = min(k, n_ranked)
        first, last = hits.start[user], hits.start[user + 1]
        if slot_of.size:
            for slot in range(first, last):
                slot_of[relevant_items[slot]] = slot
        n_hits = 0
        for i in range(min(k, n_ranked)):
            item = ranking[user, i]
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


@allocating_helper
def _item_table(ranking: IntArray, relevant_items: IntArray) -> IntArray:
    """A table of -1 for each item up to the largest; empty where it would exceed the input.

    A lookup takes a tenth of the time of a search among a user's items.
    """
    largest = -1
    for user in range(ranking.shape[0]):
        for i in range(ranking.shape[1]):
            largest = max(largest, ranking[user, i])
    for slot in range(relevant_items.size):
        largest = max(largest, relevant_items[slot])
    size = largest + 1 if largest < ranking.size + relevant_items.size else 0
    return np.full(size, -1, np.int64)


@helper
def _count_blocks(values: Array, bound: Any, strict: bool, blocks: npt.NDArray[np.int32]) -> int:
    """Count in each block the NaN and the scores >= ``bound``, > where ``strict``.

    Returns the sum of all counts. The tail behind the whole blocks is one more block.
    """
    total = 0
    whole = values.size // _BLOCK
    for b in range(whole):
        block = values[b * _BLOCK : (b + 1) * _BLOCK]
        found: Any = np.int32(0)
        if strict:
            for i in range(_BLOCK):
                found = np.int32(found + np.int32(not (block[i] <= bound)))
        else:
            for i in range(_BLOCK):
                found = np.int32(found + np.int32(not (block[i] < bound)))
        blocks[b] = found
        total += found
    if whole < blocks.size:
        rest = 0
        for i in range(whole * _BLOCK, values.size):
            rest += not (values[i] <= bound if strict else values[i] < bound)
        blocks[whole] = rest
        total += rest
    return total


@kernel
def room_for(k: int, n_items: int) -> int:
    """The number of items ``select_tile`` collects of a user before it cuts them to the k best."""
    # The first is cut when full, the second holds all; both in whole blocks.
    return min(3 * k // _BLOCK + 4, n_items // _BLOCK + 2) * _BLOCK


def tile_memory(
    k: int, width: int, dtype: np.dtype[Any]
) -> tuple[Array, npt.NDArray[np.int32], IntArray]:
    """Memory for ``select_tile``: lanes, counts of blocks, and excluded items within the tile."""
    blocks = np.empty((width + _BLOCK - 1) // _BLOCK, np.int32)
    return lanes_for(k, width, dtype), blocks, np.empty(width, np.int64)


@helper
def _keep_best(values: Array, items: IntArray, count: int, k: int, lowest: Any) -> Any:
    """Call ``_shrink`` on scores filled up to whole blocks, which are counted faster."""
    whole = (count + _BLOCK - 1) // _BLOCK * _BLOCK
    for i in range(count, whole):
        values[i] = lowest
    return _shrink(values, items, whole, k, lowest)


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
        if lanes.size > 0 and beyond > 2 * k + _BLOCK // 4:
            # Too many to add one by one, as in the first tile, or in every tile where scores
            # ascend. The lanes of this tile alone give a better bound.
            _lane_maxima(row, lanes, lowest)
            reached = _bound(row, lanes, within[:n_within], k, lowest)
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
            if count + _BLOCK > room:
                least = _keep_best(values[user], items[user], count, k, lowest)
                count = np.int64(k)
                strict = np.bool_(strict or least >= bound)
                bound = least if least > bound else bound
            for place in range(b * _BLOCK, min((b + 1) * _BLOCK, width)):
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
        if count >= 2 * k + _BLOCK // 4:
            least = _keep_best(values[user], items[user], count, k, lowest)
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
    """Fill ``ranking`` (rows, k) and ``length`` with the best items that ``select_tile`` collected.

    The spare memory has the size of a row of ``values`` and ``items``.
    """
    for user in range(counts.size):
        count = counts[user]
        if count > k:
            _keep_best(values[user], items[user], count, k, lowest)
            count = np.int64(k)
        _sort(values[user, :count], items[user, :count], spare_values, spare_items)
        length[user] = count
        for i in range(count):
            ranking[user, i] = items[user, i]
