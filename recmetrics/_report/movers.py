"""The users whom a model helps and hurts most: ``Movers``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.options import check_count
from recmetrics._printing import Column, Grid, Printed, grids, named, number, one_line, table
from recmetrics._report.groups import read_labels
from recmetrics._report.records import Compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """One user: the id, or the place from 0; the values of both models; their difference."""

    metric: str
    kind: str  # "gain" or "loss"
    user: Any
    value: float
    against: float
    difference: float


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class Movers(Printed):
    """The users with the largest gains and losses, as ``Comparison.movers`` finds them.

    Attributes
    ----------
    gains, losses
        ``Mover`` records, the largest first; equal ones in the order of the users.
    model, against, noun
        The two models, and the word for a user.
    """

    gains: tuple[Mover, ...]
    losses: tuple[Mover, ...]
    model: str
    against: str
    noun: str = "user"

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each user."""
        return [asdict(mover) for mover in self.gains + self.losses]

    def _page(self) -> tuple[list[Grid], list[str]]:
        movers = self.gains + self.losses
        places = grids.decimals_of((mover.metric, mover.difference) for mover in movers)
        places = grids.decimals_apart(
            ((mover.metric, mover.difference, 0.0) for mover in movers), places
        )
        columns = [
            named("metric"),
            named("kind"),
            Column(self.noun, lambda mover: one_line(mover.user), is_number=False),
            number(one_line(self.model), attrgetter("value"), places),
            number(one_line(self.against), attrgetter("against"), places),
            number("difference", attrgetter("difference"), places, "+"),
        ]
        note = f"difference: {one_line(self.model)} - {one_line(self.against)}"
        if not movers:
            return [], [f"{note}; 0 for each {self.noun} with a value of both"]
        return [table(columns, movers)], [note]


def movers_of(
    comparison: Compared, metric: str, n: int, pair: tuple[str, str], users: Any
) -> Movers:
    """Find the users with the largest gains and losses, as ``Comparison.movers`` documents them."""
    model, against = pair
    n = check_count("n", n, 1)
    samples = comparison.samples
    if metric in samples.system:
        msg = f"{metric} is one value of all lists, so no user moves; give a metric of users"
        raise ArgumentError(msg)
    samples.require_values("movers")

    new = samples.values[model][metric]
    old = samples.values[against][metric]
    ids: Sequence[Any] = samples.users or range(new.size)
    if users is not None:
        ids = read_labels("users", "id", users, new.size)
    # Place i of the differences is of user ``rows[i]``: users without a value are left out.
    differences, rows, *_ = samples.of(None, metric, model, against)

    def largest_movers(kind: str, sign: int) -> tuple[Mover, ...]:
        """The movers of one kind, whose differences have this sign, the largest first."""
        sizes = sign * differences
        places = np.flatnonzero(sizes > 0)
        if places.size > n:  # to sort all users takes five times as long
            least = np.partition(sizes[places], -n)[-n]
            places = places[sizes[places] >= least]
        places = places[np.argsort(-sizes[places], kind="stable")][:n]
        return tuple(
            Mover(
                metric=metric,
                kind=kind,
                user=ids[row],
                value=float(new[row]),
                against=float(old[row]),
                difference=float(differences[place]),
            )
            for row, place in zip(rows[places].tolist(), places, strict=True)
        )

    sign = -1 if metric in comparison.lower_is_better else 1
    gains = largest_movers("gain", sign)
    losses = largest_movers("loss", -sign)
    return Movers(gains=gains, losses=losses, model=model, against=against, noun=comparison.noun)
