"""The entry points, each as a function from a problem to values, and the forms of their inputs.

``@entry`` registers one; the fuzzer draws problems for those whose packages are installed.
"""

import importlib.util
import pickle
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fuzz_answers import lists_of, side_of
from fuzz_problems import INDEX_FORMS, SHARED_FORMS, TENSORS
from inside import METRICS, parse
from interruption import in_threads
from tables_problems import read

from recmetrics import Evaluator, Metrics, StreamEvaluator

try:
    import torch
    from elsewhere import elsewhere
except ImportError:
    torch = None

ENTRIES = {}
NEEDS = {}  # the packages of an entry point
TABLES = ["pandas", "polars", "pyarrow"]


def entry(*packages):
    """Register an entry point under the name of its function."""

    def register(function):
        name = function.__name__.replace("_", " ")
        ENTRIES[name], NEEDS[name] = function, packages
        return function

    return register


def available():
    """The entry points that run here."""
    return [name for name in ENTRIES if all(map(importlib.util.find_spec, NEEDS[name]))]


# --- Forms of inputs -----------------------------------------------------------------------------


def _dense(array, form):
    """The same numbers in another dtype or place of memory."""
    if form in ("float32", "float16"):
        return array.astype(form)
    if form == "F":
        return np.asfortranarray(array)
    if form == "columns":
        wide = np.zeros((len(array), 2 * array.shape[1]), array.dtype)
        wide[:, ::2] = array
        return wide[:, ::2]
    if form == "backwards":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if form == "read-only":
        array = array.copy()
        array.flags.writeable = False
        return array
    if form == "byte-swapped":
        return array.astype(array.dtype.newbyteorder("S"))
    if form == "memory map":
        with tempfile.TemporaryDirectory() as folder:  # what is mapped outlives its name
            path = Path(folder) / "scores.npy"
            np.save(path, array)
            return np.load(path, mmap_mode="r")
    if form == "lists":
        return array.tolist()
    if form.startswith("tensor"):
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        if form == "tensor columns":
            tensor = tensor.T.contiguous().T
        return tensor.requires_grad_() if form == "tensor with grad" else tensor
    return array


def _sparse(array, form):
    if form == "csr_matrix":
        return sp.csr_matrix(array)
    if form == "split coo":  # each entry in two halves, to be added up
        users, items = np.nonzero(array)
        halves = np.concatenate([array[users, items] / 2] * 2)
        places = np.concatenate([users, users]), np.concatenate([items, items])
        return sp.coo_array((halves, places), shape=array.shape)
    if form == "messy csr":  # unsorted 64-bit indices, and every zero stored
        n_users, n_items = array.shape
        items = np.tile(np.arange(n_items)[::-1], n_users)
        start = np.arange(n_users + 1) * n_items
        return sp.csr_array((array[:, ::-1].ravel(), items, start), shape=array.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # of many diagonals
        return sp.csr_array(array).asformat(form)


def _formed(array, form):
    """A matrix users x items in one of the forms of truth, exclude and candidates."""
    lists = [np.flatnonzero(row) for row in array]
    if form == "arrays":
        return lists
    if form == "classes":
        return np.array([items[0] if items.size else -1 for items in lists])
    if form == "sets":
        return [set(items.tolist()) for items in lists]
    if form == "tuples of int32":
        return tuple(items[::-1].astype(np.int32) for items in lists)
    if form == "shared":
        return lists[0][::-1].copy()
    if form == "shared list":
        return lists[0].tolist()
    if form == "mask":
        return array[0] != 0
    if form in ("dense", "float32", "float16", "F", "columns", "read-only", "byte-swapped"):
        return _dense(array, form)
    if form == "tensor":
        return array.tolist() if torch is None else _dense(array, form)
    return _sparse(array, form)


def scores_of(problem, layout=None):
    """The scores of a problem as an entry point takes them."""
    layout = problem.layout if layout is None else layout
    if problem.dtype == "bfloat16":
        tensor = torch.tensor(problem.scores, dtype=torch.float32).bfloat16()
        if layout == "tensor columns":
            tensor = tensor.T.contiguous().T
        return tensor.requires_grad_() if layout == "tensor with grad" else tensor
    if layout in TENSORS and torch is None:
        layout = "C"
    return _dense(np.array(problem.scores, problem.dtype), layout)


def truth_of(problem):
    """The truth of a problem in its form."""
    return _formed(np.array(problem.truth, float), problem.truth_form)


def sets_of(problem):
    """The keyword arguments exclude, candidates and strata of a problem."""
    sets = {}
    rng = np.random.default_rng(problem.seed)
    for name in ("exclude", "candidates", "stratum"):
        chosen = getattr(problem, name)
        if chosen is None:
            continue
        array = np.zeros(problem.shape)
        for u, items in enumerate(chosen):
            array[u, list(items)] = rng.choice([-1.0, 0.5, 1.0, 3.0], len(items))
        sets[name] = _formed(array, getattr(problem, f"{name}_form"))
    if "stratum" in sets:
        sets["strata"] = {"s": sets.pop("stratum")}
    return sets


def _options(problem, *names):
    return {name: getattr(problem, name) for name in (*names, "undefined", "convention")}


def _scored(problem):
    """The keyword arguments of an entry point that reads scores."""
    options = _options(problem, "ties", "nan", "n_threads")
    return options | sets_of(problem) | side_of(problem)


# --- Entry points --------------------------------------------------------------------------------


@entry()
def compute(problem):
    return Metrics.compute(
        scores_of(problem), truth_of(problem), list(problem.metrics), **_scored(problem)
    )


@entry()
def sparse(problem):
    """Scores of which some that are -inf are not stored."""
    rng = np.random.default_rng(problem.seed)
    is_half = problem.dtype in ("float16", "bfloat16")  # which SciPy does not have
    dense = np.array(problem.scores, np.float32 if is_half else problem.dtype)
    users, items = np.nonzero((dense != -np.inf) | (rng.random(dense.shape) < 0.5))
    order = rng.permutation(len(users))
    users, items = users[order], items[order]
    scores = sp.coo_array((dense[users, items], (users, items)), shape=dense.shape)
    scores = scores.asformat(str(rng.choice(["coo", "csr", "csc", "lil", "dok"])))
    truth, metrics, options = truth_of(problem), list(problem.metrics), _scored(problem)
    if rng.random() < 0.5:
        return Metrics.compute(scores, truth, metrics, **options)
    evaluator = Evaluator(truth, metrics, n_items=problem.shape[1], **options)
    evaluator.update(scores)
    return evaluator.compute()


@entry()
def groups(problem):
    """A group for each user, in order or among the rows of the others."""
    rng = np.random.default_rng(problem.seed)
    n_users, n_items = problem.shape
    relevance = np.array(problem.truth)
    if problem.dtype == "bfloat16":
        scores = torch.tensor(problem.scores, dtype=torch.float32).bfloat16()
    else:
        scores = np.array(problem.scores, problem.dtype)
    options = _options(problem, "ties", "nan", "n_threads")
    if rng.random() < 0.5:
        sizes = [n_items] * n_users
        flat = scores.ravel(), relevance.ravel(), list(problem.metrics)
        return Metrics.compute_groups(*flat, sizes=sizes, **options)
    users = rng.permutation(np.repeat(np.arange(n_users), n_items))
    rows = np.argsort(users, kind="stable").argsort()  # of a group in its own order
    flat = scores.ravel()[rows], relevance.ravel()[rows], list(problem.metrics)
    ids = users if rng.random() < 0.5 else [f"q{user}" for user in users]
    found = Metrics.compute_groups(*flat, ids=ids, **options)
    order = np.argsort(list(dict.fromkeys(users.tolist())))
    return {text: values[order] for text, values in found.items()}


@entry()
def methods(problem):
    """Each metric by its own method, or alone where no method does what is asked."""
    values = {}
    for text in problem.metrics:
        spec = parse(text)
        arguments = scores_of(problem), truth_of(problem)
        whole_list = spec.k is None and spec.metric.default_k
        if problem.convention or whole_list or problem.ties == "range":
            values |= Metrics.compute(*arguments, text, **_scored(problem))
        else:
            method = getattr(Metrics, METRICS[spec.name].method)
            typed = dict(spec.options) | ({} if spec.k is None else {"k": spec.k})
            values[text] = method(*arguments, **typed, **_scored(problem))
    return values


@entry()
def ranked(problem):
    """Rankings that end somewhere, padded or as lists, some with items to drop."""
    lists, dropping = lists_of(problem), {}
    rng = np.random.default_rng(problem.seed)
    if rng.random() < 0.4:
        n_items = None if problem.truth_form in INDEX_FORMS else problem.shape[1]
        lists, dropping = _spoiled(lists, rng, n_items)
    ranking = [np.array(items, np.int64) for items in lists]
    if problem.seed % 2:
        ranking = np.full((len(lists), max(len(items) for items in lists) + 1), -1)
        for row, items in zip(ranking, lists, strict=True):
            row[: len(items)] = items
    specs = [parse(text, problem.convention) for text in problem.metrics]
    needing = [spec for spec in specs if spec.metric.needs or spec.is_weighed]
    side = side_of(problem) if needing or problem.seed % 3 else {}
    return Metrics.compute_ranked(
        ranking,
        truth_of(problem),
        list(problem.metrics),
        **_options(problem, "n_threads"),
        **sets_of(problem),
        **side,
        **dropping,
    )


def _spoiled(lists, rng, n_items):
    """Lists with items to drop, and the options that drop them; unknown ones with ``n_items``."""
    spoiled = [[int(item) for item in items] for items in lists]
    for items in spoiled:
        for _ in range(rng.integers(0, 4)):
            place = int(rng.integers(0, len(items) + 1))
            if n_items is not None and rng.random() < 0.5:
                items.insert(place, n_items + int(rng.integers(0, 2)))
            elif place:
                items.insert(place, items[rng.integers(0, place)])
    return spoiled, {"repeats": "drop"} | ({} if n_items is None else {"unknown": "drop"})


def _factors(problem):
    """Factors and a bias whose products are the scores: the items' are the unit vectors."""
    scores = np.array(problem.scores, problem.dtype)
    bias = np.random.default_rng(problem.seed).integers(-3, 4, scores.shape[1])
    bias = bias.astype(problem.dtype)
    return scores - bias, np.eye(scores.shape[1], dtype=problem.dtype), bias


@entry()
def factors(problem):
    users, items, bias = _factors(problem)
    return Metrics.compute_factors(
        users, items, truth_of(problem), list(problem.metrics), item_bias=bias, **_scored(problem)
    )


@entry("torch")
def device_factors(problem):
    users, items, bias = (elsewhere(_dense(array, "tensor")) for array in _factors(problem))
    return Metrics.compute_factors(
        users, items, truth_of(problem), list(problem.metrics), item_bias=bias, **_scored(problem)
    )


@entry("torch")
def device(problem):
    scores = elsewhere(scores_of(problem))
    return Metrics.compute(scores, truth_of(problem), list(problem.metrics), **_scored(problem))


@entry()
def evaluator(problem):
    """Random batches, some of which hold wrong scores that come right later, on two evaluators."""
    rng = np.random.default_rng(problem.seed)
    n_users, n_items = problem.shape
    settings = _scored(problem) | {"n_items": n_items}
    first = Evaluator(truth_of(problem), list(problem.metrics), **settings)
    second = Evaluator(truth_of(problem), list(problem.metrics), **settings)
    scores = scores_of(problem)
    wrong = scores[::-1] if isinstance(scores, np.ndarray) else scores
    if rng.random() < 0.3:  # a pass that is forgotten
        first.update(wrong)
        first.reset()
    if rng.random() < 0.5:
        stale = rng.permutation(n_users)[: int(rng.integers(1, n_users + 1))]
        first.update(_rows(wrong, stale), stale)
    if rng.random() < 0.2:
        first.reset()
        first.update(scores)  # the next rows are the first ones
        return first.compute()
    order = np.concatenate([rng.permutation(n_users), rng.integers(0, n_users, 2)])
    cuts = np.sort(rng.integers(0, len(order) + 1, 2))
    for number, batch in enumerate(np.split(order, cuts)):
        _update(problem, second if number == 2 else first, scores, wrong, batch, rng)
    if rng.random() < 0.5:
        second = pickle.loads(pickle.dumps(second))
    else:
        second = Evaluator.from_state(second.state())
    first.merge(second)
    whole = first.counts()
    assert list(whole) == list(problem.keys)
    assert all(sum(counts) == n_users and not counts.not_updated for counts in whole.values())
    return first.compute()


def _update(problem, evaluator, scores, wrong, batch, rng):
    """One batch by one of the updates; a user may come twice in it, the later row standing."""
    ways = ["scores"]
    specs = [parse(text, problem.convention) for text in problem.metrics]
    of_all_items = any(spec.metric.counts_all_items for spec in specs)
    of_equal_scores = any(spec.values.get("tied") == "block" for spec in specs)
    if problem.ties == "index" and not of_all_items and not of_equal_scores:
        ways.append("ranking")
    if problem.dtype in ("float32", "float64") and np.isfinite(problem.scores).all():
        ways.append("factors")
    way = ways[rng.integers(len(ways))]
    if way == "ranking":
        lists, dropping = lists_of(problem), {}
        if rng.random() < 0.4:
            lists, dropping = _spoiled(lists, rng, problem.shape[1])
        evaluator.update_ranked([np.array(lists[u], np.int64) for u in batch], batch, **dropping)
    elif way == "factors":
        rows = np.array(problem.scores, problem.dtype)[batch]
        evaluator.update_factors(rows, np.eye(rows.shape[1], dtype=problem.dtype), batch)
    elif isinstance(scores, np.ndarray) and rng.random() < 0.3:
        rows = np.concatenate([_rows(wrong, batch), _rows(scores, batch)])
        evaluator.update(rows, np.concatenate([batch, batch]))
    elif len(batch) and np.all(np.diff(batch) == 1):
        evaluator.update(_rows(scores, batch), slice(int(batch[0]), int(batch[-1]) + 1))
    else:
        evaluator.update(_rows(scores, batch), batch.tolist() if len(batch) else batch)


def _rows(scores, users):
    if isinstance(scores, list):  # no rows would be no matrix
        return [scores[u] for u in users] or np.empty((0, len(scores[0])))
    return scores[users]


@entry()
def stream(problem):
    """Batches of events in order, in two streams of which one is saved."""
    rng = np.random.default_rng(problem.seed)
    options = _scored(problem)
    sets = {name: options.pop(name) for name in ("exclude", "candidates") if name in options}
    sets = {name: _per_row(value) for name, value in sets.items()}
    shared = {"candidates"} if problem.candidates_form in SHARED_FORMS else set()
    profile = options.pop("profile")
    n_items = problem.shape[1]
    truth, scores = _per_row(truth_of(problem)), scores_of(problem)
    metrics = list(problem.metrics)
    first, second = (
        StreamEvaluator(metrics, n_items=n_items if rng.random() < 0.5 else None, **options)
        for _ in range(2)
    )
    if rng.random() < 0.3:  # a pass that is forgotten
        first.update(scores, truth, profile=profile)
        first.reset()
    n_users = problem.shape[0]
    cuts = [0, *np.sort(rng.integers(0, n_users + 1, 2)).tolist(), n_users]
    for number, (begin, end) in enumerate(pairwise(cuts)):
        rows = slice(begin, end)
        own = {name: v if name in shared else v[rows] for name, v in sets.items()}
        batch = _rows(scores, range(begin, end)) if isinstance(scores, list) else scores[rows]
        one = second if number == 2 else first
        one.update(batch, truth[rows], profile=profile[rows], **own)
    if rng.random() < 0.5:
        second = pickle.loads(pickle.dumps(second))
    elif not any(callable(v) for m in metrics for v in parse(m).values.values()):
        second = StreamEvaluator.from_state(second.state())
    first.merge(second)
    values = first.compute()
    means = StreamEvaluator(metrics, n_items=n_items, keep="means", **options)
    means.update(scores, truth, profile=profile, **sets)
    for text, mean in means.mean().items():
        numbers = values[text][~np.isnan(values[text])]
        expected = numbers.mean() if numbers.size else np.nan
        np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-14, err_msg=text)
    return values


def _per_row(value):
    """A truth or another set in a form whose rows can be taken."""
    return value.tocsr() if sp.issparse(value) else value


@entry()
def threads(problem):
    """Threads that update and read one evaluator at once."""
    n_users, n_items = problem.shape
    one = Evaluator(truth_of(problem), list(problem.metrics), **_scored(problem), n_items=n_items)
    scores = scores_of(problem)
    users = np.random.default_rng(problem.seed).permutation(n_users)
    updates = [
        lambda batch=batch: one.update(_rows(scores, batch), batch)
        for batch in np.array_split(users, 4)
    ]
    in_threads(*updates, one.counts, one.state)
    assert all(not counts.not_updated for counts in one.counts().values())
    return one.compute()


@entry()
def chance(problem):
    return _constant(Metrics.chance, problem)


@entry()
def ceiling(problem):
    return _constant(Metrics.ceiling, problem)


def _constant(function, problem):
    options = _options(problem) | sets_of(problem)
    options["propensity"] = side_of(problem)["propensity"]
    return function(truth_of(problem), list(problem.metrics), n_items=problem.shape[1], **options)


# --- Dask ----------------------------------------------------------------------------------------


def _in_chunks(array, rng):
    """A Dask array of any chunks, empty ones too."""
    import dask.array as da

    chunks = []
    for size in array.shape:
        cuts = np.sort(rng.integers(0, size + 1, rng.integers(0, 4)))
        chunks.append(tuple(np.diff([0, *cuts.tolist(), size]).tolist()))
    return da.from_array(array, chunks=tuple(chunks))


def _on_dask(problem, function, *arguments, **options):
    import dask

    rng = np.random.default_rng(problem.seed)
    truth, options = truth_of(problem), options | _scored(problem)
    if isinstance(truth, np.ndarray) and rng.random() < 0.5:
        truth = _in_chunks(truth, rng)
    if isinstance(options.get("exclude"), np.ndarray) and rng.random() < 0.5:
        options["exclude"] = _in_chunks(options["exclude"], rng)
    scores = _in_chunks(arguments[0], rng)
    with dask.config.set(scheduler="synchronous"):
        return function(scores, *arguments[1:], truth, list(problem.metrics), **options)


@entry("dask")
def dask(problem):
    import recmetrics.dask

    return _on_dask(problem, recmetrics.dask.compute, scores_of(problem))


@entry("dask")
def dask_factors(problem):
    import recmetrics.dask

    users, items, bias = _factors(problem)
    return _on_dask(problem, recmetrics.dask.compute_factors, users, items, item_bias=bias)


# --- Tables --------------------------------------------------------------------------------------


@entry("narwhals", *TABLES)
def tables(problem):
    """Rows in any order, users and items under names of their own."""
    from recmetrics.tables import evaluate_table

    rng = np.random.default_rng(problem.seed)
    library = importlib.import_module(TABLES[problem.seed % 3])
    n_users, n_items = problem.shape
    users = np.array([f"u{u}" for u in rng.permutation(n_users)])
    items = rng.permutation(n_items) + 100

    def table(**columns):
        return (
            library.table(columns) if library.__name__ == "pyarrow" else library.DataFrame(columns)
        )

    lists, options = lists_of(problem), {}
    has_catalogue = problem.truth_form not in INDEX_FORMS
    if rng.random() < 0.4:
        lists, options = _spoiled(lists, rng, n_items if has_catalogue else None)
    ids = np.append(items, [7, 8])  # the last two are in no catalogue
    rows = [(u, item, rank) for u, own in enumerate(lists) for rank, item in enumerate(own)]
    of_user, of_item, rank = np.array(rows)[rng.permutation(len(rows))].T
    order = {"rank": rank + 1} if rng.random() < 0.5 else {"score": -rank / 7}
    truth = np.array(problem.truth, float)
    known = np.nonzero(truth + (rng.random(truth.shape) < 0.1))  # some of 0, too
    side = {name: np.asarray(values).T for name, values in side_of(problem).items()}
    if has_catalogue:
        options["catalogue"] = table(item=items)
        options["popularity"] = table(item=items, share=side["popularity"])
        for name, key in (("features", "item"), ("genres", "item"), ("profile", "user")):
            columns = {f"c{i}": column for i, column in enumerate(side[name])}
            options[name] = table(**{key: items if key == "item" else users}, **columns)
    options["propensity"] = table(item=items, chance=side["propensity"])
    options |= _options(problem, "n_threads")
    if problem.convention == "trec" and problem.undefined is None:
        options["undefined"] = "nan"  # else users of the truth without relevant items are 0
    if problem.stratum is not None:
        if problem.stratum_form in SHARED_FORMS:
            columns = {"item": items[np.array(problem.stratum[0], np.int64)]}
        else:
            pairs = [(u, item) for u, own in enumerate(problem.stratum) for item in own]
            whose, which = np.array(pairs, np.int64).reshape(-1, 2).T
            columns = {"user": users[whose], "item": items[which]}
        options["strata"] = {"s": table(**columns)}
    found = evaluate_table(
        table(user=users[of_user], item=ids[of_item], **order),
        table(user=users[known[0]], item=items[known[1]], rating=truth[known]),
        list(problem.metrics),
        include_missing=True,
        **options,
    )
    values = read(found)
    row = [values["user"].index(user) for user in users]
    return {
        text: np.array(values[text])[row][slice(None) if parse(text).metric.per_user else 0]
        for text in problem.metrics
    }
