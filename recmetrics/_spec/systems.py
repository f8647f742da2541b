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
TableTies = Literal["rows", "id"]
"""The order of equal scores in a table: that of the rows, or by item id, the last one first."""


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
_NO_LIST = "0 where no list counts"
_ALL_RELEVANT = "a user to whom all items are relevant is an error there"
_ABOVE_K = "left out where every rank is above k"
_CORNAC = "NaN there where all relevant items are excluded"
_SPARK = 'RankingEvaluator(metricName="'
_FEW_ITEMS = "users with few recommendable items are left out"
_LENSKIT_STOPS = "the run stops at a list without truth"
_CAPRI: Mapping[str, str | float] = {"gain": "exp2", "discount": "ln"}
_NOT_SHORT = "k beyond the catalogue: precision divides by k there, by the number of items here"
_ROWS = (
    "it reads rows of truth and score: relevant items without a row count in R here, not there; a "
    "user without rows is left out there"
)
CONVENTIONS: dict[Convention, System] = {
    "rectorch": System(
        name="rectorch",
        version="master f4292d6, dev 9b9a7af",
        ties="not decided (argpartition)",
        lines=(
            Line("hit@k", "Metrics.hit_at_k(scores, truth, {k})", "zero"),
            Line("recall@k", "Metrics.recall_at_k(scores, truth, {k})", "nan"),
            Line("mrr@k", "Metrics.mrr_at_k(scores, truth, {k})", "zero"),
            Line("ndcg@k", "Metrics.ndcg_at_k(scores, truth, {k})", "nan", _BINARY),
            Line("map@k", "Metrics.ap_at_k(scores, truth, {k})", "nan", gap="in the dev branch"),
            Line(
                "auc",
                "Metrics.auc(scores, truth)",
                "nan",
                gap="in the dev branch, where a pair of equal scores counts 0 or 1, not 1/2",
            ),
        ),
        gaps=(
            "excluded items are scored -inf there: they fill up lists shorter than k, and may be "
            "hits",
        ),
        wrong=(
            "ndcg of graded truth sums the grades but takes their sum as the number of relevant "
            "items of the ideal: it exceeds 1",
            "ap_at_k (dev) loses a relevant item whose score is not positive",
        ),
    ),
    "lenskit": System(
        name="LensKit",
        version="2025.8.1",
        ties="not decided: it reads lists",
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
                gap="the run stops at an empty list",
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
            "list_metrics() and list_summary() put 0 where a user has no truth, and leave out a "
            "user with neither truth nor list; list_metrics(fill_missing=False) has NaN, but 0 for "
            "precision and dcg",
            "a user of the truth without a list is left out of the means",
            "ranks with gaps: the first k rows are read; NDCG, DCG, RBP and AveragePrecision weigh "
            "by the number, RecipRank by the position",
            "ExposureGini is float32; both ginis take the whole catalogue that they are given",
        ),
        wrong=("global_metrics() has NaN for every mean as soon as one list has no truth",),
    ),
    "lenskit-0.14": System(
        name="LensKit 0.14",
        version="0.14.4",
        ties="not decided: it reads lists",
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
            "the calls are those of RecListAnalysis; called alone, precision and recip_rank of a "
            "list without truth are 0",
            "a user whose list is empty or missing is left out; include_missing=True adds the row, "
            "with NaN",
            "bulk is its path for tables with ranks, the plain names are those of the other path: "
            "bulk reads the numbers of the ranks; a list whose every rank is above k is left out, "
            "except in ndcg, where it is 0",
        ),
        wrong=(
            "hit in bulk of a list without truth is 0; list by list it is left out",
            "under pandas 3 recall in bulk of a list without a hit is NaN, and drops out of the "
            "mean",
            "ndcg(k=) of 0.13.0 to 0.14.0 cuts the ideal at k but not the list: it exceeds 1",
        ),
    ),
    "capri": System(
        name="CAPRI",
        version="dbbb506",
        ties="not decided: it reads lists",
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
                gap="an item that pop holds with a count of 0 is infinite there: unseen=inf",
            ),
            Line(
                "coverage",
                "catalogCoverage(lists, catalog)",
                "nan",
                gap="in percent, rounded to 2 decimals, there: 100 times",
            ),
            Line("personalization", "personalization(lists)", "nan"),
        ),
        gaps=(
            "ndcgk rounds to 4 decimals and sums in float32",
            "recallk without relevant items and listDiversity of fewer than two items divide by 0: "
            "NaN here",
        ),
        wrong=(
            "mapk(actual, predicted, k) reads all of predicted, not its first k: of a list longer "
            "than k it exceeds 1",
            "catalogCoverage counts items that the catalogue does not have: it exceeds 100",
        ),
    ),
    "trec": System(
        name="trec_eval",
        version="pytrec_eval-terrier 0.5.11",
        ties="by the name of the document, the alphabetically last one first; so in tables here",
        table_ties="id",
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
            "it reads scores in float32: those that differ by less are a tie",
            "a user judged 0 alone scores 0; a user without judgements, or missing from the run, "
            "is left out",
            "a judgement below 0 is not relevant there, and an error here: clip it to 0",
            _NOT_SHORT,
        ),
    ),
    "recbole": System(
        name="RecBole",
        version="1.2.1",
        ties="not decided (torch.topk)",
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
                gap="its mean weighs each user by the number of relevant items",
            ),
        ),
        gaps=(
            "it prints means, rounded to metric_decimal_place (4)",
            "a relevant item is never excluded there; other excluded items are scored -inf and are "
            "listed where fewer than k others remain",
            "the catalogue of ItemCoverage and GiniIndex has one item more, the padding",
            "it uses np.float, which NumPy has no longer since 1.24",
            "a k beyond the catalogue is an error",
            "AUC is one curve over all users and items together, no mean of users",
        ),
        wrong=(
            "ItemCoverage and GiniIndex end with an AttributeError in 1.2.1: its collector asks a "
            "number for .cpu()",
            "ShannonEntropy divides the entropy by the number of different items listed",
        ),
    ),
    "rectools": System(
        name="RecTools",
        version="0.19.0",
        ties="not decided: it reads ranks",
        rank_gaps="keep",
        lines=(
            Line("hit@k", "HitRate(k={k})", "nan"),
            Line("precision@k", "Precision(k={k})", "nan"),
            Line("recall@k", "Recall(k={k})", "nan", _RELEVANT),
            Line("f1@k", "F1Beta(k={k})", "nan", _RELEVANT),
            Line("map@k", "MAP(k={k})", "nan", _RELEVANT),
            Line("mrr@k", "MRR(k={k})", "nan"),
            Line("ndcg@k", "NDCG(k={k})", "nan", {**_BINARY, "ideal_depth": "full"}),
            Line(
                "coverage@k",
                "CatalogCoverage(k={k}, normalize=True)",
                "nan",
                gap="0 where nothing is listed",
            ),
        ),
        variants=(
            Line("ndcg@k", "NDCG(k={k}, divide_by_achievable=True)", "nan", _BINARY),
            Line("recall@k", "Precision(k={k}, r_precision=True)", "nan"),
            Line("map@k", "MAP(k={k}, divide_by_k=True)", "nan", {"denom": "k"}),
            Line("f1@k", "F1Beta(k={k}, beta=2)", "nan", {**_RELEVANT, "beta": 2.0}),
        ),
        gaps=(
            "NDCG(log_base=) cancels out; it changes no number",
            "PartialAUC and PAP count pairs down to the k-th item that is not relevant, which no "
            "option here does",
            "MeanInvUserFreq is novelty, but an item that nobody has counts as if one user had it",
            _NOT_SHORT,
        ),
        wrong=(
            "Accuracy with k beyond the catalogue is negative",
            "CatalogCoverage counts items that the catalogue does not have: it exceeds 1",
            "an item that the interactions hold twice counts twice: "
            "NDCG(divide_by_achievable=True) exceeds 1",
        ),
    ),
    "ranx": System(
        name="ranx",
        version="0.3.21",
        ties="not decided (a sort that is not stable)",
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
            "evaluate(make_comparable=True) leaves out a user without judgements, and a user "
            "without a list scores 0; without it both are an error; a user judged 0 alone scores 0",
            "grades are cut to integers: 0.9 is not relevant",
            "a level, as in ndcg@10-l2, drops the grades below it and weighs the others by their "
            "grade, which rel= does not",
            _NOT_SHORT,
        ),
        wrong=("rbp of graded truth weighs a hit by its grade: it exceeds 1",),
    ),
    "sklearn": System(
        name="scikit-learn",
        version="1.9.1",
        ties="ndcg_score and dcg_score average over all orders, as here, or do not decide with "
        "ignore_ties=True; average_precision_score takes tied items as one step; roc_auc_score "
        "counts 1/2, as here",
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
            "average_precision_score, label_ranking_average_precision_score and roc_auc_score read "
            "binary truth only",
            _ROWS,
            "ndcg_score and dcg_score refuse one item alone",
        ),
    ),
    "torchmetrics": System(
        name="torchmetrics",
        version="1.9.0",
        ties="RetrievalNormalizedDCG averages over all orders and RetrievalAUROC counts 1/2, as "
        "here; the others do not decide (torch.topk, torch.argsort)",
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
                gap="0 where all of the top k are relevant",
            ),
            Line("auc", "RetrievalAUROC()", "zero"),
            Line("fallout@k", "RetrievalFallOut(top_k={k})", "one"),
            Line("fallout", "RetrievalFallOut()", "one"),
        ),
        variants=(
            Line("precision@k", "RetrievalPrecision(top_k={k}, adaptive_k=True)", "zero", _LIST),
        ),
        gaps=(
            "it computes in float32",
            "graded truth is an error, except in RetrievalNormalizedDCG",
            "RetrievalAUROC(max_fpr=) is a partial area, which no option here computes",
            _ROWS,
            _NOT_SHORT,
        ),
        wrong=(
            "RetrievalMAP, RetrievalMRR, RetrievalPrecision and RetrievalRecall lose a relevant "
            "item whose score is not positive",
            "RetrievalAUROC sends scores outside [0, 1] through a sigmoid in float32, which ties "
            "those above 17",
        ),
    ),
    "irspack": System(
        name="irspack",
        version="0.5.2",
        ties="by item index, as here",
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
            "it gives means, over the users with relevant items; the lists of the others do not "
            "count in gini_index and catalog_coverage",
            "entropy is in nats there: ln 2 times the entropy here",
            "a k beyond the catalogue is an error",
            "with recommendable_items= the relevant items outside of them do not count in R",
        ),
        wrong=("a 0 that is stored in the truth counts as relevant",),
    ),
    "lightgbm": System(
        name="LightGBM",
        version="4.7.0",
        ties="by row, as here",
        lines=(
            Line("ndcg@k", 'metric="ndcg", eval_at=[{k}]', "one", _EXP2),
            Line("map@k", 'metric="map", eval_at=[{k}]', "one"),
        ),
        variants=(
            Line("ndcg@k", 'metric="ndcg", eval_at=[{k}], label_gain=[0, 1, 2, 3, 4]', "one"),
        ),
        gaps=(
            _ROWS,
            "a grade above 30 is an error there, unless label_gain has more entries",
            "auc is one curve over all rows together, no mean of queries",
        ),
    ),
    "xgboost": System(
        name="XGBoost",
        version="3.2.0",
        ties="by row, as here",
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
            "ndcg, map and pre without @k read the first 32 ranks, not the whole list",
            "scores are rounded to float32, which may tie them",
            "graded truth is an error in map and pre; a grade above 31 is one in ndcg",
        ),
        wrong=(
            "auc of queries also compares items of equal label, by the order of the rows: labels "
            "0, 1, 1 with scores 3, 2, 1 give 1/3, not 0",
        ),
    ),
    "torch_geometric": System(
        name="PyTorch Geometric",
        version="2.8.1",
        ties="not decided: it reads lists",
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
                gap="every list there has k items",
            ),
        ),
        variants=(Line("ndcg@k", "LinkPredNDCG(k={k}, weighted=True)", "nan"),),
        gaps=(
            "it computes in float32",
            "LinkPredRecall(weighted=True) is the share of the grades, which no option here has",
            _NOT_SHORT,
        ),
        wrong=(
            "the -1 with which its search fills a list shorter than k may count as a hit of an "
            "item of the user before: the mean of LinkPredPrecision(k=1) may be 2",
            "LinkPredCoverage counts that -1 as the last item, LinkPredPersonalization as a common "
            "item",
        ),
    ),
    "sentence_transformers": System(
        name="Sentence Transformers",
        version="6.2.0",
        ties="by the id of the document as text: 10 before 2",
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
            "Coverage reads the catalogue from train: items that nobody has seen do not count",
            "Surprisal is novelty(denom=k) divided by log2 of the number of users; an item that "
            "nobody has counts as if one user had it",
            _NOT_SHORT,
        ),
        wrong=(
            "a test row that is repeated counts again in R of MAP and NDCG, but not of Recall",
            "MAP and NDCG count a repeated item of a list again: they exceed 1",
        ),
    ),
    "elliot": System(
        name="Elliot",
        version="0.3.1, fc27efe",
        ties="not decided: it reads lists",
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
            "it prints means, over the users with relevant items, rounded to 5 decimals",
            "ItemCoverage is the number of items in the lists: coverage times the size of the "
            "catalogue; Gini is 1 - gini(denom=n-1); the lists of users without relevant items do "
            "not count in them",
            "nDCG with relevance_threshold t reads the gain 2^(grade - t + 1) - 1: "
            "ndcg(gain=exp2) of the truth max(grade - t + 1, 0)",
            "MAR is the mean of recall@1 to recall@k, SEntropy a mean over users: no metric here "
            "is",
            _NOT_SHORT,
        ),
        wrong=(
            "GAUC, LAUC and AUC take the negatives plus one for the negatives: the worst ranking "
            "of two items has a GAUC of 0.5",
        ),
    ),
    "warprec": System(
        name="WarpRec",
        version="2.2.8",
        ties="by a hash of seed, user and item; its metrics alone do not decide (torch.topk)",
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
            "excluded items are scored -inf there: they fill up lists shorter than k, and may be "
            "hits",
            "a k beyond the catalogue is an error",
            "it computes in float32",
            "ItemCoverage is the number of items in the lists: coverage times the size of the "
            "catalogue; ShannonEntropy is in nats: ln 2 times the entropy here",
            "the lists of users without relevant items do not count in Gini, ItemCoverage and "
            "ShannonEntropy",
            "MAR is the sum of the recall at each hit / min(R, k), which no metric here is",
        ),
        wrong=(
            "GAUC, LAUC and AUC take the negatives plus one for the negatives: the worst ranking "
            "of two items has a GAUC of 0.5",
        ),
    ),
    "spark": System(
        name="Spark",
        version="4.3.0",
        ties="not decided: it reads lists",
        lines=(
            Line("precision@k", f'{_SPARK}precisionAtK", k={{k}}).evaluate(table)', "nan"),
            Line("recall@k", f'{_SPARK}recallAtK", k={{k}}).evaluate(table)', "nan", _RELEVANT),
            Line("map@k", f'{_SPARK}meanAveragePrecisionAtK", k={{k}}).evaluate(table)', "nan"),
            Line("map", f'{_SPARK}meanAveragePrecision").evaluate(table)', "nan", _RELEVANT),
            Line("ndcg@k", f'{_SPARK}ndcgAtK", k={{k}}).evaluate(table)', "nan", _BINARY),
        ),
        gaps=(
            "it gives means; a user without relevant items counts as 0 where the table has a row "
            "for it with no label, and is left out otherwise",
            _NOT_SHORT,
        ),
        wrong=(
            "RankingMetrics of pyspark.mllib takes relevance values for ndcgAt, and ignores them",
            "an item that a list repeats is a hit each time: recall and ndcg exceed 1",
        ),
    ),
    "recpack": System(
        name="RecPack",
        version="0.3.6",
        ties="not decided (argpartition)",
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
            "HitK counts the hits: its mean is no hit rate",
            "the lists of users without relevant items do not count in CoverageK",
            "an item scored exactly 0 is not recommended there; here score it -inf, or exclude it",
            _NOT_SHORT,
        ),
        wrong=(
            "graded truth that is not made binary first: NDCGK exceeds 1, ReciprocalRankK is "
            "divided by the grade, RecallK by the sum of the grades, and the discount of DCGK is "
            "log2(rank x grade + 1)",
        ),
    ),
    "implicit": System(
        name="implicit",
        version="0.7.3",
        ties="not decided (a heap)",
        lines=(
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
        variants=(
            Line("recall@k", "precision_at_k(model, train, test, K={k})", "nan", gap=_ALL_RELEVANT),
        ),
        gaps=(
            "precision_at_k is one number of all users: the sum of hits / the sum of min(k, R), so "
            "the mean of recall@k, each user weighted by min(k, R)",
            "AUC_at_k takes the items outside the top k as tied below it, which no option here "
            "does",
            "excluded items are scored lowest there: they fill up lists shorter than k, and may be "
            "hits",
            "an entry of 0 that is stored in the test matrix is relevant",
        ),
        wrong=("K beyond the number of items lists item 0 again and again: all exceed 1",),
    ),
    "cornac": System(
        name="Cornac",
        version="3.0.1",
        ties="not decided (argpartition); MAP takes tied items as one step; AUC counts a tied pair "
        "0",
        lines=(
            Line("hit@k", "HitRatio(k={k})", "nan"),
            Line("hit", "HitRatio()", "nan"),
            Line("precision@k", "Precision(k={k})", "nan"),
            Line("precision", "Precision()", "nan", gap="an empty list is NaN there, 0 here"),
            Line("recall@k", "Recall(k={k})", "nan", _RELEVANT),
            Line("recall", "Recall()", "nan", _RELEVANT),
            Line("f1@k", "FMeasure(k={k})", "nan", _RELEVANT),
            Line("f1", "FMeasure()", "nan", _RELEVANT),
            Line("map", "MAP()", "nan", {"denom": "hits"}, gap=_CORNAC),
            Line(
                "mrr",
                "MRR()",
                "nan",
                gap="a list without a relevant item is an error there, 0 here",
            ),
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
            "an item of the training set that is also in the test set is recommended, as is one "
            "rated below rating_threshold in training",
            "a k beyond the recommendable items is an error",
        ),
        wrong=(
            "ranking_eval sorts a list only down to the largest cutoff: MRR() beside NDCG(k=5) "
            "reads an unsorted list below rank 5",
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
                gap="undefined where nothing is recommended",
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
            "ndcg_at_k counts a user without recommendations as 0; the others leave such a user "
            "out",
            "a row of rating_true is relevant whatever its rating, 0 too",
            "novelty is the mean over all recommendations, by shares of the interactions",
            _NOT_SHORT,
        ),
        wrong=(
            "r_precision_at_k leaves out each user without a hit in the top min(R, k): 1 for one "
            "perfect and one empty-handed user",
            'relevancy_method="by_threshold" or None reads more than k items but divides by k: '
            "precision, map_at_k and ndcg exceed 1",
            "catalog_coverage counts items that train_df does not have: it exceeds 1",
        ),
    ),
    "recometrics": System(
        name="recometrics",
        version="0.1.6.post13",
        ties="at random: noise up to 1e-12 is added to the scores",
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
            "users with fewer than k recommendable items, with one score for all items, or "
            "without an item that is not relevant are left out; P, TP, R and Hit also leave out "
            "those with exactly k",
            "a k beyond the catalogue is an error",
            "an item must not be in training and test",
            "a 0 that is stored in the test matrix is relevant, except in NDCG",
        ),
        wrong=(
            "hit or rr asked for without another metric at k is 0 for every user",
            "cumulative=True: NDCG below rank R repeats NDCG@R",
            "ROC_AUC of an item in training and test is about -9e18",
        ),
    ),
}

# Systems without a convention: the metric strings are typed, and the policies as keywords.
OTHERS: dict[str, System] = {
    "torcheval": System(
        name="torcheval",
        version="0.0.7",
        ties="the target is ranked before all items with an equal score",
        lines=(),
        variants=(
            Line("hit@k", "hit_rate(scores, target, k={k})", "nan", ties="best"),
            Line("mrr@k", "reciprocal_rank(scores, target, k={k})", "nan", ties="best"),
            Line("mrr", "reciprocal_rank(scores, target)", "nan", ties="best"),
        ),
        gaps=(
            "the target is one class index for each row, as the truth may be here; -1, for a row "
            "without a target, is an error there",
            "reciprocal_rank computes in float32",
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
            "it computes in float32",
            "a grade below 1 is not relevant there, except in NDCG and DCG: type rel=1",
            _ROWS,
        ),
        wrong=(
            "with the backend torch masked items may be ranked before the last one that counts: "
            "their score is 1e-7 lower, which float32 rounds away where it is above 2 or below -2",
            "with the backend JAX shuffle_ties=False shuffles them, too",
        ),
    ),
}
