"""Every exception of the package, its category of warnings, and what installs an extra."""

import difflib
import re
import sys
import threading
import warnings
from collections import abc
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

# The frames between a warning and the caller: the package, and what keeps ``torch.compile`` out.
_INNER_MODULES = re.compile(rf"{__name__.partition('.')[0]}(\.|$)|torch\._dynamo\.")


class RecmetricsError(Exception):
    """Base class of all errors of this package.

    ``argument`` is the name of the argument at fault, as in the message: such as "exclude", "truth"
    or "strata['tail']". It is None where no single argument is at fault.
    """

    def __init__(self, *args: object, argument: str | None = None) -> None:
        super().__init__(*args)
        self.argument = argument


class MetricSpecError(RecmetricsError, ValueError):
    """A metric string that cannot be read."""


class UnknownMetricError(MetricSpecError):
    """A metric name that is not in the registry."""


class UnknownOptionError(MetricSpecError):
    """An option, or a value of an option, that the metric does not have."""


class ArgumentError(RecmetricsError, ValueError):
    """A keyword argument with an invalid value, or a missing one that a metric needs."""


class InputError(RecmetricsError, ValueError):
    """Invalid values in scores, truth, rankings or other inputs."""


class ShapeError(InputError):
    """Inputs whose shapes do not match."""


class NaNScoreError(InputError):
    """NaN among the scores."""


class InputTypeError(RecmetricsError, TypeError):
    """An input that is not a matrix of real numbers."""


class UndefinedMetricError(RecmetricsError, ValueError):
    """A user whose metric is undefined, under ``undefined="raise"``."""


class DeviceMemoryError(RecmetricsError, RuntimeError):
    """The GPU that holds the scores has no memory left."""


class RecmetricsWarning(UserWarning):
    """Results that may be misleading; ``argument`` is as in ``RecmetricsError``."""

    def __init__(self, *args: object, argument: str | None = None) -> None:
        super().__init__(*args)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class at_fault(AbstractContextManager[None]):  # noqa: N801  # used as a statement
    """Set ``error.argument`` to ``argument`` in each error of the block that names none.

    ``blame`` does so in an ``except`` clause, without a call where nothing fails.
    """

    argument: str

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, RecmetricsError):
            blame(error, self.argument)


def blame(error: RecmetricsError, argument: str) -> None:
    """Set ``error.argument``, the argument at fault, unless the error names one already."""
    if error.argument is None:
        error.argument = argument


def did_you_mean(name: str, names: abc.Iterable[str], ending: str = "") -> str:
    """Write the hint for a misspelt name; "" if none of the names is near.

    ``ending`` is what stands behind the name, such as "@10".
    """
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"did you mean {near[0] + ending!r}?" if near else ""


def looks_like(column: str, name: str) -> bool:
    """Say whether a column may be the one that goes by ``name`` here."""
    synonyms = {
        "user": "user uid member customer query",
        "item": "item iid movie product article track corpus doc document",
        "score": "score scores prediction predictions predicted pred est",
        "rank": "rank ranks ranking position pos place",
    }
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower())
    return any(word in synonyms.get(name, name).split() for word in words)


class _Here(threading.local):
    """The warnings that are collected in this thread."""

    collected: list[RecmetricsWarning] | None = None  # None where they are given


_here = _Here()


@contextmanager
def collecting_warnings() -> abc.Iterator[list[RecmetricsWarning]]:
    """Yield a list that takes what ``warn`` would warn of in this thread, within the block.

    ``warnings.catch_warnings`` would change the filters of the process: if two threads are in it at
    once, those of the first stay in force for good.
    """
    before = _here.collected
    collected: list[RecmetricsWarning] = []
    _here.collected = collected
    try:
        yield collected
    finally:
        _here.collected = before


def warn(
    message: str,
    category: type[RecmetricsWarning] = RecmetricsWarning,
    *,
    argument: str | None = None,
) -> None:
    """Warn with the location of the caller's line, outside the package."""
    warning = category(message, argument=argument)
    if _here.collected is not None:
        _here.collected.append(warning)
        return
    # The level of the first frame that is not of the package, counted from this one.
    frame = sys._getframe()
    level = 1
    while frame.f_back and _INNER_MODULES.match(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)


def warn_once_of_each(
    warnings_of_parts: abc.Iterable[RecmetricsWarning], n_parts: int, part: str
) -> None:
    """Warn once of each kind of warning that parts of the users gave.

    ``part`` is what such a part is called: "block" or "bucket".
    """
    warnings_of_kind: dict[str, list[RecmetricsWarning]] = {}
    for warning in warnings_of_parts:
        beginning = str(warning).partition(":")[0]
        # Parts count their own lists and items; numbers in a metric string are no counts.
        kind = re.sub(r"(?<![@=\w.])[\d.,]+", "", beginning)
        warnings_of_kind.setdefault(kind, []).append(warning)
    for alike in warnings_of_kind.values():
        # Threads end in any order, but the first by its text is the same on every run.
        first = min(alike, key=str)
        where = f" (of one {part}; in {len(alike):,} of {n_parts:,} {part}s of users)"
        warn(str(first) + where, argument=first.argument)


EXTRAS = {
    "cli": ("matplotlib>=3.8", "narwhals>=2.9", "polars>=1.0"),
    "tables": ("narwhals>=2.9",),
    "torchmetrics": ("torchmetrics>=1.4",),
    "dask": ("dask[array]>=2024.12", "distributed>=2024.12"),
}
"""The packages of the extras, as in ``pyproject.toml``."""


def install(extra: str, *names: str) -> str:
    """Write the line that installs an extra, or only the named packages of it.

    It names these, not recmetrics itself, so it works however recmetrics was installed.
    """
    line = "pip install"
    for package in EXTRAS[extra]:
        if not names or package.startswith(names):
            line += f' "{package}"'  # double quotes, which every shell reads
    return line
