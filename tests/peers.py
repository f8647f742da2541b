"""The installed peers: every call of the convention table, run as it is written there."""

import importlib
import warnings
from contextlib import contextmanager
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import config

from recmetrics import Metrics
from recmetrics._spec.conventions import CONVENTIONS
from recmetrics._spec.grammar import make_spec
from recmetrics._spec.registry import METRICS

PACKAGES = {  # of each system that can be run here: what is imported, what is installed
    "trec": ("pytrec_eval", "pytrec_eval-terrier"),
    "rectools": ("rectools.metrics", "RecTools"),
    "ranx": ("ranx", "ranx"),
    "sklearn": ("sklearn.metrics", "scikit-learn"),
    "torchmetrics": ("torchmetrics.retrieval", "torchmetrics"),
    "irspack": ("irspack", "irspack"),
}


class Problem(NamedTuple):
    """Scores without ties, truth with users who have none, and lists shorter than k."""

    scores: np.ndarray
    truth: np.ndarray
    exclude: np.ndarray  # items of no relevance, so that every peer counts the same R
    k: int

    def listed(self, user):
        """The items that may be recommended to a user."""
        return np.flatnonzero(self.exclude[user] == 0)


def problem(rng, *, graded):
    """A random problem; scores between 0 and 1, since torchmetrics reads no others right."""
    n_users, n_items = rng.integers(1, 7), rng.integers(4, 31)
    scores = rng.permuted(np.tile(np.arange(1.0, n_items + 1), (n_users, 1)), axis=1) / 32
    share = rng.choice([0.1, 0.3, 0.7])
    truth = (rng.random((n_users, n_items)) < share) * rng.integers(1, 5 if graded else 2, n_items)
    truth *= rng.random((n_users, 1)) < 0.8
    exclude = (truth == 0) & (rng.random(truth.shape) < rng.choice([0.0, 0.5, 0.9]))
    exclude[:, :2] = False  # one item alone is no ranking to scikit-learn
    return Problem(scores, truth, exclude.astype(int), int(rng.integers(1, n_items + 1)))


def installed(convention):
    """Whether the peer can be imported."""
    try:
        imported(convention)
    except ImportError:
        return False
    return True


def imported(convention):
    """The module that holds a peer's metrics."""
    with quiet():
        return importlib.import_module(PACKAGES[convention][0])


@contextmanager
def quiet():
    """A peer's own warnings are not ours; ranx would compile for two minutes, so it does not."""
    jit, config.DISABLE_JIT = config.DISABLE_JIT, 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        config.DISABLE_JIT = jit


def installed_version(convention):
    """The version that is installed."""
    return version(PACKAGES[convention][1])


def theirs(convention, line, given):
    """The values of every user by the peer itself; NaN where it leaves the user out."""
    module = imported(convention)
    with quiet():
        return np.array(_RUN[convention](module, line.call.format(k=given.k), given), float)


def ours(convention, line, given, *, variant=False):
    """The values under the plain name and the convention; of a variant by its options."""
    name, _, cutoff = line.metric.partition("@")
    k = given.k if cutoff else None
    text = str(make_spec(name, k, line.options if variant else None))
    scores, truth, exclude, _ = given
    got = Metrics.compute(
        scores,
        truth,
        [text],
        exclude=exclude,
        convention=None if variant else convention,
        undefined=line.undefined if variant else None,
        ties=line.ties if variant else None,
    )
    return got[text]


def agreement(convention, n_problems, seed=0):
    """The largest difference of each call from the installed peer, over random problems."""
    system = CONVENTIONS[convention]
    calls = [*((line, False) for line in system.lines), *((line, True) for line in system.variants)]
    rng = np.random.default_rng(seed)
    worst = {line.call: 0.0 for line, _ in calls}
    for _ in range(n_problems):
        given = problem(rng, graded=not system.binary)
        for line, variant in calls:
            if METRICS[line.metric.partition("@")[0]].reads == "exposure":
                given = with_truth(given)  # irspack reads no other lists
            got = ours(convention, line, given, variant=variant)
            expected = theirs(convention, line, given)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), err_msg=line.call)
            difference = np.abs(got - expected)[~np.isnan(got)].max(initial=0.0)
            worst[line.call] = max(worst[line.call], float(difference))
    return worst


def with_truth(given):
    """The users of a problem who have relevant items, or one that has been given one."""
    scores, truth, exclude, k = given
    if not truth.any():
        truth = truth.copy()
        truth[0, 0] = 1
        exclude = exclude * (truth == 0)
    users = truth.any(axis=1)
    return Problem(scores[users], truth[users], exclude[users], k)


# --- How each peer is called ---------------------------------------------------------------------


def _documents(given):
    """The lists and the truth of every user as ranx and trec_eval take them: names and numbers."""
    runs, qrels = {}, {}
    for user in range(len(given.scores)):
        name = f"u{user:03d}"
        runs[name] = {f"d{i}": float(given.scores[user, i]) for i in given.listed(user)}
        relevant = {f"d{i}": int(given.truth[user, i]) for i in np.flatnonzero(given.truth[user])}
        qrels[name] = relevant or {"d0": 0}
    return runs, qrels


def _ranx(module, call, given):
    if call.startswith("rbp"):  # of graded truth it is none: see the table
        given = given._replace(truth=given.truth > 0)
    runs, qrels = _documents(given)
    return module.evaluate(module.Qrels(qrels), module.Run(runs), call, return_mean=False)


def _trec(module, call, given):
    runs, qrels = _documents(given)
    measure, _, k = call.rpartition("_")
    asked = f"{measure}.{k}" if k.isdecimal() else call
    found = module.RelevanceEvaluator(qrels, {asked}).evaluate(runs)
    return [found[user][call] for user in sorted(found)]


def _rectools(module, call, given):
    import pandas as pd

    rows = [
        (user, item, rank)
        for user in range(len(given.scores))
        for rank, item in enumerate(
            sorted(given.listed(user), key=lambda i: -given.scores[user, i]), start=1
        )
    ]
    recommended = pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
    users, items = np.nonzero(given.truth)
    relevant = pd.DataFrame({"user_id": users, "item_id": items})
    metric = eval(call, vars(module))
    if isinstance(metric, module.CatalogCoverage):
        return metric.calc(recommended, catalog=range(given.scores.shape[1]))
    values = metric.calc_per_user(recommended, relevant)
    return values.reindex(range(len(given.scores))).to_numpy()


def _sklearn(module, call, given):
    graded = "dcg" in call
    values = []
    for user, scores in enumerate(given.scores):
        listed = given.listed(user)
        truth = given.truth[user, listed]
        names = {"truth": truth if graded else truth > 0, "scores": scores[listed]}
        values.append(eval(call, vars(module), names))
    return values


def _torchmetrics(module, call, given):
    import torch

    values = []
    for user, scores in enumerate(given.scores):
        listed = given.listed(user)
        truth = given.truth[user, listed]
        metric = eval(call, vars(module))
        metric.update(
            torch.tensor(scores[listed], dtype=torch.float32),
            torch.tensor(truth if "DCG" in call else truth > 0),
            indexes=torch.zeros(len(listed), dtype=torch.long),
        )
        values.append(metric.compute().item())
    return values


def _irspack(module, call, given):
    evaluator, _, name = call.partition(": ")
    scores = np.where(given.exclude, -np.inf, given.scores)

    def means(users):
        names = {"truth": sp.csr_matrix(given.truth[users].astype(float))}
        return eval(evaluator, vars(module), names).get_score_from_score_matrix(scores[users])

    if name in ("gini_index", "catalog_coverage"):
        return means(slice(None))[name]
    each = [means([user]) for user in range(len(scores))]  # a mean over one user is that user
    return [mean[name] if mean["valid_user"] else np.nan for mean in each]


_RUN = {
    "trec": _trec,
    "rectools": _rectools,
    "ranx": _ranx,
    "sklearn": _sklearn,
    "torchmetrics": _torchmetrics,
    "irspack": _irspack,
}
