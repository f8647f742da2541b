"""What tells that a call evaluates nothing: in ``audit``, ``audit_ranked`` and ``evaluate``."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from recmetrics import Finding, Metrics, RecmetricsWarning, audit, audit_ranked

N_USERS = 30
N_ITEMS = 60
RNG = np.random.default_rng(0)
TARGETS = RNG.integers(0, N_ITEMS, N_USERS)
TRUTH = np.zeros((N_USERS, N_ITEMS))
TRUTH[np.arange(N_USERS), TARGETS] = 1
SCORES = RNG.random(TRUTH.shape)
GOOD = SCORES + TRUTH  # the target is first
SIGNS = ("only_relevant", "sampled", "relevant_last", "excluded_target")


def signs(report):
    return {name: finding for name, finding in report.findings.items() if name in SIGNS}


def notes(scores, truth, metric="mrr", **keywords):
    return Metrics.evaluate(scores, truth, metric, **keywords).notes


# --- Only the test items were scored -------------------------------------------------------------


def test_all_that_can_be_recommended_is_relevant():
    tests = RNG.random(TRUTH.shape) < 0.1
    tests[:, 0] = True
    for scores in (sp.csr_array(tests * SCORES), np.where(tests, SCORES, -np.inf)):
        report = audit(scores, tests)
        assert signs(report) == {"only_relevant": Finding(N_USERS, 0, 0)}
        assert "every item that can be recommended is relevant: 30 users (100.0%)" in str(report)
        assert "the order of relevant items changes no metric: score all items" in str(report)
        assert notes(scores, tests)[0].startswith(
            "every item that can be recommended is relevant to 30 of the 30 users"
        )
        assert notes(scores, tests, "mrr(rel=3)", undefined="zero") == ()
    graded = audit(SCORES, 5 * tests + tests * (SCORES > 0.5), candidates=tests)
    assert "the order of relevant items changes graded metrics alone: " in str(graded)
    assert signs(audit_ranked([np.flatnonzero(row) for row in tests], tests)) == {
        "only_relevant": Finding(N_USERS, 0, 0)
    }


def test_candidates_that_are_all_relevant_are_told_whatever_the_cutoff():
    tests = RNG.random(TRUTH.shape) < 0.1
    tests[:, :8] = True
    lists = [np.flatnonzero(row) for row in tests]
    for candidates in (tests, lists):
        (note,) = notes(SCORES, tests, "ndcg@5", candidates=candidates)
        assert note.startswith("every item that can be recommended is relevant to 30 of the 30")
    others = tests.copy()
    others[:20, 59] = True
    others[:20, 58] = True
    (note, *_) = [*notes(SCORES, tests, "ndcg@5", candidates=others), ""]
    assert not note.startswith("every item")
    masked = np.where(tests, SCORES, -np.inf)  # the list ends above the rank
    (note,) = notes(masked, tests, "ndcg@50", candidates=others)
    assert note.startswith("every item that can be recommended is relevant to 30 of the 30")


def test_few_users_or_one_right_item_are_no_sign():
    some = np.where(np.arange(N_USERS)[:, np.newaxis] < N_USERS // 2, TRUTH, 1)
    assert signs(audit(SCORES, TRUTH, candidates=some)) == {}  # half of the users
    # A list of one item is right for most users, and the lists of few users are.
    first = np.where(np.arange(N_USERS) < 29, TARGETS, (TARGETS + 1) % N_ITEMS)
    assert signs(audit_ranked(first[:, np.newaxis], TRUTH)) == {}
    assert signs(audit_ranked([[0, 1]] * 9, [np.arange(2)] * 9)) == {}
    assert signs(audit(GOOD, TRUTH)) == signs(audit(SCORES, TRUTH)) == {}
    assert notes(GOOD, TRUTH) == notes(GOOD, TRUTH, "hit@1") == ()


# --- Sampled negatives ---------------------------------------------------------------------------


def candidates_of(size, *, with_target=True):
    """A target and ``size`` - 1 of the other items for each user."""
    lists = []
    for target in TARGETS:
        others = RNG.permutation(np.delete(np.arange(N_ITEMS), target))
        last = target if with_target else others[-1]
        lists.append(np.sort(np.append(others[: size - 1], last)))
    return lists


def test_equally_many_candidates_are_a_sample():
    lists = candidates_of(20)
    report = audit(SCORES, TRUTH, candidates=lists)
    assert signs(report) == {"sampled": Finding(N_USERS, 0, 0)}
    assert report.n_candidates == 20
    assert "20 of 60 items, the relevant ones among them: Metrics.from_sampled" in str(report)
    (note,) = notes(SCORES, TRUTH, "hit@3", candidates=lists)
    assert note.startswith("every user has exactly 20 of 60 items as candidates")
    assert signs(audit_ranked(lists, TRUTH)) == {"sampled": Finding(N_USERS, 0, 0)}

    # What the note names is right: all 60 items give the hits that the sample only estimates.
    ranks = Metrics.ranks(GOOD, TRUTH, candidates=lists).data
    estimate = Metrics.from_sampled(ranks, "auc", n_sampled=19, n_items=60)["auc"].mean()
    assert estimate == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("ranks", "is_sampled"), [((10, 11), True), ((10, 10), False), ((11, 11), False)]
)
def test_lists_are_samples_where_targets_stand_in_both_halves(ranks, is_sampled):
    """Short lists whose relevant items all are at one end are those of a model."""
    lists = []
    for user, (target, others) in enumerate(zip(TARGETS, candidates_of(20), strict=True)):
        lists.append(np.insert(others[others != target], ranks[user % 2] - 1, target))
    assert ("sampled" in signs(audit_ranked(lists, TRUTH))) == is_sampled


def test_samples_of_users_with_several_relevant_items_estimate_auc_alone():
    """The 10 relevant items are above 2/3 of the 190 others: a share that the sample has, too."""
    rng = np.random.default_rng(1)
    truth = np.zeros((300, 200))
    truth[:, :10] = 1
    scores = np.where(truth, 2 / 3, rng.random(truth.shape))
    lists = [np.append(np.arange(10), 10 + rng.permutation(190)[:40]) for _ in truth]
    advice = "only auc estimates its value over all items, since users have several relevant items"
    report = audit(scores, truth, candidates=lists)
    assert f"50 of 200 items, the relevant ones among them: {advice}; for other" in str(report)
    (note,) = notes(scores, truth, "recall@10", candidates=lists)
    assert advice in note
    assert "from_sampled" not in note + str(report)
    values = Metrics.compute(scores, truth, ["auc", "mean_rank"], candidates=lists)
    assert values["auc"].mean() == pytest.approx(2 / 3, abs=0.01)
    assert values["mean_rank"].mean() == pytest.approx(5.5 + 40 / 3, abs=0.4)  # not 5.5 + 190 / 3


@pytest.mark.parametrize(
    "candidates",
    [
        candidates_of(20, with_target=False),  # as a model retrieves them
        candidates_of(40),  # most of the catalogue
        candidates_of(5),  # of a page
        [*candidates_of(20)[1:], candidates_of(21)[0]],
        np.arange(20),  # for all users
        [np.arange(20)] * N_USERS,
    ],
)
def test_other_candidates_are_none(candidates):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some targets are no candidates
        assert signs(audit(SCORES, TRUTH, candidates=candidates)) == {}
        assert notes(SCORES, TRUTH, "hit@3", candidates=candidates) == ()


# --- Distances as scores -------------------------------------------------------------------------


NEGATE = (
    "if lower scores are better, such as distances, negate them, as floats, and leave -inf as it is"
)


@pytest.mark.parametrize("masked", [False, True])
def test_relevant_items_last(masked):
    distances = 2 - GOOD
    if masked:
        distances[:, :10] = np.where(TRUTH[:, :10], distances[:, :10], -np.inf)
    report = audit(distances, TRUTH)
    assert signs(report) == {"relevant_last": Finding(N_USERS, 0, 0)}
    assert NEGATE in str(report)
    assert notes(distances, TRUTH)[0].endswith(NEGATE)
    negated = np.where(np.isneginf(distances), distances, -distances.astype(float))
    assert Metrics.compute(negated, TRUTH, "mrr")["mrr"].tolist() == [1.0] * N_USERS


def test_lists_that_begin_with_the_worst_item():
    ascending = np.argsort(GOOD, axis=1)[:, -10:]
    report = audit_ranked(ascending, TRUTH)
    assert signs(report) == {"relevant_last": Finding(N_USERS, 0, 0)}
    assert "if the lists begin with the worst item, reverse them" in str(report)


def test_random_and_bad_models_are_not_taken_for_distances():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        for n_users, n_items in ((2, 3), (6, 6), (12, 40)):
            truth = np.eye(n_users, n_items)
            assert signs(audit(rng.random(truth.shape), truth)) == {}
    # A target in the last third is bad: 1/6 of the others stand behind it for half of the users.
    bad = np.where(TRUTH, 0.3 * SCORES, SCORES)
    bad[: N_USERS // 2] = SCORES[: N_USERS // 2]
    assert signs(audit(bad, TRUTH)) == {}
    constant = np.zeros(TRUTH.shape)
    assert signs(audit(constant, np.eye(N_USERS, N_ITEMS)[:, ::-1])) == {}
    assert signs(audit(-GOOD[:3, :4], np.eye(3, 4))) == {}  # three users may have bad luck


# --- The target is in one column, and its score ties ----------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, lambda column: np.eye(100)[column]])
def test_a_constant_model_of_targets_in_the_first_column(form):
    """Each place of the 100 has the same chance: mrr is the 100th harmonic number / 100."""
    scores = np.zeros((50, 100))
    truth = form(np.zeros(50, int))
    [note] = notes(scores, truth)
    assert note == (
        "the relevant item is column 0 in every row that has one, and in 50 of the first 50 such "
        "rows other items have its score: it ranks above those in later columns; for the mean over "
        "all orders of equal scores, type ties='expected'"
    )
    evaluation = Metrics.evaluate(scores, truth, "mrr", ties="expected")
    assert evaluation.notes == ()
    harmonic = sum(1 / rank for rank in range(1, 101))
    np.testing.assert_allclose(evaluation.values["mrr"], harmonic / 100, rtol=1e-12)
    for metrics in (["mrr", "coverage@2"], "map(denom=hits)@3"):  # these take no ties="expected"
        assert [said for said in notes(scores, truth, metrics) if "type" in said] == []
        assert "in 50 of the first 50 such rows" in notes(scores, truth, metrics)[-1]


def test_ties_of_targets_in_one_column_are_counted():
    scores = np.random.default_rng(0).random((200, 5))
    scores[:, 3] = 2.0  # of the targets, which are the best
    scores[:3, 1] = 2.0
    scores[3, :] = -np.inf  # in no list
    targets = np.full(200, 3)
    targets[:2] = -1
    # Two of the 200 rows have no target.
    told = "column 3 in every row that has one, and in 5 of the first 198 such rows other items"
    assert not any("column 3" in note for note in notes(scores, targets, "hit@1"))  # 1 of 198
    scores[5:9, 0] = 2.0
    assert any(told in note for note in notes(scores, targets, "hit@1"))
    assert any(told in note for note in notes(scores.astype(np.float16), targets, "hit@1"))
    two_rows = notes(scores[[2, 10]], [3, 3], "hit@1")
    assert "in 1 of the first 2 such rows" in two_rows[-1]
    # Targets in two columns, one row, candidates, and a policy of ties.
    assert notes(scores[[2, 10]], [3, 1], "hit@1") == ()
    assert notes(scores[[2]], [3], "hit@1") == ()
    for keywords in ({"candidates": [1, 3]}, {"ties": "worst"}, {"exclude": [[0], [0]]}):
        assert notes(scores[[2, 10]], [3, 3], "hit@1", **keywords) == ()


# --- The target is excluded ----------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.array, sp.lil_array])
def test_the_filter_of_link_prediction(form):
    others = (RNG.random(TRUTH.shape) < 0.1) & (TRUTH == 0)
    exclude = form(others.astype(float))
    exclude[3, TARGETS[3]] = 1
    report = audit(GOOD, TRUTH, exclude=exclude)
    assert signs(report) == {"excluded_target": Finding(1, 0, 3)}
    assert str(report).splitlines()[1:] == [
        "  exclude holds the one relevant item (does the split leak, or is exclude= the truth?): "
        "1 user (3.3%), first user 3",
        "    in link prediction, exclude the other true items, not the target",
    ]
    with pytest.warns(RecmetricsWarning, match="the one relevant item of 1 of the 30") as caught:
        Metrics.compute(GOOD, TARGETS, "mrr", exclude=exclude)
    advice = re.search(r"type (exclude\[.*? = 0);", str(caught[0].message))[1]
    exec(advice, {"exclude": exclude, "targets": TARGETS, "numpy": np})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = Metrics.compute(GOOD, TARGETS, "mrr", exclude=exclude)["mrr"]
    assert values.tolist() == [1.0] * N_USERS
    two = TRUTH.copy()
    two[0, (TARGETS[0] + 1) % N_ITEMS] = 1  # rows of more than one relevant item
    exclude[3, TARGETS[3]] = 1
    assert signs(audit(GOOD, two, exclude=exclude)) == {}
