"""Side information about items and users: what the metrics beyond accuracy need beside the lists.

It is checked once per call, not per metric, and only what a metric of the call needs is looked at.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._errors import ArgumentError, InputError, InputTypeError, ShapeError
from recmetrics._inputs import as_array, as_kernel_array, half_to_single, is_half, is_real
from recmetrics._itemsets import Chosen, ItemSets, Rows, SparseSets, read_numbers, read_train
from recmetrics._options import CallOptions, Truth
from recmetrics._spec import MetricSpec
from recmetrics._topk import FloatArray


class _About(NamedTuple):
    """What an argument holds, and how to make it."""

    meaning: str
    make: str


_ARGUMENTS = {
    "popularity": _About(
        "the share of users who have each item, (n_items,)",
        "popularity=recmetrics.popularity_from(train)",
    ),
    "features": _About(
        "a vector for each item, (n_items, d)",
        "features=train.T to compare items by the users who have them",
    ),
    "similarity": _About("of every two items, (n_items, n_items)", ""),
    "genres": _About(
        "1 where an item has the genre, (n_items, g)",
        "genres=item_genres, such as pandas.get_dummies of one genre per item",
    ),
    "profile": _About(
        "the genres of each user, (n_users, g), or the training matrix, (n_users, n_items)",
        "profile=train",
    ),
}
_BLOCK = 1 << 20  # entries of a dense training matrix read at once


_NO_VALUES = np.empty(0)
_NO_ROWS = Rows(np.zeros(1, np.int64), np.empty(0, np.int64), _NO_VALUES)


@dataclass(frozen=True, kw_only=True)
class Side:
    """The side information of one call, checked; empty or None where no metric needs it."""

    n_items: int | None = None  # as the side information has it
    popularity: FloatArray = field(default_factory=lambda: _NO_VALUES)
    features: npt.NDArray[Any] | Rows | None = None  # dense, or the entries of each item
    n_features: int = 0
    similarity: npt.NDArray[Any] | Rows | None = None
    genres: Rows = _NO_ROWS
    n_genres: int = 0
    profile: ItemSets = field(default_factory=lambda: SparseSets(_NO_ROWS, 0))
    profile_of_items: bool = False  # weights of items that have genres, not of genres
    _made: dict[object, Any] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def take(self, users: Chosen) -> "Side":
        """The same for some of the users, in their order."""
        return replace(self, profile=self.profile.take(users))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_made", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _made={}, _lock=threading.Lock())

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, made once for all row blocks of the call."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]


def require_side(specs: Mapping[str, MetricSpec], options: CallOptions) -> None:
    """Refuse a metric whose side information is missing, before any work.

    Raises
    ------
    ArgumentError
        If it is missing, or given in two ways; the message says how to make it.
    """
    for text, spec in specs.items():
        for group in spec.metric.needs:
            given = [name for name in group if getattr(options, name) is not None]
            if len(given) > 1:
                msg = (
                    f"{text} takes {' or '.join(f'{name}=' for name in group)}, got both; "
                    "give one of them"
                )
                raise ArgumentError(msg)
            if not given:
                kinds = (f"{name}= ({_ARGUMENTS[name].meaning})" for name in group)
                msg = (
                    f"{text} needs {' or '.join(kinds)}, got none; type {_ARGUMENTS[group[0]].make}"
                )
                raise ArgumentError(msg)


def read_side(
    specs: Iterable[MetricSpec], options: CallOptions, n_users: int, n_items: int | None
) -> Side:
    """The side information that ``specs`` need, checked.

    ``n_items`` is None where the truth does not tell; then the side information does.
    """
    needed = {name for spec in specs for group in spec.metric.needs for name in group}
    if not needed:
        return Side(n_items=n_items)
    given = {name: getattr(options, name) for name in _ARGUMENTS if name in needed}
    found: dict[str, Any] = {}
    sizes: list[int] = [] if n_items is None else [n_items]

    def catalogue(length: int, what: str, shape: tuple[int, ...], expected: str) -> None:
        """The first to tell the size of the catalogue holds for all."""
        if not sizes:
            sizes.append(length)
        if length != sizes[0]:
            hint = f"; it looks transposed: type {what}.T" if shape[1:] == (sizes[0],) else ""
            msg = f"{what} must be of shape {expected} with n_items = {sizes[0]}, got {shape}{hint}"
            raise ShapeError(msg)

    if given.get("popularity") is not None:
        popularity = _read_popularity(given["popularity"])
        catalogue(len(popularity), "popularity", popularity.shape, "(n_items,)")
        found["popularity"] = popularity
    if given.get("features") is not None:
        found["features"], shape = _read_items(given["features"], "features")
        catalogue(shape[0], "features", shape, "(n_items, d)")
        found["n_features"] = shape[1]
    if given.get("similarity") is not None:
        found["similarity"], shape = _read_items(given["similarity"], "similarity")
        if shape[0] != shape[1]:
            msg = f"similarity must be square, (n_items, n_items), got {shape}"
            raise ShapeError(msg)
        catalogue(shape[0], "similarity", shape, "(n_items, n_items)")
    if given.get("genres") is not None:
        genres = _read_matrix(given["genres"], "genres")
        catalogue(genres.shape[0], "genres", genres.shape, "(n_items, g)")
        found["genres"] = read_numbers(genres, "genres").rows(slice(0, genres.shape[0]))
        found["n_genres"] = genres.shape[1]
    if given.get("profile") is not None:
        n_genres = found["n_genres"]
        profile = _read_profile(given["profile"], n_users, sizes[0], n_genres)
        found["profile"], found["profile_of_items"] = profile, profile.n_items != n_genres
    return Side(n_items=sizes[0] if sizes else None, **found)


def _read_popularity(value: Any) -> FloatArray:
    popularity = _real(as_array(value, "popularity"), "popularity")
    if popularity.ndim != 1:
        msg = f"popularity must be 1-d (n_items,), got shape {popularity.shape}; type .ravel()"
        raise ShapeError(msg)
    popularity = popularity.astype(np.float64)
    wrong = ~((popularity >= 0.0) & (popularity <= 1.0))  # NaN is wrong, too
    if wrong.any():
        item = int(np.flatnonzero(wrong)[0])
        msg = (
            f"popularity must be the share of users who have the item, 0 to 1, got "
            f"{popularity[item]:g} for item {item}; for counts type counts / n_users, for a "
            "training matrix recmetrics.popularity_from(train)"
        )
        raise InputError(msg)
    return popularity


def _real(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    if not is_real(array.dtype):
        msg = (
            f"{what} must hold real numbers, got dtype {array.dtype}; "
            f"type np.asarray({what}, np.float64)"
        )
        raise InputTypeError(msg)
    return half_to_single(array) if is_half(array.dtype) else array


def _read_matrix(value: Any, what: str) -> Any:
    """A sparse matrix as it is, or a dense one as an array of two dimensions."""
    matrix: Any = value if sp.issparse(value) else _real(as_array(value, what), what)
    if matrix.ndim != 2:
        msg = f"{what} must be 2-d, got {matrix.ndim}-d of shape {matrix.shape}"
        raise ShapeError(msg)
    return matrix


def _read_items(value: Any, what: str) -> tuple[npt.NDArray[Any] | Rows, tuple[int, int]]:
    """A matrix with one row per item, as the kernels read it: dense, or its entries."""
    matrix = _read_matrix(value, what)
    shape = matrix.shape
    if sp.issparse(matrix):
        return read_numbers(matrix, what).rows(slice(0, shape[0])), shape
    # Each dtype is a compilation: float32 is read as it is, anything else as float64.
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    array = as_kernel_array(np.ascontiguousarray(matrix, dtype))
    finite = np.isfinite(array)
    if not finite.all():
        item, column = (int(place[0]) for place in np.nonzero(~finite))
        msg = (
            f"{what} must hold finite numbers, got {array[item, column]:g} "
            f"at (item {item}, column {column})"
        )
        raise InputError(msg)
    return array, shape


def _read_profile(value: Any, n_users: int, n_items: int, n_genres: int) -> ItemSets:
    """The shape tells which of both it is; where both fit, it holds genres."""
    matrix = _read_matrix(value, "profile")
    if matrix.shape not in ((n_users, n_genres), (n_users, n_items)):
        msg = (
            "profile must hold the genres of each user, (n_users, g) = "
            f"{(n_users, n_genres)}, or be the training matrix, (n_users, n_items) = "
            f"{(n_users, n_items)}, got {matrix.shape}"
        )
        raise ShapeError(msg)
    return read_numbers(matrix, "profile")


def popularity_from(train: Truth, n_items: int | None = None) -> FloatArray:
    """The share of users who have each item, as ``popularity=`` takes it.

    >>> import recmetrics
    >>> recmetrics.popularity_from([[1, 0, 1], [1, 0, 0]])
    array([1. , 0. , 0.5])

    Parameters
    ----------
    train
        The training interactions (n_users, n_items), in any form that truth takes: an item counts
        for a user where the entry is not 0 (a stored zero of a sparse matrix is 0), whatever its
        value. All users count, those without items too.
    n_items
        The size of the catalogue, where ``train`` is a list with one array of item indices per
        user, which does not tell it.

    Returns
    -------
    numpy.ndarray
        (n_items,) float64 in 0 .. 1.

    Raises
    ------
    ArgumentError
        If the size of the catalogue is not known.
    InputError, InputTypeError
        If ``train`` cannot be read.
    """
    sets = read_train(train, n_items)
    if sets.n_items is None:
        msg = "popularity_from needs n_items= where train lists item indices, got none"
        raise ArgumentError(msg)
    counts = np.zeros(sets.n_items, np.int64)
    rows = max(1, _BLOCK // max(1, sets.n_items)) if sets.is_dense else max(1, sets.n_users)
    for first in range(0, sets.n_users, rows):
        block = slice(first, min(first + rows, sets.n_users))
        counts += np.bincount(sets.rows(block).items, minlength=sets.n_items)
    return counts / max(1, sets.n_users)
