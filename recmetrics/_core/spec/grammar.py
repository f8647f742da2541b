"""Metric strings: ``"ndcg(gain=exp2)@10"`` and the value it stands for.

The whole language::

    name            name@k            name(option=value, ...)@k

Names, options and choices ignore case, strata do not; blanks between them are free. Without ``@k``
the whole list counts. In a list of metrics, ``name@first:last`` and ``name@first:last:step`` are
the strings that they spell.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

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
from recmetrics._core.spec.systems import line_for, meant_by, meant_elsewhere, own_name
from recmetrics._core.types import Convention

OptionValue = str | float | Callable[[int], float] | None
_SPEC = re.compile(
    r"\s*(?P<name>[a-z][a-z0-9_]*)\s*(\((?P<options>[^()]*)\)\s*)?(@\s*(?P<k>[^\s@()]+)\s*)?",
    re.IGNORECASE | re.ASCII,
)
_OPTION = re.compile(
    r"\s*(?P<key>[a-z][a-z0-9_]*)\s*=\s*(?P<value>[^\s=]+)\s*", re.IGNORECASE | re.ASCII
)
_COUNT = r"\s*0*([1-9][0-9]{0,8})\s*"
_RANGE = re.compile(f"{_COUNT}:{_COUNT}(?::{_COUNT})?")
_EXPECTED_FORM = "expected 'name', 'name@k' or 'name(option=value, ...)@k', such as {!r}"
_EXAMPLE = "ndcg(gain=exp2)@10"
_SHORT = 5  # letters of a name; more of a longer one are those of its metric
# The keys that ties="range" adds are those of a metric with these endings, which no string has.
LEAST = "[least]"
GREATEST = "[greatest]"


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
        """The registered metric; one of the caller is unknown where nothing has declared it."""
        if self.name not in METRICS:
            msg = (
                f"the metric {self.name!r} was declared by the program that saved it; import the "
                "module that declares it"
            )
            raise UnknownMetricError(msg)
        return METRICS[self.name].at(self.k)

    @cached_property
    def values(self) -> dict[str, OptionValue]:
        """Every option of the metric with its value, the defaults filled in."""
        changed = dict(self.options)
        return {o.name: changed.get(o.name, o.default) for o in self.metric.options.values()}

    @cached_property
    def threshold(self) -> float | None:
        """The relevance from which an item is relevant, that of ``rel``; None for any above 0.

        It is that of float32 if this is less: 0.9 in a truth of float32 is 0.89999998, and reaches
        ``rel=0.9``. Whole numbers are compared as they are.
        """
        rel = cast(float | None, self.values.get("rel"))
        if rel is None or float(rel).is_integer():
            return rel
        return min(rel, float(np.float32(rel)))

    @cached_property
    def measured_values(self) -> dict[str, OptionValue]:
        """The options with which hits are measured: the threshold in the place of ``rel``."""
        values = dict(self.values)
        if "rel" in values:
            values["rel"] = self.threshold
        return values

    @property
    def without_orders(self) -> list[str]:
        """The options whose choice leaves no value for other orders of ties."""
        choices = self.metric.without_orders.items()
        return [option for option, choice in choices if self.values[option] == choice]

    @cached_property
    def stratum(self) -> str | None:
        """The stratum whose relevant items alone are relevant; None for all."""
        return cast(str | None, dict(self.options).get(STRATUM.name))

    def of_all_strata(self) -> "MetricSpec":
        """The metric of all relevant items, in whatever stratum they are."""
        options = tuple(option for option in self.options if option[0] != STRATUM.name)
        return replace(self, options=options)

    @cached_property
    def is_weighed(self) -> bool:
        """True where propensities weigh the relevant items."""
        return self.values.get("weigh", "no") != "no"

    @property
    def citation(self) -> str:
        """The source of the definition: that of its options where they have one."""
        citations = []
        for name, value in self.options:
            citation = self.metric.sources.get(name, {}).get(str(value))
            if citation:
                citations.append(citation)
        return "; ".join(citations) or self.metric.citation

    @property
    def reads_grades(self) -> bool:
        """True where relevances count as numbers, not only as relevant or not."""
        metric = self.metric
        if metric.reads != "hits":
            return False
        if "rel" not in metric.options or metric.module:
            return True
        has_gain = self.values.get("gain", "binary") != "binary"
        return has_gain and self.values["rel"] is None

    @cached_property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """The side information that it needs: one of each group."""
        if self.is_weighed:
            return (*self.metric.needs, ("propensity",))
        return self.metric.needs

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value."""
        if self.values.get("weigh") in ("ips", "snips"):  # hits are divided by propensities
            return self.metric.bounds[0], math.inf
        if self.metric.greatest is not None:
            return self.metric.bounds[0], self.metric.greatest(self.k, self.values)
        return self.metric.bounds

    @cached_property
    def reads_whole_list(self) -> bool:
        """True if all ranks of the list count."""
        return self.k is None or self.metric.counts_all_items

    @cached_property
    def kernel_arguments(self) -> tuple[float | int | None, ...]:
        """The options that the kernel takes, in its form, in the order of the method."""
        options = self.metric.options
        return tuple(options[o].code(self.measured_values[o]) for o in self.metric.kernel_options)

    def __getstate__(self) -> dict[str, object]:
        return {"name": self.name, "k": self.k, "options": self.options}

    def __str__(self) -> str:
        text = self.name
        if self.options:
            pairs = []
            for name, value in self.options:
                spelled_value = str(value).removesuffix(".0")  # 2.0 as 2
                if callable(value):
                    spelled_value = getattr(value, "__name__", "callable")
                pairs.append(f"{name}={spelled_value}")
            text += f"({', '.join(pairs)})"
        if self.k is not None:
            text += f"@{self.k}"
        return text


# Of names that are not near to what they mean: that of XGBoost, and that of papers on clicks.
_HINTS = {
    "pre": "did you mean 'precision{}'?",
    "gauc": "did you mean 'auc'? The mean of GAUC weighs users: see recmetrics.summary(weights=)",
}


def lookup(
    name: str, k: str | int | None = None, options: Mapping[str, OptionValue] | None = None
) -> Metric:
    """The metric of that name or alias; the error names the nearest, or else all.

    ``k`` and ``options`` are those of the metric string, which the error repeats.
    """
    name = ALIASES.get(name, name)
    if name in METRICS:
        return METRICS[name]
    names = [*METRICS, *ALIASES]
    if len(name) <= _SHORT:  # ARP is not ap, nor MAR mrr: only a letter too many, or out of place
        names = [near for near in names if set(near) == set(name)]
    ending = str(MetricSpec("", k, tuple((options or {}).items())))  # type: ignore[arg-type]
    hint = _HINTS.get(name, "").format(ending) or _meant(name) or did_you_mean(name, names, ending)
    hint = hint or f"choose from {', '.join(METRICS)}"
    msg = f"unknown metric {name!r}; {hint}"
    raise UnknownMetricError(msg)


def _meant(text: str) -> str:
    """Write what a name may mean: the name of another system, or a cutoff without ``@``; or ""."""
    if elsewhere := meant_elsewhere(text):
        return elsewhere
    for name in (*METRICS, *ALIASES):
        separator = "(?:_at_|[_-])"
        # After letters alone, a cutoff may follow at once, as in ndcg10; but f11 may be f1.
        if name.isalpha() and len(name) > 1:
            separator += "?"
        match = re.fullmatch(rf"{name}{separator}([0-9]+)", text.strip().lower())
        if match is not None:
            return f"did you mean '{name}@{match[1]}'?"
    return ""


MetricsList = str | MetricSpec | Iterable[str | MetricSpec]
"""One or more metrics."""


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
    if convention is not None and isinstance(text, str):
        text = own_name(text, convention) or text
    name, options, k = take_apart(text)
    if name.endswith(METHOD_SUFFIX):
        bare = name.removesuffix(METHOD_SUFFIX)
        if k is not None:
            msg = (
                f"cannot read metric {text!r}: {name!r} means '{bare}@{DEFAULT_K}'; "
                f"type '{bare}@{k}'"
            )
            raise MetricSpecError(msg)
        name = bare
        k = str(DEFAULT_K)
    try:
        return make_spec(name, k, options, convention)
    except MetricSpecError as error:
        # Messages of ``make_spec`` do not name the metric string: it is added here.
        msg = f"in metric {text!r}: {error}"
        if name not in METRICS and name not in ALIASES:
            hint = meant_by(name, k, convention) if convention is not None else ""
            hint = hint or meant_elsewhere(text)
            if hint:
                msg = f"unknown metric {text!r}; {hint}"
        raise type(error)(msg, argument=error.argument) from None


def take_apart(
    text: str, noun: str = "metric", example: str = _EXAMPLE
) -> tuple[str, dict[str, str], str | None]:
    """Split a string into name, options and k, which is None where the string has none.

    ``noun`` and ``example`` are words of the errors.

    >>> take_apart("NDCG( gain = exp2 ) @ 10")
    ('ndcg', {'gain': 'exp2'}, '10')
    """
    expected_form = _EXPECTED_FORM.format(example)
    if not isinstance(text, str):
        msg = (
            f"a {noun} must be a string, got {text!r} of type {type(text).__name__}; "
            f"{expected_form}"
        )
        raise MetricSpecError(msg)
    match = _SPEC.fullmatch(text)
    if match is None or re.search("[,;]", match["k"] or ""):
        metrics = split_metrics(text.strip(), between=r"[,;\s]+")
        cutoffs = re.fullmatch(r"([^@]+)@(\d+[,;\s]+\d[\d,;\s]*)", text.strip())
        if cutoffs is not None:  # such as ndcg@10,20
            metrics = [f"{cutoffs[1]}@{k}" for k in re.findall(r"\d+", cutoffs[2])]
        hint = _meant(text) or expected_form
        if len(metrics) > 1 and all(_SPEC.fullmatch(metric) for metric in metrics):
            hint = f"one string is one {noun}: type {metrics}"
        msg = f"cannot read {noun} {text!r}; {hint}"
        raise MetricSpecError(msg)

    options: dict[str, str] = {}
    pairs: list[str] = []
    if match["options"] is not None:
        pairs = match["options"].split(",")
    for pair in pairs:
        option = _OPTION.fullmatch(pair)
        if option is None:
            msg = (
                f"cannot read {noun} {text!r}: {pair.strip()!r} is not 'option=value', without "
                f"blanks in the value; {expected_form}"
            )
            raise MetricSpecError(msg)
        key = option["key"].lower()
        if key in options:
            msg = f"cannot read {noun} {text!r}: option {key!r} is given twice; give it once"
            raise MetricSpecError(msg)
        options[key] = option["value"]
    return match["name"].lower(), options, match["k"]


def split_metrics(text: str, between: str = ",") -> list[str]:
    """Split text at the commas between metrics, not at those between options in parentheses.

    ``between`` is the pattern of what is between metrics.
    """
    return re.split(rf"{between}(?![^()]*\))", text)


def expand_cutoffs(text: str) -> list[str]:
    """The metric strings that a range of cutoffs stands for; any other string stands for itself.

    >>> expand_cutoffs("recall(denom=relevant)@10:30:10")
    ['recall(denom=relevant)@10', 'recall(denom=relevant)@20', 'recall(denom=relevant)@30']
    """
    name, _, cutoffs = text.rpartition("@")
    # With an "@" in the name, the string holds several metrics. Other text after the "@" belongs to
    # the name of a column, which may hold anything.
    if ":" not in cutoffs or "@" in name or not re.fullmatch(r"[\w\s:.+-]*", cutoffs):
        return [text]
    match = _RANGE.fullmatch(cutoffs)
    if match is None or name.endswith(METHOD_SUFFIX):
        msg = (
            f"cannot read the range {text!r}; expected integers >= 1 in 'name@first:last' or "
            "'name@first:last:step', such as 'ndcg@1:20'"
        )
        raise MetricSpecError(msg)

    start, stop, step = map(int, match.groups(default="1"))
    if start > stop:
        msg = (
            f"cannot read the range {text!r}; its first cutoff, {start}, is above its last; type "
            f"'{name}@{stop}:{start}'"
        )
        raise MetricSpecError(msg)
    excess = (stop - start) % step
    if excess:
        msg = (
            f"cannot read the range {text!r}; steps of {step} from {start} do not reach {stop}; "
            f"type '{name}@{start}:{stop - excess}:{step}'"
        )
        raise MetricSpecError(msg)
    return [f"{name}@{k}" for k in range(start, stop + 1, step)]


def make_spec(
    name: str,
    k: str | int | None = None,
    options: Mapping[str, OptionValue] | None = None,
    convention: Convention | None = None,
) -> MetricSpec:
    """Make a checked spec: known metric, known options in range, k a count or None.

    ``options`` are those that the caller typed; all others follow the convention, or have their
    defaults. None as ``k`` is the whole list.
    """
    metric = lookup(name, k, options)
    typed = {key: metric.option(key).check(value) for key, value in (options or {}).items()}
    values = typed.copy()
    if convention is not None:
        line = line_for(convention, metric.name, cutoff=k is not None)
        values = {**line.options, **typed}

    # An option that has no effect is refused where it was typed, and left out where the convention
    # has it.
    for unread in metric.unread(values):
        default = metric.options[unread].default
        if typed.get(unread, default) != default:
            switch, choice = metric.read_with[unread]
            of_convention = ""
            if switch in values and switch not in typed:
                of_convention = f", and convention={convention!r} has {switch}={values[switch]}"
            msg = (
                f"metric {metric.name!r} reads {unread} only with {switch}={choice}"
                f"{of_convention}; type {switch}={choice}, or leave out {unread}"
            )
            raise UnknownOptionError(msg)
        values.pop(unread, None)

    changed = tuple(
        (key, values[key])
        for key, option in metric.typed_options.items()
        if values.get(key, option.default) != option.default
    )
    return MetricSpec(metric.name, None if k is None else check_k(k, metric.name), changed)


def check_k(k: str | int, name: str = "ndcg") -> int:
    """Check a cutoff, which is text of a metric string or an argument, and return it as an int.

    ``name`` is that of the metric, for the error.
    """
    if not isinstance(k, str):
        return as_cutoff(k, name)
    is_number = re.fullmatch(r"[0-9]{1,4000}", k)  # int() refuses more than 4,300 digits
    if not is_number or int(k) < 1:
        raise MetricSpecError(_no_cutoff(k))
    return int(k)


def as_cutoff(k: object, name: str = "ndcg") -> int:
    """Check a cutoff that is an argument, and return it as an int."""
    count = whole_number(k)
    if count is None or count < 1:
        raise ArgumentError(_no_cutoff(k, name), argument="k")
    return count


def _no_cutoff(k: object, name: str = "ndcg") -> str:
    """Write the message for a value ``k`` that is no cutoff."""
    for suffix in (LEAST, GREATEST):
        if isinstance(k, str) and k.endswith(suffix):
            return (
                f"{suffix} belongs to a result key of ties='range', not to a metric string; leave "
                "it out"
            )
    msg = f"k must be an integer >= 1, such as 10, got {k!r:.40}"
    if isinstance(k, str) and ":" in k:
        msg += "; a range stands for several metrics, and only a list of metrics may have one"
    if isinstance(k, list | tuple):
        metric_strings = [f"{name}@{cutoff}" for cutoff in k]
        msg += f"; for several cutoffs type Metrics.compute(..., {metric_strings})"
    return msg
