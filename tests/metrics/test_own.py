"""``recmetrics.metric``: metrics of one's own, held against built-in ones and numbers by hand."""

import math
import pickle
from typing import Annotated, Literal

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    OneUser,
    RecmetricsWarning,
    StreamEvaluator,
    UndefinedMetricError,
    UnknownMetricError,
)
from recmetrics._core.spec import METRICS

SCORES = [[4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 1, 0]]
TRUTH = [[0, 1, 0, 3], [1, 0, 0, 0], [0, 0, 0, 0]]

pytestmark = pytest.mark.usefixtures("registry_stays")


def declare_borda(name="borda", **keywords):
    def borda(
        user: OneUser,
        k: int,
        *,
        rel: float | None = None,
        scale: Annotated[Literal["most", "no"], "what the sum is divided by"] = "most",
    ) -> float:
        """Hits weighted linearly by rank."""
        if not any(each >= (rel or 0) for each in user.relevances):
            return math.nan
        hits = (gain > 0 if rel is None else gain >= rel for gain in user.gains)
        found = sum(k - place for place, hit in enumerate(hits) if hit)
        return found / (k * (k + 1) / 2 if scale == "most" else 1)

    borda.__name__ = name
    return recmetrics.metric(formula="sum of {k} - rank + 1 over the hits", **keywords)(borda)


def test_values_by_hand():
    declare_borda(bounds=(0, math.inf))
    asked = ["borda@3", "borda(rel=2)@4", "borda(scale=no)@3", "borda"]
    got = Metrics.compute(SCORES, TRUTH, asked)
    np.testing.assert_array_equal(got["borda@3"], [2 / 6, 0, np.nan])
    np.testing.assert_array_equal(got["borda(rel=2)@4"], [1 / 10, np.nan, np.nan])
    np.testing.assert_array_equal(got["borda(scale=no)@3"], [2, 0, np.nan])
    np.testing.assert_array_equal(got["borda"], [(3 + 1) / 10, 1 / 10, np.nan])


def test_other_cutoffs_of_a_call_do_not_change_what_it_reads():
    declare_borda()
    together = Metrics.compute(SCORES, TRUTH, ["borda@2", "recall@4"])["borda@2"]
    np.testing.assert_array_equal(together, [1 / 3, 0, np.nan])


def test_a_copy_of_a_built_in_metric_has_its_values():
    @recmetrics.metric(formula="DCG / best DCG")
    def own(user: OneUser, k: int) -> float:
        """As ndcg."""

        def dcg(gains):
            return sum(g / math.log2(rank + 1) for rank, g in enumerate(gains[:k], 1))

        return dcg(user.gains) / dcg(user.relevances) if user.relevances else math.nan

    rng = np.random.default_rng(0)
    scores, truth = rng.normal(size=(50, 20)), rng.integers(0, 4, (50, 20)) * (rng.random() < 0.9)
    seen = sp.random(50, 20, 0.2, "csr", random_state=0)
    got = Metrics.compute(scores, truth, ["own@5", "ndcg@5", "own", "ndcg"], exclude=seen)
    np.testing.assert_allclose(got["own@5"], got["ndcg@5"], rtol=1e-14)
    np.testing.assert_allclose(got["own"], got["ndcg"], rtol=1e-14)


def test_a_kernel_takes_the_place_of_the_definition():
    @numba.njit(nogil=True)
    def kernel(hits, k, out, rel):
        for user in hits.users:
            for slot in range(hits.start[user], hits.start[user] + hits.n_hits[user]):
                if hits.gain[slot] >= rel and hits.first[slot] <= k:
                    out[user] += 1 / (hits.last[slot] - hits.first[slot] + 1)

    @recmetrics.metric(formula="hits", kernel=kernel)
    def found(user: OneUser, k: int, *, rel: float | None = None) -> float:
        """The kernel alone is called."""
        raise AssertionError((user, k, rel))

    got = Metrics.compute(SCORES, TRUTH, ["found@2", "found(rel=3)@4"])
    np.testing.assert_array_equal(got["found@2"], [1, 0, np.nan])
    np.testing.assert_array_equal(got["found(rel=3)@4"], [1, np.nan, np.nan])
    tied = Metrics.compute([[1, 1]], [[1, 0]], "found@1", ties="expected")
    assert tied["found@1"] == 1 / 2


def test_every_entry_point_knows_it():
    declare_borda()
    evaluator = Evaluator(TRUTH, ["borda@3"])
    evaluator.update(SCORES)
    expected = Metrics.compute(SCORES, TRUTH, "borda@3")["borda@3"]
    np.testing.assert_array_equal(evaluator.compute()["borda@3"], expected)
    copy = pickle.loads(pickle.dumps(evaluator))
    np.testing.assert_array_equal(copy.compute()["borda@3"], expected)
    explained = recmetrics.explain("borda(rel=2)@3")
    assert explained.formula == "sum of 3 - rank + 1 over the hits; relevant: relevance >= 2"
    assert explained.summary == ""  # options change the definition
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    recs = pd.DataFrame({"user": [0, 0, 0], "item": [0, 1, 2], "score": [3.0, 2.0, 1.0]})
    truth = pd.DataFrame({"user": [0], "item": [1]})
    frame = recmetrics.tables.evaluate_table(recs, truth, ["borda@3"])
    assert frame["borda@3"].to_list() == [2 / 6]


@pytest.mark.parametrize("name, module, declare", [
    ("borda", __name__, f"type: import {__name__}"),
    ("script", "__main__", "declare it here as well, or in a module that both programs import"),
])  # fmt: skip
def test_an_unknown_metric_of_a_state_says_what_to_do(name, module, declare, monkeypatch):
    monkeypatch.setitem(globals(), "__name__", module)
    declare_borda(name)
    evaluator = Evaluator(TRUTH, [f"{name}@3"])
    evaluator.update(SCORES)
    state = evaluator.state()
    METRICS.pop(name)
    with pytest.raises(UnknownMetricError, match=rf"{name}@3 is a metric .*; {declare}$"):
        Evaluator(TRUTH, ["ndcg@1"]).from_state(state)


def test_a_saved_result_of_an_unknown_metric_says_what_to_do():
    """Its direction is not known either, so that no model is the best."""
    declare_borda(higher_is_better=False)
    saved = pickle.dumps(Metrics.evaluate(SCORES, TRUTH, ["borda@3"]))
    METRICS.pop("borda")
    results = {"old": pickle.loads(saved), "new": pickle.loads(saved)}
    message = "^the metric 'borda' was declared .*; import the module that declares it$"
    with pytest.raises(UnknownMetricError, match=message):
        recmetrics.compare(results)


def test_declaring_again_in_the_same_module_replaces():
    declare_borda()
    declare_borda(bounds=(0.0, 2.0))
    assert recmetrics.explain("borda").bounds == (0.0, 2.0)


def declare_redone(value):
    @recmetrics.metric(formula=f"{value} in {{top}}")
    def redone(user: OneUser, k: int) -> float:
        """A number."""
        return value if user.gains[:k] else math.nan


def values_of_redone():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    metric, scores, truth = "redone@2", [[3, 2, 1]], [[1, 0, 0]]
    evaluator = Evaluator(truth, metric)
    evaluator.update(scores)
    stream = StreamEvaluator(metric)
    stream.update(scores, truth)
    recs = pd.DataFrame({"user": [0, 0], "item": [0, 1], "score": [3.0, 2.0]})
    frame = recmetrics.tables.evaluate_table(recs, recs[:1], [metric])
    return [
        Metrics.compute(scores, truth, metric)[metric].item(),
        Metrics.compute_ranked([[0, 1]], truth, metric)[metric].item(),
        Metrics.compute_factors([[1.0]], [[3.0], [2.0]], [[1, 0]], metric)[metric].item(),
        Metrics.compute_groups([3, 2, 1], [1, 0, 0], metric, sizes=[3])[metric].item(),
        Metrics.evaluate(scores, truth, metric).values[metric].item(),
        evaluator.compute()[metric].item(),
        stream.compute()[metric].item(),
        frame[metric].item(),
        float(recmetrics.explain(metric).formula.partition(" ")[0]),
        recmetrics.identify(scores, truth, 0.5, metric).nearest.mean,
    ]


def test_a_metric_that_is_declared_anew_has_its_new_values_everywhere():
    declare_redone(0.25)
    assert values_of_redone() == [0.25] * 10
    declare_redone(0.75)
    assert values_of_redone() == [0.75] * 10


def run_a_cell(factor):
    cell = (
        "@recmetrics.metric(bounds=(0, 10))\n"
        "def scaled(user, k):\n"
        "    'hits'\n"
        f"    return {factor} * sum(gain > 0 for gain in user.gains)"
    )
    exec(cell, {"__name__": "cell", "recmetrics": recmetrics})


def updated(scores, truth, metric):
    evaluator = Evaluator(truth, metric)
    evaluator.update(scores)
    return evaluator


@pytest.mark.parametrize("evaluate", [Metrics.evaluate, updated])
def test_two_functions_of_one_name_are_not_compared(evaluate):
    truth = np.eye(12)
    results = {}
    for name, factor in [("old", 1.0), ("same", 1.0), ("new", 2.0)]:
        run_a_cell(factor)
        results[name] = evaluate(truth[::-1], truth, "scaled@3")
    recmetrics.compare({name: results[name] for name in ("old", "same")})
    with pytest.raises(InputError) as caught:
        recmetrics.compare(results)
    assert str(caught.value) == (
        "metric 'scaled@3' of 'old' and that of 'new' are of two functions, since its name was "
        "declared anew; expected one definition: evaluate both again"
    )


def test_functions_that_differ_in_a_variable_around_them_are_not_compared():
    results = {}
    for value in (0.25, 0.75):
        declare_redone(value)
        results[f"{value}"] = Metrics.evaluate(SCORES, TRUTH, "redone@2")
    with pytest.raises(InputError, match=r"^metric 'redone@2' of '0.25' and that of '0.75' are "):
        recmetrics.compare(results)


def test_objects_of_one_name_are_not_compared():
    class Constant:
        __module__, __name__ = __name__, "constant"

        def __call__(self, user, k):
            return min(0.5, len(user.gains[:k]))

    results = {}
    for name in ("old", "new"):
        recmetrics.metric(formula="a number")(Constant())
        results[name] = Metrics.evaluate(SCORES, TRUTH, "constant@2")
    with pytest.raises(InputError, match=r"^metric 'constant@2' of 'old' and that of 'new' are of"):
        recmetrics.compare(results)


def test_kernels_of_one_name_are_not_compared():
    results = {}
    for value in (0.25, 0.75):
        names = {}
        exec(f"def kernel(hits, k, out):\n    out[:] = {value}", names)

        @recmetrics.metric(formula="a number", kernel=numba.njit(nogil=True)(names["kernel"]))
        def constant(user, k):
            return min(0.5, len(user.gains[:k]))

        results[f"{value}"] = Metrics.evaluate(SCORES, TRUTH, "constant@2")
    with pytest.raises(InputError, match=r"^metric 'constant@2' of '0.25' and that of '0.75' are"):
        recmetrics.compare(results)


def test_an_evaluator_keeps_the_definition_with_which_it_was_made():
    @recmetrics.metric(bounds=(0, math.inf))
    def redone(user: OneUser, k: int, *, power: float = 2.0) -> float:
        """The length of the list, raised to a power."""
        return len(user.gains[:k]) ** power

    evaluator = Evaluator([[1, 0, 0]], "redone(power=3)@2")
    declare_redone(0.75)
    evaluator.update([[3, 2, 1]])
    assert evaluator.compute()["redone(power=3)@2"] == [2.0**3]


def test_a_state_is_read_with_the_metric_as_it_is_declared_now():
    @recmetrics.metric
    def redone(user: OneUser, k: int, *, power: float = 2.0) -> float:
        """The length of the list, raised to a power."""
        return len(user.gains[:k]) ** power

    state = Evaluator([[1, 0, 0]], "redone(power=3)@2").state()
    Evaluator.from_state(state)
    declare_redone(0.75)
    with pytest.raises(InputError, match="power"):
        Evaluator.from_state(state)


def test_a_bare_decorator_takes_the_formula_from_the_docstring():
    @recmetrics.metric
    def plain(user: OneUser, k: int) -> float:
        """The tenth of the number of ranks that are read.

        At most k.
        """
        return len(user.gains[:k]) / 10

    assert plain(OneUser([1.0, 0.0], [1.0], []), 1) == 0.1
    assert Metrics.compute(SCORES, TRUTH, "plain@3")["plain@3"].tolist() == [0.3, 0.3, 0.3]
    explained = recmetrics.explain("plain@3")
    assert (
        explained.formula == explained.summary == "The tenth of the number of ranks that are read."
    )


def test_a_summary_that_is_the_formula_has_the_cutoff():
    @recmetrics.metric
    def signed(user, k):
        """Hits - 1, in {top}, over {k}."""
        return (sum(gain > 0 for gain in user.gains) - 1) / k

    explained = recmetrics.explain("signed@3")
    assert explained.formula == explained.summary == "Hits - 1, in the top 3, over 3."
    assert "{" not in str(explained)


@pytest.mark.parametrize("value", [None, "0.5", 1j, [0.5]])
def test_a_definition_that_returns_no_number(value):
    @recmetrics.metric
    def lost(user: OneUser, k: int) -> float:
        """What the first rank holds."""
        return value if user.gains[:k] else math.nan

    with pytest.raises(InputTypeError) as caught:
        Metrics.compute(SCORES, TRUTH, "lost@1")
    assert str(caught.value) == (
        f"the function lost of a metric must return a number, got {value!r}; return math.nan where "
        "the metric is undefined"
    )


@pytest.mark.parametrize("field", ["scores", "propensities", "relevant_propensities"])
def test_a_definition_that_reads_what_it_does_not_get(field):
    @recmetrics.metric
    def lost(user: OneUser, k: int) -> float:
        """What the items of the top are worth."""
        return sum(getattr(user, field)[:k])

    with pytest.raises(ArgumentError, match=rf"^the function of a metric reads user\.{field}, "):
        Metrics.compute(SCORES, TRUTH, "lost@1", propensity=[0.5] * 4)


@pytest.mark.parametrize("kind", [bool, int, np.bool_, np.float32])
def test_a_definition_may_return_any_number(kind):
    @recmetrics.metric
    def found(user: OneUser, k: int) -> float:
        """Whether any of the top is relevant."""
        return kind(any(user.gains[:k]))

    assert Metrics.compute(SCORES, TRUTH, "found@2")["found@2"].tolist() == [1.0, 0.0, 0.0]


def positional(user: OneUser, k: int, power: float = 2.0) -> float:
    """The length of the list, raised to a power."""
    return len(user.gains[:k]) ** power


def gathering(user, k, *, power: float = 2.0, **more):
    """The length of the list, raised to a power."""
    return len(user.gains[:k]) ** power + len(more)


def without_cutoff(user, *, k: int = 2):
    """The length of the list."""
    return len(user.gains[:k])


def undescribed(user, k):
    return len(user.gains[:k])


@pytest.mark.parametrize(
    ("definition", "keywords", "message"),
    [
        (
            positional, {},
            r"the user and k, with its options after \*, got power; write power after \*: def "
            r"positional\(user: .*OneUser, k: int, \*, power: float = 2.0\)$",
        ),
        (gathering, {}, r"got \*\*more; leave out \*\*more, and write each option as a param"),
        (without_cutoff, {}, r"got user; type def without_cutoff\(user, k\)$"),
        (
            undescribed, {},
            "has no formula; write it in the first line of the docstring, or type @recmetrics",
        ),
        (
            undescribed, {"formula": "k^{p}"},
            r"the formula 'k\^{p}' has {p}, which stands for nothing; expected one of k, top, .*, "
            "or leave out the braces$",
        ),
        ("hits / k", {}, r"got 'hits / k'; type @recmetrics.metric or @recmetrics.metric\(formula"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_read(definition, keywords, message):
    before = dict(METRICS)
    with pytest.raises(ArgumentError, match=message):
        recmetrics.metric(**keywords)(definition) if keywords else recmetrics.metric(definition)
    assert before == METRICS


@pytest.mark.parametrize(
    "bounds", [(1, 0), (0, 0), (0, math.nan), (math.nan, 1), None, 1, (0, 1, 2), "01", (0, None)]
)
def test_bounds_that_are_no_range(bounds):
    message = r"^bounds must be two numbers, the least and the greatest value, .*, got "
    with pytest.raises(ArgumentError, match=message) as caught:
        recmetrics.metric(bounds=bounds)
    assert caught.value.argument == "bounds"


def test_bounds_may_be_infinite_or_of_numpy():
    declare_borda(bounds=[np.float32(-0.5), math.inf])
    assert recmetrics.explain("borda").bounds == (-0.5, math.inf)


def test_a_direction_that_is_no_flag():
    with pytest.raises(ArgumentError, match=r"^higher_is_better must be True or False, got 'no'$"):
        recmetrics.metric(higher_is_better="no")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndcg", "the metric 'ndcg' exists; give the function another name"),
        ("hit_rate", "the metric 'hit_rate' exists; give the function another name"),
        ("ntruth", "'ntruth' is a column of counts in tables; give the function another name"),
        ("nrecs_at_k", "'nrecs' is a column of counts in tables; give the function another name"),
        ("Borda", "must have a name of small letters, digits and '_', got 'Borda'"),
    ],
)
def test_a_name_that_is_taken_or_cannot_be_typed(name, message):
    with pytest.raises(ArgumentError, match=message):
        declare_borda(name)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("x=1.0", "must have a default and be annotated"),
        ("x: int = 1", "must have a default and be annotated"),
        ("x: float", "must have a default and be annotated"),
        ("gain: float = 1.0", "a name that the library keeps for itself; rename it"),
        ("out: float = 1.0", "a name that the library keeps for itself; rename it"),
        ("hits: float = 1.0", "a name that the library keeps for itself; rename it"),
        ("rel: Literal['a', 'b'] = 'a'", "a name that the library keeps for itself; rename it"),
        ("Rel: float = 1.0", "a name of small letters, digits and '_', got 'Rel' of metric 'own'"),
        ("x: Literal[1, 2] = 1", "has the choice 1, which no metric string can spell; expected"),
        ("x: Literal['a', 'b c'] = 'a'", "has the choice 'b c', which no metric string can spell"),
        ("x: Literal['a', 'b,c'] = 'a'", "has the choice 'b,c', which no metric string can spell"),
        ("x: Literal['a', 'b)'] = 'a'", r"has the choice 'b\)', which no metric string can spell"),
        ("x: Literal['a', 'B'] = 'a'", "has the choice 'B', which no metric string can spell"),
        ("x: Literal['a', ''] = 'a'", "has the choice '', which no metric string can spell"),
        ("x: Literal['a', 'b'] = 'c'", "no value of it: x must be 'a' or 'b', got 'c'"),
        ("x: Literal['a', 'b'] = None", "no value of it: None is none of its choices"),
        ("x: float = 'c'", "the default of the option 'x' .*: x must be a finite number, got 'c'"),
        ("x: float = float('nan')", "no value of it: x must be a finite number, got nan"),
    ],
)
def test_an_option_that_cannot_be_read(option, message):
    names = {"Literal": Literal}
    exec(f"def own(user, k, *, {option}): 'one'", names)
    with pytest.raises(ArgumentError, match=message):
        recmetrics.metric(formula="none")(names["own"])


def test_an_error_of_the_function_names_the_metric_and_the_user():
    @recmetrics.metric(formula="the second relevance")
    def second(user, k):
        return user.relevances[k - 2]

    with pytest.raises(IndexError) as caught:
        Metrics.compute(SCORES, TRUTH, "second@3")
    call = (
        "second(OneUser(gains=[0.0, 0.0, 0.0], relevances=[1.0], scores=[], propensities=(), "
        "relevant_propensities=()), 3)"
    )
    assert caught.value.__notes__ == [f"in the metric 'second', called as {call}"]


def test_a_note_says_of_nan_that_the_function_gives_it():
    @recmetrics.metric
    def top_grade(user, k, *, rel: float = 1.0):
        """Whether the item at rank {k} has a relevance of {rel} or more; NaN where it has none."""
        gain = user.gains[k - 1]
        return float(gain >= rel) if gain else math.nan

    metric, scores = "top_grade(rel=3)@1", [[1, 2, 3, 4], [1, 2, 3, 4], [2, 2, 1, 0]]
    evaluation = Metrics.evaluate(scores, TRUTH, metric)  # two lists begin without relevance
    np.testing.assert_array_equal(evaluation.values[metric], [1, np.nan, np.nan])
    why = "2 of 3 users have no value (it gives NaN)"
    assert f"left out: {why}" in evaluation.to_dict()["notes"]
    with pytest.raises(UndefinedMetricError) as caught:
        Metrics.compute(scores, TRUTH, metric, undefined="raise")
    assert str(caught.value).startswith(f"{metric} is undefined: {why}, the first is user 1; ")
    assert recmetrics.explain(metric).nan_if == "it gives NaN"
    counted = Metrics.evaluate(scores, TRUTH, "top_grade@1", undefined="zero")
    assert not any("no relevant item" in note for note in counted.notes)


def test_values_outside_the_bounds_are_told():
    def declare(**bounds):
        @recmetrics.metric(formula="the number of relevances", **bounds)
        def number(user, k):
            return float(len(user.relevances[:k]))

    declare(bounds=(0, math.inf))
    truth = [[0, 1, 0, 3], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert Metrics.compute(SCORES, truth, "number@2")["number@2"].tolist() == [2, 1, 0]
    declare()
    message = (
        "number@2 leaves its bounds 0 and 1, which intervals and gates use: it is 2 for {}; "
        "declare them with @recmetrics.metric(bounds=(least, greatest))"
    )
    with pytest.warns(RecmetricsWarning) as warned:
        Metrics.compute(SCORES, truth, "number@2")
    assert [str(each.message) for each in warned] == [message.format("user 0")]
    evaluator = recmetrics.Evaluator(truth[::-1], "number@2")  # which gets the user in its second
    evaluator.update(SCORES[:2], [0, 1])
    evaluator.update(SCORES[2:], [2])
    with pytest.warns(RecmetricsWarning) as warned:
        evaluator.compute()
    assert [str(each.message) for each in warned] == [message.format("user 2")]


def test_the_user_outside_the_bounds_is_named_in_a_call_of_blocks():
    @recmetrics.metric(formula="the number of relevances")
    def number(user, k):
        return float(len(user.relevances[:k]))

    n_users = 1 << 17  # more than a block has
    scores = np.zeros((n_users, 2), np.float32)
    truth = np.zeros((n_users, 2), bool)
    truth[:, 0] = True
    truth[-1] = True
    with pytest.warns(RecmetricsWarning, match=f"is 2 for user {n_users - 1}; ") as warned:
        Metrics.compute(scores, truth, "number@2")
    assert warned[0].filename == __file__


def test_a_value_at_its_bounds_may_be_rounded():
    @recmetrics.metric(formula="almost 1")
    def almost(user, k):
        return min(len(user.gains), k) / k + 1e-15

    assert Metrics.compute(SCORES, TRUTH, "almost@2")["almost@2"][0] > 1

    @recmetrics.metric(formula="1, in float32")
    def single(user, k):
        return np.nextafter(np.float32(min(len(user.gains), k) / k), np.float32(2))

    with pytest.warns(RecmetricsWarning, match=r"bounds 0 and 1.*: it is 1\.00000012 for user 0;"):
        Metrics.compute(SCORES, TRUTH, "single@2")


def test_the_type_of_the_user_need_not_exist_at_run_time():
    source = (
        "from __future__ import annotations\n"
        "def typed(user: OneUser, k: int, *, x: float = 1.0) -> float:\n"
        "    'Typed.'\n"
        "    return x\n"
    )
    names = {"__name__": __name__}
    exec(source, names)
    recmetrics.metric(names["typed"])
    assert Metrics.compute(SCORES, TRUTH, "typed(x=0.5)@2")["typed(x=0.5)@2"][0] == 0.5


def test_only_the_function_knows_what_it_does_with_grades_and_without_truth():
    declare_borda()
    explanation = recmetrics.explain("borda@3")
    assert explanation.graded == "its function decides"
    assert explanation.no_relevant_item == "its function decides"


def test_ties_are_by_item_index_without_a_kernel():
    declare_borda()
    with pytest.raises(ArgumentError, match="is declared without kernel="):
        Metrics.compute(SCORES, TRUTH, "borda@3", ties="expected")
    with pytest.raises(ArgumentError, match="has no chance level: it is declared without kernel="):
        Metrics.chance(TRUTH, "borda@3")
