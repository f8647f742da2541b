"""``audit_times``: find rows of a split that were not known at the time of the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputTypeError
from recmetrics._core.types import BoolArray, FloatArray, IntArray
from recmetrics._printing import counted
from recmetrics.tables._frames import (
    EXACT,
    Frame,
    Table,
    read_frame,
    require_columns,
    require_same_kind,
    times_of,
    value_at,
    with_zone,
)
from recmetrics.tables._ids import as_integers
from recmetrics.tables._numbering import combine, number


class TimeFinding(NamedTuple):
    """The number of users, items or rows that a finding concerns, ``of`` so many.

    ``rows`` is the number of rows behind it, and ``user`` and ``item`` are those of the first one.
    """

    n: int
    of: int
    rows: int
    user: Any
    item: Any

    @property
    def share(self) -> float:
        """``n / of``."""
        return self.n / self.of


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
    """The result of ``audit_times``; it prints as a report.

    ``n_train`` and ``n_truth`` count rows, ``n_users`` the users of the truth. ``findings`` has a
    ``TimeFinding`` for each check that found something. ``information`` has what is no finding: if
    each user has one test row, training rows after the earliest of these are to be expected.
    """

    n_train: int
    n_truth: int
    n_users: int
    findings: Mapping[str, TimeFinding]
    information: Mapping[str, TimeFinding]

    def __str__(self) -> str:
        train, truth = counted(self.n_train, "training row"), counted(self.n_truth, "test row")
        head = f"{train}, {truth} of {counted(self.n_users, 'user')}"
        lines = [head if self.findings else f"{head}: nothing odd"]
        for name, found in [*self.findings.items(), *self.information.items()]:
            rows = f", {counted(found.rows, 'row')}" if found.rows != found.n else ""
            lines.append(
                f"  {_MEANINGS[name]}: {found.n:,} of {found.of:,} ({found.share:.1%}){rows}, "
                f"first (user {found.user!r}, item {found.item!r})"
            )
        if self.information:
            lines.append("    each user has one test row, so this is no finding")
        return "\n".join(lines)


def audit_times(
    train: Table, truth: Table, *, user: str = "user", item: str = "item", time: str = "time"
) -> TimeAudit:
    """Look for training rows that were not known at the time of the test, and the like.

    >>> import pandas as pd
    >>> from recmetrics.tables import audit_times
    >>> train = pd.DataFrame({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [10, 30, 15]})
    >>> truth = pd.DataFrame({"user": ["a", "b"], "item": [2, 2], "time": [20, 40]})
    >>> found = audit_times(train, truth)
    >>> found.findings["after_own_test"]  # print(found) writes a report
    TimeFinding(n=1, of=2, rows=1, user='a', item=2)

    Parameters
    ----------
    train, truth
        The training set and the test set: pandas or polars DataFrames or pyarrow Tables of one
        library, with a row for each interaction.
    user, item, time
        The names of these columns, in both tables. Ids are those of ``evaluate_table``; times are
        numbers, such as seconds, or dates, with a time zone in both tables or in none.

    Returns
    -------
    TimeAudit
        A finding for each check of the split.

    Raises
    ------
    InputError, InputTypeError, ArgumentError
        If a table cannot be read, lacks a column, or has a row without an id or a time.
    """
    frames = [read_frame(train, "train"), read_frame(truth, "truth")]
    both = list(zip(frames, ("train", "truth"), strict=True))
    for frame, what in both:
        require_columns(frame, what, [user, item, time])
    require_same_kind(frames[0], frames[1], "truth", "train")
    users, items = (
        number(as_integers([(*table, name) for table in both]))[0] for name in (user, item)
    )
    columns = [times_of(*table, time) for table in both]
    kinds = [frame.schema[time] for frame in frames]
    if (columns[0].dtype.kind == "M") != (columns[1].dtype.kind == "M"):
        msg = (
            f"column {time!r}: train holds {kinds[0]}, truth holds {kinds[1]}, expected numbers or "
            "dates in both"
        )
        raise InputTypeError(msg)
    _refuse_one_zone(frames, time)
    times = _in_order(columns)
    found = _found(frames, users, items, times, [user, item])
    n_train, n_truth = map(len, frames)
    n_users = len(np.unique(users[n_train:]))
    expected = {"after_first_test"} if n_truth == n_users else set()
    findings = {name: each for name, each in found.items() if each.n}
    information = {name: findings.pop(name) for name in expected & findings.keys()}
    return TimeAudit(n_train, n_truth, n_users, findings, information)


def _refuse_one_zone(frames: list[Frame], time: str) -> None:
    """Refuse dates with a time zone in one table and without one in the other."""
    zones = [getattr(frame.schema[time], "time_zone", None) for frame in frames]
    for what, frame, own, other in zip(("train", "truth"), frames, zones, zones[::-1], strict=True):
        if own is None and other is not None:
            has = "truth" if what == "train" else "train"
            advice = with_zone(what, frame.get_column(time), other)
            msg = (
                f"column {time!r}: {has} has the time zone {other} and {what} has none, expected a "
                f"time zone in both or in none; if {what} has the times of {other}, type {advice}"
            )
            raise InputTypeError(msg)


def _in_order(columns: list[npt.NDArray[Any]]) -> FloatArray:
    """Numbers in the order of the times of both tables; equal times have equal numbers."""
    if columns[0].dtype.kind == "M":
        return _order_of_dates(columns)
    if all(column.dtype == np.float64 for column in columns):
        return np.concatenate(columns)
    if all(column.dtype == np.int64 for column in columns):
        values = np.concatenate(columns)
    else:  # Python compares numbers of different types exactly; NumPy would make them float64
        values = np.array([*columns[0].tolist(), *columns[1].tolist()], object)
    return np.unique(values, return_inverse=True)[1].astype(np.float64)


def _order_of_dates(columns: list[npt.NDArray[Any]]) -> FloatArray:
    whole = np.concatenate([dates.astype("datetime64[us]").astype(np.int64) for dates in columns])
    rest = np.concatenate(
        [(dates - dates.astype("datetime64[us]")).astype("timedelta64[ns]") for dates in columns]
    ).astype(np.int64)
    if not rest.any() and np.abs(whole).max(initial=0) < EXACT:
        return whole.astype(np.float64)
    # Nanoseconds of all years exceed int64, so microseconds are replaced by their ranks.
    ranks = np.unique(whole, return_inverse=True)[1]
    return (1000 * ranks + rest).astype(np.float64)


def _found(
    frames: list[Frame], users: IntArray, items: IntArray, times: FloatArray, names: list[str]
) -> dict[str, TimeFinding]:
    train, truth = frames
    end = [len(train)]
    (of_train, of_truth), (trained, tested) = np.split(users, end), np.split(items, end)
    before, after = np.split(times, end)
    own_test = _earliest(of_truth, after, users)[of_train]
    is_new = (_earliest(tested, after, items) < _earliest(trained, before, items))[tested]
    pair_of_train, pair_of_truth = np.split(combine([users, items]), end)
    each_train, each_truth = np.arange(len(train)), np.arange(len(truth))

    def finding(rows: BoolArray, counted: IntArray, every: IntArray, frame: Frame) -> TimeFinding:
        row = int(rows.argmax()) if rows.any() else None
        first = [None if row is None else value_at(frame, name, row) for name in names]
        n, of = (len(np.unique(codes)) for codes in (counted[rows], every))
        return TimeFinding(n, of, int(np.count_nonzero(rows)), *first)

    late, again = before > after.min(initial=np.inf), np.isin(pair_of_truth, pair_of_train)
    return {
        "after_own_test": finding(before > own_test, of_train, of_truth, train),
        "at_own_test": finding(before == own_test, of_train, of_truth, train),
        "after_first_test": finding(late, each_train, each_train, train),
        "new_items": finding(is_new, tested, tested, truth),
        "in_both": finding(again, each_truth, each_truth, truth),
        "without_train": finding(~np.isin(of_truth, of_train), of_truth, of_truth, truth),
    }


def _earliest(codes: IntArray, times: FloatArray, every: IntArray) -> FloatArray:
    earliest = np.full(int(every.max(initial=-1)) + 1, np.inf)
    np.minimum.at(earliest, codes, times)
    return earliest
