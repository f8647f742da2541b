"""A stream of events: rows that nobody names, whose truth comes with them."""

import functools
import math
import pickle
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from inside import compiled
from interruption import values_in
from problems import plain_specs, side_information

import recmetrics
from recmetrics import (
    ArgumentError,
    EventCounts,
    InputError,
    InputTypeError,
    Metrics,
    MetricSpecError,
    NaNScoreError,
    RecmetricsWarning,
    ShapeError,
    StreamEvaluator,
)

ALL = list(dict.fromkeys(str(spec) for k in (3, None) for spec in plain_specs(k)))
SCORES = np.array([[0.1, 2.0, 0.3], [1.5, 0.2, 0.9], [0.1, 0.3, 0.2], [3.0, 2.0, 1.0]])
NEXT = [1, 2, -1, 2]  # at ranks 1 and 2, none, and at rank 3


def stream(metrics=("hit@1", "mrr"), **options):
    return StreamEvaluator(metrics, **options)


def filled(keep="values", **options):
    one = stream(keep=keep, **options)
    one.update(SCORES[:1], NEXT[:1])
    one.update(SCORES[1:], NEXT[1:])
    return one


# --- Values --------------------------------------------------------------------------------------


def test_hand_worked_values():
    one = filled()
    values = one.compute()
    np.testing.assert_array_equal(values["hit@1"], [1, 0, math.nan, 0])
    np.testing.assert_array_equal(values["mrr"], [1, 1 / 2, math.nan, 1 / 3])
    assert one.counts() == dict.fromkeys(["hit@1", "mrr"], EventCounts(defined=3, undefined=1))
    for each in (one, filled("means")):
        assert each.mean() == pytest.approx({"hit@1": 1 / 3, "mrr": (1 + 1 / 2 + 1 / 3) / 3})
        # The standard deviation of 1, 0, 0 is sqrt(1/3).
        half = 1.959963984540054 * math.sqrt(1 / 3) / math.sqrt(3)
        assert each.interval()["hit@1"] == pytest.approx((1 / 3 - half, 1 / 3 + half))


@pytest.mark.parametrize("keep", ["values", "means"])
@pytest.mark.parametrize("undefined", ["nan", "zero", "one"])
def test_every_metric_is_that_of_one_call(keep, undefined):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (90, 40)).astype(np.float32)
    truth = rng.integers(0, 3, scores.shape) * (rng.random(scores.shape) < 0.05)
    side = side_information(*scores.shape)
    expected = Metrics.compute(scores, truth, ALL, undefined=undefined, **side)
    profile = side.pop("profile")
    one = stream(ALL, keep=keep, undefined=undefined, **side)
    for rows in np.split(np.arange(90), [1, 1, 30, 64]):
        one.update(scores[rows], truth[rows], profile=profile[rows])
    if keep == "values":
        got = one.compute()
        assert_identical(got, expected)
    means, intervals, counts = one.mean(), one.interval(), one.counts()
    for text in ALL:
        defined = expected[text][~np.isnan(expected[text])]
        mean, half = defined.mean() if defined.size else math.nan, math.nan
        if defined.size > 1:
            half = 1.959963984540054 * defined.std(ddof=1) / math.sqrt(defined.size)
        np.testing.assert_allclose(means[text], mean, rtol=1e-13, err_msg=text)
        bounds = mean - half, mean + half
        np.testing.assert_allclose(intervals[text], bounds, 1e-13, 1e-15, err_msg=text)
        if expected[text].ndim:
            assert counts[text] == EventCounts(len(defined), 90 - len(defined))


@pytest.mark.parametrize("keep", ["values", "means"])
def test_factors_rankings_and_sparse_scores(keep):
    rng = np.random.default_rng(1)
    users, items = rng.random((30, 4)), rng.random((12, 4))
    scores, truth = users @ items.T, rng.integers(-1, 12, 30)
    ranking = np.argsort(-scores, axis=1)
    metrics = ["ndcg@5", "hit@1", "coverage@2"]
    one = stream(metrics, keep=keep, n_items=12)
    one.update_factors(users[:10], items, truth[:10])
    one.update_ranked(ranking[10:20], truth[10:20])
    one.update(sp.csr_array(scores[20:]), truth[20:])
    expected = Metrics.compute(scores, truth, metrics)
    for text, mean in one.mean().items():
        np.testing.assert_allclose(mean, np.nanmean(expected[text]), rtol=1e-13)


def test_exclude_and_candidates_are_those_of_the_rows():
    one = stream("mrr")
    one.update(SCORES[:2], [0, 2], exclude=[[1, 2], [0]], candidates=None)
    one.update(SCORES[:2], [0, 2], candidates=[0, 2])
    assert one.compute()["mrr"].tolist() == [1, 1, 1 / 2, 1 / 2]


def test_excluded_truth_is_told():
    one = stream("mrr")
    one.update(SCORES[:2], [1, 2], exclude=[[1], [2]])
    with pytest.warns(RecmetricsWarning, match="the one relevant item of 2 of the 2 events"):
        one.mean()
    other = stream("mrr")
    other.update(SCORES[[0, 1, 3]], [1, 2, 2], exclude=[[1], [2], [0]])
    with pytest.warns(RecmetricsWarning, match="the one relevant item of 4 of the 5 events"):
        one.merge(other).mean()


# --- Sums ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_a_sum_of_many_parts_loses_no_digit(order):
    """Each of the small numbers is too small to change the first one."""
    numbers = [1.0, *[2.0**-53] * 300][::order]
    whole = stream("cg@1", keep="means")
    for number in numbers:
        part = stream("cg@1", keep="means")
        part.update([[1.0]], [[number]])
        whole.merge(part)
        whole.counts()  # or they would be added many at once, which loses little anyway
    assert whole.mean()["cg@1"] == pytest.approx((1 + 300 * 2.0**-53) / 301, rel=1e-15, abs=0)


def test_streams_that_are_merged_wait_in_bounded_memory():
    """The counts of lists are 9 bytes for each item."""
    n_items = 200_000
    whole = stream(["hit@1", "coverage@1"], keep="means", n_items=n_items)
    part = stream(["hit@1", "coverage@1"], keep="means", n_items=n_items)
    part.update_ranked([[1]], [1])
    state = part.state()
    tracemalloc.start()
    for _ in range(60):
        whole.merge(StreamEvaluator.from_state(state))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert whole.counts()["hit@1"].defined == 60
    assert peak < 12 * 9 * n_items


def test_values_of_several_models_wait_in_bounded_memory():
    """At most 4 MB: 4 models x 32 metrics x 8 bytes are 1 kB an event."""
    one = stream([f"hit@{k}" for k in range(1, 33)], keep="means")
    scores = dict.fromkeys("abcd", np.zeros((3_000, 33)))
    for _ in range(2):
        one.update(scores, np.zeros(3_000, int))
    assert repr(one).endswith("3000 events, 3000 more not computed yet)")


@pytest.mark.parametrize("is_weighted", [False, True])
def test_means_have_the_same_bits_in_any_batches(is_weighted):
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((500, 40))
    truth = rng.random(scores.shape) < 0.1
    weights = rng.random(500) if is_weighted else np.ones(500)
    values = Metrics.compute(scores, truth, ["ndcg@20", "dcg(gain=exp2)"], undefined="zero")
    total = math.fsum(weights)
    expected = {text: math.fsum(weights * of) / total for text, of in values.items()}

    means = []
    for n_batches in (1, 3, 50, 500):
        whole = stream(list(values), keep="means", undefined="zero")
        for rows in np.array_split(rng.permutation(500), n_batches):
            part = stream(list(values), keep="means", undefined="zero")
            part.update(scores[rows], truth[rows], weights=weights[rows])
            whole.merge(part)
        means.append(whole.mean())
    assert means[1:] == means[:-1]
    # The sum has no error. One of the quotient is at most the last digit.
    assert means[0] == pytest.approx(expected, rel=2e-16, abs=0)


@pytest.mark.parametrize("keep", ["values", "means"])
@pytest.mark.parametrize("way", ["batches", "merge"])
def test_the_interval_of_values_that_vary_little_beside_their_mean(keep, way):
    """2^30 - 1 and at times log2(3)^-1 more: the squares of the values have no digits for that."""
    relevance = np.array([[30, 0, 0]] * 300)
    relevance[::3, 1] = 1
    low, more = 2**30 - 1, 1 / math.log2(3)
    one = stream("dcg(gain=exp2)@2", keep=keep)
    for rows in np.split(relevance, [1, 150, 153]):
        part = one if way == "batches" else stream("dcg(gain=exp2)@2", keep=keep)
        part.update([[3.0, 2.0, 1.0]] * len(rows), rows)
        part.counts()
        if way == "merge":
            one.merge(StreamEvaluator.from_state(part.state()))
    # Of 300 values a third are ``more`` above the others.
    half = 1.959963984540054 * math.sqrt(300 * more**2 * (1 / 3) * (2 / 3) / 299 / 300)
    [bounds] = one.interval().values()
    assert bounds == pytest.approx((low + more / 3 - half, low + more / 3 + half), abs=1e-5)


def test_intervals_of_values_too_large_for_one():
    for batches in (
        [[0, 0], [1, 3]],
        [[1, 3], [0, 0]],
    ):  # item 1, which nobody has, is first in row 0
        one = stream("novelty(unseen=inf)@1", popularity=[0.5, 0.0, 0.5])
        for rows in batches:
            one.update(SCORES[rows], [0, 0])
            one.mean()
        assert one.mean() == {"novelty(unseen=inf)@1": math.inf}
        assert np.isnan(one.interval()["novelty(unseen=inf)@1"]).all()
    squares = stream("dcg(weigh=ips)@1", propensity=[1e-100, 1e-100, 1e-100])
    squares.update(SCORES[:2], [[0, 1e100, 0], [0, 0, 1e100]])
    assert squares.mean() == {"dcg(weigh=ips)@1": pytest.approx(1e200 / 2)}
    assert squares.interval() == {"dcg(weigh=ips)@1": (-math.inf, math.inf)}


@pytest.mark.needs_jit
@pytest.mark.parametrize("weight", [None, 1 / 3])
def test_equal_values_have_no_spread_however_they_are_read(weight):
    """Rounding makes sums of squares of equal values a little negative."""
    weighed = StreamEvaluator(["mrr", "ndcg@10"], keep="means")
    for n_events in (3, 2, 3, 4, 2, 2, 5, 3, 32, 32, 32, 32):
        part = StreamEvaluator(["mrr", "ndcg@10"], keep="means")
        weights = None if weight is None else np.full(n_events, weight)
        part.update(np.tile([3.0, 2.0, 1.0], (n_events, 1)), [2] * n_events, weights=weights)
        weighed.merge(part)
        assert weighed.mean() == {"mrr": pytest.approx(1 / 3), "ndcg@10": pytest.approx(1 / 2)}
        assert weighed.interval()["mrr"] == pytest.approx((1 / 3, 1 / 3), abs=1e-9)
        copied = StreamEvaluator.from_state(weighed.state())
        assert copied.mean() == weighed.mean()


def test_a_state_is_a_copy():
    stream = StreamEvaluator(["mrr", "coverage@1"], n_items=3)
    stream.update([[3, 2, 1], [1, 2, 3]], [0, 0])
    for array in stream.state().values():
        if array.dtype.kind in "fi":
            array[...] = 7
    assert stream.mean() == {"mrr": (1 + 1 / 3) / 2, "coverage@1": 2 / 3}
    assert stream.compute()["mrr"].tolist() == [1, 1 / 3]


def test_memory_stays_flat():
    """The values of these events would take 4 MB."""
    rng = np.random.default_rng(0)
    scores, truth = rng.random((256, 20), dtype=np.float32), rng.integers(0, 20, 256)
    one = stream(["ndcg@5", "coverage@3"], keep="means")
    n_updates = 500

    def update():
        for _ in range(n_updates):
            one.update(scores, truth)
        one.mean()

    with compiled():
        update()
    tracemalloc.start()
    for _ in range(4):
        update()
    last, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert last < 2_000_000
    assert one.counts()["ndcg@5"].defined == 5 * 256 * n_updates


# --- Merging, saving -----------------------------------------------------------------------------


def test_reset_finds_the_catalogue_anew():
    one = filled()
    one.reset()
    assert one.counts()["mrr"] == EventCounts(0, 0)
    one.update(SCORES[:1, :2], [0])
    assert one.compute()["mrr"].tolist() == [1 / 2]


def test_the_hook_of_a_trainer():
    """It is called with every batch, and gives the means with the last."""
    compute_metrics = stream("mrr").hook(at="_")
    for _ in range(2):  # evaluations
        batches = [(SCORES[:2], NEXT[:2], False), (SCORES[3:], NEXT[3:], True)]
        found = [
            compute_metrics(
                SimpleNamespace(predictions=scores, label_ids=truth), compute_result=last
            )
            for scores, truth, last in batches
        ]
        assert found == [{}, {"mrr": pytest.approx((1 + 1 / 2 + 1 / 3) / 3)}]
    prepared = stream("hit@1").hook(lambda prediction: (prediction[0][:, ::-1], prediction[1]))
    assert prepared((SCORES[3:], [2])) == {"hit@1": 1.0}
    unpaired = stream("hit@1").hook(lambda prediction: prediction[0])
    with pytest.raises(InputTypeError, match=r"a tuple of scores and truth, got ndarray$"):
        unpaired((SCORES[3:], [2]))


def test_a_hook_can_be_pickled():
    compute_metrics = pickle.loads(pickle.dumps(stream("hit@1").hook()))
    assert compute_metrics(SimpleNamespace(predictions=[[1, 2]], label_ids=[1])) == {"hit@1": 1.0}


@pytest.mark.parametrize("error", [NaNScoreError, KeyboardInterrupt])
def test_the_hook_forgets_the_batches_of_an_evaluation_that_failed(error):
    """The target has rank 2 in the lost batch and rank 1 in the next evaluation."""

    def prepare(prediction):
        if prediction is None:
            raise KeyboardInterrupt
        return prediction, [0]

    compute_metrics = stream("mrr").hook(prepare)
    compute_metrics(np.array([[2.0, 3.0, 1.0]]), compute_result=False)
    wrong = np.full((1, 3), np.nan) if error is NaNScoreError else None
    with pytest.raises(error):
        compute_metrics(wrong, compute_result=True)
    assert compute_metrics(np.array([[3.0, 2.0, 1.0]]), compute_result=True) == {"mrr": 1.0}


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("name", ["truth", "by", "weights"])
def test_the_next_batch_may_be_written_into_the_arrays_of_a_waiting_one(name, ranked):
    """In the order 0, 1 user 0 has the grades 3 and 1, as in the ideal, and user 1 has 1 and 2."""
    batch = {
        "truth": sp.csr_array([[3.0, 1.0], [1.0, 2.0]]),
        "by": np.array([0, 1]),
        "weights": np.array([1.0, 3.0]),
    }
    one = StreamEvaluator("ndcg@2", keep="means")
    if ranked:
        one.update_ranked([[0, 1], [0, 1]], **batch)
    else:
        one.update([[2, 1], [2, 1]], **batch)
    array = batch[name].data if name == "truth" else batch[name]
    array[:] = array[::-1].copy()
    second = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert one.mean()["ndcg@2"] == pytest.approx((1 * 1 + 3 * second) / 4)
    means = {each.group: each.mean for each in recmetrics.summary(one)}
    assert means[0] == 1
    assert means[1] == pytest.approx(second)


# --- Processes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("one_side", [False, True])
@pytest.mark.parametrize("keep", ["values", "means"])
def test_two_processes_with_an_uneven_last_batch(keep, one_side):
    pytest.importorskip("torch", reason="processes need torch")
    import processes

    work = functools.partial(processes.gather_streams, one_side=one_side)
    found = processes.in_two_processes(work, keep)
    scores, truth, options = processes.problem()
    options.pop("exclude")
    expected = Metrics.compute(scores, truth, processes.ALL, **options)
    order = np.arange(37) if one_side else np.r_[0:10, 20:37, 10:20]
    for values, means, _, counts, own in found:
        assert own["mrr"].defined < counts["mrr"].defined or (one_side and own == counts)
        for text in processes.ALL:
            numbers = expected[text][~np.isnan(expected[text])]
            np.testing.assert_allclose(means[text], numbers.mean(), rtol=1e-13, err_msg=text)
            if values is not None:
                ordered = expected[text][order] if expected[text].ndim else expected[text]
                np.testing.assert_array_equal(values[text], ordered, err_msg=text)


# --- Mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ShapeError, "truth has 2 item indices, expected one for each of the 4 rows",
         (SCORES, [0, 1])),
        (InputError, "truth of row 1 is item 3, which is outside the catalogue",
         (SCORES[:2], [0, 3])),
        (NaNScoreError, "scores hold 1 NaN, the first at (user 0, item 1)",
         ([[1, math.nan, 2]], [0])),
        (InputTypeError, "truth is 1-d of dtype float64", (SCORES, [0.0, 1, 2, 2])),
        (InputError, "scores have 2 items, expected 3", (SCORES[:, :2], [0, 0, 0, 0])),
    ],
)  # fmt: skip
def test_a_batch_that_is_refused_leaves_nothing_behind(error, message, call):
    one = filled()
    before = values_in(one)
    assert message_of(error, one.update, *call).startswith(message)
    assert values_in(one) == before


def test_what_a_stream_is_made_of():
    with pytest.raises(ArgumentError, match=r"^keep must be 'values' or 'means', got 'sums'"):
        stream(keep="sums")
    with pytest.raises(ArgumentError, match=r"^n_items must be a number of items, such as 3700"):
        stream(n_items=3.5)
    with pytest.raises(MetricSpecError, match="unknown metric"):
        stream("hitt@1")
    with pytest.raises(TypeError, match="unexpected keyword argument 'exclude'"):
        stream(exclude=[[1]])
    with pytest.raises(ArgumentError, match="needs popularity="):
        stream("novelty@2")
    with pytest.raises(ArgumentError, match=r"^calibration@2 needs profile= in each update"):
        stream("calibration@2", genres=np.eye(3)).update(SCORES, NEXT)
    with pytest.raises(ArgumentError, match=r"needs the size of the catalogue.*n_items="):
        stream("coverage@1").update_ranked([[0, 1]], [1])
    with pytest.raises(ArgumentError, match=r"keeps no values of events"):
        filled("means").compute()


def test_rankings_before_the_size_is_known():
    one = stream("precision@10")
    one.update_ranked([[0, 2, 1]], [0])
    with pytest.raises(ArgumentError, match=r"give n_items= to StreamEvaluator"):
        one.update(SCORES, NEXT)
    other = stream("precision@10")
    other.update(SCORES, NEXT)
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ArgumentError, match=r"give n_items= to StreamEvaluator"):
            first.merge(second)
    assert one.compute()["precision@10"].tolist() == [1 / 10]
    given = stream("precision@10", n_items=3)
    given.update_ranked([[0, 2, 1]], [0])
    given.update(SCORES[:1], [1])
    assert given.compute()["precision@10"].tolist() == [1 / 10, 1 / 10]


def test_a_batch_without_events_decides_no_size():
    one = stream("precision@10")
    one.update_ranked(np.empty((0, 2), int), [])
    one.update(np.empty((0, 7)), [])
    one.update(SCORES[:1], [1])
    assert one.compute()["precision@10"].tolist() == [1 / 10]


def test_the_size_of_a_catalogue_is_merged():
    sized, other = stream("precision@10", n_items=3), stream("precision@10")
    sized.update_ranked([[0, 2, 1]], [0])
    sized.merge(stream("precision@10"))  # without events, of unknown size
    for each in (sized, other.merge(sized)):
        assert "3 items" in repr(each)
        each.update_ranked([[1]], [1])
        assert each.compute()["precision@10"].tolist() == [1 / 10, 1 / 10]
        with pytest.raises(InputError, match="scores have 4 items, expected 3"):
            each.update([[1, 2, 3, 4]], [0])


def test_a_matrix_of_truth_gives_the_size_to_rankings():
    one = stream("coverage@2")
    one.update_ranked([[0, 1], [1, 0]], [[0, 1, 0], [0, 0, 1]])
    assert one.mean() == {"coverage@2": 2 / 3}


def test_threads_with_catalogues_of_two_sizes():
    def update(one, meeting, n_items):
        meeting.wait()
        one.update(np.tile(np.arange(n_items) * 1.0, (50, 1)), np.zeros(50, int))

    for _ in range(40):
        one, meeting = stream("coverage@2"), threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(update, one, meeting, n_items) for n_items in (30, 40)]
        assert [type(end.exception()) for end in ends].count(InputError) == 1
        assert one.counts()["coverage@2"].defined == 50
        one.mean()


def test_relevances_that_a_metric_cannot_read_are_refused_with_their_batch(monkeypatch):
    monkeypatch.setattr(np, "empty_like", np.zeros_like)  # no relevance is read where none is set
    one = stream("err(max_rel=2)@3")
    one.update(SCORES[:1], [[0, 2, 1]])
    for _ in range(2):
        with pytest.raises(InputError, match=r"needs relevances of at most 2, got 3"):
            one.update(SCORES[:1], [[0, 3, 1]])
    assert one.counts()["err(max_rel=2)@3"].defined == 1


def test_streams_that_differ_are_not_merged():
    other_items = stream()
    other_items.update(SCORES[:, :2], [0, 1, 1, 0])
    for other in (filled("means"), other_items):
        with pytest.raises(ArgumentError, match="cannot be merged"):
            filled().merge(other)
    stream().merge(filled())  # whose catalogue is not known yet


def test_what_it_shows():
    one = filled()
    waiting = "StreamEvaluator(['hit@1', 'mrr'], 3 items, 0 events, 4 more not computed yet)"
    assert [repr(one), repr(one)] == [waiting, waiting]
    one.counts()  # computes the metrics of the batches
    assert repr(one) == "StreamEvaluator(['hit@1', 'mrr'], 3 items, 4 events)"
    assert repr(stream()).endswith("an unknown number of items, 0 events)")


def test_a_hook_is_checked_before_the_first_epoch():
    stream = StreamEvaluator("hit@1", keep="means")
    with pytest.raises(ArgumentError, match=r"^prepare must be a function .*, got 5$"):
        stream.hook(5)
    with pytest.raises(ArgumentError, match=r"^at must be a string, got 5$"):
        stream.hook(at=5)
