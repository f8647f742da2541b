"""trec_eval by pytrec_eval: judgements and a run as dictionaries of names."""

from typing import Any

from pytrec_eval import RelevanceEvaluator

PACKAGE = "pytrec_eval-terrier"
REQUIREMENTS = ["pytrec_eval-terrier==0.5.11"]
TABLE = True


def values(call: str, given: Any) -> list[float]:
    """Compute the measure of each user; its name is that of the result, ``ndcg_cut_10``."""
    qrels, run = {}, {}
    for user, items in enumerate(given.lists()):
        if relevant := [item for item, grade in enumerate(given.truth[user]) if grade > 0]:
            qrels[str(user)] = {str(item): int(given.truth[user, item]) for item in relevant}
        if items:  # a run names no user without a list
            run[str(user)] = {str(item): float(given.scores[user, item]) for item in items}
    measure, _, k = call.rpartition("_")
    asked = f"{measure}.{k}" if k.isdecimal() else call
    found = RelevanceEvaluator(qrels, {asked}).evaluate(run)
    users = map(str, range(len(given.truth)))
    return [found[user][call] if user in found else float("nan") for user in users]
