"""From two tables to lists and truth: ids numbered once, rows in list order, errors by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recmetrics._errors import ArgumentError, InputError, warn
from recmetrics._inputs import LARGEST_RELEVANCE, FlatLists, InvalidItems, Rows
from recmetrics._spec import TableTies
from recmetrics._types import FloatArray, IntArray, Invalid, RankGaps, UserValues
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import (
    Frame,
    described,
    keyed,
    numbers_of,
    require_columns,
    require_same_kind,
    sort_keys_of,
    take,
    value_at,
    with_columns,
)
from recmetrics.tables._ids import as_integers, stack
from recmetrics.tables._numbering import (
    combine,
    find_gaps,
    first_repeat,
    group,
    number,
    sort_groups,
)

_LAST_RANK = 1 << 24  # the weights of so many ranks take 128 MiB


class Gaps(NamedTuple):
    """The lists whose ranks are not 1, 2, 3, ..., nor 0, 1, 2, ...

    ``ranks`` are the ranks of the rows in list order, if there is such a list and the gaps are
    kept, or if invalid items wasted ranks. Then ``reach`` is the last rank of each list. Otherwise
    both are None.
    """

    n_lists: int = 0
    first: int = -1
    ranks: IntArray | None = None
    reach: IntArray | None = None

    def with_empty_lists(self, n_lists: int) -> Gaps:
        """Add the last ranks of ``n_lists`` lists without an item."""
        if self.reach is None:
            return self
        return self._replace(reach=np.append(self.reach, np.zeros(n_lists, np.int64)))


@dataclass(frozen=True)
class Problem:
    """The lists of a recommendations table and the truth of each.

    List l has the rows ``order[start[l]:start[l + 1]]`` of ``recs``, best first, and the truth
    ``truth_of[l]``; truth t has the rows ``truth_order[...]`` of ``truth``, between the same places
    as its items in ``truth_rows``. Lists and truths are numbered as they first appear.
    """

    recs: Frame
    truth: Frame
    columns: Columns
    keys: Frame  # of each list
    truth_keys: list[str]  # the key columns that the truth has
    start: IntArray
    order: IntArray
    items: IntArray  # of the rows in ``order``
    gaps: Gaps
    truth_of: IntArray
    model_of: IntArray  # lists with the same values of the other keys are of one model
    truth_rows: Rows
    truth_order: IntArray

    @property
    def n_lists(self) -> int:
        """The number of lists, with the empty ones of ``with_missing``."""
        return len(self.start) - 1

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
        return int(short.sum()), described(self.truth, self.truth_keys, int(row))

    def with_missing(self) -> Problem:
        """Add an empty list wherever the truth expects one."""
        expected = np.flatnonzero(np.diff(self.truth_rows.start))
        models, lists = np.unique(self.model_of, return_index=True)
        others = [name for name in self.keys.columns if name not in self.truth_keys]
        if not len(models) and not others:
            models = np.zeros(1, np.int64)
        absent = [np.setdiff1d(expected, self.truth_of[self.model_of == m]) for m in models]
        truths = np.concatenate([np.empty(0, np.int64), *absent])
        counts = [len(one) for one in absent]
        first_rows = self.truth_order[self.truth_rows.start[truths]]
        keys = take(self.truth.select(self.truth_keys), first_rows)
        if others:
            same_model = take(self.keys, np.repeat(lists, counts))
            keys = keys.with_columns(*(same_model[name] for name in others))
        return replace(
            self,
            keys=stack(self.keys, keys.select(self.keys.columns)),
            start=np.concatenate([self.start, np.full(len(truths), self.start[-1])]),
            truth_of=np.concatenate([self.truth_of, truths]),
            model_of=np.concatenate([self.model_of, np.repeat(models, counts)]),
            gaps=self.gaps.with_empty_lists(len(truths)),
        )

    def without_invalid(
        self, repeats: Invalid, unknown: Invalid, n_items: int
    ) -> tuple[Problem, InvalidItems]:
        """Take out repeated items and items from ``n_items`` on, unless they are errors."""
        lists = FlatLists(self.items, self.start, self.gaps.ranks, self.gaps.reach)
        is_unknown = (self.items >= n_items) & (unknown != "raise")
        is_repeat = np.zeros(len(self.items), np.bool_)
        if repeats != "raise":
            is_repeat = lists.named_before() & ~is_unknown
        counts = np.stack([lists.count_in(is_repeat), lists.count_in(is_unknown)])
        lists = lists.without(is_repeat, is_unknown, repeats, unknown)
        cleaned = replace(
            self,
            start=lists.start,
            order=self.order[~(is_repeat | is_unknown)],
            items=lists.items,
            gaps=self.gaps._replace(ranks=lists.ranks, reach=lists.reach),
        )
        return cleaned, InvalidItems.of(counts)

    def result(self, values: Mapping[str, UserValues], *, included: bool) -> Any:
        """Make the table of the values of each list, in the caller's own kind of table."""
        columns = {"nrecs": np.diff(self.start), **values}
        if included:
            columns["ntruth"] = self.truth_sizes
        for name in self.keys.columns:
            if name in columns:
                msg = (
                    f"recs is grouped by {name!r}, but the result has a column of that name for a "
                    "count or a metric; rename the column in both tables"
                )
                raise ArgumentError(msg)
        return keyed(with_columns(self.keys, columns), "recs", self.keys.columns)


def read_problem(
    recs: Frame,
    truth: Frame,
    columns: Columns,
    items: IntArray | None = None,
    *,
    rank_gaps: RankGaps = "close",
    ties: TableTies = "rows",
    repeats: Invalid = "raise",
) -> Problem:
    """Number the ids, group the rows, and check both.

    ``items`` are the numbers of the items of ``recs`` and then of ``truth``, where the caller
    has numbered them together with those of other tables. Other ``repeats`` than "raise" leave
    the repeats in ``recs``.
    """
    require_same_kind(recs, "recs", truth, "truth")
    require_columns(recs, "recs", [*columns.keys, columns.item])
    require_columns(truth, "truth", [columns.item])
    truth_keys = [name for name in columns.keys if name in truth.columns]
    if columns.keys and not truth_keys:
        groups = ", ".join(map(repr, columns.keys))
        msg = (
            f"truth has none of the columns that recs is grouped by ({groups}), expected at least "
            f"one; it has {', '.join(map(repr, truth.columns))}"
        )
        raise InputError(msg)
    n_recs = len(recs)
    tables = ((recs, "recs"), (truth, "truth"))
    if items is None:
        items, _ = number(as_integers([(table, what, columns.item) for table, what in tables]))
    shared = [
        number(as_integers([(table, what, name) for table, what in tables]))[0]
        for name in truth_keys
    ]
    others = [
        number(as_integers([(recs, "recs", name)]))[0]
        for name in columns.keys
        if name not in truth_keys
    ]
    if not columns.keys:
        truth_ids = np.zeros(n_recs + len(truth), np.int64)
    else:
        truth_ids = shared[0] if len(shared) == 1 else number(combine(shared))[0]
    for name, ids in (*zip(truth_keys, shared, strict=True), (columns.item, items)):
        _warn_of_foreign_ids(recs, truth, name, ids)
    model_ids = number(combine(others))[0] if others else np.zeros(n_recs, np.int64)
    list_ids = number(combine([truth_ids[:n_recs], *others]))[0] if others else truth_ids[:n_recs]

    n_lists = int(list_ids.max(initial=-1 if columns.keys else 0)) + 1
    n_truths = int(truth_ids.max(initial=-1 if columns.keys else 0)) + 1
    start, order = group(list_ids, n_lists)
    first_rows = order[start[:-1]] if n_recs else np.empty(0, np.int64)
    if ties == "trec" and columns.score is not None:
        _sort_by_id(recs, columns, start, order, items[:n_recs])
    rank = _sort_lists(recs, columns, start, order, ties)
    ranked = items[:n_recs][order]
    if repeats == "raise" and FlatLists(ranked, start).named_before().any():
        _refuse_repeats(recs, "recs", columns, columns.keys, [list_ids, items[:n_recs]])
    if rank is not None:
        _refuse_equal_ranks(recs, columns, start, order, rank)
    gaps = Gaps() if rank is None else _read_gaps(recs, columns, start, order, rank_gaps)
    truth_items = items[n_recs:]
    truth_start, truth_order = group(truth_ids[n_recs:], n_truths)
    item_keys = truth_items[truth_order].astype(np.float64)
    sort_groups(truth_start, truth_order, item_keys)
    relevant = item_keys.astype(np.int64)
    if FlatLists(relevant, truth_start).named_before().any():
        _refuse_repeats(truth, "truth", columns, truth_keys, [truth_ids[n_recs:], truth_items])
    relevance = _relevance(truth, columns)
    no_keys = not columns.keys
    return Problem(
        recs=recs,
        truth=truth,
        columns=columns,
        keys=recs.select([]) if no_keys else take(recs.select(columns.keys), first_rows),
        truth_keys=truth_keys,
        start=start,
        order=order,
        items=ranked,
        gaps=gaps,
        truth_of=np.zeros(1, np.int64) if no_keys else truth_ids[:n_recs][first_rows],
        model_of=np.zeros(1, np.int64) if no_keys else model_ids[first_rows],
        truth_rows=Rows(truth_start, relevant, relevance[truth_order]),
        truth_order=truth_order,
    )


def _warn_of_foreign_ids(recs: Frame, truth: Frame, name: str, ids: IntArray) -> None:
    """Warn where two tables have no id in common; ``ids`` numbers those of recs, then of truth."""
    of_recs = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    of_recs[ids[: len(recs)]] = True
    if len(recs) and len(truth) and not of_recs[ids[len(recs) :]].any():
        warn(no_id_in_common("truth", name, value_at(recs, name, 0), value_at(truth, name, 0)))


def no_id_in_common(what: object, name: str, of_recs: Any, own: Any) -> str:
    """Write that a table has no id of recs; ``of_recs`` and ``own`` are the first of both."""
    firsts = " and ".join(f"{str(one)[:40]!r}" for one in (of_recs, own))
    return (
        f"{what}, column {name!r}: no id of recs occurs here; the first of both are {firsts}; are "
        "the ids written in two ways?"
    )


def _relevance(truth: Frame, columns: Columns) -> FloatArray:
    """The ratings, or 1 where there are none."""
    if columns.rating is None:
        return np.ones(len(truth))
    relevance = numbers_of(truth, "truth", columns.rating)
    wrong = (relevance < 0.0) | (relevance > LARGEST_RELEVANCE)
    if wrong.any():
        row = int(wrong.argmax())
        msg = (
            f"truth, column {columns.rating!r}: row {row} (counted from 0) is {relevance[row]:g}, "
            f"expected relevances from 0 to {LARGEST_RELEVANCE:g}"
        )
        raise InputError(msg)
    return relevance


def _refuse_repeats(
    frame: Frame, what: str, columns: Columns, keys: Sequence[str], ids: list[IntArray]
) -> None:
    row, earlier = first_repeat(combine(ids))
    item = value_at(frame, columns.item, row)
    named = ", ".join(repr(name) for name in (*keys, columns.item))
    of = f" for {described(frame, keys, row)}" if keys else ""
    advice = (
        "expected an item once in each list; give the column that distinguishes the lists, or type "
        "repeats='waste' or repeats='drop'"
        if what == "recs"
        else "expected an item once; drop the rows that repeat another"
    )
    msg = (
        f"{what}, columns {named}: row {row} (counted from 0) holds item {item!r} again{of}, "
        f"first in row {earlier}; {advice}"
    )
    raise InputError(msg)


def _sort_lists(
    recs: Frame, columns: Columns, start: IntArray, order: IntArray, ties: TableTies
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
        if (score == -np.inf).any():
            row = int((score == -np.inf).argmax())
            msg = (
                f"recs, column {columns.score!r}: row {row} (counted from 0) is -inf, which means "
                "not recommended; leave such rows out"
            )
            raise InputError(msg)
        if ties == "trec":
            with np.errstate(over="ignore"):
                score = score.astype(np.float32).astype(np.float64)
        sort_groups(start, order, -score[order])
    return None


def _sort_by_id(
    recs: Frame, columns: Columns, start: IntArray, order: IntArray, items: IntArray
) -> None:
    """Sort the rows of each list by the bytes of the item's id, the last one first."""
    numbers, first = number(items)
    ids = take(recs.select(columns.item), first).get_column(columns.item).to_list()
    words = [one if isinstance(one, bytes) else str(one).encode() for one in ids]
    place = np.empty(len(words))
    place[sorted(range(len(words)), key=words.__getitem__, reverse=True)] = np.arange(len(words))
    sort_groups(start, order, place[numbers[order]])


def _read_gaps(
    recs: Frame, columns: Columns, start: IntArray, order: IntArray, rank_gaps: RankGaps
) -> Gaps:
    """Find the gaps in the ranks of each list; kept ranks must be integers from 1."""
    ranks = numbers_of(recs, "recs", str(columns.rank))[order]
    if rank_gaps == "keep":
        wrong = (ranks < 1.0) | (ranks > _LAST_RANK) | (ranks != np.floor(ranks))
        if wrong.any():
            row = int(order[wrong].min())
            msg = (
                f"recs, column {columns.rank!r}: row {row} (counted from 0) holds rank "
                f"{value_at(recs, str(columns.rank), row)!r}, expected integers from 1 to "
                f"{_LAST_RANK:,}, since ranks are kept as they are; rank_gaps='close' uses only "
                "the order of the ranks"
            )
            raise InputError(msg)
    n_lists, first = find_gaps(start, ranks)
    if not n_lists or rank_gaps == "close":
        return Gaps(n_lists, first)
    kept = ranks.astype(np.int64)
    last = np.maximum(start[1:] - 1, 0)
    return Gaps(n_lists, first, kept, np.where(np.diff(start) > 0, kept[last], 0))


def _refuse_equal_ranks(
    recs: Frame, columns: Columns, start: IntArray, order: IntArray, rank: FloatArray
) -> None:
    equal = rank[1:] == rank[:-1]
    ends = start[1:-1]
    equal[ends[(ends > 0) & (ends < len(order))] - 1] = False  # from one list to the next
    if equal.any():
        places = np.flatnonzero(equal)
        # Equal ranks keep the order of the rows, so the second of a pair is the later row.
        place = places[order[places + 1].argmin()]
        row, earlier = int(order[place + 1]), int(order[place])
        held = value_at(recs, str(columns.rank), row)
        of = f" for {described(recs, columns.keys, row)}" if columns.keys else ""
        msg = (
            f"recs, column {columns.rank!r}: row {row} (counted from 0) holds rank {held!r} "
            f"again{of}, first in row {earlier}; expected a rank once in each list; give the "
            "column that distinguishes the lists"
        )
        raise InputError(msg)
