"""The users of results: labels, groups and weights, from arrays or from columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError
from recmetrics._core.results import MAX_GROUPS, read_raw_weights, read_weights, require_per_user
from recmetrics._report.bounds import Floats

Rows: TypeAlias = npt.NDArray[np.intp]  # indices of users


def in_order_of(
    ids: Callable[[], Sequence[Any] | None], frame: Any, argument: str, entries: Any
) -> Any:
    """Put the entries of a pandas Series into the order of the users, whose ids its index has.

    Others are returned as they are: they are in the order of the users already. So is a column of
    ``frame``, that of the first result, and a Series that was made without an index, which is
    refused where its index may also be ids. ``ids`` gives those of the users, None where they have
    none; it is called for a Series alone.
    """
    index: Any = getattr(entries, "index", None)
    if not hasattr(index, "is_unique") or hasattr(entries, "columns"):
        return entries
    users = ids()
    if users is None:
        return entries
    labels = index.tolist()
    if frame is not None and labels == _row_labels(frame, index.names):
        return entries
    if index.name is None and labels == list(range(len(users))):
        if labels == users or {*labels} != {*users}:
            return entries
        if hasattr(index, "step"):  # not given, but counted by pandas
            _refuse_counted_index(argument, users)
    entry_of_user = dict(zip(labels, entries.tolist(), strict=True))
    lacking = [user for user in users if user not in entry_of_user]
    if lacking or not index.is_unique:
        _refuse_index(argument, labels, users, lacking)
    return [entry_of_user[user] for user in users]


def _refuse_index(
    argument: str, labels: Sequence[Any], users: Sequence[Any], lacking: Sequence[Any]
) -> None:
    """Refuse a Series whose index, ``labels``, has not each user once."""
    msg = f"{argument} is a Series whose index has an id several times"
    if lacking:
        msg = (
            f"{argument} is a Series whose index lacks {len(lacking):,} of the {len(users):,} "
            f"users, the first is {lacking[0]!r}"
        )
    msg += "; expected the id of each user once"
    types = {type(labels[0]), type(users[0])} if labels else set()
    if types == {str, int} and len(lacking) == len(users):
        name = type(users[0]).__name__
        msg += f"; the ids of the results are of type {name}: type {argument}.rename(index={name})"
    elif len(labels) == len(users):
        msg += f"; if it is in the order of the users, type {argument}={argument}.to_numpy()"
    raise InputError(msg, argument=argument)


def _refuse_counted_index(argument: str, users: Sequence[Any]) -> NoReturn:
    """Refuse a Series made without an index, which pandas counts, where users have such ids."""
    msg = (
        f"{argument} is a Series with the default index, 0 to {len(users) - 1:,}, which the ids of "
        f"the users are, too, in another order; if it is in the order of the users, type "
        f"{argument}={argument}.to_numpy(), and if its index has their ids, "
        f"{argument}={argument}.rename_axis('user')"
    )
    raise InputError(msg, argument=argument)


def _row_labels(frame: Any, names: Sequence[Any]) -> list[Any]:
    """The index of a frame of pandas, or its columns, if it has these ``names``; else []."""
    if set(names) <= set(frame.columns):
        rows = list(frame.select(*names).iter_rows())
        return [row[0] for row in rows] if len(names) == 1 else rows
    index: Any = getattr(frame.to_native(), "index", None)
    return index.tolist() if getattr(index, "names", None) == names else []


def read_users(
    clause: str,
    labels: Mapping[str, Any],
    n_users: int,
    by: Any,
    weights: Any,
    model: Iterable[str] = (),
    *,
    is_part: bool = False,
) -> tuple[dict[Any, Rows], Floats | None]:
    """Read the users of each group, and the weights of all users; None without weights.

    ``by`` and ``weights`` are arrays, or names of columns in ``labels``, {column: one entry per
    user}. The group None holds all users. Users of weight 0 are in no group. ``clause`` begins the
    message about a column without a table; ``model`` are columns that would need one, too. Weights
    are divided by the largest, but for those of a part of the users, which may all be 0.
    """
    columns = [("by", by), ("weights", weights), *(("model", column) for column in model)]
    for argument, column in columns:
        if isinstance(column, str) and column not in labels:
            msg = (
                f"{argument} is the name of a column, {column!r}, but {clause} a table; expected "
                "an array with one entry per user"
            )
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
        groups |= _read_groups(by, n_users)
    if weights is None:
        return groups, None
    user_weights = (read_raw_weights if is_part else read_weights)(weights, n_users)
    return {group: rows[user_weights[rows] > 0] for group, rows in groups.items()}, user_weights


def _read_groups(by: Any, n_users: int) -> dict[Any, Rows]:
    """Read the users of each label of ``by``, in the order in which the labels first appear."""
    members: dict[Any, list[int]] = {}
    for user, label in enumerate(read_labels("by", "group", by, n_users)):
        members.setdefault(label, []).append(user)
    for label, users in members.items():
        if is_missing(label):
            msg = (
                f"by must name the group of every user; that of user {users[0]} is undefined; "
                "give such users a label of their own, such as 'unknown'"
            )
            raise InputError(msg, argument="by")
    if len(members) > MAX_GROUPS:
        msg = (
            f"by names {len(members):,} different groups; expected at most {MAX_GROUPS}: "
            "put users into bins first, such as quartiles of their activity"
        )
        raise InputError(msg, argument="by")
    return {label: np.array(users, np.intp) for label, users in members.items()}


def read_labels(name: str, noun: str, labels: Any, n_users: int) -> list[Any]:
    """Read one label per user, such as an id, in the order given, as values of Python.

    ``name`` is the argument, ``noun`` what a label is, in errors.
    """
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
    plain_labels = [plain(entry) for entry in entries]
    for user, label in enumerate(plain_labels):
        try:
            hash(label)
        except TypeError:
            kind = type(label).__name__
            msg = (
                f"{name} must hold labels such as strings or integers, got a {kind} for user {user}"
            )
            raise InputTypeError(msg, argument=name) from None
    return plain_labels


def plain(value: Any) -> Any:
    """Turn a scalar of NumPy into a value of Python, except a time finer than microseconds."""
    if isinstance(value, np.datetime64):
        time = value.astype("M8[us]")
        return time.item() if time == value else value
    return value.item() if isinstance(value, np.generic) else value


def is_missing(label: Any) -> bool:
    """Say whether a label is None or what data frames have in its place."""
    try:
        return label is None or bool(label != label)  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA
        return True
