"""The prose about other systems, of which ``conventions.py`` and the site write their pages.

``PROSE`` is what the table ``_core/spec/systems.txt`` does not need: the version that was
read, the order of equal scores, the differences that the table cannot express (``gaps``), and where
a system is wrong rather than different (``wrong``), which no line copies. ``OTHERS`` are systems
without a convention.
"""

from dataclasses import dataclass

from recmetrics._core.spec.systems import Line, System


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """What the pages say of a system besides its metrics."""

    version: str
    ties: str
    gaps: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


_ROWS = (
    "It reads rows of truth and score. A relevant item without a row does not count as relevant; "
    "in recmetrics it does. A user without rows is left out"
)
PROSE: dict[str, Prose] = {
    "rectorch": Prose(
        version="f4292d6 (master) and 9b9a7af (dev)",
        ties="no defined order (argpartition)",
        gaps=(
            "Excluded items get the score -inf. They fill up lists shorter than k, and can be hits",
        ),
        wrong=(
            "With graded truth, `ndcg_at_k` takes the sum of the grades as the number of "
            "relevant items of the ideal ranking. Values can exceed 1",
            "`ap_at_k` (dev branch) ignores relevant items whose score is 0 or negative",
        ),
    ),
    "lenskit": Prose(
        version="2025.8.1",
        ties="none, because it reads ranked lists",
        gaps=(
            "`list_metrics()` and `list_summary()` use 0 for a user without truth. They leave "
            "out a user who has neither truth nor a list. `list_metrics(fill_missing=False)` has "
            "NaN for users without truth, except in precision and dcg, where it has 0",
            "The means leave out users who have truth but no list",
            "If ranks have gaps, such as 1, 2, 5, the first k rows are read. `NDCG`, `DCG`, "
            "`RBP` and `AveragePrecision` then use the ranks as given, and `RecipRank` uses the "
            "position in the list",
            "Version 2026.4, of which the metrics were run alone, computes the same for users with "
            "truth and a list, except that a negative rating has the gain 0. It leaves users "
            "without truth out of every mean but that of `Precision`, and empty lists out of those "
            "of `Precision` and `AveragePrecision`. In recmetrics, "
            '`undefined="nan"` leaves users without truth out, also of `precision`, but not of '
            "`dcg`. In 2026.4 "
            "`ListGini` and `ExposureGini` take a vocabulary or a dataset as `items`",
            "`ExposureGini` computes in float32. `ListGini` and `ExposureGini` always count the "
            "whole catalogue given as `items=`",
        ),
        wrong=("`global_metrics()` returns NaN for every mean if one list has no truth",),
    ),
    "lenskit-0.14": Prose(
        version="0.14.4",
        ties="none, because it reads ranked lists",
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
    "capri": Prose(
        version="dbbb506",
        ties="none, because it reads ranked lists",
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
    "trec": Prose(
        version="0.5.11 of pytrec_eval-terrier",
        ties="by document id, the alphabetically last one first. recmetrics does the same in "
        "tables",
        gaps=(
            "It reads scores as float32. Scores that are equal after this rounding are ties. "
            "recmetrics does the same in tables",
            "The value is 0 if all judgements of a user are 0, and a user without judgements or "
            "without a list is left out. recmetrics does the same in tables; elsewhere the value "
            "of a user of zeros is NaN",
            "pytrec_eval gives 0 to a user whose list is an empty dictionary. trec_eval and "
            "recmetrics leave this user out",
            "A negative judgement means not relevant, as under the convention. Elsewhere in "
            "recmetrics it is an error",
        ),
    ),
    "recbole": Prose(
        version="1.2.1",
        ties="no defined order (torch.topk)",
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
    "rectools": Prose(
        version="0.19.0",
        ties="none, because it reads ranks",
        gaps=(
            "`NDCG(log_base=)` changes no value, because the base cancels out",
            "`PartialAUC` and `PAP` count pairs down to the k-th item that is not relevant. "
            "recmetrics has no option for this",
            "`MeanInvUserFreq` is novelty, but counts an item without interactions as if one "
            "user had interacted with it",
        ),
        wrong=(
            "`Accuracy` can be negative if k exceeds the number of items",
            "`CatalogCoverage` counts items that are not in the catalogue. Values can exceed 1",
            "An item that occurs twice in the interactions counts twice. "
            "`NDCG(divide_by_achievable=True)` can exceed 1",
        ),
    ),
    "ranx": Prose(
        version="0.3.21",
        ties="no defined order (unstable sort)",
        gaps=(
            "`evaluate(make_comparable=True)` leaves out a user without judgements, and gives 0 "
            "to a user without a list. Without `make_comparable=True` both are errors",
            "The value is 0 if all judgements of a user are 0; recmetrics gives NaN. To count "
            "these users alone as 0, drop users without judgements and pass "
            '`undefined="zero"`',
            "Grades are truncated to integers, so 0.9 is not relevant",
            "A relevance level, such as 2 in `ndcg@10-l2`, ignores the grades below it and keeps "
            "the other grades as gains. In recmetrics, `rel=2` makes relevance binary",
        ),
        wrong=("With graded truth, `rbp` weighs a hit by its grade. Values can exceed 1",),
    ),
    "sklearn": Prose(
        version="1.9.1",
        ties="`ndcg_score` and `dcg_score` average over all orders, as this convention does. With "
        "`ignore_ties=True` they have no defined order. `average_precision_score` and "
        "`label_ranking_average_precision_score` put tied items at the last of their ranks, as "
        "`tied=block` does. `roc_auc_score` counts a tied pair as 1/2, as in recmetrics",
        gaps=(
            "`average_precision_score`, `label_ranking_average_precision_score` and "
            "`roc_auc_score` accept only binary truth",
            _ROWS,
            "`ndcg_score` and `dcg_score` need at least two items",
        ),
    ),
    "torchmetrics": Prose(
        version="1.9.0",
        ties="`RetrievalNormalizedDCG` averages over all orders, and `RetrievalAUROC` counts a "
        "tied pair as 1/2, as `auc` does in recmetrics. The other metrics have no defined order "
        "(torch.topk, torch.argsort)",
        gaps=(
            "It computes in float32",
            "Graded truth is an error, except in `RetrievalNormalizedDCG`",
            "`RetrievalAUROC(max_fpr=)` is a partial area. recmetrics has no option for this",
            _ROWS,
        ),
        wrong=(
            "`RetrievalMAP`, `RetrievalMRR`, `RetrievalPrecision` and `RetrievalRecall` ignore "
            "relevant items whose score is 0 or negative",
            "If scores are outside [0, 1], `RetrievalAUROC` applies a sigmoid in float32. All "
            "scores above 17 become ties",
        ),
    ),
    "irspack": Prose(
        version="0.5.2",
        ties="by the lower item index, as in recmetrics",
        gaps=(
            "It gives means over the users with relevant items. `gini_index` and "
            "`catalog_coverage` count only the lists of these users",
            "`entropy` is in nats: ln 2 times the entropy of recmetrics",
            "A k above the number of items is an error",
            "With `recommendable_items=`, items outside this set do not count as relevant",
        ),
        wrong=("An explicit 0 in a sparse truth counts as relevant",),
    ),
    "lightgbm": Prose(
        version="4.7.0",
        ties="by the order of the rows, as in recmetrics",
        gaps=(
            _ROWS,
            "A grade above 30 is an error, unless `label_gain` has more entries",
            "`auc` is computed once over all rows. It is not a mean over queries",
        ),
    ),
    "xgboost": Prose(
        version="3.4.1",
        ties="by the order of the rows, as in recmetrics",
        gaps=(
            _ROWS,
            "Without `@k`, `ndcg`, `map` and `pre` read the first 32 ranks, not the whole list",
            "Scores are rounded to float32, which can create ties",
            "Graded truth is an error in `map` and `pre`. A grade above 31 is an error in `ndcg`, "
            "unless `ndcg_exp_gain=False`",
        ),
        wrong=(
            "With queries, `auc` also compares items of equal label, in the order of the rows. "
            "Labels 0, 1, 1 with scores 3, 2, 1 give 1/3 instead of 0",
        ),
    ),
    "torch_geometric": Prose(
        version="2.8.1",
        ties="none, because it reads ranked lists",
        gaps=(
            "It computes in float32",
            "`LinkPredRecall(weighted=True)` divides the sum of the grades of the hits by the "
            "sum of all grades. recmetrics has no option for this",
        ),
        wrong=(
            "Its search fills lists shorter than k with -1. This -1 can count as a hit on an "
            "item of the preceding user, so that the mean of `LinkPredPrecision(k=1)` can be 2",
            "`LinkPredCoverage` counts this -1 as the last item, and `LinkPredPersonalization` "
            "counts it as a common item",
        ),
    ),
    "sentence_transformers": Prose(
        version="6.2.0", ties="by document id as text, so that 10 comes before 2"
    ),
    "replay": Prose(
        version="0.22.0",
        ties="by item id, the larger one first",
        gaps=(
            "`Coverage` takes the catalogue from `train`, so that items without interactions do "
            "not count",
            "`Surprisal` is `novelty(denom=k)` divided by log2 of the number of users. It counts "
            "an item without interactions as if one user had interacted with it",
        ),
        wrong=(
            "A repeated test row counts as a second relevant item in `MAP` and `NDCG`, but not in "
            "`Recall`",
            "`MAP` and `NDCG` count a repeated item of a list each time. Values can exceed 1",
        ),
    ),
    "elliot": Prose(
        version="0.3.1, fc27efe",
        ties="none, because it reads ranked lists",
        gaps=(
            "It prints means over the users with relevant items, rounded to 5 decimals",
            "`ItemCoverage` is the number of different items in the lists: coverage times the "
            "size of the catalogue. `Gini` is 1 - `gini(denom=n-1)`. Both count only the lists "
            "of users with relevant items",
            "With `relevance_threshold: t`, the gain in `nDCG` is 2^(grade - t + 1) - 1. To "
            "compute it, give the truth max(grade - t + 1, 0) to `ndcg(gain=exp2)`",
            "`MAR` is the mean of recall@1 to recall@k, and `SEntropy` is a mean over users. "
            "recmetrics has neither",
        ),
        wrong=(
            "`GAUC`, `LAUC` and `AUC` count one negative item too many. The worst ranking of two "
            "items has a `GAUC` of 0.5 instead of 0",
        ),
    ),
    "warprec": Prose(
        version="2.2.8",
        ties="by a hash of seed, user and item. Its metric classes, if called directly, have no "
        "defined order (torch.topk)",
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
    "spark": Prose(
        version="4.3.0",
        ties="none, because it reads ranked lists",
        gaps=(
            "It gives means. A user without relevant items counts as 0 if the table has a row "
            "with an empty label for this user, and is left out otherwise",
        ),
        wrong=(
            "`RankingMetrics` of `pyspark.mllib` accepts relevance values for `ndcgAt`, and "
            "ignores them",
            "A repeated item of a list is a hit each time. Recall and NDCG can exceed 1",
        ),
    ),
    "recpack": Prose(
        version="0.3.6",
        ties="no defined order (argpartition)",
        gaps=(
            "`HitK` counts the hits of a user. Its mean is not a hit rate",
            "`CoverageK` counts only the lists of users with relevant items",
            "An item with a score of exactly 0 is not recommended. In recmetrics, give it the "
            "score -inf or exclude it",
        ),
        wrong=(
            "With graded truth, `NDCGK` can exceed 1, `ReciprocalRankK` is divided by the grade, "
            "`RecallK` is divided by the sum of the grades, and the discount of `DCGK` is "
            "log2(rank x grade + 1). Make the truth binary first",
        ),
    ),
    "implicit": Prose(
        version="0.7.3",
        ties="no defined order (a heap)",
        gaps=(
            "`precision_at_k` is one number for all users: the sum of their hits, divided by the "
            "sum of their min(k, R)",
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
    "cornac": Prose(
        version="3.0.1",
        ties="no defined order (argpartition). `MAP` puts tied items at one threshold. `AUC` "
        "counts a tied pair as 0",
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
    "recommenders": Prose(
        version="1.2.1",
        ties="by the order of the rows of the table",
        gaps=(
            "`ndcg_at_k` counts a user without recommendations as 0. The other metrics leave "
            "this user out",
            "Every row of `rating_true` is relevant, even with a rating of 0",
            "`novelty` is the mean over all recommendations, not over users. It takes the "
            "popularity of an item as a share of all interactions, not of all users",
        ),
        wrong=(
            "`r_precision_at_k` leaves out users without a hit in the top min(R, k). For one "
            "user with a perfect list and one user without hits it is 1",
            'With `relevancy_method="by_threshold"` or `None`, more than k items are read, but '
            "the sum is divided by k. `precision_at_k`, `map_at_k` and `ndcg_at_k` can exceed 1",
            "`catalog_coverage` counts items that are not in `train_df`. Values can exceed 1",
            "With pandas 3, `distributional_coverage` raises a KeyError",
        ),
    ),
    "recometrics": Prose(
        version="0.1.6.post13",
        ties="at random, because noise of up to 1e-12 is added to the scores",
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
    "rax": Prose(
        version="0.4.0",
        ties="by the lower item index, as in recmetrics; at random if it gets a `key`",
        gaps=(
            "KerasRS, TF-Ranking and metrax are of the same family, and have the same definitions "
            "under other names; KerasRS has a section below",
            "A grade below 1 is not relevant, except in `ndcg_metric` and `dcg_metric`",
            "With `where=` it reads rows of label and score. A relevant item without a row does "
            "not count as relevant; in recmetrics it does",
            "KerasRS and TF-Ranking may weigh items. The weight of a list in the mean is then that "
            "of its relevant items, and a list without any has the mean weight of the others. "
            "recmetrics has no weights of items",
            "`opa_metric` is the share of all pairs of different grades that are in order. "
            "recmetrics does not have it",
        ),
    ),
    "elasticsearch": Prose(
        version="9, and OpenSearch 3, by the tests of its `rank_eval`",
        ties="none, because it reads ranked lists",
        gaps=(
            "Ratings are integers. `relevant_rating_threshold` is `rel`",
            "`ignore_unlabeled=true` removes documents without a rating from the list before "
            "`precision` reads it. `unknown_doc_rating` gives these documents a rating in `dcg`",
            "The mean is over all queries of the request",
        ),
    ),
    "ignite": Prose(
        version="0.5.5",
        ties="no defined order (torch.topk) in `HitRate`",
        gaps=(
            "`NDCG(relevance_threshold=t)` keeps the grades from t as gains. In recmetrics, "
            "`rel=t` makes relevance binary: give the truth `np.where(truth >= t, truth, 0)`",
            "A grade below 1, the default threshold, is not relevant in `NDCG`",
            "It gives means, in float32",
            "Excluded items get the score -inf. They fill up lists shorter than k, and can be hits",
            "A k above the number of items is an error in `HitRate`",
        ),
    ),
    "torcheval": Prose(
        version="0.0.7",
        ties="the target ranks before all other items with the same score",
        gaps=(
            "The target is one class index per row. recmetrics accepts this form of truth too, "
            "and also -1 for a row without a target, which torcheval refuses",
            "`reciprocal_rank` computes in float32",
            "`retrieval_precision(input, target, k)` and `RetrievalPrecision(k=k)` read rows of "
            "queries with many targets. They are `precision@k` of `Metrics.compute_groups` with "
            '`undefined="zero"`, and with `limit_k_to_size=True` `precision(denom=list)@k`; '
            "`indexes` is `ids=`",
        ),
    ),
    "keras_rs": Prose(
        version="0.4.0",
        ties="at random",
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

# Systems without a convention: the metric strings are typed, and the policies as keywords.
OTHERS: dict[str, System] = {
    "torcheval": System(
        name="torcheval",
        lines=(),
        variants=(
            Line("hit@k", "hit_rate(scores, target, k={k})", ties="best"),
            Line("mrr@k", "reciprocal_rank(scores, target, k={k})", ties="best"),
            Line("mrr", "reciprocal_rank(scores, target)", ties="best"),
        ),
    ),
    "keras_rs": System(
        name="KerasRS",
        lines=(),
        variants=(
            Line("precision(denom=list)@k", "PrecisionAtK(k={k})", "zero"),
            Line("precision", "PrecisionAtK()", "zero"),
            Line("recall(denom=relevant)@k", "RecallAtK(k={k})", "zero"),
            Line("recall(denom=relevant)", "RecallAtK()", "zero"),
            Line("map(denom=relevant)@k", "MeanAveragePrecision(k={k})", "zero"),
            Line("map(denom=relevant)", "MeanAveragePrecision()", "zero"),
            Line("mrr@k", "MeanReciprocalRank(k={k})", "zero"),
            Line("mrr", "MeanReciprocalRank()", "zero"),
            Line("ndcg(gain=exp2)@k", "NDCG(k={k})", "zero"),
            Line("ndcg(gain=exp2)", "NDCG()", "zero"),
            Line("dcg(gain=exp2)@k", "DCG(k={k})", "zero"),
            Line("dcg(gain=exp2)", "DCG()", "zero"),
        ),
    ),
}
