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

from recmetrics._core.errors import ArgumentError, did_you_mean
from recmetrics._core.options import check_count
from recmetrics._core.results import mean_of
from recmetrics._printing import Column, Grid, Printed, count, grids, named, number, one_line
from recmetrics._report import statistics
from recmetrics._report.bounds import POWER, Bounds, Range, bounds_of, can_bound, moments_of
from recmetrics._report.records import Compared, document, frame_of

_RULE = re.compile(
    r"\s*(?P<metric>\S.*?)\s*(?P<sign>>=|<=|>|<)\s*(?P<margin>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)"
    r"\s*(?P<percent>%?)\s*"
    r"(in\s+((?P<every>every\s+group)|'(?P<quoted>[^']+)'|\"(?P<double>[^\"]+)\"|(?P<group>\S+)))?\s*",
    re.IGNORECASE | re.ASCII,
)
_EXAMPLE = "'ndcg@10 >= -1%'"
_MOST_LOOKS = 1_000
HOLDS, FAILS, OPEN, FEW = "holds", "fails", "open", "not judged"


class Rule(NamedTuple):
    """A bound for the difference of a metric to the baseline."""

    text: str
    metric: str
    direction: int  # 1 if higher is better, else -1
    is_strict: bool  # the margin itself does not suffice
    margin: float  # in the unit of the metric, or a share of the baseline
    is_share: bool
    groups: tuple[Any, ...]  # in which it is judged; None: all users
    limits: Range  # of the metric

    def allows(self, value: float) -> bool:
        """Say whether a mean beyond the margin, or a bound of it, is good; above 0 is beyond."""
        return value > 0 if self.is_strict else value >= 0

    def forbids(self, value: float) -> bool:
        """Say whether a mean beyond the margin, or a bound of it, is bad; NaN is neither."""
        return value <= 0 if self.is_strict else value < 0


class Test(NamedTuple):
    """A rule applied to some users: the verdict so far, and the bounds that are to decide it."""

    rule: Rule
    verdict: Verdict
    bounds: Bounds | None = None  # of the difference beyond the margin; None: decided already
    has_runs: bool = False  # runs vary, too


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
    observed
        The metrics whose range is not known; the values of all models stand for it.
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
    observed: frozenset[str] = frozenset()
    n_resamples: int | None = None

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
        how = "Student's t bounds of the paired differences"
        if self.weighted:
            how = "Student's t bounds of the weighted mean difference (linearised variance)"
        how += ", corrected for skewness, with one more user at the end of the metric's range"
        if self.nested:
            how += "; runs: their variance added (Cochran and Cox's quantile)"
        if self.n_resamples is not None:
            how += f", or nested bootstrap of {self.n_resamples:,} resamples where it is wider"
        notes = [
            f"verdict: {', '.join(of_models)}",
            f"differences to {one_line(self.baseline)}; at least, at most: one-sided {how}, "
            f"confidence {grids.percent(self.level)}{shared if shares else ''}; before a "
            "rule fails, its bound is corrected by Holm over rules and groups",
            "passed: every rule holds, which needs no correction (intersection-union test)",
            *grids.observed_ranges(self.observed),
        ]
        of_open = [verdict for verdict in self.verdicts if verdict.verdict == OPEN]
        if any(verdict.n_users is not None for verdict in of_open):
            notes.append(
                "open: measure a new sample, or the number of users planned before, not these "
                "users and a few more"
            )
        if any(verdict.n_needed for verdict in of_open):
            notes.append(
                "needed: number of users with a value at which the rule holds with power 0.8, if "
                "the true difference is 0"
            )
        if any(_asks_for_gain(verdict) for verdict in of_open):
            notes.append("how many users a gain needs depends on the gain: see users_needed")
        if any(each.verdict == FEW for each in self.verdicts):
            notes.append(f"not judged: fewer than {self.min_users} users")
        return notes


def judge(
    comparison: Compared, rules: str | Sequence[str], *, min_users: int, looks: int, seed: int
) -> Gate:
    min_users = check_count("min_users", min_users, 2)
    looks = check_count("looks", looks, 1)
    if looks > _MOST_LOOKS:
        msg = f"looks must be at most {_MOST_LOOKS:,}, got {looks:,}"
        raise ArgumentError(msg)
    baseline = comparison.baseline or comparison.models[0]
    if comparison.baseline is None and len(comparison.models) > 2:
        msg = f"a rule needs the baseline; type baseline={baseline!r}, or another model, in compare"
        raise ArgumentError(msg)
    texts = [rules] if isinstance(rules, str) else rules
    read = [read_rule(text, comparison) for text in texts]
    if not read:
        msg = f"rules is empty; expected one or more, such as {_EXAMPLE}"
        raise ArgumentError(msg)

    candidates = [model for model in comparison.models if model != baseline]
    alpha = (1 - comparison.confidence) / len(candidates) / looks
    verdicts: dict[str, list[Verdict]] = {}
    of: dict[str, bool | None] = {}
    observed: set[str] = set()
    for model in candidates:
        with np.errstate(all="ignore"):  # of differences and squares that overflow
            tests = [
                _tested(comparison, rule, group, (model, baseline), min_users, seed)
                for rule in read
                for group in rule.groups
            ]
            verdicts[model] = list(_judged(tests, alpha))
        observed |= {
            test.rule.metric
            for test in tests
            if test.bounds is not None and test.bounds.is_observed
        }
        words = {verdict.verdict for verdict in verdicts[model]} - {FEW}
        of[model] = False if FAILS in words else words == {HOLDS} or None
    return Gate(
        passed=next(passed for passed in (True, None, False) if passed in of.values()),
        of=of,
        verdicts=tuple(chain(*verdicts.values())),
        rules=tuple(rule.text for rule in read),
        baseline=baseline,
        confidence=comparison.confidence,
        level=1 - alpha,
        looks=looks,
        min_users=min_users,
        nested=bool(comparison.samples.n_runs()),
        weighted=comparison.samples.weights is not None,
        observed=frozenset(observed),
        n_resamples=comparison.n_resamples if comparison.samples.n_runs() else None,
    )


def read_rule(text: Any, comparison: Compared) -> Rule:
    match = _RULE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        msg = (
            f"cannot read the rule {text!r}; expected a metric, >=, >, <= or <, and a margin such "
            f"as -1%, +0.01 or 0: type {_EXAMPLE}, {_EXAMPLE[:-1]} in every group' or "
            f"{_EXAMPLE[:-1]} in GROUP'; a name with blanks is quoted: {_EXAMPLE[:-1]} in \"a b\"'"
        )
        raise ArgumentError(msg)
    metric, sign, typed = match["metric"], match["sign"], match["margin"]
    percent = match["percent"]
    group_name = match["quoted"] or match["double"] or match["group"]
    in_groups = bool(match["every"] or group_name)
    ending = text[match.end("percent") :].rstrip()
    is_lower = metric in comparison.lower_is_better
    margin = float(typed)
    if metric not in comparison.metrics:
        near = did_you_mean(metric, comparison.metrics)
        expected = near or f"expected one of {', '.join(map(repr, comparison.metrics))}"
        msg = f"the rule {text!r} names no metric of the comparison; {expected}"
    elif is_lower != sign.startswith("<"):
        right = ("<" if is_lower else ">") + sign[1:]
        better = "lower" if is_lower else "higher"
        msg = (
            f"the rule {text!r} bounds {metric} on the wrong side: {better} is better; type "
            f"'{metric} {right} {typed}{percent}{ending}'"
        )
    elif margin and typed[0] not in "+-":
        msg = (
            f"the margin {typed}{percent} of the rule {text!r} has no sign; it bounds the "
            f"difference to the baseline, not {metric} itself: type "
            f"'{metric} {sign} +{typed}{percent}{ending}' or "
            f"'{metric} {sign} -{typed}{percent}{ending}'"
        )
    elif in_groups and not comparison.groups:
        msg = f"the rule {text!r} needs groups; type by= in compare, the group of each user"
    elif in_groups and metric in comparison.samples.system:
        msg = f"the rule {text!r} has no groups: {metric} is one value of all lists"
    else:
        limits = comparison.samples.limits(metric)
        _check_margin(text, metric, f"{typed}{percent}", limits)
        groups: tuple[Any, ...] = (None,)
        if match["every"]:
            groups = comparison.groups
        elif group_name:
            groups = (_group_called(group_name, text, comparison.groups),)
        return Rule(
            text,
            metric,
            direction=-1 if is_lower else 1,
            is_strict=not sign.endswith("="),
            margin=margin / (100 if percent else 1),
            is_share=bool(percent),
            groups=groups,
            limits=limits,
        )
    raise ArgumentError(msg)


def _asks_for_gain(verdict: Verdict) -> bool:
    """Say whether the rule of users asks for no loss at all, or for more."""
    match = _RULE.fullmatch(verdict.rule)
    direction = -1 if match and match["sign"].startswith("<") else 1
    return verdict.n_users is not None and verdict.margin * direction >= 0


def _check_margin(text: str, metric: str, margin: str, limits: Range) -> None:
    """Refuse a margin beyond all differences that there can be."""
    number = float(margin.rstrip("%"))
    ends = limits.of_difference()
    if not math.isfinite(number):
        fault = "no finite number; expected one such as -1% or -0.01"
    elif not margin.endswith("%") and not ends.floor <= number <= ends.ceiling:
        fault = (
            f"beyond every difference of {metric}, from {ends.floor:g} to {ends.ceiling:g}; type "
            f"{margin}% for a share of the baseline"
        )
    else:
        return
    msg = f"the margin {margin} of the rule {text!r} is {fault}"
    raise ArgumentError(msg)


def _group_called(name: str, text: str, groups: Sequence[Any]) -> Any:
    """Find the group that a rule names; labels are compared as text."""
    labels = {str(group): group for group in groups}
    if name not in labels:
        expected = did_you_mean(name, labels) or f"expected one of {', '.join(map(repr, labels))}"
        msg = f"the rule {text!r} names no group of the comparison; {expected}"
        raise ArgumentError(msg)
    return labels[name]


def _tested(
    comparison: Compared, rule: Rule, group: Any, pair: tuple[str, str], min_users: int, seed: int
) -> Test:
    """Apply a rule to some users; the bounds are of the difference beyond the margin."""
    samples = comparison.samples
    metric = rule.metric
    model, baseline = pair
    users = samples.of(group, metric, *pair)
    n_users = users.users.size
    old = samples.values[baseline][metric][users.users]

    margin = rule.margin
    share = 1.0
    below = rule.margin
    if rule.is_share:
        mean_old = mean_of(old, users.weights)
        if n_users and not mean_old > 0:
            of = "" if group is None else f" in the group {group!r}"
            msg = (
                f"the rule {rule.text!r} is a share of the mean of {baseline!r}, which is "
                f"{mean_old:g}{of}; expected a mean above 0: give the margin as a number"
            )
            raise ArgumentError(msg)
        margin = rule.margin * mean_old
        share = 1 + rule.margin
        below = 0.0
    values = (samples.values[model][metric][users.users] - share * old - below) * rule.direction

    is_system = metric in samples.system
    word = OPEN if group is None else FEW
    bounds = None
    has_runs = False
    if is_system:
        value = mean_of(values)
        word = HOLDS if rule.allows(value) else FAILS if rule.forbids(value) else OPEN
    elif n_users >= (2 if group is None else min_users):
        word = OPEN
        new_runs, old_runs = (samples.runs[name][metric][:, users.users] for name in pair)
        new_runs = (new_runs - below) * rule.direction
        old_runs = old_runs * share * rule.direction
        spreads = statistics.spreads_of_runs(
            new_runs, old_runs, users.weights, comparison.paired_runs
        )
        has_runs = any(spread.variance > 0 for spread in spreads)
        limits = rule.limits.of_difference(share).moved(-below)
        if rule.direction < 0:
            limits = limits.negated()
        if can_bound(values):
            bounds = bounds_of(moments_of(values, users.weights), limits).with_runs(spreads)
            if comparison.n_resamples is not None and spreads:
                sample = statistics.sample_of_pair(
                    (new_runs, old_runs), users.weights, seed, comparison.paired_runs
                )
                [means] = statistics.resampled([sample], comparison.n_resamples, seed)
                bounds = bounds.widened(means[~np.isnan(means)])
    verdict = Verdict(
        rule=rule.text,
        metric=metric,
        group=group,
        model=model,
        difference=mean_of(users.values, users.weights),
        margin=margin,
        verdict=word,
        n_users=None if is_system else n_users,
        n_undefined=None if is_system else users.n_undefined,
    )
    return Test(rule, verdict, bounds, has_runs)


def _judged(tests: Sequence[Test], alpha: float) -> Iterator[Verdict]:
    p_values = [float(test.bounds.upper.level()) for test in tests if test.bounds is not None]
    # Holm steps down from the smallest p-value; the bounds after it stops have its last level.
    n_failing = sum(p <= alpha for p in statistics.correct(p_values, "holm"))
    ranks = np.argsort(np.argsort(p_values, kind="stable"))
    levels = iter(alpha / (ranks.size - np.minimum(ranks, n_failing)))
    for rule, verdict, bounds, has_runs in tests:
        if bounds is None:
            yield verdict
            continue
        low = float(bounds.lower.bound(alpha))
        high = -float(bounds.upper.bound(next(levels)))
        word = HOLDS if rule.allows(low) else FAILS if rule.forbids(high) else OPEN

        # Bounds of the difference to the baseline.
        ends = [verdict.margin + rule.direction * bound for bound in (low, high)]
        least, most = (end if math.isfinite(end) else math.nan for end in ends)
        at_least, at_most = (least, most)[:: rule.direction]

        n_needed = None
        room = -verdict.margin * rule.direction
        if word == OPEN and room > 0 and not has_runs:  # more users do not make runs agree
            plan, _ = bounds.plans()
            n_equal = plan.users(room, alpha, POWER)
            n_needed = None if n_equal is None else bounds.users_for(n_equal)
        yield replace(verdict, verdict=word, at_least=at_least, at_most=at_most, n_needed=n_needed)
