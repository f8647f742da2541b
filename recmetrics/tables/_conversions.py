"""The code that makes a table of what is none, for messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from recmetrics._core.errors import did_you_mean, looks_like

# By argument: the number that a row or a pair may have behind its user and its item.
NUMBERS = {"recs": "score", "truth": "relevance", "exclude": "weight"}
# The methods that make a frame of pandas: of xarray, Hugging Face and LensKit, among others.
_TO_PANDAS = ("to_dataframe", "to_pandas", "to_df")
# By argument: code that makes a table of a dict {0} from items to what each has.
_OF_ITEMS = {
    "popularity": "pandas.Series({0}).rename_axis('item').reset_index(name='popularity')",
    "propensity": "pandas.Series({0}).rename_axis('item').reset_index(name='propensity')",
    "features": "pandas.DataFrame.from_dict(dict({0}), orient='index').rename_axis('item')"
    ".reset_index()",
    "genres": "pandas.Series({0}).explode().str.get_dummies('|').groupby(level=0).max()"
    ".rename_axis('item').reset_index()",
}


def conversion_of(value: Any, label: str) -> str:
    """Say how to make a table, or a dict of the items of each user, of an argument; "" if unknown.

    ``label`` is the name of the argument.
    """
    if label.partition("[")[0] in ("catalogue", "strata") and _are_ids(value):
        return f"; for ids of items type pandas.DataFrame({{'item': [*{label}]}})"
    if label in _OF_ITEMS and isinstance(value, Mapping):
        return _conversion_of_items(label)
    if isinstance(value, list | tuple | np.ndarray):
        rows = list(np.atleast_1d(value) if isinstance(value, np.ndarray) else value)
        if not rows:
            return ""
        if type(rows[0]).__name__ == "DataFrame":
            return f"; type {_library_of(rows[0])}.concat({label})"
        if type(rows[0]).__name__ == "RecordBatch":
            return f"; type pyarrow.Table.from_batches({label})"
        return _conversion_of_rows(rows, label)
    if _library_of(value) == "pandas" and hasattr(value, "reset_index"):
        return _conversion_of_column(value, label)
    return _conversion_of_dataset(value, label)


def _conversion_of_dataset(value: Any, label: str) -> str:
    """Say how to make a table of an object that holds one, such as a dataset; "" if unknown."""
    if type(value).__name__ == "RecordBatch":
        return f"; type pyarrow.Table.from_batches([{label}])"
    is_column = hasattr(value, "dtype") or hasattr(value, "type")
    if hasattr(value, "__arrow_c_stream__") and not is_column:
        return f"; for a table of another library type pyarrow.table({label})"
    for method in _TO_PANDAS:
        if hasattr(value, method) and not is_column:
            return f"; type {label}.{method}()"
    if hasattr(value, "df"):  # a cursor of DuckDB
        return f"; type {label}.df()"
    return ""


def _are_ids(value: Any) -> bool:
    """Say whether a value is a flat collection of ids, such as a list, a dict or a column."""
    if not isinstance(value, Collection):
        return False
    first = next(iter(value), None)
    return isinstance(first, str) or not isinstance(first, Collection)


def _conversion_of_items(label: str) -> str:
    """Say what makes a table of a dict, or of a column, of what each item has."""
    return f"; for a value of each item type {_OF_ITEMS[label].format(label)}"


def _library_of(value: Any) -> str:
    """Name the library of a table or a column: those of others, such as Dask, may be lazy."""
    return type(value).__module__.partition(".")[0]


def _conversion_of_rows(rows: Sequence[Any], label: str) -> str:
    """Say what to make of records, of pairs of a user and an item, or of a list for each user."""
    first = rows[0]
    of_users = (
        "; evaluate_table takes a dict of the items of each user, too: for a list of users 0, 1, "
        f"2, ... type dict(enumerate({label}))"
    )
    if isinstance(first, Mapping) and label in NUMBERS and _are_items(rows):
        return of_users
    if isinstance(first, Mapping | np.void) or hasattr(first, "_fields"):
        return f"; type pandas.DataFrame({label})"
    is_list = isinstance(first, list | tuple | set | np.ndarray)
    if label not in NUMBERS or not is_list or getattr(first, "ndim", 1) == 0:
        return ""

    lengths = {len(row) for row in rows if isinstance(row, Collection)}
    is_flat = all(isinstance(cell, str) or not isinstance(cell, Collection) for cell in first)
    advice = ""
    if lengths in ({2}, {3}) and is_flat and not isinstance(first, set):
        columns = ["user", "item", NUMBERS[label]][: len(first)]
        advice = (
            f"; for rows of {', '.join(columns)} type pandas.DataFrame({label}, columns={columns})"
        )
    if isinstance(first, np.ndarray) or (advice and isinstance(first, tuple)):
        return advice
    return advice + of_users


def _are_items(dicts: Sequence[Any]) -> bool:
    """Say whether dicts hold the items of each user, not the same columns each."""
    names = dicts[0].keys()
    if not all(isinstance(name, str) for name in names):
        return True
    return names != dicts[-1].keys() and not any(looks_like(name, "user") for name in names)


def _conversion_of_column(column: Any, label: str) -> str:
    """Say what to make of a column of pandas, whose index has the users, or pairs of user and item.

    Without their names, one level may be the numbers of rows alone.
    """
    are_pairs = column.index.nlevels == 2 and label in NUMBERS
    first = next(iter(column), None)
    if label in NUMBERS and isinstance(first, Collection) and not isinstance(first, str):
        return f"; evaluate_table takes a dict of these lists, too: type {label}.to_dict()"
    code = label
    if None in column.index.names:
        if not are_pairs:
            return _conversion_of_items(label) if label in _OF_ITEMS else ""
        code += ".rename_axis(['user', 'item'])"
    if column.name is not None:
        return f"; type {code}.reset_index()"
    return f"; type {code}.reset_index(name={NUMBERS[label]!r})" if are_pairs else ""


def conversion_of_wide(table: Any, label: str, names: Sequence[str]) -> str:
    """Say what makes rows of a pandas table with a column for each item; "" for another table.

    ``names`` are those of the columns of ids, which the columns of such a table have as a whole, or
    not: then all hold numbers, none is called as one of rows of a user and an item is, and there
    are more than the three columns that such rows have under names of any other kind.
    """
    if label not in ("recs", "truth"):
        return ""
    code = label
    keys = [name for name in names if name in table.columns or name in table.index.names]
    if table.columns.name in names and keys:
        if not set(keys) <= set(table.columns):
            code += ".reset_index()"
        return f"; type {code}.melt({keys}, value_name={NUMBERS[label]!r}).dropna()"

    *users, item = names
    items = table.drop(columns=users, errors="ignore")
    texts = [*map(str, items.columns)]
    of_rows = any(looks_like(" ".join(texts), name) for name in ("user", "item", "score", "rank"))
    of_rows = of_rows or any(did_you_mean(str(name), texts) for name in names)
    are_numbers = {dtype.kind for dtype in items.dtypes} <= {*"biuf"}
    has_levels = any(hasattr(axis, "levels") for axis in (table.columns, table.index))
    if len(users) != 1 or len(texts) <= 3 or of_rows or not are_numbers or has_levels:
        return ""
    if users[0] not in table.columns:
        code += f".rename_axis({users[0]!r}).reset_index()"
    return (
        f"; if it has a column for each item type {code}.melt({users}, var_name={item!r}, "
        f"value_name={NUMBERS[label]!r}).dropna()"
    )


def conversion_of_keys(key: tuple[Any, ...], value: Any, label: str, columns: Sequence[str]) -> str:
    """Say what to make of a dict whose keys are tuples, such as ``key``, which has ``value``.

    ``columns`` are the names of those of users, items and numbers.
    """
    if len(key) == 2 and isinstance(value, Number):
        return (
            f"; type pandas.DataFrame([(*pair, number) for pair, number in {label}.items()], "
            f"columns={[*columns]})"
        )
    if len(key) == 1:  # as groupby of a list with one name gives it
        return f"; type {{key: items for (key,), items in {label}.items()}}"
    return f"; type {{'/'.join(map(str, key)): items for key, items in {label}.items()}}"


def conversion_of_entries(dictionary: Mapping[Any, Any], user: Any, label: str, column: str) -> str:
    """Say what to make of a dict that has neither a list nor a dict for ``user``.

    ``column`` is the name of that of users.
    """
    entries = dictionary[user]
    of_each = f"for user, items in {label}.items()"
    library = _library_of(entries)
    if library in ("pandas", "polars") and type(entries).__name__ == "DataFrame":
        if column in entries.columns and set(entries[column]) != {user}:
            return (
                "; for a table of each model type {model: evaluate_table(table, truth, ...) for "
                f"model, table in {label}.items()}}"
            )
        with_user = f"assign(**{{{column!r}: user}})"
        if library == "polars":
            with_user = f"with_columns(polars.lit(user).alias({column!r}))"
        return f"; type {library}.concat([items.{with_user} {of_each}])"
    if library == "pandas":  # a column
        return (
            f"; type {{user: items.tolist() {of_each}}} if its values are items, or "
            f"{{user: items.to_dict() {of_each}}} if its index has them"
        )
    if label in _OF_ITEMS:
        return _conversion_of_items(label)
    if library not in ("polars", "pyarrow"):  # such as Hugging Face, with a dataset of each split
        conversion = conversion_of(entries, f"{label}[{user!r}]")
        if conversion:
            return conversion
    for items in dictionary.values():
        has_items = isinstance(items, Iterable) or hasattr(type(items), "columns")
        if items is None or (has_items and not isinstance(items, str)):
            return ""
    return f"; for one item of each user type {{user: [item] for user, item in {label}.items()}}"


def conversion_of_pairs(entries: Collection[Any], label: str) -> str:
    """Say what to make of the pairs of an item and its number, or of the two lists, of a user."""
    is_tuple = isinstance(entries, tuple)
    # As values of Python, also those of arrays and tensors.
    entries = [entry.tolist() if hasattr(entry, "tolist") else entry for entry in entries]
    first = entries[0]
    of_each = f"for user, pairs in {label}.items()"
    if _are_two_lists(entries, is_tuple=is_tuple):
        place = 0
        pair = "pairs"
        if len(first) and _is_float(first[0]) and not _is_float(entries[1][0]):
            place = 1
            pair = "pairs[::-1]"
        noun = NUMBERS.get(label, "number")
        advice = f"; for ids and {noun}s type {{user: dict(zip(*{pair})) {of_each}}}"
        if label == "recs":
            advice += f"; for ids and distances type {{user: pairs[{place}] {of_each}}}"
        return advice
    if len(first) != 2:
        return ""
    if _is_float(first[0]) and not _is_float(first[1]):
        return (
            "; for pairs of a number and its item type {user: {item: number for number, item in "
            f"pairs}} {of_each}}}"
        )
    return f"; for pairs of an item and its number type {{user: dict(pairs) {of_each}}}"


def _are_two_lists(entries: Sequence[Any], *, is_tuple: bool) -> bool:
    """Say whether a user has the list of all ids and that of all numbers, not a pair for each.

    ``is_tuple`` says that the user has a tuple, as functions return it.
    """
    first = entries[0]
    if len(entries) != 2 or type(entries[1]) is not type(first) or len(entries[1]) != len(first):
        return False
    types = set(map(type, first))
    if len(types) > 1:  # an item and its number
        return False
    other_types = set(map(type, entries[1]))
    is_pair_of_lists = is_tuple and not isinstance(first, tuple)
    return len(first) != 2 or is_pair_of_lists or (len(other_types) == 1 and types != other_types)


def _is_float(value: Any) -> bool:
    """Say whether a value is a score rather than an id."""
    return isinstance(value, float | np.floating)
