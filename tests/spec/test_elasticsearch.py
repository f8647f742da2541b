"""``convention="elasticsearch"`` has the numbers of the tests of its ``rank_eval``."""

import math

import pytest

from recmetrics import Metrics

# Ratings of six documents in the order of the list; None has no rating.
RATED = [3, 2, 3, 0, 1, 2]
SOME_RATED = [3, 2, 3, None, 1, None]


def value(metric, ratings, n_hits):
    """The value of a list of the first documents, rated or not."""
    truth = [[float(rating or 0) for rating in ratings]]
    ranking = [[*range(n_hits)] or [-1]]
    found = Metrics.compute_ranked(ranking, truth, metric, convention="elasticsearch", n_items=6)
    return found[metric][0]


@pytest.mark.parametrize(
    ("ratings", "n_hits", "dcg", "ideal"),
    [
        (RATED, 6, 13.84826362927298, 14.595390756454922),
        (SOME_RATED, 6, 12.779642067948913, 13.347184833073591),
        (SOME_RATED, 4, 12.392789260714371, 13.347184833073591),
    ],
)
def test_numbers_of_its_tests_of_dcg(ratings, n_hits, dcg, ideal):
    assert value("dcg@10", ratings, n_hits) == pytest.approx(dcg, rel=1e-14)
    assert value("ndcg@10", ratings, n_hits) == pytest.approx(dcg / ideal, rel=1e-14)


def test_without_results_and_without_ratings_all_is_0():
    for metric in ("dcg@10", "ndcg@10", "precision@10", "recall@10", "mrr@10"):
        assert value(metric, SOME_RATED, 0) == 0
        assert value(metric, [0] * 6, 6) == 0


def test_short_lists_by_hand():
    assert value("precision@10", RATED, 5) == pytest.approx(4 / 5)  # of the documents in the list
    assert value("recall@10", RATED, 4) == pytest.approx(3 / 5)
    # The ideal is as long as the list.
    ideal = 7 + 7 / math.log2(3)
    assert value("ndcg@10", RATED, 2) == pytest.approx((7 + 3 / math.log2(3)) / ideal)
