"""Hits: the input of most metric kernels.

A metric needs only the ranks of the relevant items. So a ranking is kept as its hits: the rank and
the gain of each relevant item in it. After selection, memory and time grow with the number of hits,
not with users times k.

A tie policy says which ranks equal scores take. Selection finds, for each relevant item, its rank
by the one order of the package and the ranks of its tie group. ``under`` applies a policy to these,
so that metrics do not have to:

- "index": the rank by item index.
- "expected": all ranks of the group, each with the same chance. The kernels compute expectations.
- "worst", "best": the relevant items of a group come last, or first, the greatest relevance at the
  outer end. No other order is worse, or better, since no metric gets worse when a greater relevance
  moves up. Metrics that divide by the hits found may get worse, and are refused.

McSherry, Najork: Computing information retrieval performance measures efficiently in the presence
of tied scores, ECIR 2008.
"""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError
from recmetrics._core.inputs import places_of_entries, users_of_entries
from recmetrics._core.jit import kernel
from recmetrics._core.selection.largest import write_largest
from recmetrics._core.threads import without_warnings
from recmetrics._core.types import BoolArray, FloatArray, IntArray, TiePolicy

WHOLE_LIST = 0  # the cutoff of a kernel that reads the whole list; None in Python
_LARGEST_NUMBER = 1e100  # the largest gain, weight and discount: no sum of their products overflows
_MAX_EXPONENT = 300.0  # of a relevance: 2^(relevance + 1) stays below the largest gain
_MAX_RANKS = 1 << 24  # of which discounts are made: they take 128 MiB
_REMEMBERED_RANKS = 1 << 12  # up to so many, discounts are kept: 32 KiB, at most 64 times


class Hits(NamedTuple):
    """The hits of each user's ranking, cut at k_max, and the ideal to compare them with.

    User u has the slots ``start[u]:start[u + 1]``, one for each relevant item, or only as many as
    metrics read, see ``compact_hits``. ``ideal`` fills them all; ``rank``, ``first``, ``last`` and
    ``gain`` the first ``n_hits[u]``, in rank order.

    Metrics read ``first`` and ``last``, never ``rank``: a hit is at each of the ranks first .. last
    with the same chance. ``under`` sets them by the tie policy; they differ only under "expected".
    """

    start: IntArray  # (n_users + 1,)
    # (slots,) the user's relevances; after ``Views`` the largest come first, descending
    ideal: FloatArray
    n_relevant: IntArray  # (n_users,) R, also where a user has fewer slots
    n_hits: IntArray  # (n_users,) relevant items in the ranking
    rank: IntArray  # (slots,) 1-based, equal scores by lower item index
    first: IntArray  # (slots,) the first rank of the tie group, where ties may have any order
    last: IntArray  # (slots,) its last rank
    gain: FloatArray  # (slots,) relevance of the item at that rank
    length: IntArray  # (n_users,) length of the ranking, at most k_max
    discount: FloatArray  # (depth,) weight of rank i + 1
    # After ``Views``: the value of a user without hits, 0, or NaN without relevant items; and the
    # users who have both. So kernels of metrics that are 0 without hits pass over few users.
    blank: FloatArray = np.empty(0)  # (n_users,)
    users: IntArray = np.empty(0, np.int64)


# The fields of ``Hits`` that have an entry for each user, and those whose slots hold hits.
_USER_FIELDS = ("n_relevant", "n_hits", "length")
_HIT_FIELDS = ("rank", "first", "last", "gain")


class Slots(NamedTuple):
    """The relevant items in the slots of ``Hits``, and facts about them besides their relevance."""

    items: IntArray  # (slots,) the relevant items, in the order of the truth
    place: IntArray  # (slots,) of each hit, among the relevant items of its user
    strata: Mapping[str, BoolArray]  # (slots,) which relevant items are in each stratum
    weights: FloatArray  # (slots,) 1 / propensity of the relevant items, or nothing

    def among(self, relevance: FloatArray, stratum: str | None, rel: float | None) -> BoolArray:
        """Say which relevant items are in a stratum, and of a relevance of at least ``rel``."""
        is_among = np.ones(len(self.items), np.bool_)
        if stratum is not None:
            is_among &= self.strata[stratum]
        if rel is not None:
            is_among &= relevance >= rel
        return is_among

    def cut(self, slots: slice) -> "Slots":
        """The facts about a range of slots."""
        strata = {name: among[slots] for name, among in self.strata.items()}
        return Slots(self.items[slots], self.place[slots], strata, self.weights[slots])

    @classmethod
    def join(cls, blocks: Sequence["Slots"]) -> "Slots":
        """Join the slots of blocks of users, one after another."""
        strata = {
            name: np.concatenate([block.strata[name] for block in blocks])
            for name in blocks[0].strata
        }
        items, place, weights = (
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("items", "place", "weights")
        )
        return cls(items, place, strata, weights)


def empty_hits(
    start: IntArray, relevance: FloatArray, *, ties: bool, allocate: Callable[..., Any] = np.zeros
) -> Hits:
    """Allocate hits with the slots of ``start`` and no hit in them.

    ``relevance`` (slots,) becomes their ideal. Without ``ties`` ranks are by item index, and
    ``first`` and ``last`` have no slots. If ``allocate`` is ``np.empty``, the hits must be
    ``cleared``.
    """
    n_users = len(start) - 1
    n_slots = len(relevance)
    n_tied = n_slots if ties else 0
    # Where each field begins in the array of all fields.
    rank = 2 * n_users
    gain = rank + n_slots
    first = gain + n_slots
    last = first + n_tied
    # One array, since the allocator keeps the pages of one, and returns those of many: a page that
    # is asked for again costs as much as the metrics of 50 users.
    words = allocate(last + n_tied, np.int64)
    return Hits(
        start=start,
        ideal=relevance,
        n_relevant=start[1:] - start[:-1],
        n_hits=words[:n_users],
        rank=words[rank:gain],
        first=words[first:last],
        last=words[last:],
        gain=words[gain:first].view(np.float64),
        length=words[n_users:rank],
        discount=np.zeros(0),
    )


def compact_hits(start: IntArray, most_slots: int, allocate: Callable[..., Any] = np.zeros) -> Hits:
    """Allocate hits as ``empty_hits``, without ties, with at most ``most_slots`` for a user.

    ``start`` is that of the relevant items. ``fill_ideal`` sets the ideal. For 1,000 relevant items
    a user, the pages of slots that no hit needs took a third of a call.
    """
    n_relevant = start[1:] - start[:-1]
    slot_start = np.zeros_like(start)
    np.cumsum(np.minimum(n_relevant, most_slots), out=slot_start[1:])
    hits = empty_hits(slot_start, np.empty(slot_start[-1]), ties=False, allocate=allocate)
    return hits._replace(n_relevant=n_relevant)


def cleared(hits: Hits) -> Hits:
    """Make hits of unset memory empty; ``rank`` and ``gain`` are read in slots with a hit alone."""
    for array in (hits.n_hits, hits.first, hits.last, hits.length):
        array.fill(0)
    return hits


def fill_ideal(hits: Hits, start: IntArray, values: npt.NDArray[Any]) -> None:
    """Set the ideal of ``compact_hits`` to the largest relevances of each user, descending.

    User u has the relevances ``values[start[u]:start[u + 1]]``, perhaps with zeros among them.
    """
    write_largest(start, values, hits.start, hits.ideal, None)


def part_of(hits: Hits, users: slice) -> Hits:
    """A view of the hits of some users."""
    start = hits.start[users.start : users.stop + 1]
    slots = slice(start[0], start[-1])
    views: dict[str, Any] = {name: getattr(hits, name)[users] for name in _USER_FIELDS}
    views |= {name: getattr(hits, name)[slots] for name in ("ideal", *_HIT_FIELDS)}
    return hits._replace(start=start - start[0], **views)


def join(blocks: Sequence[Hits]) -> Hits:
    """Join the hits of blocks of users, one after another."""
    if len(blocks) == 1:
        return blocks[0]
    offsets = np.cumsum([0, *(block.start[-1] for block in blocks)])
    starts = [b.start[:-1] + o for b, o in zip(blocks, offsets[:-1], strict=True)]
    fields = {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in (*_USER_FIELDS, "ideal", *_HIT_FIELDS)
    }
    start = np.concatenate([*starts, offsets[-1:]])
    return Hits(start=start, discount=np.zeros(0), **fields)


def _descending(start: IntArray, values: FloatArray, depth: int | None) -> FloatArray:
    """Bring the ``depth`` largest values of each user to the front, in descending order.

    None stands for all values; otherwise those behind the largest are in any order. The values are
    returned as they are if all are equal, as in binary truth.
    """
    if values.size == 0 or (values == values[0]).all():
        return values
    largest_first = np.empty_like(values)
    write_largest(start, values, start, largest_first, depth)
    return largest_first


class Views:
    """Views of the hits of a call, by tie policy and the options that change hits.

    Each view is made once, so metrics with the same options share it. ``n_ideal`` is the number of
    a user's largest relevances that metrics read in order, None for all.
    """

    def __init__(self, hits: Hits, slots: Slots | None = None, n_ideal: int | None = None) -> None:
        self._n_ideal = n_ideal
        self._longest = int(hits.length.max(initial=0))
        self._most_relevant = int(hits.n_relevant.max(initial=0))
        self._hits = hits
        self._slots = slots
        self._views: dict[object, Any] = {}
        self._discounts: dict[object, FloatArray] = {}

    def part(self, users: slice) -> "Views":
        """The views of some users, which share the discounts."""
        if users.start == 0 and users.stop == len(self._hits.n_hits):
            return self
        part = copy.copy(self)
        part._hits = part_of(self._hits, users)
        part._views = {}
        if self._slots is not None:
            start = self._hits.start
            part._slots = self._slots.cut(slice(start[users.start], start[users.stop]))
        return part

    def view(
        self, ties: TiePolicy, k: int | None, options: dict[str, Any], stratum: str | None = None
    ) -> Hits:
        """The hits that a kernel reads, by a tie policy, the options of a metric and its stratum.

        ``k`` is the cutoff, None for the whole list.
        """
        gain = options.get("gain")
        weigh = options.get("weigh", "no")
        # Kernels without gains compare the relevances with rel themselves.
        rel = options["rel"] if gain is not None or weigh != "no" else None
        # The key of a view is its stage, and what it depends on.
        if weigh == "no" or self._slots is None:
            of_stratum: Hits = self._once(("stratum", stratum), self._of_stratum, stratum)
            hits: Hits = self._once(("tied", stratum, ties), under, of_stratum, ties)
            if rel is not None:
                hits = self._once(("least", stratum, ties, rel), _at_least, hits, rel)
            elif options.get("rel") is not None:
                least = options["rel"]
                hits = self._once(("users", stratum, ties, least), _with_users, hits, least)
            if gain not in (None, "linear"):
                hits = self._once(("gain", stratum, ties, rel, gain), _with_gain, hits, gain)
        else:
            # Ties get an order after that, since the best order has the greatest weights first.
            weighing = stratum, rel, gain or "binary", weigh
            weighed: Hits = self._once(("weighed", *weighing), self._weighed, *weighing)
            hits = self._once(("tied", *weighing, ties), under, weighed, ties)
        if options.get("ideal", "truth") == "retrieved":
            key = ("retrieved", stratum, ties, rel, gain, weigh, k)
            hits = self._once(key, _retrieved, hits, k)
        if "discount" in options:
            hits = hits._replace(discount=self.discount(k, options))
        return hits

    def discount(self, k: int | None, options: dict[str, Any]) -> FloatArray:
        """The weights of the ranks that count at cutoff ``k``, made once for each discount."""
        key = options["discount"], self._n_discounts(k, options)
        if key not in self._discounts:
            self._discounts[key] = discounts(*key)
        return self._discounts[key]

    def _weighed(self, stratum: str | None, rel: float | None, gain: str, weigh: str) -> Hits:
        """The hits of a stratum, their gains divided by propensities; under "ps" the ideal, too."""
        hits = self._hits
        slots = cast(Slots, self._slots)
        among = slots.among(hits.ideal, stratum, rel)
        if rel is not None:  # with rel, every relevant item counts 1
            hits = hits._replace(ideal=np.ones_like(hits.ideal))
        if gain != "linear":
            hits = _with_gain(hits, gain)
        weighed_ideal = np.empty(len(slots.items))
        hit_gains = np.zeros(len(slots.items))
        divides_by_mean = weigh == "snips"
        _fill_weighed_gains(
            hits, slots.place, among, slots.weights, divides_by_mean, weighed_ideal, hit_gains
        )
        hits = hits._replace(gain=hit_gains)
        if weigh == "ps":
            hits = hits._replace(ideal=weighed_ideal)
        return self._only(among, hits, slots)

    def _of_stratum(self, stratum: str | None) -> Hits:
        """The hits among the relevant items of a stratum, None for all relevant items."""
        hits = self._hits
        if stratum is not None and self._slots is not None:
            return self._only(self._slots.strata[stratum], hits, self._slots)
        return self._with_ideal(hits)

    def _only(self, among: BoolArray, hits: Hits, slots: Slots) -> Hits:
        """Keep the relevant items where ``among`` (slots,) is True, and their hits."""
        hits_among = np.zeros(len(among), np.bool_)
        _mark_hits(hits.start, hits.n_hits, slots.place, among, hits_among)
        return self._with_ideal(_select(hits, among, hits_among))

    def _with_ideal(self, hits: Hits) -> Hits:
        """Bring the largest relevances of the ideal to the front, and fill in the users."""
        ideal = _descending(hits.start, hits.ideal, self._n_ideal)
        return _with_users(hits._replace(ideal=ideal))

    def _n_discounts(self, k: int | None, options: dict[str, Any]) -> int:
        """The number of ranks whose discounts metrics read at cutoff ``k``.

        No more, since a discount function of the caller may fail at ranks that no list reaches.
        """
        ideal_depth = options.get("ideal_depth")
        deepest = max(self._longest, self._most_relevant)  # of any list, and of any ideal
        if k is None or ideal_depth == "all":
            return deepest
        if ideal_depth != "full":
            return min(k, deepest)
        if k > _MAX_RANKS:
            msg = (
                f"ideal_depth='full' adds up the discounts of all k ranks, got k = {k}; "
                f"expected at most {_MAX_RANKS}; leave out @k for the whole list"
            )
            raise ArgumentError(msg)
        return k

    def _once(self, key: object, make: Callable[..., Any], *arguments: Any) -> Any:
        """The view with that key; ``make(*arguments)`` makes it when it is first asked for."""
        if key not in self._views:
            self._views[key] = make(*arguments)
        return self._views[key]


def hits_of_slots(hits: Hits) -> tuple[IntArray, BoolArray]:
    """The user of each slot, and whether the slot has a hit."""
    user_of = users_of_entries(hits.start)
    return user_of, places_of_entries(hits.start) < hits.n_hits[user_of]


def read_labels(hits: Hits, values: FloatArray) -> tuple[FloatArray, IntArray]:
    """The relevance of each hit, and its place among the relevant items of its user, both (slots,).

    The gains of ``hits`` are labels: the hit of a user's n-th relevant item has the gain n.
    ``values`` (slots,) are the relevances in the order of the truth. Slots without a hit hold 0.
    """
    gain = np.zeros(len(values))
    place = np.zeros(len(values), np.int64)
    _read_labels(hits.start, hits.n_hits, hits.gain, values, gain, place)
    return gain, place


# The next four functions pass over all slots once. In NumPy they took twice as long: for 100,000
# users and 1,000 items a call with a stratum took 1.9 times as long as without, and now 1.4 times.


@kernel
def _read_labels(
    start: IntArray,
    n_hits: IntArray,
    place_numbers: FloatArray,
    values: FloatArray,
    gain: FloatArray,
    place: IntArray,
) -> None:
    """Fill ``gain`` and ``place`` in the slots with a hit, from the numbers 1, 2, ... of hits."""
    for user in range(n_hits.size):
        first = start[user]
        for slot in range(first, first + n_hits[user]):
            place[slot] = int(place_numbers[slot]) - 1
            gain[slot] = values[first + place[slot]]


@kernel
def _mark_hits(
    start: IntArray, n_hits: IntArray, place: IntArray, among: BoolArray, hits_among: BoolArray
) -> None:
    """Set ``hits_among`` in each slot with a hit: whether its relevant item is ``among`` some.

    ``place`` says for each hit which relevant item of the user it is. Other slots keep their value.
    """
    for user in range(n_hits.size):
        first = start[user]
        for slot in range(first, first + n_hits[user]):
            hits_among[slot] = among[first + place[slot]]


@kernel
def _fill_weighed_gains(
    hits: Hits,
    place: IntArray,
    among: BoolArray,
    weights: FloatArray,
    divides_by_mean: bool,
    weighed_ideal: FloatArray,
    hit_gains: FloatArray,
) -> None:
    """Fill ``weighed_ideal`` with that of ``hits``, ``hit_gains`` with the part of each hit.

    All arrays are (slots,), in the order of the truth save ``hit_gains`` and ``place``, which says
    for each hit which relevant item of the user it is. ``weights`` are 1 / propensity; if
    ``divides_by_mean``, they are divided by their mean over the user's relevant items ``among``.
    Slots of ``hit_gains`` without a hit keep their value.
    """
    for user in range(hits.n_hits.size):
        first = hits.start[user]
        end = hits.start[user + 1]
        total = 0.0
        count = 0
        for slot in range(first, end):
            if among[slot]:
                total += weights[slot]
                count += 1
        divisor = 1.0
        if divides_by_mean and count > 0:
            divisor = total / count  # so that the user's relevant items have a mean weight of 1
        for slot in range(first, end):
            weighed_ideal[slot] = hits.ideal[slot] * (weights[slot] / divisor)
        for slot in range(first, first + hits.n_hits[user]):
            hit_gains[slot] = weighed_ideal[first + place[slot]]


@kernel
def _place_selected(
    start: IntArray,
    n_hits: IntArray,
    is_relevant: BoolArray,
    is_hit: BoolArray,
    new_start: IntArray,
    new_hits: IntArray,
    source: IntArray,
    target: IntArray,
) -> None:
    """Number the slots anew as ``_select`` drops relevant items and hits.

    Fills ``new_start`` (which begins with 0), ``new_hits`` for each user, and at the front of
    ``source`` and ``target`` the old and the new slot of each hit that stays. ``is_relevant`` and
    ``is_hit`` say which relevant items and which hits stay.
    """
    n_moved = 0
    for user in range(n_hits.size):
        first = start[user]
        count = 0
        for slot in range(first, start[user + 1]):
            count += is_relevant[slot]
        new_start[user + 1] = new_start[user] + count
        n_before = n_moved
        for slot in range(first, first + n_hits[user]):
            if is_hit[slot]:
                source[n_moved] = slot
                target[n_moved] = new_start[user] + n_moved - n_before
                n_moved += 1
        new_hits[user] = n_moved - n_before


def _with_users(hits: Hits, rel: float | None = None) -> Hits:
    """Fill in ``blank`` and ``users``, where only a relevance of at least ``rel`` is relevant."""
    has_relevant = hits.n_relevant > 0
    n_hits = hits.n_hits
    if rel is not None:
        # The first entry of the ideal is the largest relevance of the user.
        top_relevance = hits.ideal[hits.start[:-1][has_relevant]]
        has_relevant[has_relevant] = top_relevance >= rel
        n_hits = n_hits * has_relevant
    return hits._replace(blank=np.where(has_relevant, 0.0, np.nan), users=np.flatnonzero(n_hits))


def _at_least(hits: Hits, rel: float) -> Hits:
    """Keep the relevances of at least ``rel``, as 1."""
    hits = _with_users(_select(hits, hits.ideal >= rel, hits.gain >= rel))
    return hits._replace(ideal=np.ones_like(hits.ideal), gain=np.ones_like(hits.gain))


def _select(hits: Hits, is_relevant: BoolArray, is_hit: BoolArray) -> Hits:
    """Keep the relevant items where ``is_relevant``, and the hits where ``is_hit``, both (slots,).

    ``is_hit`` is read in slots with a hit alone.
    """
    start = np.zeros_like(hits.start)
    n_hits = np.zeros_like(hits.n_hits)
    source, target = np.empty((2, len(is_relevant)), np.int64)
    _place_selected(hits.start, hits.n_hits, is_relevant, is_hit, start, n_hits, source, target)
    n_moved = n_hits.sum()

    fields: dict[str, Any] = {}
    for name in _HIT_FIELDS:
        values = getattr(hits, name)
        if len(values):  # none are the ranks of tie groups where no policy asked for them
            fields[name] = np.zeros(start[-1], values.dtype)
            fields[name][target[:n_moved]] = values[source[:n_moved]]
    return hits._replace(
        start=start,
        ideal=hits.ideal[is_relevant],
        n_relevant=start[1:] - start[:-1],
        n_hits=n_hits,
        **fields,
    )


@without_warnings  # gains without a hit may be any number
def _with_gain(hits: Hits, gain: str) -> Hits:
    """Replace relevances by gains, in the hits and in the ideal; ``gain`` names them."""
    top_relevance = hits.ideal.max(initial=0.0)
    if gain != "binary" and top_relevance > _MAX_EXPONENT:
        msg = (
            f"gain={gain!r} cannot hold 2^relevance for a relevance of {top_relevance:g}; expected "
            f"grades up to {_MAX_EXPONENT:g}; use gain='linear' or rescale truth"
        )
        raise InputError(msg)
    gains_of = _GAINS[gain]
    return hits._replace(gain=gains_of(hits.gain), ideal=gains_of(hits.ideal))


def _exp2_less_1(relevance: FloatArray) -> FloatArray:
    """2^relevance - 1, exact for whole grades and to the last digits for the smallest."""
    small = relevance < 0.5
    return np.where(small, np.expm1(relevance * np.log(2.0)), np.exp2(relevance) - 1.0)


_GAINS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exp2": _exp2_less_1,
    "exp2_shifted": lambda relevance: np.exp2(relevance + 1.0) - 1.0,
    "binary": np.ones_like,
}


def _retrieved(hits: Hits, k: int | None) -> Hits:
    """Replace ``ideal`` by the gains of the list itself down to rank ``k``, descending, then 0."""
    _, is_hit = hits_of_slots(hits)
    if k is not None:
        is_hit &= hits.first <= k
    return hits._replace(ideal=_descending(hits.start, np.where(is_hit, hits.gain, 0.0), None))


_DIVISORS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log2": lambda rank: np.log2(rank + 1.0),
    "log2_clip": lambda rank: np.maximum(np.log2(rank), 1.0),
    "ln": lambda rank: np.log(rank + 1.0),
    "reciprocal": lambda rank: rank,
}


def _named_discounts(discount: str, depth: int) -> FloatArray:
    """The weights of the ranks 1 .. depth."""
    return 1.0 / _DIVISORS[discount](np.arange(1.0, depth + 1.0))


# Discounts are kept, since logarithms take longer than all other work on a small batch.
_short_discounts = functools.lru_cache(maxsize=64)(_named_discounts)


def discounts(discount: str | Callable[[int], float], depth: int) -> FloatArray:
    """The weights of the ranks 1 .. depth.

    A callable of the rank is read as a weight where it falls with the rank (``1 / log2(rank + 1)``)
    and as a divisor where it grows (``log2(rank + 1)``, LensKit's way); anything else is an error,
    since a weight that grows with the rank would reward bad lists. Where all values are equal, the
    later ranks decide, so that a value does not depend on the cutoff; a constant is a weight.
    """
    if isinstance(discount, str):
        if depth <= _REMEMBERED_RANKS:
            return _short_discounts(discount, depth)
        return _named_discounts(discount, depth)
    values = np.empty(depth)
    for rank in range(1, depth + 1):
        value = discount(rank)
        try:
            values[rank - 1] = float(value)
        except (TypeError, ValueError, OverflowError):
            msg = f"discount must give a number for each rank, got {value!r} for rank {rank}"
            raise ArgumentError(msg) from None
    earlier = values[:-1]
    later = values[1:]
    is_weight = bool(np.all(later <= earlier))
    if depth and np.all(values == values[0]):
        is_weight = not _grows_behind(discount, values)
    if is_weight and np.all((values >= 0.0) & (values <= _LARGEST_NUMBER)):
        return values
    if np.all((values >= 1 / _LARGEST_NUMBER) & (values <= _LARGEST_NUMBER)) and np.all(
        later >= earlier
    ):
        return 1.0 / values
    numbers = [f"{value:g}" for value in values[:5]]
    if depth > 5:
        numbers.append("...")
    msg = (
        "discount must give a finite weight >= 0 that never grows with the rank, or a divisor > 0 "
        f"that never falls, got {', '.join(numbers)} for the ranks 1, 2, 3, ...; "
        "type discount=lambda rank: 1 / math.log2(rank + 1)"
    )
    raise ArgumentError(msg)


def _grows_behind(discount: Callable[[int], float], values: FloatArray) -> bool:
    """True if the first other value behind ``values``, which are all equal, is greater than they.

    The ranks looked at are further apart the later they are. One where the callable fails ends the
    search, since it may know no more ranks.
    """
    step = 1
    while step <= _MAX_RANKS:
        try:
            value = float(discount(values.size + step))
        except Exception:  # of any type, by the callable
            return False
        if value != values[0]:
            return bool(value > values[0])
        step *= 2
    return False


def under(hits: Hits, ties: TiePolicy) -> Hits:
    """Set the ranks ``first`` .. ``last`` of each hit by a tie policy."""
    if ties == "index":
        return hits._replace(first=hits.rank, last=hits.rank)
    return hits if ties == "expected" else _at_end_of_groups(hits, best_first=ties == "best")


def _at_end_of_groups(hits: Hits, *, best_first: bool) -> Hits:
    """Give the relevant items of each tie group its first ranks, or its last ranks.

    The greatest relevance comes at the outer end: first if they are first, else last.
    """
    rank = hits.first.copy()
    gain = hits.gain
    tied = np.flatnonzero(hits.last > hits.first)  # slots
    if tied.size:
        users = np.searchsorted(hits.start, tied, side="right") - 1
        first = hits.first[tied]
        last = hits.last[tied]
        # The slots of a group are adjacent and stay in place: only gains are exchanged.
        order = np.lexsort((-gain[tied] if best_first else gain[tied], first, users))
        gain = gain.copy()
        gain[tied] = gain[tied[order]]

        begins_group = np.ones(tied.size, bool)
        begins_group[1:] = (users[1:] != users[:-1]) | (first[1:] != first[:-1])
        group = np.cumsum(begins_group) - 1
        begin = np.flatnonzero(begins_group)
        place = np.arange(tied.size) - begin[group]
        size = np.diff(np.append(begin, tied.size))[group]
        rank[tied] = place + (first if best_first else last - size + 1)
    return hits._replace(rank=rank, first=rank, last=rank, gain=gain)
