"""Dask arrays of any chunks, in threads and in worker processes: the bits of one process."""

import os
import pickle
import signal
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from inside import METRICS
from problems import side_information

from recmetrics import (
    ArgumentError,
    InputError,
    InputTypeError,
    Metrics,
    NaNScoreError,
    RecmetricsWarning,
    ShapeError,
    UndefinedMetricError,
    UnknownMetricError,
)

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask is not installed")

import dask.array as da  # noqa: E402
from dask.callbacks import Callback  # noqa: E402

import recmetrics.dask  # noqa: E402

CUT = [
    f"{metric.name}@{k}" for metric in METRICS.values() if metric.default_k for k in (1, 4, 1000)
]
WHOLE = list(METRICS)
OPTIONS = ["precision(denom=list)@7", "ndcg(ideal=retrieved, gain=exp2)@5", "recall@12"]
N_USERS, N_ITEMS = 23, 41
RNG = np.random.default_rng(5)
# Five values, so that scores tie across the borders of every chunk.
SCORES = RNG.integers(0, 5, (N_USERS, N_ITEMS)).astype(np.float32)
SCORES[RNG.random(SCORES.shape) < 0.1] = -np.inf
SCORES[3] = -np.inf
TRUTH = RNG.integers(1, 5, SCORES.shape) * (RNG.random(SCORES.shape) < 0.15)
TRUTH[5] = 0
EXCLUDE = RNG.random(SCORES.shape) < 0.2
CANDIDATES = RNG.random(SCORES.shape) < 0.6
CANDIDATES[7] = False
SIDE = side_information(N_USERS, N_ITEMS)
CHUNKS = [
    (N_USERS, N_ITEMS),
    (5, N_ITEMS),
    (N_USERS, 1),  # 41 chunks of one item: they are merged in more than one round
    (4, 6),
    ((1, 0, 22), (40, 0, 1)),
]


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def in_chunks(array, chunks):
    return da.from_array(array, chunks=chunks)


def sparse_chunks(matrix, chunks, kind=sp.csr_array):
    return in_chunks(matrix, chunks).map_blocks(kind, dtype=matrix.dtype)


# --- The bits of one process ---------------------------------------------------------------------


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("metrics", [CUT, WHOLE, OPTIONS], ids=["cut", "whole", "options"])
def test_every_metric_in_any_chunks(chunks, metrics):
    given_too = SIDE | {"exclude": EXCLUDE, "candidates": CANDIDATES}
    for options in (SIDE, given_too):
        expected = Metrics.compute(SCORES, TRUTH, metrics, **options)
        got = recmetrics.dask.compute(in_chunks(SCORES, chunks), TRUTH, metrics, **options)
        assert_identical(got, expected)


def of_dtype(name):
    if name == "bfloat16":
        return pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    return np.dtype(name)


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "uint64", "bool"]
)
def test_any_dtype(name):
    dtype = of_dtype(name)
    rng = np.random.default_rng(1)
    if dtype in (np.int8, np.int32, np.int64, np.uint8, np.uint64):
        ends = np.iinfo(dtype)  # the smallest integer is a score like any other
        scores = rng.choice(np.array([ends.min, 0, 1, ends.max], dtype), SCORES.shape)
    else:
        scores = rng.integers(-2, 3, SCORES.shape).astype(dtype)
    expected = Metrics.compute(scores, TRUTH, OPTIONS, exclude=EXCLUDE)
    for chunks in CHUNKS:
        got = recmetrics.dask.compute(in_chunks(scores, chunks), TRUTH, OPTIONS, exclude=EXCLUDE)
        assert_identical(got, expected)


def test_users_and_items_that_are_not_there():
    for shape in ((0, 5), (3, 0), (0, 0)):
        scores, truth = np.zeros(shape), np.zeros(shape)
        metrics = ["ndcg@2", "coverage@2"]
        got = recmetrics.dask.compute(in_chunks(scores, 2), truth, metrics)
        assert_identical(got, Metrics.compute(scores, truth, metrics))


# --- What is known of users, in every form -------------------------------------------------------

TRUTH_FORMS = {
    "dense": lambda m: m,
    "csr": sp.csr_array,
    "coo": sp.coo_matrix,
    "lists": lambda m: [np.flatnonzero(row) for row in m],
    "dense chunks": lambda m: in_chunks(m, (4, 6)),
    "other dense chunks": lambda m: in_chunks(m, (9, 10)),
    "csr chunks": lambda m: sparse_chunks(m, (4, N_ITEMS)),
    "other csr chunks": lambda m: sparse_chunks(m, (10, 7)),
    "matrix chunks": lambda m: sparse_chunks(m, (4, 6), sp.csr_matrix),
}


@pytest.mark.parametrize("form", TRUTH_FORMS.values(), ids=TRUTH_FORMS)
@pytest.mark.parametrize("chunks", [(4, N_ITEMS), (5, 6)], ids=str)
def test_every_form_of_truth_exclude_and_candidates(form, chunks):
    truth = (TRUTH > 0) * 1
    options = {"exclude": EXCLUDE * 1, "candidates": CANDIDATES * 1}
    metrics = ["ndcg@5", "coverage@5", "recall@2"]
    expected = Metrics.compute(SCORES, truth, metrics, **options)
    formed = {name: form(matrix) for name, matrix in options.items()}
    got = recmetrics.dask.compute(in_chunks(SCORES, chunks), form(truth), metrics, **formed)
    assert_identical(got, expected)


@pytest.mark.parametrize("form", TRUTH_FORMS.values(), ids=TRUTH_FORMS)
def test_blocks_of_no_user(form):
    users = (9, 0, N_USERS - 9, 0)
    scores = in_chunks(SCORES, (N_USERS, N_ITEMS)).rechunk((users, (N_ITEMS,)))
    truth = ((TRUTH > 0) | (np.arange(N_ITEMS) == 0)) * 1.0  # every user has a relevant item
    got = recmetrics.dask.compute(scores, form(truth), ["ndcg@5"], undefined="raise")
    assert_identical(got, Metrics.compute(SCORES, truth, ["ndcg@5"]))


def test_chunks_of_the_library_sparse():
    sparse = pytest.importorskip("sparse", reason="sparse is not installed")
    truth = sparse_chunks(TRUTH, (10, 7), sparse.COO)
    got = recmetrics.dask.compute(in_chunks(SCORES, (5, 6)), truth, OPTIONS)
    assert_identical(got, Metrics.compute(SCORES, TRUTH, OPTIONS))


@pytest.mark.parametrize(
    "candidates", [[40, 3, 5, 17], np.arange(N_ITEMS) % 3 == 0, []], ids=["list", "mask", "none"]
)
def test_one_set_of_candidates_for_all(candidates):
    metrics = ["ndcg@3", "coverage@2"]
    expected = Metrics.compute(SCORES, TRUTH, metrics, candidates=candidates)
    for chunks in CHUNKS:
        scores = in_chunks(SCORES, chunks)
        got = recmetrics.dask.compute(scores, TRUTH, metrics, candidates=candidates)
        assert_identical(got, expected)


@pytest.mark.parametrize("width", ["genres", "items"])
def test_a_profile_in_chunks(width):
    profile = SIDE["profile"] if width == "genres" else EXCLUDE * 2.0
    side = SIDE | {"profile": profile}
    expected = Metrics.compute(SCORES, TRUTH, "calibration@5", **side)
    scores = in_chunks(SCORES, (5, 6))
    for chunks in ((5, 2), (9, 3)):
        side["profile"] = sparse_chunks(profile, chunks)
        assert_identical(recmetrics.dask.compute(scores, TRUTH, "calibration@5", **side), expected)


def test_no_input_is_changed():
    copies = SCORES.copy(), TRUTH.copy(), EXCLUDE.copy()
    recmetrics.dask.compute(in_chunks(SCORES, (5, 6)), TRUTH, CUT, exclude=EXCLUDE, **SIDE)
    for array, copy in zip((SCORES, TRUTH, EXCLUDE), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


# --- Lazy ----------------------------------------------------------------------------------------


def test_lazy_is_a_bool():
    with pytest.raises(ArgumentError, match=r"^lazy must be True or False, got 'no'$"):
        recmetrics.dask.compute(in_chunks(SCORES, (5, 6)), TRUTH, "ndcg@5", lazy="no")


def test_lazy_results_are_dask_arrays():
    metrics = ["ndcg@5", "coverage@5", "recall@2"]
    scores = in_chunks(SCORES, (5, 6))
    lazy = recmetrics.dask.compute(scores, TRUTH, metrics, lazy=True)
    assert all(isinstance(value, da.Array) for value in lazy.values())
    assert {text: value.shape for text, value in lazy.items()} == {
        "ndcg@5": (N_USERS,),
        "coverage@5": (),
        "recall@2": (N_USERS,),
    }
    assert lazy["ndcg@5"].chunks == ((23,),)  # of 5 blocks, which are no more than 8
    by_user = recmetrics.dask.compute(in_chunks(SCORES, (1, 6)), TRUTH, metrics, lazy=True)
    assert by_user["ndcg@5"].chunks == ((8, 8, 7),)
    expected = Metrics.compute(SCORES, TRUTH, metrics)
    (got,) = dask.compute(lazy)
    assert_identical({text: np.asarray(value) for text, value in got.items()}, expected)
    mean = da.nanmean(lazy["ndcg@5"]).compute()
    np.testing.assert_allclose(mean, np.nanmean(expected["ndcg@5"]), rtol=1e-15)


def test_a_worker_of_another_version_warns(monkeypatch):
    lazy = recmetrics.dask.compute(in_chunks(SCORES, (5, 6)), TRUTH, "ndcg@5", lazy=True)
    client_version = recmetrics.__version__
    monkeypatch.setattr(recmetrics, "__version__", "9.0")  # the tasks run as in another process
    said = f"^a worker has recmetrics 9.0, and the client has {client_version}, which may"
    with pytest.warns(RecmetricsWarning, match=said):
        dask.compute(lazy, scheduler="sync")


@pytest.mark.parametrize("form", [np.array, da.array])
def test_a_warning_of_several_blocks_is_given_once(form):
    """The candidates of all users lack the target of several of them, in two of three blocks."""
    targets = form([0, 0, 1, 2, 0, 0, 3, 0, 4, 1, 2, 3])
    scores = in_chunks(SCORES[:12, :5], (4, 2))
    with pytest.warns(RecmetricsWarning, match="^item 0 is the target of several") as caught:
        recmetrics.dask.compute(scores, targets, "hit@1", candidates=[1, 2, 3, 4])
    (warning,) = caught
    assert str(warning.message).endswith(" (of one block; in 2 of 3 blocks of users)")
    assert warning.message.argument == "candidates"
    assert warning.filename == __file__


def test_nothing_is_computed_until_asked():
    def never(block):
        raise AssertionError(block.shape)

    scores = in_chunks(SCORES, (5, 6)).map_blocks(never, dtype=np.float32, meta=SCORES[:0])
    truth = in_chunks(TRUTH, (5, 6)).map_blocks(never, dtype=np.int64, meta=TRUTH[:0])
    recmetrics.dask.compute(scores, truth, ["ndcg@5", "coverage@2"], lazy=True)


def largest_result(scores, metrics, **options):
    """The bytes of the largest result of any task that is not a chunk of the scores."""
    sizes = {}

    def note(key, result, dsk, state, worker):  # noqa: ARG001
        if not (isinstance(key, tuple) and key[0] == scores.name):
            sizes[key] = len(pickle.dumps(result))

    with Callback(posttask=note), dask.config.set({"optimization.fuse.active": False}):
        recmetrics.dask.compute(scores, sp.csr_array(scores.shape), metrics, **options)
    return max(sizes.values())


def test_a_few_items_per_user_leave_a_chunk():
    n_users, n_items, k = 10, 40_000, 3
    scores = da.random.default_rng(0).random((n_users, n_items), chunks=(5, 2_000))
    metrics = [f"ndcg@{k}", f"coverage@{k}"]
    n_chunks = 8  # merged by one task
    survivors = n_chunks * 5 * k * 16
    assert largest_result(scores, metrics) < 4 * survivors
    assert largest_result(scores, metrics) < 5 * 2_000 * 8 / 4  # of one chunk


def test_items_that_may_be_listed_do_not_pile_up():
    n_users, n_items = 40, 10_000
    scores = da.random.default_rng(0).random((n_users, n_items), chunks=(1, -1))
    candidates = np.arange(0, n_items, 2)
    counts_of_items = (8 + 1) * n_items  # and whether each may be listed
    largest = largest_result(scores, ["mrr@1", "coverage@1"], candidates=candidates)
    assert largest < counts_of_items + 2_000


def test_a_large_job_is_one_task_that_others_read():
    popularity = np.linspace(0, 1, 20_000)  # 160 KB, as a job of a large catalogue
    scores = da.random.default_rng(0).random((10, 20_000), chunks=(2, 20_000))
    truth = sp.csr_array(scores.shape)
    n_large = []

    def note(tasks, state):  # noqa: ARG001
        n_large.append(sum(len(pickle.dumps(task)) > popularity.nbytes for task in tasks.values()))

    with Callback(start_state=note):
        values = recmetrics.dask.compute(scores, truth, "novelty@5", popularity=popularity)
    assert n_large == [1]
    assert_identical(
        values, Metrics.compute(scores.compute(), truth, "novelty@5", popularity=popularity)
    )


def count_tasks(scores, metrics):
    """The number of tasks that a call runs in threads."""
    keys = []
    with Callback(pretask=lambda key, dsk, state: keys.append(key)):  # noqa: ARG005
        recmetrics.dask.compute(scores, TRUTH, metrics)
    return len(keys)


def test_the_task_that_makes_a_chunk_ranks_it():
    def make(first_user):
        return SCORES[first_user : first_user + 1]

    delayed_chunks = [
        da.from_delayed(dask.delayed(make)(user), (1, N_ITEMS), np.float32)
        for user in range(N_USERS)
    ]
    n_others = 4 * 3  # what merges 8 blocks, their values, their lists, and names of results
    for scores in (
        da.random.default_rng(0).random(SCORES.shape, chunks=(1, -1)),
        in_chunks(SCORES, (1, -1)).map_blocks(np.negative, dtype=np.float32),
        da.concatenate(delayed_chunks),
    ):
        assert count_tasks(scores, "ndcg@5") <= N_USERS + n_others
        assert count_tasks(scores, ["ndcg@5", "coverage@5"]) <= N_USERS + n_others
    halves = da.random.default_rng(0).random(SCORES.shape, chunks=(1, 21))
    assert count_tasks(halves, "ndcg@5") <= 3 * N_USERS + n_others


def test_the_time_of_a_graph_is_in_proportion_to_its_blocks():
    def count_calls(n_users):
        scores = da.zeros((n_users, N_ITEMS), chunks=(1, -1))
        truth = da.zeros((n_users, N_ITEMS), chunks=(1, -1))
        n_calls = 0

        def count(frame, event, arg):  # noqa: ARG001
            nonlocal n_calls
            n_calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            recmetrics.dask.compute(scores, truth, "ndcg@5", lazy=True)
        finally:
            sys.setprofile(None)
        return n_calls

    count_calls(1)  # to do what Dask does once
    assert count_calls(400) < 8 * count_calls(50)


def test_keys_are_those_of_the_inputs():
    def key(truth, **options):
        scores = in_chunks(SCORES, (5, 6))
        return recmetrics.dask.compute(scores, truth, "ndcg@5", lazy=True, **options)["ndcg@5"].name

    assert key(TRUTH) == key(TRUTH.copy())
    keys = {key(TRUTH), key(TRUTH > 0), key(TRUTH, exclude=EXCLUDE), key(TRUTH, undefined="zero")}
    assert len(keys) == 4


def test_tasks_that_read_chunks_are_those_of_one_call():
    """Two calls may fuse them differently, and a cluster warns of two tasks of one name."""

    def names(truth):
        lazy = recmetrics.dask.compute(in_chunks(SCORES, (5, 6)), truth, "ndcg@5", lazy=True)
        return {name for name in lazy["ndcg@5"].dask.layers if name.startswith("read_chunks")}

    truth = in_chunks(TRUTH, (4, 7))
    first = names(truth)
    assert first
    assert first.isdisjoint(names(truth))


# --- Mistakes ------------------------------------------------------------------------------------


def compute(scores=SCORES, truth=TRUTH, metrics=("ndcg@2",), chunks=(5, 6), **options):
    return recmetrics.dask.compute(in_chunks(scores, chunks), truth, metrics, **options)


def test_scores_that_are_no_dask_array():
    got = message_of(InputTypeError, lambda: recmetrics.dask.compute(SCORES, TRUTH, "ndcg@2"))
    assert got == (
        "pred_scores must be a dask.array, got ndarray; type dask.array.from_array(pred_scores, "
        "chunks=(1000, -1)), or use recmetrics.Metrics.compute"
    )
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for scores in (torch.from_numpy(SCORES), sp.csr_array(SCORES)):  # Dask reads neither
        got = message_of(InputTypeError, lambda s=scores: recmetrics.dask.compute(s, TRUTH, "mrr"))
        assert got.startswith("pred_scores must be a dask.array, got ")
        assert got.endswith(f"{type(scores).__name__}; use recmetrics.Metrics.compute")


def test_scores_of_one_user():
    one = in_chunks(SCORES[0], 5)
    got = message_of(ShapeError, lambda: recmetrics.dask.compute(one, TRUTH, "ndcg@2"))
    assert got.startswith("pred_scores must be 2-d (n_users, n_items), got 1-d of shape (41,)")


def of_unknown_length(array):
    return in_chunks(array, 5)[da.from_array(np.ones(len(array), bool), chunks=5)]


def test_chunks_of_unknown_length():
    scores = of_unknown_length(SCORES)
    got = message_of(ShapeError, lambda: recmetrics.dask.compute(scores, TRUTH, "ndcg@2"))
    assert got == (
        "pred_scores has chunks of unknown length, expected a Dask array of known shape; "
        "type pred_scores.compute_chunk_sizes()"
    )
    got = message_of(ShapeError, lambda: compute(truth=of_unknown_length(TRUTH)))
    assert got.startswith("truth has chunks of unknown length")
    profile = SIDE | {"profile": of_unknown_length(SIDE["profile"])}
    got = message_of(ShapeError, lambda: compute(metrics="calibration@2", **profile))
    assert got.endswith("; type profile.compute_chunk_sizes()")
    model = {"item_factors": ITEM_FACTORS, "item_bias": BIAS}
    for name, array in model.items():
        factors = model | {name: of_unknown_length(array)}
        call = partial(
            recmetrics.dask.compute_factors,
            in_chunks(USER_FACTORS, 5),
            ground_truth=TRUTH,
            metrics_list="mrr",
        )
        got = message_of(ShapeError, lambda call=call, factors=factors: call(**factors))
        assert got.endswith(f"; type {name}.compute_chunk_sizes()")
        factors[name].compute_chunk_sizes()
        assert_identical(call(**factors), call(**model))


@pytest.mark.parametrize("is_known", [True, False], ids=["known to Dask", "known to a worker"])
def test_chunks_of_another_form(is_known):
    def chunks_of(make):
        if is_known:
            return in_chunks(SCORES, (N_USERS, 20)).map_blocks(make)
        return da.from_delayed(dask.delayed(make)(SCORES), SCORES.shape, SCORES.dtype)

    masked = chunks_of(partial(np.ma.masked_less, value=0))
    sparse = chunks_of(sp.csr_array)
    dense = "has chunks of csr_array, expected dense arrays; type"
    plain = "has chunks of MaskedArray, expected dense arrays; type dask.array.ma.filled"
    got = message_of(InputTypeError, lambda: recmetrics.dask.compute(sparse, TRUTH, "mrr@2"))
    assert got.startswith(f"pred_scores {dense} pred_scores.map_blocks(")
    items = np.eye(N_ITEMS)
    got = message_of(
        InputTypeError, lambda: recmetrics.dask.compute_factors(sparse, items, TRUTH, "mrr")
    )
    assert got.startswith(f"user_factors {dense} user_factors.map_blocks(")
    for call, name in (
        (lambda: recmetrics.dask.compute(masked, TRUTH, "mrr@2"), "pred_scores"),
        (lambda: compute(truth=masked), "truth"),
        (lambda: compute(exclude=masked), "exclude"),
    ):
        got = message_of(InputTypeError, call)
        assert got == f"{name} {plain}({name}, ...) with the value for masked entries"


@pytest.mark.parametrize("name", ["truth", "exclude", "candidates"])
def test_chunks_of_objects(name):
    array = in_chunks(TRUTH, (5, 6))
    got = message_of(InputTypeError, lambda: compute(**{name: array.astype(object)}))
    assert got.endswith(f"got dtype object; type {name}.astype(np.float64)")
    assert_identical(compute(**{name: array.astype(np.float64)}), compute(**{name: TRUTH}))


def test_chunks_of_another_shape_than_declared():
    scores = in_chunks(SCORES, SCORES.shape)
    shorter = scores.map_blocks(lambda block: block[:, 1:], dtype=SCORES.dtype)  # Dask cannot know
    for truth in (TRUTH, in_chunks(TRUTH, 10)):
        got = message_of(ShapeError, lambda t=truth: recmetrics.dask.compute(shorter, t, "ndcg@2"))
        assert got == (
            "the chunk of pred_scores with users 0 .. 22 and items 0 .. 40 must be of shape "
            "(23, 41), as the Dask array declares, got (23, 40)"
        )
    truth = in_chunks(TRUTH, (N_USERS, 10)).map_blocks(lambda block: block[1:], dtype=TRUTH.dtype)
    got = message_of(ShapeError, lambda: recmetrics.dask.compute(scores, truth, "ndcg@2"))
    assert got.startswith("the chunk of truth with users 0 .. 22 and items ")


def test_truth_of_another_shape():
    for truth in (TRUTH.T, in_chunks(TRUTH.T, 5), sp.csr_array(TRUTH.T)):
        got = message_of(ShapeError, lambda truth=truth: compute(truth=truth))
        assert got == (
            "truth must have the users and items of the scores, (23, 41), got (41, 23); one looks "
            "transposed: type scores.T or truth.T, so that rows are users"
        )


def test_a_wrong_entry_of_a_chunk_is_named():
    truth = TRUTH.astype(float)
    truth[11, 30] = -1
    ways = (
        "type np.maximum(truth, 0) if it is not relevant; if it is padding, type also "
        "candidates=truth >= 0, or give it the score -inf"
    )
    got = message_of(InputError, lambda: compute(truth=in_chunks(truth, (10, 7))))
    assert got == (
        "in the chunk of truth from user 10 and item 28 on, counted from there: truth must hold "
        f"relevances from 0 to 1e+100, got -1 at (user 1, item 2); {ways}"
    )
    got = message_of(InputError, lambda: compute(truth=truth))
    assert got == (
        f"truth must hold relevances from 0 to 1e+100, got -1 at (user 11, item 30); {ways}"
    )
    expected = compute(truth=np.maximum(truth, 0), convention="trec")
    for form in (truth, in_chunks(truth, (10, 7))):
        assert_identical(compute(truth=form, convention="trec"), expected)


@pytest.mark.parametrize("metric", ["ndcg@2", "ndcg"])
@pytest.mark.parametrize("candidates", [None, CANDIDATES], ids=["all", "candidates"])
def test_nan_is_named_by_user_and_item(metric, candidates):
    scores = SCORES.copy()
    item = int(np.flatnonzero(CANDIDATES[11, 30:36])[0]) + 30
    scores[11, item] = np.nan
    got = message_of(NaNScoreError, lambda: compute(scores, metrics=metric, candidates=candidates))
    items = " and items 30 .. 35" if metric == "ndcg@2" else ""  # a task has one chunk, or all
    assert got == (
        f"among users 10 .. 14{items}: scores hold 1 NaN, the first at (user 11, item {item}); "
        "expected numbers; give "
        "nan='exclude' to treat NaN like a score of -inf"
    )
    options = {"nan": "exclude", "candidates": candidates}
    expected = Metrics.compute(scores, TRUTH, metric, **options)
    assert_identical(compute(scores, metrics=metric, **options), expected)


def test_undefined():
    truth = TRUTH.copy()
    truth[[11, 13]] = 0
    truth[5, 0] = 1
    metrics = ["ndcg@2", "personalization@1"]
    got = compute(truth=truth, metrics=metrics, undefined="zero")
    assert_identical(got, Metrics.compute(SCORES, truth, metrics, undefined="zero"))
    got = message_of(UndefinedMetricError, lambda: compute(truth=truth, undefined="raise"))
    assert got.startswith("among users 10 .. 14: ndcg@2 is undefined: 2 of 5 users have no")
    empty = np.full((2, 3), -np.inf)
    got = message_of(
        UndefinedMetricError, lambda: compute(empty, np.zeros((2, 3)), "gini@1", undefined="raise")
    )
    assert got.startswith("gini@1 is undefined (")


def test_options_are_those_of_one_process():
    got = message_of(ArgumentError, lambda: compute(undefined="none"))
    assert got == "undefined must be 'nan', 'zero', 'one' or 'raise', got 'none'"
    assert message_of(UnknownMetricError, lambda: compute(metrics="ndgc@2"))
    got = message_of(ArgumentError, lambda: compute(metrics="calibration@2"))
    assert got.startswith("calibration@2 needs genres=")
    side = SIDE | {"profile": in_chunks(SIDE["profile"].T, 5)}
    got = message_of(ShapeError, lambda: compute(metrics="calibration@2", **side))
    assert got.startswith("profile must hold the genres of each user, (n_users, g) = (23, 4)")


def test_without_dask_the_error_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("recmetrics.dask", "dask"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError) as caught:
        import recmetrics.dask  # noqa: F401
    assert str(caught.value) == (
        'recmetrics.dask needs Dask; type: pip install "dask[array]>=2024.12" '
        '"distributed>=2024.12"'
    )


def test_tables_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    turned = pandas.DataFrame(TRUTH)[::-1]
    of_items = pandas.Series(np.linspace(1, 0, N_ITEMS))[::-1]
    factors = in_chunks(np.ones((N_USERS, 1)), (5, 1)), np.ones((N_ITEMS, 1)), TRUTH
    for name, call in {
        "truth": lambda: compute(truth=turned),
        "exclude": lambda: compute(exclude=turned),
        "popularity": lambda: compute(metrics="novelty@1", popularity=of_items),
        "item_bias": lambda: recmetrics.dask.compute_factors(*factors, "mrr", item_bias=of_items),
    }.items():
        assert f"; type {name}.sort_index() if these are " in message_of(InputError, call)


# --- Factors -------------------------------------------------------------------------------------

# Small whole numbers: their products are exact, however BLAS adds them up.
USER_FACTORS = RNG.integers(-3, 4, (N_USERS, 6)).astype(np.float32)
ITEM_FACTORS = RNG.integers(-3, 4, (N_ITEMS, 6)).astype(np.float32)
BIAS = RNG.integers(-3, 4, N_ITEMS).astype(np.float32)


@pytest.mark.parametrize("bias", [None, BIAS], ids=["no bias", "bias"])
@pytest.mark.parametrize("chunks", [(N_USERS, 6), (5, 4), ((0, 23), 1)], ids=str)
def test_factors(chunks, bias):
    scores = USER_FACTORS @ ITEM_FACTORS.T + (0 if bias is None else bias)
    options = {"exclude": EXCLUDE, "candidates": CANDIDATES} | SIDE
    expected = Metrics.compute(scores, TRUTH, [*CUT, *WHOLE], **options)
    for items in (ITEM_FACTORS, in_chunks(ITEM_FACTORS, (10, 4))):
        got = recmetrics.dask.compute_factors(
            in_chunks(USER_FACTORS, chunks), items, TRUTH, [*CUT, *WHOLE], item_bias=bias, **options
        )
        assert_identical(got, expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_items_in_tensors(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    items, bias = (torch.from_numpy(a).to(getattr(torch, dtype)) for a in (ITEM_FACTORS, BIAS))
    users = in_chunks(USER_FACTORS, (5, 4))
    got = recmetrics.dask.compute_factors(users, items, TRUTH, CUT, item_bias=bias, **SIDE)
    scores = USER_FACTORS @ ITEM_FACTORS.T + BIAS
    assert_identical(got, Metrics.compute(scores, TRUTH, CUT, **SIDE))


def test_factors_that_do_not_fit():
    users = in_chunks(USER_FACTORS, (5, 6))
    call = partial(recmetrics.dask.compute_factors, users, lazy=True)  # refused before any task
    got = message_of(ShapeError, lambda: call(ITEM_FACTORS[:, :4], TRUTH, "ndcg@2"))
    assert got.endswith("must have the same d, got (23, 6) and (41, 4)")
    got = message_of(ShapeError, lambda: call(ITEM_FACTORS, TRUTH, "ndcg@2", item_bias=BIAS[:3]))
    assert got.startswith("item_bias must hold one number for each of the 41 items")
    got = message_of(
        InputTypeError,
        lambda: recmetrics.dask.compute_factors(USER_FACTORS, ITEM_FACTORS, TRUTH, "ndcg@2"),
    )
    assert got.startswith("user_factors must be a dask.array, got ndarray")


# --- Two worker processes ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def _cluster(client):
    client.wait_for_workers(2)  # the test before may have killed one
    with dask.config.set(scheduler="distributed"):
        yield


@pytest.mark.usefixtures("_cluster")
@pytest.mark.parametrize("metrics", [CUT, WHOLE, OPTIONS], ids=["cut", "whole", "options"])
def test_two_processes(metrics):
    options = {"exclude": sp.csr_array(EXCLUDE), "candidates": CANDIDATES} | SIDE
    expected = Metrics.compute(SCORES, TRUTH, metrics, **options)
    options["candidates"] = sparse_chunks(CANDIDATES, (10, 7))
    got = recmetrics.dask.compute(in_chunks(SCORES, (5, 6)), TRUTH, metrics, **options)
    assert_identical(got, expected)


@pytest.mark.usefixtures("_cluster")
def test_chunks_stay_on_the_workers(client):
    def where(block):
        return np.full(block.shape, os.getpid(), np.float64)

    scores = in_chunks(SCORES, (5, 6)).map_blocks(where, dtype=np.float64).persist()
    pids = set(np.unique(scores.compute()))
    assert pids <= set(client.run(os.getpid).values())
    lazy = recmetrics.dask.compute(scores, TRUTH, ["ndcg@5", "coverage@5"], lazy=True)
    (persisted,) = dask.persist(lazy)  # as distributed.progress takes them
    expected = Metrics.compute(scores.compute(), TRUTH, ["ndcg@5", "coverage@5"])
    assert_identical({text: np.asarray(value) for text, value in persisted.items()}, expected)


@pytest.mark.usefixtures("_cluster")
def test_lazy_results_keep_what_is_persisted_for_them():
    def persisted(array, chunks):
        return in_chunks(array, chunks).persist()

    compute, compute_factors = recmetrics.dask.compute, recmetrics.dask.compute_factors
    classes = np.arange(N_USERS)
    for function, arguments in (
        (compute, [(SCORES, (5, 6)), (TRUTH, (4, 7))]),
        (compute, [(SCORES, (5, -1)), (classes, 4)]),
        (compute_factors, [(USER_FACTORS, (5, -1)), (ITEM_FACTORS, (9, -1)), (TRUTH, (4, 7))]),
    ):
        # A cluster forgets what no array knows, and the results alone know these.
        lazy = function(*(persisted(*argument) for argument in arguments), "ndcg@5", lazy=True)
        (got,) = dask.compute(lazy)
        in_memory = [array for array, _ in arguments]
        expected = getattr(Metrics, function.__name__)(*in_memory, "ndcg@5")
        assert_identical(got, expected)


@pytest.mark.usefixtures("_cluster")
def test_small_blocks_warn_on_a_cluster():
    scores = da.zeros((20_000, 500), chunks=(1_000, -1))  # 20 blocks of 4 MB
    truth = sp.csr_array(scores.shape)
    with pytest.warns(RecmetricsWarning, match="^20 blocks of users hold 4 MB of scores") as caught:
        recmetrics.dask.compute(scores, truth, "ndcg@5", lazy=True)
    assert "make the array with chunks of 25000 users" in str(caught[0].message)  # 100 MB / 4,000
    assert caught[0].filename == __file__
    users = da.ones((20_000, 2), chunks=(1_000, -1))
    items = np.ones((500, 2))
    with pytest.warns(RecmetricsWarning, match="^20 blocks of users hold 4 MB of scores"):
        recmetrics.dask.compute_factors(users, items, truth, "ndcg@5", lazy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = da.zeros((20_000, 500), chunks=(2_000, -1))
        recmetrics.dask.compute(large, truth, "ndcg@5", lazy=True)
        users = users.rechunk((2_000, -1))
        recmetrics.dask.compute_factors(users, items, truth, "ndcg@5", lazy=True)


@pytest.mark.usefixtures("_cluster")
def test_an_error_of_a_worker_is_that_of_one_process():
    scores = SCORES.copy()
    scores[11, 30] = np.nan
    got = message_of(NaNScoreError, lambda: compute(scores))
    place = "among users 10 .. 14 and items 30 .. 35"
    assert got.startswith(f"{place}: scores hold 1 NaN, the first at (user 11, item 30); expected")


@pytest.mark.usefixtures("_cluster")
@pytest.mark.parametrize("metrics", [CUT, WHOLE], ids=["cut", "whole"])
def test_a_worker_is_killed_in_the_middle(client, metrics, tmp_path):
    # The last chunk but a few kills the process that computes it, once: what that worker has
    # computed before is lost with it, and is done again by the other, or by its successor.
    victim = tmp_path / "victim"

    def deadly(block, block_info=None):
        if block_info[0]["chunk-location"] == (3, 5) and not victim.exists():
            victim.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    before = set(client.run(os.getpid).values())
    scores = in_chunks(SCORES, (5, 6)).map_blocks(deadly, dtype=SCORES.dtype)
    options = {"exclude": EXCLUDE, "candidates": CANDIDATES} | SIDE
    got = recmetrics.dask.compute(scores, TRUTH, metrics, **options)
    assert int(victim.read_text()) in before - set(client.run(os.getpid).values())
    assert_identical(got, Metrics.compute(SCORES, TRUTH, metrics, **options))


@pytest.mark.usefixtures("_cluster")
def test_sums_of_models_where_a_worker_is_killed(client, tmp_path):
    victim = tmp_path / "victim"

    def state_of(part, is_deadly):
        if is_deadly and not victim.exists():
            victim.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        rows = np.arange(N_USERS)[part::4]
        stream = recmetrics.StreamEvaluator(["ndcg@5", "coverage@5"], keep="means")
        models = {"old": SCORES[rows], "new": SCORES[rows] + TRUTH[rows]}
        stream.update(models, TRUTH[rows])
        return stream.state()

    def merged(states):
        first, *others = map(recmetrics.StreamEvaluator.from_state, states)
        for other in others:
            first.merge(other)
        return first

    before = set(client.run(os.getpid).values())
    states = client.gather(client.map(state_of, range(4), is_deadly=True, pure=False))
    assert int(victim.read_text()) in before - set(client.run(os.getpid).values())
    whole = merged(states)
    expected = merged([state_of(part, is_deadly=False) for part in range(4)])
    assert {name: array.tolist() for name, array in whole.state().items()} == {
        name: array.tolist() for name, array in expected.state().items()
    }
    assert recmetrics.compare(whole).to_records() == recmetrics.compare(expected).to_records()
