"""The columns that are read, and the one that orders the lists.

A list is the recommendations of one user, or of the same values of all ``keys``; the truth holds
the relevant items. ``recs`` and ``truth`` are the caller's tables of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from recmetrics._core.errors import ArgumentError, InputError, looks_like
from recmetrics._core.inputs import INDEX_NAMES
from recmetrics._core.spec import MetricSpec, TableOrder
from recmetrics.tables._frames import Frame, holds_numbers, require_columns, require_same_kind

_SWAPPED_TEXT = "they look swapped; the recommendations come first, then the truth"
GRADES = ("relevance", "rating")  # the columns of a truth that are read, the first that it has
_NAMES_OF_GRADES = (
    *("grade", "label", "gain", "score", "rel", "relevant", "is_relevant", "r_ui", "click"),
    *("clicked", "is_click", "is_clicked", "target"),
)
# Columns that are not read, but told: those of other names, and of names with capital letters.
OTHER_GRADES = (
    *_NAMES_OF_GRADES,
    *map(str.capitalize, (*GRADES, *_NAMES_OF_GRADES)),
    *map(str.upper, (*GRADES, *_NAMES_OF_GRADES)),
)


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read, None: not read; ``keys`` identify a list."""

    keys: list[str]
    truth_keys: list[str]  # those that the truth has
    model_keys: list[str]  # the others: lists with the same values of these are of one model
    item: str
    rank: str | None = None
    score: str | None = None
    relevance: str | None = None
    unread_grades: str | None = None  # a column of the truth that may hold grades
    keys_argument: Literal["by", "group_cols"] = "by"  # by which the caller names keys

    @property
    def order(self) -> str:
        """The order of the lists, in words."""
        if self.rank is not None:
            return f"ordered by {self.rank}, ascending"
        if self.score is not None:
            return f"ordered by {self.score}, descending"
        return "in the order of the rows"


def relevance_in(frame: Frame) -> str | None:
    """Find the column with graded relevance that is read by default; None if there is none."""
    return next((name for name in GRADES if name in frame.columns), None)


def note_on_unread_grades(truth: Frame, name: str, specs: Iterable[MetricSpec]) -> str:
    """Write a note on a column of grades that no metric reads; "" where it would change nothing.

    ``truth`` has the rows of all users. Only rows that are not relevant would change the values
    where no metric reads grades.
    """
    reads_grades = any(spec.reads_grades for spec in specs)
    numbers = truth.get_column(name).to_numpy()
    if numbers.dtype.kind not in "biuf" or not numbers.size:
        return ""
    least = float(numbers.min())
    # Neither a negative number nor NaN, as for null, is a grade.
    if not 0 <= least < float(numbers.max()) or (least > 0 and not reads_grades):
        return ""
    return (
        f"the column {name!r} of truth is not read, so every row is relevant, all alike; to read "
        f"it as grades type relevance={name!r}"
    )


def choose_columns(
    recs: Frame,
    truth: Frame,
    keys: Sequence[str],
    item: str,
    *,
    score: str | None = None,
    rank: str | None = None,
    relevance: str | None = None,
    in_order: bool = False,
    of_truth: Sequence[str] = (),
    first: TableOrder = "rank",
) -> Columns:
    """Choose the columns to read; refuse a missing one, and swapped tables.

    ``score``, ``rank`` and ``relevance`` are typed names of columns, None: the usual one, if it is
    there. ``of_truth`` are keys that the truth must have; of the others it may lack some. ``first``
    is the order of a table with ranks and scores.
    """
    orders = {"rank": rank, "score": score, "in_order": in_order or None}
    typed_orders = [f"{name}={value!r}" for name, value in orders.items() if value is not None]
    if len(typed_orders) > 1:
        msg = f"lists have one order, got {' and '.join(typed_orders)}; give one of them"
        raise ArgumentError(msg)

    required = [*keys, item]
    required_of_truth = [*of_truth, item]
    order_column = score if rank is None else rank
    if order_column is not None:
        if order_column not in recs.columns and order_column in truth.columns:
            msg = f"recs has no column {order_column!r}, but truth has: {_SWAPPED_TEXT}"
            raise InputError(msg, argument="recs")
        required.insert(0, order_column)
    elif not in_order:
        default_order = _default_order(recs, first)
        if default_order == "rank":
            rank = default_order
        elif default_order == "score":
            score = default_order
        else:
            _refuse_swapped(recs, truth, item)
    if relevance is not None:
        required_of_truth.insert(0, relevance)
    for name in keys:
        if keys.count(name) > 1:
            msg = f"lists are grouped by {name!r} twice, expected each column once"
            raise ArgumentError(msg)
    require_columns(recs, "recs", required)
    require_columns(truth, "truth", required_of_truth)
    require_same_kind(recs, truth, "truth")
    truth_keys, model_keys = _divided_keys(truth, keys)
    relevance = relevance or relevance_in(truth)
    roles = {"identifies the lists": keys, "holds the items": [item]}
    by: Sequence[str] = ()
    if of_truth:  # the user, who stands behind the columns of ``by``; other calls have neither
        by = keys[: -len(of_truth)]
    # The argument to leave out, by role and column. None for a column with the usual name of the
    # role, which would be read without the argument, too.
    arguments: Mapping[str, Mapping[Any, str | None]] = {
        "identifies the lists": dict.fromkeys(by, "by"),
        "orders the lists": {rank: "rank", score: "score", "rank": None, "score": None},
        "holds the relevances": {relevance: "relevance", **dict.fromkeys(GRADES)},
    }
    _refuse_two_roles("recs", roles | {"orders the lists": [rank, score]}, arguments)
    _refuse_two_roles("truth", roles | {"holds the relevances": [relevance]}, arguments)
    unread_grades = _unread_grades(truth, [*truth_keys, item], relevance)
    return Columns(list(keys), truth_keys, model_keys, item, rank, score, relevance, unread_grades)


def _unread_grades(truth: Frame, ids: Sequence[str], relevance: str | None) -> str | None:
    """Name a column of the truth that may hold grades where none is read, beside those of ids."""
    if relevance is not None:
        return None
    names = set(OTHER_GRADES) & set(truth.columns) - {*ids}
    return min(names, default=None, key=OTHER_GRADES.index)


def _refuse_two_roles(
    label: str,
    columns_of_roles: Mapping[str, Sequence[str | None]],
    arguments: Mapping[str, Mapping[Any, str | None]],
) -> None:
    """Refuse a column of the table ``label`` that is read as two things, such as ids and scores.

    ``arguments`` are those to leave out, by role and column; None where that does not help.
    """
    role_of_column: dict[str, str] = {}
    for role, columns in columns_of_roles.items():
        for column in filter(None, columns):
            if column in role_of_column:
                earlier_role = role_of_column[column]
                msg = f"{label}: the column {column!r} {earlier_role} and {role}"
                for read_as in (earlier_role, role):
                    argument = arguments.get(read_as, {}).get(column)
                    if argument is not None:
                        msg += f"; type {argument}=None, or the name of another column"
                msg += "; expected a column for each"
                raise ArgumentError(msg)
            role_of_column[column] = role


def _default_order(recs: Frame, first: TableOrder) -> TableOrder | None:
    """Choose the column that orders the lists: ``first``, or the other one, if there is any."""
    if first in recs.columns:
        return first
    other: TableOrder = "score" if first == "rank" else "rank"
    return other if other in recs.columns else None


def _refuse_swapped(recs: Frame, truth: Frame, item: str) -> None:
    """Refuse recommendations with grades and a truth with an order."""
    order_column = _order_in(truth, item)
    grade_column = relevance_in(recs)
    if order_column is not None and grade_column is not None:
        msg = (
            f"recs has the column {grade_column!r} and truth the column {order_column!r}: "
            f"{_SWAPPED_TEXT}"
        )
        raise InputError(msg, argument="recs")


def _order_in(truth: Frame, item: str) -> str | None:
    """Find the column of a truth that would order recommendations; None if there is none."""
    return next(
        (name for name in ("score", "rank") if name in truth.columns and name != item), None
    )


def _divided_keys(truth: Frame, keys: Sequence[str]) -> tuple[list[str], list[str]]:
    """Name the keys that the truth has, and the others; refuse a truth without any of them."""
    truth_keys = [name for name in keys if name in truth.columns]
    if keys and not truth_keys:
        columns_of_truth = ", ".join(map(repr, truth.columns))
        msg = (
            f"truth has none of the columns that recs is grouped by ({', '.join(map(repr, keys))}),"
            f" expected at least one; it has {columns_of_truth}"
        )
        raise InputError(msg, argument="truth")
    return truth_keys, [name for name in keys if name not in truth_keys]


def unread_orders(recs: Frame, columns: Columns) -> list[Any]:
    """Name the columns that may be meant to order the lists, the likeliest first.

    These are columns of numbers, and those with a name of scores or ranks whatever they hold: one
    bad cell makes the others text. Columns that identify a list are among them, a pandas index that
    became a column is not.
    """
    names = []
    columns_of_recs: list[Any] = recs.columns  # of any type in pandas
    for name in columns_of_recs:
        if name == columns.item or re.fullmatch(INDEX_NAMES, str(name)):
            continue
        if is_like_an_order(name) or holds_numbers(recs.get_column(name)):
            names.append(name)
    # False sorts before True: names of scores and ranks come first.
    return sorted(names, key=lambda name: not is_like_an_order(name))


def is_like_an_order(column: Any) -> bool:
    """Say whether other systems use this column name for scores or ranks."""
    return looks_like(str(column), "score") or looks_like(str(column), "rank")


def refuse_unread_order(recs: Frame, truth: Frame, columns: Columns) -> None:
    """Refuse to take the rows as they come where a column may be their order."""
    if columns.rank is not None or columns.score is not None:
        return
    names = [name for name in unread_orders(recs, columns) if name not in columns.keys]
    if names:
        noun = "column" if len(names) == 1 else "columns"
        as_score = f"score={names[0]!r}"
        as_rank = f"rank={names[0]!r}"
        if not isinstance(names[0], str):  # the number that pandas gives to a column without a name
            as_score = f"recs.rename(columns={{{names[0]!r}: 'score'}})"
            as_rank = f"recs.rename(columns={{{names[0]!r}: 'rank'}})"
        msg = (
            f"recs has no column 'rank' or 'score' to order its lists, but it has the {noun} "
            f"{', '.join(map(repr, names))}, which may be their order; type {as_score} if higher "
            f"is better, {as_rank} if 1 is best, or in_order=True if the rows are in order"
        )
        raise InputError(msg, argument="recs")
    order_column = _order_in(truth, columns.item)
    if order_column is not None:
        msg = (
            "recs has no column 'rank' or 'score' to order its lists, and truth has "
            f"{order_column!r}: {_SWAPPED_TEXT}; type in_order=True if the rows of recs are in "
            "order"
        )
        raise InputError(msg, argument="recs")
