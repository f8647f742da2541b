"""LensKit's metrics under LensKit's names and definitions (``lenskit.topn`` 0.14).

Each is a function of the tables of one list, as LensKit's are. ``RecListAnalysis`` knows them and
computes them for all lists at once, through the metric string that their definition stands for.

LensKit has two definitions of all but ``dcg``: that of the function, and that of tables with ranks,
its bulk path. The second reads the numbers of the ranks, divides ``precision(k)`` by k, and has
other values for lists without truth.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from math import nan
from typing import Any, NamedTuple

import numpy as np

from recmetrics._errors import ArgumentError
from recmetrics._spec import MetricSpec, OptionValue, make_spec
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import read_frame, with_item_column
from recmetrics.tables._problem import read_problem
from recmetrics.tables._values import StringMetric, measure_problem

Discount = Callable[[Any], Any]


def precision(recs: Any, truth: Any, k: int | None = None) -> float:
    """Compute hits / length of the list, at most ``k`` of it.

    0 where the truth is empty, undefined for an empty list. An item of the truth is relevant
    whatever its rating.

    Parameters
    ----------
    recs
        A list as a table with the column ``item``, best first.
    truth
        The truth of the same user: a table with the column ``item``, or a pandas table indexed by
        item; and maybe ``rating``.
    k
        The number of ranks that count; None for all.

    Returns
    -------
    float
        NaN where undefined.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3, 4]}), pd.DataFrame({"item": [2, 4, 5]})
    >>> round(tables.precision(recs, truth), 3), tables.precision(recs, truth, k=1)
    (0.667, 1.0)
    """
    return _of_one_list(precision, recs, truth, k=k)


def recall(recs: Any, truth: Any, k: int | None = None) -> float:
    """Compute hits / R; with ``k`` hits in the top k / min(R, k).

    Undefined where the truth is empty. Parameters, result and what is relevant: as ``precision``.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3, 4]}), pd.DataFrame({"item": [2, 4, 5, 6]})
    >>> tables.recall(recs, truth), tables.recall(recs, truth, k=1)
    (0.5, 1.0)
    """
    return _of_one_list(recall, recs, truth, k=k)


def hit(recs: Any, truth: Any, k: int | None = None) -> float:
    """Give 1 if the list, or its top ``k``, holds an item of the truth, else 0.

    Otherwise as ``recall``.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3]}), pd.DataFrame({"item": [3]})
    >>> tables.hit(recs, truth), tables.hit(recs, truth, k=1)
    (1.0, 0.0)
    """
    return _of_one_list(hit, recs, truth, k=k)


def recip_rank(recs: Any, truth: Any, k: int | None = None) -> float:
    """Compute 1 / rank of the first item of the truth in the list, or in its top ``k``, else 0.

    0 where the truth is empty, too. Otherwise as ``precision``.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> tables.recip_rank(pd.DataFrame({"item": [2, 3]}), pd.DataFrame({"item": [3]}))
    0.5
    """
    return _of_one_list(recip_rank, recs, truth, k=k)


def dcg(recs: Any, truth: Any, discount: Discount = np.log2) -> float:
    """Sum the ratings of the list, each divided by max(``discount(rank)``, 1).

    Parameters
    ----------
    recs, truth
        As ``precision`` takes them. Without ``rating`` every item of the truth has 1.
    discount
        The divisor of the gain at a rank, as a callable of the rank (1, 2, ...) that never falls;
        below 1 it counts as 1, as does log2 at the first rank.

    Returns
    -------
    float
        0 where the truth is empty.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3]}), pd.DataFrame({"item": [3], "rating": [4.0]})
    >>> tables.dcg(recs, truth)
    4.0
    >>> round(tables.dcg(recs, truth, discount=lambda rank: np.log2(rank + 1)), 3)
    2.524
    """
    return _of_one_list(dcg, recs, truth, discount=discount)


def ndcg(recs: Any, truth: Any, discount: Discount = np.log2, k: int | None = None) -> float:
    """Compute ``dcg`` / ``dcg`` of all the truth in the best order; with ``k`` both of the top k.

    Parameters
    ----------
    recs, truth, discount
        As ``dcg`` takes them.
    k
        As in ``precision``. Where it is None, the ideal has all of the truth, also beyond the
        length of the list.

    Returns
    -------
    float
        NaN where the truth is empty or all of its ratings are 0.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs = pd.DataFrame({"item": [1, 2]})
    >>> truth = pd.DataFrame({"item": [1, 2, 3], "rating": [3.0, 5.0, 4.0]})
    >>> round(tables.ndcg(recs, truth), 4), round(tables.ndcg(recs, truth, k=2), 4)
    (0.7344, 0.8889)
    """
    return _of_one_list(ndcg, recs, truth, discount=discount, k=k)


def _precision(k: int | None) -> MetricSpec:
    return make_spec("precision", k, {"denom": "list"})


def _precision_at_ranks(k: int | None) -> MetricSpec:
    return make_spec("precision", k, {"denom": "k"})


def _recall(k: int | None) -> MetricSpec:
    return make_spec("recall", k, {"denom": "relevant" if k is None else "capped"})


def _dcg(discount: Discount) -> MetricSpec:
    return make_spec("dcg", None, {"discount": _clipped(discount)})


def _ndcg(discount: Discount, k: int | None) -> MetricSpec:
    depth = "all" if k is None else "k"
    return make_spec("ndcg", k, {"discount": _clipped(discount), "ideal_depth": depth})


def _clipped(discount: Discount) -> OptionValue:
    if discount is np.log2:
        return "log2_clip"
    if not callable(discount):
        msg = f"discount must be a callable of the rank, such as np.log2, got {discount!r}"
        raise ArgumentError(msg)

    def clipped(rank: Any) -> Any:
        divisor = discount(rank)
        try:
            return max(float(divisor), 1.0)
        except (TypeError, ValueError, OverflowError):
            return divisor  # refused like that of any other metric

    return clipped


class _Definition(NamedTuple):
    """One of the functions: its metric string, and its values where there is nothing to measure."""

    make: Callable[..., MetricSpec]
    of_presence: bool  # every item of the truth is relevant
    without_truth: float
    # In tables with ranks; None where LensKit reads the rows of these, too.
    make_at_ranks: Callable[..., MetricSpec] | None
    without_truth_at_ranks: float = nan
    without_items_at_ranks: float | None = nan  # of a list without an item to rank k


def _hit(k: int | None) -> MetricSpec:
    return make_spec("hit", k)


def _recip_rank(k: int | None) -> MetricSpec:
    return make_spec("mrr", k)


_DEFINITIONS: dict[Callable[..., float], _Definition] = {
    precision: _Definition(_precision, True, 0.0, _precision_at_ranks, 0.0),
    recall: _Definition(_recall, True, nan, _recall),
    hit: _Definition(_hit, True, nan, _hit, 0.0),
    recip_rank: _Definition(_recip_rank, True, 0.0, _recip_rank, 0.0),
    dcg: _Definition(_dcg, False, 0.0, None),
    ndcg: _Definition(_ndcg, False, nan, _ndcg, nan, None),
}


def is_defined(function: Callable[..., Any]) -> bool:
    """Say whether a metric is one of the functions of this module."""
    return any(function is known for known in _DEFINITIONS)  # any callable; it may have no hash


def definition(function: Callable[..., Any], name: str, options: Mapping[str, Any]) -> StringMetric:
    """Define a function of this module with these options as a metric string."""
    known = _DEFINITIONS[function]
    spec = known.make(**_chosen(function, name, options))
    return StringMetric(name, spec, known.of_presence, without_truth=known.without_truth)


def definition_of_lists(
    function: Callable[..., Any], name: str, options: Mapping[str, Any], *, ranked: bool
) -> StringMetric:
    """Define it as LensKit's analysis computes it for tables with ranks, or without."""
    known = _DEFINITIONS[function]
    chosen = _chosen(function, name, options)
    if not ranked or known.make_at_ranks is None:
        spec = known.make(**chosen)
        return StringMetric(name, spec, known.of_presence, at_ranks=False, without_truth=nan)
    spec = known.make_at_ranks(**chosen)
    return StringMetric(
        name,
        spec,
        known.of_presence,
        # Hits / length of the whole list: the number of its items, not its last rank.
        at_ranks=function is not precision or spec.k is not None,
        without_truth=known.without_truth_at_ranks,
        without_items=known.without_items_at_ranks,
    )


def _chosen(function: Callable[..., Any], name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a function with their defaults."""
    bound = bind(function, name, options)
    bound.apply_defaults()
    return {key: value for key, value in bound.arguments.items() if key not in ("recs", "truth")}


def bind(
    function: Callable[..., Any], name: str, options: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Bind a function to the tables of a list and to options; refuse what it does not take."""
    signature = inspect.signature(function)
    try:
        return signature.bind(None, None, **options)
    except TypeError as error:
        takes = ", ".join(list(signature.parameters)[2:]) or "no options"
        called = getattr(function, "__name__", type(function).__name__)
        msg = f"metric {name!r}: {error}; {called} takes {takes}"
        raise ArgumentError(msg) from None


def _of_one_list(function: Callable[..., float], recs: Any, truth: Any, **options: Any) -> float:
    """Compute the metric of one list, its rows in the order given."""
    asked = definition(function, function.__name__, options)
    frame = read_frame(recs, "recs")
    relevant = with_item_column(read_frame(truth, "truth"), "item")
    rating = "rating" if "rating" in relevant.columns else None
    columns = Columns(keys=(), item="item", rank=None, score=None, rating=rating)
    problem = read_problem(frame, relevant, columns)
    if function is precision and not len(frame):
        return nan
    return float(measure_problem(problem, [asked])[asked.name][0])
