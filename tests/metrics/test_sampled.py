"""Metrics estimated from ranks among sampled negatives."""

from fractions import Fraction

import numpy as np
import pytest

from recmetrics import ArgumentError, InputError, InputTypeError, Metrics, ShapeError

ONE_OF_THREE = {"n_sampled": 1, "n_items": 3}


def estimates(ranks, metric, **keywords):
    return Metrics.from_sampled(ranks, metric, **keywords)[metric].tolist()


# Of 3 items, the ranks 1, 2, 3 have the sampled ranks 1; 1 or 2, each with probability 1/2; 2. So
# A'A has 1 + 1/4 and 1/4, the sums over the ranks are 3/2, and of hit@1 = (1, 0, 0), A'f is (1, 0).
def test_the_least_squares_without_replacement():
    own = 0.8 * 1.25 + 0.2 * 1.5
    other = 0.8 * 0.25
    expected = [own / (own**2 - other**2), -other / (own**2 - other**2)]
    assert estimates([1, 2], "hit@1", gamma=0.2, **ONE_OF_THREE) == pytest.approx(expected)


# Two of three items, drawn with replacement: 1; 1, 2 or 3 with 1/4, 1/2, 1/4; 3. With gamma 1 an
# estimate is the mean of the metric over the ranks, in proportion to these.
@pytest.mark.parametrize(
    ("metric", "by_rank"),
    [
        ("mrr", (1, 1 / 2, 1 / 3)),
        ("recall@2", (1, 1, 0)),
        ("ndcg@2", (1, 1 / np.log2(3), 0)),
        ("auc", (1, 1 / 2, 0)),
        ("mean_rank", (1, 2, 3)),
        ("percentile_rank", (0, 1 / 2, 1)),
    ],
)
def test_the_expectation_with_replacement(metric, by_rank):
    first, second, third = by_rank
    expected = [(first + second / 4) / 1.25, second, (second / 4 + third) / 1.25]
    given = {"n_sampled": 2, "n_items": 3, "gamma": 1, "replace": True}
    assert estimates([1, 2, 3], metric, **given) == pytest.approx(expected)


def test_the_least_gamma_gives_the_values_of_the_formula():
    gamma = 1e-6
    own = (1 - gamma) * 1.25 + gamma * 1.5
    other = (1 - gamma) * 0.25
    expected = [own / (own**2 - other**2), -other / (own**2 - other**2)]
    got = estimates([1, 2], "hit@1", gamma=gamma, **ONE_OF_THREE)
    assert got == pytest.approx(expected, rel=1e-9)


def test_gamma_may_be_a_number_of_any_type():
    expected = estimates([1, 2], "mrr", gamma=0.5, **ONE_OF_THREE)
    for number in (np.float32(0.5), np.float64(0.5), Fraction(1, 2)):
        assert estimates([1, 2], "mrr", gamma=number, **ONE_OF_THREE) == expected


# The one other item is drawn each time: rank 1 of 2 gives rank 1 of 5, rank 2 of 2 gives rank 5.
@pytest.mark.parametrize("method", ["bv", "mle"])
def test_of_two_items_one_is_drawn_each_time(method):
    given = {"n_sampled": 4, "n_items": 2, "replace": True, "method": method}
    assert np.mean(estimates([1, 5], "mrr", **given)) == pytest.approx((1 + 1 / 2) / 2)
    words = (
        r"^ranks must be 1 or n_sampled \+ 1 = 5 where n_items is 2, .*, got 3 in row 1; n_items"
    )
    with pytest.raises(InputError, match=words):
        estimates([1, 3], "mrr", **given)


# Of 3 items, 2,000 draws are above the relevant item with chance 0, 1/2 or 1. Sampled rank 2 has
# the probability 2,000 / 2^2000, which is 0 in float64; but then the rank is surely 2.
@pytest.mark.parametrize("method", ["bv", "mle"])
def test_a_sampled_rank_of_hardly_any_probability(method):
    given = {"n_sampled": 2_000, "n_items": 3, "replace": True, "method": method}
    assert np.mean(estimates([1, 2, 2], "mrr", **given)) == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)


def test_all_negatives_give_the_metric_itself():
    ranks = [4, 1, 3, 2, 1]
    expected = [1 / rank for rank in ranks]
    given = {"n_sampled": 3, "n_items": 4}
    assert estimates(ranks, "mrr", **given) == pytest.approx(expected)
    found = Metrics.from_sampled(ranks * 40, "mrr", method="mle", **given)
    assert list(found) == ["mrr", "mrr[se]"]
    assert {value.shape for value in found.values()} == {()}
    assert found["mrr"] == pytest.approx(np.mean(expected))
    assert found["mrr[se]"] == pytest.approx(np.std(expected) / np.sqrt(200), rel=0.25)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1, 1, 1], 1),  # all ranks are 1: none is more likely
        ([1, 2], (1 + 1 / 2 + 1 / 3) / 3),  # equal shares of the three ranks give equal halves
    ],
)
def test_the_most_likely_distribution(ranks, expected):
    found = Metrics.from_sampled(ranks, "mrr", method="mle", **ONE_OF_THREE)
    assert found["mrr"] == pytest.approx(expected)


def test_the_error_is_the_standard_deviation_of_the_resamples():
    found = Metrics.from_sampled([1, 2], "mrr", n_sampled=1, n_items=2, method="mle")
    # The one other item is always drawn, so the estimate is the mean of the reciprocal ranks.
    resampled = np.random.default_rng(0).multinomial(2, [0.5, 0.5], 100)
    means = resampled @ [1, 1 / 2] / 2
    variance = ((means - means.mean()) ** 2).sum() / (100 - 1)
    assert found["mrr[se]"] == pytest.approx(np.sqrt(variance), rel=1e-12)


def test_a_rank_that_a_resample_lacks_weighs_nothing():
    ranks = [1] * 200 + [101]  # a third of the resamples has no 101
    found = Metrics.from_sampled(ranks, "hit@1", n_sampled=100, n_items=200, method="mle")
    error = np.sqrt(200 / 201 * 1 / 201 / 201)  # of a share of 200 / 201, of 201 users
    assert found["hit@1[se]"] == pytest.approx(error, rel=0.3)


def test_the_steps_of_em():
    likelihood, shares = [(1, 0), (1 / 2, 1 / 2), (0, 1)], [1 / 3] * 3
    for _ in range(200):  # three of four sampled ranks are 1
        of_first = sum(p * row[0] for p, row in zip(shares, likelihood, strict=True))
        weights = 0.75 / of_first, 0.25 / (1 - of_first)
        shares = [
            p * (row[0] * weights[0] + row[1] * weights[1])
            for p, row in zip(shares, likelihood, strict=True)
        ]
    found = Metrics.from_sampled([1, 1, 2, 1], "hit@1", method="mle", **ONE_OF_THREE)
    assert found["hit@1"] == pytest.approx(shares[0])


def test_estimates_come_near_the_full_ranking():
    rng = np.random.default_rng(0)
    n_users, n_items, n_sampled = 4_000, 60, 20
    scores, relevant = rng.normal(size=(n_users, n_items)), rng.integers(n_items, size=n_users)
    truth = relevant[:, None] == np.arange(n_items)
    scores[truth] += 2
    full = {m: value.mean() for m, value in Metrics.compute(scores, truth, ["ndcg@5"]).items()}
    lots = np.where(truth, -1.0, rng.random(scores.shape))
    sample = np.argsort(lots, axis=1)[:, : n_sampled + 1]  # the relevant item and 20 others
    ranks = Metrics.ranks(scores, truth, candidates=list(sample)).data.astype(int)
    given = {"n_sampled": n_sampled, "n_items": n_items}
    raw = np.mean((ranks <= 5) / np.log2(ranks + 1))
    assert raw > full["ndcg@5"] + 0.15
    values = Metrics.from_sampled(ranks, "ndcg@5", **given)["ndcg@5"]
    assert values.mean() == pytest.approx(full["ndcg@5"], abs=0.02)
    likely = Metrics.from_sampled(ranks, "ndcg@5", method="mle", **given)
    assert likely["ndcg@5"] == pytest.approx(full["ndcg@5"], abs=4 * likely["ndcg@5[se]"])


def test_each_rank_may_have_its_own_number_of_items():
    sizes = np.array([5, 9, 5])
    found = estimates([2, 2, 1], "auc", n_sampled=2, n_items=sizes)
    each = [
        estimates([rank], "auc", n_sampled=2, n_items=int(size))[0]
        for rank, size in zip([2, 2, 1], sizes, strict=True)
    ]
    assert found == pytest.approx(each)
    assert found[0] != found[1]


@pytest.mark.parametrize("metric", ["precision@5", "map@5", "diversity@5", "recall(of=tail)@5"])
def test_a_metric_of_more_than_one_rank_is_refused(metric):
    with pytest.raises(ArgumentError, match="more than the rank of one relevant item; hit, "):
        Metrics.from_sampled([1], ["ndcg@5", metric], n_sampled=9, n_items=20)


def test_no_sampled_item_has_a_larger_relevance():
    with pytest.raises(ArgumentError, match=r"^hit\(rel=2\)@1: no .* is 1; leave out rel=$"):
        Metrics.from_sampled([1], "hit(rel=2)@1", n_sampled=9, n_items=20)


@pytest.mark.parametrize(
    ("error", "ranks", "changed", "words"),
    [
        (InputError, [1, 12], {}, "from 1 to n_sampled .* = 11, .* got 12 in row 1"),
        (InputError, [0, 1], {}, "got 0 in row 0"),
        (InputError, [1.5], {}, "got 1.5 in row 0"),
        (InputError, [], {}, "got none"),
        (ShapeError, [[1, 2]], {}, r"one for each relevant item, got shape \(1, 2\)"),
        (InputTypeError, ["1"], {}, "integers"),
        (
            InputError,
            [1],
            {"n_items": 10},
            "n_items counts .*; expected an integer from 11 .*got 10; .*replace=True$",
        ),
        (ArgumentError, [1], {"replace": "no"}, "^replace must be True or False, got 'no'$"),
        (ArgumentError, [1], {"replace": 1}, "^replace must be True or False, got 1$"),
        (InputError, [1, 2], {"n_items": ["a", "b"]}, r"got \['a', 'b'\] of dtype <U1$"),
        (InputError, [1], {"n_items": 1}, "n_items counts .*, or one for .* got 1$"),
        (InputError, [1], {"n_items": 10**19}, "from 11 to 2,147,483,647, .*, got 10{19}$"),
        (InputError, [1, 2], {"n_items": [20, 2**31]}, r"got shape \(2,\), from 20 to 2147483648$"),
        (InputError, [1, 2], {"n_items": [20]}, "one for each of the 2 ranks.*got .20"),
        (ArgumentError, [1], {"n_sampled": 0}, "n_sampled must be an integer >= 1.* got 0"),
        (
            ArgumentError,
            [1],
            {"n_sampled": 10**19, "replace": True},
            "n_sampled must be at most 2,147,483,647, got 10,000,000,000,000,000,000",
        ),
        (ArgumentError, [1], {"gamma": 0}, "gamma must be a number from 1e-06 to 1, .* got 0$"),
        (ArgumentError, [1], {"gamma": 1e-12}, "from 1e-06 to 1, .* got 1e-12$"),
        (ArgumentError, [1], {"gamma": np.nan}, "from 1e-06 to 1, .* got nan$"),
        (ArgumentError, [1], {"gamma": True}, "from 1e-06 to 1, .* got True$"),
        (ArgumentError, [1], {"method": "em"}, "method must be 'bv' or 'mle', got 'em'"),
        (
            ArgumentError,
            [1, 1],
            {"method": "mle", "n_items": [20, 21]},
            "2 different numbers; give one number for all, or method='bv'",
        ),
    ],
)
def test_errors(error, ranks, changed, words):
    with pytest.raises(error, match=words):
        Metrics.from_sampled(ranks, "mrr", **({"n_sampled": 10, "n_items": 20} | changed))


def test_what_the_error_of_few_items_says_to_type_works():
    given = {"n_sampled": 10, "n_items": 5, "replace": True}
    assert len(estimates([1, 11], "mrr", **given)) == 2


@pytest.mark.parametrize("others_are_drawn", [True, False])
def test_means_over_the_ranks_of_several_relevant_items(others_are_drawn):
    """Of users whose relevant items have the ranks 2, 5 and 6 of 12; samples of 5 other items.

    Drawn from all others, they estimate the mean rank, 13 / 3. Drawn from the 9 that are not
    relevant, of which 1, 3 and 3 are above, they estimate auc, 1 - 7 / 27.
    """
    rng = np.random.default_rng(0)
    relevant = np.array([2, 5, 6])
    others = np.arange(1, 13)
    if not others_are_drawn:
        others = np.setdiff1d(others, relevant)
    ranks = []
    for rank in np.tile(relevant, 4_000):
        sample = rng.permutation(others[others != rank])[:5]
        ranks.append(1 + np.count_nonzero(sample < rank))
    n_items = 12 if others_are_drawn else 10
    given = {"n_sampled": 5, "n_items": n_items, "gamma": 1e-6}
    values = Metrics.from_sampled(ranks, ["mean_rank", "auc"], **given)
    means = {metric: column.mean() for metric, column in values.items()}
    if others_are_drawn:
        assert means["mean_rank"] == pytest.approx(13 / 3, abs=0.1)
    else:
        assert means["auc"] == pytest.approx(1 - 7 / 27, abs=0.02)
