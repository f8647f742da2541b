"""Conventions: the name of a system -> the options and policies of its metrics."""

import difflib
from typing import cast

from recmetrics._errors import UnknownMetricError
from recmetrics._options import one_of
from recmetrics._spec.systems import CONVENTIONS, Line
from recmetrics._types import Convention

NUMBERS = {"zero": 0.0, "one": 1.0}  # the values that ``undefined=`` names

# Other names of these systems.
_ALSO: dict[str, Convention] = {
    "lkpy": "lenskit",
    "pytrec_eval": "trec",
    "trec_eval": "trec",
    "scikit-learn": "sklearn",
    "pyspark": "spark",
    "pyg": "torch_geometric",
    "sbert": "sentence_transformers",
    "lgbm": "lightgbm",
    "replay-rec": "replay",
    "torchmetric": "torchmetrics",
}


def read_convention(convention: object) -> Convention:
    """Read the name of a system in any case.

    Raises
    ------
    ArgumentError
        If there is no such system; the message names the nearest.
    """
    name = convention.lower() if isinstance(convention, str) else ""
    if name not in CONVENTIONS:
        near = difflib.get_close_matches(name, [*CONVENTIONS, *_ALSO], n=1)
        hint = f"; did you mean {_ALSO.get(near[0], near[0])!r}?" if near else ""
        one_of("convention", convention, Convention, hint)
    return cast(Convention, name)


def line_for(convention: Convention, name: str, *, cutoff: bool) -> Line:
    """Find the line of a system for the plain name of a metric.

    Raises
    ------
    UnknownMetricError
        If the system does not compute that metric; the message names its metrics.
    """
    system = CONVENTIONS[convention]
    asked = f"{name}@k" if cutoff else name
    for line in system.lines:
        if line.metric == asked:
            return line
    has = ", ".join(line.metric for line in system.lines)
    msg = (
        f"convention {convention!r} has no {asked!r}: {system.name} does not compute it; expected "
        f"one of {has}; compute it in a call without convention="
    )
    raise UnknownMetricError(msg)
