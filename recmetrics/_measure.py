"""From inputs to one array of values per metric string."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from recmetrics._conventions import line_for
from recmetrics._errors import UndefinedMetricError
from recmetrics._exposure import Exposures
from recmetrics._inputs import row_blocks
from recmetrics._lists import ListReader, ListSink, exposures
from recmetrics._options import CallOptions, Ties, Undefined, UserValues
from recmetrics._plan import Plan, Specs, cutoff
from recmetrics._registry import Metric
from recmetrics._side import Side
from recmetrics._spec import MetricSpec
from recmetrics._threads import map_blocks
from recmetrics._ties import settle
from recmetrics._topk import FloatArray, TopK, Views, empty_topk, with_ideal

_THREADED = 1 << 18  # users and relevant items, times metrics: less is done before threads start


class Inputs(Protocol):
    """Users whose lists can be read: from scores, from factors, or as they are."""

    n_users: int
    n_items: int

    def top_k(self, plan: Plan, reader: ListReader) -> TopK:
        """Rank every user's relevant items as deep as the plan asks, and have the lists read."""


class Ranked(NamedTuple):
    """Users whose lists are read, for the metrics that read where in a list its hits are."""

    top: TopK
    listed: Mapping[MetricSpec, UserValues]  # the metrics that read the list itself


def measure(inputs: Inputs, specs: Specs, side: Side, options: CallOptions) -> dict[str, Any]:
    """The values of a whole call: all users at once."""
    plan = Plan(specs, options, inputs.n_items)
    sink = exposures(specs.values(), inputs.n_items)
    values = measure_users(inputs, plan, side, sink)
    values |= measure_system(sink, specs, inputs.n_items)
    everyone = np.ones(inputs.n_users, np.bool_)
    return {text: defined(values[text], text, specs[text], options, everyone) for text in specs}


def measure_users(inputs: Inputs, plan: Plan, side: Side, sink: ListSink) -> dict[str, UserValues]:
    """The user metrics of ``plan``, NaN where undefined; the lists go to ``sink``."""
    return measure_ranked(rank_users(inputs, plan, side, sink), plan)


def rank_users(inputs: Inputs, plan: Plan, side: Side, sink: ListSink) -> Ranked:
    """What the user metrics of ``plan`` read of the inputs; the lists go to ``sink``."""
    reader = ListReader(plan, side, inputs.n_users, sink)
    return Ranked(inputs.top_k(plan, reader), reader.values)


def measure_ranked(ranked: Ranked, plan: Plan) -> dict[str, UserValues]:
    """The user metrics of ``plan`` for users whose lists are read."""
    top = with_ideal(ranked.top)
    views: dict[Ties, Views] = {}
    values = {}
    waiting: list[tuple[MetricSpec, TopK, int, UserValues]] = []
    for text, spec in plan.specs.items():
        if spec.metric.kind == "accuracy":
            policy = plan.policies[text]
            if policy not in views:
                views[policy] = Views(settle(top, policy))
            values[text] = np.empty(len(top.n_hits))
            waiting.append((spec, *_view(spec, views[policy], plan.n_items), values[text]))
        elif spec.metric.kind == "list":
            values[text] = ranked.listed[spec]

    def run(chosen: slice) -> None:
        for spec, view, k, out in waiting[chosen]:
            spec.metric.kernel(view, k, out, *spec.kernel_arguments)

    # Of 30 metrics of 10,000 users these kernels were a third of the call, in one thread.
    threaded = (len(top.n_hits) + len(top.rank)) * len(waiting) >= _THREADED
    n_threads = plan.options.threads if threaded else 1
    map_blocks(run, row_blocks(len(waiting), 1, n_threads), n_threads)
    return values


def check_truth(relevance: FloatArray, plan: Plan) -> None:
    """Refuse relevances of users to come that no list of theirs could be measured with."""
    nobody = empty_topk(np.zeros(1, np.int64), np.empty(0), ties=False)
    views = Views(nobody._replace(ideal=relevance))
    for spec in plan.specs.values():
        if spec.metric.kind == "accuracy":
            _view(spec, views, plan.n_items)


def measure_system(state: Exposures, specs: Specs, n_items: int) -> dict[str, UserValues]:
    """The system metrics among ``specs``, of all lists that were added to ``state``."""
    return {
        text: np.array(spec.metric.kernel(state.at(cutoff(spec, n_items)), *spec.kernel_arguments))
        for text, spec in specs.items()
        if spec.metric.kind == "system"
    }


def undefined_policy(spec: MetricSpec, options: CallOptions) -> Undefined:
    """What a user without relevant items gets: as the caller says, else as the convention does."""
    if options.undefined is not None:
        return options.undefined
    if options.convention is None:
        return "nan"
    return line_for(options.convention, spec.name, cutoff=spec.k is not None).undefined


def _view(spec: MetricSpec, views: Views, n_items: int) -> tuple[TopK, int]:
    """What the kernel of a metric reads, and its cutoff, 0 for the whole list."""
    k = 0 if spec.k is None else cutoff(spec, n_items)
    top = views.view(k, spec.values)
    if spec.metric.check is not None:
        spec.metric.check(top, spec.values)
    return top, k


def defined(
    values: UserValues,
    text: str,
    spec: MetricSpec,
    options: CallOptions,
    known: npt.NDArray[np.bool_],
    first_user: int = 0,
) -> UserValues:
    """Apply ``undefined=`` to the values that a kernel left NaN, of users who are ``known``.

    ``first_user`` is whose value the first one is, where these are some of the users of a call.
    """
    policy = undefined_policy(spec, options)
    if policy == "nan":
        return values
    missing = np.isnan(values)
    if missing.ndim:
        missing &= known
    if policy == "zero":
        values[missing] = 0.0
    elif missing.any():
        raise UndefinedMetricError(_undefined(missing, text, spec.metric, first_user))
    return values


def _undefined(missing: npt.NDArray[np.bool_], text: str, metric: Metric, first_user: int) -> str:
    if missing.ndim == 0:
        return f"{text} is undefined ({metric.undefined}); give undefined='nan' or 'zero'"
    return (
        f"{text} is undefined for {missing.sum()} of {missing.size} users "
        f"({metric.undefined}), the first is user "
        f"{first_user + np.flatnonzero(missing)[0]}; expected a "
        "value for every user; give undefined='nan' or 'zero', or leave these users out"
    )
