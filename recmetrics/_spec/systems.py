"""The definitions of other systems: one table.

A line gives the options with which this library computes what a system computes under the plain
name of a metric. Where a system is wrong rather than different, ``wrong`` says so and no line
copies it. A ``gap`` is a difference that the table cannot express. ``docs/conventions.md`` is
written from it, with the agreement measured against the installed packages.
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
    ties: TiePolicy = "index"  # also where a system has another order, or none: see ``System.ties``


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system: its metrics, and its differences from this library."""

    name: str
    version: str
    lines: tuple[Line, ...]
    variants: tuple[Line, ...] = ()  # its other calls, without a plain name
    ties: str
    rank_gaps: RankGaps = "close"  # "keep": it reads the numbers of a column of ranks
    table_ties: TableTies = "rows"
    gaps: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


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
_NOT_SHORT = (
    "If k exceeds the number of items, precision divides by k. recmetrics divides by the number "
    "of items"
)
_ROWS = (
    "It reads rows of truth and score. A relevant item without a row does not count as relevant; "
    "in recmetrics it does. A user without rows is left out"
)
CONVENTIONS: dict[Convention, System] = {
    "rectorch": System(
        name="rectorch",
        version="f4292d6 (master) and 9b9a7af (dev)",
        ties="no defined order (argpartition)",
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
        gaps=(
            "Excluded items get the score -inf. They fill up lists shorter than k, and can be hits",
        ),
        wrong=(
            "With graded truth, `ndcg_at_k` takes the sum of the grades as the number of "
            "relevant items of the ideal ranking. Values can exceed 1",
            "`ap_at_k` (dev branch) ignores relevant items whose score is 0 or negative",
        ),
    ),
    "lenskit": System(
        name="LensKit",
        version="2025.8.1",
        ties="none, because it reads ranked lists",
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
        gaps=(
            "`list_metrics()` and `list_summary()` use 0 for a user without truth. They leave "
            "out a user who has neither truth nor a list. `list_metrics(fill_missing=False)` has "
            "NaN for users without truth, except in precision and dcg, where it has 0",
            "The means leave out users who have truth but no list",
            "If ranks have gaps, such as 1, 2, 5, the first k rows are read. `NDCG`, `DCG`, "
            "`RBP` and `AveragePrecision` then use the ranks as given, and `RecipRank` uses the "
            "position in the list",
            "`ExposureGini` computes in float32. `ListGini` and `ExposureGini` always count the "
            "whole catalogue given as `items=`",
        ),
        wrong=("`global_metrics()` returns NaN for every mean if one list has no truth",),
    ),
    "lenskit-0.14": System(
        name="LensKit 0.14",
        version="0.14.4",
        ties="none, because it reads ranked lists",
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
        gaps=(
            "The table shows the values of `RecListAnalysis`. If the functions are called "
            "directly, `precision` and `recip_rank` of a list without truth are 0",
            "A user whose list is empty or missing is left out. `include_missing=True` adds a "
            "row with NaN",
            "LensKit 0.14 computes tables that have a rank column in bulk, and other tables list "
            "by list. Plain metric names in recmetrics follow the values computed list by list. In "
            "bulk, LensKit uses the ranks as given. A list in which every rank is above k is left "
            "out, except in `ndcg`, where it scores 0",
        ),
        wrong=(
            "In bulk, `hit` of a list without truth is 0. List by list, such a list is left out",
            "With pandas 3, `recall` in bulk is NaN instead of 0 for a list without a hit, so "
            "the mean leaves that list out",
            "In versions 0.13.0 to 0.14.0, `ndcg(k=)` cuts the ideal at k but not the list. "
            "Values can exceed 1",
        ),
    ),
    "capri": System(
        name="CAPRI",
        version="dbbb506",
        ties="none, because it reads ranked lists",
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
        gaps=(
            "`ndcgk` sums in float32 and rounds to 4 decimals",
            "`recallk` without relevant items and `listDiversity` of fewer than two items divide "
            "by 0. recmetrics gives NaN",
        ),
        wrong=(
            "`mapk(actual, predicted, k)` reads all of `predicted`, not the first k items. If "
            "the list is longer than k, values can exceed 1",
            "`catalogCoverage` counts items that are not in the catalogue. Values can exceed 100",
        ),
    ),
    "trec": System(
        name="trec_eval",
        version="0.5.11 of pytrec_eval-terrier",
        ties="by document id, the alphabetically last one first. recmetrics does the same in "
        "tables",
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
        gaps=(
            "It reads scores as float32. Scores that are equal after this rounding are ties. "
            "recmetrics does the same in tables",
            "A user whose judgements are all 0 scores 0. A user without judgements or without a "
            "list is left out",
            "A negative judgement means not relevant. In recmetrics it is an error: clip it to 0",
            _NOT_SHORT,
        ),
    ),
    "recbole": System(
        name="RecBole",
        version="1.2.1",
        ties="no defined order (torch.topk)",
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
        gaps=(
            "It prints means, rounded to `metric_decimal_place` (default 4)",
            "Relevant items are never excluded. Other excluded items get the score -inf, and are "
            "in the list if fewer than k items remain",
            "`ItemCoverage` and `GiniIndex` count the padding item as an item of the catalogue",
            "It uses `np.float`, which NumPy 1.24 removed",
            "A k above the number of items is an error",
            "`AUC` is computed once over all pairs of user and item. It is not a mean over users",
        ),
        wrong=(
            "In 1.2.1, `ItemCoverage` and `GiniIndex` raise an AttributeError, because the "
            "collector calls `.cpu()` on a number",
            "`ShannonEntropy` divides the entropy by the number of different items in the lists",
        ),
    ),
    "rectools": System(
        name="RecTools",
        version="0.19.0",
        ties="none, because it reads ranks",
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
        gaps=(
            "`NDCG(log_base=)` changes no value, because the base cancels out",
            "`PartialAUC` and `PAP` count pairs down to the k-th item that is not relevant. "
            "recmetrics has no option for this",
            "`MeanInvUserFreq` is novelty, but counts an item without interactions as if one "
            "user had interacted with it",
            _NOT_SHORT,
        ),
        wrong=(
            "`Accuracy` can be negative if k exceeds the number of items",
            "`CatalogCoverage` counts items that are not in the catalogue. Values can exceed 1",
            "An item that occurs twice in the interactions counts twice. "
            "`NDCG(divide_by_achievable=True)` can exceed 1",
        ),
    ),
    "ranx": System(
        name="ranx",
        version="0.3.21",
        ties="no defined order (unstable sort)",
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
        gaps=(
            "`evaluate(make_comparable=True)` leaves out a user without judgements, and gives 0 "
            "to a user without a list. Without `make_comparable=True` both are errors. A user "
            "whose judgements are all 0 scores 0",
            "Grades are truncated to integers, so 0.9 is not relevant",
            "A relevance level, such as 2 in `ndcg@10-l2`, ignores the grades below it and keeps "
            "the other grades as gains. In recmetrics, `rel=2` makes relevance binary",
            _NOT_SHORT,
        ),
        wrong=("With graded truth, `rbp` weighs a hit by its grade. Values can exceed 1",),
    ),
    "sklearn": System(
        name="scikit-learn",
        version="1.9.1",
        ties="`ndcg_score` and `dcg_score` average over all orders, as this convention does. With "
        "`ignore_ties=True` they have no defined order. `average_precision_score` puts tied "
        "items at one threshold. `roc_auc_score` counts a tied pair as 1/2, as in recmetrics",
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
        gaps=(
            "`average_precision_score`, `label_ranking_average_precision_score` and "
            "`roc_auc_score` accept only binary truth",
            _ROWS,
            "`ndcg_score` and `dcg_score` need at least two items",
        ),
    ),
    "torchmetrics": System(
        name="torchmetrics",
        version="1.9.0",
        ties="`RetrievalNormalizedDCG` averages over all orders, and `RetrievalAUROC` counts a "
        "tied pair as 1/2, as `auc` does in recmetrics. The other metrics have no defined order "
        "(torch.topk, torch.argsort)",
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
        gaps=(
            "It computes in float32",
            "Graded truth is an error, except in `RetrievalNormalizedDCG`",
            "`RetrievalAUROC(max_fpr=)` is a partial area. recmetrics has no option for this",
            _ROWS,
            _NOT_SHORT,
        ),
        wrong=(
            "`RetrievalMAP`, `RetrievalMRR`, `RetrievalPrecision` and `RetrievalRecall` ignore "
            "relevant items whose score is 0 or negative",
            "If scores are outside [0, 1], `RetrievalAUROC` applies a sigmoid in float32. All "
            "scores above 17 become ties",
        ),
    ),
    "irspack": System(
        name="irspack",
        version="0.5.2",
        ties="by the lower item index, as in recmetrics",
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
        gaps=(
            "It gives means over the users with relevant items. `gini_index` and "
            "`catalog_coverage` count only the lists of these users",
            "`entropy` is in nats: ln 2 times the entropy of recmetrics",
            "A k above the number of items is an error",
            "With `recommendable_items=`, items outside this set do not count as relevant",
        ),
        wrong=("An explicit 0 in a sparse truth counts as relevant",),
    ),
    "lightgbm": System(
        name="LightGBM",
        version="4.7.0",
        ties="by the order of the rows, as in recmetrics",
        lines=(
            Line("ndcg@k", 'metric="ndcg", eval_at=[{k}]', "one", _EXP2),
            Line("map@k", 'metric="map", eval_at=[{k}]', "one"),
        ),
        variants=(
            Line("ndcg@k", 'metric="ndcg", eval_at=[{k}], label_gain=[0, 1, 2, 3, 4]', "one"),
        ),
        gaps=(
            _ROWS,
            "A grade above 30 is an error, unless `label_gain` has more entries",
            "`auc` is computed once over all rows. It is not a mean over queries",
        ),
    ),
    "xgboost": System(
        name="XGBoost",
        version="3.2.0",
        ties="by the order of the rows, as in recmetrics",
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
        gaps=(
            _ROWS,
            "Without `@k`, `ndcg`, `map` and `pre` read the first 32 ranks, not the whole list",
            "Scores are rounded to float32, which can create ties",
            "Graded truth is an error in `map` and `pre`. A grade above 31 is an error in `ndcg`",
        ),
        wrong=(
            "With queries, `auc` also compares items of equal label, in the order of the rows. "
            "Labels 0, 1, 1 with scores 3, 2, 1 give 1/3 instead of 0",
        ),
    ),
    "torch_geometric": System(
        name="PyTorch Geometric",
        version="2.8.1",
        ties="none, because it reads ranked lists",
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
        gaps=(
            "It computes in float32",
            "`LinkPredRecall(weighted=True)` divides the sum of the grades of the hits by the "
            "sum of all grades. recmetrics has no option for this",
            _NOT_SHORT,
        ),
        wrong=(
            "Its search fills lists shorter than k with -1. This -1 can count as a hit on an "
            "item of the preceding user, so that the mean of `LinkPredPrecision(k=1)` can be 2",
            "`LinkPredCoverage` counts this -1 as the last item, and `LinkPredPersonalization` "
            "counts it as a common item",
        ),
    ),
    "sentence_transformers": System(
        name="Sentence Transformers",
        version="6.2.0",
        ties="by document id as text, so that 10 comes before 2",
        lines=(
            Line("hit@k", "cosine_accuracy@{k}", "nan"),
            Line("precision@k", "cosine_precision@{k}", "nan"),
            Line("recall@k", "cosine_recall@{k}", "nan", _RELEVANT),
            Line("map@k", "cosine_map@{k}", "nan"),
            Line("mrr@k", "cosine_mrr@{k}", "nan"),
            Line("ndcg@k", "cosine_ndcg@{k}", "nan", _BINARY),
        ),
        gaps=(_NOT_SHORT,),
    ),
    "replay": System(
        name="RePlay",
        version="0.22.0",
        ties="by item id, the larger one first",
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
        gaps=(
            "`Coverage` takes the catalogue from `train`, so that items without interactions do "
            "not count",
            "`Surprisal` is `novelty(denom=k)` divided by log2 of the number of users. It counts "
            "an item without interactions as if one user had interacted with it",
            _NOT_SHORT,
        ),
        wrong=(
            "A repeated test row counts as a second relevant item in `MAP` and `NDCG`, but not in "
            "`Recall`",
            "`MAP` and `NDCG` count a repeated item of a list each time. Values can exceed 1",
        ),
    ),
    "elliot": System(
        name="Elliot",
        version="0.3.1, fc27efe",
        ties="none, because it reads ranked lists",
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
        gaps=(
            "It prints means over the users with relevant items, rounded to 5 decimals",
            "`ItemCoverage` is the number of different items in the lists: coverage times the "
            "size of the catalogue. `Gini` is 1 - `gini(denom=n-1)`. Both count only the lists "
            "of users with relevant items",
            "With `relevance_threshold: t`, the gain in `nDCG` is 2^(grade - t + 1) - 1. To "
            "compute it, give the truth max(grade - t + 1, 0) to `ndcg(gain=exp2)`",
            "`MAR` is the mean of recall@1 to recall@k, and `SEntropy` is a mean over users. "
            "recmetrics has neither",
            _NOT_SHORT,
        ),
        wrong=(
            "`GAUC`, `LAUC` and `AUC` count one negative item too many. The worst ranking of two "
            "items has a `GAUC` of 0.5 instead of 0",
        ),
    ),
    "warprec": System(
        name="WarpRec",
        version="2.2.8",
        ties="by a hash of seed, user and item. Its metric classes, if called directly, have no "
        "defined order (torch.topk)",
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
        gaps=(
            "Excluded items get the score -inf. They fill up lists shorter than k, and can be hits",
            "A k above the number of items is an error",
            "It computes in float32",
            "`ItemCoverage` is the number of different items in the lists: coverage times the "
            "size of the catalogue. `ShannonEntropy` is in nats: ln 2 times the entropy of "
            "recmetrics",
            "`Gini`, `ItemCoverage` and `ShannonEntropy` count only the lists of users with "
            "relevant items",
            "`MAR` is the sum of the recall at each hit, divided by min(R, k). recmetrics does "
            "not have it",
        ),
        wrong=(
            "`GAUC`, `LAUC` and `AUC` count one negative item too many. The worst ranking of two "
            "items has a `GAUC` of 0.5 instead of 0",
        ),
    ),
    "spark": System(
        name="Spark",
        version="4.3.0",
        ties="none, because it reads ranked lists",
        lines=(
            Line("precision@k", f'{_SPARK}precisionAtK", k={{k}}).evaluate(table)', "nan"),
            Line("recall@k", f'{_SPARK}recallAtK", k={{k}}).evaluate(table)', "nan", _RELEVANT),
            Line("map@k", f'{_SPARK}meanAveragePrecisionAtK", k={{k}}).evaluate(table)', "nan"),
            Line("map", f'{_SPARK}meanAveragePrecision").evaluate(table)', "nan", _RELEVANT),
            Line("ndcg@k", f'{_SPARK}ndcgAtK", k={{k}}).evaluate(table)', "nan", _BINARY),
        ),
        gaps=(
            "It gives means. A user without relevant items counts as 0 if the table has a row "
            "with an empty label for this user, and is left out otherwise",
            _NOT_SHORT,
        ),
        wrong=(
            "`RankingMetrics` of `pyspark.mllib` accepts relevance values for `ndcgAt`, and "
            "ignores them",
            "A repeated item of a list is a hit each time. Recall and NDCG can exceed 1",
        ),
    ),
    "recpack": System(
        name="RecPack",
        version="0.3.6",
        ties="no defined order (argpartition)",
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
        gaps=(
            "`HitK` counts the hits of a user. Its mean is not a hit rate",
            "`CoverageK` counts only the lists of users with relevant items",
            "An item with a score of exactly 0 is not recommended. In recmetrics, give it the "
            "score -inf or exclude it",
            _NOT_SHORT,
        ),
        wrong=(
            "With graded truth, `NDCGK` can exceed 1, `ReciprocalRankK` is divided by the grade, "
            "`RecallK` is divided by the sum of the grades, and the discount of `DCGK` is "
            "log2(rank x grade + 1). Make the truth binary first",
        ),
    ),
    "implicit": System(
        name="implicit",
        version="0.7.3",
        ties="no defined order (a heap)",
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
        gaps=(
            "`precision_at_k` is one number for all users: the sum of their hits, divided by the "
            "sum of their min(k, R). This is the mean of `recall@k` with each user weighted by "
            "min(k, R)",
            "`AUC_at_k` treats all items outside the top k as tied, below the top k. recmetrics "
            "has no option for this",
            "Excluded items get the lowest score. They fill up lists shorter than k, and can be "
            "hits",
            "An explicit 0 in the test matrix counts as relevant",
        ),
        wrong=(
            "If K exceeds the number of items, lists are filled up with item 0. Every metric can "
            "exceed 1",
        ),
    ),
    "cornac": System(
        name="Cornac",
        version="3.0.1",
        ties="no defined order (argpartition). `MAP` puts tied items at one threshold. `AUC` "
        "counts a tied pair as 0",
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
        gaps=(
            "A training item is still recommended if it is also in the test set, or if its "
            "training rating is below `rating_threshold`",
            "A k above the number of recommendable items is an error",
        ),
        wrong=(
            "`ranking_eval` sorts a list only down to the largest cutoff. If `MRR()` is computed "
            "together with `NDCG(k=5)`, it reads an unsorted list below rank 5",
        ),
    ),
    "recommenders": System(
        name="Recommenders",
        version="1.2.1",
        ties="by the order of the rows of the table",
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
        gaps=(
            "`ndcg_at_k` counts a user without recommendations as 0. The other metrics leave "
            "this user out",
            "Every row of `rating_true` is relevant, even with a rating of 0",
            "`novelty` is the mean over all recommendations, not over users. It takes the "
            "popularity of an item as a share of all interactions, not of all users",
            _NOT_SHORT,
        ),
        wrong=(
            "`r_precision_at_k` leaves out users without a hit in the top min(R, k). For one "
            "user with a perfect list and one user without hits it is 1",
            'With `relevancy_method="by_threshold"` or `None`, more than k items are read, but '
            "the sum is divided by k. `precision_at_k`, `map_at_k` and `ndcg_at_k` can exceed 1",
            "`catalog_coverage` counts items that are not in `train_df`. Values can exceed 1",
        ),
    ),
    "recometrics": System(
        name="recometrics",
        version="0.1.6.post13",
        ties="at random, because noise of up to 1e-12 is added to the scores",
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
        gaps=(
            "These users are left out: those with fewer than k recommendable items, those whose "
            "items all have the same score, and those to whom all items are relevant. `P`, `TP`, "
            "`R` and `Hit` also leave out users with exactly k recommendable items",
            "A k above the number of items is an error",
            "The training set and the test set of a user must not share items",
            "An explicit 0 in the test matrix counts as relevant, except in `NDCG`",
        ),
        wrong=(
            "If `hit` or `rr` is requested without another metric at k, it is 0 for every user",
            "With `cumulative=True`, `NDCG` at every k above R is the value of `NDCG@R`",
            "If an item is in both training and test, `ROC_AUC` is about -9e18",
        ),
    ),
}

# Systems without a convention: the metric strings are typed, and the policies as keywords.
OTHERS: dict[str, System] = {
    "torcheval": System(
        name="torcheval",
        version="0.0.7",
        ties="the target ranks before all other items with the same score",
        lines=(),
        variants=(
            Line("hit@k", "hit_rate(scores, target, k={k})", "nan", ties="best"),
            Line("mrr@k", "reciprocal_rank(scores, target, k={k})", "nan", ties="best"),
            Line("mrr", "reciprocal_rank(scores, target)", "nan", ties="best"),
        ),
        gaps=(
            "The target is one class index per row. recmetrics accepts this form of truth too, "
            "and also -1 for a row without a target, which torcheval refuses",
            "`reciprocal_rank` computes in float32",
        ),
    ),
    "keras_rs": System(
        name="KerasRS",
        version="0.4.0",
        ties="at random",
        lines=(),
        variants=(
            Line("precision@k", "PrecisionAtK(k={k})", "zero", _LIST),
            Line("precision", "PrecisionAtK()", "zero"),
            Line("recall@k", "RecallAtK(k={k})", "zero", _RELEVANT),
            Line("recall", "RecallAtK()", "zero", _RELEVANT),
            Line("map@k", "MeanAveragePrecision(k={k})", "zero", _RELEVANT),
            Line("map", "MeanAveragePrecision()", "zero", _RELEVANT),
            Line("mrr@k", "MeanReciprocalRank(k={k})", "zero"),
            Line("mrr", "MeanReciprocalRank()", "zero"),
            Line("ndcg@k", "NDCG(k={k})", "zero", _EXP2),
            Line("ndcg", "NDCG()", "zero", _EXP2),
            Line("dcg@k", "DCG(k={k})", "zero", _EXP2),
            Line("dcg", "DCG()", "zero", _EXP2),
        ),
        gaps=(
            "It computes in float32",
            "A grade below 1 is not relevant, except in `NDCG` and `DCG`. Type `rel=1` for this",
            _ROWS,
        ),
        wrong=(
            "With the torch backend, masked items can rank before the last item that counts. "
            "Their score is set 1e-7 below the lowest score, and float32 loses this difference "
            "if that score is above 2 or below -2",
            "With the JAX backend, ties are shuffled even with `shuffle_ties=False`",
        ),
    ),
}
