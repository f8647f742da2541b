"""From two tables to lists and truth: ids numbered once, rows in list order, errors by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recmetrics._core.errors import ArgumentError
from recmetrics._core.inputs import (
    LARGEST_RELEVANCE,
    FlatLists,
    InvalidItems,
    Rankings,
    Rows,
    users_of_entries,
)
from recmetrics._core.spec import TableTies
from recmetrics._core.types import FloatArray, IntArray, Invalid, RankGaps, UserValues
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import (
    Frame,
    described,
    keyed,
    numbers_of,
    refuse_row,
    sort_keys_of,
    take,
    value_at,
    with_columns,
)
from recmetrics.tables._ids import as_integers, refuse_repeats, stack, warn_of_foreign_ids
from recmetrics.tables._numbering import combine, group, number, sort_groups

_LAST_RANK = 1 << 24  # the weights of so many ranks take 128 MiB


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
    model_of: IntArray  # lists with the same values of the other keys are of one model
    truth_rows: Rows
    truth_order: IntArray

    @property
    def lengths(self) -> IntArray:
        """The number of items of each list, with the empty ones of ``with_missing``."""
        return np.diff(self.lists.start)

    @property
    def truth_sizes(self) -> IntArray:
        """The number of rows of the truth of each list."""
        return np.diff(self.truth_rows.start)[self.truth_of]

    def key_of(self, one: int) -> str:
        """Write the keys of a list, for a message."""
        return described(self.keys, self.keys.columns, one)

    def missing(self) -> tuple[int, str]:
        """Count the missing lists that the truth expects, and give the keys of the first."""
        has_truth = np.diff(self.truth_rows.start) > 0
        present = self.model_of[has_truth[self.truth_of]]
        n_models = max(1, int(self.model_of.max(initial=0)) + 1)
        short = has_truth.sum() - np.bincount(present, minlength=n_models)
        if not short.any():
            return 0, ""
        model = int(np.flatnonzero(short)[0])
        has_truth[self.truth_of[self.model_of == model]] = False
        row = self.truth_order[self.truth_rows.start[np.flatnonzero(has_truth)[0]]]
        return int(short.sum()), described(self.truth, self.columns.truth_keys, int(row))

    def with_missing(self) -> ListsAndTruth:
        """Add an empty list wherever the truth expects one."""
        others = [name for name in self.keys.columns if name not in self.columns.truth_keys]
        n_models = max(int(self.model_of.max(initial=-1)) + 1, int(not others))
        is_missing = np.tile(np.diff(self.truth_rows.start) > 0, (n_models, 1))
        is_missing[self.model_of, self.truth_of] = False
        models, truths = np.nonzero(is_missing)
        first_rows = self.truth_order[self.truth_rows.start[truths]]
        keys = take(self.truth.select(self.columns.truth_keys), first_rows)
        if others:
            _, firsts = np.unique(self.model_of, return_index=True)
            same_model = take(self.keys, firsts[models])
            keys = keys.with_columns(*(same_model[name] for name in others))
        start, reach = self.lists.start, self.lists.reach
        lists = self.lists._replace(
            start=np.append(start, np.full(len(truths), start[-1])),
            reach=None if reach is None else np.append(reach, np.zeros(len(truths), np.int64)),
        )
        return replace(
            self,
            keys=stack(self.keys, keys.select(self.keys.columns)),
            lists=lists,
            truth_of=np.concatenate([self.truth_of, truths]),
            model_of=np.concatenate([self.model_of, models]),
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

    def result(self, values: Mapping[str, UserValues], *, included: bool) -> Any:
        """Make the table of the values of each list, in the caller's own kind of table."""
        columns = {"nrecs": self.lengths, **values}
        if included:
            columns["ntruth"] = self.truth_sizes
        for name in self.keys.columns:
            if name in columns:
                msg = (
                    f"recs is grouped by {name!r}, but the result has a column of that name for a "
                    "count or a metric; rename the column in both tables"
                )
                raise ArgumentError(msg)
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
) -> ListsAndTruth:
    """Number the ids, group the rows, and check both.

    ``items`` are the numbers of the items of ``recs`` and then of ``truth``, where the caller
    has numbered them together with those of other tables. Other ``repeats`` than "raise" leave
    the repeats in ``recs``. ``n_items`` is the size of the catalogue, None where unknown.
    """
    ids = _number_ids(recs, truth, columns, items)
    start, order = group(ids.lists, _count(ids.lists, columns))
    first_rows = order[start[:-1]] if len(recs) else np.empty(0, np.int64)
    own = ids.items[: len(recs)]
    rank = _sort_lists(recs, columns, ids, start, order, ties)
    lists = FlatLists(own[order], start)
    if repeats == "raise" and lists.named_before().any():
        advice = (
            "expected an item once in each list; give the column that distinguishes the lists, or "
            "type repeats='waste' or repeats='drop'"
        )
        refuse_repeats(recs, "recs", [*columns.keys, columns.item], [ids.lists, own], advice)
    gapped = np.empty(0, np.int64)
    if rank is not None:
        if _has_equals(start, rank):
            name = str(columns.rank)
            _, ranks = np.unique(sort_keys_of(recs, "recs", name), return_inverse=True)
            advice = "expected a rank once in each list; give the column that distinguishes them"
            refuse_repeats(recs, "recs", [*columns.keys, name], [ids.lists, ranks], advice)
        lists, gapped = _read_gaps(recs, columns, lists, order, rank_gaps, n_items)
    truth_rows, truth_order = _read_truth(truth, columns, ids)
    return ListsAndTruth(
        recs=recs,
        truth=truth,
        columns=columns,
        keys=take(recs.select(columns.keys), first_rows) if columns.keys else recs.select([]),
        lists=lists,
        order=order,
        gapped=gapped,
        truth_of=ids.truths[first_rows] if columns.keys else np.zeros(1, np.int64),
        model_of=ids.models[first_rows] if columns.keys else np.zeros(1, np.int64),
        truth_rows=truth_rows,
        truth_order=truth_order,
    )


def _number_ids(recs: Frame, truth: Frame, columns: Columns, items: IntArray | None) -> _Ids:
    n_recs, own = len(recs), (recs, "recs")
    both = (own, (truth, "truth"))
    of_both = {} if items is None else {columns.item: items}
    for name in (columns.item, *columns.truth_keys):
        if name not in of_both:
            of_both[name], _ = number(as_integers([(*table, name) for table in both]))
    for name, ids in of_both.items():
        warn_of_foreign_ids(recs, truth, "truth", name, ids[:n_recs], ids[n_recs:])
    others = [
        number(as_integers([(*own, name)]))[0] for name in columns.keys if name not in of_both
    ]
    truths = _together([of_both[name] for name in columns.truth_keys], n_recs + len(truth))
    return _Ids(
        of_both[columns.item],
        truths,
        _together(others, n_recs),
        _together([truths[:n_recs], *others], n_recs),
    )


def _together(columns: list[IntArray], n_rows: int) -> IntArray:
    if len(columns) > 1:
        return number(combine(columns))[0]
    return columns[0] if columns else np.zeros(n_rows, np.int64)


def _count(ids: IntArray, columns: Columns) -> int:
    return int(ids.max(initial=-1 if columns.keys else 0)) + 1


def _read_truth(truth: Frame, columns: Columns, ids: _Ids) -> tuple[Rows, IntArray]:
    n_truth = len(truth)
    own, items = (each[len(each) - n_truth :] for each in (ids.truths, ids.items))
    start, order = group(own, _count(ids.truths, columns))
    keys = items[order].astype(np.float64)
    sort_groups(start, order, keys)
    if _has_equals(start, keys):
        advice = "expected an item once; drop the rows that repeat another"
        refuse_repeats(truth, "truth", [*columns.truth_keys, columns.item], [own, items], advice)
    return Rows(start, keys.astype(np.int64), _relevance(truth, columns)[order]), order


def _has_equals(start: IntArray, values: FloatArray) -> bool:
    groups = users_of_entries(start)
    return bool(((values[1:] == values[:-1]) & (groups[1:] == groups[:-1])).any())


def _relevance(truth: Frame, columns: Columns) -> FloatArray:
    if columns.relevance is None:
        return np.ones(len(truth))
    relevance = numbers_of(truth, "truth", columns.relevance)
    wrong = (relevance < 0.0) | (relevance > LARGEST_RELEVANCE)
    expected = f"expected relevances from 0 to {LARGEST_RELEVANCE:g}"
    refuse_row(wrong, "truth", columns.relevance, lambda row: f"is {relevance[row]:g}, {expected}")
    return relevance


def _sort_lists(
    recs: Frame, columns: Columns, ids: _Ids, start: IntArray, order: IntArray, ties: TableTies
) -> FloatArray | None:
    """Sort the rows of each list by rank, else by score, else leave them as they come.

    Returns the key that sorts the ranks in that order, or None.
    """
    if columns.rank is not None:
        rank = sort_keys_of(recs, "recs", columns.rank)[order]
        sort_groups(start, order, rank)
        return rank
    if columns.score is not None:
        score = sort_keys_of(recs, "recs", columns.score)
        told = "is -inf, which means not recommended; leave such rows out"
        refuse_row(score == -np.inf, "recs", columns.score, lambda _: told)
        if ties == "trec":
            _sort_by_id(recs, columns, ids.items[: len(recs)], start, order)
            with np.errstate(over="ignore"):
                score = score.astype(np.float32).astype(np.float64)
        sort_groups(start, order, -score[order])
    return None


def _sort_by_id(
    recs: Frame, columns: Columns, items: IntArray, start: IntArray, order: IntArray
) -> None:
    """Sort the rows of each list by the bytes of the item's id, the last one first."""
    numbers, first = number(items)
    ids = take(recs.select(columns.item), first).get_column(columns.item).to_list()
    words = [one if isinstance(one, bytes) else str(one).encode() for one in ids]
    place = np.empty(len(words))
    place[sorted(range(len(words)), key=words.__getitem__, reverse=True)] = np.arange(len(words))
    sort_groups(start, order, place[numbers[order]])


def _read_gaps(
    recs: Frame,
    columns: Columns,
    lists: FlatLists,
    order: IntArray,
    rank_gaps: RankGaps,
    n_items: int | None,
) -> tuple[FlatLists, IntArray]:
    """Find the gaps in the ranks of each list; kept ranks must be integers from 1."""
    name = str(columns.rank)
    numbers = numbers_of(recs, "recs", name)
    ranks = numbers[order]
    of_list = lists.users()
    begin = lists.start[of_list]
    offset = ranks - (np.arange(len(ranks)) - begin)  # without a gap, 0 or 1 in all of a list
    gapped = np.unique(of_list[(offset != offset[begin]) | ~np.isin(offset, (0.0, 1.0))])
    if rank_gaps == "close":
        return lists, gapped
    most = n_items if n_items is not None and gapped.size else _LAST_RANK
    wrong = (numbers < 1.0) | (numbers > most) | (numbers != np.floor(numbers))
    told = (
        f"expected integers from 1 to {most:,}"
        f"{'' if most == _LAST_RANK else ', the size of the catalogue'}, since ranks are kept as "
        "they are; rank_gaps='close' uses only the order of the ranks"
    )
    refuse_row(wrong, "recs", name, lambda row: f"holds rank {value_at(recs, name, row)!r}, {told}")
    if gapped.size:
        kept = ranks.astype(np.int64)
        reach = np.where(np.diff(lists.start) > 0, np.append(0, kept)[lists.start[1:]], 0)
        lists = lists._replace(ranks=kept, reach=reach)
    return lists, gapped
