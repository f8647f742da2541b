"""``metric``: a metric of one's own, from its definition in plain Python."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import functools
import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_args, get_origin, overload

import numpy as np

from recmetrics._core.errors import ArgumentError, InputTypeError, UnknownOptionError
from recmetrics._core.metrics.reference import OneUser
from recmetrics._core.options import check_flag
from recmetrics._core.selection import WHOLE_LIST, Hits
from recmetrics._core.spec import (
    ALIASES,
    COUNT_COLUMNS,
    METHOD_SUFFIX,
    METRICS,
    Number,
    Option,
    read_option,
)
from recmetrics._core.spec import metric as register
from recmetrics._core.types import FloatArray

F = TypeVar("F", bound=Callable[..., float])

_NAME = re.compile("[a-z][a-z0-9_]*")
_CHOICE = re.compile(r"[^\s=,()]+")  # what a metric string can spell
# The options that ``selection`` applies to the hits, before kernels see these; and arguments of
# kernels.
_TAKEN = ("gain", "discount", "ideal", "ideal_depth", "weigh", "of", "hits", "out")
_NO_KERNEL = "it is declared without kernel="
_UNDEFINED = "it gives NaN"  # whatever the reason, which only the function knows


@overload
def metric(function: F, /) -> F: ...


@overload
def metric(
    *,
    formula: str | None = None,
    citation: str = "own definition",
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    kernel: Callable[..., Any] | None = None,
) -> Callable[[F], F]: ...


def metric(
    function: Callable[..., float] | None = None,
    /,
    *,
    formula: str | None = None,
    citation: str = "own definition",
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    kernel: Callable[..., Any] | None = None,
) -> Any:
    """Declare a metric of your own: the decorated function is its definition for one user.

    >>> import math
    >>> import recmetrics
    >>> @recmetrics.metric
    ... def clean(user: recmetrics.OneUser, k: int, *, rel: float = 1.0) -> float:
    ...     "Whether the top of the list has relevant items alone."
    ...     if not user.relevances:
    ...         return math.nan
    ...     return float(all(gain >= rel for gain in user.gains))
    >>> recmetrics.Metrics.compute([[3, 2, 1]], [[4, 1, 0]], ["clean@2", "clean(rel=3)@2"])
    {'clean@2': array([1.]), 'clean(rel=3)@2': array([0.])}

    With a kernel, the sum of ``decay ** (rank - 1)`` over the hits. A hit in a tie has several
    ranks, and counts with their mean:

    >>> import numba
    >>> @numba.njit(nogil=True)
    ... def sum_over_hits(hits, k, out, decay):
    ...     for user in hits.users:  # out is 0 for users without hits, NaN without relevant items
    ...         for slot in range(hits.start[user], hits.start[user] + hits.n_hits[user]):
    ...             first, last = hits.first[slot], hits.last[slot]  # equal, but in a tie
    ...             for rank in range(first, last + 1):
    ...                 if k == 0 or rank <= k:
    ...                     out[user] += decay ** (rank - 1) / (last - first + 1)
    >>> @recmetrics.metric(formula="sum of {decay}^(rank - 1)", kernel=sum_over_hits, bounds=(0, 2))
    ... def decayed(user: recmetrics.OneUser, k: int, *, decay: float = 0.5) -> float:
    ...     if not user.relevances:
    ...         return math.nan
    ...     return sum(decay**place for place, gain in enumerate(user.gains) if gain > 0)
    >>> recmetrics.Metrics.compute([[4, 3, 2, 1]], [[1, 0, 1, 0]], "decayed@3")
    {'decayed@3': array([1.25])}
    >>> recmetrics.Metrics.compute([[1, 1]], [[0, 1]], "decayed@2", ties="expected")
    {'decayed@2': array([0.75])}

    The name of the function is that of the metric. It then works in every metric string: of
    ``Metrics``, evaluators, tables, ``compare`` and ``explain``, in this process. A process of a
    pool, or one that reads a saved state, must import the module that declares it. A function of
    the same name in the same module replaces the metric, as when a cell of a notebook runs again.
    Evaluators made before keep the definition with which they were made.

    Parameters
    ----------
    function
        The function, where the decorator has no arguments: ``@recmetrics.metric``.
    formula
        The definition in one line; by default the first line of the docstring. ``{k}`` stands for
        the cutoff, ``{top}`` for "the top 10", and the name of an option in braces for its value.
    citation
        Its source.
    bounds
        The least and the greatest value, each a number, -inf or inf. Intervals and gates use them.
    higher_is_better
        False where lower values are better.
    kernel
        A loop over all users with this definition, compiled by Numba with ``nogil=True``. It gets
        the hits of the users (see "Add a metric" in the documentation), the cutoff (0 for the whole
        list), the array to fill, and then the options that it names, choices by their number. The
        array starts as 0, but as NaN for a user without relevant items; if an option is called
        ``rel``, for one without items of at least this relevance. Without a kernel, the function
        is called for each of these users, too, about a thousand times slower, and ``ties`` other
        than "index" are an error.

    Returns
    -------
    callable
        The function, unchanged; with arguments, a decorator that returns it. The function takes a
        ``OneUser`` and ``k``, the cutoff, which is the length of the list where a metric string has
        none. Its docstring begins with the summary. Its other parameters are keyword-only, the
        options of the metric, annotated with ``Literal["a", "b"]`` or ``float``, or with
        ``Annotated`` types of these and what they mean. NaN is the value of a user for whom the
        metric is undefined.

    Raises
    ------
    ArgumentError
        If the name exists or cannot stand in a metric string; if a parameter is neither the user,
        ``k`` nor keyword-only; if an option has another annotation, no default or one that is no
        value of it, or if it or a choice cannot be typed; if there is no formula, or one with a
        word in braces that stands for nothing; or if ``bounds`` are no two ascending numbers.
    """
    range_of_values = _read_bounds(bounds)
    check_flag("higher_is_better", higher_is_better)

    def declare(function: F) -> F:
        if not hasattr(function, "__name__"):
            msg = (
                f"metric declares a function, got {function!r}; type @recmetrics.metric or "
                "@recmetrics.metric(formula=...) above the function"
            )
            raise ArgumentError(msg)
        name = function.__name__.removesuffix(METHOD_SUFFIX)
        _check_name(name, function)
        parameters = _options_of(name, function)
        # The registry reads the name, the docstring and the options of the function. Types of the
        # user and k need not exist at run time.
        declaration = functools.wraps(function)(lambda: None)
        declaration.__name__ = name
        declaration.__annotations__ = {p.name: p.annotation for p in parameters}
        hints = typing.get_type_hints(declaration, include_extras=True)
        options = []
        for parameter in parameters:
            annotation = _annotated(name, parameter, hints)
            declaration.__annotations__[parameter.name] = annotation
            option = read_option(parameter.name, parameter.default, annotation)
            _check_default(name, option)
            options.append(option)
        register_declaration = register(
            kernel=kernel or _kernel_of(function, options),
            reference=function,
            formula=_first_line(name, function) if formula is None else formula,
            latex="",
            citation=citation,
            bounds=range_of_values,
            higher_is_better=higher_is_better,
            module=function.__module__,
            undefined=_UNDEFINED,
            no_expectation=_NO_KERNEL if kernel is None else "",
        )
        register_declaration(declaration)
        return function

    return declare if function is None else declare(function)


def _read_bounds(bounds: object) -> tuple[float, float]:
    """Read the least and the greatest value of a metric; refuse anything else."""
    if isinstance(bounds, tuple | list) and len(bounds) == 2:
        least, greatest = bounds
        if isinstance(least, Real) and isinstance(greatest, Real) and least < greatest:
            return float(least), float(greatest)
    msg = (
        "bounds must be two numbers, the least and the greatest value, such as (0, 1) or "
        f"(0, math.inf), got {bounds!r}"
    )
    raise ArgumentError(msg, argument="bounds")


def _check_name(name: str, function: Callable[..., Any]) -> None:
    """Refuse a name that no metric string can spell, or that a column or another metric has."""
    if not _NAME.fullmatch(name):
        msg = f"a metric must have a name of small letters, digits and '_', got {name!r}"
        raise ArgumentError(msg)
    if name in COUNT_COLUMNS:
        msg = f"{name!r} is a column of counts in tables; give the function another name"
        raise ArgumentError(msg)
    namesake = METRICS.get(ALIASES.get(name, name))
    if namesake is not None and namesake.module != function.__module__:
        msg = f"the metric {name!r} exists; give the function another name"
        raise ArgumentError(msg)


def _options_of(name: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The keyword-only parameters of a metric's function, which are its options.

    The only parameters before the options may be the user and k; others are refused.
    """
    options = []
    positional = []
    starred = []  # *values and **values: each option must have a name
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            options.append(parameter)
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            starred.append(parameter)
        else:
            positional.append(parameter)

    if len(positional) < 2 or positional[1].name != "k":
        listing = ", ".join(map(str, positional)) or "neither"
        advice = f"type def {function.__name__}(user, k)"
    elif starred:
        listing = ", ".join(map(str, starred))
        advice = f"leave out {listing}, and write each option as a parameter after *"
    elif positional[2:]:
        listing = ", ".join(parameter.name for parameter in positional[2:])
        signature = ", ".join(map(str, [*positional[:2], "*", *positional[2:], *options]))
        advice = f"write {listing} after *: def {function.__name__}({signature})"
    else:
        return options
    msg = (
        f"the metric {name!r} must be a function of the user and k, with its options after *, got "
        f"{listing}; {advice}"
    )
    raise ArgumentError(msg)


def _first_line(name: str, function: Callable[..., Any]) -> str:
    """The first line of the docstring, for a metric declared without a formula."""
    line = (inspect.getdoc(function) or "").partition("\n")[0]
    if not line:
        msg = (
            f"the metric {name!r} has no formula; write it in the first line of the docstring, or "
            "type @recmetrics.metric(formula=...)"
        )
        raise ArgumentError(msg)
    return line


def _annotated(name: str, option: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    """The annotation of an option as the metrics of the package have it: a type and its meaning.

    An option that has another annotation, or no default, is refused.
    """
    hint = hints.get(option.name)
    value_type = hint
    meaning: Any = option.name
    if get_origin(hint) is Annotated:
        value_type, meaning, *_ = get_args(hint)
    choices = get_args(value_type) if get_origin(value_type) is Literal else ()
    is_number = value_type is float or set(get_args(value_type)) == {float, type(None)}
    _check_option_name(name, option.name, has_choices=bool(choices))
    _check_choices(name, option.name, choices)
    if not (choices or is_number) or option.default is inspect.Parameter.empty:
        msg = (
            f"the option {option.name!r} of metric {name!r} must have a default and be annotated "
            f'with float, float | None or Literal["a", "b"], got {option}'
        )
        raise ArgumentError(msg)
    if is_number and not isinstance(meaning, Number):
        # A kernel gets 0 for a number that is not set, so a number that is set must be above it.
        meaning = Number(str(meaning), above=0.0 if option.default is None else -math.inf)
    return Annotated[value_type, meaning]


def _check_option_name(metric: str, option: str, *, has_choices: bool) -> None:
    """Refuse an option of a metric whose name no metric string can spell, or means another one."""
    if not _NAME.fullmatch(option):
        msg = (
            f"an option must have a name of small letters, digits and '_', got {option!r} of "
            f"metric {metric!r}"
        )
        raise ArgumentError(msg)
    # Hits are read with ``rel`` as the least relevance.
    if option in _TAKEN or (option == "rel" and has_choices):
        msg = (
            f"metric {metric!r} has the option {option!r}, a name that the library keeps for "
            "itself; rename it"
        )
        raise ArgumentError(msg)


def _check_choices(metric: str, option: str, choices: tuple[Any, ...]) -> None:
    """Refuse choices that no metric string can spell."""
    for choice in choices:
        if not isinstance(choice, str) or not _CHOICE.fullmatch(choice) or choice != choice.lower():
            msg = (
                f"the option {option!r} of metric {metric!r} has the choice {choice!r}, which no "
                "metric string can spell; expected text of small letters, digits and '_'"
            )
            raise ArgumentError(msg)


def _check_default(metric: str, option: Option) -> None:
    """Refuse a default that is no value of an option; None is a number that is not set."""
    fault = "None is none of its choices"
    if option.default is not None or not option.choices:
        try:
            option.check(option.default)
        except UnknownOptionError as error:
            fault = str(error)
        else:
            return
    label = f"the option {option.name!r} of metric {metric!r}"
    msg = f"the default of {label} is no value of it: {fault}"
    raise ArgumentError(msg)


def _kernel_of(reference: Callable[..., float], options: list[Option]) -> Any:
    """A kernel that calls ``reference``, the metric's function, for each user.

    Like every kernel, it gets the options as numbers, the codes, and writes a value for each user.
    """

    def kernel(hits: Hits, k: int, out: FloatArray, *codes: Any) -> None:
        option_values = {}
        for option, code in zip(options, codes, strict=True):
            option_values[option.name] = _value(option, code)
        for user in range(len(out)):
            length = int(hits.length[user])
            k_of_user = length if k == WHOLE_LIST else k
            # The list ends where it is shorter than k, but the function gets k itself.
            one_user = _one_user(hits, user, min(k_of_user, length))
            try:
                value = reference(one_user, k_of_user, **option_values)
            except Exception as error:  # of code that is not ours
                # The whole call, since a kernel may have only a block of the users.
                call = f"{reference.__name__}({OneUser(*one_user)!r:.300}, {k_of_user})"
                error.add_note(f"in the metric {reference.__name__!r}, called as {call}")
                raise
            if not isinstance(value, Real | np.bool_):
                msg = (
                    f"the function {reference.__name__} of a metric must return a number, got "
                    f"{value!r:.40}; return math.nan where the metric is undefined"
                )
                raise InputTypeError(msg)
            out[user] = value

    # As a kernel of Numba has it; the registry reads the options of a kernel from its signature.
    kernel.py_func = reference  # type: ignore[attr-defined]
    return kernel


def _value(option: Option, code: Any) -> Any:
    """The value of an option that a kernel gets as ``code``: a choice, or a number."""
    if option.choices:
        return "no" if code is None else option.choices[code]
    # A number that is not set is 0 for a kernel.
    return None if option.default is None and code == 0.0 else code


class _OneUserOfHits(OneUser):
    """One user as the function of a metric reads it: hits hold neither scores nor propensities."""

    @property
    def scores(self) -> NoReturn:
        _refuse_to_read("scores")

    @property
    def propensities(self) -> NoReturn:
        _refuse_to_read("propensities")

    @property
    def relevant_propensities(self) -> NoReturn:
        _refuse_to_read("relevant_propensities")


def _refuse_to_read(field: str) -> NoReturn:
    msg = (
        f"the function of a metric reads user.{field}, which it does not get; expected a function "
        "of user.gains and user.relevances"
    )
    raise ArgumentError(msg)


def _one_user(hits: Hits, user: int, depth: int) -> OneUser:
    """One user's list, cut at rank ``depth``, as the function of a metric reads it."""
    start, end = hits.start[user : user + 2]
    gains = [0.0] * depth
    for slot in range(start, start + hits.n_hits[user]):
        if hits.first[slot] <= depth:
            gains[hits.first[slot] - 1] = float(hits.gain[slot])
    return _OneUserOfHits(gains, hits.ideal[start:end].tolist(), [])
