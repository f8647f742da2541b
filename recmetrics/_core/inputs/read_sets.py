"""Truth, exclude and candidates in any form -> the internal form, or an exact error."""

from collections.abc import Callable, Sequence, Sized
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    ShapeError,
    at_fault,
    warn,
)
from recmetrics._core.inputs.arrays import (
    OF_TABLES,
    UserLists,
    advice_on_gaps,
    are_distinct,
    as_array,
    call_on,
    check_matrix,
    first_fraction,
    half_to_single,
    hint_of_index,
    holds_ids,
    is_real,
    is_sparse_tensor,
    items_of_pairs,
    may_be_indices,
    one_behind_another,
    per_user,
    sorted_if_set,
    starts_of,
    users_of_entries,
    valid_indices,
)
from recmetrics._core.inputs.sets import DenseSets, ItemSets, Rows, SharedSet, SparseSets
from recmetrics._core.inputs.sparse import as_scipy, ascend_in_rows, sets_of_sparse
from recmetrics._core.options import whole_number
from recmetrics._core.types import IntArray

_MOST_ENTRIES = int(np.iinfo(np.int64).max)  # pairs of a user and an item are numbered in int64
_OF_USERS = ("truth", "exclude", "train")  # these are never one set for all users

# Advice on a negative relevance: for rankings, without scores, with scores. {0} stands for the text
# with which to type the truth.
CLIP = "type np.maximum({0}, 0) if it is not relevant"
CLIP_OR_CHOOSE = f"{CLIP}; if it is padding, type also candidates={{0}} >= 0"
CLIP_OR_SCORE = f"{CLIP_OR_CHOOSE}, or give it the score -inf"


def read_item_sets(
    value: Any,
    name: str,
    shape: tuple[int, int | None],
    n_threads: int | None = None,
    largest_item: int = -1,
    if_transposed: str | None = None,
    if_negative: str | None = "",
) -> ItemSets:
    """Read truth, exclude, candidates or a stratum in any form; ``shape`` is that of the scores.

    The values of a truth are relevances > 0. Candidates and strata may be one array for all users.
    n_items is None where it is unknown, as for rankings, whose ``largest_item`` then helps to tell
    indices from relevances. ``if_transposed`` is the advice for a truth with users and items
    exchanged, ``if_negative`` that for a negative relevance; None if such an item is not relevant.
    """
    n_users, n_items = shape
    clip_call = "maximum(0)"
    if hasattr(value, "layout"):  # a tensor of torch, which may be sparse
        clip_call = "relu()"
        value = as_scipy(value, name)
    if sp.issparse(value):
        check_shape(value, shape, name, if_transposed)
        if if_negative is not None:
            if_negative = f"type {name}.{clip_call} if it is not relevant"
        return sets_of_sparse(value, name, n_threads, if_negative)
    if name not in _OF_USERS:
        value = _as_items(value, name)
    lists = per_user(value, name)
    if lists is not None:
        if _are_relevances(value, lists, name, n_items, largest_item):
            matrix = _stacked(lists, name, n_items)
            check_shape(matrix, shape, name, if_transposed)
            return DenseSets(matrix, name, if_negative, f"np.asarray({name})")
        if len(value) != n_users:
            msg = (
                f"{name} lists the items of {len(value)} users, expected one collection of item "
                f"indices for each of the {n_users} users; type [] for a user without items"
            )
            raise ShapeError(msg)
        _warn_of_pairs(lists, name)
        return SparseSets(_from_lists(lists, name, n_items, n_threads), n_items)

    array = as_array(value, name, "user" if name in _OF_USERS else _axis_of(value))
    typed = name if isinstance(value, np.ndarray) else f"np.asarray({name})"
    if array.ndim == 1:
        if name not in _OF_USERS:
            return _shared(array, name, n_users, n_items)
        if name == "truth":
            return SparseSets(_from_classes(array, n_users, n_items, typed), n_items)
        _refuse_flat_indices(array, name, n_users)
    check_matrix(array, name)
    check_shape(array, shape, name, if_transposed, is_table=hasattr(value, "columns"))
    return DenseSets(array, name, if_negative, typed)


def _refuse_flat_indices(array: npt.NDArray[Any], name: str, n_users: int) -> None:
    """Refuse 1-d integers, which may be one item of each user, or items excluded for all."""
    if array.dtype.kind not in "iu":
        return
    if len(array) == n_users:
        msg = (
            f"{name} is 1-d of shape ({n_users},), expected a matrix or the items of each "
            "user; if it has one item for each user, -1 for none, type "
            f"[[item] if item >= 0 else [] for item in {name}]"
        )
        raise ShapeError(msg)
    if name == "exclude" and n_users != 1:
        msg = (
            f"exclude is 1-d of shape {array.shape}, expected a matrix or the items of each "
            f"user; to exclude these items for all users type [exclude] * {n_users}"
        )
        raise ShapeError(msg)


def read_shared_set(value: Any, name: str, n_items: int | None) -> SharedSet:
    """Read a stratum of a stream, whose users are not known: one set of items for all."""
    value = _as_items(value, name)
    if not sp.issparse(value) and per_user(value, name) is None:
        array = as_array(value, name, _axis_of(value))
        if array.ndim == 1:
            return _shared(array, name, 0, n_items)
    msg = (
        f"{name} has items for each user, but a stream does not know its users; expected one "
        "array of items for all, such as a mask of shape (n_items,)"
    )
    raise ArgumentError(msg)


def _axis_of(value: Any) -> str:
    """Say what an entry of item sets is of: an item in a mask for all users, else a user."""
    is_mask = str(getattr(value, "dtype", "")) == "bool" and value.ndim == 1
    return "item" if is_mask else "user"


def _as_items(value: Any, name: str) -> Any:
    """Sort a set, and make an empty list an array, so that it is read as a set without items."""
    value = sorted_if_set(value, name)
    if isinstance(value, list) and not value:
        return np.empty(0, np.int64)
    return value


def read_ranked_truth(
    truth: Any,
    shape: tuple[int, int | None],
    largest_item: int,
    n_threads: int | None,
    if_negative: str | None,
) -> ItemSets:
    """Read the truth of rankings; ``shape`` is that of the rankings, with the caller's n_items."""
    n_users, n_items = shape
    advice = advice_on_indices(truth)
    if advice:
        refuse_indices(advice, truth.shape, n_items, largest_item)
    truth, (_, n_items) = _with_shape(truth, "truth", n_items)
    # A matrix has n_items itself, and was compared with that of the caller.
    if len(getattr(truth, "shape", ())) == 2:
        n_items = None
    return read_item_sets(
        truth, "truth", (n_users, n_items), n_threads, largest_item, if_negative=if_negative
    )


def advice_on_indices(truth: Any) -> str:
    """Say what to type for a truth that is an array that may hold item indices; else give ""."""
    is_sparse = sp.issparse(truth) or is_sparse_tensor(truth)
    if is_sparse or len(getattr(truth, "shape", ())) != 2:
        return ""
    array = as_array(truth, "truth")
    typed = "truth" if isinstance(truth, np.ndarray) else "np.asarray(truth)"
    items = items_of_pairs(array, typed)
    if not items and not may_be_indices(array):
        return ""
    advice = f"type list({typed}) for indices, {typed}.astype(float) for relevances"
    if items:
        advice += f"; if each row is a user and an item type {items}"
    return advice


def refuse_indices(
    advice: str, shape: tuple[int, ...], n_items: int | None, largest_item: int
) -> None:
    """Refuse a truth of integers that may be indices, unless it has a column for each item.

    ``advice`` is that on the truth, which has ``shape``. ``n_items`` is the caller's size of the
    catalogue, ``largest_item`` the largest item of the rankings.
    """
    width = shape[1]
    if n_items == width and largest_item < width:
        return
    msg = f"truth may hold item indices or relevances: integers of shape {tuple(shape)}; {advice}"
    raise InputTypeError(msg, argument="truth")


def read_whole_truth(
    truth: Any, n_items: int | None, n_threads: int | None, if_negative: str | None
) -> ItemSets:
    """Read a truth without scores beside it, the size of whose catalogue must be known.

    ``n_items`` is the size that the caller gives for lists of item indices, or None.
    """
    truth, shape = _with_shape(truth, "truth", n_items)
    sets = read_item_sets(truth, "truth", shape, n_threads, if_negative=if_negative)
    if sets.n_items is None:
        msg = (
            "n_items= is needed if truth lists item indices, which do not give the size of the "
            "catalogue; give n_items=, or truth as a matrix (n_users, n_items)"
        )
        raise ArgumentError(msg, argument="n_items")
    return sets


def _with_shape(value: Any, name: str, n_items: Any) -> tuple[Any, tuple[int, int | None]]:
    """Find the users of sets that have no scores beside them, and read ``n_items``.

    Gives the sets, as an array where only that has a shape, and (n_users, n_items).
    """
    shape = getattr(value, "shape", None)
    if shape == () or (shape is None and not isinstance(value, Sized)):
        value = as_array(value, name)
        check_matrix(value, name)
        shape = value.shape
    n_users = len(value) if shape is None else int(shape[0])
    size = read_count(n_items, n_users)
    if size is not None and shape is not None and len(shape) == 2 and shape[1] != size:
        advice = "leave n_items out"
        if name == "truth" and (on_indices := advice_on_indices(value)):
            advice = f"{on_indices}; with relevances {advice}"
        msg = f"{name} has {shape[1]} items, got n_items={n_items!r}; {advice}"
        raise ShapeError(msg)
    return value, (n_users, size)


def read_count(n_items: Any, n_users: int = 1) -> int | None:
    """Read the size of the catalogue, None where it is not given."""
    if n_items is None:
        return None
    count = whole_number(n_items)
    if count is None or not 0 <= count * max(1, n_users) < _MOST_ENTRIES:
        msg = f"n_items must be a number of items, such as 3700, got {n_items!r}"
        raise ArgumentError(msg, argument="n_items")
    return count


def read_numbers(matrix: Any, name: str) -> ItemSets:
    """Read a sparse matrix, or a dense array of real numbers, as the entries of each row."""
    return sets_of_sparse(matrix, name) if sp.issparse(matrix) else DenseSets(matrix, name)


def read_train(train: Any, n_items: int | None) -> ItemSets:
    """Read the training interactions of any number of users: the entries other than 0."""
    with at_fault("train"):
        train, shape = _with_shape(train, "train", n_items)
        if isinstance(train, list) and _are_pairs(train):
            lists = per_user(train, "train")
            if lists is not None and lists.indices is not None:
                pairs = DenseSets(_rows_of(lists), "train", array="np.asarray(train)")
                pairs.refuse_pairs(n_items)
        sets = read_item_sets(train, "train", shape)
        if isinstance(sets, DenseSets) and n_items is None:
            sets.refuse_pairs()
        return sets


def _are_pairs(lists: Sequence[Any]) -> bool:
    """Say whether all are tuples of two, as ``zip`` makes them of users and items."""
    # The first of most lists is no tuple, and the types of 1,000,000 take 20 ms.
    if not isinstance(next(iter(lists), None), tuple):
        return False
    return {*map(type, lists)} == {tuple} and {*map(len, lists)} == {2}


def _warn_of_pairs(lists: UserLists, name: str) -> None:
    """Warn of tuples of a user and an item: they are read as two items."""
    if lists.indices is None or not _are_pairs(lists.collections):
        return
    if items_of_pairs(_rows_of(lists), name):
        item = "item" if name == "truth" else "[item]"
        warn(
            f"{name} is a list of pairs, of which each is read as the two items of a user, and the "
            f"first are the numbers of the users; if each is a user and an item type [{item} for "
            f"_, item in sorted({name})], if not [[*items] for items in {name}]"
        )


def _shared(array: npt.NDArray[Any], name: str, n_users: int, n_items: int | None) -> SharedSet:
    """Read one set for all users from a mask (n_items,) or from item indices."""
    if array.dtype == np.bool_:
        if n_items not in (None, len(array)):
            msg = (
                f"{name} as a mask for all users must have n_items = {n_items} entries, got "
                f"{len(array)}"
            )
            raise ShapeError(msg)
        return SharedSet(np.flatnonzero(array), n_users, len(array))
    rows = _from_lists(UserLists([array]), name, n_items, is_shared=True)
    return SharedSet(rows.items, n_users, n_items)


def _are_relevances(
    value: Sequence[Any], lists: UserLists, name: str, n_items: int | None, largest_item: int
) -> bool:
    """Say whether a list per user holds relevances, one for each item, and not item indices.

    ``lists`` are those of ``value``. Floats and bools are relevances. Integers are indices, except
    in plain nested lists such as ``[[0, 1, 1]]``, which are a matrix where each has n_items
    numbers. Where n_items is unknown, they are read as whichever of the two is possible;
    ``largest_item`` is that of the rankings.
    """
    if lists.indices is None:
        kinds = {array.dtype.kind for array in lists.collections if array.size}
        if not kinds <= {*"iu"}:
            return True
        if {array.ndim for array in lists.collections} != {1}:
            return False  # then they are refused
    if not all(issubclass(kind, list | tuple) for kind in set(map(type, value))):
        return False
    lengths = set(map(len, lists.collections))
    if len(lengths) != 1 or lengths == {0}:
        return False

    return _is_matrix(_rows_of(lists), name, n_items, largest_item)


def _rows_of(lists: UserLists) -> npt.NDArray[Any]:
    """The integers of lists of one length, as the rows of a matrix."""
    if lists.indices is None:
        return np.array(lists.collections)
    return lists.indices.reshape(len(lists.collections), -1)


def _is_matrix(rows: npt.NDArray[Any], name: str, n_items: int | None, largest_item: int) -> bool:
    """Say whether nested lists of integers are a matrix, one number per item, and not indices.

    ``rows`` are the lists as an array. Lists that may be both are refused.
    """
    are_indices = are_distinct(rows)
    if n_items is None:
        may_be_matrix = rows.shape[1] > largest_item and (rows.min() >= 0 or not are_indices)
    else:
        may_be_matrix = rows.shape[1] == n_items
        # A truth of one number per item is a matrix, as documented; other sets hold 0 and 1.
        is_matrix = name == "truth" or rows.max() <= 1
        are_indices = are_indices and (rows.min() < 0 or not is_matrix)
    if may_be_matrix and are_indices:
        numbers_of_matrix = "relevances" if name == "truth" else "0 and 1"
        msg = (
            f"{name} is ambiguous: it may hold item indices or be a matrix of {numbers_of_matrix}; "
            f"type [np.array(items) for items in {name}] for indices, or np.array({name}) for a "
            "matrix"
        )
        raise InputTypeError(msg)
    return bool(may_be_matrix)


def _stacked(lists: UserLists, name: str, n_items: int | None) -> npt.NDArray[Any]:
    """Stack lists of relevances as the rows of a matrix."""
    if lists.indices is not None:
        return _rows_of(lists)
    arrays = lists.collections
    length = len(arrays[0]) if n_items is None else n_items
    for user, numbers in enumerate(arrays):
        if numbers.ndim != 1 or len(numbers) != length or not is_real(numbers.dtype):
            _refuse_numbers(arrays, user, name, n_items)
    return np.stack([half_to_single(numbers) for numbers in arrays])


def _refuse_numbers(
    arrays: Sequence[npt.NDArray[Any]], user: int, name: str, n_items: int | None
) -> NoReturn:
    """Refuse the numbers of a user, or of one whose item indices are padded without a number."""
    advice = ""
    if holds_ids(arrays[user]):
        advice = OF_TABLES
    else:
        for padded_user, items in enumerate(arrays):
            advice = advice_on_gaps(items, f"{name} of user {padded_user}")
            if advice:
                user = padded_user
                break
    numbers = arrays[user]
    length_words = "of the same length" if n_items is None else f"of length {n_items}"
    msg = (
        f"{name} of user {user} must be a 1-d array of integer item indices, or of "
        f"relevances {length_words}; got {numbers.ndim}-d of shape {numbers.shape} and "
        f"dtype {numbers.dtype}"
    )
    msg += f"; {advice}" if advice else ""
    raise InputTypeError(msg)


def _from_classes(classes: npt.NDArray[Any], n_users: int, n_items: int | None, typed: str) -> Rows:
    """Read ``classes``, (n_users,): the index of the one relevant item of each row, -1 for none.

    ``typed`` is the text with which to type them as an array.
    """
    if len(classes) and classes.dtype.kind not in "iu":
        hint = ""
        fraction = first_fraction(classes)
        if holds_ids(classes):
            hint = f"; {OF_TABLES}"
        elif classes.dtype.kind == "b" or fraction:
            hint = f"{fraction}; type np.atleast_2d(truth) for the relevances of one user"
        elif classes.dtype.kind == "f" and np.isnan(classes).any():
            hint = "; type np.nan_to_num(truth, nan=-1).astype(int) if NaN is no item"
        elif classes.dtype.kind == "f":
            hint = (
                "; type np.asarray(truth, int), or np.atleast_2d(truth) for the relevances of one "
                "user"
            )
        msg = (
            f"truth is 1-d of dtype {classes.dtype}, expected integers: the index of the relevant "
            f"item of each row, -1 for none{hint}"
        )
        raise InputTypeError(msg)
    if len(classes) != n_users:
        hint = ""
        if n_users == 1 and len(classes) == n_items:
            hint = "; for the relevances of one user type np.atleast_2d(truth)"
        msg = (
            f"truth has {len(classes)} item indices, expected one for each of the {n_users} rows, "
            f"-1 for none{hint}"
        )
        raise ShapeError(msg)
    # Any index may be one of a catalogue of unknown size.
    is_outside = (classes < -1) | (classes >= (_MOST_ENTRIES if n_items is None else n_items))
    if is_outside.any():
        row = int(np.flatnonzero(is_outside)[0])
        hint = f"; type np.maximum({typed}, -1)"
        if classes[row] >= 0:
            hint = hint_of_index("truth", int(classes[row]), classes, n_items)
        msg = (
            f"truth of row {row} is item {classes[row]}, which is outside the catalogue; expected "
            f"{valid_indices(n_items)}, or -1 for none{hint}"
        )
        raise InputError(msg)

    has_item = classes >= 0
    items = classes[has_item].astype(np.int64)
    return Rows(starts_of(has_item), items, np.ones(len(items)))


def check_shape(
    array: Any,
    expected: tuple[int, int | None],
    name: str,
    if_transposed: str | None = None,
    *,
    is_table: bool = False,
) -> None:
    """Refuse an array or matrix whose shape is not ``expected``: users, and items or None.

    ``if_transposed`` is the advice where the two are exchanged. ``is_table`` is True for a frame.
    """
    shape: tuple[int, ...] = array.shape
    n_users, n_items = expected
    if len(shape) == 2 and shape[0] == n_users and n_items in (None, shape[1]):
        return
    if len(shape) != 2:
        msg = f"{name} must be 2-d (n_users, n_items), got {len(shape)}-d of shape {shape}"
        raise ShapeError(msg)
    if n_items is None:
        source = f"of the ranking, ({n_users}, n_items)"
    elif name == "truth":
        source = f"and items of the scores, {expected}"
    else:  # the truth is checked first, and the other sets are compared with it
        source = f"and items of the truth, {expected}"
    hint = _hint_of_shape(array, expected, name, is_table=is_table)
    if shape == (n_items, n_users):
        hint = if_transposed or hint
    msg = f"{name} must have the users {source}, got {shape}"
    if hint:
        msg += f"; {hint}"
    raise ShapeError(msg)


def _hint_of_shape(
    array: Any, expected: tuple[int, int | None], name: str, *, is_table: bool
) -> str:
    """Say what to type if another shape was probably meant; "" if that cannot be told."""
    shape = array.shape
    n_users, n_items = expected
    if shape == (n_items, n_users):
        if name == "truth":  # the shapes do not show whether it or the scores are wrong
            return "one looks transposed: type scores.T or truth.T, so that rows are users"
        return f"it looks transposed: type {name}.T"
    if shape == (n_users, 1) and name == "truth":
        return "for one item index of each row type np.ravel(truth)"
    if is_table:
        return OF_TABLES
    is_narrow = shape[0] == n_users and 1 < shape[1] < (n_items or 0)
    if is_narrow and isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        hint = f"for item indices of each user type list({name})"
        items = items_of_pairs(array, name)
        if items and name != "truth":
            items = f"[[item] for item in {items}]"
        if items:
            hint = f"if each row is a user and an item type {items}; {hint}"
        return hint
    return ""


def _from_lists(
    lists: UserLists,
    name: str,
    n_items: int | None,
    n_threads: int | None = None,
    *,
    is_shared: bool = False,
) -> Rows:
    """Sort the item indices of each user, which end with -1 or with their list.

    A repeated index is merged in ``exclude`` and the like, and refused elsewhere. With
    ``is_shared``, there is one list for all users.
    """

    def name_of(user: int) -> str:
        return name if is_shared else f"{name} of user {user}"

    start, items = one_behind_another(lists, name_of)
    users = users_of_entries(start)
    refuse_outside(items, n_items, lambda entry: name_of(users[entry]))
    is_padded = -1 in items
    if is_padded:
        start, items = _without_padding(start, items, name_of)
        users = users_of_entries(start)
    rows = Rows(start, items, np.ones(len(items)))
    if ascend_in_rows(start, items):
        return rows
    rows, any_repeated = rows.ascending(n_threads)
    if not any_repeated:
        return rows

    items = rows.items
    is_repeat = np.zeros(len(items), np.bool_)
    is_repeat[1:] = (users[1:] == users[:-1]) & (items[1:] == items[:-1])
    if not is_shared and name not in ("truth", "candidates"):
        return rows.keep(~is_repeat)
    entry = int(is_repeat.argmax())
    list_name = name_of(users[entry])
    # In descending order, -1 stays behind the items.
    advice = call_on(list_name, "np.unique({})[::-1]" if is_padded else "np.unique({})")
    if is_shared and items[-1] <= 1:
        advice += f", or np.array({name}, bool) if this is a mask"
    lengths = set(map(len, lists.collections))
    shapes = ""
    if len(lengths) == 1 and not (is_shared or is_padded):
        if lengths == {n_items}:
            advice += f", or np.array({name}) if this is a matrix of relevances"
        elif n_items is not None and items.max() <= 1:
            shapes = (
                f"{name} is of shape {(len(start) - 1, *lengths)}, expected "
                f"{(len(start) - 1, n_items)}, if it is a matrix; as item indices, "
            )
    msg = (
        f"{shapes}{list_name} names item {items[entry]} twice; expected each item index once; to "
        f"drop the repeats type {advice}"
    )
    raise InputError(msg)


def _without_padding(
    start: IntArray, items: IntArray, name_of: Callable[[int], str]
) -> tuple[IntArray, IntArray]:
    """Take out the -1 after the last item of each list; refuse an item after a -1."""
    is_end = items == -1
    is_behind = np.zeros(len(items) + 1, np.bool_)
    is_behind[1:-1] = is_end[:-1] & ~is_end[1:]
    is_behind[start] = False
    if is_behind.any():
        entry = int(is_behind.argmax())
        user = int(users_of_entries(start)[entry])
        msg = (
            f"{name_of(user)} names item {items[entry]} after the end of the list; expected -1 "
            "only after the last item"
        )
        raise InputError(msg)
    return starts_of(~is_end)[start], items[~is_end]


def refuse_outside(items: IntArray, n_items: int | None, name_of: Callable[[int], str]) -> None:
    """Refuse an index outside the catalogue that is not -1.

    ``name_of`` gives the name of the list of an entry, for the error.
    """
    is_outside = (items < -1) | (items >= (_MOST_ENTRIES if n_items is None else n_items))
    if not is_outside.any():
        return
    entry = int(is_outside.argmax())
    index = int(items[entry])
    name = name_of(entry)
    hint = hint_of_index(name, index, items, n_items)
    msg = (
        f"{name} names item {index}, which is outside the catalogue; expected "
        f"{valid_indices(n_items)}{hint}"
    )
    raise InputError(msg)
