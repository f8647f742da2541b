"""The definitions of other systems: one table.

A line gives the options with which this library computes what a system computes under the plain
name of a metric. A ``gap`` is a difference that the table cannot express. No line copies what is
wrong in a system rather than different: ``docs/systems.py`` says it, from which and from this table
the page ``docs/conventions.md`` is written.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from recmetrics._types import Convention, RankGaps, TiePolicy

NoTruth = Literal["nan", "zero", "one"]
"""The value of a user without relevant items; "nan" also where a system leaves the user out."""
TableTies = Literal["rows", "trec"]
"""The order of equal scores in a table: that of the rows, or that of trec_eval, which reads scores
as float32 and orders equal ones by item id, the last one first."""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one system."""

    written: str  # "ndcg(gain=binary)@k" with a cutoff, "ndcg(gain=binary)" for the whole list
    call: str  # in the words of the system, {k} for the cutoff
    undefined: NoTruth = "nan"
    gap: str = ""  # the remaining difference of the numbers
    ties: TiePolicy = "index"  # also where a system has another order, or none

    @property
    def metric(self) -> str:
        """The metric without its options: "ndcg@k"."""
        return re.sub(r"\(.*\)", "", self.written)

    @property
    def options(self) -> dict[str, str | float]:
        """The options of the metric."""
        pairs = re.findall(r"(\w+)=([^,)]+)", self.written)
        return {name: float(each) if each[0].isdecimal() else each for name, each in pairs}


class Variant(Line):
    """Another call of a system, without a plain name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system and its metrics."""

    name: str
    lines: tuple[Line, ...]
    variants: tuple[Line, ...] = ()
    rank_gaps: RankGaps = "close"  # "keep": it reads the numbers of a column of ranks
    table_ties: TableTies = "rows"


def _system(name: str, *lines: Line, **rules: Any) -> System:
    variants = tuple(line for line in lines if isinstance(line, Variant))
    plain = tuple(line for line in lines if not isinstance(line, Variant))
    return System(name=name, lines=plain, variants=variants, **rules)


_NO_LIST = "0 instead of NaN if no user has a relevant item"
_ALL_RELEVANT = "error if all items are relevant to a user"
_ABOVE_K = "lists in which every rank is above k are left out"
_CORNAC = "NaN instead of 0 if all relevant items are excluded"
_SPARK = 'RankingEvaluator(metricName="'
_FEW_ITEMS = "users with few recommendable items are left out"
_LENSKIT_STOPS = "error if a list has no truth"
CONVENTIONS: dict[Convention, System] = {
    "rectorch": _system(
        "rectorch",
        Line("hit@k", "Metrics.hit_at_k(scores, truth, {k})", "zero"),
        Line("recall@k", "Metrics.recall_at_k(scores, truth, {k})"),
        Line("mrr@k", "Metrics.mrr_at_k(scores, truth, {k})", "zero"),
        Line("ndcg(gain=binary)@k", "Metrics.ndcg_at_k(scores, truth, {k})"),
        Line("map@k", "Metrics.ap_at_k(scores, truth, {k})", gap="only in the dev branch"),
        Line(
            "auc",
            "Metrics.auc(scores, truth)",
            gap="only in the dev branch; a pair of equal scores counts 0 or 1, not 1/2",
        ),
    ),
    "lenskit": _system(
        "LensKit",
        Line("hit@k", "Hit({k})", "zero"),
        Line("hit", "Hit()", "zero"),
        Line("precision(denom=list)@k", "Precision({k})", "zero"),
        Line("precision", "Precision()", "zero"),
        Line("recall@k", "Recall({k})", "zero"),
        Line("recall(denom=relevant)", "Recall()", "zero"),
        Line("mrr@k", "RecipRank({k})", "zero"),
        Line("mrr", "RecipRank()", "zero"),
        Line("map(denom=list)@k", "AveragePrecision({k})", gap=_LENSKIT_STOPS),
        Line("map(denom=list)", "AveragePrecision()", gap=_LENSKIT_STOPS),
        Line("ndcg(gain=binary, discount=log2_clip)@k", "NDCG({k})", "zero"),
        Line("ndcg(gain=binary, discount=log2_clip, ideal_depth=all)", "NDCG()", "zero"),
        Line("dcg(gain=binary, discount=log2_clip)@k", "DCG({k})", "zero"),
        Line("dcg(gain=binary, discount=log2_clip)", "DCG()", "zero"),
        Line("rbp(p=0.85)@k", "RBP({k})", "zero"),
        Line("rbp(p=0.85)", "RBP()", "zero"),
        Line("gini@k", "ListGini({k}, items=items)"),
        Line("exposure_gini(discount=geometric, p=0.85)@k", "ExposureGini({k}, items=items)"),
        Variant("ndcg(discount=log2_clip)@k", "NDCG({k}, gain='rating')", "zero"),
        Variant("ndcg(discount=log2_clip, ideal_depth=all)", "NDCG(gain='rating')", "zero"),
        Variant("ndcg(gain=binary)@k", "NDCG({k}, weight=LogRankWeight(offset=1))", "zero"),
        Variant("ndcg@k", "NDCG({k}, weight=LogRankWeight(offset=1), gain='rating')", "zero"),
        Variant("dcg(discount=log2_clip)@k", "DCG({k}, gain='rating')", gap=_LENSKIT_STOPS),
        Variant(
            "rbp(p=0.85, normalize=yes)@k",
            "RBP({k}, normalize=True)",
            "zero",
            gap="error if a list is empty",
        ),
        Variant(
            "exposure_gini(discount=log2_clip)@k",
            "ExposureGini({k}, items=items, weight=LogRankWeight())",
        ),
        Variant(
            "exposure_gini@k", "ExposureGini({k}, items=items, weight=LogRankWeight(offset=1))"
        ),
    ),
    "lenskit-0.14": _system(
        "LensKit 0.14",
        Line("hit@k", "hit(recs, truth, k={k})"),
        Line("hit", "hit(recs, truth)"),
        Line("precision(denom=list)@k", "precision(recs, truth, k={k})"),
        Line("precision", "precision(recs, truth)"),
        Line("recall@k", "recall(recs, truth, k={k})"),
        Line("recall(denom=relevant)", "recall(recs, truth)"),
        Line("mrr@k", "recip_rank(recs, truth, k={k})"),
        Line("mrr", "recip_rank(recs, truth)"),
        Line("ndcg(discount=log2_clip)@k", "ndcg(recs, truth, k={k})"),
        Line("ndcg(discount=log2_clip, ideal_depth=all)", "ndcg(recs, truth)"),
        Line("dcg(discount=log2_clip)", "dcg(recs, truth)"),
        Variant("hit@k", "bulk: hit(recs, truth, k={k})", "zero", gap=_ABOVE_K),
        Variant("precision@k", "bulk: precision(recs, truth, k={k})", "zero", gap=_ABOVE_K),
        Variant("recall@k", "bulk: recall(recs, truth, k={k})", gap=_ABOVE_K),
        Variant("mrr@k", "bulk: recip_rank(recs, truth, k={k})", "zero", gap=_ABOVE_K),
        Variant("ndcg(discount=log2_clip)@k", "bulk: ndcg(recs, truth, k={k})"),
        rank_gaps="keep",
    ),
    "capri": _system(
        "CAPRI",
        Line("precision(denom=list)@k", "precisionk(actual, predicted[:{k}])", "zero"),
        Line("precision", "precisionk(actual, predicted)", "zero"),
        Line("recall(denom=relevant)@k", "recallk(actual, predicted[:{k}])"),
        Line("recall(denom=relevant)", "recallk(actual, predicted)"),
        Line("map@k", "mapk(actual, predicted[:{k}], {k})", "zero"),
        Line(
            "ndcg(gain=exp2, discount=ln, ideal_depth=all)@k",
            "ndcgk(actual, predicted, at={k})",
            "zero",
        ),
        Line("ndcg(gain=exp2, discount=ln, ideal_depth=all)", "ndcgk(actual, predicted)", "zero"),
        Line("dcg(gain=exp2, discount=ln)", "dcg(gains)", "zero"),
        Line("diversity", "listDiversity(predicted, similarity)"),
        Line(
            "novelty(denom=k, unseen=zero)@k",
            "novelty(predicted, pop, n_users, {k})",
            gap="infinite for an item with a count of 0 in pop; use unseen=inf for this",
        ),
        Line(
            "coverage",
            "catalogCoverage(lists, catalog)",
            gap="a percentage (times 100), rounded to 2 decimals",
        ),
        Line("personalization", "personalization(lists)"),
    ),
    "trec": _system(
        "trec_eval",
        Line("hit@k", "success_{k}"),
        Line("precision@k", "P_{k}"),
        Line("precision", "set_P"),
        Line("recall(denom=relevant)@k", "recall_{k}"),
        Line("recall(denom=relevant)", "set_recall"),
        Line("f1(denom=relevant)", "set_F"),
        Line("map(denom=relevant)@k", "map_cut_{k}"),
        Line("map(denom=relevant)", "map"),
        Line("mrr", "recip_rank"),
        Line("ndcg@k", "ndcg_cut_{k}"),
        Line("ndcg(ideal_depth=all)", "ndcg"),
        Line("r_precision", "Rprec"),
        Variant("recall@k", "relative_P_{k}"),
        Variant("recall", "set_relative_P"),
        table_ties="trec",
    ),
    "recbole": _system(
        "RecBole",
        Line("hit@k", "metrics: Hit, topk: {k}"),
        Line("precision@k", "metrics: Precision, topk: {k}"),
        Line("recall(denom=relevant)@k", "metrics: Recall, topk: {k}"),
        Line("map@k", "metrics: MAP, topk: {k}"),
        Line("mrr@k", "metrics: MRR, topk: {k}"),
        Line("ndcg(gain=binary)@k", "metrics: NDCG, topk: {k}"),
        Line(
            "auc", "metrics: GAUC", gap="the mean weighs each user by the number of relevant items"
        ),
    ),
    "rectools": _system(
        "RecTools",
        Line("hit@k", "HitRate(k={k})"),
        Line("precision@k", "Precision(k={k})"),
        Line("recall(denom=relevant)@k", "Recall(k={k})"),
        Line("f1(denom=relevant)@k", "F1Beta(k={k})"),
        Line("map(denom=relevant)@k", "MAP(k={k})"),
        Line("mrr@k", "MRR(k={k})"),
        Line("ndcg(gain=binary, ideal_depth=full)@k", "NDCG(k={k})"),
        Line("coverage@k", "CatalogCoverage(k={k}, normalize=True)"),
        Variant("ndcg(gain=binary)@k", "NDCG(k={k}, divide_by_achievable=True)"),
        Variant("recall@k", "Precision(k={k}, r_precision=True)"),
        Variant("map(denom=k)@k", "MAP(k={k}, divide_by_k=True)"),
        Variant("f1(denom=relevant, beta=2)@k", "F1Beta(k={k}, beta=2)"),
        rank_gaps="keep",
    ),
    "ranx": _system(
        "ranx",
        Line("hit@k", "hit_rate@{k}"),
        Line("hit", "hit_rate"),
        Line("precision@k", "precision@{k}"),
        Line("precision", "precision"),
        Line("recall(denom=relevant)@k", "recall@{k}"),
        Line("recall(denom=relevant)", "recall"),
        Line("f1(denom=relevant)@k", "f1@{k}"),
        Line("f1(denom=relevant)", "f1"),
        Line("map(denom=relevant)@k", "map@{k}"),
        Line("map(denom=relevant)", "map"),
        Line("mrr@k", "mrr@{k}"),
        Line("mrr", "mrr"),
        Line("ndcg@k", "ndcg@{k}"),
        Line("ndcg(ideal_depth=all)", "ndcg"),
        Line("dcg@k", "dcg@{k}"),
        Line("dcg", "dcg"),
        Line("cg(gain=binary)@k", "hits@{k}"),
        Line("cg(gain=binary)", "hits"),
        Line("r_precision", "r-precision"),
        Line("rbp", "rbp.80"),
        Variant("ndcg(gain=exp2)@k", "ndcg_burges@{k}"),
        Variant("ndcg(gain=exp2, ideal_depth=all)", "ndcg_burges"),
        Variant("dcg(gain=exp2)@k", "dcg_burges@{k}"),
        Variant("dcg(gain=exp2)", "dcg_burges"),
        Variant("rbp(p=0.95)", "rbp.95"),
    ),
    "sklearn": _system(
        "scikit-learn",
        Line("ndcg@k", "ndcg_score([truth], [scores], k={k})", "zero", ties="expected"),
        Line("ndcg", "ndcg_score([truth], [scores])", "zero", ties="expected"),
        Line("dcg@k", "dcg_score([truth], [scores], k={k})", "zero", ties="expected"),
        Line("dcg", "dcg_score([truth], [scores])", "zero", ties="expected"),
        Line("map(denom=relevant)", "average_precision_score(truth, scores)", "zero"),
        Line("auc", "roc_auc_score(truth, scores)"),
        Variant("ndcg@k", "ndcg_score([truth], [scores], k={k}, ignore_ties=True)", "zero"),
        Variant(
            "map(denom=relevant)", "label_ranking_average_precision_score([truth], [scores])", "one"
        ),
    ),
    "torchmetrics": _system(
        "torchmetrics",
        Line("hit@k", "RetrievalHitRate(top_k={k})", "zero"),
        Line("hit", "RetrievalHitRate()", "zero"),
        Line("precision@k", "RetrievalPrecision(top_k={k})", "zero"),
        Line("precision", "RetrievalPrecision()", "zero"),
        Line("recall(denom=relevant)@k", "RetrievalRecall(top_k={k})", "zero"),
        Line("recall(denom=relevant)", "RetrievalRecall()", "zero"),
        Line("map(denom=hits)@k", "RetrievalMAP(top_k={k})", "zero"),
        Line("map(denom=hits)", "RetrievalMAP()", "zero"),
        Line("mrr@k", "RetrievalMRR(top_k={k})", "zero"),
        Line("mrr", "RetrievalMRR()", "zero"),
        Line("ndcg@k", "RetrievalNormalizedDCG(top_k={k})", "zero", ties="expected"),
        Line("ndcg", "RetrievalNormalizedDCG()", "zero", ties="expected"),
        Line("r_precision", "RetrievalRPrecision()", "zero"),
        Line(
            "auc@k",
            "RetrievalAUROC(top_k={k})",
            "zero",
            gap="0 instead of 1 if all of the top k are relevant; a pair of equal scores "
            "counts 1/2, not by item index",
        ),
        Line("auc", "RetrievalAUROC()", "zero"),
        Line("fallout@k", "RetrievalFallOut(top_k={k})", "one"),
        Line("fallout", "RetrievalFallOut()", "one"),
        Variant(
            "precision(denom=list)@k", "RetrievalPrecision(top_k={k}, adaptive_k=True)", "zero"
        ),
    ),
    "irspack": _system(
        "irspack",
        Line("hit@k", "Evaluator(truth, cutoff={k}): hit"),
        Line("precision(denom=list)@k", "Evaluator(truth, cutoff={k}): precision"),
        Line("recall(denom=relevant)@k", "Evaluator(truth, cutoff={k}): recall"),
        Line("map(denom=relevant)@k", "Evaluator(truth, cutoff={k}): map"),
        Line("ndcg(gain=binary, ideal_depth=list)@k", "Evaluator(truth, cutoff={k}): ndcg"),
        Line("gini@k", "Evaluator(truth, cutoff={k}): gini_index", gap=_NO_LIST),
        Line("coverage@k", "Evaluator(truth, cutoff={k}): catalog_coverage", gap=_NO_LIST),
        Variant(
            "recall(denom=list)@k", "Evaluator(truth, cutoff={k}, recall_with_cutoff=True): recall"
        ),
    ),
    "lightgbm": _system(
        "LightGBM",
        Line("ndcg(gain=exp2)@k", 'metric="ndcg", eval_at=[{k}]', "one"),
        Line("map@k", 'metric="map", eval_at=[{k}]', "one"),
        Variant("ndcg@k", 'metric="ndcg", eval_at=[{k}], label_gain=[0, 1, 2, 3, 4]', "one"),
    ),
    "xgboost": _system(
        "XGBoost",
        Line("ndcg(gain=exp2)@k", 'eval_metric="ndcg@{k}"', "one"),
        Line("map@k", 'eval_metric="map@{k}"', "one"),
        Line("precision(denom=list)@k", 'eval_metric="pre@{k}"', "zero"),
        Variant("ndcg(gain=exp2)@k", 'eval_metric="ndcg@{k}-"', "zero"),
        Variant("ndcg@k", 'eval_metric="ndcg@{k}", ndcg_exp_gain=False', "one"),
        Variant("ndcg@k", 'eval_metric="ndcg@{k}-", ndcg_exp_gain=False', "zero"),
        Variant("map@k", 'eval_metric="map@{k}-"', "zero"),
    ),
    "torch_geometric": _system(
        "PyTorch Geometric",
        Line("hit@k", "LinkPredHitRatio(k={k})"),
        Line("precision@k", "LinkPredPrecision(k={k})"),
        Line("recall(denom=relevant)@k", "LinkPredRecall(k={k})"),
        Line("f1(denom=relevant)@k", "LinkPredF1(k={k})"),
        Line("map@k", "LinkPredMAP(k={k})"),
        Line("mrr@k", "LinkPredMRR(k={k})"),
        Line("ndcg(gain=binary)@k", "LinkPredNDCG(k={k})"),
        Line("coverage@k", "LinkPredCoverage(k={k}, num_dst_nodes=n_items)"),
        Line(
            "personalization@k",
            "LinkPredPersonalization(k={k})",
            gap="every list is treated as if it had k items",
        ),
        Variant("ndcg@k", "LinkPredNDCG(k={k}, weighted=True)"),
    ),
    "sentence_transformers": _system(
        "Sentence Transformers",
        Line("hit@k", "cosine_accuracy@{k}"),
        Line("precision@k", "cosine_precision@{k}"),
        Line("recall(denom=relevant)@k", "cosine_recall@{k}"),
        Line("map@k", "cosine_map@{k}"),
        Line("mrr@k", "cosine_mrr@{k}"),
        Line("ndcg(gain=binary)@k", "cosine_ndcg@{k}"),
    ),
    "replay": _system(
        "RePlay",
        Line("hit@k", "HitRate({k})(recommendations, ground_truth)"),
        Line("precision@k", "Precision({k})(recommendations, ground_truth)"),
        Line("recall(denom=relevant)@k", "Recall({k})(recommendations, ground_truth)"),
        Line("map@k", "MAP({k})(recommendations, ground_truth)"),
        Line("mrr@k", "MRR({k})(recommendations, ground_truth)"),
        Line("ndcg(gain=binary)@k", "NDCG({k})(recommendations, ground_truth)"),
        Line("auc@k", "RocAuc({k})(recommendations, ground_truth)"),
        Line("coverage@k", "Coverage({k})(recommendations, train)"),
    ),
    "elliot": _system(
        "Elliot",
        Line("hit@k", "simple_metrics: [HR], cutoffs: {k}"),
        Line("precision@k", "simple_metrics: [Precision], cutoffs: {k}"),
        Line("recall(denom=relevant)@k", "simple_metrics: [Recall], cutoffs: {k}"),
        Line("f1(denom=relevant)@k", "simple_metrics: [F1], cutoffs: {k}"),
        Line("map(over=ranks)@k", "simple_metrics: [MAP], cutoffs: {k}"),
        Line("mrr@k", "simple_metrics: [MRR], cutoffs: {k}"),
        Line("ndcg(gain=exp2_shifted)@k", "simple_metrics: [nDCG], cutoffs: {k}"),
        Variant(
            "ndcg(gain=exp2)@k", "simple_metrics: [nDCG], cutoffs: {k}, relevance_threshold: 1"
        ),
        Variant("ndcg(gain=binary)@k", "simple_metrics: [nDCGRendle2020], cutoffs: {k}"),
        Variant(
            "ndcg(rel=3)@k",
            "simple_metrics: [nDCGRendle2020], cutoffs: {k}, relevance_threshold: 3",
        ),
        Variant(
            "precision(rel=3)@k",
            "simple_metrics: [Precision], cutoffs: {k}, relevance_threshold: 3",
        ),
    ),
    "warprec": _system(
        "WarpRec",
        Line("hit@k", "HitRate(k={k}, **sizes)"),
        Line("precision@k", "Precision(k={k}, **sizes)"),
        Line("recall(denom=relevant)@k", "Recall(k={k}, **sizes)"),
        Line("f1(denom=relevant)@k", "F1(k={k}, **sizes)"),
        Line("map@k", "MAP(k={k}, **sizes)"),
        Line("mrr@k", "MRR(k={k}, **sizes)"),
        Line("ndcg(gain=exp2_shifted)@k", "nDCG(k={k}, **sizes)"),
        Line("gini(denom=n-1)@k", "Gini(k={k}, **sizes)", gap=_NO_LIST),
        Variant("ndcg(gain=binary)@k", "nDCGRendle2020(k={k}, **sizes)"),
    ),
    "spark": _system(
        "Spark",
        Line("precision@k", f'{_SPARK}precisionAtK", k={{k}}).evaluate(table)'),
        Line("recall(denom=relevant)@k", f'{_SPARK}recallAtK", k={{k}}).evaluate(table)'),
        Line("map@k", f'{_SPARK}meanAveragePrecisionAtK", k={{k}}).evaluate(table)'),
        Line("map(denom=relevant)", f'{_SPARK}meanAveragePrecision").evaluate(table)'),
        Line("ndcg(gain=binary)@k", f'{_SPARK}ndcgAtK", k={{k}}).evaluate(table)'),
    ),
    "recpack": _system(
        "RecPack",
        Line("precision@k", "PrecisionK(K={k})"),
        Line("recall(denom=relevant)@k", "RecallK(K={k})"),
        Line("mrr@k", "ReciprocalRankK(K={k})"),
        Line("ndcg(gain=binary)@k", "NDCGK(K={k})"),
        Line("dcg(gain=binary)@k", "DCGK(K={k})"),
        Line("cg(gain=binary)@k", "HitK(K={k})"),
        Line("coverage@k", "CoverageK(K={k})", gap=_NO_LIST),
        Variant("recall@k", "CalibratedRecallK(K={k})"),
        Variant("dcg(gain=binary)@k", "DiscountedGainK(K={k})"),
    ),
    "implicit": _system(
        "implicit",
        Line("recall@k", "precision_at_k(model, train, test, K={k})", gap=_ALL_RELEVANT),
        Line("map@k", "mean_average_precision_at_k(model, train, test, K={k})", gap=_ALL_RELEVANT),
        Line("ndcg(gain=binary)@k", "ndcg_at_k(model, train, test, K={k})", gap=_ALL_RELEVANT),
    ),
    "cornac": _system(
        "Cornac",
        Line("hit@k", "HitRatio(k={k})"),
        Line("hit", "HitRatio()"),
        Line("precision@k", "Precision(k={k})"),
        Line("precision", "Precision()", gap="NaN instead of 0 for an empty list"),
        Line("recall(denom=relevant)@k", "Recall(k={k})"),
        Line("recall(denom=relevant)", "Recall()"),
        Line("f1(denom=relevant)@k", "FMeasure(k={k})"),
        Line("f1(denom=relevant)", "FMeasure()"),
        Line("map(denom=hits)", "MAP()", gap=_CORNAC),
        Line("mrr", "MRR()", gap="error instead of 0 if a list has no relevant item"),
        Line("ndcg(gain=binary)@k", "NDCG(k={k})"),
        Line("ndcg(gain=binary, ideal_depth=all)", "NDCG()"),
        Line("auc", "AUC()", gap=f"{_CORNAC}; a pair of equal scores counts 0"),
        Variant("ndcg(gain=binary, discount=reciprocal, ideal_depth=list)@k", "NCRR(k={k})"),
        Variant("ndcg(gain=binary, discount=reciprocal)", "NCRR()"),
    ),
    "recommenders": _system(
        "Recommenders",
        Line("precision@k", "precision_at_k(rating_true, rating_pred, k={k})"),
        Line("recall(denom=relevant)@k", "recall_at_k(rating_true, rating_pred, k={k})"),
        Line("map@k", "map_at_k(rating_true, rating_pred, k={k})"),
        Line("ndcg(gain=binary)@k", "ndcg_at_k(rating_true, rating_pred, k={k})"),
        Line(
            "coverage@k",
            "catalog_coverage(train_df, reco_df)@{k}",
            gap="undefined instead of 0 if nothing is recommended",
        ),
        Line("entropy@k", "distributional_coverage(train_df, reco_df)@{k}"),
        Variant("map(denom=relevant)@k", "map(rating_true, rating_pred, k={k})"),
        Variant("ndcg@k", 'ndcg_at_k(rating_true, rating_pred, k={k}, score_type="raw")'),
        Variant(
            "ndcg(gain=exp2)@k", 'ndcg_at_k(rating_true, rating_pred, k={k}, score_type="exp")'
        ),
    ),
    "recometrics": _system(
        "recometrics",
        Line("hit@k", "Hit@{k}", gap=_FEW_ITEMS),
        Line("precision@k", "P@{k}", gap=_FEW_ITEMS),
        Line("recall(denom=relevant)@k", "R@{k}", gap=_FEW_ITEMS),
        Line("map(denom=relevant)@k", "AP@{k}", gap=_FEW_ITEMS),
        Line("map(denom=relevant)", "PR_AUC", gap=_FEW_ITEMS),
        Line("mrr@k", "RR@{k}", gap=_FEW_ITEMS),
        Line("ndcg@k", "NDCG@{k}", gap=_FEW_ITEMS),
        Line("auc", "ROC_AUC", gap=_FEW_ITEMS),
        Variant("recall@k", "TP@{k}", gap=_FEW_ITEMS),
        Variant("map@k", "TAP@{k}", gap=_FEW_ITEMS),
    ),
}
