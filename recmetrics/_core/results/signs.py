"""Signs that a call does not evaluate a model, whatever its numbers are."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.inputs import TIED_SHARE, ScoreMatrix, SharedSet, Users
from recmetrics._core.selection import Hits, Selection, hits_of_slots
from recmetrics._core.spec import MetricSpec
from recmetrics._core.types import BoolArray, IntArray

# Of so few users, all may by chance have equally many candidates, or rankings of the right items.
_FEW_USERS = 10
_FEW_CANDIDATES = 10  # a page shows about so many; samples of negatives are larger
_SHARE_OF_CATALOGUE = 0.5  # at most, of a sample: training items leave more
# The relevant items of a user are last if at most this share of the other items stand behind them.
# Distances of a model whose AUC is 0.8 or more are so for most users, and random scores for 20 %.
_LAST = 0.2
# Advice on relevant items at the end of the lists. An integer may have no negative of its dtype.
NEGATE = (
    "if lower scores are better, such as distances, negate them, as floats, and leave -inf as it is"
)
_INSPECTED_SCORES = 1 << 20  # so many scores of the first rows are compared, in about a millisecond
_CHANCE = 1e-3  # a bound of the probability of a false alarm, which is itself a tenth of it or less


class Places(NamedTuple):
    """Where the relevant items of each user stand among the items that may be recommended."""

    n_relevant: IntArray
    n_candidates: IntArray  # -1 where unknown, as behind the last rank that was read
    n_found: IntArray  # the relevant items among the candidates

    @property
    def is_known(self) -> BoolArray:
        """True for the users with a relevant item whose candidates are known."""
        return (self.n_relevant > 0) & (self.n_candidates >= 0)

    @property
    def n_users(self) -> int:
        """The number of users with a relevant item."""
        return int(np.count_nonzero(self.n_relevant))

    @property
    def has_one_relevant(self) -> bool:
        """True if no user has several relevant items."""
        return int(self.n_relevant.max(initial=0)) <= 1


def places_of(hits: Hits, depth: int | None, longest: int) -> Places:
    """Read hits to rank ``depth`` of lists of at most ``longest`` items."""
    n_candidates = hits.length
    if depth is None:
        n_candidates = np.full(len(hits.length), -1)
    elif depth < longest:
        n_candidates = np.where(hits.length < depth, hits.length, -1)
    return Places(hits.n_relevant, n_candidates, hits.n_hits)


def users_of_relevant_alone(places: Places, *, are_lists: bool = False) -> IntArray:
    """Find users all of whose candidates are relevant, if these are most users.

    ``are_lists`` says that the candidates are lists, which hold the relevant items alone where a
    model is perfect: few users, or lists of one item, are no sign.
    """
    is_alone = places.is_known & (places.n_candidates > 0)
    is_alone &= places.n_found == places.n_candidates
    if are_lists:
        is_alone &= places.n_found == places.n_relevant
        if places.n_users < _FEW_USERS:
            return np.empty(0, np.int64)
    # A model may well have the one item right that it gives to most users, but not to all.
    is_longer = places.is_known & (places.n_candidates > 1)
    n_longer = np.count_nonzero(is_longer)
    are_most = 2 * np.count_nonzero(is_alone) > places.n_users
    if n_longer:
        are_most &= 2 * np.count_nonzero(is_alone & is_longer) > n_longer
    else:
        are_most &= np.count_nonzero(is_alone) == places.n_users
    return np.flatnonzero(is_alone & are_most)


def size_of_samples(places: Places, n_items: int | None) -> int | None:
    """Give the number of candidates, if every user has as many, the relevant items among them.

    Lists that a model retrieves lack some relevant items. ``n_items`` is the size of the catalogue.
    None if the candidates are no samples.
    """
    has_relevant = places.n_relevant > 0
    sizes = places.n_candidates[has_relevant]
    if len(sizes) < _FEW_USERS or sizes.min() != sizes.max():
        return None
    size = int(sizes[0])
    if size < _FEW_CANDIDATES or (n_items is not None and size > _SHARE_OF_CATALOGUE * n_items):
        return None
    n_found = places.n_found[has_relevant]
    if np.any(n_found < places.n_relevant[has_relevant]) or np.all(n_found == size):
        return None
    return size


def advice_on_samples(*, has_one_relevant: bool) -> str:
    """Say how to come from candidates that are a sample to the metrics over all items.

    ``has_one_relevant`` says that no user has several relevant items. The rank of one of several
    in a sample counts all others above it, and of the other items only a share.
    """
    if has_one_relevant:
        return "Metrics.from_sampled estimates the metrics over all items"
    return (
        "only auc estimates its value over all items, since users have several relevant items; "
        "for other metrics, score all items"
    )


def users_of_relevant_last(hits: Hits, places: Places) -> IntArray:
    """Find users whose relevant items stand at the end of their lists, if these are most users.

    With u the place from the end of a list, (place - 1/2) / length, the mean of u over the relevant
    items of a user is, for random scores, less spread than a uniform number U. So for n users the
    probability of a mean m or less is at most min over t of (E exp(-t U))^n exp(t n m), which is at
    most (e m)^n, for t = 1 / m (Chernoff's bound, with E exp(-t U) <= 1 / t).
    """
    users_of_slots, is_hit = hits_of_slots(hits)
    users_of_hits = users_of_slots[is_hit]
    ranks: Any = hits.rank[is_hit]
    if len(hits.first) == len(hits.rank):  # the mean rank of a tie
        ranks = 0.5 * (hits.first + hits.last)[is_hit]
    n_found = places.n_found
    is_read = places.is_known & (n_found > 0) & (n_found < places.n_candidates)
    users = np.flatnonzero(is_read)
    if not users.size or 2 * users.size <= places.n_users:
        return users[:0]

    rank_sums = np.bincount(users_of_hits, ranks, minlength=len(n_found))[users]
    n_found = n_found[users]
    n_candidates = places.n_candidates[users]
    from_end = n_found * (n_candidates + 1) - rank_sums  # the sum of the places from the end
    # Pairs of a relevant item and another item behind it, of all pairs of such two.
    n_pairs_behind = from_end - n_found * (n_found + 1) / 2
    n_pairs = n_found * (n_candidates - n_found)
    is_last = n_pairs_behind <= _LAST * n_pairs
    mean = float(((from_end / n_found - 0.5) / n_candidates).mean())
    is_rare = users.size * (1.0 + np.log(mean)) <= np.log(_CHANCE)
    if not is_rare or 2 * np.count_nonzero(is_last) <= places.n_users:
        return users[:0]
    return users[is_last]


def notes_of_signs(selection: Selection, users: Users, specs: Iterable[MetricSpec]) -> list[str]:
    """Say what a call that has ranked scores tells of itself, from counts that it has."""
    hits = selection.hits
    n_items = selection.cutoffs.n_items
    places = places_of(hits, selection.cutoffs.hits, n_items or 0)
    known_places = _of_candidates(places, users)
    n_alone = 0
    if all(spec.values.get("rel") is None for spec in specs):
        n_alone = len(users_of_relevant_alone(known_places))
    n_last = len(users_of_relevant_last(hits, places))

    notes = []
    of_users = f"of the {places.n_users:,} users with relevant items"
    if n_alone:
        notes.append(
            f"every item that can be recommended is relevant to {n_alone:,} {of_users}, so metrics "
            "that ignore grades do not depend on the model; score all items, not those of the test "
            "alone"
        )
    size = None
    if not isinstance(users.candidates, SharedSet):
        size = size_of_samples(known_places, n_items)
    if size is not None:
        of_items = "" if n_items is None else f" of {n_items:,}"
        notes.append(
            f"every user has exactly {size:,}{of_items} items as candidates, the relevant ones "
            "among them; if the others are sampled negatives, "
            f"{advice_on_samples(has_one_relevant=places.has_one_relevant)}"
        )
    if n_last:
        notes.append(
            f"the relevant items stand at the end of the lists of {n_last:,} {of_users}; {NEGATE}"
        )
    return notes


def note_on_one_column(scores: Any, users: Users) -> str:
    """Tell where the relevant item of all rows that have one is in one column, and others tie.

    Sampled negatives are often stacked beside a first column of targets, which then wins each tie.
    Only a dense matrix of scores is read, all of whose items may be recommended.
    """
    is_whole = users.exclude is None and users.candidates is None
    first_targets = users.truth.rows(slice(0, 2)).items  # these decide, mostly
    if not is_whole or type(scores) is not ScoreMatrix or len({*first_targets.tolist()}) > 1:
        return ""
    targets = users.truth.rows(slice(0, users.truth.n_users))
    column = targets.items[0]
    if len(targets.items) < 2 or (targets.items != column).any():
        return ""

    n_rows = min(scores.shape[0], 1 + _INSPECTED_SCORES // scores.shape[1])
    block = scores.block(slice(0, n_rows))
    has_target = np.diff(targets.start)[:n_rows] > 0
    target_scores = block.values[:, column]
    n_equal = np.count_nonzero(block.values == target_scores[:, np.newaxis], axis=1)
    is_tied = has_target & (n_equal > 1) & (target_scores >= block.least)
    n_tied = np.count_nonzero(is_tied)
    n_targets = np.count_nonzero(has_target)
    if n_tied < max(1, TIED_SHARE * n_targets):
        return ""
    return (
        f"the relevant item is column {column} in every row that has one, and in {n_tied:,} of the "
        f"first {n_targets:,} such rows other items have its score: it ranks above those in later "
        "columns"
    )


def _of_candidates(places: Places, users: Users) -> Places:
    """Count the items, and the relevant ones, among the candidates that each user was given.

    Candidates are known however short the lists are. Without them, and where ``places`` counts the
    items of a list that is shorter than the ranks read, it stays as it is.
    """
    candidates = users.candidates
    if candidates is None or isinstance(candidates, SharedSet) or users.exclude is not None:
        return places
    everyone = slice(0, users.truth.n_users)
    items = candidates.rows(everyone)
    sizes = np.diff(items.start)
    relevant = users.truth.rows(everyone)
    is_candidate = relevant.among(items)
    n_found = np.bincount(relevant.users()[is_candidate], minlength=len(sizes))
    is_read = places.n_candidates >= 0
    return places._replace(
        n_candidates=np.where(is_read, places.n_candidates, sizes),
        n_found=np.where(is_read, places.n_found, n_found),
    )
