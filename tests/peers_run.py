"""Run one system on problems: ``python peers_run.py SYSTEM.py PROBLEMS.json ANSWERS.json``.

It runs in the environment of the system, which has NumPy but not this library. A module of
``systems/`` is the side of one system: ``REQUIREMENTS``, ``version()`` and ``values(call, given)``.
Modules are loaded by their path, since their names are those of the packages that they call.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Given(NamedTuple):
    """One problem: what the users of a system have."""

    scores: np.ndarray  # (n_users, n_items) between 0 and 1
    truth: np.ndarray  # (n_users, n_items) grades, 0 = not relevant
    exclude: np.ndarray  # (n_users, n_items) True: must not be recommended; it may be relevant
    k: int
    gaps: np.ndarray  # (n_users, n_items) by how much each rank of a list exceeds its position

    def lists(self):
        """The recommended items of each user, best first; equal scores by the lower index."""
        return [
            [item for item in np.argsort(-scores, kind="stable").tolist() if not hidden[item]]
            for scores, hidden in zip(self.scores, self.exclude, strict=True)
        ]

    def of_rows(self, value):
        """``value(grades, scores)`` of each user's rows, in order of the items.

        An item that must not be recommended has no row; NaN of a user without a row.
        """
        found = []
        for user, items in enumerate(self.lists()):
            listed = sorted(items)
            rows = self.truth[user, listed], self.scores[user, listed]
            found.append(value(*rows) if listed else float("nan"))
        return found

    @property
    def ranks(self):
        """The ranks of each list's items: 1, 2, 3, ..., or with gaps."""
        return [
            [rank + int(gap) for rank, gap in enumerate(gaps[: len(items)], start=1)]
            for items, gaps in zip(self.lists(), self.gaps, strict=True)
        ]


def load(path):
    """Load the module of a system."""
    spec = importlib.util.spec_from_file_location(f"peer_{Path(path).stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(path, problems, answers):
    """Compute every call of every problem."""
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx would compile for two minutes
    system = load(path)
    found = []
    for problem in json.loads(Path(problems).read_text()):
        scores, truth, exclude, gaps = (
            np.array(problem[name]) for name in ("scores", "truth", "exclude", "gaps")
        )
        given = Given(scores, truth, exclude, problem["k"], gaps)
        found.append([list(map(float, system.values(call, given))) for call in problem["calls"]])
    Path(answers).write_text(json.dumps({"version": system.version(), "values": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
