"""One metric over all users: mean, spread and a 95 % interval of the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recmetrics._results import NORMAL_95


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of one metric over users; None where it is not defined.

    ``users`` counts those with a defined value; it is None for a system metric.
    """

    mean: float | None
    std: float | None
    interval: tuple[float, float] | None
    users: int | None


def summarise(values: npt.NDArray[np.float64]) -> Summary:
    """Summarise with the interval of the normal approximation, cheap for any number of users."""
    if values.ndim == 0:
        value = float(values)
        return Summary(None if math.isnan(value) else value, None, None, None)
    defined = values[~np.isnan(values)]
    if defined.size == 0:
        return Summary(None, None, None, 0)
    mean = float(defined.mean())
    if defined.size == 1:
        return Summary(mean, None, None, 1)
    if math.isinf(mean):  # novelty(unseen=inf): its spread is no number
        return Summary(mean, None, None, defined.size)
    std = float(defined.std(ddof=1))
    half = NORMAL_95 * std / math.sqrt(defined.size)
    return Summary(mean, std, (mean - half, mean + half), defined.size)
