"""LensKit's metrics under LensKit's names and definitions (``lenskit.topn`` 0.14).

``RecListAnalysis`` recognises these functions of the tables of one list, and computes them for all
lists at once, through the equivalent metric string.

LensKit has two definitions of each metric except ``dcg``: that of the function, and that of its
bulk path, for tables with ranks. The bulk path reads the numbers of the ranks, divides
``precision(k)`` by k, and has other values for lists without truth.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from math import nan
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.spec import MetricSpec, OptionValue, make_spec
from recmetrics.tables._columns import choose_columns
from recmetrics.tables._frames import PANDAS, read_frame
from recmetrics.tables._matching import read_lists
from recmetrics.tables._values import FunctionMetric, StringMetric, TableMetric, measure_lists

Discount = Callable[[Any], Any]


def precision(recs: Any, truth: Any, k: int | None = None) -> float:
    """Compute hits / length of the list; with ``k``, only the top ``k`` counts.

    The value is 0 if the truth is empty, and undefined for an empty list. An item of the truth is
    relevant whatever its rating.

    Parameters
    ----------
    recs
        A list as a table with the column ``item``, best first.
    truth
        The truth of the same user: a table with the column ``item``, or a pandas table indexed by
        item; and, optionally, ``rating``.
    k
        The number of ranks that count; None for all.

    Returns
    -------
    float
        The value; NaN if it is undefined.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3, 4]}), pd.DataFrame({"item": [2, 4, 5]})
    >>> round(tables.precision(recs, truth), 3), tables.precision(recs, truth, k=1)
    (0.667, 1.0)
    """
    return _of_one_list(precision, recs, truth, k=k)


def recall(recs: Any, truth: Any, k: int | None = None) -> float:
    """Compute hits / R, or with ``k``, hits in the top k / min(R, k); R items are in the truth.

    The value is undefined if the truth is empty. Parameters, result and relevance are as in
    ``precision``.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3, 4]}), pd.DataFrame({"item": [2, 4, 5, 6]})
    >>> tables.recall(recs, truth), tables.recall(recs, truth, k=1)
    (0.5, 1.0)
    """
    return _of_one_list(recall, recs, truth, k=k)


def hit(recs: Any, truth: Any, k: int | None = None) -> float:
    """Return 1 if the list, or its top ``k``, contains an item of the truth, else 0.

    Otherwise as ``recall``.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs, truth = pd.DataFrame({"item": [2, 3]}), pd.DataFrame({"item": [3]})
    >>> tables.hit(recs, truth), tables.hit(recs, truth, k=1)
    (1.0, 0.0)
    """
    return _of_one_list(hit, recs, truth, k=k)


def recip_rank(recs: Any, truth: Any, k: int | None = None) -> float:
    """Compute 1 / rank of the first hit in the list, or in its top ``k``; 0 without a hit.

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
        As in ``precision``. Without ``rating``, every item of the truth has rating 1.
    discount
        The divisor of the gain at a rank: a callable of the rank (1, 2, ...) whose values never
        fall. A value below 1 counts as 1, such as log2 at the first rank.

    Returns
    -------
    float
        The value; 0 if the truth is empty.

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
    """Compute ``dcg`` / ``dcg`` of the best order of the truth; with ``k``, both of the top k.

    Parameters
    ----------
    recs, truth, discount
        As in ``dcg``.
    k
        As in ``precision``. Where it is None, the ideal has all of the truth, also beyond the
        length of the list.

    Returns
    -------
    float
        The value; NaN if the truth is empty or all of its ratings are 0.

    >>> import pandas as pd
    >>> from recmetrics import tables
    >>> recs = pd.DataFrame({"item": [1, 2]})
    >>> truth = pd.DataFrame({"item": [1, 2, 3], "rating": [3.0, 5.0, 4.0]})
    >>> round(tables.ndcg(recs, truth), 4), round(tables.ndcg(recs, truth, k=2), 4)
    (0.7344, 0.8889)
    """
    return _of_one_list(ndcg, recs, truth, discount=discount, k=k)


def _clipped(discount: Discount) -> OptionValue:
    """Make the option ``discount`` of a discount of LensKit, whose values below 1 count as 1."""
    if discount is np.log2:
        return "log2_clip"
    if not callable(discount):
        msg = f"discount must be a callable of the rank, such as np.log2, got {discount!r}"
        raise ArgumentError(msg)

    def clipped_discount(rank: Any) -> Any:
        """Give the weight of a rank, at most 1; what is no number is refused later."""
        divisor = discount(rank)
        try:
            return 1.0 / max(float(divisor), 1.0)
        except (TypeError, ValueError, OverflowError):
            return divisor  # no number: the metric refuses it, as it does for any discount

    return clipped_discount


class _Definition(NamedTuple):
    """One of the functions: its metric string, and its values for empty truth or lists."""

    make: Callable[..., MetricSpec]
    of_presence: bool  # every item of the truth is relevant
    without_truth: float
    without_truth_at_ranks: float = nan  # in tables with ranks


def _ndcg(discount: Discount, k: int | None) -> MetricSpec:
    """The spec of ``ndcg``; without ``k`` the ideal list has all of the truth."""
    ideal_depth = "all" if k is None else "k"
    return make_spec("ndcg", k, {"discount": _clipped(discount), "ideal_depth": ideal_depth})


_DEFINITIONS: dict[Callable[..., float], _Definition] = {
    precision: _Definition(lambda k: make_spec("precision", k, {"denom": "list"}), True, 0.0, 0.0),
    recall: _Definition(
        lambda k: make_spec("recall", k, {"denom": "relevant" if k is None else "capped"}),
        True,
        nan,
    ),
    hit: _Definition(lambda k: make_spec("hit", k), True, nan, 0.0),
    recip_rank: _Definition(lambda k: make_spec("mrr", k), True, 0.0, 0.0),
    dcg: _Definition(
        lambda discount: make_spec("dcg", None, {"discount": _clipped(discount)}), False, 0.0
    ),
    ndcg: _Definition(_ndcg, False, nan),
}


def of_function(
    function: Callable[..., Any], name: str, options: Mapping[str, Any]
) -> tuple[TableMetric, TableMetric]:
    """Define a function as LensKit's analysis computes it: for tables without ranks, and with."""
    if not any(function is key for key in _DEFINITIONS):  # it may have no hash
        if options:
            _bind(function, name, options)
        return (FunctionMetric(name, function, options),) * 2
    definition = _DEFINITIONS[function]
    arguments = _bind(function, name, options)
    arguments.apply_defaults()
    spec = definition.make(*arguments.args[2:])
    of_rows = StringMetric(name, spec, definition.of_presence, at_ranks=False, without_truth=nan)
    if function is dcg:
        return of_rows, of_rows

    at_ranks = True
    if function is precision:
        # Without k, hits / length of the list: the number of its items, not its last rank.
        at_ranks = spec.k is not None
        spec = make_spec("precision", spec.k, {"denom": "k"})
    of_ranks = StringMetric(
        name,
        spec,
        definition.of_presence,
        at_ranks=at_ranks,
        without_truth=definition.without_truth_at_ranks,
        without_items=None if function is ndcg else nan,
    )
    return of_rows, of_ranks


def _bind(
    function: Callable[..., Any], name: str, options: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Bind a function to the tables of a list and to options; refuse what it does not take."""
    signature = inspect.signature(function)
    try:
        return signature.bind(None, None, **options)
    except TypeError as error:
        options_of_function = ", ".join(list(signature.parameters)[2:]) or "no options"
        function_name = getattr(function, "__name__", type(function).__name__)
        msg = f"metric {name!r}: {error}; {function_name} takes {options_of_function}"
        raise ArgumentError(msg) from None


def _of_one_list(function: Callable[..., float], recs: Any, truth: Any, **options: Any) -> float:
    """Compute a function of LensKit for one list, by its definition for tables without ranks."""
    definition = _DEFINITIONS[function]
    metric = StringMetric(
        "",
        definition.make(**options),
        definition.of_presence,
        without_truth=definition.without_truth,
    )
    recs_frame = read_frame(recs, "recs")
    truth_frame = read_frame(truth, "truth")
    native = truth_frame.to_native()
    may_be_index = truth_frame.implementation is PANDAS and "item" not in truth_frame.columns
    if may_be_index and native.index.nlevels == 1:
        truth_frame = read_frame(native.rename_axis("item").reset_index(), "truth")
    columns = choose_columns(recs_frame, truth_frame, [], "item", in_order=True)
    lists = read_lists(recs_frame, truth_frame, columns)
    if function is precision and not len(recs_frame):
        return nan
    return float(measure_lists(lists, [metric])[""][0])
