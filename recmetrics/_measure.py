"""From inputs to one array of values per metric string."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from recmetrics._conventions import line_for
from recmetrics._errors import UndefinedMetricError
from recmetrics._exposure import Exposures
from recmetrics._lists import ListReader, ListSink, cutoff, exposures
from recmetrics._options import CallOptions, Ties, Undefined, UserValues
from recmetrics._registry import Metric
from recmetrics._side import Side
from recmetrics._spec import MetricSpec
from recmetrics._ties import policy_of, settle
from recmetrics._topk import TopK, Views

Specs = Mapping[str, MetricSpec]


class Inputs(Protocol):
    """Users whose lists can be read: from scores, from factors, or as they are."""

    n_users: int
    n_items: int

    def top_k(self, specs: Iterable[MetricSpec], options: CallOptions, reader: ListReader) -> TopK:
        """Rank every user's relevant items as deep as ``specs`` ask, and have the lists read."""


def measure(inputs: Inputs, specs: Specs, side: Side, options: CallOptions) -> dict[str, Any]:
    """The values of a whole call: all users at once."""
    sink = exposures(specs.values(), inputs.n_items)
    values = measure_users(inputs, specs, side, sink, options)
    values |= measure_system(sink, specs, inputs.n_items)
    everyone = np.ones(inputs.n_users, np.bool_)
    return {text: defined(values[text], text, specs[text], options, everyone) for text in specs}


def measure_users(
    inputs: Inputs, specs: Specs, side: Side, sink: ListSink, options: CallOptions
) -> dict[str, UserValues]:
    """The user metrics among ``specs``, NaN where undefined; the lists go to ``sink``."""
    reader = ListReader(specs.values(), side, inputs.n_users, inputs.n_items, sink)
    top = inputs.top_k(specs.values(), options, reader)
    views: dict[Ties, Views] = {}
    values = {}
    for text, spec in specs.items():
        if spec.metric.kind == "accuracy":
            policy = policy_of(spec.metric, options.ties)
            if policy not in views:
                views[policy] = Views(settle(top, policy))
            values[text] = _run(spec, views[policy], inputs.n_items)
        elif spec.metric.kind == "list":
            values[text] = reader.values[spec].copy()
    return values


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


def _run(spec: MetricSpec, views: Views, n_items: int) -> UserValues:
    metric, values = spec.metric, spec.values
    k = 0 if spec.k is None else cutoff(spec, n_items)  # kernels read 0 as the whole list
    top = views.view(k, values)
    if metric.check is not None:
        metric.check(top, values)
    out = np.empty(len(top.n_hits))
    metric.kernel(top, k, out, *spec.kernel_arguments)
    return out


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
