"""What the definitions answer to a problem of the fuzzer: values, or an error."""

import math
from functools import cached_property
from itertools import groupby, permutations, product
from typing import NamedTuple

import numpy as np
from fuzz_problems import CONSTANT, FLAT, INDEX_FORMS, RANKINGS
from problems import by_default, depth_of, listed_items, side_information

from recmetrics import NaNScoreError, UndefinedMetricError
from recmetrics._spec.conventions import line_for
from recmetrics._spec.grammar import parse
from recmetrics.metrics._reference import AllLists, OneList, OneUser, cosine


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
        elif undefined in (None, "nan"):
            values[text] = by_default(spec, values[text])
        missing = np.isnan(values[text])
        if undefined == "raise" and missing.any():
            # A method knows its metric by name alone.
            called = spec.name if problem.entry == "methods" else f"{text} is undefined"
            return Refused(UndefinedMetricError, called)
        if undefined in ("zero", "one"):
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


class _Reference:
    def __init__(self, problem):
        self.problem = problem
        self.lists = lists_of(problem)
        self.n_items = problem.shape[1]
        self.orders = {
            name: [self._orders(u, name) for u in range(len(self.lists))]
            for name in {parse(text, problem.convention).stratum for text in problem.metrics}
        }

    def values(self, spec, take):
        if spec.metric.reads == "exposure":
            return np.array(spec.metric.reference(self._all_lists(spec.k), **spec.values))
        n_items = self.n_items
        of_lists = self.problem.entry in RANKINGS and self.problem.truth_form in INDEX_FORMS
        if of_lists or self.problem.entry in FLAT:
            n_items = math.inf  # which nothing tells
        values = []
        for u, items in enumerate(self.lists):
            k = depth_of(spec, items, n_items)
            users = (
                self.orders[spec.stratum][u] if spec.metric.reads == "hits" else [self._one_list(u)]
            )
            values.append(take([spec.metric.reference(user, k, **spec.values) for user in users]))
        return np.array(values)

    def _orders(self, u, stratum):
        """What a reference reads of a user, in every order that the tie policy asks for."""
        items, truth = self.lists[u], self.problem.truth[u]
        if stratum is not None:
            truth = [t if i in self.problem.stratum[u] else 0.0 for i, t in enumerate(truth)]
        n_items = self.n_items
        constant = self.problem.entry in CONSTANT
        scores = (0.0,) * n_items if constant else self.problem.scores[u]
        policy = self.problem.policy
        relevances = sorted((t for t in truth if t > 0), reverse=True)
        if policy == "index" and self.problem.entry not in RANKINGS:
            return [OneUser([truth[i] for i in items], relevances, [scores[i] for i in items])]
        strict = [float(-rank) for rank in range(len(items))]
        groups = [list(same) for _, same in groupby(items, key=lambda i: scores[i])]
        if policy == "index":
            sequences = [[truth[i] for i in items]]
        elif policy == "expected":
            orders = (sorted(set(permutations(truth[i] for i in group))) for group in groups)
            sequences = [[t for group in order for t in group] for order in product(*orders)]
        else:
            best = policy == "best"
            sequences = [[t for g in groups for t in sorted((truth[i] for i in g), reverse=best)]]
        return [OneUser(gains, relevances, strict) for gains in sequences]

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
        )

    def _all_lists(self, k):
        candidates = self.problem.candidates
        catalogue = range(self.n_items)
        if candidates is not None:
            catalogue = {i for items in candidates for i in items}
        depth = self.n_items if k is None else k
        return AllLists([items[:depth] for items in self.lists], sorted(catalogue))
