"""Rules of a gate, such as ndcg@10 >= -1%: from text to ``Rule``, and what a margin may be."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from recmetrics._core.errors import ArgumentError, did_you_mean
from recmetrics._report.bounds import Range
from recmetrics._report.records import Compared

_NUMBER = r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
# A margin in %, with its sign unless it is 0.
PER_CENT = re.compile(rf"\s*([+-]{_NUMBER}|0+\.?0*)\s*%\s*", re.IGNORECASE | re.ASCII)
_RULE = re.compile(
    r"\s*(?P<difference>(?P<metric>\S(.*?[^=<>\s])?)\s*(?P<sign>>=|<=|>|<)\s*"
    rf"(?P<margin>[+-]?{_NUMBER})\s*(?P<percent>%?))\s*"
    r"(in\s+((?P<every>every\s+group)|'(?P<quoted>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<group>\S+)))?\s*",
    re.IGNORECASE | re.ASCII,
)
EXAMPLE = "'ndcg@10 >= -1%'"
HOLDS, FAILS, OPEN = "holds", "fails", "open"


class Rule(NamedTuple):
    """A bound for the difference of a metric to the baseline."""

    text: str
    metric: str
    direction: int  # 1 if higher is better, else -1
    is_strict: bool  # the margin itself does not suffice
    margin: float  # in the unit of the metric, or a share of the baseline's mean
    is_share: bool
    groups: tuple[Any, ...]  # the groups in which it is judged; None among them: all users
    is_of_every_group: bool  # small groups are then not judged
    limits: Range  # of the metric

    # The difference beyond the margin is new - share x old - offset.
    @property
    def share(self) -> float:
        """The share of the baseline's value: 0.99 for a margin of -1 %."""
        return 1 + self.margin if self.is_share else 1.0

    @property
    def offset(self) -> float:
        """The margin in the unit of the metric, 0 for one in %."""
        return 0.0 if self.is_share else self.margin

    def verdict(self, low: float, high: float) -> str:
        """Judge the bounds of the difference beyond the margin, where 0 is the margin.

        Bounds that are NaN leave the verdict open.
        """
        if low > 0 or (low == 0 and not self.is_strict):
            return HOLDS
        if high < 0 or (high == 0 and self.is_strict):
            return FAILS
        return OPEN


def read_rule(text: Any, comparison: Compared) -> Rule:
    """Read the text of a rule, and refuse one that does not fit the comparison."""
    match = _RULE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        msg = (
            f"cannot read the rule {text!r}; expected a metric, >=, >, <= or <, and a margin such "
            f"as -1%, +0.01 or 0: type {EXAMPLE}, {EXAMPLE[:-1]} in every group' or "
            f"{EXAMPLE[:-1]} in GROUP'; a name with blanks is quoted: {EXAMPLE[:-1]} in \"a b\"'"
        )
        raise ArgumentError(msg)
    metric = match["metric"]
    if metric not in comparison.metrics:
        near = did_you_mean(metric, comparison.metrics)
        expected = near or f"expected one of {', '.join(map(repr, comparison.metrics))}"
        msg = f"the rule {text!r} names no metric of the comparison; {expected}"
        raise ArgumentError(msg)
    is_lower = metric in comparison.lower_is_better
    if metric in comparison.undirected:
        _check_direction(match, comparison)
    limits = comparison.samples.limits(metric)
    _check_margin(match, is_lower, limits)
    _check_signs(match, is_lower)
    names = match.group("quoted", "double", "group")
    group_name = next((name for name in names if name is not None), None)  # "" is one, too
    if match["every"] or group_name is not None:
        if not comparison.groups:
            msg = f"the rule {text!r} needs groups; type by= in compare, the group of each user"
            raise ArgumentError(msg)
        if metric in comparison.samples.system:
            msg = f"the rule {text!r} has no groups: {metric} is one value of all lists"
            raise ArgumentError(msg)
    margin = float(match["margin"])
    if match["percent"]:
        margin /= 100

    groups: tuple[Any, ...] = (None,)
    if match["every"]:
        groups = comparison.groups
    elif group_name is not None:
        groups = (_group_called(group_name, text, comparison.groups),)
    return Rule(
        text,
        metric,
        direction=-1 if is_lower else 1,
        is_strict=not match["sign"].endswith("="),
        margin=margin,
        is_share=bool(match["percent"]),
        groups=groups,
        is_of_every_group=bool(match["every"]),
        limits=limits,
    )


def _check_direction(match: re.Match[str], comparison: Compared) -> None:
    """Refuse <= and < for a metric of unknown direction, which is taken as higher is better."""
    metric, sign = match.group("metric", "sign")
    if sign.startswith("<"):
        msg = (
            f"the rule {match.string!r} is for a metric of which lower is better, and the "
            f"direction of {metric} is not known, so that higher is taken as better: if lower is, "
            f"type lower_is_better={comparison.lower_with([metric])} in compare, and else a rule "
            "with >= or >"
        )
        raise ArgumentError(msg)


def _check_margin(match: re.Match[str], is_lower: bool, limits: Range) -> None:
    """Refuse a margin that is not finite, or not between the differences of values in ``limits``.

    A rule with the least difference as its margin could not fail: often a % was forgotten. The rule
    may also be for the wrong side, or its margin without a sign: both are right in the advice.
    """
    metric, sign, number, percent = match.group("metric", "sign", "margin", "percent")
    if not math.isfinite(float(number)):
        fault = "no finite number; expected one such as -1% or -0.01"
    elif percent and (too_large := share_beyond(limits, metric, float(number) / 100)):
        fault = too_large
    elif not percent and (beyond := _beyond(limits, metric, float(number))):
        right_sign = _right_sign(sign, is_lower)
        share = number
        if sign != right_sign or number[0] not in "+-":
            share = ("+" if is_lower else "-") + number.lstrip("+-")
        rule_on_share = _rewritten(match, right_sign, f"{share}%")
        fault = f"{beyond}; type '{rule_on_share}' for a share of the baseline"
    else:
        return
    msg = f"the margin {number}{percent} of the rule {match.string!r} is {fault}"
    raise ArgumentError(msg)


def _check_signs(match: re.Match[str], is_lower: bool) -> None:
    """Refuse a rule for the wrong side of the metric, and a margin without + or -."""
    metric, sign, number, percent = match.group("metric", "sign", "margin", "percent")
    right_sign = _right_sign(sign, is_lower)
    size = number.lstrip("+-") + percent
    sign_of_loss, sign_of_gain = "+-" if is_lower else "-+"
    rule_on_loss = _rewritten(match, right_sign, sign_of_loss + size)
    rule_on_gain = _rewritten(match, right_sign, sign_of_gain + size)
    if sign != right_sign:
        better = "lower" if is_lower else "higher"
        advice = f"type '{_rewritten(match, right_sign, number + percent)}'"
        if float(number):  # the rule may come from a metric whose other side is better
            advice = (
                f"type '{rule_on_loss}' to allow that loss, or '{rule_on_gain}' to require that "
                "gain"
            )
        msg = (
            f"the rule {match.string!r} bounds {metric} on the wrong side: {better} is better; "
            f"{advice}"
        )
        raise ArgumentError(msg)
    if float(number) and number[0] not in "+-":
        msg = (
            f"the margin {size} of the rule {match.string!r} has no sign; a rule bounds the "
            f"difference to the baseline, and none bounds {metric} itself: type '{rule_on_loss}' "
            f"to allow a loss of {size}, or '{rule_on_gain}' to require a gain of {size}"
        )
        raise ArgumentError(msg)


def _right_sign(sign: str, is_lower: bool) -> str:
    """The sign of a rule, such as >=, for the side of a metric on which it bounds a loss."""
    return sign.replace(">", "<") if is_lower else sign.replace("<", ">")


def _rewritten(match: re.Match[str], sign: str, margin: str) -> str:
    """Write a rule with another sign and margin, for the same groups."""
    groups_in_text = match.string[match.end("percent") :]  # such as "in every group"
    return f"{match['metric']} {sign} {margin} {groups_in_text.strip()}".rstrip()


def _group_called(name: str, text: str, groups: Sequence[Any]) -> Any:
    """Find the group that a rule names; labels are compared as text."""
    labels = {str(group): group for group in groups}
    if name not in labels:
        expected = did_you_mean(name, labels) or f"expected one of {', '.join(map(repr, labels))}"
        msg = f"the rule {text!r} names no group of the comparison; {expected}"
        raise ArgumentError(msg)
    return labels[name]


def margin_of_share(
    share: float,
    samples: Any,
    group: Any,
    metric: str,
    pair: tuple[str, str],
    subject: str,
    *,
    is_judged: bool = True,
) -> float:
    """Compute a share of the baseline's mean, over the users of both models of a pair.

    A mean that is not above 0 is refused, and a share beyond the range of the metric; ``subject``
    is what has the share, in the error. Unless ``is_judged``, nothing is refused, and the share of
    such a mean is NaN.
    """
    model, baseline = pair
    values = samples.of(group, metric, baseline, model, share=0.0)
    if not is_judged:
        return share * float(values.mean) if values.mean > 0 else math.nan
    if values.n_users and not values.mean > 0:
        mean_in_words = f"{values.mean:g}"
        if group is not None:
            mean_in_words += f" in the group {group!r}"
        msg = (
            f"{subject} is a share of the mean of {baseline!r}, which is {mean_in_words}; expected "
            "a mean above 0: give a number in place of the share"
        )
        raise ArgumentError(msg)
    margin = share * float(values.mean)
    refuse_beyond(samples.limits(metric), metric, margin, subject)
    return margin


def share_beyond(limits: Range, metric: str, share: float) -> str:
    """Say that no value in ``limits`` is on one side of the baseline's plus a share; "" if some is.

    A loss of all that the baseline has, or more, needs a value below 0.
    """
    if share > -1 or limits.floor < 0:
        return ""
    return (
        f"all that the baseline has, or more, and no value of {metric} is below 0; expected a "
        "share above -100%, such as -1%"
    )


def refuse_beyond(limits: Range, metric: str, difference: float, subject: str) -> None:
    """Refuse a difference that no values in ``limits`` have; ``subject`` has it, in the error."""
    if beyond := _beyond(limits, metric, difference):
        msg = f"{subject} is a difference of {difference:g}, which is {beyond}"
        raise ArgumentError(msg)


def _beyond(limits: Range, metric: str, difference: float) -> str:
    """Say that no values in ``limits`` have a difference; "" if some have."""
    differences = limits.of_difference()
    # NaN is the difference of nobody, which a group may be.
    if not (difference <= differences.floor or difference >= differences.ceiling):
        return ""
    return (
        f"not between the least and the greatest difference of {metric}, {differences.floor:g} and "
        f"{differences.ceiling:g}"
    )


def direction_of(rule: str) -> int:
    """1 if a rule that was read bounds a difference from below, -1 if from above."""
    return -1 if parts_of(rule)["sign"].startswith("<") else 1


def parts_of(rule: str) -> dict[str, str]:
    """The parts of a rule that was read, by name."""
    match = cast("re.Match[str]", _RULE.fullmatch(rule))
    return match.groupdict(default="")
