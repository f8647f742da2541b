"""Single arguments of reports: a seed, names that must be known, one name or several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from recmetrics._core.errors import ArgumentError


def read_seed(rng: int | np.random.Generator | None) -> int:
    try:
        return int(np.random.default_rng(rng).integers(2**63 - 1))
    except (TypeError, ValueError):
        msg = f"rng must be a seed (an integer >= 0), a numpy Generator or None, got {rng!r}"
        raise ArgumentError(msg, argument="rng") from None


def several(given: Any) -> tuple[Any, ...]:
    """Make a tuple of one name, given alone, or of several."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    return (given,) if is_one else tuple(given)


def check_known(name: str, given: Any, known: Iterable[str]) -> None:
    if given not in known:
        msg = f"{name} must be one of {', '.join(map(repr, known))}, got {given!r}"
        raise ArgumentError(msg, argument=name)
