"""Truth, exclude and candidates: sets of items per user, in any form, as sorted lists.

Inside there is one form, ``Rows``: for a block of users the items of each in ascending order, and
their values. Sparse and list inputs are brought into it once per call; a dense matrix is read block
by block, beside the scores, so that no copy of it ever exists.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._errors import InputError, InputTypeError, ShapeError
from recmetrics._inputs import as_array, check_matrix, is_real, read_only
from recmetrics._jit import kernel
from recmetrics._topk import FloatArray, IntArray


class Rows(NamedTuple):
    """The items of some users: user u has ``items[start[u]:start[u + 1]]``, ascending."""

    start: IntArray
    items: IntArray
    values: FloatArray

    def cut(self, rows: slice) -> "Rows":
        """The same for some of the users."""
        start = self.start[rows.start : rows.stop + 1]
        own = slice(start[0], start[-1])
        return Rows(start - start[0], self.items[own], self.values[own])

    def users(self) -> IntArray:
        """The user of each item."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def keep(self, chosen: npt.NDArray[np.bool_]) -> "Rows":
        """The same without the items that are not chosen."""
        kept = np.concatenate(([0], np.cumsum(chosen)))
        return Rows(kept[self.start], self.items[chosen], self.values[chosen])


class ItemSets(ABC):
    """Sets of items per user, read by row blocks."""

    is_dense = False

    def __init__(self, n_users: int, n_items: int | None, mean_items: float) -> None:
        self.n_users = n_users
        self.n_items = n_items
        self.mean_items = mean_items  # per user; an estimate that sizes the row blocks

    @abstractmethod
    def rows(self, block: slice) -> Rows:
        """The sets of a block of users."""


class SparseSets(ItemSets):
    """Sets that were sparse or lists: in the internal form from the start."""

    def __init__(self, rows: Rows, n_items: int | None) -> None:
        n_users = len(rows.start) - 1
        super().__init__(n_users, n_items, len(rows.items) / max(1, n_users))
        self._rows = rows

    def rows(self, block: slice) -> Rows:
        return self._rows.cut(block)


class DenseSets(ItemSets):
    """Sets that are a dense matrix: what is not 0 is in the set."""

    is_dense = True

    def __init__(self, matrix: npt.NDArray[Any], what: str) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], matrix.shape[1])
        self._matrix, self._what = matrix, what

    def rows(self, block: slice) -> Rows:
        part = self._matrix[block]
        if part.dtype == np.bool_:
            part = part.view(np.uint8)
        if (part.dtype.kind == "f" and part.dtype.itemsize < 4) or part.dtype.kind not in "iuf":
            part = part.astype(np.float32)  # half precision, which the kernel cannot compare
        part = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("="))
        start, items, values = _nonzero(read_only(part))
        return _checked_values(Rows(start, items, values), self._what, block.start)


class SharedSet(ItemSets):
    """One set for all users."""

    def __init__(self, items: IntArray, n_users: int, n_items: int | None) -> None:
        super().__init__(n_users, n_items, len(items))
        self._items = items

    def rows(self, block: slice) -> Rows:
        n_users = block.stop - block.start
        items = np.tile(self._items, n_users)
        return Rows(np.arange(n_users + 1) * len(self._items), items, np.ones(len(items)))


@kernel
def _nonzero(matrix: npt.NDArray[Any]) -> tuple[IntArray, IntArray, FloatArray]:
    """The non-zero entries of each row: one vectorised pass that counts, one that collects."""
    n_users, n_items = matrix.shape
    start = np.zeros(n_users + 1, np.int64)
    for user in range(n_users):
        row = matrix[user]
        count = 0
        for b in range(n_items // 64):
            block = row[b * 64 : (b + 1) * 64]
            found: Any = np.int32(0)
            for i in range(64):
                found = np.int32(found + np.int32(block[i] != 0))
            count += found
        for i in range(n_items // 64 * 64, n_items):
            count += row[i] != 0
        start[user + 1] = start[user] + count
    items = np.empty(start[-1], np.int64)
    values = np.empty(start[-1], np.float64)
    slot = 0
    for user in range(n_users):
        row = matrix[user]
        for first in range(0, n_items, 64):
            block = row[first : min(first + 64, n_items)]
            if block.size == 64:
                found = np.int32(0)
                for i in range(64):
                    found = np.int32(found + np.int32(block[i] != 0))
                if found == 0:
                    continue
            for i in range(block.size):
                if block[i] != 0:
                    items[slot] = first + i
                    values[slot] = block[i]
                    slot += 1
    return start, items, values


def read_truth(truth: Any, shape: tuple[int, int | None]) -> ItemSets:
    """Ground truth as item sets whose values are relevances > 0."""
    return _read(truth, "truth", shape, repeats="refuse")


def read_exclude(exclude: Any, shape: tuple[int, int]) -> ItemSets | None:
    """Items not to recommend to a user; what is not 0 is excluded, whatever its value."""
    return None if exclude is None else _read(exclude, "exclude", shape, repeats="merge")


def read_candidates(candidates: Any, shape: tuple[int, int]) -> ItemSets | None:
    """The only items to recommend: a set per user, or one array of indices for all."""
    if candidates is None:
        return None
    if not sp.issparse(candidates) and not _is_list_of_lists(candidates):
        array = as_array(candidates, "candidates")
        if array.ndim == 1:
            return _shared(array, shape)
    return _read(candidates, "candidates", shape, repeats="refuse")


def _shared(array: npt.NDArray[Any], shape: tuple[int, int]) -> ItemSets:
    n_users, n_items = shape
    if array.dtype == np.bool_:
        if len(array) != n_items:
            msg = f"candidates as one mask must have n_items = {n_items} entries, got {len(array)}"
            raise ShapeError(msg)
        return SharedSet(np.flatnonzero(array), n_users, n_items)
    one = _from_lists([array], "candidates", n_items, repeats="refuse", owner="candidates")
    return SharedSet(one.items, n_users, n_items)


def _is_list_of_lists(value: Any) -> bool:
    """A Python sequence of one collection per user (an empty one: of no user)."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and (all(np.ndim(entry) >= 1 or isinstance(entry, Set) for entry in value))
    )


def _read(value: Any, what: str, shape: tuple[int, int | None], *, repeats: str) -> ItemSets:
    """Any form of ``what``; ``shape`` is that of the scores, its n_items None where unknown."""
    n_users, n_items = shape
    if sp.issparse(value):
        csr: Any = sp.csr_array(value)  # type: ignore[call-overload]  # of any sparse kind
        _check_shape(csr.shape, shape, what)
        return SparseSets(_from_sparse(csr, what), csr.shape[1])
    if _is_list_of_lists(value) and not _is_nested_matrix(value, n_items):
        if len(value) != n_users:
            msg = (
                f"{what} is a list of item indices for {len(value)} users, expected one entry for "
                f"each of the {n_users} users of the scores"
            )
            raise ShapeError(msg)
        return SparseSets(_from_lists(value, what, n_items, repeats=repeats), n_items)
    array = as_array(value, what)
    check_matrix(array, what)
    _check_shape(array.shape, shape, what)
    return DenseSets(array, what)


def _is_nested_matrix(value: Sequence[Any], n_items: int | None) -> bool:
    """Plain nested lists that are a matrix, as in ``[[0, 1, 1]]``: one number for each item.

    A NumPy array or a set as an entry holds indices, unless it holds floats, which no index is.
    """
    if not value:
        return False
    lengths = {len(entry) for entry in value}
    if all(isinstance(entry, list | tuple) for entry in value):
        numbers = {type(number) for entry in value for number in entry}
        return lengths == {n_items} or bool(numbers & {float, bool})
    return all(getattr(entry, "dtype", None) in (np.float32, np.float64) for entry in value) and (
        lengths == {n_items}
    )


def _check_shape(got: tuple[int, ...], expected: tuple[int, int | None], what: str) -> None:
    if len(got) == 2 and got[0] == expected[0] and expected[1] in (None, got[1]):
        return
    hint = ""
    if got == expected[::-1]:
        hint = f"; it looks transposed: type {what}.T"
    shown = "(n_users, n_items)" if expected[1] is None else f"{expected}"
    other = "the ranking" if expected[1] is None else "the scores"
    if expected[1] is None:
        shown = f"({expected[0]}, n_items)"
    msg = f"{what} must have the users and items of {other}, {shown}, got {got}{hint}"
    raise ShapeError(msg)


def _from_sparse(csr: Any, what: str) -> Rows:
    """CSR with sorted, unique, non-zero entries; the caller's arrays are only read."""
    if not is_real(csr.dtype):
        msg = f"{what} must hold real numbers, got a sparse matrix of dtype {csr.dtype}"
        raise InputTypeError(msg)
    values = csr.data.astype(np.float64, copy=False)
    # A new object over the same arrays: finding out whether they are sorted sets flags on it.
    own = sp.csr_array((values, csr.indices, csr.indptr), shape=csr.shape, copy=False)
    if own.nnz and not (own.indices.min() >= 0 and own.indices.max() < csr.shape[1]):
        msg = (
            f"{what} is a corrupt sparse matrix: expected item indices 0 .. {csr.shape[1] - 1}, "
            f"got {own.indices.min()} .. {own.indices.max()}"
        )
        raise InputError(msg)
    if not own.has_canonical_format:
        own = own.copy()
        own.sum_duplicates()
    rows = Rows(own.indptr.astype(np.int64), own.indices.astype(np.int64, copy=False), own.data)
    return _checked_values(rows, what)


def _checked_values(rows: Rows, what: str, first_user: int = 0) -> Rows:
    """Without explicit zeros; NaN is refused, and for truth what is negative or infinite."""
    values = rows.values
    bad = np.isnan(values)
    if what == "truth":
        bad |= (values < 0.0) | np.isinf(values)
    if bad.any():
        entry = int(np.flatnonzero(bad)[0])
        user, item = first_user + int(rows.users()[entry]), int(rows.items[entry])
        expected = "finite relevances >= 0" if what == "truth" else "numbers (0: not in the set)"
        msg = f"{what} must hold {expected}, got {values[entry]:g} at (user {user}, item {item})"
        raise InputError(msg)
    return rows if np.all(values) else rows.keep(values != 0.0)


def _from_lists(
    lists: Iterable[Any], what: str, n_items: int | None, *, repeats: str, owner: str = ""
) -> Rows:
    """Item indices per user, sorted; a repeated index is refused or merged."""
    arrays = [_indices(items, owner or f"{what} of user {u}") for u, items in enumerate(lists)]
    lengths = [len(array) for array in arrays]
    users = np.repeat(np.arange(len(arrays)), lengths)
    items = np.concatenate([np.empty(0, np.int64), *arrays])
    limit = np.iinfo(np.int64).max if n_items is None else n_items
    outside = (items < 0) | (items >= limit)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        place = owner or f"{what} of user {users[first]}"
        expected = "must not be negative" if n_items is None else f"expected 0 .. {n_items - 1}"
        msg = f"{place} names item {items[first]}, which is outside the catalogue; {expected}"
        raise InputError(msg)
    order = np.lexsort((items, users))
    users, items = users[order], items[order]
    repeated = np.zeros(len(items), bool)
    repeated[1:] = (users[1:] == users[:-1]) & (items[1:] == items[:-1])
    if repeated.any() and repeats == "refuse":
        first = int(np.flatnonzero(repeated)[0])
        place = owner or f"{what} of user {users[first]}"
        msg = (
            f"{place} names item {items[first]} twice; expected each item index once "
            f"(a matrix of relevances would need one entry for each of the items)"
        )
        raise InputError(msg)
    start = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    rows = Rows(start, items, np.ones(len(items)))
    return rows.keep(~repeated) if repeated.any() else rows


def _indices(items: Any, place: str) -> IntArray:
    array = as_array(sorted(items) if isinstance(items, Set) else items, place)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        msg = (
            f"{place} must be a 1-d array of integer item indices, "
            f"got {array.ndim}-d of dtype {array.dtype}"
        )
        raise InputTypeError(msg)
    return array.astype(np.int64)
