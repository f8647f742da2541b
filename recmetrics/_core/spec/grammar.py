"""Metric strings: ``"ndcg(gain=exp2)@10"`` and the value it stands for.

The whole language::

    name            name@k            name(option=value, ...)@k

Names and options ignore case and spaces are free. Without ``@k`` the whole list counts. In a
list of metrics, ``name@first:last`` and ``name@first:last:step`` are the strings that they spell.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from recmetrics._core.errors import (
    ArgumentError,
    MetricSpecError,
    UnknownMetricError,
    UnknownOptionError,
    did_you_mean,
)
from recmetrics._core.options import whole_number
from recmetrics._core.spec.registry import (
    ALIASES,
    DEFAULT_K,
    METHOD_SUFFIX,
    METRICS,
    STRATUM,
    Metric,
)
from recmetrics._core.spec.systems import line_for, meant_elsewhere
from recmetrics._core.types import Convention

OptionValue = str | float | Callable[[int], float] | None
_SPEC = re.compile(
    r"\s*(?P<name>[a-z][a-z0-9_]*)\s*(\((?P<options>[^()]*)\)\s*)?(@\s*(?P<k>[^\s@()]+)\s*)?",
    re.IGNORECASE | re.ASCII,
)
_OPTION = re.compile(
    r"\s*(?P<key>[a-z][a-z0-9_]*)\s*=\s*(?P<value>[^\s=]+)\s*", re.IGNORECASE | re.ASCII
)
_RANGE = re.compile(r"\s*([0-9]{1,9})\s*:\s*([0-9]{1,9})\s*(?::\s*([0-9]{1,9})\s*)?")
_EXPECTED = "expected 'name', 'name@k' or 'name(option=value, ...)@k', such as {!r}"
_EXAMPLE = "ndcg(gain=exp2)@10"
# The keys that ties="range" adds are those of a metric with these endings, which no string has.
LEAST, GREATEST = "[least]", "[greatest]"


@dataclass(frozen=True)
class MetricSpec:
    """One requested metric; ``str`` gives its canonical string.

    ``options`` holds only what differs from the metric's defaults, in the order in which the
    metric declares its options; the stratum is the last. ``k`` is None where the whole list counts.
    """

    name: str
    k: int | None = None
    options: tuple[tuple[str, OptionValue], ...] = ()

    @cached_property  # read many times in every call
    def metric(self) -> Metric:
        """The registered metric."""
        return lookup(self.name).at(self.k)

    @cached_property
    def values(self) -> dict[str, OptionValue]:
        """Every option of the metric with its value, the defaults filled in."""
        given = dict(self.options)
        return {name: given.get(name, o.default) for name, o in self.metric.options.items()}

    @cached_property
    def stratum(self) -> str | None:
        """The stratum whose relevant items alone are relevant; None for all."""
        return cast(str | None, dict(self.options).get(STRATUM.name))

    def of_all_strata(self) -> "MetricSpec":
        """The metric of all relevant items, in whatever stratum they are."""
        rest = tuple(option for option in self.options if option[0] != STRATUM.name)
        return replace(self, options=rest)

    @cached_property
    def is_weighed(self) -> bool:
        """True where propensities weigh the relevant items."""
        return self.values.get("weigh", "no") != "no"

    @property
    def citation(self) -> str:
        """The source of the definition: that of its options where they have one."""
        sources = self.metric.sources
        own = [sources[name].get(str(value), "") for name, value in self.options if name in sources]
        return "; ".join(filter(None, own)) or self.metric.citation

    @cached_property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """The side information that it needs: one of each group."""
        return (*self.metric.needs, ("propensity",)) if self.is_weighed else self.metric.needs

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value."""
        low, high = self.metric.bounds
        return low, math.inf if self.values.get("weigh") in ("ips", "snips") else high

    @cached_property
    def reads_whole_list(self) -> bool:
        """True if all ranks of the list count."""
        return self.k is None or self.metric.counts_all_items

    @cached_property
    def kernel_arguments(self) -> tuple[float | int | None, ...]:
        """The options that the kernel takes, in its form, in the order of the method."""
        metric = self.metric
        return tuple(metric.options[o].code(self.values[o]) for o in metric.kernel_options)

    def __getstate__(self) -> dict[str, object]:
        return {"name": self.name, "k": self.k, "options": self.options}

    def __str__(self) -> str:
        options = ", ".join(f"{key}={_spelled(value)}" for key, value in self.options)
        return (
            self.name
            + (f"({options})" if options else "")
            + ("" if self.k is None else f"@{self.k}")
        )


def lookup(name: str) -> Metric:
    """The metric of that name or alias; the error names the nearest, or else all."""
    name = ALIASES.get(name, name)
    if name in METRICS:
        return METRICS[name]
    hint = _meant(name) or did_you_mean(name, [*METRICS, *ALIASES])
    hint = hint or f"choose from {', '.join(METRICS)}"
    msg = f"unknown metric {name!r}; {hint}"
    raise UnknownMetricError(msg)


def _meant(text: str) -> str:
    """The hint for a name of another system, or for a cutoff without ``@``; or ""."""
    if elsewhere := meant_elsewhere(text):
        return elsewhere
    for base in (*METRICS, *ALIASES):
        separator = "(?:_at_|[_-])" + "?" * (base.isalpha() and len(base) > 1)  # f11 may be f1
        k = re.fullmatch(rf"{base}{separator}([0-9]+)", text.strip().lower())
        if k is not None:
            return f"did you mean '{base}@{k[1]}'?"
    return ""


MetricsList = str | MetricSpec | Iterable[str | MetricSpec]
"""One or more metrics."""


def _spelled(value: OptionValue) -> str:
    if callable(value):
        return getattr(value, "__name__", "callable")
    return str(value).removesuffix(".0")


def parse(text: str, convention: Convention | None = None) -> MetricSpec:
    """Read a metric string.

    >>> parse("NDCG( gain = exp2 ) @ 10")
    MetricSpec(name='ndcg', k=10, options=(('gain', 'exp2'),))
    >>> str(parse("recall(denom=capped)@20"))  # capped is the default
    'recall@20'
    >>> str(parse("ndcg_at_k"))  # rectorch's method name
    'ndcg@100'
    >>> str(parse("recall@20", "ranx"))  # the recall of ranx
    'recall(denom=relevant)@20'
    >>> str(parse("recall(of=tail)@20"))  # of the relevant items in the stratum "tail"
    'recall(of=tail)@20'
    """
    name, options, k = take_apart(text)
    if name.endswith(METHOD_SUFFIX):
        bare = name.removesuffix(METHOD_SUFFIX)
        if k is not None:
            msg = (
                f"cannot read metric {text!r}: {name!r} means '{bare}@{DEFAULT_K}'; "
                f"type '{bare}@{k}'"
            )
            raise MetricSpecError(msg)
        name, k = bare, str(DEFAULT_K)
    try:
        return make_spec(name, k, options, convention)
    except MetricSpecError as error:
        # The metric string is added here for all inner messages.
        msg = f"in metric {text!r}: {error}"
        is_unknown = name not in METRICS and name not in ALIASES
        if is_unknown and (hint := meant_elsewhere(text)):
            msg = f"unknown metric {text!r}; {hint}"
        raise type(error)(msg, argument=error.argument) from None


def take_apart(
    text: str, noun: str = "metric", example: str = _EXAMPLE
) -> tuple[str, dict[str, str], str | None]:
    """Split a string into name, options and k; ``noun`` and ``example`` are words of its errors.

    >>> take_apart("NDCG( gain = exp2 ) @ 10")
    ('ndcg', {'gain': 'exp2'}, '10')
    """
    expected = _EXPECTED.format(example)
    if not isinstance(text, str):
        msg = f"a {noun} must be a string, got {text!r} of type {type(text).__name__}; {expected}"
        raise MetricSpecError(msg)
    match = _SPEC.fullmatch(text)
    if match is None:
        parts = split_metrics(text.strip(), between=r"[,;\s]+")
        several = len(parts) > 1 and all(_SPEC.fullmatch(part) for part in parts)
        hint = f"one string is one {noun}: type {parts}" if several else _meant(text) or expected
        msg = f"cannot read {noun} {text!r}; {hint}"
        raise MetricSpecError(msg)
    options: dict[str, str] = {}
    for part in [] if match["options"] is None else match["options"].split(","):
        option = _OPTION.fullmatch(part)
        if option is None:
            fault = "is not 'option=value', without blanks in the value"
            msg = f"cannot read {noun} {text!r}: {part.strip()!r} {fault}; {expected}"
            raise MetricSpecError(msg)
        key = option["key"].lower()
        if key in options:
            msg = f"cannot read {noun} {text!r}: option {key!r} is given twice; give it once"
            raise MetricSpecError(msg)
        options[key] = option["value"]
    return match["name"].lower(), options, match["k"]


def split_metrics(text: str, between: str = ",") -> list[str]:
    """Split text at the commas between metrics, not at those between options."""
    return re.split(rf"{between}(?![^()]*\))", text)


def spell(text: str) -> list[str]:
    """The metric strings that a range of cutoffs stands for; any other string stands for itself.

    >>> spell("recall(denom=relevant)@10:30:10")
    ['recall(denom=relevant)@10', 'recall(denom=relevant)@20', 'recall(denom=relevant)@30']
    """
    name, _, cutoffs = text.rpartition("@")
    # "@" in the name: several metrics in one string. A name of a column may hold anything.
    if ":" not in cutoffs or "@" in name or not re.fullmatch(r"[\w\s:.+-]*", cutoffs):
        return [text]
    match = _RANGE.fullmatch(cutoffs)
    first, last, step = map(int, match.groups("1") if match else "000")
    if not match or not first or not step or name.endswith(METHOD_SUFFIX):
        msg = (
            "expected integers >= 1 in 'name@first:last' or 'name@first:last:step', such as "
            "'ndcg@1:20'"
        )
    elif first > last:
        msg = f"its first cutoff, {first}, is above its last; type '{name}@{last}:{first}'"
    elif over := (last - first) % step:
        msg = (
            f"steps of {step} from {first} do not reach {last}; type "
            f"'{name}@{first}:{last - over}:{step}'"
        )
    else:
        return [f"{name}@{k}" for k in range(first, last + 1, step)]
    msg = f"cannot read the range {text!r}; {msg}"
    raise MetricSpecError(msg)


def make_spec(
    name: str,
    k: str | int | None = None,
    options: Mapping[str, OptionValue] | None = None,
    convention: Convention | None = None,
) -> MetricSpec:
    """Make a checked spec: known metric, known options in range, k a count or None.

    Options that ``options`` does not name follow the convention.
    """
    metric = lookup(name)
    checked = {key: metric.option(key).check(value) for key, value in (options or {}).items()}
    typed = checked
    if convention is not None:
        line = line_for(convention, metric.name, cutoff=k is not None)
        checked = {**line.options, **typed}
    for name in metric.unread(checked):
        if typed.get(name, metric.options[name].default) != metric.options[name].default:
            other, needed = metric.read_with[name]
            has = ""
            if other in checked and other not in typed:
                has = f", and convention={convention!r} has {other}={checked[other]}"
            msg = (
                f"metric {metric.name!r} reads {name} only with {other}={needed}{has}; type "
                f"{other}={needed}, or leave out {name}"
            )
            raise UnknownOptionError(msg)
        checked.pop(name, None)
    given = tuple(
        (key, checked[key])
        for key, option in {**metric.options, STRATUM.name: STRATUM}.items()
        if key in checked and checked[key] != option.default
    )
    return MetricSpec(metric.name, None if k is None else check_k(k), given)


def check_k(k: str | int) -> int:
    """Check a cutoff, of a string or as an argument."""
    if not isinstance(k, str):
        return as_cutoff(k)
    count = int(k) if re.fullmatch(r"[0-9]{1,4000}", k) else 0  # int() reads no more digits
    if count < 1:
        raise MetricSpecError(_no_cutoff(k))
    return count


def as_cutoff(k: object) -> int:
    """Check a cutoff that is an argument, not part of a string."""
    count = whole_number(k)
    if count is None or count < 1:
        raise ArgumentError(_no_cutoff(k), argument="k")
    return count


def _no_cutoff(k: object) -> str:
    for end in (LEAST, GREATEST):
        if isinstance(k, str) and k.endswith(end):
            return (
                f"{end} belongs to a result key of ties='range', not to a metric string; leave it "
                "out"
            )
    msg = f"k must be an integer >= 1, such as 10, got {k!r:.40}"
    if isinstance(k, str) and ":" in k:
        msg += "; a range stands for several metrics, and only a list of metrics may have one"
    if isinstance(k, list | tuple):
        msg += "; for several cutoffs type Metrics.compute(..., ['ndcg@5', 'ndcg@10'])"
    return msg
