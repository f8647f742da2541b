"""The users of results: labels, groups and weights, from arrays or from columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError
from recmetrics._core.inputs import are_permuted, is_missing
from recmetrics._core.results import (
    Ids,
    check_groups,
    read_raw_weights,
    read_weights,
    require_per_user,
    user_at,
)
from recmetrics._report.bounds import Floats

Rows: TypeAlias = npt.NDArray[np.intp]  # indices of users

_PLAIN_TYPES = {str, int, float, bool, bytes, NoneType}  # of most labels


def in_order_of(ids: Ids, frame: Any, argument: str, entries: Any) -> Any:
    """Put the entries of a pandas Series into the order of the users.

    Its index has the ids of the users, or the rows of ``frame``, that of the first result. The
    index that pandas counts where none is given may have neither: the entries are then in order, as
    those of an array. ``ids`` gives the ids of the users, None where they are rows; it is called
    for a Series alone. A list of columns of ``frame`` is refused.
    """
    if frame is not None and isinstance(entries, list | tuple) and 0 < len(entries) < len(frame):
        _refuse_columns(argument, entries, frame.columns)
    index: Any = getattr(entries, "index", None)
    if not hasattr(index, "is_unique") or hasattr(entries, "columns"):
        return entries
    labels = index.tolist()
    users = ids()
    if users is None:
        if are_permuted(labels):
            msg = (
                f"{argument} is a Series whose index has the row numbers 0 to {len(labels) - 1:,} "
                f"in another order, and the results have no ids; if it is in the order of the "
                f"users, type {argument}={argument}.to_numpy(), and if its index has their row "
                f"numbers, {argument}={argument}.sort_index()"
            )
            raise InputError(msg, argument=argument)
        return entries

    has_ids = {*users} <= {*labels}
    order: Sequence[Any] = _rows_in(index, frame, has_ids=has_ids)
    if not order:
        order = users
        if has_ids and _is_counted(index) and labels != users:
            _refuse_counted_index(argument, labels, users)
        if not has_ids and index.name is None and labels == [*range(len(users))]:
            return entries
    if not {*order} <= {*labels} or not index.is_unique:
        _refuse_index(argument, index, users)
    entry_of_label = dict(zip(labels, entries.tolist(), strict=True))
    return [entry_of_label[label] for label in order]


def _refuse_columns(argument: str, entries: Sequence[Any], columns_of_frame: Sequence[str]) -> None:
    """Refuse a list of columns; it has fewer entries than a list of one for each user."""
    if all(isinstance(entry, str) and entry in columns_of_frame for entry in entries):
        advice = "combine several in a new column of each data frame, and give its name"
        if len(entries) == 1:
            advice = f"give {argument}={entries[0]!r}"
        msg = (
            f"{argument} takes the name of one column, not a list of columns, got {entries}; "
            f"{advice}"
        )
        raise InputError(msg, argument=argument)


def _is_counted(index: Any) -> bool:
    """Say whether pandas may have made an index, which nobody gave: an unnamed RangeIndex."""
    return index.name is None and hasattr(index, "step")


def _rows_in(index: Any, frame: Any, *, has_ids: bool) -> list[Any]:
    """The labels that the rows of a frame have in the index of a Series; [] if it has others.

    They are columns of the names of the index, or the index of a frame of pandas. An index that was
    given has the rows of one that was counted only if it cannot have the ids of users.
    """
    if frame is None:
        return []
    labels = index.tolist()
    if {*index.names} <= {*frame.columns}:
        rows = list(frame.select(*index.names).iter_rows())
        if index.nlevels == 1:
            rows = [label for (label,) in rows]
        return rows if {*rows} <= {*labels} else []
    index_of_frame: Any = getattr(frame.to_native(), "index", None)
    if getattr(index_of_frame, "names", None) != index.names:
        return []
    rows = index_of_frame.tolist()
    is_alike = rows == labels and _is_counted(index_of_frame) == _is_counted(index)
    may_be_rows = is_alike or _is_counted(index) or not has_ids
    return rows if may_be_rows and {*rows} == {*labels} else []


def _refuse_counted_index(argument: str, labels: Sequence[Any], users: Sequence[Any]) -> NoReturn:
    """Refuse a Series made without an index, which pandas counts, where users have such ids."""
    msg = (
        f"{argument} is a Series with the default index, 0 to {len(labels) - 1:,}, which may be "
        "the ids of the users, or not; if it is a column of the results, give its name, if its "
        f"index has the ids, type {argument}={argument}.rename_axis('user')"
    )
    if len(labels) == len(users):
        msg += f", and if it is in the order of the users, {argument}={argument}.to_numpy()"
    raise InputError(msg, argument=argument)


def _refuse_index(argument: str, index: Any, users: Sequence[Any]) -> NoReturn:
    """Refuse a Series whose index has not each user once."""
    labels = index.tolist()
    ids_in_index = {*labels}
    lacking = [user for user in users if user not in ids_in_index]
    msg = f"{argument} is a Series whose index has an id several times"
    if lacking:
        msg = (
            f"{argument} is a Series whose index lacks {len(lacking):,} of the {len(users):,} "
            f"users, the first is {lacking[0]!r}"
        )
    msg += "; expected the id of each user once"
    types = {type(labels[0]), type(users[0])} if labels else set()
    if types == {str, int} and len(lacking) == len(users) and not _is_counted(index):
        name = type(users[0]).__name__
        msg += f"; the ids of the results are of type {name}: type {argument}.rename(index={name})"
    elif len(labels) == len(users):
        msg += f"; if it is in the order of the users, type {argument}={argument}.to_numpy()"
    elif _is_counted(index):
        msg += ", or the name of a column of the results"
    raise InputError(msg, argument=argument)


def read_users(
    clause: str,
    labels: Mapping[str, Any],
    n_users: int,
    by: Any,
    weights: Any,
    model: Iterable[str],
    ids: Ids,
    *,
    is_part: bool = False,
) -> tuple[dict[Any, Rows], Floats | None]:
    """Read the users of each group, and the weights of all users; None without weights.

    ``by`` and ``weights`` are arrays, or names of columns in ``labels``, {column: one entry per
    user}. The group None holds all users. Users of weight 0 are in no group. ``clause`` begins the
    message about a column without a table; ``model`` are columns that would need one, too. ``ids``
    gives the ids of the users, for errors. Weights are divided by the largest, but for those of a
    part of the users, which may all be 0.
    """
    columns = [("by", by), ("weights", weights), *(("model", column) for column in model)]
    for argument, column in columns:
        if isinstance(column, str) and column not in labels:
            advice = "expected an array with one entry per user"
            if argument == "model":
                advice = "leave model= out"
            msg = f"{argument} is the name of a column, {column!r}, but {clause} a table; {advice}"
            raise InputError(msg, argument=argument)
        if column is not None and not n_users and not is_part:
            msg = (
                f"{argument} is of users, but no result here has values of users; leave out "
                f"{argument}="
            )
            raise ArgumentError(msg, argument=argument)
    if isinstance(by, str):
        by = labels[by]
    if isinstance(weights, str):
        weights = labels[weights]

    groups: dict[Any, Rows] = {None: np.arange(n_users)}
    if by is not None:
        groups |= _read_groups(by, n_users, ids)
    if weights is None:
        return groups, None
    user_weights = (read_raw_weights if is_part else read_weights)(weights, n_users, ids)
    return {group: rows[user_weights[rows] > 0] for group, rows in groups.items()}, user_weights


def _read_groups(by: Any, n_users: int, ids: Ids) -> dict[Any, Rows]:
    """Read the users of each label of ``by``, in the order in which the labels first appear."""
    labels = read_labels("by", "group", by, n_users)
    numbers: dict[Any, int] = {}  # of each label
    for label in dict.fromkeys(labels):
        if is_missing(label):
            row = next(row for row, entry in enumerate(labels) if entry is label)
            msg = (
                f"by must name the group of every user; that of user {user_at(row, ids)!r} is "
                "undefined; give such users a label of their own, such as 'unknown'"
            )
            raise InputError(msg, argument="by")
        numbers[label] = len(numbers)
    check_groups(numbers)
    # So few groups have numbers of one byte, which are compared faster than users are sorted.
    number_of_user = np.fromiter(map(numbers.__getitem__, labels), np.uint8, n_users)
    return {label: np.flatnonzero(number_of_user == n) for label, n in numbers.items()}


def read_labels(name: str, noun: str, labels: Any, n_users: int) -> list[Any]:
    """Read one label per user, such as an id, in the order given, as values of Python.

    ``name`` is the argument, ``noun`` what a label is, in errors.
    """
    # An array of Dask is no sequence, and may not know its length; a Series has an index to align.
    if hasattr(type(labels), "dask") and not hasattr(labels, "index"):
        labels = np.asarray(labels)
    require_per_user(name, noun, labels, n_users)
    dtype = getattr(labels, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        entries = list(np.asarray(labels))  # tolist() would make integers of nanoseconds
    else:
        entries = labels
        for method in ("to_list", "tolist", "to_pylist"):
            if hasattr(labels, method):
                entries = getattr(labels, method)()
                break
    plain_labels = plain_values(entries)
    try:
        set(plain_labels)
    except TypeError:
        _refuse_unhashable(name, plain_labels)
    return plain_labels


def _refuse_unhashable(name: str, labels: Sequence[Any]) -> None:
    """Refuse labels that cannot be told apart, such as lists."""
    for user, label in enumerate(labels):
        try:
            hash(label)
        except TypeError:
            kind = type(label).__name__
            msg = (
                f"{name} must hold labels such as strings or integers, got a {kind} for user {user}"
            )
            raise InputTypeError(msg, argument=name) from None


def plain_values(values: Iterable[Any]) -> list[Any]:
    """Turn each value into one of Python, as ``plain`` does."""
    values = list(values)
    if _PLAIN_TYPES.issuperset(map(type, values)):  # a look at the types takes a tenth of the time
        return values
    return [plain(value) for value in values]


def plain(value: Any) -> Any:
    """Turn a scalar of NumPy or a tensor of one number into a value of Python.

    A tensor of several becomes a list, and a time finer than microseconds stays as it is.
    """
    if isinstance(value, np.datetime64):
        time = value.astype("M8[us]")
        return time.item() if time == value else value
    # Tensors of one number are different dict keys, even if the numbers are equal.
    is_scalar = isinstance(value, np.generic) or hasattr(value, "detach")
    return value.squeeze().tolist() if is_scalar else value
