"""Side information about items and users: a record for each piece of it, and its readers.

It is checked once per call, not per metric, and only if a metric of the call needs it. The records
stand at the end. A new one also takes a line in ``Side`` and ``SideTables`` of ``options`` and one
in the signatures of ``Metrics.compute`` and ``Evaluator``, which spell the keywords out.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from recmetrics._core.errors import ArgumentError, InputError, ShapeError, at_fault
from recmetrics._core.inputs.arrays import as_array, as_kernel_array, check_real, half_to_single
from recmetrics._core.inputs.read_sets import (
    read_item_sets,
    read_numbers,
    read_shared_set,
    read_train,
    refuse_outside,
)
from recmetrics._core.inputs.sets import ItemMatrix, ItemSets, SharedSet, Side
from recmetrics._core.inputs.sparse import as_scipy
from recmetrics._core.options import one_of
from recmetrics._core.spec import SIDE, ItemNumber, MetricSpec, SideInput
from recmetrics._core.threads import row_blocks
from recmetrics._core.types import BoolArray, FloatArray, IntArray, Truth

# Rounding must not move the border between head and tail. A share in float32 is off by up to 6e-8.
HEAD_SLACK = 1e-6
LEAST_PROPENSITY = 1e-100  # sums of weights stay finite
_BLOCK_ENTRIES = 1 << 20  # entries of a dense training matrix that are read at once


class Context(NamedTuple):
    """Side information that was read before, and the sizes, for the reader of another piece."""

    values: Mapping[str, Any]  # by name
    n_users: int  # 0 where the users are not known
    n_items: int | None


def read_side(
    specs: Iterable[MetricSpec],
    keywords: Mapping[str, Any],
    n_users: int | None,
    n_items: int | None,
) -> Side:
    """Read the side information that ``specs`` need, check it, and prepare it for them.

    ``n_users`` is None if the users are not known. ``n_items`` is None if the truth does not give
    it; then the side information gives it.
    """
    specs = list(specs)
    needed: set[str] = set()
    for spec in specs:
        needed.update(*spec.needs)
    values: dict[str, Any] = {}
    for name, side_input in SIDE.items():
        if name not in needed or keywords.get(name) is None:
            continue
        with at_fault(name):
            context = Context(values, n_users or 0, n_items)
            values[name] = side_input.read(keywords[name], name, context)
        if isinstance(values[name], ItemSets):  # it belongs to users, not to items
            continue
        shape = values[name].shape
        if n_items is None:
            n_items = shape[0]
        if shape[0] != n_items:
            hint = f"; it looks transposed: type {name}.T" if shape[1:] == (n_items,) else ""
            shape_words = f"{side_input.shape} with n_items = {n_items}"
            msg = f"{name} must be of shape {shape_words}, got {shape}{hint}"
            raise ShapeError(msg, argument=name)

    strata, n_items = _read_strata(specs, keywords, n_users, n_items)
    side = Side(n_items=n_items, values=values, strata=strata)
    for spec in specs:
        if spec.metric.prepare is not None:
            side.prepared[spec] = spec.metric.prepare(side, spec.values)
    return side


def _read_strata(
    specs: Sequence[MetricSpec],
    keywords: Mapping[str, Any],
    n_users: int | None,
    n_items: int | None,
) -> tuple[dict[str, ItemSets], int | None]:
    """Read the strata of ``specs``; also gives n_items, from a stratum where nothing else does."""
    strata: dict[str, ItemSets] = {}
    for spec in specs:
        name = spec.stratum
        if name is None or name in strata:
            continue
        value = keywords["strata"][name]
        argument = f"strata[{name!r}]"
        with at_fault(argument):
            if n_users is None:
                strata[name] = read_shared_set(value, argument, n_items)
            else:
                strata[name] = read_item_sets(value, argument, (n_users, n_items))
        if n_items is None:
            n_items = strata[name].n_items
    return strata, n_items


def check_strata(side: Side, n_items: int) -> None:
    """Refuse items of a stream's strata outside a catalogue whose size was not known before."""
    for name, sets in side.strata.items():

        def name_of(_: int, name: str = name) -> str:  # the default keeps the name of this turn
            return f"strata[{name!r}]"

        shared = cast(SharedSet, sets)  # a stream takes no others
        with at_fault(name_of(0)):
            refuse_outside(shared.items, n_items, name_of)


def with_profile(side: Side, profile: Any, n_users: int) -> Side:
    """Add the profile of some users to side information that has been read."""
    with at_fault("profile"):
        sets = _read_profile(profile, "profile", Context(side.values, n_users, side.n_items))
    return replace(side, values={**side.values, "profile": sets})


def _reader_of(number: ItemNumber, make: str) -> Callable[[Any, str, Context], FloatArray]:
    """Make a reader of a number for each item, (n_items,).

    ``make`` is how to type valid numbers, for errors.
    """

    def read(value: Any, name: str, _: Context) -> FloatArray:
        numbers = _read_vector(value, name)
        is_wrong = number.is_wrong(numbers)
        if is_wrong.any():
            item = int(is_wrong.argmax())
            advice = f"type {name}=recmetrics.{name}_from(train)"
            if not np.isnan(numbers).any():  # ``make`` would leave NaN as it is
                advice += f", or {make}"
            msg = (
                f"{name} must be {number.meaning}, got {numbers[item]:g} for item {item}; {advice}"
            )
            raise InputError(msg)
        return numbers

    return read


def _read_vector(value: Any, name: str) -> FloatArray:
    """Read an array of one dimension that holds real numbers, as float64."""
    is_sparse = sp.issparse(value)
    vector: Any = value if is_sparse else as_array(value, name, "item")
    if is_sparse or vector.ndim != 1:
        hint = f"for a training matrix type {name}=recmetrics.{name}_from(train)"
        if 1 in vector.shape and not is_sparse:
            hint = f"type np.ravel({name})"
        msg = f"{name} must be 1-d (n_items,), got shape {vector.shape}; {hint}"
        raise ShapeError(msg)
    numbers: FloatArray = _real(vector, name).astype(np.float64)
    return numbers


def _real(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Refuse an array that does not hold real numbers; half precision becomes float32."""
    check_real(array, name)
    return half_to_single(array)


def _read_matrix(value: Any, name: str) -> Any:
    """Read a sparse matrix unchanged, or a dense one as an array of two dimensions."""
    matrix = as_scipy(value, name) if hasattr(value, "layout") else value  # "layout": of torch
    if not sp.issparse(matrix):
        matrix = _real(as_array(matrix, name, "item"), name)
    if matrix.ndim != 2:
        msg = f"{name} must be 2-d, got {matrix.ndim}-d of shape {matrix.shape}"
        raise ShapeError(msg)
    return matrix


def _read_items(value: Any, name: str, _: Context) -> ItemMatrix:
    """Read a matrix with one row per item, dense or as its entries, for the kernels."""
    matrix = _read_matrix(value, name)
    if sp.issparse(matrix):
        return _entries(matrix, name)
    # Each dtype costs a compilation: float32 is kept, anything else becomes float64.
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    array = as_kernel_array(np.ascontiguousarray(matrix, dtype))
    is_finite = np.isfinite(array)
    if not is_finite.all():
        item, column = np.argwhere(~is_finite)[0]
        msg = (
            f"{name} must hold finite numbers, got {array[item, column]:g} "
            f"at (item {item}, column {column})"
        )
        raise InputError(msg)
    return ItemMatrix(array, matrix.shape)


def _entries(matrix: Any, name: str) -> ItemMatrix:
    """Read a matrix with a row for each item as its entries other than 0."""
    return ItemMatrix(read_numbers(matrix, name).rows(slice(0, matrix.shape[0])), matrix.shape)


def _read_similarity(value: Any, name: str, context: Context) -> ItemMatrix:
    """Read a square matrix with a row and a column for each item."""
    similarity = _read_items(value, name, context)
    if similarity.shape[0] != similarity.shape[1]:
        msg = f"{name} must be square, (n_items, n_items), got {similarity.shape}"
        raise ShapeError(msg)
    return similarity


def _read_profile(value: Any, name: str, context: Context) -> ItemSets:
    """Read genres of users or the training matrix, by the shape; if both fit, genres."""
    matrix = _read_matrix(value, name)
    of_genres = (context.n_users, context.values["genres"].shape[1])
    of_train = (context.n_users, context.n_items or 0)
    if matrix.shape not in (of_genres, of_train):
        msg = (
            f"profile must hold the genres of each user, (n_users, g) = {of_genres}, or be the "
            f"training matrix, (n_users, n_items) = {of_train}, got {matrix.shape}"
        )
        raise ShapeError(msg)
    return read_numbers(matrix, name)


def popularity_from(train: Truth, n_items: int | None = None) -> FloatArray:
    """Compute the share of users who have each item, for ``popularity=``.

    >>> import recmetrics
    >>> recmetrics.popularity_from([[1, 0, 1], [1, 0, 0]])
    array([1. , 0. , 0.5])

    Parameters
    ----------
    train
        The training interactions (n_users, n_items), in any form that the truth takes, except one
        index per row. A user has an item if the entry is not 0, whatever its value; a stored zero
        of a sparse matrix is 0.
        All users count, even those without items.
    n_items
        The size of the catalogue; needed if ``train`` is a list with one array of item indices per
        user.

    Returns
    -------
    numpy.ndarray
        (n_items,) float64 in 0 .. 1.

    Raises
    ------
    ArgumentError
        If the size of the catalogue is not known.
    InputError, InputTypeError
        If ``train`` cannot be read, or its rows may each be a user and an item.
    """
    counts, n_users = _counts(train, n_items, "popularity_from")
    return counts / max(1, n_users)


def _counts(train: Any, n_items: int | None, caller: str) -> tuple[IntArray, int]:
    """Count the users who have each item; also gives the number of all users."""
    sets = read_train(train, n_items)
    if sets.n_items is None:
        msg = f"{caller} needs n_items= if train lists item indices, got none"
        raise ArgumentError(msg, argument="n_items")
    block_users = sets.n_users
    if sets.is_dense:
        block_users = _BLOCK_ENTRIES // max(1, sets.n_items)
    counts = np.zeros(sets.n_items, np.int64)
    for block in row_blocks(sets.n_users, block_users):
        counts += np.bincount(sets.rows(block).items, minlength=sets.n_items)
    return counts, sets.n_users


def propensity_from(
    train: Truth,
    *,
    model: Literal["power", "jain"] = "power",
    gamma: float | None = None,
    a: float | None = None,
    b: float | None = None,
    least: float = 0.0,
    n_items: int | None = None,
) -> FloatArray:
    r"""Estimate the propensity of each item from how often it is in the training data.

    - "power": n^((gamma + 1) / 2), divided by the largest such value of all items, where n is the
      number of users who have the item (Yang et al., RecSys 2018, after Steck 2011). ``gamma``
      describes how steeply popularity falls; the paper tries 1.5 to 3. An item without users counts
      as if one user had it.
    - "jain": 1 / (1 + C exp(-a log(n + b))) with C = (log(N) - 1) (b + 1)^a, where n is the number
      of users who have the item and N the number of users (Jain, Prabhu, Varma, KDD 2016, who give
      a and b for several data sets).

    >>> import recmetrics
    >>> train = [[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]]
    >>> recmetrics.propensity_from(train, gamma=1.0)
    array([1.  , 0.25, 0.25])

    Parameters
    ----------
    train, n_items
        As in ``popularity_from``.
    model
        "power" or "jain".
    gamma
        How steeply popularity falls, for "power" alone; at least 0, and 2 if it is not given. The
        exponent is (gamma + 1) / 2.
    a, b
        The parameters of "jain" alone, above 0; 0.55 and 1.5 if they are not given.
    least
        The least propensity, at least 0 and below 1; smaller ones are clipped to it.
        Otherwise a few items of small propensity may decide the values.

    Returns
    -------
    numpy.ndarray
        (n_items,) float64, above 0 and at most 1, for ``propensity=``.

    Raises
    ------
    ArgumentError
        If the size of the catalogue is not known, or a parameter is outside its range or of the
        other model.
    InputError, InputTypeError
        If ``train`` cannot be read, is empty, or has too few users for "jain" (fewer than 3).
    """
    one_of("model", model, Literal["power", "jain"])
    for name, value, model_of_it in [("gamma", gamma, "power"), ("a", a, "jain"), ("b", b, "jain")]:
        if value is not None and model != model_of_it:
            msg = (
                f"{name}= is a parameter of model={model_of_it!r}, got model={model!r}; type "
                f"model={model_of_it!r}, or leave out {name}="
            )
            raise ArgumentError(msg, argument=name)
    gamma = 2.0 if gamma is None else gamma
    a = 0.55 if a is None else a
    b = 1.5 if b is None else b
    _check_parameter("gamma", gamma, "a finite number >= 0", lambda x: 0.0 <= x < math.inf)
    _check_parameter("a", a, "a finite number above 0", lambda x: 0.0 < x < math.inf)
    _check_parameter("b", b, "a finite number above 0", lambda x: 0.0 < x < math.inf)
    _check_parameter("least", least, "a number >= 0 and below 1", lambda x: 0.0 <= x < 1.0)
    counts, n_users = _counts(train, n_items, "propensity_from")
    if counts.size and not counts.any():
        msg = "train holds no interactions, so no propensity can be estimated"
        raise InputError(msg, argument="train")
    if model == "power":
        largest_count = max(1, counts.max(initial=0))
        propensity = (np.maximum(counts, 1) / largest_count) ** ((gamma + 1.0) / 2.0)
    else:
        if n_users < 3:
            msg = f"model='jain' needs at least 3 users in train, got {n_users}; type model='power'"
            raise InputError(msg, argument="train")
        # (b + 1)^a exp(-a log(n + b)) is one power: ((b + 1) / (n + b))^a.
        with np.errstate(over="ignore"):  # an infinite power is a propensity of 0, clipped
            power = np.exp(a * (math.log(b + 1.0) - np.log(counts + b)))
        propensity = 1.0 / (1.0 + (math.log(n_users) - 1.0) * power)
    clipped: FloatArray = np.maximum(propensity, max(float(least), LEAST_PROPENSITY))
    return clipped


def _check_parameter(
    name: str, number: Any, valid_numbers: str, is_valid: Callable[[Any], bool]
) -> None:
    """Refuse a parameter that is no real number or is outside its range.

    ``valid_numbers`` are the words for the range.
    """
    if isinstance(number, bool) or not isinstance(number, Real) or not is_valid(number):
        msg = f"{name} must be {valid_numbers}, got {number!r}"
        raise ArgumentError(msg, argument=name)


def popularity_strata(
    train: Truth, *, tail: float = 0.8, n_items: int | None = None
) -> dict[str, BoolArray]:
    """Divide the items into the popular ones and the rest, for ``strata=``.

    The head is the smallest set of the most popular items that has at least 1 - ``tail`` of the
    interactions, as in ``long_tail(tail=...)``. Equally popular items are ordered by index.

    >>> import recmetrics
    >>> strata = recmetrics.popularity_strata([[1, 0, 1], [1, 0, 0], [1, 1, 0]], tail=0.5)
    >>> strata["head"].tolist(), strata["tail"].tolist()
    ([True, False, False], [False, True, True])

    Parameters
    ----------
    train, n_items
        As in ``popularity_from``.
    tail
        The largest share of the interactions that the tail may have, above 0 and below 1.

    Returns
    -------
    dict
        The masks "head" and "tail", (n_items,) bool. Each item is in exactly one of them.

    Raises
    ------
    ArgumentError, InputError, InputTypeError
        As in ``popularity_from``. Also an ArgumentError if ``tail`` is outside its range.
    """
    _check_parameter("tail", tail, "a number above 0 and below 1", lambda x: 0.0 < x < 1.0)
    in_tail = is_in_tail(popularity_from(train, n_items), float(tail))
    return {"head": ~in_tail, "tail": in_tail}


def is_in_tail(popularity: FloatArray, tail: float) -> BoolArray:
    """True for the items outside the head, which has 1 - ``tail`` of the interactions."""
    order = np.argsort(-popularity, kind="stable")
    cumulative = np.cumsum(popularity[order])
    total = cumulative[-1:].sum()  # 0 without items
    head_share = (1.0 - tail) * total * (1.0 - HEAD_SLACK)
    # An item is in the head if the more popular items do not fill it.
    share_above = np.concatenate((np.zeros(1), cumulative))[: cumulative.size]
    in_tail = np.ones(popularity.size, np.bool_)
    in_tail[order[share_above < head_share]] = False
    return in_tail


_POPULARITY = ItemNumber("the share of users who have the item, 0 to 1", least=0.0)
_PROPENSITY = ItemNumber(f"a probability from {LEAST_PROPENSITY:g} to 1", LEAST_PROPENSITY)

# In the order in which they are read: a profile is compared with the genres.
SIDE |= {
    "popularity": SideInput(
        content="the share of users who have each item",
        shape="(n_items,)",
        number=_POPULARITY,
        read=_reader_of(_POPULARITY, "counts / n_users"),
        make="popularity=recmetrics.popularity_from(train)",
        warm=np.ones,
        table="a table of 'item' and the share of users who have it, or of the training "
        "interactions, 'user' and 'item'",
        form="shares",
        of_train=popularity_from,
    ),
    "propensity": SideInput(
        content="the probability that a relevant item is observed",
        shape="(n_items,)",
        number=_PROPENSITY,
        read=_reader_of(_PROPENSITY, "np.clip(propensity, 0.01, 1)"),
        make="propensity=recmetrics.propensity_from(train)",
        warm=np.ones,
        table="a table of 'item' and the probability that it is observed if it is relevant, or of "
        "the training interactions, 'user' and 'item'",
        form="chances",
        of_train=lambda train, n_items=None: propensity_from(train, n_items=n_items),
    ),
    "features": SideInput(
        content="a vector for each item",
        shape="(n_items, d)",
        read=_read_items,
        make="features=train.T to compare items by the users who have them",
        warm=np.eye,
        table="a table of 'item' and the numbers of its vector",
    ),
    "similarity": SideInput(
        content="the similarity of each pair of items",
        shape="(n_items, n_items)",
        read=_read_similarity,
        table="a table of 'item', another item, and their similarity",
        form="pairs",
    ),
    "genres": SideInput(
        content="1 if the item has the genre",
        shape="(n_items, g)",
        read=lambda value, name, _: _entries(_read_matrix(value, name), name),
        make="genres=item_genres, such as pandas.get_dummies of one genre per item",
        warm=np.eye,
        table="a table of 'item' and a column for each genre, 1 if the item has it",
    ),
    "profile": SideInput(
        content="the genres of each user, (n_users, g), or the training matrix",
        shape="(n_users, n_items)",
        read=_read_profile,
        make="profile=train",
        warm=np.eye,
        table="a table of 'user' and the columns of genres=",
        form="users",
    ),
}
