"""What must hold for every metric, now and later."""

import numpy as np
import pytest
from hypothesis import given, settings
from problems import as_index_arrays, index_sets, plain_specs, problems, side_information

from recmetrics import Metrics

USER_METRICS = ("hits", "lists")  # one value per user
METRICS_LIST = [str(spec) for k in (3, None) for spec in plain_specs(k, USER_METRICS)]
QUICK = settings(deadline=None, max_examples=60)


def compute(scores, truth, exclude=None, candidates=None, side=None):
    given = index_sets(exclude, candidates) | (side or side_information(*np.shape(scores)))
    return Metrics.compute(scores, truth, METRICS_LIST, **given)


def of_users(side, users):
    return side | {"profile": side["profile"][users]}


def assert_identical(got, expected, users=slice(None)):
    for metric in METRICS_LIST:
        np.testing.assert_array_equal(got[metric], expected[metric][users], err_msg=metric)


@QUICK
@given(problems())
def test_users_may_come_in_any_order(problem):
    scores, truth, exclude, candidates = problem
    backwards = slice(None, None, -1)
    got = compute(
        scores[backwards],
        truth[backwards],
        exclude and exclude[backwards],
        candidates and candidates[backwards],
        of_users(side_information(*scores.shape), backwards),
    )
    assert_identical(got, compute(scores, truth, exclude, candidates), backwards)


@QUICK
@given(problems())
def test_only_the_order_of_the_scores_counts(problem):
    scores, truth, exclude, candidates = problem
    stretched = np.where(np.isinf(scores), scores, scores**3 + 5)
    assert_identical(
        compute(stretched, truth, exclude, candidates), compute(scores, truth, exclude, candidates)
    )


@QUICK
@given(problems())
def test_items_may_be_relabelled_where_no_scores_are_equal(problem):
    scores, truth, exclude, candidates = problem
    rng = np.random.default_rng(0)
    scores = np.where(
        scores == -np.inf, scores, rng.permuted(np.arange(scores.size)).reshape(scores.shape)
    )
    labels = rng.permutation(scores.shape[1])
    new_label = np.argsort(labels)

    def relabelled(sets):
        return sets and [[new_label[i] for i in items] for items in sets]

    side = side_information(*scores.shape)
    side["popularity"] = rng.permutation(scores.shape[1]) / scores.shape[1]  # none are equal
    items = ("popularity", "features", "genres")
    assert_identical(
        compute(
            scores[:, labels],
            truth[:, labels],
            relabelled(exclude),
            relabelled(candidates),
            side | {name: side[name][labels] for name in items},
        ),
        compute(scores, truth, exclude, candidates, side),
    )


@QUICK
@given(problems())
def test_only_the_first_k_ranks_count(problem):
    scores, truth, _, _ = problem
    k = 3
    lists = [np.argsort(-row, kind="stable") for row in scores]
    metrics = [str(spec) for spec in plain_specs(k) if spec.k and not spec.metric.counts_all_items]
    side = side_information(*truth.shape)
    whole = Metrics.compute_ranked(lists, truth, metrics, **side)
    prefix = Metrics.compute_ranked([items[:k] for items in lists], truth, metrics, **side)
    for metric in metrics:
        np.testing.assert_array_equal(prefix[metric], whole[metric])


READ_K = ("precision", "f1", "mean_rank", "percentile_rank")  # in a divisor, or as a rank


@QUICK
@given(problems())
def test_k_beyond_the_catalogue_is_the_catalogue(problem):
    scores, truth, exclude, _ = problem
    n_items = scores.shape[1]
    options = {"exclude": as_index_arrays(exclude)} | side_information(*scores.shape)
    for exact, beyond in zip(plain_specs(n_items), plain_specs(n_items + 7), strict=True):
        if exact.name in READ_K:
            continue
        got = [
            Metrics.compute(scores, truth, spec, **options)[str(spec)] for spec in (exact, beyond)
        ]
        np.testing.assert_array_equal(*got)


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 2_000, (301, 3_100)).astype(np.float32)
    truth = (rng.random(scores.shape) < 0.004) * rng.integers(1, 5, scores.shape)
    exclude = rng.random(scores.shape) < 0.02
    metrics = [str(spec) for k in (20, None) for spec in plain_specs(k)]
    return scores, truth, metrics, {"exclude": exclude} | side_information(*scores.shape)


def test_threads_do_not_change_a_bit(large):
    scores, truth, metrics, options = large
    one, *more = (
        Metrics.compute(scores, truth, metrics, n_threads=n, **options) for n in (1, 2, 3, 8)
    )
    for other in more:
        for metric in metrics:
            np.testing.assert_array_equal(one[metric], other[metric])


@pytest.mark.parametrize("size", [1, 7, 128, 300])
def test_batches_do_not_change_a_bit(large, size):
    scores, truth, metrics, options = large
    whole = Metrics.compute(scores, truth, metrics, **options)
    users = range(0, len(scores), size) if size > 1 else range(40)
    for first in users:
        rows = slice(first, first + size)
        of_rows = {name: options[name][rows] for name in ("exclude", "profile")}
        part = Metrics.compute(scores[rows], truth[rows], metrics, **options | of_rows)
        for metric in metrics:
            if whole[metric].ndim:  # test_system.py adds up what has one value for all
                np.testing.assert_array_equal(part[metric], whole[metric][rows])
