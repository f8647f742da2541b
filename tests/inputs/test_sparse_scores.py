"""Sparse scores: their stored entries, and no others, may be recommended."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from inside import compiled
from problems import plain_specs, side_information

from recmetrics import Evaluator, Metrics, RecmetricsWarning, audit

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
ALL = [str(spec) for spec in plain_specs()]


def stored(entries, shape, form="csr"):
    """A matrix with these entries, also zeros, of {(user, item): score}."""
    users, items = zip(*entries, strict=True)
    matrix = sp.coo_array((list(entries.values()), (users, items)), shape=shape)
    return matrix.asformat(form)


@pytest.mark.parametrize("form", FORMATS)
def test_an_item_without_an_entry_is_not_recommended(form):
    """The list of the only user is [1, 0, 2]: a stored 0 is a score, item 3 has none."""
    scores = stored({(0, 0): -1.0, (0, 1): 0.0, (0, 2): -2.0}, (1, 4), form)
    truth = np.array([[0, 0, 1, 1]])
    got = Metrics.compute(scores, truth, ["mrr", "recall@4", "precision@4", "auc"])
    # Item 2 is third; item 3 counts among the two relevant ones and is no hit.
    assert got["mrr"].tolist() == [1 / 3]
    assert got["recall@4"].tolist() == [1 / 2]
    assert got["precision@4"].tolist() == [1 / 4]


def test_zeros_of_diagonals_are_stored():
    scores = sp.dia_array((np.array([[0.0, 2.0, 9.0], [5.0, 1.0, 0.0]]), [0, 1]), shape=(2, 3))
    # Row 0 stores item 0 with 0 and item 1 with 1, row 1 items 1 with 2 and 2 with 0.
    assert Metrics.mrr_at_k(scores, [0, 2]).tolist() == [1 / 2, 1 / 2]
    assert Metrics.mrr_at_k(scores, [2, 0]).tolist() == [0, 0]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
@pytest.mark.parametrize("form", FORMATS[:-2])  # bsr and dia store more
@pytest.mark.parametrize("sets", [[], ["exclude"], ["candidates"], ["exclude", "candidates"]])
def test_the_bits_of_minus_infinity_in_every_other_place(dtype, form, sets):
    rng = np.random.default_rng(0)
    shape = 30, 90
    values = rng.integers(-4, 5, shape).astype(dtype)
    is_stored = rng.random(shape) < rng.choice([0.02, 0.4, 1.0], (30, 1))
    users, items = np.nonzero(is_stored)
    scores = sp.coo_array((values[users, items], (users, items)), shape=shape).asformat(form)
    truth = rng.integers(0, 3, shape) * (rng.random(shape) < 0.2)
    given = {name: rng.random(shape) < 0.3 for name in sets} | side_information(*shape)
    dense = np.where(is_stored, values, -np.inf)
    for ties in ("index", "expected"):
        metrics = ALL if ties == "index" else ["ndcg@3", "mrr", "auc", "map@50"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecmetricsWarning)
            expected = Metrics.compute(dense, truth, metrics, ties=ties, **given)
            got = Metrics.compute(scores, truth, metrics, ties=ties, **given)
            one = Evaluator(truth, metrics, ties=ties, **given)
            csr = scores.tocsr()
            one.update(csr[20:], slice(20, 30))
            one.update(csr[:20], slice(0, 20))
            batches = one.compute()
        for text in metrics:
            np.testing.assert_array_equal(got[text], expected[text], err_msg=text)
            np.testing.assert_array_equal(batches[text], expected[text], err_msg=text)


def test_nan_and_minus_infinity_that_are_stored():
    scores = stored({(0, 0): -np.inf, (0, 2): 1.0, (1, 1): np.nan, (1, 2): 2.0}, (2, 3))
    got = Metrics.compute(scores, [[1, 0, 0], [0, 1, 1]], ["recall@3", "mrr"], nan="exclude")
    assert got["recall@3"].tolist() == [0.0, 1 / 2]
    assert got["mrr"].tolist() == [0.0, 1.0]


def test_the_input_is_not_changed():
    scores = sp.csr_array((np.array([1.0, 3.0, 2.0]), [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    before = [array.copy() for array in (scores.data, scores.indices, scores.indptr)]
    for array in (scores.data, scores.indices, scores.indptr):
        array.flags.writeable = False
    assert Metrics.mrr_at_k(scores, [[2], [1]]).tolist() == [1 / 2, 1.0]
    after = [scores.data, scores.indices, scores.indptr]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_users_and_items_without_entries():
    metrics = ["mrr", "precision@2", "coverage@2"]
    got = Metrics.compute(sp.csr_array((2, 3)), [[0, 0, 1], [1, 0, 0]], metrics)
    assert [value.tolist() for value in got.values()] == [[0.0, 0.0], [0.0, 0.0], 0.0]
    assert Metrics.mrr_at_k(sp.csr_array((0, 3)), np.empty((0, 3))).tolist() == []


def test_an_audit_reads_what_is_stored():
    scores = stored({(0, 0): 1.0, (0, 1): 1.0, (1, 2): -np.inf}, (2, 3))
    report = audit(scores, [[1, 0, 0], [0, 0, 1]], k=1)
    assert (report.constant.users, report.constant.user) == (1, 0)
    assert (report.negative_inf.entries, report.negative_inf.item) == (1, 2)
    assert (report.short.users, report.short.user) == (1, 1)


@pytest.mark.needs_jit
def test_memory_grows_with_the_entries():
    """The dense matrix would have 400 GB."""
    n_users, n_items, n_stored = 50_000, 1_000_000, 20
    rng = np.random.default_rng(0)
    items = np.sort(rng.integers(0, n_items // n_stored, (n_users, n_stored)), axis=1)
    items = (items + np.arange(n_stored) * (n_items // n_stored)).ravel().astype(np.int32)
    start = np.arange(n_users + 1) * n_stored
    values = rng.random(len(items), dtype=np.float32)
    scores = sp.csr_array((values, items, start), shape=(n_users, n_items))
    truth = items.reshape(n_users, -1)[:, 7].astype(np.int64)
    with compiled():
        Metrics.compute(scores[:2], truth[:2], ["mrr", "coverage@5"])
    tracemalloc.start()
    got = Metrics.compute(scores, truth, ["mrr", "coverage@5"], n_threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * (scores.data.nbytes + items.nbytes + start.nbytes)
    own = values.reshape(n_users, -1)
    ranks = 1 + np.count_nonzero(own > own[:, 7:8], axis=1)
    np.testing.assert_allclose(got["mrr"], 1 / ranks, rtol=1e-12)
