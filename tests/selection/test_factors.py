"""Factor models: the lists and metrics of a product that is never held whole."""

import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from inside import METRICS, compiled
from interruption import threads_in_blas
from problems import JIT
from sizes import patched

from recmetrics import Evaluator, InputTypeError, Metrics, NaNScoreError, ShapeError
from recmetrics._core.inputs import read_item_sets
from recmetrics._core.selection import factors
from recmetrics._core.threads import map_blocks

TILE = 1152  # items of one tile
NAN, INF = np.nan, np.inf
FactorScores = factors.FactorScores


@pytest.fixture(scope="module", autouse=True)
def machine_code():
    """``best`` calls kernels behind the door where work is counted, by which they are compiled."""
    with compiled():
        yield


def best(scores, k, exclude=None, candidates=None, n_threads=2):
    """The lists of all users, in blocks, and what was told of NaN in each block."""
    exclude = [[]] * scores.shape[0] if exclude is None else exclude
    excluded = read_item_sets(exclude, "exclude", scores.shape)
    allowed = None if candidates is None else read_item_sets(candidates, "candidates", scores.shape)

    def select(rows):
        own = None if allowed is None else allowed.take(np.arange(rows.start, rows.stop))
        return rows, *scores.best(rows, k, excluded.rows(rows), own)

    blocks, n_threads = scores.blocks(n_threads)
    parts = map_blocks(select, blocks, n_threads)
    items = np.concatenate([part[1] for part in parts])
    length = np.concatenate([part[2] for part in parts])
    found = [
        (int(nan[0]), part.start + int(nan[1]), int(nan[2])) for part, _, _, nan in parts if nan[0]
    ]
    np.testing.assert_array_equal((items >= 0).sum(axis=1), length)
    return [row[:n].tolist() for row, n in zip(items, length, strict=True)], found


def whole_numbers(n_users, n_items, d, rng, dtype=np.float32):
    """Factors whose products are exact in any order, with many ties among them."""
    users = rng.integers(-2, 3, (n_users, d)).astype(dtype)
    return users, rng.integers(-2, 3, (n_items, d)).astype(dtype)


def by_sorting(scores, k, exclude=None, candidates=None):
    """The lists by their definition, score by score."""
    lists = []
    for user, row in enumerate(scores.tolist()):
        hidden = set() if exclude is None else set(np.asarray(exclude[user]).tolist())
        items = range(len(row)) if candidates is None else np.asarray(candidates[user]).tolist()
        allowed = [item for item in items if item not in hidden and row[item] > -INF]
        lists.append(sorted(allowed, key=lambda item, row=row: (-row[item], item))[:k])
    return lists


# --- Lists ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_items", [1, 47, 48, 49, TILE - 1, TILE, TILE + 1, 3 * TILE + 50])
@pytest.mark.parametrize("n_users", [1, 47, 193])
def test_lists_are_those_of_the_dense_product(n_users, n_items):
    rng = np.random.default_rng(n_items)
    for d, dtype, with_bias in ((3, np.float32, False), (1, np.float64, True)):
        users, items = whole_numbers(n_users, n_items, d, rng, dtype)
        bias = rng.integers(-3, 4, n_items) if with_bias else None
        dense = users @ items.T + (bias if with_bias else 0)
        order = np.argsort(-dense, axis=1, kind="stable")
        factors = FactorScores(users, items, bias)
        for k in {1, 20, min(150, n_items), min(300, n_items)}:
            assert best(factors, k)[0] == order[:, :k].tolist()


@pytest.mark.parametrize(
    "scores",
    [
        np.arange(3.0 * TILE + 7),
        -np.arange(3.0 * TILE + 7),
        np.zeros(2 * TILE + 1),
        np.arange(3 * TILE) // 100 % 2,
        np.where(np.arange(2 * TILE) % 64 == 63, 1e30, np.arange(2 * TILE)),
        np.repeat([0.0, -0.0, 1.0, -1.0], TILE),
        np.r_[np.full(2 * TILE, -INF), 1.0, 2.0],
        np.r_[INF, np.full(TILE, -INF), INF, 3.0, np.full(TILE, -INF)],
        np.full(TILE + 1, -INF),
        np.r_[np.arange(300.0), np.full(2 * TILE, 100.0), np.arange(300.0)],
    ],
    ids=[
        "ascending", "descending", "constant", "two values", "one huge in each block",
        "both zeros", "-inf but for two", "inf", "all -inf", "equal at the bound",
    ],
)  # fmt: skip
@pytest.mark.parametrize("k", [1, 5, 100, 1000])
def test_hostile_orders_of_scores(scores, k):
    for dtype in (np.float32, np.float64):
        column = scores.astype(dtype)[:, None]
        ones = np.ones((2, 1), dtype)
        assert best(FactorScores(ones, column), k)[0] == by_sorting(np.tile(column.T, (2, 1)), k)


def test_few_users_at_once_where_lists_are_long(monkeypatch):
    rng = np.random.default_rng(2)
    users, items = whole_numbers(100, 500, 2, rng)
    monkeypatch.setattr(factors, "_POOL_BYTES", 60_000)  # of some 7,000 for a user
    assert best(FactorScores(users, items), 400)[0] == by_sorting(users @ items.T, 400)


@pytest.mark.parametrize("shape", [(0, 5, 3), (4, 0, 3), (3, 4, 0)])
def test_nothing_to_multiply(shape):
    n_users, n_items, d = shape
    factors = FactorScores(np.ones((n_users, d)), np.ones((n_items, d)))
    assert best(factors, 3)[0] == [[*range(min(3, n_items))]] * n_users
    assert factors.host(slice(0, n_users)).tolist() == [[float(d)] * n_items] * n_users


# --- What may be listed --------------------------------------------------------------------------


def test_the_best_items_are_excluded():
    users, items = np.ones((2, 1)), -np.arange(2.0 * TILE)[:, None]
    exclude = [np.arange(50), np.arange(TILE + 1)]
    assert best(FactorScores(users, items), 2, exclude)[0] == [[50, 51], [TILE + 1, TILE + 2]]


# --- NaN -----------------------------------------------------------------------------------------


def with_nan(shape, *places):
    matrix = np.ones(shape)
    for place in places:
        matrix[place] = NAN
    return matrix


def test_nan_are_counted_and_the_first_is_that_of_the_first_user():
    users = np.eye(2)[[0] * 100 + [1] * 100]
    items = with_nan((3 * TILE, 2), (5, 1), (2 * TILE + 9, 0), (2 * TILE + 11, 0))
    items[np.isnan(items[:, 0]), 1] = NAN  # 0 * NaN is NaN, too, so all users meet all of these
    items[5, 0] = NAN
    lists, found = best(FactorScores(users, items), 3, n_threads=1)
    assert lists == [[0, 1, 2]] * 200
    assert sum(count for count, _, _ in found) == 3 * 200
    assert found[0][1:] == (0, 5)


def test_nan_of_one_user_in_a_late_tile_before_those_of_another_in_the_first():
    users = np.array([[1.0, 0.0], [INF, 1.0]])  # inf * 0 is NaN
    items = np.ones((2 * TILE, 2))
    items[7, 0] = 0.0
    items[TILE + 3, 0] = NAN
    for k in (1, 2 * TILE):
        assert best(FactorScores(users, items), k)[1] == [(3, 0, TILE + 3)]


def test_nan_of_excluded_items_and_of_the_bias_count():
    bias = np.zeros(TILE + 5)
    bias[TILE + 1] = NAN
    scores = FactorScores(np.ones((3, 2)), np.ones((TILE + 5, 2)), bias)
    _, found = best(scores, 2, [[TILE + 1], [], []])
    assert found == [(3, 0, TILE + 1)]


def test_nan_among_candidates():
    items = with_nan((50, 1), 10, 20)
    scores = FactorScores(np.ones((4, 1)), items)
    assert best(scores, 9, None, [3, 20, 30]) == ([[3, 30]] * 4, [(4, 0, 20)])
    own = [[1, 2], [5, 20], [10], []]
    assert best(scores, 9, [[], [20], [], []], own) == ([[1, 2], [5], [], []], [(2, 1, 20)])


@pytest.fixture(params=[0, 1 << 20], ids=["lists", "whole rows"])
def _by(request, monkeypatch):
    """Ranks read in lists, or counted in whole rows."""
    monkeypatch.setattr(FactorScores, "short_row_items", request.param)


@pytest.mark.usefixtures("_by")
def test_nan_is_an_error_that_names_user_and_item():
    users, items = np.ones((300, 1)), with_nan((9, 1), 4)
    truth = np.eye(9)[np.arange(300) % 9]
    message = r"scores hold 300 NaN, the first at \(user 0, item 4\)"
    with pytest.raises(NaNScoreError, match=message):
        Metrics.compute_factors(users, items, truth, "ndcg@3")
    values = Metrics.compute_factors(users, items, truth, "mrr@3", nan="exclude")["mrr@3"]
    expected = Metrics.compute(users @ items.T, truth, "mrr@3", nan="exclude")["mrr@3"]
    np.testing.assert_array_equal(values, expected)


# --- Metrics -------------------------------------------------------------------------------------


def rounding(users, items, bias):
    """How far two products may lie apart, as the module says: (users, items)."""
    unit = np.finfo(users.dtype).eps / 2
    d = users.shape[1]
    sums = np.abs(users.astype(float)) @ np.abs(items.astype(float)).T
    product = d * unit / (1 - d * unit) * sums
    return 2 * (product + unit * (np.abs(bias) + sums + product))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 17, 600])
def test_random_factors_differ_from_the_dense_path_by_rounding_alone(d, dtype):
    rng = np.random.default_rng(7)
    users = rng.standard_normal((60, d)).astype(dtype)
    items = rng.standard_normal((2 * TILE + 1, d)).astype(dtype)
    bias = rng.standard_normal(len(items)).astype(dtype)
    dense = users @ items.T + bias
    apart = rounding(users, items, bias)
    scores = FactorScores(users, items, bias)
    assert np.all(np.abs(scores.host(slice(0, 60)).astype(float) - dense) <= apart)
    own = [np.arange(len(items))] * 60
    for lists, _ in (best(scores, 50), best(scores, 50, None, own)):
        for user, (got, by_dense) in enumerate(zip(lists, by_sorting(dense, 50), strict=True)):
            gap = np.abs(dense[user, got].astype(float) - dense[user, by_dense])
            assert np.all(gap <= apart[user, got] + apart[user, by_dense])


def test_whole_rows_have_the_scores_that_lists_are_made_of():
    rng = np.random.default_rng(8)
    users = rng.standard_normal((200, 30), dtype=np.float32)
    scores = FactorScores(users, rng.standard_normal((TILE + 77, 30), dtype=np.float32))
    dense = scores.host(slice(0, 200))
    order = np.argsort(-dense, axis=1, kind="stable")
    assert best(scores, 40)[0] == order[:, :40].tolist()


def test_threads_and_depth_leave_the_lists_alone():
    rng = np.random.default_rng(9)
    users = rng.standard_normal((200, 40), dtype=np.float32)
    users[100:200] = users[:100]
    items = rng.standard_normal((3_000, 40), dtype=np.float32)
    items[2_500:] = items[:500]  # ties, unless the same product has other bits
    scores = FactorScores(users, items)
    expected = best(scores, 100, n_threads=1)[0]
    assert scores.blocks(1)[0] != scores.blocks(3)[0]
    assert best(scores, 100, n_threads=3)[0] == expected
    assert best(scores, 7)[0] == [row[:7] for row in expected]


# --- The metrics of factors ----------------------------------------------------------------------

N_USERS, N_ITEMS = 120 if JIT else 30, 2 * TILE + 50
RNG = np.random.default_rng(0)
USERS, ITEMS = whole_numbers(N_USERS, N_ITEMS, 4, RNG)
BIAS = RNG.integers(-1, 2, N_ITEMS).astype(np.float32)
SCORES = USERS @ ITEMS.T + BIAS
TRUTH = sp.random(N_USERS, N_ITEMS, 0.02, "csr", random_state=1)
SEEN = sp.random(N_USERS, N_ITEMS, 0.05, "csr", random_state=2)
POOL = sp.random(N_USERS, N_ITEMS, 0.1, "csr", random_state=3)
SIDE = {
    "popularity": RNG.random(N_ITEMS),
    "features": RNG.standard_normal((N_ITEMS, 3)),
    "genres": RNG.integers(0, 2, (N_ITEMS, 5)),
    "profile": RNG.random((N_USERS, 5)),
}
AT_10 = [f"{m.name}@10" for m in METRICS.values() if m.default_k]
CASES = {
    "all items": {},
    "exclude": {"exclude": SEEN},
    "shared candidates": {"candidates": np.arange(0, N_ITEMS, 3)},
    "own candidates": {"candidates": POOL},
    "candidates less exclude": {"candidates": POOL, "exclude": SEEN},
    "dense sets": {"exclude": SEEN.toarray(), "candidates": POOL.toarray() != 0},
}


@pytest.mark.parametrize("short_rows", [0, 1 << 20], ids=["lists", "whole rows"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("metrics", [AT_10, list(METRICS)], ids=["at 10", "whole lists"])
def test_factors_give_the_metrics_of_their_scores(case, metrics, short_rows):
    expected = Metrics.compute(SCORES, TRUTH, metrics, **CASES[case], **SIDE)
    options = {"item_bias": BIAS, **CASES[case], **SIDE}
    sizes = {"_MAX_CANDIDATES": 20_000}  # of a few users at once
    own = {"short_row_items": short_rows}
    with patched({"_core.selection.factors": sizes, "_core.selection.factors:FactorScores": own}):
        found = Metrics.compute_factors(USERS, ITEMS, TRUTH, metrics, **options)
    assert_identical(found, expected)


@pytest.mark.parametrize("ties", ["expected", "worst", "best"])
def test_tie_policies_reach_factors(ties):
    metrics = ["ndcg@10", "map@5", "hit@1", "auc"]
    got = Metrics.compute_factors(USERS, ITEMS, TRUTH, metrics, item_bias=BIAS, ties=ties)
    assert_identical(got, Metrics.compute(SCORES, TRUTH, metrics, ties=ties))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_evaluator_takes_factors_in_batches(n_threads):
    expected = Metrics.compute(SCORES, TRUTH, AT_10, exclude=SEEN, **SIDE)
    evaluator = Evaluator(TRUTH, AT_10, exclude=SEEN, n_threads=n_threads, **SIDE)
    users = RNG.permutation(N_USERS)
    for batch in (users[:9], users[9:20], users[20:]):
        evaluator.update_factors(USERS[batch], ITEMS, batch, item_bias=BIAS)
    assert_identical(evaluator.compute(), expected)


# --- What factors may be -------------------------------------------------------------------------


def memory_map(array, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"  # a file that is mapped must not change
    np.save(path, array)
    return np.load(path, mmap_mode="r")


FORMS = {
    "nested lists": (lambda a, _: a.tolist(), np.float64),
    "float16": (lambda a, _: a.astype(np.float16), np.float32),
    "float32": (lambda a, _: a.astype(np.float32), np.float32),
    "float64": (lambda a, _: a, np.float64),
    "int8": (lambda a, _: a.astype(np.int8), np.float64),
    "big-endian": (lambda a, _: a.astype(">f4"), np.float32),
    "Fortran": (lambda a, _: np.asfortranarray(a, np.float32), np.float32),
    "strided": (lambda a, _: np.repeat(a, 2, axis=-1)[..., ::2], np.float64),
    "memory map": (lambda a, folder: memory_map(a.astype(np.float32), folder), np.float32),
}


@pytest.mark.parametrize("form, dtype", FORMS.values(), ids=FORMS)
def test_forms_of_factors(form, dtype, tmp_path):
    users, items = whole_numbers(20, TILE + 30, 3, np.random.default_rng(10), np.float64)
    bias = np.arange(len(items)) % 3
    expected = by_sorting(users @ items.T + bias, 25)
    given_users, given_items = form(users, tmp_path), form(items, tmp_path)
    before = np.array(given_items)
    scores = FactorScores(given_users, given_items, form(bias, tmp_path))
    assert best(scores, 25)[0] == expected
    assert best(scores, 25, None, [np.arange(len(items))] * 20)[0] == expected
    assert scores.host(slice(3, 5)).dtype == dtype
    np.testing.assert_array_equal(np.array(given_items), before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_tensors(dtype):
    torch = pytest.importorskip("torch", reason="tensors need torch")
    users, items = whole_numbers(20, 500, 3, np.random.default_rng(11))
    tensors = [
        torch.tensor(a, dtype=getattr(torch, dtype), requires_grad=True) for a in (users, items)
    ]
    assert best(FactorScores(*tensors), 25)[0] == by_sorting(users @ items.T, 25)


def test_factors_of_two_dtypes_are_multiplied_in_the_larger():
    users, items = np.ones((2, 1), np.float32), np.array([[1.0], [1.0 + 1e-12]])
    scores = FactorScores(users, items)
    assert best(scores, 2)[0] == [[1, 0]] * 2
    assert best(FactorScores(users, items.astype(np.float32)), 2)[0] == [[0, 1]] * 2


U, V = np.ones((4, 3)), np.ones((6, 3))
ERRORS = {
    "one user": (
        ShapeError, (U[0], V),
        "user_factors must be 2-d (n_users, d), got 1-d of shape (3,); "
        "type user_factors.reshape(-1, 1) for one factor",
    ),
    "3-d": (
        ShapeError, (U, V[None]),
        "item_factors must be 2-d (n_items, d), got 3-d of shape (1, 6, 3)",
    ),
    "transposed": (
        ShapeError, (U, V.T),
        "user_factors (n_users, d) and item_factors (n_items, d) must have the same d, "
        "got (4, 3) and (3, 6); type item_factors.T",
    ),
    "other d": (
        ShapeError, (U, V[:, :2]),
        "user_factors (n_users, d) and item_factors (n_items, d) must have the same d, "
        "got (4, 3) and (6, 2)",
    ),
    "complex": (
        InputTypeError, (U.astype(complex), V),
        "user_factors must hold real numbers (float16, bfloat16, float32, float64, integers or "
        "bool), "
        "got dtype complex128; type np.real(user_factors) or np.abs(user_factors), "
        "whichever orders the items",
    ),
    "strings": (
        InputTypeError, (U, V.astype(str)),
        "item_factors must hold real numbers (float16, bfloat16, float32, float64, integers or "
        "bool), "
        "got dtype <U32; type np.asarray(item_factors, np.float64)",
    ),
    "sparse": (
        InputTypeError, (U, sp.csr_array(V)),
        "item_factors is sparse (csr_array), expected a dense array; type "
        "item_factors.toarray()",
    ),
    "bias of users": (
        ShapeError, (U, V, np.ones(4)),
        "item_bias must hold one number for each of the 6 items, got 1-d of shape (4,)",
    ),
    "bias as a column": (
        ShapeError, (U, V, np.ones((6, 1))),
        "item_bias must hold one number for each of the 6 items, got 2-d of shape (6, 1); "
        "type item_bias.reshape(-1)",
    ),
    "one bias": (
        InputTypeError, (U, V, 1.0),
        "item_bias must be an array or a list with one entry per item, got 1.0 of type float",
    ),
    "complex bias": (
        InputTypeError, (U, V, np.ones(6, complex)),
        "item_bias must hold real numbers (float16, bfloat16, float32, float64, integers or "
        "bool), "
        "got dtype complex128; type np.real(item_bias) or np.abs(item_bias), "
        "whichever orders the items",
    ),
}  # fmt: skip


@pytest.mark.parametrize("error, arguments, message", ERRORS.values(), ids=ERRORS)
def test_errors(error, arguments, message):
    assert FactorScores(U, V, np.ones(6)).shape == (4, 6)
    assert message_of(error, FactorScores, *arguments) == message


# --- Threads and memory --------------------------------------------------------------------------


def test_blas_has_one_thread_until_the_last_caller_is_out(monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="needs threadpoolctl")
    monkeypatch.setattr(factors, "_blas", factors._BlasLimit())  # no test has interrupted this one
    factors._blas_libraries.cache_clear()  # SciPy may have loaded a BLAS of its own since
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads_in_blas()
        if before != {2}:
            pytest.skip("a BLAS without threads")
        inside, leave = threading.Event(), threading.Event()

        @factors.one_thread_in_blas
        def other():
            inside.set()
            leave.wait(300)

        @factors.one_thread_in_blas
        def work():
            thread.start()
            assert inside.wait(300)
            assert threads_in_blas() == {1}
            raise KeyError

        thread = threading.Thread(target=other)
        with pytest.raises(KeyError):
            work()
        assert threads_in_blas() == {1}  # the other is still in
        leave.set()
        thread.join()
        assert threads_in_blas() == {2}


def test_without_threadpoolctl(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    factors._blas_libraries.cache_clear()
    try:
        users, items = whole_numbers(100, 3_000, 2, np.random.default_rng(12))
        assert best(FactorScores(users, items), 9)[0] == by_sorting(users @ items.T, 9)
    finally:
        factors._blas_libraries.cache_clear()


def test_selection_stops_between_tiles(monkeypatch):
    calls = []

    def stop():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(factors, "raise_if_stopped", stop)
    with pytest.raises(KeyboardInterrupt):
        best(FactorScores(np.ones((1, 1)), np.ones((9 * TILE, 1))), 5)
    assert len(calls) == 3
