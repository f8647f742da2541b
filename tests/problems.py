"""Random evaluation problems, and their answers by the plain-Python references."""

import functools
import math

import numba
import numpy as np
from hypothesis import strategies as st
from inside import CONVENTIONS, METRICS, AllLists, MetricSpec, OneList, OneUser, cosine, parse

# Without it, sizes that only make blocks and threads many may be smaller; what is about its size is
# marked ``needs_jit``.
JIT = not numba.config.DISABLE_JIT

# As messages list them.
_NAMES = [repr(convention) for convention in CONVENTIONS]
EVERY_CONVENTION = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"

# Few values, so that ties are common; both zeros, which are equal; -inf, which is not recommended.
SCORES = [-math.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, math.inf]


def listed_items(scores, excluded=(), candidates=None):
    """One user's ranking: what may be recommended, best first, lower index first among equals."""
    items = range(len(scores)) if candidates is None else candidates
    allowed = [i for i in items if i not in set(excluded) and scores[i] > -math.inf]
    return sorted(allowed, key=lambda i: (-scores[i], i))


def one_user(scores, truth, items, propensity=None):
    """What a reference reads of a user whose ranking is ``items``."""
    chances = [1.0] * len(truth) if propensity is None else [float(p) for p in propensity]
    relevant = sorted((i for i, t in enumerate(truth) if t > 0), key=lambda i: -truth[i])
    return OneUser(
        gains=[float(truth[i]) for i in items],
        relevances=[float(truth[i]) for i in relevant],
        scores=[np.asarray(scores[i]).item() for i in items],  # whole numbers exactly
        propensities=[chances[i] for i in items],
        relevant_propensities=[chances[i] for i in relevant],
    )


def by_reference(spec, scores, truth, exclude=None, candidates=None, side=None):
    """The metric of every user by its definition; exclude and candidates as lists of lists."""
    lists = [
        listed_items(
            row,
            () if exclude is None else exclude[u],
            None if candidates is None else candidates[u],
        )
        for u, row in enumerate(scores)
    ]
    return of_lists(spec, lists, scores, truth, candidates, side)


def of_lists(spec, lists, scores, truth, candidates=None, side=None):
    """The metric by its definition, of lists; one value per user, or of a system metric in all."""
    n_items = np.shape(truth)[1]
    if spec.metric.reads == "exposure":
        depth = n_items if spec.k is None else spec.k
        catalogue = range(n_items) if candidates is None else {i for c in candidates for i in c}
        system = AllLists([items[:depth] for items in lists], sorted(catalogue))
        return np.array(spec.metric.reference(system, **spec.values))
    values = []
    for u, items in enumerate(lists):
        k = depth_of(spec, items)
        if spec.metric.reads == "lists":
            user = one_list(u, items, truth[u], side)
        else:
            user = one_user(scores[u], truth[u], items, (side or {}).get("propensity"))
        values.append(spec.metric.reference(user, k, **spec.values))
    return by_default(spec, np.array(values))


def depth_of(spec, items):
    """The cutoff that a reference reads; None where the whole list makes another metric."""
    if spec.k is not None:
        return spec.k
    return None if spec.metric.default_k is None else len(items)


def by_default(spec, values):
    """The values without ``undefined=``."""
    return np.nan_to_num(values) if spec.metric.is_sum else values


def one_list(u, items, truth, side):
    """What a reference reads of a user's list and the side information."""
    features = np.asarray(side["features"]).tolist()
    return OneList(
        items=list(items),
        relevance=[float(t) for t in truth],
        popularity=np.asarray(side["popularity"]).tolist(),
        similarity=[[cosine(a, b) for b in features] for a in features],
        genres=np.asarray(side["genres"]).tolist(),
        profile=np.asarray(side["profile"])[u].tolist(),
        strata=side.get("strata", {}),
    )


def side_information(n_users, n_items, seed=0):
    """Side information with what is hard in it: zeros, ties, items without features or genres."""
    rng = np.random.default_rng(seed)
    popularity = rng.choice([0.0, 0.125, 0.25, 0.3, 0.5, 1.0], n_items)
    features = rng.integers(-2, 3, (n_items, 3)).astype(float)
    genres = (rng.random((n_items, 4)) < 0.4).astype(float)
    profile = rng.integers(0, 3, (n_users, 4)) * (rng.random((n_users, 1)) < 0.8)
    return {
        "popularity": popularity,
        "propensity": rng.choice([0.05, 0.3, 0.5, 1.0], n_items),
        "features": features,
        "genres": genres,
        "profile": profile.astype(float),
    }


@st.composite
def problems(draw, max_users=4, max_items=20):
    """Scores, truth, exclude (lists or None) and candidates (lists or None) of a few users."""
    n_users = draw(st.integers(1, max_users))
    n_items = draw(st.integers(1, max_items))

    def matrix(values):
        return np.array(values, dtype=float)[draw(cells(n_users, n_items)) % len(values)]

    scores = matrix(SCORES)
    truth = matrix([0.0, 0.0, 0.0, 1.0]) if draw(st.booleans()) else matrix([0, 0, 0.5, 1, 2, 4])
    sets = _none_or_lists(n_users, n_items)
    return scores, truth, draw(sets), draw(sets)


@functools.cache
def _none_or_lists(n_users, n_items):
    return st.none() | item_lists(n_users, n_items)


# Strategies are kept: Hypothesis checks a new one, which took longer than to draw from it.
@functools.cache
def cells(n_rows, n_columns):
    """A matrix of bytes: one draw, where a draw for each cell took half of the time of a test."""
    size = n_rows * n_columns
    drawn = st.binary(min_size=size, max_size=size)
    return drawn.map(lambda b: np.frombuffer(b, np.uint8).reshape(n_rows, n_columns))


@functools.cache
def item_lists(n_users, n_items, *, whole=False):
    """A list for each user in any order, of the items whose byte is below the first, or of all."""

    def lists(drawn):
        order = np.argsort(drawn[:, 1:], axis=1, kind="stable")
        counts = np.count_nonzero((drawn[:, 1:] < drawn[:, :1]) | whole, axis=1)
        return [items[:count].tolist() for items, count in zip(order, counts, strict=True)]

    return cells(n_users, n_items + 1).map(lists)


def numbers(option):
    """Values of a numeric option: its default, and some within its range."""
    low = max(option.above, 0.0)
    inside = [0.5, 0.9] if math.isfinite(option.below) else [low + 0.5, low + 1.0, low + 2.0]
    return [option.default, *inside]


@st.composite
def specs(draw, metric, max_k=24):
    """Any spec of a metric, over all of its options."""
    options = []
    for option in metric.options.values():
        values = option.choices or ([None] if option.is_name else numbers(option))
        if option.name == "max_rel":
            values = [None, 4.0, 5.5]  # at least the largest grade of the problems
        value = draw(_one_of(tuple(values)))
        if value != option.default:
            options.append((option.name, value))
    k = draw(st.none() | st.integers(1, max_k))
    return MetricSpec(metric.name, k, read(metric, options))


_one_of = functools.cache(st.sampled_from)


def read(metric, options):
    """Leave out the options that are not read beside the others."""
    unread = metric.unread(dict(options))
    return tuple((name, value) for name, value in options if name not in unread)


def is_refused(spec):
    """Say whether a metric divides by the hits found, and so has no tie policy but "index"."""
    chosen = spec.metric.without_orders.items()
    divides = any(spec.values[option] == choice for option, choice in chosen)
    return divides or bool(spec.metric.no_expectation)


def of_kind(*kinds):
    """The metrics of these kinds."""
    return [metric for metric in METRICS.values() if metric.reads in kinds]


def assert_every_metric(texts, *kinds):
    """Hold metric strings to name every metric of these kinds, and no other."""
    assert {parse(text).name for text in texts} == {metric.name for metric in of_kind(*kinds)}


def every_accuracy():
    """The strings of the metrics that read hits, with cutoffs and without."""
    metrics = of_kind("hits")
    return [f"{m.name}@{k}" for k in (1, 5, 60) for m in metrics if m.default_k] + [
        m.name for m in metrics
    ]


def plain_specs(k=3, kinds=("hits", "lists", "exposure")):
    """Every metric with its default options; where the whole list makes another metric, both."""
    specs = [MetricSpec(metric.name, k) for metric in of_kind(*kinds)]
    uncut = [MetricSpec(metric.name) for metric in of_kind(*kinds) if metric.default_k is None]
    return specs + [spec for spec in uncut if spec not in specs]


def as_index_arrays(sets):
    """Lists of lists as the index arrays that the public functions take."""
    return None if sets is None else [np.array(items, dtype=np.int64) for items in sets]


def index_sets(exclude, candidates):
    """The sets of a problem as keyword arguments."""
    return {"exclude": as_index_arrays(exclude), "candidates": as_index_arrays(candidates)}
