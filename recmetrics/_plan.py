"""What the metrics of a call read: worked out once, in however many batches users come."""

from collections.abc import Mapping

from recmetrics._options import CallOptions, Ties
from recmetrics._spec import MetricSpec
from recmetrics._ties import policy_of

Specs = Mapping[str, MetricSpec]


class Plan:
    """The metrics of a call, and how much of each user's list they read."""

    def __init__(self, specs: Specs, options: CallOptions, n_items: int) -> None:
        self.specs = dict(specs)
        self.options = options
        self.n_items = n_items
        self.policies: dict[str, Ties] = {}  # of the metrics of accuracy
        self.listed: list[MetricSpec] = []  # those that read each user's list
        self.k = 0  # to which rank relevant items are looked for, 0: by no metric
        self.depth = 0  # how much of a list is read for the other metrics
        for text, spec in specs.items():
            if spec.metric.kind == "accuracy":
                self.policies[text] = policy_of(spec, options)
                self.k = max(self.k, n_items if spec.k is None else min(spec.k, n_items))
            else:
                self.depth = max(self.depth, cutoff(spec, n_items))
            if spec.metric.kind == "list":
                self.listed.append(spec)
        self.has_system = any(spec.metric.kind == "system" for spec in specs.values())
        # Whether selection must find the tie groups, or ranks by item index are enough.
        self.ties = any(policy != "index" for policy in self.policies.values())
        self.whole_rows = self.ties or any(spec.k is None for spec in specs.values())


def cutoff(spec: MetricSpec, n_items: int) -> int:
    """How many items of a list the metric reads, of a catalogue of ``n_items``."""
    return n_items if spec.k is None else max(1, min(spec.k, n_items))
