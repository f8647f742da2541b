"""RankingMetrics is the Evaluator where a trainer expects a torchmetrics metric."""

import inspect
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from inside import compiled
from interruption import interrupt, values_in

from recmetrics import ArgumentError, Evaluator, InputTypeError, Metrics, NaNScoreError, UserCounts

torch = pytest.importorskip("torch", reason="torch is not installed")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")

import processes  # noqa: E402  these import torch and torchmetrics
from processes import ALL, N_USERS, problem, ranking_metrics  # noqa: E402

from recmetrics.torchmetrics import RankingMetrics  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch itself


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads of torch that wait for each other, on small arrays, take more time than the work."""
    n_threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # of the processes that Lightning spawns
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def expected():
    scores, truth, options = problem()
    return Metrics.compute(scores, truth, ALL, **options)


def means(values):
    """As float32, which torchmetrics gives."""
    return {
        key: float(np.float32(np.mean(value[~np.isnan(value)]))) for key, value in values.items()
    }


def floats(computed):
    for value in computed.values():
        assert isinstance(value, torch.Tensor)
        assert (value.shape, value.dtype) == ((), torch.float32)
    return {key: value.item() for key, value in computed.items()}


def updated(metric, users=slice(None), step=5):
    scores = torch.from_numpy(problem()[0])
    for batch in torch.arange(N_USERS)[users].split(step):
        metric.update(scores[batch], batch)
    return metric


def test_it_gives_the_bits_of_one_call(expected):
    metric = updated(ranking_metrics())
    assert_identical(metric.evaluator().compute(), expected)
    assert floats(metric.compute()) == means(expected)
    assert list(metric.compute()) == ALL


def test_a_user_who_comes_twice_counts_once(expected):
    scores = torch.from_numpy(problem()[0])
    metric = ranking_metrics()
    metric.update(-scores[5:20], slice(5, 20))
    metric.update(torch.cat([-scores[:3], scores[:3]]), [0, 1, 2, 0, 1, 2])
    updated(metric, slice(3, None))
    assert_identical(metric.evaluator().compute(), expected)


def test_it_takes_what_an_evaluator_takes():
    own = inspect.signature(RankingMetrics).parameters
    for name, parameter in inspect.signature(Evaluator).parameters.items():
        if name not in ("users", "n_users"):  # of a part: processes of a trainer have all users
            assert own[name] == parameter


def tensors(metric):
    states = metric.metric_state.values()
    return [t for state in states for t in (state if isinstance(state, list) else [state])]


def test_the_states_are_small_and_whole():
    metric = ranking_metrics(["mrr", "coverage@2"])
    metric.update(torch.from_numpy(problem()[0][:3]), [4, 5, 6])
    # Users, values, items of lists, their lengths; what may be in a list; the key.
    assert [tensor.numel() for tensor in tensors(metric)] == [3, 3, 3 * 2, 3, processes.N_ITEMS, 1]
    assert not any(tensor.is_floating_point() for tensor in tensors(metric))


def test_keys_for_loggers():
    metric = updated(ranking_metrics(["recall(denom=relevant)@3", "mrr"], prefix="val/", at="_at_"))
    assert list(metric.compute()) == ["val/recall_denom_relevant_at_3", "val/mrr"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"prefix": None}, "prefix must be a string, got None"),
        ({"at": None}, "at must be a string, got None"),
        ({"at": "_at_"}, "with at='_at_' both 'hit@1' and 'hit @ 1' become 'hit_at_1'"),
    ],
)
def test_wrong_keys_are_refused_before_the_first_epoch(options, expected):
    got = message_of(ArgumentError, lambda: RankingMetrics(TRUTH, ["hit@1", "hit @ 1"], **options))
    assert got.startswith(expected)


def test_forward_gives_the_batch_and_keeps_all():
    scores, truth, options = problem()
    metrics = ["recall@3", "coverage@2"]
    metric = ranking_metrics(metrics)
    for users in (slice(0, 9), slice(9, None)):
        options = {"exclude": options["exclude"]}
        batch = Metrics.compute(
            scores[users], truth[users], metrics, exclude=options["exclude"][users]
        )
        assert floats(metric(torch.from_numpy(scores[users]), users=users)) == means(batch)
    whole = Metrics.compute(scores, truth, metrics, **options)
    assert floats(metric.compute()) == means(whole)


def test_forward_takes_the_memory_of_its_batch():
    """An array of all users would take 8 MB."""
    one_item = sp.csr_array(np.ones((1_000_000, 1)))
    metric = RankingMetrics(one_item, ["hit@1", "mrr"])
    scores = torch.ones((2, 1))
    with compiled():
        metric(scores, users=[3, 5])
    tracemalloc.start()
    means = metric(scores, users=[999_999, 7])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert floats(means) == {"hit@1": 1.0, "mrr": 1.0}


def test_forward_does_not_copy_the_batches_before():
    scores, _, _ = problem()
    metric = ranking_metrics(["recall@3", "coverage@2"])
    metric(torch.from_numpy(scores[:5]), users=slice(0, 5))
    before = {name: state[0] for name, state in metric.metric_state.items() if type(state) is list}
    metric(torch.from_numpy(scores[5:9]), users=slice(5, 9))
    assert len(before) == 4
    for name, tensor in before.items():
        assert metric.metric_state[name][0] is tensor


def test_reset_forgets_all(expected):
    metric = updated(ranking_metrics())
    metric.reset()
    assert not metric.update_called
    assert metric.evaluator().counts()["hit@3"] == UserCounts(0, 0, N_USERS)
    assert floats(updated(metric).compute()) == means(expected)


def test_before_the_first_update_torchmetrics_warns():
    metric = ranking_metrics(["mrr", "coverage@2"])
    with pytest.warns(UserWarning, match="was called before the ``update`` method"):
        assert all(np.isnan(value) for value in floats(metric.compute()).values())


@pytest.mark.parametrize(
    "copy",
    [
        lambda metric: metric.clone(),
        lambda metric: pickle.loads(pickle.dumps(metric)),
        lambda metric: metric.to("cpu"),
        lambda metric: metric.half(),
        lambda metric: metric.set_dtype(torch.float16),
        lambda metric: torch.nn.ModuleList([metric]).half()[0],
    ],
    ids=["clone", "pickle", "to", "half", "set_dtype", "module"],
)
def test_a_copy_goes_on_with_the_same_bits(copy, expected):
    metric = copy(updated(ranking_metrics(), slice(0, 20)))
    updated(metric, slice(20, None))
    assert_identical(metric.evaluator().compute(), expected)


def test_a_clone_is_on_its_own():
    metric = updated(ranking_metrics(["mrr"]), slice(0, 20))
    updated(metric.clone(), slice(20, None))
    assert metric.evaluator().counts() == {"mrr": UserCounts(20, 0, N_USERS - 20)}


def test_states_are_in_a_checkpoint_only_where_asked(expected):
    metric = updated(ranking_metrics(), slice(0, 20))
    assert metric.state_dict() == {}
    metric.persistent(True)
    fresh = ranking_metrics()
    fresh.persistent(True)
    fresh.load_state_dict(metric.state_dict())
    assert_identical(updated(fresh, slice(20, None)).evaluator().compute(), expected)


TRUTH = [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
ITEM_0_FIRST = torch.tensor([[3.0, 2.0, 1.0]] * 3)  # a hit of user 0 alone


def hand_worked(*users):
    metric = RankingMetrics(TRUTH, "hit@1")
    metric.persistent(True)
    if users:
        metric.update(ITEM_0_FIRST[: len(users)], users)
    return metric


def saved_in_sync(metric):
    """The states of two processes that hold the same users, as torchmetrics gathers them."""
    gather = {"dist_sync_fn": lambda state, group: [state, state]}  # noqa: ARG005
    with metric.sync_context(**gather, distributed_available=lambda: True):
        return {name: state.clone() for name, state in metric.state_dict().items()}


@pytest.mark.parametrize(
    ("go_on", "hits"),
    [
        (lambda loaded: loaded.update(ITEM_0_FIRST[:1], [2]), 1 / 3),
        (lambda loaded: loaded.merge_state(hand_worked(2)), 1 / 3),
        (lambda loaded: [loaded.reset(), loaded.update(ITEM_0_FIRST[:1], [2])], 0),
        (lambda loaded: loaded(ITEM_0_FIRST[:1], users=[2]), 1 / 3),
    ],
    ids=["update", "merge_state", "reset", "forward"],
)
@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_a_state_that_was_saved_while_synchronised_goes_on(go_on, hits):
    loaded = hand_worked()
    loaded.load_state_dict(saved_in_sync(hand_worked(0, 1)))
    go_on(loaded)
    assert floats(loaded.compute()) == {"hit@1": pytest.approx(hits)}


def test_a_synchronised_metric_can_be_reset():
    metric = hand_worked(0, 1)
    gather = {"dist_sync_fn": lambda state, group: [state, state]}  # noqa: ARG005
    metric.sync(**gather, distributed_available=lambda: True)
    metric.reset()
    metric.update(ITEM_0_FIRST[:1], [2])
    assert floats(metric.compute()) == {"hit@1": 0.0}


@pytest.mark.parametrize(
    "take",
    [
        lambda metric, other: metric.merge_state(other),
        lambda metric, other: metric.load_state_dict(other.state_dict()),
    ],
    ids=["merge_state", "load_state_dict"],
)
def test_states_that_came_after_compute_count(take):
    metric = hand_worked(0)
    assert floats(metric.compute()) == {"hit@1": 1.0}
    take(metric, hand_worked(0, 1))
    assert floats(metric.compute()) == {"hit@1": 0.5}


def test_states_follow_the_device():
    metric = updated(ranking_metrics(["mrr", "coverage@2"])).to("meta")
    assert {tensor.device.type for tensor in tensors(metric)} == {"meta"}


def test_a_collection_keeps_metrics_of_different_truths_apart():
    scores, truth, _ = problem()
    # Both truths give these users 0, so the states are equal after the first batch.
    first, second = truth.copy(), truth.copy()
    first[:5], second[:5] = 0, 0
    second[5:] = 0
    second[5:, 1] = 1
    collection = torchmetrics.MetricCollection(
        {
            "first": RankingMetrics(first, "cg@2", prefix="first/"),
            "second": RankingMetrics(second, "cg@2", prefix="second/"),
        }
    )
    for users in torch.arange(N_USERS).split(5):
        collection.update(torch.from_numpy(scores)[users], users)
    got = floats(collection.compute())
    assert got == {
        "first/cg@2": means(Metrics.compute(scores, first, "cg@2"))["cg@2"],
        "second/cg@2": means(Metrics.compute(scores, second, "cg@2"))["cg@2"],
    }
    assert got["first/cg@2"] != got["second/cg@2"]


MANY = ["mrr", "recall@3"]


@pytest.mark.parametrize(
    "other",
    [
        lambda truth: RankingMetrics(truth, MANY[::-1]),
        lambda truth: RankingMetrics(truth[:, ::-1], MANY),
        lambda truth: RankingMetrics(truth, MANY, undefined="zero"),
        lambda truth: RankingMetrics(truth, MANY, exclude=truth[:, ::-1]),
    ],
    ids=["metrics", "truth", "undefined", "exclude"],
)
def test_states_of_other_metrics_are_refused(other):
    scores, truth, _ = problem()
    one, same, different = RankingMetrics(truth, MANY), RankingMetrics(truth, MANY), other(truth)
    for metric in (one, same, different):
        metric.persistent(True)
        metric.update(torch.from_numpy(scores[:20]), range(20))
    same.load_state_dict(one.state_dict())
    assert floats(same.compute()) == floats(one.compute())
    expected = (
        "states of RankingMetrics with different truth, metrics or options cannot be merged or "
        "loaded; expected the same in all"
    )
    different.load_state_dict(one.state_dict())
    assert message_of(ArgumentError, different.compute) == expected
    fresh = other(truth)
    fresh.update(torch.from_numpy(scores[:20]), range(20))
    before = floats(one.compute())
    fresh.update(torch.from_numpy(scores[20:21]), [20])
    assert message_of(ArgumentError, lambda: one.merge_state(fresh)) == expected
    one.update(torch.from_numpy(scores[:1]), [0])  # again
    assert floats(one.compute()) == before


def test_a_refused_batch_leaves_nothing_behind():
    metric = updated(ranking_metrics(["mrr"]), slice(0, 20))
    wrong = torch.full((2, processes.N_ITEMS), float("nan"))
    message = message_of(NaNScoreError, lambda: metric.update(wrong, [30, 31]))
    assert "the first at (user 30, item 0)" in message
    assert metric.evaluator().counts() == {"mrr": UserCounts(20, 0, N_USERS - 20)}


def test_forward_of_a_refused_batch_keeps_the_others():
    metric = updated(ranking_metrics(), slice(0, 10))
    scores, before = torch.from_numpy(problem()[0]), values_in(metric.evaluator())
    wrong = torch.full_like(scores[:1], float("nan"))
    with pytest.raises(NaNScoreError):
        metric(wrong, users=[11])
    assert values_in(metric.evaluator()) == before
    interrupt(lambda: metric(scores[11:13], users=[11, 12]), 60)
    assert values_in(metric.evaluator()) == before
    metric(scores[11:13], users=[11, 12])
    assert metric.evaluator().counts()[ALL[0]].not_updated == N_USERS - 12


def test_users_must_be_said():
    metric = ranking_metrics(["mrr"])
    expected = "users must be a slice or a 1-d array of integer user indices, got None"
    scores = torch.from_numpy(problem()[0])
    assert message_of(InputTypeError, lambda: metric.update(scores, None)) == expected


# --- Two processes -------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [None, 0, 1])  # the process without a batch
@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_torchmetrics_synchronises_two_processes_and_a_padded_sampler(empty, expected):
    for values, synced in processes.in_two_processes(processes.sync_padded, empty):
        assert_identical(values, expected)
        assert synced == {f"val/{key}": value for key, value in means(expected).items()}


def test_forward_synchronises_where_asked():
    scores, truth, options = problem()

    def of(users):
        exclude = options["exclude"][users]
        metrics = ["recall@3", "coverage@2"]
        return means(Metrics.compute(scores[users], truth[users], metrics, exclude=exclude))

    first, second = processes.in_two_processes(processes.forward_on_step)
    assert first == [of(slice(0, 10)), of(slice(0, 20))]
    assert second == [of(slice(10, 20)), of(slice(0, 20))]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (
            "undefined",
            ("UndefinedMetricError", "mrr is undefined: 1 of 37 users has no relevant item"),
        ),
        ("metrics", ("ArgumentError", "states of RankingMetrics with different truth")),
    ],
)
def test_a_refused_synchronisation_leaves_the_users_of_each_process(reason, expected):
    results = processes.in_two_processes(processes.sync_refused, reason)
    for users, (error, after, updated, reset) in zip(
        (range(10), range(10, 21)), results, strict=True
    ):
        assert error[0] == expected[0]
        assert error[1].startswith(expected[1])
        assert after == [*users]
        assert updated == [*users, 30]
        assert reset == []


# --- Lightning -----------------------------------------------------------------------------------


def logged(model):
    import fits

    scores, truth, options = problem()
    scores = model(torch.arange(N_USERS)).detach().numpy()
    values = Metrics.compute(scores, truth, fits.METRICS, exclude=options["exclude"])
    return {f"val/{key.replace('@', '_at_')}": value for key, value in means(values).items()}


@pytest.mark.parametrize("options", [{"devices": 1}, {"devices": 2, "strategy": "ddp_spawn"}])
@pytest.mark.filterwarnings("ignore")  # Lightning's advice
def test_lightning_logs_what_the_model_reaches(options, tmp_path):
    pytest.importorskip("lightning", reason="lightning is not installed")
    import fits

    model, got = fits.fit(tmp_path, **options)
    assert got == pytest.approx(logged(model), abs=1e-6)
    if options["devices"] == 1:
        # Two batches of five before training, then every user after each epoch: reset in between.
        assert model.not_updated == [N_USERS - 10, 0, 0]


# --- Without torchmetrics ------------------------------------------------------------------------


def test_the_extra_is_named_where_torchmetrics_is_missing(tmp_path):
    (tmp_path / "torchmetrics.py").write_text("raise ImportError('no such package')")
    code = "import sys, recmetrics; assert 'torchmetrics' not in sys.modules\n"
    code += "import recmetrics.torchmetrics"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: recmetrics.torchmetrics needs torchmetrics, which cannot be imported "
        '(no such package); type: pip install "torchmetrics>=1.4"'
    )
