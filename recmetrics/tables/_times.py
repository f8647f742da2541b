"""``audit_times``: find rows of a split that were not known at the time of the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from recmetrics._errors import InputTypeError
from recmetrics._types import BoolArray, FloatArray, IntArray
from recmetrics.tables._frames import (
    Frame,
    Table,
    read_frame,
    require_columns,
    require_same_kind,
    times_of,
    value_at,
)
from recmetrics.tables._ids import as_integers
from recmetrics.tables._numbering import combine, number

Array = TypeVar("Array", IntArray, FloatArray)


class TimeFinding(NamedTuple):
    """The number of users, items or rows that a finding concerns, ``of`` so many.

    ``rows`` is the number of rows behind it, and ``user`` and ``item`` are those of the first one.
    """

    n: int = 0
    of: int = 0
    rows: int = 0
    user: Any = None
    item: Any = None

    @property
    def share(self) -> float:
        """``n / of``."""
        return self.n / max(1, self.of)


_NONE = TimeFinding()
_MEANINGS = {
    "after_own_test": "users with training rows after their earliest test row",
    "at_own_test": "users with training rows at the time of their earliest test row",
    "after_first_test": "training rows after the earliest test row of all users",
    "new_items": "test items whose earliest row is in the test",
    "in_both": "test rows whose user and item are also a training row",
    "without_train": "users without a training row",
}


@dataclass(frozen=True)
class TimeAudit:
    """The result of ``audit_times``: one ``TimeFinding`` for each check; it prints as a report.

    ``n_train`` and ``n_truth`` count rows, ``n_users`` the users of the truth. ``one_each`` is True
    if each of these has one test row. Then ``after_first_test`` is for information and no finding:
    a split that holds out the last item of each user always has it.
    """

    n_train: int
    n_truth: int
    n_users: int
    one_each: bool
    after_own_test: TimeFinding = _NONE
    at_own_test: TimeFinding = _NONE
    after_first_test: TimeFinding = _NONE
    new_items: TimeFinding = _NONE
    in_both: TimeFinding = _NONE
    without_train: TimeFinding = _NONE

    @property
    def findings(self) -> dict[str, TimeFinding]:
        """All findings, keyed by name."""
        names = [name for name in _MEANINGS if name != "after_first_test" or not self.one_each]
        return {name: found for name in names if (found := getattr(self, name)).n}

    def __str__(self) -> str:
        head = (
            f"{self.n_train:,} training rows, {self.n_truth:,} test rows of {self.n_users:,} users"
        )
        lines = [_line(name, found) for name, found in self.findings.items()]
        head += "" if lines else ": nothing odd"
        if self.one_each and self.after_first_test.n:
            lines.append(_line("after_first_test", self.after_first_test))
            lines.append("    each user has one test row, so this is no finding")
        return "\n".join([head, *lines])


def _line(name: str, found: TimeFinding) -> str:
    rows = f", {found.rows:,} rows" if found.rows != found.n else ""
    return (
        f"  {_MEANINGS[name]}: {found.n:,} of {found.of:,} ({found.share:.1%}){rows}, "
        f"first (user {found.user!r}, item {found.item!r})"
    )


def audit_times(
    train: Table, truth: Table, *, user: str = "user", item: str = "item", time: str = "time"
) -> TimeAudit:
    """Look for training rows that were not known at the time of the test, and the like.

    >>> import pandas as pd
    >>> from recmetrics.tables import audit_times
    >>> train = pd.DataFrame({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [10, 30, 15]})
    >>> truth = pd.DataFrame({"user": ["a", "b"], "item": [2, 2], "time": [20, 40]})
    >>> found = audit_times(train, truth)
    >>> found.after_own_test.user, found.after_own_test.share
    ('a', 0.5)
    >>> list(found.findings)  # print(found) writes a report
    ['after_own_test', 'new_items', 'in_both']

    Parameters
    ----------
    train, truth
        The training set and the test set: pandas or polars DataFrames or pyarrow Tables of one
        library, with a row for each interaction.
    user, item, time
        The names of these columns, in both tables. Ids are those of ``evaluate_table``; times are
        numbers, such as seconds, or dates.

    Returns
    -------
    TimeAudit
        The findings, one for each check.

    Raises
    ------
    InputError, InputTypeError, ArgumentError
        If a table cannot be read, lacks a column, or has a row without an id or a time.
    """
    both = (read_frame(train, "train"), "train"), (read_frame(truth, "truth"), "truth")
    for frame, what in both:
        require_columns(frame, what, [user, item, time])
    require_same_kind(both[0][0], both[1][0], "truth", "train")
    users, items = (
        number(as_integers([(*table, name) for table in both]))[0] for name in (user, item)
    )
    times = np.concatenate([times_of(*table, time) for table in both])
    _require_one_clock(*both, time)
    return _found(both[0][0], both[1][0], users, items, times, (user, item))


def _require_one_clock(train: tuple[Frame, str], truth: tuple[Frame, str], time: str) -> None:
    """Refuse numbers in one table and dates in the other."""
    kinds = [frame.schema[time].is_numeric() for frame, _ in (train, truth)]
    if kinds[0] != kinds[1]:
        held = [f"{what} holds {frame.schema[time]}" for frame, what in (train, truth)]
        msg = f"column {time!r}: {held[0]}, {held[1]}, expected numbers or dates in both"
        raise InputTypeError(msg)


def _found(
    train: Frame,
    truth: Frame,
    users: IntArray,
    items: IntArray,
    times: FloatArray,
    columns: tuple[str, str],
) -> TimeAudit:
    """Compare users, items and times, those of train first."""
    of_train, of_truth = _split(train, users)
    trained, tested = _split(train, items)
    pair_of_train, pair_of_truth = _split(train, combine([users, items]))
    before, after = _split(train, times)
    own_test = _earliest(of_truth, after, users)[of_train]
    first_test, first_train = _earliest(tested, after, items), _earliest(trained, before, items)
    n_users, n_items = len(np.unique(of_truth)), len(np.unique(tested))

    def finding(rows: BoolArray, counted: IntArray | None, of: int, frame: Frame) -> TimeFinding:
        n_rows = int(np.count_nonzero(rows))
        if not n_rows:
            return _NONE
        first = [value_at(frame, name, int(rows.argmax())) for name in columns]
        n = n_rows if counted is None else len(np.unique(counted[rows]))
        return TimeFinding(n, of, n_rows, *first)

    return TimeAudit(
        n_train=len(train),
        n_truth=len(truth),
        n_users=n_users,
        one_each=len(truth) == n_users,
        after_own_test=finding(before > own_test, of_train, n_users, train),
        at_own_test=finding(before == own_test, of_train, n_users, train),
        after_first_test=finding(before > after.min(initial=np.inf), None, len(train), train),
        new_items=finding((first_test < first_train)[tested], tested, n_items, truth),
        in_both=finding(np.isin(pair_of_truth, pair_of_train), None, len(truth), truth),
        without_train=finding(~np.isin(of_truth, of_train), of_truth, n_users, truth),
    )


def _split(train: Frame, values: Array) -> tuple[Array, Array]:
    """Split the rows of both tables."""
    return values[: len(train)], values[len(train) :]


def _earliest(codes: IntArray, times: FloatArray, every: IntArray) -> FloatArray:
    """The first time of each of all codes, infinite where it has none."""
    earliest = np.full(int(every.max(initial=-1)) + 1, np.inf)
    np.minimum.at(earliest, codes, times)
    return earliest
