"""The labels of tables, which name their users and items: tables in other orders are refused.

All arguments are read by position. So a table whose labels stand in another order than those of
another table of the call would give wrong numbers. Arrays have no labels. Those that pandas counts,
where it is given none, say nothing, unless another table has the same numbers in another order.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import InputError
from recmetrics._core.types import IntArray

# By argument: what its rows and its columns are.
_AXES = {
    "scores": ("users", "items"),
    "a": ("users", "items"),  # of ``overlap``, scores too
    "b": ("users", "items"),
    "user_factors": ("users",),
    "item_factors": ("items",),
    "item_bias": ("items",),
    "ranking": ("users",),
    "truth": ("users", "items"),
    "exclude": ("users", "items"),
    "candidates": ("users", "items"),
    "popularity": ("items",),
    "propensity": ("items",),
    "features": ("items",),
    "similarity": ("items", "items"),
    "genres": ("items", "genres"),
    "profile": ("users", "items"),
}
# Without one of these users or items nothing is known of it; in the other tables it has zeros.
_NEVER_ZERO = {"scores", "a", "b", "user_factors", "item_factors", "similarity"}


class Labels(NamedTuple):
    """The labels of the rows or of the columns of a table."""

    code: str  # how to type them
    values: Any  # an index of pandas, or the names of the columns of polars
    are_numbers: bool = False  # True for 0, 1, 2, ...

    @property
    def are_counted(self) -> bool:
        """True for the numbers of an index that pandas made, where it was given none."""
        return self.are_numbers and hasattr(self.values, "step")

    def contradict(self, others: "Labels") -> bool:
        """Say whether these are some of the same users or items, but not all, or in another order.

        Labels that have nothing in common are of different kinds, such as names and numbers.
        """
        values = self.values
        other_values = others.values
        if hasattr(values, "equals") and values.equals(other_values):
            return False
        if self.are_counted or others.are_counted:  # a part of a table may have any numbers
            return len(values) == len(other_values) and {*values} == {*other_values}
        return list(values) != list(other_values) and not {*values}.isdisjoint(other_values)


LabelsOfAxes = Mapping[str, tuple[Labels, ...]]
"""By axis, such as "users": the labels that the tables of a call give it."""
NO_LABELS: LabelsOfAxes = {}
NO_TABLES: Mapping[str, Any] = {}


def tables_among(**arguments: Any) -> Mapping[str, Any]:
    """The arguments that may have labels."""
    return {
        name: value
        for name, value in arguments.items()
        if hasattr(value, "columns") or hasattr(value, "iloc")
    }


def read_labels(tables: Mapping[str, Any], known: LabelsOfAxes = NO_LABELS) -> LabelsOfAxes:
    """Read the labels of tables, by argument, and add them to the ``known`` ones of the call.

    A table whose labels contradict those of an earlier one is refused. Anything else than a table
    has no labels.
    """
    found = dict(known)
    for name, table in tables.items():
        others: dict[str, str] = {}  # the labels that it should have, by side
        for side, axis in _sides(name, table, tables.get("genres")):
            values = _values(getattr(table, side))
            if values is None:
                continue
            kind = getattr(getattr(values, "dtype", None), "kind", "")
            are_numbers = kind in ("i", "u") and np.array_equal(values, np.arange(len(values)))
            labels = Labels(f"{name}.{side}", values, are_numbers)
            contradicted = filter(labels.contradict, found.get(axis, ()))
            earlier = next(contradicted, None)
            if earlier is None:
                found[axis] = (*found.get(axis, ()), labels)
            else:
                others[side] = earlier.code
        if others:
            codes = " and ".join(others.values())
            msg = (
                f"the {' and '.join(others)} of {name} should be {codes}, in that order, since "
                f"tables are read by position; type {_in_order(name, table, others)}, or "
                f"{name}.to_numpy() if its rows and columns are in order"
            )
            raise InputError(msg, argument=name.partition("[")[0])
    return found


def labels_of_users(labels: LabelsOfAxes, users: slice | IntArray) -> LabelsOfAxes:
    """The labels of a batch, which has some of the users.

    Users that are numbered from 0 have none, since pandas counts those of each batch anew.
    """
    index = f"{users.start}:{users.stop}" if isinstance(users, slice) else "users"
    labels_of_batch = []
    for labels_of_all in labels.get("users", ()):
        if not labels_of_all.are_numbers:
            code = f"{labels_of_all.code}[{index}]"
            labels_of_batch.append(Labels(code, labels_of_all.values[users]))
    return {**labels, "users": tuple(labels_of_batch)}


def _sides(name: str, table: Any, genres: Any) -> Iterator[tuple[str, str]]:
    """The attributes that hold the labels of a table, each with the axis that it names."""
    axes = _AXES.get(name, _AXES["candidates"])
    if not hasattr(table, "columns"):
        kind = getattr(getattr(table, "dtype", None), "kind", "")
        if name not in _AXES or name == "candidates":  # a flag for each item, or lists of users
            axes = {"b": ("items",), "O": ("users",)}.get(kind, ())
        axes = axes[:1]
    elif name == "profile" and getattr(genres, "shape", (0, 0))[1:] == table.shape[1:]:
        axes = ("users", "genres")
    for side, axis in zip(("index", "columns"), axes, strict=False):
        if hasattr(table, side):
            yield side, axis


def _values(labels: Any) -> Any:
    """An index of pandas, or the names of the columns of polars; None for anything else."""
    is_of_polars = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    return labels if is_of_polars or hasattr(labels, "is_unique") else None


def _in_order(name: str, table: Any, others: Mapping[str, str]) -> str:
    """Say how to type a table in the order of the labels ``others``, by side."""
    if not hasattr(table, "reindex"):  # of polars
        return f"{name}.select([*{others['columns']}])"
    if hasattr(table, "columns"):
        labels = ", ".join(f"{side}={code}" for side, code in others.items())
        fill = "" if name in _NEVER_ZERO else ", fill_value=0"
        return f"{name}.reindex({labels}{fill})"
    code = others["index"]
    if table.dtype.kind == "O":  # the items of each user
        return f"[{name}.get(user, []) for user in {code}]"
    fill = ""
    if table.dtype.kind == "b":
        fill = ", fill_value=False"
    elif name == "truth":  # the item of each user, -1 for none
        fill = ", fill_value=-1"
    return f"{name}.reindex({code}{fill})"
