"""gate: rules for the differences to a baseline -> bounds -> hold, fail or open; ``Gate``.

A rule, such as ndcg@10 >= -1%, has a margin for the difference of a candidate to the baseline. It
is tested by the bounds of the difference beyond the margin: above 0 it holds, below 0 it fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.options import check_count
from recmetrics._printing import (
    Column,
    Grid,
    Printed,
    count,
    counted,
    grids,
    named,
    number,
    one_line,
    plural,
)
from recmetrics._report import legends, statistics
from recmetrics._report.bounds import POWER, Bounds, bounds_of
from recmetrics._report.origins import UNKNOWN, Origin
from recmetrics._report.records import Compared, Framed, document
from recmetrics._report.rules import (
    EXAMPLE,
    FAILS,
    HOLDS,
    OPEN,
    Rule,
    direction_of,
    margin_of_share,
    parts_of,
    read_rule,
)
from recmetrics._report.settings import several

# From fewer users, a number of needed users is told to be rough.
_FEW_TO_PLAN = 100
_MOST_LOOKS = 1_000  # at new data; more are hardly meant
FEW = "not judged"  # the verdict on a small group


class Test(NamedTuple):
    """A rule applied to some users: the verdict so far, and the bounds that are to decide it."""

    rule: Rule
    verdict: Verdict
    bounds: Bounds | None = None  # of the difference beyond the margin; None: decided already

    @property
    def allowed_loss(self) -> float:
        """The loss that the rule allows; 0 or less where it allows none."""
        return -self.verdict.margin * self.rule.direction

    @property
    def is_observed(self) -> bool:
        """True if the bounds rest on the worst value at hand, since the range is not known."""
        return self.bounds is not None and self.bounds.is_observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One rule for one candidate, over all users (``group`` is None) or those of a group.

    ``difference`` is candidate - baseline, and ``margin`` the least that the rule allows (the
    greatest, where lower is better), both in the unit of the metric. The true difference is
    ``at_least`` and ``at_most`` these bounds. ``n_needed`` is None unless a rule is open: with so
    many users with a value, all rules that allow a loss would hold with power 0.8 if all true
    differences were 0.
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


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class Gate(Printed, Framed):
    """The verdict of ``Comparison.gate``, which prints as its own table.

    Attributes
    ----------
    passed
        True if every rule holds, False if one fails, else None: the verdict is open. Of several
        candidates, True if one passes, False if all fail. ``if gate:`` and ``assert gate`` mean
        that it is True.
    of
        Each candidate's own verdict: True, False or None.
    verdicts
        A ``Verdict`` for each candidate, rule and group.
    rules, baseline, confidence, looks, min_users
        The settings. Each bound of a candidate holds with ``level``, the confidence after it is
        shared by the candidates and looks.
    observed
        The metrics whose range is not known; the values of all models stand for it.
    weighed
        The metrics whose differences weigh users as the system of the convention does.
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
    weighted: bool  # by the caller, or as the system of the convention
    weighed: tuple[str, ...] = ()
    observed: frozenset[str] = frozenset()
    n_resamples: int | None = None
    noun: str = "user"  # the word for a user
    origin: Origin = UNKNOWN  # no setting

    def __bool__(self) -> bool:
        return self.passed is True

    @property
    def nouns(self) -> str:
        """The word for the users of its differences."""
        return plural(self.noun)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict of plain values for each verdict."""
        return [asdict(verdict) for verdict in self.verdicts]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON, with the notes."""
        metrics = dict.fromkeys(verdict.metric for verdict in self.verdicts)
        return document(self, metrics, self.origin, verdicts=self.to_records(), notes=self._notes())

    def _page(self) -> tuple[list[Grid], list[str]]:
        verdicts = self.verdicts
        numbers = ("difference", "margin", "at_least", "at_most")
        places = grids.decimals_of(
            (verdict.metric, getattr(verdict, name)) for verdict in verdicts for name in numbers
        )
        places = grids.decimals_apart(
            (
                (verdict.metric, getattr(verdict, name), other)
                for verdict in verdicts
                for name in numbers
                for other in (0.0, verdict.margin)
            ),
            places,
        )
        columns = [
            named("model", len(self.of) > 1),
            Column("rule", lambda verdict: one_line(verdict.rule), is_number=False),
            Column(
                "group",
                lambda verdict: "all" if verdict.group is None else one_line(verdict.group),
                any(verdict.group is not None for verdict in verdicts),
                is_number=False,
            ),
            *(number(name.replace("_", " "), attrgetter(name), places, "+") for name in numbers),
            count(self.nouns, "n_users"),
            grids.left_out(verdicts),
            Column("verdict", attrgetter("verdict"), is_number=False),
            count("needed", "n_needed", any(verdict.n_needed for verdict in verdicts)),
        ]
        return [grids.table(columns, verdicts)], self._notes()

    def _notes(self) -> list[str]:
        words = {True: "passed", False: "failed", None: "open"}
        of_models = [f"of {one_line(model)}: {words[passed]}" for model, passed in self.of.items()]
        has_small_groups = any(verdict.verdict == FEW for verdict in self.verdicts)
        rules = "all judged rules" if has_small_groups else "all rules"
        notes = [f"verdict {', '.join(of_models)}"]
        if len(self.verdicts) > len(self.of):
            notes.append(f"a gate passes if {rules} hold, fails if one fails, and else stays open")
        if bounded := self._bounded():
            bounds = f"at least, at most: bounds of the difference to {one_line(self.baseline)}"
            parts_of_rules = [parts_of(verdict.rule) for verdict in bounded]
            shares = [float(parts["margin"]) for parts in parts_of_rules if parts["percent"]]
            if shares:
                bounds += (
                    f"; with a margin of {shares[0]:+g} %: margin + bounds of the difference to "
                    f"{100 + shares[0]:g} % of {one_line(self.baseline)}"
                )
            notes += [
                bounds,
                self._decision(),
                self._confidence(),
                f"bounds: {self._method()}",
                *legends.observed_ranges(self.observed, self.noun),
            ]
        if any(verdict.n_users is None for verdict in self.verdicts):
            notes.append("a metric of all lists has no bounds: its difference alone decides")
        notes += self._open_notes()
        notes += grids.weighted_as_system(self.weighed, self.nouns)
        notes += grids.users_left_out(self.verdicts, f"left out: {self.nouns} without a value")
        if has_small_groups:
            notes.append(f"not judged: fewer than {self.min_users} {self.nouns} (min_users)")
        return notes

    def _open_notes(self) -> Iterator[str]:
        """Say what to do about open rules, and what their numbers of needed users mean."""
        open_verdicts = [verdict for verdict in self.verdicts if verdict.verdict == OPEN]
        yield from self._notes_on_sizes(open_verdicts)
        unbounded = list(map(self._rule_of, filter(_is_unbounded, open_verdicts)))
        if unbounded:
            yield (
                f"open without bounds ({', '.join(unbounded)}): the difference is equal for all "
                f"{self.nouns}, and the range of the metric is not known, so more {self.nouns} of "
                "the same difference do not help; bounds need differences that vary, or a metric "
                "with a known range (bounds= of recmetrics.metric)"
            )
        gains = [verdict for verdict in open_verdicts if _asks_for_gain(verdict)]
        if gains and not self.nested:
            yield self._users_for_gain(gains[0])

    def _notes_on_sizes(self, open_verdicts: Sequence[Verdict]) -> Iterator[str]:
        """Say whether users are too few for rules that bounds decide, and how many are needed."""
        with_few: list[str] = []
        with_enough: list[str] = []
        for verdict in open_verdicts:
            if verdict.n_users is None or _is_unbounded(verdict):  # None: of all lists
                continue
            has_enough = verdict.n_needed is not None and verdict.n_users >= verdict.n_needed
            (with_enough if has_enough else with_few).append(self._rule_of(verdict))
        if with_enough:
            yield (
                f"open with as many {self.nouns} as needed or more ({', '.join(with_enough)}): "
                "equal models hold the rules in 80 % of such samples, so the true difference may "
                "be near the margin, and a new sample of that size may stay open"
            )
        if with_few:
            add_users = f", or add {self.nouns} for the next look"
            if self.looks == 1:
                add_users = (
                    f" (you may add {self.nouns} to this one only if the looks were planned before)"
                )
            too_few = f"too few {self.nouns}"
            if self.nested:
                too_few += " or runs"
            of_rules = f" ({', '.join(with_few)})" if len(with_few) < len(open_verdicts) else ""
            yield f"open{of_rules}: {too_few} to decide; measure a new sample{add_users}"
            if self.nested:
                yield (
                    f"needed is not computed: more {self.nouns} do not reduce the variation "
                    "between runs"
                )
        beyond_margin = list(map(self._rule_of, filter(_is_beyond_margin, open_verdicts)))
        if beyond_margin:
            yield (
                f"the observed difference is beyond the margin ({', '.join(beyond_margin)}), so "
                f"with more {self.nouns} the rule would rather fail than hold"
            )
        with_needed = [verdict for verdict in self.verdicts if verdict.n_needed]
        if with_needed:
            yield _what_is_needed(with_needed, self.noun, weighted=self.weighted)

    def _rule_of(self, verdict: Verdict) -> str:
        """Write the rule of a verdict, with its group, and with its model where there are more."""
        rule = parts_of(verdict.rule)["difference"].strip()
        if verdict.group is not None:
            rule += f" in {one_line(verdict.group)}"
        if len(self.of) > 1:
            rule = f"{verdict.model}: {rule}"
        return one_line(rule)

    def _users_for_gain(self, verdict: Verdict) -> str:
        """Say what to call for the users who show that a rule on a gain holds."""
        arguments = _arguments_of_gain(verdict)
        if len(self.of) > 1:
            arguments += f", model={verdict.model!r}"
        comparison = "compare(...)"
        n_parts = len(self.of) * self.looks
        if n_parts > 1:  # which share the risk of error
            comparison = f"compare(..., confidence={1 - (1 - self.confidence) / n_parts:.8g})"
        return (
            f"{self.nouns} for {one_line(verdict.rule)!r}: choose the least gain G that matters, "
            f"and call {comparison}.users_needed({arguments}) in Python"
        )

    def _method(self) -> str:
        """Say how the bounds are computed."""
        text = "one-sided, Student's t of the paired differences"
        if self.weighted:
            text = "one-sided, Student's t of the weighted mean difference (linearised variance)"
        text += (
            f", corrected for skewness; to be safe, 'at least' is computed with an additional "
            f"{self.noun} of the lowest possible difference, 'at most' with one of the highest"
        )
        if self.nested:
            text += "; runs: their variance added (Cochran and Cox's quantile)"
        if self.n_resamples is not None:
            text += f", or nested bootstrap of {self.n_resamples:,} resamples where it is wider"
        return text

    def _directions(self) -> set[int]:
        """The directions of the rules: 1 with > or >=, -1 with < or <=."""
        return {direction_of(verdict.rule) for verdict in self._bounded()}

    def _decision(self) -> str:
        """Say which bound decides what, by the signs of the rules."""
        directions = self._directions()
        lower = "holds if 'at least' is above the margin, fails if 'at most' is below it"
        upper = "holds if 'at most' is below the margin, fails if 'at least' is above it"
        if len(directions) == 2:
            return f"a rule with > {lower}; one with < {upper}; else it is open"
        return f"a rule {lower if 1 in directions else upper}, and else is open"

    def _confidence(self) -> str:
        """Say which confidence the bounds have."""
        n_rules = Counter(verdict.model for verdict in self._bounded())
        if max(n_rules.values()) == 1:
            return f"each bound has confidence {self._level()}"
        directions = self._directions()
        deciding_bound = "'at least'"
        other_bound = "'at most'"
        if len(directions) == 2:
            deciding_bound = "the bound by which a rule holds"
            other_bound = "the bound by which a rule fails"
        elif -1 in directions:
            deciding_bound, other_bound = other_bound, deciding_bound
        return (
            f"{deciding_bound} has confidence {self._level()}; {other_bound} has a higher "
            "confidence (corrected by Holm over all rules)"
        )

    def _bounded(self) -> list[Verdict]:
        """The verdicts that bounds decide: not of metrics of all lists, nor of small groups."""
        return [
            verdict
            for verdict in self.verdicts
            if verdict.n_users is not None and verdict.verdict != FEW
        ]

    def _level(self) -> str:
        """Write the confidence of a bound, and what shares the confidence of the comparison."""
        level = grids.percent(self.level)
        sharers = []
        if len(self.of) > 1:
            sharers.append(f"{len(self.of)} new models")
        if self.looks > 1:
            sharers.append(f"{self.looks} looks")
        if not sharers:
            return level
        risk = grids.percent(1 - self.confidence)
        return f"{level} (a risk of {risk} in all, over {' and '.join(sharers)})"


def judge(
    comparison: Compared, rules: str | Sequence[str], *, min_users: int, looks: int, seed: int
) -> Gate:
    """Judge all candidates by all rules, as ``Comparison.gate`` documents it."""
    min_users = check_count("min_users", min_users, 2)
    looks = check_count("looks", looks, 1)
    if looks > _MOST_LOOKS:
        msg = f"looks must be at most {_MOST_LOOKS:,}, got {looks:,}"
        raise ArgumentError(msg, argument="looks")
    baseline = comparison.baseline or comparison.models[0]
    if comparison.baseline is None and len(comparison.models) > 2:
        msg = f"a rule needs the baseline; type baseline={baseline!r}, or another model, in compare"
        raise ArgumentError(msg)
    parsed_rules = [read_rule(text, comparison) for text in several(rules)]
    if not parsed_rules:
        msg = f"rules is empty; expected one or more, such as {EXAMPLE}"
        raise ArgumentError(msg)

    candidates = [model for model in comparison.models if model != baseline]
    alpha = (1 - comparison.confidence) / len(candidates) / looks
    verdicts: list[Verdict] = []
    passed_of: dict[str, bool | None] = {}  # of each candidate; None is open
    observed: set[str] = set()
    for model in candidates:
        tests = []
        with np.errstate(all="ignore"):  # of differences and squares that overflow
            for rule in parsed_rules:
                for group in rule.groups:
                    pair = (model, baseline)
                    tests.append(_tested(comparison, rule, group, pair, min_users, seed))
            judged = list(_judged(tests, alpha))
            verdicts_of_model = list(_planned(tests, judged, alpha))
        verdicts += verdicts_of_model
        passed_of[model] = _all_hold(verdicts_of_model)
        observed.update(test.rule.metric for test in tests if test.is_observed)
    samples = comparison.samples
    metrics = dict.fromkeys(map(attrgetter("metric"), parsed_rules))
    weighed = tuple(filter(comparison.weighed.__contains__, metrics))
    has_runs = bool(samples.n_runs())
    return Gate(
        # The best that a candidate has: one that passes is enough, and an open one may pass.
        passed=next(passed for passed in (True, None, False) if passed in passed_of.values()),
        of=passed_of,
        verdicts=tuple(verdicts),
        rules=tuple(rule.text for rule in parsed_rules),
        baseline=baseline,
        confidence=comparison.confidence,
        level=1 - alpha,
        looks=looks,
        min_users=min_users,
        nested=has_runs,
        weighted=samples.weights is not None or bool(weighed),
        weighed=weighed,
        observed=frozenset(observed),
        n_resamples=comparison.n_resamples if has_runs else None,
        noun=comparison.noun,
        origin=samples.origin,
    )


def _all_hold(verdicts: Sequence[Verdict]) -> bool | None:
    """Say whether all rules hold in the groups that are judged; None if that is open."""
    words = {verdict.verdict for verdict in verdicts} - {FEW}
    if words == {HOLDS}:
        return True
    return False if FAILS in words else None


def _asks_for_gain(verdict: Verdict) -> bool:
    """Say whether the rule allows no loss, so that equal models could never be shown to hold it.

    False for a metric of all lists, which has no users, for a group, whose users nobody plans, and
    without bounds, from which the users are computed.
    """
    direction = direction_of(verdict.rule)
    is_planned = verdict.group is None and math.isfinite(verdict.at_least)
    return is_planned and verdict.margin * direction >= 0


def _is_unbounded(verdict: Verdict) -> bool:
    """Say whether equal differences of unknown range leave a verdict without bounds."""
    has_values = (verdict.n_users or 0) >= 2 and math.isfinite(verdict.difference)
    return has_values and math.isnan(verdict.at_least) and math.isnan(verdict.at_most)


def _is_beyond_margin(verdict: Verdict) -> bool:
    """Say whether the observed difference is on the side of the margin where the rule fails."""
    direction = direction_of(verdict.rule)
    return (verdict.difference - verdict.margin) * direction < 0


def _what_is_needed(verdicts: Sequence[Verdict], noun: str, *, weighted: bool) -> str:
    """Say what the numbers of needed users of these verdicts mean."""
    has_weight = " and a weight above 0" if weighted else ""
    of_group = ""
    if any(verdict.group is not None for verdict in verdicts):
        of_group = " of the rule's group"
    line = (
        f"needed: size of a new sample, in {plural(noun)}{of_group} with a value{has_weight}; all "
        "rules that allow a loss hold together in 80 % of samples of these sizes if the models are "
        "equal"
    )
    fewest = min(verdict.n_users or 0 for verdict in verdicts)
    if fewest < _FEW_TO_PLAN:
        line += f"; a rough estimate, made from only {counted(fewest, noun)}"
    return line


def _arguments_of_gain(verdict: Verdict) -> str:
    """Write the arguments of ``users_needed`` for a rule, and a gain G."""
    parts = parts_of(verdict.rule)
    margin = f"{verdict.margin:g}"
    if parts["percent"]:
        margin = f"'{parts['margin']}%'"
    gain = "-G" if direction_of(verdict.rule) < 0 else "G"
    return f"{verdict.metric!r}, {gain}, margin={margin}"


def _tested(
    comparison: Compared, rule: Rule, group: Any, pair: tuple[str, str], min_users: int, seed: int
) -> Test:
    """Apply a rule to the users of a group, None: all, and a pair of candidate and baseline.

    Small groups and metrics of all lists get a verdict without bounds.
    """
    samples = comparison.samples
    metric = rule.metric
    differences = samples.of(group, metric, *pair)
    n_users = differences.n_users
    is_system = metric in samples.system
    is_small = rule.is_of_every_group and n_users < min_users  # a group that is named is judged

    margin = rule.margin
    if rule.is_share:
        subject = f"the rule {rule.text!r}"
        margin = margin_of_share(
            rule.margin, samples, group, metric, pair, subject, is_judged=not is_small
        )

    word = OPEN
    bounds = None
    if is_system:
        new_value, old_value = (samples.of(group, metric, name).mean for name in pair)
        rounding = samples.rounding[metric]
        value = _beyond_limit(new_value, rule.share * old_value, rule.offset, rounding)
        value *= rule.direction
        word = rule.verdict(value, value)
    elif is_small:
        word = FEW
    else:
        bounds = _bounds_beyond_margin(comparison, rule, group, pair, seed)
    verdict = Verdict(
        rule=rule.text,
        metric=metric,
        group=group,
        model=pair[0],
        difference=differences.mean,
        margin=margin,
        verdict=word,
        n_users=None if is_system else n_users,
        n_undefined=None if is_system else differences.n_undefined,
    )
    return Test(rule, verdict, bounds)


def _beyond_limit(new_value: float, old_value: float, offset: float, rounding: float) -> float:
    """Compute new - old - offset, 0 where it is only a share of ``rounding`` of the old value.

    So 0.29 is at the limit of 0.3 with an offset of -0.01, not below it.
    """
    limit = old_value + offset
    if math.isclose(new_value, limit, rel_tol=rounding, abs_tol=rounding * abs(old_value)):
        return 0.0
    return new_value - limit


def _bounds_beyond_margin(
    comparison: Compared, rule: Rule, group: Any, pair: tuple[str, str], seed: int
) -> Bounds | None:
    """Make the bounds of the difference beyond the margin, negated where lower is better.

    None if it has none.
    """
    samples = comparison.samples
    differences = samples.of(group, rule.metric, *pair, rule.share, rule.offset)
    if not differences.can_bound:
        return None
    moments = differences.moments
    limits = rule.limits.of_difference(rule.share).moved(-rule.offset)
    if rule.direction < 0:
        moments = moments.negated()
        limits = limits.negated()
    bounds = bounds_of(moments, limits)
    if not samples.have_several_runs(pair):
        return bounds

    new_runs, old_runs = samples.runs_of_pair(rule.metric, *pair, differences.users)
    new_runs = (new_runs - rule.offset) * rule.direction
    old_runs = old_runs * rule.share * rule.direction
    weights = differences.weights
    spreads = statistics.spreads_of_runs(new_runs, old_runs, weights, comparison.paired_runs)
    bounds = bounds.with_runs(spreads)
    if comparison.n_resamples is not None and spreads:
        sample = statistics.sample_of_pair(
            new_runs, old_runs, weights, seed, comparison.paired_runs
        )
        [means] = statistics.resampled([sample], comparison.n_resamples, seed)
        bounds = bounds.widened(means[~np.isnan(means)])
    return bounds


def _judged(tests: Sequence[Test], alpha: float) -> Iterator[Verdict]:
    """Decide the open tests of a candidate by their bounds, with the one-sided error alpha.

    All rules must hold, so lower bounds have the level alpha. One rule fails the gate, so upper
    bounds are corrected by Holm.
    """
    p_values = [float(test.bounds.upper.level()) for test in tests if test.bounds is not None]
    # Holm's level is alpha / (n - rank), by the rank from 0 of the p-value. Where Holm stops, after
    # the failing tests, all further bounds have the level of the step at which it stopped.
    n_failing = sum(p <= alpha for p in statistics.correct(p_values, "holm"))
    ranks = np.argsort(np.argsort(p_values, kind="stable"))
    levels = iter(alpha / (ranks.size - np.minimum(ranks, n_failing)))
    for rule, verdict, bounds in tests:
        if bounds is None:  # decided already
            yield verdict
            continue
        low = float(bounds.lower.bound(alpha))
        high = -float(bounds.upper.bound(next(levels)))
        word = rule.verdict(low, high)

        # The bounds of the difference to the baseline; where lower is better, the lower bound
        # beyond the margin is the upper one of the difference.
        ends = [verdict.margin + rule.direction * bound for bound in (low, high)]
        if rule.direction < 0:
            ends.reverse()
        at_least, at_most = (end if math.isfinite(end) else math.nan for end in ends)
        yield replace(verdict, verdict=word, at_least=at_least, at_most=at_most)


def _planned(tests: Sequence[Test], verdicts: Sequence[Verdict], alpha: float) -> Iterator[Verdict]:
    """Add to the verdicts on a candidate the users of a new sample, where a rule is open.

    All rules are judged anew. All that equal models can hold do so with the power if each misses
    it by its part of the rest.
    """
    is_open = any(verdict.verdict == OPEN for verdict in verdicts)
    n_planned = sum(test.allowed_loss > 0 for test in tests if test.bounds is not None)
    power = 1 - (1 - POWER) / max(1, n_planned)
    for test, verdict in zip(tests, verdicts, strict=True):
        n_needed = None
        bounds = test.bounds
        may_pass = is_open and test.allowed_loss > 0 and verdict.verdict in (OPEN, HOLDS)
        if may_pass and bounds is not None and not bounds.has_runs:  # more users are no more runs
            plan, _ = bounds.plans()
            n_equal = plan.users(test.allowed_loss, alpha, power)
            if n_equal is not None:
                n_needed = bounds.users_for(n_equal)
        yield replace(verdict, n_needed=n_needed)
