"""The shared keyword arguments: their names and types, written once, and checks of single values.

``Metrics.compute`` and ``Evaluator`` spell the keywords out, since people read these two. All other
entry points take ``**shared: Unpack[...]`` of one of the dictionaries below; ``takes`` shows every
keyword in ``help()`` and refuses an unknown one.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import functools
import inspect
import operator
import os
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

import numpy as np

from recmetrics._core.errors import ArgumentError, did_you_mean
from recmetrics._core.types import (
    Candidates,
    Convention,
    ItemValues,
    Matrix,
    NaNPolicy,
    Progress,
    Strata,
    TiePolicy,
    Ties,
    Truth,
    Undefined,
)

if typing.TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeAlias

    from narwhals.typing import IntoDataFrame, IntoLazyFrame

    SideTable: TypeAlias = IntoDataFrame | IntoLazyFrame | Mapping[Any, Any] | str | Path
    """A table of side information, or the path of one; training interactions also as a dict."""

F = TypeVar("F", bound=Callable[..., Any])


class _Sets(TypedDict, total=False):
    """The keywords that limit the items that may be recommended."""

    exclude: Truth | None
    candidates: Candidates | None


class _Relevant(TypedDict, total=False):
    """The keywords that select or weight relevant items."""

    strata: Strata | None
    propensity: ItemValues | None


class _Meaning(TypedDict, total=False):
    """The keywords that change what a metric means."""

    undefined: Undefined | None
    convention: Convention | None


class _Order(TypedDict, total=False):
    """The keywords that change the order of items."""

    nan: NaNPolicy
    ties: Ties | None


class _Threads(TypedDict, total=False):
    n_threads: int | None


class _Progress(TypedDict, total=False):
    progress: Progress


class _OfItems(TypedDict, total=False):
    popularity: ItemValues | None
    features: Matrix | None
    similarity: Matrix | None
    genres: Matrix | None


class Side(_OfItems, total=False):
    """Side information."""

    profile: Matrix | None


class SideTables(TypedDict, total=False):
    """Side information as tables."""

    propensity: SideTable | None
    popularity: SideTable | None
    features: SideTable | None
    similarity: SideTable | None
    genres: SideTable | None
    profile: SideTable | None


class Shared(_Sets, _Relevant, _Meaning, _Order, _Threads, _Progress, Side, total=False):
    """The keywords of ``Metrics.compute``."""


class ForHits(Shared, total=False):
    """The keywords of the methods of metrics that read hits."""

    of: str | None


class ForBatches(_Sets, _Relevant, _Meaning, _Order, _Threads, Side, total=False):
    """The keywords of functions that take users in batches."""


class ForStreams(_Relevant, _Meaning, _Order, _Threads, _OfItems, total=False):
    """The keywords of functions whose batches bring their own users."""


class ForRankings(_Relevant, _Meaning, _Threads, _Progress, Side, total=False):
    """The keywords of functions that read rankings: without ties, NaN and other candidates."""


class ForRanks(_Sets, _Threads, _Progress, total=False):
    """The keywords of functions that find ranks but compute no metric."""

    nan: NaNPolicy
    ties: TiePolicy | None


class ForGroups(_Meaning, _Order, _Threads, total=False):
    """The keywords of functions that read groups, whose items have no names."""


class ForLists(_Sets, _Threads, _Progress, total=False):
    """The keywords of functions that read the lists of two models and no truth."""

    nan: NaNPolicy


class ForRankedLists(_Threads, _Progress, total=False):
    """The keywords of functions that read the rankings of two models and no truth."""


class NoShared(TypedDict):
    """The keywords of functions that spell all of theirs out."""


class ForTruth(_Sets, _Relevant, _Meaning, total=False):
    """The keywords of functions that read no scores."""


_NAMES = tuple(typing.get_type_hints(Shared))


def shared_of(arguments: Mapping[str, Any]) -> Shared:
    """Collect the shared keywords from the ``locals()`` of a function that spells them out."""
    return typing.cast(Shared, {name: arguments[name] for name in _NAMES if name in arguments})


def spelled_out(
    function: Callable[..., Any], keywords: Any, **defaults: object
) -> inspect.Signature:
    """Give the signature of a function with ``keywords`` in place of its ``**`` parameter.

    ``keywords`` is one of the dictionaries of this file. The default of each is None, except for
    ``nan`` and those in ``defaults``.
    """
    defaults = {"nan": "raise", **defaults}
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    annotations = keywords.__annotations__
    order = [name for name in dict.fromkeys((*_NAMES, *annotations)) if name in annotations]
    for name in order:
        if name not in signature.parameters:
            parameter = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=annotations[name].__forward_arg__,
            )
            parameters.append(parameter)
    return signature.replace(parameters=parameters)


def takes(keywords: Any, **defaults: object) -> Callable[[F], F]:
    """Show the shared keywords of a function in ``help()``, and refuse any other keyword.

    ``keywords`` is one of the dictionaries of this file; a function may spell some of them out
    itself. ``defaults`` are passed on for keywords that the caller does not give. ``torch.compile``
    leaves the function out of its graphs: it cannot trace kernels, nor how arrays are read.
    """

    def spell(function: F) -> F:
        public = spelled_out(function, keywords, **defaults)

        n_positional = sum(
            parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            for parameter in public.parameters.values()
        )
        outside_graphs: Any = function

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in public.parameters:
                    msg = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
                    raise TypeError(msg + _hint_for(name, public, args, kwargs))
            if len(args) > n_positional:
                _refuse_positional(function.__qualname__, public, args[n_positional])
            nonlocal outside_graphs
            disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
            if disable is not None and outside_graphs is function:
                outside_graphs = disable(function)
            return outside_graphs(*args, **{**defaults, **kwargs})

        checked.__signature__ = public  # type: ignore[attr-defined]  # inspect reads it
        return typing.cast(F, checked)

    return spell


def _hint_for(
    name: str, public: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str:
    """Write what a keyword may mean that a function does not have; or "".

    ``args`` and ``kwargs`` are those of the call.
    """
    if name == "k" and "metrics_list" in public.parameters:
        arguments = public.bind_partial(*args).arguments | kwargs
        return _with_cutoff(arguments.get("metrics_list"), kwargs["k"])
    if (
        name in ("group", "groups", "group_id", "qid")
        and {"ids", "sizes"} <= public.parameters.keys()
    ):
        return "; type ids= for the group of each row, or sizes= for the number of rows of each"
    if name in ("weights", "sample_weight") and "metrics_list" in public.parameters:
        return (
            "; values have no weights, but means do, one for each user or group: type "
            f"recmetrics.summary(values, weights={name})"
        )
    if name == "exclude" and {"ranking", "ground_truth"} <= public.parameters.keys():
        return (
            "; leave excluded items out of the lists, or, if each user has a list of items in all "
            "three, type tables.evaluate_table(dict(enumerate(ranking)), dict(enumerate(truth)), "
            "metrics, exclude=dict(enumerate(exclude)))"
        )
    if name in ("by", "weights") and {"user_factors", "truth"} <= public.parameters.keys():
        return f"; type stream.update((user_factors, item_factors), truth, {name}={name})"
    near = did_you_mean(name, public.parameters).replace("'?", "='?")
    return near and f"; {near}"


def _refuse_positional(name: str, public: inspect.Signature, value: object) -> None:
    """Refuse text in place of a keyword, and name the first keyword that takes text.

    Python's own error refuses any other ``value``.
    """
    if not isinstance(value, str):
        return
    for parameter in public.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.annotation == "str":
            text = f"{parameter.name}={value!r}"
            msg = f"{name}() takes {parameter.name} as a keyword only; type {text}"
            raise TypeError(msg)


def _with_cutoff(metrics: Any, k: object) -> str:
    """Write the hint for ``k=``, with the first of ``metrics``: its string has the cutoff."""
    if isinstance(metrics, list | tuple) and metrics:
        metrics = metrics[0]
    name = "ndcg"
    if isinstance(metrics, str):
        name = metrics.partition("@")[0]
    return f"; a metric string has its own cutoff: type '{name}@{k}'"


def one_of(name: str, value: object, literal: Any, hint: str = "") -> None:
    """Refuse a value of the argument ``name`` that is none of the choices of a ``Literal``."""
    choices = typing.get_args(literal)
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(map(repr, choices[:-1]))
        msg = f"{name} must be {expected} or {choices[-1]!r}, got {value!r}{hint}"
        raise ArgumentError(msg, argument=name)


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is not a bool: text such as "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False, got {value!r}"
        raise ArgumentError(msg, argument=name)


def check_progress(progress: object) -> None:
    """Refuse a value that is neither a bool, a callable nor None."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        msg = f"progress must be True, False or a callable of (rows done, rows), got {progress!r}"
        raise ArgumentError(msg, argument="progress")


def whole_number(value: Any) -> int | None:
    """Convert ``value`` to an int; None where it is not an integer.

    True is not accepted: a flag in place of a number is a mistake.
    """
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def check_count(name: str, value: object, least: int, hint: str = "", *, label: str = "") -> int:
    """Read an integer that is at least ``least``; messages say ``label`` instead of the name."""
    number = whole_number(value)
    if number is None or number < least:
        msg = f"{label or name} must be an integer >= {least}, got {value!r}{hint}"
        raise ArgumentError(msg, argument=name)
    return number


def check_share(name: str, share: Any, least: float) -> float:
    """Refuse a share outside its range; it may equal ``least`` unless that is 0."""
    is_number = isinstance(share, float | np.floating)
    if not is_number or not least <= share < 1 or not share:
        bounds = f"from {least:g} to below 1" if least else "above 0 and below 1"
        msg = f"{name} must be a number {bounds}, such as 0.95, got {share!r}"
        raise ArgumentError(msg, argument=name)
    return float(share)


def thread_count(n_threads: int | None) -> int:
    """Count the threads that a call may use: the argument, else the environment, else the cores."""
    value: Any = n_threads
    label = "n_threads"
    advice = "leave it out"
    if n_threads is None:
        value = os.environ.get("RECMETRICS_NUM_THREADS", "").strip()
        if not value:
            affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
            if affinity is None:
                return os.cpu_count() or 1
            return len(affinity(0))
        label = "the environment variable RECMETRICS_NUM_THREADS"
        advice = "unset it"
        if value.isdecimal() and len(value) <= 18:  # int() refuses thousands of digits
            value = int(value)
    return check_count("n_threads", value, 1, f"; {advice} to use all cores", label=label)
