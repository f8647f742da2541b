"""``undefined=``: the policy of a metric for users without a value, and the number in its place.

A number stands for users without relevant items. Metrics that these users have, such as diversity,
stay NaN where they have no value: 0 would be the best calibration of all.
"""

from typing import Literal

from recmetrics._core.spec.registry import Metric
from recmetrics._core.types import Undefined

NoTruth = Literal["nan", "zero", "one"]
"""The value of a user without relevant items; "nan" also where a system leaves the user out."""
_NUMBER_OF_POLICY = {"zero": 0.0, "one": 1.0}


def takes_number(metric: Metric) -> bool:
    """Say if ``undefined=`` may put a number in the place of NaN, also that of an own metric."""
    return metric.needs_relevant or bool(metric.module)


def policy_of(
    metric: Metric, undefined: Undefined | None = None, of_system: NoTruth | None = None
) -> Undefined:
    """The policy of a metric: ``undefined`` of the caller, else that of a system, else "nan".

    A metric that is a sum has 0 where it sums no gains, whatever number the caller names. Only
    "raise", and the rule of a system, win over this.
    """
    if undefined is None and of_system is not None:
        return of_system
    if metric.is_sum and undefined != "raise":
        return "zero"
    if undefined in _NUMBER_OF_POLICY and not takes_number(metric):
        return "nan"
    return undefined or "nan"


def number_for(undefined: str) -> float | None:
    """The number that takes the place of an undefined value under a policy; None where none does.

    >>> number_for("zero"), number_for("nan"), number_for("raise")
    (0.0, None, None)
    """
    return _NUMBER_OF_POLICY.get(undefined)
