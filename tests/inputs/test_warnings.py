"""Numbers that may not mean what they seem to: what warns, where, and with which count."""

import importlib
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sizes import TIGHT, patched

import recmetrics
from recmetrics import Evaluator, Metrics, NotUpdatedWarning, RecmetricsWarning

N_ITEMS = 40
# 7 users: 0 .. 4 have relevant items, 5 and 6 have none.
TRUTH = np.zeros((7, N_ITEMS))
TRUTH[0, [3, 8]] = 1
TRUTH[[1, 2, 3, 4], [5, 5, 39, 0]] = 2
SCORES = np.random.default_rng(0).standard_normal(TRUTH.shape)
MESSAGE = (
    "exclude holds all relevant items of {} of the {} users with relevant items, and excluded "
    "items are never hits; are exclude= and the truth the same data? exclude= must be the items "
    "seen in training, and the truth those of the test"
)


def excluding(*users):
    """Excludes all relevant items of some users, others besides, and all but one of user 0's."""
    exclude = np.zeros(TRUTH.shape)
    exclude[:, 20] = 1
    exclude[0, 8] = 1
    for user in users:
        exclude[user] = np.maximum(exclude[user], TRUTH[user])
    return exclude


def lists_of(matrix):
    return [np.flatnonzero(row) for row in matrix]


EXCHANGED = "are scores and truth exchanged? expected scores first, then the truth"


def test_sparse_scores_that_look_like_the_truth():
    liked = sp.csr_array((TRUTH > 0).astype(float))
    with pytest.warns(RecmetricsWarning) as told:
        Metrics.compute(liked, abs(SCORES), "hit@1")
    assert [str(each.message) for each in told] == [
        f"all 6 stored scores are 1, so the items of a user tie; {EXCHANGED}",
        f"all 40 items are relevant to the first user, and scores is sparse; {EXCHANGED}",
    ]
    assert {each.filename for each in told} == {__file__}
    with pytest.warns(RecmetricsWarning, match="^all 40 items are relevant"):
        recmetrics.audit(sp.csr_array(TRUTH * SCORES), abs(SCORES))


def chances(shape=(50, 40)):
    """Scores between 0 and 1, as of a sigmoid."""
    return 1 / (1 + np.exp(-np.random.default_rng(5).standard_normal(shape)))


SHARES = f"the truth holds fractions between 0 and 1, and the scores look like grades; {EXCHANGED}"


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float64])
def test_dense_scores_and_truth_exchanged(dtype):
    truth = (np.random.default_rng(6).random((50, 40)) < 0.1).astype(dtype)
    truth[0] = 0  # a user without relevant items
    for graded in (truth, truth * 5) if dtype is not bool else (truth,):
        for call in (
            lambda scores, truth: Metrics.compute(scores, truth, "ndcg@5"),
            lambda scores, truth: Metrics.ndcg_at_k(scores, truth, k=5),
            recmetrics.audit,
            lambda scores, truth: recmetrics.StreamEvaluator("ndcg@5").update(scores, truth),
            lambda scores, truth: Evaluator(truth, "ndcg@5").update(scores),
            lambda scores, truth: Metrics.compute_groups(
                scores.ravel(), truth.ravel(), "ndcg@5", sizes=[40] * 50
            ),
        ):
            assert caught(call, graded, chances()) == [(RecmetricsWarning, SHARES)]
            assert caught(call, chances(), graded) == []


def test_fractions_and_grades_in_their_places_warn_of_nothing():
    """Few fractions, scores of other whole numbers, or the scores of one user alone."""
    votes = np.random.default_rng(7).integers(0, 2, (50, 40))
    sparse_chances = np.where(votes, chances(), 0)
    more, first = 9 * votes, np.where(np.arange(50)[:, None] == 0, votes, chances())
    for scores, truth in ((votes, sparse_chances), (more, chances()), (first, chances())):
        assert caught(Metrics.compute, scores, truth, "ndcg@5") == []
        assert caught(Evaluator(truth, "ndcg@5").update, scores) == []


def caught(call, *arguments, **keywords):
    """The warnings of a call, each of which must point at a line of this file."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(*arguments, **keywords)
    assert {Path(one.filename) for one in seen} <= {Path(__file__)}
    return [(one.category, str(one.message)) for one in seen]


def test_other_sparse_scores_warn_of_nothing():
    for scores, truth in ((SCORES, TRUTH), ([[0] * 3], [[1, 1, 0]]), ([[1.0]], [[1]])):
        assert caught(Metrics.compute, sp.csr_array(scores), truth, "hit@1") == []


def dask_compute(scores, truth, metrics, *, exclude, as_arrays, **keywords):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    import recmetrics.dask

    if as_arrays:
        truth, exclude = (da.from_array(one, chunks=(2, 30)) for one in (truth, exclude))
    scores = da.from_array(scores, chunks=(3, 15))
    return recmetrics.dask.compute(scores, truth, metrics, exclude=exclude, **keywords)


def dask_factors(scores, truth, metrics, **keywords):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    import recmetrics.dask

    factors = da.from_array(scores, chunks=(3, 15))
    items = np.eye(N_ITEMS)
    return recmetrics.dask.compute_factors(factors, items, truth, metrics, **keywords)


def ranking_metrics(_, truth, metrics, **keywords):
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    from recmetrics.torchmetrics import RankingMetrics

    return RankingMetrics(truth, metrics, **keywords)


def device_scores(scores, truth, metrics, **keywords):
    pytest.importorskip("torch", reason="torch is not installed")
    from elsewhere import elsewhere

    return Metrics.compute(elsewhere(scores), truth, metrics, **keywords)


CALLS = {
    "compute": Metrics.compute,
    "in threads": partial(Metrics.compute, n_threads=3),
    "candidates": partial(Metrics.compute, candidates=np.arange(2, 40)),
    "ties": partial(Metrics.compute, ties="expected"),
    "one metric": lambda scores, truth, _, **rest: Metrics.ndcg_at_k(scores, truth, k=3, **rest),
    "factors": lambda scores, *rest, **given: Metrics.compute_factors(
        scores, np.eye(N_ITEMS), *rest, **given
    ),
    "device": device_scores,
    "evaluator": lambda _, *rest, **given: Evaluator(*rest, **given),
    "torchmetrics": ranking_metrics,
    "dask": partial(dask_compute, as_arrays=False),
    "dask arrays": partial(dask_compute, as_arrays=True),
    "dask, whole rows": partial(dask_compute, as_arrays=False, ties="expected"),
    "dask factors": dask_factors,
}
EVERY_CALL = pytest.mark.parametrize("call", CALLS)


@EVERY_CALL
@pytest.mark.parametrize("metric", ["ndcg@3", "ndcg"])
def test_an_exclude_that_swallows_the_truth_warns_once_with_the_count(call, metric):
    got = caught(CALLS[call], SCORES, TRUTH, [metric], exclude=excluding(1, 2, 4))
    assert got == [(RecmetricsWarning, MESSAGE.format(3, 5))]


@EVERY_CALL
def test_half_of_the_users_are_no_reason_to_warn(call):
    truth = TRUTH.copy()
    truth[4] = 0  # four users are left who have any
    exclude = excluding(1, 2, 4, 5)
    assert caught(CALLS[call], SCORES, truth, ["hit@3"], exclude=exclude) == []
    exclude = excluding(1, 2, 3, 4, 5)
    expected = MESSAGE.format(3, 4)
    assert caught(CALLS[call], SCORES, truth, ["hit@3"], exclude=exclude) == [
        (RecmetricsWarning, expected)
    ]


LACKING = (
    "candidates have no relevant item of {} of the {} users with relevant items, so these users "
    "cannot have a hit; add the relevant items to the candidates"
)


@pytest.mark.parametrize("form", [np.array, sp.csr_array, lists_of])
@pytest.mark.parametrize("n_users", [9, 10, 31])
def test_candidates_without_the_relevant_items(form, n_users):
    rng = np.random.default_rng(0)
    scores, truth = rng.random((n_users, 20)), np.zeros((n_users, 20))
    truth[1:, 3] = 1
    negatives = rng.permuted(np.arange(20) % 4 == 0, axis=0) & np.ones((n_users, 1), bool)
    negatives[:, 3] = False
    compute = partial(Metrics.compute, scores, truth, ["hit@5", "mrr@5"])
    expected = [(RecmetricsWarning, LACKING.format(n_users - 1, n_users - 1))]
    assert caught(compute, candidates=form(negatives)) == (expected if n_users > 10 else [])
    half = negatives.copy()
    half[1 : n_users // 2 + 1, 3] = True  # of relevant items that score too low for a hit
    compute_few = partial(Metrics.compute, np.where(np.arange(20) == 3, -1, scores), truth, "hit@1")
    assert caught(compute_few, candidates=form(half)) == []
    some = negatives.copy()
    some[1, 3] = True  # a hit: the candidates are not the reason of all zeros
    some[1, 4:] = False
    scores[1, 3] = 2
    assert caught(compute, candidates=form(some)) == []
    assert caught(compute, candidates=np.flatnonzero(negatives[0])) == []  # of all users alike


def test_targets_that_are_padding():
    """Several rows with the one target that the candidates of all users lack."""
    scores = np.random.default_rng(0).random((6, 5))
    padded = np.array([0, 0, 3, 1, 4, 2])
    padding = (
        "item 0 is the target of several rows and not among the candidates, so these rows have no "
        "hit; if it pads sequences, type targets[targets == 0] = -1, which leaves these rows out "
        "of the means"
    )
    stream = recmetrics.StreamEvaluator("mrr")
    for call in (partial(Metrics.compute, metrics_list="mrr"), stream.update):
        assert caught(call, scores, padded, candidates=[1, 2, 3, 4]) == [
            (RecmetricsWarning, padding)
        ]
        for targets in ([0, 3, 1, 4, 2, 2], [0, 0, 3, 3, 1, 1], [-1, -1, 3, 1, 4, 2]):
            candidates = [1, 2, 4] if targets[1] == 0 else [1, 2, 3, 4]
            assert caught(call, scores, np.array(targets), candidates=candidates) == []
        assert caught(call, scores, padded) == []


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.coo_array, lists_of])
@pytest.mark.parametrize("of_truth", [np.array, sp.csc_array, lists_of])
def test_every_form_is_counted(form, of_truth):
    given = {"exclude": form(excluding(0, 1, 2))}
    got = caught(Metrics.compute, SCORES, of_truth(TRUTH), "mrr@2", **given)
    assert got == [(RecmetricsWarning, MESSAGE.format(3, 5))]


def test_blocks_of_many_users_are_added_up():
    scores, truth, exclude = (np.tile(one, (50, 1)) for one in (SCORES, TRUTH, excluding(0, 2, 3)))
    expected = [(RecmetricsWarning, MESSAGE.format(150, 250))]
    for call in ("compute", "in threads", "candidates", "factors"):
        with patched(TIGHT):
            assert caught(CALLS[call], scores, truth, ["hit@3"], exclude=exclude) == expected


def test_what_no_truth_is_read_for_does_not_warn():
    exclude = excluding(*range(5))
    assert caught(Metrics.compute, SCORES, TRUTH, ["coverage@3"], exclude=exclude) == []
    assert caught(Metrics.chance, TRUTH, ["hit@3"], exclude=exclude) == []
    assert caught(Metrics.ceiling, TRUTH, ["hit@3"], exclude=exclude) == []
    assert caught(recmetrics.audit, SCORES, TRUTH, exclude=exclude) == []
    nobody = np.zeros(TRUTH.shape)
    assert caught(Metrics.compute, SCORES, nobody, ["hit@3"], exclude=exclude) == []


def test_an_evaluator_warns_when_it_is_made_and_not_again():
    with pytest.warns(RecmetricsWarning, match=re.escape(MESSAGE.format(5, 5))):
        evaluator = Evaluator(TRUTH, "hit@3", exclude=TRUTH)
    assert caught(evaluator.update, SCORES[:4]) == []
    assert caught(evaluator.update_factors, SCORES[4:], np.eye(N_ITEMS)) == []
    assert caught(evaluator.update_ranked, [[20]] * 2, [1, 2]) == []


def test_lazy_dask_arrays_do_not_warn():
    lazy = partial(CALLS["dask"], lazy=True)
    assert caught(lazy, SCORES, TRUTH, ["hit@3"], exclude=TRUTH) == []


def test_the_category_is_one_of_users():
    assert issubclass(RecmetricsWarning, UserWarning)
    assert issubclass(NotUpdatedWarning, RecmetricsWarning)


def test_a_warning_points_at_the_line_of_the_caller():
    with pytest.warns(RecmetricsWarning) as seen:
        Metrics.hit_at_k(SCORES, TRUTH, k=3, exclude=TRUTH)
    line = test_a_warning_points_at_the_line_of_the_caller.__code__.co_firstlineno + 2
    assert [(Path(one.filename), one.lineno) for one in seen] == [(Path(__file__), line)]


def test_a_warning_points_at_the_caller_where_torch_compile_is_loaded():
    pytest.importorskip("torch", reason="torch is not installed")
    importlib.import_module("torch._dynamo")
    test_a_warning_points_at_the_line_of_the_caller()


def test_code_of_the_package_is_skipped_whatever_its_file():
    own = {"__name__": "recmetrics.made_up"}
    exec(
        compile(
            "from recmetrics._core.errors import warn\ndef call(): warn('seen')", "made up", "exec"
        ),
        own,
    )
    with pytest.warns(RecmetricsWarning, match="seen") as seen:
        own["call"]()
    assert Path(seen[0].filename) == Path(__file__)
