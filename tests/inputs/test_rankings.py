"""Rankings: what the size of a catalogue means to them, and items that are near or far apart."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import message_of

from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    NaNScoreError,
    ShapeError,
    StreamEvaluator,
)

INDICES = [np.array([0, 5]), np.array([2])]


def ranked(ranking, truth, metrics, **options):
    return Metrics.compute_ranked(ranking, truth, metrics, **options)


DIVIDED_BY_K = {  # of three items, of which the first and one that is excluded are relevant
    "precision@5": 1 / 5,
    "f1@5": 2 * (1 / 5) * (1 / 2) / (1 / 5 + 1 / 2),
    "map(denom=k)@5": 1 / 5,
    "ndcg(ideal_depth=full)@3": 1 / (1 + 1 / math.log2(3) + 1 / 2),
    "mean_rank@5": (1 + 6) / 2,
    "percentile_rank@5": (0 + 1) / 2,
    "precision(denom=list)@5": 1 / 2,
    "recall@5": 1 / 2,
}


@pytest.mark.parametrize("metric", DIVIDED_BY_K)
def test_k_is_that_of_the_string_in_every_form(metric):
    scores, truth = [[3.0, 2.0, 1.0]], [[1, 0, 1]]
    lists, relevant = [np.array([0, 1])], [np.array([0, 2])]
    evaluator = Evaluator(truth, metric, exclude=[[2]])
    evaluator.update(scores)
    results = [
        Metrics.compute(scores, truth, metric, exclude=[[2]]),
        Metrics.compute_factors(np.ones((1, 1)), np.array(scores).T, truth, metric, exclude=[[2]]),
        ranked(lists, truth, metric),
        ranked(lists, relevant, metric),
        ranked(lists, relevant, metric, n_items=3),
        evaluator.compute(),
    ]
    values = [values[metric][0] for values in results]
    assert values == pytest.approx([DIVIDED_BY_K[metric]] * len(values))


def test_chance_and_ceiling_divide_by_the_k_of_the_string():
    truth = [[1, 0, 0]]
    assert Metrics.chance(truth, "precision@5")["precision@5"] == pytest.approx(1 / 5)
    assert Metrics.ceiling(truth, "precision@5")["precision@5"] == pytest.approx(1 / 5)
    assert Metrics.compute([[3, 2, 1]], truth, "precision@5")["precision@5"] == 1 / 5
    assert Metrics.compute_groups([3, 2, 1], truth[0], "precision@5", sizes=[3])["precision@5"] == [
        1 / 5
    ]


def test_cutoffs_of_all_lists_beyond_the_catalogue_read_all_of_it():
    got = Metrics.compute([[3, 2, 1], [1, 2, 3]], [[1, 0, 0]] * 2, ["coverage@3", "coverage@9"])
    assert list(got.values()) == [1, 1]


def test_nested_lists_beside_n_items_are_indices_unless_they_have_a_number_per_item():
    assert ranked([[0, 2], [1, 2]], [[0, 2], [1, 2]], "recall@2", n_items=4)["recall@2"].min() == 1
    got = ranked([[0, 2], [1, 2]], [[0, 1, 0], [0, 3, 0]], "hit@1", n_items=3)["hit@1"]
    assert got.tolist() == [0, 1]


WHOLE = [np.array([1, 0, 3, 2]), np.array([3, 2, 1, 0])]
NOT_WHOLE = (
    "ranking of user 1 names {} of the {} items that may be recommended, but auc(rel=1) counts "
    "all of them; expected whole rankings; with scores type "
    "Metrics.compute(scores, truth, ['auc(rel=1)'])"
)


@pytest.mark.parametrize("form", [np.array, sp.csr_array, "indices"])
def test_auc_needs_the_whole_ranking(form):
    truth = np.array([[0, 1, 0, 0], [0, 1, 1, 0]])
    given = {"truth": truth, "metrics": ["hit@1", "auc(rel=1)"]}
    if form == "indices":
        given |= {"truth": [np.flatnonzero(row) for row in truth], "n_items": 4}
    else:
        given["truth"] = form(truth)
    got = ranked(WHOLE, **given)
    # The one relevant item is before the 3 others; 2 of 4 pairs are in order.
    assert got["auc(rel=1)"].tolist() == [3 / 3, 2 / 4]
    for length in (3, 1, 0):
        short = [WHOLE[0], WHOLE[1][:length]]
        message = message_of(InputError, lambda short=short: ranked(short, **given))
        assert message == NOT_WHOLE.format(length, 4)
    ranked(WHOLE, **{**given, "metrics": ["hit@1", "ndcg"]})


def test_auc_of_a_catalogue_of_unknown_size():
    got = message_of(ArgumentError, lambda: ranked(WHOLE, INDICES, "auc"))
    assert got == (
        "auc needs whole rankings and the size of the catalogue, which a truth of item indices "
        "does not give; type n_items= (for tables catalogue=), or with scores "
        "Metrics.compute(scores, truth, ['auc'])"
    )
    # Side information gives the size, too: 4 items.
    lists = [np.array([1]), np.array([2])]
    side = {"popularity": [0.5] * 4, "metrics": ["auc", "popularity"]}
    assert ranked(WHOLE, lists, **side)["auc"].tolist() == pytest.approx([3 / 3, 2 / 3])


def test_an_item_below_0_where_no_catalogue_is_known():
    assert message_of(InputError, lambda: ranked([np.array([0, -2])], INDICES[:1], "mrr")) == (
        "ranking of user 0 names at rank 2 item -2, which is outside the catalogue; expected an "
        "index >= 0, or -1"
    )


def test_a_user_without_relevant_items_needs_no_whole_ranking():
    got = ranked([WHOLE[0], [3]], np.array([[0, 1, 0, 0], [0, 0, 0, 0]]), "auc")["auc"]
    np.testing.assert_array_equal(got, [1, np.nan])


def test_a_ranking_is_whole_without_excluded_items_and_other_candidates():
    truth = np.array([[0, 1, 0, 0], [0, 1, 1, 0]])
    exclude, candidates = [[0], [0]], [[0, 1, 2], [0, 1, 2, 3]]
    for rules, whole, n_items in (
        ({"exclude": exclude}, [[1, 3, 2], [3, 2, 1]], 3),
        ({"candidates": candidates}, [[1, 0, 2], [3, 2, 1, 0]], 4),
        ({"exclude": exclude, "candidates": candidates}, [[1, 2], [3, 2, 1]], 3),
    ):
        evaluator = Evaluator(truth, "auc(rel=1)", **rules)
        evaluator.update_ranked(whole)
        expected = 2 / 4 if n_items == 4 else 0 / 2
        assert evaluator.compute()["auc(rel=1)"].tolist() == [1, expected]
        short = [whole[1][:-1]]
        message = message_of(
            InputError, lambda short=short, one=evaluator: one.update_ranked(short, [1])
        )
        assert message == NOT_WHOLE.format(n_items - 1, n_items)


@pytest.mark.parametrize("length", [5, 40])
@pytest.mark.parametrize("apart", [1, 10**12])
def test_lists_of_items_that_are_near_or_far_apart(apart, length):
    rng = np.random.default_rng(0)
    lists = [rng.permutation(50)[:length].tolist() for _ in range(30)]
    truth = [rng.permutation(50)[: user % 4].tolist() for user in range(30)]
    ranks = [
        [rank for rank, item in enumerate(items, start=1) if item in relevant]
        for items, relevant in zip(lists, truth, strict=True)
    ]
    found = [
        (1 / hits[0] if hits else 0.0, len(hits) / len(relevant)) if relevant else (np.nan, np.nan)
        for hits, relevant in zip(ranks, truth, strict=True)
    ]
    ranking = apart * np.array(lists)
    relevant = [apart * np.array(items, np.int64) for items in truth]
    got = Metrics.compute_ranked(ranking, relevant, ["mrr", "recall(denom=relevant)"])
    np.testing.assert_array_equal(np.transpose(list(got.values())), found)
    ranking[7, [2, 4]] = ranking[7, [1, 0]]
    with pytest.raises(InputError, match=rf"user 7 names at rank 3 item {ranking[7, 1]} twice"):
        Metrics.compute_ranked(ranking, relevant, "mrr")
    ranking = apart * np.array(lists)
    ranking[9, [0, -1]] = 0
    with pytest.raises(InputError, match=r"user 9 names at rank .* item 0 twice"):
        Metrics.compute_ranked(ranking, relevant, "mrr")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("auc", 1.0), ("mean_rank", (1 + 3) / 2), ("percentile_rank", (0 + 1) / 2)],
)
def test_a_metric_that_counts_all_items_takes_a_shorter_ranking_with_a_cutoff(name, expected):
    call = [[0, 1]], np.array([[1, 0, 0, 1]])
    assert Metrics.compute_ranked(*call, f"{name}@2")[f"{name}@2"].tolist() == [expected]
    with pytest.raises(InputError, match=f"{name} counts all of them; expected whole rankings"):
        Metrics.compute_ranked(*call, name)


# --- Pairs of ids and scores ---------------------------------------------------------------------

LOWEST = np.finfo(np.float32).min
PAIR = np.array([[3, 1, 0], [2, 3, 1]]), np.array([[2, 1, 1], [5, LOWEST, LOWEST]], np.float32)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_items_may_be_unsigned(dtype):
    ranking = np.array([[17, 4, 9], [9, 4, 3]], dtype)
    truth = [[9], [4]]
    expected = [1 / 3, 1 / 2]
    assert Metrics.compute_ranked(ranking, truth, "mrr", n_items=20)["mrr"].tolist() == expected
    stream = StreamEvaluator("mrr", n_items=20)
    stream.update_ranked(ranking, truth)
    assert stream.compute()["mrr"].tolist() == expected
    assert Metrics.compute_ranked(ranking[:, :0], truth, "mrr", n_items=20)["mrr"].tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pair_of_ids_and_scores(dtype):
    """Behind item 2, the second list has items of the lowest float32, which are none."""
    truth = [np.array([1]), np.array([3])]
    pair = PAIR[0], PAIR[1].astype(dtype)
    got = Metrics.compute_ranked(pair, truth, ["mrr", "precision(denom=list)"])
    assert got["mrr"].tolist() == [1 / 2, 0]
    assert got["precision(denom=list)"].tolist() == [1 / 3, 0 / 1]
    # Two lists of items are no such pair.
    assert Metrics.compute_ranked((PAIR[0][0], PAIR[0][1]), truth, "mrr")["mrr"].tolist() == [
        1 / 2,
        1 / 2,
    ]


def test_a_pair_of_two_shapes_is_refused():
    with pytest.raises(ShapeError, match=r"shape \(2, 3\) and scores of shape \(2, 2\), expected"):
        Metrics.compute_ranked((PAIR[0], PAIR[1][:, :2]), [[1], [3]], "mrr")


@pytest.mark.parametrize("score_dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("id_dtype", ["int32", "uint64"])
def test_a_nan_of_a_pair_does_not_end_its_list(score_dtype, id_dtype):
    pair = np.array([[0, 1], [1, 0]], id_dtype), np.array([[0.9, np.nan], [0.9, 0.8]], score_dtype)
    message = message_of(NaNScoreError, Metrics.compute_ranked, pair, [[1], [0]], "hit@2")
    assert message.startswith("ranking is a pair of ids and scores, and user 0 has NaN at rank 2;")


def test_a_nan_of_a_pair_beside_no_item_is_padding():
    pair = np.array([[0, -1], [1, 0]]), np.array([[0.9, np.nan], [0.9, 0.8]])
    assert Metrics.compute_ranked(pair, [[1], [0]], "hit@2")["hit@2"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("pair", "message", "typed"),
    [
        (PAIR[::-1], "a pair of scores and ids, expected (ids, scores); type ranking[1]", PAIR[0]),
        (
            (PAIR[0], -PAIR[1]),
            "a pair of ids and scores, and user 0 has a higher score at rank 2 than before; "
            "expected the best item first; type ranking[0] if the ids are in order, as beside "
            "distances",
            PAIR[0],
        ),
        (
            (PAIR[0][0], PAIR[1][0]),
            "a pair of ids of shape (3,) and scores of shape (3,), expected (n_users, k) for both; "
            "for one user type [ranking[0]]",
            [PAIR[0][0]],
        ),
        (
            (PAIR[0], np.array([[2, 1, 0], [5, np.nan, 4]])),
            "a pair of ids and scores, and user 1 has NaN at rank 2; expected numbers; type "
            "ranking[0] if the ids are in order",
            PAIR[0],
        ),
    ],
)
def test_another_pair_is_refused(pair, message, typed):
    truth = [np.array([1]), np.array([3])][: len(typed)]
    with pytest.raises((InputError, InputTypeError, ShapeError)) as caught:
        Metrics.compute_ranked(pair, truth, "mrr")
    assert str(caught.value) == f"ranking is {message}"
    got = Metrics.compute_ranked(typed, truth, "mrr")["mrr"].tolist()
    assert got == [1 / 2, 1 / 2][: len(typed)]
