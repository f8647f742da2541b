"""Sentences on what may mislead: missing values, an excluded truth, grades, weights.

The truth of a user is *swallowed* if ``exclude`` holds all of the user's relevant items.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from recmetrics._core.errors import warn
from recmetrics._core.inputs import Users
from recmetrics._core.selection import Selection
from recmetrics._core.spec import (
    NO_RELEVANT_ITEM,
    MetricSpec,
    Request,
    make_spec,
    number_for,
    takes_number,
)
from recmetrics._core.types import FloatArray


class Missing(NamedTuple):
    """How many users have no value of a metric, and why."""

    metric: str
    n_missing: int
    n_users: int
    why: str


def why_undefined(spec: MetricSpec) -> str:
    """Say what the users lack who have no value of a metric.

    >>> from recmetrics._core.spec import parse
    >>> why_undefined(parse("recall(of=tail)@5"))
    "no relevant item in the stratum 'tail'"
    >>> why_undefined(parse("diversity@5"))
    'no value (a list of fewer than two items)'
    >>> why_undefined(parse("recall(rel=4)@5"))
    'no relevant item of relevance 4 or more'
    """
    metric = spec.metric
    if not metric.needs_relevant:
        return f"no value ({metric.undefined})"
    rel = cast(float | None, spec.values.get("rel"))
    reason = NO_RELEVANT_ITEM + _which_items(spec.stratum, rel)
    return reason + metric.undefined.removeprefix(NO_RELEVANT_ITEM)


def _which_items(stratum: str | None, rel: float | None) -> str:
    """Say which of the relevant items a metric reads; "" for all."""
    words = ""
    if stratum is not None:
        words += f" in the stratum {stratum!r}"
    if rel is not None:
        words += f" of relevance {rel:g} or more"
    return words


def who_lacks(n_missing: int, n_users: int, why: str, nouns: str = "users") -> str:
    """Say how many users have no value; ``nouns`` are the words for the users.

    >>> who_lacks(1, 2_000, "no relevant item")
    '1 of 2,000 users has no relevant item'
    """
    have = "has" if n_missing == 1 else "have"
    return f"{n_missing:,} of {n_users:,} {nouns} {have} {why}"


def left_out(missing: Sequence[Missing], nouns: str = "users") -> Iterator[str]:
    """Say how many users each mean leaves out, in one line for metrics that leave out the same.

    ``missing`` has a record for every metric with one value per user, also where none is missing.
    """
    metrics: dict[tuple[int, int, str], list[str]] = {}
    for metric, n_missing, n_users, why in missing:
        if n_missing:
            metrics.setdefault((n_missing, n_users, why), []).append(metric)
    for (n_missing, n_users, why), names in metrics.items():
        of_metrics = ""
        if len(names) < len(missing):
            of_metrics = f" of {', '.join(names)}"
        yield f"left out{of_metrics}: {who_lacks(n_missing, n_users, why, nouns)}"


def advice_for(specs_with_missing: Iterable[MetricSpec], nouns: str = "users") -> list[str]:
    """Advise how to count users without a value as 0; [] if 0 is not a low value of each metric."""
    metrics = [spec.metric for spec in specs_with_missing]
    # 0 would be the best value where lower is better, or better than any.
    is_low = [metric.higher_is_better and takes_number(metric) for metric in metrics]
    if not metrics or not all(is_low):
        return []
    return [f"to count {nouns} without a value as 0, give undefined='zero'"]


def who_is_swallowed(
    n_swallowed: int, n_users: int, n_relevant: int | None = None, nouns: str = "users"
) -> str:
    """Say how many users have all relevant items excluded; ask why, if these are too many.

    ``n_users`` have ``n_relevant`` relevant items; None if these are not counted, as of tables.
    ``nouns`` are the words for the users.

    >>> who_is_swallowed(1, 9, 20)
    'exclude holds all relevant items of 1 of the 9 users with relevant items'
    """
    has_one = _has_one_target(n_users, n_relevant)
    items = "the one relevant item" if has_one else "all relevant items"
    note = (
        f"exclude holds {items} of {n_swallowed:,} of the {n_users:,} {nouns} with relevant items"
    )
    if has_one or _is_most(n_swallowed, n_users):
        note += ", and excluded items are never hits"
    if _is_most(n_swallowed, n_users):
        note += (
            "; are exclude= and the truth the same data? exclude= must be the items seen in "
            "training, and the truth those of the test"
        )
    if has_one:
        note += (
            "; if a target may be recommended, as a known link or an item of the session again, do "
            "not exclude it: of a dense or SciPy matrix, and targets in NumPy, type "
            "exclude[numpy.arange(len(targets)), targets] = 0; of lists, type exclude=[[item for "
            "item in items if item != target] for items, target in zip(exclude, targets)]"
        )
    return note


def warn_of_swallowed(
    n_swallowed: int, n_users: int, n_relevant: int | None = None, nouns: str = "users"
) -> None:
    """Warn if ``exclude`` holds all relevant items of most users, or the one item of any."""
    has_one = n_swallowed > 0 and _has_one_target(n_users, n_relevant)
    if has_one or _is_most(n_swallowed, n_users):
        warn(who_is_swallowed(n_swallowed, n_users, n_relevant, nouns), argument="exclude")


def _is_most(n_swallowed: int, n_users: int) -> bool:
    """True if more than half of the users with relevant items have all of these excluded."""
    return 2 * n_swallowed > n_users


def _has_one_target(n_users: int, n_relevant: int | None) -> bool:
    """True if every user with relevant items has one, as the rows of link prediction."""
    return n_users == n_relevant


class Grades(NamedTuple):
    """How many rows of the truth, or relevant items, have which relevance."""

    n_rows: int = 0
    n_relevant: int = 0
    n_of_one: int = 0
    n_above_one: int = 0
    least: float = math.inf
    largest: float = -math.inf

    @classmethod
    def of(cls, relevance: FloatArray) -> "Grades":
        return cls(
            n_rows=len(relevance),
            n_relevant=int(np.count_nonzero(relevance > 0)),
            n_of_one=int(np.count_nonzero(relevance == 1)),
            n_above_one=int(np.count_nonzero(relevance > 1)),
            least=float(relevance.min(initial=math.inf)),
            largest=float(relevance.max(initial=-math.inf)),
        )

    @classmethod
    def of_parts(cls, parts: Iterable["Grades"]) -> "Grades":
        """The grades of all rows, from those of parts of them."""
        parts = list(parts)
        return cls(
            n_rows=sum(part.n_rows for part in parts),
            n_relevant=sum(part.n_relevant for part in parts),
            n_of_one=sum(part.n_of_one for part in parts),
            n_above_one=sum(part.n_above_one for part in parts),
            least=min(part.least for part in parts),
            largest=max(part.largest for part in parts),
        )


def how_graded(
    grades: Grades, specs: Iterable[MetricSpec], *, column: str = "", is_sparse: bool = False
) -> list[str]:
    """Say that a metric reads the grades of the truth, which may be meant as binary; else [].

    The grades are those of the relevant items, or of all rows of a table: then ``column`` is the
    name of the column that holds them. ``is_sparse`` is True for a sparse matrix.

    >>> from recmetrics._core.spec import parse
    >>> how_graded(Grades.of(np.array([1.0, 5.0])), [parse("ndcg@10")], column="rating")
    ["truth graded by 'rating', 1 to 5; every row is relevant; to ignore the grades type \
'ndcg(gain=binary)@10'"]
    """
    graded_specs = [spec for spec in specs if spec.reads_grades]
    if not graded_specs or grades.n_of_one == grades.n_relevant:
        return []
    note = "truth graded"
    if column:
        note += f" by {column!r}"
    note += f", {grades.least:g} to {grades.largest:g}; "
    if column and grades.n_relevant == grades.n_rows:
        note += "every row is relevant"
    elif column:
        note += f"{grades.n_relevant:,} of {grades.n_rows:,} rows are relevant"
    else:
        note += f"{grades.n_above_one:,} of {grades.n_relevant:,} relevant entries exceed 1"
    if is_sparse:
        note += "; if these are no grades, SciPy may have summed repeated entries"
    for spec in graded_specs:
        if "gain" in spec.values:
            binary = make_spec(spec.name, spec.k, dict(spec.options) | {"gain": "binary"})
            return [f"{note}; to ignore the grades type {str(binary)!r}"]
    return [note]


def notes_on_users(selection: Selection, request: Request, users: Users | None = None) -> list[str]:
    """Say which users count as a number, which have no list, and what weights and ``exclude`` do.

    Without ``users``, nothing is said of ``exclude``.
    """
    hits = selection.hits
    n_users = len(hits.length)
    n_with_relevant = int(np.count_nonzero(hits.n_relevant))
    notes = counted_as_a_number(n_users - n_with_relevant, n_users, request)
    n_empty = int(np.count_nonzero((hits.length == 0) & (hits.n_relevant > 0)))
    if n_empty and request.of_hits:
        why = "no item that may be recommended, so no hit"
        notes.append(who_lacks(n_empty, n_users, why))
    if users is not None and users.exclude is not None:
        n_relevant = int(hits.n_relevant.sum())
        notes += excluded_relevant(users.n_excluded_relevant(), n_relevant, n_with_relevant)
    notes += _partial_auc(selection, request)
    return notes + _notes_on_weights(selection, request)


def _partial_auc(selection: Selection, request: Request) -> list[str]:
    """Say how many relevant items ``auc`` cannot compare, as those that a stored top k lacks."""
    if not any(spec.name == "auc" and spec.k is None for spec, *_ in request.of_hits.values()):
        return []
    n_relevant = int(selection.hits.n_relevant.sum())
    n_missing = n_relevant - int(selection.hits.n_hits.sum())
    if not n_missing:
        return []
    return [
        f"auc compares only items that may be recommended, and leaves out {n_missing:,} of "
        f"{n_relevant:,} relevant items (excluded, no candidate, or without a stored score)"
    ]


def excluded_relevant(n_excluded: int, n_relevant: int, n_users: int) -> list[str]:
    """Say how many of the relevant items of ``n_users`` users are excluded.

    [] where none is; where all are, and where each user has one, since users are then counted.

    >>> excluded_relevant(2, 20, 9)
    ['exclude holds 2 of 20 relevant items: they are never hits, but count as relevant']
    """
    if n_excluded in (0, n_relevant) or _has_one_target(n_users, n_relevant):
        return []
    return [
        f"exclude holds {n_excluded:,} of {n_relevant:,} relevant items: they are never hits, but "
        "count as relevant"
    ]


def counted_as_a_number(
    n_without: int, n_users: int, request: Request, nouns: str = "users"
) -> list[str]:
    """Say how many users without a relevant item count as 0, or 1, as ``undefined=`` asks.

    Not of strata and of ``rel``, for which other users count so as well; nor of metrics whose
    system weighs users, in which these weigh 0.
    """
    if not n_without:
        return []

    metrics: dict[float, list[str]] = {}
    for text in request.per_user:
        spec, _, undefined = request.definitions[text]
        number = number_for(undefined)
        reads_all = spec.stratum is None and spec.values.get("rel") is None
        reads_all &= text not in request.weights
        if number is not None and spec.metric.needs_relevant and reads_all:
            metrics.setdefault(number, []).append(text)

    who = who_lacks(n_without, n_users, NO_RELEVANT_ITEM, nouns)
    count = "counts" if n_without == 1 else "count"
    notes = []
    for number, names in metrics.items():
        where = ""
        if len(names) < len(request.per_user):
            where = f" in {', '.join(names)}"
        notes.append(f"{who} and {count} as {number:g}{where}")
    return notes


def _notes_on_weights(selection: Selection, request: Request) -> list[str]:
    """Write the effective number of relevant items under the weights of propensities.

    There is a line for each stratum and ``rel`` of a weighted metric, and none without weights.
    """
    slots = selection.slots
    if slots is None:
        return []
    # The stratum and ``rel`` that choose the relevant items of each weighted metric; a dict, since
    # it keeps their order.
    subsets: dict[tuple[str | None, float | None], None] = {}
    for definition in request.of_hits.values():
        spec = definition.spec
        if spec.is_weighed:
            subsets[spec.stratum, spec.threshold] = None

    lines = []
    for stratum, rel in subsets:
        weights = slots.weights[slots.among(selection.hits.ideal, stratum, rel)]
        effective_size = 0.0
        if weights.size:  # Kish's formula
            effective_size = weights.sum() ** 2 / (weights @ weights)
        nouns = "relevant item" if weights.size == 1 else "relevant items"
        items = f"{weights.size:,} {nouns}{_which_items(stratum, rel)}"
        lines.append(
            f"weighed by propensities: {items}, with the information of "
            f"{effective_size:,.1f} of equal weight (effective number)"
        )
    return lines
