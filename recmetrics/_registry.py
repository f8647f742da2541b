"""The registry: one record for each metric, made by the ``@metric`` decorator.

Everything that lists metrics reads ``METRICS``: the dispatcher, error hints, the command line, the
README table, tests and benchmarks.
"""

import difflib
import functools
import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

from recmetrics._errors import UnknownMetricError, UnknownOptionError
from recmetrics._options import SHARED_PARAMETERS

Kind = Literal["accuracy", "list", "system"]

P = ParamSpec("P")
R = TypeVar("R")

METHOD_SUFFIX = "_at_k"
_NUMBER = re.compile(r"[0-9.eE+-]+", re.ASCII)
DEFAULT_K = 100  # rectorch's default cutoff
NO_RELEVANT_ITEM = "no relevant item, or for auc nothing else"


@dataclass(frozen=True)
class Number:
    """The range of a numeric option, for ``Annotated[float, Number(...)]``."""

    meaning: str
    above: float = 0.0
    below: float = math.inf


@dataclass(frozen=True)
class Filled:
    """A formula with an {option} for each option that changes it, and what the choices stand for.

    A number stands for itself; one that is not set by what is given for None.
    """

    text: str
    words: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Option:
    """One option of a metric, read from the signature of its method."""

    name: str
    default: str | float | None
    meaning: str
    choices: tuple[str, ...] = ()
    above: float = -math.inf
    below: float = math.inf
    takes_callable: bool = False

    def check(self, value: Any) -> Any:
        """``value`` as the option holds it, or an error that says what is possible."""
        if value is None and self.default is None:
            return None
        if self.takes_callable and callable(value):
            return value
        return self._check_choice(value) if self.choices else self._check_number(value)

    def _check_choice(self, value: Any) -> str:
        if isinstance(value, str) and value.lower() in self.choices:
            return value.lower()
        near = difflib.get_close_matches(str(value), self.choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        expected = " or ".join(repr(choice) for choice in self.choices)
        if self.takes_callable:
            expected += ", or in the methods a callable of the rank"
        msg = f"{self.name} must be {expected}, got {value!r}{hint}"
        raise UnknownOptionError(msg)

    def _check_number(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            number = math.nan  # float() reads more: 1_0, digits of other scripts
        if self.above < number < self.below:
            return number
        limit = f" and below {self.below:g}" if self.below < math.inf else ""
        msg = f"{self.name} must be a finite number above {self.above:g}{limit}, got {value!r}"
        raise UnknownOptionError(msg)

    def code(self, value: Any) -> float | int:
        """``value`` as a kernel reads it: a choice by its index, an unset number as 0."""
        if self.choices:
            return self.choices.index(value)
        return 0.0 if value is None else float(value)


@dataclass(frozen=True)
class Metric:
    """One metric: what it is called, what it means, and the two ways to compute it.

    ``kind`` says what its kernel reads: an "accuracy" metric the hits of a user (``TopK``), a
    "list" metric the user's list itself (``Lists``), a "system" metric how often each item is
    listed (``Exposure``); the first two have one value per user, the last one value in all.
    ``order_bound`` names the choices of options with which an accuracy metric divides by what the
    list happens to hold, so that tied scores leave no simple expectation. ``no_ceiling`` names
    choices that, all together, let another order beat that of descending relevances.
    """

    name: str
    summary: str
    formula: str
    latex: str
    citation: str
    bounds: tuple[float, float]
    kernel: Callable[..., Any]
    reference: Callable[..., float]
    options: dict[str, Option]
    takes_k: bool
    description: str
    aliases: tuple[str, ...] = ()
    averages_ties: bool = False  # by definition, whatever the order of equal scores
    order_bound: Mapping[str, str] = field(default_factory=dict)
    no_ceiling: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Any, dict[str, Any]], None] | None = None
    kind: Kind = "accuracy"
    needs: tuple[tuple[str, ...], ...] = ()  # one keyword argument of each group
    sums: frozenset[str] = frozenset()  # the sums of Exposure that a system metric reads
    undefined: str = NO_RELEVANT_ITEM
    filled: Filled | None = None
    higher_is_better: bool = True

    @property
    def method(self) -> str:
        """Name of the method of ``Metrics`` that computes this metric alone."""
        return self.name + METHOD_SUFFIX if self.takes_k else self.name

    def option(self, name: str) -> Option:
        """The option called ``name``, or an error that names the nearest."""
        if name in self.options:
            return self.options[name]
        if not self.options:
            hint = "it takes none"
        else:
            near = difflib.get_close_matches(name, self.options, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self.options)}"
        msg = f"metric {self.name!r} has no option {name!r}; {hint}"
        raise UnknownOptionError(msg)


METRICS: dict[str, Metric] = {}
_ALIASES: dict[str, str] = {}


def lookup(name: str) -> Metric:
    """The metric of that name or alias.

    Raises
    ------
    UnknownMetricError
        If there is none; the message names the nearest, or else all.
    """
    name = _ALIASES.get(name, name)
    if name in METRICS:
        return METRICS[name]
    near = difflib.get_close_matches(name, [*METRICS, *_ALIASES], n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(METRICS)}"
    msg = f"unknown metric {name!r}; {hint}"
    raise UnknownMetricError(msg)


def metric(
    *,
    kernel: Callable[..., Any],
    reference: Callable[..., float],
    formula: str,
    latex: str,
    citation: str,
    bounds: tuple[float, float] = (0.0, 1.0),
    aliases: tuple[str, ...] = (),
    averages_ties: bool = False,
    order_bound: Mapping[str, str] | None = None,
    no_ceiling: Mapping[str, str] | None = None,
    check: Callable[[Any, dict[str, Any]], None] | None = None,
    kind: Kind = "accuracy",
    needs: tuple[tuple[str, ...], ...] = (),
    sums: tuple[str, ...] = (),
    undefined: str = NO_RELEVANT_ITEM,
    filled: Filled | None = None,
    higher_is_better: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a metric under the name of the decorated method, and give the method its body.

    The method's signature is the declaration: its keyword-only parameters are the metric's
    options, with their choices (``Literal``), ranges (``Number``), meanings and defaults; its
    docstring is the metric's description. ``formula`` is what all lists show, ``latex`` the same as
    the documentation sets it, with the default options; where options change it, ``filled`` is the
    whole of it, for ``explain``.
    """

    def declare(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)
        hints = typing.get_type_hints(method, include_extras=True)
        options = {
            name: _option(name, parameter.default, hints[name])
            for name, parameter in signature.parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        description = inspect.getdoc(method) or ""
        record = Metric(
            name=method.__name__.removesuffix(METHOD_SUFFIX),
            summary=description.partition("\n")[0],
            formula=formula,
            latex=latex,
            citation=citation,
            bounds=bounds,
            kernel=kernel,
            reference=reference,
            options=options,
            takes_k="k" in signature.parameters,
            description=description,
            aliases=aliases,
            averages_ties=averages_ties,
            order_bound=order_bound or {},
            no_ceiling=no_ceiling or {},
            check=check,
            kind=kind,
            needs=needs,
            sums=frozenset(sums),
            undefined=undefined,
            filled=filled,
            higher_is_better=higher_is_better,
        )
        METRICS[record.name] = record
        _ALIASES.update(dict.fromkeys(aliases, record.name))

        @functools.wraps(method)
        def evaluate(pred_scores: Any, ground_truth: Any, *k: Any, **keywords: Any) -> Any:
            from recmetrics._compute import compute_one  # _compute imports the metrics

            for keyword in keywords:
                if keyword not in public.parameters:
                    record.option(keyword)  # raises, and names the nearest
            bound = public.bind(pred_scores, ground_truth, *k, **keywords)
            spelled = {name: keywords[name] for name in options if name in keywords}
            bound.apply_defaults()  # after what was typed, which wins over the convention
            arguments = {key: v for key, v in bound.arguments.items() if key not in options}
            return compute_one(record.name, spelled, **arguments)

        public = signature.replace(
            parameters=[
                *(p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD),
                *SHARED_PARAMETERS,
            ],
        )
        evaluate.__signature__ = public  # type: ignore[attr-defined]  # help() shows every keyword
        evaluate.__doc__ = _full_description(record)
        return typing.cast(Callable[P, R], evaluate)

    return declare


def _full_description(record: Metric) -> str:
    """The docstring of a metric's method: what its author wrote, and what the record holds."""
    low, high = record.bounds
    facts = [
        f"Formula: {record.formula}.",
        f"Values: {low:g} to {high:g}.",
        f"Source: {record.citation}.",
    ]
    if not record.higher_is_better:
        facts.append("Lower is better.")
    if record.aliases:
        facts.append(f"Also called: {', '.join(record.aliases)}.")
    lines = [record.description, "", *facts]
    if record.options:
        lines += ["", "Options", "-------"]
    for option in record.options.values():
        default = "not set" if option.default is None else option.default
        choices = f"{', '.join(option.choices)}; " if option.choices else ""
        lines += [f"{option.name} : {choices}default {default}", f"    {option.meaning}"]
    lines += ["", "All other arguments, results and errors are those of ``Metrics.compute``."]
    return "\n".join(lines)


def _option(name: str, default: Any, hint: Any) -> Option:
    """Read one keyword of a metric's method: ``Annotated[type, meaning or Number]``."""
    kind, about = get_args(hint)
    if isinstance(about, Number):
        return Option(name, default, about.meaning, above=about.above, below=about.below)
    parts = get_args(kind) if get_origin(kind) is not Literal else (kind,)
    choices = next(get_args(part) for part in parts if get_origin(part) is Literal)
    return Option(name, default, about, choices, takes_callable=len(parts) > 1)
