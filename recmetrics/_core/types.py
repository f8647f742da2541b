"""The types of public arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

UserValues: TypeAlias = npt.NDArray[np.float64]
"""One value per user, shape (n_users,); for a metric of all lists one value, shape ()."""


class SupportsArray(Protocol):
    """An object that converts to a NumPy array."""

    def __array__(self) -> npt.NDArray[Any]: ...


class SupportsDLPack(Protocol):
    """An object that exports its memory by DLPack, such as a tensor on the CPU."""

    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class SupportsIndices(Protocol):
    """An object that converts to a NumPy array of integers, such as a tensor or a Series."""

    def __array__(self) -> npt.NDArray[np.integer[Any]]: ...


class SparseMatrix(Protocol):
    """A SciPy sparse matrix or array."""

    def tocsr(self) -> Any: ...


Scores: TypeAlias = (
    npt.NDArray[Any]
    | SupportsArray
    | SupportsDLPack
    | SparseMatrix
    | Sequence[Sequence[float] | npt.NDArray[Any] | SupportsArray | SupportsDLPack]
)
"""A matrix users x items of predicted scores."""
Ranking: TypeAlias = Scores
"""Item indices of each user, best first: a matrix, or one array per user."""
Truth: TypeAlias = Scores | Sequence[Set[int]] | Sequence[int]
"""A users x items matrix, one array or set of item indices per user, or one index per user."""
Candidates: TypeAlias = Truth | Set[int]
"""Items of each user in any form that truth takes, or item indices for all users."""
WhichUsers: TypeAlias = slice | SupportsIndices | Sequence[int]
"""The users of a batch: indices or a slice."""
ItemValues: TypeAlias = npt.NDArray[Any] | SupportsArray | SupportsDLPack | Sequence[float]
"""One number per item, shape (n_items,)."""
Matrix: TypeAlias = Scores
"""A dense or sparse matrix of numbers."""
Factors: TypeAlias = tuple[Scores, Scores] | tuple[Scores, Scores, ItemValues]
"""A factor model: user factors, item factors and, optionally, a bias for each item."""
Undefined: TypeAlias = Literal["nan", "zero", "one", "raise"]
"""The value of a user for whom a metric is undefined, or an error."""
NaNPolicy: TypeAlias = Literal["raise", "exclude"]
"""What becomes of NaN among the scores."""
Strata: TypeAlias = Mapping[str, Candidates]
"""Sets of items by name, each for all users or for each user."""
Invalid: TypeAlias = Literal["raise", "waste", "drop"]
"""How to treat a repeated item of a list, or an item that does not exist."""
Convention: TypeAlias = Literal[
    "rectorch",
    "lenskit",
    "lenskit-0.14",
    "capri",
    "trec",
    "recbole",
    "rectools",
    "ranx",
    "sklearn",
    "torchmetrics",
    "irspack",
    "lightgbm",
    "xgboost",
    "torch_geometric",
    "sentence_transformers",
    "replay",
    "elliot",
    "warprec",
    "spark",
    "recpack",
    "implicit",
    "cornac",
    "recommenders",
    "recometrics",
    "rax",
    "elasticsearch",
    "ignite",
]
"""The systems that ``convention=`` knows, those of ``spec/systems.txt``."""
TiePolicy: TypeAlias = Literal["index", "expected", "worst", "best"]
"""How equal scores rank; each gives a metric one value."""
Ties: TypeAlias = Literal["index", "expected", "worst", "best", "range"]
"""A tie policy, or "range" for three of them: a request has a definition for each."""
RankGaps: TypeAlias = Literal["close", "keep"]
"""How ranks with gaps are read: closed to 1, 2, 3, ..., or kept as they are."""
Progress: TypeAlias = bool | Callable[[int, int], object] | None
"""True for a progress bar, or a callable of (rows done, rows)."""
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
