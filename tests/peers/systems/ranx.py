"""ranx: ``evaluate`` over Qrels and a Run, made comparable."""

from typing import Any

from ranx import Qrels, Run, evaluate

PACKAGE = "ranx"
REQUIREMENTS = ["ranx==0.3.21"]
TIES = []


def values(call: str, given: Any) -> list[float]:
    """Compute ``evaluate(qrels, run, call, make_comparable=True)`` for each user."""
    # rbp of graded truth exceeds 1.
    truth = given.truth > 0 if call.startswith("rbp") else given.truth
    qrels, runs = {}, {}
    for user, items in enumerate(given.lists()):
        if relevant := [item for item, grade in enumerate(truth[user]) if grade > 0]:
            qrels[str(user)] = {str(item): int(truth[user, item]) for item in relevant}
        if items:
            runs[str(user)] = {str(item): float(given.scores[user, item]) for item in items}
    out = [float("nan")] * len(given.scores)
    if qrels:  # it refuses none
        found = evaluate(
            Qrels(qrels),
            Run(runs) if runs else Run(),
            call,
            return_mean=False,
            make_comparable=True,
        )
        for user, value in zip(sorted(qrels), found, strict=True):
            out[int(user)] = float(value)
    return out
