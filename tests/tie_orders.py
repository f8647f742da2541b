"""Values over all orders of equal scores, by enumerating them."""

from itertools import groupby, permutations, product

import numpy as np
from inside import METRICS
from problems import by_default, depth_of, listed_items, one_user, side_information

OVER_ORDERS = {"expected": np.mean, "worst": np.min, "best": np.max}
REFUSED = [
    (f"{metric.name}({option}={choice})@3", option, choice)
    for metric in METRICS.values()
    for option, choice in metric.without_orders.items()
]


def values_over_orders(spec, scores, truth, excluded=(), candidates=None):
    """The metric of one user in every order of equal scores, by its definition.

    Only the gains at the ranks matter, and each sequence of gains that differs comes from the same
    number of orders.
    """
    items = listed_items(scores, excluded, candidates)
    groups = [list(same) for _, same in groupby(items, key=lambda i: scores[i])]
    k = depth_of(spec, items)
    propensity = side_information(1, len(truth))["propensity"]
    seen, values = set(), []
    for order in product(*(permutations(group) for group in groups)):
        ranking = [i for group in order for i in group]
        shown = tuple((truth[i], propensity[i] if spec.is_weighed else 1.0) for i in ranking)
        if shown in seen:
            continue
        seen.add(shown)
        strict = np.zeros(len(truth))
        strict[ranking] = -np.arange(len(ranking))
        user = one_user(strict, truth, ranking, propensity)
        values.append(spec.metric.reference(user, k, **spec.values))
    return by_default(spec, np.array(values))


def over_orders(metric, ties):
    """The mean, the worst or the best of the values over all orders."""
    if ties != "expected" and not metric.higher_is_better:
        ties = {"worst": "best", "best": "worst"}[ties]
    return OVER_ORDERS[ties]
