"""movers: the users whom a model helps and hurts most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from recmetrics._errors import ArgumentError, ShapeError
from recmetrics.comparison._grids import Column, Grid, Printed, named, number, one_line, table
from recmetrics.comparison._reading import check_count
from recmetrics.comparison._records import Compared
from recmetrics.comparison._statistics import Floats


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
            named("metric"),
            named("kind"),
            Column("user", lambda each: one_line(each.user), is_number=False),
            number(one_line(self.model), lambda each: each.value, places),
            number(one_line(self.against), lambda each: each.against, places),
            number("difference", lambda each: each.difference, places, "+"),
        ]
        note = f"difference: {one_line(self.model)} - {one_line(self.against)}"
        return [table(columns, records)], [note]


def find_movers(
    found: Compared, metric: str, n: int, pair: tuple[str, str], users: Sequence[Any] | None
) -> Movers:
    n = check_count("n", n, 1)
    samples = found.samples
    if metric in samples.system:
        msg = f"{metric} is one value of all lists, so no user moves; give a metric of users"
        raise ArgumentError(msg)
    ids = samples.users if users is None else users
    n_users = samples.values[pair[0]][metric].size
    if ids is not None and len(ids) != n_users:
        msg = f"users must hold the id of each of {n_users:,} users, got {len(ids):,}"
        raise ShapeError(msg)
    own = samples.of(None, metric, *pair)
    model, against = pair
    gain = -own.values if metric in found.lower_is_better else own.values

    def first(kind: str, size: Floats) -> tuple[Mover, ...]:
        order = np.argsort(-size, kind="stable")
        places = order[size[order] > 0][:n]
        return tuple(
            Mover(
                metric=metric,
                kind=kind,
                user=row if ids is None else ids[row],
                value=float(samples.values[model][metric][row]),
                against=float(samples.values[against][metric][row]),
                difference=float(own.values[place]),
            )
            for row, place in zip(own.users[places].tolist(), places, strict=True)
        )

    gains, losses = first("gain", gain), first("loss", -gain)
    return Movers(gains=gains, losses=losses, model=model, against=against)
