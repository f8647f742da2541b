"""Metrics without a value under a tie policy, by chance, as a ceiling, or for groups."""

from functools import partial

import pytest
from asserts import message_of
from inside import parse
from problems import of_kind, side_information
from tie_orders import OVER_ORDERS, REFUSED

from recmetrics import ArgumentError, Metrics

SCORES, TRUTH = [[1, 1, 0]], [[1, 0, 1]]
SIDE = side_information(1, 3)
POLICIES = [*OVER_ORDERS, "range"]
# What a metric may lack, the call that asks for it, and what to do instead.
OF_TIES = {
    f"ties={ties!r}": (
        partial(Metrics.compute, SCORES, TRUTH, ties=ties, **SIDE),
        "compute it in a separate call with ties='index'",
    )
    for ties in POLICIES
}
CHANCE = {"chance level": (partial(Metrics.chance, TRUTH), "leave it out")}
CEILING = {"ceiling": (partial(Metrics.ceiling, TRUTH), "leave it out")}
OF_GROUPS = {
    "value for groups, whose items have no names": (
        partial(Metrics.compute_groups, SCORES[0], TRUTH[0], sizes=[3]),
        "leave it out",
    )
}
OF_LISTS = OF_TIES | CHANCE | CEILING | OF_GROUPS
OF_DIVISORS = OF_TIES | CHANCE


@pytest.mark.parametrize(
    ("asked", "metric"),
    [
        pytest.param(asked, metric, id=f"{metric.name} {asked}")
        for asked in OF_LISTS
        for metric in of_kind("lists", "exposure")
        if asked != "chance level" or not metric.any_order
    ],
)
def test_a_metric_of_the_lists_themselves_is_refused(asked, metric):
    call, instead = OF_LISTS[asked]
    text = f"{metric.name}@1"
    Metrics.compute(SCORES, TRUTH, text, **SIDE)
    able = ", ".join(metric.name for metric in of_kind("hits"))
    assert message_of(ArgumentError, call, ["ndcg", text]) == (
        f"{text} reads the lists themselves and has no {asked}; only {able} have it; {instead}"
    )


@pytest.mark.parametrize("asked", OF_DIVISORS)
@pytest.mark.parametrize(("text", "option", "choice"), REFUSED)
def test_a_quotient_of_the_list_by_itself_is_refused(asked, text, option, choice):
    call, instead = OF_DIVISORS[asked]
    default = parse(text).metric.options[option].default
    call(text.replace(choice, default))
    reason = "its divisor depends on the items in the list"
    if option == "tied":
        reason = "equal scores have one rank and no orders"
        if asked != "chance level":
            instead = f"leave out ties=, or {instead}"
    assert message_of(ArgumentError, call, text) == (
        f"{text} has no {asked}: with {option}={choice}, {reason}; type {option}={default}, or "
        f"{instead}"
    )


@pytest.mark.parametrize("asked", OF_DIVISORS)
def test_the_pairs_of_the_top_k_are_refused(asked):
    call, instead = OF_DIVISORS[asked]
    call("auc(rel=1)")
    assert message_of(ArgumentError, call, "auc(rel=1)@2") == (
        f"auc(rel=1)@2 has no {asked}: with a cutoff, its divisor depends on the items in the "
        f"list; type auc(rel=1), or {instead}"
    )


def test_a_metric_that_less_relevant_items_may_raise_has_no_ceiling():
    text = "ndcg(ideal=retrieved,ideal_depth=full)@2"
    Metrics.ceiling(TRUTH, text.replace("full", "k"))
    assert message_of(ArgumentError, Metrics.ceiling, TRUTH, text) == (
        f"{text} has no ceiling: with ideal=retrieved, ideal_depth=full a list of less relevant "
        "items may have a higher value; type ideal_depth=k, or leave it out"
    )
