"""The numbers of a comparison: its means, its differences, and all together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recmetrics.comparison._statistics import Correction, Test

_OPTIONAL = ("n_effective", "n_runs", "run_std", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a metric of one model, or the value of a metric of all lists.

    ``low`` and ``high`` are the bounds of the interval. They are NaN if fewer than two users have a
    value, and for a metric of all lists, whose numbers of users are None. ``group`` is None for all
    users together. ``best`` marks the best mean of a metric in its group. ``n_effective`` is (sum
    w)^2 / sum w^2 of the users' weights; it is NaN for a metric of all lists and None without
    weights. ``n_runs`` is the number of runs of the model, and ``run_std`` the standard deviation
    of their means (with divisor n - 1), NaN for one run; both are None if every model has one run.
    """

    metric: str
    group: Any
    model: str
    mean: float
    low: float
    high: float
    n_users: int | None
    n_undefined: int | None
    best: bool = False
    n_effective: float | None = None
    n_runs: int | None = None
    run_std: float | None = None

    @property
    def value(self) -> float:
        """The mean: groups are ordered by it."""
        return self.mean

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name; those of weights and runs only if there are any."""
        return without_unset(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of ``model`` from ``against``, user by user.

    ``n_undefined`` counts the users who are left out because their value is undefined in either
    model. ``wins`` counts the users for whom ``model`` is better: higher, or lower if lower is
    better. ``p_values`` and ``corrected`` have one p-value for each test. ``significant`` refers to
    the corrected p-value of the first test.
    """

    metric: str
    group: Any
    model: str
    against: str
    difference: float
    low: float
    high: float
    n_users: int
    n_undefined: int
    effect_size: float
    wins: int
    ties: int
    losses: int
    p_values: dict[str, float]
    corrected: dict[str, float]
    significant: bool = False

    @property
    def value(self) -> float:
        """The difference: groups are ordered by it."""
        return self.difference

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, with a field for each p-value."""
        fields = asdict(self)
        p_values, corrected = fields.pop("p_values"), fields.pop("corrected")
        significant = fields.pop("significant")
        for test, p in p_values.items():
            fields |= {f"p_{test}": p, f"p_{test}_corrected": corrected[test]}
        return fields | {"significant": significant}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Compared:
    """All numbers of a comparison; ``Comparison`` adds their output."""

    models: tuple[str, ...]
    levels: tuple[str, ...]
    metrics: tuple[str, ...]
    groups: tuple[Any, ...]
    means: tuple[Mean, ...]
    differences: tuple[Difference, ...]
    baseline: str | None
    confidence: float
    tests: tuple[Test, ...]
    correction: Correction | None
    lower_is_better: frozenset[str]
    n_resamples: int
    n_weightless: int | None = None  # users of weight 0; None without weights
    paired_runs: bool = False

    @property
    def n_runs(self) -> dict[str, int]:
        """The number of runs of each model that has several."""
        counts = {each.model: each.n_runs or 1 for each in self.means}
        return {model: count for model, count in counts.items() if count > 1}

    def worst_group(
        self, metric: str, model: str, against: str | None = None
    ) -> Mean | Difference | None:
        """Find the group in which a model is worst, or worst compared with another model.

        Parameters
        ----------
        metric, model, against
            The names as in ``means`` or, with ``against``, as in ``differences``.

        Returns
        -------
        Mean, Difference or None
            The record of this group; None without ``by=``, or if no group has a defined value.
        """
        records: Any = self.means if against is None else self.differences
        own = [
            each
            for each in records
            if each.group is not None
            and (each.metric, each.model, getattr(each, "against", None))
            == (metric, model, against)
        ]
        return _worst(own, metric not in self.lower_is_better) if own else None


def without_unset(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out the fields of weights and of runs if there are none."""
    return {
        name: value for name, value in fields.items() if name not in _OPTIONAL or value is not None
    }


def _worst(records: list[Mean] | list[Difference], higher_is_better: bool) -> Any:
    """The record of the worst group: the lowest value, or the highest; None without a value."""
    values: npt.NDArray[np.float64] = np.array([record.value for record in records])
    if np.isnan(values).all():
        return None
    return records[int(np.nanargmin(values) if higher_is_better else np.nanargmax(values))]
