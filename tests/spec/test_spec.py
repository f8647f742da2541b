"""The language of metric strings: what it means, and what it says of anything else."""

import enum
import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import METRICS, MetricSpec, make_spec, parse
from problems import specs

from recmetrics import (
    ArgumentError,
    Evaluator,
    Metrics,
    MetricSpecError,
    UnknownMetricError,
    UnknownOptionError,
    compare,
    explain,
)
from recmetrics._core.spec import Request

EVERY_METRIC = pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
OPTIONS = [(metric, option) for metric in METRICS.values() for option in metric.options.values()]
EVERY_OPTION = pytest.mark.parametrize(
    "metric, option", OPTIONS, ids=[f"{metric.name}-{option.name}" for metric, option in OPTIONS]
)
EXPECTED = "expected 'name', 'name@k' or 'name(option=value, ...)@k', such as 'ndcg(gain=exp2)@10'"
NAMES = ", ".join(METRICS)


def specs_of(metrics_list):
    return {text: asked.spec for text, asked in Request(metrics_list).definitions.items()}


def error_of(call, *arguments):
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the callers compare type and text)
        call(*arguments)
    return type(caught.value), str(caught.value)


# --- Ranges of cutoffs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "keys"),
    [
        ("hit@1:3", ["hit@1", "hit@2", "hit@3"]),
        (["hit@3", "hit@ 1 : 5 : 2"], ["hit@3", "hit@1", "hit@5"]),
        ("recall( denom=relevant )@2:2", ["recall( denom=relevant )@2"]),
    ],
)
def test_a_range_stands_for_the_strings_that_it_spells(metrics, keys):
    scores, truth = [[5, 4, 3, 2, 1]], [[0, 0, 1, 0, 1]]
    found = Metrics.compute(scores, truth, metrics)
    assert list(found) == keys
    alone = Metrics.compute(scores, truth, keys)
    assert {key: value.tolist() for key, value in found.items()} == {
        key: value.tolist() for key, value in alone.items()
    }
    evaluator = Evaluator(truth, metrics)
    evaluator.update(scores)
    assert list(evaluator.mean()) == keys


INTEGERS = "expected integers >= 1 in 'name@first:last' or 'name@first:last:step', such as "


@pytest.mark.parametrize(
    ("text", "told", "typed"),
    [
        ("hit@20:1", "its first cutoff, 20, is above its last; type 'hit@1:20'", "hit@1:20"),
        ("hit@9:1:3", "its first cutoff, 9, is above its last; type 'hit@1:9'", "hit@1:9"),
        ("hit@1:10:2", "steps of 2 from 1 do not reach 10; type 'hit@1:9:2'", "hit@1:9:2"),
        ("hit@1:9:0", f"{INTEGERS}'ndcg@1:20'", "ndcg@1:20"),
        ("hit@0:9", f"{INTEGERS}'ndcg@1:20'", "ndcg@1:20"),
        ("hit@9:0", f"{INTEGERS}'ndcg@1:20'", "ndcg@1:20"),
        ("hit@1:2:3:4", f"{INTEGERS}'ndcg@1:20'", "ndcg@1:20"),
        ("hit@:9", f"{INTEGERS}'ndcg@1:20'", "ndcg@1:20"),
    ],
)
def test_what_the_error_of_a_range_says_to_type_works(text, told, typed):
    error = MetricSpecError, f"cannot read the range {text!r}; {told}"
    assert error_of(specs_of, ["mrr", text]) == error
    assert len(specs_of(typed)) > 1


def test_one_metric_is_no_range():
    kind, told = error_of(explain, "hit@1:9")
    assert kind is MetricSpecError
    assert told.endswith(
        "got '1:9'; a range stands for several metrics, and only a list of metrics may have one"
    )
    kind, told = error_of(specs_of, "mrr@2, hit@1:9")
    assert told.endswith("one string is one metric: type ['mrr@2', 'hit@1:9']")


# --- What a string means -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, spec",
    [
        ("ndcg", MetricSpec("ndcg")),
        ("  ndcg  @  10  ", MetricSpec("ndcg", 10)),
        ("ndcg(gain=exp2)", MetricSpec("ndcg", None, (("gain", "exp2"),))),
        ("Ndcg ( GAIN = Exp2 ) @ 10", MetricSpec("ndcg", 10, (("gain", "exp2"),))),
        (
            "ndcg(ideal=retrieved, gain=exp2)@3",
            MetricSpec("ndcg", 3, (("gain", "exp2"), ("ideal", "retrieved"))),
        ),
        ("rbp(p=0.80)@5", MetricSpec("rbp", 5)),
        ("rbp(p=9e-1)@5", MetricSpec("rbp", 5, (("p", 0.9),))),
        ("hit(rel=3)@5", MetricSpec("hit", 5, (("rel", 3.0),))),
        ("auc", MetricSpec("auc")),
    ],
)
def test_string_means_spec(text, spec):
    assert parse(text) == spec


@pytest.mark.parametrize(
    "text, canonical",
    [
        (" NDCG @ 010 ", "ndcg@10"),
        ("recall(denom=capped)@20", "recall@20"),
        ("RECALL( denom = RELEVANT )@20", "recall(denom=relevant)@20"),
        ("ndcg(ideal=retrieved,gain=exp2)", "ndcg(gain=exp2, ideal=retrieved)"),
        ("hit(rel=3.0)@5", "hit(rel=3)@5"),
        ("rbp(p=0.123456789)", "rbp(p=0.123456789)"),
        ("hit(rel=1e22)@5", "hit(rel=1e+22)@5"),
    ],
)
def test_canonical_string(text, canonical):
    assert str(parse(text)) == canonical


@EVERY_METRIC
def test_the_name_alone_is_the_canonical_string_of_the_defaults(metric):
    assert str(parse(metric.name)) == metric.name
    assert parse(metric.name.upper()).values == {
        name: option.default for name, option in metric.options.items()
    }


@EVERY_METRIC
@given(data=st.data())
def test_parse_inverts_str(metric, data):
    spec = data.draw(specs(metric, max_k=10**20))
    assert parse(str(spec)) == spec


@EVERY_OPTION
@given(data=st.data())
def test_no_digit_of_a_number_is_lost(metric, option, data):
    if option.choices or option.is_name:
        value = data.draw(st.sampled_from(option.choices or ("tail", "A-1.b_2")))
    else:
        value = data.draw(
            st.floats(
                option.above, option.below, exclude_min=True, exclude_max=True, allow_nan=False
            )
        )
    needed = [metric.read_with[name] for name in (option.name,) if name in metric.read_with]
    spec = make_spec(metric.name, None, {option.name: value, **dict(needed)})
    assert spec.values[option.name] == value
    assert parse(str(spec)) == spec


@EVERY_OPTION
def test_the_default_of_an_option_is_left_out(metric, option):
    if option.default is not None:
        assert parse(f"{metric.name}({option.name}={option.default})") == MetricSpec(metric.name)


@EVERY_METRIC
def test_a_method_name_means_its_default_cutoff(metric):
    assert parse(metric.method) == MetricSpec(metric.name, metric.default_k)
    assert metric.default_k in (100, None)
    assert str(parse(f"{metric.name}_AT_K")) == f"{metric.name}@100"


@EVERY_METRIC
def test_an_alias_means_its_metric(metric):
    assert [parse(alias) for alias in metric.aliases] == [parse(metric.name)] * len(metric.aliases)


def test_a_huge_k_is_a_k():
    k = 10**40
    assert parse(f"ndcg@{k}") == make_spec("ndcg", k) == MetricSpec("ndcg", k)
    scores, truth = [[3.0, 2.0, 1.0]], [[0, 1, 1]]
    values = Metrics.compute(scores, truth, [f"ndcg@{k}", "ndcg@3"])
    for each in (k, 2**63, 2**64 - 1, np.uint64(2**64 - 1)):
        assert values[f"ndcg@{k}"] == values["ndcg@3"] == Metrics.ndcg_at_k(scores, truth, each)
    groups = Metrics.compute_groups(scores[0], truth[0], [f"hit@{k}"], sizes=[3])
    assert groups[f"hit@{k}"] == Metrics.hit_at_k(scores, truth, k) == 1


# --- What is no metric string --------------------------------------------------------------------


def unreadable(text, detail=""):
    return f"cannot read metric {text!r}{detail}; {EXPECTED}"


@pytest.mark.parametrize(
    "wrong, right, error, message",
    [
        ("", "ndcg", MetricSpecError, unreadable("")),
        ("ndcg 10", "ndcg @10", MetricSpecError, unreadable("ndcg 10")),
        ("ndcg@10@20", "ndcg@10", MetricSpecError, unreadable("ndcg@10@20")),
        ("ndcg(gain=exp2", "ndcg(gain=exp2)", MetricSpecError, unreadable("ndcg(gain=exp2")),
        (
            "ndcg@10(gain=exp2)",
            "ndcg(gain=exp2)@10",
            MetricSpecError,
            unreadable("ndcg@10(gain=exp2)"),
        ),
        ("_at_k", "hit_at_k", MetricSpecError, unreadable("_at_k")),
        ("ndc\N{LATIN SMALL LETTER DOTLESS I}", "ndcg", MetricSpecError, unreadable("ndc\u0131")),
        (
            "ndcg()@10",
            "ndcg@10",
            MetricSpecError,
            unreadable("ndcg()@10", ": '' is not 'option=value', without blanks in the value"),
        ),
        (
            "ndcg(gain)@10",
            "ndcg(gain=exp2)@10",
            MetricSpecError,
            unreadable(
                "ndcg(gain)@10", ": 'gain' is not 'option=value', without blanks in the value"
            ),
        ),
        (
            "ndcg(gain==exp2)",
            "ndcg(gain=exp2)",
            MetricSpecError,
            unreadable(
                "ndcg(gain==exp2)",
                ": 'gain==exp2' is not 'option=value', without blanks in the value",
            ),
        ),
        (
            "ndcg(gain=exp2, Gain=exp2)",
            "ndcg(gain=exp2, ideal=truth)",
            MetricSpecError,
            "cannot read metric 'ndcg(gain=exp2, Gain=exp2)': option 'gain' is given twice; "
            "give it once",
        ),
        (
            "ndcg@0",
            "ndcg@1",
            MetricSpecError,
            "in metric 'ndcg@0': k must be an integer >= 1, such as 10, got '0'",
        ),
        (
            "ndcg@k",
            "ndcg@1",
            MetricSpecError,
            "in metric 'ndcg@k': k must be an integer >= 1, such as 10, got 'k'",
        ),
        (
            "ndcg@\N{FULLWIDTH DIGIT ONE}",
            "ndcg@1",
            MetricSpecError,
            "in metric 'ndcg@\uff11': k must be an integer >= 1, such as 10, got '\uff11'",
        ),
        (
            "ndcg_at_k@10",
            "ndcg@10",
            MetricSpecError,
            "cannot read metric 'ndcg_at_k@10': 'ndcg_at_k' means 'ndcg@100'; type 'ndcg@10'",
        ),
        (
            "ndgc@10",
            "ndcg@10",
            UnknownMetricError,
            "in metric 'ndgc@10': unknown metric 'ndgc'; did you mean 'ndcg@10'?",
        ),
        (
            "ndgc_at_k",
            "ndcg_at_k",
            UnknownMetricError,
            "in metric 'ndgc_at_k': unknown metric 'ndgc'; did you mean 'ndcg@100'?",
        ),
        (
            "pre@5",
            "precision@5",
            UnknownMetricError,
            "in metric 'pre@5': unknown metric 'pre'; did you mean 'precision@5'?",
        ),
        (
            "GAUC",
            "auc",
            UnknownMetricError,
            "in metric 'GAUC': unknown metric 'gauc'; did you mean 'auc'? The mean of GAUC weighs "
            "users: see recmetrics.summary(weights=)",
        ),
        (
            "zzz",
            "hit",
            UnknownMetricError,
            f"in metric 'zzz': unknown metric 'zzz'; choose from {NAMES}",
        ),
        (
            "ndcg(gian=exp2)",
            "ndcg(gain=exp2)",
            UnknownOptionError,
            "in metric 'ndcg(gian=exp2)': metric 'ndcg' has no option 'gian'; did you mean 'gain'?",
        ),
        (
            "dcg(zz=exp2)",
            "dcg(gain=exp2)",
            UnknownOptionError,
            "in metric 'dcg(zz=exp2)': metric 'dcg' has no option 'zz'; it has 'gain', "
            "'discount', 'rel', 'weigh', 'of'",
        ),
        (
            "ndcg(gain=exp3)@10",
            "ndcg(gain=exp2)@10",
            UnknownOptionError,
            "in metric 'ndcg(gain=exp3)@10': gain must be 'linear', 'exp2', 'exp2_shifted' or "
            "'binary', got 'exp3'; did you mean 'exp2'?",
        ),
        (
            "rbp(p=1)",
            "rbp(p=0.99)",
            UnknownOptionError,
            "in metric 'rbp(p=1)': p must be a finite number above 0 and below 1, got '1'",
        ),
        (
            "hit(rel=0)@5",
            "hit(rel=0.1)@5",
            UnknownOptionError,
            "in metric 'hit(rel=0)@5': rel must be a finite number above 0, got '0'",
        ),
        (
            "hit(rel=many)@5",
            "hit(rel=1)@5",
            UnknownOptionError,
            "in metric 'hit(rel=many)@5': rel must be a finite number above 0, got 'many'",
        ),
    ],
)
def test_what_is_no_metric_string(wrong, right, error, message):
    assert error_of(parse, wrong) == (error, message)
    assert str(parse(right))


@EVERY_METRIC
def test_a_misspelled_metric_is_answered_with_the_nearest(metric):
    wrong = metric.name + metric.name[-1]
    message = f"unknown metric {wrong!r}; did you mean {metric.name!r}?"
    assert error_of(make_spec, wrong) == (UnknownMetricError, message)


@EVERY_OPTION
def test_a_misspelled_option_is_answered_with_the_nearest(metric, option):
    wrong = option.name + option.name[-1]
    message = f"metric {metric.name!r} has no option {wrong!r}; did you mean {option.name!r}?"
    assert error_of(make_spec, metric.name, None, {wrong: option.default}) == (
        UnknownOptionError,
        message,
    )


@EVERY_OPTION
@pytest.mark.parametrize("value", ["no such value", True, [1], float("nan"), -1.0])
def test_a_wrong_value_is_answered_with_the_possible_ones(metric, option, value):
    error, message = error_of(make_spec, metric.name, None, {option.name: value})
    assert error is UnknownOptionError
    assert message.startswith(f"{option.name} must be ")
    assert f", got {value!r}" in message
    assert all(repr(choice) in message for choice in option.choices)


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        (
            "exposure_gini(p=0.5)@9",
            "exposure_gini(discount=geometric, p=0.5)@9",
            "metric 'exposure_gini' reads p only with discount=geometric; type "
            "discount=geometric, or leave out p",
        ),
        (
            "map(denom=list, over=ranks)",
            "map(denom=list, over=hits)",
            "metric 'map' reads denom only with over=hits; type over=hits, or leave out denom",
        ),
    ],
)
def test_an_option_that_is_not_read_is_refused(wrong, right, message):
    assert error_of(parse, wrong) == (UnknownOptionError, f"in metric {wrong!r}: {message}")
    assert parse(right).options
    assert str(parse("map(denom=capped, over=ranks)")) == "map(over=ranks)"


def test_an_option_that_a_convention_leaves_unread_is_refused():
    """It was stored, and a saved evaluator of it could not be read."""
    assert error_of(lambda text: parse(text, "elliot"), "map(denom=hits)@5") == (
        UnknownOptionError,
        "in metric 'map(denom=hits)@5': metric 'map' reads denom only with over=hits, and "
        "convention='elliot' has over=ranks; type over=hits, or leave out denom",
    )
    assert str(parse("map(denom=hits, over=hits)@5", "elliot")) == "map(denom=hits)@5"
    assert str(parse("map(denom=capped)@5", "elliot")) == "map(over=ranks)@5"


@pytest.mark.parametrize("text", ["ndcg@5[least]", "ndcg(gain=exp2)@5[greatest]"])
def test_a_key_of_a_range_is_no_metric(text):
    end = text[text.index("[") :]
    assert error_of(parse, text) == (
        MetricSpecError,
        f"in metric {text!r}: {end} belongs to a result key of ties='range', not to a metric "
        "string; leave it out",
    )


def test_what_a_convention_says_about_an_option_that_is_not_read_does_not_count():
    assert str(parse("map@5", "ranx")) == "map(denom=relevant)@5"
    assert str(parse("map(over=ranks)@5", "ranx")) == "map(over=ranks)@5"


@pytest.mark.parametrize("k", [0, -1, True, 2.5, 2.0, "1", [1], np.array([1, 2])])
def test_k_in_the_methods_counts_ranks(k):
    scores, truth = [[1.0, 2.0]], [[1, 0]]
    message = f"k must be an integer >= 1, such as 10, got {k!r}"
    if isinstance(k, list):
        message += "; for several cutoffs type Metrics.compute(..., ['hit@1'])"
    if isinstance(k, str):
        message += "; for the whole list call Metrics.compute"
    assert error_of(Metrics.hit_at_k, scores, truth, k) == (ArgumentError, message)
    for right in (1, np.int32(1), np.array(1)):
        assert Metrics.hit_at_k(scores, truth, right) == [0.0]


# --- The list of metrics -------------------------------------------------------------------------


def test_keys_are_the_callers_spelling_in_the_order_asked():
    asked = ["RECALL@2", "ndcg @ 1", "hit_at_k", "recall@2"]
    assert list(Metrics.compute([[1.0, 2.0]], [[1, 0]], asked)) == asked


@pytest.mark.parametrize("asked", ["ndcg@2", ("ndcg@2",), iter(["ndcg@2"]), {"ndcg@2": None}])
def test_a_single_string_and_any_iterable_are_lists_of_metrics(asked):
    assert specs_of(asked) == {"ndcg@2": MetricSpec("ndcg", 2)}


def test_specs_are_metrics_too():
    spec = MetricSpec("ndcg", 2, (("gain", "exp2"),))
    assert specs_of(spec) == specs_of([spec]) == {"ndcg(gain=exp2)@2": spec}


LIST_EXPECTED = "metric strings such as ['ndcg@10', 'recall@20']"


@pytest.mark.parametrize(
    "wrong, message",
    [
        ([], f"metrics_list is empty; expected {LIST_EXPECTED}"),
        ({}, f"metrics_list is empty; expected {LIST_EXPECTED}"),
        pytest.param(iter(()), f"metrics_list is empty; expected {LIST_EXPECTED}", id="iterator"),
        (None, f"metrics_list must be a list of {LIST_EXPECTED}, got None"),
        (10, f"metrics_list must be a list of {LIST_EXPECTED}, got 10"),
        (b"ndcg", f"metrics_list must be a list of {LIST_EXPECTED}, got b'ndcg'"),
        (["ndcg", 10], f"a metric must be a string, got 10 of type int; {EXPECTED}"),
        ([["ndcg"]], f"a metric must be a string, got ['ndcg'] of type list; {EXPECTED}"),
    ],
    ids=repr,
)
def test_what_is_no_list_of_metrics(wrong, message):
    assert error_of(specs_of, wrong) == (MetricSpecError, message)


def test_an_option_given_as_its_default_changes_nothing():
    scores, truth = [[3.0, 2.0, 1.0]], [[0, 1, 2]]
    assert Metrics.hit_at_k(scores, truth, 2, rel=2) == [0.0]
    assert Metrics.hit_at_k(scores, truth, 2, rel=None) == [1.0]
    assert make_spec("hit", 2, {"rel": None}) == make_spec("hit", 2)


def test_a_callable_is_spelled_by_its_name():
    def slow(rank):
        return 1 / rank

    assert str(make_spec("ndcg", 3, {"discount": slow})) == "ndcg(discount=slow)@3"
    nameless = functools.partial(slow)
    assert str(make_spec("ndcg", 3, {"discount": nameless})) == "ndcg(discount=callable)@3"


def test_a_member_of_an_enum_of_strings_is_the_metric_that_it_spells():
    class Metric(str, enum.Enum):  # noqa: UP042  # a StrEnum is printed as its value
        MEAN_RANK = "mean_rank"

    old = Metrics.compute([[3, 2, 1], [1, 2, 3]], [[1, 0, 0], [1, 0, 0]], [Metric.MEAN_RANK])
    new = Metrics.compute([[3, 2, 1], [3, 2, 1]], [[1, 0, 0], [1, 0, 0]], Metric.MEAN_RANK)
    assert {name: values.tolist() for name, values in old.items()} == {"mean_rank": [1.0, 3.0]}
    of_numpy = Metrics.compute([[3, 2, 1]], [[1, 0, 0]], [np.str_("mean_rank")])
    assert [*map(repr, of_numpy)] == ["'mean_rank'"]
    of_array = Metrics.compute([[3, 2, 1]], [[1, 0, 0]], np.array(["mean_rank", "hit@1"]))
    assert [*map(repr, of_array)] == ["'mean_rank'", "'hit@1'"]
    comparison = compare({"old": old, "new": new}, metrics=[Metric.MEAN_RANK])
    assert comparison.metrics == ("mean_rank",)
    assert [mean.model for mean in comparison.means if mean.best] == ["new"]
