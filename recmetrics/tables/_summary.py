"""The summary of a result: counts and means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from recmetrics._inputs import InvalidItems
from recmetrics._types import UserValues
from recmetrics.tables._problem import Problem

Missing: TypeAlias = Literal["empty lists", "undefined", "left out"]
NO_INVALID = InvalidItems()
_MISSING: dict[Missing, str] = {
    "empty lists": "they count as empty lists; include_missing=False leaves them out",
    "undefined": "their values are undefined",
    "left out": "they are left out; include_missing=True gives them rows",
}


@dataclass(frozen=True)
class TableSummary:
    """Counts and means of one result; ``str`` gives them as lines of text.

    Parameters
    ----------
    n_lists
        Rows of the result.
    n_without_truth
        Lists whose user has no truth: most metrics are undefined there.
    n_missing
        Lists that are not in the recommendations, of users who are in the truth; counted once for
        each model where the recommendations are of several.
    first_missing
        The keys of the first of them, "" where there is none.
    missing
        Their place in the result: "empty lists" whose value is 0 where a metric has one, rows of
        "undefined" values, or "left out".
    order
        The order of the lists: "ordered by score, descending".
    invalid
        The repeated and the unknown items that were wasted or dropped.
    means
        For each metric the mean over the lists where it is defined, NaN if there are none.
    n_defined
        For each metric the number of these lists.
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

    def __str__(self) -> str:
        lines = [f"{self.n_lists:,} lists, {self.n_without_truth:,} without truth; {self.order}"]
        if self.n_missing:
            lines.append(
                f"{self.n_missing:,} users of the truth without recommendations, the first "
                f"{self.first_missing}: {_MISSING[self.missing]}"
            )
        if any(self.invalid):
            lines.append(f"wasted or dropped: {self.invalid}")
        width = max(map(len, self.means), default=0)
        for name, mean in self.means.items():
            shown = "-" if np.isnan(mean) else f"{mean:.4f}"
            lines.append(f"{name:<{width}}  mean {shown} of {self.n_defined[name]:,}")
        return "\n".join(lines)


def summarise(
    problem: Problem,
    values: Mapping[str, UserValues],
    missing: tuple[int, str],
    told: Missing,
    invalid: InvalidItems = NO_INVALID,
) -> TableSummary:
    """Summarise the values of ``problem``; ``missing`` is from before lists were added."""
    defined = {name: found[~np.isnan(found)] for name, found in values.items()}
    return TableSummary(
        n_lists=problem.n_lists,
        n_without_truth=int((problem.truth_sizes == 0).sum()),
        n_missing=missing[0],
        first_missing=missing[1],
        missing=told,
        order=problem.columns.order,
        invalid=invalid,
        means={
            name: float(found.mean()) if found.size else np.nan for name, found in defined.items()
        },
        n_defined={name: found.size for name, found in defined.items()},
    )
