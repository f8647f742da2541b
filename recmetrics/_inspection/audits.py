"""``audit``: find properties of the inputs that make metrics misleading."""
# ruff: noqa: RUF009  # ``_check`` makes a field

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.inputs import (
    FlatLists,
    ItemSets,
    Rankings,
    Rows,
    ScoreBlock,
    ScoreMatrix,
    SparseScores,
    Users,
    as_scipy,
    dtype_name,
    read_matrix,
    read_users,
)
from recmetrics._core.results import (
    NEGATE,
    advice_on_samples,
    places_of,
    size_of_samples,
    users_of_relevant_alone,
    users_of_relevant_last,
)
from recmetrics._core.selection import (
    Hits,
    Lists,
    MatrixRanker,
    Selection,
    count_work,
    find_hits,
    hits_of_slots,
)
from recmetrics._core.spec import Request, as_cutoff
from recmetrics._core.types import (
    BoolArray,
    Candidates,
    IntArray,
    Invalid,
    Progress,
    Ranking,
    Scores,
    Truth,
)
from recmetrics._printing import counted, facts_in_html, per_cent


class Finding(NamedTuple):
    """The number of users that a finding concerns, and the first of these users.

    For a finding that counts matrix entries, ``entries`` is their number and ``item`` the item of
    the first one. For all other findings, ``entries`` is 0 and ``item`` is None.
    """

    users: int = 0
    entries: int = 0
    user: int | None = None
    item: int | None = None


_NONE = Finding()
_FEW = 0.01  # of the users: ties of so few need no advice
_LARGEST = ("largest_in_truth", "largest_in_ranking")  # they show an item, not a number of them


def _check(meaning: str) -> Any:
    return field(default=_NONE, metadata={"meaning": meaning})


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of an audit: one ``Finding`` for each check.

    It prints as a short report, in notebooks as a table.

    ``nan``, ``positive_inf``, ``negative_inf``, ``excluded_relevant``, ``not_candidates``,
    ``explicit_zeros``, ``duplicates``, ``repeats``, ``unknown``, ``largest_in_truth`` and
    ``largest_in_ranking`` count matrix entries; all others count users. ``n_items`` is None if the
    inputs do not determine it. ``grades`` is None, or for a graded truth the number of its distinct
    values above 0, the least and the greatest of them.

    Four findings tell that the call may not test the model at all. ``only_relevant``: all items
    that can be recommended to a user are relevant. ``sampled``: every user has equally many
    candidates, ``n_candidates``, as with sampled negatives; ``has_one_relevant`` says that no user
    has several relevant items. ``relevant_last``: the relevant items stand at the end of the list.
    ``excluded_target``: exclude holds the one relevant item. The first three are given only if they
    hold for most of the users with relevant items.
    """

    n_users: int
    n_items: int | None
    k: int
    dtype: str
    nan: Finding = _check("scores are NaN, an error unless nan='exclude'")
    positive_inf: Finding = _check("scores are +inf")
    negative_inf: Finding = _check("scores are -inf, never recommended")
    constant: Finding = _check("all items have the same score, so they rank by item index")
    short: Finding = _check("fewer than k items to recommend")
    tied_at_cutoff: Finding = _check("equal scores at ranks k and k + 1; item order decides rank k")
    depend_on_ties: Finding = _check(
        "relevant items tied with others; item order decides metrics at k"
    )
    excluded_relevant: Finding = _check(
        "relevant items are excluded (does the split leak, or is exclude= the truth?)"
    )
    not_candidates: Finding = _check("relevant items are not candidates")
    without_truth: Finding = _check("no relevant item, accuracy is undefined")
    explicit_zeros: Finding = _check("truth stores explicit zeros, which are not relevant")
    duplicates: Finding = _check("truth stores some entries twice; their values are added")
    repeats: Finding = _check("lists repeat items, an error unless repeats= is 'waste' or 'drop'")
    unknown: Finding = _check(
        "items are outside the catalogue, an error unless unknown= is 'waste' or 'drop'"
    )
    largest_in_truth: Finding = _check("largest item index in truth")
    largest_in_ranking: Finding = _check("largest item index in the rankings")
    only_relevant: Finding = _check("every item that can be recommended is relevant")
    sampled: Finding = _check("every user has equally many candidates, as with sampled negatives")
    relevant_last: Finding = _check("the relevant items stand at the end of the list")
    excluded_target: Finding = _check(
        "exclude holds the one relevant item (does the split leak, or is exclude= the truth?)"
    )
    grades: tuple[int, float, float] | None = None
    n_candidates: int | None = None
    has_one_relevant: bool = True
    are_lists: bool = False

    @property
    def findings(self) -> dict[str, Finding]:
        """All findings, keyed by name."""
        findings = {name: getattr(self, name) for name in _MEANINGS}
        return {name: finding for name, finding in findings.items() if finding.users}

    def __str__(self) -> str:
        lines = [f"  {meaning}: {fact}" for meaning, fact in self._lines()]
        if not lines:
            return f"{self._head()}: {self._without_findings()}"
        return "\n".join([self._head(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_in_html(self._head(), [*self._lines()] or [(self._without_findings(), "")])

    def _without_findings(self) -> str:
        return "nothing odd" if self.n_users else "no user to check"

    def _head(self) -> str:
        n_items = "an unknown number of" if self.n_items is None else f"{self.n_items:,}"
        users = counted(self.n_users, "user")
        return f"{users} x {n_items} items, {self.dtype}, k = {self.k}"

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The meaning of each finding, and whom it concerns."""
        findings = self.findings
        if "excluded_target" in findings:  # which concerns the same users
            del findings["excluded_relevant"]
        for name, finding in findings.items():
            share = per_cent(finding.users, self.n_users)
            users = f"{counted(finding.users, 'user')} ({share})"
            if finding.item is None:
                fact = f"{users}, first user {finding.user}{self._advice(name)}"
            elif name in _LARGEST:
                fact = f"{finding.item} (user {finding.user})"
            else:
                example = f"first (user {finding.user}, item {finding.item})"
                users = f"{counted(finding.users, 'user')} ({share} of users)"
                fact = f"{counted(finding.entries, 'item')} of {users}, {example}"
            yield _MEANINGS[name], fact
        if self.grades is not None:
            n_grades, least, greatest = self.grades
            meaning = f"truth has {n_grades:,} different values above 0 ({least:g} to {greatest:g})"
            yield meaning, "graded metrics, such as ndcg, use them"

    def _advice(self, name: str) -> str:
        """Write the lines below a finding: what it means, or what to do."""
        advice = ""
        if name == "depend_on_ties":
            # Half-precision scores tie; a tie of few users needs no advice.
            is_half = self.dtype.endswith("float16")  # bfloat16, and big-endian float16
            if is_half and self.depend_on_ties.users > _FEW * self.n_users:
                advice = (
                    f"{self.dtype} has few distinct values: give the logits, or cast them to "
                    "float32 before a sigmoid;\n    ties='range' gives the least and the greatest "
                    "value of each metric"
                )
        elif name == "only_relevant":
            metrics = "no metric" if self.grades is None else "graded metrics alone"
            verb = "rank" if self.are_lists else "score"
            advice = (
                f"the order of relevant items changes {metrics}: {verb} all items, not those of "
                "the test alone"
            )
        elif name == "sampled":
            of = "" if self.n_items is None else f" of {self.n_items:,}"
            advice = (
                f"{self.n_candidates:,}{of} items, the relevant ones among them: "
                f"{advice_on_samples(has_one_relevant=self.has_one_relevant)}"
            )
        elif name == "relevant_last" and self.are_lists:
            advice = "if the lists begin with the worst item, reverse them"
        elif name == "relevant_last":
            advice = NEGATE
        elif name == "excluded_target":
            advice = "in link prediction, exclude the other true items, not the target"
        return advice and f"\n    {advice}"


_MEANINGS = {check.name: check.metadata["meaning"] for check in fields(Audit) if check.metadata}


def audit(
    scores: Scores,
    ground_truth: Truth,
    *,
    exclude: Truth | None = None,
    candidates: Candidates | None = None,
    k: int = 10,
    n_threads: int | None = None,
    progress: Progress = None,
) -> Audit:
    """Look for properties of the inputs that make metrics misleading, in one pass over the scores.

    It checks the scores (NaN, infinite, equal at the cutoff or throughout, too few items), the
    truth (users without relevant items, zeros and repeated entries that it stores), both together
    with ``exclude`` and ``candidates`` (relevant items that cannot be recommended), and signs that
    the call does not test the model, such as users for whom only relevant items can be recommended.
    Each check is a field of ``Audit``.

    For float16 and bfloat16 scores, the report also gives advice if the metrics of more than 1 % of
    the users depend on the order of equal scores.

    >>> import recmetrics
    >>> print(recmetrics.audit([[2, 1, 1], [5, 5, 5]], [[0, 1, 0], [0, 0, 0]], k=2))
    2 users x 3 items, int64, k = 2
      all items have the same score, so they rank by item index: 1 user (50.0%), first user 1
      equal scores at ranks k and k + 1; item order decides rank k: 2 users (100.0%), first user 0
      relevant items tied with others; item order decides metrics at k: 1 user (50.0%), first user 0
      no relevant item, accuracy is undefined: 1 user (50.0%), first user 1

    Parameters
    ----------
    scores, ground_truth, exclude, candidates, n_threads, progress
        As in ``Metrics.compute``. NaN scores are counted instead of raising an error. With
        ``candidates``, only the scores of the candidates are read.
    k
        The cutoff of the metrics that will be computed.

    Returns
    -------
    Audit
        The findings, one for each check.

    Raises
    ------
    InputError, InputTypeError, ArgumentError
        As in ``Metrics.compute``.
    """
    k = as_cutoff(k)
    request = Request(  # of a metric that reads whole lists
        "mrr", nan="exclude", ties="expected", n_threads=n_threads, progress=progress
    )
    matrix = read_matrix(scores)
    n_users, n_items = matrix.shape
    sets = {"exclude": exclude, "candidates": candidates}
    users = read_users(matrix, ground_truth, sets, request)
    inspection = _Inspection(matrix, users, k)
    depth = max(1, n_items)
    count_work(matrix, users, depth, inspection.depth)
    hits, _ = MatrixRanker(matrix, users).hits(depth, request, inspection)
    return Audit(
        n_users=n_users,
        n_items=n_items,
        k=k,
        dtype=dtype_name(matrix.array),
        depend_on_ties=_of_users(_users_of_mixed_ties(hits, k)),
        without_truth=_users_where(np.diff(hits.start) == 0),
        excluded_target=_excluded_target(users),
        grades=_grades(hits),
        **inspection.findings(),
        **_signs(hits, n_items, inspection.n_recommendable),
        **_stored(ground_truth, n_items),
    )


def audit_ranked(
    ranking: Ranking, ground_truth: Truth, *, n_items: int | None = None, k: int = 10
) -> Audit:
    """Look for properties of given rankings that make metrics misleading.

    Repeated items and items outside the catalogue are counted instead of raising an error. If the
    size of the catalogue is unknown, the report gives the largest item index in the truth and in
    the rankings. Compare the two: if truth and rankings number the items differently, no error is
    raised, but items do not match.

    >>> import recmetrics
    >>> print(recmetrics.audit_ranked([[2, 0], [1, 700]], [[2, 3], []], k=2))
    2 users x an unknown number of items, int64, k = 2
      no relevant item, accuracy is undefined: 1 user (50.0%), first user 1
      largest item index in truth: 3 (user 0)
      largest item index in the rankings: 700 (user 1)

    Parameters
    ----------
    ranking, ground_truth, n_items
        As in ``Metrics.compute_ranked``.
    k
        As in ``audit``.

    Returns
    -------
    Audit
        As in ``audit``, with the checks that apply to rankings.

    Raises
    ------
    InputError, InputTypeError, ArgumentError
        As in ``Metrics.compute_ranked``.
    """
    k = as_cutoff(k)
    request = Request("mrr")  # which reads whole lists
    rankings = Rankings(ranking, n_items)
    users = read_users(rankings, ground_truth, {}, request)
    n_users = rankings.shape[0]
    n_items = users.n_items
    unknown: Invalid = "raise" if n_items is None else "drop"
    rankings = Rankings(rankings.lists, n_items, repeats="drop", unknown=unknown)
    selection = find_hits(rankings, users, request)
    hits = selection.hits
    largest: dict[str, Any] = {}
    if n_items is None:
        everyone = slice(0, n_users)
        largest["largest_in_truth"] = _largest(users.truth.rows(everyone))
        largest["largest_in_ranking"] = _largest(rankings.flat(everyone))
    return Audit(
        n_users=n_users,
        n_items=n_items,
        k=k,
        dtype=str(rankings.lists.items.dtype),
        short=_users_where(hits.length < k),
        without_truth=_users_where(np.diff(hits.start) == 0),
        grades=_grades(hits),
        **_signs(hits, n_items, len(np.unique(rankings.lists.items)), are_lists=True),
        **_of_invalid(rankings, selection, n_items),
        **largest,
        **_stored(ground_truth, n_items or 0),
    )


def _of_invalid(rankings: Rankings, selection: Selection, n_items: int | None) -> dict[str, Any]:
    """The items that the lists repeat, and those that are outside the catalogue."""
    findings: dict[str, Any] = {}
    for place, name in enumerate(("repeats", "unknown")):
        counts = np.asarray(selection.n_invalid)[place]
        users = np.flatnonzero(counts)
        if users.size:
            user = int(users[0])
            lists = rankings.flat(slice(user, user + 1))
            is_invalid = rankings.invalid_in(lists, n_items)[place]
            first_item = int(lists.items[is_invalid][0])
            findings[name] = Finding(len(users), int(counts.sum()), user, first_item)
    return findings


class _Inspection:
    """Reads the lists of a call to rank k + 1, and their scores."""

    row_items = 0

    def __init__(self, scores: ScoreMatrix, users: Users, k: int) -> None:
        self.depth = max(1, min(k + 1, scores.shape[1]))
        self._scores = scores
        self._users = users
        self._k = k
        self._of_blocks: dict[str, list[Finding]] = {}
        self._is_recommendable = np.zeros(scores.shape[1], np.bool_)  # to any user

    @property
    def n_recommendable(self) -> int:
        """The number of items that may be recommended to any user."""
        return int(np.count_nonzero(self._is_recommendable))

    def offer(self, items: IntArray | slice) -> None:
        """Do nothing: no check reads the catalogue."""

    def read(self, lists: Lists) -> None:
        """Inspect a block of lists; several threads may call it at once."""
        for name, finding in self._inspect(lists).items():
            if finding.users:
                self._of_blocks.setdefault(name, []).append(finding)

    def findings(self) -> dict[str, Any]:
        """Add up the findings of all blocks."""
        totals = {}
        for name, findings in self._of_blocks.items():
            earliest = min(findings, key=lambda finding: finding.user or 0)
            n_users = sum(finding.users for finding in findings)
            n_entries = sum(finding.entries for finding in findings)
            totals[name] = earliest._replace(users=n_users, entries=n_entries)
        return totals

    def _inspect(self, lists: Lists) -> dict[str, Any]:
        """Give the finding of each check of the scores in a block of rows."""
        rows = lists.rows
        block = self._scores.block(rows)
        values = block.values
        lowest = block.lowest

        # The scores that count: those of candidates, and of a sparse matrix the stored ones.
        recommendable = np.ones(values.shape, np.bool_)
        candidates = self._users.candidates
        if candidates is not None:
            recommendable &= _mask(candidates.rows(rows), values.shape)
        if isinstance(self._scores, SparseScores):
            recommendable &= _mask(self._scores.stored(rows)[0], values.shape)

        # Masks only where they have entries: to get their memory takes longer than to look for one.
        findings = {}
        if not _is_finite(block):
            is_nan = ~(values >= lowest)  # of no other score is this false, -inf included
            is_lowest = values == lowest
            is_highest = values == -lowest
            findings["nan"] = _of_entries(is_nan & recommendable, rows.start)
            findings["positive_inf"] = _of_entries(is_highest & recommendable, rows.start)
            findings["negative_inf"] = _of_entries(is_lowest & recommendable, rows.start)
            recommendable &= values > lowest
        exclude = self._users.exclude
        if exclude is not None:
            recommendable &= ~_mask(exclude.rows(rows), values.shape)

        # Threads write here at once, but all of them write True.
        self._is_recommendable[recommendable.any(axis=0)] = True
        n_recommendable = np.count_nonzero(recommendable, axis=1)
        highest = values.max(axis=1, where=recommendable, initial=lowest)
        differs = values != highest[:, np.newaxis]
        differs &= recommendable
        return findings | {
            "short": _users_where(n_recommendable < self._k, rows.start),
            "constant": _users_where((n_recommendable > 1) & ~differs.any(axis=1), rows.start),
            "tied_at_cutoff": _users_where(self._is_tied(values, lists), rows.start),
            "excluded_relevant": _of_relevant(lists, exclude, belongs=True),
            "not_candidates": _of_relevant(lists, candidates, belongs=False),
        }

    def _is_tied(self, values: npt.NDArray[Any], lists: Lists) -> BoolArray:
        """True where the last item of a list and the first one left out have equal scores."""
        if self._k >= lists.items.shape[1]:
            return np.zeros(len(values), np.bool_)
        beyond = lists.length > self._k
        # The items at rank k and k + 1; lists without the latter read item 0 twice.
        items_at_edge = np.where(
            beyond[:, np.newaxis], lists.items[:, self._k - 1 : self._k + 1], 0
        )
        scores_at_edge = np.take_along_axis(values, items_at_edge, axis=1)
        return np.asarray(beyond & (scores_at_edge[:, 0] == scores_at_edge[:, 1]))


def _users_of_mixed_ties(hits: Hits, k: int) -> IntArray:
    """Find the users with a tie group that reaches the top k and mixes relevances."""
    users, is_hit = hits_of_slots(hits)
    tied = np.flatnonzero(is_hit & (hits.last > hits.first) & (hits.first <= k))
    users = users[tied]
    # A tie group is mixed where fewer of its items have this relevance than it has ranks.
    keys = np.stack([users, hits.first[tied], hits.gain[tied]])
    _, key_of, sizes = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    is_mixed = sizes[key_of.ravel()] < hits.last[tied] - hits.first[tied] + 1
    return np.unique(users[is_mixed])


def _signs(
    hits: Hits, n_items: int | None, n_recommendable: int, *, are_lists: bool = False
) -> dict[str, Any]:
    """Say for which users the whole lists tell that the model is not evaluated.

    ``n_recommendable`` is the number of items that are in any list.
    """
    longest = int(hits.length.max(initial=0))
    places = places_of(hits, longest, longest)
    size = size_of_samples(places, n_items)
    is_sampled = np.zeros(len(hits.length), np.bool_)
    if size is not None and size < n_recommendable:  # not the same items for all
        is_sampled = places.n_relevant > 0
        if are_lists:  # short lists that have all relevant items at one end are those of a model
            ranks = hits.rank[hits_of_slots(hits)[1]]
            is_sampled &= ranks.min() <= size / 2 < ranks.max()
    return {
        "only_relevant": _of_users(users_of_relevant_alone(places, are_lists=are_lists)),
        "relevant_last": _of_users(users_of_relevant_last(hits, places)),
        "sampled": _users_where(is_sampled),
        "n_candidates": size if is_sampled.any() else None,
        "has_one_relevant": places.has_one_relevant,
        "are_lists": are_lists,
    }


def _excluded_target(users: Users) -> Finding:
    """The users whose relevant item is excluded, where every user has one."""
    if users.exclude is None:
        return _NONE
    everyone = slice(0, users.truth.n_users)
    relevant = users.truth.rows(everyone)
    if np.diff(relevant.start).max(initial=0) != 1:
        return _NONE
    is_excluded = relevant.among(users.exclude.rows(everyone))
    return _of_users(relevant.users()[is_excluded])


def _grades(hits: Hits) -> tuple[int, float, float] | None:
    """Give the number of different relevances, the least and the greatest; None if all are equal.

    The hits hold the relevances of all relevant items as the ideal.
    """
    relevances = np.unique(hits.ideal)
    if len(relevances) < 2:
        return None
    return len(relevances), float(relevances[0]), float(relevances[-1])


def _stored(truth: Truth, n_items: int) -> dict[str, Any]:
    """The explicit zeros and the repeated entries that a sparse truth stores."""
    entries = as_scipy(truth, "truth")
    if not sp.issparse(entries):
        return {}
    matrix: Any = entries
    stored: Any = sp.coo_array(matrix)
    is_zero = stored.data == 0
    places = stored.row.astype(np.int64) * n_items + stored.col  # of the entries in the matrix
    _, first_entries = np.unique(places, return_index=True)
    is_repeat = np.ones(len(places), np.bool_)
    is_repeat[first_entries] = False
    return {
        "explicit_zeros": _of_places(stored.row[is_zero], stored.col[is_zero]),
        "duplicates": _of_places(stored.row[is_repeat], stored.col[is_repeat]),
    }


def _of_relevant(lists: Lists, sets: ItemSets | None, *, belongs: bool) -> Finding:
    """The relevant items that are, or with ``belongs=False`` are not, in a user's set."""
    if sets is None:
        return _NONE
    relevant = lists.relevant
    is_counted = relevant.among(sets.rows(lists.rows)) == belongs
    return _of_places(relevant.users()[is_counted], relevant.items[is_counted], lists.rows.start)


def _is_finite(block: ScoreBlock) -> bool:
    """Say whether no score of a block is NaN or infinite, as none of integers is."""
    if not block.has_infinity:
        return True
    # NaN is the least and the greatest of any scores, and fails both comparisons.
    least = block.values.min(initial=0)
    greatest = block.values.max(initial=0)
    return bool(least > block.lowest and greatest < -block.lowest)


def _mask(entries: Rows, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Make a dense mask (users, items) that is True at the entries."""
    mask = np.zeros(shape, np.bool_)
    mask[entries.users(), entries.items] = True
    return mask


def _of_entries(mask: BoolArray, start: int) -> Finding:
    """Count the entries where a mask (users, items) is True; its first row is user ``start``."""
    # By one index: of a mask with few entries, NumPy finds two indices in 50 times the time.
    users, items = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return _of_places(users, items, start)


def _of_places(users: IntArray, items: IntArray, start: int = 0) -> Finding:
    """Count entries, each of a user and an item; users are counted from ``start``."""
    if not len(users):
        return _NONE
    place = np.lexsort((items, users))[0]
    return Finding(len(np.unique(users)), len(users), start + int(users[place]), int(items[place]))


def _largest(rows: Rows | FlatLists) -> Finding:
    """Find the largest item index, and the first user who has it."""
    is_largest = rows.items == rows.items.max(initial=0)
    return _of_places(rows.users()[is_largest], rows.items[is_largest])


def _users_where(mask: BoolArray, start: int = 0) -> Finding:
    """Count the users where a mask (users,) is True; its first entry is user ``start``."""
    return _of_users(np.flatnonzero(mask) + start)


def _of_users(users: IntArray) -> Finding:
    """Count users, each given once, in ascending order."""
    if not users.size:
        return _NONE
    return Finding(users.size, user=int(users[0]))
