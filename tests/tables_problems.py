"""Tables of recommendations for the tests, and their metrics list by list in plain Python."""

import math

import numpy as np
import pytest
from packages import absent

N_USERS, N_ITEMS = 12, 9
KINDS = ("pandas", "polars", "pyarrow")
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
_MISSING = absent("import polars, pyarrow")
_IN_PARTS = pytest.param(
    2, marks=pytest.mark.skipif(_MISSING is not None, reason=f"{_MISSING} is not installed")
)
WHOLE_AND_IN_PARTS = pytest.mark.parametrize("chunks", [None, _IN_PARTS])


def make(kind, columns):
    """A table of one library from columns."""
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    return library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)


def read(table):
    """The columns of a result as lists, the keys of a pandas index too; a null as NaN."""
    if hasattr(table, "reset_index"):
        return table.reset_index().to_dict(orient="list")
    found = table.to_pydict() if hasattr(table, "to_pydict") else table.to_dict(as_series=False)
    return {
        name: [math.nan if value is None else value for value in values]
        for name, values in found.items()
    }


def lists_of(recs, keys):
    """Rows of each list, in order of first appearance, sorted by rank, by score, or not at all."""
    found = {}
    for row in range(len(recs["item"])):
        found.setdefault(tuple(recs[key][row] for key in keys), []).append(row)
    if "rank" in recs:
        return {key: sorted(rows, key=lambda r: recs["rank"][r]) for key, rows in found.items()}
    if "score" in recs:
        return {key: sorted(rows, key=lambda r: -recs["score"][r]) for key, rows in found.items()}
    return found


def truth_of(truth, key):
    """The ratings of the items of one truth; ``key`` holds the columns to match."""
    ratings = truth.get("rating", [1.0] * len(truth["item"]))
    return {
        item: ratings[row]
        for row, item in enumerate(truth["item"])
        if all(truth[name][row] == value for name, value in key.items())
    }


def lenskit_at_ranks(name, ranked, truth, k=None):
    """LensKit's metrics for one list of (rank, item) in a table with ranks, its bulk path."""
    if name == "dcg":
        return lenskit(name, [item for _, item in ranked], truth) if truth else math.nan
    cut = [(rank, item) for rank, item in ranked if k is None or rank <= k]
    if name == "ndcg":
        ideal = discounted(sorted(truth.values(), reverse=True)[:k])
        gains = sum(truth.get(item, 0.0) / max(math.log2(rank), 1) for rank, item in cut)
        return gains / ideal if ideal else math.nan
    if not cut:
        return math.nan
    hits = [rank for rank, item in cut if item in truth]
    if name == "recall":
        return len(hits) / min(len(truth), k or len(truth)) if truth else math.nan
    return {
        "precision": len(hits) / (k or len(cut)),
        "hit": float(len(hits) > 0),
        "recip_rank": 1 / min(hits, default=math.inf),
    }[name]


def lenskit(name, items, truth, k=None):
    """LensKit's metrics for one list, by their definitions."""
    cut = items if k is None else items[:k]
    found = [item in truth for item in cut]
    n_relevant = len(truth) if k is None else min(len(truth), k)
    if name == "precision":
        return sum(found) / len(cut)
    if name == "recip_rank":
        return 1 / (found.index(True) + 1) if any(found) else 0.0
    if name == "dcg":
        return discounted([truth.get(item, 0.0) for item in items])
    if not truth:
        return math.nan
    if name == "recall":
        return sum(found) / n_relevant
    if name == "hit":
        return float(any(found))
    ideal = discounted(sorted(truth.values(), reverse=True)[:k])
    return discounted([truth.get(item, 0.0) for item in cut]) / ideal if ideal else math.nan


def discounted(gains):
    return sum(gain / max(math.log2(rank), 1) for rank, gain in enumerate(gains, start=1))


def random_problem(seed=0):
    """Rankings and truth as matrices, and the same as tables whose rows are shuffled."""
    rng = np.random.default_rng(seed)
    ranking = np.full((N_USERS, 5), -1)
    truth = rng.integers(0, 3, (N_USERS, N_ITEMS)) * (rng.random((N_USERS, N_ITEMS)) < 0.4)
    truth[3] = 0
    for user in range(N_USERS):
        length = rng.integers(1, 6)
        ranking[user, :length] = rng.permutation(N_ITEMS)[:length]
    users, ranks = np.nonzero(ranking >= 0)
    rows = rng.permutation(len(users))
    listed = {
        "who": [f"u{user}" for user in users[rows]],
        "thing": [f"i{item}" for item in ranking[users, ranks][rows]],
        "place": ranks[rows] + 1,
    }
    users, items = np.nonzero(truth)
    relevant = {
        "who": [f"u{user}" for user in users],
        "thing": [f"i{item}" for item in items],
        "stars": truth[users, items],
    }
    return ranking, truth, listed, relevant


def side_tables(side):
    items = [f"i{item}" for item in range(N_ITEMS)]
    users = [f"u{user}" for user in range(N_USERS)]
    genres = side["genres"]
    return {
        "catalogue": {"thing": items[::-1]},
        "popularity": {"thing": items, "share": side["popularity"]},
        "features": {"thing": items, **{f"f{i}": side["features"][:, i] for i in range(3)}},
        "genres": {"thing": items, **{f"g{i}": genres[:, i] for i in range(4)}},
        "profile": {"who": users, **{f"g{3 - i}": side["profile"][:, 3 - i] for i in range(4)}},
    }
