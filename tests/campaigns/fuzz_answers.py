"""What the definitions answer to a problem of the fuzzer: values, or an error."""

import math
from functools import cached_property
from itertools import groupby, permutations, product
from typing import NamedTuple

import numpy as np
from fuzz_problems import CONSTANT, RANKINGS
from inside import AllLists, OneList, cosine, parse
from problems import by_default, depth_of, listed_items, one_user, side_information

from recmetrics import NaNScoreError, UndefinedMetricError
from recmetrics._core.spec.systems import line_for


class Refused(NamedTuple):
    """An error, and what its message begins with."""

    error: type
    text: str


def side_of(problem):
    """The side information of a problem."""
    return side_information(*problem.shape, seed=problem.seed % 1000)


def lists_of(problem):
    """Each user's list, whole, or for an entry point that reads rankings cut somewhere."""
    n_users, n_items = problem.shape
    lists = []
    for u in range(n_users):
        scores = problem.scores[u] if problem.entry not in CONSTANT else (0.0,) * n_items
        excluded = () if problem.exclude is None else problem.exclude[u]
        candidates = range(n_items) if problem.candidates is None else problem.candidates[u]
        numbers = [i for i in candidates if not math.isnan(scores[i])]
        lists.append(listed_items(scores, excluded, numbers))
    if problem.entry in RANKINGS:
        least = 0 if problem.entry == "ranked" else 1  # who is in no row is no user of a table
        cuts = np.random.default_rng(problem.seed).integers(least, n_items + 1, n_users)
        lists = [items[: int(cut)] for items, cut in zip(lists, cuts, strict=True)]
    return lists


# The metrics that a user without relevant items does not have, and others do; sums have 0 there.
NEED_RELEVANT = {
    *("hit", "precision", "recall", "f1", "map", "mrr", "ndcg", "r_precision", "rbp", "err"),
    *("serendipity", "auc", "mean_rank", "percentile_rank"),
}


def answers(problem):
    """The value of every metric by its definition, or ``Refused``."""
    refused = _nan(problem)
    if refused:
        return refused
    keys = problem.keys
    specs = {key: parse(text, problem.convention) for key, (text, _) in keys.items()}
    reference = _Reference(problem)
    values = {key: reference.values(spec, keys[key][1]) for key, spec in specs.items()}
    for text, spec in specs.items():
        undefined = problem.undefined
        if undefined is None and problem.convention is not None:
            cut = spec.k is not None
            undefined = line_for(problem.convention, spec.name, cutoff=cut).undefined
        elif undefined != "raise":
            values[text] = by_default(spec, values[text])
        missing = np.isnan(values[text])
        if undefined == "raise" and missing.any():
            # A method knows its metric by name alone.
            called = spec.name if problem.entry == "methods" else f"{text} is undefined"
            return Refused(UndefinedMetricError, called)
        is_of_system = problem.undefined is None
        if undefined in ("zero", "one") and (is_of_system or spec.name in NEED_RELEVANT):
            values[text][missing] = float(undefined == "one")
    return values


def _nan(problem):
    """The error of NaN among the scores that are read."""
    if problem.nan == "exclude" or problem.entry in {*RANKINGS, *CONSTANT}:
        return None
    n_users, n_items = problem.shape
    everything = (range(n_items),) * n_users
    found = [
        (u, i)
        for u, items in enumerate(problem.candidates or everything)
        for i in items
        if math.isnan(problem.scores[u][i])
    ]
    if not found:
        return None
    first = "(user {}, item {})".format(*found[0])
    return Refused(NaNScoreError, f"scores hold {len(found)} NaN, the first at {first};")


def _key(spec):
    """What the users that a reference reads depend on."""
    return spec.stratum, spec.is_weighed


def _permutations(items, alike):
    """One of the orders of ``items`` that look the same, by what each item is ``alike``."""
    return list({tuple(alike[i] for i in order): order for order in permutations(items)}.values())


class _Reference:
    def __init__(self, problem):
        self.problem = problem
        self.lists = lists_of(problem)
        self.n_items = problem.shape[1]
        self.orders = {
            key: [self._orders(u, *key) for u in range(len(self.lists))]
            for key in {_key(parse(text, problem.convention)) for text in problem.metrics}
        }

    def values(self, spec, take):
        if spec.metric.reads == "exposure":
            return np.array(spec.metric.reference(self._all_lists(spec.k), **spec.values))
        values = []
        for u, items in enumerate(self.lists):
            k = depth_of(spec, items)
            users = (
                self.orders[_key(spec)][u] if spec.metric.reads == "hits" else [self._one_list(u)]
            )
            values.append(take([spec.metric.reference(user, k, **spec.values) for user in users]))
        return np.array(values)

    def _orders(self, u, stratum, is_weighed):
        """What a reference reads of a user, in every order that the tie policy asks for."""
        items, truth = self.lists[u], self.problem.truth[u]
        if stratum is not None:
            truth = [t if i in self.problem.stratum[u] else 0.0 for i, t in enumerate(truth)]
        n_items = self.n_items
        constant = self.problem.entry in CONSTANT
        scores = (0.0,) * n_items if constant else self.problem.scores[u]
        policy = self.problem.policy
        propensity = self._side["propensity"]

        def user(items, values):
            return one_user(values, truth, items, propensity)

        if policy == "index" and self.problem.entry not in RANKINGS:
            return [user(items, scores)]
        strict = [0.0] * n_items
        groups = [list(same) for _, same in groupby(items, key=lambda i: scores[i])]
        if policy == "index":
            orders = [items]
        elif policy == "expected":
            alike = list(zip(truth, propensity, strict=True)) if is_weighed else truth
            ways = [_permutations(group, alike) for group in groups]
            orders = [[i for group in order for i in group] for order in product(*ways)]
        else:
            best = policy == "best"
            orders = [[i for g in groups for i in sorted(g, key=lambda i: truth[i], reverse=best)]]
        found = []
        for order in orders:
            for rank, item in enumerate(order):
                strict[item] = float(-rank)
            found.append(user(order, strict.copy()))
        return found

    @cached_property
    def _side(self):
        return {name: array.tolist() for name, array in side_of(self.problem).items()}

    @cached_property
    def _similarity(self):
        features = self._side["features"]
        return [[cosine(a, b) for b in features] for a in features] if self.n_items <= 50 else []

    def _one_list(self, u):
        side = self._side
        return OneList(
            items=self.lists[u],
            relevance=list(self.problem.truth[u]),
            popularity=side["popularity"],
            similarity=self._similarity,
            genres=side["genres"],
            profile=side["profile"][u],
            strata={} if self.problem.stratum is None else {"s": self.problem.stratum[u]},
        )

    def _all_lists(self, k):
        candidates = self.problem.candidates
        catalogue = range(self.n_items)
        if candidates is not None:
            catalogue = {i for items in candidates for i in items}
        depth = self.n_items if k is None else k
        return AllLists([items[:depth] for items in self.lists], sorted(catalogue))
