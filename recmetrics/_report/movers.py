"""The users whom a model helps and hurts most: ``Movers``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.options import check_count
from recmetrics._printing import Grid, Printed, grids, one_line
from recmetrics._report.records import Compared
from recmetrics._report.result_tables import read_labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """One user: the id, or the place from 0; the values of both models; their difference."""

    metric: str
    kind: str  # "gain" or "loss"
    user: Any
    value: float
    against: float
    difference: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Movers(Printed):
    """The users with the largest gains and losses, as ``Comparison.movers`` finds them.

    Attributes
    ----------
    gains, losses
        ``Mover`` records, the largest first; equal ones in the order of the users.
    model, against
        The two models.
    """

    gains: tuple[Mover, ...]
    losses: tuple[Mover, ...]
    model: str
    against: str

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each user."""
        return [asdict(each) for each in (*self.gains, *self.losses)]

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:  # noqa: ARG002  # no best mean
        records = (*self.gains, *self.losses)
        places = dict.fromkeys((each.metric for each in records), 4)
        columns = [
            grids.named("metric"),
            grids.named("kind"),
            grids.Column("user", lambda each: one_line(each.user), is_number=False),
            grids.number(one_line(self.model), lambda each: each.value, places),
            grids.number(one_line(self.against), lambda each: each.against, places),
            grids.number("difference", lambda each: each.difference, places, "+"),
        ]
        note = f"difference: {one_line(self.model)} - {one_line(self.against)}"
        return [grids.table(columns, records)], [note]


def movers_of(
    comparison: Compared, metric: str, n: int, pair: tuple[str, str], users: Sequence[Any] | None
) -> Movers:
    """Find the users with the largest gains and losses, as ``Comparison.movers`` documents them."""
    new, old = pair
    n, samples = check_count("n", n, 1), comparison.samples
    if metric in samples.system:
        msg = f"{metric} is one value of all lists, so no user moves; give a metric of users"
        raise ArgumentError(msg)
    news, olds = samples.values[new][metric], samples.values[old][metric]
    ids = samples.users if users is None else read_labels("users", "id", users, news.size)
    own = samples.of(None, metric, new, old)

    def first(kind: str, sign: int) -> tuple[Mover, ...]:
        order = np.argsort(-sign * own.values, kind="stable")
        places = order[sign * own.values[order] > 0][:n]
        return tuple(
            Mover(
                metric=metric,
                kind=kind,
                user=row if ids is None else ids[row],
                value=float(news[row]),
                against=float(olds[row]),
                difference=float(own.values[place]),
            )
            for row, place in zip(own.users[places].tolist(), places, strict=True)
        )

    better = -1 if metric in comparison.lower_is_better else 1
    gains, losses = first("gain", better), first("loss", -better)
    return Movers(gains=gains, losses=losses, model=new, against=old)
