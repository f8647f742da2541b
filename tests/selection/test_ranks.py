"""The rank of every relevant item, against a count in plain Python."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import as_index_arrays, problems

from recmetrics import ArgumentError, Metrics, NaNScoreError, RecmetricsWarning

pytestmark = pytest.mark.usefixtures("both_ways")


def ranks_by_counting(scores, candidates, excluded, ties):
    """The ranks of the items of one user, inf where they cannot be recommended."""
    able = [i for i in candidates if i not in excluded and scores[i] > -np.inf]
    ranks = np.full(len(scores), np.inf)
    for item in able:
        above = sum(scores[other] > scores[item] for other in able)
        equal = [other for other in able if scores[other] == scores[item]]
        among = {
            "index": sorted(equal).index(item) + 1,
            "best": 1,
            "worst": len(equal),
            "expected": (1 + len(equal)) / 2,
        }
        ranks[item] = above + among[ties]
    return ranks


@settings(deadline=None, max_examples=100)
@given(problem=problems(), ties=st.sampled_from(["index", "best", "worst", "expected"]))
def test_ranks_are_what_counting_gives(problem, ties):
    scores, truth, *sets = problem
    exclude, candidates = map(as_index_arrays, sets)
    n_users, n_items = truth.shape
    got = Metrics.ranks(scores, truth, exclude=exclude, candidates=candidates, ties=ties)
    assert got.shape == truth.shape
    expected = np.zeros(truth.shape)
    for user in range(n_users):
        excluded = set() if exclude is None else set(exclude[user].tolist())
        able = range(n_items) if candidates is None else candidates[user].tolist()
        ranks = ranks_by_counting(scores[user].tolist(), able, excluded, ties)
        expected[user] = np.where(truth[user] > 0, ranks, 0.0)
    np.testing.assert_array_equal(got.toarray(), expected)


SCORES = np.random.default_rng(0).integers(0, 9, (40, 60)).astype(np.float32)
TRUTH = (np.random.default_rng(1).random((40, 60)) < 0.15) * 2.0


@pytest.mark.parametrize(
    "form",
    [sp.csr_array, sp.coo_array, np.asarray, lambda t: [np.flatnonzero(row)[::-1] for row in t]],
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_form_of_truth_gives_the_same(form, n_threads):
    expected = Metrics.ranks(SCORES, TRUTH)
    got = Metrics.ranks(SCORES, form(TRUTH), n_threads=n_threads)
    np.testing.assert_array_equal(got.toarray(), expected.toarray())
    assert got.has_sorted_indices
    assert got.nnz == np.count_nonzero(TRUTH)


def test_factors_and_sparse_scores_have_ranks():
    users, items = SCORES.astype(np.float64), np.eye(60)
    got = Metrics.ranks_factors(users, items, TRUTH, exclude=TRUTH == 0, ties="expected")
    expected = Metrics.ranks(SCORES, TRUTH, exclude=TRUTH == 0, ties="expected")
    np.testing.assert_array_equal(got.toarray(), expected.toarray())
    stored = sp.csr_array(SCORES)  # 0 is not stored, so not recommended
    dense = np.where(SCORES > 0, SCORES, -np.inf)
    got = Metrics.ranks(stored, TRUTH)
    np.testing.assert_array_equal(got.toarray(), Metrics.ranks(dense, TRUTH).toarray())
    assert np.isinf(got.data).any()


def test_nothing_to_rank():
    empty = Metrics.ranks(np.zeros((0, 5)), np.zeros((0, 5)))
    assert (empty.shape, empty.nnz) == ((0, 5), 0)
    none = Metrics.ranks(np.zeros((2, 5)), np.zeros((2, 5)))
    assert (none.shape, none.nnz) == ((2, 5), 0)


def test_the_caller_owns_the_ranks():
    truth = sp.csr_array(TRUTH)
    before = truth.copy()
    ranks = Metrics.ranks(SCORES, truth)
    ranks.data[:] = -1
    ranks.indices[:] = 0
    ranks.indptr[:] = 0
    assert (truth != before).nnz == 0


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(NaNScoreError, match=r"scores hold 1 NaN, the first at \(user 0, item 1\)"):
        Metrics.ranks([[1.0, np.nan]], [[1, 0]])
    assert Metrics.ranks([[1.0, np.nan]], [[0, 1]], nan="exclude").data.tolist() == [np.inf]
    with pytest.raises(ArgumentError, match="ties must be"):
        Metrics.ranks([[1.0]], [[1]], ties="mean")
    with pytest.raises(ArgumentError, match="ties must be"):
        Metrics.ranks([[1.0]], [[1]], ties=np.array(["best", "worst"]))
    with pytest.raises(TypeError, match="unexpected keyword argument 'undefined'"):
        Metrics.ranks([[1.0]], [[1]], undefined="zero")
    with pytest.warns(RecmetricsWarning, match="exclude holds the one relevant item"):
        Metrics.ranks([[1.0, 2.0]], [[1, 0]], exclude=[[0]])
