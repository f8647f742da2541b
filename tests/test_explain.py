"""explain: what a metric string means, in words that follow its options."""

import math
import re

import pytest

import recmetrics
from recmetrics import MetricSpecError, UnknownMetricError, explain
from recmetrics._explain import formula_of
from recmetrics._spec.conventions import CONVENTIONS
from recmetrics._spec.grammar import MetricSpec, make_spec
from recmetrics._spec.registry import METRICS

EVERY_METRIC = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@pytest.mark.parametrize(
    "metric, formula",
    [
        ("hit@3", "1 if any of the top 3 is relevant, else 0"),
        ("hit", "1 if any of the list is relevant, else 0"),
        ("hit(rel=2.5)@3", "1 if any of the top 3 is relevant, else 0; relevant: relevance >= 2.5"),
        ("precision@5", "hits in the top 5 / 5"),
        ("precision", "hits in the list / length of the list"),
        ("precision(denom=list)@5", "hits in the top 5 / min(5, length of the list)"),
        ("precision(denom=list)", "hits in the list / length of the list"),
        ("recall@20", "hits in the top 20 / min(R, 20)"),
        ("recall(denom=relevant)@20", "hits in the top 20 / R"),
        (
            "f1(denom=list+relevant)@5",
            "2 precision recall / (precision + recall), 0 without hits; precision = hits in the "
            "top 5 / min(5, length of the list), recall = hits in the top 5 / R",
        ),
        ("map(denom=hits)@10", "sum of the precision at each hit in the top 10 / hits found"),
        ("map", "sum of the precision at each hit in the list / min(R, length of the list)"),
        (
            "ndcg(gain=exp2, discount=ln, ideal_depth=all)@5",
            "sum over the top 5 of (2^relevance - 1) / ln(rank + 1), divided by the same sum of "
            "the ideal: the user's relevances in descending order, all of them",
        ),
        (
            "ndcg(ideal=retrieved, ideal_depth=list)",
            "sum over the list of relevance / log2(rank + 1), divided by the same sum of the "
            "ideal: the relevances in the list in descending order, as many as the list has",
        ),
        (
            "ndcg(ideal_depth=full)",
            "sum over the list of relevance / log2(rank + 1), divided by the same sum of the "
            "ideal: the user's relevances in descending order, the largest at every rank of the "
            "list",
        ),
        ("dcg(discount=log2_clip)@9", "sum over the top 9 of relevance / max(log2(rank), 1)"),
        ("rbp(p=0.5)@2", "(1 - 0.5) times the sum of 0.5^(rank - 1) over the hits in the top 2"),
        (
            "err(max_rel=4)@2",
            "sum over the top 2 of P(rank) / rank times the product of 1 - P over the ranks "
            "before, P = (2^relevance - 1) / 2^4",
        ),
        (
            "novelty(denom=k, unseen=skip)@5",
            "1 / 5 times the sum of -log2(popularity) over the top 5, items of popularity 0 "
            "left out",
        ),
        (
            "long_tail(tail=0.5)@5",
            "share of the top 5 outside the head: the fewest most popular items that have 1 - 0.5 "
            "of the interactions",
        ),
    ],
)
def test_the_formula_follows_the_options(metric, formula):
    assert explain(metric).formula == formula


@EVERY_METRIC
def test_every_choice_changes_the_formula(metric):
    for option in metric.options.values():
        for value in option.choices:
            if (metric.name, value) == ("f1", "capped"):
                continue  # the same as k: each names one of two defaults
            if value == option.default:
                continue
            spec = MetricSpec(metric.name, 7 if metric.takes_k else None, ((option.name, value),))
            assert formula_of(spec) != formula_of(MetricSpec(metric.name, spec.k))
            assert "{" not in formula_of(spec)


@EVERY_METRIC
def test_the_cutoff_is_a_number_wherever_there_is_one(metric):
    formula = formula_of(MetricSpec(metric.name, 7 if metric.takes_k else None))
    assert re.search(r"\bk\b", formula) is None
    assert ("7" in formula) == bool(re.search(r"\bk\b", metric.formula))
    assert re.search(r"\bk\b", formula_of(MetricSpec(metric.name))) is None


@EVERY_METRIC
def test_the_short_formula_and_the_filled_one_agree(metric):
    k = 7 if metric.takes_k else None
    named = {name: option.default for name, option in metric.options.items() if not option.choices}
    short = metric.formula
    if metric.written.varies is not None:
        short = short.partition(f"; {metric.written.varies}=")[0]
    if not any(named.values()) and "max_rel" not in named:  # numbers stand for themselves there
        assert formula_of(MetricSpec(metric.name, k)) == re.sub(r"\bk\b", "7", short)


def test_a_table_names_the_other_choices_of_a_divisor():
    by_name = {name: METRICS[name].formula for name in ("precision", "map", "rbp", "ndcg")}
    assert by_name == {
        "precision": "hits in the top k / k; denom=list: / min(k, length of the list)",
        "map": "sum of the precision at each hit in the top k / min(R, k); denom=relevant: / R; "
        "denom=hits: / hits found",
        "rbp": "(1 - p) times the sum of p^(rank - 1) over the hits in the top k",
        "ndcg": "sum over the top k of relevance / log2(rank + 1), divided by the same sum of the "
        "ideal: the user's relevances in descending order, the first k",
    }


def test_the_systems_that_compute_exactly_this():
    assert explain("map(denom=hits)@10").systems == (
        "torchmetrics: RetrievalMAP(top_k=10) (0 without relevant items)",
    )
    assert explain("recall@20").systems == (
        "rectorch: Metrics.recall_at_k(scores, truth, 20)",
        "LensKit: recall(recs, truth, k=20)",
        "RecTools: Precision(k=20, r_precision=True)",
        "irspack: Evaluator(truth, cutoff=20, recall_with_cutoff=True): recall",
    )
    assert explain("ndcg(ideal_depth=list)@5").systems == (
        "irspack: Evaluator(truth, cutoff=5): ndcg (of truth as 0 or 1)",
    )
    assert explain("dcg@5").systems == (
        "ranx: dcg@5",
        "scikit-learn: dcg_score([truth], [scores], k=5) (the mean over all orders of ties)",
    )
    assert explain("ndcg(discount=ln)@5").systems == ()


def test_every_line_of_the_table_is_found():
    for system in CONVENTIONS.values():
        for line in (*system.lines, *system.variants):
            name, _, cutoff = line.metric.partition("@")
            spec = make_spec(name, 7 if cutoff else None, line.options)
            calls = [text.partition(": ")[2] for text in explain(str(spec)).systems]
            assert any(text.startswith(line.call.format(k=7)) for text in calls)


def test_what_a_user_without_relevant_items_gets():
    assert explain("recall@5").no_relevant_item == "NaN, unless undefined= says otherwise"
    assert explain("dcg@5").no_relevant_item == "0, by the formula"
    assert explain("recall@5", convention="ranx").no_relevant_item == (
        "0, as the convention has it, unless undefined= says otherwise"
    )
    assert explain("serendipity@5").no_relevant_item == "NaN, unless undefined= says otherwise"
    assert explain("diversity@5").no_relevant_item == (
        "a value like all others, since the truth is not read; NaN: a list of fewer than two items"
    )


def test_how_graded_truth_is_read():
    assert explain("hit@5").graded.endswith("its relevance is > 0")
    assert explain("hit(rel=3)@5").graded.endswith("its relevance is >= 3")
    assert explain("ndcg@5").graded == "grades weigh, as in the formula"
    assert explain("coverage@5").graded == "the truth is not read"


def test_how_ties_are_treated():
    assert explain("auc").ties == "a pair of equal scores counts 1/2"
    by_index = "equal scores rank by the lower item index"
    assert explain("mrr").ties == f"{by_index}, unless ties= says otherwise"
    assert explain("coverage@5").ties == by_index
    assert explain("ndcg@5", convention="ranx").ties == explain("mrr").ties
    assert explain("ndcg@5", convention="sklearn").ties == (
        "the mean over all orders, as the convention has it, unless ties= says otherwise"
    )
    assert explain("auc", convention="sklearn").ties == explain("auc").ties


def test_a_convention_names_what_it_means():
    explained = explain("ndcg@5", convention="lenskit")
    assert explained.metric == "ndcg(discount=log2_clip)@5"
    assert explained.systems == ("LensKit: ndcg(recs, truth, k=5)",)
    with pytest.raises(UnknownMetricError, match="convention 'lenskit' has no 'err@k'"):
        explain("err@5", convention="lenskit")


def test_it_prints_as_text():
    explained = explain("map(denom=relevant)@10")
    assert repr(explained) == str(explained)
    assert str(explained).splitlines() == [
        "map(denom=relevant)@10",
        "",
        "formula   sum of the precision at each hit in the top 10 / R",
        "same in   trec_eval: map_cut_10 (0 without relevant items)",
        "          RecTools: MAP(k=10)",
        "          ranx: map@10 (0 without relevant items)",
        "          irspack: Evaluator(truth, cutoff=10): map",
        "no truth  NaN, unless undefined= says otherwise",
        "graded    relevant or not: an item is relevant where its relevance is > 0",
        "ties      equal scores rank by the lower item index, unless ties= says otherwise",
        "bounds    [0, 1]",
        "citation  Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 2008, ch. 8",
    ]
    assert str(explain("hit@3")).startswith("hit@3: 1 if any of the top k items is relevant")
    assert "no system that the conventions cover" in str(explain("err@3"))
    assert explain("dcg").bounds == (0, math.inf)
    assert "bounds    [0, inf)" in str(explain("dcg"))


def test_a_string_that_cannot_be_read_is_the_error_of_compute():
    with pytest.raises(MetricSpecError) as caught:
        recmetrics.explain("ndgc@10")
    assert str(caught.value) == "in metric 'ndgc@10': unknown metric 'ndgc'; did you mean 'ndcg'?"
