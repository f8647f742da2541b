"""RePlay: how its users call it.

The tables are Polars data frames: what is recommended (query_id, item_id, rating) and the test data
(query_id, item_id), whose grades no metric reads. A user without relevant items has no row in the
test data, a user whose list is empty none in the recommendations.
"""

from typing import Any

import numpy as np
import polars as pl
from replay import metrics

PACKAGE = "replay-rec"
REQUIREMENTS = ["replay-rec==0.22.0"]

NAMES = vars(metrics)


def values(call: str, given: Any) -> list[float]:
    """Compute the value of each user, or that of all lists where the call reads a catalogue.

    RePlay puts the larger of two tied items first, so items are numbered from the last to the
    first: its order is then that of the lists.
    """
    n_users, n_items = given.truth.shape
    number = n_items - 1 - np.arange(n_items)
    rows = [(user, item) for user, items in enumerate(given.lists()) for item in items]
    lists = pl.DataFrame(
        {
            "query_id": [user for user, _ in rows],
            "item_id": [number[item] for _, item in rows],
            "rating": [given.scores[user, item] for user, item in rows],
        },
        schema={"query_id": pl.Int64, "item_id": pl.Int64, "rating": pl.Float64},
    )
    if "train" in call:  # each item of the catalogue has been seen by somebody
        catalogue = pl.DataFrame({"query_id": np.zeros(n_items, dtype=np.int64), "item_id": number})
        found = eval(call, NAMES, {"recommendations": lists, "train": catalogue})
        return [float(value) for value in found.values()]
    relevant = np.argwhere(given.truth > 0)
    test = pl.DataFrame({"query_id": relevant[:, 0], "item_id": number[relevant[:, 1]]})
    if test.is_empty():
        return [float("nan")] * n_users
    names = {"recommendations": lists, "ground_truth": test, "mode": metrics.PerUser()}
    of_user = next(iter(eval(call.replace(")(", ", mode=mode)("), NAMES, names).values()))
    return [float(of_user.get(user, np.nan)) for user in range(n_users)]
