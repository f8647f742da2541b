"""The summary of a result: counts and means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from recmetrics._core.inputs import InvalidItems
from recmetrics._core.types import UserValues
from recmetrics._printing import counted
from recmetrics.tables._matching import ListsAndTruth
from recmetrics.tables._values import StringMetric, TableMetric

Missing: TypeAlias = Literal["empty lists", "undefined", "left out"]
_MISSING: dict[Missing, str] = {
    "empty lists": "they count as empty lists; include_missing=False leaves them out",
    "undefined": "their values are undefined",
    "left out": "they are left out; include_missing=True gives them rows",
}


@dataclass(frozen=True)
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
        The mean of each metric over the lists for which it is defined, NaN if there are none.
    n_defined
        The number of these lists for each metric.
    n_short
        The number of lists with fewer items than the largest cutoff, without the missing ones. Many
        of them may be a sign of a table that is cut off.
    largest_cutoff
        The largest cutoff k of the metrics, 0 if no metric has one.
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

    def __str__(self) -> str:
        lists = counted(self.n_lists, "list")
        lines = [f"{lists}, {self.n_without_truth:,} without truth; {self.order}"]
        if self.n_missing:
            users = counted(self.n_missing, "user")
            lines.append(
                f"{users} of the truth without recommendations, the first "
                f"{self.first_missing}; {_MISSING[self.missing]}"
            )
        if any(self.invalid):
            lines.append(f"wasted or dropped: {self.invalid}")
        if self.n_short:
            lines.append(self.short)
        width = max(map(len, self.means), default=0)
        for name, mean in self.means.items():
            shown = "-" if np.isnan(mean) else f"{mean:.4f}"
            lines.append(f"{name:<{width}}  mean {shown} of {self.n_defined[name]:,}")
        return "\n".join(lines)

    @property
    def short(self) -> str:
        """The line on lists that are shorter than the largest cutoff."""
        noun = "list has" if self.n_short == 1 else "lists have"
        return f"{self.n_short:,} {noun} fewer than {self.largest_cutoff} items, the largest cutoff"


def summarise(
    both: ListsAndTruth,
    values: Mapping[str, UserValues],
    missing: tuple[int, str],
    told: Missing,
    asked: Iterable[TableMetric],
    invalid: InvalidItems | None = None,
) -> TableSummary:
    """Summarise the values of lists; ``missing`` is from before lists were added."""
    largest = max((one.spec.k or 0 for one in asked if isinstance(one, StringMetric)), default=0)
    sizes = both.lengths
    defined = {name: found[~np.isnan(found)] for name, found in values.items()}
    return TableSummary(
        n_lists=len(both.truth_of),
        n_without_truth=int((both.truth_sizes == 0).sum()),
        n_missing=missing[0],
        first_missing=missing[1],
        missing=told,
        order=both.columns.order,
        invalid=invalid or InvalidItems(),
        means={
            name: float(found.mean()) if found.size else np.nan for name, found in defined.items()
        },
        n_defined={name: found.size for name, found in defined.items()},
        n_short=int(((sizes > 0) & (sizes < largest)).sum()),
        largest_cutoff=largest,
    )
