"""explain: what a metric string means, in words that follow its options."""

import html
import math
import re

import pytest
from asserts import message_of
from inside import CONVENTIONS, METRICS, MetricSpec, make_spec

import recmetrics
from recmetrics import UnknownMetricError, explain
from recmetrics._inspection import formula_of

EVERY_METRIC = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@pytest.mark.parametrize(
    "metric, formula",
    [
        ("hit@3", "1 if any of the top 3 is relevant, else 0"),
        ("hit", "1 if any of the list is relevant, else 0"),
        ("hit(rel=2.5)@3", "1 if any of the top 3 is relevant, else 0; relevant: relevance >= 2.5"),
        ("precision(denom=list)@5", "hits in the top 5 / min(5, length of the list)"),
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
        (
            "rbp(p=0.5, normalize=yes)@2",
            "sum of 0.5^(rank - 1) over the hits in the top 2, divided by the same sum over the "
            "ranks 1 .. min(R, 2, length of the list)",
        ),
        ("map(over=ranks)@4", "mean of the precision at every rank down to 4"),
        ("recall(denom=list)@4", "hits in the top 4 / min(R, 4, length of the list)"),
        (
            "f1(beta=2)@4",
            "(1 + 2^2) precision recall / (2^2 precision + recall), 0 without hits; precision = "
            "hits in the top 4 / 4, recall = hits in the top 4 / min(R, 4)",
        ),
        (
            "auc@5",
            "share of the pairs (relevant item, other item), both in the top 5, in which the "
            "relevant item has the better rank; 0 without hits, 1 with hits only",
        ),
        (
            "exposure_gini(discount=geometric, p=0.5, denom=n-1)@5",
            "n / (n - 1) times the Gini coefficient of the exposure of the n items of the "
            "catalogue, where a rank counts 0.5^(rank - 1)",
        ),
        (
            "dcg(rel=2)@5",
            "sum over the top 5 of relevance / log2(rank + 1); relevance >= 2 counts as 1, less "
            "as 0",
        ),
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
            "share(discount=log2, denom=k, of=tail)@5",
            "number of items of the top 5 in the stratum tail / number of ranks from 1 to 5; each "
            "counts 1 / log2(rank + 1)",
        ),
        (
            "long_tail(tail=0.5)@5",
            "share of the top 5 outside the head; the head: the smallest set of the most popular "
            "items that has at least 1 - 0.5 of the interactions",
        ),
    ],
)
def test_the_formula_follows_the_options(metric, formula):
    assert explain(metric).formula == formula


@pytest.mark.parametrize(
    ("metric", "sources"),
    [
        ("recall@10", ["Liang"]),
        ("recall(denom=relevant)@10", ["Manning"]),
        ("recall(denom=relevant, weigh=snips)@10", ["Manning", "Yang"]),
        ("recall(weigh=ps)@10", ["Jain"]),
        ("precision@10", ["Manning"]),
        ("precision(denom=list, weigh=ips)@10", ["Yang", "Jain"]),
        ("ndcg(rel=2)@10", ["Jarvelin"]),
        ("dcg(gain=exp2, weigh=snips)", ["Burges", "Yang"]),
    ],
)
def test_options_have_sources_of_their_own(metric, sources):
    assert re.findall(r"(?:^|; )(\w+)", explain(metric).citation) == sources


@EVERY_METRIC
def test_every_choice_changes_the_formula(metric):
    for option in metric.options.values():
        for value in option.choices:
            if (metric.name, value) == ("f1", "capped"):
                continue  # the same as k: each names one of two defaults
            if value == option.default:
                continue
            spec = MetricSpec(metric.name, 7, ((option.name, value),))
            assert formula_of(spec) != formula_of(MetricSpec(metric.name, spec.k))
            assert "{" not in formula_of(spec)


@EVERY_METRIC
def test_the_cutoff_is_a_number_wherever_there_is_one(metric):
    formula = formula_of(MetricSpec(metric.name, 7))
    assert re.search(r"\bk\b", formula) is None
    assert ("7" in formula) == bool(re.search(r"\bk\b", metric.formula))
    assert re.search(r"\bk\b", formula_of(MetricSpec(metric.name))) is None


@EVERY_METRIC
def test_the_short_formula_and_the_filled_one_agree(metric):
    named = {name: option.default for name, option in metric.options.items() if not option.choices}
    short = metric.formula
    if metric.default_k is None:
        short = short.partition(f"; {metric.name}@k: ")[2]
    for name in metric.written.varies:
        short = short.partition(f"; {name}=")[0]
    if not any(named.values()) and "max_rel" not in named:  # numbers stand for themselves there
        assert formula_of(MetricSpec(metric.name, 7)) == re.sub(r"\bk\b", "7", short)


def test_a_table_names_the_other_choices_of_a_divisor():
    by_name = {name: METRICS[name].formula for name in ("precision", "map", "rbp", "ndcg")}
    assert by_name == {
        "precision": "hits in the top k / k; denom=list: / min(k, length of the list)",
        "map": "sum of the precision at each hit in the top k / min(R, k); denom=relevant: / R; "
        "denom=hits: / hits found; denom=list: / min(R, k, length of the list); denom=k: / k; "
        "over=ranks: mean of the precision at every rank down to k",
        "rbp": "(1 - p) times the sum of p^(rank - 1) over the hits in the top k; normalize=yes: "
        "sum of p^(rank - 1) over the hits in the top k, divided by the same sum over the ranks "
        "1 .. min(R, k, length of the list)",
        "ndcg": "sum over the top k of relevance / log2(rank + 1), divided by the same sum of the "
        "ideal: the user's relevances in descending order, the first k",
    }


def test_the_systems_that_compute_exactly_this():
    assert explain("dcg@5").systems == (
        "ranx: dcg@5 (a user without relevant items is left out)",
        "scikit-learn: dcg_score([truth], [scores], k=5) (equal scores: the mean over all "
        "their orders)",
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
    assert explain("recall@5").no_relevant_item == "NaN, unless undefined= is given"
    assert explain("dcg@5").no_relevant_item == (
        "0, the sum of no gains; an error with undefined='raise'"
    )
    assert explain("cg").no_relevant_item == explain("dcg@5").no_relevant_item
    assert explain("recall@5", convention="torchmetrics").no_relevant_item == (
        "0, as in the convention, unless undefined= is given"
    )
    assert explain("map@5", convention="lightgbm").no_relevant_item == (
        "1, as in the convention, unless undefined= is given"
    )
    assert explain("dcg@5", convention="ranx").no_relevant_item == (
        "NaN, as in the convention; 0, the sum of no gains, if undefined= is given"
    )
    assert explain("recall@5").nan_if == ""
    assert explain("auc").nan_if == "only relevant ones"
    assert explain("auc", convention="torchmetrics").nan_if == ""
    fallout = explain("fallout@5")
    assert fallout.no_relevant_item == "has a value"
    assert fallout.nan_if == "every item that may be recommended is relevant"
    # RetrievalFallOut(top_k=1) of three items gives 1/3 without relevant items, 1 with only these.
    fallout = explain("fallout@1", convention="torchmetrics")
    rule = "a user where every item that may be recommended is relevant has 1"
    assert fallout.convention == f"torchmetrics: {rule}"
    assert fallout.systems == (f"torchmetrics: RetrievalFallOut(top_k=1) ({rule})",)
    assert (fallout.no_relevant_item, fallout.nan_if) == ("has a value", "")
    assert explain("serendipity@5").no_relevant_item == "NaN, unless undefined= is given"
    without_items = "without a cutoff no item that may be recommended"
    assert (explain("mean_rank").nan_if, explain("mean_rank@5").nan_if) == (without_items, "")
    popularity = explain("popularity@5")
    assert (popularity.nan_if, "NaN" in str(popularity)) == ("", False)
    diversity = explain("diversity@5")
    assert diversity.no_relevant_item == "as other users, since the truth is not read"
    assert "NaN if       a list of fewer than two items" in str(diversity).splitlines()


def test_how_graded_truth_is_read():
    assert explain("hit@5").graded.endswith("its relevance is > 0")
    assert explain("hit(rel=3)@5").graded.endswith("its relevance is >= 3")
    assert explain("ndcg@5").graded == "the grades count as in the formula"
    assert explain("ndcg(rel=2)@5").graded.endswith("its relevance is >= 2")
    assert explain("cg(gain=binary)").graded.endswith("its relevance is > 0")
    assert explain("dcg(gain=exp2)").graded == explain("err").graded == explain("ndcg").graded
    assert explain("coverage@5").graded == "the truth is not read"


def test_how_ties_are_treated():
    assert explain("auc").ties == "a pair of equal scores counts 1/2"
    by_index = "equal scores rank by the lower item index"
    assert explain("auc@5").ties == by_index
    assert explain("mrr").ties == f"{by_index}, unless ties= is given"
    assert explain("coverage@5").ties == by_index
    for metric in ("map(denom=hits)@3", "ndcg(ideal=retrieved)"):  # with them, ties= is refused
        assert explain(metric).ties == by_index
    assert explain("ndcg@5", convention="ranx").ties == explain("mrr").ties
    assert explain("ndcg@5", convention="sklearn").ties == (
        "the mean over all orders of equal scores, as in the convention, unless ties= is given"
    )
    assert explain("auc", convention="sklearn").ties == explain("auc").ties
    of_trec = f"{by_index}, in tables by the item id, the last first, unless ties= is given"
    assert explain("ndcg@5", convention="trec").ties == of_trec


def test_a_convention_names_what_it_means():
    explained = explain("ndcg@5", convention="lenskit")
    assert explained.metric == "ndcg(gain=binary, discount=log2_clip)@5"
    assert explained.systems == ("LensKit: NDCG(5) (a user without relevant items has 0)",)
    with pytest.raises(UnknownMetricError, match="convention 'lenskit' has no 'err@k'"):
        explain("err@5", convention="lenskit")


@pytest.mark.parametrize(
    "metric, convention, changes",
    [
        ("hit@5", "rectools", "RecTools: changes nothing"),
        ("MRR @ 5", "recbole", "RecBole: changes nothing"),
        ("recall(denom=relevant)@5", "ranx", "ranx: changes nothing"),
        ("recall@5", "ranx", "ranx: recall@5 means recall(denom=relevant)@5"),
        ("map@5", "lightgbm", "LightGBM: a user without relevant items has 1"),
        ("dcg@5", "ranx", "ranx: a user without relevant items has NaN"),
        (
            "ndcg@5",
            "sklearn",
            "scikit-learn: a user without relevant items has 0; values are means over all orders "
            "of equal scores",
        ),
    ],
)
def test_what_a_convention_changes(metric, convention, changes):
    explained = explain(metric, convention=convention)
    assert explained.convention == changes
    assert f"convention   {changes}" in str(explained)
    assert "convention" not in str(explain(metric)).split("\n\n", 1)[1].split()[0]


def test_a_notebook_shows_its_facts_as_a_table():
    explained = explain("hit(rel=2)@3")
    cells = re.findall(r"<t[hd] [^>]*>(.*?)</t[hd]>", explained._repr_html_())
    assert cells[:4] == ["", explained.title, "formula", html.escape(explained.formula)]
    lines = str(explained).splitlines()[2:]
    pairs = zip(cells[2::2], cells[3::2], strict=True)
    assert [f"{label:<13}{html.unescape(fact)}" for label, fact in pairs] == lines


def test_it_prints_as_text():
    explained = explain("map(denom=relevant)@10")
    assert repr(explained) == str(explained)
    assert str(explained).splitlines() == [
        "map(denom=relevant)@10",
        "",
        "formula      sum of the precision at each hit in the top 10 / R",
        "same in      trec_eval: map_cut_10",
        "             RecTools: MAP(k=10)",
        "             ranx: map@10",
        "             irspack: Evaluator(truth, cutoff=10): map",
        "             Recommenders: map(rating_true, rating_pred, k=10)",
        "             recometrics: AP@10 (users with few recommendable items are left out)",
        "empty truth  NaN, unless undefined= is given",
        "graded       read as binary: an item is relevant if its relevance is > 0",
        "ties         equal scores rank by the lower item index, unless ties= is given",
        "bounds       [0, 1]",
        "citation     Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 2008, "
        "ch. 8; of a top k: average_precision_at_k of Kaggle's ml_metrics",
    ]
    assert str(explain("hit@3")).startswith("hit@3: 1 if any of the top k items is relevant")
    assert "no listed call of the systems that convention= knows" in str(explain("rbp@3"))
    assert explain("dcg").bounds == (0, math.inf)
    assert "bounds       [0, inf)" in str(explain("dcg"))


def test_a_string_that_cannot_be_read_is_the_error_of_compute():
    assert (
        message_of(UnknownMetricError, recmetrics.explain, "ndgc@10")
        == "in metric 'ndgc@10': unknown metric 'ndgc'; did you mean 'ndcg@10'?"
    )
