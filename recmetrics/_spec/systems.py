"""The definitions of other systems: one table.

A line gives the options with which this library computes what a system computes under the plain
name of a metric. A ``gap`` is a difference that the table cannot express. No line copies what is
wrong in a system rather than different: ``docs/systems.py`` says it, from which and from this table
the page ``docs/conventions.md`` is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recmetrics._types import Convention, RankGaps, TiePolicy

NoTruth = Literal["nan", "zero", "one"]
"""The value of a user without relevant items; "nan" also where a system leaves the user out."""
TableTies = Literal["rows", "trec"]
"""The order of equal scores in a table: that of the rows, or that of trec_eval, which reads scores
as float32 and orders equal ones by item id, the last one first."""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one system."""

    metric: str  # "ndcg@k" with a cutoff, "ndcg" for the whole list
    call: str  # in the words of the system, {k} for the cutoff
    undefined: NoTruth
    options: Mapping[str, str | float] = field(default_factory=dict)
    gap: str = ""  # the remaining difference of the numbers
    ties: TiePolicy = "index"  # also where a system has another order, or none


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system and its metrics."""

    name: str
    lines: tuple[Line, ...]
    variants: tuple[Line, ...] = ()  # its other calls, without a plain name
    rank_gaps: RankGaps = "close"  # "keep": it reads the numbers of a column of ranks
    table_ties: TableTies = "rows"


_RELEVANT: Mapping[str, str | float] = {"denom": "relevant"}
_LIST: Mapping[str, str | float] = {"denom": "list"}
_ALL: Mapping[str, str | float] = {"ideal_depth": "all"}
_BINARY: Mapping[str, str | float] = {"gain": "binary"}
_EXP2: Mapping[str, str | float] = {"gain": "exp2"}
_SHIFTED: Mapping[str, str | float] = {"gain": "exp2_shifted"}
_CLIP: Mapping[str, str | float] = {"discount": "log2_clip"}
_GEOMETRIC: Mapping[str, str | float] = {"discount": "geometric", "p": 0.85}
_NO_LIST = "0 instead of NaN if no user has a relevant item"
_ALL_RELEVANT = "error if all items are relevant to a user"
_ABOVE_K = "lists in which every rank is above k are left out"
_CORNAC = "NaN instead of 0 if all relevant items are excluded"
_SPARK = 'RankingEvaluator(metricName="'
_FEW_ITEMS = "users with few recommendable items are left out"
_LENSKIT_STOPS = "error if a list has no truth"
_CAPRI: Mapping[str, str | float] = {"gain": "exp2", "discount": "ln"}
CONVENTIONS: dict[Convention, System] = {
    "rectorch": System(
        name="rectorch",
        lines=(
            Line("hit@k", "Metrics.hit_at_k(scores, truth, {k})", "zero"),
            Line("recall@k", "Metrics.recall_at_k(scores, truth, {k})", "nan"),
            Line("mrr@k", "Metrics.mrr_at_k(scores, truth, {k})", "zero"),
            Line("ndcg@k", "Metrics.ndcg_at_k(scores, truth, {k})", "nan", _BINARY),
            Line(
                "map@k", "Metrics.ap_at_k(scores, truth, {k})", "nan", gap="only in the dev branch"
            ),
            Line(
                "auc",
                "Metrics.auc(scores, truth)",
                "nan",
                gap="only in the dev branch; a pair of equal scores counts 0 or 1, not 1/2",
            ),
        ),
    ),
    "lenskit": System(
        name="LensKit",
        lines=(
            Line("hit@k", "Hit({k})", "zero"),
            Line("hit", "Hit()", "zero"),
            Line("precision@k", "Precision({k})", "zero", _LIST),
            Line("precision", "Precision()", "zero"),
            Line("recall@k", "Recall({k})", "zero"),
            Line("recall", "Recall()", "zero", _RELEVANT),
            Line("mrr@k", "RecipRank({k})", "zero"),
            Line("mrr", "RecipRank()", "zero"),
            Line("map@k", "AveragePrecision({k})", "nan", _LIST, gap=_LENSKIT_STOPS),
            Line("map", "AveragePrecision()", "nan", _LIST, gap=_LENSKIT_STOPS),
            Line("ndcg@k", "NDCG({k})", "zero", {**_BINARY, **_CLIP}),
            Line("ndcg", "NDCG()", "zero", {**_BINARY, **_CLIP, **_ALL}),
            Line("dcg@k", "DCG({k})", "zero", {**_BINARY, **_CLIP}),
            Line("dcg", "DCG()", "zero", {**_BINARY, **_CLIP}),
            Line("rbp@k", "RBP({k})", "zero", {"p": 0.85}),
            Line("rbp", "RBP()", "zero", {"p": 0.85}),
            Line("gini@k", "ListGini({k}, items=items)", "nan"),
            Line("exposure_gini@k", "ExposureGini({k}, items=items)", "nan", _GEOMETRIC),
        ),
        variants=(
            Line("ndcg@k", "NDCG({k}, gain='rating')", "zero", _CLIP),
            Line("ndcg", "NDCG(gain='rating')", "zero", {**_CLIP, **_ALL}),
            Line("ndcg@k", "NDCG({k}, weight=LogRankWeight(offset=1))", "zero", _BINARY),
            Line("ndcg@k", "NDCG({k}, weight=LogRankWeight(offset=1), gain='rating')", "zero"),
            Line("dcg@k", "DCG({k}, gain='rating')", "nan", _CLIP, gap=_LENSKIT_STOPS),
            Line(
                "rbp@k",
                "RBP({k}, normalize=True)",
                "zero",
                {"p": 0.85, "normalize": "yes"},
                gap="error if a list is empty",
            ),
            Line(
                "exposure_gini@k",
                "ExposureGini({k}, items=items, weight=LogRankWeight())",
                "nan",
                _CLIP,
            ),
            Line(
                "exposure_gini@k",
                "ExposureGini({k}, items=items, weight=LogRankWeight(offset=1))",
                "nan",
            ),
        ),
    ),
    "lenskit-0.14": System(
        name="LensKit 0.14",
        rank_gaps="keep",
        lines=(
            Line("hit@k", "hit(recs, truth, k={k})", "nan"),
            Line("hit", "hit(recs, truth)", "nan"),
            Line("precision@k", "precision(recs, truth, k={k})", "nan", _LIST),
            Line("precision", "precision(recs, truth)", "nan"),
            Line("recall@k", "recall(recs, truth, k={k})", "nan"),
            Line("recall", "recall(recs, truth)", "nan", _RELEVANT),
            Line("mrr@k", "recip_rank(recs, truth, k={k})", "nan"),
            Line("mrr", "recip_rank(recs, truth)", "nan"),
            Line("ndcg@k", "ndcg(recs, truth, k={k})", "nan", _CLIP),
            Line("ndcg", "ndcg(recs, truth)", "nan", {**_CLIP, **_ALL}),
            Line("dcg", "dcg(recs, truth)", "nan", _CLIP),
        ),
        variants=(
            Line("hit@k", "bulk: hit(recs, truth, k={k})", "zero", gap=_ABOVE_K),
            Line("precision@k", "bulk: precision(recs, truth, k={k})", "zero", gap=_ABOVE_K),
            Line("recall@k", "bulk: recall(recs, truth, k={k})", "nan", gap=_ABOVE_K),
            Line("mrr@k", "bulk: recip_rank(recs, truth, k={k})", "zero", gap=_ABOVE_K),
            Line("ndcg@k", "bulk: ndcg(recs, truth, k={k})", "nan", _CLIP),
        ),
    ),
    "capri": System(
        name="CAPRI",
        lines=(
            Line("precision@k", "precisionk(actual, predicted[:{k}])", "zero", _LIST),
            Line("precision", "precisionk(actual, predicted)", "zero"),
            Line("recall@k", "recallk(actual, predicted[:{k}])", "nan", _RELEVANT),
            Line("recall", "recallk(actual, predicted)", "nan", _RELEVANT),
            Line("map@k", "mapk(actual, predicted[:{k}], {k})", "zero"),
            Line("ndcg@k", "ndcgk(actual, predicted, at={k})", "zero", {**_CAPRI, **_ALL}),
            Line("ndcg", "ndcgk(actual, predicted)", "zero", {**_CAPRI, **_ALL}),
            Line("dcg", "dcg(gains)", "zero", _CAPRI),
            Line("diversity", "listDiversity(predicted, similarity)", "nan"),
            Line(
                "novelty@k",
                "novelty(predicted, pop, n_users, {k})",
                "nan",
                {"denom": "k", "unseen": "zero"},
                gap="infinite for an item with a count of 0 in pop; use unseen=inf for this",
            ),
            Line(
                "coverage",
                "catalogCoverage(lists, catalog)",
                "nan",
                gap="a percentage (times 100), rounded to 2 decimals",
            ),
            Line("personalization", "personalization(lists)", "nan"),
        ),
    ),
    "trec": System(
        name="trec_eval",
        table_ties="trec",
        lines=(
            Line("hit@k", "success_{k}", "nan"),
            Line("precision@k", "P_{k}", "nan"),
            Line("precision", "set_P", "nan"),
            Line("recall@k", "recall_{k}", "nan", _RELEVANT),
            Line("recall", "set_recall", "nan", _RELEVANT),
            Line("f1", "set_F", "nan", _RELEVANT),
            Line("map@k", "map_cut_{k}", "nan", _RELEVANT),
            Line("map", "map", "nan", _RELEVANT),
            Line("mrr", "recip_rank", "nan"),
            Line("ndcg@k", "ndcg_cut_{k}", "nan"),
            Line("ndcg", "ndcg", "nan", _ALL),
            Line("r_precision", "Rprec", "nan"),
        ),
        variants=(
            Line("recall@k", "relative_P_{k}", "nan"),
            Line("recall", "set_relative_P", "nan"),
        ),
    ),
    "recbole": System(
        name="RecBole",
        lines=(
            Line("hit@k", "metrics: Hit, topk: {k}", "nan"),
            Line("precision@k", "metrics: Precision, topk: {k}", "nan"),
            Line("recall@k", "metrics: Recall, topk: {k}", "nan", _RELEVANT),
            Line("map@k", "metrics: MAP, topk: {k}", "nan"),
            Line("mrr@k", "metrics: MRR, topk: {k}", "nan"),
            Line("ndcg@k", "metrics: NDCG, topk: {k}", "nan", _BINARY),
            Line(
                "auc",
                "metrics: GAUC",
                "nan",
                gap="the mean weighs each user by the number of relevant items",
            ),
        ),
    ),
    "rectools": System(
        name="RecTools",
        rank_gaps="keep",
        lines=(
            Line("hit@k", "HitRate(k={k})", "nan"),
            Line("precision@k", "Precision(k={k})", "nan"),
            Line("recall@k", "Recall(k={k})", "nan", _RELEVANT),
            Line("f1@k", "F1Beta(k={k})", "nan", _RELEVANT),
            Line("map@k", "MAP(k={k})", "nan", _RELEVANT),
            Line("mrr@k", "MRR(k={k})", "nan"),
            Line("ndcg@k", "NDCG(k={k})", "nan", {**_BINARY, "ideal_depth": "full"}),
            Line("coverage@k", "CatalogCoverage(k={k}, normalize=True)", "nan"),
        ),
        variants=(
            Line("ndcg@k", "NDCG(k={k}, divide_by_achievable=True)", "nan", _BINARY),
            Line("recall@k", "Precision(k={k}, r_precision=True)", "nan"),
            Line("map@k", "MAP(k={k}, divide_by_k=True)", "nan", {"denom": "k"}),
            Line("f1@k", "F1Beta(k={k}, beta=2)", "nan", {**_RELEVANT, "beta": 2.0}),
        ),
    ),
    "ranx": System(
        name="ranx",
        lines=(
            Line("hit@k", "hit_rate@{k}", "nan"),
            Line("hit", "hit_rate", "nan"),
            Line("precision@k", "precision@{k}", "nan"),
            Line("precision", "precision", "nan"),
            Line("recall@k", "recall@{k}", "nan", _RELEVANT),
            Line("recall", "recall", "nan", _RELEVANT),
            Line("f1@k", "f1@{k}", "nan", _RELEVANT),
            Line("f1", "f1", "nan", _RELEVANT),
            Line("map@k", "map@{k}", "nan", _RELEVANT),
            Line("map", "map", "nan", _RELEVANT),
            Line("mrr@k", "mrr@{k}", "nan"),
            Line("mrr", "mrr", "nan"),
            Line("ndcg@k", "ndcg@{k}", "nan"),
            Line("ndcg", "ndcg", "nan", _ALL),
            Line("dcg@k", "dcg@{k}", "nan"),
            Line("dcg", "dcg", "nan"),
            Line("cg@k", "hits@{k}", "nan", _BINARY),
            Line("cg", "hits", "nan", _BINARY),
            Line("r_precision", "r-precision", "nan"),
            Line("rbp", "rbp.80", "nan"),
        ),
        variants=(
            Line("ndcg@k", "ndcg_burges@{k}", "nan", _EXP2),
            Line("ndcg", "ndcg_burges", "nan", {**_EXP2, **_ALL}),
            Line("dcg@k", "dcg_burges@{k}", "nan", _EXP2),
            Line("dcg", "dcg_burges", "nan", _EXP2),
            Line("rbp", "rbp.95", "nan", {"p": 0.95}),
        ),
    ),
    "sklearn": System(
        name="scikit-learn",
        lines=(
            Line("ndcg@k", "ndcg_score([truth], [scores], k={k})", "zero", ties="expected"),
            Line("ndcg", "ndcg_score([truth], [scores])", "zero", ties="expected"),
            Line("dcg@k", "dcg_score([truth], [scores], k={k})", "zero", ties="expected"),
            Line("dcg", "dcg_score([truth], [scores])", "zero", ties="expected"),
            Line("map", "average_precision_score(truth, scores)", "zero", _RELEVANT),
            Line("auc", "roc_auc_score(truth, scores)", "nan"),
        ),
        variants=(
            Line("ndcg@k", "ndcg_score([truth], [scores], k={k}, ignore_ties=True)", "zero"),
            Line(
                "map", "label_ranking_average_precision_score([truth], [scores])", "one", _RELEVANT
            ),
        ),
    ),
    "torchmetrics": System(
        name="torchmetrics",
        lines=(
            Line("hit@k", "RetrievalHitRate(top_k={k})", "zero"),
            Line("hit", "RetrievalHitRate()", "zero"),
            Line("precision@k", "RetrievalPrecision(top_k={k})", "zero"),
            Line("precision", "RetrievalPrecision()", "zero"),
            Line("recall@k", "RetrievalRecall(top_k={k})", "zero", _RELEVANT),
            Line("recall", "RetrievalRecall()", "zero", _RELEVANT),
            Line("map@k", "RetrievalMAP(top_k={k})", "zero", {"denom": "hits"}),
            Line("map", "RetrievalMAP()", "zero", {"denom": "hits"}),
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
        ),
        variants=(
            Line("precision@k", "RetrievalPrecision(top_k={k}, adaptive_k=True)", "zero", _LIST),
        ),
    ),
    "irspack": System(
        name="irspack",
        lines=(
            Line("hit@k", "Evaluator(truth, cutoff={k}): hit", "nan"),
            Line("precision@k", "Evaluator(truth, cutoff={k}): precision", "nan", _LIST),
            Line("recall@k", "Evaluator(truth, cutoff={k}): recall", "nan", _RELEVANT),
            Line("map@k", "Evaluator(truth, cutoff={k}): map", "nan", _RELEVANT),
            Line(
                "ndcg@k",
                "Evaluator(truth, cutoff={k}): ndcg",
                "nan",
                {**_BINARY, "ideal_depth": "list"},
            ),
            Line("gini@k", "Evaluator(truth, cutoff={k}): gini_index", "nan", gap=_NO_LIST),
            Line(
                "coverage@k", "Evaluator(truth, cutoff={k}): catalog_coverage", "nan", gap=_NO_LIST
            ),
        ),
        variants=(
            Line(
                "recall@k",
                "Evaluator(truth, cutoff={k}, recall_with_cutoff=True): recall",
                "nan",
                _LIST,
            ),
        ),
    ),
    "lightgbm": System(
        name="LightGBM",
        lines=(
            Line("ndcg@k", 'metric="ndcg", eval_at=[{k}]', "one", _EXP2),
            Line("map@k", 'metric="map", eval_at=[{k}]', "one"),
        ),
        variants=(
            Line("ndcg@k", 'metric="ndcg", eval_at=[{k}], label_gain=[0, 1, 2, 3, 4]', "one"),
        ),
    ),
    "xgboost": System(
        name="XGBoost",
        lines=(
            Line("ndcg@k", 'eval_metric="ndcg@{k}"', "one", _EXP2),
            Line("map@k", 'eval_metric="map@{k}"', "one"),
            Line("precision@k", 'eval_metric="pre@{k}"', "zero", _LIST),
        ),
        variants=(
            Line("ndcg@k", 'eval_metric="ndcg@{k}-"', "zero", _EXP2),
            Line("ndcg@k", 'eval_metric="ndcg@{k}", ndcg_exp_gain=False', "one"),
            Line("ndcg@k", 'eval_metric="ndcg@{k}-", ndcg_exp_gain=False', "zero"),
            Line("map@k", 'eval_metric="map@{k}-"', "zero"),
        ),
    ),
    "torch_geometric": System(
        name="PyTorch Geometric",
        lines=(
            Line("hit@k", "LinkPredHitRatio(k={k})", "nan"),
            Line("precision@k", "LinkPredPrecision(k={k})", "nan"),
            Line("recall@k", "LinkPredRecall(k={k})", "nan", _RELEVANT),
            Line("f1@k", "LinkPredF1(k={k})", "nan", _RELEVANT),
            Line("map@k", "LinkPredMAP(k={k})", "nan"),
            Line("mrr@k", "LinkPredMRR(k={k})", "nan"),
            Line("ndcg@k", "LinkPredNDCG(k={k})", "nan", _BINARY),
            Line("coverage@k", "LinkPredCoverage(k={k}, num_dst_nodes=n_items)", "nan"),
            Line(
                "personalization@k",
                "LinkPredPersonalization(k={k})",
                "nan",
                gap="every list is treated as if it had k items",
            ),
        ),
        variants=(Line("ndcg@k", "LinkPredNDCG(k={k}, weighted=True)", "nan"),),
    ),
    "sentence_transformers": System(
        name="Sentence Transformers",
        lines=(
            Line("hit@k", "cosine_accuracy@{k}", "nan"),
            Line("precision@k", "cosine_precision@{k}", "nan"),
            Line("recall@k", "cosine_recall@{k}", "nan", _RELEVANT),
            Line("map@k", "cosine_map@{k}", "nan"),
            Line("mrr@k", "cosine_mrr@{k}", "nan"),
            Line("ndcg@k", "cosine_ndcg@{k}", "nan", _BINARY),
        ),
    ),
    "replay": System(
        name="RePlay",
        lines=(
            Line("hit@k", "HitRate({k})(recommendations, ground_truth)", "nan"),
            Line("precision@k", "Precision({k})(recommendations, ground_truth)", "nan"),
            Line("recall@k", "Recall({k})(recommendations, ground_truth)", "nan", _RELEVANT),
            Line("map@k", "MAP({k})(recommendations, ground_truth)", "nan"),
            Line("mrr@k", "MRR({k})(recommendations, ground_truth)", "nan"),
            Line("ndcg@k", "NDCG({k})(recommendations, ground_truth)", "nan", _BINARY),
            Line("auc@k", "RocAuc({k})(recommendations, ground_truth)", "nan"),
            Line("coverage@k", "Coverage({k})(recommendations, train)", "nan"),
        ),
    ),
    "elliot": System(
        name="Elliot",
        lines=(
            Line("hit@k", "simple_metrics: [HR], cutoffs: {k}", "nan"),
            Line("precision@k", "simple_metrics: [Precision], cutoffs: {k}", "nan"),
            Line("recall@k", "simple_metrics: [Recall], cutoffs: {k}", "nan", _RELEVANT),
            Line("f1@k", "simple_metrics: [F1], cutoffs: {k}", "nan", _RELEVANT),
            Line("map@k", "simple_metrics: [MAP], cutoffs: {k}", "nan", {"over": "ranks"}),
            Line("mrr@k", "simple_metrics: [MRR], cutoffs: {k}", "nan"),
            Line("ndcg@k", "simple_metrics: [nDCG], cutoffs: {k}", "nan", _SHIFTED),
        ),
        variants=(
            Line(
                "ndcg@k",
                "simple_metrics: [nDCG], cutoffs: {k}, relevance_threshold: 1",
                "nan",
                _EXP2,
            ),
            Line("ndcg@k", "simple_metrics: [nDCGRendle2020], cutoffs: {k}", "nan", _BINARY),
            Line(
                "ndcg@k",
                "simple_metrics: [nDCGRendle2020], cutoffs: {k}, relevance_threshold: 3",
                "nan",
                {"rel": 3.0},
            ),
            Line(
                "precision@k",
                "simple_metrics: [Precision], cutoffs: {k}, relevance_threshold: 3",
                "nan",
                {"rel": 3.0},
            ),
        ),
    ),
    "warprec": System(
        name="WarpRec",
        lines=(
            Line("hit@k", "HitRate(k={k}, **sizes)", "nan"),
            Line("precision@k", "Precision(k={k}, **sizes)", "nan"),
            Line("recall@k", "Recall(k={k}, **sizes)", "nan", _RELEVANT),
            Line("f1@k", "F1(k={k}, **sizes)", "nan", _RELEVANT),
            Line("map@k", "MAP(k={k}, **sizes)", "nan"),
            Line("mrr@k", "MRR(k={k}, **sizes)", "nan"),
            Line("ndcg@k", "nDCG(k={k}, **sizes)", "nan", _SHIFTED),
            Line("gini@k", "Gini(k={k}, **sizes)", "nan", {"denom": "n-1"}, gap=_NO_LIST),
        ),
        variants=(Line("ndcg@k", "nDCGRendle2020(k={k}, **sizes)", "nan", _BINARY),),
    ),
    "spark": System(
        name="Spark",
        lines=(
            Line("precision@k", f'{_SPARK}precisionAtK", k={{k}}).evaluate(table)', "nan"),
            Line("recall@k", f'{_SPARK}recallAtK", k={{k}}).evaluate(table)', "nan", _RELEVANT),
            Line("map@k", f'{_SPARK}meanAveragePrecisionAtK", k={{k}}).evaluate(table)', "nan"),
            Line("map", f'{_SPARK}meanAveragePrecision").evaluate(table)', "nan", _RELEVANT),
            Line("ndcg@k", f'{_SPARK}ndcgAtK", k={{k}}).evaluate(table)', "nan", _BINARY),
        ),
    ),
    "recpack": System(
        name="RecPack",
        lines=(
            Line("precision@k", "PrecisionK(K={k})", "nan"),
            Line("recall@k", "RecallK(K={k})", "nan", _RELEVANT),
            Line("mrr@k", "ReciprocalRankK(K={k})", "nan"),
            Line("ndcg@k", "NDCGK(K={k})", "nan", _BINARY),
            Line("dcg@k", "DCGK(K={k})", "nan", _BINARY),
            Line("cg@k", "HitK(K={k})", "nan", _BINARY),
            Line("coverage@k", "CoverageK(K={k})", "nan", gap=_NO_LIST),
        ),
        variants=(
            Line("recall@k", "CalibratedRecallK(K={k})", "nan"),
            Line("dcg@k", "DiscountedGainK(K={k})", "nan", _BINARY),
        ),
    ),
    "implicit": System(
        name="implicit",
        lines=(
            Line("recall@k", "precision_at_k(model, train, test, K={k})", "nan", gap=_ALL_RELEVANT),
            Line(
                "map@k",
                "mean_average_precision_at_k(model, train, test, K={k})",
                "nan",
                gap=_ALL_RELEVANT,
            ),
            Line(
                "ndcg@k", "ndcg_at_k(model, train, test, K={k})", "nan", _BINARY, gap=_ALL_RELEVANT
            ),
        ),
    ),
    "cornac": System(
        name="Cornac",
        lines=(
            Line("hit@k", "HitRatio(k={k})", "nan"),
            Line("hit", "HitRatio()", "nan"),
            Line("precision@k", "Precision(k={k})", "nan"),
            Line("precision", "Precision()", "nan", gap="NaN instead of 0 for an empty list"),
            Line("recall@k", "Recall(k={k})", "nan", _RELEVANT),
            Line("recall", "Recall()", "nan", _RELEVANT),
            Line("f1@k", "FMeasure(k={k})", "nan", _RELEVANT),
            Line("f1", "FMeasure()", "nan", _RELEVANT),
            Line("map", "MAP()", "nan", {"denom": "hits"}, gap=_CORNAC),
            Line("mrr", "MRR()", "nan", gap="error instead of 0 if a list has no relevant item"),
            Line("ndcg@k", "NDCG(k={k})", "nan", _BINARY),
            Line("ndcg", "NDCG()", "nan", {**_BINARY, **_ALL}),
            Line("auc", "AUC()", "nan", gap=f"{_CORNAC}; a pair of equal scores counts 0"),
        ),
        variants=(
            Line(
                "ndcg@k",
                "NCRR(k={k})",
                "nan",
                {**_BINARY, "discount": "reciprocal", "ideal_depth": "list"},
            ),
            Line("ndcg", "NCRR()", "nan", {**_BINARY, "discount": "reciprocal"}),
        ),
    ),
    "recommenders": System(
        name="Recommenders",
        lines=(
            Line("precision@k", "precision_at_k(rating_true, rating_pred, k={k})", "nan"),
            Line("recall@k", "recall_at_k(rating_true, rating_pred, k={k})", "nan", _RELEVANT),
            Line("map@k", "map_at_k(rating_true, rating_pred, k={k})", "nan"),
            Line("ndcg@k", "ndcg_at_k(rating_true, rating_pred, k={k})", "nan", _BINARY),
            Line(
                "coverage@k",
                "catalog_coverage(train_df, reco_df)@{k}",
                "nan",
                gap="undefined instead of 0 if nothing is recommended",
            ),
            Line("entropy@k", "distributional_coverage(train_df, reco_df)@{k}", "nan"),
        ),
        variants=(
            Line("map@k", "map(rating_true, rating_pred, k={k})", "nan", _RELEVANT),
            Line("ndcg@k", 'ndcg_at_k(rating_true, rating_pred, k={k}, score_type="raw")', "nan"),
            Line(
                "ndcg@k",
                'ndcg_at_k(rating_true, rating_pred, k={k}, score_type="exp")',
                "nan",
                _EXP2,
            ),
        ),
    ),
    "recometrics": System(
        name="recometrics",
        lines=(
            Line("hit@k", "Hit@{k}", "nan", gap=_FEW_ITEMS),
            Line("precision@k", "P@{k}", "nan", gap=_FEW_ITEMS),
            Line("recall@k", "R@{k}", "nan", _RELEVANT, gap=_FEW_ITEMS),
            Line("map@k", "AP@{k}", "nan", _RELEVANT, gap=_FEW_ITEMS),
            Line("map", "PR_AUC", "nan", _RELEVANT, gap=_FEW_ITEMS),
            Line("mrr@k", "RR@{k}", "nan", gap=_FEW_ITEMS),
            Line("ndcg@k", "NDCG@{k}", "nan", gap=_FEW_ITEMS),
            Line("auc", "ROC_AUC", "nan", gap=_FEW_ITEMS),
        ),
        variants=(
            Line("recall@k", "TP@{k}", "nan", gap=_FEW_ITEMS),
            Line("map@k", "TAP@{k}", "nan", gap=_FEW_ITEMS),
        ),
    ),
}
