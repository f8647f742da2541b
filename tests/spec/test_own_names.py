"""Names that other systems have for metrics, and keywords that are meant for others."""

import re

import numpy as np
import pytest
from inside import CONVENTIONS, own_name

from recmetrics import Evaluator, Metrics, MetricSpecError, StreamEvaluator, compare, explain

SCORES, TRUTH = [[4, 3, 2, 1]], [[0, 2, 0, 1]]  # hits at ranks 2 and 4, of grades 2 and 1
THIRD = 1 / np.log2(3)  # the discount of rank 2


@pytest.mark.parametrize(
    "convention, name, value",
    [
        ("ranx", "r-precision", 1 / 2),
        ("ranx", "rbp.95", 0.05 * (0.95 + 0.95**3)),
        ("ranx", "hits@3", 1),
        ("ranx", "ndcg_burges@3", 3 * THIRD / (3 + THIRD)),
        ("trec", "P_2", 1 / 2),
        ("trec", "recall_2", 1 / 2),
        ("trec", "P.2", 1 / 2),
        ("trec", "map_cut.2", (1 / 2) / 2),
        ("trec", "relative_P_1", 0),
        ("trec", "relative_P_2", 1 / 2),
        ("recometrics", "TP@1", 0),
    ],
)
def test_the_own_names_of_a_system_under_its_convention(convention, name, value):
    got = Metrics.compute(SCORES, TRUTH, [name], convention=convention)
    assert list(got) == [name]
    assert got[name][0] == pytest.approx(value)
    assert Metrics.evaluate(SCORES, TRUTH, name, convention=convention).to_dict()["means"]
    assert explain(name, convention=convention).metric

    # Elsewhere, the message says what to type.
    with pytest.raises(MetricSpecError) as caught:
        Metrics.compute(SCORES, TRUTH, name)
    words = r"did you mean '(.+?)' with convention='(\w+)'"
    metric, system = re.search(words, str(caught.value)).groups()
    typed = Metrics.compute(SCORES, TRUTH, metric, convention=system)
    assert typed[metric][0] == pytest.approx(value)


@pytest.mark.parametrize(
    "convention, name, values",
    [
        ("sklearn", "label_ranking_average_precision_score", [(1 / 2 + 2 / 4) / 2, 1]),
        ("xgboost", "pre@2", [1 / 2, 0]),
        ("cornac", "NCRR@2", [(1 / 2) / (1 + 1 / 2), np.nan]),
        ("recpack", "HitK@3", [1, np.nan]),
        ("recpack", "DiscountedGainK@2", [THIRD, np.nan]),
        ("recbole", "GAUC", [(1 + 0) / (2 * 2), np.nan]),
        ("torchmetrics", "RetrievalMAP", [(1 / 2 + 2 / 4) / 2, 0]),
    ],
)
def test_a_name_in_the_calls_of_a_system_is_answered_with_its_metric(convention, name, values):
    """Also for a user without relevant items."""
    with pytest.raises(MetricSpecError) as caught:
        Metrics.compute(SCORES, TRUTH, name, convention=convention)
    assert str(caught.value).startswith(f"unknown metric {name!r}; did you mean ")
    words = r"did you mean '(.+?)'(?: with undefined='(\w+)')?, which is "
    metric, undefined = re.search(words, str(caught.value)).groups()
    scores, truth = SCORES * 2, [*TRUTH, [0, 0, 0, 0]]
    typed = Metrics.compute(scores, truth, metric, convention=convention, undefined=undefined)
    np.testing.assert_allclose(typed[metric], values)


def test_a_name_in_calls_with_a_cutoff_alone():
    with pytest.raises(MetricSpecError, match=r"did you mean 'cg@k', which is HitK\(K=k\) of Rec"):
        Metrics.compute(SCORES, TRUTH, "HitK", convention="recpack")


@pytest.mark.parametrize("name", ["MAR@2", "ARP@2", "APLT@2", "PRAUC", "LAUC"])
@pytest.mark.parametrize("convention", [None, "elliot"])
def test_a_measure_of_a_short_name_is_no_other_one(name, convention):
    with pytest.raises(MetricSpecError, match=r"unknown metric '[a-z]+'; choose from hit, "):
        Metrics.compute(SCORES, TRUTH, name, convention=convention)


@pytest.mark.parametrize("typed", ["mmr", "mrrr", "rmr"])
def test_a_letter_too_many_or_out_of_place_in_a_short_name(typed):
    with pytest.raises(MetricSpecError, match="did you mean 'mrr'"):
        Metrics.compute(SCORES, TRUTH, typed)


def test_own_names_have_the_policies_of_the_plain_metric():
    """A variant with a name has no other value for users without relevant items, nor other ties."""
    n_names = 0
    for convention, system in CONVENTIONS.items():
        plain = {line.metric: line for line in system.lines}
        for line in system.variants:
            if own_name(line.call.replace("{k}", "3"), convention):
                n_names += 1
                policies = plain[line.metric].undefined, plain[line.metric].ties
                assert (line.undefined, line.ties) == policies
    assert n_names >= 9


def test_the_nearest_keyword_is_named():
    for call, named in (
        (lambda: Metrics.compute(SCORES, TRUTH, "mrr", exclud=TRUTH), "did you mean 'exclude='?"),
        (lambda: Evaluator(TRUTH, "mrr", exclud=TRUTH), "did you mean 'exclude='?"),
        (lambda: StreamEvaluator("mrr", undefind="zero"), "did you mean 'undefined='?"),
    ):
        with pytest.raises(TypeError, match=re.escape(named)):
            call()
    for keyword in ("group", "groups", "group_id"):
        with pytest.raises(TypeError, match="type ids= for the group of each row, or sizes= for"):
            Metrics.compute_groups([2, 1], [0, 1], "mrr", **{keyword: [2]})
    assert Metrics.compute_groups([2, 1], [0, 1], "mrr", sizes=[2])["mrr"] == 1 / 2
    assert Metrics.compute_groups([2, 1], [0, 1], "mrr", ids=["q", "q"])["mrr"] == 1 / 2
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzzzz'$"):
        Metrics.compute(SCORES, TRUTH, "mrr", zzzzz=1)


@pytest.mark.parametrize("make", [lambda: Evaluator(TRUTH, "mrr"), lambda: StreamEvaluator("mrr")])
def test_a_prefix_is_a_keyword(make):
    evaluator = make()
    with pytest.raises(TypeError, match=r"mean\(\) takes prefix as a keyword only; type prefix='v"):
        evaluator.mean("val/")
    with pytest.raises(TypeError, match=r"mean\(\) takes 1 positional argument but 2 were given$"):
        evaluator.mean(3)
    arguments = (SCORES,) if isinstance(evaluator, Evaluator) else (SCORES, TRUTH)
    evaluator.update(*arguments)
    assert evaluator.mean(prefix="val/") == {"val/mrr": 1 / 2}


def test_every_metric_of_a_frame_is_named():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    frames = {
        model: pd.DataFrame({"user": [1, 2, 3], "map": values, "clicks per view": values})
        for model, values in (("a", [0.1, 0.2, 0.3]), ("b", [0.2, 0.2, 0.4]))
    }
    with pytest.raises(ValueError, match="type metrics=") as caught:
        compare(frames)
    metrics = eval(re.search(r"metrics=(\[.*?\])", str(caught.value))[1])
    assert metrics == ["map", "clicks per view"]
    compared = compare(frames, metrics=metrics)
    assert list(compared.metrics) == metrics
    assert compared.means[0].n_users == 3
