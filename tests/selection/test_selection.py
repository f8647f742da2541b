"""Ranks counted within the pool are the ranks of a full sort, on rows made to break the bounds."""

import os
import platform
import subprocess
import sys

import numba
import numpy as np
import pytest
from hostile_rows import CUTOFFS, HOSTILE, LANES, LENGTHS, ranks_by_sort

from recmetrics import Metrics, NaNScoreError
from recmetrics._inputs import ScoreMatrix
from recmetrics._selection import empty_hits, kernels, matrix


def select(rows, relevant, excluded, k, *, by_search=False):
    """What the kernel finds: for each user its hits as {item: rank}, and the length of the list."""
    top = ranked(rows, relevant, excluded, k, by_search=by_search, ties=False)
    found = []
    for user in range(len(rows)):
        slots = slice(top.start[user], top.start[user] + top.n_hits[user])
        found.append(
            dict(zip(top.gain[slots].astype(int) - 1, top.rank[slots].tolist(), strict=True))
        )
        assert np.all(np.diff(top.rank[slots]) > 0)
    return found, top.length


def ranked(rows, relevant, excluded, k, *, by_search, ties):
    """What the kernel fills in; the gain of a hit is its item plus 1."""
    start = np.concatenate(([0], np.cumsum([len(items) for items in relevant])))
    items = np.concatenate(relevant)
    top = empty_hits(start, items + 1.0, ties=ties)
    excluded_start = np.concatenate(([0], np.cumsum([len(e) for e in excluded])))
    block = ScoreMatrix(rows).block(slice(0, len(rows)), packed=not by_search)
    lanes = kernels.lanes_for(k, rows.shape[1], block.values.dtype)
    tied = kernels.tied_of(top, ties=ties)
    rank = kernels.rank_sorted_rows if by_search else kernels.rank_rows
    rank(
        block.values,
        *([np.sort(block.values, axis=1)] if by_search else []),
        items,
        items + 1.0,
        excluded_start,
        np.concatenate(excluded),
        k,
        block.lowest,
        block.least,
        top,
        tied,
        np.zeros(1, np.bool_),
        *([] if by_search else [lanes, kernels.pool_for(k, rows.shape[1], block.values.dtype)]),
        kernels.places_for(start),
        *([] if by_search else [block.bits]),
    )
    kernels.sort_hits(top, tied, int(np.diff(start).max()), rows.shape[1] if ties else k)
    return top


@pytest.mark.parametrize("n_items", LENGTHS)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_ranks_are_those_of_a_sort(kind, n_items, dtype):
    rng = np.random.default_rng(n_items)
    n_users = 3
    with np.errstate(over="ignore"):  # huge values are infinity in half precision
        rows = np.stack([HOSTILE[kind](rng, n_items) for _ in range(n_users)]).astype(dtype)
    for n_excluded in (0, 1, n_items // 3):
        for k in CUTOFFS:
            k = min(k, n_items)
            relevant, excluded = [], []
            for row in rows:
                best = np.argsort(-row, kind="stable")[:n_excluded]
                excluded.append(np.sort(rng.permutation(best)[: n_excluded // 2 + 1][:n_excluded]))
                some = rng.choice(n_items, size=min(n_items, rng.integers(0, 30)), replace=False)
                near = np.argsort(-row, kind="stable")[: rng.integers(0, k + 3)][-5:]
                relevant.append(np.union1d(some, near).astype(np.int64))
            expected = [
                ranks_by_sort(row, items) for row, items in zip(rows, excluded, strict=True)
            ]
            # Ranks are searched in sorted rows only where there are no lanes.
            for by_search in {False, kernels.count_lanes(k, n_items) == 0}:
                found, length = select(rows, relevant, excluded, k, by_search=by_search)
                for u, ranks in enumerate(expected):
                    assert found[u] == {i: ranks[i] for i in relevant[u] if 0 < ranks[i] <= k}
                    assert length[u] == min(k, np.count_nonzero(ranks))


TILE = kernels._TILE


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
    for ties in (False, True):
        top = ranked(row[None], [places], [excluded], n_items, by_search=False, ties=ties)
        found = top.gain[: top.n_hits[0]].astype(int) - 1
        assert set(found) == {place for place in places if ranks[place]}
        assert top.rank[: len(found)].tolist() == ranks[found].tolist()
        if ties:
            above = [np.count_nonzero(allowed > row[place]) for place in found]
            reaching = [np.count_nonzero(allowed >= row[place]) for place in found]
            assert top.first[: len(found)].tolist() == [count + 1 for count in above]
            assert top.last[: len(found)].tolist() == reaching


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
    for k in (10, 300, 5_000):
        found, _ = select(rows, relevant, [np.empty(0, np.int64)] * 4, k)
        for row, items, hits in zip(rows, relevant, found, strict=True):
            order = sorted(range(5_000), key=lambda i, row=row: (-row[i].item(), i))
            ranks = {item: rank for rank, item in enumerate(order, 1) if row[item] != -np.inf}
            assert hits == {i: ranks[i] for i in items if ranks.get(i, k + 1) <= k}


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
    for rows in np.array_split(np.arange(n_items), 4):
        truth = [[0]] * len(rows)
        with pytest.raises(NaNScoreError, match=f"^scores hold {len(rows)} NaN, the first at"):
            Metrics.compute(scores[rows], truth, "hit@3")


@pytest.mark.parametrize("kind", HOSTILE)
def test_auc_is_the_mean_over_the_orders_of_equal_scores(kind):
    rng = np.random.default_rng(4)
    scores = np.stack([HOSTILE[kind](rng, 1_500) for _ in range(3)])
    truth = rng.random(scores.shape) < 0.01
    exclude = rng.random(scores.shape) < 0.05
    got = Metrics.compute(scores, truth, "auc", exclude=exclude)["auc"]
    for row, relevant, excluded, value in zip(scores, truth, exclude, got, strict=True):
        listed = ~excluded & (row > -np.inf)
        a, b = row[listed & relevant], row[listed & ~relevant]
        pairs = (a[:, None] > b).sum() + 0.5 * (a[:, None] == b).sum()
        expected = pairs / (a.size * b.size) if a.size and b.size else 0.0
        np.testing.assert_allclose(value, expected, rtol=1e-12)


@numba.njit  # not cached: Numba would not notice that the selection changed
def reached_by(values, k, lowest, slack):
    return kernels._reached_by(values, k, lowest, slack)  # a helper: not for Python to call


def test_a_catalogue_in_order_of_score_is_no_slower_to_bound():
    values = np.arange(40_000, dtype=np.float32)
    rounds = []
    for order in (values, values[::-1].copy(), np.random.default_rng(0).permutation(values)):
        bound = reached_by(order, 5_000, np.float32(-np.inf), np.int64(0))
        rounds.append(bound)
    assert rounds == [35_000] * 3


def test_an_excluded_item_bounds_nothing():
    """The best of every lane are excluded; the best of the others is first."""
    scores = np.arange(2_000.0)[np.newaxis]
    truth = np.zeros_like(scores)
    truth[0, 999] = 1.0
    got = Metrics.compute(scores, truth, "mrr@5", exclude=[np.arange(1_000, 2_000)])
    assert got["mrr@5"].tolist() == [1.0]


@pytest.mark.parametrize("n_items", [40, 900])  # without lanes, and with
@pytest.mark.parametrize("metric", ["ndcg", "auc", "ndcg@10", "map@10"])
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.float64, np.int16, np.uint8, np.int64]
)
def test_hidden_items_are_as_excluded_ones(monkeypatch, dtype, metric, n_items):
    rng = np.random.default_rng(n_items)
    scores = rng.integers(0, 30, (20, n_items)).astype(dtype)
    least = np.iinfo(dtype).min if dtype(0).dtype.kind in "iu" else -np.inf
    scores[10:][rng.random((10, n_items)) < 0.2] = least  # of an integer, may be recommended
    truth = rng.integers(0, 3, scores.shape) * (rng.random(scores.shape) < 0.4)
    exclude = rng.random(scores.shape) < 0.3
    hidden, real = [], matrix._hidden

    def hide(*given):
        hidden.append(real(*given))
        return hidden[-1]

    monkeypatch.setattr("recmetrics._selection.matrix._hidden", hide)
    for ties in ("index", "expected") if metric != "auc" else ("expected",):
        rules = {"exclude": exclude, "ties": ties, "n_threads": 1}
        expected = Metrics.compute(scores, truth, metric, **rules)[metric]
        with monkeypatch.context() as patch:
            patch.setattr("recmetrics._selection.matrix._PAIRS", 0)
            patch.setattr("recmetrics._selection.matrix._PAIRS_WITH_LANES", 0)
            hidden.clear()
            got = Metrics.compute(scores, truth, metric, **rules)[metric]
        np.testing.assert_array_equal(got, expected)
        # No copy where it would hide a number: only integers beyond 2^53 stay without a -inf.
        assert [one is None for one in hidden] == [dtype is np.int64]


def test_a_nan_among_excluded_items_is_reported_as_ever(monkeypatch):
    monkeypatch.setattr("recmetrics._selection.matrix._PAIRS", 0)
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


def test_many_relevant_and_many_excluded_items_are_hidden(monkeypatch):
    """Each pair of them would be compared: 3 million pairs for a row of 5,000."""
    hidden, real = [], matrix._hidden

    def hide(*given):
        hidden.append(real(*given))
        return hidden[-1]

    monkeypatch.setattr("recmetrics._selection.matrix._hidden", hide)
    scores = np.random.default_rng(0).random((2, 5_000))
    lists = [np.arange(0, 3_000, 2)] * 2, [np.arange(1, 4_000, 2)] * 2
    for metric in ("auc", "ndcg@10"):
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
from recmetrics import Metrics
from recmetrics._selection import kernels

rng = np.random.default_rng(0)
scores = rng.integers(1 << 60, size=(2, 800))
truth = scores % 9 == 0
for values in (scores, *(rng.random((2, 800)).astype(kind) for kind in ("f2", "f4", "f8"))):
    Metrics.compute(values, truth, ["hit@2"])
    Metrics.compute(values, truth, ["coverage@2"])
for kind in ("f4", "f8"):
    factors = rng.random((12_289, 2)).astype(kind)
    Metrics.compute_factors(factors[:2], factors, [[1], [2]], ["hit@2"])
for name in ("rank_rows", "list_rows", "select_tile"):
    for code in getattr(kernels, name).inspect_asm().values():
        stores = re.findall(r"maskmov.*\)$", code, re.MULTILINE)
        print(name, "%ymm" in code, "%zmm" in code, len(stores))
"""


@pytest.mark.needs_jit
@pytest.mark.thorough
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="compiles for x86-64")
def test_no_score_is_stored_under_a_mask(tmp_path):
    """Processors with AVX2 and without AVX-512 take four times as long for that."""
    target = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
    found = subprocess.check_output(
        [sys.executable, "-c", MASKED],
        env=os.environ | target | {"NUMBA_CACHE_DIR": str(tmp_path)},
        text=True,
    ).splitlines()
    vectorised = "True False 0"
    numbers = {"rank_rows": 4, "list_rows": 3, "select_tile": 2}
    assert found == [f"{name} {vectorised}" for name, n in numbers.items() for _ in range(n)]
