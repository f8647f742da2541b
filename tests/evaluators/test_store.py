"""What both evaluators promise: counting, merging, saving, and whole batches."""

import copy
import functools
import json
import math
import pickle

import numpy as np
import pytest
from asserts import assert_identical, message_of
from inside import MetricSpec
from interruption import values_in

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    EventCounts,
    InputError,
    InputTypeError,
    Metrics,
    RecmetricsError,
    RecmetricsWarning,
    StreamEvaluator,
    UndefinedMetricError,
    UserCounts,
)

pytestmark = pytest.mark.filterwarnings("ignore::recmetrics.NotUpdatedWarning")
RNG = np.random.default_rng(2)
SCORES = RNG.integers(0, 5, (60, 9)).astype(float)
TRUTH = (RNG.random(SCORES.shape) < 0.1) * RNG.integers(1, 3, SCORES.shape)
METRICS = ["ndcg@3", "mrr", "coverage@2", "personalization@2"]
every_kind = pytest.mark.parametrize("kind", ["users", "values", "means"])
both = pytest.mark.parametrize("kind", ["users", "values"])


def made(kind, metrics=METRICS, truth=TRUTH, **options):
    if kind == "users":
        return Evaluator(truth, metrics, **options)
    return StreamEvaluator(metrics, keep=kind, **options)


def add(one, rows, scores=SCORES):
    rows = np.arange(60)[rows]
    one.update(scores[rows], rows if isinstance(one, Evaluator) else TRUTH[rows])
    return one


def filled(kind, *args, **options):
    return add(made(kind, *args, **options), slice(None))


def through_file(one, folder):
    np.savez(folder / "state.npz", **one.state())
    with np.load(folder / "state.npz") as file:
        return type(one).from_state(dict(file))


# --- Means and counts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "at", "key"),
    [
        ("hit@1", "@", "val/hit@1"),
        ("hit@1", "_at_", "val/hit_at_1"),
        ("hit @ 1", "_at_", "val/hit_at_1"),
        ("ndcg(gain=exp2)@1", "@", "val/ndcg(gain=exp2)@1"),
        ("ndcg(gain=exp2, ideal=retrieved)@1", "_at_", "val/ndcg_gain_exp2_ideal_retrieved_at_1"),
        ("rbp(p=0.5)", "-", "val/rbp_p_0.5"),
        ("mrr", "_at_", "val/mrr"),
    ],
)
@every_kind
def test_keys_go_into_a_logger(kind, metric, at, key):
    got = filled(kind, metric).mean(prefix="val/", at=at)
    assert list(got) == [key]
    assert type(got[key]) is float


@every_kind
def test_two_metrics_with_one_key_are_refused(kind):
    one = filled(kind, ["hit@1", "hit @ 1"])
    assert list(one.mean()) == ["hit@1", "hit @ 1"]
    message = message_of(ArgumentError, one.mean, at="_at_")
    assert message.startswith("with at='_at_' both 'hit@1' and 'hit @ 1' become 'hit_at_1';")


def test_two_models_with_one_key_are_refused():
    stream = StreamEvaluator("hit@1", keep="means")
    stream.update({"BPR+": [[2.0, 1.0]], "BPR*": [[1.0, 2.0]]}, [0])
    assert stream.mean() == {"BPR+/hit@1": 1.0, "BPR*/hit@1": 0.0}
    for numbers in (stream.mean, stream.interval):
        message = message_of(ArgumentError, numbers, at="_at_")
        assert "both 'BPR+/hit@1' and 'BPR*/hit@1' become 'BPR_/hit_at_1'" in message


@pytest.mark.parametrize("argument", ["prefix", "at"])
@pytest.mark.parametrize("value", [None, 3])
def test_the_texts_of_keys_are_strings(argument, value):
    evaluator = Evaluator(np.array([[1, 0]]), "hit@1")
    evaluator.update([[1, 0]])
    stream = StreamEvaluator("hit@1")
    stream.update([[1, 0]], [0])
    for method in (evaluator.mean, stream.mean, stream.interval):
        got = message_of(ArgumentError, lambda method=method: method(**{argument: value}))
        assert got == f"{argument} must be a string, got {value!r}"


@pytest.mark.parametrize("undefined", ["nan", "zero", "one"])
@every_kind
def test_counts_say_what_each_mean_is_over(kind, undefined):
    one = made(kind, ["hit@1", "cg@1", "coverage@1"], undefined=undefined)
    has_any = np.flatnonzero(TRUTH.any(axis=1))[:7]
    has_none = np.flatnonzero(~TRUTH.any(axis=1))[:3]
    add(add(one, has_any), has_none)
    counts = functools.partial(UserCounts, not_updated=50) if kind == "users" else EventCounts
    counted = counts(10, 0)  # a number that replaces an undefined value is in the mean
    assert one.counts() == {
        "hit@1": counts(7, 3) if undefined == "nan" else counted,
        "cg@1": counted,
        "coverage@1": counted,
    }
    saved = type(one).from_state(one.state())
    assert (saved.counts(), saved.mean()) == (one.counts(), one.mean())


@every_kind
def test_undefined_events_and_users_under_raise(kind):
    rows = "users" if kind == "users" else "events"
    n = np.count_nonzero(~TRUTH.any(axis=1))
    one = filled(kind, "hit@1", undefined="raise")
    for ask in (one.mean, *([] if kind == "means" else [one.compute])):
        message = message_of(UndefinedMetricError, ask)
        assert message.startswith(f"hit@1 is undefined: {n} of 60 {rows} have no relevant item")


@every_kind
def test_before_the_first_update_everything_is_nan(kind):
    one = made(kind)
    for each in (one, type(one).from_state(one.state())):
        assert all(map(math.isnan, each.mean().values()))
        if kind != "means":
            assert all(np.isnan(values).all() for values in each.compute().values())
        assert {count[:2] for count in each.counts().values()} == {(0, 0)}


# --- Merging, saving -----------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("way", ["merge", "pickle", "file", "copy"])
def test_parts_are_the_whole(kind, way, tmp_path):
    whole, parts = filled(kind), []
    for rows in np.split(np.arange(60), [0, 7, 40]):
        part = add(made(kind), rows)
        if way == "pickle":
            part = pickle.loads(pickle.dumps(part))
        elif way == "file":
            counted, part = part.counts(), through_file(part, tmp_path)
            assert part.counts() == counted
        elif way == "copy":
            part = copy.deepcopy(part)
        parts.append(part)
    merged = functools.reduce(type(whole).merge, parts, made(kind))
    assert merged.counts() == whole.counts()
    assert merged.mean() == pytest.approx(whole.mean(), rel=1e-14)
    if kind != "means":
        assert_identical(merged.compute(), whole.compute())


@every_kind
def test_a_copy_and_its_original_take_updates_of_their_own(kind):
    original = add(made(kind), np.arange(7))
    copied = copy.copy(original)
    counts = original.counts()
    add(copied, np.arange(7, 60))
    assert original.counts() == counts
    assert copied.counts() == filled(kind).counts()


def with_buffers_read_only(one):
    """Copy as joblib does, whose workers map arrays of files that they cannot write."""
    buffers = []
    text = pickle.dumps(one, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[bytes(buffer.raw()) for buffer in buffers])


@both
@pytest.mark.parametrize(
    "copied", [lambda one: one, copy.deepcopy, with_buffers_read_only], ids=["no", "yes", "buffers"]
)
def test_one_that_was_merged_or_copied_goes_on(kind, copied):
    one = copied(made(kind).merge(add(made(kind), slice(0, 20))))
    add(one, slice(20, 60))
    assert_identical(one.compute(), filled(kind).compute())


@every_kind
@pytest.mark.parametrize("saved", [False, True])
def test_metrics_in_another_order_are_merged_by_name(kind, saved):
    other = filled(kind, METRICS[::-1])
    expected = filled(kind)
    if saved:
        other = type(other).from_state(other.state())
    one = made(kind).merge(other)
    assert list(one.mean()) == METRICS
    assert one.mean() == expected.mean()
    if kind == "means":
        assert one.interval()["mrr"] == expected.interval()["mrr"]


@both
@pytest.mark.parametrize(
    ("own", "other", "what", "shown"),
    [
        ({}, {"metrics": "hit@2"}, "metrics", "['hit@1'] and ['hit@2']"),
        ({}, {"undefined": "zero"}, "undefined=", "nan and zero"),
        ({}, {"ties": "expected"}, "ties=", "index and expected"),
        ({}, {"ties": "range"}, "ties=", "index and range"),
        ({}, {"nan": "exclude"}, "nan=", "raise and exclude"),
        (
            {"metrics": "novelty@1", "popularity": np.full(9, 0.5)},
            {"metrics": "novelty@1", "popularity": np.full(9, 0.25)},
            "popularity", "",
        ),
        (
            {"metrics": "diversity@1", "features": np.eye(9)},
            {"metrics": "diversity@1", "features": np.ones((9, 2))},
            "features", "",
        ),
        (
            {"metrics": "hit(of=tail)@1", "strata": {"tail": [1]}},
            {"metrics": "hit(of=tail)@1", "strata": {"tail": [2]}},
            "strata['tail']", "",
        ),
    ],
)  # fmt: skip
def test_evaluators_of_different_questions_are_not_merged(kind, own, other, what, shown):
    own, other = ({"metrics": "hit@1"} | options for options in (own, other))
    shown = f": {shown}" if shown else ""
    message = f"evaluators with different {what} cannot be merged{shown}; expected the same in both"
    one = filled(kind, **own)
    before = values_in(one)
    for each in (one, type(one).from_state(one.state())):
        wrong = made(kind, **other)
        assert message_of(ArgumentError, functools.partial(each.merge, wrong)) == message
        assert values_in(each) == before
    same = made(kind, **own).merge(one)  # the same data
    assert same.counts() == one.counts()


@both
def test_only_evaluators_of_the_same_class_are_merged(kind):
    one = made(kind)
    other = made({"users": "values", "values": "users"}[kind])
    for wrong in ({}, other):
        message = f"merge takes another {type(one).__name__}, got {type(wrong).__name__}"
        assert message_of(InputTypeError, lambda wrong=wrong: one.merge(wrong)) == message
    with pytest.raises(InputError, match=rf"expected what {type(one).__name__}\.state\(\) gave"):
        type(one).from_state(other.state())


@every_kind
def test_reset_removes_all_rows_and_batches_that_wait(kind):
    one = add(filled(kind), slice(0, 5))
    one.reset()
    assert {count[:2] for count in one.counts().values()} == {(0, 0)}
    assert add(one, slice(None)).mean() == filled(kind).mean()


@both
def test_an_evaluator_of_a_state_takes_no_updates(kind):
    one = filled(kind)
    saved = type(one).from_state(one.state())
    with pytest.raises(ArgumentError, match=r"was made from a state and .*\.merge\(this\)$"):
        add(saved, slice(0, 3), SCORES[:, 1:])  # and no other advice on a batch that does not fit
    assert saved.mean() == one.mean()


def weight(rank):
    return 1 / rank


@both
def test_a_callable_is_in_no_state(kind):
    one = filled(kind, [MetricSpec("dcg", 2, (("discount", weight),))])
    assert message_of(ArgumentError, one.state) == (
        "dcg(discount=weight)@2 has a callable as an option, which arrays cannot hold; pickle "
        "the evaluator instead, with a function that a module defines, not a lambda"
    )
    assert pickle.loads(pickle.dumps(one)).mean() == one.mean()


@pytest.mark.parametrize(
    ("kind", "reader"), [("users", StreamEvaluator), ("values", Evaluator), ("means", Evaluator)]
)
def test_the_state_of_the_other_class_is_named(kind, reader, tmp_path):
    state = filled(kind).state()
    writer = type(made(kind)).__name__
    message = message_of(InputError, reader.from_state, state)
    expected = (
        f"state is what {writer}.state() gave; expected what {reader.__name__}.state() gave; type "
        f"{writer}.from_state(state)"
    )
    assert message == expected
    np.savez(tmp_path / "state.npz", **state)
    with np.load(tmp_path / "state.npz") as file:
        assert message_of(InputError, reader.from_state, file) == expected


DAMAGED = [
    ("users", "users", [0, 1, 3], ""),
    ("users", "users", [0.0, 1.0, 2.0], ""),
    ("users", "lists", [[0], [3], [2]], ""),
    ("users", "lists", [[0.5]] * 3, ""),
    ("users", "offered", [True], ""),
    ("users", "invalid", [[0, 0, -1], [0, 0, 0]], ""),
    ("values", "n_rows", -4, ""),
    ("values", "tables", np.full((1, 1, 3, 4, 4, 2), -1.0), ""),
    ("values", "totals", np.full((1, 1, 2, 2), math.nan), ""),
    ("values", "at_ends", [[[0, 4]]], ""),
    ("values", "counts", [[[3, 3, 0]]], ""),
    ("values", "samples", ["[null"], "Expecting ',' delimiter: line 1 column 6 (char 5)"),
    ("values", "swallowed", [1], ""),
    ("values", "invalid", [0, 0, 0, -1], ""),
    ("values", "exposure_1_count", np.zeros(3), ""),
    ("values", "keep", "all", "keep is 'all'"),
    (None, "values", [[1.0]], ""),
    (None, "shape", [3], ""),
    (None, "data", ["truth"], ""),
    (None, "specs", ["hit@1"], "zip() argument 2 is shorter than argument 1"),
    (None, "specs", ["hitt@1", "coverage@1"], "in metric 'hitt@1': unknown metric 'hitt'; did you "
     "mean 'hit@1'?"),
    (None, "undefined", ["none"] * 2, "undefined must be 'nan', 'zero', 'one' or 'raise', got "
     "'none'"),
    (None, "metrics", [b"hit@1", b"coverage@1"], "names are not text"),
    (None, "ties", [1, 2], "names are not text"),
    (None, "ties", ["first", "index"], "ties must be "),
    (None, "nan", "zero", "nan must be "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name", "value", "problem"),
    [case for case in DAMAGED if case[0]]
    + [(kind, *case[1:]) for case in DAMAGED if not case[0] for kind in ("users", "values")],
)
def test_a_damaged_state_is_refused(kind, name, value, problem):
    one = made(kind, ["hit@1", "coverage@1"], np.eye(3))
    one.update(np.eye(3), slice(0, 3) if kind == "users" else [0, 1, 2])
    state = one.state()
    assert type(one).from_state(state).mean() == one.mean()
    message = message_of(
        InputError, lambda: type(one).from_state(state | {name: np.asarray(value)})
    )
    assert message.startswith(f"state is damaged ({problem or f'{name} does not fit'}")
    assert message.endswith(f"); expected what {type(one).__name__}.state() gave")
    del state[name]
    expected = f"state lacks {name}; expected what {type(one).__name__}.state() gave"
    assert message_of(InputError, lambda: type(one).from_state(state)) == expected


@pytest.mark.filterwarnings("ignore:state does not say which version")
def test_a_state_of_an_earlier_version_says_why_it_lacks_an_array():
    state = made("values").state()
    del state["form"], state["n_weightless"]
    assert message_of(InputError, lambda: StreamEvaluator.from_state(state)) == (
        "state lacks n_weightless, since an earlier version of recmetrics wrote it; expected what "
        "StreamEvaluator.state() gave"
    )


@pytest.mark.parametrize("metric", ["ndcg@2", "coverage@2"])
@pytest.mark.parametrize("is_updated", [False, True])
@both
def test_a_state_may_be_text_of_json(kind, is_updated, metric):
    one = made(kind, [metric], np.eye(3))
    if is_updated:
        one.update(np.eye(3), slice(0, 3) if kind == "users" else [0, 1, 2])
    text = json.dumps({name: array.tolist() for name, array in one.state().items()})
    again = type(one).from_state(json.loads(text))
    assert again.counts() == one.counts()
    np.testing.assert_equal(again.mean(), one.mean())
    again.merge(one)
    np.testing.assert_equal(again.mean(), one.mean())


@both
def test_a_dict_of_anything_else_is_no_state(kind):
    one = made(kind)
    expected = f"state names no metrics; expected what {type(one).__name__}.state() gave"
    assert message_of(InputError, lambda: type(one).from_state({"epoch": 3})) == expected


@both
def test_a_state_is_a_mapping(kind):
    with pytest.raises(InputTypeError, match=r"^state is a list; expected what"):
        type(made(kind)).from_state([made(kind).state()])


# --- What compute refuses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"undefined": "none"},
        {"nan": "zero"},
        {"n_threads": 0},
        {"metrics": []},
        {"metrics": "hitt@1"},
        {"metrics": "novelty@1"},
        {"metrics": "novelty@1", "popularity": [0.5, 0.5]},
        {"metrics": "err(max_rel=1)@1"},
        {"metrics": "dcg(gain=exp2)", "truth": TRUTH * 500},
        {"exclude": np.zeros((2, 3))},
        {"candidates": [0, 9]},
        {"truth": 5},
        {"truth": [[9]] * 60},
    ],
)
def test_what_compute_refuses_an_evaluator_refuses_at_once(wrong):
    given = {"metrics": "hit@1", "truth": TRUTH} | wrong
    options = {k: v for k, v in given.items() if k not in ("metrics", "truth")}
    with pytest.raises(RecmetricsError) as expected:
        Metrics.compute(SCORES, given["truth"], given["metrics"], **options)
    if isinstance(given["truth"], list):
        options["n_items"] = 9
    assert message_of(
        type(expected.value), Evaluator, given["truth"], given["metrics"], **options
    ) == str(expected.value)


# --- Who wrote a state ---------------------------------------------------------------------------


@every_kind
def test_a_state_says_its_form_and_version(kind):
    state = filled(kind).state()
    assert (state["form"].tolist(), state["version"].item()) == (2, recmetrics.__version__)


@every_kind
def test_a_state_that_does_not_say_who_wrote_it_is_read_with_a_warning(kind):
    one = filled(kind)
    state = one.state()
    del state["form"], state["version"]
    with pytest.warns(RecmetricsWarning, match="as in form 0"):
        read = type(one).from_state(state)
    assert read.mean() == one.mean()
    with pytest.warns(RecmetricsWarning, match=f"{recmetrics.__version__} and of an unknown"):
        made(kind).merge(read)


@every_kind
def test_another_form_is_refused(kind):
    state = filled(kind).state() | {"form": np.array(7), "version": np.array("9.0")}
    message = message_of(InputError, lambda: type(made(kind)).from_state(state))
    assert message.startswith("state has the form 7, written by recmetrics 9.0; expected form 2")


@every_kind
def test_another_version_warns_where_it_is_merged(kind):
    one = filled(kind)
    other = type(one).from_state(one.state() | {"version": np.array("9.0")})
    assert other.mean() == one.mean()
    copied = type(one).from_state(other.state())  # it still says who computed the values
    copied.merge(other)
    with pytest.warns(RecmetricsWarning, match=f"{recmetrics.__version__} and 9.0 are merged"):
        made(kind).merge(copied)
