"""Conventions: the name of a system -> the options and policies of its metrics."""

import difflib
import re
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


def metric_of_call(text: str) -> tuple[Convention, str, str] | None:
    """Find the metric that a system names in this way: its convention, its name, and the metric.

    >>> metric_of_call("ndcg_cut_10")
    ('trec', 'trec_eval', 'ndcg@10')
    """
    for convention, system in CONVENTIONS.items():
        for line in (*system.lines, *system.variants):
            call = re.escape(line.call).replace(r"\{k\}", "([0-9]+)")
            found = re.fullmatch(call, text.strip(), re.IGNORECASE)
            if found is None:
                continue
            metric = line.metric.removesuffix("@k")
            if line in system.variants:  # the others have the options of the convention
                metric += f"({', '.join(f'{name}={each}' for name, each in line.options.items())})"
            return convention, system.name, metric + (f"@{found[1]}" if found.groups() else "")
    return None


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
