"""gate: rules for the differences to a baseline -> bounds -> hold, fail or open; ``Gate``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from recmetrics import _grids as grids
from recmetrics._errors import ArgumentError, did_you_mean
from recmetrics._grids import Column, Grid, Printed, count, named, number, one_line
from recmetrics._options import check_count
from recmetrics.comparison import _statistics as statistics
from recmetrics.comparison._records import Compared, document, frame_of
from recmetrics.comparison._statistics import Estimate

_RULE = re.compile(
    r"\s*(?P<metric>\S.*?)\s*(?P<sign>>=|<=|>|<)\s*(?P<margin>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)"
    r"\s*(?P<percent>%?)\s*(?P<every>in\s+every\s+group)?\s*",
    re.IGNORECASE | re.ASCII,
)
_EXAMPLE = "'ndcg@10 >= -1%'"
HOLDS, FAILS, OPEN, FEW = "holds", "fails", "open", "not judged"


class Rule(NamedTuple):
    """A bound for the difference of a metric to the baseline."""

    text: str
    metric: str
    direction: int  # 1 if higher is better, else -1
    is_strict: bool  # the margin itself does not suffice
    margin: float  # in the unit of the metric, or a share of the baseline
    is_share: bool
    in_every_group: bool

    def allows(self, value: float) -> bool:
        """Say whether a mean beyond the margin, or a bound of it, is good; above 0 is beyond."""
        return value > 0 if self.is_strict else value >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One rule for one candidate, over all users (``group`` is None) or those of a group.

    ``difference`` is candidate - baseline, and ``margin`` the least that the rule allows (the
    greatest, where lower is better), both in the unit of the metric. The true difference is
    ``at_least`` and ``at_most`` these bounds. ``n_needed`` is the number of users with a value with
    whom an open rule would hold with power 0.8 if the true difference were 0; None otherwise.
    """

    rule: str
    metric: str
    group: Any
    model: str
    difference: float
    margin: float
    at_least: float = math.nan
    at_most: float = math.nan
    verdict: str
    n_users: int | None
    n_undefined: int | None
    n_needed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gate(Printed):
    """The verdict of ``Comparison.gate``, which prints as its own table.

    Attributes
    ----------
    passed
        True if every rule holds, False if one fails, else None: the verdict is open. Of several
        candidates, True if one passes, False if all fail.
    of
        Each candidate's own verdict: True, False or None.
    verdicts
        A ``Verdict`` for each candidate, rule and group.
    rules, baseline, confidence, looks, min_users
        The settings. Each bound of a candidate holds with ``level``, the confidence after it is
        shared by the candidates and looks.
    """

    passed: bool | None
    of: dict[str, bool | None]
    verdicts: tuple[Verdict, ...]
    rules: tuple[str, ...]
    baseline: str
    confidence: float
    level: float
    looks: int
    min_users: int
    nested: bool  # a model has several runs
    weighted: bool

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each verdict."""
        return [asdict(each) for each in self.verdicts]

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return the verdicts as a data frame, as ``Comparison.to_frame``."""
        return frame_of(self.to_records(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON, with the notes."""
        metrics = dict.fromkeys(each.metric for each in self.verdicts)
        return document(self, metrics, None, verdicts=self.to_records(), notes=self._notes())

    def _page(self, best: str) -> tuple[list[Grid], list[str]]:  # noqa: ARG002  # no best mean
        places = grids.decimals_of((each.metric, each.difference) for each in self.verdicts)
        columns = [
            named("model", len(self.of) > 1),
            Column("rule", lambda each: one_line(each.rule), is_number=False),
            Column(
                "group",
                lambda each: "all" if each.group is None else one_line(each.group),
                any(each.group is not None for each in self.verdicts),
                is_number=False,
            ),
            *(
                number(field.replace("_", " "), attrgetter(field), places, "+")
                for field in ("difference", "margin", "at_least", "at_most")
            ),
            count("users", "n_users"),
            grids.left_out(self.verdicts),
            Column("verdict", lambda each: each.verdict, is_number=False),
            count("needed", "n_needed", any(each.n_needed for each in self.verdicts)),
        ]
        return [grids.table(columns, self.verdicts)], self._notes()

    def _notes(self) -> list[str]:
        words = {True: "passed", False: "failed", None: "open"}
        of_models = [f"{one_line(model)} {words[each]}" for model, each in self.of.items()]
        shares = [f"{len(self.of)} candidates"] * (len(self.of) > 1)
        shares += [f"{self.looks} looks"] * (self.looks > 1)
        shared = f" ({grids.percent(self.confidence)}, shared by {' and '.join(shares)})"
        how = "t bounds of the paired differences, corrected for skewness"
        if self.nested:
            how = "bounds by nested bootstrap over users and runs"
        elif self.weighted:
            how = how.replace(
                "paired differences", "weighted mean difference (linearised variance)"
            )
        notes = [
            f"verdict: {', '.join(of_models)}",
            f"differences to {one_line(self.baseline)}; at least, at most: one-sided {how}, "
            f"confidence {grids.percent(self.level)}{shared if shares else ''}; before a "
            "rule fails, its bound is corrected by Holm over rules and groups",
            "passed: every rule holds, which needs no correction (intersection-union test)",
        ]
        has_number = {bool(each.n_needed) for each in self.verdicts if each.verdict == OPEN}
        if has_number:
            notes.append(
                "open: measure a new sample, or the number of users planned before, not these "
                "users and a few more"
            )
        if True in has_number:
            notes.append(
                "needed: number of users with a value at which the rule holds with power 0.8, if "
                "the true difference is 0"
            )
        if False in has_number:
            notes.append("how many users a gain needs depends on the gain: see users_needed")
        if any(each.verdict == FEW for each in self.verdicts):
            notes.append(f"not judged: fewer than {self.min_users} users")
        return notes


def judge(
    found: Compared, rules: str | Sequence[str], *, min_users: int, looks: int, seed: int
) -> Gate:
    min_users, looks = check_count("min_users", min_users, 2), check_count("looks", looks, 1)
    baseline = found.baseline or found.models[0]
    if found.baseline is None and len(found.models) > 2:
        msg = f"a rule needs the baseline; type baseline={baseline!r}, or another model, in compare"
        raise ArgumentError(msg)
    texts = [rules] if isinstance(rules, str) else rules
    read = [read_rule(each, found) for each in texts]
    if not read:
        msg = f"rules is empty; expected one or more, such as {_EXAMPLE}"
        raise ArgumentError(msg)
    candidates = [model for model in found.models if model != baseline]
    alpha = (1 - found.confidence) / len(candidates) / looks
    verdicts: dict[str, list[Verdict]] = {}
    of: dict[str, bool | None] = {}
    for model in candidates:
        with np.errstate(all="ignore"):  # of differences and squares that overflow
            tests = [
                _tested(found, rule, group, (model, baseline), min_users, seed)
                for rule in read
                for group in (found.groups if rule.in_every_group else (None,))
            ]
            verdicts[model] = list(_judged(tests, alpha))
        words = {each.verdict for each in verdicts[model]} - {FEW}
        of[model] = False if FAILS in words else words == {HOLDS} or None
    return Gate(
        passed=next(each for each in (True, None, False) if each in of.values()),
        of=of,
        verdicts=tuple(chain(*verdicts.values())),
        rules=tuple(rule.text for rule in read),
        baseline=baseline,
        confidence=found.confidence,
        level=1 - alpha,
        looks=looks,
        min_users=min_users,
        nested=bool(found.samples.n_runs()),
        weighted=found.samples.weights is not None,
    )


def read_rule(text: Any, found: Compared) -> Rule:
    match = _RULE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        msg = (
            f"cannot read the rule {text!r}; expected a metric, >=, >, <= or <, and a margin such "
            f"as -1%, +0.01 or 0: type {_EXAMPLE}, or {_EXAMPLE[:-1]} in every group'"
        )
        raise ArgumentError(msg)
    metric, sign, typed = match["metric"], match["sign"], match["margin"]
    percent, every = match["percent"], bool(match["every"])
    ending = f"{percent} in every group" if every else percent
    is_lower, margin = metric in found.lower_is_better, float(typed)
    if metric not in found.metrics:
        near = did_you_mean(metric, found.metrics)
        expected = near or f"expected one of {', '.join(map(repr, found.metrics))}"
        msg = f"the rule {text!r} names no metric of the comparison; {expected}"
    elif is_lower != sign.startswith("<"):
        right = ("<" if is_lower else ">") + sign[1:]
        better = "lower" if is_lower else "higher"
        msg = (
            f"the rule {text!r} bounds {metric} on the wrong side: {better} is better; type "
            f"'{metric} {right} {typed}{ending}'"
        )
    elif margin and typed[0] not in "+-":
        msg = (
            f"the margin {typed}{percent} of the rule {text!r} has no sign; it bounds the "
            f"difference to the baseline, not {metric} itself: type "
            f"'{metric} {sign} +{typed}{ending}' or '{metric} {sign} -{typed}{ending}'"
        )
    elif every and not found.groups:
        msg = f"the rule {text!r} needs groups; type by= in compare, the group of each user"
    elif every and metric in found.samples.system:
        msg = f"the rule {text!r} has no groups: {metric} is one value of all lists"
    else:
        return Rule(
            text,
            metric,
            direction=-1 if is_lower else 1,
            is_strict=not sign.endswith("="),
            margin=margin / (100 if percent else 1),
            is_share=bool(percent),
            in_every_group=every,
        )
    raise ArgumentError(msg)


def _tested(
    found: Compared, rule: Rule, group: Any, pair: tuple[str, str], min_users: int, seed: int
) -> tuple[Rule, Verdict, Estimate | None]:
    """Apply a rule to some users; an estimate above 0, beyond the margin, is yet to be judged."""
    samples, metric, (model, baseline) = found.samples, rule.metric, pair
    own = samples.of(group, metric, *pair)
    users, n = own.users, own.users.size
    old = samples.values[baseline][metric][users]
    margin, share, below = rule.margin, 1.0, rule.margin
    if rule.is_share:
        mean_old = statistics.mean_of(old, own.weights)
        if n and not mean_old > 0:
            of = "" if group is None else f" in the group {group!r}"
            msg = (
                f"the rule {rule.text!r} is a share of the mean of {baseline!r}, which is "
                f"{mean_old:g}{of}; expected a mean above 0: give the margin as a number"
            )
            raise ArgumentError(msg)
        margin, share, below = rule.margin * mean_old, 1 + rule.margin, 0.0
    values = (samples.values[model][metric][users] - share * old - below) * rule.direction
    is_system = metric in samples.system
    word, estimate = OPEN if group is None else FEW, None
    if is_system:
        word = HOLDS if rule.allows(statistics.mean_of(values)) else FAILS
    elif n >= (2 if group is None else min_users):
        estimate = statistics.estimate_of(values, own.weights)
        new, its = (samples.runs[each][metric][:, users] for each in pair)
        if max(len(new), len(its)) > 1:
            runs = (new - below) * rule.direction, share * its * rule.direction
            sample = statistics.sample_of_pair(runs, own.weights, seed, found.paired_runs)
            [means] = statistics.resampled([sample], found.n_resamples, seed)
            estimate = estimate._replace(resampled=means[~np.isnan(means)])
    verdict = Verdict(
        rule=rule.text,
        metric=metric,
        group=group,
        model=model,
        difference=statistics.mean_of(own.values, own.weights),
        margin=margin,
        verdict=word,
        n_users=None if is_system else n,
        n_undefined=None if is_system else own.n_undefined,
    )
    return rule, verdict, estimate


def _judged(
    tests: Sequence[tuple[Rule, Verdict, Estimate | None]], alpha: float
) -> Iterator[Verdict]:
    p_values = [estimate.p_below() for _, _, estimate in tests if estimate is not None]
    # Holm steps down from the smallest p-value; the bounds after it stops have its last level.
    n_failing = sum(p <= alpha for p in statistics.correct(p_values, "holm"))
    ranks = np.argsort(np.argsort(p_values, kind="stable"))
    levels = iter(alpha / (ranks.size - np.minimum(ranks, n_failing)))
    for rule, verdict, estimate in tests:
        if estimate is None:
            yield verdict
            continue
        low, high = estimate.bound(alpha, -1), estimate.bound(next(levels), 1)
        word = HOLDS if rule.allows(low) else OPEN if rule.allows(high) else FAILS
        # Bounds of the difference to the baseline.
        ends = (verdict.margin + rule.direction * each for each in (low, high))
        least, most = (each if math.isfinite(each) else math.nan for each in ends)
        at_least, at_most = (least, most)[:: rule.direction]
        needed, room = None, -verdict.margin * rule.direction
        if word == OPEN and room > 0 and estimate.error > 0:
            needed = statistics.users_for(
                room, estimate.error, estimate.n, alpha, statistics.POWER, -estimate.skewness
            )
        yield replace(verdict, verdict=word, at_least=at_least, at_most=at_most, n_needed=needed)
