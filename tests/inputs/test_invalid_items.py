"""Lists of generative models: items named again, and items that do not exist."""

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from asserts import assert_identical, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import METRICS, AllLists, OneList, compiled, parse
from problems import side_information

from recmetrics import (
    ArgumentError,
    Evaluator,
    Finding,
    InputError,
    InvalidItems,
    Metrics,
    StreamEvaluator,
    audit_ranked,
)

N_ITEMS = 8
POLICIES = ["waste", "drop"]
OF_HITS = [
    f"{name}@{k}" if k else name
    for name, record in METRICS.items()
    if record.reads == "hits"
    for k in (1, 3, 5, None)
    if not parse(f"{name}@{k}" if k else name).metric.counts_all_items
]
OF_LISTS = ["diversity@3", "novelty@4", "novelty(denom=k)@4", "popularity@2", "long_tail@5"]
SYSTEM = ["coverage@2", "gini@3", "entropy@5", "personalization@4"]
SIDE = side_information(3, N_ITEMS, seed=1)


def invalid_of(items):
    """The places of repeats and of unknown items, by their definition."""
    known = range(N_ITEMS)
    unknown = [i for i, item in enumerate(items) if item not in known]
    repeats = [i for i, item in enumerate(items) if item in known and item in items[:i]]
    return repeats, unknown


def kept_of(items, repeats, unknown):
    """The (rank, item) of the valid items of a list."""
    kept, rank = [], 0
    of_repeats, of_unknown = invalid_of(items)
    for place, item in enumerate(items):
        policy = repeats if place in of_repeats else unknown if place in of_unknown else None
        rank += policy != "drop"
        if policy is None:
            kept.append((rank, item))
    return kept, rank


@st.composite
def spoiled(draw):
    """Lists of three users with repeats and unknown items, and their truth."""
    item = st.one_of(st.integers(0, N_ITEMS - 1), st.sampled_from([-5, N_ITEMS, 10**12]))
    lists = draw(st.lists(st.lists(item, max_size=9), min_size=3, max_size=3))
    bits = draw(st.binary(min_size=3 * N_ITEMS, max_size=3 * N_ITEMS))
    return lists, np.array([b % 4 // 2 * (b % 3) for b in bits]).reshape(3, N_ITEMS)


@settings(deadline=None, max_examples=60)
@given(problem=spoiled(), repeats=st.sampled_from(POLICIES), unknown=st.sampled_from(POLICIES))
def test_a_wasted_rank_is_that_of_an_irrelevant_item(problem, repeats, unknown):
    """Bit for bit, in a catalogue with more items, which nobody finds relevant."""
    lists, truth = problem
    filled = []
    for u, items in enumerate(lists):
        kept, length = kept_of(items, repeats, unknown)
        fillers = N_ITEMS + 20 * u + np.arange(length)
        for rank, item in kept:
            fillers[rank - 1] = item
        filled.append(fillers)
    wider = np.hstack([truth, np.zeros((3, 60), int)])
    expected = Metrics.compute_ranked(filled, wider, OF_HITS)
    got = Metrics.compute_ranked(lists, truth, OF_HITS, repeats=repeats, unknown=unknown)
    assert_identical(got, expected)


@settings(deadline=None, max_examples=60)
@given(problem=spoiled(), repeats=st.sampled_from(POLICIES), unknown=st.sampled_from(POLICIES))
def test_metrics_of_items_read_the_valid_ones_of_the_first_k_ranks(problem, repeats, unknown):
    lists, truth = problem
    texts = [*OF_LISTS, *SYSTEM]
    got = Metrics.compute_ranked(lists, truth, texts, repeats=repeats, unknown=unknown, **SIDE)
    features = SIDE["features"] / np.linalg.norm(SIDE["features"], axis=1, keepdims=True)
    for text in texts:
        spec = parse(text)
        valid = [
            [item for rank, item in kept_of(items, repeats, unknown)[0] if rank <= spec.k]
            for items in lists
        ]
        if spec.metric.per_user:
            expected = [
                spec.metric.reference(
                    OneList(
                        items=items,
                        relevance=truth[u].tolist(),
                        popularity=SIDE["popularity"].tolist(),
                        similarity=(features @ features.T).tolist(),
                        genres=SIDE["genres"].tolist(),
                        profile=SIDE["profile"][u].tolist(),
                    ),
                    spec.k,
                    **spec.values,
                )
                for u, items in enumerate(valid)
            ]
        else:
            expected = spec.metric.reference(AllLists(valid, list(range(N_ITEMS))), **spec.values)
        np.testing.assert_allclose(got[text], expected, rtol=1e-12, atol=1e-12, err_msg=text)


def test_exposure_is_weighed_at_the_ranks_of_the_items():
    values = Metrics.compute_ranked(
        [[0, 0, 1]], np.eye(1, 3), ["exposure_gini(discount=log2)@3"], repeats="waste"
    )
    first, third = 1.0, 1 / math.log2(4)
    expected = (2 * first + 0 * third - 2 * 0) / (3 * (first + third))  # item 2 is in no list
    assert values["exposure_gini(discount=log2)@3"] == pytest.approx(expected, abs=1e-15)


# --- Counted -------------------------------------------------------------------------------------

LISTS = [[0, 0, 9, 1, 0], [2, 3], [8, -7, 8]]
TRUTH = np.eye(3, N_ITEMS, k=1)
COUNTS = InvalidItems(repeats=2, lists_with_repeats=1, unknown=4, lists_with_unknown=2)
ASKED = ["mrr", "ndcg@2", "novelty@3", "coverage@3"]
SHARED = {"popularity": SIDE["popularity"]}


@pytest.mark.parametrize("unknown", POLICIES)
@pytest.mark.parametrize("repeats", POLICIES)
def test_an_evaluator_counts_the_lists_of_its_users(repeats, unknown):
    rules = {"repeats": repeats, "unknown": unknown}
    expected = Metrics.compute_ranked(LISTS, TRUTH, ASKED, **rules, **SHARED)
    one = Evaluator(TRUTH, ASKED, **SHARED)
    assert one.invalid_items() == InvalidItems()
    one.update_ranked([[0, 0, 0, 0, 11]], [1], **rules)  # which valid rows replace
    one.update_ranked(LISTS[2:], [2], **rules)
    one.update_ranked(LISTS[1:2], [1])
    other = Evaluator(TRUTH, ASKED, **SHARED)
    other.update_ranked(LISTS[:1], [0], **rules)
    other = Evaluator.from_state(other.state())
    whole = pickle.loads(pickle.dumps(one.merge(other)))
    assert whole.invalid_items() == COUNTS
    assert_identical(whole.compute(), expected)
    whole.reset()
    assert whole.invalid_items() == InvalidItems()


@pytest.mark.parametrize("keep", ["values", "means"])
def test_a_stream_counts_the_lists_of_its_events(keep):
    rules = {"repeats": "waste", "unknown": "drop"}
    expected = Metrics.compute_ranked(LISTS, TRUTH, ASKED, **rules, **SHARED)
    one, other = (StreamEvaluator(ASKED, n_items=N_ITEMS, keep=keep, **SHARED) for _ in range(2))
    one.update_ranked(LISTS[:1], TRUTH[:1], **rules)
    one.update_ranked(LISTS[1:2], TRUTH[1:2])
    other.update_ranked(LISTS[2:], TRUTH[2:], **rules)
    other = StreamEvaluator.from_state(other.state())
    whole = pickle.loads(pickle.dumps(one.merge(other)))
    assert whole.invalid_items() == COUNTS
    for text, mean in whole.mean().items():
        assert mean == pytest.approx(np.nanmean(expected[text]), rel=1e-14), text
    whole.reset()
    assert whole.invalid_items() == InvalidItems()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("metric", ["recall@2", "recall(of=tail)@2", "recall(weigh=ips)@2"])
def test_blocks_with_and_without_invalid_items_are_joined(metric):
    """Of 200 lists, the last names an item that does not exist; the relevant item is the first."""
    rankings = np.tile([1, 2, 3, 4], (200, 1))
    rankings[-1, -1] = 99
    truth = [[1]] * 200
    side = {"strata": {"tail": [1]}, "propensity": np.full(5, 0.5)}
    values = Metrics.compute_ranked(rankings, truth, metric, n_items=5, unknown="waste", **side)
    expected = 2.0 if "ips" in metric else 1.0
    assert values[metric].tolist() == [expected] * 200
    stream = StreamEvaluator(metric, n_items=5, **side)
    stream.update_ranked(rankings[:100], truth[:100])
    stream.update_ranked(rankings[100:], truth[100:], unknown="waste")
    assert stream.compute()[metric].tolist() == [expected] * 200


def test_progress_prints_how_many_there_were(capsys):
    Metrics.compute_ranked(LISTS, TRUTH, "mrr", repeats="waste", unknown="drop", progress=True)
    assert "2 repeats in 1 list, 4 unknown items in 2 lists\n" in capsys.readouterr().err
    Metrics.compute_ranked([[0]], TRUTH[:1], "mrr", progress=True)
    assert "repeat" not in capsys.readouterr().err


def test_an_audit_counts_them_and_names_the_first():
    report = audit_ranked(LISTS, TRUTH, k=2)
    assert report.repeats == Finding(1, 2, 0, 0)
    assert report.unknown == Finding(2, 4, 0, 9)
    assert report.short == Finding(1, 0, 2, None)  # without an item of the catalogue
    of_lists = audit_ranked([[0, 4, 4, 99]], [[0]], k=2)  # of a catalogue of unknown size
    assert (of_lists.repeats, of_lists.unknown.users) == (Finding(1, 1, 0, 4), 0)


# --- Errors, and what is no error ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "error", "expected"),
    [
        ({}, InputError, "user 0 names at rank 3 item 9, which is outside the catalogue"),
        ({"unknown": "drop"}, InputError, "ranking of user 0 names at rank 2 item 0 twice"),
        (
            {"repeats": "drop"},
            InputError,
            "ranking of user 0 names at rank 3 item 9, which is outside the catalogue; expected "
            "0 .. 7, or -1; type unknown='waste' or unknown='drop' to accept such items",
        ),
        ({"repeats": "keep"}, ArgumentError, "repeats must be 'raise', 'waste' or 'drop', got"),
        ({"unknown": None}, ArgumentError, "unknown must be 'raise', 'waste' or 'drop', got None"),
    ],
)
def test_what_is_not_accepted_is_refused_at_its_rank(rules, error, expected):
    evaluator = Evaluator(TRUTH, "mrr")
    for call in (
        lambda: Metrics.compute_ranked(LISTS, TRUTH, "mrr", **rules),
        lambda: evaluator.update_ranked(LISTS, **rules),
    ):
        assert expected in message_of(error, call)
    assert evaluator.counts()["mrr"].not_updated == 3
    assert evaluator.invalid_items() == InvalidItems()


def test_unknown_items_need_the_size_of_the_catalogue():
    with pytest.raises(ArgumentError, match=r"unknown='drop' needs the size .* type n_items="):
        Metrics.compute_ranked([[0, 9]], [[0]], "mrr", unknown="drop")
    stream = StreamEvaluator("mrr")
    with pytest.raises(ArgumentError, match="type n_items="):
        stream.update_ranked([[0, 9]], [0], unknown="waste")
    repeated = Metrics.compute_ranked([[9, 9, 0]], [[0]], "mrr", repeats="drop")  # needs none
    assert repeated["mrr"].tolist() == [1 / 2]


def test_a_metric_of_all_items_takes_no_wasted_rank():
    lists, truth = [[0, 0, 1, 2]], np.eye(1, 3)
    with pytest.raises(ArgumentError, match=r"auc counts all items, but a wasted rank has no item"):
        Metrics.compute_ranked(lists, truth, "auc", repeats="waste")
    assert Metrics.compute_ranked(lists, truth, "auc", repeats="drop")["auc"].tolist() == [1.0]


def test_an_excluded_item_is_refused_at_the_rank_that_it_was_given():
    evaluator = Evaluator(TRUTH, "mrr", exclude=[[5], [], []])
    with pytest.raises(InputError, match="user 0 names at rank 4 item 5, which is excluded"):
        evaluator.update_ranked([[0, 0, 0, 5]], [0], repeats="drop")


def test_the_rankings_are_not_written_to():
    ranking = np.array([[0, 0, 9, 1], [2, 3, -1, -1]], np.int32)
    before = ranking.copy()
    ranking.flags.writeable = False
    for policy in POLICIES:
        Metrics.compute_ranked(ranking, TRUTH[:2], ASKED, repeats=policy, unknown=policy, **SHARED)
    assert np.array_equal(ranking, before)


# --- Lists of very different lengths -------------------------------------------------------------


def test_one_long_list_takes_the_memory_of_its_items():
    long, one = np.arange(60_000), np.array([1])
    metrics = ["mrr@5", "coverage@3", "diversity"]
    lists, truth = [one] * 500 + [long] + [one] * 500, [one] * 1001
    features = np.eye(60_000, 2) + 1
    with compiled():
        Metrics.compute_ranked(lists[:2], truth[:2], metrics, n_items=60_000, features=features)
    tracemalloc.start()
    found = Metrics.compute_ranked(lists, truth, metrics, n_items=60_000, features=features)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100e6  # as a matrix, 480 MB
    assert found["mrr@5"].tolist() == [1.0] * 500 + [1 / 2] + [1.0] * 500
    assert found["coverage@3"] == 3 / 60_000
