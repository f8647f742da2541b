"""Side information about items and users: a record for each piece of it, and its readers.

It is checked once per call, not per metric, and only if a metric of the call needs it. The records
stand at the end. A new one also takes a line in ``Side`` and ``SideTables`` of ``options`` and one
in the signatures of ``Metrics.compute`` and ``Evaluator``, which spell the keywords out.
"""

import math
from collections.abc import Callable, Iterable, Mapping
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
    read_train,
    refuse_outside,
)
from recmetrics._core.inputs.sets import ItemMatrix, ItemSets, SharedSet, Side
from recmetrics._core.options import one_of
from recmetrics._core.spec import SIDE, ItemNumber, MetricSpec, SideInput
from recmetrics._core.threads import row_blocks
from recmetrics._core.types import BoolArray, FloatArray, IntArray, Truth

# Rounding of the shares must not move the border between head and tail.
HEAD_SLACK = 1e-9
LEAST_PROPENSITY = 1e-100  # sums of weights stay finite
_BLOCK = 1 << 20  # entries of a dense training matrix read at once


class Known(NamedTuple):
    """What a reader of side information may look at."""

    found: Mapping[str, Any]  # the side information read before
    n_users: int
    n_items: int | None


def read_side(
    specs: Iterable[MetricSpec], given: Mapping[str, Any], n_users: int | None, n_items: int | None
) -> Side:
    """Read the side information that ``specs`` need, check it, and prepare it for them.

    ``n_users`` is None if the users are not known. ``n_items`` is None if the truth does not give
    it; then the side information gives it.
    """
    specs = list(specs)
    needed = {name for spec in specs for group in spec.needs for name in group}
    found: dict[str, Any] = {}
    for name, side_input in SIDE.items():
        if name in needed and given.get(name) is not None:
            with at_fault(name):
                one = side_input.read(given[name], name, Known(found, n_users or 0, n_items))
            found[name] = one
            if not isinstance(one, ItemSets):
                n_items = one.shape[0] if n_items is None else n_items
                if one.shape[0] != n_items:
                    flipped = one.shape[1:] == (n_items,)
                    hint = f"; it looks transposed: type {name}.T" if flipped else ""
                    expected = f"{side_input.shape} with n_items = {n_items}"
                    msg = f"{name} must be of shape {expected}, got {one.shape}{hint}"
                    raise ShapeError(msg, argument=name)
    named = dict.fromkeys(spec.stratum for spec in specs if spec.stratum is not None)
    strata: dict[str, ItemSets] = {}
    for name in named:
        what = f"strata[{name!r}]"
        with at_fault(what):
            strata[name] = read_item_sets(given["strata"][name], what, (n_users, n_items))
        n_items = strata[name].n_items if n_items is None else n_items
    side = Side(n_items=n_items, values=found, strata=strata)
    for spec in specs:
        if spec.metric.prepare is not None:
            side.prepared[spec] = spec.metric.prepare(side, spec.values)
    return side


def check_strata(side: Side, n_items: int) -> None:
    """Refuse items of a stream's strata outside a catalogue whose size was not known before."""
    for name, sets in side.strata.items():

        def place(_: int, name: str = name) -> str:
            return f"strata[{name!r}]"

        shared = cast(SharedSet, sets)  # a stream takes no others
        with at_fault(place(0)):
            refuse_outside(shared.items[-1:], n_items, place)  # they ascend


def with_profile(side: Side, profile: Any, n_users: int) -> Side:
    """Add the profile of some users to side information that has been read."""
    with at_fault("profile"):
        found = _read_profile(profile, "profile", Known(side.values, n_users, side.n_items))
    return replace(side, values={**side.values, "profile": found})


def _reader_of(number: ItemNumber, make: str) -> Callable[[Any, str, Known], FloatArray]:
    """Make a reader of a number for each item."""

    def read(value: Any, what: str, _: Known) -> FloatArray:
        numbers = _read_numbers(value, what)
        is_wrong = number.is_wrong(numbers)
        if is_wrong.any():
            item = int(np.flatnonzero(is_wrong)[0])
            msg = (
                f"{what} must be {number.meaning}, got {numbers[item]:g} for item {item}; "
                f"type {what}=recmetrics.{what}_from(train), or {make}"
            )
            raise InputError(msg)
        return numbers

    return read


def _read_numbers(value: Any, what: str) -> FloatArray:
    matrix: Any = value if sp.issparse(value) else as_array(value, what, "item")
    shape = matrix.shape
    if sp.issparse(value) or len(shape) != 1:
        hint = f"for a training matrix type {what}=recmetrics.{what}_from(train)"
        if 1 in shape and not sp.issparse(value):
            hint = f"type np.ravel({what})"
        msg = f"{what} must be 1-d (n_items,), got shape {shape}; {hint}"
        raise ShapeError(msg)
    numbers: FloatArray = _real(matrix, what).astype(np.float64)
    return numbers


def _real(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    check_real(array, what)
    return half_to_single(array)


def _read_matrix(value: Any, what: str) -> Any:
    """Read a sparse matrix unchanged, or a dense one as an array of two dimensions."""
    matrix: Any = value if sp.issparse(value) else _real(as_array(value, what), what)
    if matrix.ndim != 2:
        msg = f"{what} must be 2-d, got {matrix.ndim}-d of shape {matrix.shape}"
        raise ShapeError(msg)
    return matrix


def _read_items(value: Any, what: str, _: Known) -> ItemMatrix:
    """Read a matrix with one row per item, dense or as its entries, for the kernels."""
    matrix = _read_matrix(value, what)
    shape = matrix.shape
    if sp.issparse(matrix):
        return _entries(matrix, what)
    # Each dtype costs a compilation: float32 is kept, anything else becomes float64.
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
    return ItemMatrix(array, shape)


def _entries(matrix: Any, what: str) -> ItemMatrix:
    return ItemMatrix(read_numbers(matrix, what).rows(slice(0, matrix.shape[0])), matrix.shape)


def _read_similarity(value: Any, what: str, known: Known) -> ItemMatrix:
    similarity = _read_items(value, what, known)
    if similarity.shape[0] != similarity.shape[1]:
        msg = f"{what} must be square, (n_items, n_items), got {similarity.shape}"
        raise ShapeError(msg)
    return similarity


def _read_profile(value: Any, what: str, known: Known) -> ItemSets:
    """Read genres of users or the training matrix, by the shape; if both fit, genres."""
    matrix, n_users, n_items = _read_matrix(value, what), known.n_users, known.n_items or 0
    n_genres = known.found["genres"].shape[1]
    if matrix.shape not in ((n_users, n_genres), (n_users, n_items)):
        msg = (
            "profile must hold the genres of each user, (n_users, g) = "
            f"{(n_users, n_genres)}, or be the training matrix, (n_users, n_items) = "
            f"{(n_users, n_items)}, got {matrix.shape}"
        )
        raise ShapeError(msg)
    return read_numbers(matrix, what)


def popularity_from(train: Truth, n_items: int | None = None) -> FloatArray:
    """Compute the share of users who have each item, for ``popularity=``.

    >>> import recmetrics
    >>> recmetrics.popularity_from([[1, 0, 1], [1, 0, 0]])
    array([1. , 0. , 0.5])

    Parameters
    ----------
    train
        The training interactions (n_users, n_items), in any form that the truth takes. A user has
        an item if the entry is not 0, whatever its value; a stored zero of a sparse matrix is 0.
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
        If ``train`` cannot be read.
    """
    counts, n_users = _counts(train, n_items, "popularity_from")
    return counts / max(1, n_users)


def _counts(train: Any, n_items: int | None, caller: str) -> tuple[IntArray, int]:
    sets = read_train(train, n_items)
    if sets.n_items is None:
        msg = f"{caller} needs n_items= if train lists item indices, got none"
        raise ArgumentError(msg, argument="n_items")
    counts = np.zeros(sets.n_items, np.int64)
    rows = _BLOCK // max(1, sets.n_items) if sets.is_dense else sets.n_users
    for block in row_blocks(sets.n_users, rows):
        counts += np.bincount(sets.rows(block).items, minlength=sets.n_items)
    return counts, sets.n_users


def propensity_from(
    train: Truth,
    *,
    model: Literal["power", "jain"] = "power",
    gamma: float = 2.0,
    a: float = 0.55,
    b: float = 1.5,
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
        How steeply popularity falls, for "power"; at least 0. The exponent is (gamma + 1) / 2.
    a, b
        The parameters of "jain", above 0.
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
        If the size of the catalogue is not known, or a parameter is outside its range.
    InputError, InputTypeError
        If ``train`` cannot be read, is empty, or has too few users for "jain" (fewer than 3).
    """
    one_of("model", model, Literal["power", "jain"])
    for name, value, below, with_0, expected in (
        ("gamma", gamma, math.inf, True, "a finite number >= 0"),
        ("a", a, math.inf, False, "a finite number above 0"),
        ("b", b, math.inf, False, "a finite number above 0"),
        ("least", least, 1.0, True, "a number >= 0 and below 1"),
    ):
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0.0 <= value < below or not (value or with_0):
            msg = f"{name} must be {expected}, got {value!r}"
            raise ArgumentError(msg, argument=name)
    counts, n_users = _counts(train, n_items, "propensity_from")
    if counts.size and not counts.any():
        msg = "train holds no interactions, so no propensity can be estimated"
        raise InputError(msg, argument="train")
    if model == "power":
        most = max(1, counts.max(initial=0))
        propensity = (np.maximum(counts, 1) / most) ** ((gamma + 1.0) / 2.0)
    else:
        if n_users < 3:
            msg = f"model='jain' needs at least 3 users in train, got {n_users}; type model='power'"
            raise InputError(msg, argument="train")
        with np.errstate(over="ignore"):  # an infinite quotient is a propensity of 0, clipped
            ratio = np.exp(a * (math.log(b + 1.0) - np.log(counts + b)))
        propensity = 1.0 / (1.0 + (math.log(n_users) - 1.0) * ratio)
    found: FloatArray = np.maximum(propensity, max(least, LEAST_PROPENSITY))
    return found


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
    if isinstance(tail, bool) or not isinstance(tail, Real) or not 0.0 < tail < 1.0:
        msg = f"tail must be a number above 0 and below 1, got {tail!r}"
        raise ArgumentError(msg)
    in_tail = is_in_tail(popularity_from(train, n_items), float(tail))
    return {"head": ~in_tail, "tail": in_tail}


def is_in_tail(popularity: FloatArray, tail: float) -> BoolArray:
    """True for the items outside the head, which has 1 - ``tail`` of the interactions."""
    order = np.argsort(-popularity, kind="stable")
    made = np.cumsum(popularity[order])
    before = np.concatenate((np.zeros(1), made))[: made.size]
    target = (1.0 - tail) * made[-1:].sum() * (1.0 - HEAD_SLACK)
    in_tail = np.ones(popularity.size, np.bool_)
    in_tail[order[before < target]] = False
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
        read=lambda value, what, _: _entries(_read_matrix(value, what), what),
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
