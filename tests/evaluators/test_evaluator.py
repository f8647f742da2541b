"""Batches of users add up to the bits of one call, whatever the batches."""

import math
import pickle
import tracemalloc
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import MetricSpec, compiled, parse
from interruption import values_in
from problems import JIT, as_index_arrays, plain_specs, problems, side_information

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    NaNScoreError,
    NotUpdatedWarning,
    ShapeError,
    UndefinedMetricError,
    UserCounts,
)

ALL = list(dict.fromkeys(str(spec) for k in (3, None) for spec in plain_specs(k)))
pytestmark = pytest.mark.usefixtures("threads_start_early")  # of the large problem below
QUICK = settings(deadline=None, max_examples=60)
# The first user finds item 0 first; the second item 1 last but one; the third has no relevant item.
SCORES = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
TRUTH = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
NAN = math.nan


def evaluator(metrics=("hit@1", "coverage@1"), truth=TRUTH, **options):
    return Evaluator(truth, metrics, **options)


def updated(*args, **options):
    one = evaluator(*args, **options)
    one.update(SCORES)
    return one


# --- The bits of one call ------------------------------------------------------------------------


@st.composite
def batched(draw):
    """A problem, and batches of its users: wrong ones first, then each user at least once."""
    scores, truth, exclude, candidates = draw(problems(max_users=6))
    n_users = len(scores)
    everyone = draw(st.permutations(range(n_users)))
    again = draw(st.lists(st.integers(0, n_users - 1), max_size=4))
    order = [*draw(st.lists(st.integers(0, n_users - 1), max_size=4)), *everyone, *again]
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    bounds = [0, *cuts, len(order)]
    batches = [order[a:b] for a, b in pairwise(bounds)]
    return (scores, truth, exclude, candidates), batches


@QUICK
@given(batched())
def test_batches_in_any_order_give_the_bits_of_one_call(case):
    (scores, truth, exclude, candidates), batches = case
    sets = {"exclude": as_index_arrays(exclude), "candidates": as_index_arrays(candidates)}
    side = side_information(*scores.shape)
    one = Evaluator(truth, ALL, **sets, **side)
    for users in batches:
        wrong = scores[users][:, ::-1]  # what comes later replaces it
        one.update(wrong, users)
    for users in batches:
        one.update(scores[users], users)
    assert_identical(one.compute(), Metrics.compute(scores, truth, ALL, **sets, **side))


@pytest.fixture(scope="module")
def problem():
    """Enough users and items for many blocks and threads."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 500, (1_500 if JIT else 100, 700)).astype(np.float32)
    truth = (rng.random(scores.shape) < 0.02) * rng.integers(1, 4, scores.shape).astype(np.uint8)
    exclude = (rng.random(scores.shape) < 0.05) & (truth == 0)
    return scores, truth, exclude, side_information(*scores.shape)


def index_lists(matrix):
    return [np.flatnonzero(row) for row in matrix]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array, index_lists])
def test_large_batches_in_every_form(problem, form, n_threads):
    scores, truth, exclude, side = problem
    if form is index_lists:
        truth = (truth > 0).astype(np.uint8)
    one = Evaluator(
        form(truth), ALL, exclude=form(exclude), n_items=700, n_threads=n_threads, **side
    )
    most = len(scores) * 8 // 15
    for first in (0, most):
        one.update(scores[first : first + most])
    expected = Metrics.compute(scores, truth, ALL, exclude=exclude, **side)
    assert_identical(one.compute(), expected)


def test_metrics_of_options_keep_the_spelling_and_the_order_of_the_caller(problem):
    scores, truth, _, side = problem
    metrics = ["NDCG( gain = exp2 )@7", "gini@4", "map(denom=hits)@5", MetricSpec("hit", 2)]
    one = Evaluator(truth, metrics, **side)
    one.update(scores)
    assert_identical(one.compute(), Metrics.compute(scores, truth, metrics))
    assert list(one.mean()) == ["NDCG( gain = exp2 )@7", "gini@4", "map(denom=hits)@5", "hit@2"]


def test_rankings_give_the_bits_of_one_call(problem):
    scores, truth, _, side = problem
    ranking = np.argsort(-scores, axis=1, kind="stable")[:, :30]
    ranking[::3, 20:] = -1
    metrics = [text for text in ALL if not parse(text).metric.counts_all_items]
    one = Evaluator(truth, metrics, **side)
    n_lists = len(ranking) * 2 // 5
    one.update_ranked(ranking[n_lists:], slice(n_lists, None))
    one.update_ranked([row[row >= 0] for row in ranking[:n_lists]], slice(0, n_lists))
    assert_identical(one.compute(), Metrics.compute_ranked(ranking, truth, metrics, **side))


def test_lists_that_are_replaced_by_shorter_ones_leave_nothing_behind():
    one = evaluator(["coverage@3", "personalization@3"])
    one.update_ranked([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    one.update_ranked([[0], [0], [1]], [0, 1, 2])
    expected = Metrics.compute_ranked([[0], [0], [1]], TRUTH, ["coverage@3", "personalization@3"])
    assert_identical(one.compute(), expected)
    assert one.compute()["coverage@3"] == 2 / 3


# --- Whose rows these are ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "users",
    [
        slice(1, 3), slice(-2, None), [1, 2], np.array([1, 2], np.uint8), range(1, 3),
        np.array([1, 2], ">i4"),
    ],
)  # fmt: skip
def test_users_in_every_form(users):
    one = evaluator("mrr")
    one.update(SCORES[1:], users)
    with pytest.warns(NotUpdatedWarning):
        assert_identical(one.compute(), {"mrr": np.array([NAN, 1 / 2, NAN])})


def test_a_batch_without_users_follows_the_last_index_of_the_batch_before():
    one = Evaluator(np.array([[1.0, 0.0]] * 5), "hit@1")
    one.update([[1, 2], [1, 2]], users=[3, 1])
    one.update([[2, 1], [2, 1]])  # the users 2 and 3
    with pytest.warns(NotUpdatedWarning, match="2 of 5 users were never updated, .* user 0"):
        np.testing.assert_array_equal(one.compute()["hit@1"], [NAN, 0, 1, 1, NAN])


def test_batches_without_users_follow_one_another():
    one = Evaluator(np.array([[1.0, 0.0]] * 5), "hit@1")
    one.update([[1, 2]], [1])
    one.update([[2, 1], [1, 2]])
    one = pickle.loads(pickle.dumps(one))
    one.update([[2, 1]])
    one.update([[1, 2]], [0])
    one.update([[2, 1]])
    assert one.compute()["hit@1"].tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_an_empty_batch_changes_nothing():
    one = updated("mrr")
    before = one.compute()
    one.update(np.zeros((0, 3)), [])
    one.update_ranked(np.zeros((0, 2), int), slice(0, 0))
    assert_identical(one.compute(), before)
    assert repr(one) == "Evaluator(['mrr'], 3 users x 3 items, 3 updated)"


def test_printing_computes_nothing():
    one = evaluator("hit@1")
    one.update(SCORES[:2])
    waiting = "Evaluator(['hit@1'], 3 users x 3 items, 0 updated, 2 more not computed yet)"
    assert [repr(one), repr(one)] == [waiting, waiting]
    one.counts()  # computes the metrics of the batch
    assert repr(one) == "Evaluator(['hit@1'], 3 users x 3 items, 2 updated)"


# --- Users who never came, and undefined values --------------------------------------------------


def test_users_who_never_came_are_reported_by_number():
    one = evaluator(["hit@1", "coverage@1"])
    one.update(SCORES[:1], [1])
    expected = (
        "2 of 3 users were never updated, the first is user 0; their values are NaN, and means "
        "leave them out"
    )
    with pytest.warns(NotUpdatedWarning) as of_values:
        values = one.compute()
    with pytest.warns(NotUpdatedWarning) as of_means:
        assert one.mean() == {"hit@1": 0.0, "coverage@1": 1 / 3}
    for warning in (*of_values, *of_means):
        assert str(warning.message) == expected
        assert warning.filename == __file__
    assert_identical(values, {"hit@1": np.array([NAN, 0, NAN]), "coverage@1": np.array(1 / 3)})


def test_undefined_zero_is_for_users_who_came():
    one = evaluator("hit@1", undefined="zero")
    one.update(SCORES[1:], [1, 2])
    with pytest.warns(NotUpdatedWarning):
        assert_identical(one.compute(), {"hit@1": np.array([NAN, 0, 0])})
    assert updated("mrr", undefined="zero").mean() == {"mrr": (1 + 1 / 2 + 0) / 3}


def test_undefined_raise_names_the_user():
    one = evaluator("hit@1", undefined="raise")
    one.update(SCORES[:2])
    with pytest.warns(NotUpdatedWarning):
        assert one.compute()["hit@1"][:2].tolist() == [1, 0]  # who never came is no error
    one.update(SCORES[2:])
    for call in (one.compute, one.mean):
        assert "the first is user 2; " in message_of(UndefinedMetricError, call)


# --- Merge, reset, pickle, state -----------------------------------------------------------------


@pytest.mark.parametrize("waiting", [True, False])
def test_a_truth_that_the_caller_changes_later_is_the_one_of_the_beginning(waiting):
    given = sp.csr_array(np.array([[3.0, 1, 0], [1, 2, 0], [0, 1, 3]]))
    given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
    exclude, candidates = [np.array([2]), np.array([2]), np.array([0])], np.array([0, 1, 2])
    whole = given.copy()
    one = Evaluator(given, "ndcg@2", exclude=exclude, candidates=candidates)
    if waiting:
        one.update(SCORES)
    given.data[:], given.indices[:], candidates[:], exclude[2][:] = 1.0, 0, 0, 2
    if not waiting:
        one.update(SCORES)
    sets = {"exclude": [[2], [2], [0]], "candidates": [0, 1, 2]}
    np.testing.assert_array_equal(
        one.compute()["ndcg@2"], Metrics.compute(SCORES, whole, "ndcg@2", **sets)["ndcg@2"]
    )
    assert one.merge(Evaluator(whole, "ndcg@2", **sets)).counts()["ndcg@2"].defined == 3


def test_values_of_exclude_are_not_compared_nor_an_empty_one():
    def made(exclude):
        return evaluator("hit@1", exclude=exclude)

    marks = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1]])
    for same in (marks > 0, 5.0 * marks, [[0], [], [2]]):
        made(marks).merge(made(same))
    made(None).merge(made([[], [], []]))
    made(np.zeros((3, 3))).merge(made(None))


def test_values_of_a_profile_are_compared():
    def made(profile):
        return evaluator("calibration@2", genres=np.eye(3), profile=profile)

    profile = np.array([[1.0, 0.0, 2.0]] * 3)
    made(profile).merge(made(profile.copy()))
    with pytest.raises(ArgumentError, match="different profile cannot be merged"):
        made(profile).merge(made(3.0 - profile * (profile > 0)))
    with pytest.raises(ArgumentError, match="different profile cannot be merged"):
        made(profile).merge(made(profile**2))


def test_batches_wait_with_the_flags_of_few_catalogues():
    n_items = 1_000_000
    one = Evaluator([[0]] * 200, ["coverage@2", "hit@2"], n_items=n_items)
    with compiled():
        one.update_ranked([[0, 1]], [0])
    tracemalloc.start()
    for user in range(200):
        one.update_ranked([[user, user + 1]], [user])
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 8 * n_items  # bytes: a flag for each item, of few batches that wait
    assert one.compute()["coverage@2"] == 201 / n_items


@pytest.mark.parametrize(
    ("what", "mine", "others"),
    [
        ("users and items: (3, 3) and (2, 3)", {}, {"truth": TRUTH[:2]}),
        ("users and items: (3, 3) and (3, 2)", {}, {"truth": TRUTH[:, :2]}),
        ("truth", {}, {"truth": TRUTH[::-1]}),
        ("exclude", {}, {"exclude": [[], [1], []]}),
        ("candidates", {}, {"candidates": [0, 1]}),
        (
            "strata['bought']",
            {"metrics": "hit(of=bought)@1", "strata": {"bought": np.eye(3)}},
            {"metrics": "hit(of=bought)@1", "strata": {"bought": 1 - np.eye(3)}},
        ),
    ],
)
def test_evaluators_of_other_data_are_not_merged(what, mine, others):
    own = partial(evaluator, **{"metrics": "hit@1"} | mine)
    other = partial(evaluator, **{"metrics": "hit@1"} | others)
    kind, colon, shown = what.partition(":")
    different = f"evaluators with different {kind} cannot be merged{colon}{shown}"
    message = f"{different}; expected the same in both"
    assert message_of(ArgumentError, lambda: own().merge(other())) == message
    for make in (own, other):  # the same data in another form are the same
        saved = Evaluator.from_state(make().state())
        assert make().merge(saved).counts() == saved.counts()
    assert (
        message_of(ArgumentError, lambda: Evaluator.from_state(own().state()).merge(other()))
        == message
    )


def test_the_same_truth_in_another_form_is_merged():
    forms = [TRUTH, np.array(TRUTH, np.float32), sp.csr_array(TRUTH), sp.coo_array(TRUTH)]
    one = evaluator("hit@1", [np.flatnonzero(row) for row in TRUTH], n_items=3)
    for truth in forms:
        assert one.merge(evaluator("hit@1", truth)).counts()["hit@1"].not_updated == 3


def test_users_that_were_merged_must_be_named():
    first, rest = updated().merge(updated()), evaluator()
    rest.merge(Evaluator.from_state(first.state()))
    message = (
        "users 0 .. 0 follow the last batch, and merge() has updated some of them; give users= to "
        "name the users of each batch"
    )
    assert message_of(ArgumentError, lambda: rest.update(SCORES[:1])) == message
    again = pickle.loads(pickle.dumps(rest))
    assert message_of(ArgumentError, lambda: again.update(SCORES[:1])) == message
    rest.update(SCORES[:1], users=[0])
    rest.reset()
    rest.update(SCORES[:1])
    assert rest.counts()["hit@1"].not_updated == len(TRUTH) - 1
    rest.merge(rest)
    rest.update(SCORES[1:2])  # which no merged evaluator has updated


def test_a_state_holds_what_was_updated_and_no_view_of_it():
    one = evaluator(["hit@1", "coverage@2"], undefined="zero")
    one.update(SCORES[:1], [1])
    state = one.state()
    data = dict(state.pop("data").tolist())
    assert "truth" in data
    assert "exclude" not in data
    assert {name: array.tolist() for name, array in state.items()} == {
        "metrics": ["hit@1", "coverage@2"],
        "specs": ["hit@1", "coverage@2"],
        "modules": ["", ""],
        "undefined": ["zero", "nan"],
        "ties": ["index", "index"],
        "weights": ["1", "1"],
        "nan": "raise",
        "keep": "rows",
        "form": 2,
        "version": recmetrics.__version__,
        "shape": [3, 3],
        "users": [1],
        "values": [[0.0]],
        "lists": [[0, 1]],
        "offered": [True, True, True],
        "invalid": [[], []],
    }
    for array in state.values():
        if array.ndim:
            array[:] = array[::-1] * 0 if array.dtype.kind != "U" else ""
    assert one.counts()["hit@1"] == UserCounts(1, 0, 2)
    with pytest.warns(NotUpdatedWarning):
        assert one.mean() == {"hit@1": 0.0, "coverage@2": 2 / 3}


def test_a_list_may_lack_an_item_at_a_rank():
    """As ``update_ranked(..., unknown="waste")`` leaves it."""
    state = updated(["personalization@2"]).state()
    state["lists"][:] = [[-1, 0], [0, -1], [-1, 0]]
    assert Evaluator.from_state(state).compute()["personalization@2"] == 0  # all list item 0


# --- Batches whose metrics wait ------------------------------------------------------------------


def twice_in_waiting_batches():
    """User 0 comes twice in batches that wait, without a hit and then with one."""
    one = evaluator(["hit@1", "coverage@1"])
    for scores, user in ([[0, 1, 0], 0], [[0, 1, 0], 1], [[1, 0, 0], 0]):
        one.update([scores], [user])
    return one


@pytest.mark.parametrize(
    "asked",
    [
        lambda one: one.compute(),
        lambda one: (one.counts(), one.compute())[1],
        lambda one: Evaluator.from_state(one.state()).compute(),
        lambda one: pickle.loads(pickle.dumps(one)).compute(),
        lambda one: evaluator(["hit@1", "coverage@1"]).merge(one).compute(),
        lambda one: one.merge(evaluator(["hit@1", "coverage@1"])).compute(),
    ],
    ids=["compute", "counts", "state", "pickle", "merge it", "merge into it"],
)
@pytest.mark.filterwarnings("ignore::recmetrics.NotUpdatedWarning")
def test_whoever_asks_gets_the_last_rows_of_batches_that_waited(asked):
    values = asked(twice_in_waiting_batches())
    np.testing.assert_array_equal(values["hit@1"], [1.0, 1.0, NAN])
    assert values["coverage@1"] == 2 / 3


def test_a_later_merge_stands_over_batches_that_waited():
    other = evaluator(["hit@1", "coverage@1"])
    other.update([[0, 1, 0]], [0])
    np.testing.assert_array_equal(
        twice_in_waiting_batches().merge(other).state()["values"], [[0.0, 1.0]]
    )


@pytest.mark.parametrize(
    "between",
    [lambda one: repr(one), lambda one: one.update_ranked([[5]], [4]), lambda one: one.counts()],
    ids=["at once", "after a ranking", "after the metrics"],
)
def test_a_refused_batch_leaves_nothing_where_the_next_one_is_ranked(between):
    """Of a row with lanes selection writes no more than its hits; and these rows have none."""
    truth = np.zeros((5, 800))
    truth[:, 5] = 1
    hits, misses = np.zeros((3, 800)), np.zeros((3, 800))
    hits[:, 5], misses[:, 6] = 1, 1
    one = Evaluator(truth, ["hit@1", "mrr@1"])
    one.update(misses[:1], [0])  # measured at once
    one.update(misses[:1], [0])
    hits[2, 9] = NAN
    with pytest.raises(NaNScoreError):
        one.update(hits, [1, 2, 3])
    between(one)
    one.update(misses, [1, 2, 3])
    one.update(misses[:1], [4])
    for values in one.compute().values():
        np.testing.assert_array_equal(values, np.zeros(5))


def test_an_option_that_cannot_be_computed_is_refused_with_the_first_batch():
    def odd(rank):
        return "much" if rank == 2 else 1.0

    one = Evaluator([[1, 0, 1]] * 2, [MetricSpec("dcg", 2, (("discount", odd),))])
    message = "discount must give a number for each rank, got 'much' for rank 2"
    assert message_of(ArgumentError, lambda: one.update([[1, 2, 3]])) == message
    assert one.counts()["dcg(discount=odd)@2"] == UserCounts(0, 0, 2)


# --- Mistakes ------------------------------------------------------------------------------------

NOT_INDICES = "users must be a slice or a 1-d array of integer user indices, got "


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ShapeError, "scores must have the 3 items of the truth, got a batch of shape (1, 2)",
         lambda one: one.update([[1, 2]])),
        (InputError, "without users=, the 2 rows of scores begin at user 2, where the last batch "
         "ended, and truth has 3 users; expected "
         "each user once; call reset() before the next pass, or give users=",
         lambda one: one.update(SCORES[:2])),
        (InputError, "without users=, the 2 rows of ranking begin at user 2, where the last batch "
         "ended, and truth has 3 users; expected "
         "each user once; call reset() before the next pass, or give users=",
         lambda one: one.update_ranked([[0], [1]])),
        (ShapeError, "scores has 2 rows, but users= names 3 users; expected one user for each row",
         lambda one: one.update(SCORES[:2], [0, 1, 2])),
        (ShapeError, "ranking has 2 rows, but users= names 1 users; expected one user for each row",
         lambda one: one.update_ranked([[0], [1]], slice(2, 4))),
        (InputError, "users names user 3; expected rows of the evaluator's truth, 0 .. 2",
         lambda one: one.update(SCORES[:2], [0, 3])),
        (InputError, "users names user -1; expected rows of the evaluator's truth, 0 .. 2",
         lambda one: one.update(SCORES[:1], [-1])),
        (InputError, "users names user 18446744073709551615; expected rows of the evaluator's "
         "truth, 0 .. 2",
         lambda one: one.update(SCORES[:1], np.array([2**64 - 1], np.uint64))),
        (InputTypeError, "users must be a slice of integer user indices, got slice(0.0, 2.0, None) "
         "(slice indices must be integers or None or have an __index__ method)",
         lambda one: one.update(SCORES[:2], slice(0.0, 2.0))),
        (InputTypeError, f"{NOT_INDICES}1-d of dtype <U2; these are the row numbers of the truth, "
         "not ids", lambda one: one.update(SCORES[:2], ["u0", "u1"])),
        (InputTypeError, f"{NOT_INDICES}1-d of dtype bool; for a mask type np.flatnonzero(users)",
         lambda one: one.update(SCORES, np.array([True, True, True]))),
        (InputTypeError, f"{NOT_INDICES}1-d of dtype float64; type np.asarray(users, np.int64) if "
         "these are indices", lambda one: one.update(SCORES[:1], [0.0])),
        (InputTypeError, "users must be an array or a list with one entry per user, got 0 of type "
         "int", lambda one: one.update(SCORES[:1], 0)),
        (InputTypeError, "users is a ndarray of shape (), expected user indices; Evaluator.update "
         "takes (scores, users), since Evaluator has the truth; StreamEvaluator.update takes "
         "(scores, truth)", lambda one: one.update(SCORES[:1], np.array(0))),
        (InputError, "scores stores (user 2, item 1) twice; expected one entry for each item of a "
         "user; type scores.sum_duplicates() to add them",
         lambda one: one.update(sp.coo_array(([1.0, 2.0], ([2, 2], [1, 1])), shape=(3, 3)))),
        (NaNScoreError, "scores hold 2 NaN, the first at (user 2, item 1); expected numbers; give "
         "nan='exclude' to treat NaN like a score of -inf",
         lambda one: one.update([[0, 0, 0], [0, NAN, NAN]], [1, 2])),
        (InputError, "ranking of user 2 names at rank 2 item 0 twice; expected each item once; "
         "type repeats='waste' or repeats='drop' to accept such items",
         lambda one: one.update_ranked([[1, 0], [0, 0, 1]], [1, 2])),
        (InputError, "ranking of user 1 names at rank 2 item 3, which is outside the catalogue; "
         "expected 0 .. 2, or -1; type unknown='waste' or unknown='drop' to accept such "
         "items",
         lambda one: one.update_ranked([[0, 3]], [1])),
        (InputError, "ranking of user 2 names at rank 2 item 2, which is excluded for this user; "
         "expected items that may be recommended",
         lambda one: one.update_ranked([[0, 1], [1, 2]], [0, 2])),
    ],
)  # fmt: skip
def test_a_batch_that_is_refused_leaves_nothing_behind(error, message, call):
    one = evaluator(["hit@1", "coverage@2"], exclude=[[], [], [2]])
    one.update(SCORES[:2])
    before = values_in(one)
    assert message_of(error, lambda: call(one)) == message
    assert values_in(one) == before
    one.update(SCORES[2:])  # the next row is the same
    assert one.counts()["hit@1"] == UserCounts(2, 1, 0)


@pytest.mark.parametrize("candidates", [[0, 1], [[0], [0, 1], [2]]])
def test_a_ranking_of_no_candidate_is_refused(candidates):
    one = evaluator("hit@1", candidates=candidates)
    assert message_of(InputError, lambda: one.update_ranked([[0, 2]], [1])) == (
        "ranking of user 1 names at rank 2 item 2, which is not a candidate of this user; "
        "expected items that may be recommended"
    )
    one.update_ranked([[1, 0]], [1])
    assert one.counts()["hit@1"].defined == 1


NEEDS_SIZE = (
    "n_items= is needed if truth lists item indices, which do not give the size of the "
    "catalogue; give n_items=, or truth as a matrix (n_users, n_items)"
)
A_NUMBER = "n_items must be a number of items, such as 3700, got "


@pytest.mark.parametrize(
    ("error", "message", "wrong", "right"),
    [
        (ArgumentError, NEEDS_SIZE, {"truth": [[0], []]}, {"truth": [[0], []], "n_items": 3}),
        (ArgumentError, NEEDS_SIZE, {"truth": [1, 0, 0]}, {"truth": [1, 0, 0], "n_items": 3}),
        (ArgumentError, f"{A_NUMBER}2.5", {"n_items": 2.5}, {"n_items": np.int32(3)}),
        (ArgumentError, f"{A_NUMBER}-1", {"n_items": -1}, {}),
        (ArgumentError, f"{A_NUMBER}True", {"n_items": True}, {}),
        (ArgumentError, f"{A_NUMBER}4611686018427387904", {"truth": [[0], []], "n_items": 2**62},
         {}),
        (ShapeError, "truth has 3 items, got n_items=4; leave n_items out", {"n_items": 4},
         {"n_items": 3}),
        (ShapeError, "truth has 2 items, got n_items=4; type list(truth) for indices, "
         "truth.astype(float) for relevances; with relevances leave n_items out",
         {"truth": np.array([[0, 2], [0, 1]]), "n_items": 4},
         {"truth": np.array([[0.0, 2.0], [0.0, 1.0]])}),
    ],
)  # fmt: skip
def test_the_size_of_the_catalogue_is_checked_at_once(error, message, wrong, right):
    assert message_of(error, lambda: evaluator(**wrong)) == message
    assert evaluator(**right).counts()


# --- Parts with their own truth ------------------------------------------------------------------


def part(of, **options):
    """An evaluator of some of 60 users, with their rows of truth and exclude alone."""
    rng = np.random.default_rng(7)
    scores = rng.random((60, 9))
    truth = rng.random(scores.shape) < 0.2
    exclude = (rng.random(scores.shape) < 0.1) & ~truth
    rows = np.arange(60)[of]
    data = {"exclude": exclude[rows], **options}
    one = Evaluator(truth[rows], ["ndcg@3", "coverage@2"], **data)
    one.update(scores[rows][:2])
    one.update(scores[rows][2:])
    return one


@pytest.mark.parametrize("way", ["merge", "state"])
@pytest.mark.parametrize(
    "parts",
    [
        [slice(40, 60), slice(0, 15), slice(15, 40)],
        np.array_split(np.random.default_rng(3).permutation(60), 3),
        np.array_split(np.random.default_rng(3).permutation(60), 12),
    ],
    ids=["offsets", "ids", "small"],
)
def test_parts_need_their_own_truth_alone(parts, way):
    expected = part(slice(0, 60))
    whole, *others = (part(users, users=users, n_users=60) for users in parts)
    assert whole.counts()["ndcg@3"].not_updated == 60 - len(np.arange(60)[parts[0]])
    if way == "state":
        whole, *others = (Evaluator.from_state(one.state()) for one in (whole, *others))
    for other in others:
        whole.merge(other)
    assert_identical(whole.compute(), expected.compute())
    assert whole.counts() == expected.counts()


@pytest.mark.filterwarnings("ignore::recmetrics.NotUpdatedWarning")
def test_the_state_of_a_small_part_takes_the_memory_of_its_users():
    """A table of all users would take 17 MB."""
    one = Evaluator([[0], [1]], ["hit@1", "mrr"], n_items=2, users=[70, 5], n_users=1_000_000)
    one.update_ranked([[0, 1], [0, 1]])
    again = Evaluator.from_state(one.state())
    assert len(pickle.dumps(again)) < 100_000
    assert again.compute()["mrr"][[5, 70]].tolist() == [1 / 2, 1 / 1]


@pytest.mark.filterwarnings("ignore::recmetrics.NotUpdatedWarning")
def test_an_undefined_user_of_a_part_is_named_among_all():
    one = Evaluator(
        [[0], [], []], "hit@1", n_items=2, undefined="raise", users=[70, 5, 2], n_users=90
    )
    one.update_ranked([[0, 1], [0, 1]])
    for read in (one.mean, one.compute):
        message = message_of(UndefinedMetricError, read)
        assert message.startswith(
            "hit@1 is undefined: 1 of 90 users has no relevant item, the first is user 5;"
        )


def test_a_part_goes_on_after_a_merge():
    one = part(slice(50, 60), users=slice(50, 60), n_users=60)
    one.merge(part(slice(0, 50), users=slice(0, 50), n_users=60))
    before = one.compute()["ndcg@3"].copy()
    one.update([[1.0] * 9], users=[3])  # row 3 of its truth is user 53
    after = one.compute()["ndcg@3"]
    changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    assert set(np.flatnonzero(changed)) <= {53}
    one.reset()
    assert one.counts()["ndcg@3"] == UserCounts(0, 0, 60)


@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (ArgumentError, {"users": slice(0, 5)}, "a part of the users needs both users= and n_"),
        (ArgumentError, {"n_users": 60}, "a part of the users needs both users= and n_users="),
        (InputError, {"users": [0, 1, 2, 3, 3], "n_users": 60}, "users= of a part names a user"),
        (InputError, {"users": [0, 1, 2, 3, 60], "n_users": 60}, "users names user 60; expected"),
        (ShapeError, {"users": slice(0, 4), "n_users": 60}, "truth has 5 rows, but users= names 4"),
    ],
)
def test_a_part_that_is_refused(error, options, message):
    assert message_of(error, lambda: part(slice(0, 5), **options)).startswith(message)


def test_the_users_of_an_update_count_within_the_part():
    one = Evaluator(TRUTH, "mrr", users=slice(10, 13), n_users=20)
    message = message_of(ShapeError, one.update, SCORES, slice(10, 13))
    assert message.startswith("scores has 3 rows, but users= names 0 users; expected one user for")
    assert "; users count within the part, 0 .. 2;" in message
    assert message.endswith("leave users= out for the rows after the last batch")
    one.update(SCORES)
    assert one.counts()["mrr"] == UserCounts(2, 1, 17)


def test_a_part_is_not_merged_with_an_evaluator_of_all():
    one = part(slice(0, 5), users=slice(0, 5), n_users=60)
    message = message_of(ArgumentError, lambda: part(slice(0, 60)).merge(one))
    assert message.startswith("one evaluator has the truth of all users, and the other that of a p")
    assert message_of(ArgumentError, lambda: one.merge(part(slice(0, 60)))) == message


# --- torch.compile -------------------------------------------------------------------------------


def in_a_graph(evaluate):
    """A step of a loop, traced by ``torch.compile``: evaluate the scores of a model."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    step = torch.compile(lambda scores: evaluate(scores + 1), backend="eager")
    return step(torch.tensor(SCORES))


def test_metrics_are_computed_in_compiled_code():
    got = in_a_graph(lambda scores: Metrics.compute(scores, TRUTH, "mrr"))
    assert_identical(got, {"mrr": np.array([1 / 1, 1 / 2, NAN])})


def test_evaluators_are_made_updated_and_read_in_compiled_code():
    def evaluate(scores):
        one = evaluator("mrr")
        one.update(scores)
        return one.mean(), one.compute()

    mean, values = in_a_graph(evaluate)
    assert mean == {"mrr": (1 / 1 + 1 / 2) / 2}
    assert_identical(values, {"mrr": np.array([1 / 1, 1 / 2, NAN])})


def test_streams_are_made_updated_and_read_in_compiled_code():
    def evaluate(scores):
        stream = recmetrics.StreamEvaluator("mrr")
        stream.update(scores, TRUTH)
        return stream.mean(), stream.compute()

    mean, values = in_a_graph(evaluate)
    assert mean == {"mrr": (1 / 1 + 1 / 2) / 2}
    assert_identical(values, {"mrr": np.array([1 / 1, 1 / 2, NAN])})
