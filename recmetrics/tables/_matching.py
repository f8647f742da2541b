"""From two tables to lists and the truth of each, their ids numbered together.

A missing list is one that the truth expects: of a user with truth but without recommendations, for
each model, where the recommendations are of several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.inputs import FlatLists, InvalidItems, ItemSets, Rankings, Rows
from recmetrics._core.spec import Request, TableTies
from recmetrics._core.types import IntArray, Invalid, RankGaps, UserValues
from recmetrics._files import weight_name
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import Frame, described, keyed, read_frame, take, with_columns
from recmetrics.tables._ids import (
    distinct_rows,
    number_ids,
    refuse_repeats,
    stack,
    warn_of_foreign_ids,
)
from recmetrics.tables._list_order import how_to_divide, read_gaps, refuse_equal_ranks, sort_lists
from recmetrics.tables._numbering import combine, equals_previous, group, number
from recmetrics.tables._truth import read_truth


class MissingLists(NamedTuple):
    """The missing lists: how many, and the keys of the first, "" without any.

    ``n_users_across`` has, for each key of models with several values, the number of users with
    truth and with lists of several of them; 0 where the key divides the users, as their segment
    does. It is empty if no user with truth has a list.
    """

    n: int
    first: str
    n_users_across: Mapping[str, int]


@dataclass(frozen=True)
class ListsAndTruth:
    """The lists of a recommendations table and the truth of each.

    List l has the rows ``order[start[l]:start[l + 1]]`` of ``recs``, between the same places as its
    items in ``lists``, and the truth ``truth_of[l]``; truth t has the rows ``truth_order[...]`` of
    ``truth``, between the same places as its items in ``truth_rows``. Lists and truths are numbered
    as they first appear.
    """

    recs: Frame
    truth: Frame
    columns: Columns
    keys: Frame  # of each list
    lists: FlatLists  # with ranks if gaps are kept, or if invalid items wasted ranks
    order: IntArray
    gapped: IntArray  # the lists whose ranks are not 1, 2, 3, ..., nor 0, 1, 2, ...
    truth_of: IntArray
    model_of: IntArray
    models: Frame  # the model keys of each model
    truth_rows: Rows
    truth_order: IntArray
    excluded: ItemSets | None = None  # the items that must not be recommended in each list
    n_taken_out: IntArray | int = 0  # of each list, because they are excluded

    @property
    def lengths(self) -> IntArray:
        """The number of items of each list, with the empty ones of ``with_missing``."""
        return np.diff(self.lists.start)

    @property
    def truth_sizes(self) -> IntArray:
        """The number of rows of the truth of each list."""
        return np.diff(self.truth_rows.start)[self.truth_of]

    @property
    def n_excluded(self) -> IntArray:
        """The number of items that must not be recommended in each list, listed or not."""
        if self.excluded is None:
            return np.zeros(len(self.truth_of), np.int64)
        return np.diff(self.excluded.rows(slice(0, len(self.truth_of))).start)

    @property
    def n_models(self) -> int:
        """The number of models, 1 where nothing but the truth's keys tells lists apart."""
        return len(self.models) if self.columns.model_keys else 1

    def key_of(self, index: int) -> str:
        """Write the keys of a list, for a message."""
        return described(self.keys, self.keys.columns, index)

    def missing(self) -> MissingLists:
        """Count the missing lists that the truth expects, and give the keys of the first."""
        across = self._n_users_across()
        has_truth = np.diff(self.truth_rows.start) > 0
        models = self.model_of[has_truth[self.truth_of]]
        n_missing = has_truth.sum() - np.bincount(models, minlength=self.n_models)
        if not n_missing.any():
            return MissingLists(0, "", across)
        first_model = int(np.flatnonzero(n_missing)[0])
        has_truth[self.truth_of[self.model_of == first_model]] = False
        row = self.truth_order[self.truth_rows.start[np.flatnonzero(has_truth)[0]]]
        first = described(self.truth, self.columns.truth_keys, int(row))
        model_keys = self.columns.model_keys
        if model_keys:
            first = f"{described(self.models, model_keys, first_model)}, {first}"
        return MissingLists(int(n_missing.sum()), first, across)

    def _n_users_across(self) -> dict[str, int]:
        """Count the users that ``MissingLists`` documents."""
        n_users_by_key = {}
        has_truth = self.truth_sizes > 0
        truth_of = self.truth_of[has_truth]
        for name in self.columns.model_keys:
            value_of_model, firsts = number_ids((self.models, "recs", name))
            values = value_of_model[self.model_of[has_truth]]
            # A bucket of users may have lists of one model alone.
            if len(firsts) < 2 or not len(values):
                continue
            greatest = np.zeros(len(self.truth_rows.start) - 1, np.int64)
            least = np.full_like(greatest, len(firsts))
            np.maximum.at(greatest, truth_of, values)
            np.minimum.at(least, truth_of, values)
            n_users_by_key[name] = int(np.count_nonzero(greatest > least))
        return n_users_by_key

    def with_missing(self, users: Any = None) -> ListsAndTruth:
        """Add an empty list wherever the truth expects one, and for users without any.

        ``users`` is a table with a column of them, None: there are none.
        """
        is_missing = np.tile(np.diff(self.truth_rows.start) > 0, (self.n_models, 1))
        is_missing[self.model_of, self.truth_of] = False
        missing_models, missing_truths = np.nonzero(is_missing)
        first_rows = self.truth_order[self.truth_rows.start[missing_truths]]
        keys = take(self.truth.select(self.columns.truth_keys), first_rows)
        truth_rows = self.truth_rows
        if users is not None:
            # They share a truth without items.
            users = self._without_lists(read_frame(users, "recs"), keys)
            n_models = self.n_models
            keys = stack(keys, take(users, np.tile(np.arange(len(users)), n_models)))
            missing_models = np.append(missing_models, np.repeat(np.arange(n_models), len(users)))
            of_none = np.full(len(users) * n_models, len(truth_rows.start) - 1)
            missing_truths = np.append(missing_truths, of_none)
            truth_rows = truth_rows._replace(
                start=np.append(truth_rows.start, truth_rows.start[-1])
            )
        if self.columns.model_keys:
            keys = keys.with_columns(*take(self.models, missing_models).iter_columns())
        start = self.lists.start
        lists = self.lists._replace(start=np.append(start, np.full(len(missing_truths), start[-1])))
        if lists.last_ranks is not None:
            last_ranks = np.append(lists.last_ranks, np.zeros(len(missing_truths), np.int64))
            lists = lists._replace(last_ranks=last_ranks)
        return replace(
            self,
            keys=stack(self.keys, keys.select(self.keys.columns)),
            lists=lists,
            truth_of=np.concatenate([self.truth_of, missing_truths]),
            model_of=np.concatenate([self.model_of, missing_models]),
            truth_rows=truth_rows,
        )

    def _without_lists(self, users: Frame, missing: Frame) -> Frame:
        """Take those of ``users``, each once, that have no list and no missing one."""
        name = users.columns[0]
        tables = [(keys, "recs", name) for keys in (self.keys, missing, users)]
        _, first_rows = number_ids(*tables)
        first_rows = first_rows - len(self.keys) - len(missing)
        return take(users, first_rows[first_rows >= 0])

    def with_models(self, models: Frame | None) -> ListsAndTruth:
        """Add models that other users have lists of, if there are any."""
        if models is None:
            return self
        _, all_models = distinct_rows(stack(self.models, models))
        return replace(self, models=all_models)

    def without_excluded(self, excluded: ItemSets | None) -> ListsAndTruth:
        """Take out the items that must not be recommended: those below them move up."""
        if excluded is None:
            return self
        items = Rows(self.lists.start, self.lists.items, np.empty(len(self.order)))
        is_excluded = items.among(excluded.rows(slice(0, len(self.truth_of))))
        lists = self.lists.without(is_excluded, np.zeros_like(is_excluded), "drop", "raise")
        return replace(
            self,
            lists=lists._replace(places=None),
            order=self.order[~is_excluded],
            excluded=excluded,
            n_taken_out=self.lists.count_in(is_excluded),
        )

    def without_invalid(
        self, repeats: Invalid, unknown: Invalid, n_items: int
    ) -> tuple[ListsAndTruth, InvalidItems]:
        """Take out repeated items and items from ``n_items`` on, unless they are errors."""
        rankings = Rankings(self.lists, repeats=repeats, unknown=unknown)
        if rankings.is_strict:
            return self, InvalidItems()
        lists, counts = rankings.block(slice(0, len(self.truth_of)), n_items)
        order = self.order
        if lists.places is not None:
            order = order[self.lists.start[lists.users()] + lists.places]
        return replace(self, lists=lists, order=order), InvalidItems.of(counts)

    def result(
        self,
        values: Mapping[str, UserValues],
        user_weights: Mapping[str, UserValues],
        *,
        included: bool,
    ) -> Any:
        """Make the table of the values of each list, in the caller's own kind of table."""
        columns = {"nrecs": self.lengths, **values}
        for metric, weights in user_weights.items():
            columns[weight_name(metric)] = weights
        if included:
            columns["ntruth"] = self.truth_sizes
        for name in self.keys.columns:
            if name in columns:
                msg = (
                    f"recs is grouped by {name!r}, but the result has a column of that name for a "
                    "count or a metric; rename the column in both tables"
                )
                raise ArgumentError(msg, argument="by")
        return keyed(with_columns(self.keys, columns), self.keys.columns)


class _Ids(NamedTuple):
    """The ids of the rows as numbers 0, 1, 2, ..., as they first appear."""

    items: IntArray  # of recs, then of truth
    truths: IntArray  # of recs, then of truth
    models: IntArray  # of recs
    lists: IntArray  # of recs


def read_lists(
    recs: Frame,
    truth: Frame,
    columns: Columns,
    items: IntArray | None = None,
    *,
    rank_gaps: RankGaps = "close",
    ties: TableTies = "rows",
    repeats: Invalid = "raise",
    n_items: int | None = None,
    request: Request | None = None,
) -> ListsAndTruth:
    """Number the ids, group the rows, and check both.

    ``items`` are the numbers of the items of ``recs`` and then of ``truth``, where the caller
    has numbered them together with those of other tables. Other ``repeats`` than "raise" leave
    the repeats in ``recs``. ``n_items`` is the size of the catalogue, None where unknown.
    ``request`` is as in ``read_truth``.
    """
    n_recs = len(recs)
    ids = _number_ids(recs, truth, columns, items)
    start, order = group(ids.lists, _count_of_ids(ids.lists, columns))
    # Without keys, all rows are one list, which may have none.
    keys = recs.select([])
    truth_of = np.zeros(1, np.int64)
    model_of = np.zeros(1, np.int64)
    if columns.keys:
        first_rows = order[start[:-1]]  # before the lists are sorted
        keys = take(recs.select(columns.keys), first_rows)
        truth_of = ids.truths[first_rows]
        model_of = ids.models[first_rows]
    models = keys.select(columns.model_keys)
    if columns.model_keys:
        models = take(models, np.unique(model_of, return_index=True)[1])

    listed_items = ids.items[:n_recs]
    sorted_ranks = sort_lists(recs, columns, listed_items, start, order, ties)
    lists = FlatLists(listed_items[order], start)
    if repeats == "raise" and lists.named_before().any():
        repeated_ids = [ids.lists, listed_items]
        columns_of_lists = how_to_divide(recs, columns, repeated_ids)
        advice = (
            f"expected an item once in each list; {columns_of_lists} the lists, or type "
            "repeats='waste' or repeats='drop'"
        )
        refuse_repeats(recs, "recs", [*columns.keys, columns.item], repeated_ids, advice)
    gapped = np.empty(0, np.int64)
    if sorted_ranks is not None:
        if equals_previous(start, sorted_ranks).any():
            refuse_equal_ranks(recs, columns, ids.lists)
        lists, gapped = read_gaps(recs, columns, lists, order, rank_gaps, n_items)
    n_truths = _count_of_ids(ids.truths, columns)
    truth_rows, truth_order = read_truth(
        truth, columns, ids.truths[n_recs:], ids.items[n_recs:], n_truths, request
    )
    return ListsAndTruth(
        recs=recs,
        truth=truth,
        columns=columns,
        keys=keys,
        lists=lists,
        order=order,
        gapped=gapped,
        truth_of=truth_of,
        model_of=model_of,
        models=models,
        truth_rows=truth_rows,
        truth_order=truth_order,
    )


def _number_ids(recs: Frame, truth: Frame, columns: Columns, items: IntArray | None) -> _Ids:
    """Number the ids of items and of the keys; ``items`` are as in ``read_lists``."""
    n_recs = len(recs)
    ids_of = {} if items is None else {columns.item: items}  # of recs, then of truth
    for name in (columns.item, *columns.truth_keys):
        if name not in ids_of:
            ids_of[name], _ = number_ids((recs, "recs", name), (truth, "truth", name))
    for name, ids in ids_of.items():
        warn_of_foreign_ids(recs, truth, "truth", name, ids[:n_recs], ids[n_recs:])
    model_columns = [number_ids((recs, "recs", name))[0] for name in columns.model_keys]
    truths = _number_rows([ids_of[name] for name in columns.truth_keys], n_recs + len(truth))
    return _Ids(
        ids_of[columns.item],
        truths,
        _number_rows(model_columns, n_recs),
        _number_rows([truths[:n_recs], *model_columns], n_recs),
    )


def _number_rows(columns: list[IntArray], n_rows: int) -> IntArray:
    """Number the rows of ``columns`` of numbers, equal where all are; all 0 without columns."""
    if len(columns) > 1:
        return number(combine(columns))[0]
    return columns[0] if columns else np.zeros(n_rows, np.int64)


def _count_of_ids(ids: IntArray, columns: Columns) -> int:
    """Count the numbers 0, 1, ...; without keys there is one, also of tables without rows."""
    return int(ids.max(initial=-1 if columns.keys else 0)) + 1
