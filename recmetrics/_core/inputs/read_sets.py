"""Truth, exclude and candidates in any form -> the internal form, or an exact error."""

from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import ArgumentError, InputError, InputTypeError, ShapeError, at_fault
from recmetrics._core.inputs.arrays import (
    OF_TABLES,
    as_array,
    check_matrix,
    half_to_single,
    in_order,
    is_real,
    one_behind_another,
    per_user,
    users_of_entries,
)
from recmetrics._core.inputs.sets import DenseSets, ItemSets, Rows, SharedSet, SparseSets
from recmetrics._core.inputs.sparse import is_canonical, rows_of_sparse
from recmetrics._core.options import whole_number
from recmetrics._core.types import IntArray

_MOST_ENTRIES = int(np.iinfo(np.int64).max)
_OF_USERS = ("truth", "exclude", "train")  # these are never one set for all users


def read_item_sets(
    value: Any,
    what: str,
    shape: tuple[int | None, int | None],
    n_threads: int | None = None,
    largest_item: int = -1,
    if_transposed: str | None = None,
) -> ItemSets:
    """Read truth, exclude, candidates or a stratum in any form; ``shape`` is that of the scores.

    The values of a truth are relevances > 0. Candidates and strata may be one array for all users;
    a stratum must be one where n_users is None. n_items is None where it is unknown, as for
    rankings, whose ``largest_item`` then helps to tell indices from relevances. ``if_transposed``
    is the hint for a truth with users and items exchanged.
    """
    n_users, n_items = shape
    may_be_shared = what not in _OF_USERS
    if may_be_shared:
        value = in_order(value, what)
        if isinstance(value, list) and not value:
            value = np.empty(0, np.int64)
    is_sparse = sp.issparse(value)
    entries = None if is_sparse else per_user(value, what)
    array: Any = value if is_sparse or entries is not None else as_array(value, what)
    is_flat = not is_sparse and entries is None and array.ndim == 1
    if is_flat and may_be_shared:
        return _shared(array, what, n_users or 0, n_items)
    if n_users is None:
        msg = (
            f"{what} has items for each user, but a stream does not know its users; expected one "
            "array of items for all, such as a mask of shape (n_items,)"
        )
        raise ArgumentError(msg)
    if is_flat and what == "truth":
        return SparseSets(_from_classes(array, n_users, n_items), n_items)
    if entries is not None:
        if not _are_relevances(value, entries, what, n_items, largest_item):
            if len(entries) != n_users:
                msg = (
                    f"{what} lists the items of {len(entries)} users, expected one collection of "
                    f"item indices for each of the {n_users} users; type [] for a user without "
                    "items"
                )
                raise ShapeError(msg)
            return SparseSets(_from_lists(entries, what, n_items, n_threads), n_items)
        array = _stacked(entries, what, n_items)
    elif not is_sparse:
        check_matrix(array, what)
    is_table = hasattr(value, "columns")
    check_shape(array, (n_users, n_items), what, if_transposed, is_table=is_table)
    if is_sparse:
        return SparseSets(rows_of_sparse(array, what, n_threads), array.shape[1])
    return DenseSets(array, what)


def read_ranked_truth(
    truth: Any, shape: tuple[int, int | None], largest_item: int, n_threads: int | None = None
) -> ItemSets:
    """Read the truth of rankings; ``shape`` is that of the rankings, with the caller's n_items."""
    truth, (_, n_items) = _whole(truth, "truth", shape[1])
    is_matrix = len(getattr(truth, "shape", ())) == 2  # which has n_items, if these are given
    shape = shape[0], None if is_matrix else n_items
    return read_item_sets(truth, "truth", shape, n_threads, largest_item)


def read_whole_truth(truth: Any, n_items: int | None, n_threads: int | None = None) -> ItemSets:
    """Read a truth without scores beside it, the size of whose catalogue must be known.

    ``n_items`` is the size that the caller gives for lists of item indices, or None.
    """
    truth, shape = _whole(truth, "truth", n_items)
    sets = read_item_sets(truth, "truth", shape, n_threads)
    if sets.n_items is None:
        msg = (
            "n_items= is needed if truth lists item indices, which do not give the size of the "
            "catalogue; give n_items=, or truth as a matrix (n_users, n_items)"
        )
        raise ArgumentError(msg, argument="n_items")
    return sets


def _whole(value: Any, what: str, n_items: Any) -> tuple[Any, tuple[int, int | None]]:
    """Find the shape of a matrix that has no scores beside it; n_items is None where unknown."""
    shape = getattr(value, "shape", None)
    if shape == () or (shape is None and not isinstance(value, Sized)):
        value = as_array(value, what)
        check_matrix(value, what)
        shape = value.shape
    n_users = len(value) if shape is None else int(shape[0])
    known = read_count(n_items, n_users)
    if known is not None and shape is not None and len(shape) == 2 and shape[1] != known:
        msg = f"{what} has {shape[1]} items, got n_items={n_items!r}; leave n_items out"
        raise ShapeError(msg)
    return value, (n_users, known)


def read_count(n_items: Any, n_users: int = 1) -> int | None:
    """Read the size of the catalogue, None where it is not given."""
    if n_items is None:
        return None
    count = whole_number(n_items)
    # Users and items are numbered together.
    if count is None or not 0 <= count * max(1, n_users) < _MOST_ENTRIES:
        msg = f"n_items must be a number of items, such as 3700, got {n_items!r}"
        raise ArgumentError(msg, argument="n_items")
    return count


def read_numbers(matrix: Any, what: str) -> ItemSets:
    """Read a sparse matrix or dense array of side information as the entries of each row."""
    if not sp.issparse(matrix):
        return DenseSets(matrix, what)
    sparse: Any = matrix
    return SparseSets(rows_of_sparse(sparse, what), sparse.shape[1])


def read_train(train: Any, n_items: int | None) -> ItemSets:
    """Read the training interactions of any number of users: the entries other than 0."""
    with at_fault("train"):
        train, shape = _whole(train, "train", n_items)
        return read_item_sets(train, "train", shape)


def _shared(array: npt.NDArray[Any], what: str, n_users: int, n_items: int | None) -> ItemSets:
    if array.dtype == np.bool_:
        if n_items not in (None, len(array)):
            msg = (
                f"{what} as a mask for all users must have n_items = {n_items} entries, got "
                f"{len(array)}"
            )
            raise ShapeError(msg)
        return SharedSet(np.flatnonzero(array), n_users, len(array))
    one = _from_lists([array], what, n_items, shared=True)
    return SharedSet(one.items, n_users, n_items)


def _are_relevances(
    value: Sequence[Any],
    entries: list[npt.NDArray[Any]],
    what: str,
    n_items: int | None,
    largest_item: int,
) -> bool:
    """Say whether a list per user holds relevances, one for each item, and not item indices.

    Floats and bools are relevances. Integers are indices, except in plain nested lists such as
    ``[[0, 1, 1]]``, which are a matrix where each has n_items numbers. Where n_items is unknown,
    they are read as whichever of the two is possible; ``largest_item`` is that of the rankings.
    """
    if any(entry.size and entry.dtype.kind not in "iu" for entry in entries):
        return True
    if not all(isinstance(entry, list | tuple) for entry in value):
        return False
    lengths = {len(entry) for entry in entries}
    if len(lengths) != 1 or lengths == {0}:
        return False
    rows = np.sort(entries, axis=1)
    named_once = bool(np.all(rows[:, 1:] != rows[:, :-1]) and rows[:, 0].min() >= 0)
    if n_items is None:
        fits = rows.shape[1] > largest_item and rows.min() >= 0
    else:
        fits = rows.shape[1] == n_items
        # A truth of one number per item is a matrix, as documented; other sets hold 0 and 1.
        named_once = named_once and what != "truth" and rows.max() > 1
    if fits and named_once:
        kind = "relevances" if what == "truth" else "0 and 1"
        msg = (
            f"{what} is ambiguous: it may hold item indices or be a matrix of {kind}; type "
            f"[np.array(items) for items in {what}] for indices, or np.array({what}) for a matrix"
        )
        raise InputTypeError(msg)
    return bool(fits)


def _stacked(entries: list[npt.NDArray[Any]], what: str, n_items: int | None) -> npt.NDArray[Any]:
    expected = len(entries[0]) if n_items is None else n_items
    for user, entry in enumerate(entries):
        if entry.ndim != 1 or len(entry) != expected or not is_real(entry.dtype):
            number = "of the same length" if n_items is None else f"of length {n_items}"
            msg = (
                f"{what} of user {user} must be a 1-d array of integer item indices, or of "
                f"relevances {number}; got {entry.ndim}-d of shape {entry.shape} and dtype "
                f"{entry.dtype}"
            )
            raise InputTypeError(msg)
    return np.stack([half_to_single(entry) for entry in entries])


def _from_classes(classes: npt.NDArray[Any], n_users: int, n_items: int | None) -> Rows:
    """Read one relevant item for each row, -1 for none."""
    if len(classes) and classes.dtype.kind not in "iu":
        cast = "np.asarray(truth, int), or " if classes.dtype.kind == "f" else ""
        one = f"; type {cast}np.atleast_2d(truth) for the relevances of one user"
        msg = (
            f"truth is 1-d of dtype {classes.dtype}, expected integers: the index of the relevant "
            f"item of each row, -1 for none{one if classes.dtype.kind in 'fb' else ''}"
        )
        raise InputTypeError(msg)
    if len(classes) != n_users:
        of_one_user = n_users == 1 and len(classes) == n_items
        hint = "; for the relevances of one user type np.atleast_2d(truth)" if of_one_user else ""
        msg = (
            f"truth has {len(classes)} item indices, expected one for each of the {n_users} rows, "
            f"-1 for none{hint}"
        )
        raise ShapeError(msg)
    limit = np.iinfo(np.int64).max if n_items is None else n_items
    outside = (classes < -1) | (classes >= limit)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        expected = "an index >= 0" if n_items is None else f"0 .. {n_items - 1}"
        hint = "; type np.maximum(truth, -1)" if classes[row] < 0 else ""
        msg = (
            f"truth of row {row} is item {classes[row]}, which is outside the catalogue; expected "
            f"{expected}, or -1 for none{hint}"
        )
        raise InputError(msg)
    known = classes >= 0
    items = classes[known].astype(np.int64)
    return Rows(np.concatenate(([0], np.cumsum(known))), items, np.ones(len(items)))


def check_shape(
    array: Any,
    expected: tuple[int, int | None],
    what: str,
    if_transposed: str | None = None,
    *,
    is_table: bool = False,
) -> None:
    """Refuse an array or matrix without the users and items ``expected``."""
    got: tuple[int, ...] = array.shape
    if len(got) == 2 and got[0] == expected[0] and expected[1] in (None, got[1]):
        return
    if len(got) != 2:
        msg = f"{what} must be 2-d (n_users, n_items), got {len(got)}-d of shape {got}"
        raise ShapeError(msg)
    if expected[1] is None:
        wanted = f"of the ranking, ({expected[0]}, n_items)"
    else:
        # The truth is compared with the scores, the other sets with the truth.
        wanted = f"and items of the {'scores' if what == 'truth' else 'truth'}, {expected}"
    narrow = got[0] == expected[0] and 1 < got[1] < (expected[1] or 0)
    hint = ""
    if got == expected[::-1]:
        hint = f"; it looks transposed: type {what}.T"
        if what == "truth":  # which of the two is the wrong one cannot be seen
            hint = "; one looks transposed: type scores.T or truth.T, so that rows are users"
        hint = f"; {if_transposed}" if if_transposed else hint
    elif got == (expected[0], 1) and what == "truth":
        hint = "; for one item index of each row type np.ravel(truth)"
    elif is_table:
        hint = f"; {OF_TABLES}"
    elif narrow and isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        hint = f"; for item indices of each user type list({what})"
    msg = f"{what} must have the users {wanted}, got {got}{hint}"
    raise ShapeError(msg)


def _from_lists(
    lists: Sequence[npt.NDArray[Any]],
    what: str,
    n_items: int | None,
    n_threads: int | None = None,
    *,
    shared: bool = False,
) -> Rows:
    """Sort the item indices of each user; a repeated index is refused or merged."""

    def place(user: int) -> str:
        return what if shared else f"{what} of user {user}"

    start, items = one_behind_another(lists, place)
    users = users_of_entries(start)
    refuse_outside(items, n_items, lambda entry: place(users[entry]))
    rows = Rows(start, items, np.ones(len(items)))
    if is_canonical(start, items):
        return rows
    rows, any_repeated, _ = rows.ascending(n_threads)
    if not any_repeated:
        return rows
    items = rows.items
    repeated = np.zeros(len(items), bool)
    repeated[1:] = (users[1:] == users[:-1]) & (items[1:] == items[:-1])
    if shared or what in ("truth", "candidates"):
        first = int(np.flatnonzero(repeated)[0])
        hint = f"array({what}) if this is a matrix of relevances"
        if shared:
            hint = f"unique({what})"
            if items[-1] <= 1:
                hint += f", or np.array({what}, bool) if this is a mask"
        msg = (
            f"{place(users[first])} names item {items[first]} twice; expected each item index "
            f"once; type np.{hint}"
        )
        raise InputError(msg)
    return rows.keep(~repeated)


def refuse_outside(items: IntArray, n_items: int | None, place: Callable[[int], str]) -> None:
    """Refuse an index that is none of the catalogue; ``place`` says where an entry stands."""
    outside = (items < 0) | (items >= (_MOST_ENTRIES if n_items is None else n_items))
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        expected = f"0 .. {n_items - 1}" if n_items else "none: there are 0 items"
        expected = "an index >= 0" if n_items is None else expected
        msg = (
            f"{place(first)} names item {items[first]}, which is outside the catalogue; expected "
            f"{expected}"
        )
        raise InputError(msg)
