"""Sentence Transformers: how its users call InformationRetrievalEvaluator.

The evaluator reads embeddings of queries and documents, ranks the documents, and computes the
metrics of these rankings; here it gets the rankings.
"""

from sentence_transformers.evaluation import InformationRetrievalEvaluator

PACKAGE = "sentence-transformers"
REQUIREMENTS = ["torch==2.13.0", "sentence-transformers==6.2.0"]


def values(call: str, given) -> list[float]:
    """Compute the value of each user; NaN without relevant items, since no such query is asked."""
    n_items = given.truth.shape[1]
    ids = [f"d{item:03d}" for item in range(n_items)]  # equal scores go by the text of the id
    found = []
    for user, items in enumerate(given.lists()):
        relevant = {ids[item] for item in range(n_items) if given.truth[user, item] > 0}
        evaluator = InformationRetrievalEvaluator(
            {"q": "text of the query"},
            dict.fromkeys(ids, "text of the document"),
            {"q": relevant},
            **{
                f"{name}_at_k": [given.k]
                for name in ("accuracy", "precision_recall", "map", "mrr", "ndcg")
            },
        )
        if not evaluator.queries:
            found.append(float("nan"))
            continue
        hits = [{"corpus_id": ids[i], "score": float(given.scores[user, i])} for i in items]
        metrics = evaluator.compute_metrics([hits])
        name = call.removeprefix("cosine_").replace(f"@{given.k}", "@k")
        found.append(float(metrics[name][given.k]))
    return found
