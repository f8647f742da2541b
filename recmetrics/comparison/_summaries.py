"""Summary: the numbers of one result, and their output as text and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from recmetrics.comparison._frame_of import frame_of
from recmetrics.comparison._grids import (
    Column,
    Grid,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    decimals_of,
    ditto,
    in_latex,
    intervals_by,
    one_line,
    percent,
    shown,
    shown_count,
    shown_effective,
    shown_interval,
    weighted_by,
)
from recmetrics.comparison._records import without_unset


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over the users of a group, or over all users (``group`` is None).

    ``model`` is None unless a table names models.
    ``low`` and ``high`` are the bounds of the interval of the mean. ``std`` is the standard
    deviation of the users' values (with divisor n - 1); ``q10``, ``median`` and ``q90`` are their
    quantiles. ``n_users`` is the number of users with a value. ``n_undefined`` is the number of
    users without one, who are left out; ``why`` gives the reason, such as "no relevant item", or ""
    if there are none. ``n_effective`` is (sum w)^2 / sum w^2 of the weights, None without weights.

    An undefined number is NaN, such as the interval of fewer than two values, or of infinite
    values. A metric of all lists has only a value, ``mean``; its ``n_users`` and ``n_undefined``
    are None.
    """

    metric: str
    group: Any
    mean: float
    low: float
    high: float
    std: float
    q10: float
    median: float
    q90: float
    n_users: int | None
    n_undefined: int | None
    why: str = ""
    n_effective: float | None = None
    model: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name; ``n_effective`` only with weights, ``model`` with models."""
        return without_unset(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Summary:
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
    models
        The names of the models; empty unless a table names models.
    groups
        The labels of the groups; empty without ``by=``.
    level, n_resamples
        The confidence of the intervals, and the number of bootstrap resamples.
    n_weightless
        The number of users of weight 0, who are left out; None without weights.
    """

    records: tuple[MetricSummary, ...]
    groups: tuple[Any, ...]
    models: tuple[str, ...]
    level: float
    n_resamples: int
    n_weightless: int | None = None

    @property
    def means(self) -> dict[str, float]:
        """The mean of each metric over all users, for a logger; "model/metric" with models."""
        return {
            each.metric if each.model is None else f"{each.model}/{each.metric}": each.mean
            for each in self.records
            if each.group is None
        }

    def __iter__(self) -> Iterator[MetricSummary]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __str__(self) -> str:
        return as_text(self._grids(), self._legend())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self._grids(), self._legend())

    def to_markdown(self) -> str:
        """Write the printed tables and their legend in Markdown."""
        return as_markdown(self._grids(), self._legend())

    def to_latex(self) -> str:
        r"""Write the printed tables and their legend in LaTeX; needs ``\usepackage{booktabs}``."""
        return as_latex(map(in_latex, self._grids()), self._legend())

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each record."""
        return [each.as_dict() for each in self.records]

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

    def _grids(self) -> list[Grid]:
        overall = [each for each in self.records if each.group is None]
        of_groups = [each for each in self.records if each.group is not None]
        return [self._grid(records) for records in (overall, of_groups) if records]

    def _grid(self, records: Sequence[MetricSummary]) -> Grid:
        names = [each for each in ("model", "group") if getattr(records[0], each) is not None]
        left_out = any(each.n_undefined for each in records)
        weighted = self.n_weightless is not None
        columns = [
            *(Column(each, is_number=False) for each in names),
            Column("metric", is_number=False),
            Column("mean"),
            Column(f"{percent(self.level)} interval"),
            *(Column(heading) for heading in ("q10", "median", "q90", "users")),
            *([Column("effective")] if weighted else []),
            *([Column("left out")] if left_out else []),
        ]
        rows = []
        for each in records:
            same = (other.mean for other in self.records if other.metric == each.metric)
            places = decimals_of(same)
            rows.append(
                [
                    *(one_line(getattr(each, name)) for name in names),
                    one_line(each.metric),
                    shown(each.mean, places),
                    shown_interval(each.low, each.high, places),
                    *(shown(value, places) for value in (each.q10, each.median, each.q90)),
                    shown_count(each.n_users),
                    *([shown_effective(each.n_effective)] if weighted else []),
                    *([shown_count(each.n_undefined)] if left_out else []),
                ]
            )
        return Grid(columns, ditto(rows, [[getattr(r, name) for name in names] for r in records]))

    def _legend(self) -> list[str]:
        """The notes below the tables."""
        return [
            intervals_by(self.level, self.n_resamples),
            "q10, median, q90: quantiles of the users' values",
            *weighted_by(self.n_weightless),
            *self._left_out(),
        ]

    def _left_out(self) -> Iterator[str]:
        """Say how many of all users are left out of which metrics, and why."""
        overall = [each for each in self.records if each.group is None]
        of_users = [each for each in overall if each.n_users is not None]
        reasons: dict[tuple[Any, ...], list[str]] = {}
        for each in of_users:
            if each.n_undefined:
                key = each.n_undefined, each.n_users, each.why
                of_model = "" if each.model is None else f" of {each.model}"
                reasons.setdefault(key, []).append(one_line(each.metric + of_model))
        for (n_undefined, n_users, why), metrics in reasons.items():
            of = "" if len(metrics) == len(of_users) else f" of {', '.join(metrics)}"
            have = "has" if n_undefined == 1 else "have"
            yield f"left out{of}: {n_undefined:,} of {n_undefined + n_users:,} users {have} {why}"
        for each in overall:
            if each.n_users is None and each.why:
                yield f"{one_line(each.metric)} has {each.why}"
