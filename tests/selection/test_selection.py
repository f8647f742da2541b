"""Ranks counted within the pool are the ranks of a full sort, on rows made to break the bounds."""

import platform
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, python
from hostile_rows import CUTOFFS, HOSTILE, LANES, LENGTHS, ranks_by_sort
from inside import compiled, kernels
from problems import plain_specs
from sizes import patched

from recmetrics import Metrics, NaNScoreError
from recmetrics._core.selection import matrix


def assert_ranked(rows, relevant, ranks, cutoffs, **options):
    """The values at these cutoffs are those of the ranks, 0 where an item is in no list.

    Every relevant item has another gain, so the values tell which one has which rank.
    """
    truth, ranks = np.zeros(rows.shape), np.array(ranks)
    for user, items in enumerate(relevant):
        truth[user, items] = np.random.default_rng(user).uniform(1, 2, len(items))
    weight = 1 / np.log2(np.maximum(ranks, 1) + 1.0)
    for k in {min(k, rows.shape[1]) for k in cutoffs}:
        texts = [f"cg@{k}", f"dcg@{k}", f"precision(denom=list)@{k}"]
        got = Metrics.compute(rows, truth, texts, **options)
        gains = truth * ((ranks > 0) & (ranks <= k))
        n_hits, length = np.count_nonzero(gains, axis=1), np.count_nonzero(ranks, axis=1)
        share = np.where(truth.any(axis=1), n_hits / np.clip(length, 1, k), np.nan)
        expected = [gains.sum(axis=1), (gains * weight).sum(axis=1), share]
        np.testing.assert_allclose(list(got.values()), expected, rtol=1e-12)


@pytest.mark.parametrize("n_items", LENGTHS)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize(
    ("dtype", "many"), [("float64", 0), ("float64", 1 << 60), ("float16", 1 << 60)]
)
def test_ranks_are_those_of_a_sort(kind, n_items, dtype, many):
    rng = np.random.default_rng(n_items)
    with np.errstate(over="ignore"):  # huge values are infinity in half precision
        rows = np.stack([HOSTILE[kind](rng, n_items) for _ in range(3)]).astype(dtype)
    for n_excluded in (0, 1, n_items // 3):
        relevant, excluded = [], []
        for row in rows:
            best = np.argsort(-row, kind="stable")
            of_best = rng.permutation(best[:n_excluded])
            excluded.append(np.sort(of_best[: n_excluded // 2 + 1][:n_excluded]))
            some = rng.choice(n_items, size=min(n_items, rng.integers(0, 30)), replace=False)
            near = [best[:k][-5:] for k in rng.choice(CUTOFFS, 2) + rng.integers(-2, 3, 2)]
            relevant.append(np.unique(np.concatenate([some, *near])).astype(np.int64))
        ranks = [ranks_by_sort(row, items) for row, items in zip(rows, excluded, strict=True)]
        with patched(
            {
                "_core.selection.matrix": {
                    "MANY_RELEVANT": {4: many, 8: many},
                    "_MANY_HITS": -1,
                    "MAX_PAIRS": 1 << 60,
                }
            }
        ):
            assert_ranked(rows, relevant, ranks, CUTOFFS, exclude=excluded)


TILE = kernels.TILE_SCORES


@pytest.mark.parametrize("n_items", [TILE - 1, TILE, TILE + 1, 2 * TILE + 65])
@pytest.mark.parametrize("kind", HOSTILE)
def test_ranks_and_ties_hold_from_tile_to_tile(kind, n_items):
    rng = np.random.default_rng(n_items)
    row = HOSTILE[kind](rng, n_items)
    at_edges = [0, TILE - 2, TILE - 1, TILE, 2 * TILE - 1, 2 * TILE, n_items - 1]
    places = np.unique(rng.integers(0, n_items, 5).tolist() + [i for i in at_edges if i < n_items])
    excluded = np.unique(rng.integers(0, n_items, 9))
    ranks = ranks_by_sort(row, excluded)
    allowed = row[ranks > 0]
    for ties, rank_of in {
        "index": lambda place: ranks[place],
        "best": lambda place: np.count_nonzero(allowed > row[place]) + 1,
        "worst": lambda place: np.count_nonzero(allowed >= row[place]),
    }.items():
        expected = [rank_of(place) if ranks[place] else np.inf for place in places]
        got = Metrics.ranks(row[None], [places], exclude=[excluded], ties=ties)
        assert got.toarray()[0, places].tolist() == expected


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "bool", "int8", "uint8", "int16", "int64", "uint64"]
)
def test_every_dtype_ranks_in_its_own_order(dtype):
    rng = np.random.default_rng(1)
    kind = np.dtype(dtype).kind
    if kind == "f":
        rows = rng.standard_normal((4, 5_000)).astype(dtype)
        rows[:, rng.integers(0, 5_000, 300)] = -np.inf
        rows[:, rng.integers(0, 5_000, 300)] = -0.0
    elif kind == "b":
        rows = rng.random((4, 5_000)) < 0.01
    else:
        info = np.iinfo(dtype)
        rows = rng.integers(info.min, info.max, (4, 5_000), dtype=dtype, endpoint=True)
        rows[0] = info.min  # the smallest integer is a score like any other
        rows[1, 4_000:] = info.max  # beyond what float64 tells apart
        rows[1, 4_500:] -= 1
    relevant = [np.sort(rng.choice(5_000, 40, replace=False)) for _ in rows]
    ranks = np.zeros(rows.shape, np.int64)
    for own, row in zip(ranks, rows, strict=True):
        order = sorted(range(5_000), key=lambda i, row=row: (-row[i].item(), i))
        own[order] = np.arange(1, 5_001)
        own[row == -np.inf] = 0
    assert_ranked(rows, relevant, ranks, (10, 300, 5_000))


@pytest.mark.parametrize("ties", ["index", "expected"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n_items", [50, 5_000])
def test_nan_excluded_is_like_minus_infinity(dtype, n_items, ties):
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((5, n_items)).astype(dtype)
    holes = rng.random(scores.shape) < 0.2
    truth = (rng.random(scores.shape) < 0.3).astype(float)
    metrics = ["ndcg@10", "precision(denom=list)", "mrr", "auc"]
    with_nan = np.where(holes, np.nan, scores).astype(dtype)
    with_inf = np.where(holes, -np.inf, scores).astype(dtype)
    got = Metrics.compute(with_nan, truth, metrics, nan="exclude", ties=ties)
    expected = Metrics.compute(with_inf, truth, metrics, ties=ties)
    for metric in metrics:
        np.testing.assert_array_equal(got[metric], expected[metric])
        assert not np.isnan(got[metric]).any()


@pytest.mark.parametrize("n_items", [5, 70, 3 * LANES + 70, 5 * LANES + 1])
def test_no_nan_is_overlooked(n_items):
    scores = np.zeros((n_items, n_items), np.float32)
    np.fill_diagonal(scores, np.nan)
    # Few rows at a time: a NaN in one of them is enough to look for all.
    for rows in np.array_split(np.arange(n_items), -(-n_items // 32)):
        truth = [[0]] * len(rows)
        with pytest.raises(NaNScoreError, match=f"^scores hold {len(rows)} NaN, the first at"):
            Metrics.compute(scores[rows], truth, "hit@3")


def test_no_nan_is_overlooked_where_users_have_many_relevant_items():
    for item in (0, 199, 399):
        scores = np.zeros((1, 400), np.float32)
        scores[0, item] = np.nan
        expected = rf"^scores hold 1 NaN, the first at \(user 0, item {item}\)"
        with pytest.raises(NaNScoreError, match=expected):
            Metrics.compute(scores, [np.arange(1, 199)], "auc")


@pytest.mark.parametrize("n_items", [2_000, 20_000])  # the longer row is not copied
def test_an_excluded_item_bounds_nothing(n_items):
    """The best of every lane are excluded; the best of the others is first."""
    scores = np.arange(float(n_items))[np.newaxis]
    best_allowed = n_items - 1_001
    excluded = [np.arange(n_items - 1_000, n_items)]
    got = Metrics.compute(scores, [[best_allowed]], "mrr@5", exclude=excluded)
    assert got["mrr@5"].tolist() == [1.0]


def test_the_lanes_of_one_user_bound_no_other():
    scores = np.stack([np.arange(2_000.0), np.arange(2_000.0) - 5_000.0])
    assert Metrics.compute(scores, [[1_999]] * 2, "mrr@5")["mrr@5"].tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("n_excluded", [24, 25, 500])  # 1,000 items: from 25 on in a copy of a row
def test_excluded_items_take_no_rank(n_excluded):
    scores = np.arange(1_000.0, 0.0, -1.0)[np.newaxis]
    scores[0, 600] = np.inf
    relevant = [[n_excluded, 600, 700]]
    excluded = [[*range(n_excluded - 1), 600]]
    ranks = Metrics.ranks(scores, relevant, exclude=excluded).toarray()[0, relevant[0]]
    # Of the items before, one is not excluded; from 600 on, the excluded one is before as well.
    np.testing.assert_array_equal(ranks, [2, np.inf, 700 - n_excluded + 1])


@pytest.mark.parametrize("metric", ["precision(denom=list)@10", "precision(denom=list)"])
def test_excluded_items_make_a_list_shorter_whatever_their_score(metric):
    """Also the smallest integer, which may be recommended, beside one that no float holds."""
    scores = np.array([[0, 2**60 + 1, 0, 0, 0]], np.uint64)
    got = Metrics.compute(scores, [[1]], metric, exclude=[[0, 2]])
    assert got[metric].tolist() == [1 / 3]


@pytest.fixture
def hidden(monkeypatch):
    """What hiding gives each time: a copy of the scores, or None."""
    found, real = [], matrix._hidden

    def hide(*given):
        found.append(real(*given))
        return found[-1]

    monkeypatch.setattr(matrix, "_hidden", hide)
    return found


# Excluded items are hidden in a copy of a block, not of one row after another; and no list of the
# best items is looked through for hits, which hides none.
NO_PAIRS = {
    "_core.selection.matrix": {
        "MAX_PAIRS": 0,
        "MAX_PAIRS_WITH_LANES": 0,
        "compiles": lambda: False,
    },
    "_core.selection.memory": {"_CACHED_ROW_BYTES": 0},
}


@pytest.mark.parametrize("n_items", [40, 900])  # without lanes, and with
@pytest.mark.parametrize("metric", ["ndcg", "auc", "ndcg@10", "map@10"])
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.float64, np.int16, np.uint8, np.int64]
)
def test_hidden_items_are_as_excluded_ones(hidden, dtype, metric, n_items):
    rng = np.random.default_rng(n_items)
    scores = rng.integers(0, 30, (20, n_items)).astype(dtype)
    least = np.iinfo(dtype).min if dtype(0).dtype.kind in "iu" else -np.inf
    scores[10:][rng.random((10, n_items)) < 0.2] = least  # of an integer, may be recommended
    truth = rng.integers(0, 3, scores.shape) * (rng.random(scores.shape) < 0.4)
    exclude = rng.random(scores.shape) < 0.3
    for ties in ("index", "expected") if metric != "auc" else ("expected",):
        rules = {"exclude": exclude, "ties": ties, "n_threads": 1}
        expected = Metrics.compute(scores, truth, metric, **rules)[metric]
        hidden.clear()
        with patched(NO_PAIRS):
            got = Metrics.compute(scores, truth, metric, **rules)[metric]
        np.testing.assert_array_equal(got, expected)
        # No copy where it would hide a number: only integers beyond 2^53 stay without a -inf.
        assert [one is None for one in hidden] == [dtype is np.int64]


@pytest.fixture(params=[{}, NO_PAIRS], ids=["rows", "blocks"])
def _copied(request):
    with patched(request.param):
        yield


@pytest.mark.usefixtures("_copied")
def test_a_nan_among_excluded_items_is_reported_as_ever():
    scores = np.arange(40.0).reshape(2, 20)
    scores[1, 3] = scores[1, 7] = np.nan
    rules = {"exclude": [[1], [3]], "metrics_list": ["auc"]}
    truth = np.eye(2, 20)
    with pytest.raises(NaNScoreError, match=r"^scores hold 2 NaN, the first at \(user 1, item 3\)"):
        Metrics.compute(scores, truth, **rules)
    scores[1, 7] = 0
    with pytest.raises(NaNScoreError, match=r"^scores hold 1 NaN, the first at \(user 1, item 3\)"):
        Metrics.compute(scores, truth, **rules)
    scores[1, 3] = scores[1, 7] = -np.inf
    expected = Metrics.compute(scores, truth, **rules)["auc"]
    scores[1, 3] = scores[1, 7] = np.nan
    got = Metrics.compute(scores, truth, nan="exclude", **rules)["auc"]
    np.testing.assert_array_equal(got, expected)


def test_many_relevant_and_many_excluded_items_are_hidden(hidden):
    """Each pair of them would be compared: 3 million pairs for a row of 9,000."""
    scores = np.random.default_rng(0).random((2, 9_000))
    lists = [np.arange(0, 3_000, 2)] * 2, [np.arange(1, 4_000, 2)] * 2
    for metric in ("auc", "ndcg@300"):
        Metrics.compute(scores, lists[0], metric, exclude=lists[1])
        Metrics.compute(scores, lists[0], metric, exclude=[lists[1][0][:1]] * 2)
    assert [one is not None for one in hidden] == [True, True]


def test_a_long_row_with_fewer_recommendable_items_than_k():
    scores = np.full((2, 4 * LANES), -np.inf, np.float32)
    scores[0, [5, 70, 900]] = [3, 2, 1]
    scores[1] = 1
    truth = [[70], [0]]
    got = Metrics.compute(scores, truth, ["precision(denom=list)@10", "mrr@10"])
    np.testing.assert_array_equal(got["precision(denom=list)@10"], [1 / 3, 1 / 10])
    np.testing.assert_array_equal(got["mrr@10"], [1 / 2, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("k", [1, 7, 100, 130])
def test_relevant_items_in_any_order_of_their_scores(k, dtype):
    """An item that misses rules out those below it, and one that does not those above."""
    rng = np.random.default_rng(k)
    scores = rng.permuted(np.tile(np.arange(4 * LANES), (40, 1)), axis=1).astype(dtype)
    scores[20:] //= 8  # ties
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1) + 1
    truth = np.sort(rng.permuted(np.tile(np.arange(4 * LANES), (40, 1)), axis=1)[:, :30], axis=1)
    relevant = np.take_along_axis(ranks, truth, axis=1)
    got = Metrics.compute(scores, list(truth), [f"recall(denom=relevant)@{k}", f"mrr@{k}"])
    expected = (relevant <= k).sum(axis=1) / 30
    np.testing.assert_array_equal(got[f"recall(denom=relevant)@{k}"], expected)
    best = relevant.min(axis=1)
    np.testing.assert_array_equal(got[f"mrr@{k}"], np.where(best <= k, 1 / best, 0))


MASKED = r"""
import re
import numpy as np
import scipy.sparse as sp
from recmetrics import Metrics
from recmetrics._core.selection import kernels

rng = np.random.default_rng(0)
scores = rng.random((2, 800))
truth = sp.csr_array(scores > 0.9)
Metrics.compute(scores.astype("f2"), truth, ["hit@2"])
Metrics.compute(scores.astype("f4"), truth, ["hit@20"])  # most users have a hit
Metrics.compute(rng.integers(1 << 60, size=(2, 800)), truth, ["coverage@2"])
factors = rng.random((12_289, 2))
Metrics.compute_factors(factors[:2], factors, [[1], [2]], ["hit@2"])
for name in ("rank_rows", "list_rows", "select_tile"):
    for code in getattr(kernels, name).compiled.inspect_asm().values():
        stores = re.findall(r"maskmov.*\)$", code, re.MULTILINE)
        print(name, "%ymm" in code, "%zmm" in code, len(stores))
"""


@pytest.mark.needs_jit
@pytest.mark.thorough
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="compiles for x86-64")
def test_no_score_is_stored_under_a_mask(tmp_path):
    """Processors with AVX2 and without AVX-512 take four times as long for that.

    All kernels pass over lanes by one helper, and every kind of scores is in one of them.
    """
    target = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "", "RECMETRICS_JIT": "always"}
    found = python("-c", MASKED, NUMBA_CACHE_DIR=str(tmp_path), **target).stdout.splitlines()
    vectorised = "True False 0"
    numbers = {"rank_rows": 2, "list_rows": 1, "select_tile": 1}
    assert found == [f"{name} {vectorised}" for name, n in numbers.items() for _ in range(n)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ties", ["index", "expected", "best"])
@pytest.mark.parametrize("bits", [-1, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000001])  # NaN; 2^x is inf
def test_memory_without_a_hit_is_never_read(bits, ties, monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 99, (40, 800)).astype(float)  # lanes pass over users without a hit
    truth = sp.csr_array(rng.integers(1, 5, scores.shape) * (rng.random(scores.shape) < 0.02))
    texts = [str(spec) for spec in plain_specs(kinds=("hits",)) if spec.k]
    texts += ["dcg(gain=exp2)@3", "recall(rel=3)@3"]
    if ties == "index":
        texts.append("ndcg(ideal=retrieved)@3")
    else:
        texts.remove("auc@3")
    expected = {text: Metrics.compute(scores, truth, [text], ties=ties) for text in texts}
    empty_hits = matrix.empty_hits

    def filled(start, relevance, *, ties, allocate=np.zeros):
        used = np.full if allocate is np.empty else lambda n, _bits, dtype: allocate(n, dtype)
        return empty_hits(
            start, relevance, ties=ties, allocate=lambda n, dtype: used(n, bits, dtype)
        )

    monkeypatch.setattr(matrix, "empty_hits", filled)
    with patched({"_core.inputs.scores": {"LEAST_SCORES": 0, "_BLOCK_BYTES": 1 << 15}}):
        for text in texts:  # each for itself: others would need more ranks
            assert_identical(Metrics.compute(scores, truth, [text], ties=ties), expected[text])


@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_of_a_few_candidates_are_read_without_a_copy_of_all(order):
    scores = np.zeros((1_000, 4_000), np.float32, order=order)
    truth, candidates = np.zeros(1_000, int), np.arange(50)
    with compiled():
        Metrics.compute(scores[:2], truth[:2], "mrr", candidates=candidates)
    tracemalloc.start()
    Metrics.compute(scores, truth, "mrr", candidates=candidates)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < scores.nbytes / 2


@pytest.mark.parametrize("ties_lose", [False, True])
@pytest.mark.parametrize("n_scores", [1, 63, 64, 65, 200])
def test_scores_of_blocks_are_counted_as_by_the_loop(n_scores, ties_lose):
    """Python counts in NumPy what machine code counts in a loop, also NaN and a part of a block."""
    scores = np.random.default_rng(n_scores).choice([np.nan, -np.inf, 0, 1, np.inf], n_scores)
    n_blocks = -(-n_scores // kernels.BLOCK_SCORES)
    for bound in (-np.inf, 0.0, np.inf):
        counts, expected = np.zeros((2, n_blocks), np.int32)
        total = kernels._count_blocks(scores, bound, ties_lose, counts)
        loop = kernels._count_blocks.__wrapped__
        assert total == loop(scores, bound, ties_lose, expected) == expected.sum()
        np.testing.assert_array_equal(counts, expected)
