"""The registry: one record for each metric, made by the ``@metric`` decorator.

Everything that lists metrics reads ``METRICS``: the dispatcher, error hints, the command line, the
README table, tests and benchmarks.
"""

import inspect
import math
import re
import textwrap
import typing
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from recmetrics._core.errors import ArgumentError, UnknownOptionError, did_you_mean
from recmetrics._core.types import BoolArray, FloatArray

Reads = Literal["hits", "lists", "exposure"]
"""The input of a kernel: the hits of each user, their lists, or how often items are in lists."""

F = TypeVar("F", bound=Callable[..., Any])

METHOD_SUFFIX = "_at_k"
_NAME = re.compile(r"[\w.-]+")
_NUMBER = re.compile(r"[0-9.eE+-]+", re.ASCII)
DEFAULT_K = 100  # rectorch's default cutoff
NO_RELEVANT_ITEM = "no relevant item"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# Of docstrings that are written here, as wide as the others.
_LINES = textwrap.TextWrapper(92, break_on_hyphens=False)
_INDENTED = textwrap.TextWrapper(92, "    ", "    ", break_on_hyphens=False)
# By placeholder of a formula: its text with a cutoff, in which {k} is the number, and without one.
_CUTOFF_WORDS = {
    "k": ("{k}", "length of the list"),
    "top": ("the top {k}", "the list"),
    "cut": ("min({k}, length of the list)", "length of the list"),
    "limits": ("{k}, length of the list", "length of the list"),
    "first": ("the first {k}", "as many as the list has"),
    "first_cut": ("the first min({k}, length of the list)", "as many as the list has"),
    "down": ("rank down to {k}", "rank of the list"),
}


def choice(choices: Any, name: str) -> int:
    """Give the number that stands for ``name`` in kernels: its place in the ``Literal``."""
    return get_args(choices).index(name)


@dataclass(frozen=True)
class Number:
    """The range of a numeric option, for ``Annotated[float, Number(...)]``."""

    meaning: str
    above: float = 0.0
    below: float = math.inf


@dataclass(frozen=True)
class Formula:
    """The formula of a metric, in words and in LaTeX.

    The words are a template. ``{top}``, ``{k}`` and the others of ``_CUTOFF_WORDS`` stand for the
    cutoff. The name of an option stands for the text of its value in ``words``, or for the number
    itself. A number without a text of its own has the text under ``float``, in which it is
    ``{number}``. In tables, the formula is followed by the texts of the other choices of the
    options in ``varies``.
    """

    template: str
    latex: str
    words: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    varies: tuple[str, ...] = ()

    def filled(self, values: Mapping[str, Any], k: int | str | None) -> str:
        """Write the formula with these options and this cutoff, None for the whole list."""
        return _fill(self.template, self._words(values, k))

    def general(self, options: Mapping[str, "Option"], k: str | None) -> str:
        """Write the formula with the default choices, and the names of options for numbers.

        Then come the texts of the other choices of the options in ``varies``.
        """
        defaults = {
            name: option.default if option.choices else name for name, option in options.items()
        }
        words = self._words(defaults, k)
        text = _fill(self.template, words)
        for name in self.varies:
            for alternative in options[name].choices[1:]:
                text += f"; {name}={alternative}: {_fill(self._word(name, alternative), words)}"
        return text

    def _words(self, values: Mapping[str, Any], k: int | str | None) -> dict[str, str]:
        """The text of each placeholder, with these options and this cutoff."""
        words = {name: whole_list for name, (_, whole_list) in _CUTOFF_WORDS.items()}
        if k is not None:
            words = {name: top.replace("{k}", str(k)) for name, (top, _) in _CUTOFF_WORDS.items()}
        for name, value in values.items():
            words[name] = self._word(name, value)
        return words

    def _word(self, option: str, value: object) -> str:
        """The text of a value of an option, with placeholders of its own."""
        words = self.words.get(option, {})
        if value in words:
            return words[value]
        number = f"{value:g}" if isinstance(value, float) else str(value)
        return words.get(float, "{number}").replace("{number}", number)


def _fill(template: str, words: Mapping[str, str]) -> str:
    """Put ``words`` in the place of the placeholders of a template, and of those in the words."""
    for name in _PLACEHOLDER.findall(template):
        if name not in words:
            hint = did_you_mean(name, words) or f"expected one of {', '.join(words)}"
            msg = (
                f"the formula {template!r} has {{{name}}}, which stands for nothing; {hint}, or "
                "leave out the braces"
            )
            raise ArgumentError(msg)
    return _PLACEHOLDER.sub(lambda match: _fill(words[match[1]], words), template)


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
    is_name: bool = False

    def check(self, value: Any) -> Any:
        """Convert ``value`` to the form of the option; the error says what is possible."""
        if value is None and self.default is None:
            return None
        if self.takes_callable and callable(value):
            return value
        if self.is_name:
            return self._check_name(value)
        if self.choices:
            return self._check_choice(value)
        return self._check_number(value)

    def _check_choice(self, value: Any) -> str:
        """Return a choice in lower case; refuse any other value, and name the nearest choice."""
        if isinstance(value, str) and value.lower() in self.choices:
            return value.lower()
        *others, last = map(repr, self.choices)
        expected = f"{', '.join(others)} or {last}" if others else last
        if self.takes_callable:
            expected += ", or, in the methods, a callable of the rank"
        msg = f"{self.name} must be {expected}, got {value!r}"
        if hint := did_you_mean(str(value), self.choices):
            msg += f"; {hint}"
        raise UnknownOptionError(msg)

    def _check_name(self, value: Any) -> str:
        """Return a name unchanged; refuse any other value."""
        if isinstance(value, str) and _NAME.fullmatch(value):
            return value
        msg = f"{self.name} must be a name of letters, digits, '_', '-' and '.', got {value!r}"
        raise UnknownOptionError(msg)

    def _check_number(self, value: Any) -> float:
        """Return a number of the range as a float; refuse any other value."""
        # float() accepts more than numbers: True, 1_0, digits of other scripts.
        is_number = not isinstance(value, bool)
        if isinstance(value, str):
            is_number = _NUMBER.fullmatch(value) is not None
        number = math.nan
        if is_number:
            with suppress(TypeError, ValueError, OverflowError):
                number = float(value)
        if self.above < number < self.below:
            return number
        limits = []
        if self.above > -math.inf:
            limits.append(f"above {self.above:g}")
        if self.below < math.inf:
            limits.append(f"below {self.below:g}")
        msg = f"{self.name} must be a finite number {' and '.join(limits)}".rstrip()
        msg += f", got {value!r}"
        raise UnknownOptionError(msg)

    def code(self, value: Any) -> float | int | None:
        """Convert ``value`` for a kernel: a choice to its index, an unset number to 0.

        The choice "no" becomes None, with which Numba compiles nothing that only others need.
        """
        if not self.choices:
            return float(value or 0.0)
        if value == "no":
            return None
        return self.choices.index(value)


# The option of every metric that reads hits: it chooses among them, so that no kernel sees it.
STRATUM = Option(
    "of",
    None,
    "the stratum, of those in strata=, whose relevant items alone are relevant; not set: all",
    is_name=True,
)


@dataclass(frozen=True)
class Metric:
    """One metric: its names, its meaning, and the two ways to compute it.

    ``reads`` is the input of its kernel: the hits of each user (``Hits``), the users' lists
    (``Lists``), or how often each item is in a list (``Exposure``). With the first two it has one
    value per user, with the last one value in all. ``without_orders`` names the choices of options
    with which tied scores have no simple expectation, as where it divides by the hits found.
    ``ceiling_unless`` names choices that, together, allow another order to be better than
    descending relevances. ``read_with`` names options that have an effect only with a certain
    choice of another option. ``at_k`` is the metric of that name with a cutoff, where it is another
    one.
    """

    name: str
    written: Formula
    citation: str
    kernel: Callable[..., Any]
    reference: Callable[..., float]
    options: dict[str, Option]
    default_k: int | None  # the cutoff of its method where none is given; None: the whole list
    description: str
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of choices of options
    bounds: tuple[float, float] = (0.0, 1.0)
    # The greatest value, where it depends on the cutoff or on the values of the options.
    greatest: Callable[[int | None, Mapping[str, Any]], float] | None = None
    aliases: tuple[str, ...] = ()
    averages_ties: bool = False  # by definition, whatever the order of ties
    without_orders: Mapping[str, str] = field(default_factory=dict)
    no_expectation: str = ""  # why it has none over tied scores
    ceiling_unless: Mapping[str, str] = field(default_factory=dict)
    read_with: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    check_truth: Callable[[Any, dict[str, Any]], None] | None = None
    reads: Reads = "hits"
    any_order: bool = False  # it has a chance level, though it reads lists: from all their items
    counts_all_items: bool = False  # those below a cutoff, too; no recommendable item may lack
    needs: tuple[tuple[str, ...], ...] = ()  # one keyword argument of each group
    # Makes the input of the kernel from the side information and the values of the options.
    prepare: Callable[[Any, dict[str, Any]], Any] | None = None
    # The weighted sums of Exposure that it reads, by the values of the options.
    exposure_sums: Callable[[Mapping[str, Any]], tuple[Hashable, ...]] = lambda _: ()
    undefined: str = NO_RELEVANT_ITEM  # where it is NaN; "" for never
    is_sum: bool = False  # over relevant items: 0 without any, unless undefined="raise"
    higher_is_better: bool = True
    module: str = ""  # that declares it, if it is none of the package
    at_k: "Metric | None" = None

    @property
    def summary(self) -> str:
        """The first line of the description."""
        return self.description.partition("\n")[0]

    @property
    def plain_kernel(self) -> Callable[..., Any]:
        """The function in Python that the kernel compiles, or that it calls for each user."""
        function: Callable[..., Any] = getattr(self.kernel, "py_func", self.kernel)
        return function

    @cached_property
    def kernel_options(self) -> tuple[str, ...]:
        """The options that are arguments of the kernel; others change its input."""
        parameters = inspect.signature(self.plain_kernel).parameters
        return tuple(name for name in self.options if name in parameters)

    def at(self, k: int | None) -> "Metric":
        """The record of the metric with cutoff ``k``; None stands for the whole list."""
        if k is None or self.at_k is None:
            return self
        return self.at_k

    @property
    def method(self) -> str:
        """Name of the method of ``Metrics`` that computes this metric alone."""
        if self.default_k is None:
            return self.name
        return self.name + METHOD_SUFFIX

    @property
    def formula(self) -> str:
        """The formula as tables show it."""
        with_cutoff = self.at(DEFAULT_K).written.general(self.options, "k")
        if self.default_k is not None:
            return with_cutoff
        return f"{self.written.general(self.options, None)}; {self.name}@k: {with_cutoff}"

    @property
    def per_user(self) -> bool:
        """True for one value per user; a metric of all lists has a single value."""
        return self.reads != "exposure"

    @property
    def needs_relevant(self) -> bool:
        """True if the metric is undefined for users without relevant items."""
        return self.undefined.startswith(NO_RELEVANT_ITEM)

    def unread(self, values: Mapping[str, Any]) -> list[str]:
        """Name the options that have no effect with these ``values`` of options.

        An option that is not among ``values`` has its default.
        """
        return [
            name
            for name, (switch, choice) in self.read_with.items()
            if values.get(switch, self.options[switch].default) != choice
        ]

    @cached_property
    def typed_options(self) -> Mapping[str, Option]:
        """The options by name, and last that of the stratum where the metric has it."""
        if self.reads == "hits":
            return {**self.options, STRATUM.name: STRATUM}
        return self.options

    def option(self, name: str) -> Option:
        """Find the option called ``name``; the error names the nearest."""
        options = self.typed_options
        if name in options:
            return options[name]
        hint = "it takes none"
        if options:
            hint = did_you_mean(name, options) or f"it has {', '.join(map(repr, options))}"
        msg = f"metric {self.name!r} has no option {name!r}; {hint}"
        raise UnknownOptionError(msg)


class ItemNumber(NamedTuple):
    """A number of each item, from ``least`` to 1."""

    meaning: str  # in errors
    least: float

    def is_wrong(self, numbers: FloatArray) -> BoolArray:
        """True for the numbers outside the range, and for NaN."""
        return ~((numbers >= self.least) & (numbers <= 1.0))


@dataclass(frozen=True, kw_only=True)
class SideInput:
    """One piece of side information, as every entry point names, reads and describes it.

    ``read`` is given the value, its name and its ``Context``; it gives what metrics read.
    """

    content: str  # in errors
    shape: str  # in errors; its first axis is the items, except for what is of users
    read: Callable[[Any, str, Any], Any]
    make: str = ""  # what to type for it
    number: ItemNumber | None = None  # where it is one number for each item
    warm: Callable[[int], Any] | None = None  # for a warm-up of n users and n items
    table: str  # the words for its table
    form: Literal["shares", "chances", "matrix", "pairs", "users"] = "matrix"  # of its table
    of_train: Callable[..., Any] | None = None  # from training interactions and, if known, n_items


SIDE: dict[str, SideInput] = {}
METRICS: dict[str, Metric] = {}
ALIASES: dict[str, str] = {}
COUNT_COLUMNS = ("nrecs", "ntruth")
"""Columns of results of tables that hold counts of each list, and no metric."""


def metric(
    *,
    kernel: Callable[..., Any],
    formula: str,
    latex: str,
    words: Mapping[str, Mapping[Any, str]] | None = None,
    varies: tuple[str, ...] = (),
    formula_at_k: str = "",
    facts_at_k: Mapping[str, Any] = {},
    **facts: Any,
) -> Callable[[F], F]:
    """Register a metric under the name of the decorated function, its declaration.

    The signature declares the metric: its keyword-only parameters are the options, with their
    choices (``Literal``), ranges (``Number``), meanings and defaults; the docstring is the
    description. ``formula``, ``latex``, ``words`` and ``varies`` are those of ``Formula``, and
    ``facts`` are other fields of ``Metric``. Where a cutoff makes another metric, ``formula_at_k``
    and ``facts_at_k`` say what differs. The function has no body: ``Metrics`` gives it one.
    """

    def declare(function: F) -> F:
        record = Metric(
            name=function.__name__.removesuffix(METHOD_SUFFIX),
            written=Formula(formula, latex, words or {}, varies),
            kernel=kernel,
            options=read_options(function),
            default_k=inspect.signature(function).parameters["k"].default,
            description=inspect.getdoc(function) or "",
            **facts,
        )
        if formula_at_k:
            written = replace(record.written, template=formula_at_k)
            record = replace(record, at_k=replace(record, written=written, **facts_at_k))
        # Before the record is kept, since this refuses a formula that cannot be written.
        function.__doc__ = _full_description(record)
        METRICS[record.name] = record
        ALIASES.update(dict.fromkeys(record.aliases, record.name))
        return function

    return declare


def _full_description(record: Metric) -> str:
    """Write the docstring of a metric's method: its description, and facts of the record."""
    facts = [
        f"Formula: {record.formula}.",
        "Values: {:g} to {:g}.".format(*record.bounds),
        f"Source: {record.citation}.",
    ]
    if not record.higher_is_better:
        facts.append("Lower is better.")
    if record.aliases:
        facts.append(f"Also called: {', '.join(record.aliases)}.")
    lines = [record.description, "", *map(_LINES.fill, facts)]
    options = record.typed_options
    if options:
        lines += ["", "Options", "-------"]
    for option in options.values():
        default = "not set" if option.default is None else option.default
        choices = f"{', '.join(option.choices)}; " if option.choices else ""
        lines += [f"{option.name} : {choices}default {default}", _INDENTED.fill(option.meaning)]
    lines += ["", "All other arguments, results and errors are those of ``Metrics.compute``."]
    return "\n".join(lines)


def read_options(declaration: Callable[..., Any]) -> dict[str, Option]:
    """Read the options from a signature: its keyword-only parameters."""
    hints = typing.get_type_hints(declaration, include_extras=True)
    return {
        name: read_option(name, parameter.default, hints[name])
        for name, parameter in inspect.signature(declaration).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def read_option(name: str, default: Any, hint: Any) -> Option:
    """Read an option from the default and the annotation ``hint`` of a parameter.

    The annotation is ``Annotated[type, meaning]``: the type is that of a number, with a ``Number``
    as the meaning; ``str | None`` for a name; or a ``Literal``, perhaps with a callable.
    """
    option_type, meaning = get_args(hint)
    if isinstance(meaning, Number):
        number = meaning
        return Option(name, default, number.meaning, above=number.above, below=number.below)
    if option_type == str | None:
        return Option(name, default, meaning, is_name=True)
    types = (option_type,) if get_origin(option_type) is Literal else get_args(option_type)
    choices = next(get_args(one_type) for one_type in types if get_origin(one_type) is Literal)
    return Option(name, default, meaning, choices, takes_callable=len(types) > 1)
