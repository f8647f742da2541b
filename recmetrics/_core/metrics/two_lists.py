"""Measures of two lists of one user, such as those of two models.

They are not metrics, because they read a second list and no truth: what the registry feeds, such as
methods, conventions, tie policies and the pages of metrics, has no meaning for them. So they have a
table of their own, ``MEASURES``, but are declared as metrics are. Each is one function that fills
the values of a block of users; its keyword-only parameters are the options. All read how many items
both lists have among their first 1, 2, 3, ... ranks, which ``compared`` counts once, in time linear
in the ranks.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np

from recmetrics._core.errors import (
    MetricSpecError,
    UnknownMetricError,
    UnknownOptionError,
    did_you_mean,
)
from recmetrics._core.jit import kernel
from recmetrics._core.spec import METRICS, Number, Option, check_k, choice, read_options, take_apart
from recmetrics._core.types import FloatArray, IntArray

MeasuresList = str | Iterable[str]
"""The strings of one or more measures of two lists."""
F = TypeVar("F", bound=Callable[..., None])

_EXAMPLE = "rbo(p=0.9)@10"
_EXPECTED = f"measures such as ['{_EXAMPLE}', 'overlap@10']"


class Pairs(NamedTuple):
    """The two lists of each user of a block, compared."""

    common: IntArray  # (rows, depth) the items in both lists among their first 1, 2, 3, ... ranks
    length: IntArray  # (2, rows) the number of ranks of each list

    def to_rank(self, k: int | None) -> "Pairs":
        """The lists cut at rank ``k``."""
        if k is None:
            return self
        return self._replace(length=np.minimum(self.length, k))


def compared(a: tuple[IntArray, IntArray], b: tuple[IntArray, IntArray], n_items: int) -> Pairs:
    """Compare two lists of each user, ``a`` and ``b``: items (rows, width) and lengths (rows,).

    All items are below ``n_items``. An item of -1 is a rank without an item; those at the end of a
    list do not count as ranks.
    """
    items_a, length_a = a
    items_b, length_b = b
    n_rows = len(items_a)
    depth = max(items_a.shape[1], items_b.shape[1])
    if n_items > items_a.size + items_b.size:
        # A table of all items would be larger than the lists, so those in the lists are numbered
        # from 0; -1 stays negative.
        items = np.concatenate([items_a.ravel(), items_b.ravel()])
        distinct, numbers = np.unique(items, return_inverse=True)
        numbers = numbers.reshape(-1) - np.searchsorted(distinct, 0)
        items_a = numbers[: items_a.size].reshape(items_a.shape)
        items_b = numbers[items_a.size :].reshape(items_b.shape)
        n_items = len(distinct)
    pairs = Pairs(np.empty((n_rows, depth), np.int64), np.zeros((2, n_rows), np.int64))
    _count_common(items_a, length_a, items_b, length_b, np.full(n_items, -1, np.int64), *pairs)
    return pairs


@kernel
def _count_common(
    items_a: IntArray,
    length_a: IntArray,
    items_b: IntArray,
    length_b: IntArray,
    user_of: IntArray,
    common: IntArray,
    length: IntArray,
) -> None:
    """Fill ``common`` and ``length``, see ``Pairs``.

    ``length`` holds 0 for each list at first. ``user_of`` (n_items,) holds -1 at first, then the
    last user with each item. A list names an item once, so an item that the user has already is one
    of the other list.
    """
    for user in range(common.shape[0]):
        n_common = 0
        for i in range(common.shape[1]):
            if i < length_a[user] and items_a[user, i] >= 0:
                item = items_a[user, i]
                n_common += user_of[item] == user
                user_of[item] = user
                length[0, user] = i + 1
            if i < length_b[user] and items_b[user, i] >= 0:
                item = items_b[user, i]
                n_common += user_of[item] == user
                user_of[item] = user
                length[1, user] = i + 1
            common[user, i] = n_common


# --- The measures --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """One measure: its options, and the function that fills the values of a block."""

    name: str
    compute: Callable[..., None]
    options: Mapping[str, Option]

    def option(self, name: str) -> Option:
        """Find the option called ``name``; the error names all."""
        if name not in self.options:
            names = "it takes none"
            if self.options:
                names = f"it has {', '.join(map(repr, self.options))}"
            msg = f"measure {self.name!r} has no option {name!r}; {names}"
            raise UnknownOptionError(msg)
        return self.options[name]


MEASURES: dict[str, Measure] = {}


def measure(compute: F) -> F:
    """Add a function to the table under its name."""
    name = compute.__name__
    MEASURES[name] = Measure(name, compute, read_options(compute))
    return compute


Form = Literal["ext", "min", "sum", "norm"]
_EXT = choice(Form, "ext")
_MIN = choice(Form, "min")
_NORM = choice(Form, "norm")
Patience = Annotated[
    float, Number("the probability that a reader continues to the next rank", below=1.0)
]


@measure
def rbo(
    pairs: Pairs,
    out: FloatArray,
    *,
    p: Patience = 0.9,
    form: Annotated[Form, "what to assume below the end of the lists"] = "ext",
) -> None:
    """Rank-biased overlap: the expected agreement of the lists at the rank where a reader stops.

    X_d is the number of items that both lists have among their first d ranks, A_d = X_d / d their
    agreement. A reader continues from each rank to the next with probability p, and so stops at
    rank d with probability (1 - p) p^(d - 1). For lists of s and l >= s ranks:

    form=ext    RBO_ext, the extrapolated value: it assumes that the agreement at the end stays.
                sum_{d <= l} (1 - p) p^(d - 1) A_d + p^l A_l, where below rank s the shorter list
                is assumed to agree as before: A_d = (X_d - X_s) / d + X_s / s for d > s
    form=min    RBO_min, the lowest value of all continuations: no further item is in both lists.
                sum_d (1 - p) p^(d - 1) X_d / d, where X_d = X_l for d > l
    form=sum    The same sum over the l ranks alone; 1 - p^l for equal lists.
    form=norm   form=sum divided by 1 - p^l, its value for equal lists.

    Source: Webber, Moffat, Zobel: A similarity measure for indefinite rankings, TOIS 2010;
    RBO_ext is equation 32, RBO_min equation 11. form=norm is the RBO of LensKit.

    >>> from recmetrics import overlap_ranked  # A = 0, 1, 2/3
    >>> overlap_ranked([[0, 1, 2]], [[1, 0, 3]], "rbo(p=0.5)")  # 1/4 * 1 + 1/8 * 2/3 + 1/8 * 2/3
    {'rbo(p=0.5)': array([0.41666667])}
    """
    limit = (1.0 - p) * (-math.log1p(-p) / p)  # sum_d (1 - p) p^(d - 1) / d
    _rbo(*pairs, p, limit, choice(Form, form), out)


@kernel
def _rbo(
    common: IntArray, length: IntArray, p: float, limit: float, form: int, out: FloatArray
) -> None:
    """Write the overlap of each user's lists: NaN for two empty lists, 0 for one.

    ``limit`` is the sum of (1 - p) p^(d - 1) / d over all d. For equal lists ``value`` is ``total``
    to the bit, so that the result is 1.
    """
    for user in range(out.size):
        shorter = min(length[0, user], length[1, user])
        longer = max(length[0, user], length[1, user])
        if longer == 0:
            out[user] = np.nan
            continue
        if shorter == 0:
            out[user] = 0.0
            continue

        n_common_short = common[user, shorter - 1]  # X_s, at the end of the shorter list
        value = 0.0
        total = 0.0  # of the weights
        shares = 0.0  # the sum of weight / rank
        agreement = 0.0
        weight = 1.0 - p  # (1 - p) p^(rank - 1)
        for rank in range(1, longer + 1):
            agreement = common[user, rank - 1] / rank
            if form == _EXT and rank > shorter:
                agreement = (
                    common[user, rank - 1] - n_common_short
                ) / rank + n_common_short / shorter
            value += weight * agreement
            total += weight
            shares += weight / rank
            weight *= p
        if form == _EXT:
            value += max(0.0, 1.0 - total) * agreement
        elif form == _MIN:
            value += max(0.0, limit - shares) * common[user, longer - 1]
        elif form == _NORM:
            value /= total
        out[user] = min(1.0, value)


@measure
def overlap(pairs: Pairs, out: FloatArray) -> None:
    """Items in both lists / ranks of the longer list.

    |A and B| / k if one of the lists reaches rank k. If both are shorter, the divisor is the length
    of the longer list, so that equal lists have 1.

    Source: Fagin, Kumar, Sivakumar: Comparing top k lists, SIAM J. Discrete Math. 2003.

    >>> from recmetrics import overlap_ranked
    >>> overlap_ranked([[0, 1, 2, 3]], [[1, 0, 4, 3]], ["overlap@3", "overlap"])  # 2/3, 3/4
    {'overlap@3': array([0.66666667]), 'overlap': array([0.75])}
    """
    _share_common(*pairs, out, of_union=False)


@measure
def jaccard(pairs: Pairs, out: FloatArray) -> None:
    """Items in both lists / items in at least one list.

    Source: Jaccard: The distribution of the flora in the alpine zone, New Phytologist 1912.

    >>> from recmetrics import overlap_ranked
    >>> overlap_ranked([[0, 1, 2, 3]], [[1, 0, 4, 3]], ["jaccard@3", "jaccard"])  # 2/4, 3/5
    {'jaccard@3': array([0.5]), 'jaccard': array([0.6])}
    """
    _share_common(*pairs, out, of_union=True)


@kernel
def _share_common(common: IntArray, length: IntArray, out: FloatArray, of_union: bool) -> None:
    """Write the number of items in both lists, divided by the union or by the longer list.

    Two empty lists have NaN.
    """
    for user in range(out.size):
        longer = max(length[0, user], length[1, user])
        if longer == 0:
            out[user] = np.nan
            continue
        n_common = common[user, longer - 1]
        divisor = longer
        if of_union:
            divisor = length[0, user] + length[1, user] - n_common
        out[user] = n_common / divisor


# --- Their strings -------------------------------------------------------------------------------


class MeasureSpec(NamedTuple):
    """A measure that a call asks for."""

    measure: Measure
    k: int | None
    values: dict[str, Any]  # of its options

    def fill(self, pairs: Pairs, out: FloatArray) -> None:
        """Compute the values of a block of users."""
        self.measure.compute(pairs.to_rank(self.k), out, **self.values)


def read_measures(measures: MeasuresList) -> dict[str, MeasureSpec]:
    """Read the measures asked for, under the caller's own spelling and in the caller's order."""
    value: object = measures  # of any type
    if isinstance(value, bytes) or hasattr(value, "shape") or not isinstance(value, Iterable):
        msg = f"measures must be a list of {_EXPECTED}, got {measures!r:.80}"
        raise MetricSpecError(msg)
    texts = [measures] if isinstance(measures, str) else list(measures)
    if not texts:
        msg = f"measures is empty; expected {_EXPECTED}"
        raise MetricSpecError(msg)
    return {text: _read(text) for text in texts}


def _read(text: str) -> MeasureSpec:
    """Read one measure string; its errors name it."""
    name, options, k = take_apart(text, "measure", _EXAMPLE)
    try:
        measure = _lookup(name)
        values = {option.name: option.default for option in measure.options.values()}
        for name, value in options.items():
            values[name] = measure.option(name).check(value)
        if k is not None and ":" in k:
            msg = f"a measure has no range of cutoffs, got {k!r}; give a measure for each cutoff"
            raise MetricSpecError(msg)
        return MeasureSpec(measure, None if k is None else check_k(k), values)
    except MetricSpecError as error:
        msg = f"in measure {text!r}: {error}"
        raise type(error)(msg, argument=error.argument) from None


def _lookup(name: str) -> Measure:
    """Find the measure called ``name``; the error names the nearest one, or all."""
    if name in MEASURES:
        return MEASURES[name]
    hint = did_you_mean(name, MEASURES) or f"choose from {', '.join(MEASURES)}"
    if name in METRICS:
        hint = (
            f"it is a metric of one model and a truth, for Metrics.compute; measures of two lists "
            f"are {', '.join(MEASURES)}"
        )
    msg = f"unknown measure {name!r}; {hint}"
    raise UnknownMetricError(msg)
