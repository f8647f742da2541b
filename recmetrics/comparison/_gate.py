"""gate: rules for the differences to a baseline -> bounds -> hold, fail or open; ``Gate``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from recmetrics._errors import ArgumentError, did_you_mean
from recmetrics.comparison import _grids as grids
from recmetrics.comparison import _statistics as statistics
from recmetrics.comparison._grids import Column, Grid, Printed, count, named, number, one_line
from recmetrics.comparison._reading import Values, check_count
from recmetrics.comparison._records import Compared, document, frame_of
from recmetrics.comparison._statistics import Floats, Sample

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
    sign: str  # >=, >, <= or <
    margin: float  # in the unit of the metric, or a share of the baseline
    is_share: bool
    in_every_group: bool

    @property
    def direction(self) -> int:
        """1 if higher is better, else -1."""
        return 1 if self.sign.startswith(">") else -1

    @property
    def is_strict(self) -> bool:
        """True if the margin itself does not suffice."""
        return not self.sign.endswith("=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One rule for one candidate, over all users (``group`` is None) or those of a group.

    ``difference`` is candidate - baseline, and ``margin`` the least that the rule allows (the
    greatest, where lower is better), both in the unit of the metric. The true difference is
    ``at_least`` and ``at_most`` these bounds. A rule holds where its bound is not beyond the
    margin, and fails where the other one is. ``n_needed`` is the number of users with a value with
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
        places = grids.decimals_of(_Shown(each.metric, each.difference) for each in self.verdicts)
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
        notes = [f"verdict: {', '.join(of_models)}"]
        shares = [f"{len(self.of)} candidates"] * (len(self.of) > 1)
        shares += [f"{self.looks} looks"] * (self.looks > 1)
        shared = f" ({grids.percent(self.confidence)}, shared by {' and '.join(shares)})"
        how = "t bounds of the paired differences"
        if self.nested:
            how = "bounds by nested bootstrap over users and runs"
        elif self.weighted:
            how = "t bounds of the weighted mean difference (linearised variance)"
        notes += [
            f"differences to {one_line(self.baseline)}; at least, at most: one-sided {how}, "
            f"confidence {grids.percent(self.level)}{shared if shares else ''}; those that decide "
            "that a rule fails are corrected by Holm over rules and groups",
            "passed: every rule holds, which needs no correction (intersection-union test)",
        ]
        if any(each.verdict == OPEN for each in self.verdicts):
            notes.append(
                "open: measure a new sample, or the number of users planned before, not these "
                "users and a few more"
            )
        if any(each.n_needed for each in self.verdicts):
            notes.append(
                "needed: users with a value for the rule to hold with power 0.8 if the true "
                "difference is 0"
            )
        if any(each.verdict == OPEN and not each.n_needed for each in self.verdicts):
            notes.append("how many users a gain needs depends on the gain: see users_needed")
        if any(each.verdict == FEW for each in self.verdicts):
            notes.append(f"not judged: fewer than {self.min_users} users")
        return notes


class _Shown(NamedTuple):
    metric: str
    mean: float


def judge(
    found: Compared, rules: str | Sequence[str], *, min_users: int, looks: int, seed: int
) -> Gate:
    """Judge each candidate by all rules; the keywords are those of ``Comparison.gate``."""
    min_users, looks = check_count("min_users", min_users, 2), check_count("looks", looks, 1)
    baseline = found.baseline
    if baseline is None:
        if len(found.models) > 2:
            first = found.models[0]
            msg = (
                f"a rule needs the baseline; type baseline={first!r}, or another model, in compare"
            )
            raise ArgumentError(msg)
        baseline = found.models[0]
    texts = [rules] if isinstance(rules, str) else rules
    read = [read_rule(each, found) for each in texts]
    if not read:
        msg = f"rules is empty; expected one or more, such as {_EXAMPLE}"
        raise ArgumentError(msg)
    candidates = [model for model in found.models if model != baseline]
    alpha = (1 - found.confidence) / len(candidates) / looks
    verdicts: list[Verdict] = []
    of: dict[str, bool | None] = {}
    for model in candidates:
        tests = [
            _Tested(found, rule, group, model, baseline, seed)
            for rule in read
            for group in (found.groups if rule.in_every_group else (None,))
        ]
        own = list(_verdicts(tests, alpha, min_users))
        verdicts += own
        of[model] = _passed(each.verdict for each in own if each.verdict != FEW)
    return Gate(
        passed=_any(of.values()),
        of=of,
        verdicts=tuple(verdicts),
        rules=tuple(rule.text for rule in read),
        baseline=baseline,
        confidence=found.confidence,
        level=1 - alpha,
        looks=looks,
        min_users=min_users,
        nested=bool(found.samples.n_runs()),
        weighted=found.samples.weights is not None,
    )


def _passed(verdicts: Iterable[str]) -> bool | None:
    given = {*verdicts}
    if FAILS in given:
        return False
    return True if given == {HOLDS} else None


def _any(of: Iterable[bool | None]) -> bool | None:
    given = {*of}
    if True in given:
        return True
    return False if given == {False} else None


def read_rule(text: Any, found: Compared) -> Rule:
    """Read a rule; an error names the nearest that can be read."""
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
    if metric not in found.metrics:
        near = did_you_mean(metric, found.metrics)
        expected = near or f"expected one of {', '.join(map(repr, found.metrics))}"
        msg = f"the rule {text!r} names no metric of the comparison; {expected}"
        raise ArgumentError(msg)
    is_lower = metric in found.lower_is_better
    if is_lower != sign.startswith("<"):
        right = ("<" if is_lower else ">") + sign[1:]
        better = "lower" if is_lower else "higher"
        msg = (
            f"the rule {text!r} bounds {metric} on the wrong side: {better} is better; type "
            f"'{metric} {right} {typed}{ending}'"
        )
        raise ArgumentError(msg)
    margin = float(typed)
    if margin and typed[0] not in "+-":
        msg = (
            f"the margin {typed}{percent} of the rule {text!r} has no sign; it bounds the "
            f"difference to the baseline, not {metric} itself: type "
            f"'{metric} {sign} +{typed}{ending}' or '{metric} {sign} -{typed}{ending}'"
        )
        raise ArgumentError(msg)
    if every and not found.groups:
        msg = f"the rule {text!r} needs groups; type by= in compare, the group of each user"
        raise ArgumentError(msg)
    if every and metric in found.samples.system:
        msg = f"the rule {text!r} has no groups: {metric} is one value of all lists"
        raise ArgumentError(msg)
    return Rule(text, metric, sign, margin / (100 if percent else 1), bool(percent), every)


class _Tested:
    """A rule for a candidate and some users: values above 0 are beyond the margin, to the good."""

    def __init__(
        self, found: Compared, rule: Rule, group: Any, model: str, baseline: str, seed: int
    ) -> None:
        self.rule, self.group, self.model = rule, group, model
        samples, metric = found.samples, rule.metric
        pair: Values = samples.of(group, metric, model, baseline)
        users = pair.users
        old = samples.values[baseline][metric][users]
        self.n, self.n_undefined = users.size, pair.n_undefined
        self.is_system = metric in samples.system
        mean_old = statistics.mean_of(old, pair.weights)
        self.difference = statistics.mean_of(pair.values, pair.weights)
        self.margin = rule.margin
        if rule.is_share:
            if self.n and not mean_old > 0:
                of = "" if group is None else f" in the group {group!r}"
                msg = (
                    f"the rule {rule.text!r} is a share of the mean of {baseline!r}, which is "
                    f"{mean_old:g}{of}; expected a mean above 0: give the margin as a number"
                )
                raise ArgumentError(msg)
            self.margin = rule.margin * mean_old
        share = 1 + rule.margin if rule.is_share else 1.0
        below = 0.0 if rule.is_share else rule.margin
        values = (samples.values[model][metric][users] - share * old - below) * rule.direction
        self.mean, self.error = statistics.mean_and_error(values, pair.weights)
        self.resampled: Floats | None = None
        runs = [samples.runs[each][metric][:, users] for each in (model, baseline)]
        if max(map(len, runs)) > 1 and self.n > 1 and not self.is_system:
            new, its = ((each * rule.direction) for each in (runs[0] - below, share * runs[1]))
            if min(map(len, runs)) == 1:
                sample = Sample(statistics.sums_of_runs(new - its, pair.weights, seed))
            else:
                both = (statistics.sums_of_runs(each, pair.weights, seed) for each in (new, its))
                sample = Sample(next(both), next(both), found.paired_runs)
            self.resampled = statistics.resampled([sample], found.n_resamples, seed)[0]

    def p_fails(self) -> float:
        """The p-value of the test that the rule holds, against that it does not."""
        if self.resampled is not None:
            return (1 + np.count_nonzero(self.resampled >= 0)) / (1 + self.resampled.size)
        return statistics.one_sided(self.mean, self.error, self.n)

    def bound(self, alpha: float, side: int) -> float:
        """The lower bound of the true mean, with side -1, or the upper one; above 0 is good."""
        if self.resampled is not None:
            return float(np.quantile(self.resampled, alpha if side < 0 else 1 - alpha))
        return statistics.one_sided_bound(self.mean, self.error, self.n, alpha, side)

    def in_unit(self, bound: float) -> float:
        """A bound as one of the difference to the baseline, NaN where there is none."""
        value = self.margin + self.rule.direction * bound
        return value if math.isfinite(value) else math.nan


def _verdicts(tests: Sequence[_Tested], alpha: float, min_users: int) -> Iterator[Verdict]:
    """Judge all rules and groups of a candidate."""
    judged = [
        place
        for place, each in enumerate(tests)
        if not each.is_system and each.n > 1 and (each.group is None or each.n >= min_users)
    ]
    # Holm steps down from the smallest p-value; the bounds after it stops have its last level.
    p_values = {place: tests[place].p_fails() for place in judged}
    levels: dict[int, float] = {}
    level, is_rejected = alpha / max(1, len(judged)), True
    for rank, place in enumerate(sorted(judged, key=p_values.__getitem__)):
        level = alpha / (len(judged) - rank) if is_rejected else level
        is_rejected = is_rejected and p_values[place] <= level
        levels[place] = level
    for place, each in enumerate(tests):
        verdict = Verdict(
            rule=each.rule.text,
            metric=each.rule.metric,
            group=each.group,
            model=each.model,
            difference=each.difference,
            margin=each.margin,
            verdict=FEW if each.group is not None else OPEN,
            n_users=None if each.is_system else each.n,
            n_undefined=None if each.is_system else each.n_undefined,
        )
        if each.is_system:
            verdict = replace(verdict, verdict=HOLDS if _reaches(each, each.mean) else FAILS)
        elif place in levels:
            low, high = each.bound(alpha, -1), each.bound(levels[place], 1)
            bounds = [each.in_unit(low), each.in_unit(high)][:: each.rule.direction]
            holds, fails = _reaches(each, low), not _reaches(each, high)
            word = HOLDS if holds else FAILS if fails else OPEN
            verdict = replace(verdict, verdict=word, at_least=bounds[0], at_most=bounds[1])
            room = -each.margin * each.rule.direction
            if word == OPEN and room > 0 and each.error > 0:
                needed = statistics.users_for(room, each.error, each.n, alpha, statistics.POWER)
                verdict = replace(verdict, n_needed=needed)
        yield verdict


def _reaches(tested: _Tested, value: float) -> bool:
    """Say whether a mean, or a bound of it, is on the good side of the margin."""
    return value > 0 if tested.rule.is_strict else value >= 0
