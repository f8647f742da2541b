"""``audit_times``: find rows of a split that were not known at the time of the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import InputTypeError
from recmetrics._core.types import BoolArray, FloatArray, IntArray
from recmetrics._printing import counted, facts_in_html, per_cent
from recmetrics.tables._frames import (
    EXACT,
    Frame,
    Table,
    from_epoch,
    read_frame,
    require_columns,
    require_same_kind,
    times_of,
    value_at,
    with_zone,
)
from recmetrics.tables._ids import number_ids
from recmetrics.tables._numbering import combine


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
    "new_items": "test items that have no training row up to the time of their test row",
    "in_both": "test rows whose user and item are also a training row",
    "without_train": "users without a training row",
    "other_unit": "test rows whose times have another unit than those of the training rows, such "
    "as seconds and milliseconds (seconds read as nanoseconds are dates of January 1970)",
}
_LATER_USERS = (
    "the test has the last rows of its users, and others act later (the model knows what they do, "
    "unless the split is at one time)"
)
_EPOCH_SECONDS = 1e8  # of 1973: smaller numbers may be days or places in a row
_EPOCH_UNITS = ("s", "ms", "us", "ns")
_EPOCH_BOUNDS = (1e11, 1e14, 1e17)  # of the year 5138 in the first three units
_DAYS_AS_NUMBERS = (19_000_101, 21_001_231)  # such as 20200131
_MISREAD_DATES = (np.datetime64("1970-01-01"), np.datetime64("1970-02-01"))
_EARLIEST_DATE = np.datetime64("1980-01-01")  # beside those that are misread


@dataclass(frozen=True, repr=False)
class TimeAudit:
    """The result of ``audit_times``; it prints as a report, in notebooks as a table.

    ``n_train`` and ``n_truth`` count rows, ``n_users`` the users of the truth. ``findings`` has a
    ``TimeFinding`` for each check that found something. ``information`` has what is no finding: if
    the test has the last rows of its users, training rows after the earliest of these are to be
    expected.
    """

    n_train: int
    n_truth: int
    n_users: int
    findings: Mapping[str, TimeFinding]
    information: Mapping[str, TimeFinding]

    def __str__(self) -> str:
        lines = [self._head()]
        lines += [f"  {meaning}: {fact}" for meaning, fact in self._lines()]
        if self.information:
            lines.append(f"    no finding: {_LATER_USERS}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [*self._lines()]
        if self.information:
            lines.append(("no finding", _LATER_USERS))
        return facts_in_html(self._head(), lines)

    def _head(self) -> str:
        train = counted(self.n_train, "training row")
        truth = counted(self.n_truth, "test row")
        head = f"{train}, {truth} of {counted(self.n_users, 'user')}"
        return head if self.findings else f"{head}: nothing odd"

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The meaning of each finding, and what it concerns."""
        for name, finding in [*self.findings.items(), *self.information.items()]:
            n, of, n_rows, user, item = finding
            rows = f", {counted(n_rows, 'row')}" if n_rows != n else ""
            first = f"first (user {user!r}, item {item!r})"
            yield _MEANINGS[name], f"{n:,} of {of:,} ({per_cent(n, of)}){rows}, {first}"


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
    train_frame = read_frame(train, "train")
    truth_frame = read_frame(truth, "truth")
    frames = {"train": train_frame, "truth": truth_frame}
    for label, frame in frames.items():
        require_columns(frame, label, [user, item, time])
    require_same_kind(train_frame, truth_frame, "truth", "train")
    users, _ = number_ids((train_frame, "train", user), (truth_frame, "truth", user))
    items, _ = number_ids((train_frame, "train", item), (truth_frame, "truth", item))
    times_of_tables = [times_of(train_frame, "train", time), times_of(truth_frame, "truth", time)]
    _refuse_numbers_in_one_table(frames, times_of_tables, time)
    _refuse_zone_in_one_table(frames, time)

    times = _order_of_times(times_of_tables)
    checks = _checks(train_frame, truth_frame, users, items, times, [user, item])
    n_train = len(train_frame)
    n_truth = len(truth_frame)
    if _have_two_units(times_of_tables):
        first_ids = [value_at(truth_frame, name, 0) for name in (user, item)]
        checks["other_unit"] = TimeFinding(n_truth, n_truth, n_truth, *first_ids)
    findings = {name: finding for name, finding in checks.items() if finding.n}
    n_users = len(np.unique(users[n_train:]))
    # Users train after the first test where the test has the last row of each, or the last rows of
    # all who act so late.
    information = {}
    if "after_first_test" in findings and "after_own_test" not in findings:
        is_late = times[:n_train] > times[n_train:].min()
        are_tested = np.isin(users[:n_train][is_late], users[n_train:]).all()
        if are_tested or n_truth == n_users:
            information["after_first_test"] = findings.pop("after_first_test")
    return TimeAudit(n_train, n_truth, n_users, findings, information)


def _refuse_numbers_in_one_table(
    frames: Mapping[str, Frame], times_of_tables: list[npt.NDArray[Any]], time: str
) -> None:
    """Refuse dates in one table and numbers in the other."""
    of_train, of_truth = times_of_tables
    if (of_train.dtype.kind == "M") == (of_truth.dtype.kind == "M"):
        return
    msg = (
        f"column {time!r}: train holds {frames['train'].schema[time]}, truth holds "
        f"{frames['truth'].schema[time]}, expected numbers or dates in both"
    )
    label, other, times = "train", "truth", of_train
    if of_train.dtype.kind == "M":
        label, other, times = "truth", "train", of_truth
    numbers = times.astype(np.float64)
    if len(numbers) and numbers.min() > _EPOCH_SECONDS:
        unit = _EPOCH_UNITS[np.searchsorted(_EPOCH_BOUNDS, np.median(numbers))]
        zone = getattr(frames[other].schema[time], "time_zone", None) and "UTC"
        code = from_epoch(label, frames[label].get_column(time), unit, zone)
        msg += f"; if the numbers are times since 1970 in {unit}, type {code}"
    raise InputTypeError(msg, argument=label)


def _refuse_zone_in_one_table(frames: Mapping[str, Frame], time: str) -> None:
    """Refuse dates with a time zone in one table and without one in the other."""
    for label, other in (("train", "truth"), ("truth", "train")):
        column = frames[label].get_column(time)
        zone = getattr(frames[other].schema[time], "time_zone", None)
        if zone is not None and getattr(column.dtype, "time_zone", None) is None:
            msg = (
                f"column {time!r}: {other} has the time zone {zone} and {label} has none, expected "
                f"a time zone in both or in none; if {label} has the times of {zone}, type "
                f"{with_zone(label, column, zone)}"
            )
            raise InputTypeError(msg)


def _have_two_units(times_of_tables: list[npt.NDArray[Any]]) -> bool:
    """Say whether the tables seem to have times since 1970 in two units, such as seconds and ms."""
    if not all(map(len, times_of_tables)):
        return False
    if times_of_tables[0].dtype.kind == "M":
        # NumPy 2.5 compares no nanoseconds with dates beyond the year 2262.
        dates_of_tables = [dates.astype("datetime64[us]") for dates in times_of_tables]
        earlier, later = sorted(dates_of_tables, key=np.max)
        first, end = _MISREAD_DATES
        return bool(first <= earlier.min() and earlier.max() < end and later.min() > _EARLIEST_DATE)
    numbers_of_tables = [times.astype(np.float64) for times in times_of_tables]
    smaller, larger = sorted(float(np.median(numbers)) for numbers in numbers_of_tables)
    if any(map(_are_days, numbers_of_tables)):
        return larger > _EPOCH_SECONDS
    # Times of 1973 and of 2025 differ less than twentyfold.
    return smaller > _EPOCH_SECONDS and larger / smaller > 100


def _are_days(numbers: FloatArray) -> bool:
    """Say whether all numbers are days such as 20200131, not other numbers as large as these."""
    first, last = _DAYS_AS_NUMBERS
    months = numbers // 100 % 100
    days = numbers % 100
    are_dates = (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return bool(first <= numbers.min() and numbers.max() <= last and are_dates.all())


def _order_of_times(times_of_tables: list[npt.NDArray[Any]]) -> FloatArray:
    """Numbers in the order of the times of train, then of truth; equal times have equal numbers."""
    if times_of_tables[0].dtype.kind == "M":
        return _order_of_dates(times_of_tables)
    if all(column.dtype == np.float64 for column in times_of_tables):
        return np.concatenate(times_of_tables)
    if all(column.dtype == np.int64 for column in times_of_tables):
        values = np.concatenate(times_of_tables)
    else:  # Python compares numbers of different types exactly; NumPy would make them float64
        values = np.array([*times_of_tables[0].tolist(), *times_of_tables[1].tolist()], object)
    return np.unique(values, return_inverse=True)[1].astype(np.float64)


def _order_of_dates(dates_of_tables: list[npt.NDArray[Any]]) -> FloatArray:
    """Numbers in the order of the datetime64 of train, then of truth, exact to nanoseconds."""
    microseconds: list[IntArray] = []
    nanoseconds: list[IntArray] = []  # beyond the whole microseconds
    for dates in dates_of_tables:
        whole_microseconds = dates.astype("datetime64[us]")
        microseconds.append(whole_microseconds.astype(np.int64))
        nanoseconds.append((dates - whole_microseconds).astype("timedelta64[ns]").astype(np.int64))
    times = np.concatenate(microseconds)
    remainders = np.concatenate(nanoseconds)
    if not remainders.any() and np.abs(times).max(initial=0) < EXACT:
        return times.astype(np.float64)
    # Nanoseconds of all years exceed int64, so microseconds are replaced by their ranks.
    ranks = np.unique(times, return_inverse=True)[1]
    return (1000 * ranks + remainders).astype(np.float64)


def _checks(
    train: Frame,
    truth: Frame,
    users: IntArray,
    items: IntArray,
    times: FloatArray,
    names: Sequence[str],
) -> dict[str, TimeFinding]:
    """The finding of each check, by its name.

    ``users``, ``items`` and ``times`` are numbers of the rows of train, then of truth; ``names``
    are the columns of users and items.
    """
    boundaries = [len(train)]  # where the rows of truth begin
    train_users, test_users = np.split(users, boundaries)
    train_items, test_items = np.split(items, boundaries)
    train_times, test_times = np.split(times, boundaries)
    train_pairs, test_pairs = np.split(combine([users, items]), boundaries)
    train_rows = np.arange(len(train))
    test_rows = np.arange(len(truth))

    def finding(
        mask: BoolArray, row_codes: IntArray, all_codes: IntArray, frame: Frame
    ) -> TimeFinding:
        """Count the different codes, such as users, of the rows of ``mask``, and those of all.

        ``row_codes`` has one code for each row of ``frame``, the table that has the rows.
        """
        first_ids = [None] * len(names)
        if mask.any():
            first_ids = [value_at(frame, name, int(mask.argmax())) for name in names]
        n = len(np.unique(row_codes[mask]))
        return TimeFinding(n, len(np.unique(all_codes)), int(np.count_nonzero(mask)), *first_ids)

    first_test_of_user = _earliest(test_users, test_times, users)[train_users]
    first_train_of_item = _earliest(train_items, train_times, items)[test_items]
    is_new = first_train_of_item > test_times
    is_late = train_times > test_times.min(initial=np.inf)
    is_repeat = np.isin(test_pairs, train_pairs)
    lacks_train = ~np.isin(test_users, train_users)
    return {
        "after_own_test": finding(train_times > first_test_of_user, train_users, test_users, train),
        "at_own_test": finding(train_times == first_test_of_user, train_users, test_users, train),
        "after_first_test": finding(is_late, train_rows, train_rows, train),
        "new_items": finding(is_new, test_items, test_items, truth),
        "in_both": finding(is_repeat, test_rows, test_rows, truth),
        "without_train": finding(lacks_train, test_users, test_users, truth),
    }


def _earliest(codes: IntArray, times: FloatArray, all_codes: IntArray) -> FloatArray:
    """The earliest time of code c at index c; inf for one of ``all_codes`` without rows."""
    earliest = np.full(int(all_codes.max(initial=-1)) + 1, np.inf)
    np.minimum.at(earliest, codes, times)
    return earliest
