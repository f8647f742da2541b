"""Summary: the numbers of one result, and their output as text and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from recmetrics._types import Convention
from recmetrics.comparison._frame_of import frame_of
from recmetrics.comparison._grids import (
    Column,
    Grid,
    Printed,
    decimals_of,
    intervals_by,
    named,
    one_line,
    percent,
    shown,
    shown_count,
    shown_interval,
    table,
    weighted_by,
)
from recmetrics.comparison._records import MetricSummary, document


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Summary(Printed):
    """The result of ``recmetrics.summary``; it prints as a table, and is displayed in notebooks.

    >>> import recmetrics
    >>> found = recmetrics.summary({"mrr@10": [0.5, 1.0, 0.2, 0.0], "hit@1": [0, 1, 0, 0]})
    >>> found.means
    {'mrr@10': 0.425, 'hit@1': 0.25}
    >>> [(each.metric, each.median, each.n_users) for each in found]
    [('mrr@10', 0.35, 4), ('hit@1', 0.0, 4)]

    Attributes
    ----------
    records
        ``MetricSummary`` records: first those of all users, whose ``group`` is None, then those of
        each group. Iterating over the summary yields them.
    models, levels, groups
        The names of the models, if a table names them; of the levels; the labels of the groups.
    confidence, n_resamples
        The confidence of the intervals, and the number of bootstrap resamples.
    n_weightless
        The number of users of weight 0, who are left out; None without weights.
    noun, notes
        The word for a user, and the lines below the tables that the caller added.
    """

    records: tuple[MetricSummary, ...]
    groups: tuple[Any, ...]
    models: tuple[str, ...]
    levels: tuple[str, ...]
    confidence: float
    n_resamples: int
    n_weightless: int | None = None
    noun: str = "user"
    notes: tuple[str, ...] = ()

    @property
    def means(self) -> dict[str, float]:
        """The mean of each metric over all users, for a logger; "model/metric" with models."""
        return {
            each.metric if each.model is None else f"{each.model}/{each.metric}": each.mean
            for each in self._overall()
        }

    def __iter__(self) -> Iterator[MetricSummary]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each record."""
        return [each.as_dict() for each in self.records]

    def to_dict(self, convention: Convention | None = None) -> dict[str, Any]:
        """Return everything as a dict for ``json.dumps``.

        ``definitions`` has the full metric strings, None for a metric of another package;
        ``convention`` is the one under which the values were computed. Undefined and infinite
        numbers are None.
        """
        return document(
            dict.fromkeys(each.metric for each in self.records),
            convention,
            confidence=self.confidence,
            n_resamples=self.n_resamples,
            models=self.models,
            levels=self.levels,
            groups=self.groups,
            n_weightless=self.n_weightless,
            means=self.to_records(),
            notes=[*self._left_out(), *self.notes],
        )

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return the records as a data frame, with all digits.

        Parameters
        ----------
        backend
            As in ``Comparison.to_frame``.

        Raises
        ------
        ArgumentError
            As in ``Comparison.to_frame``.
        """
        return frame_of(self.to_records(), backend)

    def _overall(self) -> list[MetricSummary]:
        return [each for each in self.records if each.group is None]

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:  # noqa: ARG002  # it has no best
        of_groups = [each for each in self.records if each.group is not None]
        grids = [self._grid(each) for each in (self._overall(), of_groups) if each]
        return grids, [
            intervals_by(self.confidence, self.n_resamples, f"{self.noun}s"),
            f"q10, median, q90: quantiles of the {self.noun}s' values",
            *weighted_by(self.n_weightless, self.noun),
            *self._left_out(),
            *map(one_line, self.notes),
        ]

    def _grid(self, records: Sequence[MetricSummary]) -> Grid:
        places = {
            metric: decimals_of(each.mean for each in self.records if each.metric == metric)
            for metric in {each.metric for each in records}
        }

        def number(heading: str, value: Any) -> Column:
            return Column(heading, lambda each: shown(value(each), places[each.metric]))

        return table(
            [
                named("model", lambda each: each.model, bool(self.models)),
                named("group", lambda each: each.group, records[0].group is not None),
                Column("metric", lambda each: one_line(each.metric), is_number=False),
                number("mean", lambda each: each.mean),
                *(
                    number(one_line(level), lambda each, level=level: each.levels.get(level))
                    for level in self.levels
                ),
                Column(
                    f"{percent(self.confidence)} interval",
                    lambda each: shown_interval(each.low, each.high, places[each.metric]),
                ),
                number("q10", lambda each: each.q10),
                number("median", lambda each: each.median),
                number("q90", lambda each: each.q90),
                Column(f"{self.noun}s", lambda each: shown_count(each.n_users)),
                Column(
                    "effective",
                    lambda each: shown_count(each.n_effective, 1),
                    self.n_weightless is not None,
                ),
                Column(
                    "left out",
                    lambda each: shown_count(each.n_undefined),
                    any(each.n_undefined for each in records),
                ),
            ],
            records,
        )

    def _left_out(self) -> Iterator[str]:
        """Say how many of all users are left out of which metrics, and why."""
        of_users = [each for each in self._overall() if each.n_users is not None]
        reasons: dict[tuple[Any, ...], list[str]] = {}
        for each in of_users:
            if each.n_undefined:
                key = each.n_undefined, each.n_users, each.why
                of_model = "" if each.model is None else f" of {each.model}"
                reasons.setdefault(key, []).append(one_line(each.metric + of_model))
        for (n_undefined, n_users, why), metrics in reasons.items():
            of = "" if len(metrics) == len(of_users) else f" of {', '.join(metrics)}"
            have = "has" if n_undefined == 1 else "have"
            n_all = f"{n_undefined + n_users:,}"
            yield f"left out{of}: {n_undefined:,} of {n_all} {self.noun}s {have} {why}"
        for each in self._overall():
            if each.n_users is None and each.why:
                yield f"{one_line(each.metric)} has {each.why}"
