"""From a TopK to one array of values per metric string."""

from collections.abc import Mapping

import numpy as np

from recmetrics._errors import UndefinedMetricError
from recmetrics._lists import ListReader
from recmetrics._options import CallOptions, Ties, UserValues
from recmetrics._registry import Metric
from recmetrics._spec import MetricSpec
from recmetrics._ties import policy_of, settle
from recmetrics._topk import TopK, Views


def measure(
    top: TopK,
    reader: ListReader,
    specs: Mapping[str, MetricSpec],
    n_items: int,
    options: CallOptions,
) -> dict[str, UserValues]:
    """Run the kernel of each accuracy spec over ``top``; the others have been run by ``reader``."""
    views: dict[Ties, Views] = {}
    for spec in specs.values():
        policy = policy_of(spec.metric, options.ties)
        if policy not in views:
            views[policy] = Views(settle(top, policy))
    return {
        text: _defined(
            _run(spec, views[policy_of(spec.metric, options.ties)], n_items)
            if spec.metric.kind == "accuracy"
            else reader.value(spec),
            text,
            spec.metric,
            options.undefined,
        )
        for text, spec in specs.items()
    }


def _run(spec: MetricSpec, views: Views, n_items: int) -> UserValues:
    metric, values = spec.metric, spec.values
    k = 0 if spec.k is None else max(1, min(spec.k, n_items))  # kernels read 0 as the whole list
    top = views.view(k, values)
    if metric.check is not None:
        metric.check(top, values)
    arguments = [
        option.code(values[name])
        for name, option in metric.options.items()
        if name not in Views.OPTIONS
    ]
    out = np.empty(len(top.n_hits))
    metric.kernel(top, k, out, *arguments)
    return out


def _defined(values: UserValues, text: str, metric: Metric, undefined: str) -> UserValues:
    """Apply ``undefined=`` to the values that a kernel left NaN."""
    if undefined == "nan":
        return values
    missing = np.isnan(values)
    if undefined == "zero":
        values[missing] = 0.0
    elif missing.any():
        if missing.ndim == 0:
            msg = f"{text} is undefined ({metric.undefined}); give undefined='nan' or 'zero'"
            raise UndefinedMetricError(msg)
        msg = (
            f"{text} is undefined for {missing.sum()} of {missing.size} users "
            f"({metric.undefined}), the first is user {np.flatnonzero(missing)[0]}; expected a "
            "value for every user; give undefined='nan' or 'zero', or leave these users out"
        )
        raise UndefinedMetricError(msg)
    return values
