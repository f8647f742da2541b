"""The code that makes a table of what is none, for messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

# What the number behind a user and an item is, in the tables that are pairs of them.
NUMBERS = {"recs": "score", "truth": "relevance", "exclude": "weight"}


def conversion_of(value: Any, label: str) -> str:
    """Say how to make a table, or a dict of the items of each user, of an argument; "" if unknown.

    ``label`` is the name of the argument.
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return _conversion_of_rows(list(value), label)
    if isinstance(value, list | tuple) and value:
        return _conversion_of_rows(value, label)
    return ""


def _conversion_of_rows(rows: Sequence[Any], label: str) -> str:
    """Say what to make of records, of pairs of a user and an item, or of a list for each user."""
    first = rows[0]
    if isinstance(first, Mapping | np.void):
        return f"; type pandas.DataFrame({label})"
    if label not in NUMBERS or not isinstance(first, list | tuple | set | np.ndarray):
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
    return (
        f"{advice}; evaluate_table takes a dict of the items of each user, too: for a list of "
        f"users 0, 1, 2, ... type dict(enumerate({label}))"
    )
