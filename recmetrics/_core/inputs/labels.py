"""The labels of tables, which name their users and items: tables in other orders are refused.

All arguments are read by position. So a table whose labels stand in another order than those of
another table of the call would give wrong numbers. Those that pandas counts, where it is given
none, say nothing, unless another table has the same numbers in another order. Arrays have no
labels: their users and items are numbered from 0, so that a table with these numbers in another
order is refused beside them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import InputError, ShapeError
from recmetrics._core.types import FloatArray, IntArray

# By argument: what its rows and its columns are.
_AXES = {
    "scores": ("users", "items"),
    "a": ("users", "items"),  # of ``overlap``, scores too
    "b": ("users", "items"),
    "user_factors": ("users",),
    "item_factors": ("items",),
    "item_bias": ("items",),
    "ranking": ("users", "items"),  # its columns are ranks, and it names items by their numbers
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

    code: str  # how to type them; of an argument without labels, its name
    values: Any = None  # an index of pandas, or the names of the columns of polars or pyarrow
    are_numbers: bool = False  # True for 0, 1, 2, ...
    sorted_table: str = ""  # how to sort a table that has these numbers in another order
    all_values: Any = ()  # of the labels of a batch: those of all users

    @property
    def are_counted(self) -> bool:
        """True for the numbers of an index that pandas made, where it was given none."""
        return self.are_numbers and hasattr(self.values, "step")

    def contradict(self, others: "Labels") -> bool:
        """Say whether these are some of the same users or items, but not all, or in another order.

        Labels of a batch are contradicted by those of other users, too. Labels that have nothing in
        common are of different kinds, such as names and numbers.
        """
        values = self.values
        other_values = others.values
        if values is None or other_values is None:
            return False
        if hasattr(values, "equals") and values.equals(other_values):
            return False
        if self.are_counted or others.are_counted:  # a part of a table may have any numbers
            return len(values) == len(other_values) and {*values} == {*other_values}
        if list(values) == list(other_values):
            return False
        labels = {*values}
        return not labels.isdisjoint(other_values) or not labels.isdisjoint(others.all_values)

    def are_those_of(self, other: "Labels") -> bool:
        """Say whether these are the same labels in the same order; "1" is the number 1."""
        if self.values is None:
            return False
        numbers = _numbers_of(self.values)
        if len(numbers):
            return np.array_equal(numbers, _numbers_of(other.values))
        return list(self.values) == list(other.values)


LabelsOfAxes = Mapping[str, tuple[Labels, ...]]
"""By axis, such as "users": the labels that the arguments of a call give it."""
NO_LABELS: LabelsOfAxes = {}
_OF_ARRAYS: LabelsOfAxes = {"users": (Labels("truth"),), "items": (Labels("truth"),)}
UNLABELLED_SCORES: Mapping[str, Any] = {"scores": ()}


def read_labels(
    arguments: Mapping[str, Any],
    known: LabelsOfAxes = NO_LABELS,
    *,
    axes: tuple[str, ...] | None = None,
) -> LabelsOfAxes:
    """Read the labels of the arguments of a call, and add them to the ``known`` ones.

    ``axes`` says what the rows and the columns of all arguments are, if their names do not.

    A table is refused if its labels contradict those of an earlier one, or if they are the numbers
    from 0 in another order, and another argument of these users or items has not the same ones.
    """
    found = dict(known)
    for name, table in arguments.items():
        if table is None:
            continue
        others: dict[str, str] = {}  # the labels that it should have, by side
        typed = ""  # what the error says to type
        axes_of_table = axes or _axes(name, table, arguments)
        for side, axis in zip(("index", "columns"), axes_of_table, strict=False):
            labels = _labels(name, table, side)
            contradicted = filter(labels.contradict, found.get(axis, ()))
            earlier = next(contradicted, None)
            if earlier is None:
                found[axis] = (*found.get(axis, ()), labels)
            else:
                others[side] = earlier.code
                typed = typed or _with_other_labels(name, labels, earlier)
        if others:
            codes = " and ".join(others.values())
            typed = typed or _in_order(name, table, others)
            msg = (
                f"the {' and '.join(others)} of {name} should be {codes}, in that order, since "
                f"tables are read by position; type {typed}, or "
                f"np.asarray({name}) if its rows and columns are in order"
            )
            raise InputError(msg, argument=name.partition("[")[0])
    for axis, labels_of_axis in found.items():
        _refuse_permuted(axis, labels_of_axis)
    return found


def refuse_labels_first(
    error: ShapeError, tables: Mapping[str, Any], known: LabelsOfAxes = NO_LABELS
) -> None:
    """Refuse labels that contradict others, if any do, in place of the shape of a table.

    Labels say which users or items the table lacks. But ``error``, which refuses the shape, says
    more of a transposed table.
    """
    if "transposed" in str(error):
        return
    try:
        read_labels(tables, known)
    except InputError as error_of_labels:
        raise error_of_labels from None


def _refuse_permuted(axis: str, labels_of_axis: Sequence[Labels]) -> None:
    """Refuse numbers from 0 in another order beside an argument that has not the same ones."""
    permuted = next(filter(lambda labels: labels.sorted_table, labels_of_axis), None)
    if permuted is None:
        return
    for labels in labels_of_axis:
        if labels is permuted or labels.are_those_of(permuted):
            continue
        name, _, side = permuted.code.rpartition(".")
        other_name = labels.code.partition(".")[0]
        msg = (
            f"{name} has the numbers from 0 in another order as its {side.partition('[')[0]}, and "
            f"{other_name} has no labels in that order, so that both are read by position; type "
            f"{permuted.sorted_table} if these are the numbers of the {axis}, or "
            f"np.asarray({name}) if its rows and columns are in order"
        )
        raise InputError(msg, argument=name.partition("[")[0])


def labels_of_users(labels: LabelsOfAxes, users: slice | IntArray) -> LabelsOfAxes:
    """The labels of a batch, which has some of the users.

    Users that are numbered from 0 have none, since pandas counts those of each batch anew. Indices
    of ``users`` name the users of the rows, whatever their order. Where nothing has labels, the
    truth has none.
    """
    labels = labels or _OF_ARRAYS
    is_slice = isinstance(users, slice)
    index = f"{users.start}:{users.stop}" if isinstance(users, slice) else "users"
    labels_of_batch = []
    for labels_of_all in labels.get("users", ()):
        code = f"{labels_of_all.code}[{index}]"
        if labels_of_all.values is not None and not labels_of_all.are_numbers:
            sorted_table = labels_of_all.sorted_table if is_slice else ""
            values = labels_of_all.values[users]
            labels_of_batch.append(
                Labels(code, values, sorted_table=sorted_table, all_values=labels_of_all.values)
            )
        elif is_slice:
            labels_of_batch.append(Labels(labels_of_all.code.partition(".")[0]))
    return {**labels, "users": tuple(labels_of_batch)}


def _axes(name: str, table: Any, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what the rows and the columns of an argument are."""
    axes = _AXES.get(name, _AXES["candidates"])
    is_of_candidates = name not in _AXES or name == "candidates"
    if is_of_candidates and len(getattr(table, "shape", ())) != 2:
        # A flag for each item, lists of users, or the items of all users.
        kind = getattr(getattr(table, "dtype", None), "kind", "")
        return {"b": ("items",), "O": axes}.get(kind, ())
    if name == "profile":
        genres = arguments.get("genres")
        if getattr(genres, "shape", (0, 0))[1:] == getattr(table, "shape", ())[1:]:
            return "users", "genres"
    return axes


def _labels(name: str, table: Any, side: str) -> Labels:
    """Read the index or the columns of an argument, or the coordinates that xarray has for them."""
    if name == "ranking" and side == "columns":  # which are ranks
        return Labels(name)
    code = f"{name}.{side}"
    values: Any = getattr(table, side, None)
    dimension = None
    if hasattr(table, "get_index"):  # of xarray
        dimension = _dimensions(table).get(side)
        if dimension is None:
            return Labels(name)
        code = f"{name}.get_index({dimension!r})"
        values = table.get_index(dimension)
    elif side == "columns" and hasattr(table, "column_names"):  # of pyarrow
        code = f"{name}.column_names"
        values = table.column_names
    are_names = isinstance(values, list) and all(isinstance(label, str) for label in values)
    if not are_names and not hasattr(values, "is_unique"):
        return Labels(name)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    are_numbers = kind in ("i", "u") and np.array_equal(values, np.arange(len(values)))
    sorted_table = "" if are_numbers else _sorted(name, side, values, code)
    if sorted_table and dimension is not None:
        sorted_table = f"{name}.sel({{{dimension!r}: sorted({code}, key=int)}})"
    return Labels(code, values, are_numbers, sorted_table)


def _dimensions(array: Any) -> dict[str, Any]:
    """Name the dimensions of an array of xarray by the sides of a table."""
    return dict(zip(("index", "columns"), array.dims, strict=False))


def _sorted(name: str, side: str, labels: Any, code: str) -> str:
    """Say how to sort a table whose labels are the numbers from 0 in another order; else ""."""
    numbers = _numbers_of(labels)
    in_order = np.arange(len(numbers))
    if np.array_equal(numbers, in_order) or not np.array_equal(np.sort(numbers), in_order):
        return ""
    if isinstance(labels, list):  # of polars or pyarrow
        return f"{name}.select(sorted({code}, key=int))"
    if isinstance(labels[0], str):
        rows = "" if side == "columns" else ".loc"
        return f"{name}{rows}[sorted({code}, key=int)]"
    return f"{name}.sort_index({'axis=1' if side == 'columns' else ''})"


def _numbers_of(labels: Any) -> FloatArray:
    """The labels as numbers, if they may be all from 0 in any order; else no number.

    Most labels are something else, which the first of them tells without reading the others.
    """
    none = np.empty(0)
    first: Any = labels[0] if len(labels) else None
    if isinstance(first, str) and first.isdecimal():
        first = int(first)
    if not isinstance(first, int | float | np.number | np.bool_) or not 0 <= first < len(labels):
        return none
    try:
        return np.asarray(labels, np.float64)
    except (TypeError, ValueError):
        return none


def _with_other_labels(name: str, labels: Labels, earlier: Labels) -> str:
    """Say what to type where a table has other labels, not the same ones in another order; else "".

    With the labels of the earlier table, scores would be NaN where they lack a user or an item.
    """
    if {*labels.values} == {*earlier.values}:
        return ""
    if len(earlier.all_values):  # of a batch, whose users may be others than those expected
        index, _, _ = earlier.code.partition("[")
        users = f"users={index}.get_indexer({labels.code})"
        if {*labels.values}.issubset(earlier.all_values):
            return users
        return f"{name} = {name}[{labels.code}.isin({index})], with {users}"
    if ".get_index(" in labels.code + earlier.code:  # of xarray, which has other methods
        return ""
    side = earlier.code.rpartition(".")[2]
    if name == "b":  # of ``overlap``: users of both models, and items of either
        if side == "index":
            return "a, b = a.align(b, join='inner', axis=0)"
        models = f"{_in_pandas(earlier)}.align({_in_pandas(labels)}"
        return f"a, b = {models}, axis=1, fill_value=-np.inf)"
    if name in ("scores", "item_factors") and side != "index":
        return f"{_in_pandas(earlier)}.reindex(columns={labels.code}, fill_value=0)"
    if isinstance(labels.values, list) and not {*earlier.values}.issubset(labels.values):
        # Tables of polars and pyarrow add no column for an item that they lack.
        return f"{_in_pandas(labels)}.reindex(columns={earlier.code}{_fill_of(name)})"
    return ""


def _in_pandas(labels: Labels) -> str:
    """Say how to type the table of these labels as one of pandas."""
    table = labels.code.rpartition(".")[0]
    return f"{table}.to_pandas()" if isinstance(labels.values, list) else table


def _fill_of(name: str) -> str:
    """Say with what ``reindex`` fills a table: NaN, if not told, or 0."""
    return "" if name in _NEVER_ZERO else ", fill_value=0"


def _in_order(name: str, table: Any, others: Mapping[str, str]) -> str:
    """Say how to type a table in the order of the labels ``others``, by side."""
    if not hasattr(table, "reindex"):  # of polars
        return f"{name}.select([*{others['columns']}])"
    if hasattr(table, "columns"):
        labels = ", ".join(f"{side}={code}" for side, code in others.items())
        return f"{name}.reindex({labels}{_fill_of(name)})"
    code = others.get("index", "")
    if hasattr(table, "get_index"):  # of xarray
        indexes = [f"{_dimensions(table)[side]!r}: {index}" for side, index in others.items()]
        code = f"{{{', '.join(indexes)}}}"
        if table.ndim == 2:
            return f"{name}.reindex({code}{_fill_of(name)})"
    if table.dtype.kind == "O":  # the items of each user
        return f"[{name}.get(user, []) for user in {code}]"
    fill = ""
    if table.dtype.kind == "b":
        fill = ", fill_value=False"
    elif name == "truth":  # the item of each user, -1 for none
        fill = ", fill_value=-1"
    return f"{name}.reindex({code}{fill})"
