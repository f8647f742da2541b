"""User metrics beyond accuracy, the lists that they read, and their side information."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, assert_same, message_of
from hostile_rows import CUTOFFS, HOSTILE, LANES, LENGTHS, ranks_by_sort
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import compiled, parse
from problems import (
    JIT,
    assert_every_metric,
    by_reference,
    of_kind,
    plain_specs,
    problems,
    side_information,
)

from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    NaNScoreError,
    RecmetricsWarning,
    ShapeError,
    UndefinedMetricError,
    popularity_from,
)
from recmetrics._core.inputs import side
from recmetrics._core.selection import rankings

LIST_METRICS = [metric.name for metric in of_kind("lists")]

# --- Hand-worked values --------------------------------------------------------------------------
# The list is items 0 1 2 3; items 1, 3 and 4 are relevant, with relevances 2, 1 and 3.

SCORES, TRUTH = [[5, 4, 3, 2, -np.inf]], [[0, 2, 0, 1, 3]]
SIDE = {
    "popularity": [0.5, 0.25, 0.0, 0.125, 1.0],
    # Cosines: 0 and 1: 1, 0 and 2: 0, 1 and 2: 0, 0 and 3: 3/5, 1 and 3: 3/5, 2 and 3: 4/5.
    "features": [[1, 0], [2, 0], [0, 1], [3, 4], [1, 1]],
    "genres": [[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]],
    "profile": [[3, 1, 0]],
}
HAND = {
    "diversity@2": 1 - 1,
    "diversity@3": 1 - 1 / 3,
    "diversity@4": 1 - (1 + 0 + 0 + 3 / 5 + 3 / 5 + 4 / 5) / 6,
    "diversity": 1 - (1 + 0 + 0 + 3 / 5 + 3 / 5 + 4 / 5) / 6,
    "diversity@1": math.nan,
    "novelty@2": (1 + 2) / 2,
    # Nobody has item 2; item 3, with 1/8, is the rarest that somebody has.
    "novelty@4": (1 + 2 + 3 + 3) / 4,
    "novelty(denom=k)@5": (1 + 2 + 3 + 3) / 5,
    "novelty(denom=k)": (1 + 2 + 3 + 3) / 4,
    "novelty(unseen=zero)@4": (1 + 2 + 0 + 3) / 4,
    "novelty(unseen=skip)@4": (1 + 2 + 3) / 3,
    "novelty(unseen=skip, denom=k)@5": (1 + 2 + 3) / 5,
    "novelty(unseen=skip, denom=k)": (1 + 2 + 3) / 4,
    "novelty(unseen=inf)@4": math.inf,
    "novelty(unseen=inf)@2": (1 + 2) / 2,
    "novelty(unseen=nan)@3": math.nan,
    "popularity@2": (0.5 + 0.25) / 2,
    "popularity@5": (0.5 + 0.25 + 0 + 0.125) / 4,
    # All shares: 1.875. Item 4 alone has 1 / 1.875 = 53 %, with item 0 80 %, with item 1 93 %.
    "share@4": 4 / 4,
    "long_tail@4": 4 / 4,
    "long_tail(tail=0.47)@4": 4 / 4,
    "long_tail(tail=0.46)@4": 3 / 4,
    "long_tail(tail=0.2)@4": 3 / 4,
    "long_tail(tail=0.19)@4": 2 / 4,
    "serendipity@2": (1 - 0.25) / 2,
    "serendipity@5": (1 - 0.25 + 1 - 0.125) / 4,
    "serendipity(rel=2)@4": (1 - 0.25) / 4,
    "serendipity(rel=4)@4": math.nan,
    # p = 3/4 1/4 0. At 1, q = 1 0 0; at 2 and 3, q = 3/4 1/4 0; at 4, (1 + 1/2) 1/2 1 of 3.
    "calibration@1": 3 / 4 * math.log((3 / 4) / (0.99 + 0.01 * 3 / 4))
    + 1 / 4 * math.log((1 / 4) / (0.01 * 1 / 4)),
    "calibration@3": 0,
    "calibration@4": 3 / 4 * math.log((3 / 4) / (0.99 / 2 + 0.01 * 3 / 4))
    + 1 / 4 * math.log((1 / 4) / (0.99 / 6 + 0.01 / 4)),
}


@pytest.mark.parametrize(("text", "expected"), HAND.items())
def test_hand_worked_value(text, expected):
    assert_same(Metrics.compute(SCORES, TRUTH, text, **SIDE)[text], [expected])
    lists = [[0, 1, 2, 3, -1]]
    assert_same(Metrics.compute_ranked(lists, np.array(TRUTH), text, **SIDE)[text], [expected])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("counts", "tail", "in_tail"),
    [
        ([5, 4, 1], 0.5, [0, 1, 1]),
        ([4, 3, 2, 1], 0.3, [0, 0, 1, 1]),
        ([6, 3, 1], 0.1, [0, 0, 1]),
        # One interaction fewer than the head must have, of almost a million.
        ([399_999, 300_000, 100_000], 0.5, [0, 0, 1]),
    ],
)
def test_a_head_with_exactly_its_share_ends_there_in_every_precision(counts, tail, in_tail, dtype):
    popularity = (np.array(counts) / sum(counts)).astype(dtype)
    text = f"long_tail(tail={tail})"
    for shares in (popularity, popularity.astype(np.float64)):
        lists = [[item] for item in range(len(counts))]
        truth = np.eye(len(counts))
        got = Metrics.compute_ranked(lists, truth, text, popularity=shares)[text]
        assert got.tolist() == in_tail


def test_hand_worked_values_cover_every_metric():
    assert_every_metric(HAND, "lists")


def test_an_empty_list():
    nothing = [[-np.inf] * 5]
    got = Metrics.compute(nothing, TRUTH, LIST_METRICS, **SIDE)
    assert {name: got[name].tolist() for name in ("novelty", "popularity", "long_tail")} == {
        name: [0.0] for name in ("novelty", "popularity", "long_tail")
    }
    assert got["serendipity"].tolist() == [0.0]
    assert np.isnan(got["diversity"])[0]
    assert np.isnan(got["calibration"])[0]
    skipped = Metrics.compute([[0, 0, 1, 0, 0]], TRUTH, "novelty(unseen=skip)@1", **SIDE)
    assert skipped["novelty(unseen=skip)@1"].tolist() == [0.0]


def test_an_item_that_nobody_has_counts_as_the_rarest():
    def novelty(popularity, scores, metric="novelty@2"):
        return Metrics.compute(scores, [[1, 0, 0, 0]], metric, popularity=popularity)[metric][0]

    popularity = [0.5, 0.25, 0, 0]
    message = (
        "2 of 4 items have popularity 0; novelty counts them as the rarest of the others"
        "; type unseen=skip in the metric string to leave these items out, or unseen=zero, inf or "
        "nan to give them that novelty"
    )
    with pytest.warns(RecmetricsWarning) as caught:
        values = [novelty(popularity, scores) for scores in ([[1, 2, 3, 4]], [[4, 3, 2, 1]])]
    assert values == [2, 1.5]  # no list of other items has more
    assert {(str(one.message), one.filename) for one in caught} == {(message, __file__)}
    with pytest.warns(RecmetricsWarning, match="all 4 items have popularity 0; novelty is"):
        value = novelty([0, 0, 0, 0], [[1, 2, 3, 4]])
    assert math.isnan(value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert novelty([0.5, 0.25, 0.125, 0.125], [[1, 2, 3, 4]]) == 3
        for unseen, expected in {"zero": 0, "skip": 0, "inf": math.inf}.items():
            metric = f"novelty(unseen={unseen})@2"
            assert novelty(popularity, [[1, 2, 3, 4]], metric) == expected
        assert novelty([0, 1, 0, 1], [[1, 2, 3, 4]], "popularity@2") == 0.5


def test_a_user_without_relevant_items_has_all_but_serendipity():
    got = Metrics.compute(SCORES, [[0] * 5], [f"{name}@4" for name in LIST_METRICS], **SIDE)
    assert {name for name, values in got.items() if np.isnan(values).any()} == {"serendipity@4"}


# --- Side information in every form --------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(problem=problems(), seed=st.integers(0, 9), k=st.integers(1, 22))
def test_diversity_is_the_same_from_every_form(problem, seed, k):
    scores, truth, _, _ = problem
    features = side_information(*scores.shape, seed)["features"]
    spec = parse(f"diversity@{k}")
    side = side_information(*scores.shape, seed)
    expected = by_reference(spec, scores, truth, side=side)
    pairwise = pytest.importorskip(
        "sklearn.metrics.pairwise", reason="scikit-learn is not installed"
    )
    similarity = pairwise.cosine_similarity(features)
    for name, given_as in {
        "features": [features, features.astype(np.float32), sp.csr_array(features)],
        "similarity": [similarity, similarity.T.copy().T, sp.coo_array(similarity)],
    }.items():
        for form in given_as:
            got = Metrics.diversity_at_k(scores, truth, k, **{name: form})
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_a_similarity_need_not_be_symmetric():
    similarity = np.array([[0, 0.5, 9], [0, 0, 9], [0, 0.25, 0]])
    for form in (similarity, sp.csr_array(similarity)):
        got = Metrics.diversity_at_k([[3, 1, 2]], [[0, 0, 1]], 3, similarity=form)
        assert_same(got, [1 - (9 + 0.5 + 0.25) / 3])  # in list order: 0 2, 0 1, 2 1


def test_a_similarity_in_float32_is_added_up_in_float64():
    similarity = np.array([[1, 1, 2**-30], [1, 1, 2**-30], [2**-30, 2**-30, 1]], np.float32)
    got = Metrics.diversity_at_k([[3, 2, 1]], [[0, 0, 1]], 3, similarity=similarity)
    assert_same(got, [1 - (1 + 2**-30 + 2**-30) / 3])


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_the_length_of_a_vector_does_not_count(scale):
    features = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    expected = Metrics.diversity_at_k([[3, 2, 1]], [[0, 0, 1]], 3, features=features)
    for form in (features * scale, sp.csr_array(features * scale)):
        got = Metrics.diversity_at_k([[3, 2, 1]], [[0, 0, 1]], 3, features=form)
        assert_same(got, expected)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_profile_may_be_the_training_matrix(as_sparse):
    rng = np.random.default_rng(0)
    scores, truth = rng.random((50, 30)), rng.random((50, 30)) < 0.1
    genres = (rng.random((30, 4)) < 0.4).astype(float)
    train = rng.integers(0, 3, (50, 30)) * (rng.random((50, 30)) < 0.2)
    of_item = genres / np.maximum(1, genres.sum(axis=1, keepdims=True))
    form = sp.csc_array if as_sparse else np.asarray
    got = Metrics.calibration_at_k(scores, truth, 5, genres=form(genres), profile=form(train))
    expected = Metrics.calibration_at_k(scores, truth, 5, genres=genres, profile=train @ of_item)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("dense", ["truth", "profile"])
def test_blocks_of_rankings_are_short_where_dense_rows_are_read_beside(dense, monkeypatch):
    monkeypatch.setattr(rankings, "_BLOCK_ITEMS", 100)
    rng = np.random.default_rng(0)
    train = (rng.random((20, 50)) < 0.1).astype(float)
    matrices = {"truth": sp.csr_array(train), "profile": sp.csr_array(train)} | {dense: train}
    ranking = [[0, 1]] * 20
    genres = rng.random((50, 3))

    def values(**options):
        return Metrics.compute_ranked(
            ranking,
            matrices["truth"],
            "calibration",
            genres=genres,
            profile=matrices["profile"],
            n_threads=1,
            **options,
        )["calibration"]

    calls = []
    got = values(progress=lambda *done: calls.append(done))
    assert calls == [(rows, 20) for rows in range(2, 21, 2)]
    monkeypatch.undo()
    np.testing.assert_array_equal(got, values())


def test_a_profile_of_both_shapes_holds_genres():
    genres = [[0, 1], [1, 0]]
    got = Metrics.calibration_at_k([[2, 1]], [[1, 0]], 1, genres=genres, profile=[[0, 1]])
    assert_same(got, [0])  # item 0 has genre 1; as a training matrix it would be item 1


def test_inputs_stay_as_they_are():
    rng = np.random.default_rng(0)
    scores, truth = rng.random((5, 8)), rng.random((5, 8)) < 0.3
    side = side_information(5, 8) | {"features": sp.random(8, 3, density=0.5, random_state=rng)}
    copies = {name: value.copy() for name, value in side.items()}
    for name, value in side.items():
        if name != "features":
            value.flags.writeable = False
    Metrics.compute(scores, truth, [f"{name}@3" for name in LIST_METRICS], **side)
    for name, value in side.items():
        left, right = (v.toarray() if sp.issparse(v) else v for v in (value, copies[name]))
        np.testing.assert_array_equal(left, right)


def test_unsorted_and_repeated_entries_of_a_sparse_matrix_are_added():
    matrix = sp.csr_array(
        (np.array([1.0, 2.0, 2.0, 1.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4, 4])), (3, 2)
    )
    assert not matrix.has_sorted_indices
    data = matrix.data.copy()
    got = Metrics.diversity_at_k([[3, 2, 1]], [[0, 0, 1]], 2, features=matrix)
    assert_same(got, [1 - 1 / math.sqrt(17)])
    np.testing.assert_array_equal(matrix.data, data)


# --- popularity_from -----------------------------------------------------------------------------


def test_popularity_from_counts_users_and_no_stored_zeros():
    train = sp.csr_array(np.array([[1.0, 5.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))
    train.data[1] = 0.0  # user 0, item 1: stored, but 0
    expected = [3 / 3, 1 / 3, 0]
    lists = [np.array([0]), np.array([0]), np.array([1, 0])]
    for form in (train, train.tocoo(), train.toarray(), train.toarray() > 0):
        assert popularity_from(form).tolist() == expected
    assert popularity_from(lists, n_items=3).tolist() == expected
    assert popularity_from(np.zeros((0, 2))).tolist() == [0, 0]


def test_a_narrow_matrix_that_cannot_be_pairs_is_a_matrix():
    """It holds floats, 0 and 1, an item of a user twice, few rows, or as many items as are said."""
    counts = np.array([[0, 3], [2, 1], [1, 1], [4, 0]])
    for matrix in (counts.astype(float), np.minimum(counts, 1), counts[[0, 1, 2, 2]], counts[:2]):
        assert popularity_from(matrix).tolist() == (matrix > 0).mean(axis=0).tolist()
    assert popularity_from(counts, n_items=2).tolist() == [3 / 4, 3 / 4]


def test_popularity_from_reads_dense_matrices_in_blocks(monkeypatch):
    train = np.random.default_rng(0).random((100, 7)) < 0.3
    monkeypatch.setattr(side, "_BLOCK_ENTRIES", 20)
    np.testing.assert_array_equal(popularity_from(train), train.mean(axis=0))


# --- What is wrong with side information ---------------------------------------------------------

RIGHT = {
    "popularity": np.array([0.5, 0.25, 1.0]),
    "features": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "genres": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "profile": np.array([[1.0, 2.0], [0.0, 1.0]]),
}
TWO_USERS = ([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], [[1, 0, 0], [0, 1, 1]])
NAN, INF = np.nan, np.inf

MISSING = {
    "novelty@2": (
        ["popularity"],
        "novelty@2 needs popularity= (the share of users who have each item, (n_items,)), got "
        "none; type popularity=recmetrics.popularity_from(train)",
    ),
    "diversity": (
        ["features"],
        "diversity needs features= (a vector for each item, (n_items, d)) or similarity= (the "
        "similarity of each pair of items, (n_items, n_items)), got none; type features=train.T "
        "to compare items by the users who have them",
    ),
    "Calibration@1": (
        ["genres", "profile"],
        "Calibration@1 needs genres= (1 if the item has the genre, (n_items, g)), got none; type "
        "genres=item_genres, such as pandas.get_dummies of one genre per item",
    ),
}


@pytest.mark.parametrize("text", MISSING)
def test_missing_side_information_is_named_before_any_work(text):
    names, message = MISSING[text]
    wrong_scores = [["not", "a", "number"]]
    got = message_of(ArgumentError, lambda: Metrics.compute(wrong_scores, [[1]], text))
    assert got == message
    got = message_of(ArgumentError, lambda: Metrics.compute_ranked([[9, 9]], [[1]], text))
    assert got == message
    given_now = {name: RIGHT[name] for name in names}
    assert Metrics.compute(*TWO_USERS, text, **given_now)[text].shape == (2,)


def test_a_profile_is_asked_for_too():
    got = message_of(
        ArgumentError, lambda: Metrics.calibration_at_k(*TWO_USERS, genres=RIGHT["genres"])
    )
    assert got == (
        "calibration needs profile= (the genres of each user, (n_users, g), or the training "
        "matrix, (n_users, n_items)), got none; type profile=train"
    )


def test_features_and_similarity_are_not_both_taken():
    both = {"features": RIGHT["features"], "similarity": np.eye(3)}
    got = message_of(ArgumentError, lambda: Metrics.diversity_at_k(*TWO_USERS, **both))
    assert got == "diversity takes features= or similarity=, got both; give one of them"
    # A metric that needs neither does not look at them.
    assert Metrics.compute(*TWO_USERS, "hit@1", **both)["hit@1"].shape == (2,)


WRONG = [
    (
        "novelty",
        {"popularity": [0.5, 1.5, 0.0]},
        InputError,
        "popularity must be the share of users who have the item, 0 to 1, got 1.5 for item 1; type "
        "popularity=recmetrics.popularity_from(train), or counts / n_users",
    ),
    (
        "popularity",
        {"popularity": [0.5, 0.25]},
        ShapeError,
        "popularity must be of shape (n_items,) with n_items = 3, got (2,)",
    ),
    (
        "long_tail",
        {"popularity": [[0.5, 0.25, 0.0]]},
        ShapeError,
        "popularity must be 1-d (n_items,), got shape (1, 3); type np.ravel(popularity)",
    ),
    (
        "serendipity",
        {"popularity": ["a", "b", "c"]},
        InputTypeError,
        "popularity must hold real numbers (float16, bfloat16, float32, float64, integers or "
        "bool), got "
        "dtype <U1",
    ),
    (
        "diversity",
        {"features": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]},
        ShapeError,
        "features must be of shape (n_items, d) with n_items = 3, got (2, 3); it looks transposed: "
        "type features.T",
    ),
    (
        "diversity",
        {"features": [[1.0, 2.0], [4.0, INF], [0.0, 0.0]]},
        InputError,
        "features must hold finite numbers, got inf at (item 1, column 1)",
    ),
    (
        "diversity",
        {"features": sp.csr_array([[1.0, 2.0], [4.0, -INF], [0.0, 0.0]])},
        InputError,
        "features must hold finite numbers, got -inf at (item 1, column 1)",
    ),
    (
        "diversity",
        {"features": [1.0, 2.0, 3.0]},
        ShapeError,
        "features must be 2-d, got 1-d of shape (3,)",
    ),
    (
        "diversity",
        {"features": None, "similarity": np.ones((3, 2))},
        ShapeError,
        "similarity must be square, (n_items, n_items), got (3, 2)",
    ),
    (
        "diversity",
        {"features": None, "similarity": np.full((3, 3), NAN)},
        InputError,
        "similarity must hold finite numbers, got nan at (item 0, column 0)",
    ),
    (
        "calibration",
        {"genres": [[1, 0], [-1, 1], [0, 0]]},
        InputError,
        "genres must hold numbers from 0 to 1e+100, got -1 at (item 1, column 0)",
    ),
    (
        "calibration",
        {"profile": [[1, 0, 0, 0], [1, 1, 0, 0]]},
        ShapeError,
        "profile must hold the genres of each user, (n_users, g) = (2, 2), or be the training "
        "matrix, (n_users, n_items) = (2, 3), got (2, 4)",
    ),
    (
        "calibration",
        {"profile": [[1, 0], [NAN, 1]]},
        InputError,
        "profile must hold numbers from 0 to 1e+100, got nan at (user 1, column 0)",
    ),
]


@pytest.mark.parametrize(("metric", "wrong", "error", "message"), WRONG)
def test_wrong_side_information(metric, wrong, error, message):
    options = RIGHT | wrong
    assert message_of(error, lambda: Metrics.compute(*TWO_USERS, metric, **options)) == message
    values = Metrics.compute(*TWO_USERS, metric, **RIGHT)[metric]
    assert not np.isnan(values).any()


def test_undefined_names_the_reason():
    def compute(k, undefined):
        return Metrics.diversity_at_k(
            *TWO_USERS, k, features=RIGHT["features"], undefined=undefined
        )

    assert message_of(UndefinedMetricError, lambda: compute(1, "raise")) == (
        "diversity is undefined: 2 of 2 users have no value (a list of fewer than two items), the "
        "first is user 0; expected a value for every user; give undefined='nan', or leave these "
        "users out"
    )
    assert np.isnan([compute(1, "nan"), compute(1, "zero"), compute(1, "one")]).all()
    assert compute(2, "raise").tolist() == compute(2, "nan").tolist()


def test_side_information_tells_the_catalogue_of_rankings():
    ranking, truth = [[0, 3], [1, 2]], [np.array([0]), np.array([1])]
    got = message_of(
        InputError,
        lambda: Metrics.compute_ranked(ranking, truth, "popularity", popularity=[0.5, 0, 0]),
    )
    assert got == (
        "ranking of user 0 names at rank 2 item 3, which is outside the catalogue; expected "
        "0 .. 2, or -1; type unknown='waste' or unknown='drop' to accept such items"
    )
    got = Metrics.compute_ranked(ranking, truth, "popularity", popularity=[0.5, 0, 0, 1])
    assert got["popularity"].tolist() == [(0.5 + 1) / 2, 0]


# --- The lists -----------------------------------------------------------------------------------


def lists_of(rows, k, **sets):
    """The lists that an evaluator keeps."""
    one = Evaluator([[0]] * len(rows), f"coverage@{k}", n_items=rows.shape[1], **sets)
    one.update(rows)
    return [items[items >= 0].tolist() for items in one.state()["lists"]]


@pytest.mark.parametrize("n_items", LENGTHS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_lists_are_those_of_a_sort(kind, n_items):
    rng = np.random.default_rng(n_items)
    rows = np.stack([HOSTILE[kind](rng, n_items) for _ in range(3)])
    for n_excluded in (0, n_items // 3):
        excluded, orders = [], []
        for row in rows:
            best = np.argsort(-row, kind="stable")[:n_excluded]
            excluded.append(np.sort(rng.permutation(best)[: n_excluded // 2 + 1][:n_excluded]))
            ranks = ranks_by_sort(row, excluded[-1])
            order = np.argsort(ranks, kind="stable")
            orders.append(order[ranks[order] > 0].tolist())
        pools = [np.setdiff1d(np.arange(n_items), items) for items in excluded]
        for k in {min(k, n_items) for k in (*CUTOFFS, n_items)}:
            expected = [order[:k] for order in orders]
            assert lists_of(rows, k, exclude=excluded) == expected
            assert lists_of(rows, k, candidates=pools) == expected


def test_an_excluded_item_takes_no_other_out_of_a_list():
    """The best item of each user is excluded; the second best is in the same lane."""
    scores = np.random.default_rng(0).random((99, 1_000))
    best = np.arange(99)
    second = best + LANES // 2
    scores[best, best] = 3
    scores[best, second] = 2
    with compiled():
        lists = lists_of(scores, 2, exclude=best[:, np.newaxis].tolist())
    assert [items[0] for items in lists] == second.tolist()


@pytest.mark.parametrize("candidates", [None, [0, 2, 3]])
def test_nan_among_scores_are_counted_without_an_accuracy_metric_too(candidates):
    scores = np.array([[1.0, 2.0, 3.0, NAN], [1.0, 2.0, NAN, NAN]])
    truth = np.array([[1, 0, 0, 0]] * 2)
    expected = message_of(
        NaNScoreError, lambda: Metrics.compute(scores, truth, "hit@1", candidates=candidates)
    )
    for metrics in ("coverage@1", ["hit@1", "coverage@1"]):
        got = message_of(
            NaNScoreError,
            lambda metrics=metrics: Metrics.compute(scores, truth, metrics, candidates=candidates),
        )
        assert got == expected
    got = Metrics.compute(scores, truth, "coverage@2", candidates=candidates, nan="exclude")
    assert got["coverage@2"] == (3 / 4 if candidates is None else 2 / 3)


def test_accuracy_is_the_same_beside_metrics_of_the_lists():
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 500, (40, 3_000 if JIT else 900)).astype(np.float32)
    truth = rng.random(scores.shape) < 0.01
    side = side_information(*scores.shape)
    accuracy, others = (
        list({str(spec): None for k in (10, None) for spec in plain_specs(k, kinds)})
        for kinds in (["hits"], ["lists", "exposure"])
    )
    alone = Metrics.compute(scores, truth, accuracy)
    beside = Metrics.compute(scores, truth, [*others, *accuracy], **side)
    only = Metrics.compute(scores, truth, others, **side)
    assert_identical(only | alone, beside)
