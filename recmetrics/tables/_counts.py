"""The summary of a result: counts and means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from recmetrics._core.inputs import InvalidItems
from recmetrics._core.results import (
    Grades,
    excluded_relevant,
    how_graded,
    mean_of,
    who_is_swallowed,
)
from recmetrics._core.spec import MetricSpec
from recmetrics._core.types import UserValues
from recmetrics._printing import counted, weighted_as_system
from recmetrics.tables._list_order import contradicted_lists
from recmetrics.tables._matching import ListsAndTruth, MissingLists
from recmetrics.tables._values import StringMetric, TableMetric

Missing: TypeAlias = Literal["empty lists", "undefined", "left out"]
_MISSING_TEXTS: dict[Missing, str] = {
    "empty lists": "they are added as empty lists; include_missing=False leaves them out",
    "undefined": "their values are undefined",
    "left out": "they are left out; include_missing=True gives each a row",
}
_COUNTS = (
    "n_lists",
    "n_without_truth",
    "n_missing",
    "n_short",
    "n_shortened",
    "n_contradicted",
    "n_tied",
    "invalid",
    "swallowed",
    "excluded_relevant",
)


@dataclass(frozen=True, repr=False)
class TableSummary:
    """Counts and means of one result; it prints as lines of text.

    Parameters
    ----------
    n_lists
        The number of rows of the result.
    n_without_truth
        The number of lists whose user has no truth; most metrics are undefined for them.
    n_missing
        The number of missing lists: users of the truth without recommendations, counted once for
        each model if the recommendations are of several models.
    first_missing
        The keys of the first missing list, "" if there is none.
    missing
        How the result counts missing lists: as "empty lists", with "undefined" values, or "left
        out".
    order
        The order of the lists, such as "ordered by score, descending".
    invalid
        The number of repeated and of unknown items that were wasted or dropped.
    means
        The mean of each metric over the lists for which it is defined, NaN if there are none. It
        weighs lists as the system of the convention does.
    n_defined
        The number of these lists for each metric.
    n_short
        The number of lists with fewer items than the largest cutoff, without the missing ones. Many
        of them may be a sign of a table that is cut off.
    largest_cutoff
        The largest cutoff k of the metrics, 0 if no metric has one.
    n_contradicted
        The number of lists by rank in which the column "score" has another order.
    first_contradicted
        The keys of the first of them, "" if there is none.
    n_tied
        The number of lists with equal scores, if the system of the convention averages over their
        orders or gives them one rank, which tables do not.
    n_shortened
        Of the lists of ``n_short``, the number of those that had enough items before those of
        ``exclude`` were taken out.
    swallowed
        The number of lists whose relevant items are all excluded, and of lists with relevant items.
    excluded_relevant
        The number of relevant items that are excluded, and of relevant items. Each list counts the
        relevant items of its user.
    grades
        The column that grades the truth and its range, if a metric reads the grades, else "".
    unread_grades
        The note on a column of the truth that may hold grades and is not read; "" without one.
    user_weights
        The weight of each list in the mean of each metric whose system weighs users.
    by
        The keys of lists that the truth lacks, such as the model; means are over all their values.
    of_all_lists
        The metrics of all lists, such as coverage.
    relevance
        The numbers of rows of the truth by their relevance.
    n_users_across
        For each column of ``by`` with several values: the number of users of the truth with lists
        of several of them, 0 where the column divides the users.
    """

    n_lists: int
    n_without_truth: int
    n_missing: int
    first_missing: str
    missing: Missing
    order: str
    invalid: InvalidItems
    means: Mapping[str, float]
    n_defined: Mapping[str, int]
    n_short: int = 0
    largest_cutoff: int = 0
    n_contradicted: int = 0
    first_contradicted: str = ""
    n_tied: int = 0
    grades: str = ""
    n_shortened: int = 0
    unread_grades: str = ""
    swallowed: tuple[int, int] = (0, 0)
    excluded_relevant: tuple[int, int] = (0, 0)
    user_weights: Mapping[str, UserValues] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    of_all_lists: tuple[str, ...] = ()
    relevance: Grades = field(default_factory=Grades)
    n_users_across: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        n_given = self.n_lists
        if self.missing == "empty lists":
            n_given -= self.n_missing
        lists = counted(n_given, "list")
        lines = [f"{lists}, {self.n_without_truth:,} without a row in the truth; {self.order}"]
        if self.n_missing:
            lines.append(f"{self.without_recommendations}; {_MISSING_TEXTS[self.missing]}")
            lines += self.dividing_notes
        if any(self.invalid):
            lines.append(f"wasted or dropped: {self.invalid}")
        if self.n_short:
            lines.append(self.short)
        if self.n_contradicted:
            lines.append(f"{self.contradicted}; score='score' ranks them by score")
        lines += [*self.tied, *self.excluded]
        lines += filter(None, (self.grades, self.unread_grades))
        lines += weighted_as_system(self.user_weights, "lists")
        width = max(map(len, self.means), default=0)
        for name, mean in self.means.items():
            number = "-" if np.isnan(mean) else f"{mean:.4f}"
            text = f"mean {number} over {counted(self.n_defined[name], 'list')}"
            if name in self.of_all_lists and self.by:
                columns = " and ".join(map(repr, self.by))
                text = f"one value for each {columns}, in all its rows; {text}"
            elif name in self.of_all_lists:
                text = f"{number} of all lists"
            lines.append(f"{name:<{width}}  {text}")
        if self.by and not self.dividing_notes:
            columns = ", ".join(map(repr, self.by))
            model: Any = self.by[0] if len(self.by) == 1 else list(self.by)
            lines.append(
                f"these means are over all lists, of every {columns}; for a mean of each, "
                f"type recmetrics.summary(values, model={model!r})"
            )
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def dividing_notes(self) -> list[str]:
        """The words on columns of ``by`` for whose values empty lists are added without need."""
        if self.missing != "empty lists":
            return []
        return [*notes_on_dividing_columns(self.n_users_across)]

    @property
    def without_recommendations(self) -> str:
        """The words on users of the truth without a list, or without a list of each model."""
        missing = f"{counted(self.n_missing, 'user')} of the truth without recommendations"
        if self.by:
            missing = f"missing: {counted(self.n_missing, 'list')} for users of the truth"
        return f"{missing} (the first: {self.first_missing})"

    @property
    def short(self) -> str:
        """The line on lists that are shorter than the largest cutoff."""
        if not self.n_short:
            return f"no list has fewer than {self.largest_cutoff} items, the largest k"
        noun = "list has" if self.n_short == 1 else "lists have"
        text = f"{self.n_short:,} {noun} fewer than {self.largest_cutoff} items, the largest k"
        if self.n_shortened:
            text += f"; {self.n_shortened:,} of them because exclude took items out"
        text += ": their values may be too low"
        return text

    @property
    def tied(self) -> list[str]:
        """The line on lists with equal scores, which the system does not rank one by one."""
        return [averaged_by_system(self.n_tied)] if self.n_tied else []

    @property
    def excluded(self) -> list[str]:
        """The lines on relevant items that are excluded."""
        nouns = "lists" if self.by else "users"
        notes = []
        if self.swallowed[0]:
            notes.append(who_is_swallowed(*self.swallowed, nouns=nouns))
        notes += excluded_relevant(*self.excluded_relevant, n_users=self.swallowed[1])
        return notes

    @property
    def contradicted(self) -> str:
        """The line on lists whose ranks contradict the scores."""
        return (
            f"the ranks contradict the column 'score' in {counted(self.n_contradicted, 'list')}, "
            f"the first {self.first_contradicted}: an item stands before one with a higher score"
        )


def averaged_by_system(n_tied: int) -> str:
    """Say how many lists have equal scores, which the system does not rank one by one."""
    have = "list has" if n_tied == 1 else "lists have"
    return (
        f"{n_tied:,} {have} equal scores, which rank in the order of the rows; the system of the "
        "convention gives them one rank or averages over their orders, as Metrics.compute of a "
        "matrix does"
    )


def notes_on_dividing_columns(n_users_across: Mapping[str, int]) -> Iterator[str]:
    """Say which columns of ``by`` divide the users, who then need no list of each value."""
    for name, n_users in n_users_across.items():
        if not n_users:
            yield (
                f"the means are too low if {name!r} is a group of users, such as a segment or a "
                "fold: each user has an empty list in every other group; give the truth that "
                "column, too, or type include_missing=False (this also leaves out users without "
                "any list)"
            )


def summarise(
    lists: ListsAndTruth,
    values: Mapping[str, UserValues],
    missing: MissingLists,
    treatment: Missing,
    metrics: Iterable[TableMetric],
    invalid: InvalidItems,
    user_weights: Mapping[str, UserValues],
) -> TableSummary:
    """Summarise the values of lists.

    ``missing`` are the missing lists, from before such lists were added; ``treatment`` is how the
    result counts them.
    """
    string_metrics = [metric for metric in metrics if isinstance(metric, StringMetric)]
    specs = [metric.spec for metric in string_metrics]
    of_all_lists = tuple(
        metric.name for metric in string_metrics if not metric.spec.metric.per_user
    )
    largest_cutoff = max((spec.k or 0 for spec in specs), default=0)
    lengths = lists.lengths
    means, n_defined = _means(values.items(), user_weights)
    full_lengths = lengths + lists.n_taken_out
    is_short = (full_lengths > 0) & (lengths < largest_cutoff)
    columns = lists.columns
    contradicted_indices = contradicted_lists(lists.recs, columns, lists.lists.start, lists.order)
    first_contradicted = ""
    if contradicted_indices.size:
        first_contradicted = lists.key_of(int(contradicted_indices[0]))
    relevance = Grades.of(lists.truth_rows.values)
    return TableSummary(
        n_lists=len(lists.truth_of),
        n_without_truth=int((lists.truth_sizes == 0).sum()),
        n_missing=missing.n,
        first_missing=missing.first,
        missing=treatment,
        order=columns.order,
        invalid=invalid,
        means=means,
        n_defined=n_defined,
        n_short=int(np.count_nonzero(is_short)),
        n_shortened=int(np.count_nonzero(is_short & (full_lengths >= largest_cutoff))),
        largest_cutoff=largest_cutoff,
        n_contradicted=len(contradicted_indices),
        first_contradicted=first_contradicted,
        grades=_graded(relevance, specs, columns.relevance),
        user_weights=user_weights,
        by=tuple(columns.model_keys),
        of_all_lists=of_all_lists,
        relevance=relevance,
        n_users_across=missing.n_users_across,
    )


def _graded(relevance: Grades, specs: Iterable[MetricSpec], column: str | None) -> str:
    """The note on the grades of a column of the truth; "" without a note or a column."""
    if column is None:
        return ""
    return "".join(how_graded(relevance, specs, column=column))


def _means(
    values: Iterable[tuple[str, UserValues]], user_weights: Mapping[str, UserValues]
) -> tuple[dict[str, float], dict[str, int]]:
    """Compute the mean of each metric, and count the lists for which it is defined."""
    means = {}
    n_defined = {}
    for name, values_of_lists in values:
        means[name] = mean_of(values_of_lists, user_weights.get(name))
        n_defined[name] = int(np.count_nonzero(~np.isnan(values_of_lists)))
    return means, n_defined


def merged(
    summaries: Sequence[TableSummary],
    values: Iterable[tuple[str, UserValues]],
    specs: Iterable[MetricSpec],
    relevance_column: str | None,
    unread_grades: str,
) -> TableSummary:
    """Merge summaries of some users each; ``values`` and ``unread_grades`` are those of all."""
    fields: dict[str, Any] = {}
    for name in _COUNTS:
        fields[name] = np.sum([getattr(summary, name) for summary in summaries], axis=0).tolist()
    for name in ("first_missing", "first_contradicted"):
        fields[name] = next(filter(None, (getattr(summary, name) for summary in summaries)), "")
    fields["invalid"] = InvalidItems(*fields["invalid"])
    for name in ("swallowed", "excluded_relevant"):
        fields[name] = tuple(fields[name])
    across: Counter[str] = Counter()
    for summary in summaries:
        across.update(summary.n_users_across)
    fields["n_users_across"] = across
    fields["relevance"] = Grades.of_parts(summary.relevance for summary in summaries)
    user_weights = {}
    for name in summaries[0].user_weights:
        user_weights[name] = np.concatenate([summary.user_weights[name] for summary in summaries])
    means, n_defined = _means(values, user_weights)
    return replace(
        summaries[0],
        **fields,
        means=means,
        n_defined=n_defined,
        grades=_graded(fields["relevance"], specs, relevance_column),
        unread_grades=unread_grades,
        user_weights=user_weights,
    )
