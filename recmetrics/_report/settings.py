"""Single arguments of reports: a seed, names that must be known, one name or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError


def read_seed(rng: int | np.random.Generator | None) -> int:
    """Draw a seed from the argument ``rng``, for all generators of a call."""
    try:
        return int(np.random.default_rng(rng).integers(2**63 - 1))
    except (TypeError, ValueError):
        msg = f"rng must be a seed (an integer >= 0), a numpy Generator or None, got {rng!r}"
        raise ArgumentError(msg, argument="rng") from None


def several(value: Any) -> tuple[Any, ...]:
    """Make a tuple of an argument that is one name, or several names."""
    if isinstance(value, str | bytes | Mapping):
        return (value,)
    try:
        return tuple(value)
    except TypeError:  # such as a number, or an array of shape ()
        return (value,)


def check_known(argument: str, name: Any, names: Iterable[str]) -> None:
    """Refuse a name, given in ``argument``, that is not one of these."""
    if name not in names:
        msg = f"{argument} must be one of {', '.join(map(repr, names))}, got {name!r}"
        raise ArgumentError(msg, argument=argument)
