"""The keyword arguments that every entry point shares: one record, and its types."""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from recmetrics._errors import ArgumentError
from recmetrics._threads import thread_count

UserValues: TypeAlias = npt.NDArray[np.float64]
"""One value per user, shape (n_users,); of a system metric one for all, shape ()."""


class SupportsArray(Protocol):
    """Anything that hands out a NumPy array."""

    def __array__(self) -> npt.NDArray[Any]: ...


class SupportsDLPack(Protocol):
    """Anything that hands out its memory by DLPack, such as a tensor on the CPU."""

    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class SparseMatrix(Protocol):
    """Any SciPy sparse matrix or array."""

    def tocsr(self) -> Any: ...


Scores: TypeAlias = (
    npt.NDArray[Any] | SupportsArray | SupportsDLPack | Sequence[Sequence[float] | npt.NDArray[Any]]
)
Truth: TypeAlias = (
    npt.NDArray[Any]
    | SupportsArray
    | SupportsDLPack
    | SparseMatrix
    | Sequence[Sequence[float] | npt.NDArray[Any]]
)
"""A matrix users x items, dense or sparse, or one array of item indices per user."""
Candidates: TypeAlias = Truth | Sequence[int]
ItemValues: TypeAlias = npt.NDArray[Any] | SupportsArray | SupportsDLPack | Sequence[float]
"""One number per item, shape (n_items,)."""
Matrix: TypeAlias = Truth
"""A dense or sparse matrix of numbers."""
Undefined: TypeAlias = Literal["nan", "zero", "raise"]
NaNPolicy: TypeAlias = Literal["raise", "exclude"]
Convention: TypeAlias = Literal[
    "rectorch",
    "lenskit",
    "capri",
    "trec",
    "recbole",
    "rectools",
    "ranx",
    "sklearn",
    "torchmetrics",
    "irspack",
]
"""The systems of ``_conventions.py``."""
Ties: TypeAlias = Literal["index", "expected", "worst", "best"]
Progress: TypeAlias = bool | Callable[[int, int], object] | None


_RULES = (
    "undefined",
    "convention",
    "nan",
    "ties",
    "n_threads",
)  # what is no data of users or items


class Shared(TypedDict, total=False):
    """What every ``Metrics.<name>_at_k`` takes beside the options of its metric.

    The static twin of ``CallOptions``.
    """

    exclude: Truth | None
    candidates: Candidates | None
    undefined: Undefined | None
    convention: Convention | None
    nan: NaNPolicy
    ties: Ties
    n_threads: int | None
    progress: Progress
    popularity: ItemValues | None
    features: Matrix | None
    similarity: Matrix | None
    genres: Matrix | None
    profile: Matrix | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """The shared keyword arguments of one call, checked.

    Raises
    ------
    ArgumentError
        If ``undefined``, ``convention``, ``nan``, ``ties``, ``n_threads`` or ``progress`` is none
        of the values expected.
    """

    exclude: Truth | None = None
    candidates: Candidates | None = None
    undefined: Undefined | None = None  # None: as the convention has it, or "nan"
    convention: Convention | None = None
    nan: NaNPolicy = "raise"
    ties: Ties = "index"
    n_threads: int | None = None
    progress: Progress = None
    # Side information: checked in _side.py, and only what a metric of the call needs.
    popularity: ItemValues | None = None
    features: Matrix | None = None
    similarity: Matrix | None = None
    genres: Matrix | None = None
    profile: Matrix | None = None

    def __post_init__(self) -> None:
        if self.undefined is not None:
            _one_of("undefined", self.undefined, Undefined)
        if self.convention is not None:
            _one_of("convention", self.convention, Convention)
        _one_of("nan", self.nan, NaNPolicy)
        _one_of("ties", self.ties, Ties)
        if not (
            self.progress is None or isinstance(self.progress, bool) or callable(self.progress)
        ):
            msg = (
                "progress must be True, False or a callable of (rows done, rows), "
                f"got {self.progress!r}"
            )
            raise ArgumentError(msg)
        thread_count(self.n_threads)

    def without_data(self) -> CallOptions:
        """The same without matrices, for who has prepared them."""
        return CallOptions(**{name: getattr(self, name) for name in _RULES})

    @property
    def threads(self) -> int:
        """How many threads the call may use."""
        return thread_count(self.n_threads)


def _one_of(name: str, value: object, literal: Any) -> None:
    choices = literal.__args__
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices[:-1]) + f" or {choices[-1]!r}"
        msg = f"{name} must be {expected}, got {value!r}"
        raise ArgumentError(msg)


SHARED_PARAMETERS = tuple(
    inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
    for f in fields(CallOptions)
)
