"""The tie policy: which ranks equal scores take.

Selection finds, for each relevant item, its rank by the one order of the package and the ranks that
its tie group takes. From that one record each policy is made, so that no metric knows of policies:

- "index": the rank by item index.
- "expected": all ranks of the group, each with the same chance. The kernels compute expectations.
- "worst", "best": the relevant items of a group come last, or first, the greatest relevance at the
  outer end. No other order gives less, or more, since no metric falls where a greater relevance
  moves up. Metrics that divide by what the list happens to hold do, and are refused.

McSherry, Najork: Computing information retrieval performance measures efficiently in the presence
of tied scores, ECIR 2008.
"""

from collections.abc import Mapping

import numpy as np

from recmetrics._conventions import line_for
from recmetrics._errors import ArgumentError
from recmetrics._options import CallOptions, Ties
from recmetrics._registry import METRICS
from recmetrics._spec import MetricSpec
from recmetrics._topk import TopK


def policy_of(spec: MetricSpec, options: CallOptions) -> Ties:
    """The policy of a metric: as the caller says, else as the convention does, else by index.

    A metric that averages over ties by definition does so instead of by index.
    """
    ties = options.ties
    if ties is None:
        ties = "index"
        if options.convention is not None:
            ties = line_for(options.convention, spec.name, cutoff=spec.k is not None).ties
    return "expected" if spec.metric.averages_ties and ties == "index" else ties


def require_policy(specs: Mapping[str, MetricSpec], options: CallOptions) -> None:
    """Refuse a metric that has no value under its tie policy.

    Raises
    ------
    ArgumentError
        If a metric reads the lists themselves, or divides by what they happen to hold.
    """
    for text, spec in specs.items():
        ties = policy_of(spec, options)
        if ties != "index":
            asked, instead = f"ties={ties!r}", "give ties='index'"
            require_accuracy({text: spec}, asked, instead)
            require_fixed_divisor({text: spec}, asked, instead)


def require_accuracy(specs: Mapping[str, MetricSpec], asked: str, instead: str) -> None:
    """Refuse metrics that read more of a list than where its relevant items are."""
    for text, spec in specs.items():
        if spec.metric.kind != "accuracy":
            able = ", ".join(m.name for m in METRICS.values() if m.kind == "accuracy")
            msg = f"{text} reads the lists themselves and has no {asked}; {able} have; {instead}"
            raise ArgumentError(msg)


def require_fixed_divisor(specs: Mapping[str, MetricSpec], asked: str, instead: str) -> None:
    """Refuse metrics that divide by what the list happens to hold."""
    for text, spec in specs.items():
        for option, choice in spec.metric.order_bound.items():
            if spec.values[option] == choice:
                msg = (
                    f"{text} has no {asked}: with {option}={choice} it divides by what the list "
                    f"happens to hold; type {option}={spec.metric.options[option].default}, "
                    f"or {instead}"
                )
                raise ArgumentError(msg)


def has_ceiling(spec: MetricSpec) -> bool:
    """Whether the order of descending relevances has the greatest value of the metric."""
    bound = spec.metric.no_ceiling.items()
    return not bound or any(spec.values[option] != choice for option, choice in bound)


def require_ceiling(specs: Mapping[str, MetricSpec]) -> None:
    """Refuse metrics whose best list is not the one in the order of relevances."""
    for text, spec in specs.items():
        if not has_ceiling(spec):
            together = ", ".join(f"{o}={choice}" for o, choice in spec.metric.no_ceiling.items())
            option = list(spec.metric.no_ceiling)[-1]
            msg = (
                f"{text} has no ceiling: with {together} a list of less relevant items may have "
                f"more; type {option}={spec.metric.options[option].default}, or leave it out"
            )
            raise ArgumentError(msg)


def settle(top: TopK, ties: Ties) -> TopK:
    """The record of selection with the ranks ``first`` .. ``last`` of each hit under a policy."""
    if ties == "index":
        return top._replace(first=top.rank, last=top.rank)
    return top if ties == "expected" else _placed(top, best_first=ties == "best")


def _placed(top: TopK, *, best_first: bool) -> TopK:
    """Give the relevant items of each tie group its first ranks, or its last."""
    rank, gain = top.first.copy(), top.gain
    tied = np.flatnonzero(top.last > top.first)
    if tied.size:
        users = np.searchsorted(top.start, tied, side="right") - 1
        first, last = top.first[tied], top.last[tied]
        # The slots of a group are neighbours, and stay so: only gains change places.
        order = np.lexsort((-gain[tied] if best_first else gain[tied], first, users))
        gain = gain.copy()
        gain[tied] = gain[tied[order]]
        begins = np.ones(tied.size, bool)
        begins[1:] = (users[1:] != users[:-1]) | (first[1:] != first[:-1])
        group = np.cumsum(begins) - 1
        begin = np.flatnonzero(begins)
        place = np.arange(tied.size) - begin[group]
        size = np.diff(np.append(begin, tied.size))[group]
        rank[tied] = place + (first if best_first else last - size + 1)
    return top._replace(rank=rank, first=rank, last=rank, gain=gain)
