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
    """Read the name of a system in any case; the error names the nearest."""
    name = convention.lower() if isinstance(convention, str) else ""
    if name not in CONVENTIONS:
        near = difflib.get_close_matches(name, [*CONVENTIONS, *_ALSO], n=1)
        hint = f"; did you mean {_ALSO.get(near[0], near[0])!r}?" if near else ""
        one_of("convention", convention, Convention, hint)
    return cast(Convention, name)


def meant_elsewhere(text: str) -> str:
    """The hint for what another system calls a metric, or "".

    >>> meant_elsewhere("ndcg_cut_10")
    "did you mean 'ndcg@10' with convention='trec', which is ndcg_cut_10 of trec_eval?"
    """
    for convention, system in CONVENTIONS.items():
        for line in (*system.lines, *system.variants):
            call = re.escape(line.call).replace(r"\{k\}", "([0-9]+)")
            found = re.fullmatch(call, text.strip(), re.IGNORECASE)
            if found is not None:
                # Metrics other than variants have the options of the convention.
                metric = line.written if line in system.variants else line.metric
                metric = metric.replace("@k", f"@{''.join(found.groups())}")
                return (
                    f"did you mean {metric!r} with convention={convention!r}, which is {text} of "
                    f"{system.name}?"
                )
    return ""


def line_for(convention: Convention, name: str, *, cutoff: bool) -> Line:
    """Find the line of a system for the plain name of a metric; the error names its metrics."""
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
