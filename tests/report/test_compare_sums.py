"""Decisions from the sums of a stream: the numbers of the values, in any order of merging."""

import math
import os
from dataclasses import astuple

import numpy as np
import pytest
from asserts import message_of

import recmetrics
from recmetrics import (
    ArgumentError,
    InputError,
    InputTypeError,
    Metrics,
    StreamEvaluator,
    UndefinedMetricError,
)

RNG = np.random.default_rng(4)
N_EVENTS = 240
N_ORDERS = 18 if os.environ.get("RECMETRICS_THOROUGH") else 3  # of merging
TRUTH = RNG.random((N_EVENTS, 30)) < 0.06
OLD = RNG.random((N_EVENTS, 30))
SCORES = {
    "old": OLD,
    "new": OLD + 0.4 * RNG.random(OLD.shape) + 0.1 * TRUTH,
    "a third": OLD + 0.4 * RNG.random(OLD.shape),
}
GROUPS = np.array(["b", "a", "c"])[RNG.integers(0, 3, N_EVENTS)]
WEIGHTS = RNG.integers(0, 4, N_EVENTS).astype(float)
OF_MEAN_1 = np.tile([1 / 4, 7 / 4], N_EVENTS // 2)  # their sum is the number of events
METRICS = ["ndcg@5", "mrr", "hit@1", "dcg@3", "gini@5", "coverage@5"]  # dcg has no largest value
RULES = ["ndcg@5 >= -1%", "mrr > 0", "dcg@3 >= -0.02", "hit@1 >= -0.1"]


def stream_of(rows=slice(None), scores=SCORES, metrics=METRICS, **options):
    """A stream of some events, in batches of a few."""
    of_events = {name: options.pop(name, None) for name in ("by", "weights")}
    stream = StreamEvaluator(metrics, keep="means", **options)
    for batch in np.array_split(np.arange(len(TRUTH))[rows], 3):
        labels = {name: of[batch] for name, of in of_events.items() if of is not None}
        stream.update({model: of[batch] for model, of in scores.items()}, TRUTH[batch], **labels)
    return stream


def parts_of_stream(**options):
    """The streams of eight parts of the events, whose batches wait to be added up."""
    rows_of_parts = np.array_split(np.arange(N_EVENTS), 8)
    return [stream_of(rows, **options) for rows in rows_of_parts]


def merged(order, parts):
    """A stream of all parts, merged two by two as a generator of this seed draws them."""
    generator = np.random.default_rng(order)
    while len(parts) > 1:
        one, other = generator.permutation(len(parts))[:2]
        part = parts[one].merge(parts[other])
        parts = [part, *(each for each in parts if each not in (part, parts[other]))]
    return StreamEvaluator.from_state(parts[0].state())


def assert_near(got, expected, tolerance=1e-12):
    """Records whose numbers differ by ``tolerance`` at most, p-values by that share of them."""
    for record, other in zip(got, expected, strict=True):
        cells = cells_of(record)
        others = cells_of(other)
        expected_numbers = numbers_of(others)
        numbers = {name: cells.pop(name) for name in expected_numbers}
        assert cells == {name: cell for name, cell in others.items() if name not in numbers}
        near = pytest.approx(expected_numbers, rel=tolerance, abs=tolerance, nan_ok=True)
        assert numbers == near, cells


def cells_of(record):
    if hasattr(record, "as_dict"):
        return record.as_dict()
    return dict(zip(record.__dataclass_fields__, astuple(record), strict=True))


def numbers_of(cells):
    return {name: cell for name, cell in cells.items() if isinstance(cell, float)}


# --- The numbers of the values -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "options", "rules"),
    [
        ({}, {}, RULES),
        ({"by": GROUPS}, {}, [*RULES, "mrr >= -5% in every group"]),
        ({"weights": WEIGHTS}, {}, RULES),
        ({"weights": OF_MEAN_1}, {"undefined": "zero"}, RULES),
        ({"by": GROUPS, "weights": WEIGHTS}, {"undefined": "zero"}, [*RULES, "mrr > 0 in a"]),
        (
            {"by": GROUPS, "weights": WEIGHTS * (GROUPS != "a")},
            {},
            [*RULES, "mrr >= -5% in every group"],
        ),
    ],
    ids=["plain", "groups", "weights", "weights of mean 1", "both", "a group of weight 0"],
)
def test_comparison_and_gate_are_those_of_the_values(labels, options, rules):
    values = {m: Metrics.compute(s, TRUTH, METRICS, **options) for m, s in SCORES.items()}
    expected = recmetrics.compare(values, baseline="old", **labels)
    judged = expected.gate(rules, min_users=20)
    means = set()
    states = [part.state() for part in parts_of_stream(**labels, **options)]
    for order in range(N_ORDERS):
        if order < 3:
            parts = parts_of_stream(**labels, **options)
        else:  # for time: nothing waits in these
            parts = [StreamEvaluator.from_state(state) for state in states]
        stream = merged(order, parts)
        means.add(tuple(stream.mean().values()))
        comparison = recmetrics.compare(stream, baseline="old")
        assert comparison.groups == expected.groups
        assert_near(comparison.means, expected.means)
        assert_near(comparison.differences, expected.differences)
        gate = comparison.gate(rules, min_users=20)
        assert (gate.passed, gate.of) == (judged.passed, judged.of)
        assert_near(gate.verdicts, judged.verdicts)
        pair = {"model": "new", "against": "old"}
        assert comparison.users_needed("mrr", 0.01, **pair) == expected.users_needed(
            "mrr", 0.01, **pair
        )
    assert len(means) == 1  # the same bits


def test_every_pair_is_compared_from_both_sides():
    """The sums of a pair are those of the earlier and the later name."""
    values = {model: Metrics.compute(of, TRUTH, METRICS) for model, of in SCORES.items()}
    stream = stream_of()
    for baseline in (None, *SCORES):
        got = recmetrics.compare(stream, baseline=baseline)
        assert_near(got.differences, recmetrics.compare(values, baseline=baseline).differences)


def test_where_lower_is_better():
    values = {model: Metrics.compute(of, TRUTH, "mrr") for model, of in SCORES.items()}
    settings = {"baseline": "old", "lower_is_better": "mrr"}
    got = recmetrics.compare(stream_of(metrics="mrr"), **settings)
    expected = recmetrics.compare(values, **settings)
    assert_near(got.differences, expected.differences)
    rules = ["mrr <= +3%", "mrr <= +0.01"]
    assert_near(got.gate(rules).verdicts, expected.gate(rules).verdicts)


def test_differences_that_vary_little_beside_the_values():
    """Gains of 2^30, and at times 1 / log2(3) more, which squares of values have no digits for."""
    more = np.zeros((90, 3))
    more[:, 0] = 2.0**30
    more[::3, 1] = 1
    stream = StreamEvaluator("dcg@2", keep="means")
    for rows in np.split(np.arange(90), [1, 40, 43]):
        part = StreamEvaluator("dcg@2", keep="means")
        scores = {"a": [[3.0, 1.0, 2.0]] * len(rows), "b": [[3.0, 2.0, 1.0]] * len(rows)}
        part.update(scores, more[rows])
        stream.merge(part)
    [difference] = recmetrics.compare(stream).differences
    # 30 of 90 gain 1 / log2(3); the rounding of values near 2^30 is 2^-23 of one.
    gain = 1 / math.log2(3)
    assert difference.difference == pytest.approx(gain / 3, abs=2.0**-22)
    assert (difference.wins, difference.ties, difference.losses) == (30, 60, 0)
    std = gain * math.sqrt(30 * 60 / 90 / 89)
    assert difference.effect_size == pytest.approx(gain / 3 / std, rel=1e-6)


@pytest.mark.parametrize("gains", [0, 12])
def test_rounding_makes_no_difference(gains):
    """Under ties="expected", values of 1 have errors of some 1e-16, as those of ``compute``."""
    rng = np.random.default_rng(0)
    truth = np.zeros((60, 40))
    for row in truth:
        row[rng.choice(40, 12, replace=False)] = 1
    # Every relevant item is above all others, with ties among the relevant ones.
    scores = {model: 10 * truth + truth * rng.integers(0, 5, truth.shape) for model in "ab"}
    scores["a"][:gains] *= -1  # the last of all
    metrics = ["ndcg@10", "recall@10"]
    values = {m: Metrics.compute(of, truth, metrics, ties="expected") for m, of in scores.items()}
    assert not np.all([*values["b"].values()] == np.ones(60))
    stream = StreamEvaluator(metrics, keep="means", ties="expected")
    stream.update(scores, truth)
    for comparison in (recmetrics.compare(stream), recmetrics.compare(values)):
        for difference in comparison.differences:
            counts = difference.wins, difference.ties, difference.losses
            assert counts == (gains, 60 - gains, 0)
            assert difference.widened == (("low",) if gains else ("equal",))
            assert difference.significant == (gains > 0)
            assert difference.p_uncorrected["t"] == 1 or gains
        assert [mean.mean for mean in comparison.means if mean.model == "b"] == [1, 1]
    expected = recmetrics.compare(values)
    assert_near(recmetrics.compare(stream).means, expected.means)
    assert_near(recmetrics.compare(stream).differences, expected.differences)
    kept = StreamEvaluator(metrics, ties="expected")
    kept.update(scores["b"], truth)
    assert_near([*recmetrics.summary(kept)], [*recmetrics.summary(values["b"])])


@pytest.mark.usefixtures("registry_stays")
def test_a_stream_of_values_beyond_an_end_by_rounding():
    """1 + 2.2e-16 is the largest value, 1, so the mean has the bounds of all at 1."""

    @recmetrics.metric(formula="1")
    def rounded_one(user, k):
        """One for users with a relevant item, with an error."""
        return sum(user.gains[:k]) + 2.0**-52

    stream = StreamEvaluator("rounded_one@2", keep="means")
    stream.update([[2.0, 1.0]] * 50, [[1, 0]] * 50)
    [mean] = recmetrics.summary(stream)
    assert mean.mean == mean.high == 1
    assert 0.9 < mean.low < 0.95  # one of 51 may be at 0
    assert mean.widened == ("low",)


def test_equal_differences_have_no_spread():
    """The interval of such values, and the exact sign-flip test, are those of ``compare``."""
    scores = {"a": [[1.0, 2.0]] * 6, "b": [[2.0, 1.0]] * 6}
    truth = [[1, 0]] * 6
    stream = StreamEvaluator("mrr", keep="means")
    for rows in (slice(0, 2), slice(2, 6)):
        stream.update({model: of[rows] for model, of in scores.items()}, truth[rows])
    [difference] = recmetrics.compare(stream).differences
    assert difference.effect_size == math.inf
    values = {model: Metrics.compute(of, truth, "mrr") for model, of in scores.items()}
    assert_near([difference], recmetrics.compare(values).differences)


def test_rankings_of_models():
    ranking = {model: np.argsort(-of, axis=1)[:, :5] for model, of in SCORES.items()}
    metrics = ["ndcg@5", "mrr@5"]
    stream = StreamEvaluator(metrics, keep="means", n_items=30)
    stream.update_ranked(ranking, TRUTH, by=GROUPS, weights=WEIGHTS)
    expected = recmetrics.compare(
        {model: Metrics.compute(of, TRUTH, metrics) for model, of in SCORES.items()},
        by=GROUPS,
        weights=WEIGHTS,
    )
    assert_near(recmetrics.compare(stream).differences, expected.differences)


def test_many_small_batches_are_one_batch():
    """Whatever the order of their models and the integers of their groups; also for all lists."""
    lists = {model: np.argsort(-of, axis=1)[:, :5] for model, of in SCORES.items()}
    lists["new"][::7, 1] = lists["new"][::7, 0]
    metrics = ["ndcg@5", "mrr@5", "gini@5", "coverage@5"]
    labels = np.unique(GROUPS, return_inverse=True)[1]
    at_once, in_parts = (StreamEvaluator(metrics, keep="means", n_items=30) for _ in range(2))
    at_once.update_ranked(lists, TRUTH, by=labels, weights=WEIGHTS, repeats="waste")
    for i, rows in enumerate(np.array_split(np.arange(N_EVENTS), 60)):
        models = [*reversed(SCORES)] if i % 6 > 2 else [*SCORES]
        part = {model: lists[model][rows] for model in models}
        by = labels[rows].astype(np.uint64 if i % 4 > 1 else np.int64)
        in_parts.update_ranked(part, TRUTH[rows], by=by, weights=WEIGHTS[rows], repeats="waste")
    assert in_parts.mean() == at_once.mean()  # the same bits
    assert in_parts.invalid_items() == at_once.invalid_items()
    expected = recmetrics.compare(at_once, baseline="old")
    comparison = recmetrics.compare(in_parts, baseline="old")
    assert repr(comparison.groups) == repr(expected.groups) == "(0, 1, 2)"
    assert_near(comparison.means, expected.means)
    assert_near(comparison.differences, expected.differences)


# --- Summary -------------------------------------------------------------------------------------


def test_factor_models_beside_scores():
    """The relevant item 1 has the scores 2 and 0 against 1 and 1, and 4 and 2 with its bias."""
    users, items, bias = np.eye(2), np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([0.0, 2.0])
    models = {"plain": (users, items), "biased": (users, items, bias), "scores": [[1, 2], [2, 1]]}
    stream = StreamEvaluator("mrr", keep="means")
    stream.update(models, [1, 1])
    expected = {"plain/mrr": (1 + 1 / 2) / 2, "biased/mrr": 1.0, "scores/mrr": (1 + 1 / 2) / 2}
    assert stream.mean() == expected


def test_a_summary_of_sums():
    values = Metrics.compute(SCORES["old"], TRUTH, METRICS)
    expected = recmetrics.summary(values, by=GROUPS, weights=WEIGHTS)
    stream = stream_of(scores=SCORES, by=GROUPS, weights=WEIGHTS)
    summary = recmetrics.summary(stream)
    assert summary.models == ("old", "new", "a third")
    assert (summary.groups, summary.n_weightless) == (("a", "b", "c"), expected.n_weightless)
    records = {(mean.metric, mean.group): mean for mean in expected}
    for record in summary:
        if record.model == "old":
            cells = record.as_dict()
            wanted = records[record.metric, record.group].as_dict()
            assert numbers_of(cells) == pytest.approx(
                {name: wanted[name] for name in numbers_of(cells)}, rel=1e-12, nan_ok=True
            )
            assert record.median is None
    page = str(summary)
    assert "q10" not in page.partition("\n")[0]
    assert "no quantiles: only sums of the values are kept" in page
    assert "quantile" not in str(summary.to_dict()["means"])


def test_a_summary_of_the_only_model():
    stream = StreamEvaluator("hit@1", keep="means")
    stream.update([[2.0, 1.0]] * 3 + [[1.0, 2.0]], [0, 0, 0, 0])
    [mean] = recmetrics.summary(stream)
    assert (mean.mean, mean.model, mean.n_users) == (3 / 4, None, 4)
    assert mean.std == pytest.approx(math.sqrt((3 * (1 / 4) ** 2 + (3 / 4) ** 2) / 3))


def test_bounds_of_a_metric_whose_least_value_is_1():
    """Two of three ranks are 1, the least: (1 + 1 + 2) / 3."""
    scores, truth = [[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]], np.array([[1, 0], [1, 0], [1, 0]])
    stream = StreamEvaluator("mean_rank", keep="means")
    stream.update(scores, truth)
    [mean] = recmetrics.summary(stream)
    assert mean.mean == pytest.approx(4 / 3)
    [of_values] = recmetrics.summary(Metrics.compute(scores, truth, "mean_rank"))
    assert (mean.low, mean.high) == pytest.approx((of_values.low, of_values.high))


def test_nobody_has_a_value():
    stream = StreamEvaluator("mrr", keep="means")
    stream.update({"old": [[2.0, 1.0]], "new": [[1.0, 2.0]]}, [-1])
    comparison = recmetrics.compare(stream)
    assert [mean.n_users for mean in comparison.means] == [0, 0]
    assert [difference.n_users for difference in comparison.differences] == [0]
    assert math.isnan(comparison.differences[0].difference)


def test_nobody_of_a_weighted_group_has_a_value():
    scores = {"old": [[2.0, 1.0]] * 3, "new": [[1.0, 2.0]] * 3}
    by, weights = [0, 0, 1], [2.0, 1.0, 1.0]
    stream = StreamEvaluator("mrr", keep="means")
    stream.update(scores, [0, 0, -1], by=by, weights=weights)
    values = {model: Metrics.compute(of, [0, 0, -1], "mrr") for model, of in scores.items()}
    expected = recmetrics.compare(values, by=by, weights=weights)
    lines = str(recmetrics.compare(stream)).splitlines()
    lines.remove("users: the rows of all updates of the stream, taken to be independent")
    assert lines == str(expected).splitlines()
    assert recmetrics.summary(stream).records[-1].n_effective == 0


@pytest.mark.parametrize("factor", [1e-26, 1e-80, 1e80])
def test_bounds_do_not_depend_on_the_unit_of_weights(factor):
    found = recmetrics.compare(stream_of(weights=WEIGHTS * factor, metrics=METRICS[:3]))
    expected = recmetrics.compare(stream_of(weights=WEIGHTS, metrics=METRICS[:3]))
    ends = [(each.low, each.high, each.effect_size) for each in found.differences]
    assert ends == [
        pytest.approx((each.low, each.high, each.effect_size)) for each in expected.differences
    ]
    assert min(high - low for low, high, _ in ends) > 0


@pytest.mark.parametrize("weight", [1e-91, 1e91])
def test_weights_whose_powers_are_no_numbers_are_refused(weight):
    """A stream keeps sums of their third powers."""
    stream = StreamEvaluator("mrr", keep="means")
    for weights in ([1.0, weight], [0.0, weight]):
        with pytest.raises(
            InputError, match="expected 0, or a number from 1e-90 to 1e\\+90, since"
        ):
            stream.update([[2.0, 1.0], [1.0, 2.0]], [0, 0], weights=weights)
    values = {"mrr": [1.0, 0.5]}
    [mean] = recmetrics.summary(values, weights=[weight, weight])
    assert mean.mean == (1.0 + 0.5) / 2


def test_groups_may_be_objects_of_pandas():
    stream = stream_of(by=GROUPS.astype(object))
    assert recmetrics.summary(stream).groups == ("a", "b", "c")


def test_json_and_html():
    comparison = recmetrics.compare(stream_of(by=GROUPS), baseline="old")
    assert comparison.to_dict()["models"] == ["old", "new", "a third"]
    assert "<table" in comparison._repr_html_()
    assert recmetrics.compare(stream_of(), metrics="mrr").metrics == ("mrr",)


# --- What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "purpose"),
    [
        (lambda one: recmetrics.compare(one, tests="wilcoxon"), "the test 'wilcoxon'"),
        (lambda one: recmetrics.compare(one, tests=["t", "permutation"]), "the test 'permutation'"),
        (lambda one: recmetrics.compare(one, n_resamples=100), "the bootstrap of n_resamples="),
        (lambda one: recmetrics.summary(one, n_resamples=100), "the bootstrap of n_resamples="),
        (lambda one: recmetrics.summary(one, levels={"chance": {"mrr": 0.1}}), "levels="),
        (lambda one: recmetrics.compare(one).movers("mrr", model="new", against="old"), "movers"),
    ],
)
def test_what_needs_values_says_so(ask, purpose):
    message = message_of(ArgumentError, lambda: ask(stream_of()))
    needed = f"the value of each user is needed for {purpose}, and these are sums: type"
    assert message.startswith(needed)


@pytest.mark.parametrize("report", [recmetrics.compare, recmetrics.summary])
def test_the_models_of_a_stream_have_no_column(report):
    message = message_of(ArgumentError, report, stream_of(), model="old")
    assert message.startswith("model= names the column of a table that holds the models, and a str")
    assert "leave model= out: the report has each model" in message
    assert {*report(stream_of()).models} == {*SCORES}


@pytest.mark.parametrize("name", ["by", "weights"])
def test_what_comes_too_late_is_named_alone(name):
    message = message_of(ArgumentError, recmetrics.compare, stream_of(slice(9)), **{name: GROUPS})
    assert message.startswith(f"{name}= is too late for a stream, which keeps sums")
    assert message.endswith(f"type stream.update(scores, truth, {name}={name})")


def test_models_are_the_same_in_every_update_and_part():
    stream = stream_of()
    two = {model: SCORES[model] for model in ("old", "new")}
    message = message_of(ArgumentError, lambda: stream.update(two, TRUTH))
    assert message.startswith(
        "the update or part has the models ['new', 'old'], and earlier ones the "
    )
    with pytest.raises(ArgumentError, match="expected the same models"):
        stream.merge(stream_of(scores=two))
    message = message_of(ArgumentError, lambda: stream.update(OLD, TRUTH))
    assert message.startswith(
        "the update or part has a model without a name, and earlier ones the "
    )
    assert stream.counts()["old/mrr"].defined == np.count_nonzero(TRUTH.any(axis=1))


@pytest.mark.parametrize(
    ("error", "scores", "options", "message"),
    [
        (InputTypeError, {1: OLD}, {}, "a dict holds models by their names"),
        (InputTypeError, {" ": OLD}, {}, "a dict holds models by their names"),
        (InputError, {}, {}, "the dict of models is empty"),
        (InputError, SCORES | {"x": OLD[:, 1:]}, {},
         "the model 'old' has scores of 30 items, and 'x' of 29;"),
        (InputTypeError, SCORES, {"by": [0.5] * N_EVENTS}, "by has labels of dtype float64"),
        (InputTypeError, SCORES, {"by": [None] * N_EVENTS}, "by has labels of dtype object"),
        (InputError, SCORES, {"by": range(N_EVENTS)}, "by names 240 different groups; expected at"),
        (InputError, SCORES, {"weights": [-1.0] * N_EVENTS}, "weights holds -1.0 for user 0"),
    ],
)  # fmt: skip
def test_a_batch_that_is_refused(error, scores, options, message):
    stream = StreamEvaluator("mrr", keep="means")
    assert message_of(error, lambda: stream.update(scores, TRUTH, **options)).startswith(message)
    assert stream.counts()["mrr"].defined == 0


def test_groups_of_some_updates_alone():
    stream = stream_of(by=GROUPS)
    numbers = np.arange(N_EVENTS) % 2
    plain = stream_of()
    for words, give in (
        ("no by=", lambda: stream.update(SCORES, TRUTH)),
        ("no by=", lambda: stream.merge(plain)),
        ("by= of integers", lambda: stream.update(SCORES, TRUTH, by=numbers)),
        ("by= of integers", lambda: stream.merge(stream_of(by=numbers))),
    ):
        message = message_of(ArgumentError, give)
        assert message.startswith(f"earlier updates had by= of strings, and this one has {words};")
    with pytest.raises(ArgumentError, match="had no by=, and this one has by= of strings"):
        plain.update(SCORES, TRUTH, by=GROUPS)


def test_groups_of_all_updates_and_parts_are_counted():
    def add(stream, first):
        stream.update(SCORES, TRUTH, by=first + np.arange(N_EVENTS) % 30)
        return stream

    stream = add(StreamEvaluator("mrr", keep="means"), 0)
    before = stream.state()
    too_many = "by names 55 different groups; expected at most 50"
    for give in (
        lambda: add(stream, 25),
        lambda: stream.merge(add(StreamEvaluator("mrr", keep="means"), 25)),
    ):
        assert message_of(InputError, give).startswith(too_many)
        np.testing.assert_equal(stream.state(), before)
    groups = recmetrics.summary(add(stream, 20)).groups
    assert groups == tuple(range(50))


def test_an_undefined_event_under_raise():
    stream = stream_of(metrics="mrr", undefined="raise")
    with pytest.raises(UndefinedMetricError, match=r"^mrr is undefined"):
        recmetrics.compare(stream)


def test_weights_of_zero_leave_events_out():
    stream = StreamEvaluator("hit@1", keep="means")
    stream.update([[2.0, 1.0]] * 2, [0, 1], weights=[2.0, 0.0])
    stream.update([[2.0, 1.0]] * 2, [1, 1], weights=[1.0, 1.0])
    assert stream.mean() == {"hit@1": 2 * 1 / 4}
    assert stream.counts()["hit@1"].defined == 3
