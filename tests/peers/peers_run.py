"""Run one system on problems: ``python peers_run.py SYSTEM.py PROBLEMS.json ANSWERS.json``.

It runs in the environment of the system, which has NumPy but not this library. A module of
``systems/`` is the side of one system: ``PACKAGE``, ``REQUIREMENTS``, ``values(call, given)``,
and ``groups(call, groups)`` where it reads many groups at once: one value of each, or the mean.
Modules are loaded by their path, since their names are those of the packages that they call.
"""

import importlib.util
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Groups(NamedTuple):
    """The users of a problem as groups: one row of each item that may be recommended."""

    scores: np.ndarray  # (n_rows,) the rows of each group side by side
    grades: np.ndarray  # (n_rows,)
    sizes: np.ndarray  # (n_groups,) the rows of each group; it may have none

    def mixed(self):
        """The scores, the grades and the group of each row: first rows of all groups first."""
        ids = np.repeat(np.arange(len(self.sizes)), self.sizes)
        place = np.arange(len(ids)) - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        order = np.argsort(place, kind="stable")
        return self.scores[order], self.grades[order], ids[order]

    def each(self):
        """The grades and the scores of one group after the other."""
        cuts = np.cumsum(self.sizes)[:-1]
        return zip(np.split(self.grades, cuts), np.split(self.scores, cuts), strict=True)


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
        return [value(*rows) if len(rows[0]) else float("nan") for rows in self.groups().each()]

    def groups(self):
        """The users as groups, whose rows are in order of the items."""
        hidden = self.exclude.astype(bool)
        return Groups(self.scores[~hidden], self.truth[~hidden], (~hidden).sum(axis=1))

    def has_rows(self):
        """Say whether any group has a row; a system may refuse them otherwise."""
        return not self.exclude.astype(bool).all()

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


def answered(system, given, calls):
    """What a system answers to each call, and of the groups, or None where it reads none."""
    calls = [call.format(k=given.k) for call in calls]
    values = [list(map(float, system.values(call, given))) for call in calls]
    if not hasattr(system, "groups") or not given.has_rows():
        return values, None
    groups = given.groups()
    return values, [list(map(float, system.groups(call, groups))) for call in calls]


def main(path, problems, answers):
    """Compute every call of every problem."""
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx would compile for two minutes
    system = load(path)
    found = []
    for problem in json.loads(Path(problems).read_text()):
        arrays = (np.array(problem[name]) for name in ("scores", "truth", "exclude"))
        given = Given(*arrays, problem["k"], np.array(problem["gaps"]))
        found.append(answered(system, given, problem["calls"]))
    values, of_groups = [each for each, _ in found], [each for _, each in found if each is not None]
    version = getattr(system, "VERSION", None) or metadata.version(system.PACKAGE)
    answer = {"version": version, "values": values, "groups": of_groups}
    Path(answers).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
