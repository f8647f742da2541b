"""``overlap``: how much the lists of two models have in common, user by user.

One of the two models leads: its lists are selected block by block, as for metrics that read lists.
For the users of each block, the lists of the other model are selected as well and compared.
"""

from __future__ import annotations  # help() shows the names of types, not what they stand for

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np

from recmetrics._core.errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    NaNScoreError,
    ShapeError,
    warn,
)
from recmetrics._core.inputs import (
    Rankings,
    Rows,
    ScoreMatrix,
    SparseScores,
    SparseSets,
    Users,
    may_be_indices,
    read_count,
    read_labels,
    read_set,
    refuse_labels_first,
)
from recmetrics._core.metrics import MeasuresList, MeasureSpec, compared, read_measures
from recmetrics._core.options import ForLists, ForRankedLists, takes
from recmetrics._core.results import KeptLists
from recmetrics._core.selection import (
    AnyScores,
    Lists,
    Ranker,
    count_work,
    longest_list,
    ranker_of,
    read_model,
)
from recmetrics._core.spec import Request, make_spec
from recmetrics._core.types import Factors, IntArray, Invalid, Ranking, Scores, UserValues

_HEAD_ROWS = 100  # which show whether scores look like lists

R = TypeVar("R")


@takes(ForLists)
def overlap(
    a: Scores | Factors, b: Scores | Factors, measures: MeasuresList, **shared: Unpack[ForLists]
) -> dict[str, UserValues]:
    """Measure how much the lists of two models have in common, for each user.

    No truth is needed. Use it to see how much retraining changes the recommendations, or whether
    two models differ at all.

    >>> import recmetrics
    >>> before, after = [[5, 4, 3, 2, 1], [1, 2, 3, 4, 5]], [[5, 3, 4, 2, 1], [5, 4, 3, 2, 1]]
    >>> recmetrics.overlap(before, after, ["overlap@2", "rbo(p=0.9)@2"])
    {'overlap@2': array([0.5, 0. ]), 'rbo(p=0.9)@2': array([0.55, 0.  ])}

    Parameters
    ----------
    a, b
        The scores of the two models: (n_users, n_items) each, in any form that ``Metrics.compute``
        takes, of the same users and items. Or a factor model as a tuple of matrices,
        ``(user_factors, item_factors)`` or ``(user_factors, item_factors, item_bias)``, as for
        ``Metrics.compute_factors``. The two may have different forms. Lists of item indices are for
        ``overlap_ranked``; here they would be read as scores.
    measures
        Strings: ``name``, ``name@k`` or ``name(option=value, ...)@k``. With ``@k``, only the first
        k ranks count. The notes below describe the measures.
    exclude, candidates
        As in ``Metrics.compute``; they apply to both models.
    nan, n_threads, progress
        As in ``Metrics.compute``.

    Returns
    -------
    dict
        A float64 array of shape (n_users,) for each string, in the order given and under the
        string as typed. A user with two empty lists has NaN; a user with one empty list has 0.
        Swapping the models or changing the number of threads does not change the values.

    Raises
    ------
    MetricSpecError
        A string that cannot be read, or an unknown measure or option.
    InputError, InputTypeError
        As in ``Metrics.compute``; the message begins with "in a:" or "in b:". Also a ShapeError if
        the models have different users or items.
    ArgumentError
        As in ``Metrics.compute``.

    Warns
    -----
    RecmetricsWarning
        If both matrices look like lists of item indices.

    Notes
    -----
    Each measure compares two lists. If the string has a cutoff k, only the first k ranks of each
    list are used.

    ``overlap``
        Items in both lists / k. If both lists are shorter than k, the divisor is the length of the
        longer list.
    ``jaccard``
        Items in both lists / items in at least one list.
    ``rbo(p=0.9, form=ext)``
        Rank-biased overlap (Webber, Moffat, Zobel: A similarity measure for indefinite rankings,
        TOIS 2010). Let A_d be the number of items that are in both lists among the first d ranks,
        divided by d, and let l be the length of the longer list. RBO is the sum over d <= l of (1 -
        p) p^(d - 1) A_d, plus a term for the ranks below l. ``form=ext`` (RBO_ext) extrapolates the
        agreement beyond the end of both lists and, if their lengths differ, beyond the end of the
        shorter one. ``form=min`` (RBO_min) is the lowest value of all possible continuations.
        ``form=sum`` has no such term, so equal lists have 1 - p^l. ``form=norm`` is ``sum`` divided
        by 1 - p^l. A higher p gives more weight to deeper ranks: about 85 % of the weight is on the
        first 10 ranks with p=0.9, and on the first 50 ranks with p=0.98.

    Equal lists have the value 1, except with ``form=min`` and ``form=sum``. Lists without a common
    item have 0. Items are ranked as for all metrics: equal scores are ranked by item index. Items
    that are excluded, are not candidates or have the score -inf are left out.
    """
    specs = read_measures(measures)
    rules = _rules(specs, shared)
    scores_a = _in("a", read_model, a)
    scores_b = _in("b", read_model, b)
    exclude = shared.get("exclude")
    candidates = shared.get("candidates")
    tables = {"a": a, "b": b, "exclude": exclude, "candidates": candidates}
    shape = scores_a.shape
    if shape != scores_b.shape:
        msg = f"a and b must have the same users and items, got {shape} and {scores_b.shape}"
        error = ShapeError(msg + _if_transposed("b", scores_b.shape, shape))
        refuse_labels_first(error, tables)
        raise error
    if _are_lists(scores_a) and _are_lists(scores_b):
        warn(
            f"a and b are read as scores of {shape[1]} items, but each row holds different "
            "integers, some above that, as lists of item indices do; for lists type "
            "recmetrics.overlap_ranked(a, b, measures), for scores "
            "recmetrics.overlap(np.array(a, float), np.array(b, float), measures)"
        )

    read_labels(tables)
    sets: dict[str, Any] = {}
    for name, value in (("exclude", exclude), ("candidates", candidates)):
        if value is None:
            continue
        shape_of_set = tuple(getattr(value, "shape", ()))
        if len(shape_of_set) == 2 and shape_of_set != shape:
            msg = f"{name} must have the users and items of a and b, {shape}, got {shape_of_set}"
            raise ShapeError(msg + _if_transposed(name, shape_of_set, shape), argument=name)
        sets[name] = read_set(value, name, shape)
    n_users, n_items = shape
    users = Users(SparseSets(Rows.none(n_users), n_items), **sets, n_items=n_items)
    return _compare(scores_a, scores_b, users, n_items, specs, rules)


@takes(ForRankedLists)
def overlap_ranked(
    a: Ranking,
    b: Ranking,
    measures: MeasuresList,
    *,
    n_items: int | None = None,
    repeats: Invalid = "raise",
    unknown: Invalid = "raise",
    **shared: Unpack[ForRankedLists],
) -> dict[str, UserValues]:
    """Measure how much two rankings of each user have in common.

    >>> import recmetrics
    >>> recmetrics.overlap_ranked([[2, 0, 1], [1, -1, -1]], [[0, 2, 3], []], "jaccard")
    {'jaccard': array([0.5, 0. ])}

    Parameters
    ----------
    a, b
        The rankings of the two models for the same users, in any form that
        ``Metrics.compute_ranked`` takes; they may have different lengths.
    measures, n_threads, progress
        As in ``overlap``.
    n_items
        The number of items. If it is given, an index outside the catalogue is an error.
    repeats, unknown
        As in ``Metrics.compute_ranked``. A wasted rank never matches the other list; wasted ranks
        after the last item of a list do not count.

    Returns
    -------
    dict
        As in ``overlap``.

    Raises
    ------
    MetricSpecError, InputError, InputTypeError, ArgumentError
        As in ``overlap``. Also an InputError if a ranking contains an item twice, an item outside
        the catalogue, or an item after a -1.
    """
    specs = read_measures(measures)
    # Only the whole list shows whether a wasted rank is behind its last item.
    rules = _rules(specs, shared, whole="waste" in (repeats, unknown))
    if unknown != "raise" and n_items is None:
        msg = f"unknown={unknown!r} needs the size of the catalogue; type n_items="
        raise ArgumentError(msg)

    def read(ranking: Ranking) -> Rankings:
        return Rankings(ranking, n_items, repeats=repeats, unknown=unknown)

    rankings_a = _in("a", read, a)
    rankings_b = _in("b", read, b)
    read_labels({"a": a, "b": b}, axes=("users",))
    n_users = rankings_a.shape[0]
    n_users_b = rankings_b.shape[0]
    if n_users != n_users_b:
        msg = (
            f"a and b must have rankings of the same users, got those of {n_users} and {n_users_b}"
        )
        raise ShapeError(msg)
    catalogue = read_count(n_items, n_users)
    users = Users(SparseSets(Rows.none(n_users), catalogue), n_items=catalogue)
    bound = 1 + max(rankings_a.largest_item, rankings_b.largest_item)
    return _compare(rankings_a, rankings_b, users, bound, specs, rules)


def _are_lists(scores: AnyScores) -> bool:
    """Say whether scores look like lists of item indices, of more items than they have columns."""
    if not isinstance(scores, ScoreMatrix) or scores.array.ndim != 2:
        return False
    head = scores.array[:_HEAD_ROWS]
    return head.shape[1] > 1 and may_be_indices(head) and bool(head.max() > head.shape[1])


def _if_transposed(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """Say what to type if a matrix of this shape looks transposed; "" if not."""
    return f"; it looks transposed: type {name}.T" if shape == expected[::-1] else ""


class _Model(NamedTuple):
    """One of the two models, with its name in errors."""

    name: str
    scores: AnyScores | Rankings

    def leading_order(self) -> int:
        """A number by the form of the scores; the model with the lower number leads."""
        if isinstance(self.scores, SparseScores):
            return 2
        return 1 if isinstance(self.scores, ScoreMatrix) else 0

    def ranker(self, users: Users, rows: slice | None = None) -> Ranker:
        """Make the ranker of all users, or of some consecutive ones."""
        if rows is None:
            return ranker_of(self.scores, users)
        return ranker_of(self.scores.take(rows), users.take(rows))


def _in(name: str, function: Callable[..., R], *arguments: Any) -> R:
    """Call a function; its errors name the model."""
    try:
        return function(*arguments)
    except (InputError, InputTypeError) as error:
        if str(error).startswith(("in a: ", "in b: ")):
            raise
        msg = f"in {name}: {error}"
        raise type(error)(msg, argument=name) from None


def _rules(
    specs: Mapping[str, MeasureSpec], shared: ForLists | ForRankedLists, *, whole: bool = False
) -> Request:
    """Make a request whose lists are as long as the measures read; no metric of it is computed.

    The lists are whole if a measure has no cutoff, or with ``whole``.
    """
    cutoffs = [spec.k for spec in specs.values() if spec.k is not None]
    max_cutoff = None  # the whole list
    if not whole and len(cutoffs) == len(specs):
        max_cutoff = max(cutoffs)
    return Request(make_spec("hit", max_cutoff), **shared)


def _compare(
    a: AnyScores | Rankings,
    b: AnyScores | Rankings,
    users: Users,
    n_items: int,
    specs: Mapping[str, MeasureSpec],
    rules: Request,
) -> dict[str, UserValues]:
    """Compute the measures; all items are below ``n_items``, even if the catalogue is unknown."""
    # Either model may lead, since all measures are symmetric. Its blocks of users are those of the
    # call: of a factor model, whose blocks begin at fixed users, rather than of a matrix; of a
    # dense one rather than of a sparse one, whose blocks have many users.
    models = _Model("a", a), _Model("b", b)
    leader, follower = sorted(models, key=_Model.leading_order)
    longest = max(longest_list(a), longest_list(b))
    depth = rules.cutoffs(users.n_items, longest).hits or 0
    for model in models:
        count_work(model.scores, users, None, depth)
    reader = _Comparison(follower, users, n_items, specs, rules, depth)
    _in(leader.name, leader.ranker(users).hits, None, rules, reader)
    return reader.values


@dataclass
class _Comparison:
    """A reader of the lists of one model, which compares them with those of the other one."""

    follower: _Model
    users: Users
    n_items: int  # all items are below it
    specs: Mapping[str, MeasureSpec]
    rules: Request
    depth: int  # the length to which lists are read
    row_items: int = 0  # entries of a dense matrix that are read for each list

    def __post_init__(self) -> None:
        self.values = {text: np.empty(self.users.truth.n_users) for text in self.specs}
        # For one block, in one of the threads of the call.
        definition = next(iter(self.rules.definitions.values()))
        self.rules = Request(definition.spec, nan=self.rules.nan, n_threads=1)

    def offer(self, items: IntArray | slice) -> None:
        """Do nothing: no measure reads the catalogue."""

    def read(self, lists: Lists) -> None:
        """Compare the lists of a block of users with those of the other model."""
        other_lists = _in(self.follower.name, self._follow, lists.rows)
        pairs = compared(lists.by_rank(self.depth), other_lists, self.n_items)
        for text, spec in self.specs.items():
            spec.fill(pairs, self.values[text][lists.rows])

    def _follow(self, rows: slice) -> tuple[IntArray, IntArray]:
        """Give the lists of the other model for a block of users, and the length of each row.

        Items are (n_users, length), best first, -1 after the end of a list.
        """
        n_items = self.users.n_items or 0
        lists = KeptLists(rows.stop - rows.start, n_items, self.depth)
        try:
            self.follower.ranker(self.users, rows).hits(None, self.rules, lists)
        except NaNScoreError:
            # The message counts the NaN of this block. To rank all users raises one of all NaN.
            all_lists = KeptLists(self.users.truth.n_users, n_items, 1)
            self.follower.ranker(self.users).hits(None, self.rules, all_lists)
        items = lists.joined()
        return items, np.full(len(items), items.shape[1])
