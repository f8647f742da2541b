"""The definitions of other systems: one table.

A line gives the options with which this library computes what a system computes under the plain
name of a metric. Where a system is wrong rather than different, ``wrong`` says so and no line
copies it. A ``gap`` is a difference that the table cannot express. ``docs/conventions.md`` is
written from it, with the agreement measured against the installed packages.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from recmetrics._errors import UnknownMetricError
from recmetrics._options import one_of
from recmetrics._types import Convention, RankGaps, Ties

NoTruth = Literal["nan", "zero"]
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
    ties: Ties = "index"  # also where a system has another order, or none: see ``System.ties``


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system: its metrics, and its differences from this library."""

    name: str
    version: str
    lines: tuple[Line, ...]
    variants: tuple[Line, ...] = ()  # its other calls, without a plain name
    ties: str
    binary: bool = False  # it reads any relevance above 0 as 1
    rank_gaps: RankGaps = "close"  # "keep": it reads the numbers of a column of ranks
    table_ties: TableTies = "rows"
    gaps: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


_RELEVANT: Mapping[str, str | float] = {"denom": "relevant"}
_LIST: Mapping[str, str | float] = {"denom": "list"}
_ALL: Mapping[str, str | float] = {"ideal_depth": "all"}
_EXP2: Mapping[str, str | float] = {"gain": "exp2"}
_CLIP: Mapping[str, str | float] = {"discount": "log2_clip"}
_CAPRI: Mapping[str, str | float] = {"gain": "exp2", "discount": "ln"}
_NOT_SHORT = "a list shorter than k, because the catalogue is, still divides precision by k"
CONVENTIONS: dict[Convention, System] = {
    "rectorch": System(
        name="rectorch",
        version="master f4292d6, dev 9b9a7af",
        ties="not decided (argpartition)",
        binary=True,
        lines=(
            Line("hit@k", "Metrics.hit_at_k(scores, truth, {k})", "zero"),
            Line("recall@k", "Metrics.recall_at_k(scores, truth, {k})", "nan"),
            Line("mrr@k", "Metrics.mrr_at_k(scores, truth, {k})", "zero"),
            Line("ndcg@k", "Metrics.ndcg_at_k(scores, truth, {k})", "nan"),
            Line("map@k", "Metrics.ap_at_k(scores, truth, {k})", "nan", gap="in the dev branch"),
            Line(
                "auc",
                "Metrics.auc(scores, truth)",
                "nan",
                gap="in the dev branch, where a pair of equal scores counts 0 or 1, not 1/2",
            ),
        ),
        gaps=(
            "excluded items are scored -inf; where fewer than k others remain they are listed, and "
            "may be hits",
        ),
        wrong=(
            "ndcg of graded truth sums the grades but takes their sum as the number of relevant "
            "items of the ideal: it exceeds 1",
            "ap_at_k (dev) loses a relevant item whose score is not positive",
        ),
    ),
    "lenskit": System(
        name="LensKit",
        version="0.14.4",
        ties="not decided: it reads lists",
        rank_gaps="keep",
        lines=(
            Line("hit@k", "hit(recs, truth, k={k})", "nan"),
            Line("hit", "hit(recs, truth)", "nan"),
            Line("precision@k", "precision(recs, truth, k={k})", "zero", _LIST),
            Line("precision", "precision(recs, truth)", "zero"),
            Line("recall@k", "recall(recs, truth, k={k})", "nan"),
            Line("recall", "recall(recs, truth)", "nan", _RELEVANT),
            Line("mrr@k", "recip_rank(recs, truth, k={k})", "zero"),
            Line("mrr", "recip_rank(recs, truth)", "zero"),
            Line("ndcg@k", "ndcg(recs, truth, k={k})", "nan", _CLIP),
            Line("ndcg", "ndcg(recs, truth)", "nan", {**_CLIP, **_ALL}),
            Line("dcg", "dcg(recs, truth)", "zero", _CLIP),
        ),
        gaps=(
            "precision of an empty list is missing there, 0 here",
            "precision(k=) divides by the length of a list shorter than k, as the line above; its "
            "bulk path, for tables with ranks, divides by k",
        ),
        wrong=("ndcg(k=) of 0.13.0 to 0.14.0 cuts the ideal at k but not the list: it exceeds 1",),
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
        ties="by the name of the document, the alphabetically last one first",
        table_ties="id",
        lines=(
            Line("hit@k", "success_{k}", "zero"),
            Line("precision@k", "P_{k}", "zero"),
            Line("precision", "set_P", "zero"),
            Line("recall@k", "recall_{k}", "zero", _RELEVANT),
            Line("recall", "set_recall", "zero", _RELEVANT),
            Line("f1", "set_F", "zero", _RELEVANT),
            Line("map@k", "map_cut_{k}", "zero", _RELEVANT),
            Line("map", "map", "zero", _RELEVANT),
            Line("mrr", "recip_rank", "zero"),
            Line("ndcg@k", "ndcg_cut_{k}", "zero"),
            Line("ndcg", "ndcg", "zero", _ALL),
            Line("r_precision", "Rprec", "zero"),
        ),
        gaps=(f"k beyond the catalogue: {_NOT_SHORT}",),
    ),
    "recbole": System(
        name="RecBole",
        version="1.2.1",
        ties="not decided (torch.topk)",
        binary=True,
        lines=(
            Line("hit@k", "metrics: Hit, topk: {k}", "nan"),
            Line("precision@k", "metrics: Precision, topk: {k}", "nan"),
            Line("recall@k", "metrics: Recall, topk: {k}", "nan", _RELEVANT),
            Line("map@k", "metrics: MAP, topk: {k}", "nan"),
            Line("mrr@k", "metrics: MRR, topk: {k}", "nan"),
            Line("ndcg@k", "metrics: NDCG, topk: {k}", "nan"),
            Line(
                "auc",
                "metrics: GAUC",
                "nan",
                gap="its mean weighs each user by the number of relevant items",
            ),
        ),
        gaps=(
            "it prints means, rounded to metric_decimal_place (4)",
            "excluded items are scored -inf; where fewer than k others remain they are listed, and "
            "may be hits",
            "it uses np.float, which NumPy has no longer since 1.24",
            "AUC is one curve over all users and items together, no mean of users",
        ),
    ),
    "rectools": System(
        name="RecTools",
        version="0.19.0",
        ties="not decided: it reads ranks",
        binary=True,
        rank_gaps="keep",
        lines=(
            Line("hit@k", "HitRate(k={k})", "nan"),
            Line("precision@k", "Precision(k={k})", "nan"),
            Line("recall@k", "Recall(k={k})", "nan", _RELEVANT),
            Line("f1@k", "F1Beta(k={k})", "nan", _RELEVANT),
            Line("map@k", "MAP(k={k})", "nan", _RELEVANT),
            Line("mrr@k", "MRR(k={k})", "nan"),
            Line("ndcg@k", "NDCG(k={k})", "nan", {"ideal_depth": "full"}),
            Line("coverage@k", "CatalogCoverage(k={k}, normalize=True)", "nan"),
        ),
        variants=(
            Line("ndcg@k", "NDCG(k={k}, divide_by_achievable=True)", "nan"),
            Line("recall@k", "Precision(k={k}, r_precision=True)", "nan"),
        ),
        gaps=(
            "MAP(divide_by_k=True) divides by k, which no option here does",
            "NDCG(log_base=) cancels out; it changes no number",
            "MeanInvUserFreq is novelty, but an item that nobody has counts as if one user had it",
            f"k beyond the catalogue: {_NOT_SHORT}",
        ),
    ),
    "ranx": System(
        name="ranx",
        version="0.3.21",
        ties="not decided (a sort that is not stable)",
        lines=(
            Line("hit@k", "hit_rate@{k}", "zero"),
            Line("hit", "hit_rate", "zero"),
            Line("precision@k", "precision@{k}", "zero"),
            Line("precision", "precision", "zero"),
            Line("recall@k", "recall@{k}", "zero", _RELEVANT),
            Line("recall", "recall", "zero", _RELEVANT),
            Line("f1@k", "f1@{k}", "zero", _RELEVANT),
            Line("f1", "f1", "zero", _RELEVANT),
            Line("map@k", "map@{k}", "zero", _RELEVANT),
            Line("map", "map", "zero", _RELEVANT),
            Line("mrr@k", "mrr@{k}", "zero"),
            Line("mrr", "mrr", "zero"),
            Line("ndcg@k", "ndcg@{k}", "zero"),
            Line("ndcg", "ndcg", "zero", _ALL),
            Line("dcg@k", "dcg@{k}", "zero"),
            Line("dcg", "dcg", "zero"),
            Line("r_precision", "r-precision", "zero"),
            Line("rbp", "rbp.80", "zero"),
        ),
        variants=(
            Line("ndcg@k", "ndcg_burges@{k}", "zero", _EXP2),
            Line("dcg@k", "dcg_burges@{k}", "zero", _EXP2),
        ),
        gaps=(f"k beyond the catalogue: {_NOT_SHORT}",),
        wrong=("rbp of graded truth weighs a hit by its grade: it exceeds 1",),
    ),
    "sklearn": System(
        name="scikit-learn",
        version="1.9.1",
        ties="ndcg_score and dcg_score average over all orders, as here; average_precision_score "
        "takes tied items as one step; roc_auc_score counts 1/2, as here",
        lines=(
            Line("ndcg@k", "ndcg_score([truth], [scores], k={k})", "zero", ties="expected"),
            Line("ndcg", "ndcg_score([truth], [scores])", "zero", ties="expected"),
            Line("dcg@k", "dcg_score([truth], [scores], k={k})", "zero", ties="expected"),
            Line("dcg", "dcg_score([truth], [scores])", "zero", ties="expected"),
            Line("map", "average_precision_score(truth, scores)", "zero", _RELEVANT),
            Line("auc", "roc_auc_score(truth, scores)", "nan"),
        ),
        gaps=("average_precision_score and roc_auc_score read binary truth only",),
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
            Line("auc", "RetrievalAUROC()", "zero"),
        ),
        gaps=(
            "it computes in float32",
            "graded truth is an error but in RetrievalNormalizedDCG",
            "RetrievalAUROC(top_k=) reads the top k alone, which no option here does",
            f"k beyond the catalogue: {_NOT_SHORT}",
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
        binary=True,
        lines=(
            Line("hit@k", "Evaluator(truth, cutoff={k}): hit", "nan"),
            Line("precision@k", "Evaluator(truth, cutoff={k}): precision", "nan", _LIST),
            Line("recall@k", "Evaluator(truth, cutoff={k}): recall", "nan", _RELEVANT),
            Line("map@k", "Evaluator(truth, cutoff={k}): map", "nan", _RELEVANT),
            Line("ndcg@k", "Evaluator(truth, cutoff={k}): ndcg", "nan", {"ideal_depth": "list"}),
            Line("gini@k", "Evaluator(truth, cutoff={k}): gini_index", "nan"),
            Line("coverage@k", "Evaluator(truth, cutoff={k}): catalog_coverage", "nan"),
        ),
        variants=(
            Line(
                "recall@k", "Evaluator(truth, cutoff={k}, recall_with_cutoff=True): recall", "nan"
            ),
        ),
        gaps=(
            "it gives means, over the users with relevant items; the lists of the others do not "
            "count in gini_index and catalog_coverage",
            "entropy is in nats there: ln 2 times the entropy here",
            "a cutoff beyond the catalogue is an error",
        ),
    ),
}


# Other names of these systems.
_ALSO: dict[str, Convention] = {
    "lkpy": "lenskit",
    "pytrec_eval": "trec",
    "trec_eval": "trec",
    "scikit-learn": "sklearn",
    "torchmetric": "torchmetrics",
}


def read_convention(convention: object) -> Convention:
    """Read the name of a system in any case.

    Raises
    ------
    ArgumentError
        If there is no such system; the message names the nearest.
    """
    name = convention.lower() if isinstance(convention, str) else ""
    if name not in CONVENTIONS:
        near = difflib.get_close_matches(name, [*CONVENTIONS, *_ALSO], n=1)
        hint = f"; did you mean {_ALSO.get(near[0], near[0])!r}?" if near else ""
        one_of("convention", convention, Convention, hint)
    return cast(Convention, name)


def line_for(convention: Convention, name: str, *, cutoff: bool) -> Line:
    """Find the line of a system for the plain name of a metric.

    Raises
    ------
    UnknownMetricError
        If it does not compute that metric; the message names those that it does.
    """
    system = CONVENTIONS[convention]
    asked = f"{name}@k" if cutoff else name
    for line in system.lines:
        if line.metric == asked:
            return line
    has = ", ".join(line.metric for line in system.lines)
    msg = (
        f"convention {convention!r} has no {asked!r}: {system.name} does not compute it; expected "
        f"one of {has}; ask for it in a call without convention="
    )
    raise UnknownMetricError(msg)
